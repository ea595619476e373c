//! What every recipe that is acquired and released shares: the handle. It keeps what was acquired through it, and what was
//! acquired keeps the handle; when the last of them is garbage, it is released in the background, with a ResourceWarning.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::{self, ThreadId};
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyCFunction;
use zkrecipes::{Contender, Error, ErrorKind, Granted, Result, drive};

use crate::callback::{Callback, unsubscriber};
use crate::client::{Session, warn_unless_exiting};
use crate::convert::{self, flag_or};
use crate::errors::{OrRaise, exception, guard, invalid};
use crate::face::{Face, wait};
use crate::held::{HeldBase, leave};
use crate::nodes::TransactionBase;

/// What is acquired.
pub enum Recipe {
    Lock(zkrecipes::Lock),
    MultiLock(zkrecipes::MultiLock),
    Semaphore(zkrecipes::Semaphore),
}

/// The same for each of them.
macro_rules! each {
    ($recipe:expr, $it:ident => $same:expr) => {
        match $recipe {
            Recipe::Lock($it) => $same,
            Recipe::MultiLock($it) => $same,
            Recipe::Semaphore($it) => $same,
        }
    };
}

type Waiting<T> = Pin<Box<dyn Future<Output = Result<T>> + Send>>;

/// The core's handle, shared by the Python one and by what it acquired.
pub struct Handle {
    recipe: Recipe,
    pub session: Arc<Session>,
}

impl Handle {
    /// The wait begins when this is called. `n` is for semaphores.
    fn acquire(&self, n: usize, limit: Option<Duration>) -> Waiting<Granted> {
        match &self.recipe {
            Recipe::Lock(lock) => Box::pin(lock.acquire_kept(limit)),
            Recipe::MultiLock(lock) => Box::pin(lock.acquire_kept(limit)),
            Recipe::Semaphore(semaphore) => Box::pin(semaphore.acquire_kept(n, limit)),
        }
    }

    fn current(&self) -> Result<Arc<zkrecipes::Held>> {
        each!(&self.recipe, it => it.current()).ok_or_else(|| {
            let problem = "not held: nothing was acquired through this handle; acquire it first";
            Error::new(ErrorKind::NotHeld, problem).with_path(self.place())
        })
    }

    pub fn is_held(&self) -> bool {
        each!(&self.recipe, it => it.is_held())
    }

    fn cancel(&self) {
        each!(&self.recipe, it => it.cancel());
    }

    fn fencing_token(&self) -> Result<u64> {
        self.current()?;
        each!(&self.recipe, it => it.fencing_token())
    }

    fn contenders(&self) -> Waiting<Vec<Contender>> {
        each!(&self.recipe, it => {
            let it = it.clone();
            Box::pin(async move { it.contenders().await })
        })
    }

    fn revoke(&self, contender: Option<String>, force_after: Option<Duration>) -> Waiting<bool> {
        each!(&self.recipe, it => {
            let it = it.clone();
            Box::pin(async move { it.revoke(contender.as_deref(), force_after).await })
        })
    }

    /// Where it is; several paths for a multi-lock.
    fn place(&self) -> String {
        match &self.recipe {
            Recipe::Lock(lock) => lock.path().to_owned(),
            Recipe::MultiLock(lock) => lock.paths().join(", "),
            Recipe::Semaphore(semaphore) => semaphore.path().to_owned(),
        }
    }
}

impl std::fmt::Display for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = match &self.recipe {
            Recipe::Lock(_) => "lock",
            Recipe::MultiLock(_) => "multi-lock of",
            Recipe::Semaphore(_) => "semaphore",
        };
        write!(f, "the {what} {}", self.place())
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if drive::check_process().is_ok() && self.is_held() {
            warn_unless_exiting(&format!(
                "{self} was garbage-collected while held; it is released in the background"
            ));
        }
    }
}

/// The acquisitions that `with` statements entered, by thread: threads take turns on one handle, and one that released
/// early must not leave with another's acquisition.
#[derive(Default)]
pub struct Scopes(Mutex<Vec<(ThreadId, Arc<zkrecipes::Held>)>>);

impl Scopes {
    fn enter(
        &self,
        py: Python<'_>,
        handle: &Arc<Handle>,
        n: usize,
        limit: Option<Duration>,
    ) -> PyResult<Py<PyAny>> {
        let held = wait(py, || handle.acquire(n, limit))?.keep();
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

/// What all handles share, on both faces.
#[pyclass(frozen, subclass, weakref, module = "zkrecipes._native")]
pub struct HandleBase {
    pub face: Face,
    handle: Arc<Handle>,
    scopes: Scopes,
}

impl HandleBase {
    pub fn new(face: Face, recipe: Recipe, session: Arc<Session>) -> HandleBase {
        HandleBase { face, handle: Arc::new(Handle { recipe, session }), scopes: Scopes::default() }
    }

    /// `n` permits, or None when the time ran out.
    pub fn acquire_some(
        &self,
        py: Python<'_>,
        n: usize,
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
                let acquiring = self.handle.acquire(n, limit);
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

    pub fn hold(&self, n: usize, timeout: Option<&Bound<'_, PyAny>>) -> PyResult<Hold> {
        let limit = convert::lock_limit("timeout", timeout)?;
        Ok(Hold { handle: self.handle.clone(), n, limit, scopes: Scopes::default() })
    }

    pub fn current(&self) -> Result<Arc<zkrecipes::Held>> {
        self.handle.current()
    }

    pub fn enter(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.scopes.enter(py, &self.handle, 1, None)
    }

    pub fn exit(&self, py: Python<'_>, body_failed: bool) -> PyResult<()> {
        self.scopes.leave(py, body_failed)
    }
}

#[pymethods]
impl HandleBase {
    /// Waits and returns what was acquired, or None when the time ran out.
    ///
    /// `blocking=False` tries once. `timeout` is in seconds; None or -1 waits for ever. A second acquire on a lock that
    /// holds waits too, whichever thread or task makes it, unless the lock is reentrant.
    #[pyo3(signature = (blocking=None, *, timeout=None), text_signature = "($self, blocking=True, *, timeout=None)")]
    fn acquire(
        &self,
        py: Python<'_>,
        blocking: Option<&Bound<'_, PyAny>>,
        timeout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        self.acquire_some(py, 1, blocking, timeout)
    }

    /// `acquire` that raises Timeout.
    #[pyo3(name = "_take")]
    fn take(
        &self,
        py: Python<'_>,
        n: &Bound<'_, PyAny>,
        timeout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let (n, limit) = (convert::permits("n", n)?, convert::lock_limit("timeout", timeout)?);
        let (face, handle) = (self.face, self.handle.clone());
        self.face.run(
            py,
            || self.handle.acquire(n, limit),
            move |py, granted| HeldBase::new(face, granted.keep(), handle).hand_out(py),
        )
    }

    /// Lets go of what was acquired last, and waits until the server has confirmed it. With `wait=False` it returns at once,
    /// and confirms in the background; callbacks may do that too.
    #[pyo3(signature = (wait=None), text_signature = "($self, wait=True)")]
    fn release(&self, py: Python<'_>, wait: Option<&Bound<'_, PyAny>>) -> PyResult<Py<PyAny>> {
        if flag_or("wait", wait, true)? {
            self.face.run_unit(py, || {
                let releasing = self.handle.current().map(|held| held.release());
                async move { releasing?.await }
            })
        } else {
            self.face.run_at_once(py, || self.handle.current()?.release_in_background())
        }
    }

    /// Wakes all waits in progress on this handle with Cancelled, never later ones.
    fn cancel(&self, py: Python<'_>) -> PyResult<()> {
        guard(|| {
            self.handle.cancel();
            Ok(())
        })
        .or_raise(py)
    }

    /// Asks the server: returns, or raises NotHeld, or ConnectionLost when it cannot be known.
    fn verify(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.face.run_unit(py, || {
            let held = self.handle.current();
            async move { held?.verify().await }
        })
    }

    /// Node writes that the server applies only while this is held.
    fn guarded(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let transaction = guard(|| Ok(self.handle.current()?.guarded())).or_raise(py)?;
        TransactionBase::new(self.face, transaction, self.handle.session.clone()).hand_out(py)
    }

    /// Who holds and who waits, in order. Of a semaphore there is one entry for each permit that is held, and of a
    /// multi-lock there are the contenders of each of its locks.
    fn contenders(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.face.run(py, || self.handle.contenders(), convert::contenders)
    }

    /// Asks for it: whoever holds, or the `contender` given (as `contenders()` lists it, or its node), hears of it through
    /// `held.on_revoke` and lets go when it can. With `force_after` seconds, exactly the nodes that were asked are deleted
    /// when they have not gone by then; a holder that cannot be reached does not know that at once, and only fencing and
    /// guarded writes protect from it. False when there was nobody to ask.
    #[pyo3(signature = (contender=None, force_after=None))]
    fn revoke(
        &self,
        py: Python<'_>,
        contender: Option<&Bound<'_, PyAny>>,
        force_after: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let contender = contender.map(|one| convert::contender_node("contender", one)).transpose()?;
        let patience = convert::limit("force_after", force_after)?;
        self.face.run(py, || self.handle.revoke(contender, patience), convert::truth)
    }

    /// Calls `callback(error)` once if what is held now gets lost; returns a function that unsubscribes.
    fn on_lost<'py>(
        &self,
        py: Python<'py>,
        callback: &Bound<'_, PyAny>,
    ) -> PyResult<Bound<'py, PyCFunction>> {
        let callback = Callback::new(self.face, callback)?;
        let tell =
            move |error: Error| callback.call(|py| Ok(vec![exception(py, &error).into_value(py).into_any()]));
        unsubscriber(py, guard(|| Ok(self.handle.current()?.on_lost(tell))).or_raise(py)?)
    }

    /// Calls `callback()` once if somebody asks for what is held now; returns a function that unsubscribes.
    fn on_revoke<'py>(
        &self,
        py: Python<'py>,
        callback: &Bound<'_, PyAny>,
    ) -> PyResult<Bound<'py, PyCFunction>> {
        let callback = Callback::new(self.face, callback)?;
        let tell = move || callback.call(|_| Ok(Vec::new()));
        unsubscriber(py, guard(|| Ok(self.handle.current()?.on_revoke(tell))).or_raise(py)?)
    }

    /// Whether it is certainly held through this handle, by the clock and without I/O.
    #[getter]
    fn is_held(&self) -> bool {
        self.handle.is_held()
    }

    /// The number that rises with every acquisition, for resources that refuse lower ones; NotHeld when nothing is held.
    #[getter]
    fn fencing_token(&self, py: Python<'_>) -> PyResult<u64> {
        guard(|| self.handle.fencing_token()).or_raise(py)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let handle = &slf.get().handle;
        let held = if handle.is_held() { "held" } else { "not held" };
        Ok(format!("<{} {} {held}>", slf.get_type().name()?, handle.place()))
    }
}

/// The public classes of one kind of handle: `$base` with its own verbs on top of `HandleBase`, a native subclass for the
/// blocking face, a Python one for asyncio.
macro_rules! handle_faces {
    ($base:ident, $blocking:ident, $name:literal) => {
        impl $base {
            pub fn hand_out(
                self,
                py: pyo3::Python<'_>,
                handle: $crate::handle::HandleBase,
            ) -> pyo3::PyResult<pyo3::Py<pyo3::PyAny>> {
                match handle.face {
                    $crate::face::Face::Blocking => {
                        let all =
                            pyo3::PyClassInitializer::from(handle).add_subclass(self).add_subclass($blocking);
                        Ok(pyo3::Py::new(py, all)?.into_any())
                    }
                    $crate::face::Face::Asyncio => $crate::face::asyncio_object(py, $name, (handle, self)),
                }
            }

            fn grown(
                seed: &pyo3::Bound<'_, $crate::face::Seed>,
            ) -> pyo3::PyResult<pyo3::PyClassInitializer<$base>> {
                let (handle, own) = seed.get().take::<($crate::handle::HandleBase, $base)>()?;
                Ok(pyo3::PyClassInitializer::from(handle).add_subclass(own))
            }
        }
    };
}
pub(crate) use handle_faces;

/// The context manager of a blocking handle, native so that no signal can fall between acquiring and entering.
macro_rules! context_manager {
    ($class:ident, $($hold:tt)*) => {
        #[pymethods]
        impl $class {
            $($hold)*

            fn __enter__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
                slf.as_super().as_super().get().enter(slf.py())
            }

            fn __exit__(
                slf: &Bound<'_, Self>,
                kind: &Bound<'_, PyAny>,
                _exception: &Bound<'_, PyAny>,
                _traceback: &Bound<'_, PyAny>,
            ) -> PyResult<()> {
                slf.as_super().as_super().get().exit(slf.py(), !kind.is_none())
            }
        }
    };
}
pub(crate) use context_manager;

/// What `hold(timeout)` returns.
#[pyclass(frozen, module = "zkrecipes")]
pub struct Hold {
    handle: Arc<Handle>,
    n: usize,
    limit: Option<Duration>,
    scopes: Scopes,
}

#[pymethods]
impl Hold {
    fn __enter__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        self.scopes.enter(py, &self.handle, self.n, self.limit)
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
