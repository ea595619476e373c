//! What a server session does in the background so that nothing is left behind: deletions, until they are confirmed or the session
//! has ended and taken the nodes with it.

use std::sync::Arc;
use std::time::Duration;

use super::{ConnectionId, ServerSession};
use crate::path;
use crate::session::clock::Later;
use crate::session::growing_pause::GrowingPause;
use crate::session::refusal::refusal;
use crate::session::wire::{Flight, Stat, WireError, Write};

/// How soon a deletion that was denied is tried again, and at longest.
const FIRST_WHEN_DENIED: Duration = Duration::from_secs(1);
const LAST_WHEN_DENIED: Duration = Duration::from_secs(10);

/// Between two attempts. A request made while there is no connection waits for one by itself.
fn pause() -> GrowingPause {
    GrowingPause::new(Duration::from_millis(50), Duration::from_secs(2))
}

/// Whether the server says no, and will say so until somebody else changes something: closing is not to wait for that. What is no
/// matter of rights is told.
pub(in crate::session) fn is_refused(node: &str, error: &WireError) -> bool {
    match error {
        WireError::NoAuth => true,
        WireError::NotEmpty | WireError::BadRequest(_) | WireError::Unimplemented => {
            let error = refusal(error.clone(), "deleting it", node);
            tracing::warn!(target: "zkrecipes", event = "not_deleted", node, %error, "a node that this client has made cannot be deleted");
            true
        }
        _ => false,
    }
}

/// What has been asked for on one connection.
struct LookedAt {
    on: ConnectionId,
    settled: Flight<()>,
    found: Flight<Option<Stat>>,
    guard: Option<Flight<Option<Stat>>>,
}

impl ServerSession {
    /// Deletes `node` until that is confirmed or the session has ended; the answer resolves then, and need not be
    /// waited for. `czxid` tells it from the next one of its name, and is 0 where no name is used again.
    pub(crate) fn delete_in_background(self: &Arc<Self>, node: String, czxid: i64) -> Later<()> {
        self.delete_guarded_in_background(node, czxid, None)
    }

    /// The same for a node whose creation may yet wait to leave, and whose name is not used again.
    pub(crate) fn delete_in_order_in_background(self: &Arc<Self>, node: String) -> Later<()> {
        let first = self.delete_in_order(&node);
        self.delete_until_confirmed(node, 0, None, first)
    }

    /// The same for a name that others use, too: see [`ServerSession::delete_guarded`].
    pub(crate) fn delete_guarded_in_background(
        self: &Arc<Self>,
        node: String,
        czxid: i64,
        guard: Option<Write>,
    ) -> Later<()> {
        let first = self.delete_guarded(&node, czxid, guard.as_ref());
        self.delete_until_confirmed(node, czxid, guard, first)
    }

    /// Deletes `node`, in one transaction with `guard`: a condition that fails once another node may have the name. It leaves on this
    /// connection: what waits for the next one looks there what has the name by then.
    pub(crate) fn delete_guarded(
        self: &Arc<Self>,
        node: &str,
        czxid: i64,
        guard: Option<&Write>,
    ) -> Flight<()> {
        let Some(guard) = guard.cloned() else { return self.delete(node, None) };
        let Some(on) = self.connection() else { return self.delete_again(node, czxid, Some(&guard)) };
        let deletion = Write::Delete { path: node.to_owned(), version: None };
        let sent = self.multi_on(on, &[guard.clone(), deletion]);
        let (server_session, node) = (self.clone(), node.to_owned());
        Box::pin(async move {
            match sent.await {
                Ok(_) => Ok(()),
                // Somebody has taken it away, and another one may have come since; or what it stood for is gone.
                Err(WireError::Part { index: 0, .. }) => {
                    server_session.delete_again(&node, czxid, Some(&guard)).await
                }
                Err(WireError::Part { error, .. }) => Err(*error),
                Err(WireError::NotSent) => Err(WireError::ConnectionLoss),
                Err(error) => Err(error),
            }
        })
    }

    /// The same for a node whose deletion was sent already.
    pub(crate) fn delete_until_confirmed(
        self: &Arc<Self>,
        node: String,
        czxid: i64,
        guard: Option<Write>,
        first: Flight<()>,
    ) -> Later<()> {
        let server_session = self.clone();
        self.in_background(async move {
            let mut attempt = first;
            let mut pause = pause();
            loop {
                match attempt.await {
                    Ok(()) | Err(WireError::NoNode) => return,
                    Err(error) if is_refused(&node, &error) => {
                        return server_session.delete_when_allowed(node, czxid, guard);
                    }
                    Err(_) if server_session.has_ended() => return,
                    Err(_) => {}
                }
                pause.pass(&server_session.clock).await;
                attempt = server_session.delete_again(&node, czxid, guard.as_ref());
            }
        })
    }

    /// Nobody lets us delete `node`, which keeps others out meanwhile; somebody may again. Nothing waits for that, and else the node
    /// goes with the session.
    pub(crate) fn delete_when_allowed(self: &Arc<Self>, node: String, czxid: i64, guard: Option<Write>) {
        let (server_session, clock) = (Arc::downgrade(self), self.clock.clone());
        self.clock.spawn(Box::pin(async move {
            let mut pause = GrowingPause::new(FIRST_WHEN_DENIED, LAST_WHEN_DENIED);
            loop {
                pause.pass(&clock).await;
                let Some(server_session) = server_session.upgrade() else { return };
                if server_session.has_ended() {
                    return;
                }
                let answer = server_session.delete_again(&node, czxid, guard.as_ref()).await;
                if matches!(answer, Ok(()) | Err(WireError::NoNode)) {
                    return;
                }
            }
        }));
    }

    /// One more attempt after a lost answer. The deletion may have been applied, and the name be that of another node
    /// since: that one is not touched. What guards the node may have changed; as it is now, it guards this attempt. It leaves on the
    /// connection on which the node was seen, or not at all.
    pub(crate) fn delete_again(
        self: &Arc<Self>,
        node: &str,
        czxid: i64,
        guard: Option<&Write>,
    ) -> Flight<()> {
        if czxid <= 0 && guard.is_none() {
            return self.delete(node, None);
        }
        let (server_session, node) = (self.clone(), node.to_owned());
        let guard = guard.map(|guard| guard.path().to_owned());
        // As a rule it leaves now.
        let looked = server_session.look_at(&node, guard.as_deref());
        Box::pin(async move {
            let looked = match looked {
                Some(looked) => looked,
                None => {
                    server_session.until_up().await;
                    let looked = server_session.look_at(&node, guard.as_deref());
                    looked.ok_or_else(|| match server_session.has_ended() {
                        true => WireError::SessionEnded,
                        false => WireError::ConnectionLoss,
                    })?
                }
            };
            let LookedAt { on, settled, found, guard: seen } = looked;
            settled.await?;
            if found.await?.is_none_or(|stat| stat.czxid != czxid) {
                return Err(WireError::NoNode);
            }
            let guard = match (guard, seen) {
                (Some(path), Some(seen)) => {
                    seen.await?.map(|stat| Write::Check { path, version: Some(stat.version) })
                }
                _ => None,
            };
            let deleted = match guard {
                // What it stood for is gone, and no other will have its name.
                None => server_session.delete_on(on, &node, None).await,
                Some(guard) => {
                    let deletion = Write::Delete { path: node, version: None };
                    server_session.multi_on(on, &[guard, deletion]).await.map(drop)
                }
            };
            match deleted {
                // It has changed in between, or waited until the connection broke: to be looked at once more.
                Err(WireError::Part { index: 0, .. } | WireError::NotSent) => Err(WireError::ConnectionLoss),
                Err(WireError::Part { error, .. }) => Err(*error),
                answer => answer,
            }
        })
    }

    /// Looks what has the name of `node`, and at what guards it; `None` while there is no connection.
    fn look_at(self: &Arc<Self>, node: &str, guard: Option<&str>) -> Option<LookedAt> {
        let on = self.connection()?;
        let (settled, found) = (self.settle(path::parent(node)), self.exists(node));
        Some(LookedAt { on, settled, found, guard: guard.map(|guard| self.exists(guard)) })
    }

    /// Finds the nodes of this session that carry `guid` in their name and deletes them: for a create whose answer never came. What goes
    /// ahead of the list is decided by the quorum, and that create before it, so the list cannot miss it.
    pub(crate) fn delete_by_guid_in_background(self: &Arc<Self>, parent: String, guid: String) -> Later<()> {
        let server_session = self.clone();
        let mut flights = (self.settle(&parent), self.list_own_children(&parent));
        self.in_background(async move {
            let mut pause = pause();
            loop {
                match (flights.0.await, flights.1.await) {
                    (Ok(()), Ok(names)) => {
                        for name in names.iter().filter(|name| name.contains(&guid)) {
                            server_session.delete_in_background(path::join(&parent, name), 0).await;
                        }
                        return;
                    }
                    (Err(WireError::NoNode), _) => return,
                    (Err(error), _) | (_, Err(error)) if is_refused(&parent, &error) => return,
                    _ if server_session.has_ended() => return,
                    _ => {}
                }
                pause.pass(&server_session.clock).await;
                flights = (server_session.settle(&parent), server_session.list_own_children(&parent));
            }
        })
    }

    /// Deletes `node` if it is this session's and says what we wrote: for a create whose answer never came, of a name that
    /// others use, too. Before that it does what is to be done `first` if there is such a node.
    pub(crate) fn delete_own_in_background(
        self: &Arc<Self>,
        node: String,
        said: Vec<u8>,
        guard: Write,
        first: Later<()>,
    ) -> Later<()> {
        let server_session = self.clone();
        let mut flights = (self.settle(path::parent(&node)), self.get_data(&node));
        self.in_background(async move {
            let mut pause = pause();
            loop {
                match (flights.0.await, flights.1.await) {
                    (Ok(()), Ok((data, stat))) => {
                        if data == said && stat.ephemeral_owner as u64 == server_session.session_id() {
                            first.await;
                            server_session.delete_guarded_in_background(node, stat.czxid, Some(guard)).await;
                        }
                        return;
                    }
                    (Err(WireError::NoNode), _) | (Ok(()), Err(WireError::NoNode)) => return,
                    (Err(error), _) | (Ok(()), Err(error)) if is_refused(&node, &error) => return,
                    _ if server_session.has_ended() => return,
                    _ => {}
                }
                pause.pass(&server_session.clock).await;
                flights = (server_session.settle(path::parent(&node)), server_session.get_data(&node));
            }
        })
    }
}
