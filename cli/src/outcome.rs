//! How the command ends: its exit status, and the sentence that goes with it. Which one it is after a command has run is said
//! by the module of the verb.

use std::io::{self, Write};

use zkrecipes::{Error, ErrorKind};

use crate::system::signals::SIGPIPE;

/// The exit status, or why there is none but this.
pub(crate) type Outcome<T = i32> = Result<T, Failure>;

/// The answer is no: nobody is there to ask, nothing is there to show, or it has another version.
pub(crate) const NO: i32 = 1;
/// Something that was asked for cannot be: another command line can help.
pub(crate) const USAGE: i32 = 2;
pub(crate) const NO_SERVER: i32 = 69;
pub(crate) const INTERNAL: i32 = 70;
pub(crate) const OUTPUT: i32 = 74;
pub(crate) const NOT_ACQUIRED: i32 = 75;
pub(crate) const LOST: i32 = 76;
pub(crate) const DENIED: i32 = 77;
/// As shells say it.
pub(crate) const CANNOT_RUN: i32 = 126;
pub(crate) const NOT_FOUND: i32 = 127;

/// A failure: what to say, and what to exit with.
#[derive(Debug)]
pub(crate) struct Failure {
    status: i32,
    sentence: String,
    is_withdrawn: bool,
}

impl Failure {
    pub(crate) fn new(status: i32, sentence: impl Into<String>) -> Failure {
        Failure { status, sentence: sentence.into(), is_withdrawn: false }
    }

    pub(crate) fn usage(sentence: impl Into<String>) -> Failure {
        Failure::new(USAGE, sentence)
    }

    /// Ended by a signal, which needs no words.
    pub(crate) fn signal(signal: i32) -> Failure {
        Failure::new(128 + signal, "")
    }

    /// Given up because of a signal; whoever knows which one replaces this.
    pub(crate) fn withdrawn() -> Failure {
        Failure { is_withdrawn: true, ..Failure::new(INTERNAL, "withdrawn") }
    }

    /// With more to say.
    pub(crate) fn adding(mut self, more: &str) -> Failure {
        self.sentence += more;
        self
    }

    pub(crate) fn is_withdrawn(&self) -> bool {
        self.is_withdrawn
    }

    pub(crate) fn status(&self) -> i32 {
        self.status
    }

    pub(crate) fn report(&self) {
        if !self.sentence.is_empty() {
            say(&self.sentence);
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Failure {
        let status = match error.kind() {
            ErrorKind::Cancelled => return Failure::withdrawn(),
            // --- generated from api: exit statuses
            ErrorKind::Timeout => NOT_ACQUIRED,
            ErrorKind::ConnectionLost => NO_SERVER,
            ErrorKind::Lost | ErrorKind::NotHeld => LOST,
            ErrorKind::Denied => DENIED,
            ErrorKind::Invalid | ErrorKind::TooLarge | ErrorKind::Mismatch => USAGE,
            ErrorKind::NoNode | ErrorKind::BadVersion => NO,
            // --- end of generated
            _ => INTERNAL,
        };
        Failure::new(status, sentence_of(&error))
    }
}

/// What an error says, in the words of the command: without an option of its own the budget is the time to connect.
pub(crate) fn sentence_of(error: &Error) -> String {
    error.message_with(|_| "--connect-timeout".to_owned())
}

/// A sentence on stderr, of which others may have written a part.
pub(crate) fn say(sentence: &str) {
    let sentence = zkrecipes::drive::log::escaped(sentence);
    // Nobody reads it: nothing to be done.
    let _ = writeln!(io::stderr(), "zkrecipes: {sentence}");
}

/// Text on stdout.
pub(crate) fn print(text: &str) -> Outcome {
    print_bytes(text.as_bytes())
}

pub(crate) fn print_bytes(bytes: &[u8]) -> Outcome {
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Ok(()) => Ok(0),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Err(Failure::signal(SIGPIPE)),
        Err(error) => Err(Failure::new(OUTPUT, format!("cannot write the output: {error}"))),
    }
}
