//! What is particular to members of the lock family, blocking.

use std::time::Duration;

use super::{Client, Handle, Held, Lock, MultiLock, Semaphore};
use crate::error::Result;

impl Client {
    /// See [`crate::Client::read_write_lock`].
    pub fn read_write_lock(&self, path: &str) -> Result<ReadWriteLock> {
        self.0.read_write_lock(path).map(ReadWriteLock)
    }

    /// See [`crate::Client::multi_lock`].
    pub fn multi_lock(&self, locks: &[Lock]) -> Result<MultiLock> {
        let locks: Vec<_> = locks.iter().map(|lock| lock.core.clone()).collect();
        self.0.multi_lock(&locks).map(MultiLock::of)
    }
}

/// [`crate::ReadWriteLock`], blocking.
#[derive(Clone, Debug)]
pub struct ReadWriteLock(crate::ReadWriteLock);

impl ReadWriteLock {
    /// See [`crate::ReadWriteLock::path`].
    pub fn path(&self) -> &str {
        self.0.path()
    }

    /// See [`crate::ReadWriteLock::read`].
    pub fn read(&self) -> Lock {
        Lock::of(self.0.read().clone())
    }

    /// See [`crate::ReadWriteLock::write`].
    pub fn write(&self) -> Lock {
        Lock::of(self.0.write().clone())
    }
}

impl MultiLock {
    /// See [`crate::MultiLock::fencing_tokens`].
    pub fn fencing_tokens(&self) -> Result<Vec<u64>> {
        self.core.fencing_tokens()
    }
}

impl Semaphore {
    /// See [`crate::Semaphore::acquire`].
    pub fn acquire(&self, n: usize) -> Result<Held> {
        Handle::wait(|| self.core.acquire(n))
    }

    /// See [`crate::Semaphore::acquire_timeout`].
    pub fn acquire_timeout(&self, n: usize, limit: Duration) -> Result<Held> {
        Handle::wait(|| self.core.acquire_timeout(n, limit))
    }

    /// See [`crate::Semaphore::try_acquire`].
    pub fn try_acquire(&self, n: usize) -> Result<Option<Held>> {
        Handle::attempt(|| self.core.try_acquire(n))
    }
}
