//! Dead letters: items that were claimed as often as is allowed. They are a queue of their own, beside that which they
//! come from, with the same names, so that they can be put back as what they were. What a letter keeps besides is in `letter`.

use std::sync::Arc;

use super::Store;
use super::layout::Name;
use super::letter::{DeadLetter, Obituary, opened, sealed};
use super::look;
use super::puts::{make_claims, make_items};
use super::stock::{Out, Seen, Stock};
use crate::error::{ErrorKind, Result};
use crate::path;
use crate::session::Session;
use crate::session::call::{Call, refusal};
use crate::session::once::Outcome;
use crate::session::skipped::Flaw;
use crate::session::wire::{CreateMode, WireError, Write};

const VERB: &str = "moving an item to the dead letters";
pub(super) const REPLAY: &str = "replay";
const UNSETTLED: &str = "whoever claimed it last neither acknowledged it nor gave it back";
const UNREADABLE: &str = "its data is not in the encoding of this queue";

impl Store {
    /// Whether an item of this version has been claimed as often as is allowed.
    pub(super) fn is_spent(&self, version: i32) -> bool {
        let most = self.options.max_attempts;
        most > 0 && u32::try_from(version).is_ok_and(|version| version >= most)
    }

    /// What makes a dead letter of an item, and the same without what does not fit into a packet with its data.
    pub(super) fn letters(&self, name: &Name, obituary: Obituary, data: &[u8]) -> [Write; 3] {
        let layout = &self.stock.layout;
        let without_reason = Obituary { reason: None, ..obituary };
        [sealed(&obituary, data), sealed(&without_reason, data), data.to_vec()].map(|data| {
            let path = layout.again(name, &layout.dead());
            Write::Create { path, data, mode: CreateMode::PersistentSequential, acl: None }
        })
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
        let (bytes, version) = (&*seen.bytes, seen.stat.version);
        let (reason, data, rest) = match self.stock.layout.decode(bytes) {
            Ok((data, rest)) if !self.is_spent(version) => return Ok(Some((out, data, rest))),
            Err(_) if self.options.max_attempts == 0 => {
                session.skip(&out.path(), Flaw::Encoding);
                out.spoilt();
                return Ok(None);
            }
            Ok((data, Some(rest))) => (UNSETTLED, self.stock.layout.encode(&data), Some(rest)),
            Ok((_, None)) => (UNSETTLED, bytes.to_vec(), None),
            Err(_) => (UNREADABLE, bytes.to_vec(), None),
        };
        let obituary = Obituary { attempts: version as u32, reason: Some(reason.to_owned()) };
        let node = out.path();
        // It stands in nobody's way also where nobody can move it.
        let name = out.name.text.clone();
        match self.bury(session, out, obituary, &data, rest, seen).await {
            Err(error)
                if matches!(error.kind(), ErrorKind::Denied | ErrorKind::TooLarge | ErrorKind::Invalid) =>
            {
                let path = &self.stock.layout.path;
                self.stock.sets_aside(name);
                tracing::warn!(target: "zkrecipes", event = "item_not_buried", path, node, %error, "an item that is over cannot go to the dead letters, and is skipped");
            }
            buried => buried?,
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
            Some(data) if self.options.max_attempts == 0 => (vec![Write::Set { path, data, version }], false),
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
        obituary: Obituary,
        data: &[u8],
        rest: Option<Vec<u8>>,
        seen: &Seen,
    ) -> Result<()> {
        let layout = &self.stock.layout;
        let mut letters = self.letters(&out.name, obituary, data).into_iter();
        let claim = path::join(&layout.claims, &out.name.text);
        let identity = session.identity().as_bytes().to_vec();
        let mut writes = vec![
            Write::Create { path: claim.clone(), data: identity, mode: CreateMode::Ephemeral, acl: None },
            Write::Delete { path: claim, version: None },
        ];
        writes.extend(letters.next());
        writes.extend(self.without(&out.name, out.path(), rest, seen.stat.version).0);
        writes.extend(layout.end_of_pause(&out.name.text, out.pause.as_deref(), seen.stat.version));
        let mut call = session.call(None);
        loop {
            let outcome = match self.marks.apply_seen(session, &mut call, VERB, &writes, seen.on).await {
                Err(error) if error.kind() == ErrorKind::TooLarge => match letters.next() {
                    Some(shorter) => {
                        writes[2] = shorter;
                        continue;
                    }
                    None => return Err(error),
                },
                outcome => outcome?,
            };
            match outcome {
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
            let item = Write::Create { path: end, data: opened(&data).1.to_vec(), mode, acl: None };
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

/// All dead letters, in order; also those that cannot be read, which say so.
pub(super) async fn letters(stock: &Stock, session: &Arc<Session>) -> Result<Vec<DeadLetter>> {
    let (layout, mut call, verb) = (&stock.layout, session.call(None), "items");
    let names = look::list(layout, &mut call, verb).await?;
    let mut letters = Vec::new();
    look::each(layout, &mut call, verb, &names, |name, read| {
        let node = path::join(&layout.items, &name.text);
        let (letter, problem) = match read {
            Ok((bytes, stat)) => {
                let mut letter = DeadLetter::new(&name.text, &bytes, &stat);
                let decoded = layout.decode(&bytes).map(|(data, _)| letter.data = data);
                if decoded.is_err() {
                    session.skip(&node, Flaw::Encoding);
                }
                (letter, decoded.err())
            }
            Err(error) => {
                session.skip(&node, Flaw::Denied);
                (DeadLetter::unread(&name.text), Some(error))
            }
        };
        letters.push(DeadLetter { problem: problem.map(|error| error.to_string()), ..letter });
    })
    .await?;
    Ok(letters)
}
