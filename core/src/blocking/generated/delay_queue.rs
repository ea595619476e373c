//! Generated from api/delay_queue.toml by api/generate; do not edit.

use std::ops::Deref;

use crate::blocking::{Backlog, Client};
use crate::{QueueOptions, Result};

impl Client {
    /// See [`crate::Client::delay_queue`].
    pub fn delay_queue(&self, path: &str, options: QueueOptions) -> Result<DelayQueue> {
        self.0.delay_queue(path, options).map(DelayQueue::of)
    }
}

/// [`crate::DelayQueue`], blocking.
///
/// ```
/// # fn main() -> zkrecipes::Result<()> {
/// let client = zkrecipes::blocking::Client::connect("embedded:", Default::default())?;
/// # use std::time::Duration;
/// let queue = client.delay_queue("/queues/reminders", Default::default())?;
/// queue.put(b"later", Duration::from_secs(1))?;
/// assert_eq!(queue.try_get()?, None);
/// assert_eq!(queue.get()?, b"later");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct DelayQueue {
    pub(in crate::blocking) core: crate::DelayQueue,
    base: Backlog,
}

impl Deref for DelayQueue {
    type Target = Backlog;

    fn deref(&self) -> &Backlog {
        &self.base
    }
}

impl DelayQueue {
    pub(in crate::blocking) fn of(core: crate::DelayQueue) -> DelayQueue {
        DelayQueue { base: Backlog::of((*core).clone()), core }
    }
}
