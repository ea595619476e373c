//! What a call that has waited for an item and got one leaves for the next call: the watches, and its place in the
//! line. So a consumer that works for a while on each item need not queue again for every one. A call that got nothing
//! leaves nothing.
//!
//! It is kept for a while, and the place only as long as all who stand in the line are in its front: else those
//! behind would wait for one who is busy. When others come, it is given up. A call that takes from what is known
//! already does not need it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{MutexGuard, OwnedMutexGuard, watch};

use super::scout::Scout;
use crate::session::Session;

/// How long it is kept.
const KEPT: Duration = Duration::from_secs(5);

/// The one scout of a client, and whoever keeps it while nobody looks for items.
#[derive(Default)]
pub(super) struct Post {
    scout: Arc<tokio::sync::Mutex<Scout>>,
    /// Changes when the scout is wanted by who cannot have it at once. Only who keeps it listens.
    wanted: watch::Sender<()>,
}

impl Post {
    /// The scout, as soon as no other call of this client has it.
    pub(super) async fn scout(&self) -> MutexGuard<'_, Scout> {
        if let Ok(scout) = self.scout.try_lock() {
            return scout;
        }
        self.wanted.send_replace(());
        self.scout.lock().await
    }

    /// The same; `None` if another call may have it for long.
    pub(super) async fn scout_unless_busy(&self) -> Option<MutexGuard<'_, Scout>> {
        match self.scout.try_lock() {
            Ok(scout) => Some(scout),
            Err(_) if self.wanted.receiver_count() == 0 => None,
            Err(_) => Some(self.scout().await),
        }
    }

    /// Nobody looks for items any more. The call that has the scout now will say so, too.
    pub(super) fn leave(&self, session: &Arc<Session>, may_come_again: bool) {
        // First: whoever finds it locked says that it is wanted, and is heard.
        let wanted = self.wanted.subscribe();
        let Ok(mut scout) = self.scout.clone().try_lock_owned() else { return };
        if may_come_again && scout.is_worth_keeping() && !session.is_closing() {
            let clock = session.clock().clone();
            clock.spawn(Box::pin(keep(scout, wanted, session.clone())));
        } else {
            *scout = Scout::default();
        }
    }
}

async fn keep(mut scout: OwnedMutexGuard<Scout>, mut wanted: watch::Receiver<()>, session: Arc<Session>) {
    tokio::select! {
        biased;
        // The handles may be gone, too.
        changed = wanted.changed() => if changed.is_ok() { return },
        () = scout.until_in_the_way(&session) => {}
        () = session.clock().sleep_until(session.now() + KEPT) => {}
        () = session.until_closing() => {}
    }
    *scout = Scout::default();
}
