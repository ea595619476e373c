//! Python values to the core's: the one place that names the argument at fault. The way back is in `answer`.

use std::str::FromStr;
use std::time::Duration;

use pyo3::exceptions::{PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyByteArray, PyBytes, PyInt, PyIterator, PyMemoryView, PyString};
use zkrecipes::{CreateMode, Error};

use crate::answer::is_contender;
use crate::errors::{OrRaise, invalid, invalid_type};
use crate::face::{Answered, Arg};

pub fn wrong_type(argument: &str, wanted: &str, value: Arg) -> PyErr {
    let got =
        value.get_type().name().map(|name| name.to_string()).unwrap_or_else(|_| "something else".into());
    invalid_type(value.py(), argument, format!("must be {wanted}, not {got}"))
}

pub fn text(argument: &str, value: Arg) -> PyResult<String> {
    let Ok(string) = value.cast::<PyString>() else {
        return Err(wrong_type(argument, "a str", value));
    };
    match string.to_str() {
        Ok(text) => Ok(text.to_owned()),
        Err(_) => Err(invalid(value.py(), argument, "has a lone surrogate, which UTF-8 cannot carry")),
    }
}

pub fn flag(argument: &str, value: Arg) -> PyResult<bool> {
    value
        .cast::<PyBool>()
        .map(|flag| flag.is_true())
        .map_err(|_| wrong_type(argument, "True or False", value))
}

/// A flag that may be left out.
pub fn flag_or(argument: &str, value: Option<Arg>, default: bool) -> PyResult<bool> {
    value.map_or(Ok(default), |value| flag(argument, value))
}

/// True and False are numbers to Python, but nobody means them: a flag has slipped into another argument's place.
fn refuse_flag(argument: &str, wanted: &str, value: Arg) -> PyResult<()> {
    match value.is_instance_of::<PyBool>() {
        true => Err(wrong_type(argument, wanted, value)),
        false => Ok(()),
    }
}

/// Whether this says that a value is no number that was asked for. Whatever else its methods raise, such as the
/// `KeyboardInterrupt` of a handler, is not about that.
fn is_refusal(py: Python<'_>, failure: &PyErr) -> bool {
    failure.is_instance_of::<PyTypeError>(py)
        || failure.is_instance_of::<PyValueError>(py)
        || failure.is_instance_of::<PyOverflowError>(py)
}

fn integer<'py, T: FromPyObjectOwned<'py>>(
    argument: &str,
    wanted: &str,
    value: &Bound<'py, PyAny>,
) -> PyResult<T> {
    refuse_flag(argument, wanted, value)?;
    value.extract::<T>().map_err(|failure| {
        let failure: PyErr = failure.into();
        if !is_refusal(value.py(), &failure) {
            failure
        } else if failure.is_instance_of::<PyTypeError>(value.py()) {
            wrong_type(argument, wanted, value)
        } else {
            invalid(value.py(), argument, format!("must be {wanted}"))
        }
    })
}

pub fn count(argument: &str, value: Arg) -> PyResult<u32> {
    integer(argument, "an int from 0 to 4294967295", value)
}

pub fn session_id(argument: &str, value: Arg) -> PyResult<u64> {
    integer(argument, "an unsigned 64 bit int", value)
}

pub fn signed(argument: &str, value: Arg) -> PyResult<i32> {
    integer(argument, "a signed 32 bit int", value)
}

/// A number that is counted with.
pub fn long(argument: &str, value: Arg) -> PyResult<i64> {
    integer(argument, "a signed 64 bit int", value)
}

pub fn port(argument: &str, value: Arg) -> PyResult<u16> {
    integer(argument, "a port from 0 to 65535", value)
}

pub fn size(argument: &str, value: Arg) -> PyResult<usize> {
    integer(argument, "an int that is not negative", value)
}

/// A number of permits.
pub fn permits(argument: &str, value: Arg) -> PyResult<usize> {
    integer(argument, "an int that is at least 1", value)
}

pub fn permits_or(argument: &str, value: Option<Arg>, default: usize) -> PyResult<usize> {
    value.map_or(Ok(default), |value| permits(argument, value))
}

/// A node's version to check; `None` (or the wire's −1) is any.
pub fn version(argument: &str, value: Option<Arg>) -> PyResult<Option<i32>> {
    value
        .map(|value| signed(argument, value))
        .transpose()
        .map(|version| version.filter(|&version| version != -1))
}

fn number(argument: &str, wanted: &str, value: Arg) -> PyResult<f64> {
    refuse_flag(argument, wanted, value)?;
    value.extract::<f64>().map_err(|failure| {
        if !is_refusal(value.py(), &failure) {
            failure
        } else if failure.is_instance_of::<PyOverflowError>(value.py()) {
            invalid(value.py(), argument, "is too large a number of seconds")
        } else {
            wrong_type(argument, wanted, value)
        }
    })
}

/// Seconds to wait at most; `None` is for ever, and so is −1, as in `threading`.
pub fn limit(argument: &str, value: Option<Arg>) -> PyResult<Option<Duration>> {
    seconds(argument, value, true)
}

/// Seconds after which something is done; `None` is never.
pub fn patience(argument: &str, value: Option<Arg>) -> PyResult<Option<Duration>> {
    seconds(argument, value, false)
}

fn seconds(argument: &str, value: Option<Arg>, minus_one_is_forever: bool) -> PyResult<Option<Duration>> {
    let Some(value) = value else { return Ok(None) };
    let seconds = number(argument, "a number of seconds or None", value)?;
    zkrecipes::time::from_seconds(argument, seconds, minus_one_is_forever).or_raise(value.py())
}

/// A duration that has to end: an option such as `session_timeout`.
pub fn duration(argument: &str, value: Arg) -> PyResult<Duration> {
    let seconds = number(argument, "a number of seconds", value)?;
    zkrecipes::time::finite_seconds(argument, seconds).or_raise(value.py())
}

/// Bytes as they are, text as UTF-8.
pub fn payload(argument: &str, value: Arg) -> PyResult<Vec<u8>> {
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

/// What goes through an iterable.
pub fn items_of<'py>(
    argument: &str,
    wanted: &str,
    value: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyIterator>> {
    value.try_iter().map_err(|failure| match failure.is_instance_of::<PyTypeError>(value.py()) {
        true => wrong_type(argument, wanted, value),
        false => failure,
    })
}

/// Several of them.
pub fn payloads(argument: &str, value: Arg) -> PyResult<Vec<Vec<u8>>> {
    let wanted = "an iterable of bytes and str";
    // Of which each character would be one.
    if payload(argument, value).is_ok() {
        return Err(wrong_type(argument, wanted, value));
    }
    let items = items_of(argument, wanted, value)?;
    items.map(|item| payload(argument, &item?)).collect()
}

/// Several names.
pub fn texts(argument: &str, value: Arg) -> PyResult<Vec<String>> {
    let wanted = "an iterable of str";
    // Of which each character would be one.
    if payload(argument, value).is_ok() {
        return Err(wrong_type(argument, wanted, value));
    }
    let items = items_of(argument, wanted, value)?;
    items.map(|item| text(argument, &item?)).collect()
}

/// Whether it counts, and has no items: a number of another library's, which is no `int`.
fn is_number_only(value: Arg) -> PyResult<bool> {
    if !value.hasattr("__index__")? {
        return Ok(false);
    }
    match value.try_iter() {
        Ok(_) => Ok(false),
        Err(failure) if failure.is_instance_of::<PyTypeError>(value.py()) => Ok(true),
        Err(failure) => Err(failure),
    }
}

/// Names of partitions, or how many.
pub fn partitions(argument: &str, value: Arg) -> PyResult<zkrecipes::Partitions> {
    if value.is_instance_of::<PyInt>() || is_number_only(value)? {
        return size(argument, value).map(Into::into);
    }
    texts(argument, value).map(Into::into)
}

/// The same for `data` that may be left out.
pub fn payload_or_empty(data: Option<Arg>) -> PyResult<Vec<u8>> {
    data.map_or(Ok(Vec::new()), |data| payload("data", data))
}

/// One of a few words: `"curator"`, `"ephemeral"`, …
pub fn word<T: FromStr<Err = Error>>(argument: &str, value: Arg) -> PyResult<T> {
    text(argument, value)?.parse().or_raise(value.py())
}

/// The same, which may be left out.
pub fn word_or<T: FromStr<Err = Error> + Default>(argument: &str, value: Option<Arg>) -> PyResult<T> {
    value.map_or_else(|| Ok(T::default()), |value| word(argument, value))
}

/// What kind of node to create, and how long it may stand unused.
pub fn create_mode(mode: Option<Arg>, ttl: Option<Arg>) -> PyResult<CreateMode> {
    let mode = mode.map_or(Ok(CreateMode::Persistent), |mode| word("mode", mode))?;
    match ttl {
        None => Ok(mode),
        Some(value) => mode.with_ttl(duration("ttl", value)?).or_raise(value.py()),
    }
}

pub fn callback(argument: &str, value: Arg) -> Answered {
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
    value: Arg,
    item: impl Fn(&Bound<'_, PyAny>) -> Option<T>,
) -> PyResult<Vec<T>> {
    let items = items_of(argument, wanted, value)?;
    items
        .map(|one| {
            let one = one?;
            item(&one).ok_or_else(|| wrong_type(argument, &format!("{wanted} only"), &one))
        })
        .collect()
}

/// A contender's node: its name, or the contender as it was listed.
pub fn contender_node(argument: &str, value: Arg) -> PyResult<String> {
    if is_contender(value)? {
        return text(argument, &value.getattr("node")?);
    }
    if value.is_instance_of::<PyString>() {
        return text(argument, value);
    }
    Err(wrong_type(argument, "a Contender or the name of its node", value))
}
