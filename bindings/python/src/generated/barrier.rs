//! Generated from api/barrier.toml by api/generate; do not edit.

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

    /// Where the barrier is.
    #[getter]
    fn path(&self) -> &str {
        self.core.path()
    }

    /// Puts it up, unless it is up already: who comes to it waits from now on.
    fn create(slf: &Bound<'_, Self>) -> Answered {
        let core = zkrecipes::Barrier::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.create().await })
    }

    /// Lifts it, if it is up: all who wait go on.
    fn remove(slf: &Bound<'_, Self>) -> Answered {
        let core = zkrecipes::Barrier::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.remove().await })
    }

    /// Whether it is up.
    fn is_up(slf: &Bound<'_, Self>) -> Answered {
        let core = zkrecipes::Barrier::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.is_up().await })
    }

    /// Calls `callback(progress)` while a wait through this object goes on: after a second, and then ever less
    /// often, up to once a minute. `progress` says who has put the barrier up (`holder`), and for how long it is
    /// waited (`waited` seconds). Returns a function that unsubscribes.
    fn on_wait<'py>(
        slf: &Bound<'py, Self>,
        callback: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyCFunction>> {
        slf.get().core.on_wait(Self::origin(slf), callback, |one, tell| one.on_wait(tell))
    }

    /// Waits until it is lifted, and not at all if it is not up; Timeout after `timeout` seconds.
    #[pyo3(signature = (timeout=None))]
    fn wait(slf: &Bound<'_, Self>, timeout: Option<Arg>) -> Answered {
        let timeout = convert::limit("timeout", timeout)?;
        let core = zkrecipes::Barrier::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || slf.get().core.heed(async move { core.wait(timeout).await }))
    }

    /// Ends the waits in progress on this object with Cancelled, never later ones.
    fn cancel(slf: &Bound<'_, Self>) -> PyResult<()> {
        slf.get().core.cancel(Self::origin(slf), slf.py())
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let core = &slf.get().core;
        Ok(format!("<{} {}>", slf.get_type().name()?, core.path()))
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
