//! What others left behind or made others wait for: adopted nodes, missed predecessors, unconfirmed releases.

mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use support::ground::grounds;
use support::{eventually, lock_of, options, soon};
use zkrecipes::{CreateMode, ErrorKind};
use zkrecipes_embedded::Fault;

const PATH: &str = "/locks/leftovers";
const TEN: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread")]
async fn a_node_of_another_session_is_never_adopted_whatever_its_name() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        lock_of(&a, PATH).acquire().await.expect("free").release().await.expect("released");
        ground.clear_log();
        let fault = ground.inject(Fault::drop_before("create2").session(a.session_id()));
        ground.inject(Fault::refuse_connections(4));
        let acquiring = tokio::spawn(lock_of(&a, PATH).acquire());
        eventually("the create is lost", || ground.fault_fired(fault)).await;
        // Under the very name that was asked for, but somebody else's.
        let asked = ground.requests_of(&a, "create2").remove(0).path;
        let name = asked.rsplit('/').next().expect("a name");
        let (nodes, path) = (b.nodes(), format!("{PATH}/{name}"));
        let theirs = nodes.create(&path, b"", CreateMode::EphemeralSequential).await.expect("created");
        let held = soon("the acquire", acquiring).await.expect("joined").expect("the lock");
        assert_ne!(held.node(), theirs);
        let stat = a.nodes().exists(held.node()).await.expect("asked").expect("it stands");
        assert_eq!(stat.ephemeral_owner as u64, a.session_id());
        held.release().await.expect("released");
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_of_another_handle_of_the_same_session_is_never_adopted() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        let held = lock_of(&client, PATH).acquire().await.expect("free");
        let fault = ground.inject(Fault::drop_after("create2"));
        let second = tokio::spawn(lock_of(&client, PATH).acquire());
        eventually("the answer is lost", || ground.fault_fired(fault)).await;
        eventually("it has found its own node and waits", || ground.watch_count() == 2).await;
        assert!(held.is_held() && !second.is_finished());
        held.release().await.expect("released");
        let second = soon("its turn", second).await.expect("joined").expect("the lock");
        assert_ne!(second.node(), held.node());
        second.release().await.expect("released");
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_callback_that_lets_go_does_not_wait_for_itself() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let held = Arc::new(lock_of(&a, PATH).acquire().await.expect("free"));
        let asked = held.clone();
        held.on_revoke(move || asked.release_in_background().expect("it is held"));
        assert!(lock_of(&b, PATH).revoke(None, None).await.expect("asked"));
        let next = soon("the turn", lock_of(&b, PATH).acquire()).await.expect("let go");
        assert!(!held.is_held());
        next.release().await.expect("released");
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_predecessor_that_goes_before_it_is_watched_is_not_waited_for() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let held = lock_of(&a, PATH).acquire().await.expect("free");
        // It has seen the holder in the list; its watches arrive after the release.
        let slow = Fault::delay_request("getData", Duration::from_millis(200)).session(b.session_id());
        let fault = ground.inject(slow);
        let waiter = tokio::spawn(lock_of(&b, PATH).acquire());
        eventually("its watches are on their way", || ground.fault_fired(fault)).await;
        held.release().await.expect("released");
        let next = soon("the turn", waiter).await.expect("joined").expect("the lock");
        next.release().await.expect("released");
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_that_cannot_be_confirmed_says_so_and_goes_on() {
    for ground in grounds() {
        let mut options = options(TEN);
        options.retry.give_up_after = Some(Duration::from_millis(200));
        let a = ground.client_with(options).await;
        let held = lock_of(&a, PATH).acquire().await.expect("free");
        ground.go_away();
        let error = soon("the release", held.release()).await.expect_err("nobody can confirm it");
        assert_eq!(error.kind(), ErrorKind::ConnectionLost);
        assert!(!held.is_held(), "let go all the same");
        assert_eq!(held.release().await.expect_err("once").kind(), ErrorKind::NotHeld);
        ground.come_back();
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_many_who_try_at_once_no_more_succeed_than_there_are_permits() {
    for ground in grounds() {
        let inside = Arc::new(AtomicUsize::new(0));
        let got = Arc::new(AtomicUsize::new(0));
        let mut tasks = Vec::new();
        for _ in 0..6 {
            let client = ground.client(TEN).await;
            let (inside, got) = (inside.clone(), got.clone());
            tasks.push(tokio::spawn(async move {
                let semaphore = client.semaphore(PATH, 2).expect("valid");
                for _ in 0..15 {
                    let Some(held) = semaphore.try_acquire(1).await.expect("asked") else { continue };
                    assert!(inside.fetch_add(1, Ordering::SeqCst) < 2, "three of two permits");
                    got.fetch_add(1, Ordering::SeqCst);
                    tokio::time::sleep(Duration::from_millis(2)).await;
                    inside.fetch_sub(1, Ordering::SeqCst);
                    held.release().await.expect("released");
                }
            }));
        }
        for task in tasks {
            soon("the work", task).await.expect("joined");
        }
        assert!(got.load(Ordering::SeqCst) > 0, "somebody succeeds");
        ground.assert_nothing_left(&format!("{PATH}/leases")).await;
        ground.assert_nothing_left(&format!("{PATH}/locks")).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_ends_waits_also_while_the_server_is_away() {
    for ground in grounds() {
        let (a, b) =
            (ground.client(Duration::from_secs(40)).await, ground.client(Duration::from_secs(40)).await);
        let held = lock_of(&a, PATH).acquire().await.expect("free");
        let waiter = tokio::spawn(lock_of(&b, PATH).acquire());
        eventually("it waits", || ground.watch_count() == 2).await;
        ground.go_away();
        b.close_in_background();
        let error = soon("the wait", waiter).await.expect("joined").map(drop).expect_err("closed");
        assert_eq!(error.kind(), ErrorKind::Closed);
        ground.come_back();
        eventually("its node goes", || ground.nodes_under(PATH) == [held.node()]).await;
        held.release().await.expect("released");
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_whose_requests_are_lost_goes_on_until_one_is_not() {
    for ground in grounds() {
        let mut options = options(TEN);
        options.retry.give_up_after = Some(Duration::from_millis(200));
        let a = ground.client_with(options).await;
        let held = lock_of(&a, PATH).acquire().await.expect("free");
        ground.inject(Fault::drop_before("delete").session(a.session_id()).forever());
        let error = soon("the release", held.release()).await.expect_err("nobody can confirm it");
        assert_eq!(error.kind(), ErrorKind::ConnectionLost);
        // One may still be under way from the call itself, and no more.
        let sent = ground.requests_of(&a, "delete").len();
        eventually("it is asked for again", || ground.requests_of(&a, "delete").len() > sent + 2).await;
        ground.clear_faults();
        ground.assert_nothing_left(PATH).await;
    }
}
