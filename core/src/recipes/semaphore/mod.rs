//! A semaphore: at most so many permits at once, several in one step, in the order of arrival.
//!
//! 1. Take the lock that guards the permits; only its holder takes any.
//! 2. Under it, wait until there is room for all the permits wanted.
//! 3. Create one ephemeral node per permit in one transaction that also checks our lock node, so that nobody whose lock
//!    was broken takes permits beside its new holder. Taking them one by one would deadlock.
//! 4. Let the lock go. Releasing deletes the permits.
//!
//! The size is kept beside the permits: participants that disagree about it get Mismatch. [`layout`] tells where it all
//! is.

mod layout;
mod leases;

use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;

use super::contenders::{self, Contender, Seen};
use super::handle::{Granted, Handle, Steps, forwards_to_held};
use super::held::Held;
use crate::client::Client;
use crate::error::{Error, ErrorKind, Result};
use crate::path;
use crate::session::Session;
use crate::session::call::{Call, Failure, refusal};
use crate::session::epoch::Epoch;
use crate::session::wire::{Event, Link, Watch, WireError};
use crate::turn::grant::Grant;
use crate::turn::name::Kind;
use crate::turn::place::Queue;
use crate::turn::{self, REVOKE};
use layout::{Agreement, Layout, Size, answered};

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
    layout: Arc<Layout>,
    size: Arc<Size>,
}

/// More would not fit into one transaction with comfort.
const MOST_PERMITS_AT_ONCE: usize = 1000;

impl Semaphore {
    pub(crate) fn new(client: Client, path: &str, permits: usize) -> Result<Semaphore> {
        path::recipe(path)?;
        check_size(permits)?;
        let layout = Layout::of(path, client.session()?.options().naming);
        Ok(Semaphore {
            handle: Handle::new(client, path, false, false),
            layout: Arc::new(layout),
            size: Arc::new(Size::of(permits)),
        })
    }

    /// The path of the semaphore.
    pub fn path(&self) -> &str {
        &self.handle.path
    }

    /// How many permits there are, as far as this handle knows.
    pub fn permits(&self) -> usize {
        self.size.get()
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

    /// Takes `n` permits if that many are free and nobody waits for more of them, or answers `None`.
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

    /// Who holds permits, one entry for each permit.
    pub async fn holders(&self) -> Result<Vec<Contender>> {
        let mut all = self.contenders().await?;
        all.retain(|contender| contender.holds);
        Ok(all)
    }

    /// Who holds permits, one entry for each permit, and then who waits for some, in order.
    pub async fn contenders(&self) -> Result<Vec<Contender>> {
        let (layout, mut call) = (&self.layout, self.handle.client.session()?.call(None));
        let (mut queue, mut leases) = self.look(&mut call).await?;
        // Curator adds its lease before it knows whether there is room: that one is not held, its owner still queues.
        for looks in 1..=LOOKS {
            let size = match call.ask("contenders", |epoch| epoch.get_data(layout.size())).await {
                Ok((size, _)) => layout::parse(&size).unwrap_or(self.permits()),
                Err(Failure::Refused(WireError::NoNode)) => self.permits(),
                Err(failure) => return Err(failure.about("contenders", self.path())),
            };
            let is_surplus = |last: &mut Seen| queue.iter().any(|waiter| still_queues(waiter, last));
            if leases.len() <= size || leases.pop_if(is_surplus).is_some() || looks == LOOKS {
                break;
            }
            // More than there are, and nobody queues for them: the queue has moved on meanwhile, or a resize made them so.
            (queue, leases) = self.look(&mut call).await?;
        }
        let below = |folder: &str, contender: Contender| {
            let node = path::join(folder, &contender.node);
            let node =
                node.strip_prefix(self.path()).and_then(|rest| rest.strip_prefix('/')).unwrap_or(&node);
            Contender { node: node.to_owned(), ..contender }
        };
        let holders = leases.into_iter().map(|seen| below(&layout.leases, seen.contender(true)));
        let waiters = queue.into_iter().map(|seen| below(&layout.locks, seen.contender(false)));
        Ok(holders.chain(waiters).collect())
    }

    /// The queue and the permits. The queue first: whoever is given permits meanwhile is seen twice rather than not at all.
    async fn look(&self, call: &mut Call) -> Result<(Vec<Seen>, Vec<Seen>)> {
        let queue = contenders::queue(call, &self.layout.locks).await?;
        Ok((queue, contenders::leases(call, &self.layout.leases).await?))
    }

    /// Asks for permits: the contender whose node is named, or everybody who holds some, hears of it (`on_revoke`) and
    /// lets go when it can. See [`Lock::revoke`](crate::Lock::revoke).
    pub async fn revoke(&self, contender: Option<&str>, force_after: Option<Duration>) -> Result<bool> {
        let at = |node: &str| contenders::locate(self.path(), node);
        let asked = match contender {
            Some(node) if self.has(&at(node)) => vec![at(node)],
            Some(node) => return Err(contenders::unknown(node)),
            None => contenders::holding(self.contenders().await?).map(|node| at(&node)).collect(),
        };
        contenders::revoke(&self.handle, asked, force_after)
            .await
            .map_err(|error| error.with_path(self.path()))
    }

    /// Whether a node at this path would be a permit or a place in the queue.
    fn has(&self, node: &str) -> bool {
        let is_permit = path::validate(node).is_ok() && path::parent(node) == self.layout.leases;
        is_permit || contenders::queues_under(&self.layout.locks, node)
    }

    /// Changes how many permits there are, for everybody; handles that still say the old number get Mismatch. Fewer than
    /// are held now takes effect as they are released.
    pub async fn resize(&self, permits: usize) -> Result<()> {
        check_size(permits)?;
        let session = self.handle.client.session()?;
        let mut call = session.call(None);
        let (verb, size, data) = ("resize", self.layout.size(), permits.to_string());
        // Until the answer is there, those who wait on this handle may see either.
        self.size.propose(permits);
        loop {
            match call.ask(verb, |epoch| epoch.set_data(size, data.as_bytes(), None)).await {
                Ok(_) => break,
                Err(Failure::Refused(WireError::NoNode)) => {
                    let epoch = call.epoch(verb).await?;
                    self.layout.prepare(&session, &epoch, &mut call, verb, permits).await?;
                }
                Err(failure) => return Err(failure.about(verb, self.path())),
            }
        }
        self.size.settle(permits);
        Ok(())
    }

    fn steps(&self, n: usize) -> Steps {
        let (layout, size) = (self.layout.clone(), self.size.clone());
        Box::new(move |session, mut call| {
            Box::pin(async move {
                let most = size.most().min(MOST_PERMITS_AT_ONCE);
                if n == 0 || n > most {
                    return Err(Error::invalid(
                        "n",
                        format!("{n} permits can never be had; ask for 1 to {most}"),
                    ));
                }
                Taking { session, layout, size, n }.run(&mut call).await
            })
        })
    }
}

forwards_to_held!(Semaphore);

impl std::fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Semaphore")
            .field("path", &self.handle.path)
            .field("permits", &self.permits())
            .finish()
    }
}

/// Whether who has this lease added it while queueing, under the lock that it queues with.
fn still_queues(waiter: &Seen, lease: &Seen) -> bool {
    waiter.stat.ephemeral_owner == lease.stat.ephemeral_owner && waiter.stat.czxid < lease.stat.czxid
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

const VERB: &str = "acquire";
/// How often to look again at permits that are more than there are.
const LOOKS: usize = 3;
/// How long a single attempt waits for others to pass.
const PASSING: Duration = Duration::from_millis(250);

/// One acquisition of permits.
struct Taking {
    session: Arc<Session>,
    layout: Arc<Layout>,
    size: Arc<Size>,
    n: usize,
}

impl Taking {
    async fn run(self, call: &mut Call) -> Result<Grant> {
        let Layout { locks, naming, .. } = &*self.layout;
        loop {
            let (session, naming) = (&self.session, *naming);
            let queue = Queue { session, path: locks, kind: Kind::Lock, naming, verb: VERB };
            let (before, since) = (session.epoch(), session.epoch().link());
            // Dropped at the end, whatever the end is: the lock goes to the next.
            let lock = self.queue_up(&queue, call).await?;
            let epoch = lock.epoch.clone();
            let own = lock.nodes().map(|node| node.path.clone()).collect::<String>();
            let current = Arc::ptr_eq(&before, &epoch).then_some(since);
            let taken = self.under(&epoch, &own, current, call).await?;
            drop(lock);
            if let Some(grant) = taken {
                return Ok(grant);
            }
        }
    }

    /// A single attempt does not wait for permits, but for those who are just taking some while there is room for all.
    async fn queue_up(&self, queue: &Queue<'_>, call: &mut Call) -> Result<Grant> {
        match turn::take(queue, call).await {
            Err(error) if call.is_single_attempt() && error.kind() == ErrorKind::Timeout => {
                let leases = match call.ask(VERB, |epoch| epoch.children(&self.layout.leases)).await {
                    Ok(names) => names.len(),
                    Err(Failure::Refused(WireError::NoNode)) => 0,
                    Err(failure) => return Err(failure.about(VERB, queue.path)),
                };
                match leases + self.n <= self.size.get() {
                    true => turn::take(queue, &mut call.within(PASSING)).await,
                    false => Err(error),
                }
            }
            outcome => outcome,
        }
    }

    /// Takes the permits while our lock node `own` stands; `None` when it does not stand any more.
    ///
    /// What we read must not be older than what the lock's last holder took. The connection on which we got the lock,
    /// `current`, has told us of that; the server behind any other one may lag, so a `sync` goes ahead of the first reads.
    async fn under(
        &self,
        epoch: &Arc<Epoch>,
        own: &str,
        mut current: Option<Link>,
        call: &mut Call,
    ) -> Result<Option<Grant>> {
        let layout = &*self.layout;
        loop {
            let link = epoch.link();
            let caught_up = (current != Some(link)).then(|| epoch.sync(&layout.leases));
            let (leases, size, own_watch) = (
                epoch.watch_children(&layout.leases),
                epoch.watch_data(layout.size()),
                epoch.watch_data(own),
            );
            let is_caught_up = match caught_up {
                Some(caught_up) => call.briefly(VERB, caught_up).await?.is_ok(),
                None => true,
            };
            let leases = call.briefly(VERB, leases).await?;
            let size = call.briefly(VERB, size).await?;
            let own_watch = call.briefly(VERB, own_watch).await?;
            let (room, is_asked, news) = match (leases, size, own_watch) {
                (_, _, Err(WireError::NoNode)) => return Ok(None),
                (Err(WireError::NoNode), ..) | (_, Err(WireError::NoNode), _) => {
                    layout.prepare(&self.session, epoch, call, VERB, self.size.get()).await?;
                    continue;
                }
                (Ok((taken, leases)), Ok((data, stat, size)), Ok((asked, _, own))) => {
                    if !is_caught_up || epoch.link() != link {
                        // The answers may come from two servers.
                        current = None;
                        continue;
                    }
                    current = Some(link);
                    let permits = match layout.agree(&self.size, &data)? {
                        Agreement::Agreed(permits) => permits,
                        Agreement::Unwritten => {
                            self.write_size(epoch, call, stat.version).await?;
                            continue;
                        }
                    };
                    (permits.saturating_sub(taken.len()), asked == REVOKE, [leases, size, own])
                }
                (Err(error), ..) | (_, Err(error), _) | (.., Err(error)) => {
                    if epoch.has_ended() {
                        return Ok(None);
                    }
                    answered(call, VERB, &layout.leases, std::future::ready(Err::<(), _>(error))).await?;
                    continue;
                }
            };
            if self.n <= room {
                let [.., own_news] = news;
                let identity = self.session.identity();
                let mut grant = leases::take(layout, epoch, own, self.n, identity, call, VERB).await?;
                // What was asked of who waited is asked of who holds; news of it came before the permits did.
                if is_asked || own_news.now_or_never() == Some(Event::DataChanged) {
                    grant.iter_mut().for_each(Grant::revoke);
                }
                return Ok(grant);
            }
            if call.is_single_attempt() {
                return Err(Error::timeout("a free permit"));
            }
            let event = call.patiently(first_of(news, epoch.link_changed(link))).await?;
            if event == Some(Event::SessionEnded) || epoch.has_ended() {
                return Ok(None);
            }
        }
    }

    /// Says the size for everybody, unless somebody else just has.
    async fn write_size(&self, epoch: &Arc<Epoch>, call: &mut Call, version: i32) -> Result<()> {
        let (size, data) = (self.layout.size(), self.size.get().to_string());
        let written = call.briefly(VERB, epoch.set_data(size, data.as_bytes(), Some(version))).await?;
        match written {
            Ok(_) | Err(WireError::BadVersion | WireError::NoNode) => Ok(()),
            Err(error) if error.is_unanswered() => call.retry_after_loss(VERB).await,
            Err(error) => Err(refusal(error, VERB, size)),
        }
    }
}

/// The first piece of news, `None` for a change of the connection.
async fn first_of(news: [Watch; 3], reconnected: impl Future<Output = ()>) -> Option<Event> {
    let [mut leases, mut size, mut own] = news;
    tokio::select! {
        biased;
        event = &mut own => Some(event),
        event = &mut leases => Some(event),
        event = &mut size => Some(event),
        () = reconnected => None,
    }
}
