//! After a reconnection the server may lag behind what its predecessor has told: what decides is read after a `sync`.

use std::time::Duration;

use crate::support::ground::grounds;
use crate::support::{eventually, lock_of, soon};
use zkrecipes::{CreateMode, State};
use zkrecipes_embedded::{Fault, Outcome};

const PATH: &str = "/limits/caught";
const TEN: Duration = Duration::from_secs(10);

#[tokio::test(flavor = "multi_thread")]
async fn permits_are_counted_by_a_server_that_knows_what_the_last_holder_took() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        let semaphore = client.semaphore(PATH, 1).expect("valid");
        semaphore.acquire(1).await.expect("free").release().await.expect("released");
        ground.clear_log();
        semaphore.acquire(1).await.expect("free").release().await.expect("released");
        assert_eq!(ground.count("sync", PATH), 0, "one connection all the while tells everything in order");

        let fault = ground.inject(Fault::drop_before("*").path("**/leases"));
        let held = soon("a permit", semaphore.acquire(1)).await.expect("free");
        assert!(ground.fault_fired(fault));
        assert!(ground.count("sync", PATH) > 0, "the new server has to catch up first");
        held.release().await.expect("released");
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_holders_read_counts_only_behind_a_sync_that_was_carried_out() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        client.nodes().create("/record", b"", CreateMode::Persistent).await.expect("created");
        let held = lock_of(&client, PATH).acquire().await.expect("free");
        ground.break_connections();
        // The server has too much to do and answers at once; the connection stays.
        let fault = ground.inject(Fault::answer_throttled("sync").path("**/record").times(2));
        ground.clear_log();
        soon("the read", client.nodes().get("/record")).await.expect("there");
        assert!(ground.fault_fired(fault));
        let log = ground.log();
        let about = |op: &str| {
            let about = log.iter().rposition(|entry| entry.op == op && entry.path.ends_with("/record"));
            about.map(|at| (at, log[at].connection, log[at].outcome, log[at].error))
        };
        let (sync, read) = (about("sync").expect("asked"), about("getData").expect("asked"));
        assert_eq!((sync.2, sync.3), (Outcome::Answered, 0), "the last sync was carried out");
        assert!(sync.0 < read.0 && sync.1 == read.1, "ahead of the read that counts: {sync:?} {read:?}");
        held.release().await.expect("released");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_holder_asks_for_while_there_is_no_connection_comes_behind_a_sync() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        client.nodes().create("/record", b"", CreateMode::Persistent).await.expect("created");
        let held = lock_of(&client, PATH).acquire().await.expect("free");
        ground.go_away();
        eventually("it is out of touch", || client.state() == State::Suspended).await;
        ground.clear_log();
        let mut reads = Vec::new();
        for _ in 0..10 {
            let nodes = client.nodes();
            reads.push(tokio::spawn(async move { nodes.get("/record").await }));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
        ground.come_back();
        for read in reads {
            soon("the read", read).await.expect("joined").expect("there");
        }
        let log = ground.log();
        let first = |op: &str| log.iter().position(|entry| entry.op == op && entry.path.ends_with("/record"));
        assert!(first("sync").expect("asked") < first("getData").expect("asked"));
        held.release().await.expect("released");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_holder_reads_first_is_as_new_as_its_lock() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        client.nodes().create("/record", b"", CreateMode::Persistent).await.expect("created");
        let held = lock_of(&client, PATH).acquire().await.expect("free");
        ground.clear_log();
        client.nodes().get("/record").await.expect("there");
        assert_eq!(ground.count("sync", "/record"), 0);
        let fault = ground.inject(Fault::drop_before("*").path("**/else/where"));
        assert_eq!(client.nodes().exists("/else/where").await.expect("asked again"), None);
        assert!(ground.fault_fired(fault));
        assert!(ground.count("sync", "/else") > 0, "the new server has to catch up first");
        held.release().await.expect("released");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn whether_a_node_is_gone_is_said_by_a_server_that_knows() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        let held = lock_of(&client, PATH).acquire().await.expect("free");
        let sequencer = held.sequencer();
        held.release().await.expect("released");
        ground.clear_log();
        soon("it does not stand", client.watch_sequencer(&sequencer)).await.expect("told");
        let node = sequencer.rsplit('/').next().expect("a path");
        assert!(ground.client_wrote(node), "a server that lags would not know it yet");
        ground.assert_nothing_left(PATH).await;
    }
}
