//! Who stands ahead of a contender, by a list.

use super::name::ContenderName;
use super::order::Contenders;
use super::place::{Node, Place};
use crate::error::Result;
use crate::path;
use crate::session::call::Call;
use crate::session::refusal::refusal;
use crate::session::server_session::shared_lists::SharedNames;
use crate::sort;

/// Those before us for whom we wait.
#[derive(Default)]
pub(super) struct Ahead {
    pub(super) count: usize,
    /// The name of the first one.
    pub(super) first: Option<String>,
    /// The two that are closest to us, the closest last. Only they matter to who waits.
    pub(super) nearest: Vec<ContenderName>,
}

/// Who is before us: `None` when the list has to be asked for again. `leads_late` stays with the place: whether nobody past the end
/// of the range is before us any more.
pub(super) async fn ahead_of(
    place: &Place,
    call: &mut Call,
    verb: &str,
    node: &Node,
    names: &SharedNames,
    leads_late: &mut bool,
) -> Result<Option<Ahead>> {
    let contenders = Contenders::of(names);
    let before = contenders.before(&node.entry);
    let mut ahead = Ahead {
        count: before.count(),
        first: before.iter().next().map(|entry| entry.name.clone()),
        nearest: before.iter().rev().take(2).cloned().collect(),
    };
    ahead.nearest.reverse();
    // Whoever comes later has a higher czxid. So it need not be asked for while we are first and in doubt of our session: with a
    // second round trip a look could take longer than the session is certain at a time.
    let late = if *leads_late { Vec::new() } else { contenders.late_beside(&node.entry) };
    if !late.is_empty() {
        let Some(late) = Box::pin(late_ahead_of(place, call, verb, node, late)).await? else {
            return Ok(None);
        };
        *leads_late = late.is_empty();
        ahead.count += late.len();
        ahead.first = ahead.first.or_else(|| late.first().map(|entry| entry.name.clone()));
        ahead.nearest.extend(late);
        ahead.nearest.drain(..ahead.nearest.len().saturating_sub(2));
    }
    Ok(Some(ahead))
}

/// Past the end of the range only the czxid tells who came first, and listings carry none. It is asked for after the list,
/// so our own node is asked for last: what the others' answers say counts only if it still stands then.
async fn late_ahead_of(
    place: &Place,
    call: &mut Call,
    verb: &str,
    node: &Node,
    late: Vec<ContenderName>,
) -> Result<Option<Vec<ContenderName>>> {
    let server_session = &place.server_session;
    let flights: Vec<_> =
        late.iter().map(|entry| server_session.exists(&path::join(place.parent(), &entry.name))).collect();
    let own = server_session.exists(&node.path);
    let mut ahead = Vec::new();
    let mut is_answered = true;
    for (entry, flight) in late.into_iter().zip(flights) {
        match call.receive(verb, flight).await? {
            Ok(Some(stat)) if stat.czxid < node.czxid => ahead.push((stat.czxid, entry)),
            Ok(_) => {}
            Err(error) if error.is_unanswered() => is_answered = false,
            Err(error) => return Err(refusal(error, verb, place.parent())),
        }
    }
    let stands = match call.receive(verb, own).await? {
        Ok(stat) => stat.is_some(),
        Err(error) if error.is_unanswered() => {
            is_answered = false;
            false
        }
        Err(error) => return Err(refusal(error, verb, &node.path)),
    };
    if !is_answered {
        call.retry_after_loss(verb).await?;
    }
    if !is_answered || !stands {
        return Ok(None);
    }
    sort::by_key(&mut ahead, |(czxid, _)| *czxid);
    Ok(Some(ahead.into_iter().map(|(_, entry)| entry).collect()))
}
