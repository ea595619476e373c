//! What happens to our own nodes: somebody asks us to let go, or deletes them.

use std::sync::{Arc, Mutex, Weak};

use super::{Hold, OneTimeCallback, RevokeCallback, Share, Tenure};
use crate::error::LostReason;
use crate::log;
use crate::mutex::lock;
use crate::options::RetryOptions;
use crate::session::Session;
use crate::session::clock::Clock;
use crate::session::delivery::{Live, Subscription};
use crate::session::growing_pause::GrowingPause;
use crate::session::server_session::{ServerSession, Tenant};
use crate::session::wire::{Event, Flight, Stat, Watch, WireError};
use crate::turn::place::Node;
use crate::turn::revocation::is_request;

impl Hold {
    // ---- being asked for it

    /// Calls back once when somebody asks us to let go, at once if that has happened, never after the release of `share`.
    pub(crate) fn on_revoke(
        self: &Arc<Self>,
        share: &Arc<Share>,
        callback: impl FnOnce() + Send + 'static,
    ) -> Subscription {
        let live = Live::default();
        let callback = live.guard(move |()| callback());
        let callback: RevokeCallback = Box::new(move || callback(()));
        let mut inner = lock(&self.inner);
        if share.is_let_go() || self.tenure() != Tenure::Held {
            return Subscription::nothing();
        }
        if inner.is_revoked {
            drop(inner);
            self.session.delivery.notice(callback);
            return Subscription::new(live, || {});
        }
        let id = inner.next_callback;
        inner.next_callback += 1;
        inner.on_revoke.push(OneTimeCallback { id, share: share.clone(), callback });
        drop(inner);
        self.watch_own_node();
        let hold = Arc::downgrade(self);
        Subscription::new(live, move || {
            if let Some(hold) = hold.upgrade() {
                let mut inner = lock(&hold.inner);
                let at = inner.on_revoke.iter().position(|other| other.id == id);
                let callback = at.map(|at| inner.on_revoke.swap_remove(at));
                drop(inner);
                drop(callback);
            }
        })
    }

    /// Whether it is known that somebody has.
    pub(crate) fn is_revoked(&self) -> bool {
        lock(&self.inner).is_revoked
    }

    /// Resolves when somebody has asked for it. Nobody's callback holds that up.
    pub(crate) async fn asked_for(self: &Arc<Self>) {
        self.watch_own_node();
        let mut revoked = self.revoked.subscribe();
        // The sender lives in `self`, so this cannot fail.
        drop(revoked.wait_for(|revoked| *revoked).await);
    }

    /// Its owner is to let go, as if somebody else had asked: once.
    pub(crate) fn ask_for_it(&self) {
        if self.tenure() == Tenure::Held && !self.is_revoked() {
            self.revoked();
        }
    }

    /// It was asked for, and its owner has not let go in time: it is lost, and our nodes go.
    pub(crate) fn take_away(self: &Arc<Self>) {
        if self.lose(LostReason::Revoked) {
            for node in &self.nodes {
                let guard = self.guard.as_deref().cloned();
                drop(self.server_session.delete_guarded_in_background(node.path.clone(), node.czxid, guard));
            }
        }
    }

    fn revoked(&self) {
        let mut inner = lock(&self.inner);
        // Whoever asks may do so twice, and is heard twice by a holder that says again who it is.
        let is_first = !std::mem::replace(&mut inner.is_revocation_told, true);
        if is_first {
            // Before anybody hears of it, who may look.
            self.session.counters.revocations.one();
            log::revocation(&self.path, &self.node().path);
        }
        self.revoked.send_replace(true);
        inner.is_revoked = true;
        let callbacks = std::mem::take(&mut inner.on_revoke);
        drop(inner);
        for OneTimeCallback { callback, .. } in callbacks {
            self.session.delivery.notice(callback);
        }
    }

    /// Why a node of ours is gone: somebody who asked for it first has revoked it by force.
    pub(super) fn deletion_reason(&self) -> LostReason {
        if lock(&self.inner).is_revoked { LostReason::Revoked } else { LostReason::Deleted }
    }

    // ---- watching our own nodes

    /// Somebody wants to hear of a loss or of a request to let go, so make sure that we do. Who never asks saves the read.
    pub(super) fn watch_own_node(self: &Arc<Self>) {
        let is_watching = std::mem::replace(&mut lock(&self.inner).watches_own_nodes, true);
        if !is_watching && self.tenure() == Tenure::Held {
            let says = self.says.clone();
            let start =
                |node: &Node| Follower::start(&self.session, &self.server_session, node, None, says.clone());
            self.heed(self.nodes.iter().map(start).collect());
        }
    }

    /// Hears from now on what `followers` hear, and what they have heard already.
    pub(super) fn heed(self: &Arc<Self>, followers: Vec<Arc<Follower>>) {
        lock(&self.inner).followers = followers.clone();
        followers.iter().for_each(|follower| follower.tell(self));
    }
}

/// Hears what happens to one node of ours for as long as it stands, and tells those who hold through it: one after the
/// other, where the turn is passed on. A watch cannot be taken back for nothing, so each holder's own would stay.
pub(crate) struct Follower(Mutex<Heard>);

#[derive(Default)]
struct Heard {
    hold: Weak<Hold>,
    is_asked: bool,
    end: Option<LostReason>,
}

impl Follower {
    /// With the watch that was `armed` before, or a new one.
    pub(crate) fn start(
        session: &Arc<Session>,
        server_session: &Arc<ServerSession>,
        node: &Node,
        armed: Option<Watch>,
        says: Arc<[u8]>,
    ) -> Arc<Follower> {
        let follower = Arc::new(Follower(Mutex::default()));
        // Sent here and not in the task, so that the watch is armed before anything the caller does next.
        let first = armed.ok_or_else(|| server_session.watch_data(&node.path));
        let (clock, retry) = (session.clock().clone(), session.options().retry.clone());
        let following =
            follower.clone().follow(clock, retry, server_session.clone(), node.clone(), says, first);
        session.clock().spawn(Box::pin(following));
        follower
    }

    /// Whether the node is known to be gone.
    pub(crate) fn has_ended(&self) -> bool {
        lock(&self.0).end.is_some()
    }

    /// `hold` hears from now on, also of what was heard before.
    fn tell(&self, hold: &Arc<Hold>) {
        let mut heard = lock(&self.0);
        heard.hold = Arc::downgrade(hold);
        let (is_asked, end) = (heard.is_asked, heard.end);
        drop(heard);
        if is_asked {
            hold.revoked();
        }
        if let Some(reason) = end {
            hold.lose(reason);
        }
    }

    fn is_asked(&self) {
        let mut heard = lock(&self.0);
        heard.is_asked = true;
        let hold = heard.hold.upgrade();
        drop(heard);
        if let Some(hold) = hold {
            hold.revoked();
        }
    }

    fn ends(&self, reason: LostReason) {
        let mut heard = lock(&self.0);
        heard.end = Some(reason);
        let hold = heard.hold.upgrade();
        drop(heard);
        if let Some(hold) = hold {
            hold.lose(reason);
        }
    }

    async fn follow(
        self: Arc<Self>,
        clock: Arc<dyn Clock>,
        retry: RetryOptions,
        server_session: Arc<ServerSession>,
        node: Node,
        says: Arc<[u8]>,
        first: Result<Watch, Flight<(Vec<u8>, Stat, Watch)>>,
    ) {
        let Node { path: node, czxid, .. } = node;
        let pause = || GrowingPause::new(retry.base, retry.max);
        let mut next = first;
        let mut is_changed = false;
        // At which version the node said that somebody asks. What is read a second time is no second request.
        let mut asked_at = None;
        let mut between = pause();
        loop {
            let (event, asked, request) = match next {
                Ok(watch) => (Some(watch), false, None),
                Err(flight) => match flight.await {
                    // Claims have the names of their items: while nobody heard, ours went, and this is the next one's.
                    Ok((_, stat, _)) if czxid > 0 && stat.czxid > czxid => (None, false, None),
                    Ok((data, stat, watch)) => {
                        let request = is_request(&data).then_some(stat);
                        let version = request.map(|stat| stat.version);
                        let is_new = version.is_some() && asked_at != version;
                        asked_at = version.or(asked_at);
                        (Some(watch), is_new, request)
                    }
                    // Only a request to let go changes the node, or we do after one. The one who asked did not wait until
                    // we could read it.
                    Err(WireError::NoNode) => (None, is_changed && asked_at.is_none(), None),
                    Err(WireError::ConnectionLoss) => {
                        // A server that has too much to do answers at once, and is to be left alone for a while.
                        between.pass(&clock).await;
                        server_session.until_up().await;
                        next = Err(server_session.watch_data(&node));
                        continue;
                    }
                    // The heartbeat and the lease still tell.
                    Err(_) => return,
                },
            };
            between = pause();
            if asked {
                self.is_asked();
            }
            // The request stands where others read who holds. It has been heard: that is written there again, unless somebody
            // has asked once more meanwhile.
            if let Some(stat) =
                request.filter(|stat| stat.ephemeral_owner as u64 == server_session.session_id())
                && let Err(WireError::ConnectionLoss) =
                    server_session.set_data(&node, &says, Some(stat.version)).await
            {
                between.pass(&clock).await;
                server_session.until_up().await;
                next = Err(server_session.watch_data(&node));
                continue;
            }
            let event = match event {
                Some(watch) => watch.await,
                None => Event::Deleted,
            };
            match event {
                Event::Deleted => return self.ends(LostReason::Deleted),
                Event::SessionEnded => return self.ends(LostReason::Session),
                event => is_changed = event == Event::DataChanged,
            }
            next = Err(server_session.watch_data(&node));
        }
    }
}
