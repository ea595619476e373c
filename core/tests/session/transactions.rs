//! Transactions tell what became of each part, guarded or not; and nodes that live for a time.

use std::time::Duration;

use crate::support::ground::grounds;
use crate::support::{client, lock_of, server, soon};
use zkrecipes::{CreateMode, ErrorKind, PartResult, Result, Transaction};
use zkrecipes_embedded::Server;

const TEN: Duration = Duration::from_secs(10);
const HOUR: Duration = Duration::from_secs(3600);

fn fill(writes: &Transaction) -> Result<()> {
    writes.create("/order-", b"tea", CreateMode::PersistentSequential)?;
    writes.create("/tmp", b"", CreateMode::Persistent)?;
    writes.set("/tmp", b"two", Some(0))?;
    writes.check("/tmp", Some(1))?;
    writes.delete("/tmp", None)
}

fn assert_told(results: &[PartResult], number: u32) {
    let [PartResult::Created(order), PartResult::Created(tmp), PartResult::Set(stat), rest @ ..] = results
    else {
        panic!("{results:?}")
    };
    assert_eq!((order, tmp.as_str()), (&format!("/order-{number:010}"), "/tmp"));
    assert_eq!((stat.version, stat.data_length), (1, 3));
    assert_eq!(rest, [PartResult::Checked, PartResult::Deleted]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_answers_each_part_and_nothing_of_its_guard() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        client.nodes().ensure("/").await.expect("there");
        let plain = client.nodes().transaction();
        fill(&plain).expect("valid");
        assert_told(&plain.commit().await.expect("applied"), 0);

        let held = lock_of(&client, "/locks/guard").acquire().await.expect("free");
        let guarded = held.guarded();
        fill(&guarded).expect("valid");
        // Two other nodes of the root were made meanwhile: the one above, and the parent of the locks.
        assert_told(&guarded.commit().await.expect("applied"), 3);
        let empty = held.guarded();
        assert_eq!(empty.commit().await.expect("nothing to do"), []);
        held.release().await.expect("released");
        let blocking = tokio::task::spawn_blocking(move || {
            let server = crate::support::server();
            let options = zkrecipes::ClientOptions::default();
            let client = zkrecipes::blocking::Client::connect(&server.connect_string(), options)?;
            let one = client.nodes().transaction();
            one.create("/one", b"", CreateMode::Persistent)?;
            one.commit()
        });
        let told = soon("a commit", blocking).await.expect("no panic").expect("applied");
        assert_eq!(told, [PartResult::Created("/one".to_owned())]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_lives_for_a_time_is_removed_by_a_server_that_knows_how() {
    let server = Server::builder().extended_types(true).start().expect("a free port");
    let client = client(&server).await;
    let nodes = client.nodes();
    nodes.create("/short", b"", CreateMode::PersistentTtl(Duration::from_millis(1))).await.expect("created");
    let many = CreateMode::PersistentSequentialTtl(HOUR);
    assert_eq!(nodes.create("/long-", b"", many).await.expect("created"), "/long-0000000001");
    soon("the server removes it", async {
        while nodes.exists("/short").await.expect("asked").is_some() {
            server.advance_clock(Duration::from_secs(60));
        }
    })
    .await;
    assert!(nodes.exists("/long-0000000001").await.expect("asked").is_some());
}

/// A real server looks once a minute, or as often as `znode.container.checkIntervalMs` says.
#[tokio::test(flavor = "multi_thread")]
async fn a_real_server_takes_a_time_to_live_too() {
    for ground in grounds().into_iter().skip(1) {
        let client = ground.client(TEN).await;
        let nodes = client.nodes();
        nodes.ensure("/ttl").await.expect("there");
        let moment = Duration::from_millis(1);
        let many = CreateMode::PersistentSequential.with_ttl(moment).expect("valid");
        nodes.create("/ttl/short", b"1", CreateMode::PersistentTtl(moment)).await.expect("created");
        let both = nodes.transaction();
        both.create("/ttl/many-", b"2", many).expect("valid");
        both.create("/ttl/stays", b"3", CreateMode::PersistentTtl(HOUR)).expect("valid");
        let [PartResult::Created(second), _] = &both.commit().await.expect("applied")[..] else {
            panic!("not two parts")
        };
        assert_eq!(second, "/ttl/many-0000000001");
        let removed = async {
            while nodes.children("/ttl").await.expect("listed") != ["stays"] {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(90), removed).await.expect("removed within a minute");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_is_persistent_has_a_time_to_live() {
    use CreateMode::*;
    assert_eq!(Persistent.with_ttl(HOUR), Ok(PersistentTtl(HOUR)));
    assert_eq!(PersistentTtl(TEN).with_ttl(HOUR), Ok(PersistentTtl(HOUR)));
    assert_eq!(PersistentSequential.with_ttl(HOUR), Ok(PersistentSequentialTtl(HOUR)));
    assert_eq!(PersistentSequentialTtl(TEN).with_ttl(HOUR), Ok(PersistentSequentialTtl(HOUR)));
    for mode in [Ephemeral, EphemeralSequential, Container] {
        let error = mode.with_ttl(HOUR).expect_err("it goes by itself");
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("ttl"), "{error}");
    }
    for ttl in [Duration::ZERO, Duration::from_micros(999), Duration::from_millis(1 << 40), Duration::MAX] {
        assert_eq!(Persistent.with_ttl(ttl).expect_err("out of range").kind(), ErrorKind::Invalid);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_time_to_live_that_nobody_takes_is_refused_and_says_what_to_do() {
    let server = server();
    let client = client(&server).await;
    let mode = CreateMode::PersistentTtl(HOUR);
    let both = client.nodes().transaction();
    both.create("/a", b"", mode).expect("valid");
    for error in [
        client.nodes().create("/a", b"", mode).await.map(drop).expect_err("switched off"),
        both.commit().await.map(drop).expect_err("switched off"),
    ] {
        assert_eq!((error.kind(), error.path()), (ErrorKind::Invalid, Some("/a")));
        assert!(error.to_string().contains("extendedTypesEnabled"), "{error}");
    }
    for ttl in [Duration::ZERO, Duration::from_millis(1 << 40)] {
        let mode = CreateMode::PersistentTtl(ttl);
        let error = client.nodes().create("/a", b"", mode).await.expect_err("out of range");
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("ttl"), "{error}");
        assert!(client.nodes().transaction().create("/a", b"", mode).is_err());
    }
}
