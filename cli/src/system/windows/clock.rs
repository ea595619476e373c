//! The clock by which leases are kept: that of core/src/session/system_clock.rs, which is the only one.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// What the system calls it.
pub(crate) const NAME: &str = "QueryPerformanceCounter";

/// Since its first use.
pub(crate) fn now() -> Duration {
    static BEGINNING: OnceLock<Instant> = OnceLock::new();
    BEGINNING.get_or_init(Instant::now).elapsed()
}
