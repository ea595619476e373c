//! What the clock of the servers shows: known from what was written just now, of which a node says when that was. The newest such
//! node counts, for another server may lead, with a clock that is ahead of the last one's or behind.

use std::sync::{Mutex, MutexGuard};
use std::time::Duration;

use crate::mutex::lock;
use crate::session::clock::Moment;

#[derive(Default)]
pub(super) struct ServersClock(Mutex<Option<Shown>>);

struct Shown {
    /// How far the servers' clock is ahead of ours, in milliseconds.
    ahead: i64,
    at: Moment,
}

impl ServersClock {
    fn shown(&self) -> MutexGuard<'_, Option<Shown>> {
        lock(&self.0)
    }

    /// A node was written just now, at that time by the servers' clock.
    pub(super) fn shows(&self, written: i64, now: Moment) {
        *self.shown() = Some(Shown { ahead: written.saturating_sub(millis(now)), at: now });
    }

    /// What that clock shows, in milliseconds.
    pub(super) fn at(&self, now: Moment) -> Option<i64> {
        self.shown().as_ref().map(|shown| millis(now).saturating_add(shown.ahead))
    }

    /// The same, if it was learnt no longer ago than that.
    pub(super) fn lately(&self, now: Moment, within: Duration) -> Option<i64> {
        let is_fresh = self.shown().as_ref().is_some_and(|shown| now.since(shown.at) <= within);
        if is_fresh { self.at(now) } else { None }
    }
}

fn millis(now: Moment) -> i64 {
    i64::try_from(now.0 / 1_000_000).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_node_tells_the_time_and_what_was_learnt_long_ago_is_not_fresh() {
        let at = |seconds| Moment::START + Duration::from_secs(seconds);
        let (clock, hour) = (ServersClock::default(), 3_600_000);
        assert_eq!(clock.at(at(0)), None);
        clock.shows(2 * hour, at(0));
        clock.shows(hour, at(1));
        assert_eq!(clock.at(at(3)), Some(hour + 2000));
        assert_eq!(clock.lately(at(3), Duration::from_secs(2)), Some(hour + 2000));
        assert_eq!(clock.lately(at(3), Duration::from_secs(1)), None);
    }
}
