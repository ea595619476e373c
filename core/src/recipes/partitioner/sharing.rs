//! What a member of a partitioner and its tasks know together.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::{Notify, watch};

use super::assignment::{Assignment, Weights};
use crate::client::Client;
use crate::error::{Error, ErrorKind};
use crate::mutex::lock;
use crate::path;
use crate::recipes::held::Held;
use crate::session::growing_pause::GrowingPause;
use crate::session::random;
use crate::turn::hold::Hold;

/// What its verbs are called.
pub(super) const NEXT: &str = "next";
pub(super) const LEAVE: &str = "leave";
pub(super) const LISTING: &str = "members";

/// One member, as the name of its node says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PartitionMember {
    pub(super) name: String,
    pub(super) weight: u32,
    /// Which partitions it knows: a hash of their names.
    pub(super) list: String,
}

impl PartitionMember {
    /// A name for its node like no other.
    pub(super) fn node(&self) -> String {
        format!("{}-{}-{}-{}", random::guid().simple(), self.weight, self.list, self.name)
    }

    pub(super) fn parse(node: &str) -> Option<PartitionMember> {
        let mut parts = node.splitn(4, '-').skip(1);
        let weight = parts.next()?.parse().ok().filter(|weight| *weight > 0)?;
        let (list, name) = (parts.next()?.to_owned(), parts.next()?.to_owned());
        Some(PartitionMember { name, weight, list })
    }
}

/// Those of one name are one.
pub(super) fn weights<'a>(members: impl Iterator<Item = &'a PartitionMember>) -> Weights {
    let mut weights = Weights::new();
    for PartitionMember { name, weight, .. } in members {
        let most = weights.entry(name.clone()).or_insert(*weight);
        *most = (*most).max(*weight);
    }
    weights
}

/// Tells why a membership has ended.
pub(super) type Ended = watch::Receiver<Option<Error>>;

/// What a member and its tasks know.
pub(super) struct Sharing {
    pub(super) client: Client,
    pub(super) path: String,
    /// Sorted by name.
    pub(super) partitions: Vec<String>,
    pub(super) member: PartitionMember,
    pub(super) drain: Duration,
    /// The one read last.
    pub(super) assignment: Mutex<Option<Assignment>>,
    /// Partitions that nobody has asked for yet.
    pub(super) won: Mutex<VecDeque<Held>>,
    /// There may be something to tell who waits.
    pub(super) news: Notify,
    pub(super) pause: (Duration, Duration),
}

pub(super) const MEMBERS: &str = "members";
pub(super) const LEADER: &str = "leader";
pub(super) const PARTITIONS: &str = "partitions";
/// Where kazoo's `SetPartitioner` has its members. Nothing of ours stands there.
pub(super) const PARTY: &str = "party";

impl Sharing {
    pub(super) fn below(&self, part: &str) -> String {
        path::join(&self.path, part)
    }

    pub(super) fn path_of(&self, partition: usize) -> String {
        path::join(&self.below(PARTITIONS), &self.partitions[partition])
    }

    pub(super) fn pause(&self) -> GrowingPause {
        GrowingPause::new(self.pause.0, self.pause.1)
    }

    /// Takes out what waits for an owner and is of this hold.
    pub(super) fn withdraw(&self, hold: &Arc<Hold>) -> Option<Held> {
        let mut won = lock(&self.won);
        let at = won.iter().position(|held| Arc::ptr_eq(held.hold(), hold))?;
        won.remove(at)
    }

    pub(super) fn next_won(&self) -> Option<Held> {
        lock(&self.won).pop_front()
    }
}

pub(super) fn has_left() -> Error {
    Error::new(ErrorKind::Cancelled, "this member has left; make another partitioner to take part again")
}
