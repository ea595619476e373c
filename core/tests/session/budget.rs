//! The retry budget: how long a verb waits for a server that says nothing, and who waits longer.

use std::time::{Duration, Instant};

use crate::support::ground::{Ground, grounds};
use crate::support::{eventually, lock_of, options, soon};
use futures_util::FutureExt;
use futures_util::future::join_all;
use zkrecipes::{Client, CreateMode, Error, ErrorKind, RetryOptions, State};
use zkrecipes_embedded::Fault;

const PATH: &str = "/locks/budget";
const TEN: Duration = Duration::from_secs(10);

async fn gives_up_after(ground: &Ground, timeout: Duration, budget: Duration) -> Client {
    let (base, max) = (Duration::from_millis(10), Duration::from_millis(50));
    let retry = RetryOptions::default().base(base).max(max).give_up_after(budget);
    ground.client_with(options(timeout).retry(retry)).await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verb_does_not_give_up_while_answers_keep_coming() {
    let (budget, contenders) = (Duration::from_secs(3), 8);
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, gives_up_after(&ground, TEN, budget).await);
        a.nodes().ensure(PATH).await.expect("created");
        for _ in 0..contenders {
            let name = format!("{PATH}/_c_8a3c7a5e-58f5-4a0d-9d52-3c0f35f9f1d1-lock-");
            a.nodes().create(&name, b"somebody", CreateMode::EphemeralSequential).await.expect("created");
        }
        // The one read of them all is lost, and so is every third one that is made again.
        ground.inject(Fault::drop_before("multiRead").session(b.session_id()));
        for k in 1..4 {
            ground.inject(Fault::drop_before("getData").session(b.session_id()).nth(3 * k));
        }
        ground.inject(Fault::delay_reply("getData", budget / 6).session(b.session_id()).forever());
        let began = Instant::now();
        let found = soon("the list", lock_of(&b, PATH).contenders()).await.expect("all of them");
        assert_eq!(found.len(), contenders);
        assert!(began.elapsed() > budget, "the answers came too fast for this test");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verb_gives_up_when_nothing_was_heard_for_as_long_as_the_budget_says() {
    let budget = Duration::from_millis(800);
    for ground in grounds() {
        let client = gives_up_after(&ground, TEN, budget).await;
        let held = lock_of(&client, PATH).acquire().await.expect("free");
        ground.inject(Fault::delay_reply("getChildren", budget / 2).session(client.session_id()));
        ground.inject(Fault::delay_request("getData", 60 * budget).session(client.session_id()).forever());
        let began = Instant::now();
        let error = soon("the end", lock_of(&client, PATH).contenders()).await.expect_err("no answer");
        assert_eq!(error.kind(), ErrorKind::ConnectionLost);
        let after = began.elapsed();
        assert!(
            after >= budget * 3 / 2,
            "given up {after:?} after the start, and not {budget:?} after the last answer"
        );
        ground.clear_faults();
        drop(held);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_come_behind_others_do_not_give_up_while_the_server_answers() {
    let budget = Duration::from_secs(3);
    for ground in grounds() {
        let client = gives_up_after(&ground, TEN, budget).await;
        let config = client.config("/config/in-line").expect("valid");
        config.create(b"0").await.expect("created");
        ground.inject(Fault::delay_reply("*", budget / 6).path("**/in-line").forever());
        let began = Instant::now();
        let changes = join_all((0..8).map(|_| config.set(b"1", None)));
        for set in soon("all changes", changes).await {
            set.expect("set");
        }
        assert!(began.elapsed() > budget, "the answers came too fast for this test");
        ground.clear_faults();
    }
}

/// The one before it is left alone when it has asked.
#[tokio::test(flavor = "multi_thread")]
async fn what_has_waited_for_an_earlier_call_in_vain_was_not_sent() {
    let budget = Duration::from_millis(800);
    for ground in grounds() {
        let client = gives_up_after(&ground, TEN, budget).await;
        let config = client.config("/config/never-sent").expect("valid");
        config.create(b"0").await.expect("created");
        ground.inject(Fault::delay_request("*", 60 * budget).session(client.session_id()).forever());
        for (said, is_away) in
            [("server of this client answered nothing", false), ("no ZooKeeper server was there", true)]
        {
            if is_away {
                ground.clear_faults();
                ground.go_away();
                eventually("there is no connection", || client.state() == State::Suspended).await;
            }
            let mut first = Box::pin(config.set(b"1", None));
            assert!((&mut first).now_or_never().is_none(), "it has asked");
            let error = soon("the end", config.set(b"2", None)).await.expect_err("no answer");
            assert_eq!(error.kind(), ErrorKind::ConnectionLost);
            let told = error.to_string();
            assert!(told.contains(said) && told.contains("was not sent, and nothing was applied"), "{told}");
        }
        ground.come_back();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_connection_says_how_it_leaves_things() {
    let budget = Duration::from_millis(500);
    for ground in grounds() {
        let client = gives_up_after(&ground, TEN, budget).await;
        let (nodes, config) = (client.nodes(), client.config("/config/budget").expect("valid"));
        config.create(b"one").await.expect("created");
        nodes.ensure(PATH).await.expect("created");
        for request in ["create*", "setData", "getData", "getChildren*", "multiRead"] {
            ground.inject(Fault::delay_request(request, 60 * budget).session(client.session_id()).forever());
        }
        let said = |error: Error| {
            assert_eq!(error.kind(), ErrorKind::ConnectionLost);
            error.to_string()
        };
        let acquiring = lock_of(&client, PATH).acquire_timeout(60 * budget);
        let acquiring = said(soon("acquire", acquiring).await.expect_err("no answer"));
        assert!(
            acquiring.contains("Nothing is held, and what this call may have made is deleted"),
            "{acquiring}"
        );
        let stats = client.queue("/queues/budget", Default::default()).expect("valid").stats().await;
        let updating = config.update(|_| b"two".to_vec());
        for reading in [
            said(stats.expect_err("no answer")),
            said(soon("update", updating).await.expect_err("no answer")),
        ] {
            assert!(!reading.contains("write") && reading.contains("try again"), "{reading}");
        }
        let writing = nodes.set(PATH, b"one", None);
        let writing = said(soon("set", writing).await.expect_err("no answer"));
        assert!(writing.contains("The outcome of a write is unknown"), "{writing}");
        ground.clear_faults();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_watches_a_sequencer_waits_through_an_outage_of_any_length() {
    let budget = Duration::from_millis(500);
    for ground in grounds() {
        for begins in ["before the outage", "in the outage"] {
            // The holder is not to lose anything by the outage.
            let a = ground.client(Duration::from_secs(40)).await;
            let b = gives_up_after(&ground, Duration::from_secs(1), budget).await;
            let held = lock_of(&a, PATH).acquire().await.expect("free");
            let watch = {
                let (b, sequencer) = (b.clone(), held.sequencer());
                async move { b.watch_sequencer(&sequencer).await }
            };
            let watching = if begins == "before the outage" {
                let watching = tokio::spawn(watch);
                eventually("it watches", || ground.watch_count() == 1).await;
                // Whatever was left of a budget that began with the call is used up.
                tokio::time::sleep(budget * 6 / 5).await;
                ground.go_away();
                eventually("its session is lost", || b.state() == State::Lost).await;
                watching
            } else {
                ground.go_away();
                eventually("it has no session", || b.state() == State::Lost).await;
                tokio::spawn(watch)
            };
            tokio::time::sleep(budget * 3 / 2).await;
            assert!(!watching.is_finished(), "{begins}");
            ground.come_back();
            eventually("it watches again", || ground.watch_count() == 1).await;
            assert!(!watching.is_finished(), "{begins}: fired while the acquisition stood");
            assert!(held.is_held(), "{begins}");
            soon("the release", held.release()).await.expect("released");
            soon("the news", watching).await.expect("joined").expect("it fired");
            ground.assert_nothing_left(PATH).await;
        }
    }
}
