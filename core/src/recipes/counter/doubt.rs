//! Finding out what came of a write whose answer got lost.
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

use super::VERB;
use super::line::{Line, Outcome};
use super::sight::{At, Seen};
use crate::error::Result;
use crate::session::Session;
use crate::session::call::{Call, refusal};
use crate::session::clock::Moment;
use crate::session::once::beyond;
use crate::session::once::mark::{Mark, parse};
use crate::session::wire::WireError;

/// A write whose answer got lost.
pub(super) struct Doubt {
    pub(super) at: At,
    pub(super) outcomes: Vec<Outcome>,
    /// When it was first sent.
    pub(super) since: Moment,
}

/// What came of it.
pub(super) enum Fate {
    Made,
    NotYet(Seen),
    Never(Seen),
}

impl Doubt {
    /// What came of a write whose answer got lost: see the table above.
    pub(super) async fn settle(
        &self,
        line: &Line,
        session: &Session,
        call: &mut Call,
        mark: &Mark,
    ) -> Result<Fate> {
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
                mzxid: stat.mzxid,
                is_current: true,
            };
            let waited = call.now().since(self.since);
            return match made {
                _ if at.czxid != self.at.czxid => Err(beyond("the counter was deleted and created anew")),
                _ if at.version == self.at.version => Ok(Fate::NotYet(seen)),
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
