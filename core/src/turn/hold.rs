//! What is held: a node of ours that has its turn, until it is let go or lost.
//!
//! `is_held` compares the clock with the lease and never guesses; loss is sticky even if the session turns out to have
//! survived, and the node is then deleted. Losses are told once, by the alarm of the lease, by the watch on our own
//! node, or by the heartbeat, whichever comes first.

use std::sync::{Arc, Mutex, MutexGuard, Weak};

use tokio::sync::watch;

use super::Turn;
use super::place::Node;
use crate::error::{Error, ErrorKind, LostReason, Result};
use crate::runtime;
use crate::session::Session;
use crate::session::call::refusal;
use crate::session::delivery::{Live, Subscription};
use crate::session::epoch::{Epoch, Interest, Tenant};
use crate::session::wire::{Event, Flight, Watch, WireError, Write};

/// How a hold stands. Once it is not `Held` any more it never is again.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tenure {
    Held,
    Released,
    Lost(LostReason),
}

type LossCallback = Box<dyn FnOnce(Error) + Send>;

/// One acquisition.
pub(crate) struct Hold {
    session: Arc<Session>,
    epoch: Arc<Epoch>,
    /// The path of the recipe, for error texts.
    path: String,
    node: Node,
    tenure: watch::Sender<Tenure>,
    inner: Mutex<Inner>,
}

struct Inner {
    /// Dropped at the end: the heartbeat stops asking for our node.
    interest: Option<Interest>,
    /// Dropped at the end, whatever it is: what the owner keeps locked meanwhile.
    keeps: Option<Box<dyn Send>>,
    callbacks: Vec<(u64, LossCallback)>,
    next_callback: u64,
    watches_own_node: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Hold {
    /// The turn has come; `keeps` is dropped when it ends.
    pub(crate) fn begin(
        session: Arc<Session>,
        path: &str,
        turn: Turn,
        keeps: Option<Box<dyn Send>>,
    ) -> Arc<Hold> {
        let Turn { epoch, node, interest, own } = turn;
        let hold = Arc::new(Hold {
            session,
            epoch,
            path: path.to_owned(),
            node,
            tenure: watch::Sender::new(Tenure::Held),
            inner: Mutex::new(Inner {
                interest: None,
                keeps,
                callbacks: Vec::new(),
                next_callback: 0,
                watches_own_node: own.is_some(),
            }),
        });
        let tenant: Weak<dyn Tenant> = Arc::downgrade(&hold) as Weak<dyn Tenant>;
        // Kept first: whoever is told of a loss as soon as it is admitted must find it to drop.
        lock(&hold.inner).interest.insert(interest).admit(tenant);
        if let Some(watch) = own {
            hold.clone().follow_own_node(Some(watch));
        }
        hold
    }

    pub(crate) fn node(&self) -> &Node {
        &self.node
    }

    pub(crate) fn tenure(&self) -> Tenure {
        *self.tenure.borrow()
    }

    /// Certain, or false.
    pub(crate) fn is_held(&self) -> bool {
        if self.tenure() != Tenure::Held {
            return false;
        }
        if self.epoch.is_certain() {
            return true;
        }
        self.lose(LostReason::Session);
        false
    }

    /// The error for using what is not held, with the reason if it was lost.
    pub(crate) fn not_held(&self) -> Error {
        let error = match self.tenure() {
            Tenure::Lost(reason) => {
                Error::not_held(&format!("it was lost before ({})", reason.name())).with_reason(reason)
            }
            _ => Error::not_held("it was released before"),
        };
        error.with_path(&self.path)
    }

    pub(crate) fn lost_error(&self, reason: LostReason) -> Error {
        Error::lost(reason).with_path(&self.path)
    }

    /// Changes `Held` to `end` once; answers whether this call did.
    fn change(&self, end: Tenure) -> bool {
        self.tenure.send_if_modified(|tenure| {
            let first = *tenure == Tenure::Held;
            if first {
                *tenure = end;
            }
            first
        })
    }

    /// Drops what was kept while it lasted; answers who wanted to hear of a loss.
    fn wind_up(&self) -> Vec<(u64, LossCallback)> {
        let mut inner = lock(&self.inner);
        let (interest, keeps) = (inner.interest.take(), inner.keeps.take());
        let callbacks = std::mem::take(&mut inner.callbacks);
        drop(inner);
        drop((interest, keeps));
        callbacks
    }

    // ---- asking and writing

    /// Asks the quorum whether our node still stands.
    pub(crate) async fn verify(self: &Arc<Self>) -> Result<()> {
        let mut call = self.session.call(None);
        loop {
            if !self.is_held() {
                return Err(self.not_held());
            }
            let check = self.epoch.multi(&[Write::Check { path: self.node.path.clone(), version: None }]);
            match call.briefly("verify", check).await.map_err(|error| error.with_path(&self.path))? {
                Ok(_) => {}
                Err(WireError::Part { error, .. }) if *error == WireError::NoNode => {
                    self.lose(LostReason::Deleted)
                }
                Err(WireError::SessionEnded) => self.lose(LostReason::Session),
                Err(WireError::ConnectionLoss) => {
                    call.retry_after_loss("verify").await.map_err(|error| error.with_path(&self.path))?;
                    continue;
                }
                Err(error) => return Err(refusal(error, "verify", &self.path)),
            }
            return if self.is_held() { Ok(()) } else { Err(self.not_held()) };
        }
    }

    /// Applies `writes` in one transaction that the server refuses once our node is gone. A lost answer is never
    /// retried: the writes may have been applied.
    pub(crate) async fn write_guarded(self: &Arc<Self>, writes: &[Write]) -> Result<()> {
        if !self.is_held() {
            return Err(self.not_held());
        }
        let mut guarded = vec![Write::Check { path: self.node.path.clone(), version: None }];
        guarded.extend_from_slice(writes);
        let mut call = self.session.call(None);
        match call.briefly("a guarded write", self.epoch.multi(&guarded)).await? {
            Ok(_) => Ok(()),
            Err(WireError::Part { index: 0, error }) if *error == WireError::NoNode => {
                self.lose(LostReason::Deleted);
                Err(self.not_held())
            }
            Err(WireError::Part { index, error }) => {
                let path = writes.get(index.saturating_sub(1)).map_or(&*self.path, Write::path);
                Err(refusal(*error, "a guarded write", path))
            }
            Err(error) => Err(refusal(error, "a guarded write", &self.path)),
        }
    }

    // ---- letting go

    /// Lets go now; the future deletes our node. ConnectionLost from it means unconfirmed, and the deletion then goes on in
    /// the background, as it does when the future is dropped.
    pub(crate) fn release(self: &Arc<Self>) -> impl Future<Output = Result<()>> + Send + use<> {
        let let_go = self.let_go();
        let hold = self.clone();
        async move { hold.confirm(let_go?).await }
    }

    async fn confirm(self: Arc<Self>, mut deletion: Deletion) -> Result<()> {
        let mut call = self.session.call(None);
        let mut is_ambiguous = false;
        loop {
            let flight = deletion.flight.take().unwrap_or_else(|| self.epoch.delete(&self.node.path, None));
            let answer = match call.briefly("release", flight).await {
                Ok(answer) => answer,
                // The client is closing, and the session takes the node with it.
                Err(error) if error.kind() == ErrorKind::Closed => Ok(()),
                Err(error) => return Err(error.with_path(&self.path)),
            };
            match answer {
                // With the session went the node; whether before this or after, nothing is left to release.
                Ok(()) | Err(WireError::SessionEnded) => {}
                Err(WireError::NoNode) if is_ambiguous => {}
                Err(WireError::NoNode) => {
                    deletion.is_confirmed = true;
                    let reason = LostReason::Deleted;
                    return Err(Error::not_held("its node was deleted by somebody else")
                        .with_reason(reason)
                        .with_path(&self.path));
                }
                Err(WireError::ConnectionLoss) => {
                    is_ambiguous = true;
                    call.retry_after_loss("release").await.map_err(|error| error.with_path(&self.path))?;
                    continue;
                }
                Err(error) => return Err(refusal(error, "release", &self.path)),
            }
            deletion.is_confirmed = true;
            return Ok(());
        }
    }

    /// Lets go now and deletes our node in the background.
    pub(crate) fn release_in_background(self: &Arc<Self>) -> Result<()> {
        self.let_go().map(drop)
    }

    fn let_go(self: &Arc<Self>) -> Result<Deletion> {
        // What can no longer be certain was lost, not released.
        if !self.is_held() || !self.change(Tenure::Released) {
            return Err(self.not_held());
        }
        // The deletion leaves before anybody who waits for this handle can queue behind the node.
        let flight = self.epoch.delete(&self.node.path, None);
        drop(self.wind_up());
        let node = self.node.path.clone();
        Ok(Deletion { epoch: self.epoch.clone(), node, flight: Some(flight), is_confirmed: false })
    }

    // ---- losing

    /// Calls back once when this is lost, at once if it is already, never on our own release.
    pub(crate) fn on_lost(self: &Arc<Self>, callback: impl FnOnce(Error) + Send + 'static) -> Subscription {
        let live = Live::default();
        let callback: LossCallback = Box::new(live.guard(callback));
        let mut inner = lock(&self.inner);
        // Under the lock: a loss changes the tenure first and takes the callbacks then, so none falls between.
        let id = match self.tenure() {
            Tenure::Held => {
                let id = inner.next_callback;
                inner.next_callback += 1;
                inner.callbacks.push((id, callback));
                id
            }
            tenure => {
                drop(inner);
                if let Tenure::Lost(reason) = tenure {
                    let error = self.lost_error(reason);
                    self.session.delivery.loss(Box::new(move || callback(error)));
                }
                return Subscription::nothing();
            }
        };
        drop(inner);
        self.watch_own_node();
        let hold = Arc::downgrade(self);
        Subscription::new(live, move || {
            if let Some(hold) = hold.upgrade() {
                let mut inner = lock(&hold.inner);
                let at = inner.callbacks.iter().position(|(other, _)| *other == id);
                let callback = at.map(|at| inner.callbacks.swap_remove(at));
                drop(inner);
                drop(callback);
            }
        })
    }

    /// Resolves when this is lost; never after our own release.
    pub(crate) async fn lost(self: &Arc<Self>) -> Error {
        self.watch_own_node();
        let mut tenure = self.tenure.subscribe();
        let end = tenure.wait_for(|tenure| *tenure != Tenure::Held).await.map(|tenure| *tenure);
        match end {
            Ok(Tenure::Lost(reason)) => self.lost_error(reason),
            _ => std::future::pending().await,
        }
    }

    /// Somebody wants to hear of a loss, so make sure that we hear of a deletion. Who never asks saves the read.
    fn watch_own_node(self: &Arc<Self>) {
        let is_watching = std::mem::replace(&mut lock(&self.inner).watches_own_node, true);
        if !is_watching && self.tenure() == Tenure::Held {
            self.clone().follow_own_node(None);
        }
    }

    fn follow_own_node(self: Arc<Self>, armed: Option<Watch>) {
        let (hold, epoch, node) = (Arc::downgrade(&self), self.epoch.clone(), self.node.path.clone());
        // Sent here and not in the task, so that the watch is armed before anything the caller does next.
        let first = match armed {
            Some(watch) => Ok(watch),
            None => Err(epoch.watch_data(&node)),
        };
        self.session.clock().spawn(Box::pin(async move {
            let mut next = first;
            loop {
                let event = match next {
                    Ok(watch) => watch.await,
                    Err(flight) => match flight.await {
                        Ok((_, _, watch)) => watch.await,
                        Err(WireError::NoNode) => Event::Deleted,
                        Err(WireError::ConnectionLoss) => Event::DataChanged,
                        // The heartbeat and the lease still tell.
                        Err(_) => return,
                    },
                };
                let Some(hold) = hold.upgrade() else { return };
                match event {
                    Event::Deleted => hold.lose(LostReason::Deleted),
                    Event::SessionEnded => hold.lose(LostReason::Session),
                    _ => {}
                }
                if hold.tenure() != Tenure::Held {
                    return;
                }
                next = Err(epoch.watch_data(&node));
            }
        }));
    }
}

impl Tenant for Hold {
    fn lose(&self, reason: LostReason) {
        if !self.change(Tenure::Lost(reason)) {
            return;
        }
        let callbacks = self.wind_up();
        let (path, node) = (self.path.clone(), self.node.path.clone());
        // Not logged here: this may be the alarm thread, which no subscriber of logs may hold up.
        runtime::LOSSES.run(Box::new(move || tracing::warn!(path, node, reason = reason.name(), "lost")));
        if reason == LostReason::Session && !self.epoch.has_ended() {
            // The session may have survived. Loss is sticky, so the node must not keep others waiting.
            drop(self.epoch.delete_in_background(self.node.path.clone()));
        }
        for (_, callback) in callbacks {
            let error = self.lost_error(reason);
            self.session.delivery.loss(Box::new(move || callback(error)));
        }
    }
}

/// Our node, let go but not yet known to be deleted: whatever interrupts the release, the deletion goes on.
struct Deletion {
    epoch: Arc<Epoch>,
    node: String,
    /// The request, until its answer is waited for.
    flight: Option<Flight<()>>,
    is_confirmed: bool,
}

impl Drop for Deletion {
    fn drop(&mut self) {
        if self.is_confirmed {
            return;
        }
        let node = std::mem::take(&mut self.node);
        drop(match self.flight.take() {
            Some(flight) => self.epoch.delete_until_confirmed(node, flight),
            None => self.epoch.delete_in_background(node),
        });
    }
}
