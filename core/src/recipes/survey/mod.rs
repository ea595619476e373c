//! What stands below a path, as recipes: who holds and who waits, who leads, what is queued, who is at barriers.
//!
//! 1. The nodes are watched one by one, as [`Tree`] does it. So a survey that stands still asks nothing of the servers.
//! 2. What is looked at is chosen by the names: of a line the first ones, of a queue no item. See [`choose`].
//! 3. What was seen is put together anew whenever it has changed. See [`recognise`].
//! 4. Others decide how much there is, so there is an end to what is looked at and kept. See [`ROOM`].
//!
//! A simple barrier is a node like any other, and its waiters leave no trace: it is among the nodes that belong to no
//! recipe.

mod choose;
mod recognise;

use super::contenders::Contender;
use crate::client::Client;
use crate::error::Result;
use crate::feed::{Feed, Source};
use crate::path;
use crate::session::watching::tree::{Depth, Room, Tree};

/// Of a line, of permits, of claims and of members no more than this are read; the others are counted.
const READ_OF_EACH: usize = 100;
/// What is looked at, and how much of it is kept.
const ROOM: Room = Room { nodes: 20_000, bytes: 64 << 20 };

/// What stands below a path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Survey {
    /// By path.
    pub found: Vec<Found>,
    /// There are so many nodes that not all were looked at.
    pub is_cut: bool,
}

/// What a node is the path of.
#[derive(Copy, Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum FoundKind {
    /// A lock; kazoo's elections, too, which look the same.
    Lock,
    /// A read/write lock.
    ReadWriteLock,
    /// A semaphore.
    Semaphore,
    /// An election.
    Election,
    /// A queue.
    Queue,
    /// A double barrier.
    DoubleBarrier,
    /// A group, or whatever else has ephemeral children.
    Group,
    /// A node without children that has data: a value, a counter, a barrier that is up.
    Node,
}

impl FoundKind {
    /// In words.
    pub fn name(self) -> &'static str {
        match self {
            FoundKind::Lock => "lock",
            FoundKind::ReadWriteLock => "read/write lock",
            FoundKind::Semaphore => "semaphore",
            FoundKind::Election => "election",
            FoundKind::Queue => "queue",
            FoundKind::DoubleBarrier => "double barrier",
            FoundKind::Group => "group",
            FoundKind::Node => "node",
        }
    }
}

/// A recipe in use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// What it was made with.
    pub path: String,
    /// Which recipe.
    pub kind: FoundKind,
    /// Who holds, leads, has claimed or is a member, then who waits, in order. The first hundred of each.
    pub contenders: Vec<Contender>,
    /// How many hold, lead, have claimed or are members.
    pub holding: usize,
    /// How many wait.
    pub waiting: usize,
    /// How many permits there are, or parties.
    pub size: Option<usize>,
    /// How many items are queued.
    pub items: usize,
    /// How many dead letters there are.
    pub dead: usize,
    /// The leader has said that it has begun; the round of the double barrier is on.
    pub has_begun: bool,
    /// What the leader, or the node, says: the first 4096 bytes of it.
    pub data: Vec<u8>,
}

/// What stands at and below `top` now, and again whenever that has changed.
///
/// It costs two requests for each node at first, one for a contender, none for an item of a queue; then one or two for each
/// change that it is asked for.
pub fn survey(client: &Client, top: &str) -> Result<Feed<Survey>> {
    survey_within(client, top, ROOM.nodes, ROOM.bytes)
}

/// For tests: the same with less room.
pub fn survey_within(client: &Client, top: &str, nodes: usize, bytes: usize) -> Result<Feed<Survey>> {
    path::validate(top)?;
    let session = client.session()?;
    let tree = Tree::new(&session, "survey", top, Depth::Chosen(choose::choose, Room { nodes, bytes }));
    Ok(Feed::new(Surveying { tree }))
}

struct Surveying {
    tree: Tree,
}

impl Source<Survey> for Surveying {
    async fn next(&mut self) -> Result<Survey> {
        self.tree.next().await?;
        Ok(Survey { found: recognise::all(&self.tree), is_cut: self.tree.is_cut() })
    }
}
