//! Putting items.
//!
//! What one client puts into a queue with the same bound goes in one transaction after the other, so that it keeps its order. What is put
//! while one is under way goes together in the next: so puts that do not wait for each other are as fast as the server is.
//! Each transaction is applied once, whatever gets lost: see `session::once`. What may go in at all is `room`'s.
//!
//! Whoever runs out of time or withdraws hears what became of its put:
//!
//! 1. Before a transaction leaves, each call with an item in it is asked whether that is still wanted. A call that has
//!    withdrawn by then has certainly put nothing more: Timeout or Cancelled.
//! 2. Later the transaction cannot be called back. The caller waits a moment for its answer, and hears that: what is in is in. Without an
//!    answer nobody knows, which is ConnectionLost.
//! 3. A caller that drops the future hears nothing any more. So what went in is taken back, in the background. What
//!    somebody else has taken by then is told in the log.

use std::collections::VecDeque;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::oneshot;

use super::layout::{NodeLayout, make_claims, make_items};
use super::room::{Admission, QueueRoom, VERB, used_up};
use crate::error::{Error, ErrorKind, Result};
use crate::mutex::lock;
use crate::path::{self, PACKET_LIMIT};
use crate::session::Session;
use crate::session::call::{Call, refusal};
use crate::session::once::{AppliedOnce, Marks};
use crate::session::open_parents;
use crate::session::wire::{Applied, Created, Flight, WireError, Write};

/// What is reserved for the parts of a transaction that are about the queue.
const RESERVED: usize = 500;

/// How many items go into one transaction, where there are more. Several are sent at once, and the server works at one while
/// another is on its way.
pub(super) const IN_ONE: usize = 250;

/// How long the answer to what was sent may come late.
const LATE_ANSWER: Duration = Duration::from_millis(500);
const TAKING_BACK: &str = "taking back a put";
/// How many are taken back at the same time.
const AT_ONCE: usize = 100;

pub(super) struct Puts {
    layout: Arc<NodeLayout>,
    marks: Arc<Marks>,
    has_bound: bool,
    waiting: Mutex<PendingPuts>,
    /// What the one who serves knows of the room there is.
    room: tokio::sync::Mutex<QueueRoom>,
}

#[derive(Default)]
struct PendingPuts {
    queue: VecDeque<Batch>,
    is_served: bool,
    /// Whether the first waits for room. A call that may not wait does not queue behind it.
    is_full: bool,
}

/// What one call puts.
pub(super) struct Batch {
    /// What has not gone in yet.
    pub(super) writes: VecDeque<Write>,
    pub(super) sending: Arc<PutProgress>,
    /// Whether the caller gave no time to wait for room.
    is_single: bool,
    /// Whether it waits for room without a limit, and so through outages.
    insists: bool,
    answer: oneshot::Sender<Result<()>>,
}

/// What has failed.
struct PutFailure {
    /// Of how many of the batches that are left, from the first on.
    of: usize,
    error: Error,
}

impl Puts {
    pub(super) fn new(layout: &Arc<NodeLayout>, marks: &Arc<Marks>, bound: Option<usize>) -> Arc<Puts> {
        let room = tokio::sync::Mutex::new(QueueRoom::new(&layout.items, bound));
        let (layout, marks, has_bound) = (layout.clone(), marks.clone(), bound.is_some());
        Arc::new(Puts { layout, marks, has_bound, waiting: Mutex::default(), room })
    }

    fn waiting(&self) -> MutexGuard<'_, PendingPuts> {
        lock(&self.waiting)
    }

    /// Puts all of `writes`, in order, behind what was to be put before. In a task of its own, so that a caller who goes takes no
    /// answer along that others wait for.
    pub(super) fn begin(self: &Arc<Self>, call: &Call, writes: VecDeque<Write>) -> PutAnswer {
        let (session, sending) = (call.session().clone(), Arc::new(PutProgress::default()));
        let (answer, answered) = oneshot::channel();
        let take_back = TakeBack { session: session.clone(), layout: self.layout.clone() };
        let (sent, answered) = (sending.clone(), Some(answered));
        let caller =
            PutAnswer { sending: sent, answer: answered, take_back: Some(take_back), all: writes.len() };
        let (is_single, insists) = (call.is_single_attempt(), self.has_bound && !call.has_limit());
        let batch = Batch { writes, sending, is_single, insists, answer };
        let is_served = {
            let mut waiting = self.waiting();
            waiting.queue.push_back(batch);
            waiting.refuse_calls_that_cannot_wait();
            std::mem::replace(&mut waiting.is_served, true)
        };
        if !is_served {
            session.clock().spawn(Box::pin(self.clone().serve(session.clone())));
        }
        caller
    }

    async fn serve(self: Arc<Self>, session: Arc<Session>) {
        let mut served = ServingPuts(Some(&self));
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
            if let Err(PutFailure { of, error }) = self.serve_some(&session, &mut room, &mut batches).await {
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
        room: &mut QueueRoom,
        batches: &mut VecDeque<Batch>,
    ) -> Result<(), PutFailure> {
        let failure = |of, error: Error| PutFailure { of, error: error.with_path(&self.layout.items) };
        let first = |error| failure(1, error);
        let fitting = self.cut(session, batches);
        let mut call = session.call(None);
        if batches[0].insists {
            call.outlast_outages();
        }
        let mut is_first = true;
        loop {
            batches.iter().for_each(|batch| batch.sending.settle());
            if batches.iter().any(|batch| batch.sending.is_withdrawn()) {
                return Ok(());
            }
            // All of them have waited for a server for so long.
            call.connection(VERB).await.map_err(|error| failure(batches.len(), error))?;
            let server_session = session.server_session();
            let (items, last) = (&self.layout.items, &mut room.looked_for_strangers);
            let looked = match std::mem::take(&mut is_first) {
                true => {
                    open_parents::look_again(session, &server_session, &mut call, VERB, items, last).await
                }
                // It was missing, and whoever made it is asked about.
                false => open_parents::look_once(session, &server_session, &mut call, VERB, items).await,
            };
            looked.map_err(|error| failure(batches.len(), error))?;
            let (many, guard) = match room
                .admit(session, &mut call, &batches[0].writes, batches[0].sending.has_begun(), fitting)
                .await
            {
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
                        changed = call.wait_for(room.changed(session)) => {
                            changed.and_then(|changed| changed).map_err(first)?;
                        }
                    }
                    // Much may have happened meanwhile.
                    is_first = true;
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
                room.went_in(items, self.number_of_the_last(made.as_deref()));
                sent -= go_in(batches, items, made.into_iter().flatten().skip(around));
            };
            // Closing waits for those who want to take back what is on its way.
            let mut under_way = session.call(None).through_closing();
            let outcome = self.marks.apply_row(session, &mut under_way, VERB, &row, tell).await;
            let failed = |error| failure(sent, error);
            match outcome.map_err(failed)? {
                AppliedOnce::Applied => return Ok(()),
                // Somebody else has put something meanwhile: it may be full now.
                AppliedOnce::Refused(part, WireError::BadVersion | WireError::NoNode) if part < guards => {}
                AppliedOnce::Refused(_, WireError::NoNode) if went_in > 0 => return Ok(()),
                AppliedOnce::Refused(_, WireError::NoNode) => {
                    make_items(session, &mut call, VERB, &self.layout.items).await.map_err(failed)?;
                }
                AppliedOnce::Refused(_, WireError::NodeExists) => return Err(failed(used_up())),
                AppliedOnce::Refused(_, error) => {
                    return Err(failed(refusal(error, VERB, &self.layout.items)));
                }
            }
        }
    }

    fn number_of_the_last(&self, made: Option<&[Applied]>) -> Option<i32> {
        let Applied::Created(created) = made?.last()? else { return None };
        self.layout.recognise(path::name(&created.path)).map(|name| name.sequence)
    }

    /// The queue is full, until the answer is dropped.
    fn full(&self) -> Full<'_> {
        let mut waiting = self.waiting();
        waiting.is_full = true;
        waiting.refuse_calls_that_cannot_wait();
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
        let measure = session.server_session().measure();
        let about_the_queue = 3 * measure.check(&self.layout.items) + RESERVED;
        PACKET_LIMIT.saturating_sub(measure.empty_multi() + about_the_queue)
    }

    /// The first of what waits, without what was withdrawn: more than enough for one transaction. All wait for the same: for
    /// room and for servers, or for neither.
    fn next(&self, session: &Session) -> VecDeque<Batch> {
        let (measure, largest) = (session.server_session().measure(), self.largest(session));
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

    /// TooLarge if the item goes into no transaction, not even alone.
    pub(super) fn check_size(&self, session: &Session, item: &Write) -> Result<()> {
        let (bytes, largest) = (session.server_session().measure().part(item), self.largest(session));
        if bytes <= largest {
            return Ok(());
        }
        let error = Error::new(
            ErrorKind::TooLarge,
            format!(
                "too large: the item would be a packet of {} bytes, and a server takes at most {PACKET_LIMIT}; store large \
                 values elsewhere and put a reference",
                bytes + PACKET_LIMIT - largest
            ),
        );
        Err(error.with_path(&self.layout.items))
    }

    /// How many of the items go into one transaction. Each of them alone does.
    fn cut(&self, session: &Session, batches: &VecDeque<Batch>) -> usize {
        let (measure, largest) = (session.server_session().measure(), self.largest(session));
        let (mut many, mut bytes) = (0, 0);
        for item in batches.iter().flat_map(|batch| &batch.writes) {
            bytes += measure.part(item);
            if bytes > largest {
                break;
            }
            many += 1;
        }
        many
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

impl PendingPuts {
    /// While it is full, those who cannot wait are told so.
    fn refuse_calls_that_cannot_wait(&mut self) {
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
    let waits = |batch: &Batch| (batch.is_single, batch.insists);
    let is_like = first.is_none_or(|first| Some(waits(first)) == queue.front().map(waits));
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

/// If serving ends by a panic, nobody is to wait for it.
struct ServingPuts<'a>(Option<&'a Puts>);

impl Drop for ServingPuts<'_> {
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

/// What the caller and who serves it know of one put.
#[derive(Default)]
pub(super) struct PutProgress(Mutex<Progress>);

#[derive(Default)]
struct Progress {
    /// How many went in.
    went_in: usize,
    /// Their nodes, where the answer has told them.
    nodes: Vec<Created>,
    /// Whether a transaction is under way with items of it.
    is_under_way: bool,
    is_withdrawn: bool,
}

impl PutProgress {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        lock(&self.0)
    }

    /// A transaction is about to leave. False if it must not.
    pub(super) fn leaves(&self) -> bool {
        let mut progress = self.progress();
        progress.is_under_way = !progress.is_withdrawn;
        progress.is_under_way
    }

    /// What was under way is decided.
    pub(super) fn settle(&self) {
        self.progress().is_under_way = false;
    }

    pub(super) fn has_begun(&self) -> bool {
        self.progress().went_in > 0
    }

    pub(super) fn is_withdrawn(&self) -> bool {
        self.progress().is_withdrawn
    }

    pub(super) fn went_in(&self, many: usize, nodes: impl Iterator<Item = Created>) {
        let mut progress = self.progress();
        progress.went_in += many;
        progress.nodes.extend(nodes);
    }

    /// Nothing more of it is to be sent; answers whether something is under way.
    fn withdraw(&self) -> bool {
        let mut progress = self.progress();
        progress.is_withdrawn = true;
        progress.is_under_way
    }
}

/// The caller's end of it. Dropped before the caller knows, what was put is taken back.
pub(super) struct PutAnswer {
    sending: Arc<PutProgress>,
    answer: Option<oneshot::Receiver<Result<()>>>,
    take_back: Option<TakeBack>,
    /// How many were to be put.
    all: usize,
}

impl PutAnswer {
    /// What became of it. The error says how many went in, if there are several.
    pub(super) async fn outcome(mut self, call: &mut Call) -> Result<Put> {
        let outcome = self.answered(call).await;
        let take_back = self.take_back.take();
        let mut progress = self.sending.progress();
        match outcome {
            Ok(()) => {
                let (nodes, unnamed) = progress.leave();
                Ok(Put { take_back, nodes, unnamed })
            }
            Err(error) if self.all == 1 => Err(error),
            Err(error) => Err(error.with_put(progress.went_in)),
        }
    }

    async fn answered(&mut self, call: &mut Call) -> Result<()> {
        let Some(answer) = self.answer.as_mut() else { return Err(vanished()) };
        let mut answer = Pin::new(answer);
        let over = match call.within_reach(VERB, answer.as_mut()).await {
            Ok(answer) => return answer.unwrap_or_else(|_| Err(vanished())),
            Err(over) => over,
        };
        if !self.sending.withdraw() {
            return Err(over);
        }
        let (session, until) = (call.session().clone(), call.now() + LATE_ANSWER);
        tokio::select! {
            biased;
            answer = answer => match answer {
                Ok(answer) => answer,
                // The rest was not sent any more.
                Err(_) => Err(over),
            },
            () = session.clock().sleep_until(until) => match self.sending.progress().is_under_way {
                true => Err(unanswered(&over, self.all)),
                false => Err(over),
            },
        }
    }
}

impl Drop for PutAnswer {
    fn drop(&mut self) {
        let Some(take_back) = self.take_back.take().filter(TakeBack::is_present) else { return };
        let (sending, answer) = (self.sending.clone(), self.answer.take());
        if !sending.withdraw() && sending.progress().went_in == 0 {
            return;
        }
        let is_known = async move {
            // An error says that more may go in.
            let is_in_doubt = match answer {
                Some(answer) => matches!(answer.await, Ok(Err(_))),
                None => false,
            };
            let (nodes, unnamed) = sending.progress().leave();
            (nodes, unnamed + usize::from(is_in_doubt))
        };
        take_back.remove_once(is_known);
    }
}

impl Progress {
    /// The nodes of what went in, and how many have a name that nobody knows.
    fn leave(&mut self) -> (Vec<Created>, usize) {
        let nodes = std::mem::take(&mut self.nodes);
        let unnamed = self.went_in - nodes.len();
        (nodes, unnamed)
    }
}

/// Nobody knows what becomes of what was sent when `over` ended the wait.
fn unanswered(over: &Error, all: usize) -> Error {
    let why = match over.kind() {
        ErrorKind::Timeout => "no answer came within the time given",
        ErrorKind::Cancelled => "the wait was cancelled before an answer came",
        ErrorKind::ConnectionLost => "the connection broke before an answer came",
        _ => "the client was closed before an answer came",
    };
    let kind = if over.kind() == ErrorKind::Closed { ErrorKind::Closed } else { ErrorKind::ConnectionLost };
    let what = if all == 1 { "the item is put" } else { "more is put than is told" };
    Error::new(
        kind,
        format!(
            "whether {what} cannot be known: the {VERB} was sent, and {why}. Look into the queue before you put it again"
        ),
    )
}

/// What was put. Whoever has no more use for it can have it taken back.
pub struct Put {
    take_back: Option<TakeBack>,
    nodes: Vec<Created>,
    unnamed: usize,
}

impl Put {
    /// Removes again what nobody has taken yet, in the background.
    pub(crate) fn take_back(self) {
        if let Some(take_back) = self.take_back.filter(TakeBack::is_present) {
            take_back.remove_once(std::future::ready((self.nodes, self.unnamed)));
        }
    }
}

/// What one call has put so far. Dropped before the caller knows, it is taken back.
#[derive(Default)]
pub(super) struct PutSoFar(Vec<Put>, usize);

impl PutSoFar {
    pub(super) fn add(&mut self, put: Put) {
        self.1 += put.nodes.len() + put.unnamed;
        self.0.push(put);
    }

    /// How many items that are.
    pub(super) fn count(&self) -> usize {
        self.1
    }

    /// The caller knows.
    pub(super) fn hand_over(mut self) -> Vec<Put> {
        std::mem::take(&mut self.0)
    }
}

impl Drop for PutSoFar {
    fn drop(&mut self) {
        self.0.drain(..).for_each(Put::take_back);
    }
}

/// Where something is to be taken back.
pub(super) struct TakeBack {
    session: Arc<Session>,
    layout: Arc<NodeLayout>,
}

impl TakeBack {
    /// A forked child takes nothing back: it is its parent's.
    pub(super) fn is_present(&self) -> bool {
        self.session.process().is_present()
    }

    /// As soon as it is known which nodes, and how many others of which nobody knows the name. Closing waits for it.
    pub(super) fn remove_once(self, is_known: impl Future<Output = (Vec<Created>, usize)> + Send + 'static) {
        let server_session = self.session.server_session();
        drop(server_session.in_background(async move {
            let (nodes, unnamed) = is_known.await;
            let mut left = unnamed;
            for nodes in nodes.chunks(AT_ONCE) {
                left += self.delete(nodes).await.unwrap_or_else(|error| {
                    let path = &self.layout.path;
                    tracing::debug!(target: "zkrecipes", event = "items_not_taken_back", path, %error, "items that were put for nobody could not be taken back");
                    nodes.len()
                });
            }
            if left > 0 {
                let path = &self.layout.path;
                tracing::warn!(
                    target: "zkrecipes",
                    event = "put_not_taken_back",
                    path,
                    items = left,
                    "a put was withdrawn, and some of it is in the queue or was taken from it"
                );
            }
        }));
    }

    /// Deletes these items; answers how many somebody else has, or nobody knows of.
    async fn delete(&self, nodes: &[Created]) -> Result<usize> {
        let (mut call, items) = (self.session.call(None).outlasting(), &self.layout.items);
        let (mut waiting, mut left): (Vec<_>, _) = (nodes.iter().map(|node| (node, false)).collect(), 0);
        while !waiting.is_empty() {
            let (server_session, on) = call.connection(TAKING_BACK).await?;
            // In one flight. What was sent before is decided when this is.
            let settled = server_session.settle(items);
            let found: Vec<_> = waiting.iter().map(|(node, _)| server_session.exists(&node.path)).collect();
            let settled = call.receive(TAKING_BACK, settled).await?;
            let found = settle_all(&mut call, found).await?;
            if server_session.connection() != Some(on)
                || settled.as_ref().is_err_and(WireError::is_unanswered)
            {
                call.retry_after_loss(TAKING_BACK).await?;
                continue;
            }
            let mut deletions = Vec::new();
            for ((node, is_in_doubt), found) in std::mem::take(&mut waiting).into_iter().zip(found) {
                match found {
                    Ok(Some(stat)) if stat.czxid != node.czxid => left += usize::from(!is_in_doubt),
                    Ok(Some(stat)) if stat.version == 0 => {
                        deletions.push((node, server_session.multi_on(on, &self.writes(&node.path))));
                    }
                    // By ourselves, it may be.
                    Ok(None) => left += usize::from(!is_in_doubt),
                    Err(error) if error.is_unanswered() => waiting.push((node, is_in_doubt)),
                    Ok(Some(_)) | Err(_) => left += 1,
                }
            }
            let (sent, deletions): (Vec<_>, Vec<_>) = deletions.into_iter().unzip();
            let mut has_no_claims = false;
            for (node, deleted) in sent.into_iter().zip(settle_all(&mut call, deletions).await?) {
                match deleted {
                    Ok(_) => {}
                    Err(WireError::NotSent) => waiting.push((node, false)),
                    Err(error) if error.is_unanswered() => waiting.push((node, true)),
                    Err(WireError::Part { index: 0, error })
                        if *error == WireError::NoNode && self.layout.has_claims_of_peers =>
                    {
                        has_no_claims = true;
                        waiting.push((node, false));
                    }
                    Err(_) => left += 1,
                }
            }
            if has_no_claims {
                make_claims(&self.session, &mut call, TAKING_BACK, &self.layout).await?;
            } else if !waiting.is_empty() {
                call.retry_after_loss(TAKING_BACK).await?;
            }
        }
        Ok(left)
    }

    fn writes(&self, node: &str) -> Vec<Write> {
        let mut writes = Vec::new();
        if self.layout.has_claims_of_peers {
            writes.extend(self.layout.proof_of_no_claim(&self.session, path::name(node)));
        }
        writes.push(Write::Delete { path: node.to_owned(), version: Some(0) });
        writes
    }
}

/// The answers to all of them.
async fn settle_all<T>(call: &mut Call, flights: Vec<Flight<T>>) -> Result<Vec<Result<T, WireError>>> {
    // The answer is an error of ours, and none of the server's.
    let all = async { Ok(join_all(flights).await) };
    Ok(call.receive(TAKING_BACK, all).await?.unwrap_or_default())
}
