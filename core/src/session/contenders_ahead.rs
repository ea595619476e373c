//! Which contenders a waiter has seen ahead of it, for whoever wants to tell its user. It costs no request.

use std::sync::Mutex;

use super::wire::Stat;
use crate::mutex::lock;

/// Written by the waiter, read by others.
#[derive(Default)]
pub(crate) struct ContendersAhead(Mutex<Option<AheadAtLastLook>>);

/// Those who were ahead when the waiter looked last.
#[derive(Clone)]
pub(crate) struct AheadAtLastLook {
    pub(crate) parent: String,
    /// The name of the first one.
    pub(crate) first: String,
    pub(crate) count: usize,
    /// The name of the one that is closest, and its node as it was when it was first watched.
    closest: Option<(String, Vec<u8>, Stat)>,
}

impl AheadAtLastLook {
    /// The node of the first one, if it was read already.
    pub(crate) fn read(&self) -> Option<(&[u8], &Stat)> {
        let closest = self.closest.as_ref().filter(|(name, ..)| *name == self.first);
        closest.map(|(_, data, stat)| (&**data, stat))
    }
}

impl ContendersAhead {
    pub(crate) fn ahead(&self) -> Option<AheadAtLastLook> {
        lock(&self.0).clone()
    }

    /// So many are ahead under `parent`, and this is the first of them.
    pub(crate) fn saw(&self, parent: &str, first: &str, count: usize) {
        let mut now = lock(&self.0);
        let closest = now.take().and_then(|before| before.closest);
        *now = Some(AheadAtLastLook { parent: parent.to_owned(), first: first.to_owned(), count, closest });
    }

    /// This is the node of the one that is closest ahead. What it said first stays, because a request to let go is written
    /// over its identity.
    pub(crate) fn read(&self, name: &str, data: Vec<u8>, stat: Stat) {
        if let Some(ahead) = &mut *lock(&self.0) {
            let is_new = |(before, _, seen): &(String, _, Stat)| before != name || seen.czxid != stat.czxid;
            if ahead.closest.as_ref().is_none_or(is_new) {
                ahead.closest = Some((name.to_owned(), data, stat));
            }
        }
    }

    /// It waits no more.
    pub(crate) fn forget(&self) {
        *lock(&self.0) = None;
    }
}
