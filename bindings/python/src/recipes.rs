//! What a client makes: a factory per recipe. Factories do no I/O, and refuse bad arguments at once.

use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use zkrecipes::{Result, drive};

use crate::client::{Origin, SessionBase};
use crate::convert;
use crate::errors::{OrRaise, guard};
use crate::face::{Answered, Arg, Face};
use crate::generated::NodesBase;
use crate::generated::docs::doc_of;
use crate::lock::LockBase;
use crate::multi_lock::MultiLockBase;
use crate::read_write_lock::ReadWriteLockBase;

#[doc = doc_of!(ClientBase)]
#[pyclass(frozen, subclass, weakref, extends = SessionBase, name = "Client", module = "zkrecipes._native")]
pub struct ClientBase;

/// Makes the core's recipe of this path, and an object of the face from it.
fn make<T>(
    slf: &Bound<'_, ClientBase>,
    path: Arg,
    core: impl FnOnce(&zkrecipes::Client, &str) -> Result<T>,
    object: impl FnOnce(Python<'_>, &Origin, T) -> Answered,
) -> Answered {
    let path = convert::text("path", path)?;
    let origin = slf.as_super().get().origin(slf.py())?;
    let recipe = guard(|| core(&origin.session.client, &path)).or_raise(slf.py())?;
    object(slf.py(), &origin, recipe)
}

#[pymethods]
impl ClientBase {
    #[new]
    #[pyo3(signature = (*_args, **_options))]
    fn py_new(
        _args: &Bound<'_, PyTuple>,
        _options: Option<&Bound<'_, PyDict>>,
    ) -> PyClassInitializer<ClientBase> {
        PyClassInitializer::from(SessionBase::new(Face::Asyncio)).add_subclass(ClientBase)
    }

    #[pyo3(signature = (hosts=None, **options))]
    fn __init__(
        slf: &Bound<'_, Self>,
        hosts: Option<Arg>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<()> {
        slf.as_super().get().prepare(hosts, options, slf.py())
    }

    /// Refuses what a lock and its `hold` would, also before the client has connected.
    #[staticmethod]
    #[pyo3(name = "_check_lock")]
    fn check_lock(path: Arg, timeout: Option<Arg>) -> PyResult<()> {
        convert::limit("timeout", timeout)?;
        let text = convert::text("path", path)?;
        drive::check_path(&text).or_raise(path.py())
    }

    #[doc = doc_of!(ClientBase.read_write_lock)]
    fn read_write_lock(slf: &Bound<'_, Self>, path: Arg) -> Answered {
        make(slf, path, |client, path| client.read_write_lock(path), ReadWriteLockBase::of)
    }

    #[doc = doc_of!(ClientBase.multi_lock)]
    fn multi_lock(slf: &Bound<'_, Self>, locks: Arg) -> Answered {
        let locks = convert::each("locks", "a list of locks", locks, |lock| {
            lock.cast::<LockBase>().ok().map(|lock| lock.get().core.clone())
        })?;
        let origin = slf.as_super().get().origin(slf.py())?;
        let lock = guard(|| origin.session.client.multi_lock(&locks)).or_raise(slf.py())?;
        MultiLockBase::of(slf.py(), &origin, lock)
    }

    // --- generated from api: factories of Python

    /// A barrier at `path`: while it is up, everybody who comes to it waits.
    fn barrier(slf: &Bound<'_, Self>, path: Arg) -> Answered {
        make(
            slf,
            path,
            |client, path| client.barrier(path).map(Into::into),
            crate::generated::BarrierBase::of,
        )
    }

    /// A value at `path` that many follow.
    fn config(slf: &Bound<'_, Self>, path: Arg) -> Answered {
        make(slf, path, |client, path| client.config(path), crate::generated::ConfigBase::of)
    }

    /// A number at `path` that many count on. `layout` says which of Curator's counters takes part: "atomic" (64
    /// bits) or "shared" (32 bits).
    #[pyo3(signature = (path, **options), text_signature = "($self, path, *, layout='atomic')")]
    fn counter(slf: &Bound<'_, Self>, path: Arg, options: Option<&Bound<'_, PyDict>>) -> Answered {
        let options = crate::generated::options::counter(options)?;
        make(slf, path, |client, path| client.counter(path, options), crate::generated::CounterBase::of)
    }

    /// A queue on `path` whose items are put with a delay. The options are those of `queue`; there is one layout,
    /// and one shard.
    #[pyo3(signature = (path, **options), text_signature = "($self, path, *, max_items=None, ephemeral=False, shards=1, max_attempts=None, layout='simple', key_window=600)")]
    fn delay_queue(slf: &Bound<'_, Self>, path: Arg, options: Option<&Bound<'_, PyDict>>) -> Answered {
        let options = crate::generated::options::queue(options)?;
        make(
            slf,
            path,
            |client, path| client.delay_queue(path, options),
            crate::generated::DelayQueueBase::of,
        )
    }

    /// The services below `path`, in Curator's format.
    fn discovery(slf: &Bound<'_, Self>, path: Arg) -> Answered {
        make(slf, path, |client, path| client.discovery(path), crate::generated::DiscoveryBase::of)
    }

    /// A barrier at `path` that `parties` enter and leave together, any number of rounds. `name` is what the others
    /// see of this one; the client's identity by default.
    #[pyo3(signature = (path, parties, name=None))]
    fn double_barrier(slf: &Bound<'_, Self>, path: Arg, parties: Arg, name: Option<Arg>) -> Answered {
        let parties = convert::permits("parties", parties)?;
        let name = name.map(|name| convert::text("name", name)).transpose()?;
        make(
            slf,
            path,
            |client, path| client.double_barrier(path, parties, name.as_deref()).map(Into::into),
            crate::generated::DoubleBarrierBase::of,
        )
    }

    /// The election of a leader at `path`, for a candidate that says `data` to whoever asks for the leader.
    /// `layout` says which of Curator's elections takes part: "latch" or "selector". Who has the highest `priority`
    /// is to lead; a leader of whom somebody wants the leadership may work on for `drain` seconds in `run`.
    #[pyo3(signature = (path, data=None, **options), text_signature = "($self, path, data=b'', *, layout='latch', priority=0, drain=1)")]
    fn election(
        slf: &Bound<'_, Self>,
        path: Arg,
        data: Option<Arg>,
        options: Option<&Bound<'_, PyDict>>,
    ) -> Answered {
        let data = convert::payload_or_empty(data)?;
        let options = crate::generated::options::election(options)?;
        make(
            slf,
            path,
            |client, path| client.election(path, &data, options),
            crate::election::ElectionBase::of,
        )
    }

    /// A group of members at `path`. `layout` says whose members take part: "member" (Curator's), "party" or
    /// "shallow_party" (kazoo's, without room for data); by default as the client's `naming`. With `replace`,
    /// `join` takes its name at once from a member that has it, such as the one that this process was before it
    /// crashed.
    #[pyo3(signature = (path, **options), text_signature = "($self, path, *, layout=None, replace=False)")]
    fn group(slf: &Bound<'_, Self>, path: Arg, options: Option<&Bound<'_, PyDict>>) -> Answered {
        let options = crate::generated::options::group(options)?;
        make(
            slf,
            path,
            |client, path| client.group(path, options).map(Into::into),
            crate::generated::GroupBase::of,
        )
    }

    /// Closed until it was counted down `count` times. Who counts first decides: a latch that is there keeps what
    /// is left of it.
    fn latch(slf: &Bound<'_, Self>, path: Arg, count: Arg) -> Answered {
        let count = convert::permits("count", count)?;
        make(
            slf,
            path,
            |client, path| client.latch(path, count).map(Into::into),
            crate::generated::LatchBase::of,
        )
    }

    /// A mutual exclusion on `path`, first come, first served.
    ///
    /// A `reentrant` handle is the owner: who uses it is inside together, and nested acquisitions count. With
    /// `local_handoff`, those who wait in this client share one node, and pass the turn on in memory at most so
    /// many times before others get theirs; see `held.passes`.
    #[pyo3(signature = (path, **options), text_signature = "($self, path, *, reentrant=False, local_handoff=0)")]
    fn lock(slf: &Bound<'_, Self>, path: Arg, options: Option<&Bound<'_, PyDict>>) -> Answered {
        let options = crate::generated::options::lock(options)?;
        make(slf, path, |client, path| client.lock(path, options), crate::lock::LockBase::of)
    }

    /// Names below `path`, and what they stand for.
    fn names(slf: &Bound<'_, Self>, path: Arg) -> Answered {
        make(slf, path, |client, path| client.names(path), crate::generated::NamesBase::of)
    }

    /// A member of those who share partitions at `path`. `partitions` are their names, or how many, which names
    /// them "0", "1" and so on; all members have to name the same. `weight` is how much this one is to have beside
    /// the others, `name` what it is called: one like no other by default. What is to move may be worked on for
    /// `drain` seconds.
    #[pyo3(signature = (path, partitions, **options), text_signature = "($self, path, partitions, *, weight=1, name=None, drain=30)")]
    fn partitioner(
        slf: &Bound<'_, Self>,
        path: Arg,
        partitions: Arg,
        options: Option<&Bound<'_, PyDict>>,
    ) -> Answered {
        let partitions = convert::partitions("partitions", partitions)?;
        let options = crate::generated::options::partitioner(options)?;
        make(
            slf,
            path,
            |client, path| client.partitioner(path, partitions, options).map(Into::into),
            crate::generated::PartitionerBase::of,
        )
    }

    /// A queue on `path` whose items have priorities. The options are those of `queue`; there is one layout, and
    /// one shard.
    #[pyo3(signature = (path, **options), text_signature = "($self, path, *, max_items=None, ephemeral=False, shards=1, max_attempts=None, layout='simple', key_window=600)")]
    fn priority_queue(slf: &Bound<'_, Self>, path: Arg, options: Option<&Bound<'_, PyDict>>) -> Answered {
        let options = crate::generated::options::queue(options)?;
        make(
            slf,
            path,
            |client, path| client.priority_queue(path, options),
            crate::generated::PriorityQueueBase::of,
        )
    }

    /// A queue on `path`. `max_items`: whoever puts waits while there are so many. `ephemeral`: items go with the
    /// session of who put them. `shards`: over how many nodes they are spread, with an order within each only.
    /// `max_attempts`: an item that was claimed so often in vain goes to the dead letters. `key_window`: for how
    /// many seconds the `key` of a put counts. `layout` says whose queue takes part: "simple" or "distributed"
    /// (Curator's), or "locking" (kazoo's).
    #[pyo3(signature = (path, **options), text_signature = "($self, path, *, max_items=None, ephemeral=False, shards=1, max_attempts=None, layout='simple', key_window=600)")]
    fn queue(slf: &Bound<'_, Self>, path: Arg, options: Option<&Bound<'_, PyDict>>) -> Answered {
        let options = crate::generated::options::queue(options)?;
        make(slf, path, |client, path| client.queue(path, options), crate::generated::QueueBase::of)
    }

    /// At most `permits` at once on `path`. All who use the path have to name the same number, or get Mismatch.
    fn semaphore(slf: &Bound<'_, Self>, path: Arg, permits: Arg) -> Answered {
        let permits = convert::permits("permits", permits)?;
        make(slf, path, |client, path| client.semaphore(path, permits), crate::semaphore::SemaphoreBase::of)
    }

    /// Transactions at `path` that all sites commit, or none. `mode` says who decides those that begin here:
    /// "coordinator", which waits for the votes, or "peer", the site whose vote is the last.
    #[pyo3(signature = (path, mode=None), text_signature = "($self, path, mode='coordinator')")]
    fn two_phase_commit(slf: &Bound<'_, Self>, path: Arg, mode: Option<Arg>) -> Answered {
        let mode = convert::word_or("mode", mode)?;
        make(
            slf,
            path,
            |client, path| client.two_phase_commit(path, mode).map(Into::into),
            crate::generated::TwoPhaseCommitBase::of,
        )
    }
    // --- end of generated

    #[doc = doc_of!(ClientBase.check_sequencer)]
    fn check_sequencer(slf: &Bound<'_, Self>, sequencer: Arg) -> Answered {
        let sequencer = convert::text("sequencer", sequencer)?;
        let Origin { face, session } = slf.as_super().get().origin(slf.py())?;
        face.run(slf.py(), || async move { session.client.check_sequencer(&sequencer).await })
    }

    #[doc = doc_of!(ClientBase.watch_sequencer)]
    #[pyo3(signature = (sequencer, timeout=None))]
    fn watch_sequencer(slf: &Bound<'_, Self>, sequencer: Arg, timeout: Option<Arg>) -> Answered {
        let sequencer = convert::text("sequencer", sequencer)?;
        let limit = convert::limit("timeout", timeout)?;
        let Origin { face, session } = slf.as_super().get().origin(slf.py())?;
        let client = session.client.clone();
        face.run(slf.py(), || async move { drive::watch_sequencer(&client, &sequencer, limit).await })
    }

    #[doc = doc_of!(ClientBase.whoami)]
    fn whoami(slf: &Bound<'_, Self>) -> Answered {
        let Origin { face, session } = slf.as_super().get().origin(slf.py())?;
        face.run(slf.py(), || async move { session.client.whoami().await })
    }

    #[doc = doc_of!(ClientBase.nodes)]
    #[getter]
    fn nodes(slf: &Bound<'_, Self>) -> Answered {
        let origin = slf.as_super().get().origin(slf.py())?;
        NodesBase::of(slf.py(), &origin, origin.session.client.nodes())
    }
}
