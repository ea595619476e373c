//! What a handle takes that waits. The server is in another process, and this one does nothing else.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicIsize, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::support::{SOON, is_run_elsewhere, lock_of, options, server};
use zkrecipes::{Client, Result};

struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

static BYTES: AtomicIsize = AtomicIsize::new(0);
static ALLOCATIONS: AtomicUsize = AtomicUsize::new(0);

// SAFETY: the system's allocator does the work.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        BYTES.fetch_add(layout.size() as isize, Ordering::Relaxed);
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        BYTES.fetch_sub(layout.size() as isize, Ordering::Relaxed);
        unsafe { System.dealloc(block, layout) }
    }
}

const HOSTS: &str = "ZKRECIPES_TEST_SERVER";

/// A client of the server in the other process, where this is not that one.
async fn client_elsewhere(test: &str) -> Option<Client> {
    let mut kept = None;
    let is_run = is_run_elsewhere(test, |process| {
        let server = kept.insert(server());
        process.env(HOSTS, server.connect_string());
    });
    if is_run {
        return None;
    }
    let hosts = std::env::var(HOSTS).expect("a server");
    Some(Client::connect(&hosts, options(SOON)).await.expect("the server answers"))
}

/// What each of a thousand handles takes that wait for one lock, and how large the future is.
#[tokio::test]
async fn a_waiting_handle_takes_little() -> Result<()> {
    const WAITERS: usize = 1000;
    const PATH: &str = "/locks/memory";
    let Some(client) = client_elsewhere("memory::a_waiting_handle_takes_little").await else { return Ok(()) };
    // What is made once is there then.
    let held = lock_of(&client, PATH).acquire().await?;
    assert!(lock_of(&client, PATH).try_acquire().await?.is_none());
    let future = std::mem::size_of_val(&lock_of(&client, PATH).acquire());
    let before = BYTES.load(Ordering::Relaxed);
    let mut waiters = Vec::with_capacity(WAITERS);
    for _ in 0..WAITERS {
        let lock = lock_of(&client, PATH);
        waiters.push(tokio::spawn(async move { lock.acquire().await }));
    }
    while client.nodes().children(PATH).await?.len() <= WAITERS {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(future <= FUTURE, "the future of an acquire has {future} bytes");
    assert_eq!(client.metrics().waiting, WAITERS as u64);
    // Those who have queued let go of what that took when they are polled.
    let each = || (BYTES.load(Ordering::Relaxed) - before) / WAITERS as isize;
    let until = Instant::now() + SOON;
    while each() > EACH {
        assert!(Instant::now() < until, "each of {WAITERS} waiting handles takes {} bytes", each());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    println!("{} bytes, {future} of them the future", each());
    drop(held);
    Ok(())
}

/// As measured, 640 and 2700, and a little room: the task of the caller is the future and about a hundred bytes.
const FUTURE: usize = 700;
const EACH: isize = 3000;

/// How often an acquire and a release of a free lock allocate.
#[tokio::test]
async fn an_uncontended_pair_allocates_seldom() -> Result<()> {
    const PAIRS: usize = 100;
    let test = "memory::an_uncontended_pair_allocates_seldom";
    let Some(client) = client_elsewhere(test).await else { return Ok(()) };
    let lock = lock_of(&client, "/locks/memory");
    for _ in 0..10 {
        lock.acquire().await?.release().await?;
    }
    let before = ALLOCATIONS.load(Ordering::Relaxed);
    for _ in 0..PAIRS {
        lock.acquire().await?.release().await?;
    }
    let each = (ALLOCATIONS.load(Ordering::Relaxed) - before) / PAIRS;
    println!("{each} allocations");
    assert!(each <= MOST_ALLOCATIONS, "a pair allocates {each} times");
    Ok(())
}

/// As measured, 61, and a little room.
const MOST_ALLOCATIONS: usize = 64;
