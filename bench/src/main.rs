//! Times of the lock beside the raw floor and kazoo, on one server in one run.
//!
//!     zkrecipes-bench HOSTS [PYTHON]
//!
//! Absolute times say more about the machine than about the recipes, so every line carries its ratio to the floor: what
//! the bare requests cost on this server, one after the other. PYTHON is an interpreter that has kazoo.

use std::process::Command;
use std::time::{Duration, Instant};

use zkrecipes::{Client, CreateMode, LockOptions, Result};

const WARM_UP: usize = 50;
const ROUNDS: usize = 500;

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let hosts = arguments.next().unwrap_or_default();
    let client = Client::connect(&hosts, Default::default()).await?;
    let other = Client::connect(&hosts, Default::default()).await?;
    client.nodes().ensure("/bench/floor").await?;

    let floor = time(async || {
        let node =
            client.nodes().create("/bench/floor/n-", b"bench", CreateMode::EphemeralSequential).await?;
        client.nodes().delete(&node, None).await
    })
    .await?;
    println!("{:<44} {:>9}  {:>6}", "", "median", "ratio");
    line("floor: create, delete", floor, floor);

    let lock = client.lock("/bench/lock", LockOptions::default())?;
    line("lock, release", time(async || lock.acquire().await?.release().await).await?, floor);
    line(
        "lock, release in the background",
        time(async || lock.acquire().await?.release_in_background()).await?,
        floor,
    );
    line("hand-off to another client", hand_off(&client, &other).await?, floor);
    let rw = client.read_write_lock("/bench/rw")?;
    line("read lock, release", time(async || rw.read().acquire().await?.release().await).await?, floor);
    let semaphore = client.semaphore("/bench/semaphore", 3)?;
    line(
        "semaphore permit, release",
        time(async || semaphore.acquire(1).await?.release().await).await?,
        floor,
    );

    if let Some(python) = arguments.next() {
        let script = concat!(env!("CARGO_MANIFEST_DIR"), "/kazoo_lock.py");
        match Command::new(python).args([script, &hosts, &ROUNDS.to_string()]).output() {
            Ok(run) if run.status.success() => {
                let seconds: f64 = String::from_utf8_lossy(&run.stdout).trim().parse().unwrap_or_default();
                line("kazoo: lock, release", Duration::from_secs_f64(seconds), floor);
            }
            Ok(run) => {
                println!("kazoo: {}", String::from_utf8_lossy(&run.stderr).lines().last().unwrap_or("failed"))
            }
            Err(error) => println!("kazoo: {error}"),
        }
    }
    client.nodes().delete_all("/bench").await?;
    other.close(None).await?;
    client.close(None).await
}

/// The median of many rounds.
async fn time(mut round: impl AsyncFnMut() -> Result<()>) -> Result<Duration> {
    let mut times = Vec::with_capacity(ROUNDS);
    for number in 0..WARM_UP + ROUNDS {
        let begun = Instant::now();
        round().await?;
        if number >= WARM_UP {
            times.push(begun.elapsed());
        }
    }
    Ok(median(times))
}

/// From the call of release to the other's turn.
async fn hand_off(client: &Client, other: &Client) -> Result<Duration> {
    let (mine, theirs) =
        (client.lock("/bench/turn", Default::default())?, other.lock("/bench/turn", Default::default())?);
    let mut times = Vec::with_capacity(ROUNDS);
    let mut held = mine.acquire().await?;
    for number in 0..ROUNDS {
        let next = if number % 2 == 0 { theirs.clone() } else { mine.clone() };
        let waiter = tokio::spawn(async move { next.acquire().await.map(|held| (held, Instant::now())) });
        // Time is the subject: the waiter is to be waiting when the lock is released.
        while mine.contenders().await?.len() < 2 {}
        tokio::time::sleep(Duration::from_millis(2)).await;
        let begun = Instant::now();
        held.release_in_background()?;
        let (next, owned) = waiter.await.expect("the waiter does not panic")?;
        times.push(owned - begun);
        held = next;
    }
    held.release().await?;
    Ok(median(times))
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn line(what: &str, took: Duration, floor: Duration) {
    println!(
        "{what:<44} {:>6.0} µs  {:>5.2}x",
        took.as_secs_f64() * 1e6,
        took.as_secs_f64() / floor.as_secs_f64()
    );
}
