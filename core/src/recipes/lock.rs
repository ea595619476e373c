//! A mutual-exclusion lock.
//!
//! 1. Create an ephemeral sequential node under the path and list its siblings, in one flight. Who comes time after time, and
//!    sees by the numbers that nobody came in between, needs no list (see [`crate::turn::session_line`]).
//! 2. The first in order holds the lock; its node's czxid is the fencing token.
//! 3. Everybody else waits for the contender closest ahead to go (see [`crate::turn`]).
//! 4. While it holds, a heartbeat keeps the lease; when the lease runs out the lock is lost, whatever the network says.
//! 5. Releasing deletes the node.

use std::ops::Deref;
use std::sync::Arc;

use super::contenders::{self, Contender};
use super::handle::{Handle, Meanwhile, Recipe, TakingTurn};
use super::held::Held;
use crate::client::Client;
use crate::error::Result;
use crate::futures::begun;
use crate::options::LockOptions;
use crate::path;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::clock::Later;
use crate::turn;
use crate::turn::local_handoff;
use crate::turn::name::Kind;
use crate::turn::place::TurnRequest;
use crate::turn::session_line::LastLine;

/// A lock on a path, shared with everybody who locks that path, in any language. Its verbs are those of every
/// [`Handle`].
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
#[derive(Clone, Debug)]
pub struct Lock {
    handle: Handle,
    /// Whether it is a lock of its own, and not a side of a read/write lock.
    is_plain: bool,
}

impl Deref for Lock {
    type Target = Handle;

    fn deref(&self) -> &Handle {
        &self.handle
    }
}

impl Client {
    /// A handle on the lock at `path`. Does no I/O.
    pub fn lock(&self, path: &str, options: LockOptions) -> Result<Lock> {
        self.session_for_handle()?;
        path::recipe(path)?;
        let meanwhile = if options.reentrant { Meanwhile::Nests } else { Meanwhile::Waits };
        let (path, local_handoff) = (Arc::<str>::from(path), options.local_handoff);
        let mutex = Arc::new(Mutex { path: path.clone(), local_handoff, last_line: LastLine::default() });
        Ok(Lock { handle: Handle::new(self, path, meanwhile, mutex), is_plain: true })
    }
}

impl Lock {
    /// A side of a read/write lock.
    pub(super) fn side(handle: Handle) -> Lock {
        Lock { handle, is_plain: false }
    }

    /// From writing to reading, if this is the writers' side of a read/write lock: see [`Held::downgrade`]. What was acquired
    /// last is downgraded.
    ///
    /// # Cancel safety
    /// As for [`Held::downgrade`].
    pub fn downgrade(&self) -> impl Future<Output = Result<Held>> + Send + use<> {
        let downgrading = self.held().map(|held| held.downgrade());
        begun(downgrading)
    }

    /// Whether this is a lock of its own, and of that client.
    pub(super) fn is_plain_of(&self, client: &Client) -> bool {
        self.is_plain && self.client().is_same(client)
    }
}

struct Mutex {
    path: Arc<str>,
    /// How often in a row the turn is passed on in memory.
    local_handoff: u32,
    last_line: LastLine,
}

impl Mutex {
    fn request<'a>(&'a self, session: &'a Arc<Session>) -> TurnRequest<'a> {
        TurnRequest {
            last_line: Some(&self.last_line),
            passes: true,
            ..TurnRequest::of(session, &self.path, Kind::Lock)
        }
    }
}

impl Recipe for Mutex {
    fn word(&self) -> &'static str {
        "lock"
    }

    fn take<'a>(self: Arc<Self>, session: Arc<Session>, call: &'a mut Call, _: usize) -> TakingTurn<'a> {
        // A box for each: in one there would be room for the larger of them.
        match self.local_handoff {
            0 => Box::pin(async move { turn::take(&self.request(&session), call).await }),
            limit => Box::pin(async move { local_handoff::take(limit, &self.request(&session), call).await }),
        }
    }

    fn contenders(self: Arc<Self>, mut call: Call) -> Later<Result<Vec<Contender>>> {
        Box::pin(async move { contenders::of_lock(&mut call, &self.path).await })
    }

    fn holder(self: Arc<Self>, mut call: Call) -> Later<Result<Option<Contender>>> {
        Box::pin(async move { contenders::first(&mut call, &self.path, Kind::Lock).await })
    }

    fn locate(&self, node: &str) -> Option<String> {
        contenders::of_lock_at(&self.path, node)
    }
}
