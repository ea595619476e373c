//! Two-phase commit: what becomes of a transaction whose coordinator gave up, lost its session or died.

use std::time::Duration;

use crate::support::access::{NO_CREATION, set_access};
use crate::support::commits::{
    MINUTE, PATH, TEN, begun, next, nothing_left, of, outcome_of, site, take_part,
};
use crate::support::ground::Ground;
use crate::support::{eventually, options, server, soon};
use zkrecipes::{
    Client, CommitMode, CoordinatorState, ErrorKind, Outcome, RetryOptions, TwoPhaseCommit, drive,
};
use zkrecipes_embedded::{Fault, Server};

const TRANSACTION: &str = "**/transactions/one";

fn coordinator(client: &Client) -> TwoPhaseCommit {
    of(client, CommitMode::Coordinator)
}

async fn client(server: &Server) -> Client {
    crate::support::client_with(server, TEN).await
}

async fn warmed_up(client: &Client) -> TwoPhaseCommit {
    let coordinator = coordinator(client);
    crate::support::commits::warmed_up(&coordinator).await;
    coordinator
}

/// A client that gives up when no server has answered for a moment.
async fn impatient(hosts: &str) -> Client {
    let retry = RetryOptions::default()
        .base(Duration::from_millis(10))
        .max(Duration::from_millis(50))
        .give_up_after(Duration::from_millis(600));
    Client::connect(hosts, options(TEN).retry(retry)).await.expect("the server answers")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_begin_that_is_given_up_is_withdrawn_before_its_client_has_closed() {
    let server = server();
    let (a, b) = (client(&server).await, client(&server).await);
    let (coordinator, watcher) = (warmed_up(&a).await, coordinator(&b));
    let slow = server.inject(Fault::delay_reply("multi", Duration::from_secs(2)).path(TRANSACTION));
    let beginning = {
        let coordinator = coordinator.clone();
        tokio::spawn(async move { coordinator.begin("one", &["a"], b"x", MINUTE).await.map(drop) })
    };
    eventually("it is on its way", || server.fault_fired(slow)).await;
    assert_eq!(outcome_of(&watcher, "one").await, Some(None));
    beginning.abort();
    let _ = beginning.await;
    drop(coordinator);
    a.close(None).await.expect("closed");
    assert_eq!(outcome_of(&watcher, "one").await, None, "it is gone when the client is");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_begin_that_failed_is_withdrawn_however_long_no_server_answers_and_in_whatever_session() {
    for is_expired in [false, true] {
        let server = server();
        let (a, b) = (impatient(&server.connect_string()).await, client(&server).await);
        let (coordinator, watcher) = (warmed_up(&a).await, coordinator(&b));
        let lost = server.inject(Fault::drop_after("multi").path(TRANSACTION));
        let (begin, stop) = tokio::join!(coordinator.begin("one", &["a"], b"x", MINUTE), async {
            eventually("its answer is lost", || server.fault_fired(lost)).await;
            server.stop();
        });
        let () = stop;
        let error = begin.expect_err("no server answers");
        assert_eq!(error.kind(), zkrecipes::ErrorKind::ConnectionLost, "{error:?}");
        // And not for a while: every other call gives up, too.
        coordinator.history().await.expect_err("no server answers");
        coordinator.history().await.expect_err("no server answers");
        let session = a.session_id();
        if is_expired {
            server.expire(session);
        }
        server.restart().expect("the port is ours");
        soon("it is withdrawn", async {
            while outcome_of(&watcher, "one").await.is_some() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        })
        .await;
        assert_eq!(a.session_id() != session, is_expired);
        // What a site was asked meanwhile was aborted.
        let asked = site(&b, "a").await;
        assert!(asked.pending().await.expect("asked").is_empty());
        nothing_left(&watcher).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_site_has_voted_on_when_it_is_withdrawn_is_aborted() {
    let server = server();
    let (a, b) = (client(&server).await, client(&server).await);
    let coordinator = warmed_up(&a).await;
    let asked = site(&b, "a").await;
    asked.pending().await.expect("asked");
    let begun = drive::begin(&coordinator, "one", &["a"], b"x", MINUTE).await.expect("begun");
    let proposal = next(&asked).await;
    proposal.vote_commit().await.expect("voted");
    // Its caller had gone when it was to be told.
    drop(begun);
    assert_eq!(soon("the outcome", proposal.outcome(None)).await.expect("known"), Outcome::Abort);
    proposal.acknowledge().await.expect("done");
    nothing_left(&coordinator).await;
}

/// A client whose every way to the server can be cut.
async fn behind_a_proxy(server: &Server) -> (Ground, Client) {
    let ground = Ground::real(server.connect_string(), String::new());
    let client = ground.client(TEN).await;
    (ground, client)
}

/// Its answer is lost, its session ends, and there is no other for a while.
async fn cut_off_while_it_begins(
    server: &Server,
    ground: &Ground,
    client: &Client,
    coordinator: &TwoPhaseCommit,
) -> tokio::task::JoinHandle<zkrecipes::Result<zkrecipes::CommitTransaction>> {
    let lost = ground.inject(Fault::drop_after("multi").path(TRANSACTION));
    ground.inject(Fault::refuse_connections(1).forever());
    let session = client.session_id();
    let coordinator = coordinator.clone();
    let beginning = tokio::spawn(async move { coordinator.begin("one", &["a"], b"x", MINUTE).await });
    eventually("its answer is lost", || ground.fault_fired(lost)).await;
    // The fault has it that the proxy saw the request; the server may see it later.
    let has_begun = |node: &String| node.ends_with("/transactions/one");
    eventually("it has begun", || server.nodes().iter().any(has_begun)).await;
    server.expire(session);
    beginning
}

#[tokio::test(flavor = "multi_thread")]
async fn a_begin_in_doubt_finds_in_the_next_session_what_it_has_begun() {
    let server = server();
    let (ground, a) = behind_a_proxy(&server).await;
    let b = client(&server).await;
    let coordinator = warmed_up(&a).await;
    let beginning = cut_off_while_it_begins(&server, &ground, &a, &coordinator).await;
    ground.clear_faults();
    let transaction = soon("begin", beginning).await.expect("joined").expect("it has begun");
    let asked = site(&b, "a").await;
    let all = asked.pending().await.expect("asked");
    assert_eq!(all.len(), 1, "it began once");
    let (done, told) = tokio::join!(take_part(&all[0]), soon("the outcome", transaction.outcome(None)));
    assert_eq!((done, told.expect("known")), (Outcome::Commit, Outcome::Commit));
    nothing_left(&coordinator).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_begin_in_doubt_does_not_begin_again_what_was_taken_over_and_is_over() {
    let server = server();
    let (ground, a) = behind_a_proxy(&server).await;
    let (b, c) = (client(&server).await, client(&server).await);
    let (coordinator, other) = (warmed_up(&a).await, coordinator(&c));
    let asked = site(&b, "a").await;
    asked.pending().await.expect("asked");
    let beginning = cut_off_while_it_begins(&server, &ground, &a, &coordinator).await;
    let taken = soon("recover", other.recover()).await.expect("taken over");
    assert_eq!(taken.len(), 1);
    let proposal = next(&asked).await;
    let (done, told) = tokio::join!(take_part(&proposal), taken[0].outcome(None));
    assert_eq!((done, told.expect("known")), (Outcome::Commit, Outcome::Commit));
    nothing_left(&other).await;
    // The first one comes back, and is told what came of it.
    ground.clear_faults();
    let transaction = soon("begin", beginning).await.expect("joined").expect("it had begun");
    assert_eq!(soon("the outcome", transaction.outcome(None)).await.expect("known"), Outcome::Commit);
    assert!(other.history().await.expect("asked").is_empty(), "it began once");
    assert!(asked.pending().await.expect("asked").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_begin_in_doubt_that_never_came_about_begins_in_the_next_session() {
    let server = server();
    let (ground, a) = behind_a_proxy(&server).await;
    let coordinator = warmed_up(&a).await;
    let lost = ground.inject(Fault::drop_before("multi").path(TRANSACTION));
    ground.inject(Fault::refuse_connections(1).forever());
    let session = a.session_id();
    let (transaction, ()) = tokio::join!(coordinator.begin("one", &["a"], b"x", MINUTE), async {
        eventually("it is lost", || ground.fault_fired(lost)).await;
        server.expire(session);
        ground.clear_faults();
    });
    transaction.expect("begun");
    assert_eq!(outcome_of(&coordinator, "one").await, Some(None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_recover_that_fails_half_way_is_made_up_for_by_the_next() {
    let server = server();
    let (a, b) = (client(&server).await, impatient(&server.connect_string()).await);
    let dead = warmed_up(&a).await;
    for id in ["one", "two"] {
        begun(&dead, id, &["a"]).await;
    }
    drop(dead);
    a.close(None).await.expect("closed");
    let other = coordinator(&b);
    let fault = server.inject(Fault::drop_before("*").path("**/transactions/two/**").nth(2).forever());
    other.recover().await.expect_err("the second cannot be had");
    assert!(server.fault_fired(fault));
    server.clear_faults();
    let status = other.show("one").await.expect("asked").expect("it is there");
    assert_eq!(status.coordinator, CoordinatorState::Present, "the first was taken over");
    let taken = other.recover().await.expect("taken over");
    let ids: Vec<_> = taken.iter().map(|transaction| transaction.id().to_owned()).collect();
    assert_eq!(ids, ["one", "two"]);
    assert!(other.recover().await.expect("asked").is_empty(), "they are in hand");
    drop(taken);
    assert_eq!(other.recover().await.expect("asked").len(), 2, "and now they are not");
}

#[tokio::test(flavor = "multi_thread")]
async fn recover_takes_nothing_from_who_came_while_it_looked() {
    let server = server();
    let (a, b, c) = (client(&server).await, client(&server).await, client(&server).await);
    let dead = warmed_up(&a).await;
    begun(&dead, "one", &["a"]).await;
    let (late, other) = (coordinator(&b), coordinator(&c));
    assert!(late.recover().await.expect("asked").is_empty());
    drop(dead);
    a.close(None).await.expect("closed");
    // It sees who is there, and is told late.
    let by = Duration::from_millis(300);
    let slow =
        server.inject(Fault::delay_reply("getChildren", by).path("**/coordinators").session(b.session_id()));
    let looking = tokio::spawn(async move { (late.recover().await, late) });
    eventually("it looks", || server.fault_fired(slow)).await;
    let taken = other.recover().await.expect("taken over");
    let (displaced, _late) = soon("recover", looking).await.expect("joined");
    assert_eq!(taken.len() + displaced.expect("asked").len(), 1, "one of them has it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_is_to_be_recovered_until_its_coordinator_was_told() {
    let server = server();
    let ground = Ground::real(server.connect_string(), String::new());
    // It would wait longer than the test.
    let retry = RetryOptions::default().base(Duration::from_millis(10)).give_up_after(MINUTE);
    let a = ground.client_with(options(TEN).retry(retry)).await;
    let (b, c) = (client(&server).await, client(&server).await);
    let coordinator = warmed_up(&a).await;
    let transaction = begun(&coordinator, "one", &["a"]).await;
    let asked = site(&b, "a").await;
    let proposal = asked.pending().await.expect("asked").pop().expect("asked");
    proposal.vote_commit().await.expect("voted");
    // All that leaves behind the decision is lost.
    ground.inject(Fault::drop_before("delete").path("**/transactions/one/coordinator-*").forever());
    let told = soon("the outcome, without the end of it", transaction.outcome(None)).await;
    assert_eq!(told.expect("known"), Outcome::Commit);
    ground.inject(Fault::refuse_connections(1).forever());
    ground.break_connections();
    server.expire(a.session_id());
    proposal.outcome(None).await.expect("known");
    proposal.acknowledge().await.expect("done");
    let other = of(&c, CommitMode::Coordinator);
    let taken = other.recover().await.expect("taken over");
    assert_eq!(taken.len(), 1, "nobody knows that it was told");
    assert_eq!(taken[0].outcome(None).await.expect("known"), Outcome::Commit);
    nothing_left(&other).await;
    // It would look for its server for longer than the test, to say that it was told.
    a.close_in_background();
}

/// The folder of the coordinators goes, as a container does that is empty, and nobody may make it again.
async fn without_coordinators(server: &Server, client: &Client) {
    set_access(&server.connect_string(), PATH, NO_CREATION);
    let folder = format!("{PATH}/coordinators");
    let gone = async {
        loop {
            let names = client.nodes().children(&folder).await.expect("listed");
            let all = client.nodes().transaction();
            for name in names {
                all.delete(&format!("{folder}/{name}"), None).expect("a part");
            }
            all.delete(&folder, None).expect("a part");
            if all.commit().await.is_ok() {
                return;
            }
        }
    };
    soon("it is deleted", gone).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_make_the_folder_of_the_coordinators_again_is_told() {
    let server = server();
    let (a, b, dying) = (client(&server).await, client(&server).await, client(&server).await);
    let coordinator = coordinator(&a);
    let _kept = begun(&coordinator, "kept", &["a"]).await;
    drop(begun(&of(&dying, CommitMode::Coordinator), "orphan", &["a"]).await);
    dying.close(None).await.expect("closed");
    without_coordinators(&server, &b).await;
    let refused = soon("an answer", coordinator.begin("one", &["a"], b"", MINUTE)).await.map(drop);
    assert_eq!(refused.expect_err("it may not").kind(), ErrorKind::Denied);
    let refused = soon("an answer", coordinator.recover()).await.map(drop);
    assert_eq!(refused.expect_err("it may not").kind(), ErrorKind::Denied);
}
