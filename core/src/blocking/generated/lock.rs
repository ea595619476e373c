//! Generated from api/lock.toml by api/generate; do not edit.

use std::ops::Deref;

use crate::blocking::{Client, Handle, Held};
use crate::drive::{check_may_wait, wait};
use crate::{LockOptions, Result};

impl Client {
    /// See [`crate::Client::lock`].
    pub fn lock(&self, path: &str, options: LockOptions) -> Result<Lock> {
        self.0.lock(path, options).map(Lock::of)
    }
}

/// [`crate::Lock`], blocking.
#[derive(Clone, Debug)]
pub struct Lock {
    pub(in crate::blocking) core: crate::Lock,
    base: Handle,
}

impl Deref for Lock {
    type Target = Handle;

    fn deref(&self) -> &Handle {
        &self.base
    }
}

impl Lock {
    pub(in crate::blocking) fn of(core: crate::Lock) -> Lock {
        Lock { base: Handle::of((*core).clone()), core }
    }

    /// See [`crate::Lock::downgrade`].
    pub fn downgrade(&self) -> Result<Held> {
        check_may_wait()?;
        wait(self.core.downgrade(), None, None).map(Held::of)
    }
}
