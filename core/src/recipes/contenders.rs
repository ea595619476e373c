//! Who holds a path and who waits for it, and asking a holder to let go.

use std::cmp::Ordering;
use std::time::{Duration, SystemTime};

use crate::client::Client;
use crate::error::{Error, Result};
use crate::path;
use crate::session::call::{Call, Failure, refusal};
use crate::session::wire::{Event, Stat, WireError};
use crate::turn::REVOKE;
use crate::turn::name::{Entry, Kind};

/// Somebody who holds a path or waits for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contender {
    /// The name of the node under the path.
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

/// More requests in one flight than this would only fill queues.
const READS_IN_FLIGHT: usize = 256;

/// The contenders under `path`, in order.
pub(crate) async fn list(client: &Client, path: &str) -> Result<Vec<Contender>> {
    let mut call = client.session()?.call(None);
    list_within(&mut call, path).await
}

async fn list_within(call: &mut Call, path: &str) -> Result<Vec<Contender>> {
    let names = match call.ask(VERB, |epoch| epoch.children(path)).await {
        Ok(names) => names,
        Err(Failure::Refused(WireError::NoNode)) => return Ok(Vec::new()),
        Err(failure) => return Err(failure.about(VERB, path)),
    };
    let entries: Vec<Entry> = names.iter().filter_map(|name| Entry::recognise(name)).collect();
    let names: Vec<_> = entries.iter().map(|entry| entry.name.clone()).collect();
    let mut found: Vec<_> = Vec::new();
    for (entry, read) in entries.into_iter().zip(read_all(call, path, &names).await?) {
        if let Some((data, stat)) = read {
            found.push((entry, data, stat));
        }
    }
    found.sort_by(|(a, _, a_stat), (b, _, b_stat)| match a.precedes(b) {
        Some(true) => Ordering::Less,
        Some(false) if a == b => Ordering::Equal,
        Some(false) => Ordering::Greater,
        None => a_stat.czxid.cmp(&b_stat.czxid),
    });
    // Readers share: they hold as long as nobody ahead of them keeps them out.
    let mut contenders = Vec::new();
    let mut only_readers = true;
    for (place, (entry, data, stat)) in found.into_iter().enumerate() {
        only_readers &= entry.kind == Kind::Read;
        contenders.push(Contender::new(
            entry.name,
            entry.kind.name(),
            &data,
            &stat,
            place == 0 || only_readers,
        ));
    }
    Ok(contenders)
}

impl Contender {
    pub(crate) fn new(node: String, kind: &str, data: &[u8], stat: &Stat, holds: bool) -> Contender {
        Contender {
            node,
            identity: String::from_utf8_lossy(data).into_owned(),
            kind: kind.to_owned(),
            session_id: stat.ephemeral_owner as u64,
            since: SystemTime::UNIX_EPOCH
                + Duration::from_millis(u64::try_from(stat.ctime).unwrap_or_default()),
            holds,
        }
    }
}

/// Data and metadata of several nodes under `path`, `None` for those that are gone; as many reads in one flight as make
/// sense.
pub(crate) async fn read_all(
    call: &mut Call,
    path: &str,
    names: &[String],
) -> Result<Vec<Option<(Vec<u8>, Stat)>>> {
    let mut read = Vec::new();
    for batch in names.chunks(READS_IN_FLIGHT) {
        let epoch = call.epoch(VERB).await?;
        let flights: Vec<_> =
            batch.iter().map(|name| (name, epoch.get_data(&path::join(path, name)))).collect();
        for (name, flight) in flights {
            let answer = match call.briefly(VERB, flight).await? {
                Err(error) if error.is_unanswered() => {
                    let node = path::join(path, name);
                    call.ask(VERB, |epoch| epoch.get_data(&node)).await
                }
                answer => answer.map_err(Failure::Refused),
            };
            match answer {
                Ok(found) => read.push(Some(found)),
                Err(Failure::Refused(WireError::NoNode)) => read.push(None),
                Err(failure) => return Err(failure.about(VERB, path)),
            }
        }
    }
    Ok(read)
}

const VERB: &str = "contenders";

/// Asks contenders under `path` to let go: the one named, or whoever holds. With `force_after`, deletes exactly the nodes
/// that were asked when they have not gone by then. Answers whether there was anybody to ask.
pub(crate) async fn revoke(
    client: &Client,
    path: &str,
    contender: Option<&str>,
    force_after: Option<Duration>,
) -> Result<bool> {
    let session = client.session()?;
    let verb = "revoke";
    let asked = match contender {
        Some(name) if Entry::recognise(name).is_none() || name.contains('/') => {
            return Err(Error::invalid(
                "contender",
                format!("{name:?} is not the node of a contender; take it from contenders()"),
            ));
        }
        Some(name) => vec![name.to_owned()],
        None => {
            let mut call = session.call(None);
            let all = list_within(&mut call, path).await?;
            all.into_iter().filter(|contender| contender.holds).map(|contender| contender.node).collect()
        }
    };
    let mut any = false;
    let mut standing = Vec::new();
    for name in &asked {
        let node = path::join(path, name);
        let mut call = session.call(None);
        // Writing the same word twice asks once.
        match call.ask(verb, |epoch| epoch.set_data(&node, REVOKE, None)).await {
            Ok(_) => standing.push(node),
            Err(Failure::Refused(WireError::NoNode)) => continue,
            Err(failure) => return Err(failure.about(verb, path)),
        }
        any = true;
    }
    let Some(patience) = force_after else { return Ok(any) };
    let mut call = session.call(Some(patience));
    for node in standing {
        let gone = until_gone(&mut call, &node).await;
        if gone.is_ok() {
            continue;
        }
        let mut call = session.call(None);
        match call.ask(verb, |epoch| epoch.delete(&node, None)).await {
            Ok(()) | Err(Failure::Refused(WireError::NoNode)) => {}
            Err(failure) => return Err(failure.about(verb, path)),
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
