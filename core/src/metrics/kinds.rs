//! The kinds of numbers that are counted.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::MetricValue;
use crate::error::LostReason;

/// What all of them have: a value to be read.
pub(super) trait Metric {
    type Seen;
    fn see(&self) -> Self::Seen;
    fn value(seen: &Self::Seen) -> MetricValue<'_>;
}

/// Only grows.
#[derive(Default)]
pub(crate) struct Count(AtomicU64);

impl Count {
    pub(crate) fn one(&self) {
        self.add(1);
    }

    pub(crate) fn add(&self, n: usize) {
        self.0.fetch_add(n as u64, Ordering::Relaxed);
    }
}

impl Metric for Count {
    type Seen = u64;

    fn see(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn value(seen: &u64) -> MetricValue<'_> {
        MetricValue::Counter(*seen)
    }
}

/// Tells how things stand.
#[derive(Default)]
pub(crate) struct Gauge(AtomicU64);

impl Gauge {
    pub(crate) fn rise(&self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn fall(&self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn set(&self, n: usize) {
        self.0.store(n as u64, Ordering::Relaxed);
    }
}

impl Metric for Gauge {
    type Seen = u64;

    fn see(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn value(seen: &u64) -> MetricValue<'_> {
        MetricValue::Gauge(*seen)
    }
}

/// The most that was ever seen.
#[derive(Default)]
pub(crate) struct Most(AtomicU64);

impl Most {
    pub(crate) fn meet(&self, n: usize) {
        self.0.fetch_max(n as u64, Ordering::Relaxed);
    }
}

impl Metric for Most {
    type Seen = u64;

    fn see(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    fn value(seen: &u64) -> MetricValue<'_> {
        MetricValue::Gauge(*seen)
    }
}

/// The least time that was ever seen.
pub(crate) struct Least(AtomicU64);

const NONE_YET: u64 = u64::MAX;

impl Default for Least {
    fn default() -> Least {
        Least(AtomicU64::new(NONE_YET))
    }
}

impl Least {
    pub(crate) fn meet(&self, time: Duration) {
        self.0.fetch_min(time.as_nanos() as u64, Ordering::Relaxed);
    }
}

impl Metric for Least {
    type Seen = Option<Duration>;

    fn see(&self) -> Option<Duration> {
        let nanos = self.0.load(Ordering::Relaxed);
        (nanos != NONE_YET).then(|| Duration::from_nanos(nanos))
    }

    fn value(seen: &Option<Duration>) -> MetricValue<'_> {
        MetricValue::Time(*seen)
    }
}

/// A time, as it was last told.
#[derive(Default)]
pub(crate) struct Latest(AtomicU64);

impl Latest {
    pub(crate) fn set(&self, time: Duration) {
        self.0.store(time.as_nanos() as u64, Ordering::Relaxed);
    }
}

impl Metric for Latest {
    type Seen = Duration;

    fn see(&self) -> Duration {
        Duration::from_nanos(self.0.load(Ordering::Relaxed))
    }

    fn value(seen: &Duration) -> MetricValue<'_> {
        MetricValue::Time(Some(*seen))
    }
}

/// What a request asks for.
#[derive(Copy, Clone)]
pub(crate) enum Request {
    Create,
    Delete,
    Set,
    Multi,
    Get,
    Exists,
    Children,
    Sync,
    Other,
}

/// As they are called, in the order of [`Request`].
const REQUESTS: [&str; 9] =
    ["create", "delete", "set", "multi", "get", "exists", "children", "sync", "other"];

#[derive(Default)]
pub(crate) struct Requests([Count; REQUESTS.len()]);

impl Requests {
    pub(crate) fn one(&self, kind: Request) {
        self.0[kind as usize].one();
    }
}

impl Metric for Requests {
    type Seen = BTreeMap<&'static str, u64>;

    fn see(&self) -> Self::Seen {
        REQUESTS.iter().zip(&self.0).map(|(kind, count)| (*kind, count.see())).collect()
    }

    fn value(seen: &Self::Seen) -> MetricValue<'_> {
        MetricValue::Counters("kind", seen)
    }
}

const REASONS: [LostReason; 4] =
    [LostReason::Session, LostReason::Revoked, LostReason::Deleted, LostReason::Closed];

#[derive(Default)]
pub(crate) struct Losses([Count; REASONS.len()]);

impl Losses {
    pub(crate) fn one(&self, reason: LostReason) {
        if let Some(at) = REASONS.iter().position(|known| *known == reason) {
            self.0[at].one();
        }
    }
}

impl Metric for Losses {
    type Seen = BTreeMap<&'static str, u64>;

    fn see(&self) -> Self::Seen {
        REASONS.iter().zip(&self.0).map(|(reason, count)| (reason.name(), count.see())).collect()
    }

    fn value(seen: &Self::Seen) -> MetricValue<'_> {
        MetricValue::Counters("reason", seen)
    }
}

/// Where the buckets end, in milliseconds: from a hand-off on a good network to a job that runs overnight.
const BOUNDS: [u64; 17] =
    [1, 2, 5, 10, 25, 50, 100, 250, 500, 1000, 2500, 5000, 10_000, 30_000, 60_000, 300_000, 3_600_000];

/// Durations, by how long they were.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Histogram {
    /// How many there are.
    pub count: u64,
    /// How long they were together.
    pub sum: Duration,
    /// How many were no longer than each bound, as Prometheus counts them; `count` has those that were longer, too.
    pub buckets: Vec<(Duration, u64)>,
}

/// A histogram, as it is counted.
#[derive(Default)]
pub(crate) struct Tally {
    /// One for each bound, and one for what is longer.
    buckets: [AtomicU64; BOUNDS.len() + 1],
    micros: AtomicU64,
}

impl Tally {
    pub(crate) fn record(&self, duration: Duration) {
        let at = BOUNDS.partition_point(|bound| Duration::from_millis(*bound) < duration);
        self.buckets[at].fetch_add(1, Ordering::Relaxed);
        self.micros.fetch_add(duration.as_micros() as u64, Ordering::Relaxed);
    }
}

impl Metric for Tally {
    type Seen = Histogram;

    fn see(&self) -> Histogram {
        let mut count = 0;
        let up_to: Vec<u64> = self
            .buckets
            .iter()
            .map(|bucket| {
                count += bucket.load(Ordering::Relaxed);
                count
            })
            .collect();
        let buckets = BOUNDS.iter().zip(up_to).map(|(bound, count)| (Duration::from_millis(*bound), count));
        let sum = Duration::from_micros(self.micros.load(Ordering::Relaxed));
        Histogram { buckets: buckets.collect(), sum, count }
    }

    fn value(seen: &Histogram) -> MetricValue<'_> {
        MetricValue::Histogram(seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_counts_in_its_bucket_and_in_all_above() {
        let tally = Tally::default();
        for millis in [1, 2, 3, 1000, 4_000_000] {
            tally.record(Duration::from_millis(millis));
        }
        let counted = tally.see();
        let below = |millis| {
            let bucket = counted.buckets.iter().find(|(bound, _)| bound.as_millis() == millis);
            bucket.map(|(_, count)| *count)
        };
        assert_eq!((below(1), below(2), below(5), below(500)), (Some(1), Some(2), Some(3), Some(3)));
        assert_eq!((below(1000), below(3_600_000), counted.count), (Some(4), Some(4), 5));
        assert_eq!(counted.sum, Duration::from_millis(4_001_006));
    }
}
