//! A client's session with ZooKeeper, over as many sessions of the server as it takes: each of them is a server session.
//!
//! One task renews it: it follows the connection, tells subscribers, and opens a new server session when one has ended. What was
//! held in an ended server session is lost for good; what waits moves on to the next by itself.

use std::collections::BTreeSet;
use std::future::Future;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Notify, watch};

use crate::error::{Error, Result};
use crate::futures::unless;
use crate::hosts;
use crate::log;
use crate::metrics::Counters;
use crate::mutex::lock;
use crate::options::ClientOptions;
use crate::process::Process;

mod background;
pub(crate) mod call;
pub(crate) mod call_order;
pub mod clock;
mod closing;
pub(crate) mod contenders_ahead;
pub(crate) mod delivery;
pub(crate) mod exit;
pub(crate) mod extensions;
pub(crate) mod flag;
pub(crate) mod growing_pause;
pub(crate) mod lease;
pub(crate) mod once;
pub(crate) mod open_parents;
pub(crate) mod opening;
mod parents;
pub(crate) mod pending_callbacks;
pub mod random;
pub(crate) mod refusal;
pub(crate) mod registration;
mod renewal;
pub(crate) mod server_session;
pub(crate) mod skipped_nodes;
mod state;
pub(crate) mod system_clock;
mod temporary_nodes;
mod waiting_calls;
pub(crate) mod watching;
pub mod wire;
pub(crate) mod withdrawal;

use background::Background;
use call::Call;
use call_order::CallOrder;
use clock::{Clock, Moment};
use delivery::Delivery;
use extensions::Extensions;
use flag::Flag;
use server_session::ServerSession;
use skipped_nodes::SkippedNodes;
pub use state::State;
use state::Status;
use temporary_nodes::TemporaryNodes;
use waiting_calls::WaitingCalls;
use wire::capability::Capability;
use wire::{Dial, Noted};

/// How long a failed call waits for its node to be gone before it returns.
pub(crate) const GRACE: Duration = Duration::from_millis(250);

/// What all handles of one client share.
pub(crate) struct Session {
    hosts: Mutex<String>,
    /// There are others.
    hosts_changed: Notify,
    options: ClientOptions,
    identity: String,
    clock: Arc<dyn Clock>,
    dial: Box<dyn Dial>,
    current: Mutex<Arc<ServerSession>>,
    /// There is another server session, or it is known why there is none. Waiters are woken in the order of waiting, so that one
    /// seed of the simulation is one schedule.
    renewed: Notify,
    /// Set once, by `close`.
    closing: Flag,
    /// Set when the server session is to end, whatever is left to do.
    ends_at_once: Flag,
    /// Set once, when everybody who held something knows that the client is being closed.
    losses_are_told: watch::Sender<bool>,
    /// Set once, when the server has confirmed the end of the session or never will.
    closed: Flag,
    /// Set once, when no server session will be opened any more and the last one is closed.
    renewal_has_ended: watch::Sender<bool>,
    status: Mutex<Status>,
    order: Mutex<()>,
    next_subscription: AtomicU64,
    pub(crate) delivery: Delivery,
    pub(crate) counters: Arc<Counters>,
    /// Servers before 3.5, and some others that speak the protocol, know no containers.
    containers: Capability,
    /// The sessions before this one, the last of them.
    past: Mutex<Vec<u64>>,
    /// What recipes keep once per client.
    pub(crate) extensions: Extensions,
    temporary_nodes: TemporaryNodes,
    background: Arc<Background>,
    call_order: CallOrder,
    waiting_calls: WaitingCalls,
    /// Paths about which something was said that is said once.
    told: Mutex<BTreeSet<String>>,
    skipped: SkippedNodes,
    /// What the attempts to open a session come to.
    noted: Mutex<Arc<Noted>>,
    /// Why the last attempt to open a session failed, for those who wait for one.
    refusal: Mutex<Option<Error>>,
    process: Process,
}

impl Session {
    /// Opens the first server session within `connect_timeout`, and renews it from then on.
    pub(crate) async fn open(
        hosts: String,
        options: ClientOptions,
        clock: Arc<dyn Clock>,
        dial: Box<dyn Dial>,
        counters: Arc<Counters>,
    ) -> Result<Arc<Session>> {
        let asked = clock.now();
        let server_session = opening::first(&hosts, &options, &clock, &*dial, &counters).await?;
        log::connected(server_session.peer(), server_session.session_timeout(), clock.now().since(asked));
        let identity = options.identity.clone().unwrap_or_else(default_identity);
        let session = Arc::new(Session {
            hosts: Mutex::new(hosts),
            hosts_changed: Notify::new(),
            options,
            identity,
            clock,
            dial,
            current: Mutex::new(server_session.clone()),
            renewed: Notify::new(),
            closing: Flag::default(),
            ends_at_once: Flag::default(),
            losses_are_told: watch::Sender::new(false),
            closed: Flag::default(),
            renewal_has_ended: watch::Sender::new(false),
            status: Mutex::new(Status {
                state: State::Connected,
                subscribers: Vec::new(),
                out_of_touch: None,
            }),
            order: Mutex::new(()),
            next_subscription: AtomicU64::new(1),
            delivery: Delivery::counted(&counters),
            counters,
            containers: Capability::default(),
            past: Mutex::default(),
            extensions: Extensions::default(),
            temporary_nodes: TemporaryNodes::default(),
            background: Arc::default(),
            call_order: CallOrder::default(),
            waiting_calls: WaitingCalls::default(),
            told: Mutex::default(),
            skipped: SkippedNodes::default(),
            noted: Mutex::default(),
            refusal: Mutex::new(None),
            process: Process::present(),
        });
        session.clock.spawn(Box::pin(server_session.clone().keep()));
        session.clock.spawn(Box::pin(session.clone().renew(server_session)));
        Ok(session)
    }

    /// Whose session it is: in a forked child, everything below it is still the parent's.
    pub(crate) fn process(&self) -> Process {
        self.process
    }

    pub(crate) fn options(&self) -> &ClientOptions {
        &self.options
    }

    /// Has other servers tried from now on, those of a connect string that was checked.
    pub(crate) fn update_hosts(&self, hosts: String) -> Result<()> {
        opening::check_servers(&hosts, &self.options)?;
        let mut current = lock(&self.hosts);
        let (old, new) = (hosts::chroot(&current), hosts::chroot(&hosts));
        if old != new {
            let named = |chroot: &str| if chroot.is_empty() { "none".to_owned() } else { chroot.to_owned() };
            return Err(Error::invalid(
                "hosts",
                format!(
                    "another chroot ({}) than the client has ({}); connect another client",
                    named(new),
                    named(old)
                ),
            ));
        }
        // Under the lock, so that the list that was given last is the one that counts.
        self.server_session().update_hosts(&hosts);
        *current = hosts;
        drop(current);
        self.hosts_changed.notify_waiters();
        Ok(())
    }

    pub(crate) fn identity(&self) -> &str {
        &self.identity
    }

    pub(crate) fn now(&self) -> Moment {
        self.clock.now()
    }

    /// Waits for what is left to do after a call failed, such as that its node is gone. A server that answers at all
    /// answers in this time; if not, `None`, and a deletion in the background goes on by itself.
    pub(crate) async fn within_grace<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        unless(work, self.clock.sleep_until(self.now() + GRACE)).await
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    pub(crate) fn state(&self) -> State {
        lock(&self.status).state
    }

    /// The newest server session, ended or not.
    pub(crate) fn server_session(&self) -> Arc<ServerSession> {
        lock(&self.current).clone()
    }

    /// Whether something that is said once per path has yet to be said of this one.
    pub(crate) fn is_first_time(&self, path: &str) -> bool {
        let mut told = lock(&self.told);
        if told.len() >= MOST_PATHS_TOLD {
            // Saying it twice is better than remembering without limit.
            told.clear();
        }
        told.insert(path.to_owned())
    }

    pub(crate) fn is_closing(&self) -> bool {
        self.closing.is_set()
    }

    /// Resolves when the client is being closed.
    pub(crate) fn until_closing(&self) -> impl Future<Output = ()> {
        self.closing.until_set()
    }

    /// Resolves when the client has been closed.
    pub(crate) fn until_closed(&self) -> impl Future<Output = ()> {
        self.closed.until_set()
    }

    /// Whether nothing is left to do after closing.
    pub(crate) fn is_closed(&self) -> bool {
        self.closed.is_set()
    }

    /// A server session that has not ended. Only waits when there is none.
    pub(crate) async fn ready(&self) -> Result<Arc<ServerSession>> {
        loop {
            let mut renewed = std::pin::pin!(self.renewed.notified());
            renewed.as_mut().enable();
            let server_session = self.server_session();
            if !server_session.has_ended() {
                return Ok(server_session);
            }
            if let Some(refusal) = lock(&self.refusal).clone() {
                return Err(refusal);
            }
            renewed.await;
        }
    }

    /// A call of one verb, with one deadline for all of it.
    pub(crate) fn call(self: &Arc<Self>, limit: Option<Duration>) -> Call {
        Call::new(self.clone(), limit)
    }

    /// The same of a verb that waits for others.
    pub(crate) fn wait(self: &Arc<Self>, limit: Option<Duration>) -> Call {
        self.call(limit).waiting()
    }

    /// What other calls of this client may be at for as long as nobody polls them, at most until the client is closed.
    pub(crate) async fn behind_others<T>(self: &Arc<Self>, turn: impl Future<Output = T>) -> Result<T> {
        self.call(None).wait_for(turn).await
    }
}

/// Paths of which it is remembered that something was said.
const MOST_PATHS_TOLD: usize = 1000;

fn default_identity() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = match host.trim() {
        "" => "localhost",
        name => name,
    };
    format!("{host}:{}", std::process::id())
}
