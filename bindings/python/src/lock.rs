//! `Lock`: waiting for a turn. Also each side of a `ReadWriteLock`.

use pyo3::prelude::*;
use zkrecipes::drive;

use crate::face::{Answered, Arg, Fresh, Seed};
use crate::handle::{HandleBase, Hold, context_manager, handle_recipe};

handle_recipe!(LockBase of zkrecipes::Lock, Lock, "Lock");

#[pymethods]
impl LockBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<LockBase> {
        seed.get().take()
    }

    /// From writing to reading, for the `write` side of a read/write lock: as `downgrade` of what it acquired last.
    fn downgrade(slf: &Bound<'_, Self>) -> Answered {
        let common = &slf.as_super().get().common;
        common.downgrade(slf.py(), || drive::downgrade_current(&common.core))
    }

    /// Where the lock is.
    #[getter]
    fn path(&self) -> &str {
        self.core.path()
    }
}

/// A mutual exclusion between processes, first come, first served. Made by `client.lock(path)`.
///
/// `with lock as held:` waits, and releases on any exit; leaving raises Lost if the lock was lost meanwhile. The handle
/// keeps what it acquired, so that the idiom of `threading` works too:
///
/// >>> import zkrecipes
/// >>> client = zkrecipes.Client("embedded:/lock-doc")
/// >>> lock = client.lock("/locks/report")
/// >>> with lock as held:
/// ...     print(held.is_held)
/// True
/// >>> if lock.acquire(timeout=5):
/// ...     try:
/// ...         print(lock.is_held)
/// ...     finally:
/// ...         lock.release()
/// True
/// >>> client.close()
#[pyclass(frozen, weakref, extends = LockBase, module = "zkrecipes")]
pub struct Lock;

context_manager! { Lock,
    /// A context manager that acquires within `timeout` seconds or raises Timeout.
    ///
    /// >>> import zkrecipes
    /// >>> client = zkrecipes.Client("embedded:/hold-doc")
    /// >>> with client.lock("/locks/report"):
    /// ...     with client.lock("/locks/report").hold(timeout=0.1):
    /// ...         pass
    /// Traceback (most recent call last):
    /// ...
    /// zkrecipes.Timeout: ...
    /// >>> client.close()
    #[pyo3(signature = (timeout=None))]
    fn hold(slf: &Bound<'_, Self>, timeout: Option<Arg>) -> PyResult<Hold> {
        HandleBase::hold(slf.as_super().as_super(), 1, timeout)
    }
}
