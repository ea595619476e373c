//! Generated from api/ by api/generate; do not edit.

use napi::bindgen_prelude::Buffer;
use napi_derive::napi;
use zkrecipes::Outcome;

use crate::event_loop::{Inbox, drop_quietly};
use crate::remote::{Remote, same};

#[napi(custom_finalize)]
pub struct Proposal(pub(crate) Remote<zkrecipes::Proposal>);

drop_quietly!(Proposal);

impl Proposal {
    pub fn new(core: zkrecipes::Proposal, inbox: &Inbox) -> Proposal {
        Proposal(Remote::new(core, inbox))
    }
}

#[napi]
impl Proposal {
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

    #[napi(catch_unwind)]
    pub fn has_voted(&self) -> bool {
        self.0.has_voted()
    }

    #[napi(catch_unwind)]
    pub fn vote_commit(&self) -> f64 {
        self.0.ask(|it| async move { it.vote_commit().await }, same)
    }

    #[napi(catch_unwind)]
    pub fn vote_abort(&self, reason: String) -> f64 {
        self.0.ask(|it| async move { it.vote_abort(&reason).await }, same)
    }

    #[napi(catch_unwind)]
    pub fn acknowledge(&self) -> f64 {
        self.0.ask(|it| async move { it.acknowledge().await }, same)
    }
}
