//! Looking at a queue: what is in it and how it stands. It takes nothing, and is no older than the call.

use std::sync::Arc;

use super::layout::{self, ItemName, NodeLayout};
use super::store::Store;
use crate::error::Result;
use crate::path;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::refusal::refusal;
use crate::session::server_session::ServerSession;
use crate::session::skipped_nodes::Flaw;
use crate::session::wire::{Flight, Stat, WireError};

/// How many items a queue has: [`Backlog::stats`](crate::Backlog::stats).
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueueStats {
    /// Those that can be taken now, or have failed for the last time and go to the dead letters next.
    pub ready: usize,
    /// Those that were given back and step aside, or that are not due yet.
    pub delayed: usize,
    /// Those that somebody works on.
    pub claimed: usize,
    /// The dead letters.
    pub dead: usize,
}

/// Counts the items of a store; the dead letters are counted by themselves.
pub(super) async fn count(store: &Store, session: &Arc<Session>, counted: &mut QueueStats) -> Result<()> {
    let (layout, mut call) = (&store.layout, session.call(None).reading());
    let (names, beside, are_items_newer) = store.list_names(&mut call, "stats", true).await?;
    let (now, wall) = (session.now(), session.clock().wall());
    let (free, _) = layout::free(layout, &names, &beside, are_items_newer);
    counted.claimed += layout.sort(&names).len() - free.len();
    for item in free {
        match store.listing.is_paused(&item, now, wall) || layout.is_early(&item.name, wall) {
            true => counted.delayed += 1,
            false => counted.ready += 1,
        }
    }
    Ok(())
}

/// How many nodes are read at the same time.
const READ_AT_ONCE: usize = 64;

/// Asks behind a `sync` until it is answered; `None` when there is no such node.
pub(super) async fn now<T>(
    call: &mut Call,
    verb: &str,
    node: &str,
    request: impl Fn(&Arc<ServerSession>) -> Flight<T>,
) -> Result<Option<T>> {
    loop {
        let server_session = call.server_session(verb).await?;
        let link = server_session.link();
        let (sync, answer) = (server_session.sync(node), request(&server_session));
        let synced = call.receive(verb, sync).await?;
        let answer = call.receive(verb, answer).await?;
        match synced.and(answer) {
            Ok(answer) if server_session.link() == link => return Ok(Some(answer)),
            Err(WireError::NoNode) if server_session.link() == link => return Ok(None),
            Err(error) if !error.is_unanswered() && error != WireError::NoNode => {
                return Err(refusal(error, verb, node));
            }
            _ => call.retry_after_loss(verb).await?,
        }
    }
}

/// What there is of a node.
pub(super) async fn stat(call: &mut Call, verb: &str, node: &str) -> Result<Option<Stat>> {
    now(call, verb, node, |server| server.exists(node)).await.map(Option::flatten)
}

/// All items, in order.
pub(super) async fn list(layout: &NodeLayout, call: &mut Call, verb: &str) -> Result<Vec<ItemName>> {
    let names = now(call, verb, &layout.items, |server| server.children(&layout.items)).await?;
    Ok(layout.sort(&names.unwrap_or_default()))
}

/// How many there are, without listing them.
pub(super) async fn len(layout: &NodeLayout, session: &Arc<Session>) -> Result<usize> {
    let mut call = session.call(None).reading();
    let stat = stat(&mut call, "len", &layout.items).await?;
    Ok(stat.and_then(|stat| usize::try_from(stat.num_children).ok()).unwrap_or(0))
}

/// The data of all, in order.
pub(super) async fn items(layout: &NodeLayout, session: &Arc<Session>) -> Result<Vec<Vec<u8>>> {
    let (mut call, verb) = (session.call(None).reading(), "items");
    let names = list(layout, &mut call, verb).await?;
    let mut all = Vec::new();
    let visit = |name: &ItemName, read: Result<(Vec<u8>, Stat)>| {
        let node = path::join(&layout.items, &name.text);
        let Ok((bytes, _)) = read else { return session.skip(&node, Flaw::Denied) };
        let mut rest = Some(bytes);
        while let Some(bytes) = rest {
            let Ok((data, more)) = layout.decode(&bytes) else { return session.skip(&node, Flaw::Encoding) };
            all.push(data);
            rest = more;
        }
    };
    each(&layout.items, &mut call, verb, &names, visit).await?;
    Ok(all)
}

/// Reads the nodes of these names below `parent`, one after the other; what is gone meanwhile is left out.
pub(super) async fn each(
    parent: &str,
    call: &mut Call,
    verb: &str,
    names: &[ItemName],
    mut visit: impl FnMut(&ItemName, Result<(Vec<u8>, Stat)>) + Send,
) -> Result<()> {
    for names in names.chunks(READ_AT_ONCE) {
        let server_session = call.server_session(verb).await?;
        let nodes: Vec<_> = names.iter().map(|name| path::join(parent, &name.text)).collect();
        for ((name, node), flight) in names.iter().zip(&nodes).zip(server_session.get_each(&nodes)) {
            let mut answer = call.receive(verb, flight).await?;
            while answer.as_ref().is_err_and(WireError::is_unanswered) {
                call.retry_after_loss(verb).await?;
                let server_session = call.server_session(verb).await?;
                answer = call.receive(verb, server_session.get_data(node)).await?;
            }
            match answer {
                // Taken meanwhile.
                Err(WireError::NoNode) => {}
                Err(error @ WireError::NoAuth) => visit(name, Err(refusal(error, verb, node))),
                Err(error) => return Err(refusal(error, verb, node)),
                Ok(read) => visit(name, Ok(read)),
            }
        }
    }
    Ok(())
}

/// The data of the next that could be taken.
pub(super) async fn peek(store: &Store, session: &Arc<Session>) -> Result<Option<Vec<u8>>> {
    let (layout, verb) = (&store.layout, "peek");
    let mut call = session.call(None).reading();
    for item in store.list(&mut call, verb, true).await? {
        let (now, wall) = (session.now(), session.clock().wall());
        if layout.is_early(&item.name, wall) {
            break;
        }
        if store.listing.is_paused(&item, now, wall) {
            continue;
        }
        let node = path::join(&layout.items, &item.name.text);
        match call.ask(verb, |server| server.get_data(&node)).await {
            Ok((bytes, _)) => match layout.decode(&bytes) {
                Ok((data, _)) => return Ok(Some(data)),
                Err(_) => session.skip(&node, Flaw::Encoding),
            },
            Err(failure) if failure.is(&WireError::NoNode) => {}
            Err(failure) if failure.is(&WireError::NoAuth) => session.skip(&node, Flaw::Denied),
            Err(failure) => return Err(failure.about(verb, &node)),
        }
    }
    Ok(None)
}
