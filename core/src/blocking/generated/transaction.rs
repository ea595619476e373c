//! Generated from api/transaction.toml by api/generate; do not edit.

use crate::drive::wait;
use crate::{CreateMode, PartResult, Result};

/// [`crate::Transaction`], blocking.
#[derive(Clone, Debug)]
pub struct Transaction {
    pub(in crate::blocking) core: crate::Transaction,
}

impl Transaction {
    pub(in crate::blocking) fn of(core: crate::Transaction) -> Transaction {
        Transaction { core }
    }

    /// See [`crate::Transaction::create`].
    pub fn create(&self, path: &str, data: &[u8], mode: CreateMode) -> Result<()> {
        self.core.create(path, data, mode)
    }

    /// See [`crate::Transaction::set`].
    pub fn set(&self, path: &str, data: &[u8], version: Option<i32>) -> Result<()> {
        self.core.set(path, data, version)
    }

    /// See [`crate::Transaction::delete`].
    pub fn delete(&self, path: &str, version: Option<i32>) -> Result<()> {
        self.core.delete(path, version)
    }

    /// See [`crate::Transaction::check`].
    pub fn check(&self, path: &str, version: Option<i32>) -> Result<()> {
        self.core.check(path, version)
    }

    /// See [`crate::Transaction::commit`].
    pub fn commit(&self) -> Result<Vec<PartResult>> {
        let core = self.core.clone();
        wait(async move { core.commit().await }, None, None)
    }
}
