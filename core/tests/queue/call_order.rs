//! The calls of one client that take items: who came first gets the first.

use std::future::Future;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::task::JoinHandle;

use super::support::{client, eventually, server, soon};
use super::{Any, Kind, TEN, asked_by, assert_tidy};
use zkrecipes::{Backlog, Client, Error, Queue};
use zkrecipes_embedded::Fault;

const ITEMS: [&str; 8] = ["0", "1", "2", "3", "4", "5", "6", "7"];
const ROUNDS: usize = 20;

/// Begins them one after the other: each is polled once before the next one is. Then each goes on by itself.
fn begun<T: Send + 'static>(
    calls: impl IntoIterator<Item = impl Future<Output = T> + Send + 'static>,
) -> Vec<JoinHandle<T>> {
    calls.into_iter().map(begin).collect()
}

fn begin<T: Send + 'static>(call: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
    let mut call = Box::pin(call);
    let done = call.as_mut().now_or_never();
    tokio::spawn(async move {
        match done {
            Some(done) => done,
            None => call.await,
        }
    })
}

async fn all<T>(calls: Vec<JoinHandle<Result<T, Error>>>) -> Vec<T> {
    let mut came = Vec::new();
    for call in calls {
        came.push(soon("an item", call).await.expect("no panic").expect("an item"));
    }
    came
}

async fn got(queue: Backlog) -> Result<Vec<u8>, Error> {
    queue.get().await
}

fn backlog(queue: Queue) -> Backlog {
    (*queue).clone()
}

async fn claimed(queue: Queue) -> Result<Vec<u8>, Error> {
    let item = queue.claim().await?;
    item.ack().await?;
    Ok(item.data().to_vec())
}

/// A queue for each round, and a handle of it for each call.
fn queue_of_round(client: &Client, what: &str, round: usize) -> Queue {
    client.queue(&format!("/queues/{what}-{round}"), Default::default()).expect("valid")
}

#[tokio::test(flavor = "multi_thread")]
async fn who_comes_first_gets_the_first_of_those_that_are_there() {
    let server = server();
    let (producer, consumer) = (client(&server).await, client(&server).await);
    for round in 0..ROUNDS {
        let [gets, claims] = ["gets", "claims"].map(|what| queue_of_round(&producer, what, round));
        gets.put_many(&ITEMS).await.expect("put");
        let got = all(begun(ITEMS.map(|_| got(backlog(queue_of_round(&consumer, "gets", round)))))).await;
        assert_eq!(got, ITEMS.map(str::as_bytes), "round {round}");
        claims.put_many(&ITEMS).await.expect("put");
        let got = all(begun(ITEMS.map(|_| claimed(queue_of_round(&consumer, "claims", round))))).await;
        assert_eq!(got, ITEMS.map(str::as_bytes), "round {round}");
    }
    assert_tidy(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_first_gets_the_first_that_comes() {
    let server = server();
    let (producer, consumer) = (client(&server).await, client(&server).await);
    for round in 0..ROUNDS {
        let queue = queue_of_round(&producer, "waits", round);
        let mut calls = begun(ITEMS.map(|_| got(backlog(queue_of_round(&consumer, "waits", round)))));
        // Those that are dropped are in nobody's way.
        calls.extend(begun(ITEMS.map(|_| got(backlog(queue_of_round(&consumer, "waits", round))))));
        eventually("one watches for all", || server.watch_count() >= 2).await;
        for gone in calls.drain(..ITEMS.len()) {
            gone.abort();
            assert!(gone.await.is_err_and(|error| error.is_cancelled()));
        }
        queue.put_many(&ITEMS).await.expect("put");
        assert_eq!(all(calls).await, ITEMS.map(str::as_bytes), "round {round}");
    }
    assert_tidy(&server).await;
}

fn any(kind: Kind, client: &Client, path: &str) -> Backlog {
    Any::of(kind, client, path).backlog().clone()
}

async fn put(kind: Kind, client: &Client, path: &str, item: &str) {
    Any::of(kind, client, path).put_within(item, TEN).await.expect("put");
}

/// Thirty rounds at a path of its own each, or all at the same one.
async fn waiters_are_served_in_their_order(kind: Kind, is_fresh: bool) {
    let server = server();
    let (producer, consumer) = (client(&server).await, client(&server).await);
    for round in 0..30 {
        let path = format!("/queues/one-by-one-{}", if is_fresh { round } else { 0 });
        let calls = begun(ITEMS.map(|_| got(any(kind, &consumer, &path))));
        if round % 2 == 0 {
            eventually("one watches for all", || server.watch_count() >= 2).await;
        }
        for item in ITEMS {
            put(kind, &producer, &path, item).await;
        }
        let got: Vec<_> =
            all(calls).await.into_iter().map(|item| String::from_utf8_lossy(&item).into_owned()).collect();
        assert_eq!(got, ITEMS, "{kind:?}, fresh: {is_fresh}, round {round}");
    }
    assert_tidy(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_first_gets_what_comes_first_one_by_one() {
    for is_fresh in [true, false] {
        waiters_are_served_in_their_order(Kind::Plain, is_fresh).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_first_gets_what_comes_first_whatever_the_order_of_the_items() {
    for is_fresh in [true, false] {
        waiters_are_served_in_their_order(Kind::Priority, is_fresh).await;
        waiters_are_served_in_their_order(Kind::Delay, is_fresh).await;
    }
}

/// Acknowledging an item changes what is listed while the next one comes.
#[tokio::test(flavor = "multi_thread")]
async fn who_waits_first_gets_what_comes_first_also_where_some_claim() {
    let server = server();
    let (producer, consumer) = (client(&server).await, client(&server).await);
    for round in 0..100 {
        let queue = || queue_of_round(&consumer, "claims", round % 2);
        let calls = (0..ITEMS.len()).map(|at| match at % 2 {
            0 => claimed(queue()).boxed(),
            _ => got(backlog(queue())).boxed(),
        });
        let calls = begun(calls);
        for item in ITEMS {
            put(Kind::Plain, &producer, queue().path(), item).await;
        }
        assert_eq!(all(calls).await, ITEMS.map(str::as_bytes), "round {round}");
    }
    assert_tidy(&server).await;
}

/// They look at the same time.
#[tokio::test(flavor = "multi_thread")]
async fn who_comes_first_gets_the_most_urgent_of_those_that_are_there() {
    let server = server();
    let (producer, consumer) = (client(&server).await, client(&server).await);
    for round in 0..ROUNDS {
        for kind in [Kind::Priority, Kind::Delay] {
            let path = format!("/queues/urgent-{kind:?}-{round}");
            for item in ITEMS {
                put(kind, &producer, &path, item).await;
            }
            let got = all(begun(ITEMS.map(|_| got(any(kind, &consumer, &path))))).await;
            assert_eq!(got, ITEMS.map(str::as_bytes), "{kind:?}, round {round}");
        }
    }
    assert_tidy(&server).await;
}

/// A call that was polled once is handed what comes, whether anybody polls it again or not. When it goes that is the next one's.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_handed_to_who_goes_is_the_next_ones() {
    let server = server();
    let (producer, consumer) = (client(&server).await, client(&server).await);
    for round in 0..ROUNDS {
        let queue = queue_of_round(&producer, "polled-once", round);
        let get = || got(backlog(queue_of_round(&consumer, "polled-once", round)));
        // It has the watch, and serves all.
        let ahead = begun([get()]);
        let mut polled_once = Box::pin(get());
        assert!(polled_once.as_mut().now_or_never().is_none());
        let behind = begun([get()]);
        eventually("one watches for all", || server.watch_count() >= 2).await;
        queue.put_many(&ITEMS[..2]).await.expect("put");
        assert_eq!(all(ahead).await, [b"0"]);
        drop(polled_once);
        assert_eq!(all(behind).await, [b"1"], "round {round}");
    }
    assert_tidy(&server).await;
}

/// Its caller has gone on to something else: after the first poll, or when it has the watch.
#[tokio::test(flavor = "multi_thread")]
async fn a_get_that_nobody_polls_holds_up_no_other() {
    for (kind, has_watch) in [(Kind::Plain, false), (Kind::Plain, true), (Kind::Priority, false)] {
        let server = server();
        let (producer, consumer) = (client(&server).await, client(&server).await);
        let path = "/queues/kept";
        let get = || got(any(kind, &consumer, path));
        let mut kept = Box::pin(get());
        assert!(kept.as_mut().now_or_never().is_none());
        if has_watch {
            tokio::select! {
                biased;
                _ = &mut kept => panic!("there is nothing"),
                () = eventually("it watches", || server.watch_count() == 2) => {}
            }
        }
        let others = begun([get(), get()]);
        for item in &ITEMS[..3] {
            put(kind, &producer, path, item).await;
        }
        assert_eq!(all(others).await, [b"1", b"2"], "{kind:?}, {has_watch}");
        assert_eq!(soon("the first", kept).await.expect("an item"), b"0", "{kind:?}, {has_watch}");
        assert_tidy(&server).await;
    }
}

/// It waits for an item to go back that the one before it gave up.
#[tokio::test(flavor = "multi_thread")]
async fn a_get_that_nobody_polls_while_an_item_goes_back_holds_up_no_other() {
    let server = server();
    let consumer = client(&server).await;
    let queue = queue_of_round(&consumer, "goes-back", 0);
    queue.put_many(&ITEMS[..2]).await.expect("put");
    let removal = Fault::delay_reply("multi", Duration::from_millis(300)).path("/queues/**");
    let removal = server.inject(removal.session(consumer.session_id()));
    let gone = begin(got(backlog(queue.clone())));
    eventually("it removes an item", || server.fault_fired(removal)).await;
    gone.abort();
    assert!(gone.await.is_err_and(|error| error.is_cancelled()));
    let mut kept = Box::pin(got(backlog(queue.clone())));
    assert!(kept.as_mut().now_or_never().is_none());
    let mut came = all(begun([got(backlog(queue))])).await;
    came.push(soon("the other", kept).await.expect("an item"));
    came.sort();
    assert_eq!(came, [b"0", b"1"]);
    assert_tidy(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_tries_gets_what_those_before_leave() {
    let server = server();
    let (producer, consumer) = (client(&server).await, client(&server).await);
    for (round, left) in [(0, true), (1, false)] {
        let queue = queue_of_round(&producer, "tries", round);
        queue.put_many(&ITEMS[..1 + usize::from(left)]).await.expect("put");
        let queue = queue_of_round(&consumer, "tries", round);
        server.clear_log();
        let first = begun([got(backlog(queue.clone()))]);
        let tried = soon("an answer", queue.try_get()).await.expect("asked");
        assert_eq!(all(first).await, [b"0"]);
        assert_eq!(tried, left.then(|| b"1".to_vec()));
        let lists = asked_by(&server, &consumer).iter().filter(|op| op.starts_with("getChildren")).count();
        assert!(lists <= 6, "{lists} lists");
    }
    assert_tidy(&server).await;
}
