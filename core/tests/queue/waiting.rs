//! Waiting for items and for room, and who may not.

use std::time::Duration;

use super::support::ground::grounds;
use super::support::{SOON, client, eventually, server, soon};
use super::{BUDGET, PATH, TEN, assert_tidy, bounded, impatient, queue_of};
use zkrecipes::{Client, ErrorKind};
use zkrecipes_embedded::{Fault, LogEntry};

#[tokio::test(flavor = "multi_thread")]
async fn who_waited_for_room_for_longer_than_a_server_may_be_silent_still_puts() {
    let server = server();
    let (producer, consumer) = (impatient(&server).await, client(&server).await);
    let queue = bounded(&producer, 1);
    queue.put(b"one").await.expect("room");
    let putting = tokio::spawn(async move { queue.put(b"two").await });
    eventually("it waits", || server.watch_count() > 0).await;
    // Time is the subject.
    tokio::time::sleep(BUDGET + Duration::from_millis(300)).await;
    assert_eq!(queue_of(&consumer).get().await.expect("there is one"), b"one");
    soon("the put", putting).await.expect("joined").expect("there was room");
    assert_eq!(queue_of(&consumer).get().await.expect("there is one"), b"two");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_cannot_wait_does_not_wait_behind_one_who_can() {
    let server = server();
    let (client, other) = (client(&server).await, client(&server).await);
    let queue = queue_of(&client);
    let getting = tokio::spawn({
        let queue = queue.clone();
        async move { queue.get().await }
    });
    eventually("it waits", || server.watch_count() == 2).await;
    assert_eq!(soon("an attempt", queue.try_get()).await.expect("asked"), None);
    assert!(soon("an attempt", queue.try_claim()).await.expect("asked").is_none());
    queue_of(&other).put(b"tea").await.expect("put");
    assert_eq!(soon("the get", getting).await.expect("joined").expect("got"), b"tea");
    assert_tidy(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_put_that_waits_for_room_holds_up_only_those_who_wait_for_the_same() {
    let server = server();
    let client = client(&server).await;
    let queue = bounded(&client, 1);
    queue.put(b"one").await.expect("room");
    let putting = tokio::spawn({
        let queue = queue.clone();
        async move { queue.put(b"two").await }
    });
    eventually("it waits", || server.watch_count() > 0).await;
    let error = soon("an attempt", queue.put_timeout(b"three", Duration::ZERO)).await.expect_err("full");
    assert_eq!(error.kind(), ErrorKind::Timeout);
    soon("a larger bound", bounded(&client, 3).put(b"four")).await.expect("room");
    soon("no bound", queue_of(&client).put(b"five")).await.expect("room");
    for expected in ["one", "four", "five", "two"] {
        assert_eq!(soon("a get", queue.get()).await.expect("there are some"), expected.as_bytes());
    }
    soon("the put", putting).await.expect("joined").expect("room");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_put_that_is_withdrawn_while_it_counts_leaves_the_line() {
    let server = server();
    let (producer, consumer) = (client(&server).await, client(&server).await);
    let queue = bounded(&producer, 1);
    queue.put(b"one").await.expect("room");
    // The handle stays: what it has for its waits goes with it.
    let putting = tokio::spawn({
        let queue = queue.clone();
        async move { queue.put(b"two").await }
    });
    let has_counted = || {
        let log = server.log();
        let watches = log.iter().position(|entry| entry.op == "addWatch");
        let counts = |entry: &LogEntry| entry.op == "exists" && entry.path.ends_with("/puts");
        watches.is_some_and(|at| log[at..].iter().any(counts))
    };
    eventually("it waits", has_counted).await;
    let counts =
        Fault::delay_reply("exists", Duration::from_millis(200)).path(&format!("{PATH}-__queue__/puts"));
    let counts = server.inject(counts.session(producer.session_id()));
    assert_eq!(queue_of(&consumer).get().await.expect("there is one"), b"one");
    eventually("it counts", || server.fault_fired(counts)).await;
    putting.abort();
    eventually("nobody listens", || server.watch_count() == 0).await;
    drop(queue);
    assert_tidy(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_comes_to_the_front_of_the_line_is_told() {
    let server = server();
    let mut waiting = Vec::new();
    for n in 1..=6usize {
        let client = client(&server).await;
        let queue = queue_of(&client);
        waiting.push((client, tokio::spawn(async move { queue.get().await })));
        let watches = n.min(4) * 2 + n.saturating_sub(4) * 4;
        eventually("it waits", || server.watch_count() == watches).await;
    }
    for (client, getting) in waiting.drain(1..4) {
        soon("closing", client.close(None)).await.expect("closed");
        soon("the get", getting).await.expect("joined").expect_err("closed");
    }
    eventually("the three that are left watch the items", || server.watch_count() == 3 * 2).await;
    for (client, getting) in waiting {
        soon("closing", client.close(None)).await.expect("closed");
        soon("the get", getting).await.expect("joined").expect_err("closed");
    }
    assert_tidy(&server).await;
}

/// Only those in the front of the line are told of items, and these are not polled any more.
#[tokio::test(flavor = "multi_thread")]
async fn who_waits_behind_those_who_do_not_look_gets_what_comes() {
    let server = server();
    let mut front = Vec::new();
    for n in 1..=4 {
        let client = client(&server).await;
        let queue = queue_of(&client);
        let mut kept = Box::pin(async move { queue.get().await });
        tokio::select! {
            biased;
            _ = &mut kept => panic!("there is nothing"),
            () = eventually("it waits", || server.watch_count() == 2 * n) => {}
        }
        front.push((client, kept));
    }
    let (last, producer) = (client(&server).await, client(&server).await);
    let queue = queue_of(&last);
    let getting = tokio::spawn(async move { queue.get().await });
    eventually("it waits behind them", || server.watch_count() == 2 * 4 + 4).await;
    queue_of(&producer).put(b"tea").await.expect("put");
    let got = tokio::time::timeout(2 * SOON, getting).await.expect("it looks").expect("joined");
    assert_eq!(got.expect("got"), b"tea");
    drop(front);
    assert_tidy(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn producers_that_began_together_do_not_fill_a_queue_beyond_what_can_be_listed() {
    let server = server();
    let mut producers = Vec::new();
    for _ in 0..14 {
        let client = client(&server).await;
        let queue = queue_of(&client);
        queue.put(b"x").await.expect("room, and a look at it");
        producers.push((client, queue));
    }
    producers[0].1.put_many(&vec!["x"; 45_000]).await.expect("they can be listed");
    while producers[0].1.put_many(&vec!["x"; 100]).await.is_ok() {}
    for (_, queue) in &producers {
        let mut put = 0;
        let error = loop {
            match queue.put(b"x").await {
                Ok(()) => put += 1,
                Err(error) => break error,
            }
        };
        assert!(put <= 250, "{put}: what was looked at long ago");
        assert_eq!(error.kind(), ErrorKind::TooLarge);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removal_from_a_full_queue_costs_the_same_however_many_wait_for_room() {
    const MOST: usize = 40;
    for ground in grounds() {
        let consumer = ground.client(TEN).await;
        let take = bounded(&consumer, MOST);
        take.put_many(&vec!["x"; MOST]).await.expect("there is room");
        let mut costs = Vec::new();
        for all in [6, 18] {
            let (mut producers, mut puts) = (Vec::new(), Vec::new());
            for _ in 0..all {
                let client = ground.client(TEN).await;
                let queue = bounded(&client, MOST);
                producers.push(client);
                puts.push(tokio::spawn(async move { queue.put_many(&["x"; 2]).await }));
            }
            let line = format!("{PATH}-__queue__/room");
            let mut waiting = 0;
            while waiting < all {
                waiting = consumer.nodes().children(&line).await.map_or(0, |names| names.len());
            }
            ground.clear_log();
            for _ in 0..2 * all {
                soon("a get", take.get()).await.expect("it is full");
            }
            for put in puts {
                soon("a put", put).await.expect("joined").expect("there is room");
            }
            let sessions: Vec<_> = producers.iter().map(Client::session_id).collect();
            let log = ground.log();
            let asked: Vec<_> = log.iter().filter(|entry| sessions.contains(&entry.session_id)).collect();
            let is_list =
                |entry: &&&LogEntry| entry.op.starts_with("getChildren") && entry.path.ends_with(PATH);
            assert_eq!(asked.iter().filter(is_list).count(), 0, "the items are not listed");
            // Not what keeps the sessions: on a slow machine that is more.
            let is_contact = |entry: &LogEntry| entry.op == "ping" || entry.path == "/";
            costs.push(asked.iter().filter(|entry| !is_contact(entry)).count() / (2 * all));
        }
        // Two each for the four who are told, and what one put costs; on a slow machine more of them try in vain. If all were
        // told, 18 would ask for more than 50.
        assert!(costs.iter().all(|cost| *cost <= 36), "requests for each removal: {costs:?}");
        take.get().await.expect("it is full");
    }
}
