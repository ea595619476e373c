//! What the watches of a call that looks for items have told: which there are, and which of them are claimed.

use std::sync::Arc;

use futures_util::future::join;

use super::layout::Layout;
use super::pause::{Free, free};
use crate::error::Result;
use crate::session::Session;
use crate::session::call::Call;
use crate::session::watching::{Children, Watching};

pub(super) struct Told {
    items: Seen,
    claims: Seen,
}

/// The children of one node, as they were told last.
struct Seen {
    watching: Watching<Children>,
    names: Option<Vec<String>>,
    /// Whether nobody has taken note of that yet.
    is_news: bool,
}

impl Told {
    pub(super) fn new(session: &Arc<Session>, layout: &Layout, verb: &'static str) -> Told {
        let seen = |path| Seen { watching: session.watch_children(verb, path), names: None, is_news: false };
        Told { items: seen(&layout.items), claims: seen(&layout.claims) }
    }

    /// What `free` answers, if that is news.
    pub(super) fn news(&mut self, layout: &Layout, now: i64) -> Option<(Vec<Free>, Vec<String>)> {
        let (Some(names), Some(claimed)) = (&self.items.names, &self.claims.names) else { return None };
        let is_new = std::mem::take(&mut self.items.is_news) | std::mem::take(&mut self.claims.is_news);
        is_new.then(|| free(layout, names, claimed, now))
    }

    /// Resolves when there is news.
    pub(super) async fn changed(&mut self) -> Result<()> {
        tokio::select! {
            biased;
            told = self.claims.watching.next() => self.claims.learn(told?),
            told = self.items.watching.next() => self.items.learn(told?),
        }
        // What was asked for at the same time comes now, too.
        self.catch_up().await
    }

    /// Learns all that the server has told until now. What that takes is asked in one flight.
    pub(super) async fn catch_up(&mut self) -> Result<()> {
        // The claims first: what is claimed in between shows when it is taken.
        let (claims, items) = join(self.claims.catch_up(), self.items.catch_up()).await;
        claims.and(items)
    }

    /// The same within the budget of the call.
    pub(super) async fn catch_up_within(&mut self, call: &mut Call, verb: &str) -> Result<()> {
        // The answer is an error of ours, and none of the server's.
        let caught_up = async { Ok(self.catch_up().await) };
        call.briefly(verb, caught_up).await?.unwrap_or(Ok(()))
    }
}

impl Seen {
    fn learn(&mut self, children: Children) {
        self.names = Some(children.0.map(|(names, _)| names).unwrap_or_default());
        self.is_news = true;
    }

    /// What it learns it keeps, also if the other one takes longer than anybody waits: it is told once.
    async fn catch_up(&mut self) -> Result<()> {
        if let Some(children) = self.watching.latest().await? {
            self.learn(children);
        }
        Ok(())
    }
}
