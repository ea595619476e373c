//! Generated from api/proposal.toml by api/generate; do not edit.

use std::sync::Arc;
use std::time::Duration;

use crate::drive::{Cancels, wait};
use crate::{Outcome, Result};

/// [`crate::Proposal`], blocking.
#[derive(Clone, Debug)]
pub struct Proposal {
    pub(in crate::blocking) core: crate::Proposal,
    pub(in crate::blocking) cancels: Arc<Cancels>,
}

impl Proposal {
    pub(in crate::blocking) fn of(core: crate::Proposal) -> Proposal {
        Proposal { core, cancels: Arc::default() }
    }

    /// See [`crate::Proposal::id`].
    pub fn id(&self) -> &str {
        self.core.id()
    }

    /// See [`crate::Proposal::sites`].
    pub fn sites(&self) -> &[String] {
        self.core.sites()
    }

    /// See [`crate::Proposal::payload`].
    pub fn payload(&self) -> &[u8] {
        self.core.payload()
    }

    /// See [`crate::Proposal::reason`].
    pub fn reason(&self) -> &str {
        self.core.reason()
    }

    /// See [`crate::Proposal::outcome`].
    pub fn outcome(&self, limit: Option<Duration>) -> Result<Outcome> {
        let core = self.core.clone();
        wait(self.cancels.heed(async move { core.outcome(limit).await }), None, None)
    }

    /// See [`crate::Proposal::has_voted`].
    pub fn has_voted(&self) -> bool {
        self.core.has_voted()
    }

    /// See [`crate::Proposal::vote_commit`].
    pub fn vote_commit(&self) -> Result<()> {
        let core = self.core.clone();
        wait(async move { core.vote_commit().await }, None, None)
    }

    /// See [`crate::Proposal::vote_abort`].
    pub fn vote_abort(&self, reason: &str) -> Result<()> {
        let (core, reason) = (self.core.clone(), reason.to_owned());
        wait(async move { core.vote_abort(&reason).await }, None, None)
    }

    /// See [`crate::Proposal::acknowledge`].
    pub fn acknowledge(&self) -> Result<()> {
        let core = self.core.clone();
        wait(async move { core.acknowledge().await }, None, None)
    }

    /// Ends the waits in progress on this handle with Cancelled; later ones are not affected.
    pub fn cancel(&self) {
        self.cancels.cancel();
    }
}
