//! Seeing who holds and who waits, and asking for it: semaphores and multi-locks, in Curator's layout and in kazoo's.

use std::sync::mpsc::channel;
use std::time::Duration;

use crate::support::ground::{Ground, grounds};
use crate::support::{SOON, eventually, lock_of, options, soon};
use zkrecipes::{Client, CreateMode, ErrorKind, LostReason, Naming};

const PATH: &str = "/limits/inspected";
const TEN: Duration = Duration::from_secs(10);
const BRIEF: Duration = Duration::from_millis(50);

async fn named(ground: &Ground, identity: &str, naming: Naming) -> Client {
    ground.client_with(options(TEN).identity(identity).naming(naming)).await
}

async fn assert_nobody_is_left(semaphore: &zkrecipes::Semaphore) {
    soon("nobody", async { while !semaphore.contenders().await.expect("listed").is_empty() {} }).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn kazoos_size_is_kept_in_the_data_of_the_path() {
    for ground in grounds() {
        let client = named(&ground, "a", Naming::Kazoo).await;
        let semaphore = client.semaphore(PATH, 2).expect("valid");
        let held = semaphore.acquire(1).await.expect("free");
        let nodes = client.nodes();
        assert_eq!(nodes.get(PATH).await.expect("there").0, b"2");
        assert_eq!(nodes.children(PATH).await.expect("there")[0].len(), 32);
        let other = client.semaphore(PATH, 3).expect("valid");
        let error = other.acquire(1).await.map(drop).expect_err("they disagree");
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        other.resize(3).await.expect("resized");
        assert_eq!(nodes.get(PATH).await.expect("there").0, b"3");
        drop(other.acquire(2).await.expect("room for three"));
        held.release().await.expect("released");

        // kazoo creates the path first and writes the size then; other data there is none of its business.
        for (data, then) in [(b"".as_slice(), b"2".as_slice()), (b"about exports", b"about exports")] {
            let path = "/limits/bare";
            nodes.create(path, data, CreateMode::Persistent).await.expect("created");
            let held = client.semaphore(path, 2).expect("valid").acquire(1).await.expect("free");
            assert_eq!(nodes.get(path).await.expect("there").0, then);
            held.release().await.expect("released");
            nodes.delete(path, None).await.expect("deleted");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_curator_adds_before_there_is_room_is_not_held() {
    for ground in grounds() {
        let (ours, curator) = (ground.client(TEN).await, ground.client(TEN).await);
        let semaphore = ours.semaphore(PATH, 1).expect("valid");
        let held = semaphore.acquire(1).await.expect("free");
        let nodes = curator.nodes();
        let sequential = CreateMode::EphemeralSequential;
        // The queue may have been read while somebody else was still ahead in it.
        let ahead = format!("{PATH}/locks/_c_0d9f7c52-9c0a-4a5b-8c53-5a8f3d1c6f1e-lock-");
        let ahead = ours.nodes().create(&ahead, b"ahead", sequential).await.expect("created");
        let id = "_c_8a3c7a5e-58f5-4a0d-9d52-3c0f35f9f1d1";
        let lock = format!("{PATH}/locks/{id}-lock-");
        let lock = nodes.create(&lock, b"curator", sequential).await.expect("created");
        let lease = format!("{PATH}/leases/{id}-lease-");
        let lease = nodes.create(&lease, b"curator", sequential).await.expect("created");
        let holders = semaphore.holders().await.expect("listed");
        assert_eq!(holders.len(), 1, "{holders:?}");
        assert_eq!(semaphore.contenders().await.expect("listed").len(), 3);
        nodes.delete(&ahead, None).await.expect("deleted");
        held.release().await.expect("released");
        nodes.delete(&lock, None).await.expect("deleted");
        let holders = semaphore.holders().await.expect("listed");
        assert_eq!(holders[0].identity, "curator");
        nodes.delete(&lease, None).await.expect("deleted");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_asked_while_it_waits_hears_of_it_when_it_holds() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let held = lock_of(&a, PATH).acquire().await.expect("free");
        let lock = lock_of(&b, PATH);
        let waiting = tokio::spawn({
            let lock = lock.clone();
            async move { lock.acquire().await }
        });
        eventually("the waiter waits", || ground.nodes_under(PATH).len() == 2).await;
        eventually("it watches its node and the one ahead", || ground.watch_count() == 2).await;
        let waiter = lock.contenders().await.expect("listed")[1].node.clone();
        assert!(lock.revoke(Some(&waiter), None).await.expect("asked"));
        eventually("it has heard", || ground.watch_count() == 2).await;
        held.release().await.expect("released");
        let held = soon("the waiter", waiting).await.expect("joined").expect("the lock");
        let (asked, was_asked) = channel();
        held.on_revoke(move || asked.send(()).expect("the test listens"));
        was_asked.recv_timeout(SOON).expect("it is told");
        held.release().await.expect("released");
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_asked_while_it_waits_for_a_permit_hears_of_it_when_it_has_one() {
    for ground in grounds() {
        for is_first in [true, false] {
            let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
            let of_a = a.semaphore(PATH, 1).expect("valid");
            let held = of_a.acquire(1).await.expect("free");
            let mut others = Vec::new();
            // The first in the queue waits for a permit, the second for the first.
            for waiters in 1..=2 {
                let of_b = b.semaphore(PATH, 1).expect("valid");
                others.push(tokio::spawn(async move { of_b.acquire(1).await }));
                soon("a waiter", async {
                    while of_a.contenders().await.expect("listed").len() < 1 + waiters {}
                })
                .await;
            }
            let place = if is_first { 1 } else { 2 };
            let waiter = of_a.contenders().await.expect("listed")[place].node.clone();
            assert!(of_a.revoke(Some(&waiter), None).await.expect("asked"));
            held.release().await.expect("released");
            for (at, other) in others.into_iter().enumerate() {
                let held = soon("the waiter", other).await.expect("joined").expect("a permit");
                let (asked, was_asked) = channel();
                held.on_revoke(move || asked.send(()).expect("the test listens"));
                if at + 1 == place {
                    was_asked.recv_timeout(SOON).expect("it is told");
                } else {
                    assert!(was_asked.recv_timeout(BRIEF).is_err(), "nobody asked for this one");
                }
                held.release().await.expect("released");
            }
            assert_nobody_is_left(&of_a).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_holder_that_is_given_no_time_knows_that_it_was_revoked() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let held = lock_of(&a, PATH).acquire().await.expect("free");
        let (lost, was_lost) = channel();
        held.on_lost(move |error| lost.send(error.reason()).expect("the test listens"));
        assert!(lock_of(&b, PATH).revoke(None, Some(Duration::ZERO)).await.expect("asked"));
        assert_eq!(was_lost.recv_timeout(SOON), Ok(Some(LostReason::Revoked)));
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_revocation_that_is_cancelled_has_asked_and_deletes_nothing() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let held = lock_of(&a, PATH).acquire().await.expect("free");
        let (asked, was_asked) = channel();
        held.on_revoke(move || asked.send(()).expect("the test listens"));
        let lock = lock_of(&b, PATH);
        let revoking = tokio::spawn({
            let lock = lock.clone();
            async move { lock.revoke(None, Some(SOON)).await }
        });
        was_asked.recv_timeout(SOON).expect("it is asked");
        lock.cancel();
        let error = soon("the end", revoking).await.expect("joined").expect_err("it was cancelled");
        assert_eq!(error.kind(), ErrorKind::Cancelled);
        held.verify().await.expect("nobody took it");
        held.release().await.expect("released");
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_that_takes_read_too_holds_twice_and_is_asked_for_both() {
    for ground in grounds() {
        for _ in 0..4 {
            let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
            let lock = a.read_write_lock(PATH).expect("valid");
            let writing = lock.write().acquire().await.expect("free");
            // As in the middle of a downgrade, whoever makes it.
            let reading = writing.node().replace("__WRIT__", "__READ__");
            a.nodes().create(&reading, b"a", zkrecipes::CreateMode::Ephemeral).await.expect("created");
            let (asked, was_asked) = channel();
            writing.on_revoke(move || asked.send(()).expect("the test listens"));
            let all = lock_of(&b, PATH).contenders().await.expect("listed");
            let kinds: Vec<_> = all.iter().map(|one| (one.kind.as_str(), one.holds)).collect();
            assert_eq!(kinds, [("write", true), ("read", true)]);
            assert!(lock_of(&b, PATH).revoke(None, Some(BRIEF)).await.expect("asked"));
            was_asked.recv_timeout(SOON).expect("the writer is asked");
            let held = soon("the lock", lock_of(&b, PATH).acquire()).await.expect("both were taken away");
            eventually("it knows", || !writing.is_held()).await;
            held.release().await.expect("released");
            ground.assert_nothing_left(PATH).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_heartbeat_finds_every_node_that_was_deleted() {
    for ground in grounds() {
        let (a, b) = (ground.client(Duration::from_secs(4)).await, ground.client(TEN).await);
        let mut all = Vec::new();
        for at in 0..30 {
            all.push(lock_of(&a, &format!("{PATH}/{at}")).acquire().await.expect("free"));
        }
        for at in [3, 12, 29] {
            b.nodes().delete(all[at].node(), None).await.expect("deleted");
        }
        let since = std::time::Instant::now();
        // Nobody listens: only the heartbeat tells, every second.
        eventually("the three are known", || all.iter().filter(|held| !held.is_held()).count() == 3).await;
        assert!(since.elapsed() < Duration::from_secs(3), "{:?}", since.elapsed());
        for (at, held) in all.iter().enumerate() {
            assert_eq!(held.is_held(), ![3, 12, 29].contains(&at));
        }
    }
}
