//! Panics on purpose, one at every kind of place where the addon runs code: only compiled for the tests.

use napi_derive::napi;

use crate::event_loop::{EventLoop, drop_quietly};

/// In a verb that does not wait.
#[napi(catch_unwind)]
pub fn panic_now() {
    panic!("on purpose");
}

/// In a future of a verb that waits.
#[napi(catch_unwind)]
pub fn panic_in_future(event_loop: &EventLoop) -> f64 {
    event_loop.inbox().run::<(), ()>(async { panic!("on purpose") }, |()| ())
}

/// While a result is converted on the JavaScript thread.
#[napi(catch_unwind)]
pub fn panic_in_conversion(event_loop: &EventLoop) -> f64 {
    event_loop.inbox().run(async { Ok(()) }, |()| -> () { panic!("on purpose") })
}

/// In a finalizer.
#[napi(custom_finalize)]
pub struct PanicsWhenCollected(());

impl Drop for PanicsWhenCollected {
    fn drop(&mut self) {
        panic!("on purpose");
    }
}

drop_quietly!(PanicsWhenCollected);

#[napi]
impl PanicsWhenCollected {
    #[napi(constructor, catch_unwind)]
    #[allow(clippy::new_without_default)]
    pub fn new() -> PanicsWhenCollected {
        PanicsWhenCollected(())
    }
}
