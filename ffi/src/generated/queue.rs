//! Generated from api/queue.toml by api/generate; do not edit.

use std::ffi::{c_char, c_void};
use std::ptr::{null, null_mut};

use zkrecipes::Result;
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
use crate::items::{Letters, zkr_item, zkr_item_callback, zkr_queue_counts, zkr_queue_counts_callback};
use crate::lists::{
    zkr_dead_letters, zkr_dead_letters_callback, zkr_items, zkr_items_callback, zkr_payloads,
    zkr_payloads_callback,
};
use crate::nodes::zkr_buffer_callback;
use crate::options;
use crate::options::choice;
use crate::sized::{Flag, SelfSized};
use crate::status::zkr_status;
use crate::verbs;
use crate::verbs::{Recipe, Way};

/// A queue at a path: items are taken in the order in which they came, by anybody who uses that path. Those of one
/// producer keep their order. What puts items is further below.
pub struct zkr_queue {
    _opaque: [u8; 0],
}

pub(crate) type QueueHandle = Recipe<Letters>;

impl Object for QueueHandle {
    type Opaque = zkr_queue;
    const NAME: &'static str = "zkr_queue";

    fn is_part(&self) -> bool {
        self.is_part
    }
}

/// Whose queue it takes part in.
#[repr(C)]
#[derive(Copy, Clone)]
pub enum zkr_queue_layout {
    /// Curator's SimpleDistributedQueue, which is ZooKeeper's own recipe; kazoo's Queue where the naming is kazoo's.
    ZKR_QUEUE_LAYOUT_SIMPLE = 0,
    /// Curator's DistributedQueue, with its item encoding.
    ZKR_QUEUE_LAYOUT_DISTRIBUTED = 1,
    /// kazoo's LockingQueue, where the naming is kazoo's.
    ZKR_QUEUE_LAYOUT_LOCKING = 2,
}

/// A zkr_queue_layout from C.
#[repr(transparent)]
#[derive(Copy, Clone)]
pub struct GivenQueueLayout(i32);

/// How a queue behaves, in whichever order its items are taken. Start from ZKR_QUEUE_OPTIONS_INIT, which has the
/// defaults.
#[repr(C)]
#[derive(Copy, Clone)]
pub struct zkr_queue_options {
    /// sizeof(zkr_queue_options), as ZKR_QUEUE_OPTIONS_INIT sets it.
    pub size: usize,
    /// How many items there may be; without it there is no bound. All who put have to give the same number; a full queue
    /// makes them wait. Any negative: there is no bound.
    pub max_items: i64,
    /// How often an item is claimed before it goes to the dead letters, 16 times unless told; 0 for no end. Any negative is
    /// the default.
    pub max_attempts: i64,
    /// Over how many nodes the items are spread. More than one is faster, and keeps the order only within each. Unless
    /// told: 1.
    pub shards: usize,
    /// Whose queue it takes part in: Curator's SimpleDistributedQueue and ZooKeeper's own, or kazoo's Queue where naming is
    /// kazoo's (ZKR_QUEUE_LAYOUT_SIMPLE); Curator's DistributedQueue (ZKR_QUEUE_LAYOUT_DISTRIBUTED); kazoo's LockingQueue
    /// (ZKR_QUEUE_LAYOUT_LOCKING). Priority and delay queues have one layout with each naming. Unless told:
    /// ZKR_QUEUE_LAYOUT_SIMPLE.
    pub layout: GivenQueueLayout,
    /// Whether an item goes when the session of the client that put it ends.
    pub ephemeral: Flag,
    /// Zero.
    pub reserved: [u8; 3],
    /// For how long the key of a put counts, by the servers' clock: the same key within that time puts once. All who put
    /// with keys should give the same. Unless told: 600,000.
    pub key_window_ms: i64,
}

impl SelfSized for zkr_queue_options {
    const INIT: &'static str = "ZKR_QUEUE_OPTIONS_INIT";
    const LEAST: usize = std::mem::offset_of!(zkr_queue_options, reserved) + size_of::<[u8; 3]>();
    const NAMED_OTHERWISE: &'static [(&'static str, &'static str)] = &[("key_window", "key_window_ms")];

    fn defaults() -> zkr_queue_options {
        zkr_queue_options {
            size: size_of::<zkr_queue_options>(),
            max_items: -1,
            max_attempts: -1,
            shards: 1,
            layout: GivenQueueLayout(0),
            ephemeral: Flag(0),
            reserved: [0; 3],
            key_window_ms: 600_000,
        }
    }

    fn reserved(&self) -> Vec<u8> {
        [&self.reserved[..]].concat()
    }
}

impl zkr_queue_options {
    pub(crate) fn convert(&self) -> Result<zkrecipes::QueueOptions> {
        let mut options = zkrecipes::QueueOptions::default();
        options.max_items = usize::try_from(self.max_items).ok();
        options.ephemeral = self.ephemeral.get("ephemeral")?;
        options.shards = self.shards;
        if self.max_attempts >= 0 {
            options.max_attempts = self.max_attempts.try_into().unwrap_or(u32::MAX);
        }
        options.layout = match choice(
            "layout",
            self.layout.0,
            &[
                zkr_queue_layout::ZKR_QUEUE_LAYOUT_SIMPLE,
                zkr_queue_layout::ZKR_QUEUE_LAYOUT_DISTRIBUTED,
                zkr_queue_layout::ZKR_QUEUE_LAYOUT_LOCKING,
            ],
        )? {
            zkr_queue_layout::ZKR_QUEUE_LAYOUT_SIMPLE => zkrecipes::QueueLayout::Simple,
            zkr_queue_layout::ZKR_QUEUE_LAYOUT_DISTRIBUTED => zkrecipes::QueueLayout::Distributed,
            zkr_queue_layout::ZKR_QUEUE_LAYOUT_LOCKING => zkrecipes::QueueLayout::Locking,
        };
        options.key_window = input::millis("key_window_ms", self.key_window_ms)?;

        Ok(options)
    }
}
/// Frees a queue, not what is in it. Waits in progress on it end with ZKR_CANCELLED. Items that were claimed through it
/// stay claimed. Never blocks. NULL and freed ones are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_free(queue: *mut zkr_queue) {
    verbs::free(queue, |it: &QueueHandle| it.core.cancel());
}

/// The path of the queue; NULL for a handle that cannot be used. Valid until it is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_path(queue: *const zkr_queue) -> *const c_char {
    verbs::ask(queue, null(), |it: &QueueHandle| Some(it.path.as_ptr()))
}

/// Takes the item that came first, waiting for one up to timeout_ms: 0 is one attempt, any negative is for ever. On
/// success *data belongs to the caller: free it with zkr_buffer_free.
///
/// At most once: the item is removed before it is returned, so who crashes then takes it along; zkr_queue_claim is for
/// items that must not be lost. ZKR_TIMEOUT if there was none for all that time. ZKR_CONNECTION_LOST says that one may
/// have been removed that nobody has.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_get(
    queue: *mut zkr_queue,
    timeout_ms: i64,
    data: *mut *mut zkr_buffer,
    error: *mut *mut zkr_error,
) -> zkr_status {
    zkr_queue_get_cancellable(queue, timeout_ms, null_mut(), data, error)
}

/// zkr_queue_get that another thread can withdraw; token may be NULL. An item whose removal is on its way goes back to
/// its old place.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_get_cancellable(
    queue: *mut zkr_queue,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    data: *mut *mut zkr_buffer,
    error: *mut *mut zkr_error,
) -> zkr_status {
    queue_get(queue, timeout_ms, Way::Waits { token, error, place: &|| HandlePlace::required("data", data) })
}

/// zkr_queue_get in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_get_async(
    queue: *mut zkr_queue,
    timeout_ms: i64,
    callback: zkr_buffer_callback,
    user_data: *mut c_void,
) -> zkr_status {
    zkr_queue_get_cancellable_async(queue, timeout_ms, null_mut(), callback, user_data)
}

/// zkr_queue_get_async with a token that withdraws it; token may be NULL, and may be freed before the end.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_get_cancellable_async(
    queue: *mut zkr_queue,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    callback: zkr_buffer_callback,
    user_data: *mut c_void,
) -> zkr_status {
    queue_get(queue, timeout_ms, Way::Starts { token, callback, user_data })
}

fn queue_get(
    queue: *const zkr_queue,
    timeout_ms: i64,
    way: Way<'_, HandlePlace<zkr_buffer>, zkr_buffer_callback>,
) -> zkr_status {
    verbs::call(queue, way, |it: &QueueHandle| {
        let timeout_ms = time::from_millis("timeout_ms", timeout_ms);
        Ok(drive::get(&it.core, timeout_ms))
    })
}

/// Claims the item that came first, waiting for one up to timeout_ms: 0 is one attempt, any negative is for ever. On
/// success *item belongs to the caller: settle it with zkr_item_ack or zkr_item_nack, and free it with zkr_item_free,
/// which gives back what is not settled.
///
/// At least once: nobody else has the item until it is acknowledged, given back, or our session ends; then the next one
/// gets it. ZKR_TIMEOUT if there was none for all that time.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_claim(
    queue: *mut zkr_queue,
    timeout_ms: i64,
    item: *mut *mut zkr_item,
    error: *mut *mut zkr_error,
) -> zkr_status {
    zkr_queue_claim_cancellable(queue, timeout_ms, null_mut(), item, error)
}

/// zkr_queue_claim that another thread can withdraw; token may be NULL. A claim that is on its way is taken back.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_claim_cancellable(
    queue: *mut zkr_queue,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    item: *mut *mut zkr_item,
    error: *mut *mut zkr_error,
) -> zkr_status {
    queue_claim(
        queue,
        timeout_ms,
        Way::Waits { token, error, place: &|| HandlePlace::required("item", item) },
    )
}

/// zkr_queue_claim in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_claim_async(
    queue: *mut zkr_queue,
    timeout_ms: i64,
    callback: zkr_item_callback,
    user_data: *mut c_void,
) -> zkr_status {
    zkr_queue_claim_cancellable_async(queue, timeout_ms, null_mut(), callback, user_data)
}

/// zkr_queue_claim_async with a token that withdraws it; token may be NULL, and may be freed before the end.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_claim_cancellable_async(
    queue: *mut zkr_queue,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    callback: zkr_item_callback,
    user_data: *mut c_void,
) -> zkr_status {
    queue_claim(queue, timeout_ms, Way::Starts { token, callback, user_data })
}

fn queue_claim(
    queue: *const zkr_queue,
    timeout_ms: i64,
    way: Way<'_, HandlePlace<zkr_item>, zkr_item_callback>,
) -> zkr_status {
    verbs::call(queue, way, |it: &QueueHandle| {
        let timeout_ms = time::from_millis("timeout_ms", timeout_ms);
        Ok(drive::claim(&it.core, timeout_ms))
    })
}

/// Claims up to n at once: waits for the item that came first as zkr_queue_claim does, and takes the next ones along
/// that are there already. On success *items belongs to the caller: free it with zkr_items_free when each item was
/// taken. What was not is given back.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_claim_many(
    queue: *mut zkr_queue,
    n: usize,
    timeout_ms: i64,
    items: *mut *mut zkr_items,
    error: *mut *mut zkr_error,
) -> zkr_status {
    zkr_queue_claim_many_cancellable(queue, n, timeout_ms, null_mut(), items, error)
}

/// zkr_queue_claim_many that another thread can withdraw; token may be NULL. Claims that are on their way are taken
/// back.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_claim_many_cancellable(
    queue: *mut zkr_queue,
    n: usize,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    items: *mut *mut zkr_items,
    error: *mut *mut zkr_error,
) -> zkr_status {
    queue_claim_many(
        queue,
        n,
        timeout_ms,
        Way::Waits { token, error, place: &|| HandlePlace::required("items", items) },
    )
}

/// zkr_queue_claim_many in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_claim_many_async(
    queue: *mut zkr_queue,
    n: usize,
    timeout_ms: i64,
    callback: zkr_items_callback,
    user_data: *mut c_void,
) -> zkr_status {
    zkr_queue_claim_many_cancellable_async(queue, n, timeout_ms, null_mut(), callback, user_data)
}

/// zkr_queue_claim_many_async with a token that withdraws it; token may be NULL, and may be freed before the end.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_claim_many_cancellable_async(
    queue: *mut zkr_queue,
    n: usize,
    timeout_ms: i64,
    token: *mut zkr_cancel_token,
    callback: zkr_items_callback,
    user_data: *mut c_void,
) -> zkr_status {
    queue_claim_many(queue, n, timeout_ms, Way::Starts { token, callback, user_data })
}

fn queue_claim_many(
    queue: *const zkr_queue,
    n: usize,
    timeout_ms: i64,
    way: Way<'_, HandlePlace<zkr_items>, zkr_items_callback>,
) -> zkr_status {
    verbs::call(queue, way, |it: &QueueHandle| {
        let n = input::count("n", n)?;
        let timeout_ms = time::from_millis("timeout_ms", timeout_ms);
        Ok(drive::claim_many(&it.core, n, timeout_ms))
    })
}

/// Acknowledges several at once, each as by zkr_item_ack: the requests leave together, and one that fails holds up no
/// other. The error is that of the first of them that failed. The items still have to be freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_ack_many(
    queue: *mut zkr_queue,
    items: *const *mut zkr_item,
    count: usize,
    error: *mut *mut zkr_error,
) -> zkr_status {
    queue_ack_many(queue, items, count, Way::Waits { token: null(), error, place: &|| Ok(()) })
}

/// zkr_queue_ack_many in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_ack_many_async(
    queue: *mut zkr_queue,
    items: *const *mut zkr_item,
    count: usize,
    callback: zkr_done_callback,
    user_data: *mut c_void,
) -> zkr_status {
    queue_ack_many(queue, items, count, Way::Starts { token: null(), callback, user_data })
}

fn queue_ack_many(
    queue: *const zkr_queue,
    items: *const *mut zkr_item,
    count: usize,
    way: Way<'_, (), zkr_done_callback>,
) -> zkr_status {
    verbs::call(queue, way, |it: &QueueHandle| {
        let items = items::claimed("items", items, count)?;
        Ok(drive::ack_many(&it.core, items))
    })
}

/// Calls back while a verb of this handle waits, for an item or for room: after a second, and then ever less often, up
/// to once a minute. subscription may be NULL; otherwise end it with zkr_subscription_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_on_wait(
    queue: *mut zkr_queue,
    callback: zkr_wait_callback,
    user_data: *mut c_void,
    subscription: *mut *mut zkr_subscription,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::subscribe(queue, callback, user_data, subscription, error, |it: &QueueHandle, told| {
        it.core.on_wait(move |found| told.tell(found))
    })
}

/// Reads the next item that nobody has claimed, which stays. *data is NULL if there is none; otherwise it belongs to
/// the caller: free it with zkr_buffer_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_peek(
    queue: *mut zkr_queue,
    data: *mut *mut zkr_buffer,
    error: *mut *mut zkr_error,
) -> zkr_status {
    queue_peek(queue, Way::Waits { token: null(), error, place: &|| HandlePlace::required("data", data) })
}

/// zkr_queue_peek in the background: the callback's buffer is NULL if there is no item, its stat always. ZKR_OK says
/// that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_peek_async(
    queue: *mut zkr_queue,
    callback: zkr_buffer_callback,
    user_data: *mut c_void,
) -> zkr_status {
    queue_peek(queue, Way::Starts { token: null(), callback, user_data })
}

fn queue_peek(
    queue: *const zkr_queue,
    way: Way<'_, HandlePlace<zkr_buffer>, zkr_buffer_callback>,
) -> zkr_status {
    verbs::call(queue, way, |it: &QueueHandle| {
        let core = it.core.clone();
        Ok(async move { core.peek().await })
    })
}

/// How many items there are, claimed ones included.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_len(
    queue: *mut zkr_queue,
    items: *mut usize,
    error: *mut *mut zkr_error,
) -> zkr_status {
    queue_len(queue, Way::Waits { token: null(), error, place: &|| Place::required("items", items) })
}

/// zkr_queue_len in the background; the number is that of the items. ZKR_OK says that the callback will be called
/// exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_len_async(
    queue: *mut zkr_queue,
    callback: zkr_number_callback,
    user_data: *mut c_void,
) -> zkr_status {
    queue_len(queue, Way::Starts { token: null(), callback, user_data })
}

fn queue_len(queue: *const zkr_queue, way: Way<'_, Place<usize>, zkr_number_callback>) -> zkr_status {
    verbs::call(queue, way, |it: &QueueHandle| {
        let core = it.core.clone();
        Ok(async move { core.len().await })
    })
}

/// How many items can be taken, step aside, or are claimed, and how many dead letters there are; counted by the lists
/// of items and claims. Of dead letters none is dead.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_stats(
    queue: *mut zkr_queue,
    stats: *mut zkr_queue_counts,
    error: *mut *mut zkr_error,
) -> zkr_status {
    queue_stats(queue, Way::Waits { token: null(), error, place: &|| Place::required("stats", stats) })
}

/// zkr_queue_stats in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_stats_async(
    queue: *mut zkr_queue,
    callback: zkr_queue_counts_callback,
    user_data: *mut c_void,
) -> zkr_status {
    queue_stats(queue, Way::Starts { token: null(), callback, user_data })
}

fn queue_stats(
    queue: *const zkr_queue,
    way: Way<'_, Place<zkr_queue_counts>, zkr_queue_counts_callback>,
) -> zkr_status {
    verbs::call(queue, way, |it: &QueueHandle| {
        let core = it.core.clone();
        Ok(async move { core.stats().await })
    })
}

/// Reads all items in order, claimed ones included; what cannot be read is left out, and the log names it. On success
/// *items belongs to the caller: free it with zkr_payloads_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_items(
    queue: *mut zkr_queue,
    items: *mut *mut zkr_payloads,
    error: *mut *mut zkr_error,
) -> zkr_status {
    queue_items(queue, Way::Waits { token: null(), error, place: &|| HandlePlace::required("items", items) })
}

/// zkr_queue_items in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_items_async(
    queue: *mut zkr_queue,
    callback: zkr_payloads_callback,
    user_data: *mut c_void,
) -> zkr_status {
    queue_items(queue, Way::Starts { token: null(), callback, user_data })
}

fn queue_items(
    queue: *const zkr_queue,
    way: Way<'_, HandlePlace<zkr_payloads>, zkr_payloads_callback>,
) -> zkr_status {
    verbs::call(queue, way, |it: &QueueHandle| {
        let core = it.core.clone();
        Ok(async move { core.items().await })
    })
}

/// Makes a handle of the dead letters: the items that were claimed max_attempts times in vain. It sends nothing, and is
/// a queue that nothing can be put into. On success *dead belongs to the caller: free it with zkr_queue_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_dead(
    queue: *mut zkr_queue,
    dead: *mut *mut zkr_queue,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        queue,
        error,
        || HandlePlace::required("dead", dead),
        |it: &QueueHandle| Ok(items::dead(&it.client, &it.core)),
    )
}

/// Reads the dead letters in order, with what is known of their end: of the queue, or of its dead letters, which is the
/// same. One that cannot be read hides no other: its problem says why. On success *letters belongs to the caller: free
/// it with zkr_dead_letters_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_dead_letters(
    queue: *mut zkr_queue,
    letters: *mut *mut zkr_dead_letters,
    error: *mut *mut zkr_error,
) -> zkr_status {
    queue_dead_letters(
        queue,
        Way::Waits { token: null(), error, place: &|| HandlePlace::required("letters", letters) },
    )
}

/// zkr_queue_dead_letters in the background. ZKR_OK says that the callback will be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_dead_letters_async(
    queue: *mut zkr_queue,
    callback: zkr_dead_letters_callback,
    user_data: *mut c_void,
) -> zkr_status {
    queue_dead_letters(queue, Way::Starts { token: null(), callback, user_data })
}

fn queue_dead_letters(
    queue: *const zkr_queue,
    way: Way<'_, HandlePlace<zkr_dead_letters>, zkr_dead_letters_callback>,
) -> zkr_status {
    verbs::call(queue, way, |it: &QueueHandle| Ok(drive::dead_letters(&it.core)))
}

/// Puts the dead letters back into their queue, as new items: of the queue, or of its dead letters, which is the same.
/// Each moves in one transaction, so none is lost or doubled. replayed may be NULL; otherwise it is for how many.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_replay(
    queue: *mut zkr_queue,
    replayed: *mut usize,
    error: *mut *mut zkr_error,
) -> zkr_status {
    queue_replay(queue, Way::Waits { token: null(), error, place: &|| Ok(Place::optional(replayed)) })
}

/// zkr_queue_replay in the background; the number is that of the items. ZKR_OK says that the callback will be called
/// exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_replay_async(
    queue: *mut zkr_queue,
    callback: zkr_number_callback,
    user_data: *mut c_void,
) -> zkr_status {
    queue_replay(queue, Way::Starts { token: null(), callback, user_data })
}

fn queue_replay(queue: *const zkr_queue, way: Way<'_, Place<usize>, zkr_number_callback>) -> zkr_status {
    verbs::call(queue, way, |it: &QueueHandle| {
        let core = it.core.clone();
        Ok(async move { core.replay().await })
    })
}

/// Puts one dead letter back into its queue, as a new item: the one with that id, of those that zkr_queue_dead_letters
/// tells. replayed may be NULL; otherwise it is for how many, which is 1, or 0 if there is none or somebody else has
/// it.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_replay_one(
    queue: *mut zkr_queue,
    id: *const c_char,
    replayed: *mut usize,
    error: *mut *mut zkr_error,
) -> zkr_status {
    queue_replay_one(queue, id, Way::Waits { token: null(), error, place: &|| Ok(Place::optional(replayed)) })
}

/// zkr_queue_replay_one in the background; the number is 1, or 0 if there is none. ZKR_OK says that the callback will
/// be called exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_replay_one_async(
    queue: *mut zkr_queue,
    id: *const c_char,
    callback: zkr_number_callback,
    user_data: *mut c_void,
) -> zkr_status {
    queue_replay_one(queue, id, Way::Starts { token: null(), callback, user_data })
}

fn queue_replay_one(
    queue: *const zkr_queue,
    id: *const c_char,
    way: Way<'_, Place<usize>, zkr_number_callback>,
) -> zkr_status {
    verbs::call(queue, way, |it: &QueueHandle| {
        let core = it.core.clone();
        let id = input::text("id", id)?;
        Ok(async move { core.replay_one(&id).await })
    })
}

/// Deletes the dead letters that have been there for older_than_ms, 0 for all: of the queue, or of its dead letters,
/// which is the same. What somebody has claimed stays, and nothing else of the queue goes. purged may be NULL;
/// otherwise it is for how many.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_purge(
    queue: *mut zkr_queue,
    older_than_ms: i64,
    purged: *mut usize,
    error: *mut *mut zkr_error,
) -> zkr_status {
    queue_purge(
        queue,
        older_than_ms,
        Way::Waits { token: null(), error, place: &|| Ok(Place::optional(purged)) },
    )
}

/// zkr_queue_purge in the background; the number is that of the items. ZKR_OK says that the callback will be called
/// exactly once.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_purge_async(
    queue: *mut zkr_queue,
    older_than_ms: i64,
    callback: zkr_number_callback,
    user_data: *mut c_void,
) -> zkr_status {
    queue_purge(queue, older_than_ms, Way::Starts { token: null(), callback, user_data })
}

fn queue_purge(
    queue: *const zkr_queue,
    older_than_ms: i64,
    way: Way<'_, Place<usize>, zkr_number_callback>,
) -> zkr_status {
    verbs::call(queue, way, |it: &QueueHandle| {
        let core = it.core.clone();
        let older_than_ms = input::millis("older_than_ms", older_than_ms)?;
        Ok(async move { core.purge(older_than_ms).await })
    })
}

/// Wakes all calls that wait through this handle, which end with ZKR_CANCELLED; never later ones. Never blocks.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_cancel(queue: *mut zkr_queue, error: *mut *mut zkr_error) -> zkr_status {
    verbs::now(
        queue,
        error,
        || Ok(()),
        |it: &QueueHandle| {
            it.core.cancel();
            Ok(())
        },
    )
}

/// Makes a handle of a queue. Validates, but sends nothing. options may be NULL for the defaults. On success *queue
/// belongs to the caller: free it with zkr_queue_free.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_queue_new(
    client: *mut zkr_client,
    path: *const c_char,
    options: *const zkr_queue_options,
    queue: *mut *mut zkr_queue,
    error: *mut *mut zkr_error,
) -> zkr_status {
    verbs::now(
        client,
        error,
        || HandlePlace::required("queue", queue),
        |it: &ClientHandle| {
            let path = input::text("path", path)?;
            let options = options::read(options)?.convert()?;
            let core = Letters::Alive(it.core.queue(&path, options)?);
            Ok(Recipe { client: it.core.clone(), path: to_c(core.path()), core, is_part: false })
        },
    )
}
