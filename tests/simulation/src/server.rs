//! The servers' end: the embedded state machines, one or an ensemble, paused, stopped, or interrupted in the middle of a request.

use std::collections::VecDeque;
use std::time::Duration;

use zkrecipes_embedded::machine::{Cluster, Config, Machine, Note, Now, Output};
use zkrecipes_embedded::wire::{Op, ReplyHead, Request, op_name, parse_request};

use crate::net::{ConnId, Down, Net, Up};
use crate::plan::{LOCK, Plan};
use crate::rng::Rng;
use crate::sim::{DAWN, Due, Instant, Sim, nanos};
use crate::tell;
use crate::wire::frames;
use crate::wire::names::short;

/// Connections of the hand that deletes nodes by force; clients count from one.
const ADMIN: ConnId = 1 << 32;

pub struct Server {
    cluster: Cluster,
    outputs: Vec<Output>,
    is_paused: bool,
    is_stopped: bool,
    /// What arrived during a pause, in order.
    backlog: VecDeque<(ConnId, Up)>,
    next_admin: ConnId,
    seen_zxid: i64,
    changes: Changes,
}

/// What became of the tree since the last look.
#[derive(Default, Debug)]
pub struct Changes {
    /// The contenders that stand now, if anything was written.
    pub contenders: Option<Vec<String>>,
    /// Nodes that somebody's hand took away, not their session's end or their owner.
    pub forced: Vec<String>,
    /// There is no node to queue under.
    pub is_parent_missing: bool,
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
        Server {
            cluster: Cluster::new(Machine::new(config), plan.members),
            outputs: Vec::new(),
            is_paused: false,
            is_stopped: false,
            backlog: VecDeque::new(),
            next_admin: ADMIN,
            seen_zxid: 0,
            changes: Changes::default(),
        }
    }

    pub fn next_tick(&self) -> Option<Instant> {
        if self.is_paused || self.is_stopped {
            return None;
        }
        self.cluster.next_deadline().map(|when| DAWN + nanos(when))
    }

    fn take_changes(&mut self) -> Changes {
        let leader = self.cluster.leader();
        if self.seen_zxid != leader.zxid() {
            self.seen_zxid = leader.zxid();
            let paths = leader.paths();
            self.changes.is_parent_missing = paths.binary_search(&LOCK.to_owned()).is_err();
            self.changes.contenders = Some(contenders(paths));
        }
        std::mem::take(&mut self.changes)
    }

    /// The nodes under the lock, in their order.
    pub fn contenders(&self) -> Vec<String> {
        contenders(self.cluster.leader().paths())
    }

    /// Watches on all members.
    pub fn watches(&self) -> usize {
        self.cluster.members().iter().map(Machine::watch_count).sum()
    }

    pub fn sessions(&self) -> usize {
        self.cluster.leader().sessions().len()
    }

    fn clock(&self, now: Instant) -> Now {
        let mono = Duration::from_nanos(now - DAWN);
        Now { mono, wall: 1_700_000_000_000 + mono.as_millis() as i64 }
    }
}

fn contenders(mut paths: Vec<String>) -> Vec<String> {
    paths.retain(|path| path.strip_prefix(LOCK).is_some_and(|rest| rest.starts_with('/')));
    paths.sort_by_key(|path| sequence(path));
    paths
}

/// The number the server put behind a contender's name.
fn sequence(path: &str) -> i64 {
    path.rsplit_once("-lock-").and_then(|(_, number)| number.parse().ok()).unwrap_or(i64::MAX)
}

impl Net {
    pub(super) fn at_server(&mut self, sim: &Sim, conn: ConnId, what: Up) {
        if self.server.is_paused {
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
            Up::Frame(frame) if self.conn(conn).is_some_and(|c| c.is_open) => {
                self.frame(sim, conn, &frame);
            }
            Up::Frame(_) => {}
        }
    }

    fn close(&mut self, conn: ConnId) {
        self.server.cluster.closed(conn);
        if let Some(c) = self.conn_mut(conn) {
            c.is_open = false;
        }
        self.sweep();
    }

    /// One request, unless a fault comes before, with or behind it.
    fn frame(&mut self, sim: &Sim, conn: ConnId, frame: &[u8]) {
        let op = match self.server.cluster.session_of(conn) {
            Some(_) => frame.get(4..8).map(|op| Op(i32::from_be_bytes([op[0], op[1], op[2], op[3]]))),
            None => Some(Op::CONNECT),
        };
        let op = op.unwrap_or(Op::CLOSE);
        let snare = sim.chance(|rng| Snare::draw(rng, &sim.plan, op));
        let is_calm = sim.ledger.is_calm();
        let snare = snare.filter(|_| !is_calm);
        if let Some(snare) = snare {
            sim.ledger.count_fault();
            tell!(sim, "c{conn} {snare:?} at {}", op_name(op));
        }
        if op == Op::CONNECT {
            tell!(sim, "c{conn} → connect to s{}", self.conn(conn).map_or(0, |c| c.member));
        } else if op != Op::PING {
            tell!(sim, "c{conn} → {}", describe(op, frame));
        }
        if matches!(snare, Some(Snare::BreakBefore)) {
            self.cut_unanswered(sim, conn);
            return self.close(conn);
        }
        let now = self.server.clock(sim.now());
        self.server.cluster.frame(conn, frame, now);
        self.server.cluster.settle();
        self.dispatch(sim, snare.filter(|snare| *snare == Snare::BreakAfter).map(|_| conn));
        match snare {
            Some(Snare::BreakAfter) => {
                self.cut_unanswered(sim, conn);
                self.close(conn);
            }
            Some(Snare::Force) => {
                let victims = self.server.contenders();
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
    }

    /// Sends on what the machine says; nothing to `mute`, whose connection is breaking.
    fn dispatch(&mut self, sim: &Sim, mute: Option<ConnId>) {
        let now = self.server.clock(sim.now());
        let mut outputs = std::mem::take(&mut self.server.outputs);
        self.server.cluster.drain_output_into(&mut outputs, now);
        // Only now, since it is the draining that carries what followers pass on to the leader.
        let changes = self.server.take_changes();
        sim.ledger.follow(sim, changes);
        for output in outputs.drain(..) {
            match output {
                Output::Send { conn, .. } | Output::Close { conn } if conn >= ADMIN || mute == Some(conn) => {
                }
                Output::Send { conn, frame, .. } => {
                    if ReplyHead::of(&frame).is_some_and(|head| head.xid == -1) {
                        let path = zkrecipes_embedded::wire::event_path(&frame);
                        tell!(sim, "c{conn} ← event {} {}", frames::event_name(&frame), short(&path));
                    }
                    self.send_down(sim, conn, Down::Frame(frame));
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
    }

    pub(super) fn let_time_pass(&mut self, sim: &Sim) {
        let now = self.server.clock(sim.now());
        self.server.cluster.tick(now);
        self.dispatch(sim, None);
    }

    // ---- faults of the server

    /// A pause as of a garbage collection: what arrives waits.
    pub fn pause(&mut self, sim: &Sim, until: Instant) {
        if !self.server.is_stopped && !self.server.is_paused {
            self.server.is_paused = true;
            sim.at(until, Due::ServerResumes);
        }
    }

    pub(super) fn resume(&mut self, sim: &Sim) {
        self.server.is_paused = false;
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
        if self.server.is_stopped || self.server.is_paused {
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
        self.server.cluster.isolate(member, now)
    }

    pub fn rejoin(&mut self, sim: &Sim, member: usize) {
        if self.server.cluster.heal(member) {
            tell!(sim, "s{member} is back with the leader");
            self.dispatch(sim, None);
        }
    }

    // ---- by force

    /// Somebody deletes a node that is not theirs.
    pub fn delete_by_force(&mut self, sim: &Sim, path: &str) {
        if self.server.is_paused || self.server.is_stopped {
            return;
        }
        tell!(sim, "{} deleted by force", short(path));
        let conn = self.server.next_admin;
        self.server.next_admin += 1;
        let now = self.server.clock(sim.now());
        let cluster = &mut self.server.cluster;
        cluster.open(conn, ([127, 0, 0, 1], 50_000).into(), 0);
        for frame in [frames::greeting(0, 4000, 0, &[0; 16]), frames::delete(1, path), frames::close(2)] {
            cluster.frame(conn, &frame, now);
        }
        cluster.closed(conn);
        self.server.changes.forced.push(path.to_owned());
        self.dispatch(sim, None);
    }

    /// The server gives a session up before its time; that is force to its nodes, too.
    pub fn expire_by_force(&mut self, sim: &Sim) {
        let sessions = self.server.cluster.leader().sessions();
        if sessions.is_empty() || self.server.is_paused || self.server.is_stopped {
            return;
        }
        let session = sim.chance(|rng| *rng.pick(&sessions));
        let before = self.server.contenders();
        tell!(sim, "session {:x} is ended by force", session & 0xffff);
        self.server.cluster.leader_mut().expire(session);
        let after = self.server.contenders();
        self.server.changes.forced.extend(before.into_iter().filter(|path| !after.contains(path)));
        self.dispatch(sim, None);
    }
}

/// A fault that lies in wait for a request.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
enum Snare {
    BreakBefore,
    BreakAfter,
    Force,
}

impl Snare {
    fn draw(rng: &mut Rng, plan: &Plan, op: Op) -> Option<Snare> {
        // Where a lost answer leaves most doubt, twice as often.
        let weight = if matches!(op, Op::CREATE2 | Op::DELETE) { 2 } else { 1 };
        if rng.one_in(plan.snares / weight) {
            return Some(if rng.one_in(3) { Snare::BreakBefore } else { Snare::BreakAfter });
        }
        rng.one_in(plan.forces).then_some(Snare::Force)
    }
}

fn describe(op: Op, frame: &[u8]) -> String {
    let name = op_name(op);
    match parse_request(op, frame.get(8..).unwrap_or_default()) {
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
