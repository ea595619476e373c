//! Taking part: a node among the members, a place in the election of who assigns, and following what is assigned.

use std::pin::pin;
use std::sync::Arc;

use tokio::sync::watch;

use super::assignment::Assignment;
use super::sharing::{
    Ended, LEADER, LEAVE, LISTING, MEMBERS, NEXT, PARTY, PartitionMember, Sharing, has_left, weights,
};
use super::turns::Turns;
use crate::error::{Error, ErrorKind, Result};
use crate::feed::Feed;
use crate::futures::unless;
use crate::log;
use crate::mutex::lock;
use crate::path;
use crate::process::UnlessForked;
use crate::recipes::declared;
use crate::recipes::election::{Election, Leader, Leadership};
use crate::session::Session;
use crate::session::call::Call;
use crate::session::registration::{KeptNode, StartingNode};
use crate::session::skipped_nodes::Flaw;
use crate::session::watching::Children;
use crate::session::wire::WireError;

/// Who is there, no older than this call.
pub(super) async fn members(call: &mut Call, path: &str, verb: &'static str) -> Result<Vec<PartitionMember>> {
    let answer = call.ask(verb, |server| {
        let server = server.clone();
        async move { server.as_of_now(path, || server.children(path)).await }
    });
    match answer.await {
        Ok(names) => Ok(names.iter().filter_map(|name| PartitionMember::parse(name)).collect()),
        Err(failure) if failure.is(&WireError::NoNode) => Ok(Vec::new()),
        Err(failure) => Err(failure.about(verb, path)),
    }
}

/// The same when it joins, and who shares them by kazoo's `SetPartitioner`, in one flight.
async fn members_and_party(
    call: &mut Call,
    sharing: &Sharing,
) -> Result<(Vec<PartitionMember>, Option<String>)> {
    let (members, party) = (sharing.below(MEMBERS), sharing.below(PARTY));
    let answer = call.ask(NEXT, |server| {
        let (server, members, party) = (server.clone(), &members, &party);
        let read = async move {
            server
                .as_of_now(members, || {
                    let (names, party) = (server.children(members), server.children(party));
                    async move { Ok((names.await, party.await)) }
                })
                .await
        };
        async move {
            let (names, party) = read.await?;
            let (names, party) = (unless_missing(names)?, unless_missing(party));
            match party {
                // What may not be read is nobody's that we know of.
                Err(WireError::NoAuth) => Ok((names, Vec::new())),
                party => Ok((names, party?)),
            }
        }
    });
    let (names, party) = answer.await.map_err(|failure| failure.about(NEXT, &members))?;
    let parsed = names.iter().filter_map(|name| PartitionMember::parse(name)).collect();
    Ok((parsed, party.into_iter().next()))
}

fn unless_missing(names: Result<Vec<String>, WireError>) -> Result<Vec<String>, WireError> {
    match names {
        Err(WireError::NoNode) => Ok(Vec::new()),
        names => names,
    }
}

/// Dropped, it ends in the background as by leaving.
pub(super) struct Participation {
    leaves: UnlessForked<watch::Sender<bool>>,
    /// Why it has ended.
    ended: Ended,
}

impl Participation {
    /// Becomes a member, unless the others share something else.
    pub(super) async fn join(sharing: &Arc<Sharing>, session: &Arc<Session>) -> Result<Participation> {
        let node = path::join(&sharing.below(MEMBERS), &sharing.member.node());
        let identity = session.identity().as_bytes();
        let registration =
            declared::declare(session, NEXT, &sharing.path, node, identity, StartingNode::Missing).await?;
        let (others, party) = members_and_party(&mut session.call(None), sharing).await?;
        let of_another_list = others.iter().find(|other| other.list != sharing.member.list);
        let refused = party.map(|member| shared_by_kazoo(&member));
        if let Some(error) = refused.or_else(|| of_another_list.map(|other| mismatch(&other.name))) {
            // Gone before it is told: who tries again with the right list is not refused because of it.
            let _ = registration.undo(NEXT).await;
            return Err(error);
        }
        let election = sharing.client.election(&sharing.below(LEADER), b"", Default::default())?;
        let (leaves, leaving) = watch::channel(false);
        let (ends, ended) = watch::channel(None);
        let taking_part = take_part(sharing.clone(), session.clone(), registration, election, leaving);
        let sharing = sharing.clone();
        session.clock().spawn(Box::pin(async move {
            let end = taking_part.await;
            ends.send_replace(Some(end));
            sharing.news.notify_waiters();
        }));
        Ok(Participation { leaves: UnlessForked::new(leaves), ended })
    }

    pub(super) fn has_ended(&self) -> bool {
        self.ended.borrow().is_some()
    }

    pub(super) fn ended(&self) -> Ended {
        self.ended.clone()
    }

    /// Answers when all is let go of.
    pub(super) async fn leave(mut self) -> Result<()> {
        self.leaves.send_replace(true);
        match self.ended.wait_for(Option::is_some).await.map(|ended| ended.clone()) {
            Ok(Some(error)) if error.kind() != ErrorKind::Cancelled => Err(error),
            _ => Ok(()),
        }
    }
}

/// Until it leaves, which is Cancelled, or cannot go on.
async fn take_part(
    sharing: Arc<Sharing>,
    session: Arc<Session>,
    registration: KeptNode,
    election: Election,
    mut leaving: watch::Receiver<bool>,
) -> Error {
    let mut turns = Turns::new(&sharing);
    let end = {
        let mut observed = election.observe();
        // Without a sender its handles are gone, which is leaving, too.
        let left = async { drop(leaving.wait_for(|leaves| *leaves).await) };
        let (fails, mut failed) = watch::channel(None);
        let leading = election.run(|leadership| {
            let (sharing, session, fails) = (sharing.clone(), session.clone(), fails.clone());
            async move {
                let assigned = assign(&sharing, leadership).await;
                match assigned.as_ref().map_err(Error::kind) {
                    // Others may be allowed to, or this one again: what is assigned already goes on, as an election does.
                    Err(ErrorKind::Denied) if lock(&sharing.assignment).is_some() => {
                        let path = assigned.as_ref().err().and_then(Error::path);
                        session.skip(path.unwrap_or(&sharing.path), Flaw::Denied);
                    }
                    // Standing again would not help.
                    Err(ErrorKind::Denied | ErrorKind::TooLarge | ErrorKind::Invalid) => {
                        fails.send_replace(assigned.as_ref().err().cloned());
                    }
                    _ => {}
                }
                assigned
            }
        });
        let (mut left, mut leading) = (pin!(left), pin!(leading));
        loop {
            tokio::select! {
                biased;
                () = session.until_closing() => return Error::closed("client"),
                () = &mut left => break has_left(),
                failure = failure_of(&mut failed) => break failure,
                ended = &mut leading => break ended.err().unwrap_or_else(Error::cancelled),
                assigned = next_assignment(&mut observed, &sharing) => match assigned {
                    Ok(assignment) => {
                        turns.follow(&assignment);
                        *lock(&sharing.assignment) = Some(assignment);
                    }
                    Err(error) => break error,
                },
                error = turns.tend() => break error,
            }
        }
    };
    // Others are told first, so that they are there when we let go. Unconfirmed, it goes on in the background.
    let _ = registration.undo(LEAVE).await;
    turns.follow(&Assignment::default());
    // Who joins again has none until it has seen one.
    *lock(&sharing.assignment) = None;
    lock(&sharing.won).clear();
    // What nobody has taken goes in the background. It is gone when what is asked after it is answered.
    let (path, mut call) = (sharing.below(LEADER), session.call(None));
    let gone = async {
        turns.until_all_let_go().await;
        drop(call.ask(LEAVE, |server| server.sync(&path)).await);
    };
    unless(pin!(gone), session.until_closing()).await;
    end
}

const LEADER_WRITES: &str = "whoever of the members leads writes there who has which partition, for which it needs READ and WRITE and room within the quota";

fn mismatch(other: &str) -> Error {
    let said = format!(
        "{other:?} shares another list of partitions here; all have to name the same ones: leave with all of them before joining \
         with others"
    );
    Error::new(ErrorKind::Mismatch, said)
}

fn shared_by_kazoo(member: &str) -> Error {
    let said = format!(
        "kazoo's SetPartitioner shares the partitions of this path, with the member {member:?}, and neither waits for the other's \
         locks: each partition would be worked on twice; stop all its members before the first of these joins, or take another path"
    );
    Error::new(ErrorKind::Mismatch, said)
}

async fn failure_of(failed: &mut watch::Receiver<Option<Error>>) -> Error {
    match failed.wait_for(Option::is_some).await.map(|failed| failed.clone()) {
        Ok(Some(error)) => error,
        _ => std::future::pending().await,
    }
}

async fn next_assignment(observed: &mut Feed<Option<Leader>>, sharing: &Sharing) -> Result<Assignment> {
    loop {
        let leader = observed.next().await.unwrap_or_else(|| Err(Error::closed("client")))?;
        let Some(leader) = leader.filter(|leader| leader.acknowledged) else { continue };
        let list = &sharing.member.list;
        if Assignment::is_of_another_list(&leader.data, list) {
            return Err(mismatch(&leader.identity));
        }
        if let Some(assignment) = Assignment::parse(&leader.data, list, sharing.partitions.len()) {
            return Ok(assignment);
        }
    }
}

/// Computes the assignment, now and whenever somebody comes or goes, for as long as this member leads.
async fn assign(sharing: &Sharing, leadership: Leadership) -> Result<()> {
    let session = sharing.client.session()?;
    let mut list = session.watch_children(LISTING, &sharing.below(MEMBERS)).current();
    // Others follow what the leader before has said last, which this member may not have read.
    let before = leadership.said_last().await?;
    let before =
        before.and_then(|said| Assignment::parse(&said, &sharing.member.list, sharing.partitions.len()));
    let before = before.or_else(|| lock(&sharing.assignment).clone());
    // kazoo's members cannot see ours, and join all the same.
    let mut party = session.watch_children(LISTING, &sharing.below(PARTY));
    let mut looks_at_party = true;
    let mut said = None;
    loop {
        let Children(found) = tokio::select! {
            biased;
            found = list.next() => found?,
            found = party.next(), if looks_at_party => {
                // Of what may not be read there is nothing to tell.
                looks_at_party = found.is_ok();
                if let Ok(Children(Some((names, _)))) = found
                    && let Some(member) = names.first()
                    && session.is_first_time(&sharing.path)
                {
                    log::other_partitioner(&sharing.path, member);
                }
                continue;
            }
        };
        let names = found.map(|(names, _)| names).unwrap_or_default();
        let members: Vec<PartitionMember> =
            names.iter().filter_map(|name| PartitionMember::parse(name)).collect();
        let weights = weights(members.iter().filter(|member| member.list == sharing.member.list));
        let last = said.clone().or_else(|| before.clone());
        let next = last.unwrap_or_default().among(&weights, &sharing.partitions);
        if said.as_ref() == Some(&next) {
            continue;
        }
        let written = leadership.acknowledge(&next.to_bytes(&sharing.member.list)).await;
        written.map_err(|error| match error.kind() {
            ErrorKind::Denied => error.because(LEADER_WRITES.to_owned()),
            _ => error,
        })?;
        said = Some(next);
    }
}
