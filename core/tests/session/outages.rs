//! What verbs do while no server answers: who waits through it, who does not wait at all, and what the errors say.

use std::time::{Duration, Instant};

use crate::support::ground::{Ground, ground, grounds};
use crate::support::{client_with, connected, eventually, lock_of, options, server, soon};
use tokio::task::JoinSet;
use zkrecipes::{
    Client, ClientOptions, CreateMode, ErrorKind, Lock, QueueOptions, RetryOptions, State, drive,
};
use zkrecipes_embedded::{Fault, Server};

const PATH: &str = "/outages";
const TEN: Duration = Duration::from_secs(10);
/// For so long a verb without time waits for a connection.
const A_MOMENT: Duration = Duration::from_millis(250);

/// A short session timeout, and short pauses.
fn hasty() -> ClientOptions {
    let retry = RetryOptions::default().base(Duration::from_millis(10)).max(Duration::from_millis(50));
    options(Duration::from_millis(1500)).retry(retry)
}

async fn gives_up_after(ground: &Ground, budget: Duration) -> Client {
    let (base, max) = (Duration::from_millis(10), Duration::from_millis(50));
    let retry = RetryOptions::default().base(base).max(max).give_up_after(budget);
    ground.client_with(options(Duration::from_millis(1500)).retry(retry)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wait_without_a_limit_outlasts_an_outage_in_which_it_began() {
    let budget = Duration::from_secs(1);
    for ground in grounds() {
        let (client, other) = (gives_up_after(&ground, budget).await, ground.client(TEN).await);
        let barrier = other.barrier(&format!("{PATH}/barrier")).expect("valid");
        barrier.create().await.expect("up");
        ground.go_away();
        eventually("there is no session", || client.state() == State::Lost).await;
        let mut waits = JoinSet::new();
        let lock = lock_of(&client, &format!("{PATH}/lock"));
        waits.spawn(async move { lock.acquire().await?.release().await });
        let election = client.election(&format!("{PATH}/election"), b"", Default::default()).expect("valid");
        waits.spawn(async move { election.campaign().await?.release().await });
        let semaphore = client.semaphore(&format!("{PATH}/permits"), 1).expect("valid");
        waits.spawn(async move { semaphore.acquire(1).await?.release().await });
        let both = [lock_of(&client, &format!("{PATH}/a")), lock_of(&client, &format!("{PATH}/b"))];
        let both = client.multi_lock(&both).expect("valid");
        waits.spawn(async move { both.acquire().await?.release().await });
        let queue = client.queue(&format!("{PATH}/queue"), Default::default()).expect("valid");
        let claims = queue.clone();
        waits.spawn(async move { queue.get().await.map(drop) });
        waits.spawn(async move { claims.claim().await?.ack().await });
        let bounded = QueueOptions::default().max_items(1);
        let bounded = client.queue(&format!("{PATH}/bounded"), bounded).expect("valid");
        waits.spawn(async move { bounded.put(b"item").await });
        let down = client.barrier(&format!("{PATH}/barrier")).expect("valid");
        waits.spawn(async move { down.wait(None).await });
        let double = client.double_barrier(&format!("{PATH}/double"), 1, Default::default()).expect("valid");
        waits.spawn(async move {
            double.enter(None).await?;
            double.leave(None).await
        });
        let count = waits.len();
        // Who does not wait for others keeps the budget, and those who do have begun before.
        let error = soon("the end", client.nodes().exists(PATH)).await.expect_err("no answer");
        assert_eq!(error.kind(), ErrorKind::ConnectionLost);
        assert!(error.to_string().contains("retry budget"), "{error}");
        if let Some(ended) = waits.try_join_next() {
            panic!("ended in the outage: {ended:?}");
        }
        ground.come_back();
        let items = other.queue(&format!("{PATH}/queue"), Default::default()).expect("valid");
        eventually("it is back", || other.state() == State::Connected).await;
        for _ in 0..2 {
            while items.put(b"item").await.is_err() {}
        }
        while barrier.remove().await.is_err() {}
        for _ in 0..count {
            let ended = soon("the end", waits.join_next()).await.expect("one is left");
            ended.expect("no panic").expect("it outlasts the outage");
        }
    }
}

/// The server is away for longer than the session timeout of the client, which it has told nobody: its clock stands still.
async fn outlast(server: &Server, client: &Client) {
    server.freeze_clock();
    server.stop();
    eventually("the client gives its session up", || client.state() == State::Lost).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_held_before_a_long_outage_is_free_as_soon_as_there_is_a_server() {
    let server = server();
    let (client, other) = (connected(&server, hasty()).await, client_with(&server, TEN).await);
    let lock = lock_of(&client, &format!("{PATH}/held"));
    let held = soon("a lock", lock.acquire()).await.expect("free");
    let old = client.session_id();
    outlast(&server, &client).await;
    assert!(!held.is_held());
    server.restart().expect("the port is ours");
    // Sessions do not end by themselves here: they are closed, or stand for ever.
    let taken = soon("it is free", lock_of(&other, &format!("{PATH}/held")).acquire()).await.expect("free");
    assert!(!server.sessions().contains(&old));
    taken.release().await.expect("ours");
    assert!(!held.is_held(), "what was lost comes back");
    assert_eq!(server.sessions().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_was_given_up_is_closed_although_nobody_hears_it_at_first_and_the_client_closes() {
    let server = server();
    let client = connected(&server, hasty()).await;
    let old = client.session_id();
    outlast(&server, &client).await;
    // Of the first that tries to, nobody hears what becomes of it.
    let lost = server.inject(Fault::drop_before("close").session(old));
    server.restart().expect("the port is ours");
    eventually("there is a session", || client.state() == State::Connected).await;
    soon("the end", client.close(Some(TEN))).await.expect("closed");
    assert!(server.fault_fired(lost), "it was not tried");
    assert_eq!(server.sessions(), [0; 0], "left behind by who has closed");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_gives_no_time_does_not_wait_for_a_server() {
    for ground in grounds() {
        let client = gives_up_after(&ground, Duration::from_secs(60)).await;
        let lock = lock_of(&client, &format!("{PATH}/lock"));
        let queue = client.queue(&format!("{PATH}/queue"), Default::default()).expect("valid");
        let barrier = client.barrier(&format!("{PATH}/barrier")).expect("valid");
        let partitions = client.partitioner(&format!("{PATH}/partitions"), 1, Default::default());
        let partitions = partitions.expect("valid");
        let other = ground.client(TEN * 6).await;
        let others =
            soon("a lock", lock_of(&other, &format!("{PATH}/others")).acquire()).await.expect("free");
        let sequencer = others.sequencer();
        for state in [State::Suspended, State::Lost] {
            ground.go_away();
            eventually("there is no connection", || client.state() == state).await;
            // One that has time, and was there before: nobody without time waits behind it.
            let patient = tokio::spawn(lock_of(&client, &format!("{PATH}/lock")).acquire());
            eventually("it waits", || client.metrics().waiting == 1).await;
            let began = Instant::now();
            let errors = [
                soon("the end", lock.try_acquire()).await.expect_err("no server"),
                soon("the end", queue.try_get()).await.expect_err("no server"),
                soon("the end", barrier.wait(Some(Duration::ZERO))).await.expect_err("no server"),
                soon("the end", queue.put_timeout(b"item", Duration::ZERO)).await.expect_err("no server"),
                soon("the end", partitions.next(Some(Duration::ZERO))).await.expect_err("no server"),
                soon("the end", drive::watch_sequencer(&client, &sequencer, Some(Duration::ZERO)))
                    .await
                    .expect_err("no server"),
            ];
            let after = began.elapsed();
            for error in errors {
                assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{error}");
                assert!(error.to_string().contains("no connection"), "{error}");
            }
            assert!(after < Duration::from_secs(10), "{state:?}: {after:?} for all");
            patient.abort();
            eventually("nobody waits", || client.metrics().waiting == 0).await;
        }
        ground.come_back();
        eventually("there is one", || client.state() == State::Connected).await;
        let held = soon("an answer", lock.try_acquire()).await.expect("a server").expect("it is free");
        held.release().await.expect("released");
        tries_through_a_break(&ground, &client, &lock).await;
        // It has joined in the background, or does now.
        let won = soon("a partition", partitions.next(Some(TEN))).await.expect("the only member");
        won.release().await.expect("released");
        soon("the end", partitions.leave()).await.expect("it was a member");
        others.release().await.expect("released");
        ground.assert_nothing_left(&format!("{PATH}/lock")).await;
    }
}

/// A connection that is made again at once is not missed; where a machine is late, that takes longer than such a try waits.
async fn tries_through_a_break(ground: &Ground, client: &Client, lock: &Lock) {
    for _ in 0..10 {
        let broke = Instant::now();
        ground.break_connections();
        match soon("an answer", lock.try_acquire()).await {
            Ok(held) => return held.expect("it is free").release().await.expect("released"),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::ConnectionLost, "{error}");
                assert!(broke.elapsed() >= A_MOMENT, "it did not wait: {error}");
            }
        }
        eventually("there is another one", || client.state() == State::Connected).await;
    }
    panic!("no try went through a break");
}

/// The lease of a session is counted from when that was asked for, and not from when somebody began to look for a server.
#[tokio::test(flavor = "multi_thread")]
async fn the_first_acquire_in_a_session_does_not_wait_however_long_the_server_was_away() {
    let timeout = Duration::from_secs(8);
    for ground in grounds() {
        ground.go_away();
        let (hosts, asks) = (ground.hosts(), options(timeout).connect_timeout(TEN * 3));
        let connecting = tokio::spawn(async move { Client::connect(&hosts, asks).await });
        let away = timeout * 9 / 16;
        // How long it is away is the subject.
        tokio::time::sleep(away).await;
        ground.come_back();
        let client = soon("a session", connecting).await.expect("no panic").expect("a server");
        let lock = lock_of(&client, &format!("{PATH}/lock"));
        let acquired = async |what: &str| {
            let began = Instant::now();
            let held = soon("the lock", lock.acquire()).await.expect("free");
            // Where the first answers are slow, the next heartbeat has to make it certain; counted from the dial, it took 0.4 T.
            assert!(began.elapsed() < timeout / 4, "{what}: {:?}", began.elapsed());
            held.release().await.expect("released");
        };
        acquired("the first session").await;
        ground.go_away();
        eventually("the session is lost", || client.state() == State::Lost).await;
        tokio::time::sleep(away).await;
        ground.come_back();
        eventually("there is another one", || client.state() == State::Connected).await;
        acquired("the next session").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_got_lost_is_not_said_to_have_been_waited_for() {
    let ground = ground();
    let client = ground.client(TEN).await;
    client.nodes().ensure(PATH).await.expect("there");
    let node = format!("{PATH}/a");
    ground.inject(Fault::drop_after("create*"));
    let error = client.nodes().create(&node, b"", CreateMode::Persistent).await.expect_err("no answer");
    assert_eq!(error.kind(), ErrorKind::ConnectionLost);
    assert!(!error.to_string().contains("budget") && error.to_string().contains("unknown"), "{error}");
    assert!(client.nodes().exists(&node).await.expect("asked").is_some());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_create_without_its_parent_says_which_node_is_missing() {
    let ground = ground();
    let client = ground.client(TEN).await;
    let (node, parent) = (format!("{PATH}/x/y/z"), format!("its parent {PATH}/x/y"));
    let alone = client.nodes().create(&node, b"", CreateMode::Persistent).await.expect_err("no parent");
    let writes = client.nodes().transaction();
    writes.create(&node, b"", CreateMode::Persistent).expect("valid");
    let together = writes.commit().await.expect_err("no parent");
    let held = lock_of(&client, &format!("{PATH}/lock")).acquire().await.expect("free");
    let guarded = held.guarded();
    guarded.create(&node, b"", CreateMode::Persistent).expect("valid");
    let guarded = guarded.commit().await.expect_err("no parent");
    for error in [alone, together, guarded] {
        assert_eq!((error.kind(), error.path()), (ErrorKind::NoNode, Some(&*node)));
        assert!(error.to_string().contains(&parent), "{error}");
    }
    held.release().await.expect("released");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_close_that_nobody_confirms_says_that_the_session_ends_by_itself() {
    let server = server();
    let client = Client::connect(&server.connect_string(), options(TEN)).await.expect("connected");
    server.pause();
    let error = client.close(Some(Duration::from_millis(50))).await.expect_err("no server answers");
    assert_eq!(error.kind(), ErrorKind::Timeout);
    let said = error.to_string();
    assert!(said.contains("nothing is left to do: it ends by itself") && said.contains("10s"), "{said}");
    server.resume();
}
