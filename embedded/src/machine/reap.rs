//! Containers that emptied and nodes whose time to live is over.

use super::write::Txn;
use super::{Machine, Now};
use std::sync::Arc;

impl Machine {
    /// Deletes what is due, each node under a zxid of its own.
    pub(super) fn reap(&mut self, now: Now) {
        for path in self.tree.due(now.wall) {
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
