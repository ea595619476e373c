//! What becomes of an item whose taker is gone before the answer comes, and of one that is not what was claimed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::support::{SOON, client, client_with, connected, eventually, nodes_under, options, server, soon};
use super::{
    PATH, TEN, asked_by, assert_tidy, impatient, multi_is_applied_and_then_nothing_is_heard, queue_of,
};
use zkrecipes::{Client, ErrorKind, Queue, QueueOptions, RetryOptions};
use zkrecipes_embedded::{Fault, Server};

#[tokio::test(flavor = "multi_thread")]
async fn everything_goes_to_somebody_once_however_many_take() {
    let server = server();
    let producer = client(&server).await;
    let all = 120;
    let names: Vec<_> = (0..all).map(|n| n.to_string()).collect();
    queue_of(&producer).put_many(&names).await.expect("put");
    let seen: Arc<Mutex<BTreeMap<Vec<u8>, usize>>> = Arc::default();
    let mut consumers = Vec::new();
    for n in 0..6 {
        let client = client(&server).await;
        let seen = seen.clone();
        consumers.push(tokio::spawn(async move {
            let queue = queue_of(&client);
            loop {
                let data = match n % 2 {
                    0 => queue.try_get().await.expect("asked"),
                    _ => match queue.try_claim().await.expect("asked") {
                        Some(item) => {
                            item.ack().await.expect("ours");
                            Some(item.data().to_vec())
                        }
                        None => None,
                    },
                };
                match data {
                    Some(data) => *seen.lock().expect("no panic").entry(data).or_default() += 1,
                    None if queue.len().await.expect("looked") == 0 => return client,
                    None => {}
                }
            }
        }));
    }
    for consumer in consumers {
        soon("a consumer", consumer).await.expect("no panic");
    }
    let seen = seen.lock().expect("no panic").clone();
    assert_eq!(seen.len(), all);
    assert!(seen.values().all(|times| *times == 1), "{seen:?}");
    assert_tidy(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn gets_that_do_not_wait_for_each_other_go_together_and_one_that_is_refused_takes_none_along() {
    let server = server();
    let (consumer, other) = (client(&server).await, client(&server).await);
    let (queue, rival) = (queue_of(&consumer), queue_of(&other));
    let names: Vec<_> = (0..61).map(|n| format!("{n:02}")).collect();
    rival.put_many(&names).await.expect("put");
    // Some have been claimed, so that it takes more to remove them.
    let mut claimed = Vec::new();
    for _ in 0..10 {
        claimed.push(rival.claim().await.expect("there are some"));
    }
    for item in claimed {
        item.release().await.expect("ours");
    }
    let gone = [5, 7, 20, 21, 22, 40, 50];
    let faster = other.nodes().transaction();
    for n in gone {
        faster.delete(&format!("{PATH}/qn-{n:010}"), None).expect("valid");
    }
    // It lists them, and reads the next eight ahead. Somebody else takes some, of these as well.
    assert_eq!(queue.get().await.expect("there are some"), b"00");
    faster.commit().await.expect("they stand");
    server.clear_log();
    // While the first ones are under way, the others gather.
    let delay = Duration::from_millis(200);
    server.inject(Fault::delay_request("multi", delay).session(consumer.session_id()).times(2));
    let gets: Vec<_> = (0..60 - gone.len())
        .map(|_| {
            let queue = queue.clone();
            tokio::spawn(async move { queue.get().await })
        })
        .collect();
    let mut all = vec![b"00".to_vec()];
    for get in gets {
        all.push(soon("a get", get).await.expect("joined").expect("there are some"));
    }
    let writes = asked_by(&server, &consumer).iter().filter(|op| *op == "multi").count();
    assert!(writes < 30, "{writes} transactions for {} gets", all.len() - 1);
    all.extend(gone.map(|n| format!("{n:02}").into_bytes()));
    all.sort();
    assert_eq!(all, names.iter().map(|name| name.as_bytes().to_vec()).collect::<Vec<_>>());
    assert_eq!(queue.len().await.expect("looked"), 0);
    assert_tidy(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ack_whose_claim_is_gone_removes_nothing() {
    let server = server();
    let (slow, other) = (client(&server).await, client(&server).await);
    let queue = queue_of(&slow);
    queue.put(b"one").await.expect("put");
    let item = queue.claim().await.expect("there is one");
    // It does not hear that its claim is gone; what it asks arrives.
    server.inject(Fault::black_hole_replies().session(slow.session_id()));
    other.nodes().delete(item.node(), None).await.expect("it stands");
    server.clear_log();
    let acking = tokio::spawn(item.ack());
    eventually("it is asked for", || asked_by(&server, &slow).iter().any(|op| op == "multi")).await;
    assert_eq!(queue_of(&other).items().await.expect("read"), [b"one"]);
    server.clear_faults();
    soon("the ack", acking).await.expect("joined").expect_err("it was not done");
    assert_eq!(soon("the get", queue_of(&other).get()).await.expect("it is free"), b"one");
    assert_tidy(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_of_which_nobody_waits_any_more_goes_back_to_its_place() {
    let server = server();
    let (producer, consumer) = (client(&server).await, client(&server).await);
    let queue = queue_of(&consumer);
    queue_of(&producer).put_many(&["one", "two"]).await.expect("put");
    let got = zkrecipes::drive::get(&queue, None).await.expect("there are some");
    assert_eq!(queue.len().await.expect("looked"), 1);
    drop(got);
    eventually("it is back", || nodes_under(&server, PATH).len() == 2).await;
    assert_eq!(queue.items().await.expect("read"), [b"one", b"two"]);
    let claimed = queue.claim().await.expect("there are some");
    assert_eq!((claimed.data(), claimed.attempts()), (&b"one"[..], 1));
    claimed.release().await.expect("ours");
    let claimed = soon("the claim", queue.claim()).await.expect("given back");
    assert_eq!((claimed.data(), claimed.attempts()), (&b"one"[..], 2));
    claimed.ack().await.expect("ours");
    assert_tidy(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_read_ahead_is_not_taken_for_an_item_of_the_same_name_that_came_later() {
    let server = server();
    let (slow, other) = (client(&server).await, client(&server).await);
    let (queue, late) = (queue_of(&other), queue_of(&slow));
    queue.put_many(&["one", "two"]).await.expect("put");
    assert_eq!(late.get().await.expect("there are some"), b"one");
    assert_eq!(queue.get().await.expect("there are some"), b"two");
    other.nodes().delete(PATH, None).await.expect("empty");
    queue.put_many(&["three", "four"]).await.expect("put");
    // Time is the subject: how old what was read may be.
    tokio::time::sleep(Duration::from_millis(150)).await;
    assert_eq!(late.get().await.expect("there are some"), b"four");
    assert_eq!(queue.items().await.expect("read"), [b"three"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_whose_node_is_deleted_is_lost_and_an_ack_is_no_loss() {
    let server = server();
    let client = client(&server).await;
    let queue = queue_of(&client);
    queue.put_many(&["one", "two"]).await.expect("put");
    let lost: Arc<Mutex<Vec<(&str, ErrorKind)>>> = Arc::default();
    let item = queue.claim().await.expect("there are some");
    let told = lost.clone();
    let _ = item.on_lost(move |error| told.lock().expect("no panic").push(("one", error.kind())));
    eventually("its node is watched", || server.watch_count() == 1).await;
    // So that the news of the deletion comes before the answer.
    let delayed = server.inject(Fault::delay_reply("multi", Duration::from_millis(150)));
    item.ack().await.expect("ours");
    assert!(server.fault_fired(delayed) && !item.is_held());
    let other = queue.claim().await.expect("there are some");
    let told = lost.clone();
    let _ = other.on_lost(move |error| told.lock().expect("no panic").push(("two", error.kind())));
    client.nodes().delete(other.node(), None).await.expect("deleted");
    eventually("the loss is told", || {
        lost.lock().expect("no panic").iter().any(|(which, _)| *which == "two")
    })
    .await;
    assert_eq!(other.ack().await.expect_err("lost").kind(), ErrorKind::NotHeld);
    assert_eq!(*lost.lock().expect("no panic"), [("two", ErrorKind::Lost)]);
    assert_eq!(queue.len().await.expect("looked"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_loses_no_item_that_is_being_removed() {
    let server = server();
    let (closing, other) = (client(&server).await, client(&server).await);
    queue_of(&other).put(b"one").await.expect("put");
    server.inject(Fault::delay_reply("multi", Duration::from_secs(2)).session(closing.session_id()));
    let getting = tokio::spawn({
        let queue = queue_of(&closing);
        async move { queue.get().await }
    });
    eventually("it is removed", || nodes_under(&server, PATH).is_empty()).await;
    soon("closing", closing.close(Some(SOON))).await.expect("closed");
    let got = soon("the get", getting).await.expect("joined");
    assert_eq!(got.expect_err("closed").kind(), ErrorKind::Closed);
    assert_eq!(queue_of(&other).items().await.expect("read"), [b"one"]);
    assert_tidy(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_whose_removal_is_heard_of_late_goes_back_when_its_taker_has_gone() {
    let server = server();
    // The removal leaves in the time of the get, and servers may be silent for longer than that.
    let (limit, patience) = (Duration::from_millis(800), Duration::from_millis(1300));
    let pauses = RetryOptions::default().base(Duration::from_millis(10)).max(Duration::from_millis(50));
    let slow = connected(&server, options(TEN).retry(pauses.give_up_after(patience))).await;
    let other = client(&server).await;
    let queue = queue_of(&slow);
    queue_of(&other).put(b"one").await.expect("put");
    multi_is_applied_and_then_nothing_is_heard(&server, &slow);
    let error = queue.get_timeout(limit).await.expect_err("out of time");
    assert_eq!(error.kind(), ErrorKind::Timeout);
    assert!(nodes_under(&server, PATH).is_empty(), "it was removed");
    // Time is the subject: longer than servers may be silent.
    tokio::time::sleep(patience).await;
    server.clear_faults();
    eventually("it is back", || nodes_under(&server, PATH).len() == 1).await;
    assert_eq!(soon("the get", queue_of(&other).get()).await.expect("there is one"), b"one");
    slow.close(Some(SOON)).await.expect("closed");
    assert_tidy(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ack_removes_no_item_of_the_same_name_that_nobody_has_claimed() {
    let server = server();
    let (slow, other) = (client(&server).await, client(&server).await);
    let queue = slow.queue(PATH, QueueOptions::default().max_attempts(1)).expect("valid");
    for is_nack in [false, true] {
        queue.put(b"old").await.expect("put");
        let item = queue.claim().await.expect("there is one");
        other.nodes().delete(&nodes_under(&server, PATH)[0], None).await.expect("it stands");
        other.nodes().delete(PATH, None).await.expect("empty");
        queue_of(&other).put(b"new").await.expect("put");
        let settled = if is_nack { item.nack().await } else { item.ack().await };
        assert_eq!(settled.expect_err("it is another item").kind(), ErrorKind::NotHeld);
        assert_eq!(queue.items().await.expect("read"), [b"new"]);
        assert_eq!(queue.dead().len().await.expect("looked"), 0);
        assert_eq!(soon("the get", queue.get()).await.expect("it is free"), b"new");
        other.nodes().delete(PATH, None).await.expect("empty");
    }
    assert_tidy(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ack_that_is_repeated_after_its_answer_was_lost_finds_out_that_it_was_applied() {
    let server = server();
    let slow = impatient(&server).await;
    let queue = queue_of(&slow);
    queue.put(b"one").await.expect("put");
    let item = queue.claim().await.expect("there is one");
    multi_is_applied_and_then_nothing_is_heard(&server, &slow);
    assert_eq!(item.ack().await.expect_err("nothing is heard").kind(), ErrorKind::ConnectionLost);
    server.clear_faults();
    soon("the ack", item.ack()).await.expect("it was applied");
    assert!(!item.is_held());
    assert_eq!(queue.len().await.expect("looked"), 0);
    assert_tidy(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ack_that_comes_to_nothing_does_not_take_anothers_get_for_its_own() {
    let server = server();
    let (slow, other) = (client_with(&server, Duration::from_secs(2)).await, client(&server).await);
    let queue = queue_of(&slow);
    queue.put(b"one").await.expect("put");
    let item = queue.claim().await.expect("there is one");
    // Neither the ack nor a heartbeat gets through, so the claim is given up; then its deletion does, and the ack still does not.
    let lost = |path| Fault::drop_before("multi").path(path).session(slow.session_id()).forever();
    server.inject(lost("/queues/**/marks/*"));
    server.inject(lost("/queues/**/qn-*"));
    let acking = tokio::spawn(item.ack());
    eventually("it is given up", || !item.is_held()).await;
    server.clear_faults();
    server.inject(lost("/queues/**/marks/*"));
    let got = soon("the get", queue_of(&other).get()).await.expect("it was given up");
    assert_eq!(got, b"one");
    server.clear_faults();
    let error = soon("the ack", acking).await.expect("joined").expect_err("somebody else has it");
    assert_eq!(error.kind(), ErrorKind::NotHeld, "{error}");
    assert!(!item.is_held());
}

/// An item that was claimed so often that its version has no number left for more, or has passed to the negative ones.
async fn claimed_often(server: &Server, queue: &Queue, version: i32) {
    queue.put_many(&["0", "often"]).await.expect("put");
    // It knows of both then.
    assert_eq!(queue.get().await.expect("there are some"), b"0");
    assert!(server.set_data_version(&format!("{PATH}/qn-0000000001"), version));
}

fn without_end(client: &Client) -> Queue {
    client.queue(PATH, QueueOptions::default().max_attempts(0)).expect("valid")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_of_a_negative_version_is_had_by_nobody_else_while_it_is_claimed() {
    for version in [-5, i32::MAX] {
        let server = server();
        let (first, other) = (client(&server).await, client(&server).await);
        let (queue, theirs) = (without_end(&first), without_end(&other));
        claimed_often(&server, &queue, version).await;
        let item = soon("the claim", theirs.claim()).await.expect("it is free");
        assert_eq!(item.attempts(), version as u32 + 1);
        assert_eq!(queue.try_get().await.expect("looked"), None, "version {version}");
        item.ack().await.expect("theirs");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_of_a_negative_version_is_taken_where_claims_have_no_parent_yet() {
    let server = server();
    let client = client(&server).await;
    let queue = without_end(&client);
    claimed_often(&server, &queue, -5).await;
    assert_eq!(soon("the get", queue.get()).await.expect("it is free"), b"often");
}
