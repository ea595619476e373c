//! Following and looking through servers that lag behind the leader: late perhaps, but never back in time, and in the end what
//! is there.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::support::{eventually, options, soon};
use tokio::sync::watch;
use zkrecipes::{
    Client, CommitMode, CreateMode, Election, ElectionOptions, Feed, GroupEvent, Leader, NodeState, Outcome,
    Partitioner, Queue, QueueOptions, Result, TwoPhaseCommit, WatchKind,
};
use zkrecipes_embedded::{Ensemble, Fault, Server};

const ELECTION: &str = "/elections/lagging";
const FOLLOWED: &str = "/followed";
const TEN: Duration = Duration::from_secs(10);

fn ensemble() -> Ensemble {
    let builder = Server::builder().tick(Duration::from_millis(100));
    builder.max_session_timeout(Duration::from_secs(60)).start_ensemble(3).expect("free ports")
}

async fn client_of(hosts: &str) -> Client {
    Client::connect(hosts, options(TEN)).await.expect("it answers")
}

/// One on the leader; one that hops between the followers whenever its connection breaks.
async fn both(ensemble: &Ensemble) -> (Client, Client) {
    let member = |number| ensemble.member(number).expect("a member");
    (client_of(&member(0)).await, client_of(&format!("{},{}", member(1), member(2))).await)
}

fn lag(ensemble: &Ensemble) {
    assert!(ensemble.lag(1, Duration::from_millis(40)) && ensemble.lag(2, Duration::from_millis(200)));
}

fn election_of(client: &Client) -> Election {
    client.election(ELECTION, b"", ElectionOptions::default()).expect("valid")
}

#[tokio::test(flavor = "multi_thread")]
async fn who_looks_is_told_who_leads_now() {
    let ensemble = ensemble();
    let (candidate, onlooker) = both(&ensemble).await;
    let looks = election_of(&onlooker);
    lag(&ensemble);
    for _ in 0..5 {
        let leads = election_of(&candidate).campaign().await.expect("elected");
        let leader = soon("an answer", looks.leader()).await.expect("asked").expect("somebody leads");
        assert_eq!(leader.epoch, leads.epoch());
        leads.release().await.expect("resigned");
        assert_eq!(soon("an answer", looks.leader()).await.expect("asked"), None);
    }
}

async fn first<T: Send + 'static>(mut feed: Feed<T>) -> T {
    soon("the first state", feed.next()).await.expect("it goes on").expect("no error")
}

/// Opens what `follow` makes after each change, and compares what it tells first.
async fn begins_with_what_was_written<T, W>(
    follow: impl Fn(&Client) -> Feed<T>,
    is_it: impl Fn(T, &str) -> bool,
    write: W,
) where
    T: Send + 'static,
    W: AsyncFn(&Client, &str) -> Result<()>,
{
    let ensemble = ensemble();
    let (writer, follower) = both(&ensemble).await;
    writer.nodes().ensure(FOLLOWED).await.expect("there");
    lag(&ensemble);
    for round in 0..5 {
        let value = round.to_string();
        while let Err(error) = write(&writer, &value).await {
            // Its connection broke, too.
            assert!(error.is_retryable(), "{error}");
        }
        assert!(is_it(first(follow(&follower)).await, &value), "older than {value}");
        // Also on another follower, which may not have come as far as the first.
        ensemble.server().drop_connections();
    }
}

async fn set(writer: &Client, value: &str) -> Result<()> {
    writer.config(&format!("{FOLLOWED}/a"))?.set(value.as_bytes(), None).await.map(drop)
}

async fn add(writer: &Client, value: &str) -> Result<()> {
    writer.nodes().ensure(&format!("{FOLLOWED}/{value}")).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_of_a_config_begins_with_its_value() {
    let node = format!("{FOLLOWED}/a");
    let follow = |client: &Client| client.config(&node).expect("valid").watch();
    begins_with_what_was_written(
        follow,
        |state, value| state.is_some_and(|state| state.value == value.as_bytes()),
        set,
    )
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_of_a_group_begins_with_its_members() {
    let follow = |client: &Client| client.group(FOLLOWED, Default::default()).expect("valid").watch();
    let is_it = |event, value: &str| match event {
        GroupEvent::Snapshot(members) => members.contains_key(value),
        _ => false,
    };
    begins_with_what_was_written(follow, is_it, add).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_of_names_begins_with_what_they_stand_for() {
    let follow = |client: &Client| client.names(FOLLOWED).expect("valid").watch();
    let is_it = |names: BTreeMap<String, Vec<u8>>, value: &str| {
        names.get("a").is_some_and(|data| data == value.as_bytes())
    };
    begins_with_what_was_written(follow, is_it, set).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_watch_of_a_node_begins_with_what_is_there() {
    let node = format!("{FOLLOWED}/a");
    let of = |kind| move |client: &Client, path: &str| client.nodes().watch(path, kind).expect("valid");
    let data = |state: NodeState, value: &str| match state {
        NodeState::Data(found) => found.is_some_and(|(data, _)| data == value.as_bytes()),
        _ => false,
    };
    begins_with_what_was_written(|client| of(WatchKind::Data)(client, &node), data, set).await;
    let children = |state: NodeState, value: &str| match state {
        NodeState::Children(names) => names.is_some_and(|names| names.iter().any(|name| name == value)),
        _ => false,
    };
    begins_with_what_was_written(|client| of(WatchKind::Children)(client, FOLLOWED), children, add).await;
    let below = |state: NodeState, value: &str| match state {
        NodeState::Subtree(all) => all.get(&node).is_some_and(|(data, _)| data == value.as_bytes()),
        _ => false,
    };
    begins_with_what_was_written(|client| of(WatchKind::Subtree)(client, FOLLOWED), below, set).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_observes_is_told_first_who_leads_now() {
    let ensemble = ensemble();
    let (candidate, observer) = both(&ensemble).await;
    lag(&ensemble);
    for _ in 0..5 {
        let leads = election_of(&candidate).campaign().await.expect("elected");
        leads.acknowledge(b"at work").await.expect("it leads");
        let leader = first(election_of(&observer).observe()).await.expect("somebody leads");
        assert_eq!((leader.epoch, leader.acknowledged), (leads.epoch(), true));
        leads.release().await.expect("resigned");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_observes_never_goes_back_and_ends_with_who_leads() {
    let ensemble = ensemble();
    let (candidate, observer) = both(&ensemble).await;
    let (told, telling) = watch::channel(None::<Leader>);
    let mut feed = election_of(&observer).observe();
    let following = tokio::spawn(async move {
        let mut last = 0;
        while let Some(now) = feed.next().await {
            let now = now.expect("no error");
            let epoch = now.as_ref().map_or(last, |leader| leader.epoch);
            assert!(epoch >= last, "from {last} back to {epoch}");
            last = epoch;
            told.send_replace(now);
        }
    });
    lag(&ensemble);
    for round in 0..20u64 {
        let leads = election_of(&candidate).campaign().await.expect("elected");
        leads.acknowledge(b"at work").await.expect("it leads");
        if round % 4 == 0 {
            ensemble.server().drop_connections();
        }
        if round % 5 == 4 {
            let known = || telling.borrow().as_ref().map(|leader| (leader.epoch, leader.acknowledged));
            eventually("it is known who leads", || known() == Some((leads.epoch(), true))).await;
        }
        // Unconfirmed, if that connection was one of those that broke, it goes on in the background.
        let _ = leads.release().await;
    }
    eventually("it is known that nobody leads", || telling.borrow().is_none()).await;
    observer.close(Some(TEN)).await.expect("closed");
    following.await.expect("it never goes back");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_follows_a_subtree_ends_with_what_is_there() {
    type Known = BTreeMap<String, (Vec<u8>, i64)>;
    let ensemble = ensemble();
    let (writer, follower) = both(&ensemble).await;
    let nodes = writer.nodes();
    nodes.ensure(FOLLOWED).await.expect("there");
    let (told, telling) = watch::channel(Known::new());
    let mut feed = follower.nodes().watch(FOLLOWED, WatchKind::Subtree).expect("valid");
    let following = tokio::spawn(async move {
        let mut last = BTreeMap::new();
        while let Some(state) = feed.next().await {
            let NodeState::Subtree(all) = state.expect("no error") else { panic!("another kind") };
            for (path, (_, stat)) in &all {
                let before = last.insert(path.clone(), stat.mzxid).unwrap_or(0);
                assert!(stat.mzxid >= before, "{path} goes back from {before} to {}", stat.mzxid);
            }
            told.send_replace(
                all.into_iter().map(|(path, (data, stat))| (path, (data, stat.mzxid))).collect(),
            );
        }
    });
    lag(&ensemble);
    let mut dice = 0x9e37_79b9_7f4a_7c15u64;
    for round in 0..400 {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        let path = format!("{FOLLOWED}/{}", dice % 6);
        let path = if dice % 7 < 3 { format!("{path}/{}", dice / 64 % 4) } else { path };
        let data = round.to_string().into_bytes();
        // What cannot be done, because it is there or not, is as good as what can.
        let _ = match dice / 1024 % 6 {
            0..=2 => nodes.create(&path, &data, CreateMode::Persistent).await.map(drop),
            3 | 4 => nodes.set(&path, &data, None).await.map(drop),
            _ => nodes.delete_all(&path).await,
        };
        if round % 50 == 49 {
            ensemble.server().drop_connections();
        }
    }
    let mut there = Known::new();
    let mut pending = vec![FOLLOWED.to_owned()];
    while let Some(path) = pending.pop() {
        let (data, stat) = nodes.get(&path).await.expect("nobody writes any more");
        let names = nodes.children(&path).await.expect("nobody writes any more");
        pending.extend(names.iter().map(|name| format!("{path}/{name}")));
        there.insert(path, (data, stat.mzxid));
    }
    assert!(there.len() > 5, "{there:?}");
    eventually("what is there is known", || *telling.borrow() == there).await;
    follower.close(Some(TEN)).await.expect("closed");
    following.await.expect("it never goes back");
}

/// A client of a follower that learns of everything late.
async fn late(ensemble: &Ensemble) -> Client {
    let client = client_of(&ensemble.member(1).expect("a member")).await;
    assert!(ensemble.lag(1, Duration::from_millis(300)));
    client
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_to_go_goes_though_the_server_has_not_heard_of_it_and_the_request_is_lost() {
    let ensemble = ensemble();
    let writer = client_of(&ensemble.member(0).expect("a member")).await;
    let node = format!("{FOLLOWED}/a");
    writer.nodes().ensure(FOLLOWED).await.expect("there");
    let other = late(&ensemble).await;
    for what in ["barrier", "name"] {
        writer.nodes().create(&node, b"", CreateMode::Persistent).await.expect("made");
        let lost = ensemble.server().inject(Fault::drop_before("delete").session(other.session_id()));
        let gone = async {
            match what {
                "barrier" => other.barrier(&node)?.remove().await,
                _ => other.names(FOLLOWED)?.unbind("a").await,
            }
        };
        soon("an answer", gone).await.expect("gone");
        assert!(ensemble.server().fault_fired(lost), "{what}");
        assert_eq!(writer.nodes().exists(&node).await.expect("asked"), None, "{what}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_owners_of_partitions_are_those_of_now_for_one_sync() {
    const PATH: &str = "/partitions/lagging";
    let of =
        |client: &Client| -> Partitioner { client.partitioner(PATH, 8, Default::default()).expect("valid") };
    let ensemble = ensemble();
    let owner = client_of(&ensemble.member(0).expect("a member")).await;
    let (member, onlooker) = (of(&owner), late(&ensemble).await);
    let mut held = Vec::new();
    while held.len() < 8 {
        held.push(soon("a partition", member.next(None)).await.expect("won"));
    }
    ensemble.server().clear_log();
    let owners = soon("an answer", of(&onlooker).owners()).await.expect("asked");
    assert!(owners.values().all(Option::is_some), "{owners:?}");
    let is_sync = |entry: &&zkrecipes_embedded::LogEntry| {
        entry.session_id == onlooker.session_id() && entry.op == "sync" && entry.path.starts_with(PATH)
    };
    assert_eq!(ensemble.server().log().iter().filter(is_sync).count(), 1);
    held.clear();
    soon("it leaves", member.leave()).await.expect("left");
    let owners = soon("an answer", of(&onlooker).owners()).await.expect("asked");
    assert!(owners.values().all(Option::is_none), "{owners:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_named_by_its_id_is_found_though_the_server_has_not_heard_of_it() {
    let commits = |client: &Client| -> TwoPhaseCommit {
        client.two_phase_commit("/commits/lagging", CommitMode::Coordinator).expect("valid")
    };
    let queue = |client: &Client| -> Queue {
        client.queue("/queues/lagging", QueueOptions::default().max_attempts(1)).expect("valid")
    };
    let ensemble = ensemble();
    let writer = client_of(&ensemble.member(0).expect("a member")).await;
    let operator = late(&ensemble).await;
    for id in ["one", "two", "three"] {
        let _begun = commits(&writer).begin(id, &["a"], b"", Duration::from_secs(60)).await.expect("begun");
        let decided = soon("an answer", commits(&operator).decide_abort(id, "")).await;
        assert_eq!(decided.expect("it is there"), Outcome::Abort);
        let queue_of_writer = queue(&writer);
        queue_of_writer.put(b"spam").await.expect("put");
        queue_of_writer.claim().await.expect("claimed").nack().await.expect("given back");
        let letters = queue_of_writer.dead().items().await.expect("listed");
        let replayed = soon("an answer", queue(&operator).replay_one(&letters[0].id)).await;
        assert_eq!(replayed.expect("asked"), 1);
        queue_of_writer.get().await.expect("taken");
    }
}
