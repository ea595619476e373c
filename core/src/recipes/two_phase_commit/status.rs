//! How transactions stand, for people.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::layout::{Decision, Header, Layout};
use super::transaction::{decide, if_there, missing};
use super::{CommitMode, Inner, Outcome};
use crate::error::Result;
use crate::session::call::{Call, Failure};
use crate::session::wire::WireError;

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

impl CoordinatorState {
    /// `present`, `absent` or `done`.
    pub fn name(self) -> &'static str {
        match self {
            CoordinatorState::Present => "present",
            CoordinatorState::Absent => "absent",
            CoordinatorState::Done => "done",
        }
    }
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
    async fn ask(layout: &Layout, call: &mut Call) -> Result<Present> {
        let sites = names(call, &layout.sites()).await?;
        let coordinators = names(call, &layout.coordinators()).await?;
        Ok(Present { sites: sites.into_iter().collect(), coordinators: coordinators.into_iter().collect() })
    }
}

/// The children behind a `sync`: one that has just come must not be taken for dead because this server lags.
pub(super) async fn names(call: &mut Call, path: &str) -> Result<Vec<String>> {
    let listed = call.ask(SHOW, |epoch| {
        let (sync, list) = (epoch.sync(path), epoch.children(path));
        async move {
            sync.await?;
            list.await
        }
    });
    match listed.await {
        Err(Failure::Refused(WireError::NoNode)) => Ok(Vec::new()),
        names => names.map_err(|failure| failure.about(SHOW, path)),
    }
}

async fn data(call: &mut Call, path: &str) -> Result<Option<Vec<u8>>> {
    let asked = call.ask(SHOW, |epoch| if_there(epoch.get_data(path))).await;
    Ok(asked.map_err(|failure| failure.about(SHOW, path))?.map(|(data, _)| data))
}

pub(super) async fn history(inner: &Arc<Inner>) -> Result<Vec<CommitStatus>> {
    let session = inner.client.session()?;
    let (layout, mut call) = (&inner.layout, session.call(None));
    inner.until_told(&mut call, SHOW).await?;
    let present = Present::ask(layout, &mut call).await?;
    let mut all = Vec::new();
    for id in names(&mut call, &layout.transactions()).await? {
        all.extend(look(layout, &mut call, &id, &present).await?);
    }
    all.sort_by_key(|(czxid, _)| *czxid);
    Ok(all.into_iter().map(|(_, status)| status).collect())
}

pub(super) async fn show(inner: &Arc<Inner>, id: &str) -> Result<Option<CommitStatus>> {
    let session = inner.client.session()?;
    let (layout, mut call) = (&inner.layout, session.call(None));
    inner.until_told(&mut call, SHOW).await?;
    let present = Present::ask(layout, &mut call).await?;
    Ok(look(layout, &mut call, id, &present).await?.map(|(_, status)| status))
}

/// When it began, and how it stands.
async fn look(
    layout: &Layout,
    call: &mut Call,
    id: &str,
    present: &Present,
) -> Result<Option<(i64, CommitStatus)>> {
    let node = layout.transaction(id);
    let asked = call.ask(SHOW, |epoch| {
        let (data, list) = (epoch.get_data(&node), epoch.children(&node));
        async move { Ok((data.await?, list.await?)) }
    });
    let ((header, stat), children) = match asked.await {
        Err(Failure::Refused(WireError::NoNode)) => return Ok(None),
        answer => answer.map_err(|failure| failure.about(SHOW, &node))?,
    };
    let Some(header) = Header::parse(&header) else { return Ok(None) };
    let key = header.key(id);
    let (decision, mark) = (layout.decision(&key), layout.coordinator(&key));
    let entries: Vec<_> = header.sites.iter().map(|site| layout.entry(site, &key)).collect();
    let asked = call.ask(SHOW, |epoch| {
        let (decided, mark) = (if_there(epoch.get_data(&decision)), if_there(epoch.get_data(&mark)));
        let entries: Vec<_> = entries.iter().map(|entry| epoch.exists(entry)).collect();
        async move {
            let (decided, mark, mut entered) = (decided.await?, mark.await?, Vec::new());
            for entry in entries {
                entered.push(entry.await?.is_some());
            }
            Ok((decided, mark, entered))
        }
    });
    let (decided, mark, entered) = asked.await.map_err(|failure| failure.about(SHOW, &node))?;
    let decided = decided.map(|(data, _)| Decision::parse(&data));
    let coordinator = match mark {
        None => CoordinatorState::Done,
        Some((name, _)) if present.coordinators.contains(&*String::from_utf8_lossy(&name)) => {
            CoordinatorState::Present
        }
        Some(_) => CoordinatorState::Absent,
    };
    let voters: HashSet<_> = children.iter().filter_map(|name| key.voter(name)).collect();
    let is_commit = decided.as_ref().is_some_and(|decided| decided.outcome == Outcome::Commit);
    let mut sites = Vec::new();
    for (site, is_entered) in header.sites.into_iter().zip(entered) {
        sites.push(SiteStatus {
            is_present: present.sites.contains(&site),
            has_voted: is_commit || voters.contains(&*site),
            has_acknowledged: !is_entered,
            site,
        });
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let status = CommitStatus {
        id: id.to_owned(),
        mode: header.mode,
        payload: header.payload,
        age: now.saturating_sub(Duration::from_millis(stat.ctime.max(0) as u64)),
        timeout: header.timeout,
        outcome: decided.as_ref().map(|decided| decided.outcome),
        reason: decided.map(|decided| decided.reason).unwrap_or_default(),
        coordinator,
        sites,
    };
    Ok(Some((stat.czxid, status)))
}

pub(super) async fn decide_abort(inner: &Arc<Inner>, id: &str, reason: &str) -> Result<Outcome> {
    let session = inner.client.session()?;
    let (layout, mut call) = (&inner.layout, session.call(None));
    let reason: String = reason.chars().filter(|c| !crate::printable::steers(*c)).collect();
    let node = layout.transaction(id);
    loop {
        let header = data(&mut call, &node).await?.and_then(|data| Header::parse(&data));
        let Some(header) = header else { return Err(missing(&node)) };
        let aborted = Decision::abort(&*reason);
        if let Some(decided) = decide(layout, &mut call, &header.key(id), aborted, Vec::new()).await? {
            return Ok(decided.outcome);
        }
        // Collected meanwhile, and maybe there is another one of that id.
        call.retry_after_loss(SHOW).await?;
    }
}
