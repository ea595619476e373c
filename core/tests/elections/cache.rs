//! A tree that is kept by the client: what it says is there, through which breaks it is followed, and how old it may be.

use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::support::ground::grounds;
use crate::support::{client_with, eventually, server, soon};
use zkrecipes::{ErrorKind, Feed, NodeCache};
use zkrecipes_embedded::Fault;

const TREE: &str = "/tree";
const TEN: Duration = Duration::from_secs(10);

fn data(cache: &NodeCache, path: &str) -> Option<Vec<u8>> {
    cache.get(path).expect("below it").map(|(data, _)| data)
}

async fn told(feed: &mut Feed<Vec<String>>) -> Vec<String> {
    soon("what changed", feed.next()).await.expect("it goes on").expect("no error")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cache_knows_all_that_is_there_and_costs_nothing_to_read() {
    for ground in grounds() {
        let (client, other) = (ground.client(TEN).await, ground.client(TEN).await);
        let nodes = other.nodes();
        for path in ["/tree/a/deep", "/tree/b", "/treetop"] {
            nodes.ensure(path).await.expect("there");
        }
        let cache = client.nodes().cache(TREE).await.expect("known");
        assert_eq!(cache.path(), TREE);
        ground.clear_log();
        assert_eq!(cache.children(TREE).expect("below it"), Some(vec!["a".to_owned(), "b".to_owned()]));
        assert_eq!(cache.children("/tree/b").expect("below it"), Some(vec![]));
        assert_eq!(cache.children("/tree/c").expect("below it"), None);
        assert_eq!((data(&cache, "/tree/a/deep"), data(&cache, "/tree/c")), (Some(vec![]), None));
        for path in ["/treetop", "/", "tree"] {
            assert_eq!(cache.get(path).expect_err("not below it").kind(), ErrorKind::Invalid, "{path}");
        }
        assert!(ground.requests_of(&client, "getData").is_empty() && ground.lists_of(&client).is_empty());

        let mut changes = cache.changes();
        assert_eq!(told(&mut changes).await, ["/tree", "/tree/a", "/tree/a/deep", "/tree/b"]);
        nodes.set("/tree/b", b"one", None).await.expect("set");
        assert_eq!(told(&mut changes).await, ["/tree/b"]);
        assert_eq!(data(&cache, "/tree/b"), Some(b"one".to_vec()), "known before it is told");
        nodes.delete_all("/tree/a").await.expect("deleted");
        while data(&cache, "/tree/a").is_some() || data(&cache, "/tree/a/deep").is_some() {
            told(&mut changes).await;
        }
        assert_eq!(cache.children(TREE).expect("below it"), Some(vec!["b".to_owned()]));
        let stat = cache.get("/tree/b").expect("below it").expect("there").1;
        assert_eq!(Some(stat), nodes.exists("/tree/b").await.expect("asked"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_root_may_be_kept_and_is_nobodys_child() {
    let server = server();
    let client = client_with(&server, TEN).await;
    client.nodes().ensure("/a/b").await.expect("there");
    let cache = client.nodes().cache("/").await.expect("known");
    let names = cache.children("/").expect("below it").expect("there");
    assert!(names.contains(&"a".to_owned()) && !names.contains(&String::new()), "{names:?}");
    assert_eq!(cache.children("/a").expect("below it"), Some(vec!["b".to_owned()]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cache_goes_on_over_connections_and_sessions_and_from_nothing() {
    for ground in grounds() {
        let (client, other) = (ground.client(TEN).await, ground.client(TEN).await);
        let cache = client.nodes().cache(TREE).await.expect("known");
        assert_eq!((data(&cache, TREE), cache.children(TREE).expect("below it")), (None, None));
        other.nodes().ensure("/tree/a").await.expect("there");
        eventually("it has come", || data(&cache, "/tree/a").is_some()).await;

        ground.break_connections();
        other.nodes().ensure("/tree/b").await.expect("there");
        eventually("it is seen over a new connection", || data(&cache, "/tree/b").is_some()).await;

        ground.expire(client.session_id()).await;
        other.nodes().delete("/tree/b", None).await.expect("deleted");
        other.nodes().set("/tree/a", b"new", None).await.expect("set");
        let is_seen =
            || data(&cache, "/tree/b").is_none() && data(&cache, "/tree/a") == Some(b"new".to_vec());
        eventually("it is seen in a new session", is_seen).await;

        let mut changes = cache.changes();
        assert_eq!(told(&mut changes).await, ["/tree", "/tree/a"]);
        client.close(None).await.expect("closed");
        assert!(soon("the end", changes.next()).await.is_none());
        assert_eq!(cache.get(TREE).expect_err("closed").kind(), ErrorKind::Closed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_follows_when_the_last_of_a_cache_and_its_feeds_has_gone() {
    let ground = grounds().remove(0);
    let client = ground.client(TEN).await;
    client.nodes().ensure("/tree/a").await.expect("there");
    let cache = client.nodes().cache(TREE).await.expect("known");
    let mut changes = cache.clone().changes();
    drop(cache);
    told(&mut changes).await;
    client.nodes().set("/tree/a", b"x", None).await.expect("set");
    assert_eq!(told(&mut changes).await, ["/tree/a"], "the feed keeps it");
    drop(changes);
    // A watch that nobody waits for is taken back, or goes when it is told.
    client.nodes().delete_all(TREE).await.expect("deleted");
    eventually("nothing is watched", || ground.watch_count() == 0).await;
    // And of a call that is given up.
    let nodes = client.nodes();
    for polls in 0..20 {
        let mut making = Box::pin(nodes.cache(TREE));
        for _ in 0..polls {
            if tokio::time::timeout(Duration::from_micros(100), making.as_mut()).await.is_ok() {
                break;
            }
        }
    }
    client.nodes().ensure(TREE).await.expect("there");
    client.nodes().delete_all(TREE).await.expect("deleted");
    eventually("nothing is watched", || ground.watch_count() == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cache_gets_no_older_while_servers_answer_and_old_while_they_do_not() {
    for ground in grounds() {
        let client = ground.client(Duration::from_secs(4)).await;
        client.nodes().ensure("/tree/a").await.expect("there");
        let cache = client.nodes().cache(TREE).await.expect("known");
        let made = Instant::now();
        let age = || cache.age();
        eventually("it is as young as the last sign of life", || {
            age() + Duration::from_secs(2) < made.elapsed()
        })
        .await;
        assert!(age() < Duration::from_secs(2));
        ground.go_away();
        eventually("it gets older", || age() > Duration::from_millis(2500)).await;
        ground.come_back();
        eventually("it is young again", || age() < Duration::from_millis(1500)).await;
    }
}

/// Whoever reads a state that is so old at most must not miss what was there before.
#[tokio::test(flavor = "multi_thread")]
async fn a_cache_is_never_older_than_it_says() {
    let server = server();
    let (client, other) = (client_with(&server, TEN).await, client_with(&server, TEN).await);
    let paths: Vec<_> = (0..200).map(|number| format!("/tree/{number}")).collect();
    for path in &paths {
        client.nodes().ensure(path).await.expect("there");
    }
    let cache = client.nodes().cache(TREE).await.expect("known");
    // What has changed takes a while to be read.
    server.inject(Fault::delay_reply("getData", Duration::from_millis(10)).forever());
    // By round, when all of it was known to be written.
    let written = Mutex::new(Vec::<Instant>::new());
    let until = Instant::now() + Duration::from_secs(4);
    let (mut looks, mut young) = (0, 0);
    let writing = async {
        let mut number = 0_usize;
        while Instant::now() < until {
            // Two hundred watches are told of at once.
            let (round, nodes) = (number.to_string(), other.nodes());
            let writes = paths.iter().map(|path| nodes.set(path, round.as_bytes(), None));
            for write in futures_util::future::join_all(writes).await {
                write.expect("set");
            }
            written.lock().expect("whole").push(Instant::now());
            number += 1;
            tokio::time::sleep(Duration::from_millis(150)).await;
        }
    };
    // Each answer is a sign of life, also one that comes while what has changed is still being read.
    client.nodes().ensure("/beside").await.expect("there");
    let living = async {
        while Instant::now() < until {
            client.nodes().set("/beside", b"", None).await.expect("set");
        }
    };
    let looking = async {
        while Instant::now() < until {
            let now = Instant::now();
            let stood = now.checked_sub(cache.age()).expect("not so old");
            let last = written.lock().expect("whole").iter().rposition(|at| *at <= stood);
            for path in &paths {
                let found = data(&cache, path).expect("there");
                let found: Option<usize> = std::str::from_utf8(&found).expect("a number").parse().ok();
                assert!(found >= last, "{path}: round {found:?}, and {last:?} was over by then");
            }
            looks += 1;
            young += usize::from(last.is_some());
            tokio::time::sleep(Duration::from_micros(300)).await;
        }
    };
    tokio::join!(writing, living, looking);
    assert!(looks > 50 && young > 10, "{young} of {looks}");
}
