//! Items and queues whose access lists change. Servers tell nobody of that, so whoever waits looks again after half a minute.

use super::support::access::{ALL, NO_READING, NO_WRITING, set_access};
use super::support::{SOON, client, eventually, server, soon};
use super::{PATH, assert_tidy, bounded, queue_of};
use std::time::Duration;
use zkrecipes::{ErrorKind, Nack};

/// The first item of a queue.
fn first_item() -> String {
    format!("{PATH}/qn-0000000000")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_that_nobody_may_claim_stops_no_claim_and_is_claimed_when_somebody_may() {
    let server = server();
    let client = client(&server).await;
    let queue = queue_of(&client);
    queue.put_many(&["one", "two"]).await.expect("put");
    set_access(&server.connect_string(), &first_item(), NO_WRITING);
    let item = soon("a claim", queue.claim()).await.expect("the next one");
    assert_eq!(item.data(), b"two");
    item.ack().await.expect("ours");
    assert!(queue.try_claim().await.expect("looked").is_none());
    set_access(&server.connect_string(), &first_item(), ALL);
    let item = tokio::time::timeout(2 * SOON, queue.claim()).await.expect("it looks").expect("it may now");
    assert_eq!((item.data(), item.attempts()), (&b"one"[..], 1));
    item.ack().await.expect("ours");
    assert_tidy(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_that_may_be_read_again_is_taken() {
    let server = server();
    let client = client(&server).await;
    let queue = queue_of(&client);
    queue.put_many(&["one", "two"]).await.expect("put");
    set_access(&server.connect_string(), &first_item(), NO_READING);
    assert_eq!(queue.peek().await.expect("looked"), Some(b"two".to_vec()));
    assert_eq!(soon("a get", queue.get()).await.expect("the next one"), b"two");
    assert_eq!(queue.try_get().await.expect("looked"), None);
    set_access(&server.connect_string(), &first_item(), ALL);
    let got = tokio::time::timeout(2 * SOON, queue.get()).await.expect("it looks").expect("it may now");
    assert_eq!(got, b"one");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_that_was_given_back_and_may_not_be_read_keeps_no_try_busy_and_is_claimed_when_it_may() {
    let server = server();
    let client = client(&server).await;
    let queue = queue_of(&client);
    queue.put(b"one").await.expect("put");
    let item = soon("a claim", queue.claim()).await.expect("there is one");
    item.nack_with(Nack::default().delay(Duration::from_millis(1))).await.expect("given back");
    set_access(&server.connect_string(), &first_item(), NO_READING);
    // The node of its pause stands, and each list shows it.
    soon("the gets", async {
        while client.skipped().is_empty() {
            assert_eq!(queue.try_get().await.expect("looked"), None);
        }
    })
    .await;
    assert!(soon("a claim", queue.try_claim()).await.expect("looked").is_none());
    set_access(&server.connect_string(), &first_item(), ALL);
    let item = tokio::time::timeout(2 * SOON, queue.claim()).await.expect("it looks").expect("it may now");
    assert_eq!((item.data(), item.attempts()), (&b"one"[..], 2));
    item.ack().await.expect("ours");
    assert_tidy(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_put_that_nobody_tells_of_room_looks_for_itself() {
    let server = server();
    let (a, b) = (client(&server).await, client(&server).await);
    let queue = bounded(&a, 1);
    queue.put(b"one").await.expect("put");
    let counted = || server.count("exists", &format!("{PATH}-__queue__/puts"));
    let before = counted();
    let waiting = tokio::spawn(async move { queue.put(b"two").await });
    eventually("it has counted, and once more since it listens", || counted() >= before + 2).await;
    set_access(&server.connect_string(), PATH, NO_READING);
    b.nodes().delete(&first_item(), None).await.expect("taken");
    let put = tokio::time::timeout(2 * SOON, waiting).await.expect("it looks").expect("joined");
    // Where it may not read, it may not know who deletes its item either.
    assert_eq!(put.expect_err("not allowed to look").kind(), ErrorKind::Denied);
}
