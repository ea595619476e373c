//! The verbs that an acquisition and the handle that made it have in common. A handle passes them on to what it holds.

use std::any::Any;
use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyCFunction;
use zkrecipes::{Error, Result, drive};

use crate::callback::subscribe;
use crate::client::Origin;
use crate::convert::flag_or;
use crate::errors::{OrRaise, exception};
use crate::face::{Answered, Arg};
use crate::generated::TransactionBase;
use crate::generated::docs::doc_of;
use crate::handle::Common;
use crate::owned::Owned;

/// Whose verbs they are.
pub enum Holder {
    Handle(Arc<Common>),
    /// With what it keeps alive, such as its handle.
    Held(zkrecipes::Held, Arc<dyn Any + Send + Sync>),
}

#[doc = doc_of!(Holding)]
#[pyclass(frozen, subclass, weakref, name = "Holding", module = "zkrecipes._native")]
pub struct HoldingBase {
    pub origin: Owned<Origin>,
    holder: Owned<Holder>,
}

impl HoldingBase {
    pub fn new(origin: Origin, holder: Holder) -> HoldingBase {
        HoldingBase { origin: origin.into(), holder: holder.into() }
    }

    pub fn let_go(&self, py: Python<'_>) -> Answered {
        self.origin.run(py, || {
            let releasing = self.held().map(|held| held.release());
            async move { releasing?.await }
        })
    }

    /// Downgrades `held`, which this is of.
    pub fn downgrade(&self, py: Python<'_>, held: &zkrecipes::Held) -> Answered {
        let begin = || drive::downgrade(held);
        let common = match &*self.holder {
            Holder::Handle(common) => Ok(common.clone()),
            Holder::Held(_, keeper) => keeper.clone().downcast::<Common>(),
        };
        match common {
            Ok(common) => common.downgrade(py, begin),
            // Of no handle, and no writer's: that is refused.
            Err(_) => self.origin.run_to(py, begin, |py, _| Ok(py.None())),
        }
    }

    /// What is held now.
    pub fn held(&self) -> Result<zkrecipes::Held> {
        match &*self.holder {
            Holder::Handle(common) => drive::held(&common.core),
            Holder::Held(held, _) => Ok(held.clone()),
        }
    }
}

#[pymethods]
impl HoldingBase {
    #[doc = doc_of!(Holding.release)]
    #[pyo3(signature = (wait=None), text_signature = "($self, wait=True)")]
    fn release(&self, py: Python<'_>, wait: Option<Arg>) -> Answered {
        if flag_or("wait", wait, true)? {
            self.let_go(py)
        } else {
            self.origin.run_at_once(py, || self.held()?.release_in_background())
        }
    }

    #[doc = doc_of!(Holding.verify)]
    fn verify(&self, py: Python<'_>) -> Answered {
        let held = self.held();
        self.origin.run(py, || async move { held?.verify().await })
    }

    #[doc = doc_of!(Holding.guarded)]
    fn guarded(&self, py: Python<'_>) -> Answered {
        let transaction = self.origin.guard(|| Ok(self.held()?.guarded())).or_raise(py)?;
        TransactionBase::of(py, &self.origin, transaction)
    }

    #[doc = doc_of!(Holding.on_lost)]
    fn on_lost<'py>(&self, callback: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyCFunction>> {
        subscribe(&self.origin, callback, |callback| {
            let tell = move |error: Error| {
                callback.call(|py| Ok(vec![exception(py, &error).into_value(py).into_any()]));
            };
            Ok(self.held()?.on_lost(tell))
        })
    }

    #[doc = doc_of!(Holding.on_revoke)]
    fn on_revoke<'py>(&self, callback: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyCFunction>> {
        subscribe(&self.origin, callback, |callback| {
            drive::check_open(&self.origin.session.client)?;
            Ok(self.held()?.on_revoke(move || callback.call(|_| Ok(Vec::new()))))
        })
    }

    #[doc = doc_of!(Holding.is_held)]
    #[getter]
    fn is_held(&self, py: Python<'_>) -> PyResult<bool> {
        self.origin.check().or_raise(py)?;
        Ok(match &*self.holder {
            Holder::Handle(common) => common.core.is_held(),
            Holder::Held(held, _) => held.is_held(),
        })
    }

    #[doc = doc_of!(Holding.fencing_token)]
    #[getter]
    fn fencing_token(&self, py: Python<'_>) -> PyResult<u64> {
        let token = || match &*self.holder {
            Holder::Handle(common) => common.core.fencing_token(),
            Holder::Held(held, _) => Ok(held.fencing_token()),
        };
        self.origin.guard(token).or_raise(py)
    }
}
