//! What passes through the proxy, and what faults make of it.

use super::PATIENCE;
use super::link::{FRAME_LIMIT, Link, Pending, learn};
use crate::faults::{Ask, Fate, Verdict};
use crate::log::Head;
use crate::machine::{refused, too_late};
use crate::shell::{Conn, Desk, FIRST_CONN, Got, HeldRequest, Shell, State};
use crate::wire::{Code, Op, Writer, event_path, frame_at, is_word, op_name};
use mio::net::TcpStream;
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

pub(super) struct World {
    pub desk: Desk,
    /// Passwords of the sessions that went by.
    pub passwords: BTreeMap<u64, Vec<u8>>,
    /// Sessions that are being ended: their clients' handshakes wait.
    ending: BTreeSet<u64>,
    upstream: SocketAddr,
    /// By the client's token, which is even; the server's is the next.
    links: BTreeMap<u64, Link>,
    next_token: u64,
    unread: BTreeSet<u64>,
    dirty: BTreeSet<u64>,
    holding: BTreeSet<u64>,
}

/// Which end of a link a token stands for.
fn link_of(token: u64) -> (u64, bool) {
    (token & !1, token & 1 == 0)
}

impl World {
    pub fn new(desk: Desk, upstream: SocketAddr) -> Self {
        World {
            desk,
            passwords: BTreeMap::new(),
            ending: BTreeSet::new(),
            upstream,
            links: BTreeMap::new(),
            next_token: FIRST_CONN,
            unread: BTreeSet::new(),
            dirty: BTreeSet::new(),
            holding: BTreeSet::new(),
        }
    }

    fn links_of(&self, session: u64) -> Vec<u64> {
        self.links.iter().filter(|(_, link)| link.session == session).map(|(id, _)| *id).collect()
    }

    /// Breaks a session's connections and lets none back in. False if somebody else is at it already.
    pub fn begin_ending(&mut self, session: u64) -> bool {
        let begins = self.ending.insert(session);
        if begins {
            self.links_of(session).into_iter().for_each(|id| self.drop_link(id));
        }
        begins
    }

    /// Lets the clients of a session have their handshakes answered.
    pub fn finish_ending(&mut self, session: u64) {
        self.ending.remove(&session);
        for id in self.links_of(session) {
            if let Some(link) = self.links.get_mut(&id) {
                link.client.held_in.iter_mut().for_each(|held| held.release = Duration::ZERO);
            }
        }
    }

    fn read(&mut self, token: u64) {
        let (id, from_client) = link_of(token);
        let Some(link) = self.links.get_mut(&id) else { return };
        if from_client && link.ending {
            return;
        }
        let (conn, other) =
            if from_client { (&mut link.client, &link.server) } else { (&mut link.server, &link.client) };
        if other.is_choked() {
            self.dirty.insert(id);
            return;
        }
        let got = conn.read(&mut self.desk.scratch);
        if from_client {
            self.read_client(id)
        } else {
            self.read_server(id)
        }
        match got {
            Got::All => {}
            Got::Some => _ = self.unread.insert(token),
            Got::End => self.lost_an_end(id, from_client),
        }
    }

    /// One side hung up: what it still had to say is delivered, then the other side goes too.
    fn lost_an_end(&mut self, id: u64, client: bool) {
        let Some(link) = self.links.get_mut(&id) else { return };
        if client {
            link.server.flush();
            self.drop_link(id);
        } else {
            link.client.closing = true;
            self.dirty.insert(id);
        }
    }

    fn read_client(&mut self, id: u64) {
        let Some(link) = self.links.get_mut(&id) else { return };
        let bytes = link.client.take_inbuf();
        let first = !link.client.greeted;
        if link.plain || (first && bytes.first_chunk().is_some_and(|word| is_word(*word))) {
            link.plain = true;
            link.client.greeted = true;
            link.server.enqueue(bytes, Duration::ZERO, Duration::ZERO);
            self.dirty.insert(id);
            return;
        }
        let mut at = 0;
        loop {
            let Ok(frame) = frame_at(&bytes[at..], FRAME_LIMIT) else { return self.drop_link(id) };
            let Some((_, taken)) = frame else { break };
            self.arrived(id, &bytes[at..at + taken]);
            at += taken;
        }
        if let Some(link) = self.links.get_mut(&id) {
            link.client.put_back(bytes, at);
        }
    }

    /// A request has come in; `frame` still carries its length.
    fn arrived(&mut self, id: u64, frame: &[u8]) {
        let Some(link) = self.links.get_mut(&id).filter(|l| !l.ending) else { return };
        let head = if std::mem::replace(&mut link.client.greeted, true) {
            Head::of_request(&frame[4..])
        } else {
            let (head, session) = Head::of_handshake(&frame[4..]);
            link.session = session;
            head
        };
        let now = self.desk.now();
        let ask = Ask { op: head.op, paths: &head.paths, parts: &head.parts, session: link.session };
        let mut verdict = self.desk.judge(id, ask, now);
        if self.ending.contains(&link.session) {
            verdict.delay_request = verdict.delay_request.max(PATIENCE);
        }
        let after = link.client.held_in.back().map(|h| h.release);
        if after.is_some() || !verdict.delay_request.is_zero() {
            let release = (now + verdict.delay_request).max(after.unwrap_or_default());
            link.client.held_in.push_back(HeldRequest { release, frame: frame.to_vec(), head, verdict });
            self.holding.insert(id);
            return;
        }
        self.pass_on(id, frame, head, verdict);
    }

    fn pass_on(&mut self, id: u64, frame: &[u8], head: Head, verdict: Verdict) {
        let Some(link) = self.links.get_mut(&id) else { return };
        let (xid, parts) = (head.xid, head.parts.len());
        let entry = head.into_entry(id, link.session, frame.len());
        self.dirty.insert(id);
        let mut pending =
            Pending { entry, delay_reply: verdict.delay_reply, drop_answer: false, made_up: None };
        match verdict.fate {
            Fate::Vanish => return self.desk.log.push(pending.entry),
            Fate::DropBefore => {
                // What was asked before is still answered.
                link.ending = true;
                return self.desk.log.push(pending.entry);
            }
            Fate::AnswerExpired => {
                pending.made_up = Some(match pending.entry.op == op_name(Op::CONNECT) {
                    true => too_late(&frame[4..]),
                    false => Writer::reply(xid, 0, Code::SessionExpired as i32).finish(),
                });
                link.pending.push_back(pending);
                return self.made_up_answers(id);
            }
            Fate::AnswerThrottled => {
                pending.made_up = Some(Writer::reply(xid, 0, Code::Throttled as i32).finish());
                link.pending.push_back(pending);
                return self.made_up_answers(id);
            }
            Fate::AnswerQuotaExceeded { part } => {
                pending.made_up = Some(refused(xid, 0, Code::QuotaExceeded, parts, part));
                link.pending.push_back(pending);
                return self.made_up_answers(id);
            }
            Fate::DropAfter => {
                pending.drop_answer = true;
                link.ending = true;
            }
            Fate::Pass => {}
        }
        link.pending.push_back(pending);
        link.server.enqueue(frame.to_vec(), Duration::ZERO, Duration::ZERO);
    }

    fn read_server(&mut self, id: u64) {
        let Some(link) = self.links.get_mut(&id) else { return };
        let bytes = link.server.take_inbuf();
        if link.plain {
            link.client.enqueue(bytes, Duration::ZERO, Duration::ZERO);
            self.dirty.insert(id);
            return;
        }
        let mut at = 0;
        loop {
            let Ok(frame) = frame_at(&bytes[at..], FRAME_LIMIT) else { return self.drop_link(id) };
            let Some((_, taken)) = frame else { break };
            self.answered(id, bytes[at..at + taken].to_vec());
            at += taken;
        }
        if let Some(link) = self.links.get_mut(&id) {
            link.server.put_back(bytes, at);
        }
    }

    /// A reply or an event has come from the server; `frame` still carries its length.
    fn answered(&mut self, id: u64, frame: Vec<u8>) {
        let Some(link) = self.links.get_mut(&id).filter(|l| !l.client.closing) else { return };
        self.dirty.insert(id);
        let now = self.desk.now();
        let vanishes = self.desk.vanishes(id, link.session, now);
        let Some(mut pending) = link.answered_by(&frame) else {
            let breaks = self.desk.rules.breaks_after_event(&event_path(&frame), link.session, now);
            if !vanishes {
                link.client.enqueue(frame, now, Duration::ZERO);
            }
            link.client.closing |= breaks;
            return;
        };
        if pending.entry.op == op_name(Op::CONNECT) {
            learn(&mut self.passwords, link, &frame);
            pending.entry.session_id = link.session;
        } else if pending.entry.op == op_name(Op::CLOSE) {
            self.passwords.remove(&link.session);
        }
        let delay = pending.delay_reply;
        let drop_answer = pending.drop_answer;
        self.desk.log.push(pending.entry);
        if drop_answer {
            link.client.closing = true;
            return;
        }
        if !vanishes {
            link.client.enqueue(frame, now, delay);
        }
        if !link.client.held_out.is_empty() {
            self.holding.insert(id);
        }
        self.made_up_answers(id);
    }

    fn made_up_answers(&mut self, id: u64) {
        let now = self.desk.now();
        let Some(link) = self.links.get_mut(&id) else { return };
        while let Some((pending, answer)) = link.next_made_up() {
            link.client.enqueue(answer, now, pending.delay_reply);
            // After a handshake that comes too late, there is nothing more to say.
            link.client.closing |= pending.entry.op == op_name(Op::CONNECT);
            self.desk.log.push(pending.entry);
        }
        if !link.client.held_out.is_empty() {
            self.holding.insert(id);
        }
    }

    fn release_held(&mut self) {
        let now = self.desk.now();
        for id in std::mem::take(&mut self.holding) {
            while let Some(link) = self.links.get_mut(&id) {
                if link.ending || link.client.held_in.front().is_none_or(|h| h.release > now) {
                    break;
                }
                let Some(held) = link.client.held_in.pop_front() else { break };
                self.pass_on(id, &held.frame, held.head, held.verdict);
            }
            if let Some(link) = self.links.get_mut(&id) {
                link.client.release_out(now);
                self.dirty.insert(id);
                if link.client.has_held() && !link.is_over() {
                    self.holding.insert(id);
                }
            }
        }
    }

    fn flush(&mut self) {
        for id in std::mem::take(&mut self.dirty) {
            let Some(link) = self.links.get_mut(&id) else { continue };
            let choked = (link.client.is_choked(), link.server.is_choked());
            let up = link.server.flush() & link.client.flush();
            if !up || link.is_over() {
                self.drop_link(id);
                continue;
            }
            if choked.0 && !link.client.is_choked() {
                self.unread.insert(id + 1);
            }
            if choked.1 && !link.server.is_choked() {
                self.unread.insert(id);
            }
            if !(self.desk.follow(&mut link.client, id) && self.desk.follow(&mut link.server, id + 1)) {
                self.drop_link(id);
            }
        }
    }

    fn drop_link(&mut self, id: u64) {
        if let Some(mut link) = self.links.remove(&id) {
            for conn in [&mut link.client, &mut link.server] {
                self.desk.hang_up(conn);
            }
            self.desk.forget(id);
            for set in [&mut self.dirty, &mut self.holding, &mut self.unread] {
                set.remove(&id);
                set.remove(&(id + 1));
            }
            // What was sent on and never answered may have been carried out.
            for pending in link.pending.drain(..).filter(|p| p.made_up.is_none()) {
                let mut entry = pending.entry;
                entry.outcome = crate::log::Outcome::Unanswered;
                self.desk.log.push(entry);
            }
        }
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
        while let Some((stream, ..)) = self.desk.accept() {
            let Ok(server) = TcpStream::connect(self.upstream) else { continue };
            let _ = server.set_nodelay(true);
            let id = self.next_token;
            self.next_token += 2;
            let mut link = Link::new(Conn::new(stream), Conn::new(server));
            let registered = self.desk.register(&mut link.client, id).and_then(|()| {
                // Writable tells when the connection is made.
                link.server.writable_wanted = true;
                self.desk.register_connecting(&mut link.server, id + 1)
            });
            if registered.is_ok() {
                self.links.insert(id, link);
            }
        }
    }

    fn ready(&mut self, token: u64, readable: bool) {
        if readable {
            self.unread.insert(token);
        }
        self.dirty.insert(link_of(token).0);
    }

    fn turn(&mut self) -> bool {
        if self.desk.state != State::Running {
            return false;
        }
        self.break_robbed();
        for token in std::mem::take(&mut self.unread) {
            self.read(token);
        }
        self.release_held();
        self.flush();
        !self.unread.is_empty()
    }

    fn sleep(&self) -> Option<Duration> {
        if self.desk.state != State::Running {
            return None;
        }
        let now = self.desk.now();
        let next = self.holding.iter().filter_map(|id| self.links.get(id)?.client.next_release()).min();
        let next = next.map(|release| release.saturating_sub(now));
        [next, self.desk.until_robbed()].into_iter().flatten().min().map(|d| d + Duration::from_millis(1))
    }

    fn drop_all_connections(&mut self) {
        for id in self.links.keys().copied().collect::<Vec<_>>() {
            self.drop_link(id);
        }
    }

    fn break_robbed(&mut self) {
        for id in self.desk.take_robbed() {
            self.drop_link(id);
        }
    }

    fn look_at_everything(&mut self) {
        for id in self.links.keys() {
            self.unread.extend([*id, *id + 1]);
            self.dirty.insert(*id);
        }
        self.accept();
    }

    fn sessions(&self) -> Vec<u64> {
        self.passwords.keys().copied().collect()
    }

    fn connections(&self) -> usize {
        self.links.len()
    }
}
