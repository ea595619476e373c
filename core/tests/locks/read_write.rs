//! The lines that a read/write lock hangs by: what wakes whom, and what a downgrade may do.

use std::time::Duration;

use crate::support::ground::{Ground, grounds};
use crate::support::{SOON, eventually, lock_of, options, server, soon};
use futures_util::FutureExt;
use tokio::task::JoinHandle;
use zkrecipes::{Client, CreateMode, ErrorKind, Held, ReadWriteLock, Result, State};
use zkrecipes_embedded::Fault;

const PATH: &str = "/locks/sides";
const TEN: Duration = Duration::from_secs(10);

fn sides(client: &Client) -> ReadWriteLock {
    client.read_write_lock(PATH).expect("valid")
}

/// A client that queues for the write side, and its wait.
async fn waiting_writer(ground: &Ground) -> (Client, JoinHandle<Result<Held>>) {
    let (client, before) = (ground.client(TEN).await, ground.nodes_under(PATH).len());
    let wait = tokio::spawn(sides(&client).write().acquire());
    eventually("the writer queues", || ground.nodes_under(PATH).len() == before + 1).await;
    (client, wait)
}

async fn waiting_reader(ground: &Ground) -> (Client, JoinHandle<Result<Held>>) {
    let (client, before) = (ground.client(TEN).await, ground.nodes_under(PATH).len());
    let wait = tokio::spawn(sides(&client).read().acquire());
    eventually("the reader queues", || ground.nodes_under(PATH).len() == before + 1).await;
    (client, wait)
}

async fn turn(what: &str, wait: JoinHandle<Result<Held>>) -> Held {
    soon(what, wait).await.expect("joined").expect("the lock")
}

/// Who queued last watches somebody, itself included, so many times.
async fn watches(ground: &Ground, client: &Client, count: usize) -> Vec<String> {
    eventually("it watches", || ground.requests_of(client, "getData").len() >= count).await;
    ground.requests_of(client, "getData").into_iter().map(|entry| entry.path).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_waits_for_every_reader_ahead_whichever_goes_first() {
    for ground in grounds() {
        for closest_first in [true, false] {
            let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
            let first = sides(&a).read().acquire().await.expect("free");
            let second = sides(&b).read().acquire().await.expect("readers share");
            let (c, writer) = waiting_writer(&ground).await;
            watches(&ground, &c, 3).await;
            let lists = ground.lists_of(&c).len();
            let (goes, stays) = if closest_first { (second, first) } else { (first, second) };
            goes.release().await.expect("released");
            eventually("it looks again", || ground.lists_of(&c).len() > lists).await;
            let theirs = lock_of(&c, PATH).contenders().await.expect("listed");
            assert_eq!(theirs.iter().map(|c| c.holds).collect::<Vec<_>>(), [true, false]);
            assert!(!writer.is_finished() && stays.is_held());
            stays.release().await.expect("released");
            turn("the writer", writer).await.release().await.expect("released");
            ground.assert_nothing_left(PATH).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_that_waits_for_one_who_downgrades_looks_again() {
    // What it waited for was deleted, and nobody else had been ahead: a mutex would own now, and be wrong.
    for ground in grounds() {
        let a = ground.client(TEN).await;
        let lock = sides(&a);
        let writing = lock.write().acquire().await.expect("free");
        let (b, other) = waiting_writer(&ground).await;
        watches(&ground, &b, 2).await;
        let lists = ground.lists_of(&b).len();
        let reading = writing.downgrade().await.expect("downgraded");
        eventually("it looks again", || ground.lists_of(&b).len() > lists).await;
        // It watches itself, the writer, and now the reader.
        watches(&ground, &b, 3).await;
        assert!(!other.is_finished(), "beside a reader");
        reading.release().await.expect("released");
        turn("the other writer", other).await.release().await.expect("released");
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_for_the_side_that_its_own_handle_downgrades_to_waits_for_the_release() {
    for ground in grounds() {
        for is_deleted in [false, true] {
            let a = ground.client(TEN).await;
            let lock = sides(&a);
            let writing = lock.write().acquire().await.expect("free");
            let mut waits = tokio::spawn(lock.read().acquire());
            eventually("it queues", || ground.nodes_under(PATH).len() == 2).await;
            let reading = writing.downgrade().await.expect("downgraded");
            let early = tokio::time::timeout(Duration::from_millis(300), &mut waits).await;
            assert!(early.is_err(), "two hold one side of one handle");
            if is_deleted {
                let other = ground.client(TEN).await;
                let others =
                    ground.nodes_under(PATH).into_iter().filter(|node| !node.ends_with(reading.node()));
                for node in others {
                    other.nodes().delete(&node, None).await.expect("deleted");
                }
            }
            lock.read().release().await.expect("released");
            assert!(reading.is_released(), "who holds releases what it holds");
            let held = turn("who waited", waits).await;
            held.verify().await.expect("held");
            held.release().await.expect("released");
            ground.assert_nothing_left(PATH).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_watches_the_last_writer_ahead_and_not_the_first() {
    for ground in grounds() {
        let a = ground.client(TEN).await;
        let writing = sides(&a).write().acquire().await.expect("free");
        let first = writing.node().to_owned();
        let (_b, second) = waiting_writer(&ground).await;
        let mut before = ground.nodes_under(PATH);
        let (_c, third) = waiting_writer(&ground).await;
        let mut now = ground.nodes_under(PATH);
        now.retain(|node| !before.contains(node));
        let last = now.remove(0);
        before.retain(|node| *node != first);
        let (d, reader) = waiting_reader(&ground).await;
        let watched = watches(&ground, &d, 3).await;
        let watches_node = |node: &str| watched.iter().any(|path| path.ends_with(node));
        assert!(watches_node(&last) && watches_node(&before[0]), "{watched:?}");
        assert!(!watches_node(&first), "a release of the first writer is no news for it: {watched:?}");
        writing.release().await.expect("released");
        turn("the second", second).await.release().await.expect("released");
        assert!(!reader.is_finished());
        turn("the third", third).await.release().await.expect("released");
        turn("the reader", reader).await.release().await.expect("released");
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_whose_node_was_taken_away_cannot_downgrade() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let lock = sides(&a);
        let writing = lock.write().acquire().await.expect("free");
        b.nodes().delete(writing.node(), None).await.expect("deleted");
        let theirs = sides(&b).write().acquire().await.expect("the lock");
        assert!(writing.is_held(), "it cannot know yet");
        let error = writing.downgrade().await.map(drop).expect_err("its node is gone");
        assert_eq!(error.kind(), ErrorKind::NotHeld);
        assert!(!writing.is_held(), "and now it knows");
        theirs.verify().await.expect("held");
        assert_eq!(ground.nodes_under(PATH), [theirs.node()], "nothing was created beside the new writer");
        theirs.release().await.expect("released");
        assert_eq!(writing.release().await.expect_err("gone").kind(), ErrorKind::NotHeld);
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_downgrade_whose_answer_was_lost_is_found_again_and_keeps_the_token() {
    for ground in grounds() {
        for lost in [Fault::drop_after("multi"), Fault::drop_before("multi")] {
            let a = ground.client(TEN).await;
            let lock = sides(&a);
            let writing = lock.write().acquire().await.expect("free");
            let fault = ground.inject(lost.path("**/*__READ__*"));
            let reading = soon("the downgrade", writing.downgrade()).await.expect("downgraded");
            assert!(ground.fault_fired(fault));
            assert_eq!(ground.nodes_under(PATH), [reading.node()], "one reader");
            assert_eq!(reading.fencing_token(), writing.fencing_token());
            assert!(a.check_sequencer(&reading.sequencer()).await.expect("asked"));
            reading.verify().await.expect("held");
            reading.release().await.expect("released");
            ground.assert_nothing_left(PATH).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_downgrade_whose_answer_and_whose_writer_are_lost_leaves_no_reader() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let lock = sides(&a);
        let writing = lock.write().acquire().await.expect("free");
        let node = writing.node().to_owned();
        let lost = Fault::drop_after("multi").path("**/*__READ__*").session(a.session_id());
        let fault = ground.inject(lost);
        ground.inject(Fault::refuse_connections(1).forever());
        let downgrade = tokio::spawn(writing.downgrade());
        eventually("the answer is lost", || ground.fault_fired(fault)).await;
        // The reader stands; before it can be asked for again, somebody deletes its writer.
        b.nodes().delete(&node, None).await.expect("deleted");
        ground.clear_faults();
        let error = soon("the downgrade", downgrade).await.expect("joined").map(drop).expect_err("no writer");
        assert_eq!(error.kind(), ErrorKind::NotHeld);
        drop(writing);
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_downgrade_that_nobody_waits_for_any_more_leaves_nothing() {
    for ground in grounds() {
        let a = ground.client(TEN).await;
        let lock = sides(&a);
        let writing = lock.write().acquire().await.expect("free");
        let downgrade = in_the_middle(&ground, &writing).await;
        downgrade.abort();
        eventually("only the writer stands", || ground.nodes_under(PATH) == [writing.node()]).await;
        writing.verify().await.expect("held");
        writing.release().await.expect("released");
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_downgrade_that_waits_to_leave_when_nobody_waits_for_it_any_more_leaves_nothing() {
    let server = server();
    let ground = Ground::Embedded(server.clone());
    // Only the way of the writer breaks.
    let way = Ground::real(server.connect_string(), String::new());
    let a = way.client_with(options(TEN).max_in_flight(1)).await;
    let writing = sides(&a).write().acquire().await.expect("free");
    way.inject(Fault::refuse_connections(1).forever());
    way.break_connections();
    eventually("it has no connection", || a.state() != State::Connected).await;
    let nodes = a.nodes();
    let mut filling = Box::pin(nodes.create("/first", b"", CreateMode::Persistent));
    assert!((&mut filling).now_or_never().is_none(), "what comes next has to wait for its answer");
    assert!(Box::pin(writing.downgrade()).now_or_never().is_none(), "begun and dropped");
    way.clear_faults();
    // Whether or not anybody waits for it.
    let is_reader = |path: &String| path.contains("__READ__");
    let has_left = || ground.log().iter().any(|entry| entry.parts.iter().any(|(_, path)| is_reader(path)));
    eventually("it has left", has_left).await;
    eventually("only the writer stands", || ground.nodes_under(PATH) == [writing.node()]).await;
    soon("the create", filling).await.expect("it is new");
    soon("the release", writing.release()).await.expect("released");
    ground.assert_nothing_left(PATH).await;
}

/// In the middle of a downgrade: the reader's node is there, and the answer is on its way.
async fn in_the_middle(ground: &Ground, writing: &Held) -> JoinHandle<Result<Held>> {
    // There is something to do before it comes.
    let slow = Fault::delay_reply("multi", Duration::from_millis(1300)).path("**/*__READ__*");
    let fault = ground.inject(slow);
    let downgrade = tokio::spawn(writing.downgrade());
    eventually("the answer is on its way", || ground.fault_fired(fault)).await;
    downgrade
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_that_is_released_while_it_downgrades_leaves_no_reader() {
    for ground in grounds() {
        let a = ground.client(TEN).await;
        let writing = sides(&a).write().acquire().await.expect("free");
        let downgrade = in_the_middle(&ground, &writing).await;
        writing.release().await.expect("released");
        let error = soon("the downgrade", downgrade).await.expect("joined").map(drop).expect_err("no writer");
        assert_eq!(error.kind(), ErrorKind::NotHeld);
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_writer_that_is_deleted_while_it_downgrades_has_its_place_as_a_reader() {
    for ground in grounds() {
        // So long that no heartbeat looks in between.
        let (a, b) = (ground.client(TEN * 3).await, ground.client(TEN).await);
        let writing = sides(&a).write().acquire().await.expect("free");
        let (_c, other) = waiting_writer(&ground).await;
        let downgrade = in_the_middle(&ground, &writing).await;
        b.nodes().delete(writing.node(), None).await.expect("deleted");
        let reading = soon("the downgrade", downgrade).await.expect("joined").expect("it stood before");
        reading.verify().await.expect("held");
        assert!(!other.is_finished());
        reading.release().await.expect("released");
        turn("the other writer", other).await.release().await.expect("released");
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_ends_takes_the_downgrade_along() {
    for ground in grounds() {
        let a = ground.client(Duration::from_secs(4)).await;
        let lock = sides(&a);
        let writing = lock.write().acquire().await.expect("free");
        let reading = writing.downgrade().await.expect("downgraded");
        let (_b, other) = waiting_writer(&ground).await;
        ground.expire(a.session_id()).await;
        let other = turn("the other writer", other).await;
        eventually("it knows", || !reading.is_held()).await;
        assert!(lock.read().acquire_timeout(Duration::from_millis(50)).await.is_err());
        other.release().await.expect("released");
        let again = soon("the lock", lock.write().acquire_timeout(SOON)).await.expect("free");
        again.release().await.expect("released");
        ground.assert_nothing_left(PATH).await;
    }
}

/// The handle remembers the number of its last turn, and the next one would be its own without a list. The reader's node
/// has taken that.
#[tokio::test(flavor = "multi_thread")]
async fn who_downgrades_time_after_time_does_not_write_beside_the_reader() {
    for ground in grounds() {
        let a = ground.client(TEN).await;
        let lock = sides(&a);
        for _ in 0..12 {
            lock.write().acquire().await.expect("free").release().await.expect("released");
        }
        for _ in 0..3 {
            let reading = lock.write().acquire().await.expect("free").downgrade().await.expect("downgraded");
            assert!(lock.write().try_acquire().await.expect("asked").is_none(), "beside a reader");
            reading.release().await.expect("released");
        }
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_to_let_go_is_the_readers_after_a_downgrade() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let writing = sides(&a).write().acquire().await.expect("free");
        let (asked, was_asked) = std::sync::mpsc::channel();
        writing.on_revoke(move || asked.send(()).expect("the test listens"));
        assert!(sides(&b).write().revoke(None, None).await.expect("asked"));
        was_asked.recv_timeout(SOON).expect("it is asked");
        let reading = writing.downgrade().await.expect("downgraded");
        let (asked, was_asked) = std::sync::mpsc::channel();
        reading.on_revoke(move || asked.send(()).expect("the test listens"));
        was_asked.recv_timeout(SOON).expect("it still is");
        reading.release().await.expect("released");
        ground.assert_nothing_left(PATH).await;
    }
}
