//! Persistent nodes that a recipe leaves for a while and that no session takes with it when it ends.

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use super::Session;
use super::growing_pause::GrowingPause;
use super::wire::WireError;
use crate::futures::unless;
use crate::mutex::lock;

/// Nodes that are to go when the client closes, if they have not gone before; `None` once it closes.
pub(super) struct TemporaryNodes(Mutex<Option<Vec<String>>>);

impl Default for TemporaryNodes {
    fn default() -> TemporaryNodes {
        TemporaryNodes(Mutex::new(Some(Vec::new())))
    }
}

impl TemporaryNodes {
    fn nodes(&self) -> MutexGuard<'_, Option<Vec<String>>> {
        lock(&self.0)
    }

    fn forget(&self, node: &str) {
        if let Some(nodes) = &mut *self.nodes() {
            nodes.retain(|other| other != node);
        }
    }
}

impl Session {
    /// Sends what creates `node`, which from then on goes at the latest when the client closes. `None` if it closes: what
    /// deletes everything has left already.
    pub(crate) fn create_temporary<T>(&self, node: &str, create: impl FnOnce() -> T) -> Option<T> {
        let mut nodes = self.temporary_nodes.nodes();
        let nodes = nodes.as_mut()?;
        if !nodes.iter().any(|other| other == node) {
            nodes.push(node.to_owned());
        }
        // Before the lock is let go, so that the deletion comes after it.
        Some(create())
    }

    /// Whether `node` is one of those.
    pub(crate) fn is_temporary(&self, node: &str) -> bool {
        self.temporary_nodes.nodes().as_ref().is_some_and(|nodes| nodes.iter().any(|other| other == node))
    }

    /// Deletes what [`Session::create_temporary`] made, in whatever server session that can be done. The first attempt leaves now.
    pub(crate) fn delete_temporary(self: &Arc<Self>, node: String) {
        let (session, first) = (self.clone(), self.server_session().delete(&node, None));
        self.clock.spawn(Box::pin(async move {
            let deleting = async {
                let mut pause = GrowingPause::new(Duration::from_millis(50), Duration::from_secs(2));
                let mut answer = first.await;
                // A client that may not delete it never will.
                while !matches!(answer, Ok(()) | Err(WireError::NoNode | WireError::NoAuth)) {
                    pause.pass(&session.clock).await;
                    if let Ok(server_session) = session.ready().await {
                        answer = server_session.delete(&node, None).await;
                    }
                }
                session.temporary_nodes.forget(&node);
            };
            // Closing sees to it from then on.
            unless(deleting, session.until_closing()).await;
        }));
    }

    /// The last attempts leave now, ahead of the end of the session.
    pub(super) fn delete_all_temporary(&self) {
        let server_session = self.server_session();
        let mut nodes = self.temporary_nodes.nodes();
        for node in nodes.take().into_iter().flatten() {
            drop(server_session.delete_in_background(node, 0));
        }
    }
}
