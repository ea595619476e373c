//! Two-phase commit: whoever began a transaction is told what it came to, whoever decided it and however late they ask; and
//! what a begin that failed means.

use std::time::Duration;

use crate::support::commits::{
    MINUTE, PATH, TEN, begun, next, nothing_left, of, outcome_of, site, take_part, warmed_up,
};
use crate::support::ground::Ground;
use crate::support::{eventually, nodes_under, options, server, soon};
use zkrecipes::{Client, CommitMode, ErrorKind, Outcome, RetryOptions, TwoPhaseCommit};
use zkrecipes_embedded::{Fault, Server};

const TRANSACTION: &str = "**/transactions/one";
const DAY: i64 = 24 * 3_600_000;

fn coordinator(client: &Client) -> TwoPhaseCommit {
    of(client, CommitMode::Coordinator)
}

async fn client(server: &Server) -> Client {
    crate::support::client_with(server, TEN).await
}

fn outcomes(server: &Server) -> usize {
    nodes_under(server, &format!("{PATH}/outcomes")).len()
}

/// A client that can be cut off, and that has no session from then on. Its budget is longer than any test.
struct Apart {
    ground: Ground,
    client: Client,
}

impl Apart {
    async fn of(server: &Server) -> Apart {
        let ground = Ground::real(server.connect_string(), String::new());
        let retry = RetryOptions::default().base(Duration::from_millis(10)).give_up_after(MINUTE);
        let client = ground.client_with(options(TEN).retry(retry)).await;
        Apart { ground, client }
    }

    fn is_cut_off(&self, server: &Server) {
        self.ground.inject(Fault::refuse_connections(1).forever());
        self.ground.break_connections();
        server.expire(self.client.session_id());
    }
}

impl Drop for Apart {
    fn drop(&mut self) {
        // It would look for its server for longer than the test, to end what it has begun.
        self.client.close_in_background();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_had_it_in_hand_is_told_what_it_came_to_when_others_are_done_with_it() {
    for wanted in [Outcome::Commit, Outcome::Abort] {
        let server = server();
        let (first, second) = (Apart::of(&server).await, Apart::of(&server).await);
        let (b, c) = (client(&server).await, client(&server).await);
        let asked = site(&b, "a").await;
        let began = begun(&coordinator(&first.client), "one", &["a"]).await;
        let proposal = next(&asked).await;
        first.is_cut_off(&server);
        // Who takes it over is cut off, too.
        let heir =
            soon("recover", coordinator(&second.client).recover()).await.expect("taken over").remove(0);
        second.is_cut_off(&server);
        let last = coordinator(&c);
        let taken = soon("recover", last.recover()).await.expect("taken over").remove(0);
        match wanted {
            Outcome::Commit => proposal.vote_commit().await.expect("voted"),
            Outcome::Abort => proposal.vote_abort("full").await.expect("voted"),
        }
        assert_eq!(soon("the outcome", taken.outcome(None)).await.expect("known"), wanted);
        proposal.acknowledge().await.expect("done");
        nothing_left(&last).await;
        // And the id is another transaction by now.
        begun(&last, "one", &["a"]).await;
        for (apart, transaction) in [(&first, &began), (&second, &heir)] {
            apart.ground.clear_faults();
            for _ in 0..2 {
                assert_eq!(soon("the outcome", transaction.outcome(None)).await.expect("known"), wanted);
            }
            assert_eq!(transaction.reason(), if wanted == Outcome::Abort { "a: full" } else { "" });
        }
        assert_eq!(outcomes(&server), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_for_the_outcome_is_told_why_it_was_aborted_also_when_all_is_collected() {
    let server = server();
    let (a, b, c) = (client(&server).await, client(&server).await, client(&server).await);
    let (coordinator, refuses, other) = (coordinator(&a), site(&b, "a").await, site(&c, "b").await);
    let limit = Duration::from_secs(2);
    for (id, said, reason) in [
        ("one", Some("full\n"), "a: full"),
        ("two", Some(""), "a"),
        ("three", None, "not all had voted in time"),
        ("four", None, "the shop is shut"),
    ] {
        let transaction = coordinator.begin(id, &["a", "b"], b"", limit).await.expect("begun");
        let (voter, proposal) = (next(&refuses).await, next(&other).await);
        assert_eq!((transaction.reason(), proposal.reason()), ("", ""), "nothing is decided");
        if let Some(said) = said {
            voter.vote_abort(said).await.expect("voted");
            assert_eq!(voter.reason(), reason);
        }
        if id == "four" {
            coordinator.decide_abort(id, reason).await.expect("decided");
        }
        assert_eq!(soon("the outcome", proposal.outcome(None)).await.expect("known"), Outcome::Abort);
        // All but the coordinator's mark goes before that one asks.
        for proposal in [&voter, &proposal] {
            proposal.acknowledge().await.expect("done");
            assert_eq!(proposal.reason(), reason, "{id}");
        }
        assert_eq!(soon("the outcome", transaction.outcome(None)).await.expect("known"), Outcome::Abort);
        nothing_left(&coordinator).await;
        assert_eq!(transaction.reason(), reason, "{id}");
    }
    let committed = begun(&coordinator, "five", &["a"]).await;
    let proposal = next(&refuses).await;
    assert_eq!(take_part(&proposal).await, Outcome::Commit);
    assert_eq!(soon("the outcome", committed.outcome(None)).await.expect("known"), Outcome::Commit);
    assert_eq!((committed.reason(), proposal.reason()), ("", ""));
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_more_stays_of_a_transaction_that_nobody_took_over() {
    let server = server();
    let (a, b) = (client(&server).await, client(&server).await);
    let (coordinator, asked) = (coordinator(&a), site(&b, "a").await);
    let transaction = begun(&coordinator, "one", &["a"]).await;
    let proposal = next(&asked).await;
    let (done, told) = tokio::join!(take_part(&proposal), transaction.outcome(None));
    assert_eq!((done, told.expect("known")), (Outcome::Commit, Outcome::Commit));
    nothing_left(&coordinator).await;
    assert_eq!(outcomes(&server), 0);
}

/// Begins a transaction and dies; another takes it over and has it aborted.
async fn taken_over(server: &Server, id: &str) {
    let (dying, other) = (client(server).await, client(server).await);
    begun(&coordinator(&dying), id, &["a"]).await;
    server.expire(dying.session_id());
    drop(dying);
    let other = coordinator(&other);
    soon("it is taken over", async {
        loop {
            if let Some(transaction) = other.recover().await.expect("asked").pop() {
                other.decide_abort(id, "").await.expect("decided");
                transaction.outcome(None).await.expect("known");
                return;
            }
        }
    })
    .await;
    nothing_left(&other).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outcome_that_has_stood_for_a_day_is_taken_away_by_whoever_comes() {
    let server = server();
    server.set_stamps_ahead(-DAY - 60_000);
    taken_over(&server, "old").await;
    server.set_stamps_ahead(60_000 - DAY);
    taken_over(&server, "less_old").await;
    assert_eq!(outcomes(&server), 2);
    // A clock that is ahead, which is so for the servers alone.
    server.set_stamps_ahead(10 * DAY);
    let (a, b) = (client(&server).await, client(&server).await);
    let first = site(&a, "a").await;
    eventually("the old one is gone", || outcomes(&server) == 1).await;
    first.leave().await.expect("left");
    server.set_stamps_ahead(0);
    let looked = || server.count("getData", "**/outcomes/*");
    let before = looked();
    let second = site(&b, "a").await;
    eventually("it is looked at once more", || looked() > before).await;
    second.leave().await.expect("left");
    b.close(None).await.expect("closed");
    assert_eq!(outcomes(&server), 1, "the other has not stood for long enough");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_coordinator_wrote_long_ago_does_not_say_what_the_clock_shows_now() {
    let server = server();
    let client = client(&server).await;
    // It has seen what the clock shows.
    let both = site(&client, "b").await;
    server.set_stamps_ahead(-DAY - 60_000);
    taken_over(&server, "old").await;
    drop(begun(&both, "own", &["a"]).await);
    server.set_stamps_ahead(0);
    assert_eq!(both.recover().await.expect("asked").len(), 1, "its own");
    eventually("the old one is gone", || outcomes(&server) == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_taken_back_from_who_took_it_over_is_ended_by_the_handle_that_began_it() {
    let server = server();
    let (first, second) = (Apart::of(&server).await, Apart::of(&server).await);
    let coordinator = coordinator(&first.client);
    let began = begun(&coordinator, "one", &["a"]).await;
    first.is_cut_off(&server);
    let heir = of(&second.client, CommitMode::Coordinator);
    assert_eq!(soon("recover", heir.recover()).await.expect("taken over").len(), 1);
    second.is_cut_off(&server);
    first.ground.clear_faults();
    assert!(soon("recover", coordinator.recover()).await.expect("asked").is_empty(), "it is in hand");
    coordinator.decide_abort("one", "").await.expect("decided");
    assert_eq!(soon("the outcome", began.outcome(None)).await.expect("known"), Outcome::Abort);
    nothing_left(&coordinator).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_taken_back_and_aborted_is_cleared_away_though_nobody_asks() {
    let server = server();
    let (first, second, b) = (Apart::of(&server).await, Apart::of(&server).await, client(&server).await);
    let (coordinator, asked) = (coordinator(&first.client), site(&b, "a").await);
    let brief = Duration::from_secs(3);
    drop(coordinator.begin("one", &["a"], b"chairs", brief).await.expect("begun"));
    first.is_cut_off(&server);
    let heir = of(&second.client, CommitMode::Coordinator);
    assert_eq!(soon("recover", heir.recover()).await.expect("taken over").len(), 1);
    second.is_cut_off(&server);
    first.ground.clear_faults();
    assert_eq!(soon("recover", coordinator.recover()).await.expect("asked").len(), 1, "it is taken back");
    coordinator.decide_abort("one", "").await.expect("decided");
    for proposal in asked.pending().await.expect("asked") {
        proposal.acknowledge().await.expect("done");
    }
    nothing_left(&asked).await;
}

/// A client that gives up when no server has answered for a moment, and whose way to the server can be cut.
async fn impatient(server: &Server) -> Apart {
    let ground = Ground::real(server.connect_string(), String::new());
    let retry = RetryOptions::default()
        .base(Duration::from_millis(10))
        .max(Duration::from_millis(50))
        .give_up_after(Duration::from_secs(2));
    let client = ground.client_with(options(TEN).retry(retry)).await;
    Apart { ground, client }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_begin_that_failed_has_come_to_is_told_by_recover() {
    for is_committed in [true, false] {
        let server = server();
        let (apart, b) = (impatient(&server).await, client(&server).await);
        let coordinator = of(&apart.client, CommitMode::Peer);
        warmed_up(&coordinator).await;
        let asked = site(&b, "a").await;
        asked.pending().await.expect("asked");
        let lost = apart.ground.inject(Fault::drop_after("multi").path(TRANSACTION));
        apart.ground.inject(Fault::refuse_connections(1).forever());
        let error = soon("begin", coordinator.begin("one", &["a"], b"x", MINUTE)).await.map(drop);
        let error = error.expect_err("no server answers");
        assert!(apart.ground.fault_fired(lost));
        assert_eq!(error.kind(), ErrorKind::ConnectionLost);
        // It says which, and how to find out.
        assert!(error.path().is_some_and(|path| path.ends_with("/transactions/one")), "{error:?}");
        assert!(error.to_string().contains("\"one\"") && error.to_string().contains("recover"), "{error}");
        let proposal = next(&asked).await;
        if is_committed {
            // A site that is the last to vote decides it: it cannot know.
            proposal.vote_commit().await.expect("voted");
        }
        apart.ground.clear_faults();
        let found = soon("recover", async {
            loop {
                match coordinator.recover().await {
                    Err(error) if error.kind() == ErrorKind::ConnectionLost => {}
                    found => return found.expect("asked"),
                }
            }
        })
        .await;
        assert_eq!(found.len(), usize::from(is_committed), "{found:?}");
        match found.first() {
            Some(found) => {
                assert_eq!((found.id(), found.outcome(None).await.expect("known")), ("one", Outcome::Commit));
            }
            None => {
                let now = outcome_of(&coordinator, "one").await;
                assert!(matches!(now, None | Some(Some(Outcome::Abort))), "{now:?}");
            }
        }
        proposal.acknowledge().await.expect("done");
        nothing_left(&coordinator).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_begin_that_failed_has_come_to_is_told_though_others_are_done_with_it() {
    let server = server();
    let (apart, b, c) = (impatient(&server).await, client(&server).await, client(&server).await);
    let (coordinator, other) = (coordinator(&apart.client), of(&c, CommitMode::Coordinator));
    warmed_up(&coordinator).await;
    let asked = site(&b, "a").await;
    asked.pending().await.expect("asked");
    let lost = apart.ground.inject(Fault::drop_after("multi").path(TRANSACTION));
    apart.ground.inject(Fault::refuse_connections(1).forever());
    let error = soon("begin", coordinator.begin("one", &["a"], b"x", MINUTE)).await.map(drop);
    assert_eq!(error.expect_err("no server answers").kind(), ErrorKind::ConnectionLost);
    assert!(apart.ground.fault_fired(lost));
    server.expire(apart.client.session_id());
    let taken = soon("it is taken over", other.recover()).await.expect("taken over").remove(0);
    let proposal = next(&asked).await;
    let (done, told) = tokio::join!(take_part(&proposal), taken.outcome(None));
    assert_eq!((done, told.expect("known")), (Outcome::Commit, Outcome::Commit));
    nothing_left(&other).await;
    apart.ground.clear_faults();
    let found = soon("recover", async {
        loop {
            match coordinator.recover().await {
                Err(error) if error.kind() == ErrorKind::ConnectionLost => {}
                found => return found.expect("asked"),
            }
        }
    })
    .await;
    let ids: Vec<_> = found.iter().map(|one| one.id()).collect();
    assert_eq!(ids, ["one"]);
    assert_eq!(found[0].outcome(None).await.expect("known"), Outcome::Commit);
    assert!(coordinator.recover().await.expect("asked").is_empty(), "it is told once");
}
