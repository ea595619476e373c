//! Taking back what was put for a caller who has gone before it could hear of that.
//!
//! An item of version 0 has never been claimed, so deleting it at that version takes nothing from anybody; where peers claim, making and
//! deleting the node of a claim in the same transaction proves that none does. Numbers are given once, so the deletion
//! can be sent again until it is answered.

use std::sync::Arc;

use futures_util::future::join_all;

use super::puts::make_claims;
use super::stock::Stock;
use crate::error::Result;
use crate::path;
use crate::session::Session;
use crate::session::call::refusal;
use crate::session::wire::{CreateMode, WireError, Write};

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
    pub(super) fn when(self, is_known: impl Future<Output = (Vec<String>, usize)> + Send + 'static) {
        let epoch = self.session.epoch();
        drop(epoch.chore(async move {
            let (nodes, unnamed) = is_known.await;
            let mut left = unnamed;
            for nodes in nodes.chunks(AT_ONCE) {
                for deleted in join_all(nodes.iter().map(|node| self.delete(node))).await {
                    left += usize::from(!deleted);
                }
            }
            if left > 0 {
                let path = &self.stock.layout.path;
                tracing::warn!(
                    event = "put_not_taken_back",
                    path,
                    items = left,
                    "a put was withdrawn, and some of it is in the queue or was taken from it"
                );
            }
        }));
    }

    /// Deletes one item; false if somebody else has it, or nobody knows.
    async fn delete(&self, node: &str) -> bool {
        self.try_to_delete(node).await.unwrap_or_else(|error| {
            tracing::debug!(event = "item_not_taken_back", path = node, %error, "an item that was put for nobody could not be taken back");
            false
        })
    }

    async fn try_to_delete(&self, node: &str) -> Result<bool> {
        let claim = path::join(&self.stock.layout.claims, path::name(node));
        let mut writes = Vec::new();
        if self.stock.layout.has_claims_of_peers {
            let data = self.session.identity().as_bytes().to_vec();
            let (path, mode) = (claim.clone(), CreateMode::Ephemeral);
            writes.push(Write::Create { path, data, mode, acl: None });
            writes.push(Write::Delete { path: claim, version: None });
        }
        let item = writes.len();
        writes.push(Write::Delete { path: node.to_owned(), version: Some(0) });
        let (mut call, mut is_in_doubt) = (self.session.call(None).outlasting(), false);
        loop {
            let epoch = call.epoch(VERB).await?;
            match call.briefly(VERB, epoch.multi(&writes)).await? {
                Ok(_) => return Ok(true),
                Err(error) if error.is_unanswered() => {
                    is_in_doubt = true;
                    call.retry_after_loss(VERB).await?;
                }
                Err(WireError::Part { index, error }) => match *error {
                    WireError::NoNode if index < item => {
                        make_claims(&self.session, &mut call, VERB, &self.stock.layout).await?;
                    }
                    // By ourselves, it may be.
                    WireError::NoNode => return Ok(is_in_doubt),
                    WireError::BadVersion | WireError::NodeExists => return Ok(false),
                    error => return Err(refusal(error, VERB, node)),
                },
                Err(error) => return Err(refusal(error, VERB, node)),
            }
        }
    }
}
