//! What a seed decides before anything runs: how big the world is, how fast, and how much goes wrong.

use std::ops::RangeInclusive;
use std::time::Duration;

use zkrecipes::Naming;

use crate::rng::Rng;
use crate::sim::HostId;
use crate::subject::{Ground, Subject};

#[derive(Debug, Clone)]
pub struct Plan {
    pub subject: Subject,
    /// Whose names the nodes have.
    pub naming: Naming,
    /// Of some hosts they are others', which share the line.
    pub guests: Vec<(HostId, Naming)>,
    /// How many numbers are left to a new queue, if not all of them.
    pub numbers_left: Option<i32>,
    /// Servers; the first one leads.
    pub members: usize,
    /// How late followers learn of things, as a rule.
    pub lag: Duration,
    pub hosts: usize,
    /// Tasks per client.
    pub workers: usize,
    pub session_timeout: Duration,
    pub tick: Duration,
    pub reap_every: Duration,
    /// One way.
    pub latency: RangeInclusive<Duration>,
    /// One message in so many takes much longer; 0 for none. So are the following rates.
    pub spikes: u64,
    /// Requests at which a connection breaks.
    pub snares: u64,
    /// Requests after which a contender is deleted by force.
    pub forces: u64,
    /// Between two faults of hosts, network and server.
    pub mischief: RangeInclusive<Duration>,
    /// How long the faults go on.
    pub unrest: Duration,
    /// The longest that a worker holds, and that it thinks before it comes back.
    pub hold: Duration,
    pub think: Duration,
    /// One time in so many a worker asks who holds to let go, instead of asking for its own turn.
    pub requests: u64,
    /// The leader stands still again and again.
    pub is_leader_tired: bool,
    /// What the servers' clock shows at first: sessions end when it shows a multiple of a tick.
    pub clock: Duration,
    /// When the leader asks its followers for the first time; then every half tick.
    pub asks: Duration,
    /// The server that each host tries first, where that is not left to chance.
    pub homes: Vec<usize>,
    /// Everybody is asked at every step whether they hold; otherwise only the workers themselves ask.
    pub probes: bool,
    /// Processes that are to end at one of their requests.
    pub crashes: Vec<Crash>,
    /// What is to happen to requests of theirs.
    pub troubles: Vec<Trouble>,
    /// After how long a process that has crashed is started again, where that is not left to chance.
    pub away: Option<Duration>,
    /// Requests after which the servers look for containers to collect; beside their rounds.
    pub collects: u64,
    /// Requests that get lost with their connection while a node of that very session is deleted by force; and so do the
    /// transactions that follow, for longer than a call goes on.
    pub thefts: u64,
    /// Transactions that end the claim of an item and get no answer; nor does what the client writes after that, for longer than a
    /// call goes on. Its heartbeats do.
    pub doubts: u64,
    /// Few items fit into one request.
    pub is_bulky: bool,
    /// Somebody makes the parents of items as containers, as Curator does, so that they are collected and their numbers begin anew.
    pub has_containers: bool,
    /// The clock of the servers is set, ahead and back.
    pub is_clock_set: bool,
    /// For a while nobody may create anything at some path.
    pub is_refused: bool,
    /// How long a call goes on without an answer, if not as long as usual.
    pub gives_up: Option<Duration>,
    /// How many requests of a client may be on their way at once, if not as many as usual.
    pub max_in_flight: Option<u32>,
}

/// The end of a host's process. If a host has several, each process that it starts ends by the next of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Crash {
    pub host: HostId,
    /// At which request of the process, counted from 1; pings and handshakes do not count.
    pub at: u64,
    /// The request is carried out, and its answer lost.
    pub is_applied: bool,
}

/// What happens to one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trouble {
    pub host: HostId,
    /// Which request of the host, counted from 1 through all its processes; pings and handshakes do not count.
    pub at: u64,
    pub kind: TroubleKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TroubleKind {
    Lost,
    AnswerLost,
    /// The answer is lost, and the client goes on at another server.
    Elsewhere,
    /// The answer is lost, and the session is ended.
    SessionEnded,
    KilledBefore,
    KilledAfter,
    /// Whoever waits for the call withdraws it.
    Withdrawn,
    /// The containers that are empty are collected.
    Collected,
    /// Somebody deletes a node of the session.
    Deleted,
}

impl TroubleKind {
    pub const ALL: [TroubleKind; 9] = [
        TroubleKind::Lost,
        TroubleKind::AnswerLost,
        TroubleKind::Elsewhere,
        TroubleKind::SessionEnded,
        TroubleKind::KilledBefore,
        TroubleKind::KilledAfter,
        TroubleKind::Withdrawn,
        TroubleKind::Collected,
        TroubleKind::Deleted,
    ];

    pub fn name(self) -> &'static str {
        match self {
            TroubleKind::Lost => "lost",
            TroubleKind::AnswerLost => "answer lost",
            TroubleKind::Elsewhere => "answer lost and another server",
            TroubleKind::SessionEnded => "answer lost and session ended",
            TroubleKind::KilledBefore => "process killed before",
            TroubleKind::KilledAfter => "process killed after",
            TroubleKind::Withdrawn => "call withdrawn",
            TroubleKind::Collected => "containers collected",
            TroubleKind::Deleted => "node deleted by another",
        }
    }
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

impl Plan {
    pub fn draw(rng: &mut Rng) -> Plan {
        let session_timeout = ms(*rng.pick(&[2_000, 3_000, 4_000, 6_000, 10_000]));
        let ticks: Vec<u64> = [250, 500, 1_000, 2_000]
            .into_iter()
            .filter(|tick| ms(tick * 2) <= session_timeout && session_timeout <= ms(tick * 40))
            .collect();
        let fast = ms(0)..=ms(1);
        let latency = rng.pick(&[fast.clone(), fast, ms(1)..=ms(5), ms(5)..=ms(60)]).clone();
        let is_rough = rng.one_in(3);
        let mut plan = Plan {
            subject: Subject::draw(rng),
            naming: *rng.pick(&[Naming::Curator, Naming::Curator, Naming::Kazoo, Naming::Zookeeper]),
            guests: Vec::new(),
            numbers_left: rng.one_in(8).then(|| rng.below(100) as i32),
            members: *rng.pick(&[1, 3, 3, 5]),
            lag: ms(*rng.pick(&[0, 2, 50])),
            hosts: rng.number(2..=4) as usize,
            workers: rng.number(1..=4) as usize,
            session_timeout,
            tick: ms(*rng.pick(&ticks)),
            reap_every: ms(*rng.pick(&[500, 5_000, 60_000])),
            latency,
            spikes: *rng.pick(&[0, 30, 300]),
            snares: *rng.pick(&[0, 40, 150, 600]),
            forces: *rng.pick(&[0, 0, 60, 400]),
            mischief: if is_rough { ms(50)..=ms(2_000) } else { ms(500)..=session_timeout * 3 },
            unrest: ms(rng.number(30_000..=120_000)),
            hold: ms(*rng.pick(&[5, 100, 1_000, 3_000])),
            think: ms(*rng.pick(&[0, 10, 500, 3_000])),
            requests: *rng.pick(&[0, 0, 10, 50]),
            is_leader_tired: rng.one_in(3),
            clock: Duration::ZERO,
            asks: Duration::ZERO,
            homes: Vec::new(),
            probes: rng.one_in(2),
            crashes: Vec::new(),
            troubles: Vec::new(),
            away: None,
            collects: 0,
            thefts: 0,
            doubts: 0,
            is_bulky: false,
            has_containers: false,
            is_clock_set: false,
            is_refused: false,
            gives_up: None,
            max_in_flight: None,
        };
        if plan.is_leader_tired {
            // Followers give up a leader after five ticks, and it is to stand still for about a session timeout.
            plan.members = plan.members.max(3);
            plan.probes = true;
            plan.tick = plan.session_timeout / rng.number(2..=4) as u32;
            plan.asks = rng.duration(Duration::ZERO..=plan.tick / 2);
        }
        plan
    }

    /// A world in which nothing goes wrong by itself.
    pub fn quiet(rng: &mut Rng) -> Plan {
        let mut plan = Plan::draw(rng);
        (plan.naming, plan.numbers_left) = (Naming::Curator, None);
        (plan.members, plan.lag) = (1, Duration::ZERO);
        plan.latency = ms(0)..=ms(1);
        (plan.spikes, plan.snares, plan.forces, plan.requests) = (0, 0, 0, 0);
        (plan.is_leader_tired, plan.asks, plan.probes) = (false, Duration::ZERO, false);
        plan
    }

    /// What is drawn apart from the rest, for two seeds in three: the others are the schedules that they were before there was this.
    pub fn widen(&mut self, seed: u64) {
        let rng = &mut Rng::new(seed.rotate_left(24) ^ !0);
        if rng.one_in(3) {
            return;
        }
        // A node whose numbers are nearly used up looks as if it had had children.
        self.collects = if self.numbers_left.is_some() { 0 } else { *rng.pick(&[0, 1, 4, 40]) };
        self.thefts = if self.forces > 0 { *rng.pick(&[0, 30, 100]) } else { 0 };
        self.is_clock_set = rng.one_in(2);
        self.is_refused = rng.one_in(3) && self.subject.may_be_refused();
        let part = *rng.pick(&[2, 4, 12]);
        // Who gives up before anything can be answered comes to nothing: on one connection a `sync` waits for those before it, each
        // until the follower has caught up.
        let syncs = self.lag * self.workers as u32 + self.round_trips(2);
        let gives_up = (self.session_timeout / part).max(self.round_trips(10)).max(syncs);
        self.gives_up = (rng.one_in(3) && self.subject.may_give_up()).then_some(gives_up);
        if self.subject.is_line_of_all() && rng.one_in(2) {
            let others = [Naming::Curator, Naming::Kazoo, Naming::Zookeeper];
            self.guests = (1..self.hosts).map(|host| (host, *rng.pick(&others))).collect();
        }
    }

    /// The same of queues alone, for half of them.
    pub fn widen_queue(&mut self, seed: u64) {
        let rng = &mut Rng::new(seed.rotate_left(40) ^ !0);
        if !matches!(self.subject, Subject::Queue(_)) || rng.one_in(2) {
            return;
        }
        self.doubts = *rng.pick(&[0, 3, 10]);
        if self.doubts > 0 {
            let soon = (self.session_timeout / 4).max(self.round_trips(10));
            self.gives_up = Some(self.gives_up.unwrap_or(soon));
        }
        self.is_bulky = rng.one_in(6);
        self.has_containers = self.collects > 0 && rng.one_in(2);
    }

    /// The same of clients that may ask for little at once, for one in four where answers come soon and nobody gives up early.
    pub fn narrow(&mut self, seed: u64) {
        let rng = &mut Rng::new(seed.rotate_left(48) ^ !0);
        let is_quick = *self.latency.end() <= ms(5) && self.gives_up.is_none();
        // None of those that failed once.
        if is_quick && seed % 4 == 1 {
            // One at a time is too little for sites that look at all that is open again and again.
            let least = usize::from(matches!(self.subject, Subject::TwoPhaseCommit { .. }));
            self.max_in_flight = Some(*rng.pick(&[1, 2, 4][least..]));
        }
    }

    /// Whose names the nodes of a host have.
    pub fn naming_of(&self, host: HostId) -> Naming {
        self.guests.iter().find(|(guest, _)| *guest == host).map_or(self.naming, |(_, naming)| *naming)
    }

    /// How long it may take after the last fault until everybody who waits has had their turn: sessions that are gone
    /// expire, clients find out, back off and come back, and then each holds.
    pub fn patience(&self) -> Duration {
        let contenders = (self.hosts * self.workers) as u32;
        // A writer may go on as a reader.
        let holds = if self.subject == Subject::ReadWrite { 2 } else { 1 };
        // Where messages get stuck all the time, each may have to wait until its session is out of doubt.
        let doubt = if self.spikes > 0 { self.session_timeout / 2 } else { Duration::ZERO };
        let turn = self.hold * holds + ms(500) + doubt;
        self.session_timeout * 4 + Duration::from_secs(20) + turn * contenders + self.needed()
    }

    /// For how long a process that lives may need what one leaves that ended at once.
    fn needed(&self) -> Duration {
        if self.subject.is_mortal() { (self.session_timeout + ms(10_000)) * 3 } else { Duration::ZERO }
    }

    /// How much longer it may take until so many nodes have gone: a client looks at eight for so long as they may be needed,
    /// then at twice as many, and so on.
    pub fn sweeping(&self, nodes: usize) -> Duration {
        // Those that it looks at are taken at random, so that the last ones may have to wait once more.
        self.needed() * (nodes / 8 * 2 + 1).ilog2()
    }

    /// How long so many take one after the other, with messages that get stuck among them.
    pub fn round_trips(&self, count: u32) -> Duration {
        let once = *self.latency.end() * 2;
        let stuck =
            if self.spikes > 0 { once * crate::net::SPIKE / self.spikes as u32 } else { Duration::ZERO };
        (once + stuck) * count
    }

    /// Whether somebody takes away what is not theirs.
    pub fn is_forced(&self) -> bool {
        let takes =
            |trouble: &Trouble| matches!(trouble.kind, TroubleKind::SessionEnded | TroubleKind::Deleted);
        self.forces > 0 || self.troubles.iter().any(takes)
    }

    /// All workers of all hosts.
    pub fn everybody(&self) -> usize {
        self.hosts * self.workers
    }

    /// How many enter a double barrier together.
    pub fn parties(&self) -> usize {
        match self.subject {
            Subject::DoubleBarrier { spare } => self.everybody().saturating_sub(spare).max(1),
            _ => 0,
        }
    }

    pub fn ground(&self) -> Ground {
        Ground::of(self.subject, self.naming)
    }
}
