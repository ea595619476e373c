//! Rounds of a double barrier: who is let in belongs to a round that was declared with all its members there, and
//! nobody is let out before all the others of it have left, died or given up.

use std::collections::{BTreeMap, BTreeSet};

use crate::plan::Plan;
use crate::sim::{HostId, Instant, Sim};
use crate::snapshot::Node;
use crate::solo::Solo;
use crate::subject::PATH;
use crate::tell;
use crate::trace::short;

/// Who comes alone when the others are done.
pub const ALONE: &str = "last";

/// Counted by who stands on the server when a round is declared, and by what the members say that they do.
#[derive(Default)]
pub struct Rounds(Solo<Inner>);

#[derive(Default)]
struct Inner {
    parties: usize,
    everybody: usize,
    /// `ready`, by its czxid, if it stands.
    ready: Option<i64>,
    declared: Vec<Round>,
    /// The nodes of members that stand, with the member's name and its number.
    standing: BTreeMap<String, (i64, String)>,
    /// When each node was seen first.
    seen: BTreeMap<String, Instant>,
    members: BTreeMap<String, Member>,
    /// When each host's process ended last.
    crashed: BTreeMap<HostId, Instant>,
    now: Instant,
    /// Who has been in a round and out of it since the last fault.
    through: BTreeSet<String>,
    done: usize,
}

struct Round {
    declared: Instant,
    /// Node and name.
    members: Vec<(String, String)>,
}

#[derive(Default)]
struct Member {
    /// When it came.
    since: Instant,
    /// Which round it is in, or was in last.
    round: Option<usize>,
}

impl Rounds {
    pub fn of(plan: &Plan) -> Rounds {
        let (parties, everybody) = (plan.parties(), plan.everybody());
        Rounds(Solo::new(Inner { parties, everybody, ..Inner::default() }))
    }

    // ---- on the server

    /// What stands there now; why that cannot be.
    pub fn look(&self, sim: &Sim, nodes: &[Node]) -> Option<String> {
        self.0.lock().look(sim, nodes)
    }

    pub fn crashed(&self, host: HostId) {
        let rounds = &mut *self.0.lock();
        rounds.crashed.insert(host, rounds.now);
    }

    // ---- what members do

    pub fn comes(&self, name: &str, now: Instant) {
        self.0.lock().members.entry(name.to_owned()).or_default().since = now;
    }

    /// It has been let in; why that cannot be.
    pub fn is_let_in(&self, name: &str) -> Option<String> {
        let rounds = &mut *self.0.lock();
        let member = rounds.members.get_mut(name)?;
        let is_its = |round: &Round| {
            round.declared >= member.since && round.members.iter().any(|(_, other)| other == name)
        };
        let round = rounds.declared.iter().rposition(is_its);
        let before = std::mem::replace(&mut member.round, round);
        match round {
            None => Some(format!("{name} was let in, and no round with it was declared since it came")),
            Some(_) if round == before => Some(format!("{name} was let in a second time")),
            Some(_) => None,
        }
    }

    /// It has been let out; why that cannot be. Tells whether it has gone through a round since the last fault.
    pub fn is_let_out(&self, name: &str, is_calm: bool) -> Option<String> {
        let rounds = &mut *self.0.lock();
        let round = &rounds.declared[rounds.members.get(name)?.round?];
        let others = round.members.iter().filter(|(_, other)| other != name);
        let mut there = others.filter(|(node, _)| rounds.standing.contains_key(node));
        let wrong = there.next().map(|(_, other)| format!("{name} was let out, and {other} is still there"));
        if is_calm {
            rounds.through.insert(name.to_owned());
        }
        wrong
    }

    pub fn have_all_gone_through(&self) -> bool {
        let rounds = self.0.lock();
        rounds.through.len() >= rounds.everybody
    }

    /// Whether others go through without it, who may be slower to come and would never be among the first.
    pub fn steps_back(&self, name: &str) -> bool {
        let rounds = self.0.lock();
        let Some(at) = rounds.through.iter().position(|other| other == name) else { return false };
        let left = rounds.everybody - rounds.through.len();
        left > 0 && at + left >= rounds.parties
    }

    /// A member comes no more. Answers how many still do.
    pub fn done(&self) -> usize {
        let rounds = &mut *self.0.lock();
        rounds.done += 1;
        rounds.everybody - rounds.done
    }

    pub fn are_all_done(&self) -> bool {
        let rounds = self.0.lock();
        rounds.done >= rounds.everybody
    }
}

fn all_of(members: &[(String, String)]) -> String {
    members.iter().map(|(node, name)| format!("{name} by {}", short(node))).collect::<Vec<_>>().join(", ")
}

impl Inner {
    fn look(&mut self, sim: &Sim, nodes: &[Node]) -> Option<String> {
        let now = sim.now();
        self.now = now;
        let below = |node: &Node| node.path.strip_prefix(PATH)?.strip_prefix('/').map(str::to_owned);
        let ready = nodes.iter().find(|node| below(node).as_deref() == Some("ready"));
        let members = nodes.iter().filter(|node| below(node).is_some_and(|name| name != "ready"));
        let members = members.filter(|node| node.data != ALONE.as_bytes());
        let named = |node: &Node| (node.czxid, String::from_utf8_lossy(&node.data).into_owned());
        self.standing = members.map(|node| (node.path.clone(), named(node))).collect();
        for node in self.standing.keys() {
            self.seen.entry(node.clone()).or_insert(now);
        }
        let ready = ready.map(|node| node.czxid);
        let before = std::mem::replace(&mut self.ready, ready);
        if ready.is_none() || ready == before || self.done == self.everybody {
            return None;
        }
        // Those who came first.
        let mut members: Vec<_> = self.standing.iter().collect();
        members.sort_by_key(|(_, (czxid, _))| *czxid);
        let members: Vec<_> =
            members.into_iter().map(|(node, (_, name))| (node.clone(), name.clone())).collect();
        tell!(sim, "a round is declared, there are {}", all_of(&members));
        let names: BTreeSet<_> = members.iter().map(|(_, name)| name).collect();
        let twice = (members.len() - names.len()).saturating_sub(self.left_by_the_dead(&members));
        let wrong = (members.len() - twice < self.parties)
            .then(|| format!("a round of {} was declared with {names:?}", self.parties));
        let members = members.into_iter().take(self.parties).collect();
        self.declared.push(Round { declared: now, members });
        wrong
    }

    /// How many nodes are of processes that have ended, beside one of the same name: they look alive to everybody.
    fn left_by_the_dead(&self, members: &[(String, String)]) -> usize {
        let is_dead = |node: &str, name: &str| {
            let host = name.strip_prefix('h').and_then(|rest| rest.split('w').next()?.parse().ok());
            let crashed = host.and_then(|host: HostId| self.crashed.get(&host));
            crashed.is_some_and(|crashed| self.seen[node] <= *crashed)
        };
        let has_another = |name: &str| members.iter().filter(|(_, other)| other == name).count() > 1;
        members.iter().filter(|(node, name)| has_another(name) && is_dead(node, name)).count()
    }
}
