//! A node that may not be read, of a stranger for example, keeps nobody from what stands beside it.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use crate::support::ground::{Ground, ground};
use crate::support::told::{SAID, said, text};
use crate::support::{eventually, options, soon};
use zkrecipes::{
    AclChoice, Auth, Client, CreateMode, ElectionOptions, ErrorKind, Feed, GroupEvent, Leader, NodeState,
    WatchKind,
};

const TEN: Duration = Duration::from_secs(10);

/// Nobody else may read what it makes.
async fn stranger(ground: &Ground) -> Client {
    let own = options(TEN).auth(Auth::new("digest", "stranger:secret")).acl(AclChoice::Creator);
    ground.client_with(own).await
}

/// Everybody may read the path and the node `ours`, and nobody but a stranger the node `theirs`.
async fn both(ground: &Ground, path: &str) -> (Client, Client) {
    LazyLock::force(&SAID);
    let (client, stranger) = (ground.client(TEN).await, stranger(ground).await);
    client.nodes().ensure(path).await.expect("everybody's");
    for (of, name) in [(&client, "ours"), (&stranger, "theirs")] {
        let node = format!("{path}/{name}");
        of.nodes().create(&node, name.as_bytes(), CreateMode::Persistent).await.expect("created");
    }
    (client, stranger)
}

async fn next<T: Send + 'static>(feed: &mut Feed<T>) -> T {
    soon("news", feed.next()).await.expect("it goes on").expect("no error")
}

/// The node was named, once.
async fn is_told_once(node: &str) {
    let told = || said("skipped").iter().filter(|record| text(record, "node") == node).count();
    eventually("it is named", || told() > 0).await;
    assert_eq!(told(), 1);
}

fn ours() -> BTreeMap<String, Vec<u8>> {
    BTreeMap::from([("ours".to_owned(), b"ours".to_vec())])
}

#[tokio::test(flavor = "multi_thread")]
async fn members_are_told_without_one_that_may_not_be_read() {
    let (ground, path) = (ground(), "/skipped/group");
    let (client, _stranger) = both(&ground, path).await;
    let group = client.group(path, Default::default()).expect("valid");
    for _ in 0..2 {
        assert_eq!(group.members().await.expect("the others"), ours());
    }
    let mut feed = group.watch();
    assert_eq!(next(&mut feed).await, GroupEvent::Snapshot(ours()));
    group.join("another", b"").await.expect("joined");
    assert_eq!(next(&mut feed).await, GroupEvent::Joined { name: "another".into(), data: vec![] });
    is_told_once(&format!("{path}/theirs")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_told_without_one_that_may_not_be_read() {
    let (ground, path) = (ground(), "/skipped/names");
    let (client, _stranger) = both(&ground, path).await;
    let names = client.names(path).expect("valid");
    assert_eq!(names.list().await.expect("listed"), ["ours", "theirs"], "no node of a name is read for that");
    let mut feed = names.watch();
    assert_eq!(next(&mut feed).await, ours());
    names.bind("another", b"", false).await.expect("bound");
    assert_eq!(next(&mut feed).await.into_keys().collect::<Vec<_>>(), ["another", "ours"]);
    is_told_once(&format!("{path}/theirs")).await;
}

fn paths(state: NodeState) -> Vec<String> {
    let NodeState::Subtree(all) = state else { panic!("{state:?}") };
    all.into_keys().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subtree_is_told_without_what_may_not_be_read_and_with_it_when_it_may() {
    let (ground, path) = (ground(), "/skipped/subtree");
    let (client, stranger) = both(&ground, path).await;
    let node = |name: &str| format!("{path}/{name}");
    stranger.nodes().create(&node("theirs/below"), b"", CreateMode::Persistent).await.expect("created");
    let mut feed = client.nodes().watch(path, WatchKind::Subtree).expect("valid");
    assert_eq!(paths(next(&mut feed).await), [path, &node("ours")]);
    is_told_once(&node("theirs")).await;
    stranger.nodes().delete_all(&node("theirs")).await.expect("deleted");
    client.nodes().create(&node("theirs"), b"", CreateMode::Persistent).await.expect("created");
    client.nodes().create(&node("theirs/below"), b"", CreateMode::Persistent).await.expect("created");
    let told = async { while paths(next(&mut feed).await).len() < 4 {} };
    soon("it is told", told).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_followed_itself_has_to_be_readable() {
    let (ground, path) = (ground(), "/skipped/own");
    let (client, _stranger) = both(&ground, path).await;
    let of = client.group(&format!("{path}/theirs"), Default::default()).expect("valid");
    let error = soon("the refusal", of.watch().next()).await.expect("told").expect_err("not ours");
    assert_eq!(error.kind(), ErrorKind::Denied);
    assert_eq!(of.members().await.expect_err("not ours").kind(), ErrorKind::Denied);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_observer_goes_on_over_a_leader_that_may_not_be_read() {
    let (ground, path) = (ground(), "/skipped/election");
    let (client, stranger) = both(&ground, path).await;
    let of = |client: &Client| client.election(path, b"", ElectionOptions::default()).expect("valid");
    let theirs = of(&stranger).campaign().await.expect("elected");
    let campaigning = tokio::spawn(of(&client).campaign());
    let election = of(&client);
    let mut feed = election.observe();
    let leader = next(&mut feed).await.expect("somebody leads");
    assert_eq!((leader.identity.as_str(), leader.epoch, leader.acknowledged), ("", 0, false));
    assert_eq!(election.leader().await.expect("asked"), Some(leader), "the same");
    is_told_once(theirs.node()).await;
    theirs.release().await.expect("resigned");
    let ours = soon("its turn", campaigning).await.expect("no panic").expect("elected");
    let told = soon("the next", async {
        loop {
            if let Some(Leader { epoch: 1.., identity, .. }) = next(&mut feed).await {
                return identity;
            }
        }
    });
    assert!(!told.await.is_empty());
    ours.release().await.expect("resigned");
    assert_eq!(next(&mut feed).await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn items_are_taken_without_one_that_may_not_be_read() {
    let (ground, path) = (ground(), "/skipped/queue");
    let (client, stranger) = (ground.client(TEN).await, stranger(&ground).await);
    LazyLock::force(&SAID);
    let of = |client: &Client| client.queue(path, Default::default()).expect("valid");
    let queue = of(&client);
    queue.put(b"first").await.expect("put");
    assert_eq!(queue.get().await.expect("there is one"), b"first");
    stranger
        .nodes()
        .create(&format!("{path}/qn-"), b"theirs", CreateMode::PersistentSequential)
        .await
        .expect("made");
    queue.put_many(&["one", "two", "three"]).await.expect("put");
    assert_eq!(soon("a get", queue.get()).await.expect("the next one"), b"one");
    let item = soon("a claim", queue.claim()).await.expect("the next one");
    assert_eq!(item.data(), b"two");
    item.ack().await.expect("ours");
    // A handle of its own looks anew, and tells nothing anew.
    drop(queue);
    let queue = of(&client);
    assert_eq!(soon("a get", queue.get()).await.expect("the next one"), b"three");
    assert_eq!(queue.try_get().await.expect("nothing else"), None);
    is_told_once(&format!("{path}/qn-0000000001")).await;
}
