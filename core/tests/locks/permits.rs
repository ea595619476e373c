//! The lines that a semaphore hangs by: nobody takes permits without the lock, and no permit or lock stays behind.

use std::sync::mpsc::channel;
use std::time::Duration;

use crate::support::access::{NO_WRITING, set_access};
use crate::support::ground::{Ground, grounds};
use crate::support::{SOON, eventually, options, server, soon};
use tokio::task::JoinHandle;
use zkrecipes::drive::acquire;
use zkrecipes::{Client, ErrorKind, Held, LostReason, Result, RetryOptions, Semaphore};
use zkrecipes_embedded::{Fault, LogEntry};

const PATH: &str = "/limits/permits";
const TEN: Duration = Duration::from_secs(10);
/// Nodes were seen to stand of late for an eighth of it.
const LONG: Duration = Duration::from_secs(40);
/// The transaction that takes permits.
const TAKING: &str = "**/leases/**";

fn of(client: &Client, permits: usize) -> Semaphore {
    client.semaphore(PATH, permits).expect("valid")
}

fn leases(ground: &Ground) -> Vec<String> {
    ground.nodes_under(&format!("{PATH}/leases"))
}

fn locks(ground: &Ground) -> Vec<String> {
    ground.nodes_under(&format!("{PATH}/locks"))
}

async fn make_parents(ground: &Ground, permits: usize) {
    let client = ground.client(TEN).await;
    of(&client, permits).acquire(1).await.expect("free").release().await.expect("released");
    client.close(Some(SOON)).await.expect("closed");
    ground.clear_log();
}

/// A client that waits for permits, and its wait.
async fn waiting(ground: &Ground, size: usize, n: usize) -> (Client, JoinHandle<Result<Held>>) {
    let (client, before) = (ground.client(TEN).await, locks(ground).len());
    let wait = tokio::spawn(of(&client, size).acquire(n));
    eventually("it queues", || locks(ground).len() == before + 1).await;
    (client, wait)
}

async fn turn(what: &str, wait: JoinHandle<Result<Held>>) -> Held {
    soon(what, wait).await.expect("joined").expect("permits")
}

async fn assert_nothing_left(ground: &Ground) {
    eventually("no permit and no lock is left", || leases(ground).is_empty() && locks(ground).is_empty())
        .await;
    eventually("no watch is left", || ground.watch_count() == 0).await;
}

/// What is in line at `…/locks` while there is no `…/leases` is a lock to whoever looks at it, such as `zkrecipes top`.
#[tokio::test(flavor = "multi_thread")]
async fn a_new_semaphore_is_at_no_moment_what_a_lock_is() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        of(&client, 1).acquire(1).await.expect("free").release().await.expect("released");
        let mut made = Vec::new();
        for name in ["leases", "locks"] {
            let stat = client.nodes().exists(&format!("{PATH}/{name}")).await.expect("asked");
            made.push(stat.expect("there").czxid);
        }
        assert!(made[0] < made[1], "the leases were made at {}, the line at {}", made[0], made[1]);
        assert_nothing_left(&ground).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_lost_the_lock_takes_no_permits_beside_its_new_holder() {
    for ground in grounds() {
        make_parents(&ground, 1).await;
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        // It has seen room, and its transaction is on its way when the lock is taken away.
        let slow = Fault::delay_request("multi", Duration::from_millis(1400)).path(TAKING);
        let fault = ground.inject(slow.session(a.session_id()));
        let late = tokio::spawn(of(&a, 1).acquire(1));
        eventually("it is about to take", || ground.fault_fired(fault)).await;
        b.nodes().delete(&locks(&ground)[0], None).await.expect("deleted");
        let theirs = soon("the permit", of(&b, 1).acquire(1)).await.expect("free");
        eventually("the other queues again", || ground.requests_of(&a, "create2").len() == 2).await;
        assert!(!late.is_finished(), "two permits of one");
        assert_eq!(leases(&ground), [theirs.node()]);
        theirs.release().await.expect("released");
        turn("the late one", late).await.release().await.expect("released");
        assert_nothing_left(&ground).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_room_and_loses_the_lock_queues_again_at_once() {
    for ground in grounds() {
        let c = ground.client(TEN).await;
        let full = of(&c, 1).acquire(1).await.expect("free");
        let (_a, first) = waiting(&ground, 1, 1).await;
        let broken = locks(&ground).remove(0);
        let (_b, second) = waiting(&ground, 1, 1).await;
        c.nodes().delete(&broken, None).await.expect("deleted");
        eventually("it queues again", || {
            let now = locks(&ground);
            now.len() == 2 && !now.contains(&broken)
        })
        .await;
        full.release().await.expect("released");
        let second = turn("the second", second).await;
        assert!(!first.is_finished(), "it is behind the other now");
        second.release().await.expect("released");
        turn("the first", first).await.release().await.expect("released");
        assert_nothing_left(&ground).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn permits_whose_answer_was_lost_are_found_again_and_used() {
    for ground in grounds() {
        make_parents(&ground, 3).await;
        let a = ground.client(TEN).await;
        let fault = ground.inject(Fault::drop_after("multi").path(TAKING));
        let held = soon("the permits", of(&a, 3).acquire(2)).await.expect("free");
        assert!(ground.fault_fired(fault));
        assert_eq!((held.permits(), leases(&ground).len()), (2, 2));
        // The transaction ends in the nodes' prefix: it was not sent a second time.
        let takings = |ground: &Ground| {
            let of_leases =
                |(_, path): &(_, String)| path.contains("/leases/_c_") && path.ends_with("-lease-");
            ground.log().iter().filter(|entry| entry.parts.iter().any(of_leases)).count()
        };
        assert_eq!(takings(&ground), 1);
        held.verify().await.expect("both stand");
        let stat = a.nodes().exists(held.node()).await.expect("asked").expect("it stands");
        assert_eq!(held.fencing_token(), stat.czxid as u64, "the token is known all the same");
        held.release().await.expect("released");
        assert_nothing_left(&ground).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn permits_of_which_one_is_gone_by_the_time_they_are_found_are_given_back() {
    for ground in grounds() {
        make_parents(&ground, 2).await;
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let fault = ground.inject(Fault::drop_after("multi").path(TAKING).session(a.session_id()));
        // One is deleted before it is back.
        ground.inject(Fault::refuse_connections(1).forever());
        let acquiring = tokio::spawn(of(&a, 2).acquire(2));
        eventually("the answer is lost", || ground.fault_fired(fault) && leases(&ground).len() == 2).await;
        let first = leases(&ground);
        b.nodes().delete(&first[0], None).await.expect("deleted");
        ground.clear_faults();
        let held = turn("the permits", acquiring).await;
        assert_eq!(held.permits(), 2);
        assert!(held.node() != first[0] && held.node() != first[1], "half of them is none of them");
        eventually("the other half is given back", || leases(&ground).len() == 2).await;
        held.verify().await.expect("both stand");
        held.release().await.expect("released");
        assert_nothing_left(&ground).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_gives_up_while_the_permits_are_on_their_way_leaves_none() {
    for ground in grounds() {
        make_parents(&ground, 2).await;
        for end in ["timeout", "cancel", "drop"] {
            let a = ground.client(TEN).await;
            let semaphore = of(&a, 2);
            // Within the limit the request has to leave.
            let (limit, delay) = match end {
                "timeout" => (Some(Duration::from_millis(700)), Duration::from_millis(1200)),
                _ => (None, Duration::from_millis(500)),
            };
            let slow = Fault::delay_reply("multi", delay).path(TAKING);
            let fault = ground.inject(slow.session(a.session_id()));
            let acquiring = tokio::spawn(acquire(&semaphore, 2, limit));
            eventually("the answer is on its way", || ground.fault_fired(fault)).await;
            match end {
                "cancel" => semaphore.cancel(),
                "drop" => acquiring.abort(),
                _ => {}
            }
            let outcome = soon(end, acquiring).await;
            match end {
                "timeout" => assert_eq!(
                    outcome.expect("joined").map(drop).expect_err("late").kind(),
                    ErrorKind::Timeout
                ),
                "cancel" => assert_eq!(
                    outcome.expect("joined").map(drop).expect_err("late").kind(),
                    ErrorKind::Cancelled
                ),
                _ => assert!(outcome.is_err_and(|join| join.is_cancelled())),
            }
            assert_nothing_left(&ground).await;
            assert!(semaphore.try_acquire(2).await.expect("asked").is_some(), "after {end}");
            assert_nothing_left(&ground).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_gives_up_waiting_gives_the_lock_back() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let full = of(&a, 2).acquire(1).await.expect("free");
        let semaphore = of(&b, 2);
        for end in ["try", "timeout", "cancel", "drop"] {
            match end {
                "try" => assert!(semaphore.try_acquire(2).await.expect("asked").is_none()),
                "timeout" => {
                    let wait = semaphore.acquire_timeout(2, Duration::from_millis(30)).await;
                    assert_eq!(wait.map(drop).expect_err("full").kind(), ErrorKind::Timeout);
                }
                _ => {
                    let wait = tokio::spawn(semaphore.acquire(2));
                    eventually("it queues", || locks(&ground).len() == 1).await;
                    if end == "cancel" {
                        semaphore.cancel();
                    } else {
                        wait.abort();
                    }
                    soon(end, wait).await.map(|outcome| assert!(outcome.is_err())).ok();
                }
            }
            eventually("the lock is given back", || locks(&ground).is_empty()).await;
            assert_eq!(leases(&ground), [full.node()], "after {end}");
            assert!(of(&a, 2).try_acquire(1).await.expect("asked").is_some(), "after {end}");
            eventually("only the holder is left", || leases(&ground).len() == 1).await;
        }
        full.release().await.expect("released");
        assert_nothing_left(&ground).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_permit_deleted_by_somebody_else_loses_all_and_leaves_no_orphan() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let held = of(&a, 2).acquire(2).await.expect("free");
        let (sender, losses) = channel();
        held.on_lost(move |error| _ = sender.send(error.reason()));
        eventually("own nodes are watched", || ground.watch_count() == 2).await;
        let (_c, waiter) = waiting(&ground, 2, 2).await;
        b.nodes().delete(&leases(&ground)[1], None).await.expect("deleted");
        assert_eq!(losses.recv_timeout(SOON).expect("told"), Some(LostReason::Deleted));
        assert!(!held.is_held());
        turn("both permits", waiter).await.release().await.expect("released");
        assert_eq!(held.release().await.expect_err("lost").kind(), ErrorKind::NotHeld);
        assert_nothing_left(&ground).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn room_that_came_while_the_connection_was_broken_is_seen() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let full = of(&a, 1).acquire(1).await.expect("free");
        let wait = tokio::spawn(of(&b, 1).acquire(1));
        // The size and its own place; the leases were asked for before these.
        eventually("it watches", || ground.requests_of(&b, "getData").len() >= 2).await;
        let fault = ground.inject(Fault::drop_after_event().session(b.session_id()));
        full.release().await.expect("released");
        turn("the permit", wait).await.release().await.expect("released");
        assert!(ground.fault_fired(fault), "the event was lost with its connection");
        assert_nothing_left(&ground).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn fewer_permits_than_are_held_take_effect_as_they_are_released() {
    for ground in grounds() {
        let a = ground.client(TEN).await;
        let semaphore = of(&a, 3);
        let mut held = Vec::new();
        for _ in 0..3 {
            held.push(semaphore.acquire(1).await.expect("free"));
        }
        semaphore.resize(1).await.expect("resized");
        for _ in 0..2 {
            held.remove(0).release().await.expect("released");
            assert!(semaphore.try_acquire(1).await.expect("asked").is_none(), "{} are held", held.len());
        }
        held.remove(0).release().await.expect("released");
        let one = semaphore.try_acquire(1).await.expect("asked").expect("free");
        assert_eq!(semaphore.acquire(2).await.map(drop).expect_err("never").kind(), ErrorKind::Invalid);
        one.release().await.expect("released");
        assert_nothing_left(&ground).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiter_for_room_whose_session_ends_queues_again_and_the_old_lock_is_gone() {
    for ground in grounds() {
        let a = ground.client(TEN).await;
        let full = of(&a, 1).acquire(1).await.expect("free");
        let (b, first) = waiting(&ground, 1, 1).await;
        let (_c, second) = waiting(&ground, 1, 1).await;
        let old = b.session_id();
        ground.expire(old).await;
        eventually("it queues again, at the end", || b.session_id() != old && locks(&ground).len() == 2)
            .await;
        full.release().await.expect("released");
        let second = turn("the second", second).await;
        assert!(!first.is_finished());
        second.release().await.expect("released");
        turn("the first", first).await.release().await.expect("released");
        assert_nothing_left(&ground).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn permits_that_are_found_late_are_certain_when_they_are_had() {
    // The session lives on; for a while before its end nobody can be sure of that.
    let server = crate::support::server();
    let (ground, timeout) = (Ground::Embedded(server.clone()), Duration::from_secs(6));
    make_parents(&ground, 1).await;
    let a = ground.client(timeout).await;
    let fault = ground.inject(Fault::drop_after("multi").path(TAKING).session(a.session_id()));
    let away = ground.inject(Fault::refuse_connections(1).forever());
    let (session, acquiring) = (a.session_id(), tokio::spawn(of(&a, 1).acquire(1)));
    eventually("the answer is lost", || ground.fault_fired(fault) && ground.fault_fired(away)).await;
    // Longer than anything is certain, and not as long as the session lives.
    tokio::time::sleep(timeout * 7 / 10).await;
    assert!(a.lease_remaining().is_zero());
    ground.clear_faults();
    let held = turn("the permit", acquiring).await;
    assert_eq!(a.session_id(), session, "it is the permit that was taken");
    assert!(held.is_held(), "had, and not certain");
    assert!(a.lease_remaining() >= timeout / 10, "{:?} is left", a.lease_remaining());
    held.release().await.expect("released");
    assert_nothing_left(&ground).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn permits_whose_transaction_breaks_the_connection_are_not_asked_for_again_and_again_at_once() {
    for ground in grounds() {
        make_parents(&ground, 1).await;
        let a = ground.client(TEN).await;
        let fault = ground.inject(Fault::drop_before("multi").path(TAKING).session(a.session_id()).forever());
        let acquiring = tokio::spawn(of(&a, 1).acquire(1));
        eventually("it is tried", || ground.fault_fired(fault)).await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        // The pauses double from 10 ms on, as long as one loss follows another.
        let attempts = ground.requests_of(&a, "multi");
        let takes = |entry: &&LogEntry| entry.parts.iter().any(|(_, path)| path.contains("-lease-"));
        let attempts = attempts.iter().filter(takes).count();
        assert!(attempts <= 10, "{attempts} attempts in two seconds");
        ground.clear_faults();
        turn("the permit", acquiring).await.release().await.expect("released");
        assert_nothing_left(&ground).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_behind_its_own_client_lists_nobody() {
    for ground in grounds() {
        let client = ground.client(LONG).await;
        let full = of(&client, 1).acquire(1).await.expect("free");
        let mut waits = Vec::new();
        for depth in 0..20 {
            let semaphore = of(&client, 1);
            waits.push(tokio::spawn(async move { semaphore.acquire(1).await?.release().await }));
            let knows_behind_whom = || client.metrics().queue_depth_max == depth;
            eventually("it stands", || locks(&ground).len() > depth as usize && knows_behind_whom()).await;
        }
        ground.clear_log();
        full.release().await.expect("released");
        for wait in waits {
            soon("a permit", wait).await.expect("no panic").expect("a permit");
        }
        let folder = format!("{PATH}/locks");
        let lists = ground.lists_of(&client).into_iter().filter(|list| list.path.ends_with(&folder)).count();
        assert!(lists <= 2, "{lists} lists of those who queue, for 20 acquisitions");
        assert_nothing_left(&ground).await;
    }
}

async fn assert_never_had(what: &str, wait: impl Future<Output = Result<Held>>) {
    let error = soon(what, wait).await.map(drop).expect_err("it can never be had");
    assert_eq!(error.kind(), ErrorKind::Invalid, "{what}: {error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_more_than_a_resize_leaves_is_told_and_keeps_nobody_waiting() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let one = of(&b, 3).acquire(1).await.expect("free");
        let semaphore = of(&a, 3);
        let all = tokio::spawn(semaphore.acquire(3));
        // The size and its own place; the leases were asked for before these.
        eventually("it watches", || ground.requests_of(&a, "getData").len() >= 2).await;
        semaphore.resize(2).await.expect("resized");
        assert_never_had("all three", async { all.await.expect("joined") }).await;
        soon("the other", of(&b, 2).acquire(1)).await.expect("free").release().await.expect("released");
        one.release().await.expect("released");
        assert_nothing_left(&ground).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_size_that_was_refused_is_none() {
    let server = server();
    let ground = Ground::Embedded(server.clone());
    make_parents(&ground, 3).await;
    set_access(&server.connect_string(), &format!("{PATH}/max"), NO_WRITING);
    // The first request is lost, and the second one leaves behind a pause.
    let pause = Duration::from_secs(7);
    let a = ground.client_with(options(TEN).retry(RetryOptions::default().base(pause).max(pause))).await;
    let semaphore = of(&a, 3);
    let lost = ground.inject(Fault::drop_before("setData"));
    let resizing = tokio::spawn({
        let semaphore = semaphore.clone();
        async move { semaphore.resize(10).await }
    });
    eventually("it is lost", || ground.fault_fired(lost)).await;
    // Or its own first request would be lost with the connection, and pause as long.
    eventually("it is in touch again", || a.metrics().reconnections == 1).await;
    // Which may yet have what it wants.
    let early = tokio::spawn(semaphore.acquire(5));
    eventually("it queues", || locks(&ground).len() == 1).await;
    assert!(!resizing.is_finished());
    let refused = soon("an answer", resizing).await.expect("joined").expect_err("refused");
    assert_eq!(refused.kind(), ErrorKind::Denied);
    assert_never_had("who came before", async { early.await.expect("joined") }).await;
    let queued = ground.requests_of(&a, "create2").len();
    assert_never_had("who comes now", semaphore.acquire(5)).await;
    assert_eq!(ground.requests_of(&a, "create2").len(), queued, "refused before it queues");
    assert_eq!(semaphore.permits(), 3);
    soon("all", semaphore.acquire(3)).await.expect("free").release().await.expect("released");
    assert_nothing_left(&ground).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_resize_without_an_answer_what_the_server_has_tells_how_many_can_be_had() {
    for ground in grounds() {
        make_parents(&ground, 3).await;
        let retry =
            RetryOptions::default().base(Duration::from_millis(10)).give_up_after(Duration::from_secs(1));
        let a = ground.client_with(options(TEN).retry(retry)).await;
        let semaphore = of(&a, 3);
        for (lost, is_applied) in
            [(Fault::drop_before("setData"), false), (Fault::drop_after("setData"), true)]
        {
            ground.inject(lost.forever());
            let unknown = soon("the end", semaphore.resize(10)).await.expect_err("no answer comes");
            assert_eq!(unknown.kind(), ErrorKind::ConnectionLost);
            ground.clear_faults();
            match is_applied {
                false => assert_never_had("more than there are", semaphore.acquire(5)).await,
                true => {
                    let five = soon("five of ten", semaphore.acquire(5)).await.expect("free");
                    five.release().await.expect("released");
                }
            }
            soon("all three", semaphore.acquire(3)).await.expect("free").release().await.expect("released");
        }
        assert_nothing_left(&ground).await;
    }
}
