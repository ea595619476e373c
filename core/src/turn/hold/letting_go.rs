//! Letting go: the turn is passed on to another owner of this client, or our nodes are deleted.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::guarded::GuardedOutcome;
use super::{Hold, Share, Tenure};
use crate::error::{Error, ErrorKind, Result};
use crate::futures::{CompiledOnce, begun};
use crate::mutex::lock;
use crate::session::refusal::refusal;
use crate::session::wire::WireError;
use crate::turn::deletion::Deletion;
use crate::turn::grant::{Grant, OwnNodeWatch};
use crate::turn::session_line::Passed;

const RELEASE: &str = "release";

impl Hold {
    /// One owner lets go of its `share` now; for the last one the future deletes our nodes. ConnectionLost from it means unconfirmed, and
    /// the deletion then goes on in the background, as it does when the future is dropped. An end that is under way is not
    /// overtaken: what is still held when that is over is let go then, in the background.
    pub(crate) fn release(
        self: &Arc<Self>,
        share: &Share,
    ) -> impl Future<Output = Result<()>> + Send + use<> {
        self.release_as(RELEASE, share)
    }

    /// The same by a verb of which errors speak.
    pub(crate) fn release_as(
        self: &Arc<Self>,
        verb: &'static str,
        share: &Share,
    ) -> impl Future<Output = Result<()>> + Send + use<> {
        begun(self.give_way_as(verb, share))
    }

    /// The same as [`Hold::release`], where the caller has to know at once whether it was still held.
    pub(crate) fn give_way(
        self: &Arc<Self>,
        share: &Share,
    ) -> Result<impl Future<Output = Result<()>> + Send + use<>> {
        self.give_way_as(RELEASE, share)
    }

    fn give_way_as(
        self: &Arc<Self>,
        verb: &'static str,
        share: &Share,
    ) -> Result<CompiledOnce<'static, Result<()>>> {
        let goes_later = self.finishing.goes_ahead();
        let deletions = if goes_later {
            self.end_share(share);
            Vec::new()
        } else {
            self.let_go(share)?
        };
        let hold = self.clone();
        Ok(Box::pin(async move {
            let mut result = Ok(());
            for deletion in deletions {
                result = result.and(hold.confirm(verb, deletion).await);
            }
            result
        }))
    }

    async fn confirm(&self, verb: &'static str, mut deletion: Deletion) -> Result<()> {
        let mut call = self.session.call(None);
        let mut is_ambiguous = false;
        loop {
            let sent = deletion.flight.take();
            let flight = sent.unwrap_or_else(|| deletion.again());
            let answer = match call.receive(verb, flight).await {
                Ok(answer) => answer,
                // The client is closing, and the session takes the node with it.
                Err(error) if error.kind() == ErrorKind::Closed => Ok(()),
                Err(error) => return Err(error.with_path(&self.path)),
            };
            match answer {
                // With the session went the node; whether before this or after, nothing is left to release.
                Ok(()) | Err(WireError::SessionEnded) => {}
                Err(WireError::NoNode) if is_ambiguous => {}
                Err(WireError::NoNode) => {
                    deletion.is_confirmed = true;
                    deletion.passed.iter().for_each(Passed::was_gone);
                    let reason = self.deletion_reason();
                    return Err(Error::not_held("its node was deleted by somebody else")
                        .advising(self.nothing_left())
                        .with_reason(reason)
                        .with_path(&self.path));
                }
                Err(WireError::ConnectionLoss) => {
                    deletion.passed.iter().for_each(Passed::is_unanswered);
                    is_ambiguous = true;
                    call.retry_after_loss(verb).await.map_err(|error| error.with_path(&self.path))?;
                    continue;
                }
                Err(WireError::NoAuth) => {
                    deletion.is_confirmed = true;
                    deletion.passed.iter().for_each(Passed::is_refused);
                    deletion.when_allowed();
                    return Err(Error::new(
                        ErrorKind::Denied,
                        "the access list of the path does not let this client delete its own node, which keeps others out \
                         until the client is closed or may delete it: have DELETE granted on the path, or close the client",
                    )
                    .with_path(&self.path));
                }
                Err(error) => return Err(refusal(error, verb, &self.path)),
            }
            deletion.is_confirmed = true;
            return Ok(());
        }
    }

    /// What to do about what is let go and was lost before.
    fn nothing_left(&self) -> &'static str {
        if self.is_claim { "there is nothing to give back" } else { "there is nothing to release" }
    }

    /// Lets go as [`Hold::release`] does, and nobody waits for the deletion.
    pub(crate) fn release_in_background(self: &Arc<Self>, share: &Share) -> Result<()> {
        self.give_way(share).map(drop)
    }

    /// What was asked for with `share` is told no more; false if a loss came first, which is told.
    fn end_share(&self, share: &Share) -> bool {
        let mut inner = lock(&self.inner);
        // Under the lock: a loss changes the tenure first and takes the callbacks then.
        if let Tenure::Lost(_) = self.tenure() {
            return false;
        }
        share.is_let_go.store(true, Ordering::Release);
        let lost: Vec<_> = inner.on_lost.extract_if(.., |asked| asked.share.is_let_go()).collect();
        let asked: Vec<_> = inner.on_revoke.extract_if(.., |asked| asked.share.is_let_go()).collect();
        drop(inner);
        // A callback that owns something of ours may take locks when it goes.
        drop((lost, asked));
        true
    }

    fn let_go(self: &Arc<Self>, share: &Share) -> Result<Vec<Deletion>> {
        let is_last = self.owners.fetch_sub(1, Ordering::AcqRel) == 1;
        // If it is not certainly held any more, it was lost, and there is nothing to release. Or the last owner, who came behind this
        // one, has been faster.
        let is_held = self.is_held();
        let is_let_go =
            if is_last { is_held && self.change(Tenure::Released) } else { self.end_share(share) };
        if !is_let_go {
            let is_lost = matches!(self.tenure(), Tenure::Lost(_));
            let error = self.not_held();
            return Err(if is_lost { error.advising(self.nothing_left()) } else { error });
        }
        if !is_last {
            return Ok(Vec::new());
        }
        if self.pass_on() {
            drop(self.take_loss_callbacks());
            return Ok(Vec::new());
        }
        // The deletions leave, in one flight, before anybody who waits for this handle can queue behind the nodes.
        let guard = self.guard.as_deref();
        let deletions = self.nodes.iter().map(|node| Deletion::begin(&self.server_session, node, guard));
        let mut deletions: Vec<_> = deletions.collect();
        self.leave_lines(&mut deletions);
        drop(self.take_loss_callbacks());
        Ok(deletions)
    }

    /// The next one of this session has the turn before the deletions are answered, unless somebody asked for it, may still
    /// see by our node that we hold, or may yet see a write of ours applied.
    fn leave_lines(&self, deletions: &mut [Deletion]) {
        let mut inner = lock(&self.inner);
        let (positions, is_revoked) = (std::mem::take(&mut inner.positions), inner.is_revoked);
        drop(inner);
        let may_pass = !is_revoked
            && !self.is_named.load(Ordering::Acquire)
            && self.writes.outcome() == GuardedOutcome::Known;
        for position in positions {
            let at = self.nodes.iter().position(|node| position.is_of(node));
            let passed = position.lets_go(may_pass);
            if let Some(deletion) = at.and_then(|at| deletions.get_mut(at)) {
                deletion.passed = Some(passed);
            }
        }
    }

    /// Passes the turn on to another owner of this client, if one waits; false if the nodes are to be deleted.
    fn pass_on(self: &Arc<Self>) -> bool {
        let mut inner = lock(&self.inner);
        let Some(handoff) = inner.handoff.take_if(|handoff| handoff.is_wanted()) else { return false };
        let interests = std::mem::take(&mut inner.interests);
        let (is_revoked, is_watched) = (inner.is_revoked, inner.watches_own_nodes);
        let followers = std::mem::take(&mut inner.followers);
        let positions = std::mem::take(&mut inner.positions);
        drop(inner);
        let outcome = self.writes.outcome();
        if is_revoked || outcome == GuardedOutcome::Unknown {
            // It is not passed on: the owner was asked to let somebody else have it, or a write without an answer could still
            // be applied, which the deletion of the node prevents.
            lock(&self.inner).positions = positions;
            drop((interests, handoff));
            return false;
        }
        let mut grant = Grant::of(self.server_session.clone(), self.nodes.clone(), interests);
        grant.own = followers.into_iter().map(OwnNodeWatch::Followed).collect();
        grant.is_watched = is_watched;
        grant.positions = positions;
        if outcome == GuardedOutcome::Known {
            handoff.pass(grant);
            return true;
        }
        let writes = self.writes.clone();
        self.session.clock().spawn(Box::pin(async move {
            match writes.settled().await {
                GuardedOutcome::Unknown => drop((grant, handoff)),
                _ => handoff.pass(grant),
            }
        }));
        true
    }
}
