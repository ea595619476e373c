//! What a recipe has won before it has an owner. It is given back when it is dropped.

use std::sync::Arc;

use super::deletion::Deletion;
use super::hold::own_nodes::Follower;
use super::local_handoff::HandoffGuard;
use super::place::Node;
use super::session_line::Position;
use crate::error::Result;
use crate::session::call::Call;
use crate::session::refusal::refusal;
use crate::session::server_session::{Interest, ServerSession};
use crate::session::wire::{Watch, WireError, Write};

/// What tells of a node of ours.
pub(crate) enum OwnNodeWatch {
    /// The watch that waiting armed.
    Armed(Watch),
    /// The one that told the holder before.
    Followed(Arc<Follower>),
}

/// Nodes that were won in one session and will be held together.
pub(crate) struct Grant {
    pub(crate) server_session: Arc<ServerSession>,
    /// Until a hold takes them over. Those that are left when this is dropped are deleted.
    pub(crate) nodes: Vec<Node>,
    /// One for each node: the heartbeat asks for them.
    pub(crate) interests: Vec<Interest>,
    /// What watches the nodes: one for each, or it counts for nothing.
    pub(crate) own: Vec<OwnNodeWatch>,
    /// Whether somebody has asked for it back already.
    pub(crate) is_revoked: bool,
    /// If the turn may be passed on in memory.
    pub(crate) handoff: Option<HandoffGuard>,
    /// What the nodes say to others, unless it is the identity alone.
    pub(crate) says: Option<Arc<[u8]>>,
    /// A condition that holds as long as no other node has the name of ours, where names are used again.
    pub(crate) guard: Option<Box<Write>>,
    /// Whether it is the claim of an item, for the metrics.
    pub(crate) is_claim: bool,
    /// Whether to watch the nodes from the start, because the holder before us did.
    pub(crate) is_watched: bool,
    /// Of the nodes that stand in a line of the session. They leave it when this is dropped, behind the deletions.
    pub(crate) positions: Vec<Position>,
}

impl Grant {
    pub(crate) fn of(
        server_session: Arc<ServerSession>,
        nodes: Vec<Node>,
        interests: Vec<Interest>,
    ) -> Grant {
        let (own, positions, says, handoff) = (Vec::new(), Vec::new(), None, None);
        let (is_revoked, is_watched, guard, is_claim) = (false, false, None, false);
        Grant {
            server_session,
            nodes,
            interests,
            own,
            is_revoked,
            says,
            handoff,
            guard,
            is_claim,
            is_watched,
            positions,
        }
    }

    /// Both together; `None`, and neither, if they were won in different sessions.
    pub(crate) fn join(mut self, mut other: Grant) -> Option<Grant> {
        if !Arc::ptr_eq(&self.server_session, &other.server_session) || self.server_session.has_ended() {
            return None;
        }
        self.nodes.append(&mut other.nodes);
        self.interests.append(&mut other.interests);
        self.own.append(&mut other.own);
        self.positions.append(&mut other.positions);
        self.is_revoked |= other.is_revoked;
        Some(self)
    }

    /// Waits until what was won is certain for some time, since only then it is worth having; see [`ServerSession::is_firm`]. False if a
    /// node of it is gone by then.
    pub(crate) async fn becomes_firm(&mut self, call: &mut Call, verb: &str) -> Result<bool> {
        if !self.learn_czxids(call, verb).await? {
            return Ok(false);
        }
        let began = call.session().now();
        while !self.server_session.is_firm_enough(began) {
            call.until(verb, self.server_session.until_firm_or_soon()).await?;
            if self.server_session.is_firm_enough(began) {
                break;
            }
            if self.looked(call, verb).await? == Some(false) {
                return Ok(false);
            }
        }
        Ok(self.stands())
    }

    /// Whether all of it stands at the server.
    pub(crate) async fn is_there(&mut self, call: &mut Call, verb: &str) -> Result<bool> {
        loop {
            if let Some(is_there) = self.looked(call, verb).await? {
                return Ok(is_there);
            }
        }
    }

    /// The same; `None` if the answer was lost.
    async fn looked(&mut self, call: &mut Call, verb: &str) -> Result<Option<bool>> {
        match call.receive(verb, self.server_session.check(self.checks())).await? {
            Ok(()) => Ok(Some(true)),
            Err(WireError::Part { .. } | WireError::SessionEnded) => Ok(Some(false)),
            Err(WireError::ConnectionLoss) => call.retry_after_loss(verb).await.map(|()| None),
            Err(error) => Err(refusal(error, verb, &self.nodes[0].path)),
        }
    }

    /// Lets go before anybody holds it: the next one of this session has the turn before the deletions are answered.
    pub(crate) fn pass_on(mut self) {
        for node in std::mem::take(&mut self.nodes) {
            let mut deletion = Deletion::begin(&self.server_session, &node, self.guard.as_deref());
            let at = self.positions.iter().position(|position| position.is_of(&node));
            deletion.passed = at.map(|at| self.positions.swap_remove(at).lets_go(true));
        }
    }

    /// The condition that all of it stands.
    pub(crate) fn checks(&self) -> Vec<Write> {
        checks_of(&self.nodes, self.guard.as_deref())
    }

    /// Asks for the czxids that the server did not tell when it created the nodes: before 3.8.2 a transaction does not.
    /// False if a node is gone already.
    async fn learn_czxids(&mut self, call: &mut Call, verb: &str) -> Result<bool> {
        let unknown: Vec<_> = self.nodes.iter_mut().filter(|node| node.czxid <= 0).collect();
        let flights: Vec<_> = unknown.iter().map(|node| self.server_session.exists(&node.path)).collect();
        for (node, mut flight) in unknown.into_iter().zip(flights) {
            let mut is_caught_up = false;
            node.czxid = loop {
                match call.receive(verb, flight).await? {
                    Ok(Some(stat)) => break stat.czxid,
                    Ok(None) if is_caught_up => return Ok(false),
                    // After a reconnection the server may lag.
                    Ok(None) => {
                        let synced = self.server_session.sync(&node.path);
                        flight = self.server_session.exists(&node.path);
                        is_caught_up = call.receive(verb, synced).await?.is_ok();
                        if !is_caught_up {
                            call.retry_after_loss(verb).await?;
                        }
                    }
                    Err(_) if self.server_session.has_ended() => return Ok(false),
                    Err(error) if error.is_unanswered() => {
                        is_caught_up = false;
                        call.retry_after_loss(verb).await?;
                        flight = self.server_session.exists(&node.path);
                    }
                    Err(error) => return Err(refusal(error, verb, &node.path)),
                }
            };
        }
        Ok(true)
    }

    /// As far as has been heard.
    pub(crate) fn stands(&self) -> bool {
        let is_over =
            |own: &OwnNodeWatch| matches!(own, OwnNodeWatch::Followed(follower) if follower.has_ended());
        self.interests.iter().all(Interest::stands) && !self.own.iter().any(is_over)
    }
}

/// The condition that these nodes of ours stand. `guard` comes behind them: it shows that the node of that name still was ours
/// when it was looked at.
pub(super) fn checks_of(nodes: &[Node], guard: Option<&Write>) -> Vec<Write> {
    let stands = |node: &Node| Write::Check { path: node.path.clone(), version: None };
    nodes.iter().map(stands).chain(guard.cloned()).collect()
}

impl Drop for Grant {
    fn drop(&mut self) {
        if !self.server_session.process().is_present() {
            // A forked child: the locks below may be held by threads that stayed with the parent. Touch nothing.
            let (interests, own) = (std::mem::take(&mut self.interests), std::mem::take(&mut self.own));
            std::mem::forget((interests, own, self.handoff.take()));
            return;
        }
        for node in self.nodes.drain(..) {
            let guard = self.guard.as_deref().cloned();
            drop(self.server_session.delete_guarded_in_background(node.path, node.czxid, guard));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Client;
    use crate::runtime::tests::dropped_in_a_child;
    use crate::turn::name::ContenderName;

    /// The worst moment for a fork: another thread has the locks, and in the child they are never unlocked.
    #[test]
    fn what_a_forked_child_drops_takes_no_lock() {
        let client = Client::connect("embedded:", Default::default());
        let client = crate::drive::wait(client, None, None).expect("a server in this process");
        let server_session = client.session().expect("open").server_session();
        let entry = ContenderName::recognise("x-lock-0000000001").expect("a contender");
        let node = Node::of("/locks/none/x-lock-0000000001".to_owned(), entry, 1);
        let interest = |node: &str| server_session.interest(&format!("/locks/none/{node}"));
        let grant = Grant::of(server_session.clone(), vec![node], vec![interest("one")]);
        let interest = interest("another");
        let locked = server_session.lock_interests();
        let dropped = dropped_in_a_child("a grant", (interest, grant));
        drop(locked);
        drop(dropped);
    }
}
