//! Nodes with several items, as Curator makes them, nodes that nobody can read, and the end of the numbers.

use super::support::{client, nodes_under, server, soon};
use super::{PATH, assert_tidy};
use zkrecipes::{Client, CreateMode, ErrorKind, Queue, QueueLayout, QueueOptions};

/// Curator's encoding of two items.
const TWO: &[u8] = &[0, 1, 0, 1, 1, 0, 0, 0, 1, b'a', 1, 0, 0, 0, 1, b'b', 2];

fn queue(client: &Client, max_attempts: Option<u32>) -> Queue {
    let options = QueueOptions::default().layout(QueueLayout::Distributed);
    let options = match max_attempts {
        Some(most) => options.max_attempts(most),
        None => options,
    };
    client.queue(PATH, options).expect("valid")
}

async fn put_raw(client: &Client, data: &[u8]) {
    let node = format!("{PATH}/queue-");
    client.nodes().create(&node, data, CreateMode::PersistentSequential).await.expect("created");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_does_not_answer_for_the_attempts_at_those_in_the_same_node() {
    let server = server();
    let client = client(&server).await;
    let queue = queue(&client, Some(1));
    queue.put(b"z").await.expect("put");
    queue.get().await.expect("there is one");
    for is_acked in [true, false] {
        put_raw(&client, TWO).await;
        let first = soon("a claim", queue.claim()).await.expect("there are some");
        assert_eq!((first.data(), first.attempts()), (&b"a"[..], 1));
        if is_acked { first.ack().await } else { first.nack().await }.expect("ours");
        let second = soon("a claim", queue.claim()).await.expect("there are some");
        assert_eq!((second.data(), second.attempts()), (&b"b"[..], 1));
        second.ack().await.expect("ours");
    }
    assert_eq!(queue.dead().items().await.expect("read"), [b"a"]);
    assert_eq!(queue.len().await.expect("looked"), 0);
    drop(queue);
    assert_tidy(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_nobody_can_read_is_told_once_or_buried_and_holds_up_nobody() {
    let server = server();
    let client = client(&server).await;
    let plain = queue(&client, None);
    plain.put(b"z").await.expect("put");
    plain.get().await.expect("there is one");
    put_raw(&client, b"no such encoding").await;
    plain.put_many(&["one", "two"]).await.expect("put");
    assert_eq!(plain.try_get().await.expect_err("unreadable").kind(), ErrorKind::Mismatch);
    assert_eq!(soon("a get", plain.get()).await.expect("the next"), b"one");
    assert_eq!(soon("a get", plain.get()).await.expect("the next"), b"two");
    assert_eq!(plain.try_get().await.expect("nothing else"), None);
    let burying = queue(&client, Some(3));
    assert_eq!(plain.len().await.expect("looked"), 1);
    burying.put(b"three").await.expect("put");
    drop(plain);
    drop(burying);
    let burying = queue(&client, Some(3));
    assert_eq!(soon("a get", burying.get()).await.expect("the next"), b"three");
    assert_eq!(burying.len().await.expect("looked"), 0);
    assert_eq!(burying.dead().len().await.expect("looked"), 1);
}

/// Before this number a put is accepted.
const LATEST: i32 = i32::MAX - 100_000;

#[tokio::test(flavor = "multi_thread")]
async fn a_put_is_refused_before_numbers_come_that_tell_nothing_of_the_order() {
    let server = server();
    let (first, client) = (client(&server).await, client(&server).await);
    let queue = client.queue(PATH, QueueOptions::default()).expect("valid");
    first.queue(PATH, QueueOptions::default()).expect("valid").put(b"0000").await.expect("put");
    assert!(server.set_next_sequence(PATH, LATEST - 300));
    let items: Vec<_> = (1..2000).map(|n| format!("{n:04}")).collect();
    let error = queue.put_many(&items).await.expect_err("there are not so many numbers");
    assert_eq!(error.kind(), ErrorKind::Exists);
    assert!(error.to_string().contains("numbers"), "{error}");
    let put = error.put().expect("it says how many went in");
    assert!((300..1300).contains(&put), "{put}");
    let error = queue.put(b"none").await.expect_err("still");
    assert_eq!(error.kind(), ErrorKind::Exists);
    assert!(
        nodes_under(&server, PATH).iter().all(|node| !node.contains("--") && !node.ends_with("2147483647"))
    );
    // What is there is taken in order, and then the numbers begin anew.
    for n in 0..=put {
        assert_eq!(queue.get().await.expect("there are some"), format!("{n:04}").into_bytes());
    }
    client.nodes().delete(PATH, None).await.expect("it is empty");
    queue.put_many(&["new", "newer"]).await.expect("there are numbers");
    assert_eq!(soon("a get", queue.get()).await.expect("there are some"), b"new");
}
