//! What names are bound to, and a binding on its way.

use std::collections::BTreeMap;

use napi::bindgen_prelude::Buffer;
use napi_derive::napi;
use zkrecipes::drive;

use crate::declared::Declared;
use crate::generated::Names;
use crate::options::finite;

/// A name and what it stands for. A list of them, because a name that is a key could be `__proto__`.
#[napi(object)]
pub struct Named {
    pub name: String,
    pub data: Buffer,
}

pub fn named(all: BTreeMap<String, Vec<u8>>) -> Vec<Named> {
    all.into_iter().map(|(name, data)| Named { name, data: data.into() }).collect()
}

#[napi]
impl Names {
    /// The call's value is a `Declared`.
    #[napi(catch_unwind)]
    pub fn bind(&self, name: String, data: &[u8], ephemeral: bool, ttl: Option<f64>) -> f64 {
        let data = data.to_vec();
        let bound = |names: zkrecipes::Names| async move {
            let ttl = ttl.map(|ttl| finite("ttl", ttl)).transpose()?;
            drive::bind(&names, &name, &data, ephemeral, ttl).await
        };
        self.0.ask(bound, Declared::from)
    }
}
