//! A value that many follow: what is set, by whom it was changed, and what those hear who follow it.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use crate::support::ground::{Ground, grounds};
use crate::support::{SOON, client, eventually, options, server, soon};
use futures_util::{FutureExt, StreamExt};
use zkrecipes::{AclChoice, Auth, Client, Config, ErrorKind, Feed, GroupOptions, Versioned, blocking, drive};
use zkrecipes_embedded::Fault;

const PATH: &str = "/config/deep/limits";
const TEN: Duration = Duration::from_secs(10);

fn of(client: &Client) -> Config {
    client.config(PATH).expect("a valid path")
}

type Seen = Option<(Vec<u8>, i32)>;

fn seen(versioned: Option<Versioned>) -> Seen {
    versioned.map(|now| (now.value, now.version))
}

fn is(value: &[u8], version: i32) -> Seen {
    Some((value.to_vec(), version))
}

async fn next(feed: &mut Feed<Option<Versioned>>) -> Seen {
    seen(soon("an item", feed.next()).await.expect("it goes on").expect("no error"))
}

/// What was asked for, without pings and the contact that an idle session keeps, which come at their own times.
fn asked(ground: &Ground) -> Vec<&'static str> {
    let is_own = |op: &str, path: &str| op == "ping" || op == "sync" && path == "/";
    let log = ground.log().into_iter().filter(|entry| !is_own(entry.op, &entry.path));
    log.map(|entry| entry.op).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_creation_of_which_nobody_can_know_says_so() {
    let ground = grounds().remove(0);
    let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
    a.nodes().ensure("/config/deep").await.expect("made");
    let lost = ground.inject(Fault::drop_after("create*").session(a.session_id()));
    // It cannot ask what has become of it until somebody else has changed it.
    ground.inject(Fault::refuse_connections(1).forever());
    let config = of(&a);
    let creating = tokio::spawn(async move { config.create(b"ours").await });
    eventually("the answer is lost", || ground.fault_fired(lost)).await;
    of(&b).set(b"theirs", Some(0)).await.expect("set");
    ground.clear_faults();
    let error = soon("the answer", creating).await.expect("joined").expect_err("nobody can know");
    assert_eq!(error.kind(), ErrorKind::ConnectionLost);
    assert!(error.to_string().contains("create"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_read_and_what_is_followed_first_costs_a_sync_and_a_read_and_each_change_a_read() {
    let ground = grounds().remove(0);
    let client = ground.client(TEN).await;
    let config = of(&client);
    config.set(b"one", None).await.expect("created");
    ground.clear_log();
    config.get().await.expect("asked");
    config.set(b"two", None).await.expect("set");
    let mut feed = config.watch();
    assert_eq!(next(&mut feed).await, is(b"two", 1));
    config.set(b"three", None).await.expect("set");
    assert_eq!(next(&mut feed).await, is(b"three", 2));
    let all = ["sync", "getData", "setData", "sync", "getData", "setData", "getData"];
    assert_eq!(asked(&ground), all);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_that_was_changed_very_often_has_a_negative_version() {
    let server = server();
    let client = client(&server).await;
    let config = of(&client);
    config.set(b"one", None).await.expect("set");
    let error = config.set(b"two", Some(-5)).await.expect_err("no such version");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(server.set_data_version(PATH, i32::MIN));
    let version = config.get().await.expect("read").expect("set").version;
    assert_eq!(version, i32::MIN);
    assert_eq!(config.set(b"two", Some(version)).await.expect("set"), version + 1);
    let error = config.set(b"three", Some(version)).await.expect_err("changed since");
    assert_eq!(error.kind(), ErrorKind::BadVersion);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_value_never_has_the_version_that_a_write_takes_for_any() {
    let server = server();
    let (one, other) = (client(&server).await, client(&server).await);
    let (config, theirs) = (of(&one), of(&other));
    let now = async || seen(config.get().await.expect("read"));
    config.set(b"one", None).await.expect("set");
    assert!(server.set_data_version(PATH, -3));
    assert_eq!(config.set(b"two", Some(-3)).await.expect("set"), -2);
    assert_eq!(seen(theirs.get().await.expect("read")), is(b"two", -2));
    assert_eq!(config.set(b"three", Some(-2)).await.expect("set"), 0);
    assert_eq!(now().await, is(b"three", 0));
    let error = theirs.set(b"four", Some(-2)).await.expect_err("changed since");
    assert_eq!(error.kind(), ErrorKind::BadVersion);
    assert_eq!(config.set(b"five", Some(0)).await.expect("set"), 1);
    assert!(server.set_data_version(PATH, -2));
    assert_eq!(config.set(b"six", None).await.expect("set"), 0);
    assert_eq!(now().await, is(b"six", 0));
    for (version, op) in [(Some(-2), "multi"), (None, "setData")] {
        for lost in [Fault::drop_before(op), Fault::drop_after(op)] {
            theirs.set(b"before", None).await.expect("set");
            assert!(server.set_data_version(PATH, -2));
            assert_eq!(now().await, is(b"before", -2));
            let lost = server.inject(lost);
            assert_eq!(soon("it", config.set(b"seven", version)).await.expect("set"), 0, "{version:?}");
            assert!(server.fault_fired(lost));
            assert_eq!(now().await, is(b"seven", 0));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_read_is_no_older_than_the_call() {
    let ground = grounds().remove(0);
    let client = ground.client(TEN).await;
    let names = client.names("/config/names").expect("valid");
    let group = client.group("/config/group", GroupOptions::default()).expect("valid");
    // No embedded server lags, so the request is what can be seen. Not only the first time on a connection.
    for _ in 0..2 {
        ground.clear_log();
        of(&client).get().await.expect("asked");
        names.lookup("a").await.expect("asked");
        names.list().await.expect("asked");
        group.members().await.expect("asked");
        let reads = ["getData", "getData", "getChildren", "getChildren"];
        assert_eq!(asked(&ground), reads.map(|read| ["sync", read]).concat());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reconnection_alone_asks_nothing() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        let config = of(&client);
        config.set(b"one", None).await.expect("created");
        let mut feed = config.watch();
        assert_eq!(next(&mut feed).await, is(b"one", 0));
        let mut waiting = Box::pin(feed.next());
        assert!((&mut waiting).now_or_never().is_none());
        ground.clear_log();
        ground.break_connections();
        client.nodes().exists("/").await.expect("it is back");
        assert!(tokio::time::timeout(Duration::from_millis(300), &mut waiting).await.is_err());
        assert_eq!(ground.requests_of(&client, "getData").len(), 0);
        config.set(b"two", None).await.expect("set");
        let now = soon("the change", waiting).await.expect("it goes on").expect("no error");
        assert_eq!(seen(now), is(b"two", 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_has_too_much_to_do_is_left_alone_for_a_while() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        let config = of(&client);
        config.set(b"one", None).await.expect("created");
        let mut feed = config.watch();
        assert_eq!(next(&mut feed).await, is(b"one", 0));
        config.set(b"two", None).await.expect("set");
        let throttled = ground.inject(Fault::answer_throttled("getData").forever());
        ground.clear_log();
        let early = tokio::time::timeout(Duration::from_millis(1500), feed.next()).await;
        assert!(early.is_err(), "throttled all the while");
        assert!(ground.fault_fired(throttled));
        let asked = ground.log().iter().filter(|entry| entry.op == "getData").count();
        assert!(asked <= 10, "asked {asked} times");
        ground.clear_faults();
        assert_eq!(next(&mut feed).await, is(b"two", 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_feed_that_may_not_look_says_so_once() {
    for ground in grounds() {
        let own = options(TEN).auth(Auth::new("digest", "me:secret")).acl(AclChoice::Creator);
        let (owner, other) = (ground.client_with(own).await, ground.client(TEN).await);
        of(&owner).set(b"secret", None).await.expect("created");
        let mut feed = of(&other).watch();
        let error = soon("the refusal", feed.next()).await.expect("told").expect_err("not ours to read");
        assert_eq!((error.kind(), error.path()), (ErrorKind::Denied, Some(PATH)));
        assert!(feed.next().await.is_none());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_to_set_is_resolved_and_the_value_is_set_once() {
    for lost in [Fault::drop_before, Fault::drop_after] {
        for ground in grounds() {
            let (client, other) = (ground.client(TEN).await, ground.client(TEN).await);
            let config = of(&client);
            other.nodes().ensure("/config/deep").await.expect("there");
            ground.inject(lost("create2"));
            assert_eq!(config.set(b"made", None).await.expect("resolved"), 0);
            assert_eq!(seen(config.get().await.expect("asked")), is(b"made", 0));
            // Whichever it was, with a version and without, where it is known what was there before.
            for (version, given) in [(1, Some(0)), (2, None)] {
                ground.inject(lost("setData"));
                let before = config.get().await.expect("asked").expect("there");
                assert_eq!(before.version, version - 1);
                assert_eq!(config.set(b"changed", given).await.expect("resolved"), version);
                assert_eq!(of(&other).set(b"theirs", Some(version)).await.expect("set"), version + 1);
                other.nodes().delete(PATH, None).await.expect("deleted");
                for _ in 0..=version {
                    config.set(b"again", None).await.expect("set");
                }
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_cannot_know_whether_the_value_was_set_says_so() {
    let ground = grounds().remove(0);
    let (client, other) = (ground.client(TEN).await, ground.client(TEN).await);
    let (config, theirs) = (of(&client), of(&other));
    theirs.set(b"one", None).await.expect("created");
    for applied in [true, false] {
        let lost = if applied { Fault::drop_after("setData") } else { Fault::drop_before("setData") };
        let lost = ground.inject(lost.session(client.session_id()));
        // It cannot look at anything to find out until the other was faster.
        ground.inject(Fault::refuse_connections(1).forever());
        let setting = tokio::spawn({
            let config = config.clone();
            async move { config.set(b"ours", None).await }
        });
        eventually("it is lost", || ground.fault_fired(lost)).await;
        theirs.set(b"theirs", None).await.expect("set");
        ground.clear_faults();
        let error = soon("set", setting).await.expect("no panic").expect_err("nobody knows");
        assert_eq!((error.kind(), error.path()), (ErrorKind::ConnectionLost, Some(PATH)));
        assert!(error.to_string().contains("nobody can tell"), "{error}");
    }
    // With a version it can be known.
    let version = theirs.get().await.expect("asked").expect("there").version;
    let lost = ground.inject(Fault::drop_before("setData").session(client.session_id()));
    ground.inject(Fault::refuse_connections(1).forever());
    let setting = tokio::spawn(async move { config.set(b"ours", Some(version)).await });
    eventually("it is lost", || ground.fault_fired(lost)).await;
    theirs.set(b"first", Some(version)).await.expect("set");
    ground.clear_faults();
    let error = soon("set", setting).await.expect("no panic").expect_err("somebody was first");
    assert_eq!(error.kind(), ErrorKind::BadVersion);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_told_last_is_to_be_had_without_asking_and_says_how_old_it_is() {
    let ground = grounds().remove(0);
    let client = ground.client(TEN).await;
    let config = of(&client);
    assert_eq!(config.cached(), None);
    let mut feed = config.watch();
    assert_eq!(next(&mut feed).await, None);
    let first = config.cached().expect("told");
    assert_eq!(first.value, None);
    config.set(b"one", None).await.expect("created");
    assert_eq!(config.cached().expect("told").value, None, "not told yet");
    assert_eq!(next(&mut feed).await, is(b"one", 0));
    ground.clear_log();
    let cached = config.clone().cached().expect("told");
    assert_eq!(seen(cached.value), is(b"one", 0));
    assert!(cached.age < SOON);
    let older = || config.cached().expect("told").age >= cached.age + Duration::from_millis(50);
    eventually("it gets older", older).await;
    assert!(ground.requests_of(&client, "getData").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn no_update_is_lost_and_none_made_twice_whatever_gets_lost() {
    const EACH: usize = 40;
    for ground in grounds() {
        let clients = [ground.client(TEN).await, ground.client(TEN).await];
        // Both make the same of the same value: bytes alone do not tell whose it was.
        let counting = clients.iter().map(|client| async {
            for _ in 0..EACH {
                of(client).update(|value| [value.unwrap_or_default(), b"x"].concat()).await.expect("made");
            }
        });
        let losing = async {
            for round in 0..12 {
                ground.inject(if round % 2 == 0 {
                    Fault::drop_after("multi")
                } else {
                    Fault::drop_before("multi")
                });
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::join!(futures_util::future::join_all(counting), losing);
        ground.clear_faults();
        let now = of(&clients[0]).get().await.expect("asked").expect("set");
        assert_eq!((now.value.len(), now.version), (2 * EACH, 2 * EACH as i32 - 1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_fails_sets_nothing() {
    let ground = grounds().remove(0);
    let client = ground.client(TEN).await;
    let failed = of(&client).try_update(|_| Err(zkrecipes::Error::new(ErrorKind::TooLarge, "no"))).await;
    assert_eq!(failed.expect_err("it failed").kind(), ErrorKind::TooLarge);
    assert_eq!(of(&client).get().await.expect("asked"), None);
    client.nodes().ensure("/hosts").await.expect("there");
    let now = client.nodes().update("/hosts", |hosts| [hosts, b"a"].concat()).await.expect("set");
    let failed =
        client.nodes().try_update("/hosts", |_| Err(zkrecipes::Error::new(ErrorKind::TooLarge, "no"))).await;
    assert_eq!(failed.expect_err("it failed").kind(), ErrorKind::TooLarge);
    assert_eq!(client.nodes().exists("/hosts").await.expect("asked"), Some(now));
    let missing = client.nodes().update("/none", <[u8]>::to_vec).await;
    assert_eq!(missing.expect_err("there is none").kind(), ErrorKind::NoNode);
}

/// A set at the version -1 would overwrite whatever is there.
#[tokio::test(flavor = "multi_thread")]
async fn a_node_whose_version_guards_nothing_is_not_updated() {
    let server = server();
    let client = client(&server).await;
    client.nodes().ensure(PATH).await.expect("there");
    assert!(server.set_data_version(PATH, -1));
    let refused = client.nodes().update(PATH, <[u8]>::to_vec).await.expect_err("it guards nothing");
    assert_eq!(refused.kind(), ErrorKind::Invalid);
    client.nodes().set(PATH, b"", None).await.expect("set");
    client.nodes().update(PATH, <[u8]>::to_vec).await.expect("guarded again");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_followed_gets_no_older_while_servers_answer_and_nothing_changes() {
    for ground in grounds() {
        // Its session outlives that the server is away, and has a sign of life twice a second.
        let (client, other) = (ground.client(Duration::from_secs(4)).await, ground.client(TEN).await);
        let config = of(&client);
        let age = || config.cached().expect("told").age;
        // Missing is a state, too.
        for value in [None, Some(b"one")] {
            if let Some(value) = value {
                of(&other).set(value, None).await.expect("set");
            }
            let mut feed = config.watch();
            next(&mut feed).await;
            let told = Instant::now();
            let lag = Duration::from_millis(300);
            ground.clear_log();
            eventually("it is as young as the last sign of life", || age() + lag < told.elapsed()).await;
            assert!(ground.requests_of(&client, "getData").is_empty(), "nobody asked for it");

            ground.go_away();
            eventually("it gets older", || age() > Duration::from_millis(1500)).await;
            ground.come_back();
            eventually("it is young again", || age() < Duration::from_millis(1200)).await;

            // Somebody has changed it, and nobody has read that: how it stood is all that is known.
            of(&other).set(b"another", None).await.expect("set");
            let grows = || age() >= told.elapsed();
            eventually("its age counts from when it was asked for", grows).await;
            other.nodes().delete(config.path(), None).await.expect("deleted");
            drop(feed);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_callback_is_told_the_latest_one_call_at_a_time_until_it_is_not_wanted() {
    let ground = grounds().remove(0);
    let client = ground.client(TEN).await;
    let config = of(&client);
    let (told, hears) = channel();
    let (go, goes) = channel::<()>();
    let (ended, ends) = channel();
    let tell = move |now| {
        told.send(seen(now)).expect("the test listens");
        goes.recv().expect("the test lets it go on");
    };
    let subscription = drive::feed(&client, config.watch(), tell, move |error| {
        ended.send(error).expect("the test listens");
    });
    let subscription = subscription.expect("followed");
    let hear = || hears.recv_timeout(SOON).expect("told");
    assert_eq!(hear(), None);
    // It is in the callback all the while.
    for value in [b"a", b"b", b"c"] {
        config.set(value, None).await.expect("set");
    }
    go.send(()).expect("in the callback");
    assert_eq!(hear(), is(b"c", 2), "the latest, and nothing in between");
    go.send(()).expect("in the callback");
    config.set(b"d", None).await.expect("set");
    assert_eq!(hear(), is(b"d", 3));
    // As faces do that have a gate of their own: `unsubscribe` would wait for the callback.
    subscription.end();
    go.send(()).expect("in the callback");
    eventually("no watch is left", || ground.watch_count() == 0).await;
    config.set(b"e", None).await.expect("set");
    assert!(ends.try_recv().is_err() && hears.try_recv().is_err(), "nothing is told any more");

    let (ended, ends) = channel();
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let tell = move |_| {
        if counted.fetch_add(1, Ordering::AcqRel) == 0 {
            panic!("a callback that panics is told of the next change all the same");
        }
    };
    let followed = drive::feed(&client, config.watch(), tell, move |error| _ = ended.send(error));
    let _followed = followed.expect("followed");
    eventually("it panics", || count.load(Ordering::Acquire) == 1).await;
    config.set(b"f", None).await.expect("set");
    eventually("it is told", || count.load(Ordering::Acquire) == 2).await;
    client.close(Some(SOON)).await.expect("closed");
    assert_eq!(ends.recv_timeout(SOON).expect("told of the end"), None);
}

#[test]
fn a_blocking_feed_is_an_iterator_that_others_may_close() {
    let server = crate::support::server();
    let client = blocking::Client::connect(&server.connect_string(), options(TEN)).expect("it answers");
    let config = client.config(PATH).expect("valid");
    let mut feed = config.watch();
    let mut item = || feed.next().map(|item| seen(item.expect("no error")));
    assert_eq!(item(), Some(None));
    assert_eq!(config.set(b"one", None).expect("created"), 0);
    assert_eq!(item(), Some(is(b"one", 0)));
    assert_eq!(seen(config.cached().expect("told").value), is(b"one", 0));
    let closer = feed.closer();
    let waiting = std::thread::spawn(move || feed.next().is_none());
    closer.close();
    assert!(waiting.join().expect("no panic"), "it ends");
    // What is asked now is answered after the watch was taken back.
    assert_eq!(config.get().expect("asked").expect("there").value, b"one");
    assert_eq!(server.watch_count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_feed_is_a_stream() {
    let ground = grounds().remove(0);
    let client = ground.client(TEN).await;
    let config = of(&client);
    config.set(b"one", None).await.expect("created");
    let first: Vec<_> = soon("an item", config.watch().take(1).collect()).await;
    let first: Vec<Seen> =
        first.into_iter().map(|item: zkrecipes::Result<_>| seen(item.expect("no error"))).collect();
    assert_eq!(first, [is(b"one", 0)]);
}
