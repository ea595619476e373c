//! Generated from api/queue.toml and api/queue_put.toml by api/generate; do not edit.

use pyo3::prelude::*;
use zkrecipes::drive;

use crate::convert;
use crate::face::{Answered, Arg, Fresh, Seed};
use crate::queue::queue;

queue!(QueueBase of zkrecipes::Queue, Queue, "Queue");

#[pymethods]
impl QueueBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<QueueBase> {
        seed.get().take()
    }

    /// Puts an item at the end, once, also when its answer gets lost. Waits while the queue is full. Timeout after
    /// `timeout` seconds: it is not in, and will not be; if it is on its way then, half a second more is waited for
    /// the answer. ConnectionLost: nobody can know whether it went in. With a `key`, such as the id of a request,
    /// it is put once for all who put with that key within the `key_window`, also if it was taken since: then this
    /// returns as it did for the first.
    #[pyo3(signature = (data, timeout=None, key=None))]
    fn put(slf: &Bound<'_, Self>, data: Arg, timeout: Option<Arg>, key: Option<Arg>) -> Answered {
        let data = convert::payload("data", data)?;
        let timeout = convert::limit("timeout", timeout)?;
        let key = key.map(|key| convert::text("key", key)).transpose()?;
        let it = slf.get();
        Self::origin(slf).run(slf.py(), || drive::put_one(&it.core, data, key, timeout))
    }

    /// Puts several, in as few transactions as carry them, each of which is applied as a whole or not at all. The
    /// error says how many went in, from the first on: its attribute `put`. After ConnectionLost and Closed it may
    /// be more.
    #[pyo3(signature = (items, timeout=None))]
    fn put_many(slf: &Bound<'_, Self>, items: Arg, timeout: Option<Arg>) -> Answered {
        let items = convert::payloads("items", items)?;
        let timeout = convert::limit("timeout", timeout)?;
        let it = slf.get();
        Self::origin(slf).run(slf.py(), || drive::put(&it.core, items, timeout))
    }
}

/// Items that are taken in the order in which they came. Made by `client.queue(path)`.
///
/// `for item in queue:` claims one after the other, and waits for more. One that is not settled when the next
/// is asked for, or when the loop ends, is given back as by `nack`. `with item:` acknowledges it, or gives it
/// back if the body failed.
///
/// >>> import zkrecipes
/// >>> client = zkrecipes.Client("embedded:/queue-doc")
/// >>> queue = client.queue("/queues/mail")
/// >>> queue.put("one")
/// >>> queue.put_many(["two", "three"])
/// >>> queue.get()   # at most once: it is removed before we see it
/// b'one'
/// >>> for item in queue:   # at least once: whoever is next has it if we crash
/// ...     with item:
/// ...         print(item.data, item.attempts)
/// ...     if queue.len() == 0:
/// ...         break
/// b'two' 1
/// b'three' 1
/// >>> client.close()
#[pyclass(frozen, weakref, extends = QueueBase, module = "zkrecipes")]
pub struct Queue;
