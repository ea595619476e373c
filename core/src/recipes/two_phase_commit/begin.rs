//! Beginning a transaction.
//!
//! 1. It is one write, and so is there as a whole or not at all. In the same session a lost answer is easily resolved:
//!    if the write was applied, its node stands, because nobody takes over from a coordinator that is there.
//! 2. The write depends on a node of the session. In another session that node is deleted first: then what was asked
//!    in the earlier one has been applied, or never will be. It was applied if its node stands, or if the coordinator
//!    that took it over has noted it.
//! 3. A transaction whose caller gives up is withdrawn: an errand decides the abort, as soon as it is certain that the
//!    transaction stands.

use std::sync::Arc;
use std::time::Duration;

use super::coordinator::{CommitTransaction, Hand};
use super::layout::{Decision, Header, Key, Layout, Taken};
use super::site::check;
use super::transaction::{Transaction, collect, create, decide, if_there};
use super::{Inner, Outcome};
use crate::error::{Error, Result};
use crate::session::Session;
use crate::session::call::{Call, Failure, refusal};
use crate::session::chance;
use crate::session::epoch::Epoch;
use crate::session::open_parents;
use crate::session::wire::{Stat, WireError, Write};

const BEGIN: &str = "begin";

pub(super) async fn begin(
    inner: &Arc<Inner>,
    id: &str,
    sites: &[&str],
    payload: &[u8],
    timeout: Duration,
) -> Result<CommitTransaction> {
    let layout = &inner.layout;
    check(layout, "id", id)?;
    check_sites(layout, sites)?;
    if timeout.is_zero() {
        return Err(Error::invalid("timeout", "is zero, so that nobody could vote"));
    }
    let session = inner.client.session()?;
    let mut call = session.call(None);
    inner.until_told(&mut call, BEGIN).await?;
    let coordinator = inner.alive(&session, BEGIN).await?;
    let key = Key::new(id, chance::guid());
    let header = Header {
        mode: inner.mode,
        timeout,
        nonce: key.nonce.clone(),
        sites: sites.iter().map(|site| (*site).to_owned()).collect(),
        payload: payload.to_vec(),
    };
    let Some(hand) = inner.take_in_hand(&key.nonce) else { unreachable!("nobody else has that nonce") };
    let beginning =
        Beginning { inner: inner.clone(), session, coordinator, key, header, asked: None, hand: Some(hand) };
    beginning.write(&mut call).await
}

fn check_sites(layout: &Layout, sites: &[&str]) -> Result<()> {
    if sites.is_empty() {
        return Err(Error::invalid("sites", "are none; name those who vote"));
    }
    for (n, site) in sites.iter().enumerate() {
        check(layout, "sites", site)?;
        if sites[..n].contains(site) {
            return Err(Error::invalid("sites", format!("{site} is named twice")));
        }
    }
    Ok(())
}

/// A transaction on its way. Given up, it is withdrawn.
struct Beginning {
    inner: Arc<Inner>,
    session: Arc<Session>,
    coordinator: String,
    key: Key,
    header: Header,
    /// In which session an attempt was made of which nobody knows what came, and the node on which it depends.
    asked: Option<Asked>,
    /// There until it is begun or withdrawn.
    hand: Option<Hand>,
}

#[derive(Clone)]
struct Asked {
    session: u64,
    depends_on: String,
}

/// What is found of it in another session.
enum Found {
    Standing(Stat),
    Over(Outcome),
    Nothing,
}

impl Beginning {
    async fn write(mut self, call: &mut Call) -> Result<CommitTransaction> {
        let node = self.inner.layout.transaction(&self.key.id);
        loop {
            let epoch = call.epoch(BEGIN).await?;
            open_parents::look(&self.session, &epoch, call, BEGIN, &self.inner.layout.transactions()).await?;
            if let Some(asked) = self.asked.clone().filter(|asked| asked.session != epoch.session_id()) {
                match find(&self.inner.layout, call, &self.key, &asked).await? {
                    Found::Standing(stat) => return Ok(self.begun(Some(stat), None)),
                    Found::Over(outcome) => return Ok(self.begun(None, Some(outcome))),
                    Found::Nothing => self.asked = None,
                }
                continue;
            }
            let Some(depends_on) = self.inner.session_node(&epoch, call, BEGIN).await? else { continue };
            let writes = self.writes(&depends_on);
            let before = self.asked.replace(Asked { session: epoch.session_id(), depends_on });
            match call.briefly(BEGIN, epoch.multi(&writes)).await? {
                Ok(_) => return Ok(self.begun(None, None)),
                Err(error) if error.is_unanswered() => call.retry_after_loss(BEGIN).await?,
                Err(WireError::Part { index, error }) if *error == WireError::NoNode => {
                    self.asked = before;
                    match index {
                        // Ours, and they come back.
                        0 | 1 => {
                            self.inner.forget_session_node().await;
                            call.retry_after_loss(BEGIN).await?;
                        }
                        _ => self.prepare(&epoch, call).await?,
                    }
                }
                Err(WireError::Part { index, error }) if *error == WireError::NodeExists => {
                    let ours = match before {
                        Some(_) => stands(&self.inner.layout, call, &self.key).await?,
                        None => None,
                    };
                    if let Some(stat) = ours {
                        return Ok(self.begun(Some(stat), None));
                    }
                    self.asked = None;
                    return Err(refusal(WireError::NodeExists, BEGIN, writes[index].path()));
                }
                Err(error) => {
                    self.asked = before;
                    return Err(refusal(error, BEGIN, &node));
                }
            }
        }
    }

    fn writes(&self, depends_on: &str) -> Vec<Write> {
        let (layout, key) = (&self.inner.layout, &self.key);
        let check = |path: String| Write::Check { path, version: None };
        let mut writes = vec![
            check(depends_on.to_owned()),
            // Or somebody takes it over at once.
            check(layout.presence(&self.coordinator)),
            create(layout.transaction(&key.id), self.header.encode()),
            create(layout.open(key), Vec::new()),
            create(layout.coordinator(key), self.coordinator.as_bytes().to_vec()),
        ];
        writes.extend(self.header.sites.iter().map(|site| create(layout.entry(site, key), Vec::new())));
        writes
    }

    /// It is the caller's from now on.
    fn begun(mut self, stat: Option<Stat>, known: Option<Outcome>) -> CommitTransaction {
        self.asked = None;
        let now = self.session.now();
        let deadline = stat.map_or(now + self.header.timeout, |stat| {
            self.inner.servers_time.deadline(&self.header, &stat, now)
        });
        let transaction = Transaction::new(self.key.clone(), self.header.clone(), deadline);
        if let Some(outcome) = known {
            transaction.known.get_or_init(|| outcome);
        }
        let Some(hand) = self.hand.take() else { unreachable!("it is begun once") };
        CommitTransaction::new(hand, Arc::new(transaction), 0)
    }

    async fn prepare(&self, epoch: &Arc<Epoch>, call: &mut Call) -> Result<()> {
        let (layout, parents) = (&self.inner.layout, self.session.parents());
        let inboxes = self.header.sites.iter().map(|site| layout.inbox(site));
        for folder in std::iter::once(layout.transactions()).chain(inboxes) {
            match call.briefly(BEGIN, self.session.ensure(epoch, &folder, parents)).await? {
                Err(error) if error.is_unanswered() => return call.retry_after_loss(BEGIN).await,
                made => made.map_err(|error| refusal(error, BEGIN, &folder))?,
            }
        }
        Ok(())
    }
}

impl Drop for Beginning {
    fn drop(&mut self) {
        // A forked child has no session.
        let Some(asked) = self.asked.take().filter(|_| self.session.process().is_present()) else { return };
        let (inner, session, key, hand) =
            (self.inner.clone(), self.session.clone(), self.key.clone(), self.hand.take());
        drop(self.session.errand(async move {
            if let Err(error) = withdraw(&inner, &session, &key, asked).await {
                tracing::warn!(target: "zkrecipes", event = "transaction_left", id = key.id, %error, "a transaction that was given up is left to `recover`");
            }
            drop(hand);
        }));
    }
}

/// The node of the transaction, if it stands.
async fn stands(layout: &Layout, call: &mut Call, key: &Key) -> Result<Option<Stat>> {
    let node = layout.transaction(&key.id);
    let asked = call.ask(BEGIN, |epoch| if_there(epoch.get_data(&node))).await;
    let found = asked.map_err(|failure| failure.about(BEGIN, &node))?;
    let is_ours = |data: &[u8]| Header::parse(data).is_some_and(|found| found.nonce == key.nonce);
    Ok(found.filter(|(data, _)| is_ours(data)).map(|(_, stat)| stat))
}

/// What came of an attempt that was made in another session.
async fn find(layout: &Layout, call: &mut Call, key: &Key, asked: &Asked) -> Result<Found> {
    let node = &asked.depends_on;
    // What is read behind it is not older: the server has answered it in turn.
    match call.ask(BEGIN, |epoch| epoch.delete(node, None)).await {
        Ok(()) | Err(Failure::Refused(WireError::NoNode)) => {}
        Err(failure) => return Err(failure.about(BEGIN, node)),
    }
    if let Some(stat) = stands(layout, call, key).await? {
        return Ok(Found::Standing(stat));
    }
    let folder = layout.coordinators();
    let asked = call.ask(BEGIN, |epoch| if_there(epoch.get_data(&folder))).await;
    let noted = asked.map_err(|failure| failure.about(BEGIN, &folder))?;
    let outcome = noted.and_then(|(data, _)| Taken::parse(&data).outcome(key));
    Ok(outcome.map_or(Found::Nothing, Found::Over))
}

/// What may have begun is aborted, so that no site waits for its deadline, and nobody commits it.
async fn withdraw(inner: &Arc<Inner>, session: &Arc<Session>, key: &Key, asked: Asked) -> Result<()> {
    let layout = &inner.layout;
    let mut call = session.call(None).outlasting();
    loop {
        let epoch = call.epoch(BEGIN).await?;
        let found = match epoch.session_id() == asked.session {
            // What was asked before in this session has been decided when this is answered.
            true => match call.briefly(BEGIN, epoch.settle(&layout.root)).await? {
                Err(error) if error.is_unanswered() => None,
                _ => Some(stands(layout, &mut call, key).await?),
            },
            false => match find(layout, &mut call, key, &asked).await? {
                Found::Standing(stat) => Some(Some(stat)),
                Found::Over(_) | Found::Nothing => Some(None),
            },
        };
        match found {
            None => call.retry_after_loss(BEGIN).await?,
            Some(None) => return Ok(()),
            Some(Some(_)) => break,
        }
    }
    undo(layout, &mut call, key).await
}

/// Aborts what began, unless something is decided, and is done with it.
pub(super) async fn undo(layout: &Layout, call: &mut Call, key: &Key) -> Result<()> {
    let mark = layout.coordinator(key);
    let ours = Write::Delete { path: mark.clone(), version: Some(0) };
    let why = || Decision::abort("begin was given up");
    if decide(layout, call, key, why(), vec![ours]).await?.is_none() {
        // Somebody has taken it over.
        decide(layout, call, key, why(), Vec::new()).await?;
    }
    // Where it was decided before, the mark is there.
    match call.ask(BEGIN, |epoch| epoch.delete(&mark, Some(0))).await {
        Ok(()) | Err(Failure::Refused(WireError::NoNode | WireError::BadVersion)) => {}
        Err(failure) => return Err(failure.about(BEGIN, &mark)),
    }
    collect(layout, call, key).await
}
