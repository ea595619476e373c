//! Leaving the scope of an item.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::support::{client, connected, eventually, nodes_under, server, soon};
use super::{PATH, queue_of};
use zkrecipes::{Client, ClientOptions, ErrorKind, Queue, QueueOptions, RetryOptions, State};
use zkrecipes_embedded::{Fault, Server};

/// Two clients, of which the first has an item and gives up soon when there is no server.
async fn claimed(server: &Server) -> (Queue, zkrecipes::Item, Queue) {
    // Of silence, not of the time that a loaded machine takes to connect.
    let retry = RetryOptions::default().give_up_after(Duration::from_secs(2));
    let impatient = connected(server, ClientOptions::default().retry(retry)).await;
    let (queue, other) = (queue_of(&impatient), queue_of(&client(server).await));
    other.put(b"0").await.expect("put");
    let item = queue.claim().await.expect("there is one");
    (queue, item, other)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_acknowledged_is_given_back() {
    let server = server();
    let (_queue, item, _other) = claimed(&server).await;
    server.inject(Fault::drop_before("multi").path("/queues/**").forever());
    let error = item.leave(false).await.expect_err("no answer comes");
    assert_eq!(error.kind(), ErrorKind::ConnectionLost);
    assert!(!item.is_held());
    server.clear_faults();
    // It may be acknowledged yet, but is not kept, though somebody keeps the item.
    let is_claimed = |node: &String| node.contains("/claims/");
    eventually("it is claimed no more", || !nodes_under(&server, "/queues").iter().any(is_claimed)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_go_to_the_dead_letters_is_given_back() {
    let server = server();
    let retry = RetryOptions::default().give_up_after(Duration::from_secs(2));
    let impatient = connected(&server, ClientOptions::default().retry(retry)).await;
    let queue = impatient.queue(PATH, QueueOptions::default().max_attempts(1)).expect("valid");
    queue.put(b"0").await.expect("put");
    let item = queue.claim().await.expect("there is one");
    server.inject(Fault::drop_before("multi").path("/queues/**").forever());
    item.leave(true).await.expect("the error of the body is the one to tell");
    assert!(!item.is_held());
    server.clear_faults();
    let is_claimed = |node: &String| node.contains("/claims/");
    eventually("it is claimed no more", || !nodes_under(&server, "/queues").iter().any(is_claimed)).await;
    assert!(soon("a look", queue.try_claim()).await.expect("looked").is_none(), "it is over");
    assert_eq!(queue.dead().len().await.expect("looked"), 1, "whoever comes next moves it");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_scope_that_is_left_by_a_call_that_is_dropped_gives_the_item_back() {
    for body_failed in [false, true] {
        let server = server();
        let (_queue, item, other) = claimed(&server).await;
        drop(item.leave(body_failed));
        assert!(!item.is_held());
        let given_back = soon("the other's claim", other.claim()).await;
        given_back
            .expect("it is given back, though somebody keeps the item")
            .ack()
            .await
            .expect("acknowledged");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_gives_back_once_more_after_a_lost_answer_leaves_a_new_claim_alone() {
    let server = server();
    // Long enough for somebody else to claim before the second attempt.
    let retry = RetryOptions::default().base(Duration::from_secs(1));
    let both = Client::connect(&server.connect_string(), ClientOptions::default().retry(retry)).await;
    let both = both.expect("connects");
    let (queue, other) = (queue_of(&both), queue_of(&both));
    queue.put(b"0").await.expect("put");
    let item = queue.claim().await.expect("there is one");

    let is_back = Arc::new(AtomicBool::new(false));
    let connected = is_back.clone();
    let _told = both.on_state(move |state| connected.store(state == State::Connected, Ordering::SeqCst));
    server.inject(Fault::drop_after("multi").path(&format!("{PATH}-__queue__/marks/*")));
    let giving_back = tokio::spawn(item.nack());
    eventually("the answer is lost, and the connection back", || is_back.load(Ordering::SeqCst)).await;
    let claimed = soon("the other's claim", other.claim()).await.expect("it was given back");
    soon("the answer", giving_back).await.expect("joined").expect("given back");
    assert!(claimed.is_held());
    claimed.ack().await.expect("it is the other's");
}
