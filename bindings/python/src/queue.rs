//! Queues: what all of them have, and how each is put into.

use pyo3::prelude::*;
use pyo3::types::PyCFunction;
use zkrecipes::drive;

use crate::answer::Answer;
use crate::client::Origin;
use crate::convert::{duration, limit, payload, payloads, signed};
use crate::errors::OrRaise;
use crate::face::{Answered, Arg, Fresh, Seed, two_faces};
use crate::item::{self, Claims};
use crate::owned::Owned;
use crate::waiting::Waiting;

/// What all queues are, on both faces.
#[pyclass(frozen, subclass, weakref, name = "Backlog", module = "zkrecipes._native")]
pub struct BacklogBase {
    origin: Owned<Origin>,
    core: Owned<Waiting<zkrecipes::Backlog>>,
}

impl BacklogBase {
    fn made(origin: &Origin, core: &zkrecipes::Backlog) -> PyClassInitializer<BacklogBase> {
        BacklogBase { origin: origin.clone().into(), core: Waiting::from(core.clone()).into() }.into()
    }
}

#[pymethods]
impl BacklogBase {
    /// Takes the next item and returns its data: at most once, for it is removed before it is returned. Waits for one; Timeout
    /// after `timeout` seconds, and 0 is one attempt. ConnectionLost: an item may have been removed that nobody has.
    #[pyo3(signature = (timeout=None))]
    fn get(&self, py: Python<'_>, timeout: Option<Arg>) -> Answered {
        let limit = limit("timeout", timeout)?;
        self.origin.run_to(py, || drive::get(&self.core, limit), |py, got| got.hand_over().answer(py))
    }

    /// Claims the next item: at least once, for nobody else has it until it is acknowledged, given back, or this session ends.
    /// Waits for one; Timeout after `timeout` seconds, and 0 is one attempt.
    #[pyo3(signature = (timeout=None))]
    fn claim(&self, py: Python<'_>, timeout: Option<Arg>) -> Answered {
        let (limit, origin) = (limit("timeout", timeout)?, Origin::clone(&self.origin));
        self.origin.run_to(
            py,
            || drive::claim(&self.core, limit),
            move |py, item| item::claimed(py, origin, item),
        )
    }

    /// The data of the next item that could be taken, which stays; None if there is none.
    fn peek(&self, py: Python<'_>) -> Answered {
        let backlog = self.core.clone();
        self.origin.run(py, || async move { backlog.peek().await })
    }

    /// How many items there are, claimed ones included.
    fn len(&self, py: Python<'_>) -> Answered {
        let backlog = self.core.clone();
        self.origin.run(py, || async move { backlog.len().await })
    }

    /// The data of all items in order, claimed ones included. It reads every one of them; what cannot be read is left out, and
    /// the log names it.
    fn items(&self, py: Python<'_>) -> Answered {
        let backlog = self.core.clone();
        self.origin.run(py, || async move { backlog.items().await })
    }

    /// Puts the dead letters back into their queue, as new items; returns how many: `queue.dead.replay()`.
    fn replay(&self, py: Python<'_>) -> Answered {
        let backlog = self.core.clone();
        self.origin.run(py, || async move { backlog.replay().await })
    }

    /// Calls `callback(progress)` while a verb of this object waits, for an item or for room: after a second, and then ever less
    /// often, up to once a minute. `progress` says for how long (`waited` seconds). Returns a function that unsubscribes.
    fn on_wait<'py>(&self, callback: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyCFunction>> {
        self.core.on_wait(&self.origin, callback, |backlog, tell| backlog.on_wait(tell))
    }

    /// Ends the waits in progress on this object with Cancelled, never later ones; and the loops over it, also one that works on
    /// an item at the moment, when that is done.
    fn cancel(&self, py: Python<'_>) -> PyResult<()> {
        self.origin
            .guard(|| {
                zkrecipes::Backlog::cancel(&self.core);
                Ok(())
            })
            .or_raise(py)
    }

    /// The items that were claimed `max_attempts` times in vain, or that nobody can read.
    #[getter]
    fn dead(&self, py: Python<'_>) -> Answered {
        DeadLettersBase::of(py, &self.origin, self.origin.guard(|| Ok(self.core.dead())).or_raise(py)?)
    }

    /// Where the items are.
    #[getter]
    fn path(&self) -> &str {
        self.core.path()
    }

    #[pyo3(name = "_claims")]
    fn claims(&self) -> Claims {
        Claims::of(&self.origin, &self.core)
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        Ok(format!("<{} {}>", slf.get_type().name()?, slf.get().core.path()))
    }
}

/// The base of a queue, with its way to put on top of `BacklogBase`, and the iteration of its blocking class.
macro_rules! queue {
    ($base:ident of $core:ty, $public:ident, $name:literal) => {
        #[doc = concat!("What `", stringify!($public), "` is on both faces.")]
        #[pyclass(frozen, subclass, extends = BacklogBase, name = $name, module = "zkrecipes._native")]
        pub struct $base {
            core: Owned<$core>,
        }

        impl $base {
            pub fn of(py: Python<'_>, origin: &Origin, core: $core) -> Answered {
                let (face, origin) = (origin.face, origin.clone());
                $base::hand_out(py, face, move || {
                    BacklogBase::made(&origin, &core).add_subclass($base { core: core.into() })
                })
            }
        }

        two_faces!($base, $public);

        #[pymethods]
        impl $public {
            fn __iter__(slf: &Bound<'_, Self>) -> Claims {
                slf.as_super().as_super().get().claims()
            }
        }
    };
}

queue!(DeadLettersBase of zkrecipes::DeadLetters, DeadLetters, "DeadLetters");

#[pymethods]
impl DeadLettersBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<DeadLettersBase> {
        seed.get().take()
    }

    /// All of them in order, with what is known of their end. It reads every one of them. One that cannot be read hides no
    /// other: its `problem` says why.
    fn items(slf: &Bound<'_, Self>) -> Answered {
        let (letters, origin) = (slf.get().core.clone(), &slf.as_super().get().origin);
        origin.run(slf.py(), || async move { letters.items().await })
    }
}

/// The dead letters of a queue, `queue.dead`: items that were claimed `max_attempts` times in vain, or that nobody can read.
/// `get`, `claim` and `for item in queue.dead:` take them.
///
/// >>> import zkrecipes
/// >>> client = zkrecipes.Client("embedded:/dead-letters-doc")
/// >>> queue = client.queue("/queues/mail", max_attempts=1)
/// >>> queue.put("spam")
/// >>> queue.claim().nack(reason="no such user")
/// >>> for letter in queue.dead.items():
/// ...     print(letter.data, letter.reason, letter.attempts)
/// b'spam' no such user 1
/// >>> queue.dead.replay(), queue.items()
/// (1, [b'spam'])
/// >>> client.close()
#[pyclass(frozen, weakref, extends = DeadLettersBase, module = "zkrecipes")]
pub struct DeadLetters;

queue!(QueueBase of zkrecipes::Queue, Queue, "Queue");

#[pymethods]
impl QueueBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<QueueBase> {
        seed.get().take()
    }

    /// Puts an item at the end, once, also when its answer gets lost. Waits while the queue is full. Timeout after `timeout`
    /// seconds: it is not in, and will not be; if it is on its way then, half a second more is waited for the answer.
    /// ConnectionLost: nobody can know whether it went in.
    #[pyo3(signature = (data, timeout=None))]
    fn put(slf: &Bound<'_, Self>, data: Arg, timeout: Option<Arg>) -> Answered {
        let (data, limit) = (payload("data", data)?, limit("timeout", timeout)?);
        let origin = &slf.as_super().get().origin;
        origin.run(slf.py(), || drive::put(&slf.get().core, vec![data], limit))
    }

    /// Puts several, in as few transactions as carry them, each of which is applied as a whole or not at all. The error says
    /// how many went in, from the first on: its attribute `put`. After ConnectionLost and Closed it may be more.
    #[pyo3(signature = (items, timeout=None))]
    fn put_many(slf: &Bound<'_, Self>, items: Arg, timeout: Option<Arg>) -> Answered {
        let (items, limit) = (payloads("items", items)?, limit("timeout", timeout)?);
        let origin = &slf.as_super().get().origin;
        origin.run(slf.py(), || drive::put(&slf.get().core, items, limit))
    }
}

/// Items that are taken in the order in which they came. Made by `client.queue(path)`.
///
/// `for item in queue:` claims one after the other, and waits for more. One that is not settled when the next is asked for,
/// or when the loop ends, is given back as by `nack`. `with item:` acknowledges it, or gives it back if the body failed.
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

queue!(PriorityQueueBase of zkrecipes::PriorityQueue, PriorityQueue, "PriorityQueue");

#[pymethods]
impl PriorityQueueBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<PriorityQueueBase> {
        seed.get().take()
    }

    /// Puts an item, once, also when its answer gets lost. Waits while the queue is full; Timeout after `timeout` seconds.
    /// Where the naming is kazoo's, the priority is between 0 and 999.
    #[pyo3(signature = (data, priority, timeout=None))]
    fn put(slf: &Bound<'_, Self>, data: Arg, priority: Arg, timeout: Option<Arg>) -> Answered {
        let (data, priority) = (payload("data", data)?, signed("priority", priority)?);
        let (limit, origin) = (limit("timeout", timeout)?, &slf.as_super().get().origin);
        origin.run(slf.py(), || drive::put_priority(&slf.get().core, data, priority, limit))
    }
}

/// Items of which the one with the lowest priority number is taken first, and of those with the same the one that came first.
/// Made by `client.priority_queue(path)`.
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

queue!(DelayQueueBase of zkrecipes::DelayQueue, DelayQueue, "DelayQueue");

#[pymethods]
impl DelayQueueBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<DelayQueueBase> {
        seed.get().take()
    }

    /// Puts an item that nobody gets before `delay` seconds have passed; once, also when its answer gets lost. Waits while the
    /// queue is full; Timeout after `timeout` seconds.
    #[pyo3(signature = (data, delay, timeout=None))]
    fn put(slf: &Bound<'_, Self>, data: Arg, delay: Arg, timeout: Option<Arg>) -> Answered {
        let (data, delay) = (payload("data", data)?, duration("delay", delay)?);
        let (limit, origin) = (limit("timeout", timeout)?, &slf.as_super().get().origin);
        origin.run(slf.py(), || drive::put_delayed(&slf.get().core, data, delay, limit))
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
