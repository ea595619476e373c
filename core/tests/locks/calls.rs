//! What a call promises from the moment it is made: its place, its budget, its withdrawal, its end.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::support::{SOON, connected, eventually, options, server, soon};
use zkrecipes::drive::{CancelToken, Tick, acquire, start, wait};
use zkrecipes::{Client, ClientOptions, CommitMode, ErrorKind, LockOptions, RetryOptions, Service, State};
use zkrecipes_embedded::{Fault, Server};

type TestResult = Result<(), Box<dyn std::error::Error>>;
const MS: Duration = Duration::from_millis(1);
fn poll_once<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// A client with such options that is in touch again after an outage as long as its lease, in which its session has lived on:
/// nothing is certain in it for a while. The server's clock stands still from here on.
async fn after_an_outage(server: &Server, options: ClientOptions) -> Client {
    let timeout = options.session_timeout;
    server.freeze_clock();
    for _ in 0..10 {
        let asked = Instant::now();
        let client = connected(server, options.clone()).await;
        let session = client.session_id();
        server.pause();
        // Later an idle client would have made contact, for which a lease could be certain again at once.
        let is_in_time = asked.elapsed() < timeout / 8;
        if is_in_time {
            tokio::time::sleep(timeout * 19 / 20).await;
        }
        server.resume();
        // Without a connection nothing would be tried.
        eventually("it is in touch", || client.state() == State::Connected).await;
        // A machine that was busy may have made it longer than the session.
        if is_in_time && client.session_id() == session {
            return client;
        }
    }
    panic!("no outage was as long as the lease and no longer than the session");
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_for_the_handles_own_gate_does_not_use_up_the_retry_budget() -> TestResult {
    let server = server();
    let retry = RetryOptions::default().give_up_after(1000 * MS);
    let client = connected(&server, ClientOptions::default().retry(retry)).await;
    let lock = client.lock("/locks/a", LockOptions::default())?;
    let held = lock.acquire().await?;
    let second = tokio::spawn({
        let lock = lock.clone();
        async move { lock.acquire().await }
    });
    tokio::time::sleep(1500 * MS).await;
    held.release().await?;
    second.await??.release().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_empty_transaction_proves_nothing_about_the_session() -> TestResult {
    let server = server();
    let client = connected(&server, options(2000 * MS)).await;
    let held = client.lock("/locks/a", LockOptions::default())?.acquire().await?;
    server.inject(Fault::black_hole());
    let began = Instant::now();
    loop {
        // Before the look: on a busy machine much time may pass after it.
        let asked = began.elapsed();
        if !held.is_held() {
            break;
        }
        assert!(asked < 2200 * MS, "held past the whole session timeout without any contact");
        let _ = tokio::time::timeout(50 * MS, client.nodes().transaction().commit()).await;
        tokio::time::sleep(20 * MS).await;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_deleted_while_the_lease_was_being_renewed_is_not_owned() -> TestResult {
    let server = server();
    let b = connected(&server, options(40_000 * MS)).await;
    b.nodes().ensure("/locks/a").await?;
    let a = after_an_outage(&server, options(4000 * MS)).await;
    let lock = a.lock("/locks/a", LockOptions::default())?;
    let acquiring = tokio::spawn(async move { lock.acquire().await });
    eventually("a queues", || server.nodes().iter().any(|p| p.contains("-lock-"))).await;
    tokio::time::sleep(100 * MS).await;
    if acquiring.is_finished() {
        panic!("setup: the lease was certain at once");
    }
    let node = b.nodes().children("/locks/a").await?.remove(0);
    b.nodes().delete(&format!("/locks/a/{node}"), None).await?;
    let other = b.lock("/locks/a", LockOptions::default())?.acquire_timeout(SOON).await?;
    let both = tokio::time::timeout(3500 * MS, acquiring).await;
    if let Ok(Ok(Ok(held))) = &both {
        assert!(!(held.is_held() && other.is_held()), "two holders: {held:?} and {other:?}");
    }
    Ok(())
}

#[test]
fn a_withdrawn_wait_that_was_granted_meanwhile_leaves_nothing_held() -> TestResult {
    let server = server();
    let hosts = server.connect_string();
    let client = wait(async move { Client::connect(&hosts, ClientOptions::default()).await }, None, None)?;
    let lock = client.lock("/locks/a", LockOptions::default())?;
    let nodes = client.nodes();
    wait(async move { nodes.ensure("/locks/a").await }, None, None)?;
    server.inject(Fault::delay_reply("create2", 600 * MS));
    let mut hook = || {
        // The signal handler runs; meanwhile the lock is granted.
        std::thread::sleep(900 * MS);
        false
    };
    let tick = Tick { every: 50 * MS, hook: &mut hook };
    let acquiring = lock.clone();
    let result = wait(acquire(&acquiring, 1, None), None, Some(tick));
    assert_eq!(result.map(|_| ()).map_err(|e| e.kind()), Err(ErrorKind::Cancelled));
    let until = Instant::now() + SOON;
    while lock.is_held() || server.nodes().iter().any(|p| p.contains("-lock-")) {
        assert!(Instant::now() < until, "the caller was told Cancelled, and the handle still holds");
        std::thread::sleep(10 * MS);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_close_that_is_given_up_still_ends_the_session() -> TestResult {
    let server = server();
    let client = connected(&server, options(30_000 * MS)).await;
    let first = client.lock("/locks/a", LockOptions::default())?.acquire().await?;
    let _second = client.lock("/locks/b", LockOptions::default())?.acquire().await?;
    server.inject(Fault::delay_reply("delete", 500 * MS));
    drop(first);
    assert!(
        tokio::time::timeout(100 * MS, client.close(None)).await.is_err(),
        "setup: a deletion holds it up"
    );
    drop(client);
    eventually("the session is closed", || server.sessions().is_empty()).await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn close_does_not_wait_for_calls_that_nobody_polls() -> TestResult {
    let server = server();
    let client = connected(&server, options(30_000 * MS)).await;
    let lock = client.lock("/locks/a", LockOptions::default())?;
    // However busy the machine is, the answer is not there at the first poll.
    server.inject(Fault::delay_reply("*", 20 * MS).session(client.session_id()));
    let mut call = pin!(lock.acquire());
    assert!(poll_once(call.as_mut()).is_pending());
    let closed = tokio::time::timeout(Duration::from_secs(3), client.close(None)).await;
    let sessions = server.sessions().len();
    assert!(closed.is_ok(), "close hangs behind a call that is not polled");
    assert_eq!(sessions, 0);
    Ok(())
}

/// They go one after the other, and the first is kept and never polled again.
#[tokio::test(flavor = "multi_thread")]
async fn close_ends_what_waits_behind_calls_that_nobody_polls() -> TestResult {
    let server = server();
    let client = connected(&server, options(30_000 * MS)).await;
    let group = client.group("/groups/a", Default::default())?;
    let site = client.two_phase_commit("/commits/site", CommitMode::Coordinator)?;
    let coordinator = client.two_phase_commit("/commits/coordinator", CommitMode::Coordinator)?;
    let registration = client.discovery("/services")?.register(Service::new("web", "10.0.0.7")).await?;
    server.inject(Fault::delay_reply("*", 20 * MS).session(client.session_id()).forever());
    let begin = || coordinator.begin("one", &["a"], b"", 30_000 * MS);
    let update = || registration.update(registration.service().enabled(false));
    let (mut joins, mut is_site) = (Box::pin(group.join("a", b"")), Box::pin(site.join("a")));
    let (mut begins, mut updates) = (Box::pin(begin()), Box::pin(update()));
    for is_kept in [
        poll_once(joins.as_mut()).is_pending(),
        poll_once(is_site.as_mut()).is_pending(),
        poll_once(begins.as_mut()).is_pending(),
        poll_once(updates.as_mut()).is_pending(),
    ] {
        assert!(is_kept);
    }
    let others = async {
        tokio::join!(
            async { group.join("b", b"").await.map_err(|error| error.kind()) },
            async { group.leave().await.map_err(|error| error.kind()) },
            async { site.join("b").await.map_err(|error| error.kind()) },
            async { site.leave().await.map_err(|error| error.kind()) },
            async { begin().await.map(drop).map_err(|error| error.kind()) },
            async { update().await.map_err(|error| error.kind()) },
            async { registration.unregister().await.map_err(|error| error.kind()) },
        )
    };
    let mut others = pin!(others);
    assert!(tokio::time::timeout(300 * MS, others.as_mut()).await.is_err(), "setup: they wait");
    client.close_in_background();
    let closed = Err(ErrorKind::Closed);
    let ended = soon("what waits", others).await;
    assert_eq!(ended, (closed, closed, closed, closed, closed, closed, closed));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn try_acquire_does_not_outwait_its_retry_budget() -> TestResult {
    let server = server();
    let retry = RetryOptions::default().give_up_after(1000 * MS);
    let b = connected(&server, options(40_000 * MS)).await;
    b.nodes().ensure("/locks/a").await?;
    // The turn comes before the lease is certain again …
    let a = after_an_outage(&server, options(4000 * MS).retry(retry)).await;
    let lock = a.lock("/locks/a", LockOptions::default())?;
    let trying = tokio::spawn(async move { lock.try_acquire().await });
    eventually("a queues", || server.nodes().iter().any(|p| p.contains("-lock-"))).await;
    // … and then the server is gone for good.
    tokio::time::sleep(50 * MS).await;
    server.stop();
    let answer = tokio::time::timeout(Duration::from_secs(12), trying).await;
    assert!(answer.is_ok(), "try_acquire waits for ever");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn cancel_reaches_an_acquire_that_was_started_before() -> TestResult {
    let server = server();
    let client = connected(&server, ClientOptions::default()).await;
    let lock = client.lock("/locks/a", LockOptions::default())?;
    let _held = lock.acquire().await?;
    for round in 0..200 {
        let (done, is_done) = std::sync::mpsc::channel();
        let token = CancelToken::new();
        // What the faces do: `const p = lock.acquire(); lock.cancel();`
        start(acquire(&lock, 1, None), &token, move |result| {
            let _ = done.send(result.map(|_| ()));
        })?;
        lock.cancel();
        let done = is_done.recv_timeout(SOON);
        token.cancel();
        assert!(done.is_ok(), "round {round}: cancel() was lost");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_of_our_node_together_with_the_turn_breaks_nothing() -> TestResult {
    let server = server();
    // The heartbeat would tell of a deletion, too, but not before an eighth of this.
    let a = connected(&server, ClientOptions::default().session_timeout(40_000 * MS)).await;
    let b = connected(&server, ClientOptions::default()).await;
    let lock = a.lock("/locks/a", LockOptions::default())?;
    let other = b.lock("/locks/a", LockOptions::default())?;
    for round in 0..400 {
        let held = other.acquire().await?;
        server.clear_log();
        let waiting = tokio::spawn({
            let lock = lock.clone();
            async move { lock.acquire().await }
        });
        eventually("a waits", || server.count("getData", "/locks/**") >= 2).await;
        let names = b.nodes().children("/locks/a").await?;
        let ours = names.iter().map(|n| format!("/locks/a/{n}")).find(|n| n != held.node()).ok_or("ours")?;
        let both = b.nodes().transaction();
        both.delete(held.node(), None)?;
        both.set(&ours, b"__REVOKE__", None)?;
        both.commit().await?;
        let got = tokio::time::timeout(SOON, waiting).await??;
        assert!(got.is_ok(), "round {round}: {:?}", got.err());
        let got = got?;
        let (lost, is_lost) = tokio::sync::oneshot::channel();
        got.on_lost(move |_| {
            let _ = lost.send(());
        });
        b.nodes().delete(got.node(), None).await?;
        let told = tokio::time::timeout(Duration::from_secs(4), is_lost).await;
        assert!(told.is_ok(), "round {round}: the deletion of a held node was not told in time");
        drop(held);
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connect_that_is_dropped_when_it_is_done_leaves_no_session() -> TestResult {
    let server = server();
    let hosts = server.connect_string();
    {
        let mut connecting = Box::pin(Client::connect(&hosts, options(30_000 * MS)));
        // It may be done at once, too. Then the client is dropped.
        let _client = poll_once(connecting.as_mut());
        eventually("there is a session", || !server.sessions().is_empty()).await;
        tokio::time::sleep(300 * MS).await;
    }
    eventually("the session is closed", || server.sessions().is_empty()).await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unsubscribed_callback_is_not_called_any_more() -> TestResult {
    let server = server();
    let client = connected(&server, options(10_000 * MS)).await;
    let (entered, has_entered) = std::sync::mpsc::channel();
    let (go, may_go) = std::sync::mpsc::channel::<()>();
    let may_go = std::sync::Mutex::new(may_go);
    client.on_state(move |_| {
        let _ = entered.send(());
        let _ = may_go.lock().map(|go| go.recv_timeout(SOON));
    });
    let called = Arc::new(AtomicBool::new(false));
    let second = client.on_state({
        let called = called.clone();
        move |_| called.store(true, Ordering::SeqCst)
    });
    server.drop_connections();
    tokio::task::spawn_blocking(move || has_entered.recv_timeout(SOON)).await??;
    second.unsubscribe();
    drop(go);
    tokio::time::sleep(300 * MS).await;
    assert!(!called.load(Ordering::SeqCst), "called after unsubscribe had returned");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn an_acquire_that_completes_while_the_client_closes_is_not_returned_as_held_for_the_lease()
-> TestResult {
    let server = server();
    for _ in 0..40 {
        let client = connected(&server, options(20_000 * MS)).await;
        let lock = client.lock("/locks/a", LockOptions::default())?;
        let acquiring = tokio::spawn(async move { lock.acquire().await });
        tokio::time::sleep(Duration::from_micros(fastrand_micros())).await;
        client.close(None).await?;
        match tokio::time::timeout(SOON, acquiring).await?? {
            Ok(held) => {
                assert!(!held.is_held());
                let told = tokio::time::timeout(Duration::from_secs(2), held.lost()).await;
                assert!(told.is_ok(), "held by a closed client, and nobody is told");
            }
            Err(error) => assert_eq!(error.kind(), ErrorKind::Closed),
        }
    }
    Ok(())
}

fn fastrand_micros() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish() % 3000
}
