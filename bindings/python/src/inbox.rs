//! Outcomes on their way to an event loop. They wait here until its own thread takes them; one byte wakes it. So no thread of
//! the library has to enter Python for them, nor the loop to wait until it has left.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use pyo3::prelude::*;
use pyo3::types::PyTuple;
use zkrecipes::drive;

use self::wakeup::Wakeup;
use crate::attach::{call, report};
use crate::face::{Outcome, hand_over};
use crate::generated::docs::doc_of;
use crate::owned::Owned;

/// A loop that has not taken an outcome by then is busy, or has closed. The outcome goes the way that tells which.
const LATE: Duration = Duration::from_millis(100);

/// What comes out of the function that is called for an outcome is raised by the handler of a signal, where Python begins to run. So
/// often that comes again.
const MOST_TRIES: usize = 100;

#[doc = doc_of!(Inbox)]
#[pyclass(frozen, module = "zkrecipes._native")]
pub struct Inbox(Owned<Arc<Shared>>);

pub struct Shared {
    letters: Mutex<Letters>,
    wakeup: Wakeup,
}

#[derive(Default)]
struct Letters {
    waiting: VecDeque<Letter>,
    /// Somebody looks for late ones.
    is_watched: bool,
}

struct Letter {
    address: Address,
    since: Instant,
}

/// Where the outcome of one call goes.
pub struct Address {
    /// To be called by the loop.
    pub arrive: Py<PyAny>,
    /// To be called on any thread: it is raised RuntimeError if the loop has closed.
    pub deliver: Py<PyAny>,
    pub slot: Arc<Slot>,
}

/// How far one call has come.
#[derive(Default)]
pub struct Slot(Mutex<Stage>);

#[derive(Default)]
enum Stage {
    #[default]
    UnderWay,
    /// Nobody waits for it any more.
    Withdrawn,
    Arrived(Outcome),
    Taken,
}

impl Slot {
    fn lock(&self) -> MutexGuard<'_, Stage> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn take(&self) -> Option<Outcome> {
        let mut stage = self.lock();
        match mem::replace(&mut *stage, Stage::Taken) {
            Stage::Arrived(outcome) => Some(outcome),
            other => {
                *stage = other;
                None
            }
        }
    }

    /// Nobody waits for the call any more. What has arrived and was not taken is the answer, to be dropped.
    pub fn withdraw(&self) -> Option<Outcome> {
        let mut stage = self.lock();
        if let Stage::UnderWay = *stage {
            *stage = Stage::Withdrawn;
        }
        drop(stage);
        self.take()
    }
}

impl Shared {
    fn letters(&self) -> MutexGuard<'_, Letters> {
        self.letters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Without Python.
    pub fn post(self: &Arc<Shared>, address: Address, outcome: Outcome) {
        let mut stage = address.slot.lock();
        if let Stage::Withdrawn = *stage {
            drop(stage);
            return drive::in_order(move || hand_over(&address.deliver, || outcome));
        }
        *stage = Stage::Arrived(outcome);
        drop(stage);
        let mut letters = self.letters();
        letters.waiting.push_back(Letter { address, since: Instant::now() });
        let is_first = letters.waiting.len() == 1;
        let was_watched = mem::replace(&mut letters.is_watched, true);
        drop(letters);
        if is_first {
            self.wakeup.wake();
        }
        if !was_watched {
            self.watch();
        }
    }

    fn watch(self: &Arc<Shared>) {
        let shared = self.clone();
        drive::after(LATE, move || shared.see_to_late_ones());
    }

    fn see_to_late_ones(self: Arc<Shared>) {
        let mut letters = self.letters();
        let is_late = |letter: &Letter| letter.since.elapsed() >= LATE;
        let late = letters.waiting.iter().take_while(|letter| is_late(letter)).count();
        let late: Vec<_> = letters.waiting.drain(..late).collect();
        letters.is_watched = !letters.waiting.is_empty();
        let is_watched = letters.is_watched;
        drop(letters);
        for Letter { address, .. } in late {
            drive::in_order(move || {
                if let Some(outcome) = address.slot.take() {
                    hand_over(&address.deliver, || outcome);
                }
            });
        }
        if is_watched {
            self.watch();
        }
    }
}

impl Inbox {
    pub fn shared(&self) -> Arc<Shared> {
        (*self.0).clone()
    }
}

#[pymethods]
impl Inbox {
    #[new]
    fn new() -> PyResult<Inbox> {
        let shared = Shared { letters: Mutex::default(), wakeup: Wakeup::new()? };
        Ok(Inbox(Arc::new(shared).into()))
    }

    #[doc = doc_of!(Inbox.fileno)]
    fn fileno(&self) -> i32 {
        self.0.wakeup.descriptor()
    }

    #[doc = doc_of!(Inbox.deliver)]
    fn deliver(&self, py: Python<'_>) -> PyResult<()> {
        // First: what comes after this wakes the loop again.
        self.0.wakeup.calm();
        let waiting = mem::take(&mut self.0.letters().waiting);
        let mut interrupted = None;
        for Letter { address, .. } in waiting {
            let Some(outcome) = address.slot.take() else { continue };
            let arguments = Py::new(py, outcome).and_then(|outcome| PyTuple::new(py, [outcome]));
            let arrived = arguments.map(|arguments| {
                for _ in 0..MOST_TRIES {
                    match call(address.arrive.bind(py), &arguments) {
                        Ok(_) => return,
                        Err(raised) => interrupted = Some(raised),
                    }
                }
            });
            if let Err(failure) = arrived {
                report(py, failure, None);
            }
        }
        interrupted.map_or(Ok(()), Err)
    }
}

#[cfg(unix)]
mod wakeup {
    use std::io::{self, Read, Write};
    use std::os::fd::AsRawFd;
    use std::os::unix::net::UnixStream;

    /// A descriptor that can be read once it is woken.
    pub struct Wakeup {
        read: UnixStream,
        write: UnixStream,
    }

    impl Wakeup {
        pub fn new() -> io::Result<Wakeup> {
            let (read, write) = UnixStream::pair()?;
            read.set_nonblocking(true)?;
            write.set_nonblocking(true)?;
            Ok(Wakeup { read, write })
        }

        pub fn descriptor(&self) -> i32 {
            self.read.as_raw_fd()
        }

        pub fn wake(&self) {
            // It only fails if the loop has been woken very often and has not come yet.
            let _ = (&self.write).write(&[1]);
        }

        pub fn calm(&self) {
            let mut woken = [0; 64];
            while matches!((&self.read).read(&mut woken), Ok(64)) {}
        }
    }
}

#[cfg(not(unix))]
mod wakeup {
    use std::io;

    /// Event loops take no descriptor here.
    pub enum Wakeup {}

    impl Wakeup {
        pub fn new() -> io::Result<Wakeup> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub fn descriptor(&self) -> i32 {
            match *self {}
        }

        pub fn wake(&self) {
            match *self {}
        }

        pub fn calm(&self) {
            match *self {}
        }
    }
}
