//! One session over many connections, without I/O: bytes, connections and time go in; bytes, answers and events come out.
//! Whoever drives it connects where [`Machine::dial`] says, hands over what arrives, sends what [`Machine::outgoing`] holds
//! and comes again when [`Machine::wake_at`] says. So the same lines serve a socket and a simulation.
//!
//! - Servers are tried in an order that is drawn anew for each session, with pauses that grow from round to round.
//! - The handshake: hello and credentials leave together. A server may answer them in either order.
//! - Answers come in the order of the requests. Anything else is a broken connection, and what was in flight on it is unknown.
//! - What is asked while there is no connection leaves on the next one, behind the watches, which are set again first.
//! - Without a word from a server for the session timeout the session has ended, whether or not a server is there to say so.

mod digest_md5;
mod handshake;
mod looking;
mod servers;
mod watches;
mod watching;

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use zeroize::Zeroizing;
use zkrecipes_protocol::{
    Code, Event as Told, Op, Reader, Reply, ReplyHead, Request, SubWrite, Welcome, Writer, XID_AUTH,
    XID_EVENT, XID_PING, XID_SET_WATCHES, frame_at,
};

use self::digest_md5::DigestMd5;
use self::looking::Looking;
pub(crate) use self::servers::Pauses;
use self::servers::Servers;
use self::watches::Watches;
pub(crate) use self::watches::{Kind, WatchId};
use self::watching::without_watch;
use super::noted::{SHAKING_HANDS, TroubleKind};
use super::{Event, FIRST_CONNECTION, Link, LinkState, Noted, Trouble, WireError};
use crate::hosts::Server;
use crate::session::clock::Moment;

/// No answer is that long. Memory is taken as bytes arrive, and not for what a server declares.
const LONGEST_FRAME: usize = 64 << 20;
/// Nor what comes before there is a session.
const LONGEST_GREETING: usize = 64 << 10;
/// Of an answer: its length, the number of the request, the transaction and the error.
const FRAME_HEAD: usize = 20;
/// Room for answers that is kept.
const MOST_KEPT: usize = 1 << 20;
const UNREADABLE: &str = "the server sent what cannot be read";
/// The mode of a watch that stays, and the kind of all watches of a path.
const PERSISTENT: i32 = 0;
const ANY: i32 = 3;
/// So many connections that died on a request are no chance.
const DEATHS: u32 = 2;
/// So many bytes of paths go into one request that sets watches again: a server takes a megabyte.
const WATCHES_AT_ONCE: usize = 512 << 10;
/// One attempt takes at least so long: a handshake on a busy machine.
const SHORTEST_ATTEMPT: Duration = Duration::from_secs(1);
/// What is said of a server at which an attempt ends, or goes on.
const UNREACHED: &str = "has not been reached (its name takes long to look up, or it is silent)";
const CLOSES: &str =
    "closes connections at once (it may have no quorum, or too many come from here; or the port wants tls)";
const NO_SESSION: &str =
    "takes connections, but gives no session in time (paused, overloaded, or no ZooKeeper)";

/// What a session is asked for with.
pub(crate) struct Setup {
    pub(crate) servers: Vec<Server>,
    pub(crate) session_timeout: Duration,
    /// How long somebody waits for the session.
    pub(crate) connect_timeout: Duration,
    pub(crate) read_only: bool,
    /// Scheme and credential, for each connection anew.
    pub(crate) credentials: Vec<(String, Zeroizing<Vec<u8>>)>,
    /// User and password, likewise.
    pub(crate) sasl: Option<(String, Zeroizing<String>)>,
    pub(crate) pauses: Pauses,
    /// How long a server that owes an answer may be silent in a session with that timeout.
    pub(crate) silence: Box<dyn Fn(Duration) -> Duration + Send>,
    /// What comes on top waits for an answer; heartbeats, pings and deletions do not.
    pub(crate) most_in_flight: usize,
    /// What becomes of each attempt.
    pub(crate) noted: Arc<Noted>,
}

/// What a session is known by, once a server has granted it.
struct Granted {
    id: i64,
    password: Zeroizing<Vec<u8>>,
    timeout: Duration,
}

enum Phase {
    /// Until the next attempt.
    Pausing(Moment),
    /// Whoever drives connects; `is_told` once it knows where to.
    Dialling {
        until: Moment,
        is_told: bool,
    },
    /// Connected; the server has not granted a session yet.
    Greeting {
        until: Moment,
    },
    /// The server has granted a session, and is to be shown who we are.
    Proving {
        until: Moment,
    },
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

/// A request that has not left, or has no answer yet.
struct Asked<A, W> {
    xid: i32,
    op: Op,
    /// The whole frame; empty once it has left.
    frame: Vec<u8>,
    /// When it left.
    sent: Moment,
    /// None for what the machine asks of its own accord.
    answer: Option<A>,
    watch: Option<Wanted<W>>,
    /// It counts among those in flight, of which there are only so many.
    is_counted: bool,
    /// It could not leave at once: until it does it can be withdrawn.
    has_to_wait: bool,
}

impl<A, W> Asked<A, W> {
    fn own(xid: i32, op: Op, frame: Vec<u8>) -> Asked<A, W> {
        Asked {
            xid,
            op,
            frame,
            sent: Moment::START,
            answer: None,
            watch: None,
            is_counted: false,
            has_to_wait: false,
        }
    }
}

/// The watch that a request sets.
struct Wanted<W> {
    kind: Kind,
    path: String,
    id: WatchId,
    watcher: W,
    /// Servers may tell what happens before they answer the request.
    early: Option<Event>,
    /// Nobody listens any more.
    is_given_up: bool,
}

pub(crate) struct Machine<A, W> {
    setup: Setup,
    servers: Servers,
    phase: Phase,
    session: Option<Granted>,
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
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
    queued: VecDeque<Asked<A, W>>,
    in_flight: VecDeque<Asked<A, W>>,
    /// Those in flight that count.
    counted: usize,
    /// Those queued that do not.
    uncounted: usize,
    watches: Watches<W>,
    /// Whether servers know watches that stay; none before one has told.
    knows_following: Option<bool>,
    /// So many connections have died with the request for one on them.
    died_following: u32,
    /// Watches that the server may have although nobody listens.
    unheard: BTreeSet<(Kind, String)>,
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
    pub(crate) fn new(setup: Setup, now: Moment) -> Machine<A, W> {
        setup.noted.begin(&setup.servers);
        Machine {
            servers: Servers::shuffled(setup.servers.len()),
            setup,
            phase: Phase::Pausing(now),
            session: None,
            is_local: false,
            looking: None,
            link: Link { generation: FIRST_CONNECTION - 1, state: LinkState::Down },
            attempt: 0,
            seen: 0,
            told: 0,
            next_xid: 1,
            outgoing: Vec::new(),
            incoming: Vec::new(),
            queued: VecDeque::new(),
            in_flight: VecDeque::new(),
            counted: 0,
            uncounted: 0,
            watches: Watches::default(),
            knows_following: None,
            died_following: 0,
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

    pub(crate) fn link(&self) -> Link {
        self.link
    }

    pub(crate) fn session_id(&self) -> u64 {
        self.session.as_ref().map_or(0, |granted| granted.id as u64)
    }

    pub(crate) fn session_timeout(&self) -> Duration {
        self.session.as_ref().map_or(self.setup.session_timeout, |granted| granted.timeout)
    }

    /// The server that the connection is with.
    pub(crate) fn server(&self) -> Option<&Server> {
        matches!(self.phase, Phase::Up).then(|| &self.setup.servers[self.servers.current()])
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
            Phase::Dialling { is_told, .. } if !*is_told => {
                *is_told = true;
                Some((self.attempt, self.setup.servers[self.servers.current()].clone()))
            }
            _ => None,
        }
    }

    /// Whether the attempt is still of use: a connection that was made for another one is to be closed.
    pub(crate) fn wants(&self, attempt: u64) -> bool {
        self.attempt == attempt && !matches!(self.phase, Phase::Pausing(_) | Phase::Over)
    }

    /// When time alone will change something.
    pub(crate) fn wake_at(&self) -> Option<Moment> {
        let timeout = self.session_timeout();
        let expiry = self.session.as_ref().map(|_| self.last_heard + timeout);
        let next = match self.phase {
            Phase::Pausing(until) => Some(until),
            Phase::Dialling { until, .. } | Phase::Greeting { until } | Phase::Proving { until } => {
                Some(until)
            }
            Phase::Up => {
                let look = self.looking.as_ref().and_then(Looking::at);
                [Some(self.ping_at()), self.silent_at(), look].into_iter().flatten().min()
            }
            Phase::Over => return None,
        };
        [next, expiry].into_iter().flatten().min()
    }

    /// A server keeps a session for a timeout after it has heard of it.
    fn ping_at(&self) -> Moment {
        self.last_sent + self.session_timeout() / 3
    }

    /// When a server that owes an answer is given up: it is silent, or says much and answers nothing.
    fn silent_at(&self) -> Option<Moment> {
        let (owed, timeout) = (self.in_flight.front()?.sent, self.session_timeout());
        let silence = (self.setup.silence)(timeout);
        // What was asked late has its time, too: nobody may have asked for a while, or been able to.
        let silent = (self.last_heard + silence).max(owed + (silence - timeout / 18));
        Some(silent.min(self.last_answered.max(owed) + timeout))
    }

    /// Time has passed.
    pub(crate) fn tick(&mut self, now: Moment) {
        if self.session.is_some() && !self.is_over() && now >= self.last_heard + self.session_timeout() {
            self.cause.get_or_insert_with(|| "no server was heard of for the session timeout".to_owned());
            return self.end(LinkState::Ended);
        }
        self.look(now);
        match self.phase {
            Phase::Pausing(until) if now >= until => {
                if self.is_closing && self.session.is_none() {
                    return self.end(LinkState::Ended);
                }
                self.attempt += 1;
                self.setup.noted.note_first(self.tried(), UNREACHED.into());
                self.phase = Phase::Dialling { until: now + self.most_an_attempt(), is_told: false };
            }
            Phase::Dialling { until, .. } if now >= until => {
                let trouble = match self.setup.noted.is_shaking_hands(self.tried()) {
                    true => SHAKING_HANDS.into(),
                    false => format!("is silent (no connection within {:?})", self.most_an_attempt()),
                };
                self.hung_up(trouble, now)
            }
            Phase::Greeting { until } | Phase::Proving { until } if now >= until => {
                self.hung_up(NO_SESSION, now);
            }
            Phase::Up if self.silent_at().is_some_and(|at| now >= at) => {
                self.hung_up("the server is silent", now);
            }
            Phase::Up if now >= self.ping_at() => {
                self.send(Asked::own(XID_PING, Op::PING, Writer::request(XID_PING, Op::PING).finish()), now);
            }
            _ => {}
        }
    }

    /// Bytes have arrived.
    pub(crate) fn received(&mut self, bytes: &[u8], now: Moment) {
        self.last_heard = now;
        self.incoming.extend_from_slice(bytes);
        let incoming = std::mem::take(&mut self.incoming);
        let mut at = 0;
        while matches!(self.phase, Phase::Greeting { .. } | Phase::Proving { .. } | Phase::Up) {
            let longest = if matches!(self.phase, Phase::Up) { LONGEST_FRAME } else { LONGEST_GREETING };
            match frame_at(&incoming[at..], longest) {
                Ok(Some((frame, taken))) => {
                    at += taken;
                    if let Err(problem) = self.frame(frame, now) {
                        self.hung_up(problem, now);
                    }
                }
                Ok(None) => {
                    self.incoming = incoming;
                    self.incoming.drain(..at);
                    if self.incoming.len() < MOST_KEPT {
                        self.incoming.shrink_to(MOST_KEPT);
                    }
                    return;
                }
                Err(_) => self.hung_up("the server sent what is no answer", now),
            }
        }
    }

    fn frame(&mut self, frame: &[u8], now: Moment) -> Result<(), &'static str> {
        let mut r = Reader::new(frame);
        let head = ReplyHead::read(&mut r);
        let is_greeting = matches!(self.phase, Phase::Greeting { .. });
        if let Ok(head) = head
            && head.xid == XID_AUTH
        {
            if head.err != 0 {
                self.denied("the server refused our credentials");
            }
            return Ok(());
        }
        if is_greeting {
            return self.welcomed(&Welcome::read(frame).map_err(|_| UNREADABLE)?, now);
        }
        let head = head.map_err(|_| UNREADABLE)?;
        let body = &frame[16..];
        if head.xid == XID_EVENT {
            self.told = self.told.max(head.zxid);
            self.happened(&Told::read(&mut r).map_err(|_| UNREADABLE)?, now);
            return Ok(());
        }
        match self.in_flight.pop_front() {
            Some(asked) if asked.xid == head.xid => {
                // Nobody knows what became of a request whose answer cannot be read.
                if head.err == 0 && asked.answer.is_some() && Reply::read(asked.op, &mut r).is_err() {
                    self.in_flight.push_front(asked);
                    return Err(UNREADABLE);
                }
                // Of several requests that set watches again the first ones say nothing of the watches in the last.
                if self.in_flight.front().is_none_or(|next| next.xid != XID_SET_WATCHES) {
                    self.seen = self.seen.max(head.zxid);
                }
                self.last_answered = now;
                self.counted -= usize::from(asked.is_counted);
                self.answered(asked, head.err, body, now);
            }
            Some(asked) => {
                self.in_flight.push_front(asked);
                return Err("the server answered out of order");
            }
            None => return Err("the server answered what nobody asked"),
        }
        self.pump(now);
        Ok(())
    }

    fn answered(&mut self, asked: Asked<A, W>, err: i32, body: &[u8], now: Moment) {
        let is_set = err == 0 || (asked.op == Op::EXISTS && err == Code::NoNode as i32);
        if let Some(Wanted { kind, path, id, watcher, early, is_given_up }) = asked.watch {
            match early {
                _ if !is_set => {}
                Some(event) => {
                    // That may have been another watch, which was there before this one, and the node may be a new one.
                    let event = if err == 0 { event.without_certainty(kind) } else { event };
                    self.outputs.push(Output::Told(watcher, event));
                    self.unheard.insert((kind, path.clone()));
                }
                None => self.watches.add(kind, path.clone(), err != 0, id, watcher),
            }
            if is_given_up {
                self.unwatch(kind, &path, id, now);
            }
            self.remove_unheard(kind, &path, now);
        }
        if asked.op == Op::CLOSE {
            return self.end(LinkState::Ended);
        }
        if asked.op == Op::SASL {
            return self.proved(err, body, now);
        }
        if asked.op == Op::ADD_WATCH {
            match err {
                0 => self.knows_following = Some(true),
                _ => self.no_following(),
            }
        }
        if err == Code::AuthRequired as i32 {
            if let Some(answer) = asked.answer {
                self.outputs.push(Output::Answered(answer, Err(WireError::AuthFailed)));
            }
            return self.denied("the server wants to know who we are");
        }
        if err == Code::SessionExpired as i32 {
            self.cause = Some("the server says that the session has ended".to_owned());
            if let Some(answer) = asked.answer {
                self.outputs.push(Output::Answered(answer, Err(WireError::SessionEnded)));
            }
            return self.end(LinkState::Ended);
        }
        if let Some(answer) = asked.answer {
            self.answered += FRAME_HEAD + body.len();
            let outcome = if err == 0 { Ok(body.to_vec()) } else { Err(refusal(err)) };
            self.outputs.push(Output::Answered(answer, outcome));
        }
    }

    /// The connection has broken, or could not be made.
    pub(crate) fn hung_up(&mut self, trouble: impl Into<Trouble>, now: Moment) {
        let was_up = matches!(self.phase, Phase::Up);
        if self.is_over() || matches!(self.phase, Phase::Pausing(_)) {
            return;
        }
        let trouble = trouble.into();
        self.note(&trouble);
        let cause = trouble.words;
        self.drop_connection();
        if self.session.is_none() && self.setup.noted.is_final() {
            self.cause = Some(cause);
            return self.end(LinkState::Denied);
        }
        // Whether the server has heard the farewell is known when it is met again.
        self.close_has_left = false;
        if was_up && self.is_local {
            self.cause = Some(cause);
            return self.end(LinkState::Ended);
        }
        if was_up {
            self.enter(LinkState::Down);
        }
        let tried = self.servers.current();
        let mut pause = self.servers.next(&self.setup.pauses);
        if self.session.is_some() {
            // A server has to be found again in time.
            pause = pause.min(self.session_timeout() / 8);
        } else {
            let cause = format!("{}: {cause}", self.setup.servers[tried]);
            self.outputs.push(Output::Failed(cause, pause));
        }
        self.cause = Some(cause);
        self.phase = Phase::Pausing(now + pause);
    }

    /// Puts down what an attempt has come to.
    fn note(&self, trouble: &Trouble) {
        let noted = match self.phase {
            Phase::Greeting { .. } | Phase::Proving { .. } => match trouble.kind {
                TroubleKind::Refusal => trouble.clone(),
                TroubleKind::Closed => CLOSES.into(),
                TroubleKind::Other if trouble.words == NO_SESSION => trouble.clone(),
                TroubleKind::Other => format!("does not answer as ZooKeeper does ({})", trouble.words).into(),
            },
            _ => trouble.clone(),
        };
        self.setup.noted.note(self.tried(), noted);
    }

    /// The server of this attempt.
    fn tried(&self) -> &Server {
        &self.setup.servers[self.servers.current()]
    }

    /// Who waits for the session is to know of each server what is wrong with it when the time is over.
    fn most_an_attempt(&self) -> Duration {
        let (servers, is_new) = (self.setup.servers.len() as u32, self.session.is_none());
        // In a session one more: behind a server that was silent all of them, and that one again.
        let share = servers + 1 + u32::from(!is_new);
        let most = (self.session_timeout() / share).max(SHORTEST_ATTEMPT);
        if is_new { most.min(self.setup.connect_timeout / servers) } else { most }
    }

    /// These servers are to be tried from now on. A connection with one of them stays.
    pub(crate) fn update_servers(&mut self, servers: Vec<Server>, now: Moment) {
        if servers == self.setup.servers {
            return;
        }
        let kept = servers.iter().position(|server| server == self.tried());
        if kept.is_none() {
            self.hung_up("its server is not among those to be tried any more", now);
        }
        self.setup.noted.begin(&servers);
        self.servers = Servers::shuffled(servers.len());
        self.setup.servers = servers;
        match (kept, &self.phase) {
            (Some(kept), _) => self.servers.begin_with(kept),
            (None, Phase::Pausing(_)) => self.phase = Phase::Pausing(now),
            (None, _) => {}
        }
    }

    /// What is in flight is unknown from now on.
    fn drop_connection(&mut self) {
        self.looking = None;
        self.outgoing.clear();
        self.incoming.clear();
        // A server that does not know watches that stay may hang up without a word.
        let is_following = |asked: &Asked<A, W>| matches!(asked.op, Op::ADD_WATCH | Op::SET_WATCHES2);
        if self.knows_following.is_none() && self.in_flight.iter().any(is_following) {
            self.died_following += 1;
            if self.died_following >= DEATHS {
                self.no_following();
            }
        }
        self.unheard.clear();
        self.counted = 0;
        for asked in self.in_flight.drain(..) {
            if let Some(answer) = asked.answer {
                self.outputs.push(Output::Answered(answer, Err(WireError::ConnectionLoss)));
            }
        }
    }

    /// Asks for something. `watch` is the watch that the request sets.
    pub(crate) fn request(
        &mut self,
        request: &Request<'_>,
        answer: A,
        watch: Option<(Kind, String, WatchId, W)>,
        now: Moment,
    ) {
        if self.is_over() || self.is_closing {
            let error = match self.link.state {
                LinkState::Denied => WireError::AuthFailed,
                _ => WireError::SessionEnded,
            };
            return self.outputs.push(Output::Answered(answer, Err(error)));
        }
        let watch = watch.map(|(kind, path, id, watcher)| Wanted {
            kind,
            path,
            id,
            watcher,
            early: None,
            is_given_up: false,
        });
        // What is followed tells without one.
        let is_followed = watch.as_ref().is_some_and(|wanted| self.watches.is_followed(&wanted.path));
        let unwatched = is_followed.then(|| without_watch(request)).flatten();
        self.enqueue(unwatched.as_ref().unwrap_or(request), Some(answer), watch);
        self.pump(now);
    }

    fn enqueue(&mut self, request: &Request<'_>, answer: Option<A>, watch: Option<Wanted<W>>) {
        let xid = self.next_xid;
        // Negative numbers mean something else.
        self.next_xid = xid.checked_add(1).unwrap_or(1);
        let op = request.op();
        let mut frame = Writer::request(xid, op);
        request.write(&mut frame);
        let is_counted = !is_exempt(request);
        let has_to_wait = matches!(self.phase, Phase::Up) && self.counted >= self.setup.most_in_flight;
        let asked = Asked { answer, watch, is_counted, has_to_wait, ..Asked::own(xid, op, frame.finish()) };
        self.uncounted += usize::from(!is_counted);
        self.queued.push_back(asked);
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
            Phase::Pausing(_) | Phase::Dialling { .. } if self.session.is_none() => {
                self.end(LinkState::Ended)
            }
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

    /// Sends what waits and may leave.
    fn pump(&mut self, now: Moment) {
        if !matches!(self.phase, Phase::Up) {
            return;
        }
        while let Some(at) = self.next_to_leave()
            && let Some(asked) = self.queued.remove(at)
        {
            self.uncounted -= usize::from(!asked.is_counted);
            if !(asked.has_to_wait && asked.answer.as_ref().is_some_and(A::is_forsaken)) {
                self.counted += usize::from(asked.is_counted);
                self.send(asked, now);
            }
        }
        if self.is_closing && self.queued.is_empty() && !self.close_has_left {
            self.close_has_left = true;
            self.send(Asked::own(0, Op::CLOSE, Writer::request(0, Op::CLOSE).finish()), now);
        }
    }

    /// Where in the queue it is. What keeps or ends what is held does not wait for the rest.
    fn next_to_leave(&self) -> Option<usize> {
        if self.counted < self.setup.most_in_flight {
            return (!self.queued.is_empty()).then_some(0);
        }
        (self.uncounted > 0).then(|| self.queued.iter().position(|asked| !asked.is_counted)).flatten()
    }

    fn send(&mut self, mut asked: Asked<A, W>, now: Moment) {
        self.outgoing.append(&mut asked.frame);
        asked.frame = Vec::new();
        asked.sent = now;
        self.in_flight.push_back(asked);
        self.last_sent = now;
    }

    fn enter(&mut self, state: LinkState) {
        self.link = Link { generation: self.link.generation + 1, state };
    }

    /// Nothing follows. Everybody who waits hears of it.
    fn end(&mut self, state: LinkState) {
        self.drop_connection();
        self.phase = Phase::Over;
        self.enter(state);
        let error = if state == LinkState::Denied { WireError::AuthFailed } else { WireError::SessionEnded };
        for asked in self.queued.drain(..) {
            if let Some(answer) = asked.answer {
                self.outputs.push(Output::Answered(answer, Err(error.clone())));
            }
        }
        let watchers = self.watches.all();
        self.outputs.extend(watchers.into_iter().map(|watcher| Output::Told(watcher, Event::SessionEnded)));
    }
}

/// Heartbeats, and what deletes and nothing else.
fn is_exempt(request: &Request<'_>) -> bool {
    let is_harmless =
        |write: &SubWrite<'_>| matches!(write, SubWrite::Check { .. } | SubWrite::Delete { .. });
    match request {
        Request::Sync { .. } | Request::Write(SubWrite::Delete { .. }) => true,
        Request::Multi(writes) => writes.iter().all(is_harmless),
        _ => false,
    }
}

/// The server's refusal, in our words.
pub(crate) fn refusal(err: i32) -> WireError {
    match Code::of(err) {
        Some(Code::NoNode) => WireError::NoNode,
        Some(Code::NodeExists) => WireError::NodeExists,
        Some(Code::BadVersion) => WireError::BadVersion,
        Some(Code::NotEmpty) => WireError::NotEmpty,
        Some(Code::NoChildrenForEphemerals) => WireError::EphemeralParent,
        Some(Code::NoAuth) => WireError::NoAuth,
        Some(Code::AuthFailed | Code::AuthRequired) => WireError::AuthFailed,
        Some(Code::InvalidAcl) => WireError::InvalidAcl,
        Some(Code::QuotaExceeded) => WireError::QuotaExceeded,
        Some(Code::NotReadOnly) => WireError::ReadOnly,
        Some(Code::Unimplemented) => WireError::Unimplemented,
        Some(Code::SessionExpired) => WireError::SessionEnded,
        // The server that a session has left refused it; where the session went, nothing is known of the request. A throttled
        // one was not carried out. Both may be asked again.
        Some(Code::SessionMoved | Code::Throttled) => WireError::ConnectionLoss,
        Some(Code::BadArguments) => WireError::bad_arguments(),
        Some(Code::MarshallingError) => WireError::senseless(),
        Some(code) => WireError::Other(format!("{code:?}")),
        None => WireError::of_number(err),
    }
}

#[cfg(test)]
mod tests;
