//! Rounds of a double barrier: who is let in belongs to a round that was declared with all its members there, and
//! nobody is let out before all the others of it have left, died or given up.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::plan::Plan;
use crate::sim::{Instant, Sim};
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
    /// Whether nobody deletes what is not theirs.
    is_exclusive: bool,
    /// `ready`, by its czxid, if it stands.
    ready: Option<i64>,
    declared: Vec<Round>,
    /// The nodes of members that stand, with their number, the session they are of, and the member's name.
    standing: BTreeMap<String, (i64, i64, String)>,
    members: BTreeMap<String, Member>,
    /// Who has been in a round and out of it since the last fault.
    through: BTreeSet<String>,
    done: usize,
}

struct Round {
    declared: Instant,
    /// Node and name.
    members: Vec<(String, String)>,
    /// Of which session the node of each of them is.
    sessions: BTreeMap<String, i64>,
}

#[derive(Default)]
struct Member {
    /// When it came.
    since: Instant,
    /// Which round it is in, or was in last.
    round: Option<usize>,
    /// Whether it has left the last round as one should: what a call that failed or was dropped leaves may be counted until it is
    /// gone.
    has_left: bool,
    /// The same when it came.
    had_left: bool,
}

impl Rounds {
    pub fn of(plan: &Plan) -> Rounds {
        let (parties, everybody, is_exclusive) = (plan.parties(), plan.everybody(), !plan.is_forced());
        Rounds(Solo::new(Inner { parties, everybody, is_exclusive, ..Inner::default() }))
    }

    // ---- on the server

    /// What stands there now; why that cannot be.
    pub fn look(&self, sim: &Sim, nodes: &[Arc<Node>]) -> Option<String> {
        self.0.lock().look(sim, nodes)
    }

    // ---- what members do

    pub fn comes(&self, name: &str, now: Instant) {
        let rounds = &mut *self.0.lock();
        let member = rounds.members.entry(name.to_owned()).or_default();
        (member.since, member.had_left) = (now, std::mem::take(&mut member.has_left));
    }

    /// It has been let in; why that cannot be.
    pub fn is_let_in(&self, name: &str) -> Option<String> {
        let rounds = &mut *self.0.lock();
        let member = rounds.members.get_mut(name)?;
        let is_its = |round: &Round| {
            round.declared >= member.since && round.members.iter().any(|(_, other)| other == name)
        };
        // Of a node that came without an answer, and went with its session, nobody knows whether it was counted, nor of one that
        // somebody else has deleted.
        let mut sessions =
            rounds.declared.iter().rev().filter(|round| is_its(round)).map(|round| round.sessions.get(name));
        let can_know = rounds.is_exclusive && member.had_left;
        if can_know && sessions.next().is_some_and(|last| sessions.any(|session| session == last)) {
            return Some(format!(
                "{name} is let in, and was not into a round before that was declared with it"
            ));
        }
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
        if let Some(member) = rounds.members.get_mut(name) {
            member.has_left = true;
        }
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
    fn look(&mut self, sim: &Sim, nodes: &[Arc<Node>]) -> Option<String> {
        let below = |node: &Node| node.path.strip_prefix(PATH)?.strip_prefix('/').map(str::to_owned);
        let ready = nodes.iter().find(|node| below(node).as_deref() == Some("ready"));
        let members = nodes.iter().filter(|node| below(node).is_some_and(|name| name != "ready"));
        let members = members.filter(|node| node.data != ALONE.as_bytes());
        let named =
            |node: &Node| (node.czxid, node.session, String::from_utf8_lossy(&node.data).into_owned());
        self.standing = members.map(|node| (node.path.clone(), named(node))).collect();
        let ready = ready.map(|node| node.czxid);
        let before = std::mem::replace(&mut self.ready, ready);
        if ready.is_none() || ready == before || self.done == self.everybody {
            return None;
        }
        // Those who came first.
        let mut members: Vec<_> = self.standing.iter().collect();
        members.sort_by_key(|(_, (czxid, ..))| *czxid);
        // What an earlier session of a member has left looks alive to everybody, until that session ends.
        let different: BTreeSet<_> = members.iter().map(|(_, (_, session, name))| (session, name)).collect();
        let wrong = (different.len() < self.parties)
            .then(|| format!("a round of {} was declared with {different:?}", self.parties));
        let first = members.iter().take(self.parties);
        let sessions = first.map(|(_, (_, session, name))| (name.clone(), *session)).collect();
        let members: Vec<_> =
            members.into_iter().map(|(node, (.., name))| (node.clone(), name.clone())).collect();
        tell!(sim, "a round is declared, there are {}", all_of(&members));
        let members = members.into_iter().take(self.parties).collect();
        self.declared.push(Round { declared: sim.now(), members, sessions });
        wrong
    }
}
