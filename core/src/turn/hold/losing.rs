//! Losing: by the end of the lease or of the session, or because somebody deletes a node of ours. It is told once.

use std::sync::Arc;

use super::{Hold, LossCallback, OneTimeCallback, Share, Tenure};
use crate::error::{Error, LostReason};
use crate::mutex::lock;
use crate::session::delivery::{Live, Subscription};
use crate::session::server_session::Tenant;

impl Hold {
    /// Calls back once when this is lost, at once if it is already, never on our own release, which is that of `share`.
    pub(crate) fn on_lost(
        self: &Arc<Self>,
        share: &Arc<Share>,
        callback: impl FnOnce(Error) + Send + 'static,
    ) -> Subscription {
        let subscription = self.on_known_loss(share, callback);
        self.watch_own_node();
        subscription
    }

    /// The same for who need not hear of a deletion that nobody else listens for, which saves the read.
    pub(crate) fn on_known_loss(
        self: &Arc<Self>,
        share: &Arc<Share>,
        callback: impl FnOnce(Error) + Send + 'static,
    ) -> Subscription {
        let live = Live::default();
        let callback: LossCallback = Box::new(live.guard(callback));
        let mut inner = lock(&self.inner);
        if share.is_let_go() {
            drop(inner);
            return Subscription::nothing();
        }
        // Under the lock: a loss changes the tenure first and takes the callbacks then, so none falls between.
        let id = match self.tenure() {
            Tenure::Held => {
                let id = inner.next_callback;
                inner.next_callback += 1;
                inner.on_lost.push(OneTimeCallback { id, share: share.clone(), callback });
                id
            }
            tenure => {
                drop(inner);
                if let Tenure::Lost(reason) = tenure {
                    let error = self.lost_error(reason);
                    self.session.delivery.loss(Box::new(move || callback(error)));
                }
                return Subscription::new(live, || {});
            }
        };
        drop(inner);
        let hold = Arc::downgrade(self);
        Subscription::new(live, move || {
            if let Some(hold) = hold.upgrade() {
                let mut inner = lock(&hold.inner);
                let at = inner.on_lost.iter().position(|other| other.id == id);
                let callback = at.map(|at| inner.on_lost.swap_remove(at));
                drop(inner);
                drop(callback);
            }
        })
    }

    /// Resolves when this is lost; never after our own release, which is that of `share`.
    pub(crate) async fn lost(self: &Arc<Self>, share: &Share) -> Error {
        match self.ended().await {
            Tenure::Lost(reason) if !share.is_let_go() => self.lost_error(reason),
            _ => std::future::pending().await,
        }
    }

    /// Resolves when it is held no more, whatever ended it.
    pub(crate) async fn ended(self: &Arc<Self>) -> Tenure {
        self.watch_own_node();
        let mut tenure = self.tenure.subscribe();
        // The sender lives in `self`, so this cannot fail.
        tenure.wait_for(|tenure| *tenure != Tenure::Held).await.map_or(Tenure::Released, |tenure| *tenure)
    }
}

impl Hold {
    /// Of what has a guard that does not hold any more, our node may stand, or another one of its name.
    fn delete_what_is_left(&self) {
        let Some(guard) = self.guard.as_deref() else { return };
        for node in &self.nodes {
            let deletion = self.server_session.delete_again(&node.path, node.czxid, Some(guard));
            let (node, guard) = (node.clone(), Some(guard.clone()));
            drop(self.server_session.delete_until_confirmed(node.path, node.czxid, guard, deletion));
        }
    }
}

impl Tenant for Hold {
    fn lose(&self, reason: LostReason) -> bool {
        if reason == LostReason::Deleted && self.finishing.may_be_why() {
            return false;
        }
        let is_found_gone = reason == LostReason::Deleted;
        let reason = match reason {
            // Closing ends the session, which deletes the node: it is the reason, whichever news comes first.
            _ if self.session.is_closing() => LostReason::Closed,
            // News of a deletion that is read after the lease has run out is news of the session's end.
            LostReason::Deleted if !self.server_session.is_certain() => LostReason::Session,
            LostReason::Deleted => self.deletion_reason(),
            reason => reason,
        };
        if reason == LostReason::Session {
            self.server_session.loses_a_tenant();
        }
        if !self.change(Tenure::Lost(reason)) {
            return true;
        }
        let callbacks = self.take_loss_callbacks();
        // Loss is sticky, so nothing of ours must keep others waiting: the session may have survived, and of several
        // nodes only one may be gone. With a closing client they all go.
        let stays = reason == LostReason::Session || self.nodes.len() > 1;
        if stays && reason != LostReason::Closed && !self.server_session.has_ended() {
            for node in &self.nodes {
                let guard = self.guard.as_deref().cloned();
                drop(self.server_session.delete_guarded_in_background(node.path.clone(), node.czxid, guard));
            }
        } else if is_found_gone && !self.server_session.has_ended() {
            self.delete_what_is_left();
        }
        for OneTimeCallback { callback, .. } in callbacks {
            let error = self.lost_error(reason);
            self.session.delivery.loss(Box::new(move || callback(error)));
        }
        true
    }

    fn is_written(self: Arc<Self>) {
        self.watch_own_node();
    }
}
