//! The Rust worker of the mixed contention test: tests/interop/README.md says what a worker does.

use std::fs::OpenOptions;
use std::io::Write;
use std::time::Duration;

use zkrecipes::{Client, ClientOptions, Lock, LockOptions, Semaphore};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, hosts, naming, kind, path, counter, log, seconds] = &arguments[..] else {
        return Err("usage: interop-worker NAME HOSTS NAMING KIND PATH COUNTER LOG SECONDS".into());
    };
    let options = ClientOptions { naming: naming.parse()?, ..Default::default() };
    let client = Client::connect(hosts, options).await?;
    let recipe = match kind.strip_prefix("semaphore:") {
        Some(permits) => Recipe::Semaphore(client.semaphore(path, permits.parse()?)?),
        None => Recipe::Lock(client.lock(path, LockOptions::default())?),
    };
    let end = now() + Duration::from_secs(seconds.parse()?);
    while now() < end {
        let held = match &recipe {
            Recipe::Lock(lock) => lock.acquire().await?,
            Recipe::Semaphore(semaphore) => semaphore.acquire(1).await?,
        };
        work(name, counter, log, held.fencing_token())?;
        held.release().await?;
    }
    client.close(None).await?;
    Ok(())
}

enum Recipe {
    Lock(Lock),
    Semaphore(Semaphore),
}

/// Counts up, with nothing but the recipe to keep others from doing the same.
fn work(name: &str, counter: &str, log: &str, token: u64) -> Outcome<()> {
    let enter = now().as_nanos();
    let count: u64 = std::fs::read_to_string(counter)?.trim().parse()?;
    std::fs::write(counter, format!("{}\n", count + 1))?;
    let mut log = OpenOptions::new().append(true).open(log)?;
    let leave = now().as_nanos();
    log.write_all(format!("{name} {token} {enter} {leave}\n").as_bytes())?;
    Ok(())
}

/// The monotonic clock that all processes of this machine share.
fn now() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live timespec.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}
