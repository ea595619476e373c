//! `Lock`: waiting for a turn. The handle keeps what it acquired, and what it acquired keeps the handle; when the last of
//! them is garbage, the lock is released in the background, with a ResourceWarning.

use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, ThreadId};
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyCFunction;
use zkrecipes::{Error, ErrorKind, drive};

use crate::callback::{Callback, unsubscriber};
use crate::client::{Session, warn_unless_exiting};
use crate::convert::{self, flag_or};
use crate::errors::{OrRaise, exception, guard, invalid};
use crate::face::{Face, Seed, two_faces, wait};
use crate::held::{HeldBase, leave};
use crate::nodes::TransactionBase;

/// The core's handle, shared by the Python lock and by what it acquired.
pub struct Handle {
    pub lock: zkrecipes::Lock,
    pub session: Arc<Session>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        if drive::check_process().is_ok() && self.lock.is_held() {
            let path = self.lock.path();
            warn_unless_exiting(&format!(
                "the lock {path} was garbage-collected while held; it is released in the background"
            ));
        }
    }
}

/// The acquisitions that `with` statements entered, by thread: threads take turns on one handle, and one that released
/// early must not leave with another's acquisition.
#[derive(Default)]
struct Scopes(Mutex<Vec<(ThreadId, Arc<zkrecipes::Held>)>>);

impl Scopes {
    fn enter(&self, py: Python<'_>, handle: &Arc<Handle>, limit: Option<Duration>) -> PyResult<Py<PyAny>> {
        let held = wait(py, || handle.lock.acquire_kept(limit))?.keep();
        let handed = HeldBase::new(Face::Blocking, held.clone(), handle.clone()).hand_out(py)?;
        self.all().push((thread::current().id(), held));
        Ok(handed)
    }

    fn leave(&self, py: Python<'_>, body_failed: bool) -> PyResult<()> {
        let here = thread::current().id();
        let entered = {
            let mut all = self.all();
            // A fixture may be entered on one thread and left on another: then it is the latest.
            let own = all.iter().rposition(|(thread, _)| *thread == here).or(all.len().checked_sub(1));
            own.map(|index| all.remove(index))
        };
        entered.map_or(Ok(()), |(_, held)| leave(py, held, body_failed))
    }

    fn all(&self) -> MutexGuard<'_, Vec<(ThreadId, Arc<zkrecipes::Held>)>> {
        self.0.lock().unwrap_or_else(|e| e.into_inner())
    }
}

/// What both locks share.
#[pyclass(frozen, subclass, weakref, module = "zkrecipes._native")]
pub struct LockBase {
    face: Face,
    handle: Arc<Handle>,
    scopes: Scopes,
}

impl LockBase {
    pub fn new(face: Face, lock: zkrecipes::Lock, session: Arc<Session>) -> LockBase {
        LockBase { face, handle: Arc::new(Handle { lock, session }), scopes: Scopes::default() }
    }

    fn lock(&self) -> zkrecipes::Lock {
        self.handle.lock.clone()
    }
}

two_faces!(LockBase, Lock, "Lock");

#[pymethods]
impl LockBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> PyResult<LockBase> {
        seed.get().take()
    }

    /// Waits for the lock and returns what was acquired, or None when the time ran out.
    ///
    /// `blocking=False` tries once. `timeout` is in seconds; None or -1 waits for ever. A second acquire on a handle that
    /// holds waits too, whichever thread or task makes it, unless the handle is reentrant.
    #[pyo3(signature = (blocking=None, *, timeout=None), text_signature = "($self, blocking=True, *, timeout=None)")]
    fn acquire(
        &self,
        py: Python<'_>,
        blocking: Option<&Bound<'_, PyAny>>,
        timeout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let mut limit = convert::lock_limit("timeout", timeout)?;
        if !flag_or("blocking", blocking, true)? {
            if limit.is_some() {
                return Err(invalid(
                    py,
                    "timeout",
                    "a call that does not block waits for nothing; leave it out",
                ));
            }
            limit = Some(Duration::ZERO);
        }
        let (face, handle) = (self.face, self.handle.clone());
        self.face.run(
            py,
            || {
                let acquiring = self.handle.lock.acquire_kept(limit);
                async move {
                    match acquiring.await {
                        Ok(granted) => Ok(Some(granted)),
                        Err(error) if error.kind() == ErrorKind::Timeout => Ok(None),
                        Err(error) => Err(error),
                    }
                }
            },
            move |py, acquired| match acquired {
                Some(granted) => HeldBase::new(face, granted.keep(), handle).hand_out(py),
                None => Ok(py.None()),
            },
        )
    }

    /// `acquire` that raises Timeout.
    #[pyo3(name = "_take")]
    fn take(&self, py: Python<'_>, timeout: Option<&Bound<'_, PyAny>>) -> PyResult<Py<PyAny>> {
        let limit = convert::lock_limit("timeout", timeout)?;
        let (face, handle) = (self.face, self.handle.clone());
        self.face.run(
            py,
            || self.handle.lock.acquire_kept(limit),
            move |py, granted| HeldBase::new(face, granted.keep(), handle).hand_out(py),
        )
    }

    /// Lets go. `wait=False` confirms it in the background.
    #[pyo3(signature = (wait=None), text_signature = "($self, wait=True)")]
    fn release(&self, py: Python<'_>, wait: Option<&Bound<'_, PyAny>>) -> PyResult<Py<PyAny>> {
        let lock = &self.handle.lock;
        if flag_or("wait", wait, true)? {
            self.face.run_unit(py, || lock.release())
        } else {
            self.face.run_at_once(py, || lock.release_in_background())
        }
    }

    /// Wakes all waits in progress on this handle with Cancelled, never later ones.
    fn cancel(&self, py: Python<'_>) -> PyResult<()> {
        guard(|| {
            self.handle.lock.cancel();
            Ok(())
        })
        .or_raise(py)
    }

    /// Asks the server: returns, or raises NotHeld, or ConnectionLost when it cannot be known.
    fn verify(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let lock = self.lock();
        self.face.run_unit(py, || async move { lock.verify().await })
    }

    /// Who holds the lock and who waits, in order.
    fn contenders(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let lock = self.lock();
        self.face.run(
            py,
            || async move { lock.contenders().await },
            |py, all| {
                let all =
                    all.into_iter().map(|one| convert::contender(py, one)).collect::<PyResult<Vec<_>>>()?;
                Ok(all.into_pyobject(py)?.unbind())
            },
        )
    }

    /// Node writes that the server applies only while the lock is held.
    fn guarded(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let transaction = guard(|| self.handle.lock.guarded()).or_raise(py)?;
        TransactionBase::new(self.face, transaction, self.handle.session.clone()).hand_out(py)
    }

    /// Calls `callback(error)` once if what is held now gets lost; returns a function that unsubscribes.
    fn on_lost<'py>(
        &self,
        py: Python<'py>,
        callback: &Bound<'_, PyAny>,
    ) -> PyResult<Bound<'py, PyCFunction>> {
        let callback = Callback::new(self.face, callback)?;
        let tell =
            move |error: Error| callback.call(|py| Ok(exception(py, &error).into_value(py).into_any()));
        unsubscriber(py, guard(|| self.handle.lock.on_lost(tell)).or_raise(py)?)
    }

    /// Where the lock is.
    #[getter]
    fn path(&self) -> &str {
        self.handle.lock.path()
    }

    /// Whether the lock is certainly held, by the clock and without I/O.
    #[getter]
    fn is_held(&self) -> bool {
        self.handle.lock.is_held()
    }

    /// The number that rises with every acquisition of this path; for resources that refuse lower ones.
    #[getter]
    fn fencing_token(&self, py: Python<'_>) -> PyResult<u64> {
        guard(|| self.handle.lock.fencing_token()).or_raise(py)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let lock = &slf.get().handle.lock;
        let held = if lock.is_held() { "held" } else { "not held" };
        Ok(format!("<{} {} {held}>", slf.get_type().name()?, lock.path()))
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

impl Lock {
    fn new() -> Lock {
        Lock
    }
}

#[pymethods]
impl Lock {
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
        let limit = convert::lock_limit("timeout", timeout)?;
        Ok(Hold { handle: slf.as_super().get().handle.clone(), limit, scopes: Scopes::default() })
    }

    fn __enter__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        let base = slf.as_super().get();
        base.scopes.enter(slf.py(), &base.handle, None)
    }

    fn __exit__(
        slf: &Bound<'_, Self>,
        kind: &Bound<'_, PyAny>,
        _exception: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        slf.as_super().get().scopes.leave(slf.py(), !kind.is_none())
    }
}

/// What `lock.hold(timeout)` returns.
#[pyclass(frozen, module = "zkrecipes")]
pub struct Hold {
    handle: Arc<Handle>,
    limit: Option<Duration>,
    scopes: Scopes,
}

#[pymethods]
impl Hold {
    fn __enter__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.scopes.enter(py, &self.handle, self.limit)
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        kind: &Bound<'_, PyAny>,
        _exception: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.scopes.leave(py, !kind.is_none())
    }
}
