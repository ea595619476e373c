//! What becomes of a lock whose request or answer is lost, whose session or node goes, or whose server is away.

use std::time::Duration;

use crate::support::ground::{Ground, grounds};
use crate::support::{eventually, lock_of, options, soon};
use zkrecipes::{Client, ErrorKind, LockOptions, State};
use zkrecipes_embedded::Fault;

const PATH: &str = "/locks/faults";
const TEN: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread")]
async fn a_create_whose_answer_was_lost_is_looked_for_among_our_own_nodes() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let held = lock_of(&b, PATH).acquire().await.expect("free");
        lock_of(&a, PATH).try_acquire().await.expect("asked");
        ground.clear_log();
        let fault = ground.inject(Fault::drop_after("create2").session(a.session_id()));
        let acquiring = tokio::spawn(lock_of(&a, PATH).acquire());
        eventually("the answer is lost", || ground.fault_fired(fault)).await;
        eventually("it is looked for", || !ground.requests_of(&a, "getEphemerals").is_empty()).await;
        held.release().await.expect("released");
        let held = soon("the turn", acquiring).await.expect("joined").expect("the lock");
        assert_eq!(ground.requests_of(&a, "create2").len(), 1, "and found");
        // One was on its way with the create, and another one tells who else waits.
        assert!(ground.lists_of(&a).len() <= 2, "{:?}", ground.lists_of(&a));
        held.release().await.expect("released");
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_whose_answer_was_lost_is_a_release() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        let lock = lock_of(&client, PATH);
        let held = lock.acquire().await.expect("free");
        ground.inject(Fault::drop_after("delete"));
        soon("the release", held.release()).await.expect("NoNode after our own lost answer is success");
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn releasing_what_somebody_deleted_is_not_held() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        let held = lock_of(&client, PATH).acquire().await.expect("free");
        client.nodes().delete(held.node(), None).await.expect("deleted");
        assert_eq!(held.release().await.expect_err("gone").kind(), ErrorKind::NotHeld);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guarded_write_whose_answer_was_lost_is_not_repeated() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        client.nodes().create("/counter", b"0", zkrecipes::CreateMode::Persistent).await.expect("created");
        let held = lock_of(&client, PATH).acquire().await.expect("free");
        let guarded = held.guarded();
        guarded.set("/counter", b"1", None).expect("valid");
        ground.inject(Fault::drop_after("multi"));
        let error = soon("the write", guarded.commit()).await.expect_err("nobody knows");
        assert_eq!(error.kind(), ErrorKind::ConnectionLost);
        let stat = client.nodes().get("/counter").await.expect("read").1;
        assert_eq!(stat.version, 1, "applied once");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guarded_write_that_never_left_is_not_held_when_the_lock_is_lost() {
    for ground in grounds() {
        let client = ground.client(Duration::from_secs(4)).await;
        client.nodes().create("/counter", b"0", zkrecipes::CreateMode::Persistent).await.expect("created");
        let held = lock_of(&client, PATH).acquire().await.expect("free");
        ground.go_away();
        eventually("there is no connection", || client.state() == State::Suspended).await;
        let guarded = held.guarded();
        guarded.set("/counter", b"1", None).expect("valid");
        assert!(held.is_held());
        let error = soon("the write", guarded.commit()).await.expect_err("it was lost");
        assert_eq!(error.kind(), ErrorKind::NotHeld, "{error}");
        ground.come_back();
        let stat = soon("a read", client.nodes().get("/counter")).await.expect("read").1;
        assert_eq!(stat.version, 0);
    }
}

/// It waits for no answer longer than the lock stands.
#[tokio::test(flavor = "multi_thread")]
async fn a_guarded_write_ends_when_what_guards_it_is_lost() {
    for ground in grounds() {
        let mut options = options(Duration::from_secs(3));
        options.retry.give_up_after = Some(Duration::from_secs(3600));
        let client = ground.client_with(options).await;
        client.nodes().create("/counter", b"0", zkrecipes::CreateMode::Persistent).await.expect("created");
        let held = lock_of(&client, PATH).acquire().await.expect("free");
        let write = || {
            let guarded = held.guarded();
            guarded.set("/counter", b"1", None).expect("valid");
            tokio::spawn(async move { guarded.commit().await })
        };
        ground.go_away();
        eventually("there is no connection", || client.state() == State::Suspended).await;
        let error = soon("the write", write()).await.expect("joined").expect_err("it was lost");
        assert!(!held.is_held());
        assert_eq!(error.kind(), ErrorKind::NotHeld, "{error}");
        assert!(error.to_string().contains("was not sent"), "{error}");
        let error = soon("the release", held.release()).await.expect_err("it was lost");
        assert!(error.to_string().ends_with("there is nothing to release (/locks/faults)"), "{error}");
        ground.come_back();
    }
}

/// Its caller has gone on to something else while there was no connection.
#[tokio::test(flavor = "multi_thread")]
async fn a_guarded_write_that_nobody_polls_holds_up_nobody() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        let lock = || client.lock(PATH, LockOptions::default().local_handoff(8)).expect("valid");
        let held = lock().acquire().await.expect("free");
        let mut next = std::pin::pin!(lock().acquire());
        tokio::select! {
            biased;
            _ = &mut next => panic!("two hold"),
            () = std::future::ready(()) => {}
        }
        ground.go_away();
        eventually("there is no connection", || client.state() == State::Suspended).await;
        let guarded = held.guarded();
        guarded.set(PATH, b"1", None).expect("valid");
        let mut write = std::pin::pin!(guarded.commit());
        tokio::select! {
            biased;
            _ = &mut write => panic!("there is no connection"),
            () = std::future::ready(()) => {}
        }
        held.release_in_background().expect("held");
        ground.come_back();
        let held = soon("the turn", next).await.expect("the lock");
        let error = soon("the write", write).await.expect_err("it was released");
        assert_eq!(error.kind(), ErrorKind::NotHeld, "{error}");
        held.release().await.expect("released");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_guarded_write_that_finds_no_server_in_time_was_not_sent() {
    for ground in grounds() {
        let mut options = options(TEN);
        options.retry.give_up_after = Some(Duration::from_millis(300));
        let client = ground.client_with(options).await;
        client.nodes().create("/counter", b"0", zkrecipes::CreateMode::Persistent).await.expect("created");
        let held = lock_of(&client, PATH).acquire().await.expect("free");
        ground.go_away();
        eventually("there is no connection", || client.state() == State::Suspended).await;
        let guarded = held.guarded();
        guarded.set("/counter", b"1", None).expect("valid");
        let error = soon("the write", guarded.commit()).await.expect_err("there is no server");
        assert_eq!(error.kind(), ErrorKind::ConnectionLost);
        assert!(error.to_string().contains("was not sent, and nothing was applied"), "{error}");
        ground.come_back();
        eventually("connected again", || client.state() == State::Connected).await;
        let stat = soon("a read", client.nodes().get("/counter")).await.expect("read").1;
        assert_eq!(stat.version, 0, "nor is it sent later");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_waiter_does_not_own_by_stale_news() {
    for ground in grounds() {
        let clients = [ground.client(TEN).await, ground.client(TEN).await, ground.client(TEN).await];
        // Whether the two events are read together is a matter of luck.
        for _ in 0..20 {
            break_a_waiter(&ground, &clients).await;
        }
    }
}

/// Our node is broken while we wait, a later contender gets behind the holder, the holder goes: the later one owns.
async fn break_a_waiter(ground: &Ground, [a, b, c]: &[Client; 3]) {
    let held = lock_of(a, PATH).acquire().await.expect("free");
    let (first, later) = (lock_of(b, PATH), lock_of(c, PATH));
    let first = tokio::spawn(async move { first.acquire().await });
    eventually("the first waits", || ground.watch_count() == 2).await;
    let broken =
        ground.nodes_under(PATH).into_iter().find(|node| node != held.node()).expect("the waiter's node");
    let later = tokio::spawn(async move { later.acquire().await });
    eventually("the later one waits", || ground.nodes_under(PATH).len() == 3).await;
    // Both deletions are one transaction: the two events arrive together.
    let both = a.nodes().transaction();
    both.delete(&broken, None).expect("valid");
    both.delete(held.node(), None).expect("valid");
    both.commit().await.expect("deleted");
    let owner = soon("the later one's turn", later).await.expect("joined").expect("the lock");
    assert!(!first.is_finished(), "the broken waiter must not own");
    owner.release().await.expect("released");
    let held = soon("the first's turn", first).await.expect("joined").expect("the lock");
    assert!(held.is_held());
    held.release().await.expect("released");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_away_delays_a_waiter_and_ends_a_newcomer_with_a_limit() {
    for ground in grounds() {
        let holder = ground.client(Duration::from_secs(10)).await;
        let mut options = options(Duration::from_secs(10));
        options.retry.give_up_after = Some(Duration::from_secs(1));
        let other = ground.client_with(options).await;
        let held = lock_of(&holder, PATH).acquire().await.expect("free");
        let waiting = lock_of(&other, PATH);
        let waiter = tokio::spawn(async move { waiting.acquire().await });
        eventually("it waits", || ground.watch_count() == 2).await;
        ground.go_away();
        let newcomer = lock_of(&other, PATH).acquire_timeout(Duration::from_secs(60));
        let error = soon("the newcomer", newcomer).await.map(drop).expect_err("no server");
        assert_eq!(error.kind(), ErrorKind::ConnectionLost);
        assert!(!waiter.is_finished());
        ground.come_back();
        held.leave(true).await.expect("left");
        assert!(soon("the turn", waiter).await.expect("joined").expect("the lock").is_held());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_queued_goes_on_asking_when_a_newcomer_would_have_given_up() {
    let budget = Duration::from_secs(1);
    for ground in grounds() {
        let holder = ground.client(TEN).await;
        let mut options = options(TEN);
        options.retry.give_up_after = Some(budget);
        let other = ground.client_with(options).await;
        let held = holder.read_write_lock(PATH).expect("valid").write().acquire().await.expect("free");
        let reading = other.read_write_lock(PATH).expect("valid");
        let reader = tokio::spawn(async move { reading.read().acquire().await });
        eventually("it waits", || ground.watch_count() == 2).await;
        // Woken, it asks who is left, and gets no answer.
        let lost = ground.inject(Fault::drop_before("getChildren*").session(other.session_id()).forever());
        held.release().await.expect("released");
        eventually("it asks", || ground.fault_fired(lost)).await;
        // Time is the subject.
        tokio::time::sleep(2 * budget).await;
        assert!(!reader.is_finished());
        ground.clear_faults();
        assert!(soon("the turn", reader).await.expect("joined").expect("the lock").is_held());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_slips_in_below_a_writer_is_not_overlooked() {
    // Curator downgrades by creating a reader with the number of the writer, which it then deletes: whoever waited for
    // the writer alone must not take its deletion for the turn.
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        a.nodes().ensure(PATH).await.expect("the path");
        let curator = a.nodes();
        let writer = format!("{PATH}/_c_8a3c7a5e-58f5-4a0d-9d52-3c0f35f9f1d1-__WRIT__");
        let writer = curator
            .create(&writer, b"", zkrecipes::CreateMode::EphemeralSequential)
            .await
            .expect("a writer of Curator's");
        let lock = lock_of(&b, PATH);
        let waiter = tokio::spawn(async move { lock.acquire().await });
        eventually("it waits", || ground.count("getData", PATH) >= 2).await;
        let number = &writer[writer.len() - 10..];
        let reader = format!("{PATH}/_c_0d9dd4c8-3c5a-4ee5-8a0e-4f1b0f7c9a11-__READ__{number}");
        let downgrade = curator.transaction();
        downgrade.create(&reader, b"", zkrecipes::CreateMode::Ephemeral).expect("valid");
        downgrade.delete(&writer, None).expect("valid");
        downgrade.commit().await.expect("downgraded");
        eventually("it looks again and waits for the reader", || ground.count("getData", PATH) >= 3).await;
        assert!(!waiter.is_finished(), "a reader still holds");
        curator.delete(&reader, None).await.expect("released");
        assert!(soon("the turn", waiter).await.expect("joined").expect("the lock").is_held());
    }
}
