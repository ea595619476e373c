//! Generated from api/ by api/generate; do not edit.

use napi_derive::napi;

use crate::election::{Election, leader};
use crate::feed::Feed;
use crate::handle::contenders;
use crate::remote::same;

#[napi]
impl Election {
    #[napi(catch_unwind)]
    pub fn transfer(&self, to: String) -> f64 {
        self.0.ask(|it| async move { it.transfer(&to).await }, same)
    }

    #[napi(catch_unwind)]
    pub fn leader(&self) -> f64 {
        self.0.ask(|it| async move { it.leader().await }, leader)
    }

    #[napi(catch_unwind)]
    pub fn candidates(&self) -> f64 {
        self.0.ask(|it| async move { it.candidates().await }, contenders)
    }

    #[napi(catch_unwind)]
    pub fn observe(&self) -> Feed {
        Feed::new(self.0.observe(), &self.0.inbox, leader)
    }
}
