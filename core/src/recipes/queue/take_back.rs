//! Taking back what was put for a caller who has gone before it could hear of that.
//!
//! An item of version 0 has never been claimed, so deleting it at that version takes nothing from anybody; where peers claim, making and
//! deleting the node of a claim in the same transaction proves that none does. Before each attempt one looks, on the same
//! connection, whether the node still is the one that was put.

use std::sync::Arc;

use futures_util::future::join_all;

use super::puts::make_claims;
use super::stock::Stock;
use crate::error::Result;
use crate::path;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::wire::{CreateMode, Created, Flight, WireError, Write};

const VERB: &str = "taking back a put";
/// How many are deleted at the same time.
const AT_ONCE: usize = 100;

/// Where something is to be taken back.
pub(super) struct TakeBack {
    pub(super) session: Arc<Session>,
    pub(super) stock: Arc<Stock>,
}

impl TakeBack {
    /// A forked child takes nothing back: it is its parent's.
    pub(super) fn is_present(&self) -> bool {
        self.session.process().is_present()
    }

    /// As soon as it is known which nodes, and how many others of which nobody knows the name. Closing waits for it.
    pub(super) fn when(self, is_known: impl Future<Output = (Vec<Created>, usize)> + Send + 'static) {
        let epoch = self.session.epoch();
        drop(epoch.chore(async move {
            let (nodes, unnamed) = is_known.await;
            let mut left = unnamed;
            for nodes in nodes.chunks(AT_ONCE) {
                left += self.delete(nodes).await.unwrap_or_else(|error| {
                    let path = &self.stock.layout.path;
                    tracing::debug!(target: "zkrecipes", event = "items_not_taken_back", path, %error, "items that were put for nobody could not be taken back");
                    nodes.len()
                });
            }
            if left > 0 {
                let path = &self.stock.layout.path;
                tracing::warn!(
                    target: "zkrecipes",
                    event = "put_not_taken_back",
                    path,
                    items = left,
                    "a put was withdrawn, and some of it is in the queue or was taken from it"
                );
            }
        }));
    }

    /// Deletes these items; answers how many somebody else has, or nobody knows of.
    async fn delete(&self, nodes: &[Created]) -> Result<usize> {
        let (mut call, items) = (self.session.call(None).outlasting(), &self.stock.layout.items);
        let (mut waiting, mut left): (Vec<_>, _) = (nodes.iter().map(|node| (node, false)).collect(), 0);
        while !waiting.is_empty() {
            let (epoch, on) = call.connection(VERB).await?;
            // In one flight. What was sent before is decided when this is.
            let settled = epoch.settle(items);
            let found: Vec<_> = waiting.iter().map(|(node, _)| epoch.exists(&node.path)).collect();
            let settled = call.briefly(VERB, settled).await?;
            let found = settle_all(&mut call, found).await?;
            if epoch.connection() != Some(on) || settled.as_ref().is_err_and(WireError::is_unanswered) {
                call.retry_after_loss(VERB).await?;
                continue;
            }
            let mut deletions = Vec::new();
            for ((node, is_in_doubt), found) in std::mem::take(&mut waiting).into_iter().zip(found) {
                match found {
                    Ok(Some(stat)) if stat.czxid != node.czxid => left += usize::from(!is_in_doubt),
                    Ok(Some(stat)) if stat.version == 0 => {
                        deletions.push((node, epoch.multi(&self.writes(&node.path))));
                    }
                    // By ourselves, it may be.
                    Ok(None) => left += usize::from(!is_in_doubt),
                    Err(error) if error.is_unanswered() => waiting.push((node, is_in_doubt)),
                    Ok(Some(_)) | Err(_) => left += 1,
                }
            }
            let (sent, deletions): (Vec<_>, Vec<_>) = deletions.into_iter().unzip();
            let mut has_no_claims = false;
            for (node, deleted) in sent.into_iter().zip(settle_all(&mut call, deletions).await?) {
                match deleted {
                    Ok(_) => {}
                    Err(error) if error.is_unanswered() => waiting.push((node, true)),
                    Err(WireError::Part { index: 0, error })
                        if *error == WireError::NoNode && self.stock.layout.has_claims_of_peers =>
                    {
                        has_no_claims = true;
                        waiting.push((node, false));
                    }
                    Err(_) => left += 1,
                }
            }
            if has_no_claims {
                make_claims(&self.session, &mut call, VERB, &self.stock.layout).await?;
            } else if !waiting.is_empty() {
                call.retry_after_loss(VERB).await?;
            }
        }
        Ok(left)
    }

    fn writes(&self, node: &str) -> Vec<Write> {
        let mut writes = Vec::new();
        if self.stock.layout.has_claims_of_peers {
            let path = path::join(&self.stock.layout.claims, path::name(node));
            let (data, mode) = (self.session.identity().as_bytes().to_vec(), CreateMode::Ephemeral);
            writes.push(Write::Create { path: path.clone(), data, mode, acl: None });
            writes.push(Write::Delete { path, version: None });
        }
        writes.push(Write::Delete { path: node.to_owned(), version: Some(0) });
        writes
    }
}

/// The answers to all of them.
async fn settle_all<T>(call: &mut Call, flights: Vec<Flight<T>>) -> Result<Vec<Result<T, WireError>>> {
    // The answer is an error of ours, and none of the server's.
    let all = async { Ok(join_all(flights).await) };
    Ok(call.briefly(VERB, all).await?.unwrap_or_default())
}
