//! Fencing tokens must rise: from holder to holder of a queue, and among readers past the writers before them.

use std::collections::{BTreeMap, HashMap};

use crate::standing::{Contender, Kind};

/// A czxid, and how often the turn was passed on in memory.
pub type Token = (u64, u32);

/// The highest of each queue so far.
#[derive(Default)]
pub struct Tokens(BTreeMap<String, Granted>);

#[derive(Default)]
struct Granted {
    to_anybody: Token,
    to_writers: Token,
    /// By the writers' numbers: a reader with one of them has taken over, and keeps its writer's token.
    by_number: HashMap<i32, Token>,
}

impl Tokens {
    /// Refuses, and says why.
    pub fn grant(&mut self, node: &Contender, token: Token) -> Result<(), String> {
        let granted = self.0.entry(node.queue().to_owned()).or_default();
        let writers = node.number().and_then(|number| granted.by_number.get(&number));
        let floor = match (node.kind, writers) {
            // One transaction may give several permits, and they reach their owners in any order.
            (Kind::Permit, _) => return Ok(()),
            (Kind::Read, Some(writers)) if *writers == token => return Ok(()),
            (Kind::Read, Some(writers)) => {
                return Err(format!("token {token:?}, and its writer had {writers:?}"));
            }
            (Kind::Read, None) => granted.to_writers,
            (Kind::Lock | Kind::Write, _) => granted.to_anybody,
        };
        granted.to_anybody = granted.to_anybody.max(token);
        if node.kind != Kind::Read {
            granted.to_writers = granted.to_writers.max(token);
            granted.by_number.extend(node.number().map(|number| (number, token)));
        }
        if token > floor { Ok(()) } else { Err(format!("token {token:?} after {floor:?}")) }
    }

    /// A queue was deleted: a new one counts from zero again.
    pub fn begin_anew(&mut self) {
        self.0.values_mut().for_each(|granted| granted.by_number.clear());
    }
}
