//! Names and what they stand for: bound for good or for as long as the client lives, looked up, unbound, followed.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join;

use crate::support::ground::grounds;
use crate::support::{client, connected, eventually, options, server, soon};
use zkrecipes::{Client, ErrorKind, Names, Naming, RetryOptions, blocking};
use zkrecipes_embedded::{Fault, Server};

const PATH: &str = "/names/services";
const TEN: Duration = Duration::from_secs(10);

fn of(client: &Client) -> Names {
    client.names(PATH).expect("a valid path")
}

type All = BTreeMap<String, Vec<u8>>;

fn all(these: &[(&str, &str)]) -> All {
    these.iter().map(|(name, data)| ((*name).to_owned(), data.as_bytes().to_vec())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn who_takes_the_name_of_one_that_is_gone_keeps_it() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        of(&a).bind("cache", b"a", true).await.expect("bound");
        // Whoever is faster: the node is replaced in one transaction.
        let theft = b.nodes().transaction();
        let node = format!("{PATH}/cache");
        theft.delete(&node, None).expect("valid");
        theft.create(&node, b"b", zkrecipes::CreateMode::Ephemeral).expect("valid");
        theft.commit().await.expect("applied");
        // Theirs stands, and is not deleted by who unbinds its own.
        soon("a is told", async {
            while of(&a).lookup("cache").await.expect("asked").as_deref() != Some(b"b") {}
        })
        .await;
        ground.clear_log();
        b.nodes().delete(&node, None).await.expect("deleted");
        soon("it is a's again", async {
            while of(&b).lookup("cache").await.expect("asked").as_deref() != Some(b"a") {}
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_with_a_time_to_live_is_unbound_by_the_servers() {
    let server = Server::builder().extended_types(true).start().expect("a free port");
    let client = client(&server).await;
    let names = of(&client);
    names.bind_ttl("short", b"1", Duration::from_millis(1)).await.expect("bound");
    names.bind_ttl("long", b"2", Duration::from_secs(1_000_000)).await.expect("bound");
    soon("the server unbinds it", async {
        while names.lookup("short").await.expect("asked").is_some() {
            server.advance_clock(Duration::from_secs(60));
        }
    })
    .await;
    assert_eq!(names.lookup("long").await.expect("asked").as_deref(), Some(&b"2"[..]));
    names.bind("short", b"3", false).await.expect("it is free");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_time_to_live_that_nobody_takes_binds_nothing_and_says_what_to_do() {
    let server = server();
    let client = client(&server).await;
    let names = of(&client);
    let refused = names.bind_ttl("a", b"1", TEN).await.expect_err("switched off");
    assert_eq!(refused.kind(), ErrorKind::Invalid);
    assert!(refused.to_string().contains("extendedTypesEnabled"), "{refused}");
    for ttl in [Duration::ZERO, Duration::MAX] {
        let refused = names.bind_ttl("a", b"1", ttl).await.expect_err("out of range");
        assert_eq!((refused.kind(), refused.path()), (ErrorKind::Invalid, Some("/names/services/a")));
    }
    assert_eq!(names.list().await.expect("listed"), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_unbound_whoever_took_it_from_us() {
    for is_known in [true, false] {
        for ground in grounds() {
            let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
            of(&a).bind("cache", b"a", true).await.expect("bound");
            let node = format!("{PATH}/cache");
            let theft = b.nodes().transaction();
            theft.delete(&node, None).expect("valid");
            theft.create(&node, b"b", zkrecipes::CreateMode::Persistent).expect("valid");
            let asked = || ground.requests_of(&a, "create2").len();
            let before = asked();
            theft.commit().await.expect("applied");
            if is_known {
                eventually("a wants it back", || asked() > before).await;
            }
            of(&a).unbind("cache").await.expect("unbound");
            assert_eq!(of(&b).lookup("cache").await.expect("asked"), None);
            of(&b).bind("cache", b"b", false).await.expect("free");
            of(&a).unbind("cache").await.expect("unbound");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_to_bind_or_unbind_is_resolved() {
    for lost in [Fault::drop_before, Fault::drop_after] {
        for ephemeral in [false, true] {
            for ground in grounds() {
                let client = ground.client(TEN).await;
                let names = of(&client);
                client.nodes().ensure(PATH).await.expect("there");
                let fault = ground.inject(lost("create2"));
                names.bind("db", b"one", ephemeral).await.expect("resolved");
                assert!(ground.fault_fired(fault));
                let again = names.bind("db", b"one", ephemeral).await.expect_err("bound");
                assert_eq!(again.kind(), ErrorKind::Exists);
                let fault = ground.inject(lost("delete"));
                names.unbind("db").await.expect("resolved");
                assert!(ground.fault_fired(fault));
                assert_eq!(names.list().await.expect("listed"), Vec::<String>::new());
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unbinding_that_was_lost_unbinds_nothing_that_was_bound_since() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        of(&b).bind("db", b"old", false).await.expect("bound");
        ground.inject(Fault::drop_after("delete").session(a.session_id()));
        ground.inject(Fault::refuse_connections(2));
        let unbinding = tokio::spawn({
            let names = of(&a);
            async move { names.unbind("db").await }
        });
        let is_unbound = async { while of(&b).lookup("db").await.expect("asked").is_some() {} };
        soon("it is unbound", is_unbound).await;
        of(&b).bind("db", b"new", false).await.expect("bound again");
        soon("the unbinding", unbinding).await.expect("joined").expect("resolved");
        assert_eq!(of(&b).lookup("db").await.expect("asked"), Some(b"new".to_vec()));
        of(&b).unbind("db").await.expect("unbound");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_binding_comes_behind_an_unbinding_of_its_client_however_long_that_takes() {
    let server = server();
    // Each step is answered within it, and all of them take more than twice as long.
    let budget = Duration::from_secs(4);
    let retry = RetryOptions::default().base(Duration::from_millis(2500)).give_up_after(budget);
    let a = connected(&server, options(TEN).retry(retry)).await;
    let b = client(&server).await;
    let (names, node) = (of(&a), format!("{PATH}/db"));
    names.bind("db", b"1", true).await.expect("bound");
    // What its client looks at when it hears that its node is gone, and then what is to be deleted.
    let slow = Fault::delay_reply("exists", budget * 3 / 4).path(&node).session(a.session_id()).times(2);
    let slow = server.inject(slow);
    let lost = server.inject(Fault::drop_before("delete").path(&node).session(a.session_id()));
    let theft = b.nodes().transaction();
    theft.delete(&node, None).expect("valid");
    theft.create(&node, b"b", zkrecipes::CreateMode::Persistent).expect("valid");
    theft.commit().await.expect("applied");
    eventually("it looks", || server.fault_fired(slow)).await;
    let (unbound, bound) = soon("both", join(names.unbind("db"), names.bind("db", b"2", false))).await;
    assert!(server.fault_fired(lost));
    unbound.expect("unbound");
    bound.expect("bound when it was unbound");
    assert_eq!(names.lookup("db").await.expect("asked"), Some(b"2".to_vec()));
}

#[tokio::test(flavor = "multi_thread")]
async fn parents_stay_where_others_expect_that() {
    let ground = grounds().remove(0);
    let client = ground.client_with(options(TEN).naming(Naming::Kazoo)).await;
    of(&client).bind("db", b"", false).await.expect("bound");
    assert!(ground.log().iter().all(|entry| entry.op != "createContainer"));
}

#[test]
fn names_are_bound_and_followed_by_threads() {
    let server = crate::support::server();
    let client = blocking::Client::connect(&server.connect_string(), options(TEN)).expect("it answers");
    let names = client.names(PATH).expect("valid");
    names.bind("a", b"1", true).expect("bound");
    assert_eq!(names.lookup("a").expect("asked").as_deref(), Some(&b"1"[..]));
    assert_eq!(names.list().expect("listed"), ["a"]);
    let mut feed = names.watch();
    assert_eq!(feed.next().expect("told").expect("no error"), all(&[("a", "1")]));
    names.unbind("a").expect("unbound");
    assert_eq!(feed.next().expect("told").expect("no error"), all(&[]));
}
