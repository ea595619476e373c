//! Two-phase commit: a server's clock that is ahead for a while, or behind, takes no transaction's time away.

use std::time::{Duration, Instant};

use crate::support::commits::{MINUTE, TEN, begun, next, of, site, take_part};
use crate::support::{client_with, server, soon};
use zkrecipes::{Client, CommitMode, ErrorKind, Outcome, TwoPhaseCommit};
use zkrecipes_embedded::Server;

const HOUR: i64 = 3_600_000;

async fn client(server: &Server) -> Client {
    client_with(server, TEN).await
}

fn coordinator(client: &Client) -> TwoPhaseCommit {
    of(client, CommitMode::Coordinator)
}

/// A site that has seen the servers' clock so far ahead.
async fn misled(server: &Server, client: &Client, ahead: i64) -> TwoPhaseCommit {
    server.set_stamps_ahead(ahead);
    let site = site(client, "a").await;
    server.set_stamps_ahead(0);
    site
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_was_ahead_once_aborts_nothing_of_a_site() {
    for ahead in [HOUR, -HOUR] {
        let server = server();
        let (a, b) = (client(&server).await, client(&server).await);
        let coordinator = coordinator(&a);
        let asked = misled(&server, &b, ahead).await;
        for id in ["one", "two"] {
            let transaction = begun(&coordinator, id, &["a", "b"]).await;
            let proposal = next(&asked).await;
            proposal.vote_commit().await.expect("voted");
            let early = proposal.outcome(Some(Duration::ZERO)).await.expect_err("the other has not voted");
            assert_eq!(early.kind(), ErrorKind::Timeout, "{id} {ahead}");
            let other = site(&a, "b").await;
            let (done, told) =
                tokio::join!(async { take_part(&next(&other).await).await }, transaction.outcome(None));
            assert_eq!((done, told.expect("known")), (Outcome::Commit, Outcome::Commit), "{id} {ahead}");
            other.leave().await.expect("left");
            proposal.acknowledge().await.expect("done");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_was_ahead_once_aborts_nothing_that_is_recovered() {
    let server = server();
    let c = client(&server).await;
    let heir = coordinator(&c);
    for (id, ahead) in [("one", HOUR), ("two", 0), ("three", -HOUR)] {
        let dying = client(&server).await;
        begun(&coordinator(&dying), id, &["a"]).await;
        server.expire(dying.session_id());
        drop(dying);
        server.set_stamps_ahead(ahead);
        let taken = soon("it is taken over", async {
            loop {
                if let Some(transaction) = heir.recover().await.expect("asked").pop() {
                    return transaction;
                }
            }
        })
        .await;
        server.set_stamps_ahead(0);
        let open = taken.outcome(Some(Duration::from_millis(50))).await.expect_err("nobody has voted");
        assert_eq!(open.kind(), ErrorKind::Timeout, "{id}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_that_waits_for_what_is_next_learns_from_it_what_the_clock_shows() {
    let server = server();
    let (a, b) = (client(&server).await, client(&server).await);
    let coordinator = coordinator(&a);
    let asked = misled(&server, &b, HOUR).await;
    let limit = Duration::from_secs(3);
    // So it waits in time.
    let waits = tokio::spawn(async move { next(&asked).await });
    let lists = || server.count("getChildren2", "/**/inbox/a") + server.count("exists", "/**/inbox/a");
    crate::support::eventually("it waits", || lists() > 0).await;
    let began = Instant::now();
    let transaction = coordinator.begin("one", &["a", "b"], b"", limit).await.expect("begun");
    let proposal = soon("what is next", waits).await.expect("joined");
    proposal.vote_commit().await.expect("voted");
    // The coordinator decides after all of the time, and the site may at the same moment. It would after half of it.
    let outcome = soon("the outcome", proposal.outcome(None)).await.expect("known");
    assert_eq!(outcome, Outcome::Abort);
    assert!(began.elapsed() > limit * 3 / 4, "decided after {:?}", began.elapsed());
    drop((transaction, MINUTE));
}
