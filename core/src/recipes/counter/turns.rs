//! Turns of those who are in each other's way.
//!
//! After one conflict we try again at once; after more, or where many have changed the counter just now, we take turns with
//! others who met some. That keeps nobody from writing who does not queue, so it is no condition for anything: it only
//! makes conflicts rare.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use super::VERB;
use super::line::Line;
use crate::error::{Error, ErrorKind, Result};
use crate::options::Naming;
use crate::recipes::contenders;
use crate::session::call::Call;
use crate::session::wire::CreateMode;
use crate::session::{Session, unless};
use crate::turn;
use crate::turn::grant::Grant;
use crate::turn::name::Kind;
use crate::turn::place::Queue;

/// What a conflict counts, where a change that is made takes off one; and from where on we queue.
const CONFLICT: u32 = 2;
const CROWDED: u32 = 3;
/// How many marks and contenders below the counter are a crowd, and how many are so many that turns are long from the first.
pub(super) const A_CROWD: i32 = 4;
const MANY_NEIGHBOURS: i32 = 2 * MOST_IN_A_TURN as i32;
/// How long one client may have the turn before the others count without. Queueing is voluntary: a client that stops while
/// it has the turn must not keep others from counting.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long to queue at most. Whoever gives up in a line that moves gets in the way of the one whose turn it is.
const MOST_PATIENCE: Duration = Duration::from_secs(60);
/// How many transactions in a row to make before the next one has the turn. Passing it on costs some. So a client that
/// has waited for as many turns as there are changes in one makes more: many clients together get no less done than a few.
const MOST_IN_A_TURN: u32 = 16;
const MOST_AFTER_A_LONG_WAIT: u32 = 40;
/// How many times as long as a write it takes to get a turn that nobody has, with some to spare.
const A_TURN_TAKEN_AT_ONCE: u32 = 6;
/// How long to keep the turn when nothing is asked for.
const MOST_LINGERING: Duration = Duration::from_millis(5);

/// Whether it is our turn, and what tells whether to queue for one.
#[derive(Default)]
pub(super) struct Turns {
    conflicts: u32,
    /// How many marks and contenders stood below the counter when it was read last.
    neighbours: i32,
    /// The turn, while many count, and how many transactions we have made in it.
    turn: Option<Grant>,
    made_in_turn: u32,
    most_in_turn: u32,
    /// Whether others had it when we queued.
    has_waited: bool,
    /// Whether the server lets us queue nowhere below the counter.
    may_not_queue: bool,
    /// How long the last write took.
    trip: Duration,
}

impl Turns {
    pub(super) fn is_ours(&self) -> bool {
        self.turn.is_some()
    }

    /// How long we keep the turn and wait for more to do.
    pub(super) fn lingers(&self) -> Option<Duration> {
        self.turn.as_ref().map(|_| self.trip.min(MOST_LINGERING))
    }

    pub(super) fn let_go(&mut self) {
        (self.turn, self.conflicts) = (None, 0);
    }

    pub(super) fn forget_conflicts(&mut self) {
        self.conflicts = 0;
    }

    /// Others begin at this moment: another conflict is no accident.
    pub(super) fn met_others(&mut self) {
        self.conflicts += CONFLICT;
    }

    /// So many stood below the counter just now.
    pub(super) fn saw(&mut self, neighbours: i32) {
        self.neighbours = neighbours;
        // Many who begin at once have not waited for long yet when they get their first turn.
        if self.turn.is_some() && self.made_in_turn == 0 {
            self.most_in_turn = self.most_in_turn.max(self.most_after(Duration::ZERO));
        }
    }

    /// A write was answered after `trip`.
    pub(super) fn answered_after(&mut self, trip: Duration) {
        self.trip = trip;
    }

    /// A change was made.
    pub(super) fn made_one(&mut self) {
        self.made_in_turn += 1;
        match self.turn.take_if(|turn| self.made_in_turn >= self.most_in_turn || turn.epoch.has_ended()) {
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
        line: &Line,
        session: &Arc<Session>,
        call: &mut Call,
    ) -> Result<()> {
        self.turn.take_if(|turn| turn.epoch.has_ended());
        self.conflicts += if self.neighbours >= A_CROWD { CROWDED } else { CONFLICT };
        self.take(line, session, call).await
    }

    /// Queues for the turn, if there have been conflicts.
    pub(super) async fn take(&mut self, line: &Line, session: &Arc<Session>, call: &mut Call) -> Result<()> {
        if self.conflicts < CROWDED || self.turn.is_some() || self.may_not_queue {
            return Ok(());
        }
        self.conflicts = CROWDED;
        // The path is the counter: if it was deleted, it is not to come back as something that goes once nobody queues.
        let queue = Queue {
            naming: Naming::Curator,
            mode: CreateMode::Persistent,
            verb: VERB,
            ..Queue::of(session, &line.path, Kind::Lock)
        };
        let queued = session.now();
        let mut queueing = call.within(MOST_PATIENCE);
        let granted = call.patiently(async {
            let (mut first, mut taking) = (None, pin!(turn::take(&queue, &mut queueing)));
            loop {
                let until = session.now() + PATIENCE;
                match unless(taking.as_mut(), session.clock().sleep_until(until)).await {
                    Some(granted) => break granted,
                    None => match first_in_line(line, session).await {
                        now if now.is_some() && now != first => first = now,
                        _ => break Err(Error::timeout("not acquired")),
                    },
                }
            }
        });
        let granted = granted.await?;
        match granted {
            Ok(grant) => {
                (self.turn, self.made_in_turn) = (Some(grant), 0);
                let wait = session.now().since(queued);
                self.most_in_turn = self.most_after(wait);
                self.has_waited = wait > self.trip * A_TURN_TAKEN_AT_ONCE;
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

    fn most_after(&self, wait: Duration) -> u32 {
        let is_long =
            wait > self.trip * MOST_IN_A_TURN * MOST_IN_A_TURN || self.neighbours >= MANY_NEIGHBOURS;
        // As long as others have patience for.
        match is_long && self.trip * MOST_AFTER_A_LONG_WAIT < PATIENCE / 2 {
            true => MOST_AFTER_A_LONG_WAIT,
            false => MOST_IN_A_TURN,
        }
    }
}

/// Whose turn it is, as the server says at once.
async fn first_in_line(line: &Line, session: &Session) -> Option<String> {
    let names = session.epoch().children(&line.path).await.ok()?;
    let all = names.iter().filter_map(|name| contenders::in_line(name, Kind::Lock));
    all.reduce(|first, other| if other.precedes(&first) == Some(true) { other } else { first })
        .map(|first| first.name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_long_where_many_count_and_none_loses_patience() {
        let most =
            |neighbours, trip| Turns { neighbours, trip, ..Turns::default() }.most_after(Duration::ZERO);
        let quick = Duration::from_millis(2);
        assert_eq!(most(MANY_NEIGHBOURS, quick), MOST_AFTER_A_LONG_WAIT);
        assert_eq!(most(MANY_NEIGHBOURS - 1, quick), MOST_IN_A_TURN);
        assert_eq!(most(MANY_NEIGHBOURS, PATIENCE / MOST_AFTER_A_LONG_WAIT), MOST_IN_A_TURN);
    }
}
