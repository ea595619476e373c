//! `MultiLock`: several locks as one.

use pyo3::prelude::*;

use crate::errors::OrRaise;
use crate::face::{Answered, Arg, Fresh, Seed};
use crate::handle::{HandleBase, Hold, context_manager, handle_recipe};

handle_recipe!(MultiLockBase of zkrecipes::MultiLock, MultiLock, "MultiLock");

#[pymethods]
impl MultiLockBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<MultiLockBase> {
        seed.get().take()
    }

    /// The paths that are locked, in the order in which they are acquired and in which the tokens come.
    #[getter]
    fn paths(&self) -> Vec<String> {
        self.core.paths().to_vec()
    }

    /// The fencing tokens of what is held, in the order of `paths`.
    #[getter]
    fn fencing_tokens(slf: &Bound<'_, Self>) -> PyResult<Vec<u64>> {
        let holding = slf.as_super().as_super().get();
        holding.origin.guard(|| Ok(holding.held()?.fencing_tokens())).or_raise(slf.py())
    }
}

/// Several locks that are acquired and released together; losing one loses all. Made by `client.multi_lock([…])`.
///
/// They are taken in the order of their paths, so that two who need the same ones never wait for each other.
///
/// >>> import zkrecipes
/// >>> client = zkrecipes.Client("embedded:/multi-lock-doc")
/// >>> both = client.multi_lock([client.lock("/accounts/bob"), client.lock("/accounts/alice")])
/// >>> both.paths
/// ['/accounts/alice', '/accounts/bob']
/// >>> with both as held:
/// ...     print(len(held.fencing_tokens), client.lock("/accounts/bob").acquire(blocking=False))
/// 2 None
/// >>> client.close()
#[pyclass(frozen, weakref, extends = MultiLockBase, module = "zkrecipes")]
pub struct MultiLock;

context_manager! { MultiLock,
    /// A context manager that acquires all within `timeout` seconds or raises Timeout.
    #[pyo3(signature = (timeout=None))]
    fn hold(slf: &Bound<'_, Self>, timeout: Option<Arg>) -> PyResult<Hold> {
        HandleBase::hold(slf.as_super().as_super(), 1, timeout)
    }
}
