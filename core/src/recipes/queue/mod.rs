//! Queues: items are the children of a node, in the formats of the peers (see `layout`).
//!
//! 1. A put creates an item. What one client puts goes in order, together where it can, and once, whatever gets lost (`puts`).
//! 2. A get removes an item before anybody sees it (`take`), together with what others of the client get (`removals`). A claim marks it with a node of ours, which goes with our
//!    session; acknowledged, the item goes in the transaction that checks that node (`claim`, `item`).
//! 3. A client lists the items once and uses its list up (`stock`). When there are none, one of its waiting calls watches for
//!    all of them (`scout`), once it is in the front of the line of those who wait (`line`).
//! 4. An item that was claimed as often as is allowed moves to the dead letters (`dead`).
//!
//! Orders other than that of arrival differ in the names of the items, and look anew before each one.

mod backlog;
mod claim;
mod dead;
mod item;
mod kept;
mod layout;
mod letter;
mod line;
mod look;
mod pause;
mod puts;
mod removals;
mod room;
mod scout;
mod sending;
mod shards;
mod stock;
mod take;
mod take_back;
mod told;
mod undo_take;

use std::collections::{BTreeMap, VecDeque};
use std::ops::Deref;
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

pub use backlog::{Backlog, Claims, DeadLetters};
pub use item::Item;
pub(crate) use layout::is_item;
use layout::{Layout, Order};
pub use letter::DeadLetter;
pub use pause::Nack;
pub(crate) use pause::is_pause;
use puts::Puts;
pub use sending::Put;
use sending::Waiting as Putting;
use stock::Stock;
pub use take::Got;
use take_back::TakeBack;

use crate::client::Client;
use crate::error::{Error, Result};
use crate::options::{QueueLayout, QueueOptions};
use crate::path;
use crate::session::call::Call;
use crate::session::once::Marks;
use crate::session::wire::{CreateMode, Write};

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
        let session = self.session()?;
        path::recipe(path)?;
        let at_least_one = |name: &str, is_zero: bool| match is_zero {
            true => Err(Error::invalid(name, "is 0; give at least 1, or leave it out")),
            false => Ok(()),
        };
        at_least_one("max_items", options.max_items == Some(0))?;
        at_least_one("shards", options.shards == 0)?;
        if options.shards > 1 && (order, options.layout) != (Order::Arrival, QueueLayout::Simple) {
            return Err(Error::invalid(
                "shards",
                "more than one is for plain queues of the layout simple only",
            ));
        }
        if options.shards > MOST_SHARDS {
            return Err(Error::invalid(
                "shards",
                format!("{} are too many; take at most {MOST_SHARDS}", options.shards),
            ));
        }
        if options.shards > 1 && options.max_items.is_some() {
            return Err(Error::invalid(
                "max_items",
                "cannot be kept over several shards; leave out one of the two",
            ));
        }
        let layout = Layout::new(path, order, session.options().naming, options.layout)?;
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
        let stores = session.shelf.of::<Stores>();
        let store = |layout| Store::of(&stores, layout, options.clone());
        let shards = match options.shards {
            1 => vec![store(layout)],
            many => (0..many).map(|number| store(layout.shard(number))).collect(),
        };
        Ok(Backlog::new(self.clone(), path, shards))
    }
}

/// A consumer looks at all of them before it waits.
const MOST_SHARDS: usize = 100;

/// A queue, or one shard of it, through one handle.
struct Store {
    stock: Arc<Stock>,
    puts: Arc<Puts>,
    marks: Arc<Marks>,
    options: QueueOptions,
    /// Where the stores of other queues are to be found.
    stores: Arc<Stores>,
}

/// What the handles of one client share, by queue.
#[derive(Default)]
struct Stores(Mutex<BTreeMap<Layout, Weak<Stock>>>);

impl Store {
    fn of(stores: &Arc<Stores>, layout: Layout, options: QueueOptions) -> Arc<Store> {
        let mut known = stores.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let stock = known.get(&layout).and_then(Weak::upgrade).unwrap_or_else(|| {
            known.retain(|_, stock| stock.strong_count() > 0);
            let stock = Arc::new(Stock::new(layout.clone()));
            known.insert(layout, Arc::downgrade(&stock));
            stock
        });
        let (marks, puts) = (stock.marks.clone(), stock.puts(options.max_items));
        Arc::new(Store { stock, puts, marks, options, stores: stores.clone() })
    }

    /// Puts items of that priority, or due then, in order, behind what was to be put before.
    fn begin_to_put(&self, call: &Call, items: Vec<Vec<u8>>, key: i64) -> Result<Putting> {
        let layout = &self.stock.layout;
        let path = layout.fresh(key)?;
        let mode = match self.options.ephemeral {
            true => CreateMode::EphemeralSequential,
            false => CreateMode::PersistentSequential,
        };
        let write =
            |data: Vec<u8>| Write::Create { path: path.clone(), data: layout.encode(&data), mode, acl: None };
        let writes: VecDeque<_> = items.into_iter().map(write).collect();
        let take_back = TakeBack { session: call.session().clone(), stock: self.stock.clone() };
        Ok(self.puts.begin(call, writes, take_back))
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

    pub(crate) fn put_all(
        &self,
        items: Vec<Vec<u8>>,
        limit: Option<Duration>,
    ) -> impl Future<Output = Result<Vec<Put>>> + Send + use<> {
        self.backlog.put(items, 0, limit)
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
        self.put_one(data.to_vec(), priority, None).await.map(drop)
    }

    /// The same for at most `limit`, then Timeout; as [`Queue::put_timeout`].
    pub async fn put_timeout(&self, data: &[u8], priority: i32, limit: Duration) -> Result<()> {
        self.put_one(data.to_vec(), priority, Some(limit)).await.map(drop)
    }

    pub(crate) fn put_one(
        &self,
        data: Vec<u8>,
        priority: i32,
        limit: Option<Duration>,
    ) -> impl Future<Output = Result<Vec<Put>>> + Send + use<> {
        self.backlog.put(vec![data], i64::from(priority), limit)
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
        self.put_one(data.to_vec(), delay, None).await.map(drop)
    }

    /// The same for at most `limit`, then Timeout; as [`Queue::put_timeout`].
    pub async fn put_timeout(&self, data: &[u8], delay: Duration, limit: Duration) -> Result<()> {
        self.put_one(data.to_vec(), delay, Some(limit)).await.map(drop)
    }

    pub(crate) fn put_one(
        &self,
        data: Vec<u8>,
        delay: Duration,
        limit: Option<Duration>,
    ) -> impl Future<Output = Result<Vec<Put>>> + Send + use<> {
        // Rounded up: never early. What is due in a thousand years has no end that anybody sees.
        let delay = i64::try_from(delay.as_micros().div_ceil(1000)).unwrap_or(i64::MAX).min(LONGEST_DELAY);
        self.backlog.put(vec![data], self.backlog.wall_clock() + delay, limit)
    }
}

/// A thousand years in milliseconds.
const LONGEST_DELAY: i64 = 1000 * 365 * 24 * 3600 * 1000;
