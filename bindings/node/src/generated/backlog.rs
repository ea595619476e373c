//! Generated from api/ by api/generate; do not edit.

use napi_derive::napi;

use crate::event_loop::{Inbox, drop_quietly};
use crate::options::finite;
use crate::queue::Stats;
use crate::remote::{Remote, buffer, buffers, count, tell_of_waits};

#[napi(custom_finalize)]
pub struct Backlog(pub(crate) Remote<zkrecipes::Backlog>);

drop_quietly!(Backlog);

tell_of_waits!(Backlog);

impl Backlog {
    pub fn new(core: zkrecipes::Backlog, inbox: &Inbox) -> Backlog {
        Backlog(Remote::new(core, inbox))
    }
}

#[napi]
impl Backlog {
    #[napi(catch_unwind)]
    pub fn path(&self) -> &str {
        self.0.path()
    }

    #[napi(catch_unwind)]
    pub fn peek(&self) -> f64 {
        self.0.ask(|it| async move { it.peek().await }, buffer)
    }

    #[napi(catch_unwind)]
    pub fn len(&self) -> f64 {
        self.0.ask(|it| async move { it.len().await }, count)
    }

    #[napi(catch_unwind)]
    pub fn stats(&self) -> f64 {
        self.0.ask(|it| async move { it.stats().await }, Stats::from)
    }

    #[napi(catch_unwind)]
    pub fn items(&self) -> f64 {
        self.0.ask(|it| async move { it.items().await }, buffers)
    }

    #[napi(catch_unwind)]
    pub fn replay(&self) -> f64 {
        self.0.ask(|it| async move { it.replay().await }, count)
    }

    #[napi(catch_unwind)]
    pub fn replay_one(&self, id: String) -> f64 {
        self.0.ask(|it| async move { it.replay_one(&id).await }, count)
    }

    #[napi(catch_unwind)]
    pub fn purge(&self, older_than: f64) -> f64 {
        self.0.ask(|it| async move { it.purge(finite("olderThan", older_than)?).await }, count)
    }
}
