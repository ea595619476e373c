//! For how many a barrier is, and that all say the same number.
//!
//! The path says it in its data, and each member in the name of its node. Who came first is right.
//!
//! 1. Before its first member enters, a client reads the path, once for all its handles ([`agree`]). If it says another number
//!    and members stand who say so too, that is a Mismatch; else our word replaces it, guarded by its version, when our node
//!    is created.
//! 2. Others may say another number in that very moment, or later. Who sees few members looks at their names at once; who
//!    waits looks after a moment, at the path, or at the names if it came last ([`check_agreement_again`]).
//! 3. Who declares a round has the names before it, and so never declares one of members that say another number; who finds
//!    a round of another number reads who is there ([`check_agreement`]).
//! 4. Whoever came after the first, for another number, is told Mismatch and goes. Then its client asks again.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use super::layout::{self, Member, members};
use super::place::{ENTER, GivenUp, MemberPlace};
use crate::error::{Error, ErrorKind, Result};
use crate::mutex::lock;
use crate::options::Naming;
use crate::recipes::shared_lock::CurrentLock;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::refusal::refusal;
use crate::session::server_session::ServerSession;
use crate::session::wire::{WireError, Write};

/// The barrier as one handle sees it.
pub(super) struct BarrierHandle {
    pub(super) path: String,
    pub(super) parties: usize,
    /// By which others see our member.
    pub(super) name: String,
    pub(super) naming: Naming,
    pub(super) given_up: GivenUp,
    pub(super) agreement: Arc<Agreement>,
}

impl BarrierHandle {
    /// Says on the path for how many it is, maybe only in place of a certain version.
    pub(super) fn says(&self, version: Option<i32>) -> Write {
        Write::Set { path: self.path.clone(), data: self.parties.to_string().into_bytes(), version }
    }
}

/// What a client remembers of barriers that no handle is on.
const MOST_PATHS: usize = 1000;

/// What the handles of a client know together, by path.
#[derive(Default)]
pub(super) struct KnownParties(Mutex<HashMap<String, Arc<Agreement>>>);

impl KnownParties {
    pub(super) fn of(&self, path: &str) -> Arc<Agreement> {
        let mut all = lock(&self.0);
        if all.len() >= MOST_PATHS && !all.contains_key(path) {
            // Asking once more is better than remembering without limit.
            all.retain(|_, agreement| Arc::strong_count(agreement) > 1);
        }
        all.entry(path.to_owned()).or_default().clone()
    }
}

#[derive(Default)]
pub(super) struct Agreement {
    parties: Mutex<Option<usize>>,
    /// One handle asks, and the others wait for what it learns.
    pub(super) asking: CurrentLock<()>,
}

impl Agreement {
    /// Whether so many are known to be everybody's number, unless they change it.
    pub(super) fn is_on(&self, parties: usize) -> bool {
        *lock(&self.parties) == Some(parties)
    }

    pub(super) fn is(&self, parties: usize) {
        *lock(&self.parties) = Some(parties);
    }

    /// To be asked again.
    pub(super) fn ends(&self) {
        *lock(&self.parties) = None;
    }
}

/// For how many the path is, by what it says.
fn parties(data: &[u8]) -> Option<usize> {
    std::str::from_utf8(data).ok()?.parse().ok()
}

/// Reads for how many the path says that it is, which is what we say. Answers the version that our own word on it replaces,
/// if it must be a certain one; `None`: once more.
pub(super) async fn agree(
    barrier: &BarrierHandle,
    session: &Arc<Session>,
    server_session: &Arc<ServerSession>,
    call: &mut Call,
) -> Result<Option<Option<i32>>> {
    let at = &barrier.path;
    let refused = |error| Err(refusal(error, ENTER, at));
    match call.receive(ENTER, server_session.get_data(at)).await? {
        Ok((data, stat)) => {
            match parties(&data) {
                Some(parties) if parties == barrier.parties => Ok(Some(None)),
                Some(parties) if stat.num_children > 0 => {
                    let names = match call.receive(ENTER, server_session.children(at)).await? {
                        Ok(names) => names,
                        Err(WireError::NoNode) => return Ok(None),
                        Err(error) if error.is_unanswered() => {
                            call.retry_after_loss(ENTER).await?;
                            return Ok(None);
                        }
                        Err(error) => return refused(error),
                    };
                    // Of peers it is not known; and who said it may have gone.
                    let number = |member: Member<'_>| member.says.map_or(parties, |(parties, _)| parties);
                    match members(&names).map(number).find(|theirs| *theirs != barrier.parties) {
                        Some(theirs) => Err(mismatch(barrier, theirs)),
                        None => Ok(Some(Some(stat.version))),
                    }
                }
                // Of rounds that are over, or a peer's.
                _ => Ok(Some(Some(stat.version))),
            }
        }
        Err(WireError::NoNode) => {
            call.make_path(ENTER, server_session, at, session.parents()).await?;
            Ok(None)
        }
        Err(error) if error.is_unanswered() => {
            call.retry_after_loss(ENTER).await?;
            Ok(None)
        }
        Err(error) => refused(error),
    }
}

/// Others say another number. What is known of the path is to be asked again.
fn mismatch(barrier: &BarrierHandle, theirs: usize) -> Error {
    let ours = barrier.parties;
    barrier.agreement.ends();
    Error::new(
        ErrorKind::Mismatch,
        format!("others wait there for {theirs} parties, and we for {ours}; all must say the same number"),
    )
}

/// Whether everybody is there for our number still, as far as one look at the path tells; who was the last to come and did not
/// ask looks at all of them, once. Who came first is right, and the path is to say so: then the others see it.
pub(super) async fn check_agreement_again(
    barrier: &BarrierHandle,
    place: &MemberPlace,
    said: &mut Option<i32>,
    call: &mut Call,
) -> Result<()> {
    let at = &barrier.path;
    let Some(Ok((data, stat))) = place.ask(call, ENTER, |server| server.get_data(at)).await? else {
        return Ok(());
    };
    let was_last = said.is_some_and(|version| version == stat.version);
    if parties(&data) == Some(barrier.parties) && !was_last {
        return Ok(());
    }
    *said = None;
    let Some(Ok(names)) = place.ask(call, ENTER, |server| server.children(at)).await? else {
        return Ok(());
    };
    let right = first(&names).map_or(barrier.parties, |(parties, _)| parties);
    if parties(&data) != Some(right) {
        let word = right.to_string();
        // Should that fail, the next look makes up for it.
        let _ = call
            .receive(ENTER, place.server_session.set_data(at, word.as_bytes(), Some(stat.version)))
            .await?;
    }
    if right == barrier.parties { Ok(()) } else { Err(mismatch(barrier, right)) }
}

/// The names of all children. `None`: we are not there any more.
pub(super) async fn list_children(
    barrier: &BarrierHandle,
    place: &MemberPlace,
    call: &mut Call,
) -> Result<Option<Vec<String>>> {
    match place.ask(call, ENTER, |server| server.children(&barrier.path)).await? {
        None | Some(Err(WireError::NoNode)) => Ok(None),
        Some(names) => names.map(Some).map_err(|error| refusal(error, ENTER, &barrier.path)),
    }
}

/// Mismatch: others are there for another number of parties, and were there first.
pub(super) fn check_agreement(barrier: &BarrierHandle, names: &[String]) -> Result<()> {
    match other_number(barrier, names) {
        Some(theirs) if !came_first(barrier, names) => Err(mismatch(barrier, theirs)),
        _ => Ok(()),
    }
}

/// Of those who say for how many they wait, what the first says, and its number.
fn first(names: &[String]) -> Option<(usize, i32)> {
    members(names).filter_map(|member| member.says).min_by_key(|(_, number)| *number)
}

/// Whether the first waits for as many as we do. At the end of the numbers nobody knows who was that.
fn came_first(barrier: &BarrierHandle, names: &[String]) -> bool {
    first(names).is_some_and(|(parties, number)| parties == barrier.parties && number < layout::SPENT)
}

/// A number that is not ours, which somebody there waits for.
fn other_number(barrier: &BarrierHandle, names: &[String]) -> Option<usize> {
    let said = members(names).filter_map(|member| member.says);
    said.map(|(parties, _)| parties).find(|parties| *parties != barrier.parties)
}
