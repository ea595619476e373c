//! What a client counts of itself, for people who watch over it. Counting is a few atomic additions and allocates nothing; a
//! snapshot is for reading. Each number is counted where it happens.

mod kinds;
mod text;

use std::collections::BTreeMap;
use std::time::Duration;

pub use kinds::Histogram;
pub(crate) use kinds::Request;
use kinds::{Count, Gauge, Latest, Least, Losses, Metric, Most, Requests, Tally};

/// The one table: what is counted, how, and as what it is read. The documentation is what Prometheus is told, too.
macro_rules! metrics {
    ($($(#[doc = $help:literal])+ $name:ident: $kind:ty => $seen:ty,)+) => {
        /// What a client has done and seen since it connected, and how it stands.
        ///
        /// ```
        /// # zkrecipes::doctest(async {
        /// # let client = zkrecipes::Client::connect("embedded:", Default::default()).await?;
        /// let held = client.lock("/locks/report", Default::default())?.acquire().await?;
        /// let metrics = client.metrics();
        /// assert_eq!((metrics.acquisitions, metrics.holding, metrics.waits.count), (1, 1, 1));
        /// assert!(metrics.to_prometheus().contains("zkrecipes_acquisitions_total 1\n"));
        /// # held.release().await?;
        /// # Ok(()) });
        /// ```
        #[derive(Clone, Debug, Default, PartialEq)]
        #[non_exhaustive]
        pub struct Metrics {
            $($(#[doc = $help])+ pub $name: $seen,)+
        }

        /// The numbers of one client, as they are counted.
        #[derive(Default)]
        pub(crate) struct Counters {
            $(pub(crate) $name: $kind,)+
        }

        impl Counters {
            /// So many are ahead of us in a line.
            pub(crate) fn queue(&self, ahead: usize) {
                self.queue_depth.set(ahead);
                self.queue_depth_max.meet(ahead);
            }

            pub(crate) fn snapshot(&self) -> Metrics {
                Metrics { $($name: self.$name.see(),)+ }
            }
        }

        impl Metrics {
            /// All of them, with what they are called and what they tell: for whoever passes them on, such as to
            /// OpenTelemetry.
            ///
            /// ```
            /// # zkrecipes::doctest(async {
            /// # let client = zkrecipes::Client::connect("embedded:", Default::default()).await?;
            /// let metrics = client.metrics();
            /// let sessions = metrics.samples().into_iter().find(|sample| sample.name == "sessions").unwrap();
            /// assert_eq!(sessions.value, zkrecipes::drive::Value::Counter(1));
            /// # Ok(()) });
            /// ```
            pub fn samples(&self) -> Vec<Sample<'_>> {
                vec![$(Sample {
                    name: stringify!($name),
                    help: concat!($($help),+).trim(),
                    value: <$kind>::value(&self.$name),
                },)+]
            }
        }
    };
}

metrics! {
    /// Sessions that were opened: one, and one more for each that was lost.
    sessions: Count => u64,
    /// How often the session ended, or could no longer be assumed to live.
    sessions_lost: Count => u64,
    /// How often the connection broke.
    suspensions: Count => u64,
    /// How often a server was found again in time, so that the session went on.
    reconnections: Count => u64,
    /// Requests, by kind.
    requests: Requests => BTreeMap<&'static str, u64>,
    /// How many of the requests were heartbeats of the lease.
    heartbeats: Count => u64,
    /// How often an answer was missing, and its request was made again.
    retries: Count => u64,
    /// Bytes of the requests.
    bytes_sent: Count => u64,
    /// Bytes of the answers.
    bytes_received: Count => u64,
    /// What was acquired: locks, permits, leaderships, items of queues; nested acquisitions do not count.
    acquisitions: Count => u64,
    /// Acquires that ran out of time, those that had none included.
    timeouts: Count => u64,
    /// Acquires that their caller withdrew.
    cancellations: Count => u64,
    /// Acquires that ended with another error.
    failures: Count => u64,
    /// Acquisitions that came when the one ahead in the line let go.
    hand_offs: Count => u64,
    /// Acquisitions to which a turn was passed on by local hand-off, between waiters of one client.
    local_hand_offs: Count => u64,
    /// How long each acquisition was waited for; items of queues aside, whose coming is no wait for others.
    waits: Tally => Histogram,
    /// How long each acquisition was held, until it was let go or lost; items of queues aside, which `work` is about.
    holds: Tally => Histogram,
    /// Acquires under way.
    waiting: Gauge => u64,
    /// What is held now.
    holding: Gauge => u64,
    /// What was held and lost, by reason.
    losses: Losses => BTreeMap<&'static str, u64>,
    /// How often somebody asked for what was held.
    revocations: Count => u64,
    /// Nodes of others that were deleted by force.
    forced: Count => u64,
    /// How many stood ahead in the line that an acquire has looked at last.
    queue_depth: Gauge => u64,
    /// The most that were ever ahead.
    queue_depth_max: Most => u64,
    /// The least that was left of the lease when it was extended, while something was held.
    lease_margin_min: Least => Option<Duration>,
    /// How long the servers keep the session when they do not hear from this client, as they granted it.
    session_timeout: Latest => Duration,
    /// Callbacks that took longer than a second.
    slow_callbacks: Count => u64,
    /// Items that were put into queues.
    puts: Count => u64,
    /// Items that were taken out of queues for good, by a `get`.
    gets: Count => u64,
    /// Items that were claimed; they are among the acquisitions, too.
    claims: Count => u64,
    /// Items that were acknowledged.
    acks: Count => u64,
    /// Items that were given back because the work on them failed, those that went to the dead letters included.
    nacks: Count => u64,
    /// Items that this client moved to the dead letters.
    dead_letters: Count => u64,
    /// How long each claimed item was worked on, until it was settled or lost.
    work: Tally => Histogram,
    /// Partitions that are held now.
    partitions: Gauge => u64,
    /// Partitions that were won.
    partitions_won: Count => u64,
    /// Partitions that were asked for, because they are another member's from now on or this one leaves.
    partitions_moved: Count => u64,
}

/// One metric of a snapshot.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Sample<'a> {
    /// As the field of [`Metrics`] is called.
    pub name: &'static str,
    /// What it tells.
    pub help: &'static str,
    pub value: MetricValue<'a>,
}

/// What a metric is, and its value.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum MetricValue<'a> {
    /// Only grows.
    Counter(u64),
    /// The same, for each value of the label that is named first.
    Counters(&'static str, &'a BTreeMap<&'static str, u64>),
    /// Tells how things stand.
    Gauge(u64),
    /// A time; `None` while there is none to tell.
    Time(Option<Duration>),
    Histogram(&'a Histogram),
}
