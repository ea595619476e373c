//! Watches: who wants to hear of which path. They belong to connections, not to sessions.

use super::ConnId;
use crate::wire::EventKind;
use std::collections::{BTreeMap, HashMap};

/// How a watch was set: bits, since one connection may hold several on one path.
pub const STANDARD: u8 = 1;
pub const PERSISTENT: u8 = 2;
pub const RECURSIVE: u8 = 4;
const EVERY: u8 = STANDARD | PERSISTENT | RECURSIVE;

/// One of the server's two tables: data watches (with exists and recursive ones) or child watches.
#[derive(Debug, Default)]
struct Table {
    // Ordered by connection, so that one seed gives one order of events.
    by_path: HashMap<String, BTreeMap<ConnId, u8>>,
    by_conn: HashMap<ConnId, HashMap<String, u8>>,
    recursive: usize,
    /// The kind that is set last takes the place of the one before.
    keeps_last: bool,
    /// Recursive watches are asked for apart: [`Watches::recursive_above`].
    leaves_recursive: bool,
}

impl Table {
    fn add(&mut self, path: &str, conn: ConnId, mode: u8) {
        if self.keeps_last {
            self.remove(path, conn, EVERY & !mode);
        }
        let held = self.by_path.entry(path.to_owned()).or_default().entry(conn).or_default();
        if mode == RECURSIVE && *held & RECURSIVE == 0 {
            self.recursive += 1;
        }
        *held |= mode;
        *self.by_conn.entry(conn).or_default().entry(path.to_owned()).or_default() |= mode;
    }

    /// Takes modes away; says whether any was there.
    fn remove(&mut self, path: &str, conn: ConnId, modes: u8) -> bool {
        let Some(conns) = self.by_path.get_mut(path) else { return false };
        let Some(held) = conns.get_mut(&conn) else { return false };
        let before = *held;
        *held &= !modes;
        let after = *held;
        if after == 0 {
            conns.remove(&conn);
            if conns.is_empty() {
                self.by_path.remove(path);
            }
        }
        if let Some(paths) = self.by_conn.get_mut(&conn) {
            if after == 0 {
                paths.remove(path);
            } else {
                paths.insert(path.to_owned(), after);
            }
            if paths.is_empty() {
                self.by_conn.remove(&conn);
            }
        }
        if before & !after & RECURSIVE != 0 {
            self.recursive -= 1;
        }
        before != after
    }

    /// What goes with a watch of that kind.
    fn removed(&self, mode: u8) -> u8 {
        if self.keeps_last { EVERY } else { mode }
    }

    fn forget(&mut self, conn: ConnId) {
        for path in self.by_conn.get(&conn).map(|p| p.keys().cloned().collect::<Vec<_>>()).unwrap_or_default()
        {
            self.remove(&path, conn, EVERY);
        }
    }

    fn holds(&self, path: &str, conn: ConnId, modes: u8) -> bool {
        self.by_path.get(path).and_then(|c| c.get(&conn)).is_some_and(|held| held & modes != 0)
    }

    /// The connections an event on a path goes to; one-time watches are used up.
    fn trigger(&mut self, path: &str) -> Vec<ConnId> {
        let mut hit: Vec<ConnId> = match self.by_path.get(path) {
            None => Vec::new(),
            Some(conns) => {
                let left = if self.leaves_recursive { RECURSIVE } else { 0 };
                conns.iter().filter(|(_, modes)| **modes & !left != 0).map(|(conn, _)| *conn).collect()
            }
        };
        for conn in &hit {
            self.remove(path, *conn, STANDARD);
        }
        self.add_followers(path, &mut hit);
        hit
    }

    /// Who hears that the children of a path changed: those who asked for just that.
    fn trigger_children(&mut self, path: &str) -> Vec<ConnId> {
        let conns = self.by_path.get(path).into_iter().flatten();
        let hit: Vec<ConnId> =
            conns.filter(|(_, modes)| **modes & !RECURSIVE != 0).map(|(conn, _)| *conn).collect();
        for conn in &hit {
            self.remove(path, *conn, STANDARD);
        }
        hit
    }

    /// Those who follow all that is below a node above.
    fn add_followers(&self, path: &str, hit: &mut Vec<ConnId>) {
        if self.recursive > 0 && !self.leaves_recursive {
            let mut at = path;
            while at != "/" {
                at = super::tree::parent_of(at);
                let above = self.by_path.get(at).into_iter().flatten();
                hit.extend(above.filter(|(_, modes)| **modes & RECURSIVE != 0).map(|(conn, _)| *conn));
            }
            hit.sort_unstable();
            hit.dedup();
        }
    }

    /// Those who follow all that is below a node there or above, each with the path that it watches.
    fn recursive_above(&self, path: &str) -> Vec<(ConnId, String)> {
        let mut found = Vec::new();
        let mut at = path;
        if self.recursive == 0 {
            return found;
        }
        loop {
            let here = self.by_path.get(at).into_iter().flatten();
            let recursive = here.filter(|(_, modes)| **modes & RECURSIVE != 0);
            found.extend(recursive.map(|(conn, _)| (*conn, at.to_owned())));
            if at == "/" {
                return found;
            }
            at = super::tree::parent_of(at);
        }
    }

    fn len(&self) -> usize {
        self.by_path.values().map(BTreeMap::len).sum()
    }
}

/// All watches of a server.
#[derive(Debug)]
pub struct Watches {
    data: Table,
    child: Table,
}

impl Watches {
    pub fn new(keeps_every_watch: bool, leaves_recursive: bool) -> Watches {
        let table = || Table { keeps_last: !keeps_every_watch, leaves_recursive, ..Table::default() };
        Watches { data: table(), child: table() }
    }

    /// From `exists` and `getData`.
    pub fn add_data(&mut self, path: &str, conn: ConnId) {
        self.data.add(path, conn, STANDARD);
    }

    /// From `getChildren`.
    pub fn add_child(&mut self, path: &str, conn: ConnId) {
        self.child.add(path, conn, STANDARD);
    }

    /// From `addWatch`: hears of data and children.
    pub fn add_persistent(&mut self, path: &str, conn: ConnId) {
        self.data.add(path, conn, PERSISTENT);
        self.child.add(path, conn, PERSISTENT);
    }

    /// From `addWatch`: hears of the node and all below, but never of changed children.
    pub fn add_recursive(&mut self, path: &str, conn: ConnId) {
        self.data.add(path, conn, RECURSIVE);
        if self.child.keeps_last {
            // It takes the place of one on the children, and tells nothing of them.
            self.child.add(path, conn, RECURSIVE);
        }
    }

    /// Who hears of a change of the node itself. Nobody hears of one deletion twice.
    pub fn on_node(&mut self, path: &str, event: EventKind) -> Vec<ConnId> {
        let mut hit = self.data.trigger(path);
        if event == EventKind::Deleted {
            hit.extend(self.child.trigger(path));
            let mut seen = std::collections::HashSet::new();
            hit.retain(|conn| seen.insert(*conn));
        }
        hit
    }

    /// Who hears of a node by a recursive watch, and by which path, where those are asked for apart.
    pub fn recursive_above(&self, path: &str) -> Vec<(ConnId, String)> {
        self.data.recursive_above(path)
    }

    /// Who hears that the children of a node changed.
    pub fn on_children(&mut self, path: &str) -> Vec<ConnId> {
        self.child.trigger_children(path)
    }

    /// The connection is gone, and its watches with it.
    pub fn forget(&mut self, conn: ConnId) {
        self.data.forget(conn);
        self.child.forget(conn);
    }

    /// Removes what `removeWatches` names (1 children, 2 data, 3 any, 4 persistent, 5 recursive).
    pub fn remove(&mut self, path: &str, conn: ConnId, kind: i32) -> bool {
        match kind {
            1 => self.child.remove(path, conn, self.child.removed(STANDARD)),
            2 => self.data.remove(path, conn, self.data.removed(STANDARD)),
            3 => self.child.remove(path, conn, EVERY) | self.data.remove(path, conn, EVERY),
            4 => self.child.remove(path, conn, PERSISTENT) | self.data.remove(path, conn, PERSISTENT),
            5 => self.data.remove(path, conn, RECURSIVE),
            _ => false,
        }
    }

    /// Whether a watch of that kind is there, for `checkWatches`.
    pub fn contains(&self, path: &str, conn: ConnId, kind: i32) -> bool {
        match kind {
            1 => self.child.holds(path, conn, STANDARD),
            2 => self.data.holds(path, conn, STANDARD),
            3 => self.child.holds(path, conn, EVERY) || self.data.holds(path, conn, EVERY),
            4 => self.data.holds(path, conn, PERSISTENT),
            5 => self.data.holds(path, conn, RECURSIVE),
            _ => false,
        }
    }

    pub fn len(&self) -> usize {
        self.data.len() + self.child.len()
    }

    /// Every watched path with every connection that watches it.
    pub fn all(&self) -> Vec<(String, ConnId)> {
        let tables = [&self.data, &self.child].into_iter();
        let paths = tables.flat_map(|t| t.by_path.iter());
        paths.flat_map(|(path, conns)| conns.keys().map(|conn| (path.clone(), *conn))).collect()
    }

    /// Connections that watch and paths that are watched, for `wchs`.
    pub fn spread(&self) -> (usize, usize) {
        let mut conns: Vec<ConnId> =
            self.data.by_conn.keys().chain(self.child.by_conn.keys()).copied().collect();
        conns.sort_unstable();
        conns.dedup();
        let mut paths: Vec<&String> = self.data.by_path.keys().chain(self.child.by_path.keys()).collect();
        paths.sort_unstable();
        paths.dedup();
        (conns.len(), paths.len())
    }
}
