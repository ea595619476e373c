//! One acquisition of one owner: what it may ask, and how it lets go.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

use super::handle::Handle;
use super::sequencer;
use crate::client::Client;
use crate::drive;
use crate::error::{Error, ErrorKind, LostReason, Result};
use crate::nodes::Transaction;
use crate::session::delivery::Subscription;
use crate::turn::hold::{Hold, Tenure};

/// A hold, shared by the nested acquisitions of a reentrant handle.
pub(crate) struct Shared {
    pub(super) hold: Arc<Hold>,
    grips: AtomicUsize,
}

/// One acquisition of one owner.
pub(crate) struct Grip {
    pub(super) shared: Arc<Shared>,
    handle: Weak<Handle>,
    client: Client,
    is_released: AtomicBool,
}

impl Grip {
    pub(super) fn first(hold: Arc<Hold>, handle: &Arc<Handle>) -> Arc<Grip> {
        Grip::on(Arc::new(Shared { hold, grips: AtomicUsize::new(1) }), handle)
    }

    /// One more acquisition of the same hold, unless it is being let go just now.
    pub(super) fn nest(&self, handle: &Arc<Handle>) -> Option<Arc<Grip>> {
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
    pub(super) grip: Arc<Grip>,
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
