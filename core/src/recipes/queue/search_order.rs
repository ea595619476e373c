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
pub(super) struct SearchOrder(Mutex<BTreeMap<SearchPlace, Sender<HandedOutItem>>>);

impl SearchOrder {
    /// Takes this place, until an item comes or the place is left. An item that comes to nobody goes back.
    pub(super) fn stand(&self, place: SearchPlace) -> Receiver<HandedOutItem> {
        let (hands, handed) = channel();
        lock(&self.0).insert(place, hands);
        handed
    }

    pub(super) fn leave(&self, place: SearchPlace) {
        lock(&self.0).remove(&place);
    }

    /// Hands to each what `next` has for it, for as long as it has anything.
    pub(super) fn serve(&self, next: impl Fn() -> Option<HandedOutItem>) {
        let mut searches = lock(&self.0);
        while let Some(first) = searches.first_entry() {
            if first.get().is_closed() {
                first.remove();
                continue;
            }
            let Some(out) = next() else { return };
            // Should it go at this moment, the item is back in its place, and the next one's.
            drop(first.remove().send(out));
        }
    }
}
