//! What the waiters of one session know of one line together: the list that one of them saw last, without those of whom any of
//! them has heard that they are gone.
//!
//! Numbers only rise. So of those who were ahead of a node when it was listed none can be added later: who is ahead of it now is
//! among what is left of that list. If that is one, there is one at most, and no list need be asked for. That does not hold with
//! read/write locks, where a writer may leave a reader behind in its place; then nothing is known.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use super::name::{Entry, Kind};
use super::place::Place;
use crate::session::Session;
use crate::session::epoch::looks::Names;

/// Who is ahead of a waiter.
pub(super) struct Ahead {
    pub(super) count: usize,
    /// The name of the first of them.
    pub(super) first: Option<String>,
    /// The two who are closest. All of them past the end of the range of numbers.
    pub(super) closest: Vec<Entry>,
}

impl Ahead {
    pub(super) fn of(mut all: Vec<Entry>, keeps_all: bool) -> Ahead {
        let (count, first) = (all.len(), all.first().map(|entry| entry.name.clone()));
        if !keeps_all {
            // Each of a thousand waiters would else keep a thousand names.
            all = all.split_off(count.saturating_sub(2));
        }
        Ahead { count, first, closest: all }
    }
}

/// The lines of a client in which anybody waits.
#[derive(Default)]
struct Lines(Mutex<BTreeMap<Which, Weak<Known>>>);

/// A path, a kind, and the session that it waits in.
type Which = (String, &'static str, u64);

#[derive(Default)]
pub(super) struct Known(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    /// The list that was seen last.
    names: Names,
    /// Those of it who count, in order.
    entries: Vec<Entry>,
    /// Of them, the first who is not known to be gone.
    start: usize,
    /// Who is known to be gone, of those behind that.
    gone: BTreeSet<(i32, String)>,
}

impl Known {
    /// What the session of `place` knows of its line.
    pub(super) fn of(session: &Session, place: &Place, kind: Kind) -> Arc<Known> {
        let lines = session.shelf.of::<Lines>();
        let mut lines = lines.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        let key = (place.parent.clone(), kind.name(), place.epoch.session_id());
        if let Some(known) = lines.get(&key).and_then(Weak::upgrade) {
            return known;
        }
        lines.retain(|_, known| known.strong_count() > 0);
        let known = Arc::<Known>::default();
        lines.insert(key, Arc::downgrade(&known));
        known
    }

    /// These names were listed.
    pub(super) fn listed(&self, names: &Names, kind: Kind) {
        let mut inner = self.lock();
        if Arc::ptr_eq(&inner.names, names) {
            return;
        }
        let mut entries: Vec<_> = names
            .iter()
            .filter_map(|name| Entry::recognise(name))
            .filter(|entry| entry.kind.excludes(kind))
            .collect();
        if entries.iter().any(|entry| entry.is_late() || entry.name.contains("__")) {
            entries.clear();
        }
        entries.sort_by(|a, b| (a.sequence, &a.name).cmp(&(b.sequence, &b.name)));
        // One of whom it was heard before the list came is gone, though the list may have been made before. Where a name is like
        // no other: else it may be there again, under a parent that was made again.
        let (mut gone, start) = (std::mem::take(&mut inner.gone), inner.start);
        gone.extend(inner.entries.drain(..start).map(|entry| (entry.sequence, entry.name)));
        gone.retain(|(sequence, name)| is_unique(name) && position(&entries, *sequence, name).is_some());
        *inner = Inner { names: names.clone(), entries, start: 0, gone };
        inner.advance();
    }

    /// It was heard that this one is gone.
    pub(super) fn is_gone(&self, name: &str) {
        let Some(entry) = Entry::recognise(name) else { return };
        let mut inner = self.lock();
        if position(&inner.entries, entry.sequence, name).is_some_and(|at| at >= inner.start) {
            inner.gone.insert((entry.sequence, entry.name));
            inner.advance();
        }
    }

    /// Who may still be ahead of `own`. `None` if that is not known, or nobody is: then the server is to say so.
    pub(super) fn ahead_of(&self, own: &Entry) -> Option<Ahead> {
        let inner = self.lock();
        let at = position(&inner.entries, own.sequence, &own.name)?;
        let ahead = inner.entries.get(inner.start..at)?;
        let is_gone = |entry: &&Entry| inner.gone.contains(&(entry.sequence, entry.name.clone()));
        let mut closest: Vec<_> =
            ahead.iter().rev().filter(|entry| !is_gone(entry)).take(2).cloned().collect();
        closest.reverse();
        let first = closest.first().and(ahead.first())?;
        let gone = inner.gone.range(..(own.sequence, own.name.clone())).count();
        Some(Ahead { count: ahead.len().saturating_sub(gone), first: Some(first.name.clone()), closest })
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

impl Inner {
    /// Leaves those at the front behind who are gone.
    fn advance(&mut self) {
        while let Some(entry) = self.entries.get(self.start)
            && self.gone.remove(&(entry.sequence, entry.name.clone()))
        {
            self.start += 1;
        }
    }
}

/// By a GUID, which Curator's recipes and ours put in front.
fn is_unique(name: &str) -> bool {
    name.starts_with("_c_")
}

fn position(entries: &[Entry], sequence: i32, name: &str) -> Option<usize> {
    entries.binary_search_by(|entry| (entry.sequence, &*entry.name).cmp(&(sequence, name))).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(numbers: &[i32]) -> (Known, Names) {
        let names = Names::new(numbers.iter().map(|number| name(*number)).collect());
        let known = Known::default();
        known.listed(&names, Kind::Lock);
        (known, names)
    }

    fn name(number: i32) -> String {
        format!("_c_{number}-lock-{number:010}")
    }

    fn ahead(known: &Known, number: i32) -> Option<(usize, Vec<i32>)> {
        let own = Entry::recognise(&name(number)).expect("a contender");
        let ahead = known.ahead_of(&own)?;
        Some((ahead.count, ahead.closest.iter().map(|entry| entry.sequence).collect()))
    }

    #[test]
    fn who_is_ahead_is_what_is_left_of_the_list() {
        let (known, _) = listed(&[3, 1, 7, 4, 5]);
        assert_eq!(ahead(&known, 7), Some((4, vec![4, 5])));
        known.is_gone(&name(4));
        assert_eq!(ahead(&known, 7), Some((3, vec![3, 5])));
        assert_eq!(ahead(&known, 4), Some((2, vec![1, 3])));
        known.is_gone(&name(1));
        known.is_gone(&name(3));
        assert_eq!(ahead(&known, 7), Some((1, vec![5])));
        assert_eq!(ahead(&known, 5), None, "that nobody is ahead only the server says");
    }

    #[test]
    fn of_who_was_not_listed_nothing_is_known() {
        let (known, _) = listed(&[1, 2]);
        assert_eq!(ahead(&known, 3), None);
    }

    #[test]
    fn who_is_gone_is_so_in_a_list_that_was_made_before() {
        let (known, _) = listed(&[1, 2, 3]);
        known.is_gone(&name(2));
        known.listed(&Names::new([1, 2, 3, 4].map(name).to_vec()), Kind::Lock);
        assert_eq!(ahead(&known, 4), Some((2, vec![1, 3])));
        known.is_gone(&name(1));
        known.listed(&Names::new([2, 3, 4].map(name).to_vec()), Kind::Lock);
        assert_eq!(ahead(&known, 4), Some((1, vec![3])));
    }

    #[test]
    fn a_name_that_may_come_again_is_not_taken_for_gone() {
        let known = Known::default();
        let again = "x-12345-0000000001".to_owned();
        let list = || Names::new(vec![again.clone(), name(2), name(3)]);
        known.listed(&list(), Kind::Lock);
        known.is_gone(&again);
        assert_eq!(ahead(&known, 3), Some((1, vec![2])));
        known.listed(&list(), Kind::Lock);
        assert_eq!(ahead(&known, 3), Some((2, vec![1, 2])));
    }

    #[test]
    fn where_a_reader_may_take_a_writers_place_or_numbers_tell_no_order_nothing_is_known() {
        for other in ["_c_x-__WRIT__0000000001", "x__lock__0000000001", "_c_x-lock-2147483647"] {
            let known = Known::default();
            let names = [name(2), other.to_owned(), name(3), name(4)];
            known.listed(&Names::new(names.to_vec()), Kind::Lock);
            assert_eq!(ahead(&known, 4), None, "{other}");
        }
    }

    #[test]
    fn candidates_and_locks_have_a_line_each() {
        let known = Known::default();
        let names = [name(1), "_c_x-latch-0000000002".to_owned(), name(3), name(4)];
        known.listed(&Names::new(names.to_vec()), Kind::Lock);
        assert_eq!(ahead(&known, 4), Some((2, vec![1, 3])));
    }
}
