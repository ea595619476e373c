//! Option objects: `node/lib` has checked names and types; values are checked by the core.

use std::time::Duration;

use napi::bindgen_prelude::{Buffer, Either};
use napi_derive::napi;
use zkrecipes::{
    AclChoice, AclEntry, Auth, ClientOptions, Error, LockOptions, Result, SaslOptions, TlsOptions, time,
};

/// What the core takes for "as long as it likes": the wire carries milliseconds in a signed 32 bit number.
const LONGEST: Duration = Duration::from_millis(i32::MAX as u64);

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
    pub retry: Option<Retry>,
    pub lease: Option<String>,
    pub server_tick: Option<f64>,
    pub read_only: Option<bool>,
    pub max_in_flight: Option<u32>,
}

#[napi(object)]
pub struct Credential {
    pub scheme: String,
    pub credential: Buffer,
}

#[napi(object)]
pub struct Grant {
    pub scheme: String,
    pub id: String,
    pub permissions: String,
}

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

/// A number of milliseconds, or the default when none was given. For ever becomes `forever`.
fn span(argument: &str, ms: Option<f64>, forever: Duration, default: Duration) -> Result<Duration> {
    ms.map_or(Ok(default), |ms| Ok(time::from_js_millis(argument, ms)?.unwrap_or(forever)))
}

impl ConnectOptions {
    pub fn into_core(self) -> Result<ClientOptions> {
        let mut options = ClientOptions::default();
        // The secrets first: here they are overwritten, however this ends.
        for auth in self.auth.unwrap_or_default() {
            options.auth.push(Auth::new(auth.scheme, auth.credential.to_vec()));
        }
        options.tls = self.tls.map(|tls| {
            let mut options = TlsOptions::default();
            (options.ca, options.cert, options.key) = (tls.ca, tls.cert, tls.key);
            options.verify_hostname = tls.verify_hostname.unwrap_or(options.verify_hostname);
            options.allow_expired_crls = tls.allow_expired_crls.unwrap_or(options.allow_expired_crls);
            options
        });
        options.sasl = self.sasl.map(|sasl| SaslOptions::new(sasl.user, sasl.password));
        let (session, connect) = (options.session_timeout, options.connect_timeout);
        options.session_timeout = span("session_timeout", self.session_timeout, Duration::MAX, session)?;
        options.connect_timeout = span("connect_timeout", self.connect_timeout, LONGEST, connect)?;
        options.identity = self.identity;
        options.allow_plaintext_auth = self.allow_plaintext_auth.unwrap_or(options.allow_plaintext_auth);
        options.refuse_open_parents = self.refuse_open_parents.unwrap_or(options.refuse_open_parents);
        options.acl = acl(self.acl)?;
        options.naming = self.naming.map_or(Ok(options.naming), |naming| naming.parse())?;
        if let Some(given) = self.retry {
            let retry = &mut options.retry;
            retry.base = span("retry.base", given.base, Duration::MAX, retry.base)?;
            retry.max = span("retry.max", given.max, LONGEST, retry.max)?;
            if let Some(ms) = given.give_up_after {
                retry.give_up_after = Some(time::from_js_millis("retry.giveUpAfter", ms)?.unwrap_or(LONGEST));
            }
        }
        options.lease = self.lease.map_or(Ok(options.lease), |lease| lease.parse())?;
        if let Some(ms) = self.server_tick {
            options.server_tick = Some(time::from_js_millis("server_tick", ms)?.unwrap_or(Duration::MAX));
        }
        options.read_only = self.read_only.unwrap_or(options.read_only);
        options.max_in_flight = self.max_in_flight.unwrap_or(options.max_in_flight);
        Ok(options)
    }
}

fn acl(given: Option<Either<String, Vec<Grant>>>) -> Result<AclChoice> {
    match given {
        None => Ok(AclChoice::Default),
        Some(Either::A(name)) => match name.as_str() {
            "open" => Ok(AclChoice::Open),
            "creator" => Ok(AclChoice::Creator),
            other => Err(Error::invalid(
                "acl",
                format!("{other:?} is not one of open, creator, or a list of entries"),
            )),
        },
        Some(Either::B(list)) => Ok(AclChoice::List(
            list.into_iter().map(|entry| AclEntry::new(entry.scheme, entry.id, entry.permissions)).collect(),
        )),
    }
}

#[napi(object)]
pub struct LockSettings {
    pub reentrant: Option<bool>,
    pub local_handoff: Option<u32>,
}

impl LockSettings {
    pub fn into_core(self) -> LockOptions {
        let mut options = LockOptions::default();
        options.reentrant = self.reentrant.unwrap_or(options.reentrant);
        options.local_handoff = self.local_handoff.unwrap_or(options.local_handoff);
        options
    }
}

/// A time that ends.
pub fn finite(argument: &str, ms: f64) -> Result<Duration> {
    time::finite_js_millis(argument, ms)
}
