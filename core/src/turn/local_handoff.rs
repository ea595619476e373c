//! Passing a turn on in memory: waiters of one client on one path may share one node.
//!
//! 1. The acquires of one client on one path go one after the other, in the order of arrival. Only whose hand-off guard it is
//!    may take the turn; the others have no node of their own.
//! 2. If the guard comes with a turn in it, the acquire is done. If it comes without, we queue in ZooKeeper as
//!    everybody else does.
//! 3. Letting go with others waiting passes the turn on, up to the limit the next one allows, once the guarded writes
//!    of the old acquisition are answered. Past the limit the node is deleted, and others get their turn first.
//! 4. A turn that nobody takes any more is given back.
//!
//! The acquisitions that share a node share its czxid; the pair of it and the number of passes rises strictly.

use std::sync::{Arc, Weak};

use futures_util::FutureExt;
use tokio::sync::OwnedMutexGuard;

use super::grant::Grant;
use super::place::TurnRequest;
use crate::error::{Error, Result};
use crate::mutex::lock;
use crate::process::{Process, UnlessForked};
use crate::session::call::Call;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicUsize, Ordering};

/// What the waiters of one client on one path share.
#[derive(Default)]
struct LocalHandoff {
    passed: Arc<tokio::sync::Mutex<Option<PassedTurn>>>,
    waiting: AtomicUsize,
    process: Process,
}

/// A turn on its way from one owner to the next.
struct PassedTurn {
    grant: Grant,
    passes: u32,
}

/// Those of a client, by path.
#[derive(Default)]
struct LocalHandoffs(Mutex<std::collections::BTreeMap<String, Weak<LocalHandoff>>>);

impl LocalHandoffs {
    fn of(&self, path: &str) -> Arc<LocalHandoff> {
        let mut handoffs = lock(&self.0);
        if let Some(handoff) = handoffs.get(path).and_then(Weak::upgrade) {
            return handoff;
        }
        handoffs.retain(|_, handoff| handoff.strong_count() > 0);
        let handoff = Arc::new(LocalHandoff::default());
        handoffs.insert(path.to_owned(), Arc::downgrade(&handoff));
        handoff
    }
}

/// Whose it is may take the turn. The next one that waits gets it when this is dropped.
pub(crate) struct HandoffGuard {
    handoff: Arc<LocalHandoff>,
    lock: UnlessForked<OwnedMutexGuard<Option<PassedTurn>>>,
    passes: u32,
}

impl HandoffGuard {
    /// How often the turn was passed on since it was won.
    pub(crate) fn passes(&self) -> u32 {
        self.passes
    }

    /// Whether somebody waits for it.
    pub(crate) fn is_wanted(&self) -> bool {
        self.handoff.waiting.load(Ordering::Acquire) > 0
    }

    /// Passes the turn on.
    pub(crate) fn pass(mut self, grant: Grant) {
        **self.lock = Some(PassedTurn { grant, passes: self.passes });
        let handoff = self.handoff.clone();
        drop(self);
        handoff.give_back_unwanted();
    }
}

/// Takes the turn over from another owner of this client, at most `limit` times in a row, or queues for it.
pub(crate) async fn take(limit: u32, request: &TurnRequest<'_>, call: &mut Call) -> Result<Grant> {
    let handoff = request.session.extensions.of::<LocalHandoffs>().of(request.path);
    let waiting = LocalWaiter::of(&handoff);
    call.until_those_before_have_queued().await?;
    let lock = match call.is_single_attempt() {
        true => handoff.passed.clone().try_lock_owned().map_err(|_| Error::timeout("not acquired"))?,
        false => {
            let mut lock = Box::pin(handoff.passed.clone().lock_owned());
            // The first poll takes the place in the line.
            let now = tokio::task::unconstrained(&mut lock).now_or_never();
            call.has_queued();
            match now {
                Some(lock) => lock,
                None => call.wait_for(lock).await?,
            }
        }
    };
    let mut lock = UnlessForked::new(lock);
    drop(waiting);
    // One whose node is known to be gone is no turn any more.
    let passed_on = lock.take().filter(|turn| turn.grant.stands());
    let (mut grant, passes) = match passed_on {
        Some(turn) if turn.passes < limit && turn.grant.server_session.is_firm() => {
            (turn.grant, turn.passes + 1)
        }
        // Had often enough, or not certain any more: others first. The deletion leaves before our create.
        spent => {
            drop(spent);
            (super::take(request, call).await?, 0)
        }
    };
    grant.handoff = Some(HandoffGuard { handoff, lock, passes });
    Ok(grant)
}

impl LocalHandoff {
    /// Gives a turn back that nobody waits for.
    fn give_back_unwanted(&self) {
        if self.waiting.load(Ordering::Acquire) > 0 {
            return;
        }
        // If somebody has it in hand, that one looks when it lets go.
        if let Ok(mut lock) = self.passed.clone().try_lock_owned() {
            drop(lock.take());
        }
    }
}

/// One of this client that waits for the guard.
struct LocalWaiter<'a>(&'a LocalHandoff);

impl LocalWaiter<'_> {
    fn of(handoff: &LocalHandoff) -> LocalWaiter<'_> {
        handoff.waiting.fetch_add(1, Ordering::AcqRel);
        LocalWaiter(handoff)
    }
}

impl Drop for LocalWaiter<'_> {
    fn drop(&mut self) {
        if !self.0.process.is_present() {
            // A forked child: what is passed on is the parent's, and so are the locks.
            return;
        }
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
        self.0.give_back_unwanted();
    }
}
