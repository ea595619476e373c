//! Where users' callbacks run: on the library's delivery threads, or wherever a face asked for.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use crate::log;
use crate::metrics::Counters;
use crate::mutex::{lock, unpoisoned};
use crate::pool::{self, Job, Strand};
use crate::process::Process;
use crate::runtime;
use crate::session::pending_callbacks::{PendingCallback, PendingCallbacks};
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::sync::{Condvar, Mutex};

/// When a callback's turn is among those of its client.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// After all that came before it.
    InOrder,
    /// A loss: it waits for no other callback, so it goes ahead of all that are not losses.
    Ahead,
}

type Sink = Box<dyn Fn(Turn, Job) + Send + Sync>;

/// Carries callbacks to the thread that runs them, which is never the thread that noticed the event.
#[derive(Default)]
pub(crate) struct Delivery {
    sink: OnceLock<Sink>,
    /// How many the sink has that were not run.
    with_the_sink: Arc<AtomicUsize>,
    /// All but the losses, one after the other.
    notices: Strand,
    is_silent: Arc<AtomicBool>,
    times: CallbackTimes,
    pub(crate) pending_callbacks: Arc<PendingCallbacks>,
}

/// A callback that takes longer is told of.
const SLOW: Duration = Duration::from_secs(1);

/// Hears how long each callback of a client took, from whoever called it. It does not keep the client.
#[derive(Clone, Default)]
pub struct CallbackTimes(Arc<Counters>);

impl CallbackTimes {
    pub fn took(&self, took: Duration) {
        if took >= SLOW {
            self.0.slow_callbacks.one();
            log::slow_callback(took);
        }
    }
}

impl Delivery {
    pub(crate) fn counted(counters: &Arc<Counters>) -> Delivery {
        Delivery { times: CallbackTimes(counters.clone()), ..Delivery::default() }
    }

    /// From now on everything goes to `sink`. The first call decides.
    pub(crate) fn divert(&self, sink: impl Fn(Turn, Job) + Send + Sync + 'static) {
        let _ = self.sink.set(Box::new(sink));
    }

    /// After the other notices of this client.
    pub(crate) fn notice(&self, job: Job) {
        self.completion(self.pending_callbacks.add(), job);
    }

    /// The same for the end of a call, whose ticket was taken when the call began.
    pub(crate) fn completion(&self, callback_to_come: PendingCallback, job: Job) {
        let job = self.audible(Box::new(move || callback_to_come.run_in_turn(job)));
        match self.sink.get() {
            Some(sink) => self.hand_over(sink, Turn::InOrder, job),
            None => self.notices.run(job),
        }
    }

    /// Now.
    pub(crate) fn loss(&self, job: Job) {
        let callback_to_come = self.pending_callbacks.add();
        let job = self.audible(Box::new(move || callback_to_come.run(job)));
        match self.sink.get() {
            Some(sink) => self.hand_over(sink, Turn::Ahead, job),
            None => pool::run(job),
        }
    }

    fn hand_over(&self, sink: &Sink, turn: Turn, job: Job) {
        struct WithTheSink(Arc<AtomicUsize>);
        impl Drop for WithTheSink {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::AcqRel);
            }
        }
        self.with_the_sink.fetch_add(1, Ordering::AcqRel);
        let until_run = WithTheSink(self.with_the_sink.clone());
        sink(
            turn,
            Box::new(move || {
                runtime::run_callback(job);
                drop(until_run);
            }),
        );
    }

    /// Whether callbacks wait for whoever is to run what the sink was given.
    pub(crate) fn waits_for_the_sink(&self) -> bool {
        self.with_the_sink.load(Ordering::Acquire) > 0
    }

    /// From now on no callback is begun.
    pub(crate) fn silence(&self) {
        self.is_silent.store(true, Ordering::Release);
    }

    pub(crate) fn times(&self) -> CallbackTimes {
        self.times.clone()
    }

    fn audible(&self, job: Job) -> Job {
        let (is_silent, times) = (self.is_silent.clone(), self.times());
        Box::new(move || {
            if !is_silent.load(Ordering::Acquire) {
                let begun = Instant::now();
                job();
                times.took(begun.elapsed());
            }
        })
    }
}

/// What stands between a subscription and its callback. One that is queued already looks here when its turn comes.
#[derive(Clone, Default)]
pub(crate) struct Live(Arc<Passage>);

#[derive(Default)]
struct Passage {
    calls: Mutex<Calls>,
    idle: Condvar,
    process: Process,
}

#[derive(Default)]
struct Calls {
    is_over: bool,
    /// How many calls of the callback are running.
    running: usize,
}

impl Live {
    /// Makes a call of the callback, as long as it is wanted.
    pub(crate) fn pass(&self, call: impl FnOnce()) {
        {
            let mut calls = lock(&self.0.calls);
            if calls.is_over {
                return;
            }
            calls.running += 1;
        }
        let _running = Running(&self.0);
        call();
    }

    /// `callback`, as long as it is wanted.
    pub(crate) fn guard<T>(
        &self,
        callback: impl FnOnce(T) + Send + 'static,
    ) -> impl FnOnce(T) + Send + 'static {
        let live = self.clone();
        move |value| live.pass(move || callback(value))
    }

    /// No call begins any more.
    fn end(&self) {
        lock(&self.0.calls).is_over = true;
    }

    /// Waits until no call is running, for so long at most; false if one still is then.
    fn until_idle(&self, limit: Option<Duration>) -> bool {
        let (calls, is_running) = (lock(&self.0.calls), |calls: &mut Calls| calls.running > 0);
        match limit {
            None => {
                drop(self.0.idle.wait_while(calls, is_running));
                true
            }
            Some(limit) => {
                let waited = self.0.idle.wait_timeout_while(calls, limit, is_running);
                unpoisoned(waited).0.running == 0
            }
        }
    }
}

/// A call of a callback, until it has returned or panicked.
struct Running<'a>(&'a Passage);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if !self.0.process.is_present() {
            // The callback forked, and this is the child: the lock may be held by a thread that stayed with the parent.
            return;
        }
        lock(&self.0.calls).running -= 1;
        self.0.idle.notify_all();
    }
}

/// Stands for one registered callback. Dropping it leaves the callback in place.
#[derive(Clone)]
pub struct Subscription {
    live: Live,
    unsubscribe: Arc<Mutex<Option<Job>>>,
    process: Process,
}

impl Subscription {
    pub(crate) fn new(live: Live, unsubscribe: impl FnOnce() + Send + 'static) -> Subscription {
        let unsubscribe: Job = Box::new(unsubscribe);
        Subscription {
            live,
            unsubscribe: Arc::new(Mutex::new(Some(unsubscribe))),
            process: Process::present(),
        }
    }

    /// Stands for a callback that will never be called.
    pub(crate) fn nothing() -> Subscription {
        Subscription::new(Live::default(), || {})
    }

    /// The callback will not be called any more. If it is running, this returns when it is over: hold no lock that it takes.
    /// Inside a callback it never waits. Doing it twice does nothing more.
    pub fn unsubscribe(&self) {
        self.end();
        self.until_over(None);
    }

    /// The same without waiting, for a face that sees to that itself.
    #[doc(hidden)]
    pub fn end(&self) {
        if !self.process.is_present() {
            // The locks behind it stayed with the parent's threads.
            return;
        }
        self.live.end();
        let unsubscribe = lock(&self.unsubscribe).take();
        if let Some(unsubscribe) = unsubscribe {
            unsubscribe();
        }
    }

    /// Waits until the callback is not running, for so long at most; false if it still is then. Inside a callback, where it
    /// could be waited for itself, and in a forked child, where none is running, it does not wait.
    #[doc(hidden)]
    pub fn until_over(&self, limit: Option<Duration>) -> bool {
        let may_wait = self.process.is_present() && runtime::check_may_block().is_ok();
        !may_wait || self.live.until_idle(limit)
    }
}

impl std::fmt::Debug for Subscription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Subscription")
    }
}
