//! The order of the calls of one client: of those that queue at one path, the one that was made first queues first.
//!
//! 1. A call comes when it is made: it has its place behind those that came before.
//! 2. Its turn to queue is when they have queued. Where a node of this session stands at the path, that is when their creates have
//!    left, as a session is first in, first out. Else it is when they are answered: a container that was empty may have been
//!    collected, and a create that finds no path is made again.
//! 3. A call that ends before it has queued makes room for those behind it. Futures that nobody polls any more are passed by the next
//!    one that somebody polls, after [`STUCK`], unless they may wait for the server; by one that changes something, after twice the
//!    retry budget.

use std::collections::{BTreeMap, VecDeque};
use std::future::poll_fn;
use std::sync::{Arc, Weak};
use std::task::{Poll, Waker};
use std::time::Duration;

use super::Session;
use super::clock::Moment;
use super::wire::LinkState;
use crate::futures::unless;
use crate::mutex::lock;
use crate::process::Process;
use crate::sync::Mutex;

/// How long a call waits for the one before it, which has all been answered meanwhile that it can have asked.
const STUCK: Duration = Duration::from_secs(2);
/// For the last part of that time no answer takes longer than this.
const SOON: Duration = Duration::from_millis(500);

/// The calls of a client that have not queued yet, by path.
#[derive(Default)]
pub(super) struct CallOrder(Mutex<BTreeMap<String, Weak<PathOrder>>>);

impl CallOrder {
    fn at(&self, path: &str) -> Arc<PathOrder> {
        let mut call_order = lock(&self.0);
        if let Some(here) = call_order.get(path).and_then(Weak::upgrade) {
            return here;
        }
        call_order.retain(|_, here| here.strong_count() > 0);
        let here = Arc::default();
        call_order.insert(path.to_owned(), Arc::downgrade(&here));
        here
    }
}

/// The calls at one path in their order: the first may queue.
#[derive(Default)]
struct PathOrder(Mutex<CallsInOrder>);

#[derive(Default)]
struct CallsInOrder {
    next: u64,
    /// How often the first has made room for another one, which has not been polled since.
    moved: u64,
    /// In the order of their numbers.
    waiting: VecDeque<CallInOrder>,
}

struct CallInOrder {
    number: u64,
    /// When somebody last polled it, as far as that is known; or until when it pauses.
    seen: Moment,
    /// While it waits.
    waker: Option<Waker>,
}

impl CallsInOrder {
    fn first(&self) -> Option<u64> {
        self.waiting.front().map(|call| call.number)
    }

    fn find(&mut self, number: u64) -> Option<usize> {
        self.waiting.binary_search_by_key(&number, |call| call.number).ok()
    }

    /// Whom to wake, as it may have its turn now.
    fn next(&mut self) -> Option<Waker> {
        self.waiting.front_mut().and_then(|first| first.waker.take())
    }
}

impl PathOrder {
    fn leave(&self, number: u64) {
        let mut line = lock(&self.0);
        let Some(at) = line.find(number) else { return };
        let left = line.waiting.remove(at);
        line.moved += u64::from(at == 0);
        let next = line.next();
        drop(line);
        drop(left);
        next.into_iter().for_each(Waker::wake);
    }

    fn moved(&self) -> u64 {
        lock(&self.0).moved
    }

    /// Those ahead of that call which nobody has polled since then make room, up to the first that somebody has. They go on when
    /// they are polled, and are in nobody's way. Nobody does if another one has become the first since: it may just be about to be polled.
    fn pass(&self, number: u64, since: Moment, moved: u64) {
        let mut line = lock(&self.0);
        if line.moved != moved {
            return;
        }
        let is_stuck = |call: &&CallInOrder| call.number < number && call.seen <= since;
        let stuck = line.waiting.iter().take_while(is_stuck).count();
        let passed: Vec<_> = line.waiting.drain(..stuck).collect();
        line.moved += u64::from(stuck > 0);
        let next = line.next();
        drop(line);
        drop(passed);
        next.into_iter().for_each(Waker::wake);
    }
}

/// The place of a call among those that have not queued yet. Dropped, it makes room.
struct PlaceInOrder {
    here: Arc<PathOrder>,
    number: u64,
    process: Process,
}

impl PlaceInOrder {
    fn is_first(&self) -> bool {
        lock(&self.here.0).first() == Some(self.number)
    }

    /// Somebody polls it, or will by then.
    fn is_seen(&self, until: Moment) {
        let mut line = lock(&self.here.0);
        if let Some(at) = line.find(self.number) {
            let seen = &mut line.waiting[at].seen;
            *seen = until.max(*seen);
        }
    }

    /// Resolves when nobody is ahead.
    async fn until_first(&self, session: &Session) {
        poll_fn(|context| {
            let mut line = lock(&self.here.0);
            let ahead = line.waiting.partition_point(|call| call.number < self.number);
            if ahead == 0 {
                return Poll::Ready(());
            }
            let call = &mut line.waiting[ahead];
            call.seen = session.now();
            let replaced = call.waker.replace(context.waker().clone());
            drop(line);
            drop(replaced);
            Poll::Pending
        })
        .await;
    }
}

impl Drop for PlaceInOrder {
    fn drop(&mut self) {
        // A forked child has none of its parent's.
        if self.process.is_present() {
            self.here.leave(self.number);
        }
    }
}

/// The turn to queue. The next call has it when this is dropped.
pub(crate) struct MayQueue(PlaceInOrder);

impl MayQueue {
    /// Whoever has it is polled, or will be by then, and is not passed.
    pub(crate) fn is_seen(&self, until: Moment) {
        self.0.is_seen(until);
    }
}

/// The place of a call that may have to wait for its turn to queue.
pub(crate) struct QueueingTurn(PlaceInOrder);

impl QueueingTurn {
    /// Whoever has it is polled, or will be by then, and is not passed.
    pub(crate) fn is_seen(&self, until: Moment) {
        self.0.is_seen(until);
    }

    /// The turn, if it is here.
    pub(crate) fn now(self) -> Result<MayQueue, QueueingTurn> {
        if self.0.is_first() { Ok(MayQueue(self.0)) } else { Err(self) }
    }

    /// Resolves when those that came before have queued, or nobody polls them any more.
    pub(crate) async fn turn(self, session: Arc<Session>) -> MayQueue {
        self.past(&session, || session.clone().until_stuck()).await
    }

    /// The same for a change, behind others that may wait for another call of their own, of which nothing is seen here: for
    /// twice as long as a call goes on without an answer. So where the server is silent it ends before that.
    pub(crate) async fn turn_to_change(self, session: Arc<Session>) -> MayQueue {
        let long = session.options().give_up_after().saturating_mul(2);
        let waits = || session.clock().sleep_until(session.now() + long);
        self.past(&session, waits).await
    }

    async fn past<F: Future<Output = ()>>(self, session: &Session, until_stuck: impl Fn() -> F) -> MayQueue {
        loop {
            let (since, moved) = (session.now(), self.0.here.moved());
            if unless(self.0.until_first(session), Box::pin(until_stuck())).await.is_some() {
                return MayQueue(self.0);
            }
            self.0.here.pass(self.0.number, since, moved);
        }
    }
}

impl Session {
    /// Resolves when there was one connection for so long, and answers came so soon, that whoever asked anything has gone on.
    pub(crate) async fn until_stuck(self: Arc<Self>) {
        let answers_soon = || {
            let owed = self.server_session().owes_since();
            owed.is_none_or(|asked| self.now().since(asked) < SOON)
        };
        loop {
            let link = self.server_session().link();
            self.clock().sleep_until(self.now() + (STUCK - SOON)).await;
            let was_soon = answers_soon();
            self.clock().sleep_until(self.now() + SOON).await;
            let is_one = link.state == LinkState::Up && self.server_session().link() == link;
            if is_one && was_soon && answers_soon() {
                return;
            }
        }
    }

    /// A call that is going to queue at `path` is made now.
    pub(crate) fn take_queueing_turn(&self, path: &str) -> QueueingTurn {
        let here = self.call_order.at(path);
        let mut line = lock(&here.0);
        let number = line.next;
        line.next += 1;
        line.waiting.push_back(CallInOrder { number, seen: self.now(), waker: None });
        drop(line);
        QueueingTurn(PlaceInOrder { here, number, process: Process::present() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_become_the_first_is_not_passed_before_it_could_be_polled() {
        let calls = PathOrder::default();
        let seen = Moment(1);
        lock(&calls.0).waiting = (0..3).map(|number| CallInOrder { number, seen, waker: None }).collect();
        let first = || lock(&calls.0).first();
        let moved = calls.moved();
        // It goes when the last one has waited for as long as it waits for somebody.
        calls.leave(0);
        calls.pass(2, seen, moved);
        assert_eq!(first(), Some(1));
        calls.pass(2, seen, calls.moved());
        assert_eq!(first(), Some(2), "nobody polls it");
    }
}
