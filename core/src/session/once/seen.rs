//! A transaction that means what was seen: it says the names of nodes, and a name may be another node's by the time a request
//! arrives.
//!
//! 1. It leaves on the connection on which they were seen, or not at all: what waits in the transport is bound to that, too.
//! 2. It is never sent again. When its answer gets lost, a transaction that only sets the mark takes its place. That one is
//!    applied, and then the first never will be; or it is refused, since the first was applied, and the mark says so.
//! 3. Whoever wants it all the same looks again.

use std::sync::Arc;

use super::mark::parse;
use super::{AppliedOnce, Marks, Used, beyond, in_doubt};
use crate::error::Result;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::refusal::refusal;
use crate::session::server_session::ConnectionId;
use crate::session::wire::{CreateMode, WireError, Write};

impl Marks {
    /// Applies `writes` in one transaction, at most once, if they still can leave on that connection. `None`: they were not, and
    /// never will be, because it is gone.
    ///
    /// Must not be dropped before it is done: then nobody knows what became of it.
    pub(crate) async fn apply_seen(
        self: &Arc<Self>,
        session: &Arc<Session>,
        call: &mut Call,
        verb: &str,
        writes: &[Write],
        seen_on: ConnectionId,
    ) -> Result<Option<AppliedOnce>> {
        let mut used = self.take(session)?;
        self.apply_seen_with(&mut used, call, verb, writes, seen_on).await
    }

    /// The same with a mark that was taken before. If the outcome is not known, it can be asked for with that mark once more:
    /// see [`Marks::settle`].
    pub(crate) async fn apply_seen_with(
        &self,
        used: &mut Used,
        call: &mut Call,
        verb: &str,
        writes: &[Write],
        seen_on: ConnectionId,
    ) -> Result<Option<AppliedOnce>> {
        let session = used.session.clone();
        loop {
            let server_session = session.server_session();
            if used.mark().made == 0 {
                self.look_at_parent(&session, &server_session, call, verb).await?;
            }
            let mut parts = vec![used.mark().write_once_after(used.mark().made)];
            parts.extend_from_slice(writes);
            let (sent, is_first) = (session.now(), used.mark().made == 0);
            let flight = used.mark().send_on(seen_on, &session, &server_session, &parts)?;
            used.in_flight = Some(sent);
            let answer = call.receive(verb, flight).await?;
            used.in_flight = None;
            match answer {
                Ok(_) => {
                    used.done();
                    return Ok(Some(AppliedOnce::Applied));
                }
                Err(WireError::NotSent) => return Ok(None),
                Err(error) if error.is_unanswered() => {
                    let next = used.mark().made + 1;
                    used.doubt(sent, next);
                    call.retry_after_loss(verb).await.map_err(|error| in_doubt(error, verb))?;
                    let is_applied = self.settle(used, call, verb).await?;
                    return Ok(is_applied.then_some(AppliedOnce::Applied));
                }
                Err(WireError::Part { index: 0, error }) => match *error {
                    WireError::NoNode if is_first => {
                        server_session.forget_deletions_below(&self.parent);
                        call.make_path(verb, &server_session, &self.parent, CreateMode::Container).await?;
                    }
                    // Somebody has touched it. Nothing is in doubt, so another one will do.
                    WireError::NodeExists | WireError::BadVersion | WireError::NoNode => {
                        used.replace(&self.parent);
                    }
                    error => return Err(refusal(error, verb, &self.parent)),
                },
                Err(WireError::Part { index, error }) => {
                    return Ok(Some(AppliedOnce::Refused(index - 1, *error)));
                }
                Err(error) => return Err(refusal(error, verb, &self.parent)),
            }
        }
    }

    /// Whether the transaction was applied that was sent with `used` before, if one was whose answer got lost. If it was not, it
    /// never will be.
    pub(crate) async fn settle(&self, used: &mut Used, call: &mut Call, verb: &str) -> Result<bool> {
        used.doubt_what_was_left();
        if !used.is_in_doubt() {
            return Ok(false);
        }
        self.ask_the_mark(used, call, verb).await.map_err(|error| in_doubt(error, verb))
    }

    async fn ask_the_mark(&self, used: &mut Used, call: &mut Call, verb: &str) -> Result<bool> {
        let session = used.session.clone();
        loop {
            let server_session = call.server_session(verb).await?;
            call.pause_at_most(used.mark().is_asked_after());
            let Ok(()) = used.still_tells(session.now()) else {
                // What may have been deleted by others is not made again. If it stands it tells.
                let synced = call.receive(verb, server_session.sync(&self.parent)).await?;
                if synced.is_ok()
                    && let Some(is_applied) = self.read_the_mark(used, call, verb).await?
                {
                    return Ok(is_applied);
                }
                call.retry_after_loss(verb).await?;
                continue;
            };
            let mark = used.mark();
            let flight = mark.send(&session, &server_session, &[mark.write_nothing()])?;
            match call.receive(verb, flight).await? {
                Ok(_) => {
                    used.done();
                    return Ok(false);
                }
                Err(WireError::Part { index: 0, error }) => match *error {
                    WireError::NoNode if used.mark().made == 0 => {
                        call.make_path(verb, &server_session, &self.parent, CreateMode::Container).await?;
                        continue;
                    }
                    // By the transaction, or by what took its place.
                    WireError::NodeExists | WireError::BadVersion => {
                        if let Some(is_applied) = self.read_the_mark(used, call, verb).await? {
                            return Ok(is_applied);
                        }
                    }
                    WireError::NoNode => return Err(beyond("the node that would tell was deleted")),
                    error => return Err(refusal(error, verb, &self.parent)),
                },
                Err(error) if error.is_unanswered() => {}
                Err(error) => return Err(refusal(error, verb, &self.parent)),
            }
            call.retry_after_loss(verb).await?;
        }
    }

    /// Whether the mark was set by the transaction, or by what took its place; `None` without an answer.
    async fn read_the_mark(&self, used: &mut Used, call: &mut Call, verb: &str) -> Result<Option<bool>> {
        let (server_session, next) = (call.server_session(verb).await?, used.mark().made + 1);
        match call.receive(verb, server_session.get_data(&used.mark().node)).await? {
            Ok((said, _)) => {
                used.done();
                Ok(Some(parse(&said).map(|(made, _)| made) == Some(next)))
            }
            Err(error) if error.is_unanswered() => Ok(None),
            Err(_) => Err(beyond("the node that would tell was deleted")),
        }
    }
}
