//! Items on which the work fails: they step aside, die in the end, and hide nothing.

use std::time::{Duration, Instant};

use super::support::ground::grounds;
use super::support::{client, connected, eventually, options, server, soon};
use super::{PATH, TEN, asked_by, queue_of};
use zkrecipes::{
    AclChoice, Auth, Client, CreateMode, ErrorKind, Nack, Queue, QueueLayout, QueueOptions, State,
};
use zkrecipes_embedded::{Fault, Server};

fn claims(server: &Server) -> usize {
    server.nodes().iter().filter(|node| node.contains("/claims/")).count()
}

async fn first_of_two(client: &Client) -> Queue {
    let queue = queue_of(client);
    queue.put_many(&["bad", "good"]).await.expect("put");
    queue
}

#[tokio::test(flavor = "multi_thread")]
async fn a_consumer_of_an_item_that_always_fails_is_idle_between_ever_longer_pauses() {
    let server = server();
    let client = client(&server).await;
    let queue = first_of_two(&client).await;
    server.clear_log();
    let (since, mut seen) = (Instant::now(), Vec::new());
    loop {
        let item = soon("a claim", queue.claim()).await.expect("there is one");
        seen.push((item.data().to_vec(), item.attempts()));
        match item.data() {
            b"good" => item.ack().await.expect("ours"),
            _ if item.attempts() == 3 => break,
            _ => item.nack().await.expect("ours"),
        }
    }
    let bad = |attempts| (b"bad".to_vec(), attempts);
    assert_eq!(seen, [bad(1), (b"good".to_vec(), 1), bad(2), bad(3)]);
    assert!(since.elapsed() >= Duration::from_secs(3), "a second, and two");
    let asked = asked_by(&server, &client);
    // A claim, a nack and what is looked at for each, the place in the line and its watches, and heartbeats.
    assert!(asked.len() < 70, "{} requests: {asked:?}", asked.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_that_was_settled_before_is_to_be_claimed() {
    let server = server();
    let client = client(&server).await;
    let item = first_of_two(&client).await.claim().await.expect("there is one");
    item.nack().await.expect("ours");
    let again = [item.ack().await, item.nack().await, item.release().await];
    for error in again.map(|answer| answer.expect_err("it was settled").to_string()) {
        assert_eq!(error, format!("not held: it was settled before; claim an item first ({PATH})"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_item_that_is_dropped_steps_aside_if_somebody_has_looked_at_it() {
    let server = server();
    let client = client(&server).await;
    let queue = first_of_two(&client).await;
    drop(queue.claim().await.expect("there is one"));
    let item = soon("a claim", queue.claim()).await.expect("it is back");
    assert_eq!((item.data(), item.attempts()), (&b"bad"[..], 2), "nobody's work on it has failed");
    drop(item);
    let next = soon("a claim", queue.claim()).await.expect("the next");
    assert_eq!(next.data(), b"good");
    next.ack().await.expect("ours");
    let again = soon("a claim", queue.claim()).await.expect("in two seconds");
    again.release().await.expect("ours");
    let released = queue.try_claim().await.expect("looked").expect("a release is no failure");
    assert_eq!(released.attempts(), 4);
    released.ack().await.expect("ours");
    eventually("nothing is left of claims and pauses", || claims(&server) == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pause_goes_with_the_item_whoever_takes_it() {
    let server = server();
    let client = client(&server).await;
    let queue = queue_of(&client);
    queue.put_many(&["bad", "good"]).await.expect("put");
    let item = queue.claim().await.expect("there is one");
    item.nack_with(Nack::default().delay(Duration::from_millis(300))).await.expect("ours");
    assert_eq!(claims(&server), 2, "two nodes say so");
    // As a peer does, which does not look at what stands beside an item.
    let node = server
        .nodes()
        .into_iter()
        .find(|node| node.starts_with(&format!("{PATH}/qn-")))
        .expect("it is there");
    client.nodes().delete(&node, None).await.expect("deleted");
    assert_eq!(soon("a get", queue.get()).await.expect("the other"), b"good");
    // Whoever looks after its end tidies up.
    let since = Instant::now();
    while claims(&server) > 0 && since.elapsed() < Duration::from_secs(20) {
        assert_eq!(queue.try_get().await.expect("looked"), None);
    }
    assert_eq!(claims(&server), 0);
}

/// It takes the item without a look at the pause. Its parent is a container, so the numbers begin anew.
#[tokio::test(flavor = "multi_thread")]
async fn the_pause_of_an_item_that_a_peer_has_taken_holds_up_no_later_one_of_its_name() {
    for is_watched in [false, true] {
        let server = server();
        let (first, other) = (client(&server).await, client(&server).await);
        let (queue, theirs) = (queue_of(&first), queue_of(&other));
        other.nodes().ensure("/queues").await.expect("made");
        other.nodes().create(PATH, b"", CreateMode::Container).await.expect("made");
        queue.put(b"old").await.expect("put");
        let item = queue.claim().await.expect("there is one");
        item.nack_with(Nack::default().delay(Duration::from_secs(3600))).await.expect("ours");
        let waiting = is_watched.then(|| {
            let theirs = theirs.clone();
            tokio::spawn(async move { theirs.get().await })
        });
        if is_watched {
            eventually("it waits", || server.watch_count() >= 2).await;
        }
        other.nodes().delete(&format!("{PATH}/qn-0000000000"), None).await.expect("it is there");
        if !is_watched {
            assert_eq!(theirs.try_get().await.expect("looked"), None);
        }
        eventually("the pause has gone", || claims(&server) == 0).await;
        other.nodes().delete(PATH, None).await.expect("it is empty");
        other.nodes().create(PATH, b"", CreateMode::Container).await.expect("made");
        queue.put(b"new").await.expect("put");
        let got = match waiting {
            Some(waiting) => soon("the get", waiting).await.expect("joined"),
            None => soon("the get", theirs.get()).await,
        };
        assert_eq!(got.expect("it is free"), b"new");
    }
}

/// Somebody has deleted one of the two nodes by hand.
#[tokio::test(flavor = "multi_thread")]
async fn half_a_pause_holds_up_nobody() {
    let server = server();
    let client = client(&server).await;
    let queue = queue_of(&client);
    queue.put(b"tea").await.expect("put");
    for (attempts, half) in [(1, "~"), (2, "ms")] {
        let item = soon("a claim", queue.claim()).await.expect("there is one");
        assert_eq!(item.attempts(), attempts);
        item.nack_with(Nack::default().delay(Duration::from_secs(3600))).await.expect("ours");
        let node = server
            .nodes()
            .into_iter()
            .find(|node| node.contains('~') && node.ends_with(half))
            .expect("it is paused");
        client.nodes().delete(&node, None).await.expect("deleted");
    }
    soon("a claim", queue.claim()).await.expect("it is free").ack().await.expect("ours");
    eventually("nothing is left of claims and pauses", || claims(&server) == 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_letter_that_cannot_be_read_hides_no_other() {
    let server = server();
    let client = client(&server).await;
    let options = QueueOptions::default().max_attempts(1).layout(QueueLayout::Distributed);
    let queue = client.queue(PATH, options).expect("valid");
    queue.put(b"good").await.expect("put");
    let odd = format!("{PATH}-__dead__/queue-");
    client.nodes().ensure(&format!("{PATH}-__dead__")).await.expect("made");
    client.nodes().create(&odd, b"odd", CreateMode::PersistentSequential).await.expect("created");
    queue.claim().await.expect("there is one").nack_with(Nack::default().reason("why")).await.expect("ours");

    let dead = queue.dead();
    assert_eq!(dead.peek().await.expect("looked").as_deref(), Some(&b"good"[..]));
    let letters = dead.items().await.expect("looked");
    let [odd, good] = &letters[..] else { panic!("{letters:?}") };
    assert!(odd.problem.is_some() && odd.id.starts_with("queue-") && odd.data == b"odd", "{odd:?}");
    assert_eq!((&*good.data, good.reason.as_deref(), good.attempts), (&b"good"[..], Some("why"), 1));
    assert_eq!(good.problem, None);
    assert!(good.died_at.elapsed().is_ok_and(|age| age < Duration::from_secs(600)), "{:?}", good.died_at);
    assert_eq!((*dead).items().await.expect("looked"), [b"good"], "the same of any queue");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_letter_that_may_not_be_read_keeps_no_other_from_being_replayed() {
    let server = server();
    let client = client(&server).await;
    let queue = client.queue(PATH, QueueOptions::default().max_attempts(1)).expect("valid");
    let letters = format!("{PATH}-__dead__");
    let own = options(TEN).auth(Auth::new("digest", "me:secret")).acl(AclChoice::Creator);
    let owner = Client::connect(&server.connect_string(), own).await.expect("it answers");
    client.nodes().ensure(&letters).await.expect("made");
    for name in ["a", "b", "c"] {
        let by = if name == "b" { &owner } else { &client };
        by.nodes()
            .create(&format!("{letters}/qn-"), name.as_bytes(), CreateMode::PersistentSequential)
            .await
            .expect("created");
    }
    for expected in [2, 0] {
        assert_eq!(queue.dead().replay().await.expect("replayed"), expected);
    }
    assert_eq!(queue.items().await.expect("looked"), [b"a", b"c"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reason_that_does_not_fit_beside_the_data_is_left_out() {
    let server = server();
    let client = client(&server).await;
    let queue = client.queue(PATH, QueueOptions::default().max_attempts(1)).expect("valid");
    // As long as an item may be that can be claimed.
    let mut size = 1 << 20;
    while queue.put(&vec![b'x'; size]).await.is_err() {
        size -= 64;
    }
    let item = soon("a claim", queue.claim()).await.expect("there is one");
    item.nack_with(Nack::default().reason("r".repeat(4000))).await.expect("it fits without");
    let letters = queue.dead().items().await.expect("looked");
    assert_eq!((letters.len(), letters[0].data.len(), letters[0].reason.clone()), (1, size, None));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dead_letter_that_may_not_be_read_has_its_date_where_servers_tell_it() {
    for (version, tells) in [("3.8.3", true), ("3.9.5", false)] {
        let server = Server::builder().emulate(version).start().expect("a free port");
        let client = client(&server).await;
        let queue = client.queue(PATH, QueueOptions::default().max_attempts(1)).expect("valid");
        let own = options(TEN).auth(Auth::new("digest", "me:secret")).acl(AclChoice::Creator);
        let owner = connected(&server, own).await;
        let letters = format!("{PATH}-__dead__");
        client.nodes().ensure(&letters).await.expect("made");
        for by in [&client, &owner, &client] {
            let node = format!("{letters}/qn-");
            by.nodes().create(&node, b"x", CreateMode::PersistentSequential).await.expect("created");
        }
        let told = queue.dead().items().await.expect("looked");
        let is_dated: Vec<_> =
            told.iter().map(|one| one.died_at.elapsed().is_ok_and(|age| age < TEN * 60)).collect();
        assert_eq!(is_dated, [true, tells, true], "{version}: {told:?}");
        assert!(told[1].problem.is_some() && told[1].data.is_empty(), "{told:?}");
        // Whatever their date.
        assert_eq!(queue.dead().purge(Duration::from_secs(3600)).await.expect("looked"), 0, "{version}");
        assert_eq!(queue.dead().purge(Duration::ZERO).await.expect("looked"), 3, "{version}");
        assert_eq!(queue.dead().items().await.expect("looked"), []);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_moves_an_item_to_the_dead_letters_has_no_more_time_for_that_than_for_its_get() {
    for is_cancelled in [false, true] {
        let server = server();
        let (first, other) = (client(&server).await, client(&server).await);
        let of =
            |client: &Client| client.queue(PATH, QueueOptions::default().max_attempts(1)).expect("valid");
        let (queue, theirs) = (of(&first), of(&other));
        queue.put(b"bad").await.expect("put");
        queue.claim().await.expect("there is one").release().await.expect("ours");
        server.inject(Fault::refuse_connections(1).forever());
        let letters = format!("{PATH}-__dead__/*");
        let lost = server.inject(Fault::drop_before("multi").path(&letters).session(first.session_id()));
        let getting = tokio::spawn({
            let queue = queue.clone();
            async move {
                match is_cancelled {
                    true => queue.get().await,
                    false => queue.get_timeout(Duration::from_secs(1)).await,
                }
            }
        });
        eventually("it is on its way", || server.fault_fired(lost)).await;
        if is_cancelled {
            queue.cancel();
        }
        let error = soon("the get", getting).await.expect("joined").expect_err("there is nothing else");
        let expected = if is_cancelled { ErrorKind::Cancelled } else { ErrorKind::Timeout };
        assert_eq!(error.kind(), expected, "{error}");
        server.clear_faults();
        assert_eq!(theirs.try_get().await.expect("looked"), None);
        assert_eq!((theirs.len().await, theirs.dead().len().await), (Ok(0), Ok(1)));
    }
}

/// Nothing of it is left to give back: its session has ended, and its claim with it.
#[tokio::test(flavor = "multi_thread")]
async fn what_is_lost_is_not_given_back() {
    for ground in grounds() {
        let mut options = options(Duration::from_millis(1500));
        options.retry.give_up_after = Some(Duration::from_secs(3600));
        let client = ground.client_with(options).await;
        let queue = client.queue("/queues/lost", Default::default()).expect("valid");
        queue.put(b"one").await.expect("put");
        let item = soon("an item", queue.claim()).await.expect("claimed");
        ground.go_away();
        eventually("there is no connection", || client.state() == State::Suspended).await;
        // The work has failed.
        soon("the end", item.leave(true)).await.expect("the error of the work is the one to tell");
        assert!(!item.is_held());
        ground.come_back();
        assert_eq!(soon("again", queue.claim()).await.expect("claimed").data(), b"one");
    }
}
