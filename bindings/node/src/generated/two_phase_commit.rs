//! Generated from api/ by api/generate; do not edit.

use napi_derive::napi;
use zkrecipes::Outcome;

use crate::commit::{status, statuses};
use crate::event_loop::{Inbox, drop_quietly};
use crate::remote::{Remote, same};

#[napi(custom_finalize)]
pub struct TwoPhaseCommit(pub(crate) Remote<zkrecipes::TwoPhaseCommit>);

drop_quietly!(TwoPhaseCommit);

impl TwoPhaseCommit {
    pub fn new(core: zkrecipes::TwoPhaseCommit, inbox: &Inbox) -> TwoPhaseCommit {
        TwoPhaseCommit(Remote::new(core, inbox))
    }
}

#[napi]
impl TwoPhaseCommit {
    #[napi(catch_unwind)]
    pub fn path(&self) -> &str {
        self.0.path()
    }

    #[napi(catch_unwind)]
    pub fn mode(&self) -> &str {
        self.0.mode().name()
    }

    #[napi(catch_unwind)]
    pub fn leave(&self) -> f64 {
        self.0.ask(|it| async move { it.leave().await }, same)
    }

    #[napi(catch_unwind)]
    pub fn history(&self) -> f64 {
        self.0.ask(|it| async move { it.history().await }, statuses)
    }

    #[napi(catch_unwind)]
    pub fn show(&self, id: String) -> f64 {
        self.0.ask(|it| async move { it.show(&id).await }, status)
    }

    #[napi(catch_unwind)]
    pub fn decide_abort(&self, id: String, reason: String) -> f64 {
        self.0.ask(|it| async move { it.decide_abort(&id, &reason).await }, Outcome::name)
    }
}
