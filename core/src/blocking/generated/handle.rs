//! Generated from api/acquirable.toml by api/generate; do not edit.

use std::time::Duration;

use crate::blocking::Transaction;
use crate::drive::{check_may_wait, wait};
use crate::{Contender, Error, Result, Subscription, WaitProgress};

/// [`crate::Handle`], blocking.
#[derive(Clone, Debug)]
pub struct Handle {
    pub(in crate::blocking) core: crate::Handle,
}

impl Handle {
    pub(in crate::blocking) fn of(core: crate::Handle) -> Handle {
        Handle { core }
    }

    /// See [`crate::Handle::release`].
    pub fn release(&self) -> Result<()> {
        check_may_wait()?;
        wait(self.core.release(), None, None)
    }

    /// See [`crate::Handle::release_in_background`].
    pub fn release_in_background(&self) -> Result<()> {
        self.core.release_in_background()
    }

    /// See [`crate::Handle::is_held`].
    pub fn is_held(&self) -> bool {
        self.core.is_held()
    }

    /// See [`crate::Handle::fencing_token`].
    pub fn fencing_token(&self) -> Result<u64> {
        self.core.fencing_token()
    }

    /// See [`crate::Handle::verify`].
    pub fn verify(&self) -> Result<()> {
        let core = self.core.clone();
        wait(async move { core.verify().await }, None, None)
    }

    /// See [`crate::Handle::guarded`].
    pub fn guarded(&self) -> Result<Transaction> {
        self.core.guarded().map(Transaction::of)
    }

    /// See [`crate::Handle::on_lost`].
    pub fn on_lost(&self, callback: impl FnOnce(Error) + Send + 'static) -> Result<Subscription> {
        self.core.on_lost(callback)
    }

    /// See [`crate::Handle::on_revoke`].
    pub fn on_revoke(&self, callback: impl FnOnce() + Send + 'static) -> Result<Subscription> {
        self.core.on_revoke(callback)
    }

    /// See [`crate::Handle::on_wait`].
    pub fn on_wait(&self, callback: impl Fn(WaitProgress) + Send + Sync + 'static) -> Result<Subscription> {
        self.core.on_wait(callback)
    }

    /// See [`crate::Handle::cancel`].
    pub fn cancel(&self) {
        self.core.cancel();
    }

    /// See [`crate::Handle::contenders`].
    pub fn contenders(&self) -> Result<Vec<Contender>> {
        let core = self.core.clone();
        wait(async move { core.contenders().await }, None, None)
    }

    /// See [`crate::Handle::revoke`].
    pub fn revoke(&self, contender: Option<&str>, force_after: Option<Duration>) -> Result<bool> {
        let (core, contender) = (self.core.clone(), contender.map(str::to_owned));
        wait(async move { core.revoke(contender.as_deref(), force_after).await }, None, None)
    }
}
