//! A recipe through which threads wait: `cancel()` is the only thing that ends such a wait from outside.

use std::ops::Deref;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyCFunction;
use zkrecipes::drive::{CancelToken, Cancels};
use zkrecipes::{Result, Subscription, WaitProgress};

use crate::answer::Answer;
use crate::callback::{Callbacks, subscribe_owned};
use crate::client::Origin;
use crate::errors::OrRaise;

pub struct Waiting<T> {
    recipe: T,
    cancels: Cancels,
    /// Who hears of its waits.
    listeners: Arc<Callbacks>,
}

/// What the core calls while somebody waits.
pub type Tell = Box<dyn Fn(WaitProgress) + Send + Sync>;

impl<T> From<T> for Waiting<T> {
    fn from(recipe: T) -> Waiting<T> {
        Waiting { recipe, cancels: Cancels::default(), listeners: Arc::default() }
    }
}

impl<T> Deref for Waiting<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.recipe
    }
}

impl<T> Waiting<T> {
    /// What `future` answers, unless `cancel` ends it before.
    pub fn heed<A, F: Future<Output = Result<A>>>(
        &self,
        future: F,
    ) -> impl Future<Output = Result<A>> + use<T, A, F> {
        self.cancels.heed(future)
    }

    /// What the next `cancel` ends, for a loop: it may come while nobody waits.
    pub fn next_cancel(&self) -> CancelToken {
        self.cancels.next()
    }

    pub fn on_wait<'py>(
        &self,
        origin: &Origin,
        callback: &Bound<'py, PyAny>,
        subscribe: impl FnOnce(&T, Tell) -> Result<Subscription>,
    ) -> PyResult<Bound<'py, PyCFunction>> {
        subscribe_owned(origin, &self.listeners, callback, |callback| {
            let tell = move |progress: WaitProgress| callback.call(|py| Ok(vec![progress.answer(py)?]));
            subscribe(&self.recipe, Box::new(tell))
        })
    }

    pub fn cancel(&self, origin: &Origin, py: Python<'_>) -> PyResult<()> {
        let cancel = || {
            self.cancels.cancel();
            Ok(())
        };
        origin.guard(cancel).or_raise(py)
    }
}
