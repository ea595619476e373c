//! What a session watches: once for each path and kind at the server, however many listen here.

use std::collections::BTreeMap;

use zkrecipes_protocol::{Request, Writer, XID_SET_WATCHES};

use super::Event;

/// What kind of watch.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// Of a node, or of one that is to come.
    Data,
    Children,
}

impl Kind {
    /// As it stands in a request that removes watches.
    pub(super) fn number(self) -> i32 {
        match self {
            Kind::Children => 1,
            Kind::Data => 2,
        }
    }

    pub(super) fn hears(self, event: Event) -> bool {
        match event {
            Event::Created | Event::DataChanged => self == Kind::Data,
            Event::ChildrenChanged => self == Kind::Children,
            Event::Deleted => true,
            Event::SessionEnded | Event::Unwatched => false,
        }
    }
}

/// One listener.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) struct WatchId(pub(crate) u64);

struct Watched<W> {
    /// The node was not there when it was last looked at.
    is_missing: bool,
    listeners: Vec<(WatchId, W)>,
}

pub(super) struct Watches<W>(BTreeMap<(Kind, String), Watched<W>>);

impl<W> Default for Watches<W> {
    fn default() -> Self {
        Watches(BTreeMap::new())
    }
}

impl<W> Watches<W> {
    pub(super) fn add(&mut self, kind: Kind, path: String, is_missing: bool, id: WatchId, watcher: W) {
        let watched = self.0.entry((kind, path));
        let watched = watched.or_insert_with(|| Watched { is_missing, listeners: Vec::new() });
        watched.is_missing = is_missing;
        watched.listeners.push((id, watcher));
    }

    /// Whether that was the last listener of a watch.
    pub(super) fn remove(&mut self, kind: Kind, path: &str, id: WatchId) -> bool {
        let key = (kind, path.to_owned());
        let Some(watched) = self.0.get_mut(&key) else { return false };
        watched.listeners.retain(|(listener, _)| *listener != id);
        let is_last = watched.listeners.is_empty();
        if is_last {
            self.0.remove(&key);
        }
        is_last
    }

    /// Everybody whom an event concerns; a watch tells once.
    pub(super) fn fired(&mut self, path: &str, event: Event) -> Vec<W> {
        let kinds = [Kind::Data, Kind::Children].into_iter().filter(|kind| kind.hears(event));
        let fired = kinds.filter_map(|kind| self.0.remove(&(kind, path.to_owned())));
        fired.flat_map(|watched| watched.listeners).map(|(_, watcher)| watcher).collect()
    }

    pub(super) fn all(&mut self) -> Vec<W> {
        let all = std::mem::take(&mut self.0).into_values();
        all.flat_map(|watched| watched.listeners).map(|(_, watcher)| watcher).collect()
    }

    /// The requests that set everything again on a new connection, each with about so many bytes of paths.
    pub(super) fn again(&self, seen: i64, most_bytes: usize) -> Vec<Vec<u8>> {
        let (mut frames, mut lists, mut bytes) = (Vec::new(), <[Vec<_>; 5]>::default(), 0);
        let mut finish = |lists| {
            let request = Request::SetWatches { seen, lists };
            let mut frame = Writer::request(XID_SET_WATCHES, request.op());
            request.write(&mut frame);
            frames.push(frame.finish());
        };
        for ((kind, path), watched) in &self.0 {
            let list = match kind {
                Kind::Data if watched.is_missing => 1,
                Kind::Data => 0,
                Kind::Children => 2,
            };
            lists[list].push(path.as_str().into());
            bytes += path.len() + 4;
            if bytes >= most_bytes {
                finish(std::mem::take(&mut lists));
                bytes = 0;
            }
        }
        if bytes > 0 {
            finish(lists);
        }
        frames
    }
}
