//! The numbers that the server gives to the items of a queue, up to 2^31.
//!
//! Behind that it gives numbers twice, and negative ones in between, which tell nothing of the order. So before that a put
//! waits until all items are gone. Then the node is deleted and made anew in one transaction, and the numbers begin at 0. What
//! was sent before that means a number that comes again only after as many items as fill the whole range.
//!
//! Where the numbers are is known by that of the newest item that was put here. Whoever gets one that is near the end says so to those
//! who have put nothing yet, in `P-__queue__/numbers`: of which node of the items that is so, by its czxid. (A node's `cversion` grows
//! with them, too, but not on every server in the same way.)

use std::sync::Arc;

use super::layout::{NodeLayout, make_parent};
use crate::error::{Error, ErrorKind, Result};
use crate::options::AclChoice;
use crate::path;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::refusal::Failure;
use crate::session::wire::{CreateMode, Stat, WireError, Write};

const VERB: &str = "put";
/// How many numbers are left over: for those who have looked before the others put or say so, and for what goes back to the end.
const LEFT_OVER: u32 = 100_000;

pub(super) struct ItemNumbers {
    items: String,
    /// Where it is said that they are nearly used up.
    said_in: String,
    /// That of the item that was put last.
    newest: Option<i32>,
    /// When the items' parent was created by which that number was given.
    parent: Option<i64>,
    /// Of which parent it was said here.
    said_of: Option<i64>,
}

impl ItemNumbers {
    pub(super) fn new(layout: &NodeLayout) -> ItemNumbers {
        let (items, said_in) = (layout.items.clone(), layout.own("numbers"));
        ItemNumbers { items, said_in, newest: None, parent: None, said_of: None }
    }

    /// Items went in, the last of them with that number. Answers whether the end is near.
    pub(super) fn went_in(&mut self, newest: Option<i32>) -> bool {
        self.newest = newest.or(self.newest);
        self.newest.is_some_and(is_near_the_end)
    }

    /// The items' parent, if there is one, and whether its children soon get numbers that tell nothing of the order.
    pub(super) async fn look(&mut self, call: &mut Call) -> Result<(Option<Stat>, bool)> {
        let (items, said_in, is_known) = (&self.items, &self.said_in, self.newest.is_some());
        let asked = call.ask(VERB, |server| {
            // In one flight. Those who put read what others say of it once.
            let parent = server.exists(items);
            let said = (!is_known).then(|| server.get_data(said_in));
            async move {
                let parent = parent.await?;
                match said {
                    Some(said) => match said.await {
                        Ok((said, _)) => Ok((parent, Some(said))),
                        Err(error) if error.is_unanswered() => Err(error),
                        // Nobody says anything, or not to us.
                        Err(_) => Ok((parent, None)),
                    },
                    None => Ok((parent, None)),
                }
            }
        });
        let (parent, said) = asked.await.map_err(|failure| failure.about(VERB, items))?;
        let Some(parent) = parent else { return Ok((None, false)) };
        if self.parent.replace(parent.czxid).is_some_and(|before| before != parent.czxid) {
            // Somebody else has begun them anew.
            self.newest = None;
        }
        let is_near_the_end = match self.newest {
            Some(newest) => is_near_the_end(newest),
            None => said.is_some_and(|said| said == said_of(parent.czxid)),
        };
        Ok((Some(parent), is_near_the_end))
    }

    /// Says to those who know no number that they are nearly used up, if that is so. In the background: who cannot say it puts all the
    /// same.
    pub(super) fn say_so(&mut self, session: &Arc<Session>) {
        let Some(parent) = self.parent.filter(|_| self.newest.is_some_and(is_near_the_end)) else { return };
        if self.said_of.replace(parent) == Some(parent) {
            return;
        }
        let (said_in, about) = (self.said_in.clone(), session.clone());
        drop(session.in_background(async move {
            let mut call = about.call(None).outlasting();
            // Those who put next say it then.
            let _ = say(&mut call, &said_in, &said_of(parent)).await;
        }));
    }

    /// Deletes the empty parent that was looked at and makes it again, so that its numbers begin anew; false if it was not empty
    /// any more.
    pub(super) async fn begin_anew(&mut self, call: &mut Call) -> Result<bool> {
        if !begin_anew(&self.items, self.parent, call).await? {
            return Ok(false);
        }
        self.newest = None;
        // What was said is of another node, and is not to stay.
        let server_session = call.server_session(VERB).await?;
        drop(server_session.delete_in_background(self.said_in.clone(), 0));
        Ok(true)
    }
}

/// That of a number behind which some are left over.
fn is_near_the_end(newest: i32) -> bool {
    newest as u32 > i32::MAX as u32 - LEFT_OVER
}

/// What is said of the parent that was created then.
fn said_of(parent: i64) -> Vec<u8> {
    parent.to_string().into_bytes()
}

async fn say(call: &mut Call, said_in: &str, of: &[u8]) -> Result<()> {
    loop {
        let written = call.ask(VERB, |server| server.set_data(said_in, of, None)).await;
        match written {
            Err(Failure::Refused(WireError::NoNode)) => {}
            written => return written.map(drop).map_err(|failure| failure.about(VERB, said_in)),
        }
        let made = call.ask(VERB, |server| server.create(said_in, of, CreateMode::Persistent)).await;
        match made {
            Err(Failure::Refused(WireError::NodeExists)) => {}
            Err(Failure::Refused(WireError::NoNode)) => {
                make_parent(call, VERB, path::parent(said_in), CreateMode::Container).await?;
            }
            made => return made.map(drop).map_err(|failure| failure.about(VERB, said_in)),
        }
    }
}

/// The same of the parent that was created then.
async fn begin_anew(items: &str, parent: Option<i64>, call: &mut Call) -> Result<bool> {
    loop {
        let (server_session, on) = call.connection(VERB).await?;
        // In one flight.
        let (read, list) = (server_session.get_data(items), server_session.access_list(items));
        let read = call.receive(VERB, read).await?;
        let list = call.receive(VERB, list).await?;
        let acl = match list {
            // Its secrets are not told to everybody, and nobody else could use the next one.
            Ok(list) if list.iter().any(|entry| entry.scheme == "digest" && entry.id.ends_with(":x")) => {
                return Err(used_up());
            }
            Ok(list) => Some(AclChoice::List(list)),
            Err(_) => None,
        };
        let mode = CreateMode::Persistent;
        let replaced = match read {
            // Somebody was faster, or we were, and its answer got lost: another one's numbers are used.
            Ok((_, stat)) if Some(stat.czxid) != parent => return Ok(true),
            Ok((data, _)) => {
                let deletion = Write::Delete { path: items.to_owned(), version: None };
                let creation = Write::Create { path: items.to_owned(), data, mode, acl };
                call.receive(VERB, server_session.multi_on(on, &[deletion, creation])).await?
            }
            Err(error) => Err(error),
        };
        match replaced {
            Ok(_) => {
                server_session.forget_deletions_below(items);
                return Ok(true);
            }
            Err(error) if error.is_unanswered() => call.retry_after_loss(VERB).await?,
            // Somebody was faster, or put something.
            Err(WireError::NoNode) => return Ok(true),
            Err(WireError::Part { error, .. }) => match *error {
                WireError::NoNode | WireError::NodeExists => return Ok(true),
                WireError::NotEmpty => return Ok(false),
                _ => return Err(used_up()),
            },
            Err(_) => return Err(used_up()),
        }
    }
}

pub(super) fn used_up() -> Error {
    Error::new(
        ErrorKind::Exists,
        "the numbers of the items are used up, and this client may not make the queue's node anew: the server numbers them, and \
         its counter has come to its end (2147483647) or nearly so, or somebody makes items with numbers of their own; take all \
         items and delete the queue's node, and the numbers begin anew",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_the_newest_item_says_whether_the_end_is_near() {
        for newest in [i32::MAX - 2, i32::MAX, i32::MIN, -1] {
            assert!(is_near_the_end(newest), "{newest}");
        }
        for newest in [0, 1_000_000, i32::MAX - LEFT_OVER as i32] {
            assert!(!is_near_the_end(newest), "{newest}");
        }
    }
}
