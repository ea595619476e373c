//! More than one session can watch node by node: a bell for the rest, where the server has one, and the clock where not.

mod support;

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use support::ground::{Ground, grounds};
use support::{eventually, soon};
use zkrecipes::{Client, CreateMode, Feed, GroupEvent, GroupOptions};
use zkrecipes_embedded::{Fault, Server};

const PATH: &str = "/groups/long";
const TEN: Duration = Duration::from_secs(10);
/// With names of a thousand letters, a session can watch half of them.
const MANY: usize = 240;

fn name(number: usize) -> String {
    format!("{number:04}{}", "x".repeat(1000))
}

async fn set_all(client: &Client, data: &str) {
    let all = client.nodes().transaction();
    for number in 0..MANY {
        all.set(&format!("{PATH}/{}", name(number)), data.as_bytes(), None).expect("it fits");
    }
    all.commit().await.expect("applied");
}

/// Until everybody is known to say that.
async fn told(feed: &mut Feed<GroupEvent>, data: &str) {
    let mut missing: BTreeSet<String> = (0..MANY).map(name).collect();
    while !missing.is_empty() {
        let left = missing.len();
        let event = soon(&format!("{left} more that say {data}"), feed.next()).await;
        match event.expect("open").expect("told") {
            GroupEvent::Changed { name, data: said } if said == data.as_bytes() => _ = missing.remove(&name),
            GroupEvent::Changed { .. } => {}
            other => panic!("{other:?}"),
        }
    }
}

/// Follows a crowd; everybody says "first" by the time it is returned.
async fn followed(ground: &Ground, watcher: &Client, crowd: &Client) -> Feed<GroupEvent> {
    crowd.nodes().ensure(PATH).await.expect("there");
    let all = crowd.nodes().transaction();
    for number in 0..MANY {
        all.create(&format!("{PATH}/{}", name(number)), b"", CreateMode::Ephemeral).expect("it fits");
    }
    all.commit().await.expect("applied");
    let mut feed = watcher.group(PATH, GroupOptions::default()).expect("valid").watch();
    let first = soon("a snapshot", feed.next()).await.expect("open").expect("told");
    assert!(matches!(first, GroupEvent::Snapshot(members) if members.len() == MANY));
    assert_eq!(
        ground.requests_of(watcher, "addWatch").len(),
        0,
        "no event has told yet what the server knows"
    );
    set_all(crowd, "first").await;
    told(&mut feed, "first").await;
    feed
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_session_cannot_watch_one_by_one_is_told_at_once() {
    for ground in grounds() {
        // A quarter of the session timeout is how long it would take without a bell.
        let (crowd, watcher) = (ground.client(TEN).await, ground.client(Duration::from_secs(20)).await);
        let mut feed = followed(&ground, &watcher, &crowd).await;
        for data in ["second", "third"] {
            ground.clear_log();
            let began = Instant::now();
            set_all(&crowd, data).await;
            told(&mut feed, data).await;
            assert!(began.elapsed() < Duration::from_secs(3), "told after {:?}", began.elapsed());
            assert_eq!(ground.requests_of(&watcher, "getData").len(), MANY, "each is read once");
            assert_eq!(ground.requests_of(&watcher, "addWatch").len(), 0, "the bell stays");
        }

        // What happens while the connection is broken is told as well, and so is what happens later.
        ground.go_away();
        eventually("it is out of touch", || watcher.state() != zkrecipes::State::Connected).await;
        ground.come_back();
        set_all(&crowd, "fourth").await;
        told(&mut feed, "fourth").await;
        set_all(&crowd, "fifth").await;
        told(&mut feed, "fifth").await;
        feed.close();
        crowd.close(Some(TEN)).await.expect("closed");
        eventually("no watch is left", || ground.watch_count() == 0).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bell_goes_when_nobody_listens_and_nobody_watches_its_path() {
    for ground in grounds() {
        let (crowd, watcher) = (ground.client(TEN).await, ground.client(Duration::from_secs(2)).await);
        let mut feed = followed(&ground, &watcher, &crowd).await;
        eventually("a bell", || ground.requests_of(&watcher, "addWatch").len() == 1).await;
        // The watch on the list of the group is there yet when there is nothing more to listen to.
        let half = crowd.nodes().transaction();
        for number in 0..MANY {
            half.delete(&format!("{PATH}/{}", name(number)), None).expect("it fits");
        }
        half.commit().await.expect("applied");
        for _ in 0..MANY {
            soon("it has left", feed.next()).await.expect("open").expect("told");
        }
        let nobody = tokio::time::timeout(Duration::from_millis(100), feed.next()).await;
        assert!(nobody.is_err(), "{nobody:?}");
        feed.close();
        eventually("no watch is left", || ground.watch_count() == 0).await;
        crowd.close(Some(TEN)).await.expect("closed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_bell_it_is_looked_at_now_and_then() {
    let old = Server::builder().emulate("3.8").min_session_timeout(Duration::from_secs(2)).start();
    let refusing = grounds().remove(0);
    refusing.inject(Fault::answer_throttled("addWatch").forever());
    for (ground, knows) in [(Ground::Embedded(old.expect("a free port")), false), (refusing, true)] {
        let (crowd, watcher) = (ground.client(TEN).await, ground.client(Duration::from_secs(2)).await);
        let mut feed = followed(&ground, &watcher, &crowd).await;
        set_all(&crowd, "second").await;
        told(&mut feed, "second").await;
        // One that would forget it is not asked; one that refuses is asked again, as often as is looked.
        let bells = ground.requests_of(&watcher, "addWatch").len();
        assert_eq!(bells > 0, knows, "{bells}");
        assert!(bells < 3 * MANY, "{bells}");
    }
}
