//! What queues cost, in requests.

use std::time::{Duration, Instant};

use super::support::access::{NO_DELETION, NO_READING, set_access};
use super::support::{client, eventually, nodes_under, server, soon};
use super::{PATH, asked, asked_by, assert_tidy, queue_of};
use futures_util::future::join_all;
use zkrecipes::{Client, CreateMode, QueueOptions};
use zkrecipes_embedded::{Fault, Server};

/// What was read ahead counts for a tenth of a second. A machine that is too slow for that just now reads some of it again.
const TRIES: usize = 40;
/// For one get of some that are read together: slower than this, nothing is promised.
const SLOW: Duration = Duration::from_millis(10);

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_counted() {
    let count = |all: &[String], op: &str| all.iter().filter(|asked| *asked == op).count();
    let mut tries = 1..=TRIES;
    let (server, take, all, is_slow) = loop {
        // Of a queue that was listed once.
        let server = server();
        let (producer, consumer) = (client(&server).await, client(&server).await);
        let (put, take) = (queue_of(&producer), queue_of(&consumer));
        put.put_many(&["0"; 41]).await.expect("put");
        take.get().await.expect("the first makes the mark");
        server.clear_log();
        put.put(b"1").await.expect("put");
        assert_eq!(asked(&server), ["multi"], "a put is one write");
        server.clear_log();
        let since = Instant::now();
        for _ in 0..30 {
            take.get().await.expect("there are some");
        }
        let (all, is_slow) = (asked(&server), since.elapsed() > 30 * SLOW);
        let is_usual = count(&all, "multi") + count(&all, "multiRead") == all.len();
        if is_usual || tries.next() == Some(TRIES) {
            break (server, take, all, is_slow);
        }
    };
    assert_eq!(count(&all, "multi"), 30, "a get is one write");
    if !is_slow {
        assert!(count(&all, "multiRead") <= 30 / 4 + 1, "and a part of a read: {all:?}");
        assert_eq!(count(&all, "multi") + count(&all, "multiRead"), all.len(), "and nothing else: {all:?}");
    }
    let item = take.claim().await.expect("there are some");
    item.ack().await.expect("ours");
    server.clear_log();
    let item = take.claim().await.expect("there are some");
    item.ack().await.expect("ours");
    let writes = asked(&server).iter().filter(|op| *op == "multi").count();
    assert_eq!(writes, 2, "a claim is one write, an ack is one");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_idle_consumer_asks_nothing() {
    let server = server();
    let (producer, consumer) = (client(&server).await, client(&server).await);
    let queue = queue_of(&consumer);
    for watches in [2, 3] {
        let waiting = tokio::spawn({
            let queue = queue.clone();
            async move { queue.get().await }
        });
        eventually("it waits", || server.watch_count() == watches).await;
        server.clear_log();
        tokio::time::sleep(Duration::from_millis(500)).await;
        // On a slow machine somebody may still have looked why it took so long to connect.
        let asked: Vec<_> = asked(&server).into_iter().filter(|op| op != "connect").collect();
        assert_eq!(asked, Vec::<String>::new());
        queue_of(&producer).put(b"tea").await.expect("put");
        assert_eq!(soon("the get", waiting).await.expect("joined").expect("got"), b"tea");
        eventually("it keeps its place", || server.watch_count() == 2).await;
    }
    drop(queue);
    assert_tidy(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_put_wakes_a_few_of_many_who_wait_and_everybody_gets_something() {
    let server = server();
    let producer = client(&server).await;
    // Else the first put makes the parent as well, and that is news, too.
    queue_of(&producer).put(b"-").await.expect("put");
    queue_of(&producer).get().await.expect("there is one");
    let mut waiting = Vec::new();
    for n in 1..=12usize {
        let client = client(&server).await;
        waiting.push(tokio::spawn(async move {
            let got = queue_of(&client).get().await;
            (client, got)
        }));
        // Two for each in the front of the line, and for everybody else one on each of the four ahead.
        let watches = n.min(4) * 2 + n.saturating_sub(4) * 4;
        eventually("it waits", || server.watch_count() == watches).await;
    }
    let waits = || nodes_under(&server, &format!("{PATH}-__queue__/waiting")).len();
    assert_eq!(waits(), 12);
    server.clear_log();
    queue_of(&producer).put(b"0").await.expect("put");
    eventually("one has it", || waits() == 11).await;
    eventually("another has moved up", || server.watch_count() == 4 * 2 + 7 * 4).await;
    let lists =
        server.log().iter().filter(|entry| entry.op.starts_with("getChildren") && entry.path == PATH).count();
    assert!((4..=13).contains(&lists), "{lists} lists for one put among twelve");
    queue_of(&producer).put_many(&["1"; 11]).await.expect("put");
    let mut clients = Vec::new();
    for waiting in waiting {
        let (client, got) = soon("a get", waiting).await.expect("joined");
        got.expect("got");
        clients.push(client);
    }
    assert_tidy(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn among_eight_consumers_each_item_costs_a_few_requests() {
    const ALL: usize = 400;
    let server = server();
    let producer = client(&server).await;
    let mut consumers = Vec::new();
    for _ in 0..8 {
        consumers.push(client(&server).await);
    }
    let (mut all, mut is_slow) = (usize::MAX, true);
    for _ in 0..TRIES {
        queue_of(&producer).put_many(&vec!["x"; ALL]).await.expect("put");
        server.clear_log();
        let since = Instant::now();
        let takes = consumers.iter().map(|consumer| {
            let take = queue_of(consumer);
            tokio::spawn(async move {
                for _ in 0..ALL / 8 {
                    take.get().await.expect("there are some");
                }
            })
        });
        for take in takes.collect::<Vec<_>>() {
            soon("a consumer", take).await.expect("got");
        }
        is_slow &= since.elapsed() > (ALL / 8) as u32 * SLOW;
        all = asked(&server).len();
        if all < ALL * 2 {
            break;
        }
    }
    assert!(is_slow || all < ALL * 2, "{all} requests for {ALL} items");
}

/// What each of several items costs a consumer that waits for it, once it has waited before. So many watches of it
/// stand while it is busy.
async fn costs(
    server: &Server,
    consumer: &Client,
    busy: usize,
    take: impl AsyncFn(),
    put: impl AsyncFn(),
) -> Vec<Vec<String>> {
    let mut costs = Vec::new();
    for n in 0..5 {
        server.clear_log();
        let putting = async {
            // The items, the claims, and from the second time on the line.
            eventually("it waits", || server.watch_count() == if n == 0 { 2 } else { 3 }).await;
            put().await;
        };
        soon("the item", async { tokio::join!(take(), putting) }).await;
        eventually("it is busy", || server.watch_count() == busy).await;
        let mut asked = asked_by(server, consumer);
        asked.sort();
        costs.push(asked);
    }
    costs.split_off(2)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_that_waits_for_each_item_asks_for_little_more_than_the_item() {
    let server = server();
    let (producer, consumer) = (client(&server).await, client(&server).await);
    let (put, take) = (queue_of(&producer), queue_of(&consumer));
    let got = async || assert_eq!(take.get().await.expect("got"), b"tea");
    let costs = costs(&server, &consumer, 2, got, async || put.put(b"tea").await.expect("put")).await;
    for asked in costs {
        // It looks, and is told when to look again.
        assert_eq!(asked, ["getChildren2", "getChildren2", "getData", "multi"]);
    }
    drop(take);
    assert_tidy(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_that_claims_each_item_as_it_comes_looks_at_the_claims_as_well() {
    let server = server();
    let (producer, consumer) = (client(&server).await, client(&server).await);
    let (put, take) = (queue_of(&producer), queue_of(&consumer));
    let done = async || take.claim().await.expect("claimed").ack().await.expect("ours");
    let costs = costs(&server, &consumer, 1, done, async || put.put(b"tea").await.expect("put")).await;
    for asked in costs {
        let expected =
            ["getChildren2", "getChildren2", "getChildren2", "getData", "multi", "multi"].map(str::to_owned);
        assert_eq!(asked, expected);
    }
    drop(take);
    assert_tidy(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_that_follows_the_newest_order_asks_for_little_more() {
    let server = server();
    let (producer, consumer) = (client(&server).await, client(&server).await);
    let [put, take] = [&producer, &consumer]
        .map(|client| client.priority_queue(PATH, QueueOptions::default()).expect("valid"));
    let got = async || assert_eq!(take.get().await.expect("got"), b"tea");
    let costs = costs(&server, &consumer, 2, got, async || put.put(b"tea", 1).await.expect("put")).await;
    for asked in costs {
        assert_eq!(asked, ["getChildren2", "getChildren2", "getData", "multi", "sync"]);
    }
    for n in 0..20 {
        put.put(n.to_string().as_bytes(), -n).await.expect("put");
    }
    take.get().await.expect("there are some");
    server.clear_log();
    assert_eq!(take.get().await.expect("there are some"), b"18");
    let mut asked = asked_by(&server, &consumer);
    asked.retain(|op| op != "getData");
    asked.sort();
    assert_eq!(asked, ["getChildren2", "multi", "sync"], "and some that is read ahead");
    put.put(b"urgent", -100).await.expect("put");
    assert_eq!(take.get().await.expect("there are some"), b"urgent");
    drop(take);
    assert_tidy(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_busy_keeps_nobody_from_the_front_of_the_line() {
    let server = server();
    let producer = client(&server).await;
    let places = || nodes_under(&server, &format!("{PATH}-__queue__/waiting"));
    let mut busy = Vec::new();
    for n in 1..=4 {
        let client = client(&server).await;
        let queue = queue_of(&client);
        let getting = tokio::spawn(async move { queue.get().await.map(|_| queue) });
        eventually("it waits", || places().len() == n).await;
        busy.push((client, getting));
    }
    queue_of(&producer).put_many(&["work"; 4]).await.expect("put");
    let mut kept = Vec::new();
    for (client, getting) in busy {
        kept.push((client, soon("the work", getting).await.expect("joined").expect("got")));
    }
    let theirs = places();
    assert_eq!(theirs.len(), 4, "they keep their places");
    let since = Instant::now();
    let idle = client(&server).await;
    let getting = tokio::spawn({
        let queue = queue_of(&idle);
        async move { queue.get().await }
    });
    eventually("it has come", || places().iter().any(|place| !theirs.contains(place))).await;
    queue_of(&producer).put(b"more").await.expect("put");
    assert_eq!(soon("the get", getting).await.expect("joined").expect("got"), b"more");
    // They would have given up their places by themselves after five seconds.
    assert!(since.elapsed() < Duration::from_secs(4));
    drop(kept);
    assert_tidy(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_got_nothing_leaves_nothing() {
    let server = server();
    let consumer = client(&server).await;
    let queue = queue_of(&consumer);
    let since = Instant::now();
    queue.get_timeout(Duration::from_millis(50)).await.expect_err("out of time");
    assert_tidy(&server).await;
    assert!(since.elapsed() < Duration::from_secs(4), "and keeps nothing for the next call");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_kept_for_the_next_call_goes_with_the_handle() {
    let server = server();
    let (producer, consumer) = (client(&server).await, client(&server).await);
    let take = queue_of(&consumer);
    let getting = take.get();
    let putting = async {
        eventually("it waits", || server.watch_count() == 2).await;
        queue_of(&producer).put(b"tea").await.expect("put");
    };
    let (got, ()) = tokio::join!(getting, putting);
    got.expect("got");
    let since = Instant::now();
    drop(take);
    let place = format!("{PATH}-__queue__/waiting");
    eventually("the place is given up", || nodes_under(&server, &place).is_empty()).await;
    assert!(since.elapsed() < Duration::from_secs(4), "and not only after the time that a handle keeps it");
    assert_tidy(&server).await;
}

/// As clients leave them that crash, to be collected after so long.
async fn leave_marks(client: &Client, many: u128, needed: u32) {
    let marks = format!("{PATH}-__queue__/marks");
    client.nodes().ensure(&marks).await.expect("made");
    for n in 0..many {
        let node = format!("{marks}/_c_00000000-0000-4000-8000-{n:012x}-change");
        client
            .nodes()
            .create(&node, format!("1 {needed}").as_bytes(), CreateMode::Persistent)
            .await
            .expect("made");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_finds_many_marks_of_others_reads_a_few_of_them() {
    let server = server();
    let (client, other) = (client(&server).await, client(&server).await);
    leave_marks(&other, 200, 60_000).await;
    server.clear_log();
    queue_of(&client).put(b"one").await.expect("put");
    let reads = || {
        server.log().iter().flat_map(|entry| &entry.parts).filter(|(op, _)| op.starts_with("getData")).count()
    };
    eventually("it has looked", || reads() > 0).await;
    // Time is the subject.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    assert!(reads() <= 8, "{}", reads());
}

/// Nobody comes to the queue any more, so nobody else would look.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_does_not_end_the_look_for_marks_that_nobody_needs() {
    let marks = format!("{PATH}-__queue__/marks");
    let mark = format!("{marks}/*");
    for (lost, reads) in [
        (Fault::drop_after("getChildren*").path(&marks), 2),
        (Fault::drop_after("getData").path(&mark).nth(2), 3),
        (Fault::drop_before("delete").path(&format!("{marks}/_c_00000000-*")), 3),
    ] {
        let server = server();
        let (client, other) = (client(&server).await, client(&server).await);
        leave_marks(&other, 1, 100).await;
        let left = nodes_under(&server, &marks).remove(0);
        server.clear_log();
        let fault = server.inject(lost.clone().session(client.session_id()));
        // It looks, and has no mark of its own.
        assert!(queue_of(&client).try_claim().await.expect("looked").is_none());
        eventually("an answer is lost", || server.fault_fired(fault)).await;
        eventually("it is collected", || !nodes_under(&server, &marks).contains(&left)).await;
        let log = server.log();
        let read = log.iter().filter(|entry| entry.op == "getData" && entry.path == left).count();
        assert_eq!(read, reads, "its time does not begin anew: {lost:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn marks_that_nobody_needs_are_collected_also_where_there_are_many() {
    let server = server();
    let client = client(&server).await;
    leave_marks(&client, 20, 100).await;
    queue_of(&client).put(b"one").await.expect("put");
    eventually("they are collected", || {
        !nodes_under(&server, "/queues").iter().any(|node| node.contains("/_c_"))
    })
    .await;
}

/// What nobody can do with a mark.
#[derive(Copy, Clone, Debug)]
enum Flawed {
    Read,
    Understand,
    Delete,
    DeleteWithoutItsChild,
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mark_that_nobody_can_collect_is_not_looked_at_for_ever() {
    let marks = &format!("{PATH}-__queue__/marks");
    // With so many not all are looked at together.
    let flaws = [
        (Flawed::Read, 10, 2),
        (Flawed::Understand, 1, 1),
        (Flawed::Delete, 1, 2),
        (Flawed::DeleteWithoutItsChild, 1, 2),
    ];
    let looked_at = flaws.map(|(flaw, many, looks)| async move {
        let server = server();
        let (client, other) = (client(&server).await, client(&server).await);
        leave_marks(&other, many, 100).await;
        let hosts = server.connect_string();
        for mark in nodes_under(&server, marks) {
            match flaw {
                Flawed::Read => set_access(&hosts, &mark, NO_READING),
                Flawed::Understand => drop(other.nodes().set(&mark, b"?", None).await.expect("set")),
                Flawed::Delete => set_access(&hosts, marks, NO_DELETION),
                Flawed::DeleteWithoutItsChild => {
                    let child = format!("{mark}/child");
                    drop(other.nodes().create(&child, b"", CreateMode::Persistent).await.expect("made"));
                }
            }
        }
        // It looks, and has no mark of its own.
        assert!(queue_of(&client).try_claim().await.expect("looked").is_none());
        let lists = || server.count("getChildren*", marks);
        eventually("it has looked", || lists() >= looks).await;
        // Time is the subject: a look takes place every second, or every other one.
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(lists(), looks, "{flaw:?}");
    });
    join_all(looked_at).await;
}
