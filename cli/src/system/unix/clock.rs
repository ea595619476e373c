//! The clock by which leases are kept: that of core/src/session/system_clock.rs.

use std::time::Duration;

#[cfg(any(target_os = "linux", target_os = "android"))]
const CLOCK: (libc::clockid_t, &str) = (libc::CLOCK_BOOTTIME, "CLOCK_BOOTTIME");
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const CLOCK: (libc::clockid_t, &str) = (libc::CLOCK_MONOTONIC, "CLOCK_MONOTONIC");

/// What the system calls it.
pub(crate) const NAME: &str = CLOCK.1;

/// Since its beginning.
pub(crate) fn now() -> Duration {
    let mut now = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes to a timespec of ours.
    unsafe { libc::clock_gettime(CLOCK.0, &mut now) };
    Duration::new(now.tv_sec.try_into().unwrap_or(0), now.tv_nsec.try_into().unwrap_or(0))
}
