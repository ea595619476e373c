//! Barriers, blocking.

use std::sync::Arc;
use std::time::Duration;

use super::Client;
use crate::drive::{Cancels, wait};
use crate::error::Result;
use crate::recipes::waiting::WaitProgress;
use crate::session::delivery::Subscription;

impl Client {
    /// See [`crate::Client::barrier`].
    pub fn barrier(&self, path: &str) -> Result<Barrier> {
        Ok(Barrier { barrier: self.0.barrier(path)?, cancels: Arc::default() })
    }
}

/// [`crate::Barrier`], blocking.
#[derive(Clone, Debug)]
pub struct Barrier {
    barrier: crate::Barrier,
    cancels: Arc<Cancels>,
}

impl Barrier {
    /// See [`crate::Barrier::path`].
    pub fn path(&self) -> &str {
        self.barrier.path()
    }

    /// See [`crate::Barrier::create`].
    pub fn create(&self) -> Result<()> {
        let barrier = self.barrier.clone();
        wait(async move { barrier.create().await }, None, None)
    }

    /// See [`crate::Barrier::remove`].
    pub fn remove(&self) -> Result<()> {
        let barrier = self.barrier.clone();
        wait(async move { barrier.remove().await }, None, None)
    }

    /// See [`crate::Barrier::is_up`].
    pub fn is_up(&self) -> Result<bool> {
        let barrier = self.barrier.clone();
        wait(async move { barrier.is_up().await }, None, None)
    }

    /// See [`crate::Barrier::on_wait`].
    pub fn on_wait(&self, callback: impl Fn(WaitProgress) + Send + Sync + 'static) -> Result<Subscription> {
        self.barrier.on_wait(callback)
    }

    /// See [`crate::Barrier::wait`].
    pub fn wait(&self, limit: Option<Duration>) -> Result<()> {
        let barrier = self.barrier.clone();
        wait(self.cancels.heed(async move { barrier.wait(limit).await }), None, None)
    }

    /// Ends the waits in progress on this handle with Cancelled; later ones are not affected.
    pub fn cancel(&self) {
        self.cancels.cancel();
    }
}
