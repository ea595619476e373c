//! The request log: what arrived, what came of it, for tests that count and wait.

use crate::faults::glob_matches;
use crate::wire::{
    Hello, Op, OpName, Reader, Reply, ReplyHead, Request, RequestHead, SubRead, SubWrite, WriteResult,
    op_name, parse_request,
};
use std::collections::VecDeque;

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Carried out and answered.
    Answered,
    /// Carried out, but a fault kept the answer back.
    Unanswered,
    /// Kept away from the server by a fault.
    Lost,
}

/// One request.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogEntry {
    /// Numbers connections in the order they were made.
    pub connection: u64,
    /// 0 before the handshake.
    pub session_id: u64,
    pub xid: i32,
    /// `"create2"`, `"getData"`, `"ping"`, `"connect"`, … as [`Fault`](crate::Fault) names them.
    pub op: OpName,
    /// As it was asked for: without the suffix of a sequential node. For a multi, the path of its first operation.
    pub path: String,
    /// The operations of a multi, with their paths.
    pub parts: Vec<(OpName, String)>,
    /// The last transaction when the request was answered; 0 if it was lost.
    pub zxid: i64,
    /// 0 or ZooKeeper's error code. A failed multi reports the error of the operation that failed.
    pub error: i32,
    pub bytes_in: usize,
    pub bytes_out: usize,
    pub outcome: Outcome,
}

/// What a request frame says about itself, before anybody carries it out.
#[derive(Debug, Clone, Default)]
pub(crate) struct Head {
    pub xid: i32,
    pub op: OpName,
    pub paths: Vec<String>,
    pub parts: Vec<OpName>,
}

impl Head {
    /// The head of a handshake, with the session it wants back, or 0.
    pub fn of_handshake(frame: &[u8]) -> (Head, u64) {
        let session = Hello::read(frame).map_or(0, |hello| hello.session);
        (Head { op: op_name(Op::CONNECT), ..Head::default() }, session as u64)
    }

    /// Never fails: what cannot be read is left out, and the code that handles the frame reports it.
    pub fn of_request(frame: &[u8]) -> Head {
        let Ok((RequestHead { xid, op }, body)) = RequestHead::split(frame) else {
            return Head { op: "unknown", ..Head::default() };
        };
        let mut head = Head { xid, op: op_name(op), ..Head::default() };
        if let Ok(request) = parse_request(op, body) {
            head.paths = request.paths().into_iter().map(str::to_owned).collect();
            head.parts = part_names(&request);
        }
        head
    }

    pub fn into_entry(mut self, connection: u64, session_id: u64, bytes_in: usize) -> LogEntry {
        let parts = self.parts.into_iter().zip(self.paths.iter().cloned()).collect();
        let path = if self.paths.is_empty() { String::new() } else { self.paths.swap_remove(0) };
        LogEntry {
            connection,
            session_id,
            xid: self.xid,
            op: self.op,
            path,
            parts,
            zxid: 0,
            error: 0,
            bytes_in,
            bytes_out: 0,
            outcome: Outcome::Lost,
        }
    }
}

fn part_names(request: &Request) -> Vec<OpName> {
    match request {
        Request::Multi(ops) => ops.iter().map(SubWrite::op).map(op_name).collect(),
        Request::MultiRead(ops) => ops.iter().map(SubRead::op).map(op_name).collect(),
        _ => Vec::new(),
    }
}

impl LogEntry {
    /// Takes over what the answer says.
    pub(crate) fn answered(&mut self, reply: &[u8], outcome: Outcome) {
        self.outcome = outcome;
        self.bytes_out = reply.len();
        if self.op == op_name(Op::CONNECT) {
            return;
        }
        let mut r = Reader::new(reply.get(4..).unwrap_or_default());
        if let Ok(ReplyHead { xid, zxid, err }) = ReplyHead::read(&mut r) {
            (self.xid, self.zxid, self.error) = (xid, zxid, err);
        }
        if self.op == op_name(Op::MULTI)
            && self.error == 0
            && let Ok(Reply::Writes(results)) = Reply::read(Op::MULTI, &mut r)
        {
            self.error = multi_error(&results).unwrap_or(0);
        }
    }
}

/// The error that made a multi fail: the first that is none of the fillers before and after it.
fn multi_error(results: &[WriteResult]) -> Option<i32> {
    results.iter().find_map(|result| match result {
        WriteResult::Failed(error) if *error != 0 => Some(*error),
        _ => None,
    })
}

/// The newest requests, up to a limit.
#[derive(Debug)]
pub(crate) struct RequestLog {
    entries: VecDeque<LogEntry>,
    /// How many entries were ever dropped from the front: positions stay valid over that.
    dropped: u64,
    limit: usize,
}

impl RequestLog {
    pub fn new(limit: usize) -> Self {
        RequestLog { entries: VecDeque::new(), dropped: 0, limit }
    }

    pub fn wanted(&self) -> bool {
        self.limit > 0
    }

    pub fn push(&mut self, entry: LogEntry) {
        if self.limit == 0 {
            return;
        }
        if self.entries.len() == self.limit {
            self.entries.pop_front();
            self.dropped += 1;
        }
        self.entries.push_back(entry);
    }

    pub fn clear(&mut self) {
        self.dropped += self.entries.len() as u64;
        self.entries.clear();
    }

    pub fn to_vec(&self) -> Vec<LogEntry> {
        self.entries.iter().cloned().collect()
    }

    /// Where the next entry will stand.
    pub fn end(&self) -> u64 {
        self.dropped + self.entries.len() as u64
    }

    /// Entries from a position on.
    pub fn since(&self, position: u64) -> impl Iterator<Item = &LogEntry> {
        self.entries.iter().skip(position.saturating_sub(self.dropped) as usize)
    }

    /// Requests that reached the server, by patterns for name and path. `"*"` leaves out pings and handshakes.
    pub fn count(&self, op: &str, path_glob: &str) -> usize {
        let op_fits = |e: &LogEntry| match op {
            "*" => !matches!(e.op, "ping" | "connect"),
            _ => op.split('|').any(|pattern| glob_matches(pattern, e.op)),
        };
        let path_fits = |e: &LogEntry| {
            glob_matches(path_glob, &e.path)
                || e.parts.iter().skip(1).any(|(_, p)| glob_matches(path_glob, p))
        };
        self.entries.iter().filter(|e| e.outcome != Outcome::Lost && op_fits(e) && path_fits(e)).count()
    }
}
