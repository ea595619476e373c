//! Which contenders a waiter has seen ahead of it, for whoever wants to tell its user. It costs no request.

use std::sync::Arc;

use super::wire::Stat;
use crate::mutex::lock;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicBool, Ordering};

/// Written by the waiter, read by others.
#[derive(Default)]
pub(crate) struct ContendersAhead {
    note: Mutex<AheadNote>,
    has_stood: AtomicBool,
}

/// Answers who is ahead of one that does not look itself.
type AskAhead = Arc<dyn Fn() -> Option<AheadAtLastLook> + Send + Sync>;

#[derive(Default, Clone)]
enum AheadNote {
    #[default]
    Unknown,
    /// In a box: hardly any waiter looks itself.
    Looked(Box<AheadAtLastLook>),
    Asks(AskAhead),
}

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
    /// `count` are ahead under `parent`, and `first` is the first of them; with what its node says, if that is known.
    pub(crate) fn known(
        parent: &str,
        first: String,
        count: usize,
        node: Option<(Vec<u8>, Stat)>,
    ) -> AheadAtLastLook {
        let closest = node.map(|(data, stat)| (first.clone(), data, stat));
        AheadAtLastLook { parent: parent.to_owned(), first, count, closest }
    }

    /// The node of the first one, if it was read already.
    pub(crate) fn read(&self) -> Option<(&[u8], &Stat)> {
        let closest = self.closest.as_ref().filter(|(name, ..)| *name == self.first);
        closest.map(|(_, data, stat)| (&**data, stat))
    }
}

impl ContendersAhead {
    /// The waiter stands in line.
    pub(crate) fn stands(&self) {
        self.has_stood.store(true, Ordering::Relaxed);
    }

    /// Whether the waiter has stood in line.
    pub(crate) fn has_stood(&self) -> bool {
        self.has_stood.load(Ordering::Relaxed)
    }

    pub(crate) fn ahead(&self) -> Option<AheadAtLastLook> {
        let ahead = lock(&self.note).clone();
        match ahead {
            AheadNote::Unknown => None,
            AheadNote::Looked(ahead) => Some(*ahead),
            AheadNote::Asks(asked) => asked(),
        }
    }

    /// So many are ahead under `parent`, and this is the first of them.
    pub(crate) fn saw(&self, parent: &str, first: &str, count: usize) {
        let mut now = lock(&self.note);
        let closest = match std::mem::take(&mut *now) {
            AheadNote::Looked(before) => before.closest,
            _ => None,
        };
        let (parent, first) = (parent.to_owned(), first.to_owned());
        *now = AheadNote::Looked(Box::new(AheadAtLastLook { parent, first, count, closest }));
    }

    /// Whoever wants to know who is ahead asks `asked`.
    pub(crate) fn asks(&self, asked: AskAhead) {
        *lock(&self.note) = AheadNote::Asks(asked);
    }

    /// This is the node of the one that is closest ahead. What it said first stays, because a request to let go is written
    /// over its identity.
    pub(crate) fn read(&self, name: &str, data: Vec<u8>, stat: Stat) {
        if let AheadNote::Looked(ahead) = &mut *lock(&self.note) {
            let is_new = |(before, _, seen): &(String, _, Stat)| before != name || seen.czxid != stat.czxid;
            if ahead.closest.as_ref().is_none_or(is_new) {
                ahead.closest = Some((name.to_owned(), data, stat));
            }
        }
    }

    /// It leaves the line, which knows nothing of it from then on: who asks later is told how it stood.
    pub(crate) fn leaves(&self) {
        let ahead = self.ahead();
        *lock(&self.note) = ahead.map_or(AheadNote::Unknown, |ahead| AheadNote::Looked(Box::new(ahead)));
    }

    /// It waits no more.
    pub(crate) fn forget(&self) {
        *lock(&self.note) = AheadNote::Unknown;
    }
}
