//! A semaphore as everything that can be acquired.

use napi_derive::napi;

use crate::generated::Semaphore;
use crate::handle::Handle;

#[napi]
impl Semaphore {
    #[napi(catch_unwind)]
    pub fn handle(&self) -> Handle {
        Handle::new(&self.0, &self.0.inbox)
    }
}
