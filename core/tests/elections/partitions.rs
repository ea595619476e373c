//! Partitions: who has which, how they move, and what that costs.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::support::access::{ALL, NO_CREATION, NO_READING, NO_WRITING, set_access};
use crate::support::ground::{Ground, grounds};
use crate::support::{eventually, said, soon};
use futures_util::FutureExt;
use tokio::task::JoinHandle;
use zkrecipes::{Client, CreateMode, ErrorKind, LostReason, Partition, Partitioner, PartitionerOptions};
use zkrecipes_embedded::Fault;

const PATH: &str = "/partitions/imports";
const TEN: Duration = Duration::from_secs(10);

fn options(name: &str) -> PartitionerOptions {
    PartitionerOptions::default().name(name)
}

fn of(client: &Client, partitions: usize, name: &str) -> Partitioner {
    client.partitioner(PATH, partitions, options(name)).expect("valid")
}

/// Works as a good member does: lets go of what is to move.
struct Worker {
    client: Client,
    member: Partitioner,
    working: JoinHandle<()>,
}

type Owned = Arc<Mutex<BTreeMap<String, Vec<String>>>>;

impl Worker {
    async fn begin(ground: &Ground, partitions: usize, name: &str, owned: &Owned) -> Worker {
        let client = ground.client(TEN).await;
        let member = of(&client, partitions, name);
        let (running, owned, name) = (member.clone(), owned.clone(), name.to_owned());
        let working = tokio::spawn(async move {
            let work = |partition: Partition| {
                let (owned, name) = (owned.clone(), name.clone());
                async move {
                    owned.lock().unwrap().entry(partition.name().to_owned()).or_default().push(name.clone());
                    let moves = Arc::new(tokio::sync::Notify::new());
                    let told = moves.clone();
                    let _asked = partition.on_revoke(move || told.notify_one());
                    moves.notified().await;
                    Ok::<(), zkrecipes::Error>(())
                }
            };
            // Ended by its client or by leaving.
            let _ = running.run(work).await;
        });
        Worker { client, member, working }
    }
}

async fn shares(member: &Partitioner, wanted: &[usize]) {
    let mut last = BTreeMap::new();
    for _ in 0..600 {
        last = member.owners().await.expect("owners");
        let mut counts: BTreeMap<Option<String>, usize> = BTreeMap::new();
        last.values().for_each(|owner| *counts.entry(owner.clone()).or_default() += 1);
        let mut found: Vec<usize> = counts.iter().filter(|(who, _)| who.is_some()).map(|(_, n)| *n).collect();
        found.sort_unstable();
        if !counts.contains_key(&None) && found == wanted {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("not shared as {wanted:?}: {last:?}");
}

fn moves(owned: &Owned) -> usize {
    owned.lock().unwrap().values().map(Vec::len).sum()
}

#[tokio::test(flavor = "multi_thread")]
async fn partitions_are_shared_and_move_only_as_far_as_they_must() {
    for ground in grounds() {
        let owned = Owned::default();
        // Identities tell them apart.
        let mut workers = vec![Worker::begin(&ground, 12, "a", &owned).await];
        let first = workers[0].member.clone();
        shares(&first, &[12]).await;
        assert_eq!(moves(&owned), 12);
        assert_eq!(first.members().await.expect("members"), BTreeMap::from([("a".to_owned(), 1)]));
        for (name, before, least) in [("b", 12, 6), ("c", 18, 4)] {
            workers.push(Worker::begin(&ground, 12, name, &owned).await);
            eventually("all have moved", || moves(&owned) == before + least).await;
        }
        assert_eq!(first.members().await.expect("members").len(), 3);
        // Who leaves gives all away.
        let second = workers.remove(1);
        soon("it leaves", second.member.leave()).await.expect("left");
        soon("its run ends", second.working).await.expect("no panic");
        eventually("what it had moves", || moves(&owned) == 22 + 4).await;
        let again = second.member.leave().await.expect_err("it has left");
        assert_eq!(again.kind(), ErrorKind::NotHeld);
        assert!(again.to_string().contains("call next or run first"), "{again}");
        // Who goes without a word, too.
        let third = workers.remove(1);
        drop(third.client.close(None).await);
        eventually("what it had moves", || moves(&owned) == 26 + 6).await;
        let all = owned.lock().unwrap().clone();
        assert!(all.values().all(|owners| owners.last().is_some_and(|last| last == "a")), "{all:?}");
        drop(workers);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_has_not_read_the_last_assignment_moves_nothing_back() {
    for ground in grounds() {
        let owned = Owned::default();
        let has = |who: &str| {
            let owned = owned.lock().unwrap();
            let whose = owned.iter().filter(|(_, owners)| owners.last().is_some_and(|last| last == who));
            whose.map(|(name, _)| name.clone()).collect::<Vec<_>>()
        };
        let leader = Worker::begin(&ground, 12, "a", &owned).await;
        eventually("it has all", || has("a").len() == 12).await;
        let next = Worker::begin(&ground, 12, "b", &owned).await;
        eventually("half", || has("b").len() == 6).await;
        let third = Worker::begin(&ground, 12, "c", &owned).await;
        eventually("a third", || has("c").len() == 4).await;
        // The next leader is slow to read what the others follow.
        let reads = Fault::delay_reply("getData", Duration::from_secs(3)).session(next.client.session_id());
        ground.inject(reads.forever());
        let last = Worker::begin(&ground, 12, "d", &owned).await;
        eventually("others let go for it", || has("d").len() >= 2).await;
        let won = has("d");
        ground.clear_log();
        soon("it leaves", leader.member.leave()).await.expect("left");
        eventually("the next one leads", || !ground.lists_of(&next.client).is_empty()).await;
        ground.clear_faults();
        eventually("each has its share", || ["b", "c", "d"].iter().all(|who| has(who).len() == 4)).await;
        let stay = has("d");
        assert!(
            won.iter().all(|name| stay.contains(name)),
            "{won:?} moved back: {:?}",
            owned.lock().unwrap()
        );
        drop((third, last));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_is_nobody_elses_before_it_was_let_go_of() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let one = a.partitioner(PATH, ["x"], options("one")).expect("valid");
        let held = soon("won", one.next(None)).await.expect("won");
        assert_eq!(held.name(), "x");
        soon("left", async {
            let leaving = tokio::spawn({
                let one = one.clone();
                async move { one.leave().await }
            });
            let (asks, asked) = tokio::sync::oneshot::channel();
            let _revoked = held.on_revoke(move || asks.send(()).expect("somebody waits"));
            asked.await.expect("it is asked for");
            let two = b.partitioner(PATH, ["x"], options("two")).expect("valid");
            let early = two.next(Some(Duration::from_millis(300))).await.expect_err("it is the other's");
            assert_eq!(early.kind(), ErrorKind::Timeout);
            assert!(held.is_held());
            let token = held.fencing_token();
            held.release().await.expect("released");
            leaving.await.expect("no panic").expect("left");
            let next = two.next(Some(TEN)).await.expect("won");
            assert!(next.fencing_token() > token);
            drop(next);
            two.leave().await.expect("left");
        })
        .await;
        drop((one, a.close(None).await, b.close(None).await));
        ground.assert_nothing_left("/partitions").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_let_go_of_in_time_is_taken_away() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        let drained = options("slow").drain(Duration::from_millis(300));
        let slow = client.partitioner(PATH, 1, drained).expect("valid");
        let held = soon("won", slow.next(None)).await.expect("won");
        let (loses, lost) = tokio::sync::oneshot::channel();
        let _lost = held.on_lost(move |error| drop(loses.send(error)));
        soon("it leaves", slow.leave()).await.expect("left");
        let error = soon("it is told", lost).await.expect("told");
        assert_eq!(error.reason(), Some(LostReason::Revoked));
        assert!(!held.is_held());
        drop(held);
        drop(client.close(None).await);
        ground.assert_nothing_left("/partitions").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_let_go_of_unasked_comes_again() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        let member = of(&client, 1, "a");
        let first = soon("won", member.next(None)).await.expect("won");
        let token = first.fencing_token();
        first.release().await.expect("released");
        let again = soon("won again", member.next(None)).await.expect("won");
        assert!(again.fencing_token() > token);
        // Without a handle it stays a member as long as somebody has a partition: that is not asked for.
        let (asks, mut asked) = tokio::sync::oneshot::channel::<()>();
        let _asked = again.on_revoke(move || drop(asks));
        drop(member);
        let early = tokio::time::timeout(Duration::from_millis(300), &mut asked).await;
        assert!(early.is_err() && again.is_held());
        drop(again);
        let other = of(&client, 1, "b");
        soon("the other wins", other.next(None)).await.expect("won").release().await.expect("released");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_left_has_nothing_that_nobody_had_taken() {
    for ground in grounds() {
        let (client, other) = (ground.client(TEN).await, ground.client(TEN).await);
        let (member, looks) = (of(&client, 2, "a"), of(&other, 2, "b"));
        let taken = soon("the first one", member.next(None)).await.expect("won");
        shares(&looks, &[2]).await;
        taken.release().await.expect("released");
        shares(&looks, &[2]).await;
        // Its turns go slowly.
        for op in ["delete", "multi"] {
            let late = Fault::delay_request(op, Duration::from_millis(300)).path("/**/imports/**");
            ground.inject(late.session(client.session_id()).forever());
        }
        soon("the end", member.leave()).await.expect("left");
        let owners = looks.owners().await.expect("owners");
        assert!(owners.values().all(Option::is_none), "{owners:?}");
        ground.clear_faults();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_list_of_partitions_is_a_mismatch() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let one = a.partitioner(PATH, ["x", "y"], options("one")).expect("valid");
        let held = soon("won", one.next(None)).await.expect("won");
        let other = b.partitioner(PATH, ["x"], options("two")).expect("valid");
        let error = soon("refused", other.next(None)).await.expect_err("they share something else");
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        let same = b.partitioner(PATH, ["y", "x"], options("two")).expect("valid");
        drop(held);
        soon("won", same.next(None)).await.map(drop).expect("the order does not matter");
    }
}

/// Where kazoo's `SetPartitioner` has its members.
const THEIRS: &str = "/partitions/imports/party/0f0e0d0c0b0a09080706050403020100-web1";

#[tokio::test(flavor = "multi_thread")]
async fn what_kazoos_members_share_is_a_mismatch() {
    for ground in grounds() {
        let (client, kazoo) = (ground.client(TEN).await, ground.client(TEN).await);
        kazoo.nodes().ensure(&format!("{PATH}/party")).await.expect("made");
        kazoo.nodes().ensure(&format!("{PATH}/locks/0")).await.expect("made");
        kazoo.nodes().create(THEIRS, b"", CreateMode::Ephemeral).await.expect("joined");
        let member = of(&client, 2, "one");
        let error = soon("refused", member.next(None)).await.expect_err("they share it");
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        let told = error.to_string();
        assert!(told.contains("SetPartitioner") && told.contains("stop all its members"), "{told}");
        assert!(member.members().await.expect("asked").is_empty(), "it is no member");
        // What its members leave behind is nobody.
        kazoo.nodes().delete(THEIRS, None).await.expect("left");
        soon("won", member.next(None)).await.map(drop).expect("nobody else shares it");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn kazoos_members_that_join_later_are_told_of_once() {
    said::listen();
    for ground in grounds() {
        let (client, kazoo) = (ground.client(TEN).await, ground.client(TEN).await);
        let member = of(&client, 2, "one");
        let held = soon("won", member.next(None)).await.expect("won");
        let told = said::about("SetPartitioner").len();
        kazoo.nodes().ensure(&format!("{PATH}/party")).await.expect("made");
        for member in [THEIRS.to_owned(), format!("{THEIRS}-2")] {
            kazoo.nodes().create(&member, b"", CreateMode::Ephemeral).await.expect("joined");
            eventually("it is told", || said::about("SetPartitioner").len() == told + 1).await;
        }
        assert!(held.is_held());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_leaves_while_it_joins_is_no_member_afterwards() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        let member = of(&client, 2, "one");
        // Begun, and withdrawn before anything has come of it.
        assert!(member.next(None).now_or_never().is_none());
        soon("left", member.leave()).await.expect("it was about to be one");
        assert!(member.members().await.expect("asked").is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_arguments_are_invalid() {
    let client = grounds().remove(0).client(TEN).await;
    let invalid = |made: zkrecipes::Result<Partitioner>| {
        assert_eq!(made.expect_err("invalid").kind(), ErrorKind::Invalid);
    };
    invalid(client.partitioner("/", 1, options("a")));
    invalid(client.partitioner(PATH, 0, options("a")));
    invalid(client.partitioner(PATH, 10_001, options("a")));
    invalid(client.partitioner(PATH, ["x", "x"], options("a")));
    invalid(client.partitioner(PATH, ["x/y"], options("a")));
    invalid(client.partitioner(PATH, 1, options("a/b")));
    invalid(client.partitioner(PATH, 1, options("")));
    invalid(client.partitioner(PATH, 1, options("a").weight(0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn weights_decide_and_a_name_that_comes_back_moves_nothing() {
    for ground in grounds() {
        let owned = Owned::default();
        let heavy = ground.client(TEN).await;
        let three = options("heavy").weight(3);
        let three = heavy.partitioner(PATH, 8, three).expect("valid");
        let light = Worker::begin(&ground, 8, "light", &owned).await;
        eventually("it has all", || moves(&owned) == 8).await;
        let mut held = Vec::new();
        for _ in 0..6 {
            held.push(soon("won", three.next(None)).await.expect("won"));
        }
        let none = three.next(Some(Duration::from_millis(200))).await.expect_err("no more than its share");
        assert_eq!(none.kind(), ErrorKind::Timeout);
        // Started again under its name, while its session lasts.
        let again = Worker::begin(&ground, 8, "light", &owned).await;
        let members = format!("{PATH}/members");
        soon("both are there", async {
            while again.client.nodes().children(&members).await.expect("listed").len() < 3 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
        .await;
        let before = moves(&owned);
        light.working.abort();
        drop(light.client.close(None).await);
        eventually("the same two are the next one's", || moves(&owned) == before + 2).await;
        assert!(held.iter().all(Partition::is_held));
        drop(again);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_comes_or_goes_costs_the_others_no_list() {
    for ground in grounds().into_iter().take(1) {
        let owned = Owned::default();
        let leader = Worker::begin(&ground, 4, "a", &owned).await;
        eventually("it has all", || moves(&owned) == 4).await;
        let second = Worker::begin(&ground, 4, "b", &owned).await;
        eventually("half", || moves(&owned) == 6).await;
        let third = Worker::begin(&ground, 4, "c", &owned).await;
        eventually("moved", || moves(&owned) == 7).await;
        ground.clear_log();
        let fourth = Worker::begin(&ground, 4, "d", &owned).await;
        eventually("moved", || moves(&owned) == 8).await;
        assert!(ground.lists_of(&leader.client).len() <= 2, "{:?}", ground.lists_of(&leader.client));
        let lists: usize = [&second, &third].iter().map(|one| ground.lists_of(&one.client).len()).sum();
        assert_eq!(lists, 0);
        drop((leader, second, third, fourth));
    }
}

/// By the participants of others, whose word takes the place of what the node says.
#[tokio::test(flavor = "multi_thread")]
async fn an_owner_that_is_asked_is_still_known_to_who_follows() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        let member = of(&client, 2, "onlooker");
        let mut owners = member.watch();
        let told = soon("the present state", owners.next()).await.expect("it goes on").expect("told");
        assert_eq!(told, BTreeMap::from([("0".to_owned(), None), ("1".to_owned(), None)]));
        let nodes = client.nodes();
        let contender = |partition: usize| {
            format!("{PATH}/partitions/{partition}/_c_1f0f2a5e-6a52-4c6e-8f0a-0a8f7e6c2d11-lock-")
        };
        for partition in 0..2 {
            nodes.ensure(&format!("{PATH}/partitions/{partition}")).await.expect("made");
        }
        let node =
            nodes.create(&contender(0), b"theirs", CreateMode::EphemeralSequential).await.expect("created");
        let told = soon("an owner", owners.next()).await.expect("it goes on").expect("told");
        assert_eq!(told["0"].as_deref(), Some("theirs"));
        nodes.set(&node, b"__REVOKE__", None).await.expect("asked");
        nodes.create(&contender(1), b"others", CreateMode::EphemeralSequential).await.expect("created");
        let told = soon("another one", owners.next()).await.expect("it goes on").expect("told");
        assert_eq!(told["0"].as_deref(), Some("theirs"));
        assert_eq!(told["1"].as_deref(), Some("others"));
        nodes.delete(&node, None).await.expect("deleted");
        let told = soon("none", owners.next()).await.expect("it goes on").expect("told");
        assert_eq!((&told["0"], told["1"].as_deref()), (&None, Some("others")));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_that_may_not_be_read_is_somebodys_and_is_looked_at_again() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        let (nodes, line) = (client.nodes(), format!("{PATH}/partitions/0"));
        nodes.ensure(&line).await.expect("made");
        let contender = format!("{line}/_c_1f0f2a5e-6a52-4c6e-8f0a-0a8f7e6c2d11-lock-");
        nodes.create(&contender, b"theirs", CreateMode::EphemeralSequential).await.expect("created");
        set_access(&ground.hosts(), &line, NO_READING);
        let mut owners = of(&client, 2, "onlooker").watch();
        let told = soon("the present state", owners.next()).await.expect("it goes on").expect("told");
        assert_eq!(told, BTreeMap::from([("0".to_owned(), Some(String::new())), ("1".to_owned(), None)]));
        assert_eq!(client.skipped()[&line], "denied");
        assert_eq!(of(&client, 2, "onlooker").owners().await.expect("the other one can be read"), told);
        // No event tells that.
        set_access(&ground.hosts(), &line, ALL);
        let told = soon("its owner", owners.next()).await.expect("it goes on").expect("told");
        assert_eq!(told["0"].as_deref(), Some("theirs"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_that_may_not_be_locked_takes_no_other_from_its_member_and_is_won_when_it_may() {
    said::listen();
    for ground in grounds() {
        let client = ground.client(TEN).await;
        let (path, line) = ("/partitions/denied", "/partitions/denied/partitions/0");
        client.nodes().ensure(line).await.expect("made");
        set_access(&ground.hosts(), line, NO_CREATION);
        let told = || said::about(line).len();
        let before = told();
        let member = client.partitioner(path, 2, options("a")).expect("valid");
        let other = soon("won", member.next(None)).await.expect("won");
        assert_eq!(other.name(), "1");
        eventually("it is told as skipped, and why", || told() == before + 2).await;
        assert_eq!(client.skipped()[line], "denied");
        let early = member.next(Some(Duration::from_millis(300))).await.expect_err("it may not");
        assert_eq!(early.kind(), ErrorKind::Timeout);
        assert!(other.is_held());
        assert_eq!(member.members().await.expect("members").len(), 1);
        assert_eq!(told(), before + 2, "each once");
        // No event tells that.
        set_access(&ground.hosts(), line, ALL);
        assert_eq!(soon("the other", member.next(None)).await.expect("won").name(), "0");
        drop((other, client.close(None).await));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_write_down_who_has_what_is_told_what_to_allow() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        let leader = format!("{PATH}/leader");
        client.nodes().ensure(&leader).await.expect("made");
        set_access(&ground.hosts(), &leader, NO_WRITING);
        let error = soon("the end", of(&client, 2, "a").next(None)).await.expect_err("it may not");
        assert_eq!(error.kind(), ErrorKind::Denied);
        let told = error.to_string();
        assert!(told.contains("needs READ and WRITE") && told.contains(&leader), "{told}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_may_not_write_down_who_has_what_any_more_keeps_its_own() {
    said::listen();
    for ground in grounds() {
        let (client, other) = (ground.client(TEN).await, ground.client(TEN).await);
        let leader = format!("{PATH}/leader");
        let drained = options("a").drain(Duration::from_millis(100));
        let member = client.partitioner(PATH, 2, drained).expect("valid");
        let held = [soon("one", member.next(None)).await, soon("two", member.next(None)).await];
        let held = held.map(|won| won.expect("won"));
        set_access(&ground.hosts(), &leader, NO_WRITING);
        let late = of(&other, 2, "b");
        // Timeout, or Denied if it leads by now, since it has not seen any assignment.
        let early = late.next(Some(Duration::from_millis(300))).await.expect_err("nobody may assign it any");
        assert!(matches!(early.kind(), ErrorKind::Timeout | ErrorKind::Denied), "{early}");
        eventually("it is told", || client.skipped().get(&leader).is_some_and(|cause| cause == "denied"))
            .await;
        assert!(said::about(&leader).iter().any(|told| told.contains("needs READ and WRITE")));
        let early = member.next(Some(Duration::from_millis(300))).await.expect_err("it has both");
        assert_eq!(early.kind(), ErrorKind::Timeout, "{early}");
        assert!(held.iter().all(|held| held.is_held()));
        set_access(&ground.hosts(), &leader, ALL);
        soon("its share", late.next(None)).await.map(drop).expect("won");
        drop((held, client.close(None).await));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ephemeral_node_in_the_place_of_a_partition_takes_no_other_from_its_member() {
    said::listen();
    for ground in grounds() {
        let (client, other) = (ground.client(TEN).await, ground.client(TEN).await);
        let (path, line) = ("/partitions/ephemeral", "/partitions/ephemeral/partitions/0");
        other.nodes().ensure("/partitions/ephemeral/partitions").await.expect("made");
        other.nodes().create(line, b"", CreateMode::Ephemeral).await.expect("made");
        let member = client.partitioner(path, 2, options("a")).expect("valid");
        let won = soon("won", member.next(None)).await.expect("won");
        assert_eq!(won.name(), "1");
        eventually("it is told", || said::about(line).iter().any(|told| told.contains("ephemeral node")))
            .await;
        let early = member.next(Some(Duration::from_millis(300))).await.expect_err("nobody can have it");
        assert_eq!(early.kind(), ErrorKind::Timeout);
        assert!(won.is_held());
        other.close(None).await.expect("closed");
        assert_eq!(soon("the other", member.next(None)).await.expect("won").name(), "0");
        drop((won, client.close(None).await));
    }
}
