//! Generated from api/node_cache.toml by api/generate; do not edit.

use std::time::Duration;

use crate::blocking::Feed;
use crate::{Result, Stat};

/// [`crate::NodeCache`], blocking.
///
/// ```
/// # fn main() -> zkrecipes::Result<()> {
/// let client = zkrecipes::blocking::Client::connect("embedded:", Default::default())?;
/// let cache = client.nodes().cache("/flags")?;
/// client.nodes().ensure("/flags/dark-mode")?;
/// let mut changes = cache.changes();
/// while cache.get("/flags/dark-mode")?.is_none() {
///     changes.next().transpose()?;
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct NodeCache {
    pub(in crate::blocking) core: crate::NodeCache,
}

impl NodeCache {
    pub(in crate::blocking) fn of(core: crate::NodeCache) -> NodeCache {
        NodeCache { core }
    }

    /// See [`crate::NodeCache::path`].
    pub fn path(&self) -> &str {
        self.core.path()
    }

    /// See [`crate::NodeCache::get`].
    pub fn get(&self, path: &str) -> Result<Option<(Vec<u8>, Stat)>> {
        self.core.get(path)
    }

    /// See [`crate::NodeCache::children`].
    pub fn children(&self, path: &str) -> Result<Option<Vec<String>>> {
        self.core.children(path)
    }

    /// See [`crate::NodeCache::age`].
    pub fn age(&self) -> Duration {
        self.core.age()
    }

    /// See [`crate::NodeCache::changes`].
    pub fn changes(&self) -> Feed<Vec<String>> {
        Feed::from(self.core.changes())
    }
}
