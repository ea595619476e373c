//! Who writes when, among clients that are in each other's way.
//!
//! After one conflict we try again at once; after more, or where many have changed the counter just now, we take turns with
//! others who met some: we queue below the counter, as for a lock, and make several changes when it is our turn. That keeps
//! nobody from writing who does not queue, so it is no condition for anything: it only makes conflicts rare.
//!
//! What it costs and saves is counted in requests. A change is one write, with a read before it where the value is not known.
//! A conflict costs two more, the write that is refused and the read after it. A turn costs three, which create, list and
//! delete a contender.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use super::value::{CounterNode, VERB};
use crate::error::{Error, ErrorKind, Result};
use crate::futures::unless;
use crate::options::Naming;
use crate::recipes::contenders;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::wire::CreateMode;
use crate::turn;
use crate::turn::grant::Grant;
use crate::turn::name::Kind;
use crate::turn::place::TurnRequest;

/// What a conflict counts, where a change that is made takes off one; and from where on we queue. So the second conflict in
/// three changes leads to a turn: one costs less than a turn, and two cost more.
const CONFLICT: u32 = 2;
const CROWDED: u32 = 3;
/// How many marks and contenders below the counter are a crowd. There the first conflict leads to a turn, which saves each
/// client the two requests of the second; and one client among all lists the marks of those that crashed, where with fifty
/// there would be fifty such lists.
pub(super) const A_CROWD: i32 = 4;
/// How long one client may have the turn before the others count without. Queueing is voluntary: a client that stops while
/// it has the turn must not keep others from counting. It costs each who waits a list every second.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long to queue at most. Whoever gives up in a line that moves gets in the way of the one whose turn it is.
const MOST_PATIENCE: Duration = Duration::from_secs(60);
/// How many transactions in a row to make before the next one has the turn: 3/16 of a request for each, where turns of one
/// would cost three.
const MOST_IN_A_TURN: u32 = 16;
/// The same where so many marks and contenders stand, one of each for 16 clients: 3/40 of a request. Where a write takes 2 ms,
/// and it takes three times as long to pass the turn on, that is a tenth more changes, so that many get no less done than a few.
const MOST_IN_A_LONG_TURN: u32 = 40;
const MANY_NEIGHBOURS: i32 = 32;
/// How many times as long as a write it takes to get a turn that nobody has, with some to spare. Who had to wait for longer
/// queues again at once: five or fifty who count all the time need 1.66 requests for each change instead of 2.05.
const A_TURN_TAKEN_AT_ONCE: u32 = 6;
/// How long to keep the turn when nothing is asked for, and no longer than a write takes. Who asks for a change when the last
/// one is answered would need a turn, three requests, for each of them.
const MOST_LINGERING: Duration = Duration::from_millis(5);

/// Whether it is our turn, and what tells whether to queue for one.
#[derive(Default)]
pub(super) struct Fairness {
    conflicts: u32,
    /// How many marks and contenders stood below the counter when it was read last.
    neighbours: i32,
    /// The turn, while many count, and how many transactions we have made in it.
    turn: Option<Grant>,
    made_in_turn: u32,
    /// Whether others had it when we queued.
    has_waited: bool,
    /// Whether the server lets us queue nowhere below the counter.
    may_not_queue: bool,
    /// How long the last write took.
    trip: Duration,
}

impl Fairness {
    pub(super) fn is_our_turn(&self) -> bool {
        self.turn.is_some()
    }

    /// How long we keep the turn and wait for more to do.
    pub(super) fn lingers(&self) -> Option<Duration> {
        self.turn.as_ref().map(|_| self.trip.min(MOST_LINGERING))
    }

    pub(super) fn end_turn(&mut self) {
        (self.turn, self.conflicts) = (None, 0);
    }

    pub(super) fn forget_conflicts(&mut self) {
        self.conflicts = 0;
    }

    /// Others begin at this moment: another conflict is no accident.
    pub(super) fn note_others(&mut self) {
        self.conflicts += CONFLICT;
    }

    /// So many stood below the counter just now.
    pub(super) fn note_neighbours(&mut self, neighbours: i32) {
        self.neighbours = neighbours;
    }

    /// A write was answered after `trip`.
    pub(super) fn note_trip(&mut self, trip: Duration) {
        self.trip = trip;
    }

    /// A transaction was applied.
    pub(super) fn note_change(&mut self) {
        self.made_in_turn += 1;
        let most = self.most_in_turn();
        match self.turn.take_if(|turn| self.made_in_turn >= most || turn.server_session.has_ended()) {
            // Whoever had to wait for the turn queues for the next one at once: others do, too.
            Some(_) if self.has_waited => self.conflicts = CROWDED,
            Some(_) => self.conflicts = 0,
            None if self.turn.is_none() => self.conflicts = self.conflicts.saturating_sub(1),
            None => {}
        }
    }

    /// Somebody else has written first.
    pub(super) async fn give_way(
        &mut self,
        node: &CounterNode,
        session: &Arc<Session>,
        call: &mut Call,
    ) -> Result<()> {
        self.turn.take_if(|turn| turn.server_session.has_ended());
        self.conflicts += if self.neighbours >= A_CROWD { CROWDED } else { CONFLICT };
        self.take_turn(node, session, call).await
    }

    /// Queues for the turn, if there have been conflicts.
    pub(super) async fn take_turn(
        &mut self,
        node: &CounterNode,
        session: &Arc<Session>,
        call: &mut Call,
    ) -> Result<()> {
        if self.conflicts < CROWDED || self.turn.is_some() || self.may_not_queue {
            return Ok(());
        }
        self.conflicts = CROWDED;
        // The path is the counter: if it was deleted, it is not to come back as something that goes once nobody queues.
        let queue = TurnRequest {
            naming: Naming::Curator,
            mode: CreateMode::Persistent,
            verb: VERB,
            ..TurnRequest::of(session, &node.path, Kind::Lock)
        };
        let queued = session.now();
        let mut queueing = call.within(MOST_PATIENCE);
        let granted = call.wait_for(async {
            let (mut first, mut taking) = (None, pin!(turn::take(&queue, &mut queueing)));
            loop {
                let until = session.now() + PATIENCE;
                match unless(taking.as_mut(), session.clock().sleep_until(until)).await {
                    Some(granted) => break granted,
                    None => match find_first(node, session).await {
                        now if now.is_some() && now != first => first = now,
                        _ => break Err(Error::timeout("not acquired")),
                    },
                }
            }
        });
        match granted.await? {
            Ok(grant) => {
                (self.turn, self.made_in_turn) = (Some(grant), 0);
                self.has_waited = session.now().since(queued) > self.trip * A_TURN_TAKEN_AT_ONCE;
            }
            Err(error) if error.kind() == ErrorKind::Closed => return Err(error),
            // A client that gets no turn writes without one.
            Err(error) => {
                self.may_not_queue = error.kind() == ErrorKind::Denied;
                self.conflicts = 0;
            }
        }
        Ok(())
    }

    /// Long turns only as long as others have patience for.
    fn most_in_turn(&self) -> u32 {
        let is_patient = self.trip * MOST_IN_A_LONG_TURN < PATIENCE / 2;
        if self.neighbours >= MANY_NEIGHBOURS && is_patient { MOST_IN_A_LONG_TURN } else { MOST_IN_A_TURN }
    }
}

/// Whose turn it is, as the server says at once.
async fn find_first(node: &CounterNode, session: &Session) -> Option<String> {
    let names = session.server_session().children(&node.path).await.ok()?;
    let all = names.iter().filter_map(|name| contenders::in_line(name, Kind::Lock));
    all.reduce(|first, other| if other.precedes(&first) == Some(true) { other } else { first })
        .map(|first| first.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_long_where_many_count_and_none_loses_patience() {
        let most = |neighbours, trip| Fairness { neighbours, trip, ..Fairness::default() }.most_in_turn();
        let quick = Duration::from_millis(2);
        assert_eq!(most(MANY_NEIGHBOURS, quick), MOST_IN_A_LONG_TURN);
        assert_eq!(most(MANY_NEIGHBOURS - 1, quick), MOST_IN_A_TURN);
        assert_eq!(most(MANY_NEIGHBOURS, PATIENCE / MOST_IN_A_LONG_TURN), MOST_IN_A_TURN);
    }
}
