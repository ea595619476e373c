//! Permits on their way: taken in one transaction, found again or deleted when its answer got lost.

use std::sync::Arc;

use super::layout::SemaphoreLayout;
use crate::error::{Error, ErrorKind, Result};
use crate::path::{self, PACKET_LIMIT};
use crate::session::call::Call;
use crate::session::refusal::refusal;
use crate::session::server_session::ServerSession;
use crate::session::wire::{Applied, Created, WireError, Write};
use crate::turn::grant::Grant;
use crate::turn::name::{self, ContenderName, Kind};
use crate::turn::place::Node;

/// Refuses permits whose transaction no server would take, before anybody queues for them.
pub(super) fn fit(
    layout: &SemaphoreLayout,
    server_session: &ServerSession,
    n: usize,
    identity: &str,
) -> Result<()> {
    let measure = server_session.measure();
    let (lock, _) = name::fresh(layout.naming, Kind::Lock);
    let own = path::join(&layout.locks, &format!("{lock}{:010}", 0));
    let bytes = |n| measure.multi(&parts(layout, &own, n, identity).0);
    let wanted = bytes(n);
    if wanted <= PACKET_LIMIT {
        return Ok(());
    }
    let none = bytes(0);
    let room = PACKET_LIMIT.saturating_sub(none) / (bytes(1) - none);
    let problem = format!(
        "too large: {n} permits at once are a packet of {wanted} bytes, and a server takes at most {PACKET_LIMIT}; take at \
         most {room} at once, or give the client a shorter identity"
    );
    Err(Error::new(ErrorKind::TooLarge, problem))
}

/// The transaction that takes `n` permits, and the mark of their names.
fn parts(layout: &SemaphoreLayout, own: &str, n: usize, identity: &str) -> (Vec<Write>, String) {
    let (permits, mark) = layout.permits(n, identity.as_bytes());
    let mut parts = vec![Write::Check { path: own.to_owned(), version: None }];
    parts.extend(permits);
    (parts, mark)
}

/// One node per permit, all in one transaction that also checks that our lock node `own` stands; `None` when that, or
/// the session, is gone.
pub(super) async fn take(
    layout: &SemaphoreLayout,
    server_session: &Arc<ServerSession>,
    own: &str,
    n: usize,
    identity: &str,
    call: &mut Call,
    verb: &'static str,
) -> Result<Option<Grant>> {
    let (parts, mark) = parts(layout, own, n, identity);
    let mut pending = Pending {
        server_session: server_session.clone(),
        path: layout.permits.clone(),
        mark,
        is_settled: false,
    };
    let mut is_in_doubt = false;
    let created = loop {
        match call.receive(verb, server_session.multi(&parts)).await? {
            // An earlier attempt had no answer. It has been decided by now, so a list shows whether its nodes are there.
            Ok(applied) if is_in_doubt => match pending.recover(call, verb).await? {
                Some(found) => break pending.keep(created(applied), found),
                None => return Ok(None),
            },
            Ok(applied) => break created(applied),
            Err(WireError::ConnectionLoss) => {
                is_in_doubt = true;
                match pending.recover(call, verb).await? {
                    Some(found) if found.len() >= n => break pending.keep_first(n, found),
                    // Under the same mark, so that what the first attempt may yet have created is known as ours.
                    Some(found) if found.is_empty() => call.retry_after_loss(verb).await?,
                    // It created them all, and somebody has deleted some. The rest counts as taken until it is deleted, too.
                    Some(_) | None => return Ok(None),
                }
            }
            // In some layouts names have no number. There the node that exists is what our first attempt created.
            Err(WireError::Part { error, .. }) if is_in_doubt && *error == WireError::NodeExists => {
                match pending.recover(call, verb).await? {
                    Some(found) if found.len() >= n => break pending.keep_first(n, found),
                    _ => return Ok(None),
                }
            }
            // The server has decided, or the session is gone with all its nodes: of this attempt there is nothing to
            // look for.
            answer => {
                pending.is_settled = !is_in_doubt;
                match answer {
                    // Our lock is gone, or the parent of the permits: look again.
                    Err(WireError::Part { error, .. }) if *error == WireError::NoNode => return Ok(None),
                    Err(WireError::SessionEnded) => return Ok(None),
                    Err(error) => return Err(refusal(error, verb, &layout.permits)),
                    Ok(_) => return Ok(None),
                }
            }
        }
    };
    pending.is_settled = true;
    let nodes = created.into_iter().map(|Created { path, czxid, .. }| {
        let entry = ContenderName::permit(path::name(&path));
        Node::of(path, entry, czxid)
    });
    let nodes: Vec<_> = nodes.collect();
    let interests = nodes.iter().map(|node| server_session.interest(&node.path)).collect();
    let mut grant = Grant::of(server_session.clone(), nodes, interests);
    Ok(grant.becomes_firm(call, verb).await?.then_some(grant))
}

/// Permits that may or may not have been created. Dropped unsettled, whatever there is of them is deleted.
struct Pending {
    server_session: Arc<ServerSession>,
    path: String,
    mark: String,
    is_settled: bool,
}

impl Pending {
    /// After a lost answer: the permits that were created by this session, or `None` if the session is gone. A quorum
    /// write that changes nothing goes ahead of the list: when it is answered, what was asked before has been decided.
    async fn recover(&self, call: &mut Call, verb: &'static str) -> Result<Option<Vec<Created>>> {
        loop {
            if self.server_session.has_ended() {
                return Ok(None);
            }
            let (settled, list) =
                (self.server_session.settle(&self.path), self.server_session.children(&self.path));
            let settled = call.receive(verb, settled).await?;
            let listed = call.receive(verb, list).await?;
            match settled.and(listed) {
                Ok(names) => {
                    let mut ours: Vec<_> = names.iter().filter(|name| name.contains(&self.mark)).collect();
                    ours.sort_unstable();
                    // The czxid is asked for later, and the owner can only be us: the mark was new a moment ago and the
                    // session has not changed.
                    let found = ours
                        .into_iter()
                        .map(|name| Created { path: path::join(&self.path, name), czxid: -1, stat: None })
                        .collect();
                    return Ok(Some(found));
                }
                Err(WireError::NoNode) => return Ok(Some(Vec::new())),
                Err(error) => call.retry_or_refuse(error, verb, &self.path).await?,
            }
        }
    }

    /// Of what two attempts created keeps `n` permits, and deletes the rest.
    fn keep_first(&self, n: usize, mut found: Vec<Created>) -> Vec<Created> {
        let rest = found.split_off(n);
        rest.into_iter()
            .for_each(|extra| drop(self.server_session.delete_in_background(extra.path, extra.czxid)));
        found
    }

    /// Keeps the permits that are known to be `created`, and deletes what else was `found`.
    fn keep(&self, created: Vec<Created>, found: Vec<Created>) -> Vec<Created> {
        let is_extra = |found: &Created| created.iter().all(|kept| kept.path != found.path);
        let extra = found.into_iter().filter(is_extra);
        extra.for_each(|extra| drop(self.server_session.delete_in_background(extra.path, extra.czxid)));
        created
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.is_settled && self.server_session.process().is_present() {
            let (path, mark) = (std::mem::take(&mut self.path), std::mem::take(&mut self.mark));
            drop(self.server_session.delete_by_guid_in_background(path, mark));
        }
    }
}

/// The nodes that a transaction created.
fn created(applied: Vec<Applied>) -> Vec<Created> {
    applied.into_iter().filter_map(Applied::created).collect()
}
