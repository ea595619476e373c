//! The core's error table as Python exceptions, made once from `ErrorKind::ALL`.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use pyo3::exceptions as builtin;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};
use zkrecipes::{Error, ErrorKind};

use crate::generated::docs::doc_of;

struct Classes {
    base: Py<PyType>,
    by_kind: HashMap<ErrorKind, Py<PyType>>,
    invalid_type: Py<PyType>,
}

static CLASSES: PyOnceLock<Classes> = PyOnceLock::new();

/// What a Python programmer who has never read our documentation would catch.
fn builtin_base<'py>(py: Python<'py>, kind: ErrorKind) -> Option<Bound<'py, PyType>> {
    match kind {
        // --- generated from api: built-in exceptions
        ErrorKind::Timeout => Some(py.get_type::<builtin::PyTimeoutError>()),
        ErrorKind::ConnectionLost => Some(py.get_type::<builtin::PyConnectionError>()),
        ErrorKind::NotHeld | ErrorKind::Deadlock => Some(py.get_type::<builtin::PyRuntimeError>()),
        ErrorKind::Denied => Some(py.get_type::<builtin::PyPermissionError>()),
        ErrorKind::Invalid | ErrorKind::TooLarge => Some(py.get_type::<builtin::PyValueError>()),
        // --- end of generated
        _ => None,
    }
}

fn class<'py>(
    py: Python<'py>,
    name: &str,
    bases: &[&Bound<'py, PyType>],
    doc: &str,
    attributes: &[(&str, Bound<'py, PyAny>)],
) -> PyResult<Bound<'py, PyType>> {
    let body = PyDict::new(py);
    body.set_item("__module__", "zkrecipes")?;
    body.set_item("__doc__", doc)?;
    for (attribute, value) in attributes {
        body.set_item(attribute, value)?;
    }
    Ok(py.get_type::<PyType>().call1((name, PyTuple::new(py, bases)?, body))?.cast_into()?)
}

/// Adds `Error` and one class per kind to the module.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    let text = |value: &str| value.into_pyobject(py).map(|text| text.into_any());
    let none = || py.None().into_bound(py);
    let base = class(
        py,
        "Error",
        &[&py.get_type::<builtin::PyException>()],
        doc_of!(Error),
        &[
            ("code", text("ERROR")?),
            ("retryable", false.into_pyobject(py)?.to_owned().into_any()),
            ("path", none()),
            ("put", none()),
        ],
    )?;
    module.add("Error", &base)?;

    let mut by_kind = HashMap::new();
    for &kind in ErrorKind::ALL {
        let mut bases = vec![&base];
        let also = builtin_base(py, kind);
        bases.extend(&also);
        let mut attributes = vec![
            ("code", text(kind.name())?),
            ("retryable", kind.is_retryable().into_pyobject(py)?.to_owned().into_any()),
        ];
        if kind == ErrorKind::Lost {
            attributes.push(("reason", none()));
        }
        let class = class(py, kind.python_name(), &bases, kind.sentence(), &attributes)?;
        module.add(kind.python_name(), &class)?;
        by_kind.insert(kind, class.unbind());
    }

    let invalid_type = class(
        py,
        "InvalidType",
        &[by_kind[&ErrorKind::Invalid].bind(py), &py.get_type::<builtin::PyTypeError>()],
        doc_of!(InvalidType),
        &[],
    )?;
    module.add("InvalidType", &invalid_type)?;
    CLASSES.get_or_init(py, || Classes { base: base.unbind(), by_kind, invalid_type: invalid_type.unbind() });
    Ok(())
}

/// The core's error as the exception to raise.
pub fn exception(py: Python<'_>, error: &Error) -> PyErr {
    let make = || -> PyResult<PyErr> {
        let classes = CLASSES.get(py).expect("the classes are made when the module is imported");
        let exception = classes.by_kind[&error.kind()].bind(py).call1((error.to_string(),))?;
        if let Some(path) = error.path() {
            exception.setattr("path", path)?;
        }
        if let Some(put) = error.put() {
            exception.setattr("put", put)?;
        }
        if let Some(reason) = error.reason() {
            exception.setattr("reason", reason.name())?;
        }
        Ok(PyErr::from_value(exception))
    };
    make().unwrap_or_else(|failure| failure)
}

/// Invalid that is a TypeError too: what Python programmers expect for a wrong type or an unknown keyword.
pub fn invalid_type(py: Python<'_>, argument: &str, problem: impl std::fmt::Display) -> PyErr {
    let message = Error::invalid(argument, problem).to_string();
    let classes = CLASSES.get(py).expect("the classes are made when the module is imported");
    match classes.invalid_type.bind(py).call1((message,)) {
        Ok(exception) => PyErr::from_value(exception),
        Err(failure) => failure,
    }
}

pub fn invalid(py: Python<'_>, argument: &str, problem: impl std::fmt::Display) -> PyErr {
    exception(py, &Error::invalid(argument, problem))
}

/// What leaving a scope raises. An error of the scope's body is never masked by one of ours; what a signal's handler raised
/// meanwhile stands.
pub fn unmasked(py: Python<'_>, body_failed: bool, left: PyResult<()>) -> PyResult<()> {
    // Not the interpreter's own business, such as KeyboardInterrupt.
    let is_ours =
        |raised: &PyErr| CLASSES.get(py).is_some_and(|classes| raised.is_instance(py, classes.base.bind(py)));
    left.or_else(|raised| if body_failed && is_ours(&raised) { Ok(()) } else { Err(raised) })
}

pub trait OrRaise<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for Result<T, Error> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| exception(py, &error))
    }
}

/// Calls into the core. A panic, which is a bug of ours, arrives as InternalError: as PyO3's PanicException it would pass
/// every `except Exception`.
pub fn guard<T>(call: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| {
        let what = panic.downcast_ref::<String>().map(String::as_str);
        let what = what.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
        Err(Error::new(ErrorKind::Internal, format!("a bug in zkrecipes, please report it: {what}")))
    })
}
