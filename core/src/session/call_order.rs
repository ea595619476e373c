//! The order of the calls of one client: of those that queue at one path, the one that was made first queues first.
//!
//! 1. A call comes when it is made: it has its place behind those that came before.
//! 2. Its turn to queue is when they have queued. Where a node of this session stands at the path, that is when their creates have
//!    left, as a session is first in, first out. Else it is when they are answered: a container that was empty may have been
//!    collected, and a create that finds no path is made again.
//! 3. A call that ends before it has queued makes room for those behind it. A future that nobody polls any more holds up nobody for
//!    longer than [`STUCK`] while there is a connection.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::OwnedMutexGuard;

use super::Session;
use super::wire::LinkState;
use crate::mutex::lock;
use crate::sync::Mutex;

/// How long a call waits for those before it on one connection: an answer comes sooner.
const STUCK: Duration = Duration::from_secs(2);

/// The calls of a client that have not queued yet, by path.
#[derive(Default)]
pub(super) struct CallOrder(Mutex<BTreeMap<String, Weak<tokio::sync::Mutex<()>>>>);

impl CallOrder {
    fn at(&self, path: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut call_order = lock(&self.0);
        if let Some(here) = call_order.get(path).and_then(Weak::upgrade) {
            return here;
        }
        call_order.retain(|_, here| here.strong_count() > 0);
        let here = Arc::default();
        call_order.insert(path.to_owned(), Arc::downgrade(&here));
        here
    }
}

/// The turn to queue. The next call has it when this is dropped.
pub(crate) type MayQueue = OwnedMutexGuard<()>;

/// The place of a call among those that have not queued yet.
pub(crate) enum QueueingTurn {
    First(MayQueue),
    Behind(Pin<Box<dyn Future<Output = MayQueue> + Send>>),
}

impl QueueingTurn {
    /// Resolves when those that came before have queued.
    pub(crate) async fn turn(self) -> MayQueue {
        match self {
            QueueingTurn::First(may_queue) => may_queue,
            QueueingTurn::Behind(turn) => turn.await,
        }
    }
}

impl Session {
    /// Resolves when there was one connection for so long that every call would have queued.
    pub(crate) async fn until_stuck(self: Arc<Self>) {
        loop {
            let link = self.server_session().link();
            self.clock().sleep_until(self.now() + STUCK).await;
            if link.state == LinkState::Up && self.server_session().link() == link {
                return;
            }
        }
    }

    /// A call that is going to queue at `path` is made now.
    pub(crate) fn take_queueing_turn(&self, path: &str) -> QueueingTurn {
        let here = self.call_order.at(path);
        // As a rule nobody else is here. It is a fair lock: while anybody waits for it, it is not to be had so.
        if let Ok(may_queue) = here.clone().try_lock_owned() {
            return QueueingTurn::First(may_queue);
        }
        let mut turn = Box::pin(here.lock_owned());
        // The first poll takes the place; tokio must not answer "later" to spread the load.
        match tokio::task::unconstrained(&mut turn).now_or_never() {
            Some(may_queue) => QueueingTurn::First(may_queue),
            None => QueueingTurn::Behind(turn),
        }
    }
}
