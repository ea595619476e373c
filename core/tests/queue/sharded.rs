//! Queues that are spread over several nodes.

use std::time::Duration;

use super::support::{client, eventually, nodes_under, options, server, soon};
use super::{BUDGET, PATH, TEN, asked_by, impatient};
use zkrecipes::{AclChoice, Auth, Client, CreateMode, ErrorKind, Queue, QueueOptions};
use zkrecipes_embedded::Fault;

fn sharded(client: &Client, options: QueueOptions) -> Queue {
    client.queue(PATH, options.shards(3)).expect("valid")
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_put_through_a_handle_of_its_own_each_time_is_spread_as_well() {
    let server = server();
    let client = client(&server).await;
    for _ in 0..20 {
        let queue = client.queue(PATH, QueueOptions::default().shards(3)).expect("valid");
        queue.put(b"x").await.expect("put");
    }
    let first = nodes_under(&server, &format!("{PATH}/0")).len();
    assert!(first < 20, "all of them are in the first shard");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_gives_a_time_to_take_from_shards_hears_that_it_is_over_also_without_a_server() {
    let server = server();
    let consumer = impatient(&server).await;
    let queue = sharded(&consumer, QueueOptions::default());
    queue.put_many(&["one", "two"]).await.expect("put");
    assert_eq!(queue.get().await.expect("there are some"), b"one");
    server.inject(Fault::refuse_connections(1).forever());
    server.drop_connections();
    // It knows of the second one.
    let error = queue.get_timeout(BUDGET / 2).await.expect_err("out of time");
    assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    server.clear_faults();
    assert_eq!(soon("the get", queue.get()).await.expect("it went back, or was not taken"), b"two");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_knows_of_an_item_that_cannot_be_read_in_time_hears_that_it_is_over() {
    let server = server();
    let consumer = impatient(&server).await;
    let queue = sharded(&consumer, QueueOptions::default());
    queue.put_many(&["one", "two"]).await.expect("put");
    assert_eq!(queue.get().await.expect("there are some"), b"one");
    // Time is the subject: what was read ahead of the second one does not count any more.
    tokio::time::sleep(Duration::from_millis(1100)).await;
    server.inject(Fault::refuse_connections(1).forever());
    server.drop_connections();
    // It begins anywhere, and not every time at the shard that it knows of.
    let limit = Duration::from_millis(50);
    for is_claim in [false, true].repeat(10) {
        let queue = queue.clone();
        // In a task of its own: one that never rests would not see how late it is.
        let taking = tokio::spawn(async move {
            match is_claim {
                true => queue.claim_timeout(limit).await.map(drop),
                false => queue.get_timeout(limit).await.map(drop),
            }
        });
        let error = soon("the end", taking).await.expect("joined").expect_err("out of time");
        assert_eq!(error.kind(), ErrorKind::Timeout, "{error}");
    }
    server.clear_faults();
    // Longer than its patience, maybe, until it is connected again.
    let got = async {
        loop {
            match queue.get().await {
                Err(error) if error.kind() == ErrorKind::ConnectionLost => {}
                got => break got,
            }
        }
    };
    assert_eq!(soon("the get", got).await.expect("it is there"), b"two");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_shard_at_which_nobody_may_look_stops_nobody_at_the_others() {
    let server = server();
    let (producer, consumer) = (client(&server).await, client(&server).await);
    let (put, take) =
        (sharded(&producer, QueueOptions::default()), sharded(&consumer, QueueOptions::default()));
    let mine = options(TEN).auth(Auth::new("digest", "owner:secret")).acl(AclChoice::Creator);
    let owner = Client::connect(&server.connect_string(), mine).await.expect("connected");
    producer.nodes().ensure(PATH).await.expect("everybody's");
    owner.nodes().create(&format!("{PATH}/1"), b"", CreateMode::Persistent).await.expect("hidden");
    for _ in 0..3 {
        // The first, the second, or the third is refused.
        let _ = put.put(b"one").await;
    }
    assert_eq!(take.peek().await.expect("from another"), Some(b"one".to_vec()));
    assert_eq!(take.items().await.expect("the others'"), [b"one", b"one"]);
    assert_eq!(take.len().await.expect_err("not all can be counted").kind(), ErrorKind::Denied);
    for is_patient in [true, false] {
        let limit = if is_patient { BUDGET } else { Duration::ZERO };
        assert_eq!(soon("a get", take.get_timeout(limit)).await.expect("from another"), b"one");
    }
    for limit in [Duration::ZERO, BUDGET / 2] {
        let error = soon("a get", take.get_timeout(limit)).await.expect_err("nothing that we may see");
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    }
    // Who waits does so at the others.
    let waiting = tokio::spawn({
        let take = take.clone();
        async move { take.get().await }
    });
    eventually("it waits", || server.watch_count() >= 4).await;
    while !waiting.is_finished() {
        // One of three goes where nobody may put.
        let _ = put.put_timeout(b"two", BUDGET).await;
    }
    assert_eq!(soon("the get", waiting).await.expect("joined").expect("from another"), b"two");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_at_shards_waits_through_an_outage() {
    let server = server();
    let (producer, consumer) = (client(&server).await, impatient(&server).await);
    let (put, take) =
        (sharded(&producer, QueueOptions::default()), sharded(&consumer, QueueOptions::default()));
    put.put_many(&["zero"]).await.expect("put");
    let getting = tokio::spawn(async move { [take.get().await, take.get().await] });
    eventually("it waits at all of them", || server.watch_count() == 6).await;
    let fault = server.inject(Fault::drop_before("getData").session(consumer.session_id()));
    server.inject(Fault::refuse_connections(1).forever());
    put.put(b"one").await.expect("put");
    eventually("it is cut off", || server.fault_fired(fault)).await;
    // Time is the subject: longer than servers may be silent.
    tokio::time::sleep(BUDGET + Duration::from_millis(300)).await;
    server.clear_faults();
    let got = soon("the get", getting).await.expect("joined");
    assert_eq!(got.map(|got| got.expect("it has waited")), [b"zero".to_vec(), b"one".to_vec()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_known_of_one_shard_is_taken_without_a_look_at_the_others() {
    let server = server();
    let client = client(&server).await;
    let queue = sharded(&client, QueueOptions::default());
    queue.put_many(&["0"; 30]).await.expect("put");
    queue.get().await.expect("there are some");
    // What it asked where it then need not wait is answered before this.
    client.nodes().exists("/").await.expect("asked");
    server.clear_log();
    for _ in 0..20 {
        queue.get().await.expect("there are some");
    }
    let asked = asked_by(&server, &client);
    let lists = asked.iter().filter(|op| op.starts_with("getChildren")).count();
    assert_eq!(lists, 0, "{asked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn dead_letters_are_spread_over_the_shards_when_they_are_put_back() {
    let server = server();
    let client = client(&server).await;
    let queue = sharded(&client, QueueOptions::default().max_attempts(1));
    let all: Vec<_> = (0..6).map(|n| n.to_string().into_bytes()).collect();
    queue.put_many(&all).await.expect("put");
    for _ in &all {
        soon("a claim", queue.claim()).await.expect("there are some").nack().await.expect("ours");
    }
    assert_eq!(queue.dead().items().await.expect("read").len(), all.len());
    assert_eq!(queue.dead().replay().await.expect("moved"), all.len());
    assert_eq!(queue.replay().await.expect("the same"), 0);
    for shard in 0..3 {
        assert_eq!(nodes_under(&server, &format!("{PATH}/{shard}")).len(), 2, "in shard {shard}");
    }
    let mut got = Vec::new();
    for _ in &all {
        got.push(soon("a get", queue.get()).await.expect("there are some"));
    }
    got.sort();
    assert_eq!(got, all);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_put_together_is_spread_by_transactions_and_the_error_says_which_went_in() {
    let server = server();
    let producer = client(&server).await;
    let queue = sharded(&producer, QueueOptions::default());
    let items: Vec<_> = (0..1500).map(|n| n.to_string()).collect();
    queue.put_many(&items).await.expect("put");
    let in_shards = || [0, 1, 2].map(|shard| nodes_under(&server, &format!("{PATH}/{shard}")).len());
    assert_eq!(in_shards(), [500; 3]);
    queue.put_many(&["few"; 9]).await.expect("put");
    let mut together = in_shards().map(|items| items - 500);
    together.sort_unstable();
    assert_eq!(together, [0, 0, 9], "one transaction");
    let large = vec![vec![b'x'; 300_000]; 9];
    queue.put_many(&large).await.expect("3 in a transaction");
    let mut spread = in_shards().map(|items| items - 500);
    spread.sort_unstable();
    assert_eq!(spread, [3, 3, 12]);
    // One that no server takes is refused before any of the others is sent.
    let before = queue.len().await.expect("looked");
    let mut with_one_too_large: Vec<_> = items[..900].iter().map(|item| item.clone().into_bytes()).collect();
    with_one_too_large[700] = vec![b'x'; 2_000_000];
    let error = queue.put_many(&with_one_too_large).await.expect_err("too large");
    assert_eq!((error.kind(), error.put()), (ErrorKind::TooLarge, Some(0)));
    assert_eq!(queue.len().await.expect("looked"), before);
}
