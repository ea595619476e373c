//! Passing a turn on in memory: waiters of one client on one path may share one node.
//!
//! 1. An acquire waits for the baton of its path, in the order of arrival, without a node of its own.
//! 2. If the baton comes with a turn in it, the acquire is done. If it comes without, we queue in ZooKeeper as
//!    everybody else does.
//! 3. Letting go with others waiting passes the turn on, up to the limit the next one allows, once the guarded writes
//!    of the old acquisition are answered. Past the limit the node is deleted, and others get their turn first.
//! 4. A turn that nobody takes any more is given back.
//!
//! The acquisitions that share a node share its czxid; the pair of it and the number of passes rises strictly.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use futures_util::FutureExt;
use tokio::sync::OwnedMutexGuard;

use super::grant::Grant;
use super::place::Queue;
use crate::error::{Error, Result};
use crate::mutex::lock;
use crate::process::Process;
use crate::session::call::Call;

/// The baton of one path, shared by the waiters of one client.
#[derive(Default)]
struct Relay {
    baton: Arc<tokio::sync::Mutex<Option<Turn>>>,
    waiting: AtomicUsize,
    process: Process,
}

/// A turn on its way from one owner to the next.
struct Turn {
    grant: Grant,
    passes: u32,
}

/// The relays of a client, by path.
#[derive(Default)]
struct Relays(Mutex<std::collections::BTreeMap<String, Weak<Relay>>>);

impl Relays {
    fn of(&self, path: &str) -> Arc<Relay> {
        let mut relays = lock(&self.0);
        if let Some(relay) = relays.get(path).and_then(Weak::upgrade) {
            return relay;
        }
        relays.retain(|_, relay| relay.strong_count() > 0);
        let relay = Arc::new(Relay::default());
        relays.insert(path.to_owned(), Arc::downgrade(&relay));
        relay
    }
}

/// The baton, for its owner. The next one that waits gets it when this is dropped.
pub(crate) struct Baton {
    relay: Arc<Relay>,
    hand: Hand,
    passes: u32,
}

/// What lets go when it is dropped, except in a forked child: the locks below it stayed with the parent's threads.
struct Hand(Option<OwnedMutexGuard<Option<Turn>>>, Process);

impl Hand {
    fn take(&mut self) -> Option<Turn> {
        self.0.as_mut().and_then(|turn| turn.take())
    }

    fn put(&mut self, turn: Turn) {
        if let Some(empty) = &mut self.0 {
            **empty = Some(turn);
        }
    }
}

impl Drop for Hand {
    fn drop(&mut self) {
        if !self.1.is_present() {
            std::mem::forget(self.0.take());
        }
    }
}

impl Baton {
    /// How often the turn was passed on since it was won.
    pub(crate) fn passes(&self) -> u32 {
        self.passes
    }

    /// Whether somebody waits for it.
    pub(crate) fn is_wanted(&self) -> bool {
        self.relay.waiting.load(Ordering::Acquire) > 0
    }

    /// Passes the turn on.
    pub(crate) fn pass(mut self, grant: Grant) {
        self.hand.put(Turn { grant, passes: self.passes });
        let relay = self.relay.clone();
        drop(self);
        relay.sweep();
    }
}

/// Takes the turn over from another owner of this client, at most `limit` times in a row, or queues for it.
pub(crate) async fn take(limit: u32, queue: &Queue<'_>, call: &mut Call) -> Result<Grant> {
    let relay = queue.session.shelf.of::<Relays>().of(queue.path);
    let waiting = Waiting::for_the_baton(&relay);
    call.until_those_before_have_queued().await?;
    let hand = match call.is_single_attempt() {
        true => relay.baton.clone().try_lock_owned().map_err(|_| Error::timeout("not acquired"))?,
        false => {
            let mut hand = Box::pin(relay.baton.clone().lock_owned());
            // The first poll takes the place in the line for the baton.
            let now = tokio::task::unconstrained(&mut hand).now_or_never();
            call.has_queued();
            match now {
                Some(hand) => hand,
                None => call.patiently(hand).await?,
            }
        }
    };
    let mut hand = Hand(Some(hand), relay.process);
    drop(waiting);
    // One whose node is known to be gone is no turn any more.
    let passed_on = hand.take().filter(|turn| turn.grant.stands());
    let (mut grant, passes) = match passed_on {
        Some(turn) if turn.passes < limit && turn.grant.epoch.is_firm() => (turn.grant, turn.passes + 1),
        // Had often enough, or not certain any more: others first. The deletion leaves before our create.
        spent => {
            drop(spent);
            (super::take(queue, call).await?, 0)
        }
    };
    grant.baton = Some(Baton { relay, hand, passes });
    Ok(grant)
}

impl Relay {
    /// Gives a turn back that nobody waits for.
    fn sweep(&self) {
        if self.waiting.load(Ordering::Acquire) > 0 {
            return;
        }
        // If somebody has it in hand, that one looks when it lets go.
        if let Ok(mut hand) = self.baton.clone().try_lock_owned() {
            drop(hand.take());
        }
    }
}

/// One who waits for the baton.
struct Waiting<'a>(&'a Relay);

impl Waiting<'_> {
    fn for_the_baton(relay: &Relay) -> Waiting<'_> {
        relay.waiting.fetch_add(1, Ordering::AcqRel);
        Waiting(relay)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if !self.0.process.is_present() {
            // A forked child: what is passed on is the parent's, and so are the locks.
            return;
        }
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
        self.0.sweep();
    }
}
