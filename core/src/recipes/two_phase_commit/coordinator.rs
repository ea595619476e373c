//! A coordinator: how others know that it is there, which transactions it has, and how it ends with them.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use tokio::sync::Notify;

use super::begin::undo;
use super::layout::{Header, Key};
use super::outcomes;
use super::transaction::{DECIDING, Part, Transaction, collect};
use super::{Inner, Outcome};
use crate::error::{Error, ErrorKind, Result};
use crate::mutex::lock;
use crate::session::Session;
use crate::session::call::{Call, Failure, refusal};
use crate::session::chance;
use crate::session::epoch::Epoch;
use crate::session::kept::Kept;
use crate::session::wire::{CreateMode, Flight, WireError, Write};

const OUTCOME: &str = "outcome";

/// That a coordinator is there.
pub(super) struct Alive {
    /// Under which transactions say that they are its own.
    pub(super) name: String,
    _kept: Kept,
    /// A node of one session, and the only one with that name. What is begun depends on it, so once it is deleted, nothing
    /// that was begun in that session comes true any more.
    session_node: Option<SessionNode>,
}

struct SessionNode {
    epoch: Weak<Epoch>,
    path: String,
    /// Otherwise it may.
    stands: bool,
}

impl Drop for Alive {
    fn drop(&mut self) {
        if let Some(node) = self.session_node.take()
            && let Some(epoch) = node.epoch.upgrade()
            // A forked child has no session.
            && epoch.process().is_present()
            && !epoch.has_ended()
        {
            drop(epoch.delete_in_background(node.path, 0));
        }
    }
}

/// What a handle is at.
#[derive(Default)]
pub(super) struct Hands {
    /// The nonces of the transactions that somebody has a handle on, or begins.
    held: Mutex<HashSet<String>>,
    /// Those whose begin was given up and that were committed all the same, until somebody is told.
    committed: Mutex<Vec<(Key, Header)>>,
    /// How many are done with, and the servers have not been told.
    ending: AtomicUsize,
    ended: Notify,
}

impl Hands {
    fn held(&self) -> MutexGuard<'_, HashSet<String>> {
        lock(&self.held)
    }
}

/// Somebody has this transaction in hand. Dropped before it is over, `recover` answers it.
pub(super) struct Hand {
    pub(super) inner: Arc<Inner>,
    nonce: String,
}

impl Drop for Hand {
    fn drop(&mut self) {
        // A forked child: a thread that stayed with the parent may have had the lock.
        if self.inner.client.process().is_present() {
            self.inner.hands.held().remove(&self.nonce);
        }
    }
}

/// Something is on its way to the servers.
pub(super) struct Ending(Arc<Inner>);

impl Drop for Ending {
    fn drop(&mut self) {
        let hands = &self.0.hands;
        if hands.ending.fetch_sub(1, Ordering::AcqRel) == 1 {
            hands.ended.notify_waiters();
        }
    }
}

impl Inner {
    /// The name by which this coordinator is there.
    pub(super) async fn alive(&self, session: &Arc<Session>, verb: &'static str) -> Result<String> {
        let mut alive = self.alive.lock().await;
        if let Some(alive) = &*alive {
            return Ok(alive.name.clone());
        }
        let name = chance::guid().simple().to_string();
        let identity = session.identity().as_bytes();
        let node = self.layout.presence(&name);
        let kept = Kept::declare(session, verb, node, identity, session.parents()).await?;
        *alive = Some(Alive { name: name.clone(), _kept: kept, session_node: None });
        Ok(name)
    }

    /// The node of this session on which everything depends that is begun in it; `None`: ask again.
    pub(super) async fn session_node(
        &self,
        epoch: &Arc<Epoch>,
        call: &mut Call,
        verb: &str,
    ) -> Result<Option<String>> {
        let mut alive = self.alive.lock().await;
        let Some(alive) = alive.as_mut() else { return Ok(None) };
        let path = format!("{}.{:x}", self.layout.presence(&alive.name), epoch.session_id());
        let is_of_this = |node: &&mut SessionNode| std::ptr::eq(node.epoch.as_ptr(), &**epoch);
        let node = match alive.session_node.as_mut().filter(is_of_this) {
            Some(node) if node.stands => return Ok(Some(path)),
            Some(node) => node,
            None => {
                let (epoch, path) = (Arc::downgrade(epoch), path.clone());
                alive.session_node.insert(SessionNode { epoch, path, stands: false })
            }
        };
        match call.briefly(verb, epoch.create(&path, b"", CreateMode::Ephemeral)).await? {
            Ok(_) | Err(WireError::NodeExists) => {
                node.stands = true;
                Ok(Some(path))
            }
            // The parent is made with the coordinator's own node.
            Err(error) if error.is_unanswered() || error == WireError::NoNode => {
                call.retry_after_loss(verb).await.map(|()| None)
            }
            Err(error) => Err(refusal(error, verb, &path)),
        }
    }

    /// Somebody has deleted it.
    pub(super) async fn forget_session_node(&self) {
        let mut alive = self.alive.lock().await;
        if let Some(node) = alive.as_mut().and_then(|alive| alive.session_node.as_mut()) {
            node.stands = false;
        }
    }

    /// `None`: somebody has it already.
    pub(super) fn take_in_hand(self: &Arc<Self>, nonce: &str) -> Option<Hand> {
        let is_free = self.hands.held().insert(nonce.to_owned());
        is_free.then(|| Hand { inner: self.clone(), nonce: nonce.to_owned() })
    }

    /// Whoever began it has given it up, and it was committed: `recover` tells.
    pub(super) fn is_committed(&self, key: Key, header: Header) {
        self.committed().push((key, header));
    }

    fn committed(&self) -> MutexGuard<'_, Vec<(Key, Header)>> {
        lock(&self.hands.committed)
    }

    /// All of these that are in nobody's hand; then somebody is told of them.
    pub(super) fn take_committed(self: &Arc<Self>) -> Vec<CommitTransaction> {
        let all = std::mem::take(&mut *self.committed());
        let taken = all.into_iter().filter_map(|(key, header)| {
            let hand = self.take_in_hand(&key.nonce)?;
            let transaction = Transaction::new(key, header, self.client.session().ok()?.now());
            transaction.known.get_or_init(|| Outcome::Commit);
            Some(CommitTransaction::new(hand, Arc::new(transaction), 0))
        });
        taken.collect()
    }

    /// The servers are to be told of something, until that is dropped.
    pub(super) fn ending(self: &Arc<Self>) -> Ending {
        self.hands.ending.fetch_add(1, Ordering::AcqRel);
        Ending(self.clone())
    }

    /// Waits until the servers have been told of everything that this handle is done with, or that was given up.
    pub(super) async fn until_told(&self, call: &mut Call, verb: &str) -> Result<()> {
        let told = async {
            loop {
                let mut ended = std::pin::pin!(self.hands.ended.notified());
                ended.as_mut().enable();
                if self.hands.ending.load(Ordering::Acquire) == 0 {
                    return Ok(());
                }
                ended.await;
            }
        };
        call.briefly(verb, told).await?.map_err(|error: WireError| refusal(error, verb, &self.layout.root))
    }
}

/// A transaction as its coordinator has it. Clones are the same.
#[derive(Clone)]
pub struct CommitTransaction(Arc<Coordinated>);

pub(super) struct Coordinated {
    hand: Hand,
    transaction: Arc<Transaction>,
    /// The version of the mark that says whose it is: what somebody else has taken over is theirs to end.
    mark: i32,
    is_over: AtomicBool,
}

impl CommitTransaction {
    pub(super) fn new(hand: Hand, transaction: Arc<Transaction>, mark: i32) -> CommitTransaction {
        CommitTransaction(Arc::new(Coordinated { hand, transaction, mark, is_over: AtomicBool::new(false) }))
    }

    /// Its coordinator sees to it from now on.
    pub(crate) fn attend(&self) {
        self.0.hand.inner.attend(&self.0.transaction);
    }

    /// Decides it if that can be done now.
    pub(super) async fn decide_if_due(&self, session: &Arc<Session>) -> Result<()> {
        let layout = &self.0.hand.inner.layout;
        let mut call = session.call(Some(Duration::ZERO));
        match self.0.transaction.decided(layout, session, &mut call, Part::Duty).await {
            Err(error) if error.kind() == ErrorKind::Timeout => Ok(()),
            decided => decided.map(drop),
        }
    }

    /// Its caller never learned that it began: aborts it in the background, unless something is decided.
    pub(crate) fn withdraw(&self) {
        let this = self.0.clone();
        let Ok(session) = this.hand.inner.client.session() else { return };
        let (about, ending) = (session.clone(), this.hand.inner.ending());
        drop(session.errand(async move {
            let mut call = about.call(None).outlasting();
            let (transaction, inner) = (&this.transaction, &this.hand.inner);
            let (key, header) = (&transaction.key, &transaction.header);
            match undo(&inner.layout, &mut call, key, &header.sites).await {
                Ok(Outcome::Commit) => inner.is_committed(key.clone(), header.clone()),
                Ok(Outcome::Abort) => {}
                Err(error) => {
                    tracing::warn!(target: "zkrecipes", event = "transaction_left", id = key.id, %error, "a transaction that was given up is left to `recover`");
                }
            }
            // In this order: who waits for it finds it in nobody's hand.
            drop(this);
            drop(ending);
        }));
    }

    /// By which name it began.
    pub fn id(&self) -> &str {
        &self.0.transaction.key.id
    }

    /// Who votes.
    pub fn sites(&self) -> &[String] {
        &self.0.transaction.header.sites
    }

    /// What it is about.
    pub fn payload(&self) -> &[u8] {
        &self.0.transaction.header.payload
    }

    /// Waits for the outcome: the commit when all sites have voted for it, the abort when one has voted for that or the time of
    /// the transaction is over. Timeout after `limit`: nothing is decided yet, ask again. ConnectionLost: nor is that known,
    /// for no server answered when it was over.
    ///
    /// A coordinator that has been told the outcome is done with the transaction: `recover` does not list it any more, and
    /// asking again answers the same. A commit is not collected before that, whoever has acknowledged it.
    ///
    /// It is the true outcome, whoever decided it and whoever else was told, such as a coordinator that took the transaction
    /// over while this client was cut off. NoNode: this client was cut off for more than a day, and its outcome is not kept for so
    /// long; or somebody has deleted its nodes by hand.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the transaction as it is, and it is decided all the same.
    pub async fn outcome(&self, limit: Option<Duration>) -> Result<Outcome> {
        let inner = &self.0.hand.inner;
        let session = inner.client.session()?;
        let mut call = session.wait(limit).for_the(DECIDING);
        let node = inner.layout.transaction(self.id());
        let decided = self.0.transaction.decided(&inner.layout, &session, &mut call, Part::Coordinator).await;
        let decided = decided.map_err(|error| error.with_path(&node))?;
        let Some(outcome) = decided else {
            let message = "nothing is kept of this transaction any more: others were done with it more than a day ago, or its nodes \
                           were deleted by hand; ask its sites how it ended";
            return Err(Error::new(ErrorKind::NoNode, message).with_path(node));
        };
        // A commit's mark goes when the caller is told, and not before: should we crash, it is to be found.
        self.0.end(&session, outcome);
        if outcome == Outcome::Abort {
            // Told it is, whether or not the servers know.
            let _ = inner.until_told(&mut call, OUTCOME).await;
        }
        Ok(outcome)
    }
}

impl Coordinated {
    /// The mark goes in the background. The first request leaves now.
    fn end(self: &Arc<Self>, session: &Arc<Session>, outcome: Outcome) {
        if self.is_over.swap(true, Ordering::AcqRel) {
            return;
        }
        let inner = &self.hand.inner;
        let ending = inner.ending();
        let mark = inner.layout.coordinator(&self.transaction.key);
        // Not ours from the beginning: then its outcome stays, for whoever began it.
        let first = (self.mark == 0).then(|| session.epoch().delete(&mark, Some(self.mark)));
        let (this, about) = (self.clone(), session.clone());
        drop(session.errand(async move {
            let ended = match first {
                Some(first) => this.delete_mark(&about, &mark, first).await,
                None => this.delete_and_note(&about, &mark, outcome).await,
            };
            if let Err(error) = ended {
                tracing::debug!(target: "zkrecipes", event = "transaction_untidy", %error, "a transaction that is over is left to `recover`");
            }
            drop(ending);
        }));
    }

    async fn delete_mark(&self, session: &Arc<Session>, mark: &str, first: Flight<()>) -> Result<()> {
        let mut call = session.call(None).outlasting();
        let deleted = match first.await {
            Err(error) if error.is_unanswered() => {
                call.retry_after_loss(OUTCOME).await?;
                call.ask(OUTCOME, |epoch| epoch.delete(mark, Some(self.mark))).await
            }
            answer => answer.map_err(Failure::Refused),
        };
        self.deleted(&mut call, mark, deleted).await
    }

    async fn deleted(&self, call: &mut Call, mark: &str, deleted: Result<(), Failure>) -> Result<()> {
        match deleted {
            Ok(()) | Err(Failure::Refused(WireError::NoNode)) => {
                let transaction = &self.transaction;
                collect(&self.hand.inner.layout, call, &transaction.key, &transaction.header.sites).await
            }
            // Taken over.
            Err(Failure::Refused(WireError::BadVersion)) => Ok(()),
            Err(failure) => Err(failure.about(OUTCOME, mark)),
        }
    }

    async fn delete_and_note(&self, session: &Arc<Session>, mark: &str, outcome: Outcome) -> Result<()> {
        let mut call = session.call(None).outlasting();
        let inner = &self.hand.inner;
        let (layout, folder) = (&inner.layout, inner.layout.outcomes());
        let delete = Write::Delete { path: mark.to_owned(), version: Some(self.mark) };
        let writes = [delete, outcomes::note(layout, &self.transaction.key, outcome)];
        let deleted = loop {
            match call.ask(OUTCOME, |epoch| epoch.multi(&writes)).await {
                Err(Failure::Refused(WireError::Part { index: 1, error })) if *error == WireError::NoNode => {
                    let epoch = call.epoch(OUTCOME).await?;
                    match call.briefly(OUTCOME, session.ensure(&epoch, &folder, session.parents())).await? {
                        Err(error) if error.is_unanswered() => call.retry_after_loss(OUTCOME).await?,
                        made => made.map_err(|error| refusal(error, OUTCOME, &folder))?,
                    }
                }
                // Not ours to write, which must not keep the transaction for ever.
                Err(Failure::Refused(WireError::Part { index: 1, error })) => {
                    let path = writes[1].path();
                    tracing::warn!(target: "zkrecipes", event = "outcome_not_kept",
                        path,
                        ?error,
                        "whoever began this transaction cannot learn its outcome"
                    );
                    break call.ask(OUTCOME, |epoch| epoch.delete(mark, Some(self.mark))).await;
                }
                Err(Failure::Refused(WireError::Part { error, .. })) => break Err(Failure::Refused(*error)),
                deleted => break deleted.map(drop),
            }
        };
        self.deleted(&mut call, mark, deleted).await?;
        outcomes::sweep(inner, session, &mut call).await
    }
}

impl std::fmt::Debug for CommitTransaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CommitTransaction").field("id", &self.id()).finish_non_exhaustive()
    }
}
