//! Where a semaphore keeps what: in Curator's layout, or in kazoo's.
//!
//! | | the queue | permits | the size |
//! |---|---|---|---|
//! | Curator | `P/locks` | `P/leases/_c_<guid>-lease-N` | `P/max`, ours alone |
//! | kazoo | `P-__lock__` | `P/<32 hex>` | the data of `P` |
//!
//! The recipes that ship with ZooKeeper have no semaphore; with their names we use Curator's layout.

use std::sync::Arc;

use crate::error::Result;
use crate::options::Naming;
use crate::path;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::open_parents;
use crate::session::random;
use crate::session::server_session::ServerSession;
use crate::session::wire::{CreateMode, WireError, Write};

pub(super) struct SemaphoreLayout {
    /// Where to queue for permits, under the names of `naming`.
    pub(super) locks: String,
    pub(super) permits: String,
    size: String,
    pub(super) naming: Naming,
}

impl SemaphoreLayout {
    pub(super) fn of(path: &str, naming: Naming) -> SemaphoreLayout {
        match naming {
            Naming::Kazoo => SemaphoreLayout {
                locks: format!("{path}-__lock__"),
                permits: path.to_owned(),
                size: path.to_owned(),
                naming,
            },
            // Curator's semaphores must see our turn, whatever our locks are named.
            Naming::Curator | Naming::Zookeeper => SemaphoreLayout {
                locks: path::join(path, "locks"),
                permits: path::join(path, "leases"),
                size: path::join(path, "max"),
                naming: Naming::Curator,
            },
        }
    }

    /// The node whose data tells the size.
    pub(super) fn size(&self) -> &str {
        &self.size
    }

    /// What is made before the line: without it, whoever looks at a new semaphore of Curator's layout sees a lock there.
    pub(super) fn first(&self) -> Option<&str> {
        (self.naming == Naming::Curator).then_some(&self.permits)
    }

    /// The nodes of `n` permits that are taken together, and the part of their names that is like no other.
    pub(super) fn permits(&self, n: usize, data: &[u8]) -> (Vec<Write>, String) {
        let id = random::guid();
        let permit_node = |name: &str, mode| Write::Create {
            path: path::join(&self.permits, name),
            data: data.to_vec(),
            mode,
            acl: None,
        };
        match self.naming {
            Naming::Kazoo => {
                let mark = id.simple().to_string()[..28].to_owned();
                let permit = |at| permit_node(&format!("{mark}{at:04x}"), CreateMode::Ephemeral);
                ((0..n).map(permit).collect(), mark)
            }
            Naming::Curator | Naming::Zookeeper => {
                let mark = id.hyphenated().to_string();
                let permit = permit_node(&format!("_c_{mark}-lease-"), CreateMode::EphemeralSequential);
                (vec![permit; n], mark)
            }
        }
    }

    /// Whether strangers may delete the size, which then means what they like: see [`open_parents`].
    pub(super) async fn look_at_parent(
        &self,
        session: &Arc<Session>,
        server_session: &Arc<ServerSession>,
        call: &mut Call,
        verb: &str,
    ) -> Result<()> {
        open_parents::look_once(session, server_session, call, verb, path::parent(&self.size)).await
    }

    /// Creates what is missing: the parent of the permits, and the size for those who come later.
    pub(super) async fn prepare(
        &self,
        session: &Arc<Session>,
        server_session: &Arc<ServerSession>,
        call: &mut Call,
        verb: &'static str,
        permits: usize,
    ) -> Result<()> {
        open_parents::look(session, server_session, call, verb, path::parent(&self.size)).await?;
        let size = server_session.create(&self.size, permits.to_string().as_bytes(), CreateMode::Persistent);
        match call.receive(verb, size).await? {
            Ok(_) | Err(WireError::NodeExists) => {}
            Err(WireError::NoNode) => {
                // Comes back to write the size.
                let parent = path::parent(&self.size);
                return call.make_path(verb, server_session, parent, session.parents()).await.map(drop);
            }
            Err(error) => return call.retry_or_refuse(error, verb, &self.size).await,
        }
        if self.permits == self.size {
            return Ok(());
        }
        call.make_path(verb, server_session, &self.permits, session.parents()).await.map(drop)
    }
}

/// An answer whose loss only means to look again.
pub(super) async fn answered<T>(
    call: &mut Call,
    verb: &'static str,
    path: &str,
    answer: impl Future<Output = Result<T, WireError>>,
) -> Result<()> {
    match call.receive(verb, answer).await? {
        Err(error) => call.retry_or_refuse(error, verb, path).await,
        Ok(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permits_that_are_taken_together_share_a_mark_and_have_names_of_their_own() {
        for naming in [Naming::Curator, Naming::Kazoo] {
            let layout = SemaphoreLayout::of("/s", naming);
            let (parts, mark) = layout.permits(3, b"me");
            assert!(parts.iter().all(|part| part.path().contains(&mark)));
            if naming == Naming::Kazoo {
                assert!(parts.iter().all(|part| path::name(part.path()).len() == 32));
                assert_ne!(parts[0].path(), parts[1].path());
            }
        }
    }
}
