//! The embedded server.

use std::time::Duration;

use crate::face::Arg;
use crate::generated::docs::doc_of;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use zkrecipes_embedded::{Builder, Server};

use super::{Running, TestingBase};
use crate::convert::{self, duration, flag, signed, size, text};
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

/// The settings of a server or of an ensemble.
pub fn builder(py: Python<'_>, port: Option<Arg>, options: Option<&Bound<'_, PyDict>>) -> PyResult<Builder> {
    let mut builder = Server::builder();
    if let Some(port) = port {
        builder = builder.port(convert::port("port", port)?);
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
    Ok(builder)
}

#[doc = doc_of!(EmbeddedServer)]
#[pyclass(frozen, subclass, weakref, extends = TestingBase, module = "zkrecipes.testing")]
pub struct EmbeddedServer;

impl EmbeddedServer {
    /// Asks the server, or the ensemble as one.
    fn ask<T: Send>(slf: &Bound<'_, Self>, question: impl FnOnce(&Server) -> T + Send) -> PyResult<T> {
        slf.as_super().get().ask(slf.py(), |running| match running {
            Running::Server(server) => question(server),
            Running::Ensemble(ensemble) => question(ensemble.server()),
            Running::Proxy(_) => unreachable!("a proxy is no server"),
        })
    }
}

#[pymethods]
impl EmbeddedServer {
    #[new]
    #[pyo3(signature = (port=None, **options))]
    fn start(
        py: Python<'_>,
        port: Option<Arg>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<PyClassInitializer<Self>> {
        let builder = builder(py, port, options)?;
        let server = py.detach(|| builder.start())?;
        Ok(PyClassInitializer::from(TestingBase::new(Running::Server(server))).add_subclass(EmbeddedServer))
    }

    #[doc = doc_of!(EmbeddedServer.stop)]
    fn stop(slf: &Bound<'_, Self>) -> PyResult<()> {
        Self::ask(slf, |server| server.stop())
    }

    #[doc = doc_of!(EmbeddedServer.restart)]
    fn restart(slf: &Bound<'_, Self>) -> PyResult<()> {
        Self::ask(slf, |server| server.restart())?.map_err(PyErr::from)
    }

    #[doc = doc_of!(EmbeddedServer.expire)]
    fn expire(slf: &Bound<'_, Self>, session_id: Arg) -> PyResult<bool> {
        let session_id = convert::session_id("session_id", session_id)?;
        Self::ask(slf, |server| server.expire(session_id))
    }

    #[doc = doc_of!(EmbeddedServer.freeze_clock)]
    fn freeze_clock(slf: &Bound<'_, Self>) -> PyResult<()> {
        Self::ask(slf, |server| server.freeze_clock())
    }

    #[doc = doc_of!(EmbeddedServer.advance_clock)]
    fn advance_clock(slf: &Bound<'_, Self>, seconds: Arg) -> PyResult<()> {
        let by: Duration = duration("seconds", seconds)?;
        Self::ask(slf, |server| server.advance_clock(by))
    }

    #[doc = doc_of!(EmbeddedServer.thaw_clock)]
    fn thaw_clock(slf: &Bound<'_, Self>) -> PyResult<()> {
        Self::ask(slf, |server| server.thaw_clock())
    }

    #[doc = doc_of!(EmbeddedServer.set_next_sequence)]
    fn set_next_sequence(slf: &Bound<'_, Self>, path: Arg, next: Arg) -> PyResult<bool> {
        let (path, next) = (text("path", path)?, signed("next", next)?);
        Self::ask(slf, |server| server.set_next_sequence(&path, next))
    }

    #[doc = doc_of!(EmbeddedServer.nodes)]
    fn nodes(slf: &Bound<'_, Self>) -> PyResult<Vec<String>> {
        Self::ask(slf, |server| server.nodes())
    }

    #[doc = doc_of!(EmbeddedServer.watch_count)]
    fn watch_count(slf: &Bound<'_, Self>) -> PyResult<usize> {
        Self::ask(slf, |server| server.watch_count())
    }
}
