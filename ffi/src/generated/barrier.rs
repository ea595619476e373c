//! Generated from api/barrier.toml by api/generate; do not edit.

use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};

use zkrecipes::time;

use crate::cancel::zkr_cancel_token;
use crate::client::{ClientHandle, zkr_client};
use crate::contenders::zkr_wait_callback;
use crate::error::zkr_error;
use crate::events::{zkr_answer_callback, zkr_done_callback, zkr_subscription};
use crate::handle::Object;
use crate::input;
use crate::input::{HandlePlace, Place, to_c};
use crate::status::zkr_status;
use crate::verbs;
use crate::verbs::{Recipe, Way};

/// Stops everybody who waits at it until it is lifted, shared with everybody who uses that path, in any language.
pub struct zkr_barrier {
    _opaque: [u8; 0],
}

pub(crate) type BarrierHandle = Recipe<zkrecipes::Barrier>;

impl Object for BarrierHandle {
    type Opaque = zkr_barrier;
    const NAME: &'static str = "zkr_barrier";

    fn is_part(&self) -> bool {
        self.is_part
    }
}

/// Makes a handle of a barrier. Validates, but sends nothing: zkr_barrier_create puts the barrier up. On success
/// *barrier belongs to the caller: free it with zkr_barrier_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_barrier_new(
    client: *mut zkr_client,
    path: *const c_char,
    barrier: *mut *mut zkr_barrier,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        client,
        error,
        || HandlePlace::required("barrier", barrier),
        |it: &ClientHandle| {
            let path = input::text("path", path)?;
            let core = it.core.barrier(&path)?;
            Ok(Recipe { client: it.core.clone(), path: to_c(core.path()), core, is_part: false })
        },
    )
}

/// Frees a barrier, which stays up if it is. Calls in progress on it go on. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_barrier_free(barrier: *mut zkr_barrier) {
    verbs::free(barrier, |_: &BarrierHandle| {});
}

/// The path of the barrier; NULL for a handle that cannot be used. Valid until it is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_barrier_path(barrier: *const zkr_barrier) -> *const c_char {
    verbs::ask(barrier, null(), |it: &BarrierHandle| Some(it.path.as_ptr()))
}

/// Puts the barrier up. It is no matter if it is up already.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_barrier_create(barrier: *mut zkr_barrier, error: *mut *mut zkr_error) -> zkr_status {
    barrier_create(barrier, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_barrier_create in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_barrier_create_async(
    barrier: *mut zkr_barrier,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    barrier_create(barrier, Way::Starts { token: null(), callback, user_data })
}

fn barrier_create(barrier: *const zkr_barrier, way: Way<'_, (), zkr_done_callback>) -> zkr_status {
    verbs::call(barrier, way, |it: &BarrierHandle| {
        let core = it.core.clone();
        Ok(async move { core.create().await })
    })
}

/// Lifts the barrier: all who wait go on. It is no matter if it is not up.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_barrier_remove(barrier: *mut zkr_barrier, error: *mut *mut zkr_error) -> zkr_status {
    barrier_remove(barrier, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_barrier_remove in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_barrier_remove_async(
    barrier: *mut zkr_barrier,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    barrier_remove(barrier, Way::Starts { token: null(), callback, user_data })
}

fn barrier_remove(barrier: *const zkr_barrier, way: Way<'_, (), zkr_done_callback>) -> zkr_status {
    verbs::call(barrier, way, |it: &BarrierHandle| {
        let core = it.core.clone();
        Ok(async move { core.remove().await })
    })
}

/// Asks whether the barrier is up.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_barrier_is_up(
    barrier: *mut zkr_barrier,
    is_up: *mut bool,
    error: *mut *mut zkr_error,
) -> zkr_status {
    barrier_is_up(barrier, Way::Waits { token: null(), error, place: &|| Place::required("is_up", is_up) })
}

/// zkr_barrier_is_up in the background; the answer is whether it is up. ZKR_OK says that the callback will be called
/// exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_barrier_is_up_async(
    barrier: *mut zkr_barrier,
    callback: zkr_answer_callback,
    user_data: *mut c_void,
) -> zkr_status {
    barrier_is_up(barrier, Way::Starts { token: null(), callback, user_data })
}

fn barrier_is_up(barrier: *const zkr_barrier, way: Way<'_, Place<bool>, zkr_answer_callback>) -> zkr_status {
    verbs::call(barrier, way, |it: &BarrierHandle| {
        let core = it.core.clone();
        Ok(async move { core.is_up().await })
    })
}

/// Calls back while a wait through this handle goes on: after a second, and then ever less often, up to once a minute.
/// The holder is who has put the barrier up. subscription may be NULL; otherwise end it with zkr_subscription_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_barrier_on_wait(
    barrier: *mut zkr_barrier,
    callback: zkr_wait_callback,
    user_data: *mut c_void,
    subscription: *mut *mut zkr_subscription,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::subscribe(barrier, callback, user_data, subscription, error, |it: &BarrierHandle, told| {
        it.core.on_wait(move |found| told.tell(found))
    })
}

/// Waits until the barrier is lifted, up to timeout_ms: 0 is one look, any negative is for ever. Returns at once if it
/// is not up. ZKR_TIMEOUT if it is still up then.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_barrier_wait(
    barrier: *mut zkr_barrier,
    timeout_ms: i64,
    error: *mut *mut zkr_error,
) -> zkr_status {
    zkr_barrier_wait_cancellable(barrier, timeout_ms, null_mut(), error)
}

/// zkr_barrier_wait that another thread can withdraw; token may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_barrier_wait_cancellable(
    barrier: *mut zkr_barrier,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    error: *mut *mut zkr_error,
) -> zkr_status {
    barrier_wait(barrier, timeout_ms, Way::Waits { token, error, place: &|| Ok(()) })
}

/// zkr_barrier_wait in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_barrier_wait_async(
    barrier: *mut zkr_barrier,
    timeout_ms: i64,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    zkr_barrier_wait_cancellable_async(barrier, timeout_ms, null_mut(), callback, user_data)
}

/// zkr_barrier_wait_async with a token that withdraws it; token may be NULL, and may be freed before the end.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_barrier_wait_cancellable_async(
    barrier: *mut zkr_barrier,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    barrier_wait(barrier, timeout_ms, Way::Starts { token, callback, user_data })
}

fn barrier_wait(
    barrier: *const zkr_barrier,
    timeout_ms: i64,
    way: Way<'_, (), zkr_done_callback>,
) -> zkr_status {
    verbs::call(barrier, way, |it: &BarrierHandle| {
        let core = it.core.clone();
        let timeout_ms = time::from_millis("timeout_ms", timeout_ms);
        Ok(async move { core.wait(timeout_ms).await })
    })
}
