//! A user's callback, called where the face promises: on a delivery thread, or on the event loop.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use pyo3::exceptions::PyException;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict, PyTuple};
use zkrecipes::drive::Process;
use zkrecipes::{Error, Subscription, drive};

use crate::attach::{call, from_library_thread, is_exiting, park_if_exiting, parked_if_unwound, report};
use crate::client::Origin;
use crate::convert;
use crate::errors::{OrRaise, guard, invalid_type};
use crate::face::{Arg, Face, SIGNALS_EVERY};
use crate::generated::docs::doc_of;
use crate::owned::Owned;

/// What zkrecipes/_callbacks.py made of it. It is imported when a callback is registered and never later: an import on a
/// thread of the library, while the main thread ends by Ctrl-C, makes the interpreter forget that it did.
pub struct Callback(Reference);

enum Reference {
    Strong(Py<PyAny>),
    /// Of one that belongs to somebody's [`Callbacks`].
    Weak(Py<PyAny>),
}

impl Callback {
    fn made<'py>(origin: &Origin, callable: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = callable.py();
        let callable = function("callback", callable, origin.face)?;
        match origin.face {
            Face::Blocking => callbacks(py)?.getattr("Callback")?.call1((callable,)),
            Face::Asyncio => {
                callbacks(py)?.getattr("LoopCallback")?.call1((callable, CallbackTimes::of(origin)))
            }
        }
    }

    /// `None` if whoever it belonged to is garbage.
    fn callable<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        match &self.0 {
            Reference::Strong(callable) => Ok(Some(callable.bind(py).clone())),
            Reference::Weak(reference) => {
                let callable = reference.bind(py).call0()?;
                Ok((!callable.is_none()).then_some(callable))
            }
        }
    }

    /// Whatever the callback raises is dealt with in Python and stops nothing.
    pub fn call(&self, arguments: impl FnOnce(Python<'_>) -> PyResult<Vec<Py<PyAny>>>) {
        // Not attached means that the interpreter is shutting down: nobody is left to be told.
        from_library_thread(|py| {
            let callable = match self.callable(py) {
                Ok(Some(callable)) => callable,
                Ok(None) => return,
                Err(failure) => return report(py, failure, None),
            };
            let arguments = arguments(py).and_then(|arguments| PyTuple::new(py, arguments));
            let called = arguments.and_then(|arguments| call(&callable, &arguments).map(drop));
            if let Err(failure) = called {
                report(py, failure, Some(&callable));
            }
            // It may be the last reference, and what goes then may be of the user's.
            parked_if_unwound(|| drop(callable));
        });
    }
}

#[doc = doc_of!(CallbackTimes)]
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
pub fn tell_failure(path: &str, raised: Arg) -> PyResult<String> {
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
    let arguments = (path, raised).into_pyobject(py)?;
    call(&log, &arguments).map(drop).or_else(reported)?;
    let kind = raised.get_type().name().map_or_else(|_| "exception".to_owned(), |name| name.to_string());
    match parked_if_unwound(|| raised.str()) {
        Ok(text) => Ok(format!("{kind}: {text}")),
        Err(failure) => reported(failure).map(|()| kind),
    }
}

/// Registers a callback with the core, which keeps it. Returns what every `on_…` returns: a function that unsubscribes.
pub fn subscribe<'py>(
    origin: &Origin,
    callable: &Bound<'py, PyAny>,
    register: impl FnOnce(Callback) -> Result<Subscription, Error>,
) -> PyResult<Bound<'py, PyCFunction>> {
    let py = callable.py();
    origin.check().or_raise(py)?;
    let made = Callback::made(origin, callable)?;
    let registration = made.getattr("registration")?.unbind();
    let callback = Callback(Reference::Strong(made.unbind()));
    let subscription = guard(|| register(callback)).or_raise(py)?;
    unsubscriber(py, origin.face, subscription, registration, || {})
}

/// The same for a callback that belongs to a Python object: the core only has a weak reference, so it ends with the object.
pub fn subscribe_owned<'py>(
    origin: &Origin,
    owner: &Arc<Callbacks>,
    callable: &Bound<'py, PyAny>,
    register: impl FnOnce(Callback) -> Result<Subscription, Error>,
) -> PyResult<Bound<'py, PyCFunction>> {
    let py = callable.py();
    origin.check().or_raise(py)?;
    let made = Callback::made(origin, callable)?;
    let registration = made.getattr("registration")?.unbind();
    let weak = py.import("weakref")?.getattr("ref")?.call1((&made,))?;
    let subscription = guard(|| register(Callback(Reference::Weak(weak.unbind())))).or_raise(py)?;
    let number = owner.add(made.unbind());
    let owner = Arc::downgrade(owner);
    unsubscriber(py, origin.face, subscription, registration, move || Callbacks::remove(&owner, number))
}

fn unsubscriber<'py>(
    py: Python<'py>,
    face: Face,
    subscription: Subscription,
    registration: Py<PyAny>,
    afterwards: impl Fn() + Send + Sync + 'static,
) -> PyResult<Bound<'py, PyCFunction>> {
    let owned = Owned::from((subscription, registration));
    let unsubscribe = move |arguments: &Bound<'_, PyTuple>, _: Option<&Bound<'_, PyDict>>| -> PyResult<()> {
        let (subscription, registration) = &*owned;
        let py = arguments.py();
        // What the loop was told of already, and has not begun, is not called any more either.
        registration.call_method0(py, "end")?;
        let ended = end(py, face, subscription);
        afterwards();
        ended
    };
    PyCFunction::new_closure(py, Some(c"unsubscribe"), None, unsubscribe)
}

/// Returns when the callback is not running any more, or at once inside of one. On asyncio they run on the loop, where there is
/// nothing to wait for.
fn end(py: Python<'_>, face: Face, subscription: &Subscription) -> PyResult<()> {
    py.detach(|| subscription.end());
    // One that is caught in an interpreter that exits would never be over.
    while face == Face::Blocking && !is_exiting() {
        let is_over = py.detach(|| {
            let is_over = subscription.until_over(Some(SIGNALS_EVERY));
            park_if_exiting();
            is_over
        });
        if is_over {
            break;
        }
        py.check_signals()?;
    }
    Ok(())
}

/// Callbacks that belong to a Python object.
#[derive(Default)]
pub struct Callbacks {
    all: Mutex<BTreeMap<u64, Py<PyAny>>>,
    next: AtomicU64,
    process: Process,
}

impl Callbacks {
    fn add(&self, callback: Py<PyAny>) -> u64 {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.lock().insert(number, callback);
        number
    }

    fn remove(owner: &Weak<Callbacks>, number: u64) {
        if let Some(owner) = owner.upgrade().filter(|owner| owner.process.is_present()) {
            let removed = owner.lock().remove(&number);
            // Not under the lock: what goes with it may be of the user's.
            drop(removed);
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<u64, Py<PyAny>>> {
        self.all.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Drop for Callbacks {
    fn drop(&mut self) {
        if !self.process.is_present() {
            // What callbacks keep is the parent's: a forked child does not drop it.
            std::mem::forget(std::mem::take(self.all.get_mut().unwrap_or_else(|e| e.into_inner())));
        }
    }
}
