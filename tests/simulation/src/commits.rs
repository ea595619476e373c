//! Transactions of two-phase commit: everybody is told one outcome, a commit only if all have voted for it, and whoever
//! has promised to do it is told.

use std::collections::{BTreeMap, BTreeSet};

use zkrecipes::Outcome;

use crate::solo::Solo;

/// What sites and coordinators have written down for themselves, which outlasts their processes.
#[derive(Default)]
pub struct Commits(Solo<Inner>);

#[derive(Default)]
struct Inner {
    all: BTreeMap<String, Transaction>,
    /// Coordinators that begin nothing any more and find nothing left.
    done: usize,
}

#[derive(Default)]
struct Transaction {
    sites: Vec<String>,
    /// What each site has decided to vote, before it votes.
    votes: BTreeMap<String, Outcome>,
    /// Nobody votes against it.
    is_agreed: bool,
    /// Those whose vote for the commit was taken, and who may not go on before they are told.
    bound: BTreeSet<String>,
    /// Somebody's vote for the abort was taken.
    is_refused: bool,
    outcome: Option<Outcome>,
    /// The sites that have been told.
    told: BTreeSet<String>,
}

impl Commits {
    /// A transaction that its coordinator is about to begin; the answer is its name.
    pub fn fresh(&self, sites: &[String]) -> String {
        let all = &mut self.0.lock().all;
        let id = format!("tx {}", all.len() + 1);
        all.insert(id.clone(), Transaction { sites: sites.to_vec(), ..Transaction::default() });
        id
    }

    /// The same of one for which everybody is to vote.
    pub fn agreed(&self, sites: &[String]) -> String {
        let id = self.fresh(sites);
        self.0.lock().all.entry(id.clone()).or_default().is_agreed = true;
        id
    }

    /// One that somebody may abort by hand.
    pub fn any(&self, nth: u64) -> Option<String> {
        let all = &self.0.lock().all;
        // One of the last few.
        let (id, one) = all.iter().nth(all.len().saturating_sub(1 + nth as usize))?;
        (!one.is_agreed).then(|| id.clone())
    }

    /// A site votes; what it has decided once stands.
    pub fn votes(&self, id: &str, site: &str, outcome: Outcome) -> Outcome {
        let all = &mut self.0.lock().all;
        let transaction = all.entry(id.to_owned()).or_default();
        let outcome = if transaction.is_agreed { Outcome::Commit } else { outcome };
        *transaction.votes.entry(site.to_owned()).or_insert(outcome)
    }

    /// Its vote for the commit was taken.
    pub fn is_bound(&self, id: &str, site: &str) {
        self.0.lock().all.entry(id.to_owned()).or_default().bound.insert(site.to_owned());
    }

    /// Its vote for the abort was taken; why that cannot be.
    pub fn has_refused(&self, id: &str) -> Option<String> {
        let all = &mut self.0.lock().all;
        let transaction = all.entry(id.to_owned()).or_default();
        transaction.is_refused = true;
        let is_wrong = transaction.outcome == Some(Outcome::Commit);
        is_wrong.then(|| format!("{id} was committed, and then a vote for the abort was taken"))
    }

    /// Somebody was told the outcome, a site or another; why that cannot be. Says whether nobody was before.
    pub fn told(&self, id: &str, site: Option<&str>, outcome: Outcome) -> (Option<String>, bool) {
        let all = &mut self.0.lock().all;
        let transaction = all.entry(id.to_owned()).or_default();
        transaction.told.extend(site.map(str::to_owned));
        let before = transaction.outcome.replace(outcome);
        let votes_for = |site: &String| transaction.votes.get(site) == Some(&Outcome::Commit);
        let wrong = match (before, outcome) {
            (Some(before), _) if before != outcome => {
                Some(format!("{id} came to {}, and {site:?} was told {}", before.name(), outcome.name()))
            }
            (_, Outcome::Commit) if transaction.sites.is_empty() => {
                Some(format!("{id} was committed, and nobody has begun it"))
            }
            (_, Outcome::Commit) if transaction.is_refused || !transaction.sites.iter().all(votes_for) => {
                Some(format!("{id} was committed, and the votes were {:?}", transaction.votes))
            }
            _ => None,
        };
        (wrong, before.is_none())
    }

    /// A coordinator has found nothing left.
    pub fn done(&self) {
        self.0.lock().done += 1;
    }

    pub fn are_all_done(&self, coordinators: usize) -> bool {
        self.0.lock().done >= coordinators
    }

    /// How many have no outcome yet, or sites that do not know it.
    pub fn open(&self) -> u32 {
        let all = &self.0.lock().all;
        let is_open = |one: &&Transaction| one.outcome.is_none() || one.told.len() < one.sites.len();
        all.values().filter(is_open).count() as u32
    }

    /// How many were begun, or were to be.
    pub fn begun(&self) -> usize {
        self.0.lock().all.len()
    }

    /// Whether anybody was told the outcome of any.
    pub fn is_any_known(&self) -> bool {
        self.0.lock().all.values().any(|transaction| transaction.outcome.is_some())
    }

    /// Which site was not told at the end of what it has promised, or of a commit.
    pub fn reckon(&self) -> Option<String> {
        let all = &self.0.lock().all;
        let mut untold = all.iter().filter_map(|(id, transaction)| {
            let is_committed = transaction.outcome == Some(Outcome::Commit);
            let asked = transaction.sites.iter().filter(|_| is_committed);
            let site = asked.chain(&transaction.bound).find(|site| !transaction.told.contains(*site))?;
            let came_to = transaction.outcome.map_or("nothing", Outcome::name);
            Some(format!("{id} came to {came_to}, and {site} was never told"))
        });
        untold.next()
    }
}
