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
}

impl Flaw {
    fn cause(self) -> &'static str {
        match self {
            Flaw::Denied => "denied",
            Flaw::Encoding => "encoding",
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
