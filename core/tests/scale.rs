//! Many waiters, many cycles: what a hand-off costs does not grow, and nothing piles up.

mod support;

use std::time::Duration;

use support::*;
use zkrecipes::{CreateMode, ErrorKind};

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
    // The delete, and whatever the next holder asked before it held.
    let critical: Vec<_> = server
        .log()
        .into_iter()
        .filter(|entry| entry.op == "delete" || entry.session_id == first.session_id())
        .filter(|entry| entry.op != "ping" && entry.op != "sync" && entry.op != "multi")
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

/// Cycles through acquire and release with timeouts and cancels in between, on four clients.
async fn churn(server: &zkrecipes_embedded::Server, cycles: usize) {
    let mut tasks = Vec::new();
    for seed in 1..=4_u64 {
        let lock = lock_of(&client(server).await, "/locks/churn");
        tasks.push(tokio::spawn(async move {
            let mut dice = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            for _ in 0..cycles / 4 {
                dice ^= dice << 13;
                dice ^= dice >> 7;
                dice ^= dice << 17;
                let limit = Duration::from_micros(dice % 3000);
                match dice % 4 {
                    0 => match lock.acquire_timeout(limit).await {
                        Ok(held) => held.leave(true).await.expect("left"),
                        Err(error) => assert_eq!(error.kind(), ErrorKind::Timeout),
                    },
                    1 => drop(tokio::time::timeout(limit, lock.acquire()).await),
                    2 => drop(lock.try_acquire().await.expect("asked")),
                    _ => lock.acquire().await.expect("the lock").release().await.expect("released"),
                }
            }
        }));
    }
    for task in tasks {
        task.await.expect("joined");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn many_cycles_with_timeouts_and_cancels_leave_nothing_and_flat_memory() {
    let server = zkrecipes_embedded::Server::builder().log_limit(100).start().expect("a free port");
    churn(&server, cycles() / 2).await;
    assert_nothing_left(&server, "/locks/churn").await;
    let before = resident_kib();
    churn(&server, cycles() / 2).await;
    assert_nothing_left(&server, "/locks/churn").await;
    let after = resident_kib();
    assert!(after < before + before / 4 + 4096, "{before} KiB before the second half, {after} KiB after it");
}
