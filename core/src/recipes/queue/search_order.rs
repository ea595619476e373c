//! The calls of one client that look for items of one queue: of the items that are free, the call that was made first gets the
//! first. Whoever sees that there are some hands them to all of them.

use std::collections::BTreeMap;
use std::sync::Mutex;

use tokio::sync::oneshot::{Receiver, Sender, channel};

use super::listing::HandedOutItem;
use crate::mutex::lock;

/// When the call was made, and which of its searches it is.
pub(super) type SearchPlace = (u64, u64);

#[derive(Default)]
pub(super) struct SearchOrder(Mutex<BTreeMap<SearchPlace, StandingSearch>>);

struct StandingSearch {
    hands: Sender<HandedOutItem>,
    /// Whether what is known is as new as it has to be for this one.
    is_up_to_date: bool,
}

impl SearchOrder {
    /// Takes this place, until an item comes or the place is left. An item that comes to nobody goes back.
    pub(super) fn stand(&self, place: SearchPlace, is_up_to_date: bool) -> Receiver<HandedOutItem> {
        let (hands, handed) = channel();
        lock(&self.0).insert(place, StandingSearch { hands, is_up_to_date });
        handed
    }

    pub(super) fn leave(&self, place: SearchPlace) {
        lock(&self.0).remove(&place);
    }

    /// What is known is no older than the searches that had begun when there were so many: so whoever looks, looks for all who
    /// came before.
    pub(super) fn are_up_to_date(&self, begun: u64) {
        for ((_, search), standing) in lock(&self.0).iter_mut() {
            standing.is_up_to_date |= *search < begun;
        }
    }

    /// Hands to each what `next` has for it, for as long as it has anything.
    pub(super) fn serve(&self, next: impl Fn() -> Option<HandedOutItem>) {
        let mut searches = lock(&self.0);
        while let Some((&place, first)) = searches.iter().find(|(_, standing)| standing.is_up_to_date) {
            if first.hands.is_closed() {
                searches.remove(&place);
                continue;
            }
            let Some(out) = next() else { return };
            // Should it go at this moment, the item is back in its place, and the next one's.
            if let Some(standing) = searches.remove(&place) {
                drop(standing.hands.send(out));
            }
        }
    }
}
