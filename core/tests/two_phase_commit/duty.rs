//! Two-phase commit: it is decided although nobody asks for the outcome, and although whoever should decide has died.

use std::time::Duration;

use crate::support::commits::{
    MINUTE, MODES, TEN, begun, next, nothing_left, of, outcome_of, site, take_part,
};
use crate::support::{eventually, soon};
use zkrecipes::{Client, CommitMode, ErrorKind, Outcome, State, TwoPhaseCommit};
use zkrecipes_embedded::{Fault, Server};

const SOON_OVER: Duration = Duration::from_millis(300);
const VOTE: &str = "**/transactions/one/vote-*";

async fn client(server: &Server) -> Client {
    crate::support::client_with(server, TEN).await
}

async fn decided(watcher: &TwoPhaseCommit, id: &str) -> Outcome {
    soon("it is decided", async {
        loop {
            if let Some(outcome) = outcome_of(watcher, id).await.expect("not collected") {
                return outcome;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_waits_for_is_decided_as_long_as_its_coordinator_is_there() {
    for mode in MODES {
        let server = crate::support::server();
        let (a, b) = (client(&server).await, client(&server).await);
        let (coordinator, asked) = (of(&a, mode), site(&b, "a").await);
        let transaction = begun(&coordinator, "one", &["a"]).await;
        let proposal = next(&asked).await;
        proposal.vote_commit().await.expect("voted");
        assert_eq!(decided(&asked, "one").await, Outcome::Commit, "{mode:?}");
        assert_eq!(soon("the outcome", transaction.outcome(None)).await.expect("known"), Outcome::Commit);
        // Nor does anybody vote on these, and their caller has let go of everything but the client.
        drop(coordinator.begin("two", &["a"], b"", SOON_OVER).await.expect("begun"));
        drop(of(&a, mode).begin("three", &["a"], b"", SOON_OVER).await.expect("begun"));
        for id in ["two", "three"] {
            assert_eq!(decided(&asked, id).await, Outcome::Abort, "{mode:?} {id}");
        }
        // They are their coordinators' for a while, or until somebody was told.
        let mut found = Vec::new();
        soon("they are found", async {
            while found.len() < 2 {
                found.extend(coordinator.recover().await.expect("found"));
            }
        })
        .await;
        for transaction in found {
            assert_eq!(soon("the outcome", transaction.outcome(None)).await.expect("known"), Outcome::Abort);
        }
        for proposal in asked.pending().await.expect("asked") {
            proposal.acknowledge().await.expect("done");
        }
        nothing_left(&asked).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_recovered_is_decided_when_that_is_answered() {
    let server = crate::support::server();
    let (a, b, c) = (client(&server).await, client(&server).await, client(&server).await);
    let coordinator = of(&a, CommitMode::Coordinator);
    let sites = [site(&b, "a").await, site(&b, "b").await];
    let one = begun(&coordinator, "one", &["a"]).await;
    let three = begun(&coordinator, "three", &["a", "b"]).await;
    let two = coordinator.begin("two", &["b"], b"", SOON_OVER).await.expect("begun");
    // From now on nothing that it asks arrives.
    server.inject(Fault::delay_request("*", MINUTE).session(a.session_id()).times(1000));
    let proposals = [next(&sites[0]).await, next(&sites[0]).await, next(&sites[1]).await];
    proposals[0].vote_commit().await.expect("voted");
    proposals[1].vote_commit().await.expect("voted");
    tokio::time::sleep(SOON_OVER).await;
    server.expire(a.session_id());
    // Nor does it come back.
    server.inject(Fault::stall_connections(MINUTE));
    let heir = of(&c, CommitMode::Coordinator);
    let mut found = Vec::new();
    soon("they are taken over", async {
        while found.len() < 3 {
            found.extend(heir.recover().await.expect("recovered"));
        }
    })
    .await;
    // At once: who asks takes time, in which it may be decided in the background.
    let is_decided = |node: &String| node.contains("/one/decision-");
    assert!(crate::support::nodes_under(&server, crate::support::commits::PATH).iter().any(is_decided));
    assert_eq!(outcome_of(&heir, "one").await, Some(Some(Outcome::Commit)));
    // Half of its time is left to who sees it for the first time.
    assert_eq!(decided(&heir, "two").await, Outcome::Abort);
    // Nobody asks what comes of the third.
    assert_eq!(outcome_of(&heir, "three").await, Some(None));
    proposals[2].vote_commit().await.expect("voted");
    drop((one, two, three));
    assert_eq!(decided(&heir, "three").await, Outcome::Commit);
}

/// The last vote of a transaction, of a member that dies with it.
async fn last_vote_of_who_dies(server: &Server, dying: Client, site: &TwoPhaseCommit) {
    let proposal = next(site).await;
    let last = server.inject(Fault::drop_after("multi").path(VOTE));
    server.inject(Fault::stall_connections(MINUTE));
    let vote = tokio::spawn(async move { proposal.vote_commit().await });
    eventually("it has voted", || server.fault_fired(last)).await;
    vote.abort();
    let _ = vote.await;
    drop(dying);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_dies_with_the_last_vote_does_not_hold_up_the_others() {
    let server = crate::support::server();
    let (a, b, c) = (client(&server).await, client(&server).await, client(&server).await);
    let (first, last) = (site(&a, "a").await, site(&b, "b").await);
    let coordinator = of(&c, CommitMode::Peer);
    begun(&coordinator, "one", &["a", "b"]).await;
    // Only the sites are left to decide.
    drop(coordinator);
    c.close(None).await.expect("closed");
    let waiting = tokio::spawn(async move { take_part(&next(&first).await).await });
    eventually("it has voted", || {
        crate::support::nodes_under(&server, crate::support::commits::PATH)
            .iter()
            .any(|node| node.contains("vote-"))
    })
    .await;
    last_vote_of_who_dies(&server, b, &last).await;
    // Long before the deadline.
    assert_eq!(soon("the outcome", waiting).await.expect("joined"), Outcome::Commit);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outcome_that_no_server_tells_in_time_is_not_said_to_be_open() {
    let server = crate::support::server();
    let (a, b) = (client(&server).await, client(&server).await);
    let (coordinator, asked) = (of(&a, CommitMode::Coordinator), site(&b, "a").await);
    let transaction = begun(&coordinator, "one", &["a"]).await;
    let proposal = next(&asked).await;
    let moment = Some(Duration::from_millis(100));
    let early = transaction.outcome(moment).await.expect_err("nobody has voted");
    assert_eq!(early.kind(), ErrorKind::Timeout);
    server.stop();
    for client in [&a, &b] {
        eventually("it is known", || client.state() == State::Suspended).await;
    }
    for told in [transaction.outcome(moment).await, proposal.outcome(moment).await] {
        assert_eq!(told.expect_err("no server answers").kind(), ErrorKind::ConnectionLost);
    }
    server.restart().expect("the port is ours");
    // It goes on where it was.
    proposal.vote_commit().await.expect("voted");
    assert_eq!(soon("the outcome", transaction.outcome(None)).await.expect("known"), Outcome::Commit);
}
