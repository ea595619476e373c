//! Dead letters: items that were claimed as often as is allowed. They are a queue of their own, beside that which they
//! come from, with the same names, so that they can be put back as what they were.

use std::sync::Arc;

use super::Store;
use super::layout::Name;
use super::puts::{make, make_as, make_claims};
use super::stock::Out;
use crate::error::Result;
use crate::path;
use crate::session::Session;
use crate::session::call::{Call, refusal};
use crate::session::once::Outcome;
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
    /// often as is allowed, or because nobody can read it. Where none may be moved, the latter is told, and told once.
    pub(super) async fn unless_dead(
        &self,
        session: &Arc<Session>,
        out: Out,
        bytes: &[u8],
        version: i32,
    ) -> Result<Option<(Out, Vec<u8>, Option<Vec<u8>>)>> {
        match self.stock.layout.decode(bytes) {
            Ok((data, rest)) if !self.is_spent(version) => return Ok(Some((out, data, rest))),
            Err(error) if self.options.max_attempts.is_none() => {
                let error = error.with_path(out.path());
                out.spoilt();
                return Err(error);
            }
            Ok((data, Some(rest))) => {
                let letter = self.stock.layout.encode(&data);
                self.bury(session, out, letter, Some(rest), version).await?;
            }
            Ok((_, None)) | Err(_) => self.bury(session, out, bytes.to_vec(), None, version).await?,
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
                (vec![rest, Write::Delete { path, version }], true)
            }
        }
    }

    pub(super) async fn make_dead(&self, session: &Arc<Session>) -> Result<()> {
        let dead = self.stock.layout.dead().items;
        make_as(session, &mut session.call(None), VERB, &dead, CreateMode::Container).await
    }

    /// Moves an item whose last claimer has crashed. If somebody claims it just now, it is theirs.
    async fn bury(
        &self,
        session: &Arc<Session>,
        out: Out,
        letter: Vec<u8>,
        rest: Option<Vec<u8>>,
        version: i32,
    ) -> Result<()> {
        let layout = &self.stock.layout;
        let claim = path::join(&layout.claims, &out.name.text);
        let identity = session.identity().as_bytes().to_vec();
        let mut writes = vec![
            Write::Create { path: claim.clone(), data: identity, mode: CreateMode::Ephemeral, acl: None },
            Write::Delete { path: claim, version: None },
            self.letter(&out.name, letter),
        ];
        writes.extend(self.without(&out.name, out.path(), rest, version).0);
        let mut call = session.call(None);
        loop {
            match self.marks.apply(session, &mut call, VERB, &writes).await? {
                Outcome::Refused(0, WireError::NoNode) => {
                    make_claims(session, &mut call, VERB, layout).await?;
                }
                Outcome::Refused(2, WireError::NoNode) => self.make_dead(session).await?,
                Outcome::Applied => {
                    out.over();
                    return Ok(());
                }
                // Claimed and given back since it was read.
                Outcome::Refused(_, WireError::BadVersion) => return Ok(()),
                Outcome::Refused(_, WireError::NoNode | WireError::NodeExists) => {
                    out.lost();
                    return Ok(());
                }
                Outcome::Refused(_, error) => return Err(refusal(error, VERB, &layout.path)),
            }
        }
    }

    /// Puts a dead letter back, in a transaction that is applied once; false when somebody else has it.
    pub(super) async fn revive(&self, session: &Arc<Session>, call: &mut Call, name: &Name) -> Result<bool> {
        let (layout, dead, verb) = (&self.stock.layout, self.stock.layout.dead(), REPLAY);
        let node = path::join(&dead.items, &name.text);
        let (data, stat) = match call.ask(verb, |epoch| epoch.get_data(&node)).await {
            Ok(read) => read,
            Err(failure) if failure.is(&WireError::NoNode) => return Ok(false),
            Err(failure) => return Err(failure.about(verb, &node)),
        };
        let (end, mode) = (dead.again(name, layout), CreateMode::PersistentSequential);
        let item = Write::Create { path: end, data, mode, acl: None };
        let writes = [item, Write::Delete { path: node, version: Some(stat.version) }];
        loop {
            match self.marks.apply(session, call, verb, &writes).await? {
                Outcome::Applied => return Ok(true),
                Outcome::Refused(0, WireError::NoNode) => {
                    make(session, call, verb, &layout.items).await?;
                }
                Outcome::Refused(1, WireError::NoNode | WireError::BadVersion) => return Ok(false),
                Outcome::Refused(_, error) => return Err(refusal(error, verb, &layout.path)),
            }
        }
    }
}
