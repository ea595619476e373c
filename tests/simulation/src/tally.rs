//! What happened, in figures.

use std::ops::AddAssign;

/// Figures of a run.
#[derive(Debug, Default, Clone, Copy)]
pub struct Tally {
    pub acquisitions: u64,
    pub losses: u64,
    pub timeouts: u64,
    pub cancellations: u64,
    pub downgrades: u64,
    pub requests: u64,
    pub changes: u64,
    pub observed: u64,
    pub items: u64,
    pub deaths: u64,
    pub rounds: u64,
    pub commits: u64,
    pub aborts: u64,
    pub crashes: u64,
    pub faults: u64,
    pub collected: u64,
    pub refusals: u64,
    pub settings: u64,
    /// Requests of more than half of what a server takes.
    pub bulky: u64,
    /// Ends of claims of which nobody heard.
    pub doubts: u64,
    /// Nodes that somebody deleted who had no part in them.
    pub deletions: u64,
    /// Names that were another node's before.
    pub reused: u64,
    /// How often followers fell behind, or lost the leader.
    pub lags: u64,
    /// How often all lost the leader, and had one again.
    pub elections: u64,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, other: Tally) {
        self.acquisitions += other.acquisitions;
        self.losses += other.losses;
        self.timeouts += other.timeouts;
        self.cancellations += other.cancellations;
        self.downgrades += other.downgrades;
        self.requests += other.requests;
        self.changes += other.changes;
        self.observed += other.observed;
        self.items += other.items;
        self.deaths += other.deaths;
        self.rounds += other.rounds;
        self.commits += other.commits;
        self.aborts += other.aborts;
        self.crashes += other.crashes;
        self.faults += other.faults;
        self.collected += other.collected;
        self.refusals += other.refusals;
        self.settings += other.settings;
        self.bulky += other.bulky;
        self.doubts += other.doubts;
        self.deletions += other.deletions;
        self.reused += other.reused;
        self.lags += other.lags;
        self.elections += other.elections;
    }
}
