//! A barrier: while its node is there, everybody who comes to it waits.
//!
//! 1. Putting it up creates the node, to stay; it says who did. Lifting it deletes the node. Both are done once, however often
//!    they are asked for.
//! 2. Waiting is a watch on the node. A waiter that is woken looks again: the barrier was lifted if the node is gone,
//!    or was made anew since.
//! 3. Every look is behind a `sync`: a process that was told of a barrier by other means must not pass it because the
//!    server behind its connection has not heard of it yet.
//!
//! The node is the path itself, as in Curator's `DistributedBarrier` and kazoo's `Barrier`.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use super::contenders::{self, Contender};
use super::wait_progress::{AwaitedContenders, Listeners, WaitProgress, telling};
use crate::client::Client;
use crate::error::{Error, ErrorKind, Result};
use crate::log;
use crate::path;
use crate::session::call::{Call, LOOK_AFTER};
use crate::session::clock::Later;
use crate::session::delivery::Subscription;
use crate::session::open_parents;
use crate::session::refusal::Failure;
use crate::session::server_session::ServerSession;
use crate::session::wire::{CreateMode, Flight, Stat, WireError};
use crate::time;

impl Client {
    /// A handle on the barrier at `path`. Does no I/O.
    pub fn barrier(&self, path: &str) -> Result<Barrier> {
        self.session_for_handle()?;
        path::recipe(path)?;
        Ok(Barrier { client: self.clone(), path: Arc::from(path), listeners: Arc::default() })
    }
}

/// Stops everybody who waits at it until it is lifted, shared with everybody who uses that path, in any language. Clones are
/// the same handle.
///
/// ```
/// # zkrecipes::doctest(async {
/// use std::time::Duration;
/// use zkrecipes::{Client, ErrorKind};
///
/// let client = Client::connect("embedded:", Default::default()).await?;
/// let barrier = client.barrier("/barriers/import")?;
/// barrier.wait(None).await?; // nobody has put it up
/// barrier.create().await?;
/// let late = barrier.wait(Some(Duration::from_millis(10))).await.expect_err("it is up");
/// assert_eq!(late.kind(), ErrorKind::Timeout);
/// barrier.remove().await?;
/// assert!(!barrier.is_up().await?);
/// # Ok(()) });
/// ```
#[derive(Clone)]
pub struct Barrier {
    client: Client,
    path: Arc<str>,
    /// Who wants to hear of its waits.
    listeners: Arc<Listeners>,
}

impl Barrier {
    const CREATE: &'static str = "create";
    const REMOVE: &'static str = "remove";
    const WAIT: &'static str = "wait";
    const IS_UP: &'static str = "is_up";

    /// The path of the barrier.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Puts the barrier up. If it is up already, that is fine. It stays up until somebody removes it, also when this client
    /// is gone.
    ///
    /// A lost answer is asked for again: should somebody else lift the barrier at that very moment, it is put up again.
    pub async fn create(&self) -> Result<()> {
        let session = self.client.session()?;
        let (path, identity) = (&*self.path, session.identity().as_bytes());
        let mut call = session.call(None);
        self.comes_behind(&mut call, Barrier::CREATE).await?;
        let server_session = call.server_session(Barrier::CREATE).await?;
        open_parents::look(&session, &server_session, &mut call, Barrier::CREATE, path::parent(path)).await?;
        loop {
            match call
                .ask(Barrier::CREATE, |server| server.create(path, identity, CreateMode::Persistent))
                .await
            {
                Ok(_) | Err(Failure::Refused(WireError::NodeExists)) => return Ok(()),
                Err(Failure::Refused(WireError::NoNode)) => {
                    let parent = path::parent(path);
                    let made = call.ask(Barrier::CREATE, |server| {
                        let (session, server) = (session.clone(), server.clone());
                        async move { session.ensure(&server, parent, session.parents()).await }
                    });
                    made.await.map_err(|failure| failure.about(Barrier::CREATE, parent))?;
                }
                Err(failure) => return Err(failure.about(Barrier::CREATE, path)),
            }
        }
    }

    /// Lifts the barrier: everybody who waits goes on. If it is not up, that is fine.
    ///
    /// Of a lost answer it is looked what became of it: a barrier that somebody else has put up since stays.
    pub async fn remove(&self) -> Result<()> {
        let session = self.client.session()?;
        let mut call = session.call(None);
        self.comes_behind(&mut call, Barrier::REMOVE).await?;
        call.delete_this(Barrier::REMOVE, &self.path)
            .await
            .map(drop)
            .map_err(|error| error.with_path(&*self.path))
    }

    /// What this client was asked for first is done first.
    async fn comes_behind(&self, call: &mut Call, verb: &'static str) -> Result<()> {
        let turn = call.session().take_queueing_turn(&self.path);
        call.comes_behind(verb, turn).await.map_err(|error| error.with_path(&*self.path))
    }

    /// Whether the barrier is up.
    pub async fn is_up(&self) -> Result<bool> {
        let session = self.client.session()?;
        self.stands(&mut session.call(None).reading(), Barrier::IS_UP).await
    }

    async fn stands(&self, call: &mut Call, verb: &'static str) -> Result<bool> {
        let found = self.look(call, verb, |server| server.exists(&self.path));
        Ok(found.await?.is_some())
    }

    /// Calls back while a wait through this handle goes on: after a second, and then ever less often, up to once a minute.
    /// `holder` is who has put the barrier up, for one read each time. Nobody is told of a wait that is over.
    pub fn on_wait(&self, callback: impl Fn(WaitProgress) + Send + Sync + 'static) -> Result<Subscription> {
        self.client.session()?;
        Ok(self.listeners.subscribe(callback))
    }

    /// Waits until the barrier is lifted, at once if it is not up; Timeout after `limit`, which says who has put it up. A
    /// waiter that sees the barrier up waits through outages and into the next session.
    ///
    /// # Cancel safety
    /// Dropping the future leaves nothing behind.
    pub async fn wait(&self, limit: Option<Duration>) -> Result<()> {
        let session = self.client.session()?;
        let mut call = session.wait(limit).timeout_says(LIFTING).reading();
        let mut up = None;
        let passing = self.pass(&mut call, &mut up);
        let passed =
            telling(&session, &self.path, &self.listeners, |call| self.find_setter(call), pin!(passing))
                .await;
        passed.map_err(|error| naming_the_setter(error, up).with_path(&*self.path))
    }

    /// Notes in `up` what was seen of the barrier.
    async fn pass(&self, call: &mut Call, up: &mut Up) -> Result<()> {
        if call.is_single_attempt() {
            return match self.stands(call, Barrier::WAIT).await? {
                true => Err(Error::timeout(LIFTING)),
                false => Ok(()),
            };
        }
        let mut first = None;
        loop {
            let (found, watch) =
                self.look(call, Barrier::WAIT, |server| server.watch_exists(&self.path)).await?;
            let Some(stat) = found else { return Ok(()) };
            if *first.get_or_insert(stat.czxid) < stat.czxid {
                // Ours was lifted, and this one was put up since.
                return Ok(());
            }
            call.outlast_outages();
            let said = call.session().server_session().get_data(&self.path);
            let woken = async {
                let mut watch = watch;
                tokio::select! {
                    biased;
                    _ = &mut watch => return,
                    // Who may not read it waits all the same.
                    said = said => *up = said.ok(),
                }
                watch.await;
            };
            call.wait_at_most(LOOK_AFTER, woken).await?;
        }
    }

    /// Both requests leave in one flight.
    async fn look<T>(
        &self,
        call: &mut Call,
        verb: &'static str,
        look: impl Fn(&Arc<ServerSession>) -> Flight<T> + Sync,
    ) -> Result<T> {
        let answer = call.ask(verb, |server| {
            let (sync, look) = (server.sync(&self.path), look(server));
            async move {
                sync.await?;
                look.await
            }
        });
        answer.await.map_err(|failure| failure.about(verb, &self.path))
    }

    /// Who has put it up.
    fn find_setter(&self, mut call: Call) -> Later<AwaitedContenders> {
        let path = self.path.clone();
        Box::pin(async move {
            let read = call.ask(Barrier::WAIT, |server| server.get_data(&path)).await;
            let node = path::name(&path).to_owned();
            let holder = read.ok().map(|(data, stat)| Contender {
                node,
                identity: String::from_utf8_lossy(&data).into_owned(),
                kind: "barrier".into(),
                session_id: stat.ephemeral_owner as u64,
                since: contenders::at(stat.ctime),
                is_asked: false,
                holds: true,
            });
            (None, holder)
        })
    }
}

/// What a barrier that is up says.
type Up = Option<(Vec<u8>, Stat)>;

/// With who has put it up, as far as it says so: others write what they like.
fn naming_the_setter(error: Error, up: Up) -> Error {
    let Some((data, stat)) = up.filter(|_| error.kind() == ErrorKind::Timeout) else { return error };
    let since = time::rfc3339(contenders::at(stat.ctime));
    error.because(match String::from_utf8(data) {
        Ok(who) if !who.is_empty() => format!("{} has put it up, at {since}", log::quoted(&who)),
        _ => format!("it was put up at {since}"),
    })
}

const LIFTING: &str = "the barrier was not lifted";

impl std::fmt::Debug for Barrier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Barrier").field("path", &self.path).finish_non_exhaustive()
    }
}
