//! Every request is measured before it leaves: one that no server takes is refused, and nobody else on the client is hurt.

use std::time::Duration;

use crate::support::{client_with, eventually, lock_of, options, server, soon};
use zkrecipes::{AclChoice, AclEntry, Auth, Client, CreateMode, ErrorKind, Naming, Result, Transaction};
use zkrecipes_embedded::Server;

const LIMIT: usize = 1_048_575;
/// A machine that is busy takes its time with a megabyte.
const LONG: Duration = Duration::from_secs(60);

/// How large the last frame of this kind was that reached the server.
fn last(server: &Server, op: &str) -> usize {
    let log = server.log();
    // Before the frame stands its length.
    log.iter().rfind(|entry| entry.op == op).map(|entry| entry.bytes_in).expect("it got there") - 4
}

fn connections(server: &Server) -> usize {
    server.log().iter().filter(|entry| entry.op == "connect").count()
}

fn assert_refused<T>(what: &str, outcome: Result<T>) {
    let error = outcome.map(drop).expect_err(what);
    assert_eq!(error.kind(), ErrorKind::TooLarge, "{what}: {error}");
    assert!(error.to_string().contains("1048575"), "{what}: {error}");
}

/// Clients whose requests differ in length: by a chroot, and by what nodes are created with.
async fn clients(server: &Server) -> Vec<Client> {
    let list = AclChoice::List(vec![
        AclEntry::new("auth", "", "rwcda"),
        AclEntry::new("world", "anyone", "rwcda"),
        AclEntry::new("ip", "127.0.0.1", "rwcda"),
    ]);
    let mut clients = Vec::new();
    for (chroot, acl) in [("", AclChoice::Open), ("/tenant/of/many", AclChoice::Creator), ("/t", list)] {
        let hosts = format!("{}{chroot}", server.connect_string());
        let options = options(LONG).acl(acl).auth(Auth::new("digest", "me:secret"));
        clients.push(Client::connect(&hosts, options).await.expect("the server answers"));
    }
    clients
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frame_of_exactly_the_limit_passes_and_one_byte_more_is_refused() {
    let server = server();
    for client in clients(&server).await {
        let nodes = client.nodes();
        nodes.ensure("/x").await.expect("created");
        let held = lock_of(&client, "/locks/x").acquire().await.expect("free");
        server.clear_log();
        let data = |room: usize| vec![1; room];

        nodes.set("/x", b"", None).await.expect("set");
        let room = LIMIT - last(&server, "setData");
        nodes.set("/x", &data(room), None).await.expect("it fits");
        assert_eq!(last(&server, "setData"), LIMIT);
        assert_refused("set", nodes.set("/x", &data(room + 1), None).await);

        nodes.create("/y1", b"", CreateMode::EphemeralSequential).await.expect("created");
        let room = LIMIT - last(&server, "create2");
        nodes.create("/y2", &data(room), CreateMode::EphemeralSequential).await.expect("it fits");
        assert_eq!(last(&server, "create2"), LIMIT);
        assert_refused("create", nodes.create("/y3", &data(room + 1), CreateMode::Ephemeral).await);

        for kind in ["plain", "guarded"] {
            let make = |room: usize| -> Result<Transaction> {
                let all = if kind == "plain" { nodes.transaction() } else { held.guarded() };
                all.create("/b", b"b", CreateMode::EphemeralSequential)?;
                all.create("/c", b"", CreateMode::Container)?;
                all.check("/x", None)?;
                all.delete("/c", Some(0))?;
                all.set("/x", &data(room), None).map(|()| all)
            };
            make(0).expect("small").commit().await.expect("applied");
            let room = LIMIT - last(&server, "multi");
            make(room).expect("it fits").commit().await.expect("applied");
            assert_eq!(last(&server, "multi"), LIMIT);
            assert_refused(kind, make(room + 1));
        }

        assert_eq!(connections(&server), 0, "one connection all the while");
        held.release().await.expect("released");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_path_of_exactly_the_limit_passes_and_one_byte_more_is_refused() {
    let server = server();
    let client = client_with(&server, LONG).await;
    let nodes = client.nodes();
    server.clear_log();
    nodes.exists("/z").await.expect("asked");
    let room = LIMIT - last(&server, "exists");
    let long = |room: usize| format!("/{}z", "l".repeat(room));
    assert_eq!(nodes.exists(&long(room)).await.expect("it fits"), None);
    assert_eq!(last(&server, "exists"), LIMIT);
    assert_refused("exists", nodes.exists(&long(room + 1)).await);
    assert_refused("get", nodes.get(&long(room + 1)).await);
    assert_refused("children", nodes.children(&long(room + 1)).await);
    assert_refused("delete", nodes.delete(&long(room + 1), None).await);
    assert_refused("a lock", soon("a lock", lock_of(&client, &long(room - 70)).acquire()).await);

    assert_eq!(connections(&server), 0, "one connection all the while");
}

#[tokio::test(flavor = "multi_thread")]
async fn permits_that_do_not_fit_into_one_transaction_are_refused_before_anybody_queues() {
    let server = server();
    for naming in [Naming::Curator, Naming::Kazoo] {
        let options = options(LONG).identity("i".repeat(1024)).naming(naming);
        let client = Client::connect(&server.connect_string(), options).await.expect("the server answers");
        let path = format!("/limits/{naming:?}");
        let semaphore = client.semaphore(&path, 1000).expect("valid");
        server.clear_log();
        let refused = soon("acquire", semaphore.acquire(1000)).await.expect_err("too many");
        assert!(server.nodes().iter().all(|node| !node.contains(&path)), "nothing was made");
        let text = refused.to_string();
        assert!(text.contains("identity"), "{text}");
        let most = text
            .split("at most ")
            .filter_map(|rest| rest.split(' ').next()?.parse().ok())
            .find(|n| *n < 1000);
        let most = most.expect("it says how many");
        assert_refused("acquire", soon("acquire", semaphore.acquire(most + 1)).await);
        assert_refused("try", soon("try", semaphore.try_acquire(1000)).await);
        let held = soon("as many as it says", semaphore.acquire(most)).await.expect("they fit");
        assert!(last(&server, "multi") > LIMIT - 1500);
        held.verify().await.expect("held");
        assert_eq!(connections(&server), 0, "one connection all the while");
        held.release().await.expect("released");
        crate::support::assert_nothing_left(&server, &format!("{path}/leases")).await;
    }
}

/// A path of so many kilobytes.
fn long(at: usize, kilobytes: usize) -> String {
    format!("/{at}{}", "x".repeat(kilobytes << 10))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_heartbeat_that_cannot_look_at_all_nodes_looks_at_some_each_time() {
    let server = server();
    let (a, b) = (client_with(&server, Duration::from_secs(8)).await, client_with(&server, LONG).await);
    let mut all = Vec::new();
    for at in 0..8 {
        all.push(lock_of(&a, &long(at, 30)).acquire().await.expect("free"));
    }
    server.clear_log();
    for at in [0, 5, 7] {
        b.nodes().delete(all[at].node(), None).await.expect("deleted");
    }
    // Nobody listens: only the heartbeats tell.
    eventually("the three are known", || all.iter().filter(|held| !held.is_held()).count() == 3).await;
    for (at, held) in all.iter().enumerate() {
        assert_eq!(held.is_held(), ![0, 5, 7].contains(&at), "{at}");
    }
    let beats = server.log().into_iter().filter(|entry| entry.op == "multi");
    let most = beats.map(|entry| entry.bytes_in).max().expect("it beats");
    assert!(most < 129 << 10, "a heartbeat of {most} bytes");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_held_together_is_asked_for_in_as_many_transactions_as_it_takes() {
    let server = server();
    let client = client_with(&server, LONG).await;
    // Four checks do not fit into one frame.
    let locks: Vec<_> = (0..4).map(|at| lock_of(&client, &long(at, 270))).collect();
    let several = client.multi_lock(&locks).expect("valid");
    server.clear_log();
    let held = soon("all of them", several.acquire()).await.expect("free");
    held.verify().await.expect("held");
    // What must be one transaction or none is refused.
    assert_refused("a guarded write", held.guarded().set("/x", b"", None));
    assert_eq!(connections(&server), 0, "one connection all the while");
    let last = client.nodes().children(&long(3, 270)).await.expect("listed").remove(0);
    client.nodes().delete(&format!("{}/{last}", long(3, 270)), None).await.expect("deleted");
    assert_eq!(held.verify().await.expect_err("one is gone").kind(), ErrorKind::NotHeld);
}
