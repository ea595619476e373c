//! The locks, atomics and thread-locals of the small parts that threads share: those of the standard library.
//! `make interleavings` builds these parts once more, in a crate that has others of these names, whose schedule it decides.

pub(crate) use std::sync::{Condvar, Mutex, MutexGuard, TryLockError, atomic};
#[cfg(target_os = "linux")]
pub(crate) use std::thread_local;
