//! What the console says in the place of signals. It says it to every process that shares it, and so to the command as well.
//!
//! Ctrl-C is INT. Ctrl-Break, and the end of the console, of the user's session or of the system, are TERM. Nothing is any other.

use std::io;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use windows_sys::Win32::System::Console::{
    CTRL_BREAK_EVENT, CTRL_C_EVENT, CTRL_CLOSE_EVENT, CTRL_LOGOFF_EVENT, CTRL_SHUTDOWN_EVENT,
    SetConsoleCtrlHandler,
};
use windows_sys::core::BOOL;

// As elsewhere, so that a status means the same.
pub(crate) const SIGHUP: i32 = 1;
pub(crate) const SIGINT: i32 = 2;
pub(crate) const SIGQUIT: i32 = 3;
pub(crate) const SIGKILL: i32 = 9;
pub(crate) const SIGUSR1: i32 = 10;
pub(crate) const SIGUSR2: i32 = 12;
pub(crate) const SIGPIPE: i32 = 13;
pub(crate) const SIGTERM: i32 = 15;
pub(crate) const SIGWINCH: i32 = 28;

/// Who is told; nobody while nothing is caught.
static TOLD: Mutex<Option<Sender<i32>>> = Mutex::new(None);
/// The first signal that would have ended us; 0 for none.
static ENDING: AtomicI32 = AtomicI32::new(0);

/// A signal that was caught.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Signal {
    pub(crate) number: i32,
    /// The console told the command as well.
    pub(crate) reached_group: bool,
}

/// Whether the signal ends a process that does nothing about it.
pub(crate) fn is_ending(number: i32) -> bool {
    number != SIGWINCH
}

/// Catches signals until it is dropped.
pub(crate) struct Signals {
    reader: Option<JoinHandle<()>>,
}

impl Signals {
    /// Calls `told`, on a thread of its own, with each of the signals from now on. A Ctrl-C that the process ignores stays ignored.
    pub(crate) fn catch(
        numbers: &[i32],
        mut told: impl FnMut(Signal) + Send + 'static,
    ) -> io::Result<Signals> {
        let (sender, signals) = channel();
        let numbers = numbers.to_vec();
        ENDING.store(0, Ordering::Release);
        let reader = std::thread::Builder::new().name("zkrecipes-signals".to_owned()).spawn(move || {
            for number in signals.into_iter().filter(|number| numbers.contains(number)) {
                told(Signal { number, reached_group: true });
            }
        })?;
        tell(Some(sender));
        let signals = Signals { reader: Some(reader) };
        // SAFETY: a plain function, which is taken away again.
        match unsafe { SetConsoleCtrlHandler(Some(caught), 1) } {
            0 => Err(io::Error::last_os_error()),
            _ => Ok(signals),
        }
    }

    /// The first signal that would have ended us, as soon as it has arrived.
    pub(crate) fn ending(&self) -> Option<i32> {
        match ENDING.load(Ordering::Acquire) {
            0 => None,
            number => Some(number),
        }
    }

    /// The signals until now end nobody any more.
    pub(crate) fn forget(&self) {
        ENDING.store(0, Ordering::Release);
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        // SAFETY: the function that was given.
        unsafe { SetConsoleCtrlHandler(Some(caught), 0) };
        tell(None);
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

fn tell(sender: Option<Sender<i32>>) {
    *TOLD.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = sender;
}

/// The system calls it on a thread of its own.
unsafe extern "system" fn caught(event: u32) -> BOOL {
    let number = match event {
        CTRL_C_EVENT => SIGINT,
        CTRL_BREAK_EVENT | CTRL_CLOSE_EVENT | CTRL_LOGOFF_EVENT | CTRL_SHUTDOWN_EVENT => SIGTERM,
        _ => return 0,
    };
    let _ = ENDING.compare_exchange(0, number, Ordering::AcqRel, Ordering::Acquire);
    if let Some(told) = &*TOLD.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) {
        let _ = told.send(number);
    }
    // Of these the process ends as soon as this returns: it has a few seconds to end by itself.
    if !matches!(event, CTRL_C_EVENT | CTRL_BREAK_EVENT) {
        loop {
            std::thread::park();
        }
    }
    1
}
