//! Queues: what all of them have, and how each is put into.

use pyo3::prelude::*;
use pyo3::types::PyCFunction;
use zkrecipes::drive;

use crate::answer::list;
use crate::attach::call;
use crate::callback;
use crate::client::Origin;
use crate::convert;
use crate::errors::{OrRaise, invalid};
use crate::face::{Answered, Arg, Face, Fresh, Seed};
use crate::generated::docs::doc_of;
use crate::item::{self, Claims};
use crate::owned::Owned;
use crate::waiting::Waiting;

/// Of the workers of one call.
const MOST_WORKERS: usize = 10_000;

/// What all queues are, on both faces.
#[pyclass(frozen, subclass, weakref, name = "Backlog", module = "zkrecipes._native")]
pub struct BacklogBase {
    origin: Owned<Origin>,
    core: Owned<Waiting<zkrecipes::Backlog>>,
}

impl BacklogBase {
    pub fn origin<'a>(slf: &'a Bound<'_, BacklogBase>) -> &'a Origin {
        &slf.get().origin
    }

    pub fn made(origin: &Origin, core: &zkrecipes::Backlog) -> PyClassInitializer<BacklogBase> {
        BacklogBase { origin: origin.clone().into(), core: Waiting::from(core.clone()).into() }.into()
    }
}

#[pymethods]
impl BacklogBase {
    // --- generated from api: methods of Backlog

    /// Where the items are.
    #[getter]
    fn path(&self) -> &str {
        self.core.path()
    }

    /// Takes the next item and returns its data: at most once, for it is removed before it is returned. Waits for
    /// one; Timeout after `timeout` seconds, and 0 is one attempt. ConnectionLost: an item may have been removed
    /// that nobody has.
    #[pyo3(signature = (timeout=None))]
    fn get(slf: &Bound<'_, Self>, timeout: Option<Arg>) -> Answered {
        let timeout = convert::limit("timeout", timeout)?;
        let it = slf.get();
        Self::origin(slf).run(slf.py(), || drive::get(&it.core, timeout))
    }

    /// Claims the next item: at least once, for nobody else has it until it is acknowledged, given back, or this
    /// session ends. Waits for one; Timeout after `timeout` seconds, and 0 is one attempt.
    #[pyo3(signature = (timeout=None))]
    fn claim(slf: &Bound<'_, Self>, timeout: Option<Arg>) -> Answered {
        let timeout = convert::limit("timeout", timeout)?;
        let it = slf.get();
        let origin = Origin::clone(Self::origin(slf));
        Self::origin(slf).run_to(
            slf.py(),
            || drive::claim(&it.core, timeout),
            move |py, answer| item::claimed(py, origin, answer),
        )
    }

    /// Claims up to `n` at once: waits for the first, and takes the next ones along that are there already. Timeout
    /// after `timeout` seconds without one, and 0 is one attempt.
    #[pyo3(signature = (n, timeout=None))]
    fn claim_many(slf: &Bound<'_, Self>, n: Arg, timeout: Option<Arg>) -> Answered {
        let n = convert::permits("n", n)?;
        let timeout = convert::limit("timeout", timeout)?;
        let it = slf.get();
        let origin = Origin::clone(Self::origin(slf));
        Self::origin(slf).run_to(
            slf.py(),
            || drive::claim_many(&it.core, n, timeout),
            move |py, answer| list(py, answer, |one| item::claimed(py, origin.clone(), one)),
        )
    }

    /// Acknowledges several at once, each as by its `ack`: the requests leave together, and one that fails holds up
    /// no other. What is raised is the error of the first of them that failed.
    fn ack_many(slf: &Bound<'_, Self>, items: Arg) -> Answered {
        let items = item::several("items", items)?;
        let it = slf.get();
        Self::origin(slf).run(slf.py(), || drive::ack_many(&it.core, items))
    }

    /// Calls `callback(progress)` while a verb of this object waits, for an item or for room: after a second, and
    /// then ever less often, up to once a minute. `progress` says for how long (`waited` seconds). Returns a
    /// function that unsubscribes.
    fn on_wait<'py>(
        slf: &Bound<'py, Self>,
        callback: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyCFunction>> {
        slf.get().core.on_wait(Self::origin(slf), callback, |one, tell| one.on_wait(tell))
    }

    /// The data of the next item that could be taken, which stays; None if there is none.
    fn peek(slf: &Bound<'_, Self>) -> Answered {
        let core = zkrecipes::Backlog::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.peek().await })
    }

    /// How many items there are, claimed ones included.
    fn len(slf: &Bound<'_, Self>) -> Answered {
        let core = zkrecipes::Backlog::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.len().await })
    }

    /// How many items can be taken, step aside, or are claimed, and how many dead letters there are; counted by the
    /// lists of items and claims.
    fn stats(slf: &Bound<'_, Self>) -> Answered {
        let core = zkrecipes::Backlog::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.stats().await })
    }

    /// The data of all items in order, claimed ones included. It reads every one of them; what cannot be read is
    /// left out, and the log names it.
    fn items(slf: &Bound<'_, Self>) -> Answered {
        let core = zkrecipes::Backlog::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.items().await })
    }

    /// The items that were claimed `max_attempts` times in vain, or that nobody can read.
    #[getter]
    fn dead(slf: &Bound<'_, Self>) -> Answered {
        let made = Self::origin(slf).guard(|| Ok(slf.get().core.dead())).or_raise(slf.py())?;
        DeadLettersBase::of(slf.py(), Self::origin(slf), made)
    }

    /// Puts the dead letters back into their queue, as new items, or the one with that `id`; returns how many:
    /// `queue.dead.replay()`.
    #[pyo3(signature = (id=None))]
    fn replay(slf: &Bound<'_, Self>, id: Option<Arg>) -> Answered {
        let id = id.map(|id| convert::text("id", id)).transpose()?;
        let it = slf.get();
        Self::origin(slf).run(slf.py(), || drive::replay(&it.core, id))
    }

    /// Deletes the dead letters that have been there for `older_than` seconds, 0 for all; returns how many:
    /// `queue.dead.purge(7 * 24 * 3600)`. Nothing else of the queue goes.
    fn purge(slf: &Bound<'_, Self>, older_than: Arg) -> Answered {
        let older_than = convert::duration("older_than", older_than)?;
        let core = zkrecipes::Backlog::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.purge(older_than).await })
    }

    /// Ends the waits in progress on this object with Cancelled, never later ones; and the loops over it, also one
    /// that works on an item at the moment, when that is done.
    fn cancel(slf: &Bound<'_, Self>) -> PyResult<()> {
        Self::origin(slf)
            .guard(|| {
                zkrecipes::Backlog::cancel(&slf.get().core);
                Ok(())
            })
            .or_raise(slf.py())
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let core = &slf.get().core;
        Ok(format!("<{} {}>", slf.get_type().name()?, core.path()))
    }
    // --- end of generated

    #[pyo3(name = "_claims")]
    pub fn claims(&self) -> Claims {
        Claims::of(&self.origin, &self.core)
    }

    /// The items of each of those who work at the same time.
    #[pyo3(name = "_workers", signature = (work, concurrency))]
    fn workers(&self, work: Arg, concurrency: Option<Arg>) -> PyResult<Vec<Claims>> {
        let py = work.py();
        callback::function("work", work, self.origin.face)?;
        let concurrency = convert::permits_or("concurrency", concurrency, 1)?;
        if concurrency == 0 {
            return Err(invalid(py, "concurrency", "is 0; give at least 1"));
        }
        if concurrency > MOST_WORKERS {
            return Err(invalid(py, "concurrency", "is more than 10000; each is a thread or a task"));
        }
        if self.origin.face == Face::Blocking {
            drive::check_may_wait().or_raise(py)?;
        }
        drive::check_open(&self.origin.session.client).or_raise(py)?;
        Ok((0..concurrency).map(|_| self.claims()).collect())
    }

    /// Works on items as they come, at most `concurrency` at once, until `cancel()`, until `stop` is set, or until the client is
    /// closed. With a `stop` that was set before, it takes no item.
    ///
    /// `work(item)` is called in this thread, or with a `concurrency` above 1 in so many threads. An item is done when
    /// it returns, unless it has settled the item; what it raises is logged, and the item is given back as by `nack`,
    /// with that as the reason. An item that is lost is not given back: others have it then.
    ///
    /// It returns when what was begun is done. Ctrl-C ends it, too: `work` in this thread is interrupted, and its item
    /// is given back as if nobody had failed; threads are waited for, unless it comes twice.
    #[pyo3(
        signature = (work, concurrency=None, *, stop=None),
        text_signature = "($self, work, concurrency=1, *, stop=None)"
    )]
    fn process(
        &self,
        py: Python<'_>,
        work: Arg,
        concurrency: Option<Arg>,
        stop: Option<Arg>,
    ) -> PyResult<()> {
        let workers = self.workers(work, concurrency)?;
        let run = py.import("zkrecipes._processing")?.getattr("run")?;
        let arguments = (workers, work, self.core.path(), stop).into_pyobject(py)?;
        call(&run, &arguments).map(drop)
    }
}

/// The base of a queue, with its way to put on top of `BacklogBase`, and the iteration of its blocking class.
macro_rules! queue {
    ($base:ident of $core:ty, $public:ident, $name:literal) => {
        #[doc = concat!("What `", stringify!($public), "` is on both faces.")]
        #[pyclass(frozen, subclass, extends = $crate::queue::BacklogBase, name = $name, module = "zkrecipes._native")]
        pub struct $base {
            core: $crate::owned::Owned<$core>,
        }

        impl $base {
            fn origin<'a>(slf: &'a Bound<'_, $base>) -> &'a $crate::client::Origin {
                $crate::queue::BacklogBase::origin(slf.as_super())
            }

            pub fn of(py: Python<'_>, origin: &$crate::client::Origin, core: $core) -> $crate::face::Answered {
                let (face, origin) = (origin.face, origin.clone());
                $base::hand_out(py, face, move || {
                    $crate::queue::BacklogBase::made(&origin, &core).add_subclass($base { core: core.into() })
                })
            }
        }

        $crate::face::two_faces!($base, $public);

        #[pymethods]
        impl $public {
            fn __iter__(slf: &Bound<'_, Self>) -> $crate::item::Claims {
                slf.as_super().as_super().get().claims()
            }
        }
    };
}
pub(crate) use queue;

queue!(DeadLettersBase of zkrecipes::DeadLetters, DeadLetters, "DeadLetters");

#[pymethods]
impl DeadLettersBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<DeadLettersBase> {
        seed.get().take()
    }

    #[doc = doc_of!(DeadLettersBase.items)]
    fn items(slf: &Bound<'_, Self>) -> Answered {
        let letters = slf.get().core.clone();
        Self::origin(slf).run(slf.py(), || async move { letters.items().await })
    }
}

#[doc = doc_of!(DeadLetters)]
#[pyclass(frozen, weakref, extends = DeadLettersBase, module = "zkrecipes")]
pub struct DeadLetters;
