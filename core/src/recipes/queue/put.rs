//! Putting items.
//!
//! What one client puts into a queue with the same bound goes in one transaction after the other, so that it keeps its order. What is put
//! while one is under way goes together in the next: so puts that do not wait for each other are as fast as the server is.
//! Each transaction is applied once, whatever gets lost: see `session::once`. What may go in at all is `room`'s.
//!
//! What becomes of a put whose caller runs out of time or withdraws: see `put_answer`.
//!
//! A put with a key makes the node of the key as well (see `keys`). It goes together with the others. If a key is taken, the
//! whole transaction is refused; then all keys in it are looked at, those calls are answered whose keys are taken, and the rest
//! goes again.

use std::collections::{HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::oneshot;

use super::keys::{PutKeys, is_of_one_put, refused_key};
use super::layout::{NodeLayout, make_items};
use super::numbers::used_up;
use super::put_answer::{PutAnswer, PutProgress, TakeBack};
use super::room::{Admission, QueueRoom, VERB};
use crate::error::{Error, ErrorKind, Result};
use crate::mutex::lock;
use crate::path::{self, PACKET_LIMIT};
use crate::session::Session;
use crate::session::call::Call;
use crate::session::once::{AppliedOnce, Marks};
use crate::session::open_parents;
use crate::session::refusal::refusal;
use crate::session::wire::{Applied, WireError, Write};

/// What is reserved for the parts of a transaction that are about the queue.
const RESERVED: usize = 500;

/// How many items go into one transaction, where there are more. Several are sent at once, and the server works at one while
/// another is on its way.
pub(super) const IN_ONE: usize = 250;

/// How many keys are looked at together while there is no room.
const MOST_KEYS: usize = 250;

pub(super) struct Puts {
    layout: Arc<NodeLayout>,
    marks: Arc<Marks>,
    pub(super) keys: Arc<PutKeys>,
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
    /// What makes the node of its key, if it has one: then it is one item.
    key: Option<Box<Write>>,
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
        let room = tokio::sync::Mutex::new(QueueRoom::new(layout, bound));
        let keys = PutKeys::new(&layout.keys, marks);
        let (layout, marks, has_bound) = (layout.clone(), marks.clone(), bound.is_some());
        Arc::new(Puts { layout, marks, keys, has_bound, waiting: Mutex::default(), room })
    }

    fn waiting(&self) -> MutexGuard<'_, PendingPuts> {
        lock(&self.waiting)
    }

    /// Puts all of `writes`, in order, behind what was to be put before; with `key` only one. In a task of its own, so that a
    /// caller who goes takes no answer along that others wait for.
    pub(super) fn begin(
        self: &Arc<Self>,
        call: &Call,
        writes: VecDeque<Write>,
        key: Option<Box<Write>>,
    ) -> PutAnswer {
        let (session, sending) = (call.session().clone(), Arc::new(PutProgress::default()));
        let (answer, answered) = oneshot::channel();
        let take_back = TakeBack::at(&session, &self.layout);
        let caller = PutAnswer::new(sending.clone(), answered, take_back, key.is_some(), writes.len());
        let (is_single, insists) = (call.is_single_attempt(), self.has_bound && !call.has_limit());
        let batch = Batch { writes, key, sending, is_single, insists, answer };
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
            let root = &self.layout.root;
            if path::parent(items) == root {
                // Asked for once: the items are in a folder of the queue, and that is looked at again and again.
                let looked = open_parents::look_once(session, &server_session, &mut call, VERB, root);
                looked.await.map_err(|error| failure(batches.len(), error))?;
            }
            let looked = match std::mem::take(&mut is_first) {
                true => {
                    open_parents::look_again(session, &server_session, &mut call, VERB, items, last).await
                }
                // It was missing, and whoever made it is asked about.
                false => open_parents::look_once(session, &server_session, &mut call, VERB, items).await,
            };
            looked.map_err(|error| failure(batches.len(), error))?;
            // Who may delete what the writers of a bounded queue set keeps them out.
            if let Some((parent, last)) = room.bound_kept_below() {
                let looked =
                    open_parents::look_again(session, &server_session, &mut call, VERB, parent, last);
                looked.await.map_err(|error| failure(batches.len(), error))?;
            }
            let has_keys = batches.iter().any(|batch| batch.key.is_some());
            if has_keys {
                // Who may delete keys decides what is put twice.
                let looked =
                    open_parents::look_once(session, &server_session, &mut call, VERB, &self.layout.keys);
                match looked.await {
                    Err(error) if is_of_one_put(&error) => {
                        refuse_keys(batches, |_| true, &error);
                        return Ok(());
                    }
                    looked => looked.map_err(|error| failure(batches.len(), error))?,
                }
            }
            let (many, guard) = match room
                .admit(session, &mut call, &batches[0].writes, batches[0].sending.has_begun(), fitting)
                .await
            {
                Ok(Admission::Some { many, guard }) => (many, guard),
                // Nobody waits for room whose put is done.
                Ok(Admission::Full)
                    if self.answer_those_taken(session, &mut call, batches, MOST_KEYS).await? =>
                {
                    return Ok(());
                }
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
            let many = match has_keys {
                true => add_with_keys(&mut parts, batches, many),
                false => {
                    parts.extend(batches.iter().flat_map(|batch| &batch.writes).take(many).cloned());
                    many
                }
            };
            // Only the first with a guard finds what that asks for, and no item goes without its key.
            let size = if guards > 0 || has_keys { parts.len() } else { IN_ONE };
            let row: Vec<_> = parts.chunks(size).collect();
            // Of what stands behind these nothing is sent.
            let (mut sent, mut went_in) = (batches_of(batches, many), 0);
            if !batches.iter().take(sent).all(|batch| batch.sending.leaves()) {
                continue;
            }
            // Whoever is not waiting any more when the last answer comes still hears what had gone in.
            let tell = |applied: &[Write], made: Option<Vec<Applied>>| {
                let around = if went_in == 0 { guards } else { 0 };
                let items = if has_keys { many } else { applied.len() - around };
                went_in += items;
                session.counters.puts.add(items);
                room.went_in(items, self.number_of_the_last(made.as_deref()));
                sent -= go_in(batches, items, made.into_iter().flatten().skip(around));
            };
            // Closing waits for those who want to take back what is on its way.
            let mut under_way = session.call(None).through_closing();
            let outcome = self.marks.apply_row(session, &mut under_way, VERB, &row, tell).await;
            room.numbers.say_so(session);
            let failed = |error| failure(sent, error);
            match outcome.map_err(failed)? {
                AppliedOnce::Applied => {
                    if has_keys {
                        self.look_after_keys(session, &parts);
                    }
                    return Ok(());
                }
                AppliedOnce::Refused(part, error) if has_keys && self.keys.has(&parts[part]) => match error {
                    WireError::NodeExists => {
                        self.answer_those_taken(session, &mut call, batches, sent).await?;
                        return Ok(());
                    }
                    WireError::NoNode => {
                        let key = parts[part].path();
                        match self.keys.make_bucket(&mut call, key).await {
                            Err(error) if is_of_one_put(&error) => {
                                refuse_keys(batches, |other| other == key, &error);
                                return Ok(());
                            }
                            made => made.map_err(failed)?,
                        }
                    }
                    error => {
                        let key = parts[part].path();
                        refuse_keys(batches, |other| other == key, &refused_key(error, key));
                        return Ok(());
                    }
                },
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

    /// With these parts something was put.
    fn look_after_keys(&self, session: &Arc<Session>, parts: &[Write]) {
        let mut keys = parts.iter().filter(|part| self.keys.has(part));
        if let Some(first) = keys.next() {
            self.keys.look_after(session, 1 + keys.count(), path::parent(first.path()));
        }
    }

    /// Answers those of the first `of` whose keys are taken, and others with these keys; whether there are any.
    async fn answer_those_taken(
        &self,
        session: &Arc<Session>,
        call: &mut Call,
        batches: &mut VecDeque<Batch>,
        of: usize,
    ) -> Result<bool, PutFailure> {
        let keys = batches.iter().take(of).filter_map(|batch| batch.key.as_ref());
        let nodes: Vec<_> = keys.map(|key| key.path().to_owned()).collect();
        if nodes.is_empty() {
            return Ok(false);
        }
        let answers = self.keys.answers(session, call, &nodes).await;
        let answers = answers.map_err(|error| PutFailure { of: of.min(batches.len()), error })?;
        for batch in std::mem::take(batches) {
            match batch.key.as_ref().and_then(|key| answers.get(key.path())) {
                Some(answer) => _ = batch.answer.send(answer.clone()),
                None => batches.push_back(batch),
            }
        }
        Ok(!answers.is_empty())
    }

    /// Whether the put of this key is done, for a caller that would have to wait for room otherwise.
    pub(super) async fn is_taken(&self, call: &mut Call, key: &str) -> Result<bool> {
        let session = call.session().clone();
        let mut answers = self.keys.answers(&session, call, &[key.to_owned()]).await?;
        Ok(matches!(answers.remove(key), Some(Ok(()))))
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
            for write in batch.key.as_deref().into_iter().chain(&batch.writes) {
                bytes += measure.part(write);
                if bytes > largest {
                    break;
                }
            }
            batches.push_back(batch);
        }
        batches
    }

    /// TooLarge if there are too many keys to remember one more.
    pub(super) fn check_room_for_keys(&self, session: &Arc<Session>) -> Result<()> {
        self.keys.check_room(session).map_err(|error| error.with_path(&self.layout.items))
    }

    /// TooLarge if the item goes into no transaction, not even alone.
    pub(super) fn check_size(&self, session: &Session, item: &Write, key: Option<&Write>) -> Result<()> {
        let server_session = session.server_session();
        let measure = server_session.measure();
        let bytes = measure.part(item) + key.map_or(0, |key| measure.part(key));
        let largest = self.largest(session);
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
        for batch in batches {
            bytes += batch.key.as_ref().map_or(0, |key| measure.part(key));
            for item in &batch.writes {
                bytes += measure.part(item);
                if bytes > largest {
                    return many;
                }
                many += 1;
            }
        }
        many
    }
}

/// Notes that the first `many` have gone in, and what that made where it was told. Answers how many batches that finished.
fn go_in(batches: &mut VecDeque<Batch>, mut many: usize, mut made: impl Iterator<Item = Applied>) -> usize {
    let all = batches.len();
    while many > 0 {
        let batch = &mut batches[0];
        if batch.key.is_some() {
            // That of the key.
            made.next();
        }
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

/// Adds what the first `many` items are made by, of so many as go into one transaction, those with keys behind what makes the
/// nodes of these; answers how many that are. Of two with one key the second waits for what becomes of the first.
fn add_with_keys(parts: &mut Vec<Write>, batches: &VecDeque<Batch>, many: usize) -> usize {
    let (mut keys, mut items) = (HashSet::new(), 0);
    for batch in batches {
        let is_second = batch.key.as_ref().is_some_and(|key| !keys.insert(key.path()));
        let room = IN_ONE.saturating_sub(parts.len() + usize::from(batch.key.is_some()));
        let some = batch.writes.len().min(many - items).min(room);
        if some == 0 || is_second {
            break;
        }
        parts.extend(batch.key.as_deref().cloned());
        parts.extend(batch.writes.iter().take(some).cloned());
        items += some;
        if some < batch.writes.len() {
            break;
        }
    }
    items
}

/// Nothing is put with these keys, for that reason. The others go on.
fn refuse_keys(batches: &mut VecDeque<Batch>, is_meant: impl Fn(&str) -> bool, error: &Error) {
    for batch in std::mem::take(batches) {
        match batch.key.as_ref().is_some_and(|key| is_meant(key.path())) {
            true => _ = batch.answer.send(Err(error.clone())),
            false => batches.push_back(batch),
        }
    }
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
