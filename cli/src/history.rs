//! Who took over from whom, as far as it was seen.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, SystemTime};

use zkrecipes::drive::{Found, FoundKind};

use crate::contenders::ASKED;
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

struct Known {
    /// Whose node it is, as it was before a request to let go took the place of that.
    who: String,
    holds: bool,
    /// Since when it was seen to hold.
    since: Option<SystemTime>,
}

/// By recipe, its contenders by node.
type All = BTreeMap<(String, FoundKind), Contenders>;
type Contenders = BTreeMap<String, Known>;

#[derive(Default)]
pub(crate) struct History {
    before: Option<All>,
    /// The newest first.
    pub(crate) hand_offs: VecDeque<HandOff>,
}

impl History {
    /// Adds what differs from what was seen before.
    pub(crate) fn add(&mut self, all: &[Found], at: SystemTime) {
        let before = self.before.take();
        let mut now = All::new();
        for found in all.iter().filter(|found| changes_hands(found.kind)) {
            let key = (found.path.clone(), found.kind);
            let line = before.as_ref().and_then(|before| before.get(&key));
            let known = found.contenders.iter().map(|contender| {
                let seen = line.and_then(|line| line.get(&contender.node));
                let who = match seen {
                    Some(seen) if contender.identity == ASKED => seen.who.clone(),
                    _ => shown(contender),
                };
                let since = match seen {
                    Some(seen) if seen.holds => seen.since,
                    // Who held when we began has done so for we do not know how long.
                    _ => before.is_some().then_some(at),
                };
                (contender.node.clone(), Known { who, holds: contender.holds, since })
            });
            let known = known.collect();
            now.insert(key, known);
        }
        if let Some(before) = &before {
            let nobody = Contenders::new();
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
        old: &Contenders,
        new: &Contenders,
        at: SystemTime,
    ) {
        let (gone, come) = (only_in(old, new), only_in(new, old));
        // The first to come has it from the first to go.
        for at_place in 0..gone.len().max(come.len()) {
            let from = gone.get(at_place);
            self.hand_offs.push_front(HandOff {
                at,
                path: path.clone(),
                kind: kind.name(),
                from: from.map(|holder| holder.who.clone()),
                to: come.get(at_place).map(|holder| holder.who.clone()),
                held: from.and_then(|holder| at.duration_since(holder.since?).ok()),
            });
        }
    }
}

/// Who holds in one of the two alone.
fn only_in<'a>(one: &'a Contenders, other: &Contenders) -> Vec<&'a Known> {
    let holds = |node: &String| other.get(node).is_some_and(|known| known.holds);
    one.iter().filter(|(node, known)| known.holds && !holds(node)).map(|(_, known)| known).collect()
}

fn changes_hands(kind: FoundKind) -> bool {
    matches!(kind, FoundKind::Lock | FoundKind::ReadWriteLock | FoundKind::Semaphore | FoundKind::Election)
}
