//! The network: connections as two queues each, in which nothing overtakes, and everything can get stuck or lost.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Weak};
use std::time::Duration;

use crate::plan::Plan;
use crate::server::{Server, Waking};
use crate::sim::{Due, HostId, Instant, Sim, nanos};
use crate::tell;
use crate::wire::io::Io;

pub type ConnId = u64;

/// On its way to the server.
#[derive(Debug)]
pub enum Up {
    Syn,
    Bytes(Vec<u8>),
    Fin,
}

/// On its way to a client.
#[derive(Debug)]
pub enum Down {
    Connected,
    Refused,
    Bytes(Vec<u8>),
    Fin,
}

pub struct Conn {
    pub host: HostId,
    /// The server it leads to.
    pub member: usize,
    client: Weak<Io>,
    up: Lane<Up>,
    down: Lane<Down>,
    /// What of a frame has arrived at the server.
    pub begun: Vec<u8>,
    /// The server's machine knows of it.
    pub is_open: bool,
}

/// One direction.
struct Lane<T> {
    under_way: VecDeque<(Instant, T)>,
    last_arrival: Instant,
    /// Nothing that is sent any more arrives.
    is_cut: bool,
}

impl<T> Default for Lane<T> {
    fn default() -> Self {
        Lane { under_way: VecDeque::new(), last_arrival: 0, is_cut: false }
    }
}

impl<T> Lane<T> {
    fn send(&mut self, arrival: Instant, what: T) -> Option<Instant> {
        if self.is_cut {
            return None;
        }
        self.last_arrival = self.last_arrival.max(arrival);
        self.under_way.push_back((self.last_arrival, what));
        Some(self.last_arrival)
    }

    /// What was sent arrives only in part, then `end`, then nothing.
    fn cut(&mut self, keep: usize, arrival: Instant, end: Option<T>) -> Option<Instant> {
        self.under_way.truncate(keep);
        let arrival = end.and_then(|end| self.send(arrival, end));
        self.is_cut = true;
        arrival
    }
}

/// How the network treats one host.
#[derive(Default)]
struct Path {
    /// What is sent to the server stays under way at least until then: a partition, as TCP shows it.
    stuck_up: Instant,
    stuck_down: Instant,
    /// Everything takes this many times as long until then.
    slow: (u64, Instant),
}

pub struct Net {
    conns: BTreeMap<ConnId, Conn>,
    next: ConnId,
    paths: Vec<Path>,
    pub server: Server,
}

impl Net {
    pub fn new(plan: &Plan) -> Net {
        Net {
            conns: BTreeMap::new(),
            next: 1,
            paths: (0..plan.hosts).map(|_| Path::default()).collect(),
            server: Server::new(plan),
        }
    }

    pub fn conn(&self, conn: ConnId) -> Option<&Conn> {
        self.conns.get(&conn)
    }

    pub fn conn_mut(&mut self, conn: ConnId) -> Option<&mut Conn> {
        self.conns.get_mut(&conn)
    }

    pub fn next_tick(&self) -> Option<Instant> {
        self.server.next_tick()
    }

    // ---- from clients

    pub fn connect(sim: &Sim, host: HostId, member: usize, client: Weak<Io>) -> ConnId {
        let net = &mut *sim.net.lock();
        let conn = net.next;
        net.next += 1;
        let (up, down) = (Lane::default(), Lane::default());
        let fresh = Conn { host, member, client, up, down, begun: Vec::new(), is_open: false };
        net.conns.insert(conn, fresh);
        net.send_up(sim, conn, Up::Syn);
        conn
    }

    pub fn send(sim: &Sim, conn: ConnId, bytes: Vec<u8>) {
        sim.net.lock().send_up(sim, conn, Up::Bytes(bytes));
    }

    /// The client has closed its end. What it sent before still arrives.
    pub fn hang_up(sim: &Sim, conn: ConnId) {
        let mut net = sim.net.lock();
        net.send_up(sim, conn, Up::Fin);
        if let Some(conn) = net.conns.get_mut(&conn) {
            conn.client = Weak::new();
            conn.up.is_cut = true;
        }
    }

    fn send_up(&mut self, sim: &Sim, conn: ConnId, what: Up) {
        let Some(c) = self.conns.get_mut(&conn) else { return };
        let arrival = latency(sim, &self.paths[c.host]).max(self.paths[c.host].stuck_up);
        if let Some(arrival) = c.up.send(arrival, what) {
            sim.at(arrival, Due::Up(conn));
        }
    }

    pub fn send_down(&mut self, sim: &Sim, conn: ConnId, what: Down) {
        let Some(c) = self.conns.get_mut(&conn) else { return };
        // Servers may be slow to take connections, and a client may have gone on to another one meanwhile.
        let is_late = matches!(what, Down::Connected) && !sim.ledger.is_calm();
        let late = sim.chance(|rng| match is_late && rng.one_in(8) {
            true => nanos(rng.duration(Duration::ZERO..=sim.plan.session_timeout)),
            false => 0,
        });
        let arrival = late + latency(sim, &self.paths[c.host]).max(self.paths[c.host].stuck_down);
        if let Some(arrival) = c.down.send(arrival, what) {
            sim.at(arrival, Due::Down(conn));
        }
    }

    // ---- arrivals

    pub fn arrive_at_server(sim: &Arc<Sim>, conn: ConnId) {
        loop {
            let mut net = sim.net.lock();
            let Some(c) = net.conns.get_mut(&conn) else { return };
            if c.up.under_way.front().is_none_or(|(when, _)| *when > sim.now()) {
                return;
            }
            let Some((_, what)) = c.up.under_way.pop_front() else { return };
            net.at_server(sim, conn, what);
        }
    }

    pub fn arrive_at_client(sim: &Arc<Sim>, conn: ConnId) {
        loop {
            let mut net = sim.net.lock();
            let Some(c) = net.conns.get_mut(&conn) else { return };
            if c.down.under_way.front().is_none_or(|(when, _)| *when > sim.now()) {
                return;
            }
            let Some((_, what)) = c.down.under_way.pop_front() else { return };
            let client = c.client.upgrade();
            drop(net);
            if let Some(client) = client {
                client.arrived(conn, what);
            }
        }
    }

    pub fn tick(sim: &Arc<Sim>) {
        sim.net.lock().let_time_pass(sim);
    }

    pub fn resume_server(sim: &Arc<Sim>) {
        sim.net.lock().resume(sim);
    }

    pub fn wake_leader(sim: &Arc<Sim>, waking: Waking) {
        sim.net.lock().resume_leader(sim, waking);
    }

    pub fn start_server(sim: &Arc<Sim>) {
        sim.net.lock().start(sim);
    }

    // ---- faults

    /// The connection breaks: of what is under way, some arrives, at last perhaps a part of a frame, then both ends learn of it, or only the client does, and
    /// the server closes it after a session timeout without a word.
    pub fn cut(&mut self, sim: &Sim, conn: ConnId) {
        let Some(c) = self.conns.get_mut(&conn) else { return };
        let now = sim.now();
        let (keep_up, keep_down, mut after_up, after_down, half_open) = sim.chance(|rng| {
            let (up, down) = (c.up.under_way.len() as u64, c.down.under_way.len() as u64);
            (
                rng.number(0..=up) as usize,
                rng.number(0..=down) as usize,
                now + rng.below(50_000_000),
                now + rng.below(20_000_000),
                rng.one_in(4),
            )
        });
        tell!(sim, "h{} c{conn} cut, {keep_up} up and {keep_down} down still arrive", c.host);
        if half_open {
            after_up = now + nanos(sim.plan.session_timeout);
        }
        if let Some((when, Down::Bytes(bytes))) = c.down.under_way.get_mut(keep_down) {
            let kept = sim.chance(|rng| rng.below(bytes.len() as u64));
            let torn = (*when, Down::Bytes(bytes[..kept as usize].to_vec()));
            c.down.under_way.truncate(keep_down);
            if kept > 0 {
                c.down.under_way.push_back(torn);
            }
        }
        if let Some(arrival) = c.up.cut(keep_up, after_up, Some(Up::Fin)) {
            sim.at(arrival, Due::Up(conn));
        }
        if let Some(arrival) = c.down.cut(keep_down + 1, after_down, Some(Down::Fin)) {
            sim.at(arrival, Due::Down(conn));
        }
    }

    /// The answer to what the server has just handled does not get out, or only a part of it, and the connection breaks.
    pub fn cut_unanswered(&mut self, sim: &Sim, conn: ConnId, answer: &[u8]) {
        let kept = sim.chance(|rng| rng.below(answer.len().max(1) as u64));
        if kept > 0 {
            self.send_down(sim, conn, Down::Bytes(answer[..kept as usize].to_vec()));
        }
        if let Some(c) = self.conns.get_mut(&conn) {
            let keep = c.down.under_way.len();
            let soon = sim.now() + sim.chance(|rng| rng.below(5_000_000));
            if let Some(arrival) = c.down.cut(keep, soon, Some(Down::Fin)) {
                sim.at(arrival, Due::Down(conn));
            }
            (c.up.under_way, c.begun) = (VecDeque::new(), Vec::new());
            c.up.is_cut = true;
        }
    }

    /// Nobody is left at a host's end of its connections. The server learns of it soon, or by itself.
    pub fn abandon(&mut self, sim: &Sim, host: HostId) {
        for conn in self.of_host(host) {
            self.cut(sim, conn);
            if let Some(c) = self.conns.get_mut(&conn) {
                c.client = Weak::new();
            }
        }
    }

    /// The connections of a host that still lead somewhere.
    pub fn of_host(&self, host: HostId) -> Vec<ConnId> {
        let all = self.conns.iter();
        all.filter(|(_, c)| c.host == host && !(c.up.is_cut && c.down.is_cut)).map(|(id, _)| *id).collect()
    }

    pub fn stick(&mut self, host: HostId, up: Option<Instant>, down: Option<Instant>) {
        let path = &mut self.paths[host];
        path.stuck_up = up.unwrap_or(path.stuck_up);
        path.stuck_down = down.unwrap_or(path.stuck_down);
    }

    pub fn slow(&mut self, host: HostId, times: u64, until: Instant) {
        self.paths[host].slow = (times, until);
    }

    pub fn heal(&mut self, now: Instant) {
        for path in &mut self.paths {
            path.stuck_up = path.stuck_up.min(now);
            path.stuck_down = path.stuck_down.min(now);
            path.slow.1 = now;
        }
    }

    /// Connections that neither end knows any more are forgotten.
    pub fn sweep(&mut self) {
        self.conns.retain(|_, c| {
            let is_empty = c.up.under_way.is_empty() && c.down.under_way.is_empty();
            c.is_open || c.client.strong_count() > 0 || !is_empty
        });
    }
}

/// So many times as long takes a message that gets stuck.
pub const SPIKE: u32 = 20;

fn latency(sim: &Sim, path: &Path) -> Instant {
    let now = sim.now();
    let times = if path.slow.1 > now { path.slow.0 } else { 1 };
    let latency = sim.chance(|rng| {
        let usual = rng.duration(sim.plan.latency.clone());
        if rng.one_in(sim.plan.spikes) { usual * SPIKE } else { usual }
    });
    now + nanos(latency) * times
}
