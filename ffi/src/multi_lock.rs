//! Several locks as one.

use std::ffi::c_void;
use std::sync::Arc;

use zkrecipes::{Client, Granted, MultiLock, Result, time};

use crate::cancel::zkr_cancel_token;
use crate::client::{self, zkr_client};
use crate::collections::{Strings, zkr_strings};
use crate::error::{zkr_error, zkr_status};
use crate::events::{self, Listener, zkr_done_callback};
use crate::guard;
use crate::handle::{self, Object};
use crate::held::{self, zkr_held, zkr_held_callback};
use crate::input::{self, HandlePlace};
use crate::lock::{LockHandle, zkr_lock};

/// Several locks that are acquired all or none, in an order in which nobody waits for each other. Losing one loses all.
pub struct zkr_multi_lock {
    _opaque: [u8; 0],
}

struct MultiLockHandle {
    client: Client,
    core: MultiLock,
}

impl Object for MultiLockHandle {
    type Opaque = zkr_multi_lock;
    const NAME: &'static str = "zkr_multi_lock";
}

impl MultiLockHandle {
    fn acquire(&self, timeout_ms: i64) -> impl Future<Output = Result<Granted>> + Send + use<> {
        self.core.acquire_kept(time::from_millis("timeout_ms", timeout_ms))
    }
}

fn get(multi_lock: *const zkr_multi_lock) -> Result<Arc<MultiLockHandle>> {
    handle::get("multi_lock", multi_lock)
}

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
    guard::quietly(|| {
        if let Some(multi_lock) = handle::take::<MultiLockHandle>(multi_lock) {
            multi_lock.core.cancel();
        }
    });
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
        let multi_lock = get(multi_lock)?;
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
    guard::verb(error, || {
        let place = HandlePlace::optional(held);
        let multi_lock = get(multi_lock)?;
        held::acquire(&multi_lock.client, token, &place, || multi_lock.acquire(timeout_ms))
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
    guard::verdict(|| {
        let multi_lock = get(multi_lock)?;
        held::acquire_async(&multi_lock.client, token, callback, user_data, || multi_lock.acquire(timeout_ms))
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
    guard::verb(error, || {
        let core = get(multi_lock)?.core.clone();
        events::wait(None, || core.release())
    })
}

/// zkr_multi_lock_release in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_release_async(
    multi_lock: *mut zkr_multi_lock,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    guard::verdict(|| {
        let multi_lock = get(multi_lock)?;
        let listener = Listener::new(callback, user_data)?;
        events::start(&multi_lock.client, None, multi_lock.core.release(), move |outcome| {
            listener.done(outcome)
        })
    })
}

/// The same, with the confirmation left to the background: never blocks, fit for destructors and callbacks.
/// ZKR_NOT_HELD if nothing is held.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_release_in_background(
    multi_lock: *mut zkr_multi_lock,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || held::let_go(get(multi_lock)?.core.release()))
}

/// Whether all of them are certainly held through this handle at this moment: a comparison of clocks, no request. Never true again for an
/// acquisition once lost.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_is_held(multi_lock: *const zkr_multi_lock) -> bool {
    guard::answer(false, || Some(get(multi_lock).ok()?.core.is_held()))
}

/// Wakes all waits in progress on this handle, which end with ZKR_CANCELLED; never later ones. Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_multi_lock_cancel(
    multi_lock: *mut zkr_multi_lock,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        get(multi_lock)?.core.cancel();
        Ok(())
    })
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
        let held = get(multi_lock).ok()?.core.current().filter(|held| held.is_held())?;
        Some(held::copy_tokens(&held.fencing_tokens(), tokens, room))
    })
}
