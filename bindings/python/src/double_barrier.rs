//! `DoubleBarrier`: parties that begin and end a piece of work together.

use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyCFunction;
use zkrecipes::{Result, drive};

use crate::convert;
use crate::errors::{OrRaise, guard};
use crate::face::{Answered, Arg, Fresh, Seed, recipe, wait};
use crate::waiting::Waiting;

recipe!(DoubleBarrierBase of Waiting<zkrecipes::DoubleBarrier>, DoubleBarrier, "DoubleBarrier");

impl DoubleBarrierBase {
    fn leaving(&self, limit: Option<Duration>) -> impl Future<Output = Result<()>> + Send + use<> {
        let barrier = zkrecipes::DoubleBarrier::clone(&self.core);
        self.core.heed(async move { barrier.leave(limit).await })
    }
}

#[pymethods]
impl DoubleBarrierBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<DoubleBarrierBase> {
        seed.get().take()
    }

    /// Comes to the barrier, and waits until all parties have. Timeout after `timeout` seconds: then it counts for nobody.
    /// Exists: it has entered already. Mismatch: the others wait for another number of parties.
    #[pyo3(signature = (timeout=None))]
    fn enter(&self, py: Python<'_>, timeout: Option<Arg>) -> Answered {
        let limit = convert::limit("timeout", timeout)?;
        self.origin.run(py, || self.core.heed(drive::enter(&self.core, limit)))
    }

    /// Leaves, and waits until all parties have. Timeout after `timeout` seconds: it has left, and not all others have.
    /// NotHeld: it has not entered. Lost: its place was gone before.
    #[pyo3(signature = (timeout=None))]
    fn leave(&self, py: Python<'_>, timeout: Option<Arg>) -> Answered {
        let limit = convert::limit("timeout", timeout)?;
        self.origin.run(py, || self.leaving(limit))
    }

    /// Calls `callback(progress)` while this party enters or leaves: after a second, and then ever less often, up to once a
    /// minute. `progress` says how many have yet to come, or to leave (`ahead`), and for how long it is waited (`waited`
    /// seconds). Returns a function that unsubscribes.
    fn on_wait<'py>(&self, callback: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyCFunction>> {
        self.core.on_wait(&self.origin, callback, |barrier, tell| barrier.on_wait(tell))
    }

    /// Ends the waits in progress on this object with Cancelled, never later ones: who was entering counts for nobody then; who
    /// left has left.
    fn cancel(&self, py: Python<'_>) -> PyResult<()> {
        self.core.cancel(&self.origin, py)
    }

    /// Leaves in the background, and waits for nobody. NotHeld: it has not entered.
    fn withdraw(&self, py: Python<'_>) -> PyResult<()> {
        self.origin.guard(|| self.core.withdraw()).or_raise(py)
    }

    /// Whether it has entered, and not left.
    #[getter]
    fn has_entered(&self, py: Python<'_>) -> PyResult<bool> {
        self.origin.guard(|| Ok(self.core.has_entered())).or_raise(py)
    }

    /// How many there have to be.
    #[getter]
    fn parties(&self) -> usize {
        self.core.parties()
    }

    /// What this party is called.
    #[getter]
    fn name(&self) -> &str {
        self.core.name()
    }

    /// Where the barrier is.
    #[getter]
    fn path(&self) -> &str {
        self.core.path()
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let barrier = &slf.get().core;
        let now = if barrier.has_entered() { "entered" } else { "not entered" };
        Ok(format!("<{} {} of {} {now}>", slf.get_type().name()?, barrier.path(), barrier.parties()))
    }
}

/// Parties that begin and end a piece of work together, any number of rounds. Made by
/// `client.double_barrier(path, parties)`.
///
/// `with barrier:` enters, and leaves when the body is done. Nobody waits for the others when it failed: then this party
/// withdraws, and the others go on without it.
///
/// >>> import zkrecipes
/// >>> from concurrent.futures import ThreadPoolExecutor
/// >>> client = zkrecipes.Client("embedded:/double-barrier-doc")
/// >>> done = []
/// >>> def work(name):
/// ...     with client.double_barrier("/barriers/import", 3, name):
/// ...         done.append(name)
/// ...     return len(done)   # of all of them
/// >>> with ThreadPoolExecutor() as pool:
/// ...     list(pool.map(work, ["ann", "bob", "cid"]))
/// [3, 3, 3]
/// >>> client.close()
#[pyclass(frozen, weakref, extends = DoubleBarrierBase, module = "zkrecipes")]
pub struct DoubleBarrier;

#[pymethods]
impl DoubleBarrier {
    fn __enter__<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        slf.as_super().get().enter(slf.py(), None)?;
        Ok(slf)
    }

    #[pyo3(signature = (kind, _exception, _traceback, /))]
    fn __exit__(slf: &Bound<'_, Self>, kind: Arg, _exception: Arg, _traceback: Arg) -> PyResult<()> {
        let base = slf.as_super().get();
        let barrier = &base.core;
        // It may have left before.
        if !barrier.has_entered() {
            return Ok(());
        }
        if kind.is_none() {
            return wait(slf.py(), || base.leaving(None)).inspect_err(|_| {
                // Not allowed to wait on this thread; else it has left.
                let _ = guard(|| barrier.withdraw());
            });
        }
        let _ = guard(|| barrier.withdraw());
        Ok(())
    }
}
