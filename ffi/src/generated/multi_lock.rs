//! Generated from api/multi_lock.toml by api/generate; do not edit.

use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};

use zkrecipes::drive;
use zkrecipes::time;

use crate::cancel::zkr_cancel_token;
use crate::collections::zkr_strings;
use crate::contenders::zkr_wait_callback;
use crate::error::zkr_error;
use crate::events::{
    zkr_answer_callback, zkr_done_callback, zkr_lost_callback, zkr_revoke_callback, zkr_subscription,
};
use crate::held::{zkr_held, zkr_held_callback};
use crate::input;
use crate::input::{HandlePlace, Place};
use crate::lists::{zkr_contenders, zkr_contenders_callback};
use crate::multi_lock::{MultiLockHandle, zkr_multi_lock};
use crate::status::zkr_status;
use crate::transaction::zkr_transaction;
use crate::verbs;
use crate::verbs::Way;

/// Acquires all of them, waiting up to timeout_ms: 0 is one attempt, any negative is for ever.
///
/// ZKR_TIMEOUT if somebody else has one of them for all that time; nothing is held then. held may be NULL when
/// zkr_multi_lock_release is enough; otherwise *held, which stands for all of them, belongs to the caller: free it with
/// zkr_held_free. Cancelling: zkr_multi_lock_cancel, zkr_multi_lock_free or, for one call,
/// zkr_multi_lock_acquire_cancellable.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_acquire(
    multi_lock: *mut zkr_multi_lock,
    timeout_ms: i64,
    held: *mut *mut zkr_held,
    error: *mut *mut zkr_error,
) -> zkr_status {
    zkr_multi_lock_acquire_cancellable(multi_lock, timeout_ms, null_mut(), held, error)
}

/// zkr_multi_lock_acquire that another thread can withdraw; token may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_acquire_cancellable(
    multi_lock: *mut zkr_multi_lock,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    held: *mut *mut zkr_held,
    error: *mut *mut zkr_error,
) -> zkr_status {
    multi_lock_acquire(
        multi_lock,
        timeout_ms,
        Way::Waits { token, error, place: &|| Ok(HandlePlace::optional(held)) },
    )
}

/// zkr_multi_lock_acquire in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_acquire_async(
    multi_lock: *mut zkr_multi_lock,
    timeout_ms: i64,
    callback: zkr_held_callback,
    user_data: *mut c_void,
) -> zkr_status {
    zkr_multi_lock_acquire_cancellable_async(multi_lock, timeout_ms, null_mut(), callback, user_data)
}

/// zkr_multi_lock_acquire_async with a token that withdraws it; token may be NULL, and may be freed before the end.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_acquire_cancellable_async(
    multi_lock: *mut zkr_multi_lock,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    callback: zkr_held_callback,
    user_data: *mut c_void,
) -> zkr_status {
    multi_lock_acquire(multi_lock, timeout_ms, Way::Starts { token, callback, user_data })
}

fn multi_lock_acquire(
    multi_lock: *const zkr_multi_lock,
    timeout_ms: i64,
    way: Way<'_, HandlePlace<zkr_held>, zkr_held_callback>,
) -> zkr_status {
    verbs::call(multi_lock, way, |it: &MultiLockHandle| {
        let timeout_ms = time::from_millis("timeout_ms", timeout_ms);
        Ok(drive::acquire(&it.core, 1, timeout_ms))
    })
}

/// Releases all of them. From the call on they count as not held.
///
/// ZKR_NOT_HELD if nothing is held. ZKR_CONNECTION_LOST means that the server did not confirm; the deletion goes on in
/// the background until it does or the session has ended.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_release(
    multi_lock: *mut zkr_multi_lock,
    error: *mut *mut zkr_error,
) -> zkr_status {
    multi_lock_release(multi_lock, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_multi_lock_release in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_release_async(
    multi_lock: *mut zkr_multi_lock,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    multi_lock_release(multi_lock, Way::Starts { token: null(), callback, user_data })
}

fn multi_lock_release(multi_lock: *const zkr_multi_lock, way: Way<'_, (), zkr_done_callback>) -> zkr_status {
    verbs::call(multi_lock, way, |it: &MultiLockHandle| Ok(it.core.release()))
}

/// The same, with the confirmation left to the background: never blocks, fit for destructors and callbacks.
/// ZKR_NOT_HELD if nothing is held.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_release_in_background(
    multi_lock: *mut zkr_multi_lock,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(multi_lock, error, || Ok(()), |it: &MultiLockHandle| it.core.release_in_background())
}

/// Whether all of them are certainly held through this handle at this moment: a comparison of clocks, no request. Never
/// true again for an acquisition once lost.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_is_held(multi_lock: *const zkr_multi_lock) -> bool {
    verbs::ask(multi_lock, false, |it: &MultiLockHandle| Some(it.core.is_held()))
}

/// The fencing token of the first of the paths; see zkr_multi_lock_fencing_tokens for all. 0, which is never a token,
/// when nothing is held.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_fencing_token(multi_lock: *const zkr_multi_lock) -> u64 {
    verbs::ask(multi_lock, 0, |it: &MultiLockHandle| it.core.fencing_token().ok())
}

/// Asks the server whether what this handle holds is held. ZKR_OK, or ZKR_NOT_HELD, or ZKR_CONNECTION_LOST when it
/// cannot be known.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_verify(
    multi_lock: *mut zkr_multi_lock,
    error: *mut *mut zkr_error,
) -> zkr_status {
    multi_lock_verify(multi_lock, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_multi_lock_verify in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_verify_async(
    multi_lock: *mut zkr_multi_lock,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    multi_lock_verify(multi_lock, Way::Starts { token: null(), callback, user_data })
}

fn multi_lock_verify(multi_lock: *const zkr_multi_lock, way: Way<'_, (), zkr_done_callback>) -> zkr_status {
    verbs::call(multi_lock, way, |it: &MultiLockHandle| {
        let core = it.core.clone();
        Ok(async move { core.verify().await })
    })
}

/// A transaction that the server applies only while what this handle holds stands. Free it with zkr_transaction_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_guarded(
    multi_lock: *mut zkr_multi_lock,
    transaction: *mut *mut zkr_transaction,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        multi_lock,
        error,
        || HandlePlace::required("transaction", transaction),
        |it: &MultiLockHandle| it.core.guarded(),
    )
}

/// Calls back once when what this handle holds is lost, at once if it already is, never on its own release.
/// subscription may be NULL; otherwise end it with zkr_subscription_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_on_lost(
    multi_lock: *mut zkr_multi_lock,
    callback: zkr_lost_callback,
    user_data: *mut c_void,
    subscription: *mut *mut zkr_subscription,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::subscribe(multi_lock, callback, user_data, subscription, error, |it: &MultiLockHandle, told| {
        it.core.on_lost(move |found| told.tell(found))
    })
}

/// Calls back once when somebody asks for what is held now (zkr_multi_lock_revoke), at once if somebody already has:
/// finish, then release. ZKR_NOT_HELD if nothing is held. subscription may be NULL; otherwise end it with
/// zkr_subscription_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_on_revoke(
    multi_lock: *mut zkr_multi_lock,
    callback: zkr_revoke_callback,
    user_data: *mut c_void,
    subscription: *mut *mut zkr_subscription,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::subscribe(multi_lock, callback, user_data, subscription, error, |it: &MultiLockHandle, told| {
        it.core.on_revoke(move || told.tell(()))
    })
}

/// Calls back while an acquisition through this handle waits: after a second, and then ever less often, up to once a
/// minute. Each time it is looked who holds, which is one read in general. subscription may be NULL; otherwise end it
/// with zkr_subscription_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_on_wait(
    multi_lock: *mut zkr_multi_lock,
    callback: zkr_wait_callback,
    user_data: *mut c_void,
    subscription: *mut *mut zkr_subscription,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::subscribe(multi_lock, callback, user_data, subscription, error, |it: &MultiLockHandle, told| {
        it.core.on_wait(move |found| told.tell(found))
    })
}

/// Wakes all acquisitions that wait through this handle, which end with ZKR_CANCELLED; never later ones. Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_cancel(
    multi_lock: *mut zkr_multi_lock,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        multi_lock,
        error,
        || Ok(()),
        |it: &MultiLockHandle| {
            it.core.cancel();
            Ok(())
        },
    )
}

/// Who holds the locks and who waits for them, in the order of the paths; the node of a contender is a whole path. On
/// success *contenders belongs to the caller: free it with zkr_contenders_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_contenders(
    multi_lock: *mut zkr_multi_lock,
    contenders: *mut *mut zkr_contenders,
    error: *mut *mut zkr_error,
) -> zkr_status {
    multi_lock_contenders(
        multi_lock,
        Way::Waits { token: null(), error, place: &|| HandlePlace::required("contenders", contenders) },
    )
}

/// zkr_multi_lock_contenders in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_contenders_async(
    multi_lock: *mut zkr_multi_lock,
    callback: zkr_contenders_callback,
    user_data: *mut c_void,
) -> zkr_status {
    multi_lock_contenders(multi_lock, Way::Starts { token: null(), callback, user_data })
}

fn multi_lock_contenders(
    multi_lock: *const zkr_multi_lock,
    way: Way<'_, HandlePlace<zkr_contenders>, zkr_contenders_callback>,
) -> zkr_status {
    verbs::call(multi_lock, way, |it: &MultiLockHandle| {
        let core = it.core.clone();
        Ok(async move { core.contenders().await })
    })
}

/// Asks for the locks: whoever holds any of them, or the contender whose node is named as in a zkr_contender (NULL:
/// whoever holds), hears of it through zkr_held_on_revoke and lets go when it can. force_after_ms, asked and
/// ZKR_INVALID are as for zkr_lock_revoke.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_revoke(
    multi_lock: *mut zkr_multi_lock,
    contender: *const c_char,
    force_after_ms: i64,
    asked: *mut bool,
    error: *mut *mut zkr_error,
) -> zkr_status {
    zkr_multi_lock_revoke_cancellable(multi_lock, contender, force_after_ms, null_mut(), asked, error)
}

/// zkr_multi_lock_revoke that another thread can withdraw; token may be NULL. Withdrawn while it waits, it has asked,
/// but deletes nothing.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_revoke_cancellable(
    multi_lock: *mut zkr_multi_lock,
    contender: *const c_char,
    force_after_ms: i64,
    token: *mut zkr_cancel_token,
    asked: *mut bool,
    error: *mut *mut zkr_error,
) -> zkr_status {
    multi_lock_revoke(
        multi_lock,
        contender,
        force_after_ms,
        Way::Waits { token, error, place: &|| Ok(Place::optional(asked)) },
    )
}

/// zkr_multi_lock_revoke in the background; the answer is whether there was anybody to ask. ZKR_OK says that the
/// callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_revoke_async(
    multi_lock: *mut zkr_multi_lock,
    contender: *const c_char,
    force_after_ms: i64,
    callback: zkr_answer_callback,
    user_data: *mut c_void,
) -> zkr_status {
    zkr_multi_lock_revoke_cancellable_async(
        multi_lock,
        contender,
        force_after_ms,
        null_mut(),
        callback,
        user_data,
    )
}

/// zkr_multi_lock_revoke_async with a token that withdraws it; token may be NULL, and may be freed before the end.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_revoke_cancellable_async(
    multi_lock: *mut zkr_multi_lock,
    contender: *const c_char,
    force_after_ms: i64,
    token: *mut zkr_cancel_token,
    callback: zkr_answer_callback,
    user_data: *mut c_void,
) -> zkr_status {
    multi_lock_revoke(multi_lock, contender, force_after_ms, Way::Starts { token, callback, user_data })
}

fn multi_lock_revoke(
    multi_lock: *const zkr_multi_lock,
    contender: *const c_char,
    force_after_ms: i64,
    way: Way<'_, Place<bool>, zkr_answer_callback>,
) -> zkr_status {
    verbs::call(multi_lock, way, |it: &MultiLockHandle| {
        let core = it.core.clone();
        let contender = input::optional_text("contender", contender)?;
        let force_after_ms = time::from_millis("force_after_ms", force_after_ms);
        Ok(async move { core.revoke(contender.as_deref(), force_after_ms).await })
    })
}

/// Frees a multi-lock, not the locks that it was made of. Waits in progress on it end with ZKR_CANCELLED. If it is
/// held, it is released in the background, unless a zkr_held of it is still around, which owns it from then on. Never
/// blocks. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_free(multi_lock: *mut zkr_multi_lock) {
    verbs::free(multi_lock, |it: &MultiLockHandle| it.core.cancel());
}

/// The paths that are locked, in the order in which they are acquired and in which the tokens come. On success *paths
/// belongs to the caller: free it with zkr_strings_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_paths(
    multi_lock: *const zkr_multi_lock,
    paths: *mut *mut zkr_strings,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        multi_lock,
        error,
        || HandlePlace::required("paths", paths),
        |it: &MultiLockHandle| Ok(it.core.paths().to_vec()),
    )
}
