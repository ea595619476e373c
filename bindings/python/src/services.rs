//! Service discovery: a `Service` of Python on its way to the core, and an `Instance` on its way back. JSON is the affair of
//! Python's own `json`.

use pyo3::exceptions::{PyRecursionError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};
use zkrecipes::{Instance, Registration, Service};

use crate::answer::{Answer, value};
use crate::attach::{call, parked_if_unwound};
use crate::convert::{flag, port, text, word, wrong_type};
use crate::errors::{invalid, invalid_type};
use crate::face::{Answered, Arg};
use crate::generated::docs::doc_of;

/// A `zkrecipes.Service`, checked and copied.
pub fn service(given: Arg) -> PyResult<Service> {
    static TYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    if !given.is_instance(TYPE.import(given.py(), "zkrecipes._values", "Service")?)? {
        return Err(wrong_type("service", "a zkrecipes.Service", given));
    }
    let part = |name: &str| given.getattr(name);
    let mut made = Service::new(text("name", &part("name")?)?, text("address", &part("address")?)?);
    made.id = text("id", &part("id")?)?;
    made.service_type = word("type", &part("type")?)?;
    for name in ["port", "ssl_port", "payload", "uri_spec", "enabled"] {
        set(&mut made, name, &part(name)?)?;
    }
    Ok(made)
}

/// What a registration is to be, and the names of what changes; none if it is replaced as a whole.
pub fn changed(
    registration: &Registration,
    whole: Option<Service>,
    changes: Option<&Bound<'_, PyDict>>,
) -> PyResult<(Service, Option<Vec<String>>)> {
    let is_whole = whole.is_some();
    let mut service = whole.unwrap_or_else(|| registration.service());
    let mut names = Vec::new();
    for (name, value) in changes.into_iter().flatten() {
        let name = text("change", &name)?;
        if !set(&mut service, &name, &value)? {
            let known = "address, port, ssl_port, payload, uri_spec, enabled";
            let problem = format!("cannot be changed; there are {known}");
            return Err(invalid_type(value.py(), &name, problem));
        }
        names.push(name);
    }
    Ok((service, (!is_whole).then_some(names)))
}

/// False if there is nothing of that name that may change.
fn set(service: &mut Service, name: &str, value: Arg) -> PyResult<bool> {
    let is_given = !value.is_none();
    match name {
        "address" => service.address = text("address", value)?,
        "port" => service.port = is_given.then(|| port("port", value)).transpose()?,
        "ssl_port" => service.ssl_port = is_given.then(|| port("ssl_port", value)).transpose()?,
        "payload" => service.payload = is_given.then(|| to_json(value)).transpose()?,
        "uri_spec" => service.uri_spec = is_given.then(|| text("uri_spec", value)).transpose()?,
        "enabled" => service.enabled = flag("enabled", value)?,
        _ => return Ok(false),
    }
    Ok(true)
}

fn to_json(payload: Arg) -> PyResult<String> {
    let py = payload.py();
    let dumps = py.import("json")?.getattr("dumps")?;
    let written = parked_if_unwound(|| {
        let options = PyDict::new(py);
        options.set_item("allow_nan", false)?;
        dumps.call((payload,), Some(&options))
    });
    match written {
        Ok(json) => text("payload", &json),
        Err(failure) if failure.is_instance_of::<PyTypeError>(py) => {
            Err(invalid_type(py, "payload", format!("cannot be written as JSON: {}", failure.value(py))))
        }
        Err(failure) if failure.is_instance_of::<PyValueError>(py) => {
            Err(invalid(py, "payload", format!("cannot be written as JSON: {}", failure.value(py))))
        }
        Err(failure) => Err(failure),
    }
}

#[doc = doc_of!(FoundInstance)]
#[pyclass(frozen, module = "zkrecipes._native")]
pub struct FoundInstance(Instance);

#[pymethods]
impl FoundInstance {
    #[doc = doc_of!(FoundInstance.failed)]
    fn failed(&self) {
        self.0.failed();
    }

    /// A copy of an instance was found through the same object.
    fn __copy__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    fn __deepcopy__(slf: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        slf
    }

    /// In another process it is None.
    fn __reduce__<'py>(&self, py: Python<'py>) -> (Bound<'py, PyType>, Bound<'py, PyTuple>) {
        (py.None().bind(py).get_type(), PyTuple::empty(py))
    }
}

fn from_json<'py>(py: Python<'py>, payload: Option<&String>) -> PyResult<Bound<'py, PyAny>> {
    let Some(json) = payload else { return Ok(py.None().into_bound(py)) };
    let loads = py.import("json")?.getattr("loads")?;
    let arguments = PyTuple::new(py, [json])?;
    // It is JSON, but Python has limits of its own, such as how many digits a number may have and how deep it goes. One
    // payload must not keep anybody from the other instances.
    call(&loads, &arguments).or_else(|failure| {
        let is_limit =
            failure.is_instance_of::<PyValueError>(py) || failure.is_instance_of::<PyRecursionError>(py);
        match is_limit {
            true => Ok(json.into_pyobject(py)?.into_any()),
            false => Err(failure),
        }
    })
}

impl Answer for Service {
    fn answer(self, py: Python<'_>) -> Answered {
        let payload = from_json(py, self.payload.as_ref())?;
        let fields = (
            self.name,
            self.address,
            self.port,
            self.ssl_port,
            payload,
            self.service_type.name(),
            self.uri_spec,
            self.enabled,
            self.id,
        );
        value!(py, "Service", fields)
    }
}

impl Answer for Instance {
    fn answer(self, py: Python<'_>) -> Answered {
        let payload = from_json(py, self.payload.as_ref())?;
        let found = Py::new(py, FoundInstance(self.clone()))?;
        let fields = (
            self.name,
            self.id,
            self.address,
            self.port,
            self.ssl_port,
            payload,
            self.service_type.name(),
            self.uri_spec,
            self.enabled,
            self.registered_at,
            self.uri,
        );
        // What has found it is no field: who asks for these wants what the instance says.
        static FOUND: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
        let made = FOUND.import(py, "zkrecipes._values", "found_instance")?;
        let arguments = (fields, found).into_pyobject(py)?;
        Ok(call(made, &arguments)?.unbind())
    }
}
