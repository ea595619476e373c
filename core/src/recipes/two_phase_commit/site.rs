//! A site: that it is there, and what it does with what it is asked: its vote, what was decided, and that it has done so.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tokio::sync::watch;

use super::inbox_look::InboxLook;
use super::layout::{CommitMode, Decision, Key, Outcome};
use super::nodes::{create, if_there};
use super::ownership::Commits;
use super::told::ToldEntries;
use super::transaction::{DECIDING, KnownTransaction, OutcomeWaiter, collect, removal};
use crate::error::{Error, ErrorKind, Result};
use crate::mutex::lock;
use crate::process::UnlessForked;
use crate::recipes::declared::declare;
use crate::recipes::shared_lock::CurrentLock;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::open_parents;
use crate::session::refusal::Failure;
use crate::session::registration::{KeptNode, StartingNode, not_declared};
use crate::session::wire::{WireError, Write};
use crate::session::withdrawal::Withdrawals;

const JOIN: &str = "join";
const LEAVE: &str = "leave";
const VOTE: &str = "vote";
const ACKNOWLEDGE: &str = "acknowledge";

/// That we are a site, and what we have been told.
pub(super) struct Site {
    pub(super) name: String,
    registration: Mutex<Option<KeptNode>>,
    /// Ends the waits for what is next.
    pub(super) left: Withdrawals,
    /// The entries that somebody has been told of.
    pub(super) told: Arc<Mutex<ToldEntries>>,
    /// Changes when one of them is to be told again.
    pub(super) again: watch::Sender<u64>,
    /// What was found and nobody has asked for yet. No proposals: those keep the site, and the client.
    pub(super) found: Mutex<VecDeque<Arc<KnownTransaction>>>,
    /// One caller that waits looks at a time, and goes on with the look for which another had no time left.
    pub(super) looking: CurrentLock<UnlessForked<Option<InboxLook>>>,
    /// By nonce, what is known of those that somebody has a handle on.
    pub(super) known: Mutex<HashMap<String, Weak<KnownTransaction>>>,
}

impl Site {
    pub(super) async fn join(commits: &Commits, session: &Arc<Session>, name: &str) -> Result<Site> {
        let node = commits.layout.site(name);
        let identity = session.identity().as_bytes();
        // Who may delete what we are asked could keep it from us.
        let (mut call, root, inbox) = (session.call(None), &*commits.layout.root, commits.layout.inbox(name));
        let server_session = call.server_session(JOIN).await.map_err(|error| error.with_path(&node))?;
        open_parents::look_below(session, &server_session, &mut call, JOIN, root, &[&inbox]).await?;
        let registration =
            declare(session, JOIN, root, node.clone(), identity, StartingNode::Missing).await?;
        // It was created just now. So it is known for how long what we are asked has been going on.
        let asked = session.call(None).ask(JOIN, |server| server.exists(&node)).await;
        if let Some(stat) = asked.map_err(|failure| failure.about(JOIN, &node))? {
            commits.servers_time.shows(stat.ctime, session.now());
        }
        Ok(Site {
            name: name.to_owned(),
            registration: Mutex::new(Some(registration)),
            left: Withdrawals::default(),
            told: Arc::default(),
            again: watch::Sender::new(0),
            found: Mutex::default(),
            looking: CurrentLock::default(),
            known: Mutex::default(),
        })
    }

    fn step_out(&self) -> Option<KeptNode> {
        self.left.withdraw();
        lock(&self.registration).take()
    }

    pub(super) async fn leave(&self) -> Result<()> {
        match self.step_out() {
            Some(registration) => registration.undo(LEAVE).await.map(drop),
            None => Ok(()),
        }
    }

    /// Whoever asks for the next one is told of this once more, also who has been waiting.
    pub(super) fn tell_again(&self, key: &Key) {
        lock(&self.told).tell_again(&key.entry());
        self.again.send_modify(|count| *count += 1);
    }

    /// It is over for us.
    pub(super) fn forget(&self, key: &Key) {
        lock(&self.told).is_over(key.entry());
    }
}

/// A transaction as a site is asked to vote on it. Clones are the same.
#[derive(Clone)]
pub struct Proposal {
    commits: Arc<Commits>,
    site: Arc<Site>,
    transaction: Arc<KnownTransaction>,
    has_voted: bool,
}

impl Proposal {
    pub(super) fn new(
        commits: Arc<Commits>,
        site: Arc<Site>,
        transaction: Arc<KnownTransaction>,
        has_voted: bool,
    ) -> Proposal {
        Proposal { commits, site, transaction, has_voted }
    }

    pub(super) fn key(&self) -> &Key {
        &self.transaction.key
    }

    pub(super) fn transaction(&self) -> &Arc<KnownTransaction> {
        &self.transaction
    }

    /// Whoever asks for the next one is told of it once more.
    pub(crate) fn tell_again(&self) {
        self.site.tell_again(&self.transaction.key);
    }

    /// The transaction's.
    pub fn id(&self) -> &str {
        &self.transaction.key.id
    }

    /// What it is about.
    pub fn payload(&self) -> &[u8] {
        &self.transaction.header.payload
    }

    /// Who votes, this site included.
    pub fn sites(&self) -> &[String] {
        &self.transaction.header.sites
    }

    /// Why it was aborted: which site voted for that and what it said, or that not all had voted in time. Empty of a commit, and as
    /// long as the outcome is not known here: ask for that first. Empty, too, where no more is left of it than that it was aborted.
    pub fn reason(&self) -> &str {
        self.transaction.reason()
    }

    /// Whether this site had voted when it was told of it, before a restart.
    pub fn has_voted(&self) -> bool {
        self.has_voted
    }

    /// Votes for the commit. From here on this site must be able to do it, whatever happens, until it knows the outcome.
    ///
    /// Voting again is fine, and so is a vote that comes after the abort: it changes nothing, and the outcome tells. Exists: this
    /// site has voted for the abort. NotHeld: this site has acknowledged it elsewhere, and it is over.
    pub async fn vote_commit(&self) -> Result<()> {
        let session = self.commits.client.session()?;
        let mut call = session.call(None);
        let decided = self.write_vote(&mut call, Decision::commit()).await?;
        let (layout, transaction) = (&self.commits.layout, &self.transaction);
        // Who sees all the votes decides. Of two that vote at the same time both may.
        if transaction.header.mode == CommitMode::Peer
            && !decided
            && transaction.have_all_voted(layout, &mut call).await?
        {
            transaction.write_commit(layout, &mut call).await?;
        }
        Ok(())
    }

    /// Votes for the abort, which decides it.
    ///
    /// Voting again is fine, also if somebody else has decided the abort. Exists: this site has voted for the commit.
    /// NotHeld: this site has acknowledged it elsewhere, and it is over.
    pub async fn vote_abort(&self, reason: &str) -> Result<()> {
        let session = self.commits.client.session()?;
        let reason: String = reason.chars().filter(|c| !crate::printable::steers(*c)).collect();
        self.write_vote(&mut session.call(None), Decision::abort(reason)).await.map(drop)
    }

    /// Writes the vote, and answers whether something is decided.
    async fn write_vote(&self, call: &mut Call, decision: Decision) -> Result<bool> {
        let (layout, key, site) = (&self.commits.layout, &self.transaction.key, &self.site.name);
        let (open, vote) = (layout.open(key), layout.vote(key, site));
        let wants = decision.outcome;
        let is_commit = wants == Outcome::Commit;
        let mut writes = match is_commit {
            true => vec![Write::Check { path: open, version: None }],
            false => vec![Write::Delete { path: open, version: None }],
        };
        writes.push(create(vote.clone(), decision.encode()));
        let aborted = (!is_commit).then(|| match &*decision.reason {
            "" => Decision::abort(site),
            reason => Decision::abort(format!("{site}: {reason}")),
        });
        writes.extend(aborted.iter().map(|aborted| create(layout.decision(key), aborted.encode())));
        match call.ask(VOTE, |server| server.multi(&writes)).await {
            Ok(_) => {
                self.transaction.voted.get_or_init(|| wants);
                if let Some(aborted) = aborted {
                    self.transaction.learn(aborted);
                }
                Ok(!is_commit)
            }
            // Decided, or voted: maybe by ourselves, and the answer was lost.
            Err(Failure::Refused(WireError::Part { error, .. }))
                if matches!(*error, WireError::NoNode | WireError::NodeExists) =>
            {
                self.find_vote(call, wants).await
            }
            Err(failure) => Err(failure.about(VOTE, &vote)),
        }
    }

    /// Whether what stands there is as we vote; answers whether something is decided.
    async fn find_vote(&self, call: &mut Call, wants: Outcome) -> Result<bool> {
        let (layout, key, transaction) = (&self.commits.layout, &self.transaction.key, &self.transaction);
        let (vote, decision) = (layout.vote(key, &self.site.name), layout.decision(key));
        let entry = layout.entry(&self.site.name, key);
        let asked = call.ask(VOTE, |server| {
            let (vote, decided) = (if_there(server.get_data(&vote)), if_there(server.get_data(&decision)));
            let entry = server.exists(&entry);
            async move { Ok((vote.await?, decided.await?, entry.await?)) }
        });
        let (voted, decided, entry) = asked.await.map_err(|failure| failure.about(VOTE, &vote))?;
        let decided = decided.map(|(data, _)| Decision::parse(&data));
        let otherwise = |message: &str| Err(Error::new(ErrorKind::Exists, message).with_path(&*vote));
        if let Some((data, _)) = voted {
            return match *transaction.voted.get_or_init(|| Decision::parse(&data).outcome) {
                voted if voted == wants => Ok(decided.is_some()),
                _ => otherwise("this site has voted otherwise, and a vote stands"),
            };
        }
        // Our vote is not there: never was, and then there was no commit, or we have acknowledged what was decided.
        let outcome = match (transaction.outcome(), decided) {
            (Some(known), _) => known,
            (None, Some(decided)) => transaction.learn(decided),
            (None, None) if entry.is_some() => transaction.learn(Decision::abort("")),
            (None, None) => {
                return Err(not_declared(
                    "this site has acknowledged that transaction, and it is over; do not vote on it",
                )
                .with_path(vote));
            }
        };
        match (outcome, wants) {
            (Outcome::Commit, Outcome::Abort) => otherwise("it was committed, with the vote of this site"),
            // Too late for a vote, which is no error: the outcome tells.
            _ => Ok(true),
        }
    }

    /// Waits for the outcome; when the time of the transaction is over, decides it: a commit if all have voted, else the
    /// abort. Timeout after `limit`: nothing is decided yet, ask again.
    ///
    /// NotHeld: this site has acknowledged it elsewhere, and it was collected; or this site was not there for so long, without a
    /// vote, that it was aborted and forgotten.
    ///
    /// # Cancel safety
    /// Dropping the future changes nothing.
    pub async fn outcome(&self, limit: Option<Duration>) -> Result<Outcome> {
        let session = self.commits.client.session()?;
        let mut call = session.wait(limit).timeout_says(DECIDING);
        let layout = &self.commits.layout;
        let decided =
            self.transaction.wait_for_outcome(layout, &session, &mut call, OutcomeWaiter::Site).await;
        let decided = decided.map_err(|error| error.with_path(layout.transaction(self.id())))?;
        match decided {
            Some(outcome) => Ok(outcome),
            None => self.outcome_of_what_is_gone(&mut call).await,
        }
    }

    /// What a site has voted on is not collected before it has acknowledged it. So it has not voted if it has not
    /// acknowledged either, and without its vote there was no commit.
    async fn outcome_of_what_is_gone(&self, call: &mut Call) -> Result<Outcome> {
        let (layout, transaction) = (&self.commits.layout, &self.transaction);
        let entry = layout.entry(&self.site.name, &self.transaction.key);
        let asked = call.ask(VOTE, |server| server.exists(&entry)).await;
        match asked.map_err(|failure| failure.about(VOTE, &entry))? {
            Some(_) => Ok(transaction.learn(Decision::abort(""))),
            // Another look of this site may have found that out, and cleared it away.
            None => transaction.outcome().ok_or_else(|| {
                not_declared(
                    "nothing is left of that transaction: this site has acknowledged it elsewhere, or it was aborted without its \
                     vote long ago; pending answers all that there is to do",
                )
                .with_path(layout.transaction(self.id()))
            }),
        }
    }

    /// Says that what was decided is done here: this site needs the transaction no more. Doing it again is fine. NotHeld:
    /// nothing is decided yet.
    pub async fn acknowledge(&self) -> Result<()> {
        let session = self.commits.client.session()?;
        let mut call = session.call(None);
        let (layout, key, site) = (&self.commits.layout, &self.transaction.key, &self.site.name);
        let (node, decision) = (layout.transaction(&key.id), layout.decision(key));
        let (open, vote, entry) = (layout.open(key), layout.vote(key, site), layout.entry(site, key));
        let mut must_be_current = false;
        loop {
            let asked = call.ask(ACKNOWLEDGE, |server| {
                let sync = if must_be_current { server.sync(&node) } else { server.catch_up(&node) };
                let (open, decided) = (server.exists(&open), if_there(server.get_data(&decision)));
                let (vote, entry, whole) =
                    (server.exists(&vote), server.exists(&entry), server.exists(&node));
                async move {
                    sync.await?;
                    Ok((open.await?, decided.await?, vote.await?, entry.await?, whole.await?))
                }
            });
            let (open, decided, voted, entered, whole) =
                asked.await.map_err(|failure| failure.about(ACKNOWLEDGE, &node))?;
            if open.is_some() && !must_be_current {
                // Others may know the decision before this server does.
                must_be_current = true;
                continue;
            }
            if open.is_some() {
                return Err(not_declared("nothing is decided yet; ask for the outcome first").with_path(node));
            }
            let decision = match decided {
                Some((data, _)) => Some(Decision::parse(&data)),
                // Collected without our vote: so there was no commit.
                None => entered.is_some().then(|| Decision::abort("")),
            };
            // Who votes or asks once more is told how it ended.
            let outcome = decision.map(|decision| self.transaction.learn(decision));
            let present = [(voted, &vote), (entered, &entry)];
            let mut writes: Vec<_> = present
                .into_iter()
                .filter(|(stat, _)| stat.is_some())
                .map(|(_, path)| Write::Delete { path: path.clone(), version: None })
                .collect();
            if writes.is_empty() {
                self.site.forget(key);
                return collect(layout, &mut call, key, self.sites()).await;
            }
            // The decision and our vote: then we are the last. Of an abort more may be left, see `collect`.
            let is_last = voted.is_some() && whole.is_some_and(|stat| stat.num_children == 2);
            if is_last && outcome == Some(Outcome::Commit) {
                writes.extend(removal(layout, key));
            }
            match call.ask(ACKNOWLEDGE, |server| server.multi(&writes)).await {
                Ok(_) => {
                    self.site.forget(key);
                    // Two may have been the last at the same time.
                    return collect(layout, &mut call, key, self.sites()).await;
                }
                // Others have gone on meanwhile, or the answer was lost.
                Err(Failure::Refused(WireError::Part { error, .. }))
                    if matches!(*error, WireError::NoNode | WireError::NotEmpty) => {}
                Err(failure) => return Err(failure.about(ACKNOWLEDGE, &node)),
            }
        }
    }
}

impl std::fmt::Debug for Proposal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Proposal")
            .field("id", &self.id())
            .field("site", &self.site.name)
            .finish_non_exhaustive()
    }
}
