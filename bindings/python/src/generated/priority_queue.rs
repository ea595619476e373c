//! Generated from api/priority_queue.toml by api/generate; do not edit.

use pyo3::prelude::*;
use zkrecipes::drive;

use crate::convert;
use crate::face::{Answered, Arg, Fresh, Seed};
use crate::queue::queue;

queue!(PriorityQueueBase of zkrecipes::PriorityQueue, PriorityQueue, "PriorityQueue");

#[pymethods]
impl PriorityQueueBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<PriorityQueueBase> {
        seed.get().take()
    }

    /// Puts an item, once, also when its answer gets lost. Waits while the queue is full; Timeout after `timeout`
    /// seconds. Where the naming is kazoo's, the priority is between 0 and 999. `key` as for a `Queue`.
    #[pyo3(signature = (data, priority, timeout=None, key=None))]
    fn put(
        slf: &Bound<'_, Self>,
        data: Arg,
        priority: Arg,
        timeout: Option<Arg>,
        key: Option<Arg>,
    ) -> Answered {
        let data = convert::payload("data", data)?;
        let priority = convert::signed("priority", priority)?;
        let timeout = convert::limit("timeout", timeout)?;
        let key = key.map(|key| convert::text("key", key)).transpose()?;
        let it = slf.get();
        Self::origin(slf).run(slf.py(), || drive::put_priority(&it.core, data, priority, key, timeout))
    }
}

/// Items of which the one with the lowest priority number is taken first, and of those with the same the one
/// that came first. Made by `client.priority_queue(path)`.
///
/// >>> import zkrecipes
/// >>> client = zkrecipes.Client("embedded:/priority-queue-doc")
/// >>> alarms = client.priority_queue("/queues/alarms")
/// >>> alarms.put("dust", 10)
/// >>> alarms.put("fire", -5)
/// >>> alarms.get()
/// b'fire'
/// >>> client.close()
#[pyclass(frozen, weakref, extends = PriorityQueueBase, module = "zkrecipes")]
pub struct PriorityQueue;
