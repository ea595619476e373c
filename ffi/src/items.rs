//! What goes into queues, and what is claimed from them.

use std::ffi::{c_char, c_void};
use std::ops::Deref;
use std::ptr::null;
use std::time::Duration;

use zkrecipes::drive::{self, Done, Got};
use zkrecipes::{Backlog, Client, DeadLetter, Error, Item, Nack, Queue, QueueStats, Result};

use crate::answers::{Fill, Handed, Report};
use crate::collections::{Buffer, List, Several, zkr_buffer};
use crate::contenders::since_1970;
use crate::error::{zkr_error, zkr_status};
use crate::handle::Object;
use crate::held::Texts;
use crate::input::{self, HandlePlace, to_c};
use crate::lists::{DeadLetters, Items, Payloads};
use crate::queue::QueueHandle;
use crate::verbs::{self, Holder, Recipe};

#[path = "generated/item.rs"]
mod generated;

// ---- queues

/// A queue, or its dead letters, which nobody puts.
#[derive(Clone)]
pub(crate) enum Letters {
    Alive(Queue),
    Dead(Backlog),
}

impl Deref for Letters {
    type Target = Backlog;

    fn deref(&self) -> &Backlog {
        match self {
            Letters::Alive(queue) => queue,
            Letters::Dead(backlog) => backlog,
        }
    }
}

/// The dead letters of a queue.
pub(crate) fn dead(client: &Client, of: &Backlog) -> QueueHandle {
    let core = Letters::Dead(Backlog::clone(&of.dead()));
    Recipe { client: client.clone(), path: to_c(core.path()), core, is_part: false }
}

/// Puts one item or several.
pub(crate) fn put(
    queue: &Letters,
    items: Vec<Vec<u8>>,
    limit: Option<Duration>,
) -> impl Future<Output = Result<Done>> + Send + use<> {
    let putting = match queue {
        Letters::Alive(queue) => Ok(drive::put(queue, items, limit)),
        Letters::Dead(_) => Err(dead_letters_are_not_put()),
    };
    async move { putting?.await }
}

/// Puts one item with a key.
pub(crate) fn put_with(
    queue: &Letters,
    data: Vec<u8>,
    key: String,
    limit: Option<Duration>,
) -> impl Future<Output = Result<Done>> + Send + use<> {
    let putting = match queue {
        Letters::Alive(queue) => Ok(drive::put_one(queue, data, Some(key), limit)),
        Letters::Dead(_) => Err(dead_letters_are_not_put()),
    };
    async move { putting?.await }
}

fn dead_letters_are_not_put() -> Error {
    Error::invalid("queue", "is one of dead letters; put into the queue itself")
}

// ---- what is taken

impl Fill<Got> for HandlePlace<zkr_buffer> {
    fn fill(self, _: &Client, got: Got) -> Result<()> {
        self.put(|| crate::handle::publish(Buffer::new(got.hand_over())))
    }
}

type OfBuffer = unsafe extern "C" fn(
    zkr_status,
    *mut zkr_buffer,
    *const crate::nodes::zkr_stat,
    *const zkr_error,
    *mut c_void,
);

impl Report<Got> for OfBuffer {
    fn report(listener: crate::events::Listener<Self>, client: &Client, outcome: Result<Got>) {
        Report::report(listener, client, outcome.map(|got| Some(got.hand_over())));
    }
}

/// How many items a queue has. It stays as it is: what is counted besides in later versions will have a function of its own.
#[repr(C)]
#[derive(Copy, Clone, Default)]
pub struct zkr_queue_counts {
    /// Those that can be taken now, or have failed for the last time and go to the dead letters next.
    pub ready: usize,
    /// Those that were given back and step aside, or that are not due yet.
    pub delayed: usize,
    /// Those that somebody works on.
    pub claimed: usize,
    /// The dead letters.
    pub dead: usize,
}

/// The end of a verb that counts the items of a queue. stats is NULL on failure; it and the error are only lent.
pub type zkr_queue_counts_callback = Option<
    unsafe extern "C" fn(
        status: zkr_status,
        stats: *const zkr_queue_counts,
        error: *const zkr_error,
        user_data: *mut c_void,
    ),
>;

impl From<QueueStats> for zkr_queue_counts {
    fn from(stats: QueueStats) -> zkr_queue_counts {
        let QueueStats { ready, delayed, claimed, dead, .. } = stats;
        zkr_queue_counts { ready, delayed, claimed, dead }
    }
}

/// The data of one item.
#[repr(C)]
pub struct zkr_payload {
    /// What was put, followed by a NUL that does not count; never NULL.
    pub data: *const c_void,
    pub size: usize,
}

impl Handed for Vec<Vec<u8>> {
    type Object = Payloads;

    fn object(self, _: &Client) -> Payloads {
        List::new(&self, |data, texts| zkr_payload { data: texts.keep_bytes(data), size: data.len() })
    }
}

/// An item that is over.
#[repr(C)]
pub struct zkr_dead_letter {
    /// The name of its node among the dead letters.
    pub id: *const c_char,
    /// What was put, followed by a NUL that does not count; never NULL. Of a letter with a problem what stands in its node.
    pub data: *const c_void,
    pub size: usize,
    /// What was said with the last nack, or what the library knows of it; NULL if nothing was.
    pub reason: *const c_char,
    /// When it came to the dead letters, in milliseconds since 1970, by the server's clock.
    pub died_at_ms: i64,
    /// Why it cannot be read; NULL if it can. It stands in nobody's way, and nobody takes it.
    pub problem: *const c_char,
    /// How often it was claimed; 0 if that is not known.
    pub attempts: u32,
}

impl Handed for Vec<DeadLetter> {
    type Object = DeadLetters;

    fn object(self, _: &Client) -> DeadLetters {
        List::new(&self, |letter, texts| {
            let mut text = |text: &Option<String>| text.as_ref().map_or(null(), |text| texts.keep(text));
            let (reason, problem) = (text(&letter.reason), text(&letter.problem));
            zkr_dead_letter {
                id: texts.keep(&letter.id),
                data: texts.keep_bytes(&letter.data),
                size: letter.data.len(),
                reason,
                died_at_ms: since_1970(letter.died_at),
                problem,
                attempts: letter.attempts,
            }
        })
    }
}

/// Gives an item back whose work has failed.
pub(crate) fn nack_with(
    item: &Item,
    delay: Option<Duration>,
    reason: Option<String>,
) -> impl Future<Output = Result<()>> + Send + use<> {
    let mut nack = Nack::default();
    (nack.delay, nack.reason) = (delay, reason);
    item.nack_with(nack)
}

// ---- items

/// An item that was claimed. It stays claimed until it is settled, lost or freed.
pub struct zkr_item {
    _opaque: [u8; 0],
}

/// The end of claiming. On ZKR_OK the item belongs to the callback, otherwise it is NULL; the error is only lent.
pub type zkr_item_callback = Option<
    unsafe extern "C" fn(
        status: zkr_status,
        item: *mut zkr_item,
        error: *const zkr_error,
        user_data: *mut c_void,
    ),
>;

pub(crate) struct ItemHandle {
    core: Item,
    /// With a NUL that does not count.
    data: Vec<u8>,
    texts: Texts,
}

impl Object for ItemHandle {
    type Opaque = zkr_item;
    const NAME: &'static str = "zkr_item";
}

impl Holder for ItemHandle {
    fn client(&self) -> &Client {
        drive::client_of(&self.core)
    }
}

impl ItemHandle {
    fn of(core: Item) -> ItemHandle {
        ItemHandle { data: [core.data(), &[0]].concat(), core, texts: Texts::default() }
    }
}

impl Handed for Item {
    type Object = ItemHandle;

    fn object(self, _: &Client) -> ItemHandle {
        ItemHandle::of(self)
    }
}

impl Handed for Vec<Item> {
    type Object = Items;

    fn object(self, _: &Client) -> Items {
        Several::once(self.into_iter().map(ItemHandle::of))
    }
}

/// What stands behind the handles of items.
pub(crate) fn claimed(argument: &str, given: *const *mut zkr_item, count: usize) -> Result<Vec<Item>> {
    let handles = input::slice(argument, given, count)?.iter();
    handles.map(|item| verbs::get::<ItemHandle>(*item).map(|item| item.core.clone())).collect()
}
