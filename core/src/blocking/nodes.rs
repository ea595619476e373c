//! Plain operations on nodes, blocking.

use super::Feed;
use crate::drive::wait;
use crate::error::Result;
use crate::nodes::PartResult;
use crate::nodes::watch::{NodeState, WatchKind};
use crate::session::wire::{CreateMode, Stat};

/// [`crate::Nodes`], blocking.
#[derive(Clone, Debug)]
pub struct Nodes(pub(super) crate::Nodes);

impl Nodes {
    /// See [`crate::Nodes::create`].
    pub fn create(&self, path: &str, data: &[u8], mode: CreateMode) -> Result<String> {
        let (nodes, path, data) = (self.0.clone(), path.to_owned(), data.to_owned());
        wait(async move { nodes.create(&path, &data, mode).await }, None, None)
    }

    /// See [`crate::Nodes::get`].
    pub fn get(&self, path: &str) -> Result<(Vec<u8>, Stat)> {
        let (nodes, path) = (self.0.clone(), path.to_owned());
        wait(async move { nodes.get(&path).await }, None, None)
    }

    /// See [`crate::Nodes::set`].
    pub fn set(&self, path: &str, data: &[u8], version: Option<i32>) -> Result<Stat> {
        let (nodes, path, data) = (self.0.clone(), path.to_owned(), data.to_owned());
        wait(async move { nodes.set(&path, &data, version).await }, None, None)
    }

    /// See [`crate::Nodes::delete`].
    pub fn delete(&self, path: &str, version: Option<i32>) -> Result<()> {
        let (nodes, path) = (self.0.clone(), path.to_owned());
        wait(async move { nodes.delete(&path, version).await }, None, None)
    }

    /// See [`crate::Nodes::exists`].
    pub fn exists(&self, path: &str) -> Result<Option<Stat>> {
        let (nodes, path) = (self.0.clone(), path.to_owned());
        wait(async move { nodes.exists(&path).await }, None, None)
    }

    /// See [`crate::Nodes::children`].
    pub fn children(&self, path: &str) -> Result<Vec<String>> {
        let (nodes, path) = (self.0.clone(), path.to_owned());
        wait(async move { nodes.children(&path).await }, None, None)
    }

    /// See [`crate::Nodes::ensure`].
    pub fn ensure(&self, path: &str) -> Result<()> {
        let (nodes, path) = (self.0.clone(), path.to_owned());
        wait(async move { nodes.ensure(&path).await }, None, None)
    }

    /// See [`crate::Nodes::delete_all`].
    pub fn delete_all(&self, path: &str) -> Result<()> {
        let (nodes, path) = (self.0.clone(), path.to_owned());
        wait(async move { nodes.delete_all(&path).await }, None, None)
    }

    /// See [`crate::Nodes::watch`].
    pub fn watch(&self, path: &str, kind: WatchKind) -> Result<Feed<NodeState>> {
        self.0.watch(path, kind).map(Feed::from)
    }

    /// See [`crate::Nodes::transaction`].
    pub fn transaction(&self) -> Transaction {
        Transaction(self.0.transaction())
    }
}

/// [`crate::Transaction`], blocking.
#[derive(Clone, Debug)]
pub struct Transaction(pub(super) crate::Transaction);

impl Transaction {
    /// See [`crate::Transaction::create`].
    pub fn create(&self, path: &str, data: &[u8], mode: CreateMode) -> Result<()> {
        self.0.create(path, data, mode)
    }

    /// See [`crate::Transaction::set`].
    pub fn set(&self, path: &str, data: &[u8], version: Option<i32>) -> Result<()> {
        self.0.set(path, data, version)
    }

    /// See [`crate::Transaction::delete`].
    pub fn delete(&self, path: &str, version: Option<i32>) -> Result<()> {
        self.0.delete(path, version)
    }

    /// See [`crate::Transaction::check`].
    pub fn check(&self, path: &str, version: Option<i32>) -> Result<()> {
        self.0.check(path, version)
    }

    /// See [`crate::Transaction::commit`].
    pub fn commit(&self) -> Result<Vec<PartResult>> {
        let transaction = self.0.clone();
        wait(async move { transaction.commit().await }, None, None)
    }
}
