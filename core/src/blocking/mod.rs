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

mod family;
mod nodes;

use std::sync::Arc;
use std::time::Duration;

use crate::drive::{check_may_wait, wait};
use crate::error::{Error, Result};
use crate::options::{ClientOptions, LockOptions};
use crate::recipes::contenders::Contender;
use crate::session::State;
use crate::session::delivery::Subscription;

pub use family::{MultiLock, ReadWriteLock, Semaphore};
pub use nodes::{Nodes, Transaction};

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

    /// See [`crate::Client::read_write_lock`].
    pub fn read_write_lock(&self, path: &str) -> Result<ReadWriteLock> {
        self.0.read_write_lock(path).map(ReadWriteLock)
    }

    /// See [`crate::Client::multi_lock`].
    pub fn multi_lock(&self, locks: &[Lock]) -> Result<MultiLock> {
        let locks: Vec<_> = locks.iter().map(|lock| lock.0.clone()).collect();
        self.0.multi_lock(&locks).map(MultiLock)
    }

    /// See [`crate::Client::semaphore`].
    pub fn semaphore(&self, path: &str, permits: usize) -> Result<Semaphore> {
        self.0.semaphore(path, permits).map(Semaphore)
    }

    /// See [`crate::Client::check_sequencer`].
    pub fn check_sequencer(&self, sequencer: &str) -> Result<bool> {
        let (client, sequencer) = (self.0.clone(), sequencer.to_owned());
        wait(async move { client.check_sequencer(&sequencer).await }, None, None)
    }

    /// See [`crate::Client::watch_sequencer`].
    pub fn watch_sequencer(&self, sequencer: &str) -> Result<()> {
        let (client, sequencer) = (self.0.clone(), sequencer.to_owned());
        wait(async move { client.watch_sequencer(&sequencer).await }, None, None)
    }

    /// See [`crate::Client::nodes`].
    pub fn nodes(&self) -> Nodes {
        Nodes(self.0.nodes())
    }
}

/// What the handles of all recipes have in common.
macro_rules! common_verbs {
    ($recipe:ident) => {
        impl $recipe {
            /// Releases the acquisition made last.
            pub fn release(&self) -> Result<()> {
                // The check comes first: a release that cannot be waited for should not happen either.
                check_may_wait()?;
                wait(self.0.release(), None, None)
            }

            /// Releases the acquisition made last; the deletion is confirmed in the background.
            pub fn release_in_background(&self) -> Result<()> {
                self.0.release_in_background()
            }

            /// Whether something is certainly held through this handle.
            pub fn is_held(&self) -> bool {
                self.0.is_held()
            }

            /// The fencing token of what this handle holds.
            pub fn fencing_token(&self) -> Result<u64> {
                self.0.fencing_token()
            }

            /// Asks the server whether what was acquired through this handle is still held.
            pub fn verify(&self) -> Result<()> {
                let recipe = self.0.clone();
                wait(async move { recipe.verify().await }, None, None)
            }

            /// Writes that the server applies only while what this handle holds stands.
            pub fn guarded(&self) -> Result<Transaction> {
                self.0.guarded().map(Transaction)
            }

            /// Calls back once when what this handle holds is lost.
            pub fn on_lost(&self, callback: impl FnOnce(Error) + Send + 'static) -> Result<Subscription> {
                self.0.on_lost(callback)
            }

            /// Ends the waits in progress on this handle with Cancelled; later ones are not affected.
            pub fn cancel(&self) {
                self.0.cancel();
            }

            /// Who holds and who waits, in order.
            pub fn contenders(&self) -> Result<Vec<Contender>> {
                let recipe = self.0.clone();
                wait(async move { recipe.contenders().await }, None, None)
            }

            /// Asks the contender that is named, or whoever holds, to let go. See [`crate::Lock::revoke`].
            pub fn revoke(&self, contender: Option<&str>, force_after: Option<Duration>) -> Result<bool> {
                let (recipe, contender) = (self.0.clone(), contender.map(str::to_owned));
                wait(async move { recipe.revoke(contender.as_deref(), force_after).await }, None, None)
            }
        }
    };
}
use common_verbs;

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
        check_may_wait()?;
        wait(self.0.acquire_within(limit), None, None).map(|held| Held(Arc::new(held)))
    }

    /// See [`crate::Lock::try_acquire`].
    pub fn try_acquire(&self) -> Result<Option<Held>> {
        check_may_wait()?;
        let held = wait(self.0.try_acquire(), None, None)?;
        Ok(held.map(|held| Held(Arc::new(held))))
    }
}

common_verbs!(Lock);

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
