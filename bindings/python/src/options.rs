//! What keyword options are made of. An option that does not exist is named, with those that do. The options themselves are in
//! `generated`, of `api/`.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use zkrecipes::{AclChoice, AclEntry, Auth};

use crate::convert::{payload, text};
use crate::errors::{invalid, invalid_type};
use crate::face::Arg;

pub fn unknown(py: Python<'_>, name: &str, known: &[&str]) -> PyErr {
    invalid_type(py, name, format!("there is no such option; the options are {}", known.join(", ")))
}

/// Calls `set` for each option given, all of which have to be known; `None` is the default everywhere.
pub fn keywords<'py>(
    options: Option<&Bound<'py, PyDict>>,
    known: &[&str],
    mut set: impl FnMut(&str, Arg<'_, 'py>) -> PyResult<()>,
) -> PyResult<()> {
    for (name, value) in options.into_iter().flatten() {
        let name = text("option", &name)?;
        match () {
            () if !known.contains(&name.as_str()) => return Err(unknown(value.py(), &name, known)),
            () if value.is_none() => {}
            () => set(&name, &value)?,
        }
    }
    Ok(())
}

/// The same of an option that is a dict of its own.
pub fn table<'py>(
    argument: &str,
    value: Arg<'_, 'py>,
    known: &[&str],
    set: impl FnMut(&str, Arg<'_, 'py>) -> PyResult<()>,
) -> PyResult<()> {
    let given = value.cast::<PyDict>().map_err(|_| {
        invalid_type(value.py(), argument, format!("must be a dict with {}", known.join(", ")))
    })?;
    // A copy: its owner may change it meanwhile, on another thread.
    let given = &given.copy()?;
    for name in given.keys() {
        let name = text("option", &name)?;
        if !known.contains(&name.as_str()) {
            return Err(unknown(value.py(), &format!("{argument}.{name}"), known));
        }
    }
    keywords(Some(given), known, set)
}

/// The texts of a dict that has to have all of them.
pub fn needed(argument: &str, value: Arg, known: &[&str]) -> PyResult<Vec<String>> {
    table(argument, value, known, |_, _| Ok(()))?;
    let field = |name: &&str| match value.get_item(name) {
        Ok(given) => text(&format!("{argument}.{name}"), &given),
        Err(_) => Err(invalid(value.py(), &format!("{argument}.{name}"), "is missing")),
    };
    known.iter().map(field).collect()
}

fn items<'py>(value: &Bound<'py, PyAny>) -> Option<Vec<Bound<'py, PyAny>>> {
    if let Ok(tuple) = value.cast::<PyTuple>() {
        return Some(tuple.iter().collect());
    }
    value.cast::<PyList>().ok().map(|list| list.iter().collect())
}

pub fn auth(value: Arg) -> PyResult<Vec<Auth>> {
    let problem =
        || invalid_type(value.py(), "auth", "must be a pair (scheme, credential) or a list of such pairs");
    let one = |pair: &[Bound<'_, PyAny>]| match pair {
        [scheme, credential] => Ok(Auth::new(text("auth", scheme)?, payload("auth", credential)?)),
        _ => Err(problem()),
    };
    let given = items(value).ok_or_else(problem)?;
    if given.first().is_some_and(|first| first.is_instance_of::<PyString>()) {
        return Ok(vec![one(&given)?]);
    }
    given.iter().map(|pair| one(&items(pair).ok_or_else(problem)?)).collect()
}

pub fn acl(value: Arg) -> PyResult<AclChoice> {
    if value.is_instance_of::<PyString>() {
        return match text("acl", value)?.as_str() {
            "open" => Ok(AclChoice::Open),
            "creator" => Ok(AclChoice::Creator),
            other => Err(invalid(value.py(), "acl", format!("{other:?} is not one of open, creator"))),
        };
    }
    let problem = || {
        invalid_type(
            value.py(),
            "acl",
            "must be \"open\", \"creator\" or a list of (scheme, id, permissions)",
        )
    };
    let entry = |entry: Arg| match items(entry).ok_or_else(problem)?.as_slice() {
        [scheme, id, permissions] => {
            Ok(AclEntry::new(text("acl", scheme)?, text("acl", id)?, text("acl", permissions)?))
        }
        _ => Err(problem()),
    };
    Ok(AclChoice::List(items(value).ok_or_else(problem)?.iter().map(entry).collect::<PyResult<_>>()?))
}
