//! The lines that a multi-lock hangs by: all or none, whatever happens between the first and the last.

use std::time::Duration;

use crate::support::ground::{Ground, grounds};
use crate::support::{eventually, lock_of, soon};
use zkrecipes::{Client, CreateMode, ErrorKind, MultiLock};

const BOTH: &str = "/locks/several";
const FIRST: &str = "/locks/several/a";
const LAST: &str = "/locks/several/b";
const TEN: Duration = Duration::from_secs(10);

fn both(client: &Client) -> MultiLock {
    client.multi_lock(&[lock_of(client, LAST), lock_of(client, FIRST)]).expect("valid")
}

async fn half_way(ground: &Ground) {
    eventually("it holds the first and waits for the last", || {
        ground.nodes_under(FIRST).len() == 1 && ground.nodes_under(LAST).len() == 2
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_lost_the_first_while_waiting_for_the_last_does_not_own() {
    for ground in grounds() {
        let (a, b, c) = (ground.client(TEN).await, ground.client(TEN).await, ground.client(TEN).await);
        let last = lock_of(&c, LAST).acquire().await.expect("free");
        let waiter = tokio::spawn(both(&a).acquire());
        half_way(&ground).await;
        b.nodes().delete(&ground.nodes_under(FIRST)[0], None).await.expect("deleted");
        let first = lock_of(&b, FIRST).acquire().await.expect("free");
        last.release().await.expect("released");
        eventually("it starts again, at the first", || ground.nodes_under(FIRST).len() == 2).await;
        assert!(!waiter.is_finished(), "two hold the first");
        first.verify().await.expect("held");
        first.release().await.expect("released");
        let all = soon("both", waiter).await.expect("joined").expect("the locks");
        assert!(all.fencing_tokens()[0] > first.fencing_token());
        all.verify().await.expect("both stand");
        all.release().await.expect("released");
        ground.assert_nothing_left(BOTH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failure_at_the_last_gives_the_first_back() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        b.nodes().ensure(BOTH).await.expect("created");
        // Nobody can queue under an ephemeral node.
        b.nodes().create(LAST, b"", CreateMode::Ephemeral).await.expect("created");
        let error = both(&a).acquire().await.map(drop).expect_err("no children there");
        assert_eq!(error.kind(), ErrorKind::Invalid);
        ground.assert_nothing_left(FIRST).await;
        assert!(lock_of(&b, FIRST).try_acquire().await.expect("asked").is_some());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_gives_up_at_the_last_gives_the_first_back() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let last = lock_of(&b, LAST).acquire().await.expect("free");
        let all = both(&a);
        for end in ["try", "timeout", "cancel", "drop"] {
            match end {
                "try" => assert!(all.try_acquire().await.expect("asked").is_none()),
                "timeout" => {
                    let wait = all.acquire_timeout(Duration::from_millis(30)).await;
                    assert_eq!(wait.map(drop).expect_err("it is held").kind(), ErrorKind::Timeout);
                }
                _ => {
                    let wait = tokio::spawn(all.acquire());
                    half_way(&ground).await;
                    if end == "cancel" {
                        all.cancel();
                    } else {
                        wait.abort();
                    }
                    soon(end, wait).await.map(|outcome| assert!(outcome.is_err())).ok();
                }
            }
            eventually("the first is given back", || ground.nodes_under(FIRST).is_empty()).await;
            eventually("and so is the place", || ground.nodes_under(LAST) == [last.node()]).await;
        }
        last.release().await.expect("released");
        drop(soon("both", all.acquire()).await.expect("free"));
        ground.assert_nothing_left(BOTH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_ends_half_way_starts_again_with_both() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let last = lock_of(&b, LAST).acquire().await.expect("free");
        let waiter = tokio::spawn(both(&a).acquire());
        half_way(&ground).await;
        let old = ground.nodes_under(FIRST);
        ground.expire(a.session_id()).await;
        eventually("it queues at the last again", || ground.nodes_under(LAST).len() == 2).await;
        last.release().await.expect("released");
        let all = soon("both", waiter).await.expect("joined").expect("the locks");
        assert!(all.is_held());
        all.verify().await.expect("both stand in the new session");
        assert_ne!(ground.nodes_under(FIRST), old);
        all.release().await.expect("released");
        ground.assert_nothing_left(BOTH).await;
    }
}
