//! Two-phase commit, blocking.

use std::sync::Arc;
use std::time::Duration;

use super::Client;
use crate::drive::{Cancels, wait};
use crate::error::Result;
use crate::recipes::two_phase_commit::{CommitMode, CommitStatus, Outcome};

impl Client {
    /// See [`crate::Client::two_phase_commit`].
    pub fn two_phase_commit(&self, path: &str, mode: CommitMode) -> Result<TwoPhaseCommit> {
        let commits = self.0.two_phase_commit(path, mode)?;
        Ok(TwoPhaseCommit { commits, cancels: Arc::default() })
    }
}

/// [`crate::TwoPhaseCommit`], blocking.
#[derive(Clone, Debug)]
pub struct TwoPhaseCommit {
    commits: crate::TwoPhaseCommit,
    cancels: Arc<Cancels>,
}

impl TwoPhaseCommit {
    /// See [`crate::TwoPhaseCommit::path`].
    pub fn path(&self) -> &str {
        self.commits.path()
    }

    /// See [`crate::TwoPhaseCommit::mode`].
    pub fn mode(&self) -> CommitMode {
        self.commits.mode()
    }

    /// See [`crate::TwoPhaseCommit::begin`].
    pub fn begin(
        &self,
        id: &str,
        sites: &[&str],
        payload: &[u8],
        timeout: Duration,
    ) -> Result<CommitTransaction> {
        let (commits, id, payload) = (self.commits.clone(), id.to_owned(), payload.to_owned());
        let sites: Vec<String> = sites.iter().map(|site| (*site).to_owned()).collect();
        let begun = async move {
            let sites: Vec<&str> = sites.iter().map(String::as_str).collect();
            commits.begin(&id, &sites, &payload, timeout).await
        };
        wait(self.cancels.heed(begun), None, None).map(CommitTransaction::of)
    }

    /// See [`crate::TwoPhaseCommit::recover`].
    pub fn recover(&self) -> Result<Vec<CommitTransaction>> {
        let commits = self.commits.clone();
        let recovered = wait(async move { commits.recover().await }, None, None)?;
        Ok(recovered.into_iter().map(CommitTransaction::of).collect())
    }

    /// See [`crate::TwoPhaseCommit::join`].
    pub fn join(&self, site: &str) -> Result<()> {
        let (commits, site) = (self.commits.clone(), site.to_owned());
        wait(async move { commits.join(&site).await }, None, None)
    }

    /// See [`crate::TwoPhaseCommit::leave`].
    pub fn leave(&self) -> Result<()> {
        let commits = self.commits.clone();
        wait(async move { commits.leave().await }, None, None)
    }

    /// See [`crate::TwoPhaseCommit::next`].
    pub fn next(&self, limit: Option<Duration>) -> Result<Proposal> {
        let commits = self.commits.clone();
        wait(self.cancels.heed(async move { commits.next(limit).await }), None, None).map(Proposal::of)
    }

    /// See [`crate::TwoPhaseCommit::pending`].
    pub fn pending(&self) -> Result<Vec<Proposal>> {
        let commits = self.commits.clone();
        let pending = wait(async move { commits.pending().await }, None, None)?;
        Ok(pending.into_iter().map(Proposal::of).collect())
    }

    /// See [`crate::TwoPhaseCommit::history`].
    pub fn history(&self) -> Result<Vec<CommitStatus>> {
        let commits = self.commits.clone();
        wait(async move { commits.history().await }, None, None)
    }

    /// See [`crate::TwoPhaseCommit::show`].
    pub fn show(&self, id: &str) -> Result<Option<CommitStatus>> {
        let (commits, id) = (self.commits.clone(), id.to_owned());
        wait(async move { commits.show(&id).await }, None, None)
    }

    /// See [`crate::TwoPhaseCommit::decide_abort`].
    pub fn decide_abort(&self, id: &str, reason: &str) -> Result<Outcome> {
        let (commits, id, reason) = (self.commits.clone(), id.to_owned(), reason.to_owned());
        wait(async move { commits.decide_abort(&id, &reason).await }, None, None)
    }

    /// Ends the waits in progress on this handle with Cancelled; later ones are not affected.
    pub fn cancel(&self) {
        self.cancels.cancel();
    }
}

/// [`crate::CommitTransaction`], blocking.
#[derive(Clone, Debug)]
pub struct CommitTransaction {
    transaction: crate::CommitTransaction,
    cancels: Arc<Cancels>,
}

impl CommitTransaction {
    fn of(transaction: crate::CommitTransaction) -> CommitTransaction {
        CommitTransaction { transaction, cancels: Arc::default() }
    }

    /// See [`crate::CommitTransaction::id`].
    pub fn id(&self) -> &str {
        self.transaction.id()
    }

    /// See [`crate::CommitTransaction::sites`].
    pub fn sites(&self) -> &[String] {
        self.transaction.sites()
    }

    /// See [`crate::CommitTransaction::payload`].
    pub fn payload(&self) -> &[u8] {
        self.transaction.payload()
    }

    /// See [`crate::CommitTransaction::outcome`].
    pub fn outcome(&self, limit: Option<Duration>) -> Result<Outcome> {
        let transaction = self.transaction.clone();
        wait(self.cancels.heed(async move { transaction.outcome(limit).await }), None, None)
    }

    /// Ends the waits in progress on this handle with Cancelled; later ones are not affected.
    pub fn cancel(&self) {
        self.cancels.cancel();
    }
}

/// [`crate::Proposal`], blocking.
#[derive(Clone, Debug)]
pub struct Proposal {
    proposal: crate::Proposal,
    cancels: Arc<Cancels>,
}

impl Proposal {
    fn of(proposal: crate::Proposal) -> Proposal {
        Proposal { proposal, cancels: Arc::default() }
    }

    /// See [`crate::Proposal::id`].
    pub fn id(&self) -> &str {
        self.proposal.id()
    }

    /// See [`crate::Proposal::payload`].
    pub fn payload(&self) -> &[u8] {
        self.proposal.payload()
    }

    /// See [`crate::Proposal::sites`].
    pub fn sites(&self) -> &[String] {
        self.proposal.sites()
    }

    /// See [`crate::Proposal::has_voted`].
    pub fn has_voted(&self) -> bool {
        self.proposal.has_voted()
    }

    /// See [`crate::Proposal::vote_commit`].
    pub fn vote_commit(&self) -> Result<()> {
        let proposal = self.proposal.clone();
        wait(async move { proposal.vote_commit().await }, None, None)
    }

    /// See [`crate::Proposal::vote_abort`].
    pub fn vote_abort(&self, reason: &str) -> Result<()> {
        let (proposal, reason) = (self.proposal.clone(), reason.to_owned());
        wait(async move { proposal.vote_abort(&reason).await }, None, None)
    }

    /// See [`crate::Proposal::outcome`].
    pub fn outcome(&self, limit: Option<Duration>) -> Result<Outcome> {
        let proposal = self.proposal.clone();
        wait(self.cancels.heed(async move { proposal.outcome(limit).await }), None, None)
    }

    /// See [`crate::Proposal::acknowledge`].
    pub fn acknowledge(&self) -> Result<()> {
        let proposal = self.proposal.clone();
        wait(async move { proposal.acknowledge().await }, None, None)
    }

    /// Ends the waits in progress on this handle with Cancelled; later ones are not affected.
    pub fn cancel(&self) {
        self.cancels.cancel();
    }
}
