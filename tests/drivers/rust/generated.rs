//! The options that scenarios give. Generated from api/ by api/generate; do not edit.

use std::time::Duration;

use zkrecipes::{
    ClientOptions, CounterOptions, ElectionOptions, Error, GroupOptions, LockOptions, QueueOptions,
};

pub fn client_options(words: &[&str]) -> Result<ClientOptions, Error> {
    let mut options = ClientOptions::default();
    for word in words {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        match name {
            "session_timeout" => options.session_timeout = millis(name, value)?,
            "connect_timeout" => options.connect_timeout = millis(name, value)?,
            "identity" => options.identity = Some(value.to_owned()),
            "allow_plaintext_auth" => options.allow_plaintext_auth = true,
            "refuse_open_parents" => options.refuse_open_parents = true,
            "naming" => options.naming = value.parse()?,
            "lease" => options.lease = value.parse()?,
            "read_only" => options.read_only = true,
            "server_tick" => options.server_tick = Some(millis(name, value)?),
            "max_in_flight" => options.max_in_flight = number(name, value)?,

            _ => return Err(Error::invalid(name, "is no option")),
        }
    }
    Ok(options)
}

pub fn counter_options(words: &[&str]) -> Result<CounterOptions, Error> {
    let mut options = CounterOptions::default();
    for word in words {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        match name {
            "layout" => options.layout = value.parse()?,

            _ => return Err(Error::invalid(name, "is no option")),
        }
    }
    Ok(options)
}

pub fn election_options(words: &[&str]) -> Result<ElectionOptions, Error> {
    let mut options = ElectionOptions::default();
    for word in words {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        match name {
            "layout" => options.layout = value.parse()?,

            _ => return Err(Error::invalid(name, "is no option")),
        }
    }
    Ok(options)
}

pub fn group_options(words: &[&str]) -> Result<GroupOptions, Error> {
    let mut options = GroupOptions::default();
    for word in words {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        match name {
            "layout" => options.layout = Some(value.parse()?),

            _ => return Err(Error::invalid(name, "is no option")),
        }
    }
    Ok(options)
}

pub fn lock_options(words: &[&str]) -> Result<LockOptions, Error> {
    let mut options = LockOptions::default();
    for word in words {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        match name {
            "reentrant" => options.reentrant = true,
            "local_handoff" => options.local_handoff = number(name, value)?,

            _ => return Err(Error::invalid(name, "is no option")),
        }
    }
    Ok(options)
}

pub fn queue_options(words: &[&str]) -> Result<QueueOptions, Error> {
    let mut options = QueueOptions::default();
    for word in words {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        match name {
            "max_items" => options.max_items = Some(number(name, value)?),
            "ephemeral" => options.ephemeral = true,
            "shards" => options.shards = number(name, value)?,
            "max_attempts" => options.max_attempts = number(name, value)?,
            "layout" => options.layout = value.parse()?,

            _ => return Err(Error::invalid(name, "is no option")),
        }
    }
    Ok(options)
}

fn number<T: std::str::FromStr>(name: &str, value: &str) -> Result<T, Error> {
    value.parse().map_err(|_| Error::invalid(name, format!("{value} is no number")))
}

fn millis(name: &str, value: &str) -> Result<Duration, Error> {
    number(name, value).map(Duration::from_millis)
}
