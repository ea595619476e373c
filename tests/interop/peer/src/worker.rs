//! The Rust worker of the mixed contention test: tests/interop/README.md says what a worker does.

use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::time::Duration;

use zkrecipes::{Client, ClientOptions, Handle, LockOptions};

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [name, hosts, naming, kind, path, counter, log, seconds, stay] = &arguments[..] else {
        return Err("usage: interop-worker NAME HOSTS NAMING KIND PATH COUNTER LOG SECONDS STAY".into());
    };
    let options = ClientOptions::default().naming(naming.parse()?);
    let client = Client::connect(hosts, options).await?;
    let handle = match kind.strip_prefix("semaphore:") {
        Some(permits) => Handle::clone(&*client.semaphore(path, permits.parse()?)?),
        None => Handle::clone(&*client.lock(path, LockOptions::default())?),
    };
    println!("ready");
    std::io::stdin().read_to_end(&mut Vec::new())?;
    let stay = Duration::from_millis(stay.parse()?);
    let end = now() + Duration::from_secs(seconds.parse()?);
    loop {
        let held = handle.acquire().await?;
        work(name, counter, log, stay, held.fencing_token())?;
        held.release().await?;
        if now() >= end {
            break;
        }
    }
    client.close(None).await?;
    Ok(())
}

/// Counts up, with nothing but the recipe to keep others from doing the same.
fn work(name: &str, counter: &str, log: &str, stay: Duration, token: u64) -> Outcome<()> {
    let enter = now().as_nanos();
    let count: u64 = std::fs::read_to_string(counter)?.trim().parse()?;
    std::fs::write(counter, format!("{}\n", count + 1))?;
    std::thread::sleep(stay);
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
