//! `Group`: members that know each other by name.

use pyo3::prelude::*;
use zkrecipes::drive;

use crate::convert::{payload, payload_or_empty, text};
use crate::face::{Answered, Arg, Fresh, Seed, recipe};
use crate::feed::FeedBase;

recipe!(GroupBase of zkrecipes::Group, Group, "Group");

#[pymethods]
impl GroupBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<GroupBase> {
        seed.get().take()
    }

    /// Becomes a member, and stays one over all sessions of the client until it leaves or the client
    /// is closed. Exists: this object has joined already, or another member has that name.
    #[pyo3(signature = (name, data=None), text_signature = "($self, name, data=b'')")]
    fn join(&self, py: Python<'_>, name: Arg, data: Option<Arg>) -> Answered {
        let (name, data) = (text("name", name)?, payload_or_empty(data)?);
        self.origin.run(py, || drive::join(&self.core, &name, &data))
    }

    /// Ends the membership. NotHeld: there is none. ConnectionLost: unconfirmed, and it goes on in the background.
    fn leave(&self, py: Python<'_>) -> Answered {
        let group = self.core.clone();
        self.origin.run(py, || async move { group.leave().await })
    }

    /// Replaces what this member says of itself. NotHeld: it has not joined. ConnectionLost: not yet, and it goes on in the
    /// background.
    fn update(&self, py: Python<'_>, data: Arg) -> Answered {
        let (data, group) = (payload("data", data)?, self.core.clone());
        self.origin.run(py, || async move { group.update(&data).await })
    }

    /// The members by name, and what they say of themselves.
    fn members(&self, py: Python<'_>) -> Answered {
        let group = self.core.clone();
        self.origin.run(py, || async move { group.members().await })
    }

    /// All members at first, then who joins, who leaves and whose data changes: Snapshot, Joined, Left and Changed. After a
    /// gap, what differs is told.
    fn watch(&self, py: Python<'_>) -> Answered {
        FeedBase::follow(py, &self.origin, || Ok(self.core.watch()))
    }

    /// Where the group is.
    #[getter]
    fn path(&self) -> &str {
        self.core.path()
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        Ok(format!("<{} {}>", slf.get_type().name()?, slf.get().core.path()))
    }
}

/// A group of members that know each other by name; this object can be one of them. Made by `client.group(path)`.
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
