//! `Barrier`: everybody who comes to it waits until it is lifted.

use pyo3::prelude::*;
use pyo3::types::PyCFunction;

use crate::convert;
use crate::face::{Answered, Arg, Fresh, Seed, recipe};
use crate::waiting::Waiting;

recipe!(BarrierBase of Waiting<zkrecipes::Barrier>, Barrier, "Barrier");

#[pymethods]
impl BarrierBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<BarrierBase> {
        seed.get().take()
    }

    /// Puts it up, unless it is up already: who comes to it waits from now on.
    fn create(&self, py: Python<'_>) -> Answered {
        let barrier = zkrecipes::Barrier::clone(&self.core);
        self.origin.run(py, || async move { barrier.create().await })
    }

    /// Lifts it, if it is up: all who wait go on.
    fn remove(&self, py: Python<'_>) -> Answered {
        let barrier = zkrecipes::Barrier::clone(&self.core);
        self.origin.run(py, || async move { barrier.remove().await })
    }

    /// Waits until it is lifted, and not at all if it is not up; Timeout after `timeout` seconds.
    #[pyo3(signature = (timeout=None))]
    fn wait(&self, py: Python<'_>, timeout: Option<Arg>) -> Answered {
        let limit = convert::limit("timeout", timeout)?;
        self.origin.run(py, || {
            let barrier = zkrecipes::Barrier::clone(&self.core);
            self.core.heed(async move { barrier.wait(limit).await })
        })
    }

    /// Calls `callback(progress)` while a wait through this object goes on: after a second, and then ever less often, up to once
    /// a minute. `progress` says who has put the barrier up (`holder`), and for how long it is waited (`waited` seconds). Returns
    /// a function that unsubscribes.
    fn on_wait<'py>(&self, callback: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyCFunction>> {
        self.core.on_wait(&self.origin, callback, |barrier, tell| barrier.on_wait(tell))
    }

    /// Ends the waits in progress on this object with Cancelled, never later ones.
    fn cancel(&self, py: Python<'_>) -> PyResult<()> {
        self.core.cancel(&self.origin, py)
    }

    /// Whether it is up.
    fn is_up(&self, py: Python<'_>) -> Answered {
        let barrier = zkrecipes::Barrier::clone(&self.core);
        self.origin.run(py, || async move { barrier.is_up().await })
    }

    /// Where the barrier is.
    #[getter]
    fn path(&self) -> &str {
        self.core.path()
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        Ok(format!("<{} {}>", slf.get_type().name()?, slf.get().core.path()))
    }
}

/// While it is up, everybody who comes to it waits. Made by `client.barrier(path)`.
///
/// >>> import zkrecipes
/// >>> client = zkrecipes.Client("embedded:/barrier-doc")
/// >>> barrier = client.barrier("/barriers/import")
/// >>> barrier.create()
/// >>> barrier.wait(timeout=0.1)
/// Traceback (most recent call last):
/// ...
/// zkrecipes.Timeout: ...
/// >>> barrier.remove()
/// >>> barrier.wait()
/// >>> barrier.is_up()
/// False
/// >>> client.close()
#[pyclass(frozen, weakref, extends = BarrierBase, module = "zkrecipes")]
pub struct Barrier;
