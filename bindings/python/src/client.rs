//! `Client`: one session, and the factories of everything that shares it.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyResourceWarning;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict, PyTuple};
use zkrecipes::{ClientOptions, Error, ErrorKind, State, drive};

use crate::answer::Answer;
use crate::attach::{await_the_others, begin_exit, from_library_thread, parked_if_unwound, report};
use crate::callback::subscribe;
use crate::convert;
use crate::errors::{OrRaise, exception, guard, unmasked};
use crate::face::{Answered, Arg, Face, wait};
use crate::generated::docs::doc_of;
use crate::owned::Owned;
use crate::recipes::ClientBase;

/// The core's client, shared by the Python client and by every handle made from it: as long as one of them lives, so
/// does the session.
pub struct Session {
    pub client: zkrecipes::Client,
    /// As they were named last.
    hosts: Mutex<String>,
}

impl Session {
    fn hosts(&self) -> MutexGuard<'_, String> {
        self.hosts.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// A connect string as people see it.
fn shown(hosts: &str) -> String {
    if hosts.is_empty() { "ZKRECIPES_HOSTS".to_owned() } else { hosts.to_owned() }
}

impl Drop for Session {
    fn drop(&mut self) {
        // In a forked child these are only copies of what the parent still uses, and such a client is closed.
        if self.client.state() == State::Closed {
            return;
        }
        warn_unless_exiting(&format!(
            "unclosed zkrecipes client of {}; use it in a with statement or close it",
            self.hosts()
        ));
        self.client.close_in_background();
    }
}

/// Where an object comes from: its face, and the session that it keeps open.
#[derive(Clone)]
pub struct Origin {
    pub face: Face,
    pub session: Arc<Session>,
}

impl Origin {
    /// Forked in a child of the process that connected the client: whatever comes from it is the parent's, with its locks.
    pub fn check(&self) -> Result<(), Error> {
        drive::check_process(&self.session.client)
    }

    /// As [`guard`], for what comes from here.
    pub fn guard<T>(&self, call: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        self.check()?;
        guard(call)
    }

    /// As [`Face::run`].
    pub fn run<T: Answer, F: Future<Output = Result<T, Error>> + Send + 'static>(
        &self,
        py: Python<'_>,
        begin: impl FnOnce() -> F,
    ) -> Answered {
        self.check().or_raise(py)?;
        self.face.run(py, begin)
    }

    /// As [`Face::run_to`].
    pub fn run_to<T: Send + 'static, F: Future<Output = Result<T, Error>> + Send + 'static>(
        &self,
        py: Python<'_>,
        begin: impl FnOnce() -> F,
        convert: impl FnOnce(Python<'_>, T) -> Answered + Send + 'static,
    ) -> Answered {
        self.check().or_raise(py)?;
        self.face.run_to(py, begin, convert)
    }

    /// As [`Face::run_at_once`].
    pub fn run_at_once(&self, py: Python<'_>, verb: impl FnOnce() -> Result<(), Error>) -> Answered {
        self.check().or_raise(py)?;
        self.face.run_at_once(py, verb)
    }
}

/// Says that something was dropped that should have been let go explicitly. On whichever thread: who drops last may be one
/// of the library's.
pub fn warn_unless_exiting(message: &str) {
    from_library_thread(|py| {
        let exiting = py.import("sys").and_then(|sys| sys.call_method0("is_finalizing")?.is_truthy());
        if exiting.unwrap_or(true) {
            return;
        }
        let message = std::ffi::CString::new(message.replace('\0', "")).unwrap_or_default();
        let category = py.get_type::<PyResourceWarning>();
        if let Err(raised) = parked_if_unwound(|| PyErr::warn(py, &category, &message, 1)) {
            report(py, raised, None);
        }
    });
}

#[doc = doc_of!(at_exit)]
#[pyfunction]
pub fn at_exit(py: Python<'_>, limit: f64) {
    let limit = Duration::from_secs_f64(limit);
    // A program that ends at once still says what it has to say.
    py.detach(|| drive::log::flush(limit));
    begin_exit();
    py.detach(|| drive::end_sessions(limit));
    await_the_others(py, Instant::now() + limit);
}

#[doc = doc_of!(SessionBase)]
#[pyclass(frozen, subclass, weakref, name = "Session", module = "zkrecipes._native")]
pub struct SessionBase {
    face: Face,
    asked: OnceLock<(String, ClientOptions)>,
    session: Owned<OnceLock<Arc<Session>>>,
}

impl SessionBase {
    pub fn new(face: Face) -> SessionBase {
        SessionBase { face, asked: OnceLock::new(), session: Owned::default() }
    }

    pub fn prepare(
        &self,
        hosts: Option<Arg>,
        options: Option<&Bound<'_, PyDict>>,
        py: Python<'_>,
    ) -> PyResult<()> {
        // No hosts at all is left to the core, which knows the environment variable and says both ways out.
        let hosts = hosts.map_or(Ok(String::new()), |hosts| convert::text("hosts", hosts))?;
        let options = crate::generated::options::client(options)?;
        guard(|| options.validate()).or_raise(py)?;
        let problem =
            || exception(py, &Error::new(ErrorKind::Invalid, "a client is initialised once; make another"));
        self.asked.set((hosts, options)).map_err(|_| problem())
    }

    pub fn origin(&self, py: Python<'_>) -> PyResult<Origin> {
        let session = self.session.get().ok_or_else(|| exception(py, &self.never_connected()))?.clone();
        Ok(Origin { face: self.face, session })
    }

    fn never_connected(&self) -> Error {
        let problem = match (self.asked.get(), self.face) {
            (None, _) => return uninitialised(),
            (Some(_), Face::Blocking) => {
                "this client is not connected, because connecting it failed; make another"
            }
            (Some(_), Face::Asyncio) => {
                "this client is not connected; use it in `async with`, or `await Client.connect(…)`"
            }
        };
        Error::new(ErrorKind::Closed, problem)
    }
}

fn uninitialised() -> Error {
    Error::new(
        ErrorKind::Invalid,
        "the __init__ of Client was not called; a class that derives from it calls super().__init__(hosts, …) in its own",
    )
}

fn connect(slf: &Bound<'_, SessionBase>) -> Answered {
    let py = slf.py();
    let base = slf.get();
    let problem = || exception(py, &Error::new(ErrorKind::Invalid, "a client connects once; make another"));
    let (hosts, options) = base.asked.get().cloned().ok_or_else(|| exception(py, &uninitialised()))?;
    if base.session.get().is_some() {
        return Err(problem());
    }
    let shown = Mutex::new(shown(&hosts));
    let client = slf.clone().unbind();
    base.face.run_to(
        py,
        || async move { zkrecipes::Client::connect(&hosts, options).await },
        move |py, connected| {
            let session = Session { client: connected, hosts: shown };
            let _ = client.get().session.set(Arc::new(session));
            py.import("zkrecipes._exit")?.call_method0("watch")?;
            Ok(py.None())
        },
    )
}

#[pymethods]
impl SessionBase {
    #[pyo3(name = "_connect")]
    fn py_connect(slf: &Bound<'_, Self>) -> Answered {
        connect(slf)
    }

    // Who enters a client means to use it: what comes first in the block may be something else, with an effect.
    #[pyo3(name = "_check_open")]
    fn check_open(&self, py: Python<'_>) -> PyResult<()> {
        let origin = self.origin(py)?;
        origin.check().or_raise(py)?;
        let problem = "the client is closed; connect a new one";
        match origin.session.client.state() {
            State::Closed => Err(exception(py, &Error::new(ErrorKind::Closed, problem))),
            _ => Ok(()),
        }
    }

    #[doc = doc_of!(SessionBase.update_hosts)]
    fn update_hosts(&self, py: Python<'_>, hosts: Arg) -> PyResult<()> {
        let hosts = convert::text("hosts", hosts)?;
        let origin = self.origin(py)?;
        let update = || -> Result<(), Error> {
            // Held meanwhile, so that what is shown is what was named last.
            let mut named = origin.session.hosts();
            origin.session.client.update_hosts(&hosts)?;
            *named = shown(&hosts);
            Ok(())
        };
        origin.guard(update).or_raise(py)
    }

    #[doc = doc_of!(SessionBase.close)]
    #[pyo3(signature = (timeout=None))]
    fn close(&self, py: Python<'_>, timeout: Option<Arg>) -> Answered {
        let limit = convert::limit("timeout", timeout)?;
        let client = self.session.get().map(|session| session.client.clone());
        let face = self.face;
        face.run(py, || async move {
            match (client, face) {
                (None, _) => Ok(()),
                // A callback may take its time, and this thread may have what it waits for.
                (Some(client), Face::Blocking) => client.close(limit).await,
                (Some(client), Face::Asyncio) => drive::close_and_tell(client, limit).await,
            }
        })
    }

    #[doc = doc_of!(SessionBase.state)]
    #[getter]
    fn state(&self, py: Python<'_>) -> Answered {
        self.session.get().map_or(State::Closed, |session| session.client.state()).answer(py)
    }

    #[doc = doc_of!(SessionBase.session_id)]
    #[getter]
    fn session_id(&self) -> u64 {
        self.session.get().map_or(0, |session| session.client.session_id())
    }

    #[doc = doc_of!(SessionBase.session_timeout)]
    #[getter]
    fn session_timeout(&self) -> f64 {
        self.session.get().map_or(0.0, |session| session.client.session_timeout().as_secs_f64())
    }

    #[doc = doc_of!(SessionBase.lease_remaining)]
    #[getter]
    fn lease_remaining(&self) -> f64 {
        self.session.get().map_or(0.0, |session| session.client.lease_remaining().as_secs_f64())
    }

    #[doc = doc_of!(SessionBase.metrics)]
    #[getter]
    fn metrics(&self, py: Python<'_>) -> Answered {
        let origin = self.origin(py)?;
        origin.guard(|| Ok(origin.session.client.metrics())).or_raise(py)?.answer(py)
    }

    #[doc = doc_of!(SessionBase.skipped)]
    #[getter]
    fn skipped(&self, py: Python<'_>) -> Answered {
        let origin = self.origin(py)?;
        origin.guard(|| Ok(origin.session.client.skipped())).or_raise(py)?.answer(py)
    }

    #[doc = doc_of!(SessionBase.on_state)]
    fn on_state<'py>(&self, callback: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyCFunction>> {
        let origin = self.origin(callback.py())?;
        let session = origin.session.clone();
        subscribe(&origin, callback, |callback| {
            drive::check_open(&session.client)?;
            let tell = move |state: State| callback.call(|py| Ok(vec![state.answer(py)?]));
            Ok(session.client.on_state(tell))
        })
    }

    #[doc = doc_of!(SessionBase.version)]
    #[staticmethod]
    fn version() -> &'static str {
        zkrecipes::version()
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let class = slf.get_type().name()?;
        Ok(match slf.get().session.get() {
            Some(session) => {
                let client = &session.client;
                format!(
                    "<{class} of {} {} session={:#x}>",
                    session.hosts(),
                    client.state().name(),
                    client.session_id()
                )
            }
            None => format!("<{class} not connected>"),
        })
    }
}

#[doc = doc_of!(Client)]
#[pyclass(frozen, subclass, weakref, extends = ClientBase, module = "zkrecipes")]
pub struct Client;

#[pymethods]
impl Client {
    #[new]
    #[pyo3(signature = (*_args, **_options), text_signature = "(hosts=None, **options)")]
    fn py_new(
        _args: &Bound<'_, PyTuple>,
        _options: Option<&Bound<'_, PyDict>>,
    ) -> PyClassInitializer<Client> {
        PyClassInitializer::from(SessionBase::new(Face::Blocking))
            .add_subclass(ClientBase)
            .add_subclass(Client)
    }

    #[pyo3(signature = (hosts=None, **options))]
    fn __init__(
        slf: &Bound<'_, Self>,
        hosts: Option<Arg>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        slf.as_super().as_super().get().prepare(hosts, options, slf.py())?;
        connect(slf.as_super().as_super()).map(drop)
    }

    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        slf.as_super().as_super().get().check_open(slf.py())?;
        Ok(slf)
    }

    #[doc = doc_of!(Client.locked)]
    #[pyo3(signature = (path, *, timeout=None))]
    fn locked(slf: &Bound<'_, Self>, path: Arg, timeout: Option<Arg>) -> Answered {
        let decorating = slf.py().import("zkrecipes._decorators")?.getattr("blocking")?;
        Ok(decorating.call1((slf, path, timeout))?.unbind())
    }

    #[pyo3(signature = (kind, _exception, _traceback, /))]
    fn __exit__(slf: &Bound<'_, Self>, kind: Arg, _exception: Arg, _traceback: Arg) -> PyResult<()> {
        let py = slf.py();
        let Some(session) = slf.as_super().as_super().get().session.get() else { return Ok(()) };
        let client = session.client.clone();
        // After a session timeout the server has forgotten us anyway: waiting longer could confirm nothing more.
        let limit = client.session_timeout();
        unmasked(py, !kind.is_none(), wait(py, || async move { client.close(Some(limit)).await }))
    }
}
