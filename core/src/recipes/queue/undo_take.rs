//! Putting back an item that was taken for nobody.
//!
//! It takes its old place, as long as that is there. Where its parent was made anew, or somebody has its name, it goes to the
//! end: a name from before would stand in the way of the new numbers.

use std::sync::Arc;

use super::Store;
use super::puts::make;
use crate::error::{Error, Result};
use crate::session::Session;
use crate::session::call::{Call, refusal};
use crate::session::once::Outcome;
use crate::session::wire::{CreateMode, WireError, Write};

const VERB: &str = "putting back";

/// What makes the item again.
pub(super) struct Undo {
    path: String,
    data: Vec<u8>,
    /// Where it goes to the end; `path` itself when it does.
    end: String,
}

impl Undo {
    pub(super) fn in_its_place(path: String, data: Vec<u8>, end: String) -> Undo {
        Undo { path, data, end }
    }

    pub(super) fn at_the_end(end: String, data: Vec<u8>) -> Undo {
        Undo { path: end.clone(), data, end }
    }

    pub(super) fn is_at_the_end(&self) -> bool {
        self.path == self.end
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
            match self.create_again(session, &mut call, &undo).await? {
                Outcome::Applied => return Ok(()),
                Outcome::Refused(_, WireError::NoNode) => {
                    make(session, &mut call, VERB, &self.stock.layout.items).await?;
                }
                Outcome::Refused(_, WireError::NodeExists) if !undo.is_at_the_end() => {}
                Outcome::Refused(_, error) => return Err(refusal(error, VERB, &undo.path)),
            }
            undo.path.clone_from(&undo.end);
        }
    }

    async fn create_again(&self, session: &Arc<Session>, call: &mut Call, undo: &Undo) -> Result<Outcome> {
        let mut is_in_doubt = false;
        if !session.is_closing() {
            let (path, data) = (undo.path.clone(), undo.data.clone());
            let item = Write::Create { path, data, mode: undo.mode(), acl: None };
            match self.marks.apply(session, call, VERB, &[item]).await {
                // A client that closes makes no marks any more.
                Err(_) if session.is_closing() && !undo.is_at_the_end() => is_in_doubt = true,
                outcome => return outcome,
            }
        }
        loop {
            let epoch = call.epoch(VERB).await?;
            match call.briefly(VERB, epoch.create(&undo.path, &undo.data, undo.mode())).await? {
                Ok(_) => return Ok(Outcome::Applied),
                Err(WireError::NodeExists) if is_in_doubt => return Ok(Outcome::Applied),
                Err(error) if !error.is_unanswered() => return Ok(Outcome::Refused(0, error)),
                // Without a name of its own it could come twice.
                Err(_) if undo.is_at_the_end() => return Err(Error::connection_lost(VERB)),
                Err(_) => {
                    is_in_doubt = true;
                    call.retry_after_loss(VERB).await?;
                }
            }
        }
    }
}
