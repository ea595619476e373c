//! Generated from api/two_phase_commit.toml by api/generate; do not edit.

use std::sync::Arc;

use crate::blocking::{Client, CommitTransaction, Proposal};
use crate::drive::{Cancels, wait};
use crate::{CommitMode, CommitStatus, Outcome, Result};

impl Client {
    /// See [`crate::Client::two_phase_commit`].
    pub fn two_phase_commit(&self, path: &str, mode: CommitMode) -> Result<TwoPhaseCommit> {
        self.0.two_phase_commit(path, mode).map(TwoPhaseCommit::of)
    }
}

/// [`crate::TwoPhaseCommit`], blocking.
#[derive(Clone, Debug)]
pub struct TwoPhaseCommit {
    pub(in crate::blocking) core: crate::TwoPhaseCommit,
    pub(in crate::blocking) cancels: Arc<Cancels>,
}

impl TwoPhaseCommit {
    pub(in crate::blocking) fn of(core: crate::TwoPhaseCommit) -> TwoPhaseCommit {
        TwoPhaseCommit { core, cancels: Arc::default() }
    }

    /// See [`crate::TwoPhaseCommit::path`].
    pub fn path(&self) -> &str {
        self.core.path()
    }

    /// See [`crate::TwoPhaseCommit::mode`].
    pub fn mode(&self) -> CommitMode {
        self.core.mode()
    }

    /// See [`crate::TwoPhaseCommit::recover`].
    pub fn recover(&self) -> Result<Vec<CommitTransaction>> {
        let core = self.core.clone();
        wait(async move { core.recover().await }, None, None)
            .map(|all| all.into_iter().map(CommitTransaction::of).collect())
    }

    /// See [`crate::TwoPhaseCommit::join`].
    pub fn join(&self, site: &str) -> Result<()> {
        let (core, site) = (self.core.clone(), site.to_owned());
        wait(async move { core.join(&site).await }, None, None)
    }

    /// See [`crate::TwoPhaseCommit::leave`].
    pub fn leave(&self) -> Result<()> {
        let core = self.core.clone();
        wait(async move { core.leave().await }, None, None)
    }

    /// See [`crate::TwoPhaseCommit::pending`].
    pub fn pending(&self) -> Result<Vec<Proposal>> {
        let core = self.core.clone();
        wait(async move { core.pending().await }, None, None)
            .map(|all| all.into_iter().map(Proposal::of).collect())
    }

    /// See [`crate::TwoPhaseCommit::history`].
    pub fn history(&self) -> Result<Vec<CommitStatus>> {
        let core = self.core.clone();
        wait(async move { core.history().await }, None, None)
    }

    /// See [`crate::TwoPhaseCommit::show`].
    pub fn show(&self, id: &str) -> Result<Option<CommitStatus>> {
        let (core, id) = (self.core.clone(), id.to_owned());
        wait(async move { core.show(&id).await }, None, None)
    }

    /// See [`crate::TwoPhaseCommit::decide_abort`].
    pub fn decide_abort(&self, id: &str, reason: &str) -> Result<Outcome> {
        let (core, id, reason) = (self.core.clone(), id.to_owned(), reason.to_owned());
        wait(async move { core.decide_abort(&id, &reason).await }, None, None)
    }

    /// Ends the waits in progress on this handle with Cancelled; later ones are not affected.
    pub fn cancel(&self) {
        self.cancels.cancel();
    }
}
