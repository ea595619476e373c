//! Who leads: looking once, and following.
//!
//! The first candidate leads. An observer watches that one node and what the leader says in the election's own node;
//! the candidates are listed, behind a `sync`, only when the leader has gone, and watched only while there is none, or while
//! it is one whose node we may not read. So a thousand candidates cost an observer nothing while nothing happens.

use std::sync::Arc;

use super::statement::{Acknowledgement, parse_candidate};
use crate::error::{ErrorKind, Result};
use crate::feed::{Feed, Source};
use crate::path;
use crate::recipes::contenders;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::growing_pause::GrowingPause;
use crate::session::refusal::Failure;
use crate::session::server_session::catching_up::Beginning;
use crate::session::skipped_nodes::Flaw;
use crate::session::watching::{ChildData, Children, Data, Watching};
use crate::session::wire::{Stat, WireError};
use crate::turn::name::{ContenderName, Kind};
use crate::turn::revocation::REVOKE;

/// Who leads an election. If the access list of its node does not let us read it, only this is known: somebody leads. Then
/// `identity` is empty, and `epoch` is 0.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Leader {
    /// Who it says it is, `host:pid` by default.
    pub identity: String,
    /// What it says: as a candidate, or, once it has begun its work, when it said so.
    pub data: Vec<u8>,
    /// Rises from one leader to the next.
    pub epoch: u64,
    /// Whether it has begun its work: [`Leadership::acknowledge`](super::Leadership::acknowledge).
    pub acknowledged: bool,
}

impl Leader {
    /// The first candidate, whose node we may not read.
    fn unreadable() -> Leader {
        Leader { identity: String::new(), data: Vec::new(), epoch: 0, acknowledged: false }
    }

    /// Made of the candidate's node and of the election's.
    fn of(statement: &[u8], stat: &Stat, record: Option<&Acknowledgement>) -> Leader {
        let epoch = stat.czxid as u64;
        match record.filter(|said| said.epoch == epoch) {
            Some(said) => {
                Leader { identity: said.identity.clone(), data: said.data.clone(), epoch, acknowledged: true }
            }
            None => {
                // The request to let go has replaced what it said, before anybody read that.
                let (identity, data) = parse_candidate(if statement == REVOKE { b"" } else { statement });
                Leader { identity, data, epoch, acknowledged: false }
            }
        }
    }
}

const VERB: &str = "looking for the leader";

/// Who leads now.
pub(super) async fn leader(call: &mut Call, path: &str, kind: Kind) -> Result<Option<Leader>> {
    loop {
        let Some(first) = first(call, path, kind, Behind::Sync).await? else { return Ok(None) };
        let node = path::join(path, &first);
        // In one flight.
        let answer = call
            .ask(VERB, |server| {
                let (candidate, record) = (server.get_data(&node), server.get_data(path));
                async move { Ok((candidate.await?, record.await?)) }
            })
            .await;
        match answer {
            Ok(((statement, stat), (record, _))) => {
                let record = Acknowledgement::parse(&record);
                return Ok(Some(Leader::of(&statement, &stat, record.as_ref())));
            }
            // Gone meanwhile: somebody else leads.
            Err(Failure::Refused(WireError::NoNode)) => {}
            Err(Failure::Refused(WireError::NoAuth)) => {
                call.session().skip(&node, Flaw::Denied);
                return Ok(Some(Leader::unreadable()));
            }
            Err(failure) => return Err(failure.about(VERB, path)),
        }
    }
}

/// What makes sure that a list is not an old one.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(super) enum Behind {
    Sync,
    /// A leader that was deposed answers a `sync`, too.
    Quorum,
}

/// The name of the candidate that is first in order, as it is now.
pub(super) async fn first(call: &mut Call, path: &str, kind: Kind, behind: Behind) -> Result<Option<String>> {
    let answer = call
        .ask(VERB, |server| {
            // They leave now, in this order.
            let ahead = match behind {
                Behind::Sync => server.sync(path),
                Behind::Quorum => server.settle(path),
            };
            let listed = server.children(path);
            async move {
                ahead.await?;
                listed.await
            }
        })
        .await;
    let names = match answer {
        Ok(names) => names,
        Err(Failure::Refused(WireError::NoNode)) => return Ok(None),
        Err(failure) => return Err(failure.about(VERB, path)),
    };
    let mut first: Option<ContenderName> = None;
    for entry in names.iter().filter_map(|name| contenders::in_line(name, kind)) {
        let comes_first = match &first {
            None => true,
            Some(first) => match entry.precedes(first) {
                Some(comes_first) => comes_first,
                // At the end of the range only the nodes themselves tell.
                None => {
                    let queue = contenders::queue(call, path, kind).await?;
                    return Ok(queue.into_iter().next().map(|seen| seen.entry.name));
                }
            },
        };
        if comes_first {
            first = Some(entry);
        }
    }
    Ok(first.map(|entry| entry.name))
}

pub(super) fn feed(session: Result<Arc<Session>>, path: &str, kind: Kind) -> Feed<Option<Leader>> {
    Feed::new(FollowedLeader { session, path: path.to_owned(), kind, observing: None })
}

/// Follows once somebody asks; a client that is closed tells that then.
struct FollowedLeader {
    session: Result<Arc<Session>>,
    path: String,
    kind: Kind,
    observing: Option<Observing>,
}

impl Source<Option<Leader>> for FollowedLeader {
    async fn next(&mut self) -> Result<Option<Leader>> {
        let session = self.session.clone()?;
        let observing = self.observing.get_or_insert_with(|| Observing::of(session, &self.path, self.kind));
        observing.next().await
    }
}

struct Observing {
    session: Arc<Session>,
    path: String,
    kind: Kind,
    /// The first in order.
    candidate: Option<Candidate>,
    record: Watching<Data>,
    /// What the election's own node said last; `None` before that is known.
    said: Option<Option<Acknowledgement>>,
    /// Who stands, while nobody does, or while nothing else tells that the first one has gone.
    candidates: Option<Watching<Children>>,
    told: Option<ToldLeader>,
    /// When the candidates were last listed.
    beginning: Arc<Beginning>,
    /// What is to go ahead of the next list.
    behind: Behind,
    pause: GrowingPause,
}

struct Candidate {
    node: Watching<ChildData>,
    /// What went ahead of the list that names it.
    behind: Behind,
    statement: Statement,
}

/// What a candidate's node said last.
enum Statement {
    Unknown,
    /// We may not read it.
    Denied,
    Said(Vec<u8>, Stat),
}

/// What was told last, and the highest epoch.
struct ToldLeader {
    leader: Option<Leader>,
    epoch: u64,
}

enum News {
    Record(Option<Acknowledgement>),
    /// `None`: it has gone, or another one may be first.
    Candidate(Option<(Vec<u8>, Stat)>),
    /// We may not read it.
    Denied,
}

impl Observing {
    fn of(session: Arc<Session>, path: &str, kind: Kind) -> Observing {
        let retry = &session.options().retry;
        let beginning: Arc<Beginning> = Arc::default();
        Observing {
            path: path.to_owned(),
            kind,
            candidate: None,
            record: session.watch_node(VERB, path).since(&beginning),
            said: None,
            candidates: None,
            told: None,
            beginning,
            behind: Behind::Sync,
            pause: GrowingPause::new(retry.base, retry.max),
            session,
        }
    }

    async fn next(&mut self) -> Result<Option<Leader>> {
        let session = self.session.clone();
        loop {
            if self.candidate.is_none() {
                match self.find(&session).await? {
                    Some(node) => {
                        let node = Watching::new(&session, VERB, &node).looking().since(&self.beginning);
                        let statement = Statement::Unknown;
                        self.candidate = Some(Candidate { node, behind: self.behind, statement });
                    }
                    None if self.is_news(None) => return Ok(self.tell(None)),
                    None => self.somebody(&session).await?,
                }
                continue;
            }
            if let Some(candidate) = &self.candidate
                && let Some(leader) = self.leader(candidate)
            {
                let is_known = matches!(candidate.statement, Statement::Said(..));
                if is_known && self.told.as_ref().is_some_and(|told| leader.epoch < told.epoch) {
                    // From a server that lags behind what was told, as a rule. If the quorum has named this candidate, the
                    // servers have lost what they had, and count from the beginning.
                    if candidate.behind == Behind::Sync {
                        (self.candidate, self.behind) = (None, Behind::Quorum);
                        self.pause.pass(session.clock()).await;
                        continue;
                    }
                }
                if self.is_news(Some(&leader)) {
                    return Ok(self.tell(Some(leader)));
                }
            }
            match self.news().await? {
                News::Record(said) => self.said = Some(said),
                News::Candidate(None) => self.candidate = None,
                News::Candidate(Some((mut statement, stat))) => {
                    let Some(candidate) = &mut self.candidate else { continue };
                    if let (true, Statement::Said(before, _)) = (statement == REVOKE, &candidate.statement) {
                        // The request to let go has replaced the identity: it is still the same leader.
                        statement.clone_from(before);
                    }
                    candidate.statement = Statement::Said(statement, stat);
                    self.candidates = None;
                }
                News::Denied => {
                    let Some(candidate) = &mut self.candidate else { continue };
                    session.skip(candidate.node.path(), Flaw::Denied);
                    candidate.statement = Statement::Denied;
                }
            }
        }
    }

    fn leader(&self, candidate: &Candidate) -> Option<Leader> {
        let said = self.said.as_ref()?;
        match &candidate.statement {
            Statement::Unknown => None,
            Statement::Denied => Some(Leader::unreadable()),
            Statement::Said(statement, stat) => Some(Leader::of(statement, stat, said.as_ref())),
        }
    }

    /// The node of the candidate that is first in order, however long a server takes to tell.
    async fn find(&mut self, session: &Arc<Session>) -> Result<Option<String>> {
        let mut call = session.call(None);
        call.outlast_outages();
        let server_session = session.server_session();
        let generation = server_session.link().generation;
        let first = first(&mut call, &self.path, self.kind, self.behind).await?;
        if server_session.link().generation == generation
            && session.server_session().session_id() == server_session.session_id()
        {
            self.beginning.has_come(&server_session, generation);
        }
        Ok(first.map(|name| path::join(&self.path, &name)))
    }

    /// Waits until the candidates change, while there are none.
    async fn somebody(&mut self, session: &Arc<Session>) -> Result<()> {
        let path = &self.path;
        let candidates = self.candidates.get_or_insert_with(|| session.watch_children(VERB, path));
        candidates.next().await.map(drop)
    }

    /// Both at once: neither loses anything when the other one comes first.
    async fn news(&mut self) -> Result<News> {
        let Some(candidate) = &mut self.candidate else { return Ok(News::Candidate(None)) };
        let (session, path, candidates) = (&self.session, &self.path, &mut self.candidates);
        let is_denied = matches!(candidate.statement, Statement::Denied);
        let news = async {
            if is_denied {
                let candidates = candidates.get_or_insert_with(|| session.watch_children(VERB, path));
                return candidates.next().await.map(|_| News::Candidate(None));
            }
            match candidate.node.next().await {
                Err(error) if error.kind() == ErrorKind::Denied => Ok(News::Denied),
                found => Ok(News::Candidate(found?.0)),
            }
        };
        tokio::select! {
            biased;
            found = self.record.next() => {
                Ok(News::Record(found?.0.and_then(|(data, _)| Acknowledgement::parse(&data))))
            }
            news = news => news,
        }
    }

    fn is_news(&self, leader: Option<&Leader>) -> bool {
        self.told.as_ref().is_none_or(|told| told.leader.as_ref() != leader)
    }

    fn tell(&mut self, leader: Option<Leader>) -> Option<Leader> {
        self.pause.restart();
        self.behind = Behind::Sync;
        let before = self.told.as_ref().map_or(0, |told| told.epoch);
        let known = leader.as_ref().filter(|leader| **leader != Leader::unreadable());
        let epoch = known.map_or(before, |leader| leader.epoch);
        self.told = Some(ToldLeader { leader: leader.clone(), epoch });
        leader
    }
}
