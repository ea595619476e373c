//! What a session watches, kept as zookeeper-client keeps it: by path, over all its connections, until an event comes
//! or the watcher is dropped.

use std::collections::BTreeMap;

use tokio::sync::oneshot;
use zkrecipes::session::wire::Event;

/// What is watched: a node's data, its creation while it is missing, or its children.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Child,
    Data,
    Exist,
}

impl Kind {
    /// The number that `removeWatches` has for it.
    fn mode(self) -> i32 {
        match self {
            Kind::Child => 1,
            Kind::Data | Kind::Exist => 2,
        }
    }
}

/// `removeWatches` for whatever there is on a path.
pub const ANY: i32 = 3;

/// A request for a watch: on which path, of what kind, and which task made it.
#[derive(Clone)]
pub struct Wish {
    pub path: String,
    pub kind: Kind,
    pub task: u64,
}

/// Somebody who waits for an event.
pub struct Watcher {
    id: u64,
    kind: Kind,
    pub task: u64,
    pub sender: oneshot::Sender<Event>,
}

/// Watchers, and the requests for and against them that are under way.
#[derive(Default)]
pub struct Watches {
    next: u64,
    by_path: BTreeMap<String, Vec<Watcher>>,
    paths: BTreeMap<u64, String>,
    /// How many requests that set such a watch are under way: a removal waits for their outcome.
    setting: BTreeMap<(String, i32), usize>,
    removing: BTreeMap<(String, i32), ()>,
}

/// A `removeWatches` to send.
pub type Removal = (String, i32);

impl Watches {
    /// A node that is not `there` is watched for its creation; everything else of a node that is, as its data.
    pub fn add(&mut self, wish: &Wish, is_there: bool) -> (u64, oneshot::Receiver<Event>) {
        self.next += 1;
        let (sender, receiver) = oneshot::channel();
        let kind = if wish.kind == Kind::Exist && is_there { Kind::Data } else { wish.kind };
        let watcher = Watcher { id: self.next, kind, task: wish.task, sender };
        self.by_path.entry(wish.path.clone()).or_default().push(watcher);
        self.paths.insert(self.next, wish.path.clone());
        (self.next, receiver)
    }

    /// An event has come. Nobody waits for it any more: then the server is to forget the watch.
    pub fn fire(&mut self, path: &str, event: Event) -> (Vec<Watcher>, Option<Removal>) {
        let Some(watchers) = self.by_path.remove(path) else {
            return (Vec::new(), self.remove_when_settled((path.to_owned(), ANY)));
        };
        let concerned = |watcher: &Watcher| match event {
            Event::Deleted | Event::SessionEnded => true,
            Event::Created | Event::DataChanged => watcher.kind != Kind::Child,
            Event::ChildrenChanged => watcher.kind == Kind::Child,
            // No server tells that.
            Event::Unwatched => false,
        };
        let (fired, left): (Vec<_>, Vec<_>) = watchers.into_iter().partition(concerned);
        if !left.is_empty() {
            self.by_path.insert(path.to_owned(), left);
        }
        for watcher in &fired {
            self.paths.remove(&watcher.id);
        }
        (fired, None)
    }

    /// The session has ended: everybody hears of it.
    pub fn end(&mut self) -> Vec<oneshot::Sender<Event>> {
        self.paths.clear();
        let all = std::mem::take(&mut self.by_path).into_values().flatten();
        all.map(|watcher| watcher.sender).collect()
    }

    /// A watcher was dropped.
    pub fn forget(&mut self, id: u64) -> Option<Removal> {
        let path = self.paths.remove(&id)?;
        let watchers = self.by_path.get_mut(&path)?;
        let at = watchers.iter().position(|watcher| watcher.id == id)?;
        let kind = watchers.swap_remove(at).kind;
        if !watchers.is_empty() {
            if watchers.iter().any(|watcher| watcher.kind.mode() == kind.mode()) {
                return None;
            }
            return self.remove_when_settled((path, kind.mode()));
        }
        self.by_path.remove(&path);
        let mode = if self.is_setting(&path) { kind.mode() } else { ANY };
        self.remove_when_settled((path, mode))
    }

    fn is_setting(&self, path: &str) -> bool {
        [Kind::Child, Kind::Data]
            .iter()
            .any(|kind| self.setting.contains_key(&(path.to_owned(), kind.mode())))
    }

    fn remove_when_settled(&mut self, removal: Removal) -> Option<Removal> {
        if self.setting.contains_key(&removal) || removal.1 == ANY && self.is_setting(&removal.0) {
            self.removing.insert(removal, ());
            return None;
        }
        Some(removal)
    }

    /// A request that sets a watch leaves.
    pub fn setting(&mut self, wish: &Wish) {
        *self.setting.entry((wish.path.clone(), wish.kind.mode())).or_default() += 1;
    }

    /// It was answered: with a watch, or without one, and then a removal may have waited for that.
    pub fn settled(&mut self, wish: &Wish, is_set: bool) -> Vec<Removal> {
        let key = (wish.path.clone(), wish.kind.mode());
        let is_last = match self.setting.get_mut(&key) {
            Some(count) => {
                *count -= 1;
                *count == 0
            }
            None => false,
        };
        if is_last {
            self.setting.remove(&key);
        }
        let any = (key.0.clone(), ANY);
        let mut due = Vec::new();
        if is_set {
            self.removing.remove(&key);
            self.removing.remove(&any);
        } else if is_last {
            due.extend(self.removing.remove_entry(&key).map(|(removal, ())| removal));
            if !self.is_setting(&any.0) {
                due.extend(self.removing.remove_entry(&any).map(|(removal, ())| removal));
            }
        }
        due
    }

    /// The connection is gone, and with it what was under way.
    pub fn disconnect(&mut self) {
        self.setting.clear();
        self.removing.clear();
    }

    /// Paths with data watches, with watches for a creation and with child watches, to be set again.
    pub fn to_set_again(&self) -> [Vec<String>; 3] {
        let of = |kind| {
            let all =
                self.by_path.iter().filter(move |(_, watchers)| watchers.iter().any(|w| w.kind == kind));
            all.map(|(path, _)| path.clone()).collect()
        };
        [of(Kind::Data), of(Kind::Exist), of(Kind::Child)]
    }
}
