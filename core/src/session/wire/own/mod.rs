//! Sessions over our own client: `Machine` knows the protocol, and this drives it over whatever carries bytes: sockets, of
//! which `serving` knows, or a simulated network.
//!
//! Whoever asks hands the request to the channel on its own thread, under the lock of the machine; inside it there is only
//! I/O that does not block, and parsing. If somebody else is in there, they hand it over: nobody who asks waits for the lock.
//! Who reads is said in `driving`: a thread that waits for its answer, or else a task on the I/O thread, which keeps pings
//! and connects, too. Answers are handed over outside the lock.

#[cfg(target_os = "linux")]
mod driving;
mod mail;
mod requests;
mod seen;
mod serving;
mod session;
mod socket;
mod state;
#[cfg_attr(not(target_os = "linux"), path = "stream_elsewhere.rs")]
mod stream;
#[cfg(target_os = "linux")]
mod system;
mod trust;

use std::io;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

use tokio::sync::{Notify, oneshot};

#[cfg(target_os = "linux")]
pub(crate) use self::driving::{Drives, Parker, Woken, forget_wakeups, has_room};
use self::mail::Mail;
use self::seen::Seen;
use self::session::OwnSession;
use self::socket::Socket;
use self::state::ConnectionState;
use self::trust::Trust;
use super::machine::{Answering, Machine, Output};
use super::open::Entry;
use super::{Dial, Event, Flight, Link, LinkState, Noted, SessionIdentity, Trouble, Wire, WireError};
use crate::error::Result;
use crate::hosts::{self, Server};
use crate::log;
use crate::metrics::Counters;
use crate::options::ClientOptions;
use crate::process::Process;
use crate::runtime::{self, Later};
use crate::session::clock::{Clock, Moment};
use crate::session::system_clock::SystemClock;

type Answer = oneshot::Sender<Result<Vec<u8>, WireError>>;
type Watcher = oneshot::Sender<Event>;

impl Answering for Answer {
    fn is_forsaken(&self) -> bool {
        self.is_closed()
    }
}

/// Opens sessions.
pub(crate) struct Own {
    pub(crate) counters: Arc<Counters>,
}

impl Dial for Own {
    fn dial(&self, hosts: &str, options: &ClientOptions, noted: &Arc<Noted>) -> Flight<Box<dyn Wire>> {
        let connection = Connection::new(hosts, options, Arc::new(SystemClock), noted.clone());
        let opened = connection.opened(hosts);
        match self.serve(connection, options) {
            Ok(()) => opened,
            Err(error) => Box::pin(std::future::ready(Err(WireError::Refused(error)))),
        }
    }

    fn close_outliving(
        &self,
        hosts: &str,
        options: &ClientOptions,
        session: SessionIdentity,
        near: Option<String>,
    ) -> Later<()> {
        let connection = Connection::closing(hosts, options, Arc::new(SystemClock), session, near.as_deref());
        let over = connection.over();
        match self.serve(connection, options) {
            Ok(()) => over,
            // Then no new session can be had, either.
            Err(_) => Box::pin(std::future::ready(())),
        }
    }
}

impl Own {
    fn serve(&self, connection: Arc<Connection<Socket>>, options: &ClientOptions) -> Result<()> {
        let trust = options.tls.as_ref().map(Trust::new).transpose()?.map(Arc::new);
        let serving = serving::serve(connection, trust, Entry::new(), self.counters.clone());
        runtime::spawn(Box::pin(serving));
        Ok(())
    }
}

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
    state: Mutex<ConnectionState<C>>,
    /// What those asked who found the lock taken.
    mail: Mail<C>,
    /// What can be asked without the lock.
    seen: Seen,
    /// So many watches were ever asked for.
    watches: AtomicU64,
    clock: Arc<dyn Clock>,
    /// The task has something to do.
    io: Notify,
    /// The link has changed.
    changed: Notify,
    process: Process,
    noted: Arc<Noted>,
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
    /// A session that is to be had of these servers, on a clock that counts suspension. What each attempt to connect comes to
    /// is noted.
    pub fn new(
        hosts: &str,
        options: &ClientOptions,
        clock: Arc<dyn Clock>,
        noted: Arc<Noted>,
    ) -> Arc<Connection<C>> {
        let machine = Machine::new(hosts::servers(hosts), options.clone(), noted.clone(), clock.now());
        Connection::of(machine, clock, noted)
    }

    /// Only to close a session that a client has given up, at the server `near` first.
    pub fn closing(
        hosts: &str,
        options: &ClientOptions,
        clock: Arc<dyn Clock>,
        session: SessionIdentity,
        near: Option<&str>,
    ) -> Arc<Connection<C>> {
        let machine = Machine::closing(hosts::servers(hosts), options.clone(), session, near, clock.now());
        Connection::of(machine, clock, Arc::default())
    }

    fn of(machine: Machine<Answer, Watcher>, clock: Arc<dyn Clock>, noted: Arc<Noted>) -> Arc<Connection<C>> {
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

    /// The session, once it is there. Dropped before, it ends what may have begun.
    pub fn opened(self: &Arc<Self>, hosts: &str) -> Flight<Box<dyn Wire>> {
        let session = OwnSession::of(self, hosts);
        Box::pin(async move {
            session.connection.until_settled().await;
            match session.connection.link().state {
                LinkState::Up => {}
                LinkState::Denied => {
                    let refusal = session.connection.noted.refusal();
                    return Err(refusal.map_or(WireError::AuthFailed, WireError::Refused));
                }
                LinkState::Down | LinkState::Ended | LinkState::Unheard => {
                    return Err(WireError::ConnectionLoss);
                }
            }
            Ok(Box::new(session) as Box<dyn Wire>)
        })
    }

    /// Resolves when the session has ended.
    pub fn over(self: &Arc<Self>) -> Later<()> {
        let connection = self.clone();
        Box::pin(async move { connection.until(|link| link.state.is_over()).await })
    }

    /// Until there is a session, or there will be none. Meanwhile it has no pause where somebody has no time for that.
    async fn until_settled(&self) {
        let mut settled = std::pin::pin!(self.until(|link| link.state != LinkState::Down));
        loop {
            tokio::select! {
                biased;
                () = &mut settled => return,
                () = self.noted.is_session_wanted() => {
                    self.post(|state, now| state.machine.attempt_now(now));
                }
            }
        }
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
    fn try_look<T>(&self, look: impl FnOnce(&mut ConnectionState<C>, Moment) -> T) -> Option<T> {
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
    fn lock(&self) -> MutexGuard<'_, ConnectionState<C>> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn try_lock(&self) -> Option<MutexGuard<'_, ConnectionState<C>>> {
        match self.state.try_lock() {
            Ok(state) => Some(state),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Does something with the machine, sends what comes of it, and tells everybody whom it concerns.
    fn with<T>(&self, work: impl FnOnce(&mut ConnectionState<C>, Moment) -> T) -> T {
        self.within(self.lock(), work)
    }

    /// The same without waiting for who is inside: they do it then.
    fn post(&self, work: impl FnOnce(&mut ConnectionState<C>, Moment) + Send + 'static) {
        match self.try_lock() {
            Some(state) => self.within(state, work),
            None => {
                self.mail.put(Box::new(work));
                self.see_to_mail();
            }
        }
    }

    fn within<T>(
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
    async fn until(&self, is_so: impl Fn(Link) -> bool) {
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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::task::{Context, Wake};
    use std::time::Duration;

    use futures_util::FutureExt;
    use zkrecipes_protocol::Welcome;

    use super::*;
    use crate::options::{RetryOptions, SaslOptions};
    use crate::session::system_clock::SystemClock;

    /// A socket whose other end is gone, or whose buffer is full.
    struct Stuck {
        attempt: u64,
        is_broken: bool,
    }

    impl Channel for Stuck {
        fn attempt(&self) -> u64 {
            self.attempt
        }

        fn send(&mut self, _: &mut Vec<u8>) -> io::Result<bool> {
            if self.is_broken { Err(io::ErrorKind::BrokenPipe.into()) } else { Ok(false) }
        }
    }

    /// Says whether the lock is free when it is called.
    struct Looks(Arc<Connection<Stuck>>, AtomicBool);

    impl Wake for Looks {
        fn wake(self: Arc<Self>) {
            self.1.store(self.0.try_lock().is_some(), Ordering::SeqCst);
        }
    }

    #[test]
    fn who_is_woken_may_ask_at_once() {
        let clock = Arc::new(SystemClock);
        let connection =
            Connection::<Stuck>::new("zk.example.org", &ClientOptions::default(), clock, Arc::default());
        let looks = Arc::new(Looks(connection.clone(), AtomicBool::new(false)));
        let session = OwnSession::of(&connection, "");
        let mut flight = session.exists("/");
        assert!(flight.as_mut().poll(&mut Context::from_waker(&looks.clone().into())).is_pending());
        connection.give_up();
        assert!(looks.1.load(Ordering::SeqCst), "woken while the lock was taken, or not at all");
        assert_eq!(flight.now_or_never(), Some(Err(WireError::SessionEnded)));
    }

    /// A lease that was counted from a later one would outlast the session.
    #[test]
    fn a_session_was_asked_for_by_the_hello_that_was_answered() {
        let retry = RetryOptions::default().base(Duration::ZERO).max(Duration::ZERO);
        // It has a session before it is up: first it proves who it is.
        let options = ClientOptions::default().retry(retry).sasl(SaslOptions::new("user", "hunter2"));
        let clock = Arc::new(SystemClock);
        let connection = Connection::new("zk.example.org", &options, clock, Arc::default());
        let mut asked = Vec::new();
        for is_answered in [false, true, false] {
            let mut looks = std::iter::repeat_with(|| connection.look());
            let (attempt, _) = looks.find_map(|due| due.dial).expect("it wants to connect");
            connection.connected(attempt, Ok(Stuck { attempt, is_broken: false }));
            asked.push(connection.lock().asked);
            if is_answered {
                let granted = Welcome { timeout: 10_000, session: 7, password: &[3; 16], read_only: None };
                connection.received(attempt, &granted.frame());
            }
            connection.hung_up(attempt, "it breaks");
        }
        assert!(asked[0] < asked[1], "the first hello was not answered");
        assert_eq!(asked[1], asked[2], "the last one was for the same session");
    }

    #[test]
    fn what_cannot_be_sent_keeps_nobody_busy() {
        for is_broken in [true, false] {
            let clock = Arc::new(SystemClock);
            let connection =
                Connection::new("zk.example.org", &ClientOptions::default(), clock, Arc::default());
            let (attempt, _) = connection.look().dial.expect("it wants to connect");
            connection.connected(attempt, Ok(Stuck { attempt, is_broken }));
            // For the new connection, once.
            connection.is_called().now_or_never();
            assert_eq!(connection.look().is_blocked, !is_broken);
            assert!(connection.is_called().now_or_never().is_none(), "it looks again and again");
        }
    }
}
