//! Two-phase commit: all sites do something, or none does.
//!
//! ```text
//! /commits/orders
//!     transactions/order-17             what it is about, and who votes
//!         open-NONCE                    as long as nothing is decided
//!         coordinator-NONCE             whose it is, until that one knows the decision
//!         vote-NONCE-stock              the vote of a site, until it has acknowledged
//!         decision-NONCE                from the decision on, instead of `open`
//!     inbox/stock/NONCE-order-17        what a site is asked, until it has acknowledged
//!     sites/stock, coordinators/NAME    who is there: ephemeral, and all else is persistent
//!     outcomes/NONCE                    for a day, what became of a transaction that others have ended
//! ```
//!
//! 1. A transaction begins with one write: a node with its payload and its sites, a child `open`, and an entry in the inbox of
//!    each site.
//! 2. A site votes with one write that is applied only while the transaction is open. A vote stays, whoever crashes. To vote
//!    for the abort is to decide it.
//! 3. The decision is one write that takes `open` away: so it is made once. It is a commit only if the votes of all sites are
//!    there in that very write. Everybody watches the decision.
//! 4. Past the deadline whoever waits decides: a commit if all have voted, else the abort. A site that is late then
//!    cannot vote.
//! 5. A site that has done what was decided acknowledges: its entry and its vote go. The last one collects the transaction.
//! 6. Whose it is, and how it is taken over: the mark `coordinator` names who began it, whose ephemeral node says that it is
//!    there. If that one has died, `recover` of another writes its own name into the mark, in one write that is refused if the
//!    first is there after all. It owns the transaction then: it decides it, and takes the mark away when its caller has been
//!    told. As that is somebody else than who began it, the outcome stays for a day in a node of its own. See [`ownership`] and [`kept_outcomes`].
//! 7. What is left is bounded, and nothing has a lifetime that `recover` has to answer. The mark of an abort goes a while after
//!    its coordinator knows, asked or not: who does not find a transaction takes it for aborted, and it is. The mark of a commit
//!    goes when a caller was told, and not before, or that commit would be taken for an abort. So what nobody asks for stays,
//!    and a begin is refused where too much has: in the inbox of one of its sites, or in all. See [`ending`], [`inbox_room`].
//!
//! Who decides before the deadline is the mode: the coordinator, which waits for one vote after the other, or the
//! site whose vote is the last. If that one dies, any of those who wait decides: all of them watch the votes.
//!
//! Anybody may be killed at any step. A site that comes back finds in its inbox what it has not acknowledged. What has begun is
//! decided by whoever waits for it, or by the next that recovers. Between a decision and the end of the mark that recovers it, too:
//! it finds the mark of one that is dead. Between that and the collection whoever comes next collects. A lost answer is never guessed at: a vote, a decision and an
//! acknowledgement are sent again, and find what the first one did; of a begin see [`begin`]. [`layout`] tells what nodes say.

mod begin;
mod coordinator;
mod ending;
mod inbox;
mod inbox_room;
mod kept_outcomes;
mod layout;
mod nodes;
mod ownership;
mod servers_time;
mod site;
mod status;
mod transaction;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::OwnedMutexGuard;

use self::layout::{TransactionLayout, check_name};
use self::ownership::Commits;
use self::site::Site;
use crate::client::Client;
use crate::error::{Error, ErrorKind, Result};
use crate::mutex::lock;
use crate::path;
use crate::session::Session;
use crate::session::registration::not_declared;

pub use coordinator::CommitTransaction;
pub use layout::{CommitMode, Outcome};
pub use site::Proposal;
pub use status::{CommitStatus, CoordinatorState, SiteStatus};

impl Client {
    /// A handle on the transactions at `path`. Does no I/O. The mode is that of the transactions that it begins.
    pub fn two_phase_commit(&self, path: &str, mode: CommitMode) -> Result<TwoPhaseCommit> {
        self.session_for_handle()?;
        path::recipe(path)?;
        let layout = TransactionLayout { root: path.to_owned() };
        let commits = Arc::new(Commits::new(self.clone(), layout, mode));
        Ok(TwoPhaseCommit { commits, site: Arc::default(), joining: Arc::default() })
    }
}

/// Transactions that all sites commit or none, shared with everybody who uses that path, in any language. Clones are the same
/// handle, and the same site.
///
/// ```
/// # zkrecipes::doctest(async {
/// use std::time::Duration;
/// use zkrecipes::{Client, CommitMode, Outcome};
///
/// let client = Client::connect("embedded:", Default::default()).await?;
/// let site = client.two_phase_commit("/commits/orders", CommitMode::Coordinator)?;
/// site.join("stock").await?;
///
/// let coordinator = client.two_phase_commit("/commits/orders", CommitMode::Coordinator)?;
/// let order = coordinator.begin("order-17", &["stock"], b"3 chairs", Duration::from_secs(10)).await?;
///
/// let proposal = site.next(None).await?;
/// assert_eq!(proposal.payload(), b"3 chairs");
/// proposal.vote_commit().await?; // from here on it must be possible, also after a crash
/// assert_eq!(order.outcome(None).await?, Outcome::Commit);
/// assert_eq!(proposal.outcome(None).await?, Outcome::Commit);
/// proposal.acknowledge().await?; // done
/// assert!(coordinator.history().await?.is_empty());
/// # Ok(()) });
/// ```
#[derive(Clone)]
pub struct TwoPhaseCommit {
    commits: Arc<Commits>,
    site: Arc<Mutex<Option<Arc<Site>>>>,
    /// Locked while it joins or leaves, until whoever asked for that has the answer.
    joining: Arc<tokio::sync::Mutex<()>>,
}

impl TwoPhaseCommit {
    /// The path of the transactions.
    pub fn path(&self) -> &str {
        &self.commits.layout.root
    }

    /// The mode of the transactions that this handle begins.
    pub fn mode(&self) -> CommitMode {
        self.commits.mode
    }

    // ---- the coordinator

    /// Begins a transaction: every site is asked, also one that is not there now. It is decided in the background, whether or
    /// not somebody waits for the outcome, as long as the client is there: the commit when all have voted for it, the abort
    /// when `timeout` is over and not all have voted.
    ///
    /// Exists: there is one of that id, or one of its sites has not acknowledged it. TooLarge: the payload is, or 10,000 wait in the
    /// inbox of one of its sites, which the error names, or as many transactions are not over. ConnectionLost: it
    /// may have begun. Then it is aborted in the background, unless all its sites have voted before that arrives. To find out, call
    /// [`recover`](TwoPhaseCommit::recover) of the same handle: it waits for that, and answers the transaction if it was committed;
    /// if it does not, it was aborted or has never begun.
    ///
    /// # Cancel safety
    /// Dropping the future aborts in the background what may have begun, as after ConnectionLost.
    pub async fn begin(
        &self,
        id: &str,
        sites: &[&str],
        payload: &[u8],
        timeout: Duration,
    ) -> Result<CommitTransaction> {
        let begun = self.begin_unattended(id, sites, payload, timeout).await?;
        begun.attend();
        Ok(begun)
    }

    /// The same for a caller that may withdraw it: until it is attended to only sites may decide it.
    pub(crate) async fn begin_unattended(
        &self,
        id: &str,
        sites: &[&str],
        payload: &[u8],
        timeout: Duration,
    ) -> Result<CommitTransaction> {
        begin::begin(&self.commits, id, sites, payload, timeout).await
    }

    /// Takes over the transactions whose coordinator is not there any more, the oldest first, and decides them: at once if all
    /// have voted, else as soon as that is so or the time is over, as for those that it begins. Of its time half at least is left
    /// from now on, whatever the clocks say. Ask each for its outcome. A coordinator that has crashed is there until its session
    /// timeout.
    ///
    /// It also answers what this handle has begun or taken over and nobody has in hand: what was dropped, or what a `begin` that
    /// failed has begun and the sites have committed. One that cannot be read stops nobody: it is left out, which is logged once.
    pub async fn recover(&self) -> Result<Vec<CommitTransaction>> {
        coordinator::recover(&self.commits).await
    }

    // ---- a site

    /// Becomes a site, and is one over all sessions of the client until it leaves, the last clone of this handle and the last
    /// of its proposals are dropped, or the client is closed. Exists: this handle has joined already, or another that is
    /// there is that site.
    pub async fn join(&self, site: &str) -> Result<()> {
        self.join_unattended(site).await?.receive();
        Ok(())
    }

    /// The same for a caller that may withdraw it: until it is received this handle has not joined, and another `join` of
    /// it waits.
    pub(crate) async fn join_unattended(&self, site: &str) -> Result<NewSite> {
        check_name(&self.commits.layout, "site", site)?;
        let session = self.commits.client.session()?;
        let joining = self.joining.clone().lock_owned().await;
        if lock(&self.site).is_some() {
            return Err(self.has_joined());
        }
        let site = Arc::new(Site::join(&self.commits, &session, site).await?);
        Ok(NewSite { site, handle: self.clone(), session, _joining: joining })
    }

    fn has_joined(&self) -> Error {
        let message = "this handle is a site already; let it leave first, or make another handle";
        Error::new(ErrorKind::Exists, message).with_path(self.path())
    }

    /// Is that site no longer. What it was asked stays in its inbox. NotHeld: this handle has not joined.
    pub async fn leave(&self) -> Result<()> {
        self.commits.client.session()?;
        let _joining = self.joining.lock().await;
        let own = lock(&self.site).take();
        own.ok_or_else(|| self.no_site())?.leave().await
    }

    fn joined(&self) -> Result<Arc<Site>> {
        lock(&self.site).clone().ok_or_else(|| self.no_site())
    }

    fn no_site(&self) -> Error {
        not_declared("this handle is no site; join first").with_path(self.path())
    }

    /// The next transaction on which this site has to vote; each is told once, in the order in which they began. Timeout
    /// after `limit`. NotHeld: this handle has not joined.
    ///
    /// # Cancel safety
    /// Nothing is lost when the future is dropped.
    pub async fn next(&self, limit: Option<Duration>) -> Result<Proposal> {
        let session = self.commits.client.session()?;
        let site = self.joined()?;
        let next = site.next(&self.commits, &session, limit).await;
        next.map_err(|error| error.with_path(self.path()))
    }

    /// Everything that this site has not acknowledged, voted on or not, in the order in which it began: what a site asks
    /// for after a restart. NotHeld: this handle has not joined.
    pub async fn pending(&self) -> Result<Vec<Proposal>> {
        let session = self.commits.client.session()?;
        let site = self.joined()?;
        site.pending(&self.commits, &session).await
    }

    // ---- the operator

    /// All transactions that have not been collected, the oldest first. Of one that cannot be read it says so, in
    /// [`problem`](CommitStatus::problem).
    pub async fn history(&self) -> Result<Vec<CommitStatus>> {
        status::history(&self.commits).await
    }

    /// How a transaction stands; `None` if there is none of that id.
    pub async fn show(&self, id: &str) -> Result<Option<CommitStatus>> {
        check_name(&self.commits.layout, "id", id)?;
        status::show(&self.commits, id).await
    }

    /// Decides the abort, unless something is decided already; answers what is. NoNode: there is none of that id.
    pub async fn decide_abort(&self, id: &str, reason: &str) -> Result<Outcome> {
        check_name(&self.commits.layout, "id", id)?;
        status::write_abort(&self.commits, id, reason).await
    }
}

/// A site on its way to who joined. Dropped before that one has the answer, it leaves in the background.
pub(crate) struct NewSite {
    site: Arc<Site>,
    handle: TwoPhaseCommit,
    session: Arc<Session>,
    _joining: OwnedMutexGuard<()>,
}

impl NewSite {
    /// Who joined knows.
    pub(crate) fn receive(self) {
        let commits = self.handle.commits.clone();
        *lock(&self.handle.site) = Some(self.site);
        // What we were the last to do, should we have died before it was cleared away.
        drop(self.session.in_background(async move {
            if let Err(error) = coordinator::sweep_transactions(&commits).await {
                tracing::debug!(target: "zkrecipes", event = "transaction_untidy", %error, "transactions that are over are left to `recover`");
            }
        }));
    }
}

impl std::fmt::Debug for TwoPhaseCommit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TwoPhaseCommit").field("path", &self.commits.layout.root).finish_non_exhaustive()
    }
}
