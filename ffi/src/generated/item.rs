//! Generated from api/item.toml by api/generate; do not edit.

use std::ffi::{c_char, c_void};
use std::ptr::null;

use zkrecipes::time;

use crate::error::zkr_error;
use crate::events::{zkr_done_callback, zkr_lost_callback, zkr_subscription};
use crate::input;
use crate::input::HandlePlace;
use crate::items;
use crate::items::{ItemHandle, zkr_item};
use crate::status::zkr_status;
use crate::transaction::{TransactionHandle, zkr_transaction};
use crate::verbs;
use crate::verbs::Way;

/// Whether this acquisition certainly stands at this moment: a comparison of clocks, no request. Never true again once
/// false.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_item_is_held(item: *const zkr_item) -> bool {
    verbs::ask(item, false, |it: &ItemHandle| Some(it.core.is_held()))
}

/// The fencing token of the claim: it rises from one claim of an item to the next. Stays the same when the item is
/// settled or lost. 0, which is never a token, for a handle that cannot be used.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_item_fencing_token(item: *const zkr_item) -> u64 {
    verbs::ask(item, 0, |it: &ItemHandle| Some(it.core.fencing_token()))
}

/// Asks the server whether it stands. ZKR_OK, or ZKR_NOT_HELD, or ZKR_CONNECTION_LOST when it cannot be known.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_item_verify(item: *mut zkr_item, error: *mut *mut zkr_error) -> zkr_status {
    item_verify(item, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_item_verify in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_item_verify_async(
    item: *mut zkr_item,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    item_verify(item, Way::Starts { token: null(), callback, user_data })
}

fn item_verify(item: *const zkr_item, way: Way<'_, (), zkr_done_callback>) -> zkr_status {
    verbs::call(item, way, |it: &ItemHandle| {
        let core = it.core.clone();
        Ok(async move { core.verify().await })
    })
}

/// A transaction that the server applies only while this claim stands. Free it with zkr_transaction_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_item_guarded(
    item: *mut zkr_item,
    transaction: *mut *mut zkr_transaction,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        item,
        error,
        || HandlePlace::required("transaction", transaction),
        |it: &ItemHandle| Ok(it.core.guarded()),
    )
}

/// Calls back once when this claim is lost, at once if it already is, never on its own release. subscription may be
/// NULL; otherwise end it with zkr_subscription_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_item_on_lost(
    item: *mut zkr_item,
    callback: zkr_lost_callback,
    user_data: *mut c_void,
    subscription: *mut *mut zkr_subscription,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::subscribe(item, callback, user_data, subscription, error, |it: &ItemHandle, told| {
        Ok(it.core.on_lost(move |found| told.tell(found)))
    })
}

/// Frees an item. Unless it was settled before it is given back in the background, as by zkr_item_nack. Never blocks.
/// NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_item_free(item: *mut zkr_item) {
    verbs::free(item, |_: &ItemHandle| {});
}

/// The path of the queue; NULL for a handle that cannot be used. Valid until the item is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_item_path(item: *const zkr_item) -> *const c_char {
    verbs::ask(item, null(), |it: &ItemHandle| Some(it.texts.path(&it.core)))
}

/// The last part of the path of what is held: of a partition, its name. NULL for a handle that cannot be used. Valid
/// until it is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_item_name(item: *const zkr_item) -> *const c_char {
    verbs::ask(item, null(), |it: &ItemHandle| Some(it.texts.name(&it.core)))
}

/// The path of our claim; NULL for a handle that cannot be used. Valid until the item is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_item_node(item: *const zkr_item) -> *const c_char {
    verbs::ask(item, null(), |it: &ItemHandle| Some(it.texts.node(&it.core)))
}

/// A text that names this claim, for others to check (zkr_client_check_sequencer); NULL for a handle that cannot be
/// used. Valid until the item is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_item_sequencer(item: *const zkr_item) -> *const c_char {
    verbs::ask(item, null(), |it: &ItemHandle| Some(it.texts.sequencer(&it.core)))
}

/// What was put. A NUL that does not count follows; NULL for a handle that cannot be used. Valid until the item is
/// freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_item_data(item: *const zkr_item) -> *const c_void {
    verbs::ask(item, null(), |it: &ItemHandle| Some(it.data.as_ptr().cast()))
}

/// How many bytes of data there are.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_item_size(item: *const zkr_item) -> usize {
    verbs::ask(item, 0, |it: &ItemHandle| Some(it.data.len() - 1))
}

/// How often it was claimed, this time included; 0 for a handle that cannot be used.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_item_attempts(item: *const zkr_item) -> u32 {
    verbs::ask(item, 0, |it: &ItemHandle| Some(it.core.attempts()))
}

/// It is done: removes it from the queue, if our claim still stands; ZKR_NOT_HELD if not, and then it is somebody
/// else's. A lost answer is looked for; ZKR_CONNECTION_LOST says that it could not be found out.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_item_ack(item: *mut zkr_item, error: *mut *mut zkr_error) -> zkr_status {
    item_ack(item, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_item_ack in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_item_ack_async(
    item: *mut zkr_item,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    item_ack(item, Way::Starts { token: null(), callback, user_data })
}

fn item_ack(item: *const zkr_item, way: Way<'_, (), zkr_done_callback>) -> zkr_status {
    verbs::call(item, way, |it: &ItemHandle| Ok(it.core.ack()))
}

/// The same, together with the writes of a transaction, which are applied exactly if the item is done. It may come from
/// zkr_item_guarded or zkr_nodes_transaction, and is used up in any case; free it nevertheless. Writes that are refused
/// leave the item claimed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_item_ack_with(
    item: *mut zkr_item,
    transaction: *mut zkr_transaction,
    error: *mut *mut zkr_error,
) -> zkr_status {
    item_ack_with(item, transaction, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_item_ack_with in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_item_ack_with_async(
    item: *mut zkr_item,
    transaction: *mut zkr_transaction,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    item_ack_with(item, transaction, Way::Starts { token: null(), callback, user_data })
}

fn item_ack_with(
    item: *const zkr_item,
    transaction: *mut zkr_transaction,
    way: Way<'_, (), zkr_done_callback>,
) -> zkr_status {
    verbs::call(item, way, |it: &ItemHandle| {
        let transaction = verbs::get::<TransactionHandle>(transaction)?;
        Ok(it.core.ack_with(&transaction.core))
    })
}

/// The work has failed: gives it back, and lets it step aside for the others, for a second after the first attempt and
/// twice as long after each further one, up to five minutes. Then it is at its old place again. After the last of
/// max_attempts it goes to the dead letters. ZKR_NOT_HELD if it is gone already.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_item_nack(item: *mut zkr_item, error: *mut *mut zkr_error) -> zkr_status {
    item_nack(item, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_item_nack in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_item_nack_async(
    item: *mut zkr_item,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    item_nack(item, Way::Starts { token: null(), callback, user_data })
}

fn item_nack(item: *const zkr_item, way: Way<'_, (), zkr_done_callback>) -> zkr_status {
    verbs::call(item, way, |it: &ItemHandle| Ok(it.core.nack()))
}

/// The same with a pause of one's own: 0 is none, any negative grows by itself. reason may be NULL; it is kept with the
/// dead letter if this was the last attempt.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_item_nack_with(
    item: *mut zkr_item,
    delay_ms: i64,
    reason: *const c_char,
    error: *mut *mut zkr_error,
) -> zkr_status {
    item_nack_with(item, delay_ms, reason, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_item_nack_with in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_item_nack_with_async(
    item: *mut zkr_item,
    delay_ms: i64,
    reason: *const c_char,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    item_nack_with(item, delay_ms, reason, Way::Starts { token: null(), callback, user_data })
}

fn item_nack_with(
    item: *const zkr_item,
    delay_ms: i64,
    reason: *const c_char,
    way: Way<'_, (), zkr_done_callback>,
) -> zkr_status {
    verbs::call(item, way, |it: &ItemHandle| {
        let delay_ms = time::from_millis("delay_ms", delay_ms);
        let reason = input::optional_text("reason", reason)?;
        Ok(items::nack_with(&it.core, delay_ms, reason))
    })
}
