//! A storm: never two who both say that they hold, nobody waits for ever, nothing stays.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::support::{eventually, server};
use futures_util::FutureExt;
use zkrecipes::{Client, ClientOptions, Held, LockOptions, RetryOptions};
use zkrecipes_embedded::{Fault, Server};

type TestResult = Result<(), Box<dyn std::error::Error>>;
const MS: Duration = Duration::from_millis(1);

struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

fn options(timeout: Duration) -> ClientOptions {
    let retry = RetryOptions::default().base(10 * MS).max(100 * MS);
    ClientOptions::default().session_timeout(timeout).connect_timeout(20_000 * MS).retry(retry)
}

/// What the server knows, for whoever looks into a failure.
fn tell(server: &Server, client: &Client, c: u64, t: u64) {
    use std::fmt::Write as _;
    let mut out = String::new();
    let _ = writeln!(out, "client {c} task {t}: session {:x}, {:?}", client.session_id(), client.state());
    let _ = writeln!(out, "{:#?}", server.nodes());
    for id in server.sessions() {
        let _ = writeln!(out, "session {id:x}");
    }
    let _ = writeln!(out, "{} watches, {} connections", server.watch_count(), server.connections());
    let log = server.log();
    for entry in log.iter().skip(log.len().saturating_sub(3000)) {
        if entry.op != "ping" {
            let _ = writeln!(
                out,
                "{:x} c{} {} {} e{} {:?} z{}",
                entry.session_id,
                entry.connection,
                entry.op,
                entry.path,
                entry.error,
                entry.outcome,
                entry.zxid
            );
        }
    }
    eprintln!("{out}");
}

async fn storm(seed: u64, lasts: Duration) -> TestResult {
    let server = server();
    let holders: Arc<Mutex<Vec<Arc<Held>>>> = Arc::default();
    let stop = Arc::new(std::sync::atomic::AtomicBool::new(false));
    let mut tasks = Vec::new();
    let mut clients = Vec::new();
    for c in 0..4u64 {
        let client = Client::connect(&server.connect_string(), options(1200 * MS)).await?;
        for t in 0..3u64 {
            let lock = client.lock("/locks/storm", LockOptions::default())?;
            let (holders, stop, server, me) = (holders.clone(), stop.clone(), server.clone(), client.clone());
            let mut dice = Dice(seed ^ (c * 31 + t + 1) << 20);
            tasks.push(tokio::spawn(async move {
                let mut turns = 0usize;
                while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                    let acquired = match dice.roll(6) {
                        0 => lock.acquire_timeout(dice.roll(300) as u32 * MS).await,
                        1 => {
                            let limit = dice.roll(200) as u32 * MS;
                            match tokio::time::timeout(limit, lock.acquire()).await {
                                Ok(acquired) => acquired,
                                Err(_) => continue,
                            }
                        }
                        2 => match lock.try_acquire().await {
                            Ok(Some(held)) => Ok(held),
                            Ok(None) => continue,
                            Err(error) => Err(error),
                        },
                        _ => match tokio::time::timeout(25_000 * MS, lock.acquire()).await {
                            Ok(acquired) => acquired,
                            Err(_) => {
                                tell(&server, &me, c, t);
                                panic!("no turn in 25 s (client {c}, task {t}, seed {seed})");
                            }
                        },
                    };
                    let Ok(held) = acquired else { continue };
                    let held = Arc::new(held);
                    {
                        let mut all = holders.lock().unwrap_or_else(|e| e.into_inner());
                        if held.is_held() {
                            for other in all.iter() {
                                let both = other.is_held() && held.is_held();
                                if both {
                                    tell(&server, &me, c, t);
                                }
                                assert!(!both, "two holders: {held:?} {other:?}");
                                assert!(other.fencing_token() < held.fencing_token(), "tokens must rise");
                            }
                        }
                        all.push(held.clone());
                        let most = all.len().saturating_sub(6);
                        all.drain(..most);
                    }
                    turns += 1;
                    tokio::time::sleep(dice.roll(20) as u32 * MS).await;
                    match dice.roll(3) {
                        0 => _ = held.release_in_background(),
                        1 => _ = tokio::time::timeout(5 * MS, held.release()).await,
                        _ => _ = held.release().await,
                    }
                }
                turns
            }));
        }
        clients.push(client);
    }
    let mut dice = Dice(seed | 1);
    let until = Instant::now() + lasts;
    while Instant::now() < until {
        match dice.roll(7) {
            0 => server.drop_connections(),
            // Not `expire`: a session that is killed before its time is beyond any lease.
            1 => {
                // One session is cut off until its time has come.
                let sessions = server.sessions();
                if !sessions.is_empty() {
                    let victim = sessions[dice.roll(sessions.len() as u64) as usize];
                    server.inject(Fault::black_hole_requests().session(victim));
                    tokio::time::sleep(dice.roll(1600) as u32 * MS).await;
                    server.drop_connections();
                    server.clear_faults();
                }
            }
            2 => {
                server.pause();
                tokio::time::sleep(dice.roll(1800) as u32 * MS).await;
                server.resume();
            }
            3 => _ = server.inject(Fault::drop_after("*").nth(1 + dice.roll(5))),
            4 => _ = server.inject(Fault::drop_before("*").nth(1 + dice.roll(5))),
            5 => _ = server.inject(Fault::delay_reply("*", dice.roll(300) as u32 * MS).nth(1 + dice.roll(5))),
            _ => {
                // What vanishes from the middle of a stream breaks it: TCP loses nothing and goes on.
                server.inject(Fault::black_hole_replies());
                tokio::time::sleep(dice.roll(1500) as u32 * MS).await;
                server.drop_connections();
                server.clear_faults();
            }
        }
        tokio::time::sleep(dice.roll(150) as u32 * MS).await;
    }
    server.clear_faults();
    stop.store(true, std::sync::atomic::Ordering::Relaxed);
    let mut turns = 0;
    for task in tasks {
        turns += tokio::time::timeout(Duration::from_secs(40), task).await.expect("everybody ends")?;
    }
    holders.lock().expect("whole").clear();
    let until = Instant::now() + Duration::from_secs(10);
    while server.nodes().iter().any(|path| path.contains("-lock-")) || server.watch_count() > 0 {
        assert!(
            Instant::now() < until,
            "left behind: {:?}, {} watches (seed {seed})",
            server.nodes(),
            server.watch_count()
        );
        tokio::time::sleep(20 * MS).await;
    }
    for client in &clients {
        client.close(Some(Duration::from_secs(5))).await?;
    }
    eprintln!("seed {seed}: {turns} turns");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn never_two_holders_and_nothing_left_in_a_storm() -> TestResult {
    let seed = std::env::var("SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(0x9e37_79b9_7f4a_7c15);
    storm(seed, Duration::from_secs(15)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn try_acquire_gets_a_free_lock_also_in_a_busy_task() -> TestResult {
    let server = server();
    let client = Client::connect(&server.connect_string(), options(10_000 * MS)).await?;
    let lock = client.lock("/locks/a", LockOptions::default())?;
    let got = tokio::spawn(async move {
        let semaphore = tokio::sync::Semaphore::new(1);
        while semaphore.acquire().now_or_never().is_some() {}
        lock.try_acquire().await
    })
    .await??;
    assert!(got.is_some(), "free, and not acquired");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_holder_beats_once_per_eighth_of_the_session_timeout() -> TestResult {
    let server = server();
    let timeout = 4000 * MS;
    let client = Client::connect(&server.connect_string(), options(timeout)).await?;
    let held = client.lock("/locks/a", LockOptions::default())?.acquire().await?;
    server.clear_log();
    // A busy machine makes some gaps longer, and what is late is made up for: not in the middle.
    let mut beats: Vec<Instant> = Vec::new();
    eventually("it beats", || {
        let more = server.count("multi", "/locks/**") - beats.len();
        beats.extend(std::iter::repeat_n(Instant::now(), more));
        beats.len() > 12
    })
    .await;
    assert!(held.is_held());
    let mut gaps: Vec<_> = beats.windows(2).map(|two| two[1] - two[0]).collect();
    let all: Duration = gaps.iter().sum();
    gaps.sort();
    let usual = gaps[gaps.len() / 2];
    // Where answers are late it may be one per twelfth.
    assert!(usual >= timeout / 13 && usual < timeout / 6, "one heartbeat each {usual:?}: {gaps:?}");
    assert!(all > timeout / 13 * gaps.len() as u32, "{} heartbeats in {all:?}", beats.len());
    Ok(())
}
