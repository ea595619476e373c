//! Generated from api/proposal.toml by api/generate; do not edit.

use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::convert;
use crate::face::{Answered, Arg, Fresh, Seed, recipe};
use crate::waiting::Waiting;

recipe!(ProposalBase of Waiting<zkrecipes::Proposal>, Proposal, "Proposal");

#[pymethods]
impl ProposalBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<ProposalBase> {
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
        let core = zkrecipes::Proposal::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || slf.get().core.heed(async move { core.outcome(timeout).await }))
    }

    /// Whether this site had voted when it was told.
    #[getter]
    fn has_voted(&self) -> bool {
        self.core.has_voted()
    }

    /// Votes for the commit, which has to be possible from now on. It may come after the abort: the outcome tells.
    /// Exists: this site has voted for the abort.
    fn vote_commit(slf: &Bound<'_, Self>) -> Answered {
        let core = zkrecipes::Proposal::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.vote_commit().await })
    }

    /// Decides the abort. Exists: this site has voted for the commit.
    #[pyo3(signature = (reason=None), text_signature = "($self, reason='')")]
    fn vote_abort(slf: &Bound<'_, Self>, reason: Option<Arg>) -> Answered {
        let reason = reason.map_or(Ok(String::new()), |reason| convert::text("reason", reason))?;
        let core = zkrecipes::Proposal::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.vote_abort(&reason).await })
    }

    /// What was decided is applied here, and needed no more. NotHeld: nothing is decided yet.
    fn acknowledge(slf: &Bound<'_, Self>) -> Answered {
        let core = zkrecipes::Proposal::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.acknowledge().await })
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

/// A transaction on which a site has to vote.
#[pyclass(frozen, weakref, extends = ProposalBase, module = "zkrecipes")]
pub struct Proposal;
