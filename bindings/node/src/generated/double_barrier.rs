//! Generated from api/ by api/generate; do not edit.

use napi::Env;
use napi_derive::napi;

use crate::event_loop::{Inbox, drop_quietly};
use crate::failure::OrThrow;
use crate::remote::{Remote, same, tell_of_waits};

#[napi(custom_finalize)]
pub struct DoubleBarrier(pub(crate) Remote<zkrecipes::DoubleBarrier>);

drop_quietly!(DoubleBarrier);

tell_of_waits!(DoubleBarrier);

impl DoubleBarrier {
    pub fn new(core: zkrecipes::DoubleBarrier, inbox: &Inbox) -> DoubleBarrier {
        DoubleBarrier(Remote::new(core, inbox))
    }
}

#[napi]
impl DoubleBarrier {
    #[napi(catch_unwind)]
    pub fn path(&self) -> &str {
        self.0.path()
    }

    #[napi(catch_unwind)]
    pub fn parties(&self) -> f64 {
        self.0.parties() as f64
    }

    #[napi(catch_unwind)]
    pub fn name(&self) -> &str {
        self.0.name()
    }

    #[napi(catch_unwind)]
    pub fn has_entered(&self) -> bool {
        self.0.has_entered()
    }

    #[napi(catch_unwind)]
    pub fn leave(&self, timeout: f64) -> f64 {
        self.0.wait(timeout, |it, limit| async move { it.leave(limit).await }, same)
    }

    #[napi(catch_unwind)]
    pub fn withdraw(&self, env: &Env) -> napi::Result<()> {
        self.0.withdraw().or_throw(env)
    }
}
