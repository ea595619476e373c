//! Taking from queues and putting into them, blocking.

use std::ops::Deref;
use std::time::Duration;

use super::{Backlog, DelayQueue, Item, PriorityQueue, Queue};
use crate::drive::{check_may_wait, wait};
use crate::error::Result;
use crate::recipes::queue::{DeadLetter, Nack, PutOptions};

impl Backlog {
    /// See [`crate::Backlog::get`].
    pub fn get(&self) -> Result<Vec<u8>> {
        wait(self.core.take(None), None, None).map(crate::drive::Got::hand_over)
    }

    /// See [`crate::Backlog::get_timeout`].
    pub fn get_timeout(&self, limit: Duration) -> Result<Vec<u8>> {
        wait(self.core.take(Some(limit)), None, None).map(crate::drive::Got::hand_over)
    }

    /// See [`crate::Backlog::try_get`].
    pub fn try_get(&self) -> Result<Option<Vec<u8>>> {
        let backlog = self.core.clone();
        wait(async move { backlog.try_get().await }, None, None)
    }

    /// See [`crate::Backlog::claim`].
    pub fn claim(&self) -> Result<Item> {
        wait(self.core.begin(None), None, None).map(Item::of)
    }

    /// See [`crate::Backlog::claim_timeout`].
    pub fn claim_timeout(&self, limit: Duration) -> Result<Item> {
        wait(self.core.begin(Some(limit)), None, None).map(Item::of)
    }

    /// See [`crate::Backlog::try_claim`].
    pub fn try_claim(&self) -> Result<Option<Item>> {
        let backlog = self.core.clone();
        Ok(wait(async move { backlog.try_claim().await }, None, None)?.map(Item::of))
    }

    /// See [`crate::Backlog::claim_many`].
    pub fn claim_many(&self, n: usize) -> Result<Vec<Item>> {
        self.claim_several(n, None)
    }

    /// See [`crate::Backlog::claim_many_timeout`].
    pub fn claim_many_timeout(&self, n: usize, limit: Duration) -> Result<Vec<Item>> {
        self.claim_several(n, Some(limit))
    }

    fn claim_several(&self, n: usize, limit: Option<Duration>) -> Result<Vec<Item>> {
        let items = wait(self.core.begin_many(n, limit), None, None)?;
        Ok(items.into_iter().map(Item::of).collect())
    }

    /// See [`crate::Backlog::ack_many`].
    pub fn ack_many(&self, items: &[Item]) -> Result<()> {
        let items = items.iter().map(|item| item.core.clone()).collect();
        wait(crate::drive::ack_many(&self.core, items), None, None)
    }

    /// See [`crate::Backlog::dead`].
    pub fn dead(&self) -> DeadLetters {
        let letters = self.core.dead();
        DeadLetters { backlog: Backlog::of((*letters).clone()), letters }
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

impl Item {
    /// See [`crate::Item::nack_with`].
    pub fn nack_with(&self, nack: Nack) -> Result<()> {
        check_may_wait()?;
        wait(self.core.nack_with(nack), None, None)
    }

    /// See [`crate::Item::leave`].
    pub fn leave(&self, body_failed: bool) -> Result<()> {
        wait(self.core.leave(body_failed), None, None)
    }
}

impl Queue {
    /// See [`crate::Queue::put`].
    pub fn put(&self, data: &[u8]) -> Result<()> {
        wait(self.core.put_all(vec![data.to_vec()], None), None, None).map(drop)
    }

    /// See [`crate::Queue::put_timeout`].
    pub fn put_timeout(&self, data: &[u8], limit: Duration) -> Result<()> {
        wait(self.core.put_all(vec![data.to_vec()], Some(limit)), None, None).map(drop)
    }

    /// See [`crate::Queue::put_with`].
    pub fn put_with(&self, data: &[u8], options: PutOptions) -> Result<()> {
        wait(self.core.put_one(data.to_vec(), options), None, None).map(drop)
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
        wait(self.core.put_all(items, limit), None, None).map(drop)
    }
}

impl PriorityQueue {
    /// See [`crate::PriorityQueue::put`].
    pub fn put(&self, data: &[u8], priority: i32) -> Result<()> {
        self.put_with(data, priority, PutOptions::default())
    }

    /// See [`crate::PriorityQueue::put_timeout`].
    pub fn put_timeout(&self, data: &[u8], priority: i32, limit: Duration) -> Result<()> {
        self.put_with(data, priority, PutOptions::default().timeout(limit))
    }

    /// See [`crate::PriorityQueue::put_with`].
    pub fn put_with(&self, data: &[u8], priority: i32, options: PutOptions) -> Result<()> {
        wait(self.core.put_one(data.to_vec(), priority, options), None, None).map(drop)
    }
}

impl DelayQueue {
    /// See [`crate::DelayQueue::put`].
    pub fn put(&self, data: &[u8], delay: Duration) -> Result<()> {
        self.put_with(data, delay, PutOptions::default())
    }

    /// See [`crate::DelayQueue::put_timeout`].
    pub fn put_timeout(&self, data: &[u8], delay: Duration, limit: Duration) -> Result<()> {
        self.put_with(data, delay, PutOptions::default().timeout(limit))
    }

    /// See [`crate::DelayQueue::put_with`].
    pub fn put_with(&self, data: &[u8], delay: Duration, options: PutOptions) -> Result<()> {
        wait(self.core.put_one(data.to_vec(), delay, options), None, None).map(drop)
    }
}
