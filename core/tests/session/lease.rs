//! What is certain and until when: the heartbeat, losses and how they are told.

use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use crate::support::lateness::in_time;
use crate::support::*;
use zkrecipes::{Client, Error, ErrorKind, Held, LeaseMode, LostReason, State};
use zkrecipes_embedded::{Fault, Server};

const PATH: &str = "/locks/lease";

async fn held_by(client: &Client) -> Held {
    soon("a free lock", lock_of(client, PATH).acquire()).await.expect("free")
}

fn told(held: &Held) -> Receiver<Error> {
    let (sender, receiver) = channel();
    held.on_lost(move |error| {
        let _ = sender.send(error);
    });
    receiver
}

#[tokio::test(flavor = "multi_thread")]
async fn a_holder_beats_eight_times_a_session_timeout_and_nobody_else_beats() {
    let server = server();
    let timeout = Duration::from_secs(4);
    let (a, b, c) = (
        client_with(&server, timeout).await,
        client_with(&server, timeout).await,
        client_with(&server, timeout).await,
    );
    let held = held_by(&a).await;
    let next = tokio::spawn({
        let lock = lock_of(&b, PATH);
        async move { lock.acquire().await }
    });
    eventually("the next waits", || server.watch_count() == 2).await;
    let last = tokio::spawn({
        let lock = lock_of(&c, PATH);
        async move { lock.acquire().await }
    });
    eventually("the last waits", || server.count("getData", &format!("{PATH}/**")) == 5).await;
    server.clear_log();
    let beats = |client: &Client| {
        let session = client.session_id();
        server.log().iter().filter(|entry| entry.session_id == session && entry.op == "multi").count()
    };
    // Time is the subject. A busy machine makes some gaps longer, and what is late is made up for: not in the middle.
    let mut seen: [Vec<Instant>; 2] = Default::default();
    eventually("both beat", || {
        for (client, times) in [&a, &b].into_iter().zip(&mut seen) {
            let more = beats(client) - times.len();
            times.extend(std::iter::repeat_n(Instant::now(), more));
        }
        seen.iter().all(|times| times.len() > 6)
    })
    .await;
    for (times, who) in seen.iter().zip(["the holder", "who is next in line"]) {
        let mut gaps: Vec<_> = times.windows(2).map(|two| two[1] - two[0]).collect();
        gaps.sort();
        let usual = gaps[gaps.len() / 2];
        // Every T/8; T/12 after late answers.
        let expected = timeout / 13..timeout / 6;
        assert!(expected.contains(&usual), "{who} beats each {usual:?}: {gaps:?}");
    }
    assert_eq!(beats(&c), 0, "nobody further back does");
    eventually("there is time left", || a.lease_remaining() > Duration::from_millis(300)).await;
    assert_eq!(c.lease_remaining(), Duration::ZERO, "nothing is held");
    assert!(held.is_held());
    for waiting in [next, last] {
        waiting.abort();
        // One that runs just now goes on until it waits again.
        assert!(soon("it has ended", waiting).await.is_err(), "it waits");
    }
    held.release().await.expect("released");
    eventually("the locks are free", || nodes_under(&server, PATH).is_empty()).await;
    server.clear_log();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(server.count("multi", "**"), 0, "an idle client writes nothing");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_answers_the_lock_is_lost_before_the_server_gives_it_away() {
    let server = server();
    let (a, b) = (client_with(&server, Duration::from_secs(3)).await, client(&server).await);
    let held = held_by(&a).await;
    // A notice that never returns must not hold up the one that matters.
    a.on_state(|_| std::thread::park());
    let losses = told(&held);
    let next = tokio::spawn({
        let (lock, before) = (lock_of(&b, PATH), held.clone());
        async move {
            let next = lock.acquire().await.expect("the lock");
            assert!(!before.is_held(), "the old holder knew before the new one held");
            next
        }
    });
    eventually("the next waits", || server.watch_count() == 3).await;
    // From now on the server hears nothing of the holder, and the holder nothing of the server.
    server.inject(Fault::black_hole().session(a.session_id()));
    let error = losses.recv_timeout(SOON).expect("the holder is told");
    assert_eq!((error.kind(), error.reason()), (ErrorKind::Lost, Some(LostReason::Session)));
    assert!(!held.is_held());
    let next = soon("the next", next).await.expect("joined");
    assert!(next.is_held());
    assert_eq!(held.leave(false).await.expect_err("lost").kind(), ErrorKind::Lost);
}

#[tokio::test(flavor = "multi_thread")]
async fn loss_is_sticky_and_the_node_of_a_surviving_session_goes() {
    let server = server();
    let timeout = Duration::from_secs(3);
    let a = client_with(&server, timeout).await;
    let b = client(&server).await;
    let held = held_by(&a).await;
    let session = a.session_id();
    // The server's clock stands still, so the session survives any silence, if it is over in time: when it begins, the server
    // has just been heard of, and half of the lease is used up.
    server.freeze_clock();
    eventually("less than half is left", || a.lease_remaining() < timeout / 2).await;
    server.pause();
    eventually("the holder is not certain any more", || !held.is_held()).await;
    server.resume();
    eventually("the client is back", || a.state() == State::Connected).await;
    assert_eq!(a.session_id(), session, "the session survived");
    assert!(!held.is_held(), "loss is sticky");
    assert_eq!(held.verify().await.expect_err("lost").kind(), ErrorKind::NotHeld);
    eventually("its node goes", || nodes_under(&server, PATH).is_empty()).await;
    server.thaw_clock();
    let next = held_by(&b).await;
    assert!(next.fencing_token() > held.fencing_token());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_waiter_whose_session_expires_queues_on_the_new_one() {
    let server = server();
    let (a, b) = (client(&server).await, client(&server).await);
    let held = held_by(&a).await;
    let lock = lock_of(&b, PATH);
    let waiter = tokio::spawn(async move { lock.acquire_timeout(SOON).await });
    eventually("it waits", || server.watch_count() == 2).await;
    server.expire(b.session_id());
    eventually("it queues again", || nodes_under(&server, PATH).len() == 2).await;
    held.release().await.expect("released");
    assert!(soon("the turn", waiter).await.expect("joined").expect("the lock").is_held());
}

#[tokio::test(flavor = "multi_thread")]
async fn one_deadline_holds_across_wake_ups_and_expiries() {
    let server = server();
    let (a, b) = (client(&server).await, client(&server).await);
    let held = held_by(&a).await;
    let lock = lock_of(&b, PATH);
    let started = Instant::now();
    let limit = Duration::from_millis(2500);
    let waiter = tokio::spawn(async move { lock.acquire_timeout(limit).await });
    for _ in 0..3 {
        eventually("it waits", || nodes_under(&server, PATH).len() == 2).await;
        let session = b.session_id();
        server.expire(session);
        eventually("it has a new session", || b.session_id() != session).await;
    }
    let error = soon("the timeout", waiter).await.expect("joined").map(drop).expect_err("it is held");
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(started.elapsed() < 2 * limit, "the deadline did not restart: {:?}", started.elapsed());
    assert!(held.is_held());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_heartbeat_notices_a_deletion_that_nobody_watches() {
    let server = server();
    let (a, b) = (client_with(&server, Duration::from_secs(2)).await, client(&server).await);
    let held = held_by(&a).await;
    assert_eq!(server.watch_count(), 0);
    b.nodes().delete(held.node(), None).await.expect("deleted");
    eventually("the heartbeat finds out", || !held.is_held()).await;
}

/// Whatever is written keeps the lease, and only the heartbeat looks at what is held.
#[tokio::test(flavor = "multi_thread")]
async fn a_heartbeat_notices_a_deletion_also_in_a_session_that_writes_all_the_time() {
    let server = server();
    let (a, b) = (client_with(&server, Duration::from_secs(2)).await, client(&server).await);
    let held = held_by(&a).await;
    a.nodes().ensure("/record").await.expect("there");
    b.nodes().delete(held.node(), None).await.expect("deleted");
    let until = Instant::now() + SOON;
    while held.is_held() {
        assert!(Instant::now() < until, "nobody looks at it");
        a.nodes().set("/record", b"", None).await.expect("written");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_own_release_is_no_loss() {
    let server = server();
    let client = client(&server).await;
    let held = held_by(&client).await;
    let losses = told(&held);
    held.release().await.expect("released");
    client.close(Some(SOON)).await.expect("closed");
    assert!(losses.recv_timeout(Duration::from_millis(200)).is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_under_a_holder_is_told_as_closed() {
    let server = server();
    let client = client(&server).await;
    let held = held_by(&client).await;
    let losses = told(&held);
    client.close(Some(SOON)).await.expect("closed");
    let lost = losses.recv_timeout(SOON).expect("told");
    assert_eq!(lost.reason(), Some(LostReason::Closed));
    // There is nothing to do: closing is a way of releasing.
    let said = lost.to_string();
    assert!(said.contains("gave back what it held"), "{said}");
    assert!(!["release", "before", "stop", "again"].iter().any(|advice| said.contains(advice)), "{said}");
    assert_eq!(held.release().await.expect_err("closed").kind(), ErrorKind::Closed);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_callback_may_use_the_lock_and_a_blocking_verb_in_it_is_a_deadlock_error() {
    let server = server();
    let client =
        zkrecipes::blocking::Client::connect(&server.connect_string(), options(Duration::from_secs(10)));
    let client = client.expect("connected");
    let lock = client.lock(PATH, Default::default()).expect("valid");
    let held = lock.acquire().expect("free");
    let (sender, answers) = channel();
    held.on_lost({
        let lock = lock.clone();
        move |_| {
            let _ = sender.send((lock.is_held(), lock.release().map_err(|error| error.kind())));
        }
    });
    eventually("our own node is watched", || server.watch_count() == 1).await;
    client.nodes().delete(held.node(), None).expect("deleted");
    let (is_held, release) = answers.recv_timeout(SOON).expect("called");
    assert!(!is_held);
    assert_eq!(release, Err(ErrorKind::Deadlock));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_panicking_callback_stops_nothing() {
    let server = server();
    let (a, b) = (client(&server).await, client(&server).await);
    let held = held_by(&a).await;
    held.on_lost(|_| panic!("a user's mistake"));
    let losses = told(&held);
    eventually("our own node is watched", || server.watch_count() == 1).await;
    b.nodes().delete(held.node(), None).await.expect("deleted");
    losses.recv_timeout(SOON).expect("the next callback is called all the same");
}

#[tokio::test(flavor = "multi_thread")]
async fn relaxed_leases_sync_instead_of_writing() {
    let server = server();
    let options = options(Duration::from_secs(4)).lease(LeaseMode::Relaxed);
    let client = Client::connect(&server.connect_string(), options).await.expect("connected");
    let held = held_by(&client).await;
    server.clear_log();
    // Time is the subject: long enough for the lease to run out without heartbeats.
    tokio::time::sleep(Duration::from_secs(3)).await;
    // One is due each half second.
    eventually("it syncs", || server.count("sync", "**") >= 4).await;
    assert!(held.is_held());
    assert_eq!(server.count("multi", "**"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_taken_after_a_long_idle_time_is_certain_at_once() {
    let server: Server = server();
    let timeout = Duration::from_secs(16);
    in_time(async || {
        let client = client_with(&server, timeout).await;
        // Time is the subject: the lease of the connect has run out.
        tokio::time::sleep(timeout * 9 / 16).await;
        let before = server.count("sync", "**");
        eventually("it keeps in touch", || server.count("sync", "**") > before).await;
        let started = Instant::now();
        let held = held_by(&client).await;
        let took = started.elapsed();
        assert!(held.is_held());
        assert!(client.lease_remaining() > Duration::ZERO);
        client.close(None).await.expect("closed");
        match took < timeout / 8 * 3 / 4 {
            true => Ok(()),
            false => Err(format!("a heartbeat was waited for, which is not due yet: {took:?}")),
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_of_a_holder_after_a_reconnection_catch_up_first() {
    let server = server();
    // So long that who is idle makes no contact in between.
    let client = client_with(&server, Duration::from_secs(60)).await;
    let held = held_by(&client).await;
    client.nodes().exists("/locks").await.expect("read");
    assert_eq!(server.count("sync", "**"), 0);
    server.drop_connections();
    eventually("the client is back", || client.state() == State::Connected && server.connections() == 1)
        .await;
    client.nodes().exists("/locks").await.expect("read");
    client.nodes().exists("/locks").await.expect("read");
    assert_eq!(server.count("sync", "**"), 1, "once per connection");
    assert!(held.is_held());
}
