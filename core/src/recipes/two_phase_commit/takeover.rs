//! Taking over the transactions of a coordinator that died. What a site that was started again still has to do is in `site`.

use std::sync::Arc;

use futures_util::future::join_all;

use super::Inner;
use super::coordinator::{CommitTransaction, Hand};
use super::layout::{Header, Layout};
use super::status::names;
use super::transaction::{Transaction, collect, if_there};
use crate::error::Result;
use crate::session::call::{Call, refusal};
use crate::session::wire::{Applied, CreateMode, Stat, WireError, Write};

const RECOVER: &str = "recover";
/// Not so many at once that everybody else waits.
const AT_ONCE: usize = 100;

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
    let taken: Vec<_> = taken.into_iter().map(|(_, transaction)| transaction).collect();
    // Now, and not only in the background: their caller may have nothing else to do and go.
    for some in taken.chunks(AT_ONCE) {
        join_all(some.iter().map(|transaction| transaction.decide_if_due(&session)))
            .await
            .into_iter()
            .collect::<Result<()>>()?;
    }
    taken.iter().for_each(CommitTransaction::attend);
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
    let nodes: Vec<_> = ids.iter().map(|id| layout.transaction(id)).collect();
    let keys = read(call, &nodes).await?;
    let keys = ids.iter().zip(keys).filter_map(|(id, data)| Some(Header::parse(&data?)?.key(id)));
    let keys: Vec<_> = keys.collect();
    let marks: Vec<_> = keys.iter().map(|key| layout.coordinator(key)).collect();
    let owners = read(call, &marks).await?;
    let is_in_question = |owner: &Option<Vec<u8>>| {
        owner.as_ref().is_none_or(|owner| {
            let owner = String::from_utf8_lossy(owner);
            owner == own || !present.iter().any(|name| *name == owner)
        })
    };
    let asked = keys.into_iter().zip(owners).filter(|(_, owner)| is_in_question(owner));
    Ok(asked.map(|(key, _)| key.id).collect())
}

/// What these nodes say, as far as they are there.
async fn read(call: &mut Call, nodes: &[String]) -> Result<Vec<Option<Vec<u8>>>> {
    let mut all = Vec::new();
    for nodes in nodes.chunks(AT_ONCE) {
        let asked = call.ask(RECOVER, |epoch| {
            let flights: Vec<_> = nodes.iter().map(|node| if_there(epoch.get_data(node))).collect();
            async move {
                let mut found = Vec::new();
                for flight in flights {
                    found.push(flight.await?.map(|(data, _)| data));
                }
                Ok(found)
            }
        });
        all.extend(asked.await.map_err(|failure| failure.about(RECOVER, &nodes[0]))?);
    }
    Ok(all)
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
            collect(layout, call, &key).await?;
            return Ok(None);
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
            Err(error) => return Err(refusal(error, RECOVER, &mark)),
        }
    }
}

/// Collects what everybody is done with: who died may have been the last, and not have come to it.
pub(super) async fn sweep(inner: &Arc<Inner>) -> Result<()> {
    let session = inner.client.session()?;
    let (layout, mut call) = (&inner.layout, session.call(None));
    for id in names(&mut call, &layout.transactions()).await? {
        let node = layout.transaction(&id);
        let asked = call.ask(RECOVER, |epoch| if_there(epoch.get_data(&node))).await;
        let found = asked.map_err(|failure| failure.about(RECOVER, &node))?;
        if let Some((data, stat)) = found
            && stat.num_children <= 1
            && let Some(header) = Header::parse(&data)
        {
            collect(layout, &mut call, &header.key(&id)).await?;
        }
    }
    Ok(())
}
