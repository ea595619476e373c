//! Where an item goes back to that was taken for nobody.

use std::time::Duration;

use super::support::access::{ALL, NO_CREATION, set_access};
use super::support::{SOON, client, eventually, nodes_under, server, soon};
use super::{PATH, assert_tidy, queue_of};
use zkrecipes::{QueueOptions, drive};
use zkrecipes_embedded::Fault;

#[tokio::test(flavor = "multi_thread")]
async fn an_item_whose_name_is_taken_goes_back_to_the_end() {
    let server = server();
    let (taker, other) = (client(&server).await, client(&server).await);
    queue_of(&other).put(b"old").await.expect("put");
    let got = soon("the get", drive::get(&queue_of(&taker), None)).await.expect("there is one");
    other.nodes().delete(PATH, None).await.expect("empty");
    queue_of(&other).put(b"new").await.expect("put");
    drop(got);
    eventually("it is back", || nodes_under(&server, PATH).len() == 2).await;
    assert_eq!(queue_of(&other).items().await.expect("read"), [b"new", b"old"]);
    assert_tidy(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_that_makes_its_parent_anew_stands_in_the_way_of_no_put() {
    let server = server();
    let (taker, other) = (client(&server).await, client(&server).await);
    let queue = queue_of(&taker);
    queue.put_many(&["0", "1", "2", "old"]).await.expect("put");
    for _ in 0..3 {
        queue.get().await.expect("there are some");
    }
    let got = soon("the get", drive::get(&queue, None)).await.expect("there is one");
    other.nodes().delete(PATH, None).await.expect("empty");
    drop(got);
    eventually("it is back", || nodes_under(&server, PATH).len() == 1).await;
    for n in 0..5 {
        queue_of(&other).put(n.to_string().as_bytes()).await.expect("the number is free");
    }
    assert_eq!(queue_of(&other).items().await.expect("read").len(), 6);
    drop(queue);
    assert_tidy(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_that_goes_back_does_not_go_with_who_never_put_it() {
    let server = server();
    let (producer, taker) = (client(&server).await, client(&server).await);
    let ephemeral = |client: &zkrecipes::Client| {
        client.queue(PATH, QueueOptions::default().ephemeral(true)).expect("valid")
    };
    ephemeral(&producer).put(b"one").await.expect("put");
    let got = soon("the get", drive::get(&ephemeral(&taker), None)).await.expect("there is one");
    assert!(nodes_under(&server, PATH).is_empty());
    drop(got);
    eventually("it is back", || nodes_under(&server, PATH).len() == 1).await;
    soon("closing", taker.close(Some(SOON))).await.expect("closed");
    assert_eq!(queue_of(&producer).items().await.expect("read"), [b"one"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_whose_mark_or_whose_parent_may_not_be_made_goes_back_when_it_may() {
    let marks = format!("{PATH}-__queue__/marks");
    // Or the refusal comes when the client closes already.
    for (frozen, is_late) in [(marks.as_str(), false), (marks.as_str(), true), ("/queues", false)] {
        let server = server();
        let (taker, other) = (client(&server).await, client(&server).await);
        queue_of(&other).put(b"one").await.expect("put");
        let got = soon("the get", drive::get(&queue_of(&taker), None)).await.expect("there is one");
        eventually("no mark is left", || nodes_under(&server, &marks).is_empty()).await;
        if frozen != marks {
            other.nodes().delete(PATH, None).await.expect("empty");
        }
        set_access(&server.connect_string(), frozen, NO_CREATION);
        server.clear_log();
        if is_late {
            let late = Fault::delay_reply("multi", Duration::from_millis(500)).path("/queues/**");
            server.inject(late.session(taker.session_id()));
        }
        drop(got);
        let asked = || server.count("multi", "**") + server.count("create*", "**");
        eventually("it is refused", || asked() > 0).await;
        set_access(&server.connect_string(), frozen, ALL);
        soon("closing", taker.close(None)).await.expect("closed");
        assert_eq!(queue_of(&other).items().await.expect("read"), [b"one"], "{frozen}, {is_late}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_that_may_not_go_back_holds_up_nobody_and_goes_back_when_it_may() {
    for closes in [true, false] {
        let server = server();
        let (taker, other) = (client(&server).await, client(&server).await);
        let (queue, theirs) = (queue_of(&taker), queue_of(&other));
        theirs.put_many(&["one", "two"]).await.expect("put");
        let got = soon("the get", drive::get(&queue, None)).await.expect("there is one");
        set_access(&server.connect_string(), PATH, NO_CREATION);
        drop(got);
        // Behind what goes back.
        assert_eq!(soon("the next get", queue.get()).await.expect("there is one"), b"two");
        set_access(&server.connect_string(), PATH, ALL);
        if closes {
            soon("closing", taker.close(None)).await.expect("closed");
        }
        let got = tokio::time::timeout(2 * SOON, theirs.get()).await.expect("it goes back");
        assert_eq!(got.expect("it may now"), b"one", "it closes: {closes}");
    }
}
