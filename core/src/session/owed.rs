//! What a client still owes its user: callbacks that are queued or running, and calls whose end is to be told.

use std::sync::Arc;

use tokio::sync::watch;

use crate::pool::Job;
use crate::process::Process;
use crate::sanitizer;

#[derive(Default)]
pub(crate) struct Owed {
    count: watch::Sender<Count>,
    /// Set once: calls in progress end with Closed, whatever they wait for.
    withdrawn: watch::Sender<bool>,
    process: Process,
}

#[derive(Copy, Clone, Default)]
struct Count {
    callbacks: usize,
    /// Ends of closing, which come when nothing else is owed.
    last: usize,
}

impl Owed {
    /// For one callback, from when it is sure to come until it has returned or is dropped.
    pub(crate) fn ticket(self: &Arc<Self>) -> Ticket {
        self.count.send_modify(|count| count.callbacks += 1);
        Ticket { owed: self.clone(), is_last: false }
    }

    /// The same for the callback that comes after all others.
    pub(crate) fn last_ticket(self: &Arc<Self>) -> Ticket {
        self.count.send_modify(|count| count.last += 1);
        Ticket { owed: self.clone(), is_last: true }
    }

    /// Resolves when only the last callbacks are owed.
    pub(crate) async fn only_last(&self) {
        self.until(|count| count.callbacks == 0).await;
    }

    /// Resolves when nothing is owed.
    pub(crate) async fn nothing(&self) {
        self.until(|count| count.callbacks == 0 && count.last == 0).await;
    }

    async fn until(&self, is_so: impl Fn(&Count) -> bool) {
        // The sender lives in `self`, so this cannot fail.
        let _ = self.count.subscribe().wait_for(is_so).await;
    }

    pub(crate) fn withdraw(&self) {
        self.withdrawn.send_replace(true);
    }

    pub(crate) async fn withdrawn(&self) {
        let _ = self.withdrawn.subscribe().wait_for(|withdrawn| *withdrawn).await;
    }
}

pub(crate) struct Ticket {
    owed: Arc<Owed>,
    is_last: bool,
}

impl Ticket {
    /// Runs the callback that this stands for.
    pub(crate) fn redeem(self, callback: Job) {
        callback();
        drop(self);
    }

    /// The same for one that runs neither beside nor before those that were due earlier.
    pub(crate) fn redeem_in_turn(self, callback: Job) {
        let owed = self.owed.clone();
        sanitizer::acquire(&owed.count);
        self.redeem(callback);
        sanitizer::release(&owed.count);
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.owed.process.is_present() {
            // A forked child: what is owed is the parent's, and so are the locks.
            return;
        }
        sanitizer::release(&*self.owed);
        self.owed.count.send_modify(|count| match self.is_last {
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
        let owed = Arc::new(Owed::default());
        let (one, other, last) = (owed.ticket(), owed.ticket(), owed.last_ticket());
        one.redeem(Box::new(|| {}));
        assert!(owed.only_last().now_or_never().is_none(), "one is still owed");
        drop(other);
        assert!(owed.only_last().now_or_never().is_some());
        assert!(owed.nothing().now_or_never().is_none(), "the last is still owed");
        drop(last);
        assert!(owed.nothing().now_or_never().is_some());
    }
}
