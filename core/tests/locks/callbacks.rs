//! Nobody's callback waits for somebody else's: losses for none at all, and what one client is told for no other client.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt;

use crate::support::{SOON, client, eventually, lock_of, server, soon};
use zkrecipes::drive::{CancelToken, start, start_for};
use zkrecipes::{Client, ErrorKind, Held, LockOptions, State, Subscription};
use zkrecipes_embedded::Server;

type Anything = Result<(), Box<dyn std::error::Error>>;

/// Something slow: it says that it has begun, and lasts until the other end is dropped.
fn slow() -> (impl Fn() + Send + Sync + 'static, Receiver<()>, Sender<()>) {
    let (begun, has_begun) = channel();
    let (last, lasting) = channel::<()>();
    let lasting = Mutex::new(lasting);
    let wait = move || {
        let _ = begun.send(());
        let _ = lasting.lock().unwrap_or_else(|e| e.into_inner()).recv();
    };
    (wait, has_begun, last)
}

fn told(what: &str, receiver: &Receiver<()>) {
    // The whole test's runtime may wait: nothing of the library runs on it.
    tokio::task::block_in_place(|| receiver.recv_timeout(SOON))
        .unwrap_or_else(|_| panic!("{what} is not told"));
}

async fn hold(client: &Client, path: &str) -> Held {
    lock_of(client, path).acquire().await.expect("it is free")
}

fn on_lost(held: &Held) -> Receiver<()> {
    let (send, receive) = channel();
    held.on_lost(move |_| _ = send.send(()));
    receive
}

fn on_revoke(held: &Held) -> Receiver<()> {
    let (send, receive) = channel();
    held.on_revoke(move || _ = send.send(()));
    receive
}

/// That a callback is gone which was not called: what it owned went with it.
fn gone(what: &str, receiver: &Receiver<()>) {
    let end = tokio::task::block_in_place(|| receiver.recv_timeout(SOON));
    assert_eq!(end, Err(RecvTimeoutError::Disconnected), "{what}");
}

async fn delete_node_of(held: &Held, by: &Client) {
    by.nodes().delete(held.node(), None).await.expect("it is there");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_request_to_let_go_delays_no_loss() -> Anything {
    let server = server();
    let (a, b) = (client(&server).await, client(&server).await);
    let (asked, other) = (hold(&a, "/locks/asked").await, hold(&a, "/locks/other").await);
    let (wait, begun, _last) = slow();
    asked.on_revoke(wait);
    let lost = on_lost(&other);
    lock_of(&b, "/locks/asked").revoke(None, None).await?;
    told("the request to let go", &begun);
    delete_node_of(&other, &b).await;
    told("the loss of the other lock", &lost);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_notice_of_one_client_delays_no_other_client() -> Anything {
    let server = server();
    let (a, b) = (client(&server).await, client(&server).await);
    let (wait, begun, _last) = slow();
    a.on_state(move |_| wait());
    server.expire(a.session_id());
    told("the first client", &begun);

    let (send, states) = channel();
    b.on_state(move |_| _ = send.send(()));
    let held = hold(&b, "/locks/b").await;
    let (send, asked) = channel();
    held.on_revoke(move || _ = send.send(()));
    let (done, is_done) = channel();
    start_for(&b, async { Ok(()) }, &CancelToken::new(), move |_| _ = done.send(()))?;
    told("the end of the second client's call", &is_done);
    lock_of(&b, "/locks/b").revoke(None, None).await?;
    told("the second client that it is asked to let go", &asked);
    server.expire(b.session_id());
    told("the second client's state", &states);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_loss_delays_neither_another_loss_nor_what_else_is_told() -> Anything {
    let server = server();
    let (a, b) = (client(&server).await, client(&server).await);
    let (first, second, third) = (hold(&a, "/l/1").await, hold(&a, "/l/2").await, hold(&b, "/l/3").await);
    let mut slow_ones = Vec::new();
    for _ in 0..20 {
        let (wait, begun, last) = slow();
        first.on_lost(move |_| wait());
        slow_ones.push((begun, last));
    }
    let of_others = (on_lost(&second), on_lost(&third));
    let (send, states) = channel();
    a.on_state(move |_| _ = send.send(()));
    delete_node_of(&first, &b).await;
    for (begun, _) in &slow_ones {
        told("a loss while others take their time over it", begun);
    }
    delete_node_of(&second, &b).await;
    delete_node_of(&third, &b).await;
    told("another loss of the client", &of_others.0);
    told("a loss of another client", &of_others.1);
    server.expire(a.session_id());
    told("the state", &states);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_end_of_one_call_delays_the_end_of_no_other() -> Anything {
    let (wait, begun, _last) = slow();
    start(async { Ok(()) }, &CancelToken::new(), move |_| wait())?;
    told("the end of the first", &begun);
    let (send, second) = channel();
    start(async { Ok(()) }, &CancelToken::new(), move |_| _ = send.send(()))?;
    told("the end of the second", &second);
    Ok(())
}

/// Makes a client suspended and connected again, and waits for both.
async fn reconnect(server: &Server, client: &Client) {
    let connections = server.count("connect", "*");
    server.drop_connections();
    eventually("the client comes back", || server.count("connect", "*") > connections).await;
    eventually("the client is connected", || client.state() == State::Connected).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_client_is_told_comes_in_order_and_one_at_a_time() -> Anything {
    let server = server();
    let client = client(&server).await;
    let inside = Arc::new(AtomicUsize::new(0));
    let states = Arc::new(Mutex::new(Vec::new()));
    for _ in 0..2 {
        let (inside, states) = (inside.clone(), states.clone());
        client.on_state(move |state| {
            assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "one at a time");
            std::thread::sleep(Duration::from_millis(5));
            states.lock().expect("no panic").push(state);
            inside.fetch_sub(1, Ordering::SeqCst);
        });
    }
    const TIMES: usize = 5;
    for times in 1..=TIMES {
        reconnect(&server, &client).await;
        // Else the next break may come before this one was noticed, and they are one.
        eventually("all is told", || states.lock().is_ok_and(|states| states.len() == 4 * times)).await;
    }
    let expected: Vec<State> =
        std::iter::repeat_n([State::Suspended, State::Suspended, State::Connected, State::Connected], TIMES)
            .flatten()
            .collect();
    assert_eq!(*states.lock().expect("no panic"), expected);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_is_closed_tells_so_once_whoever_asks_later() -> Anything {
    let server = server();
    let client = client(&server).await;
    let (send, before) = channel();
    client.on_state(move |state| _ = send.send(state));
    client.close(None).await?;
    let (send, after) = channel();
    let subscription = client.on_state(move |state| _ = send.send(state));
    for told in [before, after] {
        assert_eq!(told.recv_timeout(SOON)?, State::Closed);
        // What it owned goes with it, so nothing else comes.
        assert!(told.recv_timeout(SOON).is_err_and(|end| end == RecvTimeoutError::Disconnected));
    }
    subscription.unsubscribe();
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_loss_that_goes_to_a_sink_is_marked() -> Anything {
    use zkrecipes::drive::Turn;
    let server = server();
    let (a, b) = (client(&server).await, client(&server).await);
    let turns = Arc::new(Mutex::new(Vec::new()));
    let of_sink = turns.clone();
    a.deliver_through(move |turn, _| of_sink.lock().expect("no panic").push(turn));
    let held = hold(&a, "/locks/sink").await;
    held.on_lost(|_| {});
    held.on_revoke(|| {});
    lock_of(&b, "/locks/sink").revoke(None, None).await?;
    eventually("the request", || turns.lock().is_ok_and(|turns| *turns == [Turn::InOrder])).await;
    delete_node_of(&held, &b).await;
    eventually("the loss", || turns.lock().is_ok_and(|turns| *turns == [Turn::InOrder, Turn::Ahead])).await;
    Ok(())
}

/// Ends a subscription on a thread of its own; the receiver hears when that has returned.
fn ended(subscription: Subscription) -> Receiver<()> {
    let (send, receive) = channel();
    std::thread::spawn(move || {
        subscription.unsubscribe();
        let _ = send.send(());
    });
    receive
}

#[tokio::test(flavor = "multi_thread")]
async fn who_unsubscribes_waits_for_a_callback_that_is_running() -> Anything {
    let server = server();
    let (a, b) = (client(&server).await, client(&server).await);
    // Of each kind of callback one that lasts.
    let ((changes, changing, changed), (loses, losing, lost), (waits, waiting, waited)) =
        (slow(), slow(), slow());
    let held = hold(&a, "/locks/lost").await;
    let losses = held.on_lost(move |_| loses());
    delete_node_of(&held, &b).await;
    told("the loss", &losing);
    let blocked = hold(&b, "/locks/blocked").await;
    let lock = lock_of(&a, "/locks/blocked");
    let progress = lock.on_wait(move |_| waits())?;
    let acquiring = tokio::spawn(lock.acquire());
    told("the wait", &waiting);
    let other = client(&server).await;
    let states = other.on_state(move |_| changes());
    server.drop_connections();
    told("a change of state", &changing);

    for (subscription, last) in [(losses, lost), (progress, waited), (states, changed)] {
        let again = ended(subscription.clone());
        let over = ended(subscription);
        assert!(tokio::task::block_in_place(|| over.recv_timeout(Duration::from_millis(100))).is_err());
        assert!(again.try_recv().is_err(), "whoever ends it waits");
        drop(last);
        told("that it is over", &over);
        told("that it is over, again", &again);
    }
    eventually("they are in touch again", || b.state() == State::Connected).await;
    blocked.release().await?;
    tokio::time::timeout(SOON, acquiring).await???.release().await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn inside_a_callback_nobody_waits_for_another_one() -> Anything {
    let server = server();
    let (a, b) = (client(&server).await, client(&server).await);
    let (held, other) = (hold(&a, "/locks/held").await, hold(&a, "/locks/other").await);
    let (wait, begun, _last) = slow();
    let slow_one = held.on_lost(move |_| wait());
    delete_node_of(&held, &b).await;
    told("the loss", &begun);
    // It ends itself, and one that goes on until the end of the test.
    let own = Arc::new(Mutex::new(None::<Subscription>));
    let (send, over) = channel();
    let itself = own.clone();
    let subscription = other.on_lost(move |_| {
        slow_one.unsubscribe();
        let itself = itself.lock().unwrap_or_else(|e| e.into_inner()).take();
        itself.inspect(Subscription::unsubscribe);
        let _ = send.send(());
    });
    *own.lock().unwrap_or_else(|e| e.into_inner()) = Some(subscription);
    delete_node_of(&other, &b).await;
    told("that both have ended", &over);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn who_unsubscribes_after_the_loss_and_before_being_told_is_not_told() -> Anything {
    let server = server();
    let (a, b) = (client(&server).await, client(&server).await);
    let held = hold(&a, "/locks/lost").await;
    let lost = on_lost(&held);
    delete_node_of(&held, &b).await;
    told("the loss", &lost);

    let (send, queued) = channel();
    a.deliver_through(move |_, job| _ = send.send(job));
    let calls = Arc::new(AtomicUsize::new(0));
    let count = |calls: &Arc<AtomicUsize>| {
        let calls = calls.clone();
        move |_| _ = calls.fetch_add(1, Ordering::SeqCst)
    };
    let unwanted = held.on_lost(count(&calls));
    held.on_lost(count(&calls));
    unwanted.unsubscribe();
    queued.try_iter().for_each(|job| job());
    assert_eq!(calls.load(Ordering::SeqCst), 1, "only who still wants to hear");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nested_acquisition_is_told_nothing_after_its_own_release() -> Anything {
    let server = server();
    let (a, b) = (client(&server).await, client(&server).await);
    for is_released_in_background in [false, true] {
        let lock = a.lock("/locks/nested", LockOptions::default().reentrant(true))?;
        let (outer, inner, third) = (lock.acquire().await?, lock.acquire().await?, lock.acquire().await?);
        let (lost, asked) = (on_lost(&outer), on_revoke(&outer));
        let (inner_lost, inner_asked) = (on_lost(&inner), on_revoke(&inner));
        let dropped = (on_lost(&third), on_revoke(&third));
        let mut loss = std::pin::pin!(inner.lost());
        assert!(loss.as_mut().now_or_never().is_none());
        match is_released_in_background {
            false => inner.release().await?,
            true => inner.release_in_background()?,
        }
        drop(third);
        // Those of a loop around a nested acquisition must not pile up while the outer one stands.
        for callback in [&inner_lost, &inner_asked, &dropped.0, &dropped.1] {
            gone("it went with its acquisition", callback);
        }
        gone("nothing is to come", &on_lost(&inner));
        gone("nothing is to come", &on_revoke(&inner));

        assert!(outer.is_held());
        lock_of(&b, "/locks/nested").revoke(None, None).await?;
        told("the outer one that it is asked for", &asked);
        gone("it was asked for later", &on_revoke(&inner));
        delete_node_of(&outer, &b).await;
        told("the outer one that it is lost", &lost);
        gone("it was lost later", &on_lost(&inner));
        assert!(loss.now_or_never().is_none());
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_nested_acquisition_is_told_of_a_loss_that_came_before_its_release() -> Anything {
    let server = server();
    let (a, b) = (client(&server).await, client(&server).await);
    let lock = a.lock("/locks/nested", LockOptions::default().reentrant(true))?;
    let (outer, inner) = (lock.acquire().await?, lock.acquire().await?);
    let (send, queued) = channel();
    a.deliver_through(move |_, job| _ = send.send(job));
    let lost = on_lost(&inner);
    delete_node_of(&outer, &b).await;
    eventually("it is lost", || !inner.is_held()).await;
    assert_eq!(inner.release().await.expect_err("lost").kind(), ErrorKind::NotHeld);
    let later = on_lost(&inner);
    queued.try_iter().for_each(|job| job());
    told("the loss", &lost);
    told("the loss, at once", &later);
    assert_eq!(soon("the loss", inner.lost()).await.kind(), ErrorKind::Lost);
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_stands_until_its_holder_knows_that_the_client_is_closed() -> Anything {
    let server = Arc::new(server());
    let client = client(&server).await;
    let held = hold(&client, "/locks/closed").await;
    held.on_lost(|_| {});
    let (stood, has_stood) = channel();
    let (witness, node) = (server.clone(), held.node().to_owned());
    // For a moment the one who tells is held up.
    client.deliver_through(move |_, _| {
        std::thread::sleep(Duration::from_millis(300));
        let _ = stood.send(witness.nodes().contains(&node));
    });
    client.close(None).await?;
    assert_eq!(has_stood.try_recv(), Ok(true), "its node was gone before its holder knew");
    Ok(())
}
