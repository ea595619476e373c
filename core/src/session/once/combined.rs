//! Small changes of several callers that go together in one transaction, such as the removals of the items that a client takes:
//! those that come while others are under way wait for the next one. So callers that do not wait for each other are as fast as
//! the server is. Each change leaves on the connection on which its nodes were seen, or not at all: see `seen`.
//!
//! One that is refused takes none along. Those ahead of it in the transaction are sent again. Those behind it are `Unsure`:
//! whoever was faster there was probably faster at its neighbours, too, and a read costs less than a refusal.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::oneshot;

use super::{AppliedOnce, Marks};
use crate::error::{Error, ErrorKind, Result};
use crate::mutex::lock;
use crate::path::PACKET_LIMIT;
use crate::session::Session;
use crate::session::server_session::ConnectionId;
use crate::session::wire::{WireError, Write};

/// How many transactions are under way at the same time. With one, those who got something in it and come again would find
/// the next one gone, and wait for two.
const AT_ONCE: usize = 2;
/// How many changes go together at most.
const MOST: usize = 100;
/// What is reserved for the part of a transaction that says that it was made.
const RESERVED: usize = 1000;

pub(crate) struct CombinedChanges {
    marks: Arc<Marks>,
    /// What is done, for people.
    verb: &'static str,
    waiting: Mutex<ChangesToCombine>,
}

#[derive(Default)]
struct ChangesToCombine {
    queue: VecDeque<PendingChange>,
    /// How many tasks serve them.
    serving: usize,
}

struct PendingChange {
    writes: Vec<Write>,
    seen_on: ConnectionId,
    answer: oneshot::Sender<Result<CombinedOutcome>>,
}

/// What became of a change.
pub(crate) enum CombinedOutcome {
    Applied,
    /// It was not and never will be, because of its part of that number.
    Refused(usize, WireError),
    /// It was not, because of another one, or because its nodes were seen on a connection that is gone.
    Unsure,
}

impl CombinedChanges {
    pub(crate) fn new(marks: &Arc<Marks>, verb: &'static str) -> Arc<CombinedChanges> {
        Arc::new(CombinedChanges { marks: marks.clone(), verb, waiting: Mutex::default() })
    }

    fn waiting(&self) -> MutexGuard<'_, ChangesToCombine> {
        lock(&self.waiting)
    }

    /// Applies `writes` once, maybe together with others. Must not be dropped before it is done, for then nobody knows.
    pub(crate) async fn apply(
        self: &Arc<Self>,
        session: &Arc<Session>,
        writes: Vec<Write>,
        seen_on: ConnectionId,
    ) -> Result<CombinedOutcome> {
        let (answer, answered) = oneshot::channel();
        let is_served = {
            let mut waiting = self.waiting();
            waiting.queue.push_back(PendingChange { writes, seen_on, answer });
            let is_served = waiting.serving == AT_ONCE;
            waiting.serving += usize::from(!is_served);
            is_served
        };
        if !is_served {
            session.clock().spawn(Box::pin(self.clone().serve(session.clone())));
        }
        answered.await.unwrap_or_else(|_| {
            Err(Error::new(
                ErrorKind::Internal,
                "a change ended without a result, which is a bug of zkrecipes; please report it",
            ))
        })
    }

    async fn serve(self: Arc<Self>, session: Arc<Session>) {
        let mut serving = ServingTask(Some(&self));
        while let Some(changes) = self.next(&session) {
            self.apply_all(&session, changes).await;
        }
        serving.0 = None;
    }

    /// What goes together in the next transaction; `None` when nobody waits, and then the next one has to be served anew.
    fn next(&self, session: &Session) -> Option<VecDeque<PendingChange>> {
        let measure = session.server_session().measure();
        let largest = PACKET_LIMIT.saturating_sub(measure.empty_multi() + RESERVED);
        let mut waiting = self.waiting();
        let mut bytes = 0;
        let mut fits = |change: &PendingChange| {
            bytes += change.writes.iter().map(|write| measure.part(write)).sum::<usize>();
            bytes <= largest
        };
        let seen_on = waiting.queue.front().map(|first| first.seen_on);
        let goes_along = |change: &&PendingChange| Some(change.seen_on) == seen_on && fits(change);
        // One that is too large for any has one to itself.
        let many = waiting.queue.iter().take(MOST).take_while(goes_along).count().max(1);
        let many = many.min(waiting.queue.len());
        waiting.serving -= usize::from(many == 0);
        (many > 0).then(|| waiting.queue.drain(..many).collect())
    }

    async fn apply_all(&self, session: &Arc<Session>, mut changes: VecDeque<PendingChange>) {
        let seen_on = changes[0].seen_on;
        let writes: Vec<_> = changes.iter().flat_map(|change| change.writes.iter().cloned()).collect();
        let mut call = session.call(None).outlasting();
        // Some callers may not wait any more.
        match self.marks.apply_seen(session, &mut call, self.verb, &writes, seen_on).await {
            Ok(None) => {
                changes.into_iter().for_each(|change| _ = change.answer.send(Ok(CombinedOutcome::Unsure)))
            }
            Ok(Some(AppliedOnce::Applied)) => {
                changes.into_iter().for_each(|change| _ = change.answer.send(Ok(CombinedOutcome::Applied)));
            }
            Ok(Some(AppliedOnce::Refused(mut part, error))) => {
                let mut ahead = VecDeque::new();
                while let Some(change) = changes.pop_front() {
                    if part < change.writes.len() {
                        let _ = change.answer.send(Ok(CombinedOutcome::Refused(part, error)));
                        break;
                    }
                    part -= change.writes.len();
                    ahead.push_back(change);
                }
                changes.into_iter().for_each(|change| _ = change.answer.send(Ok(CombinedOutcome::Unsure)));
                let mut waiting = self.waiting();
                ahead.into_iter().rev().for_each(|change| waiting.queue.push_front(change));
            }
            Err(error) => {
                changes.into_iter().for_each(|change| _ = change.answer.send(Err(error.clone())));
            }
        }
    }
}

/// If serving ends by a panic, nobody is to wait for it.
struct ServingTask<'a>(Option<&'a CombinedChanges>);

impl Drop for ServingTask<'_> {
    fn drop(&mut self) {
        if let Some(changes) = self.0 {
            let mut waiting = changes.waiting();
            waiting.serving -= 1;
            let left = std::mem::take(&mut waiting.queue);
            drop(waiting);
            drop(left);
        }
    }
}
