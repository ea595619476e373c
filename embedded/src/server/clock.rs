//! The clock sessions live by: it can be frozen and moved. The one that nodes are stamped with can be ahead of it.

use crate::machine::Now;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

#[derive(Debug)]
pub(crate) struct Clock {
    wall_at_zero: i64,
    stamps_ahead: i64,
    base: Duration,
    /// None while frozen.
    running_since: Option<Instant>,
}

impl Clock {
    pub fn start() -> Self {
        let wall = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Clock {
            wall_at_zero: wall.as_millis() as i64,
            stamps_ahead: 0,
            base: Duration::ZERO,
            running_since: Some(Instant::now()),
        }
    }

    pub fn now(&self) -> Now {
        let mono = self.base + self.running_since.map_or(Duration::ZERO, |s| s.elapsed());
        Now { mono, wall: self.wall_at_zero + self.stamps_ahead + mono.as_millis() as i64 }
    }

    pub fn freeze(&mut self) {
        self.base = self.now().mono;
        self.running_since = None;
    }

    pub fn thaw(&mut self) {
        self.running_since.get_or_insert_with(Instant::now);
    }

    pub fn advance(&mut self, by: Duration) {
        self.base += by;
    }

    pub fn set_stamps_ahead(&mut self, millis: i64) {
        self.stamps_ahead = millis;
    }

    pub fn is_frozen(&self) -> bool {
        self.running_since.is_none()
    }
}
