//! `Counter`: a number that many count on.

use pyo3::prelude::*;

use crate::convert::long;
use crate::face::{Answered, Arg, Fresh, Seed, recipe};

recipe!(CounterBase of zkrecipes::Counter, Counter, "Counter");

#[pymethods]
impl CounterBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<CounterBase> {
        seed.get().take()
    }

    /// The value, no older than this call; 0 if nobody has counted yet.
    fn get(&self, py: Python<'_>) -> Answered {
        let counter = self.core.clone();
        self.origin.run(py, || async move { counter.get().await })
    }

    /// Adds `n`, which may be negative, and returns the new value. What would pass 64 bits, or 32 in the layout "shared", is
    /// Invalid, and nothing is added. ConnectionLost says that it cannot be known whether it was.
    fn add(&self, py: Python<'_>, n: Arg) -> Answered {
        let (n, counter) = (long("n", n)?, self.core.clone());
        self.origin.run(py, || async move { counter.add(n).await })
    }

    /// Sets the value to `new` if it is `old`; says whether it was.
    fn compare_and_set(&self, py: Python<'_>, old: Arg, new: Arg) -> Answered {
        let (old, new, counter) = (long("old", old)?, long("new", new)?, self.core.clone());
        self.origin.run(py, || async move { counter.compare_and_set(old, new).await })
    }

    /// Where the value is kept.
    #[getter]
    fn path(&self) -> &str {
        self.core.path()
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        Ok(format!("<{} {}>", slf.get_type().name()?, slf.get().core.path()))
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
