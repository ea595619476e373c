//! A read/write lock: readers share, writers exclude everybody, and the order of arrival is respected.
//!
//! 1. Both sides queue like a lock, under names that tell them apart.
//! 2. A writer waits for everybody ahead; a reader only for writers, and watches the last of them.
//! 3. A holding writer may go on as a reader: a reader's node with the writer's own number is created only while the
//!    writer's stands, so that everybody further back stays behind it, and the writer's is deleted then. The token stays.
//! 4. There is no way from reading to writing: two who tried would wait for each other.

use std::pin::pin;
use std::sync::Arc;

use super::contenders::{self, Contender};
use super::gate::Gate;
use super::handle::{Handle, Meanwhile, Recipe, TakingTurn};
use super::held::{Held, Readers};
use super::lock::Lock;
use crate::client::Client;
use crate::error::{Error, ErrorKind, LostReason, Result};
use crate::path;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::clock::Later;
use crate::session::refusal::refusal;
use crate::session::server_session::Tenant;
use crate::session::wire::{Applied, CreateMode, WireError, Write};
use crate::turn;
use crate::turn::grant::Grant;
use crate::turn::hold::Hold;
use crate::turn::name::{self, Kind};
use crate::turn::place::{Node, Place, TurnRequest};
use crate::turn::session_line::LastLine;

/// A read/write lock on a path: [`read`](ReadWriteLock::read) and [`write`](ReadWriteLock::write) are each a [`Lock`], and
/// what a writer holds can be [downgraded](Held::downgrade).
///
/// As with every lock, an acquire through a side that holds waits, whichever thread or task makes it. So does one of a side
/// while the other one holds, as if it were somebody else's: who waits for `write` with `read` in hand waits for itself.
///
/// ```
/// # zkrecipes::doctest(async {
/// use zkrecipes::Client;
///
/// let client = Client::connect("embedded:", Default::default()).await?;
/// let lock = client.read_write_lock("/locks/catalogue")?;
/// let writing = lock.write().acquire().await?;
/// // From writing to reading: nobody writes in between.
/// let reading = writing.downgrade().await?;
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
        self.session_for_handle()?;
        path::recipe(path)?;
        let side = |kind, readers| {
            let (path_of_it, last_line) = (path.to_owned(), LastLine::default());
            let side =
                Arc::new(Side { path: path_of_it, kind, readers, last_line, ownership: Gate::default() });
            Handle::new(self, path, Meanwhile::Waits, side)
        };
        let read = side(Kind::Read, None);
        let write = side(Kind::Write, Some(Arc::new(ReadersSide(read.clone()))));
        Ok(ReadWriteLock { read: Lock::side(read), write: Lock::side(write) })
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

/// One side.
struct Side {
    path: String,
    kind: Kind,
    /// The other one, for the writers' side.
    readers: Option<Arc<ReadersSide>>,
    last_line: LastLine,
    ownership: Gate,
}

impl Recipe for Side {
    fn word(&self) -> &'static str {
        if self.kind == Kind::Read { "read lock" } else { "write lock" }
    }

    fn take<'a>(self: Arc<Self>, session: Arc<Session>, call: &'a mut Call, _: usize) -> TakingTurn<'a> {
        Box::pin(async move {
            let queue = TurnRequest {
                last_line: Some(&self.last_line),
                ..TurnRequest::of(&session, &self.path, self.kind)
            };
            match &self.readers {
                // Whoever reads through this very handle may be waiting here.
                Some(readers) => {
                    let mut taking = pin!(turn::take(&queue, call));
                    readers.0.wait_and_warn_of_kept(&session, taking.as_mut()).await
                }
                None => turn::take(&queue, call).await,
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

    fn ownership(&self) -> Option<&Gate> {
        Some(&self.ownership).filter(|_| self.kind == Kind::Read)
    }

    fn readers(&self) -> Option<Arc<dyn Readers>> {
        self.readers.clone().map(|readers| readers as Arc<dyn Readers>)
    }
}

/// The readers' side, for those who write.
struct ReadersSide(Handle);

impl Readers for ReadersSide {
    fn downgrade(self: Arc<Self>, writing: Held) -> Later<Result<Held>> {
        Box::pin(async move {
            let session = writing.client().session()?;
            let (path, hold) = (self.0.path(), writing.hold());
            let mut call = session.call(None);
            let joining = join(&session, &mut call, path, hold);
            let reading = self.0.obtain(session.clone(), joining).await?;
            // Both nodes stand here. Dropped, whether because the writer has been let go or lost meanwhile or because nobody
            // waits any more, the reader goes, too.
            let outcome = writing.give_way()?.await;
            match outcome {
                Err(error) if error.kind() == ErrorKind::Denied => Err(error),
                // Of the rest nothing concerns the reader: what is not confirmed goes on in the background.
                _ if reading.is_held() => Ok(reading),
                _ => Err(reading.hold().not_held()),
            }
        })
    }

    fn keep(&self, held: &Held) {
        self.0.keep(held);
    }
}

/// A reader's node with the number of the writer that holds, so that it stands before everybody behind the writer.
async fn join(session: &Arc<Session>, call: &mut Call, path: &str, writing: &Arc<Hold>) -> Result<Grant> {
    let (verb, writer, server_session) = ("downgrade", writing.node(), writing.server_session());
    if !writing.is_held() {
        return Err(writing.not_held());
    }
    if writer.entry.is_late() {
        // Behind the end of the range the czxid alone makes the order, and a new node's is behind everybody's.
        return Err(Error::invalid(
            verb,
            "the sequence numbers of this path are used up; release write and take read, or use a new path",
        ));
    }
    let (prefix, _) = name::fresh(session.options().naming, Kind::Read);
    let node = path::join(path, &format!("{prefix}{:010}", writer.entry.sequence));
    let place = Place::reserve(server_session, node.clone());
    let parts = [
        Write::Check { path: writer.path.clone(), version: None },
        Write::Create {
            path: node.clone(),
            data: session.identity().as_bytes().to_vec(),
            mode: CreateMode::Ephemeral,
            acl: None,
        },
    ];
    // From before the node is there, so that the heart does not pause for it.
    let interest = server_session.interest(&node);
    let czxid = loop {
        match call.receive(verb, server_session.multi(&parts)).await? {
            Ok(applied) => {
                break applied.into_iter().find_map(Applied::created).map_or(-1, |created| created.czxid);
            }
            // Our own, of an attempt whose answer was lost: nobody else makes this name.
            Err(WireError::Part { index: 1, error }) if *error == WireError::NodeExists => break -1,
            // Dropped, the place deletes what an attempt whose answer was lost may have created.
            Err(WireError::Part { index: 0, error }) if *error == WireError::NoNode => {
                writing.lose(LostReason::Deleted);
                return Err(writing.not_held());
            }
            Err(WireError::ConnectionLoss) => call.retry_after_loss(verb).await?,
            Err(WireError::SessionEnded) => {
                drop(place.forget());
                writing.lose(LostReason::Session);
                return Err(writing.not_held());
            }
            Err(error) => return Err(refusal(error, verb, path)),
        }
    };
    let reader = place.forget();
    let nodes = reader.map(|node| Node { czxid, inherited: Some(writer.token()), ..node });
    let mut grant = Grant::of(server_session.clone(), Vec::from_iter(nodes), vec![interest]);
    // Whoever has asked the writer for the lock still waits for it.
    grant.is_revoked = writing.is_revoked();
    match grant.becomes_firm(call, verb).await? {
        // Dropped, the reader goes with its writer.
        _ if !writing.is_held() => Err(writing.not_held()),
        true => Ok(grant),
        false => Err(Error::not_held("the reader's node was deleted by somebody else; write is still held")),
    }
}
