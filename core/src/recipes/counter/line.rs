//! The changes of one client on one path, one transaction after the other. What is asked for while one is under way is
//! made together in the next, in the order in which it was asked for: the more there are, the more go at once.

use std::collections::{BTreeMap, VecDeque};
use std::ops::{Deref, RangeInclusive};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tokio::sync::{Notify, oneshot};

use super::encoding::Encoding;
use super::write::Desk;
use crate::error::{Error, ErrorKind, Result};
use crate::mutex::lock;
use crate::process::Process;
use crate::session::once::sweep::Swept;
use crate::session::{Session, unless};

/// How long what the last change has left is of use to the next one. The mark stays longer while somebody has a handle: else
/// the next change would cost two writes more, one to take it away and one to make another.
const IDLE: Duration = Duration::from_secs(1);

/// What somebody wants of the counter.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Add(i64),
    Swap { old: i64, new: i64 },
}

/// What came of it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Value(i64),
    OutOfRange,
    Swapped,
    Different,
}

/// What the changes make of `value`, one after the other.
pub(super) fn apply(value: i64, changes: &[Change], range: &RangeInclusive<i64>) -> (i64, Vec<Outcome>) {
    let mut value = value;
    let outcomes = changes.iter().map(|change| match *change {
        Change::Add(n) => match value.checked_add(n).filter(|sum| range.contains(sum)) {
            Some(sum) => {
                value = sum;
                Outcome::Value(sum)
            }
            None => Outcome::OutOfRange,
        },
        Change::Swap { old, new } if value == old => {
            value = new;
            Outcome::Swapped
        }
        Change::Swap { .. } => Outcome::Different,
    });
    let outcomes = outcomes.collect();
    (value, outcomes)
}

/// The lines of a client, by path and encoding.
#[derive(Default)]
pub(super) struct Lines(Mutex<BTreeMap<(String, Encoding), Weak<Line>>>);

impl Lines {
    pub(super) fn of(&self, path: &str, encoding: Encoding) -> Handle {
        let mut lines = lock(&self.0);
        let key = (path.to_owned(), encoding);
        if let Some(line) = lines.get(&key).and_then(Weak::upgrade) {
            return Handle::on(line);
        }
        lines.retain(|_, line| line.strong_count() > 0);
        let line = Arc::new(Line {
            path: path.to_owned(),
            encoding,
            waiting: Mutex::default(),
            came: Notify::new(),
            desk: tokio::sync::Mutex::default(),
            handles: AtomicUsize::new(0),
            process: Process::present(),
            swept: Swept::new(path),
        });
        lines.insert(key, Arc::downgrade(&line));
        Handle::on(line)
    }
}

/// A line that somebody may ask for changes.
pub(super) struct Handle(Arc<Line>);

impl Handle {
    fn on(line: Arc<Line>) -> Handle {
        line.handles.fetch_add(1, Ordering::AcqRel);
        Handle(line)
    }
}

impl Clone for Handle {
    fn clone(&self) -> Handle {
        Handle::on(self.0.clone())
    }
}

impl Deref for Handle {
    type Target = Arc<Line>;

    fn deref(&self) -> &Arc<Line> {
        &self.0
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // In a forked child nobody waits, and the locks are the parent's.
        if self.0.handles.fetch_sub(1, Ordering::AcqRel) == 1 && self.0.process.is_present() {
            self.0.came.notify_one();
        }
    }
}

pub(super) struct Line {
    pub(super) path: String,
    pub(super) encoding: Encoding,
    waiting: Mutex<Waiting>,
    came: Notify,
    /// What the one who serves the line works with.
    desk: tokio::sync::Mutex<Desk>,
    /// How many there are who may ask for changes.
    handles: AtomicUsize,
    process: Process,
    /// Where the marks of others are looked after.
    pub(super) swept: Arc<Swept>,
}

#[derive(Default)]
struct Waiting {
    queue: VecDeque<(Change, oneshot::Sender<Result<Outcome>>)>,
    is_served: bool,
}

impl Line {
    /// Waits in the line until the change is made. In a task of its own, so that a caller who goes takes no answer along
    /// that the others wait for.
    pub(super) async fn change(self: &Arc<Self>, session: Arc<Session>, change: Change) -> Result<Outcome> {
        let (answer, answered) = oneshot::channel();
        match self.join(change, answer) {
            true => self.came.notify_one(),
            false => session.clock().clone().spawn(Box::pin(self.clone().serve(session))),
        }
        answered.await.unwrap_or_else(|_| {
            Err(Error::new(
                ErrorKind::Internal,
                "a change of a counter ended without a result, which is a bug of zkrecipes; please report it",
            ))
        })
    }

    /// Whether somebody serves the line already; else the caller has to.
    fn join(&self, change: Change, answer: oneshot::Sender<Result<Outcome>>) -> bool {
        let mut waiting = lock(&self.waiting);
        waiting.queue.push_back((change, answer));
        std::mem::replace(&mut waiting.is_served, true)
    }

    async fn serve(self: Arc<Self>, session: Arc<Session>) {
        let mut closed = Closed(Some(&self));
        let mut desk = self.desk.lock().await;
        let mut last = session.now();
        loop {
            let (changes, answers): (Vec<_>, Vec<_>) = self.next().into_iter().unzip();
            if !changes.is_empty() {
                let outcomes = desk.make(&self, &session, &changes).await;
                last = session.now();
                for (at, answer) in answers.into_iter().enumerate() {
                    // Some callers may not wait any more.
                    let _ = answer.send(outcomes.as_ref().map(|made| made[at]).map_err(Error::clone));
                }
            } else if let Some(moment) = desk.lingers() {
                let until = session.now() + moment;
                if unless(self.came.notified(), session.clock().sleep_until(until)).await.is_none() {
                    desk.let_go();
                }
            } else if desk.has_mark() && !session.is_closing() && !self.keeps_marks(&session) {
                let (is_fresh, is_held) = (session.now() < last + IDLE, self.is_held());
                let stays = if is_held && !is_fresh { desk.keeps_its_mark() } else { IDLE };
                let quiet = unless(self.came.notified(), session.clock().sleep_until(last + stays));
                match unless(quiet, session.until_closing()).await {
                    Some(None) if is_held && is_fresh => desk.forget(),
                    Some(None) => desk.take_mark_back(&session),
                    _ => {}
                }
            } else {
                desk.let_go();
                let mut waiting = lock(&self.waiting);
                if waiting.queue.is_empty() {
                    waiting.is_served = false;
                    closed.0 = None;
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
        session.epoch().may_delete_below(&self.path) == Some(false)
    }

    /// Everything that waits by now and was not withdrawn.
    fn next(&self) -> Vec<(Change, oneshot::Sender<Result<Outcome>>)> {
        let mut all: Vec<_> = lock(&self.waiting).queue.drain(..).collect();
        all.retain(|(_, answer)| !answer.is_closed());
        all
    }
}

/// If serving ends by a panic, nobody is to wait for it.
struct Closed<'a>(Option<&'a Line>);

impl Drop for Closed<'_> {
    fn drop(&mut self) {
        if let Some(line) = self.0 {
            let left = std::mem::take(&mut *lock(&line.waiting));
            drop(left);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_made_one_after_the_other() {
        let changes = [
            Change::Add(2),
            Change::Swap { old: 2, new: 10 },
            Change::Swap { old: 2, new: 20 },
            Change::Add(i64::MAX),
            Change::Add(-11),
        ];
        let (value, outcomes) = apply(0, &changes, &(i64::MIN..=i64::MAX));
        assert_eq!(value, -1);
        let expected = [
            Outcome::Value(2),
            Outcome::Swapped,
            Outcome::Different,
            Outcome::OutOfRange,
            Outcome::Value(-1),
        ];
        assert_eq!(outcomes, expected);
    }

    #[test]
    fn a_change_out_of_the_layouts_range_is_left_out() {
        let range = Encoding::Int.range();
        let (value, outcomes) = apply(i64::from(i32::MAX) - 1, &[Change::Add(2), Change::Add(1)], &range);
        assert_eq!(value, i64::from(i32::MAX));
        assert_eq!(outcomes, [Outcome::OutOfRange, Outcome::Value(value)]);
    }
}
