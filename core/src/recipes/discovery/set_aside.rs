//! Instances that have failed: for a while they are not picked by whoever has found that. One that was registered anew or updated
//! since is another one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::mutex::lock;
use crate::process::Process;
use crate::session::clock::{Clock, Moment};
use crate::session::wire::Stat;

/// For how long an instance that has failed is not picked.
const ASIDE_FOR: Duration = Duration::from_secs(30);
/// Nodes of which it is remembered that another one says the same.
const MOST_SUCCEEDED: usize = 10_000;

/// The instances that have failed, as one handle knows them.
pub(super) struct SetAside {
    clock: Arc<dyn Clock>,
    process: Process,
    until: Mutex<HashMap<Failed, Moment>>,
    /// Who follows a service was told of these, and not of the registrations after them, which say the same.
    succeeded: Mutex<HashMap<FoundNode, FoundNode>>,
}

/// The node of an instance as it was when that was found: made or written into since, it is another registration.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) struct FoundNode {
    pub(super) path: Arc<str>,
    czxid: i64,
    mzxid: i64,
}

impl FoundNode {
    pub(super) fn new(path: &str, stat: &Stat) -> FoundNode {
        FoundNode { path: path.into(), czxid: stat.czxid, mzxid: stat.mzxid }
    }

    /// In one text, for a language that keeps no [`FoundNode`].
    pub(super) fn to_text(&self) -> String {
        format!("{} {} {}", self.czxid, self.mzxid, self.path)
    }

    /// What [`FoundNode::to_text`] has written.
    pub(super) fn of_text(text: &str) -> Option<FoundNode> {
        let mut parts = text.splitn(3, ' ');
        let mut number = || parts.next()?.parse::<i64>().ok();
        let (czxid, mzxid) = (number()?, number()?);
        Some(FoundNode { path: parts.next()?.into(), czxid, mzxid })
    }
}

/// What has failed.
#[derive(PartialEq, Eq, Hash)]
enum Failed {
    Node(FoundNode),
    /// All of that name and id.
    Named(String, String),
}

impl SetAside {
    pub(super) fn new(clock: &Arc<dyn Clock>) -> Arc<SetAside> {
        Arc::new(SetAside {
            clock: clock.clone(),
            process: Process::present(),
            until: Mutex::default(),
            succeeded: Mutex::default(),
        })
    }

    pub(super) fn add(&self, name: &str, id: &str) {
        self.insert(Failed::Named(name.to_owned(), id.to_owned()));
    }

    /// The instance of that node alone.
    pub(super) fn add_node(&self, node: &FoundNode) {
        // In a forked child the handle is the parent's, and so is its lock.
        if self.process.is_present() {
            self.insert(Failed::Node(self.latest(node)));
        }
    }

    /// An instance was registered anew, or written again, and says the same. Who follows the service is not told, so the one that
    /// they know stands for the one that there is.
    pub(super) fn succeed(&self, before: &FoundNode, now: &FoundNode) {
        let mut succeeded = lock(&self.succeeded);
        if succeeded.len() >= MOST_SUCCEEDED {
            // An instance that has failed and is picked again is better than remembering without limit.
            succeeded.clear();
        }
        succeeded.insert(before.clone(), now.clone());
    }

    fn latest(&self, node: &FoundNode) -> FoundNode {
        let (succeeded, mut latest) = (lock(&self.succeeded), node);
        // Each is younger than the one before it.
        while let Some(next) = succeeded.get(latest).filter(|next| next.mzxid > latest.mzxid) {
            latest = next;
        }
        latest.clone()
    }

    fn insert(&self, failed: Failed) {
        let (now, mut until) = (self.clock.now(), lock(&self.until));
        until.retain(|_, until| *until > now);
        until.insert(failed, now + ASIDE_FOR);
    }

    /// Whether the instance of that node, with that name and id, may be picked.
    pub(super) fn spares(&self, node: &FoundNode, name: &str, id: &str) -> bool {
        let mut until = lock(&self.until);
        // Nothing is copied to ask, unless something has failed.
        until.is_empty() || {
            let now = self.clock.now();
            until.retain(|_, until| *until > now);
            !until.contains_key(&Failed::Node(node.clone()))
                && !until.contains_key(&Failed::Named(name.to_owned(), id.to_owned()))
        }
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        lock(&self.until).len()
    }
}
