//! How much is looked at where nodes are chosen: others decide how many there are, and how long what they write is.

use std::collections::BTreeSet;

use super::{Depth, Tree, TreeNode};
use crate::path;

/// Once there is so much, no more nodes are looked at.
#[derive(Copy, Clone)]
pub(crate) struct Room {
    /// Each has one or two watches on the server.
    pub(crate) nodes: usize,
    /// Of paths, names and data, as they are kept here.
    pub(crate) bytes: usize,
}

/// A path is kept by its node, by its family, and twice by each of what waits for its data and for its list.
const COPIES: usize = 6;
/// So much is kept of what a node says: anybody may write a megabyte into each.
const KEPT: usize = 4096;

pub(super) fn beginning(mut data: Vec<u8>) -> Vec<u8> {
    if data.len() > KEPT {
        // Half a letter would make bytes of a text.
        let end = match std::str::from_utf8(&data[..KEPT]) {
            Err(error) if error.error_len().is_none() => error.valid_up_to(),
            _ => KEPT,
        };
        data.truncate(end);
        data.shrink_to_fit();
    }
    data
}

pub(super) fn of_path(path: &str) -> usize {
    COPIES * path.len()
}

pub(super) fn of_names(names: &BTreeSet<String>) -> usize {
    names.iter().map(String::len).sum()
}

impl Tree {
    /// Whether there was no room for some of what was chosen.
    pub(crate) fn is_cut(&self) -> bool {
        !self.cut.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        match self.depth {
            Depth::Chosen(_, room) => self.nodes.len() >= room.nodes || self.bytes >= room.bytes,
            Depth::Children | Depth::All => false,
        }
    }

    pub(super) fn keep(&mut self, path: String, node: TreeNode) {
        self.bytes += of_path(&path);
        self.nodes.insert(path, node);
    }

    /// Looks at what there was no room for before, as far as there is now. The names are known: nothing is listed again.
    pub(super) fn fill(&mut self) {
        let Depth::Chosen(choose, _) = self.depth else { return };
        if self.is_full() {
            return;
        }
        for parent in std::mem::take(&mut self.cut) {
            let Some(names) = self.families.get(&parent) else { continue };
            for (name, what) in choose(&self.top, &parent, names) {
                let path = path::join(&parent, &name);
                if self.nodes.contains_key(&path) {
                    continue;
                }
                if self.is_full() {
                    self.cut.insert(parent);
                    break;
                }
                self.discover(path, None, what);
            }
        }
    }
}
