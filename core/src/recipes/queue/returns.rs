//! Items that go back because nobody waits for them any more. Whoever asks after that comes behind them, so that one consumer gets
//! the items in their order, also when it gave one up while its removal was on its way.

use std::sync::{Arc, Mutex};

use tokio::sync::watch;

use crate::mutex::lock;

/// How many there are.
#[derive(Default)]
pub(super) struct Returns(watch::Sender<usize>);

impl Returns {
    /// One goes back, until the answer is dropped.
    pub(super) fn begin(self: &Arc<Self>) -> Return {
        self.0.send_modify(|count| *count += 1);
        Return(self.clone())
    }

    /// For whoever waits for what may have to go back.
    pub(super) fn unless_heard(self: &Arc<Self>) -> UnlessHeard {
        UnlessHeard { returns: self.clone(), under_way: Arc::default(), is_heard: false }
    }

    pub(super) fn are_none(&self) -> bool {
        *self.0.borrow() == 0
    }

    /// Returns when there is none.
    pub(super) async fn over(&self) {
        // It never ends: we have the other end.
        let _ = self.0.subscribe().wait_for(|count| *count == 0).await;
    }
}

pub(super) struct Return(Arc<Returns>);

impl Drop for Return {
    fn drop(&mut self) {
        self.0.0.send_modify(|count| *count -= 1);
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
        if !self.is_heard {
            *lock(&self.under_way) = Some(self.returns.begin());
        }
    }
}
