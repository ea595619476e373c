//! `Lock`: waiting for a turn. Also each side of a `ReadWriteLock`.

use pyo3::prelude::*;
use zkrecipes::drive;

use crate::face::{Answered, Arg, Fresh, Seed};
use crate::generated::docs::doc_of;
use crate::handle::{HandleBase, Hold, context_manager, handle_recipe};

handle_recipe!(LockBase of zkrecipes::Lock, Lock, "Lock");

#[pymethods]
impl LockBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<LockBase> {
        seed.get().take()
    }

    // --- generated from api: methods of Lock

    /// Where the lock is.
    #[getter]
    fn path(&self) -> &str {
        self.core.path()
    }
    // --- end of generated

    #[doc = doc_of!(LockBase.downgrade)]
    fn downgrade(slf: &Bound<'_, Self>) -> Answered {
        let common = &slf.as_super().get().common;
        common.downgrade(slf.py(), || drive::downgrade_current(&common.core))
    }
}

#[doc = doc_of!(Lock)]
#[pyclass(frozen, weakref, extends = LockBase, module = "zkrecipes")]
pub struct Lock;

context_manager! { Lock,
    #[doc = doc_of!(Lock.hold)]
    #[pyo3(signature = (timeout=None))]
    fn hold(slf: &Bound<'_, Self>, timeout: Option<Arg>) -> PyResult<Hold> {
        HandleBase::hold(slf.as_super().as_super(), 1, timeout)
    }
}
