//! Double barriers: members of one client that agree together, members that disagree, and members that give up.

use std::time::{Duration, Instant};

use crate::support::ground::grounds;
use crate::support::rounds::{PATH, READY, TEN, count_is, done, entering, leaving, nothing_left, of};
use crate::support::{SOON, eventually, soon};
use zkrecipes::{Client, DoubleBarrier, ErrorKind, drive};
use zkrecipes_embedded::Fault;

async fn all(members: &[DoubleBarrier]) {
    for moving in [entering, leaving] {
        for member in members.iter().map(moving).collect::<Vec<_>>() {
            done("a round", member).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_asks_once_for_how_many_it_is() {
    let server = crate::support::server();
    let client = crate::support::client_with(&server, TEN).await;
    client.nodes().ensure(PATH).await.expect("made");
    let asked = || {
        let log = server.log().into_iter();
        log.filter(|entry| entry.op == "getData" && entry.path == PATH).count()
    };
    for (parties, times) in [(20, 1), (20, 0), (10, 1), (20, 1)] {
        let before = asked();
        // Handles are of one round often, and what a client knows outlives them.
        all(&(0..parties).map(|_| of(&client, parties)).collect::<Vec<_>>()).await;
        assert_eq!(asked() - before, times, "of {parties}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_has_no_time_is_told_of_another_number_all_the_same() {
    for ground in grounds() {
        let (early, others) = (ground.client(TEN).await, ground.client(TEN).await);
        after_a_round_of(&early, 3).await;
        let waiting = entering(&of(&others, 2));
        count_is(&others, 1).await;
        // Its client asks for how many the path is only once it has been told.
        let error = of(&early, 3).enter(Some(Duration::ZERO)).await.expect_err("the other waits for two");
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        assert!(!waiting.is_finished(), "one is not two");
        waiting.abort();
    }
}

/// Members that have agreed on so many, and then others who say another number.
async fn after_a_round_of(client: &Client, parties: usize) {
    all(&(0..parties).map(|_| of(client, parties)).collect::<Vec<_>>()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_had_agreed_on_another_number_is_told_however_many_wait() {
    for ground in grounds() {
        let (early, late, others) =
            (ground.client(TEN).await, ground.client(TEN).await, ground.client(TEN).await);
        for client in [&early, &late] {
            after_a_round_of(client, 12).await;
        }
        let waiting: Vec<_> = (0..9).map(|_| of(&others, 11)).collect();
        let calls: Vec<_> = waiting.iter().map(entering).collect();
        count_is(&others, 9).await;
        // The second hides the first: when that one looks, the path says its number.
        let wrong = [&early, &late].map(|client| of(client, 12));
        let told = wrong.iter().map(entering).collect::<Vec<_>>();
        for told in told {
            let error = soon("the answer", told).await.expect("joined").expect_err("not so many");
            assert_eq!(error.kind(), ErrorKind::Mismatch);
        }
        // Who was there before is not.
        let rest: Vec<_> = (0..2).map(|_| of(&others, 11)).collect();
        let calls: Vec<_> = calls.into_iter().chain(rest.iter().map(entering)).collect();
        for call in calls {
            done("they are eleven", call).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_comes_last_with_another_number_finds_that_out_by_itself() {
    let server = crate::support::server();
    let clients = [
        crate::support::client(&server).await,
        crate::support::client(&server).await,
        crate::support::client(&server).await,
    ];
    let [early, late, others] = &clients;
    for client in [early, late] {
        after_a_round_of(client, 12).await;
    }
    let waiting: Vec<_> = (0..9).map(|_| of(others, 11)).collect();
    let calls: Vec<_> = waiting.iter().map(entering).collect();
    count_is(late, 9).await;
    // Those who wait do not look any more.
    server.inject(Fault::delay_request("*", SOON).session(others.session_id()).forever());
    for wrong in [early, late].map(|client| entering(&of(client, 12))) {
        let error = soon("the answer", wrong).await.expect("joined").expect_err("not so many");
        assert_eq!(error.kind(), ErrorKind::Mismatch);
    }
    calls.iter().for_each(|call| call.abort());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_came_first_is_not_told_of_another_number_but_who_came_later() {
    let server = crate::support::server();
    let (right, wrong) = (crate::support::client(&server).await, crate::support::client(&server).await);
    for (client, parties) in [(&wrong, 3), (&right, 2)] {
        after_a_round_of(client, parties).await;
    }
    // It does not see at once that it is wrong, and comes between them.
    for list in ["getChildren", "getChildren2"] {
        server.inject(Fault::delay_request(list, Duration::from_secs(1)).session(wrong.session_id()));
    }
    let (first, between, last) = (of(&right, 2), of(&wrong, 3), of(&right, 2));
    let first = entering(&first);
    count_is(&right, 1).await;
    let between = entering(&between);
    count_is(&right, 2).await;
    let (first, last) = (first, entering(&last));
    for right in [first, last] {
        done("enter", right).await;
    }
    let error = soon("the answer", between).await.expect("joined").expect_err("not so many");
    assert_eq!(error.kind(), ErrorKind::Mismatch);
}

#[tokio::test(flavor = "multi_thread")]
async fn who_runs_out_of_time_while_it_leaves_is_told_who_has_not_left() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        let members = ["a", "b", "c"].map(|name| client.double_barrier(PATH, 3, Some(name)).expect("valid"));
        for member in members.each_ref().map(entering) {
            done("enter", member).await;
        }
        let limit = Some(Duration::from_millis(200));
        let error = soon("the answer", members[0].leave(limit)).await.expect_err("two are inside");
        assert_eq!(error.kind(), ErrorKind::Timeout);
        let said = error.to_string();
        assert!(said.contains(": b, c had not left") || said.contains(": c, b had not left"), "{said}");
        for member in [&members[1], &members[2]].map(leaving) {
            done("leave", member).await;
        }
        nothing_left(&ground, &client).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_that_was_to_leave_last_and_gives_up_wakes_those_who_wait_for_it() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        // The machine may be busy: the time is that of the quickest.
        let mut quickest = SOON;
        for _ in 0..5 {
            let names = ["a", "b", "c"];
            let mut members =
                names.map(|name| client.double_barrier(PATH, 3, Some(name)).expect("valid")).to_vec();
            for member in members.iter().map(entering).collect::<Vec<_>>() {
                done("enter", member).await;
            }
            let ready = client.nodes().get(READY).await.expect("a round is on").0;
            let ready = String::from_utf8(ready).expect("text");
            let node = ready.split(' ').nth(1).expect("it says who leaves last");
            let name = client.nodes().get(&format!("{PATH}/{node}")).await.expect("it is inside").0;
            let anchor = names.iter().position(|other| other.as_bytes() == name).expect("one of them");
            let anchor = members.remove(anchor);
            let calls: Vec<_> = members.iter().map(leaving).collect();
            // `ready` and the anchor.
            count_is(&client, 2).await;
            let begun = Instant::now();
            anchor.withdraw().expect("inside");
            for call in calls {
                done("leave", call).await;
            }
            quickest = quickest.min(begun.elapsed());
            nothing_left(&ground, &client).await;
        }
        assert!(quickest < Duration::from_millis(400), "{quickest:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_death_of_the_member_that_was_to_leave_last_is_seen_at_once() {
    for ground in grounds() {
        let mut quickest = SOON;
        for _ in 0..5 {
            let mut members = Vec::new();
            for _ in 0..3 {
                let client = ground.client(TEN).await;
                members.push((of(&client, 3), client));
            }
            for member in members.iter().map(|(member, _)| entering(member)).collect::<Vec<_>>() {
                done("enter", member).await;
            }
            let client = &members[0].1;
            let ready = client.nodes().get(READY).await.expect("a round is on").0;
            let ready = String::from_utf8(ready).expect("text");
            let node = format!("{PATH}/{}", ready.split(' ').nth(1).expect("it says who leaves last"));
            let owner =
                client.nodes().exists(&node).await.expect("asked").expect("it is inside").ephemeral_owner;
            let anchor = members.iter().position(|(_, client)| client.session_id() == owner as u64);
            let anchor = members.remove(anchor.expect("one of them"));
            let calls: Vec<_> = members.iter().map(|(member, _)| leaving(member)).collect();
            let client = &members[0].1;
            // `ready` and the anchor; and then the deputy looks.
            count_is(client, 2).await;
            tokio::time::sleep(Duration::from_millis(100)).await;
            ground.expire(anchor.1.session_id()).await;
            let begun = Instant::now();
            for call in calls {
                done("leave", call).await;
            }
            quickest = quickest.min(begun.elapsed());
            nothing_left(&ground, client).await;
        }
        assert!(quickest < Duration::from_millis(200), "{quickest:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_was_told_cancelled_lets_nobody_in() {
    for by_token in [true, false] {
        let server = crate::support::server();
        let (a, b) = (crate::support::client(&server).await, crate::support::client(&server).await);
        let (cancelled, other) = (of(&a, 2), of(&b, 2));
        let (token, cancels) = (drive::CancelToken::new(), drive::Cancels::default());
        let entering = cancels.heed(drive::enter(&cancelled, None));
        let (sender, told) = tokio::sync::oneshot::channel();
        drive::start(entering, &token, move |result| {
            let _ = sender.send(result.map(drop));
        })
        .expect("started");
        eventually("it waits", || crate::support::nodes_under(&server, PATH).len() == 1).await;
        // The deletion of its node is late.
        server.inject(Fault::delay_request("delete", Duration::from_millis(100)).session(a.session_id()));
        match by_token {
            true => token.cancel(),
            false => cancels.cancel(),
        }
        let told = soon("the answer", told).await.expect("told").expect_err("cancelled");
        assert_eq!(told.kind(), ErrorKind::Cancelled);
        let alone = soon("the wait", other.enter(Some(Duration::from_millis(300)))).await;
        assert_eq!(alone.expect_err("nobody else is there").kind(), ErrorKind::Timeout);
        // Both may come again.
        let (first, second) = tokio::join!(cancelled.enter(None), other.enter(None));
        first.and(second).expect("entered");
    }
}
