//! What is known of one node of a tree.

use std::time::Duration;

use super::NodePart;
use crate::session::clock::Moment;
use crate::session::wire::Stat;

/// A node that its parent's list names.
pub(super) struct TreeNode {
    pub(super) what: NodePart,
    /// Which of several nodes that had this path, one after the other.
    pub(super) id: u64,
    pub(super) found: Option<(Vec<u8>, Stat)>,
    /// We may not read it, and were told so then.
    pub(super) denied: Option<Moment>,
    /// It was not ours to read, and will be asked for once more then.
    pub(super) looks_again: Option<Moment>,
    /// How long it was not asked for before that, where no list named it.
    pub(super) patience: Duration,
    /// Its watch has told that it was deleted.
    pub(super) is_gone: bool,
    /// When the last node was created that had this path and is known to be gone.
    pub(super) gone: Option<i64>,
    /// Its list has told that it was deleted, and is not waited for any more.
    pub(super) is_unlisted: bool,
    /// When the last list that named it was asked for.
    pub(super) listed: Moment,
}

impl TreeNode {
    pub(super) fn new(what: NodePart, id: u64, gone: Option<i64>) -> TreeNode {
        TreeNode {
            what,
            id,
            found: None,
            denied: None,
            looks_again: None,
            patience: Duration::ZERO,
            is_gone: false,
            gone,
            is_unlisted: false,
            listed: Moment::START,
        }
    }

    /// How much of its data is kept.
    pub(super) fn bytes(&self) -> usize {
        self.found.as_ref().map_or(0, |(data, _)| data.len())
    }

    /// What was found is another node than the one that is listed: it was replaced, and its data watch told of a change
    /// before the deletion.
    pub(super) fn is_replaced_by(&self, found: &Option<(Vec<u8>, Stat)>) -> bool {
        let Some((_, now)) = found else { return false };
        let is_another = self.found.as_ref().is_some_and(|(_, before)| before.czxid != now.czxid);
        self.is_unlisted || is_another
    }
}
