//! Generated from api/semaphore.toml by api/generate; do not edit.

use std::ops::Deref;

use crate::blocking::{Client, Handle};
use crate::drive::wait;
use crate::{Contender, Result};

impl Client {
    /// See [`crate::Client::semaphore`].
    pub fn semaphore(&self, path: &str, permits: usize) -> Result<Semaphore> {
        self.0.semaphore(path, permits).map(Semaphore::of)
    }
}

/// [`crate::Semaphore`], blocking.
#[derive(Clone, Debug)]
pub struct Semaphore {
    pub(in crate::blocking) core: crate::Semaphore,
    base: Handle,
}

impl Deref for Semaphore {
    type Target = Handle;

    fn deref(&self) -> &Handle {
        &self.base
    }
}

impl Semaphore {
    pub(in crate::blocking) fn of(core: crate::Semaphore) -> Semaphore {
        Semaphore { base: Handle::of((*core).clone()), core }
    }

    /// See [`crate::Semaphore::permits`].
    pub fn permits(&self) -> usize {
        self.core.permits()
    }

    /// See [`crate::Semaphore::holders`].
    pub fn holders(&self) -> Result<Vec<Contender>> {
        let core = self.core.clone();
        wait(async move { core.holders().await }, None, None)
    }

    /// See [`crate::Semaphore::resize`].
    pub fn resize(&self, permits: usize) -> Result<()> {
        let core = self.core.clone();
        wait(async move { core.resize(permits).await }, None, None)
    }
}
