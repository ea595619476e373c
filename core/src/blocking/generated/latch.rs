//! Generated from api/latch.toml by api/generate; do not edit.

use std::sync::Arc;
use std::time::Duration;

use crate::Result;
use crate::blocking::Client;
use crate::drive::{Cancels, wait};

impl Client {
    /// See [`crate::Client::latch`].
    pub fn latch(&self, path: &str, count: usize) -> Result<Latch> {
        self.0.latch(path, count).map(Latch::of)
    }
}

/// [`crate::Latch`], blocking.
///
/// ```
/// # fn main() -> zkrecipes::Result<()> {
/// let client = zkrecipes::blocking::Client::connect("embedded:", Default::default())?;
/// let imports = client.latch("/latches/imports", 2)?;
/// assert_eq!(imports.count_down(2)?, 0);
/// imports.wait(None)?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Latch {
    pub(in crate::blocking) core: crate::Latch,
    pub(in crate::blocking) cancels: Arc<Cancels>,
}

impl Latch {
    pub(in crate::blocking) fn of(core: crate::Latch) -> Latch {
        Latch { core, cancels: Arc::default() }
    }

    /// See [`crate::Latch::path`].
    pub fn path(&self) -> &str {
        self.core.path()
    }

    /// See [`crate::Latch::count_down`].
    pub fn count_down(&self, n: usize) -> Result<usize> {
        let core = self.core.clone();
        wait(async move { core.count_down(n).await }, None, None)
    }

    /// See [`crate::Latch::remaining`].
    pub fn remaining(&self) -> Result<usize> {
        let core = self.core.clone();
        wait(async move { core.remaining().await }, None, None)
    }

    /// See [`crate::Latch::reset`].
    pub fn reset(&self, count: usize) -> Result<()> {
        let core = self.core.clone();
        wait(async move { core.reset(count).await }, None, None)
    }

    /// See [`crate::Latch::wait`].
    pub fn wait(&self, limit: Option<Duration>) -> Result<()> {
        let core = self.core.clone();
        wait(self.cancels.heed(async move { core.wait(limit).await }), None, None)
    }

    /// Ends the waits in progress on this handle with Cancelled; later ones are not affected.
    pub fn cancel(&self) {
        self.cancels.cancel();
    }
}
