//! Withdrawing what waits through one handle, for a language whose threads have no other way.

use std::sync::{Mutex, MutexGuard};

use super::CancelToken;
use crate::error::Result;
use crate::mutex::lock;

/// The calls in progress through a handle.
#[derive(Debug, Default)]
pub struct Cancels(Mutex<CancelToken>);

impl Cancels {
    /// What `future` answers, unless [`Cancels::cancel`] ends it before.
    pub fn heed<T, F: Future<Output = Result<T>>>(
        &self,
        future: F,
    ) -> impl Future<Output = Result<T>> + use<T, F> {
        self.next().heed(future)
    }

    /// What the next [`Cancels::cancel`] cancels, for what makes several calls: it comes between two of them, too.
    pub fn next(&self) -> CancelToken {
        self.token().clone()
    }

    /// Ends the calls in progress with Cancelled, never later ones.
    pub fn cancel(&self) {
        std::mem::take(&mut *self.token()).cancel();
    }

    fn token(&self) -> MutexGuard<'_, CancelToken> {
        lock(&self.0)
    }
}
