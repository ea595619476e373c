//! The recipes of the core, unchanged, on the embedded state machine under virtual time.
//!
//! One seed is one schedule: which task runs next, how long a message takes, when a connection breaks, a process
//! stands still or a server restarts all follow from it, and nothing else does. So a failure that took a million
//! schedules to find happens again at the first try:
//!
//! ```
//! let outcome = zkrecipes_simulation::run(7, false);
//! assert_eq!(outcome.failure, None);
//! assert_eq!(outcome.hash, zkrecipes_simulation::run(7, false).hash);
//! ```
//!
//! A seed also decides what everybody is after: a lock, a read/write lock, the permits of a semaphore, several locks at
//! once, to lead, to count, to be a member of a group, to write a tree that others follow, to put items and to take
//! them, to begin and to end together, or to commit together (see `observing`, `counting`, `views`, `items`, `rounds`
//! and `commits` for what is checked of these). What is checked, at every step, against the server's truth: nobody holds
//! whose node is gone or who has somebody before them that keeps them out, no more hold at once than may, fencing
//! tokens rise, a loss is told in time, once, and for good; afterwards, that everybody who waits gets their turn and that
//! nothing is left.

mod book;
mod clock;
mod combinations;
mod commits;
mod committing;
mod counting;
mod executor;
mod following;
mod hand;
mod items;
mod ledger;
mod meeting;
mod mischief;
mod net;
mod observing;
mod pairs;
mod plan;
mod queueing;
mod riding;
mod rng;
mod rounds;
mod scenario;
mod server;
mod sim;
mod snapshot;
mod snares;
mod solo;
mod standing;
mod standstill;
mod subject;
mod tally;
mod tokens;
mod trace;
mod views;
mod walk;
mod wire;

use std::sync::Arc;
use std::time::Duration;

pub use combinations::combinations;
pub use pairs::{courses, troubled_commits};
use plan::Plan;
pub use riding::{Riding, What};
use rng::Rng;
use scenario::Party;
use sim::{DAWN, Process, Sim, nanos};
pub use standstill::{Standstill, rehearse};
use subject::Subject;
pub use tally::Tally;
pub use walk::{Walk, Walks};

/// How a seed went.
#[derive(Debug)]
pub struct Outcome {
    pub seed: u64,
    /// What the workers were after.
    pub subject: &'static str,
    /// The promise that was broken.
    pub failure: Option<String>,
    pub steps: u64,
    pub simulated: Duration,
    pub tally: Tally,
    /// Of the whole schedule: equal hashes, equal schedules.
    pub hash: u64,
    /// The last events, for a failure.
    pub last: Vec<String>,
}

/// What the workers of a seed are after, which is known before anything runs.
pub fn subject(seed: u64) -> &'static str {
    let drawn = || Plan::draw(&mut Rng::new(seed)).subject;
    Subject::instead(seed).unwrap_or_else(drawn).name()
}

/// All rows of cases in which two crash, or two requests meet trouble; or in which one request does.
pub fn rows(is_pairs: bool) -> Vec<Box<dyn Walks>> {
    let mut all: Vec<Box<dyn Walks>> = Vec::new();
    all.extend(combinations(is_pairs).into_iter().map(|row| Box::new(row) as Box<dyn Walks>));
    all.extend(troubled_commits(is_pairs).into_iter().map(|row| Box::new(row) as Box<dyn Walks>));
    if is_pairs {
        all.extend(courses().into_iter().map(|row| Box::new(row) as Box<dyn Walks>));
    }
    all
}

/// Runs one seed; `aloud` prints every event.
pub fn run(seed: u64, aloud: bool) -> Outcome {
    let _chances = Sim::chances(seed);
    let sim = Sim::new(seed, aloud);
    tell!(sim, "{:?}", sim.plan);
    let failure = play(&sim).err();
    conclude(&sim, seed, failure)
}

/// Takes the world apart and says how it went.
fn conclude(sim: &Arc<Sim>, seed: u64, failure: Option<String>) -> Outcome {
    if let Some(failure) = &failure {
        tell!(sim, "BROKEN: {failure}");
    }
    sim.ledger.shut();
    sim.take_apart();
    let trace = sim.trace.lock();
    Outcome {
        seed,
        subject: sim.plan.subject.name(),
        failure,
        steps: sim.steps(),
        simulated: Duration::from_nanos(sim.now() - DAWN),
        tally: sim.ledger.tally(),
        hash: trace.hash(),
        last: trace.last().map(str::to_owned).collect(),
    }
}

/// What one transaction that is open when the faults end takes at most, one after the other: its sites and coordinators
/// come to it when they are done with those before it.
const ROUND_TRIPS: u32 = 20;

/// Steps of unrest that are enough.
const BUSY: u64 = 100_000;

fn play(sim: &Arc<Sim>) -> Result<(), String> {
    let parties: Vec<_> = (0..sim.plan.hosts).map(|host| Party::start(sim, host)).collect();
    sim.processes.lock().extend(parties.iter().map(|party| party.clone() as Arc<dyn Process>));
    (1..sim.plan.members).for_each(|member| mischief::rejoin(sim, member));
    mischief::plan_next(sim);
    let unrest = sim.plan.unrest;
    // Busy worlds end sooner, so that no seed takes much longer than the others.
    until(sim, unrest, |sim| sim.steps() >= BUSY)?;

    mischief::heal(sim);
    parties.iter().for_each(|party| party.wind_up());
    // Each host begins one more then.
    let last =
        if matches!(sim.plan.subject, Subject::TwoPhaseCommit { .. }) { sim.plan.hosts as u32 } else { 0 };
    let patience =
        sim.plan.patience() + sim.plan.round_trips(ROUND_TRIPS * (sim.ledger.commits.open() + last));
    let are_idle = |_: &Sim| parties.iter().all(|party| party.working() == 0);
    let mut is_idle = until(sim, patience, are_idle)?;
    // Items that are paused come later, also those that somebody was giving back when the faults ended.
    let rest = |sim: &Sim| sim.ledger.items.patience_after_pauses(patience, clock::wall(sim));
    while !is_idle && !rest(sim).is_zero() {
        is_idle = until(sim, rest(sim), are_idle)?;
    }
    if let Some(wrong) = sim.ledger.reckon() {
        return Err(wrong);
    }
    if !is_idle {
        let waiting: usize = parties.iter().map(|party| party.working()).sum();
        let (why, server) = (sim.ledger.views.disagreement(), &sim.net.lock().server);
        return Err(format!(
            "{waiting} workers have not finished {patience:?} after the last fault; {why}left: {}",
            server.leftovers().join(", ")
        ));
    }

    let left = |sim: &Sim| {
        let server = &sim.net.lock().server;
        (server.left(), server.watches())
    };
    let sweeping = patience + sim.plan.sweeping(left(sim).0);
    if !until(sim, sweeping, |sim| left(sim) == (0, 0))? {
        let (nodes, watches) = left(sim);
        let server = &mut sim.net.lock().server;
        let (names, watched) = (server.leftovers().join(", "), server.watched());
        return Err(format!("{nodes} nodes and {watches} watches are left behind: {names}; {watched}"));
    }

    parties.iter().for_each(|party| party.close());
    let has_ended = |sim: &Sim| {
        let is_closed = parties.iter().all(|party| party.is_closed());
        is_closed && sim.tasks() == 0 && sim.net.lock().server.sessions() == 0
    };
    if !until(sim, patience, has_ended)? {
        let sessions = sim.net.lock().server.sessions();
        return Err(format!("{} tasks and {sessions} sessions outlive their clients", sim.tasks()));
    }
    Ok(())
}

/// Steps until `done` or for as long as given; says which came first.
fn until(sim: &Arc<Sim>, limit: Duration, done: impl Fn(&Sim) -> bool) -> Result<bool, String> {
    let end = sim.now() + nanos(limit);
    while sim.now() < end {
        let moves = sim.step();
        if let Some(accusation) = sim.ledger.accusation() {
            return Err(accusation);
        }
        if done(sim) {
            return Ok(true);
        }
        if !moves {
            return Err("nothing will ever happen again".to_owned());
        }
    }
    Ok(false)
}
