//! The embedded server, for users' tests and ours.

use std::mem::ManuallyDrop;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use zkrecipes::{Error, ErrorKind};
use zkrecipes_embedded::{FaultId, Server};

use crate::convert::{self, duration, flag, port, session_id, signed, size, text};
use crate::errors::{OrRaise, catch_panic, invalid};
use crate::options::unknown;

const OPTIONS: &[&str] = &[
    "tick",
    "min_session_timeout",
    "max_session_timeout",
    "data_limit",
    "emulate",
    "extended_types",
    "read_only",
];

/// A ZooKeeper server inside this process, in memory only, for tests. Starts at once, on a free port unless one is given.
#[pyclass(frozen, weakref, module = "zkrecipes.testing")]
pub struct EmbeddedServer {
    // Its thread stays with the process that started it: a forked child must not shut down its copy.
    server: ManuallyDrop<Server>,
    process: u32,
}

impl Drop for EmbeddedServer {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            // SAFETY: this is its only drop, and nothing uses it afterwards.
            unsafe { ManuallyDrop::drop(&mut self.server) }
        }
    }
}

impl EmbeddedServer {
    /// Asks the server without the GIL: it may have to wait for the server's own thread.
    fn ask<T: Send>(&self, py: Python<'_>, question: impl FnOnce(&Server) -> T + Send) -> PyResult<T> {
        if self.process != std::process::id() {
            let problem =
                "the embedded server stays in the process that started it; start one in this process";
            return Err(Error::new(ErrorKind::Forked, problem)).or_raise(py);
        }
        let server: &Server = &self.server;
        py.detach(|| catch_panic(|| Ok(question(server)))).or_raise(py)
    }
}

#[pymethods]
impl EmbeddedServer {
    #[new]
    #[pyo3(signature = (port=None, **options))]
    fn start(
        py: Python<'_>,
        port: Option<&Bound<'_, PyAny>>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let mut builder = Server::builder();
        if let Some(port) = port {
            builder = builder.port(self::port("port", port)?);
        }
        for (name, value) in options.into_iter().flatten() {
            let name = text("option", &name)?;
            let name = name.as_str();
            builder = match name {
                _ if !OPTIONS.contains(&name) => return Err(unknown(py, name, OPTIONS)),
                _ if value.is_none() => builder,
                "tick" => builder.tick(duration(name, &value)?),
                "min_session_timeout" => builder.min_session_timeout(duration(name, &value)?),
                "max_session_timeout" => builder.max_session_timeout(duration(name, &value)?),
                "data_limit" => builder.data_limit(size(name, &value)?),
                "emulate" => builder.emulate(&text(name, &value)?),
                "extended_types" => builder.extended_types(flag(name, &value)?),
                _ => builder.read_only(flag(name, &value)?),
            };
        }
        let server = py.detach(|| builder.start())?;
        Ok(EmbeddedServer { server: ManuallyDrop::new(server), process: std::process::id() })
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __exit__(
        &self,
        py: Python<'_>,
        _kind: &Bound<'_, PyAny>,
        _exception: &Bound<'_, PyAny>,
        _traceback: &Bound<'_, PyAny>,
    ) -> PyResult<()> {
        self.shutdown(py)
    }

    /// What clients connect to: host and port.
    #[getter]
    fn connect_string(&self) -> String {
        self.server.connect_string()
    }

    /// The port it listens on.
    #[getter]
    fn port(&self) -> u16 {
        self.server.port()
    }

    /// Stops serving; nodes, sessions and the port are kept for `restart`.
    fn stop(&self, py: Python<'_>) -> PyResult<()> {
        self.ask(py, |server| server.stop())
    }

    /// Serves again, on the same port, with all nodes and sessions.
    fn restart(&self, py: Python<'_>) -> PyResult<()> {
        self.ask(py, |server| server.restart())?.map_err(PyErr::from)
    }

    /// Stops for good; leaving the with statement does it too.
    fn shutdown(&self, py: Python<'_>) -> PyResult<()> {
        self.ask(py, |server| server.shutdown())
    }

    /// Ends a session as if its time had come; False when there is none of this id.
    fn expire(&self, py: Python<'_>, session_id: &Bound<'_, PyAny>) -> PyResult<bool> {
        let session_id = self::session_id("session_id", session_id)?;
        self.ask(py, |server| server.expire(session_id))
    }

    /// Breaks all connections; sessions live on.
    fn drop_connections(&self, py: Python<'_>) -> PyResult<()> {
        self.ask(py, |server| server.drop_connections())
    }

    /// Stops answering while connections stay up.
    fn pause(&self, py: Python<'_>) -> PyResult<()> {
        self.ask(py, |server| server.pause())
    }

    /// Answers again.
    fn resume(&self, py: Python<'_>) -> PyResult<()> {
        self.ask(py, |server| server.resume())
    }

    /// Stops the server's clock: no session expires.
    fn freeze_clock(&self, py: Python<'_>) -> PyResult<()> {
        self.ask(py, |server| server.freeze_clock())
    }

    /// Moves the server's clock forward, in seconds.
    fn advance_clock(&self, py: Python<'_>, seconds: &Bound<'_, PyAny>) -> PyResult<()> {
        let by: Duration = duration("seconds", seconds)?;
        self.ask(py, |server| server.advance_clock(by))
    }

    /// Lets the server's clock run again.
    fn thaw_clock(&self, py: Python<'_>) -> PyResult<()> {
        self.ask(py, |server| server.thaw_clock())
    }

    /// Sets the number that the next sequential child of `path` gets; False when there is no such node.
    fn set_next_sequence(
        &self,
        py: Python<'_>,
        path: &Bound<'_, PyAny>,
        next: &Bound<'_, PyAny>,
    ) -> PyResult<bool> {
        let (path, next) = (text("path", path)?, signed("next", next)?);
        self.ask(py, |server| server.set_next_sequence(&path, next))
    }

    /// Makes something go wrong once, such as "drop_after create2 path=/locks/** nth=2"; returns the fault's id.
    fn inject(&self, py: Python<'_>, fault: &Bound<'_, PyAny>) -> PyResult<u64> {
        let fault = text("fault", fault)?;
        match self.ask(py, |server| server.inject_text(&fault))? {
            Ok(id) => Ok(id.0),
            Err(problem) => Err(invalid(py, "fault", problem)),
        }
    }

    /// Whether an injected fault has happened.
    fn fault_fired(&self, py: Python<'_>, fault: &Bound<'_, PyAny>) -> PyResult<bool> {
        let id = FaultId(session_id("fault", fault)?);
        self.ask(py, |server| server.fault_fired(id))
    }

    /// Takes back all faults.
    fn clear_faults(&self, py: Python<'_>) -> PyResult<()> {
        self.ask(py, |server| server.clear_faults())
    }

    /// The requests that arrived, in order.
    fn log(&self, py: Python<'_>) -> PyResult<Vec<Py<PyAny>>> {
        let log = self.ask(py, |server| server.log())?;
        log.iter().map(|entry| convert::log_entry(py, entry)).collect()
    }

    /// Forgets the requests that arrived so far.
    fn clear_log(&self, py: Python<'_>) -> PyResult<()> {
        self.ask(py, |server| server.clear_log())
    }

    /// How many requests arrived of this operation (such as "create*") on paths that match.
    #[pyo3(signature = (op, path=None), text_signature = "($self, op, path='**')")]
    fn count(
        &self,
        py: Python<'_>,
        op: &Bound<'_, PyAny>,
        path: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<usize> {
        let op = text("op", op)?;
        let path = path.map_or(Ok("**".to_owned()), |path| text("path", path))?;
        self.ask(py, |server| server.count(&op, &path))
    }

    /// The paths of all nodes.
    fn nodes(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        self.ask(py, |server| server.dump_paths())
    }

    /// The ids of the sessions that live.
    fn sessions(&self, py: Python<'_>) -> PyResult<Vec<u64>> {
        self.ask(py, |server| server.sessions())
    }

    /// How many connections there are.
    fn connections(&self, py: Python<'_>) -> PyResult<usize> {
        self.ask(py, |server| server.connections())
    }

    /// How many watches are set.
    fn watch_count(&self, py: Python<'_>) -> PyResult<usize> {
        self.ask(py, |server| server.watch_count())
    }

    fn __repr__(&self) -> String {
        format!("<EmbeddedServer {}>", self.server.connect_string())
    }
}
