//! The one error table. Every language's error is made from it: the C code, the wire name that Node
//! shows as `err.code`, the Python class, and whether trying again can help. What a server refuses gets its kind and its
//! sentence from `refusal` of `session/call.rs`; any other sentence is where its error is made.

use std::fmt;
use std::time::Duration;

use crate::printable::escaped;

/// What the library's verbs return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

macro_rules! kinds {
    ($($kind:ident, $code:literal, $name:literal, $python:literal, $retryable:literal, $sentence:literal;)*) => {
        /// What went wrong, in the terms a caller can act on.
        #[non_exhaustive]
        #[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
        pub enum ErrorKind {
            $(#[doc = $sentence] $kind = $code,)*
        }

        impl ErrorKind {
            /// Every kind, in the order of its code.
            pub const ALL: &'static [ErrorKind] = &[$(ErrorKind::$kind,)*];

            /// The status code of the C ABI; 0 is success and belongs to no error.
            pub fn code(self) -> i32 {
                self as i32
            }

            /// The name on the wire between languages: `err.code` in Node, the suffix of `ZKR_` in C.
            pub fn name(self) -> &'static str {
                match self { $(ErrorKind::$kind => $name,)* }
            }

            /// The name of the exception class in Python.
            pub fn python_name(self) -> &'static str {
                match self { $(ErrorKind::$kind => $python,)* }
            }

            /// Whether the same call may succeed when it is made again.
            pub fn is_retryable(self) -> bool {
                match self { $(ErrorKind::$kind => $retryable,)* }
            }

            /// One sentence about the kind, for documentation in every language.
            pub fn sentence(self) -> &'static str {
                match self { $(ErrorKind::$kind => $sentence,)* }
            }
        }
    };
}

kinds! {
    // --- generated from api: kinds of errors
    Timeout, 1, "TIMEOUT", "Timeout", true, "The time given ran out; nothing of ours is left waiting in ZooKeeper.";
    Cancelled, 2, "CANCELLED", "Cancelled", true, "The caller withdrew.";
    ConnectionLost, 3, "CONNECTION_LOST", "ConnectionLost", true, "No server answered within the retry budget; the outcome of a write is unknown.";
    Lost, 4, "LOST", "Lost", true, "What was held is gone.";
    NotHeld, 5, "NOT_HELD", "NotHeld", false, "Release, verify, a guarded write or a token without holding.";
    Denied, 6, "DENIED", "Denied", false, "Refused by an ACL, by authentication, TLS or SASL.";
    Invalid, 7, "INVALID", "Invalid", false, "A path, an option or a handle that cannot be used.";
    TooLarge, 8, "TOO_LARGE", "TooLarge", false, "The request would pass the server's packet limit; it was refused before sending.";
    Exists, 9, "EXISTS", "Exists", false, "A node of that path exists already.";
    NoNode, 10, "NO_NODE", "NoNode", false, "There is no node at that path.";
    BadVersion, 11, "BAD_VERSION", "BadVersion", false, "The node has another version than the one named.";
    NotEmpty, 12, "NOT_EMPTY", "NotEmpty", false, "The node has children.";
    Mismatch, 13, "MISMATCH", "Mismatch", false, "Those who use the path disagree: about a number, the partitions or the layout.";
    Closed, 14, "CLOSED", "Closed", false, "The client or the handle is closed.";
    Deadlock, 15, "DEADLOCK", "WouldDeadlock", false, "A blocking verb on a thread that the library itself needs: inside a callback or on its runtime.";
    Forked, 16, "FORKED", "Forked", false, "A client or handle of the parent, used in a child process after fork; connect a client in the child.";
    Internal, 17, "INTERNAL", "InternalError", false, "A bug of zkrecipes; please report it.";
    // --- end of generated
}

/// Why something that was held is gone.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum LostReason {
    /// The session ended, or the server could not be reached for so long that it may have ended.
    Session,
    /// Somebody revoked it by force.
    Revoked,
    /// Its node was deleted by somebody else.
    Deleted,
    /// The client was closed under it.
    Closed,
}

/// What no server answered.
#[derive(Copy, Clone, Debug)]
pub(crate) enum Unanswered {
    /// It may have written.
    Writing,
    Reading,
    /// What was made for it is deleted.
    Acquiring,
}

/// An error: its kind, the path concerned, and a sentence that says what happened and what to do.
///
/// ```
/// use zkrecipes::{Error, ErrorKind};
/// let error = Error::invalid("path", "must start with '/'");
/// assert_eq!(error.kind(), ErrorKind::Invalid);
/// assert_eq!(error.to_string(), "invalid path: must start with '/'");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Details>);

#[derive(Clone, PartialEq, Eq)]
struct Details {
    kind: ErrorKind,
    message: String,
    path: Option<String>,
    reason: Option<LostReason>,
    put: Option<usize>,
}

impl Error {
    /// An error of the given kind with its sentence.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        Error(Box::new(Details { kind, message: message.into(), path: None, reason: None, put: None }))
    }

    /// An argument that cannot be used: names the argument, then what is wrong with it.
    pub fn invalid(argument: &str, problem: impl fmt::Display) -> Error {
        Error::new(ErrorKind::Invalid, format!("invalid {argument}: {problem}"))
    }

    pub(crate) fn lost(reason: LostReason) -> Error {
        let message = match reason {
            LostReason::Session => {
                "lost: the session ended or could not be confirmed in time; stop the protected work, then acquire again"
            }
            LostReason::Revoked => {
                "lost: it was revoked by force; stop the protected work, then acquire again"
            }
            LostReason::Deleted => {
                "lost: its node was deleted by somebody else; stop the protected work, then acquire again"
            }
            LostReason::Closed => "lost: the client was closed, which gave back what it held",
        };
        Error::new(ErrorKind::Lost, message).with_reason(reason)
    }

    /// `what` is how things stand: "not acquired".
    pub(crate) fn timeout(what: &str) -> Error {
        Error::new(ErrorKind::Timeout, format!("{what} in time; try again or allow more"))
    }

    /// The same after a time that is known.
    pub(crate) fn timeout_after(what: &str, limit: Option<Duration>) -> Error {
        let Some(limit) = limit else { return Error::timeout(what) };
        Error::new(ErrorKind::Timeout, format!("{what} within {limit:?}; try again or allow more"))
    }

    /// The same error, with the reason before what to do about it.
    pub(crate) fn because(mut self, reason: String) -> Error {
        let message = &mut self.0.message;
        let at = message.rfind("; ").unwrap_or(message.len());
        message.insert_str(at, &format!(": {reason}"));
        self
    }

    /// The same error, with something else to do about it.
    pub(crate) fn advising(mut self, advice: &str) -> Error {
        let message = &mut self.0.message;
        message.truncate(message.rfind("; ").unwrap_or(message.len()));
        message.push_str("; ");
        message.push_str(advice);
        self
    }

    pub(crate) fn cancelled() -> Error {
        Error::new(
            ErrorKind::Cancelled,
            "cancelled by the caller; nothing is held and nothing is left waiting",
        )
    }

    pub(crate) fn closed(what: &str) -> Error {
        Error::new(
            ErrorKind::Closed,
            format!("the {what} is closed; connect a new client and make a new handle"),
        )
    }

    /// The answer is missing, and is not waited for any more.
    pub(crate) fn connection_lost(what: &str) -> Error {
        Error::new(
            ErrorKind::ConnectionLost,
            format!(
                "the connection to ZooKeeper broke before the answer to {what} came; look at what is there, and try again. The \
                 outcome of a write is unknown"
            ),
        )
    }

    /// A call that waits for nothing, and there is no connection.
    pub(crate) fn out_of_touch(what: &str) -> Error {
        Error::new(
            ErrorKind::ConnectionLost,
            format!(
                "there is no connection to a ZooKeeper server, and {what} was given no time to wait for one; allow more, or try \
                 again later"
            ),
        )
    }

    /// The retry budget is used up. `leaves` is how that leaves things.
    pub(crate) fn unanswered(what: &str, leaves: Unanswered) -> Error {
        let rest = match leaves {
            Unanswered::Writing => ". The outcome of a write is unknown",
            Unanswered::Reading => ", and try again",
            Unanswered::Acquiring => {
                ". Nothing is held, and what this call may have made is deleted as soon as a server answers"
            }
        };
        Error::new(
            ErrorKind::ConnectionLost,
            format!(
                "no ZooKeeper server answered for {what} within the retry budget (retry.give_up_after); check the servers and \
                 the network{rest}"
            ),
        )
    }

    /// The retry budget is used up before it could leave: by waiting for a connection, or, on one, for the answers to what came
    /// before it.
    pub(crate) fn not_sent(what: &str, is_connected: bool) -> Error {
        let nobody = match is_connected {
            true => "the ZooKeeper server of this client answered nothing before",
            false => "no ZooKeeper server was there for",
        };
        Error::new(
            ErrorKind::ConnectionLost,
            format!(
                "{nobody} {what} within the retry budget (retry.give_up_after), so that it was not sent, and nothing was applied; \
                 check the servers and the network, and make it again"
            ),
        )
    }

    pub(crate) fn not_held(why: &str) -> Error {
        Error::new(ErrorKind::NotHeld, format!("not held: {why}; acquire first"))
    }

    /// The same of an item of a queue.
    pub(crate) fn not_claimed(why: &str) -> Error {
        Error::new(ErrorKind::NotHeld, format!("not held: {why}; claim an item first"))
    }

    /// The same error, with the path it is about.
    pub fn with_path(mut self, path: impl Into<String>) -> Error {
        self.0.path.get_or_insert_with(|| path.into());
        self
    }

    pub(crate) fn with_reason(mut self, reason: LostReason) -> Error {
        self.0.reason = Some(reason);
        self
    }

    pub(crate) fn with_put(mut self, put: usize) -> Error {
        self.0.put = Some(put);
        self
    }

    /// What went wrong.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The path concerned, when there is one.
    pub fn path(&self) -> Option<&str> {
        self.0.path.as_deref()
    }

    /// Why it is gone, for what was lost.
    pub fn reason(&self) -> Option<LostReason> {
        self.0.reason
    }

    /// How many items went into the queue before this happened, from the first on, where several were put. After
    /// ConnectionLost and Closed it may be more: what was on its way may still go in.
    pub fn put(&self) -> Option<usize> {
        self.0.put
    }

    /// Whether the same call may succeed when it is made again.
    pub fn is_retryable(&self) -> bool {
        self.0.kind.is_retryable()
    }

    /// The same with the options that a lost connection names as a face writes them.
    #[doc(hidden)]
    pub fn message_with(&self, spell: impl Fn(&str) -> String) -> String {
        let mut error = self.clone();
        if self.kind() == ErrorKind::ConnectionLost {
            for option in ["connect_timeout", "retry.give_up_after"] {
                error.0.message = error.0.message.replace(option, &spell(option));
            }
        }
        error.to_string()
    }

    /// The whole sentence, the path included.
    pub fn message(&self) -> String {
        self.to_string()
    }
}

/// Servers and others may have written a part of it: nothing in it steers a terminal.
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&escaped(&self.0.message))?;
        match self.path() {
            // A path can be as long as the packet limit; an error text should stay readable.
            Some(path) if path.len() > 200 => {
                let start: String = path.chars().take(100).collect();
                write!(f, " ({}… of {} bytes)", escaped(&start), path.len())
            }
            Some(path) if !path.is_empty() => write!(f, " ({})", escaped(path)),
            _ => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {self}", self.0.kind)
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_dense_and_names_are_unique() {
        for (index, kind) in ErrorKind::ALL.iter().enumerate() {
            assert_eq!(kind.code(), index as i32 + 1);
        }
        let mut names: Vec<_> = ErrorKind::ALL.iter().map(|kind| kind.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ErrorKind::ALL.len());
    }

    #[test]
    fn what_others_wrote_does_not_steer_the_terminal() {
        let error = Error::new(ErrorKind::Denied, "said \u{9b}2J\u{202e}").with_path("/a\u{200f}\n");
        assert_eq!(error.to_string(), "said \\u{9b}2J\\u{202e} (/a\\u{200f}\\n)");
        assert_eq!(error.path(), Some("/a\u{200f}\n"), "a program gets it as it is");
        let deep = Error::new(ErrorKind::TooLarge, "too large").with_path("/\u{1b}".repeat(200));
        assert!(!deep.to_string().contains('\u{1b}'));
    }

    #[test]
    fn a_long_path_does_not_flood_the_message() {
        let error = Error::new(ErrorKind::TooLarge, "too large").with_path("/".repeat(2_000_000));
        assert!(error.to_string().len() < 400);
        assert_eq!(error.path().map(str::len), Some(2_000_000));
    }
}
