//! The calls whose end somebody is to be told: who ends the library waits for them.

use std::sync::atomic::{AtomicUsize, Ordering};

use crate::process::{PerProcess, Process};

static COUNT: PerProcess<AtomicUsize> = PerProcess::new();

/// A call, from its begin until its end was told, or handed to whoever tells it.
pub(super) struct CallInProgress(Process);

impl CallInProgress {
    pub(super) fn begin() -> CallInProgress {
        COUNT.fetch_add(1, Ordering::AcqRel);
        CallInProgress(Process::present())
    }
}

impl Drop for CallInProgress {
    fn drop(&mut self) {
        // A forked child has none of its parent's.
        if self.0.is_present() {
            COUNT.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// Whether there is one.
pub(super) fn is_any() -> bool {
    COUNT.load(Ordering::Acquire) > 0
}
