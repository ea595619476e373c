//! Two-phase commit: all do it or none, wherever anybody stops, and what it costs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::support::commits::{MINUTE, MODES, PATH, TEN, begun, next, nothing_left, of, site};
use crate::support::ground::{Ground, ground, grounds};
use crate::support::mishap::{MISHAPS, Mishap, Sweep};
use crate::support::{SOON, eventually, options, soon};
use tokio::task::JoinHandle;
use zkrecipes::{Client, CommitMode, ErrorKind, Outcome, Result, blocking};

#[tokio::test(flavor = "multi_thread")]
async fn it_costs_two_writes_for_each_site_and_three_more() {
    let ground = grounds().remove(0);
    let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
    for mode in MODES {
        for count in [2, 3, 10] {
            let coordinator = of(&a, mode);
            let names: Vec<_> = (0..count).map(|n| format!("s{n}")).collect();
            let names: Vec<_> = names.iter().map(String::as_str).collect();
            let mut sites = Vec::new();
            for name in &names {
                sites.push(site(&b, name).await);
            }
            // The folders are made once, and the coordinator is there.
            let first = begun(&coordinator, "first", &names).await;
            coordinator.decide_abort("first", "").await.expect("aborted");
            first.outcome(None).await.expect("known");
            for site in &sites {
                site.pending().await.expect("asked");
            }
            nothing_left(&coordinator).await;
            ground.clear_log();
            let transaction = begun(&coordinator, "one", &names).await;
            let mut proposals = Vec::new();
            for site in &sites {
                proposals.push(next(site).await);
            }
            for proposal in &proposals {
                proposal.vote_commit().await.expect("voted");
            }
            assert_eq!(soon("the outcome", transaction.outcome(None)).await.expect("known"), Outcome::Commit);
            for proposal in &proposals {
                assert_eq!(proposal.outcome(None).await.expect("known"), Outcome::Commit);
                proposal.acknowledge().await.expect("done");
            }
            let log = ground.log();
            let writes =
                log.iter().filter(|entry| ["multi", "delete", "setData", "create2"].contains(&entry.op));
            // To begin, to decide, and that the coordinator knows.
            assert_eq!(writes.count(), 2 * count + 3, "{mode:?} with {count} sites");
            assert!(log.len() <= 25 * count + 20, "{mode:?} with {count} sites: {} requests", log.len());
            assert!(coordinator.history().await.expect("asked").is_empty(), "the last one collects it");
            for site in sites {
                site.leave().await.expect("left");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_commit_needs_every_vote_and_an_abort_only_one() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let coordinator = of(&a, CommitMode::Coordinator);
        let sites = [site(&b, "a").await, site(&b, "b").await, site(&b, "c").await];
        for (n, votes) in
            [[true, true, true], [true, true, false], [false, true, true], [false, false, false]]
                .into_iter()
                .enumerate()
        {
            let id = format!("t{n}");
            let transaction = begun(&coordinator, &id, &["a", "b", "c"]).await;
            assert_eq!(
                (transaction.id(), transaction.payload(), transaction.sites().len()),
                (&*id, &b"chairs"[..], 3)
            );
            let mut proposals = Vec::new();
            for site in &sites {
                proposals.push(next(site).await);
            }
            for (proposal, vote) in proposals.iter().zip(votes) {
                assert_eq!(
                    (proposal.id(), proposal.payload(), proposal.has_voted()),
                    (&*id, &b"chairs"[..], false)
                );
                // Who comes behind an abort votes for nothing any more.
                match vote {
                    true => proposal.vote_commit().await.expect("it is no error"),
                    false => proposal.vote_abort("full").await.expect("voted"),
                }
            }
            let wanted = if votes == [true; 3] { Outcome::Commit } else { Outcome::Abort };
            assert_eq!(soon("the outcome", transaction.outcome(None)).await.expect("known"), wanted);
            for site in &sites {
                for proposal in site.pending().await.expect("asked") {
                    assert_eq!(proposal.outcome(Some(Duration::ZERO)).await.expect("known"), wanted);
                    proposal.acknowledge().await.expect("done");
                    proposal.acknowledge().await.expect("again is fine");
                    assert_eq!(proposal.outcome(None).await.expect("still known"), wanted);
                }
            }
            assert_eq!(transaction.outcome(None).await.expect("still known"), wanted);
            for proposal in &proposals {
                assert_eq!(soon("the outcome", proposal.outcome(None)).await.expect("still known"), wanted);
            }
            nothing_left(&coordinator).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_begin_that_is_given_up_is_aborted() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let coordinator = of(&a, CommitMode::Coordinator);
        let asked = site(&b, "a").await;
        begun(&coordinator, "first", &["a"]).await;
        next(&asked).await.vote_abort("").await.expect("aborted");
        let slow = ground.inject(
            zkrecipes_embedded::Fault::delay_reply("multi", Duration::from_secs(2)).session(a.session_id()),
        );
        let work = {
            let coordinator = coordinator.clone();
            tokio::spawn(async move { coordinator.begin("given-up", &["a"], b"x", MINUTE).await.map(drop) })
        };
        eventually("it is on its way", || ground.fault_fired(slow)).await;
        work.abort();
        ground.clear_faults();
        soon("it is aborted", async {
            loop {
                match coordinator.show("given-up").await.expect("asked") {
                    Some(status) if status.outcome == Some(Outcome::Abort) => return,
                    _ => tokio::time::sleep(Duration::from_millis(5)).await,
                }
                if coordinator.history().await.expect("asked").iter().all(|status| status.id != "given-up") {
                    return;
                }
            }
        })
        .await;
    }
}

/// Everything that a coordinator and two sites do, each of them by a client of its own.
struct Cast {
    coordinator: Client,
    first: Client,
    second: Client,
}

async fn coordinate(client: Client, mode: CommitMode) -> Result<Outcome> {
    of(&client, mode).begin("one", &["a", "b"], b"x", MINUTE).await?.outcome(None).await
}

async fn take_part(client: Client, name: &'static str, is_told: Arc<AtomicBool>) -> Result<Outcome> {
    let site = of(&client, CommitMode::Coordinator);
    site.join(name).await?;
    let proposal = site.next(None).await?;
    is_told.store(true, Ordering::SeqCst);
    proposal.vote_commit().await?;
    let outcome = proposal.outcome(None).await?;
    proposal.acknowledge().await?;
    Ok(outcome)
}

/// What one of them does is cut short at request `k`; then somebody else goes on. False when there was no such request.
async fn meet(ground: &Ground, mode: CommitMode, mishap: Mishap, is_coordinator: bool, k: u64) -> bool {
    let what = format!(
        "{mode:?}: {mishap:?} at request {k} of the {}",
        if is_coordinator { "coordinator" } else { "site" }
    );
    let short = mishap.session_timeout();
    let cast = Cast {
        coordinator: ground.client(short).await,
        first: ground.client(short).await,
        second: ground.client(TEN).await,
    };
    let victim = if is_coordinator { &cast.coordinator } else { &cast.first };
    let session = victim.session_id();
    let fault = ground.inject(mishap.fault().session(session).nth(k));
    let coordinating = tokio::spawn(coordinate(cast.coordinator.clone(), mode));
    let is_told: [Arc<AtomicBool>; 2] = Default::default();
    let first = tokio::spawn(take_part(cast.first.clone(), "a", is_told[0].clone()));
    let second = tokio::spawn(take_part(cast.second.clone(), "b", is_told[1].clone()));
    let work = if is_coordinator { &coordinating } else { &first };
    eventually(&what, || ground.fault_fired(fault) || work.is_finished()).await;
    let fired = ground.fault_fired(fault);
    let is_cut = matches!(mishap, Mishap::CallDropped | Mishap::CallCancelled);
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
    let mut outcomes = Vec::new();
    if fired && is_cut {
        // What was cut off, somebody else takes up.
        let again = ground.client(TEN).await;
        if is_coordinator {
            let _ = coordinating.await;
            cast.coordinator.close(Some(SOON)).await.expect("closed");
            let commits = of(&again, mode);
            soon(&what, async {
                while !commits.history().await.expect("asked").is_empty() {
                    for transaction in commits.recover().await.expect("recovered") {
                        outcomes.push(transaction.outcome(None).await.expect("known"));
                    }
                    tokio::time::sleep(Duration::from_millis(5)).await;
                }
            })
            .await;
            // It never began; or whoever was told of it is done with it, and to the others it is nothing.
            match [&is_told[0], &is_told[1]].map(|is_told| is_told.load(Ordering::SeqCst)) {
                [false, false] => {
                    let transaction = commits.begin("two", &["a", "b"], b"x", MINUTE).await.expect("begun");
                    outcomes.push(soon(&what, transaction.outcome(None)).await.expect("known"));
                }
                [false, true] => first.abort(),
                [true, false] => second.abort(),
                [true, true] => {}
            }
            outcomes
                .extend(ended(&what, first).await.map(|end| end.unwrap_or_else(|error| late(&what, error))));
        } else {
            let _ = first.await;
            cast.first.close(Some(SOON)).await.expect("closed");
            let site = site(&again, "a").await;
            let pending = site.pending().await.expect("asked");
            if pending.is_empty() && !coordinating.is_finished() {
                let proposal = next(&site).await;
                proposal.vote_commit().await.expect("voted");
                outcomes.push(soon(&what, proposal.outcome(None)).await.expect("known"));
                proposal.acknowledge().await.expect("done");
            }
            for proposal in pending {
                proposal.vote_commit().await.expect("voted, again maybe");
                outcomes.push(soon(&what, proposal.outcome(None)).await.expect("known"));
                proposal.acknowledge().await.expect("done");
            }
            outcomes.push(soon(&what, coordinating).await.expect("joined").expect("known"));
        }
        again.close(Some(SOON)).await.expect("closed");
    } else {
        outcomes.push(
            soon(&what, coordinating)
                .await
                .expect("joined")
                .unwrap_or_else(|error| panic!("{what}: {error:?}")),
        );
        outcomes.push(
            soon(&what, first).await.expect("joined").unwrap_or_else(|error| panic!("{what}: {error:?}")),
        );
    }
    outcomes.extend(ended(&what, second).await.map(|end| end.unwrap_or_else(|error| late(&what, error))));
    outcomes.dedup();
    assert_eq!(outcomes.len(), 1, "{what}: not all did the same");
    for client in [cast.coordinator, cast.first, cast.second] {
        client.close(Some(SOON)).await.expect("closed");
    }
    let after = ground.client(TEN).await;
    for name in ["a", "b"] {
        let site = of(&after, mode);
        // A session that is over for its client alone has its nodes until its timeout.
        soon(&what, async {
            while site.join(name).await.is_err() {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        })
        .await;
        for proposal in site.pending().await.expect("asked") {
            proposal.acknowledge().await.expect("done");
        }
        site.leave().await.expect("left");
    }
    let commits = of(&after, mode);
    soon(&what, async {
        while !commits.history().await.expect("asked").is_empty() {
            for transaction in commits.recover().await.expect("recovered") {
                transaction.outcome(None).await.expect("known");
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    })
    .await;
    after.close(Some(SOON)).await.expect("closed");
    fired
}

/// How the work of one of them ended, unless it was aborted.
async fn ended(what: &str, work: JoinHandle<Result<Outcome>>) -> Option<Result<Outcome>> {
    match soon(what, work).await {
        Err(error) if error.is_cancelled() => None,
        end => Some(end.expect("no panic")),
    }
}

/// A begin that was given up is aborted, maybe before a site has voted.
fn late(what: &str, error: zkrecipes::Error) -> Outcome {
    assert_eq!(error.kind(), ErrorKind::Timeout, "{what}: {error:?}");
    Outcome::Abort
}

#[tokio::test(flavor = "multi_thread")]
async fn all_do_the_same_whatever_happens_to_any_request_of_the_coordinator() {
    sweep(true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_do_the_same_whatever_happens_to_any_request_of_a_site() {
    sweep(false).await;
}

async fn sweep(is_coordinator: bool) {
    // Each mode in a world of its own, and both at once. The pairs of crash points try the same places again, so that one
    // request in so many is enough unless all is to be tested.
    let sweeps = [0, 1].map(|nth| {
        tokio::spawn(async move {
            let (mode, turn) = (MODES[nth], 3 * nth + usize::from(is_coordinator));
            let ground = ground();
            for mishap in MISHAPS {
                let mut sweep = Sweep::in_part(mishap, turn);
                while let Some(k) = sweep.next()
                    && meet(&ground, mode, mishap, is_coordinator, k).await
                {}
                sweep.expect(6, &format!("{mode:?}: {mishap:?}"));
            }
        })
    });
    for sweep in sweeps {
        sweep.await.expect("met and survived");
    }
}

#[test]
fn threads_commit_too() {
    let server = crate::support::server();
    let client = blocking::Client::connect(&server.connect_string(), options(TEN)).expect("it answers");
    let commits = client.two_phase_commit(PATH, CommitMode::default()).expect("valid");
    commits.join("a").expect("joined");
    let transaction = commits.begin("one", &["a"], b"x", MINUTE).expect("begun");
    let proposal = commits.next(None).expect("asked");
    proposal.vote_commit().expect("voted");
    assert_eq!(transaction.outcome(None).expect("known"), Outcome::Commit);
    assert_eq!(commits.pending().expect("asked").len(), 1);
    assert_eq!(commits.history().expect("asked")[0].outcome, Some(Outcome::Commit));
    assert!(commits.recover().expect("asked").is_empty());
    assert_eq!(proposal.outcome(None).expect("known"), Outcome::Commit);
    proposal.acknowledge().expect("done");
    assert_eq!(commits.show("one").expect("asked"), None);
    commits.leave().expect("left");
}

#[test]
fn threads_that_wait_for_proposals_or_outcomes_can_be_called_away() {
    /// Runs `wait` in a thread, which begins whenever it does, and cancels it.
    fn cancelled<T: Send + 'static>(wait: impl FnOnce() -> Result<T> + Send + 'static, cancel: impl Fn()) {
        let waiter = std::thread::spawn(wait);
        while !waiter.is_finished() {
            cancel();
            std::thread::sleep(Duration::from_millis(1));
        }
        let ended = waiter.join().expect("no panic").err().expect("cancelled");
        assert_eq!(ended.kind(), ErrorKind::Cancelled);
    }
    let server = crate::support::server();
    let client = blocking::Client::connect(&server.connect_string(), options(TEN)).expect("it answers");
    let commits = client.two_phase_commit(PATH, CommitMode::default()).expect("valid");
    commits.join("a").expect("joined");
    let waiting = commits.clone();
    cancelled(move || waiting.next(None), || commits.cancel());
    let transaction = commits.begin("one", &["a"], b"x", MINUTE).expect("a later call is not cancelled");
    let proposal = commits.next(None).expect("nothing was lost");
    proposal.vote_commit().expect("voted");
    assert_eq!(transaction.outcome(None).expect("known"), Outcome::Commit);
    proposal.acknowledge().expect("done");

    let transaction = commits.begin("two", &["a"], b"x", MINUTE).expect("begun");
    let proposal = commits.next(None).expect("asked");
    let waiting = proposal.clone();
    cancelled(move || waiting.outcome(None), || proposal.cancel());
    let waiting = transaction.clone();
    cancelled(move || waiting.outcome(None), || transaction.cancel());
    proposal.vote_abort("enough").expect("voted");
    assert_eq!(transaction.outcome(None).expect("known"), Outcome::Abort);
}
