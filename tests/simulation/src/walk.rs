//! What is walked from case to case, and what came of it.

use std::fmt;

use crate::Outcome;

/// A row of cases, in each of which something happens to other requests.
pub trait Walks: fmt::Display + Send + Sync {
    /// What they are about: many have the same.
    fn what(&self) -> String;

    /// Every case, or from the `first` request on only every so many of each; `aloud` prints every event of the one that is called
    /// so.
    fn walk(&self, seed: u64, first: u64, every: usize, aloud: Option<&str>) -> Walk;
}

/// What became of the cases.
#[derive(Default, Debug)]
pub struct Walk {
    pub cases: u64,
    /// In which all of it happened.
    pub whole: u64,
    pub steps: u64,
    pub commits: u64,
    pub aborts: u64,
    /// The cases that broke a promise, by name.
    pub failures: Vec<(String, Outcome)>,
}

impl Walk {
    pub(crate) fn count(&mut self, name: String, outcome: Outcome, is_whole: bool) {
        self.cases += 1;
        self.whole += u64::from(is_whole);
        self.steps += outcome.steps;
        self.commits += outcome.tally.commits;
        self.aborts += outcome.tally.aborts;
        if outcome.failure.is_some() {
            self.failures.push((name, outcome));
        }
    }
}

impl std::ops::AddAssign for Walk {
    fn add_assign(&mut self, other: Walk) {
        self.cases += other.cases;
        self.whole += other.whole;
        self.steps += other.steps;
        self.commits += other.commits;
        self.aborts += other.aborts;
        self.failures.extend(other.failures);
    }
}
