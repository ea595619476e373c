//! Taking an item for good: it is removed before anybody gets to see it.
//!
//! An item of version 0 has never been claimed, so deleting it at that version is enough. Later a claim may stand; then
//! making and deleting the node of a claim in the same transaction proves that none does. Either way it is known in the end
//! whether the transaction was applied, so an item whose removal lost its answer is not lost; one that was not removed is read again.

use std::sync::Arc;

use super::Store;
use super::layout::Name;
use super::puts::make_claims;
use super::removals::Removed;
use super::stock::{Out, Seen};
use super::undo_take::Undo;
use crate::error::{Error, ErrorKind, Result};
use crate::path;
use crate::session::Session;
use crate::session::call::{Call, refusal};
use crate::session::wire::{CreateMode, WireError, Write};

/// An item that was taken. Dropped before somebody has it, it goes back to its old place.
#[must_use = "dropping it puts the item back"]
pub struct Got {
    store: Arc<Store>,
    session: Arc<Session>,
    data: Vec<u8>,
    /// What undoes it; `None` once somebody has the data.
    undo: Option<Undo>,
    name: Name,
}

impl Got {
    /// The data, which is the caller's from now on.
    pub fn hand_over(mut self) -> Vec<u8> {
        self.undo = None;
        std::mem::take(&mut self.data)
    }
}

impl Drop for Got {
    fn drop(&mut self) {
        let Some(undo) = self.undo.take().filter(|_| self.session.process().is_present()) else { return };
        let (store, session, name) = (self.store.clone(), self.session.clone(), self.name.clone());
        // Closing waits for it.
        drop(self.session.epoch().chore(async move {
            match store.put_back(&session, undo).await {
                Ok(()) => store.stock.comes_back(name),
                Err(error) => {
                    let path = &store.stock.layout.path;
                    tracing::error!(target: "zkrecipes", event = "item_not_put_back", path, %error, "an item that was taken for nobody could not be put back");
                }
            }
        }));
    }
}

impl std::fmt::Debug for Got {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Got").field("path", &self.store.stock.layout.path).finish_non_exhaustive()
    }
}

pub(super) const VERB: &str = "get";

/// What came of a removal.
enum Taken {
    Got(Got),
    /// Somebody else was faster.
    Lost,
    /// It was held up by another one, and is to be read again.
    Unsure(Out),
}

impl Store {
    /// Takes the next item, as soon as there is one.
    pub(super) async fn take(self: &Arc<Self>, session: Arc<Session>, mut call: Call) -> Result<Got> {
        let mut again = None;
        loop {
            let mut out = match again.take() {
                Some(out) => out,
                None => self.stock.next(&session, &mut call, VERB).await?,
            };
            let Some(seen) = out.read(&mut call, VERB).await? else {
                out.lost();
                continue;
            };
            let Some((out, ..)) = self.unless_dead(&session, out, &seen).await? else {
                continue;
            };
            // As a chore, which closing waits for: if the caller goes, what comes of it goes back.
            let (answer, answered) = tokio::sync::oneshot::channel();
            let (store, about) = (self.clone(), session.clone());
            drop(session.epoch().chore(async move {
                let path = store.stock.layout.path.clone();
                if let Err(Err(error)) = answer.send(store.remove(about, out, seen).await) {
                    tracing::warn!(target: "zkrecipes", event = "removal_unheard", path, %error, "nobody waits any more to hear what became of a removal");
                }
            }));
            let answered = async { Ok(answered.await.unwrap_or_else(|_| Err(vanished()))) };
            // The answer is an error of ours, and none of the server's.
            if let Ok(removed) = call.briefly(VERB, answered).await? {
                match removed? {
                    Taken::Got(got) => return Ok(got),
                    Taken::Unsure(out) => again = Some(out),
                    Taken::Lost => {}
                }
            }
        }
    }

    /// Removes an item that was read.
    async fn remove(self: Arc<Self>, session: Arc<Session>, out: Out, seen: Seen) -> Result<Taken> {
        let (layout, Seen { bytes, stat, on }) = (&self.stock.layout, seen);
        let (data, rest) = layout.decode(&bytes).map_err(|error| error.with_path(out.path()))?;
        let claim = path::join(&layout.claims, &out.name.text);
        let mut writes = Vec::new();
        let has_claim = stat.version > 0 || layout.has_claims_of_peers;
        if has_claim {
            let identity = session.identity().as_bytes().to_vec();
            writes.push(Write::Create {
                path: claim.clone(),
                data: identity,
                mode: CreateMode::Ephemeral,
                acl: None,
            });
            writes.push(Write::Delete { path: claim, version: None });
        }
        writes.extend(layout.end_of_pause(&out.name.text, out.pause.as_deref(), stat.version));
        let end = layout.again(&out.name, layout);
        // Others in the same node stay, and a copy of its own goes to the end if nobody has this one.
        let undo = match rest {
            None => Undo::in_its_place(out.path(), stat.czxid, bytes, end),
            Some(_) => Undo::at_the_end(end, layout.encode(&data)),
        };
        let (removal, goes) = self.without(&out.name, out.path(), rest, stat.version);
        writes.extend(removal);
        let mut call = session.call(None).outlasting();
        loop {
            let removed = self.stock.removals.apply(&session, writes.clone(), on).await;
            match removed.map_err(|error| error.with_path(&layout.path))? {
                Removed::Applied => {
                    self.stock.raced(false, session.now());
                    let name = out.name.clone();
                    // What is left of the node is for others.
                    match goes {
                        true => out.over(),
                        false => drop(out),
                    }
                    let (store, session, undo) = (self.clone(), session.clone(), Some(undo));
                    return Ok(Taken::Got(Got { store, session, data, undo, name }));
                }
                Removed::Refused(0, WireError::NoNode) if has_claim => {
                    make_claims(&session, &mut call, VERB, layout).await?;
                }
                // Claimed since it was read, or given back: it has another version.
                Removed::Refused(_, WireError::BadVersion) => {
                    self.stock.raced(true, session.now());
                    return Ok(Taken::Lost);
                }
                Removed::Refused(_, WireError::NoNode | WireError::NodeExists) => {
                    self.stock.raced(true, session.now());
                    out.lost();
                    return Ok(Taken::Lost);
                }
                Removed::Refused(_, error) => return Err(refusal(error, VERB, &layout.path)),
                Removed::Unsure => return Ok(Taken::Unsure(out)),
            }
        }
    }
}

pub(super) fn vanished() -> Error {
    Error::new(
        ErrorKind::Internal,
        "an item was being taken and nothing came of it, which is a bug of zkrecipes; please report it",
    )
}
