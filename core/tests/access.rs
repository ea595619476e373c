//! Access lists: contenders who may not read each other's nodes, and parents that are not everybody's.

mod support;

use std::time::Duration;

use support::ground::{Ground, grounds};
use support::{eventually, lock_of, options, soon};
use zkrecipes::{Auth, Client, ErrorKind, LockOptions};

const PATH: &str = "/locks/access";
const TEN: Duration = Duration::from_secs(10);

/// Whoever it is, what it creates is its own.
async fn named(ground: &Ground, name: &str) -> Client {
    let auth = Auth { scheme: "digest".to_owned(), credential: format!("{name}:secret").into_bytes() };
    ground.client_with(zkrecipes::ClientOptions { auth: vec![auth], ..options(TEN) }).await
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
