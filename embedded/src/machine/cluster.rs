//! Several machines as one ensemble: a leader, and followers that lag and can be cut off. Still without sockets.

use super::journal::{Commit, Forward};
use super::quorum::Before;
use super::{Config, ConnId, Machine, Now, Output, Time};
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// Ticks without the leader after which a follower sends its clients away.
const SYNC_LIMIT: u32 = 5;

/// What travels from the leader to a follower, in order.
#[derive(Debug)]
pub(super) enum Parcel {
    Commit(Arc<Commit>),
    Answer { conn: ConnId, outputs: Vec<Output> },
}

/// The way between the leader and one follower. The leader's own stays unused.
#[derive(Debug, Default)]
pub(super) struct Link {
    pub parcels: VecDeque<(Time, Parcel)>,
    pub to_leader: VecDeque<Forward>,
    lag: Duration,
    pub cut_since: Option<Time>,
    /// Cut off for too long: its clients are disconnected, and new ones are refused.
    pub lost: bool,
    pub stopped: bool,
}

/// One server, or an ensemble of them. Member 0 leads; the others follow.
///
/// Followers answer reads and pings by themselves, from what they have been told so far, and pass writes on. Every half
/// tick the leader asks them for their clients' signs of life; one that stands still asks nobody, ends no session, and
/// leaves what followers pass on in line. A follower that is cut off goes on like that for five ticks.
#[derive(Debug)]
pub struct Cluster {
    pub(super) members: Vec<Machine>,
    pub(super) links: Vec<Link>,
    home: HashMap<ConnId, usize>,
    tick: Duration,
    /// When the leader asks next.
    pub(super) next_relay: Time,
    is_leader_paused: bool,
    /// The leader ends no session before.
    ends_from: Time,
    pub(super) out: Vec<Output>,
    pub(super) reads_without_quorum: bool,
    pub(super) before: Option<Before>,
}

impl Cluster {
    /// `leader` goes on as the leader of `size` members, the followers starting from what it holds.
    pub fn new(leader: Machine, size: usize) -> Cluster {
        let config = leader.config.clone();
        let tick = config.tick;
        let saved = leader.save();
        let mut members = vec![leader];
        for _ in 1..size {
            let twin = Machine::load(config.clone(), &saved, Now::default());
            let mut follower = twin.unwrap_or_else(|_| Machine::new(Config::clone(&config)));
            follower.follow();
            members.push(follower);
        }
        if size > 1 {
            members[0].lead();
        }
        let links = members.iter().map(|_| Link::default()).collect();
        Cluster {
            members,
            links,
            home: HashMap::new(),
            tick,
            next_relay: Time::ZERO,
            is_leader_paused: false,
            ends_from: Time::ZERO,
            out: Vec::new(),
            reads_without_quorum: false,
            before: None,
        }
    }

    pub fn leader(&self) -> &Machine {
        &self.members[0]
    }

    pub fn leader_mut(&mut self) -> &mut Machine {
        &mut self.members[0]
    }

    pub fn members(&self) -> &[Machine] {
        &self.members
    }

    pub fn members_mut(&mut self) -> &mut [Machine] {
        &mut self.members
    }

    /// A client has connected to a member. False if that member takes nobody.
    pub fn open(&mut self, conn: ConnId, peer: SocketAddr, member: usize) -> bool {
        let served = self.has_quorum() || self.reads_without_quorum;
        let takes = served && self.links.get(member).is_some_and(|l| !l.lost);
        if takes {
            self.home.insert(conn, member);
            self.members[member].open(conn, peer);
        }
        takes
    }

    fn home_of(&mut self, conn: ConnId) -> Option<&mut Machine> {
        let member = self.home.get(&conn)?;
        self.members.get_mut(*member)
    }

    pub fn closed(&mut self, conn: ConnId) {
        if let Some(machine) = self.home_of(conn) {
            machine.closed(conn);
        }
        self.home.remove(&conn);
    }

    pub fn frame(&mut self, conn: ConnId, frame: &[u8], now: Now) {
        self.skip_idle_rounds(now);
        if let Some(machine) = self.home_of(conn) {
            machine.frame(conn, frame, now);
        }
    }

    /// The leader asks every half tick, also while nobody has anything to tell.
    fn skip_idle_rounds(&mut self, now: Now) {
        let mut reached =
            self.links.iter().zip(&self.members).skip(1).filter(|(link, _)| link.cut_since.is_none());
        let is_idle = !self.is_leader_paused && !reached.any(|(_, member)| member.has_touched());
        if is_idle && let Some(late) = now.mono.checked_sub(self.next_relay) {
            let rounds = late.as_nanos() / (self.tick / 2).as_nanos().max(1) + 1;
            self.next_relay += self.tick / 2 * u32::try_from(rounds).unwrap_or(u32::MAX);
        }
    }

    pub fn word(&mut self, conn: ConnId, word: [u8; 4]) {
        if let Some(machine) = self.home_of(conn) {
            machine.word(conn, word);
        }
    }

    pub fn session_of(&self, conn: ConnId) -> Option<i64> {
        self.members.get(*self.home.get(&conn)?)?.session_of(conn)
    }

    /// The last transaction that the member knows which a client is connected to.
    pub fn zxid_of(&self, conn: ConnId) -> i64 {
        let member = self.home.get(&conn).and_then(|member| self.members.get(*member));
        member.unwrap_or(&self.members[0]).zxid()
    }

    pub fn settle(&mut self) {
        self.members[0].settle();
    }

    /// Lets time pass, for sessions and on the ways between members.
    pub fn tick(&mut self, now: Now) {
        if now.mono >= self.next_relay && !self.is_leader_paused {
            self.next_relay = now.mono + self.tick / 2;
            for m in 1..self.members.len() {
                if self.links[m].cut_since.is_none() {
                    for (session, timeout) in self.members[m].take_touched() {
                        self.members[0].touch(session, timeout, now);
                    }
                }
            }
        }
        for m in 1..self.members.len() {
            let link = &mut self.links[m];
            if !link.lost && link.cut_since.is_some_and(|since| now.mono >= since + self.tick * SYNC_LIMIT) {
                link.lost = true;
                link.to_leader.clear();
                self.members[m].send_everybody_away();
            }
        }
        if !self.is_leader_paused && now.mono >= self.ends_from {
            self.members[0].tick(now);
        }
        self.carry(now);
    }

    pub fn next_deadline(&self) -> Option<Time> {
        let own = self.members[0].next_deadline().filter(|_| !self.is_leader_paused);
        let mut next = own.map(|due| due.max(self.ends_from));
        let mut at = |time: Option<Time>| next = [next, time].into_iter().flatten().min();
        for (link, member) in self.links.iter().zip(&self.members).skip(1) {
            match link.cut_since {
                Some(since) if !link.lost => at(Some(since + self.tick * SYNC_LIMIT)),
                Some(_) => {}
                None => {
                    at(link.parcels.front().map(|(due, _)| *due).filter(|due| *due < Time::MAX));
                    let is_asked = member.has_touched() && !self.is_leader_paused;
                    at(is_asked.then_some(self.next_relay));
                }
            }
        }
        next
    }

    /// What is to be sent and closed. Carries what is due between members first.
    pub fn drain_output_into(&mut self, into: &mut Vec<Output>, now: Now) {
        if self.members.len() == 1 {
            return self.members[0].drain_output_into(into);
        }
        self.carry(now);
        into.append(&mut self.out);
    }

    /// Moves requests to the leader and parcels to followers until nothing more is due.
    fn carry(&mut self, now: Now) {
        if self.members.len() == 1 {
            return;
        }
        loop {
            let mut moved = false;
            self.members[0].drain_output_into(&mut self.out);
            self.send_commits(now);
            for m in 1..self.members.len() {
                for output in self.members[m].take_output() {
                    match output {
                        Output::Forward(forward) => self.links[m].to_leader.push_back(forward),
                        other => self.out.push(other),
                    }
                }
                if self.links[m].cut_since.is_some() {
                    continue;
                }
                while !self.is_leader_paused
                    && let Some(forward) = self.links[m].to_leader.pop_front()
                {
                    moved = true;
                    let conn = forward.conn;
                    let outputs = self.members[0].forwarded(forward, now);
                    self.send_commits(now);
                    self.post(m, Parcel::Answer { conn, outputs }, now);
                }
                while let Some((_, parcel)) = self.links[m].parcels.pop_front_due(now.mono) {
                    moved = true;
                    match parcel {
                        Parcel::Commit(commit) => self.members[m].replay(&commit),
                        Parcel::Answer { conn, outputs } => self.members[m].answered(conn, outputs, now),
                    }
                }
            }
            if !moved {
                return;
            }
        }
    }

    fn send_commits(&mut self, now: Now) {
        for commit in self.members[0].take_journal() {
            let commit = Arc::new(commit);
            for m in 1..self.members.len() {
                self.post(m, Parcel::Commit(commit.clone()), now);
            }
        }
    }

    fn post(&mut self, m: usize, parcel: Parcel, now: Now) {
        let link = &mut self.links[m];
        let after = link.parcels.back().map_or(Time::ZERO, |(due, _)| *due);
        let due = now.mono.checked_add(link.lag).unwrap_or(Time::MAX).max(after);
        link.parcels.push_back((due, parcel));
    }

    /// How far a follower is behind; what is on its way is due anew. [`Duration::MAX`] holds everything back.
    pub fn set_lag(&mut self, m: usize, lag: Duration, now: Now) -> bool {
        let known = (1..self.members.len()).contains(&m);
        if known {
            self.links[m].lag = lag;
            let due = now.mono.checked_add(lag).unwrap_or(Time::MAX);
            self.links[m].parcels.iter_mut().for_each(|(at, _)| *at = due);
        }
        known
    }

    /// Cuts a follower off. Refused if the leader would be left without a majority.
    pub fn isolate(&mut self, m: usize, now: Now) -> bool {
        let cut = self.links.iter().filter(|l| l.cut_since.is_some()).count();
        let can = (1..self.members.len()).contains(&m) && (cut + 1) * 2 < self.members.len();
        if can && self.links[m].cut_since.is_none() {
            self.links[m].cut_since = Some(now.mono);
        }
        can
    }

    /// Brings a follower back: it learns what it missed.
    pub fn heal(&mut self, m: usize) -> bool {
        let Some(link) = self.links.get_mut(m).filter(|l| l.cut_since.is_some() && !l.stopped) else {
            return false;
        };
        (link.cut_since, link.lost) = (None, false);
        // What the leader asked meanwhile arrives first.
        self.next_relay = Time::ZERO;
        true
    }

    /// The leader stands still, and nobody notices: its followers go on, its own clients hear nothing. The caller of
    /// this keeps what its clients send until it goes on.
    pub fn pause_leader(&mut self) {
        self.is_leader_paused = true;
    }

    /// The leader goes on, with everything that waits for it. It hears from its followers at `asks`, and ends sessions from
    /// `ends` on: each is done by a thread of its own.
    pub fn resume_leader(&mut self, asks: Time, ends: Time) {
        self.is_leader_paused = false;
        (self.next_relay, self.ends_from) = (asks, ends);
    }

    /// The leader ends the sessions whose time is over, before it looks at anything that waits for it.
    pub fn end_sessions(&mut self, now: Now) {
        self.members[0].tick(now);
    }

    /// Whether some follower is cut off.
    pub fn is_anyone_cut_off(&self) -> bool {
        self.links.iter().any(|link| link.cut_since.is_some())
    }

    pub fn is_leader_paused(&self) -> bool {
        self.is_leader_paused
    }

    /// All members stopped and started again.
    pub fn restart(&mut self, now: Now) {
        self.home.clear();
        for member in &mut self.members {
            member.restart(now);
        }
        for link in &mut self.links {
            link.to_leader.clear();
        }
        self.carry(now);
    }

    /// Forgets everything, on all members.
    pub fn lose_state(&mut self) {
        let next = self.members[0].next_session_id();
        for member in &mut self.members {
            member.lose_state(next);
        }
        for link in &mut self.links {
            let (stopped, cut_since) = (link.stopped, link.cut_since.filter(|_| link.stopped));
            *link = Link { lag: link.lag, stopped, cut_since, lost: stopped, ..Link::default() };
        }
        self.lose_quorum_again();
    }
}

trait PopDue {
    fn pop_front_due(&mut self, now: Time) -> Option<(Time, Parcel)>;
}

impl PopDue for VecDeque<(Time, Parcel)> {
    fn pop_front_due(&mut self, now: Time) -> Option<(Time, Parcel)> {
        if self.front().is_some_and(|(due, _)| *due <= now) { self.pop_front() } else { None }
    }
}
