//! Entering: a node of our own, then waiting until the round is declared, or declaring it.

use std::sync::Arc;

use tokio::sync::OwnedMutexGuard;

use super::agreement::{BarrierHandle, agree, check_agreement, check_agreement_again, list_children};
use super::coming_back::{come_back, come_back_at_last};
use super::giving_up::{LastLook, delete_given_up, delete_unless_declared, give_up_unless_declared};
use super::layout::{self, Member, Round, members};
use super::leaving::end_round;
use super::place::{self, ENTER as VERB, Inside, MOMENT, MemberPlace};
use crate::error::{Error, ErrorKind, Result};
use crate::options::Naming;
use crate::path;
use crate::recipes::shared_lock::SharedLock;
use crate::session::Session;
use crate::session::call::{Call, LOOK_AFTER};
use crate::session::open_parents;
use crate::session::refusal::refusal;
use crate::session::server_session::ServerSession;
use crate::session::wire::{Applied, CreateMode, Event, Flight, Stat, Watch, WireError, Write};
use crate::sort;
use crate::turn::deletable;

pub(super) const ENTERING: &str = "not all parties came";

/// Of so few a list costs little, and no more of them list.
const FEW: usize = 3;

/// What became of a member that had come.
enum MemberEnd {
    Inside(Round),
    /// Its node or its session is gone.
    Gone,
    /// It was late for a round that is not ours, and has its members, or had them; and its node is gone. `None`: nothing else is
    /// known of that round.
    Late(Option<Round>),
}

pub(super) async fn enter(
    barrier: &BarrierHandle,
    session: &Arc<Session>,
    call: &mut Call,
) -> Result<Inside> {
    loop {
        delete_given_up(barrier, call).await?;
        let mut place = MemberPlace::new(call.server_session(VERB).await?, &barrier.path, &barrier.given_up);
        let mut end = enter_once(barrier, session, &mut place, call).await;
        // The server may keep that session, and have counted its node.
        let comes_back = place.may_stand && place.server_session.has_ended();
        if comes_back && matches!(end, Ok(MemberEnd::Gone)) {
            let round = come_back(barrier, &mut place, call).await;
            end = round.map(|round| round.map_or(MemberEnd::Gone, MemberEnd::Inside));
        }
        match end {
            Ok(MemberEnd::Inside(round)) => return Ok(Inside { place, round }),
            Ok(MemberEnd::Gone) => {}
            Ok(MemberEnd::Late(Some(round))) => end_round(barrier, &round, None, call, VERB).await?,
            Ok(MemberEnd::Late(None)) => {}
            // Others may have been let in with us meanwhile.
            Err(error) if matches!(error.kind(), ErrorKind::Timeout | ErrorKind::Mismatch) && comes_back => {
                let looked = session.within_grace(come_back_at_last(barrier, session, place, error.clone()));
                return looked.await.unwrap_or(Err(error));
            }
            Err(error) if matches!(error.kind(), ErrorKind::Timeout | ErrorKind::Mismatch) => {
                return match session.within_grace(give_up_unless_declared(barrier, place)).await {
                    Some(Ok(inside)) => Ok(inside),
                    Some(Err(Some(came))) if error.kind() == ErrorKind::Timeout => {
                        let parties = barrier.parties;
                        Err(error.because(format!("{came} of {parties} had come, this one among them")))
                    }
                    _ => Err(error),
                };
            }
            Err(error) => {
                // A member that has been told that it is not in must not be counted by those who come next.
                session.within_grace(place.withdraw()).await;
                return Err(error);
            }
        }
    }
}

async fn enter_once(
    barrier: &BarrierHandle,
    session: &Arc<Session>,
    place: &mut MemberPlace,
    call: &mut Call,
) -> Result<MemberEnd> {
    let Some(came) = create_node(barrier, session, place, call).await? else {
        barrier.agreement.ends();
        return Ok(MemberEnd::Gone);
    };
    call.outlast_outages();
    // At once: who waits finds that out by itself, but who has less time than a moment would be told Timeout, each time.
    if came.may_disagree && came.count < barrier.parties {
        let names = list_children(barrier, place, call).await?;
        check_agreement(barrier, &names.unwrap_or_default())?;
    }
    let round = match take_part(barrier, place, came, call).await? {
        MemberEnd::Late(round) => round,
        end => return Ok(end),
    };
    // Peers would wait for our node, too, before they leave.
    Ok(match delete_unless_declared(barrier, place, call).await? {
        None => MemberEnd::Gone,
        Some(LastLook::In(next)) => MemberEnd::Inside(next),
        Some(LastLook::Gone(_)) => {
            place.gone();
            MemberEnd::Late(round)
        }
    })
}

/// How it was when our node was created.
struct Came {
    /// The children, our own included.
    count: usize,
    /// It may be there for another number than the others, and nobody has looked.
    may_disagree: bool,
    /// The same, and too many are there to look now: the version of the path with our own word on it. While it is that,
    /// nobody has come after us.
    said: Option<i32>,
    /// `ready` as it was right after that, and the watch on it.
    ready: Option<(Option<Stat>, Watch)>,
}

/// Creates our node, and learns in the same transaction how many children there are then. `None`: once more.
///
/// The transaction sets the data of the path, for its answer: the number of children at that very moment in the
/// server's order. So exactly the last of those who are needed knows that it is, and only that one lists them.
///
/// A client asks once for how many the path is, for all its handles. If others have changed that since, it sees that by their
/// names when they are few, and when it has waited for a moment: by the path, or by their names if it was the last to come.
async fn create_node(
    barrier: &BarrierHandle,
    session: &Arc<Session>,
    place: &mut MemberPlace,
    call: &mut Call,
) -> Result<Option<Came>> {
    let agreement = &barrier.agreement;
    while !agreement.is_on(barrier.parties) {
        let asking = agreement.asking.get();
        let created = ask_and_create(barrier, session, place, call, &asking);
        if let Some(created) = asking.used_by(session.clock(), created).await? {
            return Ok(created);
        }
    }
    create_agreed(barrier, session, place, call, None).await
}

/// One handle asks and creates its node, and the others wait for what it learns. `None`: those who wait are to use another lock.
async fn ask_and_create(
    barrier: &BarrierHandle,
    session: &Arc<Session>,
    place: &mut MemberPlace,
    call: &mut Call,
    asking: &SharedLock<()>,
) -> Result<Option<Option<Came>>> {
    let alone = async { Ok(asking.lock().await) };
    let alone = call.receive(VERB, alone).await?.map_err(|error| refusal(error, VERB, &barrier.path))?;
    let Some(alone) = alone else { return Ok(None) };
    // Another handle may have asked meanwhile.
    let alone = Some(alone).filter(|_| !barrier.agreement.is_on(barrier.parties));
    create_agreed(barrier, session, place, call, alone).await.map(Some)
}

/// `asks` if it is not known yet for how many the path is, until it is.
async fn create_agreed(
    barrier: &BarrierHandle,
    session: &Arc<Session>,
    place: &mut MemberPlace,
    call: &mut Call,
    asks: Option<OwnedMutexGuard<()>>,
) -> Result<Option<Came>> {
    let (agreement, has_agreed) = (&barrier.agreement, asks.is_none());
    let version = match has_agreed {
        true => None,
        false => match agree(barrier, session, &place.server_session, call).await? {
            // A node that could not be deleted again would be counted in every round to come.
            Some(version)
                if deletable::check(session, &place.server_session, call, VERB, &barrier.path).await? =>
            {
                version
            }
            _ => return Ok(None),
        },
    };
    let create = place.create(barrier.parties, barrier.name.as_bytes());
    let server_session = place.server_session.clone();
    let (created, ready) = (
        server_session.multi(&[create, barrier.says(version)]),
        server_session.watch_exists(&layout::ready(&barrier.path)),
    );
    let flight = async { Ok((created.await?, ready.await)) };
    match call.receive(VERB, flight).await? {
        Ok((created, ready)) => {
            let (Some(Applied::Created(node)), Some(Applied::Set(stat))) = (created.first(), created.get(1))
            else {
                return Err(refusal(WireError::Other(format!("{created:?}")), VERB, &barrier.path));
            };
            place.found(path::name(&node.path));
            place.barrier = Some(stat.czxid);
            place.came = Some((stat.version, stat.num_children as usize));
            server_session.saw_parent(&barrier.path, stat.czxid);
            open_parents::look_once(session, &server_session, call, VERB, &barrier.path).await?;
            deletable::settle(&server_session, &barrier.path);
            agreement.is(barrier.parties);
            drop(asks);
            let count = stat.num_children as usize;
            // Without having asked; or it may have come for another number than the first, in the same moment.
            let may_disagree = if has_agreed { (2..=FEW).contains(&count) } else { count == 2 };
            let said = (has_agreed && count > FEW).then_some(stat.version);
            Ok(Some(Came { count, may_disagree, said, ready: ready.ok() }))
        }
        Err(error) if error.is_unanswered() => {
            call.retry_after_loss(VERB).await?;
            match place.ask(call, VERB, |server| place::settled(server, &barrier.path)).await? {
                // It goes with its session, and is looked for in the next.
                None => Ok(None),
                Some(names) => {
                    let names = names.map_err(|error| refusal(error, VERB, &barrier.path))?;
                    // Others may have come since, who were not the last that were needed.
                    let came = Came { count: names.len(), may_disagree: true, said: None, ready: None };
                    Ok(place.find(&names).then_some(came))
                }
            }
        }
        Err(error) => {
            place.gone();
            match error {
                // The path is gone again, or somebody else has said for how many it is.
                WireError::Part { error, .. }
                    if matches!(*error, WireError::NoNode | WireError::BadVersion) =>
                {
                    Ok(None)
                }
                error => Err(refusal(error, VERB, &barrier.path)),
            }
        }
    }
}

async fn take_part(
    barrier: &BarrierHandle,
    place: &mut MemberPlace,
    came: Came,
    call: &mut Call,
) -> Result<MemberEnd> {
    let ready = layout::ready(&barrier.path);
    let (mut declares, mut is_declared) = (came.count >= barrier.parties, false);
    // Who came among the first belongs to whatever round is declared while its node stands: those before it can only go.
    let is_spare = came.count > barrier.parties;
    let (mut armed, mut said) = (came.ready, came.said);
    let is_kazoo = barrier.naming == Naming::Kazoo;
    loop {
        if declares {
            declares = match declare(barrier, place, call).await? {
                None => return Ok(MemberEnd::Gone),
                Some(is_there) => is_there,
            };
            if !declares && is_kazoo {
                // It may have been declared, without an answer, and taken back.
                match read_own_node(barrier, place, call).await? {
                    None => return Ok(MemberEnd::Gone),
                    Some(own) if own.version > 0 => return Ok(MemberEnd::Inside(Round::unseen())),
                    Some(_) => {}
                }
            }
        }
        if !declares {
            let (found, declared) = match armed.take() {
                Some(armed) => armed,
                None => match place.ask(call, VERB, |server| server.watch_exists(&ready)).await? {
                    None => return Ok(MemberEnd::Gone),
                    Some(armed) => armed.map_err(|error| refusal(error, VERB, &barrier.path))?,
                },
            };
            if found.is_none() {
                match wait_until_declared(barrier, place, declared, &mut said, call).await? {
                    None => return Ok(MemberEnd::Gone),
                    Some(event) => is_declared |= event == Event::Created,
                }
            }
        }
        match place.ask(call, VERB, |server| server.watch_data(&ready)).await? {
            None => return Ok(MemberEnd::Gone),
            Some(Ok((data, stat, over))) => {
                let round = Round::of(&data, &stat);
                let is_for_others = round.parties().is_some_and(|parties| parties != barrier.parties);
                // They may have died in it.
                if is_for_others {
                    let Some(names) = list_children(barrier, place, call).await? else {
                        return Ok(MemberEnd::Gone);
                    };
                    check_agreement(barrier, &names)?;
                }
                let is_ours = match round.tells_of(place.name(), place.barrier) {
                    Some(is_ours) => is_ours,
                    None => match read_own_node(barrier, place, call).await? {
                        None => return Ok(MemberEnd::Gone),
                        Some(own) => round.includes_own(place.name(), &own),
                    },
                };
                if !is_ours {
                    return Ok(MemberEnd::Late(Some(round)));
                }
                place.tell_when_over(over);
                place.found_in(&round, ready, data);
                return Ok(MemberEnd::Inside(round));
            }
            // Taken back while we looked: kazoo does that when the first leaves, and our node was there before.
            Some(Err(WireError::NoNode)) if is_kazoo => {
                let Some(own) = read_own_node(barrier, place, call).await? else {
                    return Ok(MemberEnd::Gone);
                };
                // Nothing else changes it but our own declaration, be its answer lost.
                if own.version > 0 || is_declared && !is_spare {
                    return Ok(MemberEnd::Inside(Round::unseen()));
                }
                // It may have been without us, and be over. If it is on, nobody is to wait for our node: we come again.
                if is_declared {
                    return Ok(MemberEnd::Late(None));
                }
            }
            // Of another round, and gone meanwhile: this one has yet to be declared.
            Some(Err(WireError::NoNode)) => {}
            Some(Err(error)) => return Err(refusal(error, VERB, &ready)),
        }
    }
}

/// Our own node; `None`: it is gone.
async fn read_own_node(
    barrier: &BarrierHandle,
    place: &MemberPlace,
    call: &mut Call,
) -> Result<Option<Stat>> {
    let path = place.path();
    match place.ask(call, VERB, |server| server.exists(&path)).await? {
        None => Ok(None),
        Some(found) => found.map_err(|error| refusal(error, VERB, &barrier.path)),
    }
}

/// Waits for what the watch on `ready` tells; `None`: our own node is gone.
async fn wait_until_declared(
    barrier: &BarrierHandle,
    place: &MemberPlace,
    mut declared: Watch,
    said: &mut Option<i32>,
    call: &mut Call,
) -> Result<Option<Event>> {
    if call.is_single_attempt() {
        return Err(Error::timeout(ENTERING));
    }
    let mut pause = MOMENT;
    let mut gone: Option<Watch> = None;
    loop {
        let either = async {
            match &mut gone {
                Some(gone) => tokio::select! {
                    biased;
                    event = &mut declared => Some(event),
                    _ = gone => None,
                },
                None => Some((&mut declared).await),
            }
        };
        match call.wait_at_most(pause, either).await? {
            Some(Some(event)) => return Ok(Some(event)),
            Some(None) => gone = None,
            None => {
                check_agreement_again(barrier, place, said, call).await?;
                if pause == LOOK_AFTER && is_declared_untold(barrier, place, call).await? {
                    return Ok(Some(Event::Created));
                }
                pause = LOOK_AFTER.min(pause * 2);
            }
        }
        if gone.is_none() {
            let watched = place.ask(call, VERB, |server| watch_own_node(server, &place.path())).await?;
            let Some(watched) = watched else { return Ok(None) };
            gone = watched.map_err(|error| refusal(error, VERB, &barrier.path))?;
            if gone.is_none() {
                return Ok(None);
            }
        }
    }
}

/// Whether there is a `ready`, be it one that we may not read, and of which we are not told.
async fn is_declared_untold(barrier: &BarrierHandle, place: &MemberPlace, call: &mut Call) -> Result<bool> {
    let ready = layout::ready(&barrier.path);
    let found = place.ask(call, VERB, |server| server.exists(&ready)).await?;
    Ok(!matches!(found, None | Some(Ok(None))))
}

/// Our node never has children: so only its deletion wakes us. `None` when it is gone.
fn watch_own_node(server_session: &Arc<ServerSession>, node: &str) -> Flight<Option<Watch>> {
    let flight = server_session.watch_children(node);
    Box::pin(async move {
        match flight.await {
            Ok((_, _, watch)) => Ok(Some(watch)),
            Err(WireError::NoNode) => Ok(None),
            Err(error) => Err(error),
        }
    })
}

/// Declares the round if all its members are there; answers whether there is a `ready` now, be it of another round. The
/// transaction checks that they are: who gave up, or died, is counted by nobody. Who came after us for another number is no
/// member, and is told so. `None`: we are not there any more, and those who are may have the numbers of another node.
async fn declare(barrier: &BarrierHandle, place: &MemberPlace, call: &mut Call) -> Result<Option<bool>> {
    let ready = layout::ready(&barrier.path);
    loop {
        let names = list_children(barrier, place, call).await?;
        let Some(names) = names.filter(|names| names.iter().any(|name| name == place.name())) else {
            return Ok(None);
        };
        let mut present: Vec<_> = members(&names).collect();
        if present.len() < names.len() {
            return Ok(Some(true));
        }
        // Not before: without an answer to our declaration we may be in a round whose others have gone.
        check_agreement(barrier, &names)?;
        present.retain(|member| member.says.is_none_or(|(parties, _)| parties == barrier.parties));
        if present.len() < barrier.parties {
            return Ok(Some(false));
        }
        let chosen = choose_members(present, barrier.parties);
        let part = |member: &Member<'_>| {
            let node = path::join(&barrier.path, member.name);
            match member.name == place.name() {
                // As good as a check, and leaves a mark that outlives a lost answer.
                true => Write::Set { path: node, data: barrier.name.as_bytes().to_vec(), version: None },
                false => Write::Check { path: node, version: None },
            }
        };
        let mut writes: Vec<_> = chosen.iter().map(part).collect();
        let data = Round::declaration(&chosen, place.barrier);
        writes.push(Write::Create { path: ready.clone(), data, mode: CreateMode::Persistent, acl: None });
        // A member that is giving up at this moment sees by the version that it may be in; one that comes back sees by two
        // writes for one creation that a round was declared.
        writes.extend([barrier.says(None), barrier.says(None)]);
        match call.receive(VERB, place.server_session.multi(&writes)).await? {
            Ok(_) => return Ok(Some(true)),
            Err(WireError::Part { error, .. }) if *error == WireError::NodeExists => return Ok(Some(true)),
            // One of them has gone.
            Err(WireError::Part { error, .. }) if *error == WireError::NoNode => {}
            Err(error) => call.retry_or_refuse(error, VERB, &ready).await?,
        }
    }
}

/// Those who came first of too many, and peers in any case: they take part in whatever round is declared.
fn choose_members(present: Vec<Member<'_>>, parties: usize) -> Vec<Member<'_>> {
    let (mut ours, mut chosen): (Vec<_>, Vec<_>) =
        present.into_iter().partition(|member| member.says.is_some());
    sort::by_key(&mut ours, |member| member.says.map(|(_, number)| number));
    ours.truncate(parties.saturating_sub(chosen.len()).max(1));
    chosen.extend(ours);
    chosen
}
