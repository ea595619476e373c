//! A node of ours that was let go and is not yet known to be deleted: whatever interrupts the release, the deletion goes on.

use std::sync::Arc;

use super::place::Node;
use super::session_line::Passed;
use crate::process::UnlessForked;
use crate::session::server_session::ServerSession;
use crate::session::wire::{Flight, WireError, Write};

/// The deletion of one node, from when it has left. Dropped, it goes on in the background.
pub(super) struct Deletion {
    server_session: Arc<ServerSession>,
    node: String,
    czxid: i64,
    guard: Option<Write>,
    /// The turn that was passed on already.
    pub(super) passed: Option<Passed>,
    /// The request, until its answer is waited for.
    pub(super) flight: UnlessForked<Option<Flight<()>>>,
    pub(super) is_confirmed: bool,
}

impl Deletion {
    /// It has left, on this connection, when this is back.
    pub(super) fn begin(server_session: &Arc<ServerSession>, node: &Node, guard: Option<&Write>) -> Deletion {
        let flight = server_session.delete_guarded(&node.path, node.czxid, guard);
        Deletion {
            server_session: server_session.clone(),
            flight: UnlessForked::new(Some(flight)),
            node: node.path.clone(),
            czxid: node.czxid,
            guard: guard.cloned(),
            passed: None,
            is_confirmed: false,
        }
    }

    pub(super) fn again(&self) -> Flight<()> {
        self.server_session.delete_again(&self.node, self.czxid, self.guard.as_ref())
    }

    pub(super) fn when_allowed(&self) {
        self.server_session.delete_when_allowed(self.node.clone(), self.czxid, self.guard.clone());
    }
}

impl Drop for Deletion {
    fn drop(&mut self) {
        // In a forked child the session is the parent's.
        if self.is_confirmed || !self.flight.process().is_present() {
            return;
        }
        let first = self.flight.take();
        // Somebody else has deleted it if the first answer says so.
        let is_first = first.is_some();
        let flight = first.unwrap_or_else(|| self.again());
        let (node, guard) = (std::mem::take(&mut self.node), self.guard.take());
        let (server_session, czxid) = (self.server_session.clone(), self.czxid);
        let Some(passed) = self.passed.take() else {
            drop(server_session.delete_until_confirmed(node, czxid, guard, flight));
            return;
        };
        drop(self.server_session.in_background(async move {
            let answer = flight.await;
            match &answer {
                Ok(()) => {}
                Err(WireError::NoNode) if is_first => passed.was_gone(),
                Err(WireError::NoNode) => {}
                Err(WireError::NoAuth) => passed.is_refused(),
                Err(_) => passed.is_unanswered(),
            }
            let answered = Box::pin(std::future::ready(answer));
            server_session.delete_until_confirmed(node, czxid, guard, answered).await;
            drop(passed);
        }));
    }
}
