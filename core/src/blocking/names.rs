//! Names and what they stand for, blocking.

use std::collections::BTreeMap;

use super::{Client, Feed};
use crate::drive::wait;
use crate::error::Result;

impl Client {
    /// See [`crate::Client::names`].
    pub fn names(&self, path: &str) -> Result<Names> {
        self.0.names(path).map(Names)
    }
}

/// [`crate::Names`], blocking.
#[derive(Clone, Debug)]
pub struct Names(crate::Names);

impl Names {
    /// See [`crate::Names::path`].
    pub fn path(&self) -> &str {
        self.0.path()
    }

    /// See [`crate::Names::bind`].
    pub fn bind(&self, name: &str, data: &[u8], ephemeral: bool) -> Result<()> {
        let (names, name, data) = (self.0.clone(), name.to_owned(), data.to_owned());
        wait(async move { names.bind(&name, &data, ephemeral).await }, None, None)
    }

    /// See [`crate::Names::lookup`].
    pub fn lookup(&self, name: &str) -> Result<Option<Vec<u8>>> {
        let (names, name) = (self.0.clone(), name.to_owned());
        wait(async move { names.lookup(&name).await }, None, None)
    }

    /// See [`crate::Names::unbind`].
    pub fn unbind(&self, name: &str) -> Result<()> {
        let (names, name) = (self.0.clone(), name.to_owned());
        wait(async move { names.unbind(&name).await }, None, None)
    }

    /// See [`crate::Names::list`].
    pub fn list(&self) -> Result<Vec<String>> {
        let names = self.0.clone();
        wait(async move { names.list().await }, None, None)
    }

    /// See [`crate::Names::watch`].
    pub fn watch(&self) -> Feed<BTreeMap<String, Vec<u8>>> {
        self.0.watch().into()
    }
}
