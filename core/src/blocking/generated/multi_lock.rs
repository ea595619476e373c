//! Generated from api/multi_lock.toml by api/generate; do not edit.

use std::ops::Deref;

use crate::blocking::Handle;

/// [`crate::MultiLock`], blocking.
#[derive(Clone, Debug)]
pub struct MultiLock {
    pub(in crate::blocking) core: crate::MultiLock,
    base: Handle,
}

impl Deref for MultiLock {
    type Target = Handle;

    fn deref(&self) -> &Handle {
        &self.base
    }
}

impl MultiLock {
    pub(in crate::blocking) fn of(core: crate::MultiLock) -> MultiLock {
        MultiLock { base: Handle::of((*core).clone()), core }
    }

    /// See [`crate::MultiLock::paths`].
    pub fn paths(&self) -> &[String] {
        self.core.paths()
    }
}
