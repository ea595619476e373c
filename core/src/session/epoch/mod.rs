//! One session with the server, from its creation to its end: requests that feed the lease, the heartbeat, what is
//! held under it, and the chores that leave nothing behind.

mod chores;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use tokio::sync::Notify;

use super::clock::{Clock, Later, Moment};
use super::lease::Lease;
use super::wire::{CreateMode, Created, Flight, Link, LinkState, Stat, Watch, Wire, WireError, Write};
use crate::error::LostReason;
use crate::options::{AclChoice, LeaseMode};

/// Something that is held for as long as the session certainly lives.
pub(crate) trait Tenant: Send + Sync {
    /// It is gone. Must be short: it may run on the alarm thread.
    fn lose(&self, reason: LostReason);
}

/// One session. Everything acquired in it is gone for good when it ends.
pub(crate) struct Epoch {
    wire: Box<dyn Wire>,
    clock: Arc<dyn Clock>,
    acl: AclChoice,
    mode: LeaseMode,
    lease: Mutex<Lease>,
    /// The nodes of ours that something depends on: while there is one, the heart beats.
    interests: Mutex<BTreeMap<u64, String>>,
    tenants: Mutex<BTreeMap<u64, Weak<dyn Tenant>>>,
    next_id: AtomicU64,
    alarm_is_set: AtomicBool,
    beats_in_flight: AtomicUsize,
    interest_came: Notify,
    lease_moved: Notify,
    chores: AtomicUsize,
    chore_done: Notify,
    /// The connection on which a `sync` was last sent for a holder's reads.
    synced: AtomicU64,
}

/// More unanswered heartbeats than this prove nothing that the first ones do not.
const MOST_BEATS_IN_FLIGHT: usize = 4;
/// Nodes that one heartbeat looks at.
const MOST_CHECKS: usize = 100;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Epoch {
    pub(crate) fn new(
        wire: Box<dyn Wire>,
        clock: Arc<dyn Clock>,
        acl: AclChoice,
        mode: LeaseMode,
        asked: Moment,
    ) -> Arc<Epoch> {
        let lease = Lease::new(wire.session_timeout(), asked, clock.now());
        let synced = wire.link().generation;
        Arc::new(Epoch {
            wire,
            clock,
            acl,
            mode,
            lease: Mutex::new(lease),
            interests: Mutex::default(),
            tenants: Mutex::default(),
            next_id: AtomicU64::new(1),
            alarm_is_set: AtomicBool::new(false),
            beats_in_flight: AtomicUsize::new(0),
            interest_came: Notify::new(),
            lease_moved: Notify::new(),
            chores: AtomicUsize::new(0),
            chore_done: Notify::new(),
            synced: AtomicU64::new(synced),
        })
    }

    pub(crate) fn session_id(&self) -> u64 {
        self.wire.session_id()
    }

    pub(crate) fn session_timeout(&self) -> Duration {
        self.wire.session_timeout()
    }

    pub(crate) fn link(&self) -> Link {
        self.wire.link()
    }

    pub(crate) fn link_changed(&self, seen: Link) -> Later<()> {
        self.wire.link_changed(seen)
    }

    pub(crate) fn has_ended(&self) -> bool {
        matches!(self.link().state, LinkState::Ended | LinkState::Denied)
    }

    pub(crate) fn close(&self) -> Later<()> {
        self.wire.close()
    }

    // ---- requests: each leaves now, and its answer feeds the lease

    pub(crate) fn create(self: &Arc<Self>, path: &str, data: &[u8], mode: CreateMode) -> Flight<Created> {
        self.send(Proof::Quorum, |wire| wire.create(path, data, mode, &self.acl))
    }

    pub(crate) fn delete(self: &Arc<Self>, path: &str, version: Option<i32>) -> Flight<()> {
        self.send(Proof::Quorum, |wire| wire.delete(path, version))
    }

    pub(crate) fn set_data(self: &Arc<Self>, path: &str, data: &[u8], version: Option<i32>) -> Flight<Stat> {
        self.send(Proof::Quorum, |wire| wire.set_data(path, data, version))
    }

    pub(crate) fn multi(self: &Arc<Self>, writes: &[Write]) -> Flight<Vec<Created>> {
        if writes.is_empty() {
            // Nothing to ask: an answer that no server gave must not feed the lease.
            return Box::pin(std::future::ready(Ok(Vec::new())));
        }
        self.send(Proof::Quorum, |wire| wire.multi(writes, &self.acl))
    }

    pub(crate) fn exists(self: &Arc<Self>, path: &str) -> Flight<Option<Stat>> {
        self.send(Proof::None, |wire| wire.exists(path))
    }

    pub(crate) fn get_data(self: &Arc<Self>, path: &str) -> Flight<(Vec<u8>, Stat)> {
        self.send(Proof::None, |wire| wire.get_data(path))
    }

    pub(crate) fn children(self: &Arc<Self>, path: &str) -> Flight<Vec<String>> {
        self.send(Proof::None, |wire| wire.children(path))
    }

    pub(crate) fn watch_data(self: &Arc<Self>, path: &str) -> Flight<(Vec<u8>, Stat, Watch)> {
        self.send(Proof::None, |wire| wire.watch_data(path))
    }

    pub(crate) fn watch_children(self: &Arc<Self>, path: &str) -> Flight<(Vec<String>, Watch)> {
        self.send(Proof::None, |wire| wire.watch_children(path))
    }

    pub(crate) fn sync(self: &Arc<Self>, path: &str) -> Flight<()> {
        let proof = if self.mode == LeaseMode::Relaxed { Proof::Quorum } else { Proof::Leader };
        self.send(proof, |wire| wire.sync(path))
    }

    pub(crate) fn create_chroot(self: &Arc<Self>) -> Flight<()> {
        // Not one request but as many as it takes, or none: it proves nothing.
        self.wire.create_chroot()
    }

    fn send<T: Send + 'static>(
        self: &Arc<Self>,
        proof: Proof,
        request: impl FnOnce(&dyn Wire) -> Flight<T>,
    ) -> Flight<T> {
        if proof == Proof::None {
            return request(&*self.wire);
        }
        let is_beat = proof == Proof::Quorum;
        let sent = self.clock.now();
        lock(&self.lease).sent(sent, is_beat);
        let flight = request(&*self.wire);
        let epoch = self.clone();
        Box::pin(async move {
            let answer = flight.await;
            match &answer {
                Ok(_) => epoch.answered(sent, is_beat),
                Err(error) if error.is_verdict() => epoch.answered(sent, is_beat),
                Err(_) => {}
            }
            answer
        })
    }

    fn answered(&self, sent: Moment, is_beat: bool) {
        let mut lease = lock(&self.lease);
        let before = lease.certain_until();
        lease.answered(sent, self.clock.now(), is_beat);
        if lease.certain_until() != before {
            drop(lease);
            self.lease_moved.notify_waiters();
        }
    }

    /// What a holder reads after a reconnection must not be older than what the last holder wrote: the new server may
    /// lag behind. Answers a `sync` to send ahead of the read in the same flight, once per connection.
    pub(crate) fn catch_up(self: &Arc<Self>, path: &str) -> Option<Flight<()>> {
        let generation = self.link().generation;
        if lock(&self.tenants).is_empty() || self.synced.swap(generation, Ordering::AcqRel) == generation {
            return None;
        }
        Some(self.sync(path))
    }

    // ---- the lease

    pub(crate) fn certain_until(&self) -> Moment {
        lock(&self.lease).certain_until()
    }

    pub(crate) fn is_certain(&self) -> bool {
        !self.has_ended() && self.clock.now() < self.certain_until()
    }

    /// Certain for long enough to take something on: a lease that ends before the next heartbeat can be answered would
    /// be lost as soon as it was won.
    pub(crate) fn is_firm(&self) -> bool {
        !self.has_ended() && self.clock.now() + self.session_timeout() / 8 < self.certain_until()
    }

    /// How long the server certainly honours the session; zero while nothing is held.
    pub(crate) fn lease_remaining(&self) -> Duration {
        if lock(&self.tenants).is_empty() || self.has_ended() {
            return Duration::ZERO;
        }
        self.certain_until().since(self.clock.now())
    }

    /// Resolves once the lease is firm or the session has ended.
    pub(crate) async fn until_firm(&self) {
        loop {
            let mut moved = std::pin::pin!(self.lease_moved.notified());
            moved.as_mut().enable();
            let link = self.link();
            if self.is_firm() || self.has_ended() {
                return;
            }
            tokio::select! {
                biased;
                () = moved => {}
                () = self.link_changed(link) => {}
            }
        }
    }

    /// Resolves when there is a connection, or never will be again.
    pub(crate) async fn until_up(&self) {
        loop {
            let link = self.link();
            if link.state != LinkState::Down {
                return;
            }
            self.link_changed(link).await;
        }
    }

    /// Keeps the lease while something depends on it; otherwise keeps just enough contact with the leader that the beat of
    /// the next acquisition has something to vouch for. Ends with the session.
    pub(crate) async fn keep(self: Arc<Self>) {
        loop {
            let link = self.link();
            if matches!(link.state, LinkState::Ended | LinkState::Denied) {
                return;
            }
            let due = lock(&self.lease).due(self.is_needed());
            tokio::select! {
                biased;
                () = self.clock.sleep_until(due) => {}
                () = self.interest_came.notified() => continue,
                () = self.link_changed(link) => continue,
            }
            if lock(&self.lease).due(self.is_needed()) > self.clock.now() {
                // An answer that came meanwhile has moved it.
                continue;
            }
            if link.state == LinkState::Up
                && self.beats_in_flight.load(Ordering::Acquire) < MOST_BEATS_IN_FLIGHT
            {
                self.beat();
            } else {
                // Nothing can be proved now; look again when the next beat would be due.
                let retry = self.clock.now() + lock(&self.lease).interval();
                tokio::select! {
                    biased;
                    () = self.clock.sleep_until(retry) => {}
                    () = self.link_changed(link) => {}
                }
            }
        }
    }

    fn is_needed(&self) -> bool {
        !lock(&self.interests).is_empty()
    }

    fn beat(self: &Arc<Self>) {
        let nodes = self.nodes_to_check();
        self.beats_in_flight.fetch_add(1, Ordering::AcqRel);
        let epoch = self.clone();
        let beat = match nodes.first() {
            Some(_) if self.mode == LeaseMode::Strict => {
                let check = |(_, node): &(u64, String)| Write::Check { path: node.clone(), version: None };
                let checks = self.multi(&nodes.iter().map(check).collect::<Vec<_>>());
                Box::pin(async move { checks.await.map(drop) }) as Flight<()>
            }
            Some((_, node)) => self.sync(node),
            None => self.sync("/"),
        };
        self.clock.spawn(Box::pin(async move {
            let answer = beat.await;
            epoch.beats_in_flight.fetch_sub(1, Ordering::AcqRel);
            if let Err(WireError::Part { index, error }) = answer
                && *error == WireError::NoNode
                && nodes.get(index).is_some_and(|(id, _)| epoch.node_is_gone(*id))
                && nodes.len() > 1
            {
                // What stands behind it in the transaction was not looked at.
                epoch.beat();
            }
        }));
    }

    /// What is held, so that a node deleted behind its holder's back is noticed: all of it, or in turn if it is very much.
    /// One that only waits, if nothing is held.
    fn nodes_to_check(&self) -> Vec<(u64, String)> {
        let held: Vec<_> = lock(&self.tenants).keys().copied().collect();
        let interests = lock(&self.interests);
        let mut nodes: Vec<_> =
            held.iter().filter_map(|id| Some((*id, interests.get(id)?.clone()))).collect();
        if nodes.is_empty() {
            nodes.extend(interests.first_key_value().map(|(id, node)| (*id, node.clone())));
        }
        if nodes.len() > MOST_CHECKS {
            let turn = self.next_id.fetch_add(MOST_CHECKS as u64, Ordering::Relaxed) as usize;
            let first = turn % nodes.len();
            nodes.rotate_left(first);
            nodes.truncate(MOST_CHECKS);
        }
        nodes
    }

    /// The heartbeat found the node of a tenant gone; a tenant that has let go itself is no longer registered.
    fn node_is_gone(&self, id: u64) -> bool {
        let tenant = lock(&self.tenants).remove(&id).and_then(|tenant| tenant.upgrade());
        if let Some(tenant) = &tenant {
            tenant.lose(LostReason::Deleted);
        }
        tenant.is_some()
    }

    /// From now on something depends on `node`, and so on the session.
    pub(crate) fn interest(self: &Arc<Self>, node: &str) -> Interest {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        lock(&self.interests).insert(id, node.to_owned());
        self.interest_came.notify_one();
        Interest { epoch: self.clone(), id }
    }

    // ---- what is held

    fn admit(self: &Arc<Self>, id: u64, tenant: Weak<dyn Tenant>) {
        lock(&self.tenants).insert(id, tenant);
        self.set_alarm();
    }

    fn set_alarm(self: &Arc<Self>) {
        if self.alarm_is_set.swap(true, Ordering::AcqRel) {
            return;
        }
        let epoch = Arc::downgrade(self);
        self.clock.alarm(
            self.certain_until(),
            Box::new(move || {
                let Some(epoch) = epoch.upgrade() else { return };
                epoch.alarm_is_set.store(false, Ordering::Release);
                if lock(&epoch.tenants).is_empty() {
                    return;
                }
                if epoch.clock.now() >= epoch.certain_until() {
                    epoch.lose_all(LostReason::Session);
                } else {
                    epoch.set_alarm();
                }
            }),
        );
    }

    /// Everything held under this session is gone.
    pub(crate) fn lose_all(&self, reason: LostReason) {
        let tenants: Vec<_> = std::mem::take(&mut *lock(&self.tenants)).into_values().collect();
        for tenant in tenants.iter().filter_map(Weak::upgrade) {
            // One that panics must not keep the news from the others.
            let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| tenant.lose(reason)));
            if told.is_err() {
                tracing::error!("telling a loss panicked; the library goes on");
            }
        }
    }
}

#[derive(Copy, Clone, PartialEq, Eq)]
enum Proof {
    /// Any server answers by itself: it proves nothing.
    None,
    /// Answered through the leader, or one that was deposed.
    Leader,
    /// Only the quorum answers.
    Quorum,
}

/// While it lives, the heart beats and checks the node it was made for.
pub(crate) struct Interest {
    epoch: Arc<Epoch>,
    id: u64,
}

impl Interest {
    /// The dependent now holds: it is told when the session can no longer be certain.
    pub(crate) fn admit(&self, tenant: Weak<dyn Tenant>) {
        self.epoch.admit(self.id, tenant);
    }
}

impl Drop for Interest {
    fn drop(&mut self) {
        lock(&self.epoch.interests).remove(&self.id);
        lock(&self.epoch.tenants).remove(&self.id);
    }
}
