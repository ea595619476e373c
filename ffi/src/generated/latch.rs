//! Generated from api/latch.toml by api/generate; do not edit.

use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};

use zkrecipes::time;

use crate::cancel::zkr_cancel_token;
use crate::client::{ClientHandle, zkr_client};
use crate::error::zkr_error;
use crate::events::{zkr_done_callback, zkr_number_callback};
use crate::handle::Object;
use crate::input;
use crate::input::{HandlePlace, Place, to_c};
use crate::status::zkr_status;
use crate::verbs;
use crate::verbs::{Recipe, Way};

/// Closed until it was counted down as often as it says, by whomever, and open from then on. Every count is made
/// exactly once, also when its answer gets lost; where that cannot be known any more, it is ZKR_CONNECTION_LOST.
pub struct zkr_latch {
    _opaque: [u8; 0],
}

pub(crate) type LatchHandle = Recipe<zkrecipes::Latch>;

impl Object for LatchHandle {
    type Opaque = zkr_latch;
    const NAME: &'static str = "zkr_latch";

    fn is_part(&self) -> bool {
        self.is_part
    }
}

/// Makes a handle of a latch that has to be counted down count times, at least 1. Who counts first decides: a latch
/// that is there keeps what is left of it. Validates, but sends nothing. On success *latch belongs to the caller: free
/// it with zkr_latch_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_latch_new(
    client: *mut zkr_client,
    path: *const c_char,
    count: usize,
    latch: *mut *mut zkr_latch,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        client,
        error,
        || HandlePlace::required("latch", latch),
        |it: &ClientHandle| {
            let path = input::text("path", path)?;
            let count = input::count("count", count)?;
            let core = it.core.latch(&path, count)?;
            Ok(Recipe { client: it.core.clone(), path: to_c(core.path()), core, is_part: false })
        },
    )
}

/// Frees a latch. Calls in progress on it go on. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_latch_free(latch: *mut zkr_latch) {
    verbs::free(latch, |_: &LatchHandle| {});
}

/// The path of the latch; NULL for a handle that cannot be used. Valid until it is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_latch_path(latch: *const zkr_latch) -> *const c_char {
    verbs::ask(latch, null(), |it: &LatchHandle| Some(it.path.as_ptr()))
}

/// Counts it down by n, at least 1. remaining may be NULL; otherwise it is for how much is left, and 0 is open.
/// ZKR_CONNECTION_LOST says that it cannot be known whether it was counted down.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_latch_count_down(
    latch: *mut zkr_latch,
    n: usize,
    remaining: *mut usize,
    error: *mut *mut zkr_error,
) -> zkr_status {
    latch_count_down(latch, n, Way::Waits { token: null(), error, place: &|| Ok(Place::optional(remaining)) })
}

/// zkr_latch_count_down in the background; the number is how much is left. ZKR_OK says that the callback will be called
/// exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_latch_count_down_async(
    latch: *mut zkr_latch,
    n: usize,
    callback: zkr_number_callback,
    user_data: *mut c_void,
) -> zkr_status {
    latch_count_down(latch, n, Way::Starts { token: null(), callback, user_data })
}

fn latch_count_down(
    latch: *const zkr_latch,
    n: usize,
    way: Way<'_, Place<usize>, zkr_number_callback>,
) -> zkr_status {
    verbs::call(latch, way, |it: &LatchHandle| {
        let core = it.core.clone();
        let n = input::count("n", n)?;
        Ok(async move { core.count_down(n).await })
    })
}

/// How much is left until it is open, no older than this call.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_latch_remaining(
    latch: *mut zkr_latch,
    remaining: *mut usize,
    error: *mut *mut zkr_error,
) -> zkr_status {
    latch_remaining(
        latch,
        Way::Waits { token: null(), error, place: &|| Place::required("remaining", remaining) },
    )
}

/// zkr_latch_remaining in the background; the number is how much is left. ZKR_OK says that the callback will be called
/// exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_latch_remaining_async(
    latch: *mut zkr_latch,
    callback: zkr_number_callback,
    user_data: *mut c_void,
) -> zkr_status {
    latch_remaining(latch, Way::Starts { token: null(), callback, user_data })
}

fn latch_remaining(latch: *const zkr_latch, way: Way<'_, Place<usize>, zkr_number_callback>) -> zkr_status {
    verbs::call(latch, way, |it: &LatchHandle| {
        let core = it.core.clone();
        Ok(async move { core.remaining().await })
    })
}

/// Sets how much is left to count, at least 1: it is closed. Who waits for it goes on waiting.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_latch_reset(
    latch: *mut zkr_latch,
    count: usize,
    error: *mut *mut zkr_error,
) -> zkr_status {
    latch_reset(latch, count, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_latch_reset in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_latch_reset_async(
    latch: *mut zkr_latch,
    count: usize,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    latch_reset(latch, count, Way::Starts { token: null(), callback, user_data })
}

fn latch_reset(latch: *const zkr_latch, count: usize, way: Way<'_, (), zkr_done_callback>) -> zkr_status {
    verbs::call(latch, way, |it: &LatchHandle| {
        let core = it.core.clone();
        let count = input::count("count", count)?;
        Ok(async move { core.reset(count).await })
    })
}

/// Waits until it is open, up to timeout_ms: 0 is one look, any negative is for ever. Returns at once if it is open.
/// ZKR_TIMEOUT if it is still closed then, ZKR_NO_NODE if somebody deletes it meanwhile. Who has seen it closed when it
/// is opened goes on, also if it is reset at once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_latch_wait(
    latch: *mut zkr_latch,
    timeout_ms: i64,
    error: *mut *mut zkr_error,
) -> zkr_status {
    zkr_latch_wait_cancellable(latch, timeout_ms, null_mut(), error)
}

/// zkr_latch_wait that another thread can withdraw; token may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_latch_wait_cancellable(
    latch: *mut zkr_latch,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    error: *mut *mut zkr_error,
) -> zkr_status {
    latch_wait(latch, timeout_ms, Way::Waits { token, error, place: &|| Ok(()) })
}

/// zkr_latch_wait in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_latch_wait_async(
    latch: *mut zkr_latch,
    timeout_ms: i64,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    zkr_latch_wait_cancellable_async(latch, timeout_ms, null_mut(), callback, user_data)
}

/// zkr_latch_wait_async with a token that withdraws it; token may be NULL, and may be freed before the end.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_latch_wait_cancellable_async(
    latch: *mut zkr_latch,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    latch_wait(latch, timeout_ms, Way::Starts { token, callback, user_data })
}

fn latch_wait(latch: *const zkr_latch, timeout_ms: i64, way: Way<'_, (), zkr_done_callback>) -> zkr_status {
    verbs::call(latch, way, |it: &LatchHandle| {
        let core = it.core.clone();
        let timeout_ms = time::from_millis("timeout_ms", timeout_ms);
        Ok(async move { core.wait(timeout_ms).await })
    })
}
