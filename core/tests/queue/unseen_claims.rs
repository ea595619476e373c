//! Claims that nobody was given: they are no attempts, and nothing is left of them.

use std::time::Duration;

use super::support::{client, eventually, nodes_under, server, soon};
use super::{PATH, assert_tidy};
use tokio::task::JoinHandle;
use zkrecipes::{Client, CreateMode, Item, Nack, Queue, QueueOptions, Result};
use zkrecipes_embedded::{Fault, Server};

const ATTEMPTS: u32 = 2;

fn queue_of(client: &Client) -> Queue {
    client.queue(PATH, QueueOptions::default().max_attempts(ATTEMPTS)).expect("valid")
}

fn claims(server: &Server) -> Vec<String> {
    nodes_under(server, "/queues").into_iter().filter(|node| node.contains("/claims/")).collect()
}

fn is_claimed(server: &Server) -> bool {
    claims(server).iter().any(|node| !node.contains('~'))
}

/// A claim whose answer is on its way.
async fn begin_slow_claim(server: &Server, client: &Client, queue: &Queue) -> JoinHandle<Result<Item>> {
    let slow = Duration::from_millis(200);
    let claims = format!("{PATH}-__queue__/claims/*");
    server.inject(Fault::delay_reply("multi", slow).path(&claims).session(client.session_id()));
    let claiming = tokio::spawn({
        let queue = queue.clone();
        async move { queue.claim().await }
    });
    eventually("it is claimed", || is_claimed(server)).await;
    claiming
}

async fn claim_and_withdraw(server: &Server, client: &Client, queue: &Queue) {
    let claiming = begin_slow_claim(server, client, queue).await;
    claiming.abort();
    drop(claiming.await);
    eventually("it is given back", || !is_claimed(server)).await;
}

fn written_at() -> String {
    format!("{PATH}-__queue__/claims/qn-0000000000~unseen")
}

#[derive(Copy, Clone, Debug)]
enum ToNobody {
    Withdrawn,
    Dropped,
}

async fn claim_for_nobody(how: ToNobody, server: &Server, client: &Client, queue: &Queue) {
    match how {
        ToNobody::Withdrawn => claim_and_withdraw(server, client, queue).await,
        ToNobody::Dropped => drop(soon("a claim", queue.claim()).await.expect("it is not dead")),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_that_nobody_was_given_has_all_its_attempts() {
    for how in [ToNobody::Withdrawn, ToNobody::Dropped] {
        let server = server();
        let (hasty, other) = (client(&server).await, client(&server).await);
        let (queue, others) = (queue_of(&hasty), queue_of(&other));
        queue.put(b"tea").await.expect("put");
        for _ in 0..2 * ATTEMPTS + 1 {
            claim_for_nobody(how, &server, &hasty, &queue).await;
        }
        // What was written down last may be on its way.
        let written = written_at();
        soon("all are written down", async {
            while !other.nodes().get(&written).await.is_ok_and(|(said, _)| said.ends_with(b" 5")) {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        })
        .await;
        for attempt in 1..=ATTEMPTS {
            let item = soon("a claim", others.claim()).await.expect("it is not dead");
            assert_eq!(item.data(), b"tea");
            assert_eq!(others.dead().len().await.expect("looked"), 0, "{how:?}: attempt {attempt}");
            item.nack_with(Nack::default().delay(Duration::ZERO)).await.expect("ours");
        }
        let letters = others.dead().items().await.expect("looked");
        assert_eq!(letters.len(), 1, "{how:?}: that were all attempts");
        assert_eq!(others.len().await.expect("looked"), 0);
        assert_tidy(&server).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_written_down_while_an_item_is_given_up_counts() {
    let server = &server();
    let (client, other) = (client(server).await, client(server).await);
    let queue = queue_of(&client);
    queue.put(b"tea").await.expect("put");
    let mut item = soon("a claim", queue.claim()).await.expect("it is there");
    for _ in 1..ATTEMPTS {
        item.nack_with(Nack::default().delay(Duration::ZERO)).await.expect("ours");
        item = soon("a claim", queue.claim()).await.expect("it is not dead");
    }
    let read = server.inject(Fault::delay_reply("getData", Duration::from_secs(1)).path(&written_at()));
    let giving_up = tokio::spawn(async move { item.nack().await });
    eventually("it has read that there are none", || server.fault_fired(read)).await;
    let (_, stat) = other.nodes().get(&format!("{PATH}/qn-0000000000")).await.expect("it is there");
    let said = format!("{} 1", stat.czxid).into_bytes();
    other.nodes().create(&written_at(), &said, CreateMode::Persistent).await.expect("written");
    soon("a nack", giving_up).await.expect("no panic").expect("ours");
    assert_eq!(queue.dead().len().await.expect("looked"), 0);
    assert_eq!(queue.len().await.expect("looked"), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_killed_client_has_claimed_for_nobody_leaves_nothing() {
    for is_written_down in [true, false] {
        let server = server();
        let (killed, other) = (client(&server).await, client(&server).await);
        let (queue, others) = (queue_of(&killed), queue_of(&other));
        queue.put(b"tea").await.expect("put");
        let session = killed.session_id();
        match is_written_down {
            true => {
                claim_for_nobody(ToNobody::Withdrawn, &server, &killed, &queue).await;
                assert!(claims(&server).iter().any(|node| node.ends_with("~unseen")));
            }
            false => {
                let claiming = begin_slow_claim(&server, &killed, &queue).await;
                // Nothing that it does about that arrives.
                server.inject(Fault::black_hole().session(session));
                claiming.abort();
            }
        }
        server.inject(Fault::black_hole().session(session));
        server.expire(session);
        let item = soon("a claim", others.claim()).await.expect("it is there");
        assert_eq!(item.data(), b"tea");
        item.ack().await.expect("ours");
        eventually("nothing is left of its claims", || claims(&server).is_empty()).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_written_down_goes_with_an_item_that_a_peer_takes() {
    let server = server();
    let client = client(&server).await;
    let queue = queue_of(&client);
    queue.put_many(&["one", "two"]).await.expect("put");
    claim_and_withdraw(&server, &client, &queue).await;
    assert!(claims(&server).iter().any(|node| node.ends_with("~unseen")));
    // Without a look at what stands beside it.
    client.nodes().delete(&format!("{PATH}/qn-0000000000"), None).await.expect("deleted");
    assert_eq!(soon("a get", queue.get()).await.expect("the other"), b"two");
    let tidies = async {
        while !claims(&server).is_empty() {
            assert_eq!(queue.try_get().await.expect("looked"), None);
        }
    };
    soon("whoever lists", tidies).await;
}
