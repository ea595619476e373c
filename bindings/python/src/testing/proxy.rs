//! The proxy in front of a real server.

use std::io;

use crate::face::Arg;
use crate::generated::docs::doc_of;
use pyo3::prelude::*;

use super::{Running, TestingBase};
use crate::convert::{self, text};
use crate::errors::invalid;

#[doc = doc_of!(Proxy)]
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

    #[doc = doc_of!(Proxy.expire)]
    fn expire(slf: &Bound<'_, Self>, session_id: Arg) -> PyResult<bool> {
        let session_id = convert::session_id("session_id", session_id)?;
        let expired = slf.as_super().get().ask(slf.py(), |running| match running {
            Running::Proxy(proxy) => proxy.expire(session_id),
            _ => unreachable!("a proxy is made as one"),
        });
        Ok(expired??)
    }
}
