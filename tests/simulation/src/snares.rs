//! Faults that lie in wait for a request: it is lost, or its answer, alone or with all that its client writes after it; the process ends
//! before or behind it, or somebody deletes a node.

use zkrecipes_embedded::wire::{Op, Request, RequestHead, SubWrite, parse_request};

use crate::net::Net;
use crate::plan::{Plan, TroubleKind};
use crate::rng::Rng;
use crate::sim::{HostId, Instant, Sim, nanos};

/// A fault that lies in wait for a request.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Snare {
    BreakBefore,
    BreakAfter,
    CrashBefore,
    CrashAfter,
    Force,
    /// The connection breaks, a node of its session goes, and for a while no transaction gets through.
    Theft,
    /// Nobody hears what became of the end of a claim, and its owner gives up asking.
    Doubt {
        is_applied: bool,
    },
}

/// What a transaction changes; `None` for one that only looks, and for what is none.
fn writes(frame: &[u8]) -> Option<Vec<SubWrite<'_>>> {
    let (_, body) = RequestHead::split(frame).ok()?;
    let Ok(Request::Multi(mut parts)) = parse_request(Op::MULTI, body) else { return None };
    parts.retain(|part| !matches!(part, SubWrite::Check { .. }));
    (!parts.is_empty()).then_some(parts)
}

/// The node of the claim that a transaction deletes.
pub fn ended_claim(op: Op, frame: &[u8]) -> Option<String> {
    let parts = writes(frame).filter(|_| op == Op::MULTI)?;
    let mut deleted = parts.into_iter().filter_map(|part| match part {
        SubWrite::Delete { path, .. } => Some(path.into_owned()),
        _ => None,
    });
    deleted.find(|path| path.contains("/claims/"))
}

impl Snare {
    /// What becomes of the request itself.
    pub fn of(trouble: TroubleKind) -> Option<Snare> {
        match trouble {
            TroubleKind::Lost => Some(Snare::BreakBefore),
            TroubleKind::AnswerLost | TroubleKind::Elsewhere | TroubleKind::SessionEnded => {
                Some(Snare::BreakAfter)
            }
            TroubleKind::KilledBefore => Some(Snare::CrashBefore),
            TroubleKind::KilledAfter => Some(Snare::CrashAfter),
            TroubleKind::Withdrawn | TroubleKind::Collected | TroubleKind::Deleted => None,
        }
    }

    pub fn crash(is_applied: bool) -> Snare {
        if is_applied { Snare::CrashAfter } else { Snare::CrashBefore }
    }

    pub fn draw(rng: &mut Rng, plan: &Plan, op: Op) -> Option<Snare> {
        // Where a lost answer leaves most doubt, twice as often.
        let weight = if matches!(op, Op::CREATE2 | Op::DELETE) { 2 } else { 1 };
        if rng.one_in(plan.snares / weight) {
            return Some(if rng.one_in(3) { Snare::BreakBefore } else { Snare::BreakAfter });
        }
        if plan.subject.is_mortal() && rng.one_in(plan.snares * 8) {
            return Some(if rng.one_in(2) { Snare::CrashBefore } else { Snare::CrashAfter });
        }
        rng.one_in(plan.forces).then_some(Snare::Force)
    }
}

/// What does not arrive of a host.
pub struct Swallowed {
    until: Instant,
    /// What only looks at nodes arrives.
    spares_heartbeats: bool,
}

impl Net {
    /// From now on nothing of a host is carried out for longer than a call goes on.
    pub(super) fn swallow(&mut self, sim: &Sim, host: Option<HostId>, spares_heartbeats: bool) {
        let until = sim.now() + nanos(sim.plan.gives_up.unwrap_or_default() * 2);
        host.map(|host| self.server.swallowed.insert(host, Swallowed { until, spares_heartbeats }));
    }

    pub(super) fn is_swallowed(&self, sim: &Sim, host: HostId, frame: &[u8]) -> bool {
        let swallowed = self.server.swallowed.get(&host).filter(|swallowed| swallowed.until > sim.now());
        swallowed.is_some_and(|swallowed| !swallowed.spares_heartbeats || writes(frame).is_some())
    }

    /// Where there is force, a claim of which its owner does not know whether it has ended is taken away, alone or with its session.
    pub(super) fn take_away(&mut self, sim: &Sim, session: Option<i64>, claim: &str) {
        if sim.plan.forces == 0 || self.server.is_away() {
            return;
        }
        match sim.chance(|rng| rng.below(4)) {
            0 => self.end_by_force(sim, session),
            1 | 2 => self.delete_by_force(sim, claim),
            _ => {}
        }
    }
}
