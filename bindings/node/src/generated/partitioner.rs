//! Generated from api/ by api/generate; do not edit.

use napi_derive::napi;

use crate::event_loop::{Inbox, drop_quietly};
use crate::feed::Feed;
use crate::partitioner::{owners, weights};
use crate::remote::{Remote, same};

#[napi(custom_finalize)]
pub struct Partitioner(pub(crate) Remote<zkrecipes::Partitioner>);

drop_quietly!(Partitioner);

impl Partitioner {
    pub fn new(core: zkrecipes::Partitioner, inbox: &Inbox) -> Partitioner {
        Partitioner(Remote::new(core, inbox))
    }
}

#[napi]
impl Partitioner {
    #[napi(catch_unwind)]
    pub fn path(&self) -> &str {
        self.0.path()
    }

    #[napi(catch_unwind)]
    pub fn name(&self) -> &str {
        self.0.name()
    }

    #[napi(catch_unwind)]
    pub fn leave(&self) -> f64 {
        self.0.ask(|it| async move { it.leave().await }, same)
    }

    #[napi(catch_unwind)]
    pub fn owners(&self) -> f64 {
        self.0.ask(|it| async move { it.owners().await }, owners)
    }

    #[napi(catch_unwind)]
    pub fn watch(&self) -> Feed {
        Feed::new(self.0.watch(), &self.0.inbox, owners)
    }

    #[napi(catch_unwind)]
    pub fn members(&self) -> f64 {
        self.0.ask(|it| async move { it.members().await }, weights)
    }
}
