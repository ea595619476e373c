//! Which process this is. A forked child is a new one: it has none of its parent's threads, and what its parent opened is
//! the parent's. So every object that has threads or a connection behind it remembers the process that made it, and
//! whatever belongs to the process as a whole is kept for each process anew.
//!
//! No lock of the parent's may be taken in the child: a thread that stayed with the parent may have had it at the fork, and
//! in the child nobody ever unlocks it. So nothing here locks.

use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};

use crate::error::{Error, ErrorKind, Result};

/// How many forks lie between this process and the one that loaded the library.
static FORKS: AtomicU32 = AtomicU32::new(0);
/// Whether forks are counted.
static IS_WATCHED: AtomicBool = AtomicBool::new(false);

/// A process: this one, or one that forked it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub struct Process(u32);

impl Default for Process {
    fn default() -> Self {
        Process::present()
    }
}

impl Process {
    /// This one.
    pub fn present() -> Process {
        if !IS_WATCHED.load(Ordering::Acquire) {
            // Two threads may both do it: forks count twice then, which does no harm, and nobody waits for anybody.
            // SAFETY: a plain function that lives as long as the library, which is never unmapped.
            #[cfg(unix)]
            unsafe {
                libc::pthread_atfork(None, None, Some(in_child))
            };
            IS_WATCHED.store(true, Ordering::Release);
        }
        Process(FORKS.load(Ordering::Relaxed))
    }

    /// Whether it is this one.
    pub fn is_present(self) -> bool {
        self == Process::present()
    }

    /// `Err(Forked)` if it is not: what it made is not ours to use.
    pub fn check(self) -> Result<()> {
        match self.is_present() {
            true => Ok(()),
            false => Err(Error::new(
                ErrorKind::Forked,
                "this belongs to the process that forked this one, and so do its threads and connections; \
                 connect a client in this process",
            )),
        }
    }
}

#[cfg(unix)]
unsafe extern "C" fn in_child() {
    FORKS.fetch_add(1, Ordering::Relaxed);
}

/// A value that a forked child leaves as it is: there it is not even dropped, as threads that stayed with the parent may have
/// its locks.
pub(crate) struct UnlessForked<T> {
    value: ManuallyDrop<T>,
    process: Process,
}

impl<T> UnlessForked<T> {
    pub(crate) fn new(value: T) -> UnlessForked<T> {
        UnlessForked { value: ManuallyDrop::new(value), process: Process::present() }
    }

    /// The process whose value it is.
    pub(crate) fn process(&self) -> Process {
        self.process
    }
}

impl<T: Default> Default for UnlessForked<T> {
    fn default() -> Self {
        UnlessForked::new(T::default())
    }
}

impl<T> Deref for UnlessForked<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T> DerefMut for UnlessForked<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T> Drop for UnlessForked<T> {
    fn drop(&mut self) {
        if self.process.is_present() {
            // SAFETY: dropped once, here, and not used afterwards.
            unsafe { ManuallyDrop::drop(&mut self.value) };
        }
    }
}

/// What every process has one of, made at its first use there. A forked child leaves its parent's as it is: it is not even
/// dropped, as the threads that use it are elsewhere.
pub struct PerProcess<T: 'static>(AtomicPtr<Made<T>>);

struct Made<T: 'static> {
    process: Process,
    value: T,
    /// What the parent had, so that it is not taken for a leak.
    _parents: AtomicPtr<Made<T>>,
}

impl<T: Default + Sync> PerProcess<T> {
    /// Nobody has used it yet.
    pub const fn new() -> PerProcess<T> {
        PerProcess(AtomicPtr::new(std::ptr::null_mut()))
    }

    /// The one of this process.
    pub fn of_this_process(&self) -> &'static T {
        let process = Process::present();
        loop {
            let found = self.0.load(Ordering::Acquire);
            // SAFETY: what was put there is never freed.
            if let Some(made) = unsafe { found.as_ref() }
                && made.process == process
            {
                return &made.value;
            }
            let made = Made { process, value: T::default(), _parents: AtomicPtr::new(found) };
            let made = Box::into_raw(Box::new(made));
            if self.0.compare_exchange(found, made, Ordering::AcqRel, Ordering::Acquire).is_err() {
                // SAFETY: nobody else has seen it: another thread was first.
                drop(unsafe { Box::from_raw(made) });
            }
        }
    }
}

impl<T: Default + Sync> Default for PerProcess<T> {
    fn default() -> Self {
        PerProcess::new()
    }
}

impl<T: Default + Sync> Deref for PerProcess<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.of_this_process()
    }
}

impl<T> std::fmt::Debug for PerProcess<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PerProcess")
    }
}
