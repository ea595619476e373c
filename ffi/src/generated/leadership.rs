//! Generated from api/leadership.toml by api/generate; do not edit.

use std::ffi::{c_char, c_void};
use std::ptr::null;

use crate::election::{LeadershipHandle, zkr_leadership};
use crate::error::zkr_error;
use crate::events::{zkr_done_callback, zkr_lost_callback, zkr_revoke_callback, zkr_subscription};
use crate::input;
use crate::input::HandlePlace;
use crate::status::zkr_status;
use crate::transaction::zkr_transaction;
use crate::verbs;
use crate::verbs::Way;

/// Releases. From the call on it counts as not held. A second release is ZKR_NOT_HELD, and so is one of what was lost:
/// there is nothing left to release. ZKR_CONNECTION_LOST means that the server did not confirm; the deletion goes on in
/// the background until it does or the session has ended.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_leadership_release(
    leadership: *mut zkr_leadership,
    error: *mut *mut zkr_error,
) -> zkr_status {
    leadership_release(leadership, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_leadership_release in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_leadership_release_async(
    leadership: *mut zkr_leadership,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    leadership_release(leadership, Way::Starts { token: null(), callback, user_data })
}

fn leadership_release(leadership: *const zkr_leadership, way: Way<'_, (), zkr_done_callback>) -> zkr_status {
    verbs::call(leadership, way, |it: &LeadershipHandle| Ok(it.core.release()))
}

/// Releases and leaves the confirmation to the background: never blocks, fit for destructors. ZKR_NOT_HELD if it was
/// released before.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_leadership_release_in_background(
    leadership: *mut zkr_leadership,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(leadership, error, || Ok(()), |it: &LeadershipHandle| it.core.release_in_background())
}

/// Whether this acquisition certainly stands at this moment: a comparison of clocks, no request. Never true again once
/// false.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_leadership_is_held(leadership: *const zkr_leadership) -> bool {
    verbs::ask(leadership, false, |it: &LeadershipHandle| Some(it.core.is_held()))
}

/// The fencing token: it rises strictly from one acquisition of a path to the next. Stays the same after release and
/// loss. 0, which is never a token, for a handle that cannot be used.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_leadership_fencing_token(leadership: *const zkr_leadership) -> u64 {
    verbs::ask(leadership, 0, |it: &LeadershipHandle| Some(it.core.fencing_token()))
}

/// Asks the server whether it stands. ZKR_OK, or ZKR_NOT_HELD, or ZKR_CONNECTION_LOST when it cannot be known.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_leadership_verify(
    leadership: *mut zkr_leadership,
    error: *mut *mut zkr_error,
) -> zkr_status {
    leadership_verify(leadership, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_leadership_verify in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_leadership_verify_async(
    leadership: *mut zkr_leadership,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    leadership_verify(leadership, Way::Starts { token: null(), callback, user_data })
}

fn leadership_verify(leadership: *const zkr_leadership, way: Way<'_, (), zkr_done_callback>) -> zkr_status {
    verbs::call(leadership, way, |it: &LeadershipHandle| {
        let core = it.core.clone();
        Ok(async move { core.verify().await })
    })
}

/// A transaction that the server applies only while this leadership stands. Free it with zkr_transaction_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_leadership_guarded(
    leadership: *mut zkr_leadership,
    transaction: *mut *mut zkr_transaction,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        leadership,
        error,
        || HandlePlace::required("transaction", transaction),
        |it: &LeadershipHandle| Ok(it.core.guarded()),
    )
}

/// Calls back once when this leadership is lost, at once if it already is, never on its own release. subscription may
/// be NULL; otherwise end it with zkr_subscription_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_leadership_on_lost(
    leadership: *mut zkr_leadership,
    callback: zkr_lost_callback,
    user_data: *mut c_void,
    subscription: *mut *mut zkr_subscription,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::subscribe(leadership, callback, user_data, subscription, error, |it: &LeadershipHandle, told| {
        Ok(it.core.on_lost(move |found| told.tell(found)))
    })
}

/// Calls back once when somebody asks for what is held (zkr_lock_revoke and the like), at once if somebody already has:
/// finish, then release. Never after its own release. subscription may be NULL; otherwise end it with
/// zkr_subscription_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_leadership_on_revoke(
    leadership: *mut zkr_leadership,
    callback: zkr_revoke_callback,
    user_data: *mut c_void,
    subscription: *mut *mut zkr_subscription,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::subscribe(leadership, callback, user_data, subscription, error, |it: &LeadershipHandle, told| {
        verbs::check_open(it)?;
        Ok(it.core.on_revoke(move || told.tell(())))
    })
}

/// Frees a leadership. It is resigned in the background unless it was released before or the election that it came from
/// still keeps it, as it does for zkr_election_campaign but not for zkr_election_run. Never blocks. NULL and freed ones
/// are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_leadership_free(leadership: *mut zkr_leadership) {
    verbs::free(leadership, |_: &LeadershipHandle| {});
}

/// The path of the election; NULL for a handle that cannot be used. Valid until it is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_leadership_path(leadership: *const zkr_leadership) -> *const c_char {
    verbs::ask(leadership, null(), |it: &LeadershipHandle| Some(it.texts.path(&it.core)))
}

/// The last part of the path of what is held: of a partition, its name. NULL for a handle that cannot be used. Valid
/// until it is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_leadership_name(leadership: *const zkr_leadership) -> *const c_char {
    verbs::ask(leadership, null(), |it: &LeadershipHandle| Some(it.texts.name(&it.core)))
}

/// The path of our candidate; NULL for a handle that cannot be used. Valid until it is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_leadership_node(leadership: *const zkr_leadership) -> *const c_char {
    verbs::ask(leadership, null(), |it: &LeadershipHandle| Some(it.texts.node(&it.core)))
}

/// A text that names this acquisition, for others to check; NULL for a handle that cannot be used. Valid until it is
/// freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_leadership_sequencer(leadership: *const zkr_leadership) -> *const c_char {
    verbs::ask(leadership, null(), |it: &LeadershipHandle| Some(it.texts.sequencer(&it.core)))
}

/// Rises strictly from one leader to the next: the fencing token. 0, which is never one, for a handle that cannot be
/// used.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_leadership_epoch(leadership: *const zkr_leadership) -> u64 {
    verbs::ask(leadership, 0, |it: &LeadershipHandle| Some(it.core.epoch()))
}

/// Tells everybody that this leader has begun its work, and data: zkr_leader_acknowledged. The server refuses it once
/// we lead no more, which is ZKR_NOT_HELD. Doing it again replaces the data.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_leadership_acknowledge(
    leadership: *mut zkr_leadership,
    data: *const c_void,
    size: usize,
    error: *mut *mut zkr_error,
) -> zkr_status {
    leadership_acknowledge(leadership, data, size, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_leadership_acknowledge in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_leadership_acknowledge_async(
    leadership: *mut zkr_leadership,
    data: *const c_void,
    size: usize,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    leadership_acknowledge(leadership, data, size, Way::Starts { token: null(), callback, user_data })
}

fn leadership_acknowledge(
    leadership: *const zkr_leadership,
    data: *const c_void,
    size: usize,
    way: Way<'_, (), zkr_done_callback>,
) -> zkr_status {
    verbs::call(leadership, way, |it: &LeadershipHandle| {
        let core = it.core.clone();
        let data = input::bytes("data", data, size)?;
        Ok(async move { core.acknowledge(&data).await })
    })
}
