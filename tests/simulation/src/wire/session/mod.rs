//! The state of a session's client end, one turn of the task that tends it, and how it connects. The order of things
//! is zookeeper-client's: the state changes before what was in flight fails, and before anything is sent again.

mod serving;

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::oneshot;
use zkrecipes::ClientOptions;
use zkrecipes::session::wire::{Event, Link, LinkState, WireError};
use zkrecipes_embedded::wire::Reader;

use super::frames;
use super::transport::{Times, Transport};
use super::watches::{Watches, Wish};
use crate::net::{ConnId, Down, Net};
use crate::sim::{HostId, Instant, Sim};
use crate::tell;

/// What comes back for a request.
pub struct Reply {
    /// Whether there is such a node, for who asked that.
    pub is_there: bool,
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
    /// The servers in the order in which they are tried, and the attempts since the last success.
    endpoints: Vec<usize>,
    attempts: usize,
    /// Of the attempts in progress, after which the session is given up.
    deadline: Instant,
    opened: Option<oneshot::Sender<Result<Arc<Transport>, WireError>>>,
    id: i64,
    password: Vec<u8>,
    options: ClientOptions,
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

fn shuffled(sim: &Sim, host: HostId) -> Vec<usize> {
    let mut endpoints: Vec<usize> = (0..sim.plan.members).collect();
    sim.chance(|rng| rng.shuffle(&mut endpoints));
    if let Some(home) = sim.plan.homes.get(host) {
        endpoints.sort_by_key(|member| member != home);
    }
    endpoints
}

impl State {
    pub fn new(
        sim: Arc<Sim>,
        host: HostId,
        me: Weak<Transport>,
        options: ClientOptions,
        now: Instant,
        opened: oneshot::Sender<Result<Arc<Transport>, WireError>>,
    ) -> State {
        let timeout = options.session_timeout;
        let times = Times::of(&options, timeout);
        State {
            endpoints: shuffled(&sim, host),
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
            options,
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
                let member = self.endpoints[self.attempts % self.endpoints.len()];
                self.conn = Some(Net::connect(&self.sim, self.host, member, self.me.clone()));
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
        let size = self.endpoints.len();
        let (cycles, offset) = (self.attempts / size, self.attempts % size);
        let pause = self.sim.chance(|rng| match (cycles, offset) {
            (0, _) => 0,
            (_, 0) => (100 * size as u64).min(1000) * (1 << (cycles - 1).min(20)) + rng.below(100),
            _ => 50 * offset as u64 + rng.below(50),
        });
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
        let lists = self.watches.to_set_again();
        if lists.iter().any(|list| !list.is_empty()) {
            let frame = frames::set_watches(self.last_zxid, &lists);
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
        self.times = Times::of(&self.options, self.timeout);
        self.change(LinkState::Up, effects);
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
            self.sim.ledger.session_ended(self.host, self.sim.steps());
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
