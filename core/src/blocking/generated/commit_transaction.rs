//! Generated from api/commit_transaction.toml by api/generate; do not edit.

use std::sync::Arc;
use std::time::Duration;

use crate::drive::{Cancels, wait};
use crate::{Outcome, Result};

/// [`crate::CommitTransaction`], blocking.
#[derive(Clone, Debug)]
pub struct CommitTransaction {
    pub(in crate::blocking) core: crate::CommitTransaction,
    pub(in crate::blocking) cancels: Arc<Cancels>,
}

impl CommitTransaction {
    pub(in crate::blocking) fn of(core: crate::CommitTransaction) -> CommitTransaction {
        CommitTransaction { core, cancels: Arc::default() }
    }

    /// See [`crate::CommitTransaction::id`].
    pub fn id(&self) -> &str {
        self.core.id()
    }

    /// See [`crate::CommitTransaction::sites`].
    pub fn sites(&self) -> &[String] {
        self.core.sites()
    }

    /// See [`crate::CommitTransaction::payload`].
    pub fn payload(&self) -> &[u8] {
        self.core.payload()
    }

    /// See [`crate::CommitTransaction::reason`].
    pub fn reason(&self) -> &str {
        self.core.reason()
    }

    /// See [`crate::CommitTransaction::outcome`].
    pub fn outcome(&self, limit: Option<Duration>) -> Result<Outcome> {
        let core = self.core.clone();
        wait(self.cancels.heed(async move { core.outcome(limit).await }), None, None)
    }

    /// Ends the waits in progress on this handle with Cancelled; later ones are not affected.
    pub fn cancel(&self) {
        self.cancels.cancel();
    }
}
