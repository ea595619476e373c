//! The counter.

use napi::bindgen_prelude::BigInt;
use napi_derive::napi;

use crate::event_loop::{Inbox, drop_quietly};
use crate::remote::{Remote, same};

#[napi(custom_finalize)]
pub struct Counter(Remote<zkrecipes::Counter>);

drop_quietly!(Counter);

impl Counter {
    pub fn new(counter: zkrecipes::Counter, inbox: &Inbox) -> Counter {
        Counter(Remote::new(counter, inbox))
    }
}

/// `node/lib` lets only what fits through.
fn long(n: &BigInt) -> i64 {
    n.get_i64().0
}

#[napi]
impl Counter {
    #[napi(catch_unwind)]
    pub fn path(&self) -> &str {
        self.0.path()
    }

    #[napi(catch_unwind)]
    pub fn get(&self) -> f64 {
        self.0.ask(|counter| async move { counter.get().await }, BigInt::from)
    }

    #[napi(catch_unwind)]
    pub fn add(&self, n: BigInt) -> f64 {
        self.0.ask(|counter| async move { counter.add(long(&n)).await }, BigInt::from)
    }

    #[napi(catch_unwind)]
    pub fn compare_and_set(&self, old: BigInt, new: BigInt) -> f64 {
        self.0.ask(|counter| async move { counter.compare_and_set(long(&old), long(&new)).await }, same)
    }
}
