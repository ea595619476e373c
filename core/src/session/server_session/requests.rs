//! The requests of a session: each is measured before it leaves, leaves when the method is called, and its answer feeds the
//! lease.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;

use super::catching_up::Beginning;
use super::{ConnectionId, ServerSession};
use crate::metrics::Request;
use crate::mutex::lock;
use crate::options::{AclEntry, LeaseMode};
use crate::path;
use crate::session::clock::Moment;
use crate::session::wire::frame::{self, Measure};
use crate::session::wire::{
    Applied, CreateMode, Created, Flight, Following, Stat, Watch, Wire, WireError, Write,
};

/// Parents whose access lists are remembered.
const MOST_PARENTS: usize = 1000;
/// Nodes that one request reads: what they say comes in one piece, and what is asked behind it waits.
const MOST_READS: usize = 32;

impl ServerSession {
    pub(crate) fn create(self: &Arc<Self>, path: &str, data: &[u8], mode: CreateMode) -> Flight<Created> {
        self.send(Request::Create, Proof::Quorum, self.measure.create(path, data, mode), |wire| {
            wire.create(path, data, mode, &self.acl)
        })
    }

    pub(crate) fn delete(self: &Arc<Self>, path: &str, version: Option<i32>) -> Flight<()> {
        self.send_deletion(path, |wire| wire.delete(path, version))
    }

    /// The same, behind all that was asked for before: for a node that may yet have to be created by it.
    pub(crate) fn delete_in_order(self: &Arc<Self>, path: &str) -> Flight<()> {
        self.send_deletion(path, |wire| wire.delete_in_order(path))
    }

    /// The same on that connection, or not at all: [`WireError::NotSent`]. For a node that was seen on it.
    pub(crate) fn delete_on(
        self: &Arc<Self>,
        on: ConnectionId,
        path: &str,
        version: Option<i32>,
    ) -> Flight<()> {
        if self.connection() != Some(on) {
            return Box::pin(std::future::ready(Err(WireError::NotSent)));
        }
        self.send_deletion(path, |wire| wire.delete_on(Some(on.generation), path, version))
    }

    fn send_deletion(
        self: &Arc<Self>,
        path: &str,
        request: impl FnOnce(&dyn Wire) -> Flight<()>,
    ) -> Flight<()> {
        let flight = self.send(Request::Delete, Proof::Quorum, self.measure.delete(path), request);
        let (server_session, parent) = (self.clone(), path::parent(path).to_owned());
        Box::pin(async move {
            let answer = flight.await;
            if answer == Err(WireError::NoAuth) {
                server_session.set_may_delete_below(parent, false);
            }
            answer
        })
    }

    /// Whether everybody may delete below `parent`, by its access list.
    pub(crate) fn is_open_to_deletion(self: &Arc<Self>, parent: &str) -> Flight<bool> {
        self.send(Request::Other, Proof::None, self.measure.read(parent), |wire| {
            wire.is_open_to_deletion(parent)
        })
    }

    /// Whether strangers can delete below `parent`, by its access list, and the czxid of the node that has it.
    pub(crate) fn is_open_to_strangers(self: &Arc<Self>, parent: &str) -> Flight<(bool, i64)> {
        self.send(Request::Other, Proof::None, self.measure.read(parent), |wire| {
            wire.is_open_to_strangers(parent)
        })
    }

    pub(crate) fn access_list(self: &Arc<Self>, path: &str) -> Flight<Vec<AclEntry>> {
        let list =
            self.send(Request::Other, Proof::None, self.measure.read(path), |wire| wire.access_list(path));
        Box::pin(async move { list.await.map(|(list, _)| list) })
    }

    /// Whether nodes below `parent` can be deleted by us; `None` when nobody has asked.
    pub(crate) fn may_delete_below(&self, parent: &str) -> Option<bool> {
        lock(&self.may_delete).get(parent).copied()
    }

    /// The parent is gone; who makes it again may give it another access list. What is above it may have gone with it.
    pub(crate) fn forget_deletions_below(&self, parent: &str) {
        lock(&self.may_delete).remove(parent);
        let mut vouched = lock(&self.vouched);
        if vouched.remove(parent).is_none() {
            return;
        }
        let mut gone = parent;
        while gone != "/" {
            gone = path::parent(gone);
            vouched.remove(gone);
        }
    }

    /// Whether the access list of this parent is known to be as it should, or has been told of.
    pub(crate) fn is_vouched_for(&self, parent: &str) -> bool {
        lock(&self.vouched).contains_key(parent)
    }

    /// `czxid` is that of the node whose list is known; `None` where no answer told it, and the next list does.
    pub(crate) fn vouch_for(&self, parent: &str, czxid: Option<i64>) {
        let mut vouched = lock(&self.vouched);
        if vouched.len() >= MOST_PARENTS {
            vouched.clear();
        }
        // Some answers do not tell it, and no node has that one.
        vouched.insert(parent.to_owned(), czxid.filter(|czxid| *czxid > 0));
    }

    /// An answer tells which node the parent is. Another one than was vouched for may have another access list.
    pub(crate) fn saw_parent(&self, parent: &str, czxid: i64) {
        let mut vouched = lock(&self.vouched);
        let Some(known) = vouched.get_mut(parent) else { return };
        if *known.get_or_insert(czxid) != czxid {
            drop(vouched);
            self.forget_deletions_below(parent);
        }
    }

    pub(crate) fn set_may_delete_below(&self, parent: String, are_allowed: bool) {
        let mut may_delete = lock(&self.may_delete);
        if may_delete.len() >= MOST_PARENTS {
            // A client that uses that many paths asks again now and then.
            may_delete.clear();
        }
        may_delete.insert(parent, are_allowed);
    }

    pub(crate) fn set_data(self: &Arc<Self>, path: &str, data: &[u8], version: Option<i32>) -> Flight<Stat> {
        self.send(Request::Set, Proof::Quorum, self.measure.set(path, data), |wire| {
            wire.set_data(path, data, version)
        })
    }

    /// The same on that connection, or not at all: [`WireError::NotSent`]. For a node that was seen on it.
    pub(crate) fn set_data_on(
        self: &Arc<Self>,
        on: ConnectionId,
        path: &str,
        data: &[u8],
        version: Option<i32>,
    ) -> Flight<Stat> {
        if self.connection() != Some(on) {
            return Box::pin(std::future::ready(Err(WireError::NotSent)));
        }
        self.send(Request::Set, Proof::Quorum, self.measure.set(path, data), |wire| {
            wire.set_data_on(Some(on.generation), path, data, version)
        })
    }

    pub(crate) fn multi(self: &Arc<Self>, writes: &[Write]) -> Flight<Vec<Applied>> {
        if writes.is_empty() {
            // Nothing to ask: an answer that no server gave must not feed the lease.
            return Box::pin(std::future::ready(Ok(Vec::new())));
        }
        self.send(Request::Multi, Proof::Quorum, self.measure.multi(writes), |wire| {
            wire.multi(writes, &self.acl)
        })
    }

    /// The same on that connection, or not at all: [`WireError::NotSent`]. For writes that mean what was seen on it.
    pub(crate) fn multi_on(self: &Arc<Self>, on: ConnectionId, writes: &[Write]) -> Flight<Vec<Applied>> {
        if self.connection() != Some(on) {
            return Box::pin(std::future::ready(Err(WireError::NotSent)));
        }
        self.send(Request::Multi, Proof::Quorum, self.measure.multi(writes), |wire| {
            wire.multi_on(Some(on.generation), writes, &self.acl)
        })
    }

    pub(crate) fn exists(self: &Arc<Self>, path: &str) -> Flight<Option<Stat>> {
        self.send(Request::Exists, Proof::None, self.measure.read(path), |wire| wire.exists(path))
    }

    pub(crate) fn get_data(self: &Arc<Self>, path: &str) -> Flight<(Vec<u8>, Stat)> {
        self.send(Request::Get, Proof::None, self.measure.read(path), |wire| wire.get_data(path))
    }

    /// The same of several nodes, of many in one request where the server knows such. Each has an answer of its own.
    pub(crate) fn get_each(self: &Arc<Self>, paths: &[String]) -> Vec<Flight<(Vec<u8>, Stat)>> {
        paths.chunks(MOST_READS).flat_map(|paths| self.get_together(paths)).collect()
    }

    fn get_together(self: &Arc<Self>, paths: &[String]) -> Vec<Flight<(Vec<u8>, Stat)>> {
        let bytes = self.measure.reads(paths);
        let is_one_by_one = paths.len() == 1 || self.several_reads.is_absent();
        if is_one_by_one || frame::fits(bytes).is_err() {
            return paths.iter().map(|path| self.get_data(path)).collect();
        }
        let link = self.link();
        let all = self.send(Request::Get, Proof::None, bytes, |wire| wire.get_each(paths));
        let server_session = self.clone();
        let learnt = move |answers| {
            server_session.several_reads.learn(server_session.session_id(), link, &answers);
            Arc::new(Mutex::new(answers))
        };
        let all = all.map(learnt).shared();
        let each = |(number, path): (usize, &String)| -> Flight<(Vec<u8>, Stat)> {
            let (all, server_session, path) = (all.clone(), self.clone(), path.clone());
            Box::pin(async move {
                let all = all.await;
                match &mut *lock(&all) {
                    Ok(answers) => {
                        let taken = Err(WireError::ConnectionLoss);
                        return answers
                            .get_mut(number)
                            .map_or(taken.clone(), |one| std::mem::replace(one, taken));
                    }
                    Err(WireError::Unimplemented) => {}
                    // A server may refuse what has too long an answer: together, but not alone.
                    Err(WireError::Other(_)) => {}
                    Err(error) => return Err(error.clone()),
                }
                server_session.get_data(&path).await
            })
        };
        paths.iter().enumerate().map(each).collect()
    }

    pub(crate) fn children(self: &Arc<Self>, path: &str) -> Flight<Vec<String>> {
        if !self.is_vouched_for(path) {
            return self
                .send(Request::Children, Proof::None, self.measure.read(path), |wire| wire.children(path));
        }
        let (server_session, listed, path) = (self.clone(), self.children_and_stat(path), path.to_owned());
        Box::pin(async move {
            let (names, stat) = listed.await?;
            server_session.saw_parent(&path, stat.czxid);
            Ok(names)
        })
    }

    pub(crate) fn children_and_stat(self: &Arc<Self>, path: &str) -> Flight<(Vec<String>, Stat)> {
        self.send(Request::Children, Proof::None, self.measure.read(path), |wire| {
            wire.children_and_stat(path)
        })
    }

    pub(crate) fn own_ephemerals(self: &Arc<Self>, path: &str) -> Flight<Vec<String>> {
        self.send(Request::Other, Proof::None, self.measure.sync(path), |wire| wire.own_ephemerals(path))
    }

    pub(crate) fn who_am_i(self: &Arc<Self>) -> Flight<Vec<String>> {
        self.send(Request::Other, Proof::None, self.measure.sync("/"), |wire| wire.who_am_i())
    }

    /// Tells that children of the node came or went, without a list of them; `None` where no server tells.
    pub(crate) fn follow_children(&self, path: &str) -> Option<Following> {
        self.wire.follow_children(path)
    }

    /// Tells once that children of the node came or went since its `pzxid` was that, without a list of them.
    pub(crate) fn watch_children_since(self: &Arc<Self>, path: &str, pzxid: i64) -> Flight<Watch> {
        self.send(Request::Other, Proof::None, self.measure.read(path), |wire| {
            wire.watch_children_since(path, pzxid)
        })
    }

    pub(crate) fn watch_exists(self: &Arc<Self>, path: &str) -> Flight<(Option<Stat>, Watch)> {
        self.send(Request::Exists, Proof::None, self.measure.read(path), |wire| wire.watch_exists(path))
    }

    pub(crate) fn watch_data(self: &Arc<Self>, path: &str) -> Flight<(Vec<u8>, Stat, Watch)> {
        self.send(Request::Get, Proof::None, self.measure.read(path), |wire| wire.watch_data(path))
    }

    pub(crate) fn watch_children(self: &Arc<Self>, path: &str) -> Flight<(Vec<String>, Stat, Watch)> {
        self.send(Request::Children, Proof::None, self.measure.read(path), |wire| wire.watch_children(path))
    }

    pub(crate) fn sync(self: &Arc<Self>, path: &str) -> Flight<()> {
        let proof = if self.terms.mode == LeaseMode::Relaxed { Proof::Quorum } else { Proof::Leader };
        self.send(Request::Sync, proof, self.measure.sync(path), |wire| wire.sync(path))
    }

    pub(crate) fn create_chroot(self: &Arc<Self>) -> Flight<()> {
        // Not one request but as many as it takes, or none: it proves nothing.
        self.send(
            Request::Create,
            Proof::None,
            self.measure.create("", b"", CreateMode::Persistent),
            |wire| wire.create_chroot(&self.acl),
        )
    }

    /// What measures this session's requests, for callers that want to know before they queue.
    pub(crate) fn measure(&self) -> Measure {
        self.measure
    }

    /// Asks the quorum whether all these conditions hold, in as few transactions as carry them; they leave together. They
    /// are about nodes of ours: one that is gone never comes back, so what every answer says was so for all of them at the
    /// first one.
    pub(crate) fn check(self: &Arc<Self>, conditions: impl IntoIterator<Item = Write>) -> Flight<()> {
        let mut checks: Vec<Vec<Write>> = vec![Vec::new()];
        let mut bytes = self.measure.empty_multi();
        for check in conditions {
            bytes += self.measure.part(&check);
            if frame::fits(bytes).is_err() {
                bytes = self.measure.multi([&check]);
                checks.push(Vec::new());
            }
            checks.last_mut().expect("one at least").push(check);
        }
        let flights: Vec<_> = checks.iter().map(|checks| self.multi(checks)).collect();
        Box::pin(async move {
            for flight in flights {
                flight.await?;
            }
            Ok(())
        })
    }

    fn send<T: Send + 'static>(
        self: &Arc<Self>,
        kind: Request,
        proof: Proof,
        bytes: usize,
        request: impl FnOnce(&dyn Wire) -> Flight<T>,
    ) -> Flight<T> {
        if let Err(error) = frame::fits(bytes) {
            return Box::pin(std::future::ready(Err(error)));
        }
        self.counters.requests.one(kind);
        self.counters.bytes_sent.add(bytes);
        if proof == Proof::None {
            return request(&*self.wire);
        }
        let is_beat = proof == Proof::Quorum;
        let sent = self.clock.now();
        lock(&self.lease).sent(sent, is_beat);
        let flight = request(&*self.wire);
        let server_session = self.clone();
        Box::pin(async move {
            let answer = flight.await;
            match &answer {
                Ok(_) => server_session.answered(sent, is_beat),
                Err(error) if error.is_verdict() => server_session.answered(sent, is_beat),
                Err(_) => {}
            }
            answer
        })
    }

    /// When the leader last answered, as far as anybody has looked.
    pub(crate) fn heard(&self) -> Moment {
        Moment(self.heard.load(Ordering::Acquire))
    }

    fn answered(&self, sent: Moment, is_beat: bool) {
        self.heard.fetch_max(self.clock.now().0, Ordering::AcqRel);
        let mut lease = lock(&self.lease);
        let (now, before) = (self.clock.now(), lease.certain_until());
        let was_firm = lease.is_firm(now);
        lease.answered(sent, now, is_beat);
        let has_moved = lease.certain_until() != before;
        let becomes_firm = !was_firm && lease.is_firm(now);
        let is_sooner = is_beat && lease.due(true).0 < self.planned.load(Ordering::Acquire);
        drop(lease);
        if has_moved {
            self.is_low.store(false, Ordering::Release);
            if !lock(&self.tenants).is_empty() {
                self.counters.lease_margin_min.meet(before.since(now));
            }
        }
        if has_moved || becomes_firm {
            self.lease_moved.notify_waiters();
        }
        if is_sooner && self.is_needed() {
            // What the next beat waits for is there.
            self.interest_came.notify_one();
        }
    }

    /// What is answered is no older than this call: a `sync` goes ahead of the read, on the same connection.
    pub(crate) async fn as_of_now<T, F>(
        self: &Arc<Self>,
        path: &str,
        request: impl FnOnce() -> F,
    ) -> Result<T, WireError>
    where
        F: Future<Output = Result<T, WireError>>,
    {
        self.behind(|_| Some(self.sync(path)), request).await
    }

    /// What is answered is no older than that beginning. One goes ahead of many requests with a single `sync`.
    pub(crate) async fn since<T, F>(
        self: &Arc<Self>,
        beginning: &Beginning,
        path: &str,
        request: impl FnOnce() -> F,
    ) -> Result<T, WireError>
    where
        F: Future<Output = Result<T, WireError>>,
    {
        self.behind(|_| Some(beginning.behind(self, path)), request).await
    }

    /// What a holder reads after a reconnection must not be older than what the last holder wrote: the new server may
    /// lag behind. So a `sync` goes ahead of the first read on a connection, and an answer counts only if it came on
    /// the connection on which the read was asked for: one that was sent later, on another, has no `sync` ahead.
    pub(crate) async fn caught_up<T, F>(
        self: &Arc<Self>,
        path: &str,
        request: impl FnOnce() -> F,
    ) -> Result<T, WireError>
    where
        F: Future<Output = Result<T, WireError>>,
    {
        if lock(&self.tenants).is_empty() {
            return request().await;
        }
        let sync = |generation| {
            let is_synced = self.synced.load(Ordering::Acquire) == generation;
            (!is_synced).then(|| self.catch_up(path))
        };
        self.behind(sync, request).await
    }

    /// Asks behind a `sync`, if that connection needs one. Both leave now, in this order; the server answers the request
    /// after it has caught up.
    async fn behind<T, F>(
        self: &Arc<Self>,
        sync: impl FnOnce(u64) -> Option<Flight<()>>,
        request: impl FnOnce() -> F,
    ) -> Result<T, WireError>
    where
        F: Future<Output = Result<T, WireError>>,
    {
        self.until_up().await;
        let generation = self.link().generation;
        let sync = sync(generation);
        let answer = request();
        if let Some(sync) = sync {
            sync.await?;
        }
        let answer = answer.await;
        if self.link().generation != generation {
            return Err(WireError::ConnectionLoss);
        }
        self.synced.store(generation, Ordering::Release);
        answer
    }

    /// Answered by the quorum, whatever it says: what this session asked for before has then been decided, which the
    /// answer to a `sync` does not prove, because a leader that was deposed gives it too. So it leaves behind what waits to leave.
    pub(crate) fn settle(self: &Arc<Self>, path: &str) -> Flight<()> {
        let check = [Write::Check { path: path.to_owned(), version: None }];
        let flight = self.send(Request::Multi, Proof::Quorum, self.measure.multi(&check), |wire| {
            wire.multi_in_order(&check, &self.acl)
        });
        Box::pin(async move {
            match flight.await {
                // The path may not be read, says the quorum.
                Err(WireError::Part { error, .. }) if *error == WireError::NoAuth => Ok(()),
                Err(WireError::Part { error, .. }) => Err(*error),
                answer => answer.map(drop),
            }
        })
    }
}

#[derive(Copy, Clone, PartialEq, Eq)]
enum Proof {
    /// Any server answers by itself: it proves nothing.
    None,
    /// Answered through the leader, or one that was deposed.
    Leader,
    /// Only the quorum answers.
    Quorum,
}
