//! A tree of nodes that is kept here: looked at once, then followed by a watch on each node and on each list of children. Reading
//! it asks nobody.
//!
//! 1. Making one waits until the whole tree is known. Then a task follows it (`session::watching::tree`), through outages and new
//!    sessions, until the last handle and the last feed are gone.
//! 2. A change that the server tells of costs one read or one list, and is there when that is answered.
//! 3. How old the tree may be: the task looks up when the session's last contact left, and then whether any watch has told
//!    something that is not here yet. If none has, the tree was like this when that contact left: a server tells of a change
//!    before it answers what was asked later.
//! 4. What cannot be followed any more, such as a top that we may not read, stays as it was known last and grows old; it is tried
//!    again.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard, Weak};
use std::time::Duration;

use futures_util::FutureExt;
use tokio::sync::{oneshot, watch};
use tokio::task::unconstrained;

use super::Nodes;
use crate::client::Client;
use crate::error::{Error, ErrorKind, Result};
use crate::feed::{Feed, Source};
use crate::futures::unless;
use crate::mutex::lock;
use crate::path;
use crate::process::UnlessForked;
use crate::session::Session;
use crate::session::clock::Moment;
use crate::session::growing_pause::GrowingPause;
use crate::session::watching::tree::{Depth, Tree};
use crate::session::wire::Stat;

const VERB: &str = "cache";
/// How often within a session timeout it is looked whether all is here. Contacts are an eighth apart, and answered within an
/// eighth where servers are well: so what is here is less than half of the timeout old.
const LOOKS: u32 = 8;

impl Nodes {
    /// Keeps the node at `path`, and all that is below it, here: waits until all of it is known, and follows it from then on. The
    /// node need not exist. It costs two requests for each node at first, then one or two for each change, whoever reads it how
    /// often. What we may not read is left out.
    ///
    /// ```
    /// # zkrecipes::doctest(async {
    /// use zkrecipes::Client;
    ///
    /// let client = Client::connect("embedded:", Default::default()).await?;
    /// let cache = client.nodes().cache("/flags").await?;
    /// assert_eq!(cache.get("/flags/dark-mode")?, None);
    ///
    /// let mut changes = cache.changes();
    /// changes.next().await.transpose()?; // all that is there
    /// client.nodes().ensure("/flags/dark-mode").await?;
    /// while cache.get("/flags/dark-mode")?.is_none() {
    ///     changes.next().await.transpose()?;
    /// }
    /// assert_eq!(cache.children("/flags")?, Some(vec!["dark-mode".to_owned()]));
    /// # Ok(()) });
    /// ```
    ///
    /// # Cancel safety
    /// Dropping the future leaves nothing behind.
    pub async fn cache(&self, path: &str) -> Result<NodeCache> {
        path::validate(path)?;
        let session = self.client.session()?;
        let kept = FollowedTree::begin(&session, path);
        let mut told = kept.tree.told.subscribe();
        let mut call = session.call(None).reading();
        // The sender is in `kept`.
        let first = async { Ok(told.wait_for(Option::is_some).await.ok().and_then(|told| told.clone())) };
        let first = call.receive(VERB, first).await.map_err(|error| error.with_path(path))?;
        first.ok().flatten().unwrap_or_else(|| Err(Error::closed("client")))?;
        Ok(NodeCache {
            client: self.client.clone(),
            path: Arc::from(path),
            kept: Arc::new(UnlessForked::new(kept)),
        })
    }
}

/// A node and all that is below it, kept here: [`Nodes::cache`]. Clones are the same; the last one to go, feeds included, ends the
/// following.
#[derive(Clone)]
pub struct NodeCache {
    client: Client,
    path: Arc<str>,
    kept: Arc<UnlessForked<FollowedTree>>,
}

impl NodeCache {
    /// The path of the topmost node.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// The data and metadata of a node at or below the path of this cache, or `None` if there is none. Asks nobody.
    pub fn get(&self, path: &str) -> Result<Option<(Vec<u8>, Stat)>> {
        Ok(self.known(path)?.nodes.get(path).cloned())
    }

    /// The names of the children of such a node, sorted, or `None` if there is no such node. Asks nobody.
    pub fn children(&self, path: &str) -> Result<Option<Vec<String>>> {
        let known = self.known(path)?;
        Ok(known.nodes.contains_key(path).then(|| {
            let names = known.children.get(path).into_iter().flatten();
            names.cloned().collect()
        }))
    }

    /// How old what is here may be: so long ago, for certain, it was still so. While servers answer and what they tell of is read,
    /// it stays below half of the session timeout, though nobody asks for anything again; otherwise it grows.
    pub fn age(&self) -> Duration {
        // In a forked child the lock is the parent's.
        if !self.client.process().is_present() {
            return Duration::MAX;
        }
        let stood = self.kept.tree.known().stood;
        self.kept.session.now().since(stood)
    }

    /// The paths of what has come, has gone, or is different; at first of all that is there. What is told may be read here by
    /// then. A slow reader is told of a path once, however often it has changed.
    pub fn changes(&self) -> Feed<Vec<String>> {
        let untold = self.client.session().map(|_| self.kept.tree.untold());
        Feed::new(CacheChanges { untold, was_told: false, kept: self.kept.clone() })
    }

    fn known(&self, path: &str) -> Result<MutexGuard<'_, KnownTree>> {
        // In a forked child the lock is the parent's.
        self.client.session()?;
        path::validate(path)?;
        if path::is_within(path, &self.path) {
            return Ok(self.kept.tree.known());
        }
        let why =
            format!("{path} is not below {}, which this cache keeps; ask nodes.get() for it", self.path);
        Err(Error::invalid("path", why))
    }
}

impl std::fmt::Debug for NodeCache {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NodeCache").field("path", &self.path).finish_non_exhaustive()
    }
}

/// A tree that is followed until this is dropped.
struct FollowedTree {
    session: Arc<Session>,
    tree: Arc<KeptTree>,
    _alive: oneshot::Sender<()>,
}

struct KeptTree {
    known: Mutex<KnownTree>,
    /// `None` until all of it is known, or cannot be.
    told: watch::Sender<Option<Result<()>>>,
    followers: Mutex<Vec<Weak<UntoldPaths>>>,
}

struct KnownTree {
    nodes: BTreeMap<String, (Vec<u8>, Stat)>,
    /// By parent, the names of those in `nodes`.
    children: BTreeMap<String, BTreeSet<String>>,
    /// The last moment at which it was certainly like this.
    stood: Moment,
}

/// What a feed has not been told of yet.
struct UntoldPaths {
    paths: Mutex<BTreeSet<String>>,
    any: watch::Sender<()>,
}

impl FollowedTree {
    fn begin(session: &Arc<Session>, path: &str) -> FollowedTree {
        let known = KnownTree { nodes: BTreeMap::new(), children: BTreeMap::new(), stood: session.now() };
        let told = watch::Sender::new(None);
        let tree = Arc::new(KeptTree { known: Mutex::new(known), told, followers: Mutex::default() });
        let (alive, gone) = oneshot::channel::<()>();
        let following = tree.clone().follow(session.clone(), path.to_owned());
        let until = async move { drop(gone.await) };
        session.clock().spawn(Box::pin(async move { unless(following, until).await.unwrap_or_default() }));
        FollowedTree { session: session.clone(), tree, _alive: alive }
    }
}

impl KeptTree {
    fn known(&self) -> MutexGuard<'_, KnownTree> {
        lock(&self.known)
    }

    async fn follow(self: Arc<Self>, session: Arc<Session>, path: String) {
        let mut pause = GrowingPause::new(session.options().retry.base, session.options().retry.max);
        loop {
            let Err(error) = self.follow_tree(&session, &path, &mut pause).await;
            let is_known = self.told.borrow().is_some();
            if !is_known || error.kind() == ErrorKind::Closed {
                self.told.send_replace(Some(Err(error.with_path(&*path))));
                return;
            }
            if session.is_first_time(&format!("{VERB} {path}")) {
                tracing::warn!(target: "zkrecipes", event = "cache_astray", path, %error, "a tree cannot be followed; what is kept of it grows old");
            }
            pause.pass(session.clock()).await;
        }
    }

    /// Until it cannot be followed any more.
    async fn follow_tree(
        &self,
        session: &Arc<Session>,
        path: &str,
        pause: &mut GrowingPause,
    ) -> Result<Infallible> {
        let mut tree = Tree::new(session, VERB, path, Depth::All);
        let mut is_first = true;
        loop {
            // In this order: what no watch has told by then had not happened when the contact left.
            let contact = session.server_session().last_contact();
            let news = match unconstrained(tree.next()).now_or_never() {
                Some(news) => Some(news),
                None => {
                    if !is_first && tree.is_up_to_date() {
                        let mut known = self.known();
                        known.stood = known.stood.max(contact);
                    }
                    let moment = session.server_session().session_timeout() / LOOKS;
                    let later = session.clock().sleep_until(session.now() + moment);
                    unless(tree.next(), later).await
                }
            };
            if let Some(changed) = news {
                self.change(&tree, changed?, is_first);
                is_first = false;
                pause.restart();
            }
        }
    }

    /// Takes over from `tree` what is different; if it is the first that is known of this tree, what it does not have is gone.
    fn change(&self, tree: &Tree, mut changed: BTreeSet<String>, is_first: bool) {
        let mut known = self.known();
        if is_first {
            changed.extend(known.nodes.keys().cloned());
        }
        changed.retain(|path| known.take_over(path, tree.get(path)));
        let followers: Vec<_> = lock(&self.followers).iter().filter_map(Weak::upgrade).collect();
        for follower in &followers {
            lock(&follower.paths).extend(changed.iter().cloned());
        }
        drop(known);
        for follower in followers.iter().filter(|_| !changed.is_empty()) {
            follower.any.send_replace(());
        }
        self.told.send_if_modified(|told| told.replace(Ok(())).is_none());
    }

    /// For one more feed, which is to be told of all that is there.
    fn untold(&self) -> Arc<UntoldPaths> {
        let known = self.known();
        let paths = Mutex::new(known.nodes.keys().cloned().collect());
        let untold = Arc::new(UntoldPaths { paths, any: watch::Sender::new(()) });
        let mut followers = lock(&self.followers);
        followers.retain(|one| one.strong_count() > 0);
        followers.push(Arc::downgrade(&untold));
        untold
    }
}

impl KnownTree {
    /// Whether that makes a difference.
    fn take_over(&mut self, path: &str, found: Option<&(Vec<u8>, Stat)>) -> bool {
        if self.nodes.get(path) == found {
            return false;
        }
        match found {
            Some(found) => _ = self.nodes.insert(path.to_owned(), found.clone()),
            None => _ = self.nodes.remove(path),
        }
        if path == "/" {
            // It is nobody's child.
            return true;
        }
        let (parent, name) = (path::parent(path), path::name(path));
        if found.is_some() {
            self.children.entry(parent.to_owned()).or_default().insert(name.to_owned());
        } else if let Some(names) = self.children.get_mut(parent) {
            names.remove(name);
            if names.is_empty() {
                self.children.remove(parent);
            }
        }
        true
    }
}

struct CacheChanges {
    untold: Result<Arc<UntoldPaths>>,
    was_told: bool,
    kept: Arc<UnlessForked<FollowedTree>>,
}

impl Source<Vec<String>> for CacheChanges {
    async fn next(&mut self) -> Result<Vec<String>> {
        let untold = self.untold.as_ref().map_err(Clone::clone)?;
        let mut any = untold.any.subscribe();
        loop {
            let paths = std::mem::take(&mut *lock(&untold.paths));
            // At first even that there is nothing.
            let is_first = !std::mem::replace(&mut self.was_told, true);
            if is_first || !paths.is_empty() {
                return Ok(paths.into_iter().collect());
            }
            // The sender is in `untold`, so this cannot fail.
            if unless(any.changed(), self.kept.session.until_closing()).await.is_none() {
                return Err(Error::closed("client"));
            }
        }
    }
}
