//! Generated from api/names.toml by api/generate; do not edit.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::Result;
use crate::blocking::{Client, Feed};
use crate::drive::wait;

impl Client {
    /// See [`crate::Client::names`].
    pub fn names(&self, path: &str) -> Result<Names> {
        self.0.names(path).map(Names::of)
    }
}

/// [`crate::Names`], blocking.
#[derive(Clone, Debug)]
pub struct Names {
    pub(in crate::blocking) core: crate::Names,
}

impl Names {
    pub(in crate::blocking) fn of(core: crate::Names) -> Names {
        Names { core }
    }

    /// See [`crate::Names::path`].
    pub fn path(&self) -> &str {
        self.core.path()
    }

    /// See [`crate::Names::bind`].
    pub fn bind(&self, name: &str, data: &[u8], ephemeral: bool) -> Result<()> {
        let (core, name, data) = (self.core.clone(), name.to_owned(), data.to_owned());
        wait(async move { core.bind(&name, &data, ephemeral).await }, None, None)
    }

    /// See [`crate::Names::bind_ttl`].
    pub fn bind_ttl(&self, name: &str, data: &[u8], ttl: Duration) -> Result<()> {
        let (core, name, data) = (self.core.clone(), name.to_owned(), data.to_owned());
        wait(async move { core.bind_ttl(&name, &data, ttl).await }, None, None)
    }

    /// See [`crate::Names::lookup`].
    pub fn lookup(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let (core, name) = (self.core.clone(), name.to_owned());
        wait(async move { core.lookup(&name).await }, None, None)
    }

    /// See [`crate::Names::unbind`].
    pub fn unbind(&self, name: &str) -> Result<()> {
        let (core, name) = (self.core.clone(), name.to_owned());
        wait(async move { core.unbind(&name).await }, None, None)
    }

    /// See [`crate::Names::list`].
    pub fn list(&self) -> Result<Vec<String>> {
        let core = self.core.clone();
        wait(async move { core.list().await }, None, None)
    }

    /// See [`crate::Names::watch`].
    pub fn watch(&self) -> Feed<BTreeMap<String, Vec<u8>>> {
        Feed::from(self.core.watch())
    }
}
