//! Generated from api/ by api/generate; do not edit.

use napi_derive::napi;

use crate::event_loop::{Inbox, drop_quietly};
use crate::remote::{Remote, same, tell_of_waits};

#[napi(custom_finalize)]
pub struct Barrier(pub(crate) Remote<zkrecipes::Barrier>);

drop_quietly!(Barrier);

tell_of_waits!(Barrier);

impl Barrier {
    pub fn new(core: zkrecipes::Barrier, inbox: &Inbox) -> Barrier {
        Barrier(Remote::new(core, inbox))
    }
}

#[napi]
impl Barrier {
    #[napi(catch_unwind)]
    pub fn path(&self) -> &str {
        self.0.path()
    }

    #[napi(catch_unwind)]
    pub fn create(&self) -> f64 {
        self.0.ask(|it| async move { it.create().await }, same)
    }

    #[napi(catch_unwind)]
    pub fn remove(&self) -> f64 {
        self.0.ask(|it| async move { it.remove().await }, same)
    }

    #[napi(catch_unwind)]
    pub fn is_up(&self) -> f64 {
        self.0.ask(|it| async move { it.is_up().await }, same)
    }

    #[napi(catch_unwind)]
    pub fn wait(&self, timeout: f64) -> f64 {
        self.0.wait(timeout, |it, limit| async move { it.wait(limit).await }, same)
    }
}
