//! What everything has in common that can be acquired: the handle, with the verbs of all recipes.
//!
//! Acquires through one handle go through its gate one after the other. An acquire through a handle that holds already waits,
//! nests or adds, as the recipe says by its `Meanwhile`.

use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};
use std::time::Duration;

use futures_util::FutureExt;
use tracing::Instrument;

use super::contenders::{self, Contender, SeenContender};
use super::gate::{Gate, Pass, PlaceAtGate};
use super::held::{Acquired, Held, Readers};
use super::wait_progress::{Listeners, WaitProgress, Waiting};
use crate::client::Client;
use crate::error::{Error, ErrorKind, LostReason, Result};
use crate::futures::{CompiledOnce, begun};
use crate::log;
use crate::mutex::lock;
use crate::nodes::Transaction;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::clock::Later;
use crate::session::contenders_ahead::ContendersAhead;
use crate::session::delivery::Subscription;
use crate::session::server_session::Tenant;
use crate::session::withdrawal::Withdrawals;
use crate::turn::grant::Grant;
use crate::turn::hold::Hold;

const ACQUIRE: &str = "acquire";

/// What is particular about a recipe that is acquired through a [`Handle`].
pub(crate) trait Recipe: Send + Sync + 'static {
    /// What it is, for people.
    fn word(&self) -> &'static str;

    /// How things stand for who has run out of time, and what whoever has it does.
    fn words(&self) -> (&'static str, &'static str) {
        ("not acquired", "holds it")
    }

    /// Waits for the turn, or for `n` permits where there are several.
    fn take<'a>(self: Arc<Self>, session: Arc<Session>, call: &'a mut Call, n: usize) -> TakingTurn<'a>;

    /// Everybody who holds or waits, in order.
    fn contenders(self: Arc<Self>, call: Call) -> Later<Result<Vec<Contender>>>;

    /// Who holds, or one of them.
    fn holder(self: Arc<Self>, call: Call) -> Later<Result<Option<Contender>>> {
        Box::pin(async move { Ok(self.contenders(call).await?.into_iter().find(|one| one.holds)) })
    }

    /// Whether the first in the line that it waits in holds what it waits for.
    fn first_holds(&self) -> bool {
        true
    }

    /// The first under `parent`, whose node was read, as a contender of this recipe.
    fn seen(&self, _parent: &str, first: SeenContender) -> Contender {
        first.contender(true)
    }

    /// What an owner has, besides the pass of the gate, where there is one owner at a time although some do not come through the
    /// gate: who downgrades may let in who waits in line already, through the same handle.
    fn ownership(&self) -> Option<&Gate> {
        None
    }

    /// The readers' side, if this is a writers' side.
    fn readers(&self) -> Option<Arc<dyn Readers>> {
        None
    }

    /// The path of the contender's node that is called so, unless no contender of this recipe is.
    fn locate(&self, node: &str) -> Option<String>;
}

/// A wait for the turn, as a recipe does it. Its call is in the acquire: each box that it is moved through would have room for it.
pub(crate) type TakingTurn<'a> = Pin<Box<dyn Future<Output = Result<Grant>> + Send + 'a>>;

/// When an acquire takes its place among the calls of its client at one path.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Comes {
    /// At once, where it is certainly polled; what waits at the gate of its handle comes when it has passed.
    WhenCalled,
    /// Who only makes a future keeps nobody else waiting.
    WhenPolled,
}

/// What an acquire does while its handle holds already.
#[derive(Copy, Clone, PartialEq, Eq)]
pub(crate) enum Meanwhile {
    /// It waits for the release.
    Waits,
    /// It is one more of the same.
    Nests,
    /// It acquires more.
    Adds,
}

/// Something that can be acquired: a [`Lock`](crate::Lock), a [`MultiLock`](crate::MultiLock) and a
/// [`Semaphore`](crate::Semaphore) are each a handle, and have these verbs.
///
/// Clones are the same handle.
///
/// ```
/// # zkrecipes::doctest(async {
/// use zkrecipes::{Client, Handle, Result};
///
/// /// Does not care what guards the work.
/// async fn with(guard: &Handle) -> Result<()> {
///     let held = guard.acquire().await?;
///     assert!(guard.is_held());
///     held.release().await
/// }
///
/// let client = Client::connect("embedded:", Default::default()).await?;
/// let (lock, semaphore) = (client.lock("/locks/report", Default::default())?, client.semaphore("/limits/exports", 3)?);
/// with(&lock).await?;
/// with(&semaphore).await?;
/// # Ok(()) });
/// ```
#[derive(Clone)]
pub struct Handle {
    inner: Arc<HandleInner>,
}

struct HandleInner {
    client: Client,
    path: Arc<str>,
    recipe: Arc<dyn Recipe>,
    meanwhile: Meanwhile,
    gate: Gate,
    /// Whether a node of it has stood in line at any time.
    has_stood: AtomicBool,
    /// Changes when the waits in progress are to end.
    cancels: Withdrawals,
    acquired: Acquired,
    /// Who wants to hear of its waits.
    listeners: OnceLock<Arc<Listeners>>,
    /// What is kept alive for the languages whose handle keeps it.
    kept: Mutex<Vec<Held>>,
}

impl Handle {
    pub(crate) fn new(
        client: &Client,
        path: impl Into<Arc<str>>,
        meanwhile: Meanwhile,
        recipe: Arc<dyn Recipe>,
    ) -> Handle {
        let inner = HandleInner {
            client: client.clone(),
            path: path.into(),
            recipe,
            meanwhile,
            gate: Gate::default(),
            has_stood: AtomicBool::new(false),
            cancels: Withdrawals::default(),
            acquired: Acquired::default(),
            listeners: OnceLock::new(),
            kept: Mutex::default(),
        };
        Handle { inner: Arc::new(inner) }
    }

    /// The path that is acquired; the paths of a multi-lock with spaces between them.
    pub fn path(&self) -> &str {
        &self.inner.path
    }

    pub(crate) fn client(&self) -> &Client {
        &self.inner.client
    }

    // ---- acquiring

    /// Waits until it is ours. A wait begins, and takes its place in the order of this handle's waits, when this is
    /// called, and others wait behind it even if nobody polls it. Among all calls of the client at this path it has its place when
    /// the future is first polled: then the requests leave.
    ///
    /// # Cancel safety
    /// Dropping the future leaves nothing behind: our node is deleted in the background.
    pub fn acquire(&self) -> impl Future<Output = Result<Held>> + Send + use<> {
        self.take(1, None, Comes::WhenPolled)
    }

    /// Waits for as long as `limit`, then Timeout. Zero is one attempt without waiting.
    ///
    /// # Cancel safety
    /// As for [`Handle::acquire`].
    pub fn acquire_timeout(&self, limit: Duration) -> impl Future<Output = Result<Held>> + Send + use<> {
        self.take(1, Some(limit), Comes::WhenPolled)
    }

    /// Takes it if it is free, or answers `None`.
    ///
    /// # Cancel safety
    /// As for [`Handle::acquire`].
    pub fn try_acquire(&self) -> impl Future<Output = Result<Option<Held>>> + Send + use<> {
        self.attempt(1)
    }

    pub(super) fn attempt(&self, n: usize) -> impl Future<Output = Result<Option<Held>>> + Send + use<> {
        let attempt = self.take(n, Some(Duration::ZERO), Comes::WhenPolled);
        attempt.map(|held| match held {
            Ok(held) => Ok(Some(held)),
            Err(error) if error.kind() == ErrorKind::Timeout => Ok(None),
            Err(error) => Err(error),
        })
    }

    /// Passes the gate, takes the turn, holds. `n` is for permits, and 1 for everything else.
    pub(crate) fn take(
        &self,
        n: usize,
        limit: Option<Duration>,
        comes: Comes,
    ) -> CompiledOnce<'static, Result<Held>> {
        let handle = self.clone();
        // Now, not at the first poll: a cancel that comes right after this call means this call.
        let call = self
            .inner
            .client
            .session()
            .and_then(|session| Ok((session, self.call(limit)?.waiting().acquiring())));
        // Not in a forked child either: whoever had the lock of the parent's gate stayed with the parent.
        let call = call.map(|(session, call)| {
            let place = self.inner.gate.queue(limit);
            let comes_now = matches!(place, PlaceAtGate::Passed(_)) && comes == Comes::WhenCalled;
            let queueing_turn = comes_now.then(|| session.take_queueing_turn(&self.inner.path));
            (session, call, place, queueing_turn)
        });
        let call = call.map_err(|error| error.with_path(self.path()));
        let span = self.span();
        // What this owns is used where it is: a block has room for what it is given and for what it makes of that.
        let taking = call.map(|(session, mut call, mut place, mut queueing_turn)| async move {
            let (inner, contenders_ahead) = (&handle.inner, Arc::<ContendersAhead>::default());
            let mut waiting = Waiting::begin(&session);
            let taken = {
                let taking = pin!(async {
                    let pass = match std::mem::replace(&mut place, PlaceAtGate::Refused) {
                        PlaceAtGate::Passed(pass) => {
                            call.waits_for_nobody();
                            pass
                        }
                        // In a box, as all that is rare: else every waiter has room for it.
                        PlaceAtGate::Waits(turn) => Box::pin(inner.pass(&session, &mut call, turn)).await?,
                        PlaceAtGate::Refused => return Err(Error::timeout("not acquired")),
                    };
                    let nested = match inner.meanwhile {
                        Meanwhile::Nests => inner.acquired.innermost().and_then(|held| held.nest()),
                        Meanwhile::Waits | Meanwhile::Adds => None,
                    };
                    if let Some(held) = nested {
                        return Ok::<_, Error>(Taken::Nested(held, pass));
                    }
                    let queueing_turn =
                        queueing_turn.take().unwrap_or_else(|| session.take_queueing_turn(&inner.path));
                    call.tells(&contenders_ahead);
                    call.queues_behind(queueing_turn);
                    let grant = inner.recipe.clone().take(session.clone(), &mut call, n).await?;
                    let Some(ownership) = inner.recipe.ownership() else {
                        return Ok(Taken::New(grant, pass, None));
                    };
                    let (grant, owner) = match ownership.pass_now() {
                        Some(owner) => (grant, owner),
                        None => {
                            let later = inner.once_it_is_released(ownership, &session, &mut call, n, grant);
                            Box::pin(later).await?
                        }
                    };
                    Ok(Taken::New(grant, pass, Some(owner)))
                });
                waiting.through(&inner.path, &inner.recipe, &contenders_ahead, &inner.listeners, taking).await
            };
            // Those behind it may queue.
            drop(call);
            let about = |error: Error| error.with_path(handle.path());
            inner.has_stood.fetch_or(contenders_ahead.has_stood(), Ordering::Relaxed);
            let (held, pass) = match taken {
                Err(error) => {
                    let own = inner.acquired.innermost();
                    let own = own.filter(|own| inner.meanwhile == Meanwhile::Waits && own.is_held());
                    let own = own.map(|own| own.node().to_owned());
                    let error = waiting.naming_the_holder(error, &inner.recipe, &contenders_ahead, own);
                    waiting.fails(&error);
                    return Err(about(error));
                }
                Ok(Taken::Nested(held, pass)) => {
                    waiting.nests();
                    (held, Some(pass))
                }
                Ok(Taken::New(grant, pass, owner)) => {
                    let (keeps, pass) = match inner.meanwhile {
                        Meanwhile::Waits => (Some(Box::new((pass, owner)) as Box<dyn Send>), None),
                        Meanwhile::Nests | Meanwhile::Adds => (None, Some(pass)),
                    };
                    (inner.begin(&session, grant, keeps, waiting).map_err(about)?, pass)
                }
            };
            inner.acquired.push(&held);
            // Not sooner: who passes next must find what it can nest in, or it would queue behind it.
            drop(pass);
            Ok(held)
        });
        Box::pin(begun(taking).instrument(span))
    }

    /// As an acquire, but what is held is won by `winning` and has no place in the order of this handle's waits.
    pub(super) async fn obtain(
        &self,
        session: Arc<Session>,
        winning: impl Future<Output = Result<Grant>>,
    ) -> Result<Held> {
        let obtaining = async {
            let (inner, waiting) = (&self.inner, Waiting::begin(&session));
            let grant = match winning.await {
                Ok(grant) => grant,
                Err(error) => {
                    waiting.fails(&error);
                    return Err(error);
                }
            };
            // As every acquisition it keeps later ones waiting, but it does not wait for those that came before.
            let owner = inner.recipe.ownership().and_then(Gate::pass_now);
            let passes = Box::new((inner.gate.pass_now(), owner));
            let held = inner.begin(&session, grant, Some(passes), waiting)?;
            inner.acquired.push(&held);
            Ok(held)
        };
        let obtained = obtaining.instrument(self.span()).await;
        obtained.map_err(|error: Error| error.with_path(self.path()))
    }

    fn span(&self) -> tracing::Span {
        if !log::may_begin_span() {
            return tracing::Span::none();
        }
        tracing::info_span!(
            target: "zkrecipes",
            "acquisition",
            recipe = self.inner.recipe.word(),
            path = &*self.inner.path,
            token = tracing::field::Empty
        )
    }

    /// Waits for something in whose way may be what this handle keeps, and says so when that takes long.
    /// What is kept for a language, and certainly held; nothing in a forked child.
    pub(crate) fn kept_and_held(&self) -> Vec<Held> {
        match self.client().process().is_present() {
            true => self.inner.kept().iter().filter(|held| held.is_held()).cloned().collect(),
            false => Vec::new(),
        }
    }

    pub(super) async fn wait_and_warn_of_kept<T>(
        &self,
        session: &Session,
        wait: impl Future<Output = T>,
    ) -> T {
        self.inner.gate.pass(session, wait, || self.inner.kept_and_not_lost()).await
    }

    /// Whether a node of it has stood in line at any time: what is refused later may be granted again.
    pub(super) fn has_stood(&self) -> bool {
        self.inner.has_stood.load(Ordering::Relaxed)
    }

    #[cfg(test)]
    pub(crate) fn places(&self) -> usize {
        self.inner.gate.places()
    }

    /// Keeps an acquisition alive until it is released, or until the handle and everybody else who has it are gone.
    pub(crate) fn keep(&self, held: &Held) {
        let mut kept = self.inner.kept();
        let (standing, ended): (Vec<_>, Vec<_>) = kept.drain(..).partition(Held::stands);
        *kept = standing;
        kept.push(held.clone());
        drop(kept);
        // One of them may be the last to go, and nothing is dropped under the lock.
        drop(ended);
    }

    /// A call that ends when the waits in progress on this handle are to end.
    fn call(&self, limit: Option<Duration>) -> Result<Call> {
        let call = self.inner.client.session()?.call(limit).timeout_says(self.inner.recipe.words().0);
        Ok(call.withdrawable(self.inner.cancels.next()))
    }

    /// Calls back while an acquire through this handle waits: after a second, and then ever less often, up to once a minute.
    /// Each time it is looked who holds, which is one read in general. Nobody is told of a wait that is over. A callback that
    /// owns a clone of this handle keeps it, and what it holds, until it is unsubscribed.
    ///
    /// ```
    /// # zkrecipes::doctest(async {
    /// use zkrecipes::{Client, LockOptions};
    ///
    /// let client = Client::connect("embedded:", Default::default()).await?;
    /// let lock = client.lock("/locks/report", LockOptions::default())?;
    /// let telling = lock.on_wait(|progress| {
    ///     let holder = progress.holder.map_or("somebody".to_owned(), |holder| holder.identity);
    ///     println!("waiting for {holder} since {:?}", progress.waited);
    /// })?;
    /// let held = lock.acquire().await?;
    /// telling.unsubscribe();
    /// held.release().await?;
    /// # Ok(()) });
    /// ```
    pub fn on_wait(&self, callback: impl Fn(WaitProgress) + Send + Sync + 'static) -> Result<Subscription> {
        // Of a client that is closed nobody waits any more.
        self.inner.client.session()?;
        Ok(self.inner.listeners.get_or_init(Arc::default).subscribe(callback))
    }

    /// Ends the waits in progress on this handle with Cancelled; later ones are not affected.
    pub fn cancel(&self) {
        if self.inner.client.process().is_present() {
            self.inner.cancels.withdraw();
        }
    }

    // ---- what is held through it

    /// The acquisition made last through this handle that was not released.
    pub fn current(&self) -> Option<Held> {
        self.inner.client.process().check().ok()?;
        self.inner.acquired.innermost()
    }

    /// The same, to use it.
    pub(crate) fn held(&self) -> Result<Held> {
        // A forked child has no business with what its parent holds.
        self.inner.client.session()?;
        let nothing = || Error::not_held("nothing was acquired").with_path(self.path());
        self.inner.acquired.innermost().ok_or_else(nothing)
    }

    /// Releases the acquisition made last: at once, and the future confirms it. See [`Held::release`].
    pub fn release(&self) -> impl Future<Output = Result<()>> + Send + use<> {
        let releasing = self.held().map(|held| held.release());
        begun(releasing)
    }

    /// Releases the acquisition made last; the deletion is confirmed in the background.
    pub fn release_in_background(&self) -> Result<()> {
        self.held()?.release_in_background()
    }

    /// Whether something is certainly held through this handle.
    pub fn is_held(&self) -> bool {
        self.current().is_some_and(|held| held.is_held())
    }

    /// The fencing token of what this handle holds.
    pub fn fencing_token(&self) -> Result<u64> {
        Ok(self.held()?.current_tokens()?[0])
    }

    /// Asks the server whether what was acquired through this handle is still held.
    pub async fn verify(&self) -> Result<()> {
        self.held()?.verify().await
    }

    /// Writes that the server applies only while what this handle holds stands.
    pub fn guarded(&self) -> Result<Transaction> {
        Ok(self.held()?.guarded())
    }

    /// Calls back once when what this handle holds is lost.
    pub fn on_lost(&self, callback: impl FnOnce(Error) + Send + 'static) -> Result<Subscription> {
        Ok(self.held()?.on_lost(callback))
    }

    /// Calls back once when somebody asks for what this handle holds: finish, then release.
    pub fn on_revoke(&self, callback: impl FnOnce() + Send + 'static) -> Result<Subscription> {
        Ok(self.held()?.on_revoke(callback))
    }

    // ---- the others

    /// Who holds and who waits, in order. A semaphore has one entry for each permit that is held, then those who wait; a
    /// multi-lock has the contenders of each of its locks, whose nodes are whole paths.
    pub async fn contenders(&self) -> Result<Vec<Contender>> {
        let call = self.inner.client.session()?.call(None).reading();
        self.inner.recipe.clone().contenders(call).await
    }

    /// Asks for it: the contender whose node is named, or every holder, is told (`on_revoke`) and lets go when it can.
    /// With `force_after`, exactly the nodes that were asked are deleted when they have not gone by then; a holder that
    /// cannot be reached does not know that it lost until its lease runs out, and only fencing and guarded writes
    /// protect from it. Answers whether there was anybody to ask.
    pub async fn revoke(&self, contender: Option<&str>, force_after: Option<Duration>) -> Result<bool> {
        let locate = |node: &str| self.inner.recipe.locate(node).ok_or_else(|| contenders::unknown(node));
        let asked = match contender {
            Some(node) => vec![locate(node)?],
            None => {
                let holding = contenders::holding(self.contenders().await?);
                holding.map(|node| locate(&node)).collect::<Result<_>>()?
            }
        };
        let asking = contenders::revoke(self.call(None)?, asked, force_after);
        asking.await.map_err(|error| error.with_path(self.path()))
    }
}

/// What an acquire comes to.
enum Taken {
    /// With the pass of the [`Recipe::ownership`].
    New(Grant, Pass, Option<Pass>),
    Nested(Held, Pass),
}

impl HandleInner {
    /// Waits at the gate.
    async fn pass(&self, session: &Session, call: &mut Call, turn: Later<Pass>) -> Result<Pass> {
        call.wait_for(self.gate.pass(session, turn, || self.kept_and_not_lost())).await
    }

    /// What was won while the handle holds already, by a downgrade, is for later. Gone by then, it is won once more.
    async fn once_it_is_released(
        &self,
        ownership: &Gate,
        session: &Arc<Session>,
        call: &mut Call,
        n: usize,
        mut grant: Grant,
    ) -> Result<(Grant, Pass)> {
        loop {
            let owner = ownership.turn();
            let owner = call.wait_for(self.gate.pass(session, owner, || self.kept_and_not_lost())).await?;
            // Nobody has watched it meanwhile.
            if grant.is_there(call, ACQUIRE).await? && grant.becomes_firm(call, ACQUIRE).await? {
                return Ok((grant, owner));
            }
            drop((owner, grant));
            call.queues_behind(session.take_queueing_turn(&self.path));
            grant = self.recipe.clone().take(session.clone(), call, n).await?;
        }
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Held>> {
        lock(&self.kept)
    }

    fn kept_and_not_lost(&self) -> Option<Held> {
        self.kept().iter().rfind(|held| held.stands()).cloned()
    }

    /// What was won is held.
    fn begin(
        &self,
        session: &Arc<Session>,
        grant: Grant,
        keeps: Option<Box<dyn Send>>,
        waiting: Waiting,
    ) -> Result<Held> {
        let hold = Hold::begin(session.clone(), &self.path, grant, keeps);
        tracing::Span::current().record("token", hold.node().token());
        waiting.succeeds(&hold);
        if session.is_closing() {
            // Closing has told the loss of everything that was held by then. This one came later.
            hold.lose(LostReason::Closed);
            return Err(Error::closed("client"));
        }
        Ok(Held::beside(&self.client, hold, self.recipe.readers()))
    }
}

impl std::fmt::Display for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.inner.recipe.word(), self.inner.path)
    }
}

impl std::fmt::Debug for Handle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Handle({self})")
    }
}
