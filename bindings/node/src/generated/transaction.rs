//! Generated from api/ by api/generate; do not edit.

use napi::Env;
use napi_derive::napi;

use crate::event_loop::{Inbox, drop_quietly};
use crate::failure::OrThrow;
use crate::nodes::parts;
use crate::remote::Remote;

#[napi(custom_finalize)]
pub struct Transaction(pub(crate) Remote<zkrecipes::Transaction>);

drop_quietly!(Transaction);

impl Transaction {
    pub fn new(core: zkrecipes::Transaction, inbox: &Inbox) -> Transaction {
        Transaction(Remote::new(core, inbox))
    }
}

#[napi]
impl Transaction {
    #[napi(catch_unwind)]
    pub fn set(&self, env: &Env, path: String, data: &[u8], version: Option<i32>) -> napi::Result<()> {
        self.0.set(&path, data, version).or_throw(env)
    }

    #[napi(catch_unwind)]
    pub fn delete(&self, env: &Env, path: String, version: Option<i32>) -> napi::Result<()> {
        self.0.delete(&path, version).or_throw(env)
    }

    #[napi(catch_unwind)]
    pub fn check(&self, env: &Env, path: String, version: Option<i32>) -> napi::Result<()> {
        self.0.check(&path, version).or_throw(env)
    }

    #[napi(catch_unwind)]
    pub fn commit(&self) -> f64 {
        self.0.ask(|it| async move { it.commit().await }, parts)
    }
}
