//! Who gets the outcome of a call: the event loop, which is woken for it, or whoever comes instead where the loop is late or nobody
//! waits for the call any more. Nothing here enters Python.

use std::collections::VecDeque;
use std::mem;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use super::means::{Instant, Mutex, MutexGuard, after, in_order};

/// A loop that has not taken an outcome by then is busy, or has closed. The outcome goes the way that tells which.
pub const LATE: Duration = Duration::from_millis(100);

/// Where the outcome of one call goes.
pub trait Destination: Send + 'static {
    type Outcome: Send + 'static;

    fn slot(&self) -> &Slot<Self::Outcome>;
    /// The loop does not come for it, or nobody waits for the call.
    fn hand_over(&self, outcome: Self::Outcome);
}

/// What has the loop come.
pub trait Wakes: Send + Sync + 'static {
    fn wake(&self);
    fn calm(&self);
}

/// How far one call has come.
pub struct Slot<O>(Mutex<Stage<O>>);

enum Stage<O> {
    UnderWay,
    /// Nobody waits for it any more.
    Withdrawn,
    Arrived(O),
    Taken,
}

impl<O> Default for Slot<O> {
    fn default() -> Slot<O> {
        Slot(Mutex::new(Stage::UnderWay))
    }
}

impl<O> Slot<O> {
    fn lock(&self) -> MutexGuard<'_, Stage<O>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The outcome is there; it is given back if the call was withdrawn.
    fn arrives(&self, outcome: O) -> Option<O> {
        let mut stage = self.lock();
        if let Stage::Withdrawn = *stage {
            return Some(outcome);
        }
        *stage = Stage::Arrived(outcome);
        None
    }

    fn take(&self) -> Option<O> {
        let mut stage = self.lock();
        match mem::replace(&mut *stage, Stage::Taken) {
            Stage::Arrived(outcome) => Some(outcome),
            other => {
                *stage = other;
                None
            }
        }
    }

    /// Nobody waits for the call any more. What has arrived and was not taken is the answer, to be dropped.
    pub fn withdraw(&self) -> Option<O> {
        let mut stage = self.lock();
        if let Stage::UnderWay = *stage {
            *stage = Stage::Withdrawn;
        }
        drop(stage);
        self.take()
    }
}

/// What waits for one loop.
pub struct Letters<D, W> {
    waiting: Mutex<WaitingLetters<D>>,
    pub wakeup: W,
}

struct WaitingLetters<D> {
    letters: VecDeque<Letter<D>>,
    /// Somebody looks for late ones.
    is_watched: bool,
}

struct Letter<D> {
    address: D,
    since: Instant,
}

impl<D: Destination, W: Wakes> Letters<D, W> {
    pub fn new(wakeup: W) -> Letters<D, W> {
        let waiting = WaitingLetters { letters: VecDeque::new(), is_watched: false };
        Letters { waiting: Mutex::new(waiting), wakeup }
    }

    fn waiting(&self) -> MutexGuard<'_, WaitingLetters<D>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn post(self: &Arc<Self>, address: D, outcome: D::Outcome) {
        if let Some(outcome) = address.slot().arrives(outcome) {
            return in_order(move || address.hand_over(outcome));
        }
        let mut waiting = self.waiting();
        waiting.letters.push_back(Letter { address, since: Instant::now() });
        let is_first = waiting.letters.len() == 1;
        let was_watched = mem::replace(&mut waiting.is_watched, true);
        drop(waiting);
        if is_first {
            self.wakeup.wake();
        }
        if !was_watched {
            self.watch();
        }
    }

    /// For the loop: what has come, each with its outcome.
    pub fn take(&self) -> impl Iterator<Item = (D, D::Outcome)> + use<D, W> {
        // First: what comes after this wakes the loop again.
        self.wakeup.calm();
        let letters = mem::take(&mut self.waiting().letters);
        letters.into_iter().filter_map(|Letter { address, .. }| {
            let outcome = address.slot().take()?;
            Some((address, outcome))
        })
    }

    fn watch(self: &Arc<Self>) {
        let letters = self.clone();
        after(LATE, move || letters.see_to_late_ones());
    }

    fn see_to_late_ones(self: Arc<Self>) {
        let mut waiting = self.waiting();
        let is_late = |letter: &Letter<D>| letter.since.elapsed() >= LATE;
        let late = waiting.letters.iter().take_while(|letter| is_late(letter)).count();
        let late: Vec<_> = waiting.letters.drain(..late).collect();
        waiting.is_watched = !waiting.letters.is_empty();
        let is_watched = waiting.is_watched;
        drop(waiting);
        for Letter { address, .. } in late {
            in_order(move || {
                if let Some(outcome) = address.slot().take() {
                    address.hand_over(outcome);
                }
            });
        }
        if is_watched {
            self.watch();
        }
    }
}
