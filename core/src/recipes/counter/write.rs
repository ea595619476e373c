//! Making changes: reading, writing while nothing has changed since, and finding out what came of a write whose answer got
//! lost.
//!
//! A write is one transaction that sets the value at the version that was read, and writes number *k* into the mark. When
//! its answer is lost, the counter and the mark are read behind a quorum write:
//!
//! | the mark | the counter | the change |
//! |---|---|---|
//! | says *k* | | was made |
//! | says less | has another version | was not made, and never will be |
//! | says less, or is not there | has that version | was not made yet: the same transaction may be sent again, because one of the two at most finds that version |
//! | was never seen, and is not there | has another version | was not made, if so little time has passed that nobody can have deleted the mark |
//! | is not there, or cannot be read | else | nobody can know |
//! | | is not there, or was created anew | nobody can know |
//!
//! The mark also tells that the counter is the one that was read: a transaction that finds it below the counter cannot meet
//! a node that was deleted and made anew. The first with a mark makes it, and has only the version to go by. Who deletes a
//! counter between that read and that write, and has it counted up to the same version, loses what was counted since.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use super::line::{Change, Line, Outcome, apply};
use crate::error::{Error, ErrorKind, Result};
use crate::options::Naming;
use crate::path;
use crate::recipes::contenders;
use crate::session::call::{Call, refusal};
use crate::session::clock::Moment;
use crate::session::once::mark::{Mark, parse};
use crate::session::once::{beyond, sweep, unknown};
use crate::session::wire::{CreateMode, WireError, Write};
use crate::session::{Session, unless};
use crate::turn;
use crate::turn::grant::Grant;
use crate::turn::name::Kind;
use crate::turn::place::Queue;

const VERB: &str = "counting";
/// How often in a row the value is taken from memory. Then we read it: others who wait to write do the same, and get a
/// gap to write in.
const MOST_REMEMBERED: u32 = 3;
/// What a conflict counts, where a change that is made takes off one; and from where on we queue.
const CONFLICT: u32 = 2;
const CROWDED: u32 = 3;
/// How many marks and contenders below the counter are a crowd, and how many are so many that turns are long from the first.
const A_CROWD: i32 = 4;
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

/// Which state of a node.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
struct At {
    czxid: i64,
    version: i32,
}

/// The counter as it was read.
pub(super) struct Seen {
    pub(super) value: i64,
    /// `None` while it does not exist.
    at: Option<At>,
    children: i32,
    /// Whether it was so after it was asked for; otherwise only a write can tell.
    is_current: bool,
}

/// A write whose answer got lost.
struct Doubt {
    at: At,
    outcomes: Vec<Outcome>,
    /// When it was first sent.
    since: Moment,
}

/// What came of it.
enum Fate {
    Made,
    NotYet(Seen),
    Never(Seen),
}

/// What the one who serves the line of a counter works with.
#[derive(Default)]
pub(super) struct Desk {
    mark: Option<Mark>,
    /// The value that we wrote last, and where. Of use only as long as the mark stands that the same transaction wrote: it
    /// keeps the node from being deleted, so that nobody can have made it anew and counted up to the same version.
    known: Option<(i64, At)>,
    /// Whether nobody else wrote between our last two writes.
    is_alone: bool,
    remembered: u32,
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

impl Line {
    /// Reads the counter; if wanted, no older than now.
    pub(super) async fn look(&self, call: &mut Call, is_current: bool) -> Result<Seen> {
        loop {
            let epoch = call.epoch(VERB).await?;
            let link = epoch.link();
            // In one flight: the server answers the read after it has caught up.
            let sync = is_current.then(|| epoch.sync(&self.path));
            let read = epoch.get_data(&self.path);
            if let Some(sync) = sync {
                match call.briefly(VERB, sync).await? {
                    Err(error) if error.is_unanswered() => {
                        call.retry_after_loss(VERB).await?;
                        continue;
                    }
                    answer => answer.map_err(|error| refusal(error, VERB, &self.path))?,
                }
            }
            let read = call.briefly(VERB, read).await?;
            let is_one_connection = !is_current || epoch.link() == link;
            match read {
                Ok((data, stat)) if is_one_connection => {
                    let at = Some(At { czxid: stat.czxid, version: stat.version });
                    let value = self.encoding.decode(&data)?;
                    return Ok(Seen { value, at, children: stat.num_children, is_current });
                }
                Err(WireError::NoNode) if is_one_connection => {
                    return Ok(Seen { value: 0, at: None, children: 0, is_current });
                }
                Err(error) if !error.is_unanswered() && error != WireError::NoNode => {
                    return Err(refusal(error, VERB, &self.path));
                }
                _ => call.retry_after_loss(VERB).await?,
            }
        }
    }
}

impl Desk {
    pub(super) fn has_mark(&self) -> bool {
        self.mark.is_some()
    }

    pub(super) fn take_mark_back(&mut self, session: &Arc<Session>) {
        if let Some(mark) = self.mark.take() {
            session.take_back(mark.node);
        }
        (self.known, self.conflicts) = (None, 0);
    }

    /// How long we keep the turn and wait for more to do.
    pub(super) fn lingers(&self) -> Option<Duration> {
        self.turn.as_ref().map(|_| self.trip.min(MOST_LINGERING))
    }

    pub(super) fn let_go(&mut self) {
        (self.turn, self.conflicts) = (None, 0);
    }

    /// Makes the changes together.
    pub(super) async fn make(
        &mut self,
        line: &Arc<Line>,
        session: &Arc<Session>,
        changes: &[Change],
    ) -> Result<Vec<Outcome>> {
        let mut doubt = None;
        let made = self.attempt(line, session, changes, &mut doubt).await;
        made.map_err(|error| match doubt {
            Some(_) => {
                // The next change must not be taken for this one.
                self.take_mark_back(session);
                unknown(error, "the counter was changed", "Read it before you change it again")
            }
            None if error.kind() == ErrorKind::ConnectionLost => Error::new(
                ErrorKind::ConnectionLost,
                "no ZooKeeper server answered within the retry budget; the counter was not changed by this call. Check the \
                 servers and the network, and try again",
            ),
            None => error,
        })
    }

    async fn attempt(
        &mut self,
        line: &Arc<Line>,
        session: &Arc<Session>,
        changes: &[Change],
        doubt: &mut Option<Doubt>,
    ) -> Result<Vec<Outcome>> {
        let mut call = session.call(None);
        let mut must_be_current = false;
        loop {
            if doubt.is_none() {
                self.take_turn(line, session, &mut call).await?;
            }
            let seen = match doubt {
                None => self.read(line, &mut call, must_be_current).await?,
                Some(open) => match self.settle(line, session, &mut call, open).await? {
                    Fate::Made => {
                        let outcomes = std::mem::take(&mut open.outcomes);
                        self.count_up(None);
                        return Ok(outcomes);
                    }
                    Fate::NotYet(seen) => seen,
                    Fate::Never(seen) => {
                        *doubt = None;
                        seen
                    }
                },
            };
            if seen.children > i32::from(self.mark.as_ref().is_some_and(|mark| mark.made > 0)) {
                sweep::begin(&line.swept, session);
            }
            let (value, outcomes) = apply(seen.value, changes, &line.encoding.range());
            if value == seen.value {
                if seen.is_current {
                    return Ok(outcomes);
                }
                must_be_current = true;
                continue;
            }
            let at = match seen.at {
                Some(at) => at,
                None => match create(line, session, &mut call).await? {
                    Ok(at) => at,
                    Err(is_met) => {
                        // Others begin at this moment: another conflict is no accident.
                        self.conflicts += if is_met { CONFLICT } else { 0 };
                        continue;
                    }
                },
            };
            if at.version == -1 {
                return Err(Error::new(
                    ErrorKind::Invalid,
                    "invalid counter: after 4,294,967,295 changes its node has version -1, which ZooKeeper takes for any, so \
                     that nobody can change it safely; set its node once while nobody counts",
                ));
            }
            let mark = self.mark.get_or_insert_with(|| Mark::new(&line.path, session));
            let set = Write::Set {
                path: line.path.clone(),
                data: line.encoding.encode(value),
                version: Some(at.version),
            };
            let epoch = call.epoch(VERB).await?;
            let sent = session.now();
            let flight = mark.send(session, &epoch, &[set, mark.write()])?;
            let answer = call.briefly(VERB, flight).await;
            self.trip = session.now().since(sent);
            if !matches!(&answer, Ok(Ok(_))) && !matches!(&answer, Ok(Err(error)) if !error.is_unanswered()) {
                doubt.get_or_insert(Doubt { at, outcomes, since: sent });
                drop(answer?);
                call.retry_after_loss(VERB).await?;
                continue;
            }
            match answer? {
                Ok(_) => {
                    self.count_up(Some((value, at)));
                    return Ok(outcomes);
                }
                Err(WireError::Part { index: 0, error })
                    if matches!(*error, WireError::BadVersion | WireError::NoNode) =>
                {
                    self.known = None;
                    if doubt.is_none() && *error == WireError::BadVersion {
                        self.give_way(line, session, &mut call).await?;
                    }
                }
                // The counter had that version, so nothing was made before; and no attempt that may still be under way
                // can be: it asks of this mark what this one asked.
                Err(WireError::Part { index: 1, error })
                    if matches!(*error, WireError::NodeExists)
                        || matches!(*error, WireError::NoNode) && self.has_made_some() =>
                {
                    *doubt = None;
                    self.take_mark_back(session);
                }
                Err(error) => return Err(refusal(error, VERB, &line.path)),
            }
        }
    }

    fn has_made_some(&self) -> bool {
        self.mark.as_ref().is_some_and(|mark| mark.made > 0)
    }

    /// A change was made; `written` unless others may have written since.
    fn count_up(&mut self, written: Option<(i64, At)>) {
        if let Some(mark) = &mut self.mark {
            mark.made += 1;
        }
        self.made_in_turn += 1;
        match self.turn.take_if(|turn| self.made_in_turn >= self.most_in_turn || turn.epoch.has_ended()) {
            // Whoever had to wait for the turn queues for the next one at once: others do, too.
            Some(_) if self.has_waited => self.conflicts = CROWDED,
            Some(_) => self.conflicts = 0,
            None if self.turn.is_none() => self.conflicts = self.conflicts.saturating_sub(1),
            None => {}
        }
        self.known = written
            .filter(|(_, at)| (0..i32::MAX).contains(&at.version))
            .map(|(value, at)| (value, At { version: at.version + 1, ..at }));
    }

    /// What we wrote last, if that is likely to be there still, or what the server has.
    async fn read(&mut self, line: &Line, call: &mut Call, must_be_current: bool) -> Result<Seen> {
        if let Some((value, at)) = self.known
            && self.has_made_some()
            && !must_be_current
            && (self.turn.is_some() || self.is_alone && self.remembered < MOST_REMEMBERED)
        {
            self.remembered += 1;
            return Ok(Seen { value, at: Some(at), children: 0, is_current: false });
        }
        let seen = line.look(call, must_be_current).await?;
        self.neighbours = seen.children;
        self.is_alone = self.known.is_some_and(|(_, at)| Some(at) == seen.at);
        self.remembered = 0;
        Ok(seen)
    }

    /// After one conflict we try again at once; after more, or where many have changed the counter just now, we take turns with
    /// others who met some. That keeps nobody from writing who does not queue, so it is no condition for anything: it only
    /// makes conflicts rare.
    async fn give_way(&mut self, line: &Line, session: &Arc<Session>, call: &mut Call) -> Result<()> {
        self.turn.take_if(|turn| turn.epoch.has_ended());
        self.conflicts += if self.neighbours >= A_CROWD { CROWDED } else { CONFLICT };
        self.take_turn(line, session, call).await
    }

    async fn take_turn(&mut self, line: &Line, session: &Arc<Session>, call: &mut Call) -> Result<()> {
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
        let granted = {
            let (mut queueing, mut first) = (call.within(MOST_PATIENCE), None);
            let mut taking = pin!(turn::take(&queue, &mut queueing));
            loop {
                let until = session.now() + PATIENCE;
                match unless(taking.as_mut(), session.clock().sleep_until(until)).await {
                    Some(granted) => break granted,
                    None => match first_in_line(line, session).await {
                        now if now.is_some() && now != first => first = now,
                        _ => break Err(Error::timeout("the turn")),
                    },
                }
            }
        };
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

    /// What came of a write whose answer got lost: see the table above.
    async fn settle(
        &mut self,
        line: &Line,
        session: &Session,
        call: &mut Call,
        doubt: &Doubt,
    ) -> Result<Fate> {
        let mark = self.mark.as_ref().expect("a write has a mark");
        loop {
            let epoch = call.epoch(VERB).await?;
            let link = epoch.link();
            // In one flight. When the first is answered, what was asked for before has been decided, and the reads see it.
            let settled = epoch.settle(&line.path);
            let (counter, trace) = (epoch.get_data(&line.path), epoch.get_data(&mark.node));
            let settled = call.briefly(VERB, settled).await?;
            let counter = call.briefly(VERB, counter).await?;
            let trace = call.briefly(VERB, trace).await?;
            let is_unanswered = settled.as_ref().is_err_and(WireError::is_unanswered)
                || counter.as_ref().is_err_and(WireError::is_unanswered)
                || trace.as_ref().is_err_and(WireError::is_unanswered);
            if is_unanswered || epoch.link() != link {
                call.retry_after_loss(VERB).await?;
                continue;
            }
            if let Err(error) = settled
                && error != WireError::NoNode
            {
                return Err(refusal(error, VERB, &line.path));
            }
            let made = match trace {
                Ok((data, _)) => match parse(&data) {
                    Some((made, _)) => Some(made),
                    None => return Err(beyond("the node that would tell was written over")),
                },
                Err(WireError::NoNode) => None,
                Err(error) => return Err(refusal(error, VERB, &mark.node)),
            };
            if made.is_some_and(|made| made > mark.made) {
                return Ok(Fate::Made);
            }
            let (data, stat) = match counter {
                Ok(counter) => counter,
                Err(WireError::NoNode) => return Err(beyond("the counter was deleted")),
                Err(error) => return Err(refusal(error, VERB, &line.path)),
            };
            let at = At { czxid: stat.czxid, version: stat.version };
            let seen = Seen {
                value: line.encoding.decode(&data)?,
                at: Some(at),
                children: stat.num_children,
                is_current: true,
            };
            let waited = call.now().since(doubt.since);
            return match made {
                _ if at.czxid != doubt.at.czxid => Err(beyond("the counter was deleted and created anew")),
                _ if at.version == doubt.at.version => Ok(Fate::NotYet(seen)),
                Some(_) => Ok(Fate::Never(seen)),
                // A client that closes has deleted it itself.
                None if mark.made == 0 && mark.is_safe(waited) && session.leaves(&mark.node) => {
                    Ok(Fate::Never(seen))
                }
                None => Err(beyond("the node that would tell was deleted")),
            };
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

/// Creates the counter, and what is missing above it, as 0; an error to look again, which says whether somebody else has.
async fn create(line: &Line, session: &Arc<Session>, call: &mut Call) -> Result<Result<At, bool>> {
    let epoch = call.epoch(VERB).await?;
    let zero = line.encoding.encode(0);
    let created = match call.briefly(VERB, epoch.create(&line.path, &zero, CreateMode::Persistent)).await? {
        Err(WireError::NoNode) => {
            let parents = session.ensure(&epoch, path::parent(&line.path), session.parents());
            call.briefly(VERB, parents).await?
        }
        Ok(created) => return Ok(Ok(At { czxid: created.czxid, version: 0 })),
        Err(WireError::NodeExists) => return Ok(Err(true)),
        Err(error) => Err(error),
    };
    match created {
        Err(error) if error.is_unanswered() => call.retry_after_loss(VERB).await?,
        created => created.map_err(|error| refusal(error, VERB, &line.path))?,
    }
    Ok(Err(false))
}
