//! Many waiters, many cycles: what a hand-off costs does not grow, and nothing piles up.

use std::time::{Duration, Instant};

use crate::support::*;
use zkrecipes::drive::acquire;
use zkrecipes::{Client, CreateMode, ErrorKind, Handle, LockOptions};
use zkrecipes_embedded::LogEntry;

/// Requests and bytes between the release and the next holder's turn, with so many contenders in the queue.
async fn cost_of_a_hand_off(waiters: usize) -> (usize, usize) {
    let server = server();
    let path = "/locks/crowd";
    let (holder, first, second) = (client(&server).await, client(&server).await, client(&server).await);
    let held = lock_of(&holder, path).acquire().await.expect("free");
    let mut waits = Vec::new();
    for (number, client) in [&first, &second].into_iter().enumerate() {
        let lock = lock_of(client, path);
        waits.push(tokio::spawn(async move { lock.acquire().await }));
        eventually("it queues", || nodes_under(&server, path).len() == number + 2).await;
    }
    eventually("both watch", || server.count("getData", &format!("{path}/**")) == 5).await;
    // The rest of the crowd: contenders of another client, behind ours.
    let crowd = client(&server).await.nodes();
    let mut creates = Vec::new();
    for _ in 2..waiters {
        let crowd = crowd.clone();
        let guid = uuid::Uuid::new_v4();
        creates.push(tokio::spawn(async move {
            let name = format!("/locks/crowd/_c_{guid}-lock-");
            crowd.create(&name, b"crowd", CreateMode::EphemeralSequential).await.map(drop)
        }));
    }
    for create in creates {
        soon("the crowd", create).await.expect("joined").expect("created");
    }
    server.clear_log();
    held.release().await.expect("released");
    let next = soon("the turn", waits.remove(0)).await.expect("joined").expect("the lock");
    // What its heart asks of: the root while it waits, its own node when it holds.
    let is_of_heart = |entry: &LogEntry| match entry.op {
        "ping" | "sync" | "multi" => true,
        "exists" => entry.path == "/" || entry.path == next.node(),
        _ => false,
    };
    // The delete, and whatever the next holder asked before it held.
    let critical: Vec<_> = server
        .log()
        .into_iter()
        .filter(|entry| entry.op == "delete" || entry.session_id == first.session_id())
        .filter(|entry| !is_of_heart(entry))
        .collect();
    let bytes = critical.iter().map(|entry| entry.bytes_in + entry.bytes_out).sum();
    waits.iter().for_each(tokio::task::JoinHandle::abort);
    next.release().await.expect("released");
    (critical.len(), bytes)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hand_off_costs_the_same_with_2_100_1000_and_5000_waiters() {
    let few = cost_of_a_hand_off(2).await;
    assert_eq!(few.0, 1, "the delete alone");
    for waiters in [100, 1000, 5000] {
        let many = cost_of_a_hand_off(waiters).await;
        assert_eq!(many.0, few.0, "requests with {waiters} waiters");
        let (less, more) = (few.1.min(many.1) as f64, few.1.max(many.1) as f64);
        assert!(more <= less * 1.1, "{} bytes with {waiters} waiters, {} with two", many.1, few.1);
    }
}

/// How many cycles: `ZKR_CYCLES`, or as many as fit into a test run.
fn cycles() -> usize {
    std::env::var("ZKR_CYCLES").ok().and_then(|cycles| cycles.parse().ok()).unwrap_or(4_000)
}

fn resident_kib() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or("0");
    line.trim().trim_end_matches(" kB").parse().unwrap_or(0)
}

/// Tasks of the library that have not ended: requests, watches, deletions in the background.
async fn alive_tasks() -> usize {
    let count = async { Ok(tokio::runtime::Handle::current().metrics().num_alive_tasks()) };
    let counted = tokio::task::spawn_blocking(|| zkrecipes::drive::wait(count, None, None));
    counted.await.expect("joined").expect("counted")
}

/// One of each kind: lock, read, write, semaphore, multi-lock, local hand-off.
fn one_of_each(client: &Client) -> Vec<Handle> {
    let of = |name: &str| lock_of(client, &format!("/locks/churn/{name}"));
    let sides = client.read_write_lock("/locks/churn/sides").expect("valid");
    let options = LockOptions::default().local_handoff(3);
    vec![
        Handle::clone(&of("plain")),
        Handle::clone(sides.read()),
        // A handle of its own: a reader that takes write is refused.
        Handle::clone(client.read_write_lock("/locks/churn/sides").expect("valid").write()),
        Handle::clone(&client.semaphore("/locks/churn/permits", 3).expect("valid")),
        Handle::clone(&client.multi_lock(&[of("b"), of("a")]).expect("valid")),
        Handle::clone(&client.lock("/locks/churn/relay", options).expect("valid")),
    ]
}

/// Cycles through acquiring and releasing, whatever it is, with timeouts, dropped futures and cancels in between; how
/// many of them acquired.
async fn churn(clients: &[Client], cycles: usize, seed: u64) -> usize {
    let mut tasks = Vec::new();
    // Two tasks of each client, so that there is somebody to hand on to.
    for (number, client) in clients.iter().chain(clients).enumerate() {
        let handles = one_of_each(client);
        let mut dice = (seed + number as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let cycles = cycles / clients.len() / 2;
        tasks.push(tokio::spawn(async move {
            let mut acquired = 0;
            for _ in 0..cycles {
                dice ^= dice << 13;
                dice ^= dice >> 7;
                dice ^= dice << 17;
                let (way, kind, n) = (dice % 6, dice / 6 % 6, 1 + dice as usize / 36 % 3);
                let handle = &handles[kind as usize];
                let limit = Duration::from_micros(dice / 108 % 4000);
                let outcome = match way {
                    0 => acquire(handle, n, Some(limit)).await,
                    1 => match tokio::time::timeout(limit, acquire(handle, n, None)).await {
                        Ok(outcome) => outcome,
                        Err(_) => continue,
                    },
                    2 => acquire(handle, n, Some(Duration::ZERO)).await,
                    3 => {
                        let mut acquiring = Box::pin(acquire(handle, n, None));
                        match tokio::time::timeout(limit, &mut acquiring).await {
                            Ok(outcome) => outcome,
                            Err(_) => {
                                handle.cancel();
                                acquiring.await
                            }
                        }
                    }
                    _ => acquire(handle, n, None).await,
                };
                let held = match (outcome, way) {
                    (Ok(granted), _) => granted.hand_over(),
                    (Err(error), 0 | 2) if error.kind() == ErrorKind::Timeout => continue,
                    (Err(error), 3) if error.kind() == ErrorKind::Cancelled => continue,
                    (Err(error), _) => panic!("{error}"),
                };
                acquired += 1;
                match dice / 7 % 4 {
                    0 => held.leave(true).await.expect("left"),
                    1 => drop(held),
                    2 => held.release_in_background().expect("released"),
                    _ => held.release().await.expect("released"),
                }
            }
            acquired
        }));
    }
    let mut acquired = 0;
    for task in tasks {
        acquired += task.await.expect("joined");
    }
    acquired
}

/// No contender, no lease, no watch, and no task of ours that is still at something.
async fn assert_idle(server: &zkrecipes_embedded::Server, tasks: usize) {
    let is_contender = |node: &String| ["-lock-", "-lease-", "__"].iter().any(|mark| node.contains(mark));
    eventually("no contender is left", || !server.nodes().iter().any(is_contender)).await;
    eventually("no watch is left", || server.watch_count() == 0).await;
    let until = Instant::now() + SOON;
    while alive_tasks().await > tasks {
        assert!(Instant::now() < until, "{} tasks, {tasks} when nothing had been done", alive_tasks().await);
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_cycles_with_timeouts_and_cancels_leave_nothing_and_flat_memory() {
    if is_run_elsewhere("scale::many_cycles_with_timeouts_and_cancels_leave_nothing_and_flat_memory", |_| {})
    {
        return;
    }
    let server = zkrecipes_embedded::Server::builder().log_limit(100).start().expect("a free port");
    let mut clients = Vec::new();
    for _ in 0..4 {
        clients.push(client(&server).await);
    }
    for handle in one_of_each(&clients[0]) {
        handle.acquire().await.expect("free").release().await.expect("released");
    }
    eventually("no watch is left", || server.watch_count() == 0).await;
    let idle = alive_tasks().await;
    let began = Instant::now();
    let mut acquired = churn(&clients, cycles() / 2, 1).await;
    assert_idle(&server, idle).await;
    let before = resident_kib();
    acquired += churn(&clients, cycles() / 2, 1 << 32).await;
    assert_idle(&server, idle).await;
    let (after, cycles, took) = (resident_kib(), cycles(), began.elapsed());
    eprintln!(
        "{cycles} cycles, {acquired} acquired, {took:?}: {before} KiB half-way, {after} KiB at the end; {idle} tasks"
    );
    assert!(acquired > cycles / 3, "only {acquired} of {cycles} cycles acquired anything");
    assert!(after < before + before / 4 + 4096, "{before} KiB before the second half, {after} KiB after it");
    // Nothing is pending that closing would have to wait for.
    for client in &clients {
        client.close(Some(SOON)).await.expect("closed");
    }
    assert_eq!((server.sessions().len(), server.watch_count()), (0, 0));
}
