//! Generated from api/double_barrier.toml by api/generate; do not edit.

use pyo3::prelude::*;
use pyo3::types::PyCFunction;
use zkrecipes::drive;

use crate::answer::Answer;
use crate::convert;
use crate::errors::OrRaise;
use crate::face::{Answered, Arg, Fresh, Seed, recipe};
use crate::waiting::Waiting;

recipe!(DoubleBarrierBase of Waiting<zkrecipes::DoubleBarrier>, DoubleBarrier, "DoubleBarrier");

#[pymethods]
impl DoubleBarrierBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<DoubleBarrierBase> {
        seed.get().take()
    }

    /// Where the barrier is.
    #[getter]
    fn path(&self) -> &str {
        self.core.path()
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

    /// Whether it has entered, and not left.
    #[getter]
    fn has_entered(slf: &Bound<'_, Self>) -> Answered {
        Self::origin(slf).guard(|| Ok(slf.get().core.has_entered())).or_raise(slf.py())?.answer(slf.py())
    }

    /// Calls `callback(progress)` while this party enters or leaves: after a second, and then ever less often, up
    /// to once a minute. `progress` says how many have yet to come, or to leave (`ahead`), and for how long it is
    /// waited (`waited` seconds). Returns a function that unsubscribes.
    fn on_wait<'py>(
        slf: &Bound<'py, Self>,
        callback: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyCFunction>> {
        slf.get().core.on_wait(Self::origin(slf), callback, |one, tell| one.on_wait(tell))
    }

    /// Comes to the barrier, and waits until all parties have. Timeout after `timeout` seconds: then it counts for
    /// nobody. Exists: it has entered already. Mismatch: the others wait for another number of parties.
    #[pyo3(signature = (timeout=None))]
    fn enter(slf: &Bound<'_, Self>, timeout: Option<Arg>) -> Answered {
        let timeout = convert::limit("timeout", timeout)?;
        let it = slf.get();
        Self::origin(slf).run(slf.py(), || slf.get().core.heed(drive::enter(&it.core, timeout)))
    }

    /// Leaves, and waits until all parties have. Timeout after `timeout` seconds: it has left, and not all others
    /// have. NotHeld: it has not entered. Lost: its place was gone before.
    #[pyo3(signature = (timeout=None))]
    fn leave(slf: &Bound<'_, Self>, timeout: Option<Arg>) -> Answered {
        let timeout = convert::limit("timeout", timeout)?;
        let core = zkrecipes::DoubleBarrier::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || slf.get().core.heed(async move { core.leave(timeout).await }))
    }

    /// Leaves in the background, and waits for nobody. NotHeld: it has not entered.
    fn withdraw(slf: &Bound<'_, Self>) -> PyResult<()> {
        Self::origin(slf).guard(|| slf.get().core.withdraw()).or_raise(slf.py())
    }

    /// Ends the waits in progress on this object with Cancelled, never later ones: who was entering counts for
    /// nobody then; who left has left.
    fn cancel(slf: &Bound<'_, Self>) -> PyResult<()> {
        slf.get().core.cancel(Self::origin(slf), slf.py())
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let core = &slf.get().core;
        Ok(format!(
            "<{} {}>",
            slf.get_type().name()?,
            format_args!(
                "{} of {} {}",
                core.path(),
                core.parties(),
                if core.has_entered() { "entered" } else { "not entered" }
            )
        ))
    }
}

/// Parties that begin and end a piece of work together, any number of rounds. Made by
/// `client.double_barrier(path, parties)`.
///
/// `with barrier:` enters, and leaves when the body is done. Nobody waits for the others when it failed: then
/// this party withdraws, and the others go on without it.
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
