//! `ReadWriteLock`: two locks that know each other.

use pyo3::prelude::*;

use crate::client::Origin;
use crate::face::{Answered, Fresh, Seed, two_faces};
use crate::generated::docs::doc_of;
use crate::handle::HandleBase;
use crate::lock::LockBase;
use crate::owned::Owned;

#[doc = doc_of!(ReadWriteLockBase)]
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

    #[doc = doc_of!(ReadWriteLockBase.read)]
    #[getter]
    fn read(&self, py: Python<'_>) -> Py<PyAny> {
        self.read.clone_ref(py)
    }

    #[doc = doc_of!(ReadWriteLockBase.write)]
    #[getter]
    fn write(&self, py: Python<'_>) -> Py<PyAny> {
        self.write.clone_ref(py)
    }

    #[doc = doc_of!(ReadWriteLockBase.path)]
    #[getter]
    fn path(&self) -> &str {
        &self.path
    }

    fn __repr__(slf: &Bound<'_, Self>) -> PyResult<String> {
        Ok(format!("<{} {}>", slf.get_type().name()?, slf.get().path))
    }
}

#[doc = doc_of!(ReadWriteLock)]
#[pyclass(frozen, weakref, extends = ReadWriteLockBase, module = "zkrecipes")]
pub struct ReadWriteLock;
