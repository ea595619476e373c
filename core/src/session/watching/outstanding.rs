//! How many of those who follow something together have asked, and have not been answered yet: at first, and whenever their watch
//! has told that there is news.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Clone, Default)]
pub(crate) struct Outstanding(Arc<AtomicUsize>);

/// One of them, until it is dropped.
pub(super) struct OutstandingAnswer(Arc<AtomicUsize>);

impl Outstanding {
    pub(crate) fn is_none(&self) -> bool {
        self.0.load(Ordering::Acquire) == 0
    }

    pub(super) fn one(&self) -> OutstandingAnswer {
        self.0.fetch_add(1, Ordering::AcqRel);
        OutstandingAnswer(self.0.clone())
    }
}

impl Drop for OutstandingAnswer {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}
