//! Time as the session sees it, behind a trait so that recipes also run under virtual time.

use std::ops::{Add, Sub};
use std::time::Duration;

pub use crate::runtime::Later;
use crate::time::A_CENTURY;

/// A point on a clock that also runs while the machine is suspended.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Moment(pub u64);

impl Moment {
    /// Before everything.
    pub const START: Moment = Moment(0);

    /// How long after `earlier` this is; zero when it is not.
    pub fn since(self, earlier: Moment) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }
}

impl Add<Duration> for Moment {
    type Output = Moment;

    fn add(self, duration: Duration) -> Moment {
        Moment(self.0.saturating_add(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
    }
}

impl Sub<Duration> for Moment {
    type Output = Moment;

    fn sub(self, duration: Duration) -> Moment {
        Moment(self.0.saturating_sub(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)))
    }
}

/// One deadline for a whole call, however many requests and wake-ups it takes.
#[derive(Copy, Clone, Debug)]
pub(crate) struct Deadline(Option<Moment>);

impl Deadline {
    pub(crate) fn after(now: Moment, limit: Option<Duration>) -> Deadline {
        Deadline(limit.filter(|limit| *limit < A_CENTURY).map(|limit| now + limit))
    }

    pub(crate) fn at(self) -> Option<Moment> {
        self.0
    }
}

/// Where time comes from and where background work runs.
pub trait Clock: Send + Sync {
    /// Now, on a clock that counts suspension.
    fn now(&self) -> Moment;
    /// Milliseconds since 1970, as those on other machines know them, too.
    fn wall(&self) -> i64 {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }
    /// Resolves at or after `at`.
    fn sleep_until(&self, at: Moment) -> Later<()>;
    /// Runs `task` in the background.
    fn spawn(&self, task: Later<()>);
    /// Calls `alarm` at `at`, from a thread that neither I/O nor a user's callback can hold up. It must be short.
    fn alarm(&self, at: Moment, alarm: Box<dyn FnOnce() + Send>);
}
