//! Nodes that a recipe goes on without: one of them must not keep everybody from the others. Each is named once in the log.

use super::Session;
use crate::log;

/// What is wrong with a node.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// Its access list does not let us read it.
    Denied,
    /// What it says is not in the encoding that it should have.
    Encoding,
    /// Somebody has made nodes below it, so that it cannot be deleted.
    Children,
}

impl Flaw {
    fn cause(self) -> &'static str {
        match self {
            Flaw::Denied => "denied",
            Flaw::Encoding => "encoding",
            Flaw::Children => "children",
        }
    }

    /// For people, where what is listed says so.
    pub(crate) fn problem(self) -> &'static str {
        match self {
            Flaw::Denied => "it may not be read with the identities of this client",
            Flaw::Encoding => {
                "what it says is not understood; a later version may have written it, or somebody else"
            }
            Flaw::Children => "there are nodes below it, so that it cannot be deleted; delete them first",
        }
    }
}

impl Session {
    /// Goes on without the node at `path`.
    pub(crate) fn skip(&self, path: &str, flaw: Flaw) {
        if self.is_first_time(&format!("skipped {} {path}", flaw.cause())) {
            log::skipped(path, flaw.cause());
        }
    }
}
