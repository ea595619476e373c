//! The value that many follow.

use napi::bindgen_prelude::Buffer;
use napi_derive::napi;

use crate::event_loop::{Inbox, drop_quietly};
use crate::feed::Feed;
use crate::remote::{Remote, same};

#[napi(custom_finalize)]
pub struct Config(Remote<zkrecipes::Config>);

drop_quietly!(Config);

#[napi(object)]
pub struct Versioned {
    pub value: Buffer,
    pub version: i32,
}

impl From<zkrecipes::Versioned> for Versioned {
    fn from(found: zkrecipes::Versioned) -> Versioned {
        Versioned { value: found.value.into(), version: found.version }
    }
}

#[napi(object, use_nullable = true)]
pub struct Cached {
    pub value: Option<Versioned>,
    /// Milliseconds.
    pub age: f64,
}

fn versioned(found: Option<zkrecipes::Versioned>) -> Option<Versioned> {
    found.map(Versioned::from)
}

impl Config {
    pub fn new(config: zkrecipes::Config, inbox: &Inbox) -> Config {
        Config(Remote::new(config, inbox))
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
        self.0.ask(|config| async move { config.get().await }, versioned)
    }

    #[napi(catch_unwind)]
    pub fn set(&self, value: &[u8], version: Option<i32>) -> f64 {
        let value = value.to_vec();
        self.0.ask(|config| async move { config.set(&value, version).await }, same)
    }

    #[napi(catch_unwind)]
    pub fn create(&self, value: &[u8]) -> f64 {
        let value = value.to_vec();
        self.0.ask(|config| async move { config.create(&value).await }, same)
    }

    #[napi(catch_unwind)]
    pub fn watch(&self) -> Feed {
        Feed::new(self.0.watch(), &self.0.inbox, versioned)
    }

    #[napi(catch_unwind)]
    pub fn cached(&self) -> Option<Cached> {
        self.0
            .cached()
            .map(|cached| Cached { value: versioned(cached.value), age: cached.age.as_secs_f64() * 1000.0 })
    }
}
