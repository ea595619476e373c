//! Plain node operations, and transactions of them.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::client::Session;
use crate::convert::{self, payload, text, version};
use crate::errors::{OrRaise, guard};
use crate::face::{Face, Seed, two_faces};

/// What both faces of the node operations share.
#[pyclass(frozen, subclass, module = "zkrecipes._native")]
pub struct NodesBase {
    face: Face,
    nodes: zkrecipes::Nodes,
    session: Arc<Session>,
}

impl NodesBase {
    pub fn new(face: Face, nodes: zkrecipes::Nodes, session: Arc<Session>) -> NodesBase {
        NodesBase { face, nodes, session }
    }
}

two_faces!(NodesBase, Nodes, "Nodes");

fn bytes(py: Python<'_>, data: &[u8]) -> Py<PyAny> {
    PyBytes::new(py, data).into_any().unbind()
}

fn data_or_empty(data: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<u8>> {
    data.map_or(Ok(Vec::new()), |data| payload("data", data))
}

#[pymethods]
impl NodesBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> PyResult<NodesBase> {
        seed.get().take()
    }

    /// Creates a node and returns its path, which ends in a number for the sequential modes. `mode` is persistent,
    /// ephemeral, persistent_sequential, ephemeral_sequential or container.
    #[pyo3(signature = (path, data=None, mode=None), text_signature = "($self, path, data=b'', mode='persistent')")]
    fn create(
        &self,
        py: Python<'_>,
        path: &Bound<'_, PyAny>,
        data: Option<&Bound<'_, PyAny>>,
        mode: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let (path, data, mode) = (text("path", path)?, data_or_empty(data)?, convert::create_mode(mode)?);
        let nodes = self.nodes.clone();
        self.face.run(
            py,
            || async move { nodes.create(&path, &data, mode).await },
            |py, path| Ok(path.into_pyobject(py)?.into_any().unbind()),
        )
    }

    /// A node's data and Stat.
    fn get(&self, py: Python<'_>, path: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let (path, nodes) = (text("path", path)?, self.nodes.clone());
        self.face.run(
            py,
            || async move { nodes.get(&path).await },
            |py, (data, stat)| {
                Ok((bytes(py, &data), convert::stat(py, &stat)?).into_pyobject(py)?.into_any().unbind())
            },
        )
    }

    /// Writes a node's data, if it has this version; returns the new Stat.
    #[pyo3(signature = (path, data, version=None))]
    fn set(
        &self,
        py: Python<'_>,
        path: &Bound<'_, PyAny>,
        data: &Bound<'_, PyAny>,
        version: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let (path, data, version) =
            (text("path", path)?, payload("data", data)?, self::version("version", version)?);
        let nodes = self.nodes.clone();
        self.face.run(
            py,
            || async move { nodes.set(&path, &data, version).await },
            |py, stat| convert::stat(py, &stat),
        )
    }

    /// Deletes a node without children, if it has this version.
    #[pyo3(signature = (path, version=None))]
    fn delete(
        &self,
        py: Python<'_>,
        path: &Bound<'_, PyAny>,
        version: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let (path, version, nodes) =
            (text("path", path)?, self::version("version", version)?, self.nodes.clone());
        self.face.run_unit(py, || async move { nodes.delete(&path, version).await })
    }

    /// A node's Stat, or None.
    fn exists(&self, py: Python<'_>, path: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let (path, nodes) = (text("path", path)?, self.nodes.clone());
        self.face.run(
            py,
            || async move { nodes.exists(&path).await },
            |py, stat| stat.map_or_else(|| Ok(py.None()), |stat| convert::stat(py, &stat)),
        )
    }

    /// The names of a node's children, sorted.
    fn children(&self, py: Python<'_>, path: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let (path, nodes) = (text("path", path)?, self.nodes.clone());
        self.face.run(
            py,
            || async move { nodes.children(&path).await },
            |py, names| Ok(names.into_pyobject(py)?.into_any().unbind()),
        )
    }

    /// Creates a node and its parents where they are missing.
    fn ensure(&self, py: Python<'_>, path: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let (path, nodes) = (text("path", path)?, self.nodes.clone());
        self.face.run_unit(py, || async move { nodes.ensure(&path).await })
    }

    /// Deletes a node and all below it.
    fn delete_all(&self, py: Python<'_>, path: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let (path, nodes) = (text("path", path)?, self.nodes.clone());
        self.face.run_unit(py, || async move { nodes.delete_all(&path).await })
    }

    /// Writes that happen together or not at all.
    fn transaction(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let transaction = guard(|| Ok(self.nodes.transaction())).or_raise(py)?;
        TransactionBase::new(self.face, transaction, self.session.clone()).hand_out(py)
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

impl Nodes {
    fn new() -> Nodes {
        Nodes
    }
}

/// What both faces of a transaction share.
#[pyclass(frozen, subclass, module = "zkrecipes._native")]
pub struct TransactionBase {
    face: Face,
    transaction: zkrecipes::Transaction,
    // A transaction alone keeps its session open.
    _session: Arc<Session>,
}

impl TransactionBase {
    pub fn new(face: Face, transaction: zkrecipes::Transaction, session: Arc<Session>) -> TransactionBase {
        TransactionBase { face, transaction, _session: session }
    }
}

two_faces!(TransactionBase, Transaction, "Transaction");

#[pymethods]
impl TransactionBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> PyResult<TransactionBase> {
        seed.get().take()
    }

    /// Adds the creation of a node.
    #[pyo3(signature = (path, data=None, mode=None), text_signature = "($self, path, data=b'', mode='persistent')")]
    fn create(
        &self,
        py: Python<'_>,
        path: &Bound<'_, PyAny>,
        data: Option<&Bound<'_, PyAny>>,
        mode: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let (path, data, mode) = (text("path", path)?, data_or_empty(data)?, convert::create_mode(mode)?);
        guard(|| self.transaction.create(&path, &data, mode)).or_raise(py)
    }

    /// Adds a write of a node's data, if it has this version.
    #[pyo3(signature = (path, data, version=None))]
    fn set(
        &self,
        py: Python<'_>,
        path: &Bound<'_, PyAny>,
        data: &Bound<'_, PyAny>,
        version: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let (path, data, version) =
            (text("path", path)?, payload("data", data)?, self::version("version", version)?);
        guard(|| self.transaction.set(&path, &data, version)).or_raise(py)
    }

    /// Adds the deletion of a node, if it has this version.
    #[pyo3(signature = (path, version=None))]
    fn delete(
        &self,
        py: Python<'_>,
        path: &Bound<'_, PyAny>,
        version: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let (path, version) = (text("path", path)?, self::version("version", version)?);
        guard(|| self.transaction.delete(&path, version)).or_raise(py)
    }

    /// Adds a condition: the node exists, and has this version.
    #[pyo3(signature = (path, version=None))]
    fn check(
        &self,
        py: Python<'_>,
        path: &Bound<'_, PyAny>,
        version: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<()> {
        let (path, version) = (text("path", path)?, self::version("version", version)?);
        guard(|| self.transaction.check(&path, version)).or_raise(py)
    }

    /// Sends them all: every one is applied, or none.
    fn commit(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let transaction = self.transaction.clone();
        self.face.run_unit(py, || async move { transaction.commit().await })
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
/// ...     writes.check("/transaction-doc")
/// ...     writes.commit()
/// >>> client.nodes.get("/transaction-doc/result")[0]
/// b'42'
/// >>> client.close()
#[pyclass(frozen, extends = TransactionBase, module = "zkrecipes")]
pub struct Transaction;

impl Transaction {
    fn new() -> Transaction {
        Transaction
    }
}
