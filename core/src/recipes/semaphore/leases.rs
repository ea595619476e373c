//! Permits on their way: taken in one transaction, found again or deleted when its answer got lost.

use std::sync::Arc;

use super::layout::Layout;
use crate::error::Result;
use crate::path;
use crate::session::call::{Call, refusal};
use crate::session::epoch::Epoch;
use crate::session::wire::{Created, WireError, Write};
use crate::turn::grant::{Grant, Won};
use crate::turn::name::Entry;
use crate::turn::place::Node;

/// One node per permit, all in one transaction that also checks that our lock node `own` stands; `None` when that, or
/// the session, is gone.
pub(super) async fn take(
    layout: &Layout,
    epoch: &Arc<Epoch>,
    own: &str,
    n: usize,
    identity: &str,
    call: &mut Call,
    verb: &'static str,
) -> Result<Option<Grant>> {
    let (permits, mark) = layout.permits(n, identity.as_bytes());
    let mut parts = vec![Write::Check { path: own.to_owned(), version: None }];
    parts.extend(permits);
    let mut pending =
        Pending { epoch: epoch.clone(), leases: layout.leases.clone(), mark, is_settled: false };
    let flight = epoch.multi(&parts);
    let answer = match call.briefly(verb, flight).await? {
        Err(WireError::ConnectionLoss) => match pending.recover(call, verb).await? {
            Some(created) if created.len() == n => Ok(created),
            _ => return Ok(None),
        },
        answer => answer,
    };
    // The server has decided, or the session is gone with all its nodes: there is nothing to look for any more.
    pending.is_settled = true;
    let created = match answer {
        Ok(created) => created,
        // Our lock is gone, or the parent of the permits: look again.
        Err(WireError::Part { error, .. }) if *error == WireError::NoNode => return Ok(None),
        Err(WireError::SessionEnded) => return Ok(None),
        Err(error) => return Err(refusal(error, verb, &layout.leases)),
    };
    let won = created.into_iter().map(|Created { path, czxid }| {
        let interest = epoch.interest(&path);
        let entry = Entry::lease(path::name(&path));
        Won { node: Node { path, entry, czxid }, token: czxid, interest, own: None, is_revoked: false }
    });
    let mut grant = Grant::of(epoch.clone(), won.collect());
    let stands = grant.learn_czxids(call, verb).await?;
    // Only what is certain for some time is worth having; see [`Epoch::is_firm`].
    call.until(verb, epoch.until_firm()).await?;
    Ok((stands && !epoch.has_ended()).then_some(grant))
}

/// Permits that may or may not have been created. Dropped unsettled, whatever there is of them is deleted.
struct Pending {
    epoch: Arc<Epoch>,
    leases: String,
    mark: String,
    is_settled: bool,
}

impl Pending {
    /// After a lost answer: the permits that were created by this session, or `None` if the session is gone.
    async fn recover(&self, call: &mut Call, verb: &'static str) -> Result<Option<Vec<Created>>> {
        loop {
            if self.epoch.has_ended() {
                return Ok(None);
            }
            let (sync, list) = (self.epoch.sync(&self.leases), self.epoch.children(&self.leases));
            let synced = call.briefly(verb, sync).await?;
            let listed = call.briefly(verb, list).await?;
            match synced.and(listed) {
                Ok(names) => {
                    let ours = names.iter().filter(|name| name.contains(&self.mark));
                    // The czxid is asked for later, and the owner can only be us: the mark was new a moment ago and the
                    // session has not changed.
                    let found = ours
                        .map(|name| Created { path: path::join(&self.leases, name), czxid: -1 })
                        .collect();
                    return Ok(Some(found));
                }
                Err(WireError::NoNode) => return Ok(Some(Vec::new())),
                Err(error) if error.is_unanswered() => call.retry_after_loss(verb).await?,
                Err(error) => return Err(refusal(error, verb, &self.leases)),
            }
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.is_settled && crate::runtime::check_process().is_ok() {
            let (leases, mark) = (std::mem::take(&mut self.leases), std::mem::take(&mut self.mark));
            drop(self.epoch.delete_by_guid_in_background(leases, mark));
        }
    }
}
