//! When the time of a transaction is over that somebody else began.
//!
//! Its node says when it was created, by the clock of the server that led then. What that clock shows now is known from what
//! was written just now (`servers_clock`). As no clock is to abort what is under way, whoever sees a transaction leaves it at
//! least half of its time from then on, by a clock of its own; and never more than all of it.

use std::collections::HashMap;
use std::sync::Mutex;

use super::layout::Header;
use crate::mutex::lock;
use crate::recipes::servers_clock::ServersClock;
use crate::session::clock::Moment;
use crate::session::wire::Stat;

/// How many transactions are remembered. Of one that is forgotten the time begins anew.
const MOST_SEEN: usize = 10_000;

#[derive(Default)]
pub(super) struct ServersTime {
    clock: ServersClock,
    /// By nonce, when a transaction was first seen.
    seen: Mutex<HashMap<String, Moment>>,
}

impl ServersTime {
    /// A node was written just now, at that time by the servers' clock.
    pub(super) fn shows(&self, written: i64, now: Moment) {
        self.clock.shows(written, now);
    }

    /// What that clock shows, in milliseconds.
    pub(super) fn now(&self, now: Moment) -> Option<i64> {
        self.clock.at(now)
    }

    /// Whether this one was seen before.
    pub(super) fn has_seen(&self, header: &Header) -> bool {
        lock(&self.seen).contains_key(&header.nonce)
    }

    /// When the time of a transaction is over, of which this is the node.
    pub(super) fn deadline(&self, header: &Header, node: &Stat, now: Moment) -> Moment {
        let seen = self.first_seen(header, now);
        let age = self.clock.at(seen).map_or(0, |shown| shown.saturating_sub(node.ctime));
        let left = header.timeout.saturating_sub(std::time::Duration::from_millis(age.max(0) as u64));
        seen + left.max(header.timeout / 2)
    }

    fn first_seen(&self, header: &Header, now: Moment) -> Moment {
        let mut all = lock(&self.seen);
        if all.len() >= MOST_SEEN && !all.contains_key(&header.nonce) {
            let latest = all.values().max().copied().unwrap_or(now);
            let oldest = all.values().min().copied().unwrap_or(now);
            let middle = oldest + latest.since(oldest) / 2;
            all.retain(|_, seen| *seen > middle);
        }
        *all.entry(header.nonce.clone()).or_insert(now)
    }
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
        assert!(lock(&time.seen).len() <= MOST_SEEN);
        assert!(time.has_seen(&header(&(2 * MOST_SEEN - 1).to_string())));
    }
}
