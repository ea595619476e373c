//! What goes into a machine and what comes out of it.

use super::{Dialect, Forward, Profile};
use std::time::Duration;

/// Time since the machine was made, by a clock that only goes forward.
pub type Time = Duration;

/// What the shell calls a connection. Never reused.
pub type ConnId = u64;

/// The two clocks a server reads.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Now {
    pub mono: Time,
    /// Milliseconds since 1970, for `ctime` and `mtime`.
    pub wall: i64,
}

/// How a machine behaves.
#[derive(Debug, Clone)]
pub struct Config {
    pub tick: Duration,
    pub min_session_timeout: Duration,
    pub max_session_timeout: Duration,
    /// How often containers and nodes with a time to live are looked through.
    pub reap_every: Duration,
    /// Whether nodes may have a time to live, which real servers allow only on request.
    pub extended_types: bool,
    /// `user:base64(sha1("user:password"))` of the one who may do everything.
    pub super_digest: Option<String>,
    pub read_only: bool,
    /// Only those who have proved an identity of this scheme may ask anything.
    pub require_auth: Option<String>,
    pub profile: Profile,
    pub dialect: Dialect,
    /// The first session id. Its high byte is the server's number and must not be 0xff.
    pub first_session_id: i64,
    /// What session passwords are derived from: whoever knows it can take over any session.
    pub secret: u128,
}

impl Default for Config {
    fn default() -> Self {
        Config {
            tick: Duration::from_millis(500),
            min_session_timeout: Duration::from_secs(1),
            max_session_timeout: Duration::from_secs(60),
            reap_every: Duration::from_secs(60),
            extended_types: false,
            super_digest: None,
            read_only: false,
            require_auth: None,
            profile: Profile::default(),
            dialect: Dialect::default(),
            first_session_id: 0x0100_0000_0000_0000,
            secret: 0xB3AA_5E11,
        }
    }
}

/// What sort of frame goes out, for those who drop, delay or log it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Answer to the handshake.
    Handshake,
    Reply,
    Event,
    /// Answer to a four letter word: bytes, not a frame.
    Word,
}

/// What the shell is to do, in this order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Output {
    Send {
        conn: ConnId,
        kind: Kind,
        frame: Vec<u8>,
    },
    /// Close once everything before has been sent.
    Close {
        conn: ConnId,
    },
    Note(Note),
    /// A follower's: for its leader.
    Forward(Forward),
}

/// What happened to sessions, for a readable log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note {
    SessionOpened { session: i64, conn: ConnId, timeout: Duration },
    SessionResumed { session: i64, conn: ConnId },
    SessionRefused { session: i64, conn: ConnId },
    SessionClosed { session: i64 },
    SessionExpired { session: i64 },
}
