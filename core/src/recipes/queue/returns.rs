//! Items that go back because nobody waits for them any more. Whoever asks after that comes behind them, so that one consumer gets
//! the items in their order, also when it gave one up while its removal was on its way.

use std::sync::{Arc, Mutex};

use tokio::sync::{MutexGuard, watch};

use crate::futures::unless;
use crate::mutex::lock;
use crate::process::{Process, UnlessForked};

/// Those of one client, in one queue.
#[derive(Default)]
pub(super) struct Returns {
    count: watch::Sender<usize>,
    /// Those who wait for the last one, in the order of their calls.
    waiting: tokio::sync::Mutex<()>,
    process: Process,
}

impl Returns {
    /// One goes back, until the answer is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> Return {
        self.count.send_modify(|count| *count += 1);
        Return(self.clone())
    }

    /// For whoever waits for what may have to go back.
    pub(super) fn unless_heard(self: &Arc<Self>) -> UnlessHeard {
        UnlessHeard { returns: self.clone(), under_way: Arc::default(), is_heard: false }
    }

    /// Whether there is none, and nobody waits for that.
    pub(super) fn are_none(&self) -> bool {
        *self.count.borrow() == 0 && self.waiting.try_lock().is_ok()
    }

    /// Returns when there is none. The next one hears of it when what this answers is dropped, or when it is `stuck`: nobody may poll
    /// the one ahead any more. A forked child drops nothing of it: threads that stayed with the parent may have the locks of those who
    /// wait.
    pub(super) async fn over(
        &self,
        stuck: impl Future<Output = ()>,
    ) -> Option<UnlessForked<MutexGuard<'_, ()>>> {
        let mut over = UnlessForked::new(Box::pin(async {
            let next = unless(self.waiting.lock(), stuck).await.map(UnlessForked::new);
            // It never ends: we have the other end.
            let _ = self.count.subscribe().wait_for(|count| *count == 0).await;
            next
        }));
        over.as_mut().await
    }
}

pub(super) struct Return(Arc<Returns>);

impl Drop for Return {
    fn drop(&mut self) {
        // A forked child has none of its parent's.
        if self.0.process.is_present() {
            self.0.count.send_modify(|count| *count -= 1);
        }
    }
}

/// Dropped before it was heard what came of something, that counts as on its way back as long as it is under way.
pub(super) struct UnlessHeard {
    returns: Arc<Returns>,
    under_way: ReturnSlot,
    is_heard: bool,
}

/// What is kept by who sees to it, until it is known what came of it.
pub(super) type ReturnSlot = Arc<Mutex<Option<Return>>>;

impl UnlessHeard {
    pub(super) fn under_way(&self) -> ReturnSlot {
        self.under_way.clone()
    }

    pub(super) fn mark_heard(mut self) {
        self.is_heard = true;
    }
}

impl Drop for UnlessHeard {
    fn drop(&mut self) {
        if !self.is_heard && self.returns.process.is_present() {
            *lock(&self.under_way) = Some(self.returns.begin());
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    /// Whether a forked child that drops `waits` leaves the place that they have.
    fn a_child_leaves<T>(returns: &Returns, waits: T) -> bool {
        // SAFETY: the child drops, looks and ends, and takes no lock.
        let child = unsafe { libc::fork() };
        if child == 0 {
            drop(waits);
            let is_taken = returns.waiting.try_lock().is_err();
            unsafe { libc::_exit(i32::from(is_taken)) };
        }
        let mut status = 0;
        // SAFETY: it is ours.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 1
    }

    #[test]
    fn a_forked_child_leaves_who_waits_to_its_parent() {
        let returns = Arc::<Returns>::default();
        let on_its_way = returns.begin();
        // The first has the place, the second waits for it.
        let over = || Box::pin(returns.over(std::future::pending()));
        let (mut first, mut second) = (over(), over());
        assert!(first.as_mut().now_or_never().is_none() && second.as_mut().now_or_never().is_none());
        assert!(a_child_leaves(&returns, (second, first)));
        drop(on_its_way);
    }
}
