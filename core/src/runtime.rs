//! The process's own runtime, started at first use. A forked child has one of its own. A panic in a user's callback is logged,
//! and stops nothing else.

use std::cell::{Cell, RefCell};
use std::pin::Pin;
use std::sync::{Mutex, RwLock, TryLockError};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::runtime::{Handle, Runtime};

use crate::error::{Error, ErrorKind, Result};
use crate::mutex::{lock, unpoisoned};
use crate::process::{PerProcess, Process};
use crate::{sanitizer, signals, threads};

/// A future on the heap that may move between threads.
pub type Later<T> = Pin<Box<dyn Future<Output = T> + Send>>;

static RUNTIME: PerProcess<StartedRuntime> = PerProcess::new();

/// What runs from its first use until it is shut down, and from the next use on.
#[derive(Default)]
struct StartedRuntime {
    /// For those who use it. What they keep of one that is shut down is dropped with them, and what they tell it is, too.
    handle: RwLock<Option<Handle>>,
    runtime: Mutex<Option<Runtime>>,
    /// That of the runtime while it ends, for what is dropped with its tasks.
    ending: Mutex<Option<Handle>>,
}

thread_local! {
    /// Set on threads that must not block: the runtime's own, and whichever runs a callback at the moment. One that forks
    /// inside a callback is the only thread of the child, and may block there.
    static MUST_NOT_BLOCK: Cell<Option<Process>> = const { Cell::new(None) };
    /// Set on the runtime's own threads.
    static IS_WORKER: Cell<bool> = const { Cell::new(false) };
    /// Set on a thread that ends the runtime, meanwhile.
    static ENDS_IT: Cell<bool> = const { Cell::new(false) };
    /// Made on the runtime's own threads, after all that tokio keeps there: so it goes before that.
    static LEAVING: Leaving = const { Leaving };
}

/// Dropped on a thread of the runtime when that ends, or when a task on it ends the process: handlers of the exit run there
/// then and never come back, and everything else that the runtime has to do goes on by another thread. That has to be asked
/// for here: tokio's own state of the thread is gone when the handlers run.
struct Leaving;

impl Drop for Leaving {
    fn drop(&mut self) {
        let is_ours = MUST_NOT_BLOCK.get().is_some_and(Process::is_present);
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if !is_ours {
            // A forked child has nothing but this thread.
            return;
        }
        tokio::task::block_in_place(|| {
            let (goes_on, is_heard) = std::sync::mpsc::channel();
            runtime.spawn(async move { _ = goes_on.send(()) });
            // Once that was heard another thread has the tasks, and this one cannot take them back.
            let _ = is_heard.recv_timeout(HANDED_OVER);
        });
    }
}

/// How long another thread may take to go on with the tasks of one that leaves.
const HANDED_OVER: Duration = Duration::from_secs(1);

tokio::task_local! {
    /// What the call that this task runs has left to be done in the background, and its caller must not be told before.
    static LEFT: RefCell<Vec<Later<()>>>;
}

/// What `call` answers, and what it has left by then, also by being dropped, that is to be waited for before its caller is
/// told.
pub(crate) fn with_what_it_leaves<T>(
    call: impl Future<Output = T>,
) -> impl Future<Output = (T, Vec<Later<()>>)> {
    LEFT.scope(RefCell::default(), call.map(|answer| (answer, LEFT.with(RefCell::take))))
}

/// Has whoever runs this call wait for `work` before the caller is told how the call ended. Nobody does where the caller
/// runs it: who drops a future is told nothing.
pub(crate) fn leave(work: Later<()>) {
    let _ = LEFT.try_with(|left| left.borrow_mut().push(work));
}

/// `Err(Deadlock)` where waiting would wait for this very thread.
pub(crate) fn check_may_block() -> Result<()> {
    if MUST_NOT_BLOCK.get().is_some_and(Process::is_present) {
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
    let before = MUST_NOT_BLOCK.replace(Some(Process::present()));
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(callback));
    MUST_NOT_BLOCK.set(before);
    if result.is_err() {
        tracing::error!(target: "zkrecipes", event = "callback_panicked", "a callback panicked; the library goes on");
    }
}

/// Blocks this thread. If it is a thread of the runtime, its tasks move to another thread meanwhile, unless the thread
/// is ending and has none any more.
pub(crate) fn block(wait: impl FnOnce()) {
    if IS_WORKER.get() && tokio::runtime::Handle::try_current().is_ok() {
        tokio::task::block_in_place(wait);
    } else {
        wait();
    }
}

fn get() -> Handle {
    let started = RUNTIME.of_this_process();
    let handle = match started.handle.try_read() {
        Ok(handle) => handle.clone(),
        // It ends. What is dropped with its tasks must not start another one, and everybody else waits for the end.
        Err(TryLockError::WouldBlock) if ENDS_IT.get() || IS_WORKER.get() => lock(&started.ending).clone(),
        Err(TryLockError::WouldBlock) => unpoisoned(started.handle.read()).clone(),
        Err(TryLockError::Poisoned(handle)) => handle.into_inner().clone(),
    };
    handle.unwrap_or_else(|| started.start())
}

impl StartedRuntime {
    fn start(&self) -> Handle {
        let mut runtime = lock(&self.runtime);
        // Another thread may have been first.
        let handle = runtime.get_or_insert_with(build).handle().clone();
        *unpoisoned(self.handle.write()) = Some(handle.clone());
        handle
    }
}

fn build() -> Runtime {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    // One: two would wake each other for every answer, which costs more than the second one does.
    builder.worker_threads(1).thread_name("zkrecipes-io");
    // Twice the usual: in a debug build the futures of a call need much of it.
    builder.thread_stack_size(4 << 20);
    builder.on_thread_start(|| {
        MUST_NOT_BLOCK.set(Some(Process::present()));
        IS_WORKER.set(true);
        LEAVING.with(|_| ());
        threads::begins();
        sanitizer::set_ours(true);
    });
    builder.on_thread_stop(|| {
        sanitizer::set_ours(false);
        threads::ends();
    });
    builder.enable_all();
    signals::blocked(|| builder.build()).expect("the operating system has no thread left for the runtime")
}

/// Ends the runtime, and the tasks that nobody waits for, unless something goes on: who begins something from then on waits
/// until it has ended, and starts another one. Its threads have gone by then, unless one is held up.
pub(crate) fn shut_down(goes_on: impl FnOnce() -> bool) {
    let started = RUNTIME.of_this_process();
    let mut kept = lock(&started.runtime);
    let Some(runtime) = kept.take() else { return };
    // First: who finds it locked looks there.
    *lock(&started.ending) = Some(runtime.handle().clone());
    let mut handle = unpoisoned(started.handle.write());
    ENDS_IT.set(true);
    match goes_on() {
        true => *kept = Some(runtime),
        false => {
            runtime.shutdown_timeout(ENDING);
            *handle = None;
        }
    }
    drop((kept, handle));
    ENDS_IT.set(false);
    // With it goes the last that keeps its descriptors.
    let last = lock(&started.ending).take();
    drop(last);
}

/// How long its threads may take to end when nothing is to do.
const ENDING: Duration = Duration::from_secs(1);

/// Whether there is none now.
pub(crate) fn is_over() -> bool {
    lock(&RUNTIME.of_this_process().runtime).is_none()
}

/// Runs `make` where tokio's timers can be made.
pub(crate) fn enter<T>(make: impl FnOnce() -> T) -> T {
    let _context = get().enter();
    make()
}

/// Polls a future of the library's on this thread, as the runtime would on one of its own: blocking verbs inside it answer
/// Deadlock. Where this is called in a task of another runtime, it takes nothing of what that task may use up.
#[cfg(target_os = "linux")]
pub(crate) fn poll<F: Future>(
    future: Pin<&mut F>,
    context: &mut std::task::Context<'_>,
) -> std::task::Poll<F::Output> {
    struct BlockingAllowedAgain(Option<Process>);
    impl Drop for BlockingAllowedAgain {
        fn drop(&mut self) {
            MUST_NOT_BLOCK.set(self.0);
        }
    }
    let _back = BlockingAllowedAgain(MUST_NOT_BLOCK.replace(Some(Process::present())));
    enter(|| std::pin::pin!(tokio::task::unconstrained(future)).poll(context))
}

/// Whether this thread can enter the runtime: not once its thread-locals have gone, in the handlers of its end.
#[cfg(target_os = "linux")]
pub(crate) fn is_within_reach() -> bool {
    thread_local! {
        /// Made after what tokio keeps, so it goes before that.
        static LIVES: Lives = const { Lives };
    }
    struct Lives;
    impl Drop for Lives {
        fn drop(&mut self) {}
    }
    // The first use makes what tokio keeps; it is an error without a runtime, and when it has gone.
    let _ = tokio::runtime::Handle::try_current();
    LIVES.try_with(|_| ()).is_ok()
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

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Client;
    use crate::drive;
    use crate::feed::{Feed, Source};
    use crate::turn::place::Place;

    /// Drops `value` in a forked child, which has none of the library's threads: it must not ask them for anything.
    pub(crate) fn dropped_in_a_child<T>(what: &str, value: T) -> T {
        // SAFETY: the child only runs the code under test and leaves by _exit.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let dropped = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(value)));
            // Nor start any: what is the parent's is left alone.
            let threads = std::fs::read_dir("/proc/self/task").map_or(1, Iterator::count);
            unsafe { libc::_exit(i32::from(dropped.is_err() || threads > 1)) };
        }
        let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
        let mut status = 0;
        // SAFETY: the child is ours.
        while unsafe { libc::waitpid(child, &mut status, libc::WNOHANG) } != child {
            if std::time::Instant::now() > until {
                unsafe { libc::kill(child, libc::SIGKILL) };
                panic!("{what}: the child hangs");
            }
            std::thread::sleep(std::time::Duration::from_millis(2));
        }
        assert_eq!(libc::WEXITSTATUS(status), 0, "{what}: see above");
        value
    }

    /// What a user's callback keeps is the parent's: a child does not drop it.
    pub(crate) struct OfTheParent(pub(crate) Process);

    impl Drop for OfTheParent {
        fn drop(&mut self) {
            assert!(self.0.is_present(), "dropped in a forked child");
        }
    }

    impl Source<()> for OfTheParent {
        async fn next(&mut self) -> Result<()> {
            std::future::pending().await
        }
    }

    /// A handle through which a child begins an acquire: its place at the gate is behind a lock of the parent's.
    struct Uses(crate::Lock, Process);

    impl Drop for Uses {
        fn drop(&mut self) {
            if self.1.is_present() {
                return;
            }
            let places = self.0.places();
            let acquiring = self.0.acquire();
            assert_eq!(self.0.places(), places, "it has taken a place at the parent's gate");
            drop(acquiring);
        }
    }

    #[test]
    fn what_a_forked_child_drops_asks_nothing_of_the_threads_it_does_not_have() -> Result<()> {
        let client = drive::wait(Client::connect("embedded:", Default::default()), None, None)?;
        let lock = client.lock("/locks/forked", Default::default())?;
        let held = drive::wait(lock.acquire(), None, None)?;
        let kept = OfTheParent(Process::present());
        held.on_lost(move |_| drop(kept));
        let kept = OfTheParent(Process::present());
        let _telling = lock.on_wait(move |_| _ = &kept)?;
        let server_session = client.session()?.server_session();
        let free = crate::path::join("/locks/forked", "x-lock-0000000009");
        let place = dropped_in_a_child("a place", Place::reserve(&server_session, free));
        drop(place);
        let semaphore = client.semaphore("/locks/forked-permits", 2)?;
        let permits = dropped_in_a_child("permits", drive::wait(semaphore.acquire(2), None, None)?);
        let held = dropped_in_a_child("what is held", held);
        let feed = dropped_in_a_child("a feed", Feed::new(OfTheParent(Process::present())));
        drop(feed);
        let (lock, semaphore) = dropped_in_a_child("handles", (lock, semaphore));
        let used = dropped_in_a_child("a handle that is used there", Uses(lock.clone(), Process::present()));
        drop(used);
        // In the child the client goes with the last that knows it.
        let all = dropped_in_a_child("the client", (held, permits, lock, semaphore, server_session, client));
        let (held, _, _, _, _, client) = all;
        drive::wait(async move { held.verify().await }, None, None)?;
        drive::wait(async move { client.close(None).await }, None, None)
    }
}
