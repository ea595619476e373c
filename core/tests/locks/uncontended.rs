//! Who acquires the same path time after time, with nobody beside it, asks for no list, and is never mistaken about that.

use std::time::Duration;

use crate::support::ground::{Ground, grounds};
use crate::support::*;
use zkrecipes::{Client, CreateMode, LockOptions, Result};

const PATH: &str = "/locks/alone";

async fn connect(ground: &Ground) -> Client {
    ground.client(Duration::from_secs(20)).await
}

/// Acquires and releases, and is alone each time.
async fn come_and_go(lock: &zkrecipes::Handle, times: usize) -> Result<()> {
    for _ in 0..times {
        lock.acquire().await?.release().await?;
    }
    Ok(())
}

/// The requests of one client, without those that only keep its session: of what it holds it asks whether that exists.
fn asked(ground: &Ground, client: &Client) -> Vec<String> {
    let session = client.session_id();
    let of_it = ground.log().into_iter().filter(|entry| entry.session_id == session);
    let asked = of_it.filter(|entry| match entry.op {
        "ping" | "sync" | "multi" => false,
        "exists" => entry.path.ends_with(PATH),
        _ => true,
    });
    asked.map(|entry| entry.op.to_string()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn from_the_ninth_time_on_a_pair_is_a_create_and_a_delete() -> Result<()> {
    for ground in grounds() {
        let client = connect(&ground).await;
        let lock = lock_of(&client, PATH);
        come_and_go(&lock, 7).await?;
        ground.clear_log();
        come_and_go(&lock, 1).await?;
        assert_eq!(
            asked(&ground, &client),
            ["exists", "create2", "getChildren", "delete"],
            "the path is watched"
        );
        ground.clear_log();
        come_and_go(&lock, 3).await?;
        assert_eq!(asked(&ground, &client), ["create2", "delete"].repeat(3));
        ground.clear_log();
        lock.acquire().await?.release_in_background()?;
        lock.acquire().await?.release().await?;
        assert_eq!(
            asked(&ground, &client),
            ["create2", "delete"].repeat(2),
            "and if nobody waits for the delete"
        );
        // Though there is a handle yet.
        ground.assert_nothing_left(PATH).await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn both_sides_of_a_read_write_lock_know_it_too() -> Result<()> {
    for ground in grounds() {
        let client = connect(&ground).await;
        let lock = client.read_write_lock(PATH)?;
        for side in [lock.read(), lock.write()] {
            come_and_go(side, 9).await?;
            ground.clear_log();
            come_and_go(side, 2).await?;
            assert_eq!(asked(&ground, &client), ["create2", "delete"].repeat(2));
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_who_came_in_between_is_waited_for() -> Result<()> {
    for ground in grounds() {
        let (client, other) = (connect(&ground).await, connect(&ground).await);
        let lock = lock_of(&client, PATH);
        // Of another client, and by another handle of this one.
        for another in [lock_of(&other, PATH), lock_of(&client, PATH)] {
            come_and_go(&lock, 10).await?;
            let held = another.acquire().await?;
            assert!(lock.try_acquire().await?.is_none(), "it is held");
            let waiting = tokio::spawn({
                let lock = lock.clone();
                async move { lock.acquire().await }
            });
            eventually("it waits", || ground.count("create2", PATH) >= 13).await;
            assert!(!lock.is_held());
            held.release().await?;
            soon("its turn", waiting).await.expect("no panic")?.release().await?;
            ground.clear_log();
        }
        drop(lock);
        ground.assert_nothing_left(PATH).await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_that_was_made_anew_is_not_taken_for_the_old_one() -> Result<()> {
    for ground in grounds() {
        let (client, other) = (connect(&ground).await, connect(&ground).await);
        let lock = lock_of(&client, PATH);
        let first = lock.acquire().await?;
        assert!(first.node().ends_with("0000000000"));
        first.release().await?;
        come_and_go(&lock, 9).await?;
        // As a server does with a container that has no children, and then everybody queues anew.
        other.nodes().delete(PATH, None).await?;
        let another = lock_of(&other, PATH);
        come_and_go(&another, 9).await?;
        let held = another.acquire().await?;
        assert!(held.node().ends_with("0000000009"), "the next one gets the number that would follow");
        assert!(lock.try_acquire().await?.is_none(), "two would hold it");
        held.release().await?;
        come_and_go(&lock, 1).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_happens_to_the_path_while_the_create_is_under_way_is_heard_once() -> Result<()> {
    let server = server();
    let (client, other) = (client(&server).await, client(&server).await);
    let lock = lock_of(&client, PATH);
    come_and_go(&lock, 10).await?;
    server.clear_log();
    server.inject_text("delay_reply create2 by=300ms").expect("a fault");
    let acquiring = tokio::spawn({
        let lock = lock.clone();
        async move { lock.acquire().await }
    });
    assert!(server.wait_for(|entry| entry.op == "create2", SOON));
    other.nodes().set(PATH, b"said", None).await?;
    acquiring.await.expect("no panic")?.release().await?;
    // None if the answer is looked at before the event behind it: then the path was what it had been.
    let lists = server.count("getChildren", PATH);
    assert!(lists <= 1, "{lists} lists for one event");
    come_and_go(&lock, 10).await?;
    server.clear_log();
    come_and_go(&lock, 1).await?;
    assert_eq!(requests(&server), ["create2", "delete"], "watched anew");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn on_another_connection_a_list_decides() -> Result<()> {
    for ground in grounds() {
        let client = connect(&ground).await;
        let lock = lock_of(&client, PATH);
        come_and_go(&lock, 10).await?;
        ground.clear_log();
        ground.break_connections();
        come_and_go(&lock, 1).await?;
        assert!(
            asked(&ground, &client).contains(&"getChildren".to_owned()),
            "what is watched is not known to be the same"
        );
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_of_somebody_elses_recipe_counts_too() -> Result<()> {
    for ground in grounds() {
        let (client, other) = (connect(&ground).await, connect(&ground).await);
        let lock = lock_of(&client, PATH);
        come_and_go(&lock, 10).await?;
        // It has a number that it chose itself, and stands ahead of all that come.
        let path = format!("{PATH}/_c_00000000-0000-4000-8000-000000000000-lock-0000000000");
        other.nodes().create(&path, b"", CreateMode::Ephemeral).await?;
        assert!(lock.try_acquire().await?.is_none());
        other.nodes().delete(&path, None).await?;
        come_and_go(&lock, 1).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn who_gave_up_behind_somebody_proves_nothing_by_the_next_number() -> Result<()> {
    for ground in grounds() {
        let (client, other) = (connect(&ground).await, connect(&ground).await);
        let (lock, another) = (lock_of(&client, PATH), lock_of(&other, PATH));
        come_and_go(&lock, 10).await?;
        let held = another.acquire().await?;
        for _ in 0..10 {
            assert!(lock.try_acquire().await?.is_none(), "it is held");
        }
        held.release().await?;
        come_and_go(&lock, 1).await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn readers_are_alone_beside_readers() -> Result<()> {
    for ground in grounds() {
        let (client, other) = (connect(&ground).await, connect(&ground).await);
        let (lock, another) = (client.read_write_lock(PATH)?, other.read_write_lock(PATH)?);
        let held = another.read().acquire().await?;
        come_and_go(lock.read(), 10).await?;
        ground.clear_log();
        come_and_go(lock.read(), 1).await?;
        assert_eq!(asked(&ground, &client), ["create2", "delete"]);
        assert!(lock.write().try_acquire().await?.is_none(), "it is read");
        held.release().await?;
        let held = another.write().acquire().await?;
        assert!(lock.read().try_acquire().await?.is_none(), "it is written");
        held.release().await?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn at_the_end_of_the_range_numbers_prove_nothing() -> Result<()> {
    let server = server();
    let (client, other) = (client(&server).await, client(&server).await);
    let lock = lock_of(&client, PATH);
    come_and_go(&lock, 1).await?;
    assert!(server.set_next_sequence(PATH, i32::MAX - 10));
    come_and_go(&lock, 10).await?;
    let held = lock_of(&other, PATH).acquire().await?;
    assert!(lock.try_acquire().await?.is_none(), "it is held");
    held.release().await?;
    come_and_go(&lock, 1).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_watches_so_many_paths_and_no_more() -> Result<()> {
    let server = server();
    let client = client(&server).await;
    let locks: Vec<_> = (0..210).map(|number| lock_of(&client, &format!("/many/{number}"))).collect();
    let coming = async {
        loop {
            futures_util::future::try_join_all(locks.iter().map(|lock| come_and_go(lock, 8))).await?;
            let watched = server.watch_count();
            assert!(watched <= 199, "{watched} are watched");
            // Fewer if this takes so long that the first are not watched any more, or that who comes again does not come soon.
            if watched >= 150 {
                return Result::Ok(());
            }
        }
    };
    soon("so many are watched", coming).await?;
    eventually("who does not come again watches nothing", || server.watch_count() == 0).await;
    drop(locks);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_passed_on_in_memory_is_let_go_by_the_last() -> Result<()> {
    for ground in grounds() {
        let client = connect(&ground).await;
        let lock = client.lock(PATH, LockOptions::default().local_handoff(10))?;
        come_and_go(&lock, 10).await?;
        let held = lock.acquire().await?;
        let another = client.lock(PATH, LockOptions::default().local_handoff(10))?;
        let waiting = tokio::spawn(async move { another.acquire().await });
        tokio::task::yield_now().await;
        eventually("it was passed on", || {
            let _ = held.release_in_background();
            waiting.is_finished()
        })
        .await;
        let passed = waiting.await.expect("no panic")?;
        let third = lock_of(&client, PATH);
        assert!(third.try_acquire().await?.is_none(), "it is held by who got it in memory");
        passed.release().await?;
        come_and_go(&third, 1).await?;
    }
    Ok(())
}
