//! A site: that it is there, and what it is asked.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use tokio::sync::watch;

use super::layout::{Decision, Header, Key, Layout};
use super::nodes::{AT_ONCE, Node, all_of, is_there, node};
use super::proposal::Proposal;
use super::transaction::Transaction;
use super::{Inner, Outcome};
use crate::error::{Error, Result};
use crate::mutex::lock;
use crate::path;
use crate::session::Session;
use crate::session::call::{Call, Failure};
use crate::session::clock::Moment;
use crate::session::kept::Kept;
use crate::session::skipped::Flaw;
use crate::session::wire::{Flight, Stat, Watch, WireError};

const JOIN: &str = "join";
const LEAVE: &str = "leave";
const NEXT: &str = "next";
const ASKING: &str = "no transaction began";

/// A name that is to be that of a node.
pub(super) fn check(layout: &Layout, argument: &str, name: &str) -> Result<()> {
    if let Some(problem) = path::problem_of_name(name) {
        let problem = format!("{name:?} is no name of a node: it {problem}");
        return Err(Error::invalid(argument, problem).with_path(&*layout.root));
    }
    // It may be too long.
    path::validate(&layout.transaction(name))
}

/// That we are a site, and what we have been told.
pub(super) struct Site {
    pub(super) name: String,
    kept: Mutex<Option<Kept>>,
    /// Ends the waits for what is next.
    left: watch::Sender<u64>,
    /// The entries that somebody has been told of.
    told: Mutex<HashSet<String>>,
    /// Changes when one of them is to be told again.
    again: watch::Sender<u64>,
    /// What was found and nobody has asked for yet; one caller looks at a time.
    found: tokio::sync::Mutex<VecDeque<Proposal>>,
    /// By nonce, what is known of those that somebody has a handle on.
    known: Mutex<HashMap<String, Weak<Transaction>>>,
}

/// A transaction that this site is asked about, and what of it was read.
struct Found {
    key: Key,
    header: Header,
    stat: Stat,
    vote: Option<Vec<u8>>,
    is_open: bool,
}

struct Asked {
    proposal: Proposal,
    is_open: bool,
}

impl Site {
    pub(super) async fn join(inner: &Inner, session: &Arc<Session>, name: &str) -> Result<Site> {
        let node = inner.layout.site(name);
        let identity = session.identity().as_bytes();
        let kept = Kept::declare(session, JOIN, node.clone(), identity, session.parents()).await?;
        // It was created just now. So it is known for how long what we are asked has been going on.
        let asked = session.call(None).ask(JOIN, |epoch| epoch.exists(&node)).await;
        if let Some(stat) = asked.map_err(|failure| failure.about(JOIN, &node))? {
            inner.servers_time.shows(stat.ctime, session.now());
        }
        Ok(Site {
            name: name.to_owned(),
            kept: Mutex::new(Some(kept)),
            left: watch::Sender::new(0),
            told: Mutex::default(),
            again: watch::Sender::new(0),
            found: tokio::sync::Mutex::default(),
            known: Mutex::default(),
        })
    }

    /// Leaves in the background.
    pub(super) fn withdraw(&self) {
        drop(self.step_out());
    }

    fn step_out(&self) -> Option<Kept> {
        self.left.send_modify(|count| *count += 1);
        lock(&self.kept).take()
    }

    pub(super) async fn leave(&self) -> Result<()> {
        match self.step_out() {
            Some(kept) => kept.undo(LEAVE).await.map(drop),
            None => Ok(()),
        }
    }

    /// Whoever asks for the next one is told of this once more, also who has been waiting.
    pub(super) fn tell_again(&self, key: &Key) {
        lock(&self.told).remove(&key.entry());
        self.again.send_modify(|count| *count += 1);
    }

    /// It is over for us.
    pub(super) fn forget(&self, key: &Key) {
        lock(&self.told).remove(&key.entry());
    }

    pub(super) async fn next(
        self: &Arc<Self>,
        inner: &Arc<Inner>,
        session: &Arc<Session>,
        limit: Option<Duration>,
    ) -> Result<Proposal> {
        let mut call = session.wait(limit).for_the(ASKING).withdrawable(self.left.subscribe());
        let mut again = self.again.subscribe();
        let mut found = call.patiently(self.found.lock()).await?;
        // Whether a watch has told just now that something has come.
        let mut is_news = false;
        loop {
            if let Some(proposal) = found.pop_front() {
                return Ok(proposal);
            }
            again.mark_unchanged();
            let (entries, news) = self.watch_inbox(&inner.layout, &mut call).await?;
            lock(&self.told).retain(|entry| entries.contains(entry));
            let new: Vec<_> = entries.into_iter().filter(|entry| !lock(&self.told).contains(entry)).collect();
            let seen = self.look(inner, session, &mut call, &new, std::mem::take(&mut is_news)).await?;
            // There is nothing to vote on: they are for `pending`, until they are collected.
            let is_over = |asked: &Asked| !asked.is_open && !asked.proposal.has_voted();
            let (over, asked): (Vec<_>, Vec<_>) = seen.into_iter().partition(is_over);
            let over: Vec<_> = over.iter().map(|asked| asked.proposal.key().clone()).collect();
            // What is left out now may be read later.
            lock(&self.told).extend(asked.iter().map(|asked| asked.proposal.key().entry()));
            // What was voted on before is for `pending`, too.
            found.extend(
                asked.into_iter().map(|asked| asked.proposal).filter(|proposal| !proposal.has_voted()),
            );
            if !found.is_empty() {
                continue;
            }
            if call.is_single_attempt() {
                return Err(Error::timeout(ASKING));
            }
            call.insist();
            let collected = match over.first() {
                Some(key) => {
                    let node = inner.layout.transaction(&key.id);
                    let asked = call.ask(NEXT, |epoch| epoch.watch_exists(&node)).await;
                    match asked.map_err(|failure| failure.about(NEXT, &node))? {
                        (Some(_), watch) => Some(watch),
                        (None, _) => continue,
                    }
                }
                None => None,
            };
            let is_collected = async {
                match collected {
                    Some(watch) => drop(watch.await),
                    None => std::future::pending().await,
                }
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
            is_news = call.patiently(either).await?;
        }
    }

    pub(super) async fn pending(
        self: &Arc<Self>,
        inner: &Arc<Inner>,
        session: &Arc<Session>,
    ) -> Result<Vec<Proposal>> {
        let mut call = session.call(None);
        let (entries, _) = self.watch_inbox(&inner.layout, &mut call).await?;
        let all = self.look(inner, session, &mut call, &entries, false).await?;
        Ok(all.into_iter().map(|asked| asked.proposal).collect())
    }

    async fn watch_inbox(&self, layout: &Layout, call: &mut Call) -> Result<(Vec<String>, Watch)> {
        let inbox = layout.inbox(&self.name);
        loop {
            match call.ask(NEXT, |epoch| epoch.watch_children(&inbox)).await {
                Ok((entries, _, watch)) => return Ok((entries, watch)),
                Err(Failure::Refused(WireError::NoNode)) => {
                    let asked = call.ask(NEXT, |epoch| epoch.watch_exists(&inbox)).await;
                    if let (None, watch) = asked.map_err(|failure| failure.about(NEXT, &inbox))? {
                        return Ok((Vec::new(), watch));
                    }
                }
                Err(failure) => return Err(failure.about(NEXT, &inbox)),
            }
        }
    }

    /// What these are about, in the order in which they began. Of the last one it may be news that it has begun.
    async fn look(
        self: &Arc<Self>,
        inner: &Arc<Inner>,
        session: &Arc<Session>,
        call: &mut Call,
        entries: &[String],
        is_news: bool,
    ) -> Result<Vec<Asked>> {
        // What is none of ours stays.
        let keys: Vec<_> = entries.iter().filter_map(|entry| Key::of_entry(entry)).collect();
        let mut all = Vec::new();
        for keys in keys.chunks(AT_ONCE) {
            all.extend(self.read(&inner.layout, session, call, keys).await?);
        }
        all.sort_by_key(|found| found.stat.czxid);
        let now = session.now();
        let is_first_seen = |found: &&Found| found.is_open && !inner.servers_time.has_seen(&found.header);
        if is_news && let Some(last) = all.iter().rfind(is_first_seen) {
            inner.servers_time.shows(last.stat.ctime, now);
        }
        Ok(all.into_iter().map(|found| self.asked(inner, found, now)).collect())
    }

    async fn read(
        &self,
        layout: &Layout,
        session: &Arc<Session>,
        call: &mut Call,
        keys: &[Key],
    ) -> Result<Vec<Found>> {
        let asked = call.ask(NEXT, |epoch| {
            // Behind a `sync`: of what a server has not heard yet, nobody has been done with.
            let sync = epoch.catch_up(&layout.root);
            let flights = keys.iter().map(|key| {
                let (whole, vote) = (layout.transaction(&key.id), layout.vote(key, &self.name));
                let (whole, vote) = (node(epoch.get_data(&whole)), node(epoch.get_data(&vote)));
                let open = is_there(epoch.exists(&layout.open(key)));
                let all: Flight<_> = Box::pin(async move { Ok((whole.await?, vote.await?, open.await?)) });
                all
            });
            let flights = flights.collect();
            async move {
                sync.await?;
                all_of(flights).await
            }
        });
        let all = asked.await.map_err(|failure| failure.about(NEXT, &layout.inbox(&self.name)))?;
        let mut read = Vec::new();
        for (key, (whole, vote, is_open)) in keys.iter().zip(all) {
            let found = match whole {
                Node::Denied => {
                    session.skip(&layout.transaction(&key.id), Flaw::Denied);
                    continue;
                }
                Node::Missing => None,
                Node::Told(data, stat) => match Header::parse(&data) {
                    Some(header) => Some((header, stat)).filter(|(header, _)| header.nonce == key.nonce),
                    None => {
                        session.skip(&layout.transaction(&key.id), Flaw::Encoding);
                        continue;
                    }
                },
            };
            match (found, vote) {
                (None, _) => self.dismiss(layout, session, key),
                (Some(_), Node::Denied) => session.skip(&layout.vote(key, &self.name), Flaw::Denied),
                (Some((header, stat)), vote) => {
                    let vote = vote.data().map(|(vote, _)| vote);
                    read.push(Found { key: key.clone(), header, stat, vote, is_open });
                }
            }
        }
        Ok(read)
    }

    /// It was collected without us: there is nothing for us to do.
    fn dismiss(&self, layout: &Layout, session: &Session, key: &Key) {
        // Whoever has voted is waited for. So we have not, and then there was no commit.
        if let Some(transaction) = lock(&self.known).remove(&key.nonce).and_then(|known| known.upgrade()) {
            transaction.known.get_or_init(|| Outcome::Abort);
        }
        drop(session.epoch().delete_in_background(layout.entry(&self.name, key), 0));
    }

    fn asked(self: &Arc<Self>, inner: &Arc<Inner>, found: Found, now: Moment) -> Asked {
        let Found { key, header, stat, vote, is_open } = found;
        let deadline = inner.servers_time.deadline(&header, &stat, now);
        let transaction = self.known(&key, || Transaction::new(key.clone(), header, deadline));
        let has_voted = vote.is_some();
        if let Some(vote) = vote {
            transaction.voted.get_or_init(|| Decision::parse(&vote).outcome);
        }
        let proposal = Proposal::new(inner.clone(), self.clone(), transaction, has_voted);
        Asked { proposal, is_open }
    }

    /// One for all handles, so that what one of them learns the others know.
    fn known(&self, key: &Key, make: impl FnOnce() -> Transaction) -> Arc<Transaction> {
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
