//! A mutual-exclusion lock.
//!
//! 1. Create an ephemeral sequential node under the path and list its siblings, in one flight.
//! 2. The first in order holds the lock; its node's czxid is the fencing token.
//! 3. Everybody else waits for the contender closest ahead to go (see [`crate::turn`]).
//! 4. While it holds, a heartbeat keeps the lease; when the lease runs out the lock is lost, whatever the network says.
//! 5. Releasing deletes the node.
//!
//! A reader and a writer of a read/write lock are locks whose contenders have another [`Kind`].

use std::sync::Arc;
use std::time::Duration;

use super::contenders::{self, Contender};
use super::handle::{Granted, Handle, Steps, forwards_to_held};
use super::held::Held;
use super::read_write_lock::Side;
use crate::client::Client;
use crate::error::{ErrorKind, Result};
use crate::options::LockOptions;
use crate::path;
use crate::turn;
use crate::turn::name::Kind;
use crate::turn::place::Queue;
use crate::turn::relay;

/// A lock on a path, shared with everybody who locks that path, in any language.
///
/// A handle is used by one owner at a time: a second acquire on a handle that holds waits, whichever thread or task
/// makes it. Clones are the same handle.
///
/// ```
/// # zkrecipes::doctest(async {
/// use zkrecipes::{Client, LockOptions};
///
/// let client = Client::connect("embedded:", Default::default()).await?;
/// let lock = client.lock("/locks/report", LockOptions::default())?;
/// let held = lock.acquire().await?;
/// println!("publishing with fencing token {}", held.fencing_token());
/// held.release().await?;
/// # Ok(()) });
/// ```
#[derive(Clone)]
pub struct Lock {
    pub(crate) handle: Arc<Handle>,
    /// Set for the reader and the writer of a read/write lock.
    side: Option<Side>,
    local_handoff: u32,
}

impl Lock {
    pub(crate) fn new(client: Client, path: &str, options: LockOptions) -> Result<Lock> {
        path::recipe(path)?;
        let handle = Handle::new(client, path, !options.reentrant, options.reentrant);
        Ok(Lock { handle, side: None, local_handoff: options.local_handoff })
    }

    pub(crate) fn with_side(handle: Arc<Handle>, side: Side) -> Lock {
        Lock { handle, side: Some(side), local_handoff: 0 }
    }

    /// Whether this is a lock of its own, and of that client.
    pub(crate) fn is_plain_of(&self, client: &Client) -> bool {
        self.side.is_none() && self.handle.client.is_same(client)
    }

    /// The path that is locked.
    pub fn path(&self) -> &str {
        &self.handle.path
    }

    /// Waits for the lock.
    ///
    /// # Cancel safety
    /// Dropping the future leaves nothing behind: our node is deleted in the background.
    pub fn acquire(&self) -> impl Future<Output = Result<Held>> + Send + use<> {
        self.acquire_within(None)
    }

    /// Waits for the lock for as long as `limit`, then Timeout. Zero is one attempt without waiting.
    ///
    /// # Cancel safety
    /// As for [`Lock::acquire`].
    pub fn acquire_timeout(&self, limit: Duration) -> impl Future<Output = Result<Held>> + Send + use<> {
        self.acquire_within(Some(limit))
    }

    /// Takes the lock if it is free, or answers `None`.
    ///
    /// # Cancel safety
    /// As for [`Lock::acquire`].
    pub fn try_acquire(&self) -> impl Future<Output = Result<Option<Held>>> + Send + use<> {
        let attempt = self.acquire_within(Some(Duration::ZERO));
        async move {
            match attempt.await {
                Ok(held) => Ok(Some(held)),
                Err(error) if error.kind() == ErrorKind::Timeout => Ok(None),
                Err(error) => Err(error),
            }
        }
    }

    /// Waits for the lock for at most `limit`, `None` for ever. The wait begins, and takes its place in the order of this
    /// handle's waits, when this is called, and others wait behind it even if nobody polls it; the requests leave when
    /// the future is first polled.
    pub fn acquire_within(
        &self,
        limit: Option<Duration>,
    ) -> impl Future<Output = Result<Held>> + Send + use<> {
        self.handle.acquire(limit, self.steps())
    }

    /// The same for a language in which the handle keeps the acquisition; see [`Granted`].
    pub fn acquire_kept(
        &self,
        limit: Option<Duration>,
    ) -> impl Future<Output = Result<Granted>> + Send + use<> {
        self.handle.acquire_kept(limit, self.steps())
    }

    fn steps(&self) -> Steps {
        if let Some(side) = &self.side {
            return side.steps(&self.handle.path);
        }
        let (path, passes) = (self.handle.path.clone(), self.local_handoff);
        Box::new(move |session, mut call| {
            Box::pin(async move {
                let naming = session.options().naming;
                let queue =
                    Queue { session: &session, path: &path, kind: Kind::Lock, naming, verb: "acquire" };
                match passes {
                    0 => turn::take(&queue, &mut call).await,
                    limit => relay::take(session.relays.of(&path), limit, &queue, &mut call).await,
                }
            })
        })
    }

    /// Who holds the lock and who waits for it, in order.
    pub async fn contenders(&self) -> Result<Vec<Contender>> {
        let mut call = self.handle.client.session()?.call(None);
        contenders::of_lock(&mut call, self.path()).await
    }

    /// Asks for the lock: the contender whose node is named, or whoever holds, hears of it (`on_revoke`) and lets go
    /// when it can. With `force_after`, exactly the nodes that were asked are deleted when they have not gone by then;
    /// a holder that cannot be reached does not know that it lost until its lease runs out, and only fencing and guarded
    /// writes protect from it. Answers whether there was anybody to ask.
    pub async fn revoke(&self, contender: Option<&str>, force_after: Option<Duration>) -> Result<bool> {
        let asked = match contender {
            Some(node) => vec![self.locate(node)?],
            None => contenders::holding(self.contenders().await?).map(|node| self.at(&node)).collect(),
        };
        contenders::revoke(&self.handle, asked, force_after)
            .await
            .map_err(|error| error.with_path(self.path()))
    }

    fn at(&self, node: &str) -> String {
        contenders::locate(self.path(), node)
    }

    fn locate(&self, node: &str) -> Result<String> {
        let path = self.at(node);
        if contenders::queues_under(self.path(), &path) { Ok(path) } else { Err(contenders::unknown(node)) }
    }
}

forwards_to_held!(Lock);

impl std::fmt::Debug for Lock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Lock").field("path", &self.handle.path).finish_non_exhaustive()
    }
}
