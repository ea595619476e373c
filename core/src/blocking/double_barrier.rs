//! Double barriers, blocking.

use std::sync::Arc;
use std::time::Duration;

use super::Client;
use crate::drive::{Cancels, check_may_wait, wait};
use crate::error::Result;
use crate::recipes::waiting::WaitProgress;
use crate::session::delivery::Subscription;

impl Client {
    /// See [`crate::Client::double_barrier`].
    pub fn double_barrier(&self, path: &str, parties: usize, name: Option<&str>) -> Result<DoubleBarrier> {
        let barrier = self.0.double_barrier(path, parties, name)?;
        Ok(DoubleBarrier { barrier, cancels: Arc::default() })
    }
}

/// [`crate::DoubleBarrier`], blocking.
#[derive(Clone, Debug)]
pub struct DoubleBarrier {
    barrier: crate::DoubleBarrier,
    cancels: Arc<Cancels>,
}

impl DoubleBarrier {
    /// See [`crate::DoubleBarrier::path`].
    pub fn path(&self) -> &str {
        self.barrier.path()
    }

    /// See [`crate::DoubleBarrier::parties`].
    pub fn parties(&self) -> usize {
        self.barrier.parties()
    }

    /// See [`crate::DoubleBarrier::name`].
    pub fn name(&self) -> &str {
        self.barrier.name()
    }

    /// See [`crate::DoubleBarrier::has_entered`].
    pub fn has_entered(&self) -> bool {
        self.barrier.has_entered()
    }

    /// See [`crate::DoubleBarrier::on_wait`].
    pub fn on_wait(&self, callback: impl Fn(WaitProgress) + Send + Sync + 'static) -> Result<Subscription> {
        self.barrier.on_wait(callback)
    }

    /// See [`crate::DoubleBarrier::enter`].
    pub fn enter(&self, limit: Option<Duration>) -> Result<()> {
        let barrier = self.barrier.clone();
        wait(self.cancels.heed(async move { barrier.enter(limit).await }), None, None)
    }

    /// See [`crate::DoubleBarrier::leave`].
    pub fn leave(&self, limit: Option<Duration>) -> Result<()> {
        let barrier = self.barrier.clone();
        wait(self.cancels.heed(async move { barrier.leave(limit).await }), None, None)
    }

    /// Ends the waits in progress on this handle with Cancelled; later ones are not affected. Who was entering counts for
    /// nobody then; who was leaving has left.
    pub fn cancel(&self) {
        self.cancels.cancel();
    }

    /// See [`crate::DoubleBarrier::withdraw`].
    pub fn withdraw(&self) -> Result<()> {
        self.barrier.withdraw()
    }

    /// Enters, does the work on this thread, and leaves. A panic of it gives the round up.
    pub fn run<T>(&self, work: impl FnOnce() -> T) -> Result<T> {
        check_may_wait()?;
        self.enter(None)?;
        let mut withdrawing = Withdrawing(Some(self));
        let outcome = work();
        withdrawing.0 = None;
        self.leave(None)?;
        Ok(outcome)
    }
}

struct Withdrawing<'a>(Option<&'a DoubleBarrier>);

impl Drop for Withdrawing<'_> {
    fn drop(&mut self) {
        let _ = self.0.map(DoubleBarrier::withdraw);
    }
}
