//! The counter: applied exactly once whatever gets lost, cheap alone, and no slower the more writers there are.

use std::time::{Duration, Instant};

use crate::support::ground::{Ground, grounds};
use crate::support::lateness::in_time;
use crate::support::{SOON, eventually, nodes_under, options, server, soon};
use zkrecipes::{
    AclChoice, AclEntry, Auth, Client, ClientOptions, Counter, CounterLayout, CounterOptions, CreateMode,
    ErrorKind, RetryOptions,
};
use zkrecipes_embedded::{Fault, Server};

const PATH: &str = "/counters/orders";
const TEN: Duration = Duration::from_secs(10);

fn counter_of(client: &Client) -> Counter {
    client.counter(PATH, CounterOptions::default()).expect("valid")
}

async fn value(client: &Client) -> i64 {
    soon("the value", counter_of(client).get()).await.expect("read")
}

async fn add(client: &Client, n: i64) -> i64 {
    soon("the sum", counter_of(client).add(n)).await.expect("added")
}

/// The marks below the counter, as an onlooker sees them.
async fn marks(onlooker: &Client) -> usize {
    let stat = onlooker.nodes().exists(PATH).await.expect("asked");
    stat.map_or(0, |stat| stat.num_children as usize)
}

async fn assert_no_mark_left(onlooker: &Client) {
    let until = Instant::now() + SOON;
    while marks(onlooker).await > 0 {
        assert!(Instant::now() < until, "a mark is left");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// What may happen to the connection on which a request or its answer got lost.
const THEN: [&str; 3] = ["it reconnects", "others count meanwhile", "the session expires"];

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_made_once_whatever_request_or_answer_is_lost() {
    for ground in grounds() {
        let other = ground.client(TEN).await;
        let (mut total, mut fired) = (0, 0);
        for op in ["create2", "multi", "getData", "sync"] {
            for fault in [Fault::drop_before(op), Fault::drop_after(op)] {
                for nth in [1, 2] {
                    for then in THEN {
                        // Every other time from the beginning, with everything to be made.
                        if nth == 1 {
                            assert_no_mark_left(&other).await;
                            other.nodes().delete_all("/counters").await.expect("deleted");
                            total = 0;
                        }
                        let client = ground.client(TEN).await;
                        let session = client.session_id();
                        let case = format!("{op} {nth}, {fault:?}, {then}");
                        let fault = ground.inject(fault.clone().session(session).nth(nth));
                        let first = tokio::spawn({
                            let counter = counter_of(&client);
                            async move { (counter.add(1).await, counter.compare_and_set(-1, 0).await) }
                        });
                        eventually("lost, or all is done", || {
                            ground.fault_fired(fault) || first.is_finished()
                        })
                        .await;
                        let mut between = 0;
                        if ground.fault_fired(fault) {
                            fired += 1;
                            match then {
                                "it reconnects" => {}
                                "others count meanwhile" => {
                                    add(&other, 10).await;
                                    add(&other, 10).await;
                                    between = 20;
                                }
                                _ => ground.expire(session).await,
                            }
                        }
                        let (added, swapped) = soon(&case, first).await.expect("joined");
                        let added = added.unwrap_or_else(|error| panic!("{case}: {error}"));
                        assert!((total + 1..=total + 1 + between).contains(&added), "{case}: {added}");
                        assert!(!swapped.unwrap_or_else(|error| panic!("{case}: {error}")), "{case}");
                        total += 1 + between;
                        assert_eq!(value(&other).await, total, "{case}");
                        assert_eq!(add(&client, 1).await, total + 1, "{case}");
                        total += 1;
                        ground.clear_faults();
                        soon("the end", client.close(Some(SOON))).await.expect("closed");
                    }
                }
            }
        }
        assert!(fired >= 24, "only {fired} faults struck");
        assert_no_mark_left(&other).await;
    }
}

/// Loses the answer to a change of the client's, and lets nobody connect until the faults are cleared.
async fn in_doubt(
    ground: &Ground,
    client: &Client,
    n: i64,
) -> tokio::task::JoinHandle<zkrecipes::Result<i64>> {
    let session = client.session_id();
    let fault = ground.inject(Fault::drop_after("multi").session(session));
    // So that it is not asked yet whether the change was made.
    ground.inject(Fault::refuse_connections(1).forever());
    let counter = counter_of(client);
    let adding = tokio::spawn(async move { counter.add(n).await });
    eventually("the answer is lost", || ground.fault_fired(fault)).await;
    adding
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_whose_mark_was_deleted_has_no_answer() {
    for ground in grounds() {
        for is_first in [false, true] {
            let (client, other) = (ground.client(TEN).await, ground.client(TEN).await);
            assert_no_mark_left(&other).await;
            let before = value(&other).await;
            if !is_first {
                add(&client, 0).await;
                add(&client, 1).await;
            }
            let adding = in_doubt(&ground, &client, 1).await;
            let mark = other.nodes().children(PATH).await.expect("listed").remove(0);
            other.nodes().delete(&format!("{PATH}/{mark}"), None).await.expect("deleted");
            if is_first {
                // Nobody else deletes a mark so soon: it is taken for one that was never there, as if the change had not
                // arrived. That is why only its owner's time allows others to.
                add(&other, 10).await;
                ground.clear_faults();
                let added = soon("the answer", adding).await.expect("joined").expect("made anew");
                assert_eq!(added, before + 12);
                continue;
            }
            add(&other, 10).await;
            ground.clear_faults();
            let error = soon("the answer", adding).await.expect("joined").expect_err("nobody knows");
            assert_eq!(error.kind(), ErrorKind::ConnectionLost);
            assert!(error.to_string().contains("cannot be known"), "{error}");
            assert_eq!(value(&client).await, before + 12);
            assert_eq!(add(&client, 1).await, before + 13);
            client.close(Some(SOON)).await.expect("closed");
            other.close(Some(SOON)).await.expect("closed");
        }
    }
}

fn brief(session_timeout: Duration, give_up_after: Duration) -> ClientOptions {
    let retry = RetryOptions::default().base(Duration::from_millis(10)).give_up_after(give_up_after);
    options(session_timeout).retry(retry)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mark_is_taken_from_nobody_who_may_need_it() {
    for ground in grounds() {
        let client = ground.client_with(brief(TEN, TEN)).await;
        let (other, onlooker) = (ground.client(TEN).await, ground.client(TEN).await);
        ground.inject(Fault::drop_before("delete").session(client.session_id()).forever());
        add(&client, 1).await;
        // It needs its mark for three times as long as its session and its patience last together.
        let mark = onlooker.nodes().children(PATH).await.expect("listed").remove(0);
        let mark = format!("{PATH}/{mark}");
        assert_eq!(onlooker.nodes().get(&mark).await.expect("read").0, b"1 60000");
        // Nobody waits for a minute here.
        let needed = Duration::from_secs(4);
        onlooker.nodes().set(&mark, b"1 4000", None).await.expect("set");
        let seen = Instant::now();
        add(&other, 1).await;
        eventually("others' marks are looked at", || {
            let reads = ground.requests_of(&other, "getData");
            reads.iter().any(|read| read.path.ends_with("-change"))
        })
        .await;
        soon("what others left", async {
            while marks(&onlooker).await > 0 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
        .await;
        assert!(seen.elapsed() >= needed, "taken after {:?}", seen.elapsed());
        ground.clear_faults();
        // Who finds its mark gone, and is in no doubt, makes another.
        assert_eq!(add(&client, 1).await, 3);
        client.close(Some(SOON)).await.expect("closed");
        other.close(Some(SOON)).await.expect("closed");
        assert_no_mark_left(&onlooker).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_closes_in_the_middle_of_a_change_leaves_no_mark() {
    for ground in grounds() {
        let (client, other) = (ground.client(TEN).await, ground.client(TEN).await);
        let slow = Fault::delay_request("multi", Duration::from_secs(2)).session(client.session_id());
        let fault = ground.inject(slow);
        let counter = counter_of(&client);
        let adding = tokio::spawn(async move { counter.add(1).await });
        eventually("it is on its way", || ground.fault_fired(fault)).await;
        soon("the end", client.close(Some(SOON))).await.expect("closed");
        let error = soon("the answer", adding).await.expect("joined").expect_err("closed");
        assert_eq!(error.kind(), ErrorKind::Closed);
        assert!(error.to_string().contains("cannot be known"), "{error}");
        assert_eq!(marks(&other).await, 0);
        assert_eq!(value(&other).await, 1);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_is_withdrawn_in_the_line_is_not_made() {
    for ground in grounds() {
        let client = ground.client(TEN).await;
        add(&client, 1).await;
        let fault = ground.inject(Fault::delay_reply("multi", Duration::from_secs(2)));
        let counter = counter_of(&client);
        let first = tokio::spawn(async move { counter.add(1).await });
        eventually("the first is on its way", || ground.fault_fired(fault)).await;
        let counter = counter_of(&client);
        let withdrawn = tokio::time::timeout(Duration::from_millis(1), counter.add(100)).await;
        assert!(withdrawn.is_err(), "it had to wait");
        assert_eq!(soon("the first", first).await.expect("joined"), Ok(2));
        assert_eq!(add(&client, 1).await, 3);
        client.close(Some(SOON)).await.expect("closed");
    }
}

#[tokio::test]
async fn a_handle_is_refused_before_anything_is_sent() {
    let server = server();
    let client = crate::support::client(&server).await;
    for path in ["", "relative", "/", "/zookeeper/x"] {
        let error = client.counter(path, CounterOptions::default()).expect_err("no path of a counter");
        assert_eq!(error.kind(), ErrorKind::Invalid);
    }
    assert!("other".parse::<CounterLayout>().expect_err("no layout").to_string().contains("layout"));
}

/// How often each kind of request was made of the counter and what is below it.
fn requests(server: &Server) -> (usize, usize) {
    (server.count("multi", &format!("{PATH}/**")), server.count("getData", PATH))
}

#[tokio::test(flavor = "multi_thread")]
async fn who_counts_alone_reads_now_and_then() {
    let server = server();
    let client = crate::support::client(&server).await;
    add(&client, 1).await;
    server.clear_log();
    for _ in 0..40 {
        add(&client, 1).await;
    }
    let (writes, reads) = requests(&server);
    assert_eq!(writes, 40);
    assert!((1..=12).contains(&reads), "{reads} reads");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_after_a_pause_is_one_read_and_one_write() {
    let server = server();
    let client = crate::support::client(&server).await;
    let counter = counter_of(&client);
    counter.add(1).await.expect("added");
    counter.add(1).await.expect("added");
    // Nobody has a handle on this one any more, so its mark goes: a second after the change.
    client.counter("/counters/other", CounterOptions::default()).expect("valid").add(1).await.expect("added");
    server.clear_log();
    eventually("a pause is over", || server.count("delete", "/counters/other/*") == 1).await;
    for sum in [3, 4] {
        assert_eq!(soon("the sum", counter.add(1)).await, Ok(sum));
    }
    let log = server.log();
    let requests: Vec<_> =
        log.iter().filter(|entry| entry.path.starts_with(PATH)).map(|entry| entry.op.to_string()).collect();
    let writes = requests.iter().filter(|op| *op == "multi").count();
    assert!(writes == 2 && requests.len() <= 4, "{requests:?}");
    drop(counter);
    assert_no_mark_left(&client).await;
    client.close(Some(SOON)).await.expect("closed");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_writers_of_one_client_go_together() {
    let server = server();
    let client = crate::support::client(&server).await;
    add(&client, 1).await;
    server.inject(Fault::delay_reply("multi", Duration::from_millis(20)).forever());
    server.clear_log();
    let mut writers = Vec::new();
    for _ in 0..50 {
        let counter = counter_of(&client);
        writers.push(tokio::spawn(async move {
            for _ in 0..4 {
                counter.add(1).await.expect("added");
            }
        }));
    }
    for writer in writers {
        soon("a writer", writer).await.expect("done");
    }
    assert_eq!(value(&client).await, 201);
    let (writes, _) = requests(&server);
    assert!(writes <= 20, "{writes} transactions for 200 changes");
}

/// Transactions, and requests of all kinds, for each change when so many clients make so many together.
async fn cost_of(clients: usize, changes: usize) -> (f64, f64) {
    let server = server();
    let mut all = Vec::new();
    for _ in 0..clients {
        all.push(crate::support::client(&server).await);
    }
    add(&all[0], 0).await;
    server.clear_log();
    let began = Instant::now();
    let mut writers = Vec::new();
    for client in &all {
        let counter = counter_of(client);
        writers.push(tokio::spawn(async move {
            for _ in 0..changes / clients {
                counter.add(1).await.expect("added");
            }
        }));
    }
    for writer in writers {
        tokio::time::timeout(3 * SOON, writer).await.expect("a writer starves").expect("done");
    }
    let took = began.elapsed();
    let (writes, reads) = requests(&server);
    // Whatever it takes, the turns as well, but not that who waits for one has a look every second.
    let log = server.log();
    let is_looked_at = |op: &str, path: &str| op == "getChildren" && path == PATH;
    let all_of_them = log
        .iter()
        .filter(|entry| entry.path.starts_with(PATH) && !is_looked_at(entry.op, &entry.path))
        .count();
    println!(
        "{clients} clients, {changes} changes: {writes} transactions, {reads} reads, {all_of_them} requests, {took:?}"
    );
    assert_eq!(value(&all[0]).await, changes as i64);
    (writes as f64 / changes as f64, all_of_them as f64 / changes as f64)
}

#[tokio::test(flavor = "multi_thread")]
async fn fifty_clients_do_not_get_into_each_others_way_more_than_five() {
    let (few, many) = (cost_of(5, 1000).await, cost_of(50, 1000).await);
    assert!(
        many.0 <= 1.25 * few.0,
        "{} transactions for each change with fifty, {} with five",
        many.0,
        few.0
    );
    assert!(many.1 <= 2.0 * few.1, "{} requests for each change with fifty, {} with five", many.1, few.1);
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_left_of_a_counter_that_was_only_read() {
    let server = server();
    let client = crate::support::client(&server).await;
    assert_eq!(value(&client).await, 0);
    assert!(!counter_of(&client).compare_and_set(1, 2).await.expect("asked"));
    assert!(nodes_under(&server, "/counters").is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_counter_that_was_made_anew_is_not_taken_for_the_one_before() {
    for ground in grounds() {
        let second = Duration::from_secs(1);
        let (client, other) = (ground.client_with(brief(second, second)).await, ground.client(TEN).await);
        // Who has a handle keeps the mark for a while, and goes on from there.
        let counter = counter_of(&client);
        assert_eq!((counter.add(1).await, counter.add(1).await), (Ok(1), Ok(2)));
        soon("the mark goes", assert_no_mark_left(&other)).await;
        other.nodes().delete_all(PATH).await.expect("deleted");
        // The node has the version again that it had.
        assert_eq!(add(&other, 10).await, 10);
        assert_eq!(add(&other, 10).await, 20);
        assert_eq!(soon("the sum", counter.add(1)).await, Ok(21));
        client.close(Some(SOON)).await.expect("closed");
        other.close(Some(SOON)).await.expect("closed");
        assert_no_mark_left(&ground.client(TEN).await).await;
    }
}

/// Long enough for what the other does meanwhile, and shorter than a client has patience.
const A_WHILE: Duration = Duration::from_secs(2);

/// Has two changes of the client's in a row meet one of the other's: then it queues. Each is `slow`; or it says which met none.
async fn crowd(
    ground: &Ground,
    client: &Client,
    other: &Client,
    slow: Duration,
) -> Result<tokio::task::JoinHandle<zkrecipes::Result<i64>>, String> {
    let slow = || ground.inject(Fault::delay_request("multi", slow).session(client.session_id()));
    let first = slow();
    let counter = counter_of(client);
    let adding = tokio::spawn(async move { counter.add(1).await });
    eventually("the first is on its way", || ground.fault_fired(first)).await;
    let second = slow();
    add(other, 1).await;
    eventually("the second is on its way, or the first was made", || {
        ground.fault_fired(second) || adding.is_finished()
    })
    .await;
    if !ground.fault_fired(second) {
        return Err(format!("the first change met none: {:?}", adding.await));
    }
    add(other, 1).await;
    Ok(adding)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_counter_that_goes_while_many_count_comes_back_to_stay() {
    let server = server();
    let ground = Ground::Embedded(server.clone());
    let (client, other) = (ground.client(TEN).await, ground.client(TEN).await);
    add(&other, 1).await;
    let late = Fault::delay_request("create2", Duration::from_secs(1)).session(client.session_id());
    let queues = ground.inject(late);
    let adding = crowd(&ground, &client, &other, A_WHILE).await.expect("two changes met others");
    eventually("it queues", || ground.fault_fired(queues)).await;
    other.nodes().delete_all(PATH).await.expect("deleted");
    assert_eq!(soon("the answer", adding).await.expect("joined"), Ok(1));
    let containers = ground.requests_of(&client, "createContainer");
    assert!(containers.is_empty(), "it goes with its value once nobody counts");
    client.close(Some(SOON)).await.expect("closed");
    other.close(Some(SOON)).await.expect("closed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_is_found_however_long_its_owner_has_patience() {
    for ground in grounds() {
        let (client, other) = (ground.client_with(brief(TEN, Duration::MAX)).await, ground.client(TEN).await);
        let adding = in_doubt(&ground, &client, 1).await;
        add(&other, 10).await;
        ground.clear_faults();
        soon("the answer", adding).await.expect("joined").expect("it was made");
        assert_eq!(value(&other).await, 11);
        client.close(Some(SOON)).await.expect("closed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mark_that_cannot_be_read_is_not_taken_for_none() {
    for ground in grounds() {
        let (client, other) = (ground.client(TEN).await, ground.client(TEN).await);
        let adding = in_doubt(&ground, &client, 1).await;
        let mark = other.nodes().children(PATH).await.expect("listed").remove(0);
        other.nodes().set(&format!("{PATH}/{mark}"), b"1 forever", None).await.expect("set");
        add(&other, 10).await;
        ground.clear_faults();
        let error = soon("the answer", adding).await.expect("joined").expect_err("nobody knows");
        assert!(error.to_string().contains("cannot be known"), "{error}");
        assert_eq!(value(&other).await, 11);
        client.close(Some(SOON)).await.expect("closed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_that_takes_longer_than_servers_have_to_answer_loses_no_connection() {
    for ground in grounds() {
        // Shorter than anybody waits for such a turn.
        let budget = Duration::from_millis(1500);
        in_time(async || {
            let (client, other) = (ground.client_with(brief(TEN, budget)).await, ground.client(TEN).await);
            let before = add(&other, 1).await;
            // It has the turn, and makes nothing of it. After two seconds nobody waits for it any more.
            let turn = format!("{PATH}/_c_6f0e7a4e-8b0c-4a55-9d3e-1c2b3a4d5e6f-lock-");
            other.nodes().create(&turn, b"", CreateMode::EphemeralSequential).await.expect("created");
            let began = Instant::now();
            let sum = match crowd(&ground, &client, &other, budget / 2).await {
                Ok(adding) => {
                    soon("the sum", adding).await.expect("joined").map_err(|error| error.to_string())
                }
                Err(missed) => Err(missed),
            };
            let took = began.elapsed();
            ground.clear_faults();
            other.close(Some(SOON)).await.expect("closed");
            client.close(Some(SOON)).await.expect("closed");
            match sum? {
                sum if sum == before + 3 && took > budget * 2 => Ok(()),
                sum => Err(format!("{sum} after {before}, without a wait: {took:?}")),
            }
        })
        .await;
    }
}

/// A client that owns the counter and lets everybody do everything there but delete.
async fn without_deletion(ground: &Ground) -> Client {
    let list = vec![AclEntry::new("auth", "", "rwcda"), AclEntry::new("world", "anyone", "rwc")];
    let auth = Auth::new("digest", "owner:secret");
    let owner = ground.client_with(options(TEN).auth(auth).acl(AclChoice::List(list))).await;
    owner.nodes().ensure(PATH).await.expect("created");
    owner
}

#[tokio::test(flavor = "multi_thread")]
async fn who_may_not_queue_counts_all_the_same() {
    for ground in grounds() {
        let owner = without_deletion(&ground).await;
        let (client, other) = (ground.client(TEN).await, ground.client(TEN).await);
        let _counter = counter_of(&client);
        for round in 1..=2 {
            let adding = crowd(&ground, &client, &other, A_WHILE).await.expect("two changes met others");
            assert_eq!(soon("the answer", adding).await.expect("joined"), Ok(3 * round));
        }
        assert_eq!(ground.requests_of(&client, "getACL").len(), 1, "a refusal is not asked for again");
        owner.nodes().delete_all(PATH).await.expect("deleted");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn marks_that_cannot_be_deleted_do_not_pile_up() {
    for ground in grounds() {
        let owner = without_deletion(&ground).await;
        let second = Duration::from_secs(1);
        let client = ground.client_with(brief(second * 3 / 2, second)).await;
        let counter = counter_of(&client);
        counter.add(1).await.expect("added");
        let deletions = || ground.requests_of(&client, "delete").len();
        eventually("the first is refused", || deletions() == 1).await;
        counter.add(1).await.expect("added");
        let again = eventually("the second is refused", || deletions() == 2);
        let again = tokio::time::timeout(3 * second, again).await;
        assert!(again.is_err(), "what was refused is tried again");
        counter.add(1).await.expect("added");
        assert_eq!(marks(&owner).await, 2);
        owner.nodes().delete_all(PATH).await.expect("deleted");
    }
}
