//! Generated from api/queue.toml and api/queue_put.toml by api/generate; do not edit.

use std::ops::Deref;

use crate::blocking::{Backlog, Client};
use crate::{QueueOptions, Result};

impl Client {
    /// See [`crate::Client::queue`].
    pub fn queue(&self, path: &str, options: QueueOptions) -> Result<Queue> {
        self.0.queue(path, options).map(Queue::of)
    }
}

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
    pub(in crate::blocking) core: crate::Queue,
    base: Backlog,
}

impl Deref for Queue {
    type Target = Backlog;

    fn deref(&self) -> &Backlog {
        &self.base
    }
}

impl Queue {
    pub(in crate::blocking) fn of(core: crate::Queue) -> Queue {
        Queue { base: Backlog::of((*core).clone()), core }
    }
}
