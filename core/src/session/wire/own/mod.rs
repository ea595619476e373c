//! Sessions over our own client: [`Machine`] knows the protocol, and this drives it over sockets.
//!
//! Whoever asks writes the request to the socket on its own thread, under the lock of the machine; inside it there is only
//! I/O that does not block, and parsing. A task on the I/O thread reads, keeps pings and connects. Answers are handed over
//! outside the lock.

mod channel;
mod requests;
mod serving;

use std::sync::{Arc, Mutex, MutexGuard};

use tokio::sync::{Notify, oneshot};
use zeroize::Zeroizing;
use zkrecipes_protocol::Request;

use self::channel::Channel;
use super::machine::{Kind, Machine, Output, Pauses, Setup, WatchId};
use super::open::Entry;
use super::{Diagnosis, Dial, Event, Flight, Later, LinkState, Watch, Wire, WireError};
use crate::hosts;
use crate::metrics::Counters;
use crate::options::ClientOptions;
use crate::process::Process;
use crate::runtime;
use crate::session::clock::Clock;
use crate::session::system_clock::SystemClock;
use crate::tls::Tls;

/// Requests on their way, per session.
const MOST_IN_FLIGHT: usize = 1000;

type Answer = oneshot::Sender<Result<Vec<u8>, WireError>>;
type Watcher = oneshot::Sender<Event>;

/// Opens sessions.
pub(crate) struct Own {
    pub(crate) counters: Arc<Counters>,
}

impl Dial for Own {
    fn dial(&self, hosts: &str, options: &ClientOptions) -> Flight<Box<dyn Wire>> {
        let tls = match options.tls.as_ref().map(Tls::read).transpose() {
            Ok(tls) => tls,
            Err(error) => return Box::pin(std::future::ready(Err(WireError::Refused(error)))),
        };
        let credentials = options
            .auth
            .iter()
            .map(|auth| (auth.scheme.clone(), Zeroizing::new(auth.credential.clone())))
            .collect();
        let setup = Setup {
            servers: hosts::servers(hosts),
            session_timeout: options.session_timeout,
            read_only: options.read_only,
            credentials,
            sasl: options
                .sasl
                .as_ref()
                .map(|sasl| (sasl.user.clone(), Zeroizing::new(sasl.password.clone()))),
            pauses: Pauses { base: options.retry.base, max: options.retry.max },
            most_in_flight: MOST_IN_FLIGHT,
        };
        let connection = Arc::new(Connection {
            state: Mutex::new(State {
                machine: Machine::new(setup, SystemClock.now()),
                channel: None,
                next_watch: 0,
            }),
            io: Notify::new(),
            changed: Notify::new(),
            counters: self.counters.clone(),
            process: Process::present(),
        });
        let chroot = hosts.find('/').map_or("", |at| hosts[at..].trim_end_matches('/')).to_owned();
        let session = Session { connection: connection.clone(), chroot };
        runtime::spawn(Box::pin(serving::serve(connection, tls, Entry::new())));
        // Dropped before it is there, it ends what may have begun.
        Box::pin(async move {
            session.connection.until(|state| state.machine.link().state != LinkState::Down).await;
            match session.connection.lock().machine.link().state {
                LinkState::Up => {}
                LinkState::Denied => return Err(WireError::AuthFailed),
                LinkState::Down | LinkState::Ended => return Err(WireError::ConnectionLoss),
            }
            Ok(Box::new(session) as Box<dyn Wire>)
        })
    }

    fn diagnosis(&self, hosts: &str, options: &ClientOptions) -> Option<Diagnosis> {
        Some(Diagnosis::new(hosts, options.tls.as_ref()?))
    }

    fn has_machines(&self) -> bool {
        true
    }
}

/// A session as the recipes have it. Dropped, it ends.
struct Session {
    connection: Arc<Connection>,
    chroot: String,
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.connection.process.is_present() {
            self.connection.with(|state| state.machine.close(SystemClock.now()));
        }
    }
}

/// What the session and the task that serves it share.
struct Connection {
    state: Mutex<State>,
    /// The task has something to do.
    io: Notify,
    /// The link has changed.
    changed: Notify,
    counters: Arc<Counters>,
    process: Process,
}

struct State {
    machine: Machine<Answer, Watcher>,
    channel: Option<Channel>,
    next_watch: u64,
}

impl State {
    /// Sends what can be sent now. False if the I/O thread has to see to the rest.
    fn flush(&mut self) -> bool {
        let Some(channel) = &mut self.channel else { return true };
        // Of an error, reading will tell why.
        channel.send(self.machine.outgoing()).unwrap_or(false)
    }
}

impl Connection {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Does something with the machine, sends what comes of it, and tells everybody whom it concerns.
    fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.lock();
        let (before, wake_before) = (state.machine.link(), state.machine.wake_at());
        let answer = work(&mut state);
        let is_flushed = state.flush();
        let outputs = state.machine.outputs();
        let has_changed = state.machine.link() != before;
        // It sleeps until then.
        let is_sooner = match (state.machine.wake_at(), wake_before) {
            (Some(now), Some(before)) => now < before,
            (now, before) => now.is_some() != before.is_some(),
        };
        drop(state);
        if has_changed || is_sooner || !is_flushed {
            self.io.notify_one();
        }
        if has_changed {
            self.changed.notify_waiters();
        }
        for output in outputs {
            match output {
                Output::Answered(answer, outcome) => _ = answer.send(outcome),
                Output::Told(watcher, event) => _ = watcher.send(event),
            }
        }
        answer
    }

    /// Resolves once `is_so`, which is looked at whenever the link has changed.
    async fn until(&self, is_so: impl Fn(&State) -> bool) {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            // Listen first, look second: a change in between must not be slept through.
            changed.as_mut().enable();
            if is_so(&self.lock()) {
                return;
            }
            changed.await;
        }
    }

    /// Sends a request; its answer is the body of the reply.
    fn ask(&self, request: &Request<'_>) -> oneshot::Receiver<Result<Vec<u8>, WireError>> {
        let (answer, answered) = oneshot::channel();
        self.with(|state| state.machine.request(request, answer, None, SystemClock.now()));
        answered
    }

    /// The same for a request that sets a watch.
    fn ask_and_watch(
        self: &Arc<Self>,
        request: &Request<'_>,
        kind: Kind,
        path: &str,
    ) -> (oneshot::Receiver<Result<Vec<u8>, WireError>>, Watch) {
        let (answer, answered) = oneshot::channel();
        let (watcher, told) = oneshot::channel();
        let id = self.with(|state| {
            state.next_watch += 1;
            let id = WatchId(state.next_watch);
            state.machine.request(
                request,
                answer,
                Some((kind, path.to_owned(), id, watcher)),
                SystemClock.now(),
            );
            id
        });
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

/// Somebody listens to a watch. Dropped before it has told, it is taken back.
struct Listening {
    connection: Arc<Connection>,
    kind: Kind,
    path: String,
    id: WatchId,
    is_over: bool,
}

impl Drop for Listening {
    fn drop(&mut self) {
        if !self.is_over && self.connection.process.is_present() {
            let Listening { kind, path, id, .. } = &*self;
            self.connection.with(|state| state.machine.unwatch(*kind, path, *id, SystemClock.now()));
        }
    }
}

impl Session {
    fn closed(&self) -> Later<()> {
        let connection = self.connection.clone();
        connection.with(|state| state.machine.close(SystemClock.now()));
        Box::pin(async move { connection.until(|state| state.machine.is_over()).await })
    }
}
