//! Where a semaphore keeps what: in Curator's layout, or in kazoo's.
//!
//! | | the queue | permits | the size |
//! |---|---|---|---|
//! | Curator | `P/locks` | `P/leases/_c_<guid>-lease-N` | `P/max`, ours alone |
//! | kazoo | `P-__lock__` | `P/<32 hex>` | the data of `P` |
//!
//! The recipes that ship with ZooKeeper have no semaphore; with their names we use Curator's layout.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::error::{Error, ErrorKind, Result};
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

/// How many permits there are, as a handle says.
pub(super) struct Size {
    agreed: AtomicUsize,
    /// What the handle is changing it to, as long as it is open which of the two the server has; else 0.
    proposed: AtomicUsize,
    /// How often the handle has changed it.
    changes: AtomicUsize,
}

impl Size {
    pub(super) fn of(permits: usize) -> Size {
        Size {
            agreed: AtomicUsize::new(permits),
            proposed: AtomicUsize::new(0),
            changes: AtomicUsize::new(0),
        }
    }

    pub(super) fn get(&self) -> usize {
        self.agreed.load(Ordering::Acquire)
    }

    /// The larger one, where both may be true.
    pub(super) fn most(&self) -> usize {
        self.get().max(self.proposed.load(Ordering::Acquire))
    }

    pub(super) fn propose(&self, permits: usize) {
        self.proposed.store(permits, Ordering::Release);
    }

    pub(super) fn settle(&self, permits: usize) {
        // First, so that whoever is told of a mismatch with the new one knows that what it has read may be older.
        self.changes.fetch_add(1, Ordering::AcqRel);
        self.agreed.store(permits, Ordering::Release);
        self.proposed.store(0, Ordering::Release);
    }

    pub(super) fn changes(&self) -> usize {
        self.changes.load(Ordering::Acquire)
    }

    fn allows(&self, permits: usize) -> bool {
        permits > 0 && (permits == self.get() || permits == self.proposed.load(Ordering::Acquire))
    }
}

/// What the size that is kept says.
pub(super) enum SizeAgreement {
    Agreed(usize),
    /// Nobody has written it yet.
    Unwritten,
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

    /// Whether others say the same size as we do.
    pub(super) fn agree(&self, here: &Size, data: &[u8]) -> Result<SizeAgreement> {
        match (self.naming, parse(data)) {
            (_, Some(there)) if here.allows(there) => Ok(SizeAgreement::Agreed(there)),
            (Naming::Kazoo, None) if data.is_empty() => Ok(SizeAgreement::Unwritten),
            // What is no number there means something else to somebody else, and kazoo leaves it alone.
            (Naming::Kazoo, None) => Ok(SizeAgreement::Agreed(here.get())),
            _ => Err(Error::new(
                ErrorKind::Mismatch,
                format!(
                    "this handle says {} permits, and {} says {}; make all participants agree, or resize",
                    here.get(),
                    self.size,
                    String::from_utf8_lossy(data)
                ),
            )),
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

/// The number in the data of a node, if it is one.
pub(super) fn parse(data: &[u8]) -> Option<usize> {
    std::str::from_utf8(data).ok()?.trim().parse().ok()
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

    #[test]
    fn kazoo_leaves_data_alone_that_is_no_number() {
        let (curator, kazoo) =
            (SemaphoreLayout::of("/s", Naming::Curator), SemaphoreLayout::of("/s", Naming::Kazoo));
        let two = Size::of(2);
        assert!(matches!(kazoo.agree(&two, b"2"), Ok(SizeAgreement::Agreed(2))));
        assert!(matches!(kazoo.agree(&two, b"about"), Ok(SizeAgreement::Agreed(2))));
        assert!(matches!(kazoo.agree(&two, b""), Ok(SizeAgreement::Unwritten)));
        assert!(kazoo.agree(&two, b"3").is_err());
        assert!(curator.agree(&two, b"about").is_err());
    }

    #[test]
    fn who_resizes_agrees_with_the_old_size_and_with_the_new_one() {
        let (layout, size) = (SemaphoreLayout::of("/s", Naming::Curator), Size::of(2));
        size.propose(3);
        assert!(matches!(layout.agree(&size, b"2"), Ok(SizeAgreement::Agreed(2))));
        assert!(matches!(layout.agree(&size, b"3"), Ok(SizeAgreement::Agreed(3))));
        size.settle(3);
        assert!(layout.agree(&size, b"2").is_err());
        assert!(layout.agree(&size, b"0").is_err());
    }
}
