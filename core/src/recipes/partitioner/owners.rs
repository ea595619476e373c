//! Who has which partition, followed. The lines of all partitions are kept in memory, so that a change costs a list of one line and a
//! read of who is first in it, however many partitions there are. At first it is two requests for each partition.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::sharing::PARTITIONS;
use crate::client::Client;
use crate::error::Result;
use crate::feed::{Feed, Source};
use crate::path;
use crate::recipes::contenders::{in_line, sort_names};
use crate::session::Session;
use crate::session::skipped_nodes::Flaw;
use crate::session::watching::tree::{Depth, NodePart, Room, Tree};
use crate::turn::name::Kind;
use crate::turn::revocation::{REVOKE, said};

/// By partition the identity of its owner.
type Owners = BTreeMap<String, Option<String>>;

const VERB: &str = "watch";
/// All of them are shown: there are at most as many as a partitioner may have.
const ALL: Room = Room { nodes: usize::MAX, bytes: usize::MAX };

struct FollowedOwners {
    session: Arc<Session>,
    tree: Tree,
    /// Below which the partitions are.
    parent: String,
    owners: Owners,
    /// Whether those are all that there are; else whatever somebody has had counts.
    is_known: bool,
    /// By partition, the node of its owner and who that is: the request to let go takes the place of that.
    read: BTreeMap<String, (String, String)>,
    was_told: bool,
}

/// Follows the owners of the partitions below `path`, of those alone that are named, if any are.
pub(super) fn feed(
    session: Result<Arc<Session>>,
    path: &str,
    partitions: Option<&[String]>,
) -> Feed<BTreeMap<String, Option<String>>> {
    Feed::new(OwnersFeed(session.map(|session| FollowedOwners::new(session, path, partitions))))
}

/// The same for who looks on and knows no more than the path.
pub fn partition_owners(client: &Client, path: &str) -> Result<Feed<BTreeMap<String, Option<String>>>> {
    path::recipe(path)?;
    Ok(feed(client.session(), path, None))
}

struct OwnersFeed(Result<FollowedOwners>);

impl Source<Owners> for OwnersFeed {
    async fn next(&mut self) -> Result<Owners> {
        self.0.as_mut().map_err(|error| error.clone())?.next().await
    }
}

impl FollowedOwners {
    fn new(session: Arc<Session>, path: &str, partitions: Option<&[String]>) -> FollowedOwners {
        let parent = path::join(path, PARTITIONS);
        let tree = Tree::new(&session, VERB, &parent, Depth::Chosen(choose, ALL)).looking_at_denied();
        let owners = partitions.unwrap_or_default().iter().map(|name| (name.clone(), None)).collect();
        let (is_known, read) = (partitions.is_some(), BTreeMap::new());
        FollowedOwners { session, tree, parent, owners, is_known, read, was_told: false }
    }

    /// All of them at first, and whenever one has another owner.
    async fn next(&mut self) -> Result<Owners> {
        loop {
            let touched = self.tree.next().await?;
            let below = format!("{}/", self.parent);
            let names: BTreeSet<&str> = touched
                .iter()
                .filter_map(|path| path.strip_prefix(&below)?.split('/').next())
                .filter(|name| !self.is_known || self.owners.contains_key(*name))
                .collect();
            let mut is_news = !std::mem::replace(&mut self.was_told, true);
            for name in names {
                let owner = self.owner(name);
                is_news |= self.owners.insert(name.to_owned(), owner.clone()) != Some(owner);
            }
            if is_news {
                return Ok(self.owners.clone());
            }
        }
    }

    fn owner(&mut self, partition: &str) -> Option<String> {
        let line = path::join(&self.parent, partition);
        let told = self.owners.get(partition).cloned().flatten();
        if self.tree.is_denied(&line) {
            self.session.skip(&line, Flaw::Denied);
            // Whoever has it now, somebody may.
            return Some(told.unwrap_or_default());
        }
        let Some(names) = self.tree.families().get(&line) else {
            // It is there, and who is in it is not known yet; else it is gone.
            return told.filter(|_| self.tree.get(&line).is_some());
        };
        let Some(first) = first(names) else {
            self.read.remove(partition);
            return None;
        };
        let node = path::join(&line, &first);
        let before = self.read.get(partition).filter(|(of, _)| *of == node).map(|(_, who)| who.clone());
        let who = match self.tree.get(&node) {
            Some((data, _)) if said(data) != REVOKE => String::from_utf8_lossy(said(data)).into_owned(),
            // Somebody is there, whoever it is: asked to let go.
            Some(_) => before.unwrap_or_default(),
            None if self.tree.is_denied(&node) => {
                self.session.skip(&node, Flaw::Denied);
                before.unwrap_or_default()
            }
            // It has just gone, or was not read yet: the next is not known.
            None => return told,
        };
        self.read.insert(partition.to_owned(), (node, who.clone()));
        Some(who)
    }
}

/// The partitions, and of a line who is first.
fn choose(top: &str, parent: &str, names: &BTreeSet<String>) -> BTreeMap<String, NodePart> {
    match parent == top {
        true => names.iter().map(|name| (name.clone(), NodePart::DataAndChildren)).collect(),
        false => first(names).into_iter().map(|name| (name, NodePart::Data)).collect(),
    }
}

fn first(names: &BTreeSet<String>) -> Option<String> {
    names.iter().filter_map(|name| in_line(name, Kind::Lock)).min_by(sort_names).map(|entry| entry.name)
}
