//! Claims that somebody takes away. The next one may be done with the item while the request or the answer of the first one
//! is lost: that the item is gone then says nothing of what became of that.

use std::time::Duration;

use super::support::access::{NO_READING, set_access};
use super::support::{
    client, client_with, connected, eventually, lock_of, nodes_under, options, server, soon,
};
use super::{PATH, TEN, assert_tidy};
use zkrecipes::{
    Client, CreateMode, Error, ErrorKind, Item, LostReason, Nack, Queue, QueueLayout, QueueOptions,
    RetryOptions,
};
use zkrecipes_embedded::{Fault, Server};

/// What it was worked for.
const EFFECT: &str = "/effect";

#[derive(Copy, Clone, Debug, PartialEq)]
enum End {
    Ack,
    AckWith,
    /// A nack that moves it to the dead letters.
    LastNack,
}

const ENDS: [End; 3] = [End::Ack, End::AckWith, End::LastNack];

impl End {
    fn queue(self, client: &Client) -> Queue {
        let options = QueueOptions::default();
        let options = if self == End::LastNack { options.max_attempts(1) } else { options };
        client.queue(PATH, options).expect("valid")
    }

    async fn of(self, client: Client, item: Item) -> Result<(), Error> {
        match self {
            End::Ack => item.ack().await,
            End::LastNack => item.nack().await,
            End::AckWith => {
                let effects = client.nodes().transaction();
                effects.create(EFFECT, b"", CreateMode::Persistent)?;
                item.ack_with(&effects).await
            }
        }
    }
}

/// Not about the heartbeat, which asks for the claim and the item, too.
fn about_the_end(fault: Fault, client: &Client) -> Fault {
    fault.path(&format!("{PATH}-__queue__/marks/*")).session(client.session_id())
}

fn stands(server: &Server, node: &str) -> bool {
    server.nodes().iter().any(|other| other == node)
}

fn claim_of(server: &Server) -> String {
    let is_claim = |node: &String| node.contains("/claims/");
    server.nodes().into_iter().find(is_claim).expect("it is claimed")
}

/// How the claim goes of which the end gets lost.
#[derive(Copy, Clone, Debug)]
enum Loss {
    ByForce,
    WithItsSession,
}

async fn leave_a_mark(queue: &Queue) {
    queue.put(b"first").await.expect("put");
    queue.get().await.expect("there is one");
}

async fn lost_and_done_by_the_next_one(end: End, loss: Loss, has_mark: bool) {
    let server = server();
    let (worker, other) = (client(&server).await, client(&server).await);
    let (queue, next) = (end.queue(&worker), other.queue(PATH, QueueOptions::default()).expect("valid"));
    if has_mark {
        leave_a_mark(&queue).await;
    }
    queue.put(b"tea").await.expect("put");
    let item = queue.claim().await.expect("there is one");

    let lost = server.inject(about_the_end(Fault::drop_before("multi"), &worker));
    server.inject(Fault::refuse_connections(1).forever());
    let ending = tokio::spawn(end.of(worker.clone(), item.clone()));
    eventually("the request is lost", || server.fault_fired(lost)).await;
    match loss {
        Loss::ByForce => other.nodes().delete(&claim_of(&server), None).await.expect("deleted"),
        Loss::WithItsSession => assert!(server.expire(worker.session_id()), "it stood"),
    }
    let theirs = soon("the other's claim", next.claim()).await.expect("it is free");
    assert_eq!(theirs.attempts(), 2);
    theirs.ack().await.expect("theirs");
    server.clear_faults();

    let error = soon("the answer", ending).await.expect("joined").expect_err("it was the other's");
    assert_eq!(error.kind(), ErrorKind::NotHeld, "{end:?}, {loss:?}: {error}");
    assert!(!item.is_held());
    assert!(!stands(&server, EFFECT), "{end:?}");
    assert_eq!(queue.dead().len().await.expect("looked"), 0, "{end:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_that_was_lost_is_not_taken_for_done_because_somebody_else_was() {
    let mut all = Vec::new();
    for end in ENDS {
        for (loss, has_mark) in [(Loss::ByForce, true), (Loss::ByForce, false), (Loss::WithItsSession, true)]
        {
            all.push(tokio::spawn(lost_and_done_by_the_next_one(end, loss, has_mark)));
        }
    }
    for one in all {
        one.await.expect("as promised");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_end_that_was_applied_is_known_although_its_claim_and_its_session_are_gone() {
    for end in ENDS {
        let server = server();
        let worker = client(&server).await;
        let queue = end.queue(&worker);
        // The parents of marks and of letters are there then, so that the first attempt is applied.
        leave_a_mark(&queue).await;
        worker.nodes().ensure(&format!("{PATH}-__dead__")).await.expect("made");
        queue.put(b"tea").await.expect("put");
        let item = queue.claim().await.expect("there is one");
        let lost = server.inject(about_the_end(Fault::drop_after("multi"), &worker));
        server.inject(Fault::refuse_connections(1).forever());
        let ending = tokio::spawn(end.of(worker.clone(), item.clone()));
        eventually("the answer is lost", || server.fault_fired(lost)).await;
        eventually("it was applied", || queue_is_empty(&server)).await;
        server.expire(worker.session_id());
        server.clear_faults();
        soon("the answer", ending).await.expect("joined").expect("it was applied");
        assert_eq!(stands(&server, EFFECT), end == End::AckWith);
        assert_eq!(queue.dead().len().await.expect("looked"), usize::from(end == End::LastNack));
    }
}

fn queue_is_empty(server: &Server) -> bool {
    let items = format!("{PATH}/");
    !server.nodes().iter().any(|node| node.starts_with(&items))
}

/// The first end has given up before the second begins.
async fn twice(is_applied: bool) -> Result<(), Error> {
    let server = server();
    let retry = RetryOptions::default().base(Duration::from_millis(10)).give_up_after(Duration::from_secs(2));
    let worker = connected(&server, options(TEN).retry(retry)).await;
    let other = client_with(&server, TEN).await;
    let (queue, next) = (End::Ack.queue(&worker), End::Ack.queue(&other));
    leave_a_mark(&next).await;
    next.put(b"tea").await.expect("put");
    let item = soon("the claim", queue.claim()).await.expect("there is one");
    let fault = if is_applied { Fault::drop_after("multi") } else { Fault::drop_before("multi") };
    server.inject(about_the_end(fault, &worker));
    server.inject(Fault::refuse_connections(1).forever());
    let error = soon("the first", item.ack()).await.expect_err("no server");
    assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{error}");
    if !is_applied {
        other.nodes().delete(&claim_of(&server), None).await.expect("deleted");
        soon("the other's claim", next.claim()).await.expect("it is free").ack().await.expect("theirs");
    }
    server.clear_faults();
    eventually("it is connected", || worker.state() == zkrecipes::State::Connected).await;
    soon("the second", item.ack()).await
}

#[tokio::test(flavor = "multi_thread")]
async fn who_acknowledges_once_more_hears_what_became_of_the_first() {
    twice(true).await.expect("it was applied");
    let error = twice(false).await.expect_err("it was the other's");
    assert_eq!(error.kind(), ErrorKind::NotHeld, "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_gives_back_what_was_taken_away_leaves_the_claim_of_the_next_one_alone() {
    let server = server();
    let (worker, other) = (client(&server).await, client(&server).await);
    let (queue, next) = (End::Ack.queue(&worker), End::Ack.queue(&other));
    queue.put(b"tea").await.expect("put");
    let item = queue.claim().await.expect("there is one");
    other.nodes().delete(&claim_of(&server), None).await.expect("deleted");
    let theirs = soon("the other's claim", next.claim()).await.expect("it is free");
    let error = soon("the nack", item.nack()).await.expect_err("it is the other's");
    assert_eq!(error.kind(), ErrorKind::NotHeld, "{error}");
    theirs.verify().await.expect("it stands");
    theirs.ack().await.expect("theirs");
}

/// Servers before 3.8.2 do not tell of what a transaction created when that was. The deletion is tried again after the answer got
/// lost, or the request.
#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_was_given_up_goes_and_takes_no_later_one_with_it() {
    for loss in [Fault::drop_after("multi"), Fault::drop_before("multi")] {
        let server = Server::builder().emulate("3.8.1").start().expect("a free port");
        let worker = client(&server).await;
        let queue = End::Ack.queue(&worker);
        queue.put(b"tea").await.expect("put");
        queue.claim().await.expect("there is one").release().await.expect("ours");
        let claims = format!("{PATH}-__queue__/claims");
        let about_claims = |fault: Fault| fault.path(&format!("{claims}/*")).session(worker.session_id());
        server.inject(about_claims(Fault::delay_reply("exists", Duration::from_secs(1)).forever()));
        let claiming = tokio::spawn({
            let queue = queue.clone();
            async move { queue.claim().await }
        });
        eventually("it is claimed", || nodes_under(&server, &claims).len() == 1).await;
        server.inject(about_claims(loss));
        // Each attempt comes later than the one before it: the fourth when somebody has claimed the item anew.
        let attempt = |k| Fault::drop_before("multi").path(&claims).session(worker.session_id()).nth(k);
        let attempts = [1, 2, 3].map(|k| server.inject(attempt(k)));
        claiming.abort();
        drop(claiming.await);
        eventually("it is tried in vain", || server.fault_fired(attempts[2])).await;
        server.clear_faults();
        server.clear_log();
        let item = soon("the next claim", queue.claim()).await.expect("it is free");
        let has_looked =
            || server.log().iter().any(|entry| entry.parts.iter().any(|(_, part)| *part == claims));
        eventually("the deletion is tried again", has_looked).await;
        for _ in 0..20 {
            item.verify().await.expect("it stands");
        }
        item.ack().await.expect("ours");
    }
}

/// Whoever hears that its claim was taken away while an acknowledgement is under way cannot know yet whose doing that is.
#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_is_taken_away_while_its_end_is_in_doubt_is_told_as_lost_in_the_end() {
    let server = server();
    let retry = RetryOptions::default().base(Duration::from_millis(10)).give_up_after(Duration::from_secs(2));
    let worker = connected(&server, options(TEN).retry(retry)).await;
    let other = client(&server).await;
    let queue = End::Ack.queue(&worker);
    queue.put(b"tea").await.expect("put");
    let item = queue.claim().await.expect("there is one");
    let (tell, told) = tokio::sync::oneshot::channel();
    let _listening = item.on_lost(move |error| tell.send(error.reason()).unwrap_or_default());

    // Nor does it hear from its mark what became of it.
    let lost = Fault::drop_before("multi").path("/queues/**/marks/*").session(worker.session_id());
    let fault = server.inject(lost.forever());
    let ending = tokio::spawn(End::Ack.of(worker.clone(), item.clone()));
    eventually("the request is lost", || server.fault_fired(fault)).await;
    let claim = claim_of(&server);
    other.nodes().delete(&claim, None).await.expect("deleted");
    // What is told of the deletion comes before this answer.
    assert_eq!(soon("the look", worker.nodes().exists(&claim)).await.expect("answered"), None);
    server.inject(Fault::refuse_connections(1).forever());
    let error = soon("the end", ending).await.expect("joined").expect_err("nobody answers");
    assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{error}");
    assert_eq!(soon("the loss", told).await, Ok(Some(LostReason::Deleted)), "long before the session ends");
}

/// A nack lets go as a release does: whatever comes of it, the item is not ours any more.
#[tokio::test(flavor = "multi_thread")]
async fn of_an_item_whose_nack_has_failed_no_loss_is_told_and_the_error_names_the_nack() {
    for delay in [None, Some(Duration::ZERO)] {
        let server = server();
        let retry =
            RetryOptions::default().base(Duration::from_millis(10)).give_up_after(Duration::from_millis(500));
        let worker = connected(&server, options(TEN).retry(retry)).await;
        let other = client(&server).await;
        let queue = End::Ack.queue(&worker);
        queue.put(b"tea").await.expect("put");
        let item = queue.claim().await.expect("there is one");
        let (tell, told) = tokio::sync::oneshot::channel();
        let _listening = item.on_lost(move |error| tell.send(error.reason()).unwrap_or_default());

        let lost = Fault::drop_before("multi").path("/queues/**").session(worker.session_id());
        let fault = server.inject(lost.forever());
        let mut nack = Nack::default();
        nack.delay = delay;
        let error = soon("the nack", item.nack_with(nack)).await.expect_err("nobody answers");
        assert!(server.fault_fired(fault));
        assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{delay:?}: {error}");
        let said = error.to_string();
        assert!(said.contains("nack") && !said.contains("release"), "{delay:?}: {said}");
        assert!(!item.is_held());
        other.nodes().delete(&claim_of(&server), None).await.expect("by force");
        server.clear_faults();
        drop(soon("the next claim", End::Ack.queue(&other).claim()).await.expect("it is back"));
        assert!(soon("nobody tells", told).await.is_err(), "{delay:?}");
    }
}

/// Somebody takes the claim away by force, and `next` has the item: at the node of the same name.
async fn taken_over(server: &Server, other: &Client, next: &Queue) -> Item {
    other.nodes().delete(&claim_of(server), None).await.expect("deleted");
    soon("the other's claim", next.claim()).await.expect("it is free")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_that_somebody_else_has_by_now_is_known_to_be_lost() {
    let server = server();
    let (worker, other) = (client_with(&server, TEN).await, client(&server).await);
    let (queue, next) = (End::Ack.queue(&worker), End::Ack.queue(&other));
    queue.put(b"tea").await.expect("put");
    let item = queue.claim().await.expect("there is one");
    let theirs = taken_over(&server, &other, &next).await;
    // Nobody listens: only the heartbeat tells.
    let since = std::time::Instant::now();
    eventually("it is lost", || !item.is_held()).await;
    assert!(since.elapsed() < TEN / 4, "{:?}", since.elapsed());
    theirs.verify().await.expect("it stands");
    theirs.ack().await.expect("theirs");
    assert_tidy(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_listens_does_not_take_the_claim_of_the_next_one_for_its_own() {
    let server = server();
    let (worker, other) = (client_with(&server, TEN).await, client(&server).await);
    let (queue, next) = (End::Ack.queue(&worker), End::Ack.queue(&other));
    queue.put(b"tea").await.expect("put");
    let item = queue.claim().await.expect("there is one");
    let (tell, told) = tokio::sync::oneshot::channel();
    let _listening = item.on_lost(move |error| tell.send(error.reason()).unwrap_or_default());
    eventually("it watches its claim", || server.watch_count() > 0).await;

    let no_heartbeat =
        || Fault::drop_before("multi").path("/**/claims/*").session(worker.session_id()).forever();
    let away = server.inject(no_heartbeat());
    server.inject(Fault::refuse_connections(1).forever());
    eventually("it is away", || server.fault_fired(away)).await;
    let theirs = taken_over(&server, &other, &next).await;
    server.clear_faults();
    // Only the watch tells: at the end of the lease it would be a loss of the session.
    server.inject(no_heartbeat());
    assert_eq!(soon("the loss", told).await, Ok(Some(LostReason::Deleted)));
    server.clear_faults();
    theirs.verify().await.expect("it stands");
    theirs.ack().await.expect("theirs");
    assert_tidy(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_takes_a_claim_away_takes_not_that_of_the_next_one() {
    let server = server();
    let (worker, operator) = (client(&server).await, client(&server).await);
    let other = connected(&server, options(TEN).identity("other")).await;
    let [queue, next, all] = [&worker, &other, &operator]
        .map(|client| client.queue(PATH, QueueOptions::default()).expect("valid"));
    queue.put(b"tea").await.expect("put");
    let item = queue.claim().await.expect("there is one");
    let node = zkrecipes::drive::list_items(&all, 1).await.expect("listed").remove(0).path;
    let late = Fault::delay_request("multi", Duration::from_secs(1)).session(operator.session_id());
    let late = server.inject(late);
    let taking = tokio::spawn(zkrecipes::drive::break_claim(&all, node.clone()));
    eventually("it is on its way", || server.fault_fired(late)).await;
    item.release().await.expect("given back");
    let theirs = soon("the next one", next.claim()).await.expect("it is free");
    assert_eq!(
        soon("the answer", taking).await.expect("no panic").expect("asked"),
        None,
        "that one has gone"
    );
    theirs.verify().await.expect("it stands");
    let name = node.strip_prefix(PATH).expect("below it").trim_start_matches('/').to_owned();
    // An answer that gets lost says nothing else.
    server.inject(Fault::drop_after("multi").session(operator.session_id()));
    let who = zkrecipes::drive::break_claim(&all, name.clone()).await.expect("asked");
    assert_eq!(who.as_deref(), Some("other"));
    assert_eq!(theirs.verify().await.expect_err("it was taken").kind(), ErrorKind::NotHeld);
    assert_eq!(zkrecipes::drive::break_claim(&all, name).await.expect("asked"), None);
    assert_eq!(soon("the next one", queue.claim()).await.expect("it is free").attempts(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_asks_whether_a_claim_stands_that_somebody_else_has_hears_that_it_does_not() {
    let server = server();
    let (worker, other) = (client(&server).await, client(&server).await);
    let (queue, next) = (End::Ack.queue(&worker), End::Ack.queue(&other));
    for asks in [true, false] {
        queue.put(b"tea").await.expect("put");
        let item = queue.claim().await.expect("there is one");
        let writes = item.guarded();
        writes.create(EFFECT, b"", CreateMode::Persistent).expect("fits");
        let theirs = taken_over(&server, &other, &next).await;
        let answer = if asks { item.verify().await } else { writes.commit().await.map(drop) };
        let error = answer.expect_err("it is the other's");
        assert_eq!(
            (error.kind(), error.reason()),
            (ErrorKind::NotHeld, Some(LostReason::Deleted)),
            "{error}"
        );
        assert!(!item.is_held() && !stands(&server, EFFECT));
        theirs.verify().await.expect("it stands");
        theirs.ack().await.expect("theirs");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_claim_whose_item_is_gone_is_lost_and_leaves_nothing() {
    let server = server();
    let (worker, other) = (client(&server).await, client(&server).await);
    let queue = End::Ack.queue(&worker);
    queue.put(b"tea").await.expect("put");
    let item = queue.claim().await.expect("there is one");
    other.nodes().delete(&format!("{PATH}/qn-0000000000"), None).await.expect("deleted");
    eventually("it is lost", || !item.is_held()).await;
    assert_tidy(&server).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_that_may_not_be_read_any_more_hides_no_loss_of_another_one() {
    let server = server();
    let (worker, other) = (client(&server).await, client(&server).await);
    let queue = End::Ack.queue(&worker);
    queue.put_many(&["one", "two"]).await.expect("put");
    let items = queue.claim_many(2).await.expect("there are two");
    set_access(&server.connect_string(), &format!("{PATH}/qn-0000000000"), NO_READING);
    other.nodes().delete(items[1].node(), None).await.expect("deleted");
    eventually("it is lost", || !items[1].is_held()).await;
    assert!(items[0].is_held());
    let error = items[0].verify().await.expect_err("nobody may look");
    assert_eq!(error.kind(), ErrorKind::Denied, "{error}");
    items[0].ack().await.expect("ours");
}

/// Curator's encoding of two items.
const TWO: &[u8] = &[0, 1, 0, 1, 1, 0, 0, 0, 1, b'a', 1, 0, 0, 0, 1, b'b', 2];

/// What an end does to the item and the claim is no loss, also for a heartbeat that sees it first.
#[tokio::test(flavor = "multi_thread")]
async fn an_end_whose_answer_is_late_is_no_loss() {
    let four = Duration::from_secs(4);
    for (layout, is_acked) in
        [(QueueLayout::Simple, true), (QueueLayout::Simple, false), (QueueLayout::Distributed, true)]
    {
        let server = server();
        let worker = client_with(&server, four).await;
        let queue = worker.queue(PATH, QueueOptions::default().layout(layout)).expect("valid");
        match layout {
            QueueLayout::Distributed => {
                worker.nodes().ensure(PATH).await.expect("made");
                let node = format!("{PATH}/queue-");
                worker.nodes().create(&node, TWO, CreateMode::PersistentSequential).await.expect("created");
            }
            _ => queue.put(b"a").await.expect("put"),
        }
        let item = queue.claim().await.expect("there is one");
        assert_eq!(item.data(), b"a");
        let (tell, told) = std::sync::mpsc::channel();
        let _listening = item.on_lost(move |error| drop(tell.send(error)));
        let late = about_the_end(Fault::delay_reply("multi", Duration::from_millis(1500)), &worker);
        let late = server.inject(late);
        let ended = if is_acked { item.ack().await } else { item.nack().await };
        ended.expect("ours");
        assert!(server.fault_fired(late) && !item.is_held());
        item.verify().await.expect_err("it is done");
        assert!(told.try_recv().is_err(), "{layout:?}: it is no loss");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_item_guards_may_go_with_its_ack_and_with_that_of_another_one() {
    let server = server();
    let (worker, other) = (client(&server).await, client(&server).await);
    let (queue, next) = (End::Ack.queue(&worker), End::Ack.queue(&other));
    let effect = |item: &Item| {
        let effects = item.guarded();
        effects.create(EFFECT, b"", CreateMode::Persistent).expect("fits");
        effects
    };
    queue.put(b"one").await.expect("put");
    let item = queue.claim().await.expect("there is one");
    item.ack_with(&effect(&item)).await.expect("ours");
    other.nodes().delete(EFFECT, None).await.expect("it is there");

    queue.put(b"two").await.expect("put");
    let guarding = queue.claim().await.expect("there is one");
    let theirs = taken_over(&server, &other, &next).await;
    queue.put(b"three").await.expect("put");
    let item = queue.claim().await.expect("there is one");
    let error = item.ack_with(&effect(&guarding)).await.expect_err("what guards it is the other's");
    assert_eq!(error.kind(), ErrorKind::NotHeld, "{error}");
    assert!(!stands(&server, EFFECT) && item.is_held());
    item.ack().await.expect("ours");
    theirs.ack().await.expect("theirs");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_lock_guards_that_is_gone_does_not_go_with_an_ack() {
    let server = server();
    let (worker, other) = (client(&server).await, client(&server).await);
    let queue = End::Ack.queue(&worker);
    queue.put(b"one").await.expect("put");
    let item = queue.claim().await.expect("there is one");
    let lock = lock_of(&worker, "/locks/guarding");
    // Let go; deleted by somebody, of which the holder may not have heard yet, or has.
    for what in ["released", "deleted", "lost"] {
        let held = lock.acquire().await.expect("free");
        let effects = held.guarded();
        effects.create(EFFECT, b"", CreateMode::Persistent).expect("fits");
        match what {
            "released" => held.release().await.expect("held"),
            _ => {
                let node = nodes_under(&server, "/locks/guarding").pop().expect("it stands");
                other.nodes().delete(&node, None).await.expect("deleted");
                if what == "lost" {
                    eventually("it hears of that", || !held.is_held()).await;
                }
            }
        }
        let error = item.ack_with(&effects).await.expect_err("nothing guards it any more");
        assert_eq!(error.kind(), ErrorKind::NotHeld, "{what}: {error}");
        assert!(!held.is_held(), "{what}");
        assert!(!stands(&server, EFFECT) && item.is_held(), "{what}");
    }
    item.ack().await.expect("ours");
}

#[tokio::test(flavor = "multi_thread")]
async fn writes_of_another_client_do_not_go_with_an_ack() {
    let server = server();
    let worker = client(&server).await;
    let elsewhere = format!("{}/elsewhere", server.connect_string());
    let other = Client::connect(&elsewhere, Default::default()).await.expect("the server answers");
    let queue = End::Ack.queue(&worker);
    queue.put(b"one").await.expect("put");
    let item = queue.claim().await.expect("there is one");
    let effects = other.nodes().transaction();
    effects.create(EFFECT, b"", CreateMode::Persistent).expect("fits");
    let error = item.ack_with(&effects).await.expect_err("they would be written elsewhere");
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(!stands(&server, EFFECT) && item.is_held());
    item.ack().await.expect("ours");
}
