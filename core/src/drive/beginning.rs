//! A call that nobody blocks on. Its first part runs on the thread that makes it, so that what it asks leaves there and at
//! once; the runtime goes on with it when it is woken.

use std::mem;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Wake, Waker};

use crate::mutex::{lock, unpoisoned};
use crate::process::Process;
use crate::runtime::{self, Later};
use crate::session::wire::own::has_room;
use crate::sync::Mutex;

/// Begins `task` on this thread. Where that has no room for it, the runtime does.
pub(super) fn begin(mut task: Later<()>) {
    if !has_room() || !runtime::is_within_reach() {
        runtime::spawn(task);
        return;
    }
    let call = Arc::new(BegunCall { stage: Mutex::new(Stage::Begins), process: Process::present() });
    let waker = Waker::from(call.clone());
    if runtime::poll(Pin::new(&mut task), &mut Context::from_waker(&waker)).is_pending() {
        call.awaits(task);
    }
}

struct BegunCall {
    stage: Mutex<Stage>,
    process: Process,
}

enum Stage {
    /// Its first part is running.
    Begins,
    /// The same, and it was woken meanwhile.
    IsWoken,
    /// Whoever wakes it gives it to the runtime.
    Awaits(Later<()>),
    /// The runtime has it.
    GoesOn,
}

impl BegunCall {
    fn awaits(&self, task: Later<()>) {
        let mut stage = lock(&self.stage);
        if let Stage::Begins = *stage {
            *stage = Stage::Awaits(task);
        } else {
            *stage = Stage::GoesOn;
            drop(stage);
            runtime::spawn(task);
        }
    }
}

impl Wake for BegunCall {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // In a forked child the call is the parent's, and so is the lock.
        if !self.process.is_present() {
            return;
        }
        let mut stage = lock(&self.stage);
        match mem::replace(&mut *stage, Stage::GoesOn) {
            Stage::Begins | Stage::IsWoken => *stage = Stage::IsWoken,
            Stage::Awaits(task) => {
                drop(stage);
                runtime::spawn(task);
            }
            Stage::GoesOn => {}
        }
    }
}

impl Drop for BegunCall {
    fn drop(&mut self) {
        if !self.process.is_present() {
            mem::forget(mem::replace(unpoisoned(self.stage.get_mut()), Stage::GoesOn));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::future::poll_fn;
    use std::sync::mpsc::channel;
    use std::task::Poll;
    use std::thread::{self, ThreadId};
    use std::time::Duration;

    use super::*;
    use crate::runtime::tests::{OfTheParent, dropped_in_a_child};

    /// On which threads a task was polled that wants to be polled again: woken at once, or later by another thread.
    fn polled_on(is_woken_at_once: bool) -> [ThreadId; 2] {
        let (sender, polled) = channel();
        let mut times = 0;
        begin(Box::pin(poll_fn(move |context| {
            let _ = sender.send(thread::current().id());
            times += 1;
            if times == 2 {
                return Poll::Ready(());
            }
            let waker = context.waker().clone();
            match is_woken_at_once {
                true => waker.wake(),
                false => drop(thread::spawn(move || waker.wake())),
            }
            Poll::Pending
        })));
        [(); 2].map(|()| polled.recv_timeout(Duration::from_secs(10)).expect("polled again"))
    }

    #[test]
    fn the_first_part_runs_here_and_the_rest_on_the_runtime() {
        // A test's own thread may be too small for a build without optimization.
        let is_large = thread::Builder::new().stack_size(8 << 20);
        let tried = is_large.spawn(|| {
            for is_woken_at_once in [true, false] {
                let [first, second] = polled_on(is_woken_at_once);
                assert_eq!(first, thread::current().id());
                assert_ne!(second, first);
            }
        });
        tried.expect("a thread").join().expect("as it was said");
    }

    #[test]
    fn a_wake_up_that_comes_late_is_none() {
        let (sender, kept) = channel();
        let mut times = 0;
        begin(Box::pin(poll_fn(move |context| {
            times += 1;
            let _ = sender.send(context.waker().clone());
            if times == 1 { Poll::Pending } else { Poll::Ready(()) }
        })));
        let first: Waker = kept.recv().expect("polled");
        first.wake_by_ref();
        kept.recv_timeout(Duration::from_secs(10)).expect("polled again");
        first.wake();
        kept.recv_timeout(Duration::from_secs(10)).expect_err("it is done");
    }

    #[test]
    fn a_forked_child_wakes_and_drops_nothing_of_the_parents() {
        struct Wakes(Waker);
        impl Drop for Wakes {
            fn drop(&mut self) {
                self.0.wake_by_ref();
            }
        }
        let (sender, kept) = channel();
        let parents = OfTheParent(Process::present());
        begin(Box::pin(poll_fn(move |context| {
            let _ = (&parents, sender.send(context.waker().clone()));
            Poll::Pending
        })));
        let waker: Waker = kept.recv().expect("polled");
        dropped_in_a_child("a waker", Wakes(waker));
    }
}
