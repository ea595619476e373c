//! Statuses and errors as C sees them, both made from the core's one error table.

use std::ffi::{CStr, CString, c_char};

use zkrecipes::{Error, ErrorKind, LostReason};

use crate::guard;
use crate::handle::{self, Object};

/// What a verb answers. Everything but ZKR_OK has a sentence to go with it in the zkr_error.
#[repr(C)]
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum zkr_status {
    /// Done.
    ZKR_OK = 0,
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
    /// The participants disagree about how many they are.
    ZKR_MISMATCH = 13,
    /// The client was closed.
    ZKR_CLOSED = 14,
    /// A blocking verb inside a callback. Use its _async form there.
    ZKR_DEADLOCK = 15,
    /// Used in a child process after fork(). Nothing was done and nothing hangs; the parent is undisturbed.
    ZKR_FORKED = 16,
    /// A bug of zkrecipes. Please report it with the message.
    ZKR_INTERNAL = 17,
}

/// Why something that was held is gone.
#[repr(C)]
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum zkr_reason {
    /// Not a matter of losing.
    ZKR_REASON_NONE = 0,
    /// The session ended, or the server could not be reached for so long that it may have ended.
    ZKR_REASON_SESSION = 1,
    /// Somebody revoked it by force.
    ZKR_REASON_REVOKED = 2,
    /// Its node was deleted by somebody else.
    ZKR_REASON_DELETED = 3,
    /// The client was closed under it.
    ZKR_REASON_CLOSED = 4,
}

/// A status that came from C, where an enum can have any value.
#[repr(transparent)]
pub struct GivenStatus(i32);

/// A reason that came from C.
#[repr(transparent)]
pub struct GivenReason(i32);

/// What went wrong, in full. Belongs to whoever received it: free it with zkr_error_free. An error passed to a
/// callback is the exception; it is only lent for the duration of the callback.
pub struct zkr_error {
    _opaque: [u8; 0],
}

pub(crate) struct Fault {
    status: zkr_status,
    reason: zkr_reason,
    retryable: bool,
    message: CString,
    path: Option<CString>,
}

impl Object for Fault {
    type Opaque = zkr_error;
    const NAME: &'static str = "zkr_error";
}

impl From<&Error> for Fault {
    fn from(error: &Error) -> Fault {
        Fault {
            status: status(error.kind()),
            reason: reason(error.reason()),
            retryable: error.is_retryable(),
            message: crate::input::to_c(&error.message()),
            path: error.path().map(crate::input::to_c),
        }
    }
}

pub(crate) fn status(kind: ErrorKind) -> zkr_status {
    use zkr_status::*;
    match kind {
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
        // A kind added to the core must get its status here; the test below notices.
        _ => ZKR_INTERNAL,
    }
}

fn reason(reason: Option<LostReason>) -> zkr_reason {
    match reason {
        None => zkr_reason::ZKR_REASON_NONE,
        Some(LostReason::Session) => zkr_reason::ZKR_REASON_SESSION,
        Some(LostReason::Revoked) => zkr_reason::ZKR_REASON_REVOKED,
        Some(LostReason::Deleted) => zkr_reason::ZKR_REASON_DELETED,
        Some(LostReason::Closed) => zkr_reason::ZKR_REASON_CLOSED,
    }
}

/// The status that the error stands for; ZKR_OK for NULL.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_error_code(error: *const zkr_error) -> zkr_status {
    guard::answer(zkr_status::ZKR_OK, || handle::get_anywhere::<Fault>(error).map(|fault| fault.status))
}

/// One sentence that says what happened and what to do; never NULL. Valid until the error is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_error_message(error: *const zkr_error) -> *const c_char {
    guard::answer(c"no error".as_ptr(), || {
        handle::get_anywhere::<Fault>(error).map(|fault| fault.message.as_ptr())
    })
}

/// The path concerned, or NULL when there is none. Valid until the error is freed.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_error_path(error: *const zkr_error) -> *const c_char {
    guard::answer(std::ptr::null(), || {
        handle::get_anywhere::<Fault>(error)?.path.as_ref().map(|path| path.as_ptr())
    })
}

/// Whether the same call may succeed when it is made again.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_error_retryable(error: *const zkr_error) -> bool {
    guard::answer(false, || handle::get_anywhere::<Fault>(error).map(|fault| fault.retryable))
}

/// Why it is gone, for ZKR_LOST.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_error_reason(error: *const zkr_error) -> zkr_reason {
    guard::answer(zkr_reason::ZKR_REASON_NONE, || {
        handle::get_anywhere::<Fault>(error).map(|fault| fault.reason)
    })
}

/// Frees an error. NULL and errors already freed are ignored.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_error_free(error: *mut zkr_error) {
    guard::quietly(|| drop(handle::take::<Fault>(error)));
}

/// The name of a status, the same in every language of zkrecipes: "TIMEOUT", "NOT_HELD"; "OK" for ZKR_OK.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_status_name(status: GivenStatus) -> *const c_char {
    let name = match status.0 {
        0 => c"OK",
        1 => c"TIMEOUT",
        2 => c"CANCELLED",
        3 => c"CONNECTION_LOST",
        4 => c"LOST",
        5 => c"NOT_HELD",
        6 => c"DENIED",
        7 => c"INVALID",
        8 => c"TOO_LARGE",
        9 => c"EXISTS",
        10 => c"NO_NODE",
        11 => c"BAD_VERSION",
        12 => c"NOT_EMPTY",
        13 => c"MISMATCH",
        14 => c"CLOSED",
        15 => c"DEADLOCK",
        16 => c"FORKED",
        17 => c"INTERNAL",
        _ => c"UNKNOWN",
    };
    CStr::as_ptr(name)
}

/// The name of a reason, the same in every language of zkrecipes: "session", "revoked", "deleted", "closed"; "" for
/// none.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_reason_name(reason: GivenReason) -> *const c_char {
    let name = match reason.0 {
        1 => c"session",
        2 => c"revoked",
        3 => c"deleted",
        4 => c"closed",
        _ => c"",
    };
    CStr::as_ptr(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_the_core_has_its_own_status_and_name() {
        for kind in ErrorKind::ALL {
            assert_eq!(status(*kind) as i32, kind.code(), "{kind:?}");
            let name = unsafe { CStr::from_ptr(zkr_status_name(GivenStatus(kind.code()))) };
            assert_eq!(name.to_str(), Ok(kind.name()));
        }
    }

    #[test]
    fn every_reason_of_the_core_has_its_name() {
        for lost in [LostReason::Session, LostReason::Revoked, LostReason::Deleted, LostReason::Closed] {
            let name = unsafe { CStr::from_ptr(zkr_reason_name(GivenReason(reason(Some(lost)) as i32))) };
            assert_eq!(name.to_str(), Ok(lost.name()));
        }
    }
}
