//! Acquiring for a language in which an acquisition may be withdrawn on its way to its owner, and in which the handle may
//! be all that an owner has.

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;

use super::Done;
use crate::client::Client;
use crate::error::{Error, Result};
use crate::feed::Feed;
use crate::futures::begun;
use crate::recipes::election::{Election, Leadership, Terms};
use crate::recipes::handle::{Comes, Handle};
use crate::recipes::held::{Held, Readers};
use crate::recipes::partitioner::{self, Partitioner};
use crate::recipes::queue::{
    Backlog, Claims, DeadLetter, DelayQueue, Got, Item, ListedItem, PriorityQueue, Put, PutOptions, Queue,
    QueueStats,
};
use crate::session::delivery::Subscription;

/// Waits for `n` permits, or for the one turn there is, for at most `limit`, `None` for ever. The wait begins when this is
/// called: a cancel of the handle that comes right after means it.
///
/// # Cancel safety
/// As for [`Handle::acquire`].
pub fn acquire(
    handle: &Handle,
    n: usize,
    limit: Option<Duration>,
) -> impl Future<Output = Result<Granted>> + Send + use<> {
    let (handle, acquiring) = (handle.clone(), handle.take(n, limit, Comes::WhenCalled));
    acquiring.map(|held| Ok(Granted { held: held?, keeper: Keeper::Handle(handle) }))
}

/// As [`Held::downgrade`]. Withdrawn on its way to its owner, what it leads to is released.
///
/// # Cancel safety
/// As for [`Held::downgrade`].
pub fn downgrade(writing: &Held) -> impl Future<Output = Result<Granted>> + Send + use<> {
    let (readers, downgrading) = (writing.readers(), writing.downgrade());
    async move {
        let keeper = Keeper::Readers(readers?);
        Ok(Granted { held: downgrading.await?, keeper })
    }
}

/// The same of what was acquired last through a handle.
///
/// # Cancel safety
/// As for [`Held::downgrade`].
pub fn downgrade_current(handle: &Handle) -> impl Future<Output = Result<Granted>> + Send + use<> {
    let downgrading = held(handle).map(|writing| downgrade(&writing));
    begun(downgrading)
}

/// As [`Partitioner::next`]. A partition that is dropped on its way to its owner is let go of, and comes again.
///
/// # Cancel safety
/// As for [`Partitioner::next`].
pub fn next_partition(
    partitioner: &Partitioner,
    limit: Option<Duration>,
) -> impl Future<Output = Result<Granted>> + Send + use<> {
    let partitioner = partitioner.clone();
    async move { Ok(Granted { held: partitioner.next(limit).await?, keeper: Keeper::Nobody }) }
}

/// What [`Partitioner::run`] works on, for faces in which the work is no future: each partition is its owner's until that lets go of it
/// or it is lost. The end of the feed is the end of the membership.
pub fn partitions(partitioner: &Partitioner) -> Feed<Held> {
    partitioner.handed_out()
}

/// Says in the log that the work on a partition has failed.
pub fn partition_failed(partition: &Held, error: &dyn std::fmt::Display) {
    partitioner::tell_failed(partition, error);
}

/// An acquisition on its way to its owner. Dropped before it gets there, because the owner withdrew meanwhile, it is
/// released.
#[must_use = "dropping it releases the lock"]
pub struct Granted {
    keeper: Keeper,
    held: Held,
}

/// What keeps an acquisition for an owner that has nothing else.
enum Keeper {
    Handle(Handle),
    /// The side that a writer's downgrade leads to.
    Readers(Arc<dyn Readers>),
    /// There is no handle of it: who wants to keep it keeps it.
    Nobody,
}

impl Granted {
    /// The owner has it, and its handle keeps it until it is released, or until the handle and every clone are gone: for a
    /// language in which an owner may have nothing but the handle.
    pub fn keep(self) -> Held {
        match &self.keeper {
            Keeper::Handle(handle) => handle.keep(&self.held),
            Keeper::Readers(readers) => readers.keep(&self.held),
            Keeper::Nobody => {}
        }
        self.held
    }

    /// The owner has it, and nobody else does.
    pub fn hand_over(self) -> Held {
        self.held
    }
}

impl std::fmt::Debug for Granted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Granted").field(&self.held).finish()
    }
}

/// The acquisition made last through a handle, or NotHeld.
pub fn held(handle: &Handle) -> Result<Held> {
    handle.held()
}

/// Says in the log that what is held was garbage-collected: for a language with a collector, in which that is no way of
/// releasing.
pub fn tell_collected(held: &Held) {
    held.tell_collected();
}

/// What was acquired through an [`Election`], as the leadership that it is.
pub fn leadership(held: Held) -> Leadership {
    Leadership::of(held)
}

/// Before a face runs the body of a scope that is entered with what is held already.
pub fn check_stands(held: &Held) -> Result<()> {
    held.check_stands()
}

/// The client through which it was acquired.
pub fn client_of(held: &Held) -> &Client {
    held.client()
}

/// What a face does in [`Election::run`] whose work is no future.
pub fn terms(election: &Election) -> Result<Terms> {
    election.terms()
}

/// As [`Held::on_lost`], but it hears of a deletion only when somebody else listens, and costs no request: for a face that
/// keeps account of what is held.
pub fn on_known_loss(held: &Held, callback: impl FnOnce(Error) + Send + 'static) -> Subscription {
    held.on_known_loss(callback)
}

/// As [`Backlog::get`] with or without a limit, where the caller may withdraw while the answer is on its way to it.
///
/// # Cancel safety
/// As for [`Backlog::get`].
pub fn get(backlog: &Backlog, limit: Option<Duration>) -> impl Future<Output = Result<Got>> + Send + use<> {
    backlog.take(limit)
}

/// As [`Backlog::claim`] with or without a limit. An item that is dropped on its way to its owner is given back.
///
/// # Cancel safety
/// As for [`Backlog::claim`].
pub fn claim(
    backlog: &Backlog,
    limit: Option<Duration>,
) -> impl Future<Output = Result<Item>> + Send + use<> {
    backlog.begin(limit)
}

/// As [`Backlog::claim_many`] with or without a limit. Withdrawing it gives back what it has claimed.
pub fn claim_many(
    backlog: &Backlog,
    n: usize,
    limit: Option<Duration>,
) -> impl Future<Output = Result<Vec<Item>>> + Send + use<> {
    backlog.begin_many(n, limit)
}

/// As [`Backlog::ack_many`].
pub fn ack_many(backlog: &Backlog, items: Vec<Item>) -> impl Future<Output = Result<()>> + Send + use<> {
    backlog.ack_many(&items)
}

/// The dead letters of a queue, with what is known of their end; those of its dead letters are the same.
pub fn dead_letters(backlog: &Backlog) -> impl Future<Output = Result<Vec<DeadLetter>>> + Send + use<> {
    let letters = backlog.letters();
    async move { letters.items().await }
}

/// The first of the items of a queue in order, of each shard so many, and how each of them stands.
pub fn list_items(
    backlog: &Backlog,
    most: usize,
) -> impl Future<Output = Result<Vec<ListedItem>>> + Send + use<> {
    let backlog = backlog.clone();
    async move { backlog.list_items(most).await }
}

/// Takes the claim of an item away, by its node below the path of the queue; resolves with who had it, if somebody had.
pub fn break_claim(
    backlog: &Backlog,
    node: String,
) -> impl Future<Output = Result<Option<String>>> + Send + use<> {
    let backlog = backlog.clone();
    async move { backlog.break_claim(&node).await }
}

/// As [`Backlog::stats`]; `None` if nothing is at the path of the queue.
pub fn stats_if_any(backlog: &Backlog) -> impl Future<Output = Result<Option<QueueStats>>> + Send + use<> {
    let backlog = backlog.clone();
    async move { backlog.stats_if_any().await }
}

/// As [`Backlog::replay`], or [`Backlog::replay_one`] where an id is given.
pub fn replay(backlog: &Backlog, id: Option<String>) -> impl Future<Output = Result<usize>> + Send + use<> {
    let backlog = backlog.clone();
    async move {
        match id {
            Some(id) => backlog.replay_one(&id).await,
            None => backlog.replay().await,
        }
    }
}

/// Claims of `backlog` one after the other, for a loop that a cancel ends wherever it is.
pub fn claims(backlog: &Backlog) -> Claims {
    backlog.claims()
}

/// As [`Queue::put_many`] with or without a limit. What this answers is taken back if it is dropped before it was received.
///
/// # Cancel safety
/// As for [`Queue::put_many`].
pub fn put(
    queue: &Queue,
    items: Vec<Vec<u8>>,
    limit: Option<Duration>,
) -> impl Future<Output = Result<Done>> + Send + use<> {
    taken_back(queue.put_all(items, limit))
}

/// As [`Queue::put_with`], with a key or without. As [`put`].
///
/// # Cancel safety
/// As for [`Queue::put_with`].
pub fn put_one(
    queue: &Queue,
    data: Vec<u8>,
    key: Option<String>,
    limit: Option<Duration>,
) -> impl Future<Output = Result<Done>> + Send + use<> {
    taken_back(queue.put_one(data, put_options(key, limit)))
}

/// As [`PriorityQueue::put_with`], with a key or without. As [`put`].
///
/// # Cancel safety
/// As for [`PriorityQueue::put_with`].
pub fn put_priority(
    queue: &PriorityQueue,
    data: Vec<u8>,
    priority: i32,
    key: Option<String>,
    limit: Option<Duration>,
) -> impl Future<Output = Result<Done>> + Send + use<> {
    taken_back(queue.put_one(data, priority, put_options(key, limit)))
}

/// As [`DelayQueue::put_with`], with a key or without. As [`put`].
///
/// # Cancel safety
/// As for [`DelayQueue::put_with`].
pub fn put_delayed(
    queue: &DelayQueue,
    data: Vec<u8>,
    delay: Duration,
    key: Option<String>,
    limit: Option<Duration>,
) -> impl Future<Output = Result<Done>> + Send + use<> {
    taken_back(queue.put_one(data, delay, put_options(key, limit)))
}

fn put_options(key: Option<String>, timeout: Option<Duration>) -> PutOptions {
    let mut options = PutOptions::default();
    (options.key, options.timeout) = (key, timeout);
    options
}

fn taken_back(putting: impl Future<Output = Result<Vec<Put>>>) -> impl Future<Output = Result<Done>> {
    putting.map(|put| {
        let put = put?;
        Ok(Done::unless(move || put.into_iter().for_each(Put::take_back)))
    })
}
