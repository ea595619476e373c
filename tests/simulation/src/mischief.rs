//! Faults of hosts, the network and the server, one after the other until unrest ends.

use std::sync::Arc;
use std::time::Duration;

use crate::rng::Rng;
use crate::sim::{DAWN, Due, HostId, Instant, Sim, nanos};
use crate::tell;

/// Schedules the next fault, unless the time of unrest is over.
pub fn plan_next(sim: &Sim) {
    let next = sim.now() + nanos(sim.chance(|rng| rng.duration(sim.plan.mischief.clone())));
    if next < DAWN + nanos(sim.plan.unrest) {
        sim.at(next, Due::Mischief);
    }
}

/// A moment, a good part of a session timeout, or more than it.
fn lapse(rng: &mut Rng, session_timeout: Duration) -> Duration {
    let t = session_timeout;
    match rng.below(4) {
        0 | 1 => rng.duration(Duration::from_millis(1)..=Duration::from_millis(200)),
        2 => rng.duration(t / 10..=t),
        _ => rng.duration(t * 9 / 10..=t * 5 / 2),
    }
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

pub fn strike(sim: &Arc<Sim>) {
    // In a busy world the time of unrest ends before it was to.
    if sim.ledger.is_calm() {
        return;
    }
    plan_next(sim);
    sim.ledger.count_fault();
    if sim.plan.is_leader_tired && sim.chance(|rng| rng.one_in(2)) {
        let t = sim.plan.session_timeout;
        let any = t / 2..=t * 21 / 20;
        let due = sim
            .net
            .lock()
            .server
            .first_session_due()
            .map(|due| Duration::from_nanos(due.saturating_sub(sim.now())));
        let lapse = sim.chance(|rng| {
            let lapse = rng.duration(any.clone());
            // Often awake just before a session ends, or just after.
            let aimed = due.map(|due| (due + rng.duration(ms(0)..=ms(10))).saturating_sub(ms(5)));
            aimed.filter(|aimed| any.contains(aimed) && !rng.one_in(3)).unwrap_or(lapse)
        });
        if sim.net.lock().pause_leader(sim, lapse) {
            return tell!(sim, "the leader pauses for {lapse:?}");
        }
    }
    if sim.plan.subject.is_mortal() && sim.chance(|rng| rng.one_in(8)) {
        let host = sim.chance(|rng| rng.below(sim.plan.hosts as u64) as HostId);
        return sim.at(sim.now(), Due::Crash(host));
    }
    if sim.plan.is_clock_set && sim.chance(|rng| rng.one_in(4)) {
        return sim.net.lock().set_clock(sim);
    }
    if sim.plan.is_refused && sim.chance(|rng| rng.one_in(6)) {
        let lapse = sim.chance(|rng| lapse(rng, sim.plan.session_timeout));
        if sim.net.lock().refuse(sim).is_some() {
            sim.at(sim.now() + nanos(lapse), Due::Allow);
        }
        return;
    }
    let (host, kind, lapse) = sim.chance(|rng| {
        (rng.below(sim.plan.hosts as u64) as HostId, rng.below(28), lapse(rng, sim.plan.session_timeout))
    });
    let until = sim.now() + nanos(lapse);
    match kind {
        0..=4 => {
            let mut net = sim.net.lock();
            for conn in net.of_host(host) {
                net.cut(sim, conn);
            }
        }
        5..=8 => pause(sim, host, lapse),
        9..=11 => {
            let (up, down) = sim.chance(|rng| *rng.pick(&[(true, true), (true, false), (false, true)]));
            tell!(sim, "h{host} cut off for {lapse:?}, up {up} down {down}");
            sim.net.lock().stick(host, up.then_some(until), down.then_some(until));
        }
        12 => {
            let times = sim.chance(|rng| rng.number(2..=50));
            tell!(sim, "h{host} slow, {times} times for {lapse:?}");
            sim.net.lock().slow(host, times, until);
        }
        13 => {
            tell!(sim, "h{host} clock jumps by {lapse:?}");
            sim.ledger.disturb(Some(host));
            let state = &mut sim.hosts.lock()[host];
            state.skew += nanos(lapse);
            state.resumed = sim.now();
        }
        14 | 15 => {
            tell!(sim, "the server pauses for {lapse:?}");
            sim.net.lock().pause(sim, until);
        }
        16 => {
            tell!(sim, "the server stops for {lapse:?}");
            sim.net.lock().stop(sim, until);
        }
        24 | 25 => {
            tell!(sim, "h{host} workers stall, for {lapse:?} or until they hear of something");
            stall(sim, host, until);
        }
        17..=20 if sim.plan.members > 1 => {
            let (member, is_cut) =
                sim.chance(|rng| (rng.number(1..=sim.plan.members as u64 - 1) as usize, rng.one_in(3)));
            sim.ledger.count(|tally| tally.lags += 1);
            let mut net = sim.net.lock();
            if is_cut && net.isolate(sim, member) {
                tell!(sim, "s{member} loses the leader for {lapse:?}");
            } else {
                tell!(sim, "s{member} lags by {:?} for {lapse:?}", lapse / 2);
                net.lag(sim, member, lapse / 2);
            }
            sim.at(until, Due::Rejoin(member));
        }
        _ if sim.plan.forces == 0 => {}
        21 | 22 => {
            // Deleted in the client's absence, and it learns of both when it is back.
            tell!(sim, "h{host} is away for {lapse:?}");
            let mut net = sim.net.lock();
            net.stick(host, Some(until), Some(until));
            for conn in net.of_host(host) {
                net.cut(sim, conn);
            }
            sim.at(sim.now() + nanos(lapse / 2), Due::Ambush);
            drop(net);
            stall(sim, host, until + nanos(lapse));
        }
        23 => sim.net.lock().expire_by_force(sim),
        _ => {
            let mut net = sim.net.lock();
            let victims = net.server.line(sim);
            if !victims.is_empty() {
                let victim = sim.chance(|rng| rng.pick(&victims[..victims.len().min(3)]).clone());
                net.delete_by_force(sim, &victim);
            }
        }
    }
}

/// A host's workers stand still until then, or until an event reaches their client.
fn stall(sim: &Sim, host: HostId, until: Instant) {
    sim.ledger.disturb(Some(host));
    sim.hosts.lock()[host].is_stalled = true;
    sim.at(until, Due::GoOn(host));
}

/// None of the host's tasks, timers and alarms runs for a while; what arrives waits.
pub fn pause(sim: &Sim, host: HostId, lapse: Duration) {
    let until = sim.now() + nanos(lapse);
    let mut hosts = sim.hosts.lock();
    if hosts[host].is_paused() {
        return;
    }
    hosts[host].paused_until = Some(until);
    drop(hosts);
    sim.ledger.disturb(Some(host));
    tell!(sim, "h{host} paused for {lapse:?}");
    sim.at(until, Due::Resume(host));
}

/// The second in line goes by force, then the first.
pub fn ambush(sim: &Sim) {
    let mut net = sim.net.lock();
    for victim in net.server.line(sim).into_iter().take(2).rev() {
        net.delete_by_force(sim, &victim);
    }
}

/// A follower keeps up again.
pub fn rejoin(sim: &Sim, member: usize) {
    let mut net = sim.net.lock();
    net.lag(sim, member, sim.plan.lag);
    net.rejoin(sim, member);
}

/// From now on everything works.
pub fn heal(sim: &Sim) {
    tell!(sim, "no more faults");
    sim.ledger.calm();
    let mut net = sim.net.lock();
    net.heal(sim.now());
    net.allow(sim);
    net.server.ahead = 0;
    drop(net);
    (0..sim.plan.hosts).for_each(|host| sim.go_on(host));
    (1..sim.plan.members).for_each(|member| rejoin(sim, member));
}
