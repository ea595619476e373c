//! The lock family, blocking.

use std::sync::Arc;
use std::time::Duration;

use super::{Held, Lock, Transaction, common_verbs};
use crate::drive::{check_may_wait, wait};
use crate::error::{Error, Result};
use crate::recipes::contenders::Contender;
use crate::session::delivery::Subscription;

/// [`crate::ReadWriteLock`], blocking.
#[derive(Clone, Debug)]
pub struct ReadWriteLock(pub(super) crate::ReadWriteLock);

impl ReadWriteLock {
    /// See [`crate::ReadWriteLock::read`].
    pub fn read(&self) -> Lock {
        Lock(self.0.read().clone())
    }

    /// See [`crate::ReadWriteLock::write`].
    pub fn write(&self) -> Lock {
        Lock(self.0.write().clone())
    }
}

/// [`crate::MultiLock`], blocking.
#[derive(Clone, Debug)]
pub struct MultiLock(pub(super) crate::MultiLock);

impl MultiLock {
    /// See [`crate::MultiLock::acquire`].
    pub fn acquire(&self) -> Result<Held> {
        self.acquire_within(None)
    }

    /// See [`crate::MultiLock::acquire_within`].
    pub fn acquire_within(&self, limit: Option<Duration>) -> Result<Held> {
        check_may_wait()?;
        wait(self.0.acquire_within(limit), None, None).map(|held| Held(Arc::new(held)))
    }

    /// See [`crate::MultiLock::try_acquire`].
    pub fn try_acquire(&self) -> Result<Option<Held>> {
        check_may_wait()?;
        Ok(wait(self.0.try_acquire(), None, None)?.map(|held| Held(Arc::new(held))))
    }
}

common_verbs!(MultiLock);

/// [`crate::Semaphore`], blocking.
#[derive(Clone, Debug)]
pub struct Semaphore(pub(super) crate::Semaphore);

impl Semaphore {
    /// See [`crate::Semaphore::acquire`].
    pub fn acquire(&self, n: usize) -> Result<Held> {
        self.acquire_within(n, None)
    }

    /// See [`crate::Semaphore::acquire_within`].
    pub fn acquire_within(&self, n: usize, limit: Option<Duration>) -> Result<Held> {
        check_may_wait()?;
        wait(self.0.acquire_within(n, limit), None, None).map(|held| Held(Arc::new(held)))
    }

    /// See [`crate::Semaphore::try_acquire`].
    pub fn try_acquire(&self, n: usize) -> Result<Option<Held>> {
        check_may_wait()?;
        Ok(wait(self.0.try_acquire(n), None, None)?.map(|held| Held(Arc::new(held))))
    }

    /// See [`crate::Semaphore::holders`].
    pub fn holders(&self) -> Result<Vec<Contender>> {
        let semaphore = self.0.clone();
        wait(async move { semaphore.holders().await }, None, None)
    }

    /// See [`crate::Semaphore::resize`].
    pub fn resize(&self, permits: usize) -> Result<()> {
        let semaphore = self.0.clone();
        wait(async move { semaphore.resize(permits).await }, None, None)
    }
}

common_verbs!(Semaphore);
