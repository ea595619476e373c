//! Work that nobody need wait for, and that closing waits for. What a server session does in the background ends with it;
//! what a session does goes on in the next server session.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::FutureExt;
use tokio::sync::{Notify, oneshot};

use super::Session;
use super::clock::{Clock, Later};
use super::server_session::ServerSession;
use crate::futures::unless;

/// How much is under way.
#[derive(Default)]
pub(super) struct Background {
    count: AtomicUsize,
    done: Notify,
}

/// A piece of work that is under way, also if it ends by a panic.
struct UnderWay(Arc<Background>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        if self.0.count.fetch_sub(1, Ordering::AcqRel) == 1 {
            self.0.done.notify_waiters();
        }
    }
}

impl Background {
    /// Begins `work` and keeps `owner` as long as that takes.
    fn begin<T: Send + Sync + 'static>(
        self: &Arc<Self>,
        clock: &Arc<dyn Clock>,
        owner: Arc<T>,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> Later<()> {
        self.count.fetch_add(1, Ordering::AcqRel);
        let under_way = UnderWay(self.clone());
        let (done, is_done) = oneshot::channel();
        clock.spawn(Box::pin(work.map(move |()| {
            drop(under_way);
            let _ = done.send(());
            drop(owner);
        })));
        Box::pin(async move {
            let _ = is_done.await;
        })
    }

    async fn until_done(&self) {
        loop {
            let mut done = std::pin::pin!(self.done.notified());
            done.as_mut().enable();
            if self.is_done() {
                return;
            }
            done.await;
        }
    }

    fn is_done(&self) -> bool {
        self.count.load(Ordering::Acquire) == 0
    }
}

impl Session {
    /// Its calls are `outlasting`, so that they go on while the client closes.
    pub(crate) fn in_background(
        self: &Arc<Self>,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> Later<()> {
        self.background.begin(&self.clock, self.clone(), work)
    }

    /// Resolves when nothing is under way, neither here nor in this server session, and what is deleted at the end is gone; or when
    /// the server session has ended, for then nothing can be done. For a client that closes.
    pub(super) async fn until_tidy(&self, server_session: &ServerSession) {
        self.until_nothing_is_under_way(server_session).await;
        if !server_session.has_ended() {
            // Whoever still uses one is nobody for whom closing waits.
            self.delete_temporary_in_use();
            self.until_nothing_is_under_way(server_session).await;
        }
    }

    async fn until_nothing_is_under_way(&self, server_session: &ServerSession) {
        unless(self.until_nothing_would_stay(), server_session.until_ended()).await;
        server_session.until_tidy().await;
    }

    /// Whether nothing is under way that the end of a server session does not take along.
    pub(super) fn has_nothing_that_would_stay(&self) -> bool {
        self.background.is_done()
    }

    /// Resolves when that is so, in whatever server session it is done.
    pub(super) async fn until_nothing_would_stay(&self) {
        self.background.until_done().await;
    }
}

impl ServerSession {
    /// It should end when the session has.
    pub(crate) fn in_background(
        self: &Arc<Self>,
        work: impl Future<Output = ()> + Send + 'static,
    ) -> Later<()> {
        self.background.begin(&self.clock, self.clone(), work)
    }

    /// Resolves when nothing is under way, or the session has ended.
    pub(super) async fn until_tidy(&self) {
        unless(self.background.until_done(), self.until_ended()).await;
    }
}
