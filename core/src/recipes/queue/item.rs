//! An item that was claimed, until it is settled or lost.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::oneshot;

use super::Store;
use super::layout::Name;
use super::letter::Obituary;
use super::pause::{self, Nack, Pause};
use crate::error::{Error, ErrorKind, LostReason, Result};
use crate::nodes::Transaction;
use crate::recipes::held::Held;
use crate::session::wire::Write;
use crate::turn::hold::Tenure;
use crate::turn::hold::finishing::Ending;

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
    work: Work,
    /// Gives it back when it is dropped.
    _keeper: Arc<Keeper>,
}

/// What is done with an item.
#[derive(Clone)]
struct Work {
    held: Held,
    claimed: Arc<Claimed>,
}

pub(super) struct Claimed {
    pub(super) store: Arc<Store>,
    /// The path of the item.
    pub(super) node: String,
    pub(super) name: Name,
    pub(super) data: Vec<u8>,
    /// What is left for others in the same node.
    pub(super) rest: Option<Vec<u8>>,
    pub(super) attempts: i32,
    /// Whether it is gone.
    pub(super) is_over: Arc<AtomicBool>,
    /// Whether somebody has looked at the data: else nobody's work on it has failed.
    pub(super) is_seen: AtomicBool,
}

impl Deref for Item {
    type Target = Held;

    fn deref(&self) -> &Held {
        &self.work.held
    }
}

impl Item {
    pub(super) fn new(held: Held, claimed: Claimed) -> Item {
        let work = Work { held, claimed: Arc::new(claimed) };
        Item { _keeper: Arc::new(Keeper(work.clone())), work }
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
        async move { item.work.remove("ack", Vec::new()).await }
    }

    /// The same, together with `writes`, all in one transaction: what the work has brought about is there exactly if the
    /// item is done. Writes that are refused leave the item claimed, and the transaction is used up either way. It may be
    /// [`Held::guarded`] by this item, by something else that is held, or by nothing.
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
        let (item, writes) = (self.clone(), writes.surrender());
        async move { item.work.remove("ack", writes?).await }
    }

    /// The work has failed: gives it back, and lets it step aside for the others, for a second after the first attempt and
    /// twice as long after each further one, up to five minutes. Then it is at its old place again. After the last of
    /// `max_attempts` it goes to the dead letters.
    ///
    /// ConnectionLost says that this is not confirmed; it is given back in the background then, and may not step aside.
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
        let (item, leaving) = (self.clone(), Leaving(Some(self.work.held.clone())));
        async move {
            let held = &item.work.held;
            held.client().process().check()?;
            if item.is_settled() {
                return Ok(());
            }
            if let Some(nack) = failure {
                let giving_back = item.nack_with(nack);
                // That goes on by itself from here on. The error of the body is the one to tell.
                leaving.done();
                let _ = giving_back.await;
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

impl Work {
    /// Removes the item and our claim, and applies `extra`.
    async fn remove(&self, verb: &'static str, extra: Vec<Write>) -> Result<()> {
        let Claimed { store, name, node, rest, is_over, attempts, .. } = &*self.claimed;
        // Nobody of ours changes an item that is claimed. With another version somebody else has claimed it, or it is another
        // one of the same name.
        let (mut writes, goes) = store.without(name, node.clone(), rest.clone(), *attempts);
        writes.extend(extra);
        let is_over = is_over.clone();
        self.finish(verb, writes, move || is_over.store(goes, Ordering::Release)).await
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
        let (witness, marks) = (self.claimed.node.clone(), self.claimed.store.marks.clone());
        self.held.hold().finish(Ending { verb, writes, witness, marks }, then).await
    }

    fn unless_settled(&self) -> Result<()> {
        match self.held.is_released() {
            true => Err(Error::not_held("it was settled before").with_path(self.held.path())),
            false => Ok(()),
        }
    }

    /// In a task of its own: whoever waits for it may stop.
    fn begin_to_give_back(&self, nack: Nack) -> Result<oneshot::Receiver<Result<()>>> {
        let session = self.held.client().session()?;
        let (answer, answered) = oneshot::channel();
        let work = self.clone();
        session.clock().clone().spawn(Box::pin(async move { drop(answer.send(work.give_back(nack).await)) }));
        Ok(answered)
    }

    async fn give_back(&self, nack: Nack) -> Result<()> {
        self.unless_settled()?;
        let Claimed { store, name, node, attempts, .. } = &*self.claimed;
        if store.is_spent(*attempts) {
            return self.bury(nack.reason).await;
        }
        let length = nack.delay.unwrap_or_else(|| pause::after(*attempts as u32));
        if length.is_zero() {
            return self.held.release().await;
        }
        let (session, stock) = (self.held.hold().session().clone(), store.stock.clone());
        let pause = Pause::new(&name.text, session.clock().wall(), length);
        if stock.has_room_for_pauses() {
            let mut writes = vec![Write::Check { path: node.clone(), version: Some(*attempts) }];
            writes.extend(stock.layout.pause(&name.text, &pause));
            let (known, name, stock, session) =
                (pause.clone(), name.text.clone(), stock.clone(), session.clone());
            let then = move || stock.steps_aside(&session, &name, known, true);
            match self.finish("nack", writes, then).await {
                Err(error) if error.kind() == ErrorKind::ConnectionLost => {
                    let _ = self.held.release_in_background();
                    return Err(error);
                }
                Err(error)
                    if !matches!(
                        error.kind(),
                        ErrorKind::NotHeld | ErrorKind::Closed | ErrorKind::Forked
                    ) =>
                {
                    let path = self.held.path();
                    tracing::warn!(target: "zkrecipes", event = "pause_not_written", path, node, %error, "the pause of an item that is given back holds for this client alone");
                }
                answer => return answer,
            }
        }
        stock.steps_aside(&session, &name.text, pause, false);
        self.held.release().await
    }

    /// Moves it to the dead letters.
    async fn bury(&self, reason: Option<String>) -> Result<()> {
        let Claimed { store, name, data, attempts, .. } = &*self.claimed;
        let obituary = Obituary { attempts: *attempts as u32, reason };
        let mut letters =
            store.letters(name, obituary, &store.stock.layout.encode(data)).into_iter().peekable();
        loop {
            let letter = letters.peek().cloned();
            match self.remove("nack", letter.into_iter().collect()).await {
                Err(error) if error.kind() == ErrorKind::NoNode => {
                    store.make_dead(self.held.hold().session()).await?
                }
                Err(error) if error.kind() == ErrorKind::TooLarge && letters.len() > 1 => {
                    drop(letters.next())
                }
                answer => return answer,
            }
        }
    }
}

/// Whoever drops an item unsettled gives it back. On its way to a caller who has gone it just goes back, with the [`Held`].
struct Keeper(Work);

impl Drop for Keeper {
    fn drop(&mut self) {
        let held = &self.0.held;
        // In a forked child it is the parent's.
        let is_ours = held.client().process().is_present();
        let is_seen = self.0.claimed.is_seen.load(Ordering::Relaxed);
        if is_ours && is_seen && held.stands() && !held.hold().is_finishing() {
            drop(self.0.begin_to_give_back(Nack::default()));
        }
    }
}

/// Whoever leaves a scope keeps nothing, whatever comes of it, though others may have clones.
struct Leaving(Option<Held>);

impl Leaving {
    fn done(mut self) {
        self.0 = None;
    }
}

impl Drop for Leaving {
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
