//! Generated from api/counter.toml by api/generate; do not edit.

use pyo3::prelude::*;

use crate::convert;
use crate::face::{Answered, Arg, Fresh, Seed, recipe};
use crate::feed::FeedBase;

recipe!(CounterBase of zkrecipes::Counter, Counter, "Counter");

#[pymethods]
impl CounterBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<CounterBase> {
        seed.get().take()
    }

    /// Where the value is kept.
    #[getter]
    fn path(&self) -> &str {
        self.core.path()
    }

    /// The value, no older than this call; 0 if nobody has counted yet.
    fn get(slf: &Bound<'_, Self>) -> Answered {
        let core = zkrecipes::Counter::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.get().await })
    }

    /// Adds `n`, which may be negative, and returns the new value. What would pass 64 bits, or 32 in the layout
    /// "shared", is Invalid, and nothing is added. ConnectionLost says that it cannot be known whether it was.
    fn add(slf: &Bound<'_, Self>, n: Arg) -> Answered {
        let n = convert::long("n", n)?;
        let core = zkrecipes::Counter::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.add(n).await })
    }

    /// Sets the value, whatever it was. What is beyond 64 bits, or 32 in the layout "shared", is Invalid, and
    /// nothing is changed. ConnectionLost says that it cannot be known whether it was set.
    fn set(slf: &Bound<'_, Self>, value: Arg) -> Answered {
        let value = convert::long("value", value)?;
        let core = zkrecipes::Counter::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.set(value).await })
    }

    /// Sets the value to `new` if it is `old`; says whether it was.
    fn compare_and_set(slf: &Bound<'_, Self>, old: Arg, new: Arg) -> Answered {
        let old = convert::long("old", old)?;
        let new = convert::long("new", new)?;
        let core = zkrecipes::Counter::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.compare_and_set(old, new).await })
    }

    /// The value now, and whenever it has changed: always the latest, 0 where nobody has counted.
    fn watch(slf: &Bound<'_, Self>) -> Answered {
        FeedBase::follow(slf.py(), Self::origin(slf), || Ok(slf.get().core.watch()))
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let core = &slf.get().core;
        Ok(format!("<{} {}>", slf.get_type().name()?, core.path()))
    }
}

/// A number that many count on. Every change is applied exactly once, also when its answer gets lost;
/// ConnectionLost where that cannot be known any more. Made by `client.counter(path)`.
///
/// >>> import zkrecipes
/// >>> client = zkrecipes.Client("embedded:/counter-doc")
/// >>> orders = client.counter("/counters/orders")
/// >>> orders.add(5), orders.add(-2)
/// (5, 3)
/// >>> orders.compare_and_set(3, 10), orders.get()
/// (True, 10)
/// >>> client.close()
#[pyclass(frozen, weakref, extends = CounterBase, module = "zkrecipes")]
pub struct Counter;
