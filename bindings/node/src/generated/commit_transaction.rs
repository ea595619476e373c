//! Generated from api/ by api/generate; do not edit.

use napi::bindgen_prelude::Buffer;
use napi_derive::napi;
use zkrecipes::Outcome;

use crate::event_loop::{Inbox, drop_quietly};
use crate::remote::Remote;

#[napi(custom_finalize)]
pub struct CommitTransaction(pub(crate) Remote<zkrecipes::CommitTransaction>);

drop_quietly!(CommitTransaction);

impl CommitTransaction {
    pub fn new(core: zkrecipes::CommitTransaction, inbox: &Inbox) -> CommitTransaction {
        CommitTransaction(Remote::new(core, inbox))
    }
}

#[napi]
impl CommitTransaction {
    #[napi(catch_unwind)]
    pub fn id(&self) -> &str {
        self.0.id()
    }

    #[napi(catch_unwind)]
    pub fn sites(&self) -> Vec<String> {
        self.0.sites().to_vec()
    }

    #[napi(catch_unwind)]
    pub fn payload(&self) -> Buffer {
        self.0.payload().into()
    }

    #[napi(catch_unwind)]
    pub fn reason(&self) -> &str {
        self.0.reason()
    }

    #[napi(catch_unwind)]
    pub fn outcome(&self, timeout: f64) -> f64 {
        self.0.wait(timeout, |it, limit| async move { it.outcome(limit).await }, Outcome::name)
    }
}
