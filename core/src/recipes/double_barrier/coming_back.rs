//! Coming back with a new session, after the one in which a member waited has ended: its node counts as long as the server
//! keeps that session, and a round may have been declared with it.
//!
//! 1. A quorum write that changes nothing, then the names below the path and `ready` ([`come_back`]).
//! 2. There is a round with our number, and our node stands: so the round is on, and the others wait for us before they
//!    leave. One transaction puts another node with the same number in its place ([`take_over`]): we are in.
//! 3. There is such a round, and our node is gone: the others may have gone on without us, which is Lost.
//! 4. There is none, and our node stands: it is deleted if nobody has entered or declared since we looked. Then we come anew.
//! 5. There is none, and our node is gone: if no round can have been declared since we came, we come anew. Else one may have
//!    been with us, and be over, which is Lost. The version of the barrier's node tells ([`may_have_been_on`]).

use std::sync::Arc;

use super::agreement::BarrierHandle;
use super::layout::{self, Member, Round, SPENT, members};
use super::place::{ENTER, Inside, MemberPlace};
use crate::error::{Error, ErrorKind, LostReason, Result};
use crate::options::Naming;
use crate::path;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::refusal::refusal;
use crate::session::wire::{Stat, WireError, Write};

/// Whether a round may have been declared with a node that came when the barrier's node had that version and so many children.
///
/// Each node that comes writes the barrier's data once, and a declaration twice. So at least those who were missing have written, and
/// who declared; and, behind a round that is over, all who stand now with a higher number than ours. A peer creates and does not
/// write: what peers declare stays unseen. Who comes and goes meanwhile writes more, and may be taken for a round.
fn may_have_been_on(barrier: &BarrierHandle, place: &MemberPlace, stat: &Stat, names: &[String]) -> bool {
    let Some((version, children)) = place.came else { return true };
    let missing = barrier.parties.saturating_sub(children);
    // While `ready` stands its members do; kazoo's first that leaves takes it back before.
    let may_be_members = barrier.naming == Naming::Kazoo || names.iter().any(|name| name == layout::READY);
    let later = match Member::of(place.name()).says {
        Some((_, own)) if !may_be_members => {
            let is_later =
                |member: &Member<'_>| member.says.is_some_and(|(_, number)| number > own && number < SPENT);
            members(names).filter(is_later).count()
        }
        _ => 0,
    };
    let written = stat.version.wrapping_sub(version);
    usize::try_from(written).is_ok_and(|written| written >= missing + 2 + later)
}

/// The round that a member is in which comes back. `None`: it was in none, and its node is gone.
pub(super) async fn come_back(
    barrier: &BarrierHandle,
    place: &mut MemberPlace,
    call: &mut Call,
) -> Result<Option<Round>> {
    let (at, ready) = (&barrier.path, layout::ready(&barrier.path));
    loop {
        place.server_session = call.server_session(ENTER).await?;
        let server_session = place.server_session.clone();
        let asked = (
            server_session.settle(at),
            server_session.children_and_stat(at),
            server_session.watch_data(&ready),
        );
        let flight = async {
            let (settled, names, declared) = (asked.0.await, asked.1.await, asked.2.await);
            match settled.and(names) {
                Err(WireError::NoNode) => Ok(None),
                names => Ok(Some((names?, declared))),
            }
        };
        let (names, stat, declared) = match call.receive(ENTER, flight).await? {
            Ok(Some(((names, stat), declared))) => (names, stat, declared),
            Ok(None) => {
                place.gone();
                return Ok(None);
            }
            Err(error) => {
                call.retry_or_refuse(error, ENTER, at).await?;
                continue;
            }
        };
        let declared = match declared {
            Ok((data, stat, over)) => Some((Round::of(&data, &stat), over)),
            Err(WireError::NoNode) => None,
            Err(error) => {
                call.retry_or_refuse(error, ENTER, &ready).await?;
                continue;
            }
        };
        let own = members(&names).find(|member| place.is(member, stat.czxid)).map(|member| member.name);
        if let Some(own) = own {
            place.found(own);
            place.barrier = Some(stat.czxid);
        }
        if place.name().is_empty() {
            // It never was, or nobody has seen it.
            place.gone();
            return Ok(None);
        }
        if let Some((round, over)) = declared
            && counts(&round, place, own.is_some(), call).await?
        {
            let Some(own) = own else {
                place.gone();
                return Err(went_on());
            };
            if take_over(barrier, place, own, call).await? {
                place.tell_when_over(over);
                return Ok(Some(round));
            }
            continue;
        }
        // Of a node that came without an answer it is not known how many there had been. Where the barrier's node was collected
        // nobody had been there for a while.
        let may_be_over = place.barrier.is_none_or(|czxid| czxid == stat.czxid)
            && may_have_been_on(barrier, place, &stat, &names);
        // kazoo takes `ready` back when the first leaves.
        if may_be_over && (own.is_none() || barrier.naming == Naming::Kazoo) {
            place.may_stand = own.is_some();
            return Err(went_on());
        }
        let Some(own) = own else {
            place.gone();
            return Ok(None);
        };
        let unchanged = Write::Check { path: at.clone(), version: Some(stat.version) };
        let deletion = Write::Delete { path: path::join(at, own), version: None };
        match call.receive(ENTER, server_session.multi(&[unchanged, deletion])).await? {
            Ok(_) => {
                place.gone();
                return Ok(None);
            }
            Err(WireError::Part { error, .. })
                if matches!(*error, WireError::NoNode | WireError::BadVersion) => {}
            Err(error) => call.retry_or_refuse(error, ENTER, at).await?,
        }
    }
}

/// The last look of a member whose time is over, as `error` says, before it was back.
pub(super) async fn come_back_at_last(
    barrier: &BarrierHandle,
    session: &Arc<Session>,
    mut place: MemberPlace,
    error: Error,
) -> Result<Inside> {
    let error = match come_back(barrier, &mut place, &mut session.call(None)).await {
        Ok(Some(round)) => return Ok(Inside { place, round }),
        // A round may have been on with it, and be over.
        Err(lost) if lost.kind() == ErrorKind::Lost => lost,
        Ok(None) | Err(_) => error,
    };
    place.withdraw().await;
    Err(error)
}

/// Whether the round was declared with our node, as far as that can be known of one that is gone.
async fn counts(round: &Round, place: &MemberPlace, stands: bool, call: &mut Call) -> Result<bool> {
    if let Some(is_ours) = round.tells_of(place.name(), place.barrier) {
        return Ok(is_ours);
    }
    let own = match stands {
        true => call.ask(ENTER, |server| server.exists(&place.path())).await,
        false => Ok(None),
    };
    let own = own.map_err(|failure| failure.about(ENTER, &place.path()))?;
    Ok(match own {
        Some(own) => round.includes_own(place.name(), &own),
        None => round.includes(&Member::of(place.name())),
    })
}

/// Puts a node of our new session in the place of ours, with its number. As that stood until then, the round is on. False: look
/// again. The name is another one: an earlier transaction of ours that comes late finds nothing to replace.
async fn take_over(
    barrier: &BarrierHandle,
    place: &mut MemberPlace,
    own: &str,
    call: &mut Call,
) -> Result<bool> {
    let old = Write::Delete { path: path::join(&barrier.path, own), version: None };
    let (name, new) = place.create_again(own, barrier.name.as_bytes());
    // Who ends the round without listing its members again sees by the version that one of them has another node.
    let writes = [old, new, barrier.says(None)];
    match call.receive(ENTER, place.server_session.multi(&writes)).await? {
        Ok(_) => {
            place.found(&name);
            Ok(true)
        }
        Err(WireError::Part { error, .. }) if *error == WireError::NoNode => Ok(false),
        Err(error) if error.is_unanswered() => {
            call.retry_after_loss(ENTER).await?;
            Ok(false)
        }
        Err(error) => Err(refusal(error, ENTER, &barrier.path)),
    }
}

/// A round was declared with our node, or may have been, and the others do not wait for us any more.
fn went_on() -> Error {
    Error::lost(LostReason::Session)
        .because("it ended while the member waited, and a round may have been on with it".to_owned())
        .advising("ask the others how far they are, then enter again")
}
