//! What happens to our own nodes: somebody asks us to let go, or deletes them.

use std::sync::Arc;

use super::{Hold, RevokeCallback, Tenure, lock};
use crate::error::LostReason;
use crate::session::delivery::{Live, Subscription};
use crate::session::epoch::Tenant;
use crate::session::wire::{Event, Watch, WireError};
use crate::turn::REVOKE;

impl Hold {
    // ---- being asked for it

    /// Calls back once when somebody asks us to let go, at once if that has happened.
    pub(crate) fn on_revoke(self: &Arc<Self>, callback: impl FnOnce() + Send + 'static) -> Subscription {
        let live = Live::default();
        let callback = live.guard(move |()| callback());
        let callback: RevokeCallback = Box::new(move || callback(()));
        let mut inner = lock(&self.inner);
        if self.tenure() != Tenure::Held {
            return Subscription::nothing();
        }
        if inner.is_revoked {
            drop(inner);
            self.session.delivery.loss(callback);
            return Subscription::new(live, || {});
        }
        let id = inner.next_callback;
        inner.next_callback += 1;
        inner.on_revoke.push((id, callback));
        drop(inner);
        self.watch_own_node();
        let hold = Arc::downgrade(self);
        Subscription::new(live, move || {
            if let Some(hold) = hold.upgrade() {
                let mut inner = lock(&hold.inner);
                let at = inner.on_revoke.iter().position(|(other, _)| *other == id);
                let callback = at.map(|at| inner.on_revoke.swap_remove(at));
                drop(inner);
                drop(callback);
            }
        })
    }

    fn revoked(&self) {
        let mut inner = lock(&self.inner);
        inner.is_revoked = true;
        let callbacks = std::mem::take(&mut inner.on_revoke);
        drop(inner);
        for (_, callback) in callbacks {
            self.session.delivery.loss(callback);
        }
    }

    /// Why a node of ours is gone: somebody who asked for it first has revoked it by force.
    pub(super) fn deletion_reason(&self) -> LostReason {
        if lock(&self.inner).is_revoked { LostReason::Revoked } else { LostReason::Deleted }
    }

    // ---- watching our own nodes

    /// Somebody wants to hear of a loss or of a request to let go, so make sure that we do. Who never asks saves the read.
    pub(super) fn watch_own_node(self: &Arc<Self>) {
        let is_watching = std::mem::replace(&mut lock(&self.inner).watches_own_nodes, true);
        if !is_watching && self.tenure() == Tenure::Held {
            self.nodes.iter().for_each(|node| self.follow(node.path.clone(), None));
        }
    }

    pub(super) fn follow(self: &Arc<Self>, node: String, armed: Option<Watch>) {
        let (hold, epoch) = (Arc::downgrade(self), self.epoch.clone());
        // Sent here and not in the task, so that the watch is armed before anything the caller does next.
        let first = match armed {
            Some(watch) => Ok(watch),
            None => Err(epoch.watch_data(&node)),
        };
        self.session.clock().spawn(Box::pin(async move {
            let mut next = first;
            let mut is_changed = false;
            loop {
                let (event, asked) = match next {
                    Ok(watch) => (Some(watch), false),
                    Err(flight) => match flight.await {
                        Ok((data, _, watch)) => (Some(watch), data == REVOKE),
                        // Only who asks for a node changes it, and this one did not wait until that could be read.
                        Err(WireError::NoNode) => (None, is_changed),
                        Err(WireError::ConnectionLoss) => {
                            epoch.until_up().await;
                            next = Err(epoch.watch_data(&node));
                            continue;
                        }
                        // The heartbeat and the lease still tell.
                        Err(_) => return,
                    },
                };
                if asked && let Some(hold) = hold.upgrade() {
                    hold.revoked();
                }
                let event = match event {
                    Some(watch) => watch.await,
                    None => Event::Deleted,
                };
                let Some(hold) = hold.upgrade() else { return };
                match event {
                    Event::Deleted => hold.lose(LostReason::Deleted),
                    Event::SessionEnded => hold.lose(LostReason::Session),
                    event => is_changed = event == Event::DataChanged,
                }
                if hold.tenure() != Tenure::Held {
                    return;
                }
                next = Err(epoch.watch_data(&node));
            }
        }));
    }
}
