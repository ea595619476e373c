//! Several locks as one.

use std::ffi::{c_char, c_void};

use zkrecipes::{Client, MultiLock, Result, time};

use crate::cancel::zkr_cancel_token;
use crate::client::{self, zkr_client};
use crate::collections::{Strings, zkr_strings};
use crate::contenders::{zkr_contenders, zkr_contenders_callback};
use crate::error::{zkr_error, zkr_status};
use crate::events::{zkr_answer_callback, zkr_done_callback, zkr_lost_callback, zkr_subscription};
use crate::guard;
use crate::handle;
use crate::held::{self, zkr_held, zkr_held_callback};
use crate::input::{self, HandlePlace};
use crate::lock::{LockHandle, zkr_lock};
use crate::transaction::zkr_transaction;
use crate::verbs::{self, holder};

/// Several locks that are acquired all or none, in an order in which nobody waits for each other. Losing one loses all.
pub struct zkr_multi_lock {
    _opaque: [u8; 0],
}

struct MultiLockHandle {
    client: Client,
    core: MultiLock,
}

holder!(MultiLockHandle, MultiLock, zkr_multi_lock, "multi_lock");

/// Makes one lock of several. Validates, but sends nothing. The locks must be plain ones of this client, no two of one
/// path; they are only read and stay the caller's. On success *multi_lock belongs to the caller: free it with
/// zkr_multi_lock_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_new(
    client: *mut zkr_client,
    locks: *const *mut zkr_lock,
    count: usize,
    multi_lock: *mut *mut zkr_multi_lock,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let place = HandlePlace::required("multi_lock", multi_lock)?;
        let client = client::get(client)?.core.clone();
        let given = input::slice("locks", locks, count)?;
        let locks: Vec<_> = given
            .iter()
            .map(|lock| Ok(handle::get::<LockHandle>("locks", *lock)?.core.clone()))
            .collect::<Result<_>>()?;
        let core = client.multi_lock(&locks)?;
        place.put(|| handle::publish(MultiLockHandle { client, core }))
    })
}

/// Frees a multi-lock, not the locks that it was made of. Waits in progress on it end with ZKR_CANCELLED. If it is
/// held, it is released in the background, unless a zkr_held of it is still around, which owns it from then on. Never
/// blocks. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_free(multi_lock: *mut zkr_multi_lock) {
    verbs::free::<MultiLockHandle>(multi_lock);
}

/// The paths that are locked, in the order in which they are acquired and in which the tokens come. On success *paths
/// belongs to the caller: free it with zkr_strings_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_paths(
    multi_lock: *const zkr_multi_lock,
    paths: *mut *mut zkr_strings,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let place = HandlePlace::required("paths", paths)?;
        let multi_lock = verbs::get::<MultiLockHandle>(multi_lock)?;
        place.put(|| handle::publish(Strings::new(multi_lock.core.paths().to_vec())))
    })
}

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
    zkr_multi_lock_acquire_cancellable(multi_lock, timeout_ms, std::ptr::null_mut(), held, error)
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
    verbs::acquire::<MultiLockHandle, _>(multi_lock, token, held, error, |core| {
        core.acquire_kept(time::from_millis("timeout_ms", timeout_ms))
    })
}

/// zkr_multi_lock_acquire in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_acquire_async(
    multi_lock: *mut zkr_multi_lock,
    timeout_ms: i64,
    callback: zkr_held_callback,
    user_data: *mut c_void,
) -> zkr_status {
    zkr_multi_lock_acquire_cancellable_async(
        multi_lock,
        timeout_ms,
        std::ptr::null_mut(),
        callback,
        user_data,
    )
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
    verbs::acquire_async::<MultiLockHandle, _>(multi_lock, token, callback, user_data, |core| {
        core.acquire_kept(time::from_millis("timeout_ms", timeout_ms))
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
    verbs::release::<MultiLockHandle>(multi_lock, error)
}

/// zkr_multi_lock_release in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_release_async(
    multi_lock: *mut zkr_multi_lock,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    verbs::release_async::<MultiLockHandle>(multi_lock, callback, user_data)
}

/// The same, with the confirmation left to the background: never blocks, fit for destructors and callbacks.
/// ZKR_NOT_HELD if nothing is held.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_release_in_background(
    multi_lock: *mut zkr_multi_lock,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::release_in_background::<MultiLockHandle>(multi_lock, error)
}

/// Whether all of them are certainly held through this handle at this moment: a comparison of clocks, no request. Never
/// true again for an acquisition once lost.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_is_held(multi_lock: *const zkr_multi_lock) -> bool {
    verbs::is_held::<MultiLockHandle>(multi_lock)
}

/// The fencing token of the first of the paths; see zkr_multi_lock_fencing_tokens for all. 0, which is never a token,
/// when nothing is held.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_fencing_token(multi_lock: *const zkr_multi_lock) -> u64 {
    verbs::fencing_token::<MultiLockHandle>(multi_lock)
}

/// The fencing tokens of what is held, in the order of the paths. Writes as many as there is room for and returns how
/// many there are, 0 when nothing is held; tokens may be NULL to ask for that alone.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_fencing_tokens(
    multi_lock: *const zkr_multi_lock,
    tokens: *mut u64,
    room: usize,
) -> usize {
    guard::answer(0, || {
        let held =
            verbs::get::<MultiLockHandle>(multi_lock).ok()?.core.current().filter(|held| held.is_held())?;
        Some(held::copy_tokens(&held.fencing_tokens(), tokens, room))
    })
}

/// Asks the server whether what this handle holds is held. ZKR_OK, or ZKR_NOT_HELD, or ZKR_CONNECTION_LOST when it
/// cannot be known.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_verify(
    multi_lock: *mut zkr_multi_lock,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::verify::<MultiLockHandle>(multi_lock, error)
}

/// zkr_multi_lock_verify in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_verify_async(
    multi_lock: *mut zkr_multi_lock,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    verbs::verify_async::<MultiLockHandle>(multi_lock, callback, user_data)
}

/// A transaction that the server applies only while what this handle holds stands. Free it with
/// zkr_transaction_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_guarded(
    multi_lock: *mut zkr_multi_lock,
    transaction: *mut *mut zkr_transaction,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::guarded::<MultiLockHandle>(multi_lock, transaction, error)
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
    verbs::on_lost::<MultiLockHandle>(multi_lock, callback, user_data, subscription, error)
}

/// Wakes all acquisitions that wait through this handle, which end with ZKR_CANCELLED; never later ones. Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_cancel(
    multi_lock: *mut zkr_multi_lock,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::cancel::<MultiLockHandle>(multi_lock, error)
}

/// Who holds the locks and who waits for them, in the order of the paths; the node of a contender is a whole path. On
/// success *contenders belongs to the caller: free it with zkr_contenders_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_contenders(
    multi_lock: *mut zkr_multi_lock,
    contenders: *mut *mut zkr_contenders,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::contenders::<MultiLockHandle>(multi_lock, contenders, error)
}

/// zkr_multi_lock_contenders in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_contenders_async(
    multi_lock: *mut zkr_multi_lock,
    callback: zkr_contenders_callback,
    user_data: *mut c_void,
) -> zkr_status {
    verbs::contenders_async::<MultiLockHandle>(multi_lock, callback, user_data)
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
    zkr_multi_lock_revoke_cancellable(
        multi_lock,
        contender,
        force_after_ms,
        std::ptr::null_mut(),
        asked,
        error,
    )
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
    verbs::revoke::<MultiLockHandle>(multi_lock, contender, force_after_ms, token, asked, error)
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
        std::ptr::null_mut(),
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
    verbs::revoke_async::<MultiLockHandle>(multi_lock, contender, force_after_ms, token, callback, user_data)
}
