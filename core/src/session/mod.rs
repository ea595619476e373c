//! A client's session with ZooKeeper, over as many sessions of the server (epochs) as it takes.
//!
//! One task tends it: it follows the connection, tells subscribers, and opens a new epoch when one has ended. What was
//! held in an ended epoch is lost for good; what waits moves on to the next by itself.

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::watch;

use crate::error::{Error, ErrorKind, LostReason, Result};
use crate::options::{ClientOptions, Naming};
use crate::path;
use crate::time::Deadline;
use crate::turn::relay::Relays;

pub(crate) mod call;
pub mod clock;
pub(crate) mod delivery;
pub(crate) mod epoch;
mod lease;
pub(crate) mod system_clock;
pub mod wire;

use call::Call;
use clock::{Clock, Moment};
use delivery::{Delivery, Live, Subscription};
use epoch::Epoch;
use wire::{CreateMode, Dial, LinkState, WireError};

/// How a client stands with ZooKeeper.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum State {
    /// In touch with a server.
    Connected,
    /// Out of touch; the session may still live, and what is held stays held until its lease runs out.
    Suspended,
    /// The session has ended or can no longer be assumed to live; a new one is being opened.
    Lost,
    /// Closed by its user.
    Closed,
}

impl State {
    /// `connected`, `suspended`, `lost` or `closed`.
    pub fn name(self) -> &'static str {
        match self {
            State::Connected => "connected",
            State::Suspended => "suspended",
            State::Lost => "lost",
            State::Closed => "closed",
        }
    }
}

type StateCallback = Arc<dyn Fn(State) + Send + Sync>;

struct Subscriber {
    id: u64,
    live: Live,
    callback: StateCallback,
}

/// What all handles of one client share.
pub(crate) struct Session {
    hosts: String,
    options: ClientOptions,
    identity: String,
    clock: Arc<dyn Clock>,
    dial: Box<dyn Dial>,
    current: watch::Sender<Arc<Epoch>>,
    /// Set once, by `close`.
    closing: watch::Sender<bool>,
    /// Set once, when the server has confirmed the end of the session or never will.
    closed: watch::Sender<bool>,
    /// Set once, when no epoch will be opened any more and the last one is closed.
    tended: watch::Sender<bool>,
    status: Mutex<Status>,
    order: Mutex<()>,
    next_subscription: AtomicU64,
    pub(crate) delivery: Delivery,
    /// Servers before 3.5 know no containers; learned from the first refusal.
    has_containers: AtomicBool,
    /// Turns that are passed on in memory.
    pub(crate) relays: Relays,
    /// Why the last attempt to open a session failed, for those who wait for one.
    refusal: Mutex<Option<Error>>,
}

struct Status {
    state: State,
    subscribers: Vec<Subscriber>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Session {
    /// Opens the first epoch within `connect_timeout` and starts tending.
    pub(crate) async fn open(
        hosts: String,
        options: ClientOptions,
        clock: Arc<dyn Clock>,
        dial: Box<dyn Dial>,
    ) -> Result<Arc<Session>> {
        let until = clock.now() + options.connect_timeout;
        let epoch = loop {
            let attempt = dial_once(&hosts, &options, &clock, &*dial);
            let failure = tokio::select! {
                biased;
                dialled = attempt => match dialled {
                    Ok(epoch) => break epoch,
                    Err(error) => error,
                },
                () = clock.sleep_until(until) => WireError::ConnectionLoss,
            };
            if failure == WireError::AuthFailed {
                return Err(denied_session());
            }
            if let WireError::Other(problem) = failure {
                return Err(Error::invalid("hosts", format!("{problem} in {hosts:?}")));
            }
            if clock.now() >= until {
                return Err(Error::new(
                    ErrorKind::ConnectionLost,
                    format!(
                        "no ZooKeeper server answered at {hosts} within {:?}; check the address, that the servers \
                         run, and connect_timeout",
                        options.connect_timeout
                    ),
                ));
            }
            clock.sleep_until(clock.now() + options.retry.base).await;
        };
        let identity = options.identity.clone().unwrap_or_else(default_identity);
        let session = Arc::new(Session {
            hosts,
            options,
            identity,
            clock,
            dial,
            current: watch::Sender::new(epoch.clone()),
            closing: watch::Sender::new(false),
            closed: watch::Sender::new(false),
            tended: watch::Sender::new(false),
            status: Mutex::new(Status { state: State::Connected, subscribers: Vec::new() }),
            order: Mutex::new(()),
            next_subscription: AtomicU64::new(1),
            delivery: Delivery::default(),
            has_containers: AtomicBool::new(true),
            relays: Relays::default(),
            refusal: Mutex::new(None),
        });
        session.clock.spawn(Box::pin(epoch.clone().keep()));
        session.clock.spawn(Box::pin(session.clone().tend(epoch)));
        Ok(session)
    }

    pub(crate) fn options(&self) -> &ClientOptions {
        &self.options
    }

    pub(crate) fn identity(&self) -> &str {
        &self.identity
    }

    pub(crate) fn now(&self) -> Moment {
        self.clock.now()
    }

    pub(crate) fn clock(&self) -> &Arc<dyn Clock> {
        &self.clock
    }

    pub(crate) fn state(&self) -> State {
        lock(&self.status).state
    }

    /// The newest epoch, ended or not.
    pub(crate) fn epoch(&self) -> Arc<Epoch> {
        self.current.borrow().clone()
    }

    /// Calls back at every change of state, in order, until unsubscribed.
    pub(crate) fn on_state(
        self: &Arc<Self>,
        callback: impl Fn(State) + Send + Sync + 'static,
    ) -> Subscription {
        let id = self.next_subscription.fetch_add(1, Ordering::Relaxed);
        let live = Live::default();
        let subscriber = Subscriber { id, live: live.clone(), callback: Arc::new(callback) };
        lock(&self.status).subscribers.push(subscriber);
        let session = Arc::downgrade(self);
        Subscription::new(live, move || {
            if let Some(session) = session.upgrade() {
                let mut status = lock(&session.status);
                let at = status.subscribers.iter().position(|subscriber| subscriber.id == id);
                let subscriber = at.map(|at| status.subscribers.remove(at));
                drop(status);
                // A callback that owns something of ours may take locks when it goes.
                drop(subscriber);
            }
        })
    }

    fn enter(&self, state: State) {
        // Held until the notices are queued, so that they keep the order of the changes; the status itself is free.
        let _order = lock(&self.order);
        let mut status = lock(&self.status);
        if status.state == state || status.state == State::Closed {
            return;
        }
        status.state = state;
        let subscribers: Vec<_> =
            status.subscribers.iter().map(|s| (s.live.clone(), s.callback.clone())).collect();
        drop(status);
        for (live, callback) in subscribers {
            self.delivery.notice(Box::new(move || {
                if live.is_live() {
                    callback(state);
                }
            }));
        }
    }

    pub(crate) fn is_closing(&self) -> bool {
        *self.closing.borrow()
    }

    /// Resolves when the client is being closed.
    pub(crate) async fn until_closing(&self) {
        let mut closing = self.closing.subscribe();
        // The sender lives in `self`, so this cannot fail.
        let _ = closing.wait_for(|closing| *closing).await;
    }

    /// An epoch that has not ended. Only waits when there is none.
    pub(crate) async fn ready(&self) -> Result<Arc<Epoch>> {
        let mut current = self.current.subscribe();
        loop {
            let epoch = current.borrow_and_update().clone();
            if !epoch.has_ended() {
                return Ok(epoch);
            }
            if let Some(refusal) = lock(&self.refusal).clone() {
                return Err(refusal);
            }
            let _ = current.changed().await;
        }
    }

    async fn tend(self: Arc<Self>, first: Arc<Epoch>) {
        self.tend_epochs(first).await;
        self.tended.send_replace(true);
    }

    /// Follows the connection, tells subscribers, opens new epochs. Ends when the client is closed.
    async fn tend_epochs(self: &Arc<Self>, mut epoch: Arc<Epoch>) {
        loop {
            if !self.follow(&epoch).await {
                // Closing: whoever closes may have seen the epoch before this one.
                epoch.until_tidy().await;
                return epoch.close().await;
            }
            epoch.lose_all(LostReason::Session);
            self.enter(State::Lost);
            match self.reopen().await {
                Some(next) => epoch = next,
                None => return,
            }
            if self.is_closing() {
                // Too late for anybody to use it, so nobody else will close it.
                return epoch.close().await;
            }
            self.clock.spawn(Box::pin(epoch.clone().keep()));
            self.current.send_replace(epoch.clone());
        }
    }

    /// Until the epoch has ended; false when the client is being closed.
    async fn follow(&self, epoch: &Arc<Epoch>) -> bool {
        let mut down_since = None;
        loop {
            let link = epoch.link();
            match link.state {
                LinkState::Up => {
                    down_since = None;
                    self.enter(State::Connected);
                }
                LinkState::Down => {
                    if down_since.is_none() {
                        down_since = Some(self.clock.now());
                        self.enter(State::Suspended);
                    }
                }
                // The end that a close asked for is no loss.
                LinkState::Ended | LinkState::Denied => return !self.is_closing(),
            }
            // Out of touch for a whole session timeout: the server may have given the session up.
            let presumed_lost = async {
                match down_since {
                    Some(since) => self.clock.sleep_until(since + epoch.session_timeout()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = epoch.link_changed(link) => {}
                () = presumed_lost => {
                    self.enter(State::Lost);
                    tokio::select! {
                        biased;
                        () = epoch.link_changed(link) => {}
                        () = self.until_closing() => return false,
                    }
                }
                () = self.until_closing() => return false,
            }
        }
    }

    async fn reopen(&self) -> Option<Arc<Epoch>> {
        let mut pause = self.options.retry.base;
        loop {
            let mut dialling = Box::pin(dial_once(&self.hosts, &self.options, &self.clock, &*self.dial));
            let dialled = tokio::select! {
                biased;
                dialled = &mut dialling => dialled,
                () = self.until_closing() => {
                    // The server may have opened the session already, and it would stay there until its timeout.
                    let grace = self.clock.sleep_until(self.clock.now() + DIAL_GRACE);
                    return unless(dialling, grace).await?.ok();
                }
            };
            match dialled {
                Ok(epoch) => {
                    *lock(&self.refusal) = None;
                    return Some(epoch);
                }
                Err(WireError::AuthFailed) => {
                    *lock(&self.refusal) = Some(denied_session());
                    // Whoever waits for a session is to hear of it.
                    self.current.send_modify(|_| {});
                }
                Err(error) => tracing::debug!(?error, "no new session yet"),
            }
            tokio::select! {
                biased;
                () = self.clock.sleep_until(self.clock.now() + pause) => {}
                () = self.until_closing() => return None,
            }
            pause = (pause * 2).min(self.options.retry.max);
        }
    }

    /// Waiters get Closed, what is held is released with the session, background deletions are awaited. The work goes on
    /// whether or not the caller waits for it.
    pub(crate) async fn close(self: &Arc<Self>, limit: Option<Duration>) -> Result<()> {
        if !self.closing.send_replace(true) {
            self.epoch().lose_all(LostReason::Closed);
            self.clock.spawn(Box::pin(self.clone().shut(Deadline::after(self.clock.now(), limit))));
        }
        let deadline = Deadline::after(self.clock.now(), limit);
        let mut closed = self.closed.subscribe();
        tokio::select! {
            biased;
            _ = closed.wait_for(|closed| *closed) => Ok(()),
            () = self.until_over(deadline) => {
                // Whatever the first closer still waits for, the session is to end now.
                self.clock.spawn(self.epoch().close());
                self.enter(State::Closed);
                Err(Error::timeout("the server's confirmation that the session is closed"))
            }
        }
    }

    async fn shut(self: Arc<Self>, deadline: Deadline) {
        let epoch = self.epoch();
        tokio::select! {
            biased;
            () = epoch.until_tidy() => {}
            () = self.until_over(deadline) => {}
        }
        epoch.close().await;
        let mut tended = self.tended.subscribe();
        // The sender lives in `self`, so this cannot fail.
        let _ = tended.wait_for(|tended| *tended).await;
        self.enter(State::Closed);
        self.closed.send_replace(true);
    }

    pub(crate) async fn until_over(&self, deadline: Deadline) {
        match deadline.at() {
            Some(at) => self.clock.sleep_until(at).await,
            None => std::future::pending().await,
        }
    }

    /// What a recipe's parents are created as: containers, unless others use the path who do not expect it to go. kazoo
    /// and the recipes that ship with ZooKeeper make a parent once and count on it.
    pub(crate) fn parents(&self) -> CreateMode {
        match self.options.naming {
            Naming::Curator => CreateMode::Container,
            Naming::Kazoo | Naming::Zookeeper => CreateMode::Persistent,
        }
    }

    /// Creates `path` and whatever is missing above it. Recipes ask for containers, so that nothing stays when the last
    /// child has gone; servers that have none get persistent nodes.
    pub(crate) async fn ensure(
        &self,
        epoch: &Arc<Epoch>,
        path: &str,
        wanted: CreateMode,
    ) -> Result<(), WireError> {
        let mut missing = vec![path];
        while let Some(top) = missing.last().copied() {
            let mode = match wanted {
                CreateMode::Container if !self.has_containers.load(Ordering::Relaxed) => {
                    CreateMode::Persistent
                }
                wanted => wanted,
            };
            match epoch.create(top, b"", mode).await {
                Ok(_) | Err(WireError::NodeExists) => {
                    missing.pop();
                }
                Err(WireError::NoNode) => match path::parent(top) {
                    "/" => epoch.create_chroot().await?,
                    parent => missing.push(parent),
                },
                Err(WireError::Unimplemented) if mode == CreateMode::Container => {
                    self.has_containers.store(false, Ordering::Relaxed);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// A call of one verb, with one deadline for all of it.
    pub(crate) fn call(self: &Arc<Self>, limit: Option<Duration>) -> Call {
        Call::new(self.clone(), limit)
    }
}

/// How long closing waits for a session that is just being opened.
const DIAL_GRACE: Duration = Duration::from_secs(1);

async fn dial_once(
    hosts: &str,
    options: &ClientOptions,
    clock: &Arc<dyn Clock>,
    dial: &dyn Dial,
) -> Result<Arc<Epoch>, WireError> {
    let asked = clock.now();
    let wire = dial.dial(hosts, options).await?;
    Ok(Epoch::new(wire, clock.clone(), options.access(), options.lease, asked))
}

fn denied_session() -> Error {
    Error::new(ErrorKind::Denied, "the server refused our credentials; check auth (scheme and credential)")
}

fn default_identity() -> String {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = match host.trim() {
        "" => "localhost",
        name => name,
    };
    format!("{host}:{}", std::process::id())
}

/// Runs `future` until it is done or `other` is; `None` when `other` came first.
pub(crate) async fn unless<T>(future: impl Future<Output = T>, other: impl Future<Output = ()>) -> Option<T> {
    tokio::select! {
        biased;
        value = future => Some(value),
        () = other => None,
    }
}
