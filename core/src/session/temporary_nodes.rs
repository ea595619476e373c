//! Persistent nodes that a recipe leaves for a while and that no session takes with it when it ends.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use super::Session;
use super::growing_pause::GrowingPause;
use super::server_session::ServerSession;
use super::server_session::deletions::is_refused;
use super::wire::WireError;
use crate::futures::unless;
use crate::mutex::lock;

/// Nodes that are to go when the client closes, if they have not gone before.
#[derive(Clone, Default)]
pub(super) struct TemporaryNodes(Arc<Mutex<NodesToDelete>>);

#[derive(Default)]
struct NodesToDelete {
    /// Those that were created and have not gone, as far as is known.
    created: Vec<String>,
    /// In which server session those of them are being deleted that go because the client closes. If it ends first, they are deleted in
    /// the next one, if there is one.
    deleted_in: BTreeMap<String, u64>,
    /// Those that tell what became of a change, as long as somebody may have to ask that.
    in_use: BTreeSet<String>,
    is_closing: bool,
}

impl TemporaryNodes {
    fn nodes(&self) -> MutexGuard<'_, NodesToDelete> {
        lock(&self.0)
    }

    fn forget(&self, node: &str) {
        let mut nodes = self.nodes();
        nodes.created.retain(|other| other != node);
        nodes.deleted_in.remove(node);
    }
}

impl Session {
    /// Sends what creates `node`, which from then on goes at the latest when the client closes. `None` if it closes, but for what
    /// is in use: what deletes the rest has left already.
    pub(crate) fn create_temporary<T>(&self, node: &str, create: impl FnOnce() -> T) -> Option<T> {
        let mut nodes = self.temporary_nodes.nodes();
        if nodes.is_closing && !nodes.in_use.contains(node) {
            return None;
        }
        if !nodes.created.iter().any(|other| other == node) {
            nodes.created.push(node.to_owned());
        }
        // Before the lock is let go, so that the deletion comes after it.
        Some(create())
    }

    /// From now on `node` may have to tell something: a client that closes deletes it when it is put down, or when nothing is left
    /// that closing waits for. False if the client closes already, and the node goes.
    pub(crate) fn use_temporary(&self, node: &str) -> bool {
        let mut nodes = self.temporary_nodes.nodes();
        !nodes.is_closing && nodes.in_use.insert(node.to_owned())
    }

    /// The same of one that is to be created.
    pub(crate) fn use_new_temporary(&self, node: &str) {
        self.temporary_nodes.nodes().in_use.insert(node.to_owned());
    }

    /// Nobody asks `node` any more. False if the client closes: then it goes now, and closing waits for that.
    pub(crate) fn put_down_temporary(&self, node: &str) -> bool {
        let mut nodes = self.temporary_nodes.nodes();
        nodes.in_use.remove(node);
        if nodes.is_closing {
            self.delete_unused(&mut nodes, &self.server_session());
        }
        !nodes.is_closing
    }

    /// Whether `node` is one of those.
    pub(crate) fn is_temporary(&self, node: &str) -> bool {
        let nodes = self.temporary_nodes.nodes();
        !nodes.is_closing && nodes.created.iter().any(|other| other == node)
    }

    /// Deletes what [`Session::create_temporary`] made, in whatever server session that can be done. The first attempt leaves now.
    pub(crate) fn delete_temporary(self: &Arc<Self>, node: String) {
        if !self.put_down_temporary(&node) {
            return;
        }
        let (session, first) = (self.clone(), self.server_session().delete_in_order(&node));
        self.clock.spawn(Box::pin(async move {
            let deleting = async {
                let mut pause = GrowingPause::new(Duration::from_millis(50), Duration::from_secs(2));
                let mut answer = first.await;
                while let Err(error) = answer
                    && error != WireError::NoNode
                    && !is_refused(&node, &error)
                {
                    pause.pass(&session.clock).await;
                    answer = match session.ready().await {
                        Ok(server_session) => server_session.delete(&node, None).await,
                        Err(_) => Err(WireError::ConnectionLoss),
                    };
                }
                session.temporary_nodes.forget(&node);
            };
            // Closing sees to it from then on.
            unless(deleting, session.until_closing()).await;
        }));
    }

    /// The last attempts leave now, ahead of the end of the session. What is in use stays for now.
    pub(super) fn delete_all_temporary(&self) {
        self.delete_temporary_in(&self.server_session());
    }

    /// The same in that server session, which closes at once.
    pub(super) fn delete_temporary_in(&self, server_session: &Arc<ServerSession>) {
        let mut nodes = self.temporary_nodes.nodes();
        nodes.is_closing = true;
        self.delete_unused(&mut nodes, server_session);
    }

    /// The same of what is in use, too: nobody can ask it any more.
    pub(super) fn delete_temporary_in_use(&self) {
        let mut nodes = self.temporary_nodes.nodes();
        nodes.in_use.clear();
        self.delete_unused(&mut nodes, &self.server_session());
    }

    fn delete_unused(&self, nodes: &mut NodesToDelete, server_session: &Arc<ServerSession>) {
        let NodesToDelete { created, deleted_in, in_use, .. } = nodes;
        for node in created.iter().filter(|node| !in_use.contains(*node)) {
            let session_id = server_session.session_id();
            if deleted_in.insert(node.clone(), session_id) == Some(session_id) {
                continue;
            }
            let deleted = server_session.delete_in_order_in_background(node.clone());
            let (node, all, server_session) =
                (node.clone(), self.temporary_nodes.clone(), server_session.clone());
            self.clock.spawn(Box::pin(async move {
                deleted.await;
                if !server_session.has_ended() {
                    all.forget(&node);
                }
            }));
        }
    }
}
