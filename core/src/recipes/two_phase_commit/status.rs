//! How transactions stand, for people.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::layout::{CommitMode, Decision, Header, Outcome, TransactionLayout};
use super::nodes::{AT_ONCE, ReadNode, all_of, if_there, is_there, names, node};
use super::ownership::Commits;
use super::transaction::{WrittenDecision, missing, write_decision};
use crate::error::{Error, ErrorKind, Result};
use crate::session::call::Call;
use crate::session::skipped_nodes::Flaw;
use crate::session::wire::{Flight, Stat, WireError};
use crate::sort;

const SHOW: &str = "show";

/// How a transaction stands.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CommitStatus {
    /// By which name it began.
    pub id: String,
    /// Who decides it before its deadline.
    pub mode: CommitMode,
    /// What it is about.
    pub payload: Vec<u8>,
    /// How long ago it began, as far as this machine's clock agrees with the server's.
    pub age: Duration,
    /// How long there is to vote.
    pub timeout: Duration,
    /// What was decided; `None` if nothing is.
    pub outcome: Option<Outcome>,
    /// Why it was aborted.
    pub reason: String,
    /// Whether its coordinator will decide it.
    pub coordinator: CoordinatorState,
    /// Who votes.
    pub sites: Vec<SiteStatus>,
    /// Why only the id of this transaction is known: it may not be read with the identities of this client, or what it says is
    /// not understood. Empty if it is known how it stands.
    pub problem: String,
}

/// What is known of a coordinator.
#[derive(Copy, Clone, Debug, PartialEq, Eq, Hash)]
pub enum CoordinatorState {
    /// It is there.
    Present,
    /// It died; `recover` takes its transactions over.
    Absent,
    /// It knows what was decided.
    Done,
}

/// What is known of a site in one transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SiteStatus {
    /// Its name.
    pub site: String,
    /// Whether it is there.
    pub is_present: bool,
    /// Whether it has voted.
    pub has_voted: bool,
    /// Whether it has done what was decided.
    pub has_acknowledged: bool,
}

/// Who is there.
struct Present {
    sites: HashSet<String>,
    coordinators: HashSet<String>,
}

impl Present {
    async fn ask(layout: &TransactionLayout, call: &mut Call) -> Result<Present> {
        let sites = names(call, &layout.sites()).await?;
        let coordinators = names(call, &layout.coordinators()).await?;
        Ok(Present { sites: sites.into_iter().collect(), coordinators: coordinators.into_iter().collect() })
    }
}

/// Behind a `sync`: somebody may have been told of it before this server was.
async fn data(call: &mut Call, path: &str) -> Result<Option<Vec<u8>>> {
    let asked = call.ask(SHOW, |server| {
        let (sync, read) = (server.sync(path), if_there(server.get_data(path)));
        async move {
            sync.await?;
            read.await
        }
    });
    Ok(asked.await.map_err(|failure| failure.about(SHOW, path))?.map(|(data, _)| data))
}

pub(super) async fn history(commits: &Arc<Commits>) -> Result<Vec<CommitStatus>> {
    let session = commits.client.session()?;
    let (layout, mut call) = (&commits.layout, session.call(None).reading());
    commits.wait_until_told(&mut call, SHOW).await?;
    let present = Present::ask(layout, &mut call).await?;
    let mut all = Vec::new();
    let ids = names(&mut call, &layout.transactions()).await?;
    for some in ids.chunks(AT_ONCE) {
        all.extend(read_status(layout, &mut call, some, &present).await?);
    }
    sort::by_key(&mut all, |(czxid, _)| *czxid);
    Ok(all.into_iter().map(|(_, status)| status).collect())
}

pub(super) async fn show(commits: &Arc<Commits>, id: &str) -> Result<Option<CommitStatus>> {
    let session = commits.client.session()?;
    let (layout, mut call) = (&commits.layout, session.call(None).reading());
    commits.wait_until_told(&mut call, SHOW).await?;
    let present = Present::ask(layout, &mut call).await?;
    let found = read_status(layout, &mut call, &[id.to_owned()], &present).await?;
    Ok(found.into_iter().next().map(|(_, status)| status))
}

/// A transaction that can be read, and what of it was.
struct ReadTransaction {
    id: String,
    header: Header,
    stat: Stat,
    children: Vec<String>,
}

/// What stands of it.
struct Rest {
    decided: ReadNode,
    mark: ReadNode,
    entered: Vec<bool>,
}

/// When each of them began, and how it stands, as far as they are there.
async fn read_status(
    layout: &TransactionLayout,
    call: &mut Call,
    ids: &[String],
    present: &Present,
) -> Result<Vec<(i64, CommitStatus)>> {
    let paths: Vec<_> = ids.iter().map(|id| layout.transaction(id)).collect();
    let asked = call.ask(SHOW, |server| {
        let flights = paths.iter().map(|path| {
            let (data, list) = (node(server.get_data(path)), listed(server.children(path)));
            let both: Flight<_> = Box::pin(async move { Ok((data.await?, list.await?)) });
            both
        });
        all_of(flights.collect())
    });
    let found = asked.await.map_err(|failure| failure.about(SHOW, &layout.root))?;
    let (mut all, mut seen) = (Vec::new(), Vec::new());
    for ((id, path), (said, children)) in ids.iter().zip(&paths).zip(found) {
        let (why, stat) = match (said, children) {
            (ReadNode::Missing, _) | (_, ListedChildren::Missing) => continue,
            (ReadNode::Denied, _) | (_, ListedChildren::Denied) => (Flaw::Denied, Stat::default()),
            (ReadNode::Told(data, stat), ListedChildren::Told(children)) => match Header::parse(&data) {
                Some(header) => {
                    seen.push(ReadTransaction { id: id.clone(), header, stat, children });
                    continue;
                }
                None => (Flaw::Encoding, stat),
            },
        };
        call.session().skip(path, why);
        all.push((stat.czxid, unreadable(id, &stat, why)));
    }
    let rests = rests(layout, call, &seen).await?;
    for (seen, rest) in seen.into_iter().zip(rests) {
        let mark = layout.coordinator(&seen.header.key(&seen.id));
        let czxid = seen.stat.czxid;
        let status = match rest {
            Rest { decided: ReadNode::Denied, .. } | Rest { mark: ReadNode::Denied, .. } => {
                call.session().skip(&mark, Flaw::Denied);
                unreadable(&seen.id, &seen.stat, Flaw::Denied)
            }
            rest => status_of(seen, rest, present),
        };
        all.push((czxid, status));
    }
    Ok(all)
}

enum ListedChildren {
    Missing,
    Denied,
    Told(Vec<String>),
}

fn listed(flight: Flight<Vec<String>>) -> Flight<ListedChildren> {
    Box::pin(async move {
        match flight.await {
            Ok(names) => Ok(ListedChildren::Told(names)),
            Err(WireError::NoNode) => Ok(ListedChildren::Missing),
            Err(WireError::NoAuth) => Ok(ListedChildren::Denied),
            Err(error) => Err(error),
        }
    })
}

async fn rests(layout: &TransactionLayout, call: &mut Call, seen: &[ReadTransaction]) -> Result<Vec<Rest>> {
    let asked = call.ask(SHOW, |server| {
        let flights = seen.iter().map(|seen| {
            let key = seen.header.key(&seen.id);
            let decided = node(server.get_data(&layout.decision(&key)));
            let mark = node(server.get_data(&layout.coordinator(&key)));
            let entry = |site: &String| is_there(server.exists(&layout.entry(site, &key)));
            let entries: Vec<_> = seen.header.sites.iter().map(entry).collect();
            let rest: Flight<_> = Box::pin(async move {
                let (decided, mark) = (decided.await?, mark.await?);
                Ok(Rest { decided, mark, entered: all_of(entries).await? })
            });
            rest
        });
        all_of(flights.collect())
    });
    asked.await.map_err(|failure| failure.about(SHOW, &layout.root))
}

fn status_of(seen: ReadTransaction, rest: Rest, present: &Present) -> CommitStatus {
    let ReadTransaction { id, header, stat, children } = seen;
    let key = header.key(&id);
    let decided = rest.decided.data().map(|(data, _)| Decision::parse(&data));
    let coordinator = match rest.mark.data() {
        None => CoordinatorState::Done,
        Some((name, _)) if present.coordinators.contains(&*String::from_utf8_lossy(&name)) => {
            CoordinatorState::Present
        }
        Some(_) => CoordinatorState::Absent,
    };
    let voters: HashSet<_> = children.iter().filter_map(|name| key.voter(name)).collect();
    let is_commit = decided.as_ref().is_some_and(|decided| decided.outcome == Outcome::Commit);
    let mut sites = Vec::new();
    for (site, is_entered) in header.sites.into_iter().zip(rest.entered) {
        sites.push(SiteStatus {
            is_present: present.sites.contains(&site),
            has_voted: is_commit || voters.contains(&*site),
            has_acknowledged: !is_entered,
            site,
        });
    }
    CommitStatus {
        id,
        mode: header.mode,
        payload: header.payload,
        age: age(&stat),
        timeout: header.timeout,
        outcome: decided.as_ref().map(|decided| decided.outcome),
        reason: decided.map(|decided| decided.reason).unwrap_or_default(),
        coordinator,
        sites,
        problem: String::new(),
    }
}

/// Of one that cannot be read only this is known.
fn unreadable(id: &str, stat: &Stat, why: Flaw) -> CommitStatus {
    CommitStatus {
        id: id.to_owned(),
        mode: CommitMode::default(),
        payload: Vec::new(),
        age: if stat.czxid == 0 { Duration::ZERO } else { age(stat) },
        timeout: Duration::ZERO,
        outcome: None,
        reason: String::new(),
        coordinator: CoordinatorState::Absent,
        sites: Vec::new(),
        problem: why.problem().to_owned(),
    }
}

fn age(stat: &Stat) -> Duration {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    now.saturating_sub(Duration::from_millis(stat.ctime.max(0) as u64))
}

pub(super) async fn write_abort(commits: &Arc<Commits>, id: &str, reason: &str) -> Result<Outcome> {
    let session = commits.client.session()?;
    let (layout, mut call) = (&commits.layout, session.call(None));
    let reason: String = reason.chars().filter(|c| !crate::printable::steers(*c)).collect();
    let node = layout.transaction(id);
    let mut before = None;
    loop {
        let header = data(&mut call, &node).await?.and_then(|data| Header::parse(&data));
        let Some(header) = header else { return Err(missing(&node)) };
        if before.as_ref() == Some(&header.nonce) {
            let message = "there is nothing to decide: a part of this transaction was deleted by hand; ask its sites how it ended";
            return Err(Error::new(ErrorKind::NoNode, message).with_path(node));
        }
        let aborted = Decision::abort(&*reason);
        let written = write_decision(layout, &mut call, &header.key(id), aborted, Vec::new()).await?;
        if let WrittenDecision::Decided(decided) = written {
            return Ok(decided.outcome);
        }
        // Collected meanwhile, and maybe there is another one of that id.
        before = Some(header.nonce);
        call.retry_after_loss(SHOW).await?;
    }
}
