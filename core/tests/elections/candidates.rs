//! Candidates and who looks at them: asked to let go, cancelled at work or without a server, and after everything was lost.

use std::time::{Duration, Instant};

use crate::support::ground::grounds;
use crate::support::{client, eventually, options, server, soon};
use zkrecipes::{
    Client, CreateMode, Election, ElectionOptions, Error, ErrorKind, Leader, State, blocking, drive,
};

const PATH: &str = "/elections/candidates";
const OTHER: &str = "/elections/others";
const TEN: Duration = Duration::from_secs(10);

fn election_of(client: &Client) -> Election {
    client.election(PATH, b"", ElectionOptions::default()).expect("valid")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_candidate_that_others_have_asked_to_let_go_says_nothing_of_itself_any_more() {
    for ground in grounds() {
        let named = |name: &'static str| ground.client_with(options(TEN).identity(name));
        let (a, b) = (named("a").await, named("b").await);
        let leads = election_of(&a).campaign().await.expect("nobody else stands");
        let identities = async || {
            let all = election_of(&b).candidates().await.expect("asked");
            all.into_iter().map(|one| (one.identity, one.holds)).collect::<Vec<_>>()
        };
        assert_eq!(identities().await, [("a".to_owned(), true)]);
        assert!(election_of(&b).revoke(None, None).await.expect("asked"));
        assert_eq!(identities().await, [("a".to_owned(), true)], "who asks keeps that");
        // As others do.
        b.nodes().set(leads.node(), b"__REVOKE__", None).await.expect("asked");
        assert_eq!(identities().await, [(String::new(), true)]);
        leads.release().await.expect("resigned");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_observes_goes_on_after_the_servers_have_lost_everything() {
    let server = server();
    let (leader, observer) = (client(&server).await, client(&server).await);
    for _ in 0..50 {
        leader.nodes().create("/n", b"", CreateMode::PersistentSequential).await.expect("created");
    }
    let leads = election_of(&leader).campaign().await.expect("nobody else stands");
    let mut feed = election_of(&observer).observe();
    let first = soon("the leader", feed.next()).await.expect("open").expect("told").expect("there is one");
    assert_eq!(first.epoch, leads.epoch());
    server.lose_state();
    soon("the loss", leads.lost()).await;
    let again = soon("the election", election_of(&leader).campaign()).await.expect("nobody else stands");
    assert!(again.epoch() < leads.epoch(), "transactions are counted from the beginning");
    let told = soon("the next leader", async {
        loop {
            let now: Option<Leader> = feed.next().await.expect("open").expect("told");
            if now.as_ref().is_some_and(|leader| leader.epoch != first.epoch) {
                return now;
            }
        }
    });
    assert_eq!(told.await.expect("there is one").epoch, again.epoch());
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_cancelled_without_a_server_is_not_kept_waiting_for_one() {
    for ground in grounds() {
        let options = options(Duration::from_secs(40)).connect_timeout(Duration::from_secs(30));
        let a = ground.client_with(options).await;
        let election = election_of(&a);
        let run = {
            let election = election.clone();
            tokio::spawn(async move {
                election.run(|_| std::future::pending::<Result<(), Error>>()).await.map(drop)
            })
        };
        eventually("it leads", || election.is_leader()).await;
        // For an owner that is no future of ours.
        let handed = a.election(OTHER, b"", ElectionOptions::default()).expect("valid");
        let mut terms = drive::terms(&handed).expect("open").feed();
        let term = soon("a term", terms.next()).await.expect("open").expect("elected");
        let waits = tokio::spawn(async move { terms.next().await.map(|ended| ended.map(drop)) });
        ground.go_away();
        eventually("it is out of touch", || a.state() == State::Suspended).await;
        let asked = Instant::now();
        election.cancel();
        soon("the end", run).await.expect("no panic").expect("cancelled");
        handed.cancel();
        let ended = soon("the end", waits).await.expect("no panic").expect("told");
        assert_eq!(ended.expect_err("cancelled").kind(), ErrorKind::Cancelled);
        drop(term);
        assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
        ground.come_back();
        // It goes on in the background.
        eventually("they are gone", || [PATH, OTHER].iter().all(|path| ground.nodes_under(path).is_empty()))
            .await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_term_that_is_cancelled_before_its_work_begins_does_not_begin() {
    let server = server();
    let client = client(&server).await;
    let election = election_of(&client);
    let mut terms = drive::terms(&election).expect("open");
    let leadership = soon("a term", terms.next()).await.expect("elected").expect("not cancelled");
    assert!(terms.begins(&leadership) && election.is_leader());
    // As while its owner is woken.
    election.cancel();
    assert!(!terms.begins(&leadership) && !election.is_leader());
    eventually("it is resigned", || server.count("delete", &format!("{PATH}/**")) == 1).await;
}

#[test]
fn blocking_work_is_told_that_it_was_cancelled_and_leads_until_it_returns() {
    let server = server();
    let client = blocking::Client::connect(&server.connect_string(), options(TEN)).expect("connected");
    let election = client.election(PATH, b"", ElectionOptions::default()).expect("valid");
    let (stop, mut terms) = (election.clone(), 0);
    let (begun, begins) = std::sync::mpsc::channel();
    let canceller = std::thread::spawn(move || {
        begins.recv().expect("it works");
        stop.cancel();
    });
    let run = election.run(|leadership| {
        terms += 1;
        begun.send(()).expect("somebody waits");
        assert!(format!("{leadership:?}").contains(&format!("epoch: {} }}", leadership.epoch())));
        let since = Instant::now();
        while leadership.is_held() {
            assert!(since.elapsed() < TEN, "nobody has told it");
            std::thread::sleep(Duration::from_millis(5));
        }
        // Nobody else leads yet, and what is left to do can be done.
        assert!(!election.is_leader());
        leadership.verify().expect("it stands");
        leadership.acknowledge(b"the last word").expect("it leads");
        let last = election.guarded().expect("it leads");
        last.check(PATH, None).expect("valid");
        last.commit().expect("applied");
        assert_eq!(server.count("delete*", &format!("{PATH}/**")), 0);
        Ok::<(), Error>(())
    });
    run.expect("cancelled");
    canceller.join().expect("no panic");
    assert_eq!((terms, server.count("delete*", &format!("{PATH}/**"))), (1, 1));
    // It was for that run: whatever comes later is held.
    assert!(election.campaign().expect("elected").is_held());
}
