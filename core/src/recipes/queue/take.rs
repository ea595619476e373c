//! Taking an item for good: it is removed before anybody gets to see it.
//!
//! An item of version 0 has never been claimed, so deleting it at that version is enough. Later a claim may stand; then
//! making and deleting the node of a claim in the same transaction proves that none does. Either way it is known in the end
//! whether the transaction was applied, so an item whose removal lost its answer is not lost; one that was not removed is read again.
//!
//! An item that was taken for nobody goes back to its old place, as long as that is there. Where its parent was made anew since, or
//! somebody has its name, it goes to the end: a name from before would stand in the way of the new numbers. The parent is older
//! than its items, so its time tells.

use std::convert::Infallible;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Context;

use tokio::sync::oneshot;

use super::items_parent;
use super::layout::{ItemName, make_claims, make_items};
use super::listing::{HandedOutItem, ReadItem};
use super::returns::Return;
use super::store::Store;
use crate::error::{Error, ErrorKind, Result};
use crate::futures::unless;
use crate::mutex::lock;
use crate::process::UnlessForked;
use crate::session::Session;
use crate::session::call::{Call, LOOK_AFTER};
use crate::session::once::AppliedOnce;
use crate::session::once::combined::CombinedOutcome;
use crate::session::refusal::refusal;
use crate::session::skipped_nodes::Flaw;
use crate::session::wire::{CreateMode, WireError, Write};

pub(super) const VERB: &str = "get";
const PUTTING_BACK: &str = "putting back";

/// An item that was taken. Dropped before somebody has it, it goes back to its old place.
#[must_use = "dropping it puts the item back"]
pub struct Got {
    store: Arc<Store>,
    session: Arc<Session>,
    data: Vec<u8>,
    /// What undoes it; `None` once somebody has the data.
    put_back: Option<PutBack>,
    name: ItemName,
}

impl Got {
    /// The data, which is the caller's from now on.
    pub fn hand_over(mut self) -> Vec<u8> {
        self.put_back = None;
        self.session.counters.gets.one();
        std::mem::take(&mut self.data)
    }
}

impl Drop for Got {
    fn drop(&mut self) {
        let Some(put_back) = self.put_back.take().filter(|_| self.session.process().is_present()) else {
            return;
        };
        let (store, session, name) = (self.store.clone(), self.session.clone(), self.name.clone());
        let mut returning = Some(store.returns.begin());
        // Closing waits for it.
        drop(self.session.in_background(async move {
            match store.put_back(&session, put_back, &mut returning).await {
                Ok(()) => store.listing.add_again(name),
                Err(error) => store.tell_not_put_back(&error),
            }
            drop(returning);
        }));
    }
}

impl std::fmt::Debug for Got {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Got").field("path", &self.store.layout.path).finish_non_exhaustive()
    }
}

/// What came of a removal.
enum Removal {
    Got(Got),
    /// Somebody else was faster.
    Lost,
    /// It was held up by another one, and is to be read again.
    Unsure(HandedOutItem),
}

impl Store {
    /// Takes the next item, as soon as there is one.
    pub(super) async fn take(self: &Arc<Self>, session: Arc<Session>, mut call: Call) -> Result<Got> {
        self.look_after_keys(&session);
        let mut turn = self.until_returned(&mut call, VERB).await?;
        let mut again = None;
        loop {
            let mut out = match again.take() {
                Some(out) => out,
                None => {
                    let mut next = pin!(self.next(&session, &mut call, VERB));
                    // Once it looks for an item, it has its place.
                    let has_place = |cx: &mut Context<'_>| {
                        let found = next.as_mut().poll(cx);
                        turn = None;
                        found
                    };
                    poll_fn(has_place).await?
                }
            };
            let Some(seen) = out.read(&mut call, VERB).await? else {
                out.mark_gone();
                continue;
            };
            let Some((out, ..)) = self.move_if_dead(&mut call, VERB, out, &seen).await? else {
                continue;
            };
            // In the background, and closing waits for it, in whatever session: if the caller goes, what comes of it goes back. So it does
            // where the caller is there and is not polled when the client closes.
            let (answer, answered) = oneshot::channel();
            let (is_heard, heard) = oneshot::channel::<Infallible>();
            // A forked child has no task of its parent's to wake.
            let is_heard = UnlessForked::new(is_heard);
            let (unheard, store, about) = (Arc::new(Mutex::new(None)), self.clone(), session.clone());
            let removed = unheard.clone();
            let hearing = self.returns.unless_heard();
            let under_way = hearing.under_way();
            drop(session.in_background(async move {
                let outcome = store.clone().remove(about.clone(), out, seen).await;
                let has_got = matches!(outcome, Ok(Removal::Got(_)));
                *lock(&unheard) = Some(outcome);
                let is_waited_for = answer.send(()).is_ok();
                if is_waited_for && has_got {
                    unless(heard, about.until_closing()).await;
                }
                if !is_waited_for || has_got {
                    let unheard = lock(&unheard).take();
                    if let Some(Err(error)) = &unheard {
                        let path = &store.layout.path;
                        tracing::warn!(target: "zkrecipes", event = "removal_unheard", path, %error, "nobody waits any more to hear what became of a removal");
                    }
                }
                drop(under_way);
            }));
            let answered = async {
                let is_over = answered.await.is_ok();
                let taken_back = || if is_over { Error::closed("client") } else { vanished() };
                Ok(lock(&removed).take().unwrap_or_else(|| Err(taken_back())))
            };
            // The answer is an error of ours, and none of the server's.
            if let Ok(removed) = call.receive(VERB, answered).await? {
                hearing.mark_heard();
                drop(is_heard);
                match removed? {
                    Removal::Got(got) => return Ok(got),
                    Removal::Unsure(out) => again = Some(out),
                    Removal::Lost => {}
                }
            }
        }
    }

    /// Removes an item that was read.
    async fn remove(
        self: Arc<Self>,
        session: Arc<Session>,
        mut out: HandedOutItem,
        seen: ReadItem,
    ) -> Result<Removal> {
        let (layout, ReadItem { bytes, stat, on, same_parent }) = (&*self.layout, seen);
        let (data, rest) = layout.decode(&bytes).map_err(|error| error.with_path(out.path()))?;
        let mut writes = Vec::new();
        let has_claim = stat.version != 0 || layout.has_claims_of_peers;
        if has_claim {
            writes.extend(layout.proof_of_no_claim(&session, &out.name.text));
        }
        writes.extend(layout.end_of_pause(&out.name.text, out.pause.as_deref(), stat.version));
        let (end, has_rest) = (layout.again(&out.name, layout), rest.is_some());
        // Others in the same node stay, and a copy of its own goes to the end if nobody has this one.
        let put_back = match rest {
            None => PutBack::in_its_place(out.path(), stat.czxid, bytes, end),
            Some(_) => PutBack::at_the_end(end, layout.encode(&data)),
        };
        let (removal, goes) = self.removal_of(&out.name, out.path(), rest, stat.version);
        writes.extend(removal);
        let about_item = writes.len();
        writes.extend(same_parent);
        let mut call = session.call(None).outlasting();
        loop {
            let removed = match self.removals.apply(&session, writes.clone(), on).await {
                // What is left for others does not fit beside the rest.
                Err(error) if error.kind() == ErrorKind::TooLarge => {
                    out.set_aside(&session, Flaw::Size);
                    return Ok(Removal::Lost);
                }
                removed => removed.map_err(|error| error.with_path(&layout.path))?,
            };
            match removed {
                CombinedOutcome::Applied => {
                    self.listing.count_race(false, session.now());
                    self.forget_unseen(&session, &out.name.text, stat.version);
                    let name = out.name.clone();
                    // What is left of the node is for others.
                    match goes {
                        true => out.mark_removed(),
                        false => drop(out),
                    }
                    let (store, session, put_back) = (self.clone(), session.clone(), Some(put_back));
                    return Ok(Removal::Got(Got { store, session, data, put_back, name }));
                }
                CombinedOutcome::Refused(0, WireError::NoNode) if has_claim => {
                    make_claims(&session, &mut call, VERB, layout).await?;
                }
                CombinedOutcome::Refused(part, WireError::BadVersion | WireError::NoNode)
                    if part == about_item =>
                {
                    out.mark_moved();
                    return Ok(Removal::Lost);
                }
                // Claimed since it was read, or given back: it has another version.
                CombinedOutcome::Refused(_, WireError::BadVersion) => {
                    self.listing.count_race(true, session.now());
                    return Ok(Removal::Lost);
                }
                CombinedOutcome::Refused(_, WireError::NoNode | WireError::NodeExists) => {
                    self.listing.count_race(true, session.now());
                    out.mark_gone();
                    return Ok(Removal::Lost);
                }
                // Somebody has made nodes below it.
                CombinedOutcome::Refused(_, WireError::NotEmpty) => {
                    out.set_aside(&session, Flaw::Children);
                    return Ok(Removal::Lost);
                }
                // We may read it, and not write what is left for others.
                CombinedOutcome::Refused(part, WireError::NoAuth | WireError::QuotaExceeded)
                    if has_rest && part + 1 == about_item =>
                {
                    out.set_aside(&session, Flaw::Denied);
                    return Ok(Removal::Lost);
                }
                CombinedOutcome::Refused(_, error) => return Err(refusal(error, VERB, &layout.path)),
                CombinedOutcome::Unsure => return Ok(Removal::Unsure(out)),
            }
        }
    }

    /// Waits for a server as long as the client lives, and closing waits for it. While it may not go back, nobody waits for that.
    async fn put_back(
        &self,
        session: &Arc<Session>,
        mut put_back: PutBack,
        returning: &mut Option<Return>,
    ) -> Result<()> {
        let mut call = session.call(None).outlasting();
        loop {
            let is_last_try = session.is_closing();
            let may_go_to_the_end = match self.create_again(session, &mut call, &put_back).await {
                Ok(None) => return Ok(()),
                Ok(Some(WireError::NoNode)) => {
                    make_items(session, &mut call, PUTTING_BACK, &self.layout.items).await
                }
                Ok(Some(WireError::NodeExists)) if !put_back.is_at_the_end() => Ok(()),
                Ok(Some(error)) => Err(refusal(error, PUTTING_BACK, &put_back.path)),
                Err(error) => Err(error),
            };
            match may_go_to_the_end {
                // The item, its mark or its parent. Somebody has to grant it, or to make room, as whoever comes next does.
                Err(refused) if refused.kind() == ErrorKind::Denied && !is_last_try => {
                    if returning.take().is_some() {
                        self.tell_not_put_back(&refused);
                    }
                    let again = session.clock().sleep_until(session.now() + LOOK_AFTER);
                    unless(again, session.until_closing()).await;
                    continue;
                }
                granted => granted?,
            }
            put_back.path.clone_from(&put_back.end);
        }
    }

    fn tell_not_put_back(&self, error: &Error) {
        let path = &self.layout.path;
        tracing::error!(target: "zkrecipes", event = "item_not_put_back", path, %error, "an item that was taken for nobody could not be put back");
    }

    /// Creates it at the end, or in its old place if its parent is still the same; answers why not.
    async fn create_again(
        &self,
        session: &Arc<Session>,
        call: &mut Call,
        put_back: &PutBack,
    ) -> Result<Option<WireError>> {
        loop {
            let (server_session, on) = call.connection(PUTTING_BACK).await?;
            let mut writes = vec![put_back.write()];
            if !put_back.is_at_the_end() {
                let items = &self.layout.items;
                let (synced, parent) = (server_session.sync(items), server_session.exists(items));
                let synced = call.receive(PUTTING_BACK, synced).await?;
                match synced.and(call.receive(PUTTING_BACK, parent).await?) {
                    Ok(Some(parent)) if parent.czxid < put_back.czxid => {
                        writes.push(items_parent::check(items, parent.version));
                    }
                    Ok(Some(_)) => return Ok(Some(WireError::NodeExists)),
                    Ok(None) => return Ok(Some(WireError::NoNode)),
                    Err(error) if !error.is_unanswered() => return Ok(Some(error)),
                    Err(_) => {
                        call.retry_after_loss(PUTTING_BACK).await?;
                        continue;
                    }
                }
            }
            // Closing waits for this, and so for what its mark tells.
            let mut used = self.marks.take_through_closing(session);
            match self.marks.apply_seen_with(&mut used, call, PUTTING_BACK, &writes, on).await? {
                Some(AppliedOnce::Applied) => return Ok(None),
                // It has another version by now, or is another one.
                None | Some(AppliedOnce::Refused(1, WireError::BadVersion | WireError::NoNode)) => {}
                Some(AppliedOnce::Refused(_, error)) => return Ok(Some(error)),
            }
        }
    }
}

/// What makes the item again.
pub(super) struct PutBack {
    path: String,
    /// When the item was created.
    czxid: i64,
    data: Vec<u8>,
    /// Where it goes to the end; `path` itself when it does.
    end: String,
}

impl PutBack {
    pub(super) fn in_its_place(path: String, czxid: i64, data: Vec<u8>, end: String) -> PutBack {
        PutBack { path, czxid, data, end }
    }

    pub(super) fn at_the_end(end: String, data: Vec<u8>) -> PutBack {
        PutBack { path: end.clone(), czxid: 0, data, end }
    }

    pub(super) fn is_at_the_end(&self) -> bool {
        self.path == self.end
    }

    fn write(&self) -> Write {
        Write::Create { path: self.path.clone(), data: self.data.clone(), mode: self.mode(), acl: None }
    }

    /// Persistent even if the item was not: an ephemeral node of ours would go with us, who never put it.
    fn mode(&self) -> CreateMode {
        match self.is_at_the_end() {
            true => CreateMode::PersistentSequential,
            false => CreateMode::Persistent,
        }
    }
}

fn vanished() -> Error {
    Error::new(
        ErrorKind::Internal,
        "an item was being taken and nothing came of it, which is a bug of zkrecipes; please report it",
    )
}
