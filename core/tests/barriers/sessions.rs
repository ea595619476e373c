//! Members of a double barrier that lose their session while they wait, and a server that keeps it, and their node, for longer.

use std::time::{Duration, Instant};

use tokio::task::JoinHandle;

use crate::support::ground::{Ground, grounds};
use crate::support::rounds::{PATH, TEN, children, count_is, done, entering, leaving, nothing_left, of};
use crate::support::{eventually, options, soon};
use zkrecipes::{Client, CreateMode, DoubleBarrier, ErrorKind, LostReason, Result, RetryOptions, State};
use zkrecipes_embedded::Fault;

/// One of two that waits without a session, which it gets when there are no faults any more.
struct CutOff {
    barrier: DoubleBarrier,
    waiting: JoinHandle<Result<()>>,
    /// The session that the server keeps, unless it is ended.
    before: u64,
}

impl CutOff {
    async fn at(ground: &Ground, other: &Client) -> CutOff {
        CutOff::within(ground, other, RetryOptions::default().base(Duration::from_millis(10)), None).await
    }

    /// The same of one that has so much time.
    async fn within(ground: &Ground, other: &Client, retry: RetryOptions, limit: Option<Duration>) -> CutOff {
        let client = ground.client_with(options(Duration::from_secs(4)).retry(retry)).await;
        let barrier = of(&client, 2);
        let waiting = tokio::spawn({
            let barrier = barrier.clone();
            async move { barrier.enter(limit).await }
        });
        count_is(other, 1).await;
        let before = client.session_id();
        ground.inject(Fault::refuse_connections(1).forever());
        ground.inject(Fault::answer_expired("*").session(before));
        // It need not be answered for the client to hear that.
        let asks = client.clone();
        let asked = tokio::spawn(async move { asks.nodes().exists("/").await });
        eventually("it has no session", || client.state() == State::Lost).await;
        asked.abort();
        assert!(!waiting.is_finished());
        CutOff { barrier, waiting, before }
    }

    async fn hears_of_the_loss(self, what: &str) {
        let error = soon(what, self.waiting).await.expect("joined").expect_err(what);
        assert_eq!((error.kind(), error.reason()), (ErrorKind::Lost, Some(LostReason::Session)), "{what}");
        assert!(!self.barrier.has_entered());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_counted_by_the_node_of_its_old_session_is_in_the_round() {
    for ground in grounds() {
        let other = ground.client(TEN).await;
        // Either of them has the lowest name, and would leave last.
        for _ in 0..4 {
            let (one, of_other) = (CutOff::at(&ground, &other).await, of(&other, 2));
            done("two, as far as anybody knows", entering(&of_other)).await;
            assert!(!one.waiting.is_finished());
            ground.clear_faults();
            done("it was counted", one.waiting).await;
            // Nobody goes on before it has left.
            let theirs = leaving(&of_other);
            tokio::time::sleep(Duration::from_millis(100)).await;
            assert!(!theirs.is_finished(), "one of two has not left");
            done("leave", leaving(&one.barrier)).await;
            done("leave", theirs).await;
            nothing_left(&ground, &other).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_of_the_old_session_takes_nobody_out_of_the_round() {
    for ground in grounds() {
        let other = ground.client(TEN).await;
        let (one, of_other) = (CutOff::at(&ground, &other).await, of(&other, 2));
        done("two, as far as anybody knows", entering(&of_other)).await;
        ground.clear_faults();
        done("it was counted", one.waiting).await;
        ground.expire(one.before).await;
        let theirs = leaving(&of_other);
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(!theirs.is_finished(), "one of two has not left");
        done("leave", leaving(&one.barrier)).await;
        done("leave", theirs).await;
        nothing_left(&ground, &other).await;
    }
}

/// What the members that come back write about their nodes.
fn about_nodes(fault: Fault) -> Fault {
    fault.path(&format!("{PATH}/*"))
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_gone_before_it_hears_that_it_is_back_in_the_round_is_not_waited_for() {
    for ground in grounds() {
        let other = ground.client(TEN).await;
        let (CutOff { barrier, waiting, .. }, of_other) = (CutOff::at(&ground, &other).await, of(&other, 2));
        done("two, as far as anybody knows", entering(&of_other)).await;
        ground.clear_faults();
        let late = about_nodes(Fault::delay_reply("multi", Duration::from_secs(1)));
        let late = ground.inject(late);
        eventually("another node has taken the place of its first", || ground.fault_fired(late)).await;
        waiting.abort();
        waiting.await.expect_err("nobody has told it");
        done("alone", leaving(&of_other)).await;
        nothing_left(&ground, &other).await;
        drop(barrier);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_runs_out_of_time_while_it_comes_back_has_a_last_look() {
    for is_counted in [true, false] {
        for number in 0..grounds().len() {
            let mut rounds = 0;
            while !has_a_last_look(&grounds()[number], is_counted).await {
                rounds += 1;
                assert!(rounds < 5, "too slow: its time was over each time");
            }
        }
    }
}

/// Whether it came back while it still had time.
async fn has_a_last_look(ground: &Ground, is_counted: bool) -> bool {
    let (limit, pause) = (Duration::from_millis(2500), Duration::from_secs(3));
    let other = ground.client(TEN).await;
    let (of_other, began) = (of(&other, 2), Instant::now());
    let retry = RetryOptions::default().base(pause).max(pause);
    let one = CutOff::within(ground, &other, retry, Some(limit)).await;
    if is_counted {
        done("two, as far as anybody knows", entering(&of_other)).await;
    }
    ground.clear_faults();
    let throttled = ground.inject(about_nodes(Fault::answer_throttled("multi")));
    let is_over = || began.elapsed() >= limit;
    eventually("it is to try again", || ground.fault_fired(throttled) || is_over()).await;
    if is_over() {
        return false;
    }
    if is_counted {
        done("it was counted", one.waiting).await;
        for member in [leaving(&of_other), leaving(&one.barrier)] {
            done("leave", member).await;
        }
    } else {
        let error = soon("its time", one.waiting).await.expect("joined").expect_err("alone");
        assert_eq!(error.kind(), ErrorKind::Timeout);
    }
    nothing_left(ground, &other).await;
    true
}

#[tokio::test(flavor = "multi_thread")]
async fn who_was_counted_and_has_died_for_the_others_hears_of_the_loss() {
    for ground in grounds() {
        let other = ground.client(TEN).await;
        // The others are in the round, or have left it, when it comes back; and whatever others make and delete below the path hides
        // no round.
        for (is_over, strangers) in [(false, 0), (true, 0), (true, 3)] {
            let (one, of_other) = (CutOff::at(&ground, &other).await, of(&other, 2));
            done("two, as far as anybody knows", entering(&of_other)).await;
            ground.expire(one.before).await;
            // `ready`, and the other.
            count_is(&other, 2).await;
            if is_over {
                done("alone", leaving(&of_other)).await;
            }
            for _ in 0..strangers {
                let node = format!("{PATH}/stranger");
                other.nodes().ensure(PATH).await.expect("nobody else makes it");
                other.nodes().create(&node, b"", CreateMode::Ephemeral).await.expect("it is new");
                other.nodes().delete(&node, None).await.expect("it stands");
            }
            ground.clear_faults();
            one.hears_of_the_loss(&format!("the round is over: {is_over}; {strangers} strangers came")).await;
            if !is_over {
                done("alone", leaving(&of_other)).await;
            }
            nothing_left(&ground, &other).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_loses_its_session_and_no_round_goes_on_waiting() {
    for ground in grounds() {
        let other = ground.client(TEN).await;
        for ends in [false, true] {
            let (one, of_other) = (CutOff::at(&ground, &other).await, of(&other, 2));
            if ends {
                ground.expire(one.before).await;
                count_is(&other, 0).await;
                // Somebody comes, and goes again.
                let limit = Some(Duration::from_millis(50));
                let error = soon("a limit", of_other.enter(limit)).await.expect_err("alone");
                assert_eq!(error.kind(), ErrorKind::Timeout);
            }
            ground.clear_faults();
            count_is(&other, 1).await;
            assert!(!one.waiting.is_finished(), "one is not two");
            done("two", entering(&of_other)).await;
            done("two", one.waiting).await;
            for member in [leaving(&of_other), leaving(&one.barrier)] {
                done("leave", member).await;
            }
            nothing_left(&ground, &other).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_gave_up_without_a_session_and_comes_again_counts_once() {
    for ground in grounds() {
        let other = ground.client(TEN).await;
        let (one, of_other) = (CutOff::at(&ground, &other).await, of(&other, 2));
        one.waiting.abort();
        one.waiting.await.expect_err("it was dropped");
        let before = children(&other).await;
        assert_eq!(before.len(), 1, "the server keeps it");
        ground.clear_faults();
        let waiting = entering(&one.barrier);
        let come = async {
            loop {
                let now = children(&other).await;
                if !now.is_empty() && now != before {
                    return now;
                }
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        assert_eq!(soon("it comes again", come).await.len(), 1, "one is not two");
        assert!(!waiting.is_finished());
        done("two", entering(&of_other)).await;
        done("two", waiting).await;
        for member in [leaving(&of_other), leaving(&one.barrier)] {
            done("leave", member).await;
        }
        nothing_left(&ground, &other).await;
    }
}
