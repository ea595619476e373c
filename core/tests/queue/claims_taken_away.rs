//! Claims that somebody takes away. The next one may be done with the item while the request or the answer of the first one
//! is lost: that the item is gone then says nothing of what became of that.

use std::time::Duration;

use super::support::{client, client_with, connected, eventually, options, server, soon};
use super::{PATH, TEN};
use zkrecipes::{Client, CreateMode, Error, ErrorKind, Item, LostReason, Queue, QueueOptions, RetryOptions};
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

/// Not about the heartbeat, which asks for the claim only.
fn about_the_item(fault: Fault, client: &Client) -> Fault {
    fault.path(&format!("{PATH}/*")).session(client.session_id())
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

    let lost = server.inject(about_the_item(Fault::drop_before("multi"), &worker));
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
        let lost = server.inject(about_the_item(Fault::drop_after("multi"), &worker));
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
    server.inject(about_the_item(fault, &worker));
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
