//! The order in which calls queue again, when the server session has ended in which they had queued: as they were made.
//!
//! 1. A call that waits at a path is known here, with the server session in which it queued last.
//! 2. Who is going to queue there in another one waits until those that were made before it have. Who has is followed by the next.
//! 3. A future that nobody polls any more holds nobody up for longer than [`STUCK`].

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Poll, Waker};
use std::time::Duration;

use super::Session;
use super::clock::Moment;
use super::server_session::ServerSession;
use crate::mutex::lock;
use crate::process::UnlessForked;

/// How long nobody queues before those who wait for that go on: a server that has come back answers sooner.
const STUCK: Duration = Duration::from_secs(1);

/// The calls of a client that wait, by path.
#[derive(Default)]
pub(super) struct WaitingCalls(Mutex<BTreeMap<String, Weak<PathCalls>>>);

impl WaitingCalls {
    fn find(&self, path: &str) -> Option<Arc<PathCalls>> {
        lock(&self.0).get(path).and_then(Weak::upgrade)
    }

    fn at(&self, path: &str) -> Arc<PathCalls> {
        let mut paths = lock(&self.0);
        if let Some(here) = paths.get(path).and_then(Weak::upgrade) {
            return here;
        }
        paths.retain(|_, here| here.strong_count() > 0);
        let here = Arc::default();
        paths.insert(path.to_owned(), Arc::downgrade(&here));
        here
    }
}

/// Those of one path.
#[derive(Default)]
struct PathCalls(Mutex<PathCallsInner>);

#[derive(Default)]
struct PathCallsInner {
    /// By number, in the order in which they were made.
    calls: BTreeMap<u64, CallThatWaits>,
    /// When one of them had queued, or had gone, for the last time.
    moved: Moment,
}

#[derive(Default)]
struct CallThatWaits {
    queued_in: Weak<ServerSession>,
    /// Of one that waits until those before it have queued.
    waker: Option<Waker>,
}

impl PathCallsInner {
    fn have_queued_before(&self, number: u64, server_session: &Arc<ServerSession>) -> bool {
        let mut before = self.calls.range(..number);
        before.all(|(_, call)| std::ptr::eq(call.queued_in.as_ptr(), Arc::as_ptr(server_session)))
    }

    /// Whom to wake: the first of those who wait until others have queued.
    fn moves(&mut self, now: Moment) -> Option<Waker> {
        self.moved = now;
        self.calls.values_mut().find_map(|call| call.waker.take())
    }
}

/// A call that waits, until this is dropped.
pub(super) struct WaitingCall {
    session: Weak<Session>,
    here: UnlessForked<Arc<PathCalls>>,
    number: u64,
}

impl WaitingCall {
    /// The call of that number waits at `path`.
    pub(super) fn at(session: &Arc<Session>, path: &str, number: u64) -> WaitingCall {
        let here = session.waiting_calls.at(path);
        lock(&here.0).calls.entry(number).or_default();
        WaitingCall { session: Arc::downgrade(session), here: UnlessForked::new(here), number }
    }

    /// It has queued there in that server session.
    pub(super) fn has_queued_in(&self, server_session: &Arc<ServerSession>) {
        let Some(session) = self.session.upgrade() else { return };
        let mut here = lock(&self.here.0);
        if let Some(call) = here.calls.get_mut(&self.number) {
            (call.queued_in, call.waker) = (Arc::downgrade(server_session), None);
        }
        let next = here.moves(session.now());
        drop(here);
        next.into_iter().for_each(Waker::wake);
    }

    /// Resolves when all that were made before have queued in that server session, or do not come.
    pub(super) fn turn(&self, server_session: &Arc<ServerSession>) -> impl Future<Output = ()> + use<> {
        let (here, number, server_session) = (self.here.clone(), self.number, server_session.clone());
        let session = self.session.clone();
        let begun = session.upgrade().map(|session| session.now());
        async move {
            loop {
                let Some(clock) = session.upgrade().map(|session| session.clock().clone()) else { return };
                let since = begun.max(Some(lock(&here.0).moved)).unwrap_or_default();
                if clock.now().since(since) >= STUCK || server_session.has_ended() {
                    return;
                }
                let is_next = poll_fn(|cx| {
                    let mut inner = lock(&here.0);
                    if inner.have_queued_before(number, &server_session) {
                        return Poll::Ready(());
                    }
                    if let Some(call) = inner.calls.get_mut(&number) {
                        call.waker = Some(cx.waker().clone());
                    }
                    Poll::Pending
                });
                tokio::select! {
                    biased;
                    () = is_next => return,
                    () = clock.sleep_until(since + STUCK) => {}
                }
            }
        }
    }
}

impl Drop for WaitingCall {
    fn drop(&mut self) {
        // In a forked child the lock may be held by a thread that stayed with the parent.
        if !self.here.process().is_present() {
            return;
        }
        let now = self.session.upgrade().map(|session| session.now());
        let mut here = lock(&self.here.0);
        here.calls.remove(&self.number);
        let next = now.and_then(|now| here.moves(now));
        drop(here);
        next.into_iter().for_each(Waker::wake);
    }
}

impl Session {
    /// Whether some calls that wait at `path`, and were made before that one, have not queued in `server_session` yet.
    pub(super) fn has_calls_before(
        &self,
        path: &str,
        number: u64,
        server_session: &Arc<ServerSession>,
    ) -> bool {
        let here = self.waiting_calls.find(path);
        here.is_some_and(|here| !lock(&here.0).have_queued_before(number, server_session))
    }
}
