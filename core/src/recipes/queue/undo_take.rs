//! Putting back an item that was taken for nobody.
//!
//! It takes its old place, as long as that is there. Where its parent was made anew since, or somebody has its name, it goes to
//! the end: a name from before would stand in the way of the new numbers. The parent is older than its items, so its time tells.

use std::sync::Arc;

use super::Store;
use super::puts::make_items;
use crate::error::{Error, Result};
use crate::session::Session;
use crate::session::call::{Call, refusal};
use crate::session::once::Outcome;
use crate::session::wire::{CreateMode, WireError, Write};

const VERB: &str = "putting back";

/// What makes the item again.
pub(super) struct Undo {
    path: String,
    /// When the item was created.
    czxid: i64,
    data: Vec<u8>,
    /// Where it goes to the end; `path` itself when it does.
    end: String,
}

impl Undo {
    pub(super) fn in_its_place(path: String, czxid: i64, data: Vec<u8>, end: String) -> Undo {
        Undo { path, czxid, data, end }
    }

    pub(super) fn at_the_end(end: String, data: Vec<u8>) -> Undo {
        Undo { path: end.clone(), czxid: 0, data, end }
    }

    pub(super) fn is_at_the_end(&self) -> bool {
        self.path == self.end
    }

    fn write(&self) -> Write {
        Write::Create { path: self.path.clone(), data: self.data.clone(), mode: self.mode(), acl: None }
    }

    /// Persistent even if the item was not: an ephemeral node of ours would go with us, who never put it.
    fn mode(&self) -> CreateMode {
        match self.is_at_the_end() {
            true => CreateMode::PersistentSequential,
            false => CreateMode::Persistent,
        }
    }
}

impl Store {
    /// Waits for a server as long as the client lives, and closing waits for it.
    pub(super) async fn put_back(&self, session: &Arc<Session>, mut undo: Undo) -> Result<()> {
        let mut call = session.call(None).outlasting();
        loop {
            let refused = match undo.is_at_the_end() {
                true => self.add(session, &mut call, &undo).await?,
                false => self.create_again(session, &mut call, &undo).await?,
            };
            match refused {
                None => return Ok(()),
                Some(WireError::NoNode) => {
                    make_items(session, &mut call, VERB, &self.stock.layout.items).await?
                }
                Some(WireError::NodeExists) if !undo.is_at_the_end() => {}
                Some(error) => return Err(refusal(error, VERB, &undo.path)),
            }
            undo.path.clone_from(&undo.end);
        }
    }

    /// Creates it at the end; answers why not.
    async fn add(&self, session: &Arc<Session>, call: &mut Call, undo: &Undo) -> Result<Option<WireError>> {
        if !session.is_closing() {
            return Ok(match self.stock.marks.apply(session, call, VERB, &[undo.write()]).await? {
                Outcome::Applied => None,
                Outcome::Refused(_, error) => Some(error),
            });
        }
        // A client that closes makes no marks any more, and without a name of its own it could come twice.
        let epoch = call.epoch(VERB).await?;
        match call.briefly(VERB, epoch.create(&undo.path, &undo.data, undo.mode())).await? {
            Ok(_) => Ok(None),
            Err(error) if error.is_unanswered() => Err(Error::connection_lost(VERB)),
            Err(error) => Ok(Some(error)),
        }
    }

    /// Creates it in its old place, if its parent is still the same; answers why not.
    async fn create_again(
        &self,
        session: &Arc<Session>,
        call: &mut Call,
        undo: &Undo,
    ) -> Result<Option<WireError>> {
        let items = &self.stock.layout.items;
        loop {
            let (epoch, on) = call.connection(VERB).await?;
            let (synced, parent) = (epoch.sync(items), epoch.exists(items));
            let synced = call.briefly(VERB, synced).await?;
            match synced.and(call.briefly(VERB, parent).await?) {
                Ok(Some(parent)) if parent.czxid < undo.czxid => {}
                Ok(Some(_)) => return Ok(Some(WireError::NodeExists)),
                Ok(None) => return Ok(Some(WireError::NoNode)),
                Err(error) if !error.is_unanswered() => return Ok(Some(error)),
                Err(_) => {
                    call.retry_after_loss(VERB).await?;
                    continue;
                }
            }
            if !session.is_closing() {
                match self.stock.marks.apply_seen(session, call, VERB, &[undo.write()], on).await {
                    Ok(Some(Outcome::Applied)) => return Ok(None),
                    Ok(Some(Outcome::Refused(_, error))) => return Ok(Some(error)),
                    // A client that closes makes no marks any more.
                    Err(error) if !session.is_closing() => return Err(error),
                    Ok(None) | Err(_) => continue,
                }
            }
            if epoch.connection() != Some(on) {
                continue;
            }
            let created = call.briefly(VERB, epoch.create(&undo.path, &undo.data, undo.mode())).await?;
            return match created {
                Ok(_) => Ok(None),
                Err(error) if error.is_unanswered() => self.look_for(call, undo).await,
                Err(error) => Ok(Some(error)),
            };
        }
    }

    /// After a lost answer, where no mark tells: if it is there, it is back. If it is not, somebody may have it.
    async fn look_for(&self, call: &mut Call, undo: &Undo) -> Result<Option<WireError>> {
        loop {
            call.retry_after_loss(VERB).await?;
            let epoch = call.epoch(VERB).await?;
            let (settled, found) = (epoch.settle(&self.stock.layout.items), epoch.exists(&undo.path));
            let settled = call.briefly(VERB, settled).await?;
            match settled.and(call.briefly(VERB, found).await?) {
                Ok(Some(_)) => return Ok(None),
                Ok(None) => return Err(Error::connection_lost(VERB)),
                Err(error) if !error.is_unanswered() => return Ok(Some(error)),
                Err(_) => {}
            }
        }
    }
}
