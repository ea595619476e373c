//! What one client puts into a queue with the same bound, one transaction after the other, so that it keeps its order. What is put while one is
//! under way goes together in the next: so puts that do not wait for each other are as fast as the server is.
//!
//! Each transaction is applied once, whatever gets lost: see `session::once`. What may go in at all is `room`'s.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::oneshot;

use super::layout::Layout;
use super::room::{Admission, Room, used_up};
use super::sending::{Sending, Waiting as Caller};
use super::take_back::TakeBack;
use crate::error::{Error, ErrorKind, Result};
use crate::path::{self, PACKET_LIMIT};
use crate::session::Session;
use crate::session::call::{Call, refusal};
use crate::session::once::{Marks, Outcome};
use crate::session::open_parents;
use crate::session::wire::{Applied, CreateMode, WireError, Write};

pub(super) const VERB: &str = "put";
/// What is reserved for the parts of a transaction that are about the queue.
const RESERVED: usize = 500;

/// How many items go into one transaction, where there are more. Several are sent at once, and the server works at one while
/// another is on its way.
pub(super) const IN_ONE: usize = 250;

pub(super) struct Puts {
    /// The parent of the items.
    items: String,
    marks: Arc<Marks>,
    waiting: Mutex<Waiting>,
    /// What the one who serves knows of the room there is.
    room: tokio::sync::Mutex<Room>,
}

#[derive(Default)]
struct Waiting {
    queue: VecDeque<Batch>,
    is_served: bool,
    /// Whether the first waits for room. A call that may not wait does not queue behind it.
    is_full: bool,
}

/// What one call puts.
pub(super) struct Batch {
    /// What has not gone in yet.
    pub(super) writes: VecDeque<Write>,
    pub(super) sending: Arc<Sending>,
    /// Whether the caller gave no time to wait for room.
    is_single: bool,
    answer: oneshot::Sender<Result<()>>,
}

impl Batch {
    /// Whether something of it has gone in.
    pub(super) fn has_begun(&self) -> bool {
        self.sending.has_begun()
    }
}

/// What has failed.
struct Failure {
    /// Of how many of the batches that are left, from the first on.
    of: usize,
    error: Error,
}

impl Puts {
    pub(super) fn new(items: &str, marks: &Arc<Marks>, bound: Option<usize>) -> Puts {
        Puts {
            items: items.to_owned(),
            marks: marks.clone(),
            waiting: Mutex::default(),
            room: tokio::sync::Mutex::new(Room::new(items, bound)),
        }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Puts all of `writes`, in order, behind what was to be put before. In a task of its own, so that a caller who goes takes no
    /// answer along that others wait for.
    pub(super) fn begin(
        self: &Arc<Self>,
        call: &Call,
        writes: VecDeque<Write>,
        take_back: TakeBack,
    ) -> Caller {
        let (session, sending) = (call.session().clone(), Arc::new(Sending::default()));
        let (answer, answered) = oneshot::channel();
        let caller = Caller::new(sending.clone(), answered, take_back, writes.len());
        let batch = Batch { writes, sending, is_single: call.is_single_attempt(), answer };
        let is_served = {
            let mut waiting = self.waiting();
            waiting.queue.push_back(batch);
            waiting.refuse_who_cannot_wait();
            std::mem::replace(&mut waiting.is_served, true)
        };
        if !is_served {
            session.clock().spawn(Box::pin(self.clone().serve(session.clone())));
        }
        caller
    }

    async fn serve(self: Arc<Self>, session: Arc<Session>) {
        let mut served = Served(Some(&self));
        let mut room = self.room.lock().await;
        loop {
            let mut batches = self.next(&session);
            if batches.is_empty() {
                if self.is_done() {
                    // Who was the last may have been withdrawn while it counted.
                    room.give_up();
                    served.0 = None;
                    return;
                }
                continue;
            }
            if let Err(Failure { of, error }) = self.serve_some(&session, &mut room, &mut batches).await {
                for batch in batches.drain(..of) {
                    let _ = batch.answer.send(Err(error.clone()));
                }
            }
            let mut waiting = self.waiting();
            while let Some(batch) = batches.pop_back() {
                batch.sending.settle();
                waiting.queue.push_front(batch);
            }
        }
    }

    /// Puts as many items of the batches as go into the queue, and into one packet, and takes them out of the batches.
    async fn serve_some(
        &self,
        session: &Arc<Session>,
        room: &mut Room,
        batches: &mut VecDeque<Batch>,
    ) -> Result<(), Failure> {
        let failure = |of, error: Error| Failure { of, error: error.with_path(&self.items) };
        let first = |error| failure(1, error);
        let fitting = self.cut(session, batches).map_err(first)?;
        let mut call = session.call(None);
        loop {
            batches.iter().for_each(|batch| batch.sending.settle());
            if batches.iter().any(|batch| batch.sending.is_withdrawn()) {
                return Ok(());
            }
            // All of them have waited for a server for so long.
            call.connection(VERB).await.map_err(|error| failure(batches.len(), error))?;
            let epoch = session.epoch();
            let looked = open_parents::look(session, &epoch, &mut call, VERB, &self.items).await;
            looked.map_err(|error| failure(batches.len(), error))?;
            let (many, guard) = match room.admit(session, &mut call, &batches[0], fitting).await {
                Ok(Admission::Some { many, guard }) => (many, guard),
                Ok(Admission::Full) if batches[0].is_single => {
                    return Err(failure(batches.len(), full()));
                }
                Ok(Admission::Full) => {
                    let _full = self.full();
                    tokio::select! {
                        biased;
                        () = batches[0].answer.closed() => {
                            room.give_up();
                            return Ok(());
                        }
                        changed = call.patiently(room.changed(session)) => {
                            changed.and_then(|changed| changed).map_err(first)?;
                        }
                    }
                    continue;
                }
                Err(error) => return Err(first(error)),
            };
            let mut parts: Vec<_> = guard.into_iter().collect();
            let guards = parts.len();
            parts.extend(batches.iter().flat_map(|batch| &batch.writes).take(many).cloned());
            // Only the first with a guard finds what that asks for.
            let size = if guards > 0 { parts.len() } else { IN_ONE };
            let row: Vec<_> = parts.chunks(size).collect();
            // Of what stands behind these nothing is sent.
            let (mut sent, mut went_in) = (batches_of(batches, many), 0);
            if !batches.iter().take(sent).all(|batch| batch.sending.leaves()) {
                continue;
            }
            // Whoever is not waiting any more when the last answer comes still hears what had gone in.
            let tell = |applied: &[Write], made: Option<Vec<Applied>>| {
                let around = if went_in == 0 { guards } else { 0 };
                let items = applied.len() - around;
                went_in += items;
                room.went_in(items);
                sent -= go_in(batches, items, made.into_iter().flatten().skip(around));
            };
            // Closing waits for those who want to take back what is on its way.
            let mut under_way = session.call(None).through_closing();
            let outcome = self.marks.apply_row(session, &mut under_way, VERB, &row, tell).await;
            let failed = |error| failure(sent, error);
            match outcome.map_err(failed)? {
                Outcome::Applied => return Ok(()),
                // Somebody else has put something meanwhile: it may be full now.
                Outcome::Refused(part, WireError::BadVersion | WireError::NoNode) if part < guards => {}
                Outcome::Refused(_, WireError::NoNode) if went_in > 0 => return Ok(()),
                Outcome::Refused(_, WireError::NoNode) => {
                    make_items(session, &mut call, VERB, &self.items).await.map_err(failed)?;
                }
                Outcome::Refused(_, WireError::NodeExists) => return Err(failed(used_up())),
                Outcome::Refused(_, error) => return Err(failed(refusal(error, VERB, &self.items))),
            }
        }
    }

    /// The queue is full, until the answer is dropped.
    fn full(&self) -> Full<'_> {
        let mut waiting = self.waiting();
        waiting.is_full = true;
        waiting.refuse_who_cannot_wait();
        Full(self)
    }

    /// Whether nobody waits; then the next one has to be served anew.
    fn is_done(&self) -> bool {
        let mut waiting = self.waiting();
        let is_done = waiting.queue.is_empty();
        waiting.is_served = !is_done;
        is_done
    }

    /// How large the items of a transaction may be together.
    fn largest(&self, session: &Session) -> usize {
        let measure = session.epoch().measure();
        let about_the_queue = 3 * measure.check(&self.items) + RESERVED;
        PACKET_LIMIT.saturating_sub(measure.empty_multi() + about_the_queue)
    }

    /// The first of what waits, without what was withdrawn: more than enough for one transaction. All can wait for room, or
    /// none.
    fn next(&self, session: &Session) -> VecDeque<Batch> {
        let (measure, largest) = (session.epoch().measure(), self.largest(session));
        let mut waiting = self.waiting();
        let (mut batches, mut bytes) = (VecDeque::<Batch>::new(), 0);
        waiting.queue.retain(|batch| !batch.sending.is_withdrawn());
        while bytes <= largest
            && let Some(batch) = pop_like(&mut waiting.queue, batches.front())
        {
            for write in &batch.writes {
                bytes += measure.part(write);
                if bytes > largest {
                    break;
                }
            }
            batches.push_back(batch);
        }
        batches
    }

    /// How many of the items go into one transaction; TooLarge if the first one alone does not.
    fn cut(&self, session: &Session, batches: &VecDeque<Batch>) -> Result<usize> {
        let (measure, largest) = (session.epoch().measure(), self.largest(session));
        let (mut many, mut bytes) = (0, 0);
        for item in batches.iter().flat_map(|batch| &batch.writes) {
            bytes += measure.part(item);
            if bytes > largest {
                break;
            }
            many += 1;
        }
        if many > 0 || bytes == 0 {
            return Ok(many);
        }
        Err(Error::new(
            ErrorKind::TooLarge,
            format!(
                "too large: the item would be a packet of {} bytes, and a server takes at most {PACKET_LIMIT}; store large \
                 values elsewhere and put a reference",
                bytes + PACKET_LIMIT - largest
            ),
        ))
    }
}

/// Notes that the first `many` have gone in, and what that made where it was told. Answers how many batches that finished.
fn go_in(batches: &mut VecDeque<Batch>, mut many: usize, mut made: impl Iterator<Item = Applied>) -> usize {
    let all = batches.len();
    while many > 0 {
        let batch = &mut batches[0];
        let of_it = many.min(batch.writes.len());
        batch.writes.drain(..of_it);
        let nodes = made.by_ref().take(of_it).filter_map(Applied::created);
        batch.sending.went_in(of_it, nodes);
        many -= of_it;
        if batch.writes.is_empty()
            && let Some(batch) = batches.pop_front()
        {
            // Some callers may not wait any more.
            let _ = batch.answer.send(Ok(()));
        }
    }
    all - batches.len()
}

impl Waiting {
    /// While it is full, those who cannot wait are told so.
    fn refuse_who_cannot_wait(&mut self) {
        if !self.is_full {
            return;
        }
        let all = std::mem::take(&mut self.queue);
        let (refused, rest): (VecDeque<_>, _) = all.into_iter().partition(|batch| batch.is_single);
        self.queue = rest;
        for batch in refused {
            let _ = batch.answer.send(Err(full()));
        }
    }
}

fn full() -> Error {
    Error::timeout("there was no room in the queue")
}

struct Full<'a>(&'a Puts);

impl Drop for Full<'_> {
    fn drop(&mut self) {
        self.0.waiting().is_full = false;
    }
}

/// The next batch, if it can wait as `first` can.
fn pop_like(queue: &mut VecDeque<Batch>, first: Option<&Batch>) -> Option<Batch> {
    let is_like = first.is_none_or(|first| Some(first.is_single) == queue.front().map(|next| next.is_single));
    if is_like { queue.pop_front() } else { None }
}

/// How many of the batches the first writes are of, so many.
fn batches_of(batches: &VecDeque<Batch>, many: usize) -> usize {
    let mut before = 0;
    let is_reached = |batch: &&Batch| {
        let is_reached = before < many;
        before += batch.writes.len();
        is_reached
    };
    batches.iter().take_while(is_reached).count()
}

pub(super) fn vanished() -> Error {
    Error::new(
        ErrorKind::Internal,
        "a put ended without a result, which is a bug of zkrecipes; please report it",
    )
}

/// Makes the parent of the items, which stays when it is empty: numbers would begin anew with another one, and a request that was
/// lost could mean the next item of its name. What is above it is made as everywhere.
pub(super) async fn make_items(
    session: &Arc<Session>,
    call: &mut Call,
    verb: &str,
    items: &str,
) -> Result<()> {
    if path::parent(items) != "/" {
        make_as(session, call, verb, path::parent(items), session.parents()).await?;
    }
    make_as(session, call, verb, items, CreateMode::Persistent).await
}

/// Makes the parent of the claims, which peers may count on where they claim, too.
pub(super) async fn make_claims(
    session: &Arc<Session>,
    call: &mut Call,
    verb: &str,
    layout: &Layout,
) -> Result<()> {
    let mode = if layout.has_claims_of_peers { session.parents() } else { CreateMode::Container };
    make_as(session, call, verb, &layout.claims, mode).await
}

pub(super) async fn make_as(
    session: &Arc<Session>,
    call: &mut Call,
    verb: &str,
    path: &str,
    mode: CreateMode,
) -> Result<()> {
    let epoch = call.epoch(verb).await?;
    match call.briefly(verb, session.ensure(&epoch, path, mode)).await? {
        Err(error) if error.is_unanswered() => call.retry_after_loss(verb).await,
        made => made.map_err(|error| refusal(error, verb, path)),
    }
}

/// If serving ends by a panic, nobody is to wait for it.
struct Served<'a>(Option<&'a Puts>);

impl Drop for Served<'_> {
    fn drop(&mut self) {
        if let Some(puts) = self.0 {
            let mut waiting = puts.waiting();
            waiting.is_served = false;
            let left = std::mem::take(&mut waiting.queue);
            drop(waiting);
            drop(left);
        }
    }
}
