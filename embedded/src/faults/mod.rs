//! Faults: what can go wrong on the way between a client and its server, on purpose.
//!
//! A [`Fault`] says *what* happens and to *which* request. It is injected into a [`Server`](crate::Server), fires
//! once, and is spent:
//!
//! ```no_run
//! use zkrecipes_embedded::{Fault, Server};
//!
//! let server = Server::start()?;
//! // The second create below /locks is carried out, but its answer never arrives.
//! let id = server.inject(Fault::drop_after("create*").path("/locks/**").nth(2));
//! // … run the code under test …
//! assert!(server.fault_fired(id));
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # As text
//!
//! [`Fault::parse`] reads the same from one line, for other languages and for scenario files:
//!
//! ```text
//! fault    = action [op] { key "=" value }
//! action   = "drop_before" | "drop_after" | "drop_after_event" | "delay_request" | "delay_reply"
//!          | "answer_expired" | "answer_throttled" | "answer_quota_exceeded"
//!          | "refuse_connections" | "stall_connections" | "swallow_pings"
//!          | "black_hole" | "black_hole_requests" | "black_hole_replies"
//! op       = name { "|" name }     a name may hold * and ?; "*" alone: every request but ping and connect
//! key      = "path"      glob: * within a name, ** across
//!          | "session"   id, decimal or 0x…
//!          | "nth"       the k-th match, counted from 1
//!          | "request"   the k-th request of any kind since injection, instead of nth
//!          | "times"     how often it fires, or "forever"
//!          | "by"        how long to delay: 50ms, 2s, 1m
//!          | "for"       how long stalls, swallowed pings and black holes last; without it, until cleared
//! ```
//!
//! What could never fire is refused: a count of 0, a path that begins with no `/`, a key twice, and one that the action does not heed.
//!
//! Connections that a black hole took something from break when it ends or is cleared: TCP loses nothing in mid-stream,
//! so what comes later must not arrive without what came before.
//!
//! For example `drop_after create2 path=/locks/** nth=2`, `delay_reply getData by=200ms times=forever`,
//! `refuse_connections times=3`.

mod glob;
mod parse;
mod robbed;
mod rules;

pub use rules::{Ask, Fate, Rules, Verdict};

pub(crate) use glob::matches as glob_matches;
pub(crate) use robbed::Robbed;
use std::time::Duration;

/// Names an injected fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FaultId(pub u64);

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Act {
    DropBefore,
    DropAfter,
    DropAfterEvent,
    DelayRequest(Duration),
    DelayReply(Duration),
    AnswerExpired,
    AnswerThrottled,
    AnswerQuotaExceeded,
    RefuseConnection,
    StallConnections,
    SwallowPings,
    BlackHole { requests: bool, replies: bool },
}

/// Something that goes wrong, and when. See the [module](self).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub(crate) act: Act,
    pub(crate) op: String,
    pub(crate) path: Option<String>,
    pub(crate) session: Option<u64>,
    pub(crate) nth: u64,
    pub(crate) request_number: Option<u64>,
    /// None: for ever.
    pub(crate) times: Option<u64>,
    pub(crate) lasts: Option<Duration>,
}

impl Fault {
    fn new(act: Act, op: &str) -> Fault {
        Fault {
            act,
            op: op.to_owned(),
            path: None,
            session: None,
            nth: 1,
            request_number: None,
            times: Some(1),
            lasts: None,
        }
    }

    /// The request never reaches the server; the connection breaks.
    pub fn drop_before(op: &str) -> Fault {
        Fault::new(Act::DropBefore, op)
    }

    /// The request is carried out, the answer is lost, the connection breaks: the ambiguous commit.
    pub fn drop_after(op: &str) -> Fault {
        Fault::new(Act::DropAfter, op)
    }

    /// The connection breaks right after the next event was delivered. [`Fault::path`] is the event's.
    pub fn drop_after_event() -> Fault {
        Fault::new(Act::DropAfterEvent, "*")
    }

    /// The request, and all behind it on its connection, arrives later.
    pub fn delay_request(op: &str, by: Duration) -> Fault {
        Fault::new(Act::DelayRequest(by), op)
    }

    /// The answer, and all behind it on its connection, arrives later.
    pub fn delay_reply(op: &str, by: Duration) -> Fault {
        Fault::new(Act::DelayReply(by), op)
    }

    /// The request is answered "session expired" and not carried out. The session itself lives on. For `"connect"` it is
    /// the answer to a handshake that comes too late, after which the connection is closed.
    pub fn answer_expired(op: &str) -> Fault {
        Fault::new(Act::AnswerExpired, op)
    }

    /// The request is answered "throttled" and not carried out, as an overloaded server does. The connection stays up.
    pub fn answer_throttled(op: &str) -> Fault {
        Fault::new(Act::AnswerThrottled, op)
    }

    /// The request is answered "quota exceeded" and not carried out, as where a server enforces a quota that is used up. Only what
    /// makes a node or sets its data is answered so; a multi, for the first such part of it.
    pub fn answer_quota_exceeded(op: &str) -> Fault {
        Fault::new(Act::AnswerQuotaExceeded, op)
    }

    /// The next `n` connections are closed as soon as they are made.
    pub fn refuse_connections(n: u64) -> Fault {
        Fault::new(Act::RefuseConnection, "connect").times(n)
    }

    /// Handshakes are left unanswered for a while, then answered.
    pub fn stall_connections(duration: Duration) -> Fault {
        Fault::new(Act::StallConnections, "connect").lasting(duration)
    }

    /// Pings vanish for a while: no answer, no sign of life.
    pub fn swallow_pings(duration: Duration) -> Fault {
        Fault::new(Act::SwallowPings, "ping").lasting(duration)
    }

    /// Nothing arrives and nothing is answered, while connections stay up; until cleared, or see [`Fault::lasting`].
    /// Then the connections break that it took something from.
    pub fn black_hole() -> Fault {
        Fault::new(Act::BlackHole { requests: true, replies: true }, "**")
    }

    /// What clients send vanishes; what the server sends arrives.
    pub fn black_hole_requests() -> Fault {
        Fault::new(Act::BlackHole { requests: true, replies: false }, "**")
    }

    /// What clients send arrives and is carried out; what the server sends vanishes.
    pub fn black_hole_replies() -> Fault {
        Fault::new(Act::BlackHole { requests: false, replies: true }, "**")
    }

    /// Only requests about a path that matches: `*` within a name, `**` across. For a multi, any of its paths.
    pub fn path(mut self, glob: &str) -> Fault {
        self.path = Some(glob.to_owned());
        self
    }

    /// Only requests of this session.
    pub fn session(mut self, id: u64) -> Fault {
        self.session = Some(id);
        self
    }

    /// Not the first match but the k-th, counted from 1.
    pub fn nth(mut self, k: u64) -> Fault {
        self.nth = k.max(1);
        self
    }

    /// The k-th request of any kind since injection, pings and handshakes not counted.
    pub fn request_number(mut self, k: u64) -> Fault {
        self.request_number = Some(k.max(1));
        self
    }

    /// Fires for this many matches in a row instead of one.
    pub fn times(mut self, n: u64) -> Fault {
        self.times = Some(n);
        self
    }

    /// Fires until cleared.
    pub fn forever(mut self) -> Fault {
        self.times = None;
        self
    }

    /// Ends after a while, whether or not it fired.
    pub fn lasting(mut self, duration: Duration) -> Fault {
        self.lasts = Some(duration);
        self
    }
}
