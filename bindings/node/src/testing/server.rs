//! The embedded server.

use napi::Env;
use napi::bindgen_prelude::BigInt;
use napi_derive::napi;
use zkrecipes::Result;
use zkrecipes_embedded::{Builder, Server};

use super::control::Control;
use super::{failed, session_id};
use crate::event_loop::drop_quietly;
use crate::failure::throw;
use crate::options::finite;

#[napi(custom_finalize)]
pub struct EmbeddedServer {
    pub(super) server: Server,
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
    pub extended_types: Option<bool>,
}

impl ServerOptions {
    pub(super) fn into_builder(self) -> Result<Builder> {
        let mut builder = Server::builder();
        if let Some(port) = self.port {
            builder = builder.port(port);
        }
        if let Some(tick) = self.tick {
            builder = builder.tick(finite("tick", tick)?);
        }
        if let Some(least) = self.min_session_timeout {
            builder = builder.min_session_timeout(finite("min_session_timeout", least)?);
        }
        if let Some(most) = self.max_session_timeout {
            builder = builder.max_session_timeout(finite("max_session_timeout", most)?);
        }
        if let Some(limit) = self.data_limit {
            builder = builder.data_limit(limit as usize);
        }
        if let Some(version) = self.emulate {
            builder = builder.emulate(&version);
        }
        if let Some(allowed) = self.extended_types {
            builder = builder.extended_types(allowed);
        }
        Ok(builder)
    }
}

/// Starts a server; port 0 is a free one.
#[napi(catch_unwind)]
pub fn start_server(env: &Env, options: ServerOptions) -> napi::Result<EmbeddedServer> {
    let start =
        || options.into_builder()?.start().map_err(|error| failed("starting the embedded server", error));
    Ok(EmbeddedServer { server: start().map_err(|error| throw(env, error))? })
}

#[napi]
impl EmbeddedServer {
    #[napi(catch_unwind)]
    pub fn control(&self) -> Control {
        Control::from(&*self.server)
    }

    #[napi(catch_unwind)]
    pub fn stop(&self) {
        self.server.stop();
    }

    #[napi(catch_unwind)]
    pub fn restart(&self, env: &Env) -> napi::Result<()> {
        self.server.restart().map_err(|error| throw(env, failed("restarting the embedded server", error)))
    }

    #[napi(catch_unwind)]
    pub fn expire(&self, id: BigInt) -> bool {
        self.server.expire(session_id(&id))
    }

    #[napi(catch_unwind)]
    pub fn freeze_clock(&self) {
        self.server.freeze_clock();
    }

    #[napi(catch_unwind)]
    pub fn advance_clock(&self, env: &Env, by: f64) -> napi::Result<()> {
        self.server.advance_clock(finite("by", by).map_err(|error| throw(env, error))?);
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

    #[napi(catch_unwind)]
    pub fn watch_count(&self) -> f64 {
        self.server.watch_count() as f64
    }

    #[napi(catch_unwind)]
    pub fn paths(&self) -> Vec<String> {
        self.server.nodes()
    }
}
