//! What a config tells.

use napi::bindgen_prelude::Buffer;
use napi_derive::napi;
use zkrecipes::drive;

use crate::generated::Config;
use crate::remote::same;

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

#[napi]
impl Config {
    /// A step of `update`: the version that the value has then, or null where somebody has changed it.
    #[napi(catch_unwind)]
    pub fn set_after(&self, value: &[u8], version: Option<i32>) -> f64 {
        let value = value.to_vec();
        let set = |config: zkrecipes::Config| async move {
            let is_set = config.compare_and_set(&value, version).await?;
            Ok(is_set.then(|| drive::version_after(version)))
        };
        self.0.ask(set, same)
    }
}

pub fn versioned(found: Option<zkrecipes::Versioned>) -> Option<Versioned> {
    found.map(Versioned::from)
}

impl From<zkrecipes::Cached> for Cached {
    fn from(cached: zkrecipes::Cached) -> Cached {
        Cached { value: versioned(cached.value), age: cached.age.as_secs_f64() * 1000.0 }
    }
}
