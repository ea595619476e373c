//! Double barriers: all enter together and leave together, round after round. What may go wrong is in
//! `faults.rs`.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;

use crate::support::ground::grounds;
use crate::support::rounds::{Ledger, PATH, READY, TEN, count_is, done, entering, leaving, nothing_left, of};
use crate::support::{eventually, options, soon};
use zkrecipes::{CreateMode, ErrorKind, blocking};
use zkrecipes_embedded::{Fault, LogEntry};

#[tokio::test(flavor = "multi_thread")]
async fn all_enter_and_leave_together_round_after_round() {
    for ground in grounds() {
        for parties in [1, 2, 3, 20] {
            let clients = [ground.client(TEN).await, ground.client(TEN).await, ground.client(TEN).await];
            let ledger = Arc::new(Ledger::default());
            let members: Vec<_> = (0..parties)
                .map(|n| {
                    let (barrier, ledger) = (of(&clients[n % 3], parties), ledger.clone());
                    tokio::spawn(async move {
                        for round in 1..=10 {
                            ledger.round(&barrier, round).await?;
                        }
                        Ok(())
                    })
                })
                .collect();
            for member in members {
                done("ten rounds", member).await;
            }
            nothing_left(&ground, &clients[0]).await;
        }
    }
}

/// Its caller has gone on to something else while it asked for how many the barrier is.
#[tokio::test(flavor = "multi_thread")]
async fn an_enter_that_nobody_polls_holds_up_no_other() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        let kept_one = of(&client, 2);
        let mut kept = Box::pin(kept_one.enter(None));
        assert!(kept.as_mut().now_or_never().is_none());
        let others = [of(&client, 2), of(&client, 2)];
        for member in others.iter().map(entering).collect::<Vec<_>>() {
            done("the round", member).await;
        }
        drop(kept);
        for member in others.iter().map(leaving).collect::<Vec<_>>() {
            done("the end", member).await;
        }
        nothing_left(&ground, &client).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn traffic_grows_with_the_members_and_not_faster() {
    let ground = grounds().remove(0);
    for parties in [2, 3, 10, 100] {
        let clients = [ground.client(TEN).await, ground.client(TEN).await];
        let members: Vec<_> = (0..parties).map(|n| of(&clients[n % 2], parties)).collect();
        // The path is made once, and each asks once for how many it is.
        for moving in [entering, leaving] {
            for member in members.iter().map(moving).collect::<Vec<_>>() {
                done("the first round", member).await;
            }
        }
        nothing_left(&ground, &clients[0]).await;
        for phase in ["enter", "leave"] {
            ground.clear_log();
            let moving = if phase == "enter" { entering } else { leaving };
            let begun = Instant::now();
            for member in members.iter().map(moving).collect::<Vec<_>>() {
                done(phase, member).await;
            }
            // Who waits for longer than a moment looks what keeps the others.
            let is_swift = begun.elapsed() < Duration::from_millis(400);
            let log: Vec<_> = ground.log().into_iter().filter(|entry| entry.path.starts_with(PATH)).collect();
            let count = |ops: &[&str]| log.iter().filter(|entry| ops.contains(&entry.op)).count();
            let writes = count(&["multi", "create2", "create", "delete", "setData"]);
            let lists =
                log.iter().filter(|entry| entry.op.starts_with("getChildren") && entry.path == PATH).count();
            let others = log.len() - writes - lists;
            assert!(writes <= parties + 1, "{phase} of {parties}: {writes} writes");
            // Of all names: the few who come first, and who declares the round or leaves last.
            let most = if phase == "enter" { parties.min(3) + 2 } else { 2 + 2 * parties.ilog2() as usize };
            assert!(lists <= most, "{phase} of {parties}: {lists} lists");
            // What `ready` says, and a watch on it before that; who leaves last watches the others.
            let most = match phase {
                _ if !is_swift => 6 * parties,
                "enter" => 2 * parties + 2,
                _ => 3 * parties.ilog2() as usize + 8,
            };
            assert!(others <= most, "{phase} of {parties}: {others} other requests");
        }
        nothing_left(&ground, &clients[0]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_leaves_last_looks_once_at_the_last_few() {
    let ground = grounds().remove(0);
    let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
    let members = [of(&a, 2), of(&b, 2)];
    let mut swift = 0;
    for _ in 0..30 {
        for member in members.each_ref().map(entering) {
            done("enter", member).await;
        }
        ground.clear_log();
        let begun = Instant::now();
        for member in members.each_ref().map(leaving) {
            done("leave", member).await;
        }
        if begun.elapsed() < Duration::from_millis(40) {
            swift += 1;
            let is_ours = |entry: &LogEntry| entry.path.starts_with(PATH) && entry.op != "removeWatches";
            let log: Vec<_> = ground.log().into_iter().filter(is_ours).collect();
            // One deletes its node; the other lists, looks at `ready`, watches and ends the round.
            assert!(log.len() <= 5, "{log:?}");
        }
    }
    println!("{swift} of 30 rounds were swift");
    nothing_left(&ground, &a).await;
}

/// A member that is late for a round hears of it late, or deletes its node late: by then the next one is declared with it.
#[tokio::test(flavor = "multi_thread")]
async fn who_is_late_for_one_round_is_in_the_next_one_that_counts_it() {
    let second = Duration::from_secs(1);
    for late in [
        Fault::delay_reply("getData", second).path(READY),
        // Its node has a number.
        Fault::delay_request("multi|delete", second).path(&format!("{PATH}/*-of-2-0*")),
    ] {
        let server = crate::support::server();
        let clients = [
            crate::support::client_with(&server, TEN).await,
            crate::support::client_with(&server, TEN).await,
        ];
        let [others, its] = &clients;
        let members = [of(others, 2), of(others, 2)];
        for member in members.each_ref().map(entering) {
            done("enter", member).await;
        }
        let (one, last) = (of(its, 2), of(others, 2));
        let fault = server.inject(late.session(its.session_id()));
        let its_enter = entering(&one);
        eventually("it is late", || server.fault_fired(fault)).await;
        count_is(others, 4).await;
        for member in members.each_ref().map(leaving) {
            done("leave", member).await;
        }
        done("two, as far as anybody knows", entering(&last)).await;
        done("it was counted", its_enter).await;
        for member in [leaving(&last), leaving(&one)] {
            done("leave", member).await;
        }
        count_is(others, 0).await;
    }
}

/// Its node is deleted by force while it asks who is there, and the path is made again by others, with the same numbers.
#[tokio::test(flavor = "multi_thread")]
async fn who_is_not_there_any_more_declares_no_round() {
    // In it the path is deleted, and made again.
    let while_asking = Duration::from_secs(2);
    let server = crate::support::server();
    let connect = || crate::support::client_with(&server, TEN);
    let (others, its, hand) = (connect().await, connect().await, connect().await);
    let nodes = hand.nodes();
    nodes.ensure(PATH).await.expect("made");
    let came = nodes.create(&format!("{PATH}/stranger-of-2-"), b"", CreateMode::PersistentSequential).await;
    assert!(came.expect("made").ends_with("-0000000000"));
    let asks = server.inject(Fault::delay_request("getChildren", while_asking).session(its.session_id()));
    let one = of(&its, 2);
    let its_enter = entering(&one);
    eventually("it asks who is there", || server.fault_fired(asks)).await;
    nodes.delete_all(PATH).await.expect("deleted");
    server.inject(Fault::delay_request("getChildren", while_asking * 2).session(others.session_id()));
    let members = [of(&others, 2), of(&others, 2)];
    for member in members.each_ref().map(entering) {
        done("enter", member).await;
    }
    assert!(!one.has_entered(), "it is in a round that others are in");
    for member in members.each_ref().map(leaving) {
        done("leave", member).await;
    }
    let last = of(&others, 2);
    done("the next round", entering(&last)).await;
    done("it is in that", its_enter).await;
    for member in [leaving(&last), leaving(&one)] {
        done("leave", member).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_too_many_waits_for_the_next_round() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        let members: Vec<_> = (0..3).map(|_| of(&client, 2)).collect();
        let mut all: Vec<_> = members.iter().map(entering).collect();
        eventually("two are in", || members.iter().filter(|member| member.has_entered()).count() == 2).await;
        tokio::time::sleep(Duration::from_millis(30)).await;
        let late = members.iter().position(|member| !member.has_entered()).expect("one is not");
        assert!(!all[late].is_finished());
        let late_one = all.remove(late);
        let in_time: Vec<_> = (0..3).filter(|n| *n != late).collect();
        let leave: Vec<_> = in_time.iter().map(|n| leaving(&members[*n])).collect();
        for one in leave {
            done("leave", one).await;
        }
        assert!(!late_one.is_finished(), "alone in the next round");
        done("the next round", entering(&members[in_time[0]])).await;
        done("the late one", late_one).await;
        for one in [leaving(&members[late]), leaving(&members[in_time[0]])] {
            done("leave", one).await;
        }
        nothing_left(&ground, &client).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_disagrees_about_the_number_is_told() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let of_a = of(&a, 3);
        let waiting = entering(&of_a);
        count_is(&b, 1).await;
        for parties in [1, 2, 4] {
            let error = soon("the answer", of(&b, parties).enter(None)).await.expect_err("not so many");
            assert_eq!((error.kind(), error.path()), (ErrorKind::Mismatch, Some(PATH)));
        }
        assert!(!waiting.is_finished());
        waiting.abort();
        nothing_left(&ground, &a).await;
        // Nobody is there: another number may be said.
        soon("alone", of(&b, 1).run(async {})).await.expect("one");
        // Two that came in the same moment and did not see each other's number: the one that completes does.
        let other = "0123456789abcdef0123456789abcdef-of-3-";
        let peer = a
            .nodes()
            .create(&format!("{PATH}/{other}"), b"", CreateMode::EphemeralSequential)
            .await
            .expect("made");
        a.nodes().set(PATH, b"2", None).await.expect("set");
        let error = soon("the answer", of(&b, 2).enter(None)).await.expect_err("it sees the other");
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        a.nodes().delete(&peer, None).await.expect("deleted");
        nothing_left(&ground, &a).await;
        for bad in [0, 1 << 20] {
            assert_eq!(a.double_barrier(PATH, bad, None).expect_err("no number").kind(), ErrorKind::Invalid);
        }
        // All are checked in one request.
        let long = format!("/{}", "x".repeat(200));
        let error = a.double_barrier(&long, 5000, None).expect_err("too long for so many");
        assert_eq!((error.kind(), error.path()), (ErrorKind::Invalid, Some(&*long)));
        for (path, parties) in [(PATH, 5000), (&*long, 3000)] {
            a.double_barrier(path, parties, None).expect("it fits");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn peers_that_know_no_rounds_take_part() {
    for ground in grounds() {
        let (a, peer) = (ground.client(TEN).await, ground.client(TEN).await);
        let nodes = peer.nodes();
        // The name sorts before ours or behind them: who stays to the last differs.
        for name in ["00000000-58f5-4a0d-9d52-3c0f35f9f1d1", "ffffffff-58f5-4a0d-9d52-3c0f35f9f1d1"] {
            let theirs = format!("{PATH}/{name}");
            for declares in ["we", "they"] {
                let of_a = of(&a, 2);
                if declares == "we" {
                    nodes.ensure(PATH).await.expect("made");
                    nodes.create(&theirs, b"10.0.0.7", CreateMode::Ephemeral).await.expect("created");
                    done("we are two", entering(&of_a)).await;
                } else {
                    let waiting = entering(&of_a);
                    count_is(&peer, 1).await;
                    nodes.create(&theirs, b"10.0.0.7", CreateMode::Ephemeral).await.expect("created");
                    nodes.create(READY, b"10.0.0.7", CreateMode::Persistent).await.expect("created");
                    done("they say that we are two", waiting).await;
                }
                assert!(nodes.exists(READY).await.expect("asked").is_some());
                let leave = leaving(&of_a);
                tokio::time::sleep(Duration::from_millis(30)).await;
                assert!(!leave.is_finished(), "{name}: the peer has not left");
                nodes.delete(&theirs, None).await.expect("deleted");
                done("leave", leave).await;
                nothing_left(&ground, &a).await;
            }
        }
    }
}

#[test]
fn threads_enter_and_leave_too() {
    let server = crate::support::server();
    let client = blocking::Client::connect(&server.connect_string(), options(TEN)).expect("it answers");
    let threads: Vec<_> = ["a", "b"]
        .into_iter()
        .map(|name| {
            let barrier = client.double_barrier(PATH, 2, Some(name)).expect("valid");
            assert_eq!((barrier.name(), barrier.parties(), barrier.path()), (name, 2, PATH));
            std::thread::spawn(move || {
                barrier.enter(None).expect("two");
                assert!(barrier.has_entered());
                barrier.leave(None).expect("two");
                barrier.run(|| 1).expect("two")
            })
        })
        .collect();
    assert_eq!(threads.into_iter().map(|thread| thread.join().expect("no panic")).sum::<i32>(), 2);
}

#[test]
fn a_thread_that_enters_or_leaves_can_be_called_away() {
    let server = crate::support::server();
    let client = blocking::Client::connect(&server.connect_string(), options(TEN)).expect("it answers");
    let [a, b] = ["a", "b"].map(|name| client.double_barrier(PATH, 2, Some(name)).expect("valid"));
    let members = || server.nodes().iter().filter(|node| node.contains("-of-2-")).count();
    let entering = a.clone();
    let thread = std::thread::spawn(move || entering.enter(None));
    while server.watch_count() == 0 {
        std::thread::yield_now();
    }
    a.cancel();
    assert_eq!(thread.join().expect("no panic").expect_err("cancelled").kind(), ErrorKind::Cancelled);
    assert_eq!(members(), 0, "it is counted by nobody");
    let alone = b.enter(Some(Duration::from_millis(50))).expect_err("nobody else is there");
    assert_eq!(alone.kind(), ErrorKind::Timeout);

    // Later ones are not affected, and whose leaving is cancelled has left.
    let entering = b.clone();
    let thread = std::thread::spawn(move || entering.enter(None));
    a.enter(None).expect("two");
    thread.join().expect("no panic").expect("two");
    let leaving = a.clone();
    let thread = std::thread::spawn(move || leaving.leave(None));
    while !thread.is_finished() {
        a.cancel();
        std::thread::sleep(Duration::from_millis(1));
    }
    assert_eq!(thread.join().expect("no panic").expect_err("cancelled").kind(), ErrorKind::Cancelled);
    assert!(!a.has_entered());
    b.leave(None).expect("nobody waits for who has left");
}
