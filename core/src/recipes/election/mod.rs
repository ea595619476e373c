//! The election of a leader.
//!
//! 1. Candidates queue like those who want a lock (see [`crate::turn`]); the first in order leads. The czxid of its node is
//!    the epoch of its leadership: it rises from one leader to the next.
//! 2. A leader that goes deletes its node, or its session ends; the next in order hears of it by an event and leads without
//!    a request.
//! 3. A leader that has begun its work says so in the data of the election's own node, in a transaction that checks that
//!    its candidate's node stands. See `statement`.
//! 4. An observer watches the first candidate's node and that data, and lists the candidates only when the leader has
//!    gone. See `observe`.
//! 5. A leader that cannot be certain of its session any more has lost, whatever the network says. See [`crate::Held`].
//! 6. A candidate asks those before it that are of a lower priority to move behind it, and the leader among them to hand over.
//!    See [`crate::turn`]. What the priority is says its name.
//! 7. A leader that is asked for its leadership, or is not healthy, has some time to finish its work, then the term ends. One
//!    that is not healthy stands again when it is. See `run`.
//! 8. A leader hands over to a chosen one when nobody stands between any more. See `transfer`.

mod leadership;
mod observe;
mod run;
mod statement;
mod transfer;

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::watch;

use self::leadership::Fate;
pub use self::leadership::Leadership;
pub use self::observe::Leader;
pub use self::run::Terms;
use self::statement::Acknowledgement;
use super::contenders::{self, Contender, SeenContender};
use super::handle::{Comes, Handle, Meanwhile, Recipe, TakingTurn};
use crate::client::Client;
use crate::error::{Error, ErrorKind, Result};
use crate::feed::Feed;
use crate::options::{ElectionLayout, ElectionOptions, Naming};
use crate::path;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::clock::Later;
use crate::session::growing_pause::GrowingPause;
use crate::session::refusal::refusal;
use crate::session::wire::{CreateMode, frame};
use crate::turn;
use crate::turn::name::{self, Kind};
use crate::turn::place::TurnRequest;
use crate::turn::revocation::REVOKE;

/// One candidate in the election at a path: `client.election(path, data, options)`. Clones are the same candidate.
///
/// Its verbs are those of every [`Handle`], and those of an election: what a handle acquires is the leadership.
///
/// ```
/// # zkrecipes::doctest(async {
/// # let client = zkrecipes::Client::connect("embedded:", Default::default()).await?;
/// let election = client.election("/leader", b"10.0.0.7:80", Default::default())?;
/// let leadership = election.campaign().await?;
/// leadership.acknowledge(b"ready").await?;
/// let leader = election.leader().await?.expect("it is us");
/// assert_eq!((leader.epoch, leader.acknowledged), (leadership.epoch(), true));
/// election.resign().await?;
/// assert_eq!(election.leader().await?, None);
/// # Ok(()) });
/// ```
#[derive(Clone, Debug)]
pub struct Election {
    handle: Handle,
    kind: Kind,
    /// Changes when the runs in progress are to end.
    stops: Arc<watch::Sender<u64>>,
    /// Whether it can do the work of a leader, as far as it says.
    health: Arc<watch::Sender<bool>>,
    /// How long the work of a term may go on that somebody has asked for.
    drain: Duration,
}

impl Deref for Election {
    type Target = Handle;

    fn deref(&self) -> &Handle {
        &self.handle
    }
}

impl Client {
    /// A handle on the election at `path`, for a candidate. Those who ask for the leader are told its `data`. Does no
    /// I/O.
    pub fn election(&self, path: &str, data: &[u8], options: ElectionOptions) -> Result<Election> {
        let session = self.session_for_handle()?;
        path::recipe(path)?;
        options.check_ranges().map_err(|error| error.with_path(path))?;
        let identity = session.identity();
        if identity.contains('\0') {
            return Err(Error::invalid(
                "identity",
                "has a NUL, behind which a candidate's data begins; choose another",
            ));
        }
        let kind = match (session.options().naming, options.layout) {
            // kazoo's candidates are those of its lock.
            (Naming::Kazoo, _) | (_, ElectionLayout::Selector) => Kind::Lock,
            (Naming::Curator | Naming::Zookeeper, ElectionLayout::Latch) => Kind::Latch,
        };
        let statement = statement::of_candidate(identity, data);
        let priority = options.priority;
        let node = path::join(path, &name::fresh_candidate(session.options().naming, kind, priority).0);
        let bytes =
            session.server_session().measure().create(&node, &statement, CreateMode::EphemeralSequential);
        frame::fits(bytes).map_err(|error| refusal(error, "a candidate", path))?;
        let candidacy = Arc::new(Candidacy { path: path.to_owned(), kind, statement, priority });
        let handle = Handle::new(self, path, Meanwhile::Waits, candidacy);
        let health = Arc::new(watch::Sender::new(true));
        Ok(Election { handle, kind, stops: Arc::default(), health, drain: options.drain })
    }
}

impl Election {
    /// Queues and waits until this candidate leads.
    ///
    /// # Cancel safety
    /// Dropping the future leaves nothing behind: the candidate is withdrawn in the background.
    pub fn campaign(&self) -> impl Future<Output = Result<Leadership>> + Send + use<> {
        self.win(None)
    }

    /// Campaigns for as long as `limit`, then Timeout. Zero is one attempt without waiting.
    ///
    /// # Cancel safety
    /// As for [`Election::campaign`].
    pub fn campaign_timeout(
        &self,
        limit: Duration,
    ) -> impl Future<Output = Result<Leadership>> + Send + use<> {
        self.win(Some(limit))
    }

    fn win(&self, limit: Option<Duration>) -> impl Future<Output = Result<Leadership>> + Send + use<> {
        // Its place among the waits of this handle is taken now.
        let winning = self.handle.take(1, limit, Comes::WhenPolled);
        winning.map(|won| won.map(Leadership::of))
    }

    /// Campaigns, lets `work` work for as long as this candidate leads, resigns, and campaigns again, until
    /// [`Election::cancel`] or a failure that trying again cannot help.
    ///
    /// A leader of whom somebody wants the leadership, such as a candidate of a higher priority, is told so
    /// ([`Leadership::signal`]). It may work on for as long as [`ElectionOptions::drain`]; then the term ends, and it stands again,
    /// behind all others.
    ///
    /// The future that `work` made is dropped when the leadership is lost or resigned. An error of it is logged, and the
    /// next campaign begins after a pause. Answers Ok when it was cancelled; Closed when the client was closed.
    ///
    /// ```
    /// # zkrecipes::doctest(async {
    /// # let client = zkrecipes::Client::connect("embedded:", Default::default()).await?;
    /// let election = client.election("/leader", b"", Default::default())?;
    /// let stop = election.clone();
    /// election
    ///     .run(|leadership| {
    ///         println!("leading in epoch {}", leadership.epoch());
    ///         // The first term is the last one here.
    ///         stop.cancel();
    ///         async { Ok::<(), zkrecipes::Error>(()) }
    ///     })
    ///     .await?;
    /// # Ok(()) });
    /// ```
    ///
    /// # Cancel safety
    /// Dropping the future drops the future of `work` and resigns in the background.
    pub async fn run<F, W, E>(&self, work: F) -> Result<()>
    where
        F: FnMut(Leadership) -> W,
        W: Future<Output = Result<(), E>>,
        E: std::fmt::Display,
    {
        Election::lead(self.terms()?, work).await
    }

    async fn lead<F, W, E>(mut terms: Terms, mut work: F) -> Result<()>
    where
        F: FnMut(Leadership) -> W,
        W: Future<Output = Result<(), E>>,
        E: std::fmt::Display,
    {
        while let Some(leadership) = terms.next().await? {
            match leadership.serve(work(leadership.clone()), terms.stopped()).await {
                Fate::Done(Err(error)) => terms.failed(&leadership, &error),
                Fate::Done(Ok(())) | Fate::Ended => terms.succeeded(),
            }
        }
        Ok(())
    }

    /// As [`Election::run`], for as long as `healthy` says so: asked before it stands, and every half a second. Who is not healthy
    /// does not stand. A leader that is not any more is told so, as one that is to hand over; it stands again when it is.
    ///
    /// ```
    /// # zkrecipes::doctest(async {
    /// # let client = zkrecipes::Client::connect("embedded:", Default::default()).await?;
    /// let election = client.election("/leader", b"", Default::default())?;
    /// let stop = election.clone();
    /// let work = |_| {
    ///     stop.cancel();
    ///     async { Ok::<(), zkrecipes::Error>(()) }
    /// };
    /// election.run_while_healthy(work, || std::path::Path::new("/").exists()).await?;
    /// # Ok(()) });
    /// ```
    ///
    /// # Cancel safety
    /// As for [`Election::run`].
    pub async fn run_while_healthy<F, W, E>(
        &self,
        work: F,
        mut healthy: impl FnMut() -> bool + Send,
    ) -> Result<()>
    where
        F: FnMut(Leadership) -> W,
        W: Future<Output = Result<(), E>>,
        E: std::fmt::Display,
    {
        let clock = self.handle.client().session()?.clock().clone();
        // Made before anybody is asked: who cancels meanwhile ends this run.
        let terms = self.terms()?;
        let _health = HealthEnds(self);
        self.set_healthy(healthy());
        let checking = async {
            loop {
                clock.sleep_until(clock.now() + HEALTH_INTERVAL).await;
                self.set_healthy(healthy());
            }
        };
        tokio::select! {
            biased;
            () = checking => Ok(()),
            ended = Election::lead(terms, work) => ended,
        }
    }

    /// Says whether this candidate can do the work of a leader, for a [`Election::run`] of it: false, and it does not stand, or its
    /// term ends as for one that is to hand over; true, and it stands again. Others than that are not affected.
    pub fn set_healthy(&self, healthy: bool) {
        self.health.send_if_modified(|was| std::mem::replace(was, healthy) != healthy);
    }

    /// The terms of this candidate, one after the other, until [`Election::cancel`].
    pub(crate) fn terms(&self) -> Result<Terms> {
        let session = self.handle.client().session()?;
        let retry = &session.options().retry;
        let pause = GrowingPause::new(retry.base, retry.max);
        let (stops, health) = (self.stops.subscribe(), self.health.subscribe());
        Ok(Terms { election: self.clone(), stops, health, pause, is_paused: false, session })
    }

    /// Resigns: at once, and the future confirms it. The next candidate leads; a [`Election::run`] in progress campaigns
    /// again, behind all others. NotHeld without leading.
    pub fn resign(&self) -> impl Future<Output = Result<()>> + Send + use<> {
        let releasing = self.handle.release();
        async move { releasing.await.map_err(without_leading) }
    }

    /// Ends the campaigns in progress on this handle with Cancelled, and the runs. Later ones are not affected.
    pub fn cancel(&self) {
        if self.handle.client().process().is_present() {
            self.stops.send_modify(|count| *count += 1);
            self.handle.cancel();
        }
    }

    /// Whether this candidate certainly leads.
    pub fn is_leader(&self) -> bool {
        self.handle.is_held()
    }

    /// Who leads now, whether or not we stand.
    pub async fn leader(&self) -> Result<Option<Leader>> {
        let session = self.handle.client().session()?;
        observe::leader(&mut session.call(None).reading(), self.path(), self.kind).await
    }

    /// All who stand, in the order in which they will lead; the first one leads. Who was asked to let go by others than ours has no
    /// identity until it has heard that: their request has replaced it.
    pub async fn candidates(&self) -> Result<Vec<Contender>> {
        let mut candidates = self.handle.contenders().await?;
        for candidate in candidates.iter_mut().filter(|candidate| candidate.identity.as_bytes() == REVOKE) {
            candidate.identity.clear();
        }
        Ok(candidates)
    }

    /// Who leads, now and whenever that changes, `None` while nobody does. Epochs never fall, and no two leaders are told
    /// of one epoch, unless the servers have lost everything and count from the beginning. That a leader has begun its work
    /// is told, too.
    pub fn observe(&self) -> Feed<Option<Leader>> {
        observe::feed(self.handle.client().session(), self.path(), self.kind)
    }
}

/// How often a run asks whether its candidate is healthy: a leader that is not is to be followed soon, and the question may cost
/// something.
pub const HEALTH_INTERVAL: Duration = Duration::from_millis(500);

/// Nobody says any more how it is.
pub(crate) struct HealthEnds<'a>(pub(crate) &'a Election);

impl Drop for HealthEnds<'_> {
    fn drop(&mut self) {
        self.0.set_healthy(true);
    }
}

/// A candidate's node as others see it.
pub(crate) fn candidate(seen: SeenContender, leads: bool) -> Contender {
    let identity = statement::parse_candidate(&seen.data).0;
    Contender { identity, ..seen.contender(leads) }
}

/// The epoch of the leader that has said that it has begun its work, and its data.
pub(crate) fn begun(record: &[u8]) -> Option<(u64, Vec<u8>)> {
    Acknowledgement::parse(record).map(|said| (said.epoch, said.data))
}

/// What a candidate says of itself beside its name.
pub(crate) fn candidate_data(statement: &[u8]) -> Vec<u8> {
    statement::parse_candidate(statement).1
}

struct Candidacy {
    path: String,
    kind: Kind,
    statement: Vec<u8>,
    priority: i32,
}

impl Recipe for Candidacy {
    fn word(&self) -> &'static str {
        "election"
    }

    fn words(&self) -> (&'static str, &'static str) {
        ("not elected", "leads")
    }

    fn take<'a>(self: Arc<Self>, session: Arc<Session>, call: &'a mut Call, _: usize) -> TakingTurn<'a> {
        Box::pin(async move {
            let queue = TurnRequest {
                data: &self.statement,
                priority: Some(self.priority),
                // Who is of another priority than those beside it may have to ask or to move, and looks for itself.
                stands_in_line: self.priority == 0,
                verb: "campaign",
                ..TurnRequest::of(&session, &self.path, self.kind)
            };
            turn::take(&queue, call).await
        })
    }

    fn holder(self: Arc<Self>, mut call: Call) -> Later<Result<Option<Contender>>> {
        Box::pin(async move {
            let first = contenders::first(&mut call, &self.path, self.kind).await?;
            Ok(first.map(|first| {
                let identity = statement::parse_candidate(first.identity.as_bytes()).0;
                Contender { identity, ..first }
            }))
        })
    }

    fn seen(&self, _parent: &str, first: SeenContender) -> Contender {
        let identity = statement::parse_candidate(&first.data).0;
        Contender { identity, ..first.contender(true) }
    }

    fn contenders(self: Arc<Self>, mut call: Call) -> Later<Result<Vec<Contender>>> {
        Box::pin(async move {
            let queue = contenders::queue(&mut call, &self.path, self.kind).await?;
            Ok(queue.into_iter().enumerate().map(|(place, seen)| candidate(seen, place == 0)).collect())
        })
    }

    fn locate(&self, node: &str) -> Option<String> {
        let node = contenders::whole(&self.path, node);
        Some(node).filter(|node| contenders::queues_under(&self.path, node, self.kind))
    }
}

/// NotHeld in the words of an election; what was lost is told as it is.
fn without_leading(error: Error) -> Error {
    match error.kind() {
        ErrorKind::NotHeld if error.reason().is_none() => error.advising("campaign first"),
        _ => error,
    }
}
