//! Asks those before us to move behind us: candidates of a lower priority.
//!
//! 1. Who is first in order leads, whatever its priority: what changes is who stands where. So exclusion, epochs and observers are
//!    what they are without priorities, and so are the participants of others.
//! 2. A candidate that has stood for a while (see [`SETTLING`]) asks each candidate of ours before it that is lower, as in
//!    `revocation`. The names say who that is. A candidate before it that is as high asks for itself. Until it has asked, its session
//!    is kept certain as that of one who is next.
//! 3. A waiting one that is asked makes a new node at the end, and then deletes the old one: it stands all the time. From there it
//!    asks, and is asked, as everybody.
//! 4. The first in order, who leads, is asked when nobody stands between: whoever asks is then the next to lead, and the gap is
//!    one deletion and one event. It drains and lets go as it does whenever it is revoked.
//! 5. A waiting one that has not moved in time (see [`PATIENCE`]), such as one whose process was killed, is deleted, in a
//!    transaction that checks that the first stands: so it does not lead. It queues again if it lives, as everybody does whose
//!    node is gone while it waits. One that may stand behind another of its session in memory is left alone: the turn could be
//!    passed to it before it hears of that.
//! 6. Others cannot be asked: theirs are waited for. Nobody comes before who stands, so each is asked once.
//!
//! Whoever asks may die: who was asked has moved for nothing. Of two that ask at once the lower one is asked by the higher, also if
//! it has come to lead by then.

use std::time::Duration;

use super::name::ContenderName;
use super::order::Contenders;
use super::place::{Listing, Place};
use super::revocation::{REVOKE, request};
use crate::error::Result;
use crate::path;
use crate::session::call::Call;
use crate::session::clock::Moment;
use crate::session::server_session::shared_lists::SharedNames;
use crate::session::wire::{WireError, Write};

/// How long a candidate has to stand before it asks anybody, so that one that comes and goes at once moves nobody. With the time
/// below and that for draining it is less than the two seconds after which the best one is to lead.
const SETTLING: Duration = Duration::from_millis(400);

/// How long a waiting one has time to move: it takes three round trips.
const PATIENCE: Duration = Duration::from_millis(300);

/// What one candidate has to ask, and of whom.
pub(super) struct MoveRequests {
    since: Moment,
    /// Those that it is to ask, and has not.
    lower: Vec<String>,
    asked: Vec<String>,
    /// When those that wait were asked, as long as one of them stands and nothing more was done.
    pending: Option<Moment>,
    /// Whether the first of all is the only one before it.
    is_next: bool,
    /// Since when something is due that it does not do, as it could not lead.
    in_doubt: Option<Moment>,
}

impl MoveRequests {
    /// It stands from now on.
    pub(super) fn new(now: Moment) -> MoveRequests {
        MoveRequests {
            since: now,
            lower: Vec::new(),
            asked: Vec::new(),
            pending: None,
            is_next: false,
            in_doubt: None,
        }
    }

    /// A list says who is before it: `first` the first of all.
    pub(super) fn sees(
        &mut self,
        contenders: &Contenders,
        own: &ContenderName,
        first: Option<&str>,
        ahead: usize,
    ) {
        let lower = contenders.lower(own);
        self.is_next = ahead == 1;
        // The first is asked only when it is the only one.
        let waiting = lower.iter().filter(|one| self.is_next || first != Some(one.name.as_str()));
        let (asked, due): (Vec<&ContenderName>, Vec<_>) =
            waiting.partition(|one| self.asked.contains(&one.name));
        self.pending.take_if(|_| asked.is_empty() || self.is_next);
        self.lower = due.into_iter().map(|one| one.name.clone()).collect();
        if self.due().is_none() {
            self.in_doubt = None;
        }
    }

    /// When it is to ask, or to look after whom it has asked; `None` while there is nothing to do.
    pub(super) fn due(&self) -> Option<Moment> {
        let asks = (!self.lower.is_empty()).then_some(self.since + SETTLING);
        asks.or(self.pending.map(|asked| asked + PATIENCE))
    }

    pub(super) fn is_due(&self, now: Moment) -> bool {
        self.due().is_some_and(|due| due <= now)
    }

    /// Asks those that are to be asked, and deletes those that have not moved.
    pub(super) async fn act(&mut self, place: &Place, call: &mut Call, verb: &str) -> Result<()> {
        // Who could not lead asks nobody.
        let doubted = *self.in_doubt.get_or_insert_with(|| call.now());
        if !place.server_session.is_firm_enough(doubted) {
            self.since = call.now();
            self.pending = self.pending.map(|_| call.now());
            return Ok(());
        }
        self.in_doubt = None;
        if self.lower.is_empty() {
            self.delete(place, call, verb).await
        } else {
            self.ask(place, call, verb).await
        }
    }

    async fn ask(&mut self, place: &Place, call: &mut Call, verb: &str) -> Result<()> {
        let server_session = &place.server_session;
        while !self.lower.is_empty() && !server_session.has_ended() {
            // Each in one flight, and in this order.
            let node = |name: &String| path::join(place.parent(), name);
            let reads: Vec<_> = self.lower.iter().map(|name| server_session.get_data(&node(name))).collect();
            let (mut requests, mut unanswered) = (Vec::new(), Vec::new());
            for (name, flight) in std::mem::take(&mut self.lower).into_iter().zip(reads) {
                match call.receive(verb, flight).await? {
                    Ok((data, _)) => requests.push((name, request(&data))),
                    Err(error) if error.is_unanswered() => unanswered.push(name),
                    Err(_) => requests.push((name, REVOKE.to_vec())),
                }
            }
            let ask = |(name, word): &(String, Vec<u8>)| server_session.set_data(&node(name), word, None);
            let flights: Vec<_> = requests.iter().map(ask).collect();
            for ((name, _), flight) in requests.into_iter().zip(flights) {
                match call.receive(verb, flight).await? {
                    Err(WireError::ConnectionLoss) => unanswered.push(name),
                    // It has gone, or we may not write there: it is waited for.
                    _ => self.asked.push(name),
                }
            }
            self.lower = unanswered;
            if !self.lower.is_empty() {
                call.retry_after_loss(verb).await?;
            }
        }
        self.pending = (!self.is_next).then(|| call.now());
        Ok(())
    }

    /// What becomes of it shows in the lists that follow.
    async fn delete(&mut self, place: &Place, call: &mut Call, verb: &str) -> Result<()> {
        self.pending = None;
        let Listing::Names(names) = place.list(call, verb).await? else { return Ok(()) };
        let server_session = &place.server_session;
        let node = |name: &str| path::join(place.parent(), name);
        let before = before(place, &names);
        let flights: Vec<_> = before.iter().map(|name| server_session.exists(&node(name))).collect();
        let mut sessions = Vec::new();
        let mut unmoved = Vec::new();
        for (name, flight) in before.iter().zip(flights) {
            let owner = match call.receive(verb, flight).await? {
                Ok(stat) => stat.map(|stat| stat.ephemeral_owner),
                Err(error) => {
                    self.pending = error.is_unanswered().then(|| call.now());
                    return Ok(());
                }
            };
            let is_only_one = owner.is_some_and(|owner| !sessions.contains(&owner));
            if is_only_one && !sessions.is_empty() && self.asked.contains(name) {
                unmoved.push(name);
            }
            sessions.extend(owner);
        }
        let Some(first) = before.first() else { return Ok(()) };
        let delete = |name: &&String| {
            let check = Write::Check { path: node(first), version: None };
            server_session.multi(&[check, Write::Delete { path: node(name), version: None }])
        };
        let flights: Vec<_> = unmoved.iter().map(delete).collect();
        for flight in flights {
            // The first has gone, or that one has: the lists tell.
            let _ = call.receive(verb, flight).await?;
        }
        Ok(())
    }
}

/// The names of those before us, in order.
fn before(place: &Place, names: &SharedNames) -> Vec<String> {
    let Some(own) = place.node() else { return Vec::new() };
    Contenders::of(names).before(&own.entry).iter().map(|one| one.name.clone()).collect()
}
