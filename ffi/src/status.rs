//! What verbs answer, made from the core's one error table. The testing kit has this file too.

use zkrecipes::ErrorKind;

/// What a verb answers. Everything but ZKR_OK has a sentence to go with it in the zkr_error.
#[repr(C)]
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum zkr_status {
    /// Done.
    ZKR_OK = 0,
    // --- generated from api: statuses
    /// The time given ran out. Nothing of ours is left waiting in ZooKeeper: our node is deleted, in the background
    /// if the server is slow.
    ZKR_TIMEOUT = 1,
    /// The caller withdrew, through a zkr_cancel_token, zkr_lock_cancel or by freeing the handle.
    ZKR_CANCELLED = 2,
    /// No server answered within the retry budget. The outcome of a write is unknown.
    ZKR_CONNECTION_LOST = 3,
    /// What was held is gone; zkr_error_reason says why. Stop the work that it protected.
    ZKR_LOST = 4,
    /// Release, verify or a guarded write without holding.
    ZKR_NOT_HELD = 5,
    /// Refused by an ACL, by authentication, TLS or SASL.
    ZKR_DENIED = 6,
    /// An argument that cannot be used: a bad path or option, NULL, bytes that are not UTF-8, a handle of the wrong
    /// kind or freed. The message names the argument.
    ZKR_INVALID = 7,
    /// The request would pass the server's packet limit. It was refused before anything was sent.
    ZKR_TOO_LARGE = 8,
    /// A node of that path exists already.
    ZKR_EXISTS = 9,
    /// There is no node at that path.
    ZKR_NO_NODE = 10,
    /// The node has another version than the one named.
    ZKR_BAD_VERSION = 11,
    /// The node has children.
    ZKR_NOT_EMPTY = 12,
    /// Those who use the path disagree: about a number, the partitions or the layout.
    ZKR_MISMATCH = 13,
    /// The client was closed.
    ZKR_CLOSED = 14,
    /// A blocking verb inside a callback. Use its _async form there.
    ZKR_DEADLOCK = 15,
    /// A handle of the parent, used in a child process after fork(). Nothing was done and nothing hangs; the parent is
    /// undisturbed. Connect a client in the child.
    ZKR_FORKED = 16,
    /// A bug of zkrecipes. Please report it with the message.
    ZKR_INTERNAL = 17,
    // --- end of generated
}

pub(crate) fn status(kind: ErrorKind) -> zkr_status {
    use zkr_status::*;
    match kind {
        // --- generated from api: statuses of the core
        ErrorKind::Timeout => ZKR_TIMEOUT,
        ErrorKind::Cancelled => ZKR_CANCELLED,
        ErrorKind::ConnectionLost => ZKR_CONNECTION_LOST,
        ErrorKind::Lost => ZKR_LOST,
        ErrorKind::NotHeld => ZKR_NOT_HELD,
        ErrorKind::Denied => ZKR_DENIED,
        ErrorKind::Invalid => ZKR_INVALID,
        ErrorKind::TooLarge => ZKR_TOO_LARGE,
        ErrorKind::Exists => ZKR_EXISTS,
        ErrorKind::NoNode => ZKR_NO_NODE,
        ErrorKind::BadVersion => ZKR_BAD_VERSION,
        ErrorKind::NotEmpty => ZKR_NOT_EMPTY,
        ErrorKind::Mismatch => ZKR_MISMATCH,
        ErrorKind::Closed => ZKR_CLOSED,
        ErrorKind::Deadlock => ZKR_DEADLOCK,
        ErrorKind::Forked => ZKR_FORKED,
        // --- end of generated
        // The core may add kinds; each has its status here once api/errors.toml has it.
        _ => ZKR_INTERNAL,
    }
}
