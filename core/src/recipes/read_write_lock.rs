//! A read/write lock: readers share, writers exclude everybody, and the order of arrival is respected.
//!
//! 1. Both sides queue like a lock, under names that tell them apart.
//! 2. A writer waits for everybody ahead; a reader only for writers, and watches the last of them.
//! 3. A holding writer may also take read: a node with the writer's own number, created only while the writer's stands,
//!    so that everybody further back stays behind it. Releasing write then leaves a reader with the writer's token.
//! 4. A holding reader may not take write: two who try would wait for each other.

use std::sync::{Arc, Weak};

use super::handle::{Handle, Steps};
use super::lock::Lock;
use crate::client::Client;
use crate::error::{Error, ErrorKind, Result};
use crate::path;
use crate::session::Session;
use crate::session::call::{Call, refusal};
use crate::session::wire::{CreateMode, WireError, Write};
use crate::turn;
use crate::turn::grant::{Grant, Won};
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

/// Which side a lock is, and where its other side is.
#[derive(Clone)]
pub(crate) enum Side {
    Read { writer: Weak<Handle> },
    Write { reader: Weak<Handle> },
}

impl ReadWriteLock {
    pub(crate) fn new(client: &Client, path: &str) -> Result<ReadWriteLock> {
        path::recipe(path)?;
        let reader = Handle::new(client.clone(), path, true, false);
        let writer = Handle::new(client.clone(), path, true, false);
        let read = Side::Read { writer: Arc::downgrade(&writer) };
        let write = Side::Write { reader: Arc::downgrade(&reader) };
        Ok(ReadWriteLock { read: Lock::with_side(reader, read), write: Lock::with_side(writer, write) })
    }

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

impl Side {
    pub(crate) fn steps(&self, path: &str) -> Steps {
        let (side, path) = (self.clone(), path.to_owned());
        Box::new(move |session, mut call| {
            Box::pin(async move {
                let kind = match &side {
                    Side::Write { reader } => {
                        if reader.upgrade().is_some_and(|reader| reader.is_held()) {
                            return Err(upgrade());
                        }
                        Kind::Write
                    }
                    Side::Read { writer } => {
                        if let Some(writing) = writer.upgrade().and_then(|writer| writer.hold()) {
                            return downgrade(&session, &mut call, &path, &writing).await;
                        }
                        Kind::Read
                    }
                };
                let naming = session.options().naming;
                let queue = Queue { session: &session, path: &path, kind, naming, verb: "acquire" };
                turn::take(&queue, &mut call).await
            })
        })
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
        },
    ];
    loop {
        let interest = epoch.interest(&node.path);
        let answer = call.briefly(verb, epoch.multi(&parts)).await?;
        let czxid = match answer {
            Ok(created) => created.first().map_or(-1, |created| created.czxid),
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
        let token = writing.tokens()[0];
        let won = Won { node, token, interest, own: None, is_revoked: false };
        let mut grant = Grant::of(epoch.clone(), vec![won]);
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
