//! A lock that is never waited for.

use std::sync::{Mutex, MutexGuard, TryLockError};

/// The core's traits ask for `Sync`, and a simulation has one thread: whoever finds the lock taken has called back into
/// what is busy, which would hang, and is told so instead.
#[derive(Debug, Default)]
pub struct Solo<T>(Mutex<T>);

impl<T> Solo<T> {
    pub fn new(value: T) -> Solo<T> {
        Solo(Mutex::new(value))
    }

    #[track_caller]
    pub fn lock(&self) -> MutexGuard<'_, T> {
        match self.0.try_lock() {
            Ok(guard) => guard,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            Err(TryLockError::WouldBlock) => panic!("called back into what is busy"),
        }
    }
}
