//! Access lists: contenders who may not read each other's nodes, and parents that are not everybody's.

use std::time::Duration;

use tokio::task::JoinHandle;

use crate::support::access::{ALL, NO_DELETION, NO_READING, set_access};
use crate::support::ground::{Ground, grounds};
use crate::support::{SOON, eventually, lock_of, options, soon};
use zkrecipes::{
    AclChoice, AclEntry, Auth, Client, CreateMode, ErrorKind, GroupOptions, LockOptions, Queue, WatchKind,
};
use zkrecipes_embedded::Fault;

const PATH: &str = "/locks/access";
const TEN: Duration = Duration::from_secs(10);

/// Whoever it is, what it creates is its own.
async fn named(ground: &Ground, name: &str) -> Client {
    let auth = Auth::new("digest", format!("{name}:secret"));
    ground.client_with(options(TEN).auth(auth)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn contenders_who_may_not_read_each_other_take_turns_all_the_same() {
    for ground in grounds() {
        let anybody = ground.client(TEN).await;
        anybody.nodes().ensure(PATH).await.expect("everybody's");
        let mut clients = Vec::new();
        for name in ["a", "b", "c", "d"] {
            clients.push(named(&ground, name).await);
        }
        let held = lock_of(&clients[0], PATH).acquire().await.expect("free");
        let error = clients[1].nodes().get(held.node()).await.expect_err("not theirs");
        assert_eq!(error.kind(), ErrorKind::Denied);
        let mut waits = Vec::new();
        for (place, client) in clients[1..].iter().enumerate() {
            waits.push(tokio::spawn(lock_of(client, PATH).acquire()));
            eventually("it queues", || ground.nodes_under(PATH).len() == place + 2).await;
        }
        // In the middle one gives up: the one behind it has not become first.
        waits.remove(1).abort();
        eventually("it is gone", || ground.nodes_under(PATH).len() == 3).await;
        assert!(waits.iter().all(|wait| !wait.is_finished()));
        held.release().await.expect("released");
        let mut last = held.fencing_token();
        for wait in waits {
            let held = soon("the next", wait).await.expect("joined").expect("the lock");
            assert!(held.fencing_token() > last);
            last = held.fencing_token();
            held.release().await.expect("released");
        }
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parent_that_is_somebody_elses_is_refused_by_name_and_leaves_nothing() {
    for ground in grounds() {
        let (owner, other) = (named(&ground, "owner").await, named(&ground, "other").await);
        let held = lock_of(&owner, PATH).acquire().await.expect("free");
        let locks = other.lock(PATH, LockOptions::default()).expect("valid");
        let sides = other.read_write_lock(PATH).expect("valid");
        let several = other.multi_lock(&[lock_of(&other, "/open/first"), lock_of(&other, PATH)]);
        let several = several.expect("valid");
        for error in [
            soon("a lock", locks.acquire()).await.map(drop),
            soon("read", sides.read().acquire()).await.map(drop),
            soon("permits", other.semaphore(PATH, 1).expect("valid").acquire(1)).await.map(drop),
            soon("several", several.acquire()).await.map(drop),
        ] {
            let error = error.expect_err("not theirs");
            assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
            assert!(
                error.to_string().contains("acl") || error.to_string().contains("access list"),
                "{error}"
            );
        }
        held.verify().await.expect("held all the while");
        assert!(lock_of(&owner, PATH).try_acquire().await.expect("asked").is_none());
        held.release().await.expect("released");
        ground.assert_nothing_left("/locks").await;
        ground.assert_nothing_left("/open").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_contender_that_may_not_be_read_is_listed_all_the_same() {
    for ground in grounds() {
        let anybody = ground.client(TEN).await;
        anybody.nodes().ensure(PATH).await.expect("everybody's");
        let owner = named(&ground, "owner").await;
        let held = lock_of(&owner, PATH).acquire().await.expect("free");
        let waiting = tokio::spawn(lock_of(&anybody, PATH).acquire());
        eventually("it queues", || ground.nodes_under(PATH).len() == 2).await;
        let seen = lock_of(&anybody, PATH).contenders().await.expect("listed");
        assert_eq!(seen.len(), 2);
        assert_eq!((seen[0].identity.as_str(), seen[0].session_id, seen[0].holds), ("", 0, true));
        assert!(held.node().ends_with(&seen[0].node));
        assert!(!seen[1].identity.is_empty() && !seen[1].holds);
        // Asking needs the right to write, and says so; the holder is none the worse for it.
        let error = lock_of(&anybody, PATH).revoke(None, Some(Duration::ZERO)).await.expect_err("not ours");
        assert_eq!(error.kind(), ErrorKind::Denied);
        held.verify().await.expect("held all the while");
        held.release().await.expect("released");
        soon("the next", waiting)
            .await
            .expect("joined")
            .expect("the lock")
            .release()
            .await
            .expect("released");
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_exists_can_be_ensured_without_the_right_to_create_it() {
    for ground in grounds() {
        let (owner, other) = (named(&ground, "owner").await, named(&ground, "other").await);
        owner.nodes().ensure("/closed/below").await.expect("created");
        other.nodes().ensure("/closed/below").await.expect("it is there");
        let error = other.nodes().ensure("/closed/other").await.expect_err("not theirs to create");
        assert_eq!(error.kind(), ErrorKind::Denied);
        owner.nodes().delete_all("/closed").await.expect("deleted");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chroot_gets_the_access_list_of_what_is_created_in_it() {
    for ground in grounds() {
        let within = |name: &str, user: &str| {
            let options = options(TEN).auth(Auth::new("digest", format!("{user}:secret")));
            let hosts = match ground.hosts().contains('/') {
                true => format!("{}{name}", ground.hosts()),
                false => format!("{}/{}", ground.hosts(), name.trim_start_matches('/')),
            };
            async move { Client::connect(&hosts, options).await.expect("the server answers") }
        };
        let name = format!("/own-{}", std::process::id());
        let (owner, other) = (within(&name, "owner").await, within(&name, "other").await);
        let held = lock_of(&owner, "/a").acquire().await.expect("free");
        let error = other.nodes().create("/b", b"", CreateMode::Persistent).await.expect_err("not theirs");
        assert_eq!(error.kind(), ErrorKind::Denied);
        held.release().await.expect("released");
    }
}

/// A client that owns `path` and lets everybody do everything there but delete.
async fn without_deletion(ground: &Ground, path: &str) -> Client {
    let list = vec![AclEntry::new("auth", "", "rwcda"), AclEntry::new("world", "anyone", "rwc")];
    let auth = Auth::new("digest", "owner:secret");
    let owner = ground.client_with(options(TEN).auth(auth).acl(AclChoice::List(list))).await;
    owner.nodes().ensure(path).await.expect("created");
    owner
}

#[tokio::test(flavor = "multi_thread")]
async fn who_could_never_release_is_refused_before_it_queues() {
    for ground in grounds() {
        let owner = without_deletion(&ground, PATH).await;
        let leases = format!("{PATH}/leases");
        owner.nodes().ensure(&leases).await.expect("created");
        for other in [named(&ground, "other").await, ground.client(TEN).await] {
            let sides = other.read_write_lock(PATH).expect("valid");
            for error in [
                soon("a lock", lock_of(&other, PATH).acquire()).await.map(drop),
                soon("a try", lock_of(&other, PATH).try_acquire()).await.map(drop),
                soon("read", sides.read().acquire()).await.map(drop),
                soon("permits", other.semaphore(PATH, 1).expect("valid").acquire(1)).await.map(drop),
                soon("a barrier", other.double_barrier(PATH, 2, None).expect("valid").enter(None)).await,
            ] {
                let error = error.expect_err("it could not be released");
                assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
                assert!(error.to_string().contains("DELETE"), "{error}");
            }
        }
        assert!(ground.nodes_under(PATH).is_empty(), "nobody has queued");
        // Nothing stands in the way of who may delete.
        let held = soon("the owner", lock_of(&owner, PATH).acquire()).await.expect("free");
        held.release().await.expect("released");
        ground.assert_nothing_left(PATH).await;
    }
}

async fn children(client: &Client, path: &str) -> Vec<String> {
    match client.nodes().children(path).await {
        Err(error) if error.kind() == ErrorKind::NoNode => Vec::new(),
        children => children.expect("listed"),
    }
}

/// The queue at `path`, with an item.
async fn queue_with_one(owner: &Client, path: &str) -> Queue {
    let queue = owner.queue(path, Default::default()).expect("valid");
    queue.put(b"tea").await.expect("put");
    queue
}

#[tokio::test(flavor = "multi_thread")]
async fn who_could_never_settle_an_item_is_refused_before_it_claims() {
    for ground in grounds() {
        // It may not delete items, or no claims.
        for (path, closed) in [("/queues/a", "/queues/a"), ("/queues/b", "/queues/b-__queue__/claims")] {
            ground.client(TEN).await.nodes().ensure("/queues/b").await.expect("everybody's");
            let owner = without_deletion(&ground, closed).await;
            let queue = queue_with_one(&owner, path).await;
            let item = format!("{path}/qn-0000000000");
            for other in [named(&ground, "other").await, ground.client(TEN).await] {
                let theirs = other.queue(path, Default::default()).expect("valid");
                for error in [
                    soon("a claim", theirs.claim()).await.map(drop),
                    soon("a try", theirs.try_claim()).await.map(drop),
                ] {
                    let error = error.expect_err("it could not be settled");
                    assert_eq!((error.kind(), error.path()), (ErrorKind::Denied, Some(closed)), "{error}");
                    assert!(error.to_string().contains("DELETE"), "{error}");
                }
                if path == closed {
                    let error = soon("a get", theirs.get()).await.expect_err("not theirs to delete");
                    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
                }
            }
            let claims = children(&owner, &format!("{path}-__queue__/claims")).await;
            assert!(claims.is_empty(), "nobody has claimed: {claims:?}");
            assert_eq!(owner.nodes().get(&item).await.expect("there").1.version, 0);
            let claimed = soon("the owner", queue.claim()).await.expect("free");
            claimed.ack().await.expect("done");
            owner.nodes().delete_all("/queues").await.expect("deleted");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_ack_is_remembered_and_the_next_claim_is_refused() {
    let path = "/queues/a";
    for ground in grounds() {
        let other = ground.client(TEN).await;
        let theirs = queue_with_one(&other, path).await;
        soon("a claim", theirs.claim()).await.expect("there").ack().await.expect("done");
        // By now it is known that one may acknowledge here; then somebody makes the path anew.
        other.nodes().delete(path, None).await.expect("deleted");
        let owner = without_deletion(&ground, path).await;
        let queue = queue_with_one(&owner, path).await;
        let item = soon("a claim", theirs.claim()).await.expect("there");
        let error = soon("an answer", item.ack()).await.expect_err("it may not delete");
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        item.nack().await.expect("given back");
        let error = soon("an answer", theirs.claim()).await.map(drop).expect_err("known by now");
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        let item = soon("a claim", queue.claim()).await.expect("free");
        assert_eq!(item.attempts(), 2, "it was not claimed again");
        item.ack().await.expect("done");
        owner.nodes().delete_all("/queues").await.expect("deleted");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_could_never_leave_is_refused_before_it_joins() {
    for ground in grounds() {
        let owner = without_deletion(&ground, PATH).await;
        let group = |client: &Client| client.group(PATH, GroupOptions::default()).expect("valid");
        for other in [named(&ground, "other").await, ground.client(TEN).await] {
            let names = other.names(PATH).expect("valid");
            for error in [
                soon("a member", group(&other).join("a", b"")).await,
                soon("a name", names.bind("a", b"", true)).await,
            ] {
                let error = error.expect_err("it could not be undone");
                assert_eq!((error.kind(), error.path()), (ErrorKind::Denied, Some(PATH)), "{error}");
                assert!(error.to_string().contains("DELETE"), "{error}");
            }
        }
        assert!(children(&owner, PATH).await.is_empty(), "nobody has joined");
        let ours = group(&owner);
        ours.join("a", b"").await.expect("joined");
        ours.leave().await.expect("left");
        owner.nodes().delete_all(PATH).await.expect("deleted");
    }
}

/// Who may not read the node of the contender ahead watches the list of all, which may be taken away as well.
#[tokio::test(flavor = "multi_thread")]
async fn who_may_read_neither_the_one_ahead_nor_the_list_is_told() {
    for ground in grounds() {
        let anybody = ground.client(TEN).await;
        anybody.nodes().ensure(PATH).await.expect("everybody's");
        let (owner, other) = (named(&ground, "owner").await, named(&ground, "other").await);
        let held = lock_of(&owner, PATH).acquire().await.expect("free");
        // The first list is that of the queue, the second one is to be watched.
        let late = Fault::delay_request("getChildren*", Duration::from_millis(500));
        let late = ground.inject(late.session(other.session_id()).nth(2));
        let waiting = tokio::spawn(lock_of(&other, PATH).acquire());
        eventually("it is about to watch", || ground.fault_fired(late)).await;
        set_access(&ground.hosts(), PATH, NO_READING);
        let error = soon("an answer", waiting).await.expect("joined").expect_err("it cannot wait");
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        set_access(&ground.hosts(), PATH, ALL);
        held.release().await.expect("released");
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_may_not_be_deleted_goes_when_it_may_again() {
    for ground in grounds() {
        let (client, other) = (ground.client(TEN).await, ground.client(TEN).await);
        let (ours, theirs) = (lock_of(&client, PATH), lock_of(&other, PATH));
        for is_waited_for in [true, false] {
            let held = ours.acquire().await.expect("free");
            set_access(&ground.hosts(), PATH, NO_DELETION);
            if is_waited_for {
                let error = held.release().await.expect_err("it may not delete");
                assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
            } else {
                held.release_in_background().expect("ours");
            }
            set_access(&ground.hosts(), PATH, ALL);
            soon("the lock", theirs.acquire()).await.expect("free again").release().await.expect("released");
        }
        ground.assert_nothing_left(PATH).await;
    }
}

/// Servers tell of a deletion only those who may read the node. So the waiter looks for itself, after half a minute.
#[tokio::test(flavor = "multi_thread")]
async fn a_holder_whose_node_becomes_unreadable_is_not_waited_for_for_ever() {
    let grounds = grounds();
    let mut waits = Vec::new();
    for ground in &grounds {
        let (client, other) = (ground.client(TEN).await, ground.client(TEN).await);
        let held = lock_of(&client, PATH).acquire().await.expect("free");
        let wait = tokio::spawn(lock_of(&other, PATH).acquire());
        eventually("it is watched", || ground.nodes_under(PATH).len() == 2 && other.metrics().waiting == 1)
            .await;
        // By now it is.
        other.nodes().get(held.node()).await.expect("readable");
        set_access(&ground.hosts(), held.node(), NO_READING);
        held.release().await.expect("released");
        waits.push(wait);
    }
    for wait in waits {
        let wait = tokio::time::timeout(2 * SOON, wait).await.expect("it looks");
        wait.expect("joined").expect("free").release().await.expect("released");
    }
    for ground in &grounds {
        ground.assert_nothing_left(PATH).await;
    }
}

/// The same for who follows it, or waits for its end: each is told.
#[tokio::test(flavor = "multi_thread")]
async fn what_becomes_unreadable_and_goes_is_told_to_those_who_follow_it() {
    let grounds = grounds();
    let mut waits: Vec<(&str, JoinHandle<()>)> = Vec::new();
    let mut clients = Vec::new();
    for ground in &grounds {
        let (client, owner) = (ground.client(TEN).await, ground.client(TEN).await);
        let at = |name: &str| format!("/followed/{name}");
        for name in ["config", "node", "names/one"] {
            owner.nodes().ensure(&at(name)).await.expect("made");
        }
        owner.barrier(&at("barrier")).expect("valid").create().await.expect("up");
        let leading = owner.election(&at("election"), b"", Default::default()).expect("valid");
        let leadership = leading.campaign().await.expect("nobody else");
        let member = |of: &Client| of.double_barrier(&at("members"), 2, None).expect("valid");
        let (first, second) = (member(&client), member(&owner));
        tokio::try_join!(first.enter(None), second.enter(None)).expect("both are there");

        let mut config = client.config(&at("config")).expect("valid").watch();
        config.next().await.expect("open").expect("told");
        let mut node = client.nodes().watch(&at("node"), WatchKind::Data).expect("valid");
        node.next().await.expect("open").expect("told");
        let mut names = client.names(&at("names")).expect("valid").watch();
        names.next().await.expect("open").expect("told");
        let mut leaders = client.election(&at("election"), b"", Default::default()).expect("valid").observe();
        let leader = leaders.next().await.expect("open").expect("told");
        assert!(leader.is_some(), "somebody leads");
        let barrier = client.barrier(&at("barrier")).expect("valid");

        waits.push(("config", tokio::spawn(async move { drop(config.next().await.expect("open")) })));
        waits.push(("node", tokio::spawn(async move { drop(node.next().await.expect("open")) })));
        waits.push(("names", tokio::spawn(async move { drop(names.next().await.expect("open")) })));
        waits.push(("election", tokio::spawn(async move { drop(leaders.next().await.expect("open")) })));
        waits.push(("barrier", tokio::spawn(async move { drop(barrier.wait(None).await) })));
        waits.push(("members", tokio::spawn(async move { drop(first.leave(None).await) })));
        // By then all of them are watched.
        tokio::time::sleep(Duration::from_millis(500)).await;
        let candidate = ground.nodes_under(&at("election")).remove(0);
        let members = ground.nodes_under(&at("members"));
        let nodes = [at("config"), at("node"), at("names/one"), at("names"), at("barrier"), candidate];
        let members = members.into_iter().filter(|node| !node.ends_with("/ready"));
        nodes.into_iter().chain(members).for_each(|node| set_access(&ground.hosts(), &node, NO_READING));
        for name in ["config", "node", "names/one", "names", "barrier"] {
            owner.nodes().delete(&at(name), None).await.expect("deleted");
        }
        leadership.release().await.expect("led");
        second.withdraw().expect("inside");
        clients.push((client, owner));
    }
    for (what, wait) in waits {
        let told = tokio::time::timeout(2 * SOON, wait).await;
        told.unwrap_or_else(|_| panic!("{what} is not told")).expect("joined");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_leave_says_how_to_end_it() {
    for ground in grounds() {
        // What it makes itself lets nobody delete.
        let fixed = AclChoice::List(vec![AclEntry::new("world", "anyone", "rwca")]);
        let client = ground.client_with(options(TEN).acl(fixed)).await;
        let group = client.group(PATH, GroupOptions::default()).expect("valid");
        group.join("a", b"").await.expect("joined");
        let error = soon("an answer", group.leave()).await.expect_err("it may not delete");
        assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
        assert!(error.to_string().contains("close"), "{error}");
        assert_eq!(children(&client, PATH).await, ["a"], "it stands");
        client.close(None).await.expect("closed");
        assert!(children(&ground.client(TEN).await, PATH).await.is_empty(), "it has gone with its session");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_release_says_how_to_end_it_and_the_next_acquisition_is_refused() {
    for ground in grounds() {
        let other = ground.client(TEN).await;
        let lock = lock_of(&other, PATH);
        let held = soon("a lock", lock.acquire()).await.expect("free");
        held.release().await.expect("released");
        // By now it is known that one may leave here; then somebody makes the path anew.
        other.nodes().delete(PATH, None).await.expect("deleted");
        let owner = without_deletion(&ground, PATH).await;
        let held = soon("a lock", lock.acquire()).await.expect("free");
        let error = held.release().await.expect_err("it may not delete");
        assert_eq!(error.kind(), ErrorKind::Denied);
        assert!(error.to_string().contains("close"), "{error}");
        let error = soon("a lock", lock.acquire()).await.map(drop).expect_err("known by now");
        assert_eq!(error.kind(), ErrorKind::Denied);
        assert_eq!(ground.nodes_under(PATH).len(), 1, "it has not queued again");
        other.close(None).await.expect("closed");
        drop(soon("the next", lock_of(&owner, PATH).acquire()).await.expect("free"));
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_that_may_not_read_its_own_node_is_one_in_the_next_session_too() {
    for ground in grounds() {
        let unread = AclChoice::List(vec![AclEntry::new("world", "anyone", "cwda")]);
        let client = ground.client_with(options(Duration::from_secs(4)).acl(unread)).await;
        let anybody = ground.client(TEN).await;
        anybody.nodes().ensure(PATH).await.expect("everybody's");
        let group = client.group(PATH, GroupOptions::default()).expect("valid");
        group.join("a", b"").await.expect("joined");
        let error = client.nodes().get(&format!("{PATH}/a")).await.expect_err("not to be read");
        assert_eq!(error.kind(), ErrorKind::Denied);
        for _ in 0..2 {
            ground.expire(client.session_id()).await;
            // Ended on the server: its node has gone with it.
            let is_again = async { while anybody.nodes().children(PATH).await.expect("listed") != ["a"] {} };
            soon("it is a member again", is_again).await;
        }
        group.leave().await.expect("left");
        assert!(anybody.nodes().children(PATH).await.expect("listed").is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_member_was_refused_to_say_is_not_said_in_the_next_session() {
    for ground in grounds() {
        let fixed = AclChoice::List(vec![AclEntry::new("world", "anyone", "crda")]);
        let client = ground.client_with(options(Duration::from_secs(4)).acl(fixed)).await;
        let anybody = ground.client(TEN).await;
        anybody.nodes().ensure(PATH).await.expect("everybody's");
        let group = client.group(PATH, GroupOptions::default()).expect("valid");
        group.join("a", b"joined").await.expect("joined");
        for data in [b"one", b"two"] {
            let error = soon("an answer", group.update(data)).await.expect_err("not to be written");
            assert_eq!(error.kind(), ErrorKind::Denied);
            assert!(error.to_string().contains("does not allow update;"), "{error}");
        }
        ground.expire(client.session_id()).await;
        let members = async {
            loop {
                let members = group.members().await.expect("listed");
                if !members.is_empty() {
                    return members;
                }
            }
        };
        let members = soon("it is a member again", members).await;
        assert_eq!(members["a"], b"joined");
        group.leave().await.expect("left");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_lost_answer_to_a_member_that_may_not_read_its_own_node_is_resolved() {
    for ground in grounds() {
        let unread = AclChoice::List(vec![AclEntry::new("world", "anyone", "cwda")]);
        let client = ground.client_with(options(TEN).acl(unread)).await;
        let anybody = ground.client(TEN).await;
        anybody.nodes().ensure(PATH).await.expect("everybody's");
        let group = client.group(PATH, GroupOptions::default()).expect("valid");
        let fault = ground.inject(Fault::drop_after("create2"));
        soon("an answer", group.join("a", b"")).await.expect("joined");
        assert!(ground.fault_fired(fault));
        group.update(b"changed").await.expect("updated");
        group.leave().await.expect("left");
        assert!(anybody.nodes().children(PATH).await.expect("listed").is_empty());
    }
}

/// Another node under the same name, as one step.
async fn replace(client: &Client, node: &str, data: &[u8], changes: usize) {
    let both = client.nodes().transaction();
    both.delete(node, None).expect("valid");
    both.create(node, data, CreateMode::Persistent).expect("valid");
    for _ in 0..changes {
        both.set(node, data, None).expect("valid");
    }
    both.commit().await.expect("replaced");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_took_the_place_of_a_members_node_is_neither_written_nor_deleted() {
    for ground in grounds() {
        // Nobody tells it of its own node's deletion.
        let unread = AclChoice::List(vec![AclEntry::new("world", "anyone", "cwda")]);
        let client = ground.client_with(options(TEN).acl(unread)).await;
        let anybody = ground.client(TEN).await;
        anybody.nodes().ensure(PATH).await.expect("everybody's");
        let node = format!("{PATH}/a");
        let theirs = async || anybody.nodes().get(&node).await.expect("there").0;
        let group = client.group(PATH, GroupOptions::default()).expect("valid");
        group.join("a", b"ours").await.expect("joined");
        replace(&anybody, &node, b"theirs", 0).await;
        let error = soon("an answer", group.update(b"changed")).await.expect_err("not ours");
        assert_eq!(error.kind(), ErrorKind::Exists, "{error}");
        assert!(error.to_string().contains("so update was refused"), "{error}");
        assert_eq!(theirs().await, b"theirs");
        group.leave().await.expect("left");
        assert_eq!(theirs().await, b"theirs");
        anybody.nodes().delete(&node, None).await.expect("deleted");

        let group = client.group(PATH, GroupOptions::default()).expect("valid");
        group.join("a", b"ours").await.expect("joined");
        replace(&anybody, &node, b"theirs", 0).await;
        group.leave().await.expect("left");
        assert_eq!(theirs().await, b"theirs");
        anybody.nodes().delete(&node, None).await.expect("deleted");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_write_that_arrives_when_the_node_is_somebody_elses_changes_nothing() {
    for op in ["setData", "delete"] {
        for ground in grounds() {
            let (client, other) = (ground.client(TEN).await, ground.client(TEN).await);
            let group = client.group(PATH, GroupOptions::default()).expect("valid");
            group.join("a", b"ours").await.expect("joined");
            let node = format!("{PATH}/a");
            let slow = Fault::delay_request(op, Duration::from_millis(800)).session(client.session_id());
            let slow = ground.inject(slow);
            let asking = tokio::spawn(async move {
                match op {
                    "setData" => (group.update(b"changed").await, group),
                    _ => (group.leave().await, group),
                }
            });
            eventually("it is on its way", || ground.fault_fired(slow)).await;
            replace(&other, &node, b"theirs", 1).await;
            let (answer, group) = soon("an answer", asking).await.expect("no panic");
            match op {
                "setData" => {
                    assert_eq!(answer.expect_err("not ours").kind(), ErrorKind::Exists);
                    group.leave().await.expect("left");
                }
                _ => answer.expect("left"),
            }
            assert_eq!(other.nodes().get(&node).await.expect("there").0, b"theirs", "{op}");
            other.nodes().delete(&node, None).await.expect("deleted");
        }
    }
}
