//! Generated from api/group.toml by api/generate; do not edit.

use pyo3::prelude::*;
use zkrecipes::drive;

use crate::convert;
use crate::face::{Answered, Arg, Fresh, Seed, recipe};
use crate::feed::FeedBase;
use crate::waiting::Waiting;

recipe!(GroupBase of Waiting<zkrecipes::Group>, Group, "Group");

#[pymethods]
impl GroupBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<GroupBase> {
        seed.get().take()
    }

    /// Where the group is.
    #[getter]
    fn path(&self) -> &str {
        self.core.path()
    }

    /// Becomes a member, and stays one over all sessions of the client until it leaves or the client is closed.
    /// Exists: this object has joined already, or another member has that name.
    #[pyo3(signature = (name, data=None), text_signature = "($self, name, data=b'')")]
    fn join(slf: &Bound<'_, Self>, name: Arg, data: Option<Arg>) -> Answered {
        let name = convert::text("name", name)?;
        let data = convert::payload_or_empty(data)?;
        let it = slf.get();
        Self::origin(slf).run(slf.py(), || drive::join(&it.core, &name, &data))
    }

    /// Ends the membership. NotHeld: there is none. ConnectionLost: unconfirmed, and it goes on in the background.
    fn leave(slf: &Bound<'_, Self>) -> Answered {
        let core = zkrecipes::Group::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.leave().await })
    }

    /// Replaces what this member says of itself. NotHeld: it has not joined. ConnectionLost: not yet, and it goes
    /// on in the background.
    fn update(slf: &Bound<'_, Self>, data: Arg) -> Answered {
        let data = convert::payload("data", data)?;
        let core = zkrecipes::Group::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.update(&data).await })
    }

    /// The members by name, and what they say of themselves. One that may not be read is left out: `client.skipped`
    /// names it.
    fn members(slf: &Bound<'_, Self>) -> Answered {
        let core = zkrecipes::Group::clone(&slf.get().core);
        Self::origin(slf).run(slf.py(), || async move { core.members().await })
    }

    /// Waits until there are at least `n` members, whoever they are, and returns them as `members` does; Timeout
    /// after `timeout` seconds.
    #[pyo3(signature = (n, timeout=None))]
    fn wait_for(slf: &Bound<'_, Self>, n: Arg, timeout: Option<Arg>) -> Answered {
        let n = convert::permits("n", n)?;
        let timeout = convert::limit("timeout", timeout)?;
        let core = zkrecipes::Group::clone(&slf.get().core);
        Self::origin(slf)
            .run(slf.py(), || slf.get().core.heed(async move { core.wait_for(n, timeout).await }))
    }

    /// All members at first, then who joins, who leaves and whose data changes: Snapshot, Joined, Left and Changed.
    /// After a gap, what differs is told. One that may not be read is left out: `client.skipped` names it.
    fn watch(slf: &Bound<'_, Self>) -> Answered {
        FeedBase::follow(slf.py(), Self::origin(slf), || Ok(slf.get().core.watch()))
    }

    /// Ends the waits in progress on this object with Cancelled, never later ones.
    fn cancel(slf: &Bound<'_, Self>) -> PyResult<()> {
        slf.get().core.cancel(Self::origin(slf), slf.py())
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        let core = &slf.get().core;
        Ok(format!("<{} {}>", slf.get_type().name()?, core.path()))
    }
}

/// A group of members that know each other by name; this object can be one of them. Made by
/// `client.group(path)`.
///
/// >>> import zkrecipes
/// >>> client = zkrecipes.Client("embedded:/group-doc")
/// >>> workers = client.group("/workers")
/// >>> workers.join("worker-1", "idle")
/// >>> workers.members()
/// {'worker-1': b'idle'}
/// >>> with workers.watch() as feed:
/// ...     print(next(feed))
/// ...     workers.update("busy")
/// ...     print(next(feed))
/// Snapshot(members={'worker-1': b'idle'})
/// Changed(name='worker-1', data=b'busy')
/// >>> workers.leave()
/// >>> client.close()
#[pyclass(frozen, weakref, extends = GroupBase, module = "zkrecipes")]
pub struct Group;
