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
//! A seed also decides what everybody is after: a lock, a read/write lock, the permits of a semaphore, or several locks
//! at once. What is checked, at every step, against the server's truth: nobody holds whose node is gone or who has
//! somebody before them that keeps them out, no more hold at once than may, fencing tokens rise, a loss is told in time,
//! once, and for good; afterwards, that everybody who waits gets their turn and that nothing is left.

mod clock;
mod executor;
mod ledger;
mod mischief;
mod net;
mod plan;
mod rng;
mod scenario;
mod server;
mod sim;
mod snapshot;
mod solo;
mod standing;
mod subject;
mod tokens;
mod trace;
mod wire;

use std::sync::Arc;
use std::time::Duration;

pub use ledger::Tally;
use plan::Plan;
use rng::Rng;
use scenario::Party;
use sim::{DAWN, Sim, nanos};

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
    Plan::draw(&mut Rng::new(seed)).subject.name()
}

/// Runs one seed; `aloud` prints every event.
pub fn run(seed: u64, aloud: bool) -> Outcome {
    let sim = Sim::new(seed, aloud);
    tell!(sim, "{:?}", sim.plan);
    let failure = play(&sim).err();
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

/// Steps of unrest that are enough.
const BUSY: u64 = 100_000;

fn play(sim: &Arc<Sim>) -> Result<(), String> {
    let parties: Vec<_> = (0..sim.plan.hosts).map(|host| Party::start(sim, host)).collect();
    (1..sim.plan.members).for_each(|member| mischief::rejoin(sim, member));
    mischief::plan_next(sim);
    let unrest = sim.plan.unrest;
    // Busy worlds end sooner, so that no seed takes much longer than the others.
    until(sim, unrest, |sim| sim.steps() >= BUSY)?;

    mischief::heal(sim);
    parties.iter().for_each(|party| party.wind_up());
    let patience = sim.plan.patience();
    let is_idle = until(sim, patience, |_| parties.iter().all(|party| party.working() == 0))?;
    if !is_idle {
        let waiting: usize = parties.iter().map(|party| party.working()).sum();
        return Err(format!("{waiting} workers have not finished {patience:?} after the last fault"));
    }

    let left = |sim: &Sim| {
        let server = &sim.net.lock().server;
        (server.leftovers(), server.watches())
    };
    if !until(sim, patience, |sim| left(sim) == (0, 0))? {
        let (nodes, watches) = left(sim);
        let watched = sim.net.lock().server.watched();
        return Err(format!("{nodes} nodes and {watches} watches are left behind: {watched}"));
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
