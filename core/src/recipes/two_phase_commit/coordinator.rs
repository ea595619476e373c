//! A coordinator: how it ends what it has in hand, and how it takes over the transactions of one that died.

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;

use super::ending::{self, EndedTransaction};
use super::kept_outcomes::sweep_outcomes;
use super::layout::{Decision, Header, Key, Outcome, TransactionLayout};
use super::nodes::{AT_ONCE, ReadNode, each, if_there, is_denied, names};
use super::ownership::{Commits, Hand};
use super::transaction::{DECIDING, KnownTransaction, OutcomeWaiter, abort_unless_committed, collect};
use crate::error::{Error, ErrorKind, Result};
use crate::session::Session;
use crate::session::call::Call;
use crate::session::open_parents;
use crate::session::refusal::{Failure, refusal};
use crate::session::skipped_nodes::Flaw;
use crate::session::wire::{Applied, CreateMode, Stat, WireError, Write};
use crate::sort;

const OUTCOME: &str = "outcome";
const RECOVER: &str = "recover";

/// A transaction as its coordinator has it. Clones are the same.
#[derive(Clone)]
pub struct CommitTransaction(Arc<Coordinated>);

pub(super) struct Coordinated {
    hand: Hand,
    transaction: Arc<KnownTransaction>,
}

impl CommitTransaction {
    pub(super) fn new(hand: Hand, transaction: Arc<KnownTransaction>) -> CommitTransaction {
        CommitTransaction(Arc::new(Coordinated { hand, transaction }))
    }

    /// Its coordinator sees to it from now on.
    pub(crate) fn attend(&self) {
        ending::attend(&self.0.hand, &self.0.transaction);
    }

    /// Decides it if that can be done now. Answers whether it is still there.
    pub(super) async fn decide_without_waiting(&self, session: &Arc<Session>) -> Result<bool> {
        let layout = &self.0.hand.commits.layout;
        let mut call = session.call(Some(Duration::ZERO));
        match self.0.transaction.wait_for_outcome(layout, session, &mut call, OutcomeWaiter::Background).await
        {
            // One that we may not decide stops nobody.
            Err(error) if matches!(error.kind(), ErrorKind::Timeout | ErrorKind::Denied) => Ok(true),
            decided => decided.map(|outcome| outcome.is_some()),
        }
    }

    /// Its caller never learned that it began: aborts it in the background, unless something is decided.
    pub(crate) fn withdraw(&self) {
        let this = self.0.clone();
        let Ok(session) = this.hand.commits.client.session() else { return };
        let (about, ending) = (session.clone(), this.hand.commits.ending());
        drop(session.in_background(async move {
            let mut call = about.call(None).outlasting();
            let (transaction, commits) = (&this.transaction, &this.hand.commits);
            let (key, header) = (&transaction.key, &transaction.header);
            match abort_unless_committed(&commits.layout, &mut call, key, &header.sites).await {
                Ok(Outcome::Commit) => commits.is_committed(key.clone(), header.clone()),
                Ok(Outcome::Abort) => {}
                Err(error) => {
                    tracing::warn!(target: "zkrecipes", event = "transaction_left", id = key.id, %error, "a transaction that was given up is left to `recover`");
                }
            }
            // In this order: who waits for it finds it in nobody's hand.
            drop(this);
            drop(ending);
        }));
    }

    /// By which name it began.
    pub fn id(&self) -> &str {
        &self.0.transaction.key.id
    }

    /// Who votes.
    pub fn sites(&self) -> &[String] {
        &self.0.transaction.header.sites
    }

    /// What it is about.
    pub fn payload(&self) -> &[u8] {
        &self.0.transaction.header.payload
    }

    /// Why it was aborted: which site voted for that and what it said, or that not all had voted in time. Empty of a commit, and as
    /// long as the outcome is not known here: ask for that first. Empty, too, where no more is left of it than that it was aborted.
    ///
    /// ```
    /// # zkrecipes::doctest(async {
    /// # use std::time::Duration;
    /// # use zkrecipes::{Client, CommitMode, Outcome};
    /// # let client = Client::connect("embedded:", Default::default()).await?;
    /// # let (coordinator, site) = (
    /// #     client.two_phase_commit("/commits/reasons", CommitMode::Coordinator)?,
    /// #     client.two_phase_commit("/commits/reasons", CommitMode::Coordinator)?,
    /// # );
    /// # site.join("stock").await?;
    /// let order = coordinator.begin("order-18", &["stock"], b"99 chairs", Duration::from_secs(10)).await?;
    /// site.next(None).await?.vote_abort("only 12 left").await?;
    /// assert_eq!(order.outcome(None).await?, Outcome::Abort);
    /// assert_eq!(order.reason(), "stock: only 12 left");
    /// # Ok(()) });
    /// ```
    pub fn reason(&self) -> &str {
        self.0.transaction.reason()
    }

    /// Waits for the outcome: the commit when all sites have voted for it, the abort when one has voted for that or the time of
    /// the transaction is over. Timeout after `limit`: nothing is decided yet, ask again. ConnectionLost: nor is that known,
    /// for no server answered when it was over.
    ///
    /// A coordinator that has been told the outcome is done with the transaction: `recover` does not list it any more, and
    /// asking again answers the same. A commit is not collected before that, whoever has acknowledged it.
    ///
    /// It is the true outcome, whoever decided it and whoever else was told, such as a coordinator that took the transaction
    /// over while this client was cut off. NoNode: this client was cut off for more than a day, and its outcome is not kept for so
    /// long; or somebody has deleted its nodes by hand.
    ///
    /// # Cancel safety
    /// Dropping the future leaves the transaction as it is, and it is decided all the same.
    pub async fn outcome(&self, limit: Option<Duration>) -> Result<Outcome> {
        let commits = &self.0.hand.commits;
        let session = commits.client.session()?;
        let mut call = session.wait(limit).timeout_says(DECIDING);
        let node = commits.layout.transaction(self.id());
        let decided = self
            .0
            .transaction
            .wait_for_outcome(&commits.layout, &session, &mut call, OutcomeWaiter::Coordinator)
            .await;
        let decided = decided.map_err(|error| error.with_path(&node))?;
        let Some(outcome) = decided else {
            let message = "nothing is kept of this transaction any more: others were done with it more than a day ago, or its nodes \
                           were deleted by hand; ask its sites how it ended";
            return Err(Error::new(ErrorKind::NoNode, message).with_path(node));
        };
        // A commit's mark goes when the caller is told, and not before: should we crash, it is to be found.
        let ended = EndedTransaction::new(&commits.layout, &self.0.transaction, self.0.hand.mark());
        ended.end(&session, Some(commits.clone()));
        if outcome == Outcome::Abort {
            // Told it is, whether or not the servers know.
            let _ = commits.wait_until_told(&mut call, OUTCOME).await;
        }
        Ok(outcome)
    }
}

impl std::fmt::Debug for CommitTransaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CommitTransaction").field("id", &self.id()).finish_non_exhaustive()
    }
}

pub(super) async fn recover(commits: &Arc<Commits>) -> Result<Vec<CommitTransaction>> {
    let session = commits.client.session()?;
    let layout = &commits.layout;
    let mut call = session.call(None);
    commits.wait_until_told(&mut call, RECOVER).await?;
    let own = commits.alive(&session, RECOVER).await?;
    let ids = names(&mut call, &layout.transactions()).await?;
    let present = names(&mut call, &layout.coordinators()).await?;
    // Should this end half-way, what is dropped here is ours and in nobody's hand: the next one answers it.
    let (mut taken, mut denied) = (Vec::new(), None);
    let mut has_looked = false;
    for id in list_orphans(layout, &mut call, &own, &present, ids).await? {
        let taking = take_over(commits, &mut call, &id, &own, &present, &mut has_looked);
        let (hand, header, stat) = match taking.await {
            Ok(Some(taken)) => taken,
            Ok(None) => continue,
            // One that nobody here may take over hides no other.
            Err(error) if error.kind() == ErrorKind::Denied => {
                denied.get_or_insert(error);
                continue;
            }
            Err(error) => return Err(error),
        };
        let now = session.now();
        let deadline = commits.servers_time.deadline(&header, &stat, now);
        let key = header.key(&id);
        let attended = commits.attended(&key.nonce);
        let transaction = attended.unwrap_or_else(|| Arc::new(KnownTransaction::new(key, header, deadline)));
        taken.push((stat.czxid, CommitTransaction::new(hand, transaction)));
    }
    sort::by_key(&mut taken, |(czxid, _)| *czxid);
    let found: Vec<_> = taken.into_iter().map(|(_, transaction)| transaction).collect();
    let mut taken = Vec::with_capacity(found.len());
    // Now, and not only in the background: their caller may have nothing else to do and go.
    for some in found.chunks(AT_ONCE) {
        let decided = join_all(some.iter().map(|transaction| transaction.decide_without_waiting(&session)));
        for (transaction, is_there) in some.iter().zip(decided.await) {
            // Else it was aborted, and cleared away while this looked.
            if is_there? {
                taken.push(transaction.clone());
            }
        }
    }
    drop(found);
    taken.iter().for_each(CommitTransaction::attend);
    // Those that others have taken over, or are done with.
    taken.extend(take_committed(commits));
    if let (true, Some(denied)) = (taken.is_empty(), denied) {
        return Err(denied);
    }
    if !taken.is_empty() {
        let commits = commits.clone();
        drop(session.clone().in_background(async move {
            let mut call = session.call(None).through_closing();
            if let Err(error) = sweep_outcomes(&commits, &session, &mut call).await {
                tracing::debug!(target: "zkrecipes", event = "transaction_untidy", %error, "outcomes that need not be kept any more are left to others");
            }
        }));
    }
    Ok(taken)
}

/// Those that are nobody's who is there, but for us. They are looked at together: mostly there is nothing to do.
async fn list_orphans(
    layout: &TransactionLayout,
    call: &mut Call,
    own: &str,
    present: &[String],
    ids: Vec<String>,
) -> Result<Vec<String>> {
    let keys = list_readable(layout, call, &ids).await?;
    let marks: Vec<_> = keys.iter().map(|key| layout.coordinator(key)).collect();
    let owners = each(call, RECOVER, &marks).await?;
    let mut asked = Vec::new();
    for ((key, mark), owner) in keys.into_iter().zip(&marks).zip(owners) {
        let is_in_question = match owner {
            ReadNode::Missing => true,
            ReadNode::Told(owner, _) => {
                let owner = String::from_utf8_lossy(&owner);
                owner == own || !present.iter().any(|name| *name == owner)
            }
            ReadNode::Denied => {
                call.session().skip(mark, Flaw::Denied);
                false
            }
        };
        if is_in_question {
            asked.push(key.id);
        }
    }
    Ok(asked)
}

/// The keys of those of these transactions that can be read.
async fn list_readable(layout: &TransactionLayout, call: &mut Call, ids: &[String]) -> Result<Vec<Key>> {
    let nodes: Vec<_> = ids.iter().map(|id| layout.transaction(id)).collect();
    let mut keys = Vec::new();
    for ((id, path), node) in ids.iter().zip(&nodes).zip(each(call, RECOVER, &nodes).await?) {
        match node {
            ReadNode::Missing => {}
            ReadNode::Denied => call.session().skip(path, Flaw::Denied),
            ReadNode::Told(data, _) => match Header::parse(&data) {
                Some(header) => keys.push(header.key(id)),
                None => call.session().skip(path, Flaw::Encoding),
            },
        }
    }
    Ok(keys)
}

/// Writes our name over that of a coordinator that is not there any more. `None`: it is there, or done, or somebody else was
/// first.
async fn take_over(
    commits: &Arc<Commits>,
    call: &mut Call,
    id: &str,
    own: &str,
    present: &[String],
    has_looked: &mut bool,
) -> Result<Option<(Hand, Header, Stat)>> {
    let layout = &commits.layout;
    let node = layout.transaction(id);
    loop {
        let asked = call.ask(RECOVER, |server| if_there(server.get_data(&node))).await;
        let Some((data, stat)) = asked.map_err(|failure| failure.about(RECOVER, &node))? else {
            return Ok(None);
        };
        let Some(header) = Header::parse(&data) else { return Ok(None) };
        let key = header.key(id);
        let mark = layout.coordinator(&key);
        let asked = call.ask(RECOVER, |server| if_there(server.get_data(&mark))).await;
        let Some((owner, seen)) = asked.map_err(|failure| failure.about(RECOVER, &mark))? else {
            // Everybody may have been done when the last of them died.
            return match collect(layout, call, &key, &header.sites).await {
                Err(error) if error.kind() != ErrorKind::Denied => Err(error),
                _ => Ok(None),
            };
        };
        let owner = String::from_utf8_lossy(&owner).into_owned();
        if owner == own {
            let hand = commits.take_in_hand(&key.nonce, seen.version);
            return Ok(hand.map(|hand| (hand, header, stat)));
        }
        if present.contains(&owner) {
            return Ok(None);
        }
        let presence = layout.presence(&owner);
        let writes = [
            // Refused if it is there after all, in a new session or because it came after we had looked.
            Write::Create {
                path: presence.clone(),
                data: Vec::new(),
                mode: CreateMode::Ephemeral,
                acl: None,
            },
            Write::Delete { path: presence, version: None },
            Write::Set { path: mark.clone(), data: own.as_bytes().to_vec(), version: Some(seen.version) },
        ];
        let server_session = call.server_session(RECOVER).await?;
        if !std::mem::replace(has_looked, true) {
            // Whoever began it is told by what is left there.
            let session = commits.client.session()?;
            let (root, outcomes) = (&layout.root, layout.outcomes());
            open_parents::look_below(&session, &server_session, call, RECOVER, root, &[&outcomes]).await?;
        }
        match call.receive(RECOVER, server_session.multi(&writes)).await? {
            Ok(applied) => {
                let Some(Applied::Set(written)) = applied.into_iter().nth(2) else { continue };
                commits.servers_time.shows(written.mtime, call.now());
                let hand = commits.take_in_hand(&key.nonce, written.version);
                return Ok(hand.map(|hand| (hand, header, stat)));
            }
            Err(WireError::Part { index: 0, error }) if *error == WireError::NodeExists => return Ok(None),
            Err(WireError::Part { index: 2, error })
                if matches!(*error, WireError::BadVersion | WireError::NoNode) => {}
            // Without a coordinator the folder is gone. Ours makes it, too, when it comes back, but where that is refused nobody is told.
            Err(WireError::Part { error, .. }) if *error == WireError::NoNode => {
                let (folder, parents) = (layout.coordinators(), call.session().parents());
                call.make_path(RECOVER, &server_session, &folder, parents).await?;
            }
            Err(error) if error.is_unanswered() => call.retry_after_loss(RECOVER).await?,
            Err(error) if is_denied(&Failure::Refused(error.clone())) => {
                call.session().skip(&mark, Flaw::Denied);
                return Ok(None);
            }
            Err(error) => return Err(refusal(error, RECOVER, &mark)),
        }
    }
}

/// Collects what everybody is done with: who died may have been the last, and not have come to it. And the outcomes that
/// need not be kept any more.
pub(super) async fn sweep_transactions(commits: &Arc<Commits>) -> Result<()> {
    let session = commits.client.session()?;
    let (layout, mut call) = (&commits.layout, session.call(None));
    let ids = names(&mut call, &layout.transactions()).await?;
    let nodes: Vec<_> = ids.iter().map(|id| layout.transaction(id)).collect();
    for (id, node) in ids.iter().zip(each(&mut call, RECOVER, &nodes).await?) {
        if let Some((data, stat)) = node.data()
            && stat.num_children <= 1
            && let Some(header) = Header::parse(&data)
        {
            match collect(layout, &mut call, &header.key(id), &header.sites).await {
                Err(error) if error.kind() != ErrorKind::Denied => return Err(error),
                _ => {}
            }
        }
    }
    sweep_outcomes(commits, &session, &mut call).await
}

/// All of these that are in nobody's hand; then somebody is told of them.
fn take_committed(commits: &Arc<Commits>) -> Vec<CommitTransaction> {
    let all = std::mem::take(&mut *commits.committed());
    let taken = all.into_iter().filter_map(|(key, header)| {
        let hand = commits.take_in_hand(&key.nonce, 0)?;
        let transaction = KnownTransaction::new(key, header, commits.client.session().ok()?.now());
        transaction.learn(Decision::commit());
        Some(CommitTransaction::new(hand, Arc::new(transaction)))
    });
    taken.collect()
}
