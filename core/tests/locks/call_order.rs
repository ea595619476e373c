//! The order of the calls of one client.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use futures_util::FutureExt;
use futures_util::future::{join, join_all};

use crate::support::ground::{Ground, grounds};
use crate::support::lateness::Lateness;
use crate::support::{eventually, lock_of, options, soon};
use zkrecipes::{Auth, Client, ErrorKind, LockOptions, RetryOptions, drive};
use zkrecipes_embedded::Fault;

const TEN: Duration = Duration::from_secs(10);
/// After which who seems to be left alone is passed.
const STUCK: Duration = Duration::from_secs(2);

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_were_made_one_after_the_other_are_served_in_that_order() {
    for ground in grounds() {
        let (client, other) = (ground.client(TEN).await, ground.client(TEN).await);
        // Each path is new once, and known then, and has gone without a word, as servers collect what is empty.
        for round in 0..60 {
            let path = format!("/locks/order-{}", round % 20);
            if round >= 40 {
                other.nodes().delete(&path, None).await.expect("empty");
            }
            let tokens = tokens_of_eight(&client, &path).await;
            assert!(tokens.is_sorted(), "round {round}: {tokens:?}");
        }
    }
}

/// What eight calls are given which are made one after the other.
async fn tokens_of_eight(client: &Client, path: &str) -> Vec<u64> {
    let calls = Vec::from_iter((0..8).map(|_| {
        let acquiring = drive::acquire(&lock_of(client, path), 1, None);
        tokio::spawn(async move {
            let held = acquiring.await.expect("the lock").hand_over();
            let token = held.fencing_token();
            held.release().await.expect("released");
            token
        })
    }));
    let mut tokens = Vec::new();
    for call in calls {
        tokens.push(soon("the lock", call).await.expect("joined"));
    }
    tokens
}

/// The one before is not left alone then: it is unanswered, as everybody is.
#[tokio::test(flavor = "multi_thread")]
async fn calls_keep_their_order_while_the_server_pauses() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        ground.inject(Fault::delay_request("create*", Duration::from_millis(2600)).path("/paused/**"));
        let tokens = tokens_of_eight(&client, "/paused/by/the/server").await;
        assert!(tokens.is_sorted(), "{tokens:?}");
    }
}

/// Their nodes have gone with the session, and each queues again.
#[tokio::test(flavor = "multi_thread")]
async fn calls_that_wait_keep_their_order_when_the_session_ends() {
    for ground in grounds() {
        let other = ground.client(TEN).await;
        for round in 0..8 {
            let (path, client) = (format!("/locks/again-{round}"), ground.client(TEN).await);
            let is_semaphore = round % 2 == 1;
            let acquire = |client: &Client| match is_semaphore {
                true => drive::acquire(&client.semaphore(&path, 1).expect("valid"), 1, None),
                false => drive::acquire(&lock_of(client, &path), 1, None),
            };
            let held = acquire(&other).await.expect("free").hand_over();
            let folder = if is_semaphore { format!("{path}/locks") } else { path.clone() };
            // Of the holder of permits only those are left.
            let others = if is_semaphore { 0 } else { 1 };
            let (served, order) = channel();
            let stand = |ground: &Ground, many: usize| ground.nodes_under(&folder).len() == many + others;
            let mut waits = Vec::new();
            for number in 0..8 {
                let (acquiring, served) = (acquire(&client), served.clone());
                waits.push(tokio::spawn(async move {
                    let held = acquiring.await.expect("it comes").hand_over();
                    served.send(number).expect("the test goes on");
                    held.release().await.expect("released");
                }));
                // Who waits in memory counts those of its own client alone, and the others when it has looked.
                let waits = || client.metrics().queue_depth_max >= number.max(others) as u64;
                eventually("it waits", || stand(&ground, number + 1) && waits()).await;
            }
            let session = client.session_id();
            ground.expire(session).await;
            eventually("they queue again", || client.session_id() != session && stand(&ground, 8)).await;
            held.release().await.expect("released");
            for wait in waits {
                soon("its turn", wait).await.expect("joined");
            }
            drop(served);
            assert_eq!(order.iter().collect::<Vec<_>>(), (0..8).collect::<Vec<_>>(), "round {round}");
            client.close(None).await.expect("closed");
        }
    }
}

/// Whatever is missing, which whoever finds that makes first.
#[tokio::test(flavor = "multi_thread")]
async fn of_a_value_the_last_change_stays_and_a_name_has_who_came_first() {
    const VALUES: [&[u8]; 4] = [b"1", b"2", b"3", b"4"];
    for ground in grounds() {
        let client = ground.client(TEN).await;
        for round in 0..20 {
            let path = format!("/order/{round}/value");
            let config = client.config(&path).expect("valid");
            for set in join_all(VALUES.map(|value| config.set(value, None))).await {
                set.expect("set");
            }
            assert_eq!(config.get().await.expect("read").expect("set").value, b"4", "round {round}");
            let names = client.names(&format!("/order/{round}/names")).expect("valid");
            for (name, ephemeral) in [("for-good", false), ("for-now", true)] {
                let bound = join_all(VALUES.map(|value| names.bind(name, value, ephemeral))).await;
                assert_eq!(bound.iter().filter(|bound| bound.is_ok()).count(), 1, "{bound:?}");
                assert_eq!(names.lookup(name).await.expect("read"), Some(b"1".to_vec()), "{name}, {round}");
                names.unbind(name).await.expect("ours");
            }
        }
        client.nodes().delete_all("/order").await.expect("deleted");
    }
}

/// One looks before it deletes, or makes what is missing above it first.
#[tokio::test(flavor = "multi_thread")]
async fn of_calls_that_undo_each_other_the_last_one_counts() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        for round in 0..20 {
            let barrier = client.barrier(&format!("/undone/{round}/barrier")).expect("valid");
            let (up, down) = join(barrier.create(), barrier.remove()).await;
            up.and(down).expect("up and down");
            assert!(!barrier.is_up().await.expect("read"), "round {round}");
            let (down, up) = join(barrier.remove(), barrier.create()).await;
            down.and(up).expect("down and up");
            assert!(barrier.is_up().await.expect("read"), "round {round}");
            let names = client.names(&format!("/undone/{round}/names")).expect("valid");
            for (name, ephemeral) in [("for-good", false), ("for-now", true)] {
                let (first, gone) = (names.bind(name, b"1", ephemeral), names.unbind(name));
                let ((first, gone), last) = join(join(first, gone), names.bind(name, b"2", ephemeral)).await;
                first.and(gone).and(last).expect("one after the other");
                assert_eq!(names.lookup(name).await.expect("read"), Some(b"2".to_vec()), "{name}, {round}");
                names.unbind(name).await.expect("ours");
            }
        }
        client.nodes().delete_all("/undone").await.expect("deleted");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_leader_says_last_is_what_others_are_told() {
    const WORDS: [&[u8]; 6] = [b"0", b"1", b"2", b"3", b"4", b"5"];
    for ground in grounds() {
        let client = ground.client(TEN).await;
        let election = client.election("/order/leader", b"", Default::default()).expect("valid");
        let leads = soon("leading", election.campaign()).await.expect("free");
        for round in 0..20 {
            for said in join_all(WORDS.map(|word| leads.acknowledge(word))).await {
                said.expect("it leads");
            }
            let told = election.leader().await.expect("read").expect("one leads");
            assert_eq!(told.data, b"5", "round {round}");
        }
        leads.release().await.expect("resigned");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn local_hand_off_keeps_the_order_too() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        for round in 0..20 {
            let path = format!("/locks/handed-{}", round % 10);
            let calls: Vec<_> = (0..8)
                .map(|_| {
                    let lock = client.lock(&path, LockOptions::default().local_handoff(20)).expect("valid");
                    let acquiring = drive::acquire(&lock, 1, None);
                    tokio::spawn(async move {
                        let held = acquiring.await.expect("the lock").hand_over();
                        let token = (held.fencing_token(), held.passes());
                        held.release().await.expect("released");
                        token
                    })
                })
                .collect();
            let mut tokens = Vec::new();
            for call in calls {
                tokens.push(soon("the lock", call).await.expect("joined"));
            }
            assert!(tokens.is_sorted(), "round {round}: {tokens:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_is_dropped_before_it_has_queued_makes_room() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        let slow =
            ground.inject(Fault::delay_reply("create*", Duration::from_millis(200)).path("/locks/room/**"));
        let first = tokio::spawn(drive::acquire(&lock_of(&client, "/locks/room"), 1, None));
        let never_polled = drive::acquire(&lock_of(&client, "/locks/room"), 1, None);
        let second = lock_of(&client, "/locks/room");
        let second = tokio::spawn(drive::acquire(&second, 1, None));
        eventually("the first one queues", || ground.fault_fired(slow)).await;
        drop(never_polled);
        drop(soon("the first", first).await.expect("joined").expect("free"));
        drop(soon("the second", second).await.expect("joined").expect("free"));
        ground.assert_nothing_left("/locks/room").await;
    }
}

/// Who makes a future of Rust and leaves it alone keeps nobody else waiting but its own handle, and those keep their order.
#[tokio::test(flavor = "multi_thread")]
async fn a_future_that_nobody_polls_keeps_no_other_handle_waiting() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        let idle = lock_of(&client, "/locks/idle").acquire();
        let tokens = tokens_of_eight(&client, "/locks/idle").await;
        assert!(tokens.is_sorted(), "{tokens:?}");
        drop(idle);
    }
}

/// Else a call may be answered while it is polled for the first time, if its thread has to wait for a processor.
fn unanswered() -> Fault {
    Fault::delay_request("*", Duration::from_millis(300)).forever()
}

/// They have asked, and are left alone then.
#[tokio::test(flavor = "multi_thread")]
async fn futures_that_nobody_polls_any_more_keep_no_acquire_waiting() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        let acquire = || Box::pin(lock_of(&client, "/locks/left").acquire());
        let mut left = [acquire(), acquire(), acquire()];
        ground.inject(unanswered());
        for call in &mut left {
            assert!(call.now_or_never().is_none(), "it waits");
        }
        ground.clear_faults();
        let tokens = tokens_of_eight(&client, "/locks/left").await;
        assert!(tokens.is_sorted(), "{tokens:?}");
        for call in left {
            let held = soon("the lock", call).await.expect("it goes on");
            held.release().await.expect("released");
        }
        ground.assert_nothing_left("/locks/left").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_that_nobody_polls_any_more_keep_no_other_waiting() {
    for ground in grounds() {
        let retry = RetryOptions::default().give_up_after(Duration::from_secs(3));
        let client = ground.client_with(options(TEN).retry(retry)).await;
        let config = client.config("/order/left").expect("valid");
        let mut left = [Box::pin(config.set(b"1", None)), Box::pin(config.set(b"2", None))];
        ground.inject(unanswered());
        for change in &mut left {
            assert!(change.now_or_never().is_none(), "it waits");
        }
        ground.clear_faults();
        soon("the change", config.set(b"3", None)).await.expect("set");
        assert_eq!(config.get().await.expect("read").expect("set").value, b"3");
        drop(left);
    }
}

/// Each of its many requests is answered soon, and it is polled then.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_goes_on_is_not_passed_however_long_it_takes() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        let soon_enough = Duration::from_millis(300);
        ground.inject(Fault::delay_reply("create*", soon_enough).path("/order/goes/on/**").forever());
        let tokens = tokens_of_eight(&client, "/order/goes/on/1/2/3/4/5/6/7/8/9").await;
        assert!(tokens.is_sorted(), "{tokens:?}");
        ground.clear_faults();
    }
}

/// The first request is lost, and nobody polls its call before that asks again.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_pauses_is_not_passed() {
    for ground in grounds() {
        let pause = Duration::from_secs(7);
        let client =
            ground.client_with(options(TEN).retry(RetryOptions::default().base(pause).max(pause))).await;
        let lost = ground.inject(Fault::drop_before("create*").path("/order/pauses/**"));
        let tokens = tokens_of_eight(&client, "/order/pauses").await;
        assert!(ground.fault_fired(lost) && tokens.is_sorted(), "{tokens:?}");
    }
}

/// It looks at what is above its path before it has its turn.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_for_permits_that_pauses_is_not_passed() {
    for ground in grounds() {
        let pause = Duration::from_secs(7);
        let retry = RetryOptions::default().base(pause).max(pause);
        let client =
            ground.client_with(options(TEN).retry(retry).auth(Auth::new("digest", "me:secret"))).await;
        let path = "/limits/pauses";
        client.nodes().ensure(path).await.expect("there");
        let lost = ground.inject(Fault::drop_before("getACL").path(path));
        let (served, order) = channel();
        let calls = Vec::from_iter((0..3).map(|number| {
            let acquiring = drive::acquire(&client.semaphore(path, 1).expect("valid"), 1, None);
            let served = served.clone();
            tokio::spawn(async move {
                let held = acquiring.await.expect("a permit").hand_over();
                served.send(number).expect("the test goes on");
                held.release().await.expect("released");
            })
        }));
        for call in calls {
            soon("a permit", call).await.expect("joined");
        }
        drop(served);
        assert!(ground.fault_fired(lost));
        assert_eq!(order.iter().collect::<Vec<_>>(), [0, 1, 2]);
    }
}

/// Calls of one client that wait behind another client.
struct Queue {
    client: Client,
    path: String,
    calls: Vec<tokio::task::JoinHandle<()>>,
    served: Sender<usize>,
    order: Receiver<usize>,
}

impl Queue {
    async fn of(ground: &Ground, client: Client, path: &str, many: usize) -> Queue {
        let ((served, order), path) = (channel(), path.to_owned());
        let mut queue = Queue { client, path, calls: Vec::new(), served, order };
        for _ in 0..many {
            queue.add(ground).await;
        }
        queue
    }

    /// One more queues.
    async fn add(&mut self, ground: &Ground) {
        let (number, served) = (self.calls.len(), self.served.clone());
        let acquiring = drive::acquire(&lock_of(&self.client, &self.path), 1, None);
        self.calls.push(tokio::spawn(async move {
            let held = acquiring.await.expect("the lock").hand_over();
            served.send(number).expect("the test goes on");
            held.release().await.expect("released");
        }));
        let waits = || self.client.metrics().queue_depth_max >= number.max(1) as u64;
        eventually("it waits", || self.stands(ground) == number + 1 && waits()).await;
    }

    /// How many of them stand, behind the one of the other client.
    fn stands(&self, ground: &Ground) -> usize {
        ground.nodes_under(&self.path).len() - 1
    }

    /// In which order they are served.
    async fn served(self) -> Vec<usize> {
        for call in self.calls {
            soon("the lock", call).await.expect("joined");
        }
        drop(self.served);
        self.order.iter().collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_pauses_is_not_passed_when_the_session_has_ended() {
    for ground in grounds() {
        let (pause, path) = (Duration::from_secs(6), "/locks/pauses-again");
        let other = ground.client(TEN).await;
        let held = lock_of(&other, path).acquire().await.expect("free");
        let retry = RetryOptions::default().base(pause).max(pause);
        let client = ground.client_with(options(TEN).retry(retry)).await;
        let queue = Queue::of(&ground, client, path, 3).await;
        let lost = ground.inject(Fault::drop_before("create2").path("/locks/pauses-again/**"));
        ground.expire(queue.client.session_id()).await;
        eventually("they queue again", || ground.fault_fired(lost) && queue.stands(&ground) == 3).await;
        held.release().await.expect("released");
        assert_eq!(queue.served().await, [0, 1, 2]);
    }
}

/// It stands there, as if the answer had come.
#[tokio::test(flavor = "multi_thread")]
async fn who_finds_its_node_again_after_a_lost_answer_keeps_no_later_call_waiting() {
    for ground in grounds() {
        let (client, other) = (ground.client(TEN).await, ground.client(TEN).await);
        let path = "/locks/found";
        let held = lock_of(&other, path).acquire().await.expect("free");
        let first_is_lost = || ground.inject(Fault::drop_after("create2").path("/locks/found/**"));
        let lost = first_is_lost();
        let mut queue = Queue::of(&ground, client, path, 1).await;
        assert!(ground.fault_fired(lost));
        // Its own node and the one ahead.
        eventually("it watches", || ground.requests_of(&queue.client, "getData").len() >= 2).await;
        let (began, lateness) = (Instant::now(), Lateness::measured());
        let is_soon = |began: Instant| began.elapsed() < STUCK || lateness.was_late();
        let tried = soon("an answer", lock_of(&queue.client, path).try_acquire()).await.expect("asked");
        assert!(tried.is_none() && is_soon(began), "after {:?}", began.elapsed());
        // And when all queue again.
        eventually("the try is over", || queue.stands(&ground) == 1).await;
        queue.add(&ground).await;
        let (lost, session, began) = (first_is_lost(), queue.client.session_id(), Instant::now());
        ground.expire(session).await;
        let is_new = || queue.client.session_id() != session;
        eventually("they queue again", || is_new() && queue.stands(&ground) == 2).await;
        assert!(ground.fault_fired(lost) && is_soon(began), "after {:?}", began.elapsed());
        held.release().await.expect("released");
        assert_eq!(queue.served().await, [0, 1]);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_try_that_waits_for_an_earlier_call_ends_without_a_connection() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        let slow = Duration::from_millis(200);
        ground.inject(Fault::delay_reply("create*", slow).path("/tried/**").forever());
        let path = "/tried/1/2/3/4/5/6/7/8";
        let first = tokio::spawn(drive::acquire(&lock_of(&client, path), 1, None));
        eventually("the first one asks", || ground.count("create*", "/tried") > 0).await;
        let trying = tokio::spawn(lock_of(&client, path).try_acquire());
        let before = ground.count("create*", "/tried");
        eventually("the session is answered", || ground.count("create*", "/tried") > before + 2).await;
        assert!(!first.is_finished() && !trying.is_finished());
        ground.go_away();
        let error = soon("the end", trying).await.expect("it does not panic").expect_err("not tried");
        assert_eq!(error.kind(), ErrorKind::ConnectionLost);
        first.abort();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_is_deleted_although_answers_are_lost() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        for node in ["/tree/a/b", "/tree/c"] {
            client.nodes().ensure(node).await.expect("created");
        }
        for lost in [Fault::drop_after("delete"), Fault::drop_before("delete")] {
            client.nodes().ensure("/tree/a/b").await.expect("created");
            let fault = ground.inject(lost.path("/tree/a/b"));
            soon("the deletion", client.nodes().delete_all("/tree")).await.expect("deleted");
            assert!(ground.fault_fired(fault));
            assert_eq!(client.nodes().children("/tree").await.expect_err("gone").kind(), ErrorKind::NoNode);
        }
    }
}
