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

    // --- generated from api: methods of Semaphore

    /// Where the semaphore is.
    #[getter]
    fn path(&self) -> &str {
        self.core.path()
    }

    /// How many permits there are, as far as this handle knows.
    #[getter]
    fn permits(&self) -> usize {
        self.core.permits()
    }

    /// Who holds permits, one entry for each permit; `contenders()` lists those who wait too.
    fn holders(slf: &Bound<'_, Self>) -> Answered {
        let core = zkrecipes::Semaphore::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.holders().await })
    }

    /// Changes how many permits there are, for everybody. Handles that still say the old number get Mismatch, and
    /// fewer than are held now takes effect as they are released.
    fn resize(slf: &Bound<'_, Self>, permits: Arg) -> Answered {
        let permits = convert::permits("permits", permits)?;
        let core = zkrecipes::Semaphore::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.resize(permits).await })
    }
    // --- end of generated

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
