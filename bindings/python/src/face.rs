//! One verb, two faces. A verb is written once as *convert, drive, convert*; on a blocking object it waits, on an
//! asyncio object it returns a `Call` that zkrecipes/_bridge.py awaits.

use std::any::Any;
use std::future::Future;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::Duration;

use pyo3::PyClass;
use pyo3::exceptions::{PyRuntimeError, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyTuple;
use zkrecipes::Result;
use zkrecipes::drive::{self, AnyAnswer, AnyCall, CancelToken, PerProcess, Tick, answer_of, any_call};

use crate::answer::Answer;
use crate::attach::{call, from_library_thread, park_if_exiting, parked_if_unwound, report};
use crate::errors::{OrRaise, exception, guard};
use crate::generated::docs::doc_of;
use crate::inbox::{Address, Inbox, Shared, Slot};
use crate::owned::Owned;

/// How often a wait on the main thread looks for Ctrl-C.
pub const SIGNALS_EVERY: Duration = Duration::from_millis(50);

#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Face {
    Blocking,
    Asyncio,
}

impl Face {
    /// Begins the verb with `begin`, drives it, and answers its result. A result that nobody receives (a signal, a
    /// cancelled task, a closed loop) is dropped: what was granted is released, what was connected is closed.
    pub fn run<T: Answer, F: Future<Output = Result<T>> + Send + 'static>(
        self,
        py: Python<'_>,
        begin: impl FnOnce() -> F,
    ) -> Answered {
        self.run_to(py, begin, |py, value| value.answer(py))
    }

    /// The same for a result that `convert` makes an object of the face.
    pub fn run_to<T: Send + 'static, F: Future<Output = Result<T>> + Send + 'static>(
        self,
        py: Python<'_>,
        begin: impl FnOnce() -> F,
        convert: impl FnOnce(Python<'_>, T) -> Answered + Send + 'static,
    ) -> Answered {
        let convert: Convert = Box::new(|py, value| convert(py, answer_of(Ok(value)).or_raise(py)?));
        self.run_any(py, &mut any(begin), convert)
    }

    /// The same without the types of a verb, and so there once.
    fn run_any(self, py: Python<'_>, begin: Begin<'_>, convert: Convert) -> Answered {
        match self {
            Face::Blocking => {
                let value = wait_any(py, begin)?;
                parked_if_unwound(|| convert(py, value))
            }
            Face::Asyncio => {
                let call = guard(|| Ok(begin())).or_raise(py)?;
                Ok(Py::new(py, Call::new(call, convert))?.into_any())
            }
        }
    }

    /// The same for a verb that need not wait, which a callback may use too.
    pub fn run_at_once(self, py: Python<'_>, verb: impl FnOnce() -> Result<()>) -> Answered {
        match self {
            Face::Blocking => guard(verb).or_raise(py).map(|()| py.None()),
            Face::Asyncio => self.run(py, || std::future::ready(verb())),
        }
    }
}

/// Begins a verb of whatever types.
type Begin<'a> = &'a mut dyn FnMut() -> AnyCall;
/// Makes an object of what it answers.
type Convert = Box<dyn FnOnce(Python<'_>, AnyAnswer) -> Answered + Send>;

fn any<T: Send + 'static, F: Future<Output = Result<T>> + Send + 'static>(
    begin: impl FnOnce() -> F,
) -> impl FnMut() -> AnyCall {
    let mut begin = Some(begin);
    move || any_call(begin.take().expect("a verb begins once")())
}

/// Blocks this thread without the GIL until the verb is done, or a signal handler raises.
pub fn wait<T: Send + 'static, F: Future<Output = Result<T>> + Send + 'static>(
    py: Python<'_>,
    begin: impl FnOnce() -> F,
) -> PyResult<T> {
    let answer = wait_any(py, &mut any(begin))?;
    answer_of(Ok(answer)).or_raise(py)
}

fn wait_any(py: Python<'_>, begin: Begin<'_>) -> PyResult<AnyAnswer> {
    // Before it begins: a verb that may not wait here must not have done anything.
    drive::check_may_wait().or_raise(py)?;
    let call = guard(|| Ok(begin())).or_raise(py)?;
    let mut interrupted = None;
    let heeds_signals = on_main_thread(py)?;
    let result = py.detach(|| {
        let mut hook = || {
            if let Some(Err(raised)) = Python::try_attach(|py| py.check_signals()) {
                interrupted = Some(raised);
            }
            interrupted.is_none()
        };
        let tick = heeds_signals.then_some(Tick { every: SIGNALS_EVERY, hook: &mut hook });
        let result = guard(|| drive::wait_any(call, None, tick));
        park_if_exiting();
        result
    });
    if let Some(raised) = interrupted {
        return Err(raised);
    }
    let value = result.or_raise(py)?;
    // A Ctrl-C that arrived last must not find the result already handed over and nobody holding it.
    py.check_signals()?;
    Ok(value)
}

/// Signal handlers run on the main thread only; other threads need not wake up for them.
fn on_main_thread(py: Python<'_>) -> PyResult<bool> {
    // In a forked child it is the thread that forked.
    static MAIN: PerProcess<OnceLock<u64>> = PerProcess::new();
    static GET_IDENT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let main = match MAIN.get() {
        Some(main) => *main,
        None => {
            let main =
                py.import("threading")?.call_method0("main_thread")?.getattr("ident")?.extract::<u64>()?;
            *MAIN.get_or_init(|| main)
        }
    };
    let this = GET_IDENT.import(py, "_thread", "get_ident")?.call0()?.extract::<u64>()?;
    Ok(this == main)
}

type Converted = Box<dyn FnOnce(Python<'_>) -> Answered + Send>;
type Start = Box<dyn FnOnce(Way) -> Result<()> + Send>;

/// How an outcome comes to its event loop.
enum Way {
    /// By this, which is called on a thread of the library.
    Called(Py<PyAny>),
    Inbox(Arc<Shared>, Address),
}

#[doc = doc_of!(Call)]
#[pyclass(frozen, module = "zkrecipes._native")]
pub struct Call {
    start: Owned<Mutex<Option<Start>>>,
    cancel: Owned<CancelToken>,
    slot: Owned<Arc<Slot>>,
}

impl Call {
    fn new(call: AnyCall, convert: Convert) -> Call {
        let cancel = CancelToken::new();
        let token = cancel.clone();
        let start: Start = Box::new(move |way| match way {
            Way::Called(deliver) => {
                let deliver = move |result| hand_over(&deliver, || Outcome::new(result, convert));
                drive::start_any_in_order(call, &token, Box::new(deliver));
                Ok(())
            }
            Way::Inbox(inbox, address) => {
                let post = move |result| inbox.post(address, Outcome::new(result, convert));
                drive::start_any_for_inbox(call, &token, Box::new(post));
                Ok(())
            }
        });
        Call { start: Mutex::new(Some(start)).into(), cancel: cancel.into(), slot: Owned::default() }
    }

    fn begin(&self, py: Python<'_>, way: Way) -> PyResult<()> {
        let start = self.start.lock().unwrap_or_else(|e| e.into_inner()).take();
        let start = start.ok_or_else(|| PyRuntimeError::new_err("a call begins once"))?;
        // It may have to wait for a callback, which needs the GIL.
        py.detach(|| guard(|| start(way))).or_raise(py)
    }
}

#[pymethods]
impl Call {
    #[doc = doc_of!(Call.start)]
    fn start(&self, py: Python<'_>, deliver: Py<PyAny>) -> PyResult<()> {
        self.begin(py, Way::Called(deliver))
    }

    #[doc = doc_of!(Call.start_for)]
    fn start_for(
        &self,
        py: Python<'_>,
        inbox: &Inbox,
        arrive: Py<PyAny>,
        deliver: Py<PyAny>,
    ) -> PyResult<()> {
        let address = Address { arrive, deliver, slot: (*self.slot).clone() };
        self.begin(py, Way::Inbox(inbox.shared(), address))
    }

    #[doc = doc_of!(Call.cancel)]
    fn cancel(&self) -> bool {
        self.cancel.cancel();
        self.slot.withdraw().is_some()
    }
}

/// `outcome` is made inside Python, as whatever it owns may only be dropped there.
pub fn hand_over(deliver: &Py<PyAny>, outcome: impl FnOnce() -> Outcome) {
    from_library_thread(|py| {
        let arguments = Py::new(py, outcome()).and_then(|outcome| PyTuple::new(py, [outcome]));
        let delivered = arguments.and_then(|arguments| call(deliver.bind(py), &arguments).map(drop));
        match delivered {
            Ok(()) => {}
            // The loop has closed: the outcome is dropped here.
            Err(closed) if closed.is_instance_of::<PyRuntimeError>(py) => {}
            Err(failure) => report(py, failure, None),
        }
    });
}

#[doc = doc_of!(Outcome)]
#[pyclass(frozen, module = "zkrecipes._native")]
pub struct Outcome(Owned<Mutex<Option<Converted>>>);

impl Outcome {
    fn new(result: Result<AnyAnswer>, convert: Convert) -> Outcome {
        let only: Converted = Box::new(move |py| match result {
            Ok(value) => convert(py, value),
            Err(error) => Err(exception(py, &error)),
        });
        Outcome(Mutex::new(Some(only)).into())
    }

    fn only(&self) -> Option<Converted> {
        self.0.lock().unwrap_or_else(|e| e.into_inner()).take()
    }
}

#[pymethods]
impl Outcome {
    #[doc = doc_of!(Outcome.take)]
    fn take(&self, py: Python<'_>) -> Answered {
        let convert = self.only().ok_or_else(|| PyRuntimeError::new_err("an outcome is taken once"))?;
        convert(py)
    }

    #[doc = doc_of!(Outcome.discard)]
    fn discard(&self) {
        drop(self.only());
    }
}

type Made = Box<dyn Any>;
type Make = Box<dyn FnOnce() -> Made + Send>;

/// An argument, as it comes.
pub type Arg<'a, 'py> = &'a Bound<'py, PyAny>;

/// What a verb answers: the value, or on asyncio a `Call`.
pub type Answered = PyResult<Py<PyAny>>;

/// What the constructor of a native class returns.
pub type Fresh<B> = PyResult<PyClassInitializer<B>>;

#[doc = doc_of!(Seed)]
#[pyclass(frozen, module = "zkrecipes._native")]
pub struct Seed(Owned<Mutex<Option<Make>>>);

impl Seed {
    pub fn take<B: PyClass>(&self) -> Fresh<B> {
        let make = self.0.lock().unwrap_or_else(|e| e.into_inner()).take();
        let made = make.and_then(|make| make().downcast().ok());
        made.map(|made| *made).ok_or_else(|| PyTypeError::new_err("made by a client, not by hand"))
    }
}

/// An instance of the class of this name in `zkrecipes.aio`.
pub fn asyncio_object<B: PyClass>(
    py: Python<'_>,
    class: &str,
    make: impl FnOnce() -> PyClassInitializer<B> + Send + 'static,
) -> Answered {
    let make: Make = Box::new(|| Box::new(make()));
    let seed = Seed(Mutex::new(Some(make)).into());
    Ok(py.import("zkrecipes.aio")?.getattr(class)?.call1((seed,))?.unbind())
}

/// The two public classes of one base: a native subclass for the blocking face, a Python one of the same name for asyncio.
/// `make` says what the base, and those that it extends, are made of.
macro_rules! two_faces {
    ($base:ident, $public:ident) => {
        impl $base {
            pub fn hand_out(
                py: pyo3::Python<'_>,
                face: $crate::face::Face,
                make: impl FnOnce() -> pyo3::PyClassInitializer<$base> + Send + 'static,
            ) -> pyo3::PyResult<pyo3::Py<pyo3::PyAny>> {
                match face {
                    $crate::face::Face::Blocking => {
                        Ok(pyo3::Py::new(py, make().add_subclass($public))?.into_any())
                    }
                    $crate::face::Face::Asyncio => {
                        $crate::face::asyncio_object(py, stringify!($public), make)
                    }
                }
            }
        }
    };
}
pub(crate) use two_faces;

/// The base of a recipe that is nothing but its verbs, and its two public classes. Python names the class that has a verb in
/// errors about its arguments: so a base has the name that its users know.
macro_rules! recipe {
    ($base:ident of $core:ty, $public:ident, $name:literal) => {
        #[doc = concat!("What `", stringify!($public), "` is on both faces.")]
        #[pyo3::pyclass(frozen, subclass, weakref, name = $name, module = "zkrecipes._native")]
        pub struct $base {
            origin: $crate::owned::Owned<$crate::client::Origin>,
            pub core: $crate::owned::Owned<$core>,
        }

        impl $base {
            pub fn origin<'a>(slf: &'a pyo3::Bound<'_, $base>) -> &'a $crate::client::Origin {
                &slf.get().origin
            }

            pub fn of(
                py: pyo3::Python<'_>,
                origin: &$crate::client::Origin,
                core: $core,
            ) -> pyo3::PyResult<pyo3::Py<pyo3::PyAny>> {
                let (face, origin) = (origin.face, origin.clone());
                $base::hand_out(py, face, || $base { origin: origin.into(), core: core.into() }.into())
            }
        }

        $crate::face::two_faces!($base, $public);
    };
}
pub(crate) use recipe;
