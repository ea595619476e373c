//! Which server is tried next, and when.

use std::time::Duration;

use crate::session::chance;

/// How long the pauses between two rounds through all servers are.
pub(crate) struct Pauses {
    pub(crate) base: Duration,
    pub(crate) max: Duration,
}

pub(super) struct Servers {
    order: Vec<usize>,
    at: usize,
    /// How many attempts have failed in a row.
    failed: u32,
}

impl Servers {
    /// In an order of its own for each session, so that clients spread over the servers.
    pub(super) fn shuffled(many: usize) -> Servers {
        let mut order: Vec<_> = (0..many).collect();
        for at in (1..many).rev() {
            order.swap(at, chance::below(at + 1));
        }
        Servers { order, at: 0, failed: 0 }
    }

    pub(super) fn current(&self) -> usize {
        self.order[self.at]
    }

    /// This one is the current one.
    pub(super) fn begin_with(&mut self, server: usize) {
        self.at = self.order.iter().position(|one| *one == server).unwrap_or(self.at);
    }

    /// A server took us.
    pub(super) fn took(&mut self) {
        self.failed = 0;
    }

    /// Goes on to the next server, and answers for how long to pause before it: somewhere between nothing and the pause of
    /// the round, so that all the clients of a server that has died do not come at once.
    pub(super) fn next(&mut self, pauses: &Pauses) -> Duration {
        self.at = (self.at + 1) % self.order.len();
        let round = self.failed / self.order.len() as u32;
        self.failed = self.failed.saturating_add(1);
        let longest = (pauses.base * 2_u32.pow(round.min(16))).min(pauses.max);
        let drawn = chance::below(1000) as u32;
        longest * drawn / 1000
    }
}
