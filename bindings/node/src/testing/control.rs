//! What can be done to a server as to a proxy: connections, faults and the request log.

use napi::Env;
use napi::bindgen_prelude::BigInt;
use napi_derive::napi;
use zkrecipes::Error;
use zkrecipes_embedded::{FaultId, Outcome};

use crate::event_loop::drop_quietly;
use crate::failure::throw;

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

#[napi(custom_finalize)]
pub struct Control(zkrecipes_embedded::Control);

drop_quietly!(Control);

impl From<&zkrecipes_embedded::Control> for Control {
    fn from(control: &zkrecipes_embedded::Control) -> Control {
        Control(control.clone())
    }
}

#[napi]
impl Control {
    #[napi(catch_unwind)]
    pub fn connect_string(&self) -> String {
        self.0.connect_string()
    }

    #[napi(catch_unwind)]
    pub fn port(&self) -> u16 {
        self.0.port()
    }

    #[napi(catch_unwind)]
    pub fn shutdown(&self) {
        self.0.shutdown();
    }

    #[napi(catch_unwind)]
    pub fn drop_connections(&self) {
        self.0.drop_connections();
    }

    #[napi(catch_unwind)]
    pub fn pause(&self) {
        self.0.pause();
    }

    #[napi(catch_unwind)]
    pub fn resume(&self) {
        self.0.resume();
    }

    /// The number of the fault, for `fault_fired`.
    #[napi(catch_unwind)]
    pub fn inject(&self, env: &Env, fault: String) -> napi::Result<f64> {
        let id = self.0.inject_text(&fault);
        let id = id.map_err(|problem| throw(env, Error::invalid("fault", problem)))?;
        Ok(id.0 as f64)
    }

    #[napi(catch_unwind)]
    pub fn fault_fired(&self, fault: f64) -> bool {
        self.0.fault_fired(FaultId(fault as u64))
    }

    #[napi(catch_unwind)]
    pub fn clear_faults(&self) {
        self.0.clear_faults();
    }

    #[napi(catch_unwind)]
    pub fn log(&self) -> Vec<LogEntry> {
        self.0.log().into_iter().map(LogEntry::from).collect()
    }

    #[napi(catch_unwind)]
    pub fn clear_log(&self) {
        self.0.clear_log();
    }

    #[napi(catch_unwind)]
    pub fn count(&self, op: String, path: String) -> f64 {
        self.0.count(&op, &path) as f64
    }

    #[napi(catch_unwind)]
    pub fn sessions(&self) -> Vec<BigInt> {
        self.0.sessions().into_iter().map(BigInt::from).collect()
    }

    #[napi(catch_unwind)]
    pub fn connections(&self) -> f64 {
        self.0.connections() as f64
    }
}
