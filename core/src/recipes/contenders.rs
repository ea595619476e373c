//! Who holds a path and who waits for it, and asking a holder to let go.

use std::cmp::Ordering;
use std::time::{Duration, SystemTime};

use super::gone::{Meant, until_gone};
use crate::error::{Error, ErrorKind, Result};
use crate::futures::CompiledOnce;
use crate::log;
use crate::path;
use crate::session::call::Call;
use crate::session::refusal::Failure;
use crate::session::server_session::catching_up::Beginning;
use crate::session::skipped_nodes::Flaw;
use crate::session::wire::{Stat, WireError, Write};
use crate::sort;
use crate::turn::name::{ContenderName, Kind};
use crate::turn::revocation;

/// Somebody who holds a path or waits for it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Contender {
    /// The node: its path below the recipe's, or the whole path where the recipe has several or keeps it elsewhere.
    pub node: String,
    /// What the contender says of itself, `host:pid` by default. Empty if its access list does not let us read it; its
    /// session is 0 then, and `since` the beginning of 1970.
    pub identity: String,
    /// `lock`, `read`, `write`, or `lease` for the permit of a semaphore.
    pub kind: String,
    /// The session that the node belongs to.
    pub session_id: u64,
    /// When it queued, by the server's clock.
    pub since: SystemTime,
    /// Whether it holds.
    pub holds: bool,
    /// Whether somebody has asked it to let go: for the command, which says so. Nothing else changes a contender's node.
    #[doc(hidden)]
    pub is_asked: bool,
}

/// A contender's node as it was read.
pub(crate) struct SeenContender {
    pub(crate) entry: ContenderName,
    pub(crate) data: Vec<u8>,
    pub(crate) stat: Stat,
}

/// More requests in one flight than this would only fill queues.
const READS_IN_FLIGHT: usize = 256;

/// The contenders of the lock at `path`, in order.
pub(crate) async fn of_lock(call: &mut Call, path: &str) -> Result<Vec<Contender>> {
    Ok(with_holder(queue(call, path, Kind::Lock).await?))
}

/// The contenders of a lock's line, in order, with who of them holds.
pub(crate) fn with_holder(queue: Vec<SeenContender>) -> Vec<Contender> {
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
    contenders.collect()
}

/// Everybody who queues under `path` in the line of `kind`, in order.
pub(crate) fn queue<'a>(
    call: &'a mut Call,
    path: &'a str,
    kind: Kind,
) -> CompiledOnce<'a, Result<Vec<SeenContender>>> {
    Box::pin(async move {
        let mut queue = read(call, path, |name| in_line(name, kind)).await?;
        sort_line(&mut queue);
        Ok(queue)
    })
}

/// In the order in which they get their turn.
pub(crate) fn sort_line(queue: &mut [SeenContender]) {
    sort::by(queue, |a, b| match a.entry.precedes(&b.entry) {
        // Of a writer and its own reader the writer came first.
        _ if a.entry.sequence == b.entry.sequence => a.stat.czxid.cmp(&b.stat.czxid),
        Some(true) => Ordering::Less,
        Some(false) => Ordering::Greater,
        None => a.stat.czxid.cmp(&b.stat.czxid),
    });
}

/// The order of two in a line, as far as their names tell.
pub(crate) fn sort_names(a: &ContenderName, b: &ContenderName) -> Ordering {
    match a.precedes(b) {
        Some(true) => Ordering::Less,
        Some(false) => Ordering::Greater,
        None => Ordering::Equal,
    }
}

/// Who is first under `path` in the line of `kind`, for two requests, however many there are.
pub(crate) async fn first(call: &mut Call, path: &str, kind: Kind) -> Result<Option<Contender>> {
    first_since(call, path, kind, None).await.map_err(|failure| failure.about(VERB, path))
}

/// The same, no older than that beginning.
pub(crate) async fn first_since(
    call: &mut Call,
    path: &str,
    kind: Kind,
    beginning: Option<&Beginning>,
) -> Result<Option<Contender>, Failure> {
    loop {
        let listed = call.ask(VERB, |server| {
            let server = server.clone();
            async move {
                match beginning {
                    Some(beginning) => server.since(beginning, path, || server.children(path)).await,
                    None => server.children(path).await,
                }
            }
        });
        let names = listed.await?;
        let first = names.iter().filter_map(|name| in_line(name, kind)).min_by(sort_names);
        let Some(entry) = first else { return Ok(None) };
        let node = path::join(path, &entry.name);
        let seen = match call.ask(VERB, |server| server.get_data(&node)).await {
            Ok((data, stat)) => SeenContender { entry, data, stat },
            Err(Failure::Refused(WireError::NoAuth)) => {
                call.session().skip(&node, Flaw::Denied);
                SeenContender::unreadable(entry)
            }
            // Gone meanwhile: somebody else is first.
            Err(Failure::Refused(WireError::NoNode)) => continue,
            Err(failure) => return Err(failure),
        };
        return Ok(Some(seen.contender(true)));
    }
}

/// One contender under `path`, if it can be read.
pub(crate) async fn seen(call: &mut Call, path: &str, entry: ContenderName) -> Option<SeenContender> {
    let node = path::join(path, &entry.name);
    let (data, stat) = call.ask(VERB, |server| server.get_data(&node)).await.ok()?;
    Some(SeenContender { entry, data, stat })
}

/// Every permit under `path`, the oldest first.
pub(crate) async fn permits(call: &mut Call, path: &str) -> Result<Vec<SeenContender>> {
    let mut permits = read(call, path, |name| Some(ContenderName::permit(name))).await?;
    sort::by(&mut permits, |a, b| (a.stat.czxid, &a.entry.name).cmp(&(b.stat.czxid, &b.entry.name)));
    Ok(permits)
}

/// The children of `path` that take part, as they are now. As many reads in one flight as make sense.
async fn read(
    call: &mut Call,
    path: &str,
    recognise: impl Fn(&str) -> Option<ContenderName>,
) -> Result<Vec<SeenContender>> {
    let names = match call.ask(VERB, |server| server.children(path)).await {
        Ok(names) => names,
        Err(Failure::Refused(WireError::NoNode)) => return Ok(Vec::new()),
        Err(failure) => return Err(failure.about(VERB, path)),
    };
    let entries: Vec<ContenderName> = names.iter().filter_map(|name| recognise(name)).collect();
    let mut seen = Vec::new();
    for batch in entries.chunks(READS_IN_FLIGHT) {
        let server_session = call.server_session(VERB).await?;
        let nodes: Vec<_> = batch.iter().map(|entry| path::join(path, &entry.name)).collect();
        for ((entry, node), flight) in batch.iter().zip(&nodes).zip(server_session.get_each(&nodes)) {
            let answer = match call.receive(VERB, flight).await? {
                Err(error) if error.is_unanswered() => call.ask(VERB, |server| server.get_data(node)).await,
                answer => answer.map_err(Failure::Refused),
            };
            match answer {
                Ok((data, stat)) => seen.push(SeenContender { entry: entry.clone(), data, stat }),
                // Gone meanwhile.
                Err(Failure::Refused(WireError::NoNode)) => {}
                // Not ours to read; that it is there, and in which place, is known all the same.
                Err(Failure::Refused(WireError::NoAuth)) => {
                    call.session().skip(node, Flaw::Denied);
                    seen.push(SeenContender::unreadable(entry.clone()))
                }
                Err(failure) => return Err(failure.about(VERB, path)),
            }
        }
    }
    Ok(seen)
}

impl SeenContender {
    /// A contender whose node we may not read. What only its czxid could tell is unknown: it counts as the last.
    pub(crate) fn unreadable(entry: ContenderName) -> SeenContender {
        SeenContender { entry, data: Vec::new(), stat: Stat { czxid: i64::MAX, ..Stat::default() } }
    }

    pub(crate) fn contender(self, holds: bool) -> Contender {
        let SeenContender { entry, data, stat } = self;
        Contender {
            node: entry.name,
            identity: String::from_utf8_lossy(revocation::said(&data)).into_owned(),
            kind: entry.kind.name().to_owned(),
            session_id: stat.ephemeral_owner as u64,
            since: at(stat.ctime),
            holds,
            is_asked: revocation::is_request(&data) || stat.version > 0,
        }
    }
}

/// A moment by the server's clock.
pub(super) fn at(ms: i64) -> SystemTime {
    SystemTime::UNIX_EPOCH + Duration::from_millis(u64::try_from(ms).unwrap_or_default())
}

const VERB: &str = "contenders";

/// The nodes of those who hold.
pub(crate) fn holding(contenders: Vec<Contender>) -> impl Iterator<Item = String> {
    contenders.into_iter().filter(|contender| contender.holds).map(|contender| contender.node)
}

/// The path of the node that a contender of the recipe at `path` was said to have.
pub(crate) fn whole(path: &str, node: &str) -> String {
    if node.starts_with('/') { node.to_owned() } else { path::join(path, node) }
}

/// The same for the lock at `path`, unless no contender of it is called so.
pub(crate) fn of_lock_at(path: &str, node: &str) -> Option<String> {
    Some(whole(path, node)).filter(|node| queues_under(path, node, Kind::Lock))
}

/// Whether `node` is the path of somebody who queues under `parent` in the line of `kind`.
pub(crate) fn queues_under(parent: &str, node: &str, kind: Kind) -> bool {
    let is_child = path::validate(node).is_ok() && path::parent(node) == parent;
    is_child && in_line(path::name(node), kind).is_some()
}

pub(crate) fn in_line(name: &str, kind: Kind) -> Option<ContenderName> {
    ContenderName::recognise(name).filter(|entry| entry.kind.queues_with(kind))
}

/// The error for a request to a node that is not one of the recipe's contenders.
pub(crate) fn unknown(node: &str) -> Error {
    Error::invalid("contender", format!("{node:?} is not the node of a contender; take it from contenders()"))
}

/// Asks the owners of `nodes` to let go. With `force_after`, deletes exactly the nodes that were asked when they have
/// not gone by then: the time counts from when all were asked, and nothing but its end deletes. Answers whether there
/// was anybody to ask. A caller that cancels meanwhile has asked, and deletes nothing.
pub(crate) async fn revoke(
    mut call: Call,
    nodes: Vec<String>,
    force_after: Option<Duration>,
) -> Result<bool> {
    let verb = "revoke";
    let mut asked = Vec::new();
    for node in nodes {
        match revocation::ask(&mut call, verb, &node).await {
            Ok(stat) => asked.push((node, stat.czxid)),
            Err(Failure::Refused(WireError::NoNode)) => {}
            Err(failure) => return Err(failure.about(verb, &node)),
        }
    }
    let any = !asked.is_empty();
    let Some(force_after) = force_after else { return Ok(any) };
    let mut patient = call.within(force_after);
    for (node, czxid) in asked {
        if is_gone_in_time(&mut patient, &node, czxid).await? {
            continue;
        }
        match delete_asked(&mut call, verb, &node, czxid).await {
            Ok(true) => {
                call.session().counters.forced.one();
                log::forced(&node, force_after);
            }
            Ok(false) => {}
            Err(failure) => return Err(failure.about(verb, &node)),
        }
    }
    Ok(any)
}

/// Deletes the node if it still is the one that was asked; answers whether it did. Some give their next node the same name, so
/// each attempt looks first, behind a transaction: what we sent before has been decided then.
async fn delete_asked(call: &mut Call, verb: &str, node: &str, czxid: i64) -> Result<bool, Failure> {
    loop {
        let (server_session, on) = call.connection(verb).await?;
        let (settled, found) = (server_session.settle(node), server_session.exists(node));
        let settled = match call.receive(verb, settled).await? {
            Err(WireError::NoNode) => return Ok(false),
            settled => settled,
        };
        let found = call.receive(verb, found).await?;
        // The version that was seen. Where the node may not be read, its name alone tells.
        let version = match settled.and(found) {
            Ok(_) if server_session.connection() != Some(on) => Err(WireError::ConnectionLoss),
            Ok(Some(stat)) if stat.czxid == czxid => Ok(Some(stat.version)),
            Ok(_) => return Ok(false),
            Err(WireError::NoAuth) => Ok(None),
            Err(error) => Err(error),
        };
        let is_by_name = version == Ok(None);
        let answer = match version {
            Ok(version) => {
                let delete = [Write::Delete { path: node.to_owned(), version }];
                match call.receive(verb, server_session.multi_on(on, &delete)).await? {
                    Err(WireError::Part { error, .. }) => Err(*error),
                    answer => answer.map(drop),
                }
            }
            Err(error) => Err(error),
        };
        match answer {
            Ok(()) => return Ok(true),
            Err(WireError::NoNode) => return Ok(false),
            // Another one, or somebody has asked or answered once more.
            Err(WireError::BadVersion) => {}
            Err(WireError::NotSent) => call.retry_after_loss(verb).await?,
            // It may be gone, and nobody lets us see whether what has its name is a later one.
            Err(error) if error.is_unanswered() && is_by_name => {
                return Err(Error::connection_lost(verb).into());
            }
            Err(error) if error.is_unanswered() => call.retry_after_loss(verb).await?,
            Err(error) => return Err(Failure::Refused(error)),
        }
    }
}

/// False when the time has run out; every other end of the wait is an error.
async fn is_gone_in_time(patient: &mut Call, node: &str, czxid: i64) -> Result<bool> {
    if patient.is_single_attempt() {
        return Ok(false);
    }
    let verb = "waiting for a node to go";
    match until_gone(patient, verb, node, Meant::Asked(czxid)).await {
        Ok(()) => Ok(true),
        Err(Failure::Ended(error)) if error.kind() == ErrorKind::Timeout => Ok(false),
        Err(failure) => Err(failure.about(verb, node)),
    }
}
