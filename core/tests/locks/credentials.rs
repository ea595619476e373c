//! What a client with credentials makes is its own: nobody else can break, release, read or forge it, nor what it stands in.

use std::time::Duration;

use crate::support::commits::{begun, next, of, site};
use crate::support::ground::{Ground, grounds};
use crate::support::{eventually, lock_of, options, soon};
use zkrecipes::{
    Auth, Client, CommitMode, CreateMode, ElectionOptions, ErrorKind, GroupOptions, QueueOptions, Result,
};

const TEN: Duration = Duration::from_secs(10);

async fn named(ground: &Ground, name: &str) -> Client {
    ground.client_with(options(TEN).auth(Auth::new("digest", format!("{name}:secret")))).await
}

/// Every node that the client sees, the root of its world first.
async fn all_of(client: &Client) -> Vec<String> {
    let mut found = vec!["/".to_owned()];
    let mut next = 0;
    while let Some(path) = found.get(next).cloned() {
        next += 1;
        // The server's own nodes are nobody's.
        let below = client.nodes().children(&path).await.expect("ours").into_iter();
        let below = below.filter(|name| name != "zookeeper");
        found.extend(below.map(|name| format!("{}/{name}", path.trim_end_matches('/'))));
    }
    found
}

fn denied<T>(what: &str, path: &str, answer: Result<T>) {
    match answer {
        Ok(_) => panic!("a stranger can {what} {path}"),
        // A mark goes when it has not been used for a second.
        Err(error) if error.kind() == ErrorKind::NoNode && path.ends_with("-change") => {}
        Err(error) => assert_eq!(error.kind(), ErrorKind::Denied, "{what} {path}: {error}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_can_do_nothing_to_what_is_ours() {
    for ground in grounds() {
        // The first one makes the chroot.
        let (owner, waiter) = (named(&ground, "owner").await, named(&ground, "owner").await);
        let none = Default::default;
        let held = lock_of(&owner, "/ours/lock").acquire().await.expect("free");
        let waiting = tokio::spawn(lock_of(&waiter, "/ours/lock").acquire());
        eventually("it queues", || ground.nodes_under("/ours/lock").len() == 2).await;
        let reading =
            owner.read_write_lock("/ours/sides").expect("valid").read().acquire().await.expect("free");
        let permits = owner.semaphore("/ours/permits", 3).expect("valid").acquire(2).await.expect("free");
        let election = owner.election("/ours/election", b"me", ElectionOptions::default()).expect("valid");
        let leading = soon("leading", election.campaign()).await.expect("elected");
        let queue = owner.queue("/ours/queue", QueueOptions::default()).expect("valid");
        queue.put_many(&["one", "two", "three"]).await.expect("put");
        let item = soon("an item", queue.claim()).await.expect("claimed");
        let config = owner.config("/ours/config").expect("valid");
        config.set(b"value", None).await.expect("set");
        let counter = owner.counter("/ours/counter", none()).expect("valid");
        counter.add(7).await.expect("added");
        let group = owner.group("/ours/group", GroupOptions::default()).expect("valid");
        group.join("me", b"data").await.expect("joined");
        let names = owner.names("/ours/names").expect("valid");
        names.bind("us", b"here", false).await.expect("bound");
        owner.barrier("/ours/barrier").expect("valid").create().await.expect("made");
        let (coordinator, voter) = (of(&owner, CommitMode::Coordinator), site(&waiter, "bank").await);
        let transaction = begun(&coordinator, "one", &["bank", "shop"]).await;
        next(&voter).await.vote_commit().await.expect("voted");

        let all = all_of(&owner).await;
        assert!(all.len() > 30, "{all:?}");
        // On the embedded server the root itself is everybody's, as on any that is new.
        let is_everybodys = |path: &str| path == "/" && matches!(ground, Ground::Embedded(_));
        for stranger in [named(&ground, "stranger").await, ground.client(TEN).await] {
            let nodes = stranger.nodes();
            for path in all.iter().filter(|path| !is_everybodys(path)) {
                denied("read", path, nodes.get(path).await);
                denied("list", path, nodes.children(path).await);
                denied("write", path, nodes.set(path, b"mine", None).await);
                let below = format!("{}/forged", path.trim_end_matches('/'));
                denied("create below", path, nodes.create(&below, b"", CreateMode::Persistent).await);
                if path.matches('/').count() > 1 {
                    denied("delete", path, nodes.delete(path, None).await);
                    let forging = nodes.transaction();
                    forging.delete(path, None).expect("valid");
                    denied("delete in a transaction", path, forging.commit().await);
                }
            }
            // By the recipes themselves as well.
            let lock = lock_of(&stranger, "/ours/lock");
            denied("revoke", "/ours/lock", lock.revoke(None, Some(Duration::ZERO)).await);
            denied("wait for", "/ours/lock", soon("a lock", lock.acquire()).await);
            let queue = stranger.queue("/ours/queue", QueueOptions::default()).expect("valid");
            denied("put into", "/ours/queue", queue.put(b"forged").await);
            denied("take from", "/ours/queue", soon("an item", queue.claim()).await);
            denied("read", "/ours/config", stranger.config("/ours/config").expect("valid").get().await);
            denied(
                "change",
                "/ours/counter",
                stranger.counter("/ours/counter", none()).expect("valid").add(1).await,
            );
            let commits = of(&stranger, CommitMode::Coordinator);
            denied("decide", "/ours/commits", commits.decide_abort("one", "").await);
        }

        for held in [&held, &reading, &permits] {
            held.verify().await.expect("held all the while");
        }
        assert!(election.is_leader() && !waiting.is_finished());
        assert_eq!(config.get().await.expect("ours").map(|value| value.value), Some(b"value".to_vec()));
        assert_eq!(counter.get().await.expect("ours"), 7);
        item.ack().await.expect("ours");
        coordinator.decide_abort("one", "").await.expect("ours");
        transaction.outcome(None).await.expect("decided");
        leading.release().await.expect("released");
        held.release().await.expect("released");
        let next = soon("the next", waiting).await.expect("joined").expect("the lock");
        next.release().await.expect("released");
        owner.close(None).await.expect("closed");
    }
}
