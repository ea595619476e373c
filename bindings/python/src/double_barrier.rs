//! `with barrier:`, native so that no signal can fall between entering and the body.

use pyo3::prelude::*;
use zkrecipes::drive;

use crate::errors::guard;
use crate::face::{Arg, wait};
use crate::generated::{DoubleBarrier, DoubleBarrierBase};

#[pymethods]
impl DoubleBarrier {
    fn __enter__<'py>(slf: Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        let barrier = &slf.as_super().get().core;
        let origin = DoubleBarrierBase::origin(slf.as_super());
        origin.run(slf.py(), || barrier.heed(drive::enter(barrier, None)))?;
        Ok(slf)
    }

    #[pyo3(signature = (kind, _exception, _traceback, /))]
    fn __exit__(slf: &Bound<'_, Self>, kind: Arg, _exception: Arg, _traceback: Arg) -> PyResult<()> {
        let barrier = &slf.as_super().get().core;
        // It may have left before.
        if !barrier.has_entered() {
            return Ok(());
        }
        if kind.is_none() {
            let leaving = zkrecipes::DoubleBarrier::clone(barrier);
            return wait(slf.py(), || barrier.heed(async move { leaving.leave(None).await })).inspect_err(
                |_| {
                    // Not allowed to wait on this thread; else it has left.
                    let _ = guard(|| barrier.withdraw());
                },
            );
        }
        let _ = guard(|| barrier.withdraw());
        Ok(())
    }
}
