//! What a reconnection costs: who waits with its watches set again asks for nothing, however many wait.

use std::time::Duration;

use crate::support::ground::{Ground, grounds};
use crate::support::{SOON, eventually, nodes_under, options, soon};
use zkrecipes::{Client, Held, Lock};
use zkrecipes_embedded::Fault;

const PATH: &str = "/locks/again";
const WAITERS: usize = 1000;
const RECONNECTIONS: usize = 4;
const LONG: Duration = Duration::from_secs(40);

/// Those who wait, and the turns that they get, whoever comes first.
struct Crowd {
    waits: tokio::task::JoinSet<()>,
    turns: tokio::sync::mpsc::UnboundedReceiver<Held>,
}

impl Crowd {
    fn of(locks: impl Iterator<Item = Lock>) -> Crowd {
        let (sender, turns) = tokio::sync::mpsc::unbounded_channel();
        let mut waits = tokio::task::JoinSet::new();
        for lock in locks {
            let (sender, acquiring) = (sender.clone(), lock.acquire());
            waits.spawn(async move { _ = sender.send(acquiring.await.expect("the lock")) });
        }
        Crowd { waits, turns }
    }

    async fn turn(&mut self) -> Held {
        soon("the turn", self.turns.recv()).await.expect("somebody's")
    }
}

/// Writers of one client watch whom they wait for; its contenders for a plain lock would wait in memory.
fn writer(client: &Client, path: &str) -> Lock {
    client.read_write_lock(path).expect("valid").write().clone()
}

/// So many who wait on one path through one client, all of whom watch whom they wait for.
async fn crowd(ground: &Ground, client: &Client, waiters: usize) -> Crowd {
    let before = ground.nodes_under(PATH).len();
    let crowd = Crowd::of((0..waiters).map(|_| writer(client, PATH)));
    eventually("all queue", || ground.nodes_under(PATH).len() == before + waiters).await;
    // Every node of the queue has who watches it: whoever waits by it, or behind it.
    let all = before + waiters;
    eventually("all watch", || ground.watch_count() >= all).await;
    // The second closest may be looked for off the path: quiet is when nobody asks any more.
    let mut asked = 0;
    while ground.log().len() != asked {
        asked = ground.log().len();
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
    crowd
}

/// What the client has asked for since the log was cleared, and how many bytes went to and fro for it: without pings, and
/// without what keeps the session or sets the watches again.
fn asked(ground: &Ground, client: &Client) -> (Vec<String>, usize) {
    let upkeep = ["ping", "connect", "setWatches", "multi", "sync"];
    let session = client.session_id();
    let log = ground.log().into_iter().filter(|entry| entry.session_id == session);
    let requests: Vec<_> = log.filter(|entry| !upkeep.contains(&entry.op)).collect();
    let bytes = requests.iter().map(|entry| entry.bytes_in + entry.bytes_out).sum();
    (requests.iter().map(|entry| entry.op.to_string()).collect(), bytes)
}

/// Breaks the client's connection and waits until it serves again.
async fn reconnect(ground: &Ground, client: &Client) {
    let connections = || ground.requests_of(client, "setWatches").len();
    let before = connections();
    ground.break_connections();
    eventually("it has set its watches again", || connections() > before).await;
    soon("an answer", client.nodes().exists("/")).await.expect("asked");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_waiters_ask_for_nothing_when_their_client_reconnects() {
    for ground in grounds() {
        let (a, b) = (ground.client(LONG).await, ground.client(LONG).await);
        let held = writer(&a, PATH).acquire().await.expect("free");
        let mut crowd = crowd(&ground, &b, WAITERS).await;
        ground.clear_log();
        for _ in 0..RECONNECTIONS {
            reconnect(&ground, &b).await;
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
        let (requests, bytes) = asked(&ground, &b);
        let lists = requests.iter().filter(|op| op.starts_with("getChildren")).count();
        let own = RECONNECTIONS;
        eprintln!(
            "{RECONNECTIONS} reconnections of {WAITERS} waiters: {lists} lists, {} requests, {bytes} bytes",
            requests.len()
        );
        assert_eq!(lists, 0, "lists after {RECONNECTIONS} reconnections");
        assert!(requests.len() <= own + 4, "{} requests, {own} of them the test's", requests.len());
        // They wait all the same, in order: the turn goes from one to the next.
        held.release().await.expect("released");
        for _ in 0..3 {
            crowd.turn().await.release().await.expect("released");
        }
        crowd.waits.abort_all();
        for client in [&a, &b] {
            client.close(Some(SOON)).await.expect("closed");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_happened_while_nobody_was_connected_wakes_only_whom_it_concerns() {
    for ground in grounds() {
        let (a, b) = (ground.client(LONG).await, ground.client(LONG).await);
        let held = writer(&a, PATH).acquire().await.expect("free");
        let mut crowd = crowd(&ground, &b, 50).await;
        ground.clear_log();
        // The release is carried out, and the connections break before anybody hears of it.
        ground.inject(Fault::black_hole_replies().session(b.session_id()));
        held.release().await.expect("released");
        assert!(ground.nodes_under(PATH).len() == 50);
        ground.break_connections();
        ground.clear_faults();
        let first = crowd.turn().await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        let (requests, _) = asked(&ground, &b);
        let lists = requests.iter().filter(|op| op.starts_with("getChildren")).count();
        // Whose predecessor is gone looks, because the news came by another connection; and the one behind it, which
        // is next in line now.
        assert!((1..=2).contains(&lists), "{lists} lists: {requests:?}");
        first.release().await.expect("released");
        for _ in 1..50 {
            crowd.turn().await.release().await.expect("released");
        }
        ground.assert_nothing_left(PATH).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_who_look_at_once_share_a_list() {
    let server = crate::support::server();
    let ground = Ground::Embedded(server.clone());
    let (a, b) = (ground.client(LONG).await, ground.client(LONG).await);
    let held = a.read_write_lock(PATH).expect("valid").write().acquire().await.expect("free");
    let mut readers = Crowd::of((0..200).map(|_| b.read_write_lock(PATH).expect("valid").read().clone()));
    eventually("all queue", || nodes_under(&server, PATH).len() == 201).await;
    eventually("all watch", || server.count("getData", &format!("{PATH}/**")) >= 400).await;
    server.clear_log();
    held.release().await.expect("released");
    let mut reading = Vec::new();
    for _ in 0..200 {
        reading.push(readers.turn().await);
    }
    let (requests, bytes) = asked(&ground, &b);
    let lists = requests.iter().filter(|op| op.starts_with("getChildren")).count();
    eprintln!("200 readers behind one writer: {lists} lists, {bytes} bytes");
    assert!(lists <= 100, "{lists} lists for 200 readers who look at once");
    for held in reading {
        held.release().await.expect("released");
    }
    ground.assert_nothing_left(PATH).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_who_queue_again_in_a_new_session_share_their_lists() {
    let server = crate::support::server();
    let ground = Ground::Embedded(server.clone());
    let (a, b) = (ground.client(LONG).await, ground.client(LONG).await);
    let held = writer(&a, PATH).acquire().await.expect("free");
    let mut crowd = crowd(&ground, &b, 200).await;
    server.clear_log();
    let first = b.session_id();
    server.expire(first);
    eventually("all queue again", || b.session_id() != first && ground.nodes_under(PATH).len() == 201).await;
    eventually("all watch", || server.watch_count() >= 201).await;
    let lists = ground.lists_of(&b).len();
    assert!(lists <= 100, "{lists} lists for 200 who queue again");
    crowd.waits.abort_all();
    held.release().await.expect("released");
    ground.assert_nothing_left(PATH).await;
}

/// All that is watched is set again after a reconnection, in as many requests as it takes. Long names make some hundred
/// waiters as heavy as some thousand.
#[tokio::test(flavor = "multi_thread")]
async fn watches_that_no_single_request_holds_are_set_again() {
    for ground in grounds() {
        let path = format!("{PATH}/{}", "long".repeat(250));
        let waiters = 600;
        let (a, b) = (ground.client(LONG).await, ground.client_with(options(Duration::from_secs(4))).await);
        let held = writer(&a, &path).acquire().await.expect("free");
        let mut crowd = Crowd::of((0..waiters).map(|_| writer(&b, &path)));
        eventually("all queue", || ground.nodes_under(PATH).len() == 1 + waiters).await;
        eventually("all watch", || ground.watch_count() > waiters).await;
        ground.clear_log();
        for _ in 0..3 {
            reconnect(&ground, &b).await;
        }
        let requests = ground.requests_of(&b, "setWatches").len();
        assert!(requests >= 6, "{requests} requests for three times what takes two");
        held.release().await.expect("released");
        for _ in 0..waiters {
            crowd.turn().await.release().await.expect("released");
        }
        drop(crowd);
        ground.assert_nothing_left(PATH).await;
    }
}
