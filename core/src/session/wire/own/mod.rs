//! Sessions over our own client: [`Machine`] knows the protocol, and this drives it over whatever carries bytes: sockets, of
//! which [`serving`] knows, or a simulated network.
//!
//! Whoever asks hands the request to the channel on its own thread, under the lock of the machine; inside it there is only
//! I/O that does not block, and parsing. If somebody else is in there, they hand it over: nobody who asks waits for the lock.
//! Who reads is said in [`driving`]: a thread that waits for its answer, or else a task on the I/O thread, which keeps pings
//! and connects, too. Answers are handed over outside the lock.

#[cfg(target_os = "linux")]
mod driving;
mod mail;
mod requests;
mod seen;
mod serving;
mod socket;
#[cfg(target_os = "linux")]
mod system;
mod trust;

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, TryLockError};
use std::task::{Context, Poll};

use tokio::sync::{Notify, oneshot};
use zeroize::Zeroizing;
use zkrecipes_protocol::Request;

#[cfg(target_os = "linux")]
pub(crate) use self::driving::{Drives, Parker, Woken, has_room};
use self::mail::{Letter, Mail};
use self::seen::Seen;
use self::trust::Trust;
use super::machine::{Answering, Kind, Machine, Output, Pauses, Setup, WatchId};
use super::open::Entry;
use super::{Dial, Event, Flight, Later, Link, LinkState, Noted, Trouble, Watch, Wire, WireError};
use crate::hosts::{self, Server};
use crate::log;
use crate::metrics::Counters;
use crate::options::ClientOptions;
use crate::process::Process;
use crate::runtime;
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
    fn dial(&self, hosts: &str, options: &ClientOptions) -> Flight<Box<dyn Wire>> {
        self.dial_noting(hosts, options, &Arc::default())
    }

    fn dial_noting(&self, hosts: &str, options: &ClientOptions, noted: &Arc<Noted>) -> Flight<Box<dyn Wire>> {
        let trust = match options.tls.as_ref().map(Trust::new).transpose() {
            Ok(trust) => trust.map(Arc::new),
            Err(error) => return Box::pin(std::future::ready(Err(WireError::Refused(error)))),
        };
        let connection = Connection::noting(hosts, options, Arc::new(SystemClock), noted.clone());
        let opened = connection.opened(hosts);
        let serving = serving::serve(connection, trust, Entry::new(), self.counters.clone());
        runtime::spawn(Box::pin(serving));
        opened
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

/// A session as the recipes have it. Dropped, it ends.
struct Session<C: Channel> {
    connection: Arc<Connection<C>>,
    chroot: String,
}

impl<C: Channel> Drop for Session<C> {
    fn drop(&mut self) {
        if self.connection.process.is_present() {
            self.connection.post(|state, now| state.machine.close(now));
        }
    }
}

/// What the session and the task that serves it share.
pub struct Connection<C> {
    state: Mutex<State<C>>,
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

struct State<C> {
    machine: Machine<Answer, Watcher>,
    channel: Option<C>,
    /// The channel has not taken everything.
    is_blocked: bool,
    /// The ticket of the thread that drives; none if the I/O thread does.
    driver: Option<u64>,
    tickets: u64,
    /// A thread has driven since the I/O thread last looked.
    was_driven: bool,
    /// The I/O thread comes soon anyway.
    is_watched: bool,
    /// For what the channel is armed, reading and writing, as far as that is known.
    armed: Option<(bool, bool)>,
    /// The ticket for which the I/O thread has disarmed it once more.
    disarmed_for: Option<u64>,
}

impl<C: Channel> State<C> {
    /// Sends what can be sent now. False if the I/O thread has to see to the rest.
    fn flush(&mut self) -> bool {
        let Some(channel) = &mut self.channel else { return true };
        // Of an error, reading will tell why; to wait until it takes more would be no use.
        let is_flushed = channel.send(self.machine.outgoing()).unwrap_or(true);
        self.is_blocked = !is_flushed;
        is_flushed
    }

    /// Arms the channel for what the I/O thread has to do.
    fn arm(&mut self) {
        if let Some(channel) = &self.channel {
            let wanted = (self.driver.is_none(), self.is_blocked);
            channel.arm(wanted.0, wanted.1);
            self.armed = Some(wanted);
        }
    }

    fn is_armed(&self) -> bool {
        self.armed == Some((self.driver.is_none(), self.is_blocked))
    }

    /// The attempt's channel, or none.
    fn replace(&mut self, channel: Option<C>) {
        self.channel = channel;
        self.driver = None;
        // As it is made.
        self.armed = Some((true, false));
        self.is_blocked = false;
    }
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
    /// A session that is to be had of these servers, on a clock that counts suspension.
    pub fn new(hosts: &str, options: &ClientOptions, clock: Arc<dyn Clock>) -> Arc<Connection<C>> {
        Connection::noting(hosts, options, clock, Arc::default())
    }

    /// The same, and what each attempt to connect comes to is noted.
    pub fn noting(
        hosts: &str,
        options: &ClientOptions,
        clock: Arc<dyn Clock>,
        noted: Arc<Noted>,
    ) -> Arc<Connection<C>> {
        let credentials = options
            .auth
            .iter()
            .map(|auth| (auth.scheme.clone(), Zeroizing::new(auth.credential.clone())))
            .collect();
        let terms = options.terms();
        let setup = Setup {
            servers: hosts::servers(hosts),
            session_timeout: options.session_timeout,
            connect_timeout: options.connect_timeout,
            read_only: options.read_only,
            credentials,
            sasl: options
                .sasl
                .as_ref()
                .map(|sasl| (sasl.user.clone(), Zeroizing::new(sasl.password.clone()))),
            pauses: Pauses { base: options.retry.base, max: options.retry.max },
            silence: Box::new(move |timeout| super::silence_on(terms, timeout)),
            most_in_flight: options.max_in_flight as usize,
            noted: noted.clone(),
        };
        let machine = Machine::new(setup, clock.now());
        Arc::new(Connection {
            seen: Seen::of(&machine),
            state: Mutex::new(State {
                machine,
                channel: None,
                is_blocked: false,
                driver: None,
                tickets: 0,
                was_driven: false,
                is_watched: false,
                armed: None,
                disarmed_for: None,
            }),
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
        let chroot = hosts.find('/').map_or("", |at| hosts[at..].trim_end_matches('/')).to_owned();
        let session = Session { connection: self.clone(), chroot };
        Box::pin(async move {
            session.connection.until(|link| link.state != LinkState::Down).await;
            match session.connection.link().state {
                LinkState::Up => {}
                LinkState::Denied => {
                    let refusal = session.connection.noted.refusal();
                    return Err(refusal.map_or(WireError::AuthFailed, WireError::Refused));
                }
                LinkState::Down | LinkState::Ended => return Err(WireError::ConnectionLoss),
            }
            Ok(Box::new(session) as Box<dyn Wire>)
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
    fn try_look<T>(&self, look: impl FnOnce(&mut State<C>, Moment) -> T) -> Option<T> {
        let state = self.mail.calling(|| self.try_lock())?;
        let (looked, _) = self.step(state, look);
        self.see_to_mail();
        Some(looked)
    }

    /// What became of an attempt to connect. One that is of no use any more is dropped.
    pub fn connected(&self, attempt: u64, channel: Result<C, String>) {
        self.with(|state, now| state.connected(attempt, channel.map_err(Trouble::from), now));
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

impl<C: Channel> State<C> {
    fn connected(&mut self, attempt: u64, channel: Result<C, Trouble>, now: Moment) {
        match channel {
            _ if !self.machine.wants(attempt) => {}
            Ok(channel) => {
                self.replace(Some(channel));
                self.machine.connected(now);
            }
            Err(trouble) => self.machine.hung_up(trouble, now),
        }
    }

    fn has(&self, attempt: u64) -> bool {
        self.channel.as_ref().is_some_and(|channel| channel.attempt() == attempt)
            && self.machine.wants(attempt)
    }

    fn look(&mut self, now: Moment) -> Due {
        self.machine.tick(now);
        if self.channel.as_ref().is_some_and(|channel| !self.machine.wants(channel.attempt())) {
            self.replace(None);
        }
        let is_blocked = !self.flush();
        let machine = &mut self.machine;
        Due {
            is_over: machine.is_over(),
            dial: machine.dial(),
            question: machine.question(),
            wake_at: machine.wake_at(),
            is_blocked,
        }
    }
}

impl<C: Channel> Connection<C> {
    fn lock(&self) -> MutexGuard<'_, State<C>> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn try_lock(&self) -> Option<MutexGuard<'_, State<C>>> {
        match self.state.try_lock() {
            Ok(state) => Some(state),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// Does something with the machine, sends what comes of it, and tells everybody whom it concerns.
    fn with<T>(&self, work: impl FnOnce(&mut State<C>, Moment) -> T) -> T {
        self.within(self.lock(), work)
    }

    /// The same without waiting for who is inside: they do it then.
    fn post(&self, work: impl FnOnce(&mut State<C>, Moment) + Send + 'static) {
        match self.try_lock() {
            Some(state) => self.within(state, work),
            None => {
                self.mail.put(Box::new(work));
                self.see_to_mail();
            }
        }
    }

    fn within<T>(&self, state: MutexGuard<'_, State<C>>, work: impl FnOnce(&mut State<C>, Moment) -> T) -> T {
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
        mut state: MutexGuard<'_, State<C>>,
        work: impl FnOnce(&mut State<C>, Moment) -> T,
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
    fn tell(&self, mut state: MutexGuard<'_, State<C>>, before: Link) -> bool {
        let outputs = state.machine.outputs();
        let has_changed = state.machine.link() != before;
        self.seen.update(&state.machine);
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

    fn request(
        &self,
        request: &Request<'_>,
        answer: Answer,
        watch: Option<(Kind, String, WatchId, Watcher)>,
    ) {
        match self.try_lock() {
            Some(state) => {
                self.within(state, move |state, now| state.machine.request(request, answer, watch, now))
            }
            None => {
                let letter = Letter::of(request);
                self.post(move |state, now| {
                    letter.read(|request| state.machine.request(request, answer, watch, now));
                });
            }
        }
    }

    /// Sends a request; its answer is the body of the reply.
    fn ask(self: &Arc<Self>, request: &Request<'_>) -> Answered<C> {
        let (answer, answered) = oneshot::channel();
        self.request(request, answer, None);
        Answered { connection: self.clone(), answered }
    }

    /// The same for a request that sets a watch.
    fn ask_and_watch(
        self: &Arc<Self>,
        request: &Request<'_>,
        kind: Kind,
        path: &str,
    ) -> (Answered<C>, Watch) {
        let (answer, answered) = oneshot::channel();
        let (watcher, told) = oneshot::channel();
        let id = WatchId(self.watches.fetch_add(1, Ordering::Relaxed));
        self.request(request, answer, Some((kind, path.to_owned(), id, watcher)));
        let answered = Answered { connection: self.clone(), answered };
        let listening =
            Listening { connection: self.clone(), kind, path: path.to_owned(), id, is_over: false };
        let event = async move {
            let mut listening = listening;
            // Without a word: the session has ended, or the watch was never set.
            let event = told.await.unwrap_or(Event::SessionEnded);
            listening.is_over = true;
            event
        };
        (answered, Watch::new(Box::pin(event)))
    }
}

/// An answer on its way. Nobody knows what became of a request that has none.
struct Answered<C> {
    connection: Arc<Connection<C>>,
    answered: oneshot::Receiver<Result<Vec<u8>, WireError>>,
}

impl<C: Channel> Future for Answered<C> {
    type Output = Result<Vec<u8>, WireError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let polled = Pin::new(&mut self.answered).poll(context);
        if polled.is_pending() {
            C::is_awaited(&self.connection);
        }
        polled.map(|answer| answer.unwrap_or(Err(WireError::ConnectionLoss)))
    }
}

/// Somebody listens to a watch. Dropped before it has told, it is taken back.
struct Listening<C: Channel> {
    connection: Arc<Connection<C>>,
    kind: Kind,
    path: String,
    id: WatchId,
    is_over: bool,
}

impl<C: Channel> Drop for Listening<C> {
    fn drop(&mut self) {
        if !self.is_over && self.connection.process.is_present() {
            let (kind, path, id) = (self.kind, std::mem::take(&mut self.path), self.id);
            self.connection.post(move |state, now| state.machine.unwatch(kind, &path, id, now));
        }
    }
}

/// A node is followed.
struct Followed<C: Channel> {
    connection: Arc<Connection<C>>,
    path: String,
}

impl<C: Channel> Followed<C> {
    fn of(connection: &Arc<Connection<C>>, path: String) -> Option<Followed<C>> {
        let is_followed = connection.with(|state, now| state.machine.follow(&path, now));
        is_followed.then(|| Followed { connection: connection.clone(), path })
    }

    /// The next change; false when nobody tells any more.
    fn next(&self) -> Later<bool> {
        let (watcher, told) = oneshot::channel();
        let path = self.path.clone();
        self.connection.post(move |state, _| state.machine.hear(&path, watcher));
        Box::pin(async move { !matches!(told.await, Err(_) | Ok(Event::Unwatched | Event::SessionEnded)) })
    }
}

impl<C: Channel> Drop for Followed<C> {
    fn drop(&mut self) {
        if self.connection.process.is_present() {
            let path = std::mem::take(&mut self.path);
            self.connection.post(move |state, now| state.machine.unfollow(&path, now));
        }
    }
}

impl<C: Channel> Session<C> {
    fn closed(&self) -> Later<()> {
        let connection = self.connection.clone();
        connection.post(|state, now| state.machine.close(now));
        let is_over = |link: Link| matches!(link.state, LinkState::Ended | LinkState::Denied);
        Box::pin(async move { connection.until(is_over).await })
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
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

    #[test]
    fn what_cannot_be_sent_keeps_nobody_busy() {
        for is_broken in [true, false] {
            let clock = Arc::new(SystemClock);
            let connection = Connection::new("zk.example.org", &ClientOptions::default(), clock);
            let (attempt, _) = connection.look().dial.expect("it wants to connect");
            connection.connected(attempt, Ok(Stuck { attempt, is_broken }));
            // For the new connection, once.
            connection.is_called().now_or_never();
            assert_eq!(connection.look().is_blocked, !is_broken);
            assert!(connection.is_called().now_or_never().is_none(), "it looks again and again");
        }
    }
}
