//! Taking turns: guarded sequential nodes, their order, and waiting for one's turn.
//!
//! Enter (create and list in one flight); the first in order has the turn. Who stands behind another one of the same session
//! waits in memory (see [`session_line`]); who comes where its session is alone, or behind its own, needs no list. Everybody else
//! watches the contender closest ahead, the second closest, and their own node. When the **only** contender ahead is deleted, the turn is
//! ours without another read, provided nothing happened that could make that wrong (see `is_ours_without_a_read` in [`wait`]).
//! When the second closest goes, we look again while the closest still holds, off the critical path: so a hand-off
//! costs the same with two waiters and with five thousand.
//! Who finds its own node gone while it waits queues again, at the end. A candidate that is asked to moves there: see [`asking`].

mod ahead;
mod asking;
pub(crate) mod deletable;
mod deletion;
mod foreign_contenders;
pub(crate) mod grant;
pub(crate) mod hold;
pub(crate) mod local_handoff;
pub(crate) mod name;
pub(crate) mod order;
pub(crate) mod place;
pub(crate) mod revocation;
pub(crate) mod session_line;
mod wait;

use crate::error::Result;
use crate::session::call::Call;

use grant::{Grant, OwnNodeWatch};
use place::{Entered, Place, TurnRequest};
use session_line::Position;
use wait::{WaitOutcome, Won};

/// Queues and waits until the turn is ours. Whatever ends this early leaves nothing behind.
pub(crate) async fn take(request: &TurnRequest<'_>, call: &mut Call) -> Result<Grant> {
    // The place that it has while it moves to another one.
    let mut moving: Option<Box<Place>> = None;
    // What is matched here is no more when something is awaited: else each of thousands who wait would have room for it.
    let (withdrawn, error) = loop {
        // In a box that goes before the wait begins.
        let (place, entered) = Box::pin(enter(request, call, &mut moving)).await?;
        call.contenders_ahead().into_iter().for_each(|waiter| waiter.stands());
        if let Entered::Listed(names) = &entered {
            foreign_contenders::warn(request, &place, names);
        }
        // From now on it stands there. Of a session that has ended nothing does.
        if let Some(before) = moving.take().filter(|before| before.server_session.has_ended()) {
            drop(before.forget());
        }
        // From here on a broken connection delays us, and only our own deadline ends the wait.
        call.outlast_outages();
        match wait::wait(&place, request, call, entered).await {
            Ok(WaitOutcome::Ours(Won { interest, has_waited, is_revoked, own })) => {
                place.position().into_iter().for_each(Position::has_turn);
                if has_waited {
                    request.session.counters.hand_offs.one();
                }
                let server_session = place.server_session.clone();
                if let Some(contenders_ahead) = call.contenders_ahead() {
                    contenders_ahead.forget();
                }
                if let Some((node, position)) = place.hand_over() {
                    let mut grant = Grant::of(server_session, vec![node], vec![interest]);
                    grant.positions.extend(position);
                    grant.own.extend(own.map(|armed| OwnNodeWatch::Armed(armed.watch)));
                    grant.is_revoked = is_revoked;
                    let is_more = request.data != request.session.identity().as_bytes();
                    grant.says = is_more.then(|| request.data.into());
                    return Ok(grant);
                }
            }
            // Somebody higher has asked it to move behind all others: it stays here until it stands there.
            Ok(WaitOutcome::Asked) => moving = Some(Box::new(place)),
            // The session ended, or somebody deleted our node: to the end of the queue.
            Ok(WaitOutcome::Gone) => drop(place.forget()),
            Err(error) => {
                call.contenders_ahead().into_iter().for_each(|waiter| waiter.leaves());
                break (Box::pin(request.session.within_grace(place.withdraw())), error);
            }
        }
    };
    withdrawn.await;
    Err(error.with_path(request.path))
}

/// Queues. If that fails, the place that it has goes, too.
async fn enter(
    request: &TurnRequest<'_>,
    call: &mut Call,
    moving: &mut Option<Box<Place>>,
) -> Result<(Place, Entered)> {
    let entered = Place::enter(request, call).await;
    if entered.is_err()
        && let Some(before) = moving.take()
    {
        request.session.within_grace(before.withdraw()).await;
    }
    entered
}
