//! Priorities: what others see of them, and who keeps whom back.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::{Duration, Instant};

use crate::support::ground::grounds;
use crate::support::{client, eventually, nodes_under, server, soon};
use zkrecipes::{
    Client, ClientOptions, CreateMode, Election, ElectionOptions, ErrorKind, Leadership, blocking,
};
use zkrecipes_embedded::{Fault, Server};

const PATH: &str = "/elections/priority";
const TWO: Duration = Duration::from_secs(2);
const FIVE: Duration = Duration::from_secs(5);
/// In which what is waited for comes.
const SOON: Duration = Duration::from_secs(15);

fn candidate(client: &Client, priority: i32) -> Election {
    let options = ElectionOptions::default().priority(priority).drain(Duration::from_millis(500));
    client.election(PATH, b"", options).expect("valid")
}

/// Leads term after term, and hands over when it is asked.
fn leads(election: &Election) -> tokio::task::JoinHandle<()> {
    let election = election.clone();
    tokio::spawn(async move {
        let work = |leadership: Leadership| async move {
            leadership.signal().await;
            Ok::<(), zkrecipes::Error>(())
        };
        let _ = election.run(work).await;
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_lead_is_told_to_campaign() {
    let server = server();
    let election = candidate(&client(&server).await, 0);
    let refused = [election.resign().await, election.transfer("somebody").await.map(drop)];
    for error in refused.map(|answer| answer.expect_err("it does not lead")) {
        assert_eq!(error.kind(), ErrorKind::NotHeld);
        assert!(error.to_string().contains("campaign first"), "{error}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_candidate_says_is_what_it_says_without_a_priority() {
    let server = server();
    let options = ClientOptions::default().identity("ann");
    let client = Client::connect(&server.connect_string(), options).await.expect("connected");
    for priority in [0, 5, -5] {
        let leadership = candidate(&client, priority).campaign().await.expect("nobody else stands");
        let (data, _) = client.nodes().get(leadership.node()).await.expect("it stands");
        assert_eq!(&data[..], b"ann", "of priority {priority}");
        leadership.release().await.expect("resigned");
    }
}

/// Everybody who looks at the leader now reads this of it.
async fn assert_known(client: &Client, expected: (&str, &[u8])) {
    let election = candidate(client, 0);
    let leader = election.leader().await.expect("answered").expect("somebody leads");
    assert_eq!((&*leader.identity, &leader.data[..]), expected);
    let told = election.observe().next().await.expect("told").expect("answered").expect("somebody leads");
    assert_eq!(told, leader);
    let candidates = election.candidates().await.expect("answered");
    assert_eq!((&*candidates[0].identity, candidates[0].is_asked), (expected.0, true), "{candidates:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_listens_to_nothing_is_known_while_it_is_asked() {
    for ground in grounds() {
        let options = ClientOptions::default().identity("ann");
        let first = ground.client_with(options).await;
        let second = ground.client(Duration::from_secs(20)).await;
        for asks_by_hand in [false, true] {
            let leader = first.election(PATH, b"at port 80", Default::default()).expect("valid");
            let leadership = leader.campaign().await.expect("nobody else stands");
            let higher = candidate(&second, 1);
            let waiting = tokio::spawn(higher.campaign());
            if asks_by_hand {
                assert!(higher.revoke(None, None).await.expect("asked"));
            }
            let said = || async { first.nodes().get(leadership.node()).await.expect("it stands").0 };
            while !said().await.starts_with(b"__REVOKE__") {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            assert_known(&second, ("ann", b"at port 80")).await;
            assert!(leadership.is_held());
            leadership.release().await.expect("resigned");
            let next = soon("the higher one leads", waiting).await.expect("joined").expect("elected");
            next.release().await.expect("resigned");
        }
        ground.assert_nothing_left("/elections").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_was_killed_while_it_waited_keeps_nobody_back() {
    for ground in grounds() {
        let session = Duration::from_secs(20);
        let (first, dead, best) =
            (ground.client(session).await, ground.client(session).await, ground.client(session).await);
        let (leader, waits, highest) = (candidate(&first, 0), candidate(&dead, 0), candidate(&best, 5));
        let running = leads(&leader);
        eventually("it leads", || leader.is_leader()).await;
        let waiting = tokio::spawn(waits.campaign());
        let standing = || async { first.nodes().children(PATH).await.expect("there").len() };
        while standing().await < 2 {}
        ground.inject(Fault::black_hole().session(dead.session_id()).lasting(Duration::from_secs(6)));
        let began = std::time::Instant::now();
        let next = leads(&highest);
        // Sooner than anything is heard of the dead one again.
        while !highest.is_leader() {
            assert!(began.elapsed() < FIVE, "it leads soon");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        // It lives, and stands again.
        while standing().await < 3 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert!(!waiting.is_finished());
        // Who waits first: else it may lead before it is cancelled.
        for election in [waits, leader, highest] {
            election.cancel();
        }
        for running in [running, next] {
            soon("it ends", running).await.expect("joined");
        }
        assert!(soon("it is withdrawn", waiting).await.expect("joined").is_err());
        ground.assert_nothing_left("/elections").await;
    }
}

/// By the time that it asks, the lease of a session that beats for nothing is not certain for long.
#[tokio::test(flavor = "multi_thread")]
async fn who_stands_behind_several_asks_them_whatever_its_session_timeout_is() {
    for ground in grounds() {
        let long = Duration::from_secs(20);
        let (first, second, best) =
            (ground.client(long).await, ground.client(long).await, ground.client(TWO).await);
        let (leader, waits, highest) = (candidate(&first, 0), candidate(&second, 0), candidate(&best, 5));
        let mut running = vec![leads(&leader)];
        eventually("it leads", || leader.is_leader()).await;
        running.push(leads(&waits));
        eventually("it stands", || ground.nodes_under(PATH).len() == 2).await;
        // It has said nothing for a while but that it is there.
        tokio::time::sleep(TWO).await;
        let session = best.session_id();
        running.push(leads(&highest));
        eventually("it leads", || highest.is_leader()).await;
        // In another session it has asked again.
        let asked = ground.requests_of(&best, "setData").len();
        assert!(asked == 2 || best.session_id() != session, "it has asked both: {asked}");
        for election in [&waits, &leader, &highest] {
            election.cancel();
        }
        for running in running {
            soon("it ends", running).await.expect("joined");
        }
        ground.assert_nothing_left("/elections").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_ours_is_neither_asked_nor_deleted_nor_passed() {
    let server = server();
    let (first, peer, best) = (client(&server).await, client(&server).await, client(&server).await);
    let (leader, highest) = (candidate(&first, 0), candidate(&best, 5));
    let running = leads(&leader);
    eventually("it leads", || leader.is_leader()).await;
    let guid = uuid::Uuid::new_v4();
    let name = format!("{PATH}/_c_{guid}-latch-");
    let theirs = peer.nodes().create(&name, b"peer", CreateMode::EphemeralSequential).await.expect("created");
    let next = leads(&highest);
    eventually("it stands", || nodes_under(&server, PATH).len() == 3).await;
    tokio::time::sleep(TWO).await;
    let (data, stat) = peer.nodes().get(&theirs).await.expect("it stands");
    assert_eq!((&data[..], stat.version), (&b"peer"[..], 0));
    assert!(leader.is_leader() && !highest.is_leader(), "the peer would lead next");
    peer.nodes().delete(&theirs, None).await.expect("gone");
    eventually("it leads", || highest.is_leader()).await;
    eventually("the other one stands behind", || nodes_under(&server, PATH).len() == 2).await;
    for (election, running) in [(leader, running), (highest, next)] {
        election.cancel();
        soon("it ends", running).await.expect("joined");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_moves_behind_stands_all_the_time_and_is_asked_once() {
    let server = server();
    let (first, moved, best) = (client(&server).await, client(&server).await, client(&server).await);
    let leadership = candidate(&first, 9).campaign().await.expect("nobody else stands");
    let waits = candidate(&moved, 0);
    let waiting = tokio::spawn(waits.campaign());
    eventually("it watches", || server.count("getData", &format!("{PATH}/**")) == 2).await;
    let before = nodes_under(&server, PATH);
    server.clear_log();
    let highest = tokio::spawn(candidate(&best, 5).campaign());
    let order = || async {
        let standing = candidate(&first, 0).candidates().await.expect("listed");
        standing.into_iter().map(|one| one.session_id).collect::<Vec<_>>()
    };
    let sorted = [first.session_id(), best.session_id(), moved.session_id()];
    while order().await != sorted {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let log = server.log().into_iter().filter(|entry| entry.session_id == moved.session_id());
    let writes: Vec<_> = log.filter(|entry| entry.op.starts_with("create") || entry.op == "delete").collect();
    let [create, delete] = &writes[..] else { panic!("{} writes", writes.len()) };
    assert!(create.op.starts_with("create") && before.iter().any(|name| delete.path.ends_with(name)));
    let asks = server.log().into_iter().filter(|entry| entry.op == "setData");
    assert_eq!(asks.map(|entry| entry.session_id).collect::<Vec<_>>(), [best.session_id()]);
    leadership.release().await.expect("resigned");
    soon("the highest", highest).await.expect("joined").expect("elected").release().await.expect("resigned");
    soon("the other one", waiting)
        .await
        .expect("joined")
        .expect("elected")
        .release()
        .await
        .expect("resigned");
}

#[tokio::test(flavor = "multi_thread")]
async fn candidates_of_one_session_stand_in_the_order_of_their_priorities() {
    let server = server();
    let (one, other) = (client(&server).await, client(&server).await);
    let leadership = candidate(&one, 0).campaign().await.expect("nobody else stands");
    let led = Arc::new(Mutex::new(Vec::new()));
    let campaign = |client: &Client, priority: i32| {
        let (election, led) = (candidate(client, priority), led.clone());
        tokio::spawn(async move {
            let leadership = election.campaign().await.expect("elected");
            led.lock().unwrap().push((priority, leadership.epoch()));
            leadership.release().await.expect("resigned");
        })
    };
    let mut waiting = Vec::new();
    for priority in [0, 0, 3, 0, 7] {
        waiting.push(campaign(&one, priority));
        eventually("it stands", || nodes_under(&server, PATH).len() == waiting.len() + 1).await;
    }
    waiting.push(campaign(&other, 9));
    let observer = candidate(&other, 0);
    // Those with a priority watch for themselves, and the others hear within two looks at who waits long in memory.
    let sorted = || async {
        let standing = observer.candidates().await.expect("listed");
        let names = standing.iter().map(|one| one.node.as_str());
        names.map(|name| name[3..11].to_owned()).collect::<Vec<_>>()
    };
    let wanted = [0, 9, 7, 3, 0, 0, 0].map(|priority| format!("{priority:08x}"));
    let until_sorted = async {
        while sorted().await != wanted {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    soon("they are sorted", until_sorted).await;
    leadership.release().await.expect("resigned");
    for campaign in waiting {
        soon("each leads", campaign).await.expect("joined");
    }
    let led = led.lock().unwrap().clone();
    assert_eq!(led.iter().map(|(priority, _)| *priority).collect::<Vec<_>>(), [9, 7, 3, 0, 0, 0]);
    assert!(led.is_sorted_by_key(|(_, epoch)| *epoch));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_who_is_not_healthy_ends_as_any_other() {
    let server = server();
    for closes in [true, false] {
        let client = client(&server).await;
        let election = candidate(&client, 0);
        election.set_healthy(false);
        let running = election.clone();
        let running = tokio::spawn(async move {
            running.run(|_| async { Ok::<(), zkrecipes::Error>(()) }).await.map_err(|error| error.kind())
        });
        if closes {
            client.close(None).await.expect("closed");
        }
        // It may have begun, or not.
        while !closes && !running.is_finished() {
            election.cancel();
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let ended = soon("it ends", running).await.expect("joined");
        assert_eq!(ended, if closes { Err(ErrorKind::Closed) } else { Ok(()) });
        assert!(nodes_under(&server, PATH).is_empty());
    }
}

fn blocking_candidate(server: &Server) -> blocking::Election {
    let connected = blocking::Client::connect(&server.connect_string(), ClientOptions::default());
    connected.expect("connected").election(PATH, b"", ElectionOptions::default()).expect("valid")
}

/// Says how it is, for as long as it takes, once somebody has asked.
fn slow(ends: mpsc::Receiver<bool>) -> (impl FnMut() -> bool + Send, mpsc::Receiver<()>) {
    let (tells, asked) = mpsc::channel();
    let answer = move || {
        let _ = tells.send(());
        ends.recv().unwrap_or(true)
    };
    (answer, asked)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_cancelled_while_it_asks_for_the_first_time_never_leads() {
    let server = server();
    let client = client(&server).await;
    let election = candidate(&client, 0);
    let (answers, ends) = mpsc::channel();
    let (healthy, asked) = slow(ends);
    let ours = election.clone();
    let running = tokio::spawn(async move {
        let work = |_| async { Ok::<(), zkrecipes::Error>(()) };
        ours.run_while_healthy(work, healthy).await
    });
    asked.recv().expect("asked");
    election.cancel();
    answers.send(true).expect("it waits");
    soon("it ends", running).await.expect("joined").expect("cancelled");
    assert!(nodes_under(&server, PATH).is_empty());
}

#[test]
fn a_blocking_run_that_is_cancelled_while_it_asks_for_the_first_time_never_leads() {
    let server = server();
    let election = &blocking_candidate(&server);
    let (answers, ends) = mpsc::channel();
    let (healthy, asked) = slow(ends);
    std::thread::scope(|scope| {
        let work = |_| -> Result<(), zkrecipes::Error> { panic!("it was cancelled") };
        let running = scope.spawn(move || election.run_while_healthy(work, healthy));
        asked.recv().expect("asked");
        election.cancel();
        answers.send(true).expect("it waits");
        running.join().expect("no panic").expect("cancelled");
    });
    assert!(nodes_under(&server, PATH).is_empty());
}

#[test]
fn a_blocking_candidate_whose_check_panics_is_not_healthy_until_it_answers_again() {
    let server = server();
    let election = &blocking_candidate(&server);
    let (panics, asked, terms) = (AtomicBool::new(true), AtomicUsize::new(0), AtomicUsize::new(0));
    let until = |what: &str, is_so: &dyn Fn() -> bool| {
        let ends = Instant::now() + SOON;
        while !is_so() {
            if Instant::now() > ends {
                election.cancel();
                panic!("{what}");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let begun = |wanted: usize| until("it leads", &|| terms.load(Ordering::SeqCst) == wanted);
    std::thread::scope(|scope| {
        let healthy = || {
            asked.fetch_add(1, Ordering::SeqCst);
            !panics.load(Ordering::SeqCst) || panic!("on purpose")
        };
        let work = |leadership: blocking::Leadership| {
            terms.fetch_add(1, Ordering::SeqCst);
            let (tells, asked) = mpsc::channel();
            let _told = leadership.on_revoke(move || {
                let _ = tells.send(());
            });
            while leadership.is_held() && asked.recv_timeout(Duration::from_millis(10)).is_err() {}
            Ok::<(), zkrecipes::Error>(())
        };
        let running = scope.spawn(move || election.run_while_healthy(work, healthy));
        until("it is asked again", &|| asked.load(Ordering::SeqCst) == 2);
        assert!(nodes_under(&server, PATH).is_empty(), "both answers were panics");
        panics.store(false, Ordering::SeqCst);
        begun(1);
        panics.store(true, Ordering::SeqCst);
        until("it stands no more", &|| nodes_under(&server, PATH).is_empty());
        panics.store(false, Ordering::SeqCst);
        begun(2);
        election.cancel();
        running.join().expect("no panic").expect("cancelled");
    });
}

#[test]
fn a_blocking_run_that_panics_leaves_no_candidate_that_is_not_healthy() {
    let server = server();
    let election = &blocking_candidate(&server);
    let is_well = AtomicBool::new(true);
    let asked_since = AtomicUsize::new(0);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        let work = |_| -> Result<(), zkrecipes::Error> {
            is_well.store(false, Ordering::SeqCst);
            // The first question after that may be under way.
            while asked_since.load(Ordering::SeqCst) < 2 {
                std::thread::sleep(Duration::from_millis(5));
            }
            panic!("on purpose")
        };
        let healthy = || {
            let is_well = is_well.load(Ordering::SeqCst);
            asked_since.fetch_add(usize::from(!is_well), Ordering::SeqCst);
            is_well
        };
        election.run_while_healthy(work, healthy)
    }));
    assert!(panicked.is_err());
    std::thread::scope(|scope| {
        let (tells, begun) = mpsc::channel();
        let work = move |_| {
            let _ = tells.send(());
            Ok::<(), zkrecipes::Error>(())
        };
        let running = scope.spawn(move || election.run(work));
        let led = begun.recv_timeout(SOON);
        election.cancel();
        running.join().expect("no panic").expect("cancelled");
        led.expect("it leads again");
    });
}
