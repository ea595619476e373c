//! One client, its connection to the server, and the requests that are on their way between them.

use crate::log::{LogEntry, Outcome};
use crate::shell::Conn;
use crate::wire::{Op, ReplyHead, Welcome, XID_EVENT, op_name};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Frames beyond this are not ZooKeeper's, whatever its limit is set to.
pub(super) const FRAME_LIMIT: usize = 256 << 20;

/// A request that waits for its answer.
pub(super) struct Pending {
    pub entry: LogEntry,
    pub delay_reply: Duration,
    /// The answer is kept back and the connection broken.
    pub drop_answer: bool,
    /// The answer a fault made up; the server never saw the request.
    pub made_up: Option<Vec<u8>>,
}

pub(super) struct Link {
    pub client: Conn,
    pub server: Conn,
    pub session: u64,
    pub pending: VecDeque<Pending>,
    /// A four letter word, or its answer: bytes pass as they are.
    pub plain: bool,
    /// The client is no longer listened to; the link ends when what it asked before has been answered.
    pub ending: bool,
    /// The server has answered the handshake.
    pub greeted: bool,
}

impl Link {
    pub fn new(client: Conn, server: Conn) -> Self {
        Link {
            client,
            server,
            session: 0,
            pending: VecDeque::new(),
            plain: false,
            ending: false,
            greeted: false,
        }
    }

    /// The request that a frame from the server answers; none for an event.
    pub fn answered_by(&mut self, frame: &[u8]) -> Option<Pending> {
        let handshake = !std::mem::replace(&mut self.greeted, true);
        let head = ReplyHead::of(frame)?;
        if !handshake && head.xid == XID_EVENT {
            return None;
        }
        // Answers come in order, but for those to auth, which may overtake.
        let at = match handshake {
            true => self.pending.iter().position(|p| p.entry.op == op_name(Op::CONNECT)),
            false => self.pending.iter().position(|p| p.made_up.is_none() && p.entry.xid == head.xid),
        };
        let mut pending = self.pending.remove(at?)?;
        let outcome = if pending.drop_answer { Outcome::Unanswered } else { Outcome::Answered };
        pending.entry.answered(frame, outcome);
        Some(pending)
    }

    /// A made-up answer whose turn has come.
    pub fn next_made_up(&mut self) -> Option<(Pending, Vec<u8>)> {
        let answer = self.pending.front_mut()?.made_up.take()?;
        let mut pending = self.pending.pop_front()?;
        pending.entry.answered(&answer, Outcome::Answered);
        Some((pending, answer))
    }

    /// Whether nothing is left to do for a link that is ending.
    pub fn is_over(&self) -> bool {
        let over = self.client.closing || (self.ending && self.pending.is_empty());
        over && self.client.is_drained()
    }
}

/// Notes id and password from a handshake's answer.
pub(super) fn learn(passwords: &mut BTreeMap<u64, Vec<u8>>, link: &mut Link, frame: &[u8]) {
    let welcome = frame.get(4..).map(Welcome::read);
    let Some(Ok(Welcome { session, password, .. })) = welcome else { return };
    if session == 0 {
        passwords.remove(&link.session);
    } else {
        link.session = session as u64;
        passwords.insert(link.session, password.to_vec());
    }
}
