//! The embedded server, for `zkrecipes/testing`. It runs on threads of its own, so these verbs answer at once.

use std::time::Duration;

use napi::Env;
use napi::bindgen_prelude::BigInt;
use napi_derive::napi;
use zkrecipes::{Error, ErrorKind, time};
use zkrecipes_embedded::{FaultId, Outcome, Server};

use crate::event_loop::drop_quietly;
use crate::failure::throw;

#[napi(custom_finalize)]
pub struct EmbeddedServer {
    server: Server,
}

drop_quietly!(EmbeddedServer);

#[napi(object)]
pub struct ServerOptions {
    pub port: Option<u16>,
    pub tick: Option<f64>,
    pub min_session_timeout: Option<f64>,
    pub max_session_timeout: Option<f64>,
    pub data_limit: Option<u32>,
    pub emulate: Option<String>,
}

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
    Error::new(ErrorKind::ConnectionLost, format!("the embedded server did not {what}: {error}"))
}

/// Starts a server; port 0 is a free one.
#[napi(catch_unwind)]
pub fn start_server(env: &Env, options: ServerOptions) -> napi::Result<EmbeddedServer> {
    let start = || {
        let mut builder = Server::builder();
        if let Some(port) = options.port {
            builder = builder.port(port);
        }
        if let Some(tick) = options.tick {
            builder = builder.tick(span("tick", tick)?);
        }
        if let Some(least) = options.min_session_timeout {
            builder = builder.min_session_timeout(span("min_session_timeout", least)?);
        }
        if let Some(most) = options.max_session_timeout {
            builder = builder.max_session_timeout(span("max_session_timeout", most)?);
        }
        if let Some(limit) = options.data_limit {
            builder = builder.data_limit(limit as usize);
        }
        if let Some(version) = options.emulate {
            builder = builder.emulate(&version);
        }
        builder.start().map_err(|error| failed("start", error))
    };
    Ok(EmbeddedServer { server: start().map_err(|error| throw(env, error))? })
}

/// A 64 bit session id; anything else than one is no session of this server.
fn session_id(id: &BigInt) -> u64 {
    id.get_u64().1
}

#[napi]
impl EmbeddedServer {
    #[napi(catch_unwind)]
    pub fn connect_string(&self) -> String {
        self.server.connect_string()
    }

    #[napi(catch_unwind)]
    pub fn port(&self) -> u16 {
        self.server.port()
    }

    #[napi(catch_unwind)]
    pub fn stop(&self) {
        self.server.stop();
    }

    #[napi(catch_unwind)]
    pub fn restart(&self, env: &Env) -> napi::Result<()> {
        self.server.restart().map_err(|error| throw(env, failed("restart", error)))
    }

    #[napi(catch_unwind)]
    pub fn shutdown(&self) {
        self.server.shutdown();
    }

    #[napi(catch_unwind)]
    pub fn expire(&self, id: BigInt) -> bool {
        self.server.expire(session_id(&id))
    }

    #[napi(catch_unwind)]
    pub fn drop_connections(&self) {
        self.server.drop_connections();
    }

    #[napi(catch_unwind)]
    pub fn pause(&self) {
        self.server.pause();
    }

    #[napi(catch_unwind)]
    pub fn resume(&self) {
        self.server.resume();
    }

    #[napi(catch_unwind)]
    pub fn freeze_clock(&self) {
        self.server.freeze_clock();
    }

    #[napi(catch_unwind)]
    pub fn advance_clock(&self, env: &Env, by: f64) -> napi::Result<()> {
        self.server.advance_clock(span("by", by).map_err(|error| throw(env, error))?);
        Ok(())
    }

    #[napi(catch_unwind)]
    pub fn thaw_clock(&self) {
        self.server.thaw_clock();
    }

    #[napi(catch_unwind)]
    pub fn set_next_sequence(&self, path: String, next: i32) -> bool {
        self.server.set_next_sequence(&path, next)
    }

    /// The number of the fault, for `fault_fired`.
    #[napi(catch_unwind)]
    pub fn inject(&self, env: &Env, fault: String) -> napi::Result<f64> {
        let id = self
            .server
            .inject_text(&fault)
            .map_err(|problem| throw(env, Error::invalid("fault", problem)))?;
        Ok(id.0 as f64)
    }

    #[napi(catch_unwind)]
    pub fn fault_fired(&self, fault: f64) -> bool {
        self.server.fault_fired(FaultId(fault as u64))
    }

    #[napi(catch_unwind)]
    pub fn clear_faults(&self) {
        self.server.clear_faults();
    }

    #[napi(catch_unwind)]
    pub fn log(&self) -> Vec<LogEntry> {
        self.server.log().into_iter().map(LogEntry::from).collect()
    }

    #[napi(catch_unwind)]
    pub fn clear_log(&self) {
        self.server.clear_log();
    }

    #[napi(catch_unwind)]
    pub fn count(&self, op: String, path: String) -> f64 {
        self.server.count(&op, &path) as f64
    }

    #[napi(catch_unwind)]
    pub fn sessions(&self) -> Vec<BigInt> {
        self.server.sessions().into_iter().map(BigInt::from).collect()
    }

    #[napi(catch_unwind)]
    pub fn connections(&self) -> f64 {
        self.server.connections() as f64
    }

    #[napi(catch_unwind)]
    pub fn watch_count(&self) -> f64 {
        self.server.watch_count() as f64
    }

    #[napi(catch_unwind)]
    pub fn paths(&self) -> Vec<String> {
        self.server.dump_paths()
    }
}
