//! Making changes: reading, and writing while nothing has changed since. What comes of a write whose answer got lost is in
//! `doubt`.

use std::sync::Arc;
use std::time::Duration;

use super::VERB;
use super::doubt::{Doubt, Fate};
use super::line::{Change, Line, Outcome, apply};
use super::rollover;
use super::sight::{At, Seen, create};
use super::turns::{A_CROWD, Turns};
use crate::error::{Error, ErrorKind, Result};
use crate::session::Session;
use crate::session::call::{Call, refusal};
use crate::session::chance;
use crate::session::once::mark::Mark;
use crate::session::once::{sweep, unknown};
use crate::session::wire::WireError;

/// How often in a row the value is taken from memory. Then we read it: others who wait to write do the same, and get a
/// gap to write in.
const MOST_REMEMBERED: u32 = 3;

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
    turns: Turns,
}

impl Desk {
    pub(super) fn has_mark(&self) -> bool {
        self.mark.is_some()
    }

    pub(super) fn take_mark_back(&mut self, session: &Arc<Session>) {
        if let Some(mark) = self.mark.take() {
            session.take_back(mark.node);
        }
        self.forget();
    }

    /// How long the mark stays for the next change of those who have a handle.
    pub(super) fn keeps_its_mark(&self) -> Duration {
        self.mark.as_ref().map_or(Duration::ZERO, Mark::is_kept_for)
    }

    /// Others may have counted since.
    pub(super) fn forget(&mut self) {
        self.known = None;
        self.turns.forget_conflicts();
    }

    /// How long we keep the turn and wait for more to do.
    pub(super) fn lingers(&self) -> Option<Duration> {
        self.turns.lingers()
    }

    pub(super) fn let_go(&mut self) {
        self.turns.let_go();
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
                self.turns.take(line, session, &mut call).await?;
            }
            let seen = match doubt {
                None => self.read(line, &mut call, must_be_current).await?,
                Some(open) => match open.settle(line, session, &mut call, self.mark()).await? {
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
            if self.looks_after_others(&seen) {
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
                        if is_met {
                            self.turns.met_others();
                        }
                        continue;
                    }
                },
            };
            let mark = self.mark.get_or_insert_with(|| Mark::new(&line.path, session));
            let mut parts = rollover::guarded(&line.path, line.encoding.encode(value), at, seen.mzxid);
            let marked = parts.len();
            parts.push(mark.write());
            let epoch = call.epoch(VERB).await?;
            let sent = session.now();
            let flight = mark.send(session, &epoch, &parts)?;
            let answer = call.briefly(VERB, flight).await;
            self.turns.answered_after(session.now().since(sent));
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
                Err(WireError::Part { index: 0, error }) if rollover::has_changed(&error) => {
                    self.known = None;
                    if doubt.is_none() && *error != WireError::NoNode {
                        self.turns.give_way(line, session, &mut call).await?;
                    }
                }
                // The counter had that version, so nothing was made before; and no attempt that may still be under way
                // can be: it asks of this mark what this one asked.
                Err(WireError::Part { index, error })
                    if index == marked && matches!(*error, WireError::NodeExists)
                        || index == marked && matches!(*error, WireError::NoNode) && self.has_made_some() =>
                {
                    *doubt = None;
                    self.take_mark_back(session);
                }
                Err(error) => return Err(refusal(error, VERB, &line.path)),
            }
        }
    }

    /// Whether it is on us to look for marks of those that crashed. Of many who count some do, for each looks at all marks.
    fn looks_after_others(&self, seen: &Seen) -> bool {
        let others = seen.children - i32::from(self.has_made_some());
        others > 0 && (others <= A_CROWD || chance::below(others as usize) == 0)
    }

    fn mark(&self) -> &Mark {
        self.mark.as_ref().expect("a write has a mark")
    }

    fn has_made_some(&self) -> bool {
        self.mark.as_ref().is_some_and(|mark| mark.made > 0)
    }

    /// A change was made; `written` unless others may have written since.
    fn count_up(&mut self, written: Option<(i64, At)>) {
        if let Some(mark) = &mut self.mark {
            mark.made += 1;
        }
        self.turns.made_one();
        self.known = written
            .filter(|(_, at)| (0..i32::MAX).contains(&at.version))
            .map(|(value, at)| (value, At { version: at.version + 1, ..at }));
    }

    /// What we wrote last, if that is likely to be there still, or what the server has.
    async fn read(&mut self, line: &Line, call: &mut Call, must_be_current: bool) -> Result<Seen> {
        if let Some((value, at)) = self.known
            && self.has_made_some()
            && !must_be_current
            && (self.turns.is_ours() || self.is_alone && self.remembered < MOST_REMEMBERED)
        {
            self.remembered += 1;
            return Ok(Seen { value, at: Some(at), children: 0, mzxid: 0, is_current: false });
        }
        let seen = line.look(call, must_be_current).await?;
        self.turns.saw(seen.children);
        self.is_alone = self.known.is_some_and(|(_, at)| Some(at) == seen.at);
        self.remembered = 0;
        Ok(seen)
    }
}
