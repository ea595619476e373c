//! The semaphore.

use std::ffi::{CString, c_char, c_void};
use std::sync::Arc;

use zkrecipes::{Client, Granted, Result, Semaphore, time};

use crate::cancel::zkr_cancel_token;
use crate::client::{self, zkr_client};
use crate::error::{zkr_error, zkr_status};
use crate::events::{self, Listener, zkr_done_callback};
use crate::guard;
use crate::handle::{self, Object};
use crate::held::{self, zkr_held, zkr_held_callback};
use crate::input::{self, HandlePlace, to_c};
use crate::lock::{self, Contenders, zkr_contenders, zkr_contenders_callback};

/// At most so many permits at once in the whole ensemble, in the order of arrival. A handle may be acquired again and
/// again: each acquisition has permits of its own.
pub struct zkr_semaphore {
    _opaque: [u8; 0],
}

struct SemaphoreHandle {
    client: Client,
    core: Semaphore,
    path: CString,
}

impl Object for SemaphoreHandle {
    type Opaque = zkr_semaphore;
    const NAME: &'static str = "zkr_semaphore";
}

impl SemaphoreHandle {
    fn acquire(&self, n: usize, timeout_ms: i64) -> impl Future<Output = Result<Granted>> + Send + use<> {
        self.core.acquire_kept(n, time::from_millis("timeout_ms", timeout_ms))
    }
}

fn get(semaphore: *const zkr_semaphore) -> Result<Arc<SemaphoreHandle>> {
    handle::get("semaphore", semaphore)
}

/// Makes a handle of a semaphore with so many permits. Validates, but sends nothing; acquiring is ZKR_MISMATCH if others
/// say another number. On success *semaphore belongs to the caller: free it with zkr_semaphore_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_new(
    client: *mut zkr_client,
    path: *const c_char,
    permits: usize,
    semaphore: *mut *mut zkr_semaphore,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let place = HandlePlace::required("semaphore", semaphore)?;
        let client = client::get(client)?.core.clone();
        let core = client.semaphore(&input::text("path", path)?, permits)?;
        let path = to_c(core.path());
        place.put(|| handle::publish(SemaphoreHandle { client, core, path }))
    })
}

/// Frees a semaphore. Waits in progress on it end with ZKR_CANCELLED. What is held through it is released in the
/// background, but for acquisitions whose zkr_held is still around, which owns it from then on. Never blocks. NULL and
/// freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_free(semaphore: *mut zkr_semaphore) {
    guard::quietly(|| {
        if let Some(semaphore) = handle::take::<SemaphoreHandle>(semaphore) {
            semaphore.core.cancel();
        }
    });
}

/// The path of the semaphore; NULL for a handle that cannot be used. Valid until it is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_path(semaphore: *const zkr_semaphore) -> *const c_char {
    guard::answer(std::ptr::null(), || Some(get(semaphore).ok()?.path.as_ptr()))
}

/// How many permits there are, as far as this handle knows; 0 for a handle that cannot be used.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_permits(semaphore: *const zkr_semaphore) -> usize {
    guard::answer(0, || Some(get(semaphore).ok()?.core.permits()))
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
    zkr_semaphore_acquire_cancellable(semaphore, n, timeout_ms, std::ptr::null_mut(), held, error)
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
    guard::verb(error, || {
        let place = HandlePlace::optional(held);
        let semaphore = get(semaphore)?;
        held::acquire(&semaphore.client, token, &place, || semaphore.acquire(n, timeout_ms))
    })
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
    zkr_semaphore_acquire_cancellable_async(
        semaphore,
        n,
        timeout_ms,
        std::ptr::null_mut(),
        callback,
        user_data,
    )
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
    guard::verdict(|| {
        let semaphore = get(semaphore)?;
        held::acquire_async(&semaphore.client, token, callback, user_data, || {
            semaphore.acquire(n, timeout_ms)
        })
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
    guard::verb(error, || {
        let core = get(semaphore)?.core.clone();
        events::wait(None, || core.release())
    })
}

/// zkr_semaphore_release in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_release_async(
    semaphore: *mut zkr_semaphore,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    guard::verdict(|| {
        let semaphore = get(semaphore)?;
        let listener = Listener::new(callback, user_data)?;
        events::start(&semaphore.client, None, semaphore.core.release(), move |outcome| {
            listener.done(outcome)
        })
    })
}

/// The same, with the confirmation left to the background: never blocks, fit for destructors and callbacks.
/// ZKR_NOT_HELD if nothing is held.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_release_in_background(
    semaphore: *mut zkr_semaphore,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || held::let_go(get(semaphore)?.core.release()))
}

/// Whether permits are certainly held through this handle at this moment: a comparison of clocks, no request. Never true again for an
/// acquisition once lost.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_is_held(semaphore: *const zkr_semaphore) -> bool {
    guard::answer(false, || Some(get(semaphore).ok()?.core.is_held()))
}

/// Wakes all waits in progress on this handle, which end with ZKR_CANCELLED; never later ones. Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_cancel(
    semaphore: *mut zkr_semaphore,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        get(semaphore)?.core.cancel();
        Ok(())
    })
}

/// Who holds permits, one entry for each permit. On success *holders belongs to the caller: free it with
/// zkr_contenders_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_holders(
    semaphore: *mut zkr_semaphore,
    holders: *mut *mut zkr_contenders,
    error: *mut *mut zkr_error,
) -> zkr_status {
    guard::verb(error, || {
        let place = HandlePlace::required("holders", holders)?;
        let core = get(semaphore)?.core.clone();
        let found = events::wait(None, || async move { core.holders().await })?;
        place.put(|| handle::publish(Contenders::new(&found)))
    })
}

/// zkr_semaphore_holders in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_holders_async(
    semaphore: *mut zkr_semaphore,
    callback: zkr_contenders_callback,
    user_data: *mut c_void,
) -> zkr_status {
    guard::verdict(|| {
        let semaphore = get(semaphore)?;
        let listener = Listener::new(callback, user_data)?;
        let core = semaphore.core.clone();
        events::start(&semaphore.client, None, async move { core.holders().await }, move |outcome| {
            lock::report_contenders(listener, outcome);
        })
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
    guard::verb(error, || {
        let core = get(semaphore)?.core.clone();
        events::wait(None, || async move { core.resize(permits).await })
    })
}

/// zkr_semaphore_resize in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_semaphore_resize_async(
    semaphore: *mut zkr_semaphore,
    permits: usize,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    guard::verdict(|| {
        let semaphore = get(semaphore)?;
        let listener = Listener::new(callback, user_data)?;
        let core = semaphore.core.clone();
        events::start(&semaphore.client, None, async move { core.resize(permits).await }, move |outcome| {
            listener.done(outcome);
        })
    })
}
