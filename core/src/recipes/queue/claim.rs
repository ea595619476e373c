//! Claiming an item: a node of ours says that we work on it, and goes with our session, so that the next one has it then.
//!
//! The transaction of a claim makes that node and writes the item's data anew, which raises its version: the version is how
//! often it was claimed. When its answer is lost, the node tells by what is written in it.
//!
//! It also ends the pause of an item that was given back, or proves that there is none: see `pause`.
//!
//! Who may not delete the item could never acknowledge it, and who may not delete the claim never give it back. So whether we
//! may is asked once, before the first claim.

use std::sync::Arc;

use super::Store;
use super::item::{Claimed, Item};
use super::puts::make_claims;
use super::stock::{Out, Seen};
use crate::client::Client;
use crate::error::{Error, ErrorKind, LostReason, Result};
use crate::log;
use crate::path;
use crate::recipes::held::Held;
use crate::session::Session;
use crate::session::call::{Call, refusal};
use crate::session::chance;
use crate::session::epoch::{Epoch, Tenant};
use crate::session::wire::{Applied, CreateMode, WireError, Write};
use crate::turn::deletable;
use crate::turn::grant::Grant;
use crate::turn::hold::Hold;
use crate::turn::name::Entry;
use crate::turn::place::Node;

pub(super) const VERB: &str = "claim";

impl Store {
    /// Claims the next item, as soon as there is one.
    pub(super) async fn claim(
        self: &Arc<Self>,
        client: &Client,
        session: Arc<Session>,
        mut call: Call,
    ) -> Result<Item> {
        self.marks.look_after(&session);
        let since = session.now();
        loop {
            let mut out = self.stock.next(&session, &mut call, VERB).await?;
            let Some(seen) = out.read(&mut call, VERB).await? else {
                out.lost();
                continue;
            };
            let alive = self.unless_dead(&session, out, &seen).await?;
            let Some((out, data, rest)) = alive else { continue };
            let attempts = seen.stat.version + 1;
            let Some((grant, out)) = self.win(&session, &mut call, out, seen).await? else {
                continue;
            };
            self.stock.forget_pause(&out.name.text);
            let (node, name, is_over) = (out.path(), out.name.clone(), out.is_over.clone());
            let hold = Hold::begin(session.clone(), &self.stock.layout.path, grant, Some(Box::new(out)));
            // As what was waited for in a line is told: see `waiting`.
            session.counters.acquisitions.one();
            log::acquired(|| hold.tenancy(), session.now().since(since), false);
            if session.is_closing() {
                // Closing has told the loss of everything that was held by then. This one came later.
                hold.lose(LostReason::Closed);
                return Err(Error::closed("client").with_path(&self.stock.layout.path));
            }
            let (store, is_seen) = (self.clone(), Default::default());
            let claimed = Claimed { store, node, name, data, rest, attempts, is_over, is_seen };
            return Ok(Item::new(Held::of(client, hold), claimed));
        }
    }

    /// Sends the transaction of the claim; `None` if somebody else was faster, or the item has to be read again: what is
    /// written leaves on the connection on which it was read, or not at all.
    async fn win(
        &self,
        session: &Arc<Session>,
        call: &mut Call,
        out: Out,
        seen: Seen,
    ) -> Result<Option<(Grant, Out)>> {
        let version = seen.stat.version;
        let node = path::join(&self.stock.layout.claims, &out.name.text);
        let said = format!("{} {}", session.identity(), chance::guid().simple()).into_bytes();
        let mut writes = vec![
            Write::Create { path: node.clone(), data: said.clone(), mode: CreateMode::Ephemeral, acl: None },
            Write::Set { path: out.path(), data: seen.bytes, version: Some(version) },
        ];
        writes.extend(self.stock.layout.end_of_pause(&out.name.text, out.pause.as_deref(), version));
        let guard = Write::Check { path: out.path(), version: Some(version + 1) };
        let epoch = call.epoch(VERB).await?;
        let mut pending = Pending {
            epoch: epoch.clone(),
            node: node.clone(),
            said,
            guard: guard.clone(),
            is_settled: true,
        };
        loop {
            if !self.could_be_settled(session, &epoch, call).await? {
                make_claims(session, call, VERB, &self.stock.layout).await?;
                continue;
            }
            if epoch.connection() != Some(seen.on) {
                return Ok(None);
            }
            pending.is_settled = false;
            let czxid = match call.briefly(VERB, epoch.multi(&writes)).await? {
                Ok(applied) => match applied.into_iter().next() {
                    Some(Applied::Created(created)) => created.czxid,
                    _ => -1,
                },
                Err(WireError::Part { index, error }) => {
                    pending.is_settled = true;
                    match (index, *error) {
                        (0, WireError::NoNode) => {
                            epoch.forget_deletions_below(&self.stock.layout.claims);
                            make_claims(session, call, VERB, &self.stock.layout).await?;
                            continue;
                        }
                        // It is paused, and a new list says until when.
                        (2.., WireError::NoNode | WireError::NodeExists) => {
                            out.lost();
                            return Ok(None);
                        }
                        // Claimed and given back since it was read.
                        (_, WireError::BadVersion) => drop(out),
                        (_, WireError::NoNode | WireError::NodeExists) => out.lost(),
                        (_, error) => return Err(refusal(error, VERB, &self.stock.layout.path)),
                    }
                    self.stock.raced(true, session.now());
                    return Ok(None);
                }
                Err(WireError::SessionEnded) => {
                    pending.is_settled = true;
                    return Ok(None);
                }
                Err(WireError::ConnectionLoss) => match pending.recover(call).await? {
                    Some(czxid) => czxid,
                    // It was not applied, or the session has ended: to be read again, whatever became of it.
                    None => {
                        pending.is_settled = true;
                        return Ok(None);
                    }
                },
                Err(error) => {
                    pending.is_settled = true;
                    return Err(refusal(error, VERB, &self.stock.layout.path));
                }
            };
            pending.is_settled = true;
            self.stock.raced(false, session.now());
            deletable::settle(&epoch, &self.stock.layout.items);
            deletable::settle(&epoch, &self.stock.layout.claims);
            let interest = epoch.interest(&node);
            let node = Node::of(node, Entry::lease(&out.name.text), czxid);
            let mut grant = Grant::of(epoch.clone(), vec![node], vec![interest]);
            // Each claim raises the version of the item.
            grant.guard = Some(Box::new(guard));
            return Ok(grant.becomes_firm(call, VERB).await?.then_some((grant, out)));
        }
    }

    /// Denied if what is claimed could not be acknowledged or given back; false if claims have no parent yet.
    async fn could_be_settled(
        &self,
        session: &Arc<Session>,
        epoch: &Arc<Epoch>,
        call: &mut Call,
    ) -> Result<bool> {
        let layout = &self.stock.layout;
        let of_items = deletable::check(session, epoch, call, VERB, &layout.items).await;
        of_items.map_err(|error| {
            if error.kind() == ErrorKind::Denied { never_done(&layout.items) } else { error }
        })?;
        deletable::check(session, epoch, call, VERB, &layout.claims).await
    }
}

fn never_done(items: &str) -> Error {
    Error::new(
        ErrorKind::Denied,
        "the access list of the path does not let this client delete there: what it claimed could never be acknowledged; \
         have DELETE granted on the path, or connect with credentials (auth) that have it",
    )
    .with_path(items)
}

/// A claim that may or may not have been made. Dropped unsettled, it is deleted if it was.
struct Pending {
    epoch: Arc<Epoch>,
    node: String,
    said: Vec<u8>,
    /// Holds as long as no other claim has the name: see [`Grant::guard`].
    guard: Write,
    is_settled: bool,
}

impl Pending {
    /// After a lost answer: the czxid of the node if it is ours. A quorum write that changes nothing goes ahead of the read:
    /// when it is answered, what was asked before has been decided.
    async fn recover(&self, call: &mut Call) -> Result<Option<i64>> {
        loop {
            if self.epoch.has_ended() {
                return Ok(None);
            }
            let (settled, read) =
                (self.epoch.settle(path::parent(&self.node)), self.epoch.get_data(&self.node));
            let settled = call.briefly(VERB, settled).await?;
            match settled.and(call.briefly(VERB, read).await?) {
                Ok((said, stat)) => {
                    let is_ours = said == self.said && stat.ephemeral_owner as u64 == self.epoch.session_id();
                    return Ok(is_ours.then_some(stat.czxid));
                }
                Err(WireError::NoNode) => return Ok(None),
                Err(error) if error.is_unanswered() => call.retry_after_loss(VERB).await?,
                Err(error) => return Err(refusal(error, VERB, &self.node)),
            }
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.is_settled && self.epoch.process().is_present() {
            let (node, said) = (std::mem::take(&mut self.node), std::mem::take(&mut self.said));
            drop(self.epoch.delete_own_in_background(node, said, self.guard.clone()));
        }
    }
}
