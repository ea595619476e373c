//! A handle and what its owner has acquired through it: shared by every recipe that is acquired and released.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::{OwnedMutexGuard, watch};

use crate::client::Client;
use crate::drive;
use crate::error::{Error, ErrorKind, LostReason, Result};
use crate::nodes::Transaction;
use crate::recipes::sequencer;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::clock::Later;
use crate::session::delivery::Subscription;
use crate::session::epoch::Tenant;
use crate::turn::grant::Grant;
use crate::turn::hold::{Hold, Tenure};

/// What the owners of a recipe share: the gate they pass one after the other, and what they hold.
pub(crate) struct Handle {
    pub(crate) client: Client,
    pub(crate) path: String,
    /// Whether who holds keeps the gate, so that the next acquisition waits for the release. Otherwise it is kept only
    /// while acquiring.
    is_exclusive: bool,
    /// Whether an acquisition while something is held is one more of the same.
    is_reentrant: bool,
    gate: Arc<tokio::sync::Mutex<()>>,
    /// Changes when the waits in progress are to end.
    cancels: watch::Sender<u64>,
    grips: Mutex<Vec<Kept>>,
}

/// One entry per acquisition through a handle, the innermost last.
struct Kept {
    grip: Arc<Grip>,
    /// For the languages whose handle keeps the acquisition alive.
    held: Option<Arc<Held>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The steps of one acquisition: what a recipe does once it has passed the gate.
pub(crate) type Steps = Box<dyn FnOnce(Arc<Session>, Call) -> Later<Result<Grant>> + Send>;

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
    pub(crate) fn new(client: Client, path: &str, is_exclusive: bool, is_reentrant: bool) -> Arc<Handle> {
        Arc::new(Handle {
            client,
            path: path.to_owned(),
            is_exclusive,
            is_reentrant,
            gate: Arc::default(),
            cancels: watch::Sender::new(0),
            grips: Mutex::default(),
        })
    }

    /// Passes the gate, takes the steps, holds. The wait begins, and takes its place in the order of this handle's waits,
    /// when this is called; the requests leave when the future is first polled.
    pub(crate) fn acquire(
        self: &Arc<Self>,
        limit: Option<Duration>,
        steps: Steps,
    ) -> impl Future<Output = Result<Held>> + Send + use<> {
        let handle = self.clone();
        // Now, not at the first poll: a cancel that comes right after this call means this call.
        let call = handle.client.session().and_then(|session| Ok((session, handle.call(limit)?)));
        let gate = queue_at(&handle.gate, limit);
        async move {
            let (session, mut call) = call?;
            let gate = call.patiently(gate).await.and_then(|passed| passed);
            let gate = gate.map_err(|error| error.with_path(&handle.path))?;
            call.renew_budget();
            let nested = match handle.is_reentrant {
                true => handle.innermost().and_then(|grip| grip.nest(&handle)),
                false => None,
            };
            let grip = match nested {
                Some(grip) => grip,
                None => {
                    let grant =
                        steps(session.clone(), call).await.map_err(|error| error.with_path(&handle.path))?;
                    let keeps = handle.is_exclusive.then(|| Box::new(gate) as Box<dyn Send>);
                    let hold = Hold::begin(session.clone(), &handle.path, grant, keeps);
                    if session.is_closing() {
                        // Whoever closed has told the losses already.
                        hold.lose(LostReason::Closed);
                        return Err(Error::closed("client").with_path(&handle.path));
                    }
                    Grip::first(hold, &handle)
                }
            };
            handle.push(Kept { grip: grip.clone(), held: None });
            Ok(Held { grip })
        }
    }

    /// The same for a language in which the handle keeps the acquisition; see [`Granted`].
    pub(crate) fn acquire_kept(
        self: &Arc<Self>,
        limit: Option<Duration>,
        steps: Steps,
    ) -> impl Future<Output = Result<Granted>> + Send + use<> {
        let handle = Arc::downgrade(self);
        let acquiring = self.acquire(limit, steps);
        async move { Ok(Granted { handle, held: acquiring.await? }) }
    }

    /// A call that ends when the waits in progress on this handle are to end.
    pub(crate) fn call(&self, limit: Option<Duration>) -> Result<Call> {
        Ok(self.client.session()?.call(limit).withdrawable(self.cancels.subscribe()))
    }

    pub(crate) fn cancel(&self) {
        if drive::check_process().is_ok() {
            self.cancels.send_modify(|count| *count += 1);
        }
    }

    /// The innermost acquisition that the handle keeps.
    pub(crate) fn current(&self) -> Option<Arc<Held>> {
        drive::check_process().ok()?;
        lock(&self.grips).last().and_then(|kept| kept.held.clone())
    }

    pub(crate) fn is_held(&self) -> bool {
        drive::check_process().is_ok() && self.innermost().is_some_and(|grip| grip.is_held())
    }

    /// The innermost acquisition, to use it.
    pub(crate) fn held(&self) -> Result<Arc<Grip>> {
        // A forked child has no business with what its parent holds.
        self.client.session()?;
        self.innermost().ok_or_else(|| Error::not_held("nothing was acquired").with_path(&self.path))
    }

    /// What is certainly held through this handle, if anything is.
    pub(crate) fn hold(&self) -> Option<Arc<Hold>> {
        let grip = self.innermost().filter(|grip| grip.is_held())?;
        Some(grip.shared.hold.clone())
    }

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
    let may_wait = limit != Some(Duration::ZERO);
    let mut turn = Box::pin(gate.clone().lock_owned());
    // The first poll takes the place in the queue, or the turn itself; tokio must not answer "later" to spread the load.
    let now = match may_wait {
        true => tokio::task::unconstrained(&mut turn).now_or_never(),
        false => gate.clone().try_lock_owned().ok(),
    };
    async move {
        match now {
            Some(guard) => Ok(guard),
            None if may_wait => Ok(turn.await),
            None => Err(Error::timeout("the turn")),
        }
    }
}

/// What the handle of every recipe forwards to what was acquired through it last.
macro_rules! forwards_to_held {
    ($recipe:ty) => {
        impl $recipe {
            /// The acquisition made last that this handle keeps.
            pub fn current(&self) -> Option<std::sync::Arc<$crate::Held>> {
                self.handle.current()
            }

            /// Releases the acquisition made last: at once, and the future confirms it. See [`Held::release`](crate::Held::release).
            pub fn release(&self) -> impl Future<Output = $crate::Result<()>> + Send + use<> {
                let releasing = self.handle.held().map(|grip| grip.release());
                async move { releasing?.await }
            }

            /// Releases the acquisition made last; the deletion is confirmed in the background.
            pub fn release_in_background(&self) -> $crate::Result<()> {
                self.handle.held()?.release_in_background()
            }

            /// Whether something is certainly held through this handle.
            pub fn is_held(&self) -> bool {
                self.handle.is_held()
            }

            /// The fencing token of what this handle holds.
            pub fn fencing_token(&self) -> $crate::Result<u64> {
                self.handle.held()?.current_token()
            }

            /// Asks the server whether what was acquired through this handle is still held.
            pub async fn verify(&self) -> $crate::Result<()> {
                self.handle.held()?.verify().await
            }

            /// Writes that the server applies only while what this handle holds stands.
            pub fn guarded(&self) -> $crate::Result<$crate::Transaction> {
                Ok(self.handle.held()?.guarded())
            }

            /// Calls back once when what this handle holds is lost.
            pub fn on_lost(
                &self,
                callback: impl FnOnce($crate::Error) + Send + 'static,
            ) -> $crate::Result<$crate::Subscription> {
                Ok(self.handle.held()?.on_lost(callback))
            }

            /// Ends the waits in progress on this handle with Cancelled; later ones are not affected.
            pub fn cancel(&self) {
                self.handle.cancel();
            }
        }
    };
}
pub(crate) use forwards_to_held;

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
pub(crate) struct Shared {
    hold: Arc<Hold>,
    grips: AtomicUsize,
}

/// One acquisition of one owner.
pub(crate) struct Grip {
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

    pub(crate) fn is_held(&self) -> bool {
        !self.is_released.load(Ordering::Acquire)
            && self.client.session().is_ok()
            && self.shared.hold.is_held()
    }

    pub(crate) fn fencing_token(&self) -> u64 {
        self.shared.hold.tokens()[0] as u64
    }

    /// The token, for as long as it means something.
    pub(crate) fn current_token(&self) -> Result<u64> {
        if self.is_held() { Ok(self.fencing_token()) } else { Err(self.shared.hold.not_held()) }
    }

    pub(crate) fn on_lost(self: &Arc<Self>, callback: impl FnOnce(Error) + Send + 'static) -> Subscription {
        self.shared.hold.on_lost(callback)
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

    pub(crate) fn release(self: &Arc<Self>) -> impl Future<Output = Result<()>> + Send + use<> {
        let releasing = self.let_go().map(|last| last.map(Hold::release));
        async move {
            match releasing? {
                Some(confirming) => confirming.await,
                None => Ok(()),
            }
        }
    }

    pub(crate) fn release_in_background(self: &Arc<Self>) -> Result<()> {
        match self.let_go()? {
            Some(hold) => hold.release_in_background(),
            None => Ok(()),
        }
    }

    pub(crate) async fn verify(self: &Arc<Self>) -> Result<()> {
        self.client.session()?;
        if self.is_released.load(Ordering::Acquire) {
            return Err(Error::not_held("it was released before").with_path(self.path()));
        }
        self.shared.hold.verify().await
    }

    pub(crate) fn guarded(self: &Arc<Self>) -> Transaction {
        let is_released = self.is_released.load(Ordering::Acquire);
        Transaction::guarded_by(self.client.clone(), self.shared.hold.clone(), is_released)
    }

    fn path(&self) -> &str {
        self.shared.hold.path()
    }
}

/// One acquisition. Dropping it releases in the background and never blocks.
#[must_use = "dropping a Held releases the lock at once; keep it for as long as the work takes"]
pub struct Held {
    grip: Arc<Grip>,
}

impl Held {
    /// The path that was acquired; the paths of a multi-lock with spaces between them.
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

    /// The tokens of all that is held together, in the order of their paths: several for a multi-lock.
    pub fn fencing_tokens(&self) -> Vec<u64> {
        self.grip.shared.hold.tokens().iter().map(|token| *token as u64).collect()
    }

    /// How often the turn was passed on in memory since it was won: with local hand-off, acquisitions share a fencing
    /// token, and the pair of it and this number rises strictly.
    pub fn passes(&self) -> u32 {
        self.grip.shared.hold.passes()
    }

    /// How many nodes of ours stand for this acquisition: the permits of a semaphore, the locks of a multi-lock.
    pub fn permits(&self) -> usize {
        self.grip.shared.hold.nodes().len()
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
        sequencer::of(self.grip.shared.hold.node())
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

    /// Calls back once when somebody asks for it, at once if that has happened: finish, then release.
    pub fn on_revoke(&self, callback: impl FnOnce() + Send + 'static) -> Subscription {
        match drive::check_process() {
            Ok(()) => self.grip.shared.hold.on_revoke(callback),
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
