//! Dead letters: items that were claimed as often as is allowed. They are a queue of their own, beside that which they
//! come from, with the same names, so that they can be put back as what they were.

use std::sync::Arc;

use super::Store;
use super::layout::Name;
use super::puts::{make_claims, make_items};
use super::stock::{Out, Seen};
use crate::error::Result;
use crate::path;
use crate::session::Session;
use crate::session::call::{Call, refusal};
use crate::session::once::Outcome;
use crate::session::skipped::Flaw;
use crate::session::wire::{CreateMode, WireError, Write};

const VERB: &str = "moving an item to the dead letters";
pub(super) const REPLAY: &str = "replay";

impl Store {
    /// Whether an item of this version has been claimed as often as is allowed.
    pub(super) fn is_spent(&self, version: i32) -> bool {
        self.options
            .max_attempts
            .is_some_and(|most| u32::try_from(version).is_ok_and(|version| version >= most))
    }

    /// What makes a dead letter of an item.
    pub(super) fn letter(&self, name: &Name, data: Vec<u8>) -> Write {
        let layout = &self.stock.layout;
        let path = layout.again(name, &layout.dead());
        Write::Create { path, data, mode: CreateMode::PersistentSequential, acl: None }
    }

    /// The item with its data and what is left for others in its node; `None` if it was moved, because it was claimed as
    /// often as is allowed, or because nobody can read it. Where none may be moved, the latter is skipped, and
    /// the log names it once.
    pub(super) async fn unless_dead(
        &self,
        session: &Arc<Session>,
        out: Out,
        seen: &Seen,
    ) -> Result<Option<(Out, Vec<u8>, Option<Vec<u8>>)>> {
        let bytes = &*seen.bytes;
        match self.stock.layout.decode(bytes) {
            Ok((data, rest)) if !self.is_spent(seen.stat.version) => return Ok(Some((out, data, rest))),
            Err(_) if self.options.max_attempts.is_none() => {
                session.skip(&out.path(), Flaw::Encoding);
                out.spoilt();
                return Ok(None);
            }
            Ok((data, Some(rest))) => {
                let letter = self.stock.layout.encode(&data);
                self.bury(session, out, letter, Some(rest), seen).await?;
            }
            Ok((_, None)) | Err(_) => self.bury(session, out, bytes.to_vec(), None, seen).await?,
        }
        Ok(None)
    }

    /// Takes an item out of the node at `path`. What is left goes to the end, where attempts count: they are counted by
    /// node, and nobody has tried these.
    pub(super) fn without(
        &self,
        name: &Name,
        path: String,
        rest: Option<Vec<u8>>,
        version: i32,
    ) -> (Vec<Write>, bool) {
        let (layout, version) = (&self.stock.layout, Some(version));
        match rest {
            None => (vec![Write::Delete { path, version }], true),
            Some(data) if self.options.max_attempts.is_none() => {
                (vec![Write::Set { path, data, version }], false)
            }
            Some(data) => {
                let (end, mode) = (layout.again(name, layout), CreateMode::PersistentSequential);
                let rest = Write::Create { path: end, data, mode, acl: None };
                // In this order: if the parent is gone, the answer is that the item is.
                (vec![Write::Delete { path, version }, rest], true)
            }
        }
    }

    pub(super) async fn make_dead(&self, session: &Arc<Session>) -> Result<()> {
        make_items(session, &mut session.call(None), VERB, &self.stock.layout.dead().items).await
    }

    /// Moves an item whose last claimer has crashed. If somebody claims it just now, it is theirs.
    async fn bury(
        &self,
        session: &Arc<Session>,
        out: Out,
        letter: Vec<u8>,
        rest: Option<Vec<u8>>,
        seen: &Seen,
    ) -> Result<()> {
        let layout = &self.stock.layout;
        let claim = path::join(&layout.claims, &out.name.text);
        let identity = session.identity().as_bytes().to_vec();
        let mut writes = vec![
            Write::Create { path: claim.clone(), data: identity, mode: CreateMode::Ephemeral, acl: None },
            Write::Delete { path: claim, version: None },
            self.letter(&out.name, letter),
        ];
        writes.extend(self.without(&out.name, out.path(), rest, seen.stat.version).0);
        let mut call = session.call(None);
        loop {
            match self.marks.apply_seen(session, &mut call, VERB, &writes, seen.on).await? {
                Some(Outcome::Refused(0, WireError::NoNode)) => {
                    make_claims(session, &mut call, VERB, layout).await?;
                }
                Some(Outcome::Refused(2, WireError::NoNode)) => self.make_dead(session).await?,
                Some(Outcome::Applied) => {
                    out.over();
                    return Ok(());
                }
                // Claimed and given back since it was read, or to be read again.
                None | Some(Outcome::Refused(_, WireError::BadVersion)) => return Ok(()),
                Some(Outcome::Refused(_, WireError::NoNode | WireError::NodeExists)) => {
                    out.lost();
                    return Ok(());
                }
                Some(Outcome::Refused(_, error)) => return Err(refusal(error, VERB, &layout.path)),
            }
        }
    }

    /// Puts a dead letter back, in a transaction that is applied once; false when somebody else has it.
    pub(super) async fn revive(&self, session: &Arc<Session>, call: &mut Call, name: &Name) -> Result<bool> {
        let (layout, dead, verb) = (&self.stock.layout, self.stock.layout.dead(), REPLAY);
        let node = path::join(&dead.items, &name.text);
        loop {
            let (epoch, on) = call.connection(verb).await?;
            let (data, stat) = match call.briefly(verb, epoch.get_data(&node)).await? {
                Ok(read) => read,
                Err(WireError::NoNode) => return Ok(false),
                Err(error) if error.is_unanswered() => {
                    call.retry_after_loss(verb).await?;
                    continue;
                }
                Err(error) => return Err(refusal(error, verb, &node)),
            };
            let (end, mode) = (dead.again(name, layout), CreateMode::PersistentSequential);
            let item = Write::Create { path: end, data, mode, acl: None };
            let writes = [item, Write::Delete { path: node.clone(), version: Some(stat.version) }];
            match self.marks.apply_seen(session, call, verb, &writes, on).await? {
                Some(Outcome::Applied) => return Ok(true),
                Some(Outcome::Refused(0, WireError::NoNode)) => {
                    make_items(session, call, verb, &layout.items).await?;
                }
                Some(Outcome::Refused(1, WireError::NoNode | WireError::BadVersion)) => return Ok(false),
                Some(Outcome::Refused(_, error)) => return Err(refusal(error, verb, &layout.path)),
                None => {}
            }
        }
    }
}
