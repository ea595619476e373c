//! Lists that are shared, of all children or of those that are ephemeral nodes of this session. Several callers of one
//! session may want the same list at the same time. Those that come while it is under way all wait for the next one. So a
//! thousand callers cost two lists, and not a thousand lists of a thousand names. Nobody is given a list that left before
//! it was asked for. What they make of the names is shared as well, so that it is made once for each list.

use std::any::Any;
use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, OnceLock};

use tokio::sync::oneshot;

use super::ServerSession;
use crate::mutex::lock;
use crate::path;
use crate::session::wire::{Flight, WireError};

/// The names of a node's children, shared by all who asked for them.
pub(crate) type SharedNames = Arc<Listed>;

/// One list, and what has been made of it.
pub(crate) struct Listed {
    names: Vec<String>,
    read: OnceLock<Box<dyn Any + Send + Sync>>,
}

impl Listed {
    pub(crate) fn new(names: Vec<String>) -> Listed {
        Listed { names, read: OnceLock::new() }
    }

    /// What the first caller's `read` has made of the names. All make the same of it.
    pub(crate) fn read_once<T: Send + Sync + 'static>(&self, read: impl FnOnce(&[String]) -> T) -> &T {
        let made = self.read.get_or_init(|| Box::new(read(&self.names)));
        made.downcast_ref().expect("a list is read in one way only")
    }
}

impl Deref for Listed {
    type Target = [String];

    fn deref(&self) -> &[String] {
        &self.names
    }
}

/// Below which path, and whose.
type ListOf = (String, Whose);

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Whose {
    Anybodys,
    Ours,
}

/// While a list is under way: the callers that wait for the one after it.
#[derive(Default)]
pub(super) struct SharedLists(Mutex<BTreeMap<ListOf, Next>>);

type Caller = oneshot::Sender<Result<SharedNames, WireError>>;

#[derive(Default)]
struct Next {
    callers: Vec<Caller>,
    is_synced: bool,
}

impl ServerSession {
    /// The children of `path`, by a list that leaves now or later, if wanted behind a `sync`.
    pub(crate) fn list_children(self: &Arc<Self>, path: &str, is_synced: bool) -> Flight<SharedNames> {
        self.list_shared((path.to_owned(), Whose::Anybodys), is_synced)
    }

    /// Those of them that are ephemeral nodes of this session, which are few where very many contend. Of a server that does
    /// not tell them apart, all children.
    pub(crate) fn list_own_children(self: &Arc<Self>, path: &str) -> Flight<SharedNames> {
        self.list_shared((path.to_owned(), Whose::Ours), false)
    }

    fn list_shared(self: &Arc<Self>, of: ListOf, is_synced: bool) -> Flight<SharedNames> {
        let (caller, answered) = oneshot::channel();
        let mut lists = lock(&self.shared_lists.0);
        if let Some(next) = lists.get_mut(&of) {
            next.callers.push(caller);
            next.is_synced |= is_synced;
        } else {
            lists.insert(of.clone(), Next::default());
            drop(lists);
            // Sent here and not in the task, so that it leaves in one flight with what the caller sent before.
            let first = self.list(&of, is_synced);
            self.clock.spawn(Box::pin(self.clone().answer(of, first, vec![caller])));
        }
        Box::pin(async move { answered.await.unwrap_or(Err(WireError::ConnectionLoss)) })
    }

    fn list(self: &Arc<Self>, (path, whose): &ListOf, is_synced: bool) -> Flight<SharedNames> {
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
            listed.await.map(|names| Arc::new(Listed::new(names)))
        })
    }

    /// Tells what a list says, then lists for those who came meanwhile, as long as there are any.
    async fn answer(self: Arc<Self>, of: ListOf, mut list: Flight<SharedNames>, mut callers: Vec<Caller>) {
        loop {
            let answer = list.await;
            for caller in callers {
                // Some callers may not wait any more.
                let _ = caller.send(answer.clone());
            }
            let mut lists = lock(&self.shared_lists.0);
            let next = lists.get_mut(&of).map(std::mem::take).unwrap_or_default();
            callers = next.callers.into_iter().filter(|caller| !caller.is_closed()).collect();
            if callers.is_empty() {
                lists.remove(&of);
                return;
            }
            drop(lists);
            list = self.list(&of, next.is_synced);
        }
    }

    fn own_children(self: &Arc<Self>, path: &str) -> Flight<Vec<String>> {
        if self.own_list.is_absent() {
            return self.children(path);
        }
        let link = self.link();
        let (server_session, path, told) = (self.clone(), path.to_owned(), self.own_ephemerals(path));
        Box::pin(async move {
            let told = told.await;
            server_session.own_list.learn(server_session.session_id(), link, &told);
            match told {
                Ok(nodes) => {
                    let here = nodes.iter().filter(|node| path::parent(node) == path);
                    Ok(here.map(|node| path::name(node).to_owned()).collect())
                }
                Err(WireError::Unimplemented) => server_session.children(&path).await,
                Err(error) => Err(error),
            }
        })
    }
}
