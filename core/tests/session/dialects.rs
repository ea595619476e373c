//! Servers that speak the protocol and are not ZooKeeper, or not of today: what they lack, and what they count otherwise.

use std::time::Duration;

use crate::support::{eventually, lock_of, options, soon};
use zkrecipes::{Client, CreateMode, ErrorKind, Feed, NodeState, QueueOptions, WatchKind};
use zkrecipes_embedded::wire::Code;
use zkrecipes_embedded::{Dialect, Fault, Server};

const PATH: &str = "/dialects";
const TEN: Duration = Duration::from_secs(10);

fn server(change: impl FnOnce(&mut Dialect)) -> Server {
    let mut dialect = Dialect::default();
    change(&mut dialect);
    let builder = Server::builder().tick(Duration::from_millis(100));
    builder.min_session_timeout(Duration::from_millis(200)).dialect(dialect).start().expect("a free port")
}

/// One of [`Dialect::NAMES`].
fn emulated(name: &str) -> Server {
    let builder = Server::builder().tick(Duration::from_millis(100)).emulate(name);
    builder.min_session_timeout(Duration::from_millis(200)).start().expect("a free port")
}

async fn client(server: &Server, timeout: Duration) -> Client {
    Client::connect(&server.connect_string(), options(timeout)).await.expect("it answers")
}

async fn next<T: Send + 'static>(feed: &mut Feed<T>) -> T {
    soon("news", feed.next()).await.expect("it goes on").expect("no error")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_that_has_gone_is_told_where_pzxid_does_not_say_so() {
    let server = server(|dialect| dialect.keeps_pzxid = true);
    let (client, other) = (client(&server, TEN).await, client(&server, TEN).await);
    for name in ["a", "b"] {
        other.nodes().ensure(&format!("{PATH}/{name}")).await.expect("there");
    }
    let mut feed = client.nodes().watch(PATH, WatchKind::Children).expect("valid");
    assert_eq!(next(&mut feed).await, NodeState::Children(Some(vec!["a".into(), "b".into()])));
    other.nodes().delete(&format!("{PATH}/a"), None).await.expect("deleted");
    assert_eq!(next(&mut feed).await, NodeState::Children(Some(vec!["b".into()])));
}

#[tokio::test(flavor = "multi_thread")]
async fn where_containers_are_refused_as_a_mistake_or_a_fault_parents_are_persistent() {
    for refusal in [Code::BadArguments, Code::RuntimeInconsistency] {
        let server = server(|dialect| dialect.refuses_containers = Some(refusal));
        let client = client(&server, TEN).await;
        for name in ["a", "b"] {
            let held = soon("the lock", lock_of(&client, &format!("{PATH}/{name}")).acquire()).await;
            held.expect("it is free").release().await.expect("released");
        }
        let asked = server.log().iter().filter(|entry| entry.op == "createContainer").count();
        assert_eq!(asked, 1, "then it is known");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_the_server_hangs_up_on_containers_parents_are_persistent() {
    let server = server(|dialect| {
        dialect.unknown = vec!["createContainer".to_owned()];
        dialect.is_mute = true;
    });
    let client = client(&server, TEN).await;
    for name in ["a", "b"] {
        let held = soon("the lock", lock_of(&client, &format!("{PATH}/{name}")).acquire()).await;
        held.expect("it is free").release().await.expect("released");
    }
    assert_eq!(client.metrics().reconnections, 4, "four times, and then it is known");
}

#[tokio::test(flavor = "multi_thread")]
async fn where_the_server_hangs_up_on_many_reads_in_one_they_are_read_one_by_one() {
    let server = server(|dialect| {
        dialect.unknown = vec!["multiRead".to_owned()];
        dialect.is_mute = true;
    });
    let client = client(&server, TEN).await;
    for name in ["a", "b", "c"] {
        client.nodes().ensure(&format!("{PATH}/{name}")).await.expect("there");
    }
    let group = client.group(PATH, Default::default()).expect("valid");
    assert_eq!(soon("the members", group.members()).await.expect("read").len(), 3);
    assert_eq!(soon("the members", group.members()).await.expect("read").len(), 3);
    assert_eq!(client.metrics().reconnections, 4, "four times, and then it is known");
}

/// As ZooKeeper 3.5: it says that it does not know them, and hangs up.
fn without_watches_that_stay() -> Server {
    server(|dialect| {
        dialect.unknown = ["addWatch", "setWatches2", "multiRead"].map(str::to_owned).to_vec();
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn where_watches_that_stay_are_not_known_nobody_asks_for_one_who_follows_a_group() {
    let server = without_watches_that_stay();
    let (watcher, other) = (client(&server, TEN).await, client(&server, TEN).await);
    other.nodes().ensure(PATH).await.expect("there");
    let mut feed = watcher.nodes().watch(PATH, WatchKind::Subtree).expect("valid");
    next(&mut feed).await;
    for round in 1..=3 {
        let node = format!("{PATH}/{round}");
        other.nodes().create(&node, b"", CreateMode::Persistent).await.expect("created");
        let is_told = |state: NodeState| matches!(state, NodeState::Subtree(all) if all.contains_key(&node));
        while !is_told(next(&mut feed).await) {}
        // The watches are set again.
        server.drop_connections();
        let are_back = || [&watcher, &other].iter().all(|client| client.metrics().reconnections == round);
        eventually("both are in touch again", are_back).await;
    }
    assert!(!server.log().iter().any(|asked| asked.op == "addWatch" || asked.op == "setWatches2"));
}

#[tokio::test(flavor = "multi_thread")]
async fn where_watches_that_stay_are_not_known_a_full_queue_has_room_in_time_and_the_connection_is_broken_once()
 {
    let server = without_watches_that_stay();
    let (putter, taker) = (client(&server, TEN).await, client(&server, TEN).await);
    let queue = |of: &Client| of.queue(PATH, QueueOptions::default().max_items(1)).expect("valid");
    let (puts, takes) = (queue(&putter), queue(&taker));
    for item in ["a", "b", "c"] {
        puts.put(item.as_bytes()).await.expect("there is room");
        let mut waiting = Box::pin(puts.put_timeout(b"next", TEN));
        let quiet = tokio::time::timeout(Duration::from_millis(300), &mut waiting).await;
        assert!(quiet.is_err(), "there was no room");
        soon("an item", takes.get()).await.expect("taken");
        soon("room", waiting).await.expect("put");
        soon("an item", takes.get()).await.expect("taken");
    }
    assert_eq!(putter.metrics().reconnections, 1);
    let log = server.log();
    let of_putter = |op: &str| {
        let asked = log.iter().filter(|asked| asked.session_id == putter.session_id() && asked.path == PATH);
        asked.filter(|asked| asked.op.starts_with(op)).count()
    };
    assert_eq!(of_putter("getChildren"), 0, "nothing is listed");
}

#[tokio::test(flavor = "multi_thread")]
async fn room_that_came_between_the_count_and_the_watch_is_seen_where_watches_that_stay_are_not_known() {
    let server = without_watches_that_stay();
    let (putter, taker) = (client(&server, TEN).await, client(&server, TEN).await);
    let queue = |of: &Client| of.queue(PATH, QueueOptions::default().max_items(1)).expect("valid");
    let (puts, takes) = (queue(&putter), queue(&taker));
    puts.put(b"a").await.expect("there is room");
    puts.put_timeout(b"b", Duration::from_millis(300)).await.expect_err("there is none");
    let late = Fault::delay_request("setWatches", Duration::from_millis(500)).session(putter.session_id());
    let late = server.inject(late);
    let waiting = tokio::spawn(async move { puts.put(b"b").await });
    eventually("it has counted, and is about to watch", || server.fault_fired(late)).await;
    soon("an item", takes.get()).await.expect("taken");
    soon("room", waiting).await.expect("joined").expect("put");
}

#[tokio::test(flavor = "multi_thread")]
async fn clickhouse_keeper_and_raftkeeper_are_asked_for_nothing_that_they_may_not_know() {
    for name in Dialect::NAMES {
        let server = emulated(name);
        let (a, b) = (client(&server, TEN).await, client(&server, TEN).await);
        let (first, second) = (lock_of(&a, PATH), lock_of(&b, PATH));
        let held = soon("the lock", first.acquire()).await.expect("it is free");
        let mut waiting = Box::pin(second.acquire());
        let quiet = tokio::time::timeout(Duration::from_millis(300), &mut waiting).await;
        assert!(quiet.is_err(), "{name}: it is held");
        let token = held.fencing_token();
        held.release().await.expect("released");
        let next = soon("the lock", waiting).await.expect("it was let go");
        assert!(next.fencing_token() > token, "{name}: {} behind {token}", next.fencing_token());
        next.release().await.expect("released");
        // Withdrawn: its watches are given up.
        let held = soon("the lock", first.acquire()).await.expect("it is free");
        let late = second.acquire_timeout(Duration::from_millis(50)).await;
        assert_eq!(late.expect_err("it is held").kind(), ErrorKind::Timeout);
        let group = b.group("/group", Default::default()).expect("valid");
        soon("the members", group.join("b", b"")).await.expect("joined");
        assert_eq!(soon("the members", group.members()).await.expect("read").len(), 1, "{name}");
        held.verify().await.expect("still ours");
        held.release().await.expect("released");
        for one in [&a, &b] {
            assert_eq!(one.metrics().reconnections, 0, "{name}: no connection broke on a request");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_clickhouse_keeper_and_raftkeeper_may_not_know_is_refused_before_it_is_sent() {
    for name in Dialect::NAMES {
        let server = emulated(name);
        let client = client(&server, TEN).await;
        let ttl = CreateMode::PersistentTtl(Duration::from_secs(1));
        for refused in [
            client.whoami().await.expect_err("it is not asked"),
            client.nodes().create("/ttl", b"", ttl).await.expect_err("it is not asked"),
            client
                .nodes()
                .create("/container", b"", CreateMode::Container)
                .await
                .expect_err("it is not asked"),
        ] {
            assert_eq!(refused.kind(), ErrorKind::Invalid, "{name}: {refused}");
            let says = refused.to_string();
            assert!(refused.path() != Some("/container") || says.contains("persistent"), "{name}: {says}");
        }
        assert_eq!(client.metrics().reconnections, 0, "{name}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_held_at_clickhouse_keeper_is_lost_with_its_connection_and_can_be_had_again() {
    let server = emulated("clickhouse-keeper");
    let client = client(&server, Duration::from_secs(2)).await;
    let lock = lock_of(&client, PATH);
    let held = soon("the lock", lock.acquire()).await.expect("it is free");
    let (session, token) = (client.session_id(), held.fencing_token());
    server.drop_connections();
    eventually("it is lost", || !held.is_held()).await;
    // Behind the node of the session before, which stands until its timeout.
    let again = soon("the lock", lock.acquire()).await.expect("it is free in the end");
    assert!(again.fencing_token() > token && client.session_id() != session);
    again.release().await.expect("released");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_held_at_raftkeeper_outlasts_its_connection_and_who_watches_is_told() {
    let server = emulated("raftkeeper");
    let (holder, waiter) = (client(&server, TEN).await, client(&server, TEN).await);
    let held = soon("the lock", lock_of(&holder, PATH).acquire()).await.expect("it is free");
    let next = lock_of(&waiter, PATH);
    let mut waiting = Box::pin(next.acquire());
    let quiet = tokio::time::timeout(Duration::from_millis(300), &mut waiting).await;
    assert!(quiet.is_err(), "it is held");
    server.drop_connections();
    eventually("both are in touch again", || {
        [&holder, &waiter].iter().all(|one| one.metrics().reconnections == 1)
    })
    .await;
    held.verify().await.expect("still ours");
    held.release().await.expect("released");
    let next = soon("the lock", waiting).await.expect("it was let go");
    next.release().await.expect("released");
    assert!(
        !server.log().iter().any(|asked| asked.op.starts_with("setWatches")),
        "its watches of children would be lost"
    );
}
