//! What a caller hears of its put, and what becomes of one that nobody wants any more.
//!
//! Whoever runs out of time or withdraws hears what became of its put:
//!
//! 1. Before a transaction leaves, each call with an item in it is asked whether that is still wanted. A call that has
//!    withdrawn by then has certainly put nothing more: Timeout or Cancelled.
//! 2. Later the transaction cannot be called back. The caller waits a moment for its answer, and hears that: what is in is in. Without an
//!    answer nobody knows, which is ConnectionLost.
//! 3. A caller that drops the future hears nothing any more. So what went in is taken back, in the background. What
//!    somebody else has taken by then is told in the log. What was put with a key stays: others with that key may have heard
//!    that it is in.

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use futures_util::future::join_all;
use tokio::sync::oneshot;

use super::items_parent::{self, ItemsParent};
use super::layout::{NodeLayout, make_claims};
use super::room::VERB;
use crate::error::{Error, ErrorKind, Result};
use crate::mutex::lock;
use crate::path;
use crate::process::UnlessForked;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::wire::{Created, Flight, WireError, Write};

/// How long the answer to what was sent may come late.
const LATE_ANSWER: Duration = Duration::from_millis(500);
const TAKING_BACK: &str = "taking back a put";
/// How many are taken back at the same time.
const AT_ONCE: usize = 100;

fn vanished() -> Error {
    Error::new(
        ErrorKind::Internal,
        "a put ended without a result, which is a bug of zkrecipes; please report it",
    )
}

/// What the caller and who serves it know of one put.
#[derive(Default)]
pub(super) struct PutProgress(Mutex<Progress>);

#[derive(Default)]
struct Progress {
    /// How many went in.
    went_in: usize,
    /// Their nodes, where the answer has told them.
    nodes: Vec<Created>,
    /// Whether a transaction is under way with items of it.
    is_under_way: bool,
    is_withdrawn: bool,
}

impl PutProgress {
    fn progress(&self) -> MutexGuard<'_, Progress> {
        lock(&self.0)
    }

    /// A transaction is about to leave. False if it must not.
    pub(super) fn leaves(&self) -> bool {
        let mut progress = self.progress();
        progress.is_under_way = !progress.is_withdrawn;
        progress.is_under_way
    }

    /// What was under way is decided.
    pub(super) fn settle(&self) {
        self.progress().is_under_way = false;
    }

    pub(super) fn has_begun(&self) -> bool {
        self.progress().went_in > 0
    }

    pub(super) fn is_withdrawn(&self) -> bool {
        self.progress().is_withdrawn
    }

    pub(super) fn went_in(&self, many: usize, nodes: impl Iterator<Item = Created>) {
        let mut progress = self.progress();
        progress.went_in += many;
        progress.nodes.extend(nodes);
    }

    /// Nothing more of it is to be sent; answers whether something is under way.
    fn withdraw(&self) -> bool {
        let mut progress = self.progress();
        progress.is_withdrawn = true;
        progress.is_under_way
    }
}

/// The caller's end of it. Dropped before the caller knows, what was put is taken back.
pub(super) struct PutAnswer {
    sending: Arc<PutProgress>,
    /// A forked child has no task of its parent's to wake.
    answer: UnlessForked<Option<oneshot::Receiver<Result<()>>>>,
    take_back: Option<TakeBack>,
    /// Then what is in stays.
    has_key: bool,
    /// How many were to be put.
    all: usize,
}

impl PutAnswer {
    /// Of so many items, with a key or without.
    pub(super) fn new(
        sending: Arc<PutProgress>,
        answer: oneshot::Receiver<Result<()>>,
        take_back: TakeBack,
        has_key: bool,
        all: usize,
    ) -> PutAnswer {
        let answer = UnlessForked::new(Some(answer));
        PutAnswer { sending, answer, take_back: Some(take_back), has_key, all }
    }

    /// What became of it. The error says how many went in, if there are several.
    pub(super) async fn outcome(mut self, call: &mut Call) -> Result<Put> {
        let outcome = self.answered(call).await;
        let take_back = self.take_back.take().filter(|_| !self.has_key);
        let mut progress = self.sending.progress();
        match outcome {
            Ok(()) => {
                let (nodes, unnamed) = progress.leave();
                Ok(Put { take_back, nodes, unnamed })
            }
            Err(error) if self.all == 1 => Err(error),
            Err(error) => Err(error.with_put(progress.went_in)),
        }
    }

    async fn answered(&mut self, call: &mut Call) -> Result<()> {
        let Some(answer) = self.answer.as_mut() else { return Err(vanished()) };
        let mut answer = Pin::new(answer);
        let over = match call.within_reach(VERB, answer.as_mut()).await {
            Ok(answer) => return answer.unwrap_or_else(|_| Err(vanished())),
            Err(over) => over,
        };
        if !self.sending.withdraw() {
            return Err(over);
        }
        let (session, until) = (call.session().clone(), call.now() + LATE_ANSWER);
        tokio::select! {
            biased;
            answer = answer => match answer {
                Ok(answer) => answer,
                // The rest was not sent any more.
                Err(_) => Err(over),
            },
            () = session.clock().sleep_until(until) => match self.sending.progress().is_under_way {
                true => Err(unanswered(&over, self.all, self.has_key)),
                false => Err(over),
            },
        }
    }
}

impl Drop for PutAnswer {
    fn drop(&mut self) {
        let Some(take_back) = self.take_back.take().filter(TakeBack::is_present) else { return };
        let (sending, answer) = (self.sending.clone(), self.answer.take());
        let is_under_way = sending.withdraw();
        if !is_under_way && sending.progress().went_in == 0 || self.has_key {
            return;
        }
        // Else nothing more is sent. That nobody waits for the answer is what ends the wait for room.
        let answer = answer.filter(|_| is_under_way);
        let is_known = async move {
            // An error says that more may go in.
            let is_in_doubt = match answer {
                Some(answer) => matches!(answer.await, Ok(Err(_))),
                None => false,
            };
            let (nodes, unnamed) = sending.progress().leave();
            (nodes, unnamed + usize::from(is_in_doubt))
        };
        take_back.remove_once(is_known);
    }
}

impl Progress {
    /// The nodes of what went in, and how many have a name that nobody knows.
    fn leave(&mut self) -> (Vec<Created>, usize) {
        let nodes = std::mem::take(&mut self.nodes);
        let unnamed = self.went_in - nodes.len();
        (nodes, unnamed)
    }
}

/// Nobody knows what becomes of what was sent when `over` ended the wait.
fn unanswered(over: &Error, all: usize, has_key: bool) -> Error {
    let why = match over.kind() {
        ErrorKind::Timeout => "no answer came within the time given",
        ErrorKind::Cancelled => "the wait was cancelled before an answer came",
        ErrorKind::ConnectionLost => "the connection broke before an answer came",
        _ => "the client was closed before an answer came",
    };
    let kind = if over.kind() == ErrorKind::Closed { ErrorKind::Closed } else { ErrorKind::ConnectionLost };
    let what = if all == 1 { "the item is put" } else { "more is put than is told" };
    let advice = match has_key {
        true => "Put it again with the same key",
        false => "Look into the queue before you put it again",
    };
    Error::new(kind, format!("whether {what} cannot be known: the {VERB} was sent, and {why}. {advice}"))
}

/// How an item is put: [`Queue::put_with`](crate::Queue::put_with).
///
/// ```
/// # use std::time::Duration;
/// use zkrecipes::PutOptions;
///
/// let options = PutOptions::default().key("order-1042").timeout(Duration::from_secs(5));
/// assert_eq!(options.key.as_deref(), Some("order-1042"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PutOptions {
    /// What names this put, such as the id of a request, in at most 1,000 bytes. The same key within the
    /// [`key_window`](crate::QueueOptions::key_window) puts once, whoever puts with it; all others succeed as the first.
    pub key: Option<String>,
    /// How long it may take, then Timeout; without it there is no end.
    pub timeout: Option<Duration>,
}

impl PutOptions {
    /// What names this put.
    pub fn key(mut self, key: impl Into<String>) -> PutOptions {
        self.key = Some(key.into());
        self
    }

    /// How long it may take.
    pub fn timeout(mut self, timeout: Duration) -> PutOptions {
        self.timeout = Some(timeout);
        self
    }
}

/// What was put. Whoever has no more use for it can have it taken back.
pub struct Put {
    take_back: Option<TakeBack>,
    nodes: Vec<Created>,
    unnamed: usize,
}

impl Put {
    /// Removes again what nobody has taken yet, in the background.
    pub(crate) fn take_back(self) {
        if let Some(take_back) = self.take_back.filter(TakeBack::is_present) {
            take_back.remove_once(std::future::ready((self.nodes, self.unnamed)));
        }
    }
}

/// What one call has put so far. Dropped before the caller knows, it is taken back.
#[derive(Default)]
pub(super) struct PutSoFar(Vec<Put>, usize);

impl PutSoFar {
    pub(super) fn add(&mut self, put: Put) {
        self.1 += put.nodes.len() + put.unnamed;
        self.0.push(put);
    }

    /// How many items that are.
    pub(super) fn count(&self) -> usize {
        self.1
    }

    /// The caller knows.
    pub(super) fn hand_over(mut self) -> Vec<Put> {
        std::mem::take(&mut self.0)
    }
}

impl Drop for PutSoFar {
    fn drop(&mut self) {
        self.0.drain(..).for_each(Put::take_back);
    }
}

/// Where something is to be taken back.
pub(super) struct TakeBack {
    session: Arc<Session>,
    layout: Arc<NodeLayout>,
}

impl TakeBack {
    pub(super) fn at(session: &Arc<Session>, layout: &Arc<NodeLayout>) -> TakeBack {
        TakeBack { session: session.clone(), layout: layout.clone() }
    }

    /// A forked child takes nothing back: it is its parent's.
    pub(super) fn is_present(&self) -> bool {
        self.session.process().is_present()
    }

    /// As soon as it is known which nodes, and how many others of which nobody knows the name. Closing waits for it.
    pub(super) fn remove_once(self, is_known: impl Future<Output = (Vec<Created>, usize)> + Send + 'static) {
        let session = self.session.clone();
        drop(session.in_background(async move {
            let (nodes, unnamed) = is_known.await;
            let mut left = unnamed;
            for nodes in nodes.chunks(AT_ONCE) {
                left += self.delete(nodes).await.unwrap_or_else(|error| {
                    let path = &self.layout.path;
                    tracing::debug!(target: "zkrecipes", event = "items_not_taken_back", path, %error, "items that were put for nobody could not be taken back");
                    nodes.len()
                });
            }
            if left > 0 {
                let path = &self.layout.path;
                tracing::warn!(
                    target: "zkrecipes",
                    event = "put_not_taken_back",
                    path,
                    items = left,
                    "a put was withdrawn, and some of it is in the queue or was taken from it"
                );
            }
        }));
    }

    /// Deletes these items; answers how many somebody else has, or nobody knows of.
    async fn delete(&self, nodes: &[Created]) -> Result<usize> {
        let (mut call, items) = (self.session.call(None).outlasting(), &self.layout.items);
        let (mut waiting, mut left): (Vec<_>, _) = (nodes.iter().map(|node| (node, false)).collect(), 0);
        let (mut may_check, mut about_item) = (true, 0);
        let known_parent = ItemsParent::new(items);
        while !waiting.is_empty() {
            let (server_session, on) = call.connection(TAKING_BACK).await?;
            // In one flight. What was sent before is decided when this is.
            let settled = server_session.settle(items);
            let parent = server_session.exists(items);
            let found: Vec<_> = waiting.iter().map(|(node, _)| server_session.exists(&node.path)).collect();
            let settled = call.receive(TAKING_BACK, settled).await?;
            let parent = call.receive(TAKING_BACK, parent).await?;
            let found = settle_all(&mut call, found).await?;
            if server_session.connection() != Some(on)
                || settled.as_ref().is_err_and(WireError::is_unanswered)
            {
                call.retry_after_loss(TAKING_BACK).await?;
                continue;
            }
            if let Ok(Some(stat)) = &parent {
                known_parent.learn(stat);
                // Where only peers take items nobody has given it a version. Then it is looked again.
                if known_parent.proof().is_none() {
                    known_parent.settle(&mut call, TAKING_BACK).await?;
                    continue;
                }
            }
            let same_parent = match parent {
                Ok(Some(stat)) if may_check => Some(items_parent::check(items, stat.version)),
                _ => None,
            };
            let mut deletions = Vec::new();
            for ((node, is_in_doubt), found) in std::mem::take(&mut waiting).into_iter().zip(found) {
                match found {
                    Ok(Some(stat)) if stat.czxid != node.czxid => left += usize::from(!is_in_doubt),
                    Ok(Some(stat)) if stat.version == 0 => {
                        let mut writes = self.writes(&node.path);
                        about_item = writes.len();
                        writes.extend(same_parent.clone());
                        deletions.push((node, server_session.multi_on(on, &writes)));
                    }
                    // By ourselves, it may be.
                    Ok(None) => left += usize::from(!is_in_doubt),
                    Err(error) if error.is_unanswered() => waiting.push((node, is_in_doubt)),
                    Ok(Some(_)) | Err(_) => left += 1,
                }
            }
            let (sent, deletions): (Vec<_>, Vec<_>) = deletions.into_iter().unzip();
            let mut has_no_claims = false;
            for (node, deleted) in sent.into_iter().zip(settle_all(&mut call, deletions).await?) {
                match deleted {
                    Ok(_) => {}
                    Err(WireError::NotSent) => waiting.push((node, false)),
                    Err(error) if error.is_unanswered() => waiting.push((node, true)),
                    Err(WireError::Part { index: 0, error })
                        if *error == WireError::NoNode && self.layout.has_claims_of_peers =>
                    {
                        has_no_claims = true;
                        waiting.push((node, false));
                    }
                    // The parent has another version by now, or we may not read it.
                    Err(WireError::Part { index, error }) if index == about_item => {
                        may_check &= *error != WireError::NoAuth;
                        waiting.push((node, false));
                    }
                    Err(_) => left += 1,
                }
            }
            if has_no_claims {
                make_claims(&self.session, &mut call, TAKING_BACK, &self.layout).await?;
            } else if !waiting.is_empty() {
                call.retry_after_loss(TAKING_BACK).await?;
            }
        }
        Ok(left)
    }

    fn writes(&self, node: &str) -> Vec<Write> {
        let mut writes = Vec::new();
        if self.layout.has_claims_of_peers {
            writes.extend(self.layout.proof_of_no_claim(&self.session, path::name(node)));
        }
        writes.push(Write::Delete { path: node.to_owned(), version: Some(0) });
        writes
    }
}

/// The answers to all of them.
async fn settle_all<T>(call: &mut Call, flights: Vec<Flight<T>>) -> Result<Vec<Result<T, WireError>>> {
    // The answer is an error of ours, and none of the server's.
    let all = async { Ok(join_all(flights).await) };
    Ok(call.receive(TAKING_BACK, all).await?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_forked_child_that_drops_a_put_ends_no_wait_of_its_parent() {
        let (answer, answered) = oneshot::channel();
        let answered = UnlessForked::new(Some(answered));
        let put =
            PutAnswer { sending: Arc::default(), answer: answered, take_back: None, has_key: false, all: 1 };
        // SAFETY: the child drops, looks and ends, and takes no lock.
        let child = unsafe { libc::fork() };
        if child == 0 {
            drop(put);
            unsafe { libc::_exit(i32::from(answer.is_closed())) };
        }
        let mut status = 0;
        // SAFETY: it is ours.
        unsafe { libc::waitpid(child, &raw mut status, 0) };
        assert!(libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0, "it ended the wait");
    }
}
