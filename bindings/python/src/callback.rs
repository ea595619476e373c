//! A user's callback, called where the face promises: on a delivery thread, or on the event loop.

use std::time::Duration;

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict, PyTuple};
use zkrecipes::{Error, Subscription, drive};

use crate::attach::{call, from_library_thread, parked_if_unwound, report};
use crate::client::Origin;
use crate::convert;
use crate::errors::{OrRaise, guard, invalid_type};
use crate::face::{Arg, Face};
use crate::owned::Owned;

/// What zkrecipes/_callbacks.py made of it. It is imported when a callback is registered and never later: an import on a
/// thread of the library, while the main thread ends by Ctrl-C, makes the interpreter forget that it did.
pub struct Callback(Py<PyAny>);

impl Callback {
    fn new(origin: &Origin, callable: Arg) -> PyResult<Callback> {
        let py = callable.py();
        let callable = function("callback", callable, origin.face)?;
        let made = match origin.face {
            Face::Blocking => callbacks(py)?.getattr("Callback")?.call1((callable,))?,
            Face::Asyncio => {
                callbacks(py)?.getattr("LoopCallback")?.call1((callable, CallbackTimes::of(origin)))?
            }
        };
        Ok(Callback(made.unbind()))
    }

    /// Whatever the callback raises is dealt with in Python and stops nothing.
    pub fn call(&self, arguments: impl FnOnce(Python<'_>) -> PyResult<Vec<Py<PyAny>>>) {
        // Not attached means that the interpreter is shutting down: nobody is left to be told.
        from_library_thread(|py| {
            let arguments = arguments(py).and_then(|arguments| PyTuple::new(py, arguments));
            let called = arguments.and_then(|arguments| call(self.0.bind(py), &arguments).map(drop));
            if let Err(failure) = called {
                report(py, failure, Some(self.0.bind(py)));
            }
        });
    }
}

/// Hears how long the callbacks of a client took that its event loop called.
#[pyclass(frozen, module = "zkrecipes._native")]
pub struct CallbackTimes(Owned<drive::CallbackTimes>);

impl CallbackTimes {
    pub fn of(origin: &Origin) -> CallbackTimes {
        CallbackTimes(origin.session.client.callback_times().into())
    }
}

#[pymethods]
impl CallbackTimes {
    fn took(&self, seconds: f64) {
        self.0.took(Duration::try_from_secs_f64(seconds).unwrap_or_default());
    }
}

/// A function that is called for what it does or answers, where the face calls it.
pub fn function(argument: &str, function: Arg, face: Face) -> PyResult<Py<PyAny>> {
    let py = function.py();
    let callable = convert::callback(argument, function)?;
    let problem = callbacks(py)?.getattr("problem")?.call1((&callable, face == Face::Asyncio))?;
    refuse(py, argument, &problem)?;
    Ok(callable)
}

/// What such a function answered: nothing that would have to be run first.
pub fn check_result(argument: &str, result: Arg, face: Face) -> PyResult<()> {
    let problem = callbacks(result.py())?.getattr("problem_of_result")?;
    refuse(result.py(), argument, &problem.call1((result, face == Face::Asyncio))?)
}

fn callbacks(py: Python<'_>) -> PyResult<Bound<'_, PyModule>> {
    py.import("zkrecipes._callbacks")
}

fn refuse(py: Python<'_>, argument: &str, problem: Arg) -> PyResult<()> {
    match problem.extract::<Option<String>>()? {
        Some(problem) => Err(invalid_type(py, argument, problem)),
        None => Ok(()),
    }
}

/// Logs what the work of a leader raised, and says it in a line. An exception on the way is reported, and stops nothing;
/// anything else, such as KeyboardInterrupt, is raised.
pub fn tell_failure(raised: Arg) -> PyResult<String> {
    let py = raised.py();
    let reported = |failure: PyErr| match failure.is_instance_of::<PyException>(py) {
        true => {
            let kind = raised.get_type();
            report(py, failure, Some(kind.as_any()));
            Ok(())
        }
        false => Err(failure),
    };
    let log = callbacks(py)?.getattr("log_failure")?;
    let arguments = PyTuple::new(py, [raised])?;
    call(&log, &arguments).map(drop).or_else(reported)?;
    let kind = raised.get_type().name().map_or_else(|_| "exception".to_owned(), |name| name.to_string());
    match parked_if_unwound(|| raised.str()) {
        Ok(text) => Ok(format!("{kind}: {text}")),
        Err(failure) => reported(failure).map(|()| kind),
    }
}

/// Registers a callback with the core. Returns what every `on_…` returns: a function that unsubscribes.
pub fn subscribe<'py>(
    origin: &Origin,
    callable: &Bound<'py, PyAny>,
    register: impl FnOnce(Callback) -> Result<Subscription, Error>,
) -> PyResult<Bound<'py, PyCFunction>> {
    let py = callable.py();
    origin.check().or_raise(py)?;
    let callback = Callback::new(origin, callable)?;
    let registration = callback.0.getattr(py, "registration")?;
    let subscription = guard(|| register(callback)).or_raise(py)?;
    let owned = Owned::from((subscription, registration));
    let unsubscribe = move |arguments: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| -> PyResult<()> {
        let (subscription, registration) = &*owned;
        let py = arguments.py();
        // What the loop was told of already, and has not begun, is not called any more either.
        registration.call_method0(py, "end")?;
        py.detach(|| subscription.unsubscribe());
        Ok(())
    };
    PyCFunction::new_closure(py, Some(c"unsubscribe"), None, unsubscribe)
}
