//! The server without sockets and without a clock: requests and the time go in, replies and events come out.
//!
//! A shell (the TCP server, or a simulation under virtual time) tells a [`Machine`] of connections with
//! [`Machine::open`], hands it frames with [`Machine::frame`], lets time pass with [`Machine::tick`], and carries out
//! what [`Machine::take_output`] returns. The same inputs always give the same outputs.
//!
//! ```
//! use zkrecipes_embedded::machine::{Config, Machine, Now, Output};
//! use zkrecipes_embedded::wire::Hello;
//!
//! let mut machine = Machine::new(Config::default());
//! machine.open(1, "127.0.0.1:50000".parse().unwrap());
//! let hello = Hello { zxid_seen: 0, timeout: 4000, session: 0, password: &[0; 16], read_only: None };
//! // What follows the length of the frame.
//! machine.frame(1, &hello.frame()[4..], Now::default());
//! let out = machine.take_output();
//! assert!(out.iter().any(|o| matches!(o, Output::Send { conn: 1, .. })));
//! assert_eq!(machine.sessions().len(), 1);
//! ```

mod acl;
mod cluster;
mod connect;
mod dialect;
mod interface;
mod journal;
mod multi;
mod profile;
mod quorum;
mod read;
mod reap;
mod reconfig;
mod request;
mod saved;
mod sessions;
mod tree;
mod view;
mod watch;
mod words;
mod write;

pub use acl::{Identity, digest};
pub use cluster::Cluster;
pub use dialect::Dialect;
pub use interface::{Config, ConnId, Kind, Note, Now, Output, Time};
pub use journal::{Commit, Forward};
pub use profile::Profile;
pub use view::NodeView;

pub(crate) use connect::too_late;
pub(crate) use multi::refused;

use crate::wire::{Acl, Event, EventKind};
use sessions::Sessions;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tree::Tree;
use watch::Watches;

#[derive(Debug)]
struct Conn {
    peer: SocketAddr,
    session: Option<i64>,
    timeout: Duration,
    ids: Arc<[Identity]>,
    closing: bool,
    /// A follower's: a request is on its way to the leader, and these wait behind it.
    waiting: bool,
    queue: VecDeque<Vec<u8>>,
    /// What is on its way is the end of the session.
    leaving: bool,
    received: u64,
    sent: u64,
}

impl Conn {
    fn new(peer: SocketAddr) -> Self {
        Conn {
            peer,
            session: None,
            timeout: Duration::ZERO,
            ids: [Identity::new("ip", peer.ip().to_string())].into(),
            closing: false,
            waiting: false,
            queue: VecDeque::new(),
            leaving: false,
            received: 0,
            sent: 0,
        }
    }
}

/// A ZooKeeper server's state and rules. See the [module](self).
#[derive(Debug)]
pub struct Machine {
    config: Config,
    tree: Tree,
    sessions: Sessions,
    watches: Watches,
    conns: BTreeMap<ConnId, Conn>,
    by_session: HashMap<i64, ConnId>,
    zxid: i64,
    /// Create counts that ran past the end of the range within the requests in flight. See [`Machine::settle`].
    wrapped: HashMap<String, i32>,
    next_reap: Time,
    /// A leader's: transactions that followers have not been told yet.
    journal: Option<Vec<Commit>>,
    /// A follower's: sessions to vouch for.
    touched: Option<BTreeMap<i64, Duration>>,
    /// The servers that `/zookeeper/config` names at first, if clients may change them.
    ensemble: Option<String>,
    /// There is no majority, so no transactions and no expiry; sessions from this id on are the server's own.
    without_quorum: Option<i64>,
    received: u64,
    sent: u64,
    out: Vec<Output>,
}

impl Machine {
    pub fn new(config: Config) -> Self {
        Machine {
            tree: Tree::new(acl::world(acl::ALL), acl::world(acl::READ)),
            sessions: Sessions::new(config.tick, config.first_session_id, config.secret),
            watches: Watches::new(config.profile.keeps_every_watch, config.dialect.names_watched_paths),
            conns: BTreeMap::new(),
            by_session: HashMap::new(),
            zxid: 0,
            wrapped: HashMap::new(),
            next_reap: config.reap_every,
            journal: None,
            touched: None,
            ensemble: None,
            without_quorum: None,
            received: 0,
            sent: 0,
            out: Vec::new(),
            config,
        }
    }

    /// A client has connected.
    pub fn open(&mut self, conn: ConnId, peer: SocketAddr) {
        self.conns.insert(conn, Conn::new(peer));
    }

    /// A connection is gone. Its watches go, its session stays.
    pub fn closed(&mut self, conn: ConnId) {
        self.detach(conn);
        self.conns.remove(&conn);
    }

    /// A frame, without its length, has arrived.
    pub fn frame(&mut self, conn: ConnId, frame: &[u8], now: Now) {
        let Some(c) = self.conns.get_mut(&conn).filter(|c| !c.closing) else { return };
        c.received += 1;
        self.received += 1;
        if let (Some(session), timeout) = (c.session, c.timeout) {
            self.heard_from(session, timeout, now);
        }
        if self.queues(conn, frame) {
            return;
        }
        let Some(c) = self.conns.get(&conn) else { return };
        match c.session {
            None => self.handshake(conn, frame, now),
            Some(session) => self.request(conn, session, frame, now),
        }
    }

    /// A sign of life of a client that is connected here. What a follower passes on does not count: the leader learns
    /// of its clients when it asks.
    fn heard_from(&mut self, session: i64, timeout: Duration, now: Now) {
        match &mut self.touched {
            None => _ = self.sessions.touch(session, now.mono, timeout),
            Some(touched) => _ = touched.insert(session, timeout),
        }
    }

    /// Everything that arrived together has been handled: a real server has nothing in flight any more.
    ///
    /// This makes a difference only at the end of the sequence range: there, creates in flight together count on past
    /// 2147483647, but what is stored stops at it.
    pub fn settle(&mut self) {
        if !self.wrapped.is_empty() {
            self.wrapped.clear();
        }
    }

    /// Lets time pass: sessions end, containers and overdue nodes go.
    pub fn tick(&mut self, now: Now) {
        if self.is_follower() || self.without_quorum.is_some() {
            return;
        }
        while let Some(session) = self.sessions.due(now.mono) {
            self.end_session(session, Note::SessionExpired { session });
        }
        if now.mono >= self.next_reap {
            self.next_reap = now.mono + self.config.reap_every;
            self.reap(now);
        }
    }

    /// When [`Machine::tick`] has something to do at the earliest.
    pub fn next_deadline(&self) -> Option<Time> {
        if self.is_follower() || self.without_quorum.is_some() {
            return None;
        }
        let reap = self.tree.has_reapable().then_some(self.next_reap);
        [self.sessions.next_deadline(), reap].into_iter().flatten().min()
    }

    /// What is to be sent and closed since the last call.
    pub fn take_output(&mut self) -> Vec<Output> {
        std::mem::take(&mut self.out)
    }

    /// Like [`Machine::take_output`], keeping the buffer's memory in use.
    pub fn drain_output_into(&mut self, into: &mut Vec<Output>) {
        into.append(&mut self.out);
    }

    /// The server stopped and started again: connections are gone, sessions have their whole timeout again.
    pub fn restart(&mut self, now: Now) {
        for conn in self.conns.keys().copied().collect::<Vec<_>>() {
            self.closed(conn);
        }
        self.sessions.restart(now.mono);
    }

    /// Forgets everything, as a server whose disk was lost. Ids of the past must not come back, so the next one is
    /// given.
    pub fn lose_state(&mut self, next_session_id: i64) {
        let config = Config { first_session_id: next_session_id, ..self.config.clone() };
        let (leads, follows) = (self.journal.is_some(), self.is_follower());
        let ensemble = self.ensemble.take();
        *self = Machine::new(config);
        self.allow_reconfig(ensemble);
        if leads {
            self.lead();
        }
        if follows {
            self.follow();
        }
    }

    pub fn next_session_id(&self) -> i64 {
        self.sessions.next_id()
    }

    /// Ends a session as if its time had come. False if there is none.
    pub fn expire(&mut self, session: i64) -> bool {
        self.sessions.contains(session) && self.end_session(session, Note::SessionExpired { session })
    }

    /// Deletes the containers that are empty and what has lived for long enough, without waiting for the next round.
    pub fn collect(&mut self, now: Now) {
        self.reap(now);
    }

    /// Sets the number of creates a parent has seen, and with it its next sequence suffix. False without the node.
    pub fn set_next_sequence(&mut self, path: &str, next: i32) -> bool {
        self.wrapped.remove(path);
        self.tree.get_mut(path).map(|node| node.creates = next).is_some()
    }

    pub fn set_data_version(&mut self, path: &str, version: i32) -> bool {
        self.tree.get_mut(path).map(|node| node.version = version).is_some()
    }

    pub fn set_read_only(&mut self, read_only: bool) {
        self.config.read_only = read_only;
    }

    /// The session of a connection, once it has one.
    pub fn session_of(&self, conn: ConnId) -> Option<i64> {
        self.conns.get(&conn)?.session
    }

    /// Ids of all sessions, sorted.
    pub fn sessions(&self) -> Vec<i64> {
        self.sessions.ids()
    }

    pub fn watch_count(&self) -> usize {
        self.watches.len()
    }

    /// Nodes, system nodes included.
    pub fn node_count(&self) -> usize {
        self.tree.len()
    }

    /// Every path outside `/zookeeper`, sorted.
    pub fn paths(&self) -> Vec<String> {
        self.tree.user_paths()
    }

    /// The last transaction.
    pub fn zxid(&self) -> i64 {
        self.zxid
    }

    fn next_zxid(&mut self) -> i64 {
        if self.without_quorum.is_some() {
            return self.zxid;
        }
        self.zxid += 1;
        if let Some(journal) = &mut self.journal {
            journal.push(Commit { zxid: self.zxid, changes: Vec::new() });
        }
        self.zxid
    }

    fn send(&mut self, conn: ConnId, kind: Kind, frame: Vec<u8>) {
        if let Some(c) = self.conns.get_mut(&conn).filter(|c| !c.closing) {
            c.sent += 1;
            self.sent += 1;
            self.out.push(Output::Send { conn, kind, frame });
        }
    }

    fn close(&mut self, conn: ConnId) {
        if let Some(c) = self.conns.get_mut(&conn).filter(|c| !c.closing) {
            c.closing = true;
            self.out.push(Output::Close { conn });
            self.detach(conn);
        }
    }

    /// A connection no longer speaks for its session, and its watches are gone.
    fn detach(&mut self, conn: ConnId) {
        self.watches.forget(conn);
        if let Some(session) = self.conns.get(&conn).and_then(|c| c.session)
            && self.by_session.get(&session) == Some(&conn)
        {
            self.by_session.remove(&session);
        }
    }

    /// Ends a session from the server's side: its connection goes silently, then its nodes under one zxid.
    fn end_session(&mut self, session: i64, note: Note) -> bool {
        if !self.sessions.end(session) {
            return false;
        }
        if let Some(conn) = self.by_session.get(&session).copied() {
            self.close(conn);
        }
        let zxid = self.next_zxid();
        self.delete_ephemerals(session, zxid);
        self.record(|| journal::Change::SessionClosed { session });
        self.out.push(Output::Note(note));
        true
    }

    /// Sends an event to those who watch for it and may read the node.
    fn fire(&mut self, path: &str, event: EventKind, zxid: i64, acl: Option<&[Acl]>) {
        let watchers = match event {
            EventKind::ChildrenChanged => self.watches.on_children(path),
            EventKind::Created | EventKind::Deleted | EventKind::DataChanged => {
                self.watches.on_node(path, event)
            }
        };
        let zxid = if self.config.profile.events_carry_zxid { zxid } else { -1 };
        let acl = acl.filter(|_| self.config.profile.guards_reads);
        if self.config.dialect.names_watched_paths && event != EventKind::ChildrenChanged {
            for (conn, watched) in self.watches.recursive_above(path) {
                self.notify(conn, &watched, event, zxid);
            }
        }
        for conn in watchers {
            let readable = self
                .conns
                .get(&conn)
                .is_some_and(|c| acl.is_none_or(|acl| acl::allowed(acl, acl::READ, &c.ids)));
            if readable {
                self.notify(conn, path, event, zxid);
            }
        }
    }

    fn notify(&mut self, conn: ConnId, path: &str, event: EventKind, zxid: i64) {
        self.send(conn, Kind::Event, Event::frame(event, path, zxid));
    }
}
