//! What all queues have, whatever their order: the verbs, and the shards of a queue that is spread over several nodes.
//!
//! A producer goes from one shard to the next; a consumer begins at any of them. What is known of one of them is taken without a
//! look at the others. Else it looks and waits at all of them. A shard that we may not read does not stop a consumer at the others:
//! it is left out, and its error is told when they have nothing.
//!
//! What only looks takes nothing. It is no older than the call; what cannot be read is skipped, and the log tells so once.

use std::ops::Deref;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::future::{Either, join_all, select_all};

use super::claim::{self, Item};
use super::dead_letters::{self, DeadLetter};
use super::item_states::{self, ListedItem};
use super::layout::{ItemName, NodeLayout};
use super::looking::{self, QueueStats};
use super::next_item::Search;
use super::put::IN_ONE;
use super::put_answer::{Put, PutOptions, PutSoFar};
use super::room;
use super::store::Store;
use super::take::{self, Got};
use crate::client::Client;
use crate::error::{Error, ErrorKind, Result};
use crate::options::QueueOptions;
use crate::path::{self, PACKET_LIMIT};
use crate::recipes::contenders;
use crate::recipes::wait_progress::{Listeners, WaitProgress, nobody, telling};
use crate::session::Session;
use crate::session::call::Call;
use crate::session::clock::Later;
use crate::session::delivery::Subscription;
use crate::session::random;
use crate::session::server_session::catching_up::Beginning;
use crate::session::withdrawal::{Withdrawal, Withdrawals};

/// Items that wait to be taken. A [`Queue`](super::Queue), a [`PriorityQueue`](super::PriorityQueue) and a
/// [`DelayQueue`](super::DelayQueue) each are a backlog, and so are the [`dead`](Backlog::dead) letters of one ([`DeadLetters`]).
///
/// Clones are the same handle.
///
/// ```
/// # zkrecipes::doctest(async {
/// # let client = zkrecipes::Client::connect("embedded:", Default::default()).await?;
/// let queue = client.queue("/queues/mail", zkrecipes::QueueOptions::default().max_attempts(1))?;
/// queue.put(b"spam").await?;
/// queue.claim().await?.nack().await?;
/// assert_eq!(queue.dead().items().await?[0].data, b"spam");
/// assert_eq!(queue.dead().replay().await?, 1);
/// assert_eq!(queue.peek().await?.as_deref(), Some(&b"spam"[..]));
/// # Ok(()) });
/// ```
#[derive(Clone)]
pub struct Backlog {
    client: Client,
    path: Arc<str>,
    /// One, or the shards.
    stores: Arc<[Arc<Store>]>,
    /// How many times something was put, to go from one shard to the next.
    puts: Arc<AtomicUsize>,
    /// Changes when the waits in progress are to end.
    cancels: Withdrawals,
    /// The queue of which this is the dead letters.
    living: Option<Arc<Backlog>>,
    /// Who wants to hear of its waits.
    listeners: Arc<Listeners>,
}

impl Backlog {
    pub(super) fn new(client: Client, path: &str, stores: Vec<Arc<Store>>) -> Backlog {
        let cancels = Withdrawals::default();
        // Anywhere: else all that put only once would put into the first shard.
        let puts = Arc::new(AtomicUsize::new(random::below(stores.len())));
        let listeners = Arc::default();
        Backlog { client, path: path.into(), stores: stores.into(), puts, cancels, living: None, listeners }
    }

    /// Where it is.
    pub fn path(&self) -> &str {
        &self.path
    }

    fn call(&self, limit: Option<Duration>) -> Result<(Arc<Session>, Call)> {
        self.call_until(limit, self.cancels.next())
    }

    /// For a verb that waits for an item.
    fn wait(&self, limit: Option<Duration>) -> Result<(Arc<Session>, Call)> {
        self.call(limit).map(|(session, call)| (session, call.waiting()))
    }

    fn call_until(&self, limit: Option<Duration>, cancelled: Withdrawal) -> Result<(Arc<Session>, Call)> {
        let session = self.client.session()?;
        let call = session.call(limit).withdrawable(cancelled);
        Ok((session, call))
    }

    // ---- taking

    /// Takes the next item, and waits for one: at most once, for it is removed before it is returned. Who crashes then takes
    /// it along; [`Backlog::claim`] is for items that must not be lost. An answer that gets lost is looked for;
    /// ConnectionLost says that an item may have been removed, which goes back when a server answers.
    ///
    /// # Cancel safety
    /// Dropping the future loses nothing: an item whose removal is on its way goes back to its old place, unless the process
    /// ends in that moment.
    pub async fn get(&self) -> Result<Vec<u8>> {
        self.take(None).await.map(Got::hand_over)
    }

    /// Waits for as long as `limit`, then Timeout. Zero is one attempt without waiting.
    ///
    /// # Cancel safety
    /// As for [`Backlog::get`].
    pub async fn get_timeout(&self, limit: Duration) -> Result<Vec<u8>> {
        self.take(Some(limit)).await.map(Got::hand_over)
    }

    /// Takes the next item if there is one that nobody has claimed.
    ///
    /// # Cancel safety
    /// As for [`Backlog::get`].
    pub async fn try_get(&self) -> Result<Option<Vec<u8>>> {
        unless_empty(self.get_timeout(Duration::ZERO).await)
    }

    pub(crate) fn take(&self, limit: Option<Duration>) -> impl Future<Output = Result<Got>> + Send + use<> {
        let (call, stores, path) = (self.wait(limit), self.stores.clone(), self.path.clone());
        let listeners = self.listeners.clone();
        async move {
            let (session, call) = call?;
            let take = |store: Arc<Store>, call| -> Later<Result<Got>> {
                let session = session.clone();
                Box::pin(async move { store.take(session, call).await })
            };
            let taking = anywhere(&stores, &session, call, take::VERB, take);
            let taken = telling(&session, &path, &listeners, nobody, pin!(taking)).await;
            taken.map_err(|error| about(error, "no item to take came", limit, &path))
        }
    }

    /// Claims the next item, and waits for one: at least once. Nobody else has it until it is acknowledged, given back, or
    /// our session ends; then the next one gets it.
    ///
    /// # Cancel safety
    /// Dropping the future leaves nothing behind: a claim that is on its way is taken back in the background.
    pub async fn claim(&self) -> Result<Item> {
        self.begin(None).await
    }

    /// Waits for as long as `limit`, then Timeout. Zero is one attempt without waiting.
    ///
    /// # Cancel safety
    /// As for [`Backlog::claim`].
    pub async fn claim_timeout(&self, limit: Duration) -> Result<Item> {
        self.begin(Some(limit)).await
    }

    /// Claims the next item if there is one that nobody has claimed.
    ///
    /// # Cancel safety
    /// As for [`Backlog::claim`].
    pub async fn try_claim(&self) -> Result<Option<Item>> {
        unless_empty(self.begin(Some(Duration::ZERO)).await)
    }

    pub(crate) fn begin(&self, limit: Option<Duration>) -> impl Future<Output = Result<Item>> + Send + use<> {
        self.begin_call(self.wait(limit), limit)
    }

    fn begin_call(
        &self,
        call: Result<(Arc<Session>, Call)>,
        limit: Option<Duration>,
    ) -> impl Future<Output = Result<Item>> + Send + use<> {
        let backlog = self.clone();
        async move {
            let (session, call) = call?;
            let claim = |store: Arc<Store>, call| -> Later<Result<Item>> {
                let (session, client) = (session.clone(), backlog.client.clone());
                Box::pin(async move { store.claim(&client, session, call).await })
            };
            let claiming = anywhere(&backlog.stores, &session, call, claim::VERB, claim);
            let claimed = telling(&session, &backlog.path, &backlog.listeners, nobody, pin!(claiming)).await;
            claimed.map_err(|error| about(error, "no item to claim came", limit, backlog.path()))
        }
    }

    /// Claims several at once: waits for the first, and takes the next ones along that are there already, so many in all at most. Each
    /// is an item of its own.
    ///
    /// ```
    /// # zkrecipes::doctest(async {
    /// # let client = zkrecipes::Client::connect("embedded:", Default::default()).await?;
    /// let queue = client.queue("/queues/mail", Default::default())?;
    /// queue.put_many(&["one", "two", "three"]).await?;
    /// let items = queue.claim_many(2).await?;
    /// assert_eq!(items.iter().map(|item| item.data()).collect::<Vec<_>>(), [b"one", b"two"]);
    /// queue.ack_many(&items).await?;
    /// assert_eq!(queue.len().await?, 1);
    /// # Ok(()) });
    /// ```
    ///
    /// # Cancel safety
    /// As for [`Backlog::claim`].
    pub async fn claim_many(&self, n: usize) -> Result<Vec<Item>> {
        self.begin_many(n, None).await
    }

    /// Waits for as long as `limit` for the first, then Timeout. Zero is one attempt without waiting.
    ///
    /// # Cancel safety
    /// As for [`Backlog::claim`].
    pub async fn claim_many_timeout(&self, n: usize, limit: Duration) -> Result<Vec<Item>> {
        self.begin_many(n, Some(limit)).await
    }

    pub(crate) fn begin_many(
        &self,
        n: usize,
        limit: Option<Duration>,
    ) -> impl Future<Output = Result<Vec<Item>>> + Send + use<> {
        // Those behind the first are not waited for through an outage: it may be worked on meanwhile.
        let (backlog, waiting, more) = (self.clone(), self.wait(limit), self.call(limit));
        async move {
            if n == 0 {
                return Err(Error::invalid("n", "is 0; claim at least 1").with_path(&*backlog.path));
            }
            let (session, more) = more?;
            let mut items = vec![backlog.begin_call(waiting, limit).await?];
            let mut call = more.beside();
            for store in &*backlog.stores {
                let wanted = n - items.len();
                if wanted > 0 {
                    let present = store.claim_present(&backlog.client, &session, &mut call, wanted);
                    items.extend(present.await);
                }
            }
            Ok(items)
        }
    }

    /// Acknowledges several at once, each as by [`Item::ack`]: the requests leave together, and one that fails holds up no other. The
    /// error is that of the first of them that failed.
    ///
    /// # Cancel safety
    /// Dropping the future takes nothing back that is on its way.
    pub fn ack_many(&self, items: &[Item]) -> impl Future<Output = Result<()>> + Send + use<> {
        let acks: Vec<_> = items.iter().map(Item::ack).collect();
        async move { join_all(acks).await.into_iter().collect() }
    }

    /// Claims one after the other, from now on.
    pub(crate) fn claims(&self) -> Claims {
        // In a forked child the lock is the parent's, and so are the items.
        let cancels = if self.client.process().is_present() { self.cancels.times() } else { 0 };
        Claims { backlog: self.clone(), cancels }
    }

    /// Calls back while a verb through this handle waits, for an item or for room: after a second, and then ever less often,
    /// up to once a minute. It asks nothing of the server: the progress says where and how long. Nobody is told of a wait that
    /// is over.
    ///
    /// ```
    /// # zkrecipes::doctest(async {
    /// # let client = zkrecipes::Client::connect("embedded:", Default::default()).await?;
    /// let queue = client.queue("/queues/mail", Default::default())?;
    /// let telling = queue.on_wait(|progress| println!("no mail since {:?}", progress.waited))?;
    /// # queue.put(b"one").await?;
    /// let item = queue.claim().await?;
    /// # item.ack().await?;
    /// telling.unsubscribe();
    /// # Ok(()) });
    /// ```
    pub fn on_wait(&self, callback: impl Fn(WaitProgress) + Send + Sync + 'static) -> Result<Subscription> {
        self.client.session()?;
        Ok(self.listeners.subscribe(callback))
    }

    /// Ends the waits in progress on this handle with Cancelled; later ones are not affected.
    pub fn cancel(&self) {
        if self.client.process().is_present() {
            self.cancels.withdraw();
        }
    }

    // ---- putting

    /// Milliseconds since 1970. Without a client, nothing is put, and any number will do.
    pub(super) fn wall_clock(&self) -> i64 {
        self.client.session().map_or(0, |session| session.clock().wall())
    }

    /// Puts an item of that priority, or due then.
    pub(super) fn put_one(
        &self,
        data: Vec<u8>,
        key: i64,
        options: PutOptions,
    ) -> impl Future<Output = Result<Vec<Put>>> + Send + use<> {
        let PutOptions { key: once, timeout } = options;
        match once {
            None => Either::Left(self.put(vec![data], key, timeout)),
            Some(once) => Either::Right(self.put_once(data, key, &once, timeout)),
        }
    }

    /// The same, once for that key.
    fn put_once(
        &self,
        data: Vec<u8>,
        key: i64,
        once: &str,
        limit: Option<Duration>,
    ) -> impl Future<Output = Result<Vec<Put>>> + Send + use<> {
        let (store, backlog) = (self.next_store().clone(), self.clone());
        // It queues now, as every put.
        let begun = self.call(limit).and_then(|(session, call)| {
            let once = store.write_of_key(once).map_err(|error| error.with_path(self.path()))?;
            let node = once.path().to_owned();
            let putting = store.begin_put_once(&call, &data, key, Box::new(once));
            Ok((session, call, node, putting.map_err(|error| about(error, "not put", limit, self.path()))?))
        });
        async move {
            let (session, mut call, node, putting) = begun?;
            let putting = async {
                if store.is_put_without_waiting(&mut call, &node).await {
                    return Ok(Vec::new());
                }
                let put = putting.outcome(&mut call).await;
                put.map(|put| vec![put]).map_err(|error| about(error, "not put", limit, backlog.path()))
            };
            telling(&session, &backlog.path, &backlog.listeners, nobody, pin!(putting)).await
        }
    }

    /// Puts items of that priority, or due then.
    pub(super) fn put(
        &self,
        items: Vec<Vec<u8>>,
        key: i64,
        limit: Option<Duration>,
    ) -> impl Future<Output = Result<Vec<Put>>> + Send + use<> {
        let (call, backlog, all) = (self.call(limit), self.clone(), items.len());
        let mut rows = spread(items, self.stores.len()).into_iter();
        // Several shards get some, and all of them must have room before the first does.
        let is_spread = rows.len() > 1;
        // It queues now, and not when this is first polled: puts go in the order in which they were called for.
        let begun = call.map(|(session, call)| {
            let first = if is_spread { None } else { rows.next() };
            let first = first.map(|items| self.next_store().begin_put(&call, items, key));
            (session, call, first)
        });
        async move {
            let (session, mut call, mut next) = begun?;
            let putting = async {
                let mut so_far = PutSoFar::default();
                if is_spread {
                    backlog
                        .check_room(&mut call, rows.as_slice(), key)
                        .await
                        .map_err(|error| error.with_put(0))?;
                    next = rows.next().map(|items| backlog.next_store().begin_put(&call, items, key));
                }
                while let Some(putting) = next.take() {
                    let put = match putting {
                        Ok(putting) => putting.outcome(&mut call).await,
                        Err(error) => Err(error),
                    };
                    match put {
                        Ok(put) => so_far.add(put),
                        Err(error) => {
                            let before = so_far.count();
                            so_far.hand_over();
                            let error = match (all, error.put()) {
                                (1, _) => error,
                                (_, put) => error.with_put(before + put.unwrap_or(0)),
                            };
                            return Err(about(error, "not put", limit, backlog.path()));
                        }
                    }
                    next = rows.next().map(|items| backlog.next_store().begin_put(&call, items, key));
                }
                Ok(so_far.hand_over())
            };
            telling(&session, &backlog.path, &backlog.listeners, nobody, pin!(putting)).await
        }
    }

    /// TooLarge unless all shards have room for what they are to get, and a server takes each item.
    async fn check_room(&self, call: &mut Call, rows: &[Vec<Vec<u8>>], key: i64) -> Result<()> {
        for row in rows {
            self.stores[0].check_sizes(call.session(), row, key)?;
        }
        let (all, first) = (self.stores.len(), self.puts.load(Ordering::Relaxed));
        for (at, _) in rows.iter().enumerate().take(all) {
            let layout = &self.stores[(first + at) % all].layout;
            let wanted = rows.iter().skip(at).step_by(all).map(Vec::len).sum();
            room::check(&layout.items, call, wanted, &layout.fresh(key)?).await?;
        }
        Ok(())
    }

    // ---- looking

    /// The data of the next item that could be taken, which stays. What cannot be read is left out, and the log names it.
    pub async fn peek(&self) -> Result<Option<Vec<u8>>> {
        let session = self.client.session()?;
        let mut left_out = LeftOut::of(&self.stores);
        for store in &*self.stores {
            let next = left_out.unless_refused(looking::peek(store, &session).await, "peek")?.flatten();
            if next.is_some() {
                return Ok(next);
            }
        }
        Ok(None)
    }

    /// How many items there are, claimed ones included. It costs one look at their parent, however many there are. Of shards all
    /// have to be counted: Denied if one may not be read.
    #[allow(clippy::len_without_is_empty, reason = "asking a server is no property")]
    pub async fn len(&self) -> Result<usize> {
        let session = self.client.session()?;
        let mut all = 0;
        for store in &*self.stores {
            all += looking::len(&store.layout, &session).await?;
        }
        Ok(all)
    }

    /// The data of all items in order, claimed ones included. It reads every one of them; what cannot be read is left out, and
    /// the log names it.
    pub async fn items(&self) -> Result<Vec<Vec<u8>>> {
        let session = self.client.session()?;
        let mut all = Vec::new();
        let mut left_out = LeftOut::of(&self.stores);
        for store in &*self.stores {
            let found = left_out.unless_refused(looking::items(&store.layout, &session).await, "items")?;
            all.extend(found.into_iter().flatten());
        }
        Ok(all)
    }

    /// How many items can be taken, step aside, or are claimed, and how many dead letters there are: counted by the lists of
    /// items and claims. Of shards all have to be counted: Denied if one may not be read. Of dead letters none is `dead`.
    ///
    /// ```
    /// # zkrecipes::doctest(async {
    /// # let client = zkrecipes::Client::connect("embedded:", Default::default()).await?;
    /// let queue = client.queue("/queues/mail", Default::default())?;
    /// queue.put_many(&["one", "two", "three"]).await?;
    /// let item = queue.claim().await?;
    /// let stats = queue.stats().await?;
    /// assert_eq!((stats.ready, stats.delayed, stats.claimed, stats.dead), (2, 0, 1, 0));
    /// item.nack().await?;
    /// assert_eq!(queue.stats().await?.delayed, 1);
    /// # Ok(()) });
    /// ```
    pub async fn stats(&self) -> Result<QueueStats> {
        let session = self.client.session()?;
        let mut counted = QueueStats::default();
        for store in &*self.stores {
            let counting = looking::count(store, &session, &mut counted).await;
            counting.map_err(|error| error.with_path(self.path()))?;
        }
        if self.living.is_none() {
            let dead = self.dead_layout();
            let letters = looking::list(&dead, &mut session.call(None).reading(), "stats").await;
            counted.dead = letters.map_err(|error| error.with_path(&dead.path))?.len();
        }
        Ok(counted)
    }

    /// The first of the items in order, of each shard so many, and how each of them stands.
    pub(crate) async fn list_items(&self, most: usize) -> Result<Vec<ListedItem>> {
        let session = self.client.session()?;
        let mut all = Vec::new();
        for store in &*self.stores {
            let listed = item_states::list(store, &session, most).await;
            all.extend(listed.map_err(|error| error.with_path(self.path()))?);
        }
        Ok(all)
    }

    /// Takes the claim of the item at `node`, below the path or as a whole path, away; answers who had it, if somebody had.
    pub(crate) async fn break_claim(&self, node: &str) -> Result<Option<String>> {
        let node = contenders::whole(&self.path, node);
        let mut call = self.client.session()?.call(None);
        for store in &*self.stores {
            if path::parent(&node) == store.layout.items
                && store.layout.recognise(path::name(&node)).is_some()
            {
                return item_states::break_claim(store, &mut call, &node).await;
            }
        }
        Ok(None)
    }

    /// The same as [`Backlog::stats`], and `None` if nothing is at the path: then nobody has put anything there yet.
    pub(crate) async fn stats_if_any(&self) -> Result<Option<QueueStats>> {
        let stats = self.stats().await?;
        if stats != QueueStats::default() {
            return Ok(Some(stats));
        }
        let mut call = self.client.session()?.call(None).reading();
        Ok(looking::stat(&mut call, "stats", &self.path).await?.map(|_| stats))
    }

    // ---- dead letters

    /// The items that were claimed `max_attempts` times in vain. Does no I/O.
    pub fn dead(&self) -> DeadLetters {
        let Store { stores, options, .. } = &*self.stores[0];
        let layout = self.stores[0].layout.dead();
        let options = QueueOptions { max_attempts: 0, max_items: None, ephemeral: false, ..options.clone() };
        let path = layout.path.clone();
        // In a forked child the lock is the parent's, and this handle good for nothing.
        let stores = if self.client.process().is_present() { stores.clone() } else { Arc::default() };
        let dead = Backlog::new(self.client.clone(), &path, vec![Store::of(&stores, layout, options)]);
        DeadLetters(Backlog { living: Some(Arc::new(self.clone())), ..dead })
    }

    /// Those of the queue, or of its dead letters, which is the same.
    pub(crate) fn letters(&self) -> DeadLetters {
        if self.living.is_some() { DeadLetters(self.clone()) } else { self.dead() }
    }

    /// Puts the dead letters back into their queue, as new items; answers how many: `queue.dead().replay()`. Each moves in one transaction, so none
    /// is lost or doubled. Of the queue itself it is the same.
    pub async fn replay(&self) -> Result<usize> {
        let (mut call, dead) = (self.client.session()?.call(None), self.dead_layout());
        let letters = looking::list(&dead, &mut call, dead_letters::REPLAY).await;
        self.replay_each(call, &letters.map_err(|error| error.with_path(&dead.path))?).await
    }

    /// The same for the one with that [`id`](DeadLetter::id); 0 if there is none, or somebody else has it.
    pub async fn replay_one(&self, id: &str) -> Result<usize> {
        let (call, dead) = (self.client.session()?.call(None), self.dead_layout());
        if let Some(letter) = dead.recognise(id) {
            return self.replay_each(call, &[letter]).await;
        }
        let example = dead.fresh(0).map_or_else(|_| String::new(), |fresh| format!("{fresh}0000000007"));
        let why = format!(
            "{id:?} is no id of a dead letter of this kind of queue, which is such as {:?}; give one that they say",
            path::name(&example)
        );
        Err(Error::invalid("id", why).with_path(&*self.path))
    }

    async fn replay_each(&self, mut call: Call, letters: &[ItemName]) -> Result<usize> {
        let (living, session) = (self.living.as_deref().unwrap_or(self), call.session().clone());
        let (beginning, mut replayed) = (Beginning::default(), 0);
        for letter in letters {
            let moved = living.next_store().replay_one(&session, &mut call, letter, &beginning).await;
            replayed += usize::from(moved.map_err(|error| error.with_path(living.path()))?);
        }
        Ok(replayed)
    }

    /// Deletes the dead letters that have been there for that long, by our clock and the server's; answers how many:
    /// `queue.dead().purge(age)`. Zero is for all of them, whatever the clocks say. What somebody has claimed stays. Of the queue
    /// itself it is the same, and nothing else of it goes.
    ///
    /// ```
    /// # zkrecipes::doctest(async {
    /// # let client = zkrecipes::Client::connect("embedded:", Default::default()).await?;
    /// # use std::time::Duration;
    /// let queue = client.queue("/queues/mail", zkrecipes::QueueOptions::default().max_attempts(1))?;
    /// queue.put(b"spam").await?;
    /// queue.claim().await?.nack().await?;
    /// assert_eq!(queue.dead().purge(Duration::from_secs(7 * 24 * 3600)).await?, 0);
    /// assert_eq!(queue.dead().purge(Duration::ZERO).await?, 1);
    /// # Ok(()) });
    /// ```
    pub async fn purge(&self, older_than: Duration) -> Result<usize> {
        let session = self.client.session()?;
        let living = self.living.as_deref().unwrap_or(self);
        let purged = living.stores[0].purge(&session, older_than).await;
        purged.map_err(|error| error.with_path(self.dead_layout().path))
    }

    /// That of the dead letters, of which this may be the queue, too.
    fn dead_layout(&self) -> NodeLayout {
        self.living.as_deref().unwrap_or(self).stores[0].layout.dead()
    }

    /// Where something is put next.
    fn next_store(&self) -> &Arc<Store> {
        &self.stores[self.puts.fetch_add(1, Ordering::Relaxed) % self.stores.len()]
    }
}

/// The dead letters of a queue: items that were claimed as often as is allowed, or that nobody can read. They are a [`Backlog`], with the
/// verbs of one.
///
/// ```
/// # zkrecipes::doctest(async {
/// # let client = zkrecipes::Client::connect("embedded:", Default::default()).await?;
/// let queue = client.queue("/queues/mail", zkrecipes::QueueOptions::default().max_attempts(1))?;
/// queue.put(b"spam").await?;
/// queue.claim().await?.nack_with(zkrecipes::Nack::default().reason("refused")).await?;
/// for letter in queue.dead().items().await? {
///     println!("{} after {} attempts: {:?}", letter.id, letter.attempts, letter.reason);
/// }
/// assert_eq!(queue.dead().replay().await?, 1);
/// # Ok(()) });
/// ```
#[derive(Clone, Debug)]
pub struct DeadLetters(Backlog);

impl Deref for DeadLetters {
    type Target = Backlog;

    fn deref(&self) -> &Backlog {
        &self.0
    }
}

impl DeadLetters {
    /// All of them in order, with what is known of their end. It reads every one of them. One that cannot be read hides no
    /// other: its `problem` says why.
    pub async fn items(&self) -> Result<Vec<DeadLetter>> {
        let session = self.0.client.session()?;
        dead_letters::letters(&self.0.stores[0].layout, &session).await
    }
}

/// The items that are claimed one after the other, until a cancel: also one that comes while nothing is waited for.
#[derive(Debug)]
pub struct Claims {
    backlog: Backlog,
    /// How many cancels there had been when this began.
    cancels: u64,
}

impl Claims {
    /// The next one, as [`Backlog::claim`] does; Cancelled after a cancel.
    ///
    /// # Cancel safety
    /// As for [`Backlog::claim`].
    pub fn next(&self) -> impl Future<Output = Result<Item>> + Send + use<> {
        let begun = self.backlog.client.session().and_then(|_| {
            let cancelled = self.backlog.cancels.next();
            let is_over = cancelled.times_before() != self.cancels;
            match is_over {
                true => Err(Error::cancelled()),
                false => {
                    self.backlog.call_until(None, cancelled).map(|(session, call)| (session, call.waiting()))
                }
            }
        });
        self.backlog.begin_call(begun, None)
    }
}

/// What was waited for, if it did not come in time, and where.
fn about(error: Error, what: &str, limit: Option<Duration>, path: &str) -> Error {
    let timeout = || Error::timeout_after(what, limit.filter(|limit| !limit.is_zero()));
    let error = match (error.kind(), error.put()) {
        (ErrorKind::Timeout, None) => timeout(),
        (ErrorKind::Timeout, Some(put)) => timeout().with_put(put),
        _ => error,
    };
    error.with_path(path)
}

fn unless_empty<T>(taken: Result<T>) -> Result<Option<T>> {
    match taken {
        Ok(taken) => Ok(Some(taken)),
        Err(error) if error.kind() == ErrorKind::Timeout => Ok(None),
        Err(error) => Err(error),
    }
}

impl std::fmt::Debug for Backlog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Backlog").field("path", &self.path()).finish_non_exhaustive()
    }
}

/// In how many transactions at most one shard after the other gets some: they are sent at once.
const IN_A_ROW: usize = 4;
/// What an item takes in a packet besides its data, roughly.
const BESIDE_DATA: usize = 200;

/// What to put into one shard after the other: some transactions each, and what goes into one stays together. One shard is
/// done before the next one gets some, so that who hears of a failure knows which of them went in: the first ones.
fn spread(items: Vec<Vec<u8>>, shards: usize) -> Vec<Vec<Vec<u8>>> {
    if shards == 1 {
        return if items.is_empty() { Vec::new() } else { vec![items] };
    }
    let (mut transactions, mut bytes) = (Vec::<Vec<_>>::new(), 0);
    for item in items {
        bytes += item.len() + BESIDE_DATA;
        match transactions.last_mut().filter(|last| last.len() < IN_ONE && bytes <= PACKET_LIMIT) {
            Some(last) => last.push(item),
            None => {
                bytes = item.len() + BESIDE_DATA;
                transactions.push(vec![item]);
            }
        }
    }
    let in_a_row = transactions.len().div_ceil(shards).clamp(1, IN_A_ROW);
    transactions.chunks_mut(in_a_row).map(|row| row.iter_mut().flat_map(std::mem::take).collect()).collect()
}

/// What `take` brings about at one of the stores, as soon as one has something.
async fn anywhere<T>(
    stores: &[Arc<Store>],
    session: &Arc<Session>,
    mut call: Call,
    verb: &'static str,
    take: impl Fn(Arc<Store>, Call) -> Later<Result<T>>,
) -> Result<T> {
    if let [store] = stores {
        return take(store.clone(), call).await;
    }
    // Whoever finds something at one of them comes again to all of them.
    let mut search: Vec<_> = stores.iter().map(|store| store.begin_search(&call)).collect();
    let first = random::below(stores.len());
    let mut stores: Vec<_> = (0..stores.len()).map(|at| &stores[(first + at) % stores.len()]).collect();
    let mut refused = None;
    loop {
        search.iter_mut().for_each(Search::use_current_watch);
        let mut at = 0;
        while let Some(&store) = stores.get(at) {
            at += 1;
            if !call.is_single_attempt() && store.has_nothing_ready(session) {
                continue;
            }
            match take(store.clone(), call.attempt()).await {
                Err(error) if error.kind() == ErrorKind::Timeout => {}
                Err(error) if is_of_one(&error) => {
                    at -= 1;
                    stores.remove(at);
                    refused = Some(log_left_out(error, verb));
                }
                taken => {
                    search.iter_mut().filter(|_| taken.is_ok()).for_each(Search::found);
                    return taken;
                }
            }
        }
        // What is known of and cannot be taken in time would be found again and again.
        let over = match call.is_single_attempt() {
            true => Some(Error::timeout("no item to take came")),
            false => call.end_reason(),
        };
        if let Some(over) = over {
            return Err(refused.filter(|_| over.kind() == ErrorKind::Timeout).unwrap_or(over));
        }
        if let Some(refused) = refused.take_if(|_| stores.is_empty()) {
            return Err(refused);
        }
        let waits = stores.iter().map(|store| {
            let (store, session, mut call) = (Arc::clone(store), session.clone(), call.beside());
            Box::pin(async move { store.next(&session, &mut call, verb).await })
        });
        let (found, at, others) = select_all(waits).await;
        drop(others);
        match found {
            // Back to its place, from where it is taken.
            Ok(found) => drop(found),
            Err(error) if is_of_one(&error) => {
                stores.remove(at);
                refused = Some(log_left_out(error, verb));
                continue;
            }
            Err(error) => match (error.kind(), refused) {
                (ErrorKind::Timeout, Some(refused)) => return Err(refused),
                _ => return Err(error),
            },
        }
        // From here on a broken connection delays us, and only our own deadline ends the wait.
        call.outlast_outages();
        stores.rotate_left(at);
    }
}

/// Whether it is about one of the nodes, and not about the call or the connection.
fn is_of_one(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Denied
            | ErrorKind::TooLarge
            | ErrorKind::Mismatch
            | ErrorKind::NotEmpty
            | ErrorKind::Internal
    )
}

/// Shards that are gone on without; not without all of them.
struct LeftOut {
    others: usize,
}

impl LeftOut {
    fn of(stores: &[Arc<Store>]) -> LeftOut {
        LeftOut { others: stores.len() - 1 }
    }

    /// What was found in a shard; `None` if it is left out, which the log says.
    fn unless_refused<T>(&mut self, found: Result<T>, verb: &str) -> Result<Option<T>> {
        match found {
            Err(error) if self.others > 0 && is_of_one(&error) => {
                self.others -= 1;
                log_left_out(error, verb);
                Ok(None)
            }
            found => found.map(Some),
        }
    }
}

fn log_left_out(error: Error, verb: &str) -> Error {
    tracing::warn!(target: "zkrecipes", event = "shard_left_out", path = error.path(), %error, "{verb}: one shard of the queue is left out");
    error
}
