//! What a recipe has won and nobody owns yet. Dropped, it is given back.

use std::sync::Arc;

use super::place::Node;
use super::relay::Baton;
use crate::error::Result;
use crate::session::call::{Call, refusal};
use crate::session::epoch::{Epoch, Interest};
use crate::session::wire::Watch;

/// One node of ours that has what it queued for.
pub(crate) struct Won {
    pub(crate) node: Node,
    /// The fencing token: the node's czxid, or the one that it took over.
    pub(crate) token: i64,
    pub(crate) interest: Interest,
    /// The watch on the node, if waiting armed it.
    pub(crate) own: Option<Watch>,
    /// Whether somebody has asked for it back already.
    pub(crate) is_revoked: bool,
}

/// Nodes that were won in one session and will be held together.
pub(crate) struct Grant {
    pub(crate) epoch: Arc<Epoch>,
    won: Vec<Won>,
    /// The baton, if the turn may be passed on in memory.
    pub(crate) baton: Option<Baton>,
    /// Whether to watch the nodes from the start: they were watched before they were passed on, and what that watch has
    /// told by now nobody has heard.
    pub(crate) is_watched: bool,
}

impl Grant {
    pub(crate) fn of(epoch: Arc<Epoch>, won: Vec<Won>) -> Grant {
        Grant { epoch, won, baton: None, is_watched: false }
    }

    /// The nodes; from here on their deletion is the caller's business.
    pub(crate) fn take(mut self) -> (Arc<Epoch>, Vec<Won>, Option<Baton>) {
        (self.epoch.clone(), std::mem::take(&mut self.won), self.baton.take())
    }

    /// Both together; `None`, and neither, if they were won in different sessions.
    pub(crate) fn join(mut self, mut other: Grant) -> Option<Grant> {
        if !Arc::ptr_eq(&self.epoch, &other.epoch) || self.epoch.has_ended() {
            return None;
        }
        self.won.append(&mut other.won);
        Some(self)
    }

    /// Asks for the czxids that the server did not tell when it created the nodes: before 3.8.2 a transaction does not.
    /// False if a node is gone already.
    pub(crate) async fn learn_czxids(&mut self, call: &mut Call, verb: &str) -> Result<bool> {
        let unknown: Vec<_> = self.won.iter_mut().filter(|won| won.node.czxid <= 0).collect();
        let flights: Vec<_> = unknown.iter().map(|won| self.epoch.exists(&won.node.path)).collect();
        for (won, mut flight) in unknown.into_iter().zip(flights) {
            let mut is_caught_up = false;
            won.node.czxid = loop {
                match call.briefly(verb, flight).await? {
                    Ok(Some(stat)) => break stat.czxid,
                    Ok(None) if is_caught_up => return Ok(false),
                    // After a reconnection the server may lag.
                    Ok(None) => {
                        let synced = self.epoch.sync(&won.node.path);
                        flight = self.epoch.exists(&won.node.path);
                        is_caught_up = call.briefly(verb, synced).await?.is_ok();
                    }
                    Err(_) if self.epoch.has_ended() => return Ok(false),
                    Err(error) if error.is_unanswered() => {
                        is_caught_up = false;
                        call.retry_after_loss(verb).await?;
                        flight = self.epoch.exists(&won.node.path);
                    }
                    Err(error) => return Err(refusal(error, verb, &won.node.path)),
                }
            };
            if won.token <= 0 {
                won.token = won.node.czxid;
            }
        }
        Ok(true)
    }

    /// Somebody has asked for it already.
    pub(crate) fn revoke(&mut self) {
        self.won.iter_mut().for_each(|won| won.is_revoked = true);
    }

    pub(crate) fn nodes(&self) -> impl Iterator<Item = &Node> {
        self.won.iter().map(|won| &won.node)
    }
}

impl Drop for Grant {
    fn drop(&mut self) {
        if self.won.is_empty() || crate::runtime::check_process().is_err() {
            return;
        }
        for won in self.won.drain(..) {
            drop(self.epoch.delete_in_background(won.node.path));
        }
    }
}
