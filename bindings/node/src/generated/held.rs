//! Generated from api/ by api/generate; do not edit.

use napi::bindgen_prelude::BigInt;
use napi_derive::napi;

use crate::held::Held;
use crate::remote::same;

#[napi]
impl Held {
    #[napi(catch_unwind)]
    pub fn is_held(&self) -> bool {
        self.held.is_held()
    }

    #[napi(catch_unwind)]
    pub fn fencing_token(&self) -> BigInt {
        self.held.fencing_token().into()
    }

    #[napi(catch_unwind)]
    pub fn verify(&self) -> f64 {
        self.held.ask(|it| async move { it.verify().await }, same)
    }

    #[napi(catch_unwind)]
    pub fn path(&self) -> &str {
        self.held.path()
    }

    #[napi(catch_unwind)]
    pub fn name(&self) -> &str {
        self.held.name()
    }

    #[napi(catch_unwind)]
    pub fn node(&self) -> &str {
        self.held.node()
    }

    #[napi(catch_unwind)]
    pub fn sequencer(&self) -> String {
        self.held.sequencer()
    }

    #[napi(catch_unwind)]
    pub fn passes(&self) -> u32 {
        self.held.passes()
    }

    #[napi(catch_unwind)]
    pub fn permits(&self) -> f64 {
        self.held.permits() as f64
    }
}
