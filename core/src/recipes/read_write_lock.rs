//! A read/write lock: readers share, writers exclude everybody, and the order of arrival is respected.
//!
//! 1. Both sides queue like a lock, under names that tell them apart.
//! 2. A writer waits for everybody ahead; a reader only for writers, and watches the last of them.
//! 3. A holding writer may also take read: a node with the writer's own number, created only while the writer's stands,
//!    so that everybody further back stays behind it. Releasing write then leaves a reader with the writer's token.
//! 4. A holding reader may not take write: two who try would wait for each other.

use std::sync::Arc;

use super::contenders::{self, Contender};
use super::handle::{Handle, Meanwhile, Recipe};
use super::held::Acquired;
use super::lock::Lock;
use crate::client::Client;
use crate::error::{Error, ErrorKind, Result};
use crate::path;
use crate::session::Session;
use crate::session::call::{Call, refusal};
use crate::session::clock::Later;
use crate::session::wire::{Applied, CreateMode, WireError, Write};
use crate::turn;
use crate::turn::alone::Alone;
use crate::turn::grant::Grant;
use crate::turn::hold::Hold;
use crate::turn::name::{self, Kind};
use crate::turn::place::{Place, Queue};

/// A read/write lock on a path: [`read`](ReadWriteLock::read) and [`write`](ReadWriteLock::write) are each a [`Lock`].
///
/// ```
/// # zkrecipes::doctest(async {
/// use zkrecipes::Client;
///
/// let client = Client::connect("embedded:", Default::default()).await?;
/// let lock = client.read_write_lock("/locks/catalogue")?;
/// let writing = lock.write().acquire().await?;
/// // Downgrade: take read as well, then let write go. Nobody gets in between.
/// let reading = lock.read().acquire().await?;
/// writing.release().await?;
/// assert_eq!(reading.fencing_token(), writing.fencing_token());
/// reading.release().await?;
/// # Ok(()) });
/// ```
#[derive(Clone, Debug)]
pub struct ReadWriteLock {
    read: Lock,
    write: Lock,
}

impl Client {
    /// A handle on the read/write lock at `path`. Does no I/O.
    pub fn read_write_lock(&self, path: &str) -> Result<ReadWriteLock> {
        self.session()?;
        path::recipe(path)?;
        let (reading, writing) = (Arc::<Acquired>::default(), Arc::<Acquired>::default());
        let side = |kind, own: &Arc<Acquired>, other: &Arc<Acquired>| {
            let (path, alone) = (path.to_owned(), Arc::default());
            let side = Arc::new(Side { path, kind, other: other.clone(), alone });
            Lock::side(Handle::sharing(self, &side.path.clone(), Meanwhile::Waits, side, own.clone()))
        };
        Ok(ReadWriteLock {
            read: side(Kind::Read, &reading, &writing),
            write: side(Kind::Write, &writing, &reading),
        })
    }
}

impl ReadWriteLock {
    /// The shared side.
    pub fn read(&self) -> &Lock {
        &self.read
    }

    /// The exclusive side.
    pub fn write(&self) -> &Lock {
        &self.write
    }

    /// The path that is locked.
    pub fn path(&self) -> &str {
        self.read.path()
    }
}

/// One side, which knows what the other one holds.
struct Side {
    path: String,
    kind: Kind,
    other: Arc<Acquired>,
    alone: Arc<Alone>,
}

impl Recipe for Side {
    fn word(&self) -> &'static str {
        if self.kind == Kind::Read { "read lock" } else { "write lock" }
    }

    fn take(self: Arc<Self>, session: Arc<Session>, mut call: Call, _: usize) -> Later<Result<Grant>> {
        Box::pin(async move {
            match self.other.hold() {
                Some(_) if self.kind == Kind::Write => Err(upgrade()),
                Some(writing) => downgrade(&session, &mut call, &self.path, &writing).await,
                None => {
                    let queue = Queue::of(&session, &self.path, self.kind);
                    turn::take(&Queue { alone: Some(&self.alone), ..queue }, &mut call).await
                }
            }
        })
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

fn upgrade() -> Error {
    Error::invalid(
        "upgrade",
        "read is held, and two readers who both took write would wait for each other for ever; release read first, or \
         take write from the start",
    )
}

/// A reader's node with the number of the writer that holds, so that it stands before everybody behind the writer.
async fn downgrade(
    session: &Arc<Session>,
    call: &mut Call,
    path: &str,
    writing: &Arc<Hold>,
) -> Result<Grant> {
    let (verb, writer, epoch) = ("acquire", writing.node(), writing.epoch());
    if writer.entry.is_late() {
        // Behind the end of the range the czxid alone makes the order, and a new node's is behind everybody's.
        return Err(Error::invalid(
            "downgrade",
            "the sequence numbers of this path are used up; release write and take read, or use a new path",
        ));
    }
    let (prefix, _) = name::fresh(session.options().naming, Kind::Read);
    let place =
        Place::reserve(epoch, path, path::join(path, &format!("{prefix}{:010}", writer.entry.sequence)));
    let Some(node) = place.node().cloned() else { return Err(upgrade()) };
    let parts = [
        Write::Check { path: writer.path.clone(), version: None },
        Write::Create {
            path: node.path.clone(),
            data: session.identity().as_bytes().to_vec(),
            mode: CreateMode::Ephemeral,
            acl: None,
        },
    ];
    loop {
        let interest = epoch.interest(&node.path);
        let answer = call.briefly(verb, epoch.multi(&parts)).await?;
        let czxid = match answer {
            Ok(applied) => applied.into_iter().find_map(Applied::created).map_or(-1, |created| created.czxid),
            // Our own, of an attempt whose answer was lost: nobody else makes this name.
            Err(WireError::Part { index: 1, error }) if *error == WireError::NodeExists => -1,
            // Dropped, the place deletes what an attempt whose answer was lost may have created.
            Err(WireError::Part { index: 0, error }) if *error == WireError::NoNode => {
                return Err(writing.not_held());
            }
            Err(WireError::ConnectionLoss) => {
                call.retry_after_loss(verb).await?;
                continue;
            }
            Err(WireError::SessionEnded) => {
                drop(place.forget());
                return Err(Error::new(
                    ErrorKind::NotHeld,
                    "not held: the session of the writer has ended; acquire again",
                ));
            }
            Err(error) => return Err(refusal(error, verb, path)),
        };
        let Some(mut node) = place.forget() else { return Err(upgrade()) };
        node.czxid = czxid;
        node.inherited = Some(writing.node().token());
        let mut grant = Grant::of(epoch.clone(), vec![node], vec![interest]);
        let stands = grant.learn_czxids(call, verb).await?;
        call.until(verb, epoch.until_firm()).await?;
        return match stands {
            // Dropped, the reader goes with its writer.
            _ if !writing.is_held() => Err(writing.not_held()),
            true => Ok(grant),
            false => Err(Error::not_held("the reader's node was deleted by somebody else; take read again")),
        };
    }
}
