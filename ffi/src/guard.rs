//! The one boundary between Rust and C: no panic crosses it, and every error leaves through it. The testing kit has this
//! file too.

use std::any::Any;
use std::ffi::c_int;
use std::panic::{AssertUnwindSafe, catch_unwind};

use zkrecipes::drive::sanitizer;
use zkrecipes::{Error, ErrorKind, Result};

use crate::error::{self, zkr_error};
use crate::status::{status, zkr_status};

/// A verb: its status, and its error for whoever gave a place to put it.
///
/// An error that already stands in that place is left alone. It would leak if it were replaced, and refusing the call
/// could leave a lock unreleased.
pub(crate) fn verb(place: *mut *mut zkr_error, body: impl FnOnce() -> Result<()>) -> zkr_status {
    let mut body = Some(body);
    any_verb(place, &mut || body.take().map_or(Ok(()), |body| body()))
}

/// Without the type of the body, and so there once.
fn any_verb(place: *mut *mut zkr_error, body: &mut dyn FnMut() -> Result<()>) -> zkr_status {
    sanitizer::ours(|| match shielded(body) {
        Ok(()) => zkr_status::ZKR_OK,
        Err(error) => {
            // SAFETY: `place` is NULL or points to a zkr_error pointer of the caller's, which the header demands.
            unsafe {
                if !place.is_null() && (*place).is_null() {
                    *place = error::hand_over(&error);
                }
            }
            status(error.kind())
        }
    })
}

/// A verb that reports by its status alone.
pub(crate) fn verdict(body: impl FnOnce() -> Result<()>) -> zkr_status {
    verb(std::ptr::null_mut(), body)
}

/// A question that has an answer for every handle, also for one that cannot be used.
pub(crate) fn answer<T>(otherwise: T, body: impl FnOnce() -> Option<T>) -> T {
    shielded(|| Ok(body())).ok().flatten().unwrap_or(otherwise)
}

/// Freeing and the like, which have nothing to report.
pub(crate) fn quietly(body: impl FnOnce()) {
    let _ = shielded(|| {
        body();
        Ok(())
    });
}

/// Where the calls of all threads meet, for [`sanitizer`]: what was done before any call comes before what is done when
/// a blocking one returns, and in callbacks. That is what a lock is for: one holder sees what the holder before it did.
pub(crate) static ENTRIES: u8 = 0;

/// Runs the body; a panic in it is an error like any other.
pub(crate) fn shielded<T>(body: impl FnOnce() -> Result<T>) -> Result<T> {
    let (mut body, mut outcome) = (Some(body), None);
    shield(&mut || outcome = body.take().map(|body| body()))?;
    outcome.unwrap_or_else(|| Err(bug(&"a body that does not run")))
}

/// The same without the type of the body, and so there once.
fn shield(body: &mut dyn FnMut()) -> Result<()> {
    let _stays = Stays::begin();
    sanitizer::release(&ENTRIES);
    // What a panic leaves behind is only reachable through handles, whose objects the core keeps consistent.
    sanitizer::ours(|| catch_unwind(AssertUnwindSafe(body)).map_err(|panic| bug(panic.as_ref())))
}

/// While this lives, pthread_cancel does not end the calling thread: it would unwind through Rust, which aborts the process.
/// It is put off until after the call.
struct Stays(c_int);

/// As both glibc and musl have it.
const PTHREAD_CANCEL_DISABLE: c_int = 1;

unsafe extern "C" {
    fn pthread_setcancelstate(state: c_int, before: *mut c_int) -> c_int;
}

impl Stays {
    fn begin() -> Stays {
        let mut before = PTHREAD_CANCEL_DISABLE;
        // SAFETY: it only writes there, and counts for this thread alone.
        unsafe { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &mut before) };
        Stays(before)
    }
}

impl Drop for Stays {
    fn drop(&mut self) {
        // SAFETY: the state that this thread was in. What was put off happens at the next cancellation point, which is none of
        // ours.
        unsafe { pthread_setcancelstate(self.0, std::ptr::null_mut()) };
    }
}

fn bug(panic: &(dyn Any + Send)) -> Error {
    let said = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned());
    Error::new(ErrorKind::Internal, format!("a bug of zkrecipes, please report it: {said}"))
}
