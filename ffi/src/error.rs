//! Errors as C sees them, made from the core's one error table.

use std::ffi::{CStr, CString, c_char};

use zkrecipes::{Error, ErrorKind, LostReason};

use crate::guard;
use crate::handle::{self, Object};
use crate::input::{self, to_c};
pub(crate) use crate::status::{status, zkr_status};

/// Why something that was held is gone.
#[repr(C)]
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
pub enum zkr_reason {
    // --- generated from api: values of LostReason
    /// Not a matter of losing.
    #[default]
    ZKR_REASON_NONE = 0,
    /// The session ended, or the server could not be reached for so long that it may have ended.
    ZKR_REASON_SESSION = 1,
    /// Somebody revoked it by force.
    ZKR_REASON_REVOKED = 2,
    /// Its node was deleted by somebody else.
    ZKR_REASON_DELETED = 3,
    /// The client was closed under it.
    ZKR_REASON_CLOSED = 4,
    // --- end of generated
}

/// A zkr_status from C.
#[repr(transparent)]
pub struct GivenStatus(i32);

/// A zkr_reason from C.
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
    put: Option<usize>,
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
            message: to_c(&error.message_with(|option| match option {
                "connect_timeout" => "connect_timeout_ms".to_owned(),
                _ => "retry_give_up_after_ms".to_owned(),
            })),
            path: error.path().map(to_c),
            put: error.put(),
        }
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

/// What a failed verb leaves in the place for its error.
pub(crate) fn hand_over(error: &Error) -> *mut zkr_error {
    handle::publish(Fault::from(error)).unwrap_or(std::ptr::null_mut())
}

/// Makes an error, for libraries that report theirs as this one does. path may be NULL. Free it with zkr_error_free;
/// NULL for ZKR_OK, which is no error.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_error_new(
    status: GivenStatus,
    message: *const c_char,
    path: *const c_char,
) -> *mut zkr_error {
    guard::answer(std::ptr::null_mut(), || {
        let kind = ErrorKind::ALL.iter().find(|kind| kind.code() == status.0)?;
        let fault = Fault {
            message: to_c(&input::text("message", message).ok()?),
            path: input::optional_text("path", path).ok()?.as_deref().map(to_c),
            ..Fault::from(&Error::new(*kind, ""))
        };
        handle::publish(fault).ok()
    })
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

/// How many items went into the queue before this happened, from the first on, where several were put; -1 otherwise.
/// After ZKR_CLOSED and ZKR_CONNECTION_LOST it may be more: what was on its way may still go in.
#[unsafe(no_mangle)]
pub extern "C" fn zkr_error_put(error: *const zkr_error) -> i64 {
    guard::answer(-1, || handle::get_anywhere::<Fault>(error)?.put.and_then(|put| i64::try_from(put).ok()))
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
        // --- generated from api: names of statuses
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
        // --- end of generated
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
