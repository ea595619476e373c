//! Queues: items are the children of a node, in the formats of the peers. What a consumer does when it finds nothing:
//!
//! 1. It has listed the items and the claims in one flight (`listing`); nothing is free. With `try_…` it says so and is done.
//! 2. One of the client's waiting calls stands in the line of all clients that wait, for all calls of its client.
//! 3. The first four of that line watch the items and the claims; everybody else watches the four right ahead of it.
//! 4. When a watch tells of a free item, each of the first four tries to take it; who loses takes another one, or waits on.
//! 5. With an item, the client leaves the line, and those behind move up; while nobody is behind the front, it keeps its
//!    place for its next call, for five seconds (`next_item`).
//!
//! # Steps
//!
//! 1. A put creates an item. What one client puts goes in order, together where it can (`put`), while there is room (`room`); with
//!    a key once for all who put with it (`keys`).
//! 2. A get removes an item before anybody sees it (`take`): at most once.
//! 3. A claim marks the item with a node that goes with our session, and raises the item's version, which counts the
//!    attempts. An `ack` removes both. A `nack` gives the item back and pauses it (`claim`): at least once.
//! 4. An item that was claimed as often as is allowed moves to the dead letters (`dead_letters`).
//!
//! # Nodes
//!
//! ```text
//! P                           the queue
//! ├─ qn-0000000007            an item; its version is how often it was claimed
//! └─ qn-0000000008            the next one
//! P-__queue__                 what is ours alone
//! ├─ claims
//! │  ├─ qn-0000000007         ephemeral: somebody works on item 7
//! │  ├─ qn-0000000008~        item 8 is paused,
//! │  └─ qn-0000000008~D-Lms   until D, and not longer than L
//! ├─ keys                     which keys have put lately (`keys`)
//! ├─ marks                    which transactions were applied, one node for each that a client has under way
//! ├─ waiting                  the line of the clients that wait for an item
//! ├─ room                     the line of those that wait for room, with `max_items`
//! └─ puts                     set by every put, with `max_items`
//! P-__dead__                  the dead letters, which are a queue, too
//! ```
//!
//! The names differ with naming, layout and order, and in some layouts what is ours alone is below P: see `layout`. Orders other than that of arrival look anew before each item.
//!
//! # Who may be killed where
//!
//! Each step is one transaction, so whoever is killed before it has done nothing, and after it everything.
//!
//! - Who puts several in more than one transaction: the first ones are in.
//! - Who has put items that are `ephemeral`: those go with their session.
//! - Who gets: the item is gone with them.
//! - Who has claimed: the claim goes with their session. The next one finds the item at its old place; if that was the last attempt
//!   that is allowed, whoever reads it next moves it to the dead letters.
//! - Who stands in a line: their node goes with their session, and those behind are told.
//!
//! # What a lost answer means
//!
//! - Of a put: it is sent again, and a mark in it sees to it that it is applied once (`session::once`).
//! - Of a put with a key, nobody needs to know: put again with that key, it is put once.
//! - Of a get, and of what moves an item to the dead letters or back: it is never sent again, since the name may be another
//!   item's by then. A transaction that only sets the mark decides whether it was applied (`session::once::seen`). If not, the
//!   item is read again.
//! - Of a claim: the claim's node says by its data whether it is ours.
//! - Of an ack or a nack: the mark in it says so (`turn::hold::finishing`).

mod claim;
mod dead_letter_header;
mod dead_letters;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzed;
mod keys;
mod known_items;
mod layout;
mod listing;
mod looking;
mod looks;
mod next_item;
mod numbers;
mod put;
mod put_answer;
mod queue_base;
mod room;
mod search_order;
mod stale_keys;
mod store;
mod take;
mod watched_lists;

use std::ops::Deref;
use std::time::Duration;

pub use claim::{Item, Nack};
pub use dead_letters::DeadLetter;
use layout::{LONGEST_DELAY, NodeLayout, Order};
pub(crate) use layout::{DEAD, OWN, is_item, is_pause};
pub use looking::QueueStats;
pub use put_answer::{Put, PutOptions};
pub use queue_base::{Backlog, Claims, DeadLetters};
use store::{Store, Stores};
pub use take::Got;

use crate::client::Client;
use crate::error::{Error, Result};
use crate::options::{QueueLayout, QueueOptions};
use crate::path;

impl Client {
    /// A handle on the queue at `path`. Does no I/O.
    pub fn queue(&self, path: &str, options: QueueOptions) -> Result<Queue> {
        self.backlog(path, Order::Arrival, options).map(|backlog| Queue { backlog })
    }

    /// A handle on the priority queue at `path`. Does no I/O.
    pub fn priority_queue(&self, path: &str, options: QueueOptions) -> Result<PriorityQueue> {
        self.backlog(path, Order::Priority, options).map(|backlog| PriorityQueue { backlog })
    }

    /// A handle on the delay queue at `path`. Does no I/O.
    pub fn delay_queue(&self, path: &str, options: QueueOptions) -> Result<DelayQueue> {
        self.backlog(path, Order::Due, options).map(|backlog| DelayQueue { backlog })
    }

    fn backlog(&self, path: &str, order: Order, options: QueueOptions) -> Result<Backlog> {
        let session = self.session_for_handle()?;
        path::recipe(path)?;
        options.check_ranges()?;
        if options.shards > 1 && (order, options.layout) != (Order::Arrival, QueueLayout::Simple) {
            return Err(Error::invalid(
                "shards",
                "more than one is for plain queues of the layout simple only",
            ));
        }
        if options.shards > 1 && options.max_items.is_some() {
            return Err(Error::invalid(
                "max_items",
                "cannot be kept over several shards; leave out one of the two",
            ));
        }
        let layout = NodeLayout::new(path, order, session.options().naming, options.layout)?;
        let most = room::most(&layout);
        if options.max_items.is_some_and(|items| items > most) {
            return Err(Error::invalid(
                "max_items",
                format!(
                    "nobody could list so many items, since a server answers at most {} bytes; give at most {most}",
                    path::PACKET_LIMIT
                ),
            ));
        }
        let stores = session.extensions.of::<Stores>();
        let store = |layout| Store::of(&stores, layout, options.clone());
        let shards = match options.shards {
            1 => vec![store(layout)],
            many => {
                let layout = layout.with_own_below();
                (0..many).map(|number| store(layout.shard(number))).collect()
            }
        };
        Ok(Backlog::new(self.clone(), path, shards))
    }
}

/// Items that are taken in the order in which they came: `client.queue(path, options)`. It is a [`Backlog`], with the verbs
/// of one.
///
/// The items of one producer keep their order, and one consumer at a time gets them in it. A put is applied once, also when
/// its answer gets lost; ConnectionLost says that nobody can know.
///
/// ```
/// # zkrecipes::doctest(async {
/// # let client = zkrecipes::Client::connect("embedded:", Default::default()).await?;
/// let queue = client.queue("/queues/mail", Default::default())?;
/// queue.put(b"one").await?;
/// queue.put_many(&["two", "three"]).await?;
/// assert_eq!(queue.get().await?, b"one"); // at most once: it is removed before we see it
/// let item = queue.claim().await?; // at least once: whoever has it next if we crash
/// assert_eq!(item.data(), b"two");
/// item.ack().await?;
/// assert_eq!(queue.len().await?, 1);
/// # Ok(()) });
/// ```
#[derive(Clone, Debug)]
pub struct Queue {
    backlog: Backlog,
}

impl Deref for Queue {
    type Target = Backlog;

    fn deref(&self) -> &Backlog {
        &self.backlog
    }
}

impl Queue {
    /// Puts an item at the end. Waits while the queue is full.
    ///
    /// # Cancel safety
    /// Dropping the future withdraws the item. One that is on its way already is taken back in the background; if somebody has it
    /// by then, the event `put_not_taken_back` of the log tells so.
    pub async fn put(&self, data: &[u8]) -> Result<()> {
        self.put_all(vec![data.to_vec()], None).await.map(drop)
    }

    /// The same for at most `limit`, then Timeout: it was not put and will not be. For an item that is on its way
    /// then, it waits half a second more for the answer, and ConnectionLost says that none came.
    pub async fn put_timeout(&self, data: &[u8], limit: Duration) -> Result<()> {
        self.put_all(vec![data.to_vec()], Some(limit)).await.map(drop)
    }

    /// Puts several, in as few transactions as carry them, each of which is applied as a whole or not at all. The error
    /// says how many went in, from the first on: [`Error::put`]. With several shards one transaction after the other goes into
    /// another one.
    ///
    /// # Cancel safety
    /// As for [`Queue::put`]: of all of them, also of those that had gone in.
    pub async fn put_many<T: AsRef<[u8]>>(&self, items: &[T]) -> Result<()> {
        self.put_all(items.iter().map(|item| item.as_ref().to_vec()).collect(), None).await.map(drop)
    }

    /// The same for at most `limit`, then Timeout: what the error says went in, and no more will. ConnectionLost as for
    /// [`Queue::put_timeout`]: more may go in.
    pub async fn put_many_timeout<T: AsRef<[u8]>>(&self, items: &[T], limit: Duration) -> Result<()> {
        self.put_all(items.iter().map(|item| item.as_ref().to_vec()).collect(), Some(limit)).await.map(drop)
    }

    /// The same as the options say: with a key, an item is put once for all who put with that key within the
    /// [`key_window`](QueueOptions::key_window); the others succeed as the first one did, also when the item was taken long ago.
    ///
    /// ```
    /// # zkrecipes::doctest(async {
    /// # let client = zkrecipes::Client::connect("embedded:", Default::default()).await?;
    /// use zkrecipes::PutOptions;
    ///
    /// let queue = client.queue("/queues/mail", Default::default())?;
    /// for _ in ["the request", "the same one again"] {
    ///     queue.put_with(b"hello", PutOptions::default().key("request-1042")).await?;
    /// }
    /// assert_eq!(queue.len().await?, 1);
    /// # Ok(()) });
    /// ```
    ///
    /// # Cancel safety
    /// As for [`Queue::put`]. But what is on its way with a key is not taken back, since others may have heard that it is in: put
    /// it again with the same key to be certain.
    pub async fn put_with(&self, data: &[u8], options: PutOptions) -> Result<()> {
        self.put_one(data.to_vec(), options).await.map(drop)
    }

    pub(crate) fn put_all(
        &self,
        items: Vec<Vec<u8>>,
        limit: Option<Duration>,
    ) -> impl Future<Output = Result<Vec<Put>>> + Send + use<> {
        self.backlog.put(items, 0, limit)
    }

    pub(crate) fn put_one(
        &self,
        data: Vec<u8>,
        options: PutOptions,
    ) -> impl Future<Output = Result<Vec<Put>>> + Send + use<> {
        self.backlog.put_one(data, 0, options)
    }
}

/// Items of which the one with the lowest number is taken first, and of those with the same number the one that came
/// first: `client.priority_queue(path, options)`. It is a [`Backlog`], with the verbs of one.
///
/// ```
/// # zkrecipes::doctest(async {
/// # let client = zkrecipes::Client::connect("embedded:", Default::default()).await?;
/// let queue = client.priority_queue("/queues/alarms", Default::default())?;
/// queue.put(b"dust", 10).await?;
/// queue.put(b"fire", -5).await?;
/// assert_eq!(queue.get().await?, b"fire");
/// # Ok(()) });
/// ```
#[derive(Clone, Debug)]
pub struct PriorityQueue {
    backlog: Backlog,
}

impl Deref for PriorityQueue {
    type Target = Backlog;

    fn deref(&self) -> &Backlog {
        &self.backlog
    }
}

impl PriorityQueue {
    /// Puts an item. Where the naming is kazoo's, the priority is between 0 and 999.
    ///
    /// # Cancel safety
    /// As for [`Queue::put`].
    pub async fn put(&self, data: &[u8], priority: i32) -> Result<()> {
        self.put_with(data, priority, PutOptions::default()).await
    }

    /// The same for at most `limit`, then Timeout; as [`Queue::put_timeout`].
    pub async fn put_timeout(&self, data: &[u8], priority: i32, limit: Duration) -> Result<()> {
        self.put_with(data, priority, PutOptions::default().timeout(limit)).await
    }

    /// The same as the options say; as [`Queue::put_with`].
    pub async fn put_with(&self, data: &[u8], priority: i32, options: PutOptions) -> Result<()> {
        self.put_one(data.to_vec(), priority, options).await.map(drop)
    }

    pub(crate) fn put_one(
        &self,
        data: Vec<u8>,
        priority: i32,
        options: PutOptions,
    ) -> impl Future<Output = Result<Vec<Put>>> + Send + use<> {
        self.backlog.put_one(data, i64::from(priority), options)
    }
}

/// Items that are taken when they are due, the first due first: `client.delay_queue(path, options)`. It is a [`Backlog`],
/// with the verbs of one.
///
/// What is due is told by the clocks of those who put and take: they should not be far apart.
///
/// ```
/// # zkrecipes::doctest(async {
/// # use std::time::Duration;
/// # let client = zkrecipes::Client::connect("embedded:", Default::default()).await?;
/// let queue = client.delay_queue("/queues/reminders", Default::default())?;
/// queue.put(b"later", Duration::from_secs(1)).await?;
/// assert_eq!(queue.try_get().await?, None);
/// assert_eq!(queue.get().await?, b"later");
/// # Ok(()) });
/// ```
#[derive(Clone, Debug)]
pub struct DelayQueue {
    backlog: Backlog,
}

impl Deref for DelayQueue {
    type Target = Backlog;

    fn deref(&self) -> &Backlog {
        &self.backlog
    }
}

impl DelayQueue {
    /// Puts an item that nobody gets before `delay` has passed.
    ///
    /// # Cancel safety
    /// As for [`Queue::put`].
    pub async fn put(&self, data: &[u8], delay: Duration) -> Result<()> {
        self.put_with(data, delay, PutOptions::default()).await
    }

    /// The same for at most `limit`, then Timeout; as [`Queue::put_timeout`].
    pub async fn put_timeout(&self, data: &[u8], delay: Duration, limit: Duration) -> Result<()> {
        self.put_with(data, delay, PutOptions::default().timeout(limit)).await
    }

    /// The same as the options say; as [`Queue::put_with`].
    pub async fn put_with(&self, data: &[u8], delay: Duration, options: PutOptions) -> Result<()> {
        self.put_one(data.to_vec(), delay, options).await.map(drop)
    }

    pub(crate) fn put_one(
        &self,
        data: Vec<u8>,
        delay: Duration,
        options: PutOptions,
    ) -> impl Future<Output = Result<Vec<Put>>> + Send + use<> {
        // Rounded up: never early. What is due in a thousand years has no end that anybody sees.
        let delay = i64::try_from(delay.as_micros().div_ceil(1000)).unwrap_or(i64::MAX).min(LONGEST_DELAY);
        self.backlog.put_one(data, self.backlog.wall_clock() + delay, options)
    }
}
