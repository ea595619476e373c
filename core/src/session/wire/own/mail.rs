//! What is handed over to whoever has the lock of a machine, by those who do not wait for it: what they ask, and that the task
//! which serves the session wants to come in.

use std::sync::PoisonError;

use super::state::ConnectionState;
use crate::session::clock::Moment;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, Ordering, fence};

/// Something to be done with a machine.
pub(super) type Work<C> = Box<dyn FnOnce(&mut ConnectionState<C>, Moment) + Send>;

pub(super) struct Mail<C> {
    /// Oldest first. Only ever locked to put or to take.
    waiting: Mutex<Vec<Work<C>>>,
    is_there: AtomicBool,
    /// The task that serves the session found the lock taken.
    is_wanted: AtomicBool,
}

impl<C> Default for Mail<C> {
    fn default() -> Mail<C> {
        Mail {
            waiting: Mutex::default(),
            is_there: AtomicBool::new(false),
            is_wanted: AtomicBool::new(false),
        }
    }
}

/// Whoever puts something here looks at the lock afterwards, and whoever leaves the lock looks here afterwards: one of both
/// sees the other, because of the fences.
impl<C> Mail<C> {
    /// To be followed by a look at the lock.
    pub(super) fn put(&self, work: Work<C>) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(work);
        self.is_there.store(true, Ordering::SeqCst);
        fence(Ordering::SeqCst);
    }

    /// To be asked after leaving the lock.
    pub(super) fn is_there(&self) -> bool {
        fence(Ordering::SeqCst);
        self.is_there.load(Ordering::SeqCst)
    }

    /// To be called under the lock.
    pub(super) fn take(&self) -> Vec<Work<C>> {
        match self.is_there.swap(false, Ordering::SeqCst) {
            true => std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner)),
            false => Vec::new(),
        }
    }

    /// What `try_lock` answers; whoever has the lock then calls when they leave.
    pub(super) fn calling<T>(&self, try_lock: impl Fn() -> Option<T>) -> Option<T> {
        try_lock().or_else(|| {
            self.is_wanted.store(true, Ordering::SeqCst);
            fence(Ordering::SeqCst);
            try_lock()
        })
    }

    /// To be asked after leaving the lock: whether the task that serves the session has found it taken.
    pub(super) fn calls(&self) -> bool {
        fence(Ordering::SeqCst);
        self.is_wanted.load(Ordering::SeqCst) && self.is_wanted.swap(false, Ordering::SeqCst)
    }
}
