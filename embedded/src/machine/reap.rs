//! Containers that emptied and nodes whose time to live is over.

use super::tree::{Node, Owner};
use super::write::Txn;
use super::{Machine, Now};
use std::sync::Arc;

impl Machine {
    /// Deletes what is due, each node under a zxid of its own.
    pub(super) fn reap(&mut self, now: Now) {
        let due = self.tree.reapable().filter(|(_, kind, node)| is_due(*kind, node, now.wall));
        let due: Vec<String> = due.map(|(path, ..)| path.to_owned()).collect();
        for path in due {
            let zxid = self.next_zxid();
            let mut txn = Txn {
                zxid,
                time: now.wall,
                session: 0,
                ids: Arc::new([]),
                events: Vec::new(),
                undo: Vec::new(),
            };
            self.delete_node(&mut txn, &path);
            self.commit(txn);
        }
    }
}

/// `now` is wall time in milliseconds.
fn is_due(kind: Owner, node: &Node, now: i64) -> bool {
    node.children.is_empty()
        && match kind {
            // An untouched container may be about to get its first child.
            Owner::Container => node.creates > 0,
            Owner::Ttl(ttl) => now.saturating_sub(node.mtime) > ttl,
            Owner::Nobody | Owner::Session(_) => false,
        }
}
