//! The order in which calls queue again, when the server session has ended in which they had queued: as they were made.
//!
//! 1. A call that waits at a path is known here, with the server session in which it queued last.
//! 2. Who is going to queue there in another one waits until those that were made before it have. Who has is followed by the next.
//! 3. A future that nobody polls any more holds up nobody for longer than [`Session::until_stuck`], and only once in a session: it is
//!    passed over. One that is polled, or pauses before it asks again, keeps its place.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::sync::{Arc, Weak};
use std::task::{Poll, Waker};

use super::Session;
use super::clock::Moment;
use super::server_session::ServerSession;
use crate::mutex::lock;
use crate::process::UnlessForked;
use crate::sync::Mutex;

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
        let here = Arc::new(PathCalls { path: path.into(), inner: Mutex::default() });
        paths.insert(path.to_owned(), Arc::downgrade(&here));
        here
    }
}

/// Those of one path.
struct PathCalls {
    path: Box<str>,
    inner: Mutex<PathCallsInner>,
}

#[derive(Default)]
struct PathCallsInner {
    /// By number, in the order in which they were made.
    calls: BTreeMap<u64, CallThatWaits>,
    /// When one of them had queued for the last time.
    moved: Moment,
    /// How many of them have a waker.
    sleeping: usize,
}

#[derive(Default)]
struct CallThatWaits {
    queued_in: Weak<ServerSession>,
    /// When somebody last polled it; or until when it pauses.
    seen: Moment,
    /// Of one that waits until those before it have queued.
    waker: Option<Waker>,
}

impl PathCallsInner {
    fn have_queued_before(&self, number: u64, server_session: &Arc<ServerSession>) -> bool {
        let mut before = self.calls.range(..number);
        before.all(|(_, call)| std::ptr::eq(call.queued_in.as_ptr(), Arc::as_ptr(server_session)))
    }

    /// Whom to wake: the first of those who wait until others have queued.
    fn next(&mut self) -> Option<Waker> {
        if self.sleeping == 0 {
            return None;
        }
        let next = self.calls.values_mut().find_map(|call| call.waker.take());
        self.sleeping -= usize::from(next.is_some());
        next
    }

    fn wakes(&mut self, number: u64, waker: Option<Waker>) -> Option<Waker> {
        let call = self.calls.get_mut(&number)?;
        let before = std::mem::replace(&mut call.waker, waker);
        self.sleeping = self.sleeping + usize::from(call.waker.is_some()) - usize::from(before.is_some());
        before
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
        lock(&here.inner).calls.entry(number).or_default().seen = session.now();
        WaitingCall { session: Arc::downgrade(session), here: UnlessForked::new(here), number }
    }

    pub(super) fn is_at(&self, path: &str) -> bool {
        *self.here.path == *path
    }

    /// Somebody polls it, or will by then.
    pub(super) fn is_seen(&self, until: Moment) {
        if let Some(call) = lock(&self.here.inner).calls.get_mut(&self.number) {
            call.seen = until.max(call.seen);
        }
    }

    /// It has queued there in that server session.
    pub(super) fn has_queued_in(&self, server_session: &Arc<ServerSession>) {
        let Some(session) = self.session.upgrade() else { return };
        let mut here = lock(&self.here.inner);
        let before = here.wakes(self.number, None);
        if let Some(call) = here.calls.get_mut(&self.number) {
            call.queued_in = Arc::downgrade(server_session);
        }
        here.moved = session.now();
        let next = here.next();
        drop(here);
        drop(before);
        next.into_iter().for_each(Waker::wake);
    }

    /// Resolves when all that were made before have queued in that server session, or do not come.
    pub(super) fn turn(&self, server_session: &Arc<ServerSession>) -> impl Future<Output = ()> + use<> {
        let (here, number, server_session) = (self.here.clone(), self.number, server_session.clone());
        let session = self.session.clone();
        async move {
            loop {
                let Some(session) = session.upgrade() else { return };
                let (since, moved) = (session.now(), lock(&here.inner).moved);
                if server_session.has_ended() {
                    return;
                }
                let is_next = poll_fn(|cx| {
                    let mut inner = lock(&here.inner);
                    if inner.have_queued_before(number, &server_session) {
                        return Poll::Ready(());
                    }
                    let before = inner.wakes(number, Some(cx.waker().clone()));
                    drop(inner);
                    drop(before);
                    Poll::Pending
                });
                tokio::select! {
                    biased;
                    () = is_next => return,
                    () = server_session.until_ended() => return,
                    () = session.until_stuck() => {}
                }
                let mut inner = lock(&here.inner);
                if inner.moved == moved {
                    let before = inner.calls.range_mut(..number);
                    for (_, call) in before.filter(|(_, call)| call.seen <= since) {
                        call.queued_in = Arc::downgrade(&server_session);
                    }
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
        let mut here = lock(&self.here.inner);
        let before = here.wakes(self.number, None);
        here.calls.remove(&self.number);
        let next = here.next();
        drop(here);
        drop(before);
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
        here.is_some_and(|here| !lock(&here.inner).have_queued_before(number, server_session))
    }
}
