//! Elections: what a failover costs, what observers are told, and that nobody leads who was deposed.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crate::support::ground::grounds;
use crate::support::{SOON, client, eventually, nodes_under, server, soon};
use futures_util::FutureExt;
use zkrecipes::{
    Client, CreateMode, Election, ElectionLayout, ElectionOptions, Error, ErrorKind, Leader, Leadership,
    RetryOptions, blocking, drive,
};
use zkrecipes_embedded::Fault;

const PATH: &str = "/elections/main";
const TEN: Duration = Duration::from_secs(10);

fn election_of(client: &Client) -> Election {
    client.election(PATH, b"", ElectionOptions::default()).expect("valid")
}

/// How a term ends.
#[derive(Copy, Clone, PartialEq)]
enum End {
    Expiry,
    Resignation,
}

/// What the next leader asked of the server, and in how many bytes, between the end of the leader's term and its own
/// leadership, with so many candidates; and what the leader asked to resign.
async fn cost_of_a_change(candidates: usize, end: End) -> (usize, usize, Vec<&'static str>) {
    let server = server();
    let (leader, next) = (client(&server).await, client(&server).await);
    let leads = election_of(&leader).campaign().await.expect("nobody else stands");
    let stands = election_of(&next);
    let waits = tokio::spawn(async move { stands.campaign().await });
    eventually("it watches", || server.count("getData", &format!("{PATH}/**")) == 2).await;
    let crowd = client(&server).await.nodes();
    let mut creates = Vec::new();
    for _ in 2..candidates {
        let (crowd, guid) = (crowd.clone(), uuid::Uuid::new_v4());
        creates.push(tokio::spawn(async move {
            let name = format!("{PATH}/_c_{guid}-latch-");
            crowd.create(&name, b"crowd", CreateMode::EphemeralSequential).await.map(drop)
        }));
    }
    for create in creates {
        soon("the crowd", create).await.expect("joined").expect("created");
    }
    server.clear_log();
    match end {
        End::Expiry => assert!(server.expire(leader.session_id())),
        End::Resignation => leads.release().await.expect("resigned"),
    }
    let leadership = soon("the next leader", waits).await.expect("joined").expect("elected");
    assert!(leadership.epoch() > leads.epoch());
    // Heartbeats, a word from the server about what is held, and the contact of an idle session come at their own times.
    let looked_at = ["/", leads.node(), leadership.node()];
    let is_own = |op: &str, path: &str| match op {
        "exists" => looked_at.contains(&path),
        _ => matches!(op, "ping" | "multi" | "sync"),
    };
    let asked_by = |client: &Client| {
        let log = server.log().into_iter().filter(|entry| entry.session_id == client.session_id());
        log.filter(|entry| !is_own(entry.op, &entry.path)).collect::<Vec<_>>()
    };
    let asked = asked_by(&next);
    let bytes = asked.iter().map(|entry| entry.bytes_in + entry.bytes_out).sum();
    (asked.len(), bytes, asked_by(&leader).iter().map(|entry| entry.op).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failover_costs_the_same_with_2_100_and_1000_candidates() {
    for candidates in [2, 100, 1000] {
        let (requests, bytes, _) = cost_of_a_change(candidates, End::Expiry).await;
        assert_eq!((requests, bytes), (0, 0), "an event, and no request, with {candidates} candidates");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resignation_costs_one_delete_and_the_next_leader_nothing() {
    for candidates in [2, 100, 1000] {
        let (requests, bytes, resigning) = cost_of_a_change(candidates, End::Resignation).await;
        assert_eq!((requests, bytes), (0, 0), "an event, and no request, with {candidates} candidates");
        let asked: Vec<_> = resigning.into_iter().filter(|op| *op != "removeWatches").collect();
        assert_eq!(asked, ["delete"], "with {candidates} candidates");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_observes_asks_nothing_as_long_as_the_leader_stays() {
    let server = server();
    let (leader, observer) = (client(&server).await, client(&server).await);
    let leads = election_of(&leader).campaign().await.expect("nobody else stands");
    let mut feed = election_of(&observer).observe();
    let first = soon("the leader", feed.next()).await.expect("open").expect("told").expect("there is one");
    assert_eq!(first.epoch, leads.epoch());
    let following = tokio::spawn(async move {
        let next = feed.next().await;
        (next, feed)
    });
    eventually("it watches both", || server.watch_count() == 2).await;
    server.clear_log();
    let crowd: Vec<_> = (0..50).map(|_| election_of(&observer)).collect();
    let waits: Vec<_> = crowd.iter().map(|election| tokio::spawn(election.campaign())).collect();
    eventually("they stand", || nodes_under(&server, PATH).len() == 51).await;
    leads.acknowledge(b"ready").await.expect("it leads");
    let (told, feed) = soon("the news", following).await.expect("joined");
    let told = told.expect("open").expect("told").expect("there is one");
    assert_eq!((told.epoch, told.acknowledged, &told.data[..]), (first.epoch, true, &b"ready"[..]));
    assert_eq!(server.count("getData", PATH), 2, "the leader, before it writes, and the observer");
    drop(feed);
    waits.iter().for_each(tokio::task::JoinHandle::abort);
    leads.release().await.expect("resigned");
    crate::support::assert_nothing_left(&server, PATH).await;
}

/// Follows until it has seen as many leaders, and holds them against the promises.
async fn follow(election: Election, leaders: usize) -> BTreeMap<u64, String> {
    let mut feed = election.observe();
    let (mut seen, mut last) = (BTreeMap::<u64, String>::new(), 0);
    while seen.len() < leaders {
        let now: Option<Leader> = feed.next().await.expect("open").expect("told");
        let Some(leader) = now else { continue };
        assert!(leader.epoch >= last, "the epoch falls from {last} to {}", leader.epoch);
        last = leader.epoch;
        let known = seen.entry(leader.epoch).or_insert_with(|| leader.identity.clone());
        assert_eq!(*known, leader.identity, "two leaders of epoch {last}");
    }
    seen
}

#[tokio::test(flavor = "multi_thread")]
async fn observers_agree_whatever_happens_to_candidates_and_observers() {
    let server = server();
    let (mut candidates, mut observers) = (Vec::new(), Vec::new());
    // Who writes there keeps the leader from ending its term.
    let gate = Arc::new(tokio::sync::RwLock::new(()));
    let leading = Arc::new(AtomicUsize::new(0));
    // A client that is closed gives back what it held, and then its work hears of it.
    let closes = Arc::new(AtomicBool::new(false));
    let terms = Arc::new(Mutex::new(BTreeMap::new()));
    for number in 0..4 {
        let options = crate::support::options(TEN).identity(format!("candidate-{number}"));
        let candidate = Client::connect(&server.connect_string(), options).await.expect("the server answers");
        let election = election_of(&candidate);
        let (leading, closes) = (leading.clone(), closes.clone());
        let (terms, gate) = (terms.clone(), gate.clone());
        let running = tokio::spawn(async move {
            let work = |leadership: zkrecipes::Leadership| {
                let (leading, closes) = (leading.clone(), closes.clone());
                let (terms, gate) = (terms.clone(), gate.clone());
                async move {
                    struct Over(Arc<AtomicUsize>);
                    impl Drop for Over {
                        fn drop(&mut self) {
                            self.0.fetch_sub(1, Ordering::SeqCst);
                        }
                    }
                    let others = leading.fetch_add(1, Ordering::SeqCst);
                    assert!(others == 0 || closes.load(Ordering::SeqCst), "two lead at once");
                    let _over = Over(leading);
                    terms
                        .lock()
                        .expect("no panics")
                        .insert(leadership.epoch(), format!("candidate-{number}"));
                    // Refused once it leads no more.
                    let _ = leadership.acknowledge(b"working").await;
                    tokio::time::sleep(Duration::from_millis(40)).await;
                    drop(gate.read().await);
                    if leadership.epoch().is_multiple_of(3) { Err("by chance") } else { Ok(()) }
                }
            };
            election.run(work).await
        });
        candidates.push((candidate, running));
    }
    for _ in 0..3 {
        let observer = client(&server).await;
        let following = tokio::spawn(follow(election_of(&observer), 15));
        observers.push((observer, following));
    }
    for round in 0..6 {
        tokio::time::sleep(Duration::from_millis(150)).await;
        match round % 3 {
            0 => server.drop_connections(),
            1 => {
                let observer = &observers[1].0;
                let has_one = || server.sessions().contains(&observer.session_id());
                eventually("it has a session again", has_one).await;
                assert!(server.expire(observer.session_id()));
            }
            // The one that leads last: an expiry lets the next one lead before its owner hears of it. The first may have ended
            // its term, and the second does not end its own before this is over, so the third leads in none.
            _ => {
                let _closed = gate.write().await;
                let election = election_of(&observers[0].0);
                let last = soon("three stand", async {
                    loop {
                        let standing = election.candidates().await.expect("asked");
                        if standing.len() > 2 {
                            break standing[standing.len() - 1].session_id;
                        }
                    }
                });
                assert!(server.expire(last.await));
            }
        }
    }
    let mut all = Vec::new();
    for (_, following) in &mut observers {
        all.push(soon("the leaders", following).await.expect("they agree"));
    }
    let terms = terms.lock().expect("no panics").clone();
    for (epoch, identity) in all.iter().flatten() {
        // One may have been elected and lost before its work began.
        assert!(terms.get(epoch).is_none_or(|leader| leader == identity), "{epoch} was not {identity}'s");
    }
    closes.store(true, Ordering::SeqCst);
    for (candidate, running) in candidates {
        candidate.close(Some(SOON)).await.expect("closed");
        let error = soon("the end", running).await.expect("joined").expect_err("closed");
        assert_eq!(error.kind(), ErrorKind::Closed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_epoch_that_was_acknowledged_never_falls() {
    for ground in grounds() {
        let (a, b) = (ground.client(TEN).await, ground.client(TEN).await);
        let early = election_of(&a).campaign().await.expect("nobody else stands");
        let stands = election_of(&b);
        let waits = tokio::spawn(async move { stands.campaign().await });
        eventually("both stand", || ground.requests_of(&b, "getData").len() == 2).await;
        // Its transaction is on its way when it is deposed, and arrives when the next leader has begun its work.
        let slow = Fault::delay_request("multi", Duration::from_secs(2)).session(a.session_id());
        let fault = ground.inject(slow.path("**/elections/main"));
        let deposed = early.clone();
        let late = tokio::spawn(async move { deposed.acknowledge(b"early").await });
        eventually("it is on its way", || ground.fault_fired(fault)).await;
        b.nodes().delete(early.node(), None).await.expect("deleted");
        let leads = soon("the election", waits).await.expect("joined").expect("elected");
        leads.acknowledge(b"late").await.expect("it leads");
        let error = soon("the answer", late).await.expect("joined").expect_err("it leads no more");
        assert_eq!(error.kind(), ErrorKind::NotHeld);
        let leader = election_of(&b).leader().await.expect("asked").expect("there is one");
        assert_eq!((leader.epoch, &leader.data[..]), (leads.epoch(), &b"late"[..]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_epoch_that_nobody_leads_in_keeps_no_leader_from_its_work() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        let leads = election_of(&client).campaign().await.expect("nobody else stands");
        let said = format!("leader {}\nnobody", u64::MAX);
        client.nodes().set(PATH, said.as_bytes(), None).await.expect("written");
        soon("the answer", leads.acknowledge(b"ready")).await.expect("it leads");
        let leader = election_of(&client).leader().await.expect("asked").expect("it leads");
        assert_eq!((leader.epoch, leader.acknowledged), (leads.epoch(), true));
        leads.release().await.expect("resigned");
    }
}

/// Says when it is dropped.
struct Told(Arc<AtomicBool>);

impl Drop for Told {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn work_ends_with_the_leadership() {
    let server = server();
    let client = client(&server).await;
    let (began, over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
    let election = election_of(&client);
    let running = tokio::spawn({
        let (election, began, over) = (election.clone(), began.clone(), over.clone());
        async move {
            let work = |_| {
                let (began, told) = (began.clone(), Told(over.clone()));
                async move {
                    let _told = told;
                    began.store(true, Ordering::SeqCst);
                    std::future::pending::<Result<(), Error>>().await
                }
            };
            election.run(work).await
        }
    });
    for end in ["the session ends", "it resigns", "it is deleted", "it is cancelled"] {
        eventually("it leads", || began.swap(false, Ordering::SeqCst)).await;
        over.store(false, Ordering::SeqCst);
        match end {
            "the session ends" => assert!(server.expire(client.session_id())),
            "it resigns" => election.resign().await.expect("it leads"),
            "it is deleted" => {
                let node = nodes_under(&server, PATH).remove(0);
                client.nodes().delete(&node, None).await.expect("deleted");
            }
            _ => election.cancel(),
        }
        eventually(end, || over.load(Ordering::SeqCst)).await;
    }
    soon("the end", running).await.expect("joined").expect("cancelled");
    assert!(!election.is_leader());
    crate::support::assert_nothing_left(&server, PATH).await;
}

#[tokio::test]
async fn a_handle_is_refused_before_anything_is_sent() {
    let server = server();
    let a = client(&server).await;
    let kind = |path: &str, data: &[u8]| {
        a.election(path, data, ElectionOptions::default()).expect_err("no election").kind()
    };
    assert_eq!(kind("relative", b""), ErrorKind::Invalid);
    assert_eq!(kind("/", b""), ErrorKind::Invalid);
    assert_eq!(kind(PATH, &vec![0; 2 << 20]), ErrorKind::TooLarge);
    assert!("other".parse::<ElectionLayout>().expect_err("no layout").to_string().contains("layout"));
    let odd = crate::support::options(TEN).identity("a\0b");
    let odd = Client::connect(&server.connect_string(), odd).await.expect("the server answers");
    let error = odd.election(PATH, b"", ElectionOptions::default()).expect_err("whose data is it?");
    assert!(error.to_string().contains("identity"), "{error}");
}

#[test]
fn a_thread_leads_term_after_term() {
    let server = server();
    let client =
        blocking::Client::connect(&server.connect_string(), crate::support::options(TEN)).expect("connected");
    let election = client.election(PATH, b"", ElectionOptions::default()).expect("valid");
    let mut epochs = Vec::new();
    let stop = election.clone();
    let run = election.run(|leadership| {
        epochs.push(leadership.epoch());
        assert!(leadership.is_held() && stop.is_leader());
        leadership.acknowledge(b"ready")?;
        match epochs.len() {
            1 => Err(Error::new(ErrorKind::Internal, "by chance")),
            2 => stop.resign(),
            3 => {
                stop.cancel();
                Ok(())
            }
            _ => Ok(()),
        }
    });
    run.expect("cancelled");
    assert_eq!(epochs.len(), 3);
    assert!(epochs.is_sorted() && epochs[0] < epochs[1] && epochs[1] < epochs[2]);
    assert_eq!(election.leader().expect("asked"), None);
    assert!(election.candidates().expect("asked").is_empty());
}

#[test]
fn blocking_work_that_fails_because_it_has_lost_is_no_failure() {
    let server = server();
    // A failure would pause for this long.
    let pause = RetryOptions::default().base(TEN).max(TEN);
    let options = crate::support::options(TEN).retry(pause);
    let client = blocking::Client::connect(&server.connect_string(), options).expect("connected");
    let election = client.election(PATH, b"", ElectionOptions::default()).expect("valid");
    let stop = election.clone();
    let (mut terms, mut lost) = (0, std::time::Instant::now());
    let run = election.run(|leadership| {
        terms += 1;
        if terms == 2 {
            stop.cancel();
            return Ok(());
        }
        server.expire(client.session_id());
        while leadership.is_held() {
            std::thread::sleep(Duration::from_millis(5));
        }
        lost = std::time::Instant::now();
        Err(Error::new(ErrorKind::Lost, "it is over"))
    });
    run.expect("cancelled");
    assert!(terms == 2 && lost.elapsed() < TEN / 2, "{terms} terms, the last after {:?}", lost.elapsed());
}

/// The next term that somebody else is to have.
async fn handed_out(terms: &mut zkrecipes::Feed<Leadership>) -> Leadership {
    soon("a term", terms.next()).await.expect("it goes on").expect("elected")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_term_that_was_handed_out_lasts_until_it_is_dropped() {
    let (server, pause) = (server(), Duration::from_millis(300));
    let options = crate::support::options(TEN).retry(RetryOptions::default().base(pause));
    let client = Client::connect(&server.connect_string(), options).await.expect("the server answers");
    let election = election_of(&client);
    let mut terms = drive::terms(&election).map(drive::Terms::feed).expect("open");
    let first = handed_out(&mut terms).await;
    let epoch = first.epoch();
    {
        let mut next = pin!(terms.next());
        assert!(next.as_mut().now_or_never().is_none(), "it has an owner");
        drop(first);
        let second = soon("a term", next).await.expect("it goes on").expect("elected");
        assert!(second.epoch() > epoch && second.is_held());
    }
    let began = Instant::now();
    let third = handed_out(&mut terms).await;
    assert!(began.elapsed() >= pause, "who did not serve pauses");
    assert!(server.expire(client.session_id()));
    let fourth = handed_out(&mut terms).await;
    assert!(!third.is_held() && fourth.is_held());
    // Also while nobody asks for the next one.
    election.cancel();
    eventually("it is resigned", || nodes_under(&server, PATH).is_empty()).await;
    assert!(!fourth.is_held());
    assert_eq!(
        soon("the end", terms.next()).await.expect("an error").unwrap_err().kind(),
        ErrorKind::Cancelled
    );
    assert!(terms.next().await.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_term_that_was_handed_out_ends_with_the_feed() {
    let server = server();
    let client = client(&server).await;
    let election = election_of(&client);
    let mut terms = drive::terms(&election).map(drive::Terms::feed).expect("open");
    let leadership = handed_out(&mut terms).await;
    drop(terms);
    eventually("it is resigned", || nodes_under(&server, PATH).is_empty()).await;
    assert!(!leadership.is_held());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_is_cancelled_stands_no_more() {
    let server = server();
    let client = client(&server).await;
    let election = election_of(&client);
    let running = tokio::spawn({
        let election = election.clone();
        async move { election.run(|_| std::future::pending::<Result<(), Error>>()).await }
    });
    eventually("it leads", || election.is_leader()).await;
    server.clear_log();
    election.cancel();
    soon("the end", running).await.expect("joined").expect("cancelled");
    // What the run sent arrives before this.
    client.nodes().exists(PATH).await.expect("asked");
    assert_eq!(server.count("create*", &format!("{PATH}/**")), 0, "it stood again");
}
