//! Observing an election: epochs never fall, and no two leaders have one.

use std::collections::HashMap;

use zkrecipes::Leader;

use crate::solo::Solo;

/// Who led in which epoch, by all observers together. Only looked up, never walked through.
#[derive(Default)]
pub struct Leaders(Solo<HashMap<u64, String>>);

impl Leaders {
    /// One observer was told of a leader after one of epoch `before`; why that cannot be.
    pub fn told(&self, before: u64, leader: &Leader) -> Option<String> {
        if leader.epoch < before {
            return Some(format!("an observer was told of epoch {} after {before}", leader.epoch));
        }
        // Who was asked to let go before anybody looked says nothing.
        if leader.identity.is_empty() {
            return None;
        }
        let mut known = self.0.lock();
        let known = known.entry(leader.epoch).or_insert_with(|| leader.identity.clone());
        let other = (*known != leader.identity).then(|| known.clone());
        other.map(|other| format!("{other} and {} lead in epoch {}", leader.identity, leader.epoch))
    }
}
