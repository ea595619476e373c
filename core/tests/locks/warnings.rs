//! What a user is told without having asked: dangers that no error can tell of.

use std::time::Duration;

use crate::support::{client, eventually, lock_of, options, said, server, soon};
use zkrecipes::drive::acquire;
use zkrecipes::{Client, CreateMode, Naming};

const KAZOOS: &str = "7f1b2c3d4e5f60718293a4b5c6d7e8f9__lock__";

#[tokio::test(flavor = "multi_thread")]
async fn a_contender_of_another_naming_is_told_once_per_path() {
    said::listen();
    let server = server();
    let (ours, kazoo) = (client(&server).await, client(&server).await);
    for path in ["/locks/shared-with-kazoo", "/locks/shared-as-well"] {
        kazoo.nodes().ensure(path).await.expect("created");
        // kazoo's lock looks for nodes of its own naming only: beside this holder it would hold, too.
        lock_of(&ours, path).acquire().await.expect("free").release().await.expect("released");
        assert_eq!(said::about(path), [""; 0], "among ourselves there is nothing to tell");
        let stranger = format!("{path}/{KAZOOS}");
        let mode = CreateMode::EphemeralSequential;
        let stranger = kazoo.nodes().create(&stranger, b"kazoo", mode).await.expect("created");
        for _ in 0..3 {
            assert!(lock_of(&ours, path).try_acquire().await.expect("asked").is_none(), "we wait for it");
        }
        kazoo.nodes().delete(&stranger, None).await.expect("deleted");
        let told = said::about(path);
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains(KAZOOS) && told[0].contains("naming"), "{told:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn contenders_of_the_naming_that_was_chosen_are_no_strangers() {
    said::listen();
    let server = server();
    let path = "/locks/all-kazoo";
    let mut options = options(Duration::from_secs(10));
    options.naming = Naming::Kazoo;
    let client = Client::connect(&server.connect_string(), options).await.expect("connected");
    client.nodes().ensure(path).await.expect("created");
    let theirs = format!("{path}/{KAZOOS}");
    let theirs = client.nodes().create(&theirs, b"", CreateMode::EphemeralSequential).await.expect("created");
    assert!(lock_of(&client, path).try_acquire().await.expect("asked").is_none());
    client.nodes().delete(&theirs, None).await.expect("deleted");
    assert_eq!(said::about(path), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_acquire_that_waits_for_what_its_own_handle_keeps_is_told() {
    said::listen();
    let server = server();
    let client = client(&server).await;
    let (path, busy) = ("/locks/forgotten", "/locks/in-use");
    // As a language does it whose handle keeps what it acquired: here nobody else has it any more.
    let lock = lock_of(&client, path);
    drop(soon("the lock", acquire(&lock, 1, None)).await.expect("free").keep());
    let second = tokio::spawn(lock.acquire());
    eventually("it is told", || !said::about(path).is_empty()).await;
    let told = said::about(path);
    assert!(told.len() == 1 && told[0].contains("own handle"), "{told:?}");
    assert!(!second.is_finished(), "it waits all the same");
    lock.release().await.expect("the handle has it");
    drop(soon("the second", second).await.expect("joined").expect("the lock"));

    // What somebody has in hand is given time.
    let lock = lock_of(&client, busy);
    let in_hand = soon("the lock", acquire(&lock, 1, None)).await.expect("free").keep();
    let limit = Duration::from_millis(1500);
    lock.acquire_timeout(limit).await.map(drop).expect_err("it holds");
    assert_eq!(said::about(busy), [""; 0]);
    in_hand.release().await.expect("released");
}
