//! Names, and what they stand for.

use std::collections::BTreeMap;

use napi::bindgen_prelude::Buffer;
use napi_derive::napi;
use zkrecipes::drive;

use crate::declared::Declared;
use crate::event_loop::{Inbox, drop_quietly};
use crate::feed::Feed;
use crate::remote::{Remote, same};

#[napi(custom_finalize)]
pub struct Names(Remote<zkrecipes::Names>);

drop_quietly!(Names);

/// A name and what it stands for. A list of them, because a name that is a key could be `__proto__`.
#[napi(object)]
pub struct Named {
    pub name: String,
    pub data: Buffer,
}

pub fn named(all: BTreeMap<String, Vec<u8>>) -> Vec<Named> {
    all.into_iter().map(|(name, data)| Named { name, data: data.into() }).collect()
}

impl Names {
    pub fn new(names: zkrecipes::Names, inbox: &Inbox) -> Names {
        Names(Remote::new(names, inbox))
    }
}

#[napi]
impl Names {
    #[napi(catch_unwind)]
    pub fn path(&self) -> &str {
        self.0.path()
    }

    /// The call's value is a `Declared`.
    #[napi(catch_unwind)]
    pub fn bind(&self, name: String, data: &[u8], ephemeral: bool) -> f64 {
        self.0.ask(|names| drive::bind(&names, &name, data, ephemeral), Declared::from)
    }

    #[napi(catch_unwind)]
    pub fn lookup(&self, name: String) -> f64 {
        self.0.ask(|names| async move { names.lookup(&name).await }, |data| data.map(Buffer::from))
    }

    #[napi(catch_unwind)]
    pub fn unbind(&self, name: String) -> f64 {
        self.0.ask(|names| async move { names.unbind(&name).await }, same)
    }

    #[napi(catch_unwind)]
    pub fn list(&self) -> f64 {
        self.0.ask(|names| async move { names.list().await }, same)
    }

    #[napi(catch_unwind)]
    pub fn watch(&self) -> Feed {
        Feed::new(self.0.watch(), &self.0.inbox, named)
    }
}
