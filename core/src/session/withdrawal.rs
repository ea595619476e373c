//! The end of the waits that are in progress at a handle, which is no end of later ones.

use std::future::Future;
use std::sync::Arc;
use std::task::Poll;

use tokio::sync::Notify;

use crate::futures::polled;
use crate::sync::atomic::{AtomicU64, Ordering};

/// Withdraws the calls that were made by then. Clones are the same one.
#[derive(Clone, Default)]
pub(crate) struct Withdrawals(Arc<Withdrawn>);

#[derive(Default)]
struct Withdrawn {
    times: AtomicU64,
    told: Notify,
}

impl Withdrawals {
    pub(crate) fn withdraw(&self) {
        self.0.times.fetch_add(1, Ordering::SeqCst);
        self.0.told.notify_waiters();
    }

    /// How often it has been done.
    pub(crate) fn times(&self) -> u64 {
        self.0.times.load(Ordering::SeqCst)
    }

    /// The next one.
    pub(crate) fn next(&self) -> Withdrawal {
        Withdrawal { of: self.clone(), times: self.times() }
    }
}

/// The first one after that many.
#[derive(Clone)]
pub(crate) struct Withdrawal {
    of: Withdrawals,
    times: u64,
}

impl Withdrawal {
    /// How many there had been when it was asked for.
    pub(crate) fn times_before(&self) -> u64 {
        self.times
    }

    /// Resolves when it has been done.
    pub(crate) fn comes(&self) -> impl Future<Output = ()> {
        // Made before the look: what is done in between is told.
        polled(self.of.0.told.notified(), |told, context| match self.of.times() == self.times {
            true => told.poll(context),
            false => Poll::Ready(()),
        })
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;

    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn what_was_begun_is_withdrawn_and_what_comes_later_is_not() {
        let withdrawals = Withdrawals::default();
        let (unpolled, begun) = (withdrawals.next(), withdrawals.next());
        let mut waits = pin!(begun.comes());
        assert!(waits.as_mut().now_or_never().is_none());
        withdrawals.withdraw();
        assert!(waits.now_or_never().is_some());
        assert!(unpolled.clone().comes().now_or_never().is_some());
        let later = withdrawals.next();
        assert!(later.comes().now_or_never().is_none());
        assert_eq!((unpolled.times_before(), later.times_before()), (0, 1));
    }
}
