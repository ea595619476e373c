//! Generated from api/ by api/generate; do not edit.

use napi_derive::napi;

use crate::event_loop::{Inbox, drop_quietly};
use crate::remote::{Remote, count, same};

#[napi(custom_finalize)]
pub struct Latch(pub(crate) Remote<zkrecipes::Latch>);

drop_quietly!(Latch);

impl Latch {
    pub fn new(core: zkrecipes::Latch, inbox: &Inbox) -> Latch {
        Latch(Remote::new(core, inbox))
    }
}

#[napi]
impl Latch {
    #[napi(catch_unwind)]
    pub fn path(&self) -> &str {
        self.0.path()
    }

    #[napi(catch_unwind)]
    pub fn count_down(&self, n: u32) -> f64 {
        self.0.ask(|it| async move { it.count_down(n as usize).await }, count)
    }

    #[napi(catch_unwind)]
    pub fn remaining(&self) -> f64 {
        self.0.ask(|it| async move { it.remaining().await }, count)
    }

    #[napi(catch_unwind)]
    pub fn reset(&self, count: u32) -> f64 {
        self.0.ask(|it| async move { it.reset(count as usize).await }, same)
    }

    #[napi(catch_unwind)]
    pub fn wait(&self, timeout: f64) -> f64 {
        self.0.wait(timeout, |it, limit| async move { it.wait(limit).await }, same)
    }
}
