//! A double barrier: a fixed number of members enter together and leave together, round after round.
//!
//! # Nodes
//!
//! ```text
//! /barriers/step               the number of parties: a container, or persistent where the naming is not `curator`;
//!                              the first member creates it, and no client deletes it
//!     GUID-of-3-0000000007     a member that waits for 3 parties, or is inside: ephemeral; the member creates it, and
//!                              deletes it when it leaves or gives up
//!     ready                    while a round is on: the numbers of its members' nodes, the czxid of the barrier's node
//!                              that gave them, and the anchor; persistent: a member creates it, and the anchor deletes
//!                              it as a rule
//! ```
//!
//! The anchor is the member that leaves last: the one whose node has the lowest name of the round, compared as text. As
//! a name begins with the GUID, that may be any of the members. The peers let the same one leave last.
//!
//! # Steps
//!
//! 1. Entering is one transaction: it creates the member's node, and sets the barrier's node, whose version changes
//!    (see 6). The answer to the set says how many children there were at that moment. So the last of those who are
//!    needed knows that it is the last ([`entering`]). While `ready` stands it counts, too, but then nobody declares.
//! 2. The last one lists the members, and declares the round in one transaction: that checks that the node of each
//!    member stands, creates `ready`, and sets the barrier's node twice (see 8). If one of them has just died, the transaction is
//!    refused; then the last one lists again, and waits as the others do if they are too few. The next one to come then
//!    is the last. If more come at the same time than are needed, those with the lowest numbers are in the round; each
//!    further one tries to declare it, too, and only one of them creates `ready`.
//! 3. Every other member has a watch on `ready`, and reads it when it is created. If its number is there, it has
//!    entered, and watches for the end of `ready`. `ready` stands until the round is over, so that a slow member cannot
//!    miss it.
//! 4. A member that is not in that round has come too late: it deletes its node as in 6, waits until the round is over, and
//!    enters anew with a new node. So in the next round, too, one member is the last to create its node. If the next round
//!    was declared with its node meanwhile, it has entered that one.
//! 5. Leaving deletes the member's node. The anchor keeps its own until the nodes of all other members have gone, and
//!    then deletes both it and `ready` in one transaction. The end of `ready` tells all others that the round is over:
//!    one wake-up for each ([`leaving`]).
//! 6. A member whose time is over looks whether there is a round with it, and which version the barrier's node has. If
//!    there is such a round, the others have been let in with it: it has entered, and `enter` answers that. If not, one
//!    transaction checks that the barrier's node still has that version, and deletes the member's node. Each entering
//!    and each declaration changes it: then the transaction is refused, and the member looks again ([`giving_up`]).
//! 7. An `enter` that is dropped deletes its node in the background without that look: a round that is declared before
//!    the node is gone has a member too few. A member whose `leave` is dropped, or runs out of time, has left all the
//!    same. If it is the anchor, the transaction that deletes its node also sets `ready`. That wakes all who wait for
//!    the end of `ready`. From then on each of them waits until the nodes of the others have gone, and one of them
//!    deletes `ready`.
//!
//! 8. A member whose session ends while it waits has a node that counts for as long as the server keeps that session. So
//!    before it comes again with the next session, it looks whether a round was declared with that node. If so, and the
//!    node stands, it puts one of its new session with the same number in its place: it has entered, and the others wait for
//!    it before they leave. If the node is gone, `enter` is Lost ([`coming_back`]). If its time is over meanwhile, that is its last
//!    look, too.
//!
//! All must say the same number of parties. If members stand who said another number, and came before, `enter` is a
//! Mismatch. The number stands as long as one of their nodes does; then the next member sets its own ([`agreement`]).
//!
//! # Who may be killed where
//!
//! The node of a member that is killed goes when its session ends, and counts until then.
//!
//! - A member that waits, or the last one before it has declared: it is not counted any more, and the others wait for
//!   one more.
//! - A member inside: it counts as one that has left.
//! - The anchor: `ready` still stands when all have left. So a member that has left waits for the end of `ready` only
//!   for a while, and from then on for the end of the anchor's node, by a watch. That while is 50 ms for the one with
//!   the highest number of the others, and half a second for each other one. Whoever then finds that all nodes of the
//!   round have gone deletes `ready`, in a transaction that checks that the barrier's node has not changed since: if
//!   somebody has entered, it looks again.
//! - All members of a round: whoever comes next finds that it is late, and deletes `ready` as above.
//!
//! # What a lost answer means
//!
//! - Of the creation of a node: a quorum write that changes nothing is sent, in the same session; when it is answered,
//!   the creation has been decided. Then the member looks for its GUID in a list. If the session has ended, it looks for
//!   that in the next one. A node that is not there then may have been counted, unseen: that alone is not found out.
//! - Of a declaration: it is sent again; the second one finds `ready`, which says whether we are in. The round cannot
//!   be over by then, since it lasts as long as our node stands.
//! - Of a node that takes the place of one of an old session: the member looks again, for its number. Each has a name of
//!   its own, so that a transaction that comes late finds nothing to replace.
//! - Of the deletion of a node: it is sent again, and if it is missing then, it was deleted. A handle that enters again
//!   first deletes what it may have left.
//!
//! # What is bounded, and what is cleaned up
//!
//! At most 5,000 parties, and as many as one transaction can check. Nothing stays but the barrier's node, which the
//! server deletes if it is a container, when it has been empty for a while.
//!
//! # Beside others
//!
//! The peers are members by Curator's `DistributedDoubleBarrier` or kazoo's `DoubleBarrier`: the layout is theirs.
//! Their names say no number: they are counted and waited for as any child is, belong to each round, and `ready` does
//! not list them. They enter whenever there is a `ready`; a round that one of them declares is for all nodes that are
//! older than its `ready` ([`layout`]). kazoo's members delete `ready` when the first of them leaves. So where the
//! naming is `kazoo`, the end of `ready` is not the end of the round: we wait for the nodes of the members instead. And
//! after a lost answer a declarer may find no `ready`. So a declaration also sets the declarer's own node, whose
//! version then tells that the declaration was applied.

mod agreement;
mod coming_back;
mod entering;
mod giving_up;
mod layout;
mod leaving;
mod place;

use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use self::agreement::{BarrierHandle, KnownParties};
use self::entering::ENTERING;
use self::layout::Round;
use self::leaving::LEAVING;
use self::place::{ENTER, Inside};
use super::wait_progress::{AwaitedContenders, Listeners, WaitProgress, telling};
use crate::client::Client;
use crate::error::{Error, ErrorKind, Result};
use crate::mutex::lock;
use crate::path;
use crate::session::call::Call;
use crate::session::clock::Later;
use crate::session::delivery::Subscription;
use crate::session::registration::not_declared;

impl Client {
    /// A handle on the double barrier at `path` for so many parties. Does no I/O. Others see the member by its `name`,
    /// or by the identity of this client.
    pub fn double_barrier(&self, path: &str, parties: usize, name: Option<&str>) -> Result<DoubleBarrier> {
        let session = self.session_for_handle()?;
        path::recipe(path)?;
        if parties == 0 || parties > MOST_PARTIES {
            return Err(Error::invalid("parties", format!("{parties} is not from 1 to {MOST_PARTIES}")));
        }
        let bytes = layout::largest_declaration(&session.server_session().measure(), path, parties);
        if bytes > path::PACKET_LIMIT {
            let problem = format!(
                "{parties} at a path of this length are too many: a server takes {} bytes at once, and to check them all \
                 takes {bytes}; choose a shorter path",
                path::PACKET_LIMIT
            );
            return Err(Error::invalid("parties", problem).with_path(path));
        }
        let name = name.unwrap_or(session.identity()).to_owned();
        let naming = session.options().naming;
        let agreement = session.extensions.of::<KnownParties>().of(path);
        let (path, given_up) = (path.to_owned(), Arc::default());
        let barrier = BarrierHandle { path, parties, name, naming, given_up, agreement };
        let inner = BarrierInner { barrier, state: Mutex::default(), listeners: Arc::default() };
        Ok(DoubleBarrier { client: self.clone(), inner: Arc::new(inner) })
    }
}

pub(crate) use layout::READY;

/// For how many a member waits, if its node is called so and says it.
pub(crate) fn parties(name: &str) -> Option<usize> {
    layout::Member::of(name).says.map(|(parties, _)| parties)
}

/// All of them are checked in one transaction.
const MOST_PARTIES: usize = 5000;

/// Lets so many members begin together and end together, any number of times, shared with everybody who uses that path,
/// in any language. Clones are the same handle, and the same member.
///
/// ```
/// # zkrecipes::doctest(async {
/// use zkrecipes::Client;
///
/// let client = Client::connect("embedded:", Default::default()).await?;
/// let a = client.double_barrier("/barriers/step", 2, Some("a"))?;
/// let b = client.double_barrier("/barriers/step", 2, Some("b"))?;
/// for _ in 0..3 {
///     futures_util::future::try_join(a.enter(None), b.enter(None)).await?;
///     // Both compute this step now, and neither begins the next one before the other is done.
///     futures_util::future::try_join(a.leave(None), b.leave(None)).await?;
/// }
/// # Ok(()) });
/// ```
#[derive(Clone)]
pub struct DoubleBarrier {
    client: Client,
    inner: Arc<BarrierInner>,
}

struct BarrierInner {
    barrier: BarrierHandle,
    state: Mutex<Membership>,
    /// Who wants to hear of its waits.
    listeners: Arc<Listeners>,
}

/// Whether this handle is in a round.
#[derive(Default)]
enum Membership {
    #[default]
    Outside,
    /// A call of this handle enters or leaves.
    Moving,
    Inside(Box<Inside>),
}

/// Outside again, unless it ends elsewhere.
struct Moving<'a>(&'a BarrierInner);

impl Moving<'_> {
    /// It ends inside. Not to be dropped after that: somebody else may be moving by then.
    fn inside(self, inside: Inside) {
        *self.0.state() = Membership::Inside(Box::new(inside));
        std::mem::forget(self);
    }
}

impl Drop for Moving<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        if matches!(*state, Membership::Moving) {
            *state = Membership::Outside;
        }
    }
}

impl BarrierInner {
    fn state(&self) -> MutexGuard<'_, Membership> {
        lock(&self.state)
    }

    /// Of how many others the node stands: members of `round`, or of those who come.
    fn count_others(
        self: &Arc<Self>,
        verb: &'static str,
        round: Option<Round>,
        mut call: Call,
    ) -> Later<AwaitedContenders> {
        let inner = self.clone();
        Box::pin(async move {
            let names = call.ask(verb, |server| server.children(&inner.barrier.path)).await;
            let count = |names: Vec<String>| match &round {
                Some(round) => layout::members(&names).filter(|member| round.includes(member)).count(),
                None => inner.barrier.parties.saturating_sub(layout::members(&names).count()),
            };
            (names.ok().map(count), None)
        })
    }

    /// The round that this handle is in; it is leaving from now on.
    fn step_out(&self) -> Result<(Inside, Moving<'_>)> {
        let mut state = self.state();
        match std::mem::replace(&mut *state, Membership::Moving) {
            Membership::Inside(inside) => Ok((*inside, Moving(self))),
            before => {
                *state = before;
                Err(not_declared("this handle has not entered; enter first"))
            }
        }
    }
}

impl DoubleBarrier {
    /// The path of the barrier.
    pub fn path(&self) -> &str {
        &self.inner.barrier.path
    }

    /// How many enter and leave together.
    pub fn parties(&self) -> usize {
        self.inner.barrier.parties
    }

    /// By which name others see this member.
    pub fn name(&self) -> &str {
        &self.inner.barrier.name
    }

    /// Whether this handle has entered and not left.
    pub fn has_entered(&self) -> bool {
        self.client.process().is_present() && matches!(*self.inner.state(), Membership::Inside(_))
    }

    /// Calls back while this handle enters or leaves: after a second, and then ever less often, up to once a minute. `ahead`
    /// is how many have yet to come, or to leave, for one list each time. Nobody is told of a wait that is over.
    pub fn on_wait(&self, callback: impl Fn(WaitProgress) + Send + Sync + 'static) -> Result<Subscription> {
        self.client.session()?;
        Ok(self.inner.listeners.subscribe(callback))
    }

    /// Waits until all parties are there; Timeout after `limit`, which says how many were. If a round was declared with this
    /// member by then, it has entered, and that is the answer. Members beyond the number of parties wait for the next round.
    ///
    /// A member that is told Timeout, or Cancelled by [`drive`](crate::drive) or in another language, is not counted any more,
    /// unless no server answers for a quarter of a second: then its node goes as soon as one does, or with its session, and
    /// until then it may be counted.
    ///
    /// Mismatch: others wait there for another number of parties. Exists: this handle has entered already. Lost: the session
    /// ended during the wait, and a round was declared with this member, or may have been; the others may have gone on without it.
    /// Where the server still keeps its node, it has entered.
    ///
    /// # Cancel safety
    /// Dropping the future leaves nothing behind: our node is deleted in the background. A round that is declared before the
    /// node is gone has a member too few.
    pub async fn enter(&self, limit: Option<Duration>) -> Result<()> {
        let about = |error: Error| error.with_path(self.path());
        let session = self.client.session()?;
        let moving = {
            let mut state = self.inner.state();
            if !matches!(*state, Membership::Outside) {
                let message = "this handle is in a round already; let it leave first, or make another handle";
                return Err(about(Error::new(ErrorKind::Exists, message)));
            }
            *state = Membership::Moving;
            Moving(&self.inner)
        };
        let mut call = session.wait(limit).timeout_says(ENTERING);
        let entering = entering::enter(&self.inner.barrier, &session, &mut call);
        let look = |call| self.inner.count_others(ENTER, None, call);
        let entered = telling(&session, self.path(), &self.inner.listeners, look, pin!(entering)).await;
        let inside = entered.map_err(about)?;
        moving.inside(inside);
        Ok(())
    }

    /// Waits until all members of the round have left or died; Timeout after `limit`, which says who has not, and then we have
    /// left.
    ///
    /// NotHeld: this handle has not entered. Lost: our session or our node is gone since we entered, so the others need
    /// not have waited for us.
    ///
    /// # Cancel safety
    /// Dropping the future leaves all the same; it just does not wait for the others.
    pub async fn leave(&self, limit: Option<Duration>) -> Result<()> {
        let about = |error: Error| error.with_path(self.path());
        let session = self.client.session()?;
        let (inside, _moving) = self.inner.step_out().map_err(about)?;
        let mut call = session.wait(limit).timeout_says(LEAVING);
        let (round, own) = (inside.round.clone(), inside.place.name().to_owned());
        let leaving = leaving::leave(&self.inner.barrier, inside, &mut call);
        let look = |call| self.inner.count_others(leaving::VERB, Some(round.clone()), call);
        let left = telling(&session, self.path(), &self.inner.listeners, look, pin!(leaving)).await;
        match left {
            Err(error) if error.kind() == ErrorKind::Timeout => {
                let who = session.within_grace(leaving::name_those_inside(
                    &self.inner.barrier,
                    &session,
                    &round,
                    &own,
                ));
                Err(about(match who.await.flatten() {
                    Some(who) => error.because(who),
                    None => error,
                }))
            }
            left => left.map_err(about),
        }
    }

    /// Gives the round up without waiting for anybody: our node is deleted in the background, and nobody waits for us.
    /// For work that failed. NotHeld: this handle has not entered.
    pub fn withdraw(&self) -> Result<()> {
        self.client.session()?;
        let (inside, _moving) = self.inner.step_out().map_err(|error| error.with_path(self.path()))?;
        drop(inside);
        Ok(())
    }

    /// Enters, does the work, and leaves.
    ///
    /// ```
    /// # zkrecipes::doctest(async {
    /// # let client = zkrecipes::Client::connect("embedded:", Default::default()).await?;
    /// let barrier = client.double_barrier("/barriers/alone", 1, None)?;
    /// assert_eq!(barrier.run(async { 6 * 7 }).await?, 42);
    /// # Ok(()) });
    /// ```
    ///
    /// # Cancel safety
    /// Dropping the future gives the round up; nobody waits for us.
    pub async fn run<T>(&self, work: impl Future<Output = T>) -> Result<T> {
        /// For work that is dropped or panics.
        struct Withdrawing<'a>(Option<&'a DoubleBarrier>);
        impl Drop for Withdrawing<'_> {
            fn drop(&mut self) {
                let _ = self.0.map(DoubleBarrier::withdraw);
            }
        }
        self.enter(None).await?;
        let mut withdrawing = Withdrawing(Some(self));
        let outcome = work.await;
        withdrawing.0 = None;
        self.leave(None).await?;
        Ok(outcome)
    }
}

impl std::fmt::Debug for DoubleBarrier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DoubleBarrier").field("path", &self.inner.barrier.path).finish_non_exhaustive()
    }
}
