//! What is known of the items of a queue, and which of them is handed out next.
//!
//! With other clients about, each begins somewhere among the first and goes on from there, until somebody was faster. Losing makes
//! the choice wider, winning narrows it slowly. After some that were lost the list is outdated, and a new one costs less than to
//! find that out name by name.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use super::layout::{ItemName, NodeLayout, Order};
use super::looks::LooksUnderWay;
use crate::session::clock::Moment;
use crate::session::server_session::ConnectionId;
use crate::session::wire::{Flight, Stat, Write};

/// How many items are read ahead beside as many as are out, in one request; and at most so many more. So a get costs about a
/// sixth of a read, and with 64 at a time a fiftieth.
const AHEAD: usize = 8;
const MOST_AHEAD: usize = 64;

// The figures of these four are of a thousand items among eight clients, as in the test `eight_that_compete_…`: 85 of the
// removals are refused, and 26 lists are made. If everybody took the first it would be 7,000 and 2,300.

/// Among how many to choose at most, as a power of two: with 8 for it 133 are refused, with 6 355.
const WIDEST: usize = 10;
/// By how many powers of two one that somebody else was faster at makes the choice wider: with 1 133 are refused.
const WIDENS: usize = 3;
/// After how many times that nobody was faster the choice is half as wide: with 8 106 are refused, and 48 instead of 22 between
/// two clients.
const LASTS: usize = 32;
/// After how many misses to list anew: with 2 there are 41 lists and 72 are refused, without a new list 340.
pub(super) const MOST_MISSES: usize = 4;

type DataAndStat = (Vec<u8>, Stat);

/// What is read ahead.
pub(super) struct ReadAhead {
    pub(super) read: Flight<DataAndStat>,
    /// Until when it counts.
    pub(super) until: Moment,
    pub(super) on: Option<ConnectionId>,
    /// See [`ReadItem`](super::listing::ReadItem).
    pub(super) same_parent: Option<Write>,
}

/// A pause that is known.
pub(super) struct KnownPause {
    pub(super) until: Moment,
    /// The node that says so; `None` where only we know.
    pub(super) node: Option<String>,
}

#[derive(Default)]
pub(super) struct KnownItems {
    pub(super) ready: BTreeMap<ItemName, Option<ReadAhead>>,
    /// Handed out: being taken, or claimed; and whether a list has shown it as free meanwhile.
    pub(super) handed_out: BTreeMap<String, bool>,
    /// Those whose data nobody understands.
    pub(super) unreadable: BTreeSet<String>,
    /// Those that are over and could not be moved to the dead letters.
    pub(super) unburied: BTreeSet<String>,
    /// The pauses that are known, by item, until the item is taken; and the items that wait for the end of theirs.
    pub(super) pauses: BTreeMap<String, KnownPause>,
    pub(super) paused: BTreeSet<(Moment, ItemName)>,
    /// How wide the choice is: `LASTS` for each power of two.
    losses: usize,
    /// When that was for the last time.
    lost: Moment,
    /// With others about: what was handed out last, and how many of those behind it come next.
    last: Option<ItemName>,
    run: usize,
    /// How many were gone, or somebody else's, since the items were listed.
    pub(super) misses: usize,
    pub(super) looks: LooksUnderWay,
}

impl KnownItems {
    /// One that could be taken now: the first; or with others about one of the next of the same rank, and then those
    /// behind it.
    pub(super) fn choose(
        &mut self,
        layout: &NodeLayout,
        now: i64,
        dice: impl FnOnce() -> usize,
    ) -> Option<ItemName> {
        let first = self.ready.keys().next().filter(|first| !layout.is_early(first, now))?;
        let is_equal = |name: &&ItemName| match layout.order {
            Order::Arrival => true,
            Order::Priority => name.key == first.key,
            Order::Due => !layout.is_early(name, now),
        };
        let width = 1usize << self.losses.div_ceil(LASTS);
        let behind = self.last.as_ref().filter(|_| width > 1 && self.run > 0).and_then(|last| {
            self.ready
                .range((Bound::Excluded(last), Bound::Unbounded))
                .map(|(name, _)| name)
                .next()
                .filter(is_equal)
        });
        let chosen = match behind.cloned() {
            Some(behind) => {
                self.run -= 1;
                behind
            }
            None => {
                let among = self.ready.keys().take(width).take_while(is_equal).count();
                let at = if among > 1 { dice() % among } else { 0 };
                self.run = width;
                self.ready.keys().nth(at).cloned()?
            }
        };
        self.last = Some(chosen.clone());
        Some(chosen)
    }

    /// Who was in our way long ago may have gone: then the first comes first again.
    pub(super) fn forget_losses_before(&mut self, then: Moment) {
        if self.lost < then {
            (self.losses, self.run) = (0, 0);
        }
    }

    /// What to read ahead now, together with the one that is handed out if that has not been read.
    pub(super) fn to_be_read(&self, one: &ItemName, is_one_unread: bool) -> Vec<ItemName> {
        let mut ahead = AHEAD + self.handed_out.len().min(MOST_AHEAD);
        let mut from = Bound::Unbounded;
        if self.losses > 0 {
            // With others about, what is taken next is behind this one.
            ahead = self.run.min(2 * AHEAD);
            from = Bound::Excluded(one);
        }
        let next = self.ready.range((from, Bound::Unbounded)).take(ahead);
        let unread = next.filter(|(_, read)| read.is_none());
        let unread: Vec<_> = unread.map(|(name, _)| name.clone()).collect();
        // One request for many.
        if is_one_unread || unread.len() >= ahead * 3 / 4 { unread } else { Vec::new() }
    }

    /// Somebody else has or had it.
    pub(super) fn count_miss(&mut self) {
        self.misses += 1;
        self.run = 0;
    }

    /// What is not paused any more is ready.
    pub(super) fn end_pauses(&mut self, now: Moment) {
        while self.paused.first().is_some_and(|(until, _)| *until <= now) {
            if let Some((_, name)) = self.paused.pop_first() {
                self.ready.entry(name).or_default();
            }
        }
    }

    /// It is not to be taken before, whatever else is known of a pause. The node of one stands until the item is taken, and each list
    /// shows it again.
    pub(super) fn set_aside(&mut self, item: &str, until: Moment) {
        let node = self.pauses.remove(item).and_then(|pause| pause.node);
        self.pauses.insert(item.to_owned(), KnownPause { until, node });
        let is_out = self.handed_out.contains_key(item);
        if !is_out && let Some(name) = self.ready.keys().find(|name| name.text == item).cloned() {
            let read = self.ready.remove(&name).flatten();
            self.add(name, read);
        }
    }

    /// It is to be taken, unless it is out.
    pub(super) fn add(&mut self, name: ItemName, read: Option<ReadAhead>) {
        match self.pauses.get(&name.text) {
            Some(pause) => drop(self.paused.insert((pause.until, name))),
            None => drop(self.ready.insert(name, read)),
        }
    }

    /// Somebody else was faster, or nobody.
    pub(super) fn count_race(&mut self, is_lost: bool, now: Moment) {
        if is_lost {
            self.lost = now;
            self.losses = self.losses.next_multiple_of(LASTS) + WIDENS * LASTS;
            self.run = 0;
        } else {
            self.losses = self.losses.saturating_sub(1);
        }
        self.losses = self.losses.min(WIDEST * LASTS);
    }

    /// Whether so many were missed that a new list is worth its cost; answered once.
    pub(super) fn is_outdated(&mut self) -> bool {
        let is_outdated = self.misses >= MOST_MISSES;
        if is_outdated {
            self.misses = 0;
        }
        is_outdated
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Naming, QueueLayout};
    use crate::path;

    #[test]
    fn losing_races_makes_the_choice_wider_but_not_among_what_is_less_urgent() {
        let cases = [
            (Order::Arrival, &[0, 0, 0, 0][..], 4),
            (Order::Priority, &[5, 5, 7, 9], 2),
            (Order::Due, &[10, 20, 30, 40], 3),
        ];
        for (order, keys, expected) in cases {
            let layout = NodeLayout::new("/q", order, Naming::Curator, QueueLayout::Simple).expect("valid");
            let name = |(number, key): (usize, &i64)| {
                path::name(&layout.fresh(*key).expect("valid")).to_owned() + &format!("{number:010}")
            };
            let names = layout.sort(&keys.iter().enumerate().map(name).collect::<Vec<_>>());
            let mut items = KnownItems::default();
            items.ready.extend(names.into_iter().map(|name| (name, None)));
            (0..6).for_each(|_| items.count_race(true, Moment(20)));
            let mut chosen = |dice| {
                items.run = 0;
                items.choose(&layout, 30, || dice).map(|name| name.text)
            };
            let all: BTreeSet<_> = (0..64).map(&mut chosen).collect();
            assert_eq!(all.len(), expected, "{order:?}: {all:?}");
            assert!(!all.contains(&None), "{order:?}");
            items.forget_losses_before(Moment(20));
            assert!(items.losses > 0, "{order:?}");
            items.forget_losses_before(Moment(21));
            let only = items.choose(&layout, 30, || 1).map(|name| name.text);
            assert_eq!(only.as_ref(), all.first().and_then(Option::as_ref), "{order:?}");
        }
    }

    #[test]
    fn what_is_set_aside_is_taken_when_its_time_is_over_and_keeps_the_node_of_its_pause() {
        let layout =
            NodeLayout::new("/q", Order::Arrival, Naming::Curator, QueueLayout::Simple).expect("valid");
        let names = layout.sort(&["qn-0000000001".to_owned(), "qn-0000000002".to_owned()]);
        let mut items = KnownItems::default();
        items.ready.extend(names.iter().map(|name| (name.clone(), None)));
        let node = Some("qn-0000000001~7".to_owned());
        items.pauses.insert(names[0].text.clone(), KnownPause { until: Moment(7), node: node.clone() });
        items.set_aside(&names[0].text, Moment(30));
        let mut first = |now| {
            items.end_pauses(Moment(now));
            items.choose(&layout, 0, || 0).map(|name| name.text)
        };
        assert_eq!((first(29), first(30)), (Some(names[1].text.clone()), Some(names[0].text.clone())));
        assert_eq!(items.pauses[&names[0].text].node, node);
    }
}
