//! The testing kit, for `zkrecipes/testing`. Servers and proxies run on threads of their own, so nearly all verbs answer at
//! once.

mod ensemble;
mod proxy;
mod server;

use std::time::Duration;

use napi::bindgen_prelude::BigInt;
use napi_derive::napi;
use zkrecipes::{Error, ErrorKind, time};
use zkrecipes_embedded::Outcome;

#[napi(object)]
pub struct LogEntry {
    pub connection: f64,
    pub session_id: BigInt,
    pub xid: i32,
    pub op: String,
    pub path: String,
    pub parts: Vec<LogPart>,
    pub zxid: BigInt,
    pub error: i32,
    pub bytes_in: f64,
    pub bytes_out: f64,
    pub outcome: String,
}

/// One operation of a multi.
#[napi(object)]
pub struct LogPart {
    pub op: String,
    pub path: String,
}

impl From<zkrecipes_embedded::LogEntry> for LogEntry {
    fn from(entry: zkrecipes_embedded::LogEntry) -> LogEntry {
        let part = |(op, path): (&str, String)| LogPart { op: op.to_string(), path };
        LogEntry {
            connection: entry.connection as f64,
            session_id: entry.session_id.into(),
            xid: entry.xid,
            op: entry.op.to_string(),
            path: entry.path,
            parts: entry.parts.into_iter().map(part).collect(),
            zxid: entry.zxid.into(),
            error: entry.error,
            bytes_in: entry.bytes_in as f64,
            bytes_out: entry.bytes_out as f64,
            outcome: match entry.outcome {
                Outcome::Answered => "answered",
                Outcome::Unanswered => "unanswered",
                Outcome::Lost => "lost",
            }
            .to_string(),
        }
    }
}

fn span(argument: &str, ms: f64) -> zkrecipes::Result<Duration> {
    time::from_js_millis(argument, ms)?.ok_or_else(|| Error::invalid(argument, "must be finite"))
}

fn failed(what: &str, error: impl std::fmt::Display) -> Error {
    Error::new(ErrorKind::ConnectionLost, format!("{what} failed: {error}"))
}

/// A 64 bit session id; anything else than one is no session of this server.
fn session_id(id: &BigInt) -> u64 {
    id.get_u64().1
}

/// What can be done to a proxy as to a server: faults, the log, connections.
macro_rules! bad_weather {
    ($class:ident, $field:ident) => {
        #[napi]
        impl $class {
            #[napi(catch_unwind)]
            pub fn connect_string(&self) -> String {
                self.$field.connect_string()
            }

            #[napi(catch_unwind)]
            pub fn port(&self) -> u16 {
                self.$field.port()
            }

            #[napi(catch_unwind)]
            pub fn shutdown(&self) {
                self.$field.shutdown();
            }

            #[napi(catch_unwind)]
            pub fn drop_connections(&self) {
                self.$field.drop_connections();
            }

            #[napi(catch_unwind)]
            pub fn pause(&self) {
                self.$field.pause();
            }

            #[napi(catch_unwind)]
            pub fn resume(&self) {
                self.$field.resume();
            }

            /// The number of the fault, for `fault_fired`.
            #[napi(catch_unwind)]
            pub fn inject(&self, env: &Env, fault: String) -> napi::Result<f64> {
                let id = self
                    .$field
                    .inject_text(&fault)
                    .map_err(|problem| throw(env, Error::invalid("fault", problem)))?;
                Ok(id.0 as f64)
            }

            #[napi(catch_unwind)]
            pub fn fault_fired(&self, fault: f64) -> bool {
                self.$field.fault_fired(FaultId(fault as u64))
            }

            #[napi(catch_unwind)]
            pub fn clear_faults(&self) {
                self.$field.clear_faults();
            }

            #[napi(catch_unwind)]
            pub fn log(&self) -> Vec<LogEntry> {
                self.$field.log().into_iter().map(LogEntry::from).collect()
            }

            #[napi(catch_unwind)]
            pub fn clear_log(&self) {
                self.$field.clear_log();
            }

            #[napi(catch_unwind)]
            pub fn count(&self, op: String, path: String) -> f64 {
                self.$field.count(&op, &path) as f64
            }

            #[napi(catch_unwind)]
            pub fn sessions(&self) -> Vec<BigInt> {
                self.$field.sessions().into_iter().map(BigInt::from).collect()
            }

            #[napi(catch_unwind)]
            pub fn connections(&self) -> f64 {
                self.$field.connections() as f64
            }
        }
    };
}
use bad_weather;
