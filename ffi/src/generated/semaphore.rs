//! Generated from api/semaphore.toml by api/generate; do not edit.

use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};

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
use crate::status::zkr_status;
use crate::transaction::zkr_transaction;
use crate::verbs;
use crate::verbs::{Recipe, Way};

/// At most so many permits at once in the whole ensemble, in the order of arrival. A handle may be acquired again and
/// again: each acquisition has permits of its own.
pub struct zkr_semaphore {
    _opaque: [u8; 0],
}

pub(crate) type SemaphoreHandle = Recipe<zkrecipes::Semaphore>;

impl Object for SemaphoreHandle {
    type Opaque = zkr_semaphore;
    const NAME: &'static str = "zkr_semaphore";

    fn is_part(&self) -> bool {
        self.is_part
    }
}

/// Acquires n permits in one step, waiting up to timeout_ms: 0 is one attempt, any negative is for ever.
///
/// ZKR_TIMEOUT if they are not free in all that time, ZKR_INVALID if there are never that many, ZKR_MISMATCH if others
/// say another number of permits. held may be NULL when zkr_semaphore_release is enough; otherwise *held belongs to the
/// caller: free it with zkr_held_free. Cancelling: zkr_semaphore_cancel, zkr_semaphore_free or, for one call,
/// zkr_semaphore_acquire_cancellable.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_acquire(
    semaphore: *mut zkr_semaphore,
    n: usize,
    timeout_ms: i64,
    held: *mut *mut zkr_held,
    error: *mut *mut zkr_error,
) -> zkr_status {
    zkr_semaphore_acquire_cancellable(semaphore, n, timeout_ms, null_mut(), held, error)
}

/// zkr_semaphore_acquire that another thread can withdraw; token may be NULL.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_acquire_cancellable(
    semaphore: *mut zkr_semaphore,
    n: usize,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    held: *mut *mut zkr_held,
    error: *mut *mut zkr_error,
) -> zkr_status {
    semaphore_acquire(
        semaphore,
        n,
        timeout_ms,
        Way::Waits { token, error, place: &|| Ok(HandlePlace::optional(held)) },
    )
}

/// zkr_semaphore_acquire in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_acquire_async(
    semaphore: *mut zkr_semaphore,
    n: usize,
    timeout_ms: i64,
    callback: zkr_held_callback,
    user_data: *mut c_void,
) -> zkr_status {
    zkr_semaphore_acquire_cancellable_async(semaphore, n, timeout_ms, null_mut(), callback, user_data)
}

/// zkr_semaphore_acquire_async with a token that withdraws it; token may be NULL, and may be freed before the end.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_acquire_cancellable_async(
    semaphore: *mut zkr_semaphore,
    n: usize,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    callback: zkr_held_callback,
    user_data: *mut c_void,
) -> zkr_status {
    semaphore_acquire(semaphore, n, timeout_ms, Way::Starts { token, callback, user_data })
}

fn semaphore_acquire(
    semaphore: *const zkr_semaphore,
    n: usize,
    timeout_ms: i64,
    way: Way<'_, HandlePlace<zkr_held>, zkr_held_callback>,
) -> zkr_status {
    verbs::call(semaphore, way, |it: &SemaphoreHandle| {
        let n = input::count("n", n)?;
        let timeout_ms = time::from_millis("timeout_ms", timeout_ms);
        Ok(drive::acquire(&it.core, n, timeout_ms))
    })
}

/// Releases the acquisition made last through this handle, all its permits. From the call on it counts as not held.
///
/// ZKR_NOT_HELD if nothing is held. ZKR_CONNECTION_LOST means that the server did not confirm; the deletion goes on in
/// the background until it does or the session has ended.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_release(
    semaphore: *mut zkr_semaphore,
    error: *mut *mut zkr_error,
) -> zkr_status {
    semaphore_release(semaphore, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_semaphore_release in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_release_async(
    semaphore: *mut zkr_semaphore,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    semaphore_release(semaphore, Way::Starts { token: null(), callback, user_data })
}

fn semaphore_release(semaphore: *const zkr_semaphore, way: Way<'_, (), zkr_done_callback>) -> zkr_status {
    verbs::call(semaphore, way, |it: &SemaphoreHandle| Ok(it.core.release()))
}

/// The same, with the confirmation left to the background: never blocks, fit for destructors and callbacks.
/// ZKR_NOT_HELD if nothing is held.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_release_in_background(
    semaphore: *mut zkr_semaphore,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(semaphore, error, || Ok(()), |it: &SemaphoreHandle| it.core.release_in_background())
}

/// Whether permits are certainly held through this handle at this moment: a comparison of clocks, no request. Never
/// true again for an acquisition once lost.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_is_held(semaphore: *const zkr_semaphore) -> bool {
    verbs::ask(semaphore, false, |it: &SemaphoreHandle| Some(it.core.is_held()))
}

/// The fencing token of the acquisition made last through this handle. Those of permits held at the same time are in no
/// order. 0, which is never a token, when nothing is held.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_fencing_token(semaphore: *const zkr_semaphore) -> u64 {
    verbs::ask(semaphore, 0, |it: &SemaphoreHandle| it.core.fencing_token().ok())
}

/// Asks the server whether the acquisition made last through this handle is held. ZKR_OK, or ZKR_NOT_HELD, or
/// ZKR_CONNECTION_LOST when it cannot be known.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_verify(
    semaphore: *mut zkr_semaphore,
    error: *mut *mut zkr_error,
) -> zkr_status {
    semaphore_verify(semaphore, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_semaphore_verify in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_verify_async(
    semaphore: *mut zkr_semaphore,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    semaphore_verify(semaphore, Way::Starts { token: null(), callback, user_data })
}

fn semaphore_verify(semaphore: *const zkr_semaphore, way: Way<'_, (), zkr_done_callback>) -> zkr_status {
    verbs::call(semaphore, way, |it: &SemaphoreHandle| {
        let core = it.core.clone();
        Ok(async move { core.verify().await })
    })
}

/// A transaction that the server applies only while the acquisition made last through this handle stands. Free it with
/// zkr_transaction_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_guarded(
    semaphore: *mut zkr_semaphore,
    transaction: *mut *mut zkr_transaction,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        semaphore,
        error,
        || HandlePlace::required("transaction", transaction),
        |it: &SemaphoreHandle| it.core.guarded(),
    )
}

/// Calls back once when the acquisition made last through this handle is lost, at once if it already is, never on its
/// own release. subscription may be NULL; otherwise end it with zkr_subscription_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_on_lost(
    semaphore: *mut zkr_semaphore,
    callback: zkr_lost_callback,
    user_data: *mut c_void,
    subscription: *mut *mut zkr_subscription,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::subscribe(semaphore, callback, user_data, subscription, error, |it: &SemaphoreHandle, told| {
        it.core.on_lost(move |found| told.tell(found))
    })
}

/// Calls back once when somebody asks for what is held now (zkr_semaphore_revoke), at once if somebody already has:
/// finish, then release. ZKR_NOT_HELD if nothing is held. subscription may be NULL; otherwise end it with
/// zkr_subscription_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_on_revoke(
    semaphore: *mut zkr_semaphore,
    callback: zkr_revoke_callback,
    user_data: *mut c_void,
    subscription: *mut *mut zkr_subscription,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::subscribe(semaphore, callback, user_data, subscription, error, |it: &SemaphoreHandle, told| {
        it.core.on_revoke(move || told.tell(()))
    })
}

/// Calls back while an acquisition through this handle waits: after a second, and then ever less often, up to once a
/// minute. Each time it is looked who holds, which is one read in general. subscription may be NULL; otherwise end it
/// with zkr_subscription_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_on_wait(
    semaphore: *mut zkr_semaphore,
    callback: zkr_wait_callback,
    user_data: *mut c_void,
    subscription: *mut *mut zkr_subscription,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::subscribe(semaphore, callback, user_data, subscription, error, |it: &SemaphoreHandle, told| {
        it.core.on_wait(move |found| told.tell(found))
    })
}

/// Wakes all acquisitions that wait through this handle, which end with ZKR_CANCELLED; never later ones. Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_cancel(
    semaphore: *mut zkr_semaphore,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        semaphore,
        error,
        || Ok(()),
        |it: &SemaphoreHandle| {
            it.core.cancel();
            Ok(())
        },
    )
}

/// Who holds permits, one entry for each permit, and then who waits for some, in order. On success *contenders belongs
/// to the caller: free it with zkr_contenders_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_contenders(
    semaphore: *mut zkr_semaphore,
    contenders: *mut *mut zkr_contenders,
    error: *mut *mut zkr_error,
) -> zkr_status {
    semaphore_contenders(
        semaphore,
        Way::Waits { token: null(), error, place: &|| HandlePlace::required("contenders", contenders) },
    )
}

/// zkr_semaphore_contenders in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_contenders_async(
    semaphore: *mut zkr_semaphore,
    callback: zkr_contenders_callback,
    user_data: *mut c_void,
) -> zkr_status {
    semaphore_contenders(semaphore, Way::Starts { token: null(), callback, user_data })
}

fn semaphore_contenders(
    semaphore: *const zkr_semaphore,
    way: Way<'_, HandlePlace<zkr_contenders>, zkr_contenders_callback>,
) -> zkr_status {
    verbs::call(semaphore, way, |it: &SemaphoreHandle| {
        let core = it.core.clone();
        Ok(async move { core.contenders().await })
    })
}

/// Asks for permits: everybody who holds some, or the contender whose node is named as in a zkr_contender (NULL:
/// everybody who holds), hears of it through zkr_held_on_revoke and lets go when it can. force_after_ms, asked and
/// ZKR_INVALID are as for zkr_lock_revoke; an acquisition that loses one of its permits loses all.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_revoke(
    semaphore: *mut zkr_semaphore,
    contender: *const c_char,
    force_after_ms: i64,
    asked: *mut bool,
    error: *mut *mut zkr_error,
) -> zkr_status {
    zkr_semaphore_revoke_cancellable(semaphore, contender, force_after_ms, null_mut(), asked, error)
}

/// zkr_semaphore_revoke that another thread can withdraw; token may be NULL. Withdrawn while it waits, it has asked,
/// but deletes nothing.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_revoke_cancellable(
    semaphore: *mut zkr_semaphore,
    contender: *const c_char,
    force_after_ms: i64,
    token: *mut zkr_cancel_token,
    asked: *mut bool,
    error: *mut *mut zkr_error,
) -> zkr_status {
    semaphore_revoke(
        semaphore,
        contender,
        force_after_ms,
        Way::Waits { token, error, place: &|| Ok(Place::optional(asked)) },
    )
}

/// zkr_semaphore_revoke in the background; the answer is whether there was anybody to ask. ZKR_OK says that the
/// callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_revoke_async(
    semaphore: *mut zkr_semaphore,
    contender: *const c_char,
    force_after_ms: i64,
    callback: zkr_answer_callback,
    user_data: *mut c_void,
) -> zkr_status {
    zkr_semaphore_revoke_cancellable_async(
        semaphore,
        contender,
        force_after_ms,
        null_mut(),
        callback,
        user_data,
    )
}

/// zkr_semaphore_revoke_async with a token that withdraws it; token may be NULL, and may be freed before the end.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_revoke_cancellable_async(
    semaphore: *mut zkr_semaphore,
    contender: *const c_char,
    force_after_ms: i64,
    token: *mut zkr_cancel_token,
    callback: zkr_answer_callback,
    user_data: *mut c_void,
) -> zkr_status {
    semaphore_revoke(semaphore, contender, force_after_ms, Way::Starts { token, callback, user_data })
}

fn semaphore_revoke(
    semaphore: *const zkr_semaphore,
    contender: *const c_char,
    force_after_ms: i64,
    way: Way<'_, Place<bool>, zkr_answer_callback>,
) -> zkr_status {
    verbs::call(semaphore, way, |it: &SemaphoreHandle| {
        let core = it.core.clone();
        let contender = input::optional_text("contender", contender)?;
        let force_after_ms = time::from_millis("force_after_ms", force_after_ms);
        Ok(async move { core.revoke(contender.as_deref(), force_after_ms).await })
    })
}

/// Makes a handle of a semaphore with so many permits. Validates, but sends nothing; acquiring is ZKR_MISMATCH if
/// others say another number. On success *semaphore belongs to the caller: free it with zkr_semaphore_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_new(
    client: *mut zkr_client,
    path: *const c_char,
    permits: usize,
    semaphore: *mut *mut zkr_semaphore,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        client,
        error,
        || HandlePlace::required("semaphore", semaphore),
        |it: &ClientHandle| {
            let path = input::text("path", path)?;
            let permits = input::count("permits", permits)?;
            let core = it.core.semaphore(&path, permits)?;
            Ok(Recipe { client: it.core.clone(), path: to_c(core.path()), core, is_part: false })
        },
    )
}

/// Frees a semaphore. Waits in progress on it end with ZKR_CANCELLED. What is held through it is released in the
/// background, but for acquisitions whose zkr_held is still around, which owns it from then on. Never blocks. NULL and
/// freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_free(semaphore: *mut zkr_semaphore) {
    verbs::free(semaphore, |it: &SemaphoreHandle| it.core.cancel());
}

/// The path of the semaphore; NULL for a handle that cannot be used. Valid until it is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_path(semaphore: *const zkr_semaphore) -> *const c_char {
    verbs::ask(semaphore, null(), |it: &SemaphoreHandle| Some(it.path.as_ptr()))
}

/// How many permits there are, as far as this handle knows; 0 for a handle that cannot be used.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_permits(semaphore: *const zkr_semaphore) -> usize {
    verbs::ask(semaphore, 0, |it: &SemaphoreHandle| Some(it.core.permits()))
}

/// Who holds permits, one entry for each permit. On success *holders belongs to the caller: free it with
/// zkr_contenders_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_holders(
    semaphore: *mut zkr_semaphore,
    holders: *mut *mut zkr_contenders,
    error: *mut *mut zkr_error,
) -> zkr_status {
    semaphore_holders(
        semaphore,
        Way::Waits { token: null(), error, place: &|| HandlePlace::required("holders", holders) },
    )
}

/// zkr_semaphore_holders in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_holders_async(
    semaphore: *mut zkr_semaphore,
    callback: zkr_contenders_callback,
    user_data: *mut c_void,
) -> zkr_status {
    semaphore_holders(semaphore, Way::Starts { token: null(), callback, user_data })
}

fn semaphore_holders(
    semaphore: *const zkr_semaphore,
    way: Way<'_, HandlePlace<zkr_contenders>, zkr_contenders_callback>,
) -> zkr_status {
    verbs::call(semaphore, way, |it: &SemaphoreHandle| {
        let core = it.core.clone();
        Ok(async move { core.holders().await })
    })
}

/// Changes how many permits there are, for everybody: handles that still say the old number get ZKR_MISMATCH. If it is
/// fewer than are held now, that takes effect as they are released.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_resize(
    semaphore: *mut zkr_semaphore,
    permits: usize,
    error: *mut *mut zkr_error,
) -> zkr_status {
    semaphore_resize(semaphore, permits, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_semaphore_resize in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_resize_async(
    semaphore: *mut zkr_semaphore,
    permits: usize,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    semaphore_resize(semaphore, permits, Way::Starts { token: null(), callback, user_data })
}

fn semaphore_resize(
    semaphore: *const zkr_semaphore,
    permits: usize,
    way: Way<'_, (), zkr_done_callback>,
) -> zkr_status {
    verbs::call(semaphore, way, |it: &SemaphoreHandle| {
        let core = it.core.clone();
        let permits = input::count("permits", permits)?;
        Ok(async move { core.resize(permits).await })
    })
}
