//! Ending what is held by the same transaction that writes what it was held for.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use tokio::sync::oneshot;

use super::{Hold, Tenure, lock};
use crate::error::{Error, ErrorKind, LostReason, Result};
use crate::session::call::{Call, refusal};
use crate::session::epoch::Tenant;
use crate::session::wire::{WireError, Write};

/// What is written at the end.
pub(crate) struct Ending {
    /// What the caller does, for error texts.
    pub(crate) verb: &'static str,
    pub(crate) writes: Vec<Write>,
    /// A node that the writes delete or change for good, so that it tells whether they were applied, as long as our node
    /// kept everybody else from doing so.
    pub(crate) witness: String,
    /// The version of the witness before, if it gets another one; else it goes.
    pub(crate) version: Option<i32>,
}

impl Hold {
    /// Writes and lets go in one transaction, which the server refuses once our node is gone: NotHeld. Other refusals leave
    /// it held. `then` is called when it was applied, before anything is told. What is on its way goes on when the future is
    /// dropped.
    pub(crate) async fn finish(
        self: &Arc<Self>,
        ending: Ending,
        then: impl FnOnce() + Send + 'static,
    ) -> Result<()> {
        if !self.is_held() || self.is_finishing.swap(true, Ordering::AcqRel) {
            return Err(self.not_held());
        }
        let (answer, answered) = oneshot::channel();
        let hold = self.clone();
        // In a task of its own: the caller may stop waiting, and the transaction is settled all the same.
        self.session.clock().spawn(Box::pin(async move {
            let result = hold.apply_ending(&ending).await.map_err(|error| error.with_path(&hold.path));
            if result.is_ok() {
                then();
                hold.change(Tenure::Released);
                drop(hold.wind_up());
            }
            hold.is_finishing.store(false, Ordering::Release);
            let _ = answer.send(result);
        }));
        answered.await.unwrap_or_else(|_| Err(Error::connection_lost("the end of what was held")))
    }

    async fn apply_ending(self: &Arc<Self>, ending: &Ending) -> Result<()> {
        let own = self.nodes.len();
        let mut parts = self.checks();
        parts.extend_from_slice(&ending.writes);
        parts.extend(self.nodes.iter().map(|node| Write::Delete { path: node.path.clone(), version: None }));
        let mut call = self.session.call(None);
        loop {
            let answer = call.briefly(ending.verb, self.epoch.multi(&parts)).await;
            if !matches!(&answer, Ok(answer) if !answer.as_ref().is_err_and(WireError::is_unanswered)) {
                lock(&self.inner).in_doubt.get_or_insert_with(|| ending.writes.clone());
            }
            match answer? {
                Ok(_) => return Ok(()),
                Err(WireError::Part { index, error }) if index < own && *error == WireError::NoNode => {
                    return self.find_out(&mut call, ending).await;
                }
                Err(WireError::Part { index, error }) => {
                    // Our nodes stand, so nothing that was sent before was applied.
                    lock(&self.inner).in_doubt = None;
                    let path = parts.get(index).map_or(&*self.path, Write::path);
                    if matches!(*error, WireError::NoNode | WireError::BadVersion) && path == ending.witness {
                        let _ = self.release_in_background();
                        return Err(Error::not_held("somebody has removed it who does not heed claims"));
                    }
                    return Err(refusal(*error, ending.verb, path));
                }
                Err(WireError::ConnectionLoss) => call.retry_after_loss(ending.verb).await?,
                Err(WireError::SessionEnded) => {
                    if self.was_applied(&mut call, ending).await? == Some(false) {
                        self.lose(LostReason::Session);
                        return Err(self.not_held());
                    }
                    return Err(unknown(ending.verb));
                }
                Err(error) => return Err(refusal(error, ending.verb, &self.path)),
            }
        }
    }

    /// Our node is gone: by what we have sent before, or by somebody else.
    async fn find_out(self: &Arc<Self>, call: &mut Call, ending: &Ending) -> Result<()> {
        let sent = lock(&self.inner).in_doubt.clone();
        let applied = match &sent {
            Some(_) => self.was_applied(call, ending).await?,
            None => Some(false),
        };
        match applied {
            // Nobody else could, as long as we ourselves have not deleted our node for a loss.
            Some(true) if sent.as_ref() == Some(&ending.writes) && self.tenure() == Tenure::Held => Ok(()),
            Some(false) => {
                self.is_finishing.store(false, Ordering::Release);
                self.lose(LostReason::Deleted);
                Err(self.not_held())
            }
            _ => {
                self.change(Tenure::Released);
                drop(self.wind_up());
                Err(unknown(ending.verb))
            }
        }
    }

    /// Whether the witness says so, seen no earlier than now; `None` when somebody else may have changed it.
    async fn was_applied(&self, call: &mut Call, ending: &Ending) -> Result<Option<bool>> {
        loop {
            let epoch = call.epoch(ending.verb).await?;
            let link = epoch.link();
            let (synced, seen) = (epoch.settle(&ending.witness), epoch.exists(&ending.witness));
            let synced = call.briefly(ending.verb, synced).await?;
            let seen = call.briefly(ending.verb, seen).await?;
            let is_missing = matches!(synced, Err(WireError::NoNode));
            match (synced, seen) {
                _ if is_missing => return Ok(ending.version.is_none().then_some(true)),
                (Ok(()), Ok(seen)) if epoch.link() == link => {
                    return Ok(match (seen, ending.version) {
                        (Some(stat), Some(before)) => (stat.version == before).then_some(false),
                        (None, Some(_)) => None,
                        (seen, None) => Some(seen.is_none()),
                    });
                }
                (Err(error), _) | (_, Err(error)) if !error.is_unanswered() => {
                    return Err(refusal(error, ending.verb, &ending.witness));
                }
                _ => call.retry_after_loss(ending.verb).await?,
            }
        }
    }
}

fn unknown(verb: &str) -> Error {
    Error::new(
        ErrorKind::ConnectionLost,
        format!(
            "whether the {verb} was applied cannot be known: its answer got lost, and what was held is gone; it may have been \
             applied, or somebody else came next"
        ),
    )
}
