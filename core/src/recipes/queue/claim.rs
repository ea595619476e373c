//! Claiming an item: a node of ours says that we work on it, and goes with our session, so that the next one has it then.
//!
//! 1. The transaction of a claim makes that node and writes the item's data anew, which raises its version: the version is how
//!    often it was claimed. When its answer is lost, the node tells by what is written in it. It also ends the pause of an item
//!    that was given back, or proves that there is none.
//! 2. An `ack` removes the item and our node in one transaction, which checks that the node still is ours.
//! 3. A `nack` gives the item back, and lets it step aside for a while. After the last attempt it moves it to the dead letters.
//! 4. A claim that nobody was given is written down, and counts for nothing (`unseen_claims`).
//!
//! Who may not delete the item could never acknowledge it, and who may not delete the claim never give it back. So whether we
//! may is asked once, before the first claim.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::oneshot;

use super::dead_letter_header::DeadLetterHeader;
use super::layout::{ItemName, ItemPause, make_claims};
use super::listing::{HandedOutItem, ReadItem};
use super::store::Store;
use super::unseen_claims::UnseenClaims;
use crate::client::Client;
use crate::error::{Error, ErrorKind, LostReason, Result};
use crate::futures::unless;
use crate::log;
use crate::nodes::Transaction;
use crate::path;
use crate::recipes::held::Held;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::random;
use crate::session::refusal::refusal;
use crate::session::server_session::{ServerSession, Tenant};
use crate::session::skipped_nodes::Flaw;
use crate::session::wire::{Applied, CreateMode, WireError, Write};
use crate::sort;
use crate::turn::deletable;
use crate::turn::grant::Grant;
use crate::turn::hold::finishing::FinalWrites;
use crate::turn::hold::{Hold, Tenure};
use crate::turn::name::ContenderName;
use crate::turn::place::Node;

pub(super) const VERB: &str = "claim";
const NACK: &str = "nack";
/// How long an item steps aside after the first attempt, and at most.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(5 * 60);

impl Store {
    /// Claims the next item, as soon as there is one.
    pub(super) async fn claim(
        self: &Arc<Self>,
        client: &Client,
        session: Arc<Session>,
        call: Call,
    ) -> Result<Item> {
        self.claim_one(client, session, call, false).await
    }

    /// Claims those that are there now, `most` at most, each by itself; what cannot be had is for a later call. It lists them once,
    /// unless so many are known.
    pub(super) async fn claim_present(
        self: &Arc<Self>,
        client: &Client,
        session: &Arc<Session>,
        call: &mut Call,
        most: usize,
    ) -> Vec<Item> {
        let count = || self.listing.count_ready(session, most);
        if count() < most && self.list_anew(call, VERB, true).await.is_err() {
            return Vec::new();
        }
        let claims = (0..count()).map(|_| self.claim_one(client, session.clone(), call.attempt(), true));
        let mut items: Vec<_> = join_all(claims).await.into_iter().flatten().collect();
        sort::by(&mut items, |one: &Item, other| one.work.claimed.name.cmp(&other.work.claimed.name));
        items
    }

    /// Claims the next item; of those that are known, or as soon as there is one.
    async fn claim_one(
        self: &Arc<Self>,
        client: &Client,
        session: Arc<Session>,
        mut call: Call,
        is_known: bool,
    ) -> Result<Item> {
        self.marks.look_after(&session);
        self.look_after_keys(&session);
        let since = session.now();
        loop {
            let mut out = match is_known {
                true => self.hand_out(&session).ok_or_else(|| Error::timeout("no other item is known"))?,
                false => self.next(&session, &mut call, VERB).await?,
            };
            let Some(seen) = out.read(&mut call, VERB).await? else {
                out.mark_gone();
                continue;
            };
            let alive = self.move_if_dead(&mut call, VERB, out, &seen).await?;
            let Some((out, data, rest)) = alive else { continue };
            let (attempts, czxid) = (seen.stat.version.wrapping_add(1), seen.stat.czxid);
            let Some((grant, out)) = self.win(&session, &mut call, out, seen).await? else {
                continue;
            };
            self.listing.forget_pause(&out.name.text);
            let (node, name, is_over) = (out.path(), out.name.clone(), out.is_over.clone());
            let hold = Hold::begin(session.clone(), &self.layout.path, grant, Some(Box::new(out)));
            // As what was waited for in a line is told: see `waiting`.
            session.counters.acquisitions.one();
            session.counters.claims.one();
            log::acquired(|| hold.tenancy(), session.now().since(since), false);
            if session.is_closing() {
                // Closing has told the loss of everything that was held by then. This one came later.
                hold.lose(LostReason::Closed);
                return Err(Error::closed("client").with_path(&self.layout.path));
            }
            let (store, is_seen, is_settled_by_hand) = (self.clone(), Default::default(), Default::default());
            let claimed = Claimed {
                store,
                node,
                name,
                czxid,
                data,
                rest,
                attempts,
                is_over,
                is_seen,
                is_settled_by_hand,
            };
            return Ok(Item::new(Held::of(client, hold), claimed));
        }
    }

    /// Sends the transaction of the claim; `None` if somebody else was faster, or the item has to be read again: what is
    /// written leaves on the connection on which it was read, or not at all.
    async fn win(
        self: &Arc<Self>,
        session: &Arc<Session>,
        call: &mut Call,
        mut out: HandedOutItem,
        seen: ReadItem,
    ) -> Result<Option<(Grant, HandedOutItem)>> {
        let version = seen.stat.version;
        let node = path::join(&self.layout.claims, &out.name.text);
        let said = format!("{} {}", session.identity(), random::guid().simple()).into_bytes();
        let mut writes = vec![
            Write::Create { path: node.clone(), data: said.clone(), mode: CreateMode::Ephemeral, acl: None },
            Write::Set { path: out.path(), data: seen.bytes, version: Some(version) },
        ];
        writes.extend(self.layout.end_of_pause(&out.name.text, out.pause.as_deref(), version));
        let about_item = writes.len();
        writes.extend(seen.same_parent);
        let guard = Write::Check { path: out.path(), version: Some(version.wrapping_add(1)) };
        let server_session = call.server_session(VERB).await?;
        let mut pending = PendingClaim {
            store: self.clone(),
            server_session: server_session.clone(),
            item_czxid: seen.stat.czxid,
            node: node.clone(),
            said,
            guard: guard.clone(),
            grant: None,
            is_settled: true,
        };
        loop {
            if !self.may_be_settled(session, &server_session, call).await? {
                make_claims(session, call, VERB, &self.layout).await?;
                continue;
            }
            pending.is_settled = false;
            let czxid = match call.receive(VERB, server_session.multi_on(seen.on, &writes)).await? {
                // All that one transaction does has one zxid. Servers before 3.8.2 do not tell it of what was created, and as long as
                // it is not known, a later claim of ours cannot be told from this one.
                Ok(applied) => match applied.get(1) {
                    Some(Applied::Set(item)) => item.mzxid,
                    _ => -1,
                },
                Err(WireError::Part { index, error }) => {
                    pending.is_settled = true;
                    match (index, *error) {
                        (0, WireError::NoNode) => {
                            server_session.forget_deletions_below(&self.layout.claims);
                            make_claims(session, call, VERB, &self.layout).await?;
                            continue;
                        }
                        (part, WireError::BadVersion | WireError::NoNode) if part == about_item => {
                            out.mark_moved();
                            return Ok(None);
                        }
                        // It is paused, and a new list says until when.
                        (2.., WireError::NoNode | WireError::NodeExists) => {
                            out.mark_gone();
                            return Ok(None);
                        }
                        // We may read it, and not write it.
                        (1, WireError::NoAuth) => {
                            out.set_aside(session, Flaw::Denied);
                            return Ok(None);
                        }
                        // Claimed and given back since it was read.
                        (_, WireError::BadVersion) => drop(out),
                        (_, WireError::NoNode | WireError::NodeExists) => out.mark_gone(),
                        (_, error) => return Err(refusal(error, VERB, &self.layout.path)),
                    }
                    self.listing.count_race(true, session.now());
                    return Ok(None);
                }
                Err(WireError::NotSent | WireError::SessionEnded) => {
                    pending.is_settled = true;
                    return Ok(None);
                }
                Err(WireError::ConnectionLoss) => match pending.recover(call).await? {
                    Some(czxid) => czxid,
                    // It was not applied, or the session has ended: to be read again, whatever became of it.
                    None => {
                        pending.is_settled = true;
                        return Ok(None);
                    }
                },
                // With what else a claim writes.
                Err(WireError::TooLarge(_)) => {
                    pending.is_settled = true;
                    out.set_aside(session, Flaw::Size);
                    return Ok(None);
                }
                Err(error) => {
                    pending.is_settled = true;
                    return Err(refusal(error, VERB, &self.layout.path));
                }
            };
            out.mark_claimed();
            self.listing.count_race(false, session.now());
            deletable::settle(&server_session, &self.layout.items);
            deletable::settle(&server_session, &self.layout.claims);
            let interest = server_session.interest_guarded(&node, Some(guard.clone()));
            let node = Node::of(node, ContenderName::permit(&out.name.text), czxid);
            let mut grant = Grant::of(server_session.clone(), vec![node], vec![interest]);
            // Each claim raises the version of the item.
            grant.guard = Some(Box::new(guard));
            grant.is_claim = true;
            if !pending.grant.insert(grant).becomes_firm(call, VERB).await? {
                return Ok(None);
            }
            pending.is_settled = true;
            return Ok(pending.grant.take().map(|grant| (grant, out)));
        }
    }

    /// Denied if what is claimed could not be acknowledged or given back; false if claims have no parent yet.
    async fn may_be_settled(
        &self,
        session: &Arc<Session>,
        server_session: &Arc<ServerSession>,
        call: &mut Call,
    ) -> Result<bool> {
        let layout = &self.layout;
        let of_items = deletable::check(session, server_session, call, VERB, &layout.items).await;
        of_items.map_err(|error| {
            if error.kind() == ErrorKind::Denied { never_done(&layout.items) } else { error }
        })?;
        deletable::check_below(session, server_session, call, VERB, &layout.root, &layout.claims).await
    }
}

fn never_done(items: &str) -> Error {
    Error::new(
        ErrorKind::Denied,
        "the access list of the path does not let this client delete there: what it claimed could never be acknowledged; \
         have DELETE granted on the path, or connect with credentials (auth) that have it",
    )
    .with_path(items)
}

/// A claim that may or may not have been made, or is not to be given to anybody yet. Dropped unsettled, it is deleted if it was made.
struct PendingClaim {
    store: Arc<Store>,
    server_session: Arc<ServerSession>,
    item_czxid: i64,
    node: String,
    said: Vec<u8>,
    /// Holds as long as no other claim has the name: see [`Grant::guard`].
    guard: Write,
    /// If it was made.
    grant: Option<Grant>,
    is_settled: bool,
}

impl PendingClaim {
    /// After a lost answer: the czxid of the node if it is ours. A quorum write that changes nothing goes ahead of the read:
    /// when it is answered, what was asked before has been decided.
    async fn recover(&mut self, call: &mut Call) -> Result<Option<i64>> {
        loop {
            if self.server_session.has_ended() {
                return Ok(None);
            }
            let (settled, read) = (
                self.server_session.settle(path::parent(&self.node)),
                self.server_session.get_data(&self.node),
            );
            let settled = call.receive(VERB, settled).await?;
            match settled.and(call.receive(VERB, read).await?) {
                Ok((said, stat)) => {
                    let is_ours =
                        said == self.said && stat.ephemeral_owner as u64 == self.server_session.session_id();
                    return Ok(is_ours.then_some(stat.czxid));
                }
                Err(WireError::NoNode) => return Ok(None),
                Err(error) => call.retry_or_refuse(error, VERB, &self.node).await?,
            }
        }
    }
}

impl Drop for PendingClaim {
    fn drop(&mut self) {
        if !self.is_settled && self.server_session.process().is_present() {
            // One who deletes it is enough.
            self.grant.iter_mut().for_each(|grant| grant.nodes.clear());
            let (node, said) = (std::mem::take(&mut self.node), std::mem::take(&mut self.said));
            let (store, session, item) =
                (self.store.clone(), self.server_session.clone(), path::name(&node).to_owned());
            let noted = Box::pin(store.note_unseen(session, item, self.item_czxid));
            drop(self.server_session.delete_own_in_background(node, said, self.guard.clone(), noted));
        }
    }
}

/// An item that we work on: a [`Held`], with the verbs of one. Nobody else has it as long as it is held. When the last of
/// its clones is dropped unsettled it is given back in the background; if somebody has looked at its data as [`Item::nack`] does,
/// because the work has failed then, as a rule. [`Held::release`] gives it back as if nobody had failed, to its old place.
///
/// ```
/// # zkrecipes::doctest(async {
/// # let client = zkrecipes::Client::connect("embedded:", Default::default()).await?;
/// let queue = client.queue("/queues/mail", Default::default())?;
/// queue.put(b"hello").await?;
/// let item = queue.claim().await?;
/// assert_eq!((item.data(), item.attempts()), (&b"hello"[..], 1));
/// item.ack().await?;
/// assert_eq!(queue.len().await?, 0);
/// # Ok(()) });
/// ```
#[must_use = "dropping an Item gives it back at once; keep it for as long as the work takes"]
#[derive(Clone)]
pub struct Item {
    work: ItemWork,
    /// Gives it back when it is dropped.
    _gives_back: Arc<GivesBackWhenDropped>,
}

/// What is done with an item.
#[derive(Clone)]
struct ItemWork {
    held: Held,
    claimed: Arc<Claimed>,
}

pub(super) struct Claimed {
    pub(super) store: Arc<Store>,
    /// The path of the item.
    pub(super) node: String,
    pub(super) name: ItemName,
    /// The czxid of the item.
    pub(super) czxid: i64,
    pub(super) data: Vec<u8>,
    /// What is left for others in the same node.
    pub(super) rest: Option<Vec<u8>>,
    pub(super) attempts: i32,
    /// Whether it is gone.
    pub(super) is_over: Arc<AtomicBool>,
    /// Whether somebody has looked at the data: else nobody's work on it has failed.
    pub(super) is_seen: AtomicBool,
    /// Whether somebody has acknowledged it or given it back, or tried to.
    pub(super) is_settled_by_hand: AtomicBool,
}

impl Deref for Item {
    type Target = Held;

    fn deref(&self) -> &Held {
        &self.work.held
    }
}

impl Item {
    pub(super) fn new(held: Held, claimed: Claimed) -> Item {
        let work = ItemWork { held, claimed: Arc::new(claimed) };
        Item { _gives_back: Arc::new(GivesBackWhenDropped(work.clone())), work }
    }

    /// What was put.
    pub fn data(&self) -> &[u8] {
        self.work.claimed.is_seen.store(true, Ordering::Relaxed);
        &self.work.claimed.data
    }

    /// How often it was claimed, this time included.
    pub fn attempts(&self) -> u32 {
        self.work.claimed.attempts as u32
    }

    /// It is done: removes it from the queue, if our claim still stands; NotHeld if not, and then it is somebody else's.
    /// An answer that gets lost is looked for; ConnectionLost says that it could not be found out.
    ///
    /// # Cancel safety
    /// Dropping the future takes nothing back that is on its way.
    pub fn ack(&self) -> impl Future<Output = Result<()>> + Send + use<> {
        let item = self.clone();
        async move { item.work.acknowledge(Vec::new()).await }
    }

    /// The same, together with `writes`, all in one transaction: what the work has brought about is there exactly if the
    /// item is done. Writes that are refused leave the item claimed, and the transaction is used up either way. It may be
    /// [`Held::guarded`] by this item, by something else that is held, or by nothing. NotHeld: the item is gone, or what guards
    /// the writes. Invalid: they are of another client.
    ///
    /// ```
    /// # zkrecipes::doctest(async {
    /// # use zkrecipes::CreateMode;
    /// # let client = zkrecipes::Client::connect("embedded:", Default::default()).await?;
    /// let queue = client.queue("/queues/orders", Default::default())?;
    /// queue.put(b"tea").await?;
    /// let item = queue.claim().await?;
    /// let bill = client.nodes().transaction();
    /// bill.create("/bill", item.data(), CreateMode::Persistent)?;
    /// item.ack_with(&bill).await?;
    /// # Ok(()) });
    /// ```
    pub fn ack_with(&self, writes: &Transaction) -> impl Future<Output = Result<()>> + Send + use<> {
        let held = &self.work.held;
        let (item, writes) = (self.clone(), writes.surrender_to(held.client(), held.hold()));
        async move {
            let (writes, guard) = writes?;
            let outcome = item.work.acknowledge(writes).await;
            match guard {
                Some(guard) => guard.answered(outcome),
                None => outcome,
            }
        }
    }

    /// The work has failed: gives it back, and lets it step aside for the others, for a second after the first attempt and
    /// twice as long after each further one, up to five minutes. Then it is at its old place again. After the last of
    /// `max_attempts` it goes to the dead letters.
    ///
    /// ConnectionLost says that this is not confirmed; it is given back in the background then, and may not step aside. So is
    /// one that cannot go to the dead letters, and the error says why: whoever claims it next tries that again. Either way the item is
    /// not ours any more, as after a release, and no loss of it is told.
    ///
    /// # Cancel safety
    /// It begins when it is called, and goes on when the future is dropped.
    pub fn nack(&self) -> impl Future<Output = Result<()>> + Send + use<> {
        self.nack_with(Nack::default())
    }

    /// The same with a pause of one's own, or a reason, which is kept with the dead letter if this was the last attempt.
    ///
    /// ```
    /// # zkrecipes::doctest(async {
    /// # let client = zkrecipes::Client::connect("embedded:", Default::default()).await?;
    /// use zkrecipes::Nack;
    ///
    /// let queue = client.queue("/queues/mail", zkrecipes::QueueOptions::default().max_attempts(1))?;
    /// queue.put(b"to nobody").await?;
    /// queue.claim().await?.nack_with(Nack::default().reason("no such user")).await?;
    /// let letters = queue.dead().items().await?;
    /// assert_eq!(letters[0].reason.as_deref(), Some("no such user"));
    /// # Ok(()) });
    /// ```
    ///
    /// # Cancel safety
    /// As for [`Item::nack`].
    pub fn nack_with(&self, nack: Nack) -> impl Future<Output = Result<()>> + Send + use<> {
        let giving_back = self.work.begin_to_give_back(nack);
        async move { giving_back?.await.unwrap_or_else(|_| Err(Error::connection_lost("a nack"))) }
    }

    /// Leaves a scope: done if its body succeeded, given back as by [`Item::nack`] if not; silent when it was settled before.
    /// Lost when it was lost although the body succeeded. ConnectionLost: it may be done or not; it is given back in the
    /// background.
    ///
    /// # Cancel safety
    /// Dropping the future gives back in the background what is not done.
    pub fn leave(&self, body_failed: bool) -> impl Future<Output = Result<()>> + Send + use<> {
        self.leave_for(body_failed.then(Nack::default))
    }

    /// The same, given back as `failure` says if there is one.
    pub fn leave_for(&self, failure: Option<Nack>) -> impl Future<Output = Result<()>> + Send + use<> {
        let (item, releases) = (self.clone(), ReleasesWhenDropped(Some(self.work.held.clone())));
        async move {
            let held = &item.work.held;
            held.client().process().check()?;
            if item.is_settled() {
                return Ok(());
            }
            if let Some(nack) = failure {
                let giving_back = item.nack_with(nack);
                // That goes on by itself from here on. The error of the body is the one to tell.
                releases.done();
                // What is lost needs no giving back, and without a server nobody answers.
                let _ = unless(giving_back, held.hold().session_lost()).await;
                return Ok(());
            }
            match item.ack().await {
                Err(error) if error.kind() == ErrorKind::NotHeld => {
                    Err(held.hold().lost_error(error.reason().unwrap_or(LostReason::Deleted)))
                }
                answer => answer,
            }
        }
    }

    fn is_settled(&self) -> bool {
        self.work.held.is_released() || self.work.held.hold().tenure() == Tenure::Released
    }

    /// Whether an `ack` or a `nack` is under way.
    #[doc(hidden)]
    pub fn is_being_settled(&self) -> bool {
        self.work.held.hold().is_finishing()
    }
}

impl ItemWork {
    async fn acknowledge(&self, extra: Vec<Write>) -> Result<()> {
        self.remove("ack", extra).await?;
        self.held.hold().session().counters.acks.one();
        Ok(())
    }

    /// Removes the item and our claim, and applies `extra`.
    async fn remove(&self, verb: &'static str, extra: Vec<Write>) -> Result<()> {
        let Claimed { store, name, node, rest, is_over, attempts, .. } = &*self.claimed;
        // Nobody of ours changes an item that is claimed. With another version somebody else has claimed it, or it is another
        // one of the same name.
        let (mut writes, goes) = store.removal_of(name, node.clone(), rest.clone(), *attempts);
        writes.extend(extra);
        let (is_over, store, item, before) =
            (is_over.clone(), store.clone(), name.text.clone(), attempts.wrapping_sub(1));
        let session = self.held.hold().session().clone();
        let then = move || {
            is_over.store(goes, Ordering::Release);
            store.forget_unseen(&session, &item, before);
        };
        self.finish(verb, writes, then).await
    }

    /// Ends our claim together with `writes`, of which the first is about the item; `then` is called before anybody has it.
    async fn finish(
        &self,
        verb: &'static str,
        writes: Vec<Write>,
        then: impl FnOnce() + Send + 'static,
    ) -> Result<()> {
        self.held.client().session()?;
        self.unless_settled()?;
        self.claimed.is_settled_by_hand.store(true, Ordering::Relaxed);
        let (witness, marks) = (self.claimed.node.clone(), self.claimed.store.marks.clone());
        self.held.hold().finish(FinalWrites { verb, writes, witness, marks }, then).await
    }

    fn unless_settled(&self) -> Result<()> {
        match self.held.is_released() {
            true => Err(self.held.hold().released_before()),
            false => Ok(()),
        }
    }

    /// In a task of its own: whoever waits for it may stop.
    fn begin_to_give_back(&self, nack: Nack) -> Result<oneshot::Receiver<Result<()>>> {
        let session = self.held.client().session()?;
        let (answer, answered) = oneshot::channel();
        let work = self.clone();
        session.clock().clone().spawn(Box::pin(async move {
            let given_back = work.give_back(nack).await;
            if given_back.is_ok() {
                work.held.hold().session().counters.nacks.one();
            }
            drop(answer.send(given_back));
        }));
        Ok(answered)
    }

    async fn give_back(&self, nack: Nack) -> Result<()> {
        self.unless_settled()?;
        self.claimed.is_settled_by_hand.store(true, Ordering::Relaxed);
        let Claimed { store, name, node, attempts, czxid, .. } = &*self.claimed;
        while store.has_no_attempt_left(*attempts) {
            let mut call = self.held.hold().session().call(None);
            let unseen = store.unseen_claims(&mut call, NACK, &name.text, *czxid).await;
            let is_last = |unseen: &UnseenClaims| store.has_no_attempt_left(*attempts - unseen.count);
            if !unseen.as_ref().map_or(true, is_last) {
                break;
            }
            let moved = match unseen {
                Ok(unseen) => self.move_to_dead_letters(nack.reason.clone(), unseen.end).await,
                Err(error) => Err(error),
            };
            // One more was written down meanwhile.
            if moved.as_ref().is_err_and(|error| self.is_about_unseen(error)) {
                continue;
            }
            if moved.as_ref().is_err_and(|error| !is_over(error)) {
                // Whoever comes next tries again.
                let _ = self.held.release_in_background();
            }
            return moved;
        }
        let length = nack.delay.unwrap_or_else(|| pause_after(*attempts as u32));
        if length.is_zero() {
            return match self.held.hold().is_finishing() {
                true => Err(self.held.hold().not_held()),
                false => self.held.release_as(NACK).await,
            };
        }
        let (session, listing) = (self.held.hold().session().clone(), store.listing.clone());
        let pause = ItemPause::new(&name.text, session.clock().wall(), length);
        if listing.has_room_for_pauses() {
            let mut writes = vec![Write::Check { path: node.clone(), version: Some(*attempts) }];
            writes.extend(listing.layout.pause(&name.text, &pause));
            let (known, name, listing, session) =
                (pause.clone(), name.text.clone(), listing.clone(), session.clone());
            let then = move || listing.set_pause(&session, &name, known, true);
            match self.finish(NACK, writes, then).await {
                Err(error) if error.kind() == ErrorKind::ConnectionLost => {
                    let _ = self.held.release_in_background();
                    return Err(error);
                }
                Err(error) if !is_over(&error) => {
                    let path = self.held.path();
                    tracing::warn!(target: "zkrecipes", event = "pause_not_written", path, node, %error, "the pause of an item that is given back holds for this client alone");
                }
                answer => return answer,
            }
        }
        listing.set_pause(&session, &name.text, pause, false);
        self.held.release_as(NACK).await
    }

    /// Whether a transaction was refused because others of its claims are known to be unseen by now.
    fn is_about_unseen(&self, error: &Error) -> bool {
        let Claimed { store, name, .. } = &*self.claimed;
        matches!(error.kind(), ErrorKind::BadVersion | ErrorKind::NoNode | ErrorKind::Exists)
            && error.path() == Some(&store.layout.unseen(&name.text))
    }

    /// Moves it to the dead letters, if what is known of its unseen claims can be ended with it.
    async fn move_to_dead_letters(&self, reason: Option<String>, end_of_unseen: Vec<Write>) -> Result<()> {
        let Claimed { store, name, data, attempts, .. } = &*self.claimed;
        let header = DeadLetterHeader { attempts: *attempts as u32, reason };
        let session = self.held.hold().session().clone();
        store.look_at_dead_parent(&session, &mut session.call(None)).await?;
        let mut letters =
            store.dead_letter_writes(name, header, &store.layout.encode(data)).into_iter().peekable();
        loop {
            let writes = letters.peek().cloned().into_iter().chain(end_of_unseen.clone());
            match self.remove(NACK, writes.collect()).await {
                Err(error) if self.is_about_unseen(&error) => return Err(error),
                Err(error) if error.kind() == ErrorKind::NoNode => store.make_dead_parent(&session).await?,
                Err(error) if error.kind() == ErrorKind::TooLarge && letters.len() > 1 => {
                    drop(letters.next())
                }
                answer => {
                    answer?;
                    session.counters.dead_letters.one();
                    return Ok(());
                }
            }
        }
    }
}

/// Whether it says that nothing is left to give back, or that somebody else does so.
fn is_over(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotHeld | ErrorKind::Closed | ErrorKind::Forked)
}

/// Whoever drops an item unsettled gives it back. On its way to a caller who has gone it just goes back, with the [`Held`].
struct GivesBackWhenDropped(ItemWork);

impl Drop for GivesBackWhenDropped {
    fn drop(&mut self) {
        let held = &self.0.held;
        // In a forked child it is the parent's.
        let is_ours = held.client().process().is_present();
        if !is_ours || !held.stands() || held.hold().is_finishing() {
            return;
        }
        let Claimed { store, name, czxid, attempts, is_seen, is_settled_by_hand, .. } = &*self.0.claimed;
        if is_seen.load(Ordering::Relaxed) {
            return drop(self.0.begin_to_give_back(Nack::default()));
        }
        if is_settled_by_hand.load(Ordering::Relaxed) {
            return;
        }
        let server_session = held.hold().session().server_session();
        let noted = store.clone().note_unseen(server_session.clone(), name.text.clone(), *czxid);
        // Until then nobody is to find that it has no attempt left.
        let keeps = store.has_no_attempt_left(*attempts).then(|| held.clone());
        drop(server_session.in_background(async move {
            noted.await;
            drop(keeps);
        }));
    }
}

/// Whoever leaves a scope keeps nothing, whatever comes of it, though others may have clones.
struct ReleasesWhenDropped(Option<Held>);

impl ReleasesWhenDropped {
    fn done(mut self) {
        self.0 = None;
    }
}

impl Drop for ReleasesWhenDropped {
    fn drop(&mut self) {
        if let Some(held) = &self.0 {
            // Settled or lost, there is nothing to do.
            let _ = held.release_in_background();
        }
    }
}

impl std::fmt::Debug for Item {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Item")
            .field("node", &self.work.claimed.node)
            .field("attempts", &self.attempts())
            .finish()
    }
}

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

/// How long to step aside after so many attempts.
fn pause_after(attempts: u32) -> Duration {
    let times = 1u32.checked_shl(attempts.saturating_sub(1)).unwrap_or(u32::MAX);
    FIRST_PAUSE.saturating_mul(times).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest() {
        let seconds: Vec<_> = (1..=11).map(|attempts| pause_after(attempts).as_secs()).collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
        assert_eq!((pause_after(0), pause_after(u32::MAX)), (FIRST_PAUSE, LONGEST_PAUSE));
    }
}
