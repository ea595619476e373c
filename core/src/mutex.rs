//! Locks that survive a panic. What a panicking thread held is whole all the same: nothing of ours panics halfway through a
//! change, and a caller's code runs under no lock.

use std::sync::{LockResult, PoisonError};

use crate::sync::{Mutex, MutexGuard};

/// Locks `mutex`, whether or not somebody panicked while it was locked.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    unpoisoned(mutex.lock())
}

/// What was locked, or waited for, whether or not somebody panicked meanwhile.
pub(crate) fn unpoisoned<T>(locked: LockResult<T>) -> T {
    locked.unwrap_or_else(PoisonError::into_inner)
}
