//! Generated from api/partitioner.toml by api/generate; do not edit.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::blocking::{Client, Feed};
use crate::drive::{Cancels, wait};
use crate::{PartitionerOptions, Partitions, Result};

impl Client {
    /// See [`crate::Client::partitioner`].
    pub fn partitioner(
        &self,
        path: &str,
        partitions: impl Into<Partitions>,
        options: PartitionerOptions,
    ) -> Result<Partitioner> {
        self.0.partitioner(path, partitions, options).map(Partitioner::of)
    }
}

/// [`crate::Partitioner`], blocking.
///
/// ```
/// # fn main() -> zkrecipes::Result<()> {
/// let client = zkrecipes::blocking::Client::connect("embedded:", Default::default())?;
/// let imports = client.partitioner("/partitions/imports", 2, Default::default())?;
/// let partition = imports.next(None)?;
/// assert!(partition.is_held());
/// imports.leave()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Partitioner {
    pub(in crate::blocking) core: crate::Partitioner,
    pub(in crate::blocking) cancels: Arc<Cancels>,
}

impl Partitioner {
    pub(in crate::blocking) fn of(core: crate::Partitioner) -> Partitioner {
        Partitioner { core, cancels: Arc::default() }
    }

    /// See [`crate::Partitioner::path`].
    pub fn path(&self) -> &str {
        self.core.path()
    }

    /// See [`crate::Partitioner::name`].
    pub fn name(&self) -> &str {
        self.core.name()
    }

    /// See [`crate::Partitioner::leave`].
    pub fn leave(&self) -> Result<()> {
        let core = self.core.clone();
        wait(async move { core.leave().await }, None, None)
    }

    /// See [`crate::Partitioner::owners`].
    pub fn owners(&self) -> Result<BTreeMap<String, Option<String>>> {
        let core = self.core.clone();
        wait(async move { core.owners().await }, None, None)
    }

    /// See [`crate::Partitioner::watch`].
    pub fn watch(&self) -> Feed<BTreeMap<String, Option<String>>> {
        Feed::from(self.core.watch())
    }

    /// See [`crate::Partitioner::members`].
    pub fn members(&self) -> Result<BTreeMap<String, u32>> {
        let core = self.core.clone();
        wait(async move { core.members().await }, None, None)
    }

    /// Ends the waits in progress on this handle with Cancelled; later ones are not affected.
    pub fn cancel(&self) {
        self.cancels.cancel();
    }
}
