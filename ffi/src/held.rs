//! One acquisition.

use std::ffi::{CString, c_char, c_void};
use std::sync::{Arc, OnceLock};

use zkrecipes::{Client, Held, Result};

use crate::error::{zkr_error, zkr_status};
use crate::events::{
    Gate, Listener, SubscriptionHandle, zkr_done_callback, zkr_lost_callback, zkr_revoke_callback,
    zkr_subscription,
};
use crate::guard;
use crate::handle;
use crate::input::{HandlePlace, to_c};
use crate::transaction::zkr_transaction;
use crate::verbs::{self, holder};

/// One acquisition: what it says never comes to mean another one. It is held until it is released, or until both it
/// and the lock that it came from are freed.
pub struct zkr_held {
    _opaque: [u8; 0],
}

/// The end of acquiring. On ZKR_OK the zkr_held belongs to the callback, otherwise it is NULL; the error is only lent.
pub type zkr_held_callback = Option<
    unsafe extern "C" fn(
        status: zkr_status,
        held: *mut zkr_held,
        error: *const zkr_error,
        user_data: *mut c_void,
    ),
>;

pub(crate) struct HeldHandle {
    client: Client,
    core: Arc<Held>,
    texts: OnceLock<Texts>,
}

struct Texts {
    path: CString,
    node: CString,
    sequencer: CString,
}

holder!(HeldHandle, Arc<Held>, zkr_held, "held");

impl HeldHandle {
    pub(crate) fn new(client: Client, core: Arc<Held>) -> HeldHandle {
        HeldHandle { client, core, texts: OnceLock::new() }
    }

    fn texts(&self) -> &Texts {
        self.texts.get_or_init(|| Texts {
            path: to_c(self.core.path()),
            node: to_c(self.core.node()),
            sequencer: to_c(&self.core.sequencer()),
        })
    }
}

fn get(held: *const zkr_held) -> Result<Arc<HeldHandle>> {
    verbs::get(held)
}

/// Copies tokens to C as far as there is room, and says how many there are.
pub(crate) fn copy_tokens(found: &[u64], tokens: *mut u64, room: usize) -> usize {
    if !tokens.is_null() {
        // SAFETY: the header asks for room for that many; no more is written.
        unsafe { std::ptr::copy_nonoverlapping(found.as_ptr(), tokens, found.len().min(room)) };
    }
    found.len()
}

/// Frees a zkr_held. It is released in the background unless it was released before or the lock that it came from
/// still keeps it. Never blocks. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_held_free(held: *mut zkr_held) {
    guard::quietly(|| drop(handle::take::<HeldHandle>(held)));
}

/// The path of what is held, for a zkr_multi_lock its paths with spaces between; NULL for a handle that cannot be used.
/// Valid until it is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_held_path(held: *const zkr_held) -> *const c_char {
    guard::answer(std::ptr::null(), || Some(get(held).ok()?.texts().path.as_ptr()))
}

/// The path of our own node, the first one if there are several; NULL for a handle that cannot be used. Valid until it
/// is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_held_node(held: *const zkr_held) -> *const c_char {
    guard::answer(std::ptr::null(), || Some(get(held).ok()?.texts().node.as_ptr()))
}

/// A text that names this acquisition, for others to check; NULL for a handle that cannot be used. Valid until it is
/// freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_held_sequencer(held: *const zkr_held) -> *const c_char {
    guard::answer(std::ptr::null(), || Some(get(held).ok()?.texts().sequencer.as_ptr()))
}

/// The fencing token: it rises strictly from one acquisition of a path to the next. Stays the same after release and
/// loss. 0, which is never a token, for a handle that cannot be used.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_held_fencing_token(held: *const zkr_held) -> u64 {
    guard::answer(0, || Some(get(held).ok()?.core.fencing_token()))
}

/// The fencing tokens of everything that is held together: several for a zkr_multi_lock, in the order of its paths.
/// Writes as many as there is room for and returns how many there are; tokens may be NULL to ask for that alone. 0 for
/// a handle that cannot be used.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_held_fencing_tokens(held: *const zkr_held, tokens: *mut u64, room: usize) -> usize {
    guard::answer(0, || Some(copy_tokens(&get(held).ok()?.core.fencing_tokens(), tokens, room)))
}

/// How often the turn was passed on inside this process since it was won from the others. With local_handoff,
/// acquisitions share a fencing token; the pair of the token and this number rises strictly.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_held_passes(held: *const zkr_held) -> u32 {
    guard::answer(0, || Some(get(held).ok()?.core.passes()))
}

/// How many permits it is, for an acquisition of a zkr_semaphore; 1 for a lock, the number of its locks for a
/// zkr_multi_lock, 0 for a handle that cannot be used.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_held_permits(held: *const zkr_held) -> usize {
    guard::answer(0, || Some(get(held).ok()?.core.permits()))
}

/// Whether this acquisition certainly stands at this moment: a comparison of clocks, no request. Never true again once
/// false.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_held_is_held(held: *const zkr_held) -> bool {
    guard::answer(false, || Some(get(held).ok()?.core.is_held()))
}

/// Asks the server whether it stands. ZKR_OK, or ZKR_NOT_HELD, or ZKR_CONNECTION_LOST when it cannot be known.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_held_verify(held: *mut zkr_held, error: *mut *mut zkr_error) -> zkr_status {
    verbs::verify::<HeldHandle>(held, error)
}

/// zkr_held_verify in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_held_verify_async(
    held: *mut zkr_held,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    verbs::verify_async::<HeldHandle>(held, callback, user_data)
}

/// A transaction that the server applies only while this acquisition stands. Free it with zkr_transaction_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_held_guarded(
    held: *mut zkr_held,
    transaction: *mut *mut zkr_transaction,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::guarded::<HeldHandle>(held, transaction, error)
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
    verbs::on_lost::<HeldHandle>(held, callback, user_data, subscription, error)
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
    guard::verb(error, || {
        let place = HandlePlace::optional(subscription);
        let held = get(held)?;
        let listener = Listener::new(callback, user_data)?;
        let gate = Gate::new();
        let entrance = Arc::clone(&gate);
        let core = held.core.on_revoke(move || {
            // SAFETY: a function of this type, as the caller gave it.
            entrance.pass(|| listener.call(|function, data| unsafe { function(data) }));
        });
        place.put(|| handle::publish(SubscriptionHandle::new(core, gate)))
    })
}

/// Releases. From the call on it counts as not held. A second release is ZKR_NOT_HELD. ZKR_CONNECTION_LOST means that
/// the server did not confirm; the deletion goes on in the background until it does or the session has ended.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_held_release(held: *mut zkr_held, error: *mut *mut zkr_error) -> zkr_status {
    verbs::release::<HeldHandle>(held, error)
}

/// zkr_held_release in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_held_release_async(
    held: *mut zkr_held,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    verbs::release_async::<HeldHandle>(held, callback, user_data)
}

/// Releases and leaves the confirmation to the background: never blocks, fit for destructors. ZKR_NOT_HELD if it was
/// released before.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_held_release_in_background(
    held: *mut zkr_held,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::release_in_background::<HeldHandle>(held, error)
}
