//! The contenders of one session stand in one line in memory: the turn passes there before the deletion is answered, and is
//! never passed on where that could be wrong.

use std::time::Duration;

use crate::support::ground::{Ground, grounds};
use crate::support::*;
use tokio::task::JoinHandle;
use zkrecipes::{Client, CreateMode, Error, ErrorKind, Held, Result, drive};
use zkrecipes_embedded::Fault;

const PATH: &str = "/locks/line";
const BELOW: &str = "/locks/line/**";
/// Nodes were seen to stand of late for an eighth of it.
const LONG: Duration = Duration::from_secs(40);
/// How long the answer to a deletion is held back, where what is told in memory must not wait for it.
const HELD_BACK: Duration = Duration::from_secs(2);

type Acquiring = JoinHandle<Result<Held>>;

/// Acquires through a handle of its own, and queues behind those who did before.
fn acquiring(client: &Client) -> Acquiring {
    let acquiring = drive::acquire(&lock_of(client, PATH), 1, None);
    tokio::spawn(async move { acquiring.await.map(|acquired| acquired.hand_over()) })
}

async fn turn(what: &str, acquiring: Acquiring) -> Held {
    soon(what, acquiring).await.expect("no panic").expect("the lock")
}

async fn queued(ground: &Ground, how_many: usize) {
    eventually("they have queued", || ground.nodes_under(PATH).len() == how_many).await;
}

/// One that holds and some that wait behind it, of the same client, each of which knows by now behind whom.
async fn line(ground: &Ground, client: &Client, how_many: usize) -> (Held, Vec<Acquiring>) {
    let held = lock_of(client, PATH).acquire().await.expect("free");
    let mut waiting = Vec::new();
    for ahead in 1..=how_many {
        waiting.push(acquiring(client));
        eventually("it waits", || client.metrics().queue_depth_max == ahead as u64).await;
    }
    assert_eq!(ground.nodes_under(PATH).len(), how_many + 1);
    (held, waiting)
}

/// The node in the line at `at`.
fn node(ground: &Ground, at: usize) -> String {
    let mut nodes = ground.nodes_under(PATH);
    nodes.sort_by_key(|node| node[node.len() - 10..].to_owned());
    format!("{PATH}/{}", nodes[at].rsplit('/').next().expect("a name"))
}

/// While the answers to deletions are held back, whether `next` has the turn before.
async fn is_passed(ground: &Ground, held: Held, next: &mut Acquiring) -> bool {
    let slow = ground.inject(Fault::delay_reply("delete", HELD_BACK).path(BELOW));
    let releasing = tokio::spawn(held.release());
    eventually("the deletion is applied", || ground.fault_fired(slow)).await;
    let is_passed = tokio::time::timeout(HELD_BACK / 2, next).await.is_ok();
    releasing.await.expect("no panic").expect("released");
    ground.clear_faults();
    is_passed
}

#[tokio::test(flavor = "multi_thread")]
async fn the_turn_passes_before_the_deletion_is_answered() -> Result<()> {
    for ground in grounds() {
        let client = ground.client(LONG).await;
        let (held, mut waiting) = line(&ground, &client, 1).await;
        let token = held.fencing_token();
        let slow = ground.inject(Fault::delay_reply("delete", HELD_BACK).path(BELOW));
        let releasing = tokio::spawn(held.release());
        let next = tokio::time::timeout(HELD_BACK / 2, waiting.remove(0)).await.expect("at once");
        let next = next.expect("no panic")?;
        assert!(next.is_held() && next.fencing_token() > token);
        assert!(!releasing.is_finished(), "the answer is held back");
        releasing.await.expect("no panic")?;
        assert!(ground.fault_fired(slow));
        next.verify().await?;
        next.release().await?;
        ground.assert_nothing_left(PATH).await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_behind_its_own_client_watches_nothing() -> Result<()> {
    for ground in grounds() {
        let client = ground.client(LONG).await;
        ground.clear_log();
        let (held, waiting) = line(&ground, &client, 50).await;
        let reads = ground.requests_of(&client, "getData").len();
        assert_eq!(reads, 0, "each has a list at most");
        let watches = ground.watch_count();
        // The path, the holder and the foremost, if it has been waiting for so long.
        assert!(watches <= 3, "{watches} watches for 50 who wait");
        held.release().await?;
        for next in waiting {
            turn("the next one", next).await.release().await?;
        }
        ground.assert_nothing_left(PATH).await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn who_queues_again_and_again_sends_a_create_and_a_delete() -> Result<()> {
    for ground in grounds() {
        let client = ground.client(LONG).await;
        let round = |times: usize| {
            let workers = (0..20).map(|_| {
                let lock = lock_of(&client, PATH);
                tokio::spawn(async move {
                    for _ in 0..times {
                        lock.acquire().await?.release().await?;
                    }
                    Ok::<_, Error>(())
                })
            });
            workers.collect::<Vec<_>>()
        };
        for worker in round(5) {
            worker.await.expect("no panic")?;
        }
        ground.clear_log();
        for worker in round(50) {
            worker.await.expect("no panic")?;
        }
        let session = client.session_id();
        let asked = ground.log().iter().filter(|entry| entry.session_id == session).count();
        assert!(asked <= 2_100, "{asked} requests for 1,000 acquisitions");
        ground.assert_nothing_left(PATH).await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_be_asked_for_by_name_is_gone_before_the_next_one_holds() -> Result<()> {
    for ground in grounds() {
        let client = ground.client(LONG).await;
        let (held, mut waiting) = line(&ground, &client, 1).await;
        assert!(client.check_sequencer(&held.sequencer()).await?);
        assert!(
            !is_passed(&ground, held, &mut waiting[0]).await,
            "a late answer would say that the first holds"
        );
        drop(turn("the next one", waiting.remove(0)).await);
        ground.assert_nothing_left(PATH).await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn who_was_asked_to_let_go_does_not_pass_the_turn_on() -> Result<()> {
    for ground in grounds() {
        let (client, other) = (ground.client(LONG).await, ground.client(LONG).await);
        let (held, mut waiting) = line(&ground, &client, 1).await;
        let (asked, is_asked) = tokio::sync::oneshot::channel();
        let _subscription = held.on_revoke(move || _ = asked.send(()));
        let asking = lock_of(&other, PATH);
        let asking = tokio::spawn(async move { asking.revoke(None, None).await });
        soon("the request", is_asked).await.expect("told");
        assert!(!is_passed(&ground, held, &mut waiting[0]).await);
        drop(turn("the next one", waiting.remove(0)).await);
        let _ = soon("the asking", asking).await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_written_under_the_lock_is_answered_before_the_turn_passes() -> Result<()> {
    for ground in grounds() {
        let client = ground.client(LONG).await;
        client.nodes().ensure("/written").await?;
        let (held, mut waiting) = line(&ground, &client, 1).await;
        ground.inject(Fault::delay_reply("multi", HELD_BACK).path(BELOW));
        let writing = {
            let guarded = held.guarded();
            guarded.set("/written", b"late", None)?;
            tokio::spawn(async move { guarded.commit().await })
        };
        eventually("it is applied", || ground.count("multi", PATH) > 0).await;
        assert!(!is_passed(&ground, held, &mut waiting[0]).await);
        let _ = writing.await;
        drop(turn("the next one", waiting.remove(0)).await);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn whose_create_left_before_a_writer_downgraded_waits_for_the_reader() -> Result<()> {
    for ground in grounds() {
        let client = ground.client(LONG).await;
        let (first, second) = (client.read_write_lock(PATH)?, client.read_write_lock(PATH)?);
        for _ in 0..9 {
            first.write().acquire().await?.release().await?;
        }
        let writing = first.write().acquire().await?;
        let mut next = Box::pin(second.write().acquire());
        assert!(futures_util::FutureExt::now_or_never(&mut next).is_none());
        queued(&ground, 2).await;
        let reading = writing.downgrade().await?;
        assert!(tokio::time::timeout(Duration::from_millis(200), &mut next).await.is_err(), "it is read");
        reading.release().await?;
        soon("the writer", next).await?.release().await?;
        ground.assert_nothing_left(PATH).await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn whose_create_left_before_the_one_ahead_let_go_is_not_ahead_of_its_deletion() -> Result<()> {
    for ground in grounds() {
        let (client, other) = (ground.client(LONG).await, ground.client(LONG).await);
        let (first, second) = (lock_of(&client, PATH), lock_of(&client, PATH));
        for _ in 0..9 {
            first.acquire().await?.release().await?;
        }
        let held = first.acquire().await?;
        let mut next = Box::pin(second.acquire());
        assert!(futures_util::FutureExt::now_or_never(&mut next).is_none());
        queued(&ground, 2).await;
        let sequencer = held.sequencer();
        let slow = ground.inject(Fault::delay_request("delete", HELD_BACK).path(BELOW));
        let releasing = tokio::spawn(held.release());
        eventually("the deletion is held back", || ground.fault_fired(slow)).await;
        if tokio::time::timeout(HELD_BACK / 4, &mut next).await.is_ok() {
            assert!(!other.check_sequencer(&sequencer).await?, "who held before seems to hold yet");
        }
        releasing.await.expect("no panic")?;
        ground.clear_faults();
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_behind_one_that_still_wants_more_hears_that_the_session_has_ended() -> Result<()> {
    const SECOND: &str = "/locks/second";
    for ground in grounds() {
        let (client, other) = (ground.client(Duration::from_secs(4)).await, ground.client(LONG).await);
        let kept = lock_of(&other, SECOND).acquire().await?;
        let both = client.multi_lock(&[lock_of(&client, PATH), lock_of(&client, SECOND)])?;
        // It has the first, waits for the second, and goes on to do so in another session.
        let both = tokio::spawn(async move { both.acquire().await });
        queued(&ground, 1).await;
        eventually("it waits for the second", || ground.nodes_under(SECOND).len() == 2).await;
        let waiting = acquiring(&client);
        queued(&ground, 2).await;
        ground.expire(client.session_id()).await;
        drop(turn("the first, in another session", waiting).await);
        both.abort();
        drop(kept);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn whose_predecessor_is_taken_away_unheard_has_its_turn() -> Result<()> {
    const SECOND: &str = "/locks/second";
    for ground in grounds() {
        let (client, other) = (ground.client(LONG).await, ground.client(LONG).await);
        let kept = lock_of(&other, SECOND).acquire().await?;
        let both = client.multi_lock(&[lock_of(&client, PATH), lock_of(&client, SECOND)])?;
        let both = tokio::spawn(async move { both.acquire().await });
        eventually("it waits for the second", || ground.nodes_under(SECOND).len() == 2).await;
        let waiting = acquiring(&client);
        queued(&ground, 2).await;
        other.nodes().delete(&node(&ground, 0), None).await?;
        drop(turn("the lock", waiting).await);
        both.abort();
        drop(kept);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stranger_in_between_has_its_turn() -> Result<()> {
    for ground in grounds() {
        let (client, other) = (ground.client(LONG).await, ground.client(LONG).await);
        let held = lock_of(&client, PATH).acquire().await?;
        let stranger = acquiring(&other);
        queued(&ground, 2).await;
        let mut mine = acquiring(&client);
        queued(&ground, 3).await;
        held.release().await?;
        let strangers = turn("the stranger", stranger).await;
        assert!(tokio::time::timeout(Duration::from_millis(200), &mut mine).await.is_err(), "it is held");
        strangers.release().await?;
        drop(turn("the last", mine).await);
        ground.assert_nothing_left(PATH).await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn who_leaves_the_line_leaves_those_behind_it_where_they_are() -> Result<()> {
    for ground in grounds() {
        let client = ground.client(LONG).await;
        let (held, mut waiting) = line(&ground, &client, 4).await;
        // In the middle, then the foremost, then the last.
        for gone in [1, 0, 1] {
            let gone = waiting.remove(gone);
            gone.abort();
            let _ = gone.await;
        }
        assert_eq!(waiting.len(), 1);
        assert!(is_passed(&ground, held, &mut waiting[0]).await);
        ground.assert_nothing_left(PATH).await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_granted_the_turn_and_does_not_want_it_any_more_passes_it_on() -> Result<()> {
    for ground in grounds() {
        let client = ground.client(LONG).await;
        let held = lock_of(&client, PATH).acquire().await?;
        let first = lock_of(&client, PATH);
        let mut first = Box::pin(first.acquire());
        // In the line, and not looked at again.
        eventually("it queues", || {
            let is_pending = futures_util::FutureExt::now_or_never(&mut first).is_none();
            is_pending && ground.nodes_under(PATH).len() == 2
        })
        .await;
        for _ in 0..50 {
            assert!(futures_util::FutureExt::now_or_never(&mut first).is_none());
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        let second = acquiring(&client);
        queued(&ground, 3).await;
        held.release().await?;
        drop(first);
        drop(turn("the second", second).await);
        ground.assert_nothing_left(PATH).await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_turn_is_not_passed_to_whose_node_was_not_seen_of_late() -> Result<()> {
    for ground in grounds() {
        // Half a second is of late.
        let (client, other) = (ground.client(Duration::from_secs(4)).await, ground.client(LONG).await);
        let (held, waiting) = line(&ground, &client, 1).await;
        other.nodes().delete(&node(&ground, 1), None).await?;
        let theirs = acquiring(&other);
        queued(&ground, 2).await;
        tokio::time::sleep(Duration::from_millis(600)).await;
        held.release().await?;
        let theirs = turn("the other client", theirs).await;
        assert!(!waiting[0].is_finished(), "two would hold");
        theirs.release().await?;
        for next in waiting {
            drop(turn("at the end of the queue", next).await);
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_long_hears_that_its_node_is_gone_and_queues_again() -> Result<()> {
    for ground in grounds() {
        let (client, other) = (ground.client(LONG).await, ground.client(LONG).await);
        let (held, mut waiting) = line(&ground, &client, 1).await;
        let before = node(&ground, 1);
        eventually("it is watched", || ground.watch_count() > 1).await;
        other.nodes().delete(&before, None).await?;
        eventually("it queues again", || ground.nodes_under(PATH).len() == 2).await;
        assert_ne!(node(&ground, 1), before);
        held.release().await?;
        drop(turn("the lock", waiting.remove(0)).await);
        ground.assert_nothing_left(PATH).await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn who_holds_looks_again_if_somebody_has_taken_the_node_before_it_away() -> Result<()> {
    for ground in grounds() {
        // A heart that beats every five seconds tells later.
        let (client, other) = (ground.client(LONG).await, ground.client(LONG).await);
        let (held, mut waiting) = line(&ground, &client, 1).await;
        // As one who clears the path does.
        for node in [node(&ground, 0), node(&ground, 1)] {
            other.nodes().delete(&node, None).await?;
        }
        assert_eq!(held.release().await.expect_err("it was gone").kind(), ErrorKind::NotHeld);
        let next = turn("the next one", waiting.remove(0)).await;
        // By the node that was deleted, or by a new one if the next has looked before it held.
        let hears = tokio::time::timeout(Duration::from_secs(2), async {
            while next.is_held() && ground.nodes_under(PATH).is_empty() {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        });
        hears.await.expect("told before a heartbeat");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_the_number_ahead_in_a_path_that_was_deleted_is_not_ahead() -> Result<()> {
    // After so many the numbers tell who is next; else a list does.
    for before in [0, 6] {
        for ground in grounds() {
            let (client, other) = (ground.client(LONG).await, ground.client(LONG).await);
            let (first, second) = (lock_of(&client, PATH), lock_of(&client, PATH));
            for _ in 0..before {
                first.acquire().await?.release().await?;
            }
            let held = first.acquire().await?;
            let mut unheard = Box::pin(second.acquire());
            assert!(futures_util::FutureExt::now_or_never(&mut unheard).is_none());
            queued(&ground, 2).await;
            // Others make the path anew, and the one of that number holds.
            let nodes = other.nodes();
            nodes.delete_all(PATH).await?;
            nodes.ensure(PATH).await?;
            for _ in 0..before {
                let node = nodes.create(&format!("{PATH}/x-"), b"", CreateMode::PersistentSequential).await?;
                nodes.delete(&node, None).await?;
            }
            let (earlier, theirs) = (lock_of(&other, PATH).acquire().await?, acquiring(&other));
            queued(&ground, 2).await;
            earlier.release().await?;
            let theirs = turn("the other client", theirs).await;
            let mut last = acquiring(&client);
            eventually("it waits", || client.metrics().queue_depth_max == 1).await;
            // In the line, and not looked at again.
            for _ in 0..50 {
                assert!(futures_util::FutureExt::now_or_never(&mut unheard).is_none());
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            let slow = ground.inject(Fault::delay_reply("delete", HELD_BACK).path(BELOW));
            let releasing = tokio::spawn(held.release());
            eventually("the deletion is applied", || ground.fault_fired(slow)).await;
            if let Ok(passed) = tokio::time::timeout(HELD_BACK / 4, &mut unheard).await {
                // Its node is gone, which it has not heard: who comes next is not to pay for that.
                let passing_on = tokio::spawn(passed?.release());
                assert!(tokio::time::timeout(HELD_BACK / 4, &mut last).await.is_err(), "two hold");
                assert!(passing_on.await.expect("no panic").is_err());
            }
            drop(unheard);
            ground.clear_faults();
            let error = releasing.await.expect("no panic").expect_err("its node was gone");
            assert_eq!(error.kind(), ErrorKind::NotHeld);
            theirs.release().await?;
            drop(turn("the last", last).await);
            nodes.delete_all(PATH).await?;
        }
    }
    Ok(())
}
