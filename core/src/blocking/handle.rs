//! Acquiring, and what is left of it, blocking.

use std::time::Duration;

use super::{Handle, Held};
use crate::drive::{check_may_wait, wait};
use crate::error::Result;

impl Handle {
    /// See [`crate::Handle::path`].
    pub fn path(&self) -> &str {
        self.core.path()
    }

    /// See [`crate::Handle::acquire`].
    pub fn acquire(&self) -> Result<Held> {
        Handle::wait(|| self.core.acquire())
    }

    /// See [`crate::Handle::acquire_timeout`].
    pub fn acquire_timeout(&self, limit: Duration) -> Result<Held> {
        Handle::wait(|| self.core.acquire_timeout(limit))
    }

    /// See [`crate::Handle::try_acquire`].
    pub fn try_acquire(&self) -> Result<Option<Held>> {
        Handle::attempt(|| self.core.try_acquire())
    }

    /// Begins to acquire, unless it cannot be waited for: then nothing should happen.
    pub(super) fn wait<F>(begin: impl FnOnce() -> F) -> Result<Held>
    where
        F: Future<Output = Result<crate::Held>> + Send + 'static,
    {
        check_may_wait()?;
        wait(begin(), None, None).map(Held::of)
    }

    /// The same for an attempt.
    pub(super) fn attempt<F>(begin: impl FnOnce() -> F) -> Result<Option<Held>>
    where
        F: Future<Output = Result<Option<crate::Held>>> + Send + 'static,
    {
        check_may_wait()?;
        Ok(wait(begin(), None, None)?.map(Held::of))
    }

    /// See [`crate::Handle::current`].
    pub fn current(&self) -> Option<Held> {
        self.core.current().map(Held::of)
    }
}

impl Held {
    /// See [`crate::Held::fencing_tokens`].
    pub fn fencing_tokens(&self) -> Vec<u64> {
        self.core.fencing_tokens()
    }

    /// See [`crate::Held::is_released`].
    pub fn is_released(&self) -> bool {
        self.core.is_released()
    }

    /// See [`crate::Held::leave`].
    pub fn leave(&self, body_failed: bool) -> Result<()> {
        check_may_wait()?;
        wait(self.core.leave(body_failed), None, None)
    }
}
