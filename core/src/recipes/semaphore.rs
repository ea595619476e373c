//! A semaphore: at most so many permits at once, several in one step, in the order of arrival. Curator's layout.
//!
//! 1. Take the lock under `path/locks`; only its holder takes permits.
//! 2. Under it, wait until `path/leases` has room for all the permits wanted.
//! 3. Create one ephemeral lease per permit in one transaction that also checks our lock node, so that nobody whose lock
//!    was broken takes permits beside its new holder. Taking them one by one would deadlock.
//! 4. Let the lock go. Releasing deletes the leases.
//!
//! The size is kept in `path/max`, which Curator ignores: participants that disagree about it get Mismatch.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::contenders::{Contender, read_all};
use super::handle::{Granted, Handle, Held, Steps};
use crate::client::Client;
use crate::error::{Error, ErrorKind, Result};
use crate::options::Naming;
use crate::path;
use crate::session::Session;
use crate::session::call::{Call, Failure, refusal};
use crate::session::epoch::Epoch;
use crate::session::wire::{CreateMode, Created, Event, Watch, WireError, Write};
use crate::turn;
use crate::turn::grant::{Grant, Won};
use crate::turn::name::{Entry, Kind};
use crate::turn::place::{Node, Queue};

/// Permits on a path, shared with everybody who uses that path, in any language.
///
/// ```
/// # zkrecipes::doctest(async {
/// use zkrecipes::Client;
///
/// let client = Client::connect("embedded:", Default::default()).await?;
/// let semaphore = client.semaphore("/limits/exports", 3)?;
/// let held = semaphore.acquire(2).await?;
/// assert_eq!(held.permits(), 2);
/// assert!(semaphore.try_acquire(2).await?.is_none());
/// held.release().await?;
/// # Ok(()) });
/// ```
#[derive(Clone)]
pub struct Semaphore {
    handle: Arc<Handle>,
    permits: Arc<AtomicUsize>,
}

/// More would not fit into one transaction with comfort.
const MOST_PERMITS_AT_ONCE: usize = 1000;

impl Semaphore {
    pub(crate) fn new(client: Client, path: &str, permits: usize) -> Result<Semaphore> {
        path::recipe(path)?;
        check_size(permits)?;
        if client.session()?.options().naming == Naming::Kazoo {
            return Err(Error::invalid(
                "naming",
                "kazoo keeps semaphores in another layout; use curator for this client",
            ));
        }
        Ok(Semaphore {
            handle: Handle::new(client, path, false, false),
            permits: Arc::new(AtomicUsize::new(permits)),
        })
    }

    /// The path of the semaphore.
    pub fn path(&self) -> &str {
        &self.handle.path
    }

    /// How many permits there are, as far as this handle knows.
    pub fn permits(&self) -> usize {
        self.permits.load(Ordering::Acquire)
    }

    /// Waits for `n` permits at once.
    ///
    /// # Cancel safety
    /// Dropping the future leaves nothing behind.
    pub fn acquire(&self, n: usize) -> impl Future<Output = Result<Held>> + Send + use<> {
        self.acquire_within(n, None)
    }

    /// Waits for `n` permits at once for at most `limit`; `None` for ever.
    pub fn acquire_within(
        &self,
        n: usize,
        limit: Option<Duration>,
    ) -> impl Future<Output = Result<Held>> + Send + use<> {
        self.handle.acquire(limit, self.steps(n))
    }

    /// Takes `n` permits if that many are free and nobody queues for them, or answers `None`.
    pub fn try_acquire(&self, n: usize) -> impl Future<Output = Result<Option<Held>>> + Send + use<> {
        let attempt = self.acquire_within(n, Some(Duration::ZERO));
        async move {
            match attempt.await {
                Ok(held) => Ok(Some(held)),
                Err(error) if error.kind() == ErrorKind::Timeout => Ok(None),
                Err(error) => Err(error),
            }
        }
    }

    /// For the faces; see [`Granted`].
    pub fn acquire_kept(
        &self,
        n: usize,
        limit: Option<Duration>,
    ) -> impl Future<Output = Result<Granted>> + Send + use<> {
        self.handle.acquire_kept(limit, self.steps(n))
    }

    /// The acquisition made last through this handle.
    pub fn current(&self) -> Option<Arc<Held>> {
        self.handle.current()
    }

    /// Releases the acquisition made last: at once, and the future confirms it.
    pub fn release(&self) -> impl Future<Output = Result<()>> + Send + use<> {
        let releasing = self.handle.held().map(|grip| grip.release());
        async move { releasing?.await }
    }

    /// Whether permits are certainly held through this handle.
    pub fn is_held(&self) -> bool {
        self.handle.is_held()
    }

    /// Ends the waits in progress on this handle with Cancelled.
    pub fn cancel(&self) {
        self.handle.cancel();
    }

    /// Who holds permits, one entry each.
    pub async fn holders(&self) -> Result<Vec<Contender>> {
        let leases = path::join(self.path(), LEASES);
        let mut call = self.handle.client.session()?.call(None);
        let names = match call.ask("holders", |epoch| epoch.children(&leases)).await {
            Ok(names) => names,
            Err(Failure::Refused(WireError::NoNode)) => return Ok(Vec::new()),
            Err(failure) => return Err(failure.about("holders", &leases)),
        };
        let read = read_all(&mut call, &leases, &names).await?;
        let mut holders: Vec<_> = names
            .into_iter()
            .zip(read)
            .filter_map(|(name, read)| {
                let (data, stat) = read?;
                Some((stat.czxid, Contender::new(name, Kind::Lease.name(), &data, &stat, true)))
            })
            .collect();
        holders.sort_by(|(a, one), (b, other)| (a, &one.node).cmp(&(b, &other.node)));
        Ok(holders.into_iter().map(|(_, holder)| holder).collect())
    }

    /// Changes how many permits there are, for everybody; handles that still say the old number get Mismatch. Fewer than
    /// are held now takes effect as they are released.
    pub async fn resize(&self, permits: usize) -> Result<()> {
        check_size(permits)?;
        let session = self.handle.client.session()?;
        let mut call = session.call(None);
        let max = path::join(self.path(), MAX);
        loop {
            let data = permits.to_string();
            match call.ask("resize", |epoch| epoch.set_data(&max, data.as_bytes(), None)).await {
                Ok(_) => break,
                Err(Failure::Refused(WireError::NoNode)) => {
                    let epoch = call.epoch("resize").await?;
                    if keep_size(&session, &epoch, &mut call, self.path(), permits).await? {
                        break;
                    }
                }
                Err(failure) => return Err(failure.about("resize", self.path())),
            }
        }
        self.permits.store(permits, Ordering::Release);
        Ok(())
    }

    fn steps(&self, n: usize) -> Steps {
        let (path, permits) = (self.handle.path.clone(), self.permits.clone());
        Box::new(move |session, mut call| {
            Box::pin(async move {
                let size = permits.load(Ordering::Acquire);
                if n == 0 || n > size.min(MOST_PERMITS_AT_ONCE) {
                    let most = size.min(MOST_PERMITS_AT_ONCE);
                    return Err(Error::invalid(
                        "n",
                        format!("{n} permits can never be had; ask for 1 to {most}"),
                    ));
                }
                Taking { session, path, permits, n }.run(&mut call).await
            })
        })
    }
}

impl std::fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Semaphore")
            .field("path", &self.handle.path)
            .field("permits", &self.permits())
            .finish()
    }
}

fn check_size(permits: usize) -> Result<()> {
    match permits {
        0 => Err(Error::invalid("permits", "must be at least 1")),
        permits if permits > i32::MAX as usize => {
            Err(Error::invalid("permits", "must be at most 2147483647"))
        }
        _ => Ok(()),
    }
}

const LOCKS: &str = "locks";
const LEASES: &str = "leases";
const MAX: &str = "max";
const VERB: &str = "acquire";

/// One acquisition of permits.
struct Taking {
    session: Arc<Session>,
    path: String,
    permits: Arc<AtomicUsize>,
    n: usize,
}

impl Taking {
    async fn run(self, call: &mut Call) -> Result<Grant> {
        let locks = path::join(&self.path, LOCKS);
        loop {
            // The layout is Curator's, so its semaphores take part: they must see our turn, whatever our locks are named.
            let naming = Naming::Curator;
            let queue = Queue { session: &self.session, path: &locks, kind: Kind::Lock, naming, verb: VERB };
            // Dropped at the end, whatever the end is: the lock goes to the next.
            let lock = turn::take(&queue, call).await?;
            let epoch = lock.epoch.clone();
            let own = lock.nodes().map(|node| node.path.clone()).collect::<String>();
            let taken = self.under(&epoch, &own, call).await?;
            drop(lock);
            if let Some(grant) = taken {
                return Ok(grant);
            }
        }
    }

    /// Takes the permits while our lock node `own` stands; `None` when it does not stand any more.
    async fn under(&self, epoch: &Arc<Epoch>, own: &str, call: &mut Call) -> Result<Option<Grant>> {
        let leases = path::join(&self.path, LEASES);
        loop {
            let link = epoch.link();
            let (children, max, own_watch) = (
                epoch.watch_children(&leases),
                epoch.watch_data(&path::join(&self.path, MAX)),
                epoch.watch_data(own),
            );
            let children = call.briefly(VERB, children).await?;
            let max = call.briefly(VERB, max).await?;
            let own_watch = call.briefly(VERB, own_watch).await?;
            let (taken, news) = match (children, max, own_watch) {
                (_, _, Err(WireError::NoNode)) => return Ok(None),
                (Err(WireError::NoNode), ..) => {
                    self.answered(call, self.session.ensure(epoch, &leases, self.session.parents())).await?;
                    continue;
                }
                (_, Err(WireError::NoNode), _) => {
                    keep_size(&self.session, epoch, call, &self.path, self.permits.load(Ordering::Acquire))
                        .await?;
                    continue;
                }
                (Ok((taken, children)), Ok((size, _, max)), Ok((_, _, own))) => {
                    self.agree(&size)?;
                    (taken.len(), [children, max, own])
                }
                (Err(error), ..) | (_, Err(error), _) | (.., Err(error)) => {
                    if epoch.has_ended() {
                        return Ok(None);
                    }
                    self.answered(call, std::future::ready(Err(error))).await?;
                    call.retry_after_loss(VERB).await?;
                    continue;
                }
            };
            if taken + self.n <= self.permits.load(Ordering::Acquire) {
                drop(news);
                return self.lease(epoch, own, &leases, call).await;
            }
            if call.is_single_attempt() {
                return Err(Error::timeout("a free permit"));
            }
            let [mut children, mut max, mut own] = news;
            let event =
                call.patiently(first_of(&mut children, &mut max, &mut own, epoch.link_changed(link))).await?;
            if event == Some(Event::SessionEnded) || epoch.has_ended() {
                return Ok(None);
            }
        }
    }

    /// An answer whose loss only means to ask again.
    async fn answered(
        &self,
        call: &mut Call,
        answer: impl Future<Output = Result<(), WireError>>,
    ) -> Result<()> {
        match call.briefly(VERB, answer).await? {
            Err(error) if !error.is_unanswered() => Err(refusal(error, VERB, &self.path)),
            _ => Ok(()),
        }
    }

    fn agree(&self, size: &[u8]) -> Result<()> {
        let here = self.permits.load(Ordering::Acquire);
        let there = std::str::from_utf8(size).ok().and_then(|size| size.trim().parse::<usize>().ok());
        if there == Some(here) {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::Mismatch,
            format!(
                "this handle says {here} permits, and {}/{MAX} says {}; make all participants agree, or resize",
                self.path,
                String::from_utf8_lossy(size)
            ),
        ))
    }

    /// One lease per permit, all in one transaction.
    async fn lease(
        &self,
        epoch: &Arc<Epoch>,
        own: &str,
        leases: &str,
        call: &mut Call,
    ) -> Result<Option<Grant>> {
        let guid = uuid::Uuid::new_v4().hyphenated().to_string();
        let prefix = path::join(leases, &format!("_c_{guid}-lease-"));
        let data = self.session.identity().as_bytes().to_vec();
        let mut parts = vec![Write::Check { path: own.to_owned(), version: None }];
        let lease = Write::Create { path: prefix, data, mode: CreateMode::EphemeralSequential };
        parts.extend(std::iter::repeat_n(lease, self.n));
        let mut pending =
            Pending { epoch: epoch.clone(), leases: leases.to_owned(), guid, is_settled: false };
        let flight = epoch.multi(&parts);
        let created = match call.briefly(VERB, flight).await? {
            Ok(created) => created,
            Err(WireError::ConnectionLoss) => match pending.recover(call).await? {
                Some(created) if created.len() == self.n => created,
                _ => return Ok(None),
            },
            // Our lock is gone, or the leases' parent: look again.
            Err(WireError::Part { error, .. }) if *error == WireError::NoNode => {
                pending.is_settled = true;
                return Ok(None);
            }
            Err(WireError::SessionEnded) => {
                pending.is_settled = true;
                return Ok(None);
            }
            Err(error) => {
                pending.is_settled = true;
                return Err(refusal(error, VERB, leases));
            }
        };
        pending.is_settled = true;
        let won = created.into_iter().map(|Created { path, czxid }| {
            let interest = epoch.interest(&path);
            let entry = Entry::lease(path::name(&path));
            Won { node: Node { path, entry, czxid }, token: czxid, interest, own: None, is_revoked: false }
        });
        let mut grant = Grant::of(epoch.clone(), won.collect());
        grant.learn_czxids(call, VERB).await?;
        Ok(Some(grant))
    }
}

/// Creates `path/max`; false when somebody else did first.
async fn keep_size(
    session: &Arc<Session>,
    epoch: &Arc<Epoch>,
    call: &mut Call,
    path: &str,
    permits: usize,
) -> Result<bool> {
    let max = path::join(path, MAX);
    loop {
        let create = epoch.create(&max, permits.to_string().as_bytes(), CreateMode::Persistent);
        match call.briefly(VERB, create).await? {
            Ok(_) => return Ok(true),
            Err(WireError::NodeExists) => return Ok(false),
            Err(WireError::NoNode) => {
                let ensured = call.briefly(VERB, session.ensure(epoch, path, session.parents())).await?;
                if let Err(error) = ensured
                    && !error.is_unanswered()
                {
                    return Err(refusal(error, VERB, path));
                }
            }
            // Whether it was created shows when it is read next.
            Err(error) if error.is_unanswered() => {
                call.retry_after_loss(VERB).await?;
                return Ok(false);
            }
            Err(error) => return Err(refusal(error, VERB, &max)),
        }
    }
}

async fn first_of(
    children: &mut Watch,
    max: &mut Watch,
    own: &mut Watch,
    reconnected: impl Future<Output = ()>,
) -> Option<Event> {
    tokio::select! {
        biased;
        event = own => Some(event),
        event = children => Some(event),
        event = max => Some(event),
        () = reconnected => None,
    }
}

/// Leases that may or may not have been created. Dropped unsettled, whatever there is of them is deleted.
struct Pending {
    epoch: Arc<Epoch>,
    leases: String,
    guid: String,
    is_settled: bool,
}

impl Pending {
    /// After a lost answer: the leases that were created by this session, or `None` if the session is gone.
    async fn recover(&self, call: &mut Call) -> Result<Option<Vec<Created>>> {
        loop {
            if self.epoch.has_ended() {
                return Ok(None);
            }
            let (sync, list) = (self.epoch.sync(&self.leases), self.epoch.children(&self.leases));
            let synced = call.briefly(VERB, sync).await?;
            let listed = call.briefly(VERB, list).await?;
            match synced.and(listed) {
                Ok(names) => {
                    let ours = names.iter().filter(|name| name.contains(&self.guid));
                    // The czxid is asked for later, and the owner can only be us: the GUID was new a moment ago and the
                    // session has not changed.
                    return Ok(Some(
                        ours.map(|name| Created { path: path::join(&self.leases, name), czxid: -1 })
                            .collect(),
                    ));
                }
                Err(WireError::NoNode) => return Ok(Some(Vec::new())),
                Err(error) if error.is_unanswered() => call.retry_after_loss(VERB).await?,
                Err(error) => return Err(refusal(error, VERB, &self.leases)),
            }
        }
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if !self.is_settled && crate::runtime::check_process().is_ok() {
            let (leases, guid) = (std::mem::take(&mut self.leases), std::mem::take(&mut self.guid));
            drop(self.epoch.delete_by_guid_in_background(leases, guid));
        }
    }
}
