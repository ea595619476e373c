//! Following plain nodes: the present state, and how it stands whenever it has changed.

use std::collections::BTreeMap;

use super::Nodes;
use crate::error::Result;
use crate::feed::{Feed, Source};
use crate::path;
use crate::session::watching::tree::{Depth, Tree};
use crate::session::watching::{Children, Data, Watching};
use crate::session::wire::Stat;

/// What of a node is to be followed.
#[derive(Copy, Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WatchKind {
    /// Its data.
    #[default]
    Data,
    /// The names of its children.
    Children,
    /// The node and all that is below it.
    Subtree,
}

/// How what is followed stands. A missing node is a state, too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NodeState {
    /// The data and metadata, or `None` while there is no such node.
    Data(Option<(Vec<u8>, Stat)>),
    /// The names of the children, sorted, or `None` while there is no such node.
    Children(Option<Vec<String>>),
    /// By path, the data and metadata of the node and of all nodes below it; empty while there is no such node.
    Subtree(BTreeMap<String, (Vec<u8>, Stat)>),
}

impl Nodes {
    /// The state of a node now, and whenever it has changed: always the latest, over reconnections, new sessions, deletion
    /// and re-creation. The node need not exist.
    ///
    /// A subtree is watched node by node: it costs two requests for each node at first, then one or two for each change.
    ///
    /// ```
    /// # zkrecipes::doctest(async {
    /// use zkrecipes::{Client, CreateMode, NodeState, WatchKind};
    ///
    /// let client = Client::connect("embedded:", Default::default()).await?;
    /// let mut feed = client.nodes().watch("/followed", WatchKind::Children)?;
    /// let now = feed.next().await.transpose()?;
    /// assert_eq!(now, Some(NodeState::Children(None)));
    /// client.nodes().create("/followed", b"", CreateMode::Persistent).await?;
    /// let now = feed.next().await.transpose()?;
    /// assert_eq!(now, Some(NodeState::Children(Some(vec![]))));
    /// # Ok(()) });
    /// ```
    pub fn watch(&self, path: &str, kind: WatchKind) -> Result<Feed<NodeState>> {
        path::validate(path)?;
        let session = self.client.session()?;
        Ok(match kind {
            WatchKind::Data => Feed::new(OfData(session.watch_node("watch", path).current())),
            WatchKind::Children => {
                let watching = session.watch_children("watch", path).current();
                Feed::new(OfChildren { watching, told: None })
            }
            WatchKind::Subtree => Feed::new(OfSubtree(Tree::new(&session, "watch", path, Depth::All))),
        })
    }
}

struct OfData(Watching<Data>);

impl Source<NodeState> for OfData {
    async fn next(&mut self) -> Result<NodeState> {
        Ok(NodeState::Data(self.0.next().await?.0))
    }
}

struct OfChildren {
    watching: Watching<Children>,
    told: Option<Option<Vec<String>>>,
}

impl Source<NodeState> for OfChildren {
    async fn next(&mut self) -> Result<NodeState> {
        loop {
            let names = self.watching.next().await?.0.map(|(mut names, _)| {
                names.sort_unstable();
                names
            });
            // One that went and came back makes no difference.
            if self.told.as_ref() != Some(&names) {
                self.told = Some(names.clone());
                return Ok(NodeState::Children(names));
            }
        }
    }
}

struct OfSubtree(Tree);

impl Source<NodeState> for OfSubtree {
    async fn next(&mut self) -> Result<NodeState> {
        self.0.next().await?;
        Ok(NodeState::Subtree(self.0.all().map(|(path, found)| (path.clone(), found.clone())).collect()))
    }
}
