//! `Semaphore`: so many permits at once.

use pyo3::prelude::*;

use crate::convert;
use crate::face::{Answered, Arg, Fresh, Seed};
use crate::handle::{HandleBase, Hold, context_manager, handle_recipe};

handle_recipe!(SemaphoreBase of zkrecipes::Semaphore, Semaphore, "Semaphore");

#[pymethods]
impl SemaphoreBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<SemaphoreBase> {
        seed.get().take()
    }

    /// Waits for `n` permits at once and returns what was acquired, or None when the time ran out.
    ///
    /// `blocking=False` tries once. `timeout` is in seconds; None or -1 waits for ever. Several acquisitions may be held
    /// through one handle; `release` lets go of the latest.
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

    /// Who holds permits, one entry for each permit; `contenders()` lists those who wait too.
    fn holders(slf: &Bound<'_, Self>) -> Answered {
        let semaphore = slf.get().core.clone();
        slf.as_super().as_super().get().origin.run(slf.py(), || async move { semaphore.holders().await })
    }

    /// Changes how many permits there are, for everybody. Handles that still say the old number get Mismatch, and fewer
    /// than are held now takes effect as they are released.
    fn resize(slf: &Bound<'_, Self>, permits: Arg) -> Answered {
        let permits = convert::permits("permits", permits)?;
        let semaphore = slf.get().core.clone();
        slf.as_super()
            .as_super()
            .get()
            .origin
            .run(slf.py(), || async move { semaphore.resize(permits).await })
    }

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
}

/// At most so many permits at once, in the order of arrival. Made by `client.semaphore(path, permits)`.
///
/// >>> import zkrecipes
/// >>> client = zkrecipes.Client("embedded:/semaphore-doc")
/// >>> exports = client.semaphore("/limits/exports", 3)
/// >>> with exports as held:
/// ...     print(held.permits, exports.acquire(3, blocking=False))
/// 1 None
/// >>> with exports.hold(3, timeout=5):
/// ...     print(len(exports.holders()))
/// 3
/// >>> client.close()
#[pyclass(frozen, weakref, extends = SemaphoreBase, module = "zkrecipes")]
pub struct Semaphore;

context_manager! { Semaphore,
    /// A context manager that acquires `n` permits within `timeout` seconds or raises Timeout.
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
