//! `ReadWriteLock`: two locks that know each other.

use pyo3::prelude::*;

use crate::client::Origin;
use crate::face::{Answered, Fresh, Seed, two_faces};
use crate::handle::HandleBase;
use crate::lock::LockBase;
use crate::owned::Owned;

/// What both read/write locks share.
#[pyclass(frozen, subclass, weakref, name = "ReadWriteLock", module = "zkrecipes._native")]
pub struct ReadWriteLockBase {
    path: String,
    // Objects rather than the core's locks, so that a side is the same one each time it is asked for.
    read: Owned<Py<PyAny>>,
    write: Owned<Py<PyAny>>,
}

impl ReadWriteLockBase {
    pub fn of(py: Python<'_>, origin: &Origin, lock: zkrecipes::ReadWriteLock) -> Answered {
        let path = lock.path().to_owned();
        let read = LockBase::of(py, origin, lock.read().clone())?;
        let write = LockBase::of(py, origin, lock.write().clone())?;
        let readers = read.bind(py).cast::<HandleBase>()?.get().common.clone();
        // Nobody else has it yet.
        let _ = write.bind(py).cast::<HandleBase>()?.get().common.readers.set(readers);
        ReadWriteLockBase::hand_out(py, origin.face, || {
            ReadWriteLockBase { path, read: read.into(), write: write.into() }.into()
        })
    }
}

two_faces!(ReadWriteLockBase, ReadWriteLock);

#[pymethods]
impl ReadWriteLockBase {
    #[new]
    fn py_new(seed: &Bound<'_, Seed>) -> Fresh<ReadWriteLockBase> {
        seed.get().take()
    }

    /// The shared side, a Lock.
    #[getter]
    fn read(&self, py: Python<'_>) -> Py<PyAny> {
        self.read.clone_ref(py)
    }

    /// The exclusive side, a Lock.
    #[getter]
    fn write(&self, py: Python<'_>) -> Py<PyAny> {
        self.write.clone_ref(py)
    }

    /// The path that is locked.
    #[getter]
    fn path(&self) -> &str {
        &self.path
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        Ok(format!("<{} {}>", slf.get_type().name()?, slf.get().path))
    }
}

/// Readers share, writers exclude everybody, in the order of arrival. Made by `client.read_write_lock(path)`.
///
/// Each side is a `Lock`. What `write` acquired can be downgraded, from writing to reading: nobody writes in between. There
/// is no way back but to release `read` first: who asks for `write` with `read` in hand waits for itself.
///
/// >>> import zkrecipes
/// >>> client = zkrecipes.Client("embedded:/read-write-lock-doc")
/// >>> catalogue = client.read_write_lock("/locks/catalogue")
/// >>> with catalogue.read, client.read_write_lock("/locks/catalogue").read as other:
/// ...     print(other.is_held, catalogue.path)
/// True /locks/catalogue
/// >>> with catalogue.write as writing:
/// ...     reading = writing.downgrade()
/// >>> reading.is_held, reading.fencing_token == writing.fencing_token
/// (True, True)
/// >>> reading.release()
/// >>> client.close()
#[pyclass(frozen, weakref, extends = ReadWriteLockBase, module = "zkrecipes")]
pub struct ReadWriteLock;
