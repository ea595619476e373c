//! Writes that are applied only while what is held stands, and waiting for them before the turn is passed on.
//!
//! Such a write checks that our node exists, not that we still have the turn: it is applied as long as the node exists,
//! even if the turn has been passed on by then. So the turn is passed on in memory only once every write is answered.
//! One whose answer got lost may still be on its way, over a server that we have left; after such a one the node is
//! deleted instead. The deletion is decided by the quorum like the write itself, and a write that comes after it is
//! refused.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::sync::{Notify, oneshot};

use super::{Hold, Tenure};
use crate::error::{Error, ErrorKind, LostReason, Result};
use crate::futures::CompiledOnce;
use crate::process::Process;
use crate::session::call::Call;
use crate::session::refusal::{refusal, refused_create_as};
use crate::session::server_session::{ConnectionId, Tenant};
use crate::session::wire::{Applied, WireError, Write};

/// What the caller does, for error texts.
const VERB: &str = "a guarded write";

impl Hold {
    /// For writes in a transaction that ends what somebody else holds: what checks that our nodes stand, and what is to be told of the
    /// answer. Such a transaction goes to whoever asks for it, and may be applied as long as our nodes stand: so the turn is not passed
    /// on in memory any more. NotHeld: none may leave any more.
    pub(crate) fn guard_end(self: &Arc<Self>) -> Result<(Vec<Write>, EndGuard)> {
        if !self.is_held() {
            return Err(self.not_held());
        }
        let mut writing = Writing::on(&self.writes);
        writing.is_open = true;
        drop(writing);
        match self.tenure() {
            Tenure::Held => Ok((self.checks(), EndGuard { hold: self.clone() })),
            _ => Err(self.not_held()),
        }
    }

    /// Applies `writes` in one transaction that the server refuses once our node is gone. A lost answer is never
    /// retried: the writes may have been applied.
    pub(crate) fn write_guarded<'a>(
        self: &'a Arc<Self>,
        writes: &'a [Write],
    ) -> CompiledOnce<'a, Result<Vec<Applied>>> {
        Box::pin(self.write_while_held(writes))
    }

    async fn write_while_held(self: &Arc<Self>, writes: &[Write]) -> Result<Vec<Applied>> {
        if !self.is_held() {
            return Err(self.not_held());
        }
        let mut guarded = self.checks();
        let own = guarded.len();
        guarded.extend_from_slice(writes);
        let mut call = self.session.call(None);
        let outcome = loop {
            let on = self.connection_while_held(&mut call).await?;
            // Counted and looked again, without waiting in between: a release waits for those that are counted by then, and who has
            // gone on to something else must not be waited for.
            let mut writing = Writing::on(&self.writes);
            if self.tenure() != Tenure::Held {
                return Err(self.not_sent());
            }
            let flight = self.server_session.multi_on(on, &guarded);
            writing.is_open = true;
            let (answer, answered) = oneshot::channel();
            // In a task of its own: the caller may stop waiting, and the write goes on.
            self.session.clock().spawn(Box::pin(async move {
                let outcome = flight.await;
                let is_unanswered = outcome.as_ref().is_err_and(WireError::is_unanswered);
                writing.is_open = is_unanswered && !matches!(outcome, Err(WireError::NotSent));
                drop(writing);
                let _ = answer.send(outcome);
            }));
            let answered = async { answered.await.unwrap_or(Err(WireError::ConnectionLoss)) };
            let outcome = tokio::select! {
                biased;
                outcome = call.receive(VERB, answered) => outcome?,
                // Of any other loss a server tells, which answers this as well.
                () = self.session_lost() => return Err(self.lost_on_the_way()),
            };
            if !matches!(outcome, Err(WireError::NotSent)) {
                break outcome;
            }
        };
        match outcome {
            Ok(mut applied) => Ok(applied.split_off(own)),
            Err(WireError::Part { index, error }) if index < own && error.is_anothers() => {
                self.lose(LostReason::Deleted);
                Err(self.not_held())
            }
            Err(WireError::Part { index, error }) => {
                let write = index.checked_sub(own).and_then(|index| writes.get(index));
                let path = write.map_or(&*self.path, Write::path);
                match write.and_then(Write::mode) {
                    Some(mode) => Err(refused_create_as(mode, *error, VERB, path)),
                    None => Err(refusal(*error, VERB, path)),
                }
            }
            // It never left, or the server refused it: nothing is unknown of it.
            Err(WireError::SessionEnded) if self.server_session.knows_what_left() => {
                self.lose(LostReason::Session);
                Err(self.not_held())
            }
            Err(error) => Err(refusal(error, VERB, &self.path)),
        }
    }

    /// Where a write leaves: while there is no connection it does not, so that of one that is lost meanwhile it is known that it
    /// was not sent.
    async fn connection_while_held(&self, call: &mut Call) -> Result<ConnectionId> {
        loop {
            let link = self.server_session.link();
            if self.server_session.has_ended() {
                self.lose(LostReason::Session);
            }
            if self.tenure() != Tenure::Held {
                return Err(self.not_sent());
            }
            if let Some(connection) = self.server_session.connection() {
                return Ok(connection);
            }
            // No answer of a server, which the budget waits for.
            let changed = async {
                tokio::select! {
                    biased;
                    () = self.until_not_held() => {}
                    () = self.server_session.link_changed(link) => {}
                }
                Err::<(), _>(WireError::ConnectionLoss)
            };
            if let Err(error) = call.receive(VERB, changed).await {
                return Err(match error.kind() {
                    ErrorKind::ConnectionLost => Error::not_sent(VERB, false).with_path(&self.path),
                    _ => error,
                });
            }
        }
    }

    fn not_sent(&self) -> Error {
        self.not_held().because("the write was not sent".to_owned())
    }

    async fn until_not_held(&self) {
        let mut tenure = self.tenure.subscribe();
        // The sender lives in `self`, so this cannot fail.
        let _ = tenure.wait_for(|tenure| *tenure != Tenure::Held).await;
    }

    /// Resolves when it was lost with its session.
    pub(crate) async fn session_lost(&self) {
        let mut tenure = self.tenure.subscribe();
        let _ = tenure.wait_for(|tenure| *tenure == Tenure::Lost(LostReason::Session)).await;
    }

    fn lost_on_the_way(&self) -> Error {
        let said = "what guards a guarded write was lost (session) while that was on its way, and no server has answered: the \
                    outcome of the write is unknown; stop the protected work, and look at what is there";
        Error::new(ErrorKind::ConnectionLost, said).with_path(&self.path)
    }
}

/// The guarded writes of one acquisition.
#[derive(Default)]
pub(super) struct GuardedWrites {
    in_flight: AtomicUsize,
    /// The answer to one of them was lost.
    is_one_open: AtomicBool,
    changed: Notify,
    process: Process,
}

/// What is known of the guarded writes.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum GuardedOutcome {
    /// Every one was applied or refused.
    Known,
    Pending,
    /// One may be applied for as long as our node stands.
    Unknown,
}

impl GuardedWrites {
    pub(super) fn outcome(&self) -> GuardedOutcome {
        // The count first: a write says that it stays open before it is counted out.
        let in_flight = self.in_flight.load(Ordering::Acquire);
        match self.is_one_open.load(Ordering::Acquire) {
            true => GuardedOutcome::Unknown,
            false if in_flight > 0 => GuardedOutcome::Pending,
            false => GuardedOutcome::Known,
        }
    }

    /// Resolves when the outcome is not pending any more.
    pub(super) async fn settled(&self) -> GuardedOutcome {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            match self.outcome() {
                GuardedOutcome::Pending => changed.await,
                outcome => return outcome,
            }
        }
    }
}

/// What guards a transaction that ends something else.
pub(crate) struct EndGuard {
    hold: Arc<Hold>,
}

impl EndGuard {
    /// What became of the transaction. NotHeld: a node that guarded it is gone.
    pub(crate) fn answered(self, outcome: Result<()>) -> Result<()> {
        let Err(error) = outcome else { return Ok(()) };
        let is_refused = |check: &Write| {
            let is_its = error.path().is_some_and(|path| path == check.path());
            // A version that the caller asked for says nothing of the node.
            let asks_for_version = matches!(check, Write::Check { version: Some(_), .. });
            is_its
                && (error.kind() == ErrorKind::NoNode
                    || error.kind() == ErrorKind::BadVersion && asks_for_version)
        };
        if self.hold.checks().iter().any(is_refused) {
            self.hold.lose(LostReason::Deleted);
            return Err(self.hold.not_held());
        }
        Err(error)
    }
}

/// A guarded write on its way.
struct Writing {
    writes: Arc<GuardedWrites>,
    /// Sent, and not answered.
    is_open: bool,
}

impl Writing {
    fn on(writes: &Arc<GuardedWrites>) -> Writing {
        writes.in_flight.fetch_add(1, Ordering::AcqRel);
        Writing { writes: writes.clone(), is_open: false }
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        if !self.writes.process.is_present() {
            // A forked child: the writes are the parent's, and so are the locks.
            return;
        }
        if self.is_open {
            self.writes.is_one_open.store(true, Ordering::Release);
        }
        self.writes.in_flight.fetch_sub(1, Ordering::AcqRel);
        self.writes.changed.notify_waiters();
    }
}
