//! Several embedded servers as one ensemble.

use napi::Env;
use napi_derive::napi;

use super::failed;
use super::server::{EmbeddedServer, ServerOptions};
use crate::event_loop::drop_quietly;
use crate::failure::throw;
use crate::options::finite;

#[napi(custom_finalize)]
pub struct Ensemble {
    ensemble: zkrecipes_embedded::Ensemble,
}

drop_quietly!(Ensemble);

/// Starts so many servers; a port is the first one's.
#[napi(catch_unwind)]
pub fn start_ensemble(env: &Env, members: u32, options: ServerOptions) -> napi::Result<Ensemble> {
    let start = || {
        let started = options.into_builder()?.start_ensemble(members as usize);
        started.map_err(|error| failed("starting the embedded ensemble", error))
    };
    Ok(Ensemble { ensemble: start().map_err(|error| throw(env, error))? })
}

#[napi]
impl Ensemble {
    /// All members at once.
    #[napi(catch_unwind)]
    pub fn server(&self) -> EmbeddedServer {
        EmbeddedServer { server: self.ensemble.server().clone() }
    }

    #[napi(catch_unwind)]
    pub fn member(&self, member: u32) -> Option<String> {
        self.ensemble.member(member as usize)
    }

    #[napi(catch_unwind)]
    pub fn lag(&self, env: &Env, follower: u32, by: f64) -> napi::Result<bool> {
        let by = finite("by", by).map_err(|error| throw(env, error))?;
        Ok(self.ensemble.lag(follower as usize, by))
    }

    #[napi(catch_unwind)]
    pub fn hold(&self, follower: u32) -> bool {
        self.ensemble.hold(follower as usize)
    }

    #[napi(catch_unwind)]
    pub fn release(&self, follower: u32) -> bool {
        self.ensemble.release(follower as usize)
    }

    #[napi(catch_unwind)]
    pub fn isolate(&self, follower: u32) -> bool {
        self.ensemble.isolate(follower as usize)
    }

    #[napi(catch_unwind)]
    pub fn heal(&self, follower: u32) -> bool {
        self.ensemble.heal(follower as usize)
    }

    #[napi(catch_unwind)]
    pub fn behind(&self, member: u32) -> f64 {
        self.ensemble.behind(member as usize) as f64
    }
}
