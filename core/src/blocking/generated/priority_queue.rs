//! Generated from api/priority_queue.toml by api/generate; do not edit.

use std::ops::Deref;

use crate::blocking::{Backlog, Client};
use crate::{QueueOptions, Result};

impl Client {
    /// See [`crate::Client::priority_queue`].
    pub fn priority_queue(&self, path: &str, options: QueueOptions) -> Result<PriorityQueue> {
        self.0.priority_queue(path, options).map(PriorityQueue::of)
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
    pub(in crate::blocking) core: crate::PriorityQueue,
    base: Backlog,
}

impl Deref for PriorityQueue {
    type Target = Backlog;

    fn deref(&self) -> &Backlog {
        &self.base
    }
}

impl PriorityQueue {
    pub(in crate::blocking) fn of(core: crate::PriorityQueue) -> PriorityQueue {
        PriorityQueue { base: Backlog::of((*core).clone()), core }
    }
}
