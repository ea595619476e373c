//! Generated from api/ by api/generate; do not edit.

use napi_derive::napi;

use crate::client::Client;
use crate::remote::same;

#[napi]
impl Client {
    #[napi(catch_unwind)]
    pub fn check_sequencer(&self, sequencer: String) -> f64 {
        self.0.ask(|it| async move { it.check_sequencer(&sequencer).await }, same)
    }

    #[napi(catch_unwind)]
    pub fn whoami(&self) -> f64 {
        self.0.ask(|it| async move { it.whoami().await }, same)
    }
}
