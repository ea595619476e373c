//! Requests that set a watch and have no answer yet, by what they watch. Whoever drops 10,000 watches at once, or hears of as many
//! changes, finds those that it concerns without a look at every request: that took 2 s, and the process's other clients waited.

use std::collections::BTreeMap;

use super::{Event, WatchId, WatchSubject};

#[derive(Default)]
pub(super) struct AskedWatches(BTreeMap<AskedKey, AskedWatch>);

type AskedKey = (WatchSubject, String, WatchId);

/// What has happened since it was asked for.
#[derive(Default)]
pub(super) struct AskedWatch {
    is_in_flight: bool,
    /// Servers may tell what happens before they answer the request.
    pub(super) early: Option<Event>,
    /// Nobody listens any more.
    pub(super) is_given_up: bool,
}

impl AskedWatches {
    pub(super) fn add(&mut self, kind: WatchSubject, path: &str, id: WatchId) {
        self.0.insert((kind, path.to_owned(), id), AskedWatch::default());
    }

    pub(super) fn has_left(&mut self, kind: WatchSubject, path: &str, id: WatchId) {
        if let Some(asked) = self.0.get_mut(&(kind, path.to_owned(), id)) {
            asked.is_in_flight = true;
        }
    }

    pub(super) fn give_up(&mut self, kind: WatchSubject, path: &str, id: WatchId) {
        if let Some(asked) = self.0.get_mut(&(kind, path.to_owned(), id)) {
            asked.is_given_up = true;
        }
    }

    /// The server has told of an event, which may answer those that are in flight.
    pub(super) fn happened(&mut self, kind: WatchSubject, path: &str, event: Event) {
        for (_, asked) in self.0.range_mut(all_of(kind, path)).filter(|(_, asked)| asked.is_in_flight) {
            asked.early = Some(event);
        }
    }

    pub(super) fn has(&self, kind: WatchSubject, path: &str) -> bool {
        self.0.range(all_of(kind, path)).next().is_some()
    }

    /// To be called for each, whatever became of the request.
    pub(super) fn remove(&mut self, kind: WatchSubject, path: &str, id: WatchId) -> AskedWatch {
        self.0.remove(&(kind, path.to_owned(), id)).unwrap_or_default()
    }

    #[cfg(any(test, fuzzing))]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

fn all_of(kind: WatchSubject, path: &str) -> std::ops::RangeInclusive<AskedKey> {
    (kind, path.to_owned(), WatchId(0))..=(kind, path.to_owned(), WatchId(u64::MAX))
}
