//! Generated from api/ by api/generate; do not edit.

use napi::bindgen_prelude::BigInt;
use napi_derive::napi;

use crate::event_loop::{Inbox, drop_quietly};
use crate::feed::Feed;
use crate::remote::{Remote, long, same};

#[napi(custom_finalize)]
pub struct Counter(pub(crate) Remote<zkrecipes::Counter>);

drop_quietly!(Counter);

impl Counter {
    pub fn new(core: zkrecipes::Counter, inbox: &Inbox) -> Counter {
        Counter(Remote::new(core, inbox))
    }
}

#[napi]
impl Counter {
    #[napi(catch_unwind)]
    pub fn path(&self) -> &str {
        self.0.path()
    }

    #[napi(catch_unwind)]
    pub fn get(&self) -> f64 {
        self.0.ask(|it| async move { it.get().await }, BigInt::from)
    }

    #[napi(catch_unwind)]
    pub fn add(&self, n: BigInt) -> f64 {
        self.0.ask(|it| async move { it.add(long(&n)).await }, BigInt::from)
    }

    #[napi(catch_unwind)]
    pub fn set(&self, value: BigInt) -> f64 {
        self.0.ask(|it| async move { it.set(long(&value)).await }, same)
    }

    #[napi(catch_unwind)]
    pub fn compare_and_set(&self, old: BigInt, value: BigInt) -> f64 {
        self.0.ask(|it| async move { it.compare_and_set(long(&old), long(&value)).await }, same)
    }

    #[napi(catch_unwind)]
    pub fn watch(&self) -> Feed {
        Feed::new(self.0.watch(), &self.0.inbox, BigInt::from)
    }
}
