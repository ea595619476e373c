//! Local hand-off: waiters of one client pass the turn on in memory, within bounds.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use support::ground::grounds;
use support::{eventually, lock_of, soon};
use zkrecipes::{Client, CreateMode, ErrorKind, Lock, LockOptions};
use zkrecipes_embedded::{Fault, Server};

const PATH: &str = "/locks/relay";
const TEN: Duration = Duration::from_secs(10);

fn relayed(client: &Client, local_handoff: u32) -> Lock {
    client.lock(PATH, LockOptions { local_handoff, ..Default::default() }).expect("valid")
}

#[tokio::test(flavor = "multi_thread")]
async fn waiters_of_one_client_share_a_node_and_pass_the_turn_on_without_a_request() {
    let server: Server = support::server();
    let client = support::client(&server).await;
    let held = relayed(&client, 10).acquire().await.expect("free");
    let (token, node) = (held.fencing_token(), held.node().to_owned());
    let next = relayed(&client, 10);
    let next = tokio::spawn(async move { next.acquire().await });
    tokio::task::yield_now().await;
    eventually("it waits in memory", || !next.is_finished()).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    server.clear_log();
    held.release().await.expect("released");
    let next = soon("the turn", next).await.expect("joined").expect("the lock");
    assert!(support::requests(&server).is_empty(), "{:?}", support::requests(&server));
    assert_eq!((next.fencing_token(), next.node(), next.passes()), (token, node.as_str(), 1));
    assert!(next.is_held() && !held.is_held());
    next.verify().await.expect("held");
    assert_eq!(held.verify().await.expect_err("released").kind(), ErrorKind::NotHeld);
    next.release().await.expect("released");
    support::assert_nothing_left(&server, PATH).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn other_clients_get_their_turn_after_so_many_passes() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let held = relayed(&a, 3).acquire().await.expect("free");
        let other = lock_of(&b, PATH);
        let other = tokio::spawn(async move { other.acquire().await.expect("the lock") });
        eventually("the other queues", || ground.nodes_under(PATH).len() == 2).await;
        let turns = Arc::new(AtomicUsize::new(0));
        let locals: Vec<_> = (0..8)
            .map(|_| {
                let (lock, turns) = (relayed(&a, 3), turns.clone());
                tokio::spawn(async move {
                    let held = lock.acquire().await.expect("the lock");
                    turns.fetch_add(1, Ordering::SeqCst);
                    held.release().await.expect("released");
                })
            })
            .collect();
        tokio::time::sleep(Duration::from_millis(50)).await;
        held.release().await.expect("released");
        let theirs = soon("the other's turn", other).await.expect("joined");
        assert_eq!(turns.load(Ordering::SeqCst), 3, "three passes, then the other");
        theirs.release().await.expect("released");
        for local in locals {
            soon("the rest", local).await.expect("joined");
        }
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pairs_of_token_and_passes_rise_and_holders_never_overlap() {
    for ground in grounds() {
        let last = Arc::new(std::sync::Mutex::new((0, 0)));
        let inside = Arc::new(AtomicUsize::new(0));
        let mut tasks = Vec::new();
        for _ in 0..2 {
            let client = ground.client(TEN).await;
            for _ in 0..5 {
                let (lock, last, inside) = (relayed(&client, 4), last.clone(), inside.clone());
                tasks.push(tokio::spawn(async move {
                    for _ in 0..10 {
                        let held = lock.acquire().await.expect("the lock");
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two holders");
                        let pair = (held.fencing_token(), held.passes());
                        assert!(
                            std::mem::replace(&mut *last.lock().expect("last"), pair) < pair,
                            "pairs rise"
                        );
                        inside.fetch_sub(1, Ordering::SeqCst);
                        held.release().await.expect("released");
                    }
                }));
            }
        }
        for task in tasks {
            soon("the work", task).await.expect("joined");
        }
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_nobody_takes_any_more_is_given_back() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        for _ in 0..20 {
            let held = relayed(&a, 5).acquire().await.expect("free");
            let waiting = relayed(&a, 5);
            let waiter = tokio::spawn({
                let waiting = waiting.clone();
                async move { waiting.acquire().await.map(drop) }
            });
            tokio::task::yield_now().await;
            // The cancel and the release race for the waiter.
            let releasing = held.release();
            waiting.cancel();
            releasing.await.expect("released");
            let outcome = soon("the waiter", waiter).await.expect("joined");
            assert!(outcome.is_ok_and(|()| true) || !waiting.is_held());
            assert!(soon("another's turn", lock_of(&b, PATH).acquire()).await.expect("the lock").is_held());
        }
        ground.assert_nothing_left(PATH).await;
    }
}

const DELAY: Duration = Duration::from_millis(400);

#[tokio::test(flavor = "multi_thread")]
async fn guarded_writes_are_answered_before_the_turn_is_passed_on() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        client.nodes().create("/order", b"", CreateMode::Persistent).await.expect("created");
        let held = relayed(&client, 5).acquire().await.expect("free");
        let next = relayed(&client, 5);
        let next = tokio::spawn(async move { next.acquire().await });
        tokio::time::sleep(Duration::from_millis(50)).await;
        let write = held.guarded();
        write.set("/order", b"first", None).expect("valid");
        ground.inject(Fault::delay_reply("multi", DELAY));
        let writing = tokio::spawn(async move { write.commit().await });
        eventually("the write is on its way", || ground.client_wrote("/order")).await;
        let on_its_way = Instant::now();
        held.release().await.expect("released");
        let next = soon("the turn", next).await.expect("joined").expect("the lock");
        let waited = on_its_way.elapsed();
        assert!(waited > DELAY / 2, "the new holder held {waited:?} after the old write, before its answer");
        soon("the write", writing).await.expect("joined").expect("applied");
        next.release().await.expect("released");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn losing_the_session_ends_the_relay_and_waiters_queue_again() {
    for ground in grounds() {
        let a = ground.client(TEN).await;
        let held = relayed(&a, 5).acquire().await.expect("free");
        let next = relayed(&a, 5);
        let next = tokio::spawn(async move { next.acquire().await });
        tokio::time::sleep(Duration::from_millis(50)).await;
        ground.expire(a.session_id()).await;
        let next = soon("the turn", next).await.expect("joined").expect("the lock");
        assert!(!held.is_held() && next.is_held());
        assert_eq!(next.passes(), 0);
        assert!(next.fencing_token() > held.fencing_token());
        next.release().await.expect("released");
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_passed_to_a_waiter_that_was_dropped_is_given_back() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let held = relayed(&a, 5).acquire().await.expect("free");
        let mut next = Box::pin(relayed(&a, 5).acquire());
        assert!((&mut next).now_or_never().is_none(), "it waits in memory");
        // The turn is passed to a waiter that never looks.
        held.release().await.expect("released");
        assert_eq!(ground.nodes_under(PATH).len(), 1, "passed on");
        drop(next);
        let theirs = soon("another's turn", lock_of(&b, PATH).acquire()).await.expect("the lock");
        theirs.release().await.expect("released");
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_somebody_asked_for_is_not_passed_on() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let held = relayed(&a, 5).acquire().await.expect("free");
        let (sender, asked) = std::sync::mpsc::channel();
        held.on_revoke(move || _ = sender.send(()));
        let mut next = Box::pin(relayed(&a, 5).acquire());
        assert!((&mut next).now_or_never().is_none(), "it waits in memory");
        let theirs = tokio::spawn(lock_of(&b, PATH).acquire());
        eventually("the other queues", || ground.nodes_under(PATH).len() == 2).await;
        assert!(lock_of(&b, PATH).revoke(None, None).await.expect("asked"));
        asked.recv_timeout(support::SOON).expect("the holder hears of it");
        let next = tokio::spawn(next);
        held.release().await.expect("released");
        let theirs = soon("who asked", theirs).await.expect("joined").expect("the lock");
        assert!(!next.is_finished(), "two holders");
        theirs.release().await.expect("released");
        let next = soon("the local one", next).await.expect("joined").expect("the lock");
        assert_eq!(next.passes(), 0);
        next.release().await.expect("released");
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_is_about_to_become_uncertain_is_not_taken_over() {
    let server: Server = support::server();
    let client = support::client_with(&server, Duration::from_secs(2)).await;
    let held = relayed(&client, 5).acquire().await.expect("free");
    let node = held.node().to_owned();
    let mut next = Box::pin(relayed(&client, 5).acquire());
    assert!((&mut next).now_or_never().is_none(), "it waits in memory");
    // The session survives, and nobody here can know.
    server.freeze_clock();
    server.pause();
    // An eighth of the session timeout is too little to take anything on.
    eventually("little is left", || client.lease_remaining() < Duration::from_millis(220)).await;
    held.release_in_background().expect("still certain");
    let next = tokio::spawn(next);
    server.resume();
    let next = soon("a turn of its own", next).await.expect("joined").expect("the lock");
    server.thaw_clock();
    assert!(next.passes() == 0 && next.node() != node, "{next:?} after {} passes", next.passes());
    assert!(next.is_held());
    next.release().await.expect("released");
    support::assert_nothing_left(&server, PATH).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_was_watched_is_watched_by_the_next_holder_too() {
    for ground in grounds() {
        let (a, b) = (ground.client(Duration::from_secs(40)).await, ground.client(TEN).await);
        let held = relayed(&a, 5).acquire().await.expect("free");
        held.on_lost(|_| {});
        eventually("its node is watched", || ground.watch_count() == 1).await;
        let mut next = Box::pin(relayed(&a, 5).acquire());
        assert!((&mut next).now_or_never().is_none(), "it waits in memory");
        held.release().await.expect("released");
        let next = soon("the turn", next).await.expect("the lock");
        assert_eq!(next.passes(), 1);
        let began = Instant::now();
        b.nodes().delete(next.node(), None).await.expect("deleted");
        eventually("the next holder knows", || !next.is_held()).await;
        // The heartbeat would find out too, but not before a quarter of the session timeout.
        assert!(began.elapsed() < Duration::from_secs(5), "told by the heartbeat only");
        ground.assert_nothing_left(PATH).await;
    }
}
