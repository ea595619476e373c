//! How the faces run the core's futures: block on one ([`wait`]) or be called back ([`start`]). A panic of the core ends a call
//! with the kind Internal.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use futures_util::{FutureExt, Stream, StreamExt};
use tokio::sync::oneshot;

use crate::client::Client;
use crate::error::{Error, ErrorKind, Result};
use crate::feed::{Closer, Feed};
use crate::futures::{polled, unless};
use crate::path;
use crate::pool::{self, Strand};
use crate::recipes::handle::Handle;
use crate::recipes::held::Held;
use crate::runtime;
use crate::session::GRACE;
use crate::session::delivery::{Live, Subscription};
use crate::session::flag::Flag;
use crate::session::pending_callbacks::PendingCallbacks;
use crate::threads;
use any_call::{any_done, vanished};
use in_progress::CallInProgress;

mod acquiring;
mod any_call;
#[cfg(target_os = "linux")]
mod beginning;
#[cfg(not(target_os = "linux"))]
mod beginning {
    pub(super) fn begin(task: crate::runtime::Later<()>) {
        crate::runtime::spawn(task);
    }
}
mod cancels;
mod closing;
mod declaring;
mod in_progress;
pub mod log;
mod servers;
mod sessions;
mod waiting;

pub use crate::hosts::embedded_by;
pub use crate::metrics::{MetricValue as Value, Sample};
pub use crate::process::{PerProcess, Process};
pub use crate::recipes::declared::Declared;
pub use crate::recipes::discovery::Registering;
pub use crate::recipes::election::{HEALTH_INTERVAL, Terms};
pub use crate::recipes::partitioner::partition_owners;
pub use crate::recipes::queue::{Claims, Got, ListedClaim, ListedItem, ListedState};
pub use crate::recipes::survey::{Found, FoundKind, Survey, survey, survey_within};
pub use crate::sanitizer;
pub use crate::session::delivery::{CallbackTimes, Turn};
pub use acquiring::{
    Granted, ack_many, acquire, break_claim, check_stands, claim, claim_many, claims, client_of,
    dead_letters, downgrade, downgrade_current, get, held, leadership, list_items, next_partition,
    on_known_loss, partition_failed, partitions, put, put_delayed, put_one, put_priority, replay,
    stats_if_any, tell_collected, terms,
};
pub use any_call::{AnyAnswer, AnyCall, AnyDone, answer_of, any_call};
pub use cancels::Cancels;
pub use closing::{close, close_and_tell, end_sessions, let_go, shut_down, start_close};
pub use declaring::{
    Begun, Done, Proposed, begin, bind, enter, join, join_as_site, next_proposal, node_failed, node_of,
    register, update,
};
pub use servers::{ask_server, bears, resolve_hosts};
pub use sessions::Sessions;
pub use waiting::{wait, wait_any};

/// Stands for something that `end` ends.
pub fn subscription(end: impl FnOnce() + Send + 'static) -> Subscription {
    Subscription::new(Live::default(), end)
}

/// Withdraws the calls that it was given to.
#[derive(Clone)]
pub struct CancelToken {
    is_cancelled: Arc<Flag>,
    process: Process,
}

impl Default for CancelToken {
    fn default() -> Self {
        CancelToken::new()
    }
}

impl std::fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CancelToken({})", self.is_cancelled())
    }
}

impl CancelToken {
    /// A token that has not been used.
    pub fn new() -> CancelToken {
        CancelToken { is_cancelled: Arc::default(), process: Process::present() }
    }

    /// Every call that has this token, now or later, ends with Cancelled.
    pub fn cancel(&self) {
        // In a forked child the calls are the parent's, and so are the locks.
        if self.process.is_present() {
            self.is_cancelled.set();
        }
    }

    /// Whether [`CancelToken::cancel`] was called.
    pub fn is_cancelled(&self) -> bool {
        self.process.is_present() && self.is_cancelled.is_set()
    }

    /// Cancelled for a call that has not begun yet: it need not.
    pub fn check(&self) -> Result<()> {
        if self.is_cancelled() { Err(Error::cancelled()) } else { Ok(()) }
    }

    /// What `future` answers, unless this is cancelled before.
    pub fn heed<T, F: Future<Output = Result<T>>>(
        &self,
        future: F,
    ) -> impl Future<Output = Result<T>> + use<T, F> {
        let token = self.clone();
        let cancelled = async move { token.cancelled().await };
        unless(future, cancelled).map(|result| result.unwrap_or_else(|| Err(Error::cancelled())))
    }

    fn cancelled(&self) -> impl Future<Output = ()> {
        polled(self.is_cancelled.until_set(), |cancelled, context| match self.process.is_present() {
            true => cancelled.poll(context),
            false => Poll::Pending,
        })
    }
}

/// What a handle keeps for a language, and certainly holds; nothing in a forked child.
pub fn kept(handle: &Handle) -> Vec<Held> {
    handle.kept_and_held()
}

/// The version of a config that is set where it had that one, or where there was none.
pub fn version_after(version: Option<i32>) -> i32 {
    crate::recipes::config::version_set(version)
}

/// Something to look at while a call blocks, such as the interpreter's pending signals.
pub struct Tick<'a> {
    /// How often.
    pub every: Duration,
    /// Answers false to withdraw the call, which then ends with Cancelled.
    pub hook: &'a mut dyn FnMut() -> bool,
}

/// `Err(Forked)` in a child of the process that connected `client`: for what has no other answer.
pub fn check_process(client: &Client) -> Result<()> {
    client.process().check()
}

/// The same, and `Err(Closed)` once it is closed: for callbacks that nothing would ever call.
pub fn check_open(client: &Client) -> Result<()> {
    client.session().map(drop)
}

/// `Err(Deadlock)` where [`wait`] would refuse: for calls that do something before they wait.
pub fn check_may_wait() -> Result<()> {
    runtime::check_may_block()
}

/// What every recipe demands of its path, for what is used later.
pub fn check_path(path: &str) -> Result<()> {
    path::recipe(path)
}

/// A named thread of a face. Like every thread of the library it takes no signal of the process.
pub fn thread(name: &str, body: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
    threads::start(name, body)
}

/// Begins `future` on this thread, and goes on with it in the background; `done` is called exactly once, on a thread of the
/// library that waits for no other callback.
pub fn start<T: Send + 'static>(
    future: impl Future<Output = Result<T>> + Send + 'static,
    cancel: &CancelToken,
    done: impl FnOnce(Result<T>) + Send + 'static,
) -> Result<()> {
    start_any(any_call(future), cancel, any_done(done));
    Ok(())
}

fn start_any(call: AnyCall, cancel: &CancelToken, done: AnyDone) {
    run(
        call,
        [Some(cancel.clone()), None],
        Box::new(move |answer| pool::run(Box::new(move || done(answer)))),
    );
}

/// The same for a `done` that runs no code of the user's, such as one that hands the result to an event loop: they are
/// called one after the other.
pub fn start_in_order<T: Send + 'static>(
    future: impl Future<Output = Result<T>> + Send + 'static,
    cancel: &CancelToken,
    done: impl FnOnce(Result<T>) + Send + 'static,
) -> Result<()> {
    start_any_in_order(any_call(future), cancel, any_done(done));
    Ok(())
}

/// The same without its types.
pub fn start_any_in_order(call: AnyCall, cancel: &CancelToken, done: AnyDone) {
    run(call, [Some(cancel.clone()), None], Box::new(move |answer| in_order(move || done(answer))));
}

/// Runs `work` where the `done` of [`start_in_order`] are called.
pub fn in_order(work: impl FnOnce() + Send + 'static) {
    static HANDED_OVER: PerProcess<Strand> = PerProcess::new();
    HANDED_OVER.of_this_process().run(Box::new(work));
}

/// Runs `work`, which waits for nobody, after a while.
pub fn after(a_while: Duration, work: impl FnOnce() + Send + 'static) {
    runtime::spawn(Box::pin(async move {
        tokio::time::sleep(a_while).await;
        work();
    }));
}

/// The same for a `done` that waits for nobody, such as one that puts the result where somebody else finds it. It is called on
/// the library's thread for I/O, so that no other thread has to wake up for it; but everybody waits for that one. What needs
/// no wait is told on this thread.
pub fn start_for_inbox<T: Send + 'static>(
    future: impl Future<Output = Result<T>> + Send + 'static,
    cancel: &CancelToken,
    done: impl FnOnce(Result<T>) + Send + 'static,
) {
    start_any_for_inbox(any_call(future), cancel, any_done(done));
}

/// The same without its types.
pub fn start_any_for_inbox(call: AnyCall, cancel: &CancelToken, done: AnyDone) {
    run(call, [Some(cancel.clone()), None], done);
}

/// The same, but `done` is called where the callbacks of `client` are.
pub fn start_for<T: Send + 'static>(
    client: &Client,
    future: impl Future<Output = Result<T>> + Send + 'static,
    cancel: &CancelToken,
    done: impl FnOnce(Result<T>) + Send + 'static,
) -> Result<()> {
    start_any_for(client, any_call(future), Some(cancel), any_done(done))
}

/// The same without its types.
pub fn start_any_for(
    client: &Client,
    call: AnyCall,
    cancel: Option<&CancelToken>,
    done: AnyDone,
) -> Result<()> {
    let session = client.session()?;
    let callback_to_come = session.delivery.pending_callbacks.add();
    let call = unless_withdrawn(session.delivery.pending_callbacks.clone(), call);
    run(
        Box::pin(call),
        [cancel.cloned(), None],
        Box::new(move |answer| session.delivery.completion(callback_to_come, Box::new(move || done(answer)))),
    );
    Ok(())
}

/// Tells each item of `feed` where the callbacks of `client` are, one at a time, until the subscription ends: the next
/// item is asked for when `callback` has returned, so a slow one is told the latest and not everything. `end` is called
/// once when the feed ends by itself: with the error if it could not go on, and with `None` if it or the client was closed.
/// Unsubscribing closes the feed.
pub fn feed<T: Send + 'static>(
    client: &Client,
    feed: Feed<T>,
    mut callback: impl FnMut(T) + Send + 'static,
    end: impl FnOnce(Option<Error>) + Send + 'static,
) -> Result<Subscription> {
    let closer = feed.closer();
    let items = feed.map(|item| Ok(Box::new(item?) as AnyAnswer));
    let callback = move |item| {
        if let Ok(item) = answer_of(Ok(item)) {
            callback(item);
        }
    };
    feed_any(client, Box::pin(items), closer, Box::new(callback), Box::new(end))
}

fn feed_any(
    client: &Client,
    mut items: Pin<Box<dyn Stream<Item = Result<AnyAnswer>> + Send>>,
    closer: Closer,
    callback: AnyCallback,
    end: Box<dyn FnOnce(Option<Error>) + Send>,
) -> Result<Subscription> {
    let session = client.session()?;
    let live = Live::default();
    let (is_wanted, closed) = (live.clone(), closer.clone());
    let pending_callbacks = session.delivery.pending_callbacks.clone();
    let (callback_to_come, in_progress) = (pending_callbacks.add(), CallInProgress::begin());
    runtime::spawn(Box::pin(async move {
        let _in_progress = in_progress;
        let mut callback = callback;
        let outcome = loop {
            let item = tokio::select! {
                biased;
                item = items.next() => item,
                () = pending_callbacks.withdrawn() => None,
            };
            match item {
                Some(Ok(item)) => {
                    let (lent, mut back) = oneshot::channel();
                    let mut lent = Lent { callback: Some(callback), back: Some(lent) };
                    let is_wanted = is_wanted.clone();
                    session.delivery.notice(Box::new(move || {
                        is_wanted.pass(|| {
                            if let Some(callback) = lent.callback.as_mut() {
                                callback(item);
                            }
                        });
                    }));
                    let given_back = tokio::select! {
                        given_back = &mut back => given_back,
                        () = closed.closed() => {
                            // What it has to let go of does not wait for the callback.
                            closed.close();
                            back.await
                        }
                    };
                    // Not given back: nobody is told anything any more.
                    let Ok(given_back) = given_back else { return };
                    callback = given_back;
                }
                Some(Err(error)) => break Some(error),
                None => break None,
            }
        };
        // What was watched is so no longer when the user hears of the end.
        drop(items);
        let end = is_wanted.guard(end);
        session.delivery.completion(callback_to_come, Box::new(move || end(outcome)));
    }));
    Ok(Subscription::new(live, move || closer.close()))
}

type AnyCallback = Box<dyn FnMut(AnyAnswer) + Send>;

/// A callback that is being called; it comes back, also when it panics.
struct Lent {
    callback: Option<AnyCallback>,
    back: Option<oneshot::Sender<AnyCallback>>,
}

impl Drop for Lent {
    fn drop(&mut self) {
        if let (Some(callback), Some(back)) = (self.callback.take(), self.back.take()) {
            let _ = back.send(callback);
        }
    }
}

/// What comes of `future` within a time; `None` is for ever, and what is not there by then is dropped.
pub async fn within<T>(limit: Option<Duration>, future: impl Future<Output = T>) -> Option<T> {
    match limit {
        Some(limit) => tokio::time::timeout(limit, future).await.ok(),
        None => Some(future.await),
    }
}

async fn unless_withdrawn(pending_callbacks: Arc<PendingCallbacks>, call: AnyCall) -> Result<AnyAnswer> {
    unless(call, pending_callbacks.withdrawn()).await.unwrap_or_else(|| Err(Error::closed("client")))
}

/// [`Client::watch_sequencer`] for at most `limit`, zero being one look; Timeout if it still stands then.
pub async fn watch_sequencer(client: &Client, sequencer: &str, limit: Option<Duration>) -> Result<()> {
    let still_stands = || {
        Err(Error::new(
            ErrorKind::Timeout,
            "the acquisition still stands after the time given; watch again, or give more time",
        ))
    };
    match limit {
        None => client.watch_sequencer(sequencer).await,
        Some(Duration::ZERO) => match client.check_sequencer_now(sequencer).await? {
            true => still_stands(),
            false => Ok(()),
        },
        Some(_) => within(limit, client.watch_sequencer(sequencer)).await.unwrap_or_else(still_stands),
    }
}

/// What withdraws a call: the token that it was given, and one of its own.
type Tokens = [Option<CancelToken>; 2];

fn run(call: AnyCall, tokens: Tokens, done: AnyDone) {
    let in_progress = CallInProgress::begin();
    beginning::begin(Box::pin(settled(call, tokens).map(move |answer| {
        done(answer);
        drop(in_progress);
    })));
}

/// What `call` comes to unless a token withdraws it, once all that it leaves is seen to.
fn settled(call: AnyCall, tokens: Tokens) -> impl Future<Output = Result<AnyAnswer>> + Send {
    let settled = runtime::with_what_it_leaves(heeding(call, tokens)).then(|(answer, left)| async move {
        if !left.is_empty() {
            // No server answers: it goes on in the background.
            let left = Box::pin(tokio::time::timeout(GRACE, futures_util::future::join_all(left)));
            let _ = left.await;
        }
        answer
    });
    // A panic in the core must reach the caller as an error, not as a call that never ends.
    AssertUnwindSafe(settled).catch_unwind().map(|answer| answer.unwrap_or_else(|_| Err(vanished())))
}

/// What `call` comes to unless a token withdraws it.
fn heeding(call: AnyCall, tokens: Tokens) -> AnyCall {
    if tokens.iter().all(Option::is_none) {
        return call;
    }
    Box::pin(async move {
        let [given, own] = &tokens;
        let mut given = pin!(given.as_ref().map(CancelToken::cancelled));
        let mut own = pin!(own.as_ref().map(CancelToken::cancelled));
        polled(call, |call, context| {
            for cancelled in [given.as_mut(), own.as_mut()] {
                if cancelled.as_pin_mut().is_some_and(|cancelled| cancelled.poll(context).is_ready()) {
                    return Poll::Ready(Err(Error::cancelled()));
                }
            }
            call.poll(context)
        })
        .await
    })
}
