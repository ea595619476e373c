//! Local hand-off: waiters of one client pass the turn on in memory, within bounds.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::support::ground::{Ground, grounds};
use crate::support::{eventually, lock_of, soon};
use futures_util::FutureExt;
use tokio::task::JoinHandle;
use zkrecipes::{Client, CreateMode, ErrorKind, Held, Lock, LockOptions, PartResult, Result, RetryOptions};
use zkrecipes_embedded::{Fault, LogEntry, Server};

const PATH: &str = "/locks/relay";
const TEN: Duration = Duration::from_secs(10);

fn relayed(client: &Client, local_handoff: u32) -> Lock {
    client.lock(PATH, LockOptions::default().local_handoff(local_handoff)).expect("valid")
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
                let (mut acquiring, turns) = (Box::pin(relayed(&a, 3).acquire()), turns.clone());
                assert!((&mut acquiring).now_or_never().is_none(), "it waits in memory");
                tokio::spawn(async move {
                    let held = acquiring.await.expect("the lock");
                    turns.fetch_add(1, Ordering::SeqCst);
                    held.release().await.expect("released");
                })
            })
            .collect();
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

const DELAY: Duration = Duration::from_millis(600);

#[tokio::test(flavor = "multi_thread")]
async fn guarded_writes_are_answered_before_the_turn_is_passed_on() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        client.nodes().create("/order", b"", CreateMode::Persistent).await.expect("created");
        let held = relayed(&client, 5).acquire().await.expect("free");
        let mut next = Box::pin(relayed(&client, 5).acquire());
        assert!((&mut next).now_or_never().is_none(), "it waits in memory");
        let next = tokio::spawn(next);
        let write = held.guarded();
        write.set("/order", b"first", None).expect("valid");
        ground.inject(Fault::delay_reply("multi", DELAY).path("**/order"));
        let written = Instant::now();
        let writing = tokio::spawn(async move { write.commit().await });
        eventually("the write is on its way", || ground.client_wrote("/order")).await;
        held.release().await.expect("released");
        let next = soon("the turn", next).await.expect("joined").expect("the lock");
        let waited = written.elapsed();
        assert!(
            waited > DELAY * 9 / 10,
            "the new holder held {waited:?} after the old write, before its answer"
        );
        soon("the write", writing).await.expect("joined").expect("applied");
        next.release().await.expect("released");
    }
}

/// The guarded write of an acquisition that is let go while the write is on its way, and whoever of the client is next.
async fn written_late(
    ground: &Ground,
    client: &Client,
    delay: Duration,
) -> (Held, JoinHandle<Result<Vec<PartResult>>>, JoinHandle<Result<Held>>) {
    client.nodes().create("/order", b"", CreateMode::Persistent).await.expect("created");
    let held = relayed(client, 5).acquire().await.expect("free");
    let mut next = Box::pin(relayed(client, 5).acquire());
    assert!((&mut next).now_or_never().is_none(), "it waits in memory");
    let write = held.guarded();
    write.set("/order", b"first", None).expect("valid");
    let slow = Fault::delay_request("multi", delay).path("**/order").session(client.session_id());
    let slow = ground.inject(slow);
    let writing = tokio::spawn(async move { write.commit().await });
    eventually("the write is on its way", || ground.fault_fired(slow)).await;
    (held, writing, tokio::spawn(next))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guarded_write_that_nobody_waits_for_any_more_is_applied_before_the_turn_is_passed_on() {
    for ground in grounds() {
        for (end, delay) in [("dropped", DELAY), ("timed out", 2 * DELAY)] {
            // Not so little that it is used up by anything else.
            let retry = RetryOptions::default().give_up_after(DELAY);
            let (a, b) = (
                ground.client_with(crate::support::options(TEN).retry(retry)).await,
                ground.client(TEN).await,
            );
            let (held, writing, next) = written_late(&ground, &a, delay).await;
            if end == "dropped" {
                writing.abort();
                assert!(writing.await.is_err_and(|end| end.is_cancelled()));
            } else {
                let error = soon("the write", writing).await.expect("joined").expect_err("late");
                assert_eq!(error.kind(), ErrorKind::ConnectionLost);
            }
            held.release().await.expect("released");
            let next = soon("the turn", next).await.expect("joined").expect("the lock");
            assert_eq!(b.nodes().get("/order").await.expect("there").0, b"first", "applied late, {end}");
            assert_eq!((next.passes(), next.node()), (1, held.node()), "{end}");
            next.release().await.expect("released");
            b.nodes().delete("/order", None).await.expect("deleted");
            ground.assert_nothing_left(PATH).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guarded_write_whose_answer_is_lost_ends_the_relay() {
    for ground in grounds() {
        for is_released_first in [false, true] {
            let client = ground.client(TEN).await;
            // Nobody waits for it: the connection breaks first.
            let (held, writing, next) = written_late(&ground, &client, TEN / 2).await;
            let releasing = is_released_first.then(|| held.release());
            // Nobody can know now whether, or when, the write is applied; only that it is not once the node is gone.
            match &ground {
                Ground::Embedded(server) => server.drop_connections(),
                Ground::Real { proxy, .. } => proxy.drop_connections(),
            }
            let error = soon("the write", writing).await.expect("joined").expect_err("lost");
            assert_eq!(error.kind(), ErrorKind::ConnectionLost);
            match releasing {
                Some(releasing) => releasing.await.expect("released"),
                None => soon("the release", held.release()).await.expect("released"),
            }
            let next = soon("a turn of its own", next).await.expect("joined").expect("the lock");
            assert_eq!(next.passes(), 0);
            assert_ne!(next.node(), held.node());
            next.release().await.expect("released");
            client.nodes().delete("/order", None).await.expect("deleted");
            ground.assert_nothing_left(PATH).await;
        }
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
        asked.recv_timeout(crate::support::SOON).expect("the holder hears of it");
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
    for _ in 0..5 {
        if is_left_with_little_time().await {
            return;
        }
    }
    panic!("the machine was late each time");
}

/// Whether it was let go in the short time in which it was still certain.
async fn is_left_with_little_time() -> bool {
    let server: Server = crate::support::server();
    let timeout = Duration::from_secs(3);
    let client = crate::support::client_with(&server, timeout).await;
    let held = relayed(&client, 5).acquire().await.expect("free");
    let node = held.node().to_owned();
    let mut next = Box::pin(relayed(&client, 5).acquire());
    assert!((&mut next).now_or_never().is_none(), "it waits in memory");
    // The session survives, and nobody here can know.
    server.freeze_clock();
    server.pause();
    // An eighth of the session timeout is too little to take anything on.
    eventually("little is left", || client.lease_remaining() < timeout / 9).await;
    if let Err(error) = held.release_in_background() {
        assert_eq!(error.kind(), ErrorKind::NotHeld, "{error}");
        return false;
    }
    let next = tokio::spawn(next);
    server.resume();
    let next = soon("a turn of its own", next).await.expect("joined").expect("the lock");
    server.thaw_clock();
    assert!(next.passes() == 0 && next.node() != node, "{next:?} after {} passes", next.passes());
    assert!(next.is_held());
    next.release().await.expect("released");
    crate::support::assert_nothing_left(&server, PATH).await;
    true
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
        // The heartbeat would find out too, but not before an eighth of the session timeout.
        assert!(began.elapsed() < Duration::from_secs(4), "told by the heartbeat only");
        ground.assert_nothing_left(PATH).await;
    }
}

/// Tasks of the library that have not ended.
async fn alive_tasks() -> usize {
    let count = async { Ok(tokio::runtime::Handle::current().metrics().num_alive_tasks()) };
    let counted = tokio::task::spawn_blocking(|| zkrecipes::drive::wait(count, None, None));
    counted.await.expect("joined").expect("counted")
}

#[tokio::test(flavor = "multi_thread")]
async fn passing_a_watched_turn_on_costs_nothing_however_often() {
    let server: Server = crate::support::server();
    let client = crate::support::client_with(&server, Duration::from_secs(40)).await;
    let path = format!("{PATH}-passes");
    let lock = || {
        let options = LockOptions::default().local_handoff(u32::MAX);
        client.lock(&path, options).expect("valid")
    };
    let mut held = lock().acquire().await.expect("free");
    held.on_lost(|_| {});
    eventually("its node is watched", || server.watch_count() == 1).await;
    server.clear_log();
    let began = alive_tasks().await;
    for pass in 1..=10_000 {
        // A task that never yields is told to wait for what is there.
        tokio::task::yield_now().await;
        let mut next = Box::pin(lock().acquire());
        assert!((&mut next).now_or_never().is_none(), "it waits in memory");
        held.release().await.expect("released");
        held = soon("the turn", next).await.expect("the lock");
        assert_eq!(held.passes(), pass);
        held.on_lost(|_| {});
        held.on_revoke(|| {});
    }
    let (reads, watches, tasks) = (server.count("getData", "/**"), server.watch_count(), alive_tasks().await);
    eprintln!("10,000 passes: {reads} reads, {watches} watches, {began} tasks before and {tasks} after");
    assert_eq!((reads, watches), (0, 1));
    // Other tests have tasks, too; one for each pass would be ten thousand.
    assert!(tasks <= began + 1_000, "{tasks} tasks, {began} before");
    // Whoever holds now hears of it all the same.
    let (sender, lost) = std::sync::mpsc::channel();
    held.on_lost(move |error| _ = sender.send(error));
    crate::support::client(&server).await.nodes().delete(held.node(), None).await.expect("deleted");
    lost.recv_timeout(crate::support::SOON).expect("the holder hears of it");
    crate::support::assert_nothing_left(&server, &path).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_comes_while_the_turn_is_passed_on_reaches_the_next_holder() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let held = relayed(&a, 5).acquire().await.expect("free");
        held.on_lost(|_| {});
        eventually("its node is watched", || ground.watch_count() == 1).await;
        let mut next = Box::pin(relayed(&a, 5).acquire());
        assert!((&mut next).now_or_never().is_none(), "it waits in memory");
        held.release().await.expect("released");
        // Nobody has taken the turn yet.
        assert!(lock_of(&b, PATH).revoke(None, None).await.expect("asked"));
        eventually("who watches has read it", || ground.requests_of(&a, "getData").len() >= 2).await;
        let next = soon("the turn", next).await.expect("the lock");
        let (sender, asked) = std::sync::mpsc::channel();
        next.on_revoke(move || _ = sender.send(()));
        asked.recv_timeout(crate::support::SOON).expect("the next holder hears of it");
        next.release().await.expect("released");
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_whose_node_goes_while_it_is_passed_on_is_not_taken_over() {
    for ground in grounds() {
        let (a, b) = (ground.client(Duration::from_secs(40)).await, ground.client(TEN).await);
        let held = relayed(&a, 5).acquire().await.expect("free");
        held.on_lost(|_| {});
        eventually("its node is watched", || ground.watch_count() == 1).await;
        let mut next = Box::pin(relayed(&a, 5).acquire());
        assert!((&mut next).now_or_never().is_none(), "it waits in memory");
        held.release().await.expect("released");
        // Nobody has taken the turn yet.
        b.nodes().delete(held.node(), None).await.expect("deleted");
        eventually("the news has come", || ground.watch_count() == 0).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        let next = soon("a turn of its own", next).await.expect("the lock");
        assert!(next.is_held() && next.passes() == 0, "{next:?} after {} passes", next.passes());
        next.verify().await.expect("it stands");
        next.release().await.expect("released");
        ground.assert_nothing_left(PATH).await;
    }
}

/// Nobody watches it: the heartbeat finds out, when nobody holds it.
#[tokio::test(flavor = "multi_thread")]
async fn a_turn_whose_node_is_found_gone_by_the_heartbeat_is_not_taken_over() {
    for ground in grounds() {
        let (a, b) = (ground.client(Duration::from_secs(4)).await, ground.client(TEN).await);
        let mut released = None;
        for is_kept in [false, true] {
            let held = relayed(&a, 5).acquire().await.expect("free");
            let other = lock_of(&a, "/locks/other").acquire().await.expect("free");
            let mut next = Box::pin(relayed(&a, 5).acquire());
            assert!((&mut next).now_or_never().is_none(), "it waits in memory");
            held.release().await.expect("released");
            // Nobody has taken the turn yet.
            let node = held.node().to_owned();
            released = is_kept.then_some(held);
            b.nodes().delete(&node, None).await.expect("deleted");
            ground.clear_log();
            let leaves_it_out = |beat: &LogEntry| !beat.parts.iter().any(|(_, path)| path.ends_with(&node));
            eventually("the heartbeat has found out", || {
                ground.requests_of(&a, "multi").iter().any(leaves_it_out)
            })
            .await;
            let theirs = soon("another's turn", lock_of(&b, PATH).acquire()).await.expect("free");
            let next = tokio::spawn(next);
            eventually("it queues, or has the lock", || {
                next.is_finished() || ground.nodes_under(PATH).len() == 2
            })
            .await;
            assert!(!next.is_finished(), "two holders");
            theirs.release().await.expect("released");
            let next = soon("a turn of its own", next).await.expect("joined").expect("the lock");
            assert!(next.is_held() && next.passes() == 0, "{next:?} after {} passes", next.passes());
            next.release().await.expect("released");
            other.release().await.expect("released");
            ground.assert_nothing_left(PATH).await;
        }
        drop(released);
    }
}
