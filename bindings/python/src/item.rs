//! `Item`: what is claimed of a queue, one by one or in a loop.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use pyo3::exceptions::{PyException, PyStopAsyncIteration, PyStopIteration};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zkrecipes::drive::{self, CancelToken};
use zkrecipes::{ErrorKind, Nack};

use crate::client::{Origin, warn_unless_exiting};
use crate::convert::{duration, items_of, text, wrong_type};
use crate::errors::{OrRaise, guard};
use crate::face::{Answered, Arg, Face, Fresh, Seed, asyncio_object};
use crate::generated::TransactionBase;
use crate::generated::docs::doc_of;
use crate::held::{Held, HeldBase, left};
use crate::owned::Owned;

/// An item that its user has, until it is garbage.
struct Claimed {
    item: zkrecipes::Item,
    origin: Origin,
    /// A scope that ended keeps nothing, also if nobody has waited for that.
    is_left: AtomicBool,
}

impl Claimed {
    fn of(item: zkrecipes::Item, origin: Origin) -> Arc<Claimed> {
        Arc::new(Claimed { item, origin, is_left: AtomicBool::new(false) })
    }

    /// Nobody has said that it is done.
    fn give_back(&self) {
        self.is_left.store(true, Ordering::Release);
        // Settled or lost, there is nothing to do.
        let _ = guard(|| {
            if self.item.is_held() && !self.item.is_being_settled() {
                drop(self.item.nack());
            }
            Ok(())
        });
    }

    fn leave(&self, end: End) -> impl Future<Output = zkrecipes::Result<()>> + Send + use<> {
        self.is_left.store(true, Ordering::Release);
        let (item, failure) = (self.item.clone(), end.failure);
        async move {
            match (end.is_withdrawn, failure) {
                // As a lock is left.
                (true, _) => zkrecipes::Held::leave(&item, true).await,
                (false, failure) => item.leave_for(failure).await,
            }
        }
    }
}

/// How the body of a scope has ended.
struct End {
    failure: Option<Nack>,
    /// By what is no failure: Ctrl-C, the end of the process, a cancelled task.
    is_withdrawn: bool,
}

impl End {
    fn of(has_failed: bool, exception: Option<&Bound<'_, PyAny>>) -> End {
        let exception = exception.filter(|exception| !exception.is_none());
        let is_withdrawn = exception.is_some_and(|exception| !exception.is_instance_of::<PyException>());
        let nack = || match exception {
            Some(exception) => Nack::default().reason(reason(exception)),
            None => Nack::default(),
        };
        End { failure: has_failed.then(nack), is_withdrawn: has_failed && is_withdrawn }
    }
}

/// `ValueError: no such user`.
fn reason(exception: &Bound<'_, PyAny>) -> String {
    let name = exception.get_type().name().map_or_else(|_| "exception".to_owned(), |name| name.to_string());
    match exception.str() {
        Ok(text) if text.len().is_ok_and(|length| length > 0) => {
            format!("{name}: {}", text.to_string_lossy())
        }
        _ => name,
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        if self.item.is_held() && !self.item.is_being_settled() && !self.is_left.load(Ordering::Acquire) {
            drive::tell_collected(&self.item);
            warn_unless_exiting(&format!(
                "an item of {} was garbage-collected before it was settled; it is given back in the background",
                self.item.path()
            ));
        }
    }
}

/// Several items, of whichever face.
pub fn several(argument: &str, value: Arg) -> PyResult<Vec<zkrecipes::Item>> {
    let wanted = "an iterable of items that were claimed";
    let core = |item: &Bound<'_, PyAny>| {
        let claimed = match (item.cast::<Item>(), item.cast::<ItemBase>()) {
            (Ok(item), _) => &item.get().claimed,
            (_, Ok(item)) => &item.get().claimed,
            _ => return Err(wrong_type(argument, wanted, item)),
        };
        // Nobody else may have it by now.
        claimed.is_left.store(true, Ordering::Release);
        Ok(claimed.item.clone())
    };
    let items = items_of(argument, wanted, value)?;
    items.map(|item| core(&item?)).collect()
}

/// The object of an item that was claimed.
pub fn claimed(py: Python<'_>, origin: Origin, item: zkrecipes::Item) -> Answered {
    object(py, Claimed::of(item, origin))
}

fn object(py: Python<'_>, claimed: Arc<Claimed>) -> Answered {
    let face = claimed.origin.face;
    let make = move || {
        let held = (*claimed.item).clone();
        (HeldBase::kept_by(held, claimed.origin.clone(), claimed.clone()), Owned::from(claimed))
    };
    match face {
        Face::Blocking => {
            let (held, claimed) = make();
            Ok(Py::new(py, held.add_subclass(Held).add_subclass(Item { claimed }))?.into_any())
        }
        Face::Asyncio => asyncio_object(py, "Item", || {
            let (held, claimed) = make();
            held.add_subclass(ItemBase { claimed })
        }),
    }
}

/// The verbs of an item, which each face has on top of its own `Held`.
macro_rules! item {
    ($class:ident { $($more:tt)* }) => {
        #[pymethods]
        impl $class {
            #[doc = doc_of!(Item.ack)]
            fn ack(&self, py: Python<'_>) -> Answered {
                self.claimed.origin.run(py, || self.claimed.item.ack())
            }

            #[doc = doc_of!(Item.ack_with)]
            fn ack_with(&self, writes: &Bound<'_, TransactionBase>) -> Answered {
                let py = writes.py();
                self.claimed.origin.run(py, || self.claimed.item.ack_with(&writes.get().core))
            }

            #[doc = doc_of!(Item.nack)]
            #[pyo3(signature = (delay=None, reason=None))]
            fn nack(&self, py: Python<'_>, delay: Option<Arg>, reason: Option<Arg>) -> Answered {
                let mut nack = Nack::default();
                nack.delay = delay.map(|delay| duration("delay", delay)).transpose()?;
                nack.reason = reason.map(|reason| text("reason", reason)).transpose()?;
                self.claimed.origin.run(py, || self.claimed.item.nack_with(nack))
            }

            #[doc = doc_of!(Item.data)]
            #[getter]
            fn data<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
                let claimed = &self.claimed;
                claimed.origin.guard(|| Ok(PyBytes::new(py, claimed.item.data()))).or_raise(py)
            }

            #[doc = doc_of!(Item.attempts)]
            #[getter]
            fn attempts(&self, py: Python<'_>) -> PyResult<u32> {
                let claimed = &self.claimed;
                claimed.origin.guard(|| Ok(claimed.item.attempts())).or_raise(py)
            }

            $($more)*
        }
    };
}

#[doc = doc_of!(ItemBase)]
#[pyclass(frozen, subclass, extends = HeldBase, name = "Item", module = "zkrecipes._native")]
pub struct ItemBase {
    claimed: Owned<Arc<Claimed>>,
}

item!(ItemBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<ItemBase> {
        seed.get().take()
    }

    #[pyo3(name = "_leave", signature = (body_failed, exception=None))]
    fn py_leave(&self, py: Python<'_>, body_failed: bool, exception: Option<Arg>) -> Answered {
        let end = End::of(body_failed, exception);
        self.claimed.origin.run(py, || self.claimed.leave(end))
    }
});

#[doc = doc_of!(Item)]
#[pyclass(frozen, weakref, extends = Held, module = "zkrecipes")]
pub struct Item {
    claimed: Owned<Arc<Claimed>>,
}

item!(Item {
    #[pyo3(signature = (kind, exception, _traceback, /))]
    fn __exit__(&self, py: Python<'_>, kind: Arg, exception: Arg, _traceback: Arg) -> PyResult<()> {
        let failed = !kind.is_none();
        let end = End::of(failed, Some(exception));
        left(py, &self.claimed.item, failed, || self.claimed.leave(end))
    }
});

#[doc = doc_of!(Claims)]
#[pyclass(frozen, module = "zkrecipes._native")]
pub struct Claims {
    origin: Owned<Origin>,
    claims: Owned<drive::Claims>,
    last: Owned<Arc<Last>>,
    /// Ends this loop and no other.
    end: Owned<CancelToken>,
}

#[derive(Default)]
struct Last(Mutex<Option<Arc<Claimed>>>);

impl Last {
    fn put(&self, claimed: Option<Arc<Claimed>>) {
        let before = std::mem::replace(&mut *self.0.lock().unwrap_or_else(|e| e.into_inner()), claimed);
        if let Some(before) = before {
            before.give_back();
        }
    }
}

impl Drop for Last {
    fn drop(&mut self) {
        self.put(None);
    }
}

impl Claims {
    pub fn of(origin: &Origin, backlog: &zkrecipes::Backlog) -> Claims {
        Claims {
            origin: origin.clone().into(),
            claims: drive::claims(backlog).into(),
            last: Owned::default(),
            end: Owned::default(),
        }
    }
}

#[pymethods]
impl Claims {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__(&self, py: Python<'_>) -> Answered {
        self.next(py)
    }

    #[doc = doc_of!(Claims._end)]
    fn _end(&self) {
        self.end.cancel();
    }

    #[pyo3(name = "_next")]
    fn next(&self, py: Python<'_>) -> Answered {
        self.last.put(None);
        let (origin, last) = (Origin::clone(&self.origin), Arc::clone(&self.last));
        let begin = || {
            // What has ended claims nothing more.
            let claiming = self.end.check().map(|()| self.end.heed(self.claims.next()));
            async move {
                let claimed = match claiming {
                    Ok(claiming) => claiming.await,
                    Err(ended) => Err(ended),
                };
                match claimed {
                    Err(error) if matches!(error.kind(), ErrorKind::Closed | ErrorKind::Cancelled) => {
                        Ok(None)
                    }
                    claimed => claimed.map(Some),
                }
            }
        };
        self.origin.run_to(py, begin, move |py, item| match (item, origin.face) {
            (Some(item), _) => {
                let claimed = Claimed::of(item, origin);
                last.put(Some(claimed.clone()));
                object(py, claimed)
            }
            (None, Face::Blocking) => Err(PyStopIteration::new_err(())),
            (None, Face::Asyncio) => Err(PyStopAsyncIteration::new_err(())),
        })
    }
}
