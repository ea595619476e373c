//! One session over many connections, without I/O: bytes, connections and time go in; bytes, answers and events come out.
//! Whoever drives it connects where [`Machine::dial`] says, hands over what arrives, sends what [`Machine::outgoing`] holds
//! and comes again when [`Machine::wake_at`] says. So the same lines serve a socket and a simulation.
//!
//! - Servers are tried in an order that is drawn anew for each session, with pauses that grow from round to round.
//! - The handshake: hello and credentials leave together. A server may answer them in either order.
//! - Answers come in the order of the requests. Anything else is a broken connection, and what was in flight on it is unknown.
//! - What is asked while there is no connection leaves on the next one, behind the watches, which are set again first. So does what
//!   waits when a connection breaks, unless it is bound to that one: then it never leaves.
//! - Without a word from a server for the session timeout the session has ended, whether or not a server is there to say so.

mod answers;
mod asked_watches;
mod digest_md5;
#[cfg(any(test, fuzzing))]
pub(crate) mod fuzzed;
mod handshake;
mod looking;
mod next_server;
mod queue;
mod timeouts;
mod watch_requests;
mod watch_table;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use zeroize::{Zeroize, Zeroizing};
use zkrecipes_protocol::Op;

pub(crate) use self::answers::refusal;
use self::asked_watches::{AskedWatch, AskedWatches};
use self::digest_md5::DigestMd5;
use self::looking::Looking;
use self::next_server::Servers;
use self::queue::Asked;
pub(crate) use self::queue::{Letter, Wanted};
use self::watch_table::Watches;
pub(crate) use self::watch_table::{WatchId, WatchSubject};
use super::capability::{Capability, is_counted};
use super::noted::{SHAKING_HANDS, TroubleKind};
use super::{Event, FIRST_CONNECTION, Link, LinkState, Noted, SessionIdentity, Trouble, WireError};
use crate::hosts::Server;
use crate::options::ClientOptions;
use crate::session::clock::Moment;

/// An attempt that failed so short a time ago tells how things are.
const NEW: Duration = Duration::from_millis(300);

/// What is said of a server at which an attempt ends, or goes on.
const CLOSES: &str =
    "closes connections at once (it may have no quorum, or too many come from here; or the port wants tls)";
const NO_SESSION: &str =
    "takes connections, but gives no session in time (paused, overloaded, or no ZooKeeper)";
const NO_LOCAL_SESSION: &str = "has no quorum, and opens no session without one; a server from ZooKeeper 3.9 on does if localSessionsEnabled is set there, too";

#[derive(Copy, Clone)]
enum Phase {
    /// Before the next attempt.
    Pausing,
    /// Whoever drives connects; `is_told` once it knows where to.
    Dialling {
        is_told: bool,
    },
    /// Connected; the server has not granted a session yet.
    Greeting,
    /// The server has granted a session, and is to be shown who we are.
    Proving,
    Up,
    /// It has ended, or was refused.
    Over,
}

/// Where the answer to a request goes.
pub(crate) trait Answering {
    /// Nobody waits for it any more.
    fn is_forsaken(&self) -> bool;
}

/// What came out: who asked gets an answer, who watches hears an event.
pub(crate) enum Output<A, W> {
    /// The body of the reply.
    Answered(A, Result<Vec<u8>, WireError>),
    Told(W, Event),
    /// An attempt to get a session has failed, for this reason; the next one is made after so long.
    Failed(String, Duration),
}

pub(crate) struct Machine<A, W> {
    options: ClientOptions,
    /// What becomes of each attempt.
    noted: Arc<Noted>,
    servers: Servers,
    /// That of the connection, or of the last one.
    connected_to: Option<Server>,
    phase: Phase,
    /// So long the phase lasts at most; a connection that is up, and the end, have no such limit.
    until: Moment,
    /// When the last attempt failed, or the last connection broke.
    failed: Moment,
    session: Option<SessionIdentity>,
    /// Known to one server alone, which has lost its quorum.
    is_local: bool,
    /// While the connection is with a server without quorum: the search for one that has one.
    looking: Option<Looking>,
    link: Link,
    /// Which attempt to connect this is.
    attempt: u64,
    /// The last transaction that the session has seen all of: behind an answer no event of it is to come.
    seen: i64,
    /// The last one that an event was of. One transaction may be several events, and of some of them the connection breaks.
    told: i64,
    next_xid: i32,
    /// Credentials stand in it at first, and are wiped.
    outgoing: Zeroizing<Vec<u8>>,
    incoming: Vec<u8>,
    queued: VecDeque<Asked<A, W>>,
    in_flight: VecDeque<Asked<A, W>>,
    /// Those in flight that count.
    counted: usize,
    /// Those queued that do not.
    uncounted: usize,
    watches: Watches<W>,
    asked_watches: AskedWatches,
    /// Watches that stay.
    following: Capability,
    /// Watches that the server may have although nobody listens.
    unheard: BTreeSet<(WatchSubject, String)>,
    outputs: Vec<Output<A, W>>,
    /// Bytes of answers.
    answered: usize,
    last_sent: Moment,
    last_heard: Moment,
    /// When a request was last answered.
    last_answered: Moment,
    proving: Option<DigestMd5>,
    is_closing: bool,
    close_has_left: bool,
    /// Why the last connection ended, or none came about.
    cause: Option<String>,
}

impl<A: Answering, W> Machine<A, W> {
    pub(crate) fn new(
        servers: Vec<Server>,
        options: ClientOptions,
        noted: Arc<Noted>,
        now: Moment,
    ) -> Machine<A, W> {
        noted.begin(&servers);
        Machine {
            options,
            noted,
            servers: Servers::shuffled(servers),
            connected_to: None,
            phase: Phase::Pausing,
            failed: now,
            until: now,
            session: None,
            is_local: false,
            looking: None,
            link: Link { generation: FIRST_CONNECTION - 1, state: LinkState::Down },
            attempt: 0,
            seen: 0,
            told: 0,
            next_xid: 1,
            outgoing: Zeroizing::default(),
            incoming: Vec::new(),
            queued: VecDeque::new(),
            in_flight: VecDeque::new(),
            counted: 0,
            uncounted: 0,
            watches: Watches::default(),
            asked_watches: AskedWatches::default(),
            following: Capability::default(),
            unheard: BTreeSet::new(),
            outputs: Vec::new(),
            answered: 0,
            last_sent: now,
            last_heard: now,
            last_answered: now,
            proving: None,
            is_closing: false,
            close_has_left: false,
            cause: None,
        }
    }

    /// For the end of a session that a client has given up: it goes on with it once, only to close it, at the server `near` first.
    /// Nothing can be asked of it. It tries for the session timeout, behind which the servers have ended it by themselves.
    pub(crate) fn closing(
        servers: Vec<Server>,
        options: ClientOptions,
        session: SessionIdentity,
        near: Option<&str>,
        now: Moment,
    ) -> Machine<A, W> {
        // A server without quorum can close nothing.
        let mut machine = Machine::new(servers, options.read_only(false), Arc::default(), now);
        near.into_iter().for_each(|near| machine.servers.begin_with_named(near));
        machine.session = Some(session);
        machine.is_closing = true;
        machine
    }

    /// See [`Wire::outlives_us`](super::Wire::outlives_us). A local session ends with its connection.
    pub(crate) fn outlives_us(&self) -> Option<SessionIdentity> {
        let is_unheard = self.link.state == LinkState::Unheard;
        self.session.clone().filter(|_| is_unheard && !self.is_local)
    }

    pub(crate) fn link(&self) -> Link {
        self.link
    }

    pub(crate) fn session_id(&self) -> u64 {
        self.session.as_ref().map_or(0, |granted| granted.id as u64)
    }

    /// See [`is_counted`].
    fn is_basic(&self) -> bool {
        is_counted(self.session_id())
    }

    pub(crate) fn session_timeout(&self) -> Duration {
        self.session.as_ref().map_or(self.options.session_timeout, |granted| granted.timeout)
    }

    /// The server that the connection is with; of one that has broken it is still told.
    pub(crate) fn server(&self) -> Option<&Server> {
        self.connected_to.as_ref()
    }

    pub(crate) fn cause(&self) -> Option<&str> {
        self.cause.as_deref()
    }

    pub(crate) fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over)
    }

    /// What came out since this was last asked for.
    pub(crate) fn outputs(&mut self) -> Vec<Output<A, W>> {
        std::mem::take(&mut self.outputs)
    }

    /// The bytes of answers since this was last asked for.
    pub(crate) fn bytes_answered(&mut self) -> usize {
        std::mem::take(&mut self.answered)
    }

    /// Bytes to be sent on the connection, oldest first; what was sent is to be drained.
    pub(crate) fn outgoing(&mut self) -> &mut Vec<u8> {
        &mut self.outgoing
    }

    /// A server to connect to, once for each attempt, and the attempt that it is for.
    pub(crate) fn dial(&mut self) -> Option<(u64, Server)> {
        match &mut self.phase {
            Phase::Dialling { is_told } if !*is_told => {
                *is_told = true;
                Some((self.attempt, self.servers.current().clone()))
            }
            _ => None,
        }
    }

    /// Whether the attempt is still of use: a connection that was made for another one is to be closed.
    pub(crate) fn wants(&self, attempt: u64) -> bool {
        self.attempt == attempt && !matches!(self.phase, Phase::Pausing | Phase::Over)
    }

    /// The connection has broken, or could not be made.
    pub(crate) fn hung_up(&mut self, trouble: impl Into<Trouble>, now: Moment) {
        if matches!(self.phase, Phase::Pausing | Phase::Over) {
            return;
        }
        let (was_up, trouble) = (matches!(self.phase, Phase::Up), trouble.into());
        self.note(&trouble);
        let cause = trouble.words;
        self.drop_connection();
        // Whether the server has heard the farewell is known when it is met again.
        self.close_has_left = false;
        let is_refused = self.session.is_none() && self.noted.is_final();
        if is_refused || (was_up && self.is_local) {
            self.cause = Some(cause);
            return self.end(if is_refused { LinkState::Denied } else { LinkState::Ended });
        }
        if was_up {
            self.enter(LinkState::Down);
        }
        let tried = self.servers.current().to_string();
        let mut pause = self.servers.next(&self.options.retry);
        if self.session.is_some() {
            // A server has to be found again in time.
            pause = pause.min(self.session_timeout() / 8);
        } else {
            self.outputs.push(Output::Failed(format!("{tried}: {cause}"), pause));
        }
        self.cause = Some(cause);
        self.failed = now;
        self.enter_phase(Phase::Pausing, now + pause);
    }

    /// Ends the pause before the next attempt, unless the last one has only just failed.
    pub(crate) fn attempt_now(&mut self, now: Moment) {
        if matches!(self.phase, Phase::Pausing) && now.since(self.failed) >= NEW {
            self.until = self.until.min(now);
        }
    }

    /// Puts down what an attempt has come to.
    fn note(&self, trouble: &Trouble) {
        let noted = match (self.phase, trouble.kind) {
            (Phase::Greeting | Phase::Proving, TroubleKind::Closed) => CLOSES.into(),
            (Phase::Greeting | Phase::Proving, TroubleKind::Other)
                if !matches!(&*trouble.words, NO_SESSION | NO_LOCAL_SESSION) =>
            {
                format!("does not answer as ZooKeeper does ({})", trouble.words).into()
            }
            _ => trouble.clone(),
        };
        self.noted.note(self.servers.current(), noted);
    }

    /// These servers are to be tried from now on. A connection with one of them stays.
    pub(crate) fn update_servers(&mut self, servers: Vec<Server>, now: Moment) {
        if self.servers.are(&servers) {
            return;
        }
        let current = self.servers.current().clone();
        if !servers.contains(&current) {
            self.hung_up("its server is not among those to be tried any more", now);
        }
        self.noted.begin(&servers);
        self.servers = Servers::shuffled(servers);
        if !self.servers.begin_with(&current) && matches!(self.phase, Phase::Pausing) {
            self.until = now;
        }
    }

    /// What is in flight is unknown from now on, and what was to leave on this connection never does.
    fn drop_connection(&mut self) {
        self.looking = None;
        self.outgoing.zeroize();
        self.incoming.clear();
        // A server that does not know watches that stay may hang up without a word.
        let is_following = |asked: &Asked<A, W>| matches!(asked.op, Op::ADD_WATCH | Op::SET_WATCHES2);
        if self.in_flight.iter().any(is_following) {
            self.following.died();
            if self.following.is_absent() {
                self.no_following();
            }
        }
        self.unheard.clear();
        self.counted = 0;
        for asked in std::mem::take(&mut self.in_flight) {
            self.has_gone(&asked);
            if let Some(answer) = asked.answer {
                self.outputs.push(Output::Answered(answer, Err(WireError::ConnectionLoss)));
            }
        }
        self.refuse_bound();
    }

    /// Ends the session, behind what was asked before.
    pub(crate) fn close(&mut self, now: Moment) {
        if self.is_over() || self.is_closing {
            return;
        }
        self.is_closing = true;
        match self.phase {
            Phase::Up => self.pump(now),
            // No server knows of it, or will without being asked.
            Phase::Pausing | Phase::Dialling { .. } if self.session.is_none() => self.end(LinkState::Ended),
            _ => {}
        }
    }

    /// Nobody drives it any more.
    pub(crate) fn give_up(&mut self) {
        if !self.is_over() {
            self.cause = Some("what served the session has ended".to_owned());
            self.end(LinkState::Ended);
        }
    }

    fn enter_phase(&mut self, phase: Phase, until: Moment) {
        (self.phase, self.until) = (phase, until);
    }

    fn enter(&mut self, state: LinkState) {
        self.link = Link { generation: self.link.generation + 1, state };
    }

    /// The server refuses us.
    fn denied(&mut self, cause: &str) {
        self.cause = Some(cause.to_owned());
        self.end(LinkState::Denied);
    }

    fn expired(&mut self) {
        self.cause = Some("the server says that the session has ended".to_owned());
        self.end(LinkState::Ended);
    }

    /// Nothing follows. Everybody who waits hears of it.
    fn end(&mut self, state: LinkState) {
        self.drop_connection();
        self.phase = Phase::Over;
        self.enter(state);
        let error = if state == LinkState::Denied { WireError::AuthFailed } else { WireError::SessionEnded };
        for asked in std::mem::take(&mut self.queued) {
            self.has_gone(&asked);
            if let Some(answer) = asked.answer {
                self.outputs.push(Output::Answered(answer, Err(error.clone())));
            }
        }
        let watchers = self.watches.all();
        self.outputs.extend(watchers.into_iter().map(|watcher| Output::Told(watcher, Event::SessionEnded)));
    }
}

#[cfg(test)]
mod tests;
