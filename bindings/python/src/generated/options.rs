//! Generated from api/ by api/generate; do not edit.

use pyo3::prelude::*;
use pyo3::types::PyDict;
use zkrecipes::{
    ClientOptions, CounterOptions, ElectionOptions, GroupOptions, LockOptions, PartitionerOptions,
    QueueOptions, RetryOptions, SaslOptions, TlsOptions,
};

use crate::convert::{count, duration, flag, permits, signed, size, text, word};
use crate::face::Arg;
use crate::options::{acl, auth, keywords, needed, table};

/// Of a client.
pub fn client(given: Option<&Bound<'_, PyDict>>) -> PyResult<ClientOptions> {
    let mut made = ClientOptions::default();
    keywords(
        given,
        &[
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
            "lease",
            "retry",
            "read_only",
            "server_tick",
            "max_in_flight",
        ],
        |name, value| {
            match name {
                "session_timeout" => made.session_timeout = duration("session_timeout", value)?,
                "connect_timeout" => made.connect_timeout = duration("connect_timeout", value)?,
                "identity" => made.identity = Some(text("identity", value)?),
                "auth" => made.auth = auth(value)?,
                "allow_plaintext_auth" => made.allow_plaintext_auth = flag("allow_plaintext_auth", value)?,
                "refuse_open_parents" => made.refuse_open_parents = flag("refuse_open_parents", value)?,
                "acl" => made.acl = acl(value)?,
                "tls" => made.tls = Some(tls(value)?),
                "sasl" => made.sasl = Some(sasl(value)?),
                "naming" => made.naming = word("naming", value)?,
                "lease" => made.lease = word("lease", value)?,
                "retry" => made.retry = retry(value)?,
                "read_only" => made.read_only = flag("read_only", value)?,
                "server_tick" => made.server_tick = Some(duration("server_tick", value)?),
                "max_in_flight" => made.max_in_flight = count("max_in_flight", value)?,

                _ => unreachable!("the names were checked against the table"),
            }
            Ok(())
        },
    )?;
    Ok(made)
}

fn tls(value: Arg) -> PyResult<TlsOptions> {
    let mut made = TlsOptions::default();
    table("tls", value, &["ca", "cert", "key", "verify_hostname", "allow_expired_crls"], |name, value| {
        match name {
            "ca" => made.ca = Some(text("tls.ca", value)?),
            "cert" => made.cert = Some(text("tls.cert", value)?),
            "key" => made.key = Some(text("tls.key", value)?),
            "verify_hostname" => made.verify_hostname = flag("tls.verify_hostname", value)?,
            "allow_expired_crls" => made.allow_expired_crls = flag("tls.allow_expired_crls", value)?,

            _ => unreachable!("the names were checked against the table"),
        }
        Ok(())
    })?;
    Ok(made)
}

fn sasl(value: Arg) -> PyResult<SaslOptions> {
    let given = needed("sasl", value, &["user", "password"])?;
    let mut given = given.into_iter();
    Ok(SaslOptions::new(given.next().unwrap_or_default(), given.next().unwrap_or_default()))
}

fn retry(value: Arg) -> PyResult<RetryOptions> {
    let mut made = RetryOptions::default();
    table("retry", value, &["base", "max", "give_up_after"], |name, value| {
        match name {
            "base" => made.base = duration("retry.base", value)?,
            "max" => made.max = duration("retry.max", value)?,
            "give_up_after" => made.give_up_after = Some(duration("retry.give_up_after", value)?),

            _ => unreachable!("the names were checked against the table"),
        }
        Ok(())
    })?;
    Ok(made)
}

/// Of what a counter is made with.
pub fn counter(given: Option<&Bound<'_, PyDict>>) -> PyResult<CounterOptions> {
    let mut made = CounterOptions::default();
    keywords(given, &["layout"], |name, value| {
        match name {
            "layout" => made.layout = word("layout", value)?,

            _ => unreachable!("the names were checked against the table"),
        }
        Ok(())
    })?;
    Ok(made)
}

/// Of what a election is made with.
pub fn election(given: Option<&Bound<'_, PyDict>>) -> PyResult<ElectionOptions> {
    let mut made = ElectionOptions::default();
    keywords(given, &["layout", "priority", "drain"], |name, value| {
        match name {
            "layout" => made.layout = word("layout", value)?,
            "priority" => made.priority = signed("priority", value)?,
            "drain" => made.drain = duration("drain", value)?,

            _ => unreachable!("the names were checked against the table"),
        }
        Ok(())
    })?;
    Ok(made)
}

/// Of what a group is made with.
pub fn group(given: Option<&Bound<'_, PyDict>>) -> PyResult<GroupOptions> {
    let mut made = GroupOptions::default();
    keywords(given, &["layout", "replace"], |name, value| {
        match name {
            "layout" => made.layout = Some(word("layout", value)?),
            "replace" => made.replace = flag("replace", value)?,

            _ => unreachable!("the names were checked against the table"),
        }
        Ok(())
    })?;
    Ok(made)
}

/// Of what a lock is made with.
pub fn lock(given: Option<&Bound<'_, PyDict>>) -> PyResult<LockOptions> {
    let mut made = LockOptions::default();
    keywords(given, &["reentrant", "local_handoff"], |name, value| {
        match name {
            "reentrant" => made.reentrant = flag("reentrant", value)?,
            "local_handoff" => made.local_handoff = count("local_handoff", value)?,

            _ => unreachable!("the names were checked against the table"),
        }
        Ok(())
    })?;
    Ok(made)
}

/// Of what a partitioner is made with.
pub fn partitioner(given: Option<&Bound<'_, PyDict>>) -> PyResult<PartitionerOptions> {
    let mut made = PartitionerOptions::default();
    keywords(given, &["weight", "name", "drain"], |name, value| {
        match name {
            "weight" => made.weight = count("weight", value)?,
            "name" => made.name = Some(text("name", value)?),
            "drain" => made.drain = duration("drain", value)?,

            _ => unreachable!("the names were checked against the table"),
        }
        Ok(())
    })?;
    Ok(made)
}

/// Of what a queue is made with.
pub fn queue(given: Option<&Bound<'_, PyDict>>) -> PyResult<QueueOptions> {
    let mut made = QueueOptions::default();
    keywords(
        given,
        &["max_items", "ephemeral", "shards", "max_attempts", "layout", "key_window"],
        |name, value| {
            match name {
                "max_items" => made.max_items = Some(permits("max_items", value)?),
                "ephemeral" => made.ephemeral = flag("ephemeral", value)?,
                "shards" => made.shards = permits("shards", value)?,
                "max_attempts" => {
                    made.max_attempts = u32::try_from(size("max_attempts", value)?).unwrap_or(u32::MAX)
                }
                "layout" => made.layout = word("layout", value)?,
                "key_window" => made.key_window = duration("key_window", value)?,

                _ => unreachable!("the names were checked against the table"),
            }
            Ok(())
        },
    )?;
    Ok(made)
}
