//! The servers' end: the embedded state machines, one or an ensemble, paused, stopped, or interrupted in the middle of a request.
//! Faults that hit one request are here: its answer is lost, the connection breaks, or the process ends before or after it.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use zkrecipes_embedded::machine::{Cluster, Config, Machine, Note, Now, Output};
use zkrecipes_embedded::wire::{
    Event, Op, Reader, ReplyHead, Request, RequestHead, XID_EVENT, frame_at, op_name, parse_request,
};

use crate::net::{ConnId, Down, Net, Up};
use crate::plan::Plan;
use crate::sim::{DAWN, Due, HostId, Instant, Sim, nanos};
use crate::snapshot::{Node, Snapshot};
use crate::snares::{Snare, Swallowed, ended_claim};
use crate::standing::{Contender, Standing};
use crate::subject::{Ground, PATH, Subject};
use crate::tell;
use crate::trace::short;

/// A server takes no packet that is not shorter.
const PACKET_LIMIT: usize = 1_048_575;

/// Connections of the hand that deletes nodes by force; clients count from one.
const ADMIN: ConnId = 1 << 32;

pub struct Server {
    pub(super) cluster: Cluster,
    /// When the servers' clock showed nothing.
    zero: Instant,
    /// How far it is ahead of what it should show, in milliseconds.
    pub(super) ahead: i64,
    outputs: Vec<Output>,
    is_paused: bool,
    is_stopped: bool,
    /// When, after the leader or everybody stood still, the next may do so.
    may_stall: Instant,
    /// When a host last asked whether its nodes stand.
    checked: BTreeMap<HostId, Instant>,
    /// Whose transactions break their connection instead of arriving.
    pub(super) swallowed: BTreeMap<HostId, Swallowed>,
    /// What arrived during a pause, in order.
    backlog: VecDeque<(ConnId, Up)>,
    pub(super) next_admin: ConnId,
    /// Where nobody may create anything for a while.
    pub(super) refused: Vec<String>,
    ground: Ground,
    is_followed: bool,
    is_mortal: bool,
    numbers_left: Option<i32>,
    seen_zxid: i64,
    nodes: Snapshot<NodeRole>,
    /// What is there, where that is followed.
    followed: Vec<Arc<Node>>,
    pub(super) standing: Arc<Standing>,
    /// Who was asked to go: the node says so only until its owner writes it again.
    asked: HashSet<String>,
    /// Which parents of contenders there were at the last look.
    parents: Vec<String>,
    /// How many nodes should not outlast the last worker.
    left: usize,
    /// When each of those was created that there ever were, the last of a name.
    named: HashMap<String, i64>,
    pub(super) changes: Changes,
}

/// What a node is to those who look at the tree.
#[derive(Debug)]
struct NodeRole {
    /// It should not outlast the last worker.
    is_left: bool,
    contender: Option<Arc<Contender>>,
}

/// What a leader does after a pause, and how soon: each is done by a thread of its own.
#[derive(Copy, Clone, Debug)]
pub struct Waking {
    /// When it hears from its followers who was there.
    pub asks: Duration,
    /// When it ends the sessions whose time is over; `None` for before anything else.
    pub ends: Option<Duration>,
}

/// What became of the tree since the last look.
#[derive(Default, Debug)]
pub struct Changes {
    /// Who stands now, if anything was written.
    pub standing: Option<Arc<Standing>>,
    /// Who stood before and does not now.
    pub gone: Vec<String>,
    /// Nodes that somebody's hand took away, not their session's end or their owner.
    pub forced: Vec<String>,
    /// There is a queue without a node for it.
    pub is_parent_missing: bool,
    /// New nodes that have the name of an earlier one.
    pub reused: u64,
}

impl Server {
    pub fn new(plan: &Plan) -> Server {
        let config = Config {
            tick: plan.tick,
            min_session_timeout: plan.tick * 2,
            max_session_timeout: plan.tick * 40,
            reap_every: plan.reap_every,
            ..Config::default()
        };
        let mut cluster = Cluster::new(Machine::new(config), plan.members);
        cluster.resume_leader(plan.clock + plan.asks, Duration::ZERO);
        Server {
            cluster,
            zero: DAWN - nanos(plan.clock),
            ahead: 0,
            outputs: Vec::new(),
            is_paused: false,
            is_stopped: false,
            may_stall: 0,
            checked: BTreeMap::new(),
            swallowed: BTreeMap::new(),
            backlog: VecDeque::new(),
            next_admin: ADMIN,
            refused: Vec::new(),
            ground: plan.ground(),
            is_followed: plan.subject.is_followed(),
            is_mortal: plan.subject.is_mortal(),
            numbers_left: plan.numbers_left,
            seen_zxid: 0,
            nodes: Snapshot::default(),
            followed: Vec::new(),
            standing: Arc::default(),
            asked: HashSet::new(),
            parents: Vec::new(),
            left: 0,
            named: HashMap::new(),
            changes: Changes::default(),
        }
    }

    pub fn next_tick(&self) -> Option<Instant> {
        if self.is_paused || self.is_stopped {
            return None;
        }
        self.cluster.next_deadline().map(|when| self.zero + nanos(when))
    }

    /// When the leader would end the first of the sessions.
    pub fn first_session_due(&self) -> Option<Instant> {
        self.cluster.leader().next_deadline().map(|when| self.zero + nanos(when))
    }

    /// When a host's last heartbeat with something to look at arrived.
    pub fn checked(&self, host: HostId) -> Option<Instant> {
        self.checked.get(&host).copied()
    }

    fn take_changes(&mut self) -> Changes {
        if self.seen_zxid != self.cluster.leader().zxid() {
            self.look();
        }
        std::mem::take(&mut self.changes)
    }

    fn look(&mut self) {
        let Server { cluster, ground, named, changes, .. } = self;
        let leader = cluster.leader();
        self.seen_zxid = leader.zxid();
        self.nodes.look(leader, |node| {
            let is_left = !node.is_unused && !ground.is_lasting(&node.path);
            match named.get_mut(&node.path).filter(|_| is_left) {
                Some(czxid) => {
                    changes.reused += u64::from(std::mem::replace(czxid, node.czxid) != node.czxid)
                }
                None if is_left => _ = named.insert(node.path.clone(), node.czxid),
                None => {}
            }
            NodeRole { is_left, contender: Contender::of(node, ground).map(Arc::new) }
        });
        let parents = ground.parents().filter(|parent| self.nodes.contains(parent));
        let parents: Vec<_> = parents.map(str::to_owned).collect();
        changes.is_parent_missing = parents.len() < ground.parents().count();
        self.left = self.nodes.iter().filter(|(_, role)| role.is_left).count();
        if self.is_followed {
            let nodes = self.nodes.iter().map(|(node, _)| node);
            self.followed = nodes.filter(|node| node.path.starts_with(PATH)).cloned().collect();
        }
        let contenders = self.nodes.iter().filter_map(|(_, role)| role.contender.clone());
        let standing = Arc::new(Standing::of(contenders));
        // Who was asked to go, and went while its session lives, may have been made to: only the owner knows better.
        for contender in self.standing.all().iter().filter(|contender| !standing.has(contender)) {
            if self.asked.contains(&contender.path) && leader.sessions().contains(&contender.session) {
                changes.forced.push(contender.path.clone());
            }
            changes.gone.push(contender.path.clone());
        }
        let asked = standing.all().iter().filter(|contender| contender.is_asked);
        self.asked.extend(asked.map(|contender| contender.path.clone()));
        self.changes.standing = Some(standing.clone());
        self.standing = standing;
        let known = std::mem::replace(&mut self.parents, parents);
        if let Some(left) = self.numbers_left {
            let fresh = self.parents.iter().filter(|parent| !known.contains(parent));
            for parent in fresh.filter(|parent| self.ground.queues.contains(parent)) {
                self.cluster.leader_mut().set_next_sequence(parent, i32::MAX - left);
            }
        }
    }

    /// Contenders, and whatever else a recipe should have taken away.
    pub fn leftovers(&self) -> Vec<&str> {
        let left = self.nodes.iter().filter(|(_, role)| role.is_left);
        left.map(|(node, _)| node.path.as_str()).collect()
    }

    /// How many of them there are.
    pub fn left(&self) -> usize {
        self.left
    }

    pub fn followed(&self) -> &[Arc<Node>] {
        &self.followed
    }

    /// The contenders in one of the queues, or the permits, in order; or whatever is followed.
    pub fn line(&self, sim: &Sim) -> Vec<String> {
        if self.is_followed {
            let victims = self.followed.iter().filter(|node| !self.is_mortal || node.session != 0);
            return victims.map(|node| node.path.clone()).collect();
        }
        let mut queues = self.standing.queues();
        if queues.is_empty() {
            return Vec::new();
        }
        let at = if queues.len() == 1 { 0 } else { sim.chance(|rng| rng.below(queues.len() as u64)) };
        queues.swap_remove(at as usize)
    }

    /// Watches on all members.
    pub fn watches(&self) -> usize {
        self.cluster.members().iter().map(Machine::watch_count).sum()
    }

    /// What is watched, on which member, and by which sessions.
    pub fn watched(&mut self) -> String {
        let mut all = String::new();
        for (at, member) in self.cluster.members_mut().iter_mut().enumerate() {
            member.open(ADMIN - 1, ([127, 0, 0, 1], 50_000).into());
            member.word(ADMIN - 1, *b"wchp");
            for output in member.take_output() {
                if let Output::Send { frame, .. } = output {
                    all += &format!(
                        "s{at}: {} ",
                        String::from_utf8_lossy(&frame).trim().replace("\n\t", " by ")
                    );
                }
            }
            member.closed(ADMIN - 1);
        }
        all
    }

    pub fn sessions(&self) -> usize {
        self.cluster.leader().sessions().len()
    }

    pub(super) fn clock(&self, now: Instant) -> Now {
        let mono = Duration::from_nanos(now - self.zero);
        Now { mono, wall: 1_700_000_000_000 + mono.as_millis() as i64 + self.ahead }
    }

    /// Nobody can do anything to it now.
    pub(super) fn is_away(&self) -> bool {
        self.is_paused || self.is_stopped || self.cluster.is_leader_paused()
    }
}

impl Net {
    pub(super) fn at_server(&mut self, sim: &Sim, conn: ConnId, what: Up) {
        let is_at_leader = self.conn(conn).is_some_and(|c| c.member == 0);
        if self.server.is_paused || self.server.cluster.is_leader_paused() && is_at_leader {
            return self.server.backlog.push_back((conn, what));
        }
        match what {
            Up::Syn if self.server.is_stopped => self.send_down(sim, conn, Down::Refused),
            Up::Syn => {
                let Some(member) = self.conn(conn).map(|c| c.member) else { return };
                let is_open = self.server.cluster.open(conn, ([127, 0, 0, 1], 40_000).into(), member);
                if let Some(c) = self.conn_mut(conn) {
                    c.is_open = is_open;
                }
                self.send_down(sim, conn, if is_open { Down::Connected } else { Down::Refused });
            }
            Up::Fin => self.close(conn),
            Up::Bytes(bytes) => self.read(sim, conn, &bytes),
        }
    }

    fn close(&mut self, conn: ConnId) {
        self.server.cluster.closed(conn);
        if let Some(c) = self.conn_mut(conn) {
            c.is_open = false;
        }
        self.sweep();
    }

    /// As many requests as have arrived whole.
    fn read(&mut self, sim: &Sim, conn: ConnId, bytes: &[u8]) {
        let Some(c) = self.conn_mut(conn) else { return };
        let mut begun = std::mem::take(&mut c.begun);
        begun.extend(bytes);
        let mut at = 0;
        while self.conn(conn).is_some_and(|c| c.is_open) {
            let Ok(whole) = frame_at(&begun[at..], PACKET_LIMIT) else {
                return sim.ledger.accuse(format!("c{conn} sends a packet that is too large"));
            };
            let Some((frame, taken)) = whole else { break };
            at += taken;
            sim.ledger.count(|tally| tally.bulky += u64::from(taken > PACKET_LIMIT / 2));
            self.frame(sim, conn, frame);
        }
        begun.drain(..at);
        if let Some(c) = self.conn_mut(conn).filter(|c| c.is_open) {
            c.begun = begun;
        }
    }

    /// One request, unless a fault comes before, with or behind it.
    fn frame(&mut self, sim: &Sim, conn: ConnId, frame: &[u8]) {
        let op = match self.server.cluster.session_of(conn) {
            Some(_) => RequestHead::split(frame).map_or(Op::CLOSE, |(head, _)| head.op),
            None => Op::CONNECT,
        };
        if op == Op::MULTI
            && let Some(host) = self.conn(conn).map(|conn| conn.host)
        {
            self.server.checked.insert(host, sim.now());
        }
        let snare = sim.chance(|rng| Snare::draw(rng, &sim.plan, op));
        let host = self.conn(conn).map(|conn| conn.host);
        let planned = host.filter(|_| op != Op::CONNECT && op != Op::PING);
        let planned = planned.and_then(|host| sim.ends_at_request(host)).map(Snare::crash);
        let is_calm = sim.ledger.is_calm();
        let is_stolen = op != Op::CONNECT && op != Op::PING && sim.chance(|rng| rng.one_in(sim.plan.thefts));
        let trouble = host.filter(|_| op != Op::CONNECT && op != Op::PING);
        let trouble = trouble.and_then(|host| Some((host, sim.trouble_at_request(host)?)));
        let session = self.server.cluster.session_of(conn);
        let planned = planned.or(trouble.and_then(|(_, kind)| Snare::of(kind)));
        let is_swallowed = op == Op::MULTI && host.is_some_and(|host| self.is_swallowed(sim, host, frame));
        let planned = planned.or(is_swallowed.then_some(Snare::BreakBefore));
        let ended = if sim.plan.doubts > 0 { ended_claim(op, frame) } else { None };
        let is_doubted = ended.is_some() && sim.chance(|rng| rng.one_in(sim.plan.doubts));
        let doubt = is_doubted.then(|| Snare::Doubt { is_applied: sim.chance(|rng| rng.one_in(2)) });
        let snare = planned.or(snare).or(is_stolen.then_some(Snare::Theft)).or(doubt).filter(|_| !is_calm);
        if let Some(snare) = snare {
            sim.ledger.count_fault();
            tell!(sim, "c{conn} {snare:?} at {}", op_name(op));
        }
        if op == Op::CONNECT {
            tell!(sim, "c{conn} → connect to s{}", self.conn(conn).map_or(0, |c| c.member));
        } else if op != Op::PING {
            tell!(sim, "c{conn} → {}", describe(op, frame));
        }
        let crashes = matches!(snare, Some(Snare::CrashBefore | Snare::CrashAfter));
        if let Some(host) = host.filter(|_| crashes) {
            sim.at(sim.now(), Due::Crash(host));
        }
        if snare == Some(Snare::Theft) {
            self.delete_one_of(sim, session);
            self.swallow(sim, host, false);
        }
        if matches!(snare, Some(Snare::Doubt { .. })) {
            sim.ledger.count(|tally| tally.doubts += 1);
            self.swallow(sim, host, true);
        }
        let is_before = matches!(
            snare,
            Some(Snare::BreakBefore | Snare::CrashBefore | Snare::Theft | Snare::Doubt { is_applied: false })
        );
        if is_before {
            self.cut_unanswered(sim, conn, &[]);
            self.close(conn);
            if let Some(claim) = ended.filter(|_| matches!(snare, Some(Snare::Doubt { .. }))) {
                self.take_away(sim, session, &claim);
            }
            return;
        }
        let now = self.server.clock(sim.now());
        self.server.cluster.frame(conn, frame, now);
        self.server.cluster.settle();
        let is_mute = matches!(snare, Some(Snare::BreakAfter | Snare::CrashAfter | Snare::Doubt { .. }));
        let unsaid = self.dispatch(sim, is_mute.then_some(conn));
        match snare {
            Some(Snare::BreakAfter | Snare::CrashAfter | Snare::Doubt { .. }) => {
                self.cut_unanswered(sim, conn, &unsaid);
                self.close(conn);
            }
            Some(Snare::Force) => {
                let victims = self.server.line(sim);
                // Who is first, who is next, or both at once, the later one first.
                let victims: Vec<_> = match sim.chance(|rng| rng.below(4)) {
                    0 => victims.into_iter().take(1).collect(),
                    1 => victims.into_iter().skip(1).take(1).collect(),
                    2 => victims.into_iter().take(2).rev().collect(),
                    _ => victims.into_iter().skip(1).take(2).rev().collect(),
                };
                for victim in victims {
                    self.delete_by_force(sim, &victim);
                }
            }
            _ => {}
        }
        if let Some((host, kind)) = trouble.filter(|_| !is_calm) {
            self.befall(sim, host, session, kind);
        }
        self.collect_containers(sim);
        self.make_containers(sim);
    }

    /// Sends on what the machine says; nothing to `mute`, whose connection is breaking: that is handed back.
    pub(super) fn dispatch(&mut self, sim: &Sim, mute: Option<ConnId>) -> Vec<u8> {
        let mut unsaid = Vec::new();
        let now = self.server.clock(sim.now());
        let mut outputs = std::mem::take(&mut self.server.outputs);
        self.server.cluster.drain_output_into(&mut outputs, now);
        // Only now, since it is the draining that carries what followers pass on to the leader.
        let changes = self.server.take_changes();
        if changes.standing.is_some() {
            let wrong = match sim.plan.subject {
                Subject::DoubleBarrier { .. } => sim.ledger.rounds.look(sim, &self.server.followed),
                Subject::Queue(_) => sim.ledger.items.look(sim, &self.server.followed),
                _ => None,
            };
            wrong.into_iter().for_each(|wrong| sim.ledger.accuse(wrong));
        }
        sim.ledger.follow(sim, changes);
        for output in outputs.drain(..) {
            match output {
                Output::Send { conn, frame, .. } if mute == Some(conn) => unsaid.extend(frame),
                Output::Send { conn, .. } | Output::Close { conn } if conn >= ADMIN || mute == Some(conn) => {
                }
                Output::Send { conn, frame, .. } => {
                    let mut r = Reader::new(&frame[4..]);
                    if ReplyHead::read(&mut r).is_ok_and(|head| head.xid == XID_EVENT)
                        && let Ok(Event { kind, path }) = Event::read(&mut r)
                    {
                        tell!(sim, "c{conn} ← event {kind:?} {}", short(&path));
                    }
                    self.send_down(sim, conn, Down::Bytes(frame));
                }
                Output::Close { conn } => {
                    self.send_down(sim, conn, Down::Fin);
                    self.close(conn);
                }
                Output::Note(Note::SessionOpened { session, conn, timeout }) => {
                    tell!(sim, "c{conn} session {:x} of {timeout:?}", session & 0xffff)
                }
                Output::Note(Note::SessionResumed { session, conn }) => {
                    tell!(sim, "c{conn} back in session {:x}", session & 0xffff)
                }
                Output::Note(Note::SessionExpired { session }) => {
                    tell!(sim, "session {:x} expired", session & 0xffff)
                }
                // Notes of no interest here, and what only a follower says.
                Output::Note(_) | Output::Forward(_) => {}
            }
        }
        self.server.outputs = outputs;
        unsaid
    }

    pub(super) fn let_time_pass(&mut self, sim: &Sim) {
        let now = self.server.clock(sim.now());
        self.server.cluster.tick(now);
        self.dispatch(sim, None);
    }

    // ---- faults of the server

    /// A pause as of a garbage collection: what arrives waits.
    pub fn pause(&mut self, sim: &Sim, until: Instant) {
        if !self.server.is_stopped && !self.server.is_paused && self.may_stall(sim) {
            self.server.is_paused = true;
            sim.at(until, Due::ServerResumes);
        }
    }

    /// The leader alone stands still: it asks its followers nothing, and they wait for its answers. Not for so long that
    /// they would give it up.
    pub fn pause_leader(&mut self, sim: &Sim, lapse: Duration) -> bool {
        let waking = sim.chance(|rng| Waking {
            asks: rng.duration(Duration::ZERO..=sim.plan.tick / 10),
            // What waits in line is worked off before sessions end, or behind them.
            ends: if rng.one_in(3) { None } else { Some(rng.duration(Duration::ZERO..=sim.plan.tick / 100)) },
        });
        self.pause_leader_until(sim, lapse, waking)
    }

    pub fn pause_leader_until(&mut self, sim: &Sim, lapse: Duration, waking: Waking) -> bool {
        let server = &mut self.server;
        let can = !server.is_stopped && !server.is_paused && !server.cluster.is_anyone_cut_off();
        if !can || !self.may_stall(sim) || lapse >= sim.plan.tick * 5 {
            return false;
        }
        self.server.cluster.pause_leader();
        sim.at(sim.now() + nanos(lapse), Due::LeaderResumes(waking));
        true
    }

    /// What the lease assumes: between two pauses the servers run for a third of a session timeout.
    fn may_stall(&self, sim: &Sim) -> bool {
        !self.server.cluster.is_leader_paused() && sim.now() >= self.server.may_stall
    }

    fn has_stalled(&mut self, sim: &Sim) {
        let (third, tardy) = (sim.plan.session_timeout / 3, sim.plan.tick / 10);
        self.server.may_stall = self.server.may_stall.max(sim.now() + nanos(third + tardy));
    }

    /// Awake again: its threads look at the clock, work off what came meanwhile, and ask the followers, in any order.
    pub(super) fn resume_leader(&mut self, sim: &Sim, waking: Waking) {
        tell!(sim, "the leader goes on with {} frames of its own, {waking:?}", self.server.backlog.len());
        let now = self.server.clock(sim.now()).mono;
        let ends = waking.ends.unwrap_or_default();
        self.server.cluster.resume_leader(now + waking.asks, now + ends);
        self.has_stalled(sim);
        if waking.ends.is_none() {
            self.server.cluster.end_sessions(self.server.clock(sim.now()));
        }
        self.dispatch(sim, None);
        while let Some((conn, what)) = self.server.backlog.pop_front() {
            self.at_server(sim, conn, what);
        }
    }

    pub(super) fn resume(&mut self, sim: &Sim) {
        self.server.is_paused = false;
        self.has_stalled(sim);
        tell!(sim, "the server goes on with {} frames", self.server.backlog.len());
        // Which of its threads runs first is open: sessions may end although their pings wait in line.
        if sim.chance(|rng| rng.one_in(2)) {
            self.let_time_pass(sim);
        }
        while let Some((conn, what)) = self.server.backlog.pop_front() {
            self.at_server(sim, conn, what);
        }
    }

    /// Stops it: connections break, sessions and nodes stay.
    pub fn stop(&mut self, sim: &Sim, until: Instant) {
        if self.server.is_stopped || self.server.is_paused || self.server.cluster.is_leader_paused() {
            return;
        }
        self.server.is_stopped = true;
        let now = self.server.clock(sim.now());
        self.server.cluster.restart(now);
        for conn in 0..sim.plan.hosts {
            for conn in self.of_host(conn) {
                self.cut(sim, conn);
                self.close(conn);
            }
        }
        sim.at(until, Due::ServerStarts);
    }

    pub(super) fn start(&mut self, sim: &Sim) {
        tell!(sim, "the server starts");
        sim.ledger.count(|tally| tally.elections += u64::from(sim.plan.members > 1));
        self.server.is_stopped = false;
        let now = self.server.clock(sim.now());
        self.server.cluster.restart(now);
    }

    /// A follower falls behind by so much.
    pub fn lag(&mut self, sim: &Sim, member: usize, lag: Duration) {
        let now = self.server.clock(sim.now());
        self.server.cluster.set_lag(member, lag, now);
        self.dispatch(sim, None);
    }

    /// A follower loses the leader, if a majority is left without it.
    pub fn isolate(&mut self, sim: &Sim, member: usize) -> bool {
        let now = self.server.clock(sim.now());
        self.may_stall(sim) && self.server.cluster.isolate(member, now)
    }

    pub fn rejoin(&mut self, sim: &Sim, member: usize) {
        if self.server.cluster.heal(member) {
            self.has_stalled(sim);
            tell!(sim, "s{member} is back with the leader");
            self.dispatch(sim, None);
        }
    }
}

fn describe(op: Op, frame: &[u8]) -> String {
    let name = op_name(op);
    let body = RequestHead::split(frame).map_or(&[][..], |(_, body)| body);
    match parse_request(op, body) {
        Ok(Request::SetWatches { lists, .. }) => {
            let paths: Vec<_> = lists.iter().flatten().map(|path| short(path)).collect();
            format!("{name} {}", paths.join(" "))
        }
        Ok(request) => {
            let paths: Vec<_> = request.paths().into_iter().map(short).collect();
            format!("{name} {}", paths.join(" "))
        }
        _ => name.to_owned(),
    }
}
