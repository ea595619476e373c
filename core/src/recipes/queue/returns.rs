//! Items that go back because nobody waits for them any more. Whoever asks after that comes behind them, so that one consumer gets
//! the items in their order, also when it gave one up while its removal was on its way.

use std::sync::{Arc, Mutex};

use tokio::sync::{MutexGuard, watch};

use crate::mutex::lock;
use crate::process::Process;

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

    /// Returns when there is none. The next one hears of it when what this answers is dropped.
    pub(super) async fn over(&self) -> MutexGuard<'_, ()> {
        let next = self.waiting.lock().await;
        // It never ends: we have the other end.
        let _ = self.count.subscribe().wait_for(|count| *count == 0).await;
        next
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
