//! How faces run the core's futures: blocking, called back, withdrawn, and never in a way that waits for itself.

use std::sync::Mutex;
use std::sync::mpsc::channel;
use std::time::Duration;

use zkrecipes::blocking::Item;
use zkrecipes::drive::{CancelToken, Tick, close_and_tell, start, wait};
use zkrecipes::{Client, Error, ErrorKind, Nack, Result, State};

#[test]
fn waiting_on_a_thread_of_the_runtime_is_a_deadlock_error() {
    let nested = wait(async { Ok(wait(async { Ok(1) }, None, None)) }, None, None).expect("the outer call");
    assert_eq!(nested.expect_err("would wait for itself").kind(), ErrorKind::Deadlock);
    let blocking = wait(
        async { Ok(zkrecipes::blocking::Client::connect("embedded:", Default::default()).map(drop)) },
        None,
        None,
    );
    assert_eq!(
        blocking.expect("the outer call").expect_err("would wait for itself").kind(),
        ErrorKind::Deadlock
    );
}

#[test]
fn a_verb_that_may_not_wait_has_not_begun() {
    let client = zkrecipes::blocking::Client::connect("embedded:", Default::default()).expect("connected");
    let queue = client.queue("/queues/mail", Default::default()).expect("valid");
    queue.put(b"hello").expect("put");
    let item = queue.claim().expect("there is one");
    let verbs: [fn(&Item) -> Result<()>; 3] =
        [Item::nack, |item| item.nack_with(Nack::default()), |item| item.ack_with(&item.guarded())];
    for verb in verbs {
        let item = item.clone();
        let refused = wait(async move { Ok(verb(&item)) }, None, None).expect("the outer call");
        assert_eq!(refused.expect_err("would wait for itself").kind(), ErrorKind::Deadlock);
    }
    item.ack().expect("still ours");
}

#[test]
fn a_completion_may_not_block_and_does_not_run_on_the_runtime() {
    let (sender, receiver) = channel();
    start(async { Ok(7) }, &CancelToken::new(), move |result| {
        let thread = std::thread::current().name().unwrap_or_default().to_owned();
        let blocked = wait(async { Ok(()) }, None, None).map_err(|error| error.kind());
        let _ = sender.send((result, thread, blocked));
    })
    .expect("started");
    let (result, thread, blocked) = receiver.recv_timeout(crate::support::SOON).expect("called");
    assert_eq!(result, Ok(7));
    assert_eq!(thread, "zkrecipes-call");
    assert_eq!(blocked, Err(ErrorKind::Deadlock));
}

#[test]
fn a_tick_is_seen_and_withdraws() {
    let mut ticks = 0;
    let mut hook = || {
        ticks += 1;
        ticks < 3
    };
    let tick = Tick { every: Duration::from_millis(5), hook: &mut hook };
    let result = wait(std::future::pending::<Result<(), Error>>(), None, Some(tick));
    assert_eq!(result.expect_err("withdrawn").kind(), ErrorKind::Cancelled);
    assert_eq!(ticks, 3);
}

#[test]
fn a_token_cancels_calls_made_before_and_after() {
    let token = CancelToken::new();
    let (sender, receiver) = channel();
    start(std::future::pending::<Result<(), Error>>(), &token, move |result| _ = sender.send(result))
        .expect("started");
    token.cancel();
    let error = receiver.recv_timeout(crate::support::SOON).expect("called").expect_err("cancelled");
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    let late = wait(async { Ok(1) }, Some(&token), None);
    assert_eq!(late.expect_err("cancelled").kind(), ErrorKind::Cancelled);
}

/// A task of the user's may use up what tokio gives it at a time, and who waits in it polls on its thread.
#[test]
fn a_call_that_blocks_a_task_of_another_runtime_takes_nothing_of_what_that_may_use() {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_stack_size(8 << 20)
        .build()
        .expect("a runtime");
    let (tell, told) = channel();
    runtime.spawn(async move {
        let many = async {
            for n in 0..1000 {
                let (sender, receiver) = tokio::sync::oneshot::channel();
                sender.send(n).expect("it is there");
                receiver.await.expect("sent");
            }
            Ok(())
        };
        let _ = tell.send(wait(many, None, None));
    });
    assert_eq!(told.recv_timeout(crate::support::SOON).expect("it ends"), Ok(()));
    runtime.shutdown_background();
}

#[test]
fn a_panic_in_a_call_is_an_internal_error() {
    async fn broken() -> Result<(), Error> {
        panic!("a mistake of ours")
    }
    assert_eq!(wait(broken(), None, None).expect_err("panicked").kind(), ErrorKind::Internal);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_closing_has_to_tell_is_told_before_it_is_over() {
    let client = Client::connect("embedded:", Default::default()).await.expect("connected");
    let (tell, told) = channel();
    let (end, ended) = channel::<()>();
    let ended = Mutex::new(ended);
    let _told = client.on_state(move |state| {
        let _ = tell.send(state);
        let _ = ended.lock().expect("one at a time").recv();
    });
    let mut closing = tokio::spawn(close_and_tell(client.clone(), None));
    assert_eq!(told.recv_timeout(crate::support::SOON), Ok(State::Closed));
    client.close(None).await.expect("closed");
    let early = tokio::time::timeout(Duration::from_millis(100), &mut closing).await;
    assert!(early.is_err(), "over while the callback runs");
    end.send(()).expect("it waits");
    closing.await.expect("joined").expect("closed");
    // What takes longer than the limit is not waited for.
    let client = Client::connect("embedded:", Default::default()).await.expect("connected");
    let (end, ended) = channel::<()>();
    let ended = Mutex::new(ended);
    let _told = client.on_state(move |_| _ = ended.lock().expect("one at a time").recv());
    close_and_tell(client, Some(Duration::from_millis(500))).await.expect("closed");
    drop(end);
}
