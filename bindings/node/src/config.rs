//! What a config tells.

use napi::bindgen_prelude::Buffer;
use napi_derive::napi;

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

pub fn versioned(found: Option<zkrecipes::Versioned>) -> Option<Versioned> {
    found.map(Versioned::from)
}

impl From<zkrecipes::Cached> for Cached {
    fn from(cached: zkrecipes::Cached) -> Cached {
        Cached { value: versioned(cached.value), age: cached.age.as_secs_f64() * 1000.0 }
    }
}
