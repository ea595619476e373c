//! Generated from api/held.toml by api/generate; do not edit.

use std::ffi::{c_char, c_void};
use std::ptr::null;

use zkrecipes::drive;

use crate::error::zkr_error;
use crate::events::{zkr_done_callback, zkr_lost_callback, zkr_revoke_callback, zkr_subscription};
use crate::held::{HeldHandle, zkr_held, zkr_held_callback};
use crate::input::HandlePlace;
use crate::status::zkr_status;
use crate::transaction::zkr_transaction;
use crate::verbs;
use crate::verbs::Way;

/// Releases. From the call on it counts as not held. A second release is ZKR_NOT_HELD, and so is one of what was lost:
/// there is nothing left to release. ZKR_CONNECTION_LOST means that the server did not confirm; the deletion goes on in
/// the background until it does or the session has ended.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_held_release(held: *mut zkr_held, error: *mut *mut zkr_error) -> zkr_status {
    held_release(held, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_held_release in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_held_release_async(
    held: *mut zkr_held,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    held_release(held, Way::Starts { token: null(), callback, user_data })
}

fn held_release(held: *const zkr_held, way: Way<'_, (), zkr_done_callback>) -> zkr_status {
    verbs::call(held, way, |it: &HeldHandle| Ok(it.core.release()))
}

/// Releases and leaves the confirmation to the background: never blocks, fit for destructors. ZKR_NOT_HELD if it was
/// released before.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_held_release_in_background(
    held: *mut zkr_held,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(held, error, || Ok(()), |it: &HeldHandle| it.core.release_in_background())
}

/// Whether this acquisition certainly stands at this moment: a comparison of clocks, no request. Never true again once
/// false.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_held_is_held(held: *const zkr_held) -> bool {
    verbs::ask(held, false, |it: &HeldHandle| Some(it.core.is_held()))
}

/// The fencing token: it rises strictly from one acquisition of a path to the next. Stays the same after release and
/// loss. 0, which is never a token, for a handle that cannot be used.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_held_fencing_token(held: *const zkr_held) -> u64 {
    verbs::ask(held, 0, |it: &HeldHandle| Some(it.core.fencing_token()))
}

/// Asks the server whether it stands. ZKR_OK, or ZKR_NOT_HELD, or ZKR_CONNECTION_LOST when it cannot be known.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_held_verify(held: *mut zkr_held, error: *mut *mut zkr_error) -> zkr_status {
    held_verify(held, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_held_verify in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_held_verify_async(
    held: *mut zkr_held,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    held_verify(held, Way::Starts { token: null(), callback, user_data })
}

fn held_verify(held: *const zkr_held, way: Way<'_, (), zkr_done_callback>) -> zkr_status {
    verbs::call(held, way, |it: &HeldHandle| {
        let core = it.core.clone();
        Ok(async move { core.verify().await })
    })
}

/// A transaction that the server applies only while this acquisition stands. Free it with zkr_transaction_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_held_guarded(
    held: *mut zkr_held,
    transaction: *mut *mut zkr_transaction,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        held,
        error,
        || HandlePlace::required("transaction", transaction),
        |it: &HeldHandle| Ok(it.core.guarded()),
    )
}

/// Calls back once when this acquisition is lost, at once if it already is, never on its own release. subscription may
/// be NULL; otherwise end it with zkr_subscription_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_held_on_lost(
    held: *mut zkr_held,
    callback: zkr_lost_callback,
    user_data: *mut c_void,
    subscription: *mut *mut zkr_subscription,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::subscribe(held, callback, user_data, subscription, error, |it: &HeldHandle, told| {
        Ok(it.core.on_lost(move |found| told.tell(found)))
    })
}

/// Calls back once when somebody asks for what is held (zkr_lock_revoke and the like), at once if somebody already has:
/// finish, then release. Never after its own release. subscription may be NULL; otherwise end it with
/// zkr_subscription_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_held_on_revoke(
    held: *mut zkr_held,
    callback: zkr_revoke_callback,
    user_data: *mut c_void,
    subscription: *mut *mut zkr_subscription,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::subscribe(held, callback, user_data, subscription, error, |it: &HeldHandle, told| {
        verbs::check_open(it)?;
        Ok(it.core.on_revoke(move || told.tell(())))
    })
}

/// Frees a zkr_held. It is released in the background unless it was released before or the lock that it came from still
/// keeps it. Never blocks. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_held_free(held: *mut zkr_held) {
    verbs::free(held, |_: &HeldHandle| {});
}

/// The path of what is held, for a zkr_multi_lock its paths with spaces between; NULL for a handle that cannot be used.
/// Valid until it is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_held_path(held: *const zkr_held) -> *const c_char {
    verbs::ask(held, null(), |it: &HeldHandle| Some(it.texts.path(&it.core)))
}

/// The last part of the path of what is held: of a partition, its name. NULL for a handle that cannot be used. Valid
/// until it is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_held_name(held: *const zkr_held) -> *const c_char {
    verbs::ask(held, null(), |it: &HeldHandle| Some(it.texts.name(&it.core)))
}

/// The path of our own node, the first one if there are several; NULL for a handle that cannot be used. Valid until it
/// is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_held_node(held: *const zkr_held) -> *const c_char {
    verbs::ask(held, null(), |it: &HeldHandle| Some(it.texts.node(&it.core)))
}

/// A text that names this acquisition, for others to check; NULL for a handle that cannot be used. Valid until it is
/// freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_held_sequencer(held: *const zkr_held) -> *const c_char {
    verbs::ask(held, null(), |it: &HeldHandle| Some(it.texts.sequencer(&it.core)))
}

/// How often the turn was passed on inside this process since it was won from the others. With local_handoff,
/// acquisitions share a fencing token; the pair of the token and this number rises strictly.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_held_passes(held: *const zkr_held) -> u32 {
    verbs::ask(held, 0, |it: &HeldHandle| Some(it.core.passes()))
}

/// How many permits it is, for an acquisition of a zkr_semaphore; 1 for a lock, the number of its locks for a
/// zkr_multi_lock, 0 for a handle that cannot be used.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_held_permits(held: *const zkr_held) -> usize {
    verbs::ask(held, 0, |it: &HeldHandle| Some(it.core.permits()))
}

/// From writing to reading, for what the write side of a zkr_read_write_lock acquired: nobody writes in between, and
/// the fencing token stays. This acquisition is over then, as after a release. What stands for it is held by the read
/// side: zkr_lock_release of that one ends it. reading may be NULL when that is enough; otherwise *reading belongs to
/// the caller: free it with zkr_held_free.
///
/// ZKR_INVALID for what was acquired otherwise, ZKR_NOT_HELD if it was released or lost. On an error write is still
/// held, unless it is lost.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_held_downgrade(
    held: *mut zkr_held,
    reading: *mut *mut zkr_held,
    error: *mut *mut zkr_error,
) -> zkr_status {
    held_downgrade(held, Way::Waits { token: null(), error, place: &|| Ok(HandlePlace::optional(reading)) })
}

/// zkr_held_downgrade in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_held_downgrade_async(
    held: *mut zkr_held,
    callback: zkr_held_callback,
    user_data: *mut c_void,
) -> zkr_status {
    held_downgrade(held, Way::Starts { token: null(), callback, user_data })
}

fn held_downgrade(
    held: *const zkr_held,
    way: Way<'_, HandlePlace<zkr_held>, zkr_held_callback>,
) -> zkr_status {
    verbs::call(held, way, |it: &HeldHandle| Ok(drive::downgrade(&it.core)))
}
