//! A queue that is spread over several nodes. A producer goes from one node to the next; a consumer begins at any of
//! them. What is known of one of them is taken without a look at the others. Else it looks and waits at all of them.
//!
//! A node that we may not read does not stop a consumer at the others: it is left out, and its error is told when
//! they have nothing.

use std::sync::Arc;

use futures_util::future::select_all;

use super::Store;
use super::puts::IN_ONE;
use super::stock::Seeking;
use crate::error::{Error, ErrorKind, Result};
use crate::path::PACKET_LIMIT;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::chance;
use crate::session::clock::Later;

/// In how many transactions at most one shard after the other gets some: they are sent at once.
const IN_A_ROW: usize = 4;
/// What an item takes in a packet besides its data, roughly.
const AROUND: usize = 200;

/// What to put into one shard after the other: some transactions each, and what goes into one stays together. One shard is
/// done before the next one gets some, so that who hears of a failure knows which of them went in: the first ones.
pub(super) fn spread(items: Vec<Vec<u8>>, shards: usize) -> Vec<Vec<Vec<u8>>> {
    if shards == 1 {
        return if items.is_empty() { Vec::new() } else { vec![items] };
    }
    let (mut transactions, mut bytes) = (Vec::<Vec<_>>::new(), 0);
    for item in items {
        bytes += item.len() + AROUND;
        match transactions.last_mut().filter(|last| last.len() < IN_ONE && bytes <= PACKET_LIMIT) {
            Some(last) => last.push(item),
            None => {
                bytes = item.len() + AROUND;
                transactions.push(vec![item]);
            }
        }
    }
    let in_a_row = transactions.len().div_ceil(shards).clamp(1, IN_A_ROW);
    transactions.chunks_mut(in_a_row).map(|row| row.iter_mut().flat_map(std::mem::take).collect()).collect()
}

/// What `take` brings about at one of the stores, as soon as one has something.
pub(super) async fn anywhere<T>(
    stores: &[Arc<Store>],
    session: &Arc<Session>,
    mut call: Call,
    verb: &'static str,
    take: impl Fn(Arc<Store>, Call) -> Later<Result<T>>,
) -> Result<T> {
    if let [store] = stores {
        return take(store.clone(), call).await;
    }
    // Whoever finds something at one of them comes again to all of them.
    let mut seeking: Vec<_> = stores.iter().map(|store| store.stock.seek(session)).collect();
    let first = chance::below(stores.len());
    let mut stores: Vec<_> = (0..stores.len()).map(|at| &stores[(first + at) % stores.len()]).collect();
    let mut refused = None;
    loop {
        let mut at = 0;
        while let Some(&store) = stores.get(at) {
            at += 1;
            if !call.is_single_attempt() && store.stock.is_used_up(session) {
                continue;
            }
            match take(store.clone(), call.attempt()).await {
                Err(error) if error.kind() == ErrorKind::Timeout => {}
                Err(error) if is_of_one(&error) => {
                    at -= 1;
                    stores.remove(at);
                    refused = Some(told(error, verb));
                }
                taken => {
                    seeking.iter_mut().filter(|_| taken.is_ok()).for_each(Seeking::found);
                    return taken;
                }
            }
        }
        // What is known of and cannot be taken in time would be found again and again.
        let over = match call.is_single_attempt() {
            true => Some(Error::timeout("no item to take came")),
            false => call.over(),
        };
        if let Some(over) = over {
            return Err(refused.filter(|_| over.kind() == ErrorKind::Timeout).unwrap_or(over));
        }
        if let Some(refused) = refused.take_if(|_| stores.is_empty()) {
            return Err(refused);
        }
        let waits = stores.iter().map(|store| {
            let (store, session, mut call) = (Arc::clone(store), session.clone(), call.beside());
            Box::pin(async move { store.stock.next(&session, &mut call, verb).await })
        });
        let (found, at, others) = select_all(waits).await;
        drop(others);
        match found {
            // Back to its place, from where it is taken.
            Ok(found) => drop(found),
            Err(error) if is_of_one(&error) => {
                stores.remove(at);
                refused = Some(told(error, verb));
                continue;
            }
            Err(error) => match (error.kind(), refused) {
                (ErrorKind::Timeout, Some(refused)) => return Err(refused),
                _ => return Err(error),
            },
        }
        // From here on a broken connection delays us, and only our own deadline ends the wait.
        call.insist();
        stores.rotate_left(at);
    }
}

/// Whether it is about one of the nodes, and not about the call or the connection.
fn is_of_one(error: &Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::Denied | ErrorKind::TooLarge | ErrorKind::Mismatch | ErrorKind::Internal
    )
}

fn told(error: Error, verb: &str) -> Error {
    tracing::warn!(target: "zkrecipes", event = "shard_left_out", path = error.path(), %error, "{verb}: one shard of the queue is left out");
    error
}
