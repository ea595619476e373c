//! Catching the signals that concern a command, and telling which of them the command has already got.
//!
//! Handlers and a pipe rather than a signal mask: in the process of another language there are threads that started
//! before us, and a signal may go to any of them.

use std::fs::File;
use std::io::{self, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread::JoinHandle;

pub(crate) use libc::{SIGHUP, SIGINT, SIGPIPE, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH};

use super::processes::{Bond, Tree};

/// Where the handler writes; -1 while nothing is caught.
static PIPE: AtomicI32 = AtomicI32::new(-1);
/// The first signal that would have ended us; 0 for none.
static ENDING: AtomicI32 = AtomicI32::new(0);

/// A signal that was caught.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct Signal {
    pub(crate) number: i32,
    /// The terminal sent it to the whole foreground process group, and so to the command as well.
    pub(crate) reached_group: bool,
}

/// Whether the signal ends a process that does nothing about it.
pub(crate) fn is_ending(number: i32) -> bool {
    number != libc::SIGWINCH
}

/// Catches signals until it is dropped.
pub(crate) struct Signals {
    before: Vec<(i32, libc::sigaction)>,
    writer: Option<OwnedFd>,
    reader: Option<JoinHandle<()>>,
}

impl Signals {
    /// Calls `told`, on a thread of its own, with each of the signals from now on. Those that the process ignores
    /// (`nohup`) stay ignored.
    pub(crate) fn catch(
        numbers: &[i32],
        mut told: impl FnMut(Signal) + Send + 'static,
    ) -> io::Result<Signals> {
        let (mut reader, writer) = pipe()?;
        ENDING.store(0, Ordering::Release);
        PIPE.store(writer.as_raw_fd(), Ordering::Release);
        let reading = std::thread::Builder::new().name("zkrecipes-signals".to_owned()).spawn(move || {
            let mut record = [0; 2];
            while reader.read_exact(&mut record).is_ok() {
                told(Signal { number: record[0].into(), reached_group: record[1] != 0 });
            }
        })?;
        let mut signals = Signals { before: Vec::new(), writer: Some(writer), reader: Some(reading) };
        for &number in numbers {
            signals.catch_one(number)?;
        }
        // A parent that ignores SIGCHLD passes that on, and then no child's status can be learned.
        signals.replace(libc::SIGCHLD, &action(libc::SIG_DFL))?;
        Ok(signals)
    }

    fn catch_one(&mut self, number: i32) -> io::Result<()> {
        let mut handler =
            action(caught as extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) as usize);
        handler.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        if current(number)?.sa_sigaction == libc::SIG_IGN {
            return Ok(());
        }
        self.replace(number, &handler)
    }

    fn replace(&mut self, number: i32, action: &libc::sigaction) -> io::Result<()> {
        let mut before = MaybeUninit::uninit();
        // SAFETY: both point to a sigaction; the second is written when the call succeeds.
        check(unsafe { libc::sigaction(number, action, before.as_mut_ptr()) })?;
        // SAFETY: written above.
        self.before.push((number, unsafe { before.assume_init() }));
        Ok(())
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

    /// Spawns the command with the signals as this process found them. None that comes in between is missed: it waits
    /// until the command has replaced us in the child.
    pub(crate) fn spawn(&self, command: &mut Command, bond: Bond) -> io::Result<(Child, Tree)> {
        if bond == Bond::Apart {
            command.process_group(0);
        }
        let mut all = MaybeUninit::uninit();
        let mut mask = MaybeUninit::uninit();
        // SAFETY: the first call writes the set that the second reads; the second writes the mask that was.
        let mask: libc::sigset_t = unsafe {
            check(libc::sigfillset(all.as_mut_ptr()))?;
            check_code(libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), mask.as_mut_ptr()))?;
            mask.assume_init()
        };
        let before: Vec<_> = self.before.iter().map(|(number, action)| (*number, *action)).collect();
        let us = std::process::id();
        // SAFETY: only async-signal-safe calls, and memory that was allocated before.
        unsafe {
            command.pre_exec(move || {
                for (number, action) in &before {
                    check(libc::sigaction(*number, action, std::ptr::null_mut()))?;
                }
                if bond != Bond::GoesOn {
                    die_with(us)?;
                }
                check_code(libc::pthread_sigmask(libc::SIG_SETMASK, &mask, std::ptr::null_mut()))
            });
        }
        let child = command.spawn();
        // SAFETY: the mask that was found above.
        check_code(unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &mask, std::ptr::null_mut()) })?;
        child.map(|child| {
            let tree = Tree::of(&child);
            (child, tree)
        })
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        for (number, before) in &self.before {
            // SAFETY: what stood there before.
            unsafe { libc::sigaction(*number, before, std::ptr::null_mut()) };
        }
        PIPE.store(-1, Ordering::Release);
        self.writer.take();
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
    }
}

/// The kernel ends the command when this process is killed: without us nobody would tell it that the lock is gone.
#[cfg(target_os = "linux")]
fn die_with(parent: u32) -> io::Result<()> {
    // SAFETY: plain numbers. The check is for a parent that died before the call.
    unsafe {
        check(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM))?;
        if libc::getppid() as u32 != parent {
            libc::raise(libc::SIGTERM);
        }
    }
    Ok(())
}

#[cfg(not(target_os = "linux"))]
fn die_with(_parent: u32) -> io::Result<()> {
    Ok(())
}

extern "C" fn caught(number: i32, info: *mut libc::siginfo_t, _context: *mut libc::c_void) {
    // SAFETY: the kernel passes a valid siginfo; everything called here may be called in a handler.
    unsafe {
        let errno = errno();
        let saved = *errno;
        if is_ending(number) {
            let _ = ENDING.compare_exchange(0, number, Ordering::AcqRel, Ordering::Acquire);
        }
        let record = [number as u8, u8::from(reached_group(number, info))];
        let pipe = PIPE.load(Ordering::Acquire);
        if pipe >= 0 {
            libc::write(pipe, record.as_ptr().cast(), record.len());
        }
        *errno = saved;
    }
}

/// Whether the terminal sent the signal. A hangup goes to the leader of the session alone, so the leader passes it on.
unsafe fn reached_group(number: i32, info: *mut libc::siginfo_t) -> bool {
    match number {
        // SAFETY: as for the caller.
        libc::SIGINT | libc::SIGQUIT | libc::SIGWINCH => unsafe { is_from_terminal(info) },
        libc::SIGHUP => unsafe { is_from_terminal(info) && libc::getsid(0) != libc::getpid() },
        _ => false,
    }
}

/// What processes send has a code of at most zero.
#[cfg(target_os = "linux")]
unsafe fn is_from_terminal(info: *mut libc::siginfo_t) -> bool {
    // SAFETY: a valid siginfo.
    unsafe { (*info).si_code > 0 }
}

/// Elsewhere the sender is not told reliably: what the terminal can have sent, it has.
#[cfg(not(target_os = "linux"))]
unsafe fn is_from_terminal(_info: *mut libc::siginfo_t) -> bool {
    // SAFETY: plain numbers.
    unsafe { (0..3).any(|fd| libc::tcgetpgrp(fd) == libc::getpgrp()) }
}

#[cfg(any(target_os = "linux", target_os = "emscripten"))]
unsafe fn errno() -> *mut i32 {
    // SAFETY: always there.
    unsafe { libc::__errno_location() }
}

#[cfg(not(any(target_os = "linux", target_os = "emscripten")))]
unsafe fn errno() -> *mut i32 {
    // SAFETY: always there.
    unsafe { libc::__error() }
}

/// Both ends are closed in children; a full pipe drops signals rather than block the handler.
fn pipe() -> io::Result<(File, OwnedFd)> {
    let mut ends = [0; 2];
    // SAFETY: room for two descriptors, which nobody else owns.
    let (reader, writer) = unsafe {
        check(libc::pipe(ends.as_mut_ptr()))?;
        (OwnedFd::from_raw_fd(ends[0]), OwnedFd::from_raw_fd(ends[1]))
    };
    for end in [&reader, &writer] {
        // SAFETY: a descriptor of ours.
        check(unsafe { libc::fcntl(end.as_raw_fd(), libc::F_SETFD, libc::FD_CLOEXEC) })?;
    }
    // SAFETY: a descriptor of ours.
    check(unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_SETFL, libc::O_NONBLOCK) })?;
    Ok((File::from(reader), writer))
}

fn action(handler: usize) -> libc::sigaction {
    // SAFETY: a sigaction of zeros is a valid one, with an empty mask.
    let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
    action.sa_sigaction = handler;
    action
}

fn current(number: i32) -> io::Result<libc::sigaction> {
    let mut current = MaybeUninit::uninit();
    // SAFETY: written when the call succeeds.
    unsafe {
        check(libc::sigaction(number, std::ptr::null(), current.as_mut_ptr()))?;
        Ok(current.assume_init())
    }
}

fn check(answer: i32) -> io::Result<()> {
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn check_code(code: i32) -> io::Result<()> {
    if code != 0 { Err(io::Error::from_raw_os_error(code)) } else { Ok(()) }
}
