//! `Held`: one acquisition.

use std::any::Any;
use std::sync::Arc;

use pyo3::prelude::*;
use zkrecipes::{Result, drive};

use crate::client::{Origin, warn_unless_exiting};
use crate::convert::payload;
use crate::errors::{OrRaise, unmasked};
use crate::face::{Answered, Arg, Fresh, Seed, two_faces, wait};
use crate::generated::docs::doc_of;
use crate::handle::Common;
use crate::holding::{Holder, HoldingBase};
use crate::owned::Owned;

#[doc = doc_of!(HeldBase)]
#[pyclass(frozen, subclass, weakref, extends = HoldingBase, name = "Held", module = "zkrecipes._native")]
pub struct HeldBase {
    pub held: Owned<zkrecipes::Held>,
}

impl HeldBase {
    /// Of what a handle acquired.
    pub fn of(py: Python<'_>, held: zkrecipes::Held, common: Arc<Common>) -> Answered {
        HeldBase::hand_out(py, common.origin.face, || HeldBase::made(held, common))
    }

    pub fn made(held: zkrecipes::Held, common: Arc<Common>) -> PyClassInitializer<HeldBase> {
        HeldBase::kept_by(held, common.origin.clone(), common)
    }

    /// What it says of itself, except in a forked child, which holds nothing.
    pub fn say<T>(slf: &Bound<'_, Self>, question: impl FnOnce(&zkrecipes::Held) -> T) -> PyResult<T> {
        let origin = &slf.as_super().get().origin;
        origin.guard(|| Ok(question(&slf.get().held))).or_raise(slf.py())
    }

    /// With what it keeps alive.
    pub fn kept_by(
        held: zkrecipes::Held,
        origin: Origin,
        keeper: Arc<dyn Any + Send + Sync>,
    ) -> PyClassInitializer<HeldBase> {
        PyClassInitializer::from(HoldingBase::new(origin, Holder::Held(held.clone(), keeper)))
            .add_subclass(HeldBase { held: held.into() })
    }
}

two_faces!(HeldBase, Held);

/// A partition that its user has, until it is garbage: it has no handle that would keep it.
struct Won(zkrecipes::Held);

impl Drop for Won {
    fn drop(&mut self) {
        if self.0.is_held() {
            drive::tell_collected(&self.0);
            warn_unless_exiting(&format!(
                "the partition {} was garbage-collected while held; it is released in the background",
                self.0.path()
            ));
        }
    }
}

/// A partition that was won.
pub fn partition(py: Python<'_>, origin: Origin, won: drive::Granted) -> Answered {
    HeldBase::hand_out(py, origin.face, move || {
        let held = won.keep();
        HeldBase::kept_by(held.clone(), origin, Arc::new(Won(held)))
    })
}

/// Leaves the scope of an acquisition.
pub fn leave(py: Python<'_>, held: zkrecipes::Held, body_failed: bool) -> PyResult<()> {
    left(py, &held, body_failed, || held.leave(body_failed))
}

/// The same, `leaving` in a way of its own.
pub fn left<F: Future<Output = Result<()>> + Send + 'static>(
    py: Python<'_>,
    held: &zkrecipes::Held,
    body_failed: bool,
    leaving: impl FnOnce() -> F,
) -> PyResult<()> {
    wait(py, leaving).or_else(|raised| {
        // Interrupted, or not allowed to wait on this thread: it is let go all the same, unless it is gone already.
        let _ = held.release_in_background();
        unmasked(py, body_failed, Err(raised))
    })
}

#[pymethods]
impl HeldBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<HeldBase> {
        seed.get().take()
    }

    #[doc = doc_of!(HeldBase.downgrade)]
    fn downgrade(slf: &Bound<'_, Self>) -> Answered {
        slf.as_super().get().downgrade(slf.py(), &slf.get().held)
    }

    #[pyo3(name = "_leave")]
    fn py_leave(slf: &Bound<'_, Self>, body_failed: bool) -> Answered {
        slf.as_super().get().origin.run(slf.py(), || slf.get().held.leave(body_failed))
    }

    /// Of a leadership.
    #[pyo3(name = "_acknowledge")]
    pub fn acknowledge(slf: &Bound<'_, Self>, data: Arg) -> Answered {
        let (data, leadership) = (payload("data", data)?, drive::leadership(slf.get().held.clone()));
        let origin = &slf.as_super().get().origin;
        origin.run(slf.py(), || async move { leadership.acknowledge(&data).await })
    }

    #[doc = doc_of!(HeldBase.path)]
    #[getter]
    fn path(&self) -> &str {
        self.held.path()
    }

    #[doc = doc_of!(HeldBase.name)]
    #[getter]
    fn name(&self) -> &str {
        self.held.name()
    }

    #[doc = doc_of!(HeldBase.node)]
    #[getter]
    fn node(slf: &Bound<'_, Self>) -> PyResult<String> {
        HeldBase::say(slf, |held| held.node().to_owned())
    }

    #[doc = doc_of!(HeldBase.fencing_tokens)]
    #[getter]
    fn fencing_tokens(slf: &Bound<'_, Self>) -> PyResult<Vec<u64>> {
        HeldBase::say(slf, zkrecipes::Held::fencing_tokens)
    }

    #[doc = doc_of!(HeldBase.passes)]
    #[getter]
    fn passes(slf: &Bound<'_, Self>) -> PyResult<u32> {
        HeldBase::say(slf, zkrecipes::Held::passes)
    }

    #[doc = doc_of!(HeldBase.permits)]
    #[getter]
    fn permits(slf: &Bound<'_, Self>) -> PyResult<usize> {
        HeldBase::say(slf, zkrecipes::Held::permits)
    }

    #[doc = doc_of!(HeldBase.sequencer)]
    #[getter]
    fn sequencer(slf: &Bound<'_, Self>) -> PyResult<String> {
        HeldBase::say(slf, zkrecipes::Held::sequencer)
    }

    /// Before the body of a scope begins, which is not to run where nothing is held.
    #[pyo3(name = "_check")]
    pub fn check(slf: &Bound<'_, Self>) -> PyResult<()> {
        let origin = &slf.as_super().get().origin;
        origin.guard(|| drive::check_stands(&slf.get().held)).or_raise(slf.py())
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let held = &slf.get().held;
        let now = if held.is_held() { "held" } else { "not held" };
        // That of a leader has a name of its own.
        let token = if slf.get_type().hasattr("epoch")? { "epoch" } else { "token" };
        Ok(format!("<{} {} {token}={} {now}>", slf.get_type().name()?, held.path(), held.fencing_token()))
    }
}

#[doc = doc_of!(Held)]
#[pyclass(frozen, subclass, weakref, extends = HeldBase, module = "zkrecipes")]
pub struct Held;

#[pymethods]
impl Held {
    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        HeldBase::check(slf.as_super())?;
        Ok(slf)
    }

    fn __exit__(slf: &Bound<'_, Self>, kind: Arg, _exception: Arg, _traceback: Arg) -> PyResult<()> {
        leave(slf.py(), slf.as_super().get().held.clone(), !kind.is_none())
    }
}
