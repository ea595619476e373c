//! One attempt after the other, until the changes are made: read, write while nothing has changed since, and find out what
//! became of a write whose answer got lost.
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
//! A latch is made by its first change, in the same transaction: others may say another number. There "that version" is: it is not
//! there. A counter is made before, as 0.
//!
//! The mark also tells that the counter is the one that was read: a transaction that finds it below the counter cannot meet
//! a node that was deleted and made anew. The first with a mark makes it, and has only the version to go by. Who deletes a
//! counter between that read and that write, and has it counted up to the same version, loses what was counted since.

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use super::fairness::{A_CROWD, Fairness};
use super::latch_value::LatchValue;
use super::value::{CounterNode, NodeVersion, Reading, VERB, has_changed};
use crate::error::{Error, ErrorKind, Result};
use crate::session::Session;
use crate::session::call::Call;
use crate::session::clock::Moment;
use crate::session::once::mark::{Mark, parse};
use crate::session::once::{beyond, sweep, unknown};
use crate::session::random;
use crate::session::refusal::refusal;
use crate::session::wire::WireError;

/// What somebody wants of the counter.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(in crate::recipes) enum Change {
    Add(i64),
    Set(i64),
    Swap {
        old: i64,
        new: i64,
    },
    /// Of a latch.
    CountDown(u32),
    Reset(u32),
}

/// What came of it.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(in crate::recipes) enum ChangeOutcome {
    Value(i64),
    OutOfRange,
    Swapped,
    Different,
}

/// What the changes make of `value`, one after the other.
pub(super) fn apply_changes(
    value: i64,
    changes: &[Change],
    range: &RangeInclusive<i64>,
) -> (i64, Vec<ChangeOutcome>) {
    let mut value = value;
    let outcomes = changes.iter().map(|change| match *change {
        Change::Add(n) => match value.checked_add(n).filter(|sum| range.contains(sum)) {
            Some(sum) => {
                value = sum;
                ChangeOutcome::Value(sum)
            }
            None => ChangeOutcome::OutOfRange,
        },
        Change::Set(new) => {
            value = new;
            ChangeOutcome::Value(new)
        }
        Change::Swap { old, new } if value == old => {
            value = new;
            ChangeOutcome::Swapped
        }
        Change::Swap { .. } => ChangeOutcome::Different,
        Change::CountDown(n) => {
            value = LatchValue::of(value).counted_down(n).packed();
            ChangeOutcome::Value(value)
        }
        Change::Reset(count) => {
            value = LatchValue::of(value).with(count).packed();
            ChangeOutcome::Value(value)
        }
    });
    let outcomes = outcomes.collect();
    (value, outcomes)
}

/// How often in a row the value is taken from memory. Then we read it: others who wait to write do the same, and get a
/// gap to write in. Who counts alone needs 1.25 requests for each change, instead of 2.
const MOST_REMEMBERED: u32 = 3;

/// Makes the changes of one client at one counter, and remembers what saves requests for the next ones.
#[derive(Default)]
pub(super) struct CounterWriter {
    mark: Option<Mark>,
    /// The value that we wrote last, and where. Of use only as long as the mark stands that the same transaction wrote: it
    /// keeps the node from being deleted, so that nobody can have made it anew and counted up to the same version.
    known: Option<(i64, NodeVersion)>,
    /// Whether nobody else wrote between our last two writes.
    is_alone: bool,
    remembered: u32,
    fairness: Fairness,
}

impl CounterWriter {
    pub(super) fn has_mark(&self) -> bool {
        self.mark.is_some()
    }

    pub(super) fn take_mark_back(&mut self, session: &Arc<Session>) {
        if let Some(mark) = self.mark.take() {
            session.delete_temporary(mark.node);
        }
        self.forget();
    }

    /// How long the mark stays for the next change of those who have a handle.
    pub(super) fn mark_lifetime(&self) -> Duration {
        self.mark.as_ref().map_or(Duration::ZERO, Mark::is_kept_for)
    }

    /// Others may have counted since.
    pub(super) fn forget(&mut self) {
        self.known = None;
        self.fairness.forget_conflicts();
    }

    /// How long we keep the turn and wait for more to do.
    pub(super) fn lingers(&self) -> Option<Duration> {
        self.fairness.lingers()
    }

    pub(super) fn end_turn(&mut self) {
        self.fairness.end_turn();
    }

    /// Makes the changes together.
    pub(super) async fn make_changes(
        &mut self,
        node: &CounterNode,
        session: &Arc<Session>,
        changes: &[Change],
    ) -> Result<Vec<ChangeOutcome>> {
        let mut unknown_write = None;
        let made = self.try_until_known(node, session, changes, &mut unknown_write).await;
        made.map_err(|error| match unknown_write {
            Some(_) => {
                // The next change must not be taken for this one.
                self.take_mark_back(session);
                unknown(error, &format!("the {} was changed", node.encoding.noun()), "Read it before you change it again")
            }
            None if error.kind() == ErrorKind::ConnectionLost => Error::new(
                ErrorKind::ConnectionLost,
                format!(
                    "no ZooKeeper server answered within the retry budget; the {} was not changed by this call. Check the \
                     servers and the network, and try again",
                    node.encoding.noun()
                ),
            ),
            None => error,
        })
    }

    async fn try_until_known(
        &mut self,
        node: &CounterNode,
        session: &Arc<Session>,
        changes: &[Change],
        lost: &mut Option<UnknownOutcome>,
    ) -> Result<Vec<ChangeOutcome>> {
        let mut call = session.call(None);
        let mut must_be_current = false;
        loop {
            if lost.is_none() {
                self.fairness.take_turn(node, session, &mut call).await?;
            }
            let seen = match lost {
                None => self.read(node, &mut call, must_be_current).await?,
                Some(write) => match write.resolve(node, session, &mut call, self.mark()).await? {
                    Resolution::Made => {
                        let outcomes = std::mem::take(&mut write.outcomes);
                        self.note_change(None);
                        return Ok(outcomes);
                    }
                    Resolution::NotYet(seen) => seen,
                    Resolution::Never(seen) => {
                        *lost = None;
                        seen
                    }
                },
            };
            if self.should_sweep(&seen) {
                sweep::begin(&node.swept, session);
            }
            let (value, outcomes) = apply_changes(seen.value, changes, &node.encoding.range());
            if value == seen.value && !(seen.is_empty && node.encoding.has_to_stand()) {
                if seen.is_current {
                    return Ok(outcomes);
                }
                must_be_current = true;
                continue;
            }
            let at = match seen.at {
                // What was sent before is asked about first.
                Some(at) if lost.is_some() => Some(at),
                Some(at) => {
                    node.look_at_parent_once(session, &mut call).await?;
                    Some(at)
                }
                None if node.encoding.has_to_stand() => {
                    node.look_at_parent(session, &mut call).await?;
                    None
                }
                None => match node.create(session, &mut call).await? {
                    Ok(at) => Some(at),
                    Err(is_met) => {
                        if is_met {
                            self.fairness.note_others();
                        }
                        continue;
                    }
                },
            };
            let mark = self.mark.get_or_insert_with(|| Mark::new(&node.path, session));
            let mut parts = match at {
                Some(at) => node.set_if_unchanged(value, at, seen.mzxid),
                None => vec![node.creation(value)],
            };
            let marked = parts.len();
            parts.push(mark.write());
            let server_session = call.server_session(VERB).await?;
            let sent = session.now();
            let flight = mark.send(session, &server_session, &parts)?;
            let answer = call.receive(VERB, flight).await;
            self.fairness.note_trip(session.now().since(sent));
            if !matches!(&answer, Ok(Ok(_))) && !matches!(&answer, Ok(Err(error)) if !error.is_unanswered()) {
                lost.get_or_insert(UnknownOutcome { at, outcomes, since: sent });
                drop(answer?);
                call.retry_after_loss(VERB).await?;
                continue;
            }
            match answer? {
                Ok(_) => {
                    self.note_change(at.map(|at| (value, at)));
                    return Ok(outcomes);
                }
                Err(WireError::Part { index: 0, error }) if at.is_none() && *error == WireError::NoNode => {
                    node.make_parent(session, &mut call).await?;
                }
                Err(WireError::Part { index: 0, error }) if has_changed(&error) => {
                    self.known = None;
                    if lost.is_none() && *error != WireError::NoNode {
                        self.fairness.give_way(node, session, &mut call).await?;
                    }
                }
                // The counter had that version, so nothing was made before; and no attempt that may still be under way
                // can be: it asks of this mark what this one asked.
                Err(WireError::Part { index, error })
                    if index == marked && matches!(*error, WireError::NodeExists)
                        || index == marked
                            && matches!(*error, WireError::NoNode)
                            && self.has_written_the_mark() =>
                {
                    *lost = None;
                    self.take_mark_back(session);
                }
                Err(error) => return Err(refusal(error, VERB, &node.path)),
            }
        }
    }

    /// Whether it is on us to look for marks of those that crashed. Of many who count some do, for each looks at all marks.
    fn should_sweep(&self, seen: &Reading) -> bool {
        let others = seen.children - i32::from(self.has_written_the_mark());
        others > 0 && (others <= A_CROWD || random::below(others as usize) == 0)
    }

    fn mark(&self) -> &Mark {
        self.mark.as_ref().expect("a write has a mark")
    }

    fn has_written_the_mark(&self) -> bool {
        self.mark.as_ref().is_some_and(|mark| mark.made > 0)
    }

    /// A change was made; `written` unless others may have written since.
    fn note_change(&mut self, written: Option<(i64, NodeVersion)>) {
        if let Some(mark) = &mut self.mark {
            mark.made += 1;
        }
        self.fairness.note_change();
        self.known = written
            .filter(|(_, at)| (0..i32::MAX).contains(&at.version))
            .map(|(value, at)| (value, NodeVersion { version: at.version + 1, ..at }));
    }

    /// What we wrote last, if that is likely to be there still, or what the server has.
    async fn read(&mut self, node: &CounterNode, call: &mut Call, must_be_current: bool) -> Result<Reading> {
        if let Some((value, at)) = self.known
            && self.has_written_the_mark()
            && !must_be_current
            && (self.fairness.is_our_turn() || self.is_alone && self.remembered < MOST_REMEMBERED)
        {
            self.remembered += 1;
            return Ok(Reading {
                value,
                at: Some(at),
                is_empty: false,
                children: 0,
                mzxid: 0,
                is_current: false,
            });
        }
        let seen = node.read(call, must_be_current).await?;
        self.fairness.note_neighbours(seen.children);
        self.is_alone = self.known.is_some_and(|(_, at)| Some(at) == seen.at);
        self.remembered = 0;
        Ok(seen)
    }
}

/// A write whose answer got lost.
struct UnknownOutcome {
    /// `None` if it creates the node.
    at: Option<NodeVersion>,
    outcomes: Vec<ChangeOutcome>,
    /// When it was first sent.
    since: Moment,
}

/// What came of it.
enum Resolution {
    Made,
    NotYet(Reading),
    Never(Reading),
}

impl UnknownOutcome {
    /// What came of a write whose answer got lost: see the table above.
    async fn resolve(
        &self,
        node: &CounterNode,
        session: &Session,
        call: &mut Call,
        mark: &Mark,
    ) -> Result<Resolution> {
        loop {
            let server_session = call.server_session(VERB).await?;
            let link = server_session.link();
            // In one flight. When the first is answered, what was asked for before has been decided, and the reads see it.
            let settled = server_session.settle(&node.path);
            let (counter, trace) = (server_session.get_data(&node.path), server_session.get_data(&mark.node));
            let settled = call.receive(VERB, settled).await?;
            let counter = call.receive(VERB, counter).await?;
            let trace = call.receive(VERB, trace).await?;
            let is_unanswered = settled.as_ref().is_err_and(WireError::is_unanswered)
                || counter.as_ref().is_err_and(WireError::is_unanswered)
                || trace.as_ref().is_err_and(WireError::is_unanswered);
            if is_unanswered || server_session.link() != link {
                call.retry_after_loss(VERB).await?;
                continue;
            }
            if let Err(error) = settled
                && error != WireError::NoNode
            {
                return Err(refusal(error, VERB, &node.path));
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
                return Ok(Resolution::Made);
            }
            let (data, stat) = match counter {
                Ok(counter) => counter,
                // Of such writes one at most finds nothing there.
                Err(WireError::NoNode) if self.at.is_none() => {
                    return Ok(Resolution::NotYet(node.missing(true)));
                }
                Err(WireError::NoNode) => {
                    return Err(beyond(&format!("the {} was deleted", node.encoding.noun())));
                }
                Err(error) => return Err(refusal(error, VERB, &node.path)),
            };
            let at = NodeVersion { czxid: stat.czxid, version: stat.version };
            let seen = node.parse(&data, &stat, true)?;
            let waited = call.now().since(self.since);
            return match (made, self.at) {
                (_, Some(then)) if at.czxid != then.czxid => {
                    Err(beyond(&format!("the {} was deleted and created anew", node.encoding.noun())))
                }
                (_, Some(then)) if at.version == then.version => Ok(Resolution::NotYet(seen)),
                (Some(_), _) => Ok(Resolution::Never(seen)),
                // A client that closes has deleted it itself.
                (None, _) if mark.made == 0 && mark.is_safe(waited) && session.is_temporary(&mark.node) => {
                    Ok(Resolution::Never(seen))
                }
                (None, _) => Err(beyond("the node that would tell was deleted")),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::value::Encoding;
    use super::*;

    #[test]
    fn changes_are_made_one_after_the_other() {
        let changes = [
            Change::Set(7),
            Change::Set(0),
            Change::Add(2),
            Change::Swap { old: 2, new: 10 },
            Change::Swap { old: 2, new: 20 },
            Change::Add(i64::MAX),
            Change::Add(-11),
        ];
        let (value, outcomes) = apply_changes(0, &changes, &(i64::MIN..=i64::MAX));
        assert_eq!(value, -1);
        let expected = [
            ChangeOutcome::Value(7),
            ChangeOutcome::Value(0),
            ChangeOutcome::Value(2),
            ChangeOutcome::Swapped,
            ChangeOutcome::Different,
            ChangeOutcome::OutOfRange,
            ChangeOutcome::Value(-1),
        ];
        assert_eq!(outcomes, expected);
    }

    #[test]
    fn a_change_out_of_the_layouts_range_is_left_out() {
        let range = Encoding::Int.range();
        let (value, outcomes) =
            apply_changes(i64::from(i32::MAX) - 1, &[Change::Add(2), Change::Add(1)], &range);
        assert_eq!(value, i64::from(i32::MAX));
        assert_eq!(outcomes, [ChangeOutcome::OutOfRange, ChangeOutcome::Value(value)]);
    }
}
