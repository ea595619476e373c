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

mod double_barrier;
mod election;
mod family;
mod feed;
mod generated;
mod handle;
mod partitioner;
mod queue;
mod two_phase_commit;
mod updates;

use std::collections::BTreeMap;
use std::time::Duration;

use crate::drive::wait;
use crate::error::Result;
use crate::metrics::Metrics;
use crate::options::ClientOptions;
use crate::session::State;
use crate::session::delivery::Subscription;

pub use family::ReadWriteLock;
pub use feed::Feed;
pub use generated::*;
pub use queue::DeadLetters;

/// [`crate::Client`], blocking.
#[derive(Clone, Debug)]
pub struct Client(crate::Client);

impl Client {
    /// See [`crate::Client::connect`].
    pub fn connect(hosts: &str, options: ClientOptions) -> Result<Client> {
        let hosts = hosts.to_owned();
        wait(async move { crate::Client::connect(&hosts, options).await }, None, None).map(Client)
    }

    /// See [`crate::Client::update_hosts`].
    pub fn update_hosts(&self, hosts: &str) -> Result<()> {
        self.0.update_hosts(hosts)
    }

    /// See [`crate::Client::whoami`].
    pub fn whoami(&self) -> Result<Vec<String>> {
        let client = self.0.clone();
        wait(async move { client.whoami().await }, None, None)
    }

    /// See [`crate::Client::close`].
    pub fn close(&self, limit: Option<Duration>) -> Result<()> {
        let client = self.0.clone();
        wait(async move { client.close(limit).await }, None, None)
    }

    /// See [`crate::Client::close_in_background`].
    pub fn close_in_background(&self) {
        self.0.close_in_background();
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

    /// See [`crate::Client::metrics`].
    pub fn metrics(&self) -> Metrics {
        self.0.metrics()
    }

    /// See [`crate::Client::skipped`].
    pub fn skipped(&self) -> BTreeMap<String, String> {
        self.0.skipped()
    }

    /// See [`crate::Client::on_state`].
    pub fn on_state(&self, callback: impl Fn(State) + Send + Sync + 'static) -> Subscription {
        self.0.on_state(callback)
    }

    /// See [`crate::Client::deliver_through`].
    pub fn deliver_through(
        &self,
        sink: impl Fn(crate::drive::Turn, Box<dyn FnOnce() + Send>) + Send + Sync + 'static,
    ) {
        self.0.deliver_through(sink);
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
        Nodes::of(self.0.nodes())
    }
}
