//! Beginning transactions and being asked about them, blocking.

use std::time::Duration;

use super::{CommitTransaction, Proposal, TwoPhaseCommit};
use crate::drive::wait;
use crate::error::Result;

impl TwoPhaseCommit {
    /// See [`crate::TwoPhaseCommit::begin`].
    pub fn begin(
        &self,
        id: &str,
        sites: &[&str],
        payload: &[u8],
        timeout: Duration,
    ) -> Result<CommitTransaction> {
        let (commits, id, payload) = (self.core.clone(), id.to_owned(), payload.to_owned());
        let sites: Vec<String> = sites.iter().map(|site| (*site).to_owned()).collect();
        let begun = async move {
            let sites: Vec<&str> = sites.iter().map(String::as_str).collect();
            commits.begin(&id, &sites, &payload, timeout).await
        };
        wait(self.cancels.heed(begun), None, None).map(CommitTransaction::of)
    }

    /// See [`crate::TwoPhaseCommit::next`].
    pub fn next(&self, limit: Option<Duration>) -> Result<Proposal> {
        let commits = self.core.clone();
        wait(self.cancels.heed(async move { commits.next(limit).await }), None, None).map(Proposal::of)
    }
}
