//! What stops many: until somebody says go (`Barrier`), or until all are there (`DoubleBarrier`).

use napi::Env;
use napi_derive::napi;

use crate::event_loop::{Inbox, drop_quietly};
use crate::failure::OrThrow;
use crate::remote::{Remote, same, tell_of_waits};

#[napi(custom_finalize)]
pub struct Barrier(Remote<zkrecipes::Barrier>);

#[napi(custom_finalize)]
pub struct DoubleBarrier(Remote<zkrecipes::DoubleBarrier>);

drop_quietly!(Barrier, DoubleBarrier);

tell_of_waits!(Barrier, DoubleBarrier);

impl Barrier {
    pub fn new(barrier: zkrecipes::Barrier, inbox: &Inbox) -> Barrier {
        Barrier(Remote::new(barrier, inbox))
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
        self.0.ask(|barrier| async move { barrier.create().await }, same)
    }

    #[napi(catch_unwind)]
    pub fn remove(&self) -> f64 {
        self.0.ask(|barrier| async move { barrier.remove().await }, same)
    }

    #[napi(catch_unwind)]
    pub fn is_up(&self) -> f64 {
        self.0.ask(|barrier| async move { barrier.is_up().await }, same)
    }

    #[napi(catch_unwind)]
    pub fn wait(&self, timeout: f64) -> f64 {
        self.0.wait(timeout, |barrier, limit| async move { barrier.wait(limit).await }, same)
    }
}

impl DoubleBarrier {
    pub fn new(barrier: zkrecipes::DoubleBarrier, inbox: &Inbox) -> DoubleBarrier {
        DoubleBarrier(Remote::new(barrier, inbox))
    }
}

#[napi]
impl DoubleBarrier {
    #[napi(catch_unwind)]
    pub fn path(&self) -> &str {
        self.0.path()
    }

    #[napi(catch_unwind)]
    pub fn parties(&self) -> f64 {
        self.0.parties() as f64
    }

    #[napi(catch_unwind)]
    pub fn name(&self) -> &str {
        self.0.name()
    }

    #[napi(catch_unwind)]
    pub fn has_entered(&self) -> bool {
        self.0.has_entered()
    }

    /// The call's value is true.
    #[napi(catch_unwind)]
    pub fn enter(&self, timeout: f64) -> f64 {
        self.0.wait(timeout, |barrier, limit| async move { barrier.enter(limit).await }, |()| true)
    }

    #[napi(catch_unwind)]
    pub fn leave(&self, timeout: f64) -> f64 {
        self.0.wait(timeout, |barrier, limit| async move { barrier.leave(limit).await }, same)
    }

    #[napi(catch_unwind)]
    pub fn withdraw(&self, env: &Env) -> napi::Result<()> {
        self.0.withdraw().or_throw(env)
    }
}
