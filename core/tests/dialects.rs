//! Servers that speak the protocol and are not ZooKeeper, or not of today: what they lack, and what they count otherwise.

mod support;

use std::time::Duration;

use support::{eventually, lock_of, options, soon};
use zkrecipes::{Client, CreateMode, Feed, GroupEvent, NodeState, WatchKind};
use zkrecipes_embedded::{Dialect, Server};

const PATH: &str = "/dialects";
const TEN: Duration = Duration::from_secs(10);
/// With names of a thousand letters, a session can watch half of them.
const MANY: usize = 240;

fn server(change: impl FnOnce(&mut Dialect)) -> Server {
    let mut dialect = Dialect::default();
    change(&mut dialect);
    let builder = Server::builder().tick(Duration::from_millis(100));
    builder.min_session_timeout(Duration::from_millis(200)).dialect(dialect).start().expect("a free port")
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
async fn where_containers_are_refused_as_a_mistake_parents_are_persistent() {
    let server = server(|dialect| dialect.refuses_containers = true);
    let client = client(&server, TEN).await;
    for name in ["a", "b"] {
        let held = soon("the lock", lock_of(&client, &format!("{PATH}/{name}")).acquire()).await;
        held.expect("it is free").release().await.expect("released");
    }
    let asked = server.log().iter().filter(|entry| entry.op == "createContainer").count();
    assert_eq!(asked, 1, "then it is known");
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
    assert_eq!(client.metrics().reconnections, 2, "twice, and then it is known");
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
    assert_eq!(client.metrics().reconnections, 2, "twice, and then it is known");
}

fn name(number: usize) -> String {
    format!("{number:04}{}", "x".repeat(1000))
}

/// Follows more members than a session can watch one by one.
async fn follows_many(watcher: &Client, other: &Client) -> Feed<GroupEvent> {
    other.nodes().ensure(PATH).await.expect("there");
    let all = other.nodes().transaction();
    for number in 0..MANY {
        all.create(&format!("{PATH}/{}", name(number)), b"", CreateMode::Persistent).expect("it fits");
    }
    all.commit().await.expect("applied");
    let mut feed = watcher.group(PATH, Default::default()).expect("valid").watch();
    assert!(matches!(next(&mut feed).await, GroupEvent::Snapshot(members) if members.len() == MANY));
    feed
}

/// Whichever of them is not watched.
async fn hears_of_all(feed: &mut Feed<GroupEvent>, other: &Client) {
    for number in 0..MANY {
        other.nodes().set(&format!("{PATH}/{}", name(number)), b"new", None).await.expect("set");
    }
    for _ in 0..MANY {
        assert!(matches!(next(feed).await, GroupEvent::Changed { .. }));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn where_recursive_watches_are_not_known_the_connection_is_broken_once() {
    // As ZooKeeper 3.5: it says so, and hangs up.
    let server = server(|dialect| {
        dialect.unknown = ["addWatch", "setWatches2", "multiRead"].map(str::to_owned).to_vec();
    });
    let (watcher, other) = (client(&server, Duration::from_secs(2)).await, client(&server, TEN).await);
    let mut feed = follows_many(&watcher, &other).await;
    let following = tokio::spawn(async move {
        // What is not watched is looked at every quarter of the timeout.
        let quiet = tokio::time::timeout(Duration::from_secs(3), feed.next()).await;
        assert!(quiet.is_err(), "{quiet:?}");
        feed
    });
    let mut feed = following.await.expect("no panic");
    hears_of_all(&mut feed, &other).await;
    eventually("it is in touch", || watcher.state() == zkrecipes::State::Connected).await;
    assert_eq!(watcher.metrics().reconnections, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_recursive_watch_does_not_tell_is_found_all_the_same() {
    let server = server(|dialect| dialect.has_deaf_watches = true);
    let (watcher, other) = (client(&server, Duration::from_secs(1)).await, client(&server, TEN).await);
    let mut feed = follows_many(&watcher, &other).await;
    hears_of_all(&mut feed, &other).await;
}
