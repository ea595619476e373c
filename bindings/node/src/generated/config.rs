//! Generated from api/ by api/generate; do not edit.

use napi_derive::napi;

use crate::config::{Cached, versioned};
use crate::event_loop::{Inbox, drop_quietly};
use crate::feed::Feed;
use crate::remote::{Remote, same};

#[napi(custom_finalize)]
pub struct Config(pub(crate) Remote<zkrecipes::Config>);

drop_quietly!(Config);

impl Config {
    pub fn new(core: zkrecipes::Config, inbox: &Inbox) -> Config {
        Config(Remote::new(core, inbox))
    }
}

#[napi]
impl Config {
    #[napi(catch_unwind)]
    pub fn path(&self) -> &str {
        self.0.path()
    }

    #[napi(catch_unwind)]
    pub fn get(&self) -> f64 {
        self.0.ask(|it| async move { it.get().await }, versioned)
    }

    #[napi(catch_unwind)]
    pub fn set(&self, value: &[u8], version: Option<i32>) -> f64 {
        let value = value.to_vec();
        self.0.ask(|it| async move { it.set(&value, version).await }, same)
    }

    #[napi(catch_unwind)]
    pub fn create(&self, value: &[u8]) -> f64 {
        let value = value.to_vec();
        self.0.ask(|it| async move { it.create(&value).await }, same)
    }

    #[napi(catch_unwind)]
    pub fn compare_and_set(&self, value: &[u8], version: Option<i32>) -> f64 {
        let value = value.to_vec();
        self.0.ask(|it| async move { it.compare_and_set(&value, version).await }, same)
    }

    #[napi(catch_unwind)]
    pub fn watch(&self) -> Feed {
        Feed::new(self.0.watch(), &self.0.inbox, versioned)
    }

    #[napi(catch_unwind)]
    pub fn cached(&self) -> Option<Cached> {
        self.0.cached().map(Cached::from)
    }
}
