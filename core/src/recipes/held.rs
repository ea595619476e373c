//! One acquisition of one owner: what it may ask, and how it lets go. Who leaves the body of a `with` or a `run` releases it,
//! and hears Lost if it was lost meanwhile. Dropped, it is released in the background. Nested acquisitions share one hold,
//! which counts them.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, Weak};

use futures_util::FutureExt;
use futures_util::future::OptionFuture;
use tokio::sync::watch;

use super::sequencer;
use crate::client::Client;
use crate::error::{Error, ErrorKind, LostReason, Result};
use crate::futures::begun;
use crate::log;
use crate::mutex::lock;
use crate::nodes::Transaction;
use crate::path;
use crate::process::UnlessForked;
use crate::session::clock::Later;
use crate::session::delivery::Subscription;
use crate::turn::hold::{Hold, Share, Tenure};

/// One acquisition. Clones are the same one; when the last of them is dropped it is released in the background, which
/// never blocks.
///
/// ```
/// # zkrecipes::doctest(async {
/// # let client = zkrecipes::Client::connect("embedded:", Default::default()).await?;
/// let lock = client.lock("/locks/report", Default::default())?;
/// let held = lock.acquire().await?;
/// assert!(held.is_held());
/// // The server applies this only while the lock is held.
/// let report = held.guarded();
/// report.create("/report", b"all well", zkrecipes::CreateMode::Persistent)?;
/// report.commit().await?;
/// held.release().await?;
/// assert!(!held.is_held());
/// # Ok(()) });
/// ```
#[must_use = "dropping a Held releases the lock at once; keep it for as long as the work takes"]
#[derive(Clone)]
pub struct Held(Arc<Acquisition>);

/// The readers' side of a read/write lock, for what a writer holds.
pub(crate) trait Readers: Send + Sync {
    /// What stands for the writer from then on.
    fn downgrade(self: Arc<Self>, writing: Held) -> Later<Result<Held>>;

    /// Keeps what a downgrade has led to, for the languages whose handle keeps it.
    fn keep(&self, held: &Held);
}

/// What the clones of a [`Held`] share.
struct Acquisition {
    client: Client,
    hold: UnlessForked<Arc<Hold>>,
    /// Of the hold.
    share: Arc<Share>,
    is_released: AtomicBool,
    /// The readers' side, if it is a writer's.
    readers: Option<Arc<dyn Readers>>,
    /// Changes when its owner is to stop, where only `is_held` can say so.
    stops: OnceLock<watch::Receiver<u64>>,
}

impl Held {
    /// What is held from now on has an owner.
    pub(crate) fn of(client: &Client, hold: Arc<Hold>) -> Held {
        Held::beside(client, hold, None)
    }

    /// The same, with the readers that a writer may join.
    pub(super) fn beside(client: &Client, hold: Arc<Hold>, readers: Option<Arc<dyn Readers>>) -> Held {
        Held(Arc::new(Acquisition {
            client: client.clone(),
            hold: UnlessForked::new(hold),
            share: Arc::default(),
            is_released: AtomicBool::new(false),
            readers,
            stops: OnceLock::new(),
        }))
    }

    /// One more acquisition of the same, unless it is being let go just now.
    pub(super) fn nest(&self) -> Option<Held> {
        let Acquisition { client, hold, readers, .. } = &*self.0;
        hold.share().then(|| Held::beside(client, Arc::clone(hold), readers.clone()))
    }

    pub(super) fn hold(&self) -> &Arc<Hold> {
        &self.0.hold
    }

    /// From the next change of these on its owner is to stop: `is_held` is false then. It stands until it is let go, and
    /// what is asked of the server goes on.
    pub(super) fn ends_with(&self, stops: watch::Receiver<u64>) {
        // Told once, by the one run that it is for.
        let _ = self.0.stops.set(stops);
    }

    /// Resolves when its owner is to stop by that.
    pub(super) fn called_off(&self) -> impl Future<Output = ()> + Send + use<> {
        let stops = self.0.stops.get().cloned();
        async move {
            let Some(mut stops) = stops else { return std::future::pending().await };
            if stops.changed().await.is_err() {
                std::future::pending().await
            }
        }
    }

    fn is_called_off(&self) -> bool {
        self.0.stops.get().is_some_and(|stops| stops.has_changed().unwrap_or(false))
    }

    /// As [`Held::is_held`], also while its owner is to stop.
    pub(super) fn is_certain(&self) -> bool {
        !self.is_released() && self.0.client.session().is_ok() && self.0.hold.is_held()
    }

    /// Neither released nor known to be lost.
    pub(super) fn stands(&self) -> bool {
        !self.is_released() && self.0.hold.tenure() == Tenure::Held
    }

    /// Before the body of a scope begins, which is not to run where nothing is held: the error says why.
    pub(crate) fn check_stands(&self) -> Result<()> {
        self.0.client.session()?;
        match (self.is_released(), self.0.hold.tenure()) {
            (true, _) => Err(self.0.hold.released_before()),
            (false, Tenure::Lost(reason)) => Err(self.0.hold.lost_error(reason)),
            _ => Ok(()),
        }
    }

    /// A weak reference, which ends with the last owner.
    pub(super) fn weak(&self) -> WeakHeld {
        WeakHeld(Arc::downgrade(&self.0))
    }

    pub(crate) fn client(&self) -> &Client {
        &self.0.client
    }

    /// Whether only the caller and one other owner have it.
    pub(super) fn is_only_kept(&self) -> bool {
        Arc::strong_count(&self.0) == 2
    }

    /// The path that was acquired; the paths of a multi-lock with spaces between them.
    pub fn path(&self) -> &str {
        self.0.hold.path()
    }

    /// The last part of the path that was acquired: of a partition, its name.
    pub fn name(&self) -> &str {
        path::name(self.path())
    }

    /// The full path of the contender node that holds.
    pub fn node(&self) -> &str {
        self.0.hold.is_named();
        &self.0.hold.node().path
    }

    /// Rises strictly from one acquisition of the path to the next; a resource that refuses lower tokens than it has
    /// seen is protected even from holders that do not know yet that they lost.
    pub fn fencing_token(&self) -> u64 {
        self.0.hold.node().token() as u64
    }

    /// The tokens of all that is held together, in the order of their paths: several for a multi-lock.
    pub fn fencing_tokens(&self) -> Vec<u64> {
        self.0.hold.nodes().iter().map(|node| node.token() as u64).collect()
    }

    /// How often the turn was passed on in memory since it was won: with local hand-off, acquisitions share a fencing
    /// token, and the pair of it and this number rises strictly.
    pub fn passes(&self) -> u32 {
        self.0.hold.passes()
    }

    /// How many nodes of ours stand for this acquisition: the permits of a semaphore, the locks of a multi-lock.
    pub fn permits(&self) -> usize {
        self.0.hold.nodes().len()
    }

    /// Whether the lock is certainly still held: a comparison of clocks, right even after a pause of the process. It
    /// cannot foresee that somebody deletes our node; guarded writes and fencing can.
    pub fn is_held(&self) -> bool {
        self.is_certain() && !self.is_called_off()
    }

    /// Whether this acquisition was released by its owner.
    pub fn is_released(&self) -> bool {
        self.0.is_released.load(Ordering::Acquire)
    }

    /// Path, node and czxid in one string, by which others can ask whether this acquisition still stands.
    pub fn sequencer(&self) -> String {
        self.0.hold.is_named();
        sequencer::of(self.0.hold.node())
    }

    /// Asks the server: returns, or NotHeld, or ConnectionLost when it cannot know.
    pub async fn verify(&self) -> Result<()> {
        self.0.client.session()?;
        if self.is_released() {
            return Err(self.0.hold.released_before());
        }
        self.0.hold.verify().await
    }

    /// Writes that the server applies, in one transaction, only while this acquisition's node stands.
    pub fn guarded(&self) -> Transaction {
        Transaction::guarded_by(self.0.client.clone(), self.0.hold.clone(), self.is_released())
    }

    /// Calls back once when this is lost, at once if it is already, never on our own release.
    pub fn on_lost(&self, callback: impl FnOnce(Error) + Send + 'static) -> Subscription {
        match self.0.client.process().is_present() {
            true => self.0.hold.on_lost(&self.0.share, callback),
            false => Subscription::nothing(),
        }
    }

    /// As [`Held::on_lost`], but it hears of a deletion only when somebody else listens, and costs no request.
    pub(crate) fn on_known_loss(&self, callback: impl FnOnce(Error) + Send + 'static) -> Subscription {
        match self.0.client.process().is_present() {
            true => self.0.hold.on_known_loss(&self.0.share, callback),
            false => Subscription::nothing(),
        }
    }

    /// Calls back once when somebody asks for it, at once if that has happened, never after our own release: finish, then
    /// release.
    pub fn on_revoke(&self, callback: impl FnOnce() + Send + 'static) -> Subscription {
        match self.0.client.process().is_present() {
            true => self.0.hold.on_revoke(&self.0.share, callback),
            false => Subscription::nothing(),
        }
    }

    /// Resolves with the reason when this is lost; never after our own release.
    ///
    /// # Cancel safety
    /// Dropping the future does nothing else.
    pub async fn lost(&self) -> Error {
        match self.0.client.process().check() {
            Ok(()) => self.0.hold.lost(&self.0.share).await,
            Err(forked) => forked,
        }
    }

    /// Lets go when it is called: `is_held` is false from then on. The future confirms the deletion of our node;
    /// ConnectionLost from it means that the server has not confirmed, and the deletion goes on in the background. A
    /// second release is NotHeld.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the deletion to the background.
    pub fn release(&self) -> impl Future<Output = Result<()>> + Send + use<> {
        let releasing = self.0.let_go().map(|hold| hold.release(&self.0.share));
        begun(releasing)
    }

    /// The same by a verb of which errors speak.
    pub(super) fn release_as(&self, verb: &'static str) -> impl Future<Output = Result<()>> + Send + use<> {
        let releasing = self.0.let_go().map(|hold| hold.release_as(verb, &self.0.share));
        begun(releasing)
    }

    /// Lets go without waiting for the server.
    pub fn release_in_background(&self) -> Result<()> {
        self.0.let_go().and_then(|hold| hold.release_in_background(&self.0.share))
    }

    /// From writing to reading, for what a writer of a read/write lock holds: nobody writes in between, readers may come in,
    /// and the fencing token stays the writer's. What is answered is held through the readers' side and stands for both
    /// from then on. This acquisition is over, as after a release: what was to be told of it (`on_lost`, `on_revoke`) is to be
    /// asked for again there.
    ///
    /// An error leaves the writer what it was: ConnectionLost means that the server has not confirmed, and write is still
    /// held unless it is lost. Invalid for what is no writer's.
    ///
    /// ```
    /// # zkrecipes::doctest(async {
    /// # let client = zkrecipes::Client::connect("embedded:", Default::default()).await?;
    /// let lock = client.read_write_lock("/locks/catalogue")?;
    /// let writing = lock.write().acquire().await?;
    /// let reading = writing.downgrade().await?;
    /// assert!(reading.is_held() && !writing.is_held());
    /// assert_eq!(reading.fencing_token(), writing.fencing_token());
    /// reading.release().await?;
    /// # Ok(()) });
    /// ```
    ///
    /// # Cancel safety
    /// Dropping the future leaves nothing behind: write is still held, or if it had been given back by then, nothing is.
    pub fn downgrade(&self) -> impl Future<Output = Result<Held>> + Send + use<> {
        let writing = self.clone();
        async move { writing.readers()?.downgrade(writing).await }
    }

    /// Says in the log that nobody has it any more who could release it.
    pub(crate) fn tell_collected(&self) {
        if self.is_certain() {
            log::collected(self.0.hold.tenancy());
        }
    }

    /// The side that a downgrade leads to.
    pub(crate) fn readers(&self) -> Result<Arc<dyn Readers>> {
        self.0.client.session()?;
        let only = || {
            Error::invalid(
                "downgrade",
                "only what a writer of a read/write lock holds can become a reader's; this was acquired otherwise",
            )
        };
        let readers = self.0.readers.clone().ok_or_else(only);
        readers.map_err(|error| error.with_path(self.path()))
    }

    /// Lets go for what is held in its place. The future confirms that, as for [`Held::release`].
    pub(super) fn give_way(&self) -> Result<impl Future<Output = Result<()>> + Send + use<>> {
        self.0.let_go().and_then(|hold| hold.give_way(&self.0.share))
    }

    /// Leaves a scope: silent when released already, Lost when it was lost although the body succeeded; otherwise
    /// releases, at once like [`Held::release`], and a release that could not be confirmed goes on in the background.
    pub fn leave(&self, body_failed: bool) -> impl Future<Output = Result<()>> + Send + use<> {
        let (client, hold) = (self.0.client.clone(), self.0.hold.clone());
        let releasing = (!self.is_released()).then(|| self.release());
        OptionFuture::from(releasing).map(move |released| {
            let Some(released) = released.filter(|_| !body_failed) else { return Ok(()) };
            // In a forked child the rest is the parent's, with its locks.
            client.process().check()?;
            match (hold.tenure(), released) {
                (Tenure::Lost(reason), _) => Err(hold.lost_error(reason)),
                (_, Err(error)) if error.kind() == ErrorKind::NotHeld => {
                    Err(hold.lost_error(error.reason().unwrap_or(LostReason::Deleted)))
                }
                _ => Ok(()),
            }
        })
    }

    /// The tokens, for as long as they mean something.
    pub(super) fn current_tokens(&self) -> Result<Vec<u64>> {
        if self.is_certain() { Ok(self.fencing_tokens()) } else { Err(self.0.hold.not_held()) }
    }
}

/// An acquisition that belongs to others.
pub(super) struct WeakHeld(Weak<Acquisition>);

impl WeakHeld {
    /// It, unless its owner dropped it.
    pub(super) fn upgrade(&self) -> Option<Held> {
        self.0.upgrade().map(Held)
    }
}

impl Acquisition {
    /// Gives it up, once; the answer is to let go of.
    fn let_go(&self) -> Result<&Arc<Hold>> {
        self.client.session()?;
        match self.is_released.swap(true, Ordering::AcqRel) {
            true => Err(self.hold.released_before()),
            false => Ok(&*self.hold),
        }
    }
}

impl Drop for Acquisition {
    fn drop(&mut self) {
        // Released, lost or closed already, or a forked child's: nothing to do.
        let _ = self.let_go().and_then(|hold| hold.release_in_background(&self.share));
    }
}

/// What was acquired through one handle and still belongs to somebody, the innermost last.
#[derive(Default)]
pub(super) struct Acquired(Mutex<Vec<Weak<Acquisition>>>);

impl Acquired {
    /// The innermost one that was not released.
    pub(super) fn innermost(&self) -> Option<Held> {
        // Dropped without the lock: it may be the last to have it in hand.
        let all = lock(&self.0).clone();
        all.iter().rev().filter_map(Weak::upgrade).map(Held).find(|held| !held.is_released())
    }

    /// Adds an acquisition, and forgets those that were lost and never released.
    pub(super) fn push(&self, held: &Held) {
        let mut looked_at = Vec::new();
        let mut all = lock(&self.0);
        all.retain(|acquisition| {
            let Some(held) = acquisition.upgrade().map(Held) else { return false };
            let stands = held.stands();
            looked_at.push(held);
            stands
        });
        all.push(Arc::downgrade(&held.0));
        drop(all);
        // One of them may be the last to go, and nothing is dropped under the lock.
        drop(looked_at);
    }
}

impl std::fmt::Debug for Held {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Held")
            .field("node", &self.node())
            .field("fencing_token", &self.fencing_token())
            .finish()
    }
}
