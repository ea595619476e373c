//! Puts that were sent when their time was over, or when nobody wanted them any more: nobody hears Timeout or Cancelled of what
//! may still go in.

use std::time::Duration;

use super::support::lateness::in_time;
use super::support::{client, connected, eventually, options, server, soon};
use super::{Any, Kind, PATH, bounded, multi_is_applied_and_then_nothing_is_heard, queue_of};
use futures_util::future::join_all;
use zkrecipes::{Client, Error, ErrorKind, QueueOptions, RetryOptions};
use zkrecipes_embedded::{Fault, Server};

/// In it a put leaves for certain. For the answer to what was sent half a second more is waited.
const LIMIT: Duration = Duration::from_secs(2);
/// Shorter than that, and much longer.
const A_LITTLE_LATE: Duration = Duration::from_millis(2030);
const MUCH_LATE: Duration = Duration::from_millis(3500);
/// What there is time for where all goes well.
const AMPLE: Duration = Duration::from_secs(10);
/// For so long a put that is to be dropped is on its way.
const A_WHILE: Duration = Duration::from_secs(2);

impl Any {
    fn all(client: &Client) -> [Any; 5] {
        let bounded = QueueOptions::default().max_items(100);
        [
            Any::of(Kind::Plain, client, &format!("{PATH}-plain")),
            Any::Plain(client.queue(&format!("{PATH}-bounded"), bounded).expect("valid")),
            Any::of(Kind::Shards, client, &format!("{PATH}-shards")),
            Any::of(Kind::Priority, client, &format!("{PATH}-priority")),
            Any::of(Kind::Delay, client, &format!("{PATH}-delay")),
        ]
    }

    async fn put(&self, limit: Duration) -> Result<(), Error> {
        self.put_within("item", limit).await
    }

    async fn len(&self) -> usize {
        self.backlog().len().await.expect("looked")
    }

    /// So that the parents are there, and the next put is one transaction.
    async fn ready(&self) -> usize {
        // Into each shard.
        for _ in 0..2 {
            self.put(AMPLE).await.expect("put");
        }
        self.len().await
    }
}

/// All of them, each with a client of its own: so all can be late at the same time. They bear long silence.
async fn each(server: &Server) -> Vec<(Client, Any)> {
    let mut each = Vec::new();
    for n in 0..5 {
        let retry = RetryOptions::default().base(Duration::from_millis(10)).max(Duration::from_millis(50));
        let client = connected(server, options(Duration::from_secs(60)).retry(retry)).await;
        let queue = Any::all(&client).into_iter().nth(n).expect("there are five");
        each.push((client, queue));
    }
    each
}

/// What makes one transaction late.
fn late(server: &Server, client: &Client, is_reply: bool, by: Duration) -> zkrecipes_embedded::FaultId {
    let fault = if is_reply { Fault::delay_reply("multi", by) } else { Fault::delay_request("multi", by) };
    server.inject(fault.session(client.session_id()))
}

/// It may go in, as was told, and does.
async fn went_in(seen: &Any, len: usize) {
    let until_there = async {
        while seen.len().await != len {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    soon("it goes in", until_there).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_put_whose_answer_comes_a_little_late_is_in_and_one_whose_answer_does_not_come_is_unknown() {
    for is_reply in [true, false] {
        let server = &server();
        let (each, other) = (each(server).await, client(server).await);
        // All at the same time, as it takes long.
        let puts = each.iter().zip(Any::all(&other)).map(|((producer, queue), seen)| async move {
            queue.ready().await;
            let (queue, seen) = (&queue, &seen);
            in_time(async || {
                let before = seen.len().await;
                let fault = late(server, producer, is_reply, A_LITTLE_LATE);
                let put = queue.put(LIMIT).await;
                assert!(server.fault_fired(fault));
                if put.is_err() {
                    went_in(seen, before + 1).await;
                }
                assert_eq!(seen.len().await, before + 1);
                put.map_err(|error| format!("it is in: {error}"))
            })
            .await;
            in_time(async || {
                let before = seen.len().await;
                let fault = late(server, producer, is_reply, MUCH_LATE);
                let put = queue.put(LIMIT).await;
                assert!(server.fault_fired(fault));
                went_in(seen, before + 1).await;
                let error = put.err().ok_or("nobody knows")?;
                assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{error}");
                assert!(error.to_string().contains("cannot be known"), "{error}");
                Ok(())
            })
            .await;
        });
        join_all(puts).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_put_whose_answer_is_lost_is_found_within_its_time_or_unknown() {
    let server = server();
    let (each, other) = (each(&server).await, client(&server).await);
    let mut seen = Vec::new();
    for ((producer, queue), sees) in each.iter().zip(Any::all(&other)) {
        let before = queue.ready().await;
        server.inject(Fault::drop_after("multi").session(producer.session_id()));
        soon("a put", queue.put(AMPLE)).await.expect("found");
        assert_eq!(sees.len().await, before + 1);
        seen.push((sees, before));
    }
    each.iter().for_each(|(producer, _)| multi_is_applied_and_then_nothing_is_heard(&server, producer));
    for put in join_all(each.iter().map(|(_, queue)| queue.put(LIMIT))).await {
        let error = put.expect_err("nobody knows");
        assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{error}");
    }
    server.clear_faults();
    for ((producer, _), (sees, before)) in each.iter().zip(seen) {
        eventually("it is connected again", || producer.state() == zkrecipes::State::Connected).await;
        assert_eq!(sees.len().await, before + 2);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_put_that_was_not_sent_runs_out_of_time_and_never_goes_in() {
    let server = server();
    let (each, other) = (each(&server).await, client(&server).await);
    for ((producer, queue), seen) in each.iter().zip(Any::all(&other)) {
        let before = queue.ready().await;
        server.inject(Fault::refuse_connections(1).forever());
        server.drop_connections();
        eventually("it is cut off", || producer.state() == zkrecipes::State::Suspended).await;
        // However long that is, nothing leaves.
        let error = queue.put(Duration::from_millis(150)).await.expect_err("no server");
        assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
        server.clear_faults();
        // What comes behind it goes in.
        soon("a put", queue.put(AMPLE)).await.expect("put");
        assert_eq!(seen.len().await, before + 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_put_that_is_cancelled_on_its_way_is_told() {
    let server = server();
    let producer = client(&server).await;
    let queue = queue_of(&producer);
    queue.put(b"first").await.expect("put");
    let mut put = 1;
    // Half a second is waited for the answer.
    for (by, is_known) in [(100, true), (2000, false)] {
        in_time(async || {
            let fault = late(&server, &producer, true, Duration::from_millis(by));
            let putting = tokio::spawn({
                let queue = queue.clone();
                async move { queue.put(b"item").await }
            });
            eventually("it was sent", || server.fault_fired(fault)).await;
            queue.cancel();
            put += 1;
            match (is_known, soon("the put", putting).await.expect("joined")) {
                (true, Ok(())) => Ok(()),
                (false, Err(error)) if error.kind() == ErrorKind::ConnectionLost => Ok(()),
                (_, outcome) => Err(format!("answered after {by} ms: {outcome:?}")),
            }
        })
        .await;
    }
    assert_eq!(queue.len().await.expect("looked"), put);
    let full = bounded(&producer, put);
    let putting = tokio::spawn({
        let full = full.clone();
        async move { full.put(b"item").await }
    });
    eventually("it waits", || server.watch_count() > 0).await;
    full.cancel();
    let error = soon("the put", putting).await.expect("joined").expect_err("cancelled");
    assert_eq!(error.kind(), ErrorKind::Cancelled, "nothing was sent");
    queue.get().await.expect("there are some");
    assert_eq!(queue.len().await.expect("looked"), put - 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_put_that_is_dropped_on_its_way_is_taken_back_unless_somebody_has_it() {
    let server = server();
    let (producer, consumer) = (client(&server).await, client(&server).await);
    let (each, mut all) = (each(&server).await, Vec::new());
    for (producer, queue) in &each {
        let before = queue.ready().await;
        let fault = late(&server, producer, true, A_WHILE);
        let put = queue.clone();
        let putting = tokio::spawn(async move { put.put(AMPLE).await });
        eventually("it was sent", || server.fault_fired(fault)).await;
        putting.abort();
        all.push((queue, before));
    }
    // What somebody works on stays theirs.
    let queue = producer.queue("/queues/taken", QueueOptions::default()).expect("valid");
    let theirs = consumer.queue("/queues/taken", QueueOptions::default()).expect("valid");
    queue.put(b"first").await.expect("put");
    theirs.get().await.expect("there is one");
    let fault = late(&server, &producer, true, A_WHILE);
    let putting = tokio::spawn({
        let queue = queue.clone();
        async move { queue.put(b"second").await }
    });
    eventually("it was sent", || server.fault_fired(fault)).await;
    putting.abort();
    let item = soon("the claim", theirs.claim()).await.expect("it is in");
    soon("the close", producer.close(None)).await.expect("closed");
    item.ack().await.expect("ours");
    for (at, (queue, before)) in all.into_iter().enumerate() {
        let taken_back = async {
            while queue.len().await != before {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        soon(&format!("queue {at} as it was"), taken_back).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_that_are_dropped_on_their_way_are_taken_back_all_of_them() {
    let server = &server();
    let dropped = [1, 2].map(|shards| async move {
        let (producer, other) = (client(server).await, client(server).await);
        let options = || QueueOptions::default().shards(shards);
        let path = format!("{PATH}-{shards}");
        let queue = producer.queue(&path, options()).expect("valid");
        // So that there are marks.
        queue.put_many(&["first"; 251]).await.expect("put");
        let fault = server.inject(Fault::delay_reply("multi", A_WHILE).session(producer.session_id()).nth(4));
        let putting = tokio::spawn({
            let queue = queue.clone();
            async move { queue.put_many(&["item"; 3000]).await }
        });
        eventually("some were sent", || server.fault_fired(fault)).await;
        putting.abort();
        let seen = other.queue(&path, options()).expect("valid");
        let all_gone = async {
            while seen.len().await.expect("looked") != 251 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        soon("all are taken back", all_gone).await;
    });
    join_all(dropped).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_that_are_dropped_while_they_wait_for_room_are_taken_back_all_of_them() {
    let server = &server();
    let (producer, other) = (client(server).await, client(server).await);
    let options = QueueOptions::default().max_items(5);
    let queue = producer.queue(PATH, options.clone()).expect("valid");
    let seen = other.queue(PATH, options).expect("valid");
    let putting = tokio::spawn(async move { queue.put_many(&["item"; 20]).await });
    let is = async |length| {
        while seen.len().await.expect("looked") != length {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    soon("the queue is full", is(5)).await;
    putting.abort();
    soon("all are taken back", is(0)).await;
}
