//! `Client`: one session, and the factories of everything that shares it.

use std::sync::{Arc, Mutex, OnceLock, Weak};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyResourceWarning;
use pyo3::prelude::*;
use pyo3::types::{PyCFunction, PyDict, PyTuple};
use zkrecipes::{ClientOptions, Error, ErrorKind, State, drive};

use crate::attach::{await_the_others, begin_exit, parked_if_unwound};
use crate::callback::{Callback, unsubscriber};
use crate::errors::{OrRaise, exception, guard};
use crate::face::{Face, wait};
use crate::handle::{HandleBase, Recipe};
use crate::lock::LockBase;
use crate::multi_lock::MultiLockBase;
use crate::nodes::NodesBase;
use crate::read_write_lock::ReadWriteLockBase;
use crate::semaphore::SemaphoreBase;
use crate::{convert, options};

/// The core's client, shared by the Python client and by every handle made from it: as long as one of them lives, so
/// does the session.
pub struct Session {
    pub client: zkrecipes::Client,
    hosts: String,
}

static OPEN: Mutex<Vec<Weak<Session>>> = Mutex::new(Vec::new());

impl Session {
    fn new(client: zkrecipes::Client, hosts: String) -> Arc<Session> {
        let session = Arc::new(Session { client, hosts });
        let mut open = OPEN.lock().unwrap_or_else(|e| e.into_inner());
        open.retain(|other| other.strong_count() > 0);
        open.push(Arc::downgrade(&session));
        session
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // In a forked child these are only copies of what the parent still uses.
        if drive::check_process().is_err() || self.client.state() == State::Closed {
            return;
        }
        warn_unless_exiting(&format!(
            "unclosed zkrecipes client of {}; use it in a with statement or close it",
            self.hosts
        ));
        self.client.close_in_background();
    }
}

/// Says that something was dropped that should have been let go explicitly.
pub fn warn_unless_exiting(message: &str) {
    Python::try_attach(|py| {
        let exiting = py.import("sys").and_then(|sys| sys.call_method0("is_finalizing")?.is_truthy());
        if exiting.unwrap_or(true) {
            return;
        }
        let message = std::ffi::CString::new(message.replace('\0', "")).unwrap_or_default();
        parked_if_unwound(|| {
            if let Err(raised) = PyErr::warn(py, &py.get_type::<PyResourceWarning>(), &message, 1) {
                raised.write_unraisable(py, None);
            }
        });
    });
}

/// At interpreter exit: ends the sessions still open, so that what they hold is free at once and not after the session
/// timeout, and sees to it that no thread of the library is caught inside Python. Takes at most `limit` seconds for
/// each, since an exit must not hang.
#[pyfunction]
pub fn at_exit(py: Python<'_>, limit: f64) {
    if drive::check_process().is_err() {
        return;
    }
    begin_exit();
    let limit = Duration::from_secs_f64(limit);
    let deadline = Instant::now() + limit;
    let open: Vec<_> = std::mem::take(&mut *OPEN.lock().unwrap_or_else(|e| e.into_inner()));
    for session in open.iter().filter_map(Weak::upgrade) {
        let client = session.client.clone();
        let left = deadline.saturating_duration_since(Instant::now());
        let _ =
            py.detach(|| guard(|| drive::wait(async move { client.close(Some(left)).await }, None, None)));
    }
    await_the_others(py, Instant::now() + limit);
}

/// What both clients share.
#[pyclass(frozen, subclass, weakref, module = "zkrecipes._native")]
pub struct ClientBase {
    face: Face,
    asked: OnceLock<(String, ClientOptions)>,
    session: OnceLock<Arc<Session>>,
}

impl ClientBase {
    fn new(face: Face) -> ClientBase {
        ClientBase { face, asked: OnceLock::new(), session: OnceLock::new() }
    }

    fn prepare(
        &self,
        hosts: Option<&Bound<'_, PyAny>>,
        options: Option<&Bound<'_, PyDict>>,
        py: Python<'_>,
    ) -> PyResult<()> {
        // No hosts at all is left to the core, which knows the environment variable and says both ways out.
        let hosts = hosts.map_or(Ok(String::new()), |hosts| convert::text("hosts", hosts))?;
        let options = options::client(options)?;
        guard(|| options.validate()).or_raise(py)?;
        let problem =
            || exception(py, &Error::new(ErrorKind::Invalid, "a client is initialised once; make another"));
        self.asked.set((hosts, options)).map_err(|_| problem())
    }

    fn hand_out_lock(
        &self,
        py: Python<'_>,
        session: &Arc<Session>,
        lock: zkrecipes::Lock,
    ) -> PyResult<Py<PyAny>> {
        let handle = HandleBase::new(self.face, Recipe::Lock(lock.clone()), session.clone());
        LockBase { lock }.hand_out(py, handle)
    }

    fn session(&self, py: Python<'_>) -> PyResult<&Arc<Session>> {
        let problem = "this client is not connected; use it in `async with`, or `await Client.connect(…)`";
        self.session.get().ok_or_else(|| exception(py, &Error::new(ErrorKind::Closed, problem)))
    }
}

fn connect(slf: &Bound<'_, ClientBase>) -> PyResult<Py<PyAny>> {
    let py = slf.py();
    let base = slf.get();
    let problem = || exception(py, &Error::new(ErrorKind::Invalid, "a client connects once; make another"));
    let (hosts, options) = base.asked.get().cloned().ok_or_else(problem)?;
    if base.session.get().is_some() {
        return Err(problem());
    }
    let shown = if hosts.is_empty() { "ZKRECIPES_HOSTS".to_owned() } else { hosts.clone() };
    let client = slf.clone().unbind();
    base.face.run(
        py,
        || async move { zkrecipes::Client::connect(&hosts, options).await },
        move |py, connected| {
            let session = Session::new(connected, shown);
            let _ = client.get().session.set(session);
            Ok(py.None())
        },
    )
}

#[pymethods]
impl ClientBase {
    #[new]
    #[pyo3(signature = (*_args, **_options))]
    fn py_new(_args: &Bound<'_, PyTuple>, _options: Option<&Bound<'_, PyDict>>) -> ClientBase {
        ClientBase::new(Face::Asyncio)
    }

    #[pyo3(signature = (hosts=None, **options))]
    fn __init__(
        &self,
        py: Python<'_>,
        hosts: Option<&Bound<'_, PyAny>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        self.prepare(hosts, options, py)
    }

    #[pyo3(name = "_connect")]
    fn py_connect(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        connect(slf)
    }

    /// Ends the session: waiters get Closed, what is held is released, deletions under way are awaited.
    #[pyo3(signature = (timeout=None))]
    fn close(&self, py: Python<'_>, timeout: Option<&Bound<'_, PyAny>>) -> PyResult<Py<PyAny>> {
        let limit = convert::limit("timeout", timeout)?;
        let client = self.session.get().map(|session| session.client.clone());
        self.face.run_unit(py, || async move {
            match client {
                Some(client) => client.close(limit).await,
                None => Ok(()),
            }
        })
    }

    /// connected, suspended, lost or closed.
    #[getter]
    fn state(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        convert::state(py, self.session.get().map_or(State::Closed, |session| session.client.state()))
    }

    /// The id of the present session.
    #[getter]
    fn session_id(&self) -> u64 {
        self.session.get().map_or(0, |session| session.client.session_id())
    }

    /// The session timeout that the server agreed to, in seconds.
    #[getter]
    fn session_timeout(&self) -> f64 {
        self.session.get().map_or(0.0, |session| session.client.session_timeout().as_secs_f64())
    }

    /// How long the server certainly still honours this session, in seconds; 0 while nothing is held.
    #[getter]
    fn lease_remaining(&self) -> f64 {
        self.session.get().map_or(0.0, |session| session.client.lease_remaining().as_secs_f64())
    }

    /// Calls `callback(state)` at each change of state; returns a function that unsubscribes. Callbacks run one at a time on
    /// a thread of the library (asyncio: on the loop); what they raise is logged. They must not block.
    fn on_state<'py>(
        &self,
        py: Python<'py>,
        callback: &Bound<'_, PyAny>,
    ) -> PyResult<Bound<'py, PyCFunction>> {
        let session = self.session(py)?;
        let callback = Callback::new(self.face, callback)?;
        let tell = move |state| callback.call(|py| Ok(vec![convert::state(py, state)?]));
        unsubscriber(py, guard(|| Ok(session.client.on_state(tell))).or_raise(py)?)
    }

    /// A mutual exclusion on `path`, first come, first served.
    ///
    /// A `reentrant` handle is the owner: who uses it is inside together, and nested acquisitions count. With
    /// `local_handoff`, those who wait in this client share one node, and pass the turn on in memory at most so many times
    /// before others get theirs; see `held.passes`.
    #[pyo3(signature = (path, *, reentrant=None, local_handoff=None, **others), text_signature = "($self, path, *, reentrant=False, local_handoff=0)")]
    fn lock(
        &self,
        py: Python<'_>,
        path: &Bound<'_, PyAny>,
        reentrant: Option<&Bound<'_, PyAny>>,
        local_handoff: Option<&Bound<'_, PyAny>>,
        others: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Py<PyAny>> {
        let path = convert::text("path", path)?;
        let options = options::lock(reentrant, local_handoff, others)?;
        let session = self.session(py)?;
        let lock = guard(|| session.client.lock(&path, options)).or_raise(py)?;
        self.hand_out_lock(py, session, lock)
    }

    /// Readers share, writers exclude everybody: `.read` and `.write` are each a Lock on `path`.
    fn read_write_lock(&self, py: Python<'_>, path: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let path = convert::text("path", path)?;
        let session = self.session(py)?;
        let lock = guard(|| session.client.read_write_lock(&path)).or_raise(py)?;
        let read = self.hand_out_lock(py, session, lock.read().clone())?;
        let write = self.hand_out_lock(py, session, lock.write().clone())?;
        ReadWriteLockBase::new(self.face, lock.path(), read, write).hand_out(py)
    }

    /// Several locks of this client as one: all or none, in the order of their paths.
    fn multi_lock(&self, py: Python<'_>, locks: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let locks = convert::each("locks", "a list of locks", locks, |lock| {
            lock.cast::<LockBase>().ok().map(|lock| lock.get().lock.clone())
        })?;
        let session = self.session(py)?;
        let lock = guard(|| session.client.multi_lock(&locks)).or_raise(py)?;
        let handle = HandleBase::new(self.face, Recipe::MultiLock(lock.clone()), session.clone());
        MultiLockBase { lock }.hand_out(py, handle)
    }

    /// At most `permits` at once on `path`. All who use the path have to name the same number, or get Mismatch.
    fn semaphore(
        &self,
        py: Python<'_>,
        path: &Bound<'_, PyAny>,
        permits: &Bound<'_, PyAny>,
    ) -> PyResult<Py<PyAny>> {
        let (path, permits) = (convert::text("path", path)?, convert::permits("permits", permits)?);
        let session = self.session(py)?;
        let semaphore = guard(|| session.client.semaphore(&path, permits)).or_raise(py)?;
        let handle = HandleBase::new(self.face, Recipe::Semaphore(semaphore.clone()), session.clone());
        SemaphoreBase { semaphore }.hand_out(py, handle)
    }

    /// Whether the acquisition that this `held.sequencer` names, of anybody in any language, still stands.
    fn check_sequencer(&self, py: Python<'_>, sequencer: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let sequencer = convert::text("sequencer", sequencer)?;
        let client = self.session(py)?.client.clone();
        self.face.run(py, || async move { client.check_sequencer(&sequencer).await }, convert::truth)
    }

    /// Waits until the acquisition that this `held.sequencer` names no longer stands; Timeout after `timeout` seconds.
    #[pyo3(signature = (sequencer, timeout=None))]
    fn watch_sequencer(
        &self,
        py: Python<'_>,
        sequencer: &Bound<'_, PyAny>,
        timeout: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        let sequencer = convert::text("sequencer", sequencer)?;
        let limit = convert::limit("timeout", timeout)?;
        let client = self.session(py)?.client.clone();
        let still_stands =
            || Error::new(ErrorKind::Timeout, "the time ran out, and the sequencer is still valid");
        if limit.is_some_and(|limit| limit.is_zero()) {
            let stands = async move { client.check_sequencer(&sequencer).await };
            return self
                .face
                .run_unit(py, || async move { if stands.await? { Err(still_stands()) } else { Ok(()) } });
        }
        self.face.run_within(
            py,
            limit,
            still_stands,
            || async move { client.watch_sequencer(&sequencer).await },
        )
    }

    /// Plain node operations.
    #[getter]
    fn nodes(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let session = self.session(py)?;
        NodesBase::new(self.face, session.client.nodes(), session.clone()).hand_out(py)
    }

    /// The version of the library.
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
                    session.hosts,
                    client.state().name(),
                    client.session_id()
                )
            }
            None => format!("<{class} not connected>"),
        })
    }
}

/// A session with a ZooKeeper ensemble; connects at once.
///
/// `hosts` is a connect string such as "zk1:2181,zk2:2181/app", or "embedded:" for a server inside this process, for
/// development and tests. Without it, ZKRECIPES_HOSTS is read from the environment.
///
/// Options: session_timeout, connect_timeout, identity, auth, acl, tls, sasl, naming, retry, lease, read_only; they are
/// described in `zkrecipes.ClientOptions`.
///
/// >>> import zkrecipes
/// >>> with zkrecipes.Client("embedded:", session_timeout=6, identity="worker 7") as client:
/// ...     print(client.state, client.session_timeout)
/// connected 6.0
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
        PyClassInitializer::from(ClientBase::new(Face::Blocking)).add_subclass(Client)
    }

    #[pyo3(signature = (hosts=None, **options))]
    fn __init__(
        slf: &Bound<'_, Self>,
        hosts: Option<&Bound<'_, PyAny>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        slf.as_super().get().prepare(hosts, options, slf.py())?;
        connect(slf.as_super()).map(drop)
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    #[pyo3(signature = (kind, _exception, _traceback, /))]
    fn __exit__(
        slf: &Bound<'_, Self>,
        kind: &Bound<'_, PyAny>,
        _exception: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        let py = slf.py();
        let Some(session) = slf.as_super().get().session.get() else { return Ok(()) };
        let client = session.client.clone();
        // After a session timeout the server has forgotten us anyway: waiting longer could confirm nothing more.
        let limit = client.session_timeout();
        let closed = wait(py, || async move { client.close(Some(limit)).await });
        if kind.is_none() { closed } else { Ok(()) }
    }
}
