//! Two-phase commit: what a site is asked, and what it is told when it votes late, twice, or on what is over.

use std::time::{Duration, Instant};

use futures_util::FutureExt;

use crate::support::commits::{
    MINUTE, PATH, TEN, begun, next, nothing_left, of, outcome_of, site, take_part,
};
use crate::support::{eventually, nodes_under, server, soon};
use zkrecipes::{Client, CommitMode, ErrorKind, Outcome, Proposal, TwoPhaseCommit, drive};
use zkrecipes_embedded::{Fault, Server};

async fn client(server: &Server) -> Client {
    crate::support::client_with(server, TEN).await
}

fn coordinator(client: &Client) -> TwoPhaseCommit {
    of(client, CommitMode::Coordinator)
}

async fn voted(vote: impl Future<Output = zkrecipes::Result<()>>) -> Result<(), ErrorKind> {
    soon("the vote", vote).await.map_err(|error| error.kind())
}

async fn pending(site: &TwoPhaseCommit) -> Vec<Proposal> {
    soon("what is pending", site.pending()).await.expect("asked")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_found_and_not_asked_for_keeps_neither_the_site_nor_its_client() {
    let server = server();
    let (a, b) = (client(&server).await, client(&server).await);
    let coordinator = coordinator(&a);
    for id in ["one", "two"] {
        begun(&coordinator, id, &["a"]).await;
    }
    let asked = site(&b, "a").await;
    assert_eq!(next(&asked).await.id(), "one");
    drop(asked);
    let sites = format!("{PATH}/sites");
    eventually("the site is not there any more", || nodes_under(&server, &sites).is_empty()).await;
    let session = b.session_id();
    drop(b);
    eventually("its session ends", || !server.sessions().contains(&session)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vote_after_the_acknowledgement_answers_what_was_decided() {
    let server = server();
    let (a, b) = (client(&server).await, client(&server).await);
    let coordinator = coordinator(&a);
    let asked = site(&b, "a").await;
    for (id, is_commit) in [("one", true), ("two", false)] {
        let transaction = begun(&coordinator, id, &["a"]).await;
        let proposal = next(&asked).await;
        match is_commit {
            true => proposal.vote_commit().await.expect("voted"),
            false => proposal.vote_abort("full").await.expect("voted"),
        }
        transaction.outcome(None).await.expect("known");
        // Not asked for by this one.
        proposal.acknowledge().await.expect("done");
        nothing_left(&coordinator).await;
        let again = (voted(proposal.vote_commit()).await, voted(proposal.vote_abort("")).await);
        let wanted = match is_commit {
            true => (Ok(()), Err(ErrorKind::Exists)),
            false => (Ok(()), Ok(())),
        };
        assert_eq!(again, wanted, "{id}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_acknowledgement_is_refused_only_by_a_server_that_has_caught_up() {
    let server = server();
    let (a, b) = (client(&server).await, client(&server).await);
    let coordinator = coordinator(&a);
    let asked = site(&b, "a").await;
    begun(&coordinator, "one", &["a", "b"]).await;
    let proposal = next(&asked).await;
    proposal.vote_commit().await.expect("voted");
    // No embedded server lags, so the request is what can be seen. Not only the first time on a connection.
    for _ in 0..2 {
        server.clear_log();
        let early = proposal.acknowledge().await.expect_err("nothing is decided");
        assert_eq!(early.kind(), ErrorKind::NotHeld);
        assert!(server.log().iter().any(|entry| entry.op == "sync"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_voted_for_the_commit_may_say_so_again_when_it_was_aborted() {
    let server = server();
    let (a, b) = (client(&server).await, client(&server).await);
    let coordinator = coordinator(&a);
    let asked = site(&b, "a").await;
    begun(&coordinator, "one", &["a", "b"]).await;
    let proposal = next(&asked).await;
    proposal.vote_commit().await.expect("voted");
    coordinator.decide_abort("one", "b is broken").await.expect("decided");
    assert_eq!(proposal.outcome(None).await.expect("known"), Outcome::Abort);
    assert_eq!(voted(proposal.vote_abort("")).await, Err(ErrorKind::Exists));
    proposal.acknowledge().await.expect("done");
    assert_eq!(voted(proposal.vote_commit()).await, Ok(()));
    assert_eq!(voted(proposal.vote_abort("")).await, Ok(()), "it is what came of it");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_site_has_done_elsewhere_it_is_not_to_vote_on() {
    let server = server();
    let (a, b, c) = (client(&server).await, client(&server).await, client(&server).await);
    let coordinator = coordinator(&a);
    let before = site(&b, "a").await;
    let transaction = begun(&coordinator, "one", &["a"]).await;
    let old = next(&before).await;
    before.leave().await.expect("left");
    let after = site(&c, "a").await;
    let new = pending(&after).await.pop().expect("asked");
    let (done, told) = tokio::join!(take_part(&new), transaction.outcome(None));
    assert_eq!((done, told.expect("known")), (Outcome::Commit, Outcome::Commit));
    nothing_left(&coordinator).await;
    assert_eq!(voted(old.vote_commit()).await, Err(ErrorKind::NotHeld));
    assert_eq!(voted(old.vote_abort("")).await, Err(ErrorKind::NotHeld));
    let unknown = soon("the outcome", old.outcome(None)).await.expect_err("collected");
    assert_eq!(unknown.kind(), ErrorKind::NotHeld);
    old.acknowledge().await.expect("done");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_for_an_earlier_transaction_of_an_id_does_nothing_to_the_next() {
    let server = server();
    let (a, b) = (client(&server).await, client(&server).await);
    let coordinator = coordinator(&a);
    let asked = site(&b, "a").await;
    let first = begun(&coordinator, "one", &["a"]).await;
    let old = next(&asked).await;
    coordinator.decide_abort("one", "").await.expect("decided");
    assert_eq!(first.outcome(None).await.expect("known"), Outcome::Abort);
    assert_eq!(outcome_of(&coordinator, "one").await, None, "nobody has voted");
    let second = begun(&coordinator, "one", &["a"]).await;
    // A vote, an acknowledgement and a question that are about the first.
    assert_eq!(voted(old.vote_commit()).await, Ok(()), "late, and it changes nothing");
    assert_eq!(old.outcome(Some(Duration::ZERO)).await.expect("known"), Outcome::Abort);
    old.acknowledge().await.expect("done");
    assert_eq!(voted(old.vote_abort("no")).await, Ok(()));
    assert_eq!(first.outcome(Some(Duration::ZERO)).await.expect("still known"), Outcome::Abort);
    let status = coordinator.show("one").await.expect("asked").expect("it is there");
    assert_eq!(status.outcome, None, "{status:?}");
    assert!(!status.sites[0].has_voted && !status.sites[0].has_acknowledged, "{status:?}");
    // And the second is told as any other.
    let new = next(&asked).await;
    let (done, told) = tokio::join!(take_part(&new), second.outcome(None));
    assert_eq!((done, told.expect("known")), (Outcome::Commit, Outcome::Commit));
    assert_eq!(old.outcome(None).await.expect("known"), Outcome::Abort);
    nothing_left(&coordinator).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_decided_without_a_site_is_told_until_it_acknowledges() {
    let server = server();
    let (a, b, c) = (client(&server).await, client(&server).await, client(&server).await);
    let coordinator = coordinator(&a);
    let refuses = site(&b, "a").await;
    begun(&coordinator, "one", &["a", "b"]).await;
    next(&refuses).await.vote_abort("full").await.expect("voted");
    let late = site(&c, "b").await;
    for _ in 0..2 {
        let all = pending(&late).await;
        assert_eq!(all.len(), 1, "it has not acknowledged");
        assert!(!all[0].has_voted());
        assert_eq!(all[0].outcome(None).await.expect("known"), Outcome::Abort);
    }
    let nothing = late.next(Some(Duration::ZERO)).await.expect_err("there is nothing to vote on");
    assert_eq!(nothing.kind(), ErrorKind::Timeout);
    let proposal = pending(&late).await.pop().expect("still there");
    assert_eq!((proposal.id(), voted(proposal.vote_commit()).await), ("one", Ok(())));
    assert_eq!(proposal.outcome(None).await.expect("known"), Outcome::Abort);
    proposal.acknowledge().await.expect("done");
    assert_eq!(proposal.outcome(None).await.expect("still known"), Outcome::Abort);
    assert!(pending(&late).await.is_empty());
    let status = coordinator.show("one").await.expect("asked").expect("the other has not done it");
    let done: Vec<_> = status.sites.iter().map(|site| site.has_acknowledged).collect();
    assert_eq!(done, [false, true]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proposal_that_did_not_reach_its_caller_is_told_to_who_waits() {
    let server = server();
    let (a, b) = (client(&server).await, client(&server).await);
    let coordinator = coordinator(&a);
    let asked = site(&b, "a").await;
    begun(&coordinator, "one", &["a"]).await;
    let on_its_way = soon("what is next", drive::next_proposal(&asked, None)).await.expect("asked");
    let lists = || server.count("getChildren2", "/**/inbox/a") + server.count("getChildren", "/**/inbox/a");
    let before = lists();
    let waits = {
        let asked = asked.clone();
        tokio::spawn(async move { asked.next(None).await })
    };
    eventually("it waits", || lists() > before).await;
    drop(on_its_way);
    let told = soon("what is next", waits).await.expect("joined").expect("asked");
    assert_eq!(told.id(), "one");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proposal_that_did_not_reach_its_caller_is_told_also_when_a_look_that_had_begun_before_ends() {
    let server = server();
    let (a, b) = (client(&server).await, client(&server).await);
    let coordinator = coordinator(&a);
    let asked = site(&b, "a").await;
    begun(&coordinator, "one", &["a"]).await;
    let on_its_way = soon("what is next", drive::next_proposal(&asked, None)).await.expect("asked");
    // Something new to read, of which nobody is told.
    begun(&coordinator, "two", &["a"]).await;
    coordinator.decide_abort("two", "").await.expect("decided");
    let (moment, slow) = (Duration::from_millis(50), Duration::from_millis(80));
    server.inject(Fault::delay_reply("*", slow).session(b.session_id()).forever());
    while server.count("getData", "**/transactions/two") == 0 {
        let none = asked.next(Some(moment)).await.expect_err("the rest is left to the next call");
        assert_eq!(none.kind(), ErrorKind::Timeout);
    }
    drop(on_its_way);
    server.clear_faults();
    assert_eq!(next(&asked).await.id(), "one");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_joins_while_a_withdrawn_join_is_undone_becomes_the_site() {
    let server = server();
    let a = client(&server).await;
    let commits = of(&a, CommitMode::Coordinator);
    let on_its_way = soon("join", drive::join_as_site(&commits, "a")).await.expect("joined");
    let nothing = commits.next(Some(Duration::ZERO)).await.expect_err("nobody was told that it has joined");
    assert_eq!(nothing.kind(), ErrorKind::NotHeld);
    let again = commits.join("a");
    tokio::pin!(again);
    let early = tokio::time::timeout(Duration::ZERO, &mut again).await;
    assert!(early.is_err(), "the first has no answer, and the second has: {early:?}");
    drop(on_its_way);
    soon("join", again).await.expect("joined");
    let twice = commits.join("a").await.expect_err("it has joined");
    assert_eq!(twice.kind(), ErrorKind::Exists);
    commits.leave().await.expect("left");
    soon("join", commits.join("a")).await.expect("joined");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_time_of_a_transaction_goes_on_while_a_site_is_not_there() {
    let server = server();
    server.freeze_clock();
    let (a, b) = (client(&server).await, client(&server).await);
    let limit = Duration::from_secs(6);
    coordinator(&a).begin("one", &["a", "b"], b"chairs", limit).await.expect("begun");
    let before = site(&b, "a").await;
    next(&before).await.vote_commit().await.expect("voted");
    before.leave().await.expect("left");
    // All sessions end meanwhile, too.
    server.advance_clock(MINUTE);
    let c = client(&server).await;
    let (after, began) = (site(&c, "a").await, Instant::now());
    let voted = pending(&after).await.pop().expect("asked");
    assert!(voted.has_voted());
    let outcome = soon("the outcome", voted.outcome(None)).await.expect("its time is over");
    assert_eq!(outcome, Outcome::Abort);
    // Half of it is left to whoever sees it, and no more. Its coordinator would have waited for all of it.
    let after = began.elapsed();
    assert!(after >= limit / 2 && after < limit, "decided after {after:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_decided_without_a_site_is_cleared_away_while_it_waits() {
    let server = server();
    let (a, b, c) = (client(&server).await, client(&server).await, client(&server).await);
    let coordinator = coordinator(&a);
    let refuses = site(&b, "a").await;
    let transaction = begun(&coordinator, "one", &["a", "b"]).await;
    let proposal = next(&refuses).await;
    proposal.vote_abort("full").await.expect("voted");
    let late = site(&c, "b").await;
    let waits = {
        let late = late.clone();
        tokio::spawn(async move { late.next(None).await })
    };
    let watched =
        || server.log().iter().any(|entry| entry.op == "exists" && entry.session_id == c.session_id());
    eventually("it waits", watched).await;
    assert_eq!(transaction.outcome(None).await.expect("known"), Outcome::Abort);
    proposal.acknowledge().await.expect("done");
    let entries = || crate::support::nodes_under(&server, "/commits/orders/inbox/b").len();
    eventually("its entry goes with the transaction", || entries() == 0).await;
    begun(&coordinator, "two", &["b"]).await;
    assert_eq!(soon("what is next", waits).await.expect("joined").expect("asked").id(), "two");
}

/// Its caller has gone on to something else: after the first poll, or when it watches the inbox.
#[tokio::test(flavor = "multi_thread")]
async fn a_next_that_nobody_polls_holds_up_no_other() {
    for watches in [false, true] {
        let server = server();
        let (a, b) = (client(&server).await, client(&server).await);
        let coordinator = coordinator(&a);
        let asked = site(&b, "a").await;
        let before = server.watch_count();
        let mut kept = Box::pin(asked.next(None));
        assert!(kept.as_mut().now_or_never().is_none());
        if watches {
            tokio::select! {
                biased;
                _ = &mut kept => panic!("nothing has begun"),
                () = eventually("it watches", || server.watch_count() > before) => {}
            }
        }
        let other = asked.clone();
        let other = tokio::spawn(async move { other.next(None).await });
        begun(&coordinator, "one", &["a"]).await;
        let proposal = soon("the other", other).await.expect("joined").expect("it is asked");
        assert_eq!(proposal.id(), "one", "{watches}");
        // Nor is it told twice.
        let none = asked.next(Some(Duration::ZERO)).await.expect_err("there is no other");
        assert_eq!(none.kind(), ErrorKind::Timeout, "{watches}");
        begun(&coordinator, "two", &["a"]).await;
        let proposal = soon("the first", kept).await.expect("it is asked");
        assert_eq!(proposal.id(), "two", "{watches}");
    }
}
