//! Pauses: an item on which the work has failed steps aside, longer with each attempt, and the others go on.
//!
//! Two persistent nodes beside the claims say so. They are made by the transaction that gives the item back, and deleted by
//! that of the next claim:
//!
//! 1. `ITEM~DUE-LENGTHms`: until when, in milliseconds since 1970, and for how long. Whoever lists the claims learns it by the
//!    name, and reads nothing.
//! 2. `ITEM~`: that there is a pause. Whoever knows of none and takes an item that was claimed before makes this node and
//!    deletes it in the same transaction, which is refused if there is one: so an old list leads nobody past a pause.
//!
//! The clock of who gave it back may differ from ours. So a pause lasts no longer than its length after we first saw it.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::Arc;
use std::time::Duration;

use super::layout::{Layout, Name};
use crate::path;
use crate::session::Session;
use crate::session::clock::Moment;
use crate::session::wire::{CreateMode, Write};

/// How an item is given back whose work has failed: [`Item::nack_with`](crate::Item::nack_with).
///
/// ```
/// # use std::time::Duration;
/// use zkrecipes::Nack;
///
/// let nack = Nack::default().delay(Duration::from_secs(30)).reason("the mail server is down");
/// assert_eq!(nack.reason.as_deref(), Some("the mail server is down"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Nack {
    /// How long it steps aside; zero gives it back to its old place, for the next one. `None`: a second after the first
    /// attempt and twice as long after each further one, up to five minutes.
    pub delay: Option<Duration>,
    /// Why, for people: it is kept with the dead letter if this was the last attempt. Of a long one the beginning.
    pub reason: Option<String>,
}

impl Nack {
    /// How long it steps aside.
    pub fn delay(mut self, delay: Duration) -> Nack {
        self.delay = Some(delay);
        self
    }

    /// Why the work has failed.
    pub fn reason(mut self, reason: impl Into<String>) -> Nack {
        self.reason = Some(reason.into());
        self
    }
}

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(5 * 60);
/// With more of them the claims would be too long to list for everybody: then only who gives an item back knows of its pause.
const MOST: usize = 2_000;

/// How long to step aside after so many attempts.
pub(super) fn after(attempts: u32) -> Duration {
    let times = 1u32.checked_shl(attempts.saturating_sub(1)).unwrap_or(u32::MAX);
    FIRST.saturating_mul(times).min(LONGEST)
}

/// Between an item's name and what is said of its pause.
const SIGN: char = '~';

/// Whether a node among the claims is about a pause.
pub(crate) fn is_pause(name: &str) -> bool {
    name.contains(SIGN)
}

/// A pause as the name of its node tells it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pause {
    pub(super) node: String,
    due: i64,
    length: Duration,
}

impl Pause {
    /// One that begins `now`, in milliseconds since 1970.
    pub(super) fn new(item: &str, now: i64, length: Duration) -> Pause {
        // Rounded up, and less than any clock will see.
        let millis =
            i64::try_from(length.as_micros().div_ceil(1000)).unwrap_or(i64::MAX).min(super::LONGEST_DELAY);
        let due = now.saturating_add(millis);
        let length = Duration::from_millis(millis as u64);
        Pause { node: format!("{item}{SIGN}{due}-{millis}ms"), due, length }
    }

    fn parse(node: &str, said: &str) -> Option<Pause> {
        let (due, millis) = said.strip_suffix("ms")?.split_once('-')?;
        let length = Duration::from_millis(millis.parse().ok()?);
        Some(Pause { node: node.to_owned(), due: due.parse().ok()?, length })
    }

    /// When it is over, for who sees it for the first time.
    pub(super) fn until(&self, now: Moment, wall: i64) -> Moment {
        let left = u64::try_from(self.due.saturating_sub(wall)).unwrap_or(0);
        now + Duration::from_millis(left).min(self.length)
    }
}

/// An item that nobody has claimed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Free {
    pub(super) name: Name,
    pub(super) pause: Option<Pause>,
}

/// The items that nobody has claimed, in order; and the nodes of pauses that pause nothing any more.
pub(super) fn free(
    layout: &Layout,
    names: &[String],
    beside: &[String],
    now: i64,
) -> (Vec<Free>, Vec<String>) {
    let mut claimed = HashSet::new();
    let (mut pauses, mut marked) = (BTreeMap::new(), BTreeSet::new());
    let mut strays = Vec::new();
    for node in beside {
        match node.split_once(SIGN) {
            None => drop(claimed.insert(&**node)),
            Some((item, "")) => drop(marked.insert(item)),
            Some((item, said)) => pauses.extend(Pause::parse(node, said).map(|pause| (item, pause))),
        }
    }
    // One without the other was left by a hand: nobody could end such a pause.
    for item in &marked {
        if !pauses.contains_key(item) {
            strays.push(format!("{item}{SIGN}"));
        }
    }
    pauses.retain(|item, pause| {
        let is_whole = marked.contains(item);
        if !is_whole {
            strays.push(pause.node.clone());
        }
        is_whole
    });
    let mut free = Vec::new();
    for name in layout.sort(names) {
        let pause = pauses.remove(&*name.text);
        if !claimed.contains(&*name.text) {
            free.push(Free { name, pause });
        }
    }
    // Others take items without a look at what stands beside them.
    for (item, pause) in pauses {
        if pause.due <= now {
            strays.extend([format!("{item}{SIGN}"), pause.node]);
        }
    }
    (free, strays)
}

impl Layout {
    /// What says that there is a pause of an item.
    fn mark_of_pause(&self, item: &str) -> String {
        path::join(&self.claims, &format!("{item}{SIGN}"))
    }

    /// What begins a pause.
    pub(super) fn pause(&self, item: &str, pause: &Pause) -> [Write; 2] {
        let create = |path| Write::Create { path, data: Vec::new(), mode: CreateMode::Persistent, acl: None };
        [create(self.mark_of_pause(item)), create(path::join(&self.claims, &pause.node))]
    }

    /// What ends the pause of an item of that version that is taken: the one that is known, or else the proof that there is none.
    pub(super) fn end_of_pause(&self, item: &str, known: Option<&str>, version: i32) -> Vec<Write> {
        let mark = self.mark_of_pause(item);
        let delete = |path| Write::Delete { path, version: None };
        match known {
            Some(node) => vec![delete(path::join(&self.claims, node)), delete(mark)],
            // Nobody has given it back yet.
            None if version == 0 => Vec::new(),
            None => {
                let (path, data) = (mark.clone(), Vec::new());
                vec![Write::Create { path, data, mode: CreateMode::Ephemeral, acl: None }, delete(mark)]
            }
        }
    }
}

/// Deletes what pauses nothing any more.
pub(super) fn tidy(session: &Arc<Session>, layout: &Layout, strays: Vec<String>) {
    for node in strays {
        let deletion = session.epoch().delete(&path::join(&layout.claims, &node), None);
        drop(session.epoch().chore(async move { drop(deletion.await) }));
    }
}

/// Whether one more of them can be written down.
pub(super) fn has_room(known: usize) -> bool {
    known < MOST
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Naming, QueueLayout};
    use crate::recipes::queue::layout::Order;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let seconds: Vec<_> = (1..=11).map(|attempts| after(attempts).as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        assert_eq!((after(0), after(u32::MAX)), (FIRST, LONGEST));
    }

    #[test]
    fn a_list_of_claims_tells_who_is_paused_and_what_pauses_nothing() {
        let layout = Layout::new("/q", Order::Arrival, Naming::Curator, QueueLayout::Simple).expect("valid");
        let name = |number: u32| format!("qn-{number:010}");
        let pause = |number, due: i64| Pause::new(&name(number), due - 1000, Duration::from_secs(1)).node;
        let mark = |number| format!("{}~", name(number));
        let items: Vec<_> = (1..=6).map(name).collect();
        let gone = (mark(8), pause(8, 5000));
        let beside = [
            name(1),
            mark(2),
            pause(2, 9000),
            mark(4),
            pause(5, 9000),
            mark(7),
            pause(7, 9000),
            gone.0.clone(),
            gone.1.clone(),
            "qn-0000000006~what".to_owned(),
        ];
        let (free, mut strays) = free(&layout, &items, &beside, 6000);
        let free: Vec<_> =
            free.iter().map(|free| (&*free.name.text, free.pause.as_ref().map(|p| p.due))).collect();
        let (two, three, four, five, six) = (name(2), name(3), name(4), name(5), name(6));
        assert_eq!(
            free,
            [(&*two, Some(9000)), (&*three, None), (&*four, None), (&*five, None), (&*six, None)],
            "one is claimed, two is paused"
        );
        let mut expected = [mark(4), pause(5, 9000), gone.0, gone.1];
        strays.sort();
        expected.sort();
        assert_eq!(
            strays, expected,
            "halves, and those of items that are gone; what is not due may be of a newer item"
        );
    }
}
