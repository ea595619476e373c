//! Taking over the transactions of a coordinator that died. What a site that was started again still has to do is in `site`.

use std::sync::Arc;

use futures_util::future::join_all;

use super::coordinator::{CommitTransaction, Hand};
use super::layout::{Header, Key, Layout};
use super::nodes::{AT_ONCE, Node, each, is_denied};
use super::status::names;
use super::transaction::{Transaction, collect, if_there};
use super::{Inner, outcomes};
use crate::error::{ErrorKind, Result};
use crate::session::call::{Call, Failure, refusal};
use crate::session::skipped::Flaw;
use crate::session::wire::{Applied, CreateMode, Stat, WireError, Write};

const RECOVER: &str = "recover";

pub(super) async fn recover(inner: &Arc<Inner>) -> Result<Vec<CommitTransaction>> {
    let session = inner.client.session()?;
    let layout = &inner.layout;
    let mut call = session.call(None);
    inner.until_told(&mut call, RECOVER).await?;
    let own = inner.alive(&session, RECOVER).await?;
    let ids = names(&mut call, &layout.transactions()).await?;
    let present = names(&mut call, &layout.coordinators()).await?;
    // Should this end half-way, what is dropped here is ours and in nobody's hand: the next one answers it.
    let mut taken = Vec::new();
    for id in in_question(layout, &mut call, &own, &present, ids).await? {
        let Some((hand, header, stat, mark)) = take_over(inner, &mut call, &id, &own, &present).await? else {
            continue;
        };
        let now = session.now();
        inner.servers_time.shows(mark.mtime, now);
        let deadline = inner.servers_time.deadline(&header, &stat, now);
        let key = header.key(&id);
        let attended = inner.attended(&key.nonce);
        let transaction = attended.unwrap_or_else(|| Arc::new(Transaction::new(key, header, deadline)));
        taken.push((stat.czxid, CommitTransaction::new(hand, transaction, mark.version)));
    }
    taken.sort_by_key(|(czxid, _)| *czxid);
    let mut taken: Vec<_> = taken.into_iter().map(|(_, transaction)| transaction).collect();
    // Now, and not only in the background: their caller may have nothing else to do and go.
    for some in taken.chunks(AT_ONCE) {
        join_all(some.iter().map(|transaction| transaction.decide_if_due(&session)))
            .await
            .into_iter()
            // One that we may not decide stops nobody.
            .filter(|decided| decided.as_ref().err().is_none_or(|error| error.kind() != ErrorKind::Denied))
            .collect::<Result<()>>()?;
    }
    taken.iter().for_each(CommitTransaction::attend);
    // Those that others have taken over, or are done with.
    taken.extend(inner.take_committed());
    if !taken.is_empty() {
        let inner = inner.clone();
        drop(session.clone().errand(async move {
            let mut call = session.call(None).through_closing();
            if let Err(error) = outcomes::sweep(&inner, &session, &mut call).await {
                tracing::debug!(target: "zkrecipes", event = "transaction_untidy", %error, "outcomes that need not be kept any more are left to others");
            }
        }));
    }
    Ok(taken)
}

/// Those that are nobody's who is there, but for us. They are looked at together: mostly there is nothing to do.
async fn in_question(
    layout: &Layout,
    call: &mut Call,
    own: &str,
    present: &[String],
    ids: Vec<String>,
) -> Result<Vec<String>> {
    let keys = readable(layout, call, &ids).await?;
    let marks: Vec<_> = keys.iter().map(|key| layout.coordinator(key)).collect();
    let owners = each(call, RECOVER, &marks).await?;
    let mut asked = Vec::new();
    for ((key, mark), owner) in keys.into_iter().zip(&marks).zip(owners) {
        let is_in_question = match owner {
            Node::Missing => true,
            Node::Told(owner, _) => {
                let owner = String::from_utf8_lossy(&owner);
                owner == own || !present.iter().any(|name| *name == owner)
            }
            Node::Denied => {
                call.session().skip(mark, Flaw::Denied);
                false
            }
        };
        if is_in_question {
            asked.push(key.id);
        }
    }
    Ok(asked)
}

/// The keys of those of these transactions that can be read.
async fn readable(layout: &Layout, call: &mut Call, ids: &[String]) -> Result<Vec<Key>> {
    let nodes: Vec<_> = ids.iter().map(|id| layout.transaction(id)).collect();
    let mut keys = Vec::new();
    for ((id, path), node) in ids.iter().zip(&nodes).zip(each(call, RECOVER, &nodes).await?) {
        match node {
            Node::Missing => {}
            Node::Denied => call.session().skip(path, Flaw::Denied),
            Node::Told(data, _) => match Header::parse(&data) {
                Some(header) => keys.push(header.key(id)),
                None => call.session().skip(path, Flaw::Encoding),
            },
        }
    }
    Ok(keys)
}

/// Writes our name over that of a coordinator that is not there any more. `None`: it is there, or done, or somebody else was
/// first.
async fn take_over(
    inner: &Arc<Inner>,
    call: &mut Call,
    id: &str,
    own: &str,
    present: &[String],
) -> Result<Option<(Hand, Header, Stat, Stat)>> {
    let layout = &inner.layout;
    let node = layout.transaction(id);
    loop {
        let asked = call.ask(RECOVER, |epoch| if_there(epoch.get_data(&node))).await;
        let Some((data, stat)) = asked.map_err(|failure| failure.about(RECOVER, &node))? else {
            return Ok(None);
        };
        let Some(header) = Header::parse(&data) else { return Ok(None) };
        let key = header.key(id);
        let mark = layout.coordinator(&key);
        let asked = call.ask(RECOVER, |epoch| if_there(epoch.get_data(&mark))).await;
        let Some((owner, seen)) = asked.map_err(|failure| failure.about(RECOVER, &mark))? else {
            // Everybody may have been done when the last of them died.
            return match collect(layout, call, &key, &header.sites).await {
                Err(error) if error.kind() != ErrorKind::Denied => Err(error),
                _ => Ok(None),
            };
        };
        let owner = String::from_utf8_lossy(&owner).into_owned();
        if owner == own {
            let hand = inner.take_in_hand(&key.nonce);
            return Ok(hand.map(|hand| (hand, header, stat, seen)));
        }
        if present.contains(&owner) {
            return Ok(None);
        }
        let presence = layout.presence(&owner);
        let writes = [
            // Refused if it is there after all, in a new session or because it came after we had looked.
            Write::Create {
                path: presence.clone(),
                data: Vec::new(),
                mode: CreateMode::Ephemeral,
                acl: None,
            },
            Write::Delete { path: presence, version: None },
            Write::Set { path: mark.clone(), data: own.as_bytes().to_vec(), version: Some(seen.version) },
        ];
        let epoch = call.epoch(RECOVER).await?;
        match call.briefly(RECOVER, epoch.multi(&writes)).await? {
            Ok(applied) => {
                let Some(Applied::Set(written)) = applied.into_iter().nth(2) else { continue };
                let hand = inner.take_in_hand(&key.nonce);
                return Ok(hand.map(|hand| (hand, header, stat, written)));
            }
            Err(WireError::Part { index: 0, error }) if *error == WireError::NodeExists => return Ok(None),
            Err(WireError::Part { index: 2, error })
                if matches!(*error, WireError::BadVersion | WireError::NoNode) => {}
            // Without a coordinator the folder is gone, and ours is about to come back.
            Err(WireError::Part { error, .. }) if *error == WireError::NoNode => {
                call.retry_after_loss(RECOVER).await?;
            }
            Err(error) if error.is_unanswered() => call.retry_after_loss(RECOVER).await?,
            Err(error) if is_denied(&Failure::Refused(error.clone())) => {
                call.session().skip(&mark, Flaw::Denied);
                return Ok(None);
            }
            Err(error) => return Err(refusal(error, RECOVER, &mark)),
        }
    }
}

/// Collects what everybody is done with: who died may have been the last, and not have come to it. And the outcomes that
/// need not be kept any more.
pub(super) async fn sweep(inner: &Arc<Inner>) -> Result<()> {
    let session = inner.client.session()?;
    let (layout, mut call) = (&inner.layout, session.call(None));
    let ids = names(&mut call, &layout.transactions()).await?;
    let nodes: Vec<_> = ids.iter().map(|id| layout.transaction(id)).collect();
    for (id, node) in ids.iter().zip(each(&mut call, RECOVER, &nodes).await?) {
        if let Some((data, stat)) = node.data()
            && stat.num_children <= 1
            && let Some(header) = Header::parse(&data)
        {
            match collect(layout, &mut call, &header.key(id), &header.sites).await {
                Err(error) if error.kind() != ErrorKind::Denied => return Err(error),
                _ => {}
            }
        }
    }
    outcomes::sweep(inner, &session, &mut call).await
}
