//! Queues, blocking.

use std::ops::Deref;
use std::time::Duration;

use super::{Client, Held, Transaction};
use crate::drive::wait;
use crate::error::Result;
use crate::options::QueueOptions;
use crate::recipes::queue::{DeadLetter, Nack};
use crate::recipes::waiting::WaitProgress;
use crate::session::delivery::Subscription;

impl Client {
    /// See [`crate::Client::queue`].
    pub fn queue(&self, path: &str, options: QueueOptions) -> Result<Queue> {
        self.0.queue(path, options).map(Queue::of)
    }

    /// See [`crate::Client::priority_queue`].
    pub fn priority_queue(&self, path: &str, options: QueueOptions) -> Result<PriorityQueue> {
        self.0.priority_queue(path, options).map(PriorityQueue::of)
    }

    /// See [`crate::Client::delay_queue`].
    pub fn delay_queue(&self, path: &str, options: QueueOptions) -> Result<DelayQueue> {
        self.0.delay_queue(path, options).map(DelayQueue::of)
    }
}

/// [`crate::Backlog`], blocking.
#[derive(Clone, Debug)]
pub struct Backlog(crate::Backlog);

impl Backlog {
    /// See [`crate::Backlog::path`].
    pub fn path(&self) -> &str {
        self.0.path()
    }

    /// See [`crate::Backlog::get`].
    pub fn get(&self) -> Result<Vec<u8>> {
        wait(self.0.take(None), None, None).map(crate::drive::Got::hand_over)
    }

    /// See [`crate::Backlog::get_timeout`].
    pub fn get_timeout(&self, limit: Duration) -> Result<Vec<u8>> {
        wait(self.0.take(Some(limit)), None, None).map(crate::drive::Got::hand_over)
    }

    /// See [`crate::Backlog::try_get`].
    pub fn try_get(&self) -> Result<Option<Vec<u8>>> {
        let backlog = self.0.clone();
        wait(async move { backlog.try_get().await }, None, None)
    }

    /// See [`crate::Backlog::claim`].
    pub fn claim(&self) -> Result<Item> {
        wait(self.0.begin(None), None, None).map(Item::of)
    }

    /// See [`crate::Backlog::claim_timeout`].
    pub fn claim_timeout(&self, limit: Duration) -> Result<Item> {
        wait(self.0.begin(Some(limit)), None, None).map(Item::of)
    }

    /// See [`crate::Backlog::try_claim`].
    pub fn try_claim(&self) -> Result<Option<Item>> {
        let backlog = self.0.clone();
        Ok(wait(async move { backlog.try_claim().await }, None, None)?.map(Item::of))
    }

    /// See [`crate::Backlog::on_wait`].
    pub fn on_wait(&self, callback: impl Fn(WaitProgress) + Send + Sync + 'static) -> Result<Subscription> {
        self.0.on_wait(callback)
    }

    /// See [`crate::Backlog::cancel`].
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// See [`crate::Backlog::peek`].
    pub fn peek(&self) -> Result<Option<Vec<u8>>> {
        let backlog = self.0.clone();
        wait(async move { backlog.peek().await }, None, None)
    }

    /// See [`crate::Backlog::len`].
    #[allow(clippy::len_without_is_empty, reason = "asking a server is no property")]
    pub fn len(&self) -> Result<usize> {
        let backlog = self.0.clone();
        wait(async move { backlog.len().await }, None, None)
    }

    /// See [`crate::Backlog::items`].
    pub fn items(&self) -> Result<Vec<Vec<u8>>> {
        let backlog = self.0.clone();
        wait(async move { backlog.items().await }, None, None)
    }

    /// See [`crate::Backlog::dead`].
    pub fn dead(&self) -> DeadLetters {
        let letters = self.0.dead();
        DeadLetters { backlog: Backlog((*letters).clone()), letters }
    }

    /// See [`crate::Backlog::replay`].
    pub fn replay(&self) -> Result<usize> {
        let backlog = self.0.clone();
        wait(async move { backlog.replay().await }, None, None)
    }
}

/// [`crate::DeadLetters`], blocking.
#[derive(Clone, Debug)]
pub struct DeadLetters {
    letters: crate::DeadLetters,
    backlog: Backlog,
}

impl Deref for DeadLetters {
    type Target = Backlog;

    fn deref(&self) -> &Backlog {
        &self.backlog
    }
}

impl DeadLetters {
    /// See [`crate::DeadLetters::items`].
    pub fn items(&self) -> Result<Vec<DeadLetter>> {
        let letters = self.letters.clone();
        wait(async move { letters.items().await }, None, None)
    }
}

/// [`crate::Item`], blocking.
#[must_use = "dropping an Item gives it back at once; keep it for as long as the work takes"]
#[derive(Clone, Debug)]
pub struct Item {
    item: crate::Item,
    held: Held,
}

impl Deref for Item {
    type Target = Held;

    fn deref(&self) -> &Held {
        &self.held
    }
}

impl Item {
    fn of(item: crate::Item) -> Item {
        let held = Held((*item).clone());
        Item { item, held }
    }

    /// See [`crate::Item::data`].
    pub fn data(&self) -> &[u8] {
        self.item.data()
    }

    /// See [`crate::Item::attempts`].
    pub fn attempts(&self) -> u32 {
        self.item.attempts()
    }

    /// See [`crate::Item::ack`].
    pub fn ack(&self) -> Result<()> {
        wait(self.item.ack(), None, None)
    }

    /// See [`crate::Item::ack_with`].
    pub fn ack_with(&self, writes: &Transaction) -> Result<()> {
        wait(self.item.ack_with(&writes.0), None, None)
    }

    /// See [`crate::Item::nack`].
    pub fn nack(&self) -> Result<()> {
        wait(self.item.nack(), None, None)
    }

    /// See [`crate::Item::nack_with`].
    pub fn nack_with(&self, nack: Nack) -> Result<()> {
        wait(self.item.nack_with(nack), None, None)
    }

    /// See [`crate::Item::leave`].
    pub fn leave(&self, body_failed: bool) -> Result<()> {
        wait(self.item.leave(body_failed), None, None)
    }
}

macro_rules! backlogs {
    ($($name:ident)*) => {$(
        impl Deref for $name {
            type Target = Backlog;

            fn deref(&self) -> &Backlog {
                &self.backlog
            }
        }

        impl $name {
            fn of(queue: crate::$name) -> $name {
                $name { backlog: Backlog((*queue).clone()), queue }
            }
        }
    )*};
}

backlogs! { Queue PriorityQueue DelayQueue }

/// [`crate::Queue`], blocking.
///
/// ```
/// # fn main() -> zkrecipes::Result<()> {
/// let client = zkrecipes::blocking::Client::connect("embedded:", Default::default())?;
/// let queue = client.queue("/queues/mail", Default::default())?;
/// queue.put(b"hello")?;
/// let item = queue.claim()?;
/// assert_eq!(item.data(), b"hello");
/// item.ack()?;
/// assert_eq!(queue.try_get()?, None);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Queue {
    queue: crate::Queue,
    backlog: Backlog,
}

impl Queue {
    /// See [`crate::Queue::put`].
    pub fn put(&self, data: &[u8]) -> Result<()> {
        wait(self.queue.put_all(vec![data.to_vec()], None), None, None).map(drop)
    }

    /// See [`crate::Queue::put_timeout`].
    pub fn put_timeout(&self, data: &[u8], limit: Duration) -> Result<()> {
        wait(self.queue.put_all(vec![data.to_vec()], Some(limit)), None, None).map(drop)
    }

    /// See [`crate::Queue::put_many`].
    pub fn put_many<T: AsRef<[u8]>>(&self, items: &[T]) -> Result<()> {
        self.put_all(items, None)
    }

    /// See [`crate::Queue::put_many_timeout`].
    pub fn put_many_timeout<T: AsRef<[u8]>>(&self, items: &[T], limit: Duration) -> Result<()> {
        self.put_all(items, Some(limit))
    }

    fn put_all<T: AsRef<[u8]>>(&self, items: &[T], limit: Option<Duration>) -> Result<()> {
        let items = items.iter().map(|item| item.as_ref().to_vec()).collect();
        wait(self.queue.put_all(items, limit), None, None).map(drop)
    }
}

/// [`crate::PriorityQueue`], blocking.
///
/// ```
/// # fn main() -> zkrecipes::Result<()> {
/// let client = zkrecipes::blocking::Client::connect("embedded:", Default::default())?;
/// let queue = client.priority_queue("/queues/alarms", Default::default())?;
/// queue.put(b"dust", 10)?;
/// queue.put(b"fire", -5)?;
/// assert_eq!(queue.get()?, b"fire");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct PriorityQueue {
    queue: crate::PriorityQueue,
    backlog: Backlog,
}

impl PriorityQueue {
    /// See [`crate::PriorityQueue::put`].
    pub fn put(&self, data: &[u8], priority: i32) -> Result<()> {
        wait(self.queue.put_one(data.to_vec(), priority, None), None, None).map(drop)
    }

    /// See [`crate::PriorityQueue::put_timeout`].
    pub fn put_timeout(&self, data: &[u8], priority: i32, limit: Duration) -> Result<()> {
        wait(self.queue.put_one(data.to_vec(), priority, Some(limit)), None, None).map(drop)
    }
}

/// [`crate::DelayQueue`], blocking.
///
/// ```
/// # use std::time::Duration;
/// # fn main() -> zkrecipes::Result<()> {
/// let client = zkrecipes::blocking::Client::connect("embedded:", Default::default())?;
/// let queue = client.delay_queue("/queues/reminders", Default::default())?;
/// queue.put(b"later", Duration::from_secs(1))?;
/// assert_eq!(queue.try_get()?, None);
/// assert_eq!(queue.get()?, b"later");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct DelayQueue {
    queue: crate::DelayQueue,
    backlog: Backlog,
}

impl DelayQueue {
    /// See [`crate::DelayQueue::put`].
    pub fn put(&self, data: &[u8], delay: Duration) -> Result<()> {
        wait(self.queue.put_one(data.to_vec(), delay, None), None, None).map(drop)
    }

    /// See [`crate::DelayQueue::put_timeout`].
    pub fn put_timeout(&self, data: &[u8], delay: Duration, limit: Duration) -> Result<()> {
        wait(self.queue.put_one(data.to_vec(), delay, Some(limit)), None, None).map(drop)
    }
}
