//! Generated from api/double_barrier.toml by api/generate; do not edit.

use std::sync::Arc;
use std::time::Duration;

use crate::blocking::Client;
use crate::drive::{Cancels, wait};
use crate::{Result, Subscription, WaitProgress};

impl Client {
    /// See [`crate::Client::double_barrier`].
    pub fn double_barrier(&self, path: &str, parties: usize, name: Option<&str>) -> Result<DoubleBarrier> {
        self.0.double_barrier(path, parties, name).map(DoubleBarrier::of)
    }
}

/// [`crate::DoubleBarrier`], blocking.
#[derive(Clone, Debug)]
pub struct DoubleBarrier {
    pub(in crate::blocking) core: crate::DoubleBarrier,
    pub(in crate::blocking) cancels: Arc<Cancels>,
}

impl DoubleBarrier {
    pub(in crate::blocking) fn of(core: crate::DoubleBarrier) -> DoubleBarrier {
        DoubleBarrier { core, cancels: Arc::default() }
    }

    /// See [`crate::DoubleBarrier::path`].
    pub fn path(&self) -> &str {
        self.core.path()
    }

    /// See [`crate::DoubleBarrier::parties`].
    pub fn parties(&self) -> usize {
        self.core.parties()
    }

    /// See [`crate::DoubleBarrier::name`].
    pub fn name(&self) -> &str {
        self.core.name()
    }

    /// See [`crate::DoubleBarrier::has_entered`].
    pub fn has_entered(&self) -> bool {
        self.core.has_entered()
    }

    /// See [`crate::DoubleBarrier::on_wait`].
    pub fn on_wait(&self, callback: impl Fn(WaitProgress) + Send + Sync + 'static) -> Result<Subscription> {
        self.core.on_wait(callback)
    }

    /// See [`crate::DoubleBarrier::enter`].
    pub fn enter(&self, limit: Option<Duration>) -> Result<()> {
        let core = self.core.clone();
        wait(self.cancels.heed(async move { core.enter(limit).await }), None, None)
    }

    /// See [`crate::DoubleBarrier::leave`].
    pub fn leave(&self, limit: Option<Duration>) -> Result<()> {
        let core = self.core.clone();
        wait(self.cancels.heed(async move { core.leave(limit).await }), None, None)
    }

    /// See [`crate::DoubleBarrier::withdraw`].
    pub fn withdraw(&self) -> Result<()> {
        self.core.withdraw()
    }

    /// Ends the waits in progress on this handle with Cancelled; later ones are not affected. Who was entering counts for
    /// nobody then; who was leaving has left.
    pub fn cancel(&self) {
        self.cancels.cancel();
    }
}
