//! The lock family, blocking.

use std::ops::Deref;
use std::time::Duration;

use super::{Client, Handle, Held};
use crate::drive::wait;
use crate::error::Result;
use crate::options::LockOptions;
use crate::recipes::contenders::Contender;

/// What is a handle, and more: the blocking handle and the core's own type.
macro_rules! handles {
    ($($kind:ident)*) => {$(
        #[doc = concat!("[`crate::", stringify!($kind), "`], blocking.")]
        #[derive(Clone, Debug)]
        pub struct $kind {
            handle: Handle,
            core: crate::$kind,
        }

        impl $kind {
            fn of(core: crate::$kind) -> $kind {
                $kind { handle: Handle(crate::Handle::clone(&core)), core }
            }
        }

        impl Deref for $kind {
            type Target = Handle;

            fn deref(&self) -> &Handle {
                &self.handle
            }
        }
    )*};
}
handles!(Lock MultiLock Semaphore);

impl Client {
    /// See [`crate::Client::lock`].
    pub fn lock(&self, path: &str, options: LockOptions) -> Result<Lock> {
        self.0.lock(path, options).map(Lock::of)
    }

    /// See [`crate::Client::read_write_lock`].
    pub fn read_write_lock(&self, path: &str) -> Result<ReadWriteLock> {
        self.0.read_write_lock(path).map(ReadWriteLock)
    }

    /// See [`crate::Client::multi_lock`].
    pub fn multi_lock(&self, locks: &[Lock]) -> Result<MultiLock> {
        let locks: Vec<_> = locks.iter().map(|lock| lock.core.clone()).collect();
        self.0.multi_lock(&locks).map(MultiLock::of)
    }

    /// See [`crate::Client::semaphore`].
    pub fn semaphore(&self, path: &str, permits: usize) -> Result<Semaphore> {
        self.0.semaphore(path, permits).map(Semaphore::of)
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

impl Lock {
    /// See [`crate::Lock::downgrade`].
    pub fn downgrade(&self) -> Result<Held> {
        Handle::wait(|| self.core.downgrade())
    }
}

impl MultiLock {
    /// See [`crate::MultiLock::paths`].
    pub fn paths(&self) -> &[String] {
        self.core.paths()
    }

    /// See [`crate::MultiLock::fencing_tokens`].
    pub fn fencing_tokens(&self) -> Result<Vec<u64>> {
        self.core.fencing_tokens()
    }
}

impl Semaphore {
    /// See [`crate::Semaphore::permits`].
    pub fn permits(&self) -> usize {
        self.core.permits()
    }

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

    /// See [`crate::Semaphore::holders`].
    pub fn holders(&self) -> Result<Vec<Contender>> {
        let semaphore = self.core.clone();
        wait(async move { semaphore.holders().await }, None, None)
    }

    /// See [`crate::Semaphore::resize`].
    pub fn resize(&self, permits: usize) -> Result<()> {
        let semaphore = self.core.clone();
        wait(async move { semaphore.resize(permits).await }, None, None)
    }
}
