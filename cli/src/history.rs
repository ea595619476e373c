//! Who took over from whom, as far as it was seen.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, SystemTime};

use zkrecipes::drive::{Found, FoundKind};

use crate::survey::shown;
use crate::table::{self, Fields};

/// How many are kept.
const KEPT: usize = 200;

/// What changed hands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HandOff {
    pub(crate) at: SystemTime,
    pub(crate) path: String,
    pub(crate) kind: &'static str,
    /// Who let go, or was gone.
    pub(crate) from: Option<String>,
    /// Who has it now.
    pub(crate) to: Option<String>,
    /// For how long the former one held it, if both ends of that were seen.
    pub(crate) held: Option<Duration>,
}

impl HandOff {
    pub(crate) fn fields(&self) -> Fields {
        table::object([
            ("at", table::timestamp(self.at).into()),
            ("path", self.path.as_str().into()),
            ("kind", self.kind.into()),
            ("from", self.from.as_deref().into()),
            ("to", self.to.as_deref().into()),
            ("held_ms", self.held.map(|held| held.as_millis() as u64).into()),
        ])
    }
}

/// Whose node it is, and since when it was seen to hold.
type Holder = (String, Option<SystemTime>);

/// By recipe, those who hold, by node.
type Holders = BTreeMap<(String, FoundKind), BTreeMap<String, Holder>>;

#[derive(Default)]
pub(crate) struct History {
    before: Option<Holders>,
    /// The newest first.
    pub(crate) hand_offs: VecDeque<HandOff>,
}

impl History {
    /// Adds what differs from what was seen before.
    pub(crate) fn add(&mut self, all: &[Found], at: SystemTime) {
        let before = self.before.take();
        let mut now = Holders::new();
        for found in all.iter().filter(|found| changes_hands(found.kind)) {
            let key = (found.path.clone(), found.kind);
            let known = before.as_ref().and_then(|before| before.get(&key));
            let holders = found.contenders.iter().filter(|contender| contender.holds).map(|contender| {
                // Who held when we began has done so for we do not know how long.
                let first = || before.is_some().then_some(at);
                let seen = known.and_then(|known| known.get(&contender.node)).map(|(_, since)| *since);
                (contender.node.clone(), (shown(contender), seen.unwrap_or_else(first)))
            });
            let holders = holders.collect();
            now.insert(key, holders);
        }
        if let Some(before) = &before {
            let nobody = BTreeMap::new();
            let mut keys: Vec<_> = before.keys().chain(now.keys()).collect();
            keys.sort();
            keys.dedup();
            for key in keys {
                let (old, new) = (before.get(key).unwrap_or(&nobody), now.get(key).unwrap_or(&nobody));
                self.tell(key, old, new, at);
            }
        }
        self.hand_offs.truncate(KEPT);
        self.before = Some(now);
    }

    fn tell(
        &mut self,
        (path, kind): &(String, FoundKind),
        old: &BTreeMap<String, Holder>,
        new: &BTreeMap<String, Holder>,
        at: SystemTime,
    ) {
        let gone: Vec<_> = old.iter().filter(|(node, _)| !new.contains_key(*node)).collect();
        let come: Vec<_> = new.iter().filter(|(node, _)| !old.contains_key(*node)).collect();
        // The first to come has it from the first to go.
        for at_place in 0..gone.len().max(come.len()) {
            let from = gone.get(at_place).map(|(_, holder)| *holder);
            let held = from.and_then(|(_, since)| at.duration_since((*since)?).ok());
            self.hand_offs.push_front(HandOff {
                at,
                path: path.clone(),
                kind: kind.name(),
                from: from.map(|(who, _)| who.clone()),
                to: come.get(at_place).map(|(_, (who, _))| who.clone()),
                held,
            });
        }
    }
}

fn changes_hands(kind: FoundKind) -> bool {
    matches!(kind, FoundKind::Lock | FoundKind::ReadWriteLock | FoundKind::Semaphore | FoundKind::Election)
}
