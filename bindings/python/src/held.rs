//! `Held`: one acquisition.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyCFunction;
use zkrecipes::Error;

use crate::callback::{Callback, unsubscriber};
use crate::convert::flag_or;
use crate::errors::{OrRaise, exception, guard, is_ours};
use crate::face::{Face, Seed, two_faces, wait};
use crate::handle::Handle;
use crate::nodes::TransactionBase;

/// What both faces of an acquisition share.
#[pyclass(frozen, subclass, weakref, module = "zkrecipes._native")]
pub struct HeldBase {
    face: Face,
    held: Arc<zkrecipes::Held>,
    handle: Arc<Handle>,
}

impl HeldBase {
    pub fn new(face: Face, held: Arc<zkrecipes::Held>, handle: Arc<Handle>) -> HeldBase {
        HeldBase { face, held, handle }
    }
}

two_faces!(HeldBase, Held, "Held");

/// Leaves the scope of an acquisition. An error of the scope's body is never masked by one of ours.
pub fn leave(py: Python<'_>, held: Arc<zkrecipes::Held>, body_failed: bool) -> PyResult<()> {
    wait(py, || held.leave(body_failed)).or_else(|raised| {
        // Interrupted, or not allowed to wait on this thread: it is let go all the same, unless it is gone already.
        let _ = held.release_in_background();
        if body_failed && is_ours(py, &raised) { Ok(()) } else { Err(raised) }
    })
}

#[pymethods]
impl HeldBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> PyResult<HeldBase> {
        seed.get().take()
    }

    /// Lets go, and waits until the server has confirmed it; a second time is NotHeld. With `wait=False` it returns at once,
    /// and confirms in the background; callbacks may do that too.
    #[pyo3(signature = (wait=None), text_signature = "($self, wait=True)")]
    fn release(&self, py: Python<'_>, wait: Option<&Bound<'_, PyAny>>) -> PyResult<Py<PyAny>> {
        if flag_or("wait", wait, true)? {
            self.face.run_unit(py, || self.held.release())
        } else {
            self.face.run_at_once(py, || self.held.release_in_background())
        }
    }

    #[pyo3(name = "_leave")]
    fn py_leave(&self, py: Python<'_>, body_failed: bool) -> PyResult<Py<PyAny>> {
        self.face.run_unit(py, || self.held.leave(body_failed))
    }

    /// Asks the server: returns, or raises NotHeld, or ConnectionLost when it cannot be known.
    fn verify(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let held = self.held.clone();
        self.face.run_unit(py, || async move { held.verify().await })
    }

    /// Node writes that the server applies only while this acquisition stands, in one transaction.
    fn guarded(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let transaction = guard(|| Ok(self.held.guarded())).or_raise(py)?;
        TransactionBase::new(self.face, transaction, self.handle.session.clone()).hand_out(py)
    }

    /// Calls `callback(error)` once if this is lost, at once if it is lost already, never for an own release; returns a
    /// function that unsubscribes. A callback that refers to this acquisition keeps it alive until it is released.
    fn on_lost<'py>(
        &self,
        py: Python<'py>,
        callback: &Bound<'_, PyAny>,
    ) -> PyResult<Bound<'py, PyCFunction>> {
        let callback = Callback::new(self.face, callback)?;
        let tell =
            move |error: Error| callback.call(|py| Ok(vec![exception(py, &error).into_value(py).into_any()]));
        unsubscriber(py, guard(|| Ok(self.held.on_lost(tell))).or_raise(py)?)
    }

    /// Calls `callback()` once when somebody asks for this (`lock.revoke()`), at once if that has happened: finish, then
    /// release. Returns a function that unsubscribes.
    fn on_revoke<'py>(
        &self,
        py: Python<'py>,
        callback: &Bound<'_, PyAny>,
    ) -> PyResult<Bound<'py, PyCFunction>> {
        let callback = Callback::new(self.face, callback)?;
        let tell = move || callback.call(|_| Ok(Vec::new()));
        unsubscriber(py, guard(|| Ok(self.held.on_revoke(tell))).or_raise(py)?)
    }

    /// The path of the lock.
    #[getter]
    fn path(&self) -> &str {
        self.held.path()
    }

    /// The path of this acquisition's own node.
    #[getter]
    fn node(&self) -> &str {
        self.held.node()
    }

    /// Whether this is certainly held, by the clock and without I/O.
    #[getter]
    fn is_held(&self) -> bool {
        self.held.is_held()
    }

    /// The number that rises with every acquisition of the path; for resources that refuse lower ones.
    #[getter]
    fn fencing_token(&self) -> u64 {
        self.held.fencing_token()
    }

    /// The tokens of all that is held together, in the order of their paths: several for a multi-lock.
    #[getter]
    fn fencing_tokens(&self) -> Vec<u64> {
        self.held.fencing_tokens()
    }

    /// How often the turn was passed on inside this process since it was won. With `local_handoff`, acquisitions share a
    /// fencing token, and the pair (fencing_token, passes) rises strictly.
    #[getter]
    fn passes(&self) -> u32 {
        self.held.passes()
    }

    /// How many nodes of ours stand for this: the permits of a semaphore, the locks of a multi-lock.
    #[getter]
    fn permits(&self) -> usize {
        self.held.permits()
    }

    /// A text by which anybody, in any language, can check or watch whether this acquisition still stands; see
    /// `client.check_sequencer`.
    #[getter]
    fn sequencer(&self) -> String {
        self.held.sequencer()
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let held = &slf.get().held;
        let now = if held.is_held() { "held" } else { "not held" };
        Ok(format!("<{} {} token={} {now}>", slf.get_type().name()?, held.path(), held.fencing_token()))
    }
}

/// One acquisition. As a context manager it is released on exit; leaving raises Lost if it was lost.
///
/// >>> import zkrecipes
/// >>> client = zkrecipes.Client("embedded:/held-doc")
/// >>> with client.lock("/locks/report").acquire() as held:
/// ...     held.verify()                  # asks the server
/// ...     first = held.fencing_token     # for whatever the lock protects
/// >>> held.is_held
/// False
/// >>> with client.lock("/locks/report") as held:
/// ...     print(held.fencing_token > first)
/// True
/// >>> client.close()
#[pyclass(frozen, weakref, extends = HeldBase, module = "zkrecipes")]
pub struct Held;

impl Held {
    fn new() -> Held {
        Held
    }
}

#[pymethods]
impl Held {
    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __exit__(
        slf: &Bound<'_, Self>,
        kind: &Bound<'_, PyAny>,
        _exception: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        leave(slf.py(), slf.as_super().get().held.clone(), !kind.is_none())
    }
}
