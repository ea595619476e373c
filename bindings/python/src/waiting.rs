//! A recipe through which threads wait that have nothing to be cancelled by but `cancel()`.

use std::ops::Deref;

use pyo3::prelude::*;
use zkrecipes::Result;
use zkrecipes::drive::Cancels;

use crate::client::Origin;
use crate::errors::OrRaise;

pub struct Waiting<T> {
    recipe: T,
    cancels: Cancels,
}

impl<T> From<T> for Waiting<T> {
    fn from(recipe: T) -> Waiting<T> {
        Waiting { recipe, cancels: Cancels::default() }
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

    pub fn cancel(&self, origin: &Origin, py: Python<'_>) -> PyResult<()> {
        let cancel = || {
            self.cancels.cancel();
            Ok(())
        };
        origin.guard(cancel).or_raise(py)
    }
}
