//! `Lock`: waiting for a turn. Also each side of a `ReadWriteLock`.

use pyo3::prelude::*;

use crate::convert;
use crate::face::Seed;
use crate::handle::{HandleBase, Hold, context_manager, handle_faces};

/// What both locks have besides.
#[pyclass(frozen, subclass, extends = HandleBase, module = "zkrecipes._native")]
pub struct LockBase {
    pub lock: zkrecipes::Lock,
}

handle_faces!(LockBase, Lock, "Lock");

#[pymethods]
impl LockBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> PyResult<PyClassInitializer<LockBase>> {
        LockBase::grown(seed)
    }

    /// Who holds the lock and who waits, in order.
    fn contenders(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let lock = slf.get().lock.clone();
        slf.as_super().get().face.run(
            slf.py(),
            || async move { lock.contenders().await },
            convert::contenders,
        )
    }

    /// Asks for the lock: whoever holds it, or the `contender` given (its node's name, or as `contenders()` lists it),
    /// hears of it through `held.on_revoke` and lets go when it can. With `force_after` seconds, exactly the nodes that
    /// were asked are deleted when they have not gone by then; a holder that cannot be reached does not know that at
    /// once, and only fencing and guarded writes protect from it. False when there was nobody to ask.
    #[pyo3(signature = (contender=None, force_after=None))]
    fn revoke(
        slf: &Bound<'_, Self>,
        contender: Option<&Bound<'_, PyAny>>,
        force_after: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let contender = contender.map(|one| convert::contender_node("contender", one)).transpose()?;
        let patience = convert::limit("force_after", force_after)?;
        let lock = slf.get().lock.clone();
        slf.as_super().get().face.run(
            slf.py(),
            || async move { lock.revoke(contender.as_deref(), patience).await },
            convert::truth,
        )
    }

    /// Where the lock is.
    #[getter]
    fn path(&self) -> &str {
        self.lock.path()
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
    fn hold(slf: &Bound<'_, Self>, timeout: Option<&Bound<'_, PyAny>>) -> PyResult<Hold> {
        slf.as_super().as_super().get().hold(1, timeout)
    }
}
