//! Ends that come at a bad moment: panics, forks, closings, refusals.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::support::lateness::in_time;
use crate::support::{SOON, connected, eventually, options, server, soon};
use zkrecipes::{Client, LockOptions};
use zkrecipes_embedded::Fault;

type TestResult = Result<(), Box<dyn std::error::Error>>;
const MS: Duration = Duration::from_millis(1);
#[tokio::test(flavor = "multi_thread")]
async fn a_panic_while_a_loss_is_told_stops_no_other_loss() -> TestResult {
    let one = server();
    let a = connected(&one, options(1000 * MS)).await;
    a.deliver_through(|_, _| panic!("a broken sink"));
    let held = a.lock("/locks/a", LockOptions::default())?.acquire().await?;
    held.on_lost(|_| {});
    one.inject(Fault::black_hole());
    tokio::time::sleep(1100 * MS).await;

    let timeout = 3000 * MS;
    in_time(async || {
        let two = server();
        let b = connected(&two, options(timeout)).await;
        let lock = b.lock("/locks/b", LockOptions::default()).expect("valid");
        let held = soon("the lock", lock.acquire()).await.expect("free");
        let told = Arc::new(AtomicBool::new(false));
        held.on_lost({
            let told = told.clone();
            move |_| told.store(true, Ordering::SeqCst)
        });
        // Then the lease runs out long before the session ends, of which everybody would be told.
        eventually("less than half is left", || b.lease_remaining() < timeout / 2).await;
        let began = Instant::now();
        two.inject(Fault::black_hole());
        eventually("it is told", || told.load(Ordering::SeqCst)).await;
        let after = began.elapsed();
        match after < timeout * 7 / 8 {
            true => Ok(()),
            false => Err(format!("told after {after:?}, and not when the lease had run out")),
        }
    })
    .await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_refused_for_now_is_tried_again() -> TestResult {
    let server = server();
    let client = connected(&server, options(30_000 * MS)).await;
    let held = client.lock("/locks/a", LockOptions::default())?.acquire().await?;
    server.set_read_only(true);
    drop(held);
    tokio::time::sleep(200 * MS).await;
    server.set_read_only(false);
    eventually("the node is gone", || !server.nodes().iter().any(|p| p.contains("-lock-"))).await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_nested_acquire_is_inside_until_it_is_released() -> TestResult {
    let server = server();
    let client = connected(&server, options(30_000 * MS)).await;
    let lock = client.lock("/locks/a", LockOptions::default().reentrant(true))?;
    let bad = Arc::new(AtomicUsize::new(0));
    let tasks: Vec<_> = (0..3)
        .map(|_| {
            let (lock, bad) = (lock.clone(), bad.clone());
            tokio::spawn(async move {
                let until = Instant::now() + Duration::from_secs(4);
                while Instant::now() < until {
                    let held = lock.acquire().await.expect("granted");
                    if !held.is_held() {
                        bad.fetch_add(1, Ordering::SeqCst);
                    }
                    let _ = held.release().await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await?;
    }
    assert_eq!(bad.load(Ordering::SeqCst), 0, "acquired, and not held");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connect_dropped_in_the_handshake_leaves_no_session() -> TestResult {
    let server = server();
    let hosts = server.connect_string();
    server.inject(Fault::delay_reply("connect", 500 * MS));
    {
        let mut connecting = Box::pin(Client::connect(&hosts, options(30_000 * MS)));
        let pending = |f: std::pin::Pin<&mut dyn Future<Output = _>>| -> bool {
            let poll: Poll<Result<Client, zkrecipes::Error>> =
                f.poll(&mut Context::from_waker(Waker::noop()));
            poll.is_pending()
        };
        assert!(pending(connecting.as_mut()));
        eventually("there is a session", || !server.sessions().is_empty()).await;
    }
    eventually("the session is closed", || server.sessions().is_empty()).await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_close_while_a_new_session_is_being_opened_closes_that_one_too() -> TestResult {
    for _ in 0..10 {
        let server = server();
        let client = Client::connect(&server.connect_string(), options(30_000 * MS)).await?;
        server.inject(Fault::delay_reply("connect", 200 * MS));
        assert!(server.expire(client.session_id()));
        eventually("there is a new session", || !server.sessions().is_empty()).await;
        client.close(None).await?;
        // A process that ends now leaves nothing.
        assert!(server.sessions().is_empty(), "closing has waited for it");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sink_that_runs_its_jobs_at_once_does_not_deadlock() -> TestResult {
    let server = server();
    let client = connected(&server, options(10_000 * MS)).await;
    client.deliver_through(|_, job| job());
    let told = Arc::new(AtomicBool::new(false));
    client.on_state({
        let (client, told) = (client.clone(), told.clone());
        move |_| {
            let _ = client.state();
            told.store(true, Ordering::SeqCst);
        }
    });
    server.drop_connections();
    let until = Instant::now() + SOON;
    while !told.load(Ordering::SeqCst) {
        if Instant::now() > until {
            eprintln!("a callback that asks for the state deadlocks");
            // The runtime's thread hangs in a mutex: do not wait for it.
            std::process::exit(1);
        }
        tokio::time::sleep(10 * MS).await;
    }
    Ok(())
}

/// Child processes: whatever it does with what its parent holds, it gets an answer.
#[test]
fn a_forked_child_that_drops_or_asks_does_not_hang() -> TestResult {
    let server = server();
    let hosts = server.connect_string();
    let (client, lock, held) = zkrecipes::drive::wait(
        async move {
            let client = Client::connect(&hosts, options(10_000 * MS)).await?;
            let lock = client.lock("/locks/a", LockOptions::default())?;
            let held = lock.acquire().await?;
            Ok((client, lock, held))
        },
        None,
        None,
    )?;
    // SAFETY: the child only runs the code under test and leaves by _exit.
    let child = unsafe { libc::fork() };
    if child == 0 {
        let mut answer = Box::pin(held.lost());
        let ready = answer.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready();
        drop(answer);
        lock.cancel();
        drop((lock, held, client));
        unsafe { libc::_exit(if ready { 0 } else { 3 }) };
    }
    let until = Instant::now() + SOON;
    loop {
        let mut status = 0;
        let done = unsafe { libc::waitpid(child, &mut status, libc::WNOHANG) };
        if done == child {
            assert_eq!(libc::WEXITSTATUS(status), 0, "3: lost() is pending for ever in a child");
            break;
        }
        if Instant::now() > until {
            unsafe { libc::kill(child, libc::SIGKILL) };
            panic!("the child hangs");
        }
        std::thread::sleep(10 * MS);
    }
    drop((client, lock, held));
    Ok(())
}
