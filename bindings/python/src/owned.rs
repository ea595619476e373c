//! What a Python object owns.
//!
//! Python destroys an object wherever its last reference goes, also while an exception is on its way: the arguments of a
//! call that failed, the locals of a frame that raised. What runs in Python then (a warning, a callable that is dropped)
//! has to find no exception set, and to leave the one that was: else the interpreter crashes, or the user's error is lost.
//! So every field of a class whose drop does anything is `Owned`; no class takes care of it by itself.

use std::cell::Cell;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr;

use pyo3::ffi;
use pyo3::prelude::*;

pub struct Owned<T>(ManuallyDrop<T>);

thread_local! {
    static IS_OUTSIDE: Cell<bool> = const { Cell::new(false) };
}

/// Drops what may own something, on a thread of the library that must not enter Python any more: see `attach`.
pub fn drop_outside(what: impl Sized) {
    IS_OUTSIDE.set(true);
    drop(what);
    IS_OUTSIDE.set(false);
}

impl<T> From<T> for Owned<T> {
    fn from(value: T) -> Owned<T> {
        Owned(ManuallyDrop::new(value))
    }
}

impl<T: Default> Default for Owned<T> {
    fn default() -> Owned<T> {
        T::default().into()
    }
}

impl<T> Deref for Owned<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T> Drop for Owned<T> {
    fn drop(&mut self) {
        if IS_OUTSIDE.try_with(Cell::get).unwrap_or(false) {
            // SAFETY: this is its only drop, and nothing uses it afterwards.
            return unsafe { ManuallyDrop::drop(&mut self.0) };
        }
        // An object is destroyed inside Python; without an interpreter there is no exception to keep.
        Python::try_attach(|py| {
            let _pending = Pending::put_aside(py);
            // SAFETY: this is its only drop, and nothing uses it afterwards.
            unsafe { ManuallyDrop::drop(&mut self.0) };
        })
        // SAFETY: as above; nothing ran above.
        .unwrap_or_else(|| unsafe { ManuallyDrop::drop(&mut self.0) });
    }
}

/// The exception that was on its way, put back when this is dropped. Not a `PyErr`: to take one of those is to make it an
/// object, which runs Python code, and to panic if it was a panic.
struct Pending<'py> {
    raised: [*mut ffi::PyObject; 3],
    _py: Python<'py>,
}

impl<'py> Pending<'py> {
    #[allow(deprecated, reason = "what replaced it is not in the oldest Python that we support")]
    fn put_aside(py: Python<'py>) -> Pending<'py> {
        let mut raised = [ptr::null_mut(); 3];
        let [kind, value, traceback] = &mut raised;
        // SAFETY: we are attached, and own what is fetched.
        unsafe { ffi::PyErr_Fetch(kind, value, traceback) };
        Pending { raised, _py: py }
    }
}

impl Drop for Pending<'_> {
    #[allow(deprecated, reason = "what replaced it is not in the oldest Python that we support")]
    fn drop(&mut self) {
        let [kind, value, traceback] = self.raised;
        // SAFETY: as above; what we own is given back.
        unsafe { ffi::PyErr_Restore(kind, value, traceback) };
    }
}
