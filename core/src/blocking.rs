//! The same API for threads: every verb blocks until it is done.
//!
//! Inside a callback of the library a blocking verb answers Deadlock instead of waiting for the thread it runs on.
//!
//! ```
//! use zkrecipes::blocking::Client;
//!
//! # fn main() -> zkrecipes::Result<()> {
//! let client = Client::connect("embedded:", Default::default())?;
//! let lock = client.lock("/locks/report", Default::default())?;
//! let held = lock.acquire()?;
//! println!("publishing with fencing token {}", held.fencing_token());
//! held.release()?;
//! # Ok(())
//! # }
//! ```

use std::sync::Arc;
use std::time::Duration;

use crate::drive::{check_may_wait, wait};
use crate::error::{Error, Result};
use crate::options::{ClientOptions, LockOptions};
use crate::recipes::contenders::Contender;
use crate::session::State;
use crate::session::delivery::Subscription;
use crate::session::wire::{CreateMode, Stat};

/// [`crate::Client`], blocking.
#[derive(Clone, Debug)]
pub struct Client(crate::Client);

impl Client {
    /// See [`crate::Client::connect`].
    pub fn connect(hosts: &str, options: ClientOptions) -> Result<Client> {
        let hosts = hosts.to_owned();
        wait(async move { crate::Client::connect(&hosts, options).await }, None, None).map(Client)
    }

    /// See [`crate::Client::close`].
    pub fn close(&self, limit: Option<Duration>) -> Result<()> {
        let client = self.0.clone();
        wait(async move { client.close(limit).await }, None, None)
    }

    /// See [`crate::Client::state`].
    pub fn state(&self) -> State {
        self.0.state()
    }

    /// See [`crate::Client::session_id`].
    pub fn session_id(&self) -> u64 {
        self.0.session_id()
    }

    /// See [`crate::Client::session_timeout`].
    pub fn session_timeout(&self) -> Duration {
        self.0.session_timeout()
    }

    /// See [`crate::Client::lease_remaining`].
    pub fn lease_remaining(&self) -> Duration {
        self.0.lease_remaining()
    }

    /// See [`crate::Client::on_state`].
    pub fn on_state(&self, callback: impl Fn(State) + Send + Sync + 'static) -> Subscription {
        self.0.on_state(callback)
    }

    /// See [`crate::Client::lock`].
    pub fn lock(&self, path: &str, options: LockOptions) -> Result<Lock> {
        self.0.lock(path, options).map(Lock)
    }

    /// See [`crate::Client::nodes`].
    pub fn nodes(&self) -> Nodes {
        Nodes(self.0.nodes())
    }
}

/// [`crate::Lock`], blocking.
#[derive(Clone, Debug)]
pub struct Lock(crate::Lock);

impl Lock {
    /// See [`crate::Lock::path`].
    pub fn path(&self) -> &str {
        self.0.path()
    }

    /// See [`crate::Lock::acquire`].
    pub fn acquire(&self) -> Result<Held> {
        self.acquire_within(None)
    }

    /// See [`crate::Lock::acquire_timeout`].
    pub fn acquire_timeout(&self, limit: Duration) -> Result<Held> {
        self.acquire_within(Some(limit))
    }

    /// See [`crate::Lock::acquire_within`].
    pub fn acquire_within(&self, limit: Option<Duration>) -> Result<Held> {
        wait(self.0.acquire_within(limit), None, None).map(|held| Held(Arc::new(held)))
    }

    /// See [`crate::Lock::try_acquire`].
    pub fn try_acquire(&self) -> Result<Option<Held>> {
        let held = wait(self.0.try_acquire(), None, None)?;
        Ok(held.map(|held| Held(Arc::new(held))))
    }

    /// See [`crate::Lock::release`].
    pub fn release(&self) -> Result<()> {
        // The check comes first: a release that cannot be waited for should not happen either.
        check_may_wait()?;
        wait(self.0.release(), None, None)
    }

    /// See [`crate::Lock::is_held`].
    pub fn is_held(&self) -> bool {
        self.0.is_held()
    }

    /// See [`crate::Lock::fencing_token`].
    pub fn fencing_token(&self) -> Result<u64> {
        self.0.fencing_token()
    }

    /// See [`crate::Lock::verify`].
    pub fn verify(&self) -> Result<()> {
        let lock = self.0.clone();
        wait(async move { lock.verify().await }, None, None)
    }

    /// See [`crate::Lock::guarded`].
    pub fn guarded(&self) -> Result<Transaction> {
        self.0.guarded().map(Transaction)
    }

    /// See [`crate::Lock::on_lost`].
    pub fn on_lost(&self, callback: impl FnOnce(Error) + Send + 'static) -> Result<Subscription> {
        self.0.on_lost(callback)
    }

    /// See [`crate::Lock::cancel`].
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// See [`crate::Lock::contenders`].
    pub fn contenders(&self) -> Result<Vec<Contender>> {
        let lock = self.0.clone();
        wait(async move { lock.contenders().await }, None, None)
    }
}

/// [`crate::Held`], blocking.
#[must_use = "dropping a Held releases the lock at once; keep it for as long as the work takes"]
#[derive(Debug)]
pub struct Held(Arc<crate::Held>);

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

    /// See [`crate::Held::is_held`].
    pub fn is_held(&self) -> bool {
        self.0.is_held()
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
}

/// [`crate::Nodes`], blocking.
#[derive(Clone, Debug)]
pub struct Nodes(crate::Nodes);

impl Nodes {
    /// See [`crate::Nodes::create`].
    pub fn create(&self, path: &str, data: &[u8], mode: CreateMode) -> Result<String> {
        let (nodes, path, data) = (self.0.clone(), path.to_owned(), data.to_owned());
        wait(async move { nodes.create(&path, &data, mode).await }, None, None)
    }

    /// See [`crate::Nodes::get`].
    pub fn get(&self, path: &str) -> Result<(Vec<u8>, Stat)> {
        let (nodes, path) = (self.0.clone(), path.to_owned());
        wait(async move { nodes.get(&path).await }, None, None)
    }

    /// See [`crate::Nodes::set`].
    pub fn set(&self, path: &str, data: &[u8], version: Option<i32>) -> Result<Stat> {
        let (nodes, path, data) = (self.0.clone(), path.to_owned(), data.to_owned());
        wait(async move { nodes.set(&path, &data, version).await }, None, None)
    }

    /// See [`crate::Nodes::delete`].
    pub fn delete(&self, path: &str, version: Option<i32>) -> Result<()> {
        let (nodes, path) = (self.0.clone(), path.to_owned());
        wait(async move { nodes.delete(&path, version).await }, None, None)
    }

    /// See [`crate::Nodes::exists`].
    pub fn exists(&self, path: &str) -> Result<Option<Stat>> {
        let (nodes, path) = (self.0.clone(), path.to_owned());
        wait(async move { nodes.exists(&path).await }, None, None)
    }

    /// See [`crate::Nodes::children`].
    pub fn children(&self, path: &str) -> Result<Vec<String>> {
        let (nodes, path) = (self.0.clone(), path.to_owned());
        wait(async move { nodes.children(&path).await }, None, None)
    }

    /// See [`crate::Nodes::ensure`].
    pub fn ensure(&self, path: &str) -> Result<()> {
        let (nodes, path) = (self.0.clone(), path.to_owned());
        wait(async move { nodes.ensure(&path).await }, None, None)
    }

    /// See [`crate::Nodes::delete_all`].
    pub fn delete_all(&self, path: &str) -> Result<()> {
        let (nodes, path) = (self.0.clone(), path.to_owned());
        wait(async move { nodes.delete_all(&path).await }, None, None)
    }

    /// See [`crate::Nodes::transaction`].
    pub fn transaction(&self) -> Transaction {
        Transaction(self.0.transaction())
    }
}

/// [`crate::Transaction`], blocking.
#[derive(Clone, Debug)]
pub struct Transaction(crate::Transaction);

impl Transaction {
    /// See [`crate::Transaction::create`].
    pub fn create(&self, path: &str, data: &[u8], mode: CreateMode) -> Result<()> {
        self.0.create(path, data, mode)
    }

    /// See [`crate::Transaction::set`].
    pub fn set(&self, path: &str, data: &[u8], version: Option<i32>) -> Result<()> {
        self.0.set(path, data, version)
    }

    /// See [`crate::Transaction::delete`].
    pub fn delete(&self, path: &str, version: Option<i32>) -> Result<()> {
        self.0.delete(path, version)
    }

    /// See [`crate::Transaction::check`].
    pub fn check(&self, path: &str, version: Option<i32>) -> Result<()> {
        self.0.check(path, version)
    }

    /// See [`crate::Transaction::commit`].
    pub fn commit(&self) -> Result<()> {
        let transaction = self.0.clone();
        wait(async move { transaction.commit().await }, None, None)
    }
}
