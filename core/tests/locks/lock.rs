//! The lock's promises when nothing goes wrong, and what each verb costs in requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::support::*;
use zkrecipes::{CreateMode, ErrorKind, LockOptions};

type TestResult = Result<(), Box<dyn std::error::Error>>;

#[tokio::test(flavor = "multi_thread")]
async fn a_free_lock_costs_one_create_and_one_list_and_a_release_one_delete() -> TestResult {
    let server = server();
    let client = client(&server).await;
    let lock = lock_of(&client, "/locks/a");
    lock.acquire().await?.release().await?;
    server.clear_log();
    let held = lock.acquire().await?;
    assert!(held.is_held());
    assert_eq!(requests(&server), ["create2", "getChildren"]);
    held.release().await?;
    assert_eq!(requests(&server), ["create2", "getChildren", "delete"]);
    assert_nothing_left(&server, "/locks/a").await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_first_acquisition_of_a_session_asks_once_whether_it_may_leave_again() -> TestResult {
    let server = server();
    let (a, b) = (client(&server).await, client(&server).await);
    // Who has made the path itself knows.
    lock_of(&a, "/locks/a").acquire().await?.release().await?;
    assert_eq!(server.count("getACL", "/locks/a"), 1, "only to see whether it is there");
    server.clear_log();
    lock_of(&b, "/locks/a").acquire().await?.release().await?;
    assert_eq!(requests(&server), ["getACL", "create2", "getChildren", "delete"]);
    server.clear_log();
    lock_of(&b, "/locks/a").acquire().await?.release().await?;
    assert_eq!(requests(&server), ["create2", "getChildren", "delete"]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn create_and_list_leave_in_one_flight() -> TestResult {
    let server = server();
    let client = client(&server).await;
    let lock = lock_of(&client, "/locks/a");
    lock.acquire().await?.release().await?;
    server.clear_log();
    // The list arrives although the answer to the create is still on its way.
    server.inject_text("delay_reply create2 by=2s")?;
    let acquiring = tokio::spawn(async move { lock.acquire().await });
    assert!(server.wait_for(|entry| entry.op == "create2", SOON));
    let listed = server.wait_for(|entry| entry.op == "getChildren", Duration::from_secs(1));
    assert!(listed, "the list waited for the answer to the create");
    drop(acquiring.await??);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_costs_two_reads_and_the_only_waiter_takes_over_without_a_request() -> TestResult {
    let server = server();
    let (a, b) = (client(&server).await, client(&server).await);
    let held = lock_of(&a, "/locks/a").acquire().await?;
    server.clear_log();
    let lock = lock_of(&b, "/locks/a");
    let waiter = tokio::spawn(async move { lock.acquire().await });
    eventually("the waiter watches", || server.watch_count() == 2).await;
    assert_eq!(requests(&server), ["getACL", "create2", "getChildren", "getData", "getData"]);
    server.clear_log();
    held.release().await?;
    let next = soon("the hand-off", waiter).await??;
    assert!(next.is_held());
    assert_eq!(requests(&server), ["delete"], "the hand-off is the delete and nothing else");
    next.release().await?;
    assert_nothing_left(&server, "/locks/a").await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hand_off_costs_the_same_with_two_waiters_and_with_many() -> TestResult {
    let server = server();
    let holder = client(&server).await;
    let mut critical = Vec::new();
    for waiters in [2_usize, 60] {
        let path = format!("/locks/n{waiters}");
        server.clear_log();
        let held = lock_of(&holder, &path).acquire().await?;
        let client = client(&server).await;
        let first = lock_of(&client, &path);
        let first = tokio::spawn(async move { first.acquire().await });
        eventually("the first waits", || nodes_under(&server, &path).len() == 2).await;
        let others: Vec<_> = (1..waiters)
            .map(|_| {
                let lock = lock_of(&client, &path);
                tokio::spawn(async move { lock.acquire().await })
            })
            .collect();
        eventually("all wait", || nodes_under(&server, &path).len() == waiters + 1).await;
        // Everybody watches themselves and the one ahead; from the third on also the one before that.
        let reads = 2 * waiters + waiters - 1;
        eventually("all watch", || server.count("getData", &format!("{path}/**")) >= reads).await;
        server.clear_log();
        held.release().await?;
        let next = soon("the hand-off", first).await??;
        // What stands in the log before the next holder has the lock: the delete. Others look again after that.
        let before: Vec<_> = requests(&server).into_iter().filter(|op| op == "getChildren").collect();
        critical.push(requests(&server).iter().position(|op| op == "delete"));
        assert!(before.len() <= 1, "only the one waiter behind the next looks again: {before:?}");
        others.iter().for_each(tokio::task::JoinHandle::abort);
        // One of them may have the lock by now; it goes with its task.
        drop(others);
        next.release().await?;
        assert_nothing_left(&server, &path).await;
    }
    assert_eq!(critical, [Some(0), Some(0)]);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn five_waiters_get_the_lock_in_the_order_they_queued() -> TestResult {
    let server = server();
    let holder = client(&server).await;
    let held = lock_of(&holder, "/locks/fifo").acquire().await?;
    let (sender, mut order) = tokio::sync::mpsc::unbounded_channel();
    for number in 0..5 {
        let lock = lock_of(&client(&server).await, "/locks/fifo");
        let sender = sender.clone();
        tokio::spawn(async move {
            let held = lock.acquire().await?;
            let _ = sender.send(number);
            held.release().await
        });
        eventually("it queues", || nodes_under(&server, "/locks/fifo").len() == number + 2).await;
    }
    held.release().await?;
    for expected in 0..5 {
        assert_eq!(soon("the next turn", order.recv()).await, Some(expected));
    }
    assert_nothing_left(&server, "/locks/fifo").await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn many_contenders_never_overlap_and_tokens_rise() -> TestResult {
    let server = server();
    let inside = Arc::new(AtomicUsize::new(0));
    let last = Arc::new(std::sync::Mutex::new(0));
    let mut tasks = Vec::new();
    for _ in 0..4 {
        let client = client(&server).await;
        for _ in 0..4 {
            let (lock, inside, last) = (lock_of(&client, "/locks/busy"), inside.clone(), last.clone());
            tasks.push(tokio::spawn(async move {
                for _ in 0..10 {
                    let held = lock.acquire().await.expect("the lock");
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two holders");
                    let token = held.fencing_token();
                    assert!(
                        std::mem::replace(&mut *last.lock().expect("last"), token) < token,
                        "tokens rise"
                    );
                    inside.fetch_sub(1, Ordering::SeqCst);
                    held.release().await.expect("released");
                }
            }));
        }
    }
    for task in tasks {
        soon("the work", task).await?;
    }
    assert_nothing_left(&server, "/locks/busy").await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_timeout_is_typed_and_leaves_nothing() -> TestResult {
    let server = server();
    let (a, b) = (client(&server).await, client(&server).await);
    let held = lock_of(&a, "/locks/a").acquire().await?;
    let lock = lock_of(&b, "/locks/a");
    let error = lock.acquire_timeout(Duration::from_millis(50)).await.map(drop).expect_err("it is held");
    assert_eq!((error.kind(), error.path()), (ErrorKind::Timeout, Some("/locks/a")));
    eventually("its node goes", || nodes_under(&server, "/locks/a").len() == 1).await;
    assert!(lock.try_acquire().await?.is_none());
    eventually("its node goes", || nodes_under(&server, "/locks/a").len() == 1).await;
    held.release().await?;
    assert!(lock.try_acquire().await?.is_some_and(|held| held.is_held()));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_wakes_the_waits_in_progress_and_no_later_one() -> TestResult {
    let server = server();
    let (a, b) = (client(&server).await, client(&server).await);
    let held = lock_of(&a, "/locks/a").acquire().await?;
    let lock = lock_of(&b, "/locks/a");
    lock.cancel();
    let waiter = tokio::spawn({
        let lock = lock.clone();
        async move { lock.acquire().await }
    });
    eventually("it waits", || nodes_under(&server, "/locks/a").len() == 2).await;
    lock.cancel();
    let error = soon("the cancelled wait", waiter).await?.map(drop).expect_err("cancelled");
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    eventually("its node goes", || nodes_under(&server, "/locks/a").len() == 1).await;
    held.release().await?;
    assert!(lock.acquire().await?.is_held(), "a stale cancel does not fail the next acquire");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_wait_leaves_nothing() -> TestResult {
    let server = server();
    let (a, b) = (client(&server).await, client(&server).await);
    let held = lock_of(&a, "/locks/a").acquire().await?;
    let lock = lock_of(&b, "/locks/a");
    let waiter = tokio::spawn(async move { lock.acquire().await });
    eventually("it waits", || server.watch_count() == 2).await;
    waiter.abort();
    eventually("its node goes", || nodes_under(&server, "/locks/a").len() == 1).await;
    held.release().await?;
    assert_nothing_left(&server, "/locks/a").await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_held_is_released() -> TestResult {
    let server = server();
    let client = client(&server).await;
    let lock = lock_of(&client, "/locks/a");
    drop(lock.acquire().await?);
    assert!(!lock.is_held());
    assert_nothing_left(&server, "/locks/a").await;
    assert!(soon("the next", lock.acquire()).await?.is_held());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_second_acquire_on_a_holding_handle_waits() -> TestResult {
    let server = server();
    let client = client(&server).await;
    let lock = lock_of(&client, "/locks/a");
    let held = lock.acquire().await?;
    assert!(lock.try_acquire().await?.is_none());
    let error = lock.acquire_timeout(Duration::from_millis(20)).await.map(drop).expect_err("it is held");
    assert_eq!(error.kind(), ErrorKind::Timeout);
    let second = tokio::spawn({
        let lock = lock.clone();
        async move { lock.acquire().await }
    });
    held.release().await?;
    assert!(soon("the second", second).await??.is_held());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reentrant_handle_counts() -> TestResult {
    let server = server();
    let client = client(&server).await;
    let lock = client.lock("/locks/r", LockOptions::default().reentrant(true))?;
    let outer = lock.acquire().await?;
    let inner = lock.acquire().await?;
    assert_eq!(outer.fencing_token(), inner.fencing_token());
    assert_eq!(nodes_under(&server, "/locks/r").len(), 1);
    inner.release().await?;
    assert!(outer.is_held() && !inner.is_held());
    assert_eq!(inner.release().await.expect_err("released").kind(), ErrorKind::NotHeld);
    outer.release().await?;
    assert!(!lock.is_held());
    assert_nothing_left(&server, "/locks/r").await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn releasing_twice_is_not_held_and_tokens_need_holding() -> TestResult {
    let server = server();
    let client = client(&server).await;
    let lock = lock_of(&client, "/locks/a");
    assert_eq!(lock.fencing_token().expect_err("not held").kind(), ErrorKind::NotHeld);
    assert_eq!(lock.release().await.expect_err("not held").kind(), ErrorKind::NotHeld);
    let held = lock.acquire().await?;
    assert_eq!(lock.fencing_token()?, held.fencing_token());
    held.release().await?;
    assert!(!held.is_held());
    assert_eq!(held.release().await.expect_err("released").kind(), ErrorKind::NotHeld);
    assert_eq!(held.verify().await.expect_err("released").kind(), ErrorKind::NotHeld);
    assert_eq!(lock.verify().await.expect_err("released").kind(), ErrorKind::NotHeld);
    let guarded = held.guarded();
    guarded.create("/data", b"x", CreateMode::Persistent)?;
    assert_eq!(guarded.commit().await.expect_err("released").kind(), ErrorKind::NotHeld);
    assert!(client.nodes().exists("/data").await?.is_none());
    held.leave(false).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn contenders_are_listed_in_order_with_who_they_are() -> TestResult {
    let server = server();
    let identified = |name: &str| zkrecipes::ClientOptions::default().identity(name);
    let a = zkrecipes::Client::connect(&server.connect_string(), identified("alpha")).await?;
    let b = zkrecipes::Client::connect(&server.connect_string(), identified("beta")).await?;
    let lock = lock_of(&a, "/locks/a");
    assert!(lock.contenders().await?.is_empty());
    let held = lock.acquire().await?;
    let waiting = lock_of(&b, "/locks/a");
    let waiter = tokio::spawn(async move { waiting.acquire().await });
    eventually("it waits", || nodes_under(&server, "/locks/a").len() == 2).await;
    let seen = lock.contenders().await?;
    let who: Vec<_> =
        seen.iter().map(|c| (c.identity.as_str(), c.holds, c.kind.as_str(), c.session_id)).collect();
    assert_eq!(who, [("alpha", true, "lock", a.session_id()), ("beta", false, "lock", b.session_id())]);
    assert!(held.node().ends_with(&seen[0].node));
    waiter.abort();
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_rise_across_a_new_parent_although_sequence_numbers_restart() -> TestResult {
    let server = server();
    let client = client(&server).await;
    let lock = lock_of(&client, "/locks/a");
    let held = lock.acquire().await?;
    let (first, first_node) = (held.fencing_token(), held.node().to_owned());
    held.release().await?;
    client.nodes().delete("/locks/a", None).await?;
    let held = lock.acquire().await?;
    assert_eq!(first_node[first_node.len() - 10..], held.node()[held.node().len() - 10..]);
    assert!(held.fencing_token() > first);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn exclusion_holds_up_to_across_and_after_the_end_of_the_range() -> TestResult {
    let server = server();
    let (a, b, c) = (client(&server).await, client(&server).await, client(&server).await);
    lock_of(&a, "/locks/wrap").acquire().await?.release().await?;
    server.set_next_sequence("/locks/wrap", i32::MAX - 2);
    let inside = Arc::new(AtomicUsize::new(0));
    let mut tasks = Vec::new();
    for client in [&a, &b, &c] {
        for _ in 0..3 {
            let (lock, inside) = (lock_of(client, "/locks/wrap"), inside.clone());
            tasks.push(tokio::spawn(async move {
                for _ in 0..5 {
                    let held = lock.acquire().await.expect("the lock");
                    assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "two holders");
                    tokio::task::yield_now().await;
                    inside.fetch_sub(1, Ordering::SeqCst);
                    held.release().await.expect("released");
                }
            }));
        }
    }
    for task in tasks {
        soon("the work", task).await?;
    }
    assert_nothing_left(&server, "/locks/wrap").await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn foreign_contenders_are_honoured_and_other_nodes_ignored() -> TestResult {
    let server = server();
    let client = client(&server).await;
    let nodes = client.nodes();
    nodes.ensure("/locks/mixed").await?;
    nodes.create("/locks/mixed/readme", b"", CreateMode::Persistent).await?;
    let lock = lock_of(&client, "/locks/mixed");
    for prefix in [
        "0123456789abcdef0123456789abcdef__lock__",
        "x-72057594037927936-",
        "_c_8a3c7a5e-58f5-4a0d-9d52-3c0f35f9f1d1-lock-",
    ] {
        let foreign =
            nodes.create(&format!("/locks/mixed/{prefix}"), b"them", CreateMode::EphemeralSequential).await?;
        assert!(lock.try_acquire().await?.is_none(), "{prefix} is honoured");
        let waiter = tokio::spawn({
            let lock = lock.clone();
            async move { lock.acquire().await }
        });
        eventually("it waits", || server.watch_count() == 2).await;
        nodes.delete(&foreign, None).await?;
        soon("the turn", waiter).await??.release().await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn guarded_writes_are_applied_while_the_node_stands_and_refused_afterwards() -> TestResult {
    let server = server();
    let client = client(&server).await;
    let nodes = client.nodes();
    nodes.create("/ledger", b"0", CreateMode::Persistent).await?;
    let held = lock_of(&client, "/locks/a").acquire().await?;
    let guarded = held.guarded();
    guarded.set("/ledger", b"1", None)?;
    guarded.create("/entry", b"e", CreateMode::Persistent)?;
    guarded.commit().await?;
    assert_eq!(nodes.get("/ledger").await?.0, b"1");
    assert_eq!(guarded.commit().await.expect_err("committed").kind(), ErrorKind::Invalid);
    // Somebody breaks the lock behind our back, and we do not know it yet.
    nodes.delete(held.node(), None).await?;
    assert!(held.is_held(), "nobody can foresee a forced deletion");
    let stale = held.guarded();
    stale.set("/ledger", b"2", None)?;
    let error = stale.commit().await.expect_err("the node is gone");
    assert_eq!(error.kind(), ErrorKind::NotHeld);
    assert_eq!(nodes.get("/ledger").await?.0, b"1");
    assert!(!held.is_held(), "now we know, and loss is sticky");
    assert_eq!(held.leave(false).await.expect_err("lost").kind(), ErrorKind::Lost);
    held.leave(true).await.expect("an error of the body is never masked");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_parent_removed_between_requests_is_created_again() -> TestResult {
    let server = server();
    let client = client(&server).await;
    let lock = lock_of(&client, "/locks/deep/er/path");
    lock.acquire().await?.release().await?;
    client.nodes().delete_all("/locks").await?;
    assert!(lock.acquire().await?.is_held());
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_chroot_that_does_not_exist_is_created() -> TestResult {
    let server = server();
    let hosts = format!("{}/apps/one", server.connect_string());
    let client = zkrecipes::Client::connect(&hosts, Default::default()).await?;
    let held = lock_of(&client, "/locks/a").acquire().await?;
    assert!(held.node().starts_with("/locks/a/"));
    assert!(server.nodes().iter().any(|node| node.starts_with("/apps/one/locks/a/")));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn bad_input_is_refused_before_anything_is_sent() -> TestResult {
    let server = server();
    let client = client(&server).await;
    server.clear_log();
    for path in ["", "relative", "//", "/a//b", "/a/", "/a/./b", "/a/../b", "/nul\0", "/", "/zookeeper/x"] {
        let error = client.lock(path, LockOptions::default()).expect_err(path);
        assert_eq!(error.kind(), ErrorKind::Invalid, "{path:?}");
        assert!(error.to_string().contains("path"), "{error}");
    }
    let long = format!("/{}", "x".repeat(2 << 20));
    assert_eq!(client.lock(&long, LockOptions::default()).expect_err("too long").kind(), ErrorKind::TooLarge);
    let big = vec![0; 2 << 20];
    let error = client.nodes().create("/big", &big, CreateMode::Persistent).await.expect_err("too large");
    assert_eq!(error.kind(), ErrorKind::TooLarge);
    assert!(requests(&server).is_empty());
    Ok(())
}
