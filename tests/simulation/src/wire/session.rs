//! The state of a session's client end, and one turn of the task that tends it. The order of things is
//! zookeeper-client's: the state changes before what was in flight fails, and before anything is sent again.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::oneshot;
use zkrecipes::session::wire::{Event, Link, LinkState, WireError};
use zkrecipes_embedded::wire::{Op, Reader, ReplyHead, XID_EVENT, XID_PING, event_path};

use super::frames;
use super::names::short;
use super::transport::{Times, Transport, removal};
use super::watches::{Watches, Wish};
use crate::net::{ConnId, Down, Net};
use crate::sim::{HostId, Instant, Sim};
use crate::tell;

/// What comes back for a request.
pub struct Reply {
    pub body: Vec<u8>,
    pub watch: Option<(u64, oneshot::Receiver<Event>)>,
}

pub type Answer = Box<dyn FnOnce(Result<Reply, WireError>) + Send>;

pub struct Operation {
    pub frame: Vec<u8>,
    /// Sets a watch when it succeeds.
    pub watch: Option<Wish>,
    /// `None` for what the transport asks on its own account.
    pub answer: Option<Answer>,
}

impl Operation {
    pub fn fail(self, error: WireError) {
        if let Some(answer) = self.answer {
            answer(Err(error));
        }
    }
}

/// What is seen outside, after the state is free again.
pub enum Effect {
    LinkChanged,
    Run(Box<dyn FnOnce() + Send>),
}

enum Asked {
    Operation(Operation),
    ForgetWatch(u64),
}

#[derive(Debug, PartialEq, Eq)]
enum Phase {
    /// Before the next attempt to connect.
    Resting {
        until: Instant,
    },
    /// No connection yet.
    Dialling {
        since: Instant,
    },
    /// Connected, but what is sent first is not answered yet; requests wait.
    Greeting {
        has_pinged: bool,
    },
    Serving {
        is_halted: bool,
    },
    Ended,
}

pub struct State {
    sim: Arc<Sim>,
    host: HostId,
    me: Weak<Transport>,
    pub link: Link,
    pub is_closing: bool,
    phase: Phase,
    conn: Option<ConnId>,
    attempts: u32,
    /// Of the attempts in progress, after which the session is given up.
    deadline: Instant,
    opened: Option<oneshot::Sender<Result<Arc<Transport>, WireError>>>,
    id: i64,
    password: Vec<u8>,
    timeout: Duration,
    times: Times,
    last_zxid: i64,
    last_heard: Instant,
    last_sent: Instant,
    is_pinging: bool,
    tick_at: Instant,
    next_xid: i32,
    inbox: VecDeque<Down>,
    asked: VecDeque<Asked>,
    in_flight: BTreeMap<i32, Operation>,
    /// Requests of the core that were not answered: each keeps the session open.
    unanswered: usize,
    watches: Watches,
}

const SET_WATCHES_XID: i32 = -8;

impl State {
    pub fn new(
        sim: Arc<Sim>,
        host: HostId,
        me: Weak<Transport>,
        timeout: Duration,
        now: Instant,
        opened: oneshot::Sender<Result<Arc<Transport>, WireError>>,
    ) -> State {
        let times = Times::of(timeout);
        State {
            sim,
            host,
            me,
            link: Link { generation: 0, state: LinkState::Down },
            is_closing: false,
            phase: Phase::Resting { until: now },
            conn: None,
            attempts: 0,
            deadline: now + times.session,
            opened: Some(opened),
            id: 0,
            password: vec![0; 16],
            timeout,
            times,
            last_zxid: 0,
            last_heard: now,
            last_sent: now,
            is_pinging: false,
            tick_at: now,
            next_xid: 0,
            inbox: VecDeque::new(),
            asked: VecDeque::new(),
            in_flight: BTreeMap::new(),
            unanswered: 0,
            watches: Watches::default(),
        }
    }

    pub fn session(&self) -> (i64, Duration) {
        (self.id, self.timeout)
    }

    pub fn arrived(&mut self, conn: ConnId, what: Down) {
        if self.conn == Some(conn) {
            self.inbox.push_back(what);
        }
    }

    /// Queues a request; gives it back when the session takes none any more.
    pub fn submit(&mut self, operation: Operation) -> Option<Operation> {
        if self.is_closing || self.phase == Phase::Ended {
            return Some(operation);
        }
        self.unanswered += 1;
        self.asked.push_back(Asked::Operation(operation));
        None
    }

    pub fn forget_watch(&mut self, id: u64) {
        if self.phase != Phase::Ended && !(self.is_closing && self.unanswered == 0) {
            self.asked.push_back(Asked::ForgetWatch(id));
        }
    }

    /// When there may be something to do although nothing arrives; `None` when the session has ended.
    pub fn next_tick(&self) -> Option<Instant> {
        match self.phase {
            Phase::Resting { until } => Some(until),
            Phase::Dialling { since } => Some((since + self.times.silence).min(self.deadline.max(since + 1))),
            Phase::Greeting { .. } | Phase::Serving { .. } => Some(self.tick_at),
            Phase::Ended => None,
        }
    }

    /// One piece of work; false when there is none.
    pub fn turn(&mut self, now: Instant, effects: &mut Vec<Effect>) -> bool {
        match self.phase {
            Phase::Ended => false,
            Phase::Resting { until } if until > now => false,
            Phase::Resting { .. } => {
                self.conn = Some(Net::connect(&self.sim, self.host, self.me.clone()));
                self.inbox.clear();
                self.phase = Phase::Dialling { since: now };
                true
            }
            Phase::Dialling { since } => match self.inbox.pop_front() {
                Some(Down::Connected) => {
                    self.greet(now, effects);
                    true
                }
                Some(_) => {
                    self.attempt_failed(now, effects);
                    true
                }
                None if now >= self.deadline || now >= since + self.times.silence => {
                    self.attempt_failed(now, effects);
                    true
                }
                None => false,
            },
            Phase::Greeting { .. } | Phase::Serving { .. } => self.serve(now, effects),
        }
    }

    // ---- connecting

    fn hang_up(&mut self) {
        if let Some(conn) = self.conn.take() {
            Net::hang_up(&self.sim, conn);
        }
        self.inbox.clear();
    }

    fn attempt_failed(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        self.hang_up();
        if now >= self.deadline {
            return self.end(LinkState::Ended, effects);
        }
        self.attempts += 1;
        let jitter = self.sim.chance(|rng| rng.below(100));
        let pause = 100u64.saturating_mul(1 << (self.attempts - 1).min(20)) + jitter;
        let until = (now + pause * 1_000_000).min(self.deadline);
        self.phase = Phase::Resting { until };
    }

    fn reconnect(&mut self, now: Instant) {
        self.hang_up();
        self.attempts = 0;
        self.deadline = self.last_heard + self.times.expiry;
        self.phase = Phase::Resting { until: now };
    }

    fn greet(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        self.in_flight.clear();
        self.watches.disconnect();
        let timeout = (self.times.session / 1_000_000) as i32;
        let greeting = frames::greeting(self.last_zxid, timeout, self.id, &self.password);
        self.post(greeting);
        let (data, child) = self.watches.to_set_again();
        if !(data.is_empty() && child.is_empty()) {
            let frame = frames::set_watches(self.last_zxid, [&data, &[], &child]);
            self.send_as(SET_WATCHES_XID, Operation { frame, watch: None, answer: None });
        }
        (self.last_sent, self.last_heard, self.is_pinging) = (now, now, false);
        self.tick_at = now + self.times.tick;
        self.change(LinkState::Down, effects);
        self.phase = Phase::Greeting { has_pinged: false };
    }

    fn welcomed(&mut self, frame: &[u8], now: Instant, effects: &mut Vec<Effect>) {
        let mut r = Reader::new(&frame[4..]);
        let (Ok(_), Ok(timeout), Ok(id), Ok(password)) = (r.int(), r.int(), r.long(), r.buffer()) else {
            return self.attempt_failed(now, effects);
        };
        if id == 0 {
            self.hang_up();
            return self.end(LinkState::Ended, effects);
        }
        self.id = id;
        self.password = password.unwrap_or_default().to_vec();
        self.timeout = Duration::from_millis(timeout as u64);
        self.times = Times::of(self.timeout);
        self.change(LinkState::Up, effects);
    }

    // ---- connected

    fn serve(&mut self, now: Instant, effects: &mut Vec<Effect>) -> bool {
        // Which of several things that are ready comes first is open.
        let reads_first = self.sim.chance(|rng| rng.one_in(2));
        let has_worked = (reads_first && self.read(now, effects))
            || self.write(now)
            || (!reads_first && self.read(now, effects))
            || self.tick(now, effects);
        self.move_on(now, effects);
        has_worked
    }

    /// From greeting to serving, and from serving to the end.
    fn move_on(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        match self.phase {
            Phase::Greeting { has_pinged: false } if self.link.state == LinkState::Up => {
                self.ping(now);
                self.phase = Phase::Greeting { has_pinged: true };
            }
            Phase::Greeting { has_pinged: true } if self.in_flight.is_empty() => {
                self.phase = Phase::Serving { is_halted: false };
                self.tick_at = now + self.times.tick;
                if let (Some(opened), Some(me)) = (self.opened.take(), self.me.upgrade()) {
                    effects.push(Effect::Run(Box::new(move || {
                        if let Err(Ok(unwanted)) = opened.send(Ok(me)) {
                            unwanted.close();
                        }
                    })));
                }
            }
            Phase::Serving { is_halted: true } if self.in_flight.is_empty() => {
                self.hang_up();
                self.end(LinkState::Ended, effects);
            }
            _ => {}
        }
    }

    fn read(&mut self, now: Instant, effects: &mut Vec<Effect>) -> bool {
        let Some(arrived) = self.inbox.pop_front() else { return false };
        self.last_heard = now;
        match arrived {
            Down::Frame(frame) if self.link.state == LinkState::Down => self.welcomed(&frame, now, effects),
            Down::Frame(frame) => self.heard(&frame, effects),
            Down::Connected => {}
            Down::Fin | Down::Refused => self.broken(now, effects),
        }
        true
    }

    fn broken(&mut self, now: Instant, effects: &mut Vec<Effect>) {
        if matches!(self.phase, Phase::Greeting { .. }) {
            return self.attempt_failed(now, effects);
        }
        self.change(LinkState::Down, effects);
        self.fail_in_flight(WireError::ConnectionLoss, effects);
        self.reconnect(now);
    }

    fn heard(&mut self, frame: &[u8], effects: &mut Vec<Effect>) {
        let Some(head) = ReplyHead::of(frame) else { return };
        match head.xid {
            XID_EVENT => {
                let (path, Some(event)) = (event_path(frame), frames::event(frame)) else { return };
                tell!(self.sim, "h{} hears {event:?} {}", self.host, short(&path));
                let (watchers, dangling) = self.watches.fire(&path, event);
                for watcher in watchers {
                    if event == Event::Deleted {
                        self.sim.ledger.told_gone(watcher.task, &path, self.sim.steps());
                    }
                    effects.push(Effect::Run(Box::new(move || _ = watcher.sender.send(event))));
                }
                if let Some(dangling) = dangling {
                    self.send(removal(dangling));
                }
            }
            XID_PING => {
                self.in_flight.remove(&XID_PING);
                self.is_pinging = false;
            }
            xid => {
                self.last_zxid = self.last_zxid.max(head.zxid);
                if let Some(operation) = self.in_flight.remove(&xid) {
                    self.answered(operation, head.err, &frame[20..], effects);
                }
            }
        }
    }

    fn answered(&mut self, operation: Operation, err: i32, body: &[u8], effects: &mut Vec<Effect>) {
        let Operation { watch, answer, .. } = operation;
        let mut set = None;
        if let Some(wish) = watch {
            if err == 0 {
                set = Some(self.watches.add(&wish));
            }
            for late in self.watches.settled(&wish, err == 0) {
                self.send(removal(late));
            }
        }
        let Some(answer) = answer else { return };
        self.unanswered -= 1;
        let result = match err {
            0 => Ok(Reply { body: body.to_vec(), watch: set }),
            err => Err(frames::refusal(err)),
        };
        effects.push(Effect::Run(Box::new(move || answer(result))));
    }

    fn write(&mut self, _now: Instant) -> bool {
        let Phase::Serving { is_halted: false } = self.phase else { return false };
        match self.asked.pop_front() {
            Some(Asked::Operation(operation)) => {
                if let Some(wish) = &operation.watch {
                    self.watches.setting(wish);
                }
                self.send(operation);
            }
            Some(Asked::ForgetWatch(id)) => {
                if let Some(due) = self.watches.forget(id) {
                    self.send(removal(due));
                }
            }
            None if self.is_closing && self.unanswered == 0 => {
                let frame = frames::request(Op::CLOSE, |_| {});
                self.send(Operation { frame, watch: None, answer: None });
                self.phase = Phase::Serving { is_halted: true };
            }
            None => return false,
        }
        true
    }

    fn tick(&mut self, now: Instant, effects: &mut Vec<Effect>) -> bool {
        if now < self.tick_at {
            return false;
        }
        self.tick_at = now + self.times.tick;
        if now >= self.last_heard + self.times.silence {
            tell!(self.sim, "h{} hears nothing and hangs up", self.host);
            self.broken(now, effects);
        } else if matches!(self.phase, Phase::Serving { .. })
            && !self.is_pinging
            && now >= self.last_sent + self.times.ping
        {
            self.ping(now);
        }
        true
    }

    fn ping(&mut self, now: Instant) {
        let operation = Operation { frame: frames::request(Op::PING, |_| {}), watch: None, answer: None };
        self.send_as(XID_PING, operation);
        (self.last_sent, self.is_pinging) = (now, true);
    }

    fn send(&mut self, operation: Operation) {
        self.next_xid += 1;
        self.last_sent = self.sim.transport_now(self.host);
        self.send_as(self.next_xid, operation);
    }

    fn send_as(&mut self, xid: i32, mut operation: Operation) {
        frames::number(&mut operation.frame, xid);
        self.post(operation.frame.clone());
        self.in_flight.insert(xid, operation);
    }

    fn post(&self, frame: Vec<u8>) {
        if let Some(conn) = self.conn {
            Net::send(&self.sim, conn, frame);
        }
    }

    // ---- what others see

    fn change(&mut self, state: LinkState, effects: &mut Vec<Effect>) {
        if state == self.link.state {
            return;
        }
        tell!(self.sim, "h{} session {:x} {state:?}", self.host, self.id & 0xffff);
        self.link = Link { generation: self.link.generation + 1, state };
        self.sim.ledger.disturb(Some(self.host));
        if state == LinkState::Ended {
            for watcher in self.watches.end() {
                effects.push(Effect::Run(Box::new(move || _ = watcher.send(Event::SessionEnded))));
            }
        }
        effects.push(Effect::LinkChanged);
    }

    fn fail_in_flight(&mut self, error: WireError, effects: &mut Vec<Effect>) {
        self.watches.disconnect();
        for operation in std::mem::take(&mut self.in_flight).into_values() {
            self.unanswered -= usize::from(operation.answer.is_some());
            let error = error.clone();
            effects.push(Effect::Run(Box::new(move || operation.fail(error))));
        }
    }

    fn end(&mut self, state: LinkState, effects: &mut Vec<Effect>) {
        self.phase = Phase::Ended;
        self.change(state, effects);
        self.fail_in_flight(WireError::SessionEnded, effects);
        for asked in std::mem::take(&mut self.asked) {
            if let Asked::Operation(operation) = asked {
                self.unanswered -= 1;
                effects.push(Effect::Run(Box::new(move || operation.fail(WireError::SessionEnded))));
            }
        }
        if let Some(opened) = self.opened.take() {
            effects.push(Effect::Run(Box::new(move || _ = opened.send(Err(WireError::ConnectionLoss)))));
        }
    }
}
