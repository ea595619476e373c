//! Following: what catching up costs, and the end of a feed that nobody reads.

use std::time::Duration;

use crate::support::ground::grounds;
use crate::support::{eventually, soon};
use futures_util::future::join_all;
use zkrecipes::{CreateMode, NodeState, WatchKind};

const PATH: &str = "/following";
const TEN: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread")]
async fn those_who_follow_wait_for_one_server_to_catch_up_once() {
    const MANY: usize = 100;
    for ground in grounds() {
        let (client, other) = (ground.client(Duration::from_secs(4)).await, ground.client(TEN).await);
        other.nodes().ensure(PATH).await.expect("there");
        let path = |number: usize| format!("{PATH}/{number}");
        let mut feeds = Vec::new();
        for number in 0..MANY {
            other.nodes().create(&path(number), b"before", CreateMode::Persistent).await.expect("created");
            let mut feed = client.nodes().watch(&path(number), WatchKind::Data).expect("valid");
            soon("the first", feed.next()).await.expect("open").expect("told");
            feeds.push(feed);
        }
        for number in 0..MANY {
            other.nodes().set(&path(number), b"after", None).await.expect("set");
        }
        let before = client.session_id();
        ground.expire(before).await;
        eventually("a new session", || ![0, before].contains(&client.session_id())).await;
        let states = soon("the news", join_all(feeds.iter_mut().map(|feed| feed.next()))).await;
        for state in states {
            let NodeState::Data(Some((data, _))) = state.expect("open").expect("told") else {
                panic!("gone")
            };
            assert_eq!(data, b"after");
        }
        let syncs = ground.requests_of(&client, "sync");
        let syncs = syncs.iter().filter(|sync| sync.path.contains(PATH)).count();
        assert!((1..=2).contains(&syncs), "{syncs} for {MANY} feeds");
        drop(feeds);
        other.nodes().delete_all(PATH).await.expect("deleted");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_feed_that_nobody_reads_is_closed_from_elsewhere() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        client.nodes().ensure(PATH).await.expect("there");
        let mut feed = client.nodes().watch(PATH, WatchKind::Data).expect("valid");
        soon("the first", feed.next()).await.expect("open").expect("told");
        let reading = tokio::time::timeout(Duration::from_millis(50), feed.next()).await;
        assert!(reading.is_err(), "{reading:?}");
        eventually("it is watched", || ground.watch_count() == 1).await;
        feed.closer().close();
        eventually("no watch is left", || ground.watch_count() == 0).await;
        assert!(feed.next().await.is_none());
        client.nodes().delete_all(PATH).await.expect("deleted");
    }
}
