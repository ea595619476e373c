//! Generated from api/ by api/generate; do not edit.

use std::time::Duration;

use napi::bindgen_prelude::Either;
use napi_derive::napi;
use zkrecipes::{
    ClientOptions, CounterOptions, ElectionOptions, GroupOptions, LockOptions, PartitionerOptions,
    QueueOptions, Result, SaslOptions, TlsOptions,
};

use crate::options::{Credential, Grant, LONGEST, acl, credentials, span, span_if_any};

#[napi(object)]
pub struct Tls {
    pub ca: Option<String>,
    pub cert: Option<String>,
    pub key: Option<String>,
    pub verify_hostname: Option<bool>,
    pub allow_expired_crls: Option<bool>,
}

#[napi(object)]
pub struct Sasl {
    pub user: String,
    pub password: String,
}

#[napi(object)]
pub struct Retry {
    pub base: Option<f64>,
    pub max: Option<f64>,
    pub give_up_after: Option<f64>,
}

#[napi(object)]
pub struct ConnectOptions {
    pub session_timeout: Option<f64>,
    pub connect_timeout: Option<f64>,
    pub identity: Option<String>,
    pub auth: Option<Vec<Credential>>,
    pub allow_plaintext_auth: Option<bool>,
    pub refuse_open_parents: Option<bool>,
    pub acl: Option<Either<String, Vec<Grant>>>,
    pub tls: Option<Tls>,
    pub sasl: Option<Sasl>,
    pub naming: Option<String>,
    pub lease: Option<String>,
    pub retry: Option<Retry>,
    pub read_only: Option<bool>,
    pub server_tick: Option<f64>,
    pub max_in_flight: Option<u32>,
}

impl ConnectOptions {
    pub fn into_core(self) -> Result<ClientOptions> {
        let mut options = ClientOptions::default();
        options.auth = credentials(self.auth);
        if let Some(given) = self.tls {
            let mut tls = TlsOptions::default();
            tls.ca = given.ca;
            tls.cert = given.cert;
            tls.key = given.key;
            tls.verify_hostname = given.verify_hostname.unwrap_or(tls.verify_hostname);
            tls.allow_expired_crls = given.allow_expired_crls.unwrap_or(tls.allow_expired_crls);
            options.tls = Some(tls);
        }
        options.sasl = self.sasl.map(|given| SaslOptions::new(given.user, given.password));
        options.session_timeout =
            span("session_timeout", self.session_timeout, Duration::MAX, options.session_timeout)?;
        options.connect_timeout =
            span("connect_timeout", self.connect_timeout, LONGEST, options.connect_timeout)?;
        options.identity = self.identity;
        options.allow_plaintext_auth = self.allow_plaintext_auth.unwrap_or(options.allow_plaintext_auth);
        options.refuse_open_parents = self.refuse_open_parents.unwrap_or(options.refuse_open_parents);
        options.acl = acl(self.acl)?;
        options.naming = self.naming.map_or(Ok(options.naming), |word| word.parse())?;
        options.lease = self.lease.map_or(Ok(options.lease), |word| word.parse())?;
        if let Some(given) = self.retry {
            options.retry.base = span("retry.base", given.base, Duration::MAX, options.retry.base)?;
            options.retry.max = span("retry.max", given.max, LONGEST, options.retry.max)?;
            options.retry.give_up_after = span_if_any("retry.give_up_after", given.give_up_after, LONGEST)?;
        }
        options.read_only = self.read_only.unwrap_or(options.read_only);
        options.server_tick = span_if_any("server_tick", self.server_tick, Duration::MAX)?;
        options.max_in_flight = self.max_in_flight.unwrap_or(options.max_in_flight);

        Ok(options)
    }
}

#[napi(object)]
pub struct CounterSettings {
    pub layout: Option<String>,
}

impl CounterSettings {
    pub fn into_core(self) -> Result<CounterOptions> {
        let mut options = CounterOptions::default();
        options.layout = self.layout.map_or(Ok(options.layout), |word| word.parse())?;

        Ok(options)
    }
}

#[napi(object)]
pub struct ElectionSettings {
    pub layout: Option<String>,
    pub priority: Option<i32>,
    pub drain: Option<f64>,
}

impl ElectionSettings {
    pub fn into_core(self) -> Result<ElectionOptions> {
        let mut options = ElectionOptions::default();
        options.layout = self.layout.map_or(Ok(options.layout), |word| word.parse())?;
        options.priority = self.priority.unwrap_or(options.priority);
        options.drain = span("drain", self.drain, Duration::MAX, options.drain)?;

        Ok(options)
    }
}

#[napi(object)]
pub struct GroupSettings {
    pub layout: Option<String>,
    pub replace: Option<bool>,
}

impl GroupSettings {
    pub fn into_core(self) -> Result<GroupOptions> {
        let mut options = GroupOptions::default();
        options.layout = self.layout.map(|word| word.parse()).transpose()?;
        options.replace = self.replace.unwrap_or(options.replace);

        Ok(options)
    }
}

#[napi(object)]
pub struct LockSettings {
    pub reentrant: Option<bool>,
    pub local_handoff: Option<u32>,
}

impl LockSettings {
    pub fn into_core(self) -> Result<LockOptions> {
        let mut options = LockOptions::default();
        options.reentrant = self.reentrant.unwrap_or(options.reentrant);
        options.local_handoff = self.local_handoff.unwrap_or(options.local_handoff);

        Ok(options)
    }
}

#[napi(object)]
pub struct PartitionerSettings {
    pub weight: Option<u32>,
    pub name: Option<String>,
    pub drain: Option<f64>,
}

impl PartitionerSettings {
    pub fn into_core(self) -> Result<PartitionerOptions> {
        let mut options = PartitionerOptions::default();
        options.weight = self.weight.unwrap_or(options.weight);
        options.name = self.name;
        options.drain = span("drain", self.drain, Duration::MAX, options.drain)?;

        Ok(options)
    }
}

#[napi(object)]
pub struct QueueSettings {
    pub max_items: Option<u32>,
    pub ephemeral: Option<bool>,
    pub shards: Option<u32>,
    pub max_attempts: Option<u32>,
    pub layout: Option<String>,
    pub key_window: Option<f64>,
}

impl QueueSettings {
    pub fn into_core(self) -> Result<QueueOptions> {
        let mut options = QueueOptions::default();
        options.max_items = self.max_items.map(|n| n as usize);
        options.ephemeral = self.ephemeral.unwrap_or(options.ephemeral);
        options.shards = self.shards.map_or(options.shards, |n| n as usize);
        options.max_attempts = self.max_attempts.unwrap_or(options.max_attempts);
        options.layout = self.layout.map_or(Ok(options.layout), |word| word.parse())?;
        options.key_window = span("key_window", self.key_window, Duration::MAX, options.key_window)?;

        Ok(options)
    }
}
