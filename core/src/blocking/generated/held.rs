//! Generated from api/held.toml by api/generate; do not edit.

use crate::blocking::Transaction;
use crate::drive::{check_may_wait, wait};
use crate::{Error, Result, Subscription};

/// [`crate::Held`], blocking.
#[must_use = "dropping a Held releases the lock at once; keep it for as long as the work takes"]
#[derive(Clone, Debug)]
pub struct Held {
    pub(in crate::blocking) core: crate::Held,
}

impl Held {
    pub(in crate::blocking) fn of(core: crate::Held) -> Held {
        Held { core }
    }

    /// See [`crate::Held::release`].
    pub fn release(&self) -> Result<()> {
        check_may_wait()?;
        wait(self.core.release(), None, None)
    }

    /// See [`crate::Held::release_in_background`].
    pub fn release_in_background(&self) -> Result<()> {
        self.core.release_in_background()
    }

    /// See [`crate::Held::is_held`].
    pub fn is_held(&self) -> bool {
        self.core.is_held()
    }

    /// See [`crate::Held::fencing_token`].
    pub fn fencing_token(&self) -> u64 {
        self.core.fencing_token()
    }

    /// See [`crate::Held::verify`].
    pub fn verify(&self) -> Result<()> {
        let core = self.core.clone();
        wait(async move { core.verify().await }, None, None)
    }

    /// See [`crate::Held::guarded`].
    pub fn guarded(&self) -> Transaction {
        Transaction::of(self.core.guarded())
    }

    /// See [`crate::Held::on_lost`].
    pub fn on_lost(&self, callback: impl FnOnce(Error) + Send + 'static) -> Subscription {
        self.core.on_lost(callback)
    }

    /// See [`crate::Held::on_revoke`].
    pub fn on_revoke(&self, callback: impl FnOnce() + Send + 'static) -> Subscription {
        self.core.on_revoke(callback)
    }

    /// See [`crate::Held::path`].
    pub fn path(&self) -> &str {
        self.core.path()
    }

    /// See [`crate::Held::name`].
    pub fn name(&self) -> &str {
        self.core.name()
    }

    /// See [`crate::Held::node`].
    pub fn node(&self) -> &str {
        self.core.node()
    }

    /// See [`crate::Held::sequencer`].
    pub fn sequencer(&self) -> String {
        self.core.sequencer()
    }

    /// See [`crate::Held::passes`].
    pub fn passes(&self) -> u32 {
        self.core.passes()
    }

    /// See [`crate::Held::permits`].
    pub fn permits(&self) -> usize {
        self.core.permits()
    }

    /// See [`crate::Held::downgrade`].
    pub fn downgrade(&self) -> Result<Held> {
        check_may_wait()?;
        wait(self.core.downgrade(), None, None).map(Held::of)
    }
}
