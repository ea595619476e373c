//! What a leader tells its followers: transactions, and answers to what they passed on to it.

use super::request::Caller;
use super::tree::Node;
use super::write::Txn;
use super::{Conn, ConnId, Identity, Kind, Machine, Now, Output};
use crate::wire::{Acl, EventKind, Request, Welcome};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

/// With this many requests behind one that is on its way to the leader, a client is sent away.
const QUEUE_LIMIT: usize = 100_000;

/// One transaction. A failed one changes nothing but has its zxid.
#[derive(Debug, Clone)]
pub struct Commit {
    pub(super) zxid: i64,
    pub(super) changes: Vec<Change>,
}

#[derive(Debug, Clone)]
pub(super) enum Change {
    /// `creates` is what the parent's count becomes, unless it is ahead already.
    Create {
        path: String,
        node: Box<Node>,
        creates: i32,
    },
    Delete {
        path: String,
    },
    SetData {
        path: String,
        data: Option<Box<[u8]>>,
        time: i64,
    },
    SetAcl {
        path: String,
        acl: Arc<[Acl]>,
    },
    SessionClosed {
        session: i64,
    },
}

/// A request that a follower passes on, with everything the leader must know about who asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forward {
    pub conn: ConnId,
    pub(super) session: Option<i64>,
    pub(super) timeout: Duration,
    pub(super) ids: Arc<[Identity]>,
    pub(super) peer: SocketAddr,
    pub(super) frame: Vec<u8>,
}

/// Whether a follower must leave this to the leader.
pub(super) fn is_leaders(request: &Request) -> bool {
    matches!(
        request,
        Request::Write(_)
            | Request::SetAcl { .. }
            | Request::Multi(_)
            | Request::Sync { .. }
            | Request::Reconfig { .. }
            | Request::Close
    )
}

impl Machine {
    /// From now on, keeps a journal for followers.
    pub(crate) fn lead(&mut self) {
        self.journal = Some(Vec::new());
    }

    /// From now on, passes writes on to the leader and applies what the leader tells.
    pub(crate) fn follow(&mut self) {
        self.touched = Some(BTreeMap::new());
    }

    pub(super) fn is_follower(&self) -> bool {
        self.touched.is_some()
    }

    /// Notes a change of the transaction that [`Machine::next_zxid`] began.
    pub(super) fn record(&mut self, change: impl FnOnce() -> Change) {
        if let Some(commit) = self.journal.as_mut().and_then(|j| j.last_mut()) {
            commit.changes.push(change());
        }
    }

    pub(crate) fn take_journal(&mut self) -> Vec<Commit> {
        self.journal.as_mut().map(std::mem::take).unwrap_or_default()
    }

    /// Signs of life since the last call: a follower's sessions, with their timeouts.
    pub(crate) fn take_touched(&mut self) -> BTreeMap<i64, Duration> {
        self.touched.as_mut().map(std::mem::take).unwrap_or_default()
    }

    pub(crate) fn has_touched(&self) -> bool {
        self.touched.as_ref().is_some_and(|t| !t.is_empty())
    }

    /// A sign of life that a follower relays.
    pub(crate) fn touch(&mut self, session: i64, timeout: Duration, now: Now) {
        self.sessions.touch(session, now.mono, timeout);
    }

    /// Passes a request on; what its connection asks next waits for the answer.
    pub(super) fn forward(&mut self, conn: ConnId, frame: &[u8], closes: bool) {
        let Some(c) = self.conns.get_mut(&conn) else { return };
        (c.waiting, c.leaving) = (true, closes);
        let (session, timeout, ids, peer) = (c.session, c.timeout, c.ids.clone(), c.peer);
        let frame = frame.to_vec();
        self.out.push(Output::Forward(Forward { conn, session, timeout, ids, peer, frame }));
    }

    /// Puts a frame behind one that is on its way to the leader. False if it need not wait.
    pub(super) fn queues(&mut self, conn: ConnId, frame: &[u8]) -> bool {
        let Some(c) = self.conns.get_mut(&conn).filter(|c| c.waiting) else { return false };
        if c.queue.len() < QUEUE_LIMIT {
            c.queue.push_back(frame.to_vec());
        } else {
            self.close(conn);
        }
        true
    }

    /// Carries out what a follower passed on. Returns what its connection is to be sent.
    pub(crate) fn forwarded(&mut self, from: Forward, now: Now) -> Vec<Output> {
        let Forward { conn, session, timeout, ids, peer, frame } = from;
        let has_moved = |s| self.by_session.get(&s) != Some(&conn);
        // One that ended while its request was on the way must not get its nodes back.
        let has_ended = |s| !self.sessions.contains(s);
        if session.is_some_and(|s| has_moved(s) || has_ended(s)) {
            // No answer, or the client of a moved session would take it for its own.
            return vec![Output::Close { conn }];
        }
        let before = self.out.len();
        self.conns.insert(conn, Conn { session, timeout, ids, ..Conn::new(peer) });
        match session {
            None => self.handshake(conn, &frame, now),
            Some(session) => self.request(conn, session, &frame, now),
        }
        self.conns.remove(&conn);
        let (answer, rest) = self.out.split_off(before).into_iter().partition(|output| match output {
            Output::Send { conn: to, .. } | Output::Close { conn: to } => *to == conn,
            Output::Note(_) | Output::Forward(_) => false,
        });
        let rest: Vec<Output> = rest;
        self.out.extend(rest);
        answer
    }

    /// Hands the leader's answer to the connection that waits for it, and goes on with what queued behind.
    pub(crate) fn answered(&mut self, conn: ConnId, answer: Vec<Output>, now: Now) {
        let Some(c) = self.conns.get_mut(&conn) else { return };
        c.waiting = false;
        for output in answer {
            match output {
                Output::Send { kind, frame, .. } => {
                    if kind == Kind::Handshake {
                        self.welcome(conn, &frame);
                    }
                    self.send(conn, kind, frame);
                }
                Output::Close { .. } => self.close(conn),
                Output::Note(_) | Output::Forward(_) => {}
            }
        }
        while let Some(frame) =
            self.conns.get_mut(&conn).filter(|c| !c.waiting).and_then(|c| c.queue.pop_front())
        {
            self.frame(conn, &frame, now);
        }
    }

    /// A follower learns from the leader's answer which session a connection now has.
    fn welcome(&mut self, conn: ConnId, frame: &[u8]) {
        let welcome = Welcome::read(frame.get(4..).unwrap_or_default());
        let Ok(Welcome { timeout, session, .. }) = welcome else { return };
        if session != 0
            && let Some(c) = self.conns.get_mut(&conn)
        {
            c.session = Some(session);
            c.timeout = Duration::from_millis(u64::try_from(timeout).unwrap_or(0));
            self.by_session.insert(session, conn);
        }
    }

    /// Applies a transaction of the leader's.
    pub(crate) fn replay(&mut self, commit: &Commit) {
        self.zxid = commit.zxid;
        let nobody = Caller { conn: 0, session: 0, xid: 0, ids: Arc::new([]) };
        let mut txn = Txn::at(commit.zxid, 0, &nobody);
        for change in &commit.changes {
            match change {
                Change::Create { path, node, creates } => self.replay_create(&mut txn, path, node, *creates),
                Change::Delete { path } => self.delete_node(&mut txn, path),
                Change::SetData { path, data, time } => {
                    if let Some(node) = self.tree.get_mut(path) {
                        (node.data, node.mzxid, node.mtime) = (data.clone(), commit.zxid, *time);
                        node.version = node.version.wrapping_add(1);
                        txn.events.push((path.clone(), EventKind::DataChanged, node.acl.clone()));
                    }
                }
                Change::SetAcl { path, acl } => {
                    if let Some(node) = self.tree.get_mut(path) {
                        node.acl = acl.clone();
                        node.aversion = node.aversion.wrapping_add(1);
                    }
                }
                Change::SessionClosed { session } => {
                    let conn = self.by_session.get(session).copied();
                    // A client that closes its session is still told of its nodes and gets its answer.
                    let goes = |conn: &ConnId| self.conns.get(conn).is_some_and(|c| !c.leaving);
                    if let Some(conn) = conn.filter(goes) {
                        self.close(conn);
                    }
                }
            }
        }
        self.commit(txn);
    }

    fn replay_create(&mut self, txn: &mut Txn, path: &str, node: &Node, creates: i32) {
        let parent_path = super::tree::parent_of(path).to_owned();
        if let Some(parent) = self.tree.get_mut(&parent_path) {
            if creates > parent.creates {
                (parent.creates, parent.pzxid) = (creates, txn.zxid);
            }
            txn.events.push((path.to_owned(), EventKind::Created, node.acl.clone()));
            txn.events.push((parent_path, EventKind::ChildrenChanged, parent.acl.clone()));
        }
        self.tree.insert(path, node.clone());
    }

    /// A follower that lost its leader for too long serves nobody.
    pub(crate) fn send_everybody_away(&mut self) {
        for conn in self.conns.keys().copied().collect::<Vec<_>>() {
            self.close(conn);
        }
    }
}
