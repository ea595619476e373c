//! Barriers: everybody waits while one is up, through faults, and nobody a moment longer.

use std::time::Duration;

use crate::support::ground::{Ground, grounds};
use crate::support::mishap::{MISHAPS, Mishap};
use crate::support::{SOON, eventually, options, soon};
use zkrecipes::{Barrier, Client, ErrorKind, blocking};
use zkrecipes_embedded::Fault;

const PATH: &str = "/barriers/import";
const TEN: Duration = Duration::from_secs(10);

fn of(client: &Client) -> Barrier {
    client.barrier(PATH).expect("valid")
}

/// How often anybody looked at the barrier.
fn looks(ground: &Ground) -> usize {
    ground.log().iter().filter(|entry| entry.op == "exists" && entry.path.ends_with(PATH)).count()
}

#[tokio::test(flavor = "multi_thread")]
async fn thousands_wait_and_each_looks_twice() {
    const CROWD: usize = 2000;
    let ground = grounds().remove(0);
    let clients = [ground.client(TEN).await, ground.client(TEN).await, ground.client(TEN).await];
    of(&clients[0]).create().await.expect("put up");
    ground.clear_log();
    let waiters: Vec<_> = (0..CROWD)
        .map(|n| {
            let barrier = of(&clients[n % clients.len()]);
            tokio::spawn(async move { barrier.wait(None).await })
        })
        .collect();
    eventually("they wait", || looks(&ground) >= CROWD).await;
    assert!(waiters.iter().all(|waiter| !waiter.is_finished()));
    of(&clients[1]).remove().await.expect("lifted");
    for waiter in waiters {
        soon("the lifting", waiter).await.expect("joined").expect("lifted");
    }
    // When they come, and when they are woken; and who lifts it, once.
    assert!(looks(&ground) <= 2 * CROWD + 1, "{}", looks(&ground));
    eventually("no watch is left", || ground.watch_count() == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lifting_that_was_lost_lifts_no_barrier_that_was_put_up_since() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        of(&b).create().await.expect("put up");
        ground.inject(Fault::drop_after("delete").session(a.session_id()));
        ground.inject(Fault::refuse_connections(2));
        let lifting = tokio::spawn({
            let barrier = of(&a);
            async move { barrier.remove().await }
        });
        let is_lifted = async { while of(&b).is_up().await.expect("asked") {} };
        soon("it is lifted", is_lifted).await;
        of(&b).create().await.expect("put up again");
        soon("the lifting", lifting).await.expect("joined").expect("resolved");
        assert!(of(&b).is_up().await.expect("asked"));
        of(&b).remove().await.expect("lifted");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiter_is_not_woken_by_a_change_and_does_not_miss_a_lift() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        of(&a).create().await.expect("put up");
        let waiting = of(&b);
        let waiter = tokio::spawn(async move { waiting.wait(None).await });
        eventually("it waits", || ground.watch_count() == 1).await;
        ground.clear_log();
        a.nodes().set(PATH, b"changed", None).await.expect("set");
        eventually("it looks again", || !ground.requests_of(&b, "exists").is_empty()).await;
        eventually("it waits again", || ground.watch_count() == 1).await;
        assert!(!waiter.is_finished());
        // Lifted and put up again at once: by the time the waiter looks, one is up.
        let both = a.nodes().transaction();
        both.delete(PATH, None).expect("valid");
        both.create(PATH, b"", zkrecipes::CreateMode::Persistent).expect("valid");
        both.commit().await.expect("applied");
        soon("the lift", waiter).await.expect("joined").expect("it was lifted");
        eventually("no watch is left", || ground.watch_count() == 0).await;
    }
}

/// Meets the mishap at request `k` of putting up, waiting, and lifting; false when there was no such request.
async fn meet(ground: &Ground, mishap: Mishap, k: u64) -> bool {
    let what = format!("{mishap:?} at request {k}");
    let (a, b) = (ground.client(mishap.session_timeout()).await, ground.client(TEN).await);
    let session = a.session_id();
    let fault = ground.inject(mishap.fault().session(session).nth(k));
    let barrier = of(&a);
    let work = tokio::spawn(async move {
        barrier.create().await?;
        assert!(barrier.is_up().await?, "nobody has lifted it");
        let early = barrier.wait(Some(Duration::from_millis(20))).await;
        assert!(early.is_err(), "nobody has lifted it");
        barrier.remove().await?;
        barrier.wait(Some(SOON)).await
    });
    eventually(&what, || ground.fault_fired(fault) || work.is_finished()).await;
    let fired = ground.fault_fired(fault);
    match mishap {
        Mishap::ReplyLostAndSessionExpired if fired => ground.expire(session).await,
        Mishap::CallDropped | Mishap::CallCancelled if fired => work.abort(),
        Mishap::ServerRestarted if fired => {
            ground.go_away();
            ground.come_back();
        }
        _ => {}
    }
    ground.clear_faults();
    match soon(&what, work).await {
        Ok(outcome) => outcome.unwrap_or_else(|error| panic!("{what}: {error:?}")),
        Err(join) => assert!(join.is_cancelled(), "{what}: {join}"),
    }
    of(&b).remove().await.expect("lifted");
    soon(&what, of(&b).wait(None)).await.expect("lifted");
    for client in [a, b] {
        client.close(Some(SOON)).await.expect("closed");
    }
    eventually(&format!("no watch is left after {what}"), || ground.watch_count() == 0).await;
    fired
}

#[tokio::test(flavor = "multi_thread")]
async fn a_barrier_survives_a_mishap_at_any_request() {
    for ground in grounds() {
        for mishap in MISHAPS {
            let mut met = 0;
            for k in 1..60 {
                if !meet(&ground, mishap, k).await {
                    break;
                }
                met = k;
            }
            // Create, and what is looked at behind a sync: once, then twice; delete, and again.
            assert!(met >= 8, "{mishap:?} met only {met} requests");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_lags_behind_hides_no_barrier() {
    let ground = grounds().remove(0);
    let client = ground.client(TEN).await;
    of(&client).create().await.expect("put up");
    ground.clear_log();
    let _ = of(&client).wait(Some(Duration::ZERO)).await.expect_err("it is up");
    assert!(of(&client).is_up().await.expect("asked"));
    let session = client.session_id();
    let asked: Vec<_> = ground
        .log()
        .into_iter()
        .filter(|entry| entry.session_id == session && entry.path == PATH)
        .map(|entry| entry.op)
        .collect();
    assert_eq!(
        asked,
        ["sync", "exists", "sync", "exists"],
        "no embedded server lags, so the request is what can be seen"
    );
    of(&client).remove().await.expect("lifted");
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_ends_a_wait() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        of(&client).create().await.expect("put up");
        let waiting = of(&client);
        let waiter = tokio::spawn(async move { waiting.wait(None).await });
        eventually("it waits", || ground.watch_count() == 1).await;
        client.close(Some(SOON)).await.expect("closed");
        assert_eq!(
            soon("the end", waiter).await.expect("joined").expect_err("closed").kind(),
            ErrorKind::Closed
        );
        assert_eq!(client.barrier(PATH).expect_err("closed").kind(), ErrorKind::Closed);
    }
}

#[test]
fn threads_wait_too() {
    let server = crate::support::server();
    let client = blocking::Client::connect(&server.connect_string(), options(TEN)).expect("it answers");
    let barrier = client.barrier(PATH).expect("valid");
    barrier.create().expect("put up");
    assert!(barrier.is_up().expect("asked"));
    server.inject(Fault::delay_reply("delete", Duration::from_millis(10)));
    let waiting = barrier.clone();
    let waiter = std::thread::spawn(move || waiting.wait(None));
    barrier.remove().expect("lifted");
    waiter.join().expect("no panic").expect("lifted");
    barrier.wait(Some(Duration::ZERO)).expect("lifted");
    assert_eq!(client.barrier("relative").expect_err("a path").kind(), ErrorKind::Invalid);
}

#[test]
fn a_thread_that_waits_can_be_called_away() {
    let server = crate::support::server();
    let client = blocking::Client::connect(&server.connect_string(), options(TEN)).expect("it answers");
    let barrier = client.barrier(PATH).expect("valid");
    barrier.cancel();
    barrier.create().expect("put up");
    let waiting = barrier.clone();
    let waiter = std::thread::spawn(move || waiting.wait(None));
    while server.watch_count() == 0 {
        std::thread::yield_now();
    }
    barrier.cancel();
    assert_eq!(waiter.join().expect("no panic").expect_err("cancelled").kind(), ErrorKind::Cancelled);
    let later = barrier.wait(Some(Duration::from_millis(50))).expect_err("it is up");
    assert_eq!(later.kind(), ErrorKind::Timeout, "no later wait is cancelled");
}
