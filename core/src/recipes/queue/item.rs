//! An item that was claimed, until it is settled or lost.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::Store;
use super::layout::Name;
use crate::error::{Error, ErrorKind, LostReason, Result};
use crate::nodes::Transaction;
use crate::recipes::held::Held;
use crate::session::wire::Write;
use crate::turn::hold::Tenure;
use crate::turn::hold::finishing::Ending;

/// An item that we work on: a [`Held`], with the verbs of one. Nobody else has it as long as it is held. When the last of
/// its clones is dropped it is given back in the background.
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
}

impl Deref for Item {
    type Target = Held;

    fn deref(&self) -> &Held {
        &self.held
    }
}

impl Item {
    pub(super) fn new(held: Held, claimed: Claimed) -> Item {
        Item { held, claimed: Arc::new(claimed) }
    }

    /// What was put.
    pub fn data(&self) -> &[u8] {
        &self.claimed.data
    }

    /// How often it was claimed, this time included.
    pub fn attempts(&self) -> u32 {
        self.claimed.attempts as u32
    }

    /// It is done: removes it from the queue, if our claim still stands; NotHeld if not, and then it is somebody else's.
    /// An answer that gets lost is looked for; ConnectionLost says that it could not be found out.
    ///
    /// # Cancel safety
    /// Dropping the future takes nothing back that is on its way.
    pub fn ack(&self) -> impl Future<Output = Result<()>> + Send + use<> {
        let item = self.clone();
        async move { item.finish("ack", Vec::new()).await }
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
        async move { item.finish("ack", writes?).await }
    }

    /// Removes the item and our claim, and applies `writes`.
    async fn finish(&self, verb: &'static str, extra: Vec<Write>) -> Result<()> {
        self.held.client().session()?;
        if self.held.is_released() {
            return Err(Error::not_held("it was settled before").with_path(self.held.path()));
        }
        let Claimed { store, name, node, rest, is_over, attempts, .. } = &*self.claimed;
        let (witness, is_over, marks) = (node.clone(), is_over.clone(), store.marks.clone());
        // Nobody of ours changes an item that is claimed. With another version somebody else has claimed it, or it is another
        // one of the same name.
        let (mut writes, goes) = store.without(name, node.clone(), rest.clone(), *attempts);
        writes.extend(extra);
        let then = move || is_over.store(goes, Ordering::Release);
        self.held.hold().finish(Ending { verb, writes, witness, marks }, then).await
    }

    /// Gives it back, to its old place: the next one has it. After the last of `max_attempts` it goes to the dead letters.
    ///
    /// # Cancel safety
    /// Dropping the future leaves it to the background.
    pub fn nack(&self) -> impl Future<Output = Result<()>> + Send + use<> {
        let item = self.clone();
        let is_spent = item.claimed.store.is_spent(item.claimed.attempts);
        let releasing = (!is_spent).then(|| item.held.release());
        async move {
            match releasing {
                Some(releasing) => releasing.await,
                None => item.bury().await,
            }
        }
    }

    /// Moves it to the dead letters.
    async fn bury(&self) -> Result<()> {
        let Claimed { store, name, data, .. } = &*self.claimed;
        let letter = store.letter(name, store.stock.layout.encode(data));
        loop {
            match self.finish("nack", vec![letter.clone()]).await {
                Err(error) if error.kind() == ErrorKind::NoNode => {
                    store.make_dead(self.held.hold().session()).await?
                }
                answer => return answer,
            }
        }
    }

    /// Leaves a scope: done if its body succeeded, given back if not; silent when it was settled before. Lost when it was
    /// lost although the body succeeded. ConnectionLost: it may be done or not; it is given back in the background.
    ///
    /// # Cancel safety
    /// Dropping the future gives back in the background what is not done.
    pub fn leave(&self, body_failed: bool) -> impl Future<Output = Result<()>> + Send + use<> {
        let (item, leaving) = (self.clone(), Leaving(self.held.clone()));
        async move {
            let _leaving = leaving;
            item.held.client().process().check()?;
            if item.held.is_released() || item.held.hold().tenure() == Tenure::Released {
                return Ok(());
            }
            if body_failed {
                // The error of the body is the one to tell.
                let _ = item.nack().await;
                return Ok(());
            }
            match item.ack().await {
                Err(error) if error.kind() == ErrorKind::NotHeld => {
                    Err(item.held.hold().lost_error(error.reason().unwrap_or(LostReason::Deleted)))
                }
                answer => answer,
            }
        }
    }
}

/// Whoever leaves a scope keeps nothing, whatever comes of it, though others may have clones.
struct Leaving(Held);

impl Drop for Leaving {
    fn drop(&mut self) {
        // Settled or lost, there is nothing to do.
        let _ = self.0.release_in_background();
    }
}

impl std::fmt::Debug for Item {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Item")
            .field("node", &self.claimed.node)
            .field("attempts", &self.claimed.attempts)
            .finish()
    }
}
