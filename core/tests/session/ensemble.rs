//! Followers that lag and followers that are cut off: what one server says is not what the quorum knows.

use std::time::Duration;

use crate::support::{SOON, eventually, lock_of, options, soon};
use zkrecipes::{Client, CreateMode, ErrorKind, LostReason};
use zkrecipes_embedded::{Ensemble, Fault, Server};

const PATH: &str = "/locks/ensemble";

fn ensemble(tick: Duration) -> Ensemble {
    let builder = Server::builder().tick(tick).min_session_timeout(2 * tick);
    builder.max_session_timeout(Duration::from_secs(60)).start_ensemble(3).expect("free ports")
}

async fn client_of(ensemble: &Ensemble, member: usize, session_timeout: Duration) -> Client {
    let hosts = ensemble.member(member).expect("a member");
    Client::connect(&hosts, options(session_timeout)).await.expect("the member answers")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_holder_on_a_follower_that_is_cut_off_knows_before_another_holds() {
    // The follower goes on answering pings for five ticks, longer than the session lives.
    let ensemble = ensemble(Duration::from_millis(800));
    let timeout = Duration::from_millis(2400);
    let (a, b) =
        (client_of(&ensemble, 1, timeout).await, client_of(&ensemble, 0, Duration::from_secs(10)).await);
    let held = lock_of(&a, PATH).acquire().await.expect("free");
    let (sender, losses) = std::sync::mpsc::channel();
    held.on_lost(move |error| _ = sender.send(error.reason()));
    let (next, before) = (lock_of(&b, PATH), held.clone());
    let next = tokio::spawn(async move {
        let next = next.acquire().await.expect("the lock");
        assert!(!before.is_held(), "two hold");
        next
    });
    eventually("the next waits", || ensemble.server().watch_count() >= 3).await;
    assert!(ensemble.isolate(1));
    let reason = losses.recv_timeout(SOON).expect("the holder is told");
    assert_eq!(reason, Some(LostReason::Session));
    assert!(!held.is_held());
    let next = soon("the next", next).await.expect("joined");
    assert!(next.is_held());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newcomer_on_a_follower_that_is_cut_off_acquires_nothing() {
    let ensemble = ensemble(Duration::from_millis(600));
    let client = client_of(&ensemble, 1, Duration::from_millis(1800)).await;
    client.nodes().exists("/").await.expect("read");
    ensemble.isolate(1);
    client.nodes().exists("/").await.expect("the follower answers reads by itself");
    let error = lock_of(&client, PATH).acquire_timeout(Duration::from_millis(900)).await.map(drop);
    assert_eq!(error.expect_err("nobody answered").kind(), ErrorKind::Timeout);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_create_whose_answer_was_lost_is_found_through_a_follower_that_lags() {
    for round in 0..6 {
        let ensemble = ensemble(Duration::from_millis(100));
        let hosts = format!("{},{}", ensemble.member(1).expect("one"), ensemble.member(2).expect("two"));
        let client = Client::connect(&hosts, options(Duration::from_secs(10))).await.expect("connected");
        let lock = lock_of(&client, PATH);
        lock.acquire().await.expect("free").release().await.expect("released");
        ensemble.lag(1, Duration::from_millis(150));
        ensemble.lag(2, Duration::from_millis(150));
        ensemble.server().inject(Fault::drop_after("create2"));
        let held = soon("the acquire", lock.acquire()).await.expect("the lock");
        ensemble.release(1);
        ensemble.release(2);
        let nodes = crate::support::nodes_under(ensemble.server(), PATH);
        assert_eq!(nodes, [held.node()], "one node, and it is the one that holds (round {round})");
        held.verify().await.expect("it is ours");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_last_holder_wrote_is_seen_by_the_next_after_a_reconnection() {
    let ensemble = ensemble(Duration::from_millis(100));
    let hosts = format!("{},{}", ensemble.member(1).expect("one"), ensemble.member(2).expect("two"));
    let writer = client_of(&ensemble, 0, Duration::from_secs(10)).await;
    let reader = Client::connect(&hosts, options(Duration::from_secs(10))).await.expect("connected");
    writer.nodes().create("/ledger", b"old", CreateMode::Persistent).await.expect("created");
    for round in 0..4 {
        let held = lock_of(&writer, PATH).acquire().await.expect("free");
        let next = lock_of(&reader, PATH);
        let next = tokio::spawn(async move { next.acquire().await });
        eventually("the next waits", || ensemble.server().watch_count() >= 2).await;
        // From now on the followers show the past, but for the news of the deletion that hands the lock over.
        let value = format!("new {round}");
        writer.nodes().set("/ledger", value.as_bytes(), None).await.expect("written");
        held.release().await.expect("released");
        let held = soon("the next", next).await.expect("joined").expect("the lock");
        ensemble.lag(1, Duration::from_millis(200));
        ensemble.lag(2, Duration::from_millis(200));
        ensemble.server().drop_connections();
        let (seen, _) = soon("the read", reader.nodes().get("/ledger")).await.expect("read");
        assert_eq!(seen, value.as_bytes(), "the next holder reads what the last one wrote");
        ensemble.release(1);
        ensemble.release(2);
        held.leave(true).await.expect("left");
        eventually("the lock is free", || crate::support::nodes_under(ensemble.server(), PATH).is_empty())
            .await;
    }
}
