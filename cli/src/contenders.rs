//! Who holds a path and who waits for it, whichever recipe the path belongs to and whoever made it.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use zkrecipes::{
    Client, ClientOptions, Contender, ElectionOptions, ErrorKind, Handle, LockOptions, Naming, Result,
};

/// What stands in the node of a contender that was asked to let go, until it has heard that and says again who it is.
pub(crate) const ASKED: &str = "__REVOKE__";
/// The folders of a semaphore that is not kazoo's.
const FOLDERS: [&str; 2] = ["leases", "locks"];

/// Looks at paths, through a client and, for semaphores of a layout that its naming does not stand for, one more.
#[derive(Clone)]
pub(crate) struct Onlooker {
    pub(crate) client: Client,
    hosts: String,
    options: ClientOptions,
    other: Arc<Mutex<Option<Client>>>,
}

/// A contender and where it stands.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    /// From 1, holders first.
    pub(crate) place: usize,
    /// What the contender takes part in.
    handle: Handle,
    pub(crate) contender: Contender,
}

impl Row {
    /// The node's path below the path that was asked about, or the whole path if it is elsewhere.
    pub(crate) fn node(&self) -> &str {
        &self.contender.node
    }

    /// The whole path of the node.
    pub(crate) fn path(&self) -> String {
        whole(self.handle.path(), self.node())
    }

    /// Whether somebody asked this contender to let go.
    pub(crate) fn is_asked(&self) -> bool {
        self.contender.is_asked
    }

    /// What the contender says of itself, if that can still be known.
    pub(crate) fn identity(&self) -> Option<&str> {
        Some(self.contender.identity.as_str()).filter(|identity| *identity != ASKED)
    }

    /// Of whoever was asked just now, and has not said again who it is, what it said before.
    pub(crate) fn remember(&mut self, before: &[Row]) {
        if self.identity().is_none()
            && let Some(old) = before.iter().find(|old| old.node() == self.node())
        {
            self.contender.identity.clone_from(&old.contender.identity);
        }
    }

    /// Asks it to let go; see [`Handle::revoke`].
    pub(crate) async fn revoke(&self, force_after: Option<Duration>) -> Result<bool> {
        self.handle.revoke(Some(self.node()), force_after).await
    }
}

/// The whole path of a node that is told relative to `path`, or not.
pub(crate) fn whole(path: &str, node: &str) -> String {
    if node.starts_with('/') { node.to_owned() } else { format!("{path}/{node}") }
}

/// Everybody at a path, and which nodes change whenever somebody comes or goes.
pub(crate) struct Seen {
    pub(crate) rows: Vec<Row>,
    pub(crate) parents: Vec<String>,
}

impl Onlooker {
    pub(crate) fn new(client: Client, hosts: String, options: ClientOptions) -> Onlooker {
        Onlooker { client, hosts, options, other: Arc::default() }
    }

    /// Everybody at `path`: the contenders of a lock, the candidates of an election, the holders and waiters of a semaphore.
    pub(crate) async fn gather(&self, path: &str) -> Result<Seen> {
        let lock = self.client.lock(path, LockOptions::default())?;
        let mut found: Vec<_> =
            lock.contenders().await?.into_iter().map(|contender| (Handle::clone(&lock), contender)).collect();
        let names = match self.client.nodes().children(path).await {
            Ok(names) => names,
            Err(error) if error.kind() == ErrorKind::NoNode => Vec::new(),
            Err(error) => return Err(error),
        };
        // Curator's and ours; kazoo's candidates queue as for a lock.
        if names.iter().any(|name| name.contains("-latch-")) {
            let election = self.speaking(false).await?.election(path, b"", ElectionOptions::default())?;
            // With the request in the place of their identity, if they were asked to let go.
            let candidates = election.contenders().await?;
            found.extend(candidates.into_iter().map(|candidate| (Handle::clone(&election), candidate)));
        }
        let is_kazoos = !names.iter().any(|name| FOLDERS.contains(&name.as_str()))
            && (self.options.naming == Naming::Kazoo || names.iter().any(|name| is_kazoos_permit(name)));
        // The size does not matter to somebody who only looks.
        let semaphore = self.speaking(is_kazoos).await?.semaphore(path, 1)?;
        let contenders = semaphore.contenders().await?;
        // To kazoo's semaphores every child is a permit, also somebody who queues there for a lock.
        let others: Vec<_> = contenders
            .into_iter()
            .filter(|contender| !found.iter().any(|(_, queued)| queued.node == contender.node))
            .map(|contender| (Handle::clone(&semaphore), contender))
            .collect();
        found.extend(others);
        let mut parents = vec![path.to_owned()];
        match is_kazoos {
            true => parents.push(kazoos_queue(path)),
            false => {
                let folders = FOLDERS.iter().filter(|folder| names.iter().any(|name| name == *folder));
                parents.extend(folders.map(|folder| format!("{path}/{folder}")));
            }
        }
        let row = |(at, (handle, contender))| Row { place: at + 1, handle, contender };
        Ok(Seen { rows: found.into_iter().enumerate().map(row).collect(), parents })
    }

    /// A client to which semaphores are, or are not, as kazoo makes them.
    async fn speaking(&self, is_kazoos: bool) -> Result<Client> {
        if (self.options.naming == Naming::Kazoo) == is_kazoos {
            return Ok(self.client.clone());
        }
        let known = self.other.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone();
        if let Some(other) = known {
            return Ok(other);
        }
        let naming = if is_kazoos { Naming::Kazoo } else { Naming::Curator };
        let other = Client::connect(&self.hosts, self.options.clone().naming(naming)).await?;
        *self.other.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some(other.clone());
        Ok(other)
    }

    /// Changes whenever somebody comes or goes; one small read for each of the parents, however many contenders they have.
    pub(crate) async fn fingerprint(&self, parents: &[String]) -> Result<Fingerprint> {
        let mut fingerprint = Vec::new();
        for parent in parents {
            let stat = self.client.nodes().exists(parent).await?;
            // Not every kind of server tells of one that has gone by `pzxid`.
            fingerprint.push(stat.map_or((0, 0, 0), |stat| (stat.czxid, stat.pzxid, stat.num_children)));
        }
        Ok(fingerprint)
    }

    /// Ends the sessions.
    pub(crate) async fn close(&self, limit: Duration) -> Result<()> {
        let other = self.other.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
        if let Some(other) = other {
            other.close(Some(limit)).await?;
        }
        self.client.close(Some(limit)).await
    }
}

pub(crate) type Fingerprint = Vec<(i64, i64, i32)>;

/// Where the waiters of kazoo's semaphore at `path` queue; it is there before the semaphore is, which has its size as data.
pub(crate) fn kazoos_queue(path: &str) -> String {
    format!("{path}-__lock__")
}

/// The names of its permits are nothing but a UUID.
fn is_kazoos_permit(name: &str) -> bool {
    name.len() == 32 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}
