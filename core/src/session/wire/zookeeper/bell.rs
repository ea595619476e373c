//! What a session cannot watch node by node, because it watches as much as it can already (see `watched`), is heard of by
//! bells: a bell is one recursive watch on a node, for all its children.
//!
//! 1. A call that asks for a node that is not watched first sets the bell of its parent, in the same flight. The bell
//!    rings for that node, or for its children, once; then it is time to look again.
//! 2. The crate does not set such a watch again on another connection. It tells of the break, and the bell rings for all.
//! 3. Servers before 3.9 keep one watch of a session on a path, the one that was set last (ZOOKEEPER-4466); of a recursive one and
//!    one on the children they keep both, and tell the second nothing until it is set again. The events of later servers name their
//!    transaction. Until one on this connection has, where a bell is, nobody watches data in the ordinary way: the bell tells that.
//!    It wakes those who watch the children there, too. And when a watch on data is given up that is older than the bell, the bell
//!    is no longer relied on.
//! 4. There is none at the root, where it would ring for everybody's changes, and none on servers that do not know it: then the
//!    node is looked at now and then.
//! 5. A bell that nobody listens to is taken back, but not before its own path is watched no more: the crate would not tell the
//!    server.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::oneshot;
use zookeeper_client as zk;

use super::super::capability::Capability;
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
        self.now() == self.generation.load(Ordering::Relaxed)
    }

    fn now(&self) -> u64 {
        self.link().generation
    }

    fn link(&self) -> Link {
        lock(&self.link).drain()
    }
}

/// The bells of one session, by the path that is watched.
pub(super) struct Bells {
    naming: Arc<Naming>,
    watches: Arc<Watched>,
    all: Arc<Mutex<HashMap<String, Weak<Bell>>>>,
    /// Who watches the children of a path in the ordinary way, and may not be told once there is a bell.
    lists: Arc<Mutex<Listeners>>,
    /// Not by connection: a server that does not know what a bell is hangs up, and each next one would be hung up on as well.
    has_bells: Arc<Capability>,
}

/// Where bells are, while somebody looks and sends what depends on it.
pub(super) type Standing<'a> = MutexGuard<'a, HashMap<String, Weak<Bell>>>;

/// What is to ring: by path, for the node itself or for its children.
#[derive(Default)]
struct Listeners {
    all: HashMap<String, Vec<(bool, oneshot::Sender<()>)>>,
    /// How many came since those who went were last looked for.
    since: usize,
    /// Nobody tells any more.
    is_over: bool,
}

pub(super) struct Bell {
    listeners: Arc<Mutex<Listeners>>,
    /// Dropped with the last who listens.
    end: Option<oneshot::Sender<()>>,
    process: Process,
}

impl Bells {
    pub(super) fn new(naming: Arc<Naming>, watches: Arc<Watched>) -> Bells {
        let all: Arc<Mutex<HashMap<String, Weak<Bell>>>> = Arc::default();
        let lists: Arc<Mutex<Listeners>> = Arc::default();
        let (bells, beside, known) = (Arc::downgrade(&all), lists.clone(), naming.clone());
        watches.when_given_up(move |path| {
            let Some(bells) = bells.upgrade() else { return };
            let bell = bell_at(&lock(&bells), path);
            if let Some(bell) = bell.filter(|_| !known.is_known()) {
                lock(&bell.listeners).ring_for_all();
                lock(&beside).wake(path, |_| true);
            }
        });
        Bells { naming, watches, all, lists, has_bells: Arc::default() }
    }

    pub(super) fn standing(&self) -> Standing<'_> {
        lock(&self.all)
    }

    /// Whether a watch on the data of `path`, set in the ordinary way, might end the bell there.
    pub(super) fn forbid_data(&self, standing: &Standing<'_>, path: &str) -> bool {
        bell_at(standing, path).is_some() && !self.naming.is_known()
    }

    /// Resolves when a bell tells what may not be told to who watches the children of `path` in the ordinary way. `None`: it is
    /// told.
    pub(super) fn beside(&self, path: &str) -> Option<oneshot::Receiver<()>> {
        if self.naming.is_known() {
            return None;
        }
        let (rings, heard) = oneshot::channel();
        lock(&self.lists).add(path, true, rings);
        Some(heard)
    }

    /// Resolves when it is time to look again: with true. With false when nobody tells. `None` if there can be no bell. `set` sends
    /// the request for one.
    pub(super) fn listen(
        &self,
        mut standing: Standing<'_>,
        node: &str,
        of_children: bool,
        lull: Duration,
        set: impl FnOnce(&str) -> Flight<zk::PersistentWatcher>,
    ) -> Option<Later<bool>> {
        let all = &mut *standing;
        let above = path::parent(node);
        let bell = match bell_at(all, node).or_else(|| bell_at(all, above)) {
            Some(bell) => bell,
            None => {
                if self.has_bells.is_absent() {
                    return None;
                }
                all.retain(|_, bell| bell.strong_count() > 0);
                let top = self.place(all, above)?;
                match bell_at(all, top) {
                    Some(bell) => bell,
                    None => self.hang(all, top, lull, set),
                }
            }
        };
        drop(standing);
        let (rings, heard) = oneshot::channel();
        lock(&bell.listeners).add(node, of_children, rings);
        Some(Box::pin(async move {
            let is_told = heard.await.is_ok();
            drop(bell);
            is_told
        }))
    }

    /// What tells that children of `path` came or went, by a bell at `path`; `None` if there can be none.
    pub(super) fn follow(
        &self,
        mut standing: Standing<'_>,
        path: &str,
        lull: Duration,
        set: impl FnOnce(&str) -> Flight<zk::PersistentWatcher>,
    ) -> Option<Following> {
        let all = &mut *standing;
        let bell = match bell_at(all, path) {
            Some(bell) => bell,
            None => {
                all.retain(|_, bell| bell.strong_count() > 0);
                if self.has_bells.is_absent() || self.place(all, path) != Some(path) {
                    return None;
                }
                self.hang(all, path, lull, set)
            }
        };
        drop(standing);
        let path = path.to_owned();
        Some(Box::new(move || {
            let (rings, heard) = oneshot::channel();
            lock(&bell.listeners).add(&path, true, rings);
            Box::pin(async move { heard.await.is_ok() })
        }))
    }

    /// Where a bell for the children of `parent` goes: there, or above all that is followed around it, if there are too many bells.
    fn place<'a>(&self, all: &HashMap<String, Weak<Bell>>, parent: &'a str) -> Option<&'a str> {
        let bytes: usize = all.keys().map(|path| self.watches.on_the_wire(path)).sum();
        let fits = |path: &str, most| path != "/" && bytes + self.watches.on_the_wire(path) <= most;
        if fits(parent, MOST_BYTES) {
            return Some(parent);
        }
        let mut top = parent;
        while let above = path::parent(top)
            && above != "/"
            && self.watches.has_children(above)
        {
            top = above;
        }
        let is_wide = top != parent && (all.contains_key(top) || fits(top, 2 * MOST_BYTES));
        is_wide.then_some(top)
    }

    fn hang(
        &self,
        all: &mut HashMap<String, Weak<Bell>>,
        top: &str,
        lull: Duration,
        set: impl FnOnce(&str) -> Flight<zk::PersistentWatcher>,
    ) -> Arc<Bell> {
        let (end, ended) = oneshot::channel();
        let listeners = Arc::new(Mutex::default());
        let ringing = Ringing {
            top: top.to_owned(),
            listeners: listeners.clone(),
            lists: self.lists.clone(),
            naming: self.naming.clone(),
            watches: self.watches.clone(),
            lull,
        };
        let link = self.naming.link();
        runtime::spawn(Box::pin(ringing.ring(set(top), link, self.has_bells.clone(), ended)));
        let bell = Arc::new(Bell { listeners, end: Some(end), process: Process::present() });
        all.insert(top.to_owned(), Arc::downgrade(&bell));
        bell
    }
}

/// The bell at `path`, while it tells.
fn bell_at(all: &HashMap<String, Weak<Bell>>, path: &str) -> Option<Arc<Bell>> {
    all.get(path).and_then(Weak::upgrade).filter(|bell| !lock(&bell.listeners).is_over)
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

    fn ring_for_all(&mut self) {
        self.end().into_values().flatten().for_each(|(_, rings)| _ = rings.send(()));
    }

    fn end(&mut self) -> HashMap<String, Vec<(bool, oneshot::Sender<()>)>> {
        self.is_over = true;
        std::mem::take(&mut self.all)
    }

    fn ring(&mut self, event: &zk::WatchedEvent) {
        let is_other_node = is_of_children(event);
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

/// What rings a bell.
struct Ringing {
    top: String,
    listeners: Arc<Mutex<Listeners>>,
    lists: Arc<Mutex<Listeners>>,
    naming: Arc<Naming>,
    watches: Arc<Watched>,
    lull: Duration,
}

impl Ringing {
    /// Tells those who listen what the server tells, until the connection breaks or nobody listens.
    async fn ring(
        self,
        setting: Flight<zk::PersistentWatcher>,
        link: Link,
        has_bells: Arc<Capability>,
        mut ended: oneshot::Receiver<()>,
    ) {
        let set = tokio::select! {
            set = setting => set,
            _ = &mut ended => return,
        };
        has_bells.learn(link, &set);
        let mut watcher = match set {
            Ok(watcher) => watcher,
            Err(_) => {
                // Who listens hears that nobody tells.
                return drop(lock(&self.listeners).end());
            }
        };
        loop {
            let told = tokio::select! {
                // The crate panics if the task that serves the session dies under the watch.
                told = AssertUnwindSafe(watcher.changed()).catch_unwind() => told,
                _ = &mut ended => break,
            };
            match told {
                Ok(event) if event.event_type != zk::EventType::Session => self.tell(&event),
                _ => return lock(&self.listeners).ring_for_all(),
            }
        }
        if !self.naming.is_known() {
            // Now the server tells them again what it told the bell in their place.
            lock(&self.lists).wake(&self.top, |_| true);
        }
        while self.watches.has(&self.top) {
            let told = AssertUnwindSafe(watcher.changed()).catch_unwind();
            tokio::select! {
                () = runtime::enter(|| tokio::time::sleep(self.lull)) => {}
                told = told => match told {
                    Ok(event) if event.event_type != zk::EventType::Session => {}
                    _ => return,
                }
            }
        }
    }

    fn tell(&self, event: &zk::WatchedEvent) {
        self.naming.note(event);
        lock(&self.listeners).ring(event);
        if event.zxid == zk::WatchedEvent::NO_ZXID
            && is_of_children(event)
            && path::parent(&event.path) == self.top
        {
            lock(&self.lists).wake(&self.top, |_| true);
        }
    }
}

fn is_of_children(event: &zk::WatchedEvent) -> bool {
    matches!(event.event_type, zk::EventType::NodeCreated | zk::EventType::NodeDeleted)
}

impl Drop for Bell {
    fn drop(&mut self) {
        if !self.process.is_present() {
            // A forked child has no task that could be told.
            std::mem::forget(self.end.take());
        }
    }
}
