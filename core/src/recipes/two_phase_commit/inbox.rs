//! The inbox of a site: what it is asked, each once, and again what it has not acknowledged.

use std::sync::{Arc, Weak};
use std::time::Duration;

use super::inbox_look::{InboxLook, NEXT, ReadEntry, look_at_inbox, read_entries, watch_inbox};
use super::layout::{Decision, Header, Key, TransactionLayout};
use super::nodes::ReadNode;
use super::ownership::Commits;
use super::site::{Proposal, Site};
use super::transaction::KnownTransaction;
use crate::error::{Error, Result};
use crate::mutex::lock;
use crate::session::Session;
use crate::session::call::{Call, LOOK_AFTER};
use crate::session::clock::Moment;
use crate::session::skipped_nodes::Flaw;
use crate::session::wire::{Stat, Watch, WireError};
use crate::sort;

const ASKING: &str = "no transaction began";

/// A transaction that this site is asked about.
struct InboxEntry {
    key: Key,
    header: Header,
    stat: Stat,
    vote: Option<Vec<u8>>,
    is_open: bool,
}

/// The same for whoever asks.
struct InboxProposal {
    proposal: Proposal,
    is_open: bool,
}

impl Site {
    pub(super) async fn next(
        self: &Arc<Self>,
        commits: &Arc<Commits>,
        session: &Arc<Session>,
        limit: Option<Duration>,
    ) -> Result<Proposal> {
        let mut call = session.wait(limit).timeout_says(ASKING).withdrawable(self.left.next());
        if call.is_single_attempt() {
            // Another call that waits may look for long, so this one looks by itself. What was left to the next one is older.
            if let Some(mut look) = self.looking.get().try_lock() {
                **look = None;
            }
            return self.look_for_next(commits, session, &mut call, &mut None).await;
        }
        loop {
            let looking = self.looking.get();
            let alone = async {
                match call.wait_for(looking.lock()).await? {
                    Some(mut look) => {
                        self.look_for_next(commits, session, &mut call, &mut look).await.map(Some)
                    }
                    None => Ok(None),
                }
            };
            if let Some(proposal) = looking.used_by(session.clock(), alone).await? {
                return Ok(proposal);
            }
        }
    }

    async fn look_for_next(
        self: &Arc<Self>,
        commits: &Arc<Commits>,
        session: &Arc<Session>,
        call: &mut Call,
        look: &mut Option<InboxLook>,
    ) -> Result<Proposal> {
        // Whether a watch has told just now that something has come.
        let mut is_news = false;
        loop {
            if let Some(transaction) = lock(&self.found).pop_front() {
                return Ok(Proposal::new(commits.clone(), self.clone(), transaction, false));
            }
            let is_old = |look: &mut InboxLook| session.now() > look.waited + LOOK_AFTER;
            drop(look.take_if(is_old));
            let InboxLook { looking, waited, again } = look.get_or_insert_with(|| {
                let again = self.again.subscribe();
                // The time of this call is not that of the look.
                let own = if call.is_single_attempt() { call.beside() } else { session.wait(None) };
                let (layout, name, told) = (commits.layout.clone(), self.name.clone(), self.told.clone());
                let looking = Box::pin(look_at_inbox(layout, name, told, own));
                InboxLook { looking, waited: session.now(), again }
            });
            *waited = session.now();
            let looked = call.while_heard(NEXT, looking.as_mut()).await?;
            let mut again = again.clone();
            *look = None;
            let (read, news) = looked?;
            self.take_in(commits, session, read, std::mem::take(&mut is_news));
            if !lock(&self.found).is_empty() {
                continue;
            }
            if call.is_single_attempt() {
                return Err(Error::timeout(ASKING));
            }
            call.outlast_outages();
            let collected = self.watch_what_is_over(commits, session, call).await?;
            let is_collected = async {
                match collected {
                    Some(watch) => drop(watch.await),
                    None => std::future::pending().await,
                }
                lock(&self.told).look_again(session.now());
            };
            let told_again = async {
                // The sender lives in `self`, so this cannot fail.
                let _ = again.changed().await;
            };
            let either = async {
                tokio::select! {
                    biased;
                    _ = news => true,
                    () = told_again => false,
                    () = is_collected => false,
                }
            };
            // Servers do not tell of it who may not read it any more.
            is_news = call.wait_at_most(LOOK_AFTER, either).await?.unwrap_or(false);
        }
    }

    /// Notes what was read: of what somebody is to be told, and what is over.
    fn take_in(
        self: &Arc<Self>,
        commits: &Arc<Commits>,
        session: &Arc<Session>,
        read: Vec<ReadEntry>,
        is_news: bool,
    ) {
        let seen = self.make_proposals(commits, session, read, is_news);
        // There is nothing to vote on: they are for `pending`, until they are collected.
        let is_over = |asked: &InboxProposal| !asked.is_open && !asked.proposal.has_voted();
        let (over, asked): (Vec<_>, Vec<_>) = seen.into_iter().partition(is_over);
        let (mut told, mut found) = (lock(&self.told), lock(&self.found));
        over.iter().for_each(|asked| told.is_left(asked.proposal.key().entry()));
        // Another call may have found it at the same time. What is left out now may be read later.
        let is_new = |proposal: &Proposal| told.tell(proposal.key().entry());
        let new: Vec<_> = asked.into_iter().map(|asked| asked.proposal).filter(is_new).collect();
        // What was voted on before is for `pending`, too.
        let not_voted = new.iter().filter(|proposal| !proposal.has_voted());
        found.extend(not_voted.map(|proposal| proposal.transaction().clone()));
    }

    /// The watch of one that is over, if there is any and it may be read. Many may have gone together: then the next ones are read
    /// until one is still there. Their entries are known, so that this takes no other list.
    async fn watch_what_is_over(
        self: &Arc<Self>,
        commits: &Arc<Commits>,
        session: &Arc<Session>,
        call: &mut Call,
    ) -> Result<Option<Watch>> {
        loop {
            let Some(key) = lock(&self.told).watched().and_then(Key::of_entry) else { return Ok(None) };
            let node = commits.layout.transaction(&key.id);
            match call.ask(NEXT, |server| server.watch_exists(&node)).await {
                Ok((Some(_), watch)) => return Ok(Some(watch)),
                Ok((None, _)) => {}
                // It is looked at in time.
                Err(failure) if failure.is(&WireError::NoAuth) => return Ok(None),
                Err(failure) => return Err(failure.about(NEXT, &node)),
            }
            let entries = lock(&self.told).look_again(session.now());
            let read = read_entries(&commits.layout, &self.name, call, &entries).await?;
            self.take_in(commits, session, read, false);
        }
    }

    pub(super) async fn pending(
        self: &Arc<Self>,
        commits: &Arc<Commits>,
        session: &Arc<Session>,
    ) -> Result<Vec<Proposal>> {
        let mut call = session.call(None);
        let (entries, _) = watch_inbox(&commits.layout, &self.name, &mut call).await?;
        let read = read_entries(&commits.layout, &self.name, &mut call, &entries).await?;
        let all = self.make_proposals(commits, session, read, false);
        Ok(all.into_iter().map(|asked| asked.proposal).collect())
    }

    /// What these are about, in the order in which they began. Of the last one it may be news that it has begun.
    fn make_proposals(
        self: &Arc<Self>,
        commits: &Arc<Commits>,
        session: &Arc<Session>,
        read: Vec<ReadEntry>,
        is_news: bool,
    ) -> Vec<InboxProposal> {
        let mut all = self.understand(&commits.layout, session, read);
        sort::by_key(&mut all, |found| found.stat.czxid);
        let now = session.now();
        let is_first_seen =
            |found: &&InboxEntry| found.is_open && !commits.servers_time.has_seen(&found.header);
        if is_news && let Some(last) = all.iter().rfind(is_first_seen) {
            commits.servers_time.shows(last.stat.ctime, now);
        }
        all.into_iter().map(|found| self.make_proposal(commits, found, now)).collect()
    }

    fn understand(
        &self,
        layout: &TransactionLayout,
        session: &Arc<Session>,
        read: Vec<ReadEntry>,
    ) -> Vec<InboxEntry> {
        let mut all = Vec::new();
        for ReadEntry { key, whole, vote, is_open } in read {
            let found = match whole {
                ReadNode::Denied => {
                    session.skip(&layout.transaction(&key.id), Flaw::Denied);
                    continue;
                }
                ReadNode::Missing => None,
                ReadNode::Told(data, stat) => match Header::parse(&data) {
                    Some(header) => Some((header, stat)).filter(|(header, _)| header.nonce == key.nonce),
                    None => {
                        session.skip(&layout.transaction(&key.id), Flaw::Encoding);
                        continue;
                    }
                },
            };
            match (found, vote) {
                (None, _) => self.forget_collected(layout, session, &key),
                (Some(_), ReadNode::Denied) => session.skip(&layout.vote(&key, &self.name), Flaw::Denied),
                (Some((header, stat)), vote) => {
                    let vote = vote.data().map(|(vote, _)| vote);
                    all.push(InboxEntry { key, header, stat, vote, is_open });
                }
            }
        }
        all
    }

    /// It was collected without us: there is nothing for us to do.
    fn forget_collected(&self, layout: &TransactionLayout, session: &Session, key: &Key) {
        // Whoever has voted is waited for. So we have not, and then there was no commit.
        if let Some(transaction) = lock(&self.known).remove(&key.nonce).and_then(|known| known.upgrade()) {
            transaction.learn(Decision::abort(""));
        }
        drop(session.server_session().delete_in_background(layout.entry(&self.name, key), 0));
    }

    fn make_proposal(
        self: &Arc<Self>,
        commits: &Arc<Commits>,
        found: InboxEntry,
        now: Moment,
    ) -> InboxProposal {
        let InboxEntry { key, header, stat, vote, is_open } = found;
        let deadline = commits.servers_time.deadline(&header, &stat, now);
        let transaction =
            self.share_transaction(&key, || KnownTransaction::new(key.clone(), header, deadline));
        let has_voted = vote.is_some();
        if let Some(vote) = vote {
            transaction.voted.get_or_init(|| Decision::parse(&vote).outcome);
        }
        let proposal = Proposal::new(commits.clone(), self.clone(), transaction, has_voted);
        InboxProposal { proposal, is_open }
    }

    /// One for all handles, so that what one of them learns the others know.
    fn share_transaction(&self, key: &Key, make: impl FnOnce() -> KnownTransaction) -> Arc<KnownTransaction> {
        let mut known = lock(&self.known);
        known.retain(|_, transaction| transaction.strong_count() > 0);
        if let Some(transaction) = known.get(&key.nonce).and_then(Weak::upgrade) {
            return transaction;
        }
        let transaction = Arc::new(make());
        known.insert(key.nonce.clone(), Arc::downgrade(&transaction));
        transaction
    }
}
