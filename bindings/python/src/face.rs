//! One verb, two faces. A verb is written once as *convert, drive, convert*; on a blocking object it waits, on an
//! asyncio object it returns a `Call` that zkrecipes/_bridge.py awaits.

use std::any::Any;
use std::future::Future;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use zkrecipes::drive::{self, CancelToken, Tick};
use zkrecipes::{Error, Result};

use crate::attach::{from_library_thread, park_if_exiting, parked_if_unwound};
use crate::errors::{OrRaise, exception, guard};

/// How often a wait on the main thread looks for Ctrl-C.
const SIGNALS_EVERY: Duration = Duration::from_millis(50);

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Face {
    Blocking,
    Asyncio,
}

impl Face {
    /// Begins the verb with `begin`, drives it, and converts its result. A result that nobody receives (a signal, a
    /// cancelled task, a closed loop) is dropped: what was granted is released, what was connected is closed.
    pub fn run<T: Send + 'static, F: Future<Output = Result<T>> + Send + 'static>(
        self,
        py: Python<'_>,
        begin: impl FnOnce() -> F,
        convert: impl FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
    ) -> PyResult<Py<PyAny>> {
        match self {
            Face::Blocking => {
                let value = wait(py, begin)?;
                parked_if_unwound(|| convert(py, value))
            }
            Face::Asyncio => {
                let future = guard(|| Ok(begin())).or_raise(py)?;
                Ok(Py::new(py, Call::new(future, convert))?.into_any())
            }
        }
    }

    /// The same for a verb that returns nothing.
    pub fn run_unit<F: Future<Output = Result<()>> + Send + 'static>(
        self,
        py: Python<'_>,
        begin: impl FnOnce() -> F,
    ) -> PyResult<Py<PyAny>> {
        self.run(py, begin, |py, ()| Ok(py.None()))
    }

    /// The same for a verb that has no limit of its own; what is beyond `limit` is `late`. On asyncio the limit is the
    /// loop's business.
    pub fn run_within<F: Future<Output = Result<()>> + Send + 'static>(
        self,
        py: Python<'_>,
        limit: Option<Duration>,
        late: impl FnOnce() -> Error,
        begin: impl FnOnce() -> F,
    ) -> PyResult<Py<PyAny>> {
        match (self, limit) {
            (Face::Blocking, Some(limit)) => {
                wait_within(py, Some((limit, &late())), begin).map(|()| py.None())
            }
            _ => self.run_unit(py, begin),
        }
    }

    /// The same for a verb that need not wait, which a callback may use too.
    pub fn run_at_once(self, py: Python<'_>, verb: impl FnOnce() -> Result<()>) -> PyResult<Py<PyAny>> {
        match self {
            Face::Blocking => guard(verb).or_raise(py).map(|()| py.None()),
            Face::Asyncio => self.run_unit(py, || std::future::ready(verb())),
        }
    }
}

/// Blocks this thread without the GIL until the verb is done, or a signal handler raises.
pub fn wait<T: Send + 'static, F: Future<Output = Result<T>> + Send + 'static>(
    py: Python<'_>,
    begin: impl FnOnce() -> F,
) -> PyResult<T> {
    wait_within(py, None, begin)
}

/// The same for at most a while, and the error that says it is over.
fn wait_within<T: Send + 'static, F: Future<Output = Result<T>> + Send + 'static>(
    py: Python<'_>,
    limit: Option<(Duration, &Error)>,
    begin: impl FnOnce() -> F,
) -> PyResult<T> {
    // Before it begins: a verb that may not wait here must not have done anything.
    drive::check_may_wait().or_raise(py)?;
    let future = guard(|| Ok(begin())).or_raise(py)?;
    let mut interrupted = None;
    let heeds_signals = on_main_thread(py)?;
    let mut is_late = false;
    let every = limit.map_or(SIGNALS_EVERY, |(limit, _)| limit.min(SIGNALS_EVERY));
    let deadline = limit.and_then(|(limit, _)| Instant::now().checked_add(limit));
    let result = py.detach(|| {
        let mut hook = || {
            if heeds_signals && let Some(Err(raised)) = Python::try_attach(|py| py.check_signals()) {
                interrupted = Some(raised);
            }
            is_late = deadline.is_some_and(|deadline| Instant::now() >= deadline);
            interrupted.is_none() && !is_late
        };
        let ticking = heeds_signals || deadline.is_some();
        let tick = ticking.then_some(Tick { every, hook: &mut hook });
        let result = guard(|| drive::wait(future, None, tick));
        park_if_exiting();
        result
    });
    if let Some(raised) = interrupted {
        return Err(raised);
    }
    if let (true, Err(_), Some((_, late))) = (is_late, &result, limit) {
        return Err(exception(py, late));
    }
    let value = result.or_raise(py)?;
    // A Ctrl-C that arrived last must not find the result already handed over and nobody holding it.
    py.check_signals()?;
    Ok(value)
}

/// Signal handlers run on the main thread only; other threads need not wake up for them.
fn on_main_thread(py: Python<'_>) -> PyResult<bool> {
    static MAIN: PyOnceLock<u64> = PyOnceLock::new();
    static GET_IDENT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let main = MAIN.get_or_try_init(py, || {
        py.import("threading")?.call_method0("main_thread")?.getattr("ident")?.extract::<u64>()
    })?;
    let this = GET_IDENT.import(py, "_thread", "get_ident")?.call0()?.extract::<u64>()?;
    Ok(this == *main)
}

type Converted = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;
type Begin = Box<dyn FnOnce(Py<PyAny>) -> Result<()> + Send>;

/// A verb of an asyncio object, ready to begin.
#[pyclass(frozen, module = "zkrecipes._native")]
pub struct Call {
    begin: Mutex<Option<Begin>>,
    cancel: CancelToken,
}

impl Call {
    fn new<T: Send + 'static>(
        future: impl Future<Output = Result<T>> + Send + 'static,
        convert: impl FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
    ) -> Call {
        let cancel = CancelToken::new();
        let token = cancel.clone();
        let begin: Begin = Box::new(move |deliver| {
            drive::start(future, &token, move |result| {
                hand_over(&deliver, Outcome::new(result, convert));
            })
        });
        Call { begin: Mutex::new(Some(begin)), cancel }
    }
}

#[pymethods]
impl Call {
    /// Begins; `deliver` gets the `Outcome`, on a thread of the library.
    fn start(&self, py: Python<'_>, deliver: Py<PyAny>) -> PyResult<()> {
        let begin = self.begin.lock().unwrap_or_else(|e| e.into_inner()).take();
        let begin = begin.ok_or_else(|| PyRuntimeError::new_err("a call begins once"))?;
        guard(|| begin(deliver)).or_raise(py)
    }

    /// Withdraws: nothing is left behind, and what was already acquired is released.
    fn cancel(&self) {
        self.cancel.cancel();
    }
}

fn hand_over(deliver: &Py<PyAny>, outcome: Outcome) {
    from_library_thread(|py| {
        let delivered = Py::new(py, outcome).and_then(|outcome| deliver.call1(py, (outcome,)));
        match delivered {
            Ok(_) => {}
            // The loop has closed: the outcome is dropped here.
            Err(closed) if closed.is_instance_of::<PyRuntimeError>(py) => {}
            Err(failure) => failure.write_unraisable(py, None),
        }
    });
}

/// What came of a `Call`.
#[pyclass(frozen, module = "zkrecipes._native")]
pub struct Outcome(Mutex<Option<Converted>>);

impl Outcome {
    fn new<T: Send + 'static>(
        result: Result<T>,
        convert: impl FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
    ) -> Outcome {
        Outcome(Mutex::new(Some(Box::new(move |py| match result {
            Ok(value) => convert(py, value),
            Err(error) => Err(exception(py, &error)),
        }))))
    }

    fn only(&self) -> Option<Converted> {
        self.0.lock().unwrap_or_else(|e| e.into_inner()).take()
    }
}

#[pymethods]
impl Outcome {
    /// The result, or its exception raised.
    fn take(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let convert = self.only().ok_or_else(|| PyRuntimeError::new_err("an outcome is taken once"))?;
        convert(py)
    }

    /// Nobody wants it any more.
    fn discard(&self) {
        drop(self.only());
    }
}

/// Carries a Rust value into the constructor of a Python subclass.
#[pyclass(frozen, module = "zkrecipes._native")]
pub struct Seed(Mutex<Option<Box<dyn Any + Send>>>);

impl Seed {
    pub fn take<T: 'static>(&self) -> PyResult<T> {
        let value = self.0.lock().unwrap_or_else(|e| e.into_inner()).take();
        let value = value.and_then(|value| value.downcast::<T>().ok());
        value.map(|value| *value).ok_or_else(|| PyTypeError::new_err("made by a client, not by hand"))
    }
}

/// An instance of the class of this name in `zkrecipes.aio`.
pub fn asyncio_object(py: Python<'_>, class: &str, value: impl Any + Send) -> PyResult<Py<PyAny>> {
    let seed = Seed(Mutex::new(Some(Box::new(value))));
    Ok(py.import("zkrecipes.aio")?.getattr(class)?.call1((seed,))?.unbind())
}

/// The two public classes of one base: a native subclass for the blocking face, a Python one for asyncio.
macro_rules! two_faces {
    ($base:ident, $blocking:ident, $name:literal) => {
        impl $base {
            pub fn hand_out(self, py: pyo3::Python<'_>) -> pyo3::PyResult<pyo3::Py<pyo3::PyAny>> {
                match self.face {
                    $crate::face::Face::Blocking => {
                        let both = pyo3::PyClassInitializer::from(self).add_subclass($blocking::new());
                        Ok(pyo3::Py::new(py, both)?.into_any())
                    }
                    $crate::face::Face::Asyncio => $crate::face::asyncio_object(py, $name, self),
                }
            }
        }
    };
}
pub(crate) use two_faces;
