//! What is set once and waited for by any number. A `watch` channel has eight lists of those who wait, and a place of its own in
//! each that waits: with ten thousand waiting calls that is seen.

use std::future::Future;
use std::task::Poll;

use tokio::sync::Notify;

use crate::futures::polled;
use crate::sync::atomic::{AtomicBool, Ordering};

#[derive(Default)]
pub(crate) struct Flag {
    is_set: AtomicBool,
    told: Notify,
}

impl Flag {
    /// Sets it, and answers whether it was set before.
    pub(crate) fn set(&self) -> bool {
        let before = self.is_set.swap(true, Ordering::SeqCst);
        self.told.notify_waiters();
        before
    }

    pub(crate) fn is_set(&self) -> bool {
        self.is_set.load(Ordering::SeqCst)
    }

    /// Resolves when it is set.
    pub(crate) fn until_set(&self) -> impl Future<Output = ()> {
        // Made before the look: what is set in between is told.
        polled(self.told.notified(), |told, context| match self.is_set() {
            true => Poll::Ready(()),
            false => told.poll(context),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn who_waits_and_who_comes_later_finds_it_set() {
        let flag = Flag::default();
        let mut waits = pin!(flag.until_set());
        assert!(waits.as_mut().now_or_never().is_none());
        assert!(!flag.set());
        assert!(waits.now_or_never().is_some());
        assert!(flag.until_set().now_or_never().is_some());
        assert!(flag.set() && flag.is_set());
    }
}
