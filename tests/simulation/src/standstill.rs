//! One pause of the leader, placed where the lease has least to spare: just after a waiter's heartbeat was answered, and
//! just before the leader would have heard of it.
//!
//! One client holds and lets go during the pause; one waits for it behind a follower; a third waits behind both. When the
//! leader wakes, the second may be granted what its session is about to lose, and then hears nothing more for a while.

use std::sync::Arc;
use std::time::Duration;

use zkrecipes::session::clock::{Clock, Moment};
use zkrecipes::{Client, ClientOptions, LockOptions};

use crate::clock::HostClock;
use crate::plan::Plan;
use crate::rng::Rng;
use crate::server::Waking;
use crate::sim::{DAWN, Due, HostId, Instant, Sim, nanos};
use crate::subject::Subject;
use crate::wire::HostDial;
use crate::{Outcome, conclude, mischief, tell, until};

const TIMEOUT: Duration = Duration::from_secs(4);
/// The longest that the servers take for such a session: the least that the lease can live with.
const TICK: Duration = Duration::from_secs(2);
/// By when everybody waits as they always do.
const SETTLED: Duration = Duration::from_millis(7_500);
/// By when an answer is there that a request which has reached its server will get.
const ANSWERED: Duration = Duration::from_millis(6);

/// When the waiter begins to stand still, if it does.
const STALLS: Duration = Duration::from_millis(100);

/// A pause, by what it depends on.
#[derive(Copy, Clone, Debug)]
pub struct Standstill {
    /// How long after the pause begins the leader would have asked its followers who was there.
    pub asks: Duration,
    /// How much longer than its timeout the waiter's session lives, since sessions end at multiples of a tick.
    pub rounding: Duration,
    pub lapse: Duration,
    /// When the waiter goes on, if it stood still, too. Whoever asks for something during the pause hears nothing from then
    /// on, and gives the connection up after a good third of a timeout: only what is asked for late is answered on waking.
    pub stall: Option<Duration>,
    /// How long after waking the leader ends sessions; `None` for before it looks at what came meanwhile.
    pub ends: Option<Duration>,
}

/// The hosts.
const HOLDER: HostId = 0;
const WAITER: HostId = 1;
const NEXT: HostId = 2;

fn plan() -> Plan {
    let ms = Duration::from_millis;
    let mut plan = Plan::draw(&mut Rng::new(0));
    plan.subject = Subject::Lock { handoff: 0 };
    (plan.naming, plan.numbers_left) = (zkrecipes::Naming::Curator, None);
    (plan.members, plan.lag, plan.homes) = (3, Duration::ZERO, vec![2, 1, 0]);
    (plan.hosts, plan.workers) = (3, 1);
    (plan.session_timeout, plan.tick) = (TIMEOUT, TICK);
    plan.latency = ms(0)..=ms(1);
    (plan.spikes, plan.snares, plan.forces, plan.requests) = (0, 0, 0, 0);
    // Not before the pause: who is asked looks at its connection, and so chance would take another course.
    plan.probes = false;
    plan
}

/// When the waiter's heartbeat is answered after which the leader is to pause. What the servers do between two answers
/// changes nothing about it.
pub fn rehearse(seed: u64) -> Instant {
    let _chances = Sim::chances(seed);
    let sim = Sim::of(plan(), Rng::new(seed), false);
    sim.ledger.calm();
    begin(&sim, Instant::MAX);
    let beat = await_beat(&sim);
    sim.ledger.shut();
    sim.take_apart();
    beat.expect("the waiter's heart beats")
}

fn await_beat(sim: &Arc<Sim>) -> Result<Instant, String> {
    let beat = |sim: &Sim| sim.net.lock().server.checked(WAITER).filter(|at| *at > DAWN + nanos(SETTLED));
    until(sim, SETTLED * 2, |sim| beat(sim).is_some())?;
    beat(sim).ok_or_else(|| "no heartbeat".to_owned())
}

impl Standstill {
    /// Plays it on a schedule of which the heartbeat is known.
    pub fn run(&self, seed: u64, beat: Instant) -> Outcome {
        let begins = beat + nanos(ANSWERED);
        // The leader heard of the waiter half a tick before it would have asked next.
        let heard = begins + nanos(self.asks) - nanos(TICK / 2);
        let mut plan = plan();
        // Then the servers' clock shows a multiple of a tick, less the rounding.
        let (since, tick) = (heard - DAWN, nanos(TICK));
        plan.clock = Duration::from_nanos((tick - (since + nanos(self.rounding)) % tick) % tick);
        plan.asks = Duration::from_nanos(since % nanos(TICK / 2));
        let _chances = Sim::chances(seed);
        let sim = Sim::of(plan, Rng::new(seed), false);
        sim.ledger.calm();
        tell!(sim, "{self:?}");
        let failure = self.play(&sim, beat).err();
        conclude(&sim, seed, failure)
    }

    fn play(&self, sim: &Arc<Sim>, beat: Instant) -> Result<(), String> {
        let begins = beat + nanos(ANSWERED);
        begin(sim, begins);
        if await_beat(sim)? != beat {
            return Err("the schedule is not the one that was rehearsed".to_owned());
        }
        wait(sim, begins)?;
        sim.ledger.probe();
        tell!(sim, "the leader pauses for {:?}", self.lapse);
        // Its followers answer later than its own threads get to work.
        let waking =
            Waking { asks: self.ends.unwrap_or_default() + Duration::from_millis(20), ends: self.ends };
        if !sim.net.lock().pause_leader_until(sim, self.lapse, waking) {
            return Err("the leader cannot pause".to_owned());
        }
        let wakes = begins + nanos(self.lapse);
        if let Some(stall) = self.stall {
            wait(sim, begins + nanos(STALLS))?;
            mischief::pause(sim, WAITER, stall - STALLS);
        }
        wait(sim, wakes + nanos(Duration::from_millis(15)))?;
        sim.net.lock().stick(WAITER, None, Some(wakes + nanos(TIMEOUT / 3)));
        // A session that its client has given up stands for a timeout and a tick, and whoever waits behind it waits for that.
        wait(sim, wakes + nanos(TIMEOUT * 3 / 2 + TICK))?;
        if sim.ledger.tally().acquisitions < 2 {
            return Err("nobody came after the first holder".to_owned());
        }
        Ok(())
    }
}

fn wait(sim: &Arc<Sim>, end: Instant) -> Result<(), String> {
    sim.at(end, Due::Look);
    until(sim, Duration::from_nanos(end - sim.now()), |sim| sim.now() >= end).map(drop)
}

fn begin(sim: &Arc<Sim>, lets_go: Instant) {
    for (host, delay, until) in
        [(HOLDER, 500, lets_go), (WAITER, 2_000, Instant::MAX), (NEXT, 3_000, Instant::MAX)]
    {
        let role = Role { sim: sim.clone(), host, begins: DAWN + delay * 1_000_000, until };
        sim.spawn(host, Box::pin(role.play()));
    }
}

/// A client that queues at some time, and holds until another.
struct Role {
    sim: Arc<Sim>,
    host: HostId,
    begins: Instant,
    until: Instant,
}

impl Role {
    async fn play(self) {
        let (sim, host) = (&self.sim, self.host);
        let clock = HostClock { sim: sim.clone(), host };
        let options = ClientOptions::default().session_timeout(TIMEOUT).identity(format!("h{host}"));
        let dial = Box::new(HostDial { sim: sim.clone(), host });
        let own_clock = Arc::new(HostClock { sim: sim.clone(), host });
        let client = match Client::connect_over(dial, own_clock, "simulated:2181", options).await {
            Ok(client) => client,
            Err(error) => return sim.ledger.accuse(format!("h{host}: not connected: {error}")),
        };
        let sink = HostClock { sim: sim.clone(), host };
        client.deliver_through(move |_, job| sink.spawn(Box::pin(async move { job() })));
        clock.sleep_until(Moment(self.begins)).await;
        let lock = match client.lock("/locks/simulated", LockOptions::default()) {
            Ok(lock) => lock,
            Err(error) => return sim.ledger.accuse(format!("h{host}: no handle: {error}")),
        };
        let ticket = sim.ledger.queue(host, None, false);
        match lock.acquire().await {
            Ok(held) => {
                let held = Arc::new(held);
                let id = sim.ledger.granted(sim, host, ticket, &held);
                while held.is_held() && sim.now() < self.until {
                    clock.sleep_until(clock.now() + Duration::from_millis(50)).await;
                }
                tell!(sim, "h{host} lets go, held {}", held.is_held());
                let released = held.release_in_background();
                sim.ledger.released(id, released.is_ok());
            }
            Err(error) => tell!(sim, "h{host} was not granted: {error}"),
        }
        // Nobody closes: what is asked for at the end would only come later.
        std::future::pending::<()>().await;
    }
}
