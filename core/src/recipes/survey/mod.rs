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

use crate::client::Client;
use crate::error::Result;
use crate::feed::{Feed, Source};
use crate::path;
use crate::session::watching::tree::{Depth, Room, Tree};

pub use recognise::{Found, FoundKind};

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
    let tree = Tree::new(
        &session,
        "survey",
        top,
        Depth::Chosen(|_, parent, names| choose::choose(parent, names), Room { nodes, bytes }),
    );
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
