//! The process's own runtime: named threads, started at first use, and the check that a forked child does not use
//! what its parent's threads carried.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, OnceLock};

use crate::error::{Error, ErrorKind, Result};
use crate::session::clock::Later;

static RUNTIME: OnceLock<tokio::runtime::Runtime> = OnceLock::new();
/// The process that started the runtime; 0 before that.
static OWNER: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// Set on threads that must not block: the runtime's own, and whichever runs a callback at the moment.
    static MUST_NOT_BLOCK: Cell<bool> = const { Cell::new(false) };
}

/// `Err(Forked)` in a child of a process that used the runtime: its threads did not come along.
pub(crate) fn check_process() -> Result<()> {
    match OWNER.load(Ordering::Acquire) {
        0 => Ok(()),
        owner if owner == std::process::id() => Ok(()),
        _ => Err(Error::new(
            ErrorKind::Forked,
            "zkrecipes was used before this process forked; its threads and connections stay with the parent. \
             Connect only in children, or start them with spawn (exec) instead of fork",
        )),
    }
}

/// `Err(Deadlock)` where waiting would wait for this very thread.
pub(crate) fn check_may_block() -> Result<()> {
    if MUST_NOT_BLOCK.get() {
        return Err(Error::new(
            ErrorKind::Deadlock,
            "a blocking call inside a callback would wait for the thread that runs the callback; \
             hand the work to another thread, or use the asynchronous form",
        ));
    }
    Ok(())
}

/// Runs a user's callback: blocking verbs inside it answer Deadlock, and a panic stops nothing else.
pub(crate) fn run_callback(callback: impl FnOnce()) {
    let before = MUST_NOT_BLOCK.replace(true);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(callback));
    MUST_NOT_BLOCK.set(before);
    if result.is_err() {
        tracing::error!("a callback panicked; the library goes on");
    }
}

fn get() -> &'static tokio::runtime::Runtime {
    RUNTIME.get_or_init(|| {
        OWNER.store(std::process::id(), Ordering::Release);
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .thread_name("zkrecipes-io")
            .on_thread_start(|| {
                MUST_NOT_BLOCK.set(true);
                block_sigpipe();
            })
            .enable_time()
            .build()
            .expect("the operating system has no thread left for the runtime")
    })
}

/// Runs `make` where tokio's timers can be made.
pub(crate) fn enter<T>(make: impl FnOnce() -> T) -> T {
    let _context = get().enter();
    make()
}

/// Runs `task` in the background.
pub(crate) fn spawn(task: Later<()>) -> tokio::task::JoinHandle<()> {
    get().spawn(task)
}

/// Runs `task` in the background for its result.
pub(crate) fn spawn_task<T: Send + 'static>(
    task: impl Future<Output = T> + Send + 'static,
) -> tokio::task::JoinHandle<T> {
    get().spawn(task)
}

/// Resolves host names without blocking the I/O threads.
pub(crate) fn spawn_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> tokio::task::JoinHandle<T> {
    get().spawn_blocking(work)
}

/// A write to a broken connection must be an error, not a signal that ends the process: Rust's own programs ignore
/// SIGPIPE, but a C program that loads the library has it at its default, and the process's disposition is not ours to
/// change. Blocked on our threads only, it stays pending there and the write answers EPIPE.
fn block_sigpipe() {
    #[cfg(unix)]
    // SAFETY: the set is initialised before it is used, and only this thread's mask changes.
    unsafe {
        let mut signals: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut signals);
        libc::sigaddset(&mut signals, libc::SIGPIPE);
        libc::pthread_sigmask(libc::SIG_BLOCK, &signals, std::ptr::null_mut());
    }
}

/// A named thread for the life of the process.
pub(crate) fn thread(name: &str, body: impl FnOnce() + Send + 'static) {
    OWNER.compare_exchange(0, std::process::id(), Ordering::AcqRel, Ordering::Acquire).ok();
    std::thread::Builder::new()
        .name(name.to_owned())
        .spawn(|| {
            block_sigpipe();
            body();
        })
        .expect("the operating system has no thread left for the library");
}

/// A piece of work for a delivery thread.
pub type Job = Box<dyn FnOnce() + Send>;

/// A thread that runs users' code one piece at a time, away from I/O.
pub(crate) struct Lane {
    name: &'static str,
    sender: OnceLock<Mutex<Sender<Job>>>,
}

/// State changes and other notices.
pub(crate) static NOTICES: Lane = Lane::new("zkrecipes-notify");
/// Losses: a thread of their own, so that a slow notice cannot hold up the one that matters.
pub(crate) static LOSSES: Lane = Lane::new("zkrecipes-lost");
/// Completions of calls that a face started.
pub(crate) static COMPLETIONS: Lane = Lane::new("zkrecipes-done");

impl Lane {
    const fn new(name: &'static str) -> Lane {
        Lane { name, sender: OnceLock::new() }
    }

    pub(crate) fn run(&self, job: Job) {
        let sender = self.sender.get_or_init(|| {
            let (sender, jobs) = channel::<Job>();
            thread(self.name, move || {
                for job in jobs {
                    run_callback(job);
                }
            });
            Mutex::new(sender)
        });
        // The receiver lives as long as the process, so a send cannot fail.
        let _ = sender.lock().unwrap_or_else(|e| e.into_inner()).send(job);
    }
}
