//! Our place in a queue of guarded sequential nodes: entering it, and finding it again when an answer got lost.
//!
//! `create` and `getChildren` leave in one flight; a session is FIFO, so one round trip decides. A list counts only if
//! it contains our name. When the answer to the create got lost, `sync` and a list find the node by the GUID in its
//! name; it is ours only if it belongs to this very session. Dropping a place deletes its node in the background.

use std::sync::Arc;

use super::name::{self, Entry, Kind};
use crate::error::Result;
use crate::options::Naming;
use crate::path;
use crate::session::Session;
use crate::session::call::{Call, refusal};
use crate::session::clock::Later;
use crate::session::epoch::Epoch;
use crate::session::wire::{CreateMode, WireError};

/// Where and as whom to queue.
pub(crate) struct Queue<'a> {
    pub(crate) session: &'a Arc<Session>,
    pub(crate) path: &'a str,
    pub(crate) kind: Kind,
    /// Whose names to queue under.
    pub(crate) naming: Naming,
    /// What the caller does, for error texts.
    pub(crate) verb: &'static str,
}

/// A node of ours among the contenders of one path.
pub(crate) struct Place {
    pub(crate) epoch: Arc<Epoch>,
    pub(crate) parent: String,
    guid: String,
    /// `None` as long as only the server knows whether there is a node.
    node: Option<Node>,
}

/// A node that certainly was created.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) path: String,
    pub(crate) entry: Entry,
    pub(crate) czxid: i64,
}

/// The names under the path, or the news that our node is not among them any more.
pub(crate) enum Listing {
    Names(Vec<String>),
    Gone,
}

impl Place {
    /// Creates our node, within the retry budget, and lists its siblings.
    pub(crate) async fn enter(queue: &Queue<'_>, call: &mut Call) -> Result<(Place, Vec<String>)> {
        let Queue { session, path, kind, naming, verb } = *queue;
        loop {
            let epoch = call.epoch(verb).await.map_err(|error| error.with_path(path))?;
            let (prefix, guid) = name::fresh(naming, kind);
            let create = epoch.create(
                &path::join(path, &prefix),
                session.identity().as_bytes(),
                CreateMode::EphemeralSequential,
            );
            let list = epoch.children(path);
            let mut place = Place { epoch: epoch.clone(), parent: path.to_owned(), guid, node: None };
            match call.briefly(verb, create).await? {
                Ok(created) => place.found(created.path, created.czxid),
                Err(WireError::ConnectionLoss) if place.recover(call, verb).await? => {}
                Err(error) => {
                    // The server has decided, or the session is gone with all its nodes: there is nothing to delete.
                    let unanswered = error.is_unanswered();
                    place.forget();
                    match error {
                        WireError::NoNode => {
                            let ensured =
                                call.briefly(verb, session.ensure(&epoch, path, session.parents())).await?;
                            match ensured {
                                Err(error) if !error.is_unanswered() => {
                                    return Err(refusal(error, verb, path));
                                }
                                _ => continue,
                            }
                        }
                        _ if unanswered => {
                            call.retry_after_loss(verb).await?;
                            continue;
                        }
                        error => return Err(refusal(error, verb, path)),
                    }
                }
            }
            let names = match call.briefly(verb, list).await? {
                Ok(names) if place.is_among(&names) => names,
                Err(error) if !error.is_unanswered() && error != WireError::NoNode => {
                    return Err(refusal(error, verb, path));
                }
                _ => match place.list(call, verb).await? {
                    Listing::Names(names) => names,
                    Listing::Gone => continue,
                },
            };
            return Ok((place, names));
        }
    }

    /// A place whose node has a name of its own, which is about to be created.
    pub(crate) fn reserve(epoch: &Arc<Epoch>, parent: &str, path: String) -> Place {
        let mut place =
            Place { epoch: epoch.clone(), parent: parent.to_owned(), guid: String::new(), node: None };
        place.found(path, -1);
        place
    }

    /// The node that was created. A place that others get to see always has one.
    pub(crate) fn node(&self) -> Option<&Node> {
        self.node.as_ref()
    }

    fn found(&mut self, path: String, czxid: i64) {
        // Our own names are always recognised.
        self.node = Entry::recognise(path::name(&path)).map(|entry| Node { path, entry, czxid });
    }

    fn is_among(&self, names: &[String]) -> bool {
        self.node.as_ref().is_some_and(|node| names.contains(&node.entry.name))
    }

    /// After a lost answer: is there a node with our GUID, made by this session?
    async fn recover(&mut self, call: &mut Call, verb: &str) -> Result<bool> {
        loop {
            if self.epoch.has_ended() {
                return Ok(false);
            }
            let (sync, list) = (self.epoch.sync(&self.parent), self.epoch.children(&self.parent));
            let synced = call.briefly(verb, sync).await?;
            let listed = call.briefly(verb, list).await?;
            let names = match (synced, listed) {
                (Ok(()), Ok(names)) => names,
                (Ok(()), Err(WireError::NoNode)) => return Ok(false),
                (Err(error), _) | (_, Err(error)) if error.is_unanswered() => {
                    call.retry_after_loss(verb).await?;
                    continue;
                }
                (Err(error), _) | (_, Err(error)) => return Err(refusal(error, verb, &self.parent)),
            };
            let Some(name) = names.iter().find(|name| name.contains(&self.guid)) else { return Ok(false) };
            let path = path::join(&self.parent, name);
            match call.briefly(verb, self.epoch.exists(&path)).await? {
                Ok(Some(stat)) if stat.ephemeral_owner as u64 == self.epoch.session_id() => {
                    self.found(path, stat.czxid);
                    return Ok(true);
                }
                // Somebody else's by the same name, or an older session's: never adopted.
                Ok(Some(_)) => {
                    drop(self.epoch.delete_in_background(path));
                    return Ok(false);
                }
                Ok(None) => return Ok(false),
                Err(_) => call.retry_after_loss(verb).await?,
            }
        }
    }

    /// Lists again. If our name is missing, a `sync` decides whether the server was behind or the node is gone.
    pub(crate) async fn list(&self, call: &mut Call, verb: &str) -> Result<Listing> {
        let mut sync = false;
        loop {
            if self.epoch.has_ended() {
                return Ok(Listing::Gone);
            }
            let synced = sync.then(|| self.epoch.sync(&self.parent));
            let list = self.epoch.children(&self.parent);
            if let Some(synced) = synced
                && call.briefly(verb, synced).await?.is_err()
            {
                call.retry_after_loss(verb).await?;
                continue;
            }
            match call.briefly(verb, list).await? {
                Ok(names) if self.is_among(&names) => return Ok(Listing::Names(names)),
                Ok(_) | Err(WireError::NoNode) if sync => return Ok(Listing::Gone),
                Ok(_) | Err(WireError::NoNode) => sync = true,
                Err(error) if error.is_unanswered() => {
                    sync = true;
                    call.retry_after_loss(verb).await?;
                }
                Err(error) => return Err(refusal(error, verb, &self.parent)),
            }
        }
    }

    /// The node is somebody else's business from now on, or never was.
    pub(crate) fn forget(mut self) -> Option<Node> {
        self.guid.clear();
        self.node.take()
    }

    /// Deletes the node in the background; the answer resolves when that is confirmed.
    pub(crate) fn withdraw(mut self) -> Later<()> {
        self.delete()
    }

    fn delete(&mut self) -> Later<()> {
        let guid = std::mem::take(&mut self.guid);
        match self.node.take() {
            Some(node) => self.epoch.delete_in_background(node.path),
            None if !guid.is_empty() => self.epoch.delete_by_guid_in_background(self.parent.clone(), guid),
            None => Box::pin(std::future::ready(())),
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let is_ours = self.node.is_some() || !self.guid.is_empty();
        if is_ours && crate::runtime::check_process().is_ok() {
            drop(self.delete());
        }
    }
}
