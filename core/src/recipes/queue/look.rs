//! Looking at a queue without taking anything. What is seen is no older than the call. What cannot be read is skipped, and the
//! log tells so once.

use std::sync::Arc;

use super::layout::{Layout, Name};
use super::pause::Free;
use super::stock::Stock;
use crate::error::Result;
use crate::path;
use crate::session::Session;
use crate::session::call::{Call, refusal};
use crate::session::epoch::Epoch;
use crate::session::skipped::Flaw;
use crate::session::wire::{Flight, Stat, WireError};

/// How many nodes are read at the same time.
const AT_ONCE: usize = 64;

/// Asks behind a `sync` until it is answered; `None` when there is no such node.
async fn now<T>(
    call: &mut Call,
    verb: &str,
    node: &str,
    request: impl Fn(&Arc<Epoch>) -> Flight<T>,
) -> Result<Option<T>> {
    loop {
        let epoch = call.epoch(verb).await?;
        let link = epoch.link();
        let (sync, answer) = (epoch.sync(node), request(&epoch));
        let synced = call.briefly(verb, sync).await?;
        let answer = call.briefly(verb, answer).await?;
        match synced.and(answer) {
            Ok(answer) if epoch.link() == link => return Ok(Some(answer)),
            Err(WireError::NoNode) if epoch.link() == link => return Ok(None),
            Err(error) if !error.is_unanswered() && error != WireError::NoNode => {
                return Err(refusal(error, verb, node));
            }
            _ => call.retry_after_loss(verb).await?,
        }
    }
}

/// All items, in order.
pub(super) async fn list(layout: &Layout, call: &mut Call, verb: &str) -> Result<Vec<Name>> {
    let names = now(call, verb, &layout.items, |epoch| epoch.children(&layout.items)).await?;
    Ok(layout.sort(&names.unwrap_or_default()))
}

/// How many there are, without listing them.
pub(super) async fn len(layout: &Layout, session: &Arc<Session>) -> Result<usize> {
    let mut call = session.call(None);
    let stat = now(&mut call, "len", &layout.items, |epoch| epoch.exists(&layout.items)).await?.flatten();
    Ok(stat.and_then(|stat| usize::try_from(stat.num_children).ok()).unwrap_or(0))
}

/// The data of all, in order.
pub(super) async fn items(stock: &Stock, session: &Arc<Session>) -> Result<Vec<Vec<u8>>> {
    let (layout, mut call, verb) = (&stock.layout, session.call(None), "items");
    let names = list(layout, &mut call, verb).await?;
    let mut all = Vec::new();
    let visit = |name: &Name, read: Result<(Vec<u8>, Stat)>| {
        let node = path::join(&layout.items, &name.text);
        let Ok((bytes, _)) = read else { return session.skip(&node, Flaw::Denied) };
        let mut rest = Some(bytes);
        while let Some(bytes) = rest {
            let Ok((data, more)) = layout.decode(&bytes) else { return session.skip(&node, Flaw::Encoding) };
            all.push(data);
            rest = more;
        }
    };
    each(layout, &mut call, verb, &names, visit).await?;
    Ok(all)
}

/// Reads one after the other; what is gone meanwhile is left out.
pub(super) async fn each(
    layout: &Layout,
    call: &mut Call,
    verb: &str,
    names: &[Name],
    mut visit: impl FnMut(&Name, Result<(Vec<u8>, Stat)>) + Send,
) -> Result<()> {
    for names in names.chunks(AT_ONCE) {
        let epoch = call.epoch(verb).await?;
        let nodes: Vec<_> = names.iter().map(|name| path::join(&layout.items, &name.text)).collect();
        for ((name, node), flight) in names.iter().zip(&nodes).zip(epoch.get_each(&nodes)) {
            let mut answer = call.briefly(verb, flight).await?;
            while answer.as_ref().is_err_and(WireError::is_unanswered) {
                call.retry_after_loss(verb).await?;
                let epoch = call.epoch(verb).await?;
                answer = call.briefly(verb, epoch.get_data(node)).await?;
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
pub(super) async fn peek(stock: &Stock, session: &Arc<Session>) -> Result<Option<Vec<u8>>> {
    let (layout, verb) = (&stock.layout, "peek");
    let mut call = session.call(None);
    for Free { name, pause } in stock.list(&mut call, verb, true).await? {
        let wall = session.clock().wall();
        if layout.is_early(&name, wall) {
            break;
        }
        if pause.is_some_and(|pause| session.now() < pause.until(session.now(), wall)) {
            continue;
        }
        let node = path::join(&layout.items, &name.text);
        match call.ask(verb, |epoch| epoch.get_data(&node)).await {
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
