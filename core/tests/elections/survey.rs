//! What is in use below a path: every recipe is recognised, whoever made it, changes are told, and standing still costs
//! nothing.

use std::time::Duration;

use crate::support::ground::{Ground, grounds};
use crate::support::{eventually, options, soon};
use zkrecipes::drive::{Found, FoundKind, Survey, survey, survey_within};
use zkrecipes::{
    Auth, Client, CreateMode, ElectionOptions, Feed, LockOptions, Naming, QueueLayout, QueueOptions,
};

const TEN: Duration = Duration::from_secs(10);

async fn next(feed: &mut Feed<Survey>) -> Survey {
    soon("a survey", feed.next()).await.expect("it goes on").expect("no error")
}

/// Surveys until what was found is as it should be.
async fn until(feed: &mut Feed<Survey>, what: &str, is_so: impl Fn(&[Found]) -> bool) -> Survey {
    loop {
        let now = next(feed).await;
        if is_so(&now.found) {
            return now;
        }
        eprintln!("{what}: not yet {:?}", told(&now.found));
    }
}

/// What was found in short: path, kind, how many hold and how many wait.
fn told(found: &[Found]) -> Vec<(&str, FoundKind, usize, usize)> {
    found.iter().map(|found| (&*found.path, found.kind, found.holding, found.waiting)).collect()
}

fn the<'a>(found: &'a [Found], path: &str) -> &'a Found {
    found.iter().find(|found| found.path == path).unwrap_or_else(|| panic!("{path} is not in {found:?}"))
}

/// How much a client has asked for in all, whatever it was, but for pings and the contact that an idle session keeps.
fn requests(ground: &Ground, client: &Client) -> usize {
    let session = client.session_id();
    let root: &str = match ground {
        Ground::Embedded(_) => "/",
        Ground::Real { chroot, .. } => chroot,
    };
    let is_own = |op: &str, path: &str| op == "ping" || op == "sync" && path == root;
    let log = ground.log();
    log.iter().filter(|entry| entry.session_id == session && !is_own(entry.op, &entry.path)).count()
}

async fn named(ground: &Ground, identity: &str, naming: Naming) -> Client {
    ground.client_with(options(TEN).identity(identity).naming(naming)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn every_recipe_in_use_is_recognised() {
    for ground in grounds() {
        for naming in [Naming::Curator, Naming::Kazoo, Naming::Zookeeper] {
            let (one, two) = (named(&ground, "one", naming).await, named(&ground, "two", naming).await);
            let looker = ground.client(TEN).await;
            let is_kazoo = naming == Naming::Kazoo;

            let lock = one.lock("/s/lock", LockOptions::default()).expect("valid");
            let held = soon("the lock", lock.acquire()).await.expect("free");
            let second = two.lock("/s/lock", LockOptions::default()).expect("valid");
            let waiting = tokio::spawn(second.acquire());
            let readers = one.read_write_lock("/s/rw").expect("valid");
            let read = soon("a reader", readers.read().acquire()).await.expect("free");
            let semaphore = two.semaphore("/s/limit", 3).expect("valid");
            let permits = soon("permits", semaphore.acquire(2)).await.expect("free");
            let election = two.election("/s/leader", b"here", ElectionOptions::default()).expect("valid");
            let leadership = soon("the leadership", election.campaign()).await.expect("free");
            leadership.acknowledge(b"ready").await.expect("leads");
            let queue = one.queue("/s/queue", QueueOptions::default()).expect("valid");
            for item in [b"a", b"b", b"c"] {
                queue.put(item).await.expect("put");
            }
            let claimed = soon("an item", queue.claim()).await.expect("there");
            let barrier = one.double_barrier("/s/double", 3, None).expect("valid");
            let entering = tokio::spawn(async move { barrier.enter(None).await });
            let group = two.group("/s/group", Default::default()).expect("valid");
            group.join("worker-1", b"").await.expect("joined");
            one.config("/s/value").expect("valid").set(b"blue", None).await.expect("set");

            let mut feed = survey(&looker, "/s").expect("valid");
            let so = until(&mut feed, "all of them", |found| {
                let all = told(found);
                let waits = |path, count| all.iter().any(|found| found.0 == path && found.3 == count);
                waits("/s/lock", 1) && waits("/s/double", 1)
            })
            .await;
            let election = if is_kazoo { FoundKind::Lock } else { FoundKind::Election };
            assert_eq!(
                told(&so.found),
                [
                    ("/s/double", FoundKind::DoubleBarrier, 0, 1),
                    ("/s/group", FoundKind::Group, 1, 0),
                    ("/s/leader", election, 1, 0),
                    ("/s/limit", FoundKind::Semaphore, 2, 0),
                    ("/s/lock", FoundKind::Lock, 1, 1),
                    ("/s/queue", FoundKind::Queue, 1, 0),
                    ("/s/rw", FoundKind::ReadWriteLock, 1, 0),
                    ("/s/value", FoundKind::Node, 0, 0),
                ],
                "{naming:?}"
            );
            assert!(!so.is_cut);
            let who = |path| {
                let all = the(&so.found, path).contenders.iter();
                all.map(|contender| (contender.identity.as_str(), contender.holds)).collect::<Vec<_>>()
            };
            assert_eq!(who("/s/lock"), [("one", true), ("two", false)]);
            assert_eq!(who("/s/rw"), [("one", true)]);
            assert_eq!(who("/s/limit"), [("two", true), ("two", true)]);
            assert_eq!(who("/s/queue"), [("one", true)]);
            assert_eq!(who("/s/double"), [("one", false)]);
            assert_eq!(who("/s/group"), [("worker-1", true)]);
            assert_eq!(the(&so.found, "/s/limit").size, Some(3));
            assert_eq!(the(&so.found, "/s/double").size, Some(3));
            assert_eq!(
                the(&so.found, "/s/queue").items,
                3,
                "the claimed one is there until it is acknowledged"
            );
            assert_eq!(the(&so.found, "/s/value").data, b"blue");
            if !is_kazoo {
                let leader = the(&so.found, "/s/leader");
                assert_eq!((leader.has_begun, leader.data.as_slice()), (true, &b"ready"[..]));
                assert_eq!(who("/s/leader"), [("two", true)]);
            }

            held.release().await.expect("held");
            let next = soon("the lock", waiting).await.expect("no panic").expect("its turn");
            let so = until(&mut feed, "the hand-off", |found| {
                the(found, "/s/lock").contenders.iter().any(|one| one.identity == "two" && one.holds)
            })
            .await;
            assert_eq!(told(&so.found)[4], ("/s/lock", FoundKind::Lock, 1, 0));
            entering.abort();
            let _ = entering.await;
            for held in [next, read, permits] {
                held.release().await.expect("held");
            }
            claimed.ack().await.expect("claimed");
            leadership.release().await.expect("leads");
            group.leave().await.expect("a member");
            until(&mut feed, "all is given back", |found| {
                found.iter().all(|found| found.holding == 0 && found.waiting == 0)
            })
            .await;
            drop(feed);
            looker.nodes().delete_all("/s").await.expect("deleted");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn standing_still_asks_nothing_and_a_change_costs_a_few_requests() {
    for ground in grounds() {
        let (client, looker) = (ground.client(TEN).await, ground.client(TEN).await);
        for number in 0..50 {
            client.nodes().ensure(&format!("/s/{number}")).await.expect("there");
        }
        let mut feed = survey(&looker, "/s").expect("valid");
        assert_eq!(next(&mut feed).await, Survey::default(), "nothing is in use");
        let asked = || requests(&ground, &looker);
        let before = asked();
        // It is followed, and nothing comes.
        let more = tokio::time::timeout(Duration::from_millis(300), feed.next()).await;
        assert!(more.is_err(), "{more:?}");
        assert_eq!(asked(), before);
        let lock = client.lock("/s/7", LockOptions::default()).expect("valid");
        let held = lock.acquire().await.expect("free");
        until(&mut feed, "it is held", |found| told(found) == [("/s/7", FoundKind::Lock, 1, 0)]).await;
        assert!(asked() - before <= 3, "{} requests for one contender", asked() - before);
        held.release().await.expect("held");
        until(&mut feed, "it is free", <[Found]>::is_empty).await;
        assert!(asked() - before <= 5, "{} requests for a contender that came and went", asked() - before);
        drop(feed);
        client.nodes().delete_all("/s").await.expect("deleted");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_items_of_a_queue_are_counted_and_not_read() {
    for ground in grounds() {
        let (client, looker) = (ground.client(TEN).await, ground.client(TEN).await);
        for layout in [QueueLayout::Simple, QueueLayout::Distributed] {
            let queue = client.queue("/s/queue", QueueOptions::default().layout(layout)).expect("valid");
            for _ in 0..200 {
                queue.put(b"item").await.expect("put");
            }
            let before = requests(&ground, &looker);
            let mut feed = survey(&looker, "/s").expect("valid");
            let so = next(&mut feed).await;
            assert_eq!(told(&so.found), [("/s/queue", FoundKind::Queue, 0, 0)]);
            assert_eq!(so.found[0].items, 200);
            let asked = requests(&ground, &looker) - before;
            assert!(asked < 20, "{asked} requests");
            drop(feed);
            client.nodes().delete_all("/s").await.expect("deleted");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn it_goes_on_in_the_next_session() {
    for ground in grounds() {
        let (client, looker) = (ground.client(TEN).await, ground.client(Duration::from_secs(4)).await);
        let lock = client.lock("/s/lock", LockOptions::default()).expect("valid");
        let held = lock.acquire().await.expect("free");
        let mut feed = survey(&looker, "/s").expect("valid");
        assert_eq!(told(&next(&mut feed).await.found), [("/s/lock", FoundKind::Lock, 1, 0)]);
        let before = looker.session_id();
        ground.expire(before).await;
        eventually("a new session", || ![0, before].contains(&looker.session_id())).await;
        held.release().await.expect("held");
        until(&mut feed, "it is free", <[Found]>::is_empty).await;
        drop(feed);
        client.nodes().delete_all("/s").await.expect("deleted");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_we_may_not_read_hides_nothing_else() {
    for ground in grounds() {
        let secretive = options(TEN).auth(Auth::new("digest", "somebody:secret"));
        let (secretive, client) = (ground.client_with(secretive).await, ground.client(TEN).await);
        client.nodes().ensure("/s").await.expect("there");
        client.nodes().create("/s/lock", b"", CreateMode::Persistent).await.expect("free");
        secretive.nodes().create("/s/private", b"hidden", CreateMode::Persistent).await.expect("free");
        let secret = secretive.lock("/s/lock", LockOptions::default()).expect("valid");
        let held = secret.acquire().await.expect("free");
        let mut feed = survey(&client, "/s").expect("valid");
        let so = next(&mut feed).await;
        assert_eq!(told(&so.found), [("/s/lock", FoundKind::Lock, 1, 0)]);
        assert_eq!(so.found[0].contenders[0].identity, "", "that it is there is known all the same");
        held.release().await.expect("held");
        until(&mut feed, "it is free", <[Found]>::is_empty).await;
        drop(feed);
        secretive.nodes().delete_all("/s").await.expect("deleted");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_a_long_line_the_first_are_read_and_all_are_counted() {
    for ground in grounds() {
        let (client, looker) = (ground.client(TEN).await, ground.client(TEN).await);
        client.nodes().ensure("/s/lock").await.expect("there");
        let name = "/s/lock/_c_8a3c7a5e-58f5-4a0d-9d52-3c0f35f9f1d1-lock-";
        let mut nodes = Vec::new();
        for _ in 0..150 {
            let made = client.nodes().create(name, b"somebody", CreateMode::EphemeralSequential).await;
            nodes.push(made.expect("created"));
        }
        let mut feed = survey(&looker, "/s").expect("valid");
        let so = next(&mut feed).await;
        assert_eq!(told(&so.found), [("/s/lock", FoundKind::Lock, 1, 149)]);
        assert_eq!(so.found[0].contenders.len(), 100);
        for node in &nodes[..120] {
            client.nodes().delete(node, None).await.expect("there");
        }
        let so = until(&mut feed, "the others move up", |found| {
            told(found).first().is_some_and(|line| line.3 == 29)
        })
        .await;
        assert_eq!(so.found[0].contenders.len(), 30, "those behind are read when they come to the front");
        drop(feed);
        client.nodes().delete_all("/s").await.expect("deleted");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn those_behind_are_read_before_a_line_is_told_of_whose_first_have_gone_at_once() {
    for ground in grounds() {
        let (client, looker) = (ground.client(TEN).await, ground.client(TEN).await);
        client.nodes().ensure("/s/lock").await.expect("there");
        let name = "/s/lock/_c_8a3c7a5e-58f5-4a0d-9d52-3c0f35f9f1d1-lock-";
        let mut nodes = Vec::new();
        for _ in 0..150 {
            let made = client.nodes().create(name, b"somebody", CreateMode::EphemeralSequential).await;
            nodes.push(made.expect("created"));
        }
        let mut feed = survey(&looker, "/s").expect("valid");
        assert_eq!(told(&next(&mut feed).await.found), [("/s/lock", FoundKind::Lock, 1, 149)]);
        let all_of_them = client.nodes().transaction();
        for node in &nodes[..120] {
            all_of_them.delete(node, None).expect("valid");
        }
        all_of_them.commit().await.expect("there");
        until(&mut feed, "the others move up", |found| {
            let line = found.first().unwrap_or_else(|| panic!("for a moment nobody held it"));
            assert!(!line.contenders.is_empty() && line.holding == 1, "{:?}", told(found));
            line.waiting == 29
        })
        .await;
        drop(feed);
        client.nodes().delete_all("/s").await.expect("deleted");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_survey_is_complete_only_once_all_was_looked_at() {
    for ground in grounds() {
        let (client, looker) = (ground.client(TEN).await, ground.client(TEN).await);
        client.nodes().ensure("/s").await.expect("there");
        let value = |number| format!("/s/{number:02}");
        for number in 0..15 {
            client.nodes().create(&value(number), b"a", CreateMode::Persistent).await.expect("free");
        }
        // The top is one of them.
        let mut feed = survey_within(&looker, "/s", 10, usize::MAX).expect("valid");
        let so = next(&mut feed).await;
        assert_eq!((so.found.len(), so.is_cut), (9, true));
        for number in 0..6 {
            client.nodes().delete(&value(number), None).await.expect("there");
            let first = value(number + 1);
            let so =
                until(&mut feed, "the next is looked at", |found| found.len() == 9 && found[0].path == first)
                    .await;
            assert_eq!(so.is_cut, number < 5, "{:?}", told(&so.found));
        }
        client.nodes().create("/s/more", b"a", CreateMode::Persistent).await.expect("free");
        let so = next(&mut feed).await;
        assert_eq!((so.found.len(), so.is_cut), (9, true));
        // It was never looked at.
        client.nodes().delete("/s/more", None).await.expect("there");
        let so = next(&mut feed).await;
        assert_eq!((so.found.len(), so.is_cut), (9, false));
        // What was not looked at goes together with what is above it.
        client.nodes().create("/s/14/more", b"a", CreateMode::Persistent).await.expect("free");
        assert!(next(&mut feed).await.is_cut);
        client.nodes().delete_all("/s/14").await.expect("deleted");
        let so = until(&mut feed, "it is gone", |found| found.len() == 8).await;
        assert!(!so.is_cut);
        drop(feed);
        client.nodes().delete_all("/s").await.expect("deleted");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn long_names_and_much_data_fill_a_survey_too() {
    for ground in grounds() {
        let (client, looker) = (ground.client(TEN).await, ground.client(TEN).await);
        client.nodes().ensure("/s").await.expect("there");
        let long = |number| format!("/s/{number:0200}");
        for number in 0..40 {
            client.nodes().create(&long(number), b"a", CreateMode::Persistent).await.expect("free");
        }
        let room = 20_000;
        let mut feed = survey_within(&looker, "/s", 20_000, room).expect("valid");
        let so = next(&mut feed).await;
        assert!(so.is_cut && (5..15).contains(&so.found.len()), "{}", so.found.len());
        for number in 0..35 {
            client.nodes().delete(&long(number), None).await.expect("there");
        }
        let so = until(&mut feed, "there is room for the others", |found| {
            found.len() == 5 && found[0].path == long(35)
        })
        .await;
        assert!(!so.is_cut);

        let text = "ä".repeat(50_000);
        for number in 0..5 {
            client.nodes().set(&long(number + 35), text.as_bytes(), None).await.expect("there");
        }
        let so =
            until(&mut feed, "all were read", |found| found.iter().all(|found| found.data.len() > 1)).await;
        for found in &so.found {
            // The beginning, in whole letters.
            assert_eq!(found.data, text.as_bytes()[..4096]);
        }
        client.nodes().set(&long(35), format!("a{text}").as_bytes(), None).await.expect("there");
        let so = until(&mut feed, "it was read", |found| found[0].data.starts_with(b"a")).await;
        assert_eq!(so.found[0].data, format!("a{text}").as_bytes()[..4095]);
        assert!(!so.is_cut, "what was looked at stays");
        client.nodes().create("/s/more", b"a", CreateMode::Persistent).await.expect("free");
        let so = next(&mut feed).await;
        assert_eq!((so.found.len(), so.is_cut), (5, true));
        for number in 35..38 {
            client.nodes().set(&long(number), b"short", None).await.expect("there");
        }
        let so = until(&mut feed, "there is room again", |found| found.len() == 6).await;
        assert!(!so.is_cut);
        drop(feed);
        client.nodes().delete_all("/s").await.expect("deleted");
    }
}
