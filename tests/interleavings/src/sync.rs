//! What `core/src/sync.rs` names, of which the schedule decides whose turn it is.

use std::sync::{Arc, LockResult, PoisonError};
use std::time::Duration;

use shuttle::rand::{Rng, thread_rng};
pub(crate) use shuttle::sync::{Mutex, MutexGuard, TryLockError, atomic};
pub(crate) use shuttle::thread_local;

/// As that of the standard library: a wait with a limit ends at any time, and takes wake-ups from those without one. Shuttle's never
/// does.
#[derive(Debug, Default)]
pub(crate) struct Condvar {
    unlimited: shuttle::sync::Condvar,
    /// How many wait without a limit.
    waiting: Plain<usize>,
    /// Those that wait with one, each with a condition variable of its own.
    limited: Plain<Vec<Arc<Limited>>>,
}

#[derive(Debug, Default)]
struct Limited {
    ends: shuttle::sync::Condvar,
    /// Whether it was woken, or its time is over.
    ended: Plain<Option<WaitTimeoutResult>>,
    has_gone_on: Plain<bool>,
}

/// A lock that is only ever held within one step.
type Plain<T> = std::sync::Mutex<T>;

fn plain<T>(mutex: &Plain<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a wait ended because of its limit.
#[derive(Copy, Clone, Debug)]
pub(crate) struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    pub(crate) fn timed_out(self) -> bool {
        self.0
    }
}

impl Limited {
    fn end(&self, is_over: bool) {
        plain(&self.ended).get_or_insert(WaitTimeoutResult(is_over));
        self.ends.notify_one();
    }
}

impl Condvar {
    pub(crate) fn new() -> Condvar {
        Condvar::default()
    }

    pub(crate) fn wait<'a, T>(&self, guard: MutexGuard<'a, T>) -> LockResult<MutexGuard<'a, T>> {
        *plain(&self.waiting) += 1;
        let woken = self.unlimited.wait(guard);
        *plain(&self.waiting) -= 1;
        woken
    }

    pub(crate) fn wait_while<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<MutexGuard<'a, T>> {
        while condition(&mut guard) {
            guard = self.wait(guard).unwrap_or_else(PoisonError::into_inner);
        }
        Ok(guard)
    }

    pub(crate) fn wait_timeout<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        _limit: Duration,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        let mine = Arc::<Limited>::default();
        plain(&self.limited).push(mine.clone());
        let clock = mine.clone();
        shuttle::thread::spawn(move || {
            // Again and again: it may not sleep yet.
            while !*plain(&clock.has_gone_on) {
                if thread_rng().gen_range(0..4) == 0 {
                    clock.end(true);
                }
                shuttle::thread::yield_now();
            }
        });
        let ended = loop {
            if let Some(ended) = *plain(&mine.ended) {
                break ended;
            }
            guard = mine.ends.wait(guard).unwrap_or_else(PoisonError::into_inner);
        };
        *plain(&mine.has_gone_on) = true;
        plain(&self.limited).retain(|other| !Arc::ptr_eq(other, &mine));
        Ok((guard, ended))
    }

    pub(crate) fn wait_timeout_while<'a, T>(
        &self,
        mut guard: MutexGuard<'a, T>,
        limit: Duration,
        mut condition: impl FnMut(&mut T) -> bool,
    ) -> LockResult<(MutexGuard<'a, T>, WaitTimeoutResult)> {
        while condition(&mut guard) {
            let (again, waited) = self.wait_timeout(guard, limit).unwrap_or_else(PoisonError::into_inner);
            guard = again;
            if waited.timed_out() {
                return Ok((guard, waited));
            }
        }
        Ok((guard, WaitTimeoutResult(false)))
    }

    pub(crate) fn notify_one(&self) {
        let asleep: Vec<_> =
            plain(&self.limited).iter().filter(|one| plain(&one.ended).is_none()).cloned().collect();
        let all = asleep.len() + *plain(&self.waiting);
        let chosen = if asleep.is_empty() { all } else { thread_rng().gen_range(0..all) };
        match asleep.get(chosen) {
            Some(limited) => limited.end(false),
            None => self.unlimited.notify_one(),
        }
    }

    pub(crate) fn notify_all(&self) {
        let limited = plain(&self.limited).clone();
        limited.iter().for_each(|one| one.end(false));
        self.unlimited.notify_all();
    }
}
