//! What one client removes from a queue for good. Removals that come while others are under way go together in one
//! transaction: so gets that do not wait for each other are as fast as the server is. Each leaves on the connection on which its
//! item was read, or not at all: see `session::once::seen`.
//!
//! One that is refused takes none along. Those ahead of it in the transaction are sent again. Those behind it are read again
//! first: whoever was faster there was probably faster at its neighbours, too, and a read costs less than a refusal.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::oneshot;

use super::take::{VERB, vanished};
use crate::error::Result;
use crate::path::PACKET_LIMIT;
use crate::session::Session;
use crate::session::epoch::Connection;
use crate::session::once::{Marks, Outcome};
use crate::session::wire::{WireError, Write};

/// How many transactions are under way at the same time. With one, those who got something in it and come again would find
/// the next one gone, and wait for two.
const AT_ONCE: usize = 2;
/// How many removals go together at most.
const MOST: usize = 100;
/// What is reserved for the part of a transaction that says that it was made.
const RESERVED: usize = 1000;

pub(super) struct Removals {
    marks: Arc<Marks>,
    waiting: Mutex<Waiting>,
}

#[derive(Default)]
struct Waiting {
    queue: VecDeque<Removal>,
    /// How many tasks serve them.
    serving: usize,
}

struct Removal {
    writes: Vec<Write>,
    seen_on: Connection,
    answer: oneshot::Sender<Result<Removed>>,
}

/// What became of a removal.
pub(super) enum Removed {
    Applied,
    /// It was not and never will be, because of its part of that number.
    Refused(usize, WireError),
    /// It was not, because of another one, or because the item was read on a connection that is gone.
    Unsure,
}

impl Removals {
    pub(super) fn new(marks: &Arc<Marks>) -> Arc<Removals> {
        Arc::new(Removals { marks: marks.clone(), waiting: Mutex::default() })
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Applies `writes` once, maybe together with others. Must not be dropped before it is done, for then nobody knows.
    pub(super) async fn apply(
        self: &Arc<Self>,
        session: &Arc<Session>,
        writes: Vec<Write>,
        seen_on: Connection,
    ) -> Result<Removed> {
        let (answer, answered) = oneshot::channel();
        let is_served = {
            let mut waiting = self.waiting();
            waiting.queue.push_back(Removal { writes, seen_on, answer });
            let is_served = waiting.serving == AT_ONCE;
            waiting.serving += usize::from(!is_served);
            is_served
        };
        if !is_served {
            session.clock().spawn(Box::pin(self.clone().serve(session.clone())));
        }
        answered.await.unwrap_or_else(|_| Err(vanished()))
    }

    async fn serve(self: Arc<Self>, session: Arc<Session>) {
        let mut serving = Serving(Some(&self));
        while let Some(removals) = self.next(&session) {
            self.apply_all(&session, removals).await;
        }
        serving.0 = None;
    }

    /// What goes together in the next transaction; `None` when nobody waits, and then the next one has to be served anew.
    fn next(&self, session: &Session) -> Option<VecDeque<Removal>> {
        let measure = session.epoch().measure();
        let largest = PACKET_LIMIT.saturating_sub(measure.empty_multi() + RESERVED);
        let mut waiting = self.waiting();
        let mut bytes = 0;
        let mut fits = |removal: &Removal| {
            bytes += removal.writes.iter().map(|write| measure.part(write)).sum::<usize>();
            bytes <= largest
        };
        let seen_on = waiting.queue.front().map(|first| first.seen_on);
        let goes_along = |removal: &&Removal| Some(removal.seen_on) == seen_on && fits(removal);
        // One that is too large for any has one to itself.
        let many = waiting.queue.iter().take(MOST).take_while(goes_along).count().max(1);
        let many = many.min(waiting.queue.len());
        waiting.serving -= usize::from(many == 0);
        (many > 0).then(|| waiting.queue.drain(..many).collect())
    }

    async fn apply_all(&self, session: &Arc<Session>, mut removals: VecDeque<Removal>) {
        let seen_on = removals[0].seen_on;
        let writes: Vec<_> = removals.iter().flat_map(|removal| removal.writes.iter().cloned()).collect();
        let mut call = session.call(None).outlasting();
        // Some callers may not wait any more.
        match self.marks.apply_seen(session, &mut call, VERB, &writes, seen_on).await {
            Ok(None) => removals.into_iter().for_each(|removal| _ = removal.answer.send(Ok(Removed::Unsure))),
            Ok(Some(Outcome::Applied)) => {
                removals.into_iter().for_each(|removal| _ = removal.answer.send(Ok(Removed::Applied)));
            }
            Ok(Some(Outcome::Refused(mut part, error))) => {
                let mut ahead = VecDeque::new();
                while let Some(removal) = removals.pop_front() {
                    if part < removal.writes.len() {
                        let _ = removal.answer.send(Ok(Removed::Refused(part, error)));
                        break;
                    }
                    part -= removal.writes.len();
                    ahead.push_back(removal);
                }
                removals.into_iter().for_each(|removal| _ = removal.answer.send(Ok(Removed::Unsure)));
                let mut waiting = self.waiting();
                ahead.into_iter().rev().for_each(|removal| waiting.queue.push_front(removal));
            }
            Err(error) => {
                removals.into_iter().for_each(|removal| _ = removal.answer.send(Err(error.clone())));
            }
        }
    }
}

/// If serving ends by a panic, nobody is to wait for it.
struct Serving<'a>(Option<&'a Removals>);

impl Drop for Serving<'_> {
    fn drop(&mut self) {
        if let Some(removals) = self.0 {
            let mut waiting = removals.waiting();
            waiting.serving -= 1;
            let left = std::mem::take(&mut waiting.queue);
            drop(waiting);
            drop(left);
        }
    }
}
