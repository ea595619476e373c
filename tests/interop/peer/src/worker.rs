//! The Rust worker of the mixed contention test: tests/interop/README.md says what a worker does.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use zkrecipes::{Client, ClientOptions, LockOptions};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, hosts, path, folder, seconds] = &arguments[..] else {
        return Err("usage: interop-worker NAME HOSTS PATH FOLDER SECONDS".into());
    };
    let client = Client::connect(hosts, ClientOptions::default()).await?;
    let lock = client.lock(path, LockOptions::default())?;
    let end = now() + Duration::from_secs(seconds.parse()?);
    while now() < end {
        let held = lock.acquire().await?;
        work(name, Path::new(folder), held.fencing_token())?;
        held.release().await?;
    }
    client.close(None).await?;
    Ok(())
}

/// Counts up, with nothing but the lock to keep others from doing the same.
fn work(name: &str, folder: &Path, token: u64) -> Outcome<()> {
    let enter = now().as_nanos();
    let counter = folder.join("counter");
    let count: u64 = std::fs::read_to_string(&counter)?.trim().parse()?;
    std::fs::write(&counter, format!("{}\n", count + 1))?;
    let mut log = OpenOptions::new().append(true).open(folder.join("log"))?;
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
