//! Generated from api/ by api/generate; do not edit.

use napi::bindgen_prelude::Buffer;
use napi_derive::napi;

use crate::event_loop::{Inbox, drop_quietly};
use crate::remote::{Remote, same};

#[napi(custom_finalize)]
pub struct Item(pub(crate) Remote<zkrecipes::Item>);

drop_quietly!(Item);

impl Item {
    pub fn new(core: zkrecipes::Item, inbox: &Inbox) -> Item {
        Item(Remote::new(core, inbox))
    }
}

#[napi]
impl Item {
    #[napi(catch_unwind)]
    pub fn data(&self) -> Buffer {
        self.0.data().into()
    }

    #[napi(catch_unwind)]
    pub fn attempts(&self) -> u32 {
        self.0.attempts()
    }

    #[napi(catch_unwind)]
    pub fn ack(&self) -> f64 {
        self.0.ask(|it| it.ack(), same)
    }
}
