//! Leaving: our node goes, and then we wait until the nodes of all members of the round have gone.
//!
//! One member, the anchor, keeps its node until it is alone, and then deletes `ready` with it. Everybody else has watched
//! `ready` since it entered, so its end is one wake-up for each, and nothing is asked any more. The anchor's name is the
//! lowest, so that Curator's and kazoo's members wait for it, too. It watches the highest of those who are left; names are
//! random, so that each time about half of them have gone meanwhile. Of the last few it watches each, and need not look again.
//!
//! If the anchor dies, `ready` still stands: so a member that has waited for a moment waits for the anchor's node to
//! go, and then looks who is left. If all of them did that at once, it would be a request and a second wake-up for each
//! member in each round. So one does it, the deputy, after a much shorter moment; it ends the round for all. Only if both
//! die does that cost the others their own moment. An anchor that gives up writes `ready` again, and wakes them.

use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{join_all, try_join_all};

use super::agreement::BarrierHandle;
use super::layout::{self, Member, Round, members};
use super::place::{Inside, MOMENT, MemberPlace};
use crate::error::{Error, LostReason, Result};
use crate::log;
use crate::options::Naming;
use crate::path;
use crate::session::Session;
use crate::session::call::{Call, LOOK_AFTER};
use crate::session::refusal::refusal;
use crate::session::server_session::ServerSession;
use crate::session::wire::{Event, WireError, Write};

pub(super) const VERB: &str = "leave";
pub(super) const LEAVING: &str = "not all parties left";

/// For so long the deputy does not look whether the anchor is there: a round of quick members is over by then.
const DEPUTYS_MOMENT: Duration = Duration::from_millis(50);

pub(super) async fn leave(barrier: &BarrierHandle, inside: Inside, call: &mut Call) -> Result<()> {
    let Inside { mut place, round } = inside;
    if place.server_session.has_ended() {
        return Err(Error::lost(LostReason::Session));
    }
    if round.anchor.as_deref() == Some(place.name()) {
        return end_round(barrier, &round, Some(place), call, VERB).await;
    }
    // What was told before we have left is no news of us.
    let ends = place.told_when_over().filter(|_| barrier.naming != Naming::Kazoo);
    let mut ends = ends.and_then(|mut ends| (&mut ends).now_or_never().is_none().then_some(ends));
    let is_deputy = round.has_as_deputy(place.name());
    place.leave(call, VERB).await?;
    call.outlast_outages();
    let moment = if is_deputy { DEPUTYS_MOMENT } else { MOMENT };
    if !call.is_single_attempt()
        && let Some(ends) = &mut ends
        && call.wait_at_most(moment, ends).await? == Some(Event::Deleted)
    {
        return Ok(());
    }
    if let Some(anchor) = &round.anchor {
        until_gone(path::join(&barrier.path, anchor), None, call, VERB).await?;
    }
    end_round(barrier, &round, None, call, VERB).await
}

/// So few are watched all at once. Of more a new list costs less.
const FEW: usize = 4;
/// For so long the anchor goes by what it has seen.
const NEW: Duration = Duration::from_millis(50);

/// Of so many it is told who they are.
const NAMED: usize = 3;

/// Who has not left beside us, in words; `None`: nobody, or it is not known.
pub(super) async fn name_those_inside(
    barrier: &BarrierHandle,
    session: &Session,
    round: &Round,
    own: &str,
) -> Option<String> {
    let server_session = session.server_session();
    let names = server_session.children(&barrier.path).await.ok()?;
    let inside = members(&names).filter(|member| round.includes(member) && member.name != own);
    let inside: Vec<_> = inside.collect();
    let nodes = inside
        .iter()
        .take(NAMED)
        .map(|member| server_session.get_data(&path::join(&barrier.path, member.name)));
    let said = join_all(nodes).await;
    // Those that have gone meanwhile are not waited for.
    let named =
        said.into_iter().flatten().map(|(data, _)| log::quoted(&String::from_utf8_lossy(&data)).into_owned());
    let named: Vec<_> = named.collect();
    if named.is_empty() {
        return None;
    }
    let more = match inside.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    Some(format!("{}{more} had not left", named.join(", ")))
}

/// Asks in the session of our own node as long as we have one. Lost: that session has ended.
async fn ask<T, F>(
    own: Option<&MemberPlace>,
    call: &mut Call,
    verb: &str,
    path: &str,
    request: impl Fn(&Arc<ServerSession>) -> F + Send,
) -> Result<T>
where
    F: Future<Output = Result<T, WireError>> + Send,
{
    let Some(place) = own else {
        return call.ask(verb, request).await.map_err(|failure| failure.about(verb, path));
    };
    match place.ask(call, verb, request).await? {
        Some(answer) => answer.map_err(|error| refusal(error, verb, path)),
        None => Err(Error::lost(LostReason::Session)),
    }
}

/// Waits until nobody has the node.
async fn until_gone(
    node: String,
    own: Option<&MemberPlace>,
    call: &mut Call,
    verb: &'static str,
) -> Result<()> {
    let nodes = [node];
    while !until_all_gone(&nodes, own, call, verb).await? {}
    Ok(())
}

/// Waits until every one of these nodes has gone or something else has happened to it; whether all have certainly gone.
async fn until_all_gone(
    nodes: &[String],
    own: Option<&MemberPlace>,
    call: &mut Call,
    verb: &'static str,
) -> Result<bool> {
    let watched = ask(own, call, verb, &nodes[0], |server| {
        try_join_all(nodes.iter().map(|node| server.watch_exists(node)).collect::<Vec<_>>())
    });
    let mut have_gone = true;
    for (found, watch) in watched.await? {
        if found.is_none() {
            continue;
        }
        if call.is_single_attempt() {
            return Err(Error::timeout(LEAVING));
        }
        call.outlast_outages();
        have_gone &= call.wait_at_most(LOOK_AFTER, watch).await? == Some(Event::Deleted);
    }
    Ok(have_gone)
}

/// Waits until the round is over, and takes `ready` back if nobody is left who would. Our own node, if we have one in
/// the round, stands until then.
pub(super) async fn end_round(
    barrier: &BarrierHandle,
    round: &Round,
    mut own: Option<MemberPlace>,
    call: &mut Call,
    verb: &'static str,
) -> Result<()> {
    let ready = layout::ready(&barrier.path);
    // kazoo takes it back when the first leaves.
    let ready_tells = barrier.naming != Naming::Kazoo;
    let (mut sent_last, mut is_first) = (false, true);
    loop {
        if own.is_none() && ready_tells && std::mem::take(&mut is_first) {
            // As a rule that is all there is to ask.
            let found = ask(None, call, verb, &ready, |server| server.exists(&ready)).await?;
            if !round.is_on(found.as_ref()) {
                return Ok(());
            }
        }
        // With the version of the path: `ready` is taken back only if nobody has entered since.
        let asked = ask(own.as_ref(), call, verb, &barrier.path, |server| {
            let (names, ready) = (server.children_and_stat(&barrier.path), server.exists(&ready));
            async move { Ok((names.await, ready.await?)) }
        });
        let (names, found) = asked.await?;
        let (names, stat) = match names {
            Ok(names) => names,
            Err(WireError::NoNode) => return Ok(()),
            Err(error) if error.is_unanswered() => continue,
            Err(error) => return Err(refusal(error, verb, &barrier.path)),
        };
        let is_on = round.is_on(found.as_ref());
        if own.is_none() && ready_tells && !is_on {
            return Ok(());
        }
        let name = own.as_ref().map(|place| place.name().to_owned());
        let is_other = |member: &Member<'_>| round.includes(member) && Some(member.name) != name.as_deref();
        let mut others: Vec<_> = members(&names).filter(is_other).collect();
        let mut is_unlisted = false;
        if let Some(name) = name {
            if !names.contains(&name) {
                return if sent_last { Ok(()) } else { Err(Error::lost(LostReason::Deleted)) };
            }
            if others.iter().any(|other| other.says.is_none() && *other.name < *name) {
                // A peer that came late, and whose node stays to the last.
                if let Some(place) = own.take() {
                    place.leave(call, verb).await?;
                }
                continue;
            }
        }
        if !others.is_empty() {
            let (peers, looked) = (others.iter().any(|other| other.says.is_none()), call.now());
            others.sort_unstable_by_key(|other| Reverse(other.name));
            let awaited = &others[..if others.len() > FEW { 1 } else { others.len() }];
            let nodes: Vec<_> = awaited.iter().map(|other| path::join(&barrier.path, other.name)).collect();
            let have_gone = until_all_gone(&nodes, own.as_ref(), call, verb).await?;
            // Nobody of ours can come into the round any more, and peers that do are not looked for if that took a moment only.
            let were_all = have_gone && awaited.len() == others.len() && !peers;
            if own.is_none() || !ready_tells || !were_all || call.now().since(looked) >= NEW {
                continue;
            }
            is_unlisted = true;
        }
        let mut writes = vec![match &own {
            Some(place) => Write::Delete { path: place.path(), version: None },
            None if is_on => Write::Check { path: barrier.path.clone(), version: Some(stat.version) },
            None => return Ok(()),
        }];
        if is_on {
            writes.push(Write::Delete { path: ready.clone(), version: None });
        }
        if is_unlisted {
            // The node of one of them may have gone because another has taken its place.
            writes.push(Write::Check { path: barrier.path.clone(), version: Some(stat.version) });
        }
        let server_session = match &own {
            Some(place) => place.server_session.clone(),
            None => call.server_session(verb).await?,
        };
        match call.receive(verb, server_session.multi(&writes)).await? {
            Ok(_) => {
                own.iter_mut().for_each(MemberPlace::gone);
                return Ok(());
            }
            Err(error) if error.is_unanswered() => {
                sent_last = true;
                call.retry_after_loss(verb).await?;
            }
            Err(WireError::Part { error, .. })
                if matches!(*error, WireError::NoNode | WireError::BadVersion) => {}
            Err(error) => return Err(refusal(error, verb, &ready)),
        }
    }
}
