//! Everything the loop and the handles share: the machine, the connections, faults, log and clock. Requests arrive here:
//! one that is too long ends its connection, and faults are brought about before the machine sees it or after.

use super::clock::Clock;
use crate::faults::{Ask, Fate, Verdict};
use crate::log::{Head, LogEntry, Outcome};
use crate::machine::{Cluster, Kind, Output, refused, too_late};
use crate::shell::{Conn, Desk, FIRST_CONN, Got, HeldRequest, Shell, State};
use crate::wire::{Code, Op, Oversized, Writer, event_path, frame_at, is_word, op_name};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

pub(crate) struct World {
    pub desk: Desk,
    pub cluster: Cluster,
    pub clock: Clock,
    conns: BTreeMap<u64, Conn>,
    next_conn: u64,
    limits: Limits,
    /// Connections that have said nothing yet, in the order in which they came, with the time until when they may.
    silent: VecDeque<(Duration, u64)>,
    /// What all clients together have not read yet.
    unsent: usize,
    outputs: Vec<Output>,
    /// Connections with something to send or to finish.
    dirty: BTreeSet<u64>,
    /// Connections with requests or replies held back.
    holding: BTreeSet<u64>,
    /// Connections that may have more to read although the poll will not say so again.
    unread: BTreeSet<u64>,
}

/// What clients may ask for, however many they are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Frames of this many bytes or more are refused.
    pub frame: usize,
    pub connections: usize,
    /// How long a connection may say nothing before its handshake.
    pub handshake: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { frame: 1 << 20, connections: 10_000, handshake: Duration::from_secs(60) }
    }
}

/// A handshake has 45 bytes, or some more when a client has a longer password.
const LONGEST_HANDSHAKE: usize = 1 << 10;
/// When all clients together leave this much unread, the one whose reply comes next is dropped.
const MOST_UNSENT: usize = 256 << 20;

/// The request that outputs may answer.
pub(crate) struct Asked<'a> {
    conn: u64,
    verdict: Verdict,
    entry: Option<&'a mut LogEntry>,
}

fn outcome(fate: Fate) -> Outcome {
    if fate == Fate::DropAfter { Outcome::Unanswered } else { Outcome::Answered }
}

impl World {
    pub fn new(desk: Desk, cluster: Cluster, limits: Limits) -> Self {
        World {
            desk,
            cluster,
            clock: Clock::start(),
            conns: BTreeMap::new(),
            next_conn: FIRST_CONN,
            limits,
            silent: VecDeque::new(),
            unsent: 0,
            outputs: Vec::new(),
            dirty: BTreeSet::new(),
            holding: BTreeSet::new(),
            unread: BTreeSet::new(),
        }
    }

    /// Lets the session clock take effect.
    pub fn pass_time(&mut self) {
        let now = self.clock.now();
        if self.cluster.next_deadline().is_some_and(|t| t <= now.mono) {
            self.cluster.tick(now);
            self.dispatch(None);
        }
    }

    fn read(&mut self, id: u64) {
        let Some(conn) = self.conns.get_mut(&id) else { return };
        if conn.is_choked() {
            // Reading goes on once the client has taken what it asked for.
            self.dirty.insert(id);
            return;
        }
        match conn.read(&mut self.desk.scratch) {
            Got::All => self.frames(id),
            Got::Some => {
                self.frames(id);
                self.unread.insert(id);
            }
            Got::End => {
                self.frames(id);
                self.drop_connection(id);
            }
        }
    }

    /// Handles the whole frames that have arrived.
    fn frames(&mut self, id: u64) {
        let Some(conn) = self.conns.get_mut(&id) else { return };
        let inbuf = conn.take_inbuf();
        let mut at = 0;
        while let Some(prefix) = inbuf[at..].first_chunk::<4>() {
            // A choked client's requests wait: a few bytes can ask for a lot.
            let Some(conn) = self.conns.get(&id).filter(|c| !c.closing && !c.is_choked()) else { break };
            if !conn.greeted && is_word(*prefix) {
                self.cluster.word(id, *prefix);
                self.dispatch(None);
                break;
            }
            let limit =
                if conn.greeted { self.limits.frame } else { self.limits.frame.min(LONGEST_HANDSHAKE) };
            match frame_at(&inbuf[at..], limit) {
                Ok(Some((frame, taken))) => {
                    at += taken;
                    self.arrived(id, frame);
                }
                Ok(None) => break,
                Err(Oversized) => {
                    self.desk.say(|| format!("connection {id} closed: a frame beyond the limit"));
                    self.finish(id);
                    break;
                }
            }
        }
        self.cluster.settle();
        if let Some(conn) = self.conns.get_mut(&id) {
            if conn.closing { conn.put_back(Vec::new(), 0) } else { conn.put_back(inbuf, at) }
        }
    }

    /// A frame has come in: faults first, then the machine.
    fn arrived(&mut self, id: u64, frame: &[u8]) {
        let Some(conn) = self.conns.get_mut(&id) else { return };
        let handshake = !std::mem::replace(&mut conn.greeted, true);
        let (head, session) = match (handshake, self.desk.rules.is_empty() && !self.desk.log.wanted()) {
            (true, _) => Head::of_handshake(frame),
            (false, true) => (Head::default(), 0),
            (false, false) => (Head::of_request(frame), self.session_of(id)),
        };
        let now = self.desk.now();
        let verdict =
            self.desk.judge(id, Ask { op: head.op, paths: &head.paths, parts: &head.parts, session }, now);
        let Some(conn) = self.conns.get_mut(&id) else { return };
        let after = conn.held_in.back().map(|h| h.release);
        if after.is_some() || !verdict.delay_request.is_zero() {
            let release = (now + verdict.delay_request).max(after.unwrap_or_default());
            conn.held_in.push_back(HeldRequest { release, frame: frame.to_vec(), head, verdict });
            self.holding.insert(id);
            return;
        }
        self.handle(id, frame, head, verdict);
    }

    fn handle(&mut self, id: u64, frame: &[u8], head: Head, verdict: Verdict) {
        let (xid, handshake, parts) = (head.xid, head.op == op_name(Op::CONNECT), head.parts.len());
        let wanted = self.desk.log.wanted();
        let mut entry = wanted.then(|| head.into_entry(id, self.session_of(id), frame.len() + 4));
        match verdict.fate {
            Fate::Pass | Fate::DropAfter => {
                self.cluster.frame(id, frame, self.clock.now());
                if let Some(entry) = &mut entry {
                    entry.session_id = entry.session_id.max(self.session_of(id));
                    entry.answered(&[], outcome(verdict.fate));
                }
                self.dispatch(Some(Asked { conn: id, verdict, entry: entry.as_mut() }));
            }
            Fate::AnswerExpired => {
                let reply = if handshake {
                    too_late(frame)
                } else {
                    Writer::reply(xid, self.cluster.leader().zxid(), Code::SessionExpired as i32).finish()
                };
                entry.iter_mut().for_each(|e| e.answered(&reply, Outcome::Answered));
                self.enqueue(id, reply, verdict.delay_reply);
                if handshake {
                    self.finish(id);
                }
            }
            Fate::AnswerThrottled | Fate::AnswerQuotaExceeded { .. } => {
                let zxid = self.cluster.zxid_of(id);
                let reply = match verdict.fate {
                    Fate::AnswerQuotaExceeded { part } => {
                        refused(xid, zxid, Code::QuotaExceeded, parts, part)
                    }
                    _ => Writer::reply(xid, zxid, Code::Throttled as i32).finish(),
                };
                entry.iter_mut().for_each(|e| e.answered(&reply, Outcome::Answered));
                self.enqueue(id, reply, verdict.delay_reply);
            }
            Fate::DropBefore | Fate::Vanish => {}
        }
        entry.into_iter().for_each(|e| self.desk.log.push(e));
        if matches!(verdict.fate, Fate::DropBefore | Fate::DropAfter) {
            self.desk.say(|| format!("connection {id} broken by a fault"));
            self.finish(id);
        }
    }

    /// Carries out what the machines want, and notes the answer to what was asked.
    pub fn dispatch(&mut self, mut asked: Option<Asked>) {
        let mut outputs = std::mem::take(&mut self.outputs);
        self.cluster.drain_output_into(&mut outputs, self.clock.now());
        for output in outputs.drain(..) {
            match output {
                Output::Send { conn, kind, frame } => {
                    let own = asked.as_mut().filter(|a| a.conn == conn);
                    let mut delay = Duration::ZERO;
                    if let Some(asked) = own {
                        if kind != Kind::Event {
                            delay = asked.verdict.delay_reply;
                            asked
                                .entry
                                .iter_mut()
                                .for_each(|e| e.answered(&frame, outcome(asked.verdict.fate)));
                        }
                        if asked.verdict.fate == Fate::DropAfter {
                            continue;
                        }
                    }
                    if kind == Kind::Event {
                        self.send_event(conn, frame)
                    } else {
                        self.enqueue(conn, frame, delay)
                    }
                }
                Output::Close { conn } => self.finish(conn),
                // Those are between members, and stay there.
                Output::Forward(_) => {}
                Output::Note(note) => self.desk.say(|| super::notes::sentence(note)),
            }
        }
        self.outputs = outputs;
    }

    fn send_event(&mut self, id: u64, frame: Vec<u8>) {
        if self.desk.rules.is_empty() {
            return self.enqueue(id, frame, Duration::ZERO);
        }
        let path = event_path(&frame);
        let breaks = self.desk.rules.breaks_after_event(&path, self.session_of(id), self.desk.now());
        self.enqueue(id, frame, Duration::ZERO);
        if breaks {
            self.desk.say(|| format!("connection {id} broken by a fault after an event"));
            self.finish(id);
        }
    }

    fn enqueue(&mut self, id: u64, frame: Vec<u8>, delay: Duration) {
        let now = self.desk.now();
        let session = self.session_of(id);
        if self.desk.vanishes(id, session, now) {
            return;
        }
        let Some(conn) = self.conns.get_mut(&id).filter(|c| !c.closing) else { return };
        conn.enqueue(frame, now, delay);
        if !conn.held_out.is_empty() {
            self.holding.insert(id);
        }
        self.dirty.insert(id);
        self.count(id);
        if self.unsent > MOST_UNSENT {
            self.desk.say(|| format!("connection {id} closed: clients leave too much unread"));
            self.drop_connection(id);
        }
    }

    /// Counts what a connection has to send anew.
    fn count(&mut self, id: u64) {
        if let Some(conn) = self.conns.get_mut(&id) {
            let now = conn.waiting();
            self.unsent = self.unsent + now - std::mem::replace(&mut conn.counted, now);
        }
    }

    /// Closes connections that have said nothing for too long.
    fn end_silent(&mut self) {
        let now = self.desk.now();
        while let Some((until, id)) = self.silent.front().copied() {
            let is_silent = self.conns.get(&id).is_some_and(|conn| !conn.greeted);
            if is_silent && until > now {
                return;
            }
            self.silent.pop_front();
            if is_silent {
                self.desk.say(|| format!("connection {id} closed: it has said nothing"));
                self.drop_connection(id);
            }
        }
    }

    /// Closes a connection once what is queued has been sent.
    fn finish(&mut self, id: u64) {
        if let Some(conn) = self.conns.get_mut(&id) {
            conn.closing = true;
            conn.held_in.clear();
            self.dirty.insert(id);
            self.cluster.closed(id);
        }
    }

    fn release_held(&mut self) {
        let now = self.desk.now();
        for id in std::mem::take(&mut self.holding) {
            while let Some(conn) = self.conns.get_mut(&id) {
                if conn.held_in.front().is_none_or(|h| h.release > now) {
                    break;
                }
                let Some(held) = conn.held_in.pop_front() else { break };
                self.handle(id, &held.frame, held.head, held.verdict);
                self.cluster.settle();
            }
            if let Some(conn) = self.conns.get_mut(&id) {
                conn.release_out(now);
                self.dirty.insert(id);
                if conn.has_held() {
                    self.holding.insert(id);
                }
            }
        }
    }

    /// Sends what is queued and closes what is finished.
    pub fn flush(&mut self) {
        if self.desk.state != State::Running {
            return;
        }
        for id in std::mem::take(&mut self.dirty) {
            let Some(conn) = self.conns.get_mut(&id) else { continue };
            let choked = conn.is_choked();
            if !conn.flush() || (conn.closing && conn.is_drained()) {
                self.drop_connection(id);
                continue;
            }
            self.count(id);
            let Some(conn) = self.conns.get_mut(&id) else { continue };
            if choked && !conn.is_choked() {
                self.unread.insert(id);
            }
            if !self.desk.follow(conn, id) {
                self.drop_connection(id);
            }
        }
    }

    fn drop_connection(&mut self, id: u64) {
        if let Some(mut conn) = self.conns.remove(&id) {
            self.unsent -= conn.counted;
            self.desk.hang_up(&mut conn);
            self.desk.forget(id);
            self.cluster.closed(id);
            for set in [&mut self.dirty, &mut self.holding, &mut self.unread] {
                set.remove(&id);
            }
            self.desk.say(|| format!("connection {id} closed"));
        }
    }

    fn session_of(&self, id: u64) -> u64 {
        self.cluster.session_of(id).unwrap_or(0) as u64
    }
}

impl Shell for World {
    fn desk(&self) -> &Desk {
        &self.desk
    }

    fn desk_mut(&mut self) -> &mut Desk {
        &mut self.desk
    }

    fn accept(&mut self) {
        while let Some((stream, peer, member)) = self.desk.accept() {
            if self.conns.len() >= self.limits.connections {
                self.desk.say(|| format!("connection from {peer} closed: there are too many"));
                continue;
            }
            let id = self.next_conn;
            self.next_conn += 1;
            let mut conn = Conn::new(stream);
            if self.cluster.open(id, peer, member) && self.desk.register(&mut conn, id).is_ok() {
                self.conns.insert(id, conn);
                self.silent.push_back((self.desk.now() + self.limits.handshake, id));
                self.desk.say(|| format!("connection {id} from {peer}"));
            }
        }
    }

    fn ready(&mut self, id: u64, readable: bool) {
        if readable {
            self.unread.insert(id);
        }
        self.dirty.insert(id);
    }

    fn turn(&mut self) -> bool {
        if self.desk.state != State::Running {
            return false;
        }
        self.pass_time();
        self.break_robbed();
        self.end_silent();
        for id in std::mem::take(&mut self.unread) {
            self.read(id);
        }
        self.release_held();
        self.flush();
        !self.unread.is_empty()
    }

    fn sleep(&self) -> Option<Duration> {
        if self.desk.state != State::Running {
            return None;
        }
        let session = match self.clock.is_frozen() {
            true => None,
            false => self.cluster.next_deadline().map(|t| t.saturating_sub(self.clock.now().mono)),
        };
        let now = self.desk.now();
        let held = self.holding.iter().filter_map(|id| self.conns.get(id)?.next_release());
        let held = held.min().map(|t| t.saturating_sub(now));
        let silent = self.silent.front().map(|(until, _)| until.saturating_sub(now));
        // Polls count in whole milliseconds; rounding up keeps the loop from spinning through the last one.
        [session, held, silent, self.desk.until_robbed()]
            .into_iter()
            .flatten()
            .min()
            .map(|d| d + Duration::from_millis(1))
    }

    fn drop_all_connections(&mut self) {
        for id in self.conns.keys().copied().collect::<Vec<_>>() {
            self.drop_connection(id);
        }
    }

    fn break_robbed(&mut self) {
        for id in self.desk.take_robbed() {
            self.drop_connection(id);
        }
    }

    fn look_at_everything(&mut self) {
        self.pass_time();
        let all: Vec<u64> = self.conns.keys().copied().collect();
        self.unread.extend(&all);
        self.dirty.extend(&all);
        self.accept();
    }

    fn settle(&mut self) {
        self.dispatch(None);
        self.flush();
    }

    fn sessions(&self) -> Vec<u64> {
        self.cluster.leader().sessions().into_iter().map(|id| id as u64).collect()
    }

    fn connections(&self) -> usize {
        self.conns.len()
    }
}
