//! A handle and what its owner has acquired through it: shared by every recipe that is acquired and released.

use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::{OwnedMutexGuard, watch};

use super::held::{Grip, Held};
use crate::client::Client;
use crate::drive;
use crate::error::{Error, LostReason, Result};
use crate::session::Session;
use crate::session::call::Call;
use crate::session::clock::Later;
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

    pub(super) fn forget(&self, grip: &Arc<Grip>) {
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
