//! `MultiLock`: several locks as one.

use pyo3::prelude::*;

use crate::errors::OrRaise;
use crate::face::{Answered, Arg, Fresh, Seed};
use crate::generated::docs::doc_of;
use crate::handle::{HandleBase, Hold, context_manager, handle_recipe};

handle_recipe!(MultiLockBase of zkrecipes::MultiLock, MultiLock, "MultiLock");

#[pymethods]
impl MultiLockBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<MultiLockBase> {
        seed.get().take()
    }

    // --- generated from api: methods of MultiLock

    /// The paths that are locked, in the order in which they are acquired and in which the tokens come.
    #[getter]
    fn paths(&self) -> Vec<String> {
        self.core.paths().to_vec()
    }
    // --- end of generated

    #[doc = doc_of!(MultiLockBase.fencing_tokens)]
    #[getter]
    fn fencing_tokens(slf: &Bound<'_, Self>) -> PyResult<Vec<u64>> {
        let holding = slf.as_super().as_super().get();
        holding.origin.guard(|| Ok(holding.held()?.fencing_tokens())).or_raise(slf.py())
    }
}

#[doc = doc_of!(MultiLock)]
#[pyclass(frozen, weakref, extends = MultiLockBase, module = "zkrecipes")]
pub struct MultiLock;

context_manager! { MultiLock,
    #[doc = doc_of!(MultiLock.hold)]
    #[pyo3(signature = (timeout=None))]
    fn hold(slf: &Bound<'_, Self>, timeout: Option<Arg>) -> PyResult<Hold> {
        HandleBase::hold(slf.as_super().as_super(), 1, timeout)
    }
}
