//! Sites and coordinators of two-phase commits: they begin, vote, are slow, give up, end in the middle of it, and take
//! up again what they find.

use std::sync::Arc;
use std::time::Duration;

use zkrecipes::{Client, CommitTransaction, Error, ErrorKind, Outcome, Proposal, Result, TwoPhaseCommit};

use crate::scenario::Party;
use crate::sim::{HostId, Sim};
use crate::subject::{PATH, Subject};
use crate::tell;

/// Between two looks whether there is anything left to do.
const LOOKS: Duration = Duration::from_millis(50);

/// Longer than any pause that there is when the faults have ended.
const PLENTY: Duration = Duration::from_secs(200);

pub fn site(host: HostId, nth: usize) -> String {
    format!("h{host}w{nth}")
}

/// Somebody on a host was told an outcome, a site or another.
pub fn is_told(sim: &Sim, host: HostId, id: &str, site: Option<&str>, outcome: Outcome) {
    tell!(sim, "h{host} {site:?} is told {} of {id}", outcome.name());
    let (wrong, is_first) = sim.ledger.commits.told(id, site, outcome);
    wrong.into_iter().for_each(|wrong| sim.ledger.accuse(format!("h{host}: {wrong}")));
    sim.ledger.count(|tally| match outcome {
        Outcome::Commit => tally.commits += u64::from(is_first),
        Outcome::Abort => tally.aborts += u64::from(is_first),
    });
}

/// Whether a vote was in time, as far as that can be told: one that comes after the decision is no error.
pub async fn is_taken(proposal: &Proposal) -> bool {
    let looked = proposal.outcome(Some(Duration::ZERO)).await;
    looked.is_err_and(|error| error.kind() == ErrorKind::Timeout)
}

impl Party {
    fn commits(&self, client: &Client) -> Option<TwoPhaseCommit> {
        let Subject::TwoPhaseCommit { mode } = self.sim.plan.subject else { return None };
        let made = client.two_phase_commit(PATH, mode);
        made.map_err(|error| self.accuse(format!("no commits: {error}"))).ok()
    }

    // ---- a site

    pub(crate) async fn be_a_site(&self, client: &Client, nth: usize) {
        let (sim, name) = (&self.sim, site(self.host, nth));
        let Some(commits) = self.commits(client) else { return };
        loop {
            match commits.join(&name).await {
                Ok(()) => break,
                // Of a process that has ended.
                Err(error) => self.expect("join", Err(error), &[ErrorKind::Exists]),
            }
            self.nap(LOOKS).await;
        }
        let mut may_have_missed = true;
        while !(self.is_over() && sim.ledger.commits.are_all_done(sim.plan.hosts)) {
            if std::mem::take(&mut may_have_missed) {
                match commits.pending().await {
                    Ok(all) => {
                        for proposal in all {
                            may_have_missed |= self.answer(&name, &proposal).await.is_none();
                        }
                    }
                    Err(error) => {
                        self.expect("pending", Err(error), &[]);
                        may_have_missed = true;
                    }
                }
            }
            // Or who is far away would never hear of anything.
            let limit = LOOKS + self.up_to(sim.plan.hold) + sim.plan.round_trips(4);
            match commits.next(Some(limit)).await {
                Ok(proposal) => may_have_missed |= self.answer(&name, &proposal).await.is_none(),
                Err(error) => {
                    may_have_missed |= error.kind() == ErrorKind::ConnectionLost;
                    self.expect("next", Err(error), &[ErrorKind::Timeout]);
                }
            }
        }
        self.expect("the last look", commits.pending().await.map(drop), &[]);
        self.expect("leave", commits.leave().await, &[]);
    }

    /// Votes, waits for the outcome and acknowledges it; `None` if that is to be taken up again.
    async fn answer(&self, name: &str, proposal: &Proposal) -> Option<()> {
        let (sim, id) = (&self.sim, proposal.id());
        if !proposal.has_voted() {
            self.vote(name, proposal).await?;
        }
        if !self.is_over() && sim.chance(|rng| rng.one_in(10)) {
            return None;
        }
        let limit = self.up_to(sim.plan.session_timeout);
        match proposal.outcome(Some(limit)).await {
            Ok(outcome) => self.is_told(id, Some(name), outcome),
            // Acknowledged before, and the answer was lost.
            Err(error) if error.kind() == ErrorKind::NotHeld => return Some(()),
            Err(error) => {
                self.expect("outcome", Err(error), &[ErrorKind::Timeout]);
                return None;
            }
        }
        let done = proposal.acknowledge().await;
        let is_done = done.is_ok();
        self.expect("acknowledge", done, &[]);
        is_done.then_some(())
    }

    async fn vote(&self, name: &str, proposal: &Proposal) -> Option<()> {
        let (sim, commits, id) = (&self.sim, &self.sim.ledger.commits, proposal.id());
        let (wants, is_slow) = sim.chance(|rng| {
            let wants = if rng.one_in(6) { Outcome::Abort } else { Outcome::Commit };
            (wants, rng.one_in(6))
        });
        if is_slow && !self.is_over() {
            self.nap(self.up_to(sim.plan.session_timeout)).await;
        }
        let wants = commits.votes(id, name, wants);
        tell!(sim, "{name} votes {} on {id}", wants.name());
        let voted = match wants {
            Outcome::Commit => proposal.vote_commit().await,
            Outcome::Abort => proposal.vote_abort("no room").await,
        };
        match voted {
            Ok(()) if wants == Outcome::Abort => {
                commits.has_refused(id).into_iter().for_each(|wrong| self.accuse(wrong));
            }
            Ok(()) if is_taken(proposal).await => commits.is_bound(id, name),
            Ok(()) => {}
            Err(error) => {
                self.expect("vote", Err(error), &[]);
                return None;
            }
        }
        Some(())
    }

    fn is_told(&self, id: &str, site: Option<&str>, outcome: Outcome) {
        is_told(&self.sim, self.host, id, site, outcome);
    }

    // ---- a coordinator

    pub(crate) async fn coordinate(self: Arc<Self>, client: Client) {
        let sim = &self.sim;
        let Some(mut commits) = self.commits(&client) else { return };
        let mut mine = Vec::new();
        while !self.is_over() {
            self.nap(LOOKS + self.up_to(sim.plan.think)).await;
            match sim.chance(|rng| rng.below(8)) {
                0 => self.take_over(&commits, &mut mine).await,
                1 => self.decide_as_operator(&commits).await,
                _ => mine.extend(self.begin_one(&commits).await),
            }
            if let Some(transaction) = mine.pop()
                && !self.bring_about(&transaction).await
            {
                mine.insert(0, transaction);
            }
        }
        self.commit_in_time(&commits).await;
        loop {
            for transaction in std::mem::take(&mut mine) {
                while !self.bring_about(&transaction).await {}
            }
            // What was begun and given up is left to another.
            let Some(another) = self.commits(&client) else { return };
            commits = another;
            self.take_over(&commits, &mut mine).await;
            match commits.history().await {
                Ok(all) if all.is_empty() && mine.is_empty() => break,
                Ok(_) => {}
                Err(error) => self.expect("history", Err(error), &[]),
            }
            self.nap(LOOKS).await;
        }
        sim.ledger.commits.done();
        // Others may still have begun something when we looked.
        while !sim.ledger.commits.are_all_done(sim.plan.hosts) {
            self.nap(LOOKS).await;
        }
        drop(commits);
        self.finished();
    }

    async fn begin_one(&self, commits: &TwoPhaseCommit) -> Option<CommitTransaction> {
        let sim = &self.sim;
        let mut sites = self.all_sites();
        let (many, how, timeout) = sim.chance(|rng| {
            rng.shuffle(&mut sites);
            let timeout = rng.duration(Duration::from_millis(50)..=sim.plan.session_timeout * 2);
            (rng.number(1..=sites.len().min(4) as u64), rng.below(6), timeout)
        });
        sites.truncate(many as usize);
        let id = sim.ledger.commits.fresh(&sites);
        let names: Vec<_> = sites.iter().map(String::as_str).collect();
        let beginning = commits.begin(&id, &names, b"chairs", timeout);
        let begun = tokio::select! {
            biased;
            begun = beginning => begun,
            () = self.nap(self.up_to(LOOKS)), if how == 0 => return None,
        };
        match begun {
            Ok(transaction) => Some(transaction),
            Err(error) => {
                self.expect("begin", Err(error), &[]);
                None
            }
        }
    }

    /// When nothing goes wrong any more, what all vote for in time is committed, whatever was before.
    async fn commit_in_time(&self, commits: &TwoPhaseCommit) {
        let (ledger, sites) = (&self.sim.ledger.commits, self.all_sites());
        let names: Vec<_> = sites.iter().map(String::as_str).collect();
        let id = ledger.agreed(&sites);
        match commits.begin(&id, &names, b"chairs", PLENTY).await {
            Ok(transaction) => match transaction.outcome(None).await {
                Ok(outcome) => {
                    self.is_told(&id, None, outcome);
                    if outcome != Outcome::Commit {
                        self.accuse(format!("{id} was aborted, and there was {PLENTY:?} to vote for it"));
                    }
                }
                Err(error) => self.expect("the last outcome", Err(error), &[]),
            },
            Err(error) => self.expect("the last begin", Err(error), &[]),
        }
    }

    fn all_sites(&self) -> Vec<String> {
        let plan = &self.sim.plan;
        (0..plan.hosts).flat_map(|host| (0..plan.workers).map(move |nth| site(host, nth))).collect()
    }

    async fn take_over(&self, commits: &TwoPhaseCommit, mine: &mut Vec<CommitTransaction>) {
        match commits.recover().await {
            Ok(found) => mine.extend(found),
            Err(error) => self.expect("recover", Err(error), &[]),
        }
    }

    async fn decide_as_operator(&self, commits: &TwoPhaseCommit) {
        let nth = self.sim.chance(|rng| rng.below(3));
        let Some(id) = self.sim.ledger.commits.any(nth) else { return };
        match commits.decide_abort(&id, "enough").await {
            Ok(outcome) => self.is_told(&id, None, outcome),
            Err(error) => self.expect("deciding by hand", Err(error), &[ErrorKind::NoNode]),
        }
    }

    /// Whether the outcome is known; sometimes nobody waits for it.
    async fn bring_about(&self, transaction: &CommitTransaction) -> bool {
        let how = self.sim.chance(|rng| rng.below(4));
        let limit = self.up_to(self.sim.plan.session_timeout);
        let asking = transaction.outcome(Some(limit));
        let outcome: Result<Outcome, Error> = tokio::select! {
            biased;
            outcome = asking => outcome,
            () = self.nap(limit / 2), if how == 0 => return false,
        };
        match outcome {
            Ok(outcome) => self.is_told(transaction.id(), None, outcome),
            Err(error) => {
                self.expect("outcome", Err(error), &[ErrorKind::Timeout]);
                return false;
            }
        }
        true
    }
}
