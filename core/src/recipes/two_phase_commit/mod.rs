//! Two-phase commit: one coordinator asks several sites to do something, and all of them do it, or none does.
//!
//! # Nodes
//!
//! ```text
//! /commits/orders
//!     transactions/order-17            the mode, the timeout, the NONCE, the sites and the payload; `begin` creates it
//!         open-NONCE                   nothing is decided: `begin` creates it, and the decision deletes it
//!         coordinator-NONCE            the mark, which names the owner: `begin` creates it, and the owner deletes it
//!         vote-NONCE-stock             the vote of the site `stock`, which creates it; its acknowledgement deletes it
//!         decision-NONCE               the outcome, and why: the decision creates it
//!     inbox/stock/NONCE-order-17       what a site is asked: `begin` creates it, and the acknowledgement deletes it
//!     outcomes/NONCE                   the outcome, and why, after a takeover: the last owner creates it, for a day
//!     sites/stock, coordinators/NAME   a site or a coordinator is there: ephemeral, and made again in each new session
//!     coordinators/NAME.SESSION        the same, in one session only: ephemeral; a begin depends on it
//! ```
//!
//! All else is persistent; the folders are containers, or persistent where the naming is not `curator`. NONCE is a GUID
//! that is new for each transaction: an id may be used again, and then no write about the earlier transaction meets the
//! later one.
//!
//! # Steps
//!
//! 1. `begin` is one write, which is one transaction of the server, as a vote and a decision are. It creates the
//!    transaction's node, `open`, the mark with the name of its coordinator, the owner, and an entry in the inbox of
//!    each site. It is refused unless the coordinator's two ephemeral nodes stand ([`begin`]).
//! 2. A site votes: it creates its vote. A vote for the commit is refused unless `open` stands. A vote for the abort
//!    decides the abort: the same write deletes `open` and creates `decision`. From its vote for the commit until it
//!    knows the outcome, a site must be able to do its part, also after a crash: what it needs for that has to be
//!    stored before the vote.
//! 3. The decision deletes `open`, so there is only one. A commit also checks the votes of all sites, so it is refused
//!    if a vote is missing. Who waits for the outcome watches `decision`.
//! 4. Before the deadline the mode says who decides. `coordinator`: the coordinator, which watches one vote after the
//!    other. `peer`: the site whose vote is the last; all who wait watch the votes, too, and decide a tenth of a second
//!    after the last vote if that site has not.
//! 5. The timeout counts from the creation of the transaction's node, by the servers' clock. Everybody who waits
//!    computes a deadline of its own, and leaves at least half of the timeout from when it first saw the transaction,
//!    whatever the clocks say ([`servers_time`]). At its deadline it decides: the commit if all have voted, else the
//!    abort. A vote that it may not read is none for it.
//! 6. A site that has done its part acknowledges: its vote and its entry are deleted. When no vote and no mark is left,
//!    the transaction is collected: `decision` and the transaction's node are deleted, by whoever was the last. So a
//!    site that has the entry of a transaction which is gone may take that for aborted: it has not voted on it, since
//!    its vote would stand.
//! 7. The owner decides in the background, whether or not a caller has the transaction in hand, that is, has a
//!    [`CommitTransaction`] of it. When the owner has told a caller the outcome, it deletes the mark. When nobody asks,
//!    it deletes the mark of an abort after 3 to 60 seconds, and that of a commit never ([`ending`]). So a coordinator
//!    that finds neither the mark nor `outcomes/NONCE` (see 8) of a transaction may take that for aborted, if it has
//!    told nobody the outcome: the mark of a commit would stand.
//! 8. `recover` of another coordinator takes over the transactions whose owner is not there: it writes its own name
//!    into the mark. The same transaction creates `coordinators/NAME` of the owner and deletes it again, and so is
//!    refused if that node stands ([`coordinator`]). When the new owner deletes the mark, the same write creates
//!    `outcomes/NONCE`: the first owner may come back when all else has been collected, and finds the outcome there
//!    ([`kept_outcomes`]). If it asks after more than a day, `outcome` answers NoNode.
//!
//! # Who may be killed where
//!
//! - A coordinator: its node goes with its session. The sites decide at the deadline, or before it in the mode `peer`;
//!   `recover` decides, too, and answers what was begun. One that was only cut off comes back with the same name: it is
//!   told the true outcome, and leaves the mark alone where somebody else owns the transaction.
//! - A site: its vote stands, and what it has not acknowledged is in its inbox (`pending`). If it never comes back, its
//!   entry and, if it has voted, the transaction stay, and the id is not free. An operator lets somebody join by its
//!   name, and acknowledge what `pending` answers.
//! - A site or owner that deleted the last vote or mark, and has not collected: the next that joins or recovers
//!   collects.
//!
//! # What a lost answer means
//!
//! - Of a begin: the coordinator sends a quorum write that changes nothing; when it is answered, all that was sent
//!   before in that session is decided. In a later session it deletes `coordinators/NAME.SESSION` of the earlier one
//!   instead: the begin depends on that node, so it has been applied by then, or never will be. Then the coordinator
//!   looks for the transaction, and for its outcome. If it finds neither, it sends the begin again. A caller that hears
//!   ConnectionLost has it aborted in the background, see [`TwoPhaseCommit::begin`].
//! - Of a vote: it is sent again. If it is refused, the site reads what stands. Its vote: it was applied. A decision
//!   and no vote: it came too late, which is no error. Only its entry in the inbox: it came too late, and the
//!   transaction was aborted and collected. Nothing: the site has acknowledged elsewhere, which is NotHeld.
//! - Of a decision: it is sent again, and whoever is refused reads what is decided. Of an acknowledgement, and of the
//!   deletion of a mark: it is sent again, and what is missing then was deleted. A mark is deleted only at the version
//!   at which it is ours.
//!
//! # What is bounded, and what is cleaned up
//!
//! - A begin is TooLarge when 10,000 nodes are in the inbox of one of its sites, or in `transactions` ([`inbox_room`]).
//! - A transaction stays until all sites that voted have acknowledged, and a commit until a caller was told of it.
//! - An entry whose site did not vote is deleted by that site. Whoever collects an aborted transaction deletes it, too,
//!   if the site is away and has more than 1,000 entries.
//! - Outcomes that are older than a day are deleted by those who join, recover, or leave another one.

mod begin;
mod coordinator;
mod ending;
mod inbox;
mod inbox_look;
mod inbox_room;
mod kept_outcomes;
mod layout;
mod nodes;
mod ownership;
mod servers_time;
mod site;
mod status;
mod told;
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
    /// Exists: there is a transaction of that id; it is collected when a caller was told its outcome and all sites that have voted
    /// have acknowledged it. TooLarge: the payload is, or 10,000 transactions wait in the inbox of one of its sites, which the error
    /// names, or as many are not collected. ConnectionLost: it may have begun. Then it is aborted in the background, unless all its
    /// sites have voted before the abort arrives. To find out, call [`recover`](TwoPhaseCommit::recover) of the same handle, which
    /// waits for the abort. It answers the transaction if that was committed; else the transaction was aborted or has never begun.
    /// Only if no server answers for half a day nobody can know: then the log says `transaction_left`.
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
    /// have voted, else when all have or the time is over, as for those that it begins. For this coordinator at least half of the
    /// timeout is left from when it first sees a transaction, whatever the clocks say; the sites go by deadlines of their own. Ask each
    /// for its outcome. A coordinator that has crashed is there until its session timeout.
    ///
    /// It also answers the transactions that this handle has begun or taken over and of which nobody has a [`CommitTransaction`]: what
    /// was dropped, or what a `begin` that failed has begun and the sites have committed. A transaction that cannot be read stops
    /// nobody: it is left out, which is logged once.
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
        let joining = self.in_turn(&session).await?;
        if lock(&self.site).is_some() {
            return Err(self.has_joined());
        }
        let site = Arc::new(Site::join(&self.commits, &session, site).await?);
        Ok(NewSite { site, handle: self.clone(), session, _joining: joining })
    }

    /// As soon as no other call joins or leaves.
    async fn in_turn(&self, session: &Arc<Session>) -> Result<OwnedMutexGuard<()>> {
        let turn = session.behind_others(self.joining.clone().lock_owned()).await;
        turn.map_err(|error| error.with_path(self.path()))
    }

    fn has_joined(&self) -> Error {
        let message = "this handle is a site already; let it leave first, or make another handle";
        Error::new(ErrorKind::Exists, message).with_path(self.path())
    }

    /// Is that site no longer. What it was asked stays in its inbox. NotHeld: this handle has not joined.
    pub async fn leave(&self) -> Result<()> {
        let session = self.commits.client.session()?;
        let _joining = self.in_turn(&session).await?;
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
