//! Generated from api/transaction.toml by api/generate; do not edit.

use pyo3::prelude::*;

use crate::convert;
use crate::errors::OrRaise;
use crate::face::{Answered, Arg, Fresh, Seed, recipe};

recipe!(TransactionBase of zkrecipes::Transaction, Transaction, "Transaction");

#[pymethods]
impl TransactionBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<TransactionBase> {
        seed.get().take()
    }

    /// Adds the creation of a node: see `nodes.create`.
    #[pyo3(signature = (path, data=None, mode=None, *, ttl=None), text_signature = "($self, path, data=b'', mode='persistent', *, ttl=None)")]
    fn create(
        slf: &Bound<'_, Self>,
        path: Arg,
        data: Option<Arg>,
        mode: Option<Arg>,
        ttl: Option<Arg>,
    ) -> PyResult<()> {
        let path = convert::text("path", path)?;
        let data = convert::payload_or_empty(data)?;
        let mode = convert::create_mode(mode, ttl)?;
        Self::origin(slf).guard(|| slf.get().core.create(&path, &data, mode)).or_raise(slf.py())
    }

    /// Adds a write of a node's data, if it has this version.
    #[pyo3(signature = (path, data, version=None))]
    fn set(slf: &Bound<'_, Self>, path: Arg, data: Arg, version: Option<Arg>) -> PyResult<()> {
        let path = convert::text("path", path)?;
        let data = convert::payload("data", data)?;
        let version = convert::version("version", version)?;
        Self::origin(slf).guard(|| slf.get().core.set(&path, &data, version)).or_raise(slf.py())
    }

    /// Adds the deletion of a node, if it has this version.
    #[pyo3(signature = (path, version=None))]
    fn delete(slf: &Bound<'_, Self>, path: Arg, version: Option<Arg>) -> PyResult<()> {
        let path = convert::text("path", path)?;
        let version = convert::version("version", version)?;
        Self::origin(slf).guard(|| slf.get().core.delete(&path, version)).or_raise(slf.py())
    }

    /// Adds a condition: the node exists, and has this version.
    #[pyo3(signature = (path, version=None))]
    fn check(slf: &Bound<'_, Self>, path: Arg, version: Option<Arg>) -> PyResult<()> {
        let path = convert::text("path", path)?;
        let version = convert::version("version", version)?;
        Self::origin(slf).guard(|| slf.get().core.check(&path, version)).or_raise(slf.py())
    }

    /// Sends them all: every one is applied, or none. Answers what became of each, in order: the path of a node
    /// that was created, the Stat of one that was written, None for deletions and checks.
    fn commit(slf: &Bound<'_, Self>) -> Answered {
        let core = zkrecipes::Transaction::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.commit().await })
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
#[pyclass(frozen, weakref, extends = TransactionBase, module = "zkrecipes")]
pub struct Transaction;
