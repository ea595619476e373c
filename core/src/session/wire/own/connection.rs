//! What a session and the task that serves it share, under one lock: how one comes in, what those do who find it taken, and who
//! is told of what came of it.

use std::io;
use std::sync::Arc;

use tokio::sync::Notify;

use super::mail::Mail;
use super::seen::Seen;
use super::state::ConnectionState;
use super::{Answer, Watcher};
use crate::hosts::Server;
use crate::log;
use crate::process::Process;
use crate::session::clock::{Clock, Moment};
use crate::session::wire::machine::{Machine, Output};
use crate::session::wire::{Link, Noted, Trouble};
use crate::sync::atomic::AtomicU64;
use crate::sync::{Mutex, MutexGuard, TryLockError};

/// What carries the bytes of one attempt to connect.
pub trait Channel: Send + 'static {
    /// The attempt that it was made for.
    fn attempt(&self) -> u64;
    /// Sends what can be sent without waiting and drains it; whether that was all.
    fn send(&mut self, bytes: &mut Vec<u8>) -> io::Result<bool>;
    /// Has the task that serves the session come when it can be read, or written. Without: it always comes.
    fn arm(&self, _reads: bool, _writes: bool) {}
    /// Whoever polls on this thread awaits an answer.
    fn is_awaited(_connection: &Arc<Connection<Self>>)
    where
        Self: Sized,
    {
    }
}

/// What the session and the task that serves it share.
pub struct Connection<C> {
    pub(super) state: Mutex<ConnectionState<C>>,
    /// What those asked who found the lock taken.
    pub(super) mail: Mail<C>,
    /// What can be asked without the lock.
    pub(super) seen: Seen,
    /// So many watches were ever asked for.
    pub(super) watches: AtomicU64,
    pub(super) clock: Arc<dyn Clock>,
    /// The task has something to do.
    pub(super) io: Notify,
    /// The link has changed.
    pub(super) changed: Notify,
    pub(super) process: Process,
    pub(super) noted: Arc<Noted>,
}

/// What the task that serves a session has to do.
#[derive(Debug)]
pub struct Due {
    /// Nothing, ever again.
    pub is_over: bool,
    /// Connect to this server, for this attempt, instead of what was tried before.
    pub dial: Option<(u64, Server)>,
    /// Ask this server whether it has a quorum, for this attempt.
    pub question: Option<(u64, Server)>,
    /// Come again then at the latest.
    pub wake_at: Option<Moment>,
    /// The channel did not take everything: come again as soon as it takes more.
    pub is_blocked: bool,
}

/// For the task that serves the session.
impl<C: Channel> Connection<C> {
    pub(super) fn of(
        machine: Machine<Answer, Watcher>,
        clock: Arc<dyn Clock>,
        noted: Arc<Noted>,
    ) -> Arc<Connection<C>> {
        Arc::new(Connection {
            seen: Seen::of(&machine),
            state: Mutex::new(ConnectionState::of(machine)),
            mail: Mail::default(),
            watches: AtomicU64::new(0),
            clock,
            io: Notify::new(),
            changed: Notify::new(),
            process: Process::present(),
            noted,
        })
    }

    pub fn link(&self) -> Link {
        self.seen.link()
    }

    /// Resolves when there is something to do before [`Due::wake_at`].
    pub async fn is_called(&self) {
        self.io.notified().await;
    }

    /// Looks at the clock, sends what waits, and drops a channel that is of no use any more.
    pub fn look(&self) -> Due {
        // Not called: whoever looks sees to what is left, and would be called for that again and again.
        let (due, _) = self.step(self.lock(), |state, now| state.look(now));
        self.see_to_mail();
        due
    }

    /// The same and more, for a task that must not wait for who is inside: `None` if somebody is. It is called when they leave.
    pub(super) fn try_look<T>(&self, look: impl FnOnce(&mut ConnectionState<C>, Moment) -> T) -> Option<T> {
        let state = self.mail.calling(|| self.try_lock())?;
        let (looked, _) = self.step(state, look);
        self.see_to_mail();
        Some(looked)
    }

    /// What became of an attempt to connect. One that is of no use any more is dropped.
    pub fn connected(&self, attempt: u64, channel: Result<C, Trouble>) {
        self.with(|state, now| state.connected(attempt, channel, now));
    }

    /// Bytes have arrived on the channel of an attempt.
    pub fn received(&self, attempt: u64, bytes: &[u8]) {
        self.with(|state, now| {
            if state.has(attempt) {
                state.machine.received(bytes, now);
            }
        });
    }

    /// Nobody serves the session any more.
    pub fn give_up(&self) {
        self.with(|state, _| state.machine.give_up());
    }

    /// The channel of an attempt has come to its end.
    pub fn hung_up(&self, attempt: u64, trouble: impl Into<Trouble>) {
        self.with(|state, now| {
            if state.has(attempt) {
                state.machine.hung_up(trouble, now);
            }
        });
    }
}

impl<C: Channel> Connection<C> {
    pub(super) fn lock(&self) -> MutexGuard<'_, ConnectionState<C>> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    pub(super) fn try_lock(&self) -> Option<MutexGuard<'_, ConnectionState<C>>> {
        match self.state.try_lock() {
            Ok(state) => Some(state),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Does something with the machine, sends what comes of it, and tells everybody whom it concerns.
    pub(super) fn with<T>(&self, work: impl FnOnce(&mut ConnectionState<C>, Moment) -> T) -> T {
        self.within(self.lock(), work)
    }

    /// The same without waiting for who is inside: they do it then.
    pub(super) fn post(&self, work: impl FnOnce(&mut ConnectionState<C>, Moment) + Send + 'static) {
        match self.try_lock() {
            Some(state) => self.within(state, work),
            None => {
                self.mail.put(Box::new(work));
                self.see_to_mail();
            }
        }
    }

    pub(super) fn within<T>(
        &self,
        state: MutexGuard<'_, ConnectionState<C>>,
        work: impl FnOnce(&mut ConnectionState<C>, Moment) -> T,
    ) -> T {
        let (answer, calls) = self.step(state, work);
        if calls {
            self.io.notify_one();
        }
        self.see_to_mail();
        answer
    }

    /// What was handed over while the lock was taken, unless it is taken again: then that one comes here, too.
    fn see_to_mail(&self) {
        while self.mail.is_there()
            && let Some(state) = self.try_lock()
        {
            let ((), calls) = self.step(state, |_, _| ());
            if calls {
                self.io.notify_one();
            }
        }
    }

    /// Also says whether the I/O thread has something to do.
    fn step<T>(
        &self,
        mut state: MutexGuard<'_, ConnectionState<C>>,
        work: impl FnOnce(&mut ConnectionState<C>, Moment) -> T,
    ) -> (T, bool) {
        let (before, wake_before) = (state.machine.link(), state.machine.wake_at());
        let now = self.clock.now();
        for older in self.mail.take() {
            older(&mut state, now);
        }
        let answer = work(&mut state, now);
        let is_flushed = state.flush();
        // It sleeps until then.
        let is_sooner = match (state.machine.wake_at(), wake_before) {
            (Some(now), Some(before)) => now < before,
            (now, before) => now.is_some() != before.is_some(),
        };
        (answer, self.tell(state, before) || is_sooner || !is_flushed)
    }

    /// Tells everybody whom it concerns what has come out; whether the link is another one than `before`.
    fn tell(&self, mut state: MutexGuard<'_, ConnectionState<C>>, before: Link) -> bool {
        let outputs = state.machine.outputs();
        let has_changed = state.machine.link() != before;
        self.seen.update(&state.machine, state.asked);
        drop(state);
        if self.mail.calls() {
            self.io.notify_one();
        }
        if has_changed {
            self.changed.notify_waiters();
        }
        for output in outputs {
            match output {
                Output::Answered(answer, outcome) => _ = answer.send(outcome),
                Output::Told(watcher, event) => _ = watcher.send(event),
                Output::Failed(cause, pause) => log::connect_failed(cause, pause),
            }
        }
        has_changed
    }

    /// Resolves once `is_so`, which is looked at whenever the link has changed.
    pub(super) async fn until(&self, is_so: impl Fn(Link) -> bool) {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            // Listen first, look second: a change in between must not be slept through.
            changed.as_mut().enable();
            if is_so(self.link()) {
                return;
            }
            changed.await;
        }
    }
}
