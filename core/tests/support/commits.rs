//! Coordinators and sites.

use std::time::Duration;

use zkrecipes::{Client, CommitMode, CommitTransaction, Outcome, Proposal, TwoPhaseCommit};

use super::soon;

pub const PATH: &str = "/commits/orders";
pub const TEN: Duration = Duration::from_secs(10);
pub const MINUTE: Duration = Duration::from_secs(60);
pub const MODES: [CommitMode; 2] = [CommitMode::Coordinator, CommitMode::Peer];

pub fn of(client: &Client, mode: CommitMode) -> TwoPhaseCommit {
    client.two_phase_commit(PATH, mode).expect("valid")
}

pub async fn site(client: &Client, name: &str) -> TwoPhaseCommit {
    let site = of(client, CommitMode::Coordinator);
    soon("joining", site.join(name)).await.expect("joined");
    site
}

pub async fn next(site: &TwoPhaseCommit) -> Proposal {
    soon("what is next", site.next(None)).await.expect("asked")
}

pub async fn begun(commits: &TwoPhaseCommit, id: &str, sites: &[&str]) -> CommitTransaction {
    soon("begin", commits.begin(id, sites, b"chairs", MINUTE)).await.expect("begun")
}

pub async fn nothing_left(commits: &TwoPhaseCommit) {
    soon("all is collected", async {
        while !commits.history().await.expect("asked").is_empty() {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

/// How it stands; `None` if it has been collected.
pub async fn outcome_of(commits: &TwoPhaseCommit, id: &str) -> Option<Option<Outcome>> {
    commits.show(id).await.expect("asked").map(|status| status.outcome)
}

/// Votes for the commit, learns what was decided, and has done it.
pub async fn take_part(proposal: &Proposal) -> Outcome {
    proposal.vote_commit().await.expect("voted");
    let outcome = soon("the outcome", proposal.outcome(None)).await.expect("known");
    proposal.acknowledge().await.expect("done");
    outcome
}

/// Its folders are there, and so is the coordinator.
pub async fn warmed_up(coordinator: &TwoPhaseCommit) {
    let first = begun(coordinator, "first", &["a"]).await;
    coordinator.decide_abort("first", "").await.expect("decided");
    assert_eq!(first.outcome(None).await.expect("known"), Outcome::Abort);
}
