//! Nodes with several items, as Curator makes them, nodes that nobody can read, and the end of the numbers.

use std::time::Duration;

use super::support::access::{NO_CREATION, NO_WRITING, set_access};
use super::support::{self, SOON, client, eventually, nodes_under, options, server, soon};
use super::{PATH, TEN, assert_tidy};
use zkrecipes::{AclChoice, Auth, Client, CreateMode, Error, ErrorKind, Queue, QueueLayout, QueueOptions};
use zkrecipes_embedded::{Fault, Server};

/// Curator's encoding of two items.
const TWO: &[u8] = &[0, 1, 0, 1, 1, 0, 0, 0, 1, b'a', 1, 0, 0, 0, 1, b'b', 2];

fn queue(client: &Client, max_attempts: u32) -> Queue {
    let options = QueueOptions::default().layout(QueueLayout::Distributed).max_attempts(max_attempts);
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
    let queue = queue(&client, 1);
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
    let letters = queue.dead().items().await.expect("read");
    assert_eq!(letters.iter().map(|letter| &*letter.data).collect::<Vec<_>>(), [b"a"]);
    assert_eq!(queue.len().await.expect("looked"), 0);
    drop(queue);
    assert_tidy(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_nobody_can_read_is_skipped_or_buried_and_holds_up_nobody() {
    let server = server();
    let client = client(&server).await;
    let plain = queue(&client, 0);
    plain.put(b"z").await.expect("put");
    plain.get().await.expect("there is one");
    put_raw(&client, b"no such encoding").await;
    plain.put_many(&["one", "two"]).await.expect("put");
    assert_eq!(soon("a get", plain.get()).await.expect("the next"), b"one");
    assert_eq!(soon("a get", plain.get()).await.expect("the next"), b"two");
    assert_eq!(plain.try_get().await.expect("nothing else"), None);
    let burying = queue(&client, 3);
    assert_eq!(plain.len().await.expect("looked"), 1);
    burying.put(b"three").await.expect("put");
    drop(plain);
    drop(burying);
    let burying = queue(&client, 3);
    assert_eq!(soon("a get", burying.get()).await.expect("the next"), b"three");
    assert_eq!(burying.len().await.expect("looked"), 0);
    assert_eq!(burying.dead().len().await.expect("looked"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_finds_the_parent_of_a_node_of_several_gone_does_not_try_for_ever() {
    let server = server();
    let (taker, other) = (client(&server).await, client(&server).await);
    let queue = queue(&taker, 1);
    let delete_all = async || {
        let node = nodes_under(&server, PATH).pop().expect("it is there");
        other.nodes().delete(&node, None).await.expect("deleted");
        other.nodes().delete(PATH, None).await.expect("deleted");
    };
    queue.put(b"z").await.expect("put");
    queue.get().await.expect("there is one");
    put_raw(&other, TWO).await;
    let slow = Fault::delay_request("multi", Duration::from_secs(1)).session(taker.session_id());
    let slow = server.inject(slow);
    let getting = tokio::spawn({
        let queue = queue.clone();
        async move { queue.get_timeout(Duration::from_secs(2)).await }
    });
    eventually("the removal is on its way", || server.fault_fired(slow)).await;
    delete_all().await;
    server.clear_log();
    let error = soon("the get", getting).await.expect("joined").expect_err("it is gone");
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(server.count("multi", "/queues/**") < 5, "{:?}", server.count("multi", "/queues/**"));

    put_raw_below_a_new_parent(&other).await;
    let item = soon("a claim", queue.claim()).await.expect("there is one");
    delete_all().await;
    let error = soon("the nack", item.nack()).await.expect_err("it is gone");
    assert_eq!(error.kind(), ErrorKind::NotHeld, "{error}");
}

async fn put_raw_below_a_new_parent(client: &Client) {
    client.nodes().ensure(PATH).await.expect("made");
    put_raw(client, TWO).await;
}

/// Before this number a put is accepted.
const LATEST: i32 = i32::MAX - 100_000;

#[tokio::test(flavor = "multi_thread")]
async fn a_put_waits_at_the_end_of_the_numbers_until_they_begin_anew() {
    let server = server();
    let (first, late, client) = (client(&server).await, client(&server).await, client(&server).await);
    let queue = client.queue(PATH, QueueOptions::default()).expect("valid");
    let consumer = first.queue(PATH, QueueOptions::default()).expect("valid");
    consumer.put(b"0000").await.expect("put");
    assert!(server.set_next_sequence(PATH, LATEST - 300));
    let items: Vec<_> = (1..2000).map(|n| format!("{n:04}")).collect();
    let error =
        queue.put_many_timeout(&items, Duration::from_secs(2)).await.expect_err("not so many numbers");
    assert_eq!(error.kind(), ErrorKind::Timeout);
    let put = error.put().expect("it says how many went in");
    assert!((300..1300).contains(&put), "{put}");
    let error = queue.put_timeout(b"none", Duration::ZERO).await.expect_err("still");
    assert_eq!(error.kind(), ErrorKind::Timeout);
    // Who has put nothing yet is told where the numbers are.
    let beside = || nodes_under(&server, &format!("{PATH}-__queue__"));
    let said = || beside().iter().filter(|node| node.ends_with("/numbers")).count();
    eventually("it is said", || said() == 1).await;
    let late = late.queue(PATH, QueueOptions::default()).expect("valid");
    let error = late.put_many_timeout(&["late", "later"], Duration::from_secs(1)).await.expect_err("full");
    assert_eq!((error.kind(), error.put()), (ErrorKind::Timeout, Some(0)));
    let putting = tokio::spawn({
        let queue = queue.clone();
        async move { queue.put_many(&["new", "newer"]).await }
    });
    // What is there is taken in order, and then the numbers begin anew.
    for n in 0..=put {
        assert!(!putting.is_finished());
        assert_eq!(consumer.get().await.expect("there are some"), format!("{n:04}").into_bytes());
    }
    soon("the put", putting).await.expect("joined").expect("there are numbers");
    let names: Vec<_> = nodes_under(&server, PATH).into_iter().map(|node| node.replace(PATH, "")).collect();
    assert_eq!(names, ["/qn-0000000000", "/qn-0000000001"]);
    assert_eq!(soon("a get", consumer.get()).await.expect("there are some"), b"new");
    assert_eq!(soon("a get", queue.get()).await.expect("there are some"), b"newer");
    eventually("nothing is said of them", || said() == 0).await;
    late.put(b"late").await.expect("there are numbers");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_late_to_begin_the_numbers_anew_leaves_those_alone_that_have_begun() {
    for is_answer_lost in [true, false] {
        let server = server();
        let (late, other) = (client(&server).await, client(&server).await);
        let [queue, theirs] =
            [&late, &other].map(|client| client.queue(PATH, QueueOptions::default()).expect("valid"));
        queue.put(b"0").await.expect("put");
        assert!(server.set_next_sequence(PATH, LATEST + 1));
        // Both know where the numbers are.
        queue.put(b"1").await.expect("put");
        theirs.put(b"2").await.expect("put");
        for _ in 0..3 {
            theirs.get().await.expect("there are some");
        }
        let fault = match is_answer_lost {
            true => {
                server.inject(Fault::refuse_connections(1).forever());
                Fault::drop_after("multi")
            }
            false => Fault::delay_request("getData", Duration::from_secs(3)),
        };
        let held_up = server.inject(fault.path(PATH).session(late.session_id()));
        let putting = tokio::spawn(async move { queue.put(b"late").await });
        eventually("it is held up", || server.fault_fired(held_up)).await;
        theirs.put(b"first").await.expect("there are numbers");
        assert_eq!(theirs.get().await.expect("there is one"), b"first");
        server.clear_faults();
        soon("the put", putting).await.expect("joined").expect("there are numbers");
        let second = format!("{PATH}/qn-0000000001");
        assert_eq!(nodes_under(&server, PATH), [second], "its answer was lost: {is_answer_lost}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_said_of_the_numbers_of_an_earlier_node_keeps_nobody_waiting() {
    let server = server();
    let (first, late) = (client(&server).await, client(&server).await);
    let said = format!("{PATH}-__queue__/numbers");
    first.nodes().ensure(&format!("{PATH}-__queue__")).await.expect("made");
    first.nodes().create(&said, b"1", CreateMode::Persistent).await.expect("made");
    first.nodes().ensure(PATH).await.expect("made");
    // What servers count beside the numbers says nothing.
    let late = late.queue(PATH, QueueOptions::default()).expect("valid");
    soon("the put", late.put_many(&["one", "two"])).await.expect("there are numbers");
}

#[tokio::test(flavor = "multi_thread")]
async fn dead_letters_whose_numbers_are_used_up_keep_nobody_busy() {
    let server = server();
    let client = client(&server).await;
    let options = QueueOptions::default().max_attempts(1);
    let queue = client.queue(PATH, options).expect("valid");
    queue.put_many(&["bad", "bad", "good"]).await.expect("put");
    let nack = || async {
        let item = soon("a claim", queue.claim()).await.expect("there is one");
        item.nack().await
    };
    nack().await.expect("moved");
    let dead = queue.dead().path().to_owned();
    let node = nodes_under(&server, &dead).pop().expect("a letter");
    // The name that the next one would get is taken.
    let next = node.replace("0000000000", "0000000001");
    client.nodes().create(&next, b"", CreateMode::Persistent).await.expect("made");
    assert!(server.set_next_sequence(node.rsplit_once('/').expect("a path").0, 1));
    assert_eq!(nack().await.expect_err("no number is left").kind(), ErrorKind::Exists);
    server.clear_log();
    let good = soon("a claim", queue.claim()).await.expect("the next one");
    assert_eq!(good.data(), b"good");
    assert!(queue.try_claim().await.expect("looked").is_none());
    assert!(server.count("multi", "**") < 10, "it goes on trying");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_node_that_is_made_anew_says_the_same_and_lets_the_same_people_in() {
    let ground = support::ground::Ground::Embedded(server());
    let client = ground.client(TEN).await;
    let own = options(TEN).auth(Auth::new("digest", "me:secret")).acl(AclChoice::Creator);
    let owner = ground.client_with(own).await;
    owner.nodes().ensure("/queues").await.expect("made");
    owner.nodes().create(PATH, b"ours", CreateMode::Persistent).await.expect("made");
    let support::ground::Ground::Embedded(server) = &ground else { return };
    assert!(server.set_next_sequence(PATH, LATEST + 1));
    let queue = owner.queue(PATH, QueueOptions::default()).expect("valid");
    queue.put(b"late").await.expect("put");
    assert_eq!(soon("a get", queue.get()).await.expect("there is one"), b"late");
    queue.put(b"one").await.expect("put");
    assert!(nodes_under(server, PATH)[0].ends_with("qn-0000000000"));
    assert_eq!(owner.nodes().get(PATH).await.expect("read").0, b"ours");
    let denied = client.nodes().get(PATH).await.expect_err("not theirs");
    assert_eq!(denied.kind(), ErrorKind::Denied);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_of_several_that_may_not_be_written_stops_no_get() {
    let server = server();
    let client = client(&server).await;
    let queue = queue(&client, 0);
    queue.put(b"z").await.expect("put");
    queue.get().await.expect("there is one");
    put_raw(&client, TWO).await;
    let node = nodes_under(&server, PATH).pop().expect("it is there");
    set_access(&server.connect_string(), &node, NO_WRITING);
    queue.put(b"good").await.expect("put");
    assert_eq!(soon("a get", queue.get()).await.expect("the next"), b"good");
    assert_eq!(queue.try_get().await.expect("nothing else"), None);
    assert!(queue.try_claim().await.expect("nothing else").is_none());
    assert_eq!(queue.len().await.expect("looked"), 1);
}

/// Two items in one node, which just fits into a packet.
fn large() -> Vec<u8> {
    let second = vec![b'b'; 0xf_ffff - 150];
    let mut data = TWO[..11].to_vec();
    data.extend(u32::try_from(second.len()).expect("small").to_be_bytes());
    data.extend(second);
    data.push(2);
    data
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_of_several_whose_rest_cannot_be_put_stops_nobody() {
    for is_too_large in [false, true] {
        let server = server();
        let client = client(&server).await;
        let queue = queue(&client, 3);
        queue.put(b"z").await.expect("put");
        queue.get().await.expect("there is one");
        let several = if is_too_large { large() } else { TWO.to_vec() };
        put_raw(&client, &several).await;
        queue.put(b"good").await.expect("put");
        if !is_too_large {
            set_access(&server.connect_string(), PATH, NO_CREATION);
        }
        assert_eq!(soon("a get", queue.get()).await.expect("the next"), b"good", "too large: {is_too_large}");
        assert_eq!(queue.try_get().await.expect("nothing else"), None);
        assert_eq!(queue.len().await.expect("looked"), 1);
        assert_eq!(client.skipped().len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_that_is_too_large_to_be_claimed_stops_no_claim() {
    let server = server();
    let client = client(&server).await;
    let queue = queue(&client, 3);
    queue.put(b"z").await.expect("put");
    queue.get().await.expect("there is one");
    put_raw(&client, &large()).await;
    queue.put(b"good").await.expect("put");
    let item = soon("a claim", queue.claim()).await.expect("the next");
    assert_eq!(item.data(), b"good");
    item.ack().await.expect("ours");
    assert!(queue.try_claim().await.expect("nothing else").is_none());
    assert_eq!(client.skipped().len(), 1);
}

/// Somebody makes a node below the first of two items.
async fn with_a_node_below_the_first(server: &Server, most_attempts: u32) -> (Client, Queue) {
    let client = client(server).await;
    let options = QueueOptions::default().max_attempts(most_attempts);
    let queue = client.queue(PATH, options).expect("valid");
    queue.put_many(&["bad", "good"]).await.expect("put");
    client.nodes().create(BELOW, b"", CreateMode::Persistent).await.expect("made");
    (client, queue)
}

const BAD: &str = "/queues/faults/qn-0000000000";
const BELOW: &str = "/queues/faults/qn-0000000000/x";

#[tokio::test(flavor = "multi_thread")]
async fn an_item_with_a_node_below_it_stops_no_get_and_is_taken_when_that_is_gone() {
    let server = server();
    let (client, queue) = with_a_node_below_the_first(&server, 0).await;
    assert_eq!(soon("a get", queue.get()).await.expect("the next"), b"good");
    assert_eq!(queue.try_get().await.expect("nothing else"), None);
    client.nodes().delete(BELOW, None).await.expect("deleted");
    let got = tokio::time::timeout(2 * SOON, queue.get()).await.expect("it looks").expect("it can be taken");
    assert_eq!(got, b"bad");
    assert_tidy(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_with_a_node_below_it_is_not_done_and_stops_no_claim() {
    let server = server();
    let (client, queue) = with_a_node_below_the_first(&server, 1).await;
    let item = soon("a claim", queue.claim()).await.expect("there is one");
    assert_eq!(item.data(), b"bad");
    let is_refused = |end: Result<(), Error>| {
        let error = end.expect_err("it cannot be deleted");
        assert_eq!((error.kind(), error.path()), (ErrorKind::NotEmpty, Some(BAD)), "{error}");
    };
    is_refused(item.ack().await);
    assert!(item.is_held());
    is_refused(item.nack().await);
    let is_claimed = || nodes_under(&server, "/queues").iter().any(|node| node.contains("/claims/"));
    eventually("it is given back, though somebody keeps the item", || !is_claimed()).await;
    let good = soon("a claim", queue.claim()).await.expect("the next one");
    assert_eq!(good.data(), b"good");
    good.ack().await.expect("ours");
    assert!(queue.try_claim().await.expect("nothing else").is_none());
    assert_eq!(queue.try_get().await.expect("nothing else"), None);
    assert_eq!(queue.dead().len().await.expect("looked"), 0);
    drop((client, queue));
}
