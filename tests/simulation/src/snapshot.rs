//! The tree as a server has it. What has not changed since the last look is not made again: looks are taken after every write.

use std::sync::Arc;

use zkrecipes_embedded::machine::{Machine, NodeView};

/// What is of interest about a node.
#[derive(Clone, Debug)]
pub struct Node {
    pub path: String,
    pub data: Vec<u8>,
    /// The session that it belongs to; zero for none.
    pub session: i64,
    pub czxid: i64,
    mzxid: i64,
    /// How often its data was written since it was made.
    pub version: i32,
    /// A container that never had a child: no server collects it.
    pub is_unused: bool,
}

impl Node {
    fn of(view: &NodeView<'_>) -> Node {
        let NodeView { path, data, session, czxid, mzxid, version, is_unused } = *view;
        Node { path: path.to_owned(), data: data.to_owned(), session, czxid, mzxid, version, is_unused }
    }

    #[cfg(test)]
    pub fn made(path: String) -> Node {
        let (session, czxid, mzxid, version, is_unused) = (1, 1, 1, 0, false);
        Node { path, data: Vec::new(), session, czxid, mzxid, version, is_unused }
    }

    /// Each write has a number of its own.
    fn is_still(&self, view: &NodeView<'_>) -> bool {
        let of_it = (self.czxid, self.mzxid, self.version, self.is_unused);
        of_it == (view.czxid, view.mzxid, view.version, view.is_unused) && self.path == view.path
    }
}

/// Every node, sorted by path, with what was made of each.
#[derive(Debug)]
pub struct Snapshot<T>(Vec<(Arc<Node>, T)>);

impl<T> Default for Snapshot<T> {
    fn default() -> Self {
        Snapshot(Vec::new())
    }
}

impl<T> Snapshot<T> {
    /// Looks again; `make` is asked of what is new or has changed.
    pub fn look(&mut self, machine: &Machine, mut make: impl FnMut(&Arc<Node>) -> T) {
        let views = machine.nodes();
        let mut before = std::mem::take(&mut self.0).into_iter().peekable();
        self.0.reserve(views.len());
        for view in &views {
            while before.next_if(|(node, _)| *node.path < *view.path).is_some() {}
            let kept = before.next_if(|(node, _)| node.is_still(view));
            self.0.push(kept.unwrap_or_else(|| {
                let node = Arc::new(Node::of(view));
                let made = make(&node);
                (node, made)
            }));
        }
    }

    /// Follows what another one has looked at.
    pub fn follow(&mut self, nodes: &[Arc<Node>], mut make: impl FnMut(&Node) -> T) {
        let mut before = std::mem::take(&mut self.0).into_iter().peekable();
        self.0.reserve(nodes.len());
        for node in nodes {
            while before.next_if(|(other, _)| *other.path < *node.path).is_some() {}
            let kept = before.next_if(|(other, _)| Arc::ptr_eq(other, node));
            self.0.push(kept.unwrap_or_else(|| (node.clone(), make(node))));
        }
    }

    pub fn iter(&self) -> impl Iterator<Item = (&Arc<Node>, &T)> {
        self.0.iter().map(|(node, made)| (node, made))
    }

    pub fn contains(&self, path: &str) -> bool {
        self.0.binary_search_by(|(node, _)| (*node.path).cmp(path)).is_ok()
    }
}
