//! The number of parties of a barrier, which the handles of one client share: it is asked for once, for all of them.

use crate::mutex::lock;
use std::collections::HashMap;
use std::sync::{Arc, Mutex};

/// What a client remembers of barriers that no handle is on.
const MOST_PATHS: usize = 1000;

#[derive(Default)]
pub(super) struct Agreements(Mutex<HashMap<String, Arc<Agreement>>>);

impl Agreements {
    pub(super) fn of(&self, path: &str) -> Arc<Agreement> {
        let mut all = lock(&self.0);
        if all.len() >= MOST_PATHS && !all.contains_key(path) {
            // Asking once more is better than remembering without limit.
            all.retain(|_, agreement| Arc::strong_count(agreement) > 1);
        }
        all.entry(path.to_owned()).or_default().clone()
    }
}

#[derive(Default)]
pub(super) struct Agreement {
    parties: Mutex<Option<usize>>,
    /// One handle asks, and the others wait for what it learns.
    pub(super) asking: tokio::sync::Mutex<()>,
}

impl Agreement {
    /// Whether so many are known to be everybody's number, unless they change it.
    pub(super) fn is_on(&self, parties: usize) -> bool {
        *lock(&self.parties) == Some(parties)
    }

    pub(super) fn is(&self, parties: usize) {
        *lock(&self.parties) = Some(parties);
    }

    /// To be asked again.
    pub(super) fn ends(&self) {
        *lock(&self.parties) = None;
    }
}
