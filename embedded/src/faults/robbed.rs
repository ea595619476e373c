//! Connections that a black hole took something from.

use super::{FaultId, Rules};
use std::collections::BTreeSet;
use std::time::Duration;

/// Connections that cannot go on once the black hole has ended: TCP loses nothing in mid-stream.
#[derive(Debug, Default)]
pub(crate) struct Robbed(BTreeSet<(FaultId, u64)>);

impl Robbed {
    pub fn note(&mut self, by: Option<FaultId>, conn: u64) {
        self.0.extend(by.map(|id| (id, conn)));
    }

    /// Whether this connection may say nothing more.
    pub fn is_over(&self, conn: u64, rules: &Rules, now: Duration) -> bool {
        !self.0.is_empty() && self.0.iter().any(|(id, c)| *c == conn && !rules.is_in_force(*id, now))
    }

    /// The connections whose black hole has ended.
    pub fn take_ended(&mut self, rules: &Rules, now: Duration) -> BTreeSet<u64> {
        let all = std::mem::take(&mut self.0);
        let (lasting, over): (BTreeSet<_>, _) =
            all.into_iter().partition(|(id, _)| rules.is_in_force(*id, now));
        self.0 = lasting;
        over.into_iter().map(|(_, conn)| conn).collect()
    }

    /// When the next black hole that took something ends by itself.
    pub fn next_end(&self, rules: &Rules) -> Option<Duration> {
        self.0.iter().filter_map(|(id, _)| rules.ends_at(*id)).min()
    }

    pub fn forget(&mut self, conn: u64) {
        self.0.retain(|(_, c)| *c != conn);
    }
}
