//! Partitions for a face that hands them out: each is its owner's until that lets go of it or it is lost.
//!
//! The feed ends with Cancelled when the member leaves. The end of the feed is the end of the membership: what is still held is
//! asked for, and taken away after the time for draining.

use super::{LeavingInBackground, Partitioner};
use crate::error::Result;
use crate::feed::{Feed, Source};
use crate::recipes::held::Held;

impl Partitioner {
    pub(crate) fn handed_out(&self) -> Feed<Held> {
        Feed::new(HandedOutPartitions {
            partitioner: self.clone(),
            _leaving: LeavingInBackground(Some(self.clone())),
        })
    }
}

struct HandedOutPartitions {
    partitioner: Partitioner,
    _leaving: LeavingInBackground,
}

impl Source<Held> for HandedOutPartitions {
    async fn next(&mut self) -> Result<Held> {
        self.partitioner.next(None).await
    }
}
