//! Generated from api/lock.toml by api/generate; do not edit.

use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};

use zkrecipes::Result;
use zkrecipes::drive;
use zkrecipes::time;

use crate::cancel::zkr_cancel_token;
use crate::client::{ClientHandle, zkr_client};
use crate::contenders::zkr_wait_callback;
use crate::error::zkr_error;
use crate::events::{
    zkr_answer_callback, zkr_done_callback, zkr_lost_callback, zkr_revoke_callback, zkr_subscription,
};
use crate::handle::Object;
use crate::held::{zkr_held, zkr_held_callback};
use crate::input;
use crate::input::{HandlePlace, Place, to_c};
use crate::lists::{zkr_contenders, zkr_contenders_callback};
use crate::options;
use crate::sized::{Flag, SelfSized};
use crate::status::zkr_status;
use crate::transaction::zkr_transaction;
use crate::verbs;
use crate::verbs::{Recipe, Way};

/// A lock that at most one holder in the whole ensemble has at a time.
///
/// A handle is used by one owner at a time: a second acquire on a held handle waits, whichever thread makes it.
pub struct zkr_lock {
    _opaque: [u8; 0],
}

pub(crate) type LockHandle = Recipe<zkrecipes::Lock>;

impl Object for LockHandle {
    type Opaque = zkr_lock;
    const NAME: &'static str = "zkr_lock";

    fn is_part(&self) -> bool {
        self.is_part
    }
}

/// How a lock behaves. Start from ZKR_LOCK_OPTIONS_INIT, which has the defaults.
#[repr(C)]
#[derive(Copy, Clone)]
pub struct zkr_lock_options {
    /// sizeof(zkr_lock_options), as ZKR_LOCK_OPTIONS_INIT sets it.
    pub size: usize,
    /// The handle is the owner: nested acquisitions count. Never share such a handle between threads or tasks that must
    /// exclude each other.
    pub reentrant: Flag,
    /// Zero.
    pub reserved: [u8; 3],
    /// How many times waiters of one client may pass the turn on in memory before others get theirs. They then share a
    /// fencing token, and only the pair of token and passes rises strictly.
    pub local_handoff: u32,
}

impl SelfSized for zkr_lock_options {
    const INIT: &'static str = "ZKR_LOCK_OPTIONS_INIT";
    const LEAST: usize = size_of::<zkr_lock_options>();

    fn defaults() -> zkr_lock_options {
        zkr_lock_options {
            size: size_of::<zkr_lock_options>(),
            reentrant: Flag(0),
            reserved: [0; 3],
            local_handoff: 0,
        }
    }

    fn reserved(&self) -> Vec<u8> {
        [&self.reserved[..]].concat()
    }
}

impl zkr_lock_options {
    pub(crate) fn convert(&self) -> Result<zkrecipes::LockOptions> {
        let mut options = zkrecipes::LockOptions::default();
        options.reentrant = self.reentrant.get("reentrant")?;
        options.local_handoff = self.local_handoff;

        Ok(options)
    }
}
/// Acquires the lock, waiting up to timeout_ms: 0 is one attempt, any negative is for ever.
///
/// ZKR_TIMEOUT if somebody else has it for all that time. held may be NULL when zkr_lock_release and the other verbs of
/// the lock are enough; otherwise *held belongs to the caller: free it with zkr_held_free.
///
/// Cancelling: zkr_lock_cancel, zkr_lock_free or, for one call, zkr_lock_acquire_cancellable. In every case, and after
/// a timeout, nothing of ours stays in ZooKeeper.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_acquire(
    lock: *mut zkr_lock,
    timeout_ms: i64,
    held: *mut *mut zkr_held,
    error: *mut *mut zkr_error,
) -> zkr_status {
    zkr_lock_acquire_cancellable(lock, timeout_ms, null_mut(), held, error)
}

/// zkr_lock_acquire that another thread can withdraw; token may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_acquire_cancellable(
    lock: *mut zkr_lock,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    held: *mut *mut zkr_held,
    error: *mut *mut zkr_error,
) -> zkr_status {
    lock_acquire(lock, timeout_ms, Way::Waits { token, error, place: &|| Ok(HandlePlace::optional(held)) })
}

/// zkr_lock_acquire in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_acquire_async(
    lock: *mut zkr_lock,
    timeout_ms: i64,
    callback: zkr_held_callback,
    user_data: *mut c_void,
) -> zkr_status {
    zkr_lock_acquire_cancellable_async(lock, timeout_ms, null_mut(), callback, user_data)
}

/// zkr_lock_acquire_async with a token that withdraws it; token may be NULL, and may be freed before the end.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_acquire_cancellable_async(
    lock: *mut zkr_lock,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    callback: zkr_held_callback,
    user_data: *mut c_void,
) -> zkr_status {
    lock_acquire(lock, timeout_ms, Way::Starts { token, callback, user_data })
}

fn lock_acquire(
    lock: *const zkr_lock,
    timeout_ms: i64,
    way: Way<'_, HandlePlace<zkr_held>, zkr_held_callback>,
) -> zkr_status {
    verbs::call(lock, way, |it: &LockHandle| {
        let timeout_ms = time::from_millis("timeout_ms", timeout_ms);
        Ok(drive::acquire(&it.core, 1, timeout_ms))
    })
}

/// Releases the innermost acquisition of this handle. From the call on the lock counts as not held.
///
/// ZKR_NOT_HELD if nothing is held. ZKR_CONNECTION_LOST means that the server did not confirm; the deletion goes on in
/// the background until it does or the session has ended.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_release(lock: *mut zkr_lock, error: *mut *mut zkr_error) -> zkr_status {
    lock_release(lock, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_lock_release in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_release_async(
    lock: *mut zkr_lock,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    lock_release(lock, Way::Starts { token: null(), callback, user_data })
}

fn lock_release(lock: *const zkr_lock, way: Way<'_, (), zkr_done_callback>) -> zkr_status {
    verbs::call(lock, way, |it: &LockHandle| Ok(it.core.release()))
}

/// Releases the innermost acquisition and leaves the confirmation to the background: never blocks, fit for destructors
/// and callbacks. ZKR_NOT_HELD if nothing is held.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_release_in_background(
    lock: *mut zkr_lock,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(lock, error, || Ok(()), |it: &LockHandle| it.core.release_in_background())
}

/// Whether the lock is certainly held through this handle at this moment: a comparison of clocks, no request. Never
/// true again for an acquisition once lost.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_is_held(lock: *const zkr_lock) -> bool {
    verbs::ask(lock, false, |it: &LockHandle| Some(it.core.is_held()))
}

/// The fencing token of what this handle holds: it rises strictly from one acquisition of a path to the next. 0, which
/// is never a token, when nothing is held.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_fencing_token(lock: *const zkr_lock) -> u64 {
    verbs::ask(lock, 0, |it: &LockHandle| it.core.fencing_token().ok())
}

/// Asks the server whether the lock is held. ZKR_OK, or ZKR_NOT_HELD, or ZKR_CONNECTION_LOST when it cannot be known.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_verify(lock: *mut zkr_lock, error: *mut *mut zkr_error) -> zkr_status {
    lock_verify(lock, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_lock_verify in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_verify_async(
    lock: *mut zkr_lock,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    lock_verify(lock, Way::Starts { token: null(), callback, user_data })
}

fn lock_verify(lock: *const zkr_lock, way: Way<'_, (), zkr_done_callback>) -> zkr_status {
    verbs::call(lock, way, |it: &LockHandle| {
        let core = it.core.clone();
        Ok(async move { core.verify().await })
    })
}

/// A transaction that the server applies only while the current acquisition stands: the exact protection, where
/// zkr_lock_is_held cannot foresee a deletion by force. Free it with zkr_transaction_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_guarded(
    lock: *mut zkr_lock,
    transaction: *mut *mut zkr_transaction,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        lock,
        error,
        || HandlePlace::required("transaction", transaction),
        |it: &LockHandle| it.core.guarded(),
    )
}

/// Calls back once when the current acquisition is lost, at once if it already is, never on its own release.
/// subscription may be NULL; otherwise end it with zkr_subscription_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_on_lost(
    lock: *mut zkr_lock,
    callback: zkr_lost_callback,
    user_data: *mut c_void,
    subscription: *mut *mut zkr_subscription,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::subscribe(lock, callback, user_data, subscription, error, |it: &LockHandle, told| {
        it.core.on_lost(move |found| told.tell(found))
    })
}

/// Calls back once when somebody asks for what is held now (zkr_lock_revoke), at once if somebody already has: finish,
/// then release. ZKR_NOT_HELD if nothing is held. subscription may be NULL; otherwise end it with
/// zkr_subscription_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_on_revoke(
    lock: *mut zkr_lock,
    callback: zkr_revoke_callback,
    user_data: *mut c_void,
    subscription: *mut *mut zkr_subscription,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::subscribe(lock, callback, user_data, subscription, error, |it: &LockHandle, told| {
        it.core.on_revoke(move || told.tell(()))
    })
}

/// Calls back while an acquisition through this handle waits: after a second, and then ever less often, up to once a
/// minute. Each time it is looked who holds, which is one read in general. subscription may be NULL; otherwise end it
/// with zkr_subscription_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_on_wait(
    lock: *mut zkr_lock,
    callback: zkr_wait_callback,
    user_data: *mut c_void,
    subscription: *mut *mut zkr_subscription,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::subscribe(lock, callback, user_data, subscription, error, |it: &LockHandle, told| {
        it.core.on_wait(move |found| told.tell(found))
    })
}

/// Wakes all acquisitions that wait through this handle, which end with ZKR_CANCELLED; never later ones. Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_cancel(lock: *mut zkr_lock, error: *mut *mut zkr_error) -> zkr_status {
    verbs::now(
        lock,
        error,
        || Ok(()),
        |it: &LockHandle| {
            it.core.cancel();
            Ok(())
        },
    )
}

/// Who holds the lock and who waits, in order. On success *contenders belongs to the caller: free it with
/// zkr_contenders_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_contenders(
    lock: *mut zkr_lock,
    contenders: *mut *mut zkr_contenders,
    error: *mut *mut zkr_error,
) -> zkr_status {
    lock_contenders(
        lock,
        Way::Waits { token: null(), error, place: &|| HandlePlace::required("contenders", contenders) },
    )
}

/// zkr_lock_contenders in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_contenders_async(
    lock: *mut zkr_lock,
    callback: zkr_contenders_callback,
    user_data: *mut c_void,
) -> zkr_status {
    lock_contenders(lock, Way::Starts { token: null(), callback, user_data })
}

fn lock_contenders(
    lock: *const zkr_lock,
    way: Way<'_, HandlePlace<zkr_contenders>, zkr_contenders_callback>,
) -> zkr_status {
    verbs::call(lock, way, |it: &LockHandle| {
        let core = it.core.clone();
        Ok(async move { core.contenders().await })
    })
}

/// Asks for the lock: whoever holds it, or the contender whose node is named as in a zkr_contender (NULL: whoever
/// holds), hears of it through zkr_held_on_revoke and lets go when it can.
///
/// With force_after_ms, exactly the nodes that were asked are deleted if they have not gone by then; any negative is
/// never. A holder that cannot be reached at that moment does not know that it lost until its lease runs out: only
/// guarded writes and fencing tokens protect from it. asked may be NULL; otherwise it says whether there was anybody to
/// ask. ZKR_INVALID for what cannot be a contender of this lock. Cancelling while it waits: zkr_lock_cancel or
/// zkr_lock_revoke_cancellable.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_revoke(
    lock: *mut zkr_lock,
    contender: *const c_char,
    force_after_ms: i64,
    asked: *mut bool,
    error: *mut *mut zkr_error,
) -> zkr_status {
    zkr_lock_revoke_cancellable(lock, contender, force_after_ms, null_mut(), asked, error)
}

/// zkr_lock_revoke that another thread can withdraw; token may be NULL. Withdrawn while it waits, it has asked, but
/// deletes nothing.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_revoke_cancellable(
    lock: *mut zkr_lock,
    contender: *const c_char,
    force_after_ms: i64,
    token: *mut zkr_cancel_token,
    asked: *mut bool,
    error: *mut *mut zkr_error,
) -> zkr_status {
    lock_revoke(
        lock,
        contender,
        force_after_ms,
        Way::Waits { token, error, place: &|| Ok(Place::optional(asked)) },
    )
}

/// zkr_lock_revoke in the background; the answer is whether there was anybody to ask. ZKR_OK says that the callback
/// will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_revoke_async(
    lock: *mut zkr_lock,
    contender: *const c_char,
    force_after_ms: i64,
    callback: zkr_answer_callback,
    user_data: *mut c_void,
) -> zkr_status {
    zkr_lock_revoke_cancellable_async(lock, contender, force_after_ms, null_mut(), callback, user_data)
}

/// zkr_lock_revoke_async with a token that withdraws it; token may be NULL, and may be freed before the end.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_revoke_cancellable_async(
    lock: *mut zkr_lock,
    contender: *const c_char,
    force_after_ms: i64,
    token: *mut zkr_cancel_token,
    callback: zkr_answer_callback,
    user_data: *mut c_void,
) -> zkr_status {
    lock_revoke(lock, contender, force_after_ms, Way::Starts { token, callback, user_data })
}

fn lock_revoke(
    lock: *const zkr_lock,
    contender: *const c_char,
    force_after_ms: i64,
    way: Way<'_, Place<bool>, zkr_answer_callback>,
) -> zkr_status {
    verbs::call(lock, way, |it: &LockHandle| {
        let core = it.core.clone();
        let contender = input::optional_text("contender", contender)?;
        let force_after_ms = time::from_millis("force_after_ms", force_after_ms);
        Ok(async move { core.revoke(contender.as_deref(), force_after_ms).await })
    })
}

/// Makes a handle of a lock. Validates, but sends nothing. options may be NULL for the defaults. On success *lock
/// belongs to the caller: free it with zkr_lock_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_new(
    client: *mut zkr_client,
    path: *const c_char,
    options: *const zkr_lock_options,
    lock: *mut *mut zkr_lock,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        client,
        error,
        || HandlePlace::required("lock", lock),
        |it: &ClientHandle| {
            let path = input::text("path", path)?;
            let options = options::read(options)?.convert()?;
            let core = it.core.lock(&path, options)?;
            Ok(Recipe { client: it.core.clone(), path: to_c(core.path()), core, is_part: false })
        },
    )
}

/// Frees a lock. Waits in progress on it end with ZKR_CANCELLED. If it is held, it is released in the background,
/// unless a zkr_held of it is still around, which owns it from then on. Never blocks. NULL, freed ones and the sides of
/// a zkr_read_write_lock are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_free(lock: *mut zkr_lock) {
    verbs::free(lock, |it: &LockHandle| it.core.cancel());
}

/// The path of the lock; NULL for a handle that cannot be used. Valid until the lock is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_path(lock: *const zkr_lock) -> *const c_char {
    verbs::ask(lock, null(), |it: &LockHandle| Some(it.path.as_ptr()))
}

/// From writing to reading, for the write side of a zkr_read_write_lock, as zkr_held_downgrade of its current
/// acquisition. What stands for it is held by the read side: zkr_lock_release of that one ends it. reading may be NULL
/// when that is enough; otherwise *reading belongs to the caller: free it with zkr_held_free.
///
/// ZKR_INVALID for any other lock, ZKR_NOT_HELD if nothing is held. On an error write is still held, unless it is lost.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_downgrade(
    lock: *mut zkr_lock,
    reading: *mut *mut zkr_held,
    error: *mut *mut zkr_error,
) -> zkr_status {
    lock_downgrade(lock, Way::Waits { token: null(), error, place: &|| Ok(HandlePlace::optional(reading)) })
}

/// zkr_lock_downgrade in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_lock_downgrade_async(
    lock: *mut zkr_lock,
    callback: zkr_held_callback,
    user_data: *mut c_void,
) -> zkr_status {
    lock_downgrade(lock, Way::Starts { token: null(), callback, user_data })
}

fn lock_downgrade(
    lock: *const zkr_lock,
    way: Way<'_, HandlePlace<zkr_held>, zkr_held_callback>,
) -> zkr_status {
    verbs::call(lock, way, |it: &LockHandle| Ok(drive::downgrade_current(&it.core)))
}
