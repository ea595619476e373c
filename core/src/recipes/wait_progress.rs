//! What the user, logs and metrics hear of an acquire: how long it waits, and for whom. A recipe does nothing for it.
//!
//! A wait knows who is first in its line from the list that it queued with, so a look at who holds is one read. Nobody looks
//! in the first second, and then ever less often: a thousand waiters must not keep the servers busy with saying so.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Poll, ready};
use std::time::Duration;

use super::contenders::{self, Contender, SeenContender};
use super::handle::Recipe;
use crate::error::{Error, ErrorKind};
use crate::futures::unless;
use crate::log;
use crate::mutex::lock;
use crate::process::UnlessForked;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::clock::{Later, Moment};
use crate::session::contenders_ahead::{AheadAtLastLook, ContendersAhead};
use crate::session::delivery::{Live, Subscription};
use crate::turn::hold::Hold;
use crate::turn::name::ContenderName;
use crate::turn::revocation::REVOKE;

/// A wait is told of when it has lasted so long, and again each time as much has passed. Tests have less time.
static LONG_MS: AtomicU64 = AtomicU64::new(60_000);

/// For tests: when a wait is long.
pub fn tell_waits_after(long: Duration) {
    LONG_MS.store(long.as_millis() as u64, Ordering::Relaxed);
}

fn long_wait() -> Duration {
    Duration::from_millis(LONG_MS.load(Ordering::Relaxed))
}

/// When who listens is told for the first time. From one time to the next it takes twice as long, up to `RARELY`.
const FIRST: Duration = Duration::from_secs(1);
const RARELY: Duration = Duration::from_secs(60);
/// What a look may take.
const LOOK: Duration = Duration::from_secs(5);

/// How a wait stands that goes on: see [`Handle::on_wait`](crate::Handle::on_wait).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WaitProgress {
    /// What is waited for.
    pub path: String,
    /// How long already.
    pub waited: Duration,
    /// How many are waited for. In a line, those ahead, as far as this waiter has looked; at a double barrier, those who have
    /// yet to come, or to leave. `None` if nobody counts them: it waits for its own handle, for permits, for an item.
    pub ahead: Option<usize>,
    /// Who holds, or one of them; of a barrier, who has put it up. `None` if that is not known at the moment, or if it is
    /// nobody; without an identity if it was asked to let go before this waiter had read who it is.
    pub holder: Option<Contender>,
}

type Callback = Arc<dyn Fn(WaitProgress) + Send + Sync>;

/// Who wants to hear of the waits through a handle.
#[derive(Default)]
pub(super) struct Listeners {
    next: AtomicU64,
    /// What the callbacks keep is the parent's in a forked child.
    all: UnlessForked<Mutex<Vec<(u64, Live, Callback)>>>,
}

impl Listeners {
    pub(super) fn subscribe(
        self: &Arc<Self>,
        callback: impl Fn(WaitProgress) + Send + Sync + 'static,
    ) -> Subscription {
        let (id, live) = (self.next.fetch_add(1, Ordering::Relaxed), Live::default());
        self.all().push((id, live.clone(), Arc::new(callback)));
        let listeners = Arc::downgrade(self);
        Subscription::new(live, move || {
            let Some(listeners) = listeners.upgrade() else { return };
            let mut all = listeners.all();
            let at = all.iter().position(|(other, ..)| *other == id);
            let listener = at.map(|at| all.remove(at));
            drop(all);
            // A callback that owns something of ours may take locks when it goes.
            drop(listener);
        })
    }

    fn now(&self) -> Vec<(Live, Callback)> {
        self.all().iter().map(|(_, live, callback)| (live.clone(), callback.clone())).collect()
    }

    fn all(&self) -> std::sync::MutexGuard<'_, Vec<(u64, Live, Callback)>> {
        lock(&self.all)
    }
}

/// What a look finds out: how many are waited for, and who one of them is.
pub(super) type AwaitedContenders = (Option<usize>, Option<Contender>);

/// A wait of which others are told while it goes on.
struct Visible {
    session: Arc<Session>,
    began: Moment,
    /// What it has in common with those who look and are told. Hardly any wait lasts long enough for one.
    news: Option<Arc<WaitNews>>,
}

/// Shared with the look that is under way, and with the callbacks that have not run yet.
struct WaitNews {
    /// Set for as long as anybody may be told of it.
    goes_on: AtomicBool,
    /// Set while it is looked who holds.
    is_looking: AtomicBool,
}

impl Visible {
    fn begin(session: &Arc<Session>) -> Visible {
        Visible { session: session.clone(), began: session.now(), news: None }
    }

    fn waited(&self) -> Duration {
        self.session.now().since(self.began)
    }

    fn ends(&self) {
        if let Some(news) = &self.news {
            news.goes_on.store(false, Ordering::Release);
        }
    }

    /// Tells what `look` finds, to `first` and then to all who are `told`. The wait goes on meanwhile.
    fn tell(
        &mut self,
        path: &str,
        told: Vec<(Live, Callback)>,
        look: impl Future<Output = AwaitedContenders> + Send + 'static,
        first: impl FnOnce(&str, Duration, Option<&Contender>) + Send + 'static,
    ) {
        let news = self.news.get_or_insert_with(|| {
            Arc::new(WaitNews { goes_on: AtomicBool::new(true), is_looking: AtomicBool::new(false) })
        });
        // The answer to the last look is not there yet: it will tell.
        if news.is_looking.swap(true, Ordering::AcqRel) {
            return;
        }
        let news = news.clone();
        let (path, began, session) = (path.to_owned(), self.began, self.session.clone());
        // No more of them wait behind one that takes its time.
        let told = if Arc::strong_count(&news) > 2 { Vec::new() } else { told };
        self.session.clock().spawn(Box::pin(async move {
            let (ahead, holder) = look.await;
            news.is_looking.store(false, Ordering::Release);
            let waited = session.now().since(began);
            first(&path, waited, holder.as_ref());
            for (live, callback) in told {
                let progress = WaitProgress { path: path.clone(), waited, ahead, holder: holder.clone() };
                let news = news.clone();
                session.delivery.notice(Box::new(move || {
                    if news.goes_on.load(Ordering::Acquire) {
                        live.pass(move || callback(progress));
                    }
                }));
            }
        }));
    }
}

impl Drop for Visible {
    fn drop(&mut self) {
        self.ends();
    }
}

/// Runs a wait that is none for a turn: for others, at a barrier, or for an item or for room. Who listens is told what `look`
/// finds out.
pub(super) async fn telling<T>(
    session: &Arc<Session>,
    path: &str,
    listeners: &Listeners,
    look: impl Fn(Call) -> Later<AwaitedContenders>,
    mut wait: Pin<&mut impl Future<Output = T>>,
) -> T {
    let mut visible = Visible::begin(session);
    let (mut next, mut pause) = (visible.began + FIRST, FIRST);
    loop {
        if let Some(done) = unless(&mut wait, session.clock().sleep_until(next)).await {
            visible.ends();
            return done;
        }
        pause = (pause * 2).min(RARELY);
        next = session.now() + pause;
        let told = listeners.now();
        if !told.is_empty() {
            visible.tell(path, told, look(session.call(Some(LOOK))), |_, _, _| {});
        }
    }
}

/// Nobody is waited for by name.
pub(super) fn nobody(_: Call) -> Later<AwaitedContenders> {
    Box::pin(async { (None, None) })
}

/// One acquire, from its call to its end. One that is dropped before was withdrawn.
pub(super) struct Waiting {
    visible: Visible,
    is_long: bool,
    is_over: bool,
}

impl Waiting {
    pub(super) fn begin(session: &Arc<Session>) -> Waiting {
        session.counters.waiting.rise();
        let visible = Visible::begin(session);
        Waiting { visible, is_long: false, is_over: false }
    }

    /// Runs `taking`, and tells who holds what it waits for when that takes long.
    pub(super) fn through<T>(
        &mut self,
        path: &str,
        recipe: &Arc<dyn Recipe>,
        contenders_ahead: &Arc<ContendersAhead>,
        listeners: &OnceLock<Arc<Listeners>>,
        mut taking: Pin<&mut impl Future<Output = T>>,
    ) -> impl Future<Output = T> {
        let began = self.visible.began;
        let (mut long, mut look, mut pause) = (began + long_wait(), began + FIRST, FIRST);
        let mut sleep: Option<Later<()>> = None;
        poll_fn(move |context| {
            loop {
                if let Poll::Ready(taken) = taking.as_mut().poll(context) {
                    self.visible.ends();
                    return Poll::Ready(taken);
                }
                let clock = self.visible.session.clock();
                ready!(sleep.get_or_insert_with(|| clock.sleep_until(long.min(look))).as_mut().poll(context));
                sleep = None;
                let now = clock.now();
                let is_long = now >= long;
                if is_long {
                    long = long + long_wait();
                    self.is_long = true;
                }
                let mut told = Vec::new();
                if now >= look {
                    pause = (pause * 2).min(RARELY);
                    look = now + pause;
                    told = listeners.get().map(|listeners| listeners.now()).unwrap_or_default();
                }
                if is_long || !told.is_empty() {
                    self.tell(path, recipe, contenders_ahead, told, is_long);
                }
            }
        })
    }

    /// Looks who holds, and tells it.
    fn tell(
        &mut self,
        path: &str,
        recipe: &Arc<dyn Recipe>,
        contenders_ahead: &Arc<ContendersAhead>,
        told: Vec<(Live, Callback)>,
        is_long: bool,
    ) {
        let (recipe, contenders_ahead, call) =
            (recipe.clone(), contenders_ahead.clone(), self.visible.session.call(Some(LOOK)));
        let word = recipe.word();
        let look = async move {
            let ahead = contenders_ahead.ahead().map(|ahead| ahead.count);
            (ahead, holder(recipe, call, &contenders_ahead).await)
        };
        self.visible.tell(path, told, look, move |path, waited, who| {
            if is_long {
                let who = who.cloned();
                let who =
                    who.map(|Contender { identity, node, since, .. }| log::Holder { identity, node, since });
                log::waiting_long(path, word, waited, who);
            }
        });
    }

    /// The error of an acquire that has run out of time, with who holds as far as that is known: asking would take time that
    /// the caller has not given. `own` is the node of what its own handle holds, and keeps it waiting.
    pub(super) fn naming_the_holder(
        &self,
        error: Error,
        recipe: &Arc<dyn Recipe>,
        contenders_ahead: &ContendersAhead,
        own: Option<String>,
    ) -> Error {
        let waited = self.visible.waited();
        if error.kind() != ErrorKind::Timeout || waited.is_zero() {
            return error;
        }
        if let Some(own) = own {
            // It waits for itself: more time is of no use.
            return error
                .because(format!("this very handle {}, by {own}", recipe.words().1))
                .advising("let go of it first; a lock can also be made reentrant");
        }
        let ahead = contenders_ahead.ahead().filter(|_| recipe.first_holds());
        let holder = ahead.and_then(|ahead| known(recipe, &ahead));
        match holder.filter(|holder| !holder.identity.is_empty()) {
            Some(Contender { identity, node, since, .. }) => {
                // Others write what they are called.
                let (identity, node) = (log::quoted(&identity), log::quoted(&node));
                let (_, has) = recipe.words();
                error.because(format!("{identity} {has}, since {}, by {node}", crate::time::rfc3339(since)))
            }
            None => error,
        }
    }

    /// It nests in what was acquired before, which is no acquisition of its own.
    pub(super) fn nests(mut self) {
        self.is_over = true;
    }

    pub(super) fn fails(mut self, error: &Error) {
        self.is_over = true;
        let counters = &self.visible.session.counters;
        match error.kind() {
            ErrorKind::Timeout => counters.timeouts.one(),
            ErrorKind::Cancelled => counters.cancellations.one(),
            _ => counters.failures.one(),
        }
    }

    pub(super) fn succeeds(mut self, hold: &Hold) {
        self.is_over = true;
        let counters = &self.visible.session.counters;
        let waited = self.visible.waited();
        counters.acquisitions.one();
        counters.waits.record(waited);
        if hold.passes() > 0 {
            counters.local_hand_offs.one();
        }
        log::acquired(|| hold.tenancy(), waited, self.is_long);
    }
}

/// Who holds: whoever was first when the waiter looked last, if they still are.
async fn holder(
    recipe: Arc<dyn Recipe>,
    mut call: Call,
    contenders_ahead: &ContendersAhead,
) -> Option<Contender> {
    if let Some(ahead) = contenders_ahead.ahead().filter(|_| recipe.first_holds())
        && let Some(first) = ContenderName::recognise(&ahead.first)
        && let Some(mut seen) = contenders::seen(&mut call, &ahead.parent, first).await
    {
        if seen.data == REVOKE {
            // What asks somebody to let go stands in the place of who that is, which may have been read before.
            let before = ahead.read().filter(|(data, _)| *data != REVOKE);
            seen.data = before.map(|(data, _)| data.to_vec()).unwrap_or_default();
        }
        return Some(recipe.seen(&ahead.parent, seen));
    }
    let holder = recipe.holder(call).await.ok().flatten()?;
    match holder.identity.as_bytes() == REVOKE {
        true => Some(Contender { identity: String::new(), ..holder }),
        false => Some(holder),
    }
}

/// The same from what the waiter has read already, if that tells.
fn known(recipe: &Arc<dyn Recipe>, ahead: &AheadAtLastLook) -> Option<Contender> {
    let (data, stat) = ahead.read()?;
    // What asks somebody to let go stands in the place of who that is.
    let (entry, data) = (ContenderName::recognise(&ahead.first)?, (data != REVOKE).then(|| data.to_vec())?);
    Some(recipe.seen(&ahead.parent, SeenContender { entry, data, stat: *stat }))
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let counters = &self.visible.session.counters;
        counters.waiting.fall();
        if !self.is_over {
            counters.cancellations.one();
        }
    }
}
