//! Generated from api/double_barrier.toml by api/generate; do not edit.

use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};

use zkrecipes::drive;
use zkrecipes::time;

use crate::cancel::zkr_cancel_token;
use crate::client::{ClientHandle, zkr_client};
use crate::collections::zkr_buffer;
use crate::contenders::zkr_wait_callback;
use crate::error::zkr_error;
use crate::events::{zkr_done_callback, zkr_subscription};
use crate::handle::Object;
use crate::input;
use crate::input::{HandlePlace, to_c};
use crate::status::zkr_status;
use crate::verbs;
use crate::verbs::{Recipe, Way};

/// Lets its parties begin together and end together, round after round. A handle is one member, which enters and
/// leaves; a member that dies frees the others.
pub struct zkr_double_barrier {
    _opaque: [u8; 0],
}

pub(crate) type DoubleBarrierHandle = Recipe<zkrecipes::DoubleBarrier>;

impl Object for DoubleBarrierHandle {
    type Opaque = zkr_double_barrier;
    const NAME: &'static str = "zkr_double_barrier";

    fn is_part(&self) -> bool {
        self.is_part
    }
}

/// Makes a handle of a member of a double barrier for so many parties. Validates, but sends nothing. name tells the
/// members apart; NULL is the identity of the client. On success *double_barrier belongs to the caller: free it with
/// zkr_double_barrier_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_double_barrier_new(
    client: *mut zkr_client,
    path: *const c_char,
    parties: usize,
    name: *const c_char,
    double_barrier: *mut *mut zkr_double_barrier,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        client,
        error,
        || HandlePlace::required("double_barrier", double_barrier),
        |it: &ClientHandle| {
            let path = input::text("path", path)?;
            let parties = input::count("parties", parties)?;
            let name = input::optional_text("name", name)?;
            let core = it.core.double_barrier(&path, parties, name.as_deref())?;
            Ok(Recipe { client: it.core.clone(), path: to_c(core.path()), core, is_part: false })
        },
    )
}

/// Frees a double barrier. If it has entered, it gives the round up in the background, as by
/// zkr_double_barrier_withdraw. Calls in progress on it go on. Never blocks. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_double_barrier_free(double_barrier: *mut zkr_double_barrier) {
    verbs::free(double_barrier, |_: &DoubleBarrierHandle| {});
}

/// The path of the barrier; NULL for a handle that cannot be used. Valid until it is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_double_barrier_path(double_barrier: *const zkr_double_barrier) -> *const c_char {
    verbs::ask(double_barrier, null(), |it: &DoubleBarrierHandle| Some(it.path.as_ptr()))
}

/// How many parties it is for; 0 for a handle that cannot be used.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_double_barrier_parties(double_barrier: *const zkr_double_barrier) -> usize {
    verbs::ask(double_barrier, 0, |it: &DoubleBarrierHandle| Some(it.core.parties()))
}

/// The name of this member. On success *name belongs to the caller: free it with zkr_buffer_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_double_barrier_name(
    double_barrier: *const zkr_double_barrier,
    name: *mut *mut zkr_buffer,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        double_barrier,
        error,
        || HandlePlace::required("name", name),
        |it: &DoubleBarrierHandle| Ok(it.core.name().to_owned()),
    )
}

/// Whether this handle has entered and not left. Asks no server.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_double_barrier_has_entered(double_barrier: *const zkr_double_barrier) -> bool {
    verbs::ask(double_barrier, false, |it: &DoubleBarrierHandle| Some(it.core.has_entered()))
}

/// Calls back while this handle enters or leaves: after a second, and then ever less often, up to once a minute. The
/// number ahead is of those who have yet to come, or to leave. subscription may be NULL; otherwise end it with
/// zkr_subscription_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_double_barrier_on_wait(
    double_barrier: *mut zkr_double_barrier,
    callback: zkr_wait_callback,
    user_data: *mut c_void,
    subscription: *mut *mut zkr_subscription,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::subscribe(
        double_barrier,
        callback,
        user_data,
        subscription,
        error,
        |it: &DoubleBarrierHandle, told| it.core.on_wait(move |found| told.tell(found)),
    )
}

/// Enters, and waits up to timeout_ms until all parties have: 0 is one attempt, any negative is for ever.
///
/// ZKR_TIMEOUT if not all came; it counts for nobody then. ZKR_MISMATCH if others say another number of parties,
/// ZKR_EXISTS if this handle has entered already.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_double_barrier_enter(
    double_barrier: *mut zkr_double_barrier,
    timeout_ms: i64,
    error: *mut *mut zkr_error,
) -> zkr_status {
    zkr_double_barrier_enter_cancellable(double_barrier, timeout_ms, null_mut(), error)
}

/// zkr_double_barrier_enter that another thread can withdraw; token may be NULL. It counts for nobody then, unless no
/// server has answered for a quarter of a second.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_double_barrier_enter_cancellable(
    double_barrier: *mut zkr_double_barrier,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    error: *mut *mut zkr_error,
) -> zkr_status {
    double_barrier_enter(double_barrier, timeout_ms, Way::Waits { token, error, place: &|| Ok(()) })
}

/// zkr_double_barrier_enter in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_double_barrier_enter_async(
    double_barrier: *mut zkr_double_barrier,
    timeout_ms: i64,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    zkr_double_barrier_enter_cancellable_async(double_barrier, timeout_ms, null_mut(), callback, user_data)
}

/// zkr_double_barrier_enter_async with a token that withdraws it; token may be NULL, and may be freed before the end.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_double_barrier_enter_cancellable_async(
    double_barrier: *mut zkr_double_barrier,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    double_barrier_enter(double_barrier, timeout_ms, Way::Starts { token, callback, user_data })
}

fn double_barrier_enter(
    double_barrier: *const zkr_double_barrier,
    timeout_ms: i64,
    way: Way<'_, (), zkr_done_callback>,
) -> zkr_status {
    verbs::call(double_barrier, way, |it: &DoubleBarrierHandle| {
        let core = it.core.clone();
        let timeout_ms = time::from_millis("timeout_ms", timeout_ms);
        Ok(async move { drive::enter(&core, timeout_ms).await })
    })
}

/// Leaves, and waits up to timeout_ms until all others have: 0 is one look, any negative is for ever.
///
/// ZKR_TIMEOUT if not all others have left; this one has. ZKR_LOST if our session or our node went since we entered,
/// ZKR_NOT_HELD without having entered.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_double_barrier_leave(
    double_barrier: *mut zkr_double_barrier,
    timeout_ms: i64,
    error: *mut *mut zkr_error,
) -> zkr_status {
    zkr_double_barrier_leave_cancellable(double_barrier, timeout_ms, null_mut(), error)
}

/// zkr_double_barrier_leave that another thread can withdraw; token may be NULL. This one has left then.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_double_barrier_leave_cancellable(
    double_barrier: *mut zkr_double_barrier,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    error: *mut *mut zkr_error,
) -> zkr_status {
    double_barrier_leave(double_barrier, timeout_ms, Way::Waits { token, error, place: &|| Ok(()) })
}

/// zkr_double_barrier_leave in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_double_barrier_leave_async(
    double_barrier: *mut zkr_double_barrier,
    timeout_ms: i64,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    zkr_double_barrier_leave_cancellable_async(double_barrier, timeout_ms, null_mut(), callback, user_data)
}

/// zkr_double_barrier_leave_async with a token that withdraws it; token may be NULL, and may be freed before the end.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_double_barrier_leave_cancellable_async(
    double_barrier: *mut zkr_double_barrier,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    double_barrier_leave(double_barrier, timeout_ms, Way::Starts { token, callback, user_data })
}

fn double_barrier_leave(
    double_barrier: *const zkr_double_barrier,
    timeout_ms: i64,
    way: Way<'_, (), zkr_done_callback>,
) -> zkr_status {
    verbs::call(double_barrier, way, |it: &DoubleBarrierHandle| {
        let core = it.core.clone();
        let timeout_ms = time::from_millis("timeout_ms", timeout_ms);
        Ok(async move { core.leave(timeout_ms).await })
    })
}

/// Gives the round up in the background and waits for nobody: for when the work failed. ZKR_NOT_HELD without having
/// entered. Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_double_barrier_withdraw(
    double_barrier: *mut zkr_double_barrier,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(double_barrier, error, || Ok(()), |it: &DoubleBarrierHandle| it.core.withdraw())
}
