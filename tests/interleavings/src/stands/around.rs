//! What stands around the parts that are played, no more of it than they use.

use std::ffi::c_int;
use std::sync::Mutex;

type Handler = unsafe extern "C" fn();

/// What is to run in the child of a fork.
static IN_A_CHILD: Mutex<Vec<Handler>> = Mutex::new(Vec::new());

/// In the place of the C library's: whatever is kept for each process anew is kept for each schedule anew.
#[unsafe(no_mangle)]
extern "C" fn pthread_atfork(_: Option<Handler>, _: Option<Handler>, in_child: Option<Handler>) -> c_int {
    IN_A_CHILD.lock().expect("no panic").extend(in_child);
    0
}

/// A schedule begins.
pub(crate) fn is_another_process() {
    crate::process::Process::present();
    for handler in &*IN_A_CHILD.lock().expect("no panic") {
        // SAFETY: those that are given to `pthread_atfork` take nothing and may run at any fork.
        unsafe { handler() };
    }
}

pub(crate) mod hosts {
    #[derive(Clone, Debug)]
    pub struct Server;

    impl std::fmt::Display for Server {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("server")
        }
    }
}

pub(crate) mod log {
    use std::time::Duration;

    pub(crate) fn connect_failed(_cause: String, _pause: Duration) {}

    pub(crate) fn slow_callback(_took: Duration) {}
}

pub(crate) mod metrics {
    #[derive(Default)]
    pub(crate) struct Counters {
        pub(crate) slow_callbacks: Count,
        pub(crate) bytes_received: Count,
    }

    #[derive(Default)]
    pub(crate) struct Count;

    impl Count {
        pub(crate) fn one(&self) {}

        pub(crate) fn add(&self, _count: usize) {}
    }
}

pub(crate) mod options {
    #[derive(Copy, Clone, Debug, PartialEq, Eq)]
    pub(crate) enum Naming {
        Curator,
        Kazoo,
        Zookeeper,
    }
}

pub(crate) mod runtime {
    use std::cell::Cell;
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use crate::error::{Error, ErrorKind, Result};

    pub type Later<T> = Pin<Box<dyn Future<Output = T> + Send>>;

    shuttle::thread_local! {
        static MUST_NOT_BLOCK: Cell<bool> = Cell::new(false);
    }

    pub(crate) fn check_may_block() -> Result<()> {
        match MUST_NOT_BLOCK.with(Cell::get) {
            true => Err(Error::new(ErrorKind::Deadlock, "in a callback")),
            false => Ok(()),
        }
    }

    /// A panic of it is one of the play.
    pub(crate) fn run_callback(callback: impl FnOnce()) {
        let before = MUST_NOT_BLOCK.with(|must_not| must_not.replace(true));
        callback();
        MUST_NOT_BLOCK.with(|must_not| must_not.set(before));
    }

    pub(crate) fn poll<F: Future>(future: Pin<&mut F>, context: &mut Context<'_>) -> Poll<F::Output> {
        future.poll(context)
    }

    pub(crate) fn is_within_reach() -> bool {
        true
    }

    pub(crate) fn spawn(task: Later<()>) {
        drop(shuttle::future::spawn(task));
    }
}

pub(crate) mod stack {
    pub(crate) fn left() -> Option<usize> {
        Some(usize::MAX)
    }
}

pub(crate) mod threads {
    pub(crate) fn start(name: &str, body: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
        shuttle::thread::Builder::new().name(name.to_owned()).spawn(body).map(drop)
    }
}
