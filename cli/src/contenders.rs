//! Who holds a path and who waits for it, whichever recipe the path belongs to.

use zkrecipes::{Client, Contender, ErrorKind, LockOptions, Result};

/// The folders of a semaphore: permits that are held, and the queue for them.
const LEASES: &str = "leases";
const LOCKS: &str = "locks";
/// What stands in the node of a contender that was asked to let go; it replaces the identity.
pub(crate) const ASKED: &str = "__REVOKE__";

/// A contender and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// From 1, holders first.
    pub(crate) place: usize,
    /// The folder of a semaphore that the node is in, or empty.
    folder: &'static str,
    pub(crate) contender: Contender,
}

impl Row {
    /// The node's path below the path that was asked about.
    pub(crate) fn node(&self) -> String {
        match self.folder {
            "" => self.contender.node.clone(),
            folder => format!("{folder}/{}", self.contender.node),
        }
    }

    /// The path of the folder that the node is in.
    pub(crate) fn parent(&self, path: &str) -> String {
        match self.folder {
            "" => path.to_owned(),
            folder => format!("{path}/{folder}"),
        }
    }

    /// Whether the node is a permit, which no lock knows of.
    pub(crate) fn is_lease(&self) -> bool {
        self.folder == LEASES
    }

    /// Whether somebody asked this contender to let go.
    pub(crate) fn is_asked(&self) -> bool {
        self.contender.identity == ASKED
    }

    /// What the contender says of itself, if that can still be known.
    pub(crate) fn identity(&self) -> Option<&str> {
        (!self.is_asked()).then_some(self.contender.identity.as_str())
    }
}

/// Everybody at `path`: the contenders of a lock, the holders and waiters of a semaphore.
pub(crate) async fn gather(client: &Client, path: &str) -> Result<Vec<Row>> {
    let lock = client.lock(path, LockOptions::default())?;
    let mut found: Vec<_> = lock.contenders().await?.into_iter().map(|contender| ("", contender)).collect();
    let folders = match client.nodes().children(path).await {
        Ok(names) => names,
        Err(error) if error.kind() == ErrorKind::NoNode => Vec::new(),
        Err(error) => return Err(error),
    };
    if folders.iter().any(|name| name == LEASES) {
        // The size does not matter to somebody who only looks.
        let holders = client.semaphore(path, 1)?.holders().await?;
        found.extend(holders.into_iter().map(|holder| (LEASES, holder)));
    }
    if folders.iter().any(|name| name == LOCKS) {
        let queue = client.lock(&format!("{path}/{LOCKS}"), LockOptions::default())?;
        // The first in this queue is the next to take permits; it holds none yet.
        found.extend(
            queue
                .contenders()
                .await?
                .into_iter()
                .map(|waiter| (LOCKS, Contender { holds: false, kind: "lease".to_owned(), ..waiter })),
        );
    }
    let row = |(at, (folder, contender))| Row { place: at + 1, folder, contender };
    Ok(found.into_iter().enumerate().map(row).collect())
}

/// Changes whenever somebody came or went; cheap, however many there are.
pub(crate) async fn fingerprint(client: &Client, path: &str) -> Result<Vec<(i64, i32)>> {
    let mut seen = Vec::new();
    for folder in [path.to_owned(), format!("{path}/{LEASES}"), format!("{path}/{LOCKS}")] {
        let stat = client.nodes().exists(&folder).await?;
        seen.push(stat.map_or((0, 0), |stat| (stat.czxid, stat.cversion)));
    }
    Ok(seen)
}
