//! What is there below a node, kept up to date with ordinary watches: its children with their data, or all that is below it.
//!
//! 1. Each list sets a watch on the children, each read a watch on the data. So a change costs one list or one read,
//!    however many nodes there are.
//! 2. What was deleted is known from the watch on its data and costs nothing; the list that the deletion causes, too, tells
//!    whether it is back.
//! 3. News of data counts before lists: the server tells of a deletion before it answers a later list.
//! 4. On another connection a server may lag behind that deletion: what was created before counts only behind a `sync`.
//! 5. An answer behind a `sync` may come in late: a later list may have named the node already that it says is gone. Then it
//!    is asked for once more.
//! 6. What is told at first is no older than the beginning: one `sync` goes ahead of all that is asked for until then.
//! 7. A node that we may not read is left out, and does not keep the others from being told. No event tells that its access list
//!    was changed: it is looked at again when a later list names it, and without news, too, at last once in `LOOK_AFTER`, or less
//!    often where many are so. Who chooses has that only where it asks for it.
//! 8. A caller that chooses looks at a limited number of nodes. The others are looked at when there is room: their
//!    names are known.

mod node;
mod room;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};

use self::node::TreeNode;
pub(crate) use self::room::Room;
use super::outstanding::Outstanding;
use super::{ChildData, ChildList, Children, Data, Watchable, Watching};
use crate::error::{Error, ErrorKind, Result};
use crate::path;
use crate::session::Session;
use crate::session::call::LOOK_AFTER;
use crate::session::clock::{Later, Moment};
use crate::session::server_session::catching_up::Beginning;
use crate::session::skipped_nodes::Flaw;
use crate::session::wire::Stat;

/// How far down is looked.
#[derive(Copy, Clone)]
pub(crate) enum Depth {
    /// The children and their data, but not the data of the node itself.
    Children,
    /// The node and all that is below it.
    All,
    /// The node, and below it whatever is chosen of the children of a node, while there is room. Of what is long the beginning
    /// is kept.
    Chosen(Choose, Room),
}

/// Which of the children of a node, and what of each, is to be looked at in the tree below `top`. The others are known by their
/// names alone.
pub(crate) type Choose = fn(top: &str, parent: &str, names: &BTreeSet<String>) -> BTreeMap<String, NodePart>;

/// What of a node is looked at.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum NodePart {
    Data,
    DataAndChildren,
}

/// How long what we may not read is not looked at again, however many lists name it.
const LOOKS_AGAIN: Duration = Duration::from_secs(1);
/// How long one of many goes without news before it is looked at, where that is asked for, and how often one of them is at most: a
/// thousand who follow a service are two hundred reads a second then.
const LOOKS_AT_EACH: Duration = Duration::from_secs(10);
const LOOKS_AT_ONE: Duration = Duration::from_secs(5);
/// After so many answers what is known is told, although more is on its way.
const PATIENCE: usize = 64;
/// And after so long what is known of a line from which a node has gone, although no list has told that.
const LIST_COMES_WITHIN: Duration = Duration::from_secs(1);

impl Depth {
    fn has_top(self) -> bool {
        !matches!(self, Depth::Children)
    }

    /// What of a child is looked at, if it is.
    fn part_of(self, chosen: &BTreeMap<String, NodePart>, name: &str) -> Option<NodePart> {
        match self {
            Depth::Children => Some(NodePart::Data),
            Depth::All => Some(NodePart::DataAndChildren),
            Depth::Chosen(..) => chosen.get(name).copied(),
        }
    }

    fn kept(self, found: Option<(Vec<u8>, Stat)>) -> Option<(Vec<u8>, Stat)> {
        match self {
            Depth::Chosen(..) => found.map(|(data, stat)| (room::beginning(data), stat)),
            Depth::Children | Depth::All => found,
        }
    }
}

pub(crate) struct Tree {
    session: Arc<Session>,
    verb: &'static str,
    top: String,
    depth: Depth,
    /// Whether what is below is looked at without news, too.
    looks: bool,
    /// Whether what we may not read is.
    looks_at_denied: bool,
    /// How many we may not read.
    denied: u32,
    nodes: BTreeMap<String, TreeNode>,
    /// By parent, the names of those in `nodes`.
    families: BTreeMap<String, BTreeSet<String>>,
    /// How much `nodes` and `families` keep.
    bytes: usize,
    /// Parents with children that there was no room for.
    cut: BTreeSet<String>,
    /// Parents of which a child has gone that their list still names.
    behind: BTreeSet<String>,
    /// Until when their lists are waited for.
    behind_until: Option<Moment>,
    waits: FuturesUnordered<Later<TreeNews>>,
    /// How many were asked for and have not been answered once.
    unanswered: usize,
    next_id: u64,
    touched: BTreeSet<String>,
    was_told: bool,
    beginning: Arc<Beginning>,
    outstanding: Outstanding,
}

/// What came of one wait, and with what to wait on.
enum TreeNews {
    Top { watching: Watching<Data>, seen: Result<Data>, is_first: bool },
    TopList { watching: Watching<Children>, seen: Result<Children>, is_first: bool },
    Data { path: String, id: u64, watching: Watching<ChildData>, seen: Result<ChildData>, is_first: bool },
    List { path: String, id: u64, watching: Watching<ChildList>, seen: Result<ChildList>, is_first: bool },
}

impl Tree {
    pub(crate) fn new(session: &Arc<Session>, verb: &'static str, top: &str, depth: Depth) -> Tree {
        let mut tree = Tree {
            session: session.clone(),
            verb,
            top: top.to_owned(),
            depth,
            looks: false,
            looks_at_denied: !matches!(depth, Depth::Chosen(..)),
            denied: 0,
            nodes: BTreeMap::new(),
            families: BTreeMap::new(),
            bytes: 0,
            cut: BTreeSet::new(),
            behind: BTreeSet::new(),
            behind_until: None,
            waits: FuturesUnordered::new(),
            unanswered: 0,
            next_id: 0,
            touched: BTreeSet::new(),
            was_told: false,
            beginning: Arc::default(),
            outstanding: Outstanding::default(),
        };
        tree.wait_for_top_list(tree.follow(top).looking(), true);
        if depth.has_top() {
            let id = tree.fresh_id();
            tree.keep(top.to_owned(), TreeNode::new(NodePart::DataAndChildren, id, None));
            tree.wait_for_top(tree.follow(top).looking(), true);
        }
        tree
    }

    /// For nodes whose access lists are others' affair: servers do not tell what happens to a node while we may not read it, and forget
    /// the watch. So each is looked at after `LOOKS_AT_EACH` without news, and all together once in `LOOKS_AT_ONE`.
    pub(crate) fn looking(mut self) -> Tree {
        self.looks = true;
        self
    }

    /// For who chooses, and may be refused what it chose: that is looked at again without news.
    pub(crate) fn looking_at_denied(mut self) -> Tree {
        self.looks_at_denied = true;
        self
    }

    fn follow_data(&self, path: &str) -> Watching<ChildData> {
        let (data, siblings) = (self.follow(path), self.families.get(path::parent(path)));
        match self.looks {
            true => {
                let many = siblings.map_or(0, BTreeSet::len).try_into().unwrap_or(u32::MAX);
                data.looking_after(LOOKS_AT_EACH.max(LOOKS_AT_ONE.saturating_mul(many)))
            }
            false => data,
        }
    }

    fn follow<S: Watchable>(&self, path: &str) -> Watching<S> {
        let watching = Watching::new(&self.session, self.verb, path).counted(&self.outstanding);
        if self.was_told { watching } else { watching.since(&self.beginning) }
    }

    /// The paths that differ from what was told: at first all that is there, once it has been looked at.
    ///
    /// # Cancel safety
    /// Nothing is lost when the future is dropped.
    pub(crate) async fn next(&mut self) -> Result<BTreeSet<String>> {
        let mut rounds = 0;
        loop {
            let mut lists = Vec::new();
            let mut news = self.first_news().await;
            while let Some(seen) = news {
                match seen {
                    TreeNews::Top { .. } | TreeNews::Data { .. } => self.read(seen)?,
                    list => lists.push(list),
                }
                news = self.waits.next().now_or_never().flatten();
            }
            for list in lists {
                self.list(list)?;
            }
            self.fill();
            rounds += 1;
            // Who chooses shows what it gets: half of it would be there for a moment only. So would be a line of which those
            // have gone that were looked at, and the list that shows the next is on its way. Where changes never end it is
            // shown all the same.
            let is_soon = matches!(self.depth, Depth::Chosen(..)) && rounds < PATIENCE;
            let is_answered = self.unanswered == 0;
            let is_settled = is_answered && self.behind.is_empty();
            let is_complete = is_settled || ((self.was_told || is_answered) && !is_soon);
            if is_complete && (!self.was_told || !self.touched.is_empty()) {
                self.was_told = true;
                return Ok(std::mem::take(&mut self.touched));
            }
        }
    }

    /// `None`: the lists that were waited for do not come.
    async fn first_news(&mut self) -> Option<TreeNews> {
        if self.unanswered > 0 || self.behind.is_empty() {
            self.behind_until = None;
            return match self.waits.next().await {
                Some(news) => Some(news),
                // The top is waited for all the time.
                None => std::future::pending().await,
            };
        }
        let clock = self.session.clock().clone();
        let until = *self.behind_until.get_or_insert_with(|| clock.now() + LIST_COMES_WITHIN);
        tokio::select! {
            biased;
            Some(news) = self.waits.next() => Some(news),
            () = clock.sleep_until(until) => {
                self.behind.clear();
                None
            }
        }
    }

    /// Whether all that the watches have told of is known, as far as those have been asked.
    pub(crate) fn is_up_to_date(&self) -> bool {
        self.outstanding.is_none()
    }

    /// What is known of the node at `path`, if there is one.
    pub(crate) fn get(&self, path: &str) -> Option<&(Vec<u8>, Stat)> {
        self.nodes.get(path)?.found.as_ref()
    }

    /// All that is there, by path.
    pub(crate) fn all(&self) -> impl Iterator<Item = (&String, &(Vec<u8>, Stat))> {
        self.nodes.iter().filter_map(|(path, node)| Some((path, node.found.as_ref()?)))
    }

    /// By parent, the names of its children, of those too that are not looked at.
    pub(crate) fn families(&self) -> &BTreeMap<String, BTreeSet<String>> {
        &self.families
    }

    /// Whether it is there, and not ours to read.
    pub(crate) fn is_denied(&self, path: &str) -> bool {
        self.nodes.get(path).is_some_and(|node| node.denied.is_some())
    }

    /// Whether it is no reason to end.
    fn overlooks(&self, path: &str, error: &Error) -> bool {
        let is_shown = matches!(self.depth, Depth::Chosen(..));
        error.kind() == ErrorKind::Denied && (is_shown || path != self.top)
    }

    fn fresh_id(&mut self) -> u64 {
        self.next_id += 1;
        self.next_id
    }

    // ---- what was read

    fn read(&mut self, seen: TreeNews) -> Result<()> {
        match seen {
            TreeNews::Top { watching, seen, is_first } => {
                self.unanswered -= usize::from(is_first);
                let path = watching.path().to_owned();
                let found = match seen {
                    // Its list may be ours to read all the same.
                    Err(error) if self.overlooks(&path, &error) => None,
                    seen => {
                        let found = self.depth.kept(seen?.0);
                        self.wait_for_top(watching, false);
                        found
                    }
                };
                if let Some(node) = self.nodes.get_mut(&path) {
                    self.bytes -= node.bytes();
                    node.found = found;
                    self.bytes += node.bytes();
                    self.touched.insert(path);
                }
            }
            TreeNews::Data { path, id, watching, seen, is_first } => {
                self.unanswered -= usize::from(is_first);
                let is_overlooked = seen.as_ref().is_err_and(|error| self.overlooks(&path, error));
                // Another node has this path now, or none has.
                let Some(node) = self.nodes.get_mut(&path).filter(|node| node.id == id) else {
                    return Ok(());
                };
                if is_overlooked {
                    self.overlook(path, watching.asked());
                    return Ok(());
                }
                let found = self.depth.kept(seen?.0);
                let is_gone = found.is_none();
                (node.looks_again, node.patience) = (None, Duration::ZERO);
                let was_denied = node.denied.take().is_some();
                self.denied -= u32::from(was_denied);
                let is_replaced = node.is_replaced_by(&found) || was_denied;
                let is_there_again = is_gone && node.listed >= watching.asked();
                node.is_gone = is_gone;
                self.bytes -= node.bytes();
                let before = std::mem::replace(&mut node.found, found);
                self.bytes += node.bytes();
                if is_gone || is_replaced {
                    node.gone = before.as_ref().map(|(_, stat)| stat.czxid).or(node.gone);
                }
                if before.is_some() || !is_gone {
                    self.touched.insert(path.clone());
                }
                if is_there_again {
                    let (gone, what) = (node.gone, node.what);
                    self.forget(path.clone());
                    self.discover(path, gone, what);
                    return Ok(());
                }
                if is_gone {
                    // What is still asked for below it may be answered of what takes its place, and goes when that is
                    // found.
                    self.forget_family(&path).into_iter().for_each(|child| self.forget(child));
                    if matches!(self.depth, Depth::Chosen(..)) {
                        self.behind.insert(path::parent(&path).to_owned());
                    }
                    return Ok(());
                }
                let id = if is_replaced { self.list_anew(&path) } else { id };
                self.wait_for_data(path, id, watching, false);
            }
            TreeNews::TopList { .. } | TreeNews::List { .. } => {}
        }
        Ok(())
    }

    /// We may not read it, as the answer says to what was asked then.
    fn overlook(&mut self, path: String, asked: Moment) {
        let Some(node) = self.nodes.get_mut(&path) else { return };
        self.bytes -= node.bytes();
        let before = node.found.take();
        self.denied += u32::from(node.denied.is_none());
        (node.denied, node.looks_again) = (Some(self.session.now()), None);
        let least = LOOKS_AGAIN.max(LOOKS_AT_ONE.saturating_mul(self.denied - 1));
        node.patience = node.patience.saturating_mul(2).clamp(least, least.max(LOOK_AFTER));
        let (may_be_another, patience) = (node.listed > asked, node.patience);
        let is_shown = matches!(self.depth, Depth::Chosen(..));
        if !is_shown {
            self.session.skip(&path, Flaw::Denied);
        }
        if is_shown || before.is_some() {
            self.touched.insert(path.clone());
        }
        if may_be_another {
            self.look_again(path, LOOKS_AGAIN);
        } else if self.looks_at_denied {
            self.look_again(path, patience);
        }
    }

    // ---- what was listed

    fn list(&mut self, seen: TreeNews) -> Result<()> {
        match seen {
            TreeNews::TopList { watching, seen, is_first } => {
                self.unanswered -= usize::from(is_first);
                let (path, found) = (watching.path().to_owned(), seen?.0);
                let asked = watching.asked();
                self.wait_for_top_list(watching, false);
                self.listed(&path, found.map(|(names, _)| names).unwrap_or_default(), asked);
            }
            TreeNews::List { path, id, watching, seen, is_first } => {
                self.unanswered -= usize::from(is_first);
                let is_overlooked = seen.as_ref().is_err_and(|error| self.overlooks(&path, error));
                let Some(node) = self.nodes.get_mut(&path).filter(|node| node.id == id) else {
                    return Ok(());
                };
                if is_overlooked {
                    // Nothing would tell any more who comes and goes.
                    self.forget_family(&path).into_iter().for_each(|child| self.forget(child));
                    if self.looks_at_denied {
                        self.overlook(path, watching.asked());
                    }
                    return Ok(());
                }
                let is_gone = node.is_gone;
                match seen?.0 {
                    Some(_) if is_gone => {}
                    Some((names, _)) => {
                        let asked = watching.asked();
                        self.wait_for_list(path.clone(), id, watching, false);
                        self.listed(&path, names, asked);
                    }
                    None => node.is_unlisted = true,
                }
            }
            TreeNews::Top { .. } | TreeNews::Data { .. } => {}
        }
        Ok(())
    }

    fn listed(&mut self, parent: &str, names: Vec<String>, asked: Moment) {
        let names: BTreeSet<String> = names.into_iter().collect();
        let before = self.families.insert(parent.to_owned(), names.clone()).unwrap_or_default();
        self.bytes = self.bytes + room::of_names(&names) - room::of_names(&before);
        self.behind.remove(parent);
        for name in before.difference(&names) {
            self.forget(path::join(parent, name));
        }
        let mut is_cut = false;
        let mut chosen = BTreeMap::new();
        if let Depth::Chosen(choose, _) = self.depth {
            chosen = choose(&self.top, parent, &names);
            if before != names {
                self.touched.insert(parent.to_owned());
            }
        }
        for name in &names {
            let path = path::join(parent, name);
            match self.nodes.get_mut(&path) {
                Some(node) if !node.is_gone => {
                    node.listed = asked;
                    self.look_again(path, LOOKS_AGAIN);
                }
                known => {
                    let gone = known.and_then(|node| node.gone);
                    self.forget(path.clone());
                    if let Some(what) = self.depth.part_of(&chosen, name) {
                        match self.is_full() {
                            true => is_cut = true,
                            false => self.discover(path, gone, what),
                        }
                    }
                }
            }
        }
        match is_cut {
            true => self.cut.insert(parent.to_owned()),
            false => self.cut.remove(parent),
        };
    }

    /// A node that no list has named before, or not since it was deleted.
    fn discover(&mut self, path: String, gone: Option<i64>, what: NodePart) {
        let id = self.fresh_id();
        self.keep(path.clone(), TreeNode::new(what, id, gone));
        let data = self.follow_data(&path).after(gone);
        self.wait_for_data(path.clone(), id, data, true);
        if what == NodePart::DataAndChildren {
            let list = self.follow(&path).after(gone);
            self.wait_for_list(path, id, list, true);
        }
    }

    /// Who may read it, or which node it is, may have changed, if it was not ours to read: that is asked so long after it was found.
    fn look_again(&mut self, path: String, patience: Duration) {
        let id = self.next_id + 1;
        let Some(node) = self.nodes.get_mut(&path) else { return };
        let Some(due) = node.denied.map(|denied| denied + patience) else { return };
        if node.looks_again.is_some_and(|sooner| sooner <= due) {
            return;
        }
        // A later look that waits already is not of this node any more.
        (self.next_id, node.id, node.looks_again) = (id, id, Some(due));
        let (mut watching, clock) = (self.follow_data(&path), self.session.clock().clone());
        self.waits.push(Box::pin(async move {
            clock.sleep_until(due).await;
            let seen = watching.next().await;
            TreeNews::Data { path, id, watching, seen, is_first: false }
        }));
    }

    /// Another node has taken the place of the one at `path`: its children are not the other's.
    fn list_anew(&mut self, path: &str) -> u64 {
        let (id, mut gone, mut what) = (self.fresh_id(), None, NodePart::Data);
        if let Some(node) = self.nodes.get_mut(path) {
            (node.id, node.is_unlisted, gone, what) = (id, false, node.gone, node.what);
        }
        if what == NodePart::DataAndChildren {
            let list = self.follow(path).after(gone);
            self.wait_for_list(path.to_owned(), id, list, true);
        }
        id
    }

    /// It is gone, and with it all that was below it.
    fn forget(&mut self, path: String) {
        let mut pending = vec![path];
        while let Some(path) = pending.pop() {
            if let Some(node) = self.nodes.remove(&path) {
                self.bytes -= room::of_path(&path) + node.bytes();
                self.denied -= u32::from(node.denied.is_some());
                if node.found.is_some() {
                    self.touched.insert(path.clone());
                }
            }
            pending.extend(self.forget_family(&path));
        }
    }

    /// What was below it.
    fn forget_family(&mut self, path: &str) -> Vec<String> {
        let family = self.families.remove(path).unwrap_or_default();
        self.bytes -= room::of_names(&family);
        self.cut.remove(path);
        self.behind.remove(path);
        family.iter().map(|name| path::join(path, name)).collect()
    }

    // ---- what is waited for

    fn wait_for_top(&mut self, mut watching: Watching<Data>, is_first: bool) {
        self.unanswered += usize::from(is_first);
        self.waits.push(Box::pin(async move {
            let seen = watching.next().await;
            TreeNews::Top { watching, seen, is_first }
        }));
    }

    fn wait_for_top_list(&mut self, mut watching: Watching<Children>, is_first: bool) {
        self.unanswered += usize::from(is_first);
        self.waits.push(Box::pin(async move {
            let seen = watching.next().await;
            TreeNews::TopList { watching, seen, is_first }
        }));
    }

    fn wait_for_data(&mut self, path: String, id: u64, mut watching: Watching<ChildData>, is_first: bool) {
        self.unanswered += usize::from(is_first);
        self.waits.push(Box::pin(async move {
            let seen = watching.next().await;
            TreeNews::Data { path, id, watching, seen, is_first }
        }));
    }

    fn wait_for_list(&mut self, path: String, id: u64, mut watching: Watching<ChildList>, is_first: bool) {
        self.unanswered += usize::from(is_first);
        self.waits.push(Box::pin(async move {
            let seen = watching.next().await;
            TreeNews::List { path, id, watching, seen, is_first }
        }));
    }
}

#[cfg(test)]
mod tests;
