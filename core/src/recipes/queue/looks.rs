//! Which of the lists that come is older than what this client knows: one that left before an item was removed shows it once more,
//! and one that left before an item was given back does not show it.
//!
//! 1. A look begins before its lists leave: what they show is no older than that.
//! 2. What the client has removed or given back while looks are under way is noted until those are over. Of such an item the look
//!    tells nothing new.
//! 3. Where what another look has found was taken over since a look began, nothing tells which of them is newer. So for its
//!    sake nothing is forgotten.

use std::collections::{BTreeMap, BTreeSet};

/// How many looks had begun.
pub(super) type LookNumber = u64;

/// What became of an item that was out.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(super) enum Since {
    Removed,
    GivenBack,
}

#[derive(Default)]
pub(super) struct LooksUnderWay {
    begun: LookNumber,
    under_way: BTreeSet<LookNumber>,
    /// When what one has found was last taken over.
    taken_over: LookNumber,
    /// What is noted, by item, and when.
    noted: BTreeMap<String, (LookNumber, Since)>,
}

impl LooksUnderWay {
    pub(super) fn begin(&mut self) -> LookNumber {
        self.begun += 1;
        self.under_way.insert(self.begun);
        self.begun
    }

    pub(super) fn end(&mut self, look: LookNumber) {
        self.under_way.remove(&look);
        match self.under_way.first() {
            Some(first) => self.noted.retain(|_, (then, _)| *then >= *first),
            None => self.noted.clear(),
        }
    }

    pub(super) fn note(&mut self, item: &str, since: Since) {
        if !self.under_way.is_empty() {
            self.noted.insert(item.to_owned(), (self.begun, since));
        }
    }

    /// What has become of the item since that look began.
    pub(super) fn since(&self, look: LookNumber, item: &str) -> Option<Since> {
        self.noted.get(item).filter(|(then, _)| *then >= look).map(|(_, since)| *since)
    }

    /// What the look has found is taken over; answers whether it is newer than all that was.
    pub(super) fn take_over(&mut self, look: LookNumber) -> bool {
        let is_newest = look > self.taken_over;
        self.taken_over = self.begun;
        is_newest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_happened_is_noted_until_no_look_is_older() {
        let mut looks = LooksUnderWay::default();
        looks.note("a", Since::Removed);
        let first = looks.begin();
        assert_eq!(looks.since(first, "a"), None, "before it began");
        looks.note("b", Since::Removed);
        let second = looks.begin();
        looks.note("c", Since::GivenBack);
        assert_eq!((looks.since(first, "b"), looks.since(second, "b")), (Some(Since::Removed), None));
        assert_eq!(looks.since(second, "c"), Some(Since::GivenBack));
        looks.end(first);
        assert_eq!(looks.noted.keys().collect::<Vec<_>>(), ["c"]);
        looks.end(second);
        assert!(looks.noted.is_empty());
    }

    #[test]
    fn a_look_during_which_another_one_ended_need_not_be_newer() {
        let mut looks = LooksUnderWay::default();
        let (first, second) = (looks.begin(), looks.begin());
        assert!(looks.take_over(first));
        assert!(!looks.take_over(second));
        let third = looks.begin();
        assert!(looks.take_over(third));
    }
}
