//! Generated from api/ by api/generate; do not edit.

use napi::Env;
use napi_derive::napi;

use crate::event_loop::{Inbox, drop_quietly};
use crate::failure::OrThrow;
use crate::remote::{Remote, same};
use crate::services::instances;

#[napi(custom_finalize)]
pub struct Discovery(pub(crate) Remote<zkrecipes::Discovery>);

drop_quietly!(Discovery);

impl Discovery {
    pub fn new(core: zkrecipes::Discovery, inbox: &Inbox) -> Discovery {
        Discovery(Remote::new(core, inbox))
    }
}

#[napi]
impl Discovery {
    #[napi(catch_unwind)]
    pub fn path(&self) -> &str {
        self.0.path()
    }

    #[napi(catch_unwind)]
    pub fn instances(&self, name: String) -> f64 {
        self.0.ask(|it| async move { it.instances(&name).await }, instances)
    }

    #[napi(catch_unwind)]
    pub fn names(&self) -> f64 {
        self.0.ask(|it| async move { it.names().await }, same)
    }

    #[napi(catch_unwind)]
    pub fn failed(&self, env: &Env, name: String, id: String) -> napi::Result<()> {
        self.0.failed(&name, &id).or_throw(env)
    }
}
