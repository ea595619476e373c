//! One pause while somebody holds: it costs nothing if it is no longer than is promised, whatever stands still and whenever.

use std::sync::Arc;
use std::time::Duration;

use zkrecipes::drive::bears;
use zkrecipes::session::clock::{Clock, Moment};
use zkrecipes::{Client, ClientOptions, LeaseMode, LockOptions};

use crate::clock::HostClock;
use crate::plan::Plan;
use crate::rng::Rng;
use crate::sim::{DAWN, Due, HostId, Instant, Sim, nanos};
use crate::subject::Subject;
use crate::wire::HostDial;
use crate::{Outcome, conclude, mischief, tell, until};

const HOLDER: HostId = 0;

/// What stands still.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum What {
    Leader,
    Servers,
    Network,
    Client,
}

/// A pause, by what it depends on.
#[derive(Copy, Clone, Debug)]
pub struct Riding {
    pub what: What,
    pub timeout: Duration,
    pub mode: LeaseMode,
    /// Whether the client is told how long a tick is.
    pub is_tick_known: bool,
    /// When the lock is acquired, after an idle time, and how long after that the pause begins.
    pub acquires: Duration,
    pub begins: Duration,
}

impl Riding {
    fn tick(&self) -> Duration {
        if self.is_tick_known { self.timeout / 5 } else { self.timeout / 2 }
    }

    fn plan(&self) -> Plan {
        let ms = Duration::from_millis;
        let mut plan = Plan::draw(&mut Rng::new(0));
        plan.subject = Subject::Lock { handoff: 0 };
        (plan.naming, plan.numbers_left) = (zkrecipes::Naming::Curator, None);
        (plan.members, plan.lag, plan.homes) = (3, Duration::ZERO, vec![1]);
        (plan.hosts, plan.workers) = (1, 1);
        (plan.session_timeout, plan.tick) = (self.timeout, self.tick());
        plan.latency = ms(0)..=ms(2);
        (plan.spikes, plan.snares, plan.forces, plan.requests) = (0, 0, 0, 0);
        plan.probes = false;
        plan
    }

    pub fn run(&self, seed: u64) -> Outcome {
        let _chances = Sim::chances(seed);
        let sim = Sim::of(self.plan(), Rng::new(seed), false);
        sim.ledger.calm();
        tell!(sim, "{self:?}");
        let failure = self.play(&sim).err();
        conclude(&sim, seed, failure)
    }

    fn play(&self, sim: &Arc<Sim>) -> Result<(), String> {
        let acquires = DAWN + nanos(self.timeout * 2 + self.acquires);
        let begins = acquires + nanos(self.begins);
        let tick = self.is_tick_known.then(|| self.tick());
        let lapse = bears(self.timeout, self.mode, tick);
        let ends = begins + nanos(lapse);
        let over = ends + nanos(self.timeout);
        let mut options = ClientOptions::default().session_timeout(self.timeout).lease(self.mode);
        options.server_tick = tick;
        sim.spawn(HOLDER, Box::pin(hold(sim.clone(), options, acquires, over)));
        reach(sim, begins)?;
        match self.what {
            What::Leader => {
                if !sim.net.lock().pause_leader(sim, lapse) {
                    return Err("the leader cannot pause".to_owned());
                }
            }
            What::Servers => sim.net.lock().pause(sim, ends),
            What::Network => sim.net.lock().stick(HOLDER, Some(ends), Some(ends)),
            What::Client => mischief::pause(sim, HOLDER, lapse),
        }
        reach(sim, over + nanos(Duration::from_millis(10)))?;
        match sim.ledger.tally().acquisitions {
            1 => Ok(()),
            _ => Err("nobody held".to_owned()),
        }
    }
}

fn reach(sim: &Arc<Sim>, end: Instant) -> Result<(), String> {
    sim.at(end, Due::Look);
    until(sim, Duration::from_nanos(end - sim.now()), |sim| sim.now() >= end).map(drop)
}

async fn hold(sim: Arc<Sim>, options: ClientOptions, acquires: Instant, over: Instant) {
    let clock = Arc::new(HostClock { sim: sim.clone(), host: HOLDER });
    let dial = Box::new(HostDial { sim: sim.clone(), host: HOLDER });
    let connected = Client::connect_over(dial, clock.clone(), "simulated:2181", options).await;
    let Ok(client) = connected else { return sim.ledger.accuse("not connected".to_owned()) };
    clock.sleep_until(Moment(acquires)).await;
    let lock = client.lock("/locks/simulated", LockOptions::default()).expect("a valid path");
    let ticket = sim.ledger.queue(HOLDER, None, false);
    match lock.acquire().await {
        Ok(held) => {
            let held = Arc::new(held);
            let id = sim.ledger.granted(&sim, HOLDER, ticket, &held);
            while held.is_held() && sim.now() < over {
                clock.sleep_until(clock.now() + Duration::from_millis(20)).await;
            }
            if !held.is_held() {
                sim.ledger.accuse("the lock was lost".to_owned());
            }
            let released = held.release_in_background();
            sim.ledger.released(id, released.is_ok());
        }
        Err(error) => sim.ledger.accuse(format!("not granted: {error}")),
    }
    std::future::pending::<()>().await;
}
