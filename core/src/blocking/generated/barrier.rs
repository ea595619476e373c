//! Generated from api/barrier.toml by api/generate; do not edit.

use std::sync::Arc;
use std::time::Duration;

use crate::blocking::Client;
use crate::drive::{Cancels, wait};
use crate::{Result, Subscription, WaitProgress};

impl Client {
    /// See [`crate::Client::barrier`].
    pub fn barrier(&self, path: &str) -> Result<Barrier> {
        self.0.barrier(path).map(Barrier::of)
    }
}

/// [`crate::Barrier`], blocking.
#[derive(Clone, Debug)]
pub struct Barrier {
    pub(in crate::blocking) core: crate::Barrier,
    pub(in crate::blocking) cancels: Arc<Cancels>,
}

impl Barrier {
    pub(in crate::blocking) fn of(core: crate::Barrier) -> Barrier {
        Barrier { core, cancels: Arc::default() }
    }

    /// See [`crate::Barrier::path`].
    pub fn path(&self) -> &str {
        self.core.path()
    }

    /// See [`crate::Barrier::create`].
    pub fn create(&self) -> Result<()> {
        let core = self.core.clone();
        wait(async move { core.create().await }, None, None)
    }

    /// See [`crate::Barrier::remove`].
    pub fn remove(&self) -> Result<()> {
        let core = self.core.clone();
        wait(async move { core.remove().await }, None, None)
    }

    /// See [`crate::Barrier::is_up`].
    pub fn is_up(&self) -> Result<bool> {
        let core = self.core.clone();
        wait(async move { core.is_up().await }, None, None)
    }

    /// See [`crate::Barrier::on_wait`].
    pub fn on_wait(&self, callback: impl Fn(WaitProgress) + Send + Sync + 'static) -> Result<Subscription> {
        self.core.on_wait(callback)
    }

    /// See [`crate::Barrier::wait`].
    pub fn wait(&self, limit: Option<Duration>) -> Result<()> {
        let core = self.core.clone();
        wait(self.cancels.heed(async move { core.wait(limit).await }), None, None)
    }

    /// Ends the waits in progress on this handle with Cancelled; later ones are not affected.
    pub fn cancel(&self) {
        self.cancels.cancel();
    }
}
