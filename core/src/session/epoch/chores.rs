//! What an epoch does in the background so that nothing is left behind: deletions, until they are confirmed or the session
//! has ended and taken the nodes with it.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use tokio::sync::oneshot;

use super::Epoch;
use crate::path;
use crate::session::clock::Later;
use crate::session::pause::Pause;
use crate::session::wire::{Flight, WireError};

/// Between two attempts of a chore. A request made while there is no connection waits for one by itself.
fn pause() -> Pause {
    Pause::new(Duration::from_millis(50), Duration::from_secs(2))
}

impl Epoch {
    /// Deletes `node` until that is confirmed or the session has ended; the answer resolves then, and need not be
    /// waited for. `czxid` tells it from the next one of its name, and is 0 where no name is used again.
    pub(crate) fn delete_in_background(self: &Arc<Self>, node: String, czxid: i64) -> Later<()> {
        let first = self.delete(&node, None);
        self.delete_until_confirmed(node, czxid, first)
    }

    /// The same for a node whose deletion was sent already.
    pub(crate) fn delete_until_confirmed(
        self: &Arc<Self>,
        node: String,
        czxid: i64,
        first: Flight<()>,
    ) -> Later<()> {
        let epoch = self.clone();
        self.chore(async move {
            let mut attempt = first;
            let mut pause = pause();
            loop {
                match attempt.await {
                    Ok(()) | Err(WireError::NoNode) => return,
                    // Nobody will let us; the node goes with the session.
                    Err(WireError::NoAuth) => return,
                    Err(_) if epoch.has_ended() => return,
                    Err(_) => {}
                }
                pause.pass(&epoch.clock).await;
                attempt = epoch.delete_again(&node, czxid);
            }
        })
    }

    /// One more attempt after a lost answer. The deletion may have been applied, and the name be that of another node of
    /// this client since: that one is not touched.
    pub(crate) fn delete_again(self: &Arc<Self>, node: &str, czxid: i64) -> Flight<()> {
        if czxid <= 0 {
            return self.delete(node, None);
        }
        let (settled, found) = (self.settle(path::parent(node)), self.exists(node));
        let (epoch, node) = (self.clone(), node.to_owned());
        Box::pin(async move {
            settled.await?;
            match found.await? {
                Some(stat) if stat.czxid == czxid => epoch.delete(&node, None).await,
                _ => Err(WireError::NoNode),
            }
        })
    }

    /// Finds the nodes of this session that carry `guid` in their name and deletes them: for a create whose answer never came. What goes
    /// ahead of the list is decided by the quorum, and that create before it, so the list cannot miss it.
    pub(crate) fn delete_by_guid_in_background(self: &Arc<Self>, parent: String, guid: String) -> Later<()> {
        let epoch = self.clone();
        let mut flights = (self.settle(&parent), self.look_for_own(&parent));
        self.chore(async move {
            let mut pause = pause();
            loop {
                match (flights.0.await, flights.1.await) {
                    (Ok(()), Ok(names)) => {
                        for name in names.iter().filter(|name| name.contains(&guid)) {
                            epoch.delete_in_background(path::join(&parent, name), 0).await;
                        }
                        return;
                    }
                    (Err(WireError::NoNode | WireError::NoAuth), _) | (_, Err(WireError::NoAuth)) => return,
                    _ if epoch.has_ended() => return,
                    _ => {}
                }
                pause.pass(&epoch.clock).await;
                flights = (epoch.settle(&parent), epoch.look_for_own(&parent));
            }
        })
    }

    /// Deletes `node` if it is this session's and says what we wrote: for a create whose answer never came, of a name that
    /// others use, too.
    pub(crate) fn delete_own_in_background(self: &Arc<Self>, node: String, said: Vec<u8>) -> Later<()> {
        let epoch = self.clone();
        let mut flights = (self.settle(path::parent(&node)), self.get_data(&node));
        self.chore(async move {
            let mut pause = pause();
            loop {
                match (flights.0.await, flights.1.await) {
                    (Ok(()), Ok((data, stat))) => {
                        if data == said && stat.ephemeral_owner as u64 == epoch.session_id() {
                            epoch.delete_in_background(node, stat.czxid).await;
                        }
                        return;
                    }
                    (Err(WireError::NoNode | WireError::NoAuth), _) => return,
                    (Ok(()), Err(WireError::NoNode | WireError::NoAuth)) => return,
                    _ if epoch.has_ended() => return,
                    _ => {}
                }
                pause.pass(&epoch.clock).await;
                flights = (epoch.settle(path::parent(&node)), epoch.get_data(&node));
            }
        })
    }

    /// Work that nobody need wait for, and that closing waits for; it should end when the session has.
    pub(crate) fn chore(self: &Arc<Self>, work: impl Future<Output = ()> + Send + 'static) -> Later<()> {
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
