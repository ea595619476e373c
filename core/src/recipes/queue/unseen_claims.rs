//! Claims that nobody was given: withdrawn while they were on their way, or dropped before anybody had looked at the item. They
//! raise the version of the item as any claim does. So that they are no attempts, a node beside the claims says how many there were:
//! `ITEM~unseen`, with the czxid of the item and that number.
//!
//! 1. Whoever gives such a claim back writes it down, in a transaction that checks that the item is there. Without an answer it is
//!    not written again, and a client that is killed before that writes nothing: then the claim is an attempt as any other.
//! 2. It is written before the claim is deleted if that was the last attempt, or else the next one would bury the item. Otherwise
//!    behind that, so that the item is back at once.
//! 3. It is read only where an item seems to have no attempt left. Who buries the item does it in a transaction that is refused if
//!    one more was written down meanwhile.
//! 4. Whoever removes an item that others had claimed before deletes that node behind it; what is left finds whoever lists.

use std::sync::Arc;

use futures_util::FutureExt;

use super::store::Store;
use crate::error::Result;
use crate::path;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::server_session::ServerSession;
use crate::session::wire::{CreateMode, WireError, Write};

/// With more nodes beside the items the claims would be too long to list for everybody.
const MOST_BESIDE: i32 = 4_000;

/// The claims of an item that nobody was given.
#[derive(Default)]
pub(super) struct UnseenClaims {
    pub(super) count: i32,
    /// What deletes the node that says so. It is refused if that says something else by then.
    pub(super) end: Vec<Write>,
}

impl Store {
    /// Of an item with that czxid.
    pub(super) async fn unseen_claims(
        &self,
        call: &mut Call,
        verb: &str,
        item: &str,
        czxid: i64,
    ) -> Result<UnseenClaims> {
        let node = self.layout.unseen(item);
        match call.ask(verb, |server| server.get_data(&node)).await {
            Ok((said, stat)) => {
                let end = vec![Write::Delete { path: node, version: Some(stat.version) }];
                Ok(UnseenClaims { count: count(&said, czxid), end })
            }
            Err(failure) if failure.is(&WireError::NoNode) => {
                let create = Write::Create {
                    path: node.clone(),
                    data: Vec::new(),
                    mode: CreateMode::Ephemeral,
                    acl: None,
                };
                Ok(UnseenClaims { count: 0, end: vec![create, Write::Delete { path: node, version: None }] })
            }
            // Who may not read it may not know.
            Err(failure) if failure.is(&WireError::NoAuth) => Ok(UnseenClaims::default()),
            Err(failure) => Err(failure.about(verb, &node)),
        }
    }

    /// Writes down that nobody was given one more claim of an item with that czxid.
    pub(super) async fn note_unseen(
        self: Arc<Store>,
        server_session: Arc<ServerSession>,
        item: String,
        czxid: i64,
    ) {
        if self.options.max_attempts == 0 {
            return;
        }
        let (layout, node) = (&self.layout, self.layout.unseen(&item));
        let stands = Write::Check { path: path::join(&layout.items, &item), version: None };
        loop {
            let (read, beside) = (server_session.get_data(&node), server_session.exists(&layout.claims));
            let (read, beside) = (read.await, beside.await);
            let has_room = matches!(beside, Ok(Some(claims)) if claims.num_children < MOST_BESIDE);
            let write = match read {
                Ok((said, stat)) => Write::Set {
                    path: node.clone(),
                    data: says(czxid, count(&said, czxid).saturating_add(1)),
                    version: Some(stat.version),
                },
                Err(WireError::NoNode) if has_room => {
                    let (path, data) = (node.clone(), says(czxid, 1));
                    Write::Create { path, data, mode: CreateMode::Persistent, acl: None }
                }
                Err(_) => return,
            };
            match server_session.multi(&[stands.clone(), write]).await {
                // Somebody else has written there meanwhile.
                Err(WireError::Part { index: 1, error })
                    if matches!(
                        *error,
                        WireError::NoNode | WireError::NodeExists | WireError::BadVersion
                    ) => {}
                _ => return,
            }
        }
    }

    /// An item is gone that had been claimed so often before; nothing more is to be known of that. It is tried once: later another
    /// item may have that name.
    pub(super) fn forget_unseen(&self, session: &Session, item: &str, claims_before: i32) {
        let server_session = session.server_session();
        let Some(on) = server_session.connection() else { return };
        if claims_before != 0 && self.options.max_attempts > 0 {
            let deletion = server_session.delete_on(on, &self.layout.unseen(item), None);
            drop(server_session.in_background(deletion.map(drop)));
        }
    }
}

fn says(czxid: i64, count: i32) -> Vec<u8> {
    format!("{czxid} {count}").into_bytes()
}

/// How many it says there were of that item. It may be of an earlier one of that name.
fn count(said: &[u8], czxid: i64) -> i32 {
    let said = std::str::from_utf8(said).ok().and_then(|said| said.split_once(' '));
    let count = said.filter(|(of, _)| of.parse() == Ok(czxid)).and_then(|(_, count)| count.parse().ok());
    // Anybody may have written there.
    count.filter(|count| *count >= 0).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_of_an_item_is_of_that_item() {
        assert_eq!(count(&says(7, 3), 7), 3);
        for other in [&says(8, 3)[..], b"", b"7", b"7 x", b"\xff 3", b"7 -1"] {
            assert_eq!(count(other, 7), 0);
        }
    }
}
