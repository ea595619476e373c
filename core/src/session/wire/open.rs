//! The sessions that servers may have for this process: from before one is asked for until the task that serves it is
//! over. The end of a process waits until they are gone.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use crate::process::{PerProcess, Process};
use crate::runtime;

static OPEN: PerProcess<Mutex<Open>> = PerProcess::new();
/// One has gone.
static GONE: PerProcess<Condvar> = PerProcess::new();

#[derive(Default)]
struct Open {
    entries: BTreeSet<u64>,
    next: u64,
}

fn open() -> MutexGuard<'static, Open> {
    OPEN.of_this_process().lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A session that a server may have for us, or that may have to be opened yet for what is left to do.
pub(crate) struct Entry(u64, Process);

impl Entry {
    pub(crate) fn new() -> Entry {
        let mut open = open();
        let id = open.next;
        open.next += 1;
        open.entries.insert(id);
        Entry(id, Process::present())
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        if self.1.is_present() {
            open().entries.remove(&self.0);
            GONE.notify_all();
        }
    }
}

/// Those that are open now, and older ones: for [`until_gone`].
pub(crate) fn so_far() -> u64 {
    open().next
}

/// Whether there is one.
pub(crate) fn is_any() -> bool {
    !open().entries.is_empty()
}

/// Blocks until all that were open [`so_far`] are gone, for at most `limit`; whether they are.
pub(crate) fn until_gone(so_far: u64, limit: Duration) -> bool {
    let until = Instant::now().checked_add(limit);
    let mut are_gone = true;
    runtime::block(|| {
        let mut open = open();
        while open.entries.first().is_some_and(|oldest| *oldest < so_far) {
            let left = until.map_or(limit, |until| until.saturating_duration_since(Instant::now()));
            if left.is_zero() {
                are_gone = false;
                return;
            }
            open = GONE.wait_timeout(open, left).unwrap_or_else(|poisoned| poisoned.into_inner()).0;
        }
    });
    are_gone
}
