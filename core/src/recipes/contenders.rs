//! Who holds a path and who waits for it, and asking a holder to let go.

use std::cmp::Ordering;
use std::time::{Duration, SystemTime};

use super::handle::Handle;
use crate::error::{Error, ErrorKind, Result};
use crate::path;
use crate::session::call::{Call, Failure, refusal};
use crate::session::wire::{Event, Stat, WireError};
use crate::turn::REVOKE;
use crate::turn::name::{Entry, Kind};

/// Somebody who holds a path or waits for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contender {
    /// The node: its path below the recipe's, or the whole path where the recipe has several or keeps it elsewhere.
    pub node: String,
    /// What the contender says of itself, `host:pid` by default.
    pub identity: String,
    /// `lock`, `read`, `write`, or `lease` for the permit of a semaphore.
    pub kind: String,
    /// The session that the node belongs to.
    pub session_id: u64,
    /// When it queued, by the server's clock.
    pub since: SystemTime,
    /// Whether it holds.
    pub holds: bool,
}

/// A contender's node as it was read.
pub(crate) struct Seen {
    pub(crate) entry: Entry,
    pub(crate) data: Vec<u8>,
    pub(crate) stat: Stat,
}

/// More requests in one flight than this would only fill queues.
const READS_IN_FLIGHT: usize = 256;

/// The contenders of the lock at `path`, in order.
pub(crate) async fn of_lock(call: &mut Call, path: &str) -> Result<Vec<Contender>> {
    let queue = queue(call, path).await?;
    let first = queue.first().map(|seen| (seen.entry.sequence, seen.stat.ephemeral_owner));
    // Readers share: they hold as long as nobody ahead of them keeps them out. A writer's own reader has its number.
    let mut only_readers = true;
    let contenders = queue.into_iter().enumerate().map(|(place, seen)| {
        only_readers &= seen.entry.kind == Kind::Read;
        let is_downgrade = seen.entry.kind == Kind::Read
            && !seen.entry.is_late()
            && first == Some((seen.entry.sequence, seen.stat.ephemeral_owner));
        seen.contender(place == 0 || only_readers || is_downgrade)
    });
    Ok(contenders.collect())
}

/// Everybody who queues under `path`, in order.
pub(crate) async fn queue(call: &mut Call, path: &str) -> Result<Vec<Seen>> {
    let mut queue = read(call, path, Entry::recognise).await?;
    queue.sort_by(|a, b| match a.entry.precedes(&b.entry) {
        // Of a writer and its own reader the writer came first.
        _ if a.entry.sequence == b.entry.sequence => a.stat.czxid.cmp(&b.stat.czxid),
        Some(true) => Ordering::Less,
        Some(false) => Ordering::Greater,
        None => a.stat.czxid.cmp(&b.stat.czxid),
    });
    Ok(queue)
}

/// Every permit under `path`, the oldest first.
pub(crate) async fn leases(call: &mut Call, path: &str) -> Result<Vec<Seen>> {
    let mut leases = read(call, path, |name| Some(Entry::lease(name))).await?;
    leases.sort_by(|a, b| (a.stat.czxid, &a.entry.name).cmp(&(b.stat.czxid, &b.entry.name)));
    Ok(leases)
}

/// The children of `path` that take part, as they are now. As many reads in one flight as make sense.
async fn read(call: &mut Call, path: &str, recognise: impl Fn(&str) -> Option<Entry>) -> Result<Vec<Seen>> {
    let names = match call.ask(VERB, |epoch| epoch.children(path)).await {
        Ok(names) => names,
        Err(Failure::Refused(WireError::NoNode)) => return Ok(Vec::new()),
        Err(failure) => return Err(failure.about(VERB, path)),
    };
    let entries: Vec<Entry> = names.iter().filter_map(|name| recognise(name)).collect();
    let mut seen = Vec::new();
    for batch in entries.chunks(READS_IN_FLIGHT) {
        let epoch = call.epoch(VERB).await?;
        let flights: Vec<_> =
            batch.iter().map(|entry| (entry, epoch.get_data(&path::join(path, &entry.name)))).collect();
        for (entry, flight) in flights {
            let answer = match call.briefly(VERB, flight).await? {
                Err(error) if error.is_unanswered() => {
                    let node = path::join(path, &entry.name);
                    call.ask(VERB, |epoch| epoch.get_data(&node)).await
                }
                answer => answer.map_err(Failure::Refused),
            };
            match answer {
                Ok((data, stat)) => seen.push(Seen { entry: entry.clone(), data, stat }),
                // Gone meanwhile.
                Err(Failure::Refused(WireError::NoNode)) => {}
                Err(failure) => return Err(failure.about(VERB, path)),
            }
        }
    }
    Ok(seen)
}

impl Seen {
    pub(crate) fn contender(self, holds: bool) -> Contender {
        let Seen { entry, data, stat } = self;
        Contender {
            node: entry.name,
            identity: String::from_utf8_lossy(&data).into_owned(),
            kind: entry.kind.name().to_owned(),
            session_id: stat.ephemeral_owner as u64,
            since: SystemTime::UNIX_EPOCH
                + Duration::from_millis(u64::try_from(stat.ctime).unwrap_or_default()),
            holds,
        }
    }
}

const VERB: &str = "contenders";

/// The nodes of those who hold.
pub(crate) fn holding(contenders: Vec<Contender>) -> impl Iterator<Item = String> {
    contenders.into_iter().filter(|contender| contender.holds).map(|contender| contender.node)
}

/// The path of the node that a contender of the recipe at `path` was said to have.
pub(crate) fn locate(path: &str, node: &str) -> String {
    if node.starts_with('/') { node.to_owned() } else { path::join(path, node) }
}

/// Whether `node` is the path of somebody who queues under `parent`.
pub(crate) fn queues_under(parent: &str, node: &str) -> bool {
    path::validate(node).is_ok()
        && path::parent(node) == parent
        && Entry::recognise(path::name(node)).is_some()
}

/// The error for asking somebody who is none of the recipe's contenders.
pub(crate) fn unknown(node: &str) -> Error {
    Error::invalid("contender", format!("{node:?} is not the node of a contender; take it from contenders()"))
}

/// Asks the owners of `nodes` to let go. With `force_after`, deletes exactly the nodes that were asked when they have not
/// gone by then. Answers whether there was anybody to ask. Who cancels meanwhile has asked, and deletes nothing.
pub(crate) async fn revoke(
    handle: &Handle,
    nodes: Vec<String>,
    force_after: Option<Duration>,
) -> Result<bool> {
    let verb = "revoke";
    let mut asked = Vec::new();
    let mut patient = handle.call(force_after)?;
    for node in nodes {
        let mut call = handle.call(None)?;
        // Writing the same word twice asks once.
        match call.ask(verb, |epoch| epoch.set_data(&node, REVOKE, None)).await {
            Ok(_) => asked.push(node),
            Err(Failure::Refused(WireError::NoNode)) => {}
            Err(failure) => return Err(failure.about(verb, &node)),
        }
    }
    let any = !asked.is_empty();
    if force_after.is_none() {
        return Ok(any);
    }
    for node in asked {
        match until_gone(&mut patient, &node).await {
            Ok(()) => continue,
            Err(error) if matches!(error.kind(), ErrorKind::Cancelled | ErrorKind::Closed) => {
                return Err(error);
            }
            Err(_) => {}
        }
        let mut call = handle.call(None)?;
        match call.ask(verb, |epoch| epoch.delete(&node, None)).await {
            Ok(()) | Err(Failure::Refused(WireError::NoNode)) => {}
            Err(failure) => return Err(failure.about(verb, &node)),
        }
    }
    Ok(any)
}

/// Resolves when the node is gone.
pub(crate) async fn until_gone(call: &mut Call, node: &str) -> Result<()> {
    let verb = "waiting for a node to go";
    if call.is_single_attempt() {
        return Err(Error::timeout("its release"));
    }
    loop {
        let epoch = call.epoch(verb).await?;
        match call.patiently(epoch.watch_data(node)).await? {
            Ok((_, _, watch)) => {
                if call.patiently(watch).await? == Event::Deleted {
                    return Ok(());
                }
            }
            Err(WireError::NoNode) => return Ok(()),
            Err(error) if error.is_unanswered() => call.retry_after_loss(verb).await?,
            Err(error) => return Err(refusal(error, verb, node)),
        }
    }
}
