//! What the watches of a consumer that waits have told: which items there are, and which of them are claimed.

use std::sync::Arc;

use futures_util::future::join;

use super::layout::{self, FreeItem, StrayPause};
use super::listing::{ItemListing, Look};
use crate::error::Result;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::watching::{Children, Watching};
use crate::session::wire::Stat;

/// The items and the claims of one queue, as they were told last.
pub(super) struct WatchedLists {
    listing: Arc<ItemListing>,
    items: WatchedChildren,
    claims: WatchedChildren,
    /// Since when all is known that has been told; `None` while there may be more.
    caught_up: Option<Look>,
}

/// The children of one node, as they were told last.
struct WatchedChildren {
    watching: Watching<Children>,
    names: Option<Vec<String>>,
    /// What was told of their parent.
    stat: Option<Stat>,
    /// Whether nobody has taken note of that yet.
    is_news: bool,
}

impl WatchedLists {
    pub(super) fn new(
        session: &Arc<Session>,
        listing: &Arc<ItemListing>,
        verb: &'static str,
    ) -> WatchedLists {
        let watch = |path| WatchedChildren {
            watching: session.watch_children(verb, path),
            names: None,
            stat: None,
            is_news: false,
        };
        let (items, claims) = (watch(&listing.layout.items), watch(&listing.layout.claims));
        WatchedLists { listing: listing.clone(), items, claims, caught_up: None }
    }

    /// What `layout::free` answers, if that is news.
    pub(super) fn news(&mut self) -> Option<(Look, Vec<FreeItem>, Vec<StrayPause>)> {
        let look = self.caught_up.take()?;
        let (Some(names), Some(claimed)) = (&self.items.names, &self.claims.names) else { return None };
        let is_new = std::mem::take(&mut self.items.is_news) | std::mem::take(&mut self.claims.is_news);
        // Then the items have changed since the last of the claims came. What of both is told together may be of different times.
        let are_items_newer = match (&self.items.stat, &self.claims.stat) {
            (Some(items), Some(claims)) => items.pzxid >= claims.pzxid,
            _ => false,
        };
        let (found, strays) =
            is_new.then(|| layout::free(&self.listing.layout, names, claimed, are_items_newer))?;
        Some((look, found, strays))
    }

    /// Resolves when there is news.
    pub(super) async fn changed(&mut self) -> Result<()> {
        // What was told to somebody who did not wait for the rest is news still.
        if !self.items.is_news && !self.claims.is_news {
            tokio::select! {
                biased;
                told = self.claims.watching.next() => self.claims.learn(told?),
                told = self.items.watching.next() => self.items.learn(told?),
            }
        }
        // What was asked for at the same time comes now, too.
        self.catch_up().await
    }

    /// Learns all that the server has told until now. What that takes is asked in one flight.
    async fn catch_up(&mut self) -> Result<()> {
        // What it had told before this is part of it, also where a watch tells it only now.
        let look = self.listing.begin_look();
        // The claims first: what is claimed in between shows when it is taken.
        let (claims, items) = join(self.claims.catch_up(), self.items.catch_up()).await;
        claims.and(items)?;
        if let Some(stat) = &self.items.stat {
            self.listing.parent.learn(stat);
        }
        self.caught_up = Some(look);
        Ok(())
    }

    /// The same within the budget of the call.
    pub(super) async fn catch_up_within(&mut self, call: &mut Call, verb: &str) -> Result<()> {
        // The answer is an error of ours, and none of the server's.
        let caught_up = async { Ok(self.catch_up().await) };
        call.receive(verb, caught_up).await?.unwrap_or(Ok(()))
    }
}

impl WatchedChildren {
    fn learn(&mut self, children: Children) {
        let (names, stat) = children.0.unzip();
        (self.names, self.stat) = (Some(names.unwrap_or_default()), stat);
        self.is_news = true;
    }

    /// What it learns it keeps, also if the other one takes longer than anybody waits: it is told once.
    async fn catch_up(&mut self) -> Result<()> {
        // An answer that is on its way already is of before: what the server has told since comes behind it.
        let looks = if self.watching.is_asking() { 2 } else { 1 };
        for _ in 0..looks {
            if let Some(children) = self.watching.latest().await? {
                self.learn(children);
            }
        }
        Ok(())
    }
}
