//! Of which entries of its inbox somebody at a site was told.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

/// The entries that somebody was told of, or that are over, and how many lists had been asked for by then: one that was asked for
/// before does not know of that, and may be looked at late.
#[derive(Default)]
pub(super) struct ToldEntries {
    lists: u64,
    told: HashMap<String, u64>,
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
