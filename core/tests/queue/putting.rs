//! Putting: order, batches, and how many may go in.

use std::time::Duration;

use super::support::{client, client_with, eventually, nodes_under, server, soon};
use super::{
    PATH, asked, assert_tidy, bounded, impatient, multi_is_applied_and_then_nothing_is_heard, queue_of,
};
use zkrecipes::{ErrorKind, QueueOptions, drive};
use zkrecipes_embedded::Fault;

#[tokio::test(flavor = "multi_thread")]
async fn puts_that_do_not_wait_for_each_other_go_together_and_keep_their_order() {
    let server = server();
    let producer = client(&server).await;
    let queue = queue_of(&producer);
    queue.put(b"000").await.expect("put");
    server.clear_log();
    let names: Vec<_> = (1..200).map(|n| format!("{n:03}")).collect();
    let puts = names.iter().map(|name| queue.put(name.as_bytes()));
    for put in futures_util::future::join_all(puts).await {
        put.expect("put");
    }
    let writes = asked(&server).iter().filter(|op| *op == "multi").count();
    assert!(writes <= 8, "{writes} transactions for 199 puts");
    let items = queue.items().await.expect("read");
    assert_eq!(items.len(), 200);
    assert!(items.is_sorted(), "the order of the calls");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_items_go_in_batches_and_an_item_that_no_server_takes_is_refused() {
    let server = server();
    let producer = client(&server).await;
    let queue = queue_of(&producer);
    let large = vec![b'x'; 300_000];
    queue.put_many(&vec![large; 10]).await.expect("3 MB in several transactions");
    assert_eq!(queue.len().await.expect("looked"), 10);
    let too_large = vec![b'x'; 1_048_576];
    let error =
        queue.put_many(&[b"a".to_vec(), b"b".to_vec(), too_large.clone()]).await.expect_err("too large");
    assert_eq!((error.kind(), error.put()), (ErrorKind::TooLarge, Some(0)));
    let error = queue.put(&too_large).await.expect_err("too large");
    assert_eq!((error.kind(), error.put()), (ErrorKind::TooLarge, None));
    assert_eq!(queue.len().await.expect("looked"), 10, "nothing of it was sent");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_that_nobody_could_list_is_refused_long_before() {
    let server = server();
    let producer = client(&server).await;
    let queue = queue_of(&producer);
    let sharded = producer.queue("/queues/sharded", QueueOptions::default().shards(2)).expect("valid");
    for (queue, items) in [(&queue, 60_000), (&sharded, 100_000)] {
        let error = queue.put_many(&vec!["x"; items]).await.expect_err("names of more than 80 % of a packet");
        assert_eq!((error.kind(), error.put()), (ErrorKind::TooLarge, Some(0)));
        for way_out in ["shards", "max_items"] {
            assert!(error.to_string().contains(way_out), "{error}");
        }
        assert_eq!(queue.len().await.expect("looked"), 0, "nothing of it was sent");
    }
    queue.put_many(&vec!["x"; 45_000]).await.expect("so many can be listed");
    let error = loop {
        if let Err(error) = queue.put_many(&["x"; 1000]).await {
            break error;
        }
    };
    assert_eq!((error.kind(), error.put()), (ErrorKind::TooLarge, Some(0)));
    while queue.put(b"x").await.is_ok() {}
    assert_eq!(queue.put(b"x").await.expect_err("still").kind(), ErrorKind::TooLarge);
    assert_eq!(queue.get().await.expect("it can be listed"), b"x");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bound_beyond_what_can_be_listed_is_refused_when_the_handle_is_made() {
    let server = server();
    let client = client(&server).await;
    let of = |most| client.queue(PATH, QueueOptions::default().max_items(most));
    assert!(of(45_000).is_ok());
    let error = of(50_000).expect_err("nobody could list them");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("max_items"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn puts_go_in_the_order_in_which_they_were_called_for() {
    let server = server();
    let client = client(&server).await;
    let queue = queue_of(&client);
    let put = |n: usize| drive::put(&queue, vec![n.to_string().into_bytes()], None);
    let mut called: Vec<_> = (0..8).map(put).collect();
    called.reverse();
    for put in futures_util::future::join_all(called.into_iter().map(tokio::spawn)).await {
        put.expect("joined").expect("put").receive();
    }
    let expected: Vec<_> = (0..8).map(|n: usize| n.to_string().into_bytes()).collect();
    assert_eq!(queue.items().await.expect("read"), expected);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bound_is_kept_also_where_every_version_is_taken_for_the_right_one() {
    let server = server();
    let (late, early) = (client(&server).await, client(&server).await);
    let (puts_late, queue) = (bounded(&late, 1), bounded(&early, 1));
    for queue in [&puts_late, &queue] {
        queue.put(b"").await.expect("put");
        queue.get().await.expect("there is one");
    }
    assert!(server.set_data_version(&format!("{PATH}-__queue__/puts"), -1));
    let slow = Fault::delay_request("multi", Duration::from_secs(2)).session(late.session_id());
    let slow = server.inject(slow);
    let putting = tokio::spawn(async move { puts_late.put(b"late").await });
    eventually("it has counted, and puts", || server.fault_fired(slow)).await;
    queue.put(b"early").await.expect("there is room");
    let line = format!("{PATH}-__queue__/room");
    eventually("the other waits for room", || !nodes_under(&server, &line).is_empty()).await;
    assert_eq!(queue.items().await.expect("read"), [b"early"]);
    queue.get().await.expect("there is one");
    soon("the put", putting).await.expect("joined").expect("there is room");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bound_is_never_passed_and_who_waits_for_room_asks_nothing() {
    let server = server();
    let path = "/queues/bounded";
    let options = || QueueOptions::default().max_items(5);
    let consumer = client(&server).await;
    let take = consumer.queue(path, options()).expect("valid");
    let mut producers = Vec::new();
    for n in 0..4 {
        let client = client(&server).await;
        producers.push(tokio::spawn(async move {
            let queue = client.queue(path, options()).expect("valid");
            let items: Vec<_> = (0..10).map(|k| format!("{n}-{k}")).collect();
            queue.put_many(&items).await.expect("put");
            client
        }));
    }
    eventually("it is full", || nodes_under(&server, path).len() == 5).await;
    eventually("they wait", || server.watch_count() >= 4).await;
    // What the watches told first is looked at once more.
    let mut quiet = 0;
    eventually("they ask nothing", || {
        quiet = if asked(&server).is_empty() { quiet + 1 } else { 0 };
        server.clear_log();
        std::thread::sleep(Duration::from_millis(20));
        quiet > 10
    })
    .await;
    for _ in 0..40 {
        assert!(take.len().await.expect("looked") <= 5);
        soon("the get", take.get()).await.expect("got");
    }
    for producer in producers {
        soon("a producer", producer).await.expect("joined");
    }
    assert_eq!(take.len().await.expect("looked"), 0);
    take.put_many(&["a"; 5]).await.expect("room");
    let error = take.put_timeout(b"b", Duration::ZERO).await.expect_err("full");
    assert_eq!(error.kind(), ErrorKind::Timeout);
    let error = take.put_many_timeout(&["b", "c"], Duration::from_millis(50)).await.expect_err("full");
    assert_eq!((error.kind(), error.put()), (ErrorKind::Timeout, Some(0)));
    take.get().await.expect("got");
    let error = take.put_many_timeout(&["b", "c"], Duration::from_secs(2)).await.expect_err("full");
    assert_eq!((error.kind(), error.put()), (ErrorKind::Timeout, Some(1)));
    assert_eq!(take.len().await.expect("looked"), 5);
    assert_tidy(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_runs_out_of_time_between_two_transactions_hears_what_the_first_ones_put() {
    let server = server();
    // The last answer comes later than is waited for it, half a second more than the limit; the session bears such silence.
    let client = client_with(&server, Duration::from_secs(60)).await;
    let queue = queue_of(&client);
    queue.put(b"before").await.expect("put");
    let slow = server.inject(Fault::delay_reply("multi", Duration::from_secs(3)).nth(4));
    let items = vec!["item"; 1000];
    let error = queue.put_many_timeout(&items, Duration::from_millis(1500)).await.expect_err("no time");
    assert!(server.fault_fired(slow));
    assert_eq!((error.kind(), error.put()), (ErrorKind::ConnectionLost, Some(750)), "{error}");
    assert_eq!(queue.len().await.expect("looked"), 1001, "the last were on their way");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_put_that_fails_takes_none_along_that_was_not_sent() {
    let server = server();
    let (producer, consumer) = (impatient(&server).await, client(&server).await);
    let (queue, take) = (bounded(&producer, 1), queue_of(&consumer));
    queue.put(b"zero").await.expect("room");
    let [first, second] = [b"one", b"two"].map(|data| {
        let queue = queue.clone();
        tokio::spawn(async move { queue.put(data).await })
    });
    eventually("they wait", || server.watch_count() > 0).await;
    multi_is_applied_and_then_nothing_is_heard(&server, &producer);
    assert_eq!(take.get().await.expect("there is one"), b"zero");
    let (failed, other) = match futures_util::future::select(first, second).await {
        futures_util::future::Either::Left((failed, other))
        | futures_util::future::Either::Right((failed, other)) => (failed, other),
    };
    server.clear_faults();
    assert_eq!(failed.expect("joined").expect_err("nobody knows").kind(), ErrorKind::ConnectionLost);
    take.get().await.expect("it was applied");
    soon("the other put", other).await.expect("joined").expect("room");
    take.get().await.expect("there is one");
    assert_eq!(take.len().await.expect("looked"), 0);
}
