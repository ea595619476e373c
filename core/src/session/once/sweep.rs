//! Marks of clients that crashed. A client that makes changes and sees marks of others looks at them until none is left. It
//! deletes a mark that has not changed for as long as its owner said that it may need it; that time is measured by the
//! clock of the client that looks.
//!
//! That takes nothing from an owner that lives: it knows how long it has waited for an answer, and does not take a missing
//! mark for a change that was not made once that is too long. See `write`.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::mark::{is_mark, parse};
use crate::path;
use crate::session::clock::Moment;
use crate::session::wire::WireError;
use crate::session::{Session, unless};

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
        let mut sightings = BTreeMap::new();
        loop {
            let sweeping = sweep(&place.parent, &session, &mut sightings);
            let swept = unless(sweeping, session.until_closing()).await;
            if !matches!(swept, Some(Ok(()))) || sightings.is_empty() {
                place.is_swept.store(false, Ordering::Release);
                return;
            }
            let due = sightings.values().map(|seen| seen.since + seen.needed).min();
            let due = due.unwrap_or(Moment::START).max(session.now() + LEAST);
            unless(session.clock().sleep_until(due), session.until_closing()).await;
        }
    }));
}

/// Between two looks.
const LEAST: Duration = Duration::from_secs(1);

/// One look: deletes what is due, and remembers what is not.
async fn sweep(
    parent: &str,
    session: &Arc<Session>,
    sightings: &mut BTreeMap<String, Sighting>,
) -> Result<(), WireError> {
    let epoch = session.epoch();
    let names = epoch.children(parent).await?;
    let mut seen = BTreeMap::new();
    for name in names.into_iter().filter(|name| is_mark(name)) {
        let node = path::join(parent, &name);
        if session.leaves(&node) {
            continue;
        }
        // Gone meanwhile, or nothing that we may read.
        let Ok((data, stat)) = epoch.get_data(&node).await else { continue };
        let Some((_, needed)) = parse(&data) else { continue };
        let sighting = match sightings.remove(&node) {
            Some(sighting) if sighting.mzxid == stat.mzxid => sighting,
            _ => Sighting { mzxid: stat.mzxid, since: session.now(), needed },
        };
        if session.now().since(sighting.since) < needed {
            seen.insert(node, sighting);
        } else if epoch.delete(&node, Some(stat.version)).await == Err(WireError::BadVersion) {
            seen.insert(node, Sighting { mzxid: 0, since: session.now(), needed });
        }
    }
    *sightings = seen;
    Ok(())
}
