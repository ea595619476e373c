//! The proxy in front of a real server.

use std::io;

use crate::face::Arg;
use pyo3::prelude::*;

use super::{Running, TestingBase};
use crate::convert::{self, text};
use crate::errors::invalid;

/// Stands in front of a real server, named as `host:port`; passes everything through, and has the same faults and the
/// same request log as an `EmbeddedServer`.
///
/// >>> import zkrecipes
/// >>> from zkrecipes.testing import EmbeddedServer, Proxy
/// >>> with EmbeddedServer() as server, Proxy(server.connect_string) as proxy:
/// ...     fault = proxy.inject("drop_after create2 path=/a")
/// ...     with zkrecipes.Client(proxy.connect_string) as client, client.lock("/a/lock"):
/// ...         print(proxy.sessions() == server.sessions(), proxy.count("create*", "/a/**") > 0)
/// True True
#[pyclass(frozen, weakref, extends = TestingBase, module = "zkrecipes.testing")]
pub struct Proxy;

#[pymethods]
impl Proxy {
    #[new]
    fn start(py: Python<'_>, upstream: Arg) -> PyResult<PyClassInitializer<Self>> {
        let upstream = text("upstream", upstream)?;
        let started = py.detach(|| zkrecipes_embedded::Proxy::start(&upstream));
        let proxy = started.map_err(|error| match error.kind() {
            io::ErrorKind::InvalidInput => invalid(py, "upstream", error),
            _ => PyErr::from(error),
        })?;
        Ok(PyClassInitializer::from(TestingBase::new(Running::Proxy(proxy))).add_subclass(Proxy))
    }

    /// Ends a session for real, at the server: its ephemeral nodes go. False when none of this id went by. Waits for the
    /// server, and raises OSError when it does not answer.
    fn expire(slf: &Bound<'_, Self>, session_id: Arg) -> PyResult<bool> {
        let session_id = convert::session_id("session_id", session_id)?;
        let expired = slf.as_super().get().ask(slf.py(), |running| match running {
            Running::Proxy(proxy) => proxy.expire(session_id),
            _ => unreachable!("a proxy is made as one"),
        });
        Ok(expired??)
    }
}
