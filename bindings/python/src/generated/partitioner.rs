//! Generated from api/partitioner.toml by api/generate; do not edit.

use pyo3::prelude::*;
use zkrecipes::drive;

use crate::client::Origin;
use crate::face::{Answered, Arg, Fresh, Seed, recipe};
use crate::feed::FeedBase;
use crate::waiting::Waiting;
use crate::{convert, held};

recipe!(PartitionerBase of Waiting<zkrecipes::Partitioner>, Partitioner, "Partitioner");

#[pymethods]
impl PartitionerBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<PartitionerBase> {
        seed.get().take()
    }

    /// Where the partitions are shared.
    #[getter]
    fn path(&self) -> &str {
        self.core.path()
    }

    /// What this member is called.
    #[getter]
    fn name(&self) -> &str {
        self.core.name()
    }

    /// Waits for the next partition that this member wins, a Held with the partition's `name`; the first call makes
    /// it a member. Timeout after `timeout` seconds. It is the caller's until it is released or lost. `on_revoke`
    /// tells that it is to move: finish, then release. After `drain` seconds it is lost. What was released unasked
    /// comes again, after a pause. Mismatch: the others share other partitions. Cancelled: this member leaves
    /// meanwhile.
    #[pyo3(signature = (timeout=None))]
    fn next(slf: &Bound<'_, Self>, timeout: Option<Arg>) -> Answered {
        let timeout = convert::limit("timeout", timeout)?;
        let it = slf.get();
        let origin = Origin::clone(Self::origin(slf));
        Self::origin(slf).run_to(
            slf.py(),
            || slf.get().core.heed(drive::next_partition(&it.core, timeout)),
            move |py, answer| held::partition(py, origin, answer),
        )
    }

    /// Takes part no more: what it has is asked for, and taken from it after the time for draining. Returns when
    /// all is let go of. NotHeld: it is no member.
    fn leave(slf: &Bound<'_, Self>) -> Answered {
        let core = zkrecipes::Partitioner::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.leave().await })
    }

    /// Who has which partition now, no older than this call: the identity of its owner, None where nobody has it.
    fn owners(slf: &Bound<'_, Self>) -> Answered {
        let core = zkrecipes::Partitioner::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.owners().await })
    }

    /// Who has which partition, now and whenever one has another owner: always the latest, as `owners()` does. A
    /// change costs one or two requests, however many partitions there are.
    fn watch(slf: &Bound<'_, Self>) -> Answered {
        FeedBase::follow(slf.py(), Self::origin(slf), || Ok(slf.get().core.watch()))
    }

    /// Who shares the partitions now, no older than this call: by name, with their weights.
    fn members(slf: &Bound<'_, Self>) -> Answered {
        let core = zkrecipes::Partitioner::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.members().await })
    }

    /// Ends the waits in progress on this object with Cancelled, never later ones; and the loops over it, also
    /// while the body of one runs, and `run`, which then leaves.
    fn cancel(slf: &Bound<'_, Self>) -> PyResult<()> {
        slf.get().core.cancel(Self::origin(slf), slf.py())
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let core = &slf.get().core;
        Ok(format!("<{} {}>", slf.get_type().name()?, core.path()))
    }
}

/// Partitions shared among the members who are there. Made by `client.partitioner(path, partitions)`.
///
/// Each partition is a turn of its own: two members never have one at the same time, and its tokens rise. Who
/// comes or goes moves only what has to move.
///
/// >>> import zkrecipes
/// >>> client = zkrecipes.Client("embedded:/partitioner-doc")
/// >>> imports = client.partitioner("/partitions/imports", ["eu", "us"], name="worker-1")
/// >>> won = [imports.next(timeout=10) for _ in range(2)]
/// >>> sorted(partition.name for partition in won)
/// ['eu', 'us']
/// >>> imports.members()
/// {'worker-1': 1}
/// >>> imports.leave()
/// >>> client.close()
///
/// `for partition in imports:` gives one partition after the other as they are won, until it leaves;
/// `imports.run(work)` works on all of them at the same time.
#[pyclass(frozen, weakref, extends = PartitionerBase, module = "zkrecipes")]
pub struct Partitioner;
