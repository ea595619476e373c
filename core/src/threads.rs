//! The threads of the library: named, and deaf to signals. Who ends the library waits until the last of them has gone.

use std::sync::Mutex;

use crate::mutex::lock;
use crate::process::{PerProcess, Process};
use crate::{sanitizer, signals};

static THREADS: PerProcess<Mutex<LibraryThreads>> = PerProcess::new();

#[derive(Default)]
struct LibraryThreads {
    /// How many there are, those of the runtime included. Nobody joins them.
    running: usize,
    /// These are not counted any more, and may be there for a moment.
    leaving: Vec<ThreadId>,
}

/// A named thread that takes no signal.
pub(crate) fn start(name: &str, body: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    struct RunningThread(Process);
    impl Drop for RunningThread {
        fn drop(&mut self) {
            // In a forked child it is counted by its parent.
            if self.0.is_present() {
                ends();
            }
        }
    }
    begins();
    // Counted down also where there is no thread to be had.
    let running = RunningThread(Process::present());
    let run = move || {
        let _running = running;
        body();
    };
    let builder = std::thread::Builder::new().name(name.to_owned());
    signals::blocked(|| builder.spawn(|| sanitizer::ours(run))).map(drop)
}

/// Runs work that may take long on a thread of its own, which ends with it; `None` if the system has no thread to give.
///
/// The runtime's pool for such work would do, but keeps its threads: two pieces that follow each other closely take two,
/// and so on, and one that has ended keeps its handle until the next one ends, which ThreadSanitizer calls a leak.
pub(crate) async fn aside<T: Send + 'static>(
    name: &str,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (done, is_done) = tokio::sync::oneshot::channel();
    start(name, move || _ = done.send(work())).ok()?;
    is_done.await.ok()
}

/// One more begins. The runtime starts its threads itself, and says so.
pub(crate) fn begins() {
    lock(THREADS.of_this_process()).running += 1;
}

/// This one ends.
pub(crate) fn ends() {
    let mut threads = lock(THREADS.of_this_process());
    threads.running = threads.running.saturating_sub(1);
    threads.leaving.retain(ThreadId::is_there);
    threads.leaving.extend(ThreadId::of_this());
    sanitizer::release(&THREADS);
}

/// Whether there is none.
pub(crate) fn are_gone() -> bool {
    let mut threads = lock(THREADS.of_this_process());
    threads.leaving.retain(ThreadId::is_there);
    sanitizer::acquire(&THREADS);
    threads.running == 0 && threads.leaving.is_empty()
}

/// By what the system tells whether a thread is there.
struct ThreadId(#[cfg(target_os = "linux")] libc::pid_t);

impl ThreadId {
    #[cfg(target_os = "linux")]
    fn of_this() -> Option<ThreadId> {
        // Not by the function of that name, which glibc has since 2.30: what asks for it is not even loaded by an older one.
        // SAFETY: it takes nothing, and cannot fail.
        Some(ThreadId(unsafe { libc::syscall(libc::SYS_gettid) } as libc::pid_t))
    }

    /// Another one may have its number by now; ours have names.
    #[cfg(target_os = "linux")]
    fn is_there(&self) -> bool {
        let name = std::fs::read(format!("/proc/self/task/{}/comm", self.0));
        name.is_ok_and(|name| name.starts_with(b"zkrecipes-"))
    }

    #[cfg(not(target_os = "linux"))]
    fn of_this() -> Option<ThreadId> {
        None
    }

    #[cfg(not(target_os = "linux"))]
    fn is_there(&self) -> bool {
        false
    }
}
