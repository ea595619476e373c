//! The lock family: read/write lock, multi-lock, semaphore, revocation and sequencers, on both servers.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::channel;
use std::time::Duration;

use crate::support::ground::grounds;
use crate::support::{SOON, eventually, lock_of, soon};
use zkrecipes::{CreateMode, ErrorKind, LostReason};

const PATH: &str = "/locks/family";
const TEN: Duration = Duration::from_secs(10);
const BRIEF: Duration = Duration::from_millis(50);

// ---- read/write

#[tokio::test(flavor = "multi_thread")]
async fn readers_share_and_writers_exclude() {
    for ground in grounds() {
        let (a, b, c) = (ground.client(TEN).await, ground.client(TEN).await, ground.client(TEN).await);
        let of = |client: &zkrecipes::Client| client.read_write_lock(PATH).expect("valid");
        let first = of(&a).read().acquire().await.expect("free");
        let second = soon("the second reader", of(&b).read().acquire()).await.expect("readers share");
        let writer = of(&c);
        assert!(writer.write().try_acquire().await.expect("asked").is_none());
        let error = writer.write().acquire_timeout(BRIEF).await.map(drop).expect_err("read is held");
        assert_eq!(error.kind(), ErrorKind::Timeout);
        first.release().await.expect("released");
        assert!(writer.write().try_acquire().await.expect("asked").is_none());
        second.release().await.expect("released");
        let writing = writer.write().try_acquire().await.expect("asked").expect("free");
        assert!(writing.fencing_token() > first.fencing_token().max(second.fencing_token()));
        assert!(of(&a).read().try_acquire().await.expect("asked").is_none());
        assert!(of(&b).write().try_acquire().await.expect("asked").is_none());
        writing.release().await.expect("released");
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn when_the_last_writer_ahead_gives_up_its_readers_still_wait_for_an_earlier_one() {
    for ground in grounds() {
        let clients = [ground.client(TEN).await, ground.client(TEN).await, ground.client(TEN).await];
        let of = |at: usize| clients[at].read_write_lock(PATH).expect("valid");
        let writing = of(0).write().acquire().await.expect("free");
        let second = of(1);
        let second_wait = tokio::spawn({
            let second = second.clone();
            async move { second.write().acquire().await }
        });
        eventually("the second writer waits", || ground.nodes_under(PATH).len() == 2).await;
        let reader = of(2);
        let reader = tokio::spawn(async move { reader.read().acquire().await });
        eventually("the reader watches", || ground.count("getData", PATH) >= 4).await;
        second.write().cancel();
        soon("the cancel", second_wait).await.expect("joined").map(drop).expect_err("cancelled");
        eventually("its node goes", || ground.nodes_under(PATH).len() == 2).await;
        // The reader looks again, finds the first writer, and waits for it: it must not take the news for its turn.
        eventually("the reader looks again", || ground.count("getData", PATH) >= 5).await;
        assert!(!reader.is_finished() && writing.is_held());
        writing.release().await.expect("released");
        assert!(soon("the reader", reader).await.expect("joined").expect("the lock").is_held());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_may_downgrade_and_a_reader_who_wants_to_write_waits() {
    for ground in grounds() {
        let (a, b, c) = (ground.client(TEN).await, ground.client(TEN).await, ground.client(TEN).await);
        let lock = a.read_write_lock(PATH).expect("valid");
        let writing = lock.write().acquire().await.expect("free");
        let other = b.read_write_lock(PATH).expect("valid");
        let other = tokio::spawn(async move { other.write().acquire().await });
        eventually("another writer waits", || ground.nodes_under(PATH).len() == 2).await;
        let reading = writing.downgrade().await.expect("downgraded");
        assert_eq!(reading.fencing_token(), writing.fencing_token(), "a downgrade keeps the writer's token");
        assert!(lock.read().is_held() && !lock.write().is_held() && !writing.is_held());
        assert_eq!(writing.release().await.expect_err("it is over").kind(), ErrorKind::NotHeld);
        reading.verify().await.expect("read is held");
        // Nobody got in between, and the waiting writer still waits; a third reader queues behind it.
        assert!(c.read_write_lock(PATH).expect("valid").read().try_acquire().await.expect("asked").is_none());
        assert!(!other.is_finished());
        assert!(a.check_sequencer(&reading.sequencer()).await.expect("asked"));
        let upgrade = lock.write().acquire_timeout(Duration::from_millis(50));
        assert_eq!(upgrade.await.map(drop).expect_err("an upgrade").kind(), ErrorKind::Timeout);
        reading.release().await.expect("released");
        let writing = soon("the other writer", other).await.expect("joined").expect("the lock");
        assert!(writing.fencing_token() > reading.fencing_token());
        writing.release().await.expect("released");
        ground.assert_nothing_left(PATH).await;
    }
}

// ---- multi-lock

#[tokio::test(flavor = "multi_thread")]
async fn a_multi_lock_takes_all_or_none() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let paths = ["/locks/m/b", "/locks/m/a", "/locks/m/c"];
        let locks: Vec<_> = paths.iter().map(|path| lock_of(&a, path)).collect();
        let multi = a.multi_lock(&locks).expect("valid");
        let held = multi.acquire().await.expect("free");
        assert_eq!((held.fencing_tokens().len(), multi.paths()[0].as_str()), (3, "/locks/m/a"));
        for path in paths {
            assert!(lock_of(&b, path).try_acquire().await.expect("asked").is_none());
        }
        held.verify().await.expect("all stand");
        held.release().await.expect("released");
        ground.assert_nothing_left("/locks/m").await;
        let one = lock_of(&b, "/locks/m/c").acquire().await.expect("free");
        assert!(multi.try_acquire().await.expect("asked").is_none());
        eventually("what was won is given back", || ground.nodes_under("/locks/m").len() == 1).await;
        let waiter = tokio::spawn({
            let multi = multi.clone();
            async move { multi.acquire().await }
        });
        eventually("it holds two and waits for one", || ground.nodes_under("/locks/m").len() == 4).await;
        waiter.abort();
        eventually("a cancelled one gives all back", || ground.nodes_under("/locks/m").len() == 1).await;
        one.release().await.expect("released");
        // Losing one loses all.
        let held = multi.acquire().await.expect("free");
        let (sender, losses) = channel();
        held.on_lost(move |error| _ = sender.send(error.reason()));
        let theirs = ground.nodes_under("/locks/m");
        eventually("own nodes are watched", || ground.watch_count() == 3).await;
        b.nodes().delete(&theirs[1], None).await.expect("deleted");
        assert_eq!(losses.recv_timeout(SOON).expect("told"), Some(LostReason::Deleted));
        assert!(!held.is_held());
        ground.assert_nothing_left("/locks/m").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn opposite_multi_locks_do_not_deadlock_and_bad_ones_are_refused() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let of = |client: &zkrecipes::Client, paths: [&str; 2]| {
            client.multi_lock(&paths.map(|path| lock_of(client, path))).expect("valid")
        };
        let (one, other) = (of(&a, ["/locks/x", "/locks/y"]), of(&b, ["/locks/y", "/locks/x"]));
        let tasks = [one, other].map(|multi| {
            tokio::spawn(async move {
                for _ in 0..20 {
                    multi.acquire().await.expect("both").release().await.expect("released");
                }
            })
        });
        for task in tasks {
            soon("both", task).await.expect("joined");
        }
        for bad in [vec![], vec![lock_of(&a, "/x"), lock_of(&a, "/x")], vec![lock_of(&b, "/x")]] {
            assert_eq!(a.multi_lock(&bad).expect_err("refused").kind(), ErrorKind::Invalid);
        }
    }
}

// ---- semaphore

#[tokio::test(flavor = "multi_thread")]
async fn a_semaphore_never_gives_more_than_it_has() {
    for ground in grounds() {
        let (now, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let mut tasks = Vec::new();
        for number in 0..8_usize {
            let client = ground.client(TEN).await;
            let (now, most) = (now.clone(), most.clone());
            tasks.push(tokio::spawn(async move {
                let semaphore = client.semaphore(PATH, 3).expect("valid");
                for _ in 0..6 {
                    let n = 1 + number % 3;
                    let held = semaphore.acquire(n).await.expect("permits");
                    assert_eq!(held.permits(), n);
                    let inside = now.fetch_add(n, Ordering::SeqCst) + n;
                    most.fetch_max(inside, Ordering::SeqCst);
                    assert!(inside <= 3, "{inside} permits of 3");
                    // Longer than it takes the next one to come.
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    now.fetch_sub(n, Ordering::SeqCst);
                    held.release().await.expect("released");
                }
            }));
        }
        for task in tasks {
            soon("the work", task).await.expect("joined");
        }
        assert!(most.load(Ordering::SeqCst) > 1, "permits were shared");
        ground.assert_nothing_left(&format!("{PATH}/leases")).await;
        ground.assert_nothing_left(&format!("{PATH}/locks")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_semaphore_that_disagrees_gets_mismatch_and_resizing_agrees_again() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let two = a.semaphore(PATH, 2).expect("valid");
        let held = two.acquire(2).await.expect("free");
        let three = b.semaphore(PATH, 3).expect("valid");
        let error = soon("the answer", three.acquire(1)).await.map(drop).expect_err("they disagree");
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        let waiter = tokio::spawn({
            let two = two.clone();
            async move { two.acquire(1).await }
        });
        eventually("it waits", || ground.nodes_under(PATH).len() == 3).await;
        two.resize(3).await.expect("resized");
        let third = soon("the new permit", waiter).await.expect("joined").expect("a permit");
        assert!(three.try_acquire(1).await.expect("they agree now").is_none());
        third.release().await.expect("released");
        held.release().await.expect("released");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_tries_while_others_do_gets_a_permit_if_there_is_one() {
    for ground in grounds() {
        let mut clients = Vec::new();
        for _ in 0..8 {
            clients.push(ground.client(TEN).await);
        }
        let tries: Vec<_> = clients
            .iter()
            .map(|client| {
                let semaphore = client.semaphore(PATH, clients.len()).expect("valid");
                tokio::spawn(async move { semaphore.try_acquire(1).await })
            })
            .collect();
        let mut all = Vec::new();
        for attempt in tries {
            all.push(soon("the attempt", attempt).await.expect("joined").expect("asked").expect("a permit"));
        }
        let one_more = clients[0].semaphore(PATH, clients.len()).expect("valid");
        assert!(one_more.try_acquire(1).await.expect("asked").is_none());
        drop(all);
        ground.assert_nothing_left(PATH).await;
    }
}

// ---- revocation and sequencers

#[tokio::test(flavor = "multi_thread")]
async fn a_holder_that_is_asked_hears_of_it_and_lets_go() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let (mine, theirs) = (lock_of(&a, PATH), lock_of(&b, PATH));
        assert!(!theirs.revoke(None, None).await.expect("asked"), "nobody to ask");
        let held = mine.acquire().await.expect("free");
        let (sender, asked) = channel();
        held.on_revoke({
            let sender = sender.clone();
            move || _ = sender.send(1)
        });
        assert!(theirs.revoke(None, None).await.expect("asked"));
        asked.recv_timeout(SOON).expect("the holder hears of it");
        assert!(held.is_held(), "asking takes nothing away");
        held.verify().await.expect("held");
        held.on_revoke(move || _ = sender.send(2));
        assert_eq!(asked.recv_timeout(SOON), Ok(2), "at once if it has happened");
        held.release().await.expect("released");
        assert!(theirs.acquire().await.expect("free").is_held());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_holder_that_does_not_let_go_is_revoked_by_force_and_told() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let held = lock_of(&a, PATH).acquire().await.expect("free");
        let (sender, losses) = channel();
        held.on_lost(move |error| _ = sender.send(error.reason()));
        let sequencer = held.sequencer();
        assert!(b.check_sequencer(&sequencer).await.expect("asked"));
        let watcher = tokio::spawn({
            let (b, sequencer) = (b.clone(), sequencer.clone());
            async move { b.watch_sequencer(&sequencer).await }
        });
        assert!(lock_of(&b, PATH).revoke(None, Some(BRIEF)).await.expect("revoked"));
        assert_eq!(losses.recv_timeout(SOON).expect("told"), Some(LostReason::Revoked));
        assert!(!held.is_held());
        soon("the watcher", watcher).await.expect("joined").expect("it fired");
        assert!(!b.check_sequencer(&sequencer).await.expect("asked"));
        let guarded = held.guarded();
        guarded.create("/never", b"", CreateMode::Persistent).expect("valid");
        assert_eq!(guarded.commit().await.expect_err("revoked").kind(), ErrorKind::NotHeld);
        ground.assert_nothing_left(PATH).await;
    }
}
