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
use crate::errors::{OrRaise, guard, invalid, unmasked};
use crate::face::{Answered, Arg};
use crate::generated::docs::doc_of;
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

#[doc = doc_of!(TestingBase)]
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

    fn __exit__(&self, py: Python<'_>, kind: Arg, _exception: Arg, _traceback: Arg) -> PyResult<()> {
        unmasked(py, !kind.is_none(), self.shutdown(py))
    }

    #[doc = doc_of!(TestingBase.connect_string)]
    #[getter]
    fn connect_string(&self) -> String {
        self.0.running.control().connect_string()
    }

    #[doc = doc_of!(TestingBase.port)]
    #[getter]
    fn port(&self) -> u16 {
        self.0.running.control().port()
    }

    #[doc = doc_of!(TestingBase.drop_connections)]
    fn drop_connections(&self, py: Python<'_>) -> PyResult<()> {
        self.control(py, Control::drop_connections)
    }

    #[doc = doc_of!(TestingBase.pause)]
    fn pause(&self, py: Python<'_>) -> PyResult<()> {
        self.control(py, Control::pause)
    }

    #[doc = doc_of!(TestingBase.resume)]
    fn resume(&self, py: Python<'_>) -> PyResult<()> {
        self.control(py, Control::resume)
    }

    #[doc = doc_of!(TestingBase.inject)]
    fn inject(&self, py: Python<'_>, fault: Arg) -> PyResult<u64> {
        let fault = text("fault", fault)?;
        match self.control(py, |it| it.inject_text(&fault))? {
            Ok(id) => Ok(id.0),
            Err(problem) => Err(invalid(py, "fault", problem)),
        }
    }

    #[doc = doc_of!(TestingBase.fault_fired)]
    fn fault_fired(&self, py: Python<'_>, fault: Arg) -> PyResult<bool> {
        let id = FaultId(session_id("fault", fault)?);
        self.control(py, |it| it.fault_fired(id))
    }

    #[doc = doc_of!(TestingBase.clear_faults)]
    fn clear_faults(&self, py: Python<'_>) -> PyResult<()> {
        self.control(py, Control::clear_faults)
    }

    #[doc = doc_of!(TestingBase.log)]
    fn log(&self, py: Python<'_>) -> Answered {
        let log: Vec<LogEntry> = self.control(py, Control::log)?;
        log.answer(py)
    }

    #[doc = doc_of!(TestingBase.clear_log)]
    fn clear_log(&self, py: Python<'_>) -> PyResult<()> {
        self.control(py, Control::clear_log)
    }

    #[doc = doc_of!(TestingBase.count)]
    #[pyo3(signature = (op, path=None), text_signature = "($self, op, path='**')")]
    fn count(&self, py: Python<'_>, op: Arg, path: Option<Arg>) -> PyResult<usize> {
        let op = text("op", op)?;
        let path = path.map_or(Ok("**".to_owned()), |path| text("path", path))?;
        self.control(py, |it| it.count(&op, &path))
    }

    #[doc = doc_of!(TestingBase.sessions)]
    fn sessions(&self, py: Python<'_>) -> PyResult<Vec<u64>> {
        self.control(py, Control::sessions)
    }

    #[doc = doc_of!(TestingBase.connections)]
    fn connections(&self, py: Python<'_>) -> PyResult<usize> {
        self.control(py, Control::connections)
    }

    #[doc = doc_of!(TestingBase.shutdown)]
    fn shutdown(&self, py: Python<'_>) -> PyResult<()> {
        self.control(py, Control::shutdown)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        Ok(format!("<{} {}>", slf.get_type().name()?, slf.get().connect_string()))
    }
}
