//! When the time of a transaction is over that somebody else began.
//!
//! Its node says when it was created, by the clock of the server that led then. What that clock shows now is known from what
//! was written just now: the newest such node counts, for another server may lead, with a clock that is ahead of the last
//! one's or behind. As no clock is to abort what is under way, whoever sees a transaction leaves it at least half of its
//! time from then on, by a clock of its own; and never more than all of it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard};

use super::layout::Header;
use crate::mutex::lock;
use crate::session::clock::Moment;
use crate::session::wire::Stat;

/// How many transactions are remembered. Of one that is forgotten the time begins anew.
const MOST_SEEN: usize = 10_000;

#[derive(Default)]
pub(super) struct ServersTime(Mutex<KnownTime>);

#[derive(Default)]
struct KnownTime {
    /// How far the servers' clock is ahead of ours, in milliseconds.
    ahead: Option<i64>,
    /// By nonce, when a transaction was first seen.
    seen: HashMap<String, Moment>,
}

impl ServersTime {
    fn known(&self) -> MutexGuard<'_, KnownTime> {
        lock(&self.0)
    }

    /// A node was written just now, at that time by the servers' clock.
    pub(super) fn shows(&self, written: i64, now: Moment) {
        self.known().ahead = Some(written.saturating_sub(millis(now)));
    }

    /// What that clock shows, in milliseconds.
    pub(super) fn now(&self, now: Moment) -> Option<i64> {
        self.known().ahead.map(|ahead| millis(now).saturating_add(ahead))
    }

    /// Whether this one was seen before.
    pub(super) fn has_seen(&self, header: &Header) -> bool {
        self.known().seen.contains_key(&header.nonce)
    }

    /// When the time of a transaction is over, of which this is the node.
    pub(super) fn deadline(&self, header: &Header, node: &Stat, now: Moment) -> Moment {
        let mut known = self.known();
        if known.seen.len() >= MOST_SEEN && !known.seen.contains_key(&header.nonce) {
            let latest = known.seen.values().max().copied().unwrap_or(now);
            let oldest = known.seen.values().min().copied().unwrap_or(now);
            let middle = oldest + latest.since(oldest) / 2;
            known.seen.retain(|_, seen| *seen > middle);
        }
        let seen = *known.seen.entry(header.nonce.clone()).or_insert(now);
        let age =
            known.ahead.map_or(0, |ahead| millis(seen).saturating_add(ahead).saturating_sub(node.ctime));
        let left = header.timeout.saturating_sub(std::time::Duration::from_millis(age.max(0) as u64));
        seen + left.max(header.timeout / 2)
    }
}

fn millis(now: Moment) -> i64 {
    i64::try_from(now.0 / 1_000_000).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::recipes::two_phase_commit::CommitMode;

    const HOUR: i64 = 3_600_000;

    fn header(nonce: &str) -> Header {
        Header {
            mode: CommitMode::Coordinator,
            timeout: Duration::from_secs(10),
            nonce: nonce.to_owned(),
            sites: vec!["a".to_owned()],
            payload: Vec::new(),
        }
    }

    fn node(ctime: i64) -> Stat {
        Stat { ctime, ..Stat::default() }
    }

    fn at(seconds: u64) -> Moment {
        Moment::START + Duration::from_secs(seconds)
    }

    #[test]
    fn time_goes_on_by_the_servers_clock_but_half_of_it_is_left_to_whoever_sees_it() {
        let time = ServersTime::default();
        assert_eq!(time.deadline(&header("nothing is known"), &node(7 * HOUR), at(0)), at(10));
        time.shows(HOUR, at(0));
        for (nonce, began, left) in
            [("a", HOUR, 10), ("b", HOUR - 3000, 7), ("c", HOUR - 9000, 5), ("d", 0, 5)]
        {
            assert_eq!(time.deadline(&header(nonce), &node(began), at(0)), at(left), "{nonce}");
        }
        // Asked again it is the same moment.
        assert_eq!(time.deadline(&header("d"), &node(0), at(4)), at(5));
        assert_eq!(time.deadline(&header("e"), &node(2 * HOUR), at(4)), at(14), "of the future");
    }

    #[test]
    fn a_clock_that_was_ahead_once_is_forgotten_when_the_next_node_was_written() {
        let time = ServersTime::default();
        time.shows(2 * HOUR, at(0));
        time.shows(HOUR, at(1));
        assert_eq!(time.deadline(&header("a"), &node(HOUR), at(1)), at(11));
        time.shows(0, at(2));
        assert_eq!(time.deadline(&header("b"), &node(0), at(2)), at(12));
    }

    #[test]
    fn what_was_seen_is_bounded() {
        let time = ServersTime::default();
        for n in 0..2 * MOST_SEEN as u64 {
            time.deadline(&header(&n.to_string()), &node(0), at(n));
        }
        assert!(time.known().seen.len() <= MOST_SEEN);
        assert!(time.has_seen(&header(&(2 * MOST_SEEN - 1).to_string())));
    }
}
