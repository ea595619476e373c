//! Of which entries of its inbox somebody at a site was told, and which are over without its vote.
//!
//! The latter stay until the transaction is collected, which may be never, if another site is gone. They may be thousands, and are
//! read again a few at a time: when the transaction of the one that is watched goes, or after so long.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};

use super::nodes::AT_ONCE;
use crate::session::call::LOOK_AFTER;
use crate::session::clock::Moment;

/// The entries that somebody was told of, or that are over, and how many lists had been asked for by then: one that was asked for
/// before does not know of that, and may be looked at late.
#[derive(Default)]
pub(super) struct ToldEntries {
    lists: u64,
    told: HashMap<String, u64>,
    /// Those of them that were over when they were read, in the order in which they are read again.
    over: VecDeque<String>,
    /// When it last was the turn of some of those.
    looked: Option<Moment>,
}

impl ToldEntries {
    /// The number of a list that is asked for now.
    pub(super) fn begin_list(&mut self) -> u64 {
        self.lists += 1;
        self.lists
    }

    /// Those on that list of which nobody was told; forgets what is not on it any more.
    pub(super) fn take_new(&mut self, list: u64, entries: Vec<String>) -> Vec<String> {
        let there: HashSet<_> = entries.iter().collect();
        self.told.retain(|entry, lists| there.contains(entry) || *lists >= list);
        self.over.retain(|entry| self.told.contains_key(entry));
        entries.into_iter().filter(|entry| !self.told.contains_key(entry)).collect()
    }

    /// Whether somebody is to be told of it now.
    pub(super) fn tell(&mut self, entry: String) -> bool {
        match self.told.entry(entry) {
            Entry::Occupied(_) => false,
            Entry::Vacant(vacant) => {
                vacant.insert(self.lists);
                true
            }
        }
    }

    pub(super) fn tell_again(&mut self, entry: &str) {
        self.told.remove(entry);
    }

    /// Nobody is to be told of it any more.
    pub(super) fn is_over(&mut self, entry: String) {
        self.told.insert(entry, self.lists);
    }

    /// It was over when it was read, and stays until it is collected.
    pub(super) fn is_left(&mut self, entry: String) {
        if self.tell(entry.clone()) {
            self.over.push_back(entry);
        }
    }

    /// That of those that are over whose transaction is to be watched.
    pub(super) fn watched(&self) -> Option<&str> {
        self.over.front().map(String::as_str)
    }

    /// The one that is watched is read again now, or with the next list, and some of the others: mostly they go together. Answers
    /// which.
    pub(super) fn look_again(&mut self, now: Moment) -> Vec<String> {
        self.looked = Some(now);
        let some: Vec<_> = self.over.drain(..self.over.len().min(AT_ONCE)).collect();
        for entry in &some {
            self.told.remove(entry);
        }
        some
    }

    /// The same where it is time to: no event tells of all of them.
    pub(super) fn look_again_in_time(&mut self, now: Moment) {
        if now >= *self.looked.get_or_insert(now) + LOOK_AFTER {
            self.look_again(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_full_inbox_is_looked_through_in_no_time() {
        let entries: Vec<_> =
            (0..50_000).map(|n| format!("an-entry-that-nobody-has-acknowledged-{n}")).collect();
        let mut told = ToldEntries::default();
        let first = told.begin_list();
        assert_eq!(told.take_new(first, entries.clone()).len(), entries.len());
        let began = Instant::now();
        assert!(entries.iter().all(|entry| told.tell(entry.clone())) && told.tell("collected".to_owned()));
        let second = told.begin_list();
        assert_eq!(told.take_new(second, entries.clone()), [""; 0]);
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
        assert_eq!(told.told.len(), entries.len());
        told.tell_again(&entries[7]);
        let third = told.begin_list();
        assert_eq!(told.take_new(third, entries.clone()), [&*entries[7]]);
    }

    #[test]
    fn what_is_over_is_read_again_in_turn_a_few_at_a_time() {
        let entries: Vec<_> = (0..2 * AT_ONCE + 1).map(|n| format!("entry-{n}")).collect();
        let (mut told, now) = (ToldEntries::default(), Moment::START);
        let list = told.begin_list();
        assert_eq!(told.take_new(list, entries.clone()), entries);
        for entry in entries.iter().chain(&entries[..3]) {
            told.is_left(entry.clone());
        }
        let mut reads = |now: Moment| {
            told.look_again_in_time(now);
            let list = told.begin_list();
            let new = told.take_new(list, entries.clone());
            // The first one is collected then.
            new.iter().skip(1).for_each(|entry| told.is_left(entry.clone()));
            (new, told.watched().map(str::to_owned))
        };
        assert_eq!(reads(now), (Vec::new(), Some(entries[0].clone())));
        assert_eq!(reads(now + LOOK_AFTER / 2).0, [""; 0]);
        assert_eq!(reads(now + LOOK_AFTER), (entries[..AT_ONCE].to_vec(), Some(entries[AT_ONCE].clone())));
        assert_eq!(reads(now + LOOK_AFTER + LOOK_AFTER / 2).0, entries[..1], "it is listed still");
        assert_eq!(reads(now + 2 * LOOK_AFTER).0[1..], entries[AT_ONCE..2 * AT_ONCE]);
    }

    #[test]
    fn a_list_that_is_looked_at_late_tells_nothing_once_more() {
        let mut told = ToldEntries::default();
        let late = told.begin_list();
        let later = told.begin_list();
        let both = ["told".to_owned(), "over".to_owned()];
        assert_eq!(told.take_new(later, both.to_vec()), both);
        assert!(told.tell("told".to_owned()) && told.tell("over".to_owned()));
        told.is_over("over".to_owned());
        assert_eq!(told.take_new(late, Vec::new()), [""; 0]);
        assert!(!told.tell("told".to_owned()) && !told.tell("over".to_owned()));
        let last = told.begin_list();
        assert_eq!(told.take_new(last, vec!["told".to_owned()]), [""; 0]);
        assert!(told.tell("over".to_owned()), "what is not there any more is forgotten");
    }
}
