//! What a session watches: once for each path and kind at the server, however many listen here.
//!
//! A node may be followed as well: one watch that stays tells whenever its children come or go. Servers before 3.9 keep one
//! watch of a session on a path, the one that was set last (ZOOKEEPER-4466). A watch that stays tells all that the others
//! would, so while there is one, no other is set on its path at the server; and it goes with the last of them all.

use std::collections::BTreeMap;

use zkrecipes_protocol::Request;

use super::{Event, Letter};

/// So many bytes of paths go into one request that sets watches again: a server takes a megabyte.
const AT_ONCE: usize = 512 << 10;

/// What kind of watch.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum WatchSubject {
    /// Of a node, or of one that is to come.
    Data,
    Children,
}

impl WatchSubject {
    pub(super) const BOTH: [WatchSubject; 2] = [WatchSubject::Data, WatchSubject::Children];

    /// As it stands in a request that removes watches.
    pub(super) fn number(self) -> i32 {
        match self {
            WatchSubject::Children => 1,
            WatchSubject::Data => 2,
        }
    }

    pub(super) fn hears(self, event: Event) -> bool {
        match event {
            Event::Created | Event::DataChanged => self == WatchSubject::Data,
            Event::ChildrenChanged => self == WatchSubject::Children,
            Event::Deleted => true,
            Event::SessionEnded | Event::Unwatched => false,
        }
    }
}

impl Event {
    /// What has happened to a node that may be there again: enough for somebody to look, and not to go by.
    pub(super) fn without_certainty(self, kind: WatchSubject) -> Event {
        match (self, kind) {
            (Event::Deleted, WatchSubject::Data) => Event::DataChanged,
            (Event::Deleted, WatchSubject::Children) => Event::ChildrenChanged,
            (event, _) => event,
        }
    }
}

/// One listener.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct WatchId(pub(crate) u64);

struct Watched<W> {
    /// The node was not there when it was last looked at.
    is_missing: bool,
    listeners: Vec<(WatchId, W)>,
}

/// The watch on a node that stays.
struct Followed<W> {
    followers: usize,
    /// Who waits for the next change.
    listeners: Vec<W>,
}

pub(super) struct Watches<W> {
    once: BTreeMap<(WatchSubject, String), Watched<W>>,
    followed: BTreeMap<String, Followed<W>>,
}

impl<W> Default for Watches<W> {
    fn default() -> Self {
        Watches { once: BTreeMap::new(), followed: BTreeMap::new() }
    }
}

impl<W> Watches<W> {
    pub(super) fn add(
        &mut self,
        kind: WatchSubject,
        path: String,
        is_missing: bool,
        id: WatchId,
        watcher: W,
    ) {
        let watched = self.once.entry((kind, path));
        let watched = watched.or_insert_with(|| Watched { is_missing, listeners: Vec::new() });
        watched.is_missing = is_missing;
        watched.listeners.push((id, watcher));
    }

    pub(super) fn has(&self, kind: WatchSubject, path: &str) -> bool {
        self.once.contains_key(&(kind, path.to_owned()))
    }

    /// Whether that was the last listener of a watch.
    pub(super) fn remove(&mut self, kind: WatchSubject, path: &str, id: WatchId) -> bool {
        let key = (kind, path.to_owned());
        let Some(watched) = self.once.get_mut(&key) else { return false };
        watched.listeners.retain(|(listener, _)| *listener != id);
        let is_last = watched.listeners.is_empty();
        if is_last {
            self.once.remove(&key);
        }
        is_last
    }

    /// Everybody whom an event concerns. What was watched once is not watched any more.
    pub(super) fn fired(&mut self, path: &str, event: Event) -> Vec<W> {
        let kinds = WatchSubject::BOTH.into_iter().filter(|kind| kind.hears(event));
        let fired = kinds.filter_map(|kind| self.once.remove(&(kind, path.to_owned())));
        let mut concerned: Vec<_> =
            fired.flat_map(|watched| watched.listeners).map(|(_, watcher)| watcher).collect();
        if event != Event::DataChanged
            && let Some(followed) = self.followed.get_mut(path)
        {
            concerned.append(&mut followed.listeners);
        }
        concerned
    }

    /// One more follows. Whether it is the first, so that the watch is to be set.
    pub(super) fn follow(&mut self, path: &str) -> bool {
        if let Some(followed) = self.followed.get_mut(path) {
            followed.followers += 1;
            return false;
        }
        self.followed.insert(path.to_owned(), Followed { followers: 1, listeners: Vec::new() });
        true
    }

    /// Waits for the next change of what is followed; it gives the watcher back if that is not.
    pub(super) fn hear(&mut self, path: &str, watcher: W) -> Option<W> {
        match self.followed.get_mut(path) {
            Some(followed) => followed.listeners.push(watcher),
            None => return Some(watcher),
        }
        None
    }

    pub(super) fn unfollow(&mut self, path: &str) {
        if let Some(followed) = self.followed.get_mut(path) {
            followed.followers = followed.followers.saturating_sub(1);
        }
    }

    pub(super) fn is_followed(&self, path: &str) -> bool {
        self.followed.contains_key(path)
    }

    /// Forgets the watch that stays if it is of no use to anybody; whether that is so.
    pub(super) fn forget_unused(&mut self, path: &str) -> bool {
        let is_watched =
            WatchSubject::BOTH.into_iter().any(|kind| self.once.contains_key(&(kind, path.to_owned())));
        let is_unused =
            !is_watched && self.followed.get(path).is_some_and(|followed| followed.followers == 0);
        if is_unused {
            self.followed.remove(path);
        }
        is_unused
    }

    /// Everybody who waits for a change of what is followed: something may have been missed.
    pub(super) fn followers(&mut self) -> Vec<W> {
        self.followed.values_mut().flat_map(|followed| std::mem::take(&mut followed.listeners)).collect()
    }

    /// What is followed is not, because no server knows of it.
    pub(super) fn unfollow_all(&mut self) -> Vec<W> {
        let all = self.followers();
        self.followed.clear();
        all
    }

    pub(super) fn all(&mut self) -> Vec<W> {
        let once = std::mem::take(&mut self.once).into_values();
        let mut all: Vec<_> =
            once.flat_map(|watched| watched.listeners).map(|(_, watcher)| watcher).collect();
        all.append(&mut self.unfollow_all());
        all
    }

    /// Everybody who watches once, with what has them look again.
    pub(super) fn shaken(&mut self) -> Vec<(W, Event)> {
        let all = std::mem::take(&mut self.once).into_iter().flat_map(|((kind, _), watched)| {
            watched
                .listeners
                .into_iter()
                .map(move |(_, watcher)| (watcher, Event::Deleted.without_certainty(kind)))
        });
        all.collect()
    }

    /// The requests that set everything again on a new connection, each with about [`AT_ONCE`] bytes of paths. Watches that stay
    /// come last: of several on a path they have to be the last that is set.
    pub(super) fn again(&self, seen: i64) -> Vec<Letter> {
        let (mut letters, mut lists, mut bytes) = (Vec::new(), <[Vec<_>; 5]>::default(), 0);
        let mut finish = |lists| letters.push(Letter::of(&Request::SetWatches { seen, lists }));
        let once = self.once.iter().map(|((kind, path), watched)| match kind {
            WatchSubject::Data if watched.is_missing => (1, path),
            WatchSubject::Data => (0, path),
            WatchSubject::Children => (2, path),
        });
        let followed = self.followed.keys().map(|path| (3, path));
        for (list, path) in once.chain(followed) {
            lists[list].push(path.as_str().into());
            bytes += path.len() + 4;
            if bytes >= AT_ONCE {
                finish(std::mem::take(&mut lists));
                bytes = 0;
            }
        }
        if bytes > 0 {
            finish(lists);
        }
        letters
    }
}
