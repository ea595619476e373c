//! What is held: a node of ours that has its turn, until it is let go or lost.
//!
//! `is_held` compares the clock with the lease and never guesses; loss is sticky even if the session turns out to have
//! survived, and the node is then deleted. Losses are told once, by the alarm of the lease, by the watch on our own
//! node, or by the heartbeat, whichever comes first.

pub(crate) mod finishing;
mod guarded;
mod letting_go;
mod losing;
pub(crate) mod own_nodes;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tokio::sync::watch;

use finishing::{Finishing, InDoubt};
pub(crate) use guarded::EndGuard;
use guarded::GuardedWrites;

use super::grant::{Grant, OwnNodeWatch, checks_of};
use super::local_handoff::HandoffGuard;
use super::place::Node;
use super::session_line::Position;
use crate::error::{Error, LostReason, Result};
use crate::log::{self, Tenancy};
use crate::mutex::lock;
use crate::session::Session;
use crate::session::clock::Moment;
use crate::session::refusal::refusal;
use crate::session::server_session::{ConnectionId, Interest, ServerSession, Tenant};
use crate::session::wire::{WireError, Write};
use own_nodes::Follower;

/// How a hold stands. Once it is not `Held` any more it never is again.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tenure {
    Held,
    Released,
    Lost(LostReason),
}

type LossCallback = Box<dyn FnOnce(Error) + Send>;
type RevokeCallback = Box<dyn FnOnce() + Send>;

/// What one owner of a hold has of it. What the owner asked to be told of ends when it lets go, and the hold may go on.
#[derive(Default)]
pub(crate) struct Share {
    /// Before any loss; changed under the lock of the callbacks.
    is_let_go: AtomicBool,
}

impl Share {
    fn is_let_go(&self) -> bool {
        self.is_let_go.load(Ordering::Acquire)
    }
}

/// A callback, and whose it is.
struct OneTimeCallback<C> {
    id: u64,
    share: Arc<Share>,
    callback: C,
}

/// One acquisition: a node of ours, or several that are held together.
pub(crate) struct Hold {
    session: Arc<Session>,
    server_session: Arc<ServerSession>,
    /// The path of the recipe.
    path: String,
    nodes: Vec<Node>,
    /// What they say to others.
    says: Arc<[u8]>,
    /// A condition of their deletion: see [`Grant::guard`].
    guard: Option<Box<Write>>,
    /// See [`Grant::is_claim`].
    is_claim: bool,
    /// Whether anybody may know our node by name, and asks whether it stands to know whether this is held.
    is_named: AtomicBool,
    /// How many let it go one by one: the nested acquisitions of a reentrant handle.
    owners: AtomicUsize,
    began: Moment,
    /// The connection on which it was won: on a later one its names may be others'.
    began_on: Option<ConnectionId>,
    /// That of the acquire, until the end, which is said in it.
    span: Mutex<tracing::Span>,
    /// How often the turn was passed on in memory before it came here.
    passes: u32,
    writes: Arc<GuardedWrites>,
    finishing: Finishing,
    tenure: watch::Sender<Tenure>,
    /// Whether somebody has asked us to let go.
    revoked: watch::Sender<bool>,
    inner: Mutex<HoldInner>,
}

struct HoldInner {
    /// Dropped at the end: the heartbeat stops asking for our nodes.
    interests: Vec<Interest>,
    /// Passed on or dropped at the end: then the next one of this client that waits for it has it.
    handoff: Option<HandoffGuard>,
    /// Dropped at the end: who stands behind us in the line of the session looks then.
    positions: Vec<Position>,
    /// Dropped at the end, whatever it is: what the owner keeps locked meanwhile.
    keeps: Option<Box<dyn Send>>,
    on_lost: Vec<OneTimeCallback<LossCallback>>,
    on_revoke: Vec<OneTimeCallback<RevokeCallback>>,
    next_callback: u64,
    watches_own_nodes: bool,
    /// Those who watch our nodes, as far as anybody does.
    followers: Vec<Arc<Follower>>,
    /// Somebody has asked us to let go.
    is_revoked: bool,
    /// The log and the metrics have it.
    is_revocation_told: bool,
    /// Ends of which nobody knows whether they were applied; one for all that write the same.
    in_doubt: Vec<InDoubt>,
}

impl Hold {
    /// What was won is held from now on; `keeps` is dropped when that ends.
    pub(crate) fn begin(
        session: Arc<Session>,
        path: &str,
        mut grant: Grant,
        keeps: Option<Box<dyn Send>>,
    ) -> Arc<Hold> {
        let (server_session, is_watched, is_revoked) =
            (grant.server_session.clone(), grant.is_watched, grant.is_revoked);
        // From here on their deletion is our business.
        let nodes = std::mem::take(&mut grant.nodes);
        let (interests, handoff) = (std::mem::take(&mut grant.interests), grant.handoff.take());
        let positions = std::mem::take(&mut grant.positions);
        let passes = handoff.as_ref().map_or(0, HandoffGuard::passes);
        let says = grant.says.take().unwrap_or_else(|| session.identity().as_bytes().into());
        let is_followed = grant.own.len() == nodes.len();
        let own = grant.own.drain(..).filter(|_| is_followed);
        let followers = nodes.iter().zip(own).map(|(node, own)| match own {
            // Who was asked while it waited reads that again, and then says again who it is.
            OwnNodeWatch::Armed(watch) => {
                let armed = Some(watch).filter(|_| !is_revoked);
                Follower::start(&session, &server_session, node, armed, says.clone())
            }
            OwnNodeWatch::Followed(follower) => follower,
        });
        let followers: Vec<_> = followers.collect();
        session.counters.holding.rise();
        let hold = Arc::new(Hold {
            began: session.now(),
            began_on: server_session.connection(),
            span: Mutex::new(tracing::Span::current()),
            session,
            server_session,
            path: path.to_owned(),
            nodes,
            says,
            guard: grant.guard.take(),
            is_claim: grant.is_claim,
            is_named: AtomicBool::new(false),
            owners: AtomicUsize::new(1),
            passes,
            writes: Arc::default(),
            finishing: Finishing::default(),
            tenure: watch::Sender::new(Tenure::Held),
            revoked: watch::Sender::new(is_revoked),
            inner: Mutex::new(HoldInner {
                interests: Vec::new(),
                handoff,
                positions: Vec::new(),
                keeps,
                on_lost: Vec::new(),
                on_revoke: Vec::new(),
                next_callback: 0,
                watches_own_nodes: is_followed,
                followers: Vec::new(),
                is_revoked,
                is_revocation_told: false,
                in_doubt: Vec::new(),
            }),
        });
        let tenant: Weak<dyn Tenant> = Arc::downgrade(&hold) as Weak<dyn Tenant>;
        // They are kept before the loss is admitted: the one that is told of the loss drops them, and must find them.
        let mut inner = lock(&hold.inner);
        inner.interests = interests;
        let stands = inner.interests.iter().filter(|interest| !interest.admit(tenant.clone())).count() == 0;
        let is_doubtful = positions.iter().filter(|position| position.is_held_by(tenant.clone())).count() > 0;
        inner.positions = positions;
        drop(inner);
        if is_followed {
            hold.heed(followers);
        } else if is_watched || is_doubtful {
            hold.watch_own_node();
        }
        if !stands {
            hold.lose(LostReason::Deleted);
        }
        hold
    }

    pub(crate) fn session(&self) -> &Arc<Session> {
        &self.session
    }

    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// The node that stands for the acquisition: the first of several.
    pub(crate) fn node(&self) -> &Node {
        &self.nodes[0]
    }

    pub(crate) fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// Somebody is told the name of our node, and may ask whether it stands. So the turn is not passed on before it is gone.
    pub(crate) fn is_named(&self) {
        self.is_named.store(true, Ordering::Release);
    }

    pub(crate) fn passes(&self) -> u32 {
        self.passes
    }

    pub(crate) fn server_session(&self) -> &Arc<ServerSession> {
        &self.server_session
    }

    pub(crate) fn tenure(&self) -> Tenure {
        *self.tenure.borrow()
    }

    /// Certain, or false.
    pub(crate) fn is_held(&self) -> bool {
        if self.tenure() != Tenure::Held {
            return false;
        }
        if self.server_session.is_certain() {
            return true;
        }
        self.lose(LostReason::Session);
        false
    }

    /// One more owner, unless it is being let go just now.
    pub(crate) fn share(&self) -> bool {
        let one_more = |owners: usize| (owners > 0).then_some(owners + 1);
        let is_open = self.owners.fetch_update(Ordering::AcqRel, Ordering::Acquire, one_more).is_ok();
        let is_shared = is_open && self.is_held();
        if is_open && !is_shared {
            self.owners.fetch_sub(1, Ordering::AcqRel);
        }
        is_shared
    }

    /// The error for using what is not held, with the reason if it was lost.
    pub(crate) fn not_held(&self) -> Error {
        let Tenure::Lost(reason) = self.tenure() else { return self.released_before() };
        let why = format!("it was lost before ({})", reason.name());
        let error = if self.is_claim { Error::not_claimed(&why) } else { Error::not_held(&why) };
        error.with_reason(reason).with_path(&self.path)
    }

    /// The same for what its owner has given back.
    pub(crate) fn released_before(&self) -> Error {
        let error = match self.is_claim {
            true => Error::not_claimed("it was settled before"),
            false => Error::not_held("it was released before"),
        };
        error.with_path(&self.path)
    }

    pub(crate) fn lost_error(&self, reason: LostReason) -> Error {
        Error::lost(reason).with_path(&self.path)
    }

    /// Changes `Held` to `end` once; answers whether this call did.
    fn change(&self, end: Tenure) -> bool {
        self.tenure.send_if_modified(|tenure| {
            let first = *tenure == Tenure::Held;
            if first {
                // Before anybody hears of it, who may look.
                self.count(end);
                *tenure = end;
            }
            first
        }) && {
            self.log(end);
            true
        }
    }

    fn held_for(&self) -> Duration {
        self.session.now().since(self.began)
    }

    fn count(&self, end: Tenure) {
        let counters = &self.session.counters;
        counters.holding.fall();
        let times = if self.is_claim { &counters.work } else { &counters.holds };
        times.record(self.held_for());
        if let Tenure::Lost(reason) = end {
            counters.losses.one(reason);
            if reason == LostReason::Session {
                let margin = self.server_session.certain_until().since(self.session.now());
                counters.lease_margin_min.meet(margin);
            }
        }
    }

    fn log(&self, end: Tenure) {
        // It ends here, however long the owner keeps what was held.
        let span = std::mem::replace(&mut *lock(&self.span), tracing::Span::none());
        let entered = span.enter();
        match end {
            Tenure::Lost(reason) => log::lost(self.tenancy(), reason, self.held_for()),
            _ => log::released(|| self.tenancy(), self.held_for()),
        }
        drop(entered);
        log::ended(span);
    }

    /// What is held, for the log.
    pub(crate) fn tenancy(&self) -> Tenancy {
        let node = self.node();
        Tenancy { path: self.path.clone(), node: node.path.clone(), token: node.token() as u64 }
    }

    /// Keeps this as well until it ends.
    pub(crate) fn keep(&self, more: Box<dyn Send>) {
        let mut inner = lock(&self.inner);
        if self.tenure() == Tenure::Held {
            let before = inner.keeps.take();
            inner.keeps = Some(Box::new((before, more)));
        }
    }

    /// Drops what was kept while it lasted; answers who wanted to hear of a loss.
    fn take_loss_callbacks(&self) -> Vec<OneTimeCallback<LossCallback>> {
        let mut inner = lock(&self.inner);
        let asked = std::mem::take(&mut inner.on_revoke);
        let positions = std::mem::take(&mut inner.positions);
        let ended =
            (std::mem::take(&mut inner.interests), inner.handoff.take(), inner.keeps.take(), positions);
        let callbacks = std::mem::take(&mut inner.on_lost);
        drop(inner);
        drop((asked, ended));
        callbacks
    }

    /// The condition that all our nodes stand, as the first parts of a transaction.
    pub(crate) fn checks(&self) -> Vec<Write> {
        checks_of(&self.nodes, self.guard.as_deref())
    }

    /// The same by their names alone, for a transaction that says itself what guards them.
    pub(crate) fn checks_by_name(&self) -> Vec<Write> {
        checks_of(&self.nodes, None)
    }

    // ---- asking and writing

    /// Asks the quorum whether our node still stands.
    pub(crate) async fn verify(self: &Arc<Self>) -> Result<()> {
        let mut call = self.session.call(None).reading();
        loop {
            if !self.is_held() {
                return Err(self.not_held());
            }
            let check = self.server_session.check(self.checks());
            match call.receive("verify", check).await.map_err(|error| error.with_path(&self.path))? {
                Ok(_) => {}
                Err(WireError::Part { error, .. }) if error.is_anothers() => {
                    if !self.lose(LostReason::Deleted) {
                        // By an end that is under way, perhaps: it stands no more in any case.
                        return Err(self.not_held());
                    }
                }
                Err(WireError::SessionEnded) => {
                    self.lose(LostReason::Session);
                }
                Err(WireError::ConnectionLoss) => {
                    call.retry_after_loss("verify").await.map_err(|error| error.with_path(&self.path))?;
                    continue;
                }
                Err(error) => return Err(refusal(error, "verify", &self.path)),
            }
            return if self.is_held() { Ok(()) } else { Err(self.not_held()) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Client;
    use crate::turn::name::ContenderName;

    #[test]
    fn a_node_that_was_found_gone_before_anybody_held_it_is_lost_at_once() {
        let client = Client::connect("embedded:", Default::default());
        let client = crate::drive::wait(client, None, None).expect("a server in this process");
        let session = client.session().expect("open");
        let server_session = session.server_session();
        let entry = ContenderName::recognise("x-lock-0000000001").expect("a contender");
        let node = Node::of("/locks/none/x-lock-0000000001".to_owned(), entry, 1);
        let interest = server_session.interest(&node.path);
        // As the heartbeat does.
        server_session.lock_interests().clear();
        let grant = Grant::of(server_session, vec![node], vec![interest]);
        let hold = Hold::begin(session, "/locks/none", grant, None);
        assert!(matches!(hold.tenure(), Tenure::Lost(_)), "{:?}", hold.tenure());
    }
}
