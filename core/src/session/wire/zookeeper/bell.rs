//! What a session cannot watch node by node, because it watches as much as it can already (see `watched`), is heard of by
//! bells: a bell is one recursive watch on a node, for all its children.
//!
//! 1. Who asks for a node that is not watched has the bell of its parent set before, in the same flight. The bell rings for that
//!    node, or for its children, once; then it is time to look again.
//! 2. The crate does not set such a watch again on another connection. It tells of the break, and the bell rings for all.
//! 3. Servers before 3.9 forget a recursive watch when the same path is watched in the ordinary way, too (ZOOKEEPER-4466). The
//!    events of later ones name their transaction. Until one on this connection has, there is no bell, and none at the root,
//!    where it would ring for everybody's changes: then the node is looked at now and then.
//! 4. A bell that nobody listens to is taken back, but not before its own path is watched no more: the crate would not tell the
//!    server.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Weak};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::oneshot;
use zookeeper_client as zk;

use super::super::watched::Watched;
use super::super::*;
use super::link::WatchedLink;
use super::lock;
use crate::process::Process;
use crate::{path, runtime};

/// The crate sets them again after a reconnection, or believes so: they must fit beside what is watched.
const MOST_BYTES: usize = 4096;

/// Whether the servers' events name their transaction.
pub(super) struct Naming {
    link: Arc<Mutex<WatchedLink>>,
    /// The last connection on which one did.
    generation: AtomicU64,
}

impl Naming {
    pub(super) fn new(link: Arc<Mutex<WatchedLink>>) -> Arc<Naming> {
        Arc::new(Naming { link, generation: AtomicU64::new(0) })
    }

    pub(super) fn note(&self, event: &zk::WatchedEvent) {
        if event.zxid != zk::WatchedEvent::NO_ZXID {
            self.generation.store(lock(&self.link).drain().generation, Ordering::Relaxed);
        }
    }

    fn is_known(&self) -> bool {
        lock(&self.link).drain().generation == self.generation.load(Ordering::Relaxed)
    }
}

/// The bells of one session, by the path that is watched.
pub(super) struct Bells {
    naming: Arc<Naming>,
    watches: Arc<Watched>,
    all: Mutex<HashMap<String, Weak<Bell>>>,
}

/// What is to ring: by path, for the node itself or for its children.
#[derive(Default)]
struct Listeners {
    all: HashMap<String, Vec<(bool, oneshot::Sender<()>)>>,
    /// How many came since those who went were last looked for.
    since: usize,
    /// Nobody tells any more.
    is_over: bool,
}

struct Bell {
    listeners: Arc<Mutex<Listeners>>,
    /// Dropped with the last who listens.
    end: Option<oneshot::Sender<()>>,
    process: Process,
}

impl Bells {
    pub(super) fn new(naming: Arc<Naming>, watches: Arc<Watched>) -> Bells {
        Bells { naming, watches, all: Mutex::default() }
    }

    /// Resolves when it is time to look again: with true. With false when nobody tells. `None` if there can be no bell. `set` sends
    /// the request for one.
    pub(super) fn listen(
        &self,
        node: &str,
        of_children: bool,
        lull: Duration,
        set: impl FnOnce(&str) -> Flight<zk::PersistentWatcher>,
    ) -> Option<Later<bool>> {
        let top = path::parent(node);
        if top == "/" || !self.naming.is_known() {
            return None;
        }
        let mut all = lock(&self.all);
        let bell = match all.get(top).and_then(Weak::upgrade).filter(|bell| !lock(&bell.listeners).is_over) {
            Some(bell) => bell,
            None => {
                all.retain(|_, bell| bell.strong_count() > 0);
                let bytes: usize = all.keys().map(|path| self.watches.on_the_wire(path)).sum();
                if bytes + self.watches.on_the_wire(top) > MOST_BYTES {
                    return None;
                }
                let (end, ended) = oneshot::channel();
                let listeners = Arc::new(Mutex::default());
                let rings =
                    ring(top.to_owned(), set(top), Arc::clone(&listeners), ended, self.watches.clone(), lull);
                runtime::spawn(Box::pin(rings));
                let bell = Arc::new(Bell { listeners, end: Some(end), process: Process::present() });
                all.insert(top.to_owned(), Arc::downgrade(&bell));
                bell
            }
        };
        drop(all);
        let (rings, heard) = oneshot::channel();
        lock(&bell.listeners).add(node, of_children, rings);
        Some(Box::pin(async move {
            let is_told = heard.await.is_ok();
            drop(bell);
            is_told
        }))
    }
}

impl Listeners {
    fn add(&mut self, node: &str, of_children: bool, rings: oneshot::Sender<()>) {
        if self.is_over {
            return;
        }
        if self.since > self.all.len() {
            self.since = 0;
            self.all.retain(|_, waiting| {
                waiting.retain(|(_, rings)| !rings.is_closed());
                !waiting.is_empty()
            });
        }
        self.since += 1;
        self.all.entry(node.to_owned()).or_default().push((of_children, rings));
    }

    fn end(&mut self) -> HashMap<String, Vec<(bool, oneshot::Sender<()>)>> {
        self.is_over = true;
        std::mem::take(&mut self.all)
    }

    fn ring(&mut self, event: &zk::WatchedEvent) {
        let is_other_node =
            matches!(event.event_type, zk::EventType::NodeCreated | zk::EventType::NodeDeleted);
        self.wake(&event.path, |of_children| !of_children || is_other_node);
        if is_other_node {
            self.wake(path::parent(&event.path), |of_children| of_children);
        }
    }

    fn wake(&mut self, path: &str, is_meant: impl Fn(bool) -> bool) {
        let Some(waiting) = self.all.remove(path) else { return };
        let (meant, others): (Vec<_>, Vec<_>) =
            waiting.into_iter().partition(|(of_children, _)| is_meant(*of_children));
        meant.into_iter().for_each(|(_, rings)| _ = rings.send(()));
        if !others.is_empty() {
            self.all.insert(path.to_owned(), others);
        }
    }
}

/// Tells those who listen what the server tells, until the connection breaks or nobody listens.
async fn ring(
    top: String,
    setting: Flight<zk::PersistentWatcher>,
    listeners: Arc<Mutex<Listeners>>,
    mut ended: oneshot::Receiver<()>,
    watches: Arc<Watched>,
    lull: Duration,
) {
    let set = tokio::select! {
        set = setting => set,
        _ = &mut ended => return,
    };
    // Who listens hears that nobody tells.
    let Ok(mut watcher) = set else { return drop(lock(&listeners).end()) };
    loop {
        let told = tokio::select! {
            // The crate panics if the task that serves the session dies under the watch.
            told = AssertUnwindSafe(watcher.changed()).catch_unwind() => told,
            _ = &mut ended => break,
        };
        match told {
            Ok(event) if event.event_type != zk::EventType::Session => lock(&listeners).ring(&event),
            _ => {
                let all = lock(&listeners).end();
                all.into_values().flatten().for_each(|(_, rings)| _ = rings.send(()));
                return;
            }
        }
    }
    while watches.has(&top) {
        let told = AssertUnwindSafe(watcher.changed()).catch_unwind();
        tokio::select! {
            () = runtime::enter(|| tokio::time::sleep(lull)) => {}
            told = told => match told {
                Ok(event) if event.event_type != zk::EventType::Session => {}
                _ => return,
            }
        }
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        if !self.process.is_present() {
            // A forked child has no task that could be told.
            std::mem::forget(self.end.take());
        }
    }
}
