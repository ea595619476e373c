//! Outcomes on their way to an event loop. They wait here until its own thread takes them; one byte wakes it. So no thread of
//! the library has to enter Python for them, nor the loop to wait until it has left.

use std::sync::Arc;

use pyo3::prelude::*;
use pyo3::types::PyTuple;

use self::letters::{Destination, Letters, Wakes};
use self::wakeup::Wakeup;
use crate::attach::{call, report};
use crate::face::{Outcome, hand_over};
use crate::generated::docs::doc_of;
use crate::owned::Owned;

mod letters;

/// What the letters take from elsewhere.
mod means {
    pub use std::sync::{Mutex, MutexGuard};
    pub use std::time::Instant;

    pub use zkrecipes::drive::{after, in_order};
}

/// What comes out of the function that is called for an outcome is raised by the handler of a signal, where Python begins to run. So
/// often that comes again.
const MOST_TRIES: usize = 100;

#[doc = doc_of!(Inbox)]
#[pyclass(frozen, module = "zkrecipes._native")]
pub struct Inbox(Owned<Arc<Shared>>);

pub type Shared = Letters<Address, Wakeup>;

/// How far one call has come.
pub type Slot = letters::Slot<Outcome>;

/// Where the outcome of one call goes.
pub struct Address {
    /// To be called by the loop.
    pub arrive: Py<PyAny>,
    /// To be called on any thread: it is raised RuntimeError if the loop has closed.
    pub deliver: Py<PyAny>,
    pub slot: Arc<Slot>,
}

impl Destination for Address {
    type Outcome = Outcome;

    fn slot(&self) -> &Slot {
        &self.slot
    }

    fn hand_over(&self, outcome: Outcome) {
        hand_over(&self.deliver, || outcome);
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
        Ok(Inbox(Arc::new(Letters::new(Wakeup::new()?)).into()))
    }

    #[doc = doc_of!(Inbox.fileno)]
    fn fileno(&self) -> i32 {
        self.0.wakeup.descriptor()
    }

    #[doc = doc_of!(Inbox.deliver)]
    fn deliver(&self, py: Python<'_>) -> PyResult<()> {
        let mut interrupted = None;
        for (address, outcome) in self.0.take() {
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

    use super::Wakes;

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
    }

    impl Wakes for Wakeup {
        fn wake(&self) {
            // It only fails if the loop has been woken very often and has not come yet.
            let _ = (&self.write).write(&[1]);
        }

        fn calm(&self) {
            let mut woken = [0; 64];
            while matches!((&self.read).read(&mut woken), Ok(64)) {}
        }
    }
}

#[cfg(not(unix))]
mod wakeup {
    use std::io;

    use super::Wakes;

    /// Event loops take no descriptor here.
    pub enum Wakeup {}

    impl Wakeup {
        pub fn new() -> io::Result<Wakeup> {
            Err(io::ErrorKind::Unsupported.into())
        }

        pub fn descriptor(&self) -> i32 {
            match *self {}
        }
    }

    impl Wakes for Wakeup {
        fn wake(&self) {
            match *self {}
        }

        fn calm(&self) {
            match *self {}
        }
    }
}
