//! Generated from api/delay_queue.toml by api/generate; do not edit.

use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};

use zkrecipes::drive;
use zkrecipes::time;

use crate::cancel::zkr_cancel_token;
use crate::client::{ClientHandle, zkr_client};
use crate::collections::zkr_buffer;
use crate::contenders::zkr_wait_callback;
use crate::error::zkr_error;
use crate::events::{zkr_done_callback, zkr_number_callback, zkr_subscription};
use crate::handle::Object;
use crate::input;
use crate::input::{HandlePlace, Place, to_c};
use crate::items;
use crate::items::{zkr_item, zkr_item_callback, zkr_queue_counts, zkr_queue_counts_callback};
use crate::lists::{
    zkr_dead_letters, zkr_dead_letters_callback, zkr_items, zkr_items_callback, zkr_payloads,
    zkr_payloads_callback,
};
use crate::nodes::zkr_buffer_callback;
use crate::options;
use crate::queue::{zkr_queue, zkr_queue_options};
use crate::status::zkr_status;
use crate::verbs;
use crate::verbs::{Recipe, Way};

/// Items that are taken when they are due, the first due first, by the clocks of those who put and take them.
pub struct zkr_delay_queue {
    _opaque: [u8; 0],
}

pub(crate) type DelayQueueHandle = Recipe<zkrecipes::DelayQueue>;

impl Object for DelayQueueHandle {
    type Opaque = zkr_delay_queue;
    const NAME: &'static str = "zkr_delay_queue";

    fn is_part(&self) -> bool {
        self.is_part
    }
}

/// Frees a queue, not what is in it. Waits in progress on it end with ZKR_CANCELLED. Items that were claimed through it
/// stay claimed. Never blocks. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_free(delay_queue: *mut zkr_delay_queue) {
    verbs::free(delay_queue, |it: &DelayQueueHandle| it.core.cancel());
}

/// The path of the queue; NULL for a handle that cannot be used. Valid until it is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_path(delay_queue: *const zkr_delay_queue) -> *const c_char {
    verbs::ask(delay_queue, null(), |it: &DelayQueueHandle| Some(it.path.as_ptr()))
}

/// Takes the item that was due first, waiting for one up to timeout_ms: 0 is one attempt, any negative is for ever. On
/// success *data belongs to the caller: free it with zkr_buffer_free.
///
/// At most once: the item is removed before it is returned, so who crashes then takes it along; zkr_delay_queue_claim
/// is for items that must not be lost. ZKR_TIMEOUT if there was none for all that time. ZKR_CONNECTION_LOST says that
/// one may have been removed that nobody has.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_get(
    delay_queue: *mut zkr_delay_queue,
    timeout_ms: i64,
    data: *mut *mut zkr_buffer,
    error: *mut *mut zkr_error,
) -> zkr_status {
    zkr_delay_queue_get_cancellable(delay_queue, timeout_ms, null_mut(), data, error)
}

/// zkr_delay_queue_get that another thread can withdraw; token may be NULL. An item whose removal is on its way goes
/// back to its old place.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_get_cancellable(
    delay_queue: *mut zkr_delay_queue,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    data: *mut *mut zkr_buffer,
    error: *mut *mut zkr_error,
) -> zkr_status {
    delay_queue_get(
        delay_queue,
        timeout_ms,
        Way::Waits { token, error, place: &|| HandlePlace::required("data", data) },
    )
}

/// zkr_delay_queue_get in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_get_async(
    delay_queue: *mut zkr_delay_queue,
    timeout_ms: i64,
    callback: zkr_buffer_callback,
    user_data: *mut c_void,
) -> zkr_status {
    zkr_delay_queue_get_cancellable_async(delay_queue, timeout_ms, null_mut(), callback, user_data)
}

/// zkr_delay_queue_get_async with a token that withdraws it; token may be NULL, and may be freed before the end.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_get_cancellable_async(
    delay_queue: *mut zkr_delay_queue,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    callback: zkr_buffer_callback,
    user_data: *mut c_void,
) -> zkr_status {
    delay_queue_get(delay_queue, timeout_ms, Way::Starts { token, callback, user_data })
}

fn delay_queue_get(
    delay_queue: *const zkr_delay_queue,
    timeout_ms: i64,
    way: Way<'_, HandlePlace<zkr_buffer>, zkr_buffer_callback>,
) -> zkr_status {
    verbs::call(delay_queue, way, |it: &DelayQueueHandle| {
        let timeout_ms = time::from_millis("timeout_ms", timeout_ms);
        Ok(drive::get(&it.core, timeout_ms))
    })
}

/// Claims the item that was due first, waiting for one up to timeout_ms: 0 is one attempt, any negative is for ever. On
/// success *item belongs to the caller: settle it with zkr_item_ack or zkr_item_nack, and free it with zkr_item_free,
/// which gives back what is not settled.
///
/// At least once: nobody else has the item until it is acknowledged, given back, or our session ends; then the next one
/// gets it. ZKR_TIMEOUT if there was none for all that time.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_claim(
    delay_queue: *mut zkr_delay_queue,
    timeout_ms: i64,
    item: *mut *mut zkr_item,
    error: *mut *mut zkr_error,
) -> zkr_status {
    zkr_delay_queue_claim_cancellable(delay_queue, timeout_ms, null_mut(), item, error)
}

/// zkr_delay_queue_claim that another thread can withdraw; token may be NULL. A claim that is on its way is taken back.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_claim_cancellable(
    delay_queue: *mut zkr_delay_queue,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    item: *mut *mut zkr_item,
    error: *mut *mut zkr_error,
) -> zkr_status {
    delay_queue_claim(
        delay_queue,
        timeout_ms,
        Way::Waits { token, error, place: &|| HandlePlace::required("item", item) },
    )
}

/// zkr_delay_queue_claim in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_claim_async(
    delay_queue: *mut zkr_delay_queue,
    timeout_ms: i64,
    callback: zkr_item_callback,
    user_data: *mut c_void,
) -> zkr_status {
    zkr_delay_queue_claim_cancellable_async(delay_queue, timeout_ms, null_mut(), callback, user_data)
}

/// zkr_delay_queue_claim_async with a token that withdraws it; token may be NULL, and may be freed before the end.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_claim_cancellable_async(
    delay_queue: *mut zkr_delay_queue,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    callback: zkr_item_callback,
    user_data: *mut c_void,
) -> zkr_status {
    delay_queue_claim(delay_queue, timeout_ms, Way::Starts { token, callback, user_data })
}

fn delay_queue_claim(
    delay_queue: *const zkr_delay_queue,
    timeout_ms: i64,
    way: Way<'_, HandlePlace<zkr_item>, zkr_item_callback>,
) -> zkr_status {
    verbs::call(delay_queue, way, |it: &DelayQueueHandle| {
        let timeout_ms = time::from_millis("timeout_ms", timeout_ms);
        Ok(drive::claim(&it.core, timeout_ms))
    })
}

/// Claims up to n at once: waits for the item that was due first as zkr_delay_queue_claim does, and takes the next ones
/// along that are there already. On success *items belongs to the caller: free it with zkr_items_free when each item
/// was taken. What was not is given back.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_claim_many(
    delay_queue: *mut zkr_delay_queue,
    n: usize,
    timeout_ms: i64,
    items: *mut *mut zkr_items,
    error: *mut *mut zkr_error,
) -> zkr_status {
    zkr_delay_queue_claim_many_cancellable(delay_queue, n, timeout_ms, null_mut(), items, error)
}

/// zkr_delay_queue_claim_many that another thread can withdraw; token may be NULL. Claims that are on their way are
/// taken back.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_claim_many_cancellable(
    delay_queue: *mut zkr_delay_queue,
    n: usize,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    items: *mut *mut zkr_items,
    error: *mut *mut zkr_error,
) -> zkr_status {
    delay_queue_claim_many(
        delay_queue,
        n,
        timeout_ms,
        Way::Waits { token, error, place: &|| HandlePlace::required("items", items) },
    )
}

/// zkr_delay_queue_claim_many in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_claim_many_async(
    delay_queue: *mut zkr_delay_queue,
    n: usize,
    timeout_ms: i64,
    callback: zkr_items_callback,
    user_data: *mut c_void,
) -> zkr_status {
    zkr_delay_queue_claim_many_cancellable_async(delay_queue, n, timeout_ms, null_mut(), callback, user_data)
}

/// zkr_delay_queue_claim_many_async with a token that withdraws it; token may be NULL, and may be freed before the end.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_claim_many_cancellable_async(
    delay_queue: *mut zkr_delay_queue,
    n: usize,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    callback: zkr_items_callback,
    user_data: *mut c_void,
) -> zkr_status {
    delay_queue_claim_many(delay_queue, n, timeout_ms, Way::Starts { token, callback, user_data })
}

fn delay_queue_claim_many(
    delay_queue: *const zkr_delay_queue,
    n: usize,
    timeout_ms: i64,
    way: Way<'_, HandlePlace<zkr_items>, zkr_items_callback>,
) -> zkr_status {
    verbs::call(delay_queue, way, |it: &DelayQueueHandle| {
        let n = input::count("n", n)?;
        let timeout_ms = time::from_millis("timeout_ms", timeout_ms);
        Ok(drive::claim_many(&it.core, n, timeout_ms))
    })
}

/// Acknowledges several at once, each as by zkr_item_ack: the requests leave together, and one that fails holds up no
/// other. The error is that of the first of them that failed. The items still have to be freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_ack_many(
    delay_queue: *mut zkr_delay_queue,
    items: *const *mut zkr_item,
    count: usize,
    error: *mut *mut zkr_error,
) -> zkr_status {
    delay_queue_ack_many(delay_queue, items, count, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_delay_queue_ack_many in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_ack_many_async(
    delay_queue: *mut zkr_delay_queue,
    items: *const *mut zkr_item,
    count: usize,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    delay_queue_ack_many(delay_queue, items, count, Way::Starts { token: null(), callback, user_data })
}

fn delay_queue_ack_many(
    delay_queue: *const zkr_delay_queue,
    items: *const *mut zkr_item,
    count: usize,
    way: Way<'_, (), zkr_done_callback>,
) -> zkr_status {
    verbs::call(delay_queue, way, |it: &DelayQueueHandle| {
        let items = items::claimed("items", items, count)?;
        Ok(drive::ack_many(&it.core, items))
    })
}

/// Calls back while a verb of this handle waits, for an item or for room: after a second, and then ever less often, up
/// to once a minute. subscription may be NULL; otherwise end it with zkr_subscription_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_on_wait(
    delay_queue: *mut zkr_delay_queue,
    callback: zkr_wait_callback,
    user_data: *mut c_void,
    subscription: *mut *mut zkr_subscription,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::subscribe(delay_queue, callback, user_data, subscription, error, |it: &DelayQueueHandle, told| {
        it.core.on_wait(move |found| told.tell(found))
    })
}

/// Reads the next item that nobody has claimed, which stays. *data is NULL if there is none; otherwise it belongs to
/// the caller: free it with zkr_buffer_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_peek(
    delay_queue: *mut zkr_delay_queue,
    data: *mut *mut zkr_buffer,
    error: *mut *mut zkr_error,
) -> zkr_status {
    delay_queue_peek(
        delay_queue,
        Way::Waits { token: null(), error, place: &|| HandlePlace::required("data", data) },
    )
}

/// zkr_delay_queue_peek in the background: the callback's buffer is NULL if there is no item, its stat always. ZKR_OK
/// says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_peek_async(
    delay_queue: *mut zkr_delay_queue,
    callback: zkr_buffer_callback,
    user_data: *mut c_void,
) -> zkr_status {
    delay_queue_peek(delay_queue, Way::Starts { token: null(), callback, user_data })
}

fn delay_queue_peek(
    delay_queue: *const zkr_delay_queue,
    way: Way<'_, HandlePlace<zkr_buffer>, zkr_buffer_callback>,
) -> zkr_status {
    verbs::call(delay_queue, way, |it: &DelayQueueHandle| {
        let core = it.core.clone();
        Ok(async move { core.peek().await })
    })
}

/// How many items there are, claimed ones included.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_len(
    delay_queue: *mut zkr_delay_queue,
    items: *mut usize,
    error: *mut *mut zkr_error,
) -> zkr_status {
    delay_queue_len(
        delay_queue,
        Way::Waits { token: null(), error, place: &|| Place::required("items", items) },
    )
}

/// zkr_delay_queue_len in the background; the number is that of the items. ZKR_OK says that the callback will be called
/// exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_len_async(
    delay_queue: *mut zkr_delay_queue,
    callback: zkr_number_callback,
    user_data: *mut c_void,
) -> zkr_status {
    delay_queue_len(delay_queue, Way::Starts { token: null(), callback, user_data })
}

fn delay_queue_len(
    delay_queue: *const zkr_delay_queue,
    way: Way<'_, Place<usize>, zkr_number_callback>,
) -> zkr_status {
    verbs::call(delay_queue, way, |it: &DelayQueueHandle| {
        let core = it.core.clone();
        Ok(async move { core.len().await })
    })
}

/// How many items can be taken, step aside, or are claimed, and how many dead letters there are; counted by the lists
/// of items and claims. Of dead letters none is dead.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_stats(
    delay_queue: *mut zkr_delay_queue,
    stats: *mut zkr_queue_counts,
    error: *mut *mut zkr_error,
) -> zkr_status {
    delay_queue_stats(
        delay_queue,
        Way::Waits { token: null(), error, place: &|| Place::required("stats", stats) },
    )
}

/// zkr_delay_queue_stats in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_stats_async(
    delay_queue: *mut zkr_delay_queue,
    callback: zkr_queue_counts_callback,
    user_data: *mut c_void,
) -> zkr_status {
    delay_queue_stats(delay_queue, Way::Starts { token: null(), callback, user_data })
}

fn delay_queue_stats(
    delay_queue: *const zkr_delay_queue,
    way: Way<'_, Place<zkr_queue_counts>, zkr_queue_counts_callback>,
) -> zkr_status {
    verbs::call(delay_queue, way, |it: &DelayQueueHandle| {
        let core = it.core.clone();
        Ok(async move { core.stats().await })
    })
}

/// Reads all items in order, claimed ones included; what cannot be read is left out, and the log names it. On success
/// *items belongs to the caller: free it with zkr_payloads_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_items(
    delay_queue: *mut zkr_delay_queue,
    items: *mut *mut zkr_payloads,
    error: *mut *mut zkr_error,
) -> zkr_status {
    delay_queue_items(
        delay_queue,
        Way::Waits { token: null(), error, place: &|| HandlePlace::required("items", items) },
    )
}

/// zkr_delay_queue_items in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_items_async(
    delay_queue: *mut zkr_delay_queue,
    callback: zkr_payloads_callback,
    user_data: *mut c_void,
) -> zkr_status {
    delay_queue_items(delay_queue, Way::Starts { token: null(), callback, user_data })
}

fn delay_queue_items(
    delay_queue: *const zkr_delay_queue,
    way: Way<'_, HandlePlace<zkr_payloads>, zkr_payloads_callback>,
) -> zkr_status {
    verbs::call(delay_queue, way, |it: &DelayQueueHandle| {
        let core = it.core.clone();
        Ok(async move { core.items().await })
    })
}

/// Makes a handle of the dead letters: the items that were claimed max_attempts times in vain. It sends nothing, and is
/// a queue that nothing can be put into. On success *dead belongs to the caller: free it with zkr_queue_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_dead(
    delay_queue: *mut zkr_delay_queue,
    dead: *mut *mut zkr_queue,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        delay_queue,
        error,
        || HandlePlace::required("dead", dead),
        |it: &DelayQueueHandle| Ok(items::dead(&it.client, &it.core)),
    )
}

/// Reads the dead letters in order, with what is known of their end: of the queue, or of its dead letters, which is the
/// same. One that cannot be read hides no other: its problem says why. On success *letters belongs to the caller: free
/// it with zkr_dead_letters_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_dead_letters(
    delay_queue: *mut zkr_delay_queue,
    letters: *mut *mut zkr_dead_letters,
    error: *mut *mut zkr_error,
) -> zkr_status {
    delay_queue_dead_letters(
        delay_queue,
        Way::Waits { token: null(), error, place: &|| HandlePlace::required("letters", letters) },
    )
}

/// zkr_delay_queue_dead_letters in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_dead_letters_async(
    delay_queue: *mut zkr_delay_queue,
    callback: zkr_dead_letters_callback,
    user_data: *mut c_void,
) -> zkr_status {
    delay_queue_dead_letters(delay_queue, Way::Starts { token: null(), callback, user_data })
}

fn delay_queue_dead_letters(
    delay_queue: *const zkr_delay_queue,
    way: Way<'_, HandlePlace<zkr_dead_letters>, zkr_dead_letters_callback>,
) -> zkr_status {
    verbs::call(delay_queue, way, |it: &DelayQueueHandle| Ok(drive::dead_letters(&it.core)))
}

/// Puts the dead letters back into their queue, as new items: of the queue, or of its dead letters, which is the same.
/// Each moves in one transaction, so none is lost or doubled. replayed may be NULL; otherwise it is for how many.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_replay(
    delay_queue: *mut zkr_delay_queue,
    replayed: *mut usize,
    error: *mut *mut zkr_error,
) -> zkr_status {
    delay_queue_replay(
        delay_queue,
        Way::Waits { token: null(), error, place: &|| Ok(Place::optional(replayed)) },
    )
}

/// zkr_delay_queue_replay in the background; the number is that of the items. ZKR_OK says that the callback will be
/// called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_replay_async(
    delay_queue: *mut zkr_delay_queue,
    callback: zkr_number_callback,
    user_data: *mut c_void,
) -> zkr_status {
    delay_queue_replay(delay_queue, Way::Starts { token: null(), callback, user_data })
}

fn delay_queue_replay(
    delay_queue: *const zkr_delay_queue,
    way: Way<'_, Place<usize>, zkr_number_callback>,
) -> zkr_status {
    verbs::call(delay_queue, way, |it: &DelayQueueHandle| {
        let core = it.core.clone();
        Ok(async move { core.replay().await })
    })
}

/// Puts one dead letter back into its queue, as a new item: the one with that id, of those that zkr_queue_dead_letters
/// tells. replayed may be NULL; otherwise it is for how many, which is 1, or 0 if there is none or somebody else has
/// it.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_replay_one(
    delay_queue: *mut zkr_delay_queue,
    id: *const c_char,
    replayed: *mut usize,
    error: *mut *mut zkr_error,
) -> zkr_status {
    delay_queue_replay_one(
        delay_queue,
        id,
        Way::Waits { token: null(), error, place: &|| Ok(Place::optional(replayed)) },
    )
}

/// zkr_delay_queue_replay_one in the background; the number is 1, or 0 if there is none. ZKR_OK says that the callback
/// will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_replay_one_async(
    delay_queue: *mut zkr_delay_queue,
    id: *const c_char,
    callback: zkr_number_callback,
    user_data: *mut c_void,
) -> zkr_status {
    delay_queue_replay_one(delay_queue, id, Way::Starts { token: null(), callback, user_data })
}

fn delay_queue_replay_one(
    delay_queue: *const zkr_delay_queue,
    id: *const c_char,
    way: Way<'_, Place<usize>, zkr_number_callback>,
) -> zkr_status {
    verbs::call(delay_queue, way, |it: &DelayQueueHandle| {
        let core = it.core.clone();
        let id = input::text("id", id)?;
        Ok(async move { core.replay_one(&id).await })
    })
}

/// Deletes the dead letters that have been there for older_than_ms, 0 for all: of the queue, or of its dead letters,
/// which is the same. What somebody has claimed stays, and nothing else of the queue goes. purged may be NULL;
/// otherwise it is for how many.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_purge(
    delay_queue: *mut zkr_delay_queue,
    older_than_ms: i64,
    purged: *mut usize,
    error: *mut *mut zkr_error,
) -> zkr_status {
    delay_queue_purge(
        delay_queue,
        older_than_ms,
        Way::Waits { token: null(), error, place: &|| Ok(Place::optional(purged)) },
    )
}

/// zkr_delay_queue_purge in the background; the number is that of the items. ZKR_OK says that the callback will be
/// called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_purge_async(
    delay_queue: *mut zkr_delay_queue,
    older_than_ms: i64,
    callback: zkr_number_callback,
    user_data: *mut c_void,
) -> zkr_status {
    delay_queue_purge(delay_queue, older_than_ms, Way::Starts { token: null(), callback, user_data })
}

fn delay_queue_purge(
    delay_queue: *const zkr_delay_queue,
    older_than_ms: i64,
    way: Way<'_, Place<usize>, zkr_number_callback>,
) -> zkr_status {
    verbs::call(delay_queue, way, |it: &DelayQueueHandle| {
        let core = it.core.clone();
        let older_than_ms = input::millis("older_than_ms", older_than_ms)?;
        Ok(async move { core.purge(older_than_ms).await })
    })
}

/// Wakes all calls that wait through this handle, which end with ZKR_CANCELLED; never later ones. Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_cancel(
    delay_queue: *mut zkr_delay_queue,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        delay_queue,
        error,
        || Ok(()),
        |it: &DelayQueueHandle| {
            it.core.cancel();
            Ok(())
        },
    )
}

/// Makes a handle of a delay queue. Validates, but sends nothing. options may be NULL for the defaults. On success
/// *delay_queue belongs to the caller: free it with zkr_delay_queue_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_new(
    client: *mut zkr_client,
    path: *const c_char,
    options: *const zkr_queue_options,
    delay_queue: *mut *mut zkr_delay_queue,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        client,
        error,
        || HandlePlace::required("delay_queue", delay_queue),
        |it: &ClientHandle| {
            let path = input::text("path", path)?;
            let options = options::read(options)?.convert()?;
            let core = it.core.delay_queue(&path, options)?;
            Ok(Recipe { client: it.core.clone(), path: to_c(core.path()), core, is_part: false })
        },
    )
}

/// Puts an item that nobody gets before delay_ms have passed. timeout_ms and the end are as for zkr_queue_put.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_put(
    delay_queue: *mut zkr_delay_queue,
    data: *const c_void,
    size: usize,
    delay_ms: i64,
    timeout_ms: i64,
    error: *mut *mut zkr_error,
) -> zkr_status {
    zkr_delay_queue_put_cancellable(delay_queue, data, size, delay_ms, timeout_ms, null_mut(), error)
}

/// zkr_delay_queue_put that another thread can withdraw; token may be NULL. What is on its way already is taken back,
/// unless somebody has it by then.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_put_cancellable(
    delay_queue: *mut zkr_delay_queue,
    data: *const c_void,
    size: usize,
    delay_ms: i64,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    error: *mut *mut zkr_error,
) -> zkr_status {
    delay_queue_put(
        delay_queue,
        data,
        size,
        delay_ms,
        timeout_ms,
        Way::Waits { token, error, place: &|| Ok(()) },
    )
}

/// zkr_delay_queue_put in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_put_async(
    delay_queue: *mut zkr_delay_queue,
    data: *const c_void,
    size: usize,
    delay_ms: i64,
    timeout_ms: i64,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    zkr_delay_queue_put_cancellable_async(
        delay_queue,
        data,
        size,
        delay_ms,
        timeout_ms,
        null_mut(),
        callback,
        user_data,
    )
}

/// zkr_delay_queue_put_async with a token that withdraws it; token may be NULL, and may be freed before the end.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_put_cancellable_async(
    delay_queue: *mut zkr_delay_queue,
    data: *const c_void,
    size: usize,
    delay_ms: i64,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    delay_queue_put(delay_queue, data, size, delay_ms, timeout_ms, Way::Starts { token, callback, user_data })
}

fn delay_queue_put(
    delay_queue: *const zkr_delay_queue,
    data: *const c_void,
    size: usize,
    delay_ms: i64,
    timeout_ms: i64,
    way: Way<'_, (), zkr_done_callback>,
) -> zkr_status {
    verbs::call(delay_queue, way, |it: &DelayQueueHandle| {
        let data = input::bytes("data", data, size)?;
        let delay_ms = input::millis("delay_ms", delay_ms)?;
        let timeout_ms = time::from_millis("timeout_ms", timeout_ms);
        Ok(drive::put_delayed(&it.core, data, delay_ms, None, timeout_ms))
    })
}

/// The same with a key that names this put, as zkr_queue_put_with.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_put_with(
    delay_queue: *mut zkr_delay_queue,
    data: *const c_void,
    size: usize,
    delay_ms: i64,
    key: *const c_char,
    timeout_ms: i64,
    error: *mut *mut zkr_error,
) -> zkr_status {
    zkr_delay_queue_put_with_cancellable(
        delay_queue,
        data,
        size,
        delay_ms,
        key,
        timeout_ms,
        null_mut(),
        error,
    )
}

/// zkr_delay_queue_put_with that another thread can withdraw; token may be NULL. What is on its way with a key stays;
/// put it again with that key to be certain.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_put_with_cancellable(
    delay_queue: *mut zkr_delay_queue,
    data: *const c_void,
    size: usize,
    delay_ms: i64,
    key: *const c_char,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    error: *mut *mut zkr_error,
) -> zkr_status {
    delay_queue_put_with(
        delay_queue,
        data,
        size,
        delay_ms,
        key,
        timeout_ms,
        Way::Waits { token, error, place: &|| Ok(()) },
    )
}

/// zkr_delay_queue_put_with in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_put_with_async(
    delay_queue: *mut zkr_delay_queue,
    data: *const c_void,
    size: usize,
    delay_ms: i64,
    key: *const c_char,
    timeout_ms: i64,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    zkr_delay_queue_put_with_cancellable_async(
        delay_queue,
        data,
        size,
        delay_ms,
        key,
        timeout_ms,
        null_mut(),
        callback,
        user_data,
    )
}

/// zkr_delay_queue_put_with_async with a token that withdraws it; token may be NULL, and may be freed before the end.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_delay_queue_put_with_cancellable_async(
    delay_queue: *mut zkr_delay_queue,
    data: *const c_void,
    size: usize,
    delay_ms: i64,
    key: *const c_char,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    delay_queue_put_with(
        delay_queue,
        data,
        size,
        delay_ms,
        key,
        timeout_ms,
        Way::Starts { token, callback, user_data },
    )
}

fn delay_queue_put_with(
    delay_queue: *const zkr_delay_queue,
    data: *const c_void,
    size: usize,
    delay_ms: i64,
    key: *const c_char,
    timeout_ms: i64,
    way: Way<'_, (), zkr_done_callback>,
) -> zkr_status {
    verbs::call(delay_queue, way, |it: &DelayQueueHandle| {
        let data = input::bytes("data", data, size)?;
        let delay_ms = input::millis("delay_ms", delay_ms)?;
        let key = input::text("key", key)?;
        let timeout_ms = time::from_millis("timeout_ms", timeout_ms);
        Ok(drive::put_delayed(&it.core, data, delay_ms, Some(key), timeout_ms))
    })
}
