//! Marks of clients that crashed. A client that makes changes and sees marks of others looks at them until none is left. It
//! deletes a mark that has not changed for as long as its owner said that it may need it; that time is measured by the
//! clock of the client that looks. One that it may not read or delete it leaves to others.
//!
//! It looks at a few of them at a time, taken at random, and the more there are, the less often: where a thousand clients
//! have one each, all of them together read as much as a few do. As long as what it looked at had been left by clients that
//! crashed, it looks at twice as many the next time.
//!
//! That takes nothing from an owner that lives: it knows how long it has waited for an answer, and does not take a missing
//! mark for a change that was not made once that is too long. See `write`.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::mark::{is_mark, parse};
use crate::futures::unless;
use crate::path;
use crate::session::Session;
use crate::session::clock::Moment;
use crate::session::random;
use crate::session::wire::WireError;
use crate::sort;

/// A mark as it was seen first: its last change, and since when it has been there.
struct Sighting {
    mzxid: i64,
    since: Moment,
    needed: Duration,
}

/// Where marks stand, and whether somebody of this client looks after those of others.
pub(crate) struct Swept {
    parent: String,
    is_swept: AtomicBool,
}

impl Swept {
    pub(crate) fn new(parent: &str) -> Arc<Swept> {
        Arc::new(Swept { parent: parent.to_owned(), is_swept: AtomicBool::new(false) })
    }
}

/// Begins to look after others' marks, unless somebody does.
pub(crate) fn begin(swept: &Arc<Swept>, session: &Arc<Session>) {
    if swept.is_swept.swap(true, Ordering::AcqRel) {
        return;
    }
    let (place, session) = (swept.clone(), session.clone());
    session.clock().clone().spawn(Box::pin(async move {
        let (sightings, refused) = Default::default();
        let mut sweeping = Sweeping { sightings, refused, at_once: AT_ONCE, marks: 0 };
        let mut answered = session.now();
        loop {
            let swept = unless(sweeping.look(&place.parent, &session), session.until_closing()).await;
            match &swept {
                Some(Ok(())) => answered = session.now(),
                _ => {
                    // Nor could the owners do anything.
                    let now = session.now();
                    sweeping.add(now.since(answered));
                    answered = now;
                }
            }
            match swept {
                Some(Ok(())) if sweeping.marks > 0 => {}
                // Maybe nobody changes anything any more, so it is not left to the next change.
                Some(Err(error)) if error.is_unanswered() && !session.is_closing() => {}
                _ => {
                    place.is_swept.store(false, Ordering::Release);
                    return;
                }
            }
            let due = sweeping.sightings.values().map(|seen| seen.since + seen.needed).min();
            let due = due.unwrap_or(Moment::START).max(session.now() + sweeping.pause());
            unless(session.clock().sleep_until(due), session.until_closing()).await;
        }
    }));
}

/// Between two looks, where there are no more marks than one looks at.
const LEAST: Duration = Duration::from_secs(1);
/// How many marks to look at, as long as they belong to clients that live.
const AT_ONCE: usize = 8;

/// What one client looks after at one place.
struct Sweeping {
    sightings: BTreeMap<String, Sighting>,
    /// What it cannot collect.
    refused: BTreeSet<String>,
    /// How many to look at.
    at_once: usize,
    /// How many are left beside these.
    marks: usize,
}

impl Sweeping {
    /// As many times as long as there are more marks than one looks at.
    fn pause(&self) -> Duration {
        LEAST * u32::try_from(self.marks.div_ceil(self.at_once)).unwrap_or(u32::MAX).max(1)
    }

    /// A time that does not count.
    fn add(&mut self, time: Duration) {
        self.sightings.values_mut().for_each(|seen| seen.since = seen.since + time);
    }

    /// What to look at: what was seen before, and others at random.
    fn choose(&self, mut nodes: Vec<String>) -> Vec<String> {
        for at in 0..nodes.len().min(self.at_once) {
            let other = at + random::below(nodes.len() - at);
            nodes.swap(at, other);
        }
        sort::by_key(&mut nodes, |node| !self.sightings.contains_key(node));
        nodes.truncate(self.at_once);
        nodes
    }

    /// One look: deletes what is due, and remembers what is not.
    async fn look(&mut self, parent: &str, session: &Arc<Session>) -> Result<(), WireError> {
        let names = session.server_session().children(parent).await?;
        let nodes = names.into_iter().filter(|name| is_mark(name)).map(|name| path::join(parent, &name));
        let others = nodes.filter(|node| !session.is_temporary(node));
        let (refused, nodes): (Vec<_>, Vec<_>) = others.partition(|node| self.refused.contains(node));
        self.refused = refused.into_iter().collect();
        let all = nodes.len();
        let found = sweep(session, self.choose(nodes), &mut self.sightings).await?;
        self.marks = all.saturating_sub(found.deleted + found.refused.len());
        self.refused.extend(found.refused);
        self.at_once = match found {
            SweptMarks { living: 1.., .. } => AT_ONCE,
            SweptMarks { deleted: 1.., .. } => self.at_once * 2,
            _ => self.at_once,
        };
        Ok(())
    }
}

/// What a look has shown.
#[derive(Default)]
struct SweptMarks {
    /// Of how many it is known that somebody uses them.
    living: usize,
    deleted: usize,
    /// Those that we may not read or delete, or do not understand.
    refused: Vec<String>,
}

/// Looks at these.
async fn sweep(
    session: &Arc<Session>,
    nodes: Vec<String>,
    sightings: &mut BTreeMap<String, Sighting>,
) -> Result<SweptMarks, WireError> {
    let server_session = session.server_session();
    let (mut seen, mut found) = (BTreeMap::new(), SweptMarks::default());
    for (node, read) in nodes.iter().zip(server_session.get_each(&nodes)) {
        let known = sightings.remove(node);
        let (needed, stat) = match read.await.map(|(data, stat)| (parse(&data), stat)) {
            Ok((Some((_, needed)), stat)) => (needed, stat),
            // What was known of it still is, or its time would begin anew.
            Err(error) if error.is_unanswered() => {
                seen.extend(known.map(|sighting| (node.clone(), sighting)));
                continue;
            }
            // Gone meanwhile.
            Err(WireError::NoNode) => continue,
            Ok(_) | Err(_) => {
                found.refused.push(node.clone());
                continue;
            }
        };
        let sighting = match known {
            Some(sighting) if sighting.mzxid == stat.mzxid => sighting,
            // Somebody uses it, and another one is looked at next time.
            Some(_) => {
                found.living += 1;
                continue;
            }
            None => Sighting { mzxid: stat.mzxid, since: session.now(), needed },
        };
        if session.now().since(sighting.since) < needed {
            seen.insert(node.clone(), sighting);
            continue;
        }
        match server_session.delete(node, Some(stat.version)).await {
            Err(WireError::BadVersion) => found.living += 1,
            Ok(()) | Err(WireError::NoNode) => found.deleted += 1,
            Err(error) if error.is_unanswered() => drop(seen.insert(node.clone(), sighting)),
            Err(_) => found.refused.push(node.clone()),
        }
    }
    *sightings = seen;
    Ok(found)
}
