//! What an epoch does in the background so that nothing is left behind: deletions, until they are confirmed or the session
//! has ended and taken the nodes with it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::oneshot;

use super::Epoch;
use crate::path;
use crate::session::clock::Later;
use crate::session::wire::{Flight, WireError};

/// Between two attempts of a chore. A request made while there is no connection waits for one by itself.
const PAUSE: Duration = Duration::from_millis(50);
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

impl Epoch {
    /// Deletes `node` until that is confirmed or the session has ended; the answer resolves then, and need not be
    /// waited for.
    pub(crate) fn delete_in_background(self: &Arc<Self>, node: String) -> Later<()> {
        let first = self.delete(&node, None);
        self.delete_until_confirmed(node, first)
    }

    /// The same for a node whose deletion was sent already.
    pub(crate) fn delete_until_confirmed(self: &Arc<Self>, node: String, first: Flight<()>) -> Later<()> {
        let epoch = self.clone();
        self.chore(async move {
            let mut attempt = first;
            let mut pause = PAUSE;
            loop {
                match attempt.await {
                    Ok(()) | Err(WireError::NoNode) => return,
                    // Nobody will let us; the node goes with the session.
                    Err(WireError::NoAuth) => return,
                    Err(_) if epoch.has_ended() => return,
                    Err(_) => {}
                }
                epoch.clock.sleep_until(epoch.clock.now() + pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
                attempt = epoch.delete(&node, None);
            }
        })
    }

    /// Finds the node that carries `guid` in its name and deletes it: for a create whose answer never came. The `sync`
    /// and the list leave behind that create on the same session, so they cannot miss it.
    pub(crate) fn delete_by_guid_in_background(self: &Arc<Self>, parent: String, guid: String) -> Later<()> {
        let epoch = self.clone();
        let mut flights = (self.sync(&parent), self.children(&parent));
        self.chore(async move {
            let mut pause = PAUSE;
            loop {
                match (flights.0.await, flights.1.await) {
                    (Ok(()), Ok(names)) => {
                        for name in names.iter().filter(|name| name.contains(&guid)) {
                            epoch.delete_in_background(path::join(&parent, name)).await;
                        }
                        return;
                    }
                    (_, Err(WireError::NoNode | WireError::NoAuth)) => return,
                    _ if epoch.has_ended() => return,
                    _ => {}
                }
                epoch.clock.sleep_until(epoch.clock.now() + pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
                flights = (epoch.sync(&parent), epoch.children(&parent));
            }
        })
    }

    fn chore(self: &Arc<Self>, work: impl Future<Output = ()> + Send + 'static) -> Later<()> {
        self.chores.fetch_add(1, Ordering::AcqRel);
        let epoch = self.clone();
        let (done, is_done) = oneshot::channel();
        self.clock.spawn(Box::pin(async move {
            work.await;
            let _ = done.send(());
            if epoch.chores.fetch_sub(1, Ordering::AcqRel) == 1 {
                epoch.chore_done.notify_waiters();
            }
        }));
        Box::pin(async move {
            let _ = is_done.await;
        })
    }

    /// Resolves when no chore is left.
    pub(crate) async fn until_tidy(&self) {
        loop {
            let mut done = std::pin::pin!(self.chore_done.notified());
            done.as_mut().enable();
            if self.chores.load(Ordering::Acquire) == 0 || self.has_ended() {
                return;
            }
            let link = self.link();
            tokio::select! {
                biased;
                () = done => {}
                () = self.link_changed(link) => {}
            }
        }
    }
}
