//! What a client has still to tell its user: callbacks that are queued or running, and calls whose end is to be told.

use std::sync::Arc;

use tokio::sync::watch;

use crate::pool::Job;
use crate::process::Process;
use crate::sanitizer;
use crate::session::flag::Flag;

#[derive(Default)]
pub(crate) struct PendingCallbacks {
    count: watch::Sender<PendingCount>,
    /// Set once: calls in progress end with Closed, whatever they wait for.
    withdrawn: Flag,
    process: Process,
}

#[derive(Copy, Clone, Default)]
struct PendingCount {
    callbacks: usize,
    /// Ends of closing, which come when nothing else is pending.
    last: usize,
}

impl PendingCallbacks {
    /// For one callback, from when it is sure to come until it has returned or is dropped.
    pub(crate) fn add(self: &Arc<Self>) -> PendingCallback {
        self.count.send_modify(|count| count.callbacks += 1);
        PendingCallback { pending_callbacks: self.clone(), is_last: false }
    }

    /// The same for the callback that comes after all others.
    pub(crate) fn add_last(self: &Arc<Self>) -> PendingCallback {
        self.count.send_modify(|count| count.last += 1);
        PendingCallback { pending_callbacks: self.clone(), is_last: true }
    }

    /// Resolves when only the last callbacks are pending.
    pub(crate) async fn only_last(&self) {
        self.until(|count| count.callbacks == 0).await;
    }

    /// Resolves when nothing is pending.
    pub(crate) async fn nothing(&self) {
        self.until(|count| count.callbacks == 0 && count.last == 0).await;
    }

    /// Whether that is so now.
    pub(crate) fn is_nothing(&self) -> bool {
        let count = self.count.borrow();
        count.callbacks == 0 && count.last == 0
    }

    async fn until(&self, is_so: impl Fn(&PendingCount) -> bool) {
        // The sender lives in `self`, so this cannot fail.
        let _ = self.count.subscribe().wait_for(is_so).await;
    }

    pub(crate) fn withdraw(&self) {
        self.withdrawn.set();
    }

    pub(crate) fn withdrawn(&self) -> impl Future<Output = ()> {
        self.withdrawn.until_set()
    }
}

pub(crate) struct PendingCallback {
    pending_callbacks: Arc<PendingCallbacks>,
    is_last: bool,
}

impl PendingCallback {
    /// Runs the callback that this stands for.
    pub(crate) fn run(self, callback: Job) {
        callback();
        drop(self);
    }

    /// The same for one that runs neither beside nor before those that were due earlier.
    pub(crate) fn run_in_turn(self, callback: Job) {
        let pending_callbacks = self.pending_callbacks.clone();
        sanitizer::acquire(&pending_callbacks.count);
        self.run(callback);
        sanitizer::release(&pending_callbacks.count);
    }
}

impl Drop for PendingCallback {
    fn drop(&mut self) {
        if !self.pending_callbacks.process.is_present() {
            // A forked child: what is pending is the parent's, and so are the locks.
            return;
        }
        sanitizer::release(&*self.pending_callbacks);
        self.pending_callbacks.count.send_modify(|count| match self.is_last {
            true => count.last -= 1,
            false => count.callbacks -= 1,
        });
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn the_last_callback_waits_for_all_others() {
        let pending_callbacks = Arc::new(PendingCallbacks::default());
        let (one, other, last) =
            (pending_callbacks.add(), pending_callbacks.add(), pending_callbacks.add_last());
        one.run(Box::new(|| {}));
        assert!(pending_callbacks.only_last().now_or_never().is_none(), "one is still pending_callbacks");
        drop(other);
        assert!(pending_callbacks.only_last().now_or_never().is_some());
        assert!(pending_callbacks.nothing().now_or_never().is_none(), "the last is still pending_callbacks");
        drop(last);
        assert!(pending_callbacks.nothing().now_or_never().is_some());
    }
}
