//! Where users' callbacks run: on the library's delivery threads, or wherever a face asked for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use crate::log;
use crate::metrics::Counters;
use crate::pool::{self, Job, Line};
use crate::process::Process;
use crate::runtime;
use crate::session::owed::{Owed, Ticket};

/// When a callback's turn is among those of its client.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// After all that came before it.
    InOrder,
    /// A loss: it waits for no other callback, so it goes ahead of all that are not losses.
    Ahead,
}

type Sink = Box<dyn Fn(Turn, Job) + Send + Sync>;

/// Carries callbacks to the thread that runs them; never the one that noticed the reason for them.
#[derive(Default)]
pub(crate) struct Delivery {
    sink: OnceLock<Sink>,
    /// All but the losses, one after the other.
    notices: Line,
    is_silent: Arc<AtomicBool>,
    times: CallbackTimes,
    pub(crate) owed: Arc<Owed>,
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
        self.completion(self.owed.ticket(), job);
    }

    /// The same for the end of a call, which has been owed since the call began.
    pub(crate) fn completion(&self, ticket: Ticket, job: Job) {
        let job = self.audible(Box::new(move || ticket.redeem_in_turn(job)));
        match self.sink.get() {
            Some(sink) => sink(Turn::InOrder, Box::new(|| runtime::run_callback(job))),
            None => self.notices.run(job),
        }
    }

    /// Now.
    pub(crate) fn loss(&self, job: Job) {
        let ticket = self.owed.ticket();
        let job = self.audible(Box::new(move || ticket.redeem(job)));
        match self.sink.get() {
            Some(sink) => sink(Turn::Ahead, Box::new(|| runtime::run_callback(job))),
            None => pool::run(job),
        }
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

/// Whether a callback may still be called. One that is queued already looks here when its turn comes.
#[derive(Clone)]
pub(crate) struct Live(Arc<AtomicBool>);

impl Default for Live {
    fn default() -> Self {
        Live(Arc::new(AtomicBool::new(true)))
    }
}

impl Live {
    pub(crate) fn is_live(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }

    /// `callback`, as long as it is wanted.
    pub(crate) fn guard<T>(
        &self,
        callback: impl FnOnce(T) + Send + 'static,
    ) -> impl FnOnce(T) + Send + 'static {
        let live = self.clone();
        move |value| {
            if live.is_live() {
                callback(value);
            }
        }
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

    /// The callback will not be called any more, unless it is running already. Doing it twice does nothing.
    pub fn unsubscribe(&self) {
        self.live.0.store(false, Ordering::Release);
        if !self.process.is_present() {
            // The locks behind it stayed with the parent's threads.
            return;
        }
        let unsubscribe = self.unsubscribe.lock().unwrap_or_else(|e| e.into_inner()).take();
        if let Some(unsubscribe) = unsubscribe {
            unsubscribe();
        }
    }
}

impl std::fmt::Debug for Subscription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Subscription")
    }
}
