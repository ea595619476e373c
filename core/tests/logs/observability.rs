//! What logs and metrics tell of a bad night: enough to know what happened, from them alone.

use std::collections::BTreeMap;
use std::sync::LazyLock;
use std::time::Duration;

use crate::support::told::{SAID, events, field, number, said_of, text, the};
use crate::support::{client_with, eventually, lock_of, options, server, soon};
use zkrecipes::drive::log::{self, Level, Record, Value};
use zkrecipes::{Client, ElectionOptions, Error, LockOptions, QueueOptions};
use zkrecipes_embedded::{Fault, Proxy};

#[tokio::test(flavor = "multi_thread")]
async fn a_partition_can_be_told_from_logs_and_metrics_alone() -> Result<(), Error> {
    LazyLock::force(&SAID);
    let server = server();
    let proxy = Proxy::start(&server.connect_string()).expect("a free port");
    let (path, timeout) = ("/locks/partition", Duration::from_secs(5));
    let client = Client::connect(&proxy.connect_string(), options(timeout)).await?;
    let session = format!("{:#x}", client.session_id());
    let held = lock_of(&client, path).acquire().await?;

    // A short one: the session goes on.
    proxy.drop_connections();
    eventually("it is in touch again", || client.metrics().reconnections >= 1).await;
    assert!(held.is_held());
    // One that is longer than the session.
    proxy.pause();
    soon("the loss", held.lost()).await;
    eventually("the session is lost", || client.metrics().sessions_lost == 1).await;
    proxy.resume();
    eventually("there is a new session", || client.metrics().sessions == 2).await;
    soon("an answer", client.nodes().exists("/")).await?;
    let renewed = format!("{:#x}", client.session_id());
    eventually("it is told of", || events(&said_of(&renewed)).contains(&"session_renewed")).await;

    let story = said_of(&session);
    let told = events(&story);
    let wanted = ["connected", "suspended", "reconnected", "suspended", "session_lost", "session_renewed"];
    let mut rest = told.iter();
    assert!(wanted.iter().all(|event| rest.any(|told| told == event)), "{told:?}");
    for event in ["connected", "reconnected", "session_renewed"] {
        // Servers that were started in the same moment may give sessions the same number.
        let there = Value::Text(proxy.connect_string());
        let is_it = |record: &Record| record.event == event && field(record, "server") == Some(&there);
        assert!(story.iter().any(is_it), "{event}: {story:?}");
    }
    assert!(field(the(&story, "suspended"), "cause").is_some(), "{story:?}");
    assert!(number(the(&story, "suspended"), "lease_ms") > 0);
    // From when the connection broke, all of them.
    let (lost, renewed) = (the(&story, "session_lost"), the(&story, "session_renewed"));
    // The session ends a timeout after the last word of a server; that it is silent is noticed in less than half of that.
    assert!(number(lost, "after_ms") >= 1000, "{lost:?}");
    assert_eq!(text(lost, "reason"), "out of touch", "no server said anything: {lost:?}");
    assert!(number(renewed, "after_ms") >= number(lost, "after_ms"), "{renewed:?} {lost:?}");
    assert!(number(the(&story, "lease_low"), "lease_ms") <= timeout.as_millis() as i64 / 8);
    let at_path = said_of(path);
    let lost = the(&at_path, "lost");
    assert_eq!(
        (lost.level, field(lost, "reason").map(Value::to_string)),
        (Level::Warn, Some("session".into()))
    );
    assert!(number(lost, "token") as u64 == held.fencing_token() && number(lost, "held_ms") > 0);

    let metrics = client.metrics();
    assert_eq!((metrics.sessions, metrics.sessions_lost, metrics.reconnections), (2, 1, 1));
    assert!(metrics.suspensions >= 2, "{metrics:?}");
    assert_eq!((metrics.losses["session"], metrics.holding, metrics.holds.count), (1, 0, 1));
    assert_eq!(metrics.lease_margin_min, Some(Duration::ZERO));
    client.close(None).await
}

/// On the ensemble of three that `tests/secure/run.py` starts; without it there is nothing to test.
#[tokio::test(flavor = "multi_thread")]
async fn a_session_with_which_nothing_is_lost_is_a_warning() -> Result<(), Error> {
    LazyLock::force(&SAID);
    let server = server();
    for (is_held, level, why) in [
        (true, Level::Error, "with it everything that was held"),
        (false, Level::Warn, "in which nothing was held"),
    ] {
        let client = client_with(&server, Duration::from_secs(5)).await;
        let session = format!("{:#x}", client.session_id());
        let held = lock_of(&client, "/locks/of-a-session").acquire().await?;
        if !is_held {
            held.release().await?;
        }
        assert!(server.expire(client.session_id()));
        let is_lost = || events(&said_of(&session)).contains(&"session_lost");
        eventually("it is told of", is_lost).await;
        let story = said_of(&session);
        let lost = the(&story, "session_lost");
        assert_eq!(lost.level, level, "{lost:?}");
        assert!(lost.message.contains(why), "{lost:?}");
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn on_real_servers_a_night_is_told_from_logs_and_metrics_alone() -> Result<(), Error> {
    let Ok(ensemble) = std::env::var("ZKR_SECURE_PLAIN_39") else { return Ok(()) };
    LazyLock::force(&SAID);
    log::tell_waits_after(Duration::from_millis(300));
    let servers: Vec<_> = ensemble.split(',').collect();
    let ways = [0, 1].map(|n| Proxy::start(servers[n]).expect("a free port"));
    let [one, other] = ways.each_ref().map(|way| way.connect_string());
    let timeout = Duration::from_secs(4);
    let day = options(timeout).identity("day-shift");
    let client = Client::connect(&format!("{one},{other}"), day).await?;
    let waiter = Client::connect(servers[2], options(Duration::from_secs(10))).await?;
    let session = format!("{:#x}", client.session_id());
    let path = &format!("/night-{session}");
    let held = lock_of(&client, path).acquire().await?;
    let waiting = tokio::spawn(lock_of(&waiter, path).acquire());
    eventually("it is told who waits", || events(&said_of(path)).contains(&"waiting_long")).await;

    // One server goes away, and then nobody answers.
    let (first, second) = match field(the(&said_of(&session), "connected"), "server") {
        Some(Value::Text(server)) if *server == one => (&ways[0], &ways[1]),
        _ => (&ways[1], &ways[0]),
    };
    first.shutdown();
    eventually("there is another server", || client.metrics().reconnections >= 1).await;
    assert!(held.is_held());
    second.pause();
    soon("the loss", held.lost()).await;
    let taken = soon("the turn", waiting).await.expect("joined")?;
    eventually("the session is lost", || client.metrics().sessions_lost == 1).await;
    second.resume();
    eventually("there is a new session", || client.metrics().sessions == 2).await;
    // The log may be a moment ahead of it.
    eventually("the client has it", || format!("{:#x}", client.session_id()) != session).await;
    let is_told = |text: &str, event: &str| events(&said_of(text)).contains(&event);
    eventually("it is told", || is_told(&session, "session_renewed") && is_told(path, "acquired_late")).await;

    let (of_session, of_path) = (said_of(&session), said_of(path));
    let broken = the(&of_session, "suspended");
    assert_eq!(text(broken, "server"), first.connect_string(), "{broken:?}");
    assert!(number(broken, "lease_ms") > 0 && !text(broken, "cause").is_empty(), "{broken:?}");
    let found = the(&of_session, "reconnected");
    assert_eq!(text(found, "server"), second.connect_string());
    let millis = timeout.as_millis() as i64;
    assert!((0..millis).contains(&number(found, "after_ms")), "{found:?}");
    let lost = the(&of_path, "lost");
    assert_eq!(
        (text(lost, "reason"), number(lost, "token") as u64),
        ("session".into(), held.fencing_token())
    );
    let low = the(&of_session, "lease_low");
    assert!((1..=millis / 8).contains(&number(low, "lease_ms")) && number(low, "held") == 1, "{low:?}");
    let all = SAID.lock().expect("no panic").clone();
    let at = |wanted: &Record| all.iter().position(|record| record == wanted);
    assert!(at(low) < at(lost), "{low:?} {lost:?}");
    let ended = the(&of_session, "session_lost");
    assert_eq!(text(ended, "reason"), "out of touch", "{ended:?}");
    let renewed = the(&of_session, "session_renewed");
    let seen = (text(renewed, "server"), text(renewed, "before"), text(renewed, "session"));
    assert_eq!(seen, (second.connect_string(), session, format!("{:#x}", client.session_id())));
    let long = the(&of_path, "waiting_long");
    assert_eq!(text(long, "holder"), "day-shift");
    assert!(held.node().ends_with(&text(long, "holder_node")), "{long:?}");
    let late = the(&of_path, "acquired_late");
    assert!(number(late, "token") as u64 == taken.fencing_token() && number(late, "waited_ms") >= 300);

    let (metrics, waiters) = (client.metrics(), waiter.metrics());
    assert_eq!((metrics.sessions, metrics.sessions_lost), (2, 1), "{metrics:?}");
    assert!(metrics.reconnections >= 1 && metrics.suspensions >= 2, "{metrics:?}");
    assert_eq!((metrics.losses["session"], metrics.holding, metrics.holds.count), (1, 0, 1));
    assert_eq!(metrics.lease_margin_min, Some(Duration::ZERO));
    assert_eq!((waiters.sessions_lost, waiters.holding, waiters.waits.count), (0, 1, 1));
    taken.release().await?;
    client.nodes().delete_all(path).await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_wait_is_told_with_who_holds_and_so_is_its_end() -> Result<(), Error> {
    LazyLock::force(&SAID);
    log::tell_waits_after(Duration::from_millis(300));
    let (server, path) = (server(), "/locks/long-wait");
    let holder = options(Duration::from_secs(10)).identity("the night shift");
    let holder = Client::connect(&server.connect_string(), holder).await?;
    let waiter = client_with(&server, Duration::from_secs(10)).await;
    let held = lock_of(&holder, path).acquire().await?;
    let waiting = tokio::spawn(lock_of(&waiter, path).acquire());
    let twice = || events(&said_of(path)).iter().filter(|event| **event == "waiting_long").count() >= 2;
    eventually("it is told again and again", twice).await;
    let said = said_of(path);
    let long = the(&said, "waiting_long");
    assert_eq!(field(long, "holder"), Some(&Value::Text("the night shift".into())));
    let (node, since) = (field(long, "holder_node"), field(long, "holder_since"));
    assert!(node.is_some_and(|node| held.node().ends_with(&node.to_string())), "{long:?}");
    assert!(since.is_some_and(|since| since.to_string().ends_with('Z')), "{long:?}");
    assert_eq!(field(long, "recipe"), Some(&Value::Text("lock".into())));
    held.release().await?;
    let held = soon("the turn", waiting).await.expect("joined")?;
    eventually("it is told", || events(&said_of(path)).contains(&"acquired_late")).await;
    assert!(number(the(&said_of(path), "acquired_late"), "waited_ms") >= 300);
    held.release().await?;
    let metrics = waiter.metrics();
    assert_eq!((metrics.hand_offs, metrics.queue_depth_max, metrics.waits.count), (1, 1, 1));
    assert!(metrics.waits.sum >= Duration::from_millis(300));
    Ok(())
}

#[test]
fn what_others_write_passes_for_no_line_or_field_of_ours() {
    for (written, told) in [
        ("worker-7:4711", "worker-7:4711"),
        ("eve\nzkrecipes:error:lost", r#""eve\nzkrecipes:error:lost""#),
        ("eve\u{1b}[2J", r#""eve\u{1b}[2J""#),
        ("eve\u{2028}lost", r#""eve\u{2028}lost""#),
        ("eve\treason=session", r#""eve\treason=session""#),
    ] {
        assert_eq!(Value::Text(written.to_owned()).to_string(), told);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_asked_and_who_is_forced_is_told_on_both_sides() -> Result<(), Error> {
    LazyLock::force(&SAID);
    let (server, path) = (server(), "/locks/forced");
    let holder = client_with(&server, Duration::from_secs(10)).await;
    let other = client_with(&server, Duration::from_secs(10)).await;
    let held = lock_of(&holder, path).acquire().await?;
    let asked = held.on_revoke(|| ());
    // As the command does it: first it asks, then it insists.
    assert!(lock_of(&other, path).revoke(None, None).await?);
    eventually("it is asked", || holder.metrics().revocations == 1).await;
    assert!(lock_of(&other, path).revoke(None, Some(Duration::from_millis(200))).await?);
    soon("the loss", held.lost()).await;
    eventually("all is told", || {
        let said = said_of(path);
        ["revocation", "forced", "lost"].iter().all(|event| events(&said).contains(event))
    })
    .await;
    let said = said_of(path);
    assert_eq!(field(the(&said, "lost"), "reason"), Some(&Value::Text("revoked".into())));
    assert_eq!(events(&said).iter().filter(|event| **event == "revocation").count(), 1);
    let (holders, others) = (holder.metrics(), other.metrics());
    assert_eq!((holders.revocations, holders.losses["revoked"], others.forced), (1, 1, 1));
    asked.unsubscribe();
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn acquires_are_counted_by_how_they_end() -> Result<(), Error> {
    let (server, path) = (server(), "/locks/counted");
    let (a, b) = (
        client_with(&server, Duration::from_secs(10)).await,
        client_with(&server, Duration::from_secs(10)).await,
    );
    let lock = lock_of(&a, path);
    let held = lock.acquire().await?;
    assert!(lock_of(&b, path).try_acquire().await?.is_none());
    lock_of(&b, path).acquire_timeout(Duration::from_millis(50)).await.map(drop).expect_err("it is held");
    let cancelled = lock_of(&b, path);
    let waiting = tokio::spawn(cancelled.acquire());
    eventually("it waits", || b.metrics().waiting == 1).await;
    cancelled.cancel();
    soon("the end", waiting).await.expect("joined").map(drop).expect_err("withdrawn");
    let dropped = tokio::spawn(lock_of(&b, path).acquire());
    eventually("it waits", || b.metrics().waiting == 1).await;
    dropped.abort();
    eventually("it waits no more", || b.metrics().waiting == 0).await;
    let metrics = b.metrics();
    assert_eq!((metrics.acquisitions, metrics.timeouts, metrics.cancellations), (0, 2, 2));
    assert_eq!((a.metrics().acquisitions, a.metrics().holding), (1, 1));
    held.release().await?;
    assert_eq!((a.metrics().holding, a.metrics().holds.count), (0, 1));
    Ok(())
}

/// As locks and permits do: what somebody works on was acquired.
#[tokio::test(flavor = "multi_thread")]
async fn items_that_are_claimed_count_as_acquired() -> Result<(), Error> {
    let server = server();
    let client = client_with(&server, Duration::from_secs(10)).await;
    let queue = client.queue("/queues/counted", QueueOptions::default())?;
    queue.put_many(&[b"a", b"b", b"c"]).await?;
    assert_eq!(client.metrics().acquisitions, 0);
    let item = soon("an item", queue.claim()).await?;
    let metrics = client.metrics();
    assert_eq!((metrics.acquisitions, metrics.holding), (1, 1));
    let more = soon("more items", queue.claim_many(2)).await?;
    let metrics = client.metrics();
    assert_eq!((more.len(), metrics.acquisitions, metrics.holding), (2, 3, 3));
    for item in more.iter().chain([&item]) {
        item.ack().await?;
    }
    let metrics = client.metrics();
    assert_eq!((metrics.acquisitions, metrics.holding), (3, 0));
    // Work on items is short and holding a lock is long: neither hides the other.
    assert_eq!((metrics.work.count, metrics.holds.count, metrics.waits.count), (3, 0, 0));
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_callback_that_takes_long_is_told_and_one_that_does_not_is_not() -> Result<(), Error> {
    LazyLock::force(&SAID);
    let (server, path) = (server(), "/locks/slow");
    let (quick, slow) = (
        client_with(&server, Duration::from_secs(10)).await,
        client_with(&server, Duration::from_secs(10)).await,
    );
    let took = Duration::from_millis(1100);
    for (client, time) in [(&quick, Duration::ZERO), (&slow, took)] {
        let held = lock_of(client, path).acquire().await?;
        let called = held.on_lost(move |_| std::thread::sleep(time));
        client.nodes().delete(held.node(), None).await?;
        soon("the loss", held.lost()).await;
        drop(called);
    }
    eventually("it is counted", || slow.metrics().slow_callbacks == 1).await;
    assert_eq!(quick.metrics().slow_callbacks, 0);
    let told = || SAID.lock().expect("no panic").iter().find(|said| said.event == "slow_callback").cloned();
    eventually("it is told", || told().is_some()).await;
    let told = told().expect("it is");
    assert!(told.level == Level::Warn && number(&told, "took_ms") >= 1100, "{told:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_details_of_a_day_are_told_and_counted() -> Result<(), Error> {
    LazyLock::force(&SAID);
    let (server, path) = (server(), "/locks/details");
    let client = client_with(&server, Duration::from_secs(6)).await;
    let session = format!("{:#x}", client.session_id());
    let locks = [(); 2].map(|()| client.lock(path, LockOptions::default().local_handoff(9)).expect("valid"));
    let held = locks[0].acquire().await?;
    eventually("a heartbeat", || client.metrics().heartbeats >= 1).await;
    let waiting = tokio::spawn(locks[1].acquire());
    eventually("it waits", || client.metrics().waiting == 1).await;
    held.release().await?;
    let held = soon("the turn", waiting).await.expect("joined")?;
    assert_eq!(client.metrics().local_hand_offs, 1);

    let other = client_with(&server, Duration::from_secs(10)).await;
    let waiting = tokio::spawn(lock_of(&other, path).acquire());
    eventually("somebody is ahead", || other.metrics().queue_depth == 1).await;
    other.close(None).await?;
    soon("the end", waiting).await.expect("joined").map(drop).expect_err("closed");
    assert_eq!((other.metrics().failures, other.metrics().waiting), (1, 0));
    held.release().await?;

    let fault = server.inject(Fault::drop_before("getData").session(client.session_id()));
    client.nodes().ensure("/read").await?;
    client.nodes().get("/read").await?;
    assert!(server.fault_fired(fault));
    assert_eq!(client.metrics().retries, 1);
    client.close(None).await?;
    eventually("the end is told", || events(&said_of(&session)).contains(&"closed")).await;
    let of_path = said_of(path);
    assert!(number(the(&of_path, "acquired"), "waited_ms") >= 0);
    assert!(number(the(&of_path, "released"), "held_ms") >= 0);
    let said = SAID.lock().expect("no panic").clone();
    let retry = the(&said, "retry");
    assert!(field(retry, "request").is_some() && number(retry, "pause_ms") > 0, "{retry:?}");
    assert!(text(retry, "cause").starts_with("the connection broke before the answer came: "), "{retry:?}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn what_goes_wrong_is_told() -> Result<(), Error> {
    LazyLock::force(&SAID);
    let (server, path) = (server(), "/elections/failing");
    let is_told = |event: &str| SAID.lock().expect("no panic").iter().any(|said| said.event == event);
    let client = client_with(&server, Duration::from_secs(2)).await;
    let held = lock_of(&client, "/locks/panicking").acquire().await?;
    held.on_lost(|_| panic!("on purpose"));
    client.nodes().delete(held.node(), None).await?;
    eventually("the panic is told", || is_told("callback_panicked")).await;

    let election = client.election(path, b"me", ElectionOptions::default())?;
    let mut terms = 0;
    election
        .run(|_| {
            terms += 1;
            if terms == 2 {
                election.cancel();
            }
            async { Err::<(), _>("the work fails") }
        })
        .await?;
    eventually("the failure is told", || events(&said_of(path)).contains(&"leader_failed")).await;
    assert_eq!(
        field(the(&said_of(path), "leader_failed"), "error"),
        Some(&Value::Text("the work fails".into()))
    );

    Client::connect("embedded:/told", options(Duration::from_secs(10))).await?.close(None).await?;
    eventually("the server that is none is told", || is_told("embedded_server")).await;

    server.shutdown();
    eventually("no session comes about", || is_told("connect_failed")).await;
    let said = SAID.lock().expect("no panic").clone();
    let failed = the(&said, "connect_failed");
    assert!(field(failed, "cause").is_some() && number(failed, "pause_ms") >= 0, "{failed:?}");
    Ok(())
}

/// What the server counted of one session.
fn traffic(
    server: &zkrecipes_embedded::Server,
    client: &Client,
) -> (BTreeMap<&'static str, u64>, usize, usize) {
    let (mut kinds, mut requests, mut answers) = (BTreeMap::new(), 0, 0);
    for entry in server.log() {
        if entry.session_id == client.session_id() && !["ping", "connect"].contains(&entry.op) {
            *kinds.entry(entry.op).or_default() += 1;
            requests += entry.bytes_in;
            answers += entry.bytes_out;
        }
    }
    (kinds, requests, answers)
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_and_bytes_are_what_the_server_saw() -> Result<(), Error> {
    let server = server();
    let client = client_with(&server, Duration::from_secs(30)).await;
    let nodes = client.nodes();
    nodes.ensure("/counted").await?;
    nodes.create("/counted/a", b"some data", zkrecipes::CreateMode::Persistent).await?;
    nodes.set("/counted/a", b"other data", None).await?;
    nodes.get("/counted/a").await?;
    nodes.exists("/counted/none").await?;
    nodes.children("/counted").await?;
    nodes.delete("/counted/a", None).await?;
    let (kinds, requests, answers) = traffic(&server, &client);
    let metrics = client.metrics();
    assert_eq!((metrics.requests["set"], metrics.requests["get"], metrics.requests["delete"]), (1, 1, 1));
    assert_eq!(metrics.requests.values().sum::<u64>(), kinds.values().sum::<u64>(), "{kinds:?} {metrics:?}");
    // The server counts the four bytes of a frame's length as well, or does not.
    let count = kinds.values().sum::<u64>();
    let close = |ours: u64, theirs: usize| ours.abs_diff(theirs as u64) <= 4 * count;
    assert!(close(metrics.bytes_sent, requests), "{} {requests}", metrics.bytes_sent);
    assert!(close(metrics.bytes_received, answers), "{} {answers}", metrics.bytes_received);
    Ok(())
}

#[tokio::test]
async fn prometheus_is_told_every_metric_once_with_its_meaning() -> Result<(), Error> {
    let server = server();
    let client = client_with(&server, Duration::from_secs(10)).await;
    lock_of(&client, "/locks/prometheus").acquire().await?.release().await?;
    let metrics = client.metrics();
    let text = metrics.to_prometheus();
    for sample in metrics.samples() {
        let help = format!("# HELP zkrecipes_{}", sample.name);
        let is_told = text.lines().filter(|line| line.starts_with(&help) && line.ends_with('.')).count() > 0;
        assert!(is_told || sample.name == "lease_margin_min", "{}: {text}", sample.name);
    }
    assert!(text.contains("zkrecipes_losses_total{reason=\"session\"} 0\n"), "{text}");
    assert!(text.contains("zkrecipes_session_timeout_seconds 10\n"), "{text}");
    assert!(text.contains("zkrecipes_waits_seconds_bucket{le=\"+Inf\"} 1\n"), "{text}");
    assert!(text.contains("zkrecipes_waits_seconds_count 1\n"), "{text}");
    let numbers: BTreeMap<_, _> = metrics.numbers().into_iter().collect();
    assert_eq!(
        (numbers["waits.count"], numbers["losses.session"], numbers["waits.le_3600000"]),
        (1.0, 0.0, 1.0)
    );
    Ok(())
}

/// The rows of a table of docs/observability.md whose first cell is a name, cell by cell.
fn rows(heading: &str) -> Vec<Vec<String>> {
    let page = read("docs/observability.md");
    let part = page.split(&format!("\n## {heading}\n")).nth(1).expect("the heading");
    let lines = part.split("\n## ").next().into_iter().flat_map(str::lines);
    let cells = |line: &str| {
        let inside = line.trim().trim_start_matches('|').trim_end_matches('|');
        inside.split('|').map(|cell| cell.trim_matches([' ', '`']).to_owned()).collect()
    };
    lines.filter(|line| line.starts_with("| `")).map(cells).collect()
}

fn read(path: &str) -> String {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    std::fs::read_to_string(root.join(path)).expect(path)
}

fn sources() -> Vec<String> {
    let (mut folders, mut found) =
        (vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src")], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("readable").path())
        {
            match entry.is_dir() {
                true => folders.push(entry),
                false => found.push(std::fs::read_to_string(entry).expect("text")),
            }
        }
    }
    found
}

/// What stands between the commas of a macro's arguments, up to its message.
fn arguments(text: &str) -> Vec<String> {
    let (mut found, mut depth, mut one) = (Vec::new(), 0, String::new());
    for letter in text.chars() {
        match letter {
            '(' | '[' => depth += 1,
            ')' | ']' if depth == 0 => break,
            ')' | ']' => depth -= 1,
            _ => {}
        }
        if letter == ',' && depth == 0 {
            found.push(std::mem::take(&mut one).trim().to_owned());
            continue;
        }
        one.push(letter);
        if one.trim_start().starts_with('"') {
            break;
        }
    }
    found
}

#[test]
fn every_event_of_the_sources_is_documented_with_its_fields_and_the_reverse() {
    let mut said: BTreeMap<String, (Vec<String>, Vec<String>)> = BTreeMap::new();
    for text in sources() {
        for level in ["error", "warn", "info", "debug", "trace"] {
            for call in text.split(&format!("tracing::{level}!(")).skip(1) {
                let named = call.trim_start().strip_prefix("target: \"zkrecipes\",");
                let call =
                    named.unwrap_or_else(|| panic!("not from where the page says: {call:.80}")).trim_start();
                let arguments = arguments(call);
                let Some(event) = arguments.first().and_then(|first| first.strip_prefix("event = \"")) else {
                    // What a face says in place of the library.
                    assert!(call.starts_with("event, \"{message}\""), "an event without a name: {call:.80}");
                    continue;
                };
                let name = |field: &String| {
                    field.split('=').next().unwrap_or(field).trim_matches([' ', '%', '?']).to_owned()
                };
                let (levels, fields) = said.entry(event.trim_end_matches('"').to_owned()).or_default();
                if !levels.contains(&level.to_owned()) {
                    levels.insert(0, level.to_owned());
                }
                *fields = arguments[1..].iter().map(name).collect();
            }
        }
    }
    assert!(said.len() > 30, "the sources are read wrongly: {said:?}");
    let mut documented = rows("Events");
    // Those that are not said by a macro; python/tests/test_observability.py looks at those of Python.
    let python = ["_callbacks", "_leading", "_processing", "otel"];
    let python: String = python.iter().map(|name| read(&format!("python/zkrecipes/{name}.py"))).collect();
    let elsewhere = read("include/zkrecipes.hpp") + &read("core/src/drive/log.rs") + &python;
    documented.retain(|row| said.contains_key(&row[0]) || !elsewhere.contains(&format!("\"{}\"", row[0])));
    for row in &documented {
        let (levels, fields) = said.remove(&row[0]).unwrap_or_else(|| panic!("{} is never said", row[0]));
        let told: Vec<_> = row[1].split(", ").collect();
        assert!(
            told.len() == levels.len() && levels.iter().all(|level| told.contains(&&**level)),
            "{}: {levels:?}",
            row[0]
        );
        let told: Vec<_> = row[2]
            .split(", ")
            .map(|field| field.trim_matches(['`', ' ']))
            .filter(|field| !field.is_empty())
            .collect();
        assert_eq!(told, fields, "{}", row[0]);
    }
    assert!(said.is_empty(), "not documented: {said:?}");
}

#[tokio::test]
async fn every_metric_is_documented_and_the_reverse() {
    let server = server();
    let metrics = client_with(&server, Duration::from_secs(10)).await.metrics();
    let counted: Vec<_> = metrics.samples().iter().map(|sample| sample.name.to_owned()).collect();
    let documented: Vec<_> = rows("Metrics").into_iter().map(|row| row[0].clone()).collect();
    assert_eq!(documented, counted);
}
