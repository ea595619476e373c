//! Handles and what is held, blocking.

use std::time::Duration;

use super::Transaction;
use crate::drive::{check_may_wait, wait};
use crate::error::{Error, Result};
use crate::recipes::contenders::Contender;
use crate::recipes::waiting::WaitProgress;
use crate::session::delivery::Subscription;

/// [`crate::Handle`], blocking.
#[derive(Clone, Debug)]
pub struct Handle(pub(super) crate::Handle);

impl Handle {
    /// See [`crate::Handle::path`].
    pub fn path(&self) -> &str {
        self.0.path()
    }

    /// See [`crate::Handle::acquire`].
    pub fn acquire(&self) -> Result<Held> {
        Handle::wait(|| self.0.acquire())
    }

    /// See [`crate::Handle::acquire_timeout`].
    pub fn acquire_timeout(&self, limit: Duration) -> Result<Held> {
        Handle::wait(|| self.0.acquire_timeout(limit))
    }

    /// See [`crate::Handle::try_acquire`].
    pub fn try_acquire(&self) -> Result<Option<Held>> {
        Handle::attempt(|| self.0.try_acquire())
    }

    /// Begins to acquire, unless it cannot be waited for: then nothing should happen.
    pub(super) fn wait<F>(begin: impl FnOnce() -> F) -> Result<Held>
    where
        F: Future<Output = Result<crate::Held>> + Send + 'static,
    {
        check_may_wait()?;
        wait(begin(), None, None).map(Held)
    }

    /// The same for an attempt.
    pub(super) fn attempt<F>(begin: impl FnOnce() -> F) -> Result<Option<Held>>
    where
        F: Future<Output = Result<Option<crate::Held>>> + Send + 'static,
    {
        check_may_wait()?;
        Ok(wait(begin(), None, None)?.map(Held))
    }

    /// See [`crate::Handle::on_wait`].
    pub fn on_wait(&self, callback: impl Fn(WaitProgress) + Send + Sync + 'static) -> Result<Subscription> {
        self.0.on_wait(callback)
    }

    /// See [`crate::Handle::cancel`].
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// See [`crate::Handle::current`].
    pub fn current(&self) -> Option<Held> {
        self.0.current().map(Held)
    }

    /// See [`crate::Handle::release`].
    pub fn release(&self) -> Result<()> {
        // The check comes first: a release that cannot be waited for should not happen either.
        check_may_wait()?;
        wait(self.0.release(), None, None)
    }

    /// See [`crate::Handle::release_in_background`].
    pub fn release_in_background(&self) -> Result<()> {
        self.0.release_in_background()
    }

    /// See [`crate::Handle::is_held`].
    pub fn is_held(&self) -> bool {
        self.0.is_held()
    }

    /// See [`crate::Handle::fencing_token`].
    pub fn fencing_token(&self) -> Result<u64> {
        self.0.fencing_token()
    }

    /// See [`crate::Handle::verify`].
    pub fn verify(&self) -> Result<()> {
        let handle = self.0.clone();
        wait(async move { handle.verify().await }, None, None)
    }

    /// See [`crate::Handle::guarded`].
    pub fn guarded(&self) -> Result<Transaction> {
        self.0.guarded().map(Transaction)
    }

    /// See [`crate::Handle::on_lost`].
    pub fn on_lost(&self, callback: impl FnOnce(Error) + Send + 'static) -> Result<Subscription> {
        self.0.on_lost(callback)
    }

    /// See [`crate::Handle::on_revoke`].
    pub fn on_revoke(&self, callback: impl FnOnce() + Send + 'static) -> Result<Subscription> {
        self.0.on_revoke(callback)
    }

    /// See [`crate::Handle::contenders`].
    pub fn contenders(&self) -> Result<Vec<Contender>> {
        let handle = self.0.clone();
        wait(async move { handle.contenders().await }, None, None)
    }

    /// See [`crate::Handle::revoke`].
    pub fn revoke(&self, contender: Option<&str>, force_after: Option<Duration>) -> Result<bool> {
        let (handle, contender) = (self.0.clone(), contender.map(str::to_owned));
        wait(async move { handle.revoke(contender.as_deref(), force_after).await }, None, None)
    }
}

/// [`crate::Held`], blocking.
#[must_use = "dropping a Held releases the lock at once; keep it for as long as the work takes"]
#[derive(Clone, Debug)]
pub struct Held(pub(super) crate::Held);

impl Held {
    /// See [`crate::Held::path`].
    pub fn path(&self) -> &str {
        self.0.path()
    }

    /// See [`crate::Held::node`].
    pub fn node(&self) -> &str {
        self.0.node()
    }

    /// See [`crate::Held::fencing_token`].
    pub fn fencing_token(&self) -> u64 {
        self.0.fencing_token()
    }

    /// See [`crate::Held::fencing_tokens`].
    pub fn fencing_tokens(&self) -> Vec<u64> {
        self.0.fencing_tokens()
    }

    /// See [`crate::Held::passes`].
    pub fn passes(&self) -> u32 {
        self.0.passes()
    }

    /// See [`crate::Held::permits`].
    pub fn permits(&self) -> usize {
        self.0.permits()
    }

    /// See [`crate::Held::on_revoke`].
    pub fn on_revoke(&self, callback: impl FnOnce() + Send + 'static) -> Subscription {
        self.0.on_revoke(callback)
    }

    /// See [`crate::Held::is_held`].
    pub fn is_held(&self) -> bool {
        self.0.is_held()
    }

    /// See [`crate::Held::is_released`].
    pub fn is_released(&self) -> bool {
        self.0.is_released()
    }

    /// See [`crate::Held::sequencer`].
    pub fn sequencer(&self) -> String {
        self.0.sequencer()
    }

    /// See [`crate::Held::verify`].
    pub fn verify(&self) -> Result<()> {
        let held = self.0.clone();
        wait(async move { held.verify().await }, None, None)
    }

    /// See [`crate::Held::guarded`].
    pub fn guarded(&self) -> Transaction {
        Transaction(self.0.guarded())
    }

    /// See [`crate::Held::on_lost`].
    pub fn on_lost(&self, callback: impl FnOnce(Error) + Send + 'static) -> Subscription {
        self.0.on_lost(callback)
    }

    /// See [`crate::Held::release`].
    pub fn release(&self) -> Result<()> {
        check_may_wait()?;
        wait(self.0.release(), None, None)
    }

    /// See [`crate::Held::release_in_background`].
    pub fn release_in_background(&self) -> Result<()> {
        self.0.release_in_background()
    }

    /// See [`crate::Held::downgrade`].
    pub fn downgrade(&self) -> Result<Held> {
        check_may_wait()?;
        wait(self.0.downgrade(), None, None).map(Held)
    }

    /// See [`crate::Held::leave`].
    pub fn leave(&self, body_failed: bool) -> Result<()> {
        check_may_wait()?;
        wait(self.0.leave(body_failed), None, None)
    }
}
