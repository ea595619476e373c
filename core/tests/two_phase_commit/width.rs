//! Two-phase commit: one node that cannot be read stops nobody, a site that is gone leaves little behind, and many transactions
//! are read at once.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use crate::support::access::{NO_DELETION, NO_READING, set_access};
use crate::support::commits::{
    MINUTE, MODES, PATH, TEN, begun, next, nothing_left, of, outcome_of, site, take_part, warmed_up,
};
use crate::support::said;
use crate::support::{client_with, connected, eventually, nodes_under, options, server, soon};
use zkrecipes::{
    AclChoice, Auth, Client, CommitMode, CreateMode, ErrorKind, Outcome, Proposal, TwoPhaseCommit,
};
use zkrecipes_embedded::{Fault, Server};

async fn client(server: &Server) -> Client {
    client_with(server, TEN).await
}

fn coordinator(client: &Client) -> TwoPhaseCommit {
    of(client, CommitMode::Coordinator)
}

/// Whose nodes nobody else may read.
async fn secretive(server: &Server) -> Client {
    let auth = Auth::new("digest", "owner:secret");
    connected(server, options(TEN).auth(auth).acl(AclChoice::Creator)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_cannot_be_read_stops_nobody() {
    said::listen();
    let server = server();
    let (a, b, owner) = (client(&server).await, client(&server).await, secretive(&server).await);
    let coordinator = coordinator(&a);
    warmed_up(&coordinator).await;
    let asked = site(&b, "a").await;
    // One that we may not read, and one that says what we do not understand.
    let secret = of(&owner, CommitMode::Coordinator);
    let denied = begun(&secret, "denied", &["a"]).await;
    begun(&coordinator, "unknown", &["a"]).await;
    a.nodes().set(&format!("{PATH}/transactions/unknown"), b"version 7", None).await.expect("set");
    let one = begun(&coordinator, "one", &["a"]).await;
    // A site is told of the one, and of no other.
    let proposal = next(&asked).await;
    assert_eq!(proposal.id(), "one");
    let pending: Vec<_> =
        asked.pending().await.expect("asked").iter().map(|one| one.id().to_owned()).collect();
    assert_eq!(pending, ["one"]);
    assert_eq!(nodes_under(&server, &format!("{PATH}/inbox/a")).len(), 3, "nothing is dismissed");
    // What is listed says so.
    for onlooker in [&coordinator, &asked] {
        let all = onlooker.history().await.expect("asked");
        let problems: Vec<_> = all.iter().map(|status| (&*status.id, !status.problem.is_empty())).collect();
        let mut sorted = problems.clone();
        sorted.sort_unstable();
        assert_eq!(sorted, [("denied", true), ("one", false), ("unknown", true)]);
    }
    assert!(coordinator.show("denied").await.expect("asked").expect("it is there").problem.contains("read"));
    // Its coordinators die.
    for client in [&a, &owner] {
        server.expire(client.session_id());
    }
    server.inject(Fault::stall_connections(MINUTE));
    drop((denied, one));
    let heir = of(&b, CommitMode::Coordinator);
    let taken = soon("it is taken over", async {
        loop {
            let taken = heir.recover().await.expect("the others stop nobody");
            if !taken.is_empty() {
                return taken;
            }
        }
    })
    .await;
    assert_eq!(taken.iter().map(|one| one.id()).collect::<Vec<_>>(), ["one"]);
    assert_eq!(take_part(&proposal).await, Outcome::Commit);
    assert_eq!(taken[0].outcome(None).await.expect("known"), Outcome::Commit);
    // It is said once by each client, with the name of the node.
    for (name, cause) in [("denied", "denied"), ("unknown", "encoding")] {
        let told = || {
            let mut lines = said::about(&format!("transactions/{name}"));
            lines.retain(|line| line.contains("skipped") && line.contains(cause));
            lines
        };
        eventually("it is said", || !told().is_empty()).await;
        assert!(told().len() <= 2, "{:?}", told());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_can_be_read_again_is_told() {
    let server = server();
    let (a, b) = (client(&server).await, client(&server).await);
    let coordinator = coordinator(&a);
    warmed_up(&coordinator).await;
    let asked = site(&b, "a").await;
    begun(&coordinator, "one", &["a"]).await;
    let node = format!("{PATH}/transactions/one");
    let (before, _) = a.nodes().get(&node).await.expect("read");
    a.nodes().set(&node, b"version 7", None).await.expect("set");
    asked.next(Some(Duration::ZERO)).await.map(drop).expect_err("it is left out");
    a.nodes().set(&node, &before, None).await.expect("set");
    assert_eq!(next(&asked).await.id(), "one");
}

/// A transaction that a site that is there refuses, and another never saw.
async fn refused(server: &Server, coordinator: &TwoPhaseCommit, there: &TwoPhaseCommit, id: &str) -> usize {
    let transaction = begun(coordinator, id, &["a", "gone"]).await;
    let proposal = next(there).await;
    proposal.vote_abort("full").await.expect("voted");
    assert_eq!(transaction.outcome(None).await.expect("known"), Outcome::Abort);
    proposal.acknowledge().await.expect("done");
    nothing_left(coordinator).await;
    nodes_under(server, &format!("{PATH}/inbox/gone")).len()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_inbox_of_a_site_that_is_gone_does_not_grow_for_ever() {
    let server = server();
    let (a, b) = (client(&server).await, client(&server).await);
    let (coordinator, there) = (coordinator(&a), site(&b, "a").await);
    assert_eq!(refused(&server, &coordinator, &there, "one").await, 1, "should it come back soon");
    // As if that had happened often.
    let often = a.nodes().transaction();
    for n in 0..1000 {
        let entry = format!("{PATH}/inbox/gone/earlier-{n}");
        often.create(&entry, b"", CreateMode::Persistent).expect("a part");
    }
    often.commit().await.expect("made");
    assert_eq!(refused(&server, &coordinator, &there, "two").await, 1001, "no more than that");
    // It is not forgotten while that site is there.
    let c = client(&server).await;
    let back = site(&c, "gone").await;
    assert_eq!(refused(&server, &coordinator, &there, "three").await, 1002);
    back.leave().await.expect("left");
    // Nor while we may not ask whether it is.
    let secret = secretive(&server).await;
    let back = site(&secret, "gone").await;
    assert_eq!(refused(&server, &coordinator, &there, "four").await, 1003);
    back.leave().await.expect("left");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_aborted_is_cleared_away_though_nobody_asks_for_it() {
    let server = server();
    let (a, b, c) = (client(&server).await, client(&server).await, client(&server).await);
    let (first, there) = (coordinator(&a), site(&b, "a").await);
    let dying = client(&server).await;
    drop(coordinator(&dying).begin("orphan", &["gone"], b"", Duration::from_secs(3)).await.expect("begun"));
    dying.close(None).await.expect("closed");
    let heir = coordinator(&c);
    soon("it is taken over", async { while heir.recover().await.expect("asked").is_empty() {} }).await;
    let soon_over = Duration::from_millis(200);
    let kept = first.begin("kept", &["gone"], b"", soon_over).await.expect("begun");
    drop(first.begin("dropped", &["gone"], b"", soon_over).await.expect("begun"));
    drop(coordinator(&a).begin("alone", &["gone"], b"", soon_over).await.expect("begun"));
    // But what was committed is not: somebody may ask for it.
    let committed = begun(&first, "committed", &["a"]).await;
    let proposal = next(&there).await;
    assert_eq!(take_part(&proposal).await, Outcome::Commit);
    drop(committed);
    let ids = || nodes_under(&server, &format!("{PATH}/transactions"));
    let left = || ids().iter().filter(|node| !node.contains("/committed")).count();
    eventually("what was aborted is gone", || left() == 0).await;
    assert_eq!(outcome_of(&first, "committed").await, Some(Some(Outcome::Commit)));
    assert_eq!(soon("the outcome", kept.outcome(None)).await.expect("known"), Outcome::Abort);
    assert_eq!(
        nodes_under(&server, &format!("{PATH}/outcomes")).len(),
        1,
        "for who began what was taken over"
    );
    let found = first.recover().await.expect("asked");
    assert_eq!(found.iter().map(|one| one.id()).collect::<Vec<_>>(), ["committed"]);
    assert_eq!(soon("the outcome", found[0].outcome(None)).await.expect("known"), Outcome::Commit);
    nothing_left(&first).await;
}

/// Makes so many nodes there.
async fn fill(client: &Client, folder: &str, many: usize) {
    client.nodes().ensure(folder).await.expect("made");
    for from in (0..many).step_by(1000) {
        let batch = client.nodes().transaction();
        for n in from..many.min(from + 1000) {
            let entry = format!("{folder}/earlier-{n}");
            batch.create(&entry, b"", CreateMode::Persistent).expect("a part");
        }
        batch.commit().await.expect("made");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_begins_with_a_site_whose_inbox_is_full_nor_where_nothing_is_ever_over() {
    for (folder, names) in [("inbox/gone", "site \"gone\""), ("transactions", "10000 transactions")] {
        let server = server();
        let (a, b) = (client(&server).await, client(&server).await);
        let folder = format!("{PATH}/{folder}");
        fill(&a, &folder, 9_998).await;
        let (one, other) = (coordinator(&a), coordinator(&b));
        begun(&one, "one more", &["there", "gone"]).await;
        begun(&one, "the last", &["there", "gone"]).await;
        for commits in [&one, &other, &one] {
            let refused = commits.begin("too many", &["there", "gone"], b"", TEN).await.expect_err("full");
            assert_eq!((refused.kind(), refused.path()), (ErrorKind::TooLarge, Some(&*folder)), "{refused}");
            assert!(refused.to_string().contains(names), "{refused}");
        }
        assert!(one.show("too many").await.expect("asked").is_none(), "nothing of it is there");
        if folder.ends_with("gone") {
            begun(&other, "with another", &["there"]).await;
        }
        a.nodes().delete(&format!("{folder}/earlier-0"), None).await.expect("deleted");
        begun(&one, "with room", &["gone"]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_inbox_in_which_nobody_may_delete_or_look_keeps_no_transaction_from_its_end() {
    for right in [NO_DELETION, NO_READING] {
        let server = server();
        let (a, b) = (client(&server).await, client(&server).await);
        let (coordinator, there) = (coordinator(&a), site(&b, "a").await);
        refused(&server, &coordinator, &there, "one").await;
        let often = a.nodes().transaction();
        for n in 0..1000 {
            let entry = format!("{PATH}/inbox/gone/earlier-{n}");
            often.create(&entry, b"", CreateMode::Persistent).expect("a part");
        }
        often.commit().await.expect("made");
        set_access(&server.connect_string(), &format!("{PATH}/inbox/gone"), right);
        let ended = soon("the end", refused(&server, &coordinator, &there, "two")).await;
        assert_eq!(ended, 1002, "what the site is asked stays");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_vote_that_may_not_be_read_keeps_nobody_from_the_abort() {
    for mode in MODES {
        let server = server();
        let (a, b, owner) = (client(&server).await, client(&server).await, secretive(&server).await);
        let coordinator = of(&a, mode);
        warmed_up(&coordinator).await;
        let (second, first) = (site(&b, "b").await, site(&owner, "a").await);
        let one = coordinator.begin("one", &["a", "b"], b"", Duration::from_secs(8)).await.expect("begun");
        let (secret, open) = (next(&first).await, next(&second).await);
        secret.vote_commit().await.expect("voted");
        open.vote_commit().await.expect("voted, whether or not it can be committed");
        let undecided = one.outcome(Some(Duration::ZERO)).await.expect_err("nobody may commit it");
        assert_eq!(undecided.kind(), ErrorKind::Timeout, "{mode:?}: {undecided}");
        assert!(a.skipped().keys().any(|node| node.contains("/vote-") && node.ends_with("-a")));
        // Its site asks for nothing any more: it may have died.
        assert_eq!(soon("the outcome", open.outcome(None)).await.expect("known"), Outcome::Abort);
        let why = coordinator.show("one").await.expect("asked").expect("it is there").reason;
        assert!(why.contains("may not be read"), "{why}");
        assert_eq!(soon("the outcome", one.outcome(None)).await.expect("known"), Outcome::Abort);
        open.acknowledge().await.expect("done");
        secret.acknowledge().await.expect("done");
        nothing_left(&coordinator).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_of_which_a_part_was_deleted_by_hand_is_none() {
    let server = server();
    let a = client(&server).await;
    let coordinator = coordinator(&a);
    let _one = begun(&coordinator, "one", &["a"]).await;
    let all = nodes_under(&server, &format!("{PATH}/transactions/one"));
    let open = all.iter().find(|node| node.contains("/open-")).expect("nothing is decided");
    a.nodes().delete(open, None).await.expect("deleted");
    let refused = soon("an answer", coordinator.decide_abort("one", "")).await.expect_err("it is damaged");
    assert!(refused.kind() == ErrorKind::NoNode && refused.to_string().contains("by hand"), "{refused}");
}

/// What the site `gone` has voted on, and has not acknowledged.
async fn aborted_without_a_vote_of_a(
    coordinator: &TwoPhaseCommit,
    gone: &TwoPhaseCommit,
    many: usize,
) -> Vec<Proposal> {
    let mut voted = Vec::new();
    for n in 0..many {
        let id = format!("t{n}");
        let transaction = begun(coordinator, &id, &["a", "gone"]).await;
        let proposal = next(gone).await;
        proposal.vote_commit().await.expect("voted");
        coordinator.decide_abort(&id, "").await.expect("decided");
        assert_eq!(transaction.outcome(None).await.expect("known"), Outcome::Abort);
        voted.push(proposal);
    }
    voted
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_aborted_without_a_site_costs_it_nothing_and_goes_from_its_inbox_when_it_is_collected() {
    const MANY: usize = 130;
    let server = server();
    let (a, b, c) = (client(&server).await, client(&server).await, client(&server).await);
    let (coordinator, asked, gone) = (coordinator(&a), site(&b, "a").await, site(&c, "gone").await);
    let voted = aborted_without_a_vote_of_a(&coordinator, &gone, MANY).await;
    asked.next(Some(Duration::ZERO)).await.map(drop).expect_err("there is nothing to vote on");
    assert_eq!(asked.pending().await.expect("asked").len(), MANY);
    server.clear_log();
    for n in 0..3 {
        let id = format!("new-{n}");
        begun(&coordinator, &id, &["a"]).await;
        assert_eq!(next(&asked).await.id(), id);
    }
    let reads = server
        .log()
        .iter()
        .filter(|entry| entry.session_id == b.session_id() && entry.op == "getData")
        .count();
    assert!(reads < 20, "{reads}");
    let inbox = || nodes_under(&server, &format!("{PATH}/inbox/a")).len();
    assert_eq!(inbox(), MANY + 3);
    let waiting = asked.clone();
    let waiter = tokio::spawn(async move { waiting.next(None).await });
    // The other one is back.
    for proposal in voted {
        proposal.acknowledge().await.expect("done");
    }
    eventually("it has forgotten them", || inbox() == 3).await;
    waiter.abort();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_collected_together_is_found_with_one_list() {
    const MANY: usize = 230;
    let server = server();
    let (a, b, c) = (client(&server).await, client(&server).await, client(&server).await);
    let (coordinator, asked, gone) = (coordinator(&a), site(&b, "a").await, site(&c, "gone").await);
    let voted = aborted_without_a_vote_of_a(&coordinator, &gone, MANY).await;
    asked.next(Some(Duration::ZERO)).await.map(drop).expect_err("there is nothing to vote on");
    for proposal in voted {
        proposal.acknowledge().await.expect("done");
    }
    nothing_left(&coordinator).await;
    server.clear_log();
    let waiting = asked.clone();
    let waiter = tokio::spawn(async move { waiting.next(None).await });
    let inbox = format!("{PATH}/inbox/a");
    eventually("it has forgotten them", || nodes_under(&server, &inbox).is_empty()).await;
    waiter.abort();
    let (mut read, mut lists) = (HashSet::new(), 0);
    for entry in server.log().iter().filter(|entry| entry.session_id == b.session_id()) {
        lists += usize::from(entry.op.starts_with("getChildren") && entry.path == inbox);
        if entry.op == "getData" && !entry.path.contains("/vote-") && read.insert(entry.path.clone()) {
            // What is there still when the last one was read is listed again.
            assert_eq!(lists, 1, "{} were read", read.len());
        }
    }
    assert_eq!(read.len(), MANY);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_site_that_asks_for_a_moment_is_told_though_the_network_is_slow() {
    const MANY: usize = 12;
    let server = server();
    let a = client(&server).await;
    let b = connected(&server, options(TEN).max_in_flight(2)).await;
    let (coordinator, asked) = (coordinator(&a), site(&b, "a").await);
    for n in 0..MANY {
        drop(begun(&coordinator, &format!("t{n}"), &["a"]).await);
    }
    // No answer comes in the time of one call.
    let (moment, slow) = (Duration::from_millis(40), Duration::from_millis(60));
    server.inject(Fault::delay_reply("*", slow).session(b.session_id()).forever());
    let mut told = Vec::new();
    soon("all are told", async {
        while told.len() < MANY {
            match asked.next(Some(moment)).await {
                Ok(proposal) => told.push(proposal.id().to_owned()),
                Err(error) => assert_eq!(error.kind(), ErrorKind::Timeout, "{error}"),
            }
        }
    })
    .await;
    assert_eq!(told, Vec::from_iter((0..MANY).map(|n| format!("t{n}"))));
}

#[tokio::test(flavor = "multi_thread")]
async fn many_transactions_are_read_at_once() {
    const MANY: usize = 60;
    let server = server();
    let (a, b) = (client(&server).await, client(&server).await);
    let coordinator = coordinator(&a);
    for n in 0..MANY {
        drop(begun(&coordinator, &format!("t{n}"), &["a"]).await);
    }
    let moment = Duration::from_millis(100);
    let slow =
        || server.inject(Fault::delay_reply("getData", moment).path("**/transactions/*").times(MANY as u64));
    let site = of(&b, CommitMode::Coordinator);
    let in_turn = moment * MANY as u32;
    let began = Instant::now();
    let fault = slow();
    site.join("a").await.expect("joined");
    // In the background.
    eventually("it has looked", || server.count("getData", "**/transactions/*") >= MANY).await;
    assert!(server.fault_fired(fault) && began.elapsed() < in_turn / 2, "joining: {:?}", began.elapsed());
    server.clear_faults();
    for what in ["history", "next", "pending"] {
        slow();
        let began = Instant::now();
        match what {
            "history" => assert_eq!(site.history().await.expect("asked").len(), MANY),
            "next" => assert_eq!(next(&site).await.id(), "t0"),
            _ => assert_eq!(site.pending().await.expect("asked").len(), MANY),
        }
        assert!(began.elapsed() < in_turn / 2, "{what}: {:?}", began.elapsed());
        server.clear_faults();
    }
}
