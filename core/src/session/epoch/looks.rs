//! Lists that are shared. Several callers of one session may want the children of a path at the same time. Those that
//! come while a list is under way all wait for the next one. So a thousand callers cost two lists, and not a thousand
//! lists of a thousand names. Nobody is given a list that left before it was asked for.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tokio::sync::oneshot;

use super::{Epoch, lock};
use crate::session::wire::{Flight, WireError};

/// The names of a node's children, shared by all who asked for them.
pub(crate) type Names = Arc<Vec<String>>;

/// By path, while a list is under way: the callers that wait for the one after it.
#[derive(Default)]
pub(super) struct Looks(Mutex<BTreeMap<String, Next>>);

type Asker = oneshot::Sender<Result<Names, WireError>>;

#[derive(Default)]
struct Next {
    askers: Vec<Asker>,
    is_synced: bool,
}

impl Epoch {
    /// The children of `path`, by a list that leaves now or later, if wanted behind a `sync`.
    pub(crate) fn look(self: &Arc<Self>, path: &str, is_synced: bool) -> Flight<Names> {
        let (asker, answered) = oneshot::channel();
        let mut looks = lock(&self.looks.0);
        if let Some(next) = looks.get_mut(path) {
            next.askers.push(asker);
            next.is_synced |= is_synced;
        } else {
            looks.insert(path.to_owned(), Next::default());
            drop(looks);
            // Sent here and not in the task, so that it leaves in one flight with what the caller sent before.
            let first = self.list(path, is_synced);
            self.clock.spawn(Box::pin(self.clone().answer(path.to_owned(), first, vec![asker])));
        }
        Box::pin(async move { answered.await.unwrap_or(Err(WireError::ConnectionLoss)) })
    }

    fn list(self: &Arc<Self>, path: &str, is_synced: bool) -> Flight<Names> {
        let synced = is_synced.then(|| self.sync(path));
        let listed = self.children(path);
        Box::pin(async move {
            if let Some(synced) = synced {
                // Whatever it was refused for, the list behind it does not count.
                synced.await.map_err(|_| WireError::ConnectionLoss)?;
            }
            listed.await.map(Arc::new)
        })
    }

    /// Tells what a list says, then lists for those who came meanwhile, as long as there are any.
    async fn answer(self: Arc<Self>, path: String, mut list: Flight<Names>, mut askers: Vec<Asker>) {
        loop {
            let answer = list.await;
            for asker in askers {
                // Some callers may not wait any more.
                let _ = asker.send(answer.clone());
            }
            let mut looks = lock(&self.looks.0);
            let next = looks.get_mut(&path).map(std::mem::take).unwrap_or_default();
            askers = next.askers.into_iter().filter(|asker| !asker.is_closed()).collect();
            if askers.is_empty() {
                looks.remove(&path);
                return;
            }
            drop(looks);
            list = self.list(&path, next.is_synced);
        }
    }
}
