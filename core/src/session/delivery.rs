//! Where users' callbacks run: on the library's delivery threads, or wherever a face asked for.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use crate::runtime::{self, Job, Lane};

type Sink = Box<dyn Fn(Job) + Send + Sync>;

/// Carries callbacks to the thread that runs them; never the one that noticed the reason for them.
#[derive(Default)]
pub(crate) struct Delivery {
    sink: OnceLock<Sink>,
}

impl Delivery {
    /// From now on everything goes to `sink`. The first call decides.
    pub(crate) fn divert(&self, sink: impl Fn(Job) + Send + Sync + 'static) {
        let _ = self.sink.set(Box::new(sink));
    }

    pub(crate) fn notice(&self, job: Job) {
        self.run(&runtime::NOTICES, job);
    }

    pub(crate) fn loss(&self, job: Job) {
        self.run(&runtime::LOSSES, job);
    }

    pub(crate) fn completion(&self, job: Job) {
        self.run(&runtime::NOTICES, job);
    }

    fn run(&self, lane: &Lane, job: Job) {
        match self.sink.get() {
            Some(sink) => sink(Box::new(move || runtime::run_callback(job))),
            None => lane.run(job),
        }
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
}

impl Subscription {
    pub(crate) fn new(live: Live, unsubscribe: impl FnOnce() + Send + 'static) -> Subscription {
        Subscription { live, unsubscribe: Arc::new(Mutex::new(Some(Box::new(unsubscribe)))) }
    }

    /// Stands for a callback that will never be called.
    pub(crate) fn nothing() -> Subscription {
        Subscription::new(Live::default(), || {})
    }

    /// The callback will not be called any more, unless it is running already. Doing it twice does nothing.
    pub fn unsubscribe(&self) {
        self.live.0.store(false, Ordering::Release);
        if runtime::check_process().is_err() {
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
