//! What has to be done however many server sessions that takes, and that closing waits for: a chore ends with its server session, an errand
//! goes on in the next one.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::sync::{Notify, oneshot};

use super::clock::Later;
use super::server_session::ServerSession;
use super::{Session, unless};

#[derive(Default)]
pub(super) struct Errands {
    count: AtomicUsize,
    done: Notify,
}

/// One that is under way.
struct Errand(Arc<Session>);

impl Drop for Errand {
    fn drop(&mut self) {
        let errands = &self.0.errands;
        if errands.count.fetch_sub(1, Ordering::AcqRel) == 1 {
            errands.done.notify_waiters();
        }
    }
}

impl Session {
    /// Work that nobody need wait for. Its calls are `outlasting`, so that they go on while the client closes.
    pub(crate) fn errand(self: &Arc<Self>, work: impl Future<Output = ()> + Send + 'static) -> Later<()> {
        self.errands.count.fetch_add(1, Ordering::AcqRel);
        let errand = Errand(self.clone());
        let (done, is_done) = oneshot::channel();
        self.clock.spawn(Box::pin(async move {
            work.await;
            drop(errand);
            let _ = done.send(());
        }));
        Box::pin(async move {
            let _ = is_done.await;
        })
    }

    /// Resolves when no errand is left, nor a chore of this server session; or when it has ended, for then nothing can be done.
    pub(super) async fn until_tidy(&self, server_session: &ServerSession) {
        unless(self.until_no_errand(), server_session.until_ended()).await;
        server_session.until_tidy().await;
    }

    async fn until_no_errand(&self) {
        loop {
            let mut done = std::pin::pin!(self.errands.done.notified());
            done.as_mut().enable();
            if self.errands.count.load(Ordering::Acquire) == 0 {
                return;
            }
            done.await;
        }
    }
}
