//! Following nodes: whatever is changed by whomever, and whatever breaks meanwhile, who follows ends up with what is there.
//!
//! `ZKR_CHANGES=10000` makes the storms ten times as long; `SEED` makes another one.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::support::ground::{Ground, grounds};
use crate::support::{eventually, soon};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use zkrecipes::{
    Client, CreateMode, ErrorKind, Feed, GroupEvent, GroupOptions, NodeState, Result, Stat, WatchKind,
};
use zkrecipes_embedded::Fault;

const PATH: &str = "/followed";
const TEN: Duration = Duration::from_secs(10);

type Subtree = BTreeMap<String, (Vec<u8>, Stat)>;

fn changes() -> usize {
    std::env::var("ZKR_CHANGES").ok().and_then(|changes| changes.parse().ok()).unwrap_or(1000)
}

async fn next(feed: &mut Feed<NodeState>) -> NodeState {
    soon("a state", feed.next()).await.expect("it goes on").expect("no error")
}

/// The same schedule for the same seed, as far as the network allows.
struct Dice(u64);

impl Dice {
    fn of(writer: u64) -> Dice {
        let seed =
            std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0x9e37_79b9_7f4a_7c15);
        Dice(seed ^ (writer + 1).wrapping_mul(0xff51_afd7_ed55_8ccd))
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }
}

/// Creates, changes and deletes at random; what fails for the storm's reasons is as good as what does not.
async fn write_at_random(client: Client, writer: u64, count: usize) {
    let mut dice = Dice::of(writer);
    let nodes = client.nodes();
    for round in 0..count {
        let mut path = PATH.to_owned();
        for _ in 0..=dice.below(3) {
            path = format!("{path}/{}", dice.below(4));
        }
        let data = format!("{writer}-{round}").into_bytes();
        let done: Result<()> = match dice.below(10) {
            0..=2 => nodes.create(&path, &data, CreateMode::Persistent).await.map(drop),
            3 => nodes.create(&path, &data, CreateMode::Ephemeral).await.map(drop),
            4..=5 => nodes.set(&path, &data, None).await.map(drop),
            6 => nodes.delete(&path, None).await,
            7 => nodes.delete_all(&path).await,
            _ => replace(&client, &path, &data).await,
        };
        if let Err(error) = done {
            let fine = [
                ErrorKind::NoNode,
                ErrorKind::Exists,
                ErrorKind::NotEmpty,
                ErrorKind::ConnectionLost,
                // Below an ephemeral node.
                ErrorKind::Invalid,
            ];
            assert!(fine.contains(&error.kind()), "{error}");
        }
    }
}

/// Another node under the same name, so fast that no list can tell.
async fn replace(client: &Client, path: &str, data: &[u8]) -> Result<()> {
    let both = client.nodes().transaction();
    both.delete(path, None)?;
    both.create(path, data, CreateMode::Persistent)?;
    both.commit().await.map(drop)
}

/// Breaks connections and ends sessions until it is told to stop.
fn break_things(ground: &Ground, clients: Vec<Client>) -> (Arc<AtomicBool>, JoinHandle<usize>) {
    let stop = Arc::new(AtomicBool::new(false));
    let (ground, stopped) = (ground.clone(), stop.clone());
    let breaking = tokio::spawn(async move {
        let (mut dice, mut broken) = (Dice::of(99), 0);
        while !stopped.load(Ordering::Acquire) {
            tokio::time::sleep(Duration::from_millis(20 + dice.below(60))).await;
            match dice.below(4) {
                0 => {
                    let session = clients[dice.below(clients.len() as u64) as usize].session_id();
                    if session != 0 {
                        ground.expire(session).await;
                    }
                }
                1 => drop(ground.inject(Fault::drop_after("*"))),
                _ => ground.break_connections(),
            }
            broken += 1;
        }
        broken
    });
    (stop, breaking)
}

/// What is there, as a client sees it that has nothing to do with the storm.
async fn tree(client: &Client) -> Subtree {
    let nodes = client.nodes();
    let mut all = Subtree::new();
    let mut pending = vec![PATH.to_owned()];
    while let Some(path) = pending.pop() {
        if let Ok(found) = nodes.get(&path).await {
            let names = nodes.children(&path).await.unwrap_or_default();
            pending.extend(names.iter().map(|name| format!("{path}/{name}")));
            all.insert(path, found);
        }
    }
    all
}

fn without_stats(all: &Subtree) -> BTreeMap<String, (Vec<u8>, i64, i64)> {
    all.iter().map(|(path, (data, stat))| (path.clone(), (data.clone(), stat.czxid, stat.mzxid))).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_storm_the_last_state_told_is_what_is_there() {
    for ground in grounds() {
        let (follower, quiet) = (ground.client(Duration::from_secs(4)).await, ground.client(TEN).await);
        quiet.nodes().ensure(PATH).await.expect("there");
        let mut writers = Vec::new();
        for _ in 0..3 {
            writers.push(ground.client(Duration::from_secs(4)).await);
        }
        let (told, telling) = watch::channel(Subtree::new());
        let mut feed = follower.nodes().watch(PATH, WatchKind::Subtree).expect("valid");
        let following = tokio::spawn(async move {
            let mut states = 0;
            while let Some(state) = feed.next().await {
                let NodeState::Subtree(all) = state.expect("no error") else { panic!("another kind") };
                states += 1;
                told.send_replace(all);
            }
            states
        });
        let breakable: Vec<_> = writers.iter().cloned().chain([follower.clone()]).collect();
        let (stop, breaking) = break_things(&ground, breakable);
        let writing: Vec<_> = (0..)
            .zip(&writers)
            .map(|(at, writer)| tokio::spawn(write_at_random(writer.clone(), at, changes() / 3)))
            .collect();
        for writer in writing {
            writer.await.expect("no panic");
        }
        stop.store(true, Ordering::Release);
        assert!(breaking.await.expect("no panic") > 0);
        ground.clear_faults();
        for writer in &writers {
            writer.close(Some(TEN)).await.expect("closed");
        }
        // Nobody writes any more, but what was ephemeral may still be going.
        let matches = async {
            loop {
                let there = tree(&quiet).await;
                if without_stats(&there) == without_stats(&telling.borrow()) {
                    return there.len();
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        if tokio::time::timeout(crate::support::SOON, matches).await.is_err() {
            assert_eq!(without_stats(&telling.borrow()), without_stats(&tree(&quiet).await));
        }
        follower.close(Some(TEN)).await.expect("closed");
        assert!(following.await.expect("no panic") > 1);
        quiet.nodes().delete_all(PATH).await.expect("deleted");
        eventually("no watch is left", || ground.watch_count() == 0).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_storm_a_follower_of_a_group_knows_its_members() {
    for ground in grounds() {
        let (follower, quiet) = (ground.client(Duration::from_secs(4)).await, ground.client(TEN).await);
        let mut crowd = Vec::new();
        for _ in 0..3 {
            crowd.push(ground.client(Duration::from_secs(4)).await);
        }
        let (told, telling) = watch::channel(BTreeMap::new());
        let mut feed = follower.group(PATH, GroupOptions::default()).expect("valid").watch();
        let following = tokio::spawn(async move {
            let mut known = BTreeMap::new();
            while let Some(event) = feed.next().await {
                match event.expect("no error") {
                    GroupEvent::Snapshot(members) => known = members,
                    GroupEvent::Joined { name, data } => {
                        assert!(known.insert(name.clone(), data).is_none(), "{name} was in already");
                    }
                    GroupEvent::Left { name } => assert!(known.remove(&name).is_some(), "{name} was not in"),
                    GroupEvent::Changed { name, data } => {
                        assert!(known.insert(name.clone(), data).is_some(), "{name} was not in");
                    }
                    unknown => panic!("{unknown:?}"),
                }
                told.send_replace(known.clone());
            }
        });
        let (stop, breaking) =
            break_things(&ground, crowd.iter().cloned().chain([follower.clone()]).collect());
        let mut members = Vec::new();
        for (at, client) in (0u64..).zip(&crowd) {
            let group = client.group(PATH, GroupOptions::default()).expect("valid");
            members.push(tokio::spawn(async move {
                let mut dice = Dice::of(at);
                let mut is_in = false;
                for round in 0..changes() / 30 {
                    let data = format!("{at}-{round}").into_bytes();
                    let name = format!("m{at}");
                    if !is_in {
                        // One that could not be confirmed is withdrawn.
                        is_in = group.join(&name, &data).await.is_ok();
                    } else if dice.below(3) == 0 {
                        let _ = group.leave().await;
                        is_in = false;
                    } else {
                        group.update(&data).await.expect("a server is there now and then");
                    }
                }
                while !is_in {
                    is_in = group.join(&format!("m{at}"), b"").await.is_ok();
                }
                group.update(format!("last-{at}").as_bytes()).await.expect("updated");
                group
            }));
        }
        let mut groups = Vec::new();
        for member in members {
            groups.push(member.await.expect("no panic"));
        }
        stop.store(true, Ordering::Release);
        assert!(breaking.await.expect("no panic") > 0);
        ground.clear_faults();
        let all: BTreeMap<_, _> =
            (0..3).map(|at| (format!("m{at}"), format!("last-{at}").into_bytes())).collect();
        let of_quiet = quiet.group(PATH, GroupOptions::default()).expect("valid");
        soon("they are all in", async { while of_quiet.members().await.expect("listed") != all {} }).await;
        eventually("the follower knows", || *telling.borrow() == all).await;
        for group in groups {
            group.leave().await.expect("left");
        }
        eventually("the follower knows", || telling.borrow().is_empty()).await;
        follower.close(Some(TEN)).await.expect("closed");
        following.await.expect("no panic");
        eventually("no watch is left", || ground.watch_count() == 0).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn children_that_come_and_go_unseen_make_no_difference() {
    let ground = grounds().remove(0);
    let (client, other) = (ground.client(TEN).await, ground.client(TEN).await);
    other.nodes().ensure(PATH).await.expect("there");
    let mut feed = client.nodes().watch(PATH, WatchKind::Children).expect("valid");
    assert_eq!(next(&mut feed).await, NodeState::Children(Some(vec![])));
    let brief = format!("{PATH}/brief");
    other.nodes().create(&brief, b"", CreateMode::Persistent).await.expect("created");
    other.nodes().delete(&brief, None).await.expect("deleted");
    other.nodes().create(&format!("{PATH}/stays"), b"", CreateMode::Persistent).await.expect("created");
    assert_eq!(next(&mut feed).await, NodeState::Children(Some(vec!["stays".to_owned()])));
    other.nodes().create(&brief, b"", CreateMode::Persistent).await.expect("created");
    other.nodes().delete(&brief, None).await.expect("deleted");
    let quiet = tokio::time::timeout(Duration::from_millis(200), feed.next()).await;
    assert!(quiet.is_err(), "{quiet:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_comes_below_a_node_that_was_changed_and_replaced_at_once_is_told() {
    for ground in grounds() {
        let (client, other) = (ground.client(TEN).await, ground.client(TEN).await);
        let node = format!("{PATH}/x");
        other.nodes().ensure(&node).await.expect("there");
        let mut feed = client.nodes().watch(PATH, WatchKind::Subtree).expect("valid");
        next(&mut feed).await;
        // The watch on the data tells of the change alone, the one on the children of the deletion.
        let all = other.nodes().transaction();
        all.set(&node, b"changed", None).expect("valid");
        all.delete(&node, None).expect("valid");
        all.create(&node, b"replaced", CreateMode::Persistent).expect("valid");
        all.commit().await.expect("committed");
        let is_told = |state: &NodeState, path: &str, data: &[u8]| match state {
            NodeState::Subtree(all) => all.get(path).is_some_and(|(found, _)| found == data),
            _ => false,
        };
        while !is_told(&next(&mut feed).await, &node, b"replaced") {}
        let below = format!("{node}/below");
        other.nodes().create(&below, b"here", CreateMode::Persistent).await.expect("created");
        while !is_told(&next(&mut feed).await, &below, b"here") {}
        feed.close();
        other.nodes().delete_all(PATH).await.expect("deleted");
        eventually("no watch is left", || ground.watch_count() == 0).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sync_that_is_refused_is_asked_less_and_less_often() {
    let ground = grounds().remove(0);
    let (client, other) = (ground.client(Duration::from_secs(4)).await, ground.client(TEN).await);
    other.nodes().create(PATH, b"before", CreateMode::Persistent).await.expect("created");
    let mut feed = client.nodes().watch(PATH, WatchKind::Data).expect("valid");
    next(&mut feed).await;
    ground.inject(Fault::answer_throttled("sync").forever());
    other.nodes().set(PATH, b"after", None).await.expect("set");
    ground.expire(client.session_id()).await;
    let quiet = tokio::time::timeout(Duration::from_secs(2), feed.next()).await;
    assert!(quiet.is_err(), "told without a sync: {quiet:?}");
    let syncs = ground.requests_of(&client, "sync").len();
    assert!((2..=10).contains(&syncs), "asked {syncs} times in 2 s");
    ground.clear_faults();
    let NodeState::Data(Some((data, _))) = next(&mut feed).await else { panic!("not seen") };
    assert_eq!(data, b"after");
}

/// The next server may be one that lags behind the deletion of a node that was there before: it has yet to learn of both.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_was_missing_in_the_last_session_is_told_only_behind_a_sync() {
    for ground in grounds() {
        let (client, other) = (ground.client(Duration::from_secs(4)).await, ground.client(TEN).await);
        let mut feed = client.nodes().watch(PATH, WatchKind::Data).expect("valid");
        assert_eq!(next(&mut feed).await, NodeState::Data(None));
        let count = |op: &str| {
            ground.log().iter().filter(|entry| entry.op == op && entry.path.ends_with(PATH)).count()
        };
        let (looks, at_first) = (count("exists"), count("sync"));
        assert!(looks > 0);
        ground.expire(client.session_id()).await;
        let following = tokio::spawn(async move { (next(&mut feed).await, feed) });
        eventually("it is looked for again", || count("exists") > looks).await;
        assert_eq!(count("sync"), at_first, "no news");
        other.nodes().create(PATH, b"created", CreateMode::Persistent).await.expect("created");
        let (state, mut feed) = soon("news", following).await.expect("no panic");
        let NodeState::Data(Some((data, _))) = state else { panic!("{state:?}") };
        assert_eq!(data, b"created");
        assert_eq!(count("sync"), at_first + 1, "the server had to catch up first");
        other.nodes().set(PATH, b"set", None).await.expect("set");
        let NodeState::Data(Some((data, _))) = next(&mut feed).await else { panic!("not seen") };
        assert_eq!(data, b"set");
        assert_eq!(count("sync"), at_first + 1, "which it has");
        other.nodes().delete(PATH, None).await.expect("deleted");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bad_path_and_a_closed_client_are_refused_at_once() {
    let ground = grounds().remove(0);
    let client = ground.client(TEN).await;
    for kind in [WatchKind::Data, WatchKind::Children, WatchKind::Subtree] {
        assert_eq!(client.nodes().watch("relative", kind).expect_err("bad").kind(), ErrorKind::Invalid);
    }
    assert_eq!("sideways".parse::<WatchKind>().expect_err("bad").kind(), ErrorKind::Invalid);
    client.close(Some(TEN)).await.expect("closed");
    assert_eq!(client.nodes().watch(PATH, WatchKind::Data).expect_err("closed").kind(), ErrorKind::Closed);
}
