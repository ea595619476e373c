//! A group: who is in it, over sessions and deletions; what followers are told, and what that costs.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::support::ground::{Ground, grounds};
use crate::support::lateness::in_time;
use crate::support::{SOON, client, eventually, options, server, soon};
use zkrecipes::{
    Client, CreateMode, ErrorKind, Feed, Group, GroupEvent, GroupLayout, GroupOptions, Naming, State,
    blocking,
};
use zkrecipes_embedded::Fault;

const PATH: &str = "/groups/workers";
const TEN: Duration = Duration::from_secs(10);

fn of(client: &Client) -> Group {
    client.group(PATH, GroupOptions::default()).expect("a valid path")
}

type Members = BTreeMap<String, Vec<u8>>;

fn members(these: &[(&str, &str)]) -> Members {
    these.iter().map(|(name, data)| ((*name).to_owned(), data.as_bytes().to_vec())).collect()
}

async fn next(feed: &mut Feed<GroupEvent>) -> GroupEvent {
    soon("an event", feed.next()).await.expect("it goes on").expect("no error")
}

fn joined(name: &str, data: &str) -> GroupEvent {
    GroupEvent::Joined { name: name.to_owned(), data: data.as_bytes().to_vec() }
}

fn left(name: &str) -> GroupEvent {
    GroupEvent::Left { name: name.to_owned() }
}

fn changed(name: &str, data: &str) -> GroupEvent {
    GroupEvent::Changed { name: name.to_owned(), data: data.as_bytes().to_vec() }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_is_one_over_sessions_and_deletions() {
    for ground in grounds() {
        let (a, b) = (ground.client(Duration::from_secs(4)).await, ground.client(TEN).await);
        let (of_a, of_b) = (of(&a), of(&b));
        of_a.join("a", b"1").await.expect("joined");
        let mut feed = of_b.watch();
        assert_eq!(next(&mut feed).await, GroupEvent::Snapshot(members(&[("a", "1")])));
        ground.expire(a.session_id()).await;
        assert_eq!(next(&mut feed).await, left("a"));
        assert_eq!(next(&mut feed).await, joined("a", "1"));
        of_a.update(b"2").await.expect("updated");
        assert_eq!(next(&mut feed).await, changed("a", "2"));
        b.nodes().delete(&format!("{PATH}/a"), None).await.expect("deleted");
        assert_eq!(next(&mut feed).await, left("a"));
        assert_eq!(next(&mut feed).await, joined("a", "2"));
        // The follower's own session ends, and what happened meanwhile is told.
        let session = b.session_id();
        ground.expire(session).await;
        of_a.update(b"3").await.expect("updated");
        assert_eq!(next(&mut feed).await, changed("a", "3"));
        of_a.leave().await.expect("left");
        assert_eq!(next(&mut feed).await, left("a"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_an_older_session_of_ours_has_left_is_made_again() {
    let ground = grounds().remove(0);
    let Ground::Embedded(server) = &ground else { unreachable!("the first is embedded") };
    let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
    let of_a = of(&a);
    of_a.join("a", b"1").await.expect("joined");
    let node = format!("{PATH}/a");
    let before = b.nodes().exists(&node).await.expect("asked").expect("there");
    // The client is told that its session is over, and the server still has it.
    ground.inject(Fault::answer_expired("*").session(a.session_id()));
    a.nodes().exists("/").await.ok();
    soon("it is made again", async {
        loop {
            let now = b.nodes().exists(&node).await.expect("asked");
            if now
                .is_some_and(|now| now.czxid != before.czxid && now.ephemeral_owner as u64 == a.session_id())
            {
                return;
            }
        }
    })
    .await;
    assert_ne!(before.ephemeral_owner as u64, a.session_id());
    assert_eq!(server.sessions().len(), 3, "the server still has the old one");
    assert_eq!(of(&b).members().await.expect("listed"), members(&[("a", "1")]));
}

fn replacing(client: &Client) -> Group {
    client.group(PATH, GroupOptions::default().replace(true)).expect("a valid path")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_that_is_replaced_goes_and_the_next_one_comes_in_one_transaction() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let replaced = of(&a);
        replaced.join("a", b"1").await.expect("joined");
        let node = format!("{PATH}/a");
        let watched = ground.client(TEN).await;
        let mut feed = of(&watched).watch();
        assert_eq!(next(&mut feed).await, GroupEvent::Snapshot(members(&[("a", "1")])));
        let (first, second) = (replacing(&b), replacing(&b));
        first.join("a", b"2").await.expect("joined");
        assert_eq!((next(&mut feed).await, next(&mut feed).await), (left("a"), joined("a", "2")));
        let stat = watched.nodes().exists(&node).await.expect("asked").expect("there");
        assert_eq!(stat.ephemeral_owner as u64, b.session_id());
        // Of one client no two replace each other: it would not know which of them the node is.
        assert_eq!(second.join("a", b"3").await.expect_err("kept").kind(), ErrorKind::Exists);
        assert_eq!(replaced.update(b"4").await.expect_err("replaced").kind(), ErrorKind::Exists);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mishap_while_a_member_is_replaced_leaves_one_of_the_two() {
    for mishap in [Fault::drop_before, Fault::drop_after] {
        for op in ["create2", "exists", "multi"] {
            let ground = grounds().remove(0);
            let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
            let replaced = of(&a);
            replaced.join("a", b"1").await.expect("joined");
            let fault = ground.inject(mishap(op).session(b.session_id()));
            let group = replacing(&b);
            group.join("a", b"2").await.expect("resolved");
            assert!(ground.fault_fired(fault), "{op}");
            let now = of(&a).members().await.expect("listed");
            assert_eq!(now, members(&[("a", "2")]), "{op}");
            group.leave().await.expect("left");
            soon("the first one is back", async {
                while of(&b).members().await.expect("listed") != members(&[("a", "1")]) {}
            })
            .await;
        }
    }
}

/// Its node was seen on one connection, and on the next another one has the name.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_waits_for_a_connection_is_not_made_to_who_has_taken_the_place() {
    let server = server();
    // Only the way of the first breaks.
    let way = Ground::real(server.connect_string(), String::new());
    let (first, other) = (way.client_with(options(TEN).max_in_flight(1)).await, client(&server).await);
    let replaced = of(&first);
    replaced.join("a", b"1").await.expect("joined");
    let slowly = |what: &str, seconds: f64| {
        let slow = Fault::delay_reply(what, Duration::from_secs_f64(seconds)).session(first.session_id());
        server.inject(slow);
    };
    // Long enough for the other request to queue.
    slowly("exists", 2.0);
    slowly("getChildren", 5.0);
    let sent = |what: &str| first.metrics().requests.get(what).copied().unwrap_or(0);
    let (looks, changes) = (sent("exists"), sent("set"));
    let updating = tokio::spawn(async move { replaced.update(b"2").await });
    eventually("it looks whose node is there", || sent("exists") > looks).await;
    let nodes = first.nodes();
    let filling = tokio::spawn(async move { nodes.children("/").await });
    eventually("its change waits for room", || sent("set") > changes).await;
    way.inject(Fault::refuse_connections(1).forever());
    way.break_connections();
    eventually("it has no connection", || first.state() != State::Connected).await;
    let taker = replacing(&other);
    taker.join("a", b"3").await.expect("joined in its place");
    way.clear_faults();
    let error = soon("the update", updating).await.expect("joined").expect_err("another one has the name");
    assert_eq!(error.kind(), ErrorKind::Exists, "{error}");
    soon("the other request", filling).await.expect("joined").expect("asked again");
    assert_eq!(taker.members().await.expect("listed"), members(&[("a", "3")]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_join_that_replaces_and_is_given_up_leaves_nothing_of_its_own() {
    let ground = grounds().remove(0);
    let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
    let first = of(&a);
    first.join("a", b"1").await.expect("joined");
    let slow = ground.inject(Fault::delay_reply("multi", Duration::from_millis(500)).session(b.session_id()));
    let group = replacing(&b);
    let mut joining = Box::pin(group.join("a", b"2"));
    let fired = eventually("it is on its way", || ground.fault_fired(slow));
    tokio::select! {
        biased;
        () = fired => {}
        _ = &mut joining => panic!("answered before"),
    }
    drop(joining);
    // Whoever was replaced is there again once that is undone.
    soon("it is the first one's", async {
        while of(&b).members().await.expect("listed") != members(&[("a", "1")]) {}
    })
    .await;
    first.update(b"3").await.expect("it is its own again");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_leaves_one_membership_or_none() {
    for lost in [Fault::drop_before, Fault::drop_after] {
        for ground in grounds() {
            let client = ground.client(TEN).await;
            client.nodes().ensure(PATH).await.expect("there");
            let group = of(&client);
            let fault = ground.inject(lost("create2"));
            group.join("a", b"1").await.expect("resolved");
            assert!(ground.fault_fired(fault));
            let fault = ground.inject(lost("setData"));
            group.update(b"2").await.expect("resolved");
            assert!(ground.fault_fired(fault));
            assert_eq!(group.members().await.expect("listed"), members(&[("a", "2")]));
            let fault = ground.inject(lost("delete"));
            group.leave().await.expect("resolved");
            assert!(ground.fault_fired(fault));
            assert_eq!(group.members().await.expect("listed"), members(&[]));
            // Given up while the create is on its way.
            let slow = ground.inject(Fault::delay_reply("create2", Duration::from_millis(500)));
            let mut joining = Box::pin(group.join("b", b""));
            let fired = eventually("it is on its way", || ground.fault_fired(slow));
            tokio::select! {
                biased;
                () = fired => {}
                _ = &mut joining => panic!("answered before"),
            }
            drop(joining);
            soon("nothing stays", async {
                while !client.nodes().children(PATH).await.expect("listed").is_empty() {}
            })
            .await;
            eventually("no watch is left", || ground.watch_count() == 0).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_a_thousand_members_a_change_costs_one_list_and_one_read() {
    const MANY: usize = 1000;
    let ground = grounds().remove(0);
    let (crowd, a, watcher) = (ground.client(TEN).await, ground.client(TEN).await, ground.client(TEN).await);
    crowd.nodes().ensure(PATH).await.expect("there");
    let all = crowd.nodes().transaction();
    for number in 0..MANY {
        all.create(&format!("{PATH}/m{number}"), b"x", CreateMode::Ephemeral).expect("it fits");
    }
    all.commit().await.expect("applied");
    let mut feed = of(&watcher).watch();
    let GroupEvent::Snapshot(at_first) = next(&mut feed).await else { panic!("no snapshot") };
    assert_eq!(at_first.len(), MANY);
    let of_a = of(&a);
    let asked = || {
        let session = watcher.session_id();
        let log = ground.log().into_iter().filter(move |entry| entry.session_id == session);
        let mut ops: Vec<_> = log.map(|entry| entry.op).filter(|op| !["sync", "ping"].contains(op)).collect();
        ops.sort_unstable();
        ops
    };
    ground.clear_log();
    of_a.join("new", b"1").await.expect("joined");
    assert_eq!(next(&mut feed).await, joined("new", "1"));
    assert_eq!(asked(), ["getChildren2", "getData"]);
    ground.clear_log();
    of_a.update(b"2").await.expect("updated");
    assert_eq!(next(&mut feed).await, changed("new", "2"));
    assert_eq!(asked(), ["getData"]);
    ground.clear_log();
    of_a.leave().await.expect("left");
    assert_eq!(next(&mut feed).await, left("new"));
    // The list that the deletion causes leaves with the next wait.
    let quiet = tokio::time::timeout(Duration::from_millis(200), feed.next()).await;
    assert!(quiet.is_err(), "{quiet:?}");
    assert_eq!(asked(), ["getChildren2"]);
}

/// Adds them, in as few transactions as fit.
async fn crowd_in(client: &Client, names: impl Iterator<Item = String>) {
    let names: Vec<_> = names.collect();
    for some in names.chunks(2000) {
        let all = client.nodes().transaction();
        for name in some {
            all.create(&format!("{PATH}/{name}"), b"x", CreateMode::Ephemeral).expect("it fits");
        }
        all.commit().await.expect("applied");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn with_ten_thousand_members_what_a_watcher_asks_is_in_proportion_to_what_changed() {
    const MANY: usize = 10_000;
    const SOME: usize = 200;
    for ground in grounds() {
        let (crowd, watcher) = (ground.client(TEN).await, ground.client(TEN).await);
        crowd.nodes().ensure(PATH).await.expect("there");
        crowd_in(&crowd, (0..MANY).map(|number| format!("m{number}"))).await;
        let mut feed = of(&watcher).watch();
        let GroupEvent::Snapshot(at_first) = next(&mut feed).await else { panic!("no snapshot") };
        assert_eq!(at_first.len(), MANY);
        assert_eq!(ground.requests_of(&watcher, "getData").len(), MANY, "each was read once");
        let asked = || (ground.lists_of(&watcher).len(), ground.requests_of(&watcher, "getData").len());
        let told = async |feed: &mut Feed<GroupEvent>, count: usize| {
            let mut events = Vec::new();
            while events.len() < count {
                events.push(next(feed).await);
            }
            events
        };

        crowd.nodes().set(&format!("{PATH}/m1"), b"first", None).await.expect("set");
        assert_eq!(next(&mut feed).await, changed("m1", "first"));
        ground.clear_log();
        let quiet = tokio::time::timeout(Duration::from_secs(1), feed.next()).await;
        assert!(quiet.is_err(), "{quiet:?}");
        assert_eq!(asked(), (0, 0), "it does not look at what does not change");

        // Some join at once.
        ground.clear_log();
        crowd_in(&crowd, (0..SOME).map(|number| format!("new{number}"))).await;
        let events = told(&mut feed, SOME).await;
        assert!(events.iter().all(|event| matches!(event, GroupEvent::Joined { .. })), "{events:?}");
        let (lists, reads) = asked();
        assert!(lists <= 2 && reads == SOME, "{lists} lists and {reads} reads for {SOME} who joined at once");

        // Some say something else, all at once.
        ground.clear_log();
        let all = crowd.nodes().transaction();
        for number in 0..SOME {
            all.set(&format!("{PATH}/m{number}"), b"y", None).expect("it fits");
        }
        all.commit().await.expect("applied");
        let events = told(&mut feed, SOME).await;
        assert!(events.iter().all(|event| matches!(event, GroupEvent::Changed { .. })), "{events:?}");
        assert_eq!(asked(), (0, SOME));

        // One says many things, and whoever reads slowly is told the last of them.
        ground.clear_log();
        for round in 0..=SOME {
            let data = format!("round {round}");
            crowd.nodes().set(&format!("{PATH}/m0"), data.as_bytes(), None).await.expect("set");
        }
        let last = changed("m0", &format!("round {SOME}"));
        // At most what it said when the watch was told first.
        let events = [next(&mut feed).await, last.clone()];
        if events[0] != last {
            assert_eq!(next(&mut feed).await, last);
        }
        let (lists, reads) = asked();
        assert!(lists == 0 && (1..=2).contains(&reads), "{lists} lists and {reads} reads for one member");

        // Some leave one after the other, while the watcher listens.
        ground.clear_log();
        for number in 0..SOME {
            crowd.nodes().delete(&format!("{PATH}/new{number}"), None).await.expect("deleted");
        }
        let events = told(&mut feed, SOME).await;
        assert!(events.iter().all(|event| matches!(event, GroupEvent::Left { .. })), "{events:?}");
        let (lists, reads) = asked();
        // Of who is deleted, the bell says only that it is time to look.
        assert!(lists <= SOME && reads <= SOME, "{lists} lists and {reads} reads for {SOME} who left");
        feed.close();
        crowd.close(Some(TEN)).await.expect("closed");
        eventually("no watch is left", || ground.watch_count() == 0).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn kazoos_parties_have_names_alone() {
    for (layout, mark) in [(GroupLayout::Party, "__party__"), (GroupLayout::ShallowParty, "-worker-1")] {
        for ground in grounds() {
            let client = ground.client_with(options(TEN).naming(Naming::Kazoo)).await;
            let own = match layout {
                // The default of the naming.
                GroupLayout::Party => GroupOptions::default(),
                other => GroupOptions::default().layout(other),
            };
            let group = client.group(PATH, own).expect("valid");
            assert_eq!(group.join("worker-1", b"x").await.expect_err("no room").kind(), ErrorKind::Invalid);
            group.join("worker-1", b"").await.expect("joined");
            assert_eq!(group.update(b"x").await.expect_err("no room").kind(), ErrorKind::Invalid);
            let nodes = client.nodes().children(PATH).await.expect("listed");
            assert!(
                nodes.len() == 1 && nodes[0].ends_with(mark) && nodes[0].len() == 32 + mark.len(),
                "{nodes:?}"
            );
            let mut feed = group.watch();
            assert_eq!(next(&mut feed).await, GroupEvent::Snapshot(members(&[("worker-1", "")])));
            assert_eq!(group.members().await.expect("listed"), members(&[("worker-1", "")]));
            let other = client.group(PATH, GroupOptions::default().layout(layout)).expect("valid");
            other.join("b", b"").await.expect("joined");
            assert_eq!(next(&mut feed).await, joined("b", ""));
            other.leave().await.expect("left");
            assert_eq!(next(&mut feed).await, left("b"));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_that_two_members_of_a_party_have_is_gone_with_the_last_of_them() {
    for layout in [GroupLayout::Party, GroupLayout::ShallowParty] {
        for ground in grounds() {
            let client = ground.client(TEN).await;
            let of = || client.group(PATH, GroupOptions::default().layout(layout)).expect("valid");
            let (one, two, other) = (of(), of(), of());
            let mut feed = other.watch();
            assert_eq!(next(&mut feed).await, GroupEvent::Snapshot(members(&[])));
            one.join("twin", b"").await.expect("joined");
            assert_eq!(next(&mut feed).await, joined("twin", ""));
            two.join("twin", b"").await.expect("joined");
            other.join("other", b"").await.expect("joined");
            assert_eq!(next(&mut feed).await, joined("other", ""), "the name was there before");
            one.leave().await.expect("left");
            other.leave().await.expect("left");
            assert_eq!(next(&mut feed).await, left("other"), "one of that name is there yet");
            two.leave().await.expect("left");
            assert_eq!(next(&mut feed).await, left("twin"));
        }
    }
}

#[test]
fn threads_are_members_and_follow_too() {
    let server = crate::support::server();
    let client = blocking::Client::connect(&server.connect_string(), options(TEN)).expect("it answers");
    let group = client.group(PATH, GroupOptions::default()).expect("valid");
    group.join("a", b"1").expect("joined");
    assert_eq!(group.members().expect("listed"), members(&[("a", "1")]));
    let mut feed = group.watch();
    assert_eq!(feed.next().expect("told").expect("no error"), GroupEvent::Snapshot(members(&[("a", "1")])));
    group.update(b"2").expect("updated");
    assert_eq!(feed.next().expect("told").expect("no error"), changed("a", "2"));
    group.leave().expect("left");
    assert_eq!(feed.next().expect("told").expect("no error"), left("a"));
    client.close(Some(SOON)).expect("closed");
    assert!(feed.next().is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_whose_watch_is_refused_asks_for_it_less_and_less_often() {
    let ground = grounds().remove(0);
    let client = ground.client(TEN).await;
    for op in ["getChildren", "getChildren2"] {
        ground.inject(Fault::answer_throttled(op).path("**/a").forever());
    }
    let started = Instant::now();
    let group = of(&client);
    group.join("a", b"").await.expect("joined");
    eventually("it is asked for again", || ground.lists_of(&client).len() >= 7).await;
    // The pauses grow from 10 ms; without that, they would be 60 ms together.
    assert!(started.elapsed() >= Duration::from_millis(300), "{:?}", started.elapsed());
    ground.clear_faults();
    group.leave().await.expect("left");
}

/// One thread of the process serves all its clients.
#[tokio::test(flavor = "multi_thread")]
async fn who_reads_ten_thousand_members_holds_up_no_other_client() {
    let (servers, crowded) = (server(), server());
    let (other, crowd) = (client(&servers).await, client(&crowded).await);
    crowd.nodes().ensure(PATH).await.expect("there");
    crowd_in(&crowd, (0..10_000).map(|number| format!("m{number}"))).await;
    in_time(async || {
        let mut feed = of(&crowd).watch();
        let reading = tokio::spawn(async move { next(&mut feed).await });
        let mut longest = Duration::ZERO;
        while !reading.is_finished() {
            let began = Instant::now();
            other.nodes().exists("/").await.expect("answered");
            longest = longest.max(began.elapsed());
        }
        assert!(matches!(reading.await, Ok(GroupEvent::Snapshot(members)) if members.len() == 10_000));
        match longest < Duration::from_millis(250) {
            true => Ok(()),
            false => Err(format!("an answer took {longest:?}")),
        }
    })
    .await;
}
