//! The lease against a model of what it reasons about: a leader that asks its follower every half tick who was there, a
//! follower that tells only then, and one of them, or a way between them, that stands still from time to time.

use std::collections::VecDeque;
use std::time::Duration;

use super::{Lease, LeaseTerms};
use crate::session::clock::Moment;
use crate::session::wire::WireError;

/// One step of the model.
const STEP: u64 = 4;
const DAWN: u64 = 100_000;

struct Rng(u64);

impl Rng {
    fn below(&mut self, limit: u64) -> u64 {
        // splitmix64
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % limit.max(1)
    }

    fn between(&mut self, from: u64, to: u64) -> u64 {
        from + self.below(to.saturating_sub(from) + 1)
    }

    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }
}

fn moment(ms: u64) -> Moment {
    Moment::START + Duration::from_millis(ms)
}

/// What a transport without a rule of its own makes of the answer to a beat when the leader has ended the session.
fn refused_in_a_part() -> WireError {
    WireError::Part { index: 0, error: Box::new(WireError::SessionEnded) }
}

#[derive(Copy, Clone)]
enum Message {
    /// A request that left the client at that time, or its answer; whether it is a quorum write.
    Request(u64, bool),
    /// That the session has ended, in the place of the answer to a quorum write that left the client at that time.
    Refused(u64),
    /// The leader asks who was there.
    Ping,
    /// The session was.
    Touch,
}

/// Nothing on it overtakes.
#[derive(Default)]
struct Way(VecDeque<(u64, Message)>);

impl Way {
    fn send(&mut self, arrival: u64, message: Message) {
        let after = self.0.back().map_or(0, |(last, _)| *last);
        self.0.push_back((arrival.max(after), message));
    }

    fn arrived(&mut self, now: u64) -> Option<Message> {
        self.0.pop_front_if(|(arrival, _)| *arrival <= now).map(|(_, message)| message)
    }
}

/// What stands still until when.
#[derive(Default)]
struct Stalls {
    leader: u64,
    follower: u64,
    down: u64,
    up: u64,
    client: u64,
}

/// What the next pause is to do.
#[derive(Copy, Clone, PartialEq, Eq)]
enum Aim {
    /// Anything stands still, from any time to any other.
    Anywhere,
    /// The leader stands still from just before it would ask, to about when the session ends by what it knows.
    End,
    /// It goes on before that, and then stands still once more.
    Twice,
    /// The second of the two.
    EndAtOnce,
}

struct Model {
    rng: Rng,
    timeout: u64,
    tick: u64,
    /// Sessions end at multiples of this, servers' as a rule at those of a tick.
    rounding: u64,
    /// So long the servers run between two pauses.
    settled: u64,
    lease: Lease,
    is_needed: bool,
    to_follower: Way,
    to_leader: Way,
    from_leader: Way,
    to_client: Way,
    /// The follower heard of the session since it told last.
    is_touched: bool,
    /// Requests that the follower has heard of and not yet passed on.
    handed_in: VecDeque<(u64, bool)>,
    next_ping: u64,
    /// When the leader will end the session, and when it did.
    expiry: u64,
    ended: Option<u64>,
    stalls: Stalls,
    /// When the servers may stand still again, and when they last went on.
    next_stall: u64,
    quiet_since: u64,
    aim: Aim,
}

impl Model {
    fn new(seed: u64, is_tick_known: bool) -> Model {
        let mut rng = Rng(seed);
        let timeout = [4_000, 10_000][rng.below(2) as usize];
        let tick = timeout / [2, 3, 4, 5, 12][rng.below(5) as usize];
        let next_ping = DAWN + rng.below(tick / 2);
        let rounding = [tick, 1][rng.below(2) as usize];
        let server_tick = is_tick_known.then(|| Duration::from_millis(tick));
        let terms = LeaseTerms { server_tick, ..LeaseTerms::default() };
        let lease = Lease::new(Duration::from_millis(timeout), terms, moment(DAWN), moment(DAWN));
        Model {
            timeout,
            tick,
            rounding,
            settled: lease.settled().as_millis() as u64,
            lease,
            is_needed: false,
            to_follower: Way::default(),
            to_leader: Way::default(),
            from_leader: Way::default(),
            to_client: Way::default(),
            is_touched: false,
            handed_in: VecDeque::new(),
            next_ping,
            expiry: (DAWN + timeout).next_multiple_of(rounding),
            ended: None,
            stalls: Stalls::default(),
            next_stall: DAWN + rng.below(timeout),
            quiet_since: DAWN,
            aim: Aim::Anywhere,
            rng,
        }
    }

    fn latency(&mut self) -> u64 {
        self.rng.below(self.timeout / 200)
    }

    fn strike(&mut self, now: u64) {
        let longest = now + self.timeout * 21 / 20;
        let ends = (self.expiry + self.rng.below(80)).saturating_sub(60).clamp(now + 1, longest);
        let until = match self.aim {
            Aim::Anywhere => self.rng.between(now + self.timeout / 20, longest),
            Aim::End | Aim::EndAtOnce => ends,
            Aim::Twice => self.rng.between(now + self.timeout / 20, ends),
        };
        match self.rng.below(6) {
            _ if self.aim != Aim::Anywhere => self.stalls.leader = until,
            0..=2 => self.stalls.leader = until,
            3 => self.stalls.follower = until,
            4 => self.stalls.down = until,
            _ => self.stalls.up = until,
        }
        // What the lease assumes, and not much more.
        let pause = if self.rng.one_in(2) { 0 } else { self.rng.below(self.timeout * 2) };
        self.next_stall = until + self.settled + 2 * STEP + pause;
        self.quiet_since = until;
        self.aim = match (self.aim, self.rng.below(4)) {
            (Aim::Twice, _) => {
                self.next_stall -= pause;
                Aim::EndAtOnce
            }
            (_, 0) => Aim::Anywhere,
            (_, 1) => Aim::End,
            _ => Aim::Twice,
        };
    }

    fn may_strike(&self, now: u64) -> bool {
        let is_time = match self.aim {
            Aim::Anywhere | Aim::EndAtOnce => true,
            Aim::End | Aim::Twice => (1..=2 * STEP).contains(&self.next_ping.saturating_sub(now)),
        };
        now >= self.next_stall && is_time && self.ended.is_none()
    }

    fn client(&mut self, now: u64) {
        if self.stalls.client > now {
            return;
        }
        if self.rng.one_in(2_000) {
            self.stalls.client = now + self.rng.below(self.timeout);
        }
        if self.rng.one_in(1_000) {
            self.is_needed = !self.is_needed;
        }
        while let Some(message) = self.to_client.arrived(now) {
            match message {
                Message::Request(sent, is_beat) => {
                    self.lease.answered(moment(sent), moment(now), is_beat);
                }
                Message::Refused(sent) if refused_in_a_part().is_verdict() => {
                    self.lease.answered(moment(sent), moment(now), true);
                }
                Message::Refused(_) | Message::Ping | Message::Touch => {}
            }
        }
        // What is due, and now and then something that the user asks for.
        let is_due = self.lease.due(self.is_needed) <= moment(now);
        if is_due || self.rng.one_in(400) {
            let is_beat = if is_due { self.is_needed } else { self.rng.one_in(2) };
            if is_due {
                self.lease.beats(moment(now));
            }
            self.lease.sent(moment(now), is_beat);
            let arrival = now + self.latency();
            self.to_follower.send(arrival, Message::Request(now, is_beat));
        }
    }

    fn follower(&mut self, now: u64) {
        if self.stalls.follower > now {
            return;
        }
        // The thread that hears clients, the one that passes on, and the one that listens to the leader: in any order.
        let first = self.rng.below(3);
        for nth in 0..3 {
            let arrival = now.max(self.stalls.up) + self.latency();
            match (first + nth) % 3 {
                0 => {
                    while let Some(message) = self.to_follower.arrived(now) {
                        self.is_touched = true;
                        if let Message::Request(sent, is_beat) = message {
                            self.handed_in.push_back((sent, is_beat));
                        }
                    }
                }
                1 => {
                    for (sent, is_beat) in self.handed_in.drain(..) {
                        self.to_leader.send(arrival, Message::Request(sent, is_beat));
                    }
                }
                _ => {
                    while let Some(message) = self.from_leader.arrived(now) {
                        match message {
                            Message::Ping if std::mem::take(&mut self.is_touched) => {
                                self.to_leader.send(arrival, Message::Touch)
                            }
                            Message::Ping | Message::Touch => {}
                            answer @ (Message::Request(..) | Message::Refused(_)) => {
                                let arrival = now + self.latency();
                                self.to_client.send(arrival, answer);
                            }
                        }
                    }
                }
            }
        }
    }

    fn leader(&mut self, now: u64) {
        if self.stalls.leader > now {
            return;
        }
        let first = self.rng.below(3);
        for nth in 0..3 {
            let arrival = now.max(self.stalls.down) + self.latency();
            match (first + nth) % 3 {
                0 if self.expiry <= now => _ = self.ended.get_or_insert(now),
                1 if self.next_ping <= now => {
                    self.from_leader.send(arrival, Message::Ping);
                    self.next_ping = now + self.tick / 2;
                }
                2 => {
                    while let Some(message) = self.to_leader.arrived(now) {
                        match message {
                            Message::Request(sent, true) if self.ended.is_some() => {
                                self.from_leader.send(arrival, Message::Refused(sent));
                            }
                            _ if self.ended.is_some() => {}
                            Message::Touch => {
                                self.expiry = (now + self.timeout).next_multiple_of(self.rounding);
                            }
                            answer => self.from_leader.send(arrival, answer),
                        }
                    }
                }
                _ => {}
            }
        }
    }

    /// What was promised and not kept, and whether the session lived to the end.
    fn run(&mut self) -> Result<bool, String> {
        let mut doubted_since = DAWN;
        for now in (DAWN..DAWN + 20 * self.timeout).step_by(STEP as usize) {
            if self.may_strike(now) {
                self.strike(now);
            }
            self.client(now);
            self.follower(now);
            self.leader(now);
            let certain_until = self.lease.certain_until();
            if let Some(ended) = self.ended {
                if certain_until > moment(ended) {
                    let more = certain_until.since(moment(ended));
                    return Err(format!("certain for {more:?} after the session ended at {}", ended - DAWN));
                }
                if now > ended + self.timeout {
                    return Ok(false);
                }
                continue;
            }
            // It must not stay in doubt for longer than the three requests take that it needs.
            if self.lease.is_firm(moment(now)) || !self.is_needed || self.stalls.client > now {
                doubted_since = now;
            }
            let patience = self.timeout * 3 / 4;
            if now > doubted_since.max(self.quiet_since) + patience {
                return Err(format!("in doubt after {patience} ms without trouble, at {}", now - DAWN));
            }
        }
        Ok(true)
    }
}

#[test]
fn certainty_never_outlives_the_session_whatever_stands_still() {
    for is_tick_known in [false, true] {
        let mut lived = 0;
        for seed in 0..150 {
            match Model::new(seed, is_tick_known).run() {
                Ok(true) => lived += 1,
                Ok(false) => {}
                Err(wrong) => panic!("seed {seed}, the tick is known: {is_tick_known}: {wrong}"),
            }
        }
        assert!(lived > 0, "no session lived to the end");
    }
}
