//! Option objects: `node/lib` has checked names and types; values are checked by the core.

use std::time::Duration;

use napi::bindgen_prelude::{Buffer, Either};
use napi_derive::napi;
use zkrecipes::{
    AclChoice, AclEntry, Auth, ClientOptions, Error, LockOptions, Result, RetryOptions, SaslOptions,
    TlsOptions, time,
};

/// What the core takes for "as long as it likes": the wire carries milliseconds in a signed 32 bit number.
const LONGEST: Duration = Duration::from_millis(i32::MAX as u64);

#[napi(object)]
pub struct ConnectOptions {
    pub session_timeout: Option<f64>,
    pub connect_timeout: Option<f64>,
    pub identity: Option<String>,
    pub auth: Option<Vec<Credential>>,
    pub acl: Option<Either<String, Vec<Grant>>>,
    pub tls: Option<Tls>,
    pub sasl: Option<Sasl>,
    pub naming: Option<String>,
    pub retry: Option<Retry>,
    pub lease: Option<String>,
    pub read_only: Option<bool>,
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
        let defaults = ClientOptions::default();
        let retry = match self.retry {
            None => defaults.retry,
            Some(retry) => RetryOptions {
                base: span("retry.base", retry.base, Duration::MAX, defaults.retry.base)?,
                max: span("retry.max", retry.max, LONGEST, defaults.retry.max)?,
                give_up_after: match retry.give_up_after {
                    None => None,
                    Some(ms) => Some(time::from_js_millis("retry.giveUpAfter", ms)?.unwrap_or(LONGEST)),
                },
            },
        };
        Ok(ClientOptions {
            session_timeout: span(
                "session_timeout",
                self.session_timeout,
                Duration::MAX,
                defaults.session_timeout,
            )?,
            connect_timeout: span(
                "connect_timeout",
                self.connect_timeout,
                LONGEST,
                defaults.connect_timeout,
            )?,
            identity: self.identity,
            auth: self
                .auth
                .unwrap_or_default()
                .into_iter()
                .map(|auth| Auth { scheme: auth.scheme, credential: auth.credential.to_vec() })
                .collect(),
            acl: match self.acl {
                None => AclChoice::Default,
                Some(Either::A(name)) => match name.as_str() {
                    "open" => AclChoice::Open,
                    "creator" => AclChoice::Creator,
                    other => {
                        return Err(Error::invalid(
                            "acl",
                            format!("{other:?} is not one of open, creator, or a list of entries"),
                        ));
                    }
                },
                Some(Either::B(list)) => AclChoice::List(
                    list.into_iter()
                        .map(|entry| AclEntry {
                            scheme: entry.scheme,
                            id: entry.id,
                            permissions: entry.permissions,
                        })
                        .collect(),
                ),
            },
            tls: self.tls.map(|tls| TlsOptions {
                ca: tls.ca,
                cert: tls.cert,
                key: tls.key,
                verify_hostname: tls.verify_hostname.unwrap_or(true),
            }),
            sasl: self.sasl.map(|sasl| SaslOptions { user: sasl.user, password: sasl.password }),
            naming: self.naming.map_or(Ok(defaults.naming), |naming| naming.parse())?,
            retry,
            lease: self.lease.map_or(Ok(defaults.lease), |lease| lease.parse())?,
            read_only: self.read_only.unwrap_or(defaults.read_only),
        })
    }
}

#[napi(object)]
pub struct LockSettings {
    pub reentrant: Option<bool>,
    pub local_handoff: Option<u32>,
}

impl LockSettings {
    pub fn into_core(self) -> LockOptions {
        let defaults = LockOptions::default();
        LockOptions {
            reentrant: self.reentrant.unwrap_or(defaults.reentrant),
            local_handoff: self.local_handoff.unwrap_or(defaults.local_handoff),
        }
    }
}
