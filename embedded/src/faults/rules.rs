//! The rule engine. It decides what becomes of each frame between a client and its server, which is a machine or a real
//! server.

use super::{Act, Fault, FaultId, glob_matches};
use crate::wire::OpName;
use std::collections::BTreeSet;
use std::slice;
use std::time::Duration;

/// What a quota refuses.
pub(super) const UNDER_QUOTA: [&str; 5] = ["create", "create2", "createContainer", "createTTL", "setData"];

/// A request, as far as faults look at it.
#[derive(Debug, Clone, Copy)]
pub struct Ask<'a> {
    pub op: &'a str,
    /// That of each part of a multi.
    pub paths: &'a [String],
    /// The operations of a multi.
    pub parts: &'a [OpName],
    pub session: u64,
}

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Fate {
    #[default]
    Pass,
    DropBefore,
    DropAfter,
    AnswerExpired,
    AnswerThrottled,
    /// Because of that part of a multi.
    AnswerQuotaExceeded {
        part: usize,
    },
    /// It vanishes, and the connection stays up.
    Vanish,
}

/// The sum of all faults that match a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Verdict {
    pub fate: Fate,
    pub delay_request: Duration,
    pub delay_reply: Duration,
}

#[derive(Debug)]
struct Rule {
    id: FaultId,
    fault: Fault,
    until: Option<Duration>,
    seen: u64,
    fired: u64,
}

/// All faults that have been injected and have not fired yet. The caller says what time it is; time must not go back.
#[derive(Debug, Default)]
pub struct Rules {
    rules: Vec<Rule>,
    fired: BTreeSet<FaultId>,
    last_id: u64,
    /// The black hole that took what was asked about last.
    taken_by: Option<FaultId>,
}

impl Rules {
    pub fn inject(&mut self, fault: Fault, now: Duration) -> FaultId {
        self.last_id += 1;
        let id = FaultId(self.last_id);
        let until = fault.lasts.map(|d| now + d);
        self.rules.push(Rule { id, fault, until, seen: 0, fired: 0 });
        id
    }

    pub fn clear(&mut self) {
        self.rules.clear();
    }

    pub fn fired(&self, id: FaultId) -> bool {
        self.fired.contains(&id)
    }

    /// Whether there is nothing to look at, so that callers can skip the work.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The black hole that swallowed the request or reply asked about last, if one did.
    pub(crate) fn taken_by(&self) -> Option<FaultId> {
        self.taken_by
    }

    pub(crate) fn is_in_force(&self, id: FaultId, now: Duration) -> bool {
        self.rules.iter().any(|r| r.id == id && r.until.is_none_or(|t| t > now))
    }

    pub(crate) fn ends_at(&self, id: FaultId) -> Option<Duration> {
        self.rules.iter().find(|r| r.id == id)?.until
    }

    /// Judges a request as it arrives. Each request must be judged once.
    pub fn judge(&mut self, ask: Ask, now: Duration) -> Verdict {
        let mut verdict = Verdict::default();
        let mut taken_by = None;
        self.each(now, |rule| {
            let fate = match rule.fault.act {
                Act::DropAfterEvent | Act::RefuseConnection => return false,
                Act::BlackHole { requests: false, .. } => return false,
                Act::DropBefore => Fate::DropBefore,
                Act::DropAfter => Fate::DropAfter,
                Act::AnswerExpired => Fate::AnswerExpired,
                Act::AnswerThrottled => Fate::AnswerThrottled,
                Act::AnswerQuotaExceeded => {
                    Fate::AnswerQuotaExceeded { part: rule.part_over_quota(&ask).unwrap_or_default() }
                }
                Act::SwallowPings | Act::BlackHole { .. } => Fate::Vanish,
                Act::DelayRequest(_) | Act::DelayReply(_) | Act::StallConnections => Fate::Pass,
            };
            if !rule.counts(&ask) {
                return false;
            }
            match rule.fault.act {
                Act::DelayRequest(by) => verdict.delay_request = verdict.delay_request.max(by),
                Act::DelayReply(by) => verdict.delay_reply = verdict.delay_reply.max(by),
                Act::StallConnections => {
                    let left = rule.until.map_or(Duration::ZERO, |t| t.saturating_sub(now));
                    verdict.delay_request = verdict.delay_request.max(left);
                }
                _ => {}
            }
            if verdict.fate == Fate::Pass {
                verdict.fate = fate;
                if matches!(rule.fault.act, Act::BlackHole { .. }) {
                    taken_by = Some(rule.id);
                }
            }
            true
        });
        self.taken_by = taken_by;
        verdict
    }

    /// Whether the connection breaks after this event.
    pub fn breaks_after_event(&mut self, path: &str, session: u64, now: Duration) -> bool {
        let ask = Ask { op: "event", paths: &[path.to_owned()], parts: &[], session };
        let mut breaks = false;
        self.each(now, |rule| {
            let hit = rule.fault.act == Act::DropAfterEvent && rule.counts(&ask);
            breaks |= hit;
            hit
        });
        breaks
    }

    /// Whether a connection is refused as it is made.
    pub fn refuses_connection(&mut self, now: Duration) -> bool {
        let mut refuses = false;
        self.each(now, |rule| {
            let hit = rule.fault.act == Act::RefuseConnection && !refuses && {
                rule.seen += 1;
                rule.seen >= rule.fault.nth
            };
            refuses |= hit;
            hit
        });
        refuses
    }

    /// Whether what the server sends to this session vanishes.
    pub fn reply_vanishes(&mut self, session: u64, now: Duration) -> bool {
        let mut taken_by = None;
        self.each(now, |rule| {
            let hit = matches!(rule.fault.act, Act::BlackHole { replies: true, .. })
                && rule.fault.session.is_none_or(|s| s == session);
            if hit {
                taken_by = Some(rule.id);
            }
            hit
        });
        self.taken_by = taken_by;
        taken_by.is_some()
    }

    /// Runs over the living rules, notes which fired, and drops those that are spent or over.
    fn each(&mut self, now: Duration, mut fires: impl FnMut(&mut Rule) -> bool) {
        let fired = &mut self.fired;
        self.rules.retain_mut(|rule| {
            if rule.until.is_some_and(|t| t <= now) {
                return false;
            }
            if fires(rule) {
                rule.fired += 1;
                fired.insert(rule.id);
            }
            // What lasts a while, or until cleared, is not used up by firing.
            let lasting =
                matches!(rule.fault.act, Act::SwallowPings | Act::StallConnections | Act::BlackHole { .. });
            lasting || rule.fault.times.is_none_or(|n| rule.fired < n)
        });
    }
}

impl Rule {
    /// Counts a request that matches; true if it is this one's turn.
    fn counts(&mut self, ask: &Ask) -> bool {
        let quiet = matches!(ask.op, "ping" | "connect");
        if let Some(k) = self.fault.request_number {
            if quiet {
                return false;
            }
            self.seen += 1;
            return self.seen >= k && self.fits(ask);
        }
        if !self.fits(ask) {
            return false;
        }
        self.seen += 1;
        self.seen >= self.fault.nth
    }

    fn fits(&self, ask: &Ask) -> bool {
        let fault = &self.fault;
        let op_fits = |name: &str| match name {
            "*" => !matches!(ask.op, "ping" | "connect"),
            pattern => glob_matches(pattern, ask.op),
        };
        fault.op.split('|').any(op_fits)
            && fault.session.is_none_or(|s| s == ask.session)
            && (fault.path.is_none() || ask.paths.iter().any(|path| self.is_about(path)))
            && (fault.act != Act::AnswerQuotaExceeded || self.part_over_quota(ask).is_some())
    }

    fn is_about(&self, path: &str) -> bool {
        self.fault.path.as_ref().is_none_or(|glob| glob_matches(glob, path))
    }

    /// The first part that a quota can refuse.
    fn part_over_quota(&self, ask: &Ask) -> Option<usize> {
        let ops = if ask.parts.is_empty() { slice::from_ref(&ask.op) } else { ask.parts };
        ops.iter().zip(ask.paths).position(|(op, path)| UNDER_QUOTA.contains(op) && self.is_about(path))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: Duration = Duration::ZERO;

    fn fate(rules: &mut Rules, op: &str, path: &str) -> Fate {
        rules.judge(Ask { op, paths: &[path.to_owned()], parts: &[], session: 7 }, NOW).fate
    }

    #[test]
    fn a_fault_fires_for_the_nth_match_and_is_spent() {
        let mut rules = Rules::default();
        let id = rules.inject(Fault::drop_after("create*").path("/locks/**").nth(2), NOW);
        assert_eq!(fate(&mut rules, "create", "/locks/a"), Fate::Pass);
        assert_eq!(fate(&mut rules, "create", "/other"), Fate::Pass);
        assert!(!rules.fired(id));
        assert_eq!(fate(&mut rules, "create2", "/locks/b"), Fate::DropAfter);
        assert!(rules.fired(id) && rules.is_empty());
        assert_eq!(fate(&mut rules, "create2", "/locks/c"), Fate::Pass);
    }

    #[test]
    fn a_star_spares_pings_and_handshakes() {
        let mut rules = Rules::default();
        rules.inject(Fault::drop_before("*"), NOW);
        assert_eq!(fate(&mut rules, "ping", ""), Fate::Pass);
        assert_eq!(fate(&mut rules, "connect", ""), Fate::Pass);
        assert_eq!(fate(&mut rules, "getData", "/a"), Fate::DropBefore);
    }

    #[test]
    fn a_request_number_counts_requests_of_any_kind() {
        let mut rules = Rules::default();
        rules.inject(Fault::drop_before("*").request_number(3), NOW);
        for (op, expected) in [
            ("create", Fate::Pass),
            ("ping", Fate::Pass),
            ("delete", Fate::Pass),
            ("exists", Fate::DropBefore),
            ("exists", Fate::Pass),
        ] {
            assert_eq!(fate(&mut rules, op, "/a"), expected, "{op}");
        }
    }

    #[test]
    fn times_and_sessions_are_kept_apart() {
        let mut rules = Rules::default();
        rules.inject(Fault::answer_expired("getData").session(9), NOW);
        rules.inject(Fault::delay_reply("getData", Duration::from_secs(1)).times(2), NOW);
        for left in [1, 1, 0] {
            let verdict = rules.judge(Ask { op: "getData", paths: &[], parts: &[], session: 7 }, NOW);
            assert_eq!((verdict.fate, verdict.delay_reply), (Fate::Pass, Duration::from_secs(left)));
        }
        assert_eq!(
            rules.judge(Ask { op: "getData", paths: &[], parts: &[], session: 9 }, NOW).fate,
            Fate::AnswerExpired
        );
    }

    #[test]
    fn what_lasts_ends_by_itself() {
        let mut rules = Rules::default();
        rules.inject(Fault::swallow_pings(Duration::from_secs(2)), NOW);
        let ping = Ask { op: "ping", paths: &[], parts: &[], session: 7 };
        assert_eq!(rules.judge(ping, Duration::from_secs(1)).fate, Fate::Vanish);
        assert_eq!(rules.judge(ping, Duration::from_secs(1)).fate, Fate::Vanish);
        assert_eq!(rules.judge(ping, Duration::from_secs(2)).fate, Fate::Pass);
        assert!(rules.is_empty());
    }

    #[test]
    fn connections_are_refused_as_often_as_asked() {
        let mut rules = Rules::default();
        rules.inject(Fault::refuse_connections(2), NOW);
        assert_eq!([0; 3].map(|_| rules.refuses_connection(NOW)), [true, true, false]);
    }
}
