//! Double barriers when something goes wrong: nobody enters early, nobody waits for ever, whoever dies, gives up, is
//! slow or gets no answer.

use std::sync::Arc;
use std::time::Duration;

use crate::support::ground::{Ground, ground, grounds};
use crate::support::mishap::{MISHAPS, Mishap, Sweep};
use crate::support::rounds::{
    Ledger, PATH, READY, TEN, children, count_is, done, entering, leaving, nothing_left, of,
};
use crate::support::{SOON, eventually, options, soon};
use zkrecipes::{Client, CreateMode, DoubleBarrier, ErrorKind, LostReason, Naming};
use zkrecipes_embedded::Fault;

#[tokio::test(flavor = "multi_thread")]
async fn who_is_told_that_its_time_is_over_is_not_counted_any_more() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        for limit in [Duration::ZERO, Duration::from_millis(100)] {
            // It comes, and goes.
            let slow =
                Fault::delay_request("multi", Duration::from_millis(100)).session(a.session_id()).nth(2);
            let slow = ground.inject(slow);
            let error = of(&a, 2).enter(Some(limit)).await.expect_err("alone");
            assert_eq!((error.kind(), children(&b).await.len()), (ErrorKind::Timeout, 0));
            assert!(ground.fault_fired(slow), "its node was deleted");
        }
        nothing_left(&ground, &a).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_goes_while_the_round_is_declared_is_not_counted() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let (of_a, of_b) = (of(&a, 2), of(&b, 2));
        let going = entering(&of_a);
        count_is(&b, 1).await;
        // The last one sees both, and hears of it late.
        let list = Fault::delay_reply("getChildren*", Duration::from_secs(2)).session(b.session_id());
        let delayed = ground.inject(list);
        let last = entering(&of_b);
        eventually("it looks", || ground.fault_fired(delayed)).await;
        going.abort();
        count_is(&a, 1).await;
        // What it declares is refused, and it looks again.
        let has_looked_again = || {
            let log = ground.log().into_iter().filter(|entry| entry.session_id == b.session_id());
            let mut behind = log.skip_while(|entry| entry.op != "multi" || entry.error == 0);
            behind.any(|entry| entry.op.starts_with("getChildren"))
        };
        eventually("it has looked again", || last.is_finished() || has_looked_again()).await;
        assert!(!last.is_finished(), "alone");
        done("two", entering(&of_a)).await;
        done("two", last).await;
        for one in [leaving(&of_a), leaving(&of_b)] {
            done("leave", one).await;
        }
        nothing_left(&ground, &a).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_member_that_dies_frees_the_others_whoever_it_is() {
    for ground in grounds() {
        let clients = [ground.client(TEN).await, ground.client(TEN).await, ground.client(TEN).await];
        let ledger = Arc::new(Ledger::default());
        for (round, victim) in [0, 1, 2, 0, 1, 2].into_iter().enumerate() {
            // In half of the rounds the others wait already when it dies.
            let is_late = round % 2 == 0;
            let members: Vec<_> = clients.iter().map(|client| of(client, 3)).collect();
            for member in members.iter().map(entering).collect::<Vec<_>>() {
                done("enter", member).await;
            }
            let session = clients[victim].session_id();
            if !is_late {
                ground.expire(session).await;
            }
            let others: Vec<_> = (0..3).filter(|n| *n != victim).map(|n| leaving(&members[n])).collect();
            if is_late {
                tokio::time::sleep(Duration::from_millis(30)).await;
                assert!(others.iter().all(|other| !other.is_finished()), "one has not left");
                ground.expire(session).await;
            }
            for other in others {
                done("the others leave", other).await;
            }
            let error = soon("the victim", members[victim].leave(None)).await.expect_err("it died");
            assert_eq!((error.kind(), error.reason()), (ErrorKind::Lost, Some(LostReason::Session)));
            let again: Vec<_> = members
                .into_iter()
                .map(|member| {
                    let ledger = ledger.clone();
                    tokio::spawn(async move { ledger.round(&member, round + 1).await })
                })
                .collect();
            for member in again {
                done("the next round", member).await;
            }
        }
        nothing_left(&ground, &clients[0]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_dead_round_has_left_admits_nobody() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let dying = ground.client(TEN).await;
        soon("alone", of(&dying, 1).enter(None)).await.expect("one");
        let session = dying.session_id();
        dying.close(Some(SOON)).await.expect("closed");
        assert_ne!(session, 0);
        assert_eq!(children(&a).await, ["ready"], "nobody was there to take it back");
        let (of_a, of_b) = (of(&a, 2), of(&b, 2));
        let waiting = entering(&of_a);
        soon("it is taken back", async { while children(&b).await.iter().any(|name| name == "ready") {} })
            .await;
        count_is(&b, 1).await;
        assert!(!waiting.is_finished(), "alone, whatever stood there");
        done("two", entering(&of_b)).await;
        done("two", waiting).await;
        for one in [leaving(&of_a), leaving(&of_b)] {
            done("leave", one).await;
        }
        nothing_left(&ground, &a).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_member_is_waited_for_by_fast_leavers() {
    for ground in grounds() {
        let (a, b, slow) = (ground.client(TEN).await, ground.client(TEN).await, ground.client(TEN).await);
        let (of_a, of_b, of_slow) = (of(&a, 3), of(&b, 3), of(&slow, 3));
        let late = entering(&of_slow);
        count_is(&a, 1).await;
        eventually("it waits", || ground.watch_count() >= 2).await;
        let delay = Fault::delay_reply("getData", Duration::from_millis(200)).session(slow.session_id());
        let delayed = ground.inject(delay);
        for one in [entering(&of_a), entering(&of_b)] {
            done("the fast enter", one).await;
        }
        let fast = [leaving(&of_a), leaving(&of_b)];
        eventually("the slow one reads", || ground.fault_fired(delayed)).await;
        assert!(fast.iter().all(|one| !one.is_finished()), "the slow one is not in yet");
        done("the slow one", late).await;
        assert!(fast.iter().all(|one| !one.is_finished()), "the slow one is in");
        done("the slow one", leaving(&of_slow)).await;
        for one in fast {
            done("the fast leave", one).await;
        }
        nothing_left(&ground, &a).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_waits_goes_on_in_the_next_session_and_counts_once() {
    for ground in grounds() {
        let (a, b) = (ground.client(Duration::from_secs(4)).await, ground.client(TEN).await);
        let (of_a, of_b) = (of(&a, 2), of(&b, 2));
        let waiting = entering(&of_a);
        count_is(&b, 1).await;
        ground.expire(a.session_id()).await;
        count_is(&b, 1).await;
        // Told that its session is over while the server still has it, and the node with it.
        let before = a.session_id();
        ground.inject(Fault::answer_expired("*").session(before));
        a.nodes().exists("/").await.ok();
        eventually("another session", || a.session_id() != before).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(!waiting.is_finished(), "one is not two");
        // Its node is deleted by somebody.
        for name in children(&b).await {
            b.nodes().delete(&format!("{PATH}/{name}"), None).await.ok();
        }
        count_is(&b, 1).await;
        assert!(!waiting.is_finished());
        done("two", entering(&of_b)).await;
        done("two", waiting).await;
        for one in [leaving(&of_a), leaving(&of_b)] {
            done("leave", one).await;
        }
        nothing_left(&ground, &b).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_learns_while_it_leaves_that_it_was_lost_is_told() {
    for ground in grounds() {
        let partner = ground.client(TEN).await;
        // Who leaves last asks other things than everybody else, and waits with its node.
        for (leaves_last, waits) in [(false, false), (true, false), (true, true)] {
            let (met, client) = loop {
                let client = ground.client(Duration::from_secs(4)).await;
                let pair = [of(&client, 2), of(&partner, 2)];
                for member in pair.iter().map(entering).collect::<Vec<_>>() {
                    done("enter", member).await;
                }
                if is_anchor(&client).await == leaves_last {
                    break (pair, client);
                }
                for member in pair.iter().map(leaving).collect::<Vec<_>>() {
                    done("leave", member).await;
                }
            };
            let [member, other] = met;
            let (what, session) =
                (format!("leaves last: {leaves_last}, waits: {waits}"), client.session_id());
            let watches = ground.requests_of(&client, "exists").len();
            if !waits {
                ground.inject(Fault::answer_expired("*").session(session));
            }
            let leave = leaving(&member);
            if waits {
                eventually("it waits", || ground.requests_of(&client, "exists").len() >= watches + 2).await;
                ground.expire(session).await;
            }
            let error = soon(&what, leave).await.expect("joined").expect_err(&what);
            assert_eq!(
                (error.kind(), error.reason()),
                (ErrorKind::Lost, Some(LostReason::Session)),
                "{what}"
            );
            ground.expire(session).await;
            done("the other", leaving(&other)).await;
        }
        nothing_left(&ground, &partner).await;
    }
}

/// Whether the member that leaves last is this client's.
async fn is_anchor(client: &Client) -> bool {
    let (said, _) = client.nodes().get(READY).await.expect("a round is on");
    let anchor = String::from_utf8(said).expect("text").split(' ').nth(1).expect("an anchor").to_owned();
    let stat = client.nodes().exists(&format!("{PATH}/{anchor}")).await.expect("asked").expect("it stands");
    stat.ephemeral_owner as u64 == client.session_id()
}

/// Meets the mishap at request `k` of one of three members; false when there was no such request.
async fn meet(ground: &Ground, others: &[Client; 2], mishap: Mishap, k: u64) -> bool {
    let what = format!("{mishap:?} at request {k}");
    let client = ground.client(mishap.session_timeout()).await;
    let (session, barrier) = (client.session_id(), of(&client, 3));
    let may_die = !matches!(mishap, Mishap::RequestLost | Mishap::ReplyLost | Mishap::ServerRestarted);
    let ledger = Arc::new(Ledger { may_die, ..Ledger::default() });
    let fault = ground.inject(mishap.fault().session(session).nth(k));
    let round = |barrier: &DoubleBarrier| {
        let (barrier, ledger) = (barrier.clone(), ledger.clone());
        tokio::spawn(async move { ledger.round(&barrier, 1).await })
    };
    let work = round(&barrier);
    let partners: Vec<_> = others.iter().map(|other| of(other, 3)).collect();
    let mut theirs = vec![round(&partners[0])];
    // The third comes when the first waits, or met its mishap: whoever enters before that is seen by the ledger.
    eventually(&what, || ground.fault_fired(fault) || !ground.lists_of(&client).is_empty()).await;
    tokio::time::sleep(Duration::from_millis(20)).await;
    theirs.push(round(&partners[1]));
    eventually(&what, || ground.fault_fired(fault) || work.is_finished()).await;
    let fired = ground.fault_fired(fault);
    match mishap {
        Mishap::ReplyLostAndSessionExpired if fired => ground.expire(session).await,
        Mishap::CallDropped | Mishap::CallCancelled if fired => work.abort(),
        Mishap::ServerRestarted if fired => {
            ground.go_away();
            ground.come_back();
        }
        _ => {}
    }
    ground.clear_faults();
    // Whoever dropped out of the round, or lost it, comes again until nobody waits any more. Where nobody can have, one more would
    // take the place of a slow one.
    let mut helpers = Vec::new();
    let mut finished = theirs;
    finished.push(work);
    for (n, member) in finished.into_iter().enumerate() {
        let mut member = member;
        let until = std::time::Instant::now() + SOON;
        loop {
            match tokio::time::timeout(Duration::from_millis(300), &mut member).await {
                Ok(Ok(Ok(()))) => break,
                Ok(Ok(Err(error))) => {
                    assert!(n == 2 && error.kind() == ErrorKind::Lost, "{what}: {error:?}");
                    break;
                }
                Ok(Err(join)) => {
                    assert!(join.is_cancelled(), "{what}: {join}");
                    break;
                }
                Err(_) => {
                    assert!(std::time::Instant::now() < until, "{what}: {n} hangs");
                    // A member short: somebody takes its place.
                    let tried = helpers
                        .iter()
                        .filter(|helper: &&tokio::task::JoinHandle<()>| !helper.is_finished())
                        .count();
                    if !(may_die && fired) || tried > 2 {
                        continue;
                    }
                    let extra = of(&others[0], 3);
                    helpers.push(tokio::spawn(async move {
                        if extra.enter(Some(Duration::from_secs(2))).await.is_ok() {
                            extra.leave(Some(Duration::from_secs(2))).await.ok();
                        }
                    }));
                }
            }
        }
    }
    for helper in helpers {
        soon(&what, helper).await.expect("joined");
    }
    client.close(Some(SOON)).await.expect("closed");
    // The next round works, whatever is left of this one.
    soon(&what, of(&others[0], 1).run(async {})).await.unwrap_or_else(|error| panic!("{what}: {error:?}"));
    nothing_left(ground, &others[0]).await;
    fired
}

#[tokio::test(flavor = "multi_thread")]
async fn a_round_survives_a_mishap_at_any_request_of_a_member() {
    let ground = ground();
    let others = [ground.client(TEN).await, ground.client(TEN).await];
    others[0].nodes().ensure(PATH).await.expect("made");
    for mishap in MISHAPS {
        let mut sweep = Sweep::of(&ground, mishap);
        while let Some(k) = sweep.next()
            && meet(&ground, &others, mishap, k).await
        {}
        // What is agreed, the node, two watches, what is read of the round; the deletion and what follows it.
        sweep.expect(5, &format!("{mishap:?}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_while_its_old_node_is_looked_for_lets_nobody_in() {
    for ground in grounds() {
        let (a, b) = (ground.client(Duration::from_secs(4)).await, ground.client(TEN).await);
        let of_a = of(&a, 2);
        let waiting = entering(&of_a);
        count_is(&b, 1).await;
        // Told that its session is over while the server still has it, and the node with it. In the next one it looks.
        let before = a.session_id();
        let lost = ground.inject(Fault::drop_after("getChildren*").path(&format!("**{PATH}")));
        ground.inject(Fault::answer_expired("*").session(before));
        a.nodes().exists("/").await.ok();
        eventually("it looks, and hears nothing", || ground.fault_fired(lost)).await;
        let own = |entry: &&zkrecipes_embedded::LogEntry| {
            entry.session_id == a.session_id() && entry.op == "getData"
        };
        // It reads for how many the path is only when it comes again.
        eventually("it comes again", || ground.log().iter().any(|entry| own(&entry))).await;
        count_is(&b, 1).await;
        assert!(!waiting.is_finished(), "one is not two");
        waiting.abort();
        nothing_left(&ground, &b).await;
    }
}

/// Whether `a`, whose time is over, is in exactly if `b` is.
async fn agree(
    what: &str,
    ground: &Ground,
    a: (DoubleBarrier, zkrecipes::Result<()>),
    b: &DoubleBarrier,
) -> bool {
    let (of_a, told) = a;
    let is_in = told.is_ok();
    if let Err(error) = told {
        assert_eq!(error.kind(), ErrorKind::Timeout, "{what}");
    }
    assert_eq!(is_in, of_a.has_entered(), "{what}");
    if is_in {
        eventually("the other is in, too", || b.has_entered()).await;
    } else {
        assert!(
            !ground.log().iter().any(|entry| entry.error == 0 && declares(entry)),
            "{what}: the other was let in"
        );
    }
    is_in
}

fn declares(entry: &zkrecipes_embedded::LogEntry) -> bool {
    entry.parts.iter().any(|(op, path)| op.starts_with("create") && path.ends_with(READY))
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_declared_when_its_time_is_over_has_entered() {
    for ground in grounds() {
        // It declares the round itself, or the other one does while it gives up.
        for declares in ["it", "the other"] {
            let mut met = false;
            // A race is brought about. Whatever comes of an attempt has to agree; one of them has to meet.
            for _ in 0..10 {
                let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
                let (of_a, of_b) = (of(&a, 2), of(&b, 2));
                ground.clear_log();
                let other = (declares == "it").then(|| entering(&of_b));
                if other.is_some() {
                    count_is(&a, 1).await;
                }
                let (slow, limit) = match declares {
                    "it" => {
                        (Fault::delay_reply("multi", Duration::from_millis(200)), Duration::from_millis(100))
                    }
                    _ => {
                        (Fault::delay_request("multi", Duration::from_millis(150)), Duration::from_millis(50))
                    }
                };
                let slow = ground.inject(slow.session(a.session_id()).nth(2));
                let told = tokio::spawn({
                    let of_a = of_a.clone();
                    async move { of_a.enter(Some(limit)).await }
                });
                let other = match other {
                    Some(other) => other,
                    None => {
                        eventually("it gives up", || ground.fault_fired(slow) || told.is_finished()).await;
                        entering(&of_b)
                    }
                };
                let told = soon("the answer", told).await.expect("joined");
                met |= agree(declares, &ground, (of_a.clone(), told), &of_b).await;
                if of_a.has_entered() {
                    done("the other", other).await;
                    for one in [leaving(&of_a), leaving(&of_b)] {
                        done("leave", one).await;
                    }
                } else {
                    other.abort();
                }
                ground.clear_faults();
                nothing_left(&ground, &a).await;
                if met {
                    break;
                }
            }
            assert!(met, "{declares} was never late");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn two_that_say_different_numbers_in_the_same_moment_do_not_wait_for_each_other() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        // Of rounds that are over.
        a.nodes().ensure(PATH).await.expect("made");
        a.nodes().set(PATH, b"3", None).await.expect("set");
        let slow = Fault::delay_request("multi", Duration::from_secs(2)).session(a.session_id());
        let slow = ground.inject(slow);
        let (of_a, of_b) = (of(&a, 3), of(&b, 2));
        let first = entering(&of_a);
        eventually("it is on its way", || ground.fault_fired(slow)).await;
        let second = entering(&of_b);
        let error = soon("the answer", first).await.expect("joined").expect_err("another has come for two");
        assert_eq!(error.kind(), ErrorKind::Mismatch);
        assert!(!second.is_finished(), "one is not two");
        done("two", entering(&of(&a, 2))).await;
        done("two", second).await;
        of_b.withdraw().expect("inside");
        ground.expire(a.session_id()).await;
        let next = of(&b, 1);
        soon("alone", next.run(async {})).await.expect("one");
        nothing_left(&ground, &b).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_declared_without_an_answer_is_in_though_a_peer_takes_ready_back() {
    for ground in grounds() {
        let peer = ground.client(TEN).await;
        let a = ground.client_with(options(TEN).naming(Naming::Kazoo)).await;
        let (nodes, theirs) = (peer.nodes(), format!("{PATH}/0123456789abcdef0123456789abcdef"));
        nodes.ensure(PATH).await.expect("made");
        nodes.create(&theirs, b"", CreateMode::Ephemeral).await.expect("created");
        let lost = ground.inject(Fault::drop_after("multi").session(a.session_id()).nth(2));
        // It comes back when the peer has left.
        ground.inject(Fault::refuse_connections(1).forever());
        let of_a = of(&a, 2);
        let enters = entering(&of_a);
        eventually("it declares", || ground.fault_fired(lost)).await;
        nodes.delete(READY, None).await.expect("it was declared");
        nodes.delete(&theirs, None).await.expect("deleted");
        ground.clear_faults();
        done("it was declared", enters).await;
        done("leave", leaving(&of_a)).await;
        nothing_left(&ground, &peer).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_too_many_that_looks_when_the_round_is_over_waits_for_the_next() {
    for ground in grounds() {
        let mut clients = Vec::new();
        for _ in 0..3 {
            clients.push(ground.client_with(options(TEN).naming(Naming::Kazoo)).await);
        }
        let [of_a, of_b, of_late] = [0, 1, 2].map(|nth| of(&clients[nth], 2));
        let (b, late) = (&clients[1], &clients[2]);
        let first = entering(&of_a);
        count_is(late, 1).await;
        // The third comes before the round of the other two is declared, and reads of it when they have left.
        let slow = Fault::delay_request("multi", Duration::from_secs(1)).session(b.session_id()).nth(2);
        let slow = ground.inject(slow);
        let reads = Fault::delay_request("getData", Duration::from_secs(2)).path(READY);
        ground.inject(reads.session(late.session_id()));
        let second = entering(&of_b);
        eventually("two are there", || ground.fault_fired(slow)).await;
        let third = entering(&of_late);
        for one in [first, second] {
            done("two", one).await;
        }
        for one in [leaving(&of_a), leaving(&of_b)] {
            done("leave", one).await;
        }
        // It comes, declares the round of the others, and comes again.
        let has_looked = || ground.requests_of(late, "multi").len() >= 3;
        eventually("it looks", || third.is_finished() || has_looked()).await;
        assert!(!third.is_finished(), "alone in a round of two");
        done("the next round", entering(&of_a)).await;
        done("one too many", third).await;
        for one in [leaving(&of_a), leaving(&of_late)] {
            done("leave", one).await;
        }
        nothing_left(&ground, b).await;
    }
}
