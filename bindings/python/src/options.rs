//! Keyword options to the core's option structs. An option that does not exist is named, with those that do.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use zkrecipes::{
    AclChoice, AclEntry, Auth, ClientOptions, LockOptions, RetryOptions, SaslOptions, TlsOptions,
};

use crate::convert::{count, duration, flag, flag_or, payload, text, word};
use crate::errors::{invalid, invalid_type};

const CLIENT: &[&str] = &[
    "session_timeout",
    "connect_timeout",
    "identity",
    "auth",
    "acl",
    "tls",
    "sasl",
    "naming",
    "retry",
    "lease",
    "read_only",
];

pub fn unknown(py: Python<'_>, name: &str, known: &[&str]) -> PyErr {
    invalid_type(py, name, format!("there is no such option; the options are {}", known.join(", ")))
}

/// Calls `set` for each option given; `None` is the default everywhere.
fn each<'py>(
    options: &Bound<'py, PyDict>,
    mut set: impl FnMut(&str, &Bound<'py, PyAny>) -> PyResult<()>,
) -> PyResult<()> {
    for (name, value) in options {
        let name = text("option", &name)?;
        set(&name, &value)?;
    }
    Ok(())
}

pub fn client(options: Option<&Bound<'_, PyDict>>) -> PyResult<ClientOptions> {
    let mut made = ClientOptions::default();
    let Some(options) = options else { return Ok(made) };
    each(options, |name, value| {
        if !CLIENT.contains(&name) {
            return Err(unknown(value.py(), name, CLIENT));
        }
        if value.is_none() {
            return Ok(());
        }
        match name {
            "session_timeout" => made.session_timeout = duration(name, value)?,
            "connect_timeout" => made.connect_timeout = duration(name, value)?,
            "identity" => made.identity = Some(text(name, value)?),
            "auth" => made.auth = auth(value)?,
            "acl" => made.acl = acl(value)?,
            "tls" => made.tls = Some(tls(value)?),
            "sasl" => made.sasl = Some(sasl(value)?),
            "naming" => made.naming = word(name, value)?,
            "retry" => made.retry = retry(value)?,
            "lease" => made.lease = word(name, value)?,
            "read_only" => made.read_only = flag(name, value)?,
            _ => unreachable!("the names were checked against the table"),
        }
        Ok(())
    })?;
    Ok(made)
}

pub fn lock(
    reentrant: Option<&Bound<'_, PyAny>>,
    local_handoff: Option<&Bound<'_, PyAny>>,
    others: Option<&Bound<'_, PyDict>>,
) -> PyResult<LockOptions> {
    if let Some(others) = others {
        each(others, |name, value| Err(unknown(value.py(), name, &["reentrant", "local_handoff"])))?;
    }
    Ok(LockOptions {
        reentrant: flag_or("reentrant", reentrant, false)?,
        local_handoff: local_handoff.map_or(Ok(0), |value| count("local_handoff", value))?,
    })
}

fn items<'py>(value: &Bound<'py, PyAny>) -> Option<Vec<Bound<'py, PyAny>>> {
    if let Ok(tuple) = value.cast::<PyTuple>() {
        return Some(tuple.iter().collect());
    }
    value.cast::<PyList>().ok().map(|list| list.iter().collect())
}

fn auth(value: &Bound<'_, PyAny>) -> PyResult<Vec<Auth>> {
    let problem =
        || invalid_type(value.py(), "auth", "must be a pair (scheme, credential) or a list of such pairs");
    let one = |pair: &[Bound<'_, PyAny>]| match pair {
        [scheme, credential] => {
            Ok(Auth { scheme: text("auth", scheme)?, credential: payload("auth", credential)? })
        }
        _ => Err(problem()),
    };
    let given = items(value).ok_or_else(problem)?;
    if given.first().is_some_and(|first| first.is_instance_of::<PyString>()) {
        return Ok(vec![one(&given)?]);
    }
    given.iter().map(|pair| one(&items(pair).ok_or_else(problem)?)).collect()
}

fn acl(value: &Bound<'_, PyAny>) -> PyResult<AclChoice> {
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
    let entry = |entry: &Bound<'_, PyAny>| match items(entry).ok_or_else(problem)?.as_slice() {
        [scheme, id, permissions] => Ok(AclEntry {
            scheme: text("acl", scheme)?,
            id: text("acl", id)?,
            permissions: text("acl", permissions)?,
        }),
        _ => Err(problem()),
    };
    Ok(AclChoice::List(items(value).ok_or_else(problem)?.iter().map(entry).collect::<PyResult<_>>()?))
}

fn table<'a, 'py>(
    argument: &str,
    value: &'a Bound<'py, PyAny>,
    known: &[&str],
) -> PyResult<&'a Bound<'py, PyDict>> {
    let table = value.cast::<PyDict>().map_err(|_| {
        invalid_type(value.py(), argument, format!("must be a dict with {}", known.join(", ")))
    })?;
    each(table, |name, value| {
        let named = format!("{argument}.{name}");
        if known.contains(&name) { Ok(()) } else { Err(unknown(value.py(), &named, known)) }
    })?;
    Ok(table)
}

fn tls(value: &Bound<'_, PyAny>) -> PyResult<TlsOptions> {
    let mut made = TlsOptions { ca: None, cert: None, key: None, verify_hostname: true };
    each(table("tls", value, &["ca", "cert", "key", "verify_hostname"])?, |name, value| {
        if value.is_none() {
            return Ok(());
        }
        match name {
            "ca" => made.ca = Some(text("tls.ca", value)?),
            "cert" => made.cert = Some(text("tls.cert", value)?),
            "key" => made.key = Some(text("tls.key", value)?),
            _ => made.verify_hostname = flag("tls.verify_hostname", value)?,
        }
        Ok(())
    })?;
    Ok(made)
}

fn sasl(value: &Bound<'_, PyAny>) -> PyResult<SaslOptions> {
    let table = table("sasl", value, &["user", "password"])?;
    let field = |name: &str| match table.get_item(name)? {
        Some(value) => text(&format!("sasl.{name}"), &value),
        None => Err(invalid(value.py(), &format!("sasl.{name}"), "is missing")),
    };
    Ok(SaslOptions { user: field("user")?, password: field("password")? })
}

fn retry(value: &Bound<'_, PyAny>) -> PyResult<RetryOptions> {
    let mut made = RetryOptions::default();
    each(table("retry", value, &["base", "max", "give_up_after"])?, |name, value| {
        if value.is_none() {
            return Ok(());
        }
        match name {
            "base" => made.base = duration("retry.base", value)?,
            "max" => made.max = duration("retry.max", value)?,
            _ => made.give_up_after = Some(duration("retry.give_up_after", value)?),
        }
        Ok(())
    })?;
    Ok(made)
}
