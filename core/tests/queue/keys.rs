//! Puts with keys: one item comes of a key, whoever puts with it and whatever gets lost.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::lost_requests::befall;
use super::support::access::{ALL, NO_READING, set_access};
use super::support::ground::{Ground, ground};
use super::support::mishap::{MISHAPS, Mishap, Sweep};
use super::support::{SOON, client, client_with, connected, eventually, nodes_under, options, server, soon};
use super::{Any, Kind, PATH, TEN, asked_by, assert_tidy, bounded, queue_of};
use futures_util::future::{join, join_all};
use zkrecipes::{
    Auth, Client, CreateMode, Error, ErrorKind, Naming, PutOptions, Queue, QueueLayout, QueueOptions,
};
use zkrecipes_embedded::{Fault, Server};

const KINDS: [Kind; 5] = [Kind::Plain, Kind::Priority, Kind::Delay, Kind::Shards, Kind::Bounded(1)];

impl Any {
    async fn put_with(&self, data: &str, options: PutOptions) -> Result<(), Error> {
        match self {
            Any::Plain(queue) => queue.put_with(data.as_bytes(), options).await,
            Any::Priority(queue) => queue.put_with(data.as_bytes(), 7, options).await,
            Any::Delay(queue) => queue.put_with(data.as_bytes(), Duration::ZERO, options).await,
        }
    }
}

fn once(key: &str) -> PutOptions {
    PutOptions::default().key(key)
}

fn short(client: &Client, window: Duration) -> Queue {
    client.queue(PATH, QueueOptions::default().key_window(window)).expect("valid")
}

fn keys(server: &Server) -> Vec<String> {
    // A bucket, and a hash.
    let is_key = |node: &String| {
        node.rsplit_once("/keys/").is_some_and(|(_, rest)| rest.len() > 2 && !rest.contains('_'))
    };
    nodes_under(server, "/queues").into_iter().filter(is_key).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn one_item_comes_of_a_key_in_queues_of_every_kind_however_many_put_with_it() {
    let server = server();
    let mut clients = Vec::new();
    for _ in 0..4 {
        clients.push(client(&server).await);
    }
    for kind in KINDS {
        let path = format!("{PATH}-{kind:?}");
        let queues: Vec<_> = clients.iter().map(|client| Any::of(kind, client, &path)).collect();
        let puts = queues.iter().flat_map(|queue| (0..5).map(move |_| queue.put_with("tea", once("k"))));
        for put in soon("all of them", join_all(puts)).await {
            put.unwrap_or_else(|error| panic!("{kind:?}: {error}"));
        }
        let backlog = queues[0].backlog();
        assert_eq!(backlog.len().await.expect("looked"), 1, "{kind:?}");
        assert_eq!(soon("the get", backlog.get()).await.expect("there is one"), b"tea");
        soon("a put", queues[1].put_with("tea", once("k"))).await.expect("the first was put");
        assert_eq!(backlog.len().await.expect("looked"), 0, "{kind:?}: its item was taken");
        soon("a put", queues[1].put_with("tea", once("other"))).await.expect("put");
        assert_eq!(backlog.len().await.expect("looked"), 1, "{kind:?}: another key is another item");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_item_comes_of_a_key_in_the_layouts_of_all_peers() {
    let server = server();
    for (naming, layout) in [
        (Naming::Curator, QueueLayout::Distributed),
        (Naming::Kazoo, QueueLayout::Simple),
        (Naming::Kazoo, QueueLayout::Locking),
    ] {
        let client = Client::connect(&server.connect_string(), options(TEN).naming(naming)).await;
        let client = client.expect("connected");
        let path = format!("{PATH}-{naming:?}-{layout:?}");
        let queue = client.queue(&path, QueueOptions::default().layout(layout)).expect("valid");
        for _ in 0..2 {
            queue.put_with(b"tea", once("k")).await.expect("put");
        }
        assert_eq!(queue.items().await.expect("read"), [b"tea"]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_put_with_a_key_is_one_request() {
    let server = server();
    let producer = client(&server).await;
    let queue = queue_of(&producer);
    let buckets = || keys(&server).iter().map(|key| key.rsplit_once('/').map(|at| at.0.to_owned())).collect();
    let (mut all, mut single, mut before) = (0, 0, BTreeSet::new());
    for n in 0..120 {
        server.clear_log();
        queue.put_with(b"tea", once(&n.to_string())).await.expect("put");
        // Some are looked at in the background.
        let asked = asked_by(&server, &producer).iter().filter(|op| *op == "multi").count();
        let now: BTreeSet<Option<String>> = buckets();
        if now.len() == before.len() {
            all += 1;
            single += usize::from(asked == 1);
        }
        before = now;
    }
    assert!(all > 10 && single * 2 > all, "{single} of {all} where the parent was there");
    server.clear_log();
    queue.put(b"tea").await.expect("put");
    let asked = asked_by(&server, &producer);
    assert_eq!(asked.iter().filter(|op| *op == "multi").count(), 1, "{asked:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn puts_with_keys_go_together_with_others_and_a_key_that_is_taken_fails_none() {
    let server = server();
    let (producer, other) = (client(&server).await, client(&server).await);
    let queue = queue_of(&producer);
    for n in (0..40).step_by(4) {
        queue_of(&other).put_with(b"first", once(&n.to_string())).await.expect("put");
    }
    let before = queue.len().await.expect("looked");
    server.clear_log();
    let names: Vec<_> = (0..40).map(|n| format!("{n:02}")).collect();
    let puts = names.iter().enumerate().map(|(n, name)| {
        let queue = &queue;
        async move {
            let plain = queue.put(name.as_bytes());
            let keyed = queue.put_with(format!("{name}k").as_bytes(), once(&n.to_string())).await;
            join(plain, async { keyed }).await
        }
    });
    for (plain, keyed) in soon("all", join_all(puts)).await {
        plain.expect("put");
        keyed.expect("put, now or before");
    }
    let items = queue.items().await.expect("read");
    let items: Vec<_> =
        items[before..].iter().map(|data| String::from_utf8_lossy(data).into_owned()).collect();
    let plain: Vec<_> = items.iter().filter(|item| item.len() == 2).cloned().collect();
    assert_eq!(plain.iter().collect::<BTreeSet<_>>().len(), 40);
    let mut keyed: Vec<_> = items.iter().filter(|item| item.len() == 3).cloned().collect();
    keyed.sort();
    let expected: Vec<_> = (0..40).filter(|n| n % 4 != 0).map(|n| format!("{n:02}k")).collect();
    assert_eq!(keyed, expected, "those whose keys were free");
    assert_tidy(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn two_puts_of_one_client_with_one_key_do_not_wait_for_each_other_for_ever() {
    let server = server();
    let producer = client(&server).await;
    let queue = queue_of(&producer);
    let puts = (0..200).map(|n: usize| queue.put_with(b"tea", once(&(n % 7).to_string())));
    let puts: Vec<_> = puts.collect();
    for put in soon("all", join_all(puts)).await {
        put.expect("put");
    }
    assert_eq!(queue.len().await.expect("looked"), 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn after_its_window_a_key_puts_again_and_not_before() {
    const WINDOW: Duration = Duration::from_millis(400);
    let server = server();
    let (producer, other) = (client(&server).await, client(&server).await);
    let (queue, theirs) = (short(&producer, WINDOW), queue_of(&other));
    for _ in 0..3 {
        let since = Instant::now();
        let before = queue.len().await.expect("looked");
        queue.put_with(b"tea", once("k")).await.expect("put");
        assert_eq!(queue.len().await.expect("looked"), before + 1, "it puts again");
        let again = async {
            // The time that its put gave counts for all.
            while queue.len().await.expect("looked") == before + 1 {
                theirs.put_with(b"tea", once("k")).await.expect("put, now or before");
                queue.put_with(b"tea", once("k")).await.expect("put, now or before");
            }
        };
        soon("it puts again", again).await;
        assert!(since.elapsed() >= WINDOW - Duration::from_millis(2), "{:?}", since.elapsed());
        assert_eq!(queue.len().await.expect("looked"), before + 2, "once");
        // Who was first has given another time: it begins anew for the next round.
        let key = keys(&server).pop().expect("one");
        other.nodes().delete(&key, None).await.expect("deleted");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_who_put_when_the_window_has_passed_put_once() {
    const WINDOW: Duration = Duration::from_millis(100);
    let server = server();
    let mut queues = Vec::new();
    for _ in 0..6 {
        let client = client(&server).await;
        queues.push((short(&client, WINDOW), client));
    }
    for round in 0..10 {
        let since = Instant::now();
        let before = queues[0].0.len().await.expect("looked");
        for put in join_all(queues.iter().map(|(queue, _)| queue.put_with(b"tea", once("k")))).await {
            put.expect("put, now or before");
        }
        let now = queues[0].0.len().await.expect("looked");
        // On a slow machine a window may pass meanwhile.
        let most = 1 + since.elapsed().as_millis() / WINDOW.as_millis();
        assert!(now > before && (now - before) as u128 <= most, "round {round}: {before}, then {now}");
        // Time is the subject.
        tokio::time::sleep(WINDOW + Duration::from_millis(5)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_whose_window_has_passed_are_deleted_by_who_puts_with_others() {
    const MANY: usize = 5000;
    const FEWER: usize = 4000;
    let server = server();
    let producer = client(&server).await;
    let queue = short(&producer, Duration::from_millis(1));
    let put = async |names: std::ops::Range<usize>| {
        let names: Vec<_> = names.map(|n| n.to_string()).collect();
        for put in join_all(names.iter().map(|name| queue.put_with(b"", once(name)))).await {
            put.expect("put");
        }
    };
    put(0..MANY).await;
    let mut all = MANY;
    let fewer = async {
        // Each time a bucket is looked at, and there are some twenty in each.
        while keys(&server).len() > FEWER {
            put(all..all + 8).await;
            all += 8;
        }
    };
    // On a busy machine a second passes between two looks.
    tokio::time::timeout(Duration::from_secs(60), fewer).await.expect("fewer are left");
    assert_tidy(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_whose_window_has_passed_are_deleted_by_who_takes_items_where_nobody_puts_with_keys() {
    const WINDOW: Duration = Duration::from_millis(50);
    let server = server();
    let (producer, consumer) = (client(&server).await, client(&server).await);
    let (queue, taken) = (short(&producer, WINDOW), short(&consumer, WINDOW));
    for n in 0..20 {
        queue.put_with(b"", once(&n.to_string())).await.expect("put");
        taken.get().await.expect("there");
    }
    let none_is_left = async {
        while !keys(&server).is_empty() {
            queue.put(b"").await.expect("put");
            match keys(&server).len() % 2 {
                0 => drop(taken.get().await.expect("there")),
                _ => taken.claim().await.expect("there").ack().await.expect("acknowledged"),
            }
        }
    };
    soon("none is left", none_is_left).await;
    assert_tidy(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_takes_items_asks_for_keys_once_in_a_window() {
    let server = server();
    let (long, window) = (client(&server).await, Duration::from_millis(200));
    let short = client(&server).await;
    let (unasked, asked) = (queue_of(&long), self::short(&short, window));
    let since = Instant::now();
    let lists = |of: &Client| {
        let is_list = |op: &str, path: &str| op.starts_with("getChildren") && path.ends_with("/keys");
        server
            .log()
            .iter()
            .filter(|one| one.session_id == of.session_id() && is_list(one.op, &one.path))
            .count()
    };
    while lists(&short) < 3 {
        asked.put(b"").await.expect("put");
        asked.get().await.expect("there");
        unasked.put(b"").await.expect("put");
        unasked.get().await.expect("there");
        assert!(since.elapsed() < SOON, "it never asks");
    }
    let windows = since.elapsed().as_millis() / window.as_millis();
    assert!(lists(&short) as u128 <= windows, "{} in {windows} windows", lists(&short));
    assert_eq!(lists(&long), 0, "its window has not passed yet");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_queue_keeps_nobody_waiting_whose_put_is_done() {
    let server = server();
    let (producer, other) = (client(&server).await, client(&server).await);
    let (queue, theirs) = (bounded(&producer, 1), bounded(&other, 1));
    queue.put_with(b"tea", once("k")).await.expect("put");
    soon("a put without a limit", theirs.put_with(b"tea", once("k"))).await.expect("put before");
    for limit in [Duration::ZERO, TEN] {
        theirs.put_with(b"tea", once("k").timeout(limit)).await.expect("put before");
        let error = queue.put_with(b"tea", once("other").timeout(limit / 100)).await.expect_err("full");
        assert_eq!(error.kind(), ErrorKind::Timeout);
    }
    // Nor behind somebody who waits.
    let before_them = tokio::spawn({
        let queue = queue.clone();
        async move { queue.put(b"more").await }
    });
    eventually("it waits", || server.watch_count() > 0).await;
    queue.put_with(b"tea", once("k").timeout(Duration::ZERO)).await.expect("put before");
    soon("a put without a limit", queue.put_with(b"tea", once("k"))).await.expect("put before");
    before_them.abort();
    eventually("nobody waits", || server.watch_count() == 0).await;
    // Two wait for room with one key, and there is room for one.
    let waiting = join(queue.put_with(b"milk", once("m")), theirs.put_with(b"milk", once("m")));
    let taking = async {
        eventually("they wait", || server.watch_count() > 0).await;
        assert_eq!(queue.get().await.expect("there is one"), b"tea");
    };
    let ((one, two), ()) = soon("both", join(waiting, taking)).await;
    one.and(two).expect("put by one of them");
    assert_eq!(queue.items().await.expect("read"), [b"milk"]);
    assert_tidy(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_outlives_the_session_and_the_ephemeral_item_that_it_put() {
    let server = server();
    let (producer, other) = (client(&server).await, client(&server).await);
    let queue = producer.queue(PATH, QueueOptions::default().ephemeral(true)).expect("valid");
    queue.put_with(b"tea", once("k")).await.expect("put");
    soon("the close", producer.close(None)).await.expect("closed");
    let theirs = queue_of(&other);
    assert_eq!(theirs.len().await.expect("looked"), 0, "it went with its session");
    theirs.put_with(b"tea", once("k")).await.expect("put before");
    assert_eq!(theirs.len().await.expect("looked"), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_on_its_way_with_a_key_stays_when_it_is_dropped_and_what_is_not_never_leaves() {
    let server = server();
    let (producer, other) = (client_with(&server, Duration::from_secs(60)).await, client(&server).await);
    let (queue, theirs) = (queue_of(&producer), queue_of(&other));
    queue.put(b"first").await.expect("put");
    theirs.put_with(b"second", once("second")).await.expect("put");
    // What is refused, since there is no bucket; what makes that; the put.
    let slow = Fault::delay_reply("multi", Duration::from_secs(1)).session(producer.session_id()).nth(3);
    let fault = server.inject(slow);
    let putting = tokio::spawn({
        let queue = queue.clone();
        async move { queue.put_with(b"third", once("third")).await }
    });
    eventually("it was sent", || server.fault_fired(fault)).await;
    assert_eq!(keys(&server).len(), 2, "and is in");
    // Behind it.
    drop(zkrecipes::drive::put_one(&queue, b"fourth".to_vec(), Some("fourth".into()), None));
    putting.abort();
    theirs.put_with(b"third", once("third")).await.expect("put before");
    soon("the close", producer.close(None)).await.expect("closed");
    let items = theirs.items().await.expect("read");
    assert_eq!(items, [&b"first"[..], b"second", b"third"], "nobody who heard that it is in is wronged");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_key_is_refused() {
    let server = server();
    let client = client(&server).await;
    let long = "x".repeat(1001);
    for key in ["", "a\0b", &long] {
        for kind in KINDS {
            let queue = Any::of(kind, &client, PATH);
            let error = queue.put_with("tea", once(key)).await.expect_err("no key");
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(error.to_string().contains("key"), "{error}");
        }
    }
    let error = queue_of(&client).put_with(&vec![0; 1_048_000], once("k")).await.expect_err("too large");
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    let error = client.queue(PATH, QueueOptions::default().key_window(Duration::ZERO)).expect_err("no time");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(nodes_under(&server, "/queues").is_empty(), "nothing was sent");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_that_comes_late_takes_no_key_that_was_made_anew() {
    const WINDOW: Duration = Duration::from_millis(50);
    let server = server();
    for is_bucket_anothers in [false, true] {
        let (late, other) = (client_with(&server, Duration::from_secs(60)).await, client(&server).await);
        let (queue, theirs) = (short(&late, WINDOW), queue_of(&other));
        queue.put_with(b"first", once("k")).await.expect("put");
        // Time is the subject.
        tokio::time::sleep(WINDOW * 2).await;
        // What is refused first, what tells the time, what deletes the key.
        let slow = Fault::delay_request("multi", Duration::from_secs(2)).session(late.session_id()).nth(3);
        let fault = server.inject(slow);
        let putting = tokio::spawn({
            let queue = queue.clone();
            async move { queue.put_with(b"late", once("k")).await }
        });
        eventually("it is about to be deleted", || server.fault_fired(fault) || putting.is_finished()).await;
        assert!(server.fault_fired(fault), "it deletes it in a transaction of its own");
        // Somebody else deletes it meanwhile, and puts with it.
        let key = keys(&server).pop().expect("one");
        if is_bucket_anothers {
            let (bucket, _) = key.rsplit_once('/').expect("a path");
            other.nodes().delete_all(bucket).await.expect("deleted");
        }
        theirs.put_with(b"second", once("k")).await.expect("put");
        assert_eq!(keys(&server), [key]);
        soon("the put", putting).await.expect("joined").expect("the other one counts");
        let items = [theirs.get().await.expect("there is one"), theirs.get().await.expect("there is one")];
        assert_eq!(items, [&b"first"[..], b"second"]);
        assert_eq!(theirs.len().await.expect("looked"), 0, "once, {is_bucket_anothers}");
        other.nodes().delete_all(&format!("{PATH}-__queue__/keys")).await.expect("deleted");
    }
}

/// Puts with one key by two clients, with a mishap at request `k` of one of them, who tries again when it failed; false when
/// there was no such request.
async fn meet(ground: &Ground, mishap: Mishap, k: u64, window: Duration) -> bool {
    let what = format!("{mishap:?} at request {k}, {window:?}");
    let (client, other) = (ground.client(mishap.session_timeout()).await, ground.client(TEN).await);
    let path = format!("{PATH}-{mishap:?}-{k}-{}", window.as_millis());
    let options = || QueueOptions::default().key_window(window);
    let queue = client.queue(&path, options()).expect("valid");
    let rest = other.queue(&path, QueueOptions::default()).expect("valid");
    if window < SOON {
        // One whose window has passed stands in the way: who put it is gone, and does not delete it.
        let gone = ground.client(TEN).await;
        gone.queue(&path, options()).expect("valid").put_with(b"old", once("k")).await.expect("put");
        gone.close(Some(SOON)).await.expect("closed");
        assert_eq!(soon(&what, rest.get()).await.expect("there is one"), b"old");
        tokio::time::sleep(window * 2).await;
    }
    let lasting = client.queue(&path, QueueOptions::default()).expect("valid");
    let session = client.session_id();
    let fault = ground.inject(mishap.fault().session(session).nth(k));
    let work = tokio::spawn({
        let queue = lasting.clone();
        async move { queue.put_with(b"tea", once("k")).await }
    });
    let (fired, _) = befall(ground, mishap, fault, session, work, || lasting.cancel(), &what).await;
    soon(&what, client.close(Some(SOON))).await.expect("closed");
    drop(queue);
    // Whatever was heard of it, another client puts it again, and somebody takes it in between.
    soon(&what, rest.put_with(b"tea", once("k"))).await.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(soon(&what, rest.get()).await.expect("there is one"), b"tea", "{what}");
    soon(&what, rest.put_with(b"tea", once("k"))).await.unwrap_or_else(|error| panic!("{what}: {error}"));
    assert_eq!(rest.len().await.expect("looked"), 0, "{what}: once");
    fired
}

async fn a_mishap_at_any_request(window: Duration) {
    let sweeps = MISHAPS.map(|mishap| {
        tokio::spawn(async move {
            let ground = ground();
            let mut sweep = Sweep::of(&ground, mishap);
            while let Some(k) = sweep.next()
                && meet(&ground, mishap, k, window).await
            {}
            // The put, and what makes its parents.
            sweep.expect(3, &format!("{mishap:?}"));
        })
    });
    for sweep in sweeps {
        sweep.await.expect("met and survived");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mishap_at_any_request_of_a_put_with_a_key_puts_it_once() {
    a_mishap_at_any_request(TEN * 60).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mishap_at_any_request_of_a_put_whose_key_has_passed_puts_it_once() {
    a_mishap_at_any_request(Duration::from_millis(20)).await;
}

/// A window that has passed when this is over.
const BRIEF: Duration = Duration::from_millis(200);

#[tokio::test(flavor = "multi_thread")]
async fn a_key_with_nodes_below_it_fails_only_its_put() {
    let server = server();
    let (client, other) = (client(&server).await, client(&server).await);
    let queue = short(&client, BRIEF);
    queue.put_with(b"tea", once("k")).await.expect("put");
    let key = keys(&server).remove(0);
    other.nodes().create(&format!("{key}/x"), b"", CreateMode::Persistent).await.expect("made");
    let passed = Instant::now() + BRIEF;
    eventually("its window has passed", || Instant::now() > passed).await;
    let with_it = (0..5).map(|_| queue.put_with(b"tea", once("k")));
    let others = (0..5).map(|_| queue.put(b"milk"));
    let (refused, put) = soon("all of them", join(join_all(with_it), join_all(others))).await;
    for refused in refused {
        let error = refused.expect_err("its key stands in the way");
        assert_eq!((error.kind(), error.path()), (ErrorKind::NotEmpty, Some(&*key)));
    }
    put.into_iter().for_each(|put| put.expect("it has no key"));
    assert_eq!(queue.len().await.expect("looked"), 6);
    other.nodes().delete(&format!("{key}/x"), None).await.expect("deleted");
    soon("a put", queue.put_with(b"tea", once("k"))).await.expect("put");
    assert_eq!(queue.len().await.expect("looked"), 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_whose_proof_was_deleted_gets_another_one() {
    let server = server();
    let (client, other) = (client(&server).await, client(&server).await);
    let queue = short(&client, BRIEF);
    queue.put_with(b"tea", once("k")).await.expect("put");
    let proofs = || {
        let all = nodes_under(&server, "/queues");
        all.into_iter().filter(|node| node.contains("/keys/") && node.contains("/_")).collect::<Vec<_>>()
    };
    let (key, proof) = (keys(&server).remove(0), proofs().remove(0));
    assert_eq!(key.rsplit_once('/').map(|at| at.0), proof.rsplit_once('/').map(|at| at.0));
    other.nodes().delete(&proof, None).await.expect("deleted");
    let passed = Instant::now() + BRIEF;
    eventually("its window has passed", || Instant::now() > passed).await;
    soon("a put", queue.put_with(b"tea", once("k"))).await.expect("put");
    assert_eq!(queue.len().await.expect("looked"), 2);
    assert!(proofs().len() == 1 && proofs()[0] != proof);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_whose_read_got_no_answer_is_read_again() {
    let server = server();
    let client = client(&server).await;
    let queue = short(&client, BRIEF);
    queue.put_with(b"tea", once("k")).await.expect("put");
    let key = keys(&server).remove(0);
    let (bucket, _) = key.rsplit_once('/').expect("it is in one");
    let passed = Instant::now() + BRIEF;
    eventually("its window has passed", || Instant::now() > passed).await;
    let lost = server.inject(Fault::drop_after("getData").path(bucket));
    soon("a put", queue.put_with(b"tea", once("k"))).await.expect("put");
    assert!(server.fault_fired(lost));
    assert_eq!(queue.len().await.expect("looked"), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_may_not_be_read_fails_only_its_put() {
    let server = server();
    let producer = client(&server).await;
    let queue = queue_of(&producer);
    queue.put_with(b"1", once("k")).await.expect("put");
    set_access(&server.connect_string(), &keys(&server)[0], NO_READING);
    let (keyed, plain) = soon("both", join(queue.put_with(b"2", once("k")), queue.put(b"3"))).await;
    assert_eq!(keyed.expect_err("nobody knows how old it is").kind(), ErrorKind::Denied);
    plain.expect("put");
    assert_eq!(queue.len().await.expect("looked"), 2);
    set_access(&server.connect_string(), &keys(&server)[0], ALL);
    queue.put_with(b"2", once("k")).await.expect("put before");
    // Nor where no bucket can be made.
    let parent = format!("{PATH}-__queue__/keys");
    producer.nodes().delete_all(&parent).await.expect("deleted");
    producer.nodes().create(&parent, b"", CreateMode::Persistent).await.expect("made");
    const CREATE: i32 = 4;
    set_access(&server.connect_string(), &parent, ALL - CREATE);
    let (keyed, plain) = soon("both", join(queue.put_with(b"2", once("k")), queue.put(b"4"))).await;
    assert_eq!(keyed.expect_err("not allowed").kind(), ErrorKind::Denied);
    plain.expect("put");
    assert_eq!(queue.len().await.expect("looked"), 3);
}

/// Whoever may put with keys may do so in each bucket, whoever has made that.
#[tokio::test(flavor = "multi_thread")]
async fn clients_of_different_credentials_put_with_keys_where_the_folder_lets_them() {
    let server = server();
    let (one, two) = (Auth::new("digest", "one:secret"), Auth::new("digest", "two:secret"));
    // Both, and nobody else.
    let operator = connected(&server, options(TEN).auth(one.clone()).auth(two.clone())).await;
    for folder in ["", "-__queue__/marks", "-__queue__/keys"] {
        operator.nodes().ensure(&format!("{PATH}{folder}")).await.expect("made");
    }
    let (one, two) =
        (connected(&server, options(TEN).auth(one)).await, connected(&server, options(TEN).auth(two)).await);
    let put_all = async |client: &Client, name: &str, many: usize| {
        let queue = queue_of(client);
        let puts = (0..many).map(|n| {
            let queue = queue.clone();
            async move { queue.put_with(b"tea", once(&format!("{name}-{n}"))).await }
        });
        soon("all of them", join_all(puts)).await.into_iter().collect::<Result<(), Error>>()
    };
    put_all(&one, "one", 100).await.expect("put");
    put_all(&two, "two", 50).await.expect("in buckets of the other, too");
    assert_eq!(queue_of(&one).len().await.expect("looked"), 150);
    // What is said where they may not.
    let error = put_all(&two, "one", 1).await.expect_err("it is the other's");
    assert_eq!(error.kind(), ErrorKind::Denied);
    assert!(error.to_string().contains("somebody has put with this key"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bucket_in_which_a_client_may_not_put_is_named() {
    let server = server();
    let client = client(&server).await;
    let queue = queue_of(&client);
    queue.put_with(b"1", once("k")).await.expect("put");
    let key = keys(&server).remove(0);
    let bucket = key.rsplit_once('/').expect("a path").0.to_owned();
    client.nodes().delete(&key, None).await.expect("deleted");
    const CREATE: i32 = 4;
    set_access(&server.connect_string(), &bucket, ALL - CREATE);
    let error = soon("the put", queue.put_with(b"1", once("k"))).await.expect_err("not allowed");
    assert_eq!((error.kind(), error.path()), (ErrorKind::Denied, Some(&*bucket)), "{error}");
    assert!(error.to_string().contains("READ, WRITE, CREATE and DELETE"), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_key_of_somebody_else_that_may_not_be_touched_fails_only_its_put() {
    let server = server();
    let producer = client(&server).await;
    let queue = queue_of(&producer);
    queue.put_with(b"1", once("k")).await.expect("put");
    let key = keys(&server).pop().expect("one");
    producer.nodes().delete(&key, None).await.expect("deleted");
    // Nobody makes anything below an ephemeral node.
    let bucket = key.rsplit_once('/').expect("a path").0.to_owned();
    producer.nodes().delete_all(&bucket).await.expect("deleted");
    producer.nodes().create(&bucket, b"", CreateMode::Ephemeral).await.expect("made");
    let (keyed, plain) = soon("both", join(queue.put_with(b"2", once("k")), queue.put(b"3"))).await;
    assert_eq!(keyed.expect_err("refused").kind(), ErrorKind::Invalid);
    plain.expect("put");
    assert_eq!(queue.len().await.expect("looked"), 2);
}
