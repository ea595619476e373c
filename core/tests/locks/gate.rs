//! The gate of a handle under contention.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use zkrecipes::{Client, ClientOptions, LockOptions};
use zkrecipes_embedded::Server;

type TestResult = Result<(), Box<dyn std::error::Error>>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn acquiring_at_the_moment_of_a_release_never_panics() -> TestResult {
    let server = Server::start()?;
    let client = Client::connect(&server.connect_string(), ClientOptions::default()).await?;
    let lock = client.lock("/locks/a", LockOptions::default())?;
    let stop = Arc::new(AtomicBool::new(false));
    let panics: Vec<_> = (0..2)
        .map(|_| {
            let (lock, stop) = (lock.clone(), stop.clone());
            std::thread::spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    // A place in the queue, looked at once and given up.
                    let mut call = Box::pin(lock.acquire());
                    let polled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                        call.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready()
                    }));
                    if polled.is_err() {
                        return true;
                    }
                    // Whichever of these passes the gate costs requests: no more of them than a loaded machine can answer.
                    std::thread::sleep(Duration::from_micros(20));
                }
                false
            })
        })
        .collect();
    let until = Instant::now() + Duration::from_secs(10);
    while Instant::now() < until && !panics.iter().any(|thread| thread.is_finished()) {
        let held = tokio::time::timeout(Duration::from_secs(20), lock.acquire()).await??;
        held.release().await?;
    }
    stop.store(true, Ordering::Relaxed);
    for thread in panics {
        assert!(!thread.join().expect("joined"), "acquire panicked");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn all_who_use_a_reentrant_handle_at_once_are_inside_together() -> TestResult {
    let server = Server::start()?;
    let client = Client::connect(&server.connect_string(), ClientOptions::default()).await?;
    let lock = client.lock("/locks/a", LockOptions::default().reentrant(true))?;
    let users: Vec<_> = (0..4)
        .map(|_| {
            let lock = lock.clone();
            tokio::spawn(async move {
                for _ in 0..100 {
                    let outer = lock.acquire().await?;
                    let inner = lock.acquire().await?;
                    inner.release().await?;
                    outer.release().await?;
                }
                Ok::<_, zkrecipes::Error>(())
            })
        })
        .collect();
    for user in users {
        tokio::time::timeout(Duration::from_secs(30), user).await???;
    }
    assert!(!lock.is_held());
    Ok(())
}
