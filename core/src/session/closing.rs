//! Closing: waiters and holders are told at once, what is to be deleted is awaited, and the session ends.

use std::sync::Arc;
use std::time::Duration;

use super::Session;
use super::clock::{Deadline, Later};
use super::state::State;
use super::wire::open::Entry;
use crate::error::{Error, ErrorKind, LostReason, Result};
use crate::futures::unless;
use crate::log;

impl Session {
    /// Waiters get Closed, what is held is released with the session, background deletions are awaited. The work goes on
    /// whether or not the caller waits for it.
    pub(crate) async fn close(self: &Arc<Self>, limit: Option<Duration>) -> Result<()> {
        let deadline = Deadline::after(self.clock.now(), limit);
        self.begin_closing(deadline);
        tokio::select! {
            biased;
            () = self.until_closed() => Ok(()),
            () = self.until_over(deadline) => {
                // Whatever the first closer still waits for.
                self.clock.spawn(self.close_at_once());
                self.enter(State::Closed);
                let timeout = self.server_session().session_timeout();
                let message = format!(
                    "no server confirmed in time that the session is closed; nothing is left to do: it ends by itself once \
                     the servers have heard nothing of it for {timeout:?}, and what it held is free then"
                );
                Err(Error::new(ErrorKind::Timeout, message))
            }
        }
    }

    /// What closing does at once: from here on nothing is held, and every loss is on its way to those who are to be
    /// told.
    pub(crate) fn begin_closing(self: &Arc<Self>, deadline: Deadline) {
        // First, because a caller that sees the client closing relies on it: everything to be awaited is under way by
        // then.
        self.delete_all_temporary();
        if !self.closing.set() {
            self.server_session().lose_all(LostReason::Closed);
            self.losses_are_told.send_replace(true);
            self.clock.spawn(Box::pin(self.clone().shut(deadline)));
        }
    }

    /// Closes for the end of the process, which waits for so long: at once, whatever the end of the server session takes along. Only
    /// what it does not, such as an item that goes back, is done before, also where the client was closing already, and in another server
    /// session if its own has ended. `is_under_way` is kept until then.
    pub(crate) fn end(self: &Arc<Self>, limit: Duration, is_under_way: Option<Entry>) {
        // The rest is for the end of the server session.
        let deadline = Deadline::after(self.clock.now(), Some(limit / 4 * 3));
        self.begin_closing(deadline);
        if self.has_nothing_that_would_stay() {
            return drop(self.close_at_once());
        }
        let session = self.clone();
        // Not polled here: a thread that exits may have no runtime within reach any more.
        self.clock.spawn(Box::pin(async move {
            unless(session.until_nothing_would_stay(), session.until_over(deadline)).await;
            session.close_at_once().await;
            drop(is_under_way);
        }));
    }

    /// Whatever is left to do, the server session is to end now, and to be the last.
    fn close_at_once(&self) -> Later<()> {
        self.ends_at_once.set();
        self.delete_temporary_in_use();
        self.server_session().close()
    }

    async fn shut(self: Arc<Self>, deadline: Deadline) {
        tokio::select! {
            biased;
            () = self.ends_at_once.until_set() => {}
            () = self.until_over(deadline) => {}
            () = self.until_all_is_done() => {}
        }
        let server_session = self.server_session();
        self.close_at_once().await;
        self.until_renewal_has_ended().await;
        self.enter(State::Closed);
        log::closed(server_session.session_id());
        self.closed.set();
    }

    /// What the end of a server session does not take along is done in another one if that comes before.
    async fn until_all_is_done(self: &Arc<Self>) {
        // It waits for what is done in the last session that it knows of.
        self.until_renewal_has_ended().await;
        while !self.has_nothing_that_would_stay() && self.reopen_while_closing().await {
            self.until_tidy(&self.server_session()).await;
        }
    }

    async fn until_renewal_has_ended(&self) {
        let mut renewal_has_ended = self.renewal_has_ended.subscribe();
        // The sender lives in `self`, so this cannot fail.
        let _ = renewal_has_ended.wait_for(|renewal_has_ended| *renewal_has_ended).await;
    }

    pub(crate) async fn until_over(&self, deadline: Deadline) {
        match deadline.at() {
            Some(at) => self.clock.sleep_until(at).await,
            None => std::future::pending().await,
        }
    }
}
