//! The changes of one client on one path, one transaction after the other. What is asked for while one is under way is
//! made together in the next, in the order in which it was asked for: the more there are, the more go at once.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Deref;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};

use super::attempt::{Change, ChangeOutcome, CounterWriter};
use super::value::{CounterNode, Encoding};
use crate::error::{Error, ErrorKind, Result};
use crate::futures::unless;
use crate::mutex::lock;
use crate::process::Process;
use crate::session::Session;

/// How long what the last change has left is of use to the next one. The mark stays longer while somebody has a handle: else
/// the next change would cost two writes more, one to take it away and one to make another.
const IDLE: Duration = Duration::from_secs(1);

/// The counters that a client has handles on, by path and encoding.
#[derive(Default)]
pub(in crate::recipes) struct CountersOfClient(Mutex<BTreeMap<(String, Encoding), Weak<PendingChanges>>>);

impl CountersOfClient {
    pub(in crate::recipes) fn of(&self, path: &str, encoding: Encoding) -> ChangesHandle {
        let mut counters = lock(&self.0);
        let key = (path.to_owned(), encoding);
        if let Some(changes) = counters.get(&key).and_then(Weak::upgrade) {
            return ChangesHandle::on(changes);
        }
        counters.retain(|_, changes| changes.strong_count() > 0);
        let changes = Arc::new(PendingChanges {
            node: CounterNode::new(path, encoding),
            waiting: Mutex::default(),
            came: Notify::new(),
            writer: tokio::sync::Mutex::default(),
            handles: AtomicUsize::new(0),
            process: Process::present(),
        });
        counters.insert(key, Arc::downgrade(&changes));
        ChangesHandle::on(changes)
    }
}

/// While somebody has one, more changes may be asked for.
pub(in crate::recipes) struct ChangesHandle(Arc<PendingChanges>);

impl ChangesHandle {
    fn on(changes: Arc<PendingChanges>) -> ChangesHandle {
        changes.handles.fetch_add(1, Ordering::AcqRel);
        ChangesHandle(changes)
    }
}

impl Clone for ChangesHandle {
    fn clone(&self) -> ChangesHandle {
        ChangesHandle::on(self.0.clone())
    }
}

impl Deref for ChangesHandle {
    type Target = Arc<PendingChanges>;

    fn deref(&self) -> &Arc<PendingChanges> {
        &self.0
    }
}

impl Drop for ChangesHandle {
    fn drop(&mut self) {
        // In a forked child nobody waits, and the locks are the parent's.
        if self.0.handles.fetch_sub(1, Ordering::AcqRel) == 1 && self.0.process.is_present() {
            self.0.came.notify_one();
        }
    }
}

/// The changes that are asked for at one counter, and who makes them.
pub(in crate::recipes) struct PendingChanges {
    pub(in crate::recipes) node: CounterNode,
    waiting: Mutex<WaitingChanges>,
    came: Notify,
    /// One task at a time makes the changes, and has this.
    writer: tokio::sync::Mutex<CounterWriter>,
    /// How many there are who may ask for changes.
    handles: AtomicUsize,
    process: Process,
}

#[derive(Default)]
struct WaitingChanges {
    queue: VecDeque<(Change, oneshot::Sender<Result<ChangeOutcome>>)>,
    is_being_made: bool,
}

impl PendingChanges {
    /// Waits until the change is made. It is made in a task of its own, so that a caller who goes takes no answer along
    /// that the others wait for.
    pub(in crate::recipes) async fn change(
        self: &Arc<Self>,
        session: Arc<Session>,
        change: Change,
    ) -> Result<ChangeOutcome> {
        let (answer, answered) = oneshot::channel();
        match self.queue_change(change, answer) {
            true => self.came.notify_one(),
            false => self.begin_to_make(session),
        }
        answered.await.unwrap_or_else(|_| {
            Err(Error::new(
                ErrorKind::Internal,
                "a change ended without a result, which is a bug of zkrecipes; please report it",
            ))
        })
    }

    /// Queues the change; answers whether somebody makes changes already. Else the caller has to.
    fn queue_change(&self, change: Change, answer: oneshot::Sender<Result<ChangeOutcome>>) -> bool {
        let mut waiting = lock(&self.waiting);
        waiting.queue.push_back((change, answer));
        std::mem::replace(&mut waiting.is_being_made, true)
    }

    fn begin_to_make(self: &Arc<Self>, session: Arc<Session>) {
        session.clock().clone().spawn(Box::pin(self.clone().make_all(session)));
    }

    /// Makes one batch of changes after the other, until none is asked for and nothing is left to clear away.
    async fn make_all(self: Arc<Self>, session: Arc<Session>) {
        let mut unfinished = AnswerOnPanic(Some(&self));
        let mut writer = self.writer.lock().await;
        let mut last = session.now();
        loop {
            let (changes, answers): (Vec<_>, Vec<_>) = self.take_batch().into_iter().unzip();
            if !changes.is_empty() {
                let outcomes = writer.make_changes(&self.node, &session, &changes).await;
                last = session.now();
                for (at, answer) in answers.into_iter().enumerate() {
                    // Some callers may not wait any more.
                    let _ = answer.send(outcomes.as_ref().map(|made| made[at]).map_err(Error::clone));
                }
            } else if let Some(moment) = writer.lingers() {
                let until = session.now() + moment;
                if unless(self.came.notified(), session.clock().sleep_until(until)).await.is_none() {
                    writer.end_turn();
                }
            } else if writer.has_mark() && !session.is_closing() && !self.keeps_marks(&session) {
                let (is_fresh, is_held) = (session.now() < last + IDLE, self.is_held());
                let stays = if is_held && !is_fresh { writer.mark_lifetime() } else { IDLE };
                let quiet = unless(self.came.notified(), session.clock().sleep_until(last + stays));
                match unless(quiet, session.until_closing()).await {
                    Some(None) if is_held && is_fresh => writer.forget(),
                    Some(None) => writer.take_mark_back(&session),
                    _ => {}
                }
            } else {
                writer.end_turn();
                let mut waiting = lock(&self.waiting);
                if waiting.queue.is_empty() {
                    waiting.is_being_made = false;
                    unfinished.0 = None;
                    return;
                }
            }
        }
    }

    fn is_held(&self) -> bool {
        self.handles.load(Ordering::Acquire) > 0
    }

    /// Whether the server was seen to refuse that a mark is deleted. Then the one that stands serves for all changes to come.
    fn keeps_marks(&self, session: &Session) -> bool {
        session.server_session().may_delete_below(&self.node.path) == Some(false)
    }

    /// Everything that waits by now and was not withdrawn.
    fn take_batch(&self) -> Vec<(Change, oneshot::Sender<Result<ChangeOutcome>>)> {
        let mut all: Vec<_> = lock(&self.waiting).queue.drain(..).collect();
        all.retain(|(_, answer)| !answer.is_closed());
        all
    }
}

/// If making changes ends by a panic, nobody is to wait for it.
struct AnswerOnPanic<'a>(Option<&'a PendingChanges>);

impl Drop for AnswerOnPanic<'_> {
    fn drop(&mut self) {
        if let Some(changes) = self.0 {
            let left = std::mem::take(&mut *lock(&changes.waiting));
            drop(left);
        }
    }
}
