//! Which server is tried next, and when.

use std::time::Duration;

use crate::hosts::Server;
use crate::options::RetryOptions;
use crate::session::random;

/// The longest pause between attempts to connect, whatever calls pause. Who waits for a session is not to sleep while the servers are
/// back: with a pause of up to five seconds a client came 4.9 s after its server, and calls gave up asleep. Two thousand clients make
/// 4,000 attempts a second at a machine without a server (half a second each, on average), and open their sessions within the first
/// second that there is one.
const LONGEST: Duration = Duration::from_secs(1);

pub(super) struct Servers {
    order: Vec<Server>,
    at: usize,
    /// How many attempts have failed in a row.
    failed: u32,
}

impl Servers {
    /// In an order of its own for each session, so that clients spread over the servers.
    pub(super) fn shuffled(mut order: Vec<Server>) -> Servers {
        for at in (1..order.len()).rev() {
            order.swap(at, random::below(at + 1));
        }
        Servers { order, at: 0, failed: 0 }
    }

    pub(super) fn many(&self) -> usize {
        self.order.len()
    }

    pub(super) fn current(&self) -> &Server {
        &self.order[self.at]
    }

    /// One behind the current one, and so on in turn.
    pub(super) fn other(&self, turn: usize) -> &Server {
        let step = 1 + turn % (self.order.len() - 1);
        &self.order[(self.at + step) % self.order.len()]
    }

    pub(super) fn are(&self, servers: &[Server]) -> bool {
        servers.len() == self.order.len() && servers.iter().all(|server| self.order.contains(server))
    }

    /// This one is the current one, if it is among them.
    pub(super) fn begin_with(&mut self, server: &Server) -> bool {
        let at = self.order.iter().position(|one| one == server);
        self.at = at.unwrap_or(self.at);
        at.is_some()
    }

    /// The same, by its `host:port`.
    pub(super) fn begin_with_named(&mut self, name: &str) {
        let at = self.order.iter().position(|one| one.to_string() == name);
        self.at = at.unwrap_or(self.at);
    }

    /// A server took us.
    pub(super) fn took(&mut self) {
        self.failed = 0;
    }

    /// Goes on to the next server, and answers for how long to pause before it: somewhere between nothing and the pause of
    /// the round, so that all the clients of a server that has died do not come at once.
    pub(super) fn next(&mut self, retry: &RetryOptions) -> Duration {
        let many = self.order.len();
        self.at = (self.at + 1) % many;
        let round = self.failed / many as u32;
        self.failed = self.failed.saturating_add(1);
        let longest = (retry.base * 2_u32.pow(round.min(16))).min(retry.max).min(LONGEST);
        let drawn = random::below(1000) as u32;
        longest * drawn / 1000
    }
}
