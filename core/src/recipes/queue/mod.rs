//! Queues: producers put items, which are the children of one node, and each item is for one consumer.
//!
//! # Nodes
//!
//! ```text
//! P                           the queue: persistent; a put creates it if it is missing, and it stays when it is empty,
//! │                           as its data says; another's may be a container, see `items_parent`
//! └─ qn-0000000007            an item: persistent, or ephemeral with that option; a put creates it; a get, an ack or a
//!                             move to the dead letters deletes it; its version says how often it was claimed
//! P-__queue__                 what only this library knows of; this node and the folders in it are containers
//! ├─ claims
//! │  ├─ qn-0000000007         a claim, by which a consumer works on item 7: ephemeral; its ack or nack deletes it
//! │  ├─ qn-0000000008~        item 8 is paused: persistent; a nack creates it, and the next claim or get deletes it
//! │  ├─ qn-0000000008~D-Lms   how long item 8 is paused (see 4): created and deleted together with the node above
//! │  └─ qn-0000000009~unseen  how many claims of item 9 were given to nobody: persistent, see `unseen_claims`
//! ├─ marks/_c_GUID-change     a mark says how many transactions its client has made with it: persistent, see below
//! ├─ keys                     the keys of puts, for as long as they count: persistent, see `keys`
//! ├─ waiting, room            lines of clients that wait for an item, and for room: each creates an ephemeral child
//! ├─ puts                     each put with `max_items` creates or sets it (`room`): persistent; nobody deletes it
//! └─ numbers                  few numbers are left for items: persistent; puts create and delete it, see `numbers`
//! P-__dead__                  the dead letters: a queue of the same form
//! ```
//!
//! These are the names of the layout `simple` where the naming is `curator` or `zookeeper`; `layout` has the others. In
//! kazoo's layout `locking` what stands beside P here is below it, as `P/__queue__` and `P/__dead__`. With `shards` the
//! items are below `P/0`, `P/1` …, each with its own `P/0-__queue__`; they share `P/__queue__/keys` and `P/__dead__`.
//!
//! # Steps
//!
//! 1. A put creates an item, which the server numbers. The items of one client go in the order of its calls, many in
//!    one transaction (`put`). With `max_items` a full queue makes the put wait (`room`). A put with a key also creates
//!    the node of the key: whoever puts with the same key within the `key_window` puts nothing and succeeds.
//! 2. A consumer lists the items and the claims in one flight, and its client takes from that list until it is used up.
//!    By priority or due time a later item may come first: there the list is renewed behind a `sync` before each get or
//!    claim. With other consumers about, a client begins somewhere among the first free items (`known_items`).
//! 3. A get deletes the item before the caller sees the data: at most once (`take`). It does so at the version that it
//!    has read: it is refused if somebody has claimed the item since. If the item was claimed before that, a claim may
//!    stand: then the same transaction also creates a claim and deletes it again, and so is refused if there is one.
//! 4. A claim creates the node of the claim and writes the item's data anew, which raises its version: at least once
//!    (`claim`). The item stays in its place. An ack deletes both nodes. A nack deletes the claim and, unless its delay
//!    is zero, creates the two nodes of a pause (`layout` says why two). The pause ends at D by the clock of the client
//!    that gave the item back, and has the length L. As clocks differ, a consumer waits until its own clock shows D,
//!    and no longer than L after it first saw the pause.
//! 5. An item that was claimed `max_attempts` times, without the claims that nobody was given (`unseen_claims`), moves to the dead letters (`dead_letters`): by its last nack, or by
//!    the next consumer that reads it, in a transaction that creates and deletes a claim as in 3. So does an item that
//!    nobody can decode. With `max_attempts` 0 none moves, and what nobody can decode is skipped.
//!
//! A consumer that finds no free item:
//!
//! 1. A `try_…` lists once more, behind a `sync`, and answers that there is none.
//! 2. Else one of the client's waiting calls waits for all of them: it creates a node at the end of the line `waiting`.
//! 3. The first four clients of that line watch the items and the claims. Each of the others watches the four right
//!    ahead of it, and moves up when one of them goes.
//! 4. When a watch tells of a free item, each of the first four tries to take it. The losers take others, or wait.
//! 5. A client leaves the line when none of its calls waits any more. If a call got an item and at most four clients
//!    are in the line, it stays for its next call, for five seconds or until a fifth client comes (`next_item`).
//!
//! # Who may be killed where
//!
//! Each step that writes is one transaction: if it arrives, all of it is done, although its client was killed.
//!
//! - A producer whose put takes several transactions: the first are in. Its ephemeral items go with its session.
//! - A consumer after a get: the item is gone with it.
//! - A consumer with a claim: the claim goes with its session, and the item is in its old place, with one attempt more.
//!   So it is if the claim was on its way to nobody, and that was not written down yet.
//! - A consumer that is only cut off: its claim stands as long as its session. The client knows until when the server
//!   certainly keeps the session. When that time is over, the [`Item`] is lost: `on_lost` tells so, an ack is NotHeld.
//! - A client in a line: its node goes with its session, and the clients behind it are told.
//!
//! # What a lost answer means
//!
//! The transaction of a put, a get, an ack, a nack with a pause, or a move to or from the dead letters also sets a mark
//! of its client, at the version that the mark's last transaction left. Of two at one version the second is refused.
//!
//! - Of a put: it is sent again. If the mark refuses it, the first was applied (`session::once`).
//! - Of the others: it is not sent again. It names an item, and another item may have that name by then: when P is
//!   deleted and made anew, the numbers begin at 0 again (one that is only late is refused then, see `items_parent`). Instead a transaction is sent that only sets the mark, at the
//!   same version. If it is applied, the first is refused whenever it arrives, and the client looks at the nodes anew.
//!   If it is refused, the mark's data says which of the two was applied (`once::seen`).
//! - Of a claim: a quorum write is sent that changes nothing; when it is answered, all that was sent before in that
//!   session is decided. Then the claim is read, whose data has a GUID that is new with each attempt.
//! - ConnectionLost: no server answers within the retry budget, or somebody deleted the mark. A put may be in, or go in
//!   later; with a key it can be put again. What a get has removed is put back when a server answers, if the mark
//!   stands: in its old place, or at the end if P was made anew.
//!
//! # What is bounded, and what is cleaned up
//!
//! - Items: a put is TooLarge before their names fill a packet (`room`). Before the server's 2^31 numbers end it waits
//!   until no item is left, and makes P anew, so that they begin at 0 (`numbers`).
//! - Unseen claims: their node goes behind the item; a consumer that lists deletes one without its item. None is created
//!   beside 4,000 nodes.
//! - Pauses: a consumer that lists deletes what is left of one without its item, or without one of its nodes. A client
//!   that knows of 2,000 pauses creates no nodes for the next one: only that client then leaves the item alone.
//! - Marks: a client deletes its own after a second without use. A killed client's is deleted by others that use marks
//!   there, when it has not changed for three times the sum of its client's session timeout and retry budget.
//! - Keys: those that count no more are deleted by clients that put with keys, or else by those that take items.
//! - Dead letters stay until somebody replays, purges or takes them. The server deletes empty containers.
//!
//! # Beside others
//!
//! The peers, which are clients of other libraries at the same path, are Curator's, kazoo's and ZooKeeper's own
//! recipes. P and its items are in their format. kazoo's `LockingQueue` heeds our claims, and we heed its. All others
//! take an item although we have claimed or paused it: then the ack is NotHeld.

mod claim;
mod dead_letter_header;
mod dead_letters;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzed;
mod item_states;
mod items_parent;
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
mod returns;
mod room;
mod search_order;
mod stale_keys;
mod store;
mod take;
mod unseen_claims;
mod watched_lists;

use std::ops::Deref;
use std::time::Duration;

pub use claim::{Item, Nack};
pub use dead_letters::DeadLetter;
pub(super) use item_states::who_claims;
pub use item_states::{ListedClaim, ListedItem, ListedState};
pub(crate) use layout::{DEAD, OWN, STAYS, is_item, is_pause};
use layout::{LONGEST_DELAY, NodeLayout, Order};
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

    /// The same for at most `limit`, then Timeout: the item was not put and will not be. If the item is on its way then, the
    /// call waits half a second more for the answer. ConnectionLost says that none came: the item may be in, or go in later.
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

    /// The same for at most `limit`, then Timeout: as many as the error says went in, and no more will. ConnectionLost as for
    /// [`Queue::put_timeout`]: more may be in, or go in later.
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
