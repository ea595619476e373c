//! Ending what is held by the same transaction that writes what it was held for, such as the `ack` of an item. A mark in
//! that transaction tells whether it was applied when its answer is lost: see `session::once`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use tokio::sync::oneshot;

use super::{Hold, Share, Tenure};
use crate::error::{Error, ErrorKind, LostReason, Result};
use crate::mutex::lock;
use crate::path;
use crate::session::call::Call;
use crate::session::once::{AppliedOnce, Marks, Used};
use crate::session::refusal::refusal;
use crate::session::server_session::{ConnectionId, Tenant};
use crate::session::wire::{WireError, Write};

/// What is written at the end.
pub(crate) struct FinalWrites {
    /// What the caller does, for error texts.
    pub(crate) verb: &'static str,
    pub(crate) writes: Vec<Write>,
    /// A node that the writes delete or change at a version of it, before anything else. Refused there, it is somebody else's.
    pub(crate) witness: String,
    /// Tell whether it was applied. That our node is gone does not: somebody may have deleted it, and the next one have
    /// done the same.
    pub(crate) marks: Arc<Marks>,
}

/// An end of which nobody knows whether it was applied, and the mark that tells.
pub(super) struct InDoubt {
    writes: Vec<Write>,
    mark: Used,
}

/// Whether a transaction is under way that deletes our nodes: that they are gone is then no loss until it is answered.
#[derive(Default)]
pub(super) struct Finishing(AtomicU8);

const NOT: u8 = 0;
const UNDER_WAY: u8 = 1;
/// Somebody has found a node of ours gone meanwhile.
const GONE: u8 = 2;
/// Nobody keeps it any more, so it is let go if it is still held then.
const IS_LEFT: u8 = 4;

impl Finishing {
    /// False if one is under way.
    fn begin(&self) -> bool {
        self.0.compare_exchange(NOT, UNDER_WAY, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    fn is_under_way(&self) -> bool {
        self.0.load(Ordering::Acquire) != NOT
    }

    /// Whether it may be why a node of ours is gone. Then that counts when it ends, unless it was why.
    pub(super) fn may_be_why(&self) -> bool {
        self.note(GONE)
    }

    /// Whether it decides first what becomes of what is let go now. Then that is let go when it ends, unless it was applied.
    pub(super) fn goes_ahead(&self) -> bool {
        self.note(IS_LEFT)
    }

    /// False if none is under way.
    fn note(&self, what: u8) -> bool {
        let noted = |was: u8| (was != NOT).then_some(was | what);
        self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, noted).is_ok()
    }

    /// Answers what was noted meanwhile.
    fn end(&self) -> u8 {
        self.0.swap(NOT, Ordering::AcqRel)
    }
}

impl Hold {
    /// Writes and lets go in one transaction, which the server refuses once our node is gone: NotHeld. Other refusals leave
    /// it held. `then` is called when it was applied, before anything is told. What is on its way goes on when the future is
    /// dropped.
    pub(crate) async fn finish(
        self: &Arc<Self>,
        ending: FinalWrites,
        then: impl FnOnce() + Send + 'static,
    ) -> Result<()> {
        // One that is in doubt may have been applied, also when what was held is gone.
        let is_open = self.is_held() || self.is_in_doubt(&ending.writes);
        if !is_open || !self.finishing.begin() {
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
                drop(hold.take_loss_callbacks());
            }
            let noted = hold.finishing.end();
            if noted & GONE != 0 {
                // Whoever found it will not tell it again.
                hold.lose(LostReason::Deleted);
            }
            if noted & IS_LEFT != 0 {
                // An error says that there is nothing to let go any more. The share of who left it has ended.
                let _ = hold.release_in_background(&Share::default());
            }
            let _ = answer.send(result);
        }));
        answered.await.unwrap_or_else(|_| Err(Error::connection_lost("the end of what was held")))
    }

    /// Whether an end is under way.
    pub(crate) fn is_finishing(&self) -> bool {
        self.finishing.is_under_way()
    }

    fn is_in_doubt(&self, writes: &[Write]) -> bool {
        lock(&self.inner).in_doubt.iter().any(|before| before.writes == writes)
    }

    async fn apply_ending(self: &Arc<Self>, ending: &FinalWrites) -> Result<()> {
        let own = self.nodes.len();
        let mut parts = self.checks_by_name();
        parts.extend_from_slice(&ending.writes);
        parts.extend(self.nodes.iter().map(|node| Write::Delete { path: node.path.clone(), version: None }));
        let before = {
            let in_doubt = &mut lock(&self.inner).in_doubt;
            let at = in_doubt.iter().position(|before| before.writes == ending.writes);
            at.map(|at| in_doubt.swap_remove(at).mark)
        };
        let mut mark = before.map_or_else(|| ending.marks.take(&self.session), Ok)?;
        let applied = self.apply_once(ending, &mut mark, &parts).await;
        if mark.is_unsettled() {
            let writes = ending.writes.clone();
            lock(&self.inner).in_doubt.push(InDoubt { writes, mark });
        }
        let (index, error) = match applied? {
            AppliedOnce::Applied => return Ok(()),
            AppliedOnce::Refused(index, error) => (index, error),
        };
        let about = parts.get(index).map_or(&*self.path, Write::path);
        let is_changed =
            matches!(error, WireError::NoNode | WireError::BadVersion) && about == ending.witness;
        if !is_changed && (index >= own || error != WireError::NoNode) {
            // It is ours, so nothing that was sent before was applied.
            let settled = std::mem::take(&mut lock(&self.inner).in_doubt);
            drop(settled);
            if error == WireError::NoAuth
                && let Some(Write::Delete { path, .. }) = parts.get(index)
            {
                self.server_session.set_may_delete_below(path::parent(path).to_owned(), false);
            }
            return Err(refusal(error, ending.verb, about));
        }
        if !lock(&self.inner).in_doubt.is_empty() {
            // By another end of ours, or by somebody else.
            self.change(Tenure::Released);
            drop(self.take_loss_callbacks());
            return Err(unknown(ending.verb));
        }
        self.finishing.end();
        self.lose(LostReason::Deleted);
        Err(self.not_held())
    }
}

impl Hold {
    /// Each attempt means our nodes as they were seen to stand: the names may be others' later.
    async fn apply_once(
        &self,
        ending: &FinalWrites,
        mark: &mut Used,
        parts: &[Write],
    ) -> Result<AppliedOnce> {
        let (mut call, verb) = (self.session.call(None), ending.verb);
        let mut seen_on =
            self.began_on.filter(|on| !mark.is_unsettled() && self.server_session.connection() == Some(*on));
        if ending.marks.settle(mark, &mut call, verb).await? {
            return Ok(AppliedOnce::Applied);
        }
        loop {
            if let Some(seen_on) = seen_on
                && let Some(outcome) =
                    ending.marks.apply_seen_with(mark, &mut call, verb, parts, seen_on).await?
            {
                return Ok(outcome);
            }
            seen_on = self.connection_where_nodes_stand(&mut call, verb).await?;
            if seen_on.is_none() {
                return Ok(AppliedOnce::Refused(0, WireError::NoNode));
            }
        }
    }

    /// On which connection all our nodes were seen to stand, just now; `None` if one of them is gone.
    async fn connection_where_nodes_stand(
        &self,
        call: &mut Call,
        verb: &str,
    ) -> Result<Option<ConnectionId>> {
        loop {
            let (server_session, on) = call.connection(verb).await?;
            if !Arc::ptr_eq(&server_session, &self.server_session) {
                return Ok(None);
            }
            // In one flight. What was sent before is decided when the first is answered.
            let settled = server_session.settle(path::parent(&self.nodes[0].path));
            let found: Vec<_> = self.nodes.iter().map(|node| server_session.exists(&node.path)).collect();
            let (mut answer, mut stand) = (call.receive(verb, settled).await?, true);
            for (node, found) in self.nodes.iter().zip(found) {
                let found = call.receive(verb, found).await?;
                stand &= found.as_ref().is_ok_and(|stat| stat.is_some_and(|stat| stat.czxid == node.czxid));
                answer = answer.and(found.map(drop));
            }
            match answer {
                Ok(()) if server_session.connection() == Some(on) => return Ok(stand.then_some(on)),
                Err(WireError::NoNode) => return Ok(None),
                Err(error) if !error.is_unanswered() => return Err(refusal(error, verb, &self.path)),
                _ => call.retry_after_loss(verb).await?,
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
