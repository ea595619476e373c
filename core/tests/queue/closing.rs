//! What is under way when a client closes, or when nobody waits for it any more.

use std::sync::LazyLock;
use std::time::Duration;

use futures_util::FutureExt;
use tokio::task::{JoinHandle, spawn_blocking};

use super::support::told::{SAID, events, said_of};
use super::support::{SOON, client, connected, eventually, nodes_under, options, server, soon};
use super::{PATH, TEN, assert_tidy, multi_is_applied_and_then_nothing_is_heard, queue_of};
use zkrecipes::drive::Sessions;
use zkrecipes::{Client, CreateMode, ErrorKind, Queue, State};
use zkrecipes_embedded::{Fault, Server};

#[tokio::test(flavor = "multi_thread")]
async fn closing_loses_no_item_whose_removal_has_lost_its_answer() {
    for (has_mark, is_dropped) in [(false, true), (true, true), (true, false)] {
        let server = server();
        let (closing, other) = (client(&server).await, client(&server).await);
        let queue = queue_of(&closing);
        if has_mark {
            queue_of(&other).put(b"first").await.expect("put");
            queue.get().await.expect("there is one");
        }
        queue_of(&other).put(b"one").await.expect("put");
        multi_is_applied_and_then_nothing_is_heard(&server, &closing);
        let getting = tokio::spawn(async move { queue.get().await });
        eventually("it is removed", || nodes_under(&server, PATH).is_empty()).await;
        if is_dropped {
            getting.abort();
        }
        closing.close_in_background();
        server.clear_faults();
        soon("closing", closing.close(None)).await.expect("closed");
        // It may still have heard of it.
        let got = soon("the get", getting).await.ok().and_then(Result::ok);
        let mut left = queue_of(&other).items().await.expect("read");
        left.extend(got);
        assert_eq!(left, [b"one"], "a mark stood: {has_mark}, nobody waited: {is_dropped}");
        assert_tidy(&server).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_loses_no_item_of_a_get_that_is_not_polled() {
    for (is_answered, is_dropped) in [(true, true), (false, true), (true, false), (false, false)] {
        let server = server();
        let (closing, other) = (client(&server).await, client(&server).await);
        let queue = queue_of(&closing);
        queue_of(&other).put(b"one").await.expect("put");
        let moment = Duration::from_millis(300);
        server.inject(Fault::delay_reply("multi", moment).session(closing.session_id()));
        let mut getting = Box::pin(queue.get());
        tokio::select! {
            biased;
            () = eventually("it is removed", || nodes_under(&server, PATH).is_empty()) => {}
            got = &mut getting => panic!("{got:?}, and nobody has heard of it"),
        }
        if is_answered {
            // On its connection answers come in the order of the requests.
            soon("an answer", closing.nodes().exists("/")).await.expect("asked");
        }
        soon("closing", closing.close(None)).await.expect("closed");
        if is_dropped {
            drop(getting);
        } else {
            let error = soon("the get", getting).await.expect_err("it is closed");
            assert_eq!(error.kind(), ErrorKind::Closed, "{error}");
        }
        let left = queue_of(&other).items().await.expect("read");
        assert_eq!(left, [b"one"], "it was answered: {is_answered}, and dropped: {is_dropped}");
        assert_tidy(&server).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_waits_for_a_removal_that_began_in_a_session_before() {
    let server = server();
    let (closing, other) = (client(&server).await, client(&server).await);
    let queue = queue_of(&closing);
    queue_of(&other).put(b"one").await.expect("put");
    multi_is_applied_and_then_nothing_is_heard(&server, &closing);
    let getting = tokio::spawn(async move { queue.get().await });
    eventually("it is removed", || nodes_under(&server, PATH).is_empty()).await;
    server.expire(closing.session_id());
    server.clear_faults();
    // Nothing can be found out in the next session yet.
    server.inject(Fault::drop_before("multi").path("/queues/**/marks/*").forever());
    eventually("there is a session", || closing.metrics().sessions == 2).await;
    getting.abort();
    let moment = Duration::from_millis(500);
    assert!(tokio::time::timeout(moment, closing.close(None)).await.is_err(), "it waits");
    server.clear_faults();
    soon("closing", closing.close(None)).await.expect("closed");
    assert_eq!(queue_of(&other).items().await.expect("read"), [b"one"]);
    assert_tidy(&server).await;
}

/// Longer than half of the time for which others leave the mark alone: three times the session timeout and the retry budget.
#[tokio::test(flavor = "multi_thread")]
async fn an_item_whose_removal_is_in_doubt_for_long_goes_back_if_its_mark_stands() {
    let server = server();
    let mut impatient = options(Duration::from_secs(1));
    impatient.retry.give_up_after = Some(Duration::from_millis(200));
    let (taking, other) = (connected(&server, impatient).await, client(&server).await);
    let queue = queue_of(&taking);
    queue_of(&other).put(b"one").await.expect("put");
    multi_is_applied_and_then_nothing_is_heard(&server, &taking);
    soon("the get", queue.get_timeout(Duration::from_millis(300))).await.expect_err("nobody answers");
    tokio::time::sleep(Duration::from_millis(2200)).await;
    server.clear_faults();
    assert_eq!(soon("the other's get", queue_of(&other).get()).await.expect("it is back"), b"one");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mark_that_has_a_child_keeps_no_client_from_closing() {
    LazyLock::force(&SAID);
    let server = server();
    let (closing, other) = (client(&server).await, client(&server).await);
    let lock = closing.lock("/lock", Default::default()).expect("valid");
    let _held = lock.acquire().await.expect("free");
    // One that is not used goes by itself: another one comes with the next put.
    let mark = loop {
        queue_of(&closing).put(b"item").await.expect("put");
        let Some(mark) = nodes_under(&server, &format!("{PATH}-__queue__/marks")).pop() else { continue };
        if other.nodes().create(&format!("{mark}/child"), b"", CreateMode::Persistent).await.is_ok() {
            break mark;
        }
    };
    soon("closing", closing.close(None)).await.expect("closed");
    let freed = other.lock("/lock", Default::default()).expect("valid");
    assert!(freed.try_acquire().await.expect("asked").is_some(), "it is free");
    eventually("it is told", || events(&said_of(&mark)).contains(&"not_deleted")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_end_together_lose_no_item_that_nobody_waits_for() {
    for closes_already in [false, true] {
        let server = server();
        let (ending, other) = (client(&server).await, client(&server).await);
        let queue = queue_of(&ending);
        queue_of(&other).put(b"one").await.expect("put");
        server.inject(Fault::delay_reply("multi", Duration::from_secs(1)).session(ending.session_id()));
        let getting = tokio::spawn(async move { queue.get().await });
        eventually("it is removed", || nodes_under(&server, PATH).is_empty()).await;
        getting.abort();
        let _ = getting.await;
        let sessions = Sessions::default();
        sessions.add(&ending);
        if closes_already {
            ending.close_in_background();
        }
        soon("their end", spawn_blocking(move || sessions.end(SOON))).await.expect("ended");
        let left = queue_of(&other).items().await.expect("read");
        assert_eq!(left, [b"one"], "it was closing: {closes_already}");
        assert_tidy(&server).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_that_end_together_lose_no_item_of_one_that_has_ended() {
    let server = server();
    let ending = connected(&server, options(Duration::from_secs(1))).await;
    let (queue, theirs) = (queue_of(&ending), queue_of(&client(&server).await));
    theirs.put(b"one").await.expect("put");
    multi_is_applied_and_then_nothing_is_heard(&server, &ending);
    let getting = tokio::spawn(async move { queue.get().await });
    eventually("it is removed", || nodes_under(&server, PATH).is_empty()).await;
    getting.abort();
    server.expire(ending.session_id());
    eventually("it is given up", || ending.state() == State::Lost).await;
    let sessions = Sessions::default();
    sessions.add(&ending);
    let their_end = spawn_blocking(move || sessions.end(SOON));
    eventually("it closes", || ending.lock("/lock", Default::default()).is_err()).await;
    server.clear_faults();
    soon("their end", their_end).await.expect("ended");
    assert_eq!(theirs.items().await.expect("read"), [b"one"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_loses_and_doubles_no_item_that_goes_back_where_that_or_its_answer_is_lost() {
    let mut left = Vec::new();
    for (is_applied, has_mark) in [(false, true), (true, true), (true, false)] {
        let server = server();
        let (closing, other) = (client(&server).await, client(&server).await);
        let (queue, theirs) = (queue_of(&closing), queue_of(&other));
        theirs.put(b"one").await.expect("put");
        server.inject(Fault::delay_reply("multi", Duration::from_secs(2)).session(closing.session_id()));
        let lost = if is_applied { Fault::drop_after("multi") } else { Fault::drop_before("multi") };
        // The first is its removal.
        let lost = server.inject(lost.path(&format!("{PATH}/qn-*")).session(closing.session_id()).nth(2));
        let getting = tokio::spawn(async move { queue.get().await });
        eventually("it is removed", || nodes_under(&server, PATH).is_empty()).await;
        getting.abort();
        if has_mark {
            closing.close_in_background();
        }
        server.inject(Fault::refuse_connections(1).forever());
        eventually("it is on its way back", || server.fault_fired(lost)).await;
        if is_applied {
            assert_eq!(soon("the other's get", theirs.get()).await.expect("it is back"), b"one");
            other.nodes().delete(PATH, None).await.expect("empty");
        }
        if !has_mark {
            // As if somebody had swept it.
            for mark in nodes_under(&server, &format!("{PATH}-__queue__/marks")) {
                other.nodes().delete(&mark, None).await.expect("it stands");
            }
            closing.close_in_background();
        }
        server.clear_faults();
        soon("closing", closing.close(None)).await.expect("closed");
        left.push(theirs.items().await.expect("read").len());
        assert_tidy(&server).await;
    }
    assert_eq!(left, [1, 0, 0], "lost, had by the other, and had by the other without a mark that tells");
}

/// It finds that out before it closes, or while it does; or nobody answers any more.
#[tokio::test(flavor = "multi_thread")]
async fn closing_settles_a_removal_in_another_session_if_its_own_has_ended() {
    for (has_ended, is_answered) in [(false, true), (true, true), (true, false)] {
        let server = server();
        let mut impatient = options(Duration::from_secs(1));
        impatient.retry.give_up_after = Some(Duration::from_secs(if is_answered { 20 } else { 1 }));
        let (closing, other) = (connected(&server, impatient).await, client(&server).await);
        let queue = queue_of(&closing);
        queue_of(&other).put(b"one").await.expect("put");
        multi_is_applied_and_then_nothing_is_heard(&server, &closing);
        let getting = tokio::spawn(async move { queue.get().await });
        eventually("it is removed", || nodes_under(&server, PATH).is_empty()).await;
        getting.abort();
        server.expire(closing.session_id());
        if has_ended {
            eventually("it is given up", || closing.state() == State::Lost).await;
        }
        closing.close_in_background();
        if is_answered {
            server.clear_faults();
        }
        soon("closing", closing.close(None)).await.expect("closed");
        let left = queue_of(&other).items().await.expect("read");
        assert_eq!(left.len(), usize::from(is_answered), "it had ended before: {has_ended}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_between_two_sessions_leaves_no_mark_if_another_one_is_opened() {
    for _ in 0..5 {
        if closes_between_two_sessions().await {
            return;
        }
    }
    panic!("too slow: the mark had gone each time");
}

/// Whether its first session, and the mark that is not used any more, stood until then.
async fn closes_between_two_sessions() -> bool {
    let server = server();
    let (closing, other) = (connected(&server, options(Duration::from_secs(1))).await, client(&server).await);
    let session = closing.session_id();
    let (queue, second) =
        (queue_of(&closing), closing.queue("/queues/second", Default::default()).expect("valid"));
    queue_of(&other).put(b"one").await.expect("put");
    // Its mark is not used any more.
    second.put(b"two").await.expect("put");
    multi_is_applied_and_then_nothing_is_heard(&server, &closing);
    let getting = tokio::spawn(async move { queue.get().await });
    eventually("it is removed", || nodes_under(&server, PATH).is_empty()).await;
    getting.abort();
    if !server.expire(session) || nodes_under(&server, "/queues/second-__queue__/marks").is_empty() {
        return false;
    }
    eventually("it is given up", || closing.state() == State::Lost).await;
    closing.close_in_background();
    server.clear_faults();
    soon("closing", closing.close(None)).await.expect("closed");
    assert_eq!(queue_of(&other).items().await.expect("read"), [b"one"]);
    assert_eq!(nodes_under(&server, "/queues/second-__queue__/marks"), [""; 0]);
    assert_tidy(&server).await;
    true
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_settles_a_removal_in_the_session_that_is_being_opened() {
    let server = server();
    let (closing, other) = (client(&server).await, client(&server).await);
    let queue = queue_of(&closing);
    queue_of(&other).put(b"one").await.expect("put");
    server.inject(Fault::drop_after("multi").session(closing.session_id()));
    server.inject(Fault::answer_expired("connect"));
    let opening = server.inject(Fault::delay_request("connect", Duration::from_millis(500)).nth(2));
    let getting = tokio::spawn(async move { queue.get().await });
    eventually("another session is opened", || server.fault_fired(opening)).await;
    getting.abort();
    soon("closing", closing.close(None)).await.expect("closed");
    assert_eq!(queue_of(&other).items().await.expect("read"), [b"one"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_leaves_no_mark_if_a_session_is_just_being_opened() {
    let server = server();
    let closing = client(&server).await;
    queue_of(&closing).put(b"one").await.expect("put");
    server.inject(Fault::answer_expired("connect"));
    let opening = server.inject(Fault::delay_request("connect", Duration::from_millis(500)).nth(2));
    server.drop_connections();
    eventually("another session is opened", || server.fault_fired(opening)).await;
    soon("closing", closing.close(None)).await.expect("closed");
    assert_tidy(&server).await;
}

/// A client that has one request in flight at a time, and a queue in which it has put something, without a mark.
async fn narrow(server: &Server) -> (Client, Queue) {
    let client = connected(server, options(TEN).max_in_flight(1)).await;
    let queue = queue_of(&client);
    queue.put(b"first").await.expect("put");
    assert_tidy(server).await;
    (client, queue)
}

/// Has it wait for the answer to a read, so that what it asks next does not leave yet.
async fn hold_up(server: &Server, client: &Client) -> JoinHandle<()> {
    let slow = Fault::delay_reply("getData", Duration::from_secs(2)).path(PATH);
    let fault = server.inject(slow.session(client.session_id()));
    let reading = tokio::spawn({
        let nodes = client.nodes();
        async move { drop(nodes.get(PATH).await) }
    });
    eventually("it has left", || server.fault_fired(fault)).await;
    reading
}

fn multis(client: &Client) -> u64 {
    client.metrics().requests["multi"]
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_leaves_no_mark_whose_creation_waits_to_leave() {
    let server = server();
    let (closing, queue) = narrow(&server).await;
    let reading = hold_up(&server, &closing).await;
    let before = multis(&closing);
    let putting = tokio::spawn(async move { queue.put(b"second").await });
    eventually("it waits to leave", || multis(&closing) > before).await;
    assert!(!reading.is_finished(), "too slow: it has left");
    closing.close_in_background();
    soon("closing", closing.close(None)).await.expect("closed");
    let _ = soon("the put", putting).await.expect("joined");
    assert_eq!(nodes_under(&server, PATH).len(), 2, "it left");
    assert_tidy(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ack_that_is_dropped_with_its_item_after_it_began_is_not_overtaken_by_the_release() {
    let server = server();
    let (narrow, queue) = narrow(&server).await;
    let item = queue.claim().await.expect("there is one");
    let reading = hold_up(&server, &narrow).await;
    assert!(item.ack().now_or_never().is_none(), "it is under way");
    drop(item);
    assert!(!reading.is_finished(), "too slow: it has left");
    eventually("it is acknowledged", || nodes_under(&server, PATH).is_empty()).await;
    assert_tidy(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ack_that_is_refused_after_it_was_dropped_gives_the_item_back() {
    let server = server();
    let ((narrow, queue), other) = (narrow(&server).await, client(&server).await);
    let item = queue.claim().await.expect("there is one");
    let reading = hold_up(&server, &narrow).await;
    let there = narrow.nodes().transaction();
    there.create("/queues", b"", CreateMode::Persistent).expect("valid");
    assert!(item.ack_with(&there).now_or_never().is_none(), "it is under way");
    drop(item);
    assert!(!reading.is_finished(), "too slow: it has left");
    let again = soon("the claim", queue_of(&other).claim()).await.expect("it is given back");
    again.ack().await.expect("ours");
}
