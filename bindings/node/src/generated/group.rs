//! Generated from api/ by api/generate; do not edit.

use napi_derive::napi;

use crate::event_loop::{Inbox, drop_quietly};
use crate::feed::Feed;
use crate::group::Event;
use crate::names::named;
use crate::remote::{Remote, same};

#[napi(custom_finalize)]
pub struct Group(pub(crate) Remote<zkrecipes::Group>);

drop_quietly!(Group);

impl Group {
    pub fn new(core: zkrecipes::Group, inbox: &Inbox) -> Group {
        Group(Remote::new(core, inbox))
    }
}

#[napi]
impl Group {
    #[napi(catch_unwind)]
    pub fn path(&self) -> &str {
        self.0.path()
    }

    #[napi(catch_unwind)]
    pub fn leave(&self) -> f64 {
        self.0.ask(|it| async move { it.leave().await }, same)
    }

    #[napi(catch_unwind)]
    pub fn update(&self, data: &[u8]) -> f64 {
        let data = data.to_vec();
        self.0.ask(|it| async move { it.update(&data).await }, same)
    }

    #[napi(catch_unwind)]
    pub fn members(&self) -> f64 {
        self.0.ask(|it| async move { it.members().await }, named)
    }

    #[napi(catch_unwind)]
    pub fn wait_for(&self, n: u32, timeout: f64) -> f64 {
        self.0.wait(timeout, |it, limit| async move { it.wait_for(n as usize, limit).await }, named)
    }

    #[napi(catch_unwind)]
    pub fn watch(&self) -> Feed {
        Feed::new(self.0.watch(), &self.0.inbox, Event::from)
    }
}
