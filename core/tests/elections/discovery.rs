//! Services and their instances: registered whatever gets lost, followed by who picks, and left alone where they are nobody's.

use std::time::{Duration, Instant};

use crate::support::access::{NO_READING, set_access};
use crate::support::ground::grounds;
use crate::support::{client, client_with, eventually, nodes_under, server, soon};
use zkrecipes::{Client, CreateMode, Discovery, ErrorKind, Instance, PickBy, Service, ServiceType, drive};
use zkrecipes_embedded::Fault;

const PATH: &str = "/services";
const WEB: &str = "/services/web";
const TEN: Duration = Duration::from_secs(10);

fn of(client: &Client) -> Discovery {
    client.discovery(PATH).expect("a valid path")
}

fn web(id: &str) -> Service {
    Service::new("web", "10.0.0.7").id(id)
}

async fn ids(client: &Client) -> Vec<String> {
    let found = of(client).instances("web").await.expect("asked");
    found.into_iter().map(|one| one.id).collect()
}

const TYPES: [ServiceType; 4] =
    [ServiceType::Dynamic, ServiceType::Static, ServiceType::Permanent, ServiceType::DynamicSequential];

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_to_registering_or_unregistering_is_resolved() {
    for lost in [Fault::drop_before, Fault::drop_after] {
        for kind in TYPES {
            for ground in grounds() {
                let client = ground.client(TEN).await;
                client.nodes().ensure(WEB).await.expect("there");
                let fault = ground.inject(lost("create2"));
                let registration = of(&client).register(web("a").service_type(kind)).await.expect("resolved");
                assert!(ground.fault_fired(fault));
                assert_eq!(ids(&client).await, ["a"], "{kind:?}");
                let fault = ground.inject(lost("setData"));
                registration.update(registration.service().port(80)).await.expect("resolved");
                assert!(ground.fault_fired(fault));
                assert_eq!(of(&client).instances("web").await.expect("asked")[0].port, Some(80));
                let fault = ground.inject(lost("delete"));
                registration.unregister().await.expect("resolved");
                assert!(ground.fault_fired(fault));
                assert_eq!(ids(&client).await, [""; 0], "{kind:?}");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_id_that_is_taken_says_what_to_do_by_whose_node_it_is() {
    let server = server();
    let (a, b) = (client(&server).await, client(&server).await);
    of(&a).register(web("a")).await.expect("free");
    a.nodes().create(&format!("{WEB}/b"), b"", CreateMode::Persistent).await.expect("new");
    for (who, id, advice) in [
        // It may be that of a process that has died.
        (&b, "a", "wait until it has gone, when the session timeout of that one is over"),
        (&a, "a", "this client keeps that node already"),
        (&a, "b", "change or remove it"),
    ] {
        let error = of(who).register(web(id)).await.map(drop).expect_err("it is taken");
        assert_eq!(error.kind(), ErrorKind::Exists);
        assert!(error.to_string().contains(advice), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registration_that_is_dropped_on_its_way_leaves_nothing_behind() {
    for kind in [ServiceType::Dynamic, ServiceType::DynamicSequential] {
        let server = server();
        let client = client(&server).await;
        client.nodes().ensure(WEB).await.expect("there");
        // Of an answer that is there and was not received.
        let registering = drive::register(&of(&client), web("a").service_type(kind)).await.expect("free");
        assert_eq!(nodes_under(&server, WEB).len(), 1);
        drop(registering);
        eventually("it is taken back", || nodes_under(&server, WEB).is_empty()).await;
        // And of one that is still to come, also when the deletion gets lost.
        for polls in 1..12 {
            server.inject(Fault::drop_before("delete"));
            let mut registering = Box::pin(drive::register(&of(&client), web("a").service_type(kind)));
            for _ in 0..polls {
                let polled = tokio::time::timeout(Duration::from_micros(200), registering.as_mut());
                if let Ok(done) = polled.await {
                    drop(done.expect("free"));
                    break;
                }
            }
            drop(registering);
            // Nothing was made, or it is deleted at the second attempt.
            tokio::time::sleep(Duration::from_millis(20)).await;
            eventually("it is taken back", || nodes_under(&server, WEB).is_empty()).await;
            server.clear_faults();
        }
    }
}

/// The quorum says so, and with that all that was asked before has been decided.
#[tokio::test(flavor = "multi_thread")]
async fn a_registration_that_is_dropped_is_taken_back_also_where_its_parent_may_not_be_read() {
    let server = server();
    let client = client(&server).await;
    client.nodes().ensure(WEB).await.expect("there");
    set_access(&server.connect_string(), WEB, NO_READING);
    let slow = server.inject(Fault::delay_reply("create2", Duration::from_millis(300)));
    let discovery = of(&client);
    let registering = tokio::spawn(async move {
        drive::register(&discovery, web("a").service_type(ServiceType::DynamicSequential)).await
    });
    eventually("it is made", || server.fault_fired(slow)).await;
    let lost = server.inject(Fault::drop_before("delete").path("/services/web/a*"));
    registering.abort();
    eventually("its deletion is lost", || server.fault_fired(lost)).await;
    eventually("it is taken back", || nodes_under(&server, WEB).is_empty()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registration_stays_when_whoever_has_it_lets_it_go() {
    let server = server();
    let client = client_with(&server, Duration::from_millis(600)).await;
    drop(of(&client).register(web("a").service_type(ServiceType::DynamicSequential)).await.expect("free"));
    drop(of(&client).register(web("b")).await.expect("free"));
    assert_eq!(ids(&client).await, ["a", "b"]);
    server.expire(client.session_id());
    soon("they are there again", async { while ids(&client).await != ["a", "b"] {} }).await;
    client.close(None).await.expect("closed");
    eventually("they go with the client", || nodes_under(&server, WEB).is_empty()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_picks_goes_on_while_no_server_answers() {
    let server = server();
    let (a, b) = (client(&server).await, client(&server).await);
    let registration = of(&a).register(web("a")).await.expect("free");
    let discovery = of(&b);
    assert_eq!(discovery.pick("web", PickBy::Sticky).await.expect("known").expect("one").id, "a");
    server.stop();
    for by in [PickBy::RoundRobin, PickBy::Random, PickBy::Sticky] {
        let picked = soon("a pick", discovery.pick("web", by)).await.expect("known");
        assert_eq!(picked.expect("one").id, "a");
    }
    server.restart().expect("its port is free");
    registration.unregister().await.expect("registered");
    soon("it is told", async {
        while discovery.pick("web", PickBy::RoundRobin).await.expect("known").is_some() {}
    })
    .await;
    // What was watched for the handle goes with it.
    a.close(None).await.expect("closed");
    assert!(server.watch_count() > 0);
    drop(discovery);
    eventually("no watch is left", || server.watch_count() == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn picks_of_many_at_the_same_time_follow_a_service_once() {
    let server = server();
    let client = client(&server).await;
    of(&client).register(web("a")).await.expect("free");
    server.clear_log();
    let discovery = of(&client);
    let picks = (0..50).map(|_| {
        let discovery = discovery.clone();
        tokio::spawn(async move { discovery.pick("web", PickBy::RoundRobin).await })
    });
    for pick in picks.collect::<Vec<_>>() {
        assert_eq!(pick.await.expect("joined").expect("known").expect("one").id, "a");
    }
    let is_list = |op: &str, path: &str| op.starts_with("getChildren") && path == WEB;
    let lists = server.log().iter().filter(|entry| is_list(entry.op, &entry.path)).count();
    assert_eq!(lists, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_not_be_read_stops_nobody() {
    let server = server();
    let client = client(&server).await;
    let discovery = of(&client);
    discovery.register(web("a")).await.expect("free");
    client.nodes().create("/services/web/sealed", b"x", CreateMode::Persistent).await.expect("free");
    set_access(&server.connect_string(), "/services/web/sealed", 0b1_1000);
    client.nodes().create("/services/web/odd", b"\xff", CreateMode::Persistent).await.expect("free");
    assert_eq!(ids(&client).await, ["a"]);
    assert_eq!(discovery.pick("web", PickBy::Random).await.expect("known").expect("one").id, "a");
    // Of a service that is nobody's to read who picks is told, and goes on when it is.
    client.nodes().ensure("/services/mail").await.expect("there");
    set_access(&server.connect_string(), "/services/mail", 0b1_1110);
    let denied = discovery.pick("mail", PickBy::Random).await.expect_err("denied");
    assert_eq!(denied.kind(), ErrorKind::Denied);
    assert_eq!(denied.path(), Some("/services/mail"));
    set_access(&server.connect_string(), "/services/mail", 0b1_1111);
    assert_eq!(discovery.pick("mail", PickBy::Random).await.expect("known"), None);
    // What is nobody's to read any more is as it was known last, until it is again.
    let follower = client_with(&server, Duration::from_millis(600)).await;
    let follows = of(&follower);
    assert_eq!(follows.pick("web", PickBy::Random).await.expect("known").expect("one").id, "a");
    set_access(&server.connect_string(), WEB, 0b1_1110);
    let session_id = follower.session_id();
    server.expire(session_id);
    eventually("it has another session", || follower.session_id() != session_id).await;
    let registration = discovery.register(web("b")).await.expect("free");
    let until = Instant::now() + Duration::from_millis(100);
    while Instant::now() < until {
        assert_eq!(follows.pick("web", PickBy::Random).await.expect("known").expect("one").id, "a");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    set_access(&server.connect_string(), WEB, 0b1_1111);
    soon("both are picked", async {
        while follows.pick("web", PickBy::RoundRobin).await.expect("known").expect("one").id != "b" {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
    registration.unregister().await.expect("registered");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_static_instance_that_somebody_deletes_is_registered_again() {
    let server = server();
    let client = client(&server).await;
    let registration = of(&client).register(web("a").service_type(ServiceType::Static)).await.expect("free");
    client.nodes().delete("/services/web/a", None).await.expect("there");
    let gone = registration.update(registration.service().port(1)).await.expect_err("gone");
    assert_eq!(gone.kind(), ErrorKind::NoNode);
    assert_eq!(registration.service().port, None, "it is as it was");
    // That it is not there is no reason to refuse it.
    registration.unregister().await.expect("registered");
    let again = registration.unregister().await.expect_err("unregistered");
    assert_eq!(again.kind(), ErrorKind::NotHeld);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_keeps_the_name_the_id_and_the_type() {
    let server = server();
    let client = client(&server).await;
    let registration = of(&client).register(web("a")).await.expect("free");
    let mut other_name = registration.service();
    other_name.name = "mail".into();
    for other in
        [other_name, registration.service().id("b"), registration.service().service_type(ServiceType::Static)]
    {
        let refused = registration.update(other).await.expect_err("another one");
        assert_eq!(refused.kind(), ErrorKind::Invalid);
    }
    let before = of(&client).instances("web").await.expect("asked")[0].registered_at;
    registration.update(registration.service().port(1)).await.expect("registered");
    let after = &of(&client).instances("web").await.expect("asked")[0];
    assert_eq!((after.registered_at, after.port), (before, Some(1)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sequential_instance_whose_answer_is_lost_is_not_taken_for_an_earlier_one_of_its_id() {
    for lost in [Fault::drop_before, Fault::drop_after] {
        let server = server();
        let (client, other) = (client(&server).await, client(&server).await);
        let sequential = || web("a").service_type(ServiceType::DynamicSequential);
        // Somebody else's has such a name, too, and tells nobody whose it is.
        other.nodes().ensure(WEB).await.expect("there");
        let sibling = "/services/web/a9999999999";
        other.nodes().create(sibling, b"x", CreateMode::Persistent).await.expect("free");
        set_access(&server.connect_string(), sibling, 0b1_1000);
        let mut registrations = Vec::new();
        for so_many in 1..4 {
            let fault = server.inject(lost("create2"));
            registrations.push(of(&client).register(sequential()).await.expect("resolved"));
            assert!(server.fault_fired(fault));
            assert_eq!(nodes_under(&server, WEB).len(), so_many + 1);
        }
        for registration in registrations {
            registration.unregister().await.expect("registered");
        }
        assert_eq!(nodes_under(&server, WEB).len(), 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_update_that_nobody_heard_the_end_of_is_not_undone_by_the_next() {
    let server = server();
    let client = client(&server).await;
    let registration = of(&client).register(web("a")).await.expect("free");
    server.stop();
    let mut update = Box::pin(registration.update(registration.service().port(80)));
    tokio::time::timeout(Duration::from_millis(20), update.as_mut()).await.expect_err("no server answers");
    drop(update);
    assert_eq!(registration.service().port, Some(80));
    server.restart().expect("its port is free");
    registration.update(registration.service().enabled(false)).await.expect("registered");
    let now = &of(&client).instances("web").await.expect("asked")[0];
    assert_eq!((now.port, now.enabled), (Some(80), false));
    // One that was refused meanwhile is not gone on from.
    set_access(&server.connect_string(), "/services/web/a", 0b1_1101);
    let denied = registration.update(registration.service().port(81)).await.expect_err("denied");
    assert_eq!((denied.kind(), registration.service().port), (ErrorKind::Denied, Some(80)));
    let mut update = Box::pin(registration.update(registration.service().port(82)));
    let _ = tokio::time::timeout(Duration::ZERO, update.as_mut()).await;
    drop(update);
    soon("it is refused", async {
        while registration.service().port != Some(80) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_static_instance_whose_id_is_somebody_elses_now_leaves_theirs_alone() {
    let server = server();
    let (a, b) = (client(&server).await, client(&server).await);
    for kind in [ServiceType::Static, ServiceType::Permanent] {
        let registration = of(&a).register(web("a").service_type(kind)).await.expect("free");
        b.nodes().delete("/services/web/a", None).await.expect("there");
        let theirs = of(&b).register(web("a").port(1)).await.expect("free");
        let gone = registration.update(registration.service().port(2)).await.expect_err("gone");
        assert_eq!((gone.kind(), registration.service().port), (ErrorKind::NoNode, None));
        registration.unregister().await.expect("registered");
        assert_eq!(of(&b).instances("web").await.expect("asked")[0].port, Some(1));
        theirs.unregister().await.expect("registered");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sequential_instances_of_one_id_fail_one_by_one() {
    let server = server();
    let client = client(&server).await;
    let discovery = of(&client);
    for _ in 0..2 {
        let sequential = web("a").service_type(ServiceType::DynamicSequential);
        discovery.register(sequential).await.expect("free");
    }
    let pick = async || discovery.pick("web", PickBy::Sticky).await.expect("known");
    for _ in 0..2 {
        pick().await.expect("one more").failed();
    }
    assert_eq!(pick().await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_instance_that_a_watch_told_of_fails_also_when_it_was_registered_anew_and_says_the_same() {
    let server = server();
    let client = client(&server).await;
    let discovery = of(&client);
    let registration = discovery.register(web("a")).await.expect("free");
    let mut feed = discovery.watch("web").expect("valid");
    let told = soon("the first", feed.next()).await.expect("it goes on").expect("followed");
    for _ in 0..2 {
        // What says the same is no news; with the next one that is, the watch has seen it.
        registration.update(registration.service()).await.expect("registered");
        let news = discovery.register(web("b")).await.expect("free");
        let more = soon("news", feed.next()).await.expect("it goes on").expect("followed");
        assert_eq!((more.len(), &more[0]), (2, &told[0]));
        news.unregister().await.expect("registered");
        soon("news", feed.next()).await.expect("it goes on").expect("followed");
        let newest = discovery.instances("web").await.expect("asked").remove(0);
        let is_newest = |one: &Instance| drive::node_of(one) == drive::node_of(&newest);
        picks(&discovery, "it is registered anew, and has not failed", |one| one.is_some_and(is_newest))
            .await;
        told[0].failed();
        picks(&discovery, "it has failed", |one| one.is_none()).await;
    }
}

/// Until what is picked is what it should be.
async fn picks(discovery: &Discovery, what: &str, is_so: impl Fn(Option<&Instance>) -> bool) {
    let picked = async {
        while !is_so(discovery.pick("web", PickBy::Sticky).await.expect("known").as_ref()) {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    };
    soon(what, picked).await;
}
