//! How much one session may watch.
//!
//! After a reconnection `zookeeper-client` sets all watches again, in requests of some 128 KiB that all carry the same
//! number; it does not expect a second answer to that number and breaks the connection, again and again. So the paths that
//! are watched must fit into one such request. What comes on top gets a [`Watch`] that says that it is time to look again: see
//! `zookeeper::bell`. **Remove both files when the crate numbers these requests.**

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use crate::process::Process;

/// What fits into one request, with room for what the crate counts differently.
const MOST_BYTES: usize = 120 * 1024;

/// What kind of watch: the crate names the path once for each.
#[derive(Copy, Clone, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Data,
    /// Of a node that may be missing. The crate names one that is there with the data watches: counted twice at most.
    Exists,
    Children,
}

/// The paths that one session watches.
pub(super) struct Watched {
    /// What stands before every path on the wire.
    root: usize,
    all: Mutex<All>,
    given_up: OnceLock<GivenUp>,
    process: Process,
}

/// What hears of a path whose data is watched no more, although nothing has happened to it.
type GivenUp = Box<dyn Fn(&str) + Send + Sync>;

#[derive(Default)]
struct All {
    counts: HashMap<(Kind, String), usize>,
    bytes: usize,
}

impl Watched {
    pub(super) fn below(chroot: &str) -> Arc<Watched> {
        Arc::new(Watched {
            root: chroot.len(),
            all: Mutex::default(),
            given_up: OnceLock::new(),
            process: Process::present(),
        })
    }

    /// Room for one more watch, or `None`: then it must not be set.
    pub(super) fn admit(self: &Arc<Self>, kind: Kind, path: &str) -> Option<Room> {
        let mut all = self.all();
        let key = (kind, path.to_owned());
        if let Some(count) = all.counts.get_mut(&key) {
            *count += 1;
        } else {
            let bytes = all.bytes + self.on_the_wire(path);
            if bytes > MOST_BYTES {
                return None;
            }
            all.bytes = bytes;
            all.counts.insert(key.clone(), 1);
        }
        drop(all);
        Some(Room { watched: self.clone(), key, is_set: false })
    }

    /// Tells of every path of which a watch on its data is taken back.
    pub(super) fn when_given_up(&self, tell: impl Fn(&str) + Send + Sync + 'static) {
        // There is one who wants to know.
        let _ = self.given_up.set(Box::new(tell));
    }

    /// Whether the path is watched in any way.
    pub(super) fn has(&self, path: &str) -> bool {
        let counts = &self.all().counts;
        [Kind::Data, Kind::Exists, Kind::Children]
            .iter()
            .any(|kind| counts.contains_key(&(*kind, path.to_owned())))
    }

    /// Whether its children are watched.
    pub(super) fn has_children(&self, path: &str) -> bool {
        self.all().counts.contains_key(&(Kind::Children, path.to_owned()))
    }

    /// How long a path is in a request.
    pub(super) fn on_the_wire(&self, path: &str) -> usize {
        self.root + path.len()
    }

    fn all(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// The room that one watch takes, until it is dropped.
pub(super) struct Room {
    watched: Arc<Watched>,
    key: (Kind, String),
    /// The server has the watch, and has told nothing.
    is_set: bool,
}

impl Room {
    pub(super) fn set(mut self) -> Room {
        self.is_set = true;
        self
    }

    /// The watch has told, and is there no more.
    pub(super) fn fired(mut self) {
        self.is_set = false;
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        if !self.watched.process.is_present() {
            // A forked child: the lock may be held by a thread that stayed with the parent.
            return;
        }
        let mut all = self.watched.all();
        let Some(count) = all.counts.get_mut(&self.key) else { return };
        *count -= 1;
        if *count == 0 {
            all.counts.remove(&self.key);
            all.bytes -= self.watched.on_the_wire(&self.key.1);
        }
        drop(all);
        if self.is_set
            && self.key.0 != Kind::Children
            && let Some(tell) = self.watched.given_up.get()
        {
            tell(&self.key.1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_counts_once_however_often_it_is_watched_and_not_any_more_when_nobody_watches_it() {
        let watched = Watched::below("/app");
        let path = format!("/{}", "x".repeat(50 * 1024));
        let twice = [watched.admit(Kind::Data, &path), watched.admit(Kind::Data, &path)];
        assert!(twice.iter().all(Option::is_some));
        let other = watched.admit(Kind::Children, &path).expect("another kind, another entry");
        let third = format!("{path}y");
        assert!(watched.admit(Kind::Data, &third).is_none());
        drop(twice);
        let third = watched.admit(Kind::Data, &third).expect("there is room again");
        drop((third, other));
        assert_eq!(watched.all().bytes, 0);
        assert!(watched.all().counts.is_empty());
    }
}
