//! A mutual-exclusion lock.
//!
//! 1. Create an ephemeral sequential node under the path and list its siblings, in one flight.
//! 2. The first in order holds the lock; its node's czxid is the fencing token.
//! 3. Everybody else waits for the contender closest ahead to go (see [`crate::turn`]).
//! 4. While it holds, a heartbeat keeps the lease; when the lease runs out the lock is lost, whatever the network says.
//! 5. Releasing deletes the node.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::{Duration, SystemTime};

use futures_util::FutureExt;
use tokio::sync::{OwnedMutexGuard, watch};

use crate::client::Client;
use crate::drive;
use crate::error::{Error, ErrorKind, LostReason, Result};
use crate::nodes::Transaction;
use crate::options::LockOptions;
use crate::path;
use crate::session::delivery::Subscription;
use crate::session::epoch::Tenant;
use crate::session::wire::WireError;
use crate::turn::hold::{Hold, Tenure};
use crate::turn::name::Entry;
use crate::turn::place::Queue;
use crate::turn::{self};

/// A lock on a path, shared with everybody who locks that path, in any language.
///
/// A handle is used by one owner at a time: a second acquire on a handle that holds waits, whichever thread or task
/// makes it. Clones are the same handle.
///
/// ```
/// # zkrecipes::doctest(async {
/// use zkrecipes::{Client, LockOptions};
///
/// let client = Client::connect("embedded:", Default::default()).await?;
/// let lock = client.lock("/locks/report", LockOptions::default())?;
/// let held = lock.acquire().await?;
/// println!("publishing with fencing token {}", held.fencing_token());
/// held.release().await?;
/// # Ok(()) });
/// ```
#[derive(Clone)]
pub struct Lock {
    handle: Arc<Handle>,
}

struct Handle {
    client: Client,
    path: String,
    options: LockOptions,
    /// Held by whoever holds through this handle; with a reentrant handle only while acquiring.
    gate: Arc<tokio::sync::Mutex<()>>,
    /// Changes when the waits in progress are to end.
    cancels: watch::Sender<u64>,
    grips: Mutex<Vec<Kept>>,
}

/// One entry per acquisition through this handle, the innermost last.
struct Kept {
    grip: Arc<Grip>,
    /// For the languages whose handle keeps the acquisition alive.
    held: Option<Arc<Held>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Lock {
    pub(crate) fn new(client: Client, path: &str, options: LockOptions) -> Result<Lock> {
        path::recipe(path)?;
        options.validate()?;
        Ok(Lock {
            handle: Arc::new(Handle {
                client,
                path: path.to_owned(),
                options,
                gate: Arc::default(),
                cancels: watch::Sender::new(0),
                grips: Mutex::default(),
            }),
        })
    }

    /// The path that is locked.
    pub fn path(&self) -> &str {
        &self.handle.path
    }

    /// Waits for the lock.
    ///
    /// # Cancel safety
    /// Dropping the future leaves nothing behind: our node is deleted in the background.
    pub fn acquire(&self) -> impl Future<Output = Result<Held>> + Send + use<> {
        self.acquire_within(None)
    }

    /// Waits for the lock for as long as `limit`, then Timeout. Zero is one attempt without waiting.
    ///
    /// # Cancel safety
    /// As for [`Lock::acquire`].
    pub fn acquire_timeout(&self, limit: Duration) -> impl Future<Output = Result<Held>> + Send + use<> {
        self.acquire_within(Some(limit))
    }

    /// Takes the lock if it is free, or answers `None`.
    ///
    /// # Cancel safety
    /// As for [`Lock::acquire`].
    pub fn try_acquire(&self) -> impl Future<Output = Result<Option<Held>>> + Send + use<> {
        let attempt = self.acquire_within(Some(Duration::ZERO));
        async move {
            match attempt.await {
                Ok(held) => Ok(Some(held)),
                Err(error) if error.kind() == ErrorKind::Timeout => Ok(None),
                Err(error) => Err(error),
            }
        }
    }

    /// Waits for the lock for at most `limit`, `None` for ever. The wait begins, and takes its place in the order of this
    /// handle's waits, when this is called, and others wait behind it even if nobody polls it; the requests leave when the future is first polled.
    pub fn acquire_within(
        &self,
        limit: Option<Duration>,
    ) -> impl Future<Output = Result<Held>> + Send + use<> {
        let handle = self.handle.clone();
        let gripping = self.grip(limit);
        async move {
            let grip = gripping.await?;
            handle.push(Kept { grip: grip.clone(), held: None });
            Ok(Held { grip })
        }
    }

    /// The same for a language in which the handle keeps the acquisition; see [`Granted`].
    pub fn acquire_kept(
        &self,
        limit: Option<Duration>,
    ) -> impl Future<Output = Result<Granted>> + Send + use<> {
        let handle = Arc::downgrade(&self.handle);
        let acquiring = self.acquire_within(limit);
        async move { Ok(Granted { handle, held: acquiring.await? }) }
    }

    fn grip(&self, limit: Option<Duration>) -> impl Future<Output = Result<Arc<Grip>>> + Send + use<> {
        let handle = self.handle.clone();
        // Now, not at the first poll: a cancel that comes right after this call means this call.
        let call = handle.client.session().map(|session| {
            let call = session.call(limit).withdrawable(handle.cancels.subscribe());
            (session, call)
        });
        let gate = queue_at(&handle.gate, limit);
        async move {
            let (session, mut call) = call?;
            let gate = call.patiently(gate).await.and_then(|passed| passed);
            let gate = gate.map_err(|error| error.with_path(&handle.path))?;
            call.renew_budget();
            if handle.options.reentrant
                && let Some(grip) = handle.innermost().and_then(|grip| grip.nest(&handle))
            {
                return Ok(grip);
            }
            let queue = Queue { session: &session, path: &handle.path, verb: "acquire" };
            let turn = turn::take(&queue, &mut call).await?;
            let keeps = (!handle.options.reentrant).then(|| Box::new(gate) as Box<dyn Send>);
            let hold = Hold::begin(session.clone(), &handle.path, turn, keeps);
            if session.is_closing() {
                // Whoever closed has told the losses already.
                hold.lose(LostReason::Closed);
                return Err(Error::closed("client").with_path(&handle.path));
            }
            Ok(Grip::first(hold, &handle))
        }
    }

    /// The innermost acquisition that this handle keeps.
    pub fn current(&self) -> Option<Arc<Held>> {
        drive::check_process().ok()?;
        lock(&self.handle.grips).last().and_then(|kept| kept.held.clone())
    }

    /// Releases the innermost acquisition: at once, and the future confirms it. See [`Held::release`].
    pub fn release(&self) -> impl Future<Output = Result<()>> + Send + use<> {
        let releasing = self.innermost().map(|grip| grip.release());
        async move { releasing?.await }
    }

    /// Releases the innermost acquisition; the deletion is confirmed in the background.
    pub fn release_in_background(&self) -> Result<()> {
        self.innermost()?.release_in_background()
    }

    /// Whether the lock is certainly held through this handle.
    pub fn is_held(&self) -> bool {
        drive::check_process().is_ok() && self.handle.innermost().is_some_and(|grip| grip.is_held())
    }

    /// The fencing token of the acquisition that this handle holds.
    pub fn fencing_token(&self) -> Result<u64> {
        let grip = self.innermost()?;
        if grip.is_held() { Ok(grip.fencing_token()) } else { Err(grip.shared.hold.not_held()) }
    }

    /// Asks the server whether the lock is still held through this handle.
    pub async fn verify(&self) -> Result<()> {
        self.innermost()?.verify().await
    }

    /// Writes that the server applies only while this acquisition's node stands.
    pub fn guarded(&self) -> Result<Transaction> {
        Ok(self.innermost()?.guarded())
    }

    /// Calls back once when what this handle holds is lost.
    pub fn on_lost(&self, callback: impl FnOnce(Error) + Send + 'static) -> Result<Subscription> {
        Ok(self.innermost()?.shared.hold.on_lost(callback))
    }

    fn innermost(&self) -> Result<Arc<Grip>> {
        // A forked child has no business with what its parent holds.
        self.handle.client.session()?;
        self.handle.innermost().ok_or_else(|| Error::not_held("nothing was acquired").with_path(self.path()))
    }

    /// Ends the waits in progress on this handle with Cancelled; later ones are not affected.
    pub fn cancel(&self) {
        if drive::check_process().is_ok() {
            self.handle.cancels.send_modify(|count| *count += 1);
        }
    }

    /// Who holds the lock and who waits for it, in order.
    pub async fn contenders(&self) -> Result<Vec<Contender>> {
        contenders(&self.handle.client, &self.handle.path).await
    }
}

impl std::fmt::Debug for Lock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lock").field("path", &self.handle.path).finish_non_exhaustive()
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        if drive::check_process().is_err() {
            // As for a Held: nothing below may be dropped in a forked child.
            let grips = std::mem::take(self.grips.get_mut().unwrap_or_else(|poisoned| poisoned.into_inner()));
            std::mem::forget(grips);
        }
    }
}

impl Handle {
    fn innermost(&self) -> Option<Arc<Grip>> {
        lock(&self.grips).last().map(|kept| kept.grip.clone())
    }

    fn push(&self, kept: Kept) {
        let mut grips = lock(&self.grips);
        // What was lost and never released makes room for what is held now.
        let (ended, standing): (Vec<_>, Vec<_>) =
            grips.drain(..).partition(|kept| kept.grip.shared.hold.tenure() != Tenure::Held);
        *grips = standing;
        grips.push(kept);
        drop(grips);
        // A Held may be dropped here, which takes the same lock.
        drop(ended);
    }

    fn keep(&self, held: &Arc<Held>) {
        let mut grips = lock(&self.grips);
        if let Some(kept) = grips.iter_mut().find(|kept| Arc::ptr_eq(&kept.grip, &held.grip)) {
            kept.held = Some(held.clone());
        }
    }

    fn forget(&self, grip: &Arc<Grip>) {
        let mut grips = lock(&self.grips);
        let at = grips.iter().position(|kept| Arc::ptr_eq(&kept.grip, grip));
        let kept = at.map(|at| grips.remove(at));
        drop(grips);
        drop(kept);
    }
}

/// Acquisitions of one handle come one after the other, in the order of their calls. Without time to wait, a gate that is
/// not open is a timeout.
fn queue_at(
    gate: &Arc<tokio::sync::Mutex<()>>,
    limit: Option<Duration>,
) -> impl Future<Output = Result<OwnedMutexGuard<()>>> + Send + use<> {
    let now = gate.clone().try_lock_owned();
    let mut turn = Box::pin(gate.clone().lock_owned());
    let may_wait = limit != Some(Duration::ZERO);
    if now.is_err() && may_wait {
        // The first poll takes the place in the queue; it is too early for the turn, or the gate would have been open.
        let _ = (&mut turn).now_or_never();
    }
    async move {
        match now {
            Ok(guard) => Ok(guard),
            Err(_) if may_wait => Ok(turn.await),
            Err(_) => Err(Error::timeout("the turn")),
        }
    }
}

/// An acquisition on its way to its owner. Dropped before it gets there, because the owner withdrew meanwhile, it is
/// released; with [`Granted::keep`] the lock handle keeps it until it is released, or until the handle and every `Arc`
/// are gone.
#[must_use = "dropping it releases the lock"]
#[derive(Debug)]
pub struct Granted {
    handle: Weak<Handle>,
    held: Held,
}

impl Granted {
    /// The owner has it.
    pub fn keep(self) -> Arc<Held> {
        let held = Arc::new(self.held);
        if let Some(handle) = self.handle.upgrade() {
            handle.keep(&held);
        }
        held
    }
}

/// A hold, shared by the nested acquisitions of a reentrant handle.
struct Shared {
    hold: Arc<Hold>,
    grips: AtomicUsize,
}

/// One acquisition of one owner.
struct Grip {
    shared: Arc<Shared>,
    handle: Weak<Handle>,
    client: Client,
    is_released: AtomicBool,
}

impl Grip {
    fn first(hold: Arc<Hold>, handle: &Arc<Handle>) -> Arc<Grip> {
        Grip::on(Arc::new(Shared { hold, grips: AtomicUsize::new(1) }), handle)
    }

    /// One more acquisition of the same hold, unless it is being let go just now.
    fn nest(&self, handle: &Arc<Handle>) -> Option<Arc<Grip>> {
        let one_more = |grips: usize| (grips > 0).then_some(grips + 1);
        let is_open = self.shared.grips.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more).is_ok();
        if !is_open {
            return None;
        }
        if !self.shared.hold.is_held() {
            self.shared.grips.fetch_sub(1, Ordering::AcqRel);
            return None;
        }
        Some(Grip::on(self.shared.clone(), handle))
    }

    fn on(shared: Arc<Shared>, handle: &Arc<Handle>) -> Arc<Grip> {
        Arc::new(Grip {
            shared,
            handle: Arc::downgrade(handle),
            client: handle.client.clone(),
            is_released: AtomicBool::new(false),
        })
    }

    fn is_held(&self) -> bool {
        !self.is_released.load(Ordering::Acquire)
            && self.client.session().is_ok()
            && self.shared.hold.is_held()
    }

    fn fencing_token(&self) -> u64 {
        self.shared.hold.node().czxid as u64
    }

    /// Gives this acquisition up; answers the hold if it was the last one of it.
    fn let_go(self: &Arc<Self>) -> Result<Option<&Arc<Hold>>> {
        self.client.session()?;
        if self.is_released.swap(true, Ordering::AcqRel) {
            return Err(Error::not_held("it was released before").with_path(self.path()));
        }
        if let Some(handle) = self.handle.upgrade() {
            handle.forget(self);
        }
        let hold = &self.shared.hold;
        if self.shared.grips.fetch_sub(1, Ordering::AcqRel) == 1 {
            Ok(Some(hold))
        } else if hold.is_held() {
            Ok(None)
        } else {
            Err(hold.not_held())
        }
    }

    fn release(self: &Arc<Self>) -> impl Future<Output = Result<()>> + Send + use<> {
        let releasing = self.let_go().map(|last| last.map(Hold::release));
        async move {
            match releasing? {
                Some(confirming) => confirming.await,
                None => Ok(()),
            }
        }
    }

    fn release_in_background(self: &Arc<Self>) -> Result<()> {
        match self.let_go()? {
            Some(hold) => hold.release_in_background(),
            None => Ok(()),
        }
    }

    async fn verify(self: &Arc<Self>) -> Result<()> {
        self.client.session()?;
        if self.is_released.load(Ordering::Acquire) {
            return Err(Error::not_held("it was released before").with_path(self.path()));
        }
        self.shared.hold.verify().await
    }

    fn guarded(self: &Arc<Self>) -> Transaction {
        let is_released = self.is_released.load(Ordering::Acquire);
        Transaction::guarded_by(self.client.clone(), self.shared.hold.clone(), is_released)
    }

    fn path(&self) -> &str {
        path::parent(&self.shared.hold.node().path)
    }
}

/// One acquisition. Dropping it releases in the background and never blocks.
#[must_use = "dropping a Held releases the lock at once; keep it for as long as the work takes"]
pub struct Held {
    grip: Arc<Grip>,
}

impl Held {
    /// The path that is locked.
    pub fn path(&self) -> &str {
        self.grip.path()
    }

    /// The full path of the contender node that holds.
    pub fn node(&self) -> &str {
        &self.grip.shared.hold.node().path
    }

    /// Rises strictly from one acquisition of the path to the next; a resource that refuses lower tokens than it has
    /// seen is protected even from holders that do not know yet that they lost.
    pub fn fencing_token(&self) -> u64 {
        self.grip.fencing_token()
    }

    /// Whether the lock is certainly still held: a comparison of clocks, right even after a pause of the process. It
    /// cannot foresee that somebody deletes our node; guarded writes and fencing can.
    pub fn is_held(&self) -> bool {
        self.grip.is_held()
    }

    /// Whether this acquisition was released by its owner.
    pub fn is_released(&self) -> bool {
        self.grip.is_released.load(Ordering::Acquire)
    }

    /// Path, node and czxid in one string, by which others can ask whether this acquisition still stands.
    pub fn sequencer(&self) -> String {
        let node = self.grip.shared.hold.node();
        format!("1:{}:{}", node.czxid, node.path)
    }

    /// Asks the server: returns, or NotHeld, or ConnectionLost when it cannot know.
    pub async fn verify(&self) -> Result<()> {
        self.grip.verify().await
    }

    /// Writes that the server applies, in one transaction, only while this acquisition's node stands.
    pub fn guarded(&self) -> Transaction {
        self.grip.guarded()
    }

    /// Calls back once when this is lost, at once if it is already, never on our own release.
    pub fn on_lost(&self, callback: impl FnOnce(Error) + Send + 'static) -> Subscription {
        match drive::check_process() {
            Ok(()) => self.grip.shared.hold.on_lost(callback),
            Err(_) => Subscription::nothing(),
        }
    }

    /// Resolves with the reason when this is lost; never after our own release.
    ///
    /// # Cancel safety
    /// Dropping the future does nothing else.
    pub async fn lost(&self) -> Error {
        match drive::check_process() {
            Ok(()) => self.grip.shared.hold.lost().await,
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
        self.grip.release()
    }

    /// Lets go without waiting for the server.
    pub fn release_in_background(&self) -> Result<()> {
        self.grip.release_in_background()
    }

    /// Leaves a scope: silent when released already, Lost when it was lost although the body succeeded; otherwise
    /// releases, at once like [`Held::release`], and a release that could not be confirmed goes on in the background.
    pub fn leave(&self, body_failed: bool) -> impl Future<Output = Result<()>> + Send + use<> {
        let hold = self.grip.shared.hold.clone();
        let releasing = (!self.is_released()).then(|| self.release());
        async move {
            let Some(releasing) = releasing else { return Ok(()) };
            let released = releasing.await;
            if body_failed {
                return Ok(());
            }
            match (hold.tenure(), released) {
                (Tenure::Lost(reason), _) => Err(hold.lost_error(reason)),
                (_, Err(error)) if error.kind() == ErrorKind::NotHeld => {
                    Err(hold.lost_error(error.reason().unwrap_or(LostReason::Deleted)))
                }
                (_, Err(error)) if error.kind() == ErrorKind::Forked => Err(error),
                _ => Ok(()),
            }
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if drive::check_process().is_err() {
            // A forked child: the locks below may be held by threads that stayed with the parent. Touch nothing.
            std::mem::forget(self.grip.clone());
            return;
        }
        // Released, lost or forked already: nothing to do.
        let _ = self.grip.release_in_background();
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

/// Somebody who holds a path or waits for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contender {
    /// The name of the node under the path.
    pub node: String,
    /// What the contender says of itself, `host:pid` by default.
    pub identity: String,
    /// `lock`, `read` or `write`.
    pub kind: String,
    /// The session that the node belongs to.
    pub session_id: u64,
    /// When it queued, by the server's clock.
    pub since: SystemTime,
    /// Whether it holds.
    pub holds: bool,
}

/// More requests in one flight than this would only fill queues.
const READS_IN_FLIGHT: usize = 256;

async fn contenders(client: &Client, path: &str) -> Result<Vec<Contender>> {
    let session = client.session()?;
    let verb = "contenders";
    let mut call = session.call(None);
    let names = match call.ask(verb, |epoch| epoch.children(path)).await {
        Ok(names) => names,
        Err(crate::session::call::Failure::Refused(WireError::NoNode)) => return Ok(Vec::new()),
        Err(failure) => return Err(failure.about(verb, path)),
    };
    let mut found = Vec::new();
    let entries: Vec<Entry> = names.iter().filter_map(|name| Entry::recognise(name)).collect();
    for batch in entries.chunks(READS_IN_FLIGHT) {
        let epoch = call.epoch(verb).await?;
        let flights: Vec<_> =
            batch.iter().map(|entry| (entry, epoch.get_data(&path::join(path, &entry.name)))).collect();
        for (entry, flight) in flights {
            let answer = match call.briefly(verb, flight).await? {
                Err(error) if error.is_unanswered() => {
                    let node = path::join(path, &entry.name);
                    call.ask(verb, |epoch| epoch.get_data(&node)).await
                }
                answer => answer.map_err(crate::session::call::Failure::Refused),
            };
            match answer {
                Ok((data, stat)) => found.push((entry.clone(), data, stat)),
                Err(crate::session::call::Failure::Refused(WireError::NoNode)) => {}
                Err(failure) => return Err(failure.about(verb, path)),
            }
        }
    }
    found.sort_by(|(a, _, a_stat), (b, _, b_stat)| match a.precedes(b) {
        Some(true) => std::cmp::Ordering::Less,
        Some(false) if a == b => std::cmp::Ordering::Equal,
        Some(false) => std::cmp::Ordering::Greater,
        None => a_stat.czxid.cmp(&b_stat.czxid),
    });
    let contenders = found.into_iter().enumerate().map(|(place, (entry, data, stat))| Contender {
        identity: String::from_utf8_lossy(&data).into_owned(),
        kind: entry.kind.name().to_owned(),
        session_id: stat.ephemeral_owner as u64,
        since: SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(stat.ctime).unwrap_or_default()),
        holds: place == 0,
        node: entry.name,
    });
    Ok(contenders.collect())
}
