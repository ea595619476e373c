//! One request of a verb meets trouble, or two do: every request, and every pair of them, with everything that can happen to one.
//!
//! One client does what is to be done with a recipe from the beginning to the end; another one does the same beside it, and nothing
//! happens to that one. All that is checked elsewhere is checked here, too; in the end both have come through, and nothing is left.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use zkrecipes::session::clock::Clock;
use zkrecipes::{Counter, CreateMode, ElectionLayout, ErrorKind, Held, Result, drive};

use crate::clock::{HostClock, wall};
use crate::counting::Fate;
use crate::items;
use crate::plan::{Plan, Trouble, TroubleKind};
use crate::queueing::{AnyQueue, QueueKind};
use crate::rng::Rng;
use crate::scenario::Party;
use crate::sim::{HostId, Process, Sim};
use crate::subject::{Handle, Subject};
use crate::walk::{Walk, Walks};
use crate::{Outcome, conclude, mischief, tell, until};

/// Who meets trouble.
const VICTIM: HostId = 0;
const HOSTS: usize = 2;
/// How often each does it. The first time everything is to be made, and the last time nothing happens.
const ROUNDS: usize = 2;
const SESSION: Duration = Duration::from_secs(2);
const PATIENCE: Duration = Duration::from_secs(120);
const LOOKS: Duration = Duration::from_millis(100);

/// The recipes of which each request meets trouble.
const ALONE: [Subject; 7] = [
    Subject::Lock { handoff: 0 },
    Subject::ReadWrite,
    Subject::Semaphore { permits: 2 },
    Subject::MultiLock { paths: 2 },
    Subject::Election { layout: ElectionLayout::Latch },
    Subject::Queue(QueueKind::USUAL),
    Subject::Counter,
];
/// Those of which each pair of requests does. Two-phase commit is in `pairs`.
const IN_PAIRS: [Subject; 4] = [
    Subject::Lock { handoff: 0 },
    Subject::Queue(QueueKind::USUAL),
    Subject::Election { layout: ElectionLayout::Latch },
    Subject::Counter,
];

/// What happens to one request of a recipe, or to two, but for which these are.
#[derive(Clone, Debug)]
pub struct Combination {
    subject: Subject,
    kinds: Vec<TroubleKind>,
}

/// All of them: with one trouble each, or with two.
pub fn combinations(is_pairs: bool) -> Vec<Combination> {
    let mut all = Vec::new();
    for subject in if is_pairs { &IN_PAIRS[..] } else { &ALONE[..] } {
        for first in TroubleKind::ALL {
            match is_pairs {
                false => all.push(Combination { subject: *subject, kinds: vec![first] }),
                true => all.extend(
                    TroubleKind::ALL
                        .map(|second| Combination { subject: *subject, kinds: vec![first, second] }),
                ),
            }
        }
    }
    all
}

impl fmt::Display for Combination {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let kinds: Vec<_> = self.kinds.iter().map(|kind| kind.name()).collect();
        write!(f, "{}, {}", self.subject.name(), kinds.join(", then "))
    }
}

impl Walks for Combination {
    fn what(&self) -> String {
        let many = if self.kinds.len() == 1 { "one request" } else { "two requests" };
        format!("{}, {many}", self.subject.name())
    }

    fn walk(&self, seed: u64, first: u64, every: usize, aloud: Option<&str>) -> Walk {
        let mut walk = Walk::default();
        let step = every as u64;
        let mut one = first;
        loop {
            let (mut other, mut has_first) = (one + 1, false);
            loop {
                let at = [one, other];
                let troubles =
                    self.kinds.iter().zip(at).map(|(kind, at)| Trouble { host: VICTIM, at, kind: *kind });
                let troubles: Vec<_> = troubles.collect();
                let name = match &troubles[..] {
                    [_] => format!("{self}: {one}"),
                    _ => format!("{self}: {one} and {other}"),
                };
                let (outcome, met) = self.run(seed, troubles, aloud == Some(&*name));
                has_first |= met > 0;
                let is_whole = met == self.kinds.len();
                walk.count(name, outcome, is_whole);
                other += step;
                if self.kinds.len() == 1 || !is_whole || walk.failures.len() > 3 {
                    break;
                }
            }
            one += step;
            if !has_first || walk.failures.len() > 3 {
                return walk;
            }
        }
    }
}

impl Combination {
    /// How it went, and how many requests met trouble.
    fn run(&self, seed: u64, troubles: Vec<Trouble>, aloud: bool) -> (Outcome, usize) {
        let _chances = Sim::chances(seed);
        let mut rng = Rng::new(seed);
        let mut plan = Plan::quiet(&mut rng);
        plan.subject = self.subject;
        (plan.hosts, plan.workers, plan.members) = (HOSTS, 1, 3);
        plan.homes = vec![1, 2];
        (plan.session_timeout, plan.tick) = (SESSION, SESSION / 4);
        plan.hold = Duration::from_millis(20);
        plan.troubles = troubles;
        let sim = Sim::of(plan, rng, aloud);
        tell!(sim, "{self}: {:?}", sim.plan.troubles);
        let failure = self.play(&sim).err();
        let met = sim.hosts.lock()[VICTIM].met;
        (conclude(&sim, seed, failure), met)
    }

    fn play(&self, sim: &Arc<Sim>) -> std::result::Result<(), String> {
        let world = Arc::new(World::default());
        for host in 0..HOSTS {
            let (party, clock) = (Party::idle(sim, host), HostClock { sim: sim.clone(), host });
            let member = Member { sim: sim.clone(), host, party, clock, world: world.clone() };
            let member = Arc::new(member);
            sim.processes.lock().push(member.clone());
            member.launch();
        }
        if !until(sim, PATIENCE, |_| world.through.load(Ordering::Relaxed) == HOSTS)? {
            return Err(format!("not finished after {PATIENCE:?}"));
        }
        mischief::heal(sim);
        world.is_over.store(true, Ordering::Relaxed);
        // What a process leaves that ended at once goes while others use the recipe.
        let has_left = |sim: &Sim| {
            let server = &sim.net.lock().server;
            let is_done = world.concluded.load(Ordering::Relaxed) == HOSTS;
            is_done && server.left() == 0 && server.watches() == 0
        };
        if !until(sim, PATIENCE, has_left)? {
            let server = &sim.net.lock().server;
            let (nodes, watches) = (server.leftovers(), server.watches());
            return Err(format!("{watches} watches and these nodes are left behind: {nodes:?}"));
        }
        world.is_clear.store(true, Ordering::Relaxed);
        let has_ended = |sim: &Sim| {
            let is_closed = world.closed.load(Ordering::Relaxed) == HOSTS;
            is_closed && sim.tasks() == 0 && sim.net.lock().server.sessions() == 0
        };
        if !until(sim, PATIENCE, has_ended)? {
            return Err(format!("{} tasks outlive their clients", sim.tasks()));
        }
        if let Some(wrong) = sim.ledger.reckon() {
            return Err(wrong);
        }
        Ok(())
    }
}

#[derive(Default)]
struct World {
    /// How often each has done it, through all its processes.
    rounds: [AtomicUsize; HOSTS],
    /// How many have done it often enough.
    through: AtomicUsize,
    is_over: AtomicBool,
    /// How many have looked at the end of it, and whether nothing is left.
    concluded: AtomicUsize,
    is_clear: AtomicBool,
    closed: AtomicUsize,
}

/// One that does it again and again, also after its process has ended.
struct Member {
    sim: Arc<Sim>,
    host: HostId,
    party: Arc<Party>,
    clock: HostClock,
    world: Arc<World>,
}

impl Process for Member {
    fn launch(self: Arc<Self>) {
        self.sim.spawn(self.host, Box::pin(self.clone().live()));
    }
}

impl Member {
    async fn live(self: Arc<Self>) {
        let (sim, world, rounds) = (&self.sim, &self.world, &self.world.rounds[self.host]);
        let client = self.party.connect().await;
        let sink = HostClock { sim: sim.clone(), host: self.host };
        client.deliver_through(move |_, job| sink.spawn(Box::pin(async move { job() })));
        let handle = match sim.chance(|rng| sim.plan.subject.handle(&client, rng)) {
            Ok(handle) => handle,
            Err(error) => return self.party.accuse(format!("no handle: {error}")),
        };
        while rounds.load(Ordering::Relaxed) < ROUNDS {
            let is_done = match &handle {
                Handle::Counter(counter) => self.count(counter).await,
                Handle::Queue(queue) => self.work(queue).await,
                handle => self.hold(handle).await,
            };
            if is_done && rounds.fetch_add(1, Ordering::Relaxed) + 1 == ROUNDS {
                world.through.fetch_add(1, Ordering::Relaxed);
            }
        }
        while !world.is_over.load(Ordering::Relaxed) {
            self.nap(LOOKS).await;
        }
        self.conclude(&handle).await;
        world.concluded.fetch_add(1, Ordering::Relaxed);
        while !world.is_clear.load(Ordering::Relaxed) {
            self.nap(LOOKS).await;
        }
        drop(handle);
        if let Err(error) = client.close(Some(Duration::from_secs(20))).await {
            self.party.accuse(format!("not closed: {error}"));
        }
        world.closed.fetch_add(1, Ordering::Relaxed);
    }

    async fn nap(&self, duration: Duration) {
        self.clock.sleep_until(self.clock.now() + duration).await;
    }

    /// What comes of a call; `None` if it was withdrawn.
    async fn unless_withdrawn<T>(&self, call: impl Future<Output = T>) -> Option<T> {
        let withdrawal = self.sim.hosts.lock()[self.host].withdrawal.clone();
        let call = pin!(call);
        tokio::select! {
            biased;
            answer = call => Some(answer),
            () = withdrawal.notified() => None,
        }
    }

    /// Whether it was done; an error that is no surprise says that it was not, or that nobody knows.
    fn is_done(&self, what: &str, answer: Option<Result<()>>) -> bool {
        let is_done = matches!(answer, Some(Ok(())));
        let allowed = [ErrorKind::NotHeld, ErrorKind::Lost, ErrorKind::Timeout];
        answer.into_iter().for_each(|answer| self.party.expect(what, answer, &allowed));
        is_done
    }

    // ---- what is held

    async fn hold(&self, handle: &Handle) -> bool {
        let (sim, ledger) = (&self.sim, &self.sim.ledger);
        let ask = sim.chance(|rng| handle.ask(rng));
        let ticket = ledger.queue(self.host, ask.in_order(), false);
        let held = match self.unless_withdrawn(ask.acquire_within(None)).await {
            Some(Ok(held)) => Arc::new(held),
            answer => {
                ledger.leave_queue(ticket);
                return self.is_done("acquire", answer.map(|answer| answer.map(drop)));
            }
        };
        let id = self.party.begin(ticket, &held);
        let written = self.unless_withdrawn(self.party.write_guarded(&held)).await;
        if let Handle::Election(_) = handle {
            let leadership = drive::leadership(Held::clone(&held));
            let acknowledged = self.unless_withdrawn(leadership.acknowledge(b"at work")).await;
            self.is_done("acknowledge", acknowledged);
        }
        self.nap(sim.plan.hold).await;
        ledger.asked(id, held.is_held());
        let releasing = held.release();
        ledger.released(id, false);
        let released = self.unless_withdrawn(releasing).await;
        self.is_done("release", released) && written.is_some()
    }

    // ---- what is counted

    async fn count(&self, counter: &Counter) -> bool {
        let sums = &self.sim.ledger.sums;
        sums.begun();
        self.sim.ledger.count(|tally| tally.changes += 1);
        let fate = match self.unless_withdrawn(counter.add(1)).await {
            Some(Ok(value)) => Fate::Made(value),
            Some(Err(error)) if error.message().contains("was not changed") => Fate::NotMade,
            Some(Err(error)) if error.kind() != ErrorKind::ConnectionLost => {
                self.party.accuse(format!("{} from counting: {error}", error.kind().name()));
                return false;
            }
            _ => Fate::Open,
        };
        let is_made = matches!(fate, Fate::Made(_));
        sums.ended(fate).into_iter().for_each(|wrong| self.party.accuse(wrong));
        is_made
    }

    // ---- what is queued

    /// Puts two items, works on one and takes one.
    async fn work(&self, queue: &AnyQueue) -> bool {
        let (sim, items) = (&self.sim, &self.sim.ledger.items);
        for _ in 0..2 {
            let name = [items.fresh()];
            let put = self.unless_withdrawn(queue.put(&name, 0, None)).await;
            if matches!(put, Some(Ok(()))) {
                items.went_in(&name);
            }
            self.is_done("put", put);
        }
        let claimed = self.unless_withdrawn(drive::claim(queue, Some(SESSION))).await;
        let mut is_done = false;
        match claimed {
            Some(Ok(item)) => {
                let item = Arc::new(item);
                let wrong = items.claimed(self.host, &item, Arc::downgrade(&item), wall(sim));
                wrong.into_iter().for_each(|wrong| self.party.accuse(wrong));
                items.settles(self.host, item.data());
                let (effects, mode) = (item.guarded(), CreateMode::Persistent);
                let acknowledged = match effects.create(&items::effect(item.data()), b"", mode) {
                    Ok(()) => self.unless_withdrawn(item.ack_with(&effects)).await,
                    Err(error) => Some(Err(error)),
                };
                let is_certain = matches!(acknowledged, Some(Ok(())));
                if is_certain && !items.has_effect(item.data()) {
                    self.party.accuse(format!("{item:?} is done, and its effect is not there"));
                }
                let is_refused =
                    matches!(&acknowledged, Some(Err(error)) if error.kind() == ErrorKind::NotHeld);
                if !is_refused {
                    let wrong = items.done(&item, is_certain);
                    wrong.into_iter().for_each(|wrong| self.party.accuse(wrong));
                }
                is_done = self.is_done("ack", acknowledged);
                items.has_settled(self.host, item.data());
            }
            claimed => _ = self.is_done("claim", claimed.map(|claimed| claimed.map(drop))),
        }
        items.begins_to_get(self.host);
        let got = self.unless_withdrawn(drive::get(queue, Some(SESSION))).await;
        match got.map(|got| got.map(drive::Got::hand_over)) {
            Some(Ok(data)) => {
                let wrong = items.got(self.host, &data, wall(sim));
                wrong.into_iter().for_each(|wrong| self.party.accuse(wrong));
                is_done
            }
            got => self.is_done("get", got.map(|got| got.map(drop))) && is_done,
        }
    }

    // ---- the end

    async fn conclude(&self, handle: &Handle) {
        match handle {
            Handle::Queue(queue) => {
                self.sim.ledger.items.stopped();
                self.party.leave_nothing(queue).await;
            }
            Handle::Counter(counter) => match counter.get().await {
                Ok(value) => {
                    let wrong = self.sim.ledger.sums.final_value(value);
                    wrong.into_iter().for_each(|wrong| self.party.accuse(wrong));
                }
                Err(error) => self.party.accuse(format!("nobody can say the sum: {error}")),
            },
            _ => {}
        }
    }
}
