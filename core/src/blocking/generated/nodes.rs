//! Generated from api/nodes.toml by api/generate; do not edit.

use crate::blocking::{Feed, NodeCache, Transaction};
use crate::drive::wait;
use crate::{CreateMode, NodeState, Result, Stat, WatchKind};

/// [`crate::Nodes`], blocking.
#[derive(Clone, Debug)]
pub struct Nodes {
    pub(in crate::blocking) core: crate::Nodes,
}

impl Nodes {
    pub(in crate::blocking) fn of(core: crate::Nodes) -> Nodes {
        Nodes { core }
    }

    /// See [`crate::Nodes::transaction`].
    pub fn transaction(&self) -> Transaction {
        Transaction::of(self.core.transaction())
    }

    /// See [`crate::Nodes::create`].
    pub fn create(&self, path: &str, data: &[u8], mode: CreateMode) -> Result<String> {
        let (core, path, data) = (self.core.clone(), path.to_owned(), data.to_owned());
        wait(async move { core.create(&path, &data, mode).await }, None, None)
    }

    /// See [`crate::Nodes::get`].
    pub fn get(&self, path: &str) -> Result<(Vec<u8>, Stat)> {
        let (core, path) = (self.core.clone(), path.to_owned());
        wait(async move { core.get(&path).await }, None, None)
    }

    /// See [`crate::Nodes::set`].
    pub fn set(&self, path: &str, data: &[u8], version: Option<i32>) -> Result<Stat> {
        let (core, path, data) = (self.core.clone(), path.to_owned(), data.to_owned());
        wait(async move { core.set(&path, &data, version).await }, None, None)
    }

    /// See [`crate::Nodes::delete`].
    pub fn delete(&self, path: &str, version: Option<i32>) -> Result<()> {
        let (core, path) = (self.core.clone(), path.to_owned());
        wait(async move { core.delete(&path, version).await }, None, None)
    }

    /// See [`crate::Nodes::exists`].
    pub fn exists(&self, path: &str) -> Result<Option<Stat>> {
        let (core, path) = (self.core.clone(), path.to_owned());
        wait(async move { core.exists(&path).await }, None, None)
    }

    /// See [`crate::Nodes::children`].
    pub fn children(&self, path: &str) -> Result<Vec<String>> {
        let (core, path) = (self.core.clone(), path.to_owned());
        wait(async move { core.children(&path).await }, None, None)
    }

    /// See [`crate::Nodes::ephemerals`].
    pub fn ephemerals(&self, path: &str) -> Result<Vec<String>> {
        let (core, path) = (self.core.clone(), path.to_owned());
        wait(async move { core.ephemerals(&path).await }, None, None)
    }

    /// See [`crate::Nodes::ensure`].
    pub fn ensure(&self, path: &str) -> Result<()> {
        let (core, path) = (self.core.clone(), path.to_owned());
        wait(async move { core.ensure(&path).await }, None, None)
    }

    /// See [`crate::Nodes::delete_all`].
    pub fn delete_all(&self, path: &str) -> Result<()> {
        let (core, path) = (self.core.clone(), path.to_owned());
        wait(async move { core.delete_all(&path).await }, None, None)
    }

    /// See [`crate::Nodes::cache`].
    pub fn cache(&self, path: &str) -> Result<NodeCache> {
        let (core, path) = (self.core.clone(), path.to_owned());
        wait(async move { core.cache(&path).await }, None, None).map(NodeCache::of)
    }

    /// See [`crate::Nodes::watch`].
    pub fn watch(&self, path: &str, kind: WatchKind) -> Result<Feed<NodeState>> {
        self.core.watch(path, kind).map(Feed::from)
    }
}
