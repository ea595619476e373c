//! What the ledger knows of the tree and of those who wait: who stood when, who had their turn, and what somebody took away.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use crate::sim::HostId;
use crate::standing::{Contender, Kind, Standing, parse};
use crate::tokens::Tokens;
use crate::trace::short;

/// What the book says of a holding's nodes, as long as nothing changes there.
#[derive(Default)]
pub struct Seen {
    /// At which change of the book that was.
    pub change: u64,
    pub is_forced: bool,
    /// Where those stand that do.
    pub at: Vec<usize>,
    /// Why a node does not entitle to hold, and which one.
    pub why_not: Vec<(String, String)>,
}

/// A worker that waits for its turn.
pub struct Waiting {
    pub host: HostId,
    /// What it waits for, if its client's waiters are served in order.
    pub kind: Option<Kind>,
    /// It will not give up, and began to wait with a session.
    pub is_patient: bool,
    /// Nothing has happened since that could cost it its place.
    pub is_undisturbed: bool,
}

#[derive(Default)]
pub struct Book {
    pub accusation: Option<String>,
    pub standing: Arc<Standing>,
    /// How many permits there are.
    pub size: usize,
    /// Everybody who ever stood, by path.
    pub known: HashMap<String, Contender>,
    /// The paths that one transaction made.
    made: HashMap<u64, Vec<String>>,
    /// Counts what became of the tree.
    looks: u64,
    /// Counts whatever may change what a holding's nodes entitle to.
    pub changes: u64,
    /// When nobody kept a node from holding for the first time, and when it was gone.
    had_turn: HashMap<String, u64>,
    gone: HashMap<String, u64>,
    pub forced: HashSet<String>,
    /// Nodes that somebody wants to have gone.
    pub asked: HashSet<String>,
    /// Which task was told that which node is gone, and at which step.
    pub told_gone: HashMap<(u64, String), u64>,
    pub waiting: BTreeMap<u64, Waiting>,
    /// Hosts that have been granted something in the session that they have: they know their way.
    pub familiar: BTreeSet<HostId>,
    pub tokens: Tokens,
    /// At which step a session of which host ended last.
    pub ended: BTreeMap<HostId, u64>,
    /// Nodes whose owners have been granted them and have not let go. The others of a session need not wait for what nobody of
    /// it wants any more, though that may still stand.
    pub held: HashSet<String>,
    /// Acquisitions that were released and not lost.
    pub let_go: HashSet<u64>,
    pub is_parent_missing: bool,
}

impl Waiting {
    /// Both are after what only one of them can have.
    pub fn is_overtaken_by(&self, other: &Waiting) -> bool {
        let is_in_order = self.kind.zip(other.kind).is_some_and(|(ahead, behind)| ahead.excludes(behind));
        is_in_order && self.host == other.host && self.is_patient && self.is_undisturbed
    }
}

impl Book {
    /// An empty one, of so many permits.
    pub fn of(size: usize) -> Book {
        Book { size, ..Book::default() }
    }

    pub fn look_at(&mut self, standing: Arc<Standing>, gone: Vec<String>) {
        self.looks += 1;
        self.changes += 1;
        self.gone.extend(gone.into_iter().map(|path| (path, self.looks)));
        let before = std::mem::replace(&mut self.standing, standing.clone());
        for contender in standing.all().iter().filter(|contender| !before.has_still(contender)) {
            if self.known.get(&contender.path).is_none_or(|known| known.czxid() != contender.czxid()) {
                self.begin_anew(contender);
            }
            if contender.is_asked && !self.asked.contains(&contender.path) {
                self.asked.insert(contender.path.clone());
            }
        }
        self.note_turns();
    }

    fn note_turns(&mut self) {
        let standing = self.standing.clone();
        for contender in standing.all() {
            if !self.had_turn.contains_key(&contender.path) && self.obstacle(contender).is_none() {
                self.had_turn.insert(contender.path.clone(), self.looks);
            }
        }
    }

    /// Who keeps a contender from holding.
    fn obstacle(&self, contender: &Contender) -> Option<&Contender> {
        let is_other = |other: &Contender| other.session != contender.session;
        self.standing.obstacles(contender).find(|other| is_other(other) || self.held.contains(&other.path))
    }

    /// An owner has let go of these.
    pub fn leaves(&mut self, nodes: &[String]) {
        nodes.iter().for_each(|node| _ = self.held.remove(node));
        self.looks += 1;
        self.changes += 1;
        self.note_turns();
    }

    /// Past the end of the range a node that is made again has the path that it had before.
    fn begin_anew(&mut self, contender: &Contender) {
        let path = &contender.path;
        self.known.insert(path.clone(), contender.clone());
        self.made.entry(contender.czxid() as u64).or_default().push(path.clone());
        self.had_turn.remove(path);
        self.gone.remove(path);
        self.asked.remove(path);
        self.forced.remove(path);
        self.held.remove(path);
        self.told_gone.retain(|(_, node), _| node != path);
    }

    /// The nodes of an acquisition, of which the core tells the first. Of several each has its czxid for a token, and
    /// permits that were taken together share theirs.
    pub fn nodes_of(&self, first: Option<String>, tokens: &[u64]) -> Vec<String> {
        if let Some(first) = first.filter(|_| tokens.len() == 1) {
            return vec![first];
        }
        let mut tokens = tokens.to_vec();
        tokens.dedup();
        tokens.iter().filter_map(|token| self.made.get(token)).flatten().cloned().collect()
    }

    /// Whether there was a moment at which somebody was entitled to hold all of them.
    pub fn had_their_turn(&self, nodes: &[String]) -> bool {
        let turns: Option<Vec<_>> = nodes.iter().map(|node| self.had_turn.get(node)).collect();
        let ends = nodes.iter().filter_map(|node| self.gone.get(node)).min();
        let begins = turns.and_then(|turns| turns.into_iter().max());
        begins.is_some_and(|begin| ends.is_none_or(|end| begin < end))
    }

    /// Who goes on as a reader has its writer's number, and hears late what its writer was asked.
    pub fn is_any_asked(&self, nodes: &[String]) -> bool {
        let place = |node: &str| {
            let (queue, name) = node.rsplit_once('/')?;
            Some((queue.to_owned(), parse(name).1?))
        };
        let is_its_writer = |node: &String| {
            place(node).is_some_and(|own| self.asked.iter().any(|asked| place(asked).as_ref() == Some(&own)))
        };
        nodes.iter().any(|node| self.asked.contains(node) || is_its_writer(node))
    }

    /// Why a node does not entitle anybody to hold.
    fn why_not(&self, at: Option<usize>) -> Option<String> {
        let Some(at) = at else { return Some("which is gone".to_owned()) };
        let obstacle = self.obstacle(&self.standing.all()[at])?;
        Some(format!("and {} stands before it", short(&obstacle.path)))
    }

    /// What there is to say of an acquisition's nodes.
    pub fn see(&self, nodes: &[String]) -> Seen {
        let is_forced = nodes.iter().any(|node| self.forced.contains(node));
        let places = || nodes.iter().map(|node| (node, self.standing.position(node)));
        let why_not = places().filter_map(|(node, at)| Some((node.clone(), self.why_not(at)?)));
        let why_not = if is_forced { Vec::new() } else { why_not.collect() };
        Seen { change: self.changes, is_forced, at: places().filter_map(|(_, at)| at).collect(), why_not }
    }

    /// Whether more claim to hold than may, whatever the tree says of each.
    pub fn too_many(&self, claims: &[(HostId, usize)]) -> Option<String> {
        let claimed = |at: usize| &self.standing.all()[at];
        for (nth, (host, at)) in claims.iter().enumerate() {
            let rival = claims[..nth].iter().find(|(_, other)| claimed(*other).excludes(claimed(*at)));
            if let Some((other_host, other)) = rival {
                let (one, other) = (short(&claimed(*at).path), short(&claimed(*other).path));
                return Some(format!("h{host} and h{other_host} hold at once, by {one} and {other}"));
            }
        }
        let permits = claims.iter().filter(|(_, at)| claimed(*at).kind == Kind::Permit).count();
        (permits > self.size).then(|| format!("{permits} permits of {} are held", self.size))
    }
}
