//! Handing over to a candidate that the leader has chosen.
//!
//! 1. Find it among the candidates: by its node, or the first of an identity.
//! 2. Ask those between to move behind, as a candidate of a higher priority does, and wait until they have gone. Others than ours
//!    cannot be asked; they may go by themselves.
//! 3. When nobody stands between, resign: the chosen one is the next to lead. Before that nothing has changed for the leader,
//!    and the time that this may take ends it without a change.
//! 4. Whether it leads tells a list that is taken behind the deletion. A resignation that is not confirmed is ConnectionLost.

use std::time::Duration;

use super::observe::{Behind, first};
use super::{Election, contenders, statement, without_leading};
use crate::error::{ErrorKind, Result};
use crate::path;
use crate::recipes::contenders::SeenContender;
use crate::recipes::gone::{Meant, until_gone};
use crate::recipes::held::Held;
use crate::session::call::Call;
use crate::session::refusal::Failure;
use crate::session::wire::WireError;
use crate::turn::revocation;

/// How long those between have time to go: a waiting one of a client that waits for its own others hears of the request within
/// two seconds, all others at once.
const LIMIT: Duration = Duration::from_secs(5);

const VERB: &str = "transfer";

/// Who stands between the leader and the chosen one.
enum Between {
    /// Nobody stands between.
    Nobody,
    /// These do.
    Candidates(Vec<SeenContender>),
    /// There is no such candidate, or not any more.
    NoSuchCandidate,
}

impl Election {
    /// Hands the leadership over to `to`: a candidate's node, as in [`Election::candidates`], or an identity. Those who stand before
    /// it are asked to move behind; then this leader resigns, at once, as by [`Election::resign`]. Answers whether the chosen one
    /// leads. False if there is no such candidate, or others stand between that do not go within five seconds: nothing has changed
    /// for this leader then, and who was asked may stand further back. NotHeld without leading.
    ///
    /// A leader of a lower priority than others is soon asked to hand over again.
    ///
    /// # Cancel safety
    /// Dropping the future before it has resigned leaves it leading.
    pub async fn transfer(&self, to: &str) -> Result<bool> {
        let held = self.handle.held().map_err(without_leading)?;
        let session = self.handle.client().session()?;
        let mut call = session.call(Some(LIMIT));
        let chosen = match self.move_those_between(&held, to, &mut call).await {
            Ok(Some(chosen)) => chosen,
            Ok(None) => return Ok(false),
            Err(error) if error.kind() == ErrorKind::Timeout => return Ok(false),
            Err(error) => return Err(error.with_path(self.path())),
        };
        if chosen == path::name(&held.hold().node().path) {
            return Ok(true);
        }
        held.release().await?;
        let leads = first(&mut session.call(None), self.path(), self.kind, Behind::Sync).await?;
        Ok(leads == Some(chosen))
    }

    /// The name of the chosen one's node, once nobody stands between; `None` if there is no such candidate.
    async fn move_those_between(&self, held: &Held, to: &str, call: &mut Call) -> Result<Option<String>> {
        let own = path::name(&held.hold().node().path);
        let (mut chosen, mut asked) = (None, Vec::new());
        loop {
            if !held.is_certain() {
                return Err(held.hold().not_held());
            }
            let queue = contenders::queue(call, self.path(), self.kind).await?;
            if chosen.is_none() {
                chosen = queue.iter().find(|one| self.is_meant(one, to)).map(|one| one.entry.name.clone());
            }
            let Some(name) = &chosen else { return Ok(None) };
            if name == own {
                return Ok(chosen);
            }
            let between = match between(queue, own, name) {
                Between::Nobody => return Ok(chosen),
                Between::NoSuchCandidate => return Ok(None),
                Between::Candidates(between) => between,
            };
            for one in &between {
                let node = path::join(self.path(), &one.entry.name);
                if one.entry.priority.is_some() && !asked.contains(&node) {
                    match revocation::ask(call, VERB, &node).await {
                        Ok(_) | Err(Failure::Refused(WireError::NoNode)) => asked.push(node),
                        Err(failure) => return Err(failure.about(VERB, &node)),
                    }
                }
            }
            for one in &between {
                let node = path::join(self.path(), &one.entry.name);
                let gone = until_gone(call, VERB, &node, Meant::Asked(one.stat.czxid)).await;
                gone.map_err(|failure| failure.about(VERB, &node))?;
            }
        }
    }

    fn is_meant(&self, one: &SeenContender, to: &str) -> bool {
        let node = contenders::whole(self.path(), to);
        path::parent(&node) == self.path() && path::name(&node) == one.entry.name
            || statement::parse_candidate(&one.data).0 == to
    }
}

fn between(queue: Vec<SeenContender>, own: &str, chosen: &str) -> Between {
    let at = |name: &str| queue.iter().position(|one| one.entry.name == name);
    match (at(own), at(chosen)) {
        (Some(own), Some(chosen)) if own < chosen => {
            let between: Vec<_> = queue.into_iter().take(chosen).skip(own + 1).collect();
            if between.is_empty() { Between::Nobody } else { Between::Candidates(between) }
        }
        _ => Between::NoSuchCandidate,
    }
}
