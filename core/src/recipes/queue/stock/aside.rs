//! Items that are there and stand aside: they are paused, or nobody can read them.

use super::{Ahead, Items, Stock};
use crate::recipes::queue::layout::Name;
use crate::recipes::queue::pause::{self, Pause};
use crate::session::Session;
use crate::session::clock::Moment;

/// A pause that is known.
pub(super) struct Known {
    pub(super) until: Moment,
    /// The node that says so; `None` where only we know.
    pub(super) node: Option<String>,
}

impl Items {
    /// What is not paused any more is ready.
    pub(super) fn wake(&mut self, now: Moment) {
        while self.asleep.first().is_some_and(|(until, _)| *until <= now) {
            if let Some((_, name)) = self.asleep.pop_first() {
                self.ready.entry(name).or_default();
            }
        }
    }

    /// It is to be taken, unless it is out.
    pub(super) fn comes(&mut self, name: Name, read: Option<Ahead>) {
        match self.pauses.get(&name.text) {
            Some(pause) => drop(self.asleep.insert((pause.until, name))),
            None => drop(self.ready.insert(name, read)),
        }
    }
}

impl Stock {
    /// It stands in nobody's way as long as it is there.
    pub(in crate::recipes::queue) fn sets_aside(&self, item: String) {
        let mut items = self.items();
        items.ready.retain(|name, _| name.text != item);
        items.spoilt.insert(item);
    }

    /// An item that is out steps aside when it comes back. If its pause could not be `written`, we alone know of it.
    pub(in crate::recipes::queue) fn steps_aside(
        &self,
        session: &Session,
        item: &str,
        pause: Pause,
        is_written: bool,
    ) {
        let until = pause.until(session.now(), session.clock().wall());
        let known = Known { until, node: is_written.then_some(pause.node) };
        self.items().pauses.insert(item.to_owned(), known);
    }

    /// What pauses an item that is taken is over.
    pub(in crate::recipes::queue) fn forget_pause(&self, item: &str) {
        self.items().pauses.remove(item);
    }

    /// Whether one more pause may be written down.
    pub(in crate::recipes::queue) fn has_room_for_pauses(&self) -> bool {
        pause::has_room(self.items().pauses.len())
    }

    /// When the first of those that are paused may be taken again.
    pub(in crate::recipes::queue) fn end_of_first_pause(&self) -> Option<Moment> {
        self.items().asleep.first().map(|(until, _)| *until)
    }
}
