//! Python values to the core's and back: the one place that names the argument at fault.

use std::str::FromStr;
use std::time::Duration;

use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyMemoryView, PyString, PyType};
use zkrecipes::{Contender, CreateMode, Error, Stat, State};
use zkrecipes_embedded::Outcome;

use crate::errors::{OrRaise, invalid, invalid_type};

fn wrong_type(argument: &str, wanted: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let got =
        value.get_type().name().map(|name| name.to_string()).unwrap_or_else(|_| "something else".into());
    invalid_type(value.py(), argument, format!("must be {wanted}, not {got}"))
}

pub fn text(argument: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    let Ok(string) = value.cast::<PyString>() else {
        return Err(wrong_type(argument, "a str", value));
    };
    match string.to_str() {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err(invalid(value.py(), argument, "has a lone surrogate, which UTF-8 cannot carry")),
    }
}

pub fn flag(argument: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    value
        .cast::<PyBool>()
        .map(|flag| flag.is_true())
        .map_err(|_| wrong_type(argument, "True or False", value))
}

/// A flag that may be left out.
pub fn flag_or(argument: &str, value: Option<&Bound<'_, PyAny>>, default: bool) -> PyResult<bool> {
    value.map_or(Ok(default), |value| flag(argument, value))
}

fn integer<'py, T: FromPyObjectOwned<'py>>(
    argument: &str,
    wanted: &str,
    value: &Bound<'py, PyAny>,
) -> PyResult<T> {
    value.extract::<T>().map_err(|failure| {
        let failure: PyErr = failure.into();
        if failure.is_instance_of::<PyTypeError>(value.py()) {
            wrong_type(argument, wanted, value)
        } else {
            invalid(value.py(), argument, format!("must be {wanted}"))
        }
    })
}

pub fn count(argument: &str, value: &Bound<'_, PyAny>) -> PyResult<u32> {
    integer(argument, "an int from 0 to 4294967295", value)
}

pub fn session_id(argument: &str, value: &Bound<'_, PyAny>) -> PyResult<u64> {
    integer(argument, "an unsigned 64 bit int", value)
}

pub fn signed(argument: &str, value: &Bound<'_, PyAny>) -> PyResult<i32> {
    integer(argument, "a signed 32 bit int", value)
}

pub fn port(argument: &str, value: &Bound<'_, PyAny>) -> PyResult<u16> {
    integer(argument, "a port from 0 to 65535", value)
}

pub fn size(argument: &str, value: &Bound<'_, PyAny>) -> PyResult<usize> {
    integer(argument, "an int that is not negative", value)
}

/// A number of permits. True is an int to Python, but nobody's number of permits.
pub fn permits(argument: &str, value: &Bound<'_, PyAny>) -> PyResult<usize> {
    if value.is_instance_of::<PyBool>() {
        return Err(wrong_type(argument, "an int", value));
    }
    integer(argument, "an int that is at least 1", value)
}

pub fn permits_or(argument: &str, value: Option<&Bound<'_, PyAny>>, default: usize) -> PyResult<usize> {
    value.map_or(Ok(default), |value| permits(argument, value))
}

/// A node's version to check; `None` (or the wire's −1) is any.
pub fn version(argument: &str, value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<i32>> {
    value
        .map(|value| signed(argument, value))
        .transpose()
        .map(|version| version.filter(|&version| version != -1))
}

fn number(argument: &str, value: &Bound<'_, PyAny>) -> PyResult<f64> {
    value.extract::<f64>().map_err(|failure| {
        if failure.is_instance_of::<PyOverflowError>(value.py()) {
            invalid(value.py(), argument, "is too large a number of seconds")
        } else {
            wrong_type(argument, "a number of seconds or None", value)
        }
    })
}

/// Seconds to wait at most; `None` is for ever.
pub fn limit(argument: &str, value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Duration>> {
    seconds(argument, value, false)
}

/// The same for locks, which take −1 for ever as `threading` does.
pub fn lock_limit(argument: &str, value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<Duration>> {
    seconds(argument, value, true)
}

fn seconds(
    argument: &str,
    value: Option<&Bound<'_, PyAny>>,
    minus_one_is_forever: bool,
) -> PyResult<Option<Duration>> {
    let Some(value) = value else { return Ok(None) };
    zkrecipes::time::from_seconds(argument, number(argument, value)?, minus_one_is_forever)
        .or_raise(value.py())
}

/// A duration that has to end: an option such as `session_timeout`.
pub fn duration(argument: &str, value: &Bound<'_, PyAny>) -> PyResult<Duration> {
    match zkrecipes::time::from_seconds(argument, number(argument, value)?, false) {
        Ok(Some(duration)) => Ok(duration),
        _ => Err(invalid(value.py(), argument, "must be a finite number of seconds, not negative")),
    }
}

/// Bytes as they are, text as UTF-8.
pub fn payload(argument: &str, value: &Bound<'_, PyAny>) -> PyResult<Vec<u8>> {
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(bytes.as_bytes().to_vec());
    }
    if value.is_instance_of::<PyString>() {
        return text(argument, value).map(String::into_bytes);
    }
    if let Ok(bytes) = value.cast::<PyByteArray>() {
        return Ok(bytes.to_vec());
    }
    if value.is_instance_of::<PyMemoryView>() {
        let bytes = value.py().get_type::<PyBytes>().call1((value,))?;
        return Ok(bytes.cast::<PyBytes>()?.as_bytes().to_vec());
    }
    Err(wrong_type(argument, "bytes or a str", value))
}

/// One of a few words: `"curator"`, `"ephemeral"`, …
pub fn word<T: FromStr<Err = Error>>(argument: &str, value: &Bound<'_, PyAny>) -> PyResult<T> {
    text(argument, value)?.parse().or_raise(value.py())
}

pub fn create_mode(value: Option<&Bound<'_, PyAny>>) -> PyResult<CreateMode> {
    value.map_or(Ok(CreateMode::Persistent), |value| word("mode", value))
}

pub fn callback(argument: &str, value: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
    if value.is_callable() {
        Ok(value.clone().unbind())
    } else {
        Err(wrong_type(argument, "callable", value))
    }
}

/// All items of an iterable; `item` answers None to what does not belong.
pub fn each<T>(
    argument: &str,
    wanted: &str,
    value: &Bound<'_, PyAny>,
    item: impl Fn(&Bound<'_, PyAny>) -> Option<T>,
) -> PyResult<Vec<T>> {
    let items = value.try_iter().map_err(|_| wrong_type(argument, wanted, value))?;
    items
        .map(|one| {
            let one = one?;
            item(&one).ok_or_else(|| wrong_type(argument, &format!("{wanted} only"), &one))
        })
        .collect()
}

// The small value types live in zkrecipes/_values.py, where they can be NamedTuples and a str-enum.
fn value_type<'py>(
    py: Python<'py>,
    cell: &'static PyOnceLock<Py<PyType>>,
    name: &str,
) -> PyResult<&'py Bound<'py, PyType>> {
    cell.import(py, "zkrecipes._values", name)
}

pub fn state(py: Python<'_>, state: State) -> PyResult<Py<PyAny>> {
    static TYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    Ok(value_type(py, &TYPE, "State")?.call1((state.name(),))?.unbind())
}

pub fn stat(py: Python<'_>, stat: &Stat) -> PyResult<Py<PyAny>> {
    static TYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let fields = (
        stat.czxid,
        stat.mzxid,
        stat.ctime,
        stat.mtime,
        stat.version,
        stat.cversion,
        stat.aversion,
        stat.ephemeral_owner,
        stat.data_length,
        stat.num_children,
        stat.pzxid,
    );
    Ok(value_type(py, &TYPE, "Stat")?.call1(fields)?.unbind())
}

fn contender(py: Python<'_>, one: Contender) -> PyResult<Py<PyAny>> {
    static TYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let fields = (one.node, one.identity, one.kind, one.session_id, one.since, one.holds);
    Ok(value_type(py, &TYPE, "Contender")?.call1(fields)?.unbind())
}

pub fn contenders(py: Python<'_>, all: Vec<Contender>) -> PyResult<Py<PyAny>> {
    let all = all.into_iter().map(|one| contender(py, one)).collect::<PyResult<Vec<_>>>()?;
    Ok(all.into_pyobject(py)?.unbind())
}

/// A contender's node: its name, or the contender as it was listed.
pub fn contender_node(argument: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    static TYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    if value.is_instance(value_type(value.py(), &TYPE, "Contender")?)? {
        return text(argument, &value.getattr("node")?);
    }
    if value.is_instance_of::<PyString>() {
        return text(argument, value);
    }
    Err(wrong_type(argument, "a Contender or the name of its node", value))
}

pub fn truth(py: Python<'_>, truth: bool) -> PyResult<Py<PyAny>> {
    Ok(truth.into_pyobject(py)?.to_owned().into_any().unbind())
}

pub fn log_entry(py: Python<'_>, entry: &zkrecipes_embedded::LogEntry) -> PyResult<Py<PyAny>> {
    static TYPE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let outcome = match entry.outcome {
        Outcome::Answered => "answered",
        Outcome::Unanswered => "unanswered",
        Outcome::Lost => "lost",
    };
    let fields = (
        entry.connection,
        entry.session_id,
        entry.xid,
        entry.op,
        &entry.path,
        &entry.parts,
        entry.zxid,
        entry.error,
        entry.bytes_in,
        entry.bytes_out,
        outcome,
    );
    Ok(value_type(py, &TYPE, "LogEntry")?.call1(fields)?.unbind())
}
