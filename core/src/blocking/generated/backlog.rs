//! Generated from api/backlog.toml by api/generate; do not edit.

use std::time::Duration;

use crate::drive::wait;
use crate::{QueueStats, Result, Subscription, WaitProgress};

/// [`crate::Backlog`], blocking.
#[derive(Clone, Debug)]
pub struct Backlog {
    pub(in crate::blocking) core: crate::Backlog,
}

impl Backlog {
    pub(in crate::blocking) fn of(core: crate::Backlog) -> Backlog {
        Backlog { core }
    }

    /// See [`crate::Backlog::path`].
    pub fn path(&self) -> &str {
        self.core.path()
    }

    /// See [`crate::Backlog::on_wait`].
    pub fn on_wait(&self, callback: impl Fn(WaitProgress) + Send + Sync + 'static) -> Result<Subscription> {
        self.core.on_wait(callback)
    }

    /// See [`crate::Backlog::peek`].
    pub fn peek(&self) -> Result<Option<Vec<u8>>> {
        let core = self.core.clone();
        wait(async move { core.peek().await }, None, None)
    }

    /// See [`crate::Backlog::len`].
    pub fn len(&self) -> Result<usize> {
        let core = self.core.clone();
        wait(async move { core.len().await }, None, None)
    }

    /// See [`crate::Backlog::stats`].
    pub fn stats(&self) -> Result<QueueStats> {
        let core = self.core.clone();
        wait(async move { core.stats().await }, None, None)
    }

    /// See [`crate::Backlog::items`].
    pub fn items(&self) -> Result<Vec<Vec<u8>>> {
        let core = self.core.clone();
        wait(async move { core.items().await }, None, None)
    }

    /// See [`crate::Backlog::replay`].
    pub fn replay(&self) -> Result<usize> {
        let core = self.core.clone();
        wait(async move { core.replay().await }, None, None)
    }

    /// See [`crate::Backlog::replay_one`].
    pub fn replay_one(&self, id: &str) -> Result<usize> {
        let (core, id) = (self.core.clone(), id.to_owned());
        wait(async move { core.replay_one(&id).await }, None, None)
    }

    /// See [`crate::Backlog::purge`].
    pub fn purge(&self, older_than: Duration) -> Result<usize> {
        let core = self.core.clone();
        wait(async move { core.purge(older_than).await }, None, None)
    }

    /// See [`crate::Backlog::cancel`].
    pub fn cancel(&self) {
        self.core.cancel();
    }
}
