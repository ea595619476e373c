//! Into Python from a thread of the library, and out of an interpreter that exits.
//!
//! Before 3.14, CPython ends a thread that wants the GIL while the interpreter finalizes by unwinding its stack. Rust's
//! frames do not survive that: their destructors use a thread state that is gone, and the process aborts. So no
//! thread of the library is to be inside Python when finalization begins. One that still is, in a slow callback, is parked.
//! Daemon threads that wait are not woken either: what they would do with the error, such as print it, aborts as well.

use std::hint::black_box;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, ThreadId};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyImportError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyTuple;
use zkrecipes::drive::PerProcess;

use crate::owned::drop_outside;

static ATTACHED: PerProcess<Attached> = PerProcess::new();

#[derive(Default)]
struct Attached {
    /// The thread that exits, once it does.
    exiting: OnceLock<ThreadId>,
    inside: AtomicUsize,
}

/// Runs `work` with the GIL on a thread of the library; `None` when the interpreter is on its way out.
pub fn from_library_thread<T>(work: impl FnOnce(Python<'_>) -> T) -> Option<T> {
    // Counted before the look at the flag, so that `await_the_others` sees whoever passed it.
    let attached = ATTACHED.of_this_process();
    attached.inside.fetch_add(1, Ordering::SeqCst);
    let inside = Inside(attached);
    let done = if attached.exiting.get().is_some() {
        // It may own an outcome, which else enters Python to be dropped.
        drop_outside(work);
        None
    } else {
        Python::try_attach(|py| parked_if_unwound(|| work(py)))
    };
    drop(inside);
    done
}

/// Sessions, threads and classes are the process's: the end of another interpreter would be theirs. Python 3.12 and later
/// refuse by themselves.
pub fn refuse_subinterpreters() -> PyResult<()> {
    // SAFETY: whoever imports is attached.
    match unsafe { ffi::PyInterpreterState_GetID(ffi::PyInterpreterState_Get()) } {
        0 => Ok(()),
        _ => Err(PyImportError::new_err(
            "module zkrecipes._native does not support loading in subinterpreters",
        )),
    }
}

struct Inside(&'static Attached);

impl Drop for Inside {
    fn drop(&mut self) {
        self.0.inside.fetch_sub(1, Ordering::SeqCst);
    }
}

/// From now on only this thread goes on.
pub fn begin_exit() {
    let _ = ATTACHED.exiting.set(thread::current().id());
}

/// Whether a thread exits the interpreter: those of the library may be caught in it by now.
pub fn is_exiting() -> bool {
    ATTACHED.exiting.get().is_some()
}

/// For threads that waited without the GIL: if another thread exits the interpreter, this one waits for the end.
pub fn park_if_exiting() {
    while ATTACHED.exiting.get().is_some_and(|exiting| *exiting != thread::current().id()) {
        thread::park();
    }
}

/// Waits until no thread of the library is inside Python.
pub fn await_the_others(py: Python<'_>, deadline: Instant) {
    py.detach(|| {
        while ATTACHED.inside.load(Ordering::SeqCst) > 0 && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
    });
}

/// Runs Python code below a Rust frame. If CPython unwinds this thread, it stops here for what is left of the process.
pub fn parked_if_unwound<T>(work: impl FnOnce() -> T) -> T {
    let guard = Park;
    let (mut work, mut done) = (Some(work), None);
    let mut run = || done = work.take().map(|work| work());
    let run: &mut dyn FnMut() = &mut run;
    // The optimizer must not see what this calls: to it no function of C unwinds, and so it would take the guard away.
    black_box(run)();
    std::mem::forget(guard);
    done.expect("it was run")
}

/// Calls what may run a user's code. Nobody below owns anything of Python's that would be dropped on the way: not even the
/// arguments.
pub fn call<'py>(
    function: &Bound<'py, PyAny>,
    arguments: &Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyAny>> {
    parked_if_unwound(|| function.call1(arguments))
}

/// Reports what nobody can be raised to, by whatever the user put there.
pub fn report(py: Python<'_>, failure: PyErr, about: Option<&Bound<'_, PyAny>>) {
    parked_if_unwound(|| failure.write_unraisable(py, about));
}

struct Park;

impl Drop for Park {
    fn drop(&mut self) {
        // A panic is ours and may pass; anything else that unwinds is the end of the thread.
        while !thread::panicking() {
            thread::park();
        }
    }
}
