//! Nodes that a recipe goes on without: one of them must not keep everybody from the others. Each is named once in the log, and
//! the client lists them: what recipes answer has mostly no room for it.

use std::collections::BTreeMap;
use std::sync::Mutex;

use super::Session;
use crate::log;
use crate::mutex::lock;

/// Of how many it is remembered. Those are left then that were skipped last.
const MOST_KEPT: usize = 1000;

/// What is wrong with a node.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Flaw {
    /// Its access list does not let us read it.
    Denied,
    /// What it says is not in the encoding that it should have.
    Encoding,
    /// Somebody has made nodes below it, so that it cannot be deleted.
    Children,
    /// With what has to be written to take it, it does not fit into a packet.
    Size,
}

impl Flaw {
    fn cause(self) -> &'static str {
        match self {
            Flaw::Denied => "denied",
            Flaw::Encoding => "encoding",
            Flaw::Children => "children",
            Flaw::Size => "size",
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
            Flaw::Size => "it is too large to be taken; delete it",
        }
    }
}

/// What a client goes on without.
#[derive(Default)]
pub(super) struct SkippedNodes(Mutex<SkippedInOrder>);

#[derive(Default)]
struct SkippedInOrder {
    /// By path, and in which order.
    all: BTreeMap<String, (Flaw, u64)>,
    last: u64,
}

impl SkippedNodes {
    fn add(&self, path: &str, flaw: Flaw) {
        let mut skipped = lock(&self.0);
        skipped.last += 1;
        let last = skipped.last;
        skipped.all.insert(path.to_owned(), (flaw, last));
        if skipped.all.len() > MOST_KEPT {
            // Half of them at once: so it is seldom.
            let before = last.saturating_sub(MOST_KEPT as u64 / 2);
            skipped.all.retain(|_, (_, at)| *at > before);
        }
    }
}

impl Session {
    /// What was left out since the client is connected, with the cause of each.
    pub(crate) fn skipped(&self) -> BTreeMap<String, String> {
        let skipped = lock(&self.skipped.0);
        skipped.all.iter().map(|(path, (flaw, _))| (path.clone(), flaw.cause().to_owned())).collect()
    }

    /// Goes on without the node at `path`.
    pub(crate) fn skip(&self, path: &str, flaw: Flaw) {
        self.skipped.add(path, flaw);
        if self.is_first_time(&format!("skipped {} {path}", flaw.cause())) {
            log::skipped(path, flaw.cause());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_is_bounded_and_what_was_skipped_last_stays() {
        let skipped = SkippedNodes::default();
        for n in 0..3 * MOST_KEPT {
            skipped.add("/always", Flaw::Denied);
            skipped.add(&format!("/{n}"), Flaw::Encoding);
            assert!(lock(&skipped.0).all.len() <= MOST_KEPT);
        }
        let all = std::mem::take(&mut lock(&skipped.0).all);
        assert!(all.contains_key("/always") && all.contains_key(&format!("/{}", 3 * MOST_KEPT - 1)));
    }
}
