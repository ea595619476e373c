//! A semaphore: at most so many permits at once, several in one step, in the order of arrival.
//!
//! 1. Take the lock that guards the permits; only its holder takes any.
//! 2. Under it, wait until there is room for all the permits wanted.
//! 3. Create one ephemeral node per permit in one transaction that also checks our lock node, so that nobody whose lock
//!    was broken takes permits beside its new holder. Taking them one by one would deadlock.
//! 4. Let the lock go. Releasing deletes the permits.
//! 5. When the answer of step 3 is lost, the permits are looked for by a mark in their names (`leases`).
//!
//! The size is kept beside the permits: participants that disagree about it get Mismatch. [`layout`] tells where it all
//! is.

mod layout;
mod permits;
mod size;

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;

use super::contenders::{self, Contender, SeenContender};
use super::handle::{Comes, Handle, Meanwhile, Recipe, TakingTurn};
use super::held::Held;
use crate::client::Client;
use crate::error::{Error, ErrorKind, Result};
use crate::path;
use crate::session::Session;
use crate::session::call::{Call, LOOK_AFTER};
use crate::session::clock::Later;
use crate::session::refusal::Failure;
use crate::session::server_session::ServerSession;
use crate::session::wire::{Event, Link, Watch, WireError};
use crate::turn::grant::Grant;
use crate::turn::name::Kind;
use crate::turn::place::TurnRequest;
use crate::turn::revocation::REVOKE;
use crate::turn::session_line::LastLine;
use crate::turn::{self, deletable};
use layout::{SemaphoreLayout, answered};
use size::{Size, SizeAgreement};

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
    handle: Handle,
    permits: Arc<Permits>,
}

impl Deref for Semaphore {
    type Target = Handle;

    fn deref(&self) -> &Handle {
        &self.handle
    }
}

impl Client {
    /// A handle on the semaphore at `path` with so many permits. Does no I/O.
    pub fn semaphore(&self, path: &str, permits: usize) -> Result<Semaphore> {
        let naming = self.session_for_handle()?.options().naming;
        path::recipe(path)?;
        check_size(permits)?;
        let (layout, size) = (SemaphoreLayout::of(path, naming), Size::of(permits));
        let permits =
            Arc::new(Permits { path: path.to_owned(), layout, size, last_line: LastLine::default() });
        Ok(Semaphore { handle: Handle::new(self, path, Meanwhile::Adds, permits.clone()), permits })
    }
}

impl Semaphore {
    /// How many permits there are, as far as this handle knows.
    pub fn permits(&self) -> usize {
        self.permits.size.get()
    }

    /// Waits for `n` permits at once.
    ///
    /// # Cancel safety
    /// Dropping the future leaves nothing behind.
    pub fn acquire(&self, n: usize) -> impl Future<Output = Result<Held>> + Send + use<> {
        self.handle.take(n, None, Comes::WhenPolled)
    }

    /// Waits for `n` permits at once for as long as `limit`, then Timeout. Zero is one attempt without waiting.
    pub fn acquire_timeout(
        &self,
        n: usize,
        limit: Duration,
    ) -> impl Future<Output = Result<Held>> + Send + use<> {
        self.handle.take(n, Some(limit), Comes::WhenPolled)
    }

    /// Takes `n` permits if that many are free and nobody waits for more of them, or answers `None`.
    pub fn try_acquire(&self, n: usize) -> impl Future<Output = Result<Option<Held>>> + Send + use<> {
        self.handle.attempt(n)
    }

    /// Who holds permits, one entry for each permit.
    pub async fn holders(&self) -> Result<Vec<Contender>> {
        let mut all = self.contenders().await?;
        all.retain(|contender| contender.holds);
        Ok(all)
    }

    /// Changes how many permits there are, for everybody; handles that still say the old number get Mismatch. Fewer than
    /// are held now takes effect as they are released.
    pub async fn resize(&self, permits: usize) -> Result<()> {
        check_size(permits)?;
        let session = self.client().session()?;
        let mut call = session.call(None);
        let Permits { layout, size: known, .. } = &*self.permits;
        let (verb, size, data) = ("resize", layout.size(), permits.to_string());
        // Until the answer is there, those who wait on this handle may see either.
        let (proposal, mut may_be_made) = (known.propose(permits), false);
        loop {
            match call.ask(verb, |server| server.set_data(size, data.as_bytes(), None)).await {
                Ok(_) => break,
                Err(Failure::Refused(WireError::NoNode)) => {
                    let server_session = call.server_session(verb).await?;
                    may_be_made = true;
                    layout.prepare(&session, &server_session, &mut call, verb, permits).await?;
                }
                Err(failure) => {
                    if matches!(failure, Failure::Refused(_)) && !may_be_made {
                        proposal.withdraw();
                    }
                    return Err(failure.about(verb, self.path()));
                }
            }
        }
        proposal.settle();
        Ok(())
    }
}

impl std::fmt::Debug for Semaphore {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Semaphore").field("handle", &self.handle).field("permits", &self.permits()).finish()
    }
}

/// The permits of one path, as far as a handle knows them.
struct Permits {
    path: String,
    layout: SemaphoreLayout,
    size: Size,
    last_line: LastLine,
}

impl Recipe for Permits {
    fn word(&self) -> &'static str {
        "semaphore"
    }

    /// Who is ahead waits for permits, too.
    fn first_holds(&self) -> bool {
        false
    }

    fn take<'a>(self: Arc<Self>, session: Arc<Session>, call: &'a mut Call, n: usize) -> TakingTurn<'a> {
        Box::pin(async move {
            let most = self.size.most().min(MOST_PERMITS_AT_ONCE);
            if n == 0 || n > most {
                return Err(never_had(n, most));
            }
            Taking { session, permits: self, n }.run(call).await
        })
    }

    fn contenders(self: Arc<Self>, mut call: Call) -> Later<Result<Vec<Contender>>> {
        Box::pin(async move { self.everybody(&mut call).await })
    }

    /// A permit, or a place in the queue.
    fn locate(&self, node: &str) -> Option<String> {
        let node = contenders::whole(&self.path, node);
        let is_permit = path::validate(&node).is_ok() && path::parent(&node) == self.layout.permits;
        (is_permit || contenders::queues_under(&self.layout.locks, &node, Kind::Lock)).then_some(node)
    }
}

impl Permits {
    /// Who holds permits, one entry for each permit, and then who waits for some, in order.
    async fn everybody(&self, call: &mut Call) -> Result<Vec<Contender>> {
        let layout = &self.layout;
        let (mut queue, mut permit_nodes) = self.look(call).await?;
        // Curator adds its permit before it knows whether there is room: that one is not held, its owner still queues.
        for looks in 1..=LOOKS {
            let size = match call.ask("contenders", |server| server.get_data(layout.size())).await {
                Ok((size, _)) => size::parse(&size).unwrap_or(self.size.get()),
                Err(Failure::Refused(WireError::NoNode)) => self.size.get(),
                Err(failure) => return Err(failure.about("contenders", &self.path)),
            };
            if permit_nodes.len() <= size
                || drop_surplus(&mut permit_nodes, &queue, Some(size))
                || looks == LOOKS
            {
                break;
            }
            // More than there are, and nobody queues for them: the queue has moved on meanwhile, or a resize made them so.
            (queue, permit_nodes) = self.look(call).await?;
        }
        let below = |folder: &str, contender: Contender| {
            let node = path::join(folder, &contender.node);
            let node = node.strip_prefix(&self.path).and_then(|rest| rest.strip_prefix('/')).unwrap_or(&node);
            Contender { node: node.to_owned(), ..contender }
        };
        let holders = permit_nodes.into_iter().map(|seen| below(&layout.permits, seen.contender(true)));
        let waiters = queue.into_iter().map(|seen| below(&layout.locks, seen.contender(false)));
        Ok(holders.chain(waiters).collect())
    }

    /// The queue and the permits. The queue is read first, so that a contender that gets its permits in between is seen
    /// twice and not missed.
    async fn look(&self, call: &mut Call) -> Result<(Vec<SeenContender>, Vec<SeenContender>)> {
        let queue = contenders::queue(call, &self.layout.locks, Kind::Lock).await?;
        Ok((queue, contenders::permits(call, &self.layout.permits).await?))
    }
}

/// How many permits there are, as the node says that has the size.
pub(crate) fn size(data: &[u8]) -> Option<usize> {
    size::parse(data)
}

/// Curator adds its permit before it knows whether there is room: that one is not held, its owner still queues. Takes away
/// such a one, and answers whether there was one.
pub(crate) fn drop_surplus(
    permit_nodes: &mut Vec<SeenContender>,
    queue: &[SeenContender],
    size: Option<usize>,
) -> bool {
    let is_surplus = |last: &mut SeenContender| queue.iter().any(|waiter| still_queues(waiter, last));
    size.is_some_and(|size| permit_nodes.len() > size) && permit_nodes.pop_if(is_surplus).is_some()
}

/// Whether the owner of this permit is still in the queue, and added the permit under the lock that it has there.
fn still_queues(waiter: &SeenContender, permit: &SeenContender) -> bool {
    waiter.stat.ephemeral_owner == permit.stat.ephemeral_owner && waiter.stat.czxid < permit.stat.czxid
}

fn never_had(n: usize, most: usize) -> Error {
    Error::invalid("n", format!("{n} permits can never be had; ask for 1 to {most}"))
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

/// More would not fit into one transaction with comfort.
const MOST_PERMITS_AT_ONCE: usize = 1000;
const VERB: &str = "acquire";
/// How often to look again at permits that are more than there are.
const LOOKS: usize = 3;
/// How long a single attempt waits for others to pass.
const PASSING: Duration = Duration::from_millis(250);

/// One acquisition of permits.
struct Taking {
    session: Arc<Session>,
    permits: Arc<Permits>,
    n: usize,
}

impl Taking {
    async fn run(self, call: &mut Call) -> Result<Grant> {
        let SemaphoreLayout { locks, naming, .. } = &self.permits.layout;
        let first = self.permits.layout.first();
        permits::fit(&self.permits.layout, &self.session.server_session(), self.n, self.session.identity())?;
        loop {
            let session = &self.session;
            let queue = TurnRequest {
                naming: *naming,
                first,
                last_line: Some(&self.permits.last_line),
                passes: true,
                ..TurnRequest::of(session, locks, Kind::Lock)
            };
            let (before, since) = (session.server_session(), session.server_session().link());
            self.permits.layout.look_at_parent(session, &before, call, VERB).await?;
            // Whatever the end is, the lock goes to the next.
            let lock = self.queue_up(&queue, call).await?;
            let server_session = lock.server_session.clone();
            let own = lock.nodes.iter().map(|node| node.path.as_str()).collect::<String>();
            let current = Arc::ptr_eq(&before, &server_session).then_some(since);
            let taken = self.under(&server_session, &own, current, call).await?;
            lock.pass_on();
            if let Some(grant) = taken {
                return Ok(grant);
            }
        }
    }

    /// A single attempt does not wait for permits, but for those who are just taking some while there is room for all.
    async fn queue_up(&self, queue: &TurnRequest<'_>, call: &mut Call) -> Result<Grant> {
        match turn::take(queue, call).await {
            Err(error) if call.is_single_attempt() && error.kind() == ErrorKind::Timeout => {
                let permit_nodes =
                    match call.ask(VERB, |server| server.children(&self.permits.layout.permits)).await {
                        Ok(names) => names.len(),
                        Err(Failure::Refused(WireError::NoNode)) => 0,
                        Err(failure) => return Err(failure.about(VERB, queue.path)),
                    };
                match permit_nodes + self.n <= self.permits.size.get() {
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
        server_session: &Arc<ServerSession>,
        own: &str,
        mut current: Option<Link>,
        call: &mut Call,
    ) -> Result<Option<Grant>> {
        let (layout, known) = (&self.permits.layout, &self.permits.size);
        loop {
            let link = server_session.link();
            let mut changes = known.changes();
            let caught_up = (current != Some(link)).then(|| server_session.sync(&layout.permits));
            let (permit_nodes, size, own_watch) = (
                server_session.watch_children(&layout.permits),
                server_session.watch_data(layout.size()),
                server_session.watch_data(own),
            );
            let is_caught_up = match caught_up {
                Some(caught_up) => call.receive(VERB, caught_up).await?.is_ok(),
                None => true,
            };
            let permit_nodes = call.receive(VERB, permit_nodes).await?;
            let size = call.receive(VERB, size).await?;
            let own_watch = call.receive(VERB, own_watch).await?;
            let (room, is_asked, news) = match (permit_nodes, size, own_watch) {
                (_, _, Err(WireError::NoNode)) => return Ok(None),
                (Err(WireError::NoNode), ..) | (_, Err(WireError::NoNode), _) => {
                    layout.prepare(&self.session, server_session, call, VERB, known.get()).await?;
                    continue;
                }
                (Ok((taken, _, permit_nodes)), Ok((data, stat, size)), Ok((asked, _, own))) => {
                    if !is_caught_up || server_session.link() != link {
                        // The answers may come from two servers.
                        current = None;
                        call.retry_after_loss(VERB).await?;
                        continue;
                    }
                    current = Some(link);
                    let permits = match layout.agree(known, &data) {
                        Ok(SizeAgreement::Agreed(permits)) => permits,
                        // This handle was resized after it had been read.
                        Err(_) if changes.has_changed().unwrap_or(false) => continue,
                        Err(error) => return Err(error),
                        Ok(SizeAgreement::Unwritten) => {
                            self.write_size(server_session, call, stat.version).await?;
                            continue;
                        }
                    };
                    // There were more when it began to wait, or there may have been. It must not keep the line of all for ever.
                    if self.n > permits && !known.may_reach(self.n) {
                        if changes.has_changed().unwrap_or(false) {
                            continue;
                        }
                        return Err(never_had(self.n, permits));
                    }
                    (permits.saturating_sub(taken.len()), asked == REVOKE, [permit_nodes, size, own])
                }
                (Err(error), ..) | (_, Err(error), _) | (.., Err(error)) => {
                    if server_session.has_ended() {
                        return Ok(None);
                    }
                    answered(call, VERB, &layout.permits, std::future::ready(Err::<(), _>(error))).await?;
                    continue;
                }
            };
            if self.n <= room {
                let [.., own_news] = news;
                let identity = self.session.identity();
                deletable::check(&self.session, server_session, call, VERB, &layout.permits).await?;
                let mut grant =
                    permits::take(layout, server_session, own, self.n, identity, call, VERB).await?;
                if grant.is_some() {
                    deletable::settle(server_session, &layout.permits);
                }
                // A request to let go that came while we waited counts for what we hold now. We were told of it before
                // we got the permits.
                if is_asked || own_news.now_or_never() == Some(Event::DataChanged) {
                    grant.iter_mut().for_each(|grant| grant.is_revoked = true);
                }
                return Ok(grant);
            }
            if call.is_single_attempt() {
                return Err(Error::timeout("not acquired"));
            }
            call.waits_at(&layout.locks, server_session);
            let elsewhere = async {
                tokio::select! {
                    biased;
                    // The handle has been resized, or not: what is asked for may be too much now.
                    _ = changes.changed() => {}
                    () = server_session.link_changed(link) => {}
                }
            };
            let event = call.wait_at_most(LOOK_AFTER, first_of(news, elsewhere)).await?;
            if event == Some(Some(Event::SessionEnded)) || server_session.has_ended() {
                return Ok(None);
            }
        }
    }

    /// Says the size for everybody, unless somebody else just has.
    async fn write_size(
        &self,
        server_session: &Arc<ServerSession>,
        call: &mut Call,
        version: i32,
    ) -> Result<()> {
        let (size, data) = (self.permits.layout.size(), self.permits.size.get().to_string());
        let written =
            call.receive(VERB, server_session.set_data(size, data.as_bytes(), Some(version))).await?;
        match written {
            Ok(_) | Err(WireError::BadVersion | WireError::NoNode) => Ok(()),
            Err(error) => call.retry_or_refuse(error, VERB, size).await,
        }
    }
}

/// The first piece of news, `None` for what no watch tells.
async fn first_of(news: [Watch; 3], elsewhere: impl Future<Output = ()>) -> Option<Event> {
    let [mut permit_nodes, mut size, mut own] = news;
    tokio::select! {
        biased;
        event = &mut own => Some(event),
        event = &mut permit_nodes => Some(event),
        event = &mut size => Some(event),
        () = elsewhere => None,
    }
}
