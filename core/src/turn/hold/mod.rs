//! What is held: a node of ours that has its turn, until it is let go or lost.
//!
//! `is_held` compares the clock with the lease and never guesses; loss is sticky even if the session turns out to have
//! survived, and the node is then deleted. Losses are told once, by the alarm of the lease, by the watch on our own
//! node, or by the heartbeat, whichever comes first.

mod guarded;
mod own_nodes;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};

use tokio::sync::{Notify, watch};

use super::grant::{Grant, Won};
use super::place::Node;
use super::relay::Baton;
use crate::error::{Error, ErrorKind, LostReason, Result};
use crate::runtime;
use crate::session::Session;
use crate::session::call::refusal;
use crate::session::delivery::{Live, Subscription};
use crate::session::epoch::{Epoch, Interest, Tenant};
use crate::session::wire::{Flight, WireError, Write};

/// How a hold stands. Once it is not `Held` any more it never is again.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tenure {
    Held,
    Released,
    Lost(LostReason),
}

type LossCallback = Box<dyn FnOnce(Error) + Send>;
type RevokeCallback = Box<dyn FnOnce() + Send>;

/// One acquisition: a node of ours, or several that are held together.
pub(crate) struct Hold {
    session: Arc<Session>,
    epoch: Arc<Epoch>,
    /// The path of the recipe.
    path: String,
    nodes: Vec<Node>,
    tokens: Vec<i64>,
    /// How often the turn was passed on in memory before it came here.
    passes: u32,
    /// Guarded writes that are not answered yet: the turn is not passed on before they are.
    writing: AtomicUsize,
    written: Notify,
    tenure: watch::Sender<Tenure>,
    inner: Mutex<Inner>,
}

struct Inner {
    /// Dropped at the end: the heartbeat stops asking for our nodes.
    interests: Vec<Interest>,
    /// Passed on or dropped at the end: whoever of this client waits for it is next.
    baton: Option<Baton>,
    /// Dropped at the end, whatever it is: what the owner keeps locked meanwhile.
    keeps: Option<Box<dyn Send>>,
    on_lost: Vec<(u64, LossCallback)>,
    on_revoke: Vec<(u64, RevokeCallback)>,
    next_callback: u64,
    watches_own_nodes: bool,
    /// Somebody has asked us to let go.
    is_revoked: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Hold {
    /// What was won is held from now on; `keeps` is dropped when that ends.
    pub(crate) fn begin(
        session: Arc<Session>,
        path: &str,
        grant: Grant,
        keeps: Option<Box<dyn Send>>,
    ) -> Arc<Hold> {
        let is_watched = grant.is_watched;
        let (epoch, won, baton) = grant.take();
        let passes = baton.as_ref().map_or(0, Baton::passes);
        let watches_own_nodes = won.iter().all(|won| won.own.is_some());
        let is_revoked = won.iter().any(|won| won.is_revoked);
        let (mut nodes, mut tokens, mut interests, mut armed) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for Won { node, token, interest, own, .. } in won {
            armed.extend(own.map(|watch| (node.path.clone(), watch)));
            nodes.push(node);
            tokens.push(token);
            interests.push(interest);
        }
        let hold = Arc::new(Hold {
            session,
            epoch,
            path: path.to_owned(),
            nodes,
            tokens,
            passes,
            writing: AtomicUsize::new(0),
            written: Notify::new(),
            tenure: watch::Sender::new(Tenure::Held),
            inner: Mutex::new(Inner {
                interests: Vec::new(),
                baton,
                keeps,
                on_lost: Vec::new(),
                on_revoke: Vec::new(),
                next_callback: 0,
                watches_own_nodes,
                is_revoked,
            }),
        });
        let tenant: Weak<dyn Tenant> = Arc::downgrade(&hold) as Weak<dyn Tenant>;
        // Kept first: whoever is told of a loss as soon as it is admitted must find them to drop.
        let mut inner = lock(&hold.inner);
        inner.interests = interests;
        inner.interests.iter().for_each(|interest| interest.admit(tenant.clone()));
        drop(inner);
        if watches_own_nodes {
            armed.into_iter().for_each(|(node, watch)| hold.follow(node, Some(watch)));
        } else if is_watched {
            hold.watch_own_node();
        }
        hold
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The node that stands for the acquisition: the first of several.
    pub(crate) fn node(&self) -> &Node {
        &self.nodes[0]
    }

    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    pub(crate) fn tokens(&self) -> &[i64] {
        &self.tokens
    }

    pub(crate) fn passes(&self) -> u32 {
        self.passes
    }

    pub(crate) fn epoch(&self) -> &Arc<Epoch> {
        &self.epoch
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
        let asked = std::mem::take(&mut inner.on_revoke);
        let ended = (std::mem::take(&mut inner.interests), inner.baton.take(), inner.keeps.take());
        let callbacks = std::mem::take(&mut inner.on_lost);
        drop(inner);
        drop((asked, ended));
        callbacks
    }

    /// The condition that all our nodes stand, as the first parts of a transaction.
    fn checks(&self) -> Vec<Write> {
        self.nodes.iter().map(|node| Write::Check { path: node.path.clone(), version: None }).collect()
    }

    // ---- asking and writing

    /// Asks the quorum whether our node still stands.
    pub(crate) async fn verify(self: &Arc<Self>) -> Result<()> {
        let mut call = self.session.call(None);
        loop {
            if !self.is_held() {
                return Err(self.not_held());
            }
            let check = self.epoch.multi(&self.checks());
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

    // ---- letting go

    /// Lets go now; the future deletes our nodes. ConnectionLost from it means unconfirmed, and the deletion then goes on
    /// in the background, as it does when the future is dropped.
    pub(crate) fn release(self: &Arc<Self>) -> impl Future<Output = Result<()>> + Send + use<> {
        let let_go = self.let_go();
        let hold = self.clone();
        async move {
            let mut result = Ok(());
            for deletion in let_go? {
                result = result.and(hold.confirm(deletion).await);
            }
            result
        }
    }

    async fn confirm(&self, mut deletion: Deletion) -> Result<()> {
        let mut call = self.session.call(None);
        let mut is_ambiguous = false;
        loop {
            let flight = deletion.flight.take().unwrap_or_else(|| self.epoch.delete(&deletion.node, None));
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
                    let reason = self.deletion_reason();
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

    /// Lets go now and deletes our nodes in the background.
    pub(crate) fn release_in_background(self: &Arc<Self>) -> Result<()> {
        self.let_go().map(drop)
    }

    fn let_go(self: &Arc<Self>) -> Result<Vec<Deletion>> {
        // What can no longer be certain was lost, not released.
        if !self.is_held() || !self.change(Tenure::Released) {
            return Err(self.not_held());
        }
        if self.pass_on() {
            drop(self.wind_up());
            return Ok(Vec::new());
        }
        // The deletions leave, in one flight, before anybody who waits for this handle can queue behind the nodes.
        let deletions = self.nodes.iter().map(|node| Deletion {
            epoch: self.epoch.clone(),
            flight: Some(self.epoch.delete(&node.path, None)),
            node: node.path.clone(),
            is_confirmed: false,
        });
        let deletions = deletions.collect();
        drop(self.wind_up());
        Ok(deletions)
    }

    /// Passes the turn on to another owner of this client, if one waits; false if the nodes are to be deleted.
    fn pass_on(self: &Arc<Self>) -> bool {
        let mut inner = lock(&self.inner);
        let Some(baton) = inner.baton.take_if(|baton| baton.is_wanted()) else { return false };
        let interests = std::mem::take(&mut inner.interests);
        let (is_revoked, is_watched) = (inner.is_revoked, inner.watches_own_nodes);
        drop(inner);
        if is_revoked {
            // Somebody else wants it: the owner has done what it was asked to.
            drop((interests, baton));
            return false;
        }
        let won = self.nodes.iter().zip(&self.tokens).zip(interests);
        let won = won.map(|((node, token), interest)| Won {
            node: node.clone(),
            token: *token,
            interest,
            own: None,
            is_revoked: false,
        });
        let mut grant = Grant::of(self.epoch.clone(), won.collect());
        grant.is_watched = is_watched;
        if self.writing.load(Ordering::Acquire) == 0 {
            baton.pass(grant);
            return true;
        }
        let hold = self.clone();
        self.session.clock().spawn(Box::pin(async move {
            hold.until_written().await;
            baton.pass(grant);
        }));
        true
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
                inner.on_lost.push((id, callback));
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
                let at = inner.on_lost.iter().position(|(other, _)| *other == id);
                let callback = at.map(|at| inner.on_lost.swap_remove(at));
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
}

impl Tenant for Hold {
    fn lose(&self, reason: LostReason) {
        let reason = match reason {
            // News of a deletion that is read after the lease has run out is news of the session's end.
            LostReason::Deleted if !self.epoch.is_certain() => LostReason::Session,
            LostReason::Deleted => self.deletion_reason(),
            reason => reason,
        };
        if !self.change(Tenure::Lost(reason)) {
            return;
        }
        let callbacks = self.wind_up();
        let (path, node) = (self.path.clone(), self.node().path.clone());
        // Not logged here: this may be the alarm thread, which no subscriber of logs may hold up.
        runtime::LOSSES.run(Box::new(move || tracing::warn!(path, node, reason = reason.name(), "lost")));
        // Loss is sticky, so nothing of ours must keep others waiting: the session may have survived, and of several
        // nodes only one may be gone. With a closing client they all go.
        let stays = reason == LostReason::Session || self.nodes.len() > 1;
        if stays && reason != LostReason::Closed && !self.epoch.has_ended() {
            for node in &self.nodes {
                drop(self.epoch.delete_in_background(node.path.clone()));
            }
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
