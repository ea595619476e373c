//! The semaphore: what it has beside the verbs of `Handle`.

use napi_derive::napi;

use crate::event_loop::{Inbox, drop_quietly};
use crate::handle::{Handle, contenders};
use crate::remote::{Remote, same};

#[napi(custom_finalize)]
pub struct Semaphore(Remote<zkrecipes::Semaphore>);

drop_quietly!(Semaphore);

impl Semaphore {
    pub fn new(semaphore: zkrecipes::Semaphore, inbox: &Inbox) -> Semaphore {
        Semaphore(Remote::new(semaphore, inbox))
    }
}

#[napi]
impl Semaphore {
    #[napi(catch_unwind)]
    pub fn handle(&self) -> Handle {
        Handle::new(&self.0, &self.0.inbox)
    }

    #[napi(catch_unwind)]
    pub fn permits(&self) -> f64 {
        self.0.permits() as f64
    }

    #[napi(catch_unwind)]
    pub fn holders(&self) -> f64 {
        self.0.ask(|semaphore| async move { semaphore.holders().await }, contenders)
    }

    #[napi(catch_unwind)]
    pub fn resize(&self, permits: u32) -> f64 {
        self.0.ask(|semaphore| async move { semaphore.resize(permits as usize).await }, same)
    }
}
