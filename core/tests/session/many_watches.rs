//! A session watches as much as it likes: more than one request could set again on a new connection.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::ground::{Ground, grounds};
use crate::support::{eventually, soon};
use zkrecipes::{Client, CreateMode, Feed, GroupEvent, GroupOptions, NodeState, WatchKind};

const PATH: &str = "/groups/long";
const THIRTY: Duration = Duration::from_secs(30);
/// The paths of all of them are more than a server takes in one request.
const MANY: usize = 400;
/// So many go into one transaction.
const AT_ONCE: usize = 100;

fn name(number: usize) -> String {
    format!("{number:04}{}", "x".repeat(2800))
}

async fn set_all(client: &Client, data: &str) {
    for first in (0..MANY).step_by(AT_ONCE) {
        let some = client.nodes().transaction();
        for number in first..first + AT_ONCE {
            some.set(&format!("{PATH}/{}", name(number)), data.as_bytes(), None).expect("it fits");
        }
        some.commit().await.expect("applied");
    }
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

async fn gathered(crowd: &Client) {
    crowd.nodes().ensure(PATH).await.expect("there");
    for first in (0..MANY).step_by(AT_ONCE) {
        let some = crowd.nodes().transaction();
        for number in first..first + AT_ONCE {
            some.create(&format!("{PATH}/{}", name(number)), b"", CreateMode::Ephemeral).expect("it fits");
        }
        some.commit().await.expect("applied");
    }
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
async fn what_many_watches_tell_is_told_also_behind_a_reconnection() {
    for ground in grounds() {
        let (crowd, watcher) = (ground.client(THIRTY).await, ground.client(THIRTY).await);
        let mut feed = followed(&watcher, &crowd).await;
        for data in ["second", "third"] {
            ground.clear_log();
            set_all(&crowd, data).await;
            told(&mut feed, data).await;
            assert_eq!(ground.requests_of(&watcher, "getData").len(), MANY, "each is read once");
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
        crowd.close(Some(THIRTY)).await.expect("closed");
        eventually("no watch is left", || ground.watch_count() == 0).await;
    }
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
    let each = kinds.into_iter().flat_map(|kind| grounds().into_iter().map(move |on| quiet(on, kind)));
    let running: Vec<_> = each.map(tokio::spawn).collect();
    for one in running {
        one.await.expect("no panic");
    }
}

/// A group, or a subtree, of which nothing is heard for a while.
async fn quiet(ground: Ground, kind: Option<WatchKind>) {
    let (crowd, watcher) = (ground.client(THIRTY).await, ground.client(Duration::from_secs(2)).await);
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
    crowd.close(Some(THIRTY)).await.expect("closed");
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
