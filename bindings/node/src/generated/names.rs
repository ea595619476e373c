//! Generated from api/ by api/generate; do not edit.

use napi_derive::napi;

use crate::event_loop::{Inbox, drop_quietly};
use crate::feed::Feed;
use crate::names::named;
use crate::remote::{Remote, buffer, same};

#[napi(custom_finalize)]
pub struct Names(pub(crate) Remote<zkrecipes::Names>);

drop_quietly!(Names);

impl Names {
    pub fn new(core: zkrecipes::Names, inbox: &Inbox) -> Names {
        Names(Remote::new(core, inbox))
    }
}

#[napi]
impl Names {
    #[napi(catch_unwind)]
    pub fn path(&self) -> &str {
        self.0.path()
    }

    #[napi(catch_unwind)]
    pub fn lookup(&self, name: String) -> f64 {
        self.0.ask(|it| async move { it.lookup(&name).await }, buffer)
    }

    #[napi(catch_unwind)]
    pub fn unbind(&self, name: String) -> f64 {
        self.0.ask(|it| async move { it.unbind(&name).await }, same)
    }

    #[napi(catch_unwind)]
    pub fn list(&self) -> f64 {
        self.0.ask(|it| async move { it.list().await }, same)
    }

    #[napi(catch_unwind)]
    pub fn watch(&self) -> Feed {
        Feed::new(self.0.watch(), &self.0.inbox, named)
    }
}
