//! Handing out the next item, and waiting for one when none is left.
//!
//! One call of a client waits for all of its calls on the path: it has the watch of the items (see `shared_lock`). It stands in a
//! line with those of other clients, and only the first few of that line watch the items and the claims (see `waiting_line`). The
//! others list them now and then, as the first few may be unable to take what has come.
//!
//! Whichever call sees free items hands one to each call that looks for one, in the order of the calls (`search_order`).
//!
//! A call that has waited and got an item leaves the watch and its place in the line for the next one: so a consumer that
//! works for a while on each item need not queue again for every one. They are kept for a while, and the place only as long
//! as all who stand in the line are in its front: else those behind would wait for one who is busy.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{MutexGuard, OwnedMutexGuard, watch};

use super::layout::{self, FreeItem, NodeLayout, Order, StrayPause};
use super::listing::{HandedOutItem, ItemListing};
use super::put::Puts;
use super::returns::Returns;
use super::search_order::{SearchOrder, SearchPlace};
use super::watched_lists::WatchedLists;
use crate::error::{Error, Result};
use crate::mutex::lock;
use crate::path;
use crate::process::UnlessForked;
use crate::recipes::shared_lock::{CurrentLock, SharedLock};
use crate::recipes::waiting_line::WaitingLine;
use crate::session::Session;
use crate::session::call::{Call, LOOK_AFTER};
use crate::session::clock::Moment;
use crate::session::once::Marks;
use crate::session::once::combined::CombinedChanges;
use crate::session::refusal::refusal;
use crate::session::wire::{WireError, Write};

/// After how long at most to look at the clock that says what is due: somebody may have set it. It asks no server.
const MOST_UNLOOKED: Duration = Duration::from_millis(500);
/// How long a watch is kept for the next call. So an item that was waited for costs four requests, as
/// `a_consumer_that_waits_for_each_item_asks_for_little_more_than_the_item` counts, and no place in the line.
const KEPT: Duration = Duration::from_secs(5);

/// What the handles of one client share of one queue, or of one shard of it.
pub(super) struct SharedQueue {
    pub(super) layout: Arc<NodeLayout>,
    pub(super) listing: Arc<ItemListing>,
    pub(super) marks: Arc<Marks>,
    pub(super) removals: Arc<CombinedChanges>,
    pub(super) returns: Arc<Returns>,
    /// By the bound of those who put: their order counts among themselves.
    puts: Mutex<BTreeMap<Option<usize>, Arc<Puts>>>,
    watch: CurrentLock<ItemWatch>,
    /// Changes when the watch is wanted by who cannot have it at once. Only who keeps it listens.
    wanted: watch::Sender<()>,
    /// How many calls have ever looked for items.
    begun: AtomicU64,
    search_order: SearchOrder,
}

impl SharedQueue {
    pub(super) fn new(listing: Arc<ItemListing>) -> SharedQueue {
        let layout = listing.layout.clone();
        let marks = Marks::at(&layout.root, layout.marks.clone());
        SharedQueue {
            puts: Mutex::default(),
            removals: CombinedChanges::new(&marks, "get"),
            returns: Arc::default(),
            marks,
            listing,
            layout,
            watch: CurrentLock::default(),
            wanted: watch::Sender::default(),
            begun: AtomicU64::new(0),
            search_order: SearchOrder::default(),
        }
    }

    /// What is put by those who allow so many items.
    pub(super) fn puts(&self, bound: Option<usize>) -> Arc<Puts> {
        let mut puts = lock(&self.puts);
        puts.entry(bound).or_insert_with(|| Puts::new(&self.layout, &self.marks, bound)).clone()
    }

    /// One call more looks for items, until the answer is dropped.
    pub(super) fn begin_search(self: &Arc<Self>, call: &Call) -> Search {
        let watch = self.watch.get();
        watch.begin_search();
        let place = (call.number(), self.begun.fetch_add(1, Ordering::Relaxed));
        Search { queue: self.clone(), session: call.session().clone(), watch, place, has_found: false }
    }

    /// The watch, as soon as no other call of this client has it; `None` when there is another one by now.
    async fn item_watch(&self, watch: &SharedLock<ItemWatch>) -> Option<OwnedMutexGuard<ItemWatch>> {
        if let Some(watch) = watch.try_lock() {
            return Some(watch);
        }
        self.wanted.send_replace(());
        watch.lock().await
    }

    /// The same; `None` if another call may have it for long.
    async fn item_watch_unless_busy(
        &self,
        watch: &SharedLock<ItemWatch>,
    ) -> Option<OwnedMutexGuard<ItemWatch>> {
        match watch.try_lock() {
            Some(watch) => Some(watch),
            None if self.wanted.receiver_count() == 0 => None,
            None => self.item_watch(watch).await,
        }
    }

    /// Keeps the watch for the next call, or ends it. If a call has it now, that one will do so.
    fn keep_or_end_watch(&self, watch: &SharedLock<ItemWatch>, session: &Arc<Session>, may_come_again: bool) {
        // First: whoever finds it locked says that it is wanted, and is heard.
        let wanted = self.wanted.subscribe();
        let Some(mut watch) = watch.try_lock() else { return };
        if may_come_again && watch.is_worth_keeping() && !session.is_closing() {
            let clock = session.clock().clone();
            clock.spawn(Box::pin(keep(watch, wanted, session.clone())));
        } else {
            *watch = ItemWatch::default();
        }
    }

    /// Waits until what was given up before has gone back, unless the caller does not wait at all. Whoever waits for that behind this
    /// call goes on when what this answers is dropped.
    pub(super) async fn until_returned(
        &self,
        call: &mut Call,
        verb: &'static str,
    ) -> Result<Option<UnlessForked<MutexGuard<'_, ()>>>> {
        if self.returns.are_none() || call.is_single_attempt() {
            return Ok(None);
        }
        let stuck = call.session().clone().until_stuck();
        let over = async { Ok(self.returns.over(stuck).await) };
        // No answer of a server is refused here.
        Ok(call.receive(verb, over).await?.ok().flatten())
    }

    /// Hands out the next item, as soon as there is one. Timeout when there is none and the caller does not wait.
    pub(super) async fn next(
        self: &Arc<Self>,
        session: &Arc<Session>,
        call: &mut Call,
        verb: &'static str,
    ) -> Result<HandedOutItem> {
        let mut search = self.begin_search(call);
        let needs_look = self.layout.order != Order::Arrival;
        let mut handed = self.search_order.stand(search.place, !needs_look);
        if needs_look {
            // Whatever came since the last look may come before what is left of it. A look of another one, which came later,
            // does for this one, too.
            let watch = search.watch();
            let caught_up = watch.used_by(session.clock(), self.catch_up(&watch, session, call, verb));
            let handed_out = tokio::select! {
                biased;
                out = &mut handed => out.ok(),
                caught_up = caught_up => caught_up.map(|()| None)?,
            };
            if let Some(out) = handed_out {
                search.found();
                return Ok(out);
            }
        }
        loop {
            if self.listing.is_outdated() {
                self.list_anew(call, verb, false).await?;
            }
            self.serve(session);
            let handed_out = match handed.try_recv() {
                Ok(out) => Some(out),
                Err(_) if call.is_single_attempt() => {
                    // The call that has the watch may keep it for long, so this one lists by itself.
                    self.list_anew(call, verb, true).await?;
                    self.serve(session);
                    let nothing = || Error::timeout("no item to take came").with_path(&self.layout.path);
                    Some(handed.try_recv().map_err(|_| nothing())?)
                }
                // Whoever sees an item first hands it to this one, if it is its.
                Err(_) => {
                    let watch = search.watch();
                    let replenished =
                        watch.used_by(session.clock(), self.replenish(&watch, session, call, verb));
                    tokio::select! {
                        biased;
                        out = &mut handed => out.ok(),
                        replenished = replenished => replenished.map(|()| None)?,
                    }
                }
            };
            if let Some(out) = handed_out {
                search.found();
                return Ok(out);
            }
        }
    }

    /// Hands to those who look for items what is known, in the order of their calls.
    fn serve(&self, session: &Session) {
        self.search_order.serve(|| self.listing.hand_out(session, session.clock().wall()));
    }

    /// The next item of those that are known and nobody has come for before.
    pub(super) fn hand_out(&self, session: &Session) -> Option<HandedOutItem> {
        self.serve(session);
        self.listing.hand_out(session, session.clock().wall())
    }

    /// Knows all that is there now, for all who look for items by now.
    async fn catch_up(
        self: &Arc<Self>,
        watch: &SharedLock<ItemWatch>,
        session: &Arc<Session>,
        call: &mut Call,
        verb: &'static str,
    ) -> Result<()> {
        let watch = match call.is_single_attempt() {
            // This call does not wait for others, so it lists by itself.
            true => None,
            false => call.wait_for(self.item_watch_unless_busy(watch)).await?,
        };
        let begun = self.begun.load(Ordering::Relaxed);
        let Some(mut watch) = watch else {
            self.list_anew(call, verb, true).await?;
            self.search_order.are_up_to_date(begun);
            return Ok(());
        };
        watch.serves_all = true;
        let lists = watch.lists.get_or_insert_with(|| WatchedLists::new(session, &self.listing, verb));
        loop {
            let server_session = call.server_session(verb).await?;
            let link = server_session.link();
            // Both in one flight: what changed before the `sync` is told before the `sync` is answered.
            let synced = server_session.sync(&self.layout.items);
            lists.catch_up_within(call, verb).await?;
            let synced = call.receive(verb, synced).await?;
            lists.catch_up_within(call, verb).await?;
            self.listing.parent.mark_if_unmarked(call, verb).await?;
            self.note_news(session, lists);
            match synced {
                Ok(()) if server_session.link() == link => {
                    self.search_order.are_up_to_date(begun);
                    return Ok(());
                }
                Err(error) if !error.is_unanswered() => {
                    return Err(refusal(error, verb, &self.layout.items));
                }
                _ => call.retry_after_loss(verb).await?,
            }
        }
    }

    fn note_news(&self, session: &Arc<Session>, lists: &mut WatchedLists) {
        if let Some((look, found, strays)) = lists.news() {
            delete_strays(session, &self.layout, strays);
            self.listing.replace_all(&look, session.now(), session.clock().wall(), found);
        }
    }

    /// Returns when there may be something to hand_out.
    async fn replenish(
        self: &Arc<Self>,
        watch: &SharedLock<ItemWatch>,
        session: &Arc<Session>,
        call: &mut Call,
        verb: &'static str,
    ) -> Result<()> {
        let Some(mut watch) = call.wait_for(self.item_watch(watch)).await? else { return Ok(()) };
        if !self.has_nothing_ready(session) {
            return Ok(());
        }
        if watch.lists.is_none() {
            self.list_anew(call, verb, false).await?;
            watch.look_at = None;
            if !self.has_nothing_ready(session) {
                return Ok(());
            }
        }
        // From here on a broken connection delays us, and only our own deadline ends the wait.
        call.outlast_outages();
        self.wait(&mut watch, session, call, verb).await
    }

    /// Whether nothing that is ready can be taken now.
    pub(super) fn has_nothing_ready(&self, session: &Session) -> bool {
        self.listing
            .first(session.now())
            .is_none_or(|name| self.layout.is_early(&name, session.clock().wall()))
    }

    pub(super) async fn list_anew(&self, call: &mut Call, verb: &str, is_synced: bool) -> Result<()> {
        let look = self.listing.begin_look();
        let found = self.list(call, verb, is_synced).await?;
        self.listing.parent.mark_if_unmarked(call, verb).await?;
        self.listing.replace_all(&look, call.now(), call.session().clock().wall(), found);
        Ok(())
    }

    /// Lists the items that nobody has claimed, in order.
    pub(super) async fn list(&self, call: &mut Call, verb: &str, is_synced: bool) -> Result<Vec<FreeItem>> {
        let (names, beside, are_items_newer) = self.list_names(call, verb, is_synced).await?;
        let (found, strays) = layout::free(&self.layout, &names, &beside, are_items_newer);
        delete_strays(call.session(), &self.layout, strays);
        Ok(found)
    }

    /// Lists the items, and what stands beside them; and whether the items were certainly listed behind that.
    pub(super) async fn list_names(
        &self,
        call: &mut Call,
        verb: &str,
        is_synced: bool,
    ) -> Result<(Vec<String>, Vec<String>, bool)> {
        let layout = &self.layout;
        loop {
            let server_session = call.server_session(verb).await?;
            let on = server_session.connection();
            // In one flight. The claims first: what is claimed in between shows when it is taken.
            let session_id = server_session.session_id();
            let is_synced = is_synced || self.listing.may_lag(session_id);
            let sync = is_synced.then(|| server_session.sync(&layout.items));
            let claims = server_session.children(&layout.claims);
            let items = server_session.children_and_stat(&layout.items);
            let synced = match sync {
                Some(sync) => call.receive(verb, sync).await?,
                None => Ok(()),
            };
            let claims = missing_is_empty(call.receive(verb, claims).await?);
            let items = call.receive(verb, items).await?.map(|(names, stat)| {
                server_session.saw_parent(&layout.items, stat.czxid);
                self.listing.parent.learn(&stat);
                names
            });
            match (synced, claims, missing_is_empty(items)) {
                (Ok(()), Ok(beside), Ok(names)) => {
                    self.listing.was_listed_in(session_id);
                    // On another connection another server may answer, which lags behind.
                    let are_items_newer = on.is_some() && server_session.connection() == on;
                    return Ok((names, beside, are_items_newer));
                }
                (Err(error), _, _) | (_, Err(error), _) | (_, _, Err(error)) if error.is_unanswered() => {
                    call.retry_after_loss(verb).await?;
                }
                (Err(error), _, _) | (_, Err(error), _) | (_, _, Err(error)) => {
                    return Err(refusal(error, verb, &layout.items));
                }
            }
        }
    }

    async fn wait(
        self: &Arc<Self>,
        watch: &mut ItemWatch,
        session: &Arc<Session>,
        call: &mut Call,
        verb: &'static str,
    ) -> Result<()> {
        let path = self.layout.own("waiting");
        loop {
            watch.line.enter(&path, session, call, verb).await?;
            let mut back = std::pin::pin!(self.listing.back.notified());
            back.as_mut().enable();
            let ItemWatch { lists, line, look_at, .. } = &mut *watch;
            if let Some(lists) = lists {
                self.listing.parent.mark_if_unmarked(call, verb).await?;
                self.note_news(session, lists);
            }
            if !self.has_nothing_ready(session) {
                return Ok(());
            }
            // Those in the front of the line are told about the items, and everybody about the line. Those in the front may be unable
            // to take what has come: so whoever stands behind them looks for itself after a while.
            let is_in_front = line.is_in_front();
            let items = async {
                match is_in_front {
                    true => {
                        *look_at = None;
                        let new = || WatchedLists::new(session, &self.listing, verb);
                        lists.get_or_insert_with(new).changed().await.map(|()| WokenUp::ByNews)
                    }
                    false => {
                        let at = *look_at.get_or_insert_with(|| session.now() + LOOK_AFTER);
                        session.clock().sleep_until(at).await;
                        Ok(WokenUp::ToLook)
                    }
                }
            };
            let woken = async {
                tokio::select! {
                    biased;
                    woken = items => woken,
                    () = line.changed() => Ok(WokenUp::ByTheLine),
                    () = back => Ok(WokenUp::ByNews),
                    () = self.until_due(session) => Ok(WokenUp::ByNews),
                }
            };
            match call.wait_for(woken).await?? {
                WokenUp::ByNews => {}
                WokenUp::ByTheLine => line.look(call, verb).await?,
                WokenUp::ToLook => {
                    self.list_anew(call, verb, false).await?;
                    *look_at = None;
                }
            }
        }
    }

    /// Resolves when the first item that is known is due, by a clock that may be set meanwhile, or when the pause of the first
    /// that is paused is over.
    async fn until_due(&self, session: &Session) {
        let due = async {
            let Some(name) = self.listing.first(session.now()) else { return std::future::pending().await };
            while let Ok(left) = u64::try_from(name.key - session.clock().wall()) {
                let left = Duration::from_millis(left + 1).min(MOST_UNLOOKED);
                session.clock().sleep_until(session.now() + left).await;
            }
        };
        let awake = async {
            match self.listing.first_end_of_pause() {
                Some(at) => session.clock().sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            biased;
            () = awake => {}
            () = due => {}
        }
    }
}

/// While somebody looks for items, what is watched for that stays.
pub(super) struct Search {
    queue: Arc<SharedQueue>,
    session: Arc<Session>,
    watch: Arc<SharedLock<ItemWatch>>,
    place: SearchPlace,
    has_found: bool,
}

impl Search {
    /// It has what it was looking for, and may soon look for the next one.
    pub(super) fn found(&mut self) {
        self.has_found = true;
    }

    /// One that others have passed over keeps its place in the line as long as somebody uses it.
    pub(super) fn use_current_watch(&mut self) {
        self.watch();
    }

    /// The watch to use from now on.
    fn watch(&mut self) -> Arc<SharedLock<ItemWatch>> {
        let current = self.queue.watch.get();
        if !Arc::ptr_eq(&current, &self.watch) {
            current.begin_search();
            self.watch.end_search();
            self.watch = current.clone();
        }
        current
    }
}

impl Drop for Search {
    fn drop(&mut self) {
        if !self.session.process().is_present() {
            return;
        }
        self.queue.search_order.leave(self.place);
        if self.watch.end_search() {
            self.queue.keep_or_end_watch(&self.watch, &self.session, self.has_found);
        }
    }
}

/// What the call that waits for items has learned; the other calls of the client use it, too.
#[derive(Default)]
struct ItemWatch {
    /// What is watched.
    lists: Option<WatchedLists>,
    line: WaitingLine,
    /// When who stands behind the front of the line lists the items.
    look_at: Option<Moment>,
    /// Whether calls that do not wait use it, too.
    serves_all: bool,
}

impl ItemWatch {
    /// Whether the next call can go on with it, and it does no harm meanwhile.
    fn is_worth_keeping(&self) -> bool {
        let has_place = self.serves_all || !self.line.needs_place();
        self.lists.is_some() && has_place && self.line.is_harmless()
    }
}

/// What has ended a wait for items.
enum WokenUp {
    /// There may be some.
    ByNews,
    /// Somebody ahead in the line has gone.
    ByTheLine,
    /// Nobody has told anything for long.
    ToLook,
}

async fn keep(mut watch: OwnedMutexGuard<ItemWatch>, mut wanted: watch::Receiver<()>, session: Arc<Session>) {
    tokio::select! {
        biased;
        // The handles may be gone, too.
        changed = wanted.changed() => if changed.is_ok() { return },
        () = watch.line.until_others_wait(&session) => {}
        () = session.clock().sleep_until(session.now() + KEPT) => {}
        () = session.until_closing() => {}
    }
    *watch = ItemWatch::default();
}

/// Deletes what pauses nothing any more.
fn delete_strays(session: &Arc<Session>, layout: &NodeLayout, strays: Vec<StrayPause>) {
    let server_session = session.server_session();
    // Not on a later connection: by then the name may be that of a part of the next pause.
    let Some(on) = server_session.connection() else { return };
    for stray in strays {
        let delete = |node| Write::Delete { path: path::join(&layout.claims, node), version: None };
        let deletion =
            server_session.multi_on(on, &stray.iter().map(|node| delete(node)).collect::<Vec<_>>());
        drop(server_session.in_background(async move { drop(deletion.await) }));
    }
}

fn missing_is_empty(listed: Result<Vec<String>, WireError>) -> Result<Vec<String>, WireError> {
    match listed {
        Err(WireError::NoNode) => Ok(Vec::new()),
        listed => listed,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use zkrecipes_embedded::Server;

    use crate::Client;
    use crate::session::clock::{Clock, Later};
    use crate::session::system_clock::SystemClock;
    use crate::session::wire::own::Own;

    use super::*;

    /// Somebody sets it.
    #[derive(Default)]
    struct SetClock(AtomicI64);

    impl Clock for SetClock {
        fn now(&self) -> Moment {
            SystemClock.now()
        }

        fn wall(&self) -> i64 {
            SystemClock.wall() + self.0.load(Ordering::Relaxed)
        }

        fn sleep_until(&self, at: Moment) -> Later<()> {
            SystemClock.sleep_until(at)
        }

        fn spawn(&self, task: Later<()>) {
            SystemClock.spawn(task);
        }

        fn alarm(&self, at: Moment, alarm: Box<dyn FnOnce() + Send>) {
            SystemClock.alarm(at, alarm);
        }
    }

    #[test]
    fn an_item_is_due_when_the_clock_is_set_forward() {
        let server = Server::start().expect("a free port");
        let clock = Arc::new(SetClock::default());
        let hosts = server.connect_string();
        let test = async move {
            let dial = Box::new(Own { counters: Arc::default() });
            let client = Client::connect_over(dial, clock.clone(), &hosts, Default::default()).await?;
            let queue = client.delay_queue("/queues/due", Default::default())?;
            queue.put(b"tomorrow", Duration::from_secs(24 * 3600)).await?;
            let mut getting = std::pin::pin!(queue.get());
            let early = Duration::from_millis(300);
            assert!(tokio::time::timeout(early, getting.as_mut()).await.is_err(), "it is not due");
            clock.0.store(25 * 3600 * 1000, Ordering::Relaxed);
            let due = tokio::time::timeout(Duration::from_secs(20), getting).await;
            due.unwrap_or_else(|_| Err(Error::timeout("it did not come")))
        };
        let got = crate::drive::wait(test, None, None).expect("it is due");
        assert_eq!(got, b"tomorrow");
    }
}
