//! `Semaphore`: so many permits at once.

use pyo3::prelude::*;

use crate::convert;
use crate::face::{Answered, Arg, Fresh, Seed};
use crate::generated::docs::doc_of;
use crate::handle::{HandleBase, Hold, context_manager, handle_recipe};

handle_recipe!(SemaphoreBase of zkrecipes::Semaphore, Semaphore, "Semaphore");

#[pymethods]
impl SemaphoreBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<SemaphoreBase> {
        seed.get().take()
    }

    #[doc = doc_of!(SemaphoreBase.acquire)]
    #[pyo3(signature = (n=None, blocking=None, timeout=None), text_signature = "($self, n=1, blocking=True, timeout=None)")]
    fn acquire(
        slf: &Bound<'_, Self>,
        n: Option<Arg>,
        blocking: Option<Arg>,
        timeout: Option<Arg>,
    ) -> Answered {
        let n = convert::permits_or("n", n, 1)?;
        slf.as_super().get().acquire_some(slf.py(), n, blocking, timeout)
    }

    #[doc = doc_of!(SemaphoreBase.holders)]
    fn holders(slf: &Bound<'_, Self>) -> Answered {
        let semaphore = slf.get().core.clone();
        slf.as_super().as_super().get().origin.run(slf.py(), || async move { semaphore.holders().await })
    }

    #[doc = doc_of!(SemaphoreBase.resize)]
    fn resize(slf: &Bound<'_, Self>, permits: Arg) -> Answered {
        let permits = convert::permits("permits", permits)?;
        let semaphore = slf.get().core.clone();
        slf.as_super()
            .as_super()
            .get()
            .origin
            .run(slf.py(), || async move { semaphore.resize(permits).await })
    }

    #[doc = doc_of!(SemaphoreBase.path)]
    #[getter]
    fn path(&self) -> &str {
        self.core.path()
    }

    #[doc = doc_of!(SemaphoreBase.permits)]
    #[getter]
    fn permits(&self) -> usize {
        self.core.permits()
    }
}

#[doc = doc_of!(Semaphore)]
#[pyclass(frozen, weakref, extends = SemaphoreBase, module = "zkrecipes")]
pub struct Semaphore;

context_manager! { Semaphore,
    #[doc = doc_of!(Semaphore.hold)]
    #[pyo3(signature = (n=None, timeout=None), text_signature = "($self, n=1, timeout=None)")]
    fn hold(
        slf: &Bound<'_, Self>,
        n: Option<Arg>,
        timeout: Option<Arg>,
    ) -> PyResult<Hold> {
        let n = convert::permits_or("n", n, 1)?;
        HandleBase::hold(slf.as_super().as_super(), n, timeout)
    }
}
