//! `Item`: what is claimed of a queue, one by one or in a loop.

use std::sync::{Arc, Mutex};

use pyo3::exceptions::{PyStopAsyncIteration, PyStopIteration};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zkrecipes::{ErrorKind, drive};

use crate::client::{Origin, warn_unless_exiting};
use crate::errors::guard;
use crate::face::{Answered, Arg, Face, Fresh, Seed, asyncio_object};
use crate::held::{Held, HeldBase, left};
use crate::nodes::TransactionBase;
use crate::owned::Owned;

/// An item that its user has, until it is garbage.
struct Claimed {
    item: zkrecipes::Item,
    origin: Origin,
}

impl Claimed {
    fn give_back(&self) {
        // Settled or lost, there is nothing to do.
        let _ = guard(|| self.item.release_in_background());
    }
}

impl Drop for Claimed {
    fn drop(&mut self) {
        if self.item.is_held() {
            warn_unless_exiting(&format!(
                "an item of {} was garbage-collected before it was settled; it is given back in the background",
                self.item.path()
            ));
        }
    }
}

/// The object of an item that was claimed.
pub fn claimed(py: Python<'_>, origin: Origin, item: zkrecipes::Item) -> Answered {
    object(py, Arc::new(Claimed { item, origin }))
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
            /// It is done: removes it from the queue. NotHeld: it was settled before, or the claim is gone and it is somebody
            /// else's. ConnectionLost: it cannot be known whether it was removed.
            fn ack(&self, py: Python<'_>) -> Answered {
                self.claimed.origin.run(py, || self.claimed.item.ack())
            }

            /// The same, together with `writes`, all in one transaction: what the work has brought about is there exactly if
            /// the item is done. Writes that are refused leave the item claimed, and the transaction is used up either way.
            fn ack_with(&self, writes: &Bound<'_, TransactionBase>) -> Answered {
                let py = writes.py();
                self.claimed.origin.run(py, || self.claimed.item.ack_with(writes.get().core()))
            }

            /// Gives it back, to its old place: the next one has it. After the last of `max_attempts` it goes to the dead
            /// letters.
            fn nack(&self, py: Python<'_>) -> Answered {
                self.claimed.origin.run(py, || self.claimed.item.nack())
            }

            /// What was put.
            #[getter]
            fn data<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
                PyBytes::new(py, self.claimed.item.data())
            }

            /// How often it was claimed, this time included.
            #[getter]
            fn attempts(&self) -> u32 {
                self.claimed.item.attempts()
            }

            $($more)*
        }
    };
}

/// What the asyncio class has besides what is held.
#[pyclass(frozen, subclass, extends = HeldBase, name = "Item", module = "zkrecipes._native")]
pub struct ItemBase {
    claimed: Owned<Arc<Claimed>>,
}

item!(ItemBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<ItemBase> {
        seed.get().take()
    }

    #[pyo3(name = "_leave")]
    fn py_leave(&self, py: Python<'_>, body_failed: bool) -> Answered {
        self.claimed.origin.run(py, || self.claimed.item.leave(body_failed))
    }
});

/// An item that was claimed: a Held with more verbs. As a context manager it is acknowledged on exit, and given back if the
/// body failed; leaving raises Lost if the claim was lost.
///
/// >>> import zkrecipes
/// >>> client = zkrecipes.Client("embedded:/item-doc")
/// >>> orders = client.queue("/queues/orders")
/// >>> orders.put("tea")
/// >>> with orders.claim(timeout=5) as item:
/// ...     print(item.data, item.attempts, item.is_held)
/// b'tea' 1 True
/// >>> orders.put("coffee")
/// >>> item = orders.claim()
/// >>> bill = client.nodes.transaction()
/// >>> bill.create("/bill", item.data)
/// >>> item.ack_with(bill)      # both, or neither
/// >>> orders.len()
/// 0
/// >>> client.close()
#[pyclass(frozen, weakref, extends = Held, module = "zkrecipes")]
pub struct Item {
    claimed: Owned<Arc<Claimed>>,
}

item!(Item {
    #[pyo3(signature = (kind, _exception, _traceback, /))]
    fn __exit__(&self, py: Python<'_>, kind: Arg, _exception: Arg, _traceback: Arg) -> PyResult<()> {
        let (item, failed) = (&self.claimed.item, !kind.is_none());
        left(py, item, failed, || item.leave(failed))
    }
});

/// The items of a loop, each of which is settled when the next is asked for or the loop ends. It ends by `cancel()` of what
/// it goes through, also while its body runs.
#[pyclass(frozen, module = "zkrecipes._native")]
pub struct Claims {
    origin: Owned<Origin>,
    claims: Owned<drive::Claims>,
    last: Owned<Arc<Last>>,
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

    #[pyo3(name = "_next")]
    fn next(&self, py: Python<'_>) -> Answered {
        self.last.put(None);
        let (origin, last) = (Origin::clone(&self.origin), Arc::clone(&self.last));
        let begin = || {
            let claiming = self.claims.next();
            async move {
                match claiming.await {
                    Err(error) if matches!(error.kind(), ErrorKind::Closed | ErrorKind::Cancelled) => {
                        Ok(None)
                    }
                    claimed => claimed.map(Some),
                }
            }
        };
        self.origin.run_to(py, begin, move |py, item| match (item, origin.face) {
            (Some(item), _) => {
                let claimed = Arc::new(Claimed { item, origin });
                last.put(Some(claimed.clone()));
                object(py, claimed)
            }
            (None, Face::Blocking) => Err(PyStopIteration::new_err(())),
            (None, Face::Asyncio) => Err(PyStopAsyncIteration::new_err(())),
        })
    }
}
