//! Plain node operations, and transactions of them.

use pyo3::prelude::*;

use crate::convert::{self, payload, payload_or_empty, text, version};
use crate::errors::{OrRaise, guard};
use crate::face::{Answered, Arg, Fresh, Seed, recipe};
use crate::feed::FeedBase;

recipe!(NodesBase of zkrecipes::Nodes, Nodes, "Nodes");

#[pymethods]
impl NodesBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<NodesBase> {
        seed.get().take()
    }

    /// Creates a node and returns its path, which ends in a number for the sequential modes. `mode` is persistent,
    /// ephemeral, persistent_sequential, ephemeral_sequential or container. A persistent one may have a time to live: the
    /// server removes it once it has had neither children nor changes for `ttl` seconds. Servers take that only with
    /// zookeeper.extendedTypesEnabled=true; others make it Invalid.
    #[pyo3(
        signature = (path, data=None, mode=None, *, ttl=None),
        text_signature = "($self, path, data=b'', mode='persistent', *, ttl=None)"
    )]
    fn create(
        &self,
        py: Python<'_>,
        path: Arg,
        data: Option<Arg>,
        mode: Option<Arg>,
        ttl: Option<Arg>,
    ) -> Answered {
        let (path, data) = (text("path", path)?, payload_or_empty(data)?);
        let mode = convert::create_mode(mode, ttl)?;
        let nodes = self.core.clone();
        self.origin.run(py, || async move { nodes.create(&path, &data, mode).await })
    }

    /// A node's data and Stat.
    fn get(&self, py: Python<'_>, path: Arg) -> Answered {
        let (path, nodes) = (text("path", path)?, self.core.clone());
        self.origin.run(py, || async move { nodes.get(&path).await })
    }

    /// Writes a node's data, if it has this version; returns the new Stat.
    #[pyo3(signature = (path, data, version=None))]
    fn set(&self, py: Python<'_>, path: Arg, data: Arg, version: Option<Arg>) -> Answered {
        let (path, data, version) =
            (text("path", path)?, payload("data", data)?, self::version("version", version)?);
        let nodes = self.core.clone();
        self.origin.run(py, || async move { nodes.set(&path, &data, version).await })
    }

    /// Deletes a node without children, if it has this version.
    #[pyo3(signature = (path, version=None))]
    fn delete(&self, py: Python<'_>, path: Arg, version: Option<Arg>) -> Answered {
        let (path, version, nodes) =
            (text("path", path)?, self::version("version", version)?, self.core.clone());
        self.origin.run(py, || async move { nodes.delete(&path, version).await })
    }

    /// A node's Stat, or None.
    fn exists(&self, py: Python<'_>, path: Arg) -> Answered {
        let (path, nodes) = (text("path", path)?, self.core.clone());
        self.origin.run(py, || async move { nodes.exists(&path).await })
    }

    /// The names of a node's children, sorted.
    fn children(&self, py: Python<'_>, path: Arg) -> Answered {
        let (path, nodes) = (text("path", path)?, self.core.clone());
        self.origin.run(py, || async move { nodes.children(&path).await })
    }

    /// Creates a node and its parents where they are missing.
    fn ensure(&self, py: Python<'_>, path: Arg) -> Answered {
        let (path, nodes) = (text("path", path)?, self.core.clone());
        self.origin.run(py, || async move { nodes.ensure(&path).await })
    }

    /// Deletes a node and all below it.
    fn delete_all(&self, py: Python<'_>, path: Arg) -> Answered {
        let (path, nodes) = (text("path", path)?, self.core.clone());
        self.origin.run(py, || async move { nodes.delete_all(&path).await })
    }

    /// How a node stands now, and whenever that has changed: its data and Stat, the names of its "children", or by path the data
    /// and Stat of it and of all below it ("subtree"). The node need not exist: then it is None, or an empty dict.
    #[pyo3(signature = (path, kind=None), text_signature = "($self, path, kind='data')")]
    fn watch(&self, py: Python<'_>, path: Arg, kind: Option<Arg>) -> Answered {
        let (path, kind) = (text("path", path)?, convert::word_or("kind", kind)?);
        FeedBase::follow(py, &self.origin, || self.core.watch(&path, kind))
    }

    /// Writes that happen together or not at all.
    fn transaction(&self, py: Python<'_>) -> Answered {
        let transaction = self.origin.guard(|| Ok(self.core.transaction())).or_raise(py)?;
        TransactionBase::of(py, &self.origin, transaction)
    }
}

/// Plain node operations. The `nodes` of a client.
///
/// >>> import zkrecipes
/// >>> client = zkrecipes.Client("embedded:")
/// >>> client.nodes.ensure("/nodes-doc")
/// >>> client.nodes.create("/nodes-doc/item-", "first", "persistent_sequential")
/// '/nodes-doc/item-0000000000'
/// >>> data, stat = client.nodes.get("/nodes-doc/item-0000000000")
/// >>> data, stat.version
/// (b'first', 0)
/// >>> client.close()
#[pyclass(frozen, extends = NodesBase, module = "zkrecipes")]
pub struct Nodes;

recipe!(TransactionBase of zkrecipes::Transaction, Transaction, "Transaction");

impl TransactionBase {
    pub fn core(&self) -> &zkrecipes::Transaction {
        &self.core
    }
}

#[pymethods]
impl TransactionBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<TransactionBase> {
        seed.get().take()
    }

    /// Adds the creation of a node: see `nodes.create`.
    #[pyo3(
        signature = (path, data=None, mode=None, *, ttl=None),
        text_signature = "($self, path, data=b'', mode='persistent', *, ttl=None)"
    )]
    fn create(
        &self,
        py: Python<'_>,
        path: Arg,
        data: Option<Arg>,
        mode: Option<Arg>,
        ttl: Option<Arg>,
    ) -> PyResult<()> {
        let (path, data) = (text("path", path)?, payload_or_empty(data)?);
        let mode = convert::create_mode(mode, ttl)?;
        guard(|| self.core.create(&path, &data, mode)).or_raise(py)
    }

    /// Adds a write of a node's data, if it has this version.
    #[pyo3(signature = (path, data, version=None))]
    fn set(&self, py: Python<'_>, path: Arg, data: Arg, version: Option<Arg>) -> PyResult<()> {
        let (path, data, version) =
            (text("path", path)?, payload("data", data)?, self::version("version", version)?);
        guard(|| self.core.set(&path, &data, version)).or_raise(py)
    }

    /// Adds the deletion of a node, if it has this version.
    #[pyo3(signature = (path, version=None))]
    fn delete(&self, py: Python<'_>, path: Arg, version: Option<Arg>) -> PyResult<()> {
        let (path, version) = (text("path", path)?, self::version("version", version)?);
        guard(|| self.core.delete(&path, version)).or_raise(py)
    }

    /// Adds a condition: the node exists, and has this version.
    #[pyo3(signature = (path, version=None))]
    fn check(&self, py: Python<'_>, path: Arg, version: Option<Arg>) -> PyResult<()> {
        let (path, version) = (text("path", path)?, self::version("version", version)?);
        guard(|| self.core.check(&path, version)).or_raise(py)
    }

    /// Sends them all: every one is applied, or none. Answers what became of each, in order: the path of a node that was
    /// created, the Stat of one that was written, None for deletions and checks.
    fn commit(&self, py: Python<'_>) -> Answered {
        let transaction = self.core.clone();
        self.origin.run(py, || async move { transaction.commit().await })
    }
}

/// Writes that happen together or not at all. Made by `nodes.transaction()` and `held.guarded()`.
///
/// >>> import zkrecipes
/// >>> client = zkrecipes.Client("embedded:")
/// >>> client.nodes.ensure("/transaction-doc/result")
/// >>> with client.lock("/transaction-doc/lock") as held:
/// ...     writes = held.guarded()                      # applied only while the lock is held
/// ...     writes.set("/transaction-doc/result", "42")
/// ...     writes.create("/transaction-doc/log-", "report", "persistent_sequential")
/// ...     written, logged = writes.commit()
/// >>> written.version, logged[:-10]
/// (1, '/transaction-doc/log-')
/// >>> client.nodes.get("/transaction-doc/result")[0]
/// b'42'
/// >>> client.close()
#[pyclass(frozen, extends = TransactionBase, module = "zkrecipes")]
pub struct Transaction;
