//! Keyword options to the core's option structs. An option that does not exist is named, with those that do.

use crate::face::Arg;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};
use zkrecipes::{
    AclChoice, AclEntry, Auth, ClientOptions, LockOptions, QueueOptions, RetryOptions, SaslOptions,
    TlsOptions,
};

use crate::convert::{count, duration, flag, flag_or, payload, permits, text, word};
use crate::errors::{invalid, invalid_type};

const CLIENT: &[&str] = &[
    "session_timeout",
    "connect_timeout",
    "identity",
    "auth",
    "allow_plaintext_auth",
    "refuse_open_parents",
    "acl",
    "tls",
    "sasl",
    "naming",
    "retry",
    "lease",
    "server_tick",
    "read_only",
    "max_in_flight",
];

const QUEUE: &[&str] = &["max_items", "ephemeral", "shards", "max_attempts", "layout"];

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

/// The same of options that have these names.
fn given<'py>(
    options: Option<&Bound<'py, PyDict>>,
    names: &[&str],
    mut set: impl FnMut(&str, &Bound<'py, PyAny>) -> PyResult<()>,
) -> PyResult<()> {
    let Some(options) = options else { return Ok(()) };
    each(options, |name, value| match () {
        () if !names.contains(&name) => Err(unknown(value.py(), name, names)),
        () if value.is_none() => Ok(()),
        () => set(name, value),
    })
}

pub fn client(options: Option<&Bound<'_, PyDict>>) -> PyResult<ClientOptions> {
    let mut made = ClientOptions::default();
    given(options, CLIENT, |name, value| {
        match name {
            "session_timeout" => made.session_timeout = duration(name, value)?,
            "connect_timeout" => made.connect_timeout = duration(name, value)?,
            "identity" => made.identity = Some(text(name, value)?),
            "auth" => made.auth = auth(value)?,
            "allow_plaintext_auth" => made.allow_plaintext_auth = flag(name, value)?,
            "refuse_open_parents" => made.refuse_open_parents = flag(name, value)?,
            "acl" => made.acl = acl(value)?,
            "tls" => made.tls = Some(tls(value)?),
            "sasl" => made.sasl = Some(sasl(value)?),
            "naming" => made.naming = word(name, value)?,
            "retry" => made.retry = retry(value)?,
            "lease" => made.lease = word(name, value)?,
            "server_tick" => made.server_tick = Some(duration(name, value)?),
            "read_only" => made.read_only = flag(name, value)?,
            "max_in_flight" => made.max_in_flight = count(name, value)?,
            _ => unreachable!("the names were checked against the table"),
        }
        Ok(())
    })?;
    Ok(made)
}

pub fn lock(
    reentrant: Option<Arg>,
    local_handoff: Option<Arg>,
    others: Option<&Bound<'_, PyDict>>,
) -> PyResult<LockOptions> {
    if let Some(others) = others {
        each(others, |name, value| Err(unknown(value.py(), name, &["reentrant", "local_handoff"])))?;
    }
    let reentrant = flag_or("reentrant", reentrant, false)?;
    let local_handoff = local_handoff.map_or(Ok(0), |value| count("local_handoff", value))?;
    Ok(LockOptions::default().reentrant(reentrant).local_handoff(local_handoff))
}

fn items<'py>(value: &Bound<'py, PyAny>) -> Option<Vec<Bound<'py, PyAny>>> {
    if let Ok(tuple) = value.cast::<PyTuple>() {
        return Some(tuple.iter().collect());
    }
    value.cast::<PyList>().ok().map(|list| list.iter().collect())
}

fn auth(value: Arg) -> PyResult<Vec<Auth>> {
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

fn acl(value: Arg) -> PyResult<AclChoice> {
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

fn tls(value: Arg) -> PyResult<TlsOptions> {
    let mut made = TlsOptions::default();
    each(
        table("tls", value, &["ca", "cert", "key", "verify_hostname", "allow_expired_crls"])?,
        |name, value| {
            if value.is_none() {
                return Ok(());
            }
            match name {
                "ca" => made.ca = Some(text("tls.ca", value)?),
                "cert" => made.cert = Some(text("tls.cert", value)?),
                "key" => made.key = Some(text("tls.key", value)?),
                "verify_hostname" => made.verify_hostname = flag("tls.verify_hostname", value)?,
                _ => made.allow_expired_crls = flag("tls.allow_expired_crls", value)?,
            }
            Ok(())
        },
    )?;
    Ok(made)
}

fn sasl(value: Arg) -> PyResult<SaslOptions> {
    let table = table("sasl", value, &["user", "password"])?;
    let field = |name: &str| match table.get_item(name)? {
        Some(value) => text(&format!("sasl.{name}"), &value),
        None => Err(invalid(value.py(), &format!("sasl.{name}"), "is missing")),
    };
    Ok(SaslOptions::new(field("user")?, field("password")?))
}

fn retry(value: Arg) -> PyResult<RetryOptions> {
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

/// Of any queue.
pub fn queue(settings: Option<&Bound<'_, PyDict>>) -> PyResult<QueueOptions> {
    let mut made = QueueOptions::default();
    given(settings, QUEUE, |name, value| {
        match name {
            "max_items" => made.max_items = Some(permits(name, value)?),
            "ephemeral" => made.ephemeral = flag(name, value)?,
            "shards" => made.shards = permits(name, value)?,
            // So many are as good as for ever.
            "max_attempts" => made.max_attempts = u32::try_from(permits(name, value)?).unwrap_or(u32::MAX),
            _ => made.layout = word(name, value)?,
        }
        Ok(())
    })?;
    Ok(made)
}
