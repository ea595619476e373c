//! Two-phase commit, blocking.

use std::time::Duration;

use super::Client;
use crate::drive::wait;
use crate::error::Result;
use crate::recipes::two_phase_commit::{CommitMode, CommitStatus, Outcome};

impl Client {
    /// See [`crate::Client::two_phase_commit`].
    pub fn two_phase_commit(&self, path: &str, mode: CommitMode) -> Result<TwoPhaseCommit> {
        self.0.two_phase_commit(path, mode).map(TwoPhaseCommit)
    }
}

/// [`crate::TwoPhaseCommit`], blocking.
#[derive(Clone, Debug)]
pub struct TwoPhaseCommit(crate::TwoPhaseCommit);

impl TwoPhaseCommit {
    /// See [`crate::TwoPhaseCommit::path`].
    pub fn path(&self) -> &str {
        self.0.path()
    }

    /// See [`crate::TwoPhaseCommit::mode`].
    pub fn mode(&self) -> CommitMode {
        self.0.mode()
    }

    /// See [`crate::TwoPhaseCommit::begin`].
    pub fn begin(
        &self,
        id: &str,
        sites: &[&str],
        payload: &[u8],
        timeout: Duration,
    ) -> Result<CommitTransaction> {
        let (commits, id, payload) = (self.0.clone(), id.to_owned(), payload.to_owned());
        let sites: Vec<String> = sites.iter().map(|site| (*site).to_owned()).collect();
        let begun = async move {
            let sites: Vec<&str> = sites.iter().map(String::as_str).collect();
            commits.begin(&id, &sites, &payload, timeout).await
        };
        wait(begun, None, None).map(CommitTransaction)
    }

    /// See [`crate::TwoPhaseCommit::recover`].
    pub fn recover(&self) -> Result<Vec<CommitTransaction>> {
        let commits = self.0.clone();
        let recovered = wait(async move { commits.recover().await }, None, None)?;
        Ok(recovered.into_iter().map(CommitTransaction).collect())
    }

    /// See [`crate::TwoPhaseCommit::join`].
    pub fn join(&self, site: &str) -> Result<()> {
        let (commits, site) = (self.0.clone(), site.to_owned());
        wait(async move { commits.join(&site).await }, None, None)
    }

    /// See [`crate::TwoPhaseCommit::leave`].
    pub fn leave(&self) -> Result<()> {
        let commits = self.0.clone();
        wait(async move { commits.leave().await }, None, None)
    }

    /// See [`crate::TwoPhaseCommit::next`].
    pub fn next(&self, limit: Option<Duration>) -> Result<Proposal> {
        let commits = self.0.clone();
        wait(async move { commits.next(limit).await }, None, None).map(Proposal)
    }

    /// See [`crate::TwoPhaseCommit::pending`].
    pub fn pending(&self) -> Result<Vec<Proposal>> {
        let commits = self.0.clone();
        let pending = wait(async move { commits.pending().await }, None, None)?;
        Ok(pending.into_iter().map(Proposal).collect())
    }

    /// See [`crate::TwoPhaseCommit::history`].
    pub fn history(&self) -> Result<Vec<CommitStatus>> {
        let commits = self.0.clone();
        wait(async move { commits.history().await }, None, None)
    }

    /// See [`crate::TwoPhaseCommit::show`].
    pub fn show(&self, id: &str) -> Result<Option<CommitStatus>> {
        let (commits, id) = (self.0.clone(), id.to_owned());
        wait(async move { commits.show(&id).await }, None, None)
    }

    /// See [`crate::TwoPhaseCommit::decide_abort`].
    pub fn decide_abort(&self, id: &str, reason: &str) -> Result<Outcome> {
        let (commits, id, reason) = (self.0.clone(), id.to_owned(), reason.to_owned());
        wait(async move { commits.decide_abort(&id, &reason).await }, None, None)
    }
}

/// [`crate::CommitTransaction`], blocking.
#[derive(Clone, Debug)]
pub struct CommitTransaction(crate::CommitTransaction);

impl CommitTransaction {
    /// See [`crate::CommitTransaction::id`].
    pub fn id(&self) -> &str {
        self.0.id()
    }

    /// See [`crate::CommitTransaction::sites`].
    pub fn sites(&self) -> &[String] {
        self.0.sites()
    }

    /// See [`crate::CommitTransaction::payload`].
    pub fn payload(&self) -> &[u8] {
        self.0.payload()
    }

    /// See [`crate::CommitTransaction::outcome`].
    pub fn outcome(&self, limit: Option<Duration>) -> Result<Outcome> {
        let transaction = self.0.clone();
        wait(async move { transaction.outcome(limit).await }, None, None)
    }
}

/// [`crate::Proposal`], blocking.
#[derive(Clone, Debug)]
pub struct Proposal(crate::Proposal);

impl Proposal {
    /// See [`crate::Proposal::id`].
    pub fn id(&self) -> &str {
        self.0.id()
    }

    /// See [`crate::Proposal::payload`].
    pub fn payload(&self) -> &[u8] {
        self.0.payload()
    }

    /// See [`crate::Proposal::sites`].
    pub fn sites(&self) -> &[String] {
        self.0.sites()
    }

    /// See [`crate::Proposal::has_voted`].
    pub fn has_voted(&self) -> bool {
        self.0.has_voted()
    }

    /// See [`crate::Proposal::vote_commit`].
    pub fn vote_commit(&self) -> Result<()> {
        let proposal = self.0.clone();
        wait(async move { proposal.vote_commit().await }, None, None)
    }

    /// See [`crate::Proposal::vote_abort`].
    pub fn vote_abort(&self, reason: &str) -> Result<()> {
        let (proposal, reason) = (self.0.clone(), reason.to_owned());
        wait(async move { proposal.vote_abort(&reason).await }, None, None)
    }

    /// See [`crate::Proposal::outcome`].
    pub fn outcome(&self, limit: Option<Duration>) -> Result<Outcome> {
        let proposal = self.0.clone();
        wait(async move { proposal.outcome(limit).await }, None, None)
    }

    /// See [`crate::Proposal::acknowledge`].
    pub fn acknowledge(&self) -> Result<()> {
        let proposal = self.0.clone();
        wait(async move { proposal.acknowledge().await }, None, None)
    }
}
