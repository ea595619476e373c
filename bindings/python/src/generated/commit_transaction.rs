//! Generated from api/commit_transaction.toml by api/generate; do not edit.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::convert;
use crate::face::{Answered, Arg, Fresh, Seed, recipe};
use crate::waiting::Waiting;

recipe!(CommitTransactionBase of Waiting<zkrecipes::CommitTransaction>, CommitTransaction, "CommitTransaction");

#[pymethods]
impl CommitTransactionBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<CommitTransactionBase> {
        seed.get().take()
    }

    /// By which name it began.
    #[getter]
    fn id(&self) -> &str {
        self.core.id()
    }

    /// Who votes.
    #[getter]
    fn sites(&self) -> Vec<String> {
        self.core.sites().to_vec()
    }

    /// What it is about.
    #[getter]
    fn payload<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.core.payload())
    }

    /// Why it was aborted: which site voted for that and what it said, or that not all had voted in time. Empty of
    /// a commit, and as long as the outcome is not known here: ask for that first. Empty, too, where no more is
    /// left of it than that it was aborted.
    #[getter]
    fn reason(&self) -> &str {
        self.core.reason()
    }

    /// Waits until it is decided and returns "commit" or "abort"; Timeout after `timeout` seconds. Past its
    /// deadline whoever waits decides. It is the true outcome, whoever decided it.
    #[pyo3(signature = (timeout=None))]
    fn outcome(slf: &Bound<'_, Self>, timeout: Option<Arg>) -> Answered {
        let timeout = convert::limit("timeout", timeout)?;
        let core = zkrecipes::CommitTransaction::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || slf.get().core.heed(async move { core.outcome(timeout).await }))
    }

    /// Ends the waits in progress on this object with Cancelled, never later ones.
    fn cancel(slf: &Bound<'_, Self>) -> PyResult<()> {
        slf.get().core.cancel(Self::origin(slf), slf.py())
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let core = &slf.get().core;
        Ok(format!("<{} {}>", slf.get_type().name()?, core.id()))
    }
}

/// A transaction that this coordinator has begun or taken over.
#[pyclass(frozen, weakref, extends = CommitTransactionBase, module = "zkrecipes")]
pub struct CommitTransaction;
