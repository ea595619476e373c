//! Passing a turn on in memory: waiters of one client on one path may share one node.
//!
//! 1. Who acquires waits for the baton of its path, in the order of arrival, without a node of its own.
//! 2. Whoever gets it with a turn in it holds at once; with none, it queues in ZooKeeper like everybody else.
//! 3. Letting go with others waiting passes the turn on, up to the limit the next one allows, once the guarded writes
//!    of the old acquisition are answered. Past the limit the node is deleted, and others get their turn first.
//! 4. A turn that nobody takes any more is given back.
//!
//! The acquisitions that share a node share its czxid; the pair of it and the number of passes rises strictly.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};

use tokio::sync::OwnedMutexGuard;

use super::grant::Grant;
use super::place::Queue;
use crate::error::{Error, Result};
use crate::session::call::Call;

/// The baton of one path, shared by the waiters of one client.
#[derive(Default)]
pub(crate) struct Relay {
    baton: Arc<tokio::sync::Mutex<Option<Turn>>>,
    waiting: AtomicUsize,
}

/// A turn on its way from one owner to the next.
struct Turn {
    grant: Grant,
    passes: u32,
}

/// The relays of a client, by path.
#[derive(Default)]
pub(crate) struct Relays(Mutex<std::collections::BTreeMap<String, Weak<Relay>>>);

impl Relays {
    pub(crate) fn of(&self, path: &str) -> Arc<Relay> {
        let mut relays = self.0.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if let Some(relay) = relays.get(path).and_then(Weak::upgrade) {
            return relay;
        }
        relays.retain(|_, relay| relay.strong_count() > 0);
        let relay = Arc::new(Relay::default());
        relays.insert(path.to_owned(), Arc::downgrade(&relay));
        relay
    }
}

/// The baton in its owner's hand: whoever waits for it gets it when this is dropped.
pub(crate) struct Baton {
    relay: Arc<Relay>,
    hand: OwnedMutexGuard<Option<Turn>>,
    passes: u32,
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
        *self.hand = Some(Turn { grant, passes: self.passes });
        let relay = self.relay.clone();
        drop(self);
        relay.sweep();
    }
}

/// Takes the turn over from another owner of this client, at most `limit` times in a row, or queues for it.
pub(crate) async fn take(relay: Arc<Relay>, limit: u32, queue: &Queue<'_>, call: &mut Call) -> Result<Grant> {
    let waiting = Waiting::for_the_baton(&relay);
    let mut hand = match call.is_single_attempt() {
        true => relay.baton.clone().try_lock_owned().map_err(|_| Error::timeout("the turn"))?,
        false => call.patiently(relay.baton.clone().lock_owned()).await?,
    };
    drop(waiting);
    call.renew_budget();
    let passed_on = hand.take();
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
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
        self.0.sweep();
    }
}
