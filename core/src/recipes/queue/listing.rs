//! The items that one client knows of: listed once and used up, whoever of the client takes them, before they are listed again.
//!
//! 1. What is handed out is not handed out a second time until it comes back. What comes back takes its old place.
//! 2. The data of the next few is read ahead, of several in one request. It counts for a moment only: when everything was
//!    taken and the parent made anew, the same names come again, with other data and the same versions. Our own parents stay, and Curator's are
//!    containers.
//! 3. Which one is handed out, of those that are ready, `known_items` decides.
//! 4. Of what we have removed or given back ourselves we know more than a list that left before (`looks`).
//! 5. What is paused is not handed out before that is over, and what nobody understands is not handed out at all. What we may
//!    not read or cannot take is set aside for a while, as its access list may change, and what is below it may go.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use tokio::sync::Notify;

use super::items_parent::ItemsParent;
use super::known_items::{KnownItems, KnownPause, ReadAhead};
use super::layout::{FreeItem, ItemName, ItemPause, NodeLayout};
use super::looks::{LookNumber, Since};
use crate::error::Result;
use crate::mutex::lock;
use crate::path;
use crate::process::UnlessForked;
use crate::session::Session;
use crate::session::call::{Call, LOOK_AFTER};
use crate::session::clock::Moment;
use crate::session::random;
use crate::session::refusal::refusal;
use crate::session::server_session::ConnectionId;
use crate::session::skipped_nodes::Flaw;
use crate::session::wire::{Stat, WireError, Write};

/// When nobody was faster for so long, nobody is about, and the first comes first again. Else that took up to 320 items.
const ALONE_AFTER: Duration = Duration::from_secs(1);
/// How long what was read ahead counts: some round trips. Whoever works at an item for longer reads the next one again.
const FRESH: Duration = Duration::from_millis(100);
/// With more pauses the claims would be too long to list for everybody, as each adds two names of some 65 bytes together: then
/// only who gives an item back knows of its pause.
const MOST_PAUSES: usize = 2_000;

/// An item as it was read.
pub(super) struct ReadItem {
    pub(super) bytes: Vec<u8>,
    pub(super) stat: Stat,
    /// What is written because of it leaves on this connection: on a later one its name may be another item's.
    pub(super) on: ConnectionId,
    /// And with this check, which was known before it was read, if anything can be checked: see `items_parent`.
    pub(super) same_parent: Option<Write>,
}

/// What the handles of one client know of the items of one queue.
pub(super) struct ItemListing {
    pub(super) layout: Arc<NodeLayout>,
    pub(super) parent: ItemsParent,
    items: Mutex<KnownItems>,
    /// Something came back.
    pub(super) back: Notify,
    /// The session in which the items were listed last; 0 before that.
    listed_in: AtomicU64,
}

impl ItemListing {
    pub(super) fn new(layout: Arc<NodeLayout>) -> Arc<ItemListing> {
        let (items, back, listed_in) = (Mutex::default(), Notify::new(), AtomicU64::new(0));
        let parent = ItemsParent::new(&layout.items);
        Arc::new(ItemListing { layout, parent, items, back, listed_in })
    }

    fn items(&self) -> MutexGuard<'_, KnownItems> {
        lock(&self.items)
    }

    /// Hands out an item, unless none is left.
    pub(super) fn hand_out(self: &Arc<Self>, session: &Session, now: i64) -> Option<HandedOutItem> {
        let mut items = self.items();
        items.end_pauses(session.now());
        items.forget_losses_before(session.now() - ALONE_AFTER);
        let name = items.choose(&self.layout, now, || random::guid().as_u128() as usize)?;
        let mut read = items.ready.remove(&name)?;
        items.handed_out.insert(name.text.clone(), false);
        let mut unread = items.to_be_read(&name, read.is_none());
        if let Some(same_parent) = self.parent.proof().filter(|_| !unread.is_empty()) {
            if read.is_none() {
                unread.insert(0, name.clone());
            }
            let path = |name: &ItemName| path::join(&self.layout.items, &name.text);
            let server_session = session.server_session();
            let on = server_session.connection();
            let flights = server_session.get_each(&unread.iter().map(path).collect::<Vec<_>>());
            let until = session.now() + FRESH;
            for (unread, read_ahead) in unread.iter().zip(flights) {
                let slot = if *unread == name { Some(&mut read) } else { items.ready.get_mut(unread) };
                if let Some(slot) = slot {
                    *slot = Some(ReadAhead { read: read_ahead, until, on, same_parent: same_parent.clone() });
                }
            }
        }
        let pause = items.pauses.get(&name.text).and_then(|pause| pause.node.clone());
        drop(items);
        let is_over = Arc::default();
        Some(HandedOutItem {
            listing: self.clone(),
            name,
            pause,
            read: UnlessForked::new(read),
            is_lost: false,
            is_set_aside: false,
            is_claimed: false,
            is_over,
        })
    }

    /// From here on it is looked what items there are.
    pub(super) fn begin_look(self: &Arc<Self>) -> Look {
        let number = self.items().looks.begin();
        Look { listing: self.clone(), number: UnlessForked::new(number) }
    }

    /// Whether the server of that session may lag behind what was listed in another one.
    pub(super) fn may_lag(&self, session_id: u64) -> bool {
        ![0, session_id].contains(&self.listed_in.load(Ordering::Acquire))
    }

    /// The items were listed in that session, by a server that does not lag.
    pub(super) fn was_listed_in(&self, session_id: u64) {
        self.listed_in.store(session_id, Ordering::Release);
    }

    /// What a list has shown: everything but what is handed out already.
    pub(super) fn replace_all(&self, look: &Look, now: Moment, wall: i64, found: Vec<FreeItem>) {
        let look = *look.number;
        let mut items = self.items();
        let is_newest = items.looks.take_over(look);
        items.misses = 0;
        let mut known = std::mem::take(&mut items.ready);
        let unreadable = std::mem::take(&mut items.unreadable);
        let unburied = std::mem::take(&mut items.unburied);
        let mut pauses = std::mem::take(&mut items.pauses);
        let paused = std::mem::take(&mut items.paused);
        for FreeItem { name, pause } in found {
            let since = items.looks.since(look, &name.text);
            if since == Some(Since::Removed) {
                continue;
            }
            items.unburied.extend(unburied.get(&name.text).cloned());
            let pause = match (pauses.remove(&name.text), pause) {
                (known, _) if since == Some(Since::GivenBack) => known,
                (Some(known), None) => (known.node.is_none() && known.until > now).then_some(known),
                (Some(known), Some(told)) if known.node.as_ref() == Some(&told.node) => Some(known),
                (_, told) => {
                    told.map(|told| KnownPause { until: told.until(now, wall), node: Some(told.node) })
                }
            };
            if let Some(pause) = pause {
                items.pauses.insert(name.text.clone(), pause);
            }
            if let Some(is_shown) = items.handed_out.get_mut(&name.text) {
                *is_shown = true;
            } else if unreadable.contains(&name.text) {
                items.unreadable.insert(name.text);
            } else {
                let read = known.remove(&name).flatten();
                items.add(name, read);
            }
        }
        // What is known and was not shown.
        let stays = |items: &KnownItems, item: &str| {
            !is_newest || items.looks.since(look, item) == Some(Since::GivenBack)
        };
        let paused = paused.into_iter().filter(|(_, name)| pauses.contains_key(&name.text));
        let known: Vec<_> = known.into_iter().chain(paused.map(|(_, name)| (name, None))).collect();
        for (item, pause) in pauses {
            if items.handed_out.contains_key(&item) || stays(&items, &item) {
                items.pauses.insert(item, pause);
            }
        }
        for (name, read) in known {
            if stays(&items, &name.text) {
                items.add(name, read);
            }
        }
        if !is_newest {
            items.unreadable.extend(unreadable);
            items.unburied.extend(unburied);
        }
    }

    /// An item is there again that we had taken.
    pub(super) fn add_again(&self, name: ItemName) {
        let mut items = self.items();
        items.looks.note(&name.text, Since::GivenBack);
        match items.handed_out.get_mut(&name.text) {
            Some(is_shown) => *is_shown = true,
            None => drop(items.ready.entry(name).or_default()),
        }
        drop(items);
        self.back.notify_waiters();
    }

    /// The first that is left, in order.
    pub(super) fn first(&self, now: Moment) -> Option<ItemName> {
        let mut items = self.items();
        items.end_pauses(now);
        items.ready.keys().next().cloned()
    }

    /// Somebody else was faster, or nobody.
    pub(super) fn count_race(&self, is_lost: bool, now: Moment) {
        self.items().count_race(is_lost, now);
    }

    /// Whether so much of what was listed was somebody else's that a new list is worth its cost. The call that is told so
    /// makes the list.
    pub(super) fn is_outdated(&self) -> bool {
        self.items().is_outdated()
    }

    /// Whether it steps aside.
    pub(super) fn is_paused(&self, item: &FreeItem, now: Moment, wall: i64) -> bool {
        !self.pause_left(item, now, wall).is_zero()
    }

    /// How long it steps aside, by when that pause was first seen.
    pub(super) fn pause_left(&self, item: &FreeItem, now: Moment, wall: i64) -> Duration {
        let Some(pause) = &item.pause else { return Duration::ZERO };
        let until = match self.items().pauses.get(&item.name.text) {
            Some(known) if known.node.as_ref() == Some(&pause.node) => known.until,
            _ => pause.until(now, wall),
        };
        until.since(now)
    }

    /// How many of those that are known could be taken now, `most` at most.
    pub(super) fn count_ready(&self, session: &Session, most: usize) -> usize {
        let mut items = self.items();
        items.end_pauses(session.now());
        let wall = session.clock().wall();
        items.ready.keys().take(most).take_while(|name| !self.layout.is_early(name, wall)).count()
    }

    /// One that is over cannot be moved: it stands in nobody's way, and is looked at again after a while, when it may be possible.
    /// Answers whether that is news.
    pub(super) fn set_unburied_aside(&self, session: &Session, item: &str) -> bool {
        let mut items = self.items();
        items.set_aside(item, session.now() + LOOK_AFTER);
        items.unburied.insert(item.to_owned())
    }

    /// An item that is out steps aside when it comes back. If its pause could not be `written`, we alone know of it.
    pub(super) fn set_pause(&self, session: &Session, item: &str, pause: ItemPause, is_written: bool) {
        let until = pause.until(session.now(), session.clock().wall());
        let known = KnownPause { until, node: is_written.then_some(pause.node) };
        self.items().pauses.insert(item.to_owned(), known);
    }

    /// What pauses an item that is taken is over.
    pub(super) fn forget_pause(&self, item: &str) {
        self.items().pauses.remove(item);
    }

    /// Whether one more pause may be written down.
    pub(super) fn has_room_for_pauses(&self) -> bool {
        self.items().pauses.len() < MOST_PAUSES
    }

    /// When the first of those that are paused may be taken again.
    pub(super) fn first_end_of_pause(&self) -> Option<Moment> {
        self.items().paused.first().map(|(until, _)| *until)
    }
}

/// From when it is looked what items there are, until what was found is taken over.
pub(super) struct Look {
    listing: Arc<ItemListing>,
    number: UnlessForked<LookNumber>,
}

impl Drop for Look {
    fn drop(&mut self) {
        // In a forked child the lock may be held by a thread that stayed with the parent.
        if self.number.process().is_present() {
            self.listing.items().looks.end(*self.number);
        }
    }
}

/// An item that was handed out. It comes back when this is dropped, unless it is over with it.
pub(super) struct HandedOutItem {
    listing: Arc<ItemListing>,
    pub(super) name: ItemName,
    /// The node of a pause that is over.
    pub(super) pause: Option<String>,
    read: UnlessForked<Option<ReadAhead>>,
    /// Whether somebody else has or had it.
    is_lost: bool,
    /// Whether it is set aside, and comes back later.
    is_set_aside: bool,
    /// Whether we have claimed it, and give it back when this is dropped.
    is_claimed: bool,
    /// Whether we have removed it.
    pub(super) is_over: Arc<AtomicBool>,
}

impl HandedOutItem {
    pub(super) fn path(&self) -> String {
        path::join(&self.listing.layout.items, &self.name.text)
    }

    pub(super) fn mark_claimed(&mut self) {
        self.is_claimed = true;
    }

    /// We have removed it.
    pub(super) fn mark_removed(self) {
        self.is_over.store(true, Ordering::Release);
    }

    /// It is gone, or somebody else's: who wants it has to find it again. A list may have shown that it came back before
    /// we knew that it was lost; nothing would show that a second time.
    pub(super) fn mark_gone(mut self) {
        if self.is_set_aside {
            return;
        }
        self.is_lost = true;
        let mut items = self.listing.items();
        // One that a list has shown since it was handed out is of who gave it back meanwhile.
        if items.handed_out.get(&self.name.text) != Some(&true) {
            items.pauses.remove(&self.name.text);
        }
        items.count_miss();
    }

    /// Its parent is not the one below which it was read, or somebody has only written that one's data: then it stands, and no event
    /// would show it. So it is read again, behind a look at the parent.
    pub(super) fn mark_moved(self) {
        self.listing.parent.doubt();
    }

    /// We may not read it, or cannot take it: it stands in nobody's way, and is looked at again after a while.
    pub(super) fn set_aside(&mut self, session: &Session, flaw: Flaw) {
        session.skip(&self.path(), flaw);
        self.listing.items().set_aside(&self.name.text, session.now() + LOOK_AFTER);
        self.is_set_aside = true;
    }

    /// Nobody understands it: it stands in nobody's way.
    pub(super) fn mark_unreadable(mut self) {
        self.is_lost = true;
        self.listing.items().unreadable.insert(self.name.text.clone());
    }

    /// What it says; `None` when it is gone, or when we may not read it: then it is set aside.
    pub(super) async fn read(&mut self, call: &mut Call, verb: &str) -> Result<Option<ReadItem>> {
        let node = self.path();
        loop {
            let (server_session, on) = call.connection(verb).await?;
            let ahead = self.read.take().filter(|ahead| ahead.on == Some(on) && call.now() < ahead.until);
            let (flight, same_parent) = match (ahead, self.listing.parent.proof()) {
                (Some(ahead), _) => (ahead.read, ahead.same_parent),
                (None, Some(same_parent)) => (server_session.get_data(&node), same_parent),
                (None, None) => {
                    if !self.listing.parent.settle(call, verb).await? {
                        return Ok(None);
                    }
                    continue;
                }
            };
            match call.receive(verb, flight).await? {
                Ok((bytes, stat)) if server_session.connection() == Some(on) => {
                    return Ok(Some(ReadItem { bytes, stat, on, same_parent }));
                }
                Err(WireError::NoNode) => return Ok(None),
                Err(WireError::NoAuth) => {
                    self.set_aside(&call.session().clone(), Flaw::Denied);
                    return Ok(None);
                }
                Err(error) if !error.is_unanswered() => return Err(refusal(error, verb, &node)),
                _ if server_session.has_ended() => {}
                _ => call.retry_after_loss(verb).await?,
            }
        }
    }
}

impl Drop for HandedOutItem {
    fn drop(&mut self) {
        // In a forked child the lock may be held by a thread that stayed with the parent.
        if !self.read.process().is_present() {
            return;
        }
        let mut items = self.listing.items();
        let is_shown = items.handed_out.remove(&self.name.text) == Some(true);
        let is_unreadable = items.unreadable.contains(&self.name.text);
        if self.is_over.load(Ordering::Acquire) {
            items.pauses.remove(&self.name.text);
            items.looks.note(&self.name.text, Since::Removed);
        } else if !is_unreadable && (!self.is_lost || is_shown) {
            if self.is_claimed {
                items.looks.note(&self.name.text, Since::GivenBack);
            }
            items.add(self.name.clone(), None);
        }
        drop(items);
        self.listing.back.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::options::{Naming, QueueLayout};
    use crate::recipes::queue::known_items::MOST_MISSES;
    use crate::recipes::queue::layout::Order;

    fn listing(order: Order) -> Arc<ItemListing> {
        ItemListing::new(Arc::new(
            NodeLayout::new("/q", order, Naming::Curator, QueueLayout::Simple).expect("valid"),
        ))
    }

    fn names(listing: &ItemListing, keys: &[i64]) -> Vec<ItemName> {
        let name = |(number, key): (usize, &i64)| {
            path::name(&listing.layout.fresh(*key).expect("valid")).to_owned() + &format!("{number:010}")
        };
        listing.layout.sort(&keys.iter().enumerate().map(name).collect::<Vec<_>>())
    }

    fn fill(listing: &Arc<ItemListing>, names: Vec<ItemName>) {
        take_over(listing, &listing.begin_look(), names);
    }

    fn take_over(listing: &ItemListing, look: &Look, names: Vec<ItemName>) {
        let free = |name| FreeItem { name, pause: None };
        listing.replace_all(look, Moment(0), 0, names.into_iter().map(free).collect());
    }

    fn ready(listing: &ItemListing) -> Vec<ItemName> {
        listing.items().ready.keys().cloned().collect()
    }

    fn hand_out(listing: &Arc<ItemListing>, name: &ItemName) -> HandedOutItem {
        let mut items = listing.items();
        items.ready.remove(name);
        items.handed_out.insert(name.text.clone(), false);
        drop(items);
        let (name, is_over) = (name.clone(), Arc::default());
        HandedOutItem {
            listing: listing.clone(),
            name,
            pause: None,
            read: UnlessForked::default(),
            is_lost: false,
            is_set_aside: false,
            is_claimed: false,
            is_over,
        }
    }

    #[test]
    fn what_we_have_removed_is_not_there_again_because_of_a_list_that_left_before() {
        let listing = listing(Order::Arrival);
        let names = names(&listing, &[0, 0]);
        fill(&listing, names.clone());
        let early = listing.begin_look();
        hand_out(&listing, &names[0]).mark_removed();
        let late = listing.begin_look();
        take_over(&listing, &early, names.clone());
        assert_eq!(ready(&listing), names[1..]);
        drop(early);
        // By now it is another one of that name.
        take_over(&listing, &late, names.clone());
        assert_eq!(ready(&listing), names);
    }

    #[test]
    fn what_we_have_given_back_is_there_although_a_list_left_before() {
        let listing = listing(Order::Arrival);
        let names = names(&listing, &[0, 0]);
        fill(&listing, names.clone());
        let mut claimed = hand_out(&listing, &names[0]);
        claimed.mark_claimed();
        let early = listing.begin_look();
        drop(claimed);
        take_over(&listing, &early, names[1..].to_vec());
        assert_eq!(ready(&listing), names);
        drop(early);
        fill(&listing, names[1..].to_vec());
        assert_eq!(ready(&listing), names[1..], "somebody else has it");
    }

    #[test]
    fn a_list_that_another_one_has_overtaken_makes_nothing_forgotten() {
        let listing = listing(Order::Arrival);
        let names = names(&listing, &[0, 0]);
        let early = listing.begin_look();
        fill(&listing, names.clone());
        take_over(&listing, &early, Vec::new());
        assert_eq!(ready(&listing), names);
        drop(early);
        fill(&listing, Vec::new());
        assert!(ready(&listing).is_empty());
    }

    #[test]
    fn what_a_list_has_shown_while_it_was_out_is_found_again_unless_we_have_removed_it() {
        let listing = listing(Order::Arrival);
        let names = names(&listing, &[0]);
        for (is_shown, is_removed) in [(true, false), (false, false), (true, true)] {
            let out = hand_out(&listing, &names[0]);
            if is_shown {
                fill(&listing, names.clone());
            }
            if is_removed {
                out.mark_removed()
            } else {
                out.mark_gone()
            }
            assert_eq!(
                listing.first(Moment(0)).is_some(),
                is_shown && !is_removed,
                "{is_shown} {is_removed}"
            );
            fill(&listing, Vec::new());
        }
    }

    #[test]
    fn a_pause_that_a_list_has_shown_while_an_item_was_out_holds_when_its_claim_is_refused() {
        let listing = listing(Order::Arrival);
        let name = names(&listing, &[0]).remove(0);
        let out = hand_out(&listing, &name);
        let pause = ItemPause::new(&name.text, 0, Duration::from_secs(1));
        let given_back = FreeItem { name: name.clone(), pause: Some(pause.clone()) };
        listing.replace_all(&listing.begin_look(), Moment(0), 0, vec![given_back]);
        out.mark_gone();
        let end = Moment(0) + Duration::from_secs(1);
        assert_eq!(listing.first(end - Duration::from_nanos(1)), None, "it steps aside");
        assert_eq!(listing.first(end), Some(name.clone()));
        let known = listing.items().pauses.get(&name.text).and_then(|known| known.node.clone());
        assert_eq!(known, Some(pause.node), "the next claim ends it");
    }

    #[test]
    fn an_item_whose_parent_has_changed_is_read_again() {
        let listing = listing(Order::Arrival);
        let names = names(&listing, &[0]);
        hand_out(&listing, &names[0]).mark_moved();
        assert_eq!(ready(&listing), names);
    }

    #[test]
    fn a_list_of_which_some_were_gone_is_made_anew_once() {
        let listing = listing(Order::Arrival);
        let names = names(&listing, &[0; 20]);
        fill(&listing, names.clone());
        for name in &names[..MOST_MISSES] {
            assert!(!listing.is_outdated());
            hand_out(&listing, name).mark_gone();
        }
        assert!(listing.is_outdated());
        assert!(!listing.is_outdated());
    }

    #[test]
    fn eight_that_compete_are_seldom_in_each_others_way() {
        const ALL: usize = 1000;
        const ROUNDS: usize = 10;
        let (mut refused, mut lists, mut seed) = (0, 0, 1u64);
        for _ in 0..ROUNDS {
            let mut clients: Vec<_> =
                (0..8).map(|_| (listing(Order::Arrival), None::<HandedOutItem>)).collect();
            let mut left: BTreeSet<_> = names(&clients[0].0, &[0; ALL]).into_iter().collect();
            for turn in 0.. {
                let (listing, under_way) = &mut clients[turn % 8];
                // What a client asked for is answered when the others have asked, too.
                if let Some(out) = under_way.take() {
                    let is_lost = !left.remove(&out.name);
                    listing.count_race(is_lost, Moment(0));
                    refused += usize::from(is_lost);
                    if is_lost { out.mark_gone() } else { out.mark_removed() }
                } else if left.is_empty() {
                    break;
                } else if listing.is_outdated() || listing.first(Moment(0)).is_none() {
                    lists += 1;
                    fill(listing, left.iter().cloned().collect());
                } else {
                    let dice = || {
                        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
                        (seed >> 33) as usize
                    };
                    let name = listing.items().choose(&listing.layout, 0, dice).expect("some are ready");
                    *under_way = Some(hand_out(listing, &name));
                }
            }
        }
        assert!(refused < ROUNDS * ALL / 10 && lists < ROUNDS * 5 * 8, "{refused} refused, {lists} lists");
    }
}
