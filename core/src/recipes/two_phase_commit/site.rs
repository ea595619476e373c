//! A site: that it is there, and what it is asked.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use tokio::sync::watch;

use super::layout::{Decision, Header, Key, Layout};
use super::proposal::Proposal;
use super::transaction::{Transaction, if_there};
use super::{Inner, Outcome};
use crate::error::{Error, Result};
use crate::path;
use crate::session::Session;
use crate::session::call::{Call, Failure};
use crate::session::kept::Kept;
use crate::session::wire::{Watch, WireError};

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

/// How a transaction looks to a site.
enum Seen {
    /// It was collected without us: there is nothing for us to do.
    Dismissed(String),
    Asked(Asked),
}

struct Asked {
    czxid: i64,
    proposal: Proposal,
    is_open: bool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

impl Site {
    pub(super) async fn join(inner: &Inner, session: &Arc<Session>, name: &str) -> Result<Site> {
        let node = inner.layout.site(name);
        let identity = session.identity().as_bytes();
        let kept = Kept::declare(session, JOIN, node.clone(), identity, session.parents()).await?;
        // It was created just now. So what we are asked has been going on for so long.
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
        loop {
            if let Some(proposal) = found.pop_front() {
                return Ok(proposal);
            }
            again.mark_unchanged();
            let (entries, news) = self.watch_inbox(&inner.layout, &mut call).await?;
            lock(&self.told).retain(|entry| entries.contains(entry));
            let new: Vec<_> = entries.into_iter().filter(|entry| !lock(&self.told).contains(entry)).collect();
            let seen = self.look(inner, session, &mut call, new.clone()).await?;
            // There is nothing to vote on: they are for `pending`, until they are collected.
            let is_over = |asked: &Asked| !asked.is_open && !asked.proposal.has_voted();
            let (over, asked): (Vec<_>, Vec<_>) = seen.into_iter().partition(is_over);
            let over: Vec<_> = over.iter().map(|asked| asked.proposal.key().clone()).collect();
            // What was voted on before is for `pending`, too.
            found.extend(
                asked.into_iter().map(|asked| asked.proposal).filter(|proposal| !proposal.has_voted()),
            );
            let is_told = |entry: &String| !over.iter().any(|key| key.entry() == *entry);
            lock(&self.told).extend(new.into_iter().filter(is_told));
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
                    _ = news => {}
                    () = told_again => {}
                    () = is_collected => {}
                }
            };
            call.patiently(either).await?;
        }
    }

    pub(super) async fn pending(
        self: &Arc<Self>,
        inner: &Arc<Inner>,
        session: &Arc<Session>,
    ) -> Result<Vec<Proposal>> {
        let mut call = session.call(None);
        let (entries, _) = self.watch_inbox(&inner.layout, &mut call).await?;
        let all = self.look(inner, session, &mut call, entries).await?;
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

    /// What these are about, in the order in which they began.
    async fn look(
        self: &Arc<Self>,
        inner: &Arc<Inner>,
        session: &Arc<Session>,
        call: &mut Call,
        entries: Vec<String>,
    ) -> Result<Vec<Asked>> {
        let mut all = Vec::new();
        // What is none of ours stays.
        for key in entries.iter().filter_map(|entry| Key::of_entry(entry)) {
            match self.look_at(inner, session, call, key).await? {
                Seen::Asked(asked) => all.push(asked),
                Seen::Dismissed(entry) => drop(session.epoch().delete_in_background(entry, 0)),
            }
        }
        all.sort_by_key(|asked| asked.czxid);
        Ok(all)
    }

    async fn look_at(
        self: &Arc<Self>,
        inner: &Arc<Inner>,
        session: &Arc<Session>,
        call: &mut Call,
        key: Key,
    ) -> Result<Seen> {
        let layout = &inner.layout;
        let (node, vote) = (layout.transaction(&key.id), layout.vote(&key, &self.name));
        let open = layout.open(&key);
        let asked = call.ask(NEXT, |epoch| {
            // Behind a `sync`: of what a server has not heard yet, nobody has been done with.
            let sync = epoch.catch_up(&node);
            let (data, vote) = (if_there(epoch.get_data(&node)), if_there(epoch.get_data(&vote)));
            let open = epoch.exists(&open);
            async move {
                sync.await?;
                Ok((data.await?, vote.await?, open.await?))
            }
        });
        let (data, vote, open) = asked.await.map_err(|failure| failure.about(NEXT, &node))?;
        let found = data.and_then(|(data, stat)| Some((Header::parse(&data)?, stat)));
        let Some((header, stat)) = found.filter(|(header, _)| header.nonce == key.nonce) else {
            // Whoever has voted is waited for. So we have not, and then there was no commit.
            if let Some(transaction) = lock(&self.known).remove(&key.nonce).and_then(|known| known.upgrade())
            {
                transaction.known.get_or_init(|| Outcome::Abort);
            }
            return Ok(Seen::Dismissed(layout.entry(&self.name, &key)));
        };
        let transaction = self.known(&key, || {
            let deadline = inner.servers_time.deadline(&header, &stat, session.now());
            Transaction::new(key.clone(), header, deadline)
        });
        let has_voted = vote.is_some();
        if let Some((vote, _)) = vote {
            transaction.voted.get_or_init(|| Decision::parse(&vote).outcome);
        }
        let proposal = Proposal::new(inner.clone(), self.clone(), transaction, has_voted);
        Ok(Seen::Asked(Asked { czxid: stat.czxid, proposal, is_open: open.is_some() }))
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
