//! Generated from api/delay_queue.toml by api/generate; do not edit.

use pyo3::prelude::*;
use zkrecipes::drive;

use crate::convert;
use crate::face::{Answered, Arg, Fresh, Seed};
use crate::queue::queue;

queue!(DelayQueueBase of zkrecipes::DelayQueue, DelayQueue, "DelayQueue");

#[pymethods]
impl DelayQueueBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<DelayQueueBase> {
        seed.get().take()
    }

    /// Puts an item that nobody gets before `delay` seconds have passed; once, also when its answer gets lost.
    /// Waits while the queue is full; Timeout after `timeout` seconds. `key` as for a `Queue`.
    #[pyo3(signature = (data, delay, timeout=None, key=None))]
    fn put(slf: &Bound<'_, Self>, data: Arg, delay: Arg, timeout: Option<Arg>, key: Option<Arg>) -> Answered {
        let data = convert::payload("data", data)?;
        let delay = convert::duration("delay", delay)?;
        let timeout = convert::limit("timeout", timeout)?;
        let key = key.map(|key| convert::text("key", key)).transpose()?;
        let it = slf.get();
        Self::origin(slf).run(slf.py(), || drive::put_delayed(&it.core, data, delay, key, timeout))
    }
}

/// Items that are taken when they are due, the first due first. Made by `client.delay_queue(path)`.
///
/// What is due is told by the clocks of those who put and take: they should not be far apart.
///
/// >>> import zkrecipes
/// >>> client = zkrecipes.Client("embedded:/delay-queue-doc")
/// >>> reminders = client.delay_queue("/queues/reminders")
/// >>> reminders.put("later", 0.2)
/// >>> reminders.put("sooner", 0.1)
/// >>> reminders.peek(), reminders.get(), reminders.get()
/// (None, b'sooner', b'later')
/// >>> client.close()
#[pyclass(frozen, weakref, extends = DelayQueueBase, module = "zkrecipes")]
pub struct DelayQueue;
