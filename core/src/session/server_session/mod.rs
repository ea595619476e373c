//! One session with the server, from its creation to its end: requests that feed the lease (`requests`), the heartbeat, what
//! is held under it, and the deletions that leave nothing behind (`deletions`).

pub(crate) mod catching_up;
pub(super) mod deletions;
mod requests;
pub(crate) mod shared_lists;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tokio::sync::Notify;

use super::background::Background;
use super::clock::{Clock, Later, Moment};
use super::lease::Lease;
use super::wire::capability::Capability;
use super::wire::frame::Measure;
use super::wire::{Flight, Link, LinkState, SessionIdentity, Wire, WireError, Write};
use crate::error::LostReason;
use crate::log::{self, Peer};
use crate::metrics::Counters;
use crate::mutex::lock;
use crate::options::{AclChoice, LeaseMode, LeaseTerms};
use crate::process::Process;
use catching_up::CatchingUp;
use shared_lists::SharedLists;

/// One connection of one session. What was read on it and is written on it may be told apart from what comes later.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct ConnectionId {
    session: u64,
    generation: u64,
}

/// Something that is held for as long as the session certainly lives.
pub(crate) trait Tenant: Send + Sync {
    /// It is gone. Must be short: it may run on the alarm thread. False while that may be its own doing: then it has to be
    /// told of what happens next, too.
    fn lose(&self, reason: LostReason) -> bool;

    /// Somebody has written its node.
    fn is_written(self: Arc<Self>);
}

/// One session. Everything acquired in it is gone for good when it ends.
pub(crate) struct ServerSession {
    wire: Box<dyn Wire>,
    pub(super) clock: Arc<dyn Clock>,
    acl: AclChoice,
    measure: Measure,
    terms: LeaseTerms,
    lease: Mutex<Lease>,
    /// The nodes of ours that something depends on: while there is one, the heart beats.
    interests: Mutex<BTreeMap<u64, OwnNode>>,
    tenants: Mutex<BTreeMap<u64, Weak<dyn Tenant>>>,
    /// Some were lost because it ended, or could no longer be assumed to live.
    has_lost: AtomicBool,
    next_id: AtomicU64,
    /// The last node that a heartbeat looked at, where one heartbeat cannot look at all.
    last_checked: AtomicU64,
    /// When a heartbeat last looked at nodes, or when the first of those came that there are now.
    checked: AtomicU64,
    alarm_is_set: AtomicBool,
    /// It was told that the lease runs short, and it has not moved since.
    is_low: AtomicBool,
    beats_in_flight: AtomicUsize,
    /// A word from the server has been asked for and not come.
    is_listening: AtomicBool,
    /// When it was asked for last.
    listened: AtomicU64,
    /// The last node of which it was asked.
    last_looked_at: AtomicU64,
    interest_came: Notify,
    /// When `keep` is going to look whether a beat is due; [`LOOKING`] while it looks.
    planned: AtomicU64,
    beat_landed: Notify,
    lease_moved: Notify,
    /// When the server last answered what this session asked of the leader.
    heard: AtomicU64,
    pub(super) background: Arc<Background>,
    /// The connection on which a `sync` was last answered for a holder's reads.
    synced: AtomicU64,
    /// Parents below which we may delete nodes, or may not, as far as that was found out.
    may_delete: Mutex<BTreeMap<String, bool>>,
    /// Parents of which nothing is to be feared that has not been told: we have made them, or have read their access lists. With
    /// each, its czxid as far as it is known.
    vouched: Mutex<BTreeMap<String, Option<i64>>>,
    /// The server knows no request that reads several nodes.
    several_reads: Capability,
    /// Servers before 3.5.7 do not say which ephemeral nodes a session has.
    own_list: Capability,
    shared_lists: SharedLists,
    /// Each path that is watched for what the numbers on it prove has a clone: see [`crate::turn::session_line`].
    pub(crate) watched_paths: Arc<()>,
    catching_up: CatchingUp,
    counters: Arc<Counters>,
    process: Process,
}

/// A node of ours, as the heartbeat asks for it.
#[derive(Clone)]
pub(crate) struct OwnNode {
    path: String,
    /// See [`Grant::guard`](crate::turn::grant::Grant::guard).
    guard: Option<Write>,
}

impl OwnNode {
    /// The guard comes behind: it shows that the node of that name still was ours when it was looked at.
    fn checks(&self) -> impl Iterator<Item = Write> {
        let stands = Write::Check { path: self.path.clone(), version: None };
        std::iter::once(stands).chain(self.guard.clone())
    }
}

/// More unanswered heartbeats than this prove nothing that the first ones do not.
const MOST_BEATS_IN_FLIGHT: usize = 6;
/// Whoever comes now is looked at, or looked for once more.
const LOOKING: u64 = u64::MAX;
/// Nodes that one heartbeat looks at, and how many bytes it may take.
const MOST_CHECKS: usize = 100;
const MOST_BYTES: usize = 128 << 10;

impl ServerSession {
    /// Whose session it is.
    pub(crate) fn process(&self) -> Process {
        self.process
    }

    /// `hosts` is where the session was opened: requests are as long as the chroot in it makes them.
    pub(crate) fn new(
        wire: Box<dyn Wire>,
        clock: Arc<dyn Clock>,
        hosts: &str,
        acl: AclChoice,
        terms: LeaseTerms,
        asked: Moment,
        counters: Arc<Counters>,
    ) -> Arc<ServerSession> {
        let lease = Lease::new(wire.session_timeout(), terms, asked, clock.now());
        counters.session_timeout.set(wire.session_timeout());
        let synced = wire.link().generation;
        Arc::new(ServerSession {
            wire,
            clock,
            measure: Measure::of(hosts, &acl),
            acl,
            terms,
            lease: Mutex::new(lease),
            interests: Mutex::default(),
            tenants: Mutex::default(),
            has_lost: AtomicBool::new(false),
            next_id: AtomicU64::new(1),
            last_checked: AtomicU64::new(0),
            checked: AtomicU64::new(asked.0),
            alarm_is_set: AtomicBool::new(false),
            is_low: AtomicBool::new(false),
            beats_in_flight: AtomicUsize::new(0),
            is_listening: AtomicBool::new(false),
            listened: AtomicU64::new(asked.0),
            last_looked_at: AtomicU64::new(0),
            interest_came: Notify::new(),
            planned: AtomicU64::new(LOOKING),
            beat_landed: Notify::new(),
            lease_moved: Notify::new(),
            heard: AtomicU64::new(asked.0),
            background: Arc::default(),
            synced: AtomicU64::new(synced),
            may_delete: Mutex::default(),
            vouched: Mutex::default(),
            several_reads: Capability::default(),
            own_list: Capability::default(),
            shared_lists: SharedLists::default(),
            watched_paths: Arc::default(),
            catching_up: CatchingUp::default(),
            counters,
            process: Process::present(),
        })
    }

    pub(crate) fn session_id(&self) -> u64 {
        self.wire.session_id()
    }

    pub(crate) fn session_timeout(&self) -> Duration {
        self.wire.session_timeout()
    }

    /// The server that the session is at, and the session.
    pub(crate) fn peer(&self) -> Peer {
        Peer { session: self.session_id(), server: self.wire.server() }
    }

    /// Has other servers tried from now on.
    pub(crate) fn update_hosts(&self, hosts: &str) {
        self.wire.update_hosts(hosts);
    }

    /// Why the last connection ended, as far as that is known.
    pub(crate) fn cause(&self) -> Option<String> {
        self.wire.cause()
    }

    pub(crate) fn link(&self) -> Link {
        self.wire.link()
    }

    /// As [`Wire::owes_since`].
    pub(crate) fn owes_since(&self) -> Option<Moment> {
        self.wire.owes_since()
    }

    pub(crate) fn link_changed(&self, seen: Link) -> Later<()> {
        self.wire.link_changed(seen)
    }

    /// The connection that there is now; `None` while there is none.
    pub(crate) fn connection(&self) -> Option<ConnectionId> {
        let link = self.link();
        let connection = ConnectionId { session: self.session_id(), generation: link.generation };
        (link.state == LinkState::Up).then_some(connection)
    }

    /// See [`Wire::knows_what_left`].
    pub(crate) fn knows_what_left(&self) -> bool {
        self.wire.knows_what_left()
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.link().state.is_over()
    }

    /// See [`Wire::outlives_us`].
    pub(super) fn outlives_us(&self) -> Later<Option<SessionIdentity>> {
        self.wire.outlives_us()
    }

    pub(crate) fn close(&self) -> Later<()> {
        self.wire.close()
    }

    // ---- the lease

    pub(crate) fn certain_until(&self) -> Moment {
        lock(&self.lease).certain_until()
    }

    /// The lease has not run out.
    pub(crate) fn is_certain(&self) -> bool {
        !self.has_ended() && self.clock.now() < self.certain_until()
    }

    /// Certain for long enough to take something on: a lease that ends before the next heartbeat can be answered would
    /// be lost as soon as it was won.
    pub(crate) fn is_firm(&self) -> bool {
        !self.has_ended() && lock(&self.lease).is_firm(self.clock.now())
    }

    /// The same for who has waited for that since then.
    pub(crate) fn is_firm_enough(&self, since: Moment) -> bool {
        !self.has_ended() && lock(&self.lease).is_firm_enough(self.clock.now(), since)
    }

    /// When the newest request left that was answered by a server which had come as far as the leader.
    pub(crate) fn last_contact(&self) -> Moment {
        lock(&self.lease).newest_contact()
    }

    /// How long the server certainly honours the session; zero while nothing is held.
    pub(crate) fn lease_remaining(&self) -> Duration {
        if lock(&self.tenants).is_empty() || self.has_ended() {
            return Duration::ZERO;
        }
        self.certain_until().since(self.clock.now())
    }

    /// Resolves once the lease is firm or the session has ended.
    async fn until_firm(&self) {
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

    /// The same, or after a moment, when there is a connection: heartbeats are of a node, and end if somebody deletes it. Then
    /// the lease may never be firm again, and who waits for that has to look.
    pub(crate) async fn until_firm_or_soon(&self) {
        let soon = self.clock.sleep_until(self.clock.now() + self.session_timeout() / 8);
        tokio::select! {
            biased;
            () = self.until_firm() => {}
            () = async { soon.await; self.until_up().await } => {}
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

    /// Resolves when there is no connection.
    pub(crate) async fn until_down(&self) {
        loop {
            let link = self.link();
            if link.state != LinkState::Up {
                return;
            }
            self.link_changed(link).await;
        }
    }

    /// Resolves when the session has ended.
    pub(crate) async fn until_ended(&self) {
        loop {
            let link = self.link();
            if self.has_ended() {
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
            if link.state.is_over() {
                return;
            }
            self.planned.store(LOOKING, Ordering::Release);
            let listens = self.listens();
            let due = self.beat_due();
            let due = listens.map_or(due, |moment| due.min(moment));
            self.planned.store(due.0, Ordering::Release);
            tokio::select! {
                biased;
                () = self.clock.sleep_until(due) => {}
                () = self.interest_came.notified() => continue,
                () = self.link_changed(link) => continue,
            }
            if self.beat_due() > self.clock.now() {
                // An answer that came meanwhile has moved it, or what is due is less.
                if listens.is_some_and(|moment| moment <= self.clock.now()) {
                    self.listen();
                }
                continue;
            }
            if link.state == LinkState::Up
                && self.beats_in_flight.load(Ordering::Acquire) < MOST_BEATS_IN_FLIGHT
            {
                self.beat();
            } else {
                // Nothing can be proved now; look again when the next beat would be due, or when an answer shows that the
                // server is awake again.
                let retry = self.clock.now() + lock(&self.lease).interval();
                tokio::select! {
                    biased;
                    () = self.clock.sleep_until(retry) => {}
                    () = self.beat_landed.notified() => {}
                    () = self.link_changed(link) => {}
                }
            }
        }
    }

    fn is_needed(&self) -> bool {
        !lock(&self.interests).is_empty()
    }

    /// When the heart is to beat. Whatever else is written keeps the lease as well, but does not tell whether our nodes stand.
    fn beat_due(&self) -> Moment {
        let is_needed = self.is_needed();
        let lease = lock(&self.lease);
        let due = lease.due(is_needed);
        match self.terms.mode {
            LeaseMode::Strict if is_needed => {
                due.min(Moment(self.checked.load(Ordering::Acquire)) + lease.interval())
            }
            _ => due,
        }
    }

    /// When the server should be asked to say something, whatever it is.
    fn listens(&self) -> Option<Moment> {
        if !self.is_needed()
            || self.link().state != LinkState::Up
            || self.is_listening.load(Ordering::Acquire)
        {
            return None;
        }
        let moment = lock(&self.lease).listens()?;
        Some(moment.max(Moment(self.listened.load(Ordering::Acquire)) + self.session_timeout() / 16))
    }

    /// Asks for what the server answers by itself: no news is a reason to give the connection up. It asks of what is held, one
    /// after the other: a node that somebody has written says that they ask for it, where its holder says who it is.
    fn listen(self: &Arc<Self>) {
        self.is_listening.store(true, Ordering::Release);
        self.listened.store(self.clock.now().0, Ordering::Release);
        let held = self.node_to_look_at();
        let word = self.exists(held.as_ref().map_or("/", |(_, node)| &node.path));
        let server_session = self.clone();
        self.clock.spawn(Box::pin(async move {
            let answer = word.await;
            server_session.is_listening.store(false, Ordering::Release);
            if let (Some((id, _)), Ok(Some(stat))) = (held, answer)
                && stat.version > 0
            {
                let tenant = lock(&server_session.tenants).get(&id).and_then(Weak::upgrade);
                tenant.into_iter().for_each(|tenant| tenant.is_written());
            }
        }));
    }

    fn node_to_look_at(&self) -> Option<(u64, OwnNode)> {
        let last = self.last_looked_at.load(Ordering::Acquire);
        let next = {
            let tenants = lock(&self.tenants);
            let mut behind = tenants.range(last + 1..).chain(tenants.iter());
            behind.next().map(|(id, _)| *id)?
        };
        self.last_looked_at.store(next, Ordering::Release);
        Some((next, lock(&self.interests).get(&next)?.clone()))
    }

    fn beat(self: &Arc<Self>) {
        let now = self.clock.now();
        lock(&self.lease).beats(now);
        self.checked.store(now.0, Ordering::Release);
        let checks: Vec<_> = self
            .nodes_to_check()
            .into_iter()
            .flat_map(|(id, node)| node.checks().map(|check| (id, check)).collect::<Vec<_>>())
            .collect();
        self.counters.heartbeats.one();
        self.beats_in_flight.fetch_add(1, Ordering::AcqRel);
        let server_session = self.clone();
        let beat = match checks.first() {
            Some(_) if self.terms.mode == LeaseMode::Strict => {
                let checked = self.multi(&checks.iter().map(|(_, check)| check.clone()).collect::<Vec<_>>());
                Box::pin(async move { checked.await.map(drop) }) as Flight<()>
            }
            Some((_, check)) => self.sync(check.path()),
            None => self.sync("/"),
        };
        self.clock.spawn(Box::pin(async move {
            let answer = beat.await;
            server_session.beats_in_flight.fetch_sub(1, Ordering::AcqRel);
            server_session.beat_landed.notify_one();
            let Err(WireError::Part { index, error }) = answer else { return };
            let Some((id, check)) = checks.get(index) else { return };
            let is_found = match *error {
                // Gone, or another one of its name.
                WireError::NoNode | WireError::BadVersion => server_session.node_is_gone(*id),
                // What guards it is not ours to look at any more; whether it stands still is.
                WireError::NoAuth => server_session.forget_guard(*id, check),
                _ => false,
            };
            if is_found && checks.iter().any(|(other, _)| other != id) {
                // What stands behind it in the transaction was not looked at.
                server_session.last_checked.store(*id, Ordering::Release);
                server_session.beat();
            }
        }));
    }

    /// What is held, so that a node deleted behind its holder's back is noticed: all of it, or in turn if it is very much.
    /// One that only waits, if nothing is held.
    fn nodes_to_check(&self) -> Vec<(u64, OwnNode)> {
        let held: Vec<_> = lock(&self.tenants).keys().copied().collect();
        let interests = lock(&self.interests);
        let mut nodes: Vec<_> =
            held.iter().filter_map(|id| Some((*id, interests.get(id)?.clone()))).collect();
        if nodes.is_empty() {
            nodes.extend(interests.first_key_value().map(|(id, node)| (*id, node.clone())));
        }
        let carried = |nodes: &[(u64, OwnNode)]| {
            let mut bytes = self.measure.empty_multi();
            let fits = |(_, node): &&(u64, OwnNode)| {
                bytes += node.checks().map(|check| self.measure.part(&check)).sum::<usize>();
                bytes <= MOST_BYTES
            };
            // One is always looked at.
            nodes.iter().take(MOST_CHECKS).take_while(fits).count().max(1)
        };
        if carried(&nodes) < nodes.len() {
            let last = self.last_checked.load(Ordering::Acquire);
            let first = nodes.partition_point(|(id, _)| *id <= last);
            nodes.rotate_left(first);
            nodes.truncate(carried(&nodes));
            self.last_checked.store(nodes.last().map_or(0, |(id, _)| *id), Ordering::Release);
        }
        nodes
    }

    /// The heartbeat found the node of a tenant gone; a tenant that has let go itself is no longer registered.
    fn node_is_gone(&self, id: u64) -> bool {
        let tenant = {
            let tenants = lock(&self.tenants);
            let tenant = tenants.get(&id).and_then(Weak::upgrade);
            if tenant.is_none() {
                self.forget_node(id);
            }
            tenant
        };
        let Some(tenant) = tenant else { return false };
        if !tenant.lose(LostReason::Deleted) {
            // Its end is under way, and tells what was noted.
            self.forget_node(id);
            return true;
        }
        let mut tenants = lock(&self.tenants);
        // One that had let go may have passed its turn on meanwhile: who has it now is told next.
        if tenants.get(&id).is_some_and(|now| now.ptr_eq(&Arc::downgrade(&tenant))) {
            tenants.remove(&id);
            self.forget_node(id);
        }
        true
    }

    /// Looked at again, a node that is gone would keep the heartbeat from what stands behind it. Where nobody holds it this is called
    /// with the tenants locked: who is admitted later finds that out.
    fn forget_node(&self, id: u64) {
        lock(&self.interests).remove(&id);
    }

    /// False if there is none. Without it the node is asked for by its name alone.
    fn forget_guard(&self, id: u64, guard: &Write) -> bool {
        let mut interests = lock(&self.interests);
        let node = interests.get_mut(&id).filter(|node| node.guard.as_ref() == Some(guard));
        node.and_then(|node| node.guard.take()).is_some()
    }

    /// From now on something depends on `node`, and so on the session.
    pub(crate) fn interest(self: &Arc<Self>, node: &str) -> Interest {
        self.interest_guarded(node, None)
    }

    /// The same for a name that others use, too. While `guard` holds, it is our node that has it.
    pub(crate) fn interest_guarded(self: &Arc<Self>, node: &str, guard: Option<Write>) -> Interest {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let mut interests = lock(&self.interests);
        if interests.is_empty() {
            self.checked.store(self.clock.now().0, Ordering::Release);
        }
        interests.insert(id, OwnNode { path: node.to_owned(), guard });
        drop(interests);
        // As a rule the heart looks soon enough: to wake it for each acquisition would cost more than the beat.
        if lock(&self.lease).due(true).0 < self.planned.load(Ordering::Acquire) {
            self.interest_came.notify_one();
        }
        Interest { server_session: self.clone(), id }
    }

    /// As if another thread were at it.
    #[cfg(test)]
    pub(crate) fn lock_interests(&self) -> std::sync::MutexGuard<'_, BTreeMap<u64, OwnNode>> {
        lock(&self.interests)
    }

    // ---- what is held

    /// False if the node was found gone before, which nobody tells again.
    fn admit(self: &Arc<Self>, id: u64, tenant: Weak<dyn Tenant>) -> bool {
        lock(&self.tenants).insert(id, tenant);
        self.set_alarm();
        lock(&self.interests).contains_key(&id)
    }

    fn set_alarm(self: &Arc<Self>) {
        if self.alarm_is_set.swap(true, Ordering::AcqRel) {
            return;
        }
        let alarm = LeaseAlarm(Arc::downgrade(self));
        let end = self.certain_until();
        // First when it runs short, then when it runs out.
        let at = if self.is_low.load(Ordering::Acquire) { end } else { end - self.session_timeout() / 8 };
        self.clock.alarm(
            at,
            Box::new(move || {
                let Some(server_session) = alarm.0.upgrade() else { return };
                // The next may be set below.
                drop(alarm);
                let held = lock(&server_session.tenants).len();
                if held == 0 {
                    return;
                }
                let (now, end) = (server_session.clock.now(), server_session.certain_until());
                if now >= end {
                    server_session.lose_all(LostReason::Session);
                    return;
                }
                let is_short = now + server_session.session_timeout() / 8 >= end;
                if is_short
                    && !server_session.is_low.swap(true, Ordering::AcqRel)
                    && !server_session.has_ended()
                {
                    log::lease_low(server_session.session_id(), end.since(now), held);
                }
                server_session.set_alarm();
            }),
        );
    }

    /// Something held under this session is lost with it.
    pub(crate) fn loses_a_tenant(&self) {
        self.has_lost.store(true, Ordering::Release);
    }

    /// Whether anything is lost with the session, by now or as soon as that is told.
    pub(crate) fn has_lost_tenants(&self) -> bool {
        self.has_lost.load(Ordering::Acquire)
            || lock(&self.tenants).values().any(|tenant| tenant.strong_count() > 0)
    }

    /// Everything held under this session is gone.
    pub(crate) fn lose_all(&self, reason: LostReason) {
        let tenants: Vec<_> = std::mem::take(&mut *lock(&self.tenants)).into_values().collect();
        for tenant in tenants.iter().filter_map(Weak::upgrade) {
            // One that panics must not keep the news from the others.
            let told = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| tenant.lose(reason)));
            if told.is_err() {
                tracing::error!(target: "zkrecipes", event = "loss_panicked", "telling a loss panicked; the library goes on");
            }
        }
    }
}

/// The alarm of a lease, which may be dropped without a ring: then the next hold sets another one.
struct LeaseAlarm(Weak<ServerSession>);

impl Drop for LeaseAlarm {
    fn drop(&mut self) {
        if let Some(server_session) = self.0.upgrade() {
            server_session.alarm_is_set.store(false, Ordering::Release);
        }
    }
}

/// While it lives, the heart beats and checks the node it was made for.
pub(crate) struct Interest {
    server_session: Arc<ServerSession>,
    id: u64,
}

impl Interest {
    /// The dependent now holds: it is told when the session can no longer be certain, or the node is gone. False if that was found
    /// before.
    #[must_use]
    pub(crate) fn admit(&self, tenant: Weak<dyn Tenant>) -> bool {
        self.server_session.admit(self.id, tenant)
    }

    /// Whether no heartbeat has found the node gone.
    pub(crate) fn stands(&self) -> bool {
        lock(&self.server_session.interests).contains_key(&self.id)
    }
}

impl Drop for Interest {
    fn drop(&mut self) {
        if !self.server_session.process.is_present() {
            // A forked child: threads that stayed with the parent may have had the locks.
            return;
        }
        lock(&self.server_session.interests).remove(&self.id);
        lock(&self.server_session.tenants).remove(&self.id);
    }
}

#[cfg(test)]
mod tests;
