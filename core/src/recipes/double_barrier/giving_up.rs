//! Giving up while others are awaited: nobody may count us any more, neither the others nor we ourselves when we come
//! again.

use super::agreement::BarrierHandle;
use super::layout::{self, Round};
use super::place::{self, ENTER, Inside, MemberPlace};
use crate::error::Result;
use crate::mutex::lock;
use crate::options::Naming;
use crate::path;
use crate::session::call::Call;
use crate::session::refusal::Failure;
use crate::session::wire::{WireError, Write};

/// Deletes the nodes that this handle has given up and that may stand yet, maybe in a session that only the server
/// still knows: together with a new one they would count twice.
pub(super) async fn delete_given_up(barrier: &BarrierHandle, call: &mut Call) -> Result<()> {
    let given_up = || lock(&barrier.given_up);
    let guids = given_up().clone();
    if guids.is_empty() {
        return Ok(());
    }
    let names = call.ask(ENTER, |server| place::settled(server, &barrier.path)).await;
    let names = names.map_err(|failure| failure.about(ENTER, &barrier.path))?;
    for name in names.iter().filter(|name| guids.iter().any(|guid| name.starts_with(guid))) {
        let node = path::join(&barrier.path, name);
        match call.ask(ENTER, |server| server.delete(&node, None)).await {
            Ok(()) | Err(Failure::Refused(WireError::NoNode)) => {}
            Err(failure) => return Err(failure.about(ENTER, &node)),
        }
    }
    given_up().retain(|guid| !guids.contains(guid));
    Ok(())
}

/// Gives our node up when our time is over, unless a round was declared with it meanwhile: then the others have been
/// let in with us, and we are in. What no server answers goes on in the background. Else it answers how many had come, as
/// far as that was seen.
pub(super) async fn give_up_unless_declared(
    barrier: &BarrierHandle,
    mut place: MemberPlace,
) -> Result<Inside, Option<usize>> {
    match look_and_delete(barrier, &mut place).await {
        Ok(LastLook::In(round)) => Ok(Inside { place, round }),
        Ok(LastLook::Gone(came)) => {
            place.withdraw().await;
            Err(came)
        }
        // Somebody else will not let us look, or no server answers.
        Err(_) => {
            place.withdraw().await;
            Err(None)
        }
    }
}

/// Deletes the node of a member that is late for a round, unless the next one was declared with it meanwhile: a round ends as
/// soon as its own members have left, and whoever comes then counts ours. `None`: its session has ended first.
pub(super) async fn delete_unless_declared(
    barrier: &BarrierHandle,
    place: &mut MemberPlace,
    call: &mut Call,
) -> Result<Option<LastLook>> {
    while !place.server_session.has_ended() {
        match call.receive(ENTER, look_and_delete(barrier, place)).await? {
            Ok(look) => return Ok(Some(look)),
            // Gone in between: deleted by us, which a server that lagged did not know, or by somebody else.
            Err(WireError::Part { error, .. }) if *error == WireError::NoNode => {}
            Err(error) => call.retry_or_refuse(error, ENTER, &barrier.path).await?,
        }
    }
    Ok(None)
}

/// What a member that gives up sees.
pub(super) enum LastLook {
    /// The round that its node belongs to.
    In(Round),
    /// To none, and the node is gone; so many children there were, if that was seen.
    Gone(Option<usize>),
}

/// Whether our node belongs to a round. Every declaration changes the version of the path, so that none comes between
/// the look and the deletion.
async fn look_and_delete(barrier: &BarrierHandle, place: &mut MemberPlace) -> Result<LastLook, WireError> {
    if !place.may_stand {
        return Ok(LastLook::Gone(None));
    }
    let (server_session, ready) = (place.server_session.clone(), layout::ready(&barrier.path));
    if place.name().is_empty() && !place.find(&place::settled(&server_session, &barrier.path).await?) {
        return Ok(LastLook::Gone(None));
    }
    let own = place.path();
    loop {
        let asked = (
            server_session.exists(&barrier.path),
            server_session.get_data(&ready),
            server_session.exists(&own),
        );
        let (Some(stat), declared, Some(found)) = (asked.0.await?, asked.1.await, asked.2.await?) else {
            return Ok(LastLook::Gone(None));
        };
        let mut came = Some(stat.num_children as usize);
        match declared {
            Ok((data, stat)) => {
                let round = Round::of(&data, &stat);
                if round.includes_own(place.name(), &found) {
                    place.found_in(&round, ready, data);
                    return Ok(LastLook::In(round));
                }
                // Others are in it.
                came = None;
            }
            // Taken back by a peer that left before we looked.
            Err(WireError::NoNode) if found.version > 0 && barrier.naming == Naming::Kazoo => {
                return Ok(LastLook::In(Round::unseen()));
            }
            Err(WireError::NoNode) => {}
            Err(error) => return Err(error),
        }
        let unchanged = Write::Check { path: barrier.path.clone(), version: Some(stat.version) };
        match server_session.multi(&[unchanged, Write::Delete { path: own.clone(), version: None }]).await {
            Err(WireError::Part { error, .. }) if *error == WireError::BadVersion => {}
            Err(error) => return Err(error),
            Ok(_) => {
                place.gone();
                return Ok(LastLook::Gone(came));
            }
        }
    }
}
