//! Names that return. The parent of the items is collected, or deleted, and made anew, and its numbers begin at 0 again: what was
//! sent before and got lost must not mean the new item. Ours stays; these are made as others make theirs.

use std::time::Duration;

use super::support::ground::{Ground, grounds};
use super::support::{eventually, options, server, soon};
use super::{PATH, TEN};
use futures_util::FutureExt;
use tokio::task::JoinHandle;
use zkrecipes::{Client, CreateMode, Error, ErrorKind, Queue, QueueOptions, State, drive};
use zkrecipes_embedded::Fault;

fn queue_of(client: &Client) -> Queue {
    client.queue(PATH, QueueOptions::default()).expect("valid")
}

/// The client under test, and one to which nothing happens.
async fn world(ground: &Ground) -> (Client, Client) {
    let (client, other) = (ground.client(TEN).await, ground.client(TEN).await);
    other.nodes().ensure("/queues").await.expect("made");
    other.nodes().create(PATH, b"", CreateMode::Container).await.expect("made");
    (client, other)
}

/// What the collector does, and then another client of Curator's.
async fn parent_made_anew(other: &Client) {
    other.nodes().delete(PATH, None).await.expect("it is empty");
    other.nodes().create(PATH, b"", CreateMode::Container).await.expect("made");
}

/// The next transaction of `client` about an item gets lost, and then it has no connection.
fn lose_the_next(ground: &Ground, client: &Client) -> zkrecipes_embedded::FaultId {
    ground.inject(Fault::refuse_connections(1).forever());
    ground.inject(Fault::drop_before("multi").path(&about_items(ground)).session(client.session_id()))
}

/// The same, or it takes long to get there.
fn hold_up_the_next(ground: &Ground, client: &Client, is_lost: bool) -> zkrecipes_embedded::FaultId {
    if is_lost {
        return lose_the_next(ground, client);
    }
    let late = Fault::delay_request("multi", Duration::from_secs(2));
    ground.inject(late.path(&about_items(ground)).session(client.session_id()))
}

fn about_items(ground: &Ground) -> String {
    let chroot = ground.hosts().split_once('/').map(|(_, chroot)| format!("/{chroot}")).unwrap_or_default();
    format!("{chroot}{PATH}/qn-*")
}

async fn disconnect(ground: &Ground, client: &Client) {
    ground.inject(Fault::refuse_connections(1).forever());
    ground.inject(Fault::drop_before("*").session(client.session_id()));
    let nodes = client.nodes();
    tokio::spawn(async move { nodes.exists("/").await });
    eventually("it has no connection", || client.state() != State::Connected).await;
}

/// Takes the next item, or claims it and gives it back.
fn taking(queue: &Queue, is_claim: bool) -> JoinHandle<Result<Vec<u8>, Error>> {
    let queue = queue.clone();
    tokio::spawn(async move {
        if !is_claim {
            return queue.get().await;
        }
        let item = queue.claim().await?;
        let data = item.data().to_vec();
        item.nack().await?;
        Ok(data)
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_removal_or_a_claim_that_was_lost_or_is_late_means_no_other_item_of_its_name() {
    for (is_lost, is_claim) in [(true, false), (false, false), (true, true), (false, true)] {
        for ground in grounds() {
            let (first, other) = world(&ground).await;
            queue_of(&other).put(b"old").await.expect("put");
            let held_up = hold_up_the_next(&ground, &first, is_lost);
            let taking = taking(&queue_of(&first), is_claim);
            eventually("its transaction is held up", || ground.fault_fired(held_up)).await;
            assert_eq!(soon("the other's get", queue_of(&other).get()).await.expect("it is there"), b"old");
            parent_made_anew(&other).await;
            queue_of(&other).put_many(&["new", "newer"]).await.expect("put");
            ground.clear_faults();
            assert_eq!(soon("it", taking).await.expect("joined").expect("there is one"), b"new");
            let mut left = queue_of(&other).items().await.expect("read");
            left.retain(|item| !is_claim || item != b"new");
            assert_eq!(left, [b"newer"], "lost: {is_lost}, claimed: {is_claim}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_taken_or_claimed_without_a_connection_is_read_when_there_is_one() {
    for is_claim in [false, true] {
        for ground in grounds() {
            let (first, other) = world(&ground).await;
            let queue = queue_of(&first);
            queue_of(&other).put_many(&["0", "old"]).await.expect("put");
            // The next one is read ahead.
            assert_eq!(queue.get().await.expect("there are some"), b"0");
            disconnect(&ground, &first).await;
            let taking = taking(&queue, is_claim);
            assert_eq!(soon("the other's get", queue_of(&other).get()).await.expect("there"), b"old");
            parent_made_anew(&other).await;
            queue_of(&other).put_many(&["new", "newer"]).await.expect("put");
            ground.clear_faults();
            let taken = soon("it", taking).await.expect("joined").expect("there is one");
            let mut all = queue_of(&other).items().await.expect("read");
            if !is_claim {
                all.push(taken);
            }
            all.sort();
            assert_eq!(all, [b"new".to_vec(), b"newer".to_vec()], "claimed: {is_claim}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_waits_for_room_when_the_connection_breaks_is_not_sent_on_the_next() {
    for is_claim in [false, true] {
        let server = server();
        let (_, other) = world(&Ground::Embedded(server.clone())).await;
        // Only the way of the first breaks.
        let way = Ground::real(server.connect_string(), String::new());
        let first = way.client_with(options(TEN).max_in_flight(1)).await;
        let queue = queue_of(&first);
        queue_of(&other).put_many(&["0", "old"]).await.expect("put");
        // The next one is read ahead, and what else it takes is there.
        if is_claim {
            queue.claim().await.expect("there are some").ack().await.expect("ours");
        } else {
            assert_eq!(queue.get().await.expect("there are some"), b"0");
        }
        let late = Fault::delay_reply("exists", Duration::from_secs(2)).session(first.session_id());
        server.inject(late);
        let nodes = first.nodes();
        let mut filling = Box::pin(nodes.exists("/"));
        assert!((&mut filling).now_or_never().is_none(), "there is no room any more");
        let multis = || first.metrics().requests.get("multi").copied();
        let before = multis();
        let taking = taking(&queue, is_claim);
        eventually("it waits for room", || multis() > before).await;
        way.inject(Fault::refuse_connections(1).forever());
        way.break_connections();
        eventually("it has no connection", || first.state() != State::Connected).await;
        assert_eq!(soon("the other's get", queue_of(&other).get()).await.expect("there"), b"old");
        parent_made_anew(&other).await;
        queue_of(&other).put_many(&["new", "newer"]).await.expect("put");
        way.clear_faults();
        let taken = soon("it", taking).await.expect("joined").expect("there is one");
        let mut all = queue_of(&other).items().await.expect("read");
        if !is_claim {
            all.push(taken);
        }
        all.sort();
        assert_eq!(all, [b"new".to_vec(), b"newer".to_vec()], "claimed: {is_claim}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_takes_first_gives_a_parent_of_others_a_random_version_and_ours_stays_as_it_is() {
    for ground in grounds() {
        let (first, other) = world(&ground).await;
        let version = || async { other.nodes().get(PATH).await.expect("there").1.version };
        let mut versions = Vec::new();
        for _ in 0..8 {
            let mut seen = Vec::new();
            for client in [&first, &other] {
                queue_of(client).put(b"one").await.expect("put");
                assert_eq!(soon("the get", queue_of(client).get()).await.expect("there is one"), b"one");
                seen.push(version().await);
            }
            assert_eq!(seen[0], seen[1], "once is enough");
            assert!((1..=64).contains(&seen[0]), "{seen:?}");
            versions.extend(seen);
            parent_made_anew(&other).await;
        }
        versions.dedup();
        assert!(versions.len() > 1, "they differ");
        other.nodes().delete(PATH, None).await.expect("it is empty");
        queue_of(&first).put(b"one").await.expect("put");
        assert_eq!(soon("the get", queue_of(&other).get()).await.expect("there is one"), b"one");
        assert_eq!(version().await, 0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_put_that_is_withdrawn_takes_no_item_of_anothers_back() {
    // Where only peers take items, nobody has given the parent a version.
    for (is_lost, is_peer) in [(true, false), (false, false), (false, true)] {
        for ground in grounds() {
            let (first, other) = world(&ground).await;
            let take = async |number: u32| {
                let node = format!("{PATH}/qn-{number:010}");
                match is_peer {
                    true => other.nodes().delete(&node, None).await.expect("it is there"),
                    false => {
                        drop(soon("the other's get", queue_of(&other).get()).await.expect("there is one"))
                    }
                }
            };
            // Its mark is there then.
            queue_of(&first).put(b"0").await.expect("put");
            take(0).await;
            let late = Fault::delay_reply("multi", Duration::from_secs(2)).session(first.session_id());
            ground.inject(late);
            let putting = tokio::spawn({
                let queue = queue_of(&first);
                async move { queue.put(b"old").await }
            });
            let mut there = 0;
            while there == 0 {
                there = queue_of(&other).len().await.expect("looked");
            }
            let held_up = hold_up_the_next(&ground, &first, is_lost);
            putting.abort();
            eventually("its deletion is held up", || ground.fault_fired(held_up)).await;
            take(1).await;
            parent_made_anew(&other).await;
            queue_of(&other).put_many(&["new", "newer"]).await.expect("put");
            // Numbers begin at 0 again, and the put had the second one.
            ground.clear_faults();
            first.close(Some(TEN)).await.expect("it has settled what it put");
            let left = queue_of(&other).items().await.expect("read");
            assert_eq!(left, [&b"new"[..], b"newer"], "lost: {is_lost}, taken by a peer: {is_peer}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_that_goes_back_below_another_parent_goes_to_the_end() {
    for is_late in [false, true] {
        for ground in grounds() {
            let (first, other) = world(&ground).await;
            let (queue, theirs) = (queue_of(&first), queue_of(&other));
            theirs.put_many(&["0", "1", "2", "old"]).await.expect("put");
            for _ in 0..3 {
                queue.get().await.expect("there are some");
            }
            let got = soon("the get", drive::get(&queue, None)).await.expect("there is one");
            let mut got = Some(got);
            if is_late {
                let late = hold_up_the_next(&ground, &first, false);
                got = None;
                eventually("it is on its way back", || ground.fault_fired(late)).await;
            }
            parent_made_anew(&other).await;
            theirs.put(b"new").await.expect("put");
            drop(got);
            while theirs.len().await.expect("looked") < 2 {}
            for n in 0..5 {
                theirs.put(n.to_string().as_bytes()).await.expect("the number is free");
            }
            let items = theirs.items().await.expect("read");
            assert_eq!(items[..2], [b"new".to_vec(), b"old".to_vec()], "late: {is_late}");
        }
    }
}

/// Where the claim of the first item stands.
fn claim() -> String {
    format!("{PATH}-__queue__/claims/qn-0000000000")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ack_that_was_lost_acknowledges_nothing_of_anothers() {
    for ground in grounds() {
        let (first, other) = world(&ground).await;
        let (queue, theirs) = (queue_of(&first), queue_of(&other));
        theirs.put(b"old").await.expect("put");
        let item = soon("the claim", queue.claim()).await.expect("there is one");
        let lost = lose_the_next(&ground, &first);
        let acking = tokio::spawn(item.ack());
        eventually("its ack is lost", || ground.fault_fired(lost)).await;
        other.nodes().delete(&claim(), None).await.expect("by force");
        soon("the claim", theirs.claim()).await.expect("it is free").ack().await.expect("theirs");
        parent_made_anew(&other).await;
        theirs.put(b"new").await.expect("put");
        let claimed = soon("the claim", theirs.claim()).await.expect("it is free");
        assert_eq!((claimed.node(), claimed.attempts()), (&*claim(), item.attempts()), "it looks the same");
        ground.clear_faults();
        let error = soon("the ack", acking).await.expect("joined").expect_err("it was the other's");
        assert_eq!(error.kind(), ErrorKind::NotHeld, "{error}");
        claimed.ack().await.expect("theirs");
    }
}

/// What waits for a connection does not leave on it before it was looked what has the name by then.
#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_is_let_go_without_a_connection_leaves_that_of_the_next_one_alone() {
    for ground in grounds() {
        let (first, other) = world(&ground).await;
        let (queue, theirs) = (queue_of(&first), queue_of(&other));
        theirs.put(b"old").await.expect("put");
        let item = soon("the claim", queue.claim()).await.expect("there is one");
        disconnect(&ground, &first).await;
        let mut letting_go = Box::pin(item.release());
        assert!((&mut letting_go).now_or_never().is_none(), "nobody can be asked");
        other.nodes().delete(&claim(), None).await.expect("by force");
        soon("the claim", theirs.claim()).await.expect("it is free").ack().await.expect("theirs");
        parent_made_anew(&other).await;
        theirs.put(b"new").await.expect("put");
        let claimed = soon("the claim", theirs.claim()).await.expect("it is free");
        assert_eq!((claimed.node(), claimed.attempts()), (&*claim(), item.attempts()), "it looks the same");
        ground.clear_faults();
        let error = soon("the end", letting_go).await.expect_err("it was taken away");
        assert_eq!(error.kind(), ErrorKind::NotHeld, "{error}");
        first.close(Some(TEN)).await.expect("what it had in the background is done");
        claimed.verify().await.expect("it stands");
        claimed.ack().await.expect("theirs");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_is_lost_deletes_no_claim_of_anothers() {
    for ground in grounds() {
        let (first, other) = (ground.client(Duration::from_secs(2)).await, ground.client(TEN).await);
        let (queue, theirs) = (queue_of(&first), queue_of(&other));
        theirs.put(b"one").await.expect("put");
        let item = soon("the claim", queue.claim()).await.expect("there is one");
        // No heartbeat gets through; other requests keep its session.
        let beats = Fault::drop_before("multi").path("/**/claims/*").session(first.session_id()).forever();
        ground.inject(beats);
        other.nodes().delete(&claim(), None).await.expect("by force");
        let claimed = soon("the claim", theirs.claim()).await.expect("it is free");
        let end = std::time::Instant::now() + TEN;
        while item.is_held() && std::time::Instant::now() < end {
            let _ = first.nodes().exists("/").await;
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert!(!item.is_held(), "it is lost");
        ground.clear_faults();
        first.close(Some(TEN)).await.expect("what it had in the background is done");
        claimed.verify().await.expect("it stands");
        claimed.ack().await.expect("theirs");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_parent_of_the_items_stays_also_that_of_a_shard_and_of_the_dead_letters() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        let queue = client.queue(PATH, QueueOptions::default().max_attempts(1)).expect("valid");
        let sharded = client.queue("/queues/sharded", QueueOptions::default().shards(2)).expect("valid");
        queue.put(b"one").await.expect("put");
        queue.claim().await.expect("there is one").nack().await.expect("ours");
        sharded.put(b"one").await.expect("put");
        sharded.put(b"two").await.expect("put");
        let dead = format!("{PATH}-__dead__");
        let log = ground.log();
        for path in [PATH, &dead, "/queues/sharded/0", "/queues/sharded/1"] {
            let made: Vec<_> =
                log.iter().filter(|entry| entry.path.ends_with(path)).map(|entry| entry.op).collect();
            assert!(made.iter().any(|op| op.starts_with("create")), "{path}: {made:?}");
            assert!(!made.contains(&"createContainer"), "{path}: {made:?}");
        }
    }
}
