//! Generated from api/latch.toml by api/generate; do not edit.

use pyo3::prelude::*;

use crate::convert;
use crate::face::{Answered, Arg, Fresh, Seed, recipe};
use crate::waiting::Waiting;

recipe!(LatchBase of Waiting<zkrecipes::Latch>, Latch, "Latch");

#[pymethods]
impl LatchBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<LatchBase> {
        seed.get().take()
    }

    /// Where the latch is.
    #[getter]
    fn path(&self) -> &str {
        self.core.path()
    }

    /// Counts it down by `n` and returns how much is left; 0 is open. ConnectionLost says that it cannot be known
    /// whether it was counted down.
    #[pyo3(signature = (n=None), text_signature = "($self, n=1)")]
    fn count_down(slf: &Bound<'_, Self>, n: Option<Arg>) -> Answered {
        let n = convert::permits_or("n", n, 1)?;
        let core = zkrecipes::Latch::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.count_down(n).await })
    }

    /// How much is left until it is open, no older than this call.
    fn remaining(slf: &Bound<'_, Self>) -> Answered {
        let core = zkrecipes::Latch::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.remaining().await })
    }

    /// Sets how much is left to `count`: it is closed. Who waits for it goes on waiting.
    fn reset(slf: &Bound<'_, Self>, count: Arg) -> Answered {
        let count = convert::permits("count", count)?;
        let core = zkrecipes::Latch::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.reset(count).await })
    }

    /// Waits until it is open, and not at all if it is; Timeout after `timeout` seconds, NoNode if somebody deletes
    /// it meanwhile. Who has seen it closed when it is opened goes on, also if it is reset at once.
    #[pyo3(signature = (timeout=None))]
    fn wait(slf: &Bound<'_, Self>, timeout: Option<Arg>) -> Answered {
        let timeout = convert::limit("timeout", timeout)?;
        let core = zkrecipes::Latch::clone(&slf.get().core);
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

/// Closed until it was counted down as often as it says, by whomever, and open from then on. Every count is
/// made exactly once, also when its answer gets lost; ConnectionLost where that cannot be known any more. Made
/// by `client.latch(path, count)`.
///
/// >>> import zkrecipes
/// >>> client = zkrecipes.Client("embedded:/latch-doc")
/// >>> imports = client.latch("/latches/imports", 2)
/// >>> imports.count_down(), imports.remaining()
/// (1, 1)
/// >>> imports.count_down()
/// 0
/// >>> imports.wait()
/// >>> client.close()
#[pyclass(frozen, weakref, extends = LatchBase, module = "zkrecipes")]
pub struct Latch;
