//! More than one session can watch node by node: a bell for the rest, where the server has one, and the clock where not.

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use support::ground::{Ground, grounds};
use support::{eventually, soon};
use zkrecipes::{Client, CreateMode, Feed, GroupEvent, GroupOptions, NodeState, WatchKind};
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

/// Those of all tests, and a server that keeps one watch of a client on a path.
fn every_ground() -> Vec<Ground> {
    let old = Server::builder()
        .emulate("3.8")
        .tick(Duration::from_millis(100))
        .min_session_timeout(Duration::from_millis(200))
        .max_session_timeout(Duration::from_secs(60));
    let mut grounds = grounds();
    grounds.push(Ground::Embedded(old.start().expect("a free port")));
    grounds
}

async fn gathered(crowd: &Client) {
    crowd.nodes().ensure(PATH).await.expect("there");
    let all = crowd.nodes().transaction();
    for number in 0..MANY {
        all.create(&format!("{PATH}/{}", name(number)), b"", CreateMode::Ephemeral).expect("it fits");
    }
    all.commit().await.expect("applied");
}

/// Follows a crowd; everybody says "first" by the time it is returned.
async fn followed(watcher: &Client, crowd: &Client) -> Feed<GroupEvent> {
    gathered(crowd).await;
    let mut feed = watcher.group(PATH, GroupOptions::default()).expect("valid").watch();
    let first = soon("a snapshot", feed.next()).await.expect("open").expect("told");
    assert!(matches!(first, GroupEvent::Snapshot(members) if members.len() == MANY));
    set_all(crowd, "first").await;
    told(&mut feed, "first").await;
    feed
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_session_cannot_watch_one_by_one_is_told_at_once() {
    for ground in every_ground() {
        // A quarter of the session timeout is how long it would take without a bell.
        let (crowd, watcher) = (ground.client(TEN).await, ground.client(Duration::from_secs(20)).await);
        let mut feed = followed(&watcher, &crowd).await;
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
    for ground in every_ground() {
        let (crowd, watcher) = (ground.client(TEN).await, ground.client(Duration::from_secs(2)).await);
        let mut feed = followed(&watcher, &crowd).await;
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
    let ground = grounds().remove(0);
    ground.inject(Fault::answer_throttled("addWatch").forever());
    let (crowd, watcher) = (ground.client(TEN).await, ground.client(Duration::from_secs(2)).await);
    let mut feed = followed(&watcher, &crowd).await;
    set_all(&crowd, "second").await;
    told(&mut feed, "second").await;
    // One that refuses is asked again, as often as is looked.
    let bells = ground.requests_of(&watcher, "addWatch").len();
    assert!(bells > 0 && bells < 3 * MANY, "{bells}");
}

/// Until the client asks for nothing for a session timeout, but for the contact that an idle session keeps eight times in it.
/// Looking now and then is more often than that.
async fn is_quiet(ground: &Ground, client: &Client) {
    let mut busy = Vec::new();
    for _ in 0..5 {
        ground.clear_log();
        eventually("contacts", || ground.requests_of(client, "sync").len() >= 8).await;
        let session = client.session_id();
        let asked = ground
            .log()
            .into_iter()
            .filter(|entry| entry.session_id == session && !["ping", "sync"].contains(&entry.op));
        busy = asked.map(|entry| entry.op).collect();
        if busy.is_empty() {
            return;
        }
    }
    panic!("it asks and asks: {} requests while nothing happens, such as {:?}", busy.len(), busy.first());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quiet_crowd_costs_nothing_from_the_first_moment_and_behind_a_reconnection() {
    // All at once: most of it is waiting.
    let kinds = [None, Some(WatchKind::Subtree)];
    let each = kinds.into_iter().flat_map(|kind| every_ground().into_iter().map(move |on| quiet(on, kind)));
    let running: Vec<_> = each.map(tokio::spawn).collect();
    for one in running {
        one.await.expect("no panic");
    }
}

/// A group, or a subtree, of which nothing is heard for a while.
async fn quiet(ground: Ground, kind: Option<WatchKind>) {
    let (crowd, watcher) = (ground.client(TEN).await, ground.client(Duration::from_secs(1)).await);
    gathered(&crowd).await;
    // Read all the time, as it is with somebody who follows it: nothing is asked while nobody reads.
    let seen = Seen::default();
    let read = match kind {
        None => {
            let group = watcher.group(PATH, GroupOptions::default()).expect("valid");
            tokio::spawn(members(group.watch(), seen.clone()))
        }
        Some(kind) => tokio::spawn(states(watcher.nodes().watch(PATH, kind).expect("valid"), seen.clone())),
    };
    let all_say = |data: &str, but: Option<&str>| {
        let seen = seen.lock().expect("no panic");
        seen.len() == MANY - usize::from(but.is_some())
            && but.is_none_or(|name| !seen.contains_key(name))
            && seen.values().all(|said| said == data.as_bytes())
    };
    eventually("a snapshot", || all_say("", None)).await;
    is_quiet(&ground, &watcher).await;
    for (round, data) in ["first", "second"].into_iter().enumerate() {
        set_all(&crowd, data).await;
        eventually("what they say", || all_say(data, None)).await;
        for number in [round, MANY - 1 - round] {
            let node = format!("{PATH}/{}", name(number));
            crowd.nodes().delete(&node, None).await.expect("deleted");
            eventually("it has left", || all_say(data, Some(&name(number)))).await;
            crowd.nodes().create(&node, data.as_bytes(), CreateMode::Ephemeral).await.expect("made");
            eventually("it is back", || all_say(data, None)).await;
        }
        // Somebody else of this client follows the node itself, and does not want to any more.
        let mut own = watcher.nodes().watch(PATH, WatchKind::Data).expect("valid");
        soon("its state", own.next()).await.expect("open").expect("told");
        drop(own);
        if round == 0 {
            ground.break_connections();
            ground.clear_log();
            let is_back = || ground.log().iter().any(|asked| asked.session_id == watcher.session_id());
            eventually("it is back", is_back).await;
            is_quiet(&ground, &watcher).await;
        }
    }
    set_all(&crowd, "last").await;
    eventually("what they say last", || all_say("last", None)).await;
    read.abort();
    crowd.close(Some(TEN)).await.expect("closed");
    eventually("no watch is left", || ground.watch_count() == 0).await;
}

type Seen = Arc<Mutex<BTreeMap<String, Vec<u8>>>>;

async fn members(mut feed: Feed<GroupEvent>, seen: Seen) {
    while let Some(event) = feed.next().await {
        let mut seen = seen.lock().expect("no panic");
        match event.expect("told") {
            GroupEvent::Snapshot(all) => *seen = all,
            GroupEvent::Joined { name, data } | GroupEvent::Changed { name, data } => {
                _ = seen.insert(name, data)
            }
            GroupEvent::Left { name } => _ = seen.remove(&name),
            other => panic!("{other:?}"),
        }
    }
}

async fn states(mut feed: Feed<NodeState>, seen: Seen) {
    while let Some(state) = feed.next().await {
        let NodeState::Subtree(all) = state.expect("told") else { panic!("another kind") };
        let name = |path: &String| path.strip_prefix(PATH)?.strip_prefix('/').map(str::to_owned);
        *seen.lock().expect("no panic") =
            all.into_iter().filter_map(|(path, (data, _))| Some((name(&path)?, data))).collect();
    }
}
