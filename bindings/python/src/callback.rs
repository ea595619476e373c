//! A user's callback, called where the face promises: on a delivery thread, or on the event loop.

use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyCFunction, PyDict, PyTuple};
use zkrecipes::Subscription;

use crate::attach::from_library_thread;
use crate::convert;
use crate::face::Face;

pub struct Callback {
    callable: Py<PyAny>,
    /// The loop that registered it; none on the blocking face.
    event_loop: Option<Py<PyAny>>,
}

impl Callback {
    pub fn new(face: Face, callable: &Bound<'_, PyAny>) -> PyResult<Callback> {
        static RUNNING_LOOP: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let py = callable.py();
        let callable = convert::callback("callback", callable)?;
        let event_loop = match face {
            Face::Blocking => None,
            Face::Asyncio => Some(RUNNING_LOOP.import(py, "asyncio", "get_running_loop")?.call0()?.unbind()),
        };
        Ok(Callback { callable, event_loop })
    }

    /// Whatever the callback raises is logged by zkrecipes/_bridge.py and stops nothing.
    pub fn call(&self, arguments: impl FnOnce(Python<'_>) -> PyResult<Vec<Py<PyAny>>>) {
        static RUN: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        static POST: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        // Not attached means that the interpreter is shutting down: nobody is left to be told.
        from_library_thread(|py| {
            let called = arguments(py).and_then(|arguments| match &self.event_loop {
                None => {
                    RUN.import(py, "zkrecipes._bridge", "run_callback")?.call1((&self.callable, arguments))
                }
                Some(event_loop) => POST.import(py, "zkrecipes._bridge", "post_callback")?.call1((
                    event_loop,
                    &self.callable,
                    arguments,
                )),
            });
            if let Err(failure) = called {
                failure.write_unraisable(py, Some(self.callable.bind(py)));
            }
        });
    }
}

/// What `on_…` returns: a function that unsubscribes.
pub fn unsubscriber(py: Python<'_>, subscription: Subscription) -> PyResult<Bound<'_, PyCFunction>> {
    let unsubscribe = move |_: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| subscription.unsubscribe();
    PyCFunction::new_closure(py, Some(c"unsubscribe"), None, unsubscribe)
}
