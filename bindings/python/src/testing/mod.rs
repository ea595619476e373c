//! The testing kit: servers inside this process, and a proxy in front of real ones, for users' tests and ours.

mod ensemble;
mod proxy;
mod server;

use std::mem::ManuallyDrop;

use pyo3::prelude::*;
use zkrecipes::{Error, ErrorKind};
use zkrecipes_embedded::{Control, Ensemble, FaultId, LogEntry, Proxy, Server};

use crate::answer::Answer;
use crate::convert::{session_id, text};
use crate::errors::{OrRaise, guard, invalid};
use crate::face::{Answered, Arg};
use crate::owned::Owned;

pub use ensemble::Ensemble as PyEnsemble;
pub use proxy::Proxy as PyProxy;
pub use server::EmbeddedServer;

/// What runs, on a thread of its own.
enum Running {
    Server(Server),
    Ensemble(Ensemble),
    Proxy(Proxy),
}

impl Running {
    /// What can be done to each of them.
    fn control(&self) -> &Control {
        match self {
            Running::Server(server) => server,
            Running::Ensemble(ensemble) => ensemble.server(),
            Running::Proxy(proxy) => proxy,
        }
    }
}

/// Stays with the process that started it: a forked child must not shut down its copy.
struct Own {
    running: ManuallyDrop<Running>,
    process: u32,
}

impl Drop for Own {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            // SAFETY: this is its only drop, and nothing uses it afterwards.
            unsafe { ManuallyDrop::drop(&mut self.running) }
        }
    }
}

/// What servers and proxies have in common: connections, faults and the request log.
#[pyclass(frozen, subclass, weakref, name = "Testing", module = "zkrecipes._native")]
pub struct TestingBase(Owned<Own>);

impl TestingBase {
    fn new(running: Running) -> TestingBase {
        let own = Own { running: ManuallyDrop::new(running), process: std::process::id() };
        TestingBase(own.into())
    }

    /// Asks without the GIL: it may have to wait for the server's own thread.
    fn ask<T: Send>(&self, py: Python<'_>, question: impl FnOnce(&Running) -> T + Send) -> PyResult<T> {
        if self.0.process != std::process::id() {
            let problem =
                "the embedded server stays in the process that started it; start one in this process";
            return Err(Error::new(ErrorKind::Forked, problem)).or_raise(py);
        }
        let running: &Running = &self.0.running;
        py.detach(|| guard(|| Ok(question(running)))).or_raise(py)
    }

    fn control<T: Send>(&self, py: Python<'_>, question: impl FnOnce(&Control) -> T + Send) -> PyResult<T> {
        self.ask(py, |running| question(running.control()))
    }
}

#[pymethods]
impl TestingBase {
    fn __enter__(slf: Bound<'_, Self>) -> PyResult<Bound<'_, Self>> {
        slf.get().ask(slf.py(), |_| ())?;
        Ok(slf)
    }

    fn __exit__(&self, py: Python<'_>, _kind: Arg, _exception: Arg, _traceback: Arg) -> PyResult<()> {
        self.shutdown(py)
    }

    /// What clients connect to: host and port.
    #[getter]
    fn connect_string(&self) -> String {
        self.0.running.control().connect_string()
    }

    /// The port it listens on.
    #[getter]
    fn port(&self) -> u16 {
        self.0.running.control().port()
    }

    /// Breaks all connections; sessions live on.
    fn drop_connections(&self, py: Python<'_>) -> PyResult<()> {
        self.control(py, Control::drop_connections)
    }

    /// Stops answering while connections stay up.
    fn pause(&self, py: Python<'_>) -> PyResult<()> {
        self.control(py, Control::pause)
    }

    /// Answers again.
    fn resume(&self, py: Python<'_>) -> PyResult<()> {
        self.control(py, Control::resume)
    }

    /// Makes something go wrong once, such as "drop_after create2 path=/locks/** nth=2"; returns the fault's id.
    fn inject(&self, py: Python<'_>, fault: Arg) -> PyResult<u64> {
        let fault = text("fault", fault)?;
        match self.control(py, |it| it.inject_text(&fault))? {
            Ok(id) => Ok(id.0),
            Err(problem) => Err(invalid(py, "fault", problem)),
        }
    }

    /// Whether an injected fault has happened.
    fn fault_fired(&self, py: Python<'_>, fault: Arg) -> PyResult<bool> {
        let id = FaultId(session_id("fault", fault)?);
        self.control(py, |it| it.fault_fired(id))
    }

    /// Takes back all faults.
    fn clear_faults(&self, py: Python<'_>) -> PyResult<()> {
        self.control(py, Control::clear_faults)
    }

    /// The requests that arrived, in order; a proxy has them in the order of their answers.
    fn log(&self, py: Python<'_>) -> Answered {
        let log: Vec<LogEntry> = self.control(py, Control::log)?;
        log.answer(py)
    }

    /// Forgets the requests that arrived so far.
    fn clear_log(&self, py: Python<'_>) -> PyResult<()> {
        self.control(py, Control::clear_log)
    }

    /// How many requests arrived of this operation (such as "create*") on paths that match.
    #[pyo3(signature = (op, path=None), text_signature = "($self, op, path='**')")]
    fn count(&self, py: Python<'_>, op: Arg, path: Option<Arg>) -> PyResult<usize> {
        let op = text("op", op)?;
        let path = path.map_or(Ok("**".to_owned()), |path| text("path", path))?;
        self.control(py, |it| it.count(&op, &path))
    }

    /// The ids of the sessions that live, as far as a proxy has seen them.
    fn sessions(&self, py: Python<'_>) -> PyResult<Vec<u64>> {
        self.control(py, Control::sessions)
    }

    /// How many connections there are.
    fn connections(&self, py: Python<'_>) -> PyResult<usize> {
        self.control(py, Control::connections)
    }

    /// Stops for good; leaving the with statement does it too.
    fn shutdown(&self, py: Python<'_>) -> PyResult<()> {
        self.control(py, Control::shutdown)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        Ok(format!("<{} {}>", slf.get_type().name()?, slf.get().connect_string()))
    }
}
