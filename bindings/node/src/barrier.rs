//! What a double barrier has that is not generated.

use napi_derive::napi;

use crate::generated::DoubleBarrier;

#[napi]
impl DoubleBarrier {
    /// The call's value is true.
    #[napi(catch_unwind)]
    pub fn enter(&self, timeout: f64) -> f64 {
        self.0.wait(timeout, |barrier, limit| async move { barrier.enter(limit).await }, |()| true)
    }
}
