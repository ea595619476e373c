//! The tree of nodes: plain data, no sessions, no permissions, no events.

use crate::wire::{Acl, Stat};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// What decides how long a node stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    Nobody,
    Session(i64),
    Container,
    /// Milliseconds without change, and without children, after which the node goes.
    Ttl(i64),
}

/// One node.
#[derive(Debug, Clone)]
pub struct Node {
    /// Null data stays null.
    pub data: Option<Box<[u8]>>,
    pub acl: Arc<[Acl]>,
    pub owner: Owner,
    pub czxid: i64,
    pub mzxid: i64,
    pub pzxid: i64,
    pub ctime: i64,
    pub mtime: i64,
    pub version: i32,
    pub aversion: i32,
    /// How many children were ever created here: the next sequence suffix. The `cversion` clients see is derived.
    pub creates: i32,
    /// How often the data of children changed, where that counts; see [`Dialect`](super::Dialect). Neither saved nor told to followers.
    pub child_data: i32,
    pub children: BTreeSet<Box<str>>,
}

impl Node {
    pub fn new(data: Option<&[u8]>, acl: Arc<[Acl]>, owner: Owner, zxid: i64, time: i64) -> Self {
        Node {
            data: data.map(Box::from),
            acl,
            owner,
            czxid: zxid,
            mzxid: zxid,
            pzxid: zxid,
            ctime: time,
            mtime: time,
            version: 0,
            aversion: 0,
            creates: 0,
            child_data: 0,
            children: BTreeSet::new(),
        }
    }

    /// Its data, as a reply has it.
    pub fn content(&self) -> Option<Cow<'_, [u8]>> {
        self.data.as_deref().map(Cow::Borrowed)
    }

    /// The names of its children, as a reply has them.
    pub fn names(&self) -> Vec<Cow<'_, str>> {
        self.children.iter().map(|name| Cow::Borrowed(&**name)).collect()
    }

    pub fn stat(&self) -> Stat {
        let children = self.children.len() as i32;
        Stat {
            czxid: self.czxid,
            mzxid: self.mzxid,
            ctime: self.ctime,
            mtime: self.mtime,
            version: self.version,
            // Creates and deletes both count; deletes = creates − children.
            cversion: self.creates.wrapping_mul(2).wrapping_sub(children).wrapping_add(self.child_data),
            aversion: self.aversion,
            ephemeral_owner: match self.owner {
                Owner::Session(id) => id,
                Owner::Nobody | Owner::Container | Owner::Ttl(_) => 0,
            },
            data_length: self.data.as_ref().map_or(0, |d| d.len() as i32),
            num_children: children,
            pzxid: self.pzxid,
        }
    }
}

/// All nodes by path, with the indexes that sessions and reaping need.
#[derive(Debug)]
pub struct Tree {
    nodes: HashMap<String, Node>,
    ephemerals: HashMap<i64, BTreeSet<String>>,
    reapable: BTreeMap<String, Owner>,
}

/// The parent of a path: `/` for top-level nodes.
pub fn parent_of(path: &str) -> &str {
    match path.rfind('/') {
        Some(0) | None => "/",
        Some(i) => &path[..i],
    }
}

fn name_of(path: &str) -> &str {
    path.rfind('/').map_or(path, |i| &path[i + 1..])
}

/// Paths the server keeps for itself and never deletes.
pub fn is_special(path: &str) -> bool {
    matches!(path, "/" | "/zookeeper" | "/zookeeper/quota" | "/zookeeper/config")
}

impl Tree {
    /// A fresh tree, with the system nodes of a fresh server.
    pub fn new(open: Arc<[Acl]>, read_only: Arc<[Acl]>) -> Self {
        let mut tree = Tree { nodes: HashMap::new(), ephemerals: HashMap::new(), reapable: BTreeMap::new() };
        for path in ["/", "/zookeeper", "/zookeeper/quota", "/zookeeper/config"] {
            let acl = if path.ends_with("config") { &read_only } else { &open };
            let mut node = Node::new(Some(&[]), acl.clone(), Owner::Nobody, 0, 0);
            // Real servers set this list with version −1, and keep that.
            node.aversion = if path.ends_with("config") { -1 } else { 0 };
            tree.nodes.insert(path.to_owned(), node);
        }
        // System nodes were put in place, not created: they do not count as creates.
        for (parent, child) in [("/", "zookeeper"), ("/zookeeper", "quota"), ("/zookeeper", "config")] {
            if let Some(node) = tree.nodes.get_mut(parent) {
                node.children.insert(child.into());
            }
        }
        tree
    }

    /// A node; the empty path is the root's other name.
    pub fn get(&self, path: &str) -> Option<&Node> {
        self.nodes.get(if path.is_empty() { "/" } else { path })
    }

    pub fn get_mut(&mut self, path: &str) -> Option<&mut Node> {
        self.nodes.get_mut(path)
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Node)> {
        self.nodes.iter().map(|(path, node)| (path.as_str(), node))
    }

    /// Puts a saved node in its place, or over a system node that is there from the start.
    pub fn put_back(&mut self, path: &str, mut node: Node) {
        match self.nodes.get_mut(path) {
            Some(there) => {
                node.children = std::mem::take(&mut there.children);
                *there = node;
            }
            None => self.insert(path, node),
        }
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Puts a node under its parent, which must exist. Counters of the parent are the caller's.
    pub fn insert(&mut self, path: &str, node: Node) {
        match node.owner {
            Owner::Nobody => {}
            Owner::Session(id) => {
                self.ephemerals.entry(id).or_default().insert(path.to_owned());
            }
            kind @ (Owner::Container | Owner::Ttl(_)) => {
                self.reapable.insert(path.to_owned(), kind);
            }
        }
        if let Some(parent) = self.nodes.get_mut(parent_of(path)) {
            parent.children.insert(name_of(path).into());
        }
        self.nodes.insert(path.to_owned(), node);
    }

    /// Takes a node out. Counters of the parent are the caller's.
    pub fn remove(&mut self, path: &str) -> Option<Node> {
        let node = self.nodes.remove(path)?;
        if let Some(parent) = self.nodes.get_mut(parent_of(path)) {
            parent.children.remove(name_of(path));
        }
        match node.owner {
            Owner::Nobody => {}
            Owner::Session(id) => {
                if let Some(paths) = self.ephemerals.get_mut(&id) {
                    paths.remove(path);
                    if paths.is_empty() {
                        self.ephemerals.remove(&id);
                    }
                }
            }
            Owner::Container | Owner::Ttl(_) => {
                self.reapable.remove(path);
            }
        }
        Some(node)
    }

    /// The ephemeral nodes of a session, sorted.
    pub fn ephemerals(&self, session: i64) -> Vec<String> {
        self.ephemerals.get(&session).map(|p| p.iter().cloned().collect()).unwrap_or_default()
    }

    /// Sessions that own ephemeral nodes, with them.
    pub fn owners(&self) -> impl Iterator<Item = (i64, &BTreeSet<String>)> {
        self.ephemerals.iter().map(|(id, paths)| (*id, paths))
    }

    pub fn ephemeral_count(&self) -> usize {
        self.ephemerals.values().map(BTreeSet::len).sum()
    }

    /// Containers and nodes with a time to live.
    pub fn reapable(&self) -> impl Iterator<Item = (&str, Owner, &Node)> {
        self.reapable.iter().filter_map(|(path, kind)| Some((path.as_str(), *kind, self.nodes.get(path)?)))
    }

    pub fn has_reapable(&self) -> bool {
        !self.reapable.is_empty()
    }

    /// How many nodes lie below a path. The root does not count the system nodes apart: it counts all but itself.
    pub fn descendants(&self, path: &str) -> usize {
        if path == "/" {
            return self.nodes.len() - 1;
        }
        let mut count = 0;
        let mut todo = vec![path.to_owned()];
        while let Some(at) = todo.pop() {
            if let Some(node) = self.nodes.get(&at) {
                count += node.children.len();
                todo.extend(node.children.iter().map(|c| format!("{at}/{c}")));
            }
        }
        count
    }

    /// Every path outside `/zookeeper`, sorted, without the root.
    pub fn user_paths(&self) -> Vec<String> {
        let system: HashSet<&str> = ["/", "/zookeeper"].into();
        let mut paths: Vec<String> = self
            .nodes
            .keys()
            .filter(|p| !system.contains(p.as_str()) && !p.starts_with("/zookeeper/"))
            .cloned()
            .collect();
        paths.sort_unstable();
        paths
    }

    /// Bytes of all paths and data, as `mntr` reports them.
    pub fn data_size(&self) -> usize {
        self.nodes.iter().map(|(p, n)| p.len() + n.data.as_ref().map_or(0, |d| d.len())).sum()
    }
}
