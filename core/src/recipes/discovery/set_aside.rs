//! Instances that have failed: for a while they are not picked by whoever has found that.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::mutex::lock;
use crate::process::Process;
use crate::session::clock::{Clock, Moment};

/// For how long an instance that has failed is not picked.
const ASIDE_FOR: Duration = Duration::from_secs(30);

/// The instances that have failed, as one handle knows them.
pub(super) struct SetAside {
    clock: Arc<dyn Clock>,
    process: Process,
    until: Mutex<HashMap<Failed, Moment>>,
}

/// What has failed.
#[derive(PartialEq, Eq, Hash)]
enum Failed {
    Node(Arc<str>),
    /// All of that name and id.
    Named(String, String),
}

impl SetAside {
    pub(super) fn new(clock: &Arc<dyn Clock>) -> Arc<SetAside> {
        Arc::new(SetAside { clock: clock.clone(), process: Process::present(), until: Mutex::default() })
    }

    pub(super) fn add(&self, name: &str, id: &str) {
        self.insert(Failed::Named(name.to_owned(), id.to_owned()));
    }

    /// The instance of that node alone.
    pub(super) fn add_node(&self, node: &Arc<str>) {
        // In a forked child the handle is the parent's, and so is its lock.
        if self.process.is_present() {
            self.insert(Failed::Node(node.clone()));
        }
    }

    fn insert(&self, failed: Failed) {
        let (now, mut until) = (self.clock.now(), lock(&self.until));
        until.retain(|_, until| *until > now);
        until.insert(failed, now + ASIDE_FOR);
    }

    /// Whether the instance of that node, with that name and id, may be picked.
    pub(super) fn spares(&self, node: &Arc<str>, name: &str, id: &str) -> bool {
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
