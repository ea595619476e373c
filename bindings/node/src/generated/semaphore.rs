//! Generated from api/ by api/generate; do not edit.

use napi_derive::napi;

use crate::event_loop::{Inbox, drop_quietly};
use crate::handle::contenders;
use crate::remote::{Remote, same};

#[napi(custom_finalize)]
pub struct Semaphore(pub(crate) Remote<zkrecipes::Semaphore>);

drop_quietly!(Semaphore);

impl Semaphore {
    pub fn new(core: zkrecipes::Semaphore, inbox: &Inbox) -> Semaphore {
        Semaphore(Remote::new(core, inbox))
    }
}

#[napi]
impl Semaphore {
    #[napi(catch_unwind)]
    pub fn permits(&self) -> f64 {
        self.0.permits() as f64
    }

    #[napi(catch_unwind)]
    pub fn holders(&self) -> f64 {
        self.0.ask(|it| async move { it.holders().await }, contenders)
    }

    #[napi(catch_unwind)]
    pub fn resize(&self, permits: u32) -> f64 {
        self.0.ask(|it| async move { it.resize(permits as usize).await }, same)
    }
}
