//! The semaphore.

use std::time::Duration;

use napi::Env;
use napi_derive::napi;
use zkrecipes::time;

use crate::event_loop::{Inbox, drop_quietly};
use crate::failure::throw;
use crate::held::{acquisition, attempt};
use crate::lock::{contenders, patience};

#[napi(custom_finalize)]
pub struct Semaphore {
    semaphore: zkrecipes::Semaphore,
    inbox: Inbox,
}

drop_quietly!(Semaphore);

impl Semaphore {
    pub fn new(semaphore: zkrecipes::Semaphore, inbox: Inbox) -> Semaphore {
        Semaphore { semaphore, inbox }
    }
}

#[napi]
impl Semaphore {
    #[napi(catch_unwind)]
    pub fn path(&self) -> &str {
        self.semaphore.path()
    }

    #[napi(catch_unwind)]
    pub fn permits(&self) -> f64 {
        self.semaphore.permits() as f64
    }

    /// The call's value is a `Held`.
    #[napi(catch_unwind)]
    pub fn acquire(&self, env: &Env, n: u32, timeout: f64) -> napi::Result<f64> {
        let limit = time::from_js_millis("timeout", timeout).map_err(|error| throw(env, error))?;
        Ok(acquisition(&self.inbox, self.semaphore.acquire_kept(n as usize, limit)))
    }

    /// The call's value is a `Held`, or null when that many are not free.
    #[napi(catch_unwind)]
    pub fn try_acquire(&self, n: u32) -> f64 {
        attempt(&self.inbox, self.semaphore.acquire_kept(n as usize, Some(Duration::ZERO)))
    }

    #[napi(catch_unwind)]
    pub fn holders(&self) -> f64 {
        let semaphore = self.semaphore.clone();
        self.inbox.run(async move { semaphore.holders().await }, contenders)
    }

    #[napi(catch_unwind)]
    pub fn contenders(&self) -> f64 {
        let semaphore = self.semaphore.clone();
        self.inbox.run(async move { semaphore.contenders().await }, contenders)
    }

    /// The call's value tells whether there was anybody to ask.
    #[napi(catch_unwind)]
    pub fn revoke(&self, env: &Env, contender: Option<String>, force_after: f64) -> napi::Result<f64> {
        let patience = patience(env, force_after)?;
        let semaphore = self.semaphore.clone();
        let asking = async move { semaphore.revoke(contender.as_deref(), patience).await };
        Ok(self.inbox.run(asking, |asked| asked))
    }

    #[napi(catch_unwind)]
    pub fn resize(&self, permits: u32) -> f64 {
        let semaphore = self.semaphore.clone();
        self.inbox.run(async move { semaphore.resize(permits as usize).await }, |()| ())
    }
}
