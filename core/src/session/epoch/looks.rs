//! Lists that are shared, of all children or of those that are ephemeral nodes of this session. Several callers of one session may want the children of a path at the same time. Those that
//! come while a list is under way all wait for the next one. So a thousand callers cost two lists, and not a thousand
//! lists of a thousand names. Nobody is given a list that left before it was asked for. Whoever waits drives it, and no
//! task has to be woken for that.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use futures_util::future::{Shared, WeakShared};

use super::{Epoch, lock};
use crate::path;
use crate::session::wire::{Flight, WireError};

/// The names of a node's children, shared by all who asked for them.
pub(crate) type Names = Arc<Vec<String>>;

/// What is asked for, as long as anybody waits for it.
#[derive(Default)]
pub(super) struct Looks(Mutex<Lists>);

/// Below which path, and whose.
type What = (String, Whose);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Whose {
    Anybodys,
    Ours,
}

#[derive(Default)]
struct Lists {
    all: BTreeMap<What, Asked>,
    /// How many there were after those that nobody waits for had been removed last.
    kept: usize,
}

struct Asked {
    /// Has left, or is about to.
    current: Weak,
    /// Leaves when that has been answered, if anybody wants it.
    next: Option<Weak>,
    /// Whether a `sync` is to go ahead of the next one.
    is_synced: bool,
}

type Weak = WeakShared<Flight<Names>>;

/// So many more than were kept may be there before they are looked through.
const MOST_OVER: usize = 64;

impl Lists {
    fn add(&mut self, what: What, asked: Asked) {
        if self.all.len() > 2 * self.kept + MOST_OVER {
            self.all.retain(|_, asked| asked.is_waited_for());
            self.kept = self.all.len();
        }
        self.all.insert(what, asked);
    }
}

impl Asked {
    fn is_waited_for(&self) -> bool {
        live(&self.current).or_else(|| self.next.as_ref().and_then(live)).is_some()
    }
}

fn live(flight: &Weak) -> Option<Shared<Flight<Names>>> {
    flight.upgrade().filter(|flight| flight.peek().is_none())
}

fn weak(flight: &Shared<Flight<Names>>) -> Weak {
    flight.downgrade().expect("it was not awaited yet")
}

impl Epoch {
    /// The children of `path`, by a list that leaves now or later, if wanted behind a `sync`.
    pub(crate) fn look(self: &Arc<Self>, path: &str, is_synced: bool) -> Flight<Names> {
        self.look_for((path.to_owned(), Whose::Anybodys), is_synced)
    }

    /// Those of them that are ephemeral nodes of this session, which are few where very many contend. Of a server that does
    /// not tell them apart, all children.
    pub(crate) fn look_for_own(self: &Arc<Self>, path: &str) -> Flight<Names> {
        self.look_for((path.to_owned(), Whose::Ours), false)
    }

    fn look_for(self: &Arc<Self>, what: What, is_synced: bool) -> Flight<Names> {
        let mut lists = lock(&self.looks.0);
        if let Some(asked) = lists.all.get_mut(&what) {
            if let Some(next) = asked.next.as_ref().and_then(live) {
                asked.is_synced |= is_synced;
                return Box::pin(next);
            }
            if let Some(current) = live(&asked.current) {
                let next = self.next(what, current).shared();
                (asked.next, asked.is_synced) = (Some(weak(&next)), is_synced);
                return Box::pin(next);
            }
        }
        // Sent here, so that it leaves in one flight with what the caller sent before.
        let list = self.list(&what, is_synced).shared();
        let asked = Asked { current: weak(&list), next: None, is_synced: false };
        lists.add(what, asked);
        Box::pin(list)
    }

    /// Lists when `current` has been answered.
    fn next(self: &Arc<Self>, what: What, current: Shared<Flight<Names>>) -> Flight<Names> {
        let epoch = self.clone();
        Box::pin(async move {
            let _ = current.await;
            let mut is_synced = false;
            if let Some(asked) = lock(&epoch.looks.0).all.get_mut(&what)
                && let Some(next) = asked.next.take()
            {
                // Who asks from now on waits for the one after this.
                asked.current = next;
                is_synced = asked.is_synced;
            }
            epoch.list(&what, is_synced).await
        })
    }

    fn list(self: &Arc<Self>, (path, whose): &What, is_synced: bool) -> Flight<Names> {
        let synced = is_synced.then(|| self.sync(path));
        let listed = match whose {
            Whose::Anybodys => self.children(path),
            Whose::Ours => self.own_children(path),
        };
        Box::pin(async move {
            if let Some(synced) = synced {
                // Whatever it was refused for, the list behind it does not count.
                synced.await.map_err(|_| WireError::ConnectionLoss)?;
            }
            listed.await.map(Arc::new)
        })
    }

    fn own_children(self: &Arc<Self>, path: &str) -> Flight<Vec<String>> {
        if self.keeps_to_itself.load(Ordering::Acquire) {
            return self.children(path);
        }
        let (epoch, path, told) = (self.clone(), path.to_owned(), self.own_ephemerals(path));
        Box::pin(async move {
            match told.await {
                Ok(nodes) => {
                    let here = nodes.iter().filter(|node| path::parent(node) == path);
                    Ok(here.map(|node| path::name(node).to_owned()).collect())
                }
                Err(WireError::Unimplemented) => {
                    epoch.keeps_to_itself.store(true, Ordering::Release);
                    epoch.children(&path).await
                }
                Err(error) => Err(error),
            }
        })
    }
}
