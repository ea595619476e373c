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
