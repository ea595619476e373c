//! Whoever waits drives: a thread that blocks until a future is done reads the connections whose answers the future awaits,
//! and hands everybody else theirs. Linux only; elsewhere the I/O thread drives alone.
//!
//! A connection is in one of these states, which change under the lock of its machine:
//!
//! - *The I/O thread drives*: nobody else does, and its watch is armed.
//! - *A thread drives*: its ticket stands in the state, and the watch is not armed for reading. It holds the lock while it
//!   reads, and never while it polls.
//! - *Handed back*: there is no ticket any more, and the lock is free, but the watch is not armed yet. Armed, the watch tells
//!   at once of what came meanwhile. So a second arming, or one that comes late, costs a look and loses nothing.
//! - *Taken away*: the I/O thread comes every [`WATCHDOG`] as long as somebody drives, or has since it came last. If it finds
//!   anything to be read, the driver is too slow: it is stopped, or has no processor. Its ticket counts no more, and the I/O
//!   thread drives. The same look arms the watch for a thread that was stopped after it had handed back.
//! - *Over*: the connection has ended. The descriptor lives until the last that polls it has let go of it.
//!
//! A thread only drives what it awaits an answer of, and nothing while it runs a hook.

use std::cell::RefCell;
use std::io;
use std::os::fd::AsFd;
use std::sync::{Arc, OnceLock, PoisonError};
use std::task::Wake;
use std::time::{Duration, Instant};

use super::Connection;
use super::socket::Socket;
use super::stream::Stream;
use super::system::{self, Wakeup};
use crate::process::{PerProcess, Process};
use crate::stack;
use crate::sync::atomic::{AtomicU8, Ordering};
use crate::sync::{Condvar, Mutex, thread_local};

/// How late an answer may be because the thread that drives does not come to it.
pub(super) const WATCHDOG: Duration = Duration::from_millis(20);

/// Less of the stack is not enough for the futures of a call. Without optimisation they need more than two megabytes.
const ROOM: usize = if cfg!(debug_assertions) { 3 << 20 } else { 512 << 10 };

/// Whether this thread has the stack to poll a future of the library.
pub(crate) fn has_room() -> bool {
    stack::left().is_some_and(|left| left >= ROOM)
}

thread_local! {
    /// The connections whose answers are awaited by the future that this thread polls in order to wait for it.
    static AWAITED: RefCell<Option<Vec<Arc<Connection<Socket>>>>> = const { RefCell::new(None) };
}

/// An answer of this connection is awaited, by whatever is polled on this thread.
pub(super) fn note(connection: &Arc<Connection<Socket>>) {
    let _ = AWAITED.try_with(|awaited| {
        if let Some(awaited) = &mut *awaited.borrow_mut()
            && !awaited.iter().any(|known| Arc::ptr_eq(known, connection))
        {
            awaited.push(connection.clone());
        }
    });
}

/// What a waiting thread drives, and would.
#[derive(Default)]
pub(crate) struct Drives {
    awaited: Vec<Arc<Connection<Socket>>>,
    driving: Vec<Driving>,
}

impl Drives {
    /// Polls a future by `poll`, and drives from then on what it awaits an answer of.
    pub(crate) fn noting<T>(&mut self, poll: impl FnOnce() -> T) -> T {
        struct Back<'a>(&'a mut Drives);
        impl Drop for Back<'_> {
            fn drop(&mut self) {
                let awaited = AWAITED.try_with(RefCell::take).ok().flatten().unwrap_or_default();
                let is_awaited =
                    |one: &Driving| awaited.iter().any(|other| Arc::ptr_eq(other, &one.connection));
                self.0.driving.retain(is_awaited);
                self.0.awaited = awaited;
            }
        }
        let mut awaited = std::mem::take(&mut self.awaited);
        awaited.clear();
        let _back = Back(self);
        let _ = AWAITED.try_with(|noted| noted.replace(Some(awaited)));
        poll()
    }

    /// Drives nothing until it parks again.
    pub(crate) fn hand_over(&mut self) {
        self.driving.clear();
    }

    /// Drives what it awaits and nobody else drives.
    fn begin(&mut self) {
        for connection in &self.awaited {
            if !self.driving.iter().any(|one| Arc::ptr_eq(&one.connection, connection)) {
                self.driving.extend(Driving::begin(connection));
            }
        }
    }
}

/// This thread drives a connection, until it is dropped.
struct Driving {
    connection: Arc<Connection<Socket>>,
    stream: Arc<Stream>,
    ticket: u64,
}

impl Driving {
    fn begin(connection: &Arc<Connection<Socket>>) -> Option<Driving> {
        let (begun, calls) = connection.with(|state, _| {
            let socket = state.channel.as_ref().filter(|_| state.driver.is_none());
            let Some(socket) = socket.filter(|socket| state.machine.wants(socket.attempt)) else {
                return (None, false);
            };
            let stream = socket.stream.clone();
            state.tickets += 1;
            state.driver = Some(state.tickets);
            state.was_driven = true;
            // Under the lock: a disarming that came late would leave nobody who reads.
            state.arm();
            (Some((state.tickets, stream)), !std::mem::replace(&mut state.is_watched, true))
        });
        if calls {
            connection.io.notify_one();
        }
        begun.map(|(ticket, stream)| Driving { connection: connection.clone(), stream, ticket })
    }

    /// Reads what is there. False if this thread does not drive any more.
    fn read(&self) -> bool {
        let (is_ours, calls) = self.connection.with(|state, now| {
            if state.driver != Some(self.ticket) {
                return (false, false);
            }
            let is_open = state.read(now).is_open;
            if !is_open {
                state.driver = None;
            }
            (is_open, !is_open)
        });
        if calls {
            // It connects anew.
            self.connection.io.notify_one();
        }
        is_ours
    }
}

impl Drop for Driving {
    fn drop(&mut self) {
        if !self.connection.process.is_present() {
            return;
        }
        let is_blocked = self.connection.with(|state, _| {
            let is_ours = state.driver == Some(self.ticket);
            is_ours.then(|| {
                state.driver = None;
                state.armed = None;
                state.is_blocked
            })
        });
        // Outside of the lock, which is the first that the I/O thread wants.
        if let Some(is_blocked) = is_blocked {
            self.stream.arm(true, is_blocked);
        }
    }
}

/// Why a thread does not park any more.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Woken {
    /// The future wants to be polled.
    ToPoll,
    /// Its time has come, or a signal has.
    ForTheHook,
    /// This is the child of a fork.
    Forked,
}

/// A thread that waits for a future, and the waker of that.
pub(crate) struct Parker {
    state: AtomicU8,
    gate: Mutex<()>,
    unparked: Condvar,
    /// Made when the thread polls first.
    wakeup: OnceLock<Arc<Wakeup>>,
    process: Process,
}

const EMPTY: u8 = 0;
const WOKEN: u8 = 1;
/// It sleeps until `unparked`.
const SLEEPS: u8 = 2;
/// It polls descriptors, of which one wakes.
const POLLS: u8 = 3;

/// Those that are not in use. A program has as many as threads of it have ever driven at the same time.
static WAKEUPS: PerProcess<Mutex<Vec<Arc<Wakeup>>>> = PerProcess::new();

/// Closes those.
pub(crate) fn forget_wakeups() {
    let unused = std::mem::take(&mut *WAKEUPS.lock().unwrap_or_else(PoisonError::into_inner));
    drop(unused);
}

impl Default for Parker {
    fn default() -> Parker {
        Parker {
            state: AtomicU8::new(EMPTY),
            gate: Mutex::default(),
            unparked: Condvar::new(),
            wakeup: OnceLock::new(),
            process: Process::present(),
        }
    }
}

impl Drop for Parker {
    fn drop(&mut self) {
        if let Some(wakeup) = self.wakeup.take()
            && self.process.is_present()
        {
            WAKEUPS.lock().unwrap_or_else(PoisonError::into_inner).push(wakeup);
        }
    }
}

impl Wake for Parker {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        match self.state.swap(WOKEN, Ordering::SeqCst) {
            SLEEPS => {
                drop(self.gate.lock().unwrap_or_else(PoisonError::into_inner));
                self.unparked.notify_one();
            }
            POLLS => self.wakeup.get().into_iter().for_each(|wakeup| wakeup.wake()),
            _ => {}
        }
    }
}

impl Parker {
    /// Waits until the future was woken, and drives meanwhile. With `until` no longer than that, or until a signal comes.
    pub(crate) fn park(&self, drives: &mut Drives, until: Option<Instant>) -> Woken {
        loop {
            if self.state.compare_exchange(WOKEN, EMPTY, Ordering::SeqCst, Ordering::SeqCst).is_ok() {
                return Woken::ToPoll;
            }
            drives.begin();
            let has_to_poll = !drives.driving.is_empty() || until.is_some();
            let woken = match has_to_poll.then(|| self.wakeup()).flatten() {
                Some(wakeup) => self.poll(wakeup, drives, until),
                None => {
                    drives.hand_over();
                    self.sleep(until)
                }
            };
            if let Some(woken) = woken {
                return woken;
            }
        }
    }

    /// `None` if the process may have no descriptor more.
    fn wakeup(&self) -> Option<&Wakeup> {
        if self.wakeup.get().is_none() {
            let kept = WAKEUPS.lock().unwrap_or_else(PoisonError::into_inner).pop();
            let made = kept.or_else(|| Wakeup::new().ok().map(Arc::new))?;
            let _ = self.wakeup.set(made);
        }
        self.wakeup.get().map(|wakeup| &**wakeup)
    }

    fn poll(&self, wakeup: &Wakeup, drives: &mut Drives, until: Option<Instant>) -> Option<Woken> {
        if self.state.compare_exchange(EMPTY, POLLS, Ordering::SeqCst, Ordering::SeqCst).is_err() {
            return None;
        }
        let streams = drives.driving.iter().map(|one| one.stream.as_fd());
        let descriptors = std::iter::once(wakeup.as_fd()).chain(streams);
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        let polled = system::poll(descriptors, left);
        // What follows is the parent's.
        if !self.process.is_present() {
            return Some(Woken::Forked);
        }
        let was_woken = self.state.swap(EMPTY, Ordering::SeqCst) == WOKEN;
        let is_over = until.is_some_and(|until| Instant::now() >= until);
        let was_interrupted = match polled {
            Ok(ready) => {
                if ready.has(0) {
                    wakeup.calm();
                }
                let mut at = 0;
                drives.driving.retain(|one| {
                    at += 1;
                    !ready.has(at) || one.read()
                });
                false
            }
            Err(error) => error.kind() == io::ErrorKind::Interrupted,
        };
        match was_woken {
            true => Some(Woken::ToPoll),
            false => (is_over || (was_interrupted && until.is_some())).then_some(Woken::ForTheHook),
        }
    }

    fn sleep(&self, until: Option<Instant>) -> Option<Woken> {
        let mut gate = self.gate.lock().unwrap_or_else(PoisonError::into_inner);
        if self.state.compare_exchange(EMPTY, SLEEPS, Ordering::SeqCst, Ordering::SeqCst).is_err() {
            return None;
        }
        loop {
            let left = until.map(|until| until.saturating_duration_since(Instant::now()));
            gate = match left {
                None => self.unparked.wait(gate).unwrap_or_else(PoisonError::into_inner),
                Some(left) => {
                    self.unparked.wait_timeout(gate, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
            if self.state.load(Ordering::SeqCst) == WOKEN {
                self.state.store(EMPTY, Ordering::SeqCst);
                return Some(Woken::ToPoll);
            }
            if until.is_some_and(|until| Instant::now() >= until) {
                let was_woken = self.state.swap(EMPTY, Ordering::SeqCst) == WOKEN;
                return Some(if was_woken { Woken::ToPoll } else { Woken::ForTheHook });
            }
        }
    }
}

#[cfg(test)]
mod tests;
